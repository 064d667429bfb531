// The life of one job on a worker: build its command, run it, and decide: again, the next step, or the end.
//
// An item's chain (the command, then each --then step) is one job: one sequence number, one group of output, counted
// once. Each attempt and each step is a turn of its batch, for it goes through the pool: the first as the queued item,
// the others as continuations on the worker's own list.
//
//   queued -> attempt -> failed, tries left -> attempt       (WORK_LOCAL)
//                     -> ok, steps left     -> next step     (WORK_LOCAL)
//                     -> end: output is finished, the tally counts it, --halt is asked, --on-failure is queued
//   queued -> dropped: cancelled

#include "run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "plan/command.h"
#include "plan/shell.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

// A job that has begun.
struct job {
	struct batch *batch;
	struct item item;
	struct record record;
	const char *reason;        // item.bad: why
	unsigned step;             // 0: the command; n: the nth --then
	unsigned attempt;          // of this step, from 1
	struct spool *spool;       // of all its output; NULL with --ungroup
	char *owned;               // its own copy of the record, once it has left the worker; else NULL
};

// What a worker keeps from job to job.
struct desk {
	struct run *run;
	struct child_scratch *scratch;
	struct command command;
	struct buf text;           // the command for people
	struct buf label;
	struct buf vars;           // the variables of the job's environment, NUL behind each
	char **env;
	size_t env_cap;
	struct job failed;         // the job that work_failed() is called for
	struct result failed_result;
};

static void desk_free(void *arg) {
	struct desk *desk = arg;
	child_scratch_destroy(desk->scratch);
	command_fini(&desk->command);
	buf_fini(&desk->text);
	buf_fini(&desk->label);
	buf_fini(&desk->vars);
	free(desk->env);
	free(desk);
}

enum { NVARS = 10 }; // set for each job, see build_env()

static struct desk *desk_of(struct run *run, struct worker *worker) {
	void **kept = worker_scratch(worker, desk_free);
	if (!*kept) {
		struct desk *desk = NEW(struct desk);
		desk->run = run;
		desk->scratch = child_scratch_create();
		*kept = desk;
	}
	return *kept;
}

static struct run *run_of(struct queue *queue) {
	const struct batch *batch = queue_user(queue);
	return batch->run;
}

void work_label(const struct batch *batch, uint64_t seq, uint64_t number, struct buf *buf) {
	if (strcmp(batch->name, "default") == 0) {
		buf_printf(buf, "#%llu", (unsigned long long)seq);
	} else {
		buf_add_escaped(buf, batch->name, strlen(batch->name), 80);
		buf_printf(buf, "#%llu", (unsigned long long)number);
	}
}

// ---- the environment ----

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

// The environment of the job: that of the submitter and what DESIGN §8 and peers' scripts expect. `ended`, if not NULL,
// is the result that an --on-failure command is told of.
static void build_env(struct desk *desk, const struct job *job, unsigned slot, const struct result *ended) {
	struct buf *vars = &desk->vars;
	buf_reset(vars);
	add_text(vars, "FAIRPAR_BATCH=", job->batch->name);
	buf_adds(vars, "FAIRPAR_JOB=");
	buf_adds(vars, job->batch->name);
	add_number(vars, "#", job->item.number);
	add_number(vars, "FAIRPAR_SEQ=", job->item.seq);
	add_number(vars, "FAIRPAR_SLOT=", slot);
	add_number(vars, "FAIRPAR_ATTEMPT=", job->attempt);
	add_number(vars, "PARALLEL_SEQ=", job->item.seq);
	add_number(vars, "PARALLEL_JOBSLOT=", slot);
	add_number(vars, "PARALLEL_PID=", (uint64_t)getpid());
	if (ended) {
		add_number(vars, "FAIRPAR_EXIT=", (uint64_t)result_code(ended));
		add_text(vars, "FAIRPAR_OUTCOME=", outcome_name(ended->outcome));
	}
	const struct recipe *recipe = job->batch->recipe;
	grow_array(&desk->env, &desk->env_cap, recipe->nenv + NVARS + 1, sizeof(*desk->env));
	memcpy(desk->env, recipe->env, recipe->nenv * sizeof(*desk->env));
	char **env = desk->env + recipe->nenv;
	for (const char *at = vars->data; at < vars->data + vars->len; at += strlen(at) + 1) {
		*env++ = (char *)at;
	}
	*env = NULL;
}

