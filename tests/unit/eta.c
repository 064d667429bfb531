// When a run will be done.

#include "report/status_line.h"

#include "base/alloc.h"
#include "base/sync.h"

#include "test.h"

enum { BATCHES = 4 };

static struct run_stats *stats;
static struct former_run *former;
static struct status_batch batches[BATCHES];

static void tell(struct event event, uint64_t s) {
	event.at = (s + 1) * NS_PER_S;
	if (former) {
		former_run_on_event(former, &event);
	} else {
		stats_on_event(stats, &event);
	}
}

static void begin(void) {
	stats = NEW(struct run_stats);
	tell((struct event){.kind = EVENT_RUN_START, .u.run_start.slots = 2}, 0);
}

// A batch with so many jobs.
static void add_batch(struct event_batch batch) {
	batches[stats->nbatches] = (struct status_batch){.name = batch.batch, .jobs = (uint64_t)batch.jobs};
	tell((struct event){.kind = EVENT_BATCH_START, .u.batch = batch}, 0);
}

static struct event_job_start started(const char *batch, uint64_t number) {
	static char command[40];
	int len = snprintf(command, sizeof(command), "work %llu", (unsigned long long)number);
	return (struct event_job_start){
		.id = {.batch = batch, .number = number, .attempt = 1, .slot = 1}, .nslots = 1, .command = command, .command_len = (size_t)len,
	};
}

static void start_job(const char *batch, uint64_t number, uint64_t s) {
	tell((struct event){.kind = EVENT_JOB_START, .u.job_start = started(batch, number)}, s);
}

static void end_step(const char *batch, uint64_t number, unsigned step, uint64_t from, uint64_t to, enum event_next next) {
	struct event_job_start job = started(batch, number);
	job.id.step = step;
	tell((struct event){.kind = EVENT_JOB_END, .u.job_end = {
		.id = job.id, .nslots = 1, .items = 1, .next = next, .command = job.command, .command_len = job.command_len,
		.result = {.start = (from + 1) * NS_PER_S, .end = (to + 1) * NS_PER_S},
	}}, to);
}

static void end_job(const char *batch, uint64_t number, uint64_t from, uint64_t to) {
	end_step(batch, number, 0, from, to, NEXT_NOTHING);
}

static void run_job(const char *batch, uint64_t number, uint64_t from, uint64_t to) {
	start_job(batch, number, from);
	end_job(batch, number, from, to);
}

// The seconds until the run is done, from the second `s` of it on.
static uint64_t eta(uint64_t s, struct former_run *by) {
	for (size_t i = 0; i < stats->nbatches; ++i) {
		batches[i].finished = stats_ended(&stats->batches[i]);
		batches[i].running = stats->batches[i].running;
		batches[i].eta = NOT_KNOWN;
	}
	uint64_t ns = eta_set(batches, stats, by, 2, (s + 1) * NS_PER_S);
	return ns == NOT_KNOWN ? ns : ns / NS_PER_S;
}

static void test_not_too_early(void) {
	begin();
	add_batch((struct event_batch){.batch = "a", .jobs = 10});
	check(eta(5, NULL) == NOT_KNOWN);
	check(eta_mean(stats) == NOT_KNOWN);
	for (uint64_t i = 0; i < 4; ++i) {
		check(i == 3 || eta(i, NULL) == NOT_KNOWN);
		run_job("a", i + 1, i, i + 1);
	}
	check_equal(eta(4, NULL), 3);
	check_equal(eta_mean(stats), NS_PER_S);
	check(eta(1, NULL) == NOT_KNOWN); // three jobs, but not two seconds
	stats_free(stats);
}

static void test_means(void) {
	begin();
	add_batch((struct event_batch){.batch = "short", .jobs = 12, .weight = 1});
	add_batch((struct event_batch){.batch = "long", .jobs = 6, .weight = 1});
	add_batch((struct event_batch){.batch = "new", .jobs = 1, .weight = 1});
	run_job("short", 1, 0, 1);
	run_job("short", 2, 1, 2);
	run_job("long", 1, 0, 10);
	run_job("long", 2, 10, 20);
	check_equal(eta(20, NULL), (10 + 40 + 5) / 2); // 22 s by four jobs: what has not begun takes 5.5
	check_equal(batches[0].eta / NS_PER_S, 15);    // on a third of the slots
	check_equal(batches[1].eta / NS_PER_S, 27);    // no later than the run
	stats_free(stats);
}

static void test_bounds(void) {
	begin();
	add_batch((struct event_batch){.batch = "single", .jobs = 13, .max_parallel = 1});
	add_batch((struct event_batch){.batch = "rated", .jobs = 5, .interval = 20 * NS_PER_S});
	for (uint64_t i = 0; i < 3; ++i) {
		run_job("single", i + 1, i, i + 1);
	}
	run_job("rated", 1, 0, 1);
	check_equal(eta(3, NULL), 80);
	check_equal(batches[0].eta / NS_PER_S, 10);
	batches[1].jobs = 1;
	check_equal(eta(3, NULL), 10); // alone, it has one slot of two
	stats_free(stats);
}

static void test_last_ones(void) {
	begin();
	add_batch((struct event_batch){.batch = "a", .jobs = 4});
	for (uint64_t i = 0; i < 3; ++i) {
		run_job("a", i + 1, 10 * i, 10 * i + 10);
	}
	start_job("a", 4, 30);
	check_equal(eta(32, NULL), 8);
	check_equal(eta(39, NULL), 1);
	check(eta(41, NULL) == NOT_KNOWN);
	end_job("a", 4, 30, 41);
	check_equal(eta(41, NULL), 0);
	stats_free(stats);
}

static void test_former_run(void) {
	struct former_run *was = former_run_new();
	former = was;
	for (uint64_t i = 1; i <= 9; ++i) { // job n took n seconds
		run_job("a", i, 100 * i, 101 * i);
	}
	end_step("a", 10, 0, 0, 4, NEXT_RETRY); // in two attempts
	end_step("a", 10, 0, 0, 6, NEXT_NOTHING);
	former = NULL;
	begin();
	add_batch((struct event_batch){.batch = "b", .jobs = 10});
	check(eta(5, was) == NOT_KNOWN);
	stats_free(stats);
	begin();
	add_batch((struct event_batch){.batch = "a", .jobs = 10});
	check_equal(eta(0, was), 27);
	struct event_job_start longest = started("a", 10);
	former_run_take(was, &longest);
	run_job("a", 10, 0, 10);
	check_equal(eta(10, was), 45 / 2);
	batches[0].jobs = 19; // nine more than there were: as those that are to come
	check_equal(eta(10, was), 45);
	former_run_free(was);
	stats_free(stats);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("there is none before 3 jobs and 2 seconds", test_not_too_early),
		TEST("each batch has its own mean and its part of the slots", test_means),
		TEST("max_parallel and a rate are bounds", test_bounds),
		TEST("the last jobs take what is left of the mean, and then nobody knows", test_last_ones),
		TEST("jobs of a former run have their own times, from the start", test_former_run),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
