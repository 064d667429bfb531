// The inside of src/hosts: structs and functions that only the files of this directory use. hosts.c calls the other files; they do not call hosts.c.
//
// hosts_open() and hosts_attach() print why they fail and return -1; the functions that they call return the reason as a text or in errno. The
// connections' thread reports a machine that fails later. The failure of an attempt on a machine is in the attempt's result.

#pragma once

#include "base/atomic.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "hosts/hosts.h"
#include "process/spawn.h"
#include "remote/channel.h"
#include "remote/file_talk.h"
#include "remote/payload.h"
#include "remote/sshlogin.h"

// ---- launcher.c: a process whose standard streams are pipes. It is a launcher (ssh, srun, sh -c), which starts a worker on another machine: the
// launcher's stdin and stdout are then the connection to the worker. Or it is a command of Slurm ----

struct launcher_config {
	char *const *argv, *const *env; // NULL-terminated; the first of argv is looked for in PATH
	const struct context *context;
	bool prompts;                  // the process may read the terminal, as ssh does: so it stays in this process group, or SIGTTIN would stop it
	const int *files;              // descriptors of two files, for the process's stdout and its stderr; NULL: both are pipes
};

// A process, with this program's ends of its three pipes. The ends are non-blocking; an end that was closed is -1.
struct launcher {
	pid_t pid;
	pid_t target;                  // for kill(2): the process, or its group
	int pidfd;                     // readable when the process has ended
	int in_fd;                     // to write to its stdin; closed after a write has failed
	int out_fd, err_fd;            // to read its stdout and stderr
	uint64_t until;                // when launcher_reap() sends the next signal (now_ns() time)
	int signal;                    // the signal that launcher_reap() has sent last: 0, SIGTERM, SIGKILL
	char how[80];                  // how the process has ended ("exit 255", "signal 9 (KILL)"); "": it has not, or launcher_reap() has ended it
};

// Starts the process, which gets SIGKILL when the calling thread ends; all signals are blocked in that thread. The process has a group of its own,
// out of reach of the terminal's signals, unless config->prompts: then config->context must ignore these signals. Returns 0, and the same thread
// must call launcher_reap() until that returns true; or returns -1 with *ret_error.
int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) FP_NODISCARD;

// Closes the pipes, so that the worker ends and with it the launcher. The process gets no signal before `until` (now_ns() time).
void launcher_end(struct launcher *launcher, uint64_t until);

// If the process has ended, reaps it, closes its pipes and the pidfd, and returns true; does not wait for its end. If it has not ended at
// launcher->until, its target gets SIGTERM, and SIGKILL half a second later. To be called when the pidfd is readable, and at launcher->until.
bool launcher_reap(struct launcher *launcher, uint64_t now);

// Whether the process, which is reaped, has exited with 0.
bool launcher_has_succeeded(const struct launcher *launcher);

// Runs a command, with an empty standard input, and waits for its end. The command is ended early at `until` (now_ns() time), or as soon as `cut_fd`
// is readable (-1: there is no such descriptor). Appends what the command prints to *ret_out. Returns 0 if the command exits with 0; or -1 with the
// reason in *ret_why: the first line of its standard error, or else how it has ended.
int launcher_run(const struct launcher_config *command, int cut_fd, uint64_t until, struct buf *ret_out, struct buf *ret_why) FP_NODISCARD;

// ---- the machines ----

struct pilots;

enum { LINE_BYTES = 400 };       // bytes of a launcher's line that are kept, its NUL included
enum { SHARES = 64 };            // how many steps a host's share of free slots is measured in (hosts.open)

// What the connections' thread waits for at a descriptor of a host.
enum watch_for { WATCH_NOT, WATCH_READ, WATCH_READ_ONCE, WATCH_WRITE };

struct watch {
	struct host *host;
	int fd;
	enum watch_for what;         // WATCH_READ_ONCE becomes WATCH_NOT when the descriptor has been ready
	bool is_added, is_ready;     // `fd` was added to epoll; `fd` was found to be ready, and was not read or written since then
};

