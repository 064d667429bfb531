// Tests of the controller of -j auto (slots/controller.h): simulated machines, on which it is compared with each fixed
// number of slots, and golden traces of what it decides.

#include "slots/controller.h"

#include "base/random.h"

#include "test.h"

#define MS UINT64_C(1000000)

enum { MOST_JOBS = 1024, MOST_PHASES = 2 };

// What a job does, in turn.
enum doing { COMPUTES, SLEEPS, WAITS_FOR_DISK, ASKS_SERVER, NOTHING };

struct phase {
	enum doing doing;
	unsigned ms;               // that it takes alone
};

struct kind {
	unsigned n;                // jobs of it
	struct phase phases[MOST_PHASES];
};

struct job {
	const struct kind *kind;   // NULL: the slot is free
	unsigned phase;
	double left;               // ms of the phase
	uint64_t start;
};

struct world {
	double cpus;
	double server;             // clients that it serves at once at full speed
	struct kind kinds[4];      // run one after the other, as long as their slots allow
	unsigned others;           // processes that compute all the time beside the jobs
	unsigned memory_jobs;      // with more than these all wait for memory half of the time; 0: never
	double cpus_then;          // from the tenth second on, or 0

	// state
	uint64_t now;
	unsigned kind, started;    // the kind that is next, and how many of it were started
	struct job jobs[MOST_JOBS];
	unsigned running, top;     // no job is at `top` or above
	uint64_t random;
	uint64_t next_sample, last_sample;
	double idle;               // processors, in ns, since then
	struct controller controller;
	struct controller_batch batches[4];
	struct controller_observation observation;
	char trace[4096];
	size_t trace_len;
};

static bool has_more(const struct world *world) {
	return world->kind < 4 && world->kinds[world->kind].n > 0;
}

// Half to one and a half times as much.
static double vary(struct world *world, unsigned ms) {
	return ms * (0.5 + (double)(random_next(&world->random) % 1000) / 1000);
}

static void start_jobs(struct world *world, unsigned slots) {
	for (unsigned i = 0; i < MOST_JOBS && world->running < slots && has_more(world); ++i) {
		world->top = i < world->top ? world->top : i + 1;
		struct job *job = &world->jobs[i];
		if (job->kind) {
			continue;
		}
		const struct kind *kind = &world->kinds[world->kind];
		*job = (struct job){.kind = kind, .left = vary(world, kind->phases[0].ms), .start = world->now};
		++world->running;
		if (++world->started == kind->n) {
			++world->kind;
			world->started = 0;
		}
	}
}

static enum doing doing(const struct job *job) {
	return job->kind ? job->kind->phases[job->phase].doing : NOTHING;
}

static void end_job(struct world *world, struct job *job) {
	double wall = (double)(world->now - job->start);
	++world->observation.ended;
	world->observation.wall_ns += wall;
	world->observation.work_ns += controller_work(&world->batches[job->kind - world->kinds], wall);
	job->kind = NULL;
	--world->running;
}

// One millisecond: processors, the one disk, and the server are shared by those who want them.
static void step(struct world *world) {
	unsigned n[NOTHING + 1] = {0};
	for (unsigned i = 0; i < world->top; ++i) {
		++n[doing(&world->jobs[i])];
	}
	n[COMPUTES] += world->others;
	double speed[NOTHING + 1] = {
		[COMPUTES] = n[COMPUTES] > world->cpus ? world->cpus / n[COMPUTES] : 1,
		[SLEEPS] = 1,
		[WAITS_FOR_DISK] = n[WAITS_FOR_DISK] > 1 ? 1.0 / n[WAITS_FOR_DISK] : 1,
		[ASKS_SERVER] = n[ASKS_SERVER] > world->server ? world->server / n[ASKS_SERVER] : 1,
	};
	world->now += MS;
	world->cpus = world->cpus_then > 0 && world->now >= 10000 * MS ? world->cpus_then : world->cpus;
	world->idle += n[COMPUTES] < world->cpus ? (world->cpus - n[COMPUTES]) * MS : 0;
	for (unsigned i = 0; i < world->top; ++i) {
		struct job *job = &world->jobs[i];
		enum doing what = doing(job);
		if (what == NOTHING) {
			continue;
		}
		job->left -= speed[what];
		while (job->left <= 0) {
			if (++job->phase == MOST_PHASES || job->kind->phases[job->phase].ms == 0) {
				end_job(world, job);
				break;
			}
			job->left += vary(world, job->kind->phases[job->phase].ms);
		}
	}
}

