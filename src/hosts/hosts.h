// The slots of a run on several machines: which attempt runs where, and the result of an attempt whose machine is lost.
//
// A place is one or several slots of one host. An attempt gets its place before its command is built, because the command may name the host. At
// a place on this machine (`:`) the attempt then runs as a child process, by child_run(). On another machine, hosts_begin() begins the attempt, and
// each call of hosts_step() makes its next step; no thread waits for the attempt. Between the steps the pool's item that does the job is pending
// (WORK_PENDING), and is resumed (pool_resume()) for the next step.

#pragma once

#include "base/atomic.h"
#include "base/buf.h"
#include "base/list.h"
#include "cli/options.h"
#include "engine/pool.h"
#include "process/child.h"
#include "slots/controller.h"

struct hosts;
struct hosts_binding; // the hosts that one batch may use
struct host;
struct host_attempt;
struct sshlogin;

// The files of one attempt on another machine: paths as file_route() takes them, a NUL behind each. The owner frees them by job_files_fini().
struct job_files {
	struct buf go, come; // --transferfile, --return
	struct buf went, came; // the files of `go` and `come` that are on the other machine now and may be removed there; set by the attempt
	struct buf why;      // which file could not be transferred, and why; or empty
};

void job_files_fini(struct job_files *files);

// Slots on a machine.
struct hosts_place {
	struct host *host;
	const struct sshlogin *login; // the machine; for a pilot, the node on which it ran when the place was taken; borrowed until hosts_close()
	bool is_remote;               // the host is another machine
	unsigned width;               // number of slots of the place
	bool is_alone;                // no other attempt runs on the host, even if the host gets more slots later
	uint64_t batch;               // set by the place's owner: the number of the attempt's batch
	struct job_files *files;      // set by the place's owner: the files of the attempt, borrowed until its end; or NULL. Ignored for a machine that
	                              // shares this one's file system (--launch, --slurm, `:`)
};

// Makes *ret_hosts of the machines that the options name, without connecting to them. Does not set *ret_hosts, which is NULL before the call, if only
// this machine is named, without --onall. Returns 0, or -1 after a message; in both cases hosts_close() frees *ret_hosts. Until then `options` and
// `context` are borrowed; `context`, which jobs inherit, is not read before hosts_attach(). `here`: the number of slots of this machine.
int hosts_open(const struct options *options, const struct context *context, unsigned here, struct hosts **ret_hosts);

// Removes the base files (--cleanup), closes all connections and frees `hosts`. No attempt may run any more. NULL-safe.
void hosts_close(struct hosts *hosts);

// Begins to connect to the hosts. From now on the pool, which was created with `slots` slots, has as many slots as the connected hosts have together;
// but with --onall it keeps its slots. Borrows the pool until hosts_detach(). `wake_fd` wakes the event loop. Returns 0, or -1 after a message.
int hosts_attach(struct hosts *hosts, struct pool *pool, unsigned slots, int wake_fd);

// Stops changing the pool, which is about to be destroyed. NULL-safe.
void hosts_detach(struct hosts *hosts);

// An estimate of the number of slots of all hosts, for the time before they are connected.
unsigned hosts_estimate_slots(const struct hosts *hosts);

// The machines on which the attempts of a job have run: one entry for each attempt.
struct hosts_tries {
	const struct sshlogin **logins; // the logins are borrowed, the array is owned by the job
	size_t n, cap;
};

enum hosts_answer {
	HOSTS_PLACE,                     // the attempt has a place
	HOSTS_UNREACHABLE,               // none of the hosts of the binding can be reached
	HOSTS_REFUSED,                   // the run is being ended, or the host `only` has no slots any more
};

// A request for a place: what an attempt needs, and what it gets. The owner zeroes the struct, and sets the fields before `answer`.
struct hosts_request {
	struct worker *worker;           // the item of this worker is resumed when the answer has come
	unsigned width;                  // number of slots; on a host that has fewer, the attempt gets all of them
	const struct hosts_tries *tries; // the job's earlier attempts: only hosts that had the fewest of them are accepted; or NULL
	struct hosts_binding *binding;   // the place must be on one of these hosts; NULL: on any host
	const struct host *only;         // the place must be on this host; or NULL
	bool is_alone;                   // the place is all slots of the host, so that nothing else runs there
	// the answer
	enum hosts_answer answer;
	struct hosts_place place;        // HOSTS_PLACE: given back by hosts_release_place()
	const struct sshlogin *gone;     // HOSTS_UNREACHABLE: one of the hosts that cannot be reached
	// while the request waits, under the lock of the hosts
	struct list link;                // link in hosts.requests
	unsigned fewest;                 // the attempt accepts only hosts that had at most this many of the `tries`
	bool is_spread;                  // the attempt waits for hosts that are being connected
	const struct host *reserved;     // the attempt waits for several slots of this host, which no other attempt gets meanwhile; or NULL
};

