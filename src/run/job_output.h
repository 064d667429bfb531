// Where the output of a job goes, and who sees it.

#ifndef FAIRPAR_RUN_JOB_OUTPUT_H
#define FAIRPAR_RUN_JOB_OUTPUT_H

#include "run/worker_state.h"

// The output of a running child.
struct job_output {
	struct worker_state *state;
	const struct job *job;
	bool is_watched;               // a subscriber wants to see it
	struct line_items *line_items; // takes the lines of its stdout, or NULL
	struct output_reader output_reader; // for child_run()
};

// Opens the job's spool, with its tag, before its first attempt.
void job_output_open_spool(struct worker_state *state, struct job *job);

// For an attempt of a job that has a spool or results; `line_items` takes the lines of its stdout, or is NULL. The output
// stays where it is until the child has ended.
void job_output_open(struct job_output *output, struct worker_state *state, const struct job *job, struct line_items *line_items);

// Lets the output of a job that is the last one and alone go straight through, if nothing can take it back: there is
// nobody whose output it could mix with or hold up.
void job_output_let_through(struct run *run, const struct job *job);

// Shows state->text, its command, as part of the job's output, before the rest of it.
void job_output_show_command(struct worker_state *state, const struct job *job);

#endif
