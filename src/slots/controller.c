// How many slots a run should have: the decisions of -j auto.

#include "slots/controller.h"

#include <stddef.h>

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

// The first sample comes after LEAST_TICK; the time to the next one grows by a quarter as long as nothing changes, up to MOST_TICK.
#define LEAST_TICK (100 * MS)
#define MOST_TICK SECOND

// `slots` is raised while a greater share of the processors than IDLE_GROW is idle, and not lowered before SHRINK_SAMPLES slots were sampled over
// twice the time that a job takes (SETTLE_LEAST to SETTLE_MOST), because jobs that started together compute and sleep together.
#define IDLE_GROW 0.06
#define SHRINK_SAMPLES 16
#define SETTLE_LEAST (0.5 * SECOND)
#define SETTLE_MOST (5.0 * SECOND)

// If all tasks wait for memory or a disk for more than this share of the time, `slots` is lowered, once in BRAKE_STEP, and not raised for BRAKE_GROW.
#define BRAKE_MEMORY 0.10
#define BRAKE_DISK 0.60
#define BRAKE_STEP SECOND
#define BRAKE_GROW (2 * SECOND)

// The throughput with a number of slots is known once WINDOW_ENDED jobs have ended and WINDOW_WALLS times the length of a job has passed. It is
// compared with that, in the last WINDOW_KEPT, of a number of slots at least GAIN_SLOTS times greater or smaller. Each additional slot must bring
// GAIN_LEAST of what a slot of the smaller number brings; else the additional slots are taken away, and tried again after CEILING_NS, or later.
#define WINDOW_ENDED 32
#define WINDOW_WALLS 4
#define WINDOW_KEPT (60 * SECOND)
#define GAIN_SLOTS 1.5
#define GAIN_LEAST 0.25
#define CEILING_NS (8 * SECOND)
#define MOST_CEILING_NS (64 * SECOND)

enum { BATCH_FIRST = 16, COST_PART = 100 }; // a batch's first BATCH_FIRST jobs make its mean; sampling takes at most 1/COST_PART of the time

static unsigned at_most(unsigned a, unsigned b) {
	return a < b ? a : b;
}

static unsigned at_least(unsigned a, unsigned b) {
	return a > b ? a : b;
}

unsigned whole_cpus(double cpus) {
	unsigned whole = (unsigned)cpus;
	return at_least(whole + (whole < cpus), 1);
}

// Returns the index in controller.levels: the n for which 2^n is the greatest power of two up to `slots`.
static unsigned level_of(double slots) {
	unsigned level = 0;
	while (slots >= 2 && level < CONTROLLER_LEVELS - 1) {
		slots /= 2;
		++level;
	}
	return level;
}

static void window_begin(struct controller *controller, uint64_t now) {
	controller->work = controller->slot_ns = controller->wall = controller->ended = 0;
	controller->window_start = now;
}

static void forget_samples(struct controller *controller, double keep, uint64_t now) {
	controller->sampled *= keep;
	controller->busy *= keep;
	controller->looks_start = now;
}

static void set_slots(struct controller *controller, unsigned slots, enum controller_reason reason, uint64_t now) {
	slots = at_least(at_most(slots, controller->most), controller->least);
	if (slots == controller->slots) {
		return;
	}
	if (level_of(slots) != level_of(controller->slots)) {
		window_begin(controller, now);
	}
	forget_samples(controller, 0, now);
	controller->slots = slots;
	controller->reason = reason;
	controller->tick = LEAST_TICK;
}

void controller_init(struct controller *controller, unsigned least, unsigned most, double cpus, uint64_t now) {
	*controller = (struct controller){
		.least = at_least(least, 1),
		.most = most,
		.last = now,
		.tick = LEAST_TICK,
		.ceiling = most,
		.ceiling_ns = CEILING_NS,
	};
	controller->slots = at_least(at_most(whole_cpus(cpus), most), controller->least);
	window_begin(controller, now);
}

// ---- throughput ----

// Returns whether the additional slots of `many` bring enough throughput, compared with `few`.
static bool has_gained(const struct controller_window *few, const struct controller_window *many) {
	return many->gain - few->gain >= (many->slots - few->slots) * (few->gain / few->slots) * GAIN_LEAST;
}

// Returns the nearest window with fewer (step -1) or more (step 1) slots than `to` whose throughput is known, and whose number of slots
// differs enough for a comparison (GAIN_SLOTS); or NULL.
static const struct controller_window *known_window(const struct controller *controller, const struct controller_window *to, int step) {
	for (int level = (int)level_of(to->slots); level >= 0 && level < CONTROLLER_LEVELS; level += step) {
		const struct controller_window *window = &controller->levels[level];
		double ratio = step < 0 ? to->slots / window->slots : window->slots / to->slots;
		if (window->gain > 0 && ratio >= GAIN_SLOTS && to->end - window->end < WINDOW_KEPT) {
			return window;
		}
	}
	return NULL;
}