// Reads the list of machines again if one of its files may have changed, at most once a second. A call that reads nothing is cheap. To be called
// before a place is taken, and after a place is given back. Any thread.
void hosts_refresh_list(struct hosts *hosts);

// Requests a place. Returns true if the request is answered. Returns false if the request has to wait until slots become free or the run is ended:
// the worker is resumed when the request is answered, and before that `request` must not be moved or freed. An attempt that may use only some
// hosts lends its slot of the pool to other attempts while it waits.
bool hosts_request_place(struct hosts *hosts, struct hosts_request *request) FP_NODISCARD;
// Returns whether a request that had to wait is answered. Its worker may also be resumed before that, because of its item's previous attempt.
bool hosts_have_answered(struct hosts *hosts, const struct hosts_request *request);
void hosts_release_place(struct hosts *hosts, const struct hosts_place *place);

// Lends the slots of a place on this machine to other attempts; with `lends` false takes them back, even if other attempts use them.
void hosts_lend_place(struct hosts *hosts, const struct hosts_place *place, bool lends);

// hosts_begin() makes an attempt at `place`, on another machine, for the running item of the worker; it borrows `place` and `config` until the end
// of the attempt. The caller then calls hosts_step(), and calls it again each time that the worker is resumed, until hosts_step() returns true: then
// the attempt has ended and is freed, and *ret_result and *ret_error are set as by child_run(). hosts_step() also calls config->started() and the
// output reader, and copies the files of --transferfile and --return.
struct host_attempt *hosts_begin(const struct hosts_place *place, const struct child_config *config, struct worker *worker);
bool hosts_step(struct host_attempt *attempt, struct result *ret_result, struct spawn_error *ret_error) FP_NODISCARD;

// A loan: a slot on a job's machine that the run lends to the fairpars in the job, beyond the job's own slot. A loan is an item of the job's batch.
struct hosts_loan {
	struct hosts_request request;
	atomic_bool is_over;             // the fairpars have given the slot back, or the attempt has ended. When this is set, the loan's item is resumed
	// under the lock of the hosts
	struct list link;                // link in the list of the attempt's loans
	struct host_attempt *attempt;    // the attempt of the job, on another machine; NULL: the job is on this machine
	bool is_lent;                    // the other machine was told that the slot is lent
};

// Returns how many slots the fairpars in the attempt's job want since the last call. To be called after hosts_step() has returned false.
unsigned hosts_take_wanted(struct host_attempt *attempt);

// hosts_loan_open() makes a loan for an attempt on another machine, or (NULL) for one on this machine; it returns false if the attempt has ended, or
// its machine has no slots. hosts_loan_begin() requests the slot when the loan's item runs, and returns as hosts_request_place(), or true if the loan
// is over. hosts_lend() tells the other machine that the slot is there. hosts_loan_close() gives the slot back, or withdraws the request.
bool hosts_loan_open(struct hosts *hosts, struct hosts_loan *loan, struct host_attempt *attempt);
bool hosts_loan_begin(struct hosts *hosts, struct hosts_loan *loan, struct worker *worker);
void hosts_lend(struct hosts *hosts, struct hosts_loan *loan);
void hosts_loan_close(struct hosts *hosts, struct hosts_loan *loan);

// End attempts on other machines: hosts_terminate() begins to end all, hosts_kill() kills all, and both refuse new attempts. hosts_cancel() begins
// to end the attempt whose config->origin is `origin`. hosts_expire() begins to end each attempt that has run for `limit` nanoseconds, and returns
// when (now_ns() time) to call it again. Only hosts_kill() ends attempts that are just removing their files. Called from the event loop; do not wait;
// NULL-safe. process/child.h has the same functions for attempts on this machine (children_terminate() and so on).
void hosts_terminate(struct hosts *hosts);
void hosts_kill(struct hosts *hosts);
void hosts_cancel(struct hosts *hosts, const void *origin);
uint64_t hosts_expire(struct hosts *hosts, uint64_t limit, uint64_t now);

// Appends what the attempt of that request waits for, such as "a slot on one or two", if the machines are called `one` and `two`.
void hosts_describe_request(struct hosts *hosts, const struct hosts_request *request, struct buf *out);

// If the hosts of a batch limit how many of its items run at once, appends what the next item of its queue (named `queue`) waits for, such as
// "a slot on one or two", and returns true. Else appends nothing and returns false.
bool hosts_describe_limit(struct hosts *hosts, const char *queue, struct buf *out);

