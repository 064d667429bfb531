// The summary as text, and what it makes of foreign text.

#include "report/run_stats.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/text.h"

#include "test.h"

#define S NS_PER_S

static struct run_stats *stats;

static void tell(struct event event) {
	stats_on_event(stats, &event);
}

static void begin(void) {
	stats = NEW(struct run_stats);
	tell((struct event){.kind = EVENT_RUN_START, .at = S, .u.run_start = {.run = "R", .slots = 2}});
}

static void job(const char *batch, uint64_t number, uint64_t from_ms, uint64_t ms, int exit_code, const char *tail) {
	uint64_t from = S + from_ms * NS_PER_MS, to = from + ms * NS_PER_MS;
	struct event_job id = {.batch = batch, .number = number, .seq = number, .attempt = 1, .slot = 1};
	tell((struct event){.kind = EVENT_JOB_START, .at = from, .u.job_start = {.id = id, .nslots = 1, .command = ""}});
	tell((struct event){
		.kind = EVENT_JOB_END, .at = to,
		.u.job_end = {
			.id = id,
			.result = {.outcome = exit_code ? OUTCOME_FAILED : OUTCOME_OK, .exit_code = exit_code, .start = from, .end = to},
			.nslots = 1, .items = 1, .command = "make it", .command_len = 7, .tail = tail, .tail_len = tail ? strlen(tail) : 0,
		},
	});
}

static const char *show(uint64_t end_ms, const struct summary_form *form) {
	static struct buf text;
	if (end_ms > 0) {
		tell((struct event){.kind = EVENT_RUN_END, .at = S + end_ms * NS_PER_MS});
	}
	stats_finish(stats, stats->last);
	buf_reset(&text);
	summary_add(&text, stats, form);
	stats_free(stats);
	return buf_str(&text);
}

static const struct summary_form whole = {.width = 100, .table = true}, short_one = {.table = false};

static void test_table(void) {
	begin();
	job("thumbs", 1, 0, 1000, 0, NULL);
	job("tests", 1, 0, 500, 3, "one\ntwo\n");
	job("thumbs", 2, 1000, 1500, 0, NULL);
	check_string(show(3000, &whole),
		"fairpar: 3 jobs in 3.00s: 2 ok, 1 failed; 2 slots, 50% busy\n"
		"  batch   jobs  ok  failed  retried   wall  slot-time  share    p50    max\n"
		"  thumbs     2   2       0        0  2.50s      2.50s    83%  1.00s  1.50s\n"
		"  tests      1   0       1        0  0.50s      0.50s    17%  0.50s  0.50s\n"
		"  slowest: thumbs#2 1.50s  make it\n"
		"           thumbs#1 1.00s  make it\n"
		"           tests#1 0.50s  make it\n"
		"  FAILED tests#1: exit 3, 0.50s: make it\n"
		"    | one\n"
		"    | two\n");
}

static void test_names_align(void) {
	begin();
	job("\346\227\245\346\234\254", 1, 0, 1000, 0, NULL);
	job("a\314\210", 1, 0, 1000, 0, NULL);
	job("a name that is much too long to be shown", 1, 0, 1000, 0, NULL);
	job("\033[31mred", 1, 0, 1000, 0, NULL);
	check_string(show(1000, &whole),
		"fairpar: 4 jobs in 1.00s: 4 ok; 2 slots, 100% busy\n"
		"  batch                           jobs  ok  failed  retried   wall  slot-time  share    p50    max\n"
		"  \346\227\245\346\234\254                               1   1       0        0  1.00s      1.00s    25%  1.00s  1.00s\n"
		"  a\314\210                                  1   1       0        0  1.00s      1.00s    25%  1.00s  1.00s\n"
		"  a name that is much too lon...     1   1       0        0  1.00s      1.00s    25%  1.00s  1.00s\n"
		"  \\x1B[31mred                        1   1       0        0  1.00s      1.00s    25%  1.00s  1.00s\n"
		"  slowest: \346\227\245\346\234\254#1 1.00s  make it\n"
		"           a\314\210#1 1.00s  make it\n"
		"           a name that is much too long to be shown#1 1.00s  make it\n");
}

