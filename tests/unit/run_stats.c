// The numbers of a run, against those worked out by hand.

#include "report/run_stats.h"

#include "base/alloc.h"
#include "base/sync.h"

#include "test.h"

#define S NS_PER_S
#define MS ((uint64_t)NS_PER_MS)

static struct run_stats *stats;
static uint64_t origin = 7 * S + 123; // the clock may stand anywhere

static void begin(unsigned slots) {
	stats = NEW(struct run_stats);
	struct event event = {
		.kind = EVENT_RUN_START,
		.at = origin,
		.u.run_start = {.run = "01RUN", .version = "0.1.0", .host = "h", .cwd = "/", .argv = "fairpar\0-f\0x.yaml", .nargv = 3, .slots = slots},
	};
	stats_on_event(stats, &event);
}

static void batch(const char *name, int64_t jobs, bool is_long) {
	struct event event = {
		.kind = EVENT_BATCH_START, .at = origin,
		.u.batch = {.batch = name, .weight = 1, .jobs = jobs, .long_running = is_long},
	};
	stats_on_event(stats, &event);
}

static void start(const char *name, uint64_t number, uint64_t from, unsigned attempt) {
	struct event event = {
		.kind = EVENT_JOB_START, .at = origin + from,
		.u.job_start = {.id = {.batch = name, .number = number, .attempt = attempt, .slot = 1}, .nslots = 1, .command = ""},
	};
	stats_on_event(stats, &event);
}

// The end of what ran from `from` to `to`.
static struct event ended(const char *name, uint64_t number, uint64_t from, uint64_t to, enum outcome outcome) {
	return (struct event){
		.kind = EVENT_JOB_END, .at = origin + to,
		.u.job_end = {
			.id = {.batch = name, .number = number, .attempt = 1, .slot = 1},
			.result = {.outcome = outcome, .exit_code = outcome == OUTCOME_FAILED, .start = origin + from, .end = origin + to},
			.nslots = 1,
			.items = 1,
			.command = "true",
			.command_len = 4,
		},
	};
}

static void job(const char *name, uint64_t number, uint64_t from, uint64_t to, enum outcome outcome) {
	start(name, number, from, 1);
	struct event event = ended(name, number, from, to, outcome);
	stats_on_event(stats, &event);
}

static void end(uint64_t at) {
	struct event event = {.kind = EVENT_RUN_END, .at = origin + at};
	stats_on_event(stats, &event);
	stats_finish(stats, origin + at);
}

static void test_two_batches(void) {
	begin(2);
	batch("a", 3, false);
	batch("b", -1, false);
	job("a", 1, 0, 1 * S, OUTCOME_OK);
	job("b", 1, 0, 2 * S, OUTCOME_FAILED);
	job("a", 2, 1 * S, 4 * S, OUTCOME_OK);
	job("a", 3, 2 * S, 4 * S, OUTCOME_SIGNAL);
	end(5 * S);
	check_equal(stats->nbatches, 2);
	const struct stats_batch *a = &stats->batches[0], *b = &stats->batches[1];
	check_string(a->name, "a");
	check_equal(a->jobs, 3);
	check_equal(b->jobs, -1);
	check_equal(a->counts.ok, 2);
	check_equal(a->counts.failed, 1);
	check_equal(b->counts.failed, 1);
	check_equal(a->slot_time, 6 * S);
	check_equal(b->slot_time, 2 * S);
	check(a->share == 0.75 && b->share == 0.25);
	check(stats->busy == 0.8); // 8 s of 2 slots in 5 s
	check(a->p50 * 100 > 2 * S * 97 && a->p50 * 100 < 2 * S * 103);
	check_equal(a->max, 3 * S);
	check_equal(a->first_start, origin);
	check_equal(a->last_end - a->first_start, 4 * S);
	check_equal(stats->nslowest, 4);
	check_equal(stats->slowest[0]->id.number, 2);
	check_string(stats->slowest[3]->id.batch, "a");
	check_equal(stats->slowest[3]->id.number, 1);
	check_equal(stats->nfailures, 2);
	check_string(stats->failures[0]->id.batch, "b");
	check_string(stats->failures[1]->command, "true");
	check(stats->end > 0 && stats->end - stats->start == 5 * S);
	check(stats->run.nargv == 3 && strcmp(stats->run.argv + sizeof("fairpar\0-f"), "x.yaml") == 0);
	stats_free(stats);
}

