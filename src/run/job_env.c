// The variables of a job's environment: those of its spec, and those that differ from job to job.

#include "run/job_env.h"

#include "base/alloc.h"
#include "run/publish.h"

#include <string.h>

enum { NVARS = 13 }; // set for each job, see build_vars()

static void add_number(struct buf *buf, const char *name, uint64_t value) {
	char digits[20];
	size_t n = sizeof(digits);
	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	buf_adds(buf, name);
	buf_add(buf, digits + n, sizeof(digits) - n);
	buf_addc(buf, '\0');
}

static void add_text(struct buf *buf, const char *name, const char *value) {
	buf_adds(buf, name);
	buf_adds(buf, value);
	buf_addc(buf, '\0');
}

// What DESIGN §8 and peers' scripts expect for each job, and the spec's variables that differ from job to job.
static void build_vars(struct buf *vars, const struct job *job, const struct attempt *attempt) {
	const struct options *options = job->batch->run->options;
	buf_reset(vars);
	add_text(vars, "FAIRPAR_BATCH=", job->batch->name);
	buf_adds(vars, "FAIRPAR_JOB=");
	buf_adds(vars, job->batch->name);
	add_number(vars, "#", job->item.number);
	add_number(vars, "FAIRPAR_SEQ=", job->item.seq);
	add_number(vars, "FAIRPAR_SLOT=", job->slot);
	add_number(vars, "FAIRPAR_ATTEMPT=", job->attempt);
	if (job->batch->run->publisher) {
		add_text(vars, "FAIRPAR_RUN=", publish_run(job->batch->run));
	}
	add_number(vars, "PARALLEL_SEQ=", job->item.seq);
	add_number(vars, "PARALLEL_JOBSLOT=", job->slot);
	add_number(vars, "PARALLEL_PID=", (uint64_t)job->batch->run->pid);
	if (options->slot_var) {
		buf_adds(vars, options->slot_var);
		add_number(vars, "=", job->slot - 1);
	}
	if (attempt->ended) {
		add_number(vars, "FAIRPAR_EXIT=", (uint64_t)result_code(attempt->ended));
		add_text(vars, "FAIRPAR_OUTCOME=", outcome_name(attempt->ended->outcome));
	}
	struct expansion x = job_expansion(job);
	for (size_t i = 0; i < job->spec->nvars; ++i) {
		job_env_add_variable(vars, &job->spec->vars[i], &x);
	}
}

void job_env_add_variable(struct buf *vars, const struct variable *variable, const struct expansion *x) {
	buf_printf(vars, "%s=", variable->name);
	template_expand(variable->value, x, vars);
	buf_addc(vars, '\0');
}

size_t job_env_add_item(struct buf *vars, const struct record *record) {
	const char *at = record->args;
	buf_adds(vars, "FAIRPAR_ITEM=");
	for (uint32_t i = 0; i < record->nargs; ++i, at += strlen(at) + 1) {
		buf_adds(vars, i > 0 ? " " : "");
		buf_adds(vars, at);
	}
	buf_addc(vars, '\0');
	at = record->args;
	for (uint32_t i = 0; i < record->nargs; ++i, at += strlen(at) + 1) {
		buf_printf(vars, "FAIRPAR_ITEM_%u=", i + 1);
		buf_adds(vars, at);
		buf_addc(vars, '\0');
	}
	return 1 + record->nargs;
}

// PWD of a directory that the job has for itself: what it inherited names another.
static void add_dir(struct buf *vars, const struct job_spec *spec, const char *dir) {
	buf_adds(vars, "PWD=");
	if (strcmp(dir, ".") == 0) {
		dir = spec->start;
	} else if (dir[0] != '/') {
		buf_printf(vars, "%s/", strcmp(spec->start, "/") == 0 ? "" : spec->start);
	}
	buf_adds(vars, dir);
	buf_addc(vars, '\0');
}

void job_env_build(struct worker_state *state, const struct job *job, const struct attempt *attempt) {
	const struct job_spec *spec = job->spec;
	struct buf *vars = &state->vars;
	build_vars(vars, job, attempt);
	if (spec->start && state->context && state->context->cwd) {
		add_dir(vars, spec, state->context->cwd);
	}
	size_t nitem = attempt->template && template_names_item(attempt->template) ? job_env_add_item(vars, &job->record) : 0;
	grow_array(&state->env, &state->env_cap, spec->nenv + spec->nvars + NVARS + nitem + 1, sizeof(*state->env));
	memcpy(state->env, spec->env, spec->nenv * sizeof(*state->env));
	char **env = state->env + spec->nenv;
	for (const char *at = vars->data; at < vars->data + vars->len; at += strlen(at) + 1) {
		*env++ = (char *)at;
	}
	*env = NULL;
}