static const char *show_narrow(unsigned width, bool retried) {
	begin();
	job("thumbs", 1, 0, 1000, 0, NULL);
	if (retried) {
		tell((struct event){.kind = EVENT_JOB_END, .at = S + 1000 * NS_PER_MS, .u.job_end = {
			.id = {.batch = "tests", .number = 1, .seq = 9, .attempt = 2, .slot = 1}, .nslots = 1, .items = 1, .next = NEXT_RETRY,
			.result = {.outcome = OUTCOME_FAILED, .exit_code = 1, .start = S, .end = S + 1000 * NS_PER_MS},
		}});
	}
	job("tests", 1, 0, 500, 0, NULL);
	return show(3000, &(struct summary_form){.width = width, .table = true});
}

static void test_narrow(void) {
	static const char wide[] = "\n  batch   jobs  ok  failed  retried   wall  slot-time  share    p50    max\n";
	check(strstr(show_narrow(74, false), wide));
	check(strstr(show_narrow(73, false), "\n  batch   jobs  ok  failed   wall  slot-time  share    p50    max\n"));
	check(strstr(show_narrow(73, true), "\n  batch   jobs  ok  failed  retried  slot-time  share    p50    max\n"));
	check(strstr(show_narrow(40, true), "\n  batch   jobs  ok  failed  share\n"));
	check(strstr(show_narrow(20, true), "\n  batch   jobs  failed\n"));
	check(strstr(show_narrow(1, true), "\n  batch   jobs  failed\n"));
	check(strstr(show_narrow(0, true), wide)); // no terminal
}

static void test_failures_only(void) {
	begin();
	job("default", 1, 0, 1000, 1, "5\n6\n7\n8\n9\n10\n\n\ttab\r\nold\rnew \033[31mred\033[m\n\033]0;title\a no end");
	for (uint64_t i = 2; i <= STATS_FAILURES + 3; ++i) {
		job("default", i, 0, 1, 1, NULL);
	}
	const char *text = show(1000, &short_one);
	static const char head[] =
		"  FAILED #1: exit 1, 1.00s: make it\n"
		"    | 5\n    | 6\n    | 7\n    | 8\n    | 9\n    | 10\n    | \n    |         tab\n    | new red\n"
		"    | \\x1B]0;title\\x07 no end\n"
		"  FAILED #2: exit 1, 1.0ms: make it\n";
	check(strncmp(text, head, sizeof(head) - 1) == 0);
	check(strstr(text, "  FAILED #10: exit 1, 1.0ms: make it\n  FAILED and 13 more\n"));
}

static void test_hint(void) {
	begin();
	for (uint64_t i = 0; i < 5; ++i) {
		job("long", i + 1, i * 1000, 1000, 0, NULL);
		job("short", i + 1, i * 1000, 100, 0, NULL);
	}
	check(strstr(show(5000, &whole), "  hint: 'long' had 91% of the slots' time with 5 of 10 jobs: slots are shared by turns, not by time; "
	                                 "see --fair=time\n"));
	begin(); // when the other one had work only at the start nothing was taken from it
	for (uint64_t i = 0; i < 5; ++i) {
		job("long", i + 1, i * 1000, 2000, 0, NULL);
		job("short", i + 1, i * 100, 100, 0, NULL);
	}
	check(!strstr(show(5000, &whole), "hint"));
}

static void test_cut_off(void) {
	begin();
	job("a", 1, 0, 1000, 0, NULL);
	struct event_job id = {.batch = "a", .number = 2, .attempt = 1, .slot = 1};
	tell((struct event){.kind = EVENT_JOB_START, .at = 2 * S, .u.job_start = {.id = id, .command = ""}});
	tell((struct event){.kind = EVENT_LOST, .at = 2 * S, .u.lost = {.batch = "b", .outcome = OUTCOME_SKIPPED, .jobs = 3}});
	check_string(show(0, &whole),
		"fairpar: 5 jobs in 1.00s: 1 ok, 3 skipped, 1 running when the log ends; 2 slots, 50% busy\n"
		"  batch  jobs  ok  failed  skipped  running  retried   wall  slot-time  share    p50    max\n"
		"  a         2   1       0        0        1        0  1.00s      1.00s   100%  1.00s  1.00s\n"
		"  b         3   0       0        3        0        0      -          -      -      -      -\n"
		"  slowest: a#1 1.00s  make it\n");
}

