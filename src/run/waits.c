// Jobs that wait for others (--wait): who waits for whom, and when each goes on.

#include "run/waits.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"
#include "run/run.h"
#include "run/worker_state.h"

#include <inttypes.h>
#include <string.h>

// A job that can be waited for.
struct known_job {
	uint64_t id;
	uint64_t number;
	struct queue *queue;   // until it has ended: it is there as long
	bool ended;
};

enum wait_state {
	WAITS,                 // for jobs
	RETURNS,               // for its slots
	IS_OVER,               // `done` is due
};

struct wait {
	struct list link;      // of waits->list
	struct waits *waits;
	struct waits_attempt *attempt; // NULL: of an outsider, or its attempt has ended
	enum wait_state state;
	bool any;
	uint64_t *ids;         // that have not ended yet
	size_t n;
	uint64_t last;         // that ended
	waits_done_fn *done;
	void *arg;
};

struct waits {
	struct run *run;
	mutex lock;            // guards what follows
	struct known_job *jobs; // by id
	size_t njobs, jobs_cap;
	struct list attempts;
	struct list list;      // of waits
};

struct waits *waits_open(struct run *run) {
	struct waits *waits = NEW(struct waits);
	waits->run = run;
	mutex_init(&waits->lock, LOCK_WAITS);
	list_init(&waits->attempts);
	list_init(&waits->list);
	return waits;
}

static void wait_free(struct wait *wait) {
	list_remove(&wait->link);
	free(wait->ids);
	free(wait);
}

void waits_close(struct waits *waits) {
	if (waits) {
		list_for_each(&waits->list, at) {
			wait_free(list_entry(at, struct wait, link));
		}
		mutex_fini(&waits->lock);
		free(waits->jobs);
		free(waits);
	}
}

// ---- known jobs; with the lock ----

