// The variables of a job's environment.

#ifndef FAIRPAR_RUN_JOB_ENV_H
#define FAIRPAR_RUN_JOB_ENV_H

#include "run/attempt.h"

// Fills desk->env, for the attempt; borrowed from the desk and from the job's recipe, until the next call.
void job_env_build(struct desk *desk, const struct job *job, const struct attempt *attempt);

#endif
