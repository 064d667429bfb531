// The machines of a run as the files of this room see them; hosts.c is above the others.
//
// hosts_open() and hosts_attach() print why they fail and return -1; the functions that they call return the reason as a text or in errno. A machine
// that fails later is reported by its own thread, and the failure of an attempt there is in the attempt's result.

#pragma once

#include "base/atomic.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "hosts/hosts.h"
#include "process/spawn.h"
#include "remote/channel.h"
#include "remote/file_talk.h"
#include "remote/payload.h"
#include "remote/sshlogin.h"

// ---- launcher.c: a process with pipes for its three standard streams: the launcher that starts a worker on another machine (ssh, srun, sh -c),
// whose stdin and stdout are the connection to it; also Slurm's commands ----

struct launcher_config {
	char *const *argv, *const *env; // NULL-terminated; the first of argv is looked for in PATH
	const struct context *context;
	bool prompts;                  // the process may read the terminal, as ssh does: so it stays in this process group, or reading would stop it
};

// Non-blocking ends of its three pipes. An end that was closed is -1.
struct launcher {
	pid_t pid;
	pid_t target;                  // for kill(2): the process, or its group
	int pidfd;                     // readable when the process has ended
	int in_fd;                     // to write: its stdin; closed after a write has failed
	int out_fd, err_fd;            // to read
};

// Starts the process, which gets SIGKILL when the calling thread ends; all signals are blocked in that thread. It has a process group of its own,
// out of reach of the terminal's signals, unless it prompts: then the context is to ignore them. Returns 0, and the same thread calls
// launcher_end(); or -1 with *ret_error.
int launcher_start(struct launcher *launcher, const struct launcher_config *config, struct spawn_error *ret_error) FP_NODISCARD;

// Closes the pipes, so that the worker ends and with it the launcher, and waits for the end of the process until `until` (now_ns() time). Then
// its target gets SIGTERM, and SIGKILL half a second later. Writes into `ret_how` of `size` bytes how it has ended ("exit 255", "signal 9
// (KILL)"), or "" if it was killed here.
void launcher_end(struct launcher *launcher, uint64_t until, char *ret_how, size_t size);

// Runs a command on the calling thread, with an empty standard input, and waits for its end. At `until` (now_ns() time), and when `cut_fd` (or -1)
// is readable, the command is cut short. Appends what the command prints to *ret_out. Returns 0 if the command has exited with 0; or -1 with the
// reason in *ret_why: the first line of its standard error, or else how it has ended.
int launcher_run(const struct launcher_config *command, int cut_fd, uint64_t until, struct buf *ret_out, struct buf *ret_why) FP_NODISCARD;

// ---- the machines ----

struct pilots;

enum { LINE_BYTES = 400 };       // how much of a line of a launcher is kept

// A machine, from the list to its connection. When the connection is lost the thread connects again after a pause, which grows from 1 s to 60 s.
//
//   state:  CONNECTING -> UP <-> HELD       UP, HELD -> CONNECTING (goodbye), LOST
//           CONNECTING, LOST, UNREACHABLE, ENDED -> UP, LOST, UNREACHABLE, ENDED
//           LOST, UNREACHABLE, ENDED -> CONNECTING (the list names it again)
struct host {
	struct hosts *hosts;
	size_t index;                // in hosts.hosts
	const struct sshlogin *login;
	bool has_thread;             // a thread that keeps the connection; false: the host is this machine
	struct buf words;            // the launcher's command line; argv points into it
	char **argv;

	// under hosts.lock
	enum host_state state;
	bool was_up;                 // it was connected at least once
	bool is_removed;             // the list does not name the machine any more: it takes no further job
	unsigned slots;              // for jobs; 0 while it is not connected
	unsigned used;               // slots that places have
	unsigned offered;            // slots of its worker, 0 while it is not connected
	unsigned stuck;              // slots of its worker that are taken by jobs which were told to end and have not; set by its thread
	unsigned excess;             // used slots beyond `slots`, after the list has lowered these: the pool has them until their jobs end
	const struct sshlogin *listed; // the newest entry of the list for the machine: says the number of slots and the groups
	const struct sshlogin *node; // the node of a connected pilot, else `login`
	uint64_t idle_since;         // of a pilot: when its last job ended
	uint64_t begun;              // when the attempt to connect that is under way began (now_ns() time); 0: none is
	enum { KEY_UNLOOKED, KEY_KNOWN, KEY_UNKNOWN } key; // whether ssh knows the key of the machine; if not, it may ask on the terminal
	struct buf brake;            // why the state is HOST_HELD
	bool is_suspended;           // since hosts.suspending was set, its worker was told to suspend its jobs