// How a connection begins and ends: by steps of the connections' thread, none of which waits.
//
//   NONE -its turn has come-> LOOKUP -ssh-keygen is reaped-> NONE     (only where ssh may ask about the machine's key)
//   NONE -its turn has come, the launcher is started-> BEGUN -the worker was told to end-> RELEASED
//   BEGUN, RELEASED -lost, or not needed: the pipes are closed-> ENDING -the launcher is reaped-> NONE
// The reason why the connection has ended is known only when the launcher is reaped or gets SIGTERM. Then the end is reported, and the jobs on the
// worker are lost.
enum connection_phase { CONNECTION_NONE, CONNECTION_LOOKUP, CONNECTION_BEGUN, CONNECTION_RELEASED, CONNECTION_ENDING };

// A machine: its entry in the list of machines, and its connection. A lost connection is made again after a pause, which grows from 1 s to 60 s.
//
//   state:  CONNECTING -> UP <-> HELD       UP, HELD -> CONNECTING (goodbye), LOST
//           CONNECTING, LOST, UNREACHABLE, ENDED -> UP, LOST, UNREACHABLE, ENDED
//           LOST, UNREACHABLE, ENDED -> CONNECTING (the list names the machine again)
struct host {
	struct hosts *hosts;
	size_t index;                // in hosts.hosts
	const struct sshlogin *login;
	bool is_served;              // the connections' thread serves the host; false: the host is this machine, or is not used
	struct buf words;            // the launcher's command line; argv points into it
	char **argv;

	enum host_state state;
	bool was_up;                 // the host was connected at least once
	bool is_removed;             // the list of machines does not name the host any more: the host takes no further job
	unsigned slots;              // how many slots jobs may use; 0 while the host is not connected
	unsigned used;               // slots of all places on the host (struct hosts_place)
	unsigned nalone;             // number of places with is_alone on the host; while it is above 0, no further attempt gets a place here
	struct list open;            // link in one of the lists hosts.open
	unsigned offered;            // slots of its worker, or of this machine; 0 while the host is not connected, and for a pilot that is released
	enum controller_reason adapted; // why -j auto has changed `offered`, if hosts_report_slots() is to report it; else CONTROLLER_KEPT
	unsigned stuck;              // number of jobs there that were told to end and have not; each takes one of the `offered` slots
	unsigned pooled;             // slots that the pool has for the host: `slots`, or `used` while jobs still use more than `slots`
	const struct sshlogin *listed; // the machine's entry in the newest list of machines that has one: gives the number of slots and the groups
	const struct sshlogin *node; // the node of a connected pilot, else `login`
	uint64_t idle_since;         // of a pilot: when it was requested, when it came, or when its last job ended; the latest of these
	uint64_t came;               // of a pilot: when it was connected last
	struct buf brake;            // text: why the state is HOST_HELD

	enum { BASE_ABSENT, BASE_TRANSFERRING, BASE_PRESENT } base_files; // whether --basefile's files are on the machine (host_files.c)
	struct list base_waiters;    // attempts that wait while the base files are transferred
	struct buf brought;          // the base files that were copied there and may be removed; used only by the thread that transfers them
	struct list attempts;        // struct host_attempt, in the order of their numbers, from host_submit() until ATTEMPT_ENDED
	uint64_t last_number;        // the highest host_attempt.number so far
	bool wanted;                 // the host is to have a connection; changed by host_want(), and when a pilot has gone

	struct list posted;          // link in connection_thread.posted

	// of the connections' thread
	enum connection_phase phase;
	struct launcher launcher;    // the launcher of the connection; in CONNECTION_LOOKUP, ssh-keygen
	struct watch out, err, in, end; // of the launcher's descriptors
	struct dispatcher_end *connection; // from CONNECTION_BEGUN until the end of the connection is reported; else NULL
	bool sends_program;          // the machine has requested the program, and has not been sent all of it
	uint64_t program_at;         // how many bytes were sent in answer to this request: the `at` of program_copy_send()
	struct list turn;            // link in hosts.begun, or in one of hosts.queues
	uint64_t begun;              // since when the host is in hosts.begun
	enum { KEY_UNLOOKED, KEY_KNOWN, KEY_UNKNOWN } key; // whether ssh knows the key of the machine; if not, ssh may ask on the terminal
	uint64_t now, retry_at, pause, next_deadline; // when the step began; when to connect; the pause before that, in s; when an attempt is due
	uint64_t lost_at, bye_at;    // when the last connection ended; when the present worker said goodbye, or 0 (now_ns() time)
	struct buf line;             // the line of its stderr that the launcher has not ended yet
	char last_lines[2][LINE_BYTES]; // the last two lines that the launcher wrote before there was a worker: [1] is the newer line
	unsigned nlines;             // how many lines the launcher wrote while there was a worker
};

