// The line to one host: its launcher, its thread, and the attempts that run there.
//
// The thread connects, and connects again after a pause that grows from 1 s to 60 s when the line is gone. What it knows of an
// attempt it passes on by two pipes, which the thread that has called link_run() reads as child_run() reads a child's.
//
//   down -launcher started-> greeting -hello-> up -bye-> leaving (takes no new attempt)
//   each but down -end of the line, silence, protocol error-> down

#ifndef FAIRPAR_REMOTE_LINK_H
#define FAIRPAR_REMOTE_LINK_H

#include "base/buf.h"
#include "process/executor.h"
#include "remote/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_link;
struct payload_context;
struct program_copy;
struct worker_hello;

// What is called on the link's thread, without its locks.
struct link_calls {
	// The worker takes attempts. What it says of itself is valid during the call, and may be anything.
	void (*up)(void *arg, const struct worker_hello *hello);
	// It takes no more: `why` is valid during the call. `was_up`: it did before, else the connection did not come about. `bye`: the
	// worker has said so, and what runs there goes on.
	void (*down)(void *arg, const char *why, bool was_up, bool bye);
	// It takes none for now, for this reason, when so many run there; or (NULL) does again. It does where up() is called.
	void (*braked)(void *arg, uint64_t jobs, const char *why);
	// A line that the launcher has written on its standard error while it was up.
	void (*said)(void *arg, const char *line);
	// The line of one on demand has gone, with its launcher: link_call() may ask for it again.
	void (*gone)(void *arg);
	void *arg;
};

struct link_config {
	struct launcher_config launcher; // copied; what it points to is borrowed until link_close()
	struct buf env;                // of all attempts, for host_env(): variables with a NUL behind each, or empty; borrowed likewise
	bool adds_env;
	const struct program_copy *copy; // for a machine that has no fairpar; borrowed likewise, or NULL
	bool on_demand;                // it connects by link_call() alone, each time once, and lets go a worker that takes no more
	struct link_calls calls;
};

// Starts the thread, which connects at once unless it is on demand. Returns NULL with errno.
struct host_link *link_open(const struct link_config *config) FP_NODISCARD;

// When no link_run() is at work. The first closes the line, so that the worker ends, and returns at once; the second waits a moment
// for the launcher's end, and frees the link.
void link_hang_up(struct host_link *link);
void link_close(struct host_link *link);

// The first connects, when the line has gone; the second lets the worker go once it has no attempt, or ends the launcher if there is no
// worker yet, and does not connect again. Of one on demand calls.down does not tell the latter; else it tells that a worker was let go.
void link_call(struct host_link *link);
void link_dismiss(struct host_link *link);

// How an attempt has ended here.
enum link_end {
	LINK_DONE,     // *ret_result is its end; OUTCOME_CANCELLED, too, if it was refused because of link_terminate()
	LINK_LOST,     // the line has gone: it may have run, and nothing is known of its end
	LINK_REFUSED,  // it has never run: the line was down, or the worker takes no more
};

// As executor.run(): executes one attempt on the calling thread at the other end of the line; `context` and `cwd` are those of
// payload_write(). *ret_wrote: output of it was passed on.
enum link_end link_run(struct host_link *link, const struct child_config *config, const struct payload_context *context, const char *cwd,
                       struct result *ret_result, struct spawn_error *ret_error, bool *ret_wrote);

// As those of struct executor and struct attempt_ender. link_kill() gives what runs there a moment to die, then gives the line up.
void link_terminate(struct host_link *link);
void link_kill(struct host_link *link);
void link_cancel(struct host_link *link, const void *origin);
uint64_t link_expire(struct host_link *link, uint64_t limit, uint64_t now);

// This process is about to be stopped, or goes on: so are what runs there, and the silence of the line. The second waits until the
// worker was told, but not beyond `until` (now_ns() time).
void link_rest(struct host_link *link, bool begins);
void link_await_rest(struct host_link *link, uint64_t until);

// As children_each(), for the attempts that have begun there. `host` is what they are told of as child_view.host.
void link_each(struct host_link *link, const char *host, void (*fn)(void *arg, const struct child_view *view), void *arg);

// How many attempts are there.
unsigned link_count(struct host_link *link);

#endif
