// Adds jobs while the run goes (--add). In its queue an added job is treated as an item.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "state/job_state.h"
#include "state/publish.h"
#include "record/added_jobs.h"
#include "record/record.h"
#include "sharing/nested.h"

// Returns why the run refuses to add the job, or NULL.
static const char *refuse_job(const struct run *run, const struct control_job *job) {
	const struct options *options = run->options;
	return run->phase >= RUN_DRAINING || publish_halted(run) || run->feeds->stopped ? "the run starts no more jobs"
		: options->resume == RESUME_RETRY ? "jobs cannot be added to a run with --retry-failed: its jobs have their numbers from the joblog"
		: options->tee ? "jobs cannot be added to a run with --tee: its jobs all start together"
		: run->leases && job->width > 1 ? "each job of this run takes one slot, because the slots belong to another program" : NULL;
}

// Opens the queue that an added job goes to: the queue of attempt `number` (*ret_own true), if this attempt runs, and `batch` is empty or names its
// batch; else the queue of the batch `batch`, or of the command line if `batch` is empty. Returns NULL if the run takes no more jobs.
static struct submission *open_submission(struct run *run, uint64_t number, const char *batch, bool *ret_own) {
	mutex_lock(nested_mutex(run->nested));
	const struct live_attempt *attempt = nested_find(run->nested, number);
	struct queue *queue = attempt ? worker_queue(attempt->worker) : NULL;
	*ret_own = queue && (!batch[0] || strcmp(batch, queue_name(queue)) == 0) && queue_ref(run->pool, queue);
	mutex_unlock(nested_mutex(run->nested));
	if (*ret_own) {
		return feed_submission_open(queue);
	}
	if (queue && !batch[0]) {
		return NULL; // the pool takes no more items
	}
	const char *name = batch[0] ? batch : run->options->batch ? run->options->batch : "default";
	return feed_submission_open_batch(run, name, /* low_water */ 0);
}

// Submits the job: to the local list of the worker whose attempt adds it, if that attempt still runs, else to the tail of the queue.
static enum submit_status submit(struct run *run, uint64_t number, struct submission *submission, bool own) {
	mutex_lock(nested_mutex(run->nested));
	const struct live_attempt *attempt = own ? nested_find(run->nested, number) : NULL;
	enum submit_status status = submission_offer(submission, attempt ? attempt->worker : NULL, attempt ? WORK_LOCAL : 0);
	mutex_unlock(nested_mutex(run->nested));
	submission_finish(submission, status == SUBMIT_FULL ? SUBMIT_CLOSED : status);
	return status;
}

static uint64_t add_to(struct run *run, uint64_t number, uint64_t by, struct added_job *added, const struct control_job *job,
                       struct submission *submission, bool own, struct buf *why) {
	const struct result done = {.outcome = OUTCOME_OK}, refused = {.outcome = OUTCOME_CANCELLED};
	const struct record words = {.args = job->words, .size = job->words_size, .nargs = job->nwords};
	submission->from = by;
	bool is_new = submission_add(submission, &(struct new_item){.record = &words, .added = added});
	uint64_t id = added->id; // the job may end before this function does
	uint64_t item_number = is_new ? submission->works[submission->n - 1].id : 0;
	added_jobs_register(run->added_jobs, added, by, submission->queue, item_number);
	if (!is_new) { // --resume: the job was done before
		job_records_finish(run, id);
		added_job_ended(run, added, &done);
		added_job_free(added);
		return id;
	}
	enum submit_status status = submit(run, number, submission, own);
	if (status != SUBMIT_OK) {
		buf_adds(why, status == SUBMIT_FULL ? "the queue of its batch is full" : "the run starts no more jobs");
		added_job_ended(run, added, &refused);
		added_job_free(added);
	}
	return id;
}

uint64_t feeds_add_job(struct run *run, uint64_t number, uint64_t by, const struct control_job *job, struct buf *why) {
	const char *refusal = refuse_job(run, job);
	bool own;
	struct submission *submission = refusal ? NULL : open_submission(run, number, job->batch, &own);
	if (!submission) {
		buf_adds(why, refusal ? refusal : "the run starts no more jobs");
		return 0;
	}
	struct added_job *added = NEW(struct added_job);
	uint64_t id = 0;
	if (atomic_load_relaxed(&submission->batch->cancelled)) {
		buf_printf(why, "batch '%s' was cancelled", text_shows(submission->batch->name));
		added_job_free(added);
	} else if (job_spec_from_added(&added->spec, run->options, run->context, job) != 0) {
		buf_adds(why, "--tagstring cannot be expanded for the job");
		added_job_free(added);
	} else {
		id = add_to(run, number, by, added, job, submission, own, why);
	}
	feed_submission_close(run, submission);
	return why->len > 0 ? 0 : id;
}