static void trace_slots(struct world *world) {
	size_t room = sizeof(world->trace) - world->trace_len;
	int len = snprintf(world->trace + world->trace_len, room, "%.1f %u %s\n", (double)world->now / 1e9, world->controller.slots,
	                   controller_reason_name(world->controller.reason));
	check(len > 0 && (size_t)len < room);
	world->trace_len += (size_t)len;
}

// What an observer would see now, of at most SAMPLED jobs.
static void look(struct world *world) {
	enum { SAMPLED = 64 };
	struct controller_observation *observation = &world->observation;
	observation->now = world->now;
	observation->cpus = world->cpus;
	observation->running = world->running;
	observation->wanted = has_more(world);
	observation->pressure.memory_full = world->memory_jobs > 0 && world->running > world->memory_jobs ? 0.5 : 0;
	observation->pressure.idle = world->idle / world->cpus / (double)(world->now - world->last_sample);
	world->idle = 0;
	world->last_sample = world->now;
	for (unsigned i = 0; i < 4 * SAMPLED && observation->sampled < SAMPLED; ++i) {
		enum doing what = doing(&world->jobs[world->top < SAMPLED ? i % MOST_JOBS : random_next(&world->random) % world->top]);
		observation->sampled += what != NOTHING;
		observation->busy += what == COMPUTES || what == WAITS_FOR_DISK;
	}
	unsigned before = world->controller.slots;
	world->next_sample = controller_decide(&world->controller, observation);
	if (world->controller.slots != before) {
		trace_slots(world);
	}
	*observation = (struct controller_observation){0};
}

// Runs all jobs of a copy of the world with so many slots, or with those that the controller gives (0). Gives up after
// `most` seconds. Returns the copy, which is good until the next call.
static const struct world *run(const struct world *of, unsigned slots, double most) {
	static struct world world;
	world = *of;
	world.random = 1;
	controller_init(&world.controller, 1, 512, world.cpus, 0);
	world.next_sample = world.controller.tick;
	do {
		start_jobs(&world, slots > 0 ? slots : world.controller.slots);
		step(&world);
		if (slots == 0 && world.now >= world.next_sample) {
			look(&world);
		}
	} while ((world.running > 0 || has_more(&world)) && (double)world.now <= most * 1e9);
	return &world;
}

// Fails unless the controller takes at most 1.10 times as long as the best fixed number of slots.
static void check_near_best(const char *name, const struct world *world) {
	static const unsigned sweep[] = {512, 256, 128, 64, 32, 24, 16, 12, 10, 8, 6, 5, 4, 3, 2, 1};
	double best = 1000;
	unsigned best_slots = 0;
	for (size_t i = 0; i < sizeof(sweep) / sizeof(sweep[0]); ++i) {
		double seconds = (double)run(world, sweep[i], best)->now / 1e9;
		if (seconds < best) {
			best = seconds;
			best_slots = sweep[i];
		}
	}
	const struct world *ended = run(world, 0, 2 * best);
	double seconds = (double)ended->now / 1e9;
	if (seconds > 1.10 * best) {
		printf("# %s: %.1f s, %.2f times the %.1f s of -j%u:\n%s", name, seconds, seconds / best, best, best_slots, ended->trace);
	}
	check(seconds <= 1.10 * best);
}

