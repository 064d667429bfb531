// The subscribers to a run's events (publish.h): status line, --explain, end summary, --log.

#pragma once

#include "core/job_state.h"
#include "core/run.h"
#include "report/run_stats.h"

// ---- status_display.c ----

// What is shown of a run while it goes: the status line on a terminal, or now and then a line elsewhere.

// Makes run->status_display if there is something to show, and subscribes it. Before publish_begin(). Returns 0, or -1 after a message.
int status_display_open(struct run *run);

// Erases what is shown, and shows nothing any more. On the event loop's thread, when the loop has ended. Without run->status_display it
// does nothing, as do those below.
void status_display_end(struct run *run);
// Frees run->status_display. After publish_end().
void status_display_close(struct run *run);

// Draws what is due. From the event loop, whenever it wakes. Returns when to call again, now_ns() time, or TIME_NEVER.
uint64_t status_display_tick(struct run *run, uint64_t now);

// What the event loop calls when this process is about to be stopped (SIGTSTP), when it goes on, perhaps in the background (SIGCONT), and
// when the terminal has another size (SIGWINCH).
void status_display_suspend(struct run *run);
void status_display_resume(struct run *run);
void status_display_resized(struct run *run);
// Switches the status line off, and on again.
void status_display_toggle(struct run *run);

// Appends ", ETA 21s" if it is known when the batch will be done.
void status_display_add_eta(const struct run *run, const char *batch, struct buf *buf);

// To be called when a job has written something: its latest line may be shown. From any thread; run->status_display is not NULL.
void status_display_output(struct run *run);

// ---- explain_live.c ----

// --explain and SIGUSR1: prints, while the run goes, why jobs have not started.

// With --explain makes run->explain_live, and subscribes it to what jobs and batches wait for. Before publish_begin().
void explain_live_subscribe(struct run *run);

// Frees run->explain_live, if there is one. After publish_end().
void explain_live_close(struct run *run);

// Prints for each batch that has work why its next job has not started, or without --explain only how many jobs wait for the load,
// memory that is to be free, swapping, or --delay. From the event loop.
void explain_live_print(struct run *run);

// ---- end_summary.c ----

// The messages at the end of a run: the summary, and the last line.

struct end_summary;

// Subscribes the statistics for the summary and the last line, and makes run->end_summary if there may be a summary. Before
// publish_begin().
void end_summary_open(struct run *run);

// Notes whether a hint would have helped the job that has just ended with that result on this worker. After
// publish_note_output(). From any thread.
void end_summary_note_failure(struct worker_state *state, const struct result *result);

// Prints the summary, a hint and the last line, as they are due. After publish_end().
void end_summary_print(struct run *run);

// Frees run->end_summary, or does nothing.
void end_summary_close(struct run *run);

// Appends the whole summary of finished statistics (stats_finish()), for that descriptor: as wide as its terminal, and with colours if it
// takes them.
void end_summary_add_stats(struct buf *buf, const struct run_stats *stats, int fd);

// ---- log_sink.c ----

// The logs of events: --log, and one in a temporary file, from which --report and --trace are made at the end of the run.

struct log_sink;

// Makes run->log, if there is --log or pictures are wanted, and subscribes it: --log, and for the pictures a log in an unlinked file of
// the temporary directory, to be read back. While signals are not blocked: the reader of a FIFO may let us wait. Returns 0, or -1
// after a message.
int log_sink_open(struct run *run);

// With run->log: writes the events so far. Workers wait for a slow reader, the event loop does not.
void log_sink_flush(struct run *run, bool may_wait);

// The log that was kept, to be read from its start: after publish_end(), until log_sink_close(). -1 if there is none, or
// it could not be written.
int log_sink_fd(const struct run *run);

// True if lines go where the output of jobs goes, so that each of these has to end with a newline.
bool log_sink_is_on_stdout(const struct run *run);

// After publish_end(): closes --log, so that its reader does not wait for the drawing. Reports what could not be written, as
// log_sink_close() does.
void log_sink_let_go(struct run *run);

// Ends the logs, and frees run->log if there is one. What could not be written is reported, and sets run->trouble.
void log_sink_close(struct run *run);

// ---- pictures.c: --report and --trace, made from the log of a run ----

// Checks, before anything is run, that the files of the pictures can be written. Returns 0, or -1 after messages.
int pictures_check(const struct options *options) FP_NODISCARD;

// Reads the log twice, from the start of the file `fd`, and writes the pictures. Messages call the log `name`; those about what is
// wrong in it are printed only if `with_messages`. Returns 0, or -1 after messages. If a picture cannot be written, the file that
// was in its place stays as it was, and the other pictures are written.
int pictures_draw(const struct options *options, int fd, const char *name, bool with_messages) FP_NODISCARD;
