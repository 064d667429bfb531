// The records that a run writes and shows: the subscribers to its events (publish.h), its joblog, the results of its jobs. A function that
// returns -1 has printed a message. A failure while jobs run prints a message, too, and sets run->trouble.

#pragma once

#include "state/job_state.h"
#include "state/run.h"
#include "report/run_stats.h"

// ---- status_display.c ----

// Shows the state of the run while it goes: by the status line on a terminal, elsewhere by a line now and then.

// Makes run->status_display if there is something to show, and subscribes it to events. Before publish_begin(). Returns 0, or -1 after a message.
int status_display_open(struct run *run);

// Erases the status line, and shows nothing any more. Called on the event loop's thread, when the loop has ended. This function
// and the functions of status_display.c below do nothing to the display if run->status_display is NULL.
void status_display_end(struct run *run);
// Frees run->status_display. After publish_end().
void status_display_close(struct run *run);

// Draws the status, if a drawing is due. Called by the event loop whenever it wakes. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t status_display_tick(struct run *run, uint64_t now);

// The event loop calls these functions when this process is about to be stopped (SIGTSTP), when it goes on, perhaps in the background (SIGCONT), and
// when the size of the terminal has changed (SIGWINCH).
void status_display_suspend(struct run *run);
void status_display_resume(struct run *run);
void status_display_resized(struct run *run);
// Switches the status line off, or on if it is off.
void status_display_toggle(struct run *run);

// Appends ", ETA 21s" if the end of the batch can be forecast.
void status_display_add_eta(const struct run *run, const char *batch, struct buf *buf);

// Called when a job has written output, whose last line may be shown (--latest-line). Any thread.
void status_display_output(struct run *run);

// ---- explain_live.c ----

// --explain and SIGUSR1: prints, while the run goes, why jobs have not started.

// With --explain makes run->explain_live, and subscribes it to the events of waits. Called before publish_begin().
void explain_live_subscribe(struct run *run);

// Frees run->explain_live, if there is one. After publish_end().
void explain_live_close(struct run *run);

// Prints, for each batch that has work, why its next job has not started. Without --explain, prints only how many jobs wait because of
// the load, the free memory, swapping, or --delay. Called from the event loop.
void explain_live_print(struct run *run);

// ---- end_summary.c ----

// The messages at the end of a run: the summary, and the last line.

struct end_summary;

// Makes run->end_summary if there may be a summary at the end of the run. Called before publish_begin().
void end_summary_open(struct run *run);

// Notes whether one of the hints at the end of the run fits the job that has just ended with that result on this worker. Called after
// publish_note_output(), on any thread.
void end_summary_note_failure(struct worker_state *state, const struct result *result);

// Prints the summary, a hint and the last line, if the options and the results of the run ask for them. Called after publish_end().
void end_summary_print(struct run *run);

// Frees run->end_summary, which may be NULL.
void end_summary_close(struct run *run);

// Appends the whole summary of finished statistics (stats_finish()), as wide as the terminal `fd` is, and in colours if that terminal
// has them.
void end_summary_add_stats(struct buf *buf, const struct run_stats *stats, int fd);

// ---- log_sink.c ----

// The logs of events: --log, and a log in a temporary file, from which --report and --trace are made at the end of the run.

struct log_sink;

// Makes run->log, if --log is given or pictures are wanted, and subscribes it; the log for pictures is in an unlinked file of the
// temporary directory. Called while signals are not blocked, because opening a FIFO waits for its reader. Returns 0, or -1 after a
// message.
int log_sink_open(struct run *run);

// Writes the events so far; run->log is not NULL. With `may_wait` it waits for a slow reader, which the event loop must not do.
void log_sink_flush(struct run *run, bool may_wait);

// Returns the descriptor of the temporary log, to be read from its start: after publish_end(), until log_sink_close().
// -1 if there is none, or it could not be written.
int log_sink_fd(const struct run *run);

// True if lines of --log go to stdout, between the outputs of jobs, so that the output of each job has to end with a newline.
bool log_sink_is_on_stdout(const struct run *run);

// Closes --log after publish_end(), so that its reader does not wait until the pictures are drawn. Reports a write error, as
// log_sink_close() does.
void log_sink_let_go(struct run *run);

// Ends the logs, and frees run->log, which may be NULL. A write error is reported, and sets run->trouble.
void log_sink_close(struct run *run);

// ---- pictures.c: --report and --trace, made from the log of a run ----

// Checks, before anything is run, that the files of the pictures can be written. Returns 0, or -1 after messages.
int pictures_check(const struct options *options) FP_NODISCARD;

