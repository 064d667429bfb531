// The life of one job on a worker: runs it, and decides whether to try it again, to go on to its next step, or to end it.
//
// An item's chain (the command, then each step of `then`) is one job: one sequence number, one group of output, counted
// once. Each attempt and each step is a turn of its batch, for it goes through the pool: the first as the queued item,
// the others as continuations on the worker's own list, or after a pause at the end of the batch's queue (retry_queue.c).
//
//   queued -> the file that it creates exists: ended, its turn given back
//          -> attempt -> failed, tries left -> attempt       (WORK_LOCAL, or later)
//                     -> ok, steps left     -> next step     (WORK_LOCAL)
//                     -> end: its output is finished, the job is counted, --halt is checked, its on-failure command runs
//   queued -> dropped: cancelled, or skipped with its batch
//
// When a run is cut short, a job that runs is not tried again, but goes on to its next steps. A job that waits for a turn ends as if it had no tries
// left: as failed if its last attempt has failed, as cancelled if it waits between two steps.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "pipe/block.h"
#include "record/added_jobs.h"
#include "record/record.h"

enum {
	LOSSES_MOST = 3,   // how often a job that was lost with its machine is run again; then it fails, as the job itself may bring machines down
	TRACE_LINES = 500, // lines of --trace-service that may wait for the event loop to write them
};

static struct run *run_of(struct queue *queue) {
	const struct batch *batch = queue_user(queue);
	return batch->run;
}

// ---- the end of a job ----

// Ends the job's output, and then adds the job's row to the joblog. A job that was cancelled, or whose output is lost, gets no row, because --resume
// is to run it again. So the row must not come before the output.
static void end_output(struct worker_state *state, struct job *job, const struct result *result, uint64_t received) {
	bool logged = result->outcome == OUTCOME_CANCELLED || atomic_load_relaxed(&state->run->output_error);
	if (job->spool) {
		if (log_sink_is_on_stdout(state->run)) {
			spool_complete(job->spool, 0);
		}
		logged = logged || job_records_add(state, job, result, received, job->spool);
		spool_finish(job->spool);
		job->spool = NULL;
	} else {
		batch_skip_output(job->batch, job->item.order);
	}
	if (!logged) {
		job_records_add(state, job, result, received, /* spool */ NULL);
	}
}

// Frees what the job owns.
static void job_release(struct job *job) {
	if (job->block) {
		block_free(job->block);
	}
	free(job->tries.logins);
	free(job->kept);
	added_job_free(job->added);
}

// Ends the job's output, and records, publishes and counts its end. On any thread.
static void job_close(struct worker_state *state, struct job *job, const struct result *result) {
	struct run *run = state->run;
	bool failed = outcome_is_failure(result->outcome);
	// as GNU parallel counts: the bytes of stdout; with --line-buffer those of both streams
	uint64_t received = job_bytes(job, 0) + (job->spec->output == OUTPUT_LINE_BUFFER ? job_bytes(job, 1) : 0);
	publish_note_output(state, job, result, NEXT_NOTHING);
	end_summary_note_failure(state, result);
	if (job->results) {
		job_keeps_thread(run, true);
		result_files_end(state, job, result, received);
		job_keeps_thread(run, false);
	}
	if (job->spool && failed && run->options->color_failed && !result_files_is_table(run)) {
		// white on red, and to the end of the line, as in GNU parallel
		spool_frame_lines(job->spool, "\033[48;5;196;38;5;231m\033[K", "\033[m");
	}
	created_files_finish(job, result->outcome == OUTCOME_OK);
	end_output(state, job, result, received);
	publish_job_end(state, job, result, NEXT_NOTHING);
	if (job->added) {
		added_job_ended(run, job->added, result);
	}
}

// ---- continuations ----

static const struct work_type work_again;

// Copies the job, with its texts, to the heap, because the job outlives the item that runs now.
static struct job *job_keep(struct job *job) {
	struct text_member args = {&job->record.args, job->record.size};
	struct job *before = job->kept, *kept = copy_with_texts(job, sizeof(*job), &args, 1);
	kept->kept = NULL;
	free(before);
	return kept;
}

static enum work_status job_end(struct worker_state *state, struct job *job, const struct result *result) {
	job_close(state, job, result);
	if (outcome_is_failure(result->outcome) && job->spec->on_failure) {
		batch_command_on_failure(state, job, result);
	}
	job_release(job);
	return WORK_OK;
}

