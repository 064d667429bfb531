// A run from its start to its end: its event loop (run.c), the opening of its parts (setup.c), and what ends the run (stop.c).
// Outside this room only main.c and modes/ include this header, for run_all().

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/io.h"
#include "state/run.h"

// Executes the run that the options describe. Returns the exit status, or dies by the signal that ended the run.
int run_all(struct options *options, struct context *context);

// Publishes that the run (`arg`) has `slots` slots from now on because of `why`, unless the number is the same as before. From the event loop.
void run_note_slots(void *arg, unsigned slots, const char *why);

// ---- setup.c

// Opens all that the run needs. `options` are run->options: the settings of the manifest are copied into them. Returns 0, or -1
// after a message. In either case run_end() closes what was opened.
int setup_open(struct run *run, struct options *options) FP_NODISCARD;

// ---- limits.c: how many jobs the limits of descriptors and processes allow at once

// Checks, before anything is opened, that a limit of `nofile` descriptors is enough to run one job with these options. Returns 0,
// or -1 after a message that names the limit needed.
int limits_check(const struct options *options, unsigned long nofile) FP_NODISCARD;

// How many threads and processes each slot is assumed to need.
enum {
	LIMITS_TASKS = 2,      // the worker's thread and the process of its job
	LIMITS_TASKS_AUTO = 4, // with -j auto: two more, which the job may start itself
};

// Returns how many slots RLIMIT_NPROC allows if each slot needs `tasks` threads and processes: from 1 to `slots`. If the limit is low, starts
// threads to find out how many it allows. Sets *ret_has_guardian to whether one more process fits, for the guardian.
unsigned limits_slots_by_processes(unsigned slots, unsigned tasks, bool *ret_has_guardian);

// ---- stop.c; all on the event loop's thread

// Handles the signals that have come.
void run_answer_signals(struct run *run);

// Acts on run->halt_now and run->output_error, which other threads set.
void run_answer_flags(struct run *run);

// Called after a signal that ends the run. Once no job runs, limits how long fairpar waits for the reader of its output before the signal ends it.
void run_limit_end(struct run *run);

// Ends a run: ends the jobs that run, writes what is left, publishes the end, prints the summary, and frees all that the run has.
// `opened`: setup_open() has succeeded. Returns the exit status, or dies by the signal that ended the run.
int run_end(struct run *run, bool opened);

// ---- dag.c: the batches of a manifest during the run: which of them wait for other batches, are at work, or are skipped

// Checks, before any file is opened, that no file with items of a selected batch is also written because of an option, such as
// --joblog. Returns 0, or -1 after a message.
int dag_check_files(const struct run *run);

// Checks, before anything runs, that the shells and the machines of the selected batches exist. Returns 0, or -1 after messages.
int dag_check(const struct options *options, const struct manifest *manifest);

// Opens the queues of all selected batches, in the order of the file, and begins the batches that wait for no other batch.
// Returns 0, or -1 after a message.
int dag_open(struct run *run);

// Does what follows from the ends of jobs and batches: begins the batches that may begin, and skips those that cannot run any
// more. To be called by the event loop when it was woken.
void dag_advance(struct run *run);

// Prints one line on stderr (SIGUSR1): the state of each selected batch, and when the batch will be done if that is known.
void dag_show(const struct run *run);

// Lets no more batches begin; the jobs of batches that have not begun count as skipped or cancelled. To be called once; does nothing
// without run->dag. dag_close() closes the queues.
void dag_stop(struct run *run);

// Frees run->dag, which may be NULL, once no job runs.
void dag_close(struct run *run);

// ---- control.c: answers other fairpars, on the event loop's thread

struct control;

// Makes run->control, after nested_open(); it stays NULL without run->nested. Returns 0, or -1 after a message: the socket of
// --run NAME cannot be made, or another run has this name.
int control_open(struct run *run) FP_NODISCARD;

// control_add_polls() adds the descriptors to poll. control_tick() serves the clients; called after nested_tick(), which may hand
// over new clients. NULL-safe.
void control_add_polls(struct control *control, struct polls *polls);
void control_tick(struct control *control, const struct polls *polls);

// Called when no job is left: sends the pending answers, but does not wait for a client that does not read. NULL-safe.
void control_finish(struct control *control);

// Closes all connections, by which clients that still wait learn that the run has ended, and frees `control`. NULL-safe.
void control_close(struct control *control);

// ---- control_status.c ----

// Appends the status of the run, as text for people or as JSON: its batches, the jobs that run, and which jobs wait for which other jobs.
// Needs run->nested.
void control_status(struct run *run, bool json, struct buf *out);
