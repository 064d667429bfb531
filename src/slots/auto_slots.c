// -j auto: samples the running jobs and the machine, and lets the controller decide how many slots there are.

#include "slots/auto_slots.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/random.h"
#include "base/sync.h"
#include "process/proc.h"
#include "process/proctree.h"
#include "slots/protocol.h"

struct auto_slots {
	struct auto_owner owner;
	struct activity activity;
	uint64_t random;
	bool in_shared_pool;     // in a pool, whose server decides: the next five fields are not used
	struct controller controller;
	struct machine machine;
	uint64_t due;            // when to take the next sample; TIME_NEVER: not before items wait again
	atomic_bool starving;    // since the last sample, items have begun to wait for a slot, or the first job has begun
	atomic_bool idle;        // items wait, but no job runs: the next job to begin sets `starving`

	mutex lock;              // guards the members down to work_ns, and the struct controller_batch of each batch
	unsigned attempts;       // number of attempts that have begun and not ended
	unsigned width;          // slots of these attempts
	uint64_t ended;          // number of attempts that have ended since the last sample
	double wall_ns, work_ns; // sums over these ended attempts: of run time × slots, and of controller_work()
	uint64_t since;          // in_shared_pool: when these three were last reset; used only by auto_slots_observe()
};

struct auto_slots *auto_slots_new(const struct slots_bounds *bounds, const struct auto_owner *owner) {
	uint64_t now = now_ns();
	struct auto_slots *auto_slots = NEW(struct auto_slots);
	auto_slots->owner = *owner;
	auto_slots->in_shared_pool = !bounds;
	auto_slots->since = now;
	random_bytes(&auto_slots->random, sizeof(auto_slots->random));
	mutex_init(&auto_slots->lock, LOCK_AUTO_SLOTS);
	if (bounds) {
		machine_open(&auto_slots->machine, proc_root(), now);
		controller_init(&auto_slots->controller, bounds->least, bounds->most, auto_slots->machine.cpus, now);
		auto_slots->due = controller_resume(&auto_slots->controller, now);
	}
	return auto_slots;
}

void auto_slots_free(struct auto_slots *auto_slots) {
	if (auto_slots) {
		machine_close(&auto_slots->machine);
		mutex_fini(&auto_slots->lock);
		free(auto_slots);
	}
}

unsigned auto_slots_number(const struct auto_slots *auto_slots) {
	return auto_slots->controller.slots;
}

// ---- what the owner tells ----

void auto_slots_starving(struct auto_slots *auto_slots) {
	if (auto_slots && !auto_slots->in_shared_pool) {
		atomic_store_relaxed(&auto_slots->starving, true);
		wakeup_post(auto_slots->owner.wake_fd);
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

void auto_slots_end(struct auto_slots *auto_slots, struct controller_batch *pace, unsigned width, const struct result *result) {
	double wall = (double)result_wall(result) * width;
	FP_HOLD(&auto_slots->lock);
	--auto_slots->attempts;
	auto_slots->width -= width;
	if (wall > 0) {
		++auto_slots->ended;
		auto_slots->wall_ns += wall;
		auto_slots->work_ns += controller_work(pace, wall);
	}
}

// ---- a sample ----

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

// Samples the processes of some of the attempts. Attempts that have no process yet, or none any more, are not seen.
static void see_jobs(struct auto_slots *auto_slots, const struct auto_demand *demand, struct controller_observation *observation) {
	pid_t pids[ACTIVITY_PROCESSES];
	unsigned width, running, alive, attempts = take_counts(auto_slots, observation, &width);
	observation->running = demand->taken;
	// if more than half of the attempts wait for something other than a slot (the load, memory), attempts on further slots would wait, too
	observation->wanted = attempts <= 2 * children_count(demand->children);
	size_t n = children_sample(demand->children, random_next(&auto_slots->random), pids, ACTIVITY_PROCESSES, &running);
	observation->busy = activity_sample(&auto_slots->activity, pids, n, observation->now, &alive);
	unsigned all = running > attempts ? running : attempts;
	observation->sampled = controller_sampled_slots(observation->running, width + demand->lent, all, alive);
}

void auto_slots_observe(struct auto_slots *auto_slots, struct observation *ret_observation) {
	uint64_t used = thread_cpu_ns(), since = auto_slots->since;
	struct auto_demand demand;
	struct controller_observation observation = {.now = now_ns()};
	auto_slots->owner.demand(auto_slots->owner.arg, &demand);
	see_jobs(auto_slots, &demand, &observation);
	auto_slots->since = observation.now;
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

// Takes a sample, and lets the controller decide. Returns when the next sample is due.
static uint64_t observe(struct auto_slots *auto_slots, const struct auto_demand *demand, uint64_t now) {
	struct controller *controller = &auto_slots->controller;
	struct controller_observation observation = {.now = now};
	uint64_t used = thread_cpu_ns();
	unsigned before = controller->slots;
	see_jobs(auto_slots, demand, &observation);
	machine_observe(&auto_slots->machine, &observation);
	observation.cost_ns = thread_cpu_ns() - used;
	uint64_t due = controller_decide(controller, &observation);
	if (controller->slots != before) {
		auto_slots->owner.changed(auto_slots->owner.arg, controller->slots, controller->reason);
	}
	return due;
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
	struct auto_demand demand;
	if (!auto_slots || auto_slots->in_shared_pool) {
		return TIME_NEVER;
	}
	if (atomic_exchange(&auto_slots->starving, false) && auto_slots->due == TIME_NEVER) {
		begin_anew(auto_slots, now);
	}
	if (now < auto_slots->due) {
		return auto_slots->due;
	}
	atomic_store(&auto_slots->idle, true); // set before the demand is read: a job that begins after the reading finds `idle` set
	auto_slots->owner.demand(auto_slots->owner.arg, &demand);
	if (!demand.wanted || demand.taken == 0) { // auto_slots_starving(), or the first job, ends this rest
		atomic_store_relaxed(&auto_slots->idle, demand.wanted);
		return auto_slots->due = TIME_NEVER;
	}
	atomic_store_relaxed(&auto_slots->idle, false);
	return auto_slots->due = observe(auto_slots, &demand, now);
}