	// under `lock`
	mutex lock;
	cond changed;                // broadcast when one of the next three members changes
	uint64_t lost_at, bye_at;    // when a connection has ended last, and when a worker has said goodbye last (now_ns() time)
	enum { BASE_ABSENT, BASE_TRANSFERRING, BASE_PRESENT } base_files; // TRANSFERRING: the other attempts wait
	bool closing;                // tells its thread to close the connection and to end
	struct buf brought;          // the base files that may be removed; of the thread that transfers them
	struct list attempts;        // in the order of their numbers
	uint64_t last_number;
	unsigned ndoubted;           // number of attempts with is_doubted
	bool wanted;                 // the machine is to be connected
	bool called;                 // of a pilot: `wanted` was set, and pilots_on_closed() was not called since then
	int wake_fd;                 // wakes its thread

	// of its thread
	thread thread;
	struct launcher launcher;
	struct dispatcher_end *connection; // NULL: the connection is down
	bool released;               // the worker was told to end
	bool ended_jobs;             // the worker has ended jobs without being told to
	uint64_t now, retry_at, pause, kill_at, next_deadline; // next_deadline: when the time of the next attempt is over
	struct buf line;             // the line that the launcher is writing
	char last_lines[2][LINE_BYTES]; // the last two lines that the launcher wrote before there was a worker, the last one second
	unsigned nlines;
	struct polls polls;
	char *bytes;                 // READ_BYTES
};

// A node on which a pilot has connected: messages and logs name the pilot by the login of its node.
struct pilot_node {
	struct sshlogin login;
	struct pilot_node *next;
	char name[];
};

// Whether the host has no connection because the last one was lost or could not be made. A message has said so.
static inline bool host_has_failed(const struct host *host) {
	return host->state == HOST_LOST || host->state == HOST_UNREACHABLE || host->state == HOST_ENDED;
}

// The hosts that one batch may use.
struct hosts_binding {
	struct list link;            // of hosts.bindings
	struct hosts *hosts;
	const struct sshlogin *login; // of the only host; or NULL: all hosts that have one of `names`
	const char *const *names;    // names or groups, borrowed
	size_t nnames;
	struct queue *queue;         // of the batch, or NULL; this and the next two are under hosts.lock
	struct queue_attrs attrs;    // of the queue, with max_parallel as it was before the hosts' slots lowered it
	unsigned width;              // slots of an item
};

enum hosts_ending { HOSTS_RUN, HOSTS_TERMINATE, HOSTS_KILL };

struct hosts {
	const struct options *options;
	const struct context *context; // of the run
	char *cwd;                   // where fairpar was started; NULL: that directory was deleted
	const char *dot;             // `cwd` relative to $HOME, if it is below $HOME; points into cwd
	char **env;                  // of launchers; array owned
	struct context *launch_context; // of launchers: without --nice, which is for jobs only
	struct context *prompt_context; // of launchers that may prompt on the terminal: they ignore the terminal's signals, which this process answers
	unsigned here;               // slots of this machine
	uint64_t stop_takes;         // nanoseconds that --term-seq has to end a job
	uint64_t spread_until;       // until this time (now_ns()) the first jobs are spread over the hosts
	uint64_t next_begin;         // --sshdelay: when the next connection may begin (now_ns() time)
	struct buf base;             // --basefile: paths with a NUL behind each
	const char *base_dir;        // --basefile: the directory on the other machine, from --workdir; NULL: the worker's
	struct pool *pool;           // NULL before hosts_attach() and after hosts_detach()
	int wake_fd;                 // wakes the event loop
	struct host **hosts;         // of the options, then the pilots, then those added later; under the lock since hosts_attach(), as `n` is
	size_t n, cap;
	mutex lock;
	cond changed;                // a slot is free, a host is connected or was told to suspend its jobs, or the run ends
	unsigned slots;              // of all hosts together, as the pool has them
	struct list waiters;         // the attempts that wait for a place (host_places.c)
	atomic_uint_least64_t down_since, up_since; // when the last host was lost, and when one was connected again; written under the lock
	struct pilots *pilots;       // or NULL
	size_t first_pilot, npilots; // index of the first pilot, and how many there are
	struct program_copy copy;    // for machines without a fairpar
	struct pilot_node *nodes;    // each node on which a pilot was; kept until the end, because places borrow the logins
	atomic_uint ending;          // enum hosts_ending: which attempts are ended and refused; only grows. It is set before the attempts of any host are
	                             // ended, which happens with that host's lock; host_submit() reads it with that lock
	atomic_bool suspending;      // the workers are to suspend their jobs
	atomic_bool told_shared;     // the message that a machine shares a directory with this one was printed
	struct list bindings;        // struct hosts_binding
	struct sshlogin_worker worker; // how a worker is started; points to `self` and `term_seq`
	char *self;
	struct buf term_seq;
	struct host_list *lists;     // the lists that host_list.c has read, because hosts borrow their logins
	atomic_uint_least64_t next_list_check; // now_ns() time; TIME_NEVER: a thread is reading the list, or it cannot change
	unsigned machines;           // --onall: the pool always has that many slots, and each host has one; else 0
};