// ---- one attempt ----

struct drained {
	struct run *run;
	struct spool *spool;
};

static ssize_t drain_readable(void *arg, enum child_stream stream, int fd) {
	struct drained *drained = arg;
	ssize_t n = spool_readable(drained->spool, (int)stream, fd);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		int error = errno;
		diag_error("cannot read the output of a job: %s", strerror(error));
		atomic_store_relaxed(&drained->run->trouble, true);
		errno = error;
	}
	return n;
}

// Opens the job's spool, with its tag, before its first attempt.
static void open_spool(struct desk *desk, struct job *job, const struct expansion *x) {
	struct run *run = desk->run;
	if (!run->emit || job->spool) {
		return;
	}
	struct buf tag = BUF_INIT;
	const struct template *template = job->batch->recipe->tag;
	if (template) {
		struct buf raw = BUF_INIT;
		template_expand(template, x, &raw);
		if (isatty(STDOUT_FILENO)) {
			buf_add_escaped(&tag, buf_str(&raw), raw.len, SIZE_MAX);
		} else {
			buf_add(&tag, buf_str(&raw), raw.len);
		}
		buf_addc(&tag, '\t');
		buf_fini(&raw);
	}
	// an --on-failure command (order 0) is no item: its output has no place in the order
	struct emit_lane *lane = job->item.order ? job->batch->lane : NULL;
	enum emit_mode mode = run->options->output == OUTPUT_LINE_BUFFER ? EMIT_LINE_BUFFER : EMIT_GROUP;
	job->spool = spool_open(run->emit, lane, job->item.order, mode, tag.data, tag.len);
	buf_fini(&tag);
}

static void cannot_start(struct result *ret_result, int exit_code) {
	uint64_t now = now_ns();
	*ret_result = (struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = exit_code, .start = now, .end = now};
}

static void print_command(struct desk *desk) {
	struct buf line = BUF_INIT;
	if (isatty(STDERR_FILENO)) {
		buf_add_escaped(&line, buf_str(&desk->text), desk->text.len, SIZE_MAX);
	} else {
		buf_add(&line, buf_str(&desk->text), desk->text.len);
	}
	buf_addc(&line, '\n');
	if (write_all(STDERR_FILENO, line.data, line.len) != 0) {
		atomic_store_relaxed(&desk->run->trouble, true);
	}
	buf_fini(&line);
}

// Says why the job could not be started.
static void explain(const struct desk *desk, const struct job *job, const char *step, int error) {
	const char *first = desk->command.argv && desk->command.argv[0] ? desk->command.argv[0] : buf_str(&desk->text);
	struct buf label = BUF_INIT;
	work_label(job->batch, job->item.seq, job->item.number, &label);
	if (error == ENOENT && !step) {
		diag_error("job %s: '%s': command not found", buf_str(&label), diag_shows(first));
	} else {
		diag_error("job %s: cannot start '%s': %s%s%s", buf_str(&label), diag_shows(first), step ? step : "",
		           step ? ": " : "", strerror(error));
	}
	buf_fini(&label);
}

static void run_child(struct desk *desk, const struct job *job, struct result *ret_result) {
	struct run *run = desk->run;
	struct drained drained = {.run = run, .spool = job->spool};
	struct drain drain = {.readable = drain_readable, .arg = &drained};
	struct child_config config = {
		.path = desk->command.path,
		.argv = desk->command.argv,
		.env = desk->env,
		.context = job->batch->recipe->context,
		.stdin_fd = -1,
		.drain = job->spool ? &drain : NULL,
		.timeout = job->batch->recipe->timeout,
		.label = buf_str(&desk->label),
		.forks = desk->command.by_shell,
		.own_group = true,
		.scratch = desk->scratch,
	};
	struct spawn_error error;
	child_run(run->children, &config, ret_result, &error);
	if (ret_result->outcome == OUTCOME_SPAWN_ERROR) {
		bool plain = error.step == SPAWN_EXEC;
		explain(desk, job, plain ? NULL : spawn_step_name(error.step), error.error);
	}
}