#define WORLD(processors, ...) &(struct world){.cpus = (processors), .kinds = {__VA_ARGS__}}

static void test_computing(void) {
	check_near_best("4 processors, 0.2 s", WORLD(4, {1200, {{COMPUTES, 200}}}));
	check_near_best("2 processors, 7 s", WORLD(2, {20, {{COMPUTES, 7000}}}));
	check_near_best("1.5 processors, 0.1 s", WORLD(1.5, {900, {{COMPUTES, 100}}}));
}

static void test_sleeping(void) {
	check_near_best("sleep 0.2", WORLD(2, {100000, {{SLEEPS, 200}}}));
	check_near_best("5 ms of start, sleep 1", WORLD(2, {24000, {{COMPUTES, 5}, {SLEEPS, 1000}}}));
	check_near_best("sleep 5", WORLD(2, {6000, {{COMPUTES, 10}, {SLEEPS, 5000}}}));
}

static void test_mixed(void) {
	check_near_best("half and half, 0.2 s", WORLD(2, {1200, {{COMPUTES, 100}, {SLEEPS, 100}}}));
	check_near_best("half and half, 4 s", WORLD(2, {60, {{COMPUTES, 2000}, {SLEEPS, 2000}}}));
	check_near_best("a tenth, 8 processors", WORLD(8, {9600, {{COMPUTES, 50}, {SLEEPS, 450}}}));
	check_near_best("a huge one, then small ones", WORLD(2, {1, {{COMPUTES, 30000}}}, {600, {{COMPUTES, 50}}}, {3000, {{SLEEPS, 500}}}));
}

// They want as much as there is, and get half: 48 s for 24000 * 2 ms. More slots would take it away from them.
static void test_others(void) {
	const struct world world = {.cpus = 2, .others = 2, .kinds = {{24000, {{COMPUTES, 2}, {SLEEPS, 500}}}}};
	check((double)run(&world, 0, 1000)->now / 1e9 < 1.15 * 48);
}

static void test_phases(void) {
	check_near_best("compute, then sleep", WORLD(2, {600, {{COMPUTES, 100}}}, {12000, {{COMPUTES, 5}, {SLEEPS, 1000}}}));
	check_near_best("sleep, then compute", WORLD(2, {12000, {{COMPUTES, 5}, {SLEEPS, 1000}}}, {600, {{COMPUTES, 100}}}));
}

static void test_disk(void) {
	check_near_best("a disk", WORLD(2, {1500, {{WAITS_FOR_DISK, 40}, {COMPUTES, 20}}}));
}

// They look asleep.
static void test_server(void) {
	check_near_best("a server of 8 clients", &(struct world){.cpus = 2, .server = 8, .kinds = {{6000, {{ASKS_SERVER, 80}}}}});
}

// ---- golden traces: second, slots, reason ----

static void test_trace_sleeping(void) {
	check_string(run(WORLD(2, {1500, {{SLEEPS, 1000}}}), 0, 100)->trace,
		"0.1 4 jobs sleep\n" "0.2 8 jobs sleep\n" "0.3 16 jobs sleep\n" "0.4 32 jobs sleep\n"
		"0.5 64 jobs sleep\n" "0.6 128 jobs sleep\n" "0.7 256 jobs sleep\n" "0.8 512 jobs sleep\n");
}

static void test_trace_phases(void) {
	check_string(run(WORLD(2, {3000, {{COMPUTES, 5}, {SLEEPS, 500}}}, {200, {{COMPUTES, 100}}}), 0, 100)->trace,
		"0.1 4 jobs sleep\n" "0.2 8 jobs sleep\n" "0.3 16 jobs sleep\n" "0.4 32 jobs sleep\n"
		"0.5 64 jobs sleep\n" "0.6 128 jobs sleep\n" "0.8 177 jobs sleep\n" "1.2 227 jobs sleep\n"
		"2.7 184 jobs wait for the processors\n" "2.8 368 jobs sleep\n" "4.8 154 jobs wait for the processors\n"
		"5.2 236 jobs sleep\n" "5.3 472 jobs sleep\n" "7.9 165 jobs wait for the processors\n"
		"8.3 225 jobs sleep\n" "8.4 450 jobs sleep\n" "10.9 32 jobs wait for the processors\n"
		"16.2 2 jobs wait for the processors\n");
}

