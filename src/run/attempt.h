// One attempt at one step of a job: its command, its environment, its child, its output.

#ifndef FAIRPAR_RUN_ATTEMPT_H
#define FAIRPAR_RUN_ATTEMPT_H

#include "run/worker_state.h"

struct attempt {
	const struct template *template; // NULL: the record is the command
	const struct result *ended;    // what an on-failure command is told of, or NULL
	struct line_items *line_items; // takes the lines of its stdout, or NULL
	bool cleanup;                  // a `finally`: also after a cancel
};

// Makes one attempt and waits for its end.
void attempt_run(struct worker_state *state, struct job *job, const struct attempt *attempt, struct result *ret_result);

#endif