static enum submit_status submit_again(struct run *run, struct queue *queue, struct worker *worker, struct job *kept) {
	struct work work = {
		.type = &work_again,
		.data = &kept,
		.size = sizeof(kept),
		.flags = WORK_LOCAL,
		.id = kept->item.number,
		.width = kept->spec->width,
	};
	uint64_t seq = kept->item.seq; // the job may be freed before pool_submit() returns
	enum submit_status status = pool_submit(run->pool, queue, worker, &work, 1);
	waits_requeued(run->added_jobs, seq);
	return status;
}

// Publishes the end of the job's pause before its next attempt, once.
static void end_pause(struct job *job) {
	if (job->pauses) {
		job->pauses = false;
		publish_wait_end(job->batch->run, job->batch, job->item.number, WHY_RETRY, job->item.queued);
	}
}

// Returns the result of a job whose next attempt or step will not run: its last result or cancelled. Sets state->text to the command left out.
static struct result unmade_result(struct worker_state *state, struct job *job) {
	struct result result = job->result;
	struct expansion x = job_expansion(job);
	buf_reset(&state->text);
	command_text(job_template(job), &x, &job->spec->by, &state->text);
	job->cancelled_next = job->pending;
	if (job->pending == NEXT_RETRY) {
		--job->attempt;
	}
	if (job->pending != NEXT_RETRY || result.lost) { // a lost attempt: --resume is to run the job again
		result.outcome = OUTCOME_CANCELLED;
	}
	return result;
}

// Ends and frees the job, because its next attempt or step cannot run. On any thread.
static void cut_off(struct job *job) {
	struct worker_state *state = worker_state_new(job->batch->run, NULL);
	struct result result = unmade_result(state, job);
	end_pause(job);
	job_close(state, job, &result);
	job_release(job);
	free(job);
	worker_state_free(state);
}

static enum work_status run_kept(struct worker *worker, struct queue *queue, struct job *kept);

// Queues the job's next attempt or step, after `pause` nanoseconds; runs a step at once if the run takes no more work.
static enum work_status queue_next(struct worker_state *state, struct queue *queue, struct job *job, uint64_t pause) {
	struct run *run = state->run;
	if (job->spool) {
		spool_suspend(job->spool);
	}
	job->item.queued = now_ns();
	job->pause = pause;
	job->pauses = pause > 0;
	if (job->pauses) {
		FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
		buf_adds(&what, "its next attempt in ");
		text_add_time(&what, pause);
		publish_wait(run, job->batch, job->item.number, WHY_RETRY, buf_str(&what));
	}
	struct job *kept = job_keep(job);
	bool taken = pause > 0 ? retry_queue_add(run->retry_queue, queue, kept, now_ns() + pause)
	                       : submit_again(run, queue, state->worker, kept) == SUBMIT_OK;
	if (taken) {
		return WORK_OK;
	}
	if (kept->pending == NEXT_STEP && !job_is_cancelled(kept) && !atomic_load_relaxed(&run->halt_now)) {
		return run_kept(state->worker, queue, kept);
	}
	struct result result = unmade_result(state, kept);
	end_pause(kept);
	enum work_status status = job_end(state, kept, &result); // not cut_off(), which runs no on-failure command
	free(kept);
	return status;
}

static bool retry(struct queue *queue, struct job *job) {
	end_pause(job);
	enum submit_status status = submit_again(run_of(queue), queue, NULL, job);
	if (status == SUBMIT_CLOSED) {
		cut_off(job);
	}
	return status != SUBMIT_FULL;
}

const struct retry_calls work_retries = {.resume = retry, .cut_off = cut_off};

// Ends the job of a record that cannot be an item: the job has failed, and a message says why.
static enum work_status fail_bad_item(struct worker_state *state, struct job *job) {
	struct result result;
	result_cannot_start(&result, 126);
	publish_attempt_begin(state);
	buf_reset(&state->text);
	buf_adds(&state->text, job->record.args);
	job_output_open_spool(state, job);
	attempt_complain(state, job, "%s: '%s'", job->reason, text_shows(job->record.args));
	return job_end(state, job, &result);
}