static void test_retries_and_steps(void) {
	begin(1);
	start("a", 1, 0, 1);
	struct event event = ended("a", 1, 0, 1 * S, OUTCOME_FAILED);
	event.u.job_end.next = NEXT_RETRY;
	stats_on_event(stats, &event);
	check_equal(stats->batches[0].counts.failed, 0);
	start("a", 1, 1 * S, 2);
	event = ended("a", 1, 1 * S, 2 * S, OUTCOME_OK);
	event.u.job_end.id.attempt = 2;
	event.u.job_end.next = NEXT_STEP;
	stats_on_event(stats, &event);
	check_equal(stats->batches[0].counts.ok, 0);
	event = ended("a", 1, 2 * S, 3 * S, OUTCOME_FAILED); // its second step is tried again too: still one job
	event.u.job_end.id.step = 1;
	event.u.job_end.next = NEXT_RETRY;
	stats_on_event(stats, &event);
	event = ended("a", 1, 3 * S, 4 * S, OUTCOME_FAILED);
	event.u.job_end.id.step = 1;
	event.u.job_end.id.attempt = 2;
	stats_on_event(stats, &event);
	end(4 * S);
	check_equal(stats->batches[0].retried, 1);
	check_equal(stats->total.retried, 1);
	check_equal(stats->batches[0].attempts, 4);
	check_equal(stats->batches[0].counts.failed, 1);
	check_equal(stats->failures[0]->id.attempt, 2);
	check_equal(stats->failures[0]->id.step, 1);
	check_equal(stats->batches[0].running, 0);
	stats_free(stats);
}

static void test_beside_the_items(void) {
	begin(1);
	job("a", 1, 0, 1 * S, OUTCOME_OK);
	struct event event = ended("a", 0, 1 * S, 4 * S, OUTCOME_FAILED);
	event.u.job_end.id.role = ROLE_FINALLY;
	stats_on_event(stats, &event);
	check_equal(stats->total.counts.failed, 0);
	event.u.job_end.id.role = ROLE_LISTING; // without it there are no items: counted by the exit status too
	stats_on_event(stats, &event);
	end(4 * S);
	check_equal(stats->total.counts.failed, 1);
	check_equal(stats->total.counts.ok, 1);
	check_equal(stats->total.slot_time, 7 * S);
	check_equal(stats->total.max, 1 * S);
	stats_free(stats);
}

static void test_items_of_a_process(void) {
	begin(1);
	job("a", 1, 0, 1 * S, OUTCOME_OK);
	check(!stats->counts_items);
	struct event event = ended("a", 2, 0, 1 * S, OUTCOME_OK);
	event.u.job_end.items = 100;
	stats_on_event(stats, &event);
	event = ended("a", 102, 1 * S, 2 * S, OUTCOME_FAILED);
	event.u.job_end.items = 10;
	event.u.job_end.next = NEXT_RETRY;
	stats_on_event(stats, &event);
	event.u.job_end.id.attempt = 2;
	event.u.job_end.next = NEXT_NOTHING;
	stats_on_event(stats, &event);
	event = ended("b", 1, 2 * S, 3 * S, OUTCOME_CANCELLED);
	event.u.job_end.items = 5;
	stats_on_event(stats, &event);
	end(3 * S);
	check(stats->counts_items);
	check_equal(stats->total.counts.ok, 101);
	check_equal(stats->total.counts.failed, 10);
	check_equal(stats->total.failed_processes, 1);
	check_equal(stats->total.counts.cancelled, 5);
	check_equal(stats->batches[0].counts.ok, 101);
	check_equal(stats->total.retried, 1);
	check_equal(stats->total.attempts, 5); // of processes
	check_equal(stats->nfailures, 1);
	check_equal(stats->failures[0]->items, 10);
	stats_free(stats);
}

