// The hosts of a run as the files of this room see them: hosts.c (connections, and what runs there), host_places.c (which attempt gets which
// slots), host_list.c (changes of --sshloginfile), host_words.c (messages about them).

#ifndef FAIRPAR_HOSTS_HOSTS_INTERNAL_H
#define FAIRPAR_HOSTS_HOSTS_INTERNAL_H

#include "base/atomic.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/sync.h"
#include "hosts/hosts.h"
#include "remote/program_copy.h"
#include "remote/sshlogin.h"

struct pilot_node;

struct hosts_host {
	struct hosts *hosts;
	size_t index;                // in hosts.hosts
	const struct sshlogin *login;
	struct host_link *link;      // the connection; NULL: this machine
	struct host_files *files;    // of a machine over ssh, else NULL
	struct buf words;            // the launcher's command line; argv points into it
	char **argv;
	const char *path;            // the launcher's program; borrowed
	// under hosts.lock
	unsigned slots;              // for jobs; 0 while it is not connected
	unsigned used;               // slots that places have
	unsigned offered;            // slots of its worker, 0 while it is not connected
	unsigned stuck;              // slots of its worker on which jobs run that were told to end, and do not
	unsigned excess;             // used slots beyond `slots`, after the list has lowered these: the pool has them until their jobs end
	unsigned cpus;               // N of N/HOST, as the list has it now
	bool is_removed;             // the list does not name it any more: it takes no further job
	const struct sshlogin *node; // the node of a connected pilot, else `login`
	uint64_t idle_since;         // of a pilot: when its last job ended
	uint64_t begun;              // when its connection has begun (now_ns() time); 0: not, or it has answered
	enum { KEY_UNLOOKED, KEY_KNOWN, KEY_UNKNOWN } key; // whether ssh knows its key, or may ask on the terminal
	bool is_braked;              // its worker lets no job start for now (--load, --memfree)
	struct buf brake;            // why
	const void *reserved_by;     // the place that waits for several of its slots, or NULL
	bool was_up;                 // it was connected at least once
	bool has_failed;             // its connection was lost or refused, and it is not connected again yet; a message has said so
	bool is_unreachable;         // the last attempt to connect has failed
	bool allocation_ended;       // … because its Slurm allocation has ended: each further attempt fails, too
};

struct hosts_place {
	struct hosts_host *host;
	const struct sshlogin *login; // the node of then, for a pilot may come back on another one
	unsigned width;              // slots
	struct job_files *files;     // of the attempt, or NULL
};

// The hosts that one batch may use.
struct hosts_binding {
	struct list link;            // of hosts.bindings
	struct hosts *hosts;
	const char *const *names;    // borrowed; NULL: one host, and no other is added later
	size_t nnames;
	bool *includes;              // for each host; this and the next under hosts.lock
	size_t n;                    // hosts
	struct queue *queue;         // of the batch, or NULL
	struct queue_attrs attrs;    // of the queue, without the limit that the slots of the hosts make
	unsigned width;              // slots of an item
};

struct hosts {
	const struct options *options;
	const struct context *context; // of the run
	char *cwd;                   // where fairpar was started; NULL: that directory was deleted
	const char *dot;             // the same relative to $HOME if it is below; points into cwd
	char **env;                  // of launchers; array owned
	struct context *launch_context; // of launchers: --nice is for jobs
	struct context *prompt_context; // of launchers that may prompt on the terminal: they ignore its signals, which this process answers
	bool has_terminal;           // on which ssh may ask
	unsigned here;               // slots of this machine
	uint64_t spread_until;       // the first jobs are spread until then (now_ns() time)
	uint64_t next_begin;         // --sshdelay: no connection begins before (now_ns() time)
	unsigned spreading;          // attempts that wait for hosts which are being connected, so that they are spread
	struct buf sent_env, whole_env; // environment of jobs over ssh (--env), and of those by --launch: variables with a NUL behind each
	struct executor inner;       // of jobs on this machine
	struct pool *pool;           // NULL before hosts_attach() and after hosts_detach()
	void (*wake)(void *arg);     // wakes the event loop
	void *wake_arg;
	struct hosts_host **hosts;   // of the options, then the pilots, then those added later; with n under the lock since hosts_attach()
	size_t n, cap;
	mutex lock;
	cond changed;                // a slot is free, a host is connected, or the run ends
	unsigned waiting;            // slots for which attempts that may use pilots wait
	struct list waiters;         // of host_places.c: the attempts that have lent theirs
	atomic_uint_least64_t down_since, up_since; // when the last host was lost, and when one was connected again; written under the lock
	struct pilots *pilots;       // or NULL
	size_t first_pilot, npilots; // index of the first pilot, and how many there are
	struct program_copy copy;    // for machines without a fairpar
	struct pilot_node *nodes;    // each node on which a pilot was; kept until the end, for places borrow them
	bool terminating;            // no place is given any more
	atomic_bool told_shared;     // a message has said that a directory is shared with a machine
	struct list bindings;        // struct hosts_binding
	struct sshlogin_worker worker; // how a worker is started; points to the next two
	char *self;
	struct buf term_seq;
	struct host_list *lists;     // lists read later, whose logins hosts borrow: of host_list.c
	atomic_uint_least64_t next_list_check; // now_ns() time; TIME_NEVER: a thread is reading the list, or it cannot change
	unsigned machines;           // --onall: the pool has that many slots all the time, and each host one; else 0
};

// Makes a host, without a connection; the login is borrowed. Returns NULL with *ret_error, a whole message (caller frees).
// hosts_free_host() is for one that no list has.
struct hosts_host *hosts_make_host(struct hosts *hosts, const struct sshlogin *login, char **ret_error);
void hosts_free_host(struct hosts_host *host);

// Frees the slots of a place while the end of its attempt is doubted, as link_calls.doubted; `arg` is its host.
void hosts_doubt_place(void *arg, const void *place, bool begins);

// Appends the host to the list, which owns it then, and connects to it. Returns 0; or -1 with errno, and it is not in the list. With the lock.
int hosts_insert_host(struct hosts *hosts, struct hosts_host *host);

// Sets the number of slots of the host, and of the pool accordingly. `keeps`: jobs that have more than these keep them until they end
// (hosts_host.excess). With the lock, which hosts_detach() takes, too.
void hosts_set_slots(struct hosts_host *host, unsigned slots, bool keeps);

// How many slots the host is to have, by the list and its worker: 0 if it is not connected or not in the list any more. With the lock.
unsigned hosts_target_slots(const struct hosts_host *host);

// Decides for each batch that is bound by names whether it may use the host; `login` has the host's groups. With the lock.
void hosts_bind_host(struct hosts *hosts, const struct hosts_host *host, const struct sshlogin *login);

// Releases the worker of a host that the list does not name any more, if no job and no base file is there. With the lock.
void hosts_release_removed(const struct hosts_host *host);

// Reads the list again if one of its files may have changed, at most once a second; else it costs one call of now_ns(). Any thread, without
// the lock.
void hosts_refresh_list(struct hosts *hosts);
void hosts_free_lists(struct hosts *hosts);

// Returns the host of that index, which stays until hosts_close(), or NULL behind the last one. Any thread, without the lock.
struct hosts_host *hosts_at(struct hosts *hosts, size_t i);

// Adapts how many items the batches may run at once to the slots that their hosts have now. With the lock.
void hosts_limit_queues(const struct hosts *hosts);

#endif
