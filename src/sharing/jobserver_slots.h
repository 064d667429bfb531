// The slots of a run, shared with other programs by GNU make's jobserver (slots/jobserver.h).
//
// As a client, in a job of make or cargo: the run has one slot from the start, and one more for each token that it holds. It
// takes tokens only while items wait for a slot. When a job ends and the pipe is empty, the run puts one token back, so that
// other clients get a chance to take this token.
//
// As a server (--jobserver), for make and cargo in its own jobs: while a job runs, each slot for which the run has no item
// becomes a token in the pipe. The run takes the token back before it uses the slot. When no job runs, the run takes back all
// tokens, and warns if jobs have kept some. With --pool the tokens are spare slots of the pool instead (jobserver_spare.c), and
// the run's own slots do not become tokens.
//
// Whenever these rules change the run's number of slots, pool_add_slots() tells the worker pool.

#pragma once

#include "base/attr.h"
#include "slots/jobserver.h"

#include <stdbool.h>
#include <sys/types.h>

struct children;
struct context;
struct jobserver_slots;
struct options;
struct pool;

enum jobserver_found { JOBSERVER_ABSENT, JOBSERVER_CLIENT, JOBSERVER_CLOSED };

// Looks for the jobserver that this process was started under, in MAKEFLAGS and then in CARGO_MAKEFLAGS. Prints nothing. Returns
//	JOBSERVER_ABSENT: there is no jobserver; or it is ignored, because of --pool or --no-inherit, or because this process was
//	    started in a job of a fairpar with no make in between
//	JOBSERVER_CLIENT: *ret_slots is connected, and the caller calls jobserver_slots_close(). *ret_most: the -j of that make,
//	    or 0: not known
//	JOBSERVER_CLOSED: a jobserver is named, but it cannot be used
// *ret_why: why a jobserver that is there cannot be used, or NULL; the caller frees this text in all cases.
enum jobserver_found jobserver_slots_connect(const struct options *options, unsigned *ret_most, struct jobserver_slots **ret_slots,
                                             char **ret_why) FP_NODISCARD;

// Removes the jobserver that this process was started under from the context's MAKEFLAGS and CARGO_MAKEFLAGS, because the slots of
// the jobs come from elsewhere.
void jobserver_slots_hide(struct context *context);

// Sets $FAIRPAR_MAKELEVEL to this process's $MAKELEVEL in the environment of jobs. A fairpar in a job compares the two variables,
// and so finds out whether a make runs between this process and itself.
void jobserver_slots_mark_level(struct context *context);

// Makes a jobserver for the jobs of this run, and names it in the context's environment. Its tokens are slots of the run or, with
// `in_shared_pool`, spare slots of the pool that the options name. `dir`: the directory of its FIFO. The caller frees the result by
// jobserver_slots_close(). Returns NULL after a message.
struct jobserver_slots *jobserver_slots_serve(const struct options *options, struct context *context, const char *dir,
                                              bool in_shared_pool) FP_NODISCARD;

// Has the guardian of the children (borrowed) clean up if this process is killed. To be called before the first child.
void jobserver_slots_set_children(struct jobserver_slots *slots, struct children *children);

// To be called when an attempt that takes a slot begins, and when it has ended, on its worker's thread. NULL-safe.
void jobserver_slots_begin(struct jobserver_slots *slots);
void jobserver_slots_end(struct jobserver_slots *slots);

// Returns the value of MAKEFLAGS (borrowed) for attempts that take no slot. This value names no jobserver.
const char *jobserver_slots_bare_flags(const struct jobserver_slots *slots);

// Sets the worker pool (borrowed), which was created with `most` slots; for a client all of them but one are removed.
// `wake_fd` wakes the event loop (wakeup_post()), from any thread.
void jobserver_slots_attach(struct jobserver_slots *slots, struct pool *pool, unsigned most, int wake_fd);

// Wakes the event loop, so that jobserver_slots_tick() looks again. For hooks.starving and hooks.surplus of the pool. Any thread.
void jobserver_slots_check(struct jobserver_slots *slots);

// For the event loop. jobserver_slots_fd() returns a descriptor to poll for POLLIN, or -1, for each `which` below
// JOBSERVER_POLLS; NULL-safe. jobserver_slots_tick() takes tokens and puts them back. It is called whenever the loop wakes; `readable`:
// one of the descriptors is readable; NULL-safe.
enum { JOBSERVER_POLLS = 2 };
int jobserver_slots_fd(const struct jobserver_slots *slots, unsigned which);
void jobserver_slots_tick(struct jobserver_slots *slots, bool readable);

// jobserver_slots_return(): a client puts back all its tokens; a server warns if jobs have put in more tokens than they took.
// Called when the worker pool is gone. jobserver_slots_close() frees `slots`, when no job runs any more. Both are NULL-safe.
void jobserver_slots_return(struct jobserver_slots *slots);
void jobserver_slots_close(struct jobserver_slots *slots);

// ---- jobserver_server.c: the pipe or FIFO of --jobserver

// Creates a jobserver without tokens, as options->pool.jobserver says, and puts its name into the context's MAKEFLAGS. `dir`: the
// directory of a FIFO. Called while the process has one thread. Returns 0, and the caller calls jobserver_close(); or -1 after a
// message.
int jobserver_server_open(const struct options *options, struct context *context, const char *dir, struct jobserver *ret_jobserver) FP_NODISCARD;

// ---- jobserver_spare.c: tokens of a jobserver that stand for spare slots of a pool
//
// For each token the run holds a lease, which the pool's server grants only while no ordinary client waits for a slot.
//
// When an ordinary client waits, the tokens in the pipe are taken back and their leases released at once; a token that a job
// has is taken back, and its lease released, as soon as the job puts the token back. The run also gives leases back in this way
// while it has at least two leases more than another client that waits for spare slots.

struct jobserver_spare;

// Connects to the pool that the options name, whose server runs already. `jobserver` is borrowed until jobserver_spare_close(),
// which frees the result. Returns NULL after a message.
struct jobserver_spare *jobserver_spare_open(const struct options *options, struct jobserver *jobserver) FP_NODISCARD;
void jobserver_spare_close(struct jobserver_spare *spare); // NULL-safe

// Binds the leases that come from now on to the process `pid`: the server counts them as in use until that process has
// ended, even if this process is killed. `pidfd` stays the caller's, which keeps it open.
void jobserver_spare_set_process(struct jobserver_spare *spare, pid_t pid, int pidfd);

// Return descriptors to poll for POLLIN, or -1: the connection to the server; and the jobserver's pipe, while tokens are to be taken back.
int jobserver_spare_fd(const struct jobserver_spare *spare);
int jobserver_spare_token_fd(const struct jobserver_spare *spare);

// Requests leases, offers tokens and takes them back. `offers`: a job runs that may take tokens. To be called when a descriptor above is readable or
// `offers` has changed. Returns true if the connection was replaced: jobserver_spare_fd() is another descriptor now.
bool jobserver_spare_tick(struct jobserver_spare *spare, bool offers);

// Takes all tokens out of the pipe and releases all leases. Called when no job runs, so that all tokens should be in the pipe. Returns
// the number of tokens that are missing; a negative number if there are too many.
int jobserver_spare_reset(struct jobserver_spare *spare);
