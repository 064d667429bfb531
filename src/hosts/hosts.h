// The slots of a run that are on several machines: which attempt goes where, and what becomes of one whose machine is lost.
//
// A place is a slot (or several) of one host. An attempt gets its place before its command is built, for that may name the host;
// hosts_executor() then runs it there. On this machine (`:`) it is executed by the executor behind.

#ifndef FAIRPAR_HOSTS_HOSTS_H
#define FAIRPAR_HOSTS_HOSTS_H

#include "cli/options.h"
#include "engine/pool.h"
#include "process/executor.h"

struct buf;
struct hosts;
struct hosts_bound; // some hosts: of a batch that is to run on no other
struct hosts_place;
struct job_files;
struct sshlogin;
struct start_order;

// Takes the machines that the options name; leaves *ret_hosts NULL if they name none but this one. Returns 0, or -1 after a message.
// `context` is what the jobs of the run inherit, and is looked at in hosts_attach(); `here`: the slots of this machine.
int hosts_open(const struct options *options, const struct context *context, unsigned here, struct hosts **ret_hosts);
void hosts_close(struct hosts *hosts); // NULL-safe; when no attempt runs

// Executes attempts where their place is (child_config.place), and those without one by `inner`, which is copied.
struct executor hosts_executor(struct hosts *hosts, const struct executor *inner);

// From now on the pool, which has `slots` slots, has as many as there are on the hosts that are up; and the hosts are connected
// to. `wake` wakes the event loop, from any thread. Returns 0, or -1 after a message.
int hosts_attach(struct hosts *hosts, struct pool *pool, struct start_order *start_order, unsigned slots, void (*wake)(void *arg), void *arg);

// The pool is going: from now on it is not told of hosts that still come and go. NULL-safe.
void hosts_detach(struct hosts *hosts);

// How many slots there may be, as long as no machine has said so.
unsigned hosts_guess_slots(const struct hosts *hosts);

// The machines of a job's attempts, each as often as there were attempts.
struct hosts_tries {
	const struct sshlogin **logins; // borrowed; the array is the job's
	size_t n, cap;
};

void hosts_tries_add(struct hosts_tries *tries, const struct sshlogin *login);

// What an attempt wants of its place.
struct hosts_wish {
	unsigned width;                 // slots, or as many as the host has
	const struct hosts_tries *tries; // rather where it was tried less often than on the others; or NULL
	struct hosts_bound *bound;      // on one of these; or NULL: on any
	bool is_alone;                  // with nothing else on the host
	void (*waits)(void *arg);       // called if there is none now, once; or NULL
	void *arg;
};

// Waits for a place and takes it. Who waits for some hosts and not for any lends his slot of the pool to others. Returns NULL if the run is cut
// short before; or if he waits for hosts none of which can be reached: then one of them is *ret_gone, which is NULL otherwise. To be
// given back by hosts_leave().
struct hosts_place *hosts_enter(struct hosts *hosts, const struct hosts_wish *wish, const struct sshlogin **ret_gone);
void hosts_leave(struct hosts *hosts, struct hosts_place *place);

// Appends what an attempt with that wish waits for, in words: "a slot on one or two".
void hosts_add_wish(struct hosts *hosts, const struct hosts_wish *wish, struct buf *out);

// Appends the same of the queue's next item. Returns false if it is not its hosts that let no more of its items run at once.
bool hosts_add_limit(struct hosts *hosts, const char *queue, struct buf *out);

// For how much of that time, in nanoseconds, no host was up, of the last time that none was. From any thread.
uint64_t hosts_downtime(const struct hosts *hosts, uint64_t since, uint64_t until);

// The attempt at the place has files: borrowed until its end. Where the machine has this one's directory nothing is done with them.
void hosts_set_files(struct hosts_place *place, struct job_files *files);

// Binds a batch to that machine of the options, or to all that are called by one of these names (borrowed; sshlogin_is_called()), also
// those that come into the list later. The owner of the
// batch frees it with hosts_unbind(), when the queue is gone.
struct hosts_bound *hosts_bind_login(struct hosts *hosts, const struct sshlogin *login);
struct hosts_bound *hosts_bind(struct hosts *hosts, const char *const *names, size_t n);
void hosts_unbind(struct hosts_bound *bound); // NULL-safe

// To be called in place of queue_set(), from one thread: the attributes, but no more items at once than those hosts have slots, as they
// come and go; `width`: slots of an item.
void hosts_set_queue(struct hosts_bound *bound, struct queue *queue, const struct queue_attrs *attrs, unsigned width);

// The queue is going (pool_hooks.removed). NULL-safe.
void hosts_forget_queue(struct hosts_bound *bound);

// Items wait for slots: pilots may be asked for. NULL-safe; any thread.
void hosts_starving(struct hosts *hosts);

// Is it another machine?
bool hosts_is_elsewhere(const struct hosts_place *place);

// Where that is. Borrowed until hosts_close().
const struct sshlogin *hosts_login(const struct hosts_place *place);

// Whether no host was ever up and each has been tried: there is nobody to run the jobs. From the event loop.
bool hosts_are_unreachable(struct hosts *hosts);

// This process is about to be stopped, or goes on, and so are the attempts on other machines. Waits until they were told, or some
// line cannot be written for a second. From the event loop; NULL-safe.
void hosts_rest(struct hosts *hosts, bool begins);

// Calls fn for each attempt that runs on another machine, as children_each() does for those here; from the event loop. NULL-safe.
void hosts_each(struct hosts *hosts, void (*fn)(void *arg, const struct child_view *view), void *arg);

enum host_state {
	HOST_UP,
	HOST_HELD,        // it is up, and lets no job start: its load, its memory
	HOST_CONNECTING,
	HOST_LOST,        // it was up, and is tried again
	HOST_UNREACHABLE, // it never was
	HOST_REMOVED,     // its file does not name it any more
};

struct host_view {
	const char *name;
	const char *node; // where a pilot is; else NULL
	bool is_here;     // it is this machine
	enum host_state state;
	unsigned slots;   // 0 while it is not up
	unsigned used;    // by jobs
	const char *says; // why it takes no jobs, in words, or ""; valid for the call
};

// Calls fn for each machine, but for pilots that are not there. NULL-safe; from the event loop.
void hosts_view(struct hosts *hosts, void (*fn)(void *arg, const struct host_view *view), void *arg);

// Says on standard error how each machine stands. NULL-safe; from the event loop.
void hosts_show(struct hosts *hosts);

// How many attempts run on other machines. NULL-safe.
unsigned hosts_count(struct hosts *hosts);

#endif