// A node on which a pilot has connected: messages and logs name the pilot by the login of its node.
struct pilot_node {
	struct sshlogin login;
	struct pilot_node *next;
};

// Whether the host has no connection because the last connection was lost or could not be made. A message has said so.
static inline bool host_has_failed(const struct host *host) {
	return host->state == HOST_LOST || host->state == HOST_UNREACHABLE || host->state == HOST_ENDED;
}

// Says which hosts one batch may use.
struct hosts_binding {
	struct list link;            // link in hosts.bindings
	struct hosts *hosts;
	const struct sshlogin *login; // of the only host; or NULL: all hosts that have one of `names`
	const char *const *names;    // names or groups, borrowed
	size_t nnames;
	struct queue *queue;         // of the batch; or NULL. hosts.lock guards `queue`, `attrs` and `width`
	struct queue_attrs attrs;    // of the queue, with max_parallel as it was before the hosts' slots lowered it
	unsigned width;              // number of slots of an item
};

enum hosts_ending { HOSTS_RUN, HOSTS_TERMINATE, HOSTS_KILL };

struct hosts {
	const struct options *options;
	const struct context *context; // of the run
	char *cwd;                   // where fairpar was started; NULL: that directory was deleted
	const char *dot;             // what --workdir . means: `cwd`, relative to $HOME if below $HOME (find_dot()); points into cwd, or is "."
	char **env;                  // of launchers: the variables of the context without hosts_withheld; array owned
	struct context *launch_context; // of launchers: without --nice, which is for jobs only
	struct context *prompt_context; // of launchers that may prompt on the terminal: they ignore the terminal's signals, which this process answers
	unsigned here;               // slots of this machine
	uint64_t stop_takes;         // nanoseconds that --term-seq has to end a job
	struct buf base;             // --basefile: paths with a NUL behind each
	struct pool *pool;           // NULL before hosts_attach() and after hosts_detach()
	int wake_fd;                 // wakes the event loop
	// The lock guards the following members, the hosts and their attempts, except what belongs to one thread. The connections' thread holds the lock
	// in a step, but not while it reads or writes.
	mutex lock;
	struct buf messages;         // to be printed by the event loop (hosts_keep_messages())
	cond changed;                // broadcast after each step of a host: hosts_suspend() may wait for what the step has done
	struct host **hosts;         // hosts of the options, then pilots, then hosts added later; the lock guards this and `n` from hosts_attach() on
	size_t n, cap;
	unsigned slots;              // sum of host.slots
	struct list open[SHARES + 1]; // the hosts with free slots, by their share of free slots in 64ths, rounded down
	uint64_t spread_until;       // until this time (now_ns()) the first jobs may wait for hosts that are being connected (so all hosts get jobs); 0:
	                             // no host of the options is being connected for the first time, or the time is over
	struct list requests;        // struct hosts_request: the requests that wait for a place, the oldest first (host_places.c)
	struct list woken;           // attempts to be resumed at the end of this round of steps, because there is something to do for them
	atomic_uint_least64_t down_since, up_since; // when `slots` last became 0, and when it last became more than 0; written under the lock
	struct pilots *pilots;       // NULL: the run has no pilots
	struct connection_thread *connections; // NULL before hosts_attach()
	bool closing;                // all connections are to be closed for good
	uint64_t kill_at;            // after hosts_kill(): when the connections are broken, so that no job is waited for (now_ns() time); else TIME_NEVER
	atomic_bool has_adapted;     // some host.adapted is not CONTROLLER_KEPT
	bool suspending;             // the workers are to suspend their jobs
	// of the connections' thread
	struct list begun;           // the hosts whose connection by ssh has begun and has not been answered, the oldest first
	struct list queues[2];       // the hosts that wait for their turn to connect by ssh; queues[1]: hosts about whose key ssh may ask the user
	uint64_t next_begin;         // --sshdelay: when the next connection may begin (now_ns() time)