// True if an attempt that was lost with its machine is to run again: if it was never sent there; or if the job was lost less often than LOSSES_MOST,
// and its output can be discarded and its input be read again.
static bool reruns_lost(const struct job *job, enum lost lost) {
	const struct options *options = job->batch->run->options;
	bool is_held = job->results || (job->spool && job->spec->output == OUTPUT_GROUP);
	if (lost == LOST_UNSENT || lost == LOST_NOT) {
		return lost == LOST_UNSENT;
	}
	return !options->at_most_once && job->losses < LOSSES_MOST && (lost == LOST_SILENT || is_held) && !(job->block && job->block->consumer);
}

// Notes how long the job's first attempt has taken for its items (--pack=auto), unless nothing ran, as with --dry-run.
static void note_length(const struct job *job, const struct result *result) {
	bool ran = result->outcome != OUTCOME_CANCELLED && result->outcome != OUTCOME_SPAWN_ERROR;
	if (ran && result->end > result->start) {
		FP_HOLD(&job->batch->run->lock);
		packsize_note(&job->batch->pack_size, job->item.items, result->end - result->start);
	}
}

// True if the lines that the job's present step writes become items of another batch: only the first step emits.
static bool job_emits(const struct job *job) {
	return job->batch->emits && job->step == 0;
}

// Called when an attempt has ended as state->result says: queues the job's next attempt or step, or ends the job.
static enum work_status after_attempt(struct worker_state *state, struct queue *queue) {
	struct job *job = &state->job;
	const struct job_spec *spec = job->spec;
	struct result result = state->result;
	if (job_emits(job)) {
		line_items_end(job->line_items, result.outcome == OUTCOME_OK || (spec->attempts == 1 && !result.lost));
		job->line_items = NULL;
	}
	if (state->run->options->packing.by_time && job->step == 0 && job->attempt == 1 && !job->added) {
		note_length(job, &result);
	}
	job->start = job->step == 0 ? result.start : job->start;
	if (result.lost && job_is_cancelled(job)) {
		result.outcome = OUTCOME_CANCELLED;
	}
	if (result.outcome == OUTCOME_CANCELLED) {
		if (result.start == 0 && job->pending == NEXT_RETRY) { // the job was to be tried again, and waited for a machine or memory
			result = unmade_result(state, job);
		}
		return job_end(state, job, &result);
	}
	bool is_final = result.outcome == OUTCOME_OK || result.is_refused || result.lacks_results;
	bool again = reruns_lost(job, result.lost);
	bool retries = (again || (!is_final && job->attempt < spec->attempts + job->uncounted)) && !job_is_cancelled(job);
	if (!retries && (result.outcome != OUTCOME_OK || job->step == spec->then.n)) {
		return job_end(state, job, &result);
	}
	job->losses += again && result.lost != LOST_UNSENT;
	uint64_t pause = retries && !again && spec->delay.first_ns > 0 ? manifest_delay_ns(&spec->delay, job->attempt - job->uncounted) : 0;
	job->uncounted = retries ? job->uncounted + again : 0;
	job->pending = retries ? NEXT_RETRY : NEXT_STEP;
	job->result = result;
	publish_note_output(state, job, &result, job->pending);
	publish_job_end(state, job, &result, job->pending); // before the next attempt or step can begin
	job->step += !retries;
	job->attempt = retries ? job->attempt + 1 : 1;
	return queue_next(state, queue, job, pause);
}

// Begins an attempt at the job's step.
static enum work_status job_step(struct worker_state *state, struct queue *queue) {
	struct job *job = &state->job;
	if (job->item.bad) {
		return fail_bad_item(state, job);
	}
	if (job->batch->node && job->item.earlier != RESUME_DONE) {
		atomic_store_relaxed(&job->batch->node->has_run, true);
	}
	if (job_emits(job)) {
		bool hold = job->spec->attempts > 1 || state->run->hosts;
		job->line_items = line_items_begin(state->worker, job->batch->emits, job->item.seq, WORK_LOCAL, hold);
		job->line_items->submission.again = job->item.earlier == RESUME_NEW;
	}
	return attempt_run(state, job, &state->result) ? after_attempt(state, queue) : WORK_PENDING;
}

