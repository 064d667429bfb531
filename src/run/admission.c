// When jobs may start, and which running ones must make room: the machine's load and memory, --delay auto, --timeout N%,
// and a number of slots that changes.

#include "run/admission.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/list.h"
#include "base/median.h"
#include "base/text.h"
#include "process/memory.h"
#include "process/sysload.h"
#include "run/limits.h"
#include "run/publish.h"
#include "run/start_order.h"
#include "slots/slots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	LOOK_AGAIN_MS = 1000, // GNU parallel's longest pause between two looks
	MEDIAN_OF = 999,      // run times whose median counts: as many as GNU parallel keeps at a time
};

struct admission {
	bool gates;              // a start may have to wait, or to be confirmed
	mutex lock;              // of all down to timeout
	struct list waiting;     // the first one looks; the others sleep
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
	bool swap_known, swapping;
	struct swapped swapped;
	uint64_t swap_looked;    // when it was last read
	bool has_waited, has_missed; // there was a message for it
	enum event_why why;      // what it waits for; under the lock
	uint64_t told_since;     // when that began that was told; 0: nothing is
	enum event_why told_why;

	mutex slots_lock;        // of jobs_file
	struct slots_watch jobs_file;
	const char *jobs;

	// of the event loop
	uint64_t look;           // when to look at the memory next
	uint64_t held_since;     // when children were stopped, and that was told; or 0
	unsigned held;           // children that were stopped
	atomic_bool look_soon;   // a child has ended
};

struct admission_waiter {
	struct list link;
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
		diag_error("%s", error);
		free(error);
		return -1;
	}
	return 0;
}

void admission_close(struct run *run) {
	struct admission *admission = run->admission;
	if (admission) {
		verify(list_is_empty(&admission->waiting));
		mutex_fini(&admission->lock);
		mutex_fini(&admission->slots_lock);
		free(admission->median);
		free(admission);
		run->admission = NULL;
	}
}

// ---- what is looked at, without the lock ----

// Says once that a figure cannot be had, so that jobs do not wait for it.
static void warn_missing(struct admission *admission, const char *option) {
	int error = errno;
	if (!admission->has_missed) {
		diag_warn("--%s: /proc does not tell%s%s; jobs do not wait for it", option, error ? ": " : "",
		          error ? strerror(error) : "");
	}
	admission->has_missed = true;
}

static void reread_load(struct run *run) {
	struct admission *admission = run->admission;
	char *error;
	if (slots_watch_changed(&admission->load_file)
	    && load_parse(run->options->load, &admission->max_load, &error) != 0) {
		diag_warn("%s; it stays at %g", error, admission->max_load);
		free(error);
	}
}

// Appends why not, or nothing.
static void look_at_load(struct run *run, struct buf *why) {
	struct admission *admission = run->admission;
	uint64_t load;
	if (!run->options->load) {
		return;
	}
	reread_load(run);
	if (!sysload_load(&load)) {
		warn_missing(admission, "load");
	} else if ((double)load >= admission->max_load) {
		buf_printf(why, "the load is %" PRIu64 ", and --load lets jobs start below %g", load, admission->max_load);
	}
}

static void look_at_memory(struct run *run, struct buf *why) {
	const struct options *options = run->options;
	uint64_t need = (uint64_t)options->memfree + options->memsuspend; // both, as GNU parallel has it
	uint64_t bytes;
	if (need == 0 || why->len > 0) {
		return;
	}
	const char *option = options->memfree > 0 ? "memfree" : "memsuspend";
	if (!sysload_free(&bytes)) {
		warn_missing(run->admission, option);
	} else if (bytes < need) {
		buf_printf(why, "%s of memory are available, and --%s asks for %s", memory_show(bytes), option, memory_show(need));
	}
}

// What was swapped is told only by two readings with some time between them.
static void look_at_swap(struct run *run, struct buf *why) {
	struct admission *admission = run->admission;
	struct swapped swapped;
	if (!run->options->noswap || why->len > 0) {
		return;
	}
	uint64_t now = now_ns();
	if (!admission->swap_known || now - admission->swap_looked >= NS_PER_S) {
		if (!sysload_swapped(&swapped)) {
			warn_missing(admission, "noswap");
			return;
		}
		admission->swapping = admission->swap_known && sysload_is_swapping(&admission->swapped, &swapped);
		admission->swapped = swapped;
		admission->swap_looked = now;
		admission->swap_known = true;
	}
	if (admission->swapping) {
		buf_adds(why, "the machine is swapping (--noswap)");
	}
}

// ---- the line ----