// ---- host.c ----

// Makes a host, without a connection; the login is borrowed. Returns NULL with *ret_error, a whole message (caller frees).
// host_free() frees a host that is in no list, or whose thread has ended.
struct host *host_new(struct hosts *hosts, const struct sshlogin *login, char **ret_error);
void host_free(struct host *host);

// Appends the host to hosts->hosts, which owns it then.
void host_append(struct hosts *hosts, struct host *host);

// Starts the thread of the connection, which connects at once; to a pilot only after host_want(). If the host is this machine, gives it its
// slots instead. Returns 0, or -1 with errno. With hosts.lock.
int host_connect(struct host *host) FP_NODISCARD;

// Tells the host's thread, with `wanted`, to connect if there is no connection. Without: to release the worker as soon as it has no attempt, or to
// end the launcher if no worker has come yet, and not to connect again. Any thread.
static inline void host_want(struct host *host, bool wanted) {
	mutex_lock(&host->lock);
	host->wanted = wanted;
	host->called = host->called || wanted;
	wakeup_post(host->wake_fd);
	mutex_unlock(&host->lock);
}

// ---- an attempt on the host; two threads share it: the one that waits for its end (host_attempt.c), and the host's (host.c) ----
//
//   WAITING -sent-> SENT -`started`-> STARTED -`done`, lost-> ENDED
//   WAITING, SENT -> ENDED (refused, lost, cancelled before it was sent)
// Only the host's thread takes these steps. After ENDED it does not touch the attempt, which is in no list any more.

enum host_attempt_state { ATTEMPT_WAITING, ATTEMPT_SENT, ATTEMPT_STARTED, ATTEMPT_ENDED };

// How an attempt is to be stopped, weakest first.
enum attempt_order { ORDER_NONE, ORDER_CANCEL, ORDER_EXPIRE, ORDER_KILL };

struct host_attempt {
	struct list link;          // of host.attempts
	struct host *host;
	const struct child_config *config;
	uint64_t number;           // on the connection; from 1, in the order of host_submit()
	int wake_fd;               // posted when there is output, when the attempt has started, and when it has ended
	// under host.lock
	enum host_attempt_state state;
	enum attempt_order order, order_sent;
	uint64_t start;            // since STARTED
	int pid;                   // of its process on the other machine
	struct buf out[2];         // stdout and stderr that came and were not passed on yet: with what its thread has, at most OUTPUT_WINDOW bytes
	size_t taken;              // bytes that were passed on, and not acknowledged yet
	unsigned shut, shut_sent;  // the streams that nobody reads any more, as bits 1 and 2; and those of which the worker was told
	// owned by the host's thread until ENDED, then by the thread that waits
	struct buf payload;
	int in_fd;                 // its standard input to be read, or -1
	struct result result;      // with `lost` LOST_UNSENT the attempt has never run (no connection, or the worker takes no more); with LOST_SILENT the
	                           // connection was lost: it may have run, and how it ended is not known. Else how it ended
	struct spawn_error error;
	bool wrote;                // output of the attempt was passed on
	bool is_doubted;           // since ENDED: it is not known yet whether Slurm has ended the process together with its worker (host_attempt.c)
	// of a conversation about files; under host.lock
	struct file_talk *talk;    // NULL: this is an attempt at a job
	struct buf outbox;         // frames that are to be sent
	const char *why;           // why a frame was not allowed: then the connection is to be broken; or NULL
};