// Lets the output of a job that is the last one and alone go straight through, if nothing can take it back: there is
// nobody whose output it could mix with or hold up.
static void let_through(struct run *run, const struct job *job) {
	const struct recipe *recipe = job->batch->recipe;
	if (!job->spool || !atomic_load_relaxed(&run->all_read) || recipe->attempts > 1 || recipe->nthen > 0) {
		return;
	}
	struct pool_stat stat;
	pool_stat(run->pool, &stat);
	if (stat.queued == 0 && stat.running + stat.running_long == 1) {
		spool_set_live(job->spool);
	}
}

// Runs `template` for the job (NULL: its record is the command) and waits for the end.
static void attempt(struct desk *desk, struct job *job, const struct template *template, unsigned slot,
                    const struct result *ended, struct result *ret_result) {
	struct run *run = desk->run;
	struct expansion x = {.record = &job->record, .seq = job->item.seq, .slot = slot};
	struct interpreter by = {.shell = job->batch->recipe->shell};
	*ret_result = (struct result){.outcome = OUTCOME_OK};
	open_spool(desk, job, &x);
	buf_reset(&desk->text);
	buf_reset(&desk->label);
	command_text(template, &x, &by, &desk->text);
	work_label(job->batch, job->item.seq, job->item.number, &desk->label);
	if (run->options->dry_run) {
		buf_addc(&desk->text, '\n');
		spool_add(job->spool, 0, desk->text.data, desk->text.len);
		return;
	}
	if (run->options->print_commands) {
		print_command(desk);
	}
	if (command_build(&desk->command, template, &x, &by) != 0) {
		int error = errno;
		cannot_start(ret_result, error == ENOENT ? 127 : 126);
		explain(desk, job, NULL, error);
		return;
	}
	buf_addc(&desk->label, ' ');
	buf_add(&desk->label, buf_str(&desk->text), desk->text.len);
	build_env(desk, job, slot, ended);
	let_through(run, job);
	run_child(desk, job, ret_result);
}

// ---- the end of a job ----

static void note_failure(struct run *run, const struct job *job, const struct result *result) {
	if (run->tally.failed > FAILURES_NAMED) {
		return;
	}
	char how[80];
	buf_adds(&run->failures, run->tally.failed > 1 ? ", " : "");
	work_label(job->batch, job->item.seq, job->item.number, &run->failures);
	buf_printf(&run->failures, " (%s)", result_describe(result, how, sizeof(how)));
}

// Counts the end of the job. Returns true if it makes the run stop.
static bool count(struct run *run, const struct job *job, const struct result *result) {
	mutex_lock(&run->lock);
	struct tally *tally = &run->tally;
	uint64_t failed = tally->failed;
	tally_add(tally, result);
	if (tally->failed > failed) {
		note_failure(run, job, result);
	}
	bool stop = !run->halted && result->outcome != OUTCOME_CANCELLED && halt_is_met(&run->options->halt, tally);
	if (stop) {
		run->halted = true;
		run->halted_by = *result;
	}
	mutex_unlock(&run->lock);
	return stop;
}

void work_count_cancelled(struct run *run, uint64_t n) {
	mutex_lock(&run->lock);
	run->tally.cancelled += n;
	mutex_unlock(&run->lock);
}

void work_stop_run(struct run *run) {
	if (run->options->halt.when == HALT_NOW) {
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
	}
	pool_shutdown(run->pool, POOL_CANCELLING);
	run_wake(run);
}