// With the lock.
static void wake_first(struct admission *admission) {
	if (!list_is_empty(&admission->waiting)) {
		cond_signal(&list_entry(admission->waiting.next, struct admission_waiter, link)->turn);
	}
}

// `why` NULL: nothing keeps jobs from starting.
static void tell_look(struct run *run, enum event_why kind, const char *why) {
	struct admission *admission = run->admission;
	if (admission->told_since > 0 && (!why || kind != admission->told_why)) {
		publish_wait_end(run, NULL, 0, admission->told_why, admission->told_since);
		admission->told_since = 0;
	}
	if (why && admission->told_since == 0) {
		admission->told_since = now_ns();
		admission->told_why = kind;
		publish_wait(run, NULL, 0, kind, why);
	}
}

// Looks whether the first in the line may start, with the lock, which is given back meanwhile. Returns 0 if so, else when
// to look again; *ret_ended counts the ends before it.
static uint64_t look(struct run *run, uint64_t *ret_ended) {
	struct admission *admission = run->admission;
	uint64_t now = now_ns(), due = admission->next_start;
	bool alone = admission->running == 0;
	*ret_ended = admission->nended;
	if (now < due) {
		admission->why = WHY_DELAY;
		return due;
	}
	mutex_unlock(&admission->lock);
	struct buf why = BUF_INIT;
	look_at_load(run, &why);
	enum event_why kind = why.len > 0 ? WHY_LOAD : WHY_MEMORY;
	look_at_memory(run, &why);
	kind = why.len > 0 ? kind : WHY_LOAD;
	look_at_swap(run, &why);
	bool may = why.len == 0;
	if (run->publisher) {
		tell_look(run, kind, why.data);
	}
	if (!may && alone && !admission->has_waited) {
		diag_note("waiting: %s", why.data);
		admission->has_waited = true;
	}
	buf_fini(&why);
	mutex_lock(&admission->lock);
	admission->why = may ? admission->why : kind;
	return may ? 0 : now_ns() + (uint64_t)LOOK_AGAIN_MS * NS_PER_MS;
}

// With the lock. Returns false if the run was cut short.
static bool wait_turn(struct run *run, struct admission_waiter *waiter) {
	struct admission *admission = run->admission;
	while (!admission->stopped) {
		if (admission->waiting.next != &waiter->link || admission->starting) {
			cond_wait(&waiter->turn, &admission->lock);
			continue;
		}
		uint64_t ended, again = look(run, &ended);
		if (again == 0) {
			return !admission->stopped;
		}
		if (ended == admission->nended && !admission->stopped) {
			cond_wait_until(&waiter->turn, &admission->lock, again);
		}
	}
	return false;
}

bool admission_enter(struct run *run, unsigned slot, bool must, struct admission_wait *ret_wait) {
	struct admission *admission = run->admission;
	struct admission_waiter waiter;
	uint64_t since = run->publisher ? now_ns() : 0;
	if (!admission->gates) {
		return true;
	}
	cond_init(&waiter.turn);
	mutex_lock(&admission->lock);
	list_push_back(&admission->waiting, &waiter.link);
	start_order_pass(run, slot);
	bool may = wait_turn(run, &waiter) || must;
	*ret_wait = (struct admission_wait){.ns = run->publisher ? now_ns() - since : 0, .why = admission->why};
	list_remove(&waiter.link);
	if (may) {
		++admission->running;
		admission->starting = true;
		admission->next_start = now_ns() + (uint64_t)admission->delay;
	} else {
		wake_first(admission);
	}
	mutex_unlock(&admission->lock);
	cond_fini(&waiter.turn);
	return may;
}

void admission_started(struct run *run) {
	struct admission *admission = run->admission;
	const struct options *options = run->options;
	mutex_lock(&admission->lock);
	admission->starting = false;
	bool first = admission->running == 1;
	wake_first(admission);
	mutex_unlock(&admission->lock);
	// the event loop has somebody to look after
	if (options->timeout_percent > 0 || (first && (options->memfree > 0 || options->memsuspend > 0))) {
		run_wake(run);
	}
}

void admission_stop(struct run *run) {
	struct admission *admission = run->admission;
	mutex_lock(&admission->lock);
	admission->stopped = true;
	list_for_each(&admission->waiting, at) {
		cond_signal(&list_entry(at, struct admission_waiter, link)->turn);
	}
	mutex_unlock(&admission->lock);
}

// ---- the end of a job ----