static void test_trace_memory(void) {
	check_string(run(&(struct world){.cpus = 8, .memory_jobs = 3, .kinds = {{40, {{COMPUTES, 3000}}}}}, 0, 100)->trace,
		"0.1 6 memory is short\n" "1.2 5 memory is short\n" "2.4 4 memory is short\n" "3.5 3 memory is short\n");
}

static void test_trace_quota(void) {
	check_string(run(&(struct world){.cpus = 1, .cpus_then = 4, .kinds = {{200, {{COMPUTES, 200}}}}}, 0, 100)->trace,
		"10.3 2 processors are idle\n" "10.4 3 processors are idle\n" "10.5 4 processors are idle\n");
	check_string(run(&(struct world){.cpus = 4, .cpus_then = 1, .kinds = {{300, {{COMPUTES, 200}}}}}, 0, 100)->trace,
		"11.3 1 jobs wait for the processors\n");
	check_string(run(&(struct world){.cpus = 2, .cpus_then = 1, .kinds = {{150, {{COMPUTES, 200}}}}}, 0, 100)->trace,
		"10.3 1 jobs wait for the processors\n"); // though two are only one too many
	const struct world *loaded = run(&(struct world){.cpus = 1, .cpus_then = 4, .others = 8, .kinds = {{200, {{COMPUTES, 200}}}}}, 0, 200);
	check_equal(loaded->controller.slots, 4); // their share, though nothing is idle
}

// Whatever the signals say.
static void test_least(void) {
	struct controller controller;
	uint64_t now = 0;
	controller_init(&controller, 1, 8, 0.5, now);
	for (unsigned i = 0; i < 1000; ++i) {
		now += 1000 * MS;
		(void)controller_decide(&controller, &(struct controller_observation){.now = now, .cpus = 0.1, .running = controller.slots,
			.wanted = true, .sampled = controller.slots, .busy = 100, .pressure = {.memory_full = 1, .disk_full = 1}});
		check_equal(controller.slots, 1);
	}
}

static void test_bounds(void) {
	struct controller controller;
	uint64_t now = 0;
	controller_init(&controller, 3, 6, 2, now);
	check_equal(controller.slots, 3);
	for (unsigned i = 0; i < 1000; ++i) {
		now += 100 * MS;
		bool sleeps = i / 100 % 2 == 0;
		(void)controller_decide(&controller, &(struct controller_observation){.now = now, .cpus = 2, .running = controller.slots,
			.wanted = true, .sampled = controller.slots, .busy = sleeps ? 0 : controller.slots, .pressure.idle = sleeps, .ended = 1, .wall_ns = 1e8,
			.work_ns = 1e8});
		check(controller.slots >= 3 && controller.slots <= 6);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("jobs that compute get the processors there are", test_computing),
		TEST("jobs that sleep get as many slots as they can use", test_sleeping),
		TEST("jobs that do both get what they leave free", test_mixed),
		TEST("a machine that others use is shared with them", test_others),
		TEST("a change of what jobs do is followed", test_phases),
		TEST("jobs that wait for a disk add no slots", test_disk),
		TEST("slots that bring no throughput are withdrawn", test_server),
		TEST("trace: jobs that sleep", test_trace_sleeping),
		TEST("trace: jobs that sleep, then such as compute", test_trace_phases),
		TEST("trace: shortage of memory takes slots away", test_trace_memory),
		TEST("trace: a change of the quota is followed", test_trace_quota),
		TEST("one job runs, whatever the signals say", test_least),
		TEST("the bounds are kept", test_bounds),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
