// The run, and its event loop.
//
// The main thread reads input (feed.c), answers signals and requests, and ends jobs by the signals of --term-seq; the workers of the pool
// run the jobs (job_run.c). The loop sleeps in poll() until it is time for its next step, or a descriptor is ready. Other threads wake the loop
// (run_wake()) if, for example, the pool wants more items or is idle, a job meets --halt now, or output cannot be written.
//
// setup.c opens the parts of a run before the loop; stop.c says what ends a run, and how it ends.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "gate/gate.h"
#include "state/publish.h"
#include "feed/feed.h"
#include "hosts/hosts.h"
#include "process/context.h"
#include "record/record.h"
#include "sharing/jobserver_slots.h"
#include "sharing/leases.h"
#include "sharing/nested.h"
#include "slots/protocol.h"

#include <poll.h>
#include <stdint.h>
#include <unistd.h>

enum { LAST_JOB_MS = 100 }; // after a signal, the pause between two checks whether a job still runs

// ---- the loop ----

// Indexes in polls.at of further descriptors that the loop always polls (JOBSERVER_POLLS of the jobserver). Behind these come inputs and sockets.
enum { POLL_LEASES = CHILDREN_POLLS, POLL_JOBSERVER };

// Waits until `until` for signals, wake-ups, inputs and requests.
static void loop_poll(struct run *run, struct polls *polls, uint64_t until) {
	children_begin_polls(run->children, polls, run->signal_fd);
	polls_add(polls, run->leases ? leases_fd(run->leases) : -1, POLLIN);
	for (unsigned i = 0; i < JOBSERVER_POLLS; ++i) {
		polls_add(polls, jobserver_slots_fd(run->jobserver, i), POLLIN);
	}
	feeds_add_polls(run, polls);
	nested_add_polls(run->nested, polls);
	control_add_polls(run->control, polls);
	children_poll(run->children, polls, until);
}

void run_note_slots(void *arg, unsigned slots, const char *why) {
	struct run *run = arg;
	if (slots != publish_slots_now(run)) { // without the lock, as only this thread publishes changes of the slots
		publish_slots(run, slots, why);
	}
}

static void apply_lease_changes(struct run *run) {
	struct leases_changes changes;
	leases_tick(run->leases, &changes);
	if (changes.renewed) {
		guardian_keep_from_now(children_guardian(run->children), GUARDIAN_SLOTS, leases_fd(run->leases));
	}
	if (changes.slots > 0 && run->auto_slots) {
		unsigned most = run->slots_bounds.most;
		run_note_slots(run, changes.slots < most ? changes.slots : most, changes.why ? changes.why : "the pool finds the number anew");
	}
	if (changes.observe && run->auto_slots) {
		struct observation observation;
		auto_slots_observe(run->auto_slots, &observation);
		if (run->options->pool.jobserver && observation.busy > observation.sampled) { // further busy processes run on slots that the jobserver gave them
			observation.busy = observation.sampled;
		}
		leases_send_observation(run->leases, &observation);
	}
}

static void run_loop(struct run *run) {
	struct polls polls = {0};
	uint64_t sockets_due = TIME_NEVER;
	bool again = feeds_fill(run);
	pool_start(run->pool);
	if (run->leases) {
		leases_ask(run->leases);
	}
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		uint64_t next = time_earlier(sockets_due, retry_queue_submit(run->retry_queue, now_ns()));
		next = time_earlier(next, children_reap_orphans(run->children, run->signal_fd));
		if (run->signal) {
			run_limit_end(run);
			next = now_ns() + LAST_JOB_MS * NS_PER_MS; // nothing wakes the loop when the last job has ended, but its worker still writes output
		}
		if (run->gate) {
			next = time_earlier(next, gate_tick(run->gate, now_ns()));
		}
		next = time_earlier(next, children_term_step(run->children, now_ns())); // jobs that a signal, the gate or --cancel is ending
		next = time_earlier(next, auto_slots_tick(run->auto_slots, now_ns()));
		hosts_report_slots(run->hosts, run_note_slots, run);
		next = time_earlier(next, status_display_tick(run, now_ns()));
		next = run->leases ? time_earlier(next, leases_due(run->leases)) : next;
		loop_poll(run, &polls, again ? 0 : next);
		if (run->leases) {
			apply_lease_changes(run);
		}
		jobserver_slots_tick(run->jobserver, polls.at[POLL_JOBSERVER].revents || polls.at[POLL_JOBSERVER + 1].revents);
		if (run->nested) {
			sockets_due = nested_tick(run->nested, &polls);
		}
		control_tick(run->control, &polls);
		run_answer_signals(run);
		run_answer_flags(run);
		if (run->trace) {
			event_log_flush(run->trace, /* may_wait */ false);
		}
		batches_reap(run);
		publish_tick(run);
		dag_advance(run);
		again = run->phase == RUN_RUNNING && feeds_fill(run);
	}
	hosts_print_messages(run->hosts);
	control_finish(run->control);
	free(polls.at);
}

int run_all(struct options *options, struct context *context) {
	struct run run = {
		.options = options,
		.context = context,
		.halt = options->halt,
		.fair_time = options->fair_time,
		.specs = {&run.spec},
		.signal_fd = -1,
		.wake_fd = -1,
		.pid = (int)getpid(),
		.start = now_ns(),
	};
	context->nice = options->nice;
	if (options->tmpdir) {
		context_set_env(context, "TMPDIR", options->tmpdir);
	}
	mutex_init(&run.lock, LOCK_RUN);
	publish_open(&run);
	bool opened = setup_open(&run, options) == 0;
	if (opened) {
		if (!options->batch_by) {
			batches_warn_unused(&run); // all batches are known now, except batches that --add opens
		}
		run_loop(&run);
	}
	return run_end(&run, opened);
}
