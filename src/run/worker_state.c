// What a worker keeps from job to job.

#include "run/worker_state.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdarg.h>

void worker_state_free(void *arg) {
	struct worker_state *state = arg;
	warm_destroy(state->warm);
	child_scratch_destroy(state->scratch);
	command_fini(&state->command);
	line_items_fini(&state->line_items);
	buf_fini(&state->coalesced.args);
	buf_fini(&state->coalesced.orders);
	buf_fini(&state->text);
	buf_fini(&state->label);
	buf_fini(&state->vars);
	buf_fini(&state->path);
	buf_fini(&state->row);
	buf_fini(&state->stats.why);
	buf_fini(&state->stats.tail);
	buf_fini(&state->stats.recent);
	free(state->output_bytes);
	context_unref(state->context);
	free(state->env);
	free(state);
}

struct worker_state *worker_state_new(struct run *run, struct worker *worker) {
	struct worker_state *state = NEW(struct worker_state);
	state->run = run;
	state->worker = worker;
	state->scratch = child_scratch_create();
	state->warm = warm_create(run->options->warm, run->children);
	return state;
}

struct worker_state *worker_state_of(struct run *run, struct worker *worker) {
	void **kept = worker_scratch(worker, worker_state_free);
	if (!*kept) {
		*kept = worker_state_new(run, worker);
	}
	return *kept;
}

const char *worker_state_label(struct worker_state *state, const struct job *job) {
	buf_reset(&state->label);
	job_label(job, &state->label);
	return buf_str(&state->label);
}

void attempt_complain(struct worker_state *state, const struct job *job, const char *format, ...) {
	va_list args;
	buf_reset(&state->stats.why);
	va_start(args, format);
	buf_vprintf(&state->stats.why, format, args);
	va_end(args);
	diag_error("job %s: %s", worker_state_label(state, job), buf_str(&state->stats.why));
}