static enum work_status job_end(struct desk *desk, struct job *job, const struct result *result) {
	struct run *run = desk->run;
	if (job->spool) {
		spool_finish(job->spool);
		job->spool = NULL;
	}
	if (count(run, job, result)) {
		work_stop_run(run);
	}
	bool failed = result->outcome != OUTCOME_OK && result->outcome != OUTCOME_CANCELLED;
	if (failed && job->batch->recipe->on_failure) {
		// work_failed() comes next on this worker; the record lives at least as long
		desk->failed = *job;
		desk->failed_result = *result;
		return WORK_FAILED;
	}
	free(job->owned);
	return WORK_OK;
}

// ---- continuations ----

static enum work_status run_again(struct worker *worker, struct queue *queue, void *data, size_t size);
static void drop_again(struct queue *queue, void *data, size_t size);
static const struct work_type work_again = {"continuation", run_again, drop_again};

// Moves the job to the heap, for it outlives this item.
static struct job *job_keep(const struct job *job) {
	struct job *kept = NEW(struct job);
	*kept = *job;
	if (!kept->owned) {
		size_t reason = job->reason ? strlen(job->reason) + 1 : 0;
		kept->owned = xmalloc(job->record.size + reason);
		memcpy(kept->owned, job->record.args, job->record.size);
		kept->record.args = kept->owned;
		if (reason > 0) {
			memcpy(kept->owned + job->record.size, job->reason, reason);
			kept->reason = kept->owned + job->record.size;
		}
	}
	return kept;
}

// Queues the job's next attempt or step. Returns false if the run takes no more work.
static bool go_on(struct desk *desk, struct worker *worker, struct queue *queue, struct job *job) {
	if (job->spool) {
		spool_suspend(job->spool);
	}
	struct job *kept = job_keep(job);
	struct work work = {.type = &work_again, .data = &kept, .size = sizeof(kept), .flags = WORK_LOCAL, .id = kept->item.number};
	if (pool_submit(desk->run->pool, queue, worker, &work, 1) == SUBMIT_OK) {
		return true;
	}
	job->owned = kept->owned;
	job->record = kept->record;
	free(kept);
	return false;
}

// A record that cannot be an item fails as a job, and says why.
static enum work_status fail_bad_item(struct desk *desk, struct worker *worker, struct job *job) {
	struct result result;
	cannot_start(&result, 126);
	open_spool(desk, job, &(struct expansion){.record = &job->record, .seq = job->item.seq, .slot = worker_slot(worker)});
	struct buf label = BUF_INIT;
	work_label(job->batch, job->item.seq, job->item.number, &label);
	diag_error("job %s: %s: '%s'", buf_str(&label), job->reason, diag_shows(job->record.args));
	buf_fini(&label);
	return job_end(desk, job, &result);
}

static enum work_status job_step(struct worker *worker, struct queue *queue, struct job *job) {
	struct run *run = run_of(queue);
	const struct recipe *recipe = job->batch->recipe;
	struct desk *desk = desk_of(run, worker);
	struct result result;
	if (job->item.bad) {
		return fail_bad_item(desk, worker, job);
	}
	attempt(desk, job, job->step == 0 ? recipe->command : recipe->then[job->step - 1], worker_slot(worker), NULL, &result);
	if (result.outcome == OUTCOME_CANCELLED) {
		return job_end(desk, job, &result);
	}
	struct job next = *job;
	if (result.outcome != OUTCOME_OK && job->attempt < recipe->attempts) {
		++next.attempt;
		if (go_on(desk, worker, queue, &next)) {
			return WORK_OK;
		}
	} else if (result.outcome == OUTCOME_OK && job->step < recipe->nthen) {
		++next.step;
		next.attempt = 1;
		if (go_on(desk, worker, queue, &next)) {
			return WORK_OK;
		}
		result.outcome = OUTCOME_CANCELLED;
	}
	job->owned = next.owned;
	job->record = next.record;
	return job_end(desk, job, &result);
}

static enum work_status run_again(struct worker *worker, struct queue *queue, void *data, size_t size) {
	verify(size == sizeof(struct job *));
	struct job *kept = *(struct job **)data;
	struct job job = *kept;
	free(kept);
	if (job.spool && job.attempt > 1) {
		spool_reset(job.spool); // only the last attempt is shown, as GNU parallel does
	} else if (job.spool) {
		spool_mark(job.spool);  // the steps before this one stay
	}
	return job_step(worker, queue, &job);
}

