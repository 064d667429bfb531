// When jobs may start, and which running jobs are stopped or ended: by the machine's load and memory, --delay and --timeout N%. Also rereads the
// number of slots from a file (-j FILE).

#include "gate/gate.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/median.h"
#include "base/text.h"
#include "state/publish.h"
#include "hosts/hosts.h"
#include "process/memory.h"
#include "process/sysload.h"
#include "slots/slots.h"

#include <stdio.h>

enum {
	CHECK_AGAIN_MS = 1000, // GNU parallel's longest pause between two checks
	MEDIAN_OF = 999,      // the median is that of the last MEDIAN_OF run times: GNU parallel keeps as many
};

struct gate {
	struct run *run;
	bool can_hold;           // the gate may hold a job back (gate_can_hold())
	const char *jobs;        // the value of -j; borrowed
	mutex lock;              // guards the fields from next_start to jobs_file
	uint64_t next_start;     // no job starts before this time (--delay)
	double delay;            // nanoseconds from the start of a job to the next start (--delay)
	enum event_why why;      // the reason of the last refusal
	struct buf what;         // `why` in words; empty: the last answer was that a job may start, or that --delay holds it back
	struct median *median;   // median of the run times of the jobs that succeeded; NULL: no time was counted
	struct slots_watch jobs_file; // file of -j FILE
	atomic_uint_least64_t timeout; // with --timeout N%: N% of the median, ns; 0: not known yet

	// used only by gate_ask(), which one thread at a time calls; with -S only by the event loop
	struct sysload_gate machine;
	struct slots_watch load_file; // file of --load FILE
	bool has_waited;         // a message about a wait was printed
	uint64_t waits_since;    // when the published wait of all jobs for the machine began; 0: no wait is published
	enum event_why published; // the reason of the published wait

	// for the event loop
	uint64_t memory_due;     // when to read the memory next
	uint64_t suspended_since; // when it was published that children are stopped; 0: not published, or the end was published
	unsigned suspended;      // number of children that are stopped
	atomic_bool check_soon;   // a child has ended: the free memory is to be read at once
	atomic_bool checks_here;  // with -S: a job has started or ended here
	uint64_t here_due;        // with -S: when check_here() looks next
};

int gate_open(struct run *run, const char *jobs) {
	const struct options *options = run->options;
	struct slots_watch jobs_file;
	slots_watch_open(&jobs_file, jobs);
	if (options->tty) {
		jobs_file.path = NULL; // jobs run one at a time, whatever the file says
	}
	bool can_hold = options_watch_machine(options) || options->delay > 0;
	if (options->dry_run || (!can_hold && !jobs_file.path && options->timeout_percent == 0)) {
		return 0;
	}
	struct gate *gate = run->gate = NEW(struct gate);
	gate->run = run;
	mutex_init(&gate->lock, LOCK_GATE);
	gate->can_hold = can_hold;
	gate->jobs_file = jobs_file;
	gate->jobs = jobs;
	gate->delay = (double)options->delay;
	gate->machine = (struct sysload_gate){
		.memfree = (uint64_t)options->memfree + options->memsuspend, // the sum of both, as in GNU parallel
		.asks = options->memfree > 0 ? "memfree" : "memsuspend",
		.noswap = options->noswap,
	};
	char *error;
	if (options->load) {
		slots_watch_open(&gate->load_file, options->load);
	}
	return options->load && load_parse(options->load, &gate->machine.max_load, &error) != 0 ? diag_error_free(error) : 0;
}

void gate_close(struct run *run) {
	struct gate *gate = run->gate;
	if (gate) {
		mutex_fini(&gate->lock);
		buf_fini(&gate->what);
		free(gate->median);
		free(gate);
		run->gate = NULL;
	}
}

// Appends what keeps jobs from starting on this machine, or nothing. Returns the kind of this reason, for events. Without the lock.
static enum event_why check_machine(struct gate *gate, struct buf *why) {
	const char *load = gate->run->options->load;
	FP_CLEANUP(free_later) char *error = NULL;
	if (load && slots_watch_changed(&gate->load_file) && load_parse(load, &gate->machine.max_load, &error) != 0) {
		diag_warn("%s; the limit stays at %g", error, gate->machine.max_load);
	}
	return sysload_check(&gate->machine, why);
}

