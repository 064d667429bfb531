// When a run will be done.

#include "report/eta.h"

#include "base/sync.h"

#include "test.h"

static struct eta *forecast;

static void tell(event_fn *fn, struct event event, uint64_t s) {
	event.at = (s + 1) * NS_PER_S;
	fn(forecast, &event);
}

static void begin(event_fn *fn, unsigned slots) {
	tell(fn, (struct event){.kind = EVENT_RUN_START, .u.run_start.slots = slots}, 0);
}

static struct event_job id_of(const char *batch, uint64_t number, unsigned slot) {
	return (struct event_job){.batch = batch, .number = number, .attempt = 1, .slot = slot};
}

static const char *command_of(uint64_t number) {
	static char command[40];
	snprintf(command, sizeof(command), "work %llu", (unsigned long long)number);
	return command;
}

static void start_job(event_fn *fn, const char *batch, uint64_t number, unsigned slot, uint64_t s) {
	const char *command = command_of(number);
	struct event event = {.kind = EVENT_JOB_START, .u.job_start = {
		.id = id_of(batch, number, slot), .nslots = 1, .command = command, .command_len = strlen(command),
	}};
	tell(fn, event, s);
}

static void end_job(event_fn *fn, const char *batch, uint64_t number, unsigned slot, uint64_t from, uint64_t to) {
	const char *command = command_of(number);
	struct event event = {.kind = EVENT_JOB_END, .u.job_end = {
		.id = id_of(batch, number, slot), .nslots = 1,
		.result = {.start = (from + 1) * NS_PER_S, .end = (to + 1) * NS_PER_S}, .command = command, .command_len = strlen(command),
	}};
	tell(fn, event, to);
}

static void run_job(event_fn *fn, const char *batch, uint64_t number, unsigned slot, uint64_t from, uint64_t to) {
	start_job(fn, batch, number, slot, from);
	end_job(fn, batch, number, slot, from, to);
}

static uint64_t eta(uint64_t s, unsigned slots, struct eta_batch *batches, size_t n) {
	uint64_t ns = eta_at(forecast, (s + 1) * NS_PER_S, slots, batches, n);
	return ns == NOT_KNOWN ? ns : ns / NS_PER_S;
}

static void test_not_too_early(void) {
	forecast = eta_new();
	begin(eta_on_event, 1);
	struct eta_batch batches[] = {{.name = "a", .jobs = 10}};
	check(eta(5, 1, batches, 1) == NOT_KNOWN);
	check(eta_mean(forecast) == NOT_KNOWN);
	for (uint64_t i = 0; i < 3; ++i) {
		check(eta(i, 1, batches, 1) == NOT_KNOWN);
		run_job(eta_on_event, "a", i + 1, 1, i, i + 1);
	}
	check_equal(eta(3, 1, batches, 1), 7);
	check_equal(eta_mean(forecast), NS_PER_S);
	eta_free(forecast);
}

static void test_means(void) {
	forecast = eta_new();
	begin(eta_on_event, 2);
	for (uint64_t i = 1; i <= 4; ++i) {
		run_job(eta_on_event, "short", i, 1, 10 * i, 10 * i + 1);
		run_job(eta_on_event, "long", i, 2, 10 * i, 10 * i + 10);
	}
	struct eta_batch batches[] = {{.name = "short", .jobs = 14}, {.name = "long", .jobs = 9}, {.name = "new", .jobs = 0}};
	check_equal(eta(50, 2, batches, 3), (10 * 1 + 5 * 10) / 2);
	check_equal(batches[0].work, 10 * NS_PER_S);
	check_equal(batches[0].eta / NS_PER_S, 30); // turn by turn, an eleventh of the time on the slots until the long ones end
	check_equal(batches[1].eta / 100000000, 275);
	start_job(eta_on_event, "long", 5, 2, 50); // 4 s of its 10 have passed
	check_equal(eta(54, 2, batches, 3), (10 + 40 + 6) / 2);
	batches[1].jobs = 5;
	batches[0].jobs = 4;
	check_equal(eta(54, 2, batches, 3), 6); // alone
	check(eta(70, 2, batches, 3) == NOT_KNOWN); // it should be done
	struct event event = {.kind = EVENT_BATCH_START, .u.batch = {.batch = "short", .max_parallel = 1}};
	tell(eta_on_event, event, 54);
	batches[0].jobs = 34;
	check_equal(eta(54, 10, batches, 3), 30); // one at a time
	event.u.batch = (struct event_batch){.batch = "short", .interval = 3 * NS_PER_S};
	tell(eta_on_event, event, 54);
	check_equal(eta(54, 10, batches, 3), 90); // one in three seconds
	event.u.batch.interval = NS_PER_S / 4;
	tell(eta_on_event, event, 54);
	check_equal(eta(54, 10, batches, 3), 7); // four in a second
	event.u.batch.interval = UINT64_C(1000000000) * NS_PER_S;
	tell(eta_on_event, event, 54);
	check_equal(eta(54, 10, batches, 3), 1000000000); // one in 30 years, and not more than that is told
	eta_free(forecast);
}

