// The state of a job that has begun, and the state that its worker keeps from job to job.

#include "state/job_state.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "remote/sshlogin.h"

void job_label(const struct job *job, struct buf *buf) {
	static const char *const names[] = {[ROLE_FINALLY] = " finally", [ROLE_LISTING] = " args_from"}; // of commands that belong to no item
	const char *name = names[job->role];
	text_add_job(buf, job->batch->name, name ? 0 : job->item.number, job->item.seq, TEXT_BATCH_COLUMNS);
	buf_adds(buf, name ? name : "");
}

const struct template *job_template(const struct job *job) {
	const struct job_spec *spec = job->spec;
	return job->role == ROLE_ON_FAILURE ? spec->on_failure : job->step > 0 ? spec->then.at[job->step - 1] : spec->command;
}

struct expansion job_expansion(const struct job *job) {
	const struct run *run = job->batch->run;
	return (struct expansion){
		.record = &job->record,
		.seq = job->item.seq,
		.slot = job->slot,
		.slots = run->slots,
		.total = run->total,
		.host = job->login ? job->login->host : NULL,
		.sshlogin = job->login ? job->login->name : NULL,
	};
}

uint64_t job_bytes(const struct job *job, int stream) {
	if (job->results && job->results->stream[stream].takes) {
		return job->results->stream[stream].bytes;
	}
	return job->spool ? spool_bytes(job->spool, stream) : 0;
}

bool job_is_here(const struct job *job) {
	return !job->login || job->login->kind == SSHLOGIN_LOCAL;
}

bool job_is_cancelled(const struct job *job) {
	return atomic_load_relaxed(&job->batch->cancelled) || (job->added && atomic_load_relaxed(&job->added->cancelled));
}

struct joblog_row joblog_row_of(const struct job *job, const struct result *result, uint64_t received, const struct buf *command) {
	return (struct joblog_row){
		.seq = job->item.seq,
		.result = result,
		.start = job->start ? job->start : result->start,
		.sent = job->block ? block_sent(job->block) : 0,
		.received = received,
		.command = buf_str(command),
		.command_len = command->len,
		.host = job->login ? job->login->name : NULL,
	};
}

// ---- its worker ----

void worker_state_free(void *arg) {
	struct worker_state *state = arg;
	warm_destroy(state->warm);
	spawn_stack_destroy(state->stack_top);
	command_fini(&state->command);
	buf_fini(&state->text);
	buf_fini(&state->label);
	buf_fini(&state->vars);
	buf_fini(&state->path);
	buf_fini(&state->row);
	buf_fini(&state->stats.why);
	buf_fini(&state->stats.tail);
	free(state->output_bytes);
	context_unref(state->context);
	free(state->env);
	free(state);
}

struct worker_state *worker_state_new(struct run *run, struct worker *worker) {
	struct worker_state *state = NEW(struct worker_state);
	state->run = run;
	state->worker = worker;
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
	buf_reset(&state->stats.why);
	BUF_ADD_ARGUMENTS(&state->stats.why, format);
	diag_error("job %s: %s", worker_state_label(state, job), buf_str(&state->stats.why));
}