// Returns for how many nanoseconds between `since` and `until` (now_ns() time) no host had a slot; counts only the last such period. Any thread.
uint64_t hosts_downtime(const struct hosts *hosts, uint64_t since, uint64_t until);

// Returns a binding, which restricts a batch to the machine `login` of the options; or, if `login` is NULL, to all machines with one of the names or
// groups `names` (sshlogin_matches()), also machines that are added to the list later. `login` and `names` are borrowed. The owner of the batch
// frees the binding by hosts_unbind() after the queue was removed.
struct hosts_binding *hosts_bind(struct hosts *hosts, const struct sshlogin *login, const char *const *names, size_t n);
void hosts_unbind(struct hosts_binding *binding); // NULL-safe

// Sets the attributes of the batch's queue, in place of queue_set(). max_parallel is lowered to the number of items that the hosts of the binding
// have slots for, and lowered or raised again when that number changes. `width`: the slots of an item. From one thread. A call with `queue` NULL
// ends these changes; it must come before the queue is removed (pool_hooks.removed). Without a binding (NULL) nothing is done.
void hosts_set_queue(struct hosts_binding *binding, struct queue *queue, const struct queue_attrs *attrs, unsigned width);

// Called when items wait for slots (pool_hooks.starving): pilots may be requested. NULL-safe; any thread.
void hosts_starving(struct hosts *hosts);

// With a reason `why`, lets no job start on this machine; with NULL, lets one job start. After this job has started, and before the first call,
// no job starts on this machine. To be called only if options_watch_machine() is true, from the event loop.
void hosts_brake_here(struct hosts *hosts, const char *why);

// For -j auto. hosts_adapts_here(): this machine is one of the hosts, and the number of its slots is not given. hosts_adapt_here() then sets this
// number, because of `reason`; hosts_used_here() returns how many of the slots jobs have. From the event loop.
bool hosts_adapts_here(const struct hosts *hosts);
void hosts_adapt_here(struct hosts *hosts, unsigned slots, enum controller_reason reason);
unsigned hosts_used_here(struct hosts *hosts);

// Calls fn, under the lock of the hosts, for each host whose number of slots -j auto has changed since the last call. `slots`: the number of slots of
// all hosts together. `why`: a text that names the host and the reason. NULL-safe; from the event loop.
void hosts_report_slots(struct hosts *hosts, void (*fn)(void *arg, unsigned slots, const char *why), void *arg);

// Whether no host can run jobs: each has failed or left the list and was never connected, or is HOST_ENDED. From the event loop.
bool hosts_are_unreachable(struct hosts *hosts);

// With `begins`, suspends the attempts on other machines, because this process is about to be stopped; else resumes them. Waits at most three
// seconds until the workers have been told. From the event loop; NULL-safe.
void hosts_suspend(struct hosts *hosts, bool begins);

// Calls fn for each attempt that runs on another machine, as children_each() does for those on this machine. From the event loop; NULL-safe.
void hosts_each(struct hosts *hosts, void (*fn)(void *arg, const struct child_view *view), void *arg);

enum host_state {
	HOST_CONNECTING,  // takes no jobs, because its worker has not come yet, or has said goodbye
	HOST_UP,
	HOST_HELD,        // connected, but its load or memory lets no job start
	HOST_LOST,        // has lost its connection, and fairpar tries to connect again
	HOST_UNREACHABLE, // could not be connected, and fairpar tries again
	HOST_ENDED,       // cannot be connected: its Slurm allocation has ended, or there are too few descriptors. Never in host_view.state
	HOST_REMOVED,     // is not named by its --sshloginfile any more. Only in host_view.state
};

struct host_view {
	const char *name; // sshlogin.name
	const char *shown; // what messages call the host
	const char *node; // the node of Slurm on which a pilot runs; else NULL
	enum host_state state;
	unsigned slots;   // 0 while the host is not connected
	unsigned used;    // slots that jobs have
	const char *says; // why the host takes no jobs, or ""; valid during the call
};

// Calls fn, under the lock of the hosts, for each machine except pilots that do not run. NULL-safe; from the event loop.
void hosts_view(struct hosts *hosts, void (*fn)(void *arg, const struct host_view *view), void *arg);

// Prints what the other threads have to say of the machines, who must not wait for the reader of stderr. NULL-safe; from the event loop, which a signal
// wakes from that wait, and at the end of the run.
void hosts_print_messages(struct hosts *hosts);

// Prints the state of each machine on standard error. NULL-safe; from the event loop.
void hosts_show(struct hosts *hosts);

// Whether no attempt runs on another machine or waits to be sent to one, except those that were told to end, and wait for the reader of their output.
// NULL-safe.
bool hosts_are_idle(struct hosts *hosts);
