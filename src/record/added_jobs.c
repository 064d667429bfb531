// The table of the jobs that were added by --add: spec, state and exit status of each.

#include "record/added_jobs.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/units.h"
#include "state/run.h"
#include "record/record.h"
#include "sharing/nested.h"

#include <stdlib.h>

// A job that has added other jobs.
struct parent {
	uint64_t id;              // the first member, for compare_ids()
	size_t n_unfinished;      // how many of the jobs that this job has added are not finished
	struct buf row;           // this job's row of the joblog, kept until n_unfinished is 0
};

struct added_jobs *added_jobs_open(struct run *run) {
	struct added_jobs *jobs = NEW(struct added_jobs);
	jobs->run = run;
	list_init(&jobs->waits);
	return jobs;
}

void added_jobs_close(struct added_jobs *jobs) {
	if (jobs) {
		for (size_t i = 0; i < jobs->n_parents; ++i) {
			buf_fini(&jobs->parents[i].row);
		}
		free(jobs->parents);
		free(jobs->entries);
		free(jobs);
	}
}

// ---- one added job ----

void added_job_free(struct added_job *added) {
	if (added) {
		job_spec_fini(&added->spec);
		free(added);
	}
}

// ---- the table of all added jobs ----

// For bsearch(): compares ids, or elements that begin with an id.
static int compare_ids(const void *a, const void *b) {
	return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

struct added_entry *added_jobs_find(const struct added_jobs *jobs, uint64_t id) {
	return jobs->n > 0 ? bsearch(&id, jobs->entries, jobs->n, sizeof(*jobs->entries), compare_ids) : NULL;
}

static struct parent *find_parent(const struct added_jobs *jobs, uint64_t id) {
	return jobs->n_parents > 0 ? bsearch(&id, jobs->parents, jobs->n_parents, sizeof(*jobs->parents), compare_ids) : NULL;
}

// Returns the parent with that id, which it adds if it is missing.
static struct parent *add_parent(struct added_jobs *jobs, uint64_t id) {
	struct parent *parent = find_parent(jobs, id);
	if (!parent) {
		parent = NEW_ELEMENT(jobs->parents, jobs->n_parents, jobs->parents_cap);
		for (; parent > jobs->parents && parent[-1].id > id; --parent) {
			*parent = parent[-1];
		}
		*parent = (struct parent){.id = id};
	}
	return parent;
}

void added_jobs_register(struct added_jobs *jobs, struct added_job *added, uint64_t by, struct queue *queue, uint64_t number) {
	atomic_store_relaxed(&jobs->any, true);
	FP_HOLD(nested_mutex(jobs->run->nested));
	verify(jobs->n == 0 || jobs->entries[jobs->n - 1].id < added->id); // ids grow, so the entries are sorted
	*NEW_ELEMENT(jobs->entries, jobs->n, jobs->cap) = (struct added_entry){
		.id = added->id, .by = by, .job = added, .queue = queue, .number = number,
	};
	++add_parent(jobs, by)->n_unfinished; // `by` may be 0: then a process outside the run has added the job, and no row is kept
}

static void end_entry(struct run *run, uint64_t id, int code) {
	struct added_jobs *jobs = run->added_jobs;
	mutex_lock(nested_mutex(jobs->run->nested));
	struct added_entry *entry = added_jobs_find(jobs, id);
	bool is_finished = false;
	if (entry && entry->job) {
		is_finished = atomic_load_relaxed(&entry->job->cancelled);
		entry->job = NULL;
		entry->code = code;
		waits_note_end(jobs, entry);
	}
	mutex_unlock(nested_mutex(jobs->run->nested));
	if (is_finished) {
		job_records_finish(run, id);
	}
}

void added_job_ended(struct run *run, struct added_job *added, const struct result *result) {
	bool ran = result->outcome == OUTCOME_OK || outcome_is_failure(result->outcome); // if the job has not run, --wait exits as for a failed job
	end_entry(run, added->id, ran ? result_code(result) : 1);
}

enum added_state added_jobs_state(struct added_jobs *jobs, uint64_t id, int *ret_code) {
	FP_HOLD(nested_mutex(jobs->run->nested));
	const struct added_entry *entry = added_jobs_find(jobs, id);
	enum added_state state = !entry ? ADDED_UNKNOWN : entry->job ? ADDED_THERE : ADDED_ENDED;
	*ret_code = entry ? entry->code : 0;
	return state;
}

void added_jobs_by(struct added_jobs *jobs, uint64_t by, bool unreported, struct buf *ids) {
	FP_HOLD(nested_mutex(jobs->run->nested));
	for (size_t i = 0; i < jobs->n; ++i) {
		const struct added_entry *entry = &jobs->entries[i];
		if (entry->by == by && !(unreported && entry->reported)) {
			buf_add(ids, &entry->id, sizeof(entry->id));
		}
	}
}

void added_jobs_cancel(struct run *run, uint64_t id, bool runs) {
	struct added_jobs *jobs = run->added_jobs;
	mutex_lock(nested_mutex(jobs->run->nested));
	struct added_job *job = added_jobs_find(jobs, id)->job;
	if (job) {
		atomic_store_relaxed(&job->cancelled, true);
	}
	mutex_unlock(nested_mutex(jobs->run->nested));
	if (!runs) {
		end_entry(run, id, 1);
	}
}

// ---- rows of the joblog ----

bool added_jobs_keep_row(struct added_jobs *jobs, uint64_t seq, const char *row, size_t len) {
	if (!jobs || !atomic_load_relaxed(&jobs->any)) {
		return false;
	}
	FP_HOLD(nested_mutex(jobs->run->nested));
	struct parent *parent = find_parent(jobs, seq);
	bool is_kept = parent && parent->n_unfinished > 0;
	if (is_kept) {
		buf_add(&parent->row, row, len);
	}
	return is_kept;
}

void added_jobs_finish(struct added_jobs *jobs, uint64_t seq, struct buf *ret_rows) {
	if (!jobs || !atomic_load_relaxed(&jobs->any)) {
		return;
	}
	FP_HOLD(nested_mutex(jobs->run->nested));
	struct added_entry *entry = added_jobs_find(jobs, seq);
	struct parent *parent = entry && !entry->finished ? find_parent(jobs, entry->by) : NULL;
	if (parent) {
		entry->finished = true;
		if (--parent->n_unfinished == 0) {
			buf_add(ret_rows, parent->row.data, parent->row.len);
			buf_reset(&parent->row);
		}
	}
}
