// When jobs may start, and which running ones must make room: the machine's load and memory, --delay auto, --timeout N%,
// and a number of slots that changes.

#include "core/admission.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/median.h"
#include "base/text.h"
#include "core/run.h"
#include "core/publish.h"
#include "process/memory.h"
#include "process/sysload.h"
#include "slots/slots.h"

#include <errno.h>
#include <stdio.h>

enum {
	CHECK_AGAIN_MS = 1000, // GNU parallel's longest pause between two checks
	MEDIAN_OF = 999,      // run times whose median counts: as many as GNU parallel keeps at a time
};

struct admission {
	struct run *run;
	bool gates;              // a start may have to wait, or to be confirmed
	mutex lock;              // of all down to timeout
	struct list waiting;     // the first one checks; the others sleep
	bool starting;           // one may start and does not run yet: it is in no reading
	bool stopped;
	unsigned running;        // those that were let in, or are about to start
	uint64_t nended;
	uint64_t next_start;     // not before this: --delay auto
	double delay;            // of --delay auto, nanoseconds
	struct median *median;   // of the run times of those that succeeded
	atomic_uint_least64_t timeout; // by it, ns; 0: not known yet

	// of the first in the line; constant but for what changing files say
	double max_load;         // 0: any
	struct slots_watch load_file;
	bool swapping;
	struct swapped swapped;
	uint64_t swap_read_at;    // when it was last read; 0: never
	bool has_waited, has_missed; // there was a message for it
	enum event_why why;      // what it waits for; under the lock,
	struct buf what;         // … in words: empty, it is about to start
	uint64_t waits_since;    // as published: when the wait began, 0: none has
	enum event_why published;

	mutex slots_lock;        // of jobs_file
	struct slots_watch jobs_file;
	const char *jobs;

	// of the event loop
	uint64_t memory_due;     // when to read the memory next
	uint64_t suspended_since; // as published: when children were stopped; 0: none is
	unsigned suspended;      // children that are stopped
	atomic_bool check_soon;   // a child has ended
};

struct admission_waiter {
	struct list link;
	bool elsewhere;          // load and memory of this machine do not matter
	cond turn;
};

int admission_open(struct run *run, const char *jobs) {
	const struct options *options = run->options;
	struct slots_watch jobs_file;
	slots_watch_open(&jobs_file, jobs);
	if (options->tty) {
		jobs_file.path = NULL; // one at a time, whatever it says
	}
	bool gates = options->load || options->memfree > 0 || options->memsuspend > 0 || options->noswap
		|| options->delay_auto || options->interactive;
	if (options->dry_run || (!gates && !jobs_file.path && options->timeout_percent == 0)) {
		return 0;
	}
	struct admission *admission = run->admission = NEW(struct admission);
	admission->run = run;
	mutex_init(&admission->lock, LOCK_ADMISSION);
	mutex_init(&admission->slots_lock, LOCK_JOBS_FILE);
	list_init(&admission->waiting);
	admission->gates = gates;
	admission->jobs_file = jobs_file;
	admission->jobs = jobs;
	admission->delay = options->delay_auto ? (double)options->delay : 0;
	if (!options->load) {
		return 0;
	}
	char *error;
	slots_watch_open(&admission->load_file, options->load);
	if (load_parse(options->load, &admission->max_load, &error) != 0) {
		return diag_error_free(error);
	}
	return 0;
}

void admission_close(struct run *run) {
	struct admission *admission = run->admission;
	if (admission) {
		verify(list_is_empty(&admission->waiting));
		mutex_fini(&admission->lock);
		mutex_fini(&admission->slots_lock);
		buf_fini(&admission->what);
		free(admission->median);
		free(admission);
		run->admission = NULL;
	}
}

// ---- what is checked, without the lock ----

// Each check appends what keeps jobs from starting, or nothing. It returns NULL, or the option whose figure /proc does not
// tell, with errno (0: it is not there).