static enum work_status run_kept(struct worker *worker, struct queue *queue, struct job *kept) {
	struct worker_state *state = worker_state_of(run_of(queue), worker);
	struct job *job = &state->job;
	*job = *kept;
	job->kept = kept;
	job->slot = worker_slot(worker);
	if (job->results) {
		(job->attempt > 1 ? results_reset : results_mark)(job->results);
	}
	if (job->spool && job->attempt > 1) {
		spool_reset(job->spool); // only the last attempt is shown, as GNU parallel does
	} else if (job->spool) {
		spool_mark(job->spool);  // the output of earlier steps stays
	}
	return job_step(state, queue);
}

static enum work_status run_again(struct worker *worker, struct queue *queue, void *data, size_t size) {
	verify(size == sizeof(struct job *));
	struct job *kept = *(struct job **)data;
	if (job_is_cancelled(kept)) {
		cut_off(kept);
		return WORK_NOT_RUN;
	}
	return run_kept(worker, queue, kept);
}

static void drop_again(struct queue *queue FP_UNUSED, void *data, size_t size FP_UNUSED) {
	cut_off(*(struct job **)data);
}

// ---- the queued item ----

// Reads a queued item, but not job->spec, which is there only once the batch has begun.
static void job_read(struct job *ret_job, struct batch *batch, const void *data, size_t size) {
	struct item_view view;
	item_read(&view, data, size);
	*ret_job = (struct job){
		.batch = batch,
		.item = view.item,
		.record = view.record,
		.reason = view.reason,
		.attempt = 1,
	};
	if (ret_job->item.added) {
		ret_job->added = view.item.own;
	} else if (batch->run->blocks && batch->run->options->tee) {
		ret_job->block = blockfeed_block(batch->run->blocks, ret_job->item.number);
	} else {
		ret_job->block = view.item.own;
	}
}

// Counts the items of the job as never started.
static void drop(struct job *job) {
	static const struct result cancelled = {.outcome = OUTCOME_CANCELLED};
	batch_skip_output(job->batch, job->item.order);
	publish_lost(job->batch, job->item.items);
	if (job->added) {
		added_job_ended(job->batch->run, job->added, &cancelled);
	}
	job_release(job);
}

// True if --resume finds that the job is done. This is checked only when the job starts, because other batches emit the items of this batch.
static bool leave_out(struct job *job) {
	static const struct result ok = {.outcome = OUTCOME_OK};
	bool is_done = job_records_leave_out(job->batch, job->spec, &job->record, &job->item);
	if (is_done && job->added) {
		job_records_finish(job->batch->run, job->item.seq);
		added_job_ended(job->batch->run, job->added, &ok);
	}
	return is_done;
}

// Writes the lines of --trace-service, if more than TRACE_LINES wait; the event loop writes fewer lines.
static void trace_later(const struct run *run) {
	if (run->trace) {
		bool left;
		event_log_later(run->trace, TRACE_LINES, &left);
	}
}

static enum work_status run_item(struct worker *worker, struct queue *queue, void *data, size_t size) {
	struct run *run = run_of(queue);
	struct worker_state *state = worker_state_of(run, worker);
	struct job *job = &state->job;
	job_read(job, queue_user(queue), data, size);
	job->slot = worker_slot(worker);
	job->spec = job->added ? &job->added->spec : job->batch->specs[job->item.spec];
	enum work_status status = WORK_NOT_RUN;
	if (job_is_cancelled(job)) {
		drop(job);
	} else if (job->batch->is_fed && !job->item.bad && leave_out(job)) {
		publish_queued(job->batch, -1); // the job is counted only among the jobs that were done before this run
		job_release(job);
	} else if (job->spec->creates && !job->item.bad && created_files_find(state, job)) {
		batch_skip_output(job->batch, job->item.order);
		publish_up_to_date(job);
	} else {
		status = job_step(state, queue);
	}
	trace_later(run);
	return status;
}

static enum work_status resume_job(struct worker *worker, struct queue *queue, void *data FP_UNUSED) {
	struct worker_state *state = worker_state_of(run_of(queue), worker);
	enum work_status status = attempt_resume(state, &state->job, &state->result) ? after_attempt(state, queue) : WORK_PENDING;
	trace_later(state->run);
	return status;
}

static void drop_item(struct queue *queue, void *data, size_t size) {
	struct job job;
	job_read(&job, queue_user(queue), data, size);
	drop(&job);
}

static const struct work_type work_again = {.run = run_again, .resume = resume_job, .drop = drop_again};
const struct work_type work_item = {.run = run_item, .resume = resume_job, .drop = drop_item};