static void test_what_is_not_run(void) {
	begin(1);
	struct event lost = {.kind = EVENT_LOST, .at = origin, .u.lost = {.batch = "b", .outcome = OUTCOME_SKIPPED, .jobs = 7}};
	stats_on_event(stats, &lost);
	lost.u.lost.outcome = OUTCOME_CANCELLED;
	stats_on_event(stats, &lost);
	struct event event = ended("a", 1, 0, 0, OUTCOME_OK);
	event.u.job_end.up_to_date = true;
	event.u.job_end.result.start = event.u.job_end.result.end = 0;
	stats_on_event(stats, &event);
	event = ended("a", 2, 0, 1 * S, OUTCOME_FAILED);
	event.u.job_end.allowed = true;
	stats_on_event(stats, &event);
	end(1 * S);
	check_equal(stats->total.counts.skipped, 7);
	check_equal(stats->total.counts.cancelled, 7);
	check_equal(stats->total.counts.ok, 1);
	check_equal(stats->total.up_to_date, 1);
	check_equal(stats->total.attempts, 1);
	check_equal(stats->total.counts.failed, 1);
	check_equal(stats->total.allowed, 1);
	check(stats->failures[0]->allowed);
	stats_free(stats);
}

static void test_slots(void) {
	begin(4);
	batch("long", 1, true);
	job("long", 1, 0, 10 * S, OUTCOME_OK);
	struct event event = ended("wide", 1, 0, 5 * S, OUTCOME_OK);
	event.u.job_end.nslots = 3;
	stats_on_event(stats, &event);
	struct event slots = {.kind = EVENT_SLOTS, .at = origin + 5 * S, .u.slots = {.slots = 2, .why = "jobs sleep"}};
	stats_on_event(stats, &slots);
	end(10 * S);
	check_equal(stats->batches[0].slot_time, 0);
	check_equal(stats->batches[0].long_time, 10 * S);
	check_equal(stats->batches[1].slot_time, 15 * S);
	check(stats->batches[1].share == 1);
	check(stats->busy == 0.5); // 15 of 4 × 5 + 2 × 5
	check(stats->least_slots == 2 && stats->most_slots == 4 && stats->slots_now == 2);
	check(stats->nchanges == 1 && stats->changes[0].at == origin + 5 * S && stats->changes[0].slots == 2);
	check_string(stats->changes[0].why, "jobs sleep");
	stats_free(stats);
}

static void lend(uint64_t number, int pid, unsigned depth, bool own, uint64_t from, uint64_t to) {
	stats_on_event(stats, &(struct event){.kind = EVENT_LENT, .at = origin + to, .u.lent = {
		.id = {.batch = "a", .number = number, .attempt = 1, .slot = 1}, .to = "inner", .pid = pid, .depth = depth, .own = own,
		.start = origin + from, .end = origin + to,
	}});
}

static void test_lent(void) {
	begin(4);
	lend(2, 9, 1, true, 1 * S, 2 * S);
	lend(1, 8, 2, true, 2 * S, 3 * S);
	lend(1, 7, 1, true, 1 * S, 5 * S);
	lend(1, 7, 1, false, 2 * S, 6 * S);
	job("a", 1, 0, 10 * S, OUTCOME_OK);
	end(10 * S);
	check_equal(stats->lent, 4);
	check_equal(stats->lent_time, 10 * S);
	check_equal(stats->ninner, 3);
	check_equal(stats->inner[0].lent.pid, 7); // those of a job in the order of their starts
	check_equal(stats->inner[0].times, 2);
	check_equal(stats->inner[0].time, 8 * S);
	check_equal(stats->inner[1].lent.pid, 8);
	check_equal(stats->inner[2].lent.pid, 9);
	check_equal(stats->batches[0].slot_time, 14 * S); // a slot of the job is counted once
	stats_free(stats);
}

