// -j auto: looks at the running jobs and at the machine, and gives the run the number of slots that the controller decides.

#include "run/auto_slots.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/random.h"
#include "process/pressure.h"
#include "process/proctree.h"
#include "run/admission.h"
#include "run/publish.h"
#include "run/start_order.h"
#include "slots/controller.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOKS = 64,          // jobs in a look
	COST_PART = 100,     // of one processor's time, which looks may take
};

#define QUOTA_LOOK NS_PER_S // the quota is read again

struct auto_slots {
	struct run *run;
	struct controller controller;
	struct pressure pressure;
	const char *root;        // of /proc and the cgroups: "" but in tests
	double cpus;
	uint64_t cpus_read;
	uint64_t due;            // the next look
	uint64_t changed;        // when the number was set last
	uint64_t random;
	// of the last look
	pid_t pids[LOOKS];
	uint64_t ticks[LOOKS];
	size_t n;
	uint64_t looked;

	bool rests;              // no look before that
	atomic_bool starving;    // items wait for a slot, or the first job begins, since the last look
	atomic_bool idle;        // no job runs: the next one to begin is the first

	mutex lock;              // guards what follows, and controller_batch of the batches
	unsigned attempts;       // that have begun and not ended
	uint64_t ended;
	double wall_ns, work_ns; // of these
};

unsigned auto_slots_open(struct run *run, const struct slots_bounds *bounds) {
	struct auto_slots *auto_slots = run->auto_slots = NEW(struct auto_slots);
	uint64_t now = now_ns();
	auto_slots->run = run;
	auto_slots->root = "";
#ifdef FAIRPAR_FAULTS
	const char *root = getenv("FAIRPAR_ROOT");
	auto_slots->root = root ? root : "";
#endif
	mutex_init(&auto_slots->lock, LOCK_AUTO_SLOTS);
	auto_slots->cpus = slots_cpus(auto_slots->root);
	auto_slots->cpus_read = auto_slots->changed = now;
	random_bytes(&auto_slots->random, sizeof(auto_slots->random));
	pressure_open(&auto_slots->pressure, auto_slots->root, now);
	controller_init(&auto_slots->controller, bounds->least, bounds->most, auto_slots->cpus, now);
	auto_slots->due = controller_resume(&auto_slots->controller, now);
	return auto_slots->controller.slots;
}

void auto_slots_close(struct run *run) {
	struct auto_slots *auto_slots = run->auto_slots;
	if (auto_slots) {
		pressure_close(&auto_slots->pressure);
		mutex_fini(&auto_slots->lock);
		free(auto_slots);
		run->auto_slots = NULL;
	}
}

unsigned auto_slots_most(const struct auto_slots *auto_slots) {
	return auto_slots->controller.most;
}

// ---- what others tell ----

void auto_slots_starving(struct auto_slots *auto_slots) {
	atomic_store_relaxed(&auto_slots->starving, true);
	run_wake(auto_slots->run);
}

void auto_slots_begin(struct auto_slots *auto_slots) {
	mutex_lock(&auto_slots->lock);
	++auto_slots->attempts;
	mutex_unlock(&auto_slots->lock);
	if (atomic_load_relaxed(&auto_slots->idle) && atomic_exchange(&auto_slots->idle, false)) {
		auto_slots_starving(auto_slots);
	}
}

void auto_slots_end(struct auto_slots *auto_slots, struct batch *batch, unsigned width, const struct result *result) {
	double wall = (double)result_wall(result) * width;
	mutex_lock(&auto_slots->lock);
	--auto_slots->attempts;
	if (wall > 0) {
		++auto_slots->ended;
		auto_slots->wall_ns += wall;
		auto_slots->work_ns += controller_work(&batch->pace, wall);
	}
	mutex_unlock(&auto_slots->lock);
}

// ---- a look ----

