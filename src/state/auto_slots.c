// -j auto: samples the running jobs and the machine, and gives the run the number of slots that the controller decides. In a pool the server decides,
// and gets samples of the jobs from here.
//
// A sample covers at most 64 jobs and costs some system calls for each. The pause before the next one is so long that sampling
// takes at most a hundredth of one processor. Nothing is sampled while no item waits for a slot or no job runs.

#include "state/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/random.h"
#include "state/publish.h"
#include "process/proctree.h"
#include "report/run_stats.h"
#include "sharing/nested.h"
#include "slots/controller.h"
#include "slots/protocol.h"

struct auto_slots {
	struct run *run;
	unsigned slots;          // how many slots the run has now
	struct activity activity;
	uint64_t random;
	bool in_shared_pool;     // in a pool, whose server decides: the next five fields are not used
	struct controller controller;
	struct machine machine;
	uint64_t due;            // the next sample; TIME_NEVER: none before items wait again
	atomic_bool starving;    // since the last sample, items have begun to wait for a slot, or the first job has begun
	atomic_bool idle;        // items wait, but no job runs: the next job to begin sets `starving`

	mutex lock;              // guards what follows, and controller_batch of the batches
	unsigned attempts;       // number of attempts that have begun and not ended
	unsigned width;          // slots of these attempts
	uint64_t ended;          // number of attempts that have ended since the last sample
	double wall_ns, work_ns; // sums over the attempts that have ended
	uint64_t since;          // in_shared_pool: when `ended`, `wall_ns` and `work_ns` were last reset
};

void auto_slots_open(struct run *run, bool in_shared_pool) {
	uint64_t now = now_ns();
	struct auto_slots *auto_slots = run->auto_slots = NEW(struct auto_slots);
	auto_slots->run = run;
	auto_slots->in_shared_pool = in_shared_pool;
	auto_slots->since = now;
	random_bytes(&auto_slots->random, sizeof(auto_slots->random));
	mutex_init(&auto_slots->lock, LOCK_AUTO_SLOTS);
	if (!in_shared_pool) {
		machine_open(&auto_slots->machine, machine_root(), now);
		controller_init(&auto_slots->controller, run->slots_bounds.least, run->slots_bounds.most, auto_slots->machine.cpus, now);
		auto_slots->due = controller_resume(&auto_slots->controller, now);
		run->slots = auto_slots->controller.slots;
	}
	auto_slots->slots = run->slots;
}

void auto_slots_close(struct run *run) {
	struct auto_slots *auto_slots = run->auto_slots;
	if (auto_slots) {
		machine_close(&auto_slots->machine);
		mutex_fini(&auto_slots->lock);
		free(auto_slots);
		run->auto_slots = NULL;
	}
}

// ---- what the pool and the workers tell ----

void auto_slots_starving(struct auto_slots *auto_slots) {
	if (!auto_slots->in_shared_pool) {
		atomic_store_relaxed(&auto_slots->starving, true);
		run_wake(auto_slots->run);
	}
}

void auto_slots_begin(struct auto_slots *auto_slots, unsigned width) {
	mutex_lock(&auto_slots->lock);
	++auto_slots->attempts;
	auto_slots->width += width;
	mutex_unlock(&auto_slots->lock);
	if (atomic_load_relaxed(&auto_slots->idle) && atomic_exchange(&auto_slots->idle, false)) {
		auto_slots_starving(auto_slots);
	}
}

void auto_slots_end(struct auto_slots *auto_slots, struct batch *batch, unsigned width, const struct result *result) {
	double wall = (double)result_wall(result) * width;
	FP_HOLD(&auto_slots->lock);
	--auto_slots->attempts;
	auto_slots->width -= width;
	if (wall > 0) {
		++auto_slots->ended;
		auto_slots->wall_ns += wall;
		auto_slots->work_ns += controller_work(&batch->pace, wall);
	}
}

// ---- a sample ----

// Samples the processes of some of the `attempts`, which have `width` slots together. Attempts that have no process yet, or none any more, are not
// seen.
static void sample_jobs(struct auto_slots *auto_slots, unsigned attempts, unsigned width, struct controller_observation *observation) {
	pid_t pids[ACTIVITY_PROCESSES];
	unsigned running, alive;
	size_t n = children_sample(auto_slots->run->children, random_next(&auto_slots->random), pids, ACTIVITY_PROCESSES, &running);
	observation->busy = activity_sample(&auto_slots->activity, pids, n, observation->now, &alive);
	unsigned all = running > attempts ? running : attempts;
	observation->sampled = controller_sampled_slots(observation->running, width, all, alive);
}

// Takes what was counted since the last sample. Returns how many attempts have begun and not ended; *ret_width: their slots.
static unsigned take_counts(struct auto_slots *auto_slots, struct controller_observation *observation, unsigned *ret_width) {
	FP_HOLD(&auto_slots->lock);
	unsigned attempts = auto_slots->attempts;
	*ret_width = auto_slots->width;
	observation->ended = auto_slots->ended;
	observation->wall_ns = auto_slots->wall_ns;
	observation->work_ns = auto_slots->work_ns;
	auto_slots->ended = 0;
	auto_slots->wall_ns = auto_slots->work_ns = 0;
	return attempts;
}