static void test_fair_time(void) {
	forecast = eta_new();
	tell(eta_on_event, (struct event){.kind = EVENT_RUN_START, .u.run_start = {.slots = 2, .fair_time = true}}, 0);
	for (uint64_t i = 1; i <= 4; ++i) {
		run_job(eta_on_event, "short", i, 1, 10 * i, 10 * i + 1);
		run_job(eta_on_event, "long", i, 2, 10 * i, 10 * i + 10);
	}
	struct eta_batch batches[] = {{.name = "short", .jobs = 14}, {.name = "long", .jobs = 9}};
	check_equal(eta(50, 2, batches, 2), 30);
	check_equal(batches[0].eta / NS_PER_S, 10); // half of the slots
	check_equal(batches[1].eta / NS_PER_S, 30);
	struct event event = {.kind = EVENT_BATCH_START, .u.batch = {.batch = "short", .weight = 3}};
	tell(eta_on_event, event, 50);
	check_equal(eta(50, 2, batches, 2), 30);
	check_equal(batches[0].eta / 100000000, 66); // three quarters of them
	eta_free(forecast);
}

static void test_needs(void) {
	forecast = eta_new();
	begin(eta_on_event, 4);
	for (uint64_t i = 1; i <= 4; ++i) {
		run_job(eta_on_event, "a", i, 1, 5 * i, 5 * i + 5);
	}
	static const uint32_t first[] = {0}, both[] = {0, 1};
	struct eta_batch batches[] = {
		{.name = "a", .jobs = 12}, {.name = "b", .jobs = 1, .needs = first, .nneeds = 1},
		{.name = "c", .jobs = 8, .needs = both, .nneeds = 2},
	};
	check_equal(eta(25, 4, batches, 3), 10 + 5 + 10); // b has one job, so three slots are idle
	check_equal(batches[0].eta / NS_PER_S, 10);
	check_equal(batches[1].eta / NS_PER_S, 15);
	check_equal(batches[2].eta / NS_PER_S, 25);
	struct event event = {.kind = EVENT_LOST, .u.lost = {.batch = "b", .jobs = 1}};
	tell(eta_on_event, event, 25);
	check_equal(eta(25, 4, batches, 3), 10 + 10);
	eta_free(forecast);
}

static void test_pauses(void) {
	forecast = eta_new();
	begin(eta_on_event, 1);
	for (uint64_t i = 1; i <= 3; ++i) {
		run_job(eta_on_event, "a", i, 1, i, i + 1);
	}
	start_job(eta_on_event, "a", 4, 1, 4);
	struct event event = {.kind = EVENT_JOB_END, .u.job_end = {
		.id = id_of("a", 4, 1), .nslots = 1, .next = NEXT_RETRY, .result = {.start = 5 * NS_PER_S, .end = 6 * NS_PER_S},
	}};
	struct eta_batch batches[] = {{.name = "a", .jobs = 4}, {.name = "b", .jobs = 0}};
	tell(eta_on_event, event, 5);
	check_equal(eta(5, 1, batches, 2), 1); // its next attempt
	event.kind = EVENT_WAIT;
	event.u.wait = (struct event_wait){.batch = "a", .number = 4, .why = WHY_RETRY, .until = (35 + 1) * NS_PER_S};
	tell(eta_on_event, event, 5);
	check_equal(eta(5, 1, batches, 2), 31);
	batches[1].jobs = 7; // others use the time
	check_equal(eta(5, 1, batches, 2), 31);
	batches[1].jobs = 0;
	event.kind = EVENT_WAIT_END;
	tell(eta_on_event, event, 36);
	check_equal(eta(36, 1, batches, 2), 1);
	event = (struct event){.kind = EVENT_JOB_START, .u.job_start = {.id = id_of("a", 4, 1), .nslots = 1}};
	event.u.job_start.id.attempt = 2;
	tell(eta_on_event, event, 40);
	check_equal(eta(40, 1, batches, 2), 1);
	end_job(eta_on_event, "a", 4, 1, 40, 41);
	check_equal(eta(41, 1, batches, 2), 0);
	eta_free(forecast);
}

static void test_very_many(void) {
	static struct eta_batch batches[1000];
	static char names[1000][8];
	forecast = eta_new();
	begin(eta_on_event, 4);
	for (size_t i = 0; i < 1000; ++i) {
		snprintf(names[i], sizeof(names[i]), "b%zu", i);
		run_job(eta_on_event, names[i], 1, 1, i, i + 1);
		batches[i] = (struct eta_batch){.name = names[i], .jobs = 5};
	}
	check_equal(eta(1000, 4, batches, 1000), 1000); // in all, but not of each
	check(batches[0].eta == NOT_KNOWN);
	eta_free(forecast);
}

