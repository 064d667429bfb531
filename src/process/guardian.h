// The guardian: a process that ends the jobs of a fairpar that was killed.
//
// A parent-death signal reaches only the direct child, so after a SIGKILL of fairpar the rest of a job's group would run on. The
// guardian holds one end of a pipe whose other end only fairpar has, and shares the table of running groups with fairpar. When
// the pipe ends and fairpar has not said goodbye, the guardian sends TERM, and 300 ms later KILL, to all groups in the table, to
// the descendants of jobs without a group of their own, and to all processes with the run's cookie in their environment (these
// may have left their group: setsid, timeout, set -m). Then it unlinks the files that jobs were making (guardian_set_path()). The
// guardian is started once a job has run for some time, as shorter jobs are not worth the cost, and again if it was killed. It is
// a fresh program image in a session of its own, and holds nothing of the caller's (no streams, no directory, no terminal): so in
// `fairpar … | cat`, cat sees the end of its input when fairpar has ended.

#pragma once

#include "base/atomic.h"
#include "process/proctree.h"

#include <stdbool.h>
#include <sys/types.h>

// The first argument that makes main() call guardian_main() before anything else.
#define GUARDIAN_ARG "--internal-guardian"

// The program of the guardian; returns its exit status. Calls tidy(), if it is not NULL, at once for each file of guardian_unlink_if_killed().
int guardian_main(int argc, char *argv[], void (*tidy)(const char *path));

// Entries of the group table, one for each child: more than fairpar has threads that wait for children. An entry that was never used takes no memory.
enum { GROUPS_MAX = 256 * 1024 };

enum { COOKIE_BYTES = 192 };

// Tokens of a jobserver (slots/jobserver.h) that fairpar holds: if fairpar is killed, its guardian writes them back.
enum { TOKENS_MOST = 4096 };
struct held_tokens {
	atomic_uint n;                  // bytes in use. Raised before a token is read: so the guardian writes back at most one token too many
	char bytes[TOKENS_MOST];
};

// Shared between fairpar and its guardian.
struct group_table {
	char cookie[COOKIE_BYTES];      // "NAME=VALUE", which all jobs have in their environment, or ""
	atomic_int session;             // processes of any other session (setsid(2)) are left alone; SESSION_ANY: those of every session are signalled
	atomic_int goodbye;             // fairpar ends as it should: signal nobody
	struct held_tokens tokens;
	char unlink_paths[2][256];      // files of fairpar's own that the guardian unlinks; "": none
	atomic_uint used;               // index of the first entry that was never used
	atomic_int targets[GROUPS_MAX]; // what kill(2) takes for each entry: -group, or a pid; 0: the entry is free
};

// Sends the signal to all groups and processes in the table; lock-free and async-signal-safe.
void group_table_kill(struct group_table *table, int signal);

struct guardian {
	struct group_table *table; // the groups that this process runs; shared with the guardian if table_fd >= 0
	int table_fd;              // memory that holds the table; -1: there can be no guardian
	atomic_int pipe_fd;        // the write end of the guardian's pipe, or -1; POLLERR on it: the guardian has died
	unsigned nrevived;         // how often the guardian was started again
	atomic_bool is_tried;      // a start was tried, or there is to be no guardian
	_Atomic(pid_t) pid;        // the guardian's pid; 0 until it runs
};

// Sets the file that the guardian unlinks once it has ended the group of this entry; NULL: no file. To be called before the entry
// is listed, and with NULL before another child can get the entry. The guardian unlinks no file if the path has PATH_MAX bytes or more, or
// the table is not shared. Each entry is written by one thread at a time.
void guardian_set_path(const struct guardian *guardian, unsigned entry, const char *path);

// Makes the table. Never fails: if no shared table can be had, there is no guardian.
void guardian_init(struct guardian *guardian);

// Makes this run have no guardian: under a tight limit of processes the guardian would take the place of a job. Called before the first start.
void guardian_forgo(struct guardian *guardian);

// Has the guardian unlink the file if this process is killed. Called for two files at most. The path is copied, and shorter than
// 256 bytes.
void guardian_unlink_if_killed(struct guardian *guardian, const char *path);

// The descriptor that the event loop polls with no events, or -1. POLLERR says that the guardian has died: then the event loop
// calls guardian_revive().
int guardian_fd(const struct guardian *guardian);

// True until a start of the guardian was tried or ruled out. Takes no lock.
bool guardian_is_wanted(struct guardian *guardian);

// The descriptors that the guardian has open until it ends, besides its own.
enum guardian_fd {
	GUARDIAN_SLOTS,      // the connection to a pool
	GUARDIAN_SPARE,      // the connection by which spare slots of that pool are lent
	GUARDIAN_TOKENS,     // the jobserver, to which the guardian writes held_tokens
	GUARDIAN_FDS,
};

// Sets the descriptor (-1: none) that guardians started from now on have open as `which`. `fd` stays the caller's. From any
// thread.
void guardian_keep(enum guardian_fd which, int fd);

// As guardian_keep(), but also kills the running guardian, which lacks `fd`; guardian_revive() then starts another one. From the event loop's thread.
void guardian_keep_from_now(struct guardian *guardian, enum guardian_fd which, int fd);

// Starts the guardian, unless a start was tried before. Returns at once if another thread is starting it. From any thread.
void guardian_start(struct guardian *guardian);

// Starts the guardian again after it has died, which POLLERR on pipe_fd reports. From the thread of the event loop.
void guardian_revive(struct guardian *guardian);

// Says goodbye to the guardian and waits for its end. To be called when no job runs and no other thread uses it any more.
void guardian_fini(struct guardian *guardian);