// Reads the log twice, from the start of the file `fd`, and writes the pictures. Messages call the log `name`; messages about errors in
// the log are printed only if `with_messages`. Returns 0, or -1 after messages. If a picture cannot be written, an older file of this
// name stays as it was, and the other pictures are written.
int pictures_draw(const struct options *options, int fd, const char *name, bool with_messages) FP_NODISCARD;

// ---- job_records.c ----

// The joblog of a run: writes it, and reads an earlier run's joblog for --resume, --resume-failed and --retry-failed.

// Reads and opens the joblog as the options say; run->job_records stays NULL if they name none. Returns 0, or -1 after a message.
// Called after run->writer was made.
int job_records_open(struct run *run);

// With --retry-failed returns the source of the run's items, the failed commands of the joblog; else NULL. Borrowed from
// run->job_records.
const struct source_config *job_records_source(const struct run *run);

// Returns the number of the run's nth item (from 1): n, or with --retry-failed the number that the item has in the joblog.
uint64_t job_records_seq(const struct run *run, uint64_t n);

// Decides whether --resume leaves the item out. If the joblog or the files of --results show that the item is done, counts it as done,
// skips its place in the order of output, and returns true. Else returns false and sets item->earlier.
//
// Never leaves out: an item of a batch that emits, because the emitted lines must come again; an item that was emitted by a job that runs
// again (RESUME_NEW in item->earlier); an item whose batch needs a batch that runs again (batch->again). Called when the item gets its
// number; in a batch that other batches emit into, when the item's job starts. `record` has the item's arguments. If `spec` is NULL, the
// spec is batch->specs[item->spec]. Any thread.
bool job_records_leave_out(struct batch *batch, const struct job_spec *spec, const struct record *record, struct item *item);

// Adds the row of a job that was not cut off to the joblog. `received`: bytes of its output. With a `spool` this function is called right before
// spool_finish(): the row is then written after the job's output. Returns false, with nothing done, if the caller must call this
// function again after spool_finish(), with NULL for the spool.
bool job_records_add(struct worker_state *state, const struct job *job, const struct result *result,
                uint64_t received, struct spool *spool);

// For config.written() of run->writer, called when the output of some jobs was written: appends these jobs' rows to the joblog. `arg` is the run.
void job_records_written(void *arg, const char *rows, size_t len);

// Notes that the added job of that number need not run again, although it has no row in this run's joblog. Any thread.
void job_records_finish(struct run *run, uint64_t seq);

// Closes the joblog, with a message and run->trouble if rows could not be written, and frees run->job_records, which may be NULL.
// To be called only after run->writer was freed, because the writer calls job_records_written().
void job_records_close(struct run *run);

// ---- result_files.c ----

// Puts the output of jobs where the user wants it instead of stdout: --results and --files.

// Makes run->result_files, and opens the file of a table; without --results and --files it stays NULL. Returns 0, or -1 after a
// message. Before run->writer is made.
int result_files_open(struct run *run);

// Returns the descriptor that run->writer writes to: the descriptor of the table, else stdout. Borrowed.
int result_files_fd(const struct run *run);

// True if run->writer writes rows of a table instead of the jobs' output.
bool result_files_is_table(const struct run *run);

// Returns the name of result_files_fd() for messages: the name of the table, or "standard output". Borrowed until the next
// messages of this thread (text_shows()).
const char *result_files_name(const struct run *run);

// Parses the path of --results and makes the directory, before any job runs. `names` are the names of the columns, which outlive the
// jobs. Returns 0, or -1 after a message.
int result_files_parse(struct run *run, const struct names *names);

// True if the path contains the number of all jobs, by {##} or the like, so that all input has to be read first.
bool result_files_need_total(const struct run *run);

// Notes how many arguments an item has, for a run in which several items make one job. To be called before the first of these jobs starts.
void result_files_note_item(struct run *run, const struct record *record);

// Writes the first line of the table, for items of `columns` columns. Only the first call counts; it comes before the first item is queued.
void result_files_head(struct run *run, uint32_t columns);

// True if the files in --results DIR show that this item is done. Only with --resume and no --joblog, else false.
bool result_files_is_done(struct run *run, const struct record *record, uint64_t seq);

// Opens the files or memory for the job's output, before its first attempt. Returns true; or false with *ret_result:
// OUTCOME_CANCELLED if output has failed before; else the job could not be started, the message is in state->stats.why, and the
// run starts nothing more.
bool result_files_begin(struct worker_state *state, struct job *job, struct result *ret_result);

// Adds the job's row to the table, or its line of --files; for a cancelled job does nothing. To be called when the job has ended, with
// the state of its last attempt, while its spool is open. `received`: bytes of its output.
void result_files_end(struct worker_state *state, struct job *job, const struct result *result, uint64_t received);

// Closes the table, and frees run->result_files, if there is one. To be called after run->writer was freed.
void result_files_close(struct run *run);