static void test_lost(void) {
	forecast = eta_new();
	begin(eta_on_event, 1);
	for (uint64_t i = 1; i <= 3; ++i) {
		run_job(eta_on_event, "a", i, 1, i, i + 1);
	}
	struct event event = {.kind = EVENT_LOST, .u.lost = {.batch = "a", .jobs = 5}};
	tell(eta_on_event, event, 4);
	struct eta_batch batches[] = {{.name = "a", .jobs = 10}};
	check_equal(eta(4, 1, batches, 1), 2);
	eta_free(forecast);
}

// A former run in which job n took n seconds.
static void learn(uint64_t jobs) {
	forecast = eta_new();
	begin(eta_learn, 1);
	for (uint64_t i = 1; i <= jobs; ++i) {
		run_job(eta_learn, "a", i, 1, 100 * i, 101 * i);
	}
}

static void test_former_run(void) {
	learn(10);
	begin(eta_on_event, 1);
	struct eta_batch batches[] = {{.name = "a", .jobs = 10}};
	check_equal(eta(0, 1, batches, 1), 55);
	start_job(eta_on_event, "a", 10, 1, 0); // the longest first
	check_equal(eta(0, 1, batches, 1), 55);
	check_equal(eta(4, 1, batches, 1), 51);
	end_job(eta_on_event, "a", 10, 1, 0, 10);
	check_equal(eta(10, 1, batches, 1), 45);
	batches[0].jobs = 19; // nine more than there were: as those that are to come
	check_equal(eta(10, 1, batches, 1), 90);
	eta_free(forecast);
}

static void test_no_guide(void) {
	learn(20);
	begin(eta_on_event, 1);
	run_job(eta_on_event, "a", 1, 1, 0, 14);
	struct eta_batch batches[] = {{.name = "a", .jobs = 20}};
	check_equal(eta(14, 1, batches, 1), 209);
	run_job(eta_on_event, "a", 2, 1, 14, 30); // in place of 1 and 2 seconds, 14 and 16
	run_job(eta_on_event, "a", 3, 1, 30, 60);
	check_equal(eta(60, 1, batches, 1), 17 * 20);
	eta_free(forecast);
}

static void test_steps(void) {
	forecast = eta_new();
	begin(eta_on_event, 1);
	for (uint64_t i = 1; i <= 3; ++i) {
		start_job(eta_on_event, "a", i, 1, 10 * i);
		struct event event = {.kind = EVENT_JOB_END, .u.job_end = {
			.id = id_of("a", i, 1), .next = NEXT_STEP, .result = {.start = (10 * i + 1) * NS_PER_S, .end = (10 * i + 5) * NS_PER_S},
		}};
		tell(eta_on_event, event, 10 * i + 4);
		event.kind = EVENT_JOB_START;
		event.u.job_start = (struct event_job_start){.id = id_of("a", i, 1), .command = "then", .command_len = 4};
		event.u.job_start.id.step = 1;
		tell(eta_on_event, event, 10 * i + 4);
		end_job(eta_on_event, "a", i, 1, 10 * i + 4, 10 * i + 10);
	}
	check_equal(eta_mean(forecast) / NS_PER_S, 10);
	eta_free(forecast);
}

static void test_many_batches(void) {
	forecast = eta_new();
	begin(eta_on_event, 1);
	for (uint64_t i = 0; i < 3000; ++i) {
		char name[20];
		snprintf(name, sizeof(name), "b%llu", (unsigned long long)i);
		run_job(eta_on_event, name, 1, 1, i, i + 1);
	}
	struct eta_batch batches[] = {{.name = "", .jobs = 5000}};
	check_equal(eta(3000, 1, batches, 1), 3000);
	eta_free(forecast);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("there is none before 3 jobs and 2 seconds", test_not_too_early),
		TEST("each batch has its own mean, the longest job and max_parallel are bounds", test_means),
		TEST("the shares are of turns or of time, with weights", test_fair_time),
		TEST("a batch begins when those that it needs have ended", test_needs),
		TEST("a job that is to be tried again is still to come, after its pause", test_pauses),
		TEST("of very many batches the end of each is not worked out", test_very_many),
		TEST("jobs that never start are not waited for", test_lost),
		TEST("jobs of a former run have their own times, from the start", test_former_run),
		TEST("a former run that was wholly different is no guide", test_no_guide),
		TEST("the steps of a job are one job", test_steps),
		TEST("memory is bounded whatever the number of batches", test_many_batches),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