// Notes and publishes a number of slots that has changed.
static void note_slots(struct auto_slots *auto_slots, unsigned slots, const char *why) {
	auto_slots->slots = slots;
	publish_slots(auto_slots->run, slots, why);
}

static void see_jobs(struct auto_slots *auto_slots, struct controller_observation *observation) {
	unsigned width, attempts = take_counts(auto_slots, observation, &width);
	width += nested_lent(auto_slots->run->nested);
	// if more than half of the attempts wait for something other than a slot (the load, memory), attempts on further slots would wait, too
	observation->wanted = attempts <= 2 * children_count(auto_slots->run->children);
	sample_jobs(auto_slots, attempts, width, observation);
}

// Takes a sample, and lets the controller decide. Returns when the next sample is due.
static uint64_t observe(struct auto_slots *auto_slots, unsigned slots_taken, uint64_t now) {
	struct controller *controller = &auto_slots->controller;
	struct controller_observation observation = {.now = now, .running = slots_taken};
	uint64_t used = thread_cpu_ns();
	see_jobs(auto_slots, &observation);
	machine_observe(&auto_slots->machine, &observation);
	observation.cost_ns = thread_cpu_ns() - used;
	uint64_t due = controller_decide(controller, &observation);
	if (controller->slots != auto_slots->slots) {
		pool_set_slots(auto_slots->run->pool, controller->slots);
		note_slots(auto_slots, controller->slots, controller_reason_name(controller->reason));
		nested_tell_slots(auto_slots->run->nested, controller->slots, controller->reason);
	}
	return due;
}

void auto_slots_set(struct auto_slots *auto_slots, unsigned slots, const char *why) {
	unsigned most = auto_slots->run->slots_bounds.most;
	slots = slots < most ? slots : most;
	if (slots != auto_slots->slots) {
		note_slots(auto_slots, slots, why ? why : "the number of a new server of the pool");
	}
}

void auto_slots_observe(struct auto_slots *auto_slots, struct observation *ret_observation) {
	uint64_t used = thread_cpu_ns(), since = auto_slots->since;
	struct pool_stat stat;
	pool_stat(auto_slots->run->pool, &stat);
	struct controller_observation observation = {.now = now_ns(), .running = (unsigned)stat.slots_taken};
	see_jobs(auto_slots, &observation);
	auto_slots->since = observation.now;
	if (auto_slots->run->options->pool.jobserver && observation.busy > observation.sampled) { // the other busy processes have slots of the jobserver
		observation.busy = observation.sampled;
	}
	*ret_observation = (struct observation){
		.sampled = (uint64_t)(observation.sampled * 1000),
		.busy = (uint64_t)(observation.busy * 1000),
		.since_ns = observation.now - since,
		.ended = observation.ended,
		.wall_ns = (uint64_t)observation.wall_ns,
		.work_ns = (uint64_t)observation.work_ns,
		.cost_ns = thread_cpu_ns() - used,
		.held_up = !observation.wanted,
	};
}

void auto_slots_show(const struct auto_slots *auto_slots) {
	const struct run_stats *stats = publish_stats(auto_slots->run); // without the lock, as only this thread publishes changes of the slots
	const struct stats_slots *last = stats->nchanges > 0 ? &stats->changes[stats->nchanges - 1] : NULL;
	diag_note("slots: %u for %.1fs: %s", auto_slots->slots, (double)(now_ns() - (last ? last->at : auto_slots->run->start)) / 1e9,
	          last && last->why ? last->why : "since the start, or after more than 10000 changes");
}

// Begins to sample again after a rest: discards what was counted and sampled before the rest.
static void begin_anew(struct auto_slots *auto_slots, uint64_t now) {
	struct controller_observation ignored = {.now = now};
	unsigned width;
	(void)take_counts(auto_slots, &ignored, &width);
	machine_observe(&auto_slots->machine, &ignored);
	auto_slots->activity.n = 0;
	auto_slots->due = controller_resume(&auto_slots->controller, now);
}

uint64_t auto_slots_tick(struct auto_slots *auto_slots, uint64_t now) {
	struct run *run = auto_slots->run;
	struct pool_stat stat;
	if (run->phase >= RUN_DRAINING || auto_slots->in_shared_pool) {
		return TIME_NEVER;
	}
	if (atomic_exchange(&auto_slots->starving, false) && auto_slots->due == TIME_NEVER) {
		begin_anew(auto_slots, now);
	}
	if (now < auto_slots->due) {
		return auto_slots->due;
	}
	bool wanted = pool_demand(run->pool, 1) > 0; // false: no item waits for a slot; when one does, the pool calls auto_slots_starving()
	atomic_store(&auto_slots->idle, wanted);     // set before pool_stat(): a job that begins after pool_stat() sees it
	pool_stat(run->pool, &stat);
	if (!wanted || stat.slots_taken == 0) {
		return auto_slots->due = TIME_NEVER;
	}
	atomic_store_relaxed(&auto_slots->idle, false);
	return auto_slots->due = observe(auto_slots, (unsigned)stat.slots_taken, now);
}
