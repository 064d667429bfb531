// One attempt at one step of a job: its command, its environment, its child, its output.

#ifndef FAIRPAR_RUN_ATTEMPT_H
#define FAIRPAR_RUN_ATTEMPT_H

#include "run/worker_state.h"

struct attempt {
	const struct template *template; // NULL: the record is the command
	const struct result *ended;    // what an on-failure or finally command is told of, or NULL
	struct line_items *line_items; // takes the lines of its stdout, or NULL
};

// Makes one attempt on job->slot and waits for its end, which is *ret_result: OUTCOME_CANCELLED if the run was cut short before
// it could start, OUTCOME_SPAWN_ERROR after a message where it cannot be made. state->text is its command then. With --dry-run
// only shows that.
void attempt_run(struct worker_state *state, struct job *job, const struct attempt *attempt, struct result *ret_result);

#endif
