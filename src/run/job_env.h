// The variables of a job's environment.

#ifndef FAIRPAR_RUN_JOB_ENV_H
#define FAIRPAR_RUN_JOB_ENV_H

#include "run/attempt.h"

// Fills state->env, for the attempt; borrowed from the state and from the job's spec, until the next call.
void job_env_build(struct worker_state *state, const struct job *job, const struct attempt *attempt);

// Appends "NAME=VALUE" and a NUL: a variable of the spec as one job has it.
void job_env_add_variable(struct buf *vars, const struct variable *variable, const struct expansion *x);

// Appends so FAIRPAR_ITEM, FAIRPAR_ITEM_1 and so on: the bytes of the item, for a command that names them. The record's
// arguments are joined by blanks, as by {}. Returns how many variables that are.
size_t job_env_add_item(struct buf *vars, const struct record *record);

#endif
