// The table of the jobs that were added by --add: spec, state and exit status of each.

#include "record/added_jobs.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "core/run.h"
#include "core/waits.h"
#include "record/job_records.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t id;              // the first member, for ids_find()
	uint64_t by;              // who has added it, or 0
	struct added_job *job;    // NULL: it has ended
	int code;                 // then: what --wait exits with for it
	bool reported;
	bool settled;             // it has no effect on the row of who has added it
};

// A job that has added others.
struct parent {
	uint64_t id;              // the first member, for ids_find()
	size_t n_unsettled;       // of these
	struct buf row;           // of the joblog, kept for them
};

struct added_jobs {
	atomic_bool any;          // without the lock, which rows are spared by it
	mutex lock;               // guards what follows
	struct entry *entries;    // by id
	size_t n, cap;
	struct parent *parents;   // by id
	size_t n_parents, parents_cap;
};

struct added_jobs *added_jobs_open(void) {
	struct added_jobs *added_jobs = NEW(struct added_jobs);
	mutex_init(&added_jobs->lock, LOCK_ADDED_JOBS);
	return added_jobs;
}

void added_jobs_close(struct added_jobs *added_jobs) {
	if (added_jobs) {
		mutex_fini(&added_jobs->lock);
		for (size_t i = 0; i < added_jobs->n_parents; ++i) {
			buf_fini(&added_jobs->parents[i].row);
		}
		free(added_jobs->parents);
		free(added_jobs->entries);
		free(added_jobs);
	}
}

// ---- one of them ----

void added_job_write(struct added_job *added, const char *words, size_t size, struct buf *ret_bytes) {
	buf_add(ret_bytes, words, size);
	buf_add(ret_bytes, &added, sizeof(added));
}

struct added_job *added_job_of(const struct record *record, struct record *ret_words) {
	struct added_job *added;
	*ret_words = *record;
	ret_words->size -= sizeof(added);
	memcpy(&added, record->args + ret_words->size, sizeof(added)); // not aligned
	return added;
}

void added_job_free(struct added_job *added) {
	if (added) {
		job_spec_fini(&added->spec);
		free(added);
	}
}

// ---- all of them ----

// With the lock, as the next one.
static struct entry *find(const struct added_jobs *added_jobs, uint64_t id) {
	return ids_find(added_jobs->entries, added_jobs->n, sizeof(*added_jobs->entries), id);
}

static struct parent *find_parent(const struct added_jobs *added_jobs, uint64_t id) {
	return ids_find(added_jobs->parents, added_jobs->n_parents, sizeof(*added_jobs->parents), id);
}

void added_jobs_register(struct added_jobs *added_jobs, struct added_job *added, uint64_t by) {
	atomic_store_relaxed(&added_jobs->any, true);
	mutex_lock(&added_jobs->lock);
	struct entry *entry = ids_add(&added_jobs->entries, &added_jobs->cap, &added_jobs->n, sizeof(*entry), added->id);
	entry->by = by;
	entry->job = added;
	struct parent *parent = ids_add(&added_jobs->parents, &added_jobs->parents_cap, &added_jobs->n_parents, sizeof(*parent), by);
	++parent->n_unsettled; // of who is outside (0) there is no row
	mutex_unlock(&added_jobs->lock);
}

// As --wait exits for one job; with what was cut off or left out it exits as for a failure.
static int code_of(const struct result *result) {
	bool ran = result->outcome == OUTCOME_OK || outcome_is_failure(result->outcome);
	return ran ? result_code(result) : 1;
}

static void end_entry(struct run *run, uint64_t id, int code) {
	struct added_jobs *added_jobs = run->added_jobs;
	mutex_lock(&added_jobs->lock);
	struct entry *entry = find(added_jobs, id);
	bool ends = entry && entry->job, is_settled = ends && atomic_load_relaxed(&entry->job->cancelled);
	if (ends) {
		entry->job = NULL;
		entry->code = code;
	}
	mutex_unlock(&added_jobs->lock);
	if (is_settled) {
		job_records_settle(run, id);
	}
	if (ends) {
		waits_job_ended(run->waits, id);
	}
}

void added_job_ended(struct run *run, struct added_job *added, const struct result *result) {
	end_entry(run, added->id, code_of(result));
}

enum added_state added_jobs_state(struct added_jobs *added_jobs, uint64_t id, int *ret_code) {
	mutex_lock(&added_jobs->lock);
	const struct entry *entry = find(added_jobs, id);
	enum added_state state = !entry ? ADDED_UNKNOWN : entry->job ? ADDED_THERE : ADDED_ENDED;
	*ret_code = entry ? entry->code : 0;
	mutex_unlock(&added_jobs->lock);
	return state;
}

void added_jobs_by(struct added_jobs *added_jobs, uint64_t by, bool unreported, struct buf *ids) {
	mutex_lock(&added_jobs->lock);
	for (size_t i = 0; i < added_jobs->n; ++i) {
		const struct entry *entry = &added_jobs->entries[i];
		if (entry->by == by && !(unreported && entry->reported)) {
			buf_add(ids, &entry->id, sizeof(entry->id));
		}
	}
	mutex_unlock(&added_jobs->lock);
}

void added_jobs_mark_reported(struct added_jobs *added_jobs, uint64_t id) {
	mutex_lock(&added_jobs->lock);
	struct entry *entry = find(added_jobs, id);
	if (entry) {
		entry->reported = true;
	}
	mutex_unlock(&added_jobs->lock);
}

void added_jobs_cancel(struct run *run, uint64_t id, bool runs) {
	struct added_jobs *added_jobs = run->added_jobs;
	mutex_lock(&added_jobs->lock);
	struct entry *entry = find(added_jobs, id);
	if (entry && entry->job) {
		atomic_store_relaxed(&entry->job->cancelled, true);
	}
	mutex_unlock(&added_jobs->lock);
	if (!runs) {
		end_entry(run, id, 1);
	}
}

// ---- rows of the joblog ----

bool added_jobs_keep_row(struct added_jobs *added_jobs, uint64_t seq, const char *row, size_t len) {
	if (!atomic_load_relaxed(&added_jobs->any)) {
		return false;
	}
	mutex_lock(&added_jobs->lock);
	struct parent *parent = find_parent(added_jobs, seq);
	bool is_kept = parent && parent->n_unsettled > 0;
	if (is_kept) {
		buf_add(&parent->row, row, len);
	}
	mutex_unlock(&added_jobs->lock);
	return is_kept;
}

void added_jobs_settle(struct added_jobs *added_jobs, uint64_t seq, struct buf *ret_rows) {
	if (!added_jobs || !atomic_load_relaxed(&added_jobs->any)) {
		return;
	}
	mutex_lock(&added_jobs->lock);
	struct entry *entry = find(added_jobs, seq);
	struct parent *parent = entry && !entry->settled ? find_parent(added_jobs, entry->by) : NULL;
	if (parent) {
		entry->settled = true;
		if (--parent->n_unsettled == 0) {
			buf_add(ret_rows, parent->row.data, parent->row.len);
			buf_reset(&parent->row);
		}
	}
	mutex_unlock(&added_jobs->lock);
}
