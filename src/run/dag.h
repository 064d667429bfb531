// The batches of a manifest while it runs: which wait for others, which are at work, which are skipped.

#ifndef FAIRPAR_RUN_DAG_H
#define FAIRPAR_RUN_DAG_H

#include "core/run.h"

// Checks, before any file is opened, that no file with items of a selected batch is also written because of an option, such as
// --joblog. Returns 0, or -1 after a message.
int dag_check_files(const struct run *run);

// Checks, before anything runs, that the shells and the machines of the selected batches exist. Returns 0, or -1 after messages.
int dag_check(const struct options *options, const struct manifest *manifest);

// Opens the queues of all selected batches, in the order of the file, and begins those that need nothing. Returns 0, or
// -1 after a message.
int dag_open(struct run *run);

// Does what the ends of jobs and batches have led to: begins batches, skips others. From the event loop, when it was
// woken.
void dag_advance(struct run *run);

// Prints one line on stderr: how each selected batch stands, and when it will be done if that is known (SIGUSR1).
void dag_show(const struct run *run);

// Begins no batch any more; the jobs of batches that have not begun count as skipped or cancelled. Does nothing without run->dag,
// or at a second call. The queues are left to dag_close().
void dag_stop(struct run *run);

// Frees run->dag, once no job runs. Nothing if it is NULL.
void dag_close(struct run *run);

#endif