// ---- may the next job start? ----

// Publishes that jobs wait or are stopped because of `what` (words); NULL: that this state is over. *since: when it began; 0: not published.
static void publish_state(struct run *run, uint64_t *since, enum event_why why, const char *what) {
	if (what && *since == 0) {
		*since = now_ns();
		publish_wait(run, NULL, 0, why, what);
	} else if (!what && *since > 0) {
		publish_wait_end(run, NULL, 0, why, *since);
		*since = 0;
	}
}

bool gate_can_hold(const struct gate *gate) {
	return gate && gate->can_hold;
}

uint64_t gate_ask(void *arg) {
	struct run *run = arg;
	struct gate *gate = run->gate;
	struct buf what = BUF_INIT;
	enum event_why why = WHY_DELAY;
	mutex_lock(&gate->lock);
	uint64_t again = gate->next_start;
	mutex_unlock(&gate->lock);
	bool is_early = now_ns() < again;
	if (!is_early && !run->hosts) { // with -S each machine has its own gate
		why = check_machine(gate, &what);
		again = now_ns() + (uint64_t)CHECK_AGAIN_MS * NS_PER_MS;
		if (why != gate->published) {
			publish_state(run, &gate->waits_since, gate->published, NULL);
			gate->published = why;
		}
		publish_state(run, &gate->waits_since, why, what.data);
	}
	bool may = !is_early && what.len == 0;
	mutex_lock(&gate->lock);
	gate->why = may ? gate->why : why;
	buf_fini(&gate->what);
	gate->what = what; // before the message: whoever has read the message can have SIGUSR1 tell the same
	mutex_unlock(&gate->lock);
	if (what.len > 0 && !gate->has_waited && children_count(run->children) == 0) {
		gate->has_waited = true;
		diag_note("waiting: %s", what.data);
	}
	return may ? 0 : again;
}

enum event_why gate_reason(struct gate *gate) {
	FP_HOLD(&gate->lock);
	return gate->why;
}

void gate_add_reason(struct gate *gate, struct buf *words) {
	if (!gate) {
		return;
	}
	FP_HOLD(&gate->lock);
	buf_adds(words, now_ns() < gate->next_start ? "the last job started less than --delay ago" : buf_str(&gate->what));
}

// With -S: a job has started or ended on this machine, so that check_here() looks at once.
static void note_change_here(struct gate *gate) {
	if (gate->run->hosts && options_watch_machine(gate->run->options)) {
		atomic_store_release(&gate->checks_here, true); // pairs with the exchange in check_here()
		run_wake(gate->run);
	}
}

void gate_note_start(struct gate *gate) {
	const struct run *run = gate->run;
	const struct options *options = run->options;
	mutex_lock(&gate->lock);
	gate->next_start = now_ns() + (uint64_t)gate->delay;
	mutex_unlock(&gate->lock);
	bool is_watched = options->memfree > 0 || options->memsuspend > 0;
	if (options->timeout_percent > 0 || (is_watched && children_count(run->children) == 1)) {
		run_wake(gate->run); // the event loop has a child to watch
	}
	note_change_here(gate);
}

// ---- the end of a job ----

static void reread_jobs(struct gate *gate) {
	struct run *run = gate->run;
	mutex_lock(&gate->lock);
	bool changed = slots_watch_changed(&gate->jobs_file);
	mutex_unlock(&gate->lock);
	struct slots_bounds bounds;
	FP_CLEANUP(free_later) char *error = NULL;
	if (!changed || run->leases || run->jobserver) { // with leases or a jobserver, this run alone does not decide on the slots
		return;
	}
	if (slots_parse(gate->jobs, run->job_fds, &bounds, &error) != 0) {
		diag_warn("%s; the number of jobs stays as it is", error);
		return;
	}
	unsigned limit = slots_limit(run->job_fds), slots = bounds.most < limit ? bounds.most : limit;
	pool_set_slots(run->pool, slots);
	publish_slots(run, slots, "-j");
}