	size_t first_pilot, npilots; // index of the first pilot in `hosts`, and the number of pilots
	struct program_copy copy;    // the program that is sent to machines without a fairpar
	struct pilot_node *nodes;    // each node on which a pilot was; kept until the end, because places borrow the logins
	struct arena arena;          // the memory of `nodes`
	atomic_uint ending;          // enum hosts_ending: whether attempts are being ended or killed, and new ones refused; only grows. Set with the lock
	atomic_bool told_shared;     // a message has said that another machine shares a directory with this machine
	struct list bindings;        // struct hosts_binding
	struct sshlogin_worker worker; // how a worker is started; points to `self` and `term_seq`
	char *self;
	struct buf term_seq;
	struct host_list *lists;     // all lists that host_list.c has read: they are kept because hosts borrow the logins in them
	atomic_uint_least64_t next_list_check; // when the list of machines may be read again (now_ns() time); TIME_NEVER: a thread reads it, or it is fixed
	unsigned machines;           // --onall: how many machines work at once: the pool always has that number of slots, and each host has one. Else 0
};

// A loop over all hosts. No host may be added in the loop.
#define for_each_host(hosts_, at) \
	for (struct host **at##_at = (hosts_)->hosts, *at; at##_at < (hosts_)->hosts + (hosts_)->n && (at = *at##_at, true); ++at##_at)

extern char *const hosts_withheld[]; // names of the variables that launchers and remote jobs do not get

// ---- connections.c ----

// Starts the thread, which does a step of a host after host_post(), when a descriptor of host_watch() is ready, and at the time which the last
// step has returned (now_ns() time, or TIME_NEVER). A step is called with the lock. Returns 0, or -1 with errno.
int connections_open(struct hosts *hosts, uint64_t (*step)(struct host *host)) FP_NODISCARD;

// Has the thread close all connections and end, waits for that, and frees hosts->connections. Does nothing unless connections_open() has succeeded.
void connections_close(struct hosts *hosts);

// Has the thread do a step of the host soon. The host must be another machine. With the lock.
void host_post(struct host *host);

// Begins to watch the descriptor as `what` says: when it can be read or written, the thread sets watch->is_ready and does a step of the host. With
// WATCH_NOT stops watching it, as is necessary before `fd` is closed. Called from a step.
void host_watch(struct host *host, struct watch *watch, int fd, enum watch_for what);

// ---- host.c ----

// Makes a host, without a connection; the login is borrowed. On failure returns NULL with *ret_error, a whole message (caller frees).
// host_free() frees a host that is in no list, or is served no more.
struct host *host_new(struct hosts *hosts, const struct sshlogin *login, char **ret_error);
void host_free(struct host *host);

// Appends the host to hosts->hosts, which from then on owns the host.
void host_append(struct hosts *hosts, struct host *host);

// Has the connections' thread connect to the host, but to a pilot only after host_want(). If the host is this machine, gives the host its slots
// instead. With the lock.
void host_connect(struct host *host);

// Whether hosts_suspend() need not wait for the host: there is no connection, or the worker was told to suspend its jobs. With the lock.
bool host_is_suspended(const struct host *host);

// The step of a host, for connections_open().
uint64_t host_step(struct host *host);

// With `wanted`, has the host connected if it has no connection. Else has its worker released as soon as the worker has no attempt, or its launcher
// ended if no worker has come yet; then no further connection is made. With the lock.
static inline void host_want(struct host *host, bool wanted) {
	host->wanted = wanted;
	host_post(host);
}

// ---- an attempt on a host (host_attempt.c). The connections' thread and the threads of the pool that resume the attempt share it ----
//
//   WAITING -sent-> SENT -`started`-> STARTED -`done`, lost-> ENDED       STARTED -`done`-> DOUBTED -> ENDED
//   WAITING, SENT -> ENDED (refused, lost, cancelled before it was sent)       ENDED -> WAITING (host_submit(): its next step)
// Only the connections' thread makes these changes, except the last. This thread does not use an attempt that has ENDED, which is in no list.

enum host_attempt_state { ATTEMPT_WAITING, ATTEMPT_SENT, ATTEMPT_STARTED, ATTEMPT_DOUBTED, ATTEMPT_ENDED };

// How an attempt is to be stopped, the weakest order first.
enum attempt_order { ORDER_NONE, ORDER_CANCEL, ORDER_EXPIRE, ORDER_KILL };

enum host_attempt_step { STEP_BASE, STEP_GO, STEP_RUN, STEP_COME, STEP_REMOVE, STEP_OVER }; // see host_files.c

struct host_attempt {
	struct list link;          // link in host.attempts or host.base_waiters
	struct list woken;         // link in hosts.woken
	struct host *host;
	struct worker *worker;     // resumed when there is something to do for the attempt; NULL: a thread waits for it in file_talk_wait()
	const struct hosts_place *place;
	const struct child_config *config; // of the command
	const char *dir;           // the command's directory on the host; NULL: the worker's directory
	struct job_files *files;   // the files to be copied to the machine and back; or NULL
	// under hosts.lock
	enum host_attempt_state state;
	enum attempt_order order, order_sent; // the strongest order to the present step; the strongest that was sent to the worker
	bool is_cleanup;           // the present step only removes files on the other machine
	uint64_t number;           // the number of the present step on the host: its host_submit() calls are counted from 1
	uint64_t start;            // when the present step started there (now_ns() time); 0: it has not started
	int pid;                   // of its process on the other machine
	struct buf out[2];         // bytes of stdout and stderr that have come; take() passes them on. At most OUTPUT_WINDOW bytes are here and in take()
	size_t taken;              // bytes of output that were passed on, and not acknowledged yet
	unsigned wanted;           // slots that the fairpars in its job want, and that take() has not added to `requests` yet
	struct list loans;         // struct hosts_loan
	int more_fd;               // the attempt is to be resumed when this is readable, because there is more input; or -1
	struct file_talk *talk;    // the step is a conversation about files; NULL: it is the command
	struct buf outbox;         // frames of the step that are to be sent
	const char *why;           // why a frame of the conversation was not allowed: then the connection is to be broken; or NULL
	// of the connections' thread until ATTEMPT_ENDED, then of the thread that has resumed the attempt
	struct buf payload;        // the payload of the `run` frame, until the frame is queued
	int in_fd;                 // the command's standard input to be read, or -1
	struct watch in, more;     // `in` is of in_fd, watched while the worker takes more input; `more` is of more_fd
	struct result result;      // how the step has ended. If `lost` is LOST_UNSENT, the step has never run (it was not sent, or the worker has refused
	                           // it); if LOST_SILENT, the connection was lost: the step may have run, and how it ended is not known
	struct spawn_error error;  // why the command could not be started
	// of the thread that has resumed the attempt
	enum host_attempt_step step;
	bool runs, has_started;    // the command was sent; config->started() was called
	unsigned requests;         // slots to be requested for the fairpars in its job
	bool wrote;                // output of the command was passed on
	atomic_bool awaits_reader; // the thread writes output of --ungroup; read by hosts_are_idle()
	bool is_shut[2];           // nobody reads the stream any more
	struct pollfd input[2];    // this end of the pipe to the command's stdin, and more_fd: the arguments `to` and `more` of stdin_pipe_fill()
	struct transfer *transfer; // the transfer of files that is under way, or NULL
	struct result ended;       // the result of the attempt, as the steps so far have made it
	struct buf unsaid;         // why STEP_REMOVE could not remove files; never printed
};

// Output is acknowledged once at least this many bytes were passed on since the last acknowledgement. Most jobs write less, and need no such frame.
enum { OUTPUT_TAKEN = OUTPUT_WINDOW / 4 };

// Appends the attempt to host.attempts: to send its command, or (`talk`) to begin a conversation about files. Returns false, with the result
// OUTCOME_CANCELLED, if hosts.ending refuses the step: HOSTS_TERMINATE refuses all but steps with `is_cleanup`, HOSTS_KILL refuses all steps.
bool host_submit(struct host_attempt *attempt, struct file_talk *talk, bool is_cleanup);

static inline void hosts_keep_message(void *messages, const char *text, size_t len) {
	buf_add(messages, text, len);
}

// Until `begins` is false, keeps the calling thread's messages for hosts_print_messages(): nothing may be printed under the lock, as whoever waits for
// the reader of stderr would stop all machines. With the lock.
static inline void hosts_keep_messages(struct hosts *hosts, bool begins) {
	diag_keep(begins ? hosts_keep_message : NULL, &hosts->messages);
	if (!begins && hosts->messages.len > 0) {
		wakeup_post(hosts->wake_fd);
	}
}

// Notes that there is something to do for the attempt: the connections' thread will have the attempt resumed. On that thread, with the lock.
void host_attempt_on_wake(struct host_attempt *attempt);

// Begins the command, or goes on with it. Returns false if it waits for the machine; true, with attempt->result and ->error, if it has ended.
bool host_attempt_run(struct host_attempt *attempt);

// ---- host_loans.c ----

// The calls `wanted` and `back` of struct dispatcher_calls: the worker requests slots for the fairpars in a job, or gives one back. With the lock.
const char *host_loans_wanted(void *arg, struct channel_job *job, uint64_t slots);
void host_loans_back(void *arg, struct channel_job *job);

// Ends all loans of the attempt, which has ended. With the lock.
void host_loans_end(struct host_attempt *attempt);

// ---- host_files.c ----

// With --cleanup, removes the base files on the host, and waits for that. No attempt may run there any more.
void host_files_clean_up(struct host *host);

// ---- host_places.c ----

// With `begins`, frees the slots of the place while it is in doubt how its attempt has ended (ATTEMPT_DOUBTED); else takes them back. With the lock.
void hosts_doubt_place(const struct hosts_place *place, bool begins);

// Withdraws the request, if it waits; else does nothing. With the lock.
void hosts_withdraw_request(struct hosts *hosts, struct hosts_request *request);

// Answers those of the waiting requests that can be answered now. To be called after slots become free, a host changes its state, or the run begins
// to end. With the lock.
void hosts_answer_requests(struct hosts *hosts);

// Returns how many slots the waiting attempts that may use pilots need. With the lock.
unsigned hosts_pilots_wanted(const struct hosts *hosts);

// Sets host.slots, from what the list of machines and the host's worker say: 0 if the host is not connected, or has left the list. Changes the number
// of slots of the pool accordingly (host.pooled). With the lock, which hosts_detach() takes, too.
void host_set_slots(struct host *host);

// Sets the number of slots of the host's worker, or of this machine, because -j auto has changed it for `reason`. With the lock.
void host_adapt(struct host *host, uint64_t slots, enum controller_reason reason);

// Returns how many slots the options give the login's machine; if they give no number, how many slots the machine has on which fairpar runs.
unsigned hosts_slots_or_default(const struct hosts *hosts, const struct sshlogin *login);

// The most slots of one worker that are used; if a worker has more, the others are ignored.
enum { HOST_SLOTS_MOST = 4096 };

// Returns the host that is this machine, or NULL.
struct host *hosts_find_here(const struct hosts *hosts);

// Whether the batch may use the host. With the lock.
bool hosts_binding_has(const struct hosts_binding *binding, const struct host *host);

// Releases the host's worker if the host has left the list of machines and has no job; but not if the run is to remove base files. With the lock.
void host_release_removed(struct host *host);

// Sets how many items each batch with a binding may run at once, by the slots that its hosts have now. With the lock.
void hosts_limit_queues(const struct hosts *hosts);

// ---- host_list.c ----

void hosts_free_lists(struct hosts *hosts);

// ---- pilots.c ----

// Starts the thread that requests pilots when hosts_starving() wakes the thread. Returns 0, or -1 with errno.
int pilots_open(struct hosts *hosts) FP_NODISCARD;

// pilots_on_up() is called when a pilot has connected, pilots_on_down() when its connection is lost or its worker leaves. In a step of the host.
// `was_up`: the worker took attempts. `bye`: the worker has said goodbye, and its jobs go on; else its jobs are lost.
void pilots_on_up(struct host *host);
void pilots_on_down(struct host *host, const char *why, bool was_up, bool bye);

// Whether no pilot has ever come, and none will. With the lock.
bool pilots_are_lost(const struct hosts *hosts);

// pilots_stop() ends the thread, so no further pilot is requested. pilots_close(), to be called once the connections are closed, cancels the pilots
// of this run that Slurm still has, and frees hosts->pilots. Both do nothing if the run has no pilots.
void pilots_stop(struct pilots *pilots);
void pilots_close(struct hosts *hosts);
