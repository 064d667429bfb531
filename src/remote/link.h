// The connection to one host: its launcher, its thread, and the attempts that run there.
//
// The thread connects. When the connection is lost it connects again after a pause, which grows from 1 s to 60 s. It writes the output of
// each attempt into two pipes; the thread that has called link_run() reads these as child_run() reads the pipes of a child.
//
//   down -launcher started-> greeting -hello-> up -bye-> leaving (takes no new attempt)
//   any but down -end of the connection, silence, protocol error-> down

#ifndef FAIRPAR_REMOTE_LINK_H
#define FAIRPAR_REMOTE_LINK_H

#include "base/buf.h"
#include "process/executor.h"
#include "remote/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_talk;
struct host_link;
struct payload_context;
struct program_copy;
struct worker_hello;

// Callbacks, on the link's thread and without its locks. Texts and `hello` are valid during the call.
struct link_calls {
	// The worker takes attempts. The values of `hello` come from the other machine: they may be anything.
	void (*up)(void *arg, const struct worker_hello *hello);
	// The worker takes no more attempts, because of `why`. `was_up`: it did before; else the connection has failed. `bye`: the worker has
	// said goodbye, and its jobs go on; else they are lost.
	void (*down)(void *arg, const char *why, bool was_up, bool bye);
	// The worker refuses attempts for now, because of `why`, while `jobs` run there; or (NULL) takes them again, as it does after up().
	void (*braked)(void *arg, uint64_t jobs, const char *why);
	// So many jobs there were told to end and have not, although their attempts count as ended here; 0 after up().
	void (*stuck)(void *arg, unsigned jobs);
	// On the thread of link_run(), or NULL where each end is believed at once: the attempt at that place (child_config.place) has ended there, and
	// its slot is free while its end is doubted; `begins` is false when it is not any more.
	void (*doubted)(void *arg, const void *place, bool begins);
	// A connection is about to begin: returns 0, or when to ask again (now_ns() time). NULL: it always may.
	uint64_t (*begins)(void *arg, uint64_t now);
	// The launcher has written this line on its standard error while the connection was up.
	void (*message)(void *arg, const char *line);
	// A connection on demand has ended, with its launcher: link_connect() may open it again.
	void (*closed)(void *arg);
	void *arg;
};

struct link_config {
	struct launcher_config launcher; // copied; what it points to is borrowed until link_close()
	struct buf env;                // of all attempts, for dispatcher_end_env(): variables with a NUL behind each, or empty; borrowed likewise
	bool adds_env;                 // … in addition to the worker's own
	const struct program_copy *copy; // for a machine that has no fairpar; borrowed likewise, or NULL
	uint64_t stop_takes;           // nanoseconds that --term-seq has to end a job
	bool on_demand;                // each link_connect() connects once; a worker that takes no more attempts is released
	struct link_calls calls;
};

// Starts the thread, which connects at once unless it is on demand. Returns the link, which link_close() frees, or NULL with errno.
struct host_link *link_open(const struct link_config *config) FP_NODISCARD;

// Called when no link_run() is in progress. link_hang_up() has the thread close the connection, which ends the worker, and
// returns at once. link_close() does the same, waits a moment for the launcher's end, and frees the link.
void link_hang_up(struct host_link *link);
void link_close(struct host_link *link);

// link_connect() connects, if there is no connection. link_release() releases the worker as soon as it has no attempt, or ends the launcher
// if no worker has come yet, and the link does not connect again. That is reported by calls.down, but not of a link on demand.
// Any thread; they only wake the link's.
void link_connect(struct host_link *link);
void link_release(struct host_link *link);

// How an attempt has ended.
enum link_end {
	LINK_DONE,     // *ret_result is its end; OUTCOME_CANCELLED, too, if it was refused because of link_terminate(); or it was
	               // told to stop and has not ended in time
	LINK_LOST,     // the connection was lost: it may have run, and its end is not known
	LINK_REFUSED,  // it has never run: there was no connection, or the worker takes no more
};

// Executes one attempt at the other end, as executor.run() does, and waits for its end on the calling thread. `context` and `cwd` are those of
// payload_write(). *ret_result and *ret_error count with LINK_DONE only. *ret_wrote: output of it was passed on.
enum link_end link_run(struct host_link *link, const struct child_config *config, const struct payload_context *context, const char *cwd,
                       struct result *ret_result, struct spawn_error *ret_error, bool *ret_wrote);

// The same for a conversation about files with the worker; of `config` counts what says how it is ended. It is over when the worker says so.
enum link_end link_talk(struct host_link *link, const struct child_config *config, const struct file_talk *talk, struct result *ret_result);

// The functions of struct executor (link_terminate, link_kill) and struct attempt_ender (link_cancel, link_expire) for the
// attempts there; any thread. link_kill() closes the connection if the jobs have not died two seconds later.
void link_terminate(struct host_link *link);
void link_kill(struct host_link *link);
void link_cancel(struct host_link *link, const void *origin);
uint64_t link_expire(struct host_link *link, uint64_t limit, uint64_t now);

// link_suspend() has the worker stop its jobs, because this process is about to be stopped (`begins`), or continue them; meanwhile silence
// does not break the connection. link_await_suspended() waits until the worker was told, but not beyond `until` (now_ns() time).
void link_suspend(struct host_link *link, bool begins);
void link_await_suspended(struct host_link *link, uint64_t until);

// Calls fn for each attempt that runs there, as children_each() does; `host` is its child_view.host.
void link_each(struct host_link *link, const char *host, void (*fn)(void *arg, const struct child_view *view), void *arg);

// How many attempts are there, also those that wait or whose output is still being passed on.
unsigned link_count(struct host_link *link);

#endif
