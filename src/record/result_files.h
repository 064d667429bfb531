// Puts the output of jobs where the user wants it instead of stdout: --results and --files.

#pragma once

#include "core/job_state.h"

struct result_files;

// Makes run->result_files, and opens the file of a table; without --results and --files it stays NULL. Returns 0, or -1 after a
// message. Before run->writer is made.
int result_files_open(struct run *run);

// Returns the descriptor that run->writer writes to: that of the table, or else stdout. Borrowed.
int result_files_fd(const struct run *run);

// True if rows of a table take the place of output.
bool result_files_is_table(const struct run *run);

// Returns what messages call that descriptor: the name of the table, or "standard output". Borrowed until the next
// messages of this thread (text_shows()).
const char *result_files_name(const struct run *run);

// Parses the path, for columns of these names, which outlive the jobs, and makes the directory, before anything runs. Returns 0,
// or -1 after a message.
int result_files_parse(struct run *run, const struct names *names);

// True if the path has the number of all jobs, {##} or the like: all input is to be read first.
bool result_files_need_total(const struct run *run);

// Notes how many arguments an item has, where several items make one job. Before the first of these jobs.
void result_files_note_item(struct run *run, const struct record *record);

// Writes the first line of the table, for items of so many columns. The first call counts; before the first item is queued.
void result_files_head(struct run *run, uint32_t columns);

// True if the files in --results DIR show that this item is done. Only with --resume and no --joblog, else false.
bool result_files_is_done(struct run *run, const struct record *record, uint64_t seq);

// Opens the files or memory for the job's output, before its first attempt. Returns true; or false with *ret_result:
// OUTCOME_CANCELLED if output has failed before; else the job could not be started, the message is in state->stats.why, and the
// run starts nothing more.
bool result_files_begin(struct worker_state *state, struct job *job, struct result *ret_result);

// The job has ended, on the state of its last attempt; its spool is still open. `received`: bytes of its output. Keeps what a
// table or --files say of it; of one that was cancelled nothing.
void result_files_end(struct worker_state *state, struct job *job, const struct result *result, uint64_t received);

// Closes the table, and frees run->result_files, if there is one. Once run->writer is gone.
void result_files_close(struct run *run);