// Output is acknowledged in pieces of so many bytes. Few jobs write as much, so most need no frame for it.
enum { OUTPUT_TAKEN = OUTPUT_WINDOW / 4 };

// Appends the attempt to the list and wakes the host's thread. Returns false if it is refused because of hosts.ending.
bool host_submit(struct host_attempt *attempt);

// ---- host_attempt.c ----

// Executes one attempt on the other machine, for hosts_run(), and waits for its end on the calling thread. `dir` is its directory there, by
// --workdir or the manifest; NULL: the worker's. *ret_result is OUTCOME_CANCELLED if the attempt is refused because of hosts.ending; `lost` as in
// host_attempt.result. Returns whether output of it was passed on.
bool host_run(const struct hosts_place *place, const struct child_config *config, const char *dir, struct result *ret_result,
              struct spawn_error *ret_error);

// Holds a conversation about files, and waits until the worker ends it. Of `config` only those fields count that can end an attempt early.
void host_talk(struct host *host, const struct child_config *config, struct file_talk *talk, struct result *ret_result);

// ---- host_files.c ----

// Transfers place->files, runs the attempt as host_run() does, fetches its files and cleans up. If a file cannot be transferred, the attempt does
// not start; if a file of a successful attempt cannot be fetched, the attempt has failed. place->files->why names the file and the cause.
bool host_files_run(const struct hosts_place *place, const struct child_config *config, const char *dir, struct result *ret_result,
                    struct spawn_error *ret_error);

// With --cleanup, removes the base files on the host. No attempt may run there any more.
void host_files_clean_up(struct host *host);

// ---- host_places.c ----

// With `begins`, frees the slots of a place while it is not known how its attempt ended (host_attempt.is_doubted); else takes them back.
void hosts_doubt_place(const struct hosts_place *place, bool begins);

// Returns how many slots the waiting attempts that may use pilots need. With the lock.
unsigned hosts_pilots_wanted(const struct hosts *hosts);

// Sets the number of slots of the host, and of the pool accordingly. `keeps`: if jobs use more slots than that, they keep them until they
// end (host.excess). With the lock, which hosts_detach() takes, too.
void host_set_slots(struct host *host, unsigned slots, bool keeps);

// The slots that the options give the machine, or else the number of this machine's slots.
unsigned hosts_slots_or_default(const struct hosts *hosts, const struct sshlogin *login);

// How many slots the host is to have, by the list and its worker: 0 if it is not connected or not in the list any more. With the lock.
unsigned host_target_slots(const struct host *host);

// How many slots of one worker are used at most.
enum { HOST_SLOTS_MOST = 4096 };

// Whether the batch may use the host. With the lock.
bool hosts_binding_has(const struct hosts_binding *binding, const struct host *host);

// Releases the worker of a host that the list does not name any more, if no job and no base file is there. With the lock.
void host_release_removed(struct host *host);

// Adapts how many items the batches may run at once to the slots that their hosts have now. With the lock.
void hosts_limit_queues(const struct hosts *hosts);

// ---- host_list.c ----

void hosts_free_lists(struct hosts *hosts);

// ---- pilots.c ----

// Starts the thread that requests pilots, which waits for hosts_starving(). Returns 0, or -1 with errno.
int pilots_open(struct hosts *hosts) FP_NODISCARD;

// The connection of a pilot was made, is lost or leaving, or was closed. From the host's thread; pilots_on_up() with hosts.lock. `was_up`: the worker
// took attempts. `bye`: the worker has said goodbye, and its jobs go on; else they are lost.
void pilots_on_up(struct host *host);
void pilots_on_down(struct host *host, const char *why, bool was_up, bool bye);
void pilots_on_closed(struct host *host);

// Whether no pilot has ever come, and none will. With hosts.lock.
bool pilots_are_lost(const struct hosts *hosts);

// pilots_stop() ends the thread: no further pilot is requested. pilots_close(), once the connections are closed, cancels the jobs of this run that
// Slurm still has, and frees. Both are NULL-safe.
void pilots_stop(struct pilots *pilots);
void pilots_close(struct hosts *hosts);
