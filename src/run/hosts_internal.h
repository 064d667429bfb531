// The hosts of a run as their files see them: hosts.c (hosts that come and go, what runs there), host_places.c (who gets which).

#ifndef FAIRPAR_RUN_HOSTS_INTERNAL_H
#define FAIRPAR_RUN_HOSTS_INTERNAL_H

#include "base/atomic.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/sync.h"
#include "remote/program_copy.h"
#include "remote/sshlogin.h"
#include "run/hosts.h"

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
	unsigned awaited;          // slots that attempts wait for which can run on few hosts
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
	bool *has;                 // of each host
	struct queue *queue;       // of the batch, or NULL; from here on under hosts.lock
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
	atomic_uint_least64_t down_since, up_since; // when the last of them went, and when the first came; written under the lock
	struct pilots *pilots;     // or NULL
	size_t first_pilot, npilots; // which host the first is
	struct program_copy copy;  // for machines without a fairpar
	struct pilot_node *nodes;  // where pilots were, each once; borrowed by what ran there until the end of the run
	bool terminating;
	struct list bounds;        // struct hosts_bound
	unsigned machines;         // --onall: the pool has so many slots all the time, and each host one; else 0
};

static inline bool hosts_host_is_pilot(const struct hosts_host *host) {
	return host->login->is_pilot;
}

// The host of that index, or NULL behind the last one. Any thread; one that was there stays until the end.
struct hosts_host *hosts_at(struct hosts *hosts, size_t i);

// The slots of a host have changed: so has the most that batches bound to it may run. With the lock.
void hosts_limit_queues(const struct hosts *hosts);

#endif