// Counts the job's time for --timeout N%. With the lock. Returns whether the timeout has changed.
static bool count_time(struct gate *gate, const struct result *result) {
	double percent = gate->run->options->timeout_percent;
	if (percent == 0 || result->outcome != OUTCOME_OK) {
		return false;
	}
	if (!gate->median) {
		gate->median = median_new(MEDIAN_OF);
	}
	median_add(gate->median, result->end - result->start);
	double timeout = (double)median_get(gate->median) * percent / 100;
	uint64_t ns = timeout >= 1 ? (uint64_t)timeout : 1;
	return atomic_exchange(&gate->timeout, ns) != ns;
}

void gate_note_end(struct gate *gate, const struct result *result) {
	if (gate->jobs_file.path) {
		reread_jobs(gate);
	}
	bool has_run = result->start > 0 && result->outcome != OUTCOME_SPAWN_ERROR && !result->lost;
	mutex_lock(&gate->lock);
	if (has_run && gate->run->options->delay_auto) {
		// GNU parallel's --delay auto: after a failure the delay grows by nearly a third, after a success it shrinks by a tenth
		gate->delay *= result->outcome == OUTCOME_OK ? 0.9 : 1.3;
	}
	bool changed = count_time(gate, result);
	mutex_unlock(&gate->lock);
	note_change_here(gate);
	if (changed || gate->run->options->memsuspend > 0) {
		atomic_store_release(&gate->check_soon, true); // pairs with the exchange in watch_memory()
		run_wake(gate->run);
	}
}

// ---- the running jobs ----

static void make_room(struct gate *gate, uint64_t bytes) {
	struct run *run = gate->run;
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
	unsigned before = gate->suspended;
	if (bytes / 2 >= options->memsuspend && before > 0) {
		most = n > before ? n - before + 1 : 1; // lets one more job go on; the next reading will show how much memory that job takes
	}
	unsigned now = gate->suspended = children_suspend_young(run->children, most);
	char what[100];
	snprintf(what, sizeof(what), "%u running job%s stopped, %s of memory available", now, now == 1 ? "" : "s", memory_show(bytes));
	publish_state(run, &gate->suspended_since, WHY_SUSPEND, now > 0 ? what : NULL);
}

// Reads the free memory when that is due, and stops or ends jobs if too little is free. Returns when to call again.
static uint64_t watch_memory(struct gate *gate, uint64_t now) {
	uint64_t bytes;
	if (children_count(gate->run->children) == 0) {
		return TIME_NEVER; // the first child that starts wakes the event loop
	}
	bool soon = atomic_exchange(&gate->check_soon, false);
	if (soon || now >= gate->memory_due) {
		gate->memory_due = now + (uint64_t)CHECK_AGAIN_MS * NS_PER_MS;
		if (sysload_free(&bytes)) { // else sysload_check() has warned
			make_room(gate, bytes);
		}
	}
	return gate->memory_due;
}

// With -S: checks whether a job may start on this machine now, and tells hosts/ the result. Returns when to check next.
static uint64_t check_here(struct gate *gate, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	if (atomic_exchange(&gate->checks_here, false) || now >= gate->here_due) {
		gate->here_due = now + (uint64_t)CHECK_AGAIN_MS * NS_PER_MS;
		(void)check_machine(gate, &why);
		hosts_brake_here(gate->run->hosts, why.data);
	}
	return gate->here_due;
}

uint64_t gate_tick(struct gate *gate, uint64_t now) {
	const struct options *options = gate->run->options;
	uint64_t next = TIME_NEVER;
	uint64_t timeout = atomic_load_relaxed(&gate->timeout);
	if (timeout > 0) {
		next = time_earlier(children_expire(gate->run->children, timeout, now), hosts_expire(gate->run->hosts, timeout, now));
	}
	if (options->memfree > 0 || options->memsuspend > 0) {
		next = time_earlier(next, watch_memory(gate, now));
	}
	if (gate->run->hosts && options_watch_machine(options)) {
		next = time_earlier(next, check_here(gate, now));
	}
	return next;
}