static void reread_jobs(struct run *run) {
	struct admission *admission = run->admission;
	mutex_lock(&admission->slots_lock);
	bool changed = slots_watch_changed(&admission->jobs_file);
	mutex_unlock(&admission->slots_lock);
	unsigned long nofile = limits_for_jobs(run->options, run->nofile);
	unsigned slots;
	char *error;
	if (!changed) {
		return;
	}
	if (slots_parse(admission->jobs, nofile, &slots, &error) != 0) {
		diag_warn("%s; the number of jobs stays as it is", error);
		free(error);
		return;
	}
	unsigned limit = slots_limit(nofile);
	slots = slots < limit ? slots : limit;
	start_order_reserve(run, slots);
	pool_set_slots(run->pool, slots);
	if (run->publisher) {
		publish_slots(run, slots, "-j");
	}
}

// With the lock. Returns whether the timeout is another now.
static bool count_time(struct run *run, const struct result *result) {
	struct admission *admission = run->admission;
	if (run->options->timeout_percent == 0 || result->outcome != OUTCOME_OK) {
		return false;
	}
	if (!admission->median) {
		admission->median = median_new(MEDIAN_OF);
	}
	median_add(admission->median, result->end - result->start);
	double timeout = (double)median_get(admission->median) * run->options->timeout_percent / 100;
	uint64_t ns = timeout >= 1 ? (uint64_t)timeout : 1;
	return atomic_exchange(&admission->timeout, ns) != ns;
}

void admission_leave(struct run *run, const struct result *result) {
	struct admission *admission = run->admission;
	if (admission->jobs_file.path) {
		reread_jobs(run);
	}
	mutex_lock(&admission->lock);
	admission->running -= admission->gates;
	++admission->nended;
	if (result->start == 0 || result->outcome == OUTCOME_SPAWN_ERROR) {
		admission->starting = false; // it never was: nobody else is let in meanwhile
	} else {
		// GNU parallel's --delay auto: nearly a third more where it was too fast, a tenth less where it may have been too slow
		admission->delay *= result->outcome == OUTCOME_OK ? 0.9 : 1.3;
	}
	bool changed = count_time(run, result);
	wake_first(admission);
	mutex_unlock(&admission->lock);
	if (changed || run->options->memsuspend > 0) {
		atomic_store_release(&admission->look_soon, true); // pairs with the exchange in status_display_memory()
		run_wake(run);
	}
}

// ---- those that run ----

static void tell_held(struct run *run, uint64_t bytes) {
	struct admission *admission = run->admission;
	if (admission->held > 0 && admission->held_since == 0) {
		char what[100];
		snprintf(what, sizeof(what), "%u running job%s stopped, %s of memory available", admission->held,
		         admission->held == 1 ? "" : "s", memory_show(bytes));
		admission->held_since = now_ns();
		publish_wait(run, NULL, 0, WHY_SUSPEND, what);
	} else if (admission->held == 0 && admission->held_since > 0) {
		publish_wait_end(run, NULL, 0, WHY_SUSPEND, admission->held_since);
		admission->held_since = 0;
	}
}

static void make_room(struct run *run, uint64_t bytes) {
	const struct options *options = run->options;
	struct admission *admission = run->admission;
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
	if (bytes / 2 >= options->memsuspend && admission->held > 0) {
		most = n > admission->held ? n - admission->held + 1 : 1; // one at a time: the next reading tells what it takes
	}
	admission->held = children_hold_young(run->children, most);
	if (run->publisher) {
		tell_held(run, bytes);
	}
}

static uint64_t status_display_memory(struct run *run, uint64_t now) {
	struct admission *admission = run->admission;
	uint64_t bytes;
	if (children_count(run->children) == 0) {
		return TIME_NEVER; // the first to start wakes the loop
	}
	bool soon = atomic_exchange(&admission->look_soon, false);
	if (soon || now >= admission->look) {
		admission->look = now + (uint64_t)LOOK_AGAIN_MS * NS_PER_MS;
		if (sysload_free(&bytes)) { // else whoever started has heard of it
			make_room(run, bytes);
		}
	}
	return admission->look;
}

uint64_t admission_tick(struct run *run, uint64_t now) {
	const struct options *options = run->options;
	struct admission *admission = run->admission;
	uint64_t next = TIME_NEVER, due;
	uint64_t timeout = atomic_load_relaxed(&admission->timeout);
	if (timeout > 0) {
		next = children_expire(run->children, timeout, now);
	}
	if (options->memfree > 0 || options->memsuspend > 0) {
		due = status_display_memory(run, now);
		next = due < next ? due : next;
	}
	due = children_marked_step(run->children, now);
	return due < next ? due : next;
}