// Against the plain way: sort all of them.
static void test_median_of_many(void) {
	enum { N = 100000 };
	static uint64_t values[N];
	begin(1);
	uint32_t random = 1;
	for (size_t i = 0; i < N; ++i) {
		random = random * 1664525 + 1013904223;
		values[i] = (uint64_t)(random >> 8) % 3000000 * 1000 + (i % 10 == 0 ? 60 * S : 0); // up to 3 s, and some of a minute
		struct event event = ended("a", i + 1, 0, values[i], OUTCOME_OK);
		stats_on_event(stats, &event);
	}
	end(100 * S);
	uint64_t below = 0, p50 = stats->batches[0].p50;
	for (size_t i = 0; i < N; ++i) {
		below += values[i] * 100 < p50 * 97;
	}
	check(below < N / 2);
	below = 0;
	for (size_t i = 0; i < N; ++i) {
		below += values[i] * 100 <= p50 * 103;
	}
	check(below >= N / 2);
	check_equal(stats->nslowest, STATS_SLOWEST);
	for (size_t i = 1; i < STATS_SLOWEST; ++i) {
		const struct result *a = &stats->slowest[i - 1]->result, *b = &stats->slowest[i]->result;
		check(a->end - a->start >= b->end - b->start);
	}
	check_equal(stats->slowest[0]->result.end - stats->slowest[0]->result.start, stats->batches[0].max);
	stats_free(stats);
}

static void test_many_batches(void) {
	begin(1);
	for (unsigned i = 0; i < STATS_BATCHES + 500; ++i) {
		char name[24];
		snprintf(name, sizeof(name), "batch%u", i);
		batch(name, -1, false);
		job(name, 1, i * MS, (i + 1) * MS, OUTCOME_OK);
	}
	end((STATS_BATCHES + 500) * MS);
	check_equal(stats->nbatches, STATS_BATCHES + 1);
	check_string(stats->batches[STATS_BATCHES].name, "");
	check_equal(stats->hidden_batches, 500);
	check_equal(stats->batches[STATS_BATCHES].counts.ok, 500);
	check_equal(stats->total.counts.ok, STATS_BATCHES + 500);
	stats_free(stats);
}

// A log that was damaged: ends without starts, starts without ends, twice the same, time that runs back.
static void test_damage(void) {
	begin(0);
	start("a", 1, 5 * S, 1);
	start("a", 1, 5 * S, 1);
	for (unsigned i = 0; i < 5; ++i) {
		struct event event = ended("b", 1, 4 * S, 3 * S, OUTCOME_OK);
		stats_on_event(stats, &event);
	}
	stats_finish(stats, stats->last);
	check_equal(stats->batches[0].running, 2); // still
	check_equal(stats->total.running, 2); // the sum of the batches
	check_equal(stats->batches[1].running, 0);
	check_equal(stats->batches[1].max, 0);
	check_equal(stats->last, origin + 5 * S);
	check(stats->end == 0);
	check(stats->busy == 0);
	stats_free(stats);
	stats = NEW(struct run_stats); // without its beginning
	struct event event = ended("b", 1, 4 * S, 5 * S, OUTCOME_OK);
	stats_on_event(stats, &event);
	stats_finish(stats, 0);
	check_equal(stats->total.counts.ok, 1);
	stats_free(stats);
	stats_free(NULL);
}

// Times that the log cannot hold make no difference.
static void test_microseconds(void) {
	begin(1);
	job("a", 1, 1999, 1 * S + 2998, OUTCOME_OK); // 1.000000999 s
	end(2 * S + 999);
	check_equal(stats->batches[0].max, 1 * S);
	check_equal(stats->batches[0].first_start, origin + 1000);
	check_equal(stats->batches[0].last_end, origin + 1 * S + 1000); // as the log has it: start and duration
	check_equal(stats->end - stats->start, 2 * S);
	stats_free(stats);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("two batches: counts, slot-time, shares, medians, the slowest, the failures", test_two_batches),
		TEST("a job is counted once, with its attempts and steps", test_retries_and_steps),
		TEST("what runs beside the items takes slot-time, and is no job", test_beside_the_items),
		TEST("the items of a process are counted", test_items_of_a_process),
		TEST("jobs that are up to date, lost, or may fail", test_what_is_not_run),
		TEST("long-running jobs take no slot, wide ones several, and the slots may change", test_slots),
		TEST("slots that runs in jobs were lent take slot-time, once", test_lent),
		TEST("the median of many is right within 3 %", test_median_of_many),
		TEST("later batches share an entry", test_many_batches),
		TEST("a damaged log gives numbers all the same", test_damage),
		TEST("times are cut to microseconds", test_microseconds),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
