// The hosts of a run as their files see them: hosts.c (hosts that come and go, what runs there), host_places.c (who gets which),
// host_list.c (the list of them, where it changes).

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
	size_t index;              // in hosts.hosts
	const struct sshlogin *login;
	struct host_link *link;         // NULL: this machine
	struct host_files *files;       // of a machine over ssh, else NULL
	struct buf words;          // of the launcher's command line
	char **argv;
	const char *path;          // of its program; borrowed
	// under hosts.lock
	unsigned slots;            // 0 while it is down
	unsigned used;
	unsigned offered;          // slots that its worker has, 0 while it is down
	unsigned over;             // that the pool has, too: of jobs that run there, but for which there is no slot in the list any more
	unsigned cpus;             // N of N/HOST, as the list has it now
	bool has_left;             // the list: it takes no more jobs
	const struct sshlogin *node; // where a pilot is, once it has said so; else `login`
	uint64_t idle_since;       // of a pilot: when it had no job last
	bool is_braked;            // it takes no jobs for now
	struct buf brake;          // why
	const void *claimant;      // who waits for several of its slots, or NULL
	bool was_up;               // once at least
	bool has_failed;           // to be connected to, since it was up last; it was said
	bool is_unreachable;       // so has the last attempt to connect
	bool is_over;              // and will be: the allocation of Slurm that it was in has ended
};

struct hosts_place {
	struct hosts_host *host;
	const struct sshlogin *at; // for a pilot may come back elsewhere
	unsigned width;
	struct job_files *files;   // of the attempt, or NULL
};

// The hosts of a batch that is to run on no other.
struct hosts_bound {
	struct list link;          // of hosts.bounds
	struct hosts *hosts;
	const char *const *names;  // borrowed, or NULL: no host comes to it
	size_t nnames;
	bool *has;                 // of each host; from here on under hosts.lock
	size_t n;                  // hosts
	struct queue *queue;       // of the batch, or NULL
	struct queue_attrs attrs;  // as they would be without a limit of the hosts
	unsigned width;
};

struct hosts {
	const struct options *options;
	const struct context *context; // of the run
	char *cwd;                 // where fairpar was started
	const char *dot;           // the same from the login directory if it is below; of cwd
	char **env;                // of launchers
	struct context *asking;    // of those that may ask on the terminal: its signals are this process's to answer
	unsigned here;             // slots of this machine
	struct buf sent_env, whole_env; // of all jobs over ssh (--env), and by --launch
	struct executor inner;
	struct pool *pool;
	struct start_order *start_order; // or NULL
	void (*wake)(void *arg);
	void *wake_arg;
	struct hosts_host **hosts; // behind the pilots stand those that came later; from hosts_attach() on under the lock, with n
	size_t n, cap;
	mutex lock;
	cond changed;              // a slot is free, a host came, the end
	unsigned waiting;          // slots that attempts wait for
	unsigned lent;             // … of the pool, which they have lent
	struct list seekers;       // of host_places.c: those attempts
	atomic_uint_least64_t down_since, up_since; // when the last of them went, and when the first came; written under the lock
	struct pilots *pilots;     // or NULL
	size_t first_pilot, npilots; // which host the first is
	struct program_copy copy;  // for machines without a fairpar
	struct pilot_node *nodes;  // where pilots were, each once; borrowed by what ran there until the end of the run
	bool terminating;
	struct list bounds;        // struct hosts_bound
	struct sshlogin_worker worker; // how one is started
	char *self;                // of it
	struct buf term_seq;       // of it
	struct host_list *lists;   // that were read later, and whose logins hosts have: of host_list.c
	atomic_uint_least64_t look_at; // when to look whether the list has changed; TIME_NEVER: somebody does, or it cannot
	unsigned machines;         // --onall: the pool has so many slots all the time, and each host one; else 0
};

static inline bool hosts_host_is_pilot(const struct hosts_host *host) {
	return host->login->is_pilot;
}

// Makes a host, without a connection: the login is borrowed. Returns NULL with *ret_error, a whole message. hosts_free_host() is for one that
// is in no list.
struct hosts_host *hosts_make_host(struct hosts *hosts, const struct sshlogin *login, char **ret_error);
void hosts_free_host(struct hosts_host *host);

// Puts it behind the others, and connects to it. Returns 0; or -1 with errno, and it is not there. With the lock.
int hosts_insert_host(struct hosts *hosts, struct hosts_host *host);

// Sets the slots of the host, and tells the pool. `keeps`: jobs that run there go on, also where there is no slot for them now, and the
// pool has theirs until they end. With the lock, for hosts_detach().
void hosts_set_slots(struct hosts_host *host, unsigned slots, bool keeps);

// Has those who keep an account by slots make room for all that the pool may have. With the lock.
void hosts_reserve(struct hosts *hosts);

// How many it is to have, while it is up. With the lock.
unsigned hosts_due_slots(const struct hosts_host *host);

// Says for all batches that are bound by names whether they may use the host, by what `login` says of its groups. With the lock.
void hosts_bind_host(struct hosts *hosts, const struct hosts_host *host, const struct sshlogin *login);

// Lets the worker of a host go that has left the list, when it has no more to do. With the lock.
void hosts_dismiss(const struct hosts_host *host);

// Takes the list as it is now, if it may have changed and a second has passed since the last look. One call of now_ns() otherwise. Any
// thread, without the lock.
void hosts_look_at_list(struct hosts *hosts);
void hosts_free_lists(struct hosts *hosts);

// The host of that index, or NULL behind the last one. Any thread; one that was there stays until the end.
struct hosts_host *hosts_at(struct hosts *hosts, size_t i);

// The slots of a host have changed: so has the most that batches bound to it may run. With the lock.
void hosts_limit_queues(const struct hosts *hosts);

#endif
