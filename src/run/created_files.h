// What the jobs of this run create: what is there need not be made, and what a failed job has left is taken away.

#ifndef FAIRPAR_RUN_CREATED_FILES_H
#define FAIRPAR_RUN_CREATED_FILES_H

#include "run/worker_state.h"

// The paths that jobs are making now.
struct created_files;

// The caller frees it with created_files_destroy(), when no job runs.
struct created_files *created_files_create(void);
void created_files_destroy(struct created_files *created_files); // NULL is fine

// Looks for what the spec says the job creates (job->spec->creates), before its first attempt. Returns true if it is
// there. If it is not, job->creating is set, but for --dry-run and where something else stands in the way, a link to nowhere.
bool created_files_find(struct worker_state *state, struct job *job);

// The absolute path that the job is making, or NULL. Borrowed, until created_files_settle().
const char *created_files_path(const struct job *job);

// The job has ended, well (`ok`) or not. What one that failed has left is removed, for the next run would take it for the whole;
// but not if another job of this run has made it meanwhile, or is making it. Says so if it cannot be removed.
void created_files_settle(struct job *job, bool ok);

#endif