static uint64_t thread_cpu_ns(void) {
	struct timespec used;
	verify(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

// The processors that a job with threads has used since the last look, if it was looked at then: else 0.
static double used_since(const struct auto_slots *auto_slots, pid_t pid, uint64_t ticks, uint64_t now) {
	double seconds = (double)(now - auto_slots->looked) / 1e9;
	for (size_t i = 0; i < auto_slots->n; ++i) {
		if (auto_slots->pids[i] == pid && ticks >= auto_slots->ticks[i] && seconds > 0) {
			return (double)(ticks - auto_slots->ticks[i]) / (double)sysconf(_SC_CLK_TCK) / seconds;
		}
	}
	return 0;
}

// Looks at the processes of some jobs.
static void look_at_jobs(struct auto_slots *auto_slots, struct controller_sight *sight) {
	pid_t pids[LOOKS];
	struct tree_use uses[LOOKS];
	unsigned running, alive = 0;
	size_t n = children_sample(auto_slots->run->children, random_next(&auto_slots->random), pids, LOOKS, &running);
	proctree_use(pids, n, uses);
	for (size_t i = 0; i < n; ++i) {
		double used = uses[i].has_threads ? used_since(auto_slots, pids[i], uses[i].cpu_ticks, sight->now) : 0;
		alive += uses[i].processes > 0;
		sight->busy += used > uses[i].busy ? used : uses[i].busy;
	}
	for (size_t i = 0; i < n; ++i) {
		auto_slots->pids[i] = pids[i];
		auto_slots->ticks[i] = uses[i].cpu_ticks;
	}
	auto_slots->n = n;
	auto_slots->looked = sight->now;
	sight->looked = running > 0 ? (double)sight->running * alive / running : 0; // a job may have several slots, or lend them
}

static void look_at_machine(struct auto_slots *auto_slots, struct controller_sight *sight) {
	struct pressure_sight pressure;
	if (sight->now - auto_slots->cpus_read >= QUOTA_LOOK) {
		auto_slots->cpus = slots_cpus(auto_slots->root);
		auto_slots->cpus_read = sight->now;
	}
	pressure_look(&auto_slots->pressure, auto_slots->cpus, sight->now, &pressure);
	sight->cpus = auto_slots->cpus;
	sight->idle = pressure.idle;
	sight->memory_full = pressure.memory_full;
	sight->disk_full = pressure.disk_full;
}

// Takes what was counted since the last look. Returns how many attempts have begun and not ended.
static unsigned take_counts(struct auto_slots *auto_slots, struct controller_sight *sight) {
	mutex_lock(&auto_slots->lock);
	unsigned attempts = auto_slots->attempts;
	sight->ended = auto_slots->ended;
	sight->wall_ns = auto_slots->wall_ns;
	sight->work_ns = auto_slots->work_ns;
	auto_slots->ended = 0;
	auto_slots->wall_ns = auto_slots->work_ns = 0;
	mutex_unlock(&auto_slots->lock);
	return attempts;
}

static void set_slots(struct run *run, const struct controller *controller) {
	start_order_reserve(run->start_order, controller->slots, 0);
	pool_set_slots(run->pool, controller->slots);
	publish_slots(run, controller->slots, controller_reason_name(controller->reason));
}

// Looks, and decides. Returns when to do so again.
static uint64_t look(struct auto_slots *auto_slots, unsigned slots_taken, uint64_t now) {
	struct controller *controller = &auto_slots->controller;
	struct controller_sight sight = {.now = now, .running = slots_taken};
	unsigned before = controller->slots, running = children_count(auto_slots->run->children);
	unsigned attempts = take_counts(auto_slots, &sight);
	// where half of the jobs wait for something else (the load, memory), more slots would only wait with them
	sight.wanted = attempts <= 2 * running;
	look_at_jobs(auto_slots, &sight);
	look_at_machine(auto_slots, &sight);
	uint64_t due = controller_look(controller, &sight);
	if (controller->slots != before) {
		auto_slots->changed = now;
		set_slots(auto_slots->run, controller);
	}
	return due;
}

void auto_slots_show(const struct auto_slots *auto_slots) {
	const struct controller *controller = &auto_slots->controller;
	const char *why = controller->reason == CONTROLLER_KEPT ? "as at the beginning" : controller_reason_name(controller->reason);
	diag_note("slots: %u for %.1fs: %s", controller->slots, (double)(now_ns() - auto_slots->changed) / 1e9, why);
}

// After a rest: what was is of no use any more.
static void begin_anew(struct auto_slots *auto_slots, uint64_t now) {
	struct controller_sight ignored = {.now = now};
	auto_slots->rests = false;
	(void)take_counts(auto_slots, &ignored);
	look_at_machine(auto_slots, &ignored);
	auto_slots->n = 0;
	auto_slots->due = controller_resume(&auto_slots->controller, now);
}

uint64_t auto_slots_tick(struct auto_slots *auto_slots, uint64_t now) {
	struct run *run = auto_slots->run;
	struct pool_stat stat;
	if (run->stopping) {
		return TIME_NEVER;
	}
	if (atomic_exchange(&auto_slots->starving, false) && auto_slots->rests) {
		begin_anew(auto_slots, now);
	}
	if (now < auto_slots->due) {
		return auto_slots->due;
	}
	uint64_t used = thread_cpu_ns();
	bool wanted = pool_demand(run->pool, 1) > 0; // auto_slots_starving() is called when there is some
	atomic_store(&auto_slots->idle, wanted);     // before it is asked what runs
	pool_stat(run->pool, &stat);
	if (!wanted || stat.slots_taken == 0) {
		auto_slots->rests = true;
		return auto_slots->due = TIME_NEVER;
	}
	atomic_store_relaxed(&auto_slots->idle, false);
	uint64_t due = look(auto_slots, (unsigned)stat.slots_taken, now);
	uint64_t earliest = now + (thread_cpu_ns() - used) * COST_PART;
	return auto_slots->due = due > earliest ? due : earliest;
}