static const char *check_load(struct admission *admission, struct buf *why) {
	const char *option = admission->run->options->load;
	uint64_t load;
	char *error;
	if (!option) {
		return NULL;
	}
	if (slots_watch_changed(&admission->load_file) && load_parse(option, &admission->max_load, &error) != 0) {
		diag_warn("%s; it stays at %g", error, admission->max_load);
		free(error);
	}
	if (!sysload_load(&load)) {
		return "load";
	}
	sysload_add_load(why, load, admission->max_load);
	return NULL;
}

static const char *check_memory(struct admission *admission, struct buf *why) {
	const struct options *options = admission->run->options;
	uint64_t need = (uint64_t)options->memfree + options->memsuspend; // both, as GNU parallel has it
	const char *option = options->memfree > 0 ? "memfree" : "memsuspend";
	uint64_t bytes;
	if (need > 0 && !sysload_free(&bytes)) {
		return option;
	}
	if (need > 0) {
		sysload_add_free(why, bytes, option, need);
	}
	return NULL;
}

// What was swapped is told only by two readings with some time between them.
static const char *check_swap(struct admission *admission, struct buf *why) {
	struct swapped swapped;
	uint64_t now = now_ns(), before = admission->swap_read_at;
	if (!admission->run->options->noswap) {
		return NULL;
	}
	if (before == 0 || now - before >= NS_PER_S) {
		if (!sysload_swapped(&swapped)) {
			return "noswap";
		}
		admission->swapping = before > 0 && sysload_is_swapping(&admission->swapped, &swapped);
		admission->swapped = swapped;
		admission->swap_read_at = now;
	}
	if (admission->swapping) {
		buf_adds(why, "the machine is swapping (--noswap)");
	}
	return NULL;
}

static const struct admission_check {
	const char *(*find_missing)(struct admission *admission, struct buf *why);
	enum event_why why;
} checks[] = {{check_load, WHY_LOAD}, {check_memory, WHY_MEMORY}, {check_swap, WHY_LOAD}};

// Appends why no job may start, as the first check that objects says it. Returns what events call this reason.
static enum event_why run_checks(struct admission *admission, struct buf *why) {
	enum event_why kind = WHY_LOAD;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && why->len == 0; ++i) {
		const char *missing = checks[i].find_missing(admission, why);
		int error = errno;
		kind = checks[i].why;
		if (missing && !admission->has_missed) { // said once: jobs do not wait for it
			diag_warn("--%s: /proc does not tell%s%s; jobs do not wait for it", missing, error ? ": " : "",
			          error ? strerror(error) : "");
			admission->has_missed = true;
		}
	}
	return kind;
}

// ---- the line ----

// With the lock.
static void wake_first(struct admission *admission) {
	if (!list_is_empty(&admission->waiting)) {
		cond_signal(&list_entry(admission->waiting.next, struct admission_waiter, link)->turn);
	}
}

// Publishes that all jobs wait for `what`, or with NULL no longer do. *since: when that began, 0: it has not.
static void publish_state(struct run *run, uint64_t *since, enum event_why why, const char *what) {
	if (what && *since == 0) {
		*since = now_ns();
		publish_wait(run, NULL, 0, why, what);
	} else if (!what && *since > 0) {
		publish_wait_end(run, NULL, 0, why, *since);
		*since = 0;
	}
}

// Says once what no job starts for, with the lock, which is given back meanwhile.
static void report_wait(struct admission *admission) {
	FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
	buf_adds(&what, buf_str(&admission->what));
	admission->has_waited = true;
	mutex_unlock(&admission->lock);
	diag_note("waiting: %s", buf_str(&what));
	mutex_lock(&admission->lock);
}

// Looks whether the first in the line may start, with the lock, which is given back meanwhile. Returns 0 if so, else when
// to check again; *ret_ended counts the ends before it.
static uint64_t check(struct admission *admission, bool elsewhere, uint64_t *ret_ended) {
	uint64_t now = now_ns(), due = admission->next_start;
	bool alone = admission->running == 0;
	*ret_ended = admission->nended;
	if (now < due) {
		admission->why = WHY_DELAY;
		buf_reset(&admission->what);
		buf_adds(&admission->what, ADMISSION_DELAY);
		return due;
	}
	mutex_unlock(&admission->lock);
	struct buf why = BUF_INIT;
	enum event_why kind = elsewhere ? WHY_LOAD : run_checks(admission, &why);
	bool may = why.len == 0;
	if (kind != admission->published) {
		publish_state(admission->run, &admission->waits_since, admission->published, NULL);
		admission->published = kind;
	}
	publish_state(admission->run, &admission->waits_since, kind, why.data);
	mutex_lock(&admission->lock);
	admission->why = may ? admission->why : kind;
	buf_fini(&admission->what);
	admission->what = why;
	if (!may && alone && !admission->has_waited) {
		report_wait(admission);
	}
	return may ? 0 : now_ns() + (uint64_t)CHECK_AGAIN_MS * NS_PER_MS;
}

