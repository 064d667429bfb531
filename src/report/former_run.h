// How long the jobs of a former run took, by batch and command, from its log (--eta=LOG).
//
// Times are nanoseconds of slots: a job on two slots counts twice. A job is known by the command of its first step, and its time is
// that of all its steps and attempts. Memory is bounded: of more than FORMER_RUN_MAX commands and batches the later ones are not known.

#pragma once

#include "job/event.h"

enum { FORMER_RUN_MAX = 1 << 19 };

struct former_run;

// The caller frees it with former_run_free() (NULL is fine).
struct former_run *former_run_new(void);
void former_run_free(struct former_run *former);

// An event_fn: adds an event of the former run; `arg` is the struct former_run. All before the calls below.
void former_run_on_event(void *arg, const struct event *event);

// The mean time of the jobs of the batch with that command, or NOT_KNOWN.
uint64_t former_run_time(const struct former_run *former, const char *batch, const char *command, size_t len);

// A job of this run starts: if the former run had it, it is no longer to come.
void former_run_take(struct former_run *former, const struct event_job_start *start);

// The mean time of the jobs of the batch that are still to come, or of all if none is; NOT_KNOWN if the former run had none.
uint64_t former_run_mean(const struct former_run *former, const char *batch);