static void test_many_batches(void) {
	begin();
	for (uint64_t i = 0; i < SUMMARY_BATCHES + 10; ++i) {
		char name[24];
		snprintf(name, sizeof(name), "b%llu", (unsigned long long)i);
		job(name, 1, i * 1000, i < 10 ? 100 : 1000, 0, NULL);
	}
	const char *text = show(60000, &whole);
	check(strstr(text, "\n  b10  ") && !strstr(text, "\n  b9  "));
	check(strstr(text, "\n  (10 more)    10  10       0        0  9.10s      1.00s     5%      -  0.10s\n"));
}

static void test_colours(void) {
	begin();
	job("a", 1, 0, 1000, 1, "x\n");
	const char *text = show(1000, &(struct summary_form){.colour = true, .table = true});
	check(strstr(text, "\033[31m1 failed\033[m") && strstr(text, "\033[1m  batch") && strstr(text, "\033[2m    | x\033[m\n"));
	check(strstr(text, "\033[31m  FAILED \033[ma#1"));
}

static void test_times(void) {
	static const struct { uint64_t us; const char *text; } cases[] = {
		{0, "0s"}, {999, "999us"}, {1000, "1.0ms"}, {99999, "99.9ms"}, {100000, "0.10s"}, {9999999, "9.99s"}, {10000000, "10.0s"},
		{119999999, "119.9s"}, {120000000, "2m00s"}, {7199999999, "119m59s"}, {7200000000, "2h00m"}, {172800000000, "2d00h"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		struct buf buf = BUF_INIT;
		text_add_time(&buf, cases[i].us * 1000 + 999);
		check_string(buf_str(&buf), cases[i].text);
		buf_fini(&buf);
	}
}

static void check_text(const char *text, size_t columns, const char *expected) {
	struct buf buf = BUF_INIT;
	text_add_cut(&buf, text, strlen(text), columns);
	check_string(buf_str(&buf), expected);
	buf_fini(&buf);
}

static void test_text(void) {
	check_text("abcdef", 6, "abcdef");
	check_text("abcdefg", 6, "abc...");
	check_text("abcdefg", 2, "..");
	check_text("\346\227\245\346\234\254\350\252\236", 6, "\346\227\245\346\234\254\350\252\236");
	check_text("\346\227\245\346\234\254\350\252\236x", 6, "\346\227\245...");
	check_text("a\377\302\233b", 99, "a\\xFF\\xC2\\x9Bb");
	check_text("a\342\200\256b", 99, "a\\xE2\\x80\\xAEb"); // right-to-left override
	struct buf buf = BUF_INIT, line = BUF_INIT;
	for (int i = 0; i < 100000; ++i) {
		buf_addc(&line, '\t');
	}
	text_add_output(&buf, line.data, line.len, 100);
	check_equal(buf.len, 100);
	buf_fini(&buf);
	buf_fini(&line);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("totals, the table, the slowest, the failed", test_table),
		TEST("the table is no wider than the terminal, by columns that tell least", test_narrow),
		TEST("names align by what they take on the screen", test_names_align),
		TEST("only what failed, with its last lines, and without driving the terminal", test_failures_only),
		TEST("a hint when long jobs take the time of others", test_hint),
		TEST("a log that was cut off shows what runs", test_cut_off),
		TEST("of many batches the largest have rows", test_many_batches),
		TEST("colours", test_colours),
		TEST("times are cut off in a form that fits them", test_times),
		TEST("text is escaped and cut between characters", test_text),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
