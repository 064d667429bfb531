// What a worker keeps from job to job.

#include "run/worker_state.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdarg.h>

void desk_free(void *arg) {
	struct desk *desk = arg;
	child_scratch_destroy(desk->scratch);
	command_fini(&desk->command);
	line_items_fini(&desk->emission);
	buf_fini(&desk->along.args);
	buf_fini(&desk->along.orders);
	buf_fini(&desk->text);
	buf_fini(&desk->label);
	buf_fini(&desk->vars);
	buf_fini(&desk->path);
	buf_fini(&desk->row);
	buf_fini(&desk->told.why);
	buf_fini(&desk->told.tail);
	buf_fini(&desk->told.recent);
	free(desk->tap);
	context_unref(desk->context);
	free(desk->env);
	free(desk);
}

struct desk *desk_new(struct run *run, struct worker *worker) {
	struct desk *desk = NEW(struct desk);
	desk->run = run;
	desk->worker = worker;
	desk->scratch = child_scratch_create();
	return desk;
}

struct desk *desk_of(struct run *run, struct worker *worker) {
	void **kept = worker_scratch(worker, desk_free);
	if (!*kept) {
		*kept = desk_new(run, worker);
	}
	return *kept;
}

const char *desk_label(struct desk *desk, const struct job *job) {
	buf_reset(&desk->label);
	job_label(job, &desk->label);
	return buf_str(&desk->label);
}

void attempt_complain(struct desk *desk, const struct job *job, const char *format, ...) {
	va_list args;
	buf_reset(&desk->told.why);
	va_start(args, format);
	buf_vprintf(&desk->told.why, format, args);
	va_end(args);
	diag_error("job %s: %s", desk_label(desk, job), buf_str(&desk->told.why));
}
