// The slots of a run, shared with others by GNU make's jobserver (slots/jobserver.h).
//
// As a client, in a job of make or cargo: the run has one slot from the start, and one more for each token that it
// holds. It wants tokens only while there is work for them, and puts one back at the end of a job if there is none left
// for others to take; they and this run are then equals again.
//
// As a server (--jobserver), for make and cargo in its own jobs: a slot for which the run has no work is a token in the
// pipe, and is taken back before the run uses it. Tokens that a job has taken and not put back are missed at the latest
// when no job runs. With --pool tokens are spare slots of the pool instead (run/jobserver_spare.h), and the run's
// own slots stay as they are.
//
// The worker pool's slots follow. It stands between the run and its executor, to know when a job begins and ends.

#ifndef FAIRPAR_RUN_JOBSERVER_SLOTS_H
#define FAIRPAR_RUN_JOBSERVER_SLOTS_H

#include "base/attr.h"
#include "process/executor.h"

#include <stdbool.h>

struct children;
struct context;
struct jobserver_slots;
struct options;
struct pool;

enum jobserver_found { JOBSERVER_ABSENT, JOBSERVER_CLIENT, JOBSERVER_CLOSED };

// Looks for the jobserver that this process was started under. JOBSERVER_ABSENT: there is none, or none that counts, by
// the options, or since the run in whose job this process is has started it without a make in between. JOBSERVER_CLIENT,
// with *ret_slots for the caller to close, and *ret_most: slots that it may have, or 0: that is not known.
// JOBSERVER_CLOSED, without a word: there is one that cannot be used; *ret_why says why, for the caller to free.
enum jobserver_found jobserver_slots_connect(const struct options *options, unsigned *ret_most, struct jobserver_slots **ret_slots,
                                             char **ret_why) FP_NODISCARD;

// Jobs of the context do not hear of the jobserver that this process was started under: their slots are not from there.
void jobserver_slots_hide(struct context *context);

// A jobserver for the jobs of this run, whose slots are its own or, if `in_pool`, those of the pool that the options name;
// tells jobs by the context's environment. `dir`: for its FIFO. The caller closes it. NULL after a message.
struct jobserver_slots *jobserver_slots_serve(const struct options *options, struct context *context, const char *dir,
                                              bool in_pool) FP_NODISCARD;

// The executor around `inner`, whose children `children` are.
struct executor jobserver_slots_executor(struct jobserver_slots *slots, const struct executor *inner, struct children *children);

// The worker pool whose slots they are; it has `most` of them. `wake` wakes the event loop.
void jobserver_slots_attach(struct jobserver_slots *slots, struct pool *pool, unsigned most, void (*wake)(void *arg), void *arg);

// hooks.starving and hooks.surplus of that pool, and whenever else something may have changed. From any thread.
void jobserver_slots_check(struct jobserver_slots *slots);

// For the event loop: what to poll for POLLIN, or -1 (NULL-safe); and what is to be done when one is `readable`, or the loop
// was woken.
enum { JOBSERVER_POLLS = 2 };
int jobserver_slots_fd(const struct jobserver_slots *slots, unsigned which);
void jobserver_slots_tick(struct jobserver_slots *slots, bool readable);

// Puts all tokens back, when the worker pool is gone, and warns of those that jobs have made up. NULL-safe. Then close: when nobody uses the executor any more.
void jobserver_slots_return(struct jobserver_slots *slots);
void jobserver_slots_close(struct jobserver_slots *slots);

#endif