// With the lock. Returns false if the run was cut short.
static bool wait_turn(struct admission *admission, struct admission_waiter *waiter) {
	while (!admission->stopped) {
		if (admission->waiting.next != &waiter->link || admission->starting) {
			cond_wait(&waiter->turn, &admission->lock);
			continue;
		}
		uint64_t ended, again = check(admission, waiter->elsewhere, &ended);
		if (again == 0) {
			return !admission->stopped;
		}
		if (ended == admission->nended && !admission->stopped) {
			cond_wait_until(&waiter->turn, &admission->lock, again);
		}
	}
	return false;
}

bool admission_enter(struct admission *admission, struct worker *worker, bool must, bool elsewhere, struct admission_wait *ret_wait) {
	struct admission_waiter waiter = {.elsewhere = elsewhere};
	struct run *run = admission->run;
	uint64_t since = now_ns();
	if (!admission->gates) {
		return true;
	}
	cond_init(&waiter.turn);
	mutex_lock(&admission->lock);
	list_push_back(&admission->waiting, &waiter.link);
	mutex_unlock(&admission->lock);
	worker_pass(worker); // its place in the line is taken
	mutex_lock(&admission->lock);
	bool may = wait_turn(admission, &waiter) || must;
	*ret_wait = (struct admission_wait){.ns = now_ns() - since, .why = admission->why};
	list_remove(&waiter.link);
	if (may) {
		++admission->running;
		admission->starting = !elsewhere || run->options->interactive; // what starts elsewhere is in no reading here
		admission->next_start = now_ns() + (uint64_t)admission->delay;
	} else {
		wake_first(admission);
	}
	mutex_unlock(&admission->lock);
	cond_fini(&waiter.turn);
	return may;
}

void admission_started(struct admission *admission) {
	const struct options *options = admission->run->options;
	mutex_lock(&admission->lock);
	admission->starting = false;
	bool first = admission->running == 1;
	wake_first(admission);
	mutex_unlock(&admission->lock);
	// the event loop has somebody to look after
	if (options->timeout_percent > 0 || (first && (options->memfree > 0 || options->memsuspend > 0))) {
		run_wake(admission->run);
	}
}

void admission_show(struct admission *admission) {
	FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
	size_t n = 0;
	mutex_lock(&admission->lock);
	list_for_each(&admission->waiting, at) {
		++n;
	}
	buf_adds(&what, buf_str(&admission->what));
	mutex_unlock(&admission->lock);
	if (n > 0 && what.len > 0) {
		diag_note("%zu job%s: %s", n, n == 1 ? " waits" : "s wait", what.data);
	}
}

void admission_stop(struct admission *admission) {
	mutex_lock(&admission->lock);
	admission->stopped = true;
	list_for_each(&admission->waiting, at) {
		cond_signal(&list_entry(at, struct admission_waiter, link)->turn);
	}
	mutex_unlock(&admission->lock);
}

// ---- the end of a job ----

static void reread_jobs(struct admission *admission) {
	struct run *run = admission->run;
	mutex_lock(&admission->slots_lock);
	bool changed = slots_watch_changed(&admission->jobs_file);
	mutex_unlock(&admission->slots_lock);
	unsigned slots;
	char *error;
	if (!changed || run->leases || run->jobserver) { // else the slots are not only this run's
		return;
	}
	if (slots_parse(admission->jobs, limits_job_fds(run->options, run->nofile), &slots, &error) != 0) {
		diag_warn("%s; the number of jobs stays as it is", error);
		free(error);
		return;
	}
	unsigned limit = limits_slots_by_fds(run->options, run->nofile);
	slots = slots < limit ? slots : limit;
	pool_set_slots(run->pool, slots);
	publish_slots(run, slots, "-j");
}