// Compares the throughput of this number of slots with that of fewer slots. Returns the number of slots to go back to, or 0.
static unsigned judge(struct controller *controller, const struct controller_observation *observation) {
	double elapsed = (double)(observation->now - controller->window_start);
	if (controller->ended < WINDOW_ENDED || elapsed * controller->ended < WINDOW_WALLS * controller->wall) {
		return 0;
	}
	struct controller_window window = {.slots = controller->slot_ns / elapsed, .gain = controller->work / elapsed, .end = observation->now};
	controller->levels[level_of(window.slots)] = window;
	window_begin(controller, observation->now);
	const struct controller_window *more = known_window(controller, &window, 1);
	if (more && has_gained(&window, more)) {
		controller->ceiling_end = observation->now; // more slots had brought enough throughput after all: they may come back
	}
	const struct controller_window *fewer = known_window(controller, &window, -1);
	if (fewer) {
		return has_gained(fewer, &window) ? 0 : (unsigned)(fewer->slots + 0.5);
	}
	// If jobs take much longer than the first jobs took, returns about as many slots as would do the same work at the speed of the first jobs.
	return window.gain < GAIN_LEAST * window.slots ? (unsigned)(window.gain * 1.25) + 1 : 0;
}

double controller_work(struct controller_batch *batch, double wall_ns) {
	if (batch->n < BATCH_FIRST) {
		++batch->n;
		batch->mean_ns += (wall_ns - batch->mean_ns) / batch->n;
	}
	return batch->mean_ns;
}

// ---- states of jobs ----

// How much the number of busy jobs varies by chance, 0 to 1: less if few jobs sleep, and not at all if none does. `share`: the busy share.
static double chance(double share) {
	return share < 0.75 ? 1 : share < 1 ? 4 * (1 - share) : 0;
}

// Returns how many jobs may be busy at once before there are too many: as many as there are processors, and some more if
// jobs also sleep. Sleeping jobs wake by chance: if few jobs wait for a processor, a processor often finds no job; processors that
// are busy nine tenths of the time have ten waiting jobs (M/M/c). The fewer jobs sleep, the fewer can wake.
static double most_busy(double cpus, double share) {
	double slack = chance(share) * (cpus > 2 ? cpus : 2) * 1.25;
	double line = share < 1 ? 10 * (1 - share) * (1 - share) : 0;
	return cpus + (line > slack ? line : slack);
}

// True if `more` is above `less` by more than chance explains: by `deviations` standard deviations of the count (its square root).
static bool is_above(double more, double less, double count, double deviations) {
	double over = more - less;
	return over > 0 && over * over > deviations * deviations * (count + 1);
}

// Adapts `slots` to the states of jobs: more slots while there is room on the processors and jobs sleep, or while there are fewer slots
// than processors, whatever other programs do there; else fewer, if too many jobs want a processor. Jobs that start together also
// compute together: so whether there are too many is judged only after they have had time to differ.
static void follow_jobs(struct controller *controller, const struct controller_observation *observation) {
	double share = controller->sampled > 0 ? controller->busy / controller->sampled : 1;
	double most = (1 - IDLE_GROW) * most_busy(observation->cpus, share) / (observation->running + 1) * controller->sampled;
	// the idle share of the processors; or, if it is greater, the share that jobs certainly leave unused, even if other programs use it
	double idle = is_above(most, controller->busy, controller->busy, 0.5) ? 1 - controller->busy / most : 0;
	idle = idle > observation->pressure.idle ? idle : observation->pressure.idle;
	double settle = 2 * controller->wall_mean;
	settle = settle < SETTLE_LEAST ? SETTLE_LEAST : settle > SETTLE_MOST ? SETTLE_MOST : settle;
	unsigned slots = controller->slots;
	if (idle > IDLE_GROW || slots < whole_cpus(observation->cpus)) {
		bool asleep = observation->busy + 0.5 < observation->sampled;
		bool full = observation->wanted && observation->running > slots / 2; // half is enough: with short or wide jobs some slots are always free
		if (full && observation->now >= controller->grow_after && (asleep || slots < observation->cpus)) {
			unsigned more = at_least((unsigned)(slots * (1 + idle)), slots + 1);
			enum controller_reason reason = asleep ? CONTROLLER_JOBS_SLEEP : CONTROLLER_CPUS_IDLE;
			set_slots(controller, at_most(more, controller->ceiling), reason, observation->now);
		}
	} else if (controller->sampled >= SHRINK_SAMPLES && (double)(observation->now - controller->looks_start) >= settle) {
		double busy = most_busy(observation->cpus, share), asleep = share < 1 ? (1 - share) * observation->running : 0;
		double least = (busy + 0.5) / observation->running * controller->sampled;
		bool surely = is_above(controller->busy, least, chance(share) * controller->busy, 1.5); // is it certain that too many jobs want a processor?
		if (surely && busy + asleep < slots - 0.5) {
			set_slots(controller, (unsigned)(busy + asleep + 0.5), CONTROLLER_JOBS_RUN, observation->now);
		} else {
			forget_samples(controller, 0.5, observation->now);
		}
	}
}