static void job_cancelled(struct job *job) {
	if (job->spool) {
		spool_finish(job->spool);
	}
	free(job->owned);
}

static void drop_again(struct queue *queue, void *data, size_t size FP_UNUSED) {
	struct job *kept = *(struct job **)data;
	job_cancelled(kept);
	free(kept);
	work_count_cancelled(run_of(queue), 1);
}

// ---- the queued item ----

static void job_decode(struct job *ret_job, struct batch *batch, const void *data, size_t size) {
	*ret_job = (struct job){.batch = batch, .attempt = 1};
	memcpy(&ret_job->item, data, sizeof(ret_job->item));
	const char *args = (const char *)data + sizeof(ret_job->item);
	size_t args_size = size - sizeof(ret_job->item);
	if (ret_job->item.bad) {
		const char *end = args;
		for (uint32_t i = 0; i < ret_job->item.nargs; ++i) {
			end += strlen(end) + 1;
		}
		ret_job->reason = end;
		args_size = (size_t)(end - args);
	}
	ret_job->record = (struct record){.args = args, .size = args_size, .nargs = ret_job->item.nargs};
}

static enum work_status run_item(struct worker *worker, struct queue *queue, void *data, size_t size) {
	struct job job;
	job_decode(&job, queue_user(queue), data, size);
	return job_step(worker, queue, &job);
}

static void drop_item(struct queue *queue, void *data, size_t size FP_UNUSED) {
	struct batch *batch = queue_user(queue);
	struct item item;
	memcpy(&item, data, sizeof(item));
	if (batch->lane) {
		emit_skip(batch->run->emit, batch->lane, item.order);
	}
	work_count_cancelled(batch->run, 1);
}

const struct work_type work_item = {"item", run_item, drop_item};

// ---- --on-failure ----

// A job that failed for good, and how: what its --on-failure command is about.
struct failure {
	struct job job;
	struct result result;
};

static enum work_status run_on_failure(struct worker *worker, struct queue *queue, void *data, size_t size FP_UNUSED) {
	struct run *run = run_of(queue);
	struct desk *desk = desk_of(run, worker);
	struct failure *failure = *(struct failure **)data;
	struct job *job = &failure->job;
	struct result result;
	attempt(desk, job, job->batch->recipe->on_failure, worker_slot(worker), &failure->result, &result);
	if (job->spool) {
		spool_finish(job->spool);
	}
	if (result.outcome != OUTCOME_OK && result.outcome != OUTCOME_CANCELLED) {
		char how[80];
		struct buf label = BUF_INIT;
		work_label(job->batch, job->item.seq, job->item.number, &label);
		diag_warn("job %s: its --on-failure command failed too: %s", buf_str(&label),
		          result_describe(&result, how, sizeof(how)));
		buf_fini(&label);
	}
	free(job->owned);
	free(failure);
	return WORK_OK;
}

static void drop_on_failure(struct queue *queue FP_UNUSED, void *data, size_t size FP_UNUSED) {
	struct failure *failure = *(struct failure **)data;
	free(failure->job.owned);
	free(failure);
}

static const struct work_type work_on_failure = {"on-failure", run_on_failure, drop_on_failure};

void work_failed(void *arg, struct worker *worker, struct queue *queue) {
	struct run *run = arg;
	struct desk *desk = desk_of(run, worker);
	struct job *kept = job_keep(&desk->failed);
	struct failure *failure = NEW(struct failure);
	*failure = (struct failure){.job = *kept, .result = desk->failed_result};
	free(kept);
	failure->job.spool = NULL;
	failure->job.item.order = 0;
	struct work work = {
		.type = &work_on_failure,
		.data = &failure,
		.size = sizeof(failure),
		.flags = WORK_LOCAL,
		.id = failure->job.item.number,
	};
	if (pool_submit(run->pool, queue, worker, &work, 1) != SUBMIT_OK) {
		drop_on_failure(queue, &failure, sizeof(failure));
	}
}