// With the lock. Returns whether the timeout is another now.
static bool count_time(struct admission *admission, const struct result *result) {
	double percent = admission->run->options->timeout_percent;
	if (percent == 0 || result->outcome != OUTCOME_OK) {
		return false;
	}
	if (!admission->median) {
		admission->median = median_new(MEDIAN_OF);
	}
	median_add(admission->median, result->end - result->start);
	double timeout = (double)median_get(admission->median) * percent / 100;
	uint64_t ns = timeout >= 1 ? (uint64_t)timeout : 1;
	return atomic_exchange(&admission->timeout, ns) != ns;
}

void admission_leave(struct admission *admission, const struct result *result) {
	if (admission->jobs_file.path) {
		reread_jobs(admission);
	}
	mutex_lock(&admission->lock);
	admission->running -= admission->gates;
	++admission->nended;
	if (result->start == 0 || result->outcome == OUTCOME_SPAWN_ERROR || result->lost) {
		admission->starting = false; // it never was: nobody else is let in meanwhile
	} else {
		// GNU parallel's --delay auto: nearly a third more where it was too fast, a tenth less where it may have been too slow
		admission->delay *= result->outcome == OUTCOME_OK ? 0.9 : 1.3;
	}
	bool changed = count_time(admission, result);
	wake_first(admission);
	mutex_unlock(&admission->lock);
	if (changed || admission->run->options->memsuspend > 0) {
		atomic_store_release(&admission->check_soon, true); // pairs with the exchange in watch_memory()
		run_wake(admission->run);
	}
}

// ---- those that run ----

static void make_room(struct admission *admission, uint64_t bytes) {
	struct run *run = admission->run;
	const struct options *options = run->options;
	if (options->memfree > 0 && bytes < options->memfree / 2) {
		char *label = children_evict_youngest(run->children);
		if (label) {
			diag_warn("%s of memory are available, less than half of what --memfree asks for: ending the youngest job, %s",
			          memory_show(bytes), text_shows(label));
		}
		free(label);
	}
	if (options->memsuspend == 0) {
		return;
	}
	unsigned n = children_count(run->children);
	unsigned most = sysload_may_run(bytes, options->memsuspend, n);
	unsigned before = admission->suspended;
	if (bytes / 2 >= options->memsuspend && before > 0) {
		most = n > before ? n - before + 1 : 1; // one at a time: the next reading tells what it takes
	}
	unsigned now = admission->suspended = children_suspend_young(run->children, most);
	char what[100];
	snprintf(what, sizeof(what), "%u running job%s stopped, %s of memory available", now, now == 1 ? "" : "s", memory_show(bytes));
	publish_state(run, &admission->suspended_since, WHY_SUSPEND, now > 0 ? what : NULL);
}

// Looks at the memory when that is due. Returns when it is next.
static uint64_t watch_memory(struct admission *admission, uint64_t now) {
	uint64_t bytes;
	if (children_count(admission->run->children) == 0) {
		return TIME_NEVER; // the first to start wakes the loop
	}
	bool soon = atomic_exchange(&admission->check_soon, false);
	if (soon || now >= admission->memory_due) {
		admission->memory_due = now + (uint64_t)CHECK_AGAIN_MS * NS_PER_MS;
		if (sysload_free(&bytes)) { // else whoever started has heard of it
			make_room(admission, bytes);
		}
	}
	return admission->memory_due;
}

uint64_t admission_tick(struct admission *admission, uint64_t now) {
	const struct options *options = admission->run->options;
	uint64_t next = TIME_NEVER;
	uint64_t timeout = atomic_load_relaxed(&admission->timeout);
	if (timeout > 0) {
		next = executor_expire(&admission->run->executor, timeout, now);
	}
	if (options->memfree > 0 || options->memsuspend > 0) {
		next = earlier(next, watch_memory(admission, now));
	}
	return next;
}