// ---- the decision ----

// Sets fewer slots, and keeps the number from growing for a while, longer each time.
static void back_off(struct controller *controller, unsigned slots, enum controller_reason reason, uint64_t now) {
	set_slots(controller, slots, reason, now);
	controller->ceiling = controller->slots;
	controller->ceiling_end = now + controller->ceiling_ns;
	controller->ceiling_ns = controller->ceiling_ns * 2 < MOST_CEILING_NS ? controller->ceiling_ns * 2 : MOST_CEILING_NS;
}

// Lowers `slots` by one step if all tasks wait for memory or a disk; jobs have time to end before the next step. Returns whether all tasks wait.
static bool brake(struct controller *controller, const struct controller_observation *observation) {
	bool memory = observation->pressure.memory_full > BRAKE_MEMORY;
	unsigned base = memory ? 1 : whole_cpus(observation->cpus);
	if (!memory && observation->pressure.disk_full <= BRAKE_DISK) {
		return false;
	}
	if (observation->now >= controller->brake_after && controller->slots > base) {
		unsigned less = controller->slots - at_least(controller->slots / 4, 1);
		back_off(controller, at_least(less, base), memory ? CONTROLLER_MEMORY : CONTROLLER_DISK, observation->now);
		controller->brake_after = observation->now + BRAKE_STEP;
	}
	controller->grow_after = observation->now + BRAKE_GROW;
	return true;
}

uint64_t controller_resume(struct controller *controller, uint64_t now) {
	window_begin(controller, now);
	forget_samples(controller, 0, now);
	controller->last = now;
	controller->tick = LEAST_TICK;
	return now + controller->tick;
}

uint64_t controller_decide(struct controller *controller, const struct controller_observation *observation) {
	controller->work += observation->work_ns;
	controller->ended += (double)observation->ended;
	controller->wall += observation->wall_ns;
	controller->slot_ns += (double)(observation->now - controller->last) * observation->running;
	controller->sampled += observation->sampled;
	controller->busy += observation->busy;
	if (observation->ended > 0) {
		controller->wall_mean += (observation->wall_ns / (double)observation->ended - controller->wall_mean) / 4;
	}
	controller->tick = controller->tick * 5 / 4 < MOST_TICK ? controller->tick * 5 / 4 : MOST_TICK;
	if (observation->now >= controller->ceiling_end && controller->ceiling < controller->most) { // lets twice as many slots be tried, and then judged
		controller->ceiling = controller->ceiling < controller->most / 2 ? 2 * controller->ceiling : controller->most;
		controller->ceiling_end = observation->now + CEILING_NS;
	}
	unsigned back = judge(controller, observation);
	if (!brake(controller, observation)) {
		if (back > 0 && back < controller->slots) {
			back_off(controller, back, CONTROLLER_NO_GAIN, observation->now);
		} else {
			follow_jobs(controller, observation);
		}
	}
	controller->last = observation->now;
	uint64_t rest = observation->cost_ns * COST_PART;
	return observation->now + (controller->tick > rest ? controller->tick : rest);
}

double controller_sampled_slots(unsigned taken, unsigned width, unsigned jobs, unsigned sampled) {
	unsigned slots = width < taken ? width : taken;
	return jobs > 0 ? (double)slots * sampled / jobs : 0;
}

const char *controller_reason_name(enum controller_reason reason) {
	static const char *const names[] = {
		[CONTROLLER_KEPT] = "unchanged", [CONTROLLER_CPUS_IDLE] = "processors are idle", [CONTROLLER_JOBS_SLEEP] = "jobs sleep",
		[CONTROLLER_JOBS_RUN] = "jobs wait for the processors", [CONTROLLER_NO_GAIN] = "more slots brought nothing",
		[CONTROLLER_MEMORY] = "memory is short", [CONTROLLER_DISK] = "the disk is busy",
	};
	return (size_t)reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}