// Where the job stands, or where it would.
static size_t find_place(const struct waits *waits, uint64_t id) {
	size_t low = 0, high = waits->njobs;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (waits->jobs[middle].id < id) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static struct known_job *find_job(const struct waits *waits, uint64_t id) {
	size_t at = find_place(waits, id);
	return at < waits->njobs && waits->jobs[at].id == id ? &waits->jobs[at] : NULL;
}

void waits_add_job(struct waits *waits, uint64_t id, struct queue *queue, uint64_t number) {
	if (!waits) {
		return;
	}
	mutex_lock(&waits->lock);
	size_t at = find_place(waits, id);
	grow_array(&waits->jobs, &waits->jobs_cap, waits->njobs + 1, sizeof(*waits->jobs));
	memmove(waits->jobs + at + 1, waits->jobs + at, (waits->njobs - at) * sizeof(*waits->jobs));
	waits->jobs[at] = (struct known_job){.id = id, .queue = queue, .number = number};
	++waits->njobs;
	mutex_unlock(&waits->lock);
}

// ---- attempts ----

void waits_attempt_begin(struct waits *waits, struct waits_attempt *attempt, const struct attempt_origin *origin, const struct job *job) {
	*attempt = (struct waits_attempt){.origin = origin, .job = job};
	list_init(&attempt->link);
	if (waits) {
		mutex_lock(&waits->lock);
		list_push_back(&waits->attempts, &attempt->link);
		mutex_unlock(&waits->lock);
	}
}

void waits_attempt_started(struct waits *waits, struct waits_attempt *attempt, pid_t pid) {
	if (waits) {
		mutex_lock(&waits->lock);
		attempt->pid = pid;
		mutex_unlock(&waits->lock);
	}
}

void waits_attempt_end(struct waits *waits, struct waits_attempt *attempt) {
	if (!waits) {
		return;
	}
	mutex_lock(&waits->lock);
	list_remove(&attempt->link);
	list_for_each_entry(&waits->list, struct wait, wait, link) {
		if (wait->attempt == attempt) {
			wait->attempt = NULL;
		}
	}
	mutex_unlock(&waits->lock);
}

static struct waits_attempt *find_attempt(const struct waits *waits, uint64_t number) {
	list_for_each_entry(&waits->attempts, struct waits_attempt, attempt, link) {
		if (attempt->origin->number == number) {
			return attempt;
		}
	}
	return NULL;
}

// ---- waiting ----

// The job has ended: with the lock.
static void wait_forget(struct wait *wait, uint64_t id) {
	for (size_t i = 0; i < wait->n; ++i) {
		if (wait->ids[i] == id) {
			wait->ids[i--] = wait->ids[--wait->n];
			wait->last = id;
		}
	}
	if (wait->state == WAITS && (wait->n == 0 || (wait->any && wait->last))) {
		wait->state = IS_OVER;
		run_wake(wait->waits->run);
	}
}

void waits_job_ended(struct waits *waits, uint64_t id) {
	if (!waits) {
		return;
	}
	mutex_lock(&waits->lock);
	struct known_job *job = find_job(waits, id);
	if (job && !job->ended) {
		job->ended = true;
		list_for_each_entry(&waits->list, struct wait, wait, link) {
			wait_forget(wait, id);
		}
	}
	mutex_unlock(&waits->lock);
}

struct wait *waits_begin(struct waits *waits, uint64_t waiter, const uint64_t *ids, size_t n, bool any, waits_done_fn *done,
                         void *arg, struct buf *why) {
	mutex_lock(&waits->lock);
	struct waits_attempt *attempt = waiter > 0 ? find_attempt(waits, waiter) : NULL;
	struct wait *wait = NULL;
	for (size_t i = 0; i < n && why->len == 0; ++i) {
		if (!find_job(waits, ids[i])) {
			buf_printf(why, "there is no job %" PRIu64, ids[i]);
		}
	}
	if (waiter > 0 && !attempt && why->len == 0) {
		buf_adds(why, "the job that waits has ended");
	}
	if (why->len == 0) {
		wait = NEW(struct wait);
		*wait = (struct wait){.waits = waits, .attempt = attempt, .any = any, .n = n, .done = done, .arg = arg};
		wait->ids = xmemdup(ids, n * sizeof(*ids));
		list_push_back(&waits->list, &wait->link);
		for (size_t i = 0; i < n; ++i) {
			if (find_job(waits, ids[i])->ended) {
				wait_forget(wait, ids[i]);
			}
		}
	}
	mutex_unlock(&waits->lock);
	return wait;
}

void waits_cancel(struct wait *wait) {
	struct waits *waits = wait->waits;
	mutex_lock(&waits->lock);
	wait_free(wait);
	mutex_unlock(&waits->lock);
}

// One that is over, or NULL.
static struct wait *take_over(struct waits *waits) {
	struct wait *found = NULL;
	mutex_lock(&waits->lock);
	for (struct list *at = waits->list.next; at != &waits->list && !found; at = at->next) {
		struct wait *wait = list_entry(at, struct wait, link);
		found = wait->state == IS_OVER ? wait : NULL;
	}
	if (found) {
		list_remove(&found->link);
	}
	mutex_unlock(&waits->lock);
	return found;
}

void waits_tick(struct waits *waits) {
	struct wait *wait;
	while (waits && (wait = take_over(waits))) {
		wait->done(wait->arg, wait->last);
		wait_free(wait);
	}
}

// ---- to be shown ----

static void add_name(struct buf *buf, const struct batch *batch, uint64_t number) {
	buf_add_escaped(buf, batch->name, strlen(batch->name), 80);
	buf_printf(buf, "#%" PRIu64, number);
}

void waits_each(struct waits *waits, void (*fn)(void *arg, const struct wait_view *view), void *arg) {
	mutex_lock(&waits->lock);
	list_for_each_entry(&waits->list, struct wait, wait, link) {
		struct buf name = BUF_INIT;
		if (wait->attempt) {
			add_name(&name, wait->attempt->job->batch, wait->attempt->job->item.number);
		}
		fn(arg, &(struct wait_view){.waiter = buf_str(&name), .ids = wait->ids, .n = wait->n, .returns = wait->state == RETURNS});
		buf_fini(&name);
	}
	mutex_unlock(&waits->lock);
}
