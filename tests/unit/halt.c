// The rules of --halt and of the exit status.

#include "job/halt.h"

#include "test.h"

static struct halt parsed(const char *text) {
	struct halt halt;
	const char *error = NULL;
	int result = halt_parse(text, &halt, &error);
	if (result != 0) {
		fprintf(stderr, "# --halt '%s' %s\n", text, error);
	}
	check(result == 0);
	return halt;
}

static void check_halt(const char *text, enum halt_when when, enum halt_why why, uint64_t count, uint64_t percent) {
	struct halt halt = parsed(text);
	check_equal(halt.when, when);
	check_equal(halt.why, why);
	check_equal(halt.count, count);
	check_equal(halt.percent, percent);
}

static void check_refused(const char *text) {
	struct halt halt;
	const char *error = NULL;
	int result = halt_parse(text, &halt, &error);
	if (result == 0) {
		fprintf(stderr, "# --halt '%s' was taken\n", text);
	}
	check(result == -1);
	check(error && *error);
}

static void test_grammar(void) {
	check_equal(parsed("never").when, HALT_NEVER);
	check_halt("now,fail=1", HALT_NOW, HALT_ON_FAIL, 1, 0);
	check_halt("soon,fail=3", HALT_SOON, HALT_ON_FAIL, 3, 0);
	check_halt("now,success=1", HALT_NOW, HALT_ON_SUCCESS, 1, 0);
	check_halt("soon,done=250", HALT_SOON, HALT_ON_DONE, 250, 0);
	check_halt("soon,fail=3%", HALT_SOON, HALT_ON_FAIL, 0, 3);
	check_halt("now,done=100%", HALT_NOW, HALT_ON_DONE, 0, 100);
	check_halt("now,fail,1", HALT_NOW, HALT_ON_FAIL, 1, 0);
}

static void test_words(void) {
	static const char *const texts[] = {"never", "now,fail=1", "soon,success=3", "-2", "soon,fail=25%"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
		check_string(parsed(texts[i]).text, texts[i]);
	}
}

static void test_old_forms(void) {
	check_equal(parsed("0").when, HALT_NEVER);
	check_halt("1", HALT_SOON, HALT_ON_FAIL, 1, 0);
	check_halt("2", HALT_NOW, HALT_ON_FAIL, 1, 0);
	check_halt("-1", HALT_SOON, HALT_ON_SUCCESS, 1, 0);
	check_halt("-2", HALT_NOW, HALT_ON_SUCCESS, 1, 0);
	check_halt("5%", HALT_SOON, HALT_ON_FAIL, 0, 5);
}

static void test_refused(void) {
	static const char *const texts[] = {
		"", "3", "-3", "00", "%", "0%", "101%", "now", "soon", "now,", "now,fail", "now,fail=", "now,fail=0", "now,fail=0%",
		"now,fail=101%", "now,fail=x", "now,fail=1x", "now,fail=1%x", "now,fail=-1", "now,fail=1,foo", "now,fails=1",
		"later,fail=1", "never,fail=1", "NOW,fail=1", " now,fail=1", "now,fail=99999999999999999999999",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
		check_refused(texts[i]);
	}
}

// ---- runs, job by job, as -j1 does them ----

static struct result exited(int code) {
	return (struct result){.outcome = code == 0 ? OUTCOME_OK : OUTCOME_FAILED, .exit_code = code};
}

struct run {
	struct tally tally;
	struct halt halt;
	bool halted;
	struct result halted_by;
};

// Runs jobs with these exit codes, one after the other, under the rule.
static struct run run(const char *rule, const int *codes, size_t n) {
	struct run run = {.halt = parsed(rule)};
	run.tally.total = n;
	run.tally.total_is_final = true;
	for (size_t i = 0; i < n; ++i) {
		struct result result = exited(codes[i]);
		if (run.halted) {
			result.outcome = OUTCOME_CANCELLED;
		}
		tally_add(&run.tally, &result);
		if (!run.halted && halt_is_met(&run.halt, &run.tally)) {
			run.halted = true;
			run.halted_by = result;
		}
	}
	return run;
}

static int status_of(enum exit_scheme scheme, const struct run *run) {
	return exit_status(scheme, &run->tally, &run->halt, run->halted, run->halted ? &run->halted_by : NULL);
}

#define CODES(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

static int gnu_of(const char *rule, const int *codes, size_t n) {
	struct run done = run(rule, codes, n);
	return status_of(EXIT_GNU, &done);
}

// Every row was run with GNU parallel 20221122 -j1 'exit {}' ::: CODES; where it differs, the comment has its figure.
static void test_gnu_parallel_rows(void) {
	check_equal(gnu_of("never", CODES(3, 7, 5)), 3);
	check_equal(gnu_of("now,fail=1", CODES(0, 7, 5)), 7);
	check_equal(gnu_of("soon,fail=1", CODES(0, 7, 5)), 7);
	check_equal(gnu_of("now,fail=2", CODES(7, 0, 0)), 1);
	check_equal(gnu_of("now,fail=2", CODES(0, 0, 0)), 0);
	check_equal(gnu_of("now,fail=33%", CODES(7, 7, 0)), 34);
	check_equal(gnu_of("now,fail=10%", CODES(7, 6, 0)), 34);
	check_equal(gnu_of("now,fail=10%", CODES(0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 6, 5)), 17);
	check_equal(gnu_of("now,fail=20%", CODES(0, 0, 0, 0, 0, 0, 0, 0, 7, 6)), 20);
	check_equal(gnu_of("now,fail=100%", CODES(3, 7, 5)), 100);
	check_equal(gnu_of("30%", CODES(7, 0, 0, 0, 0)), 20);
	check_equal(gnu_of("now,success=1", CODES(7, 6, 0, 0)), 0);
	check_equal(gnu_of("now,success=1", CODES(7, 6)), 2);
	check_equal(gnu_of("now,success=3", CODES(7, 6, 0, 0)), 2);
	check_equal(gnu_of("soon,done=1", CODES(0, 5)), 0);
	check_equal(gnu_of("soon,done=2", CODES(0, 5, 4, 3)), 1);
	check_equal(gnu_of("now,done=3", CODES(0, 0, 4, 3)), 1);
	check_equal(gnu_of("soon,done=50%", CODES(1, 0, 1, 1)), 25);
	check_equal(gnu_of("soon,done=50%", CODES(0, 0, 1, 1)), 0);
	check_equal(gnu_of("soon,done=2", CODES(0, 0, 4, 3)), 0);  // 101
	check_equal(gnu_of("soon,done=1", CODES(7, 5)), 1);        // 7
	check_equal(gnu_of("now,fail=50%", CODES(0, 7)), 50);      // 7
}

static void test_stops_at_the_right_job(void) {
	struct run stopped = run("now,fail=2", CODES(1, 0, 2, 3, 4));
	check(stopped.halted);
	check_equal(stopped.halted_by.exit_code, 2);
	check_equal(stopped.tally.counts.cancelled, 2);
	stopped = run("now,success=2", CODES(1, 0, 2, 0, 4));
	check_equal(stopped.tally.counts.cancelled, 1);
	stopped = run("now,done=2", CODES(1, 0, 2, 0, 4));
	check_equal(stopped.tally.counts.cancelled, 3);
	stopped = run("soon,fail=40%", CODES(1, 0, 2, 0, 4));
	check_equal(stopped.tally.counts.cancelled, 2);
}

static void test_percentage_waits_for_the_total(void) {
	struct halt halt = parsed("now,fail=50%");
	struct tally tally = {.counts.failed = 1, .total = 1};
	check(!halt_is_met(&halt, &tally));
	tally.total_is_final = true;
	check(halt_is_met(&halt, &tally));
	tally.total = 3;
	check(!halt_is_met(&halt, &tally));
	tally = (struct tally){.total_is_final = true};
	check(!halt_is_met(&halt, &tally));
}

static void test_cancelled_counts_nowhere(void) {
	struct halt halt = parsed("now,done=1");
	struct tally tally = {.counts.cancelled = 5, .counts.skipped = 5, .total = 10, .total_is_final = true};
	check(!halt_is_met(&halt, &tally));
}

static void test_counts(void) {
	struct halt never = parsed("never");
	struct tally tally = {.counts.ok = 5};
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 0);
	tally.counts.failed = 100;
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 100);
	tally.counts.failed = 101;
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 101);
	tally.counts.failed = UINT64_C(1) << 40;
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 101);
	struct halt percent = parsed("now,success=100%");
	tally.total = tally.counts.failed + 1;
	check_equal(exit_status(EXIT_GNU, &tally, &percent, false, NULL), 100);
}

static void test_never_zero_when_something_did_not_run(void) {
	struct halt never = parsed("never"), fail = parsed("now,fail=1");
	struct tally tally = {.counts.ok = 5, .counts.cancelled = 1, .total = 6};
	for (int scheme = EXIT_GNU; scheme <= EXIT_ANY; ++scheme) {
		check_equal(exit_status((enum exit_scheme)scheme, &tally, &never, false, NULL), 1);
		check_equal(exit_status((enum exit_scheme)scheme, &tally, &fail, false, NULL), 1);
	}
	tally = (struct tally){.counts.ok = 5, .counts.skipped = 1, .total = 6};
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 1);
	tally = (struct tally){.counts.ok = 5, .unread = true, .total = 5};
	check_equal(exit_status(EXIT_GNU, &tally, &never, false, NULL), 1);
	// but the user asked for it
	struct halt success = parsed("now,success=1"), done = parsed("now,done=5");
	struct result ok = exited(0);
	tally = (struct tally){.counts.ok = 5, .counts.cancelled = 3, .unread = true, .total = 8};
	check_equal(exit_status(EXIT_GNU, &tally, &success, true, &ok), 0);
	check_equal(exit_status(EXIT_FIRST, &tally, &done, true, &ok), 0);
	check_equal(exit_status(EXIT_GNU, &tally, &success, false, NULL), 1);
}

static void test_own_code(void) {
	struct halt halt = parsed("now,fail=1");
	struct tally tally = {0};
	struct result killed = {.outcome = OUTCOME_SIGNAL, .term_signal = 9};
	tally_add(&tally, &killed);
	check_equal(exit_status(EXIT_GNU, &tally, &halt, true, &killed), 137);
	struct result late = {.outcome = OUTCOME_TIMEOUT, .term_signal = 15};
	check_equal(exit_status(EXIT_GNU, &tally, &halt, true, &late), 124);
	struct result missing = {.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 127};
	check_equal(exit_status(EXIT_GNU, &tally, &halt, true, &missing), 127);
}

static void test_schemes(void) {
	struct run done = run("never", CODES(0, 3, 9, 4));
	check_equal(status_of(EXIT_GNU, &done), 3);
	check_equal(status_of(EXIT_FIRST, &done), 3);
	check_equal(status_of(EXIT_MAX, &done), 9);
	check_equal(status_of(EXIT_ANY, &done), 1);
	check_equal(status_of(EXIT_XARGS, &done), 123);
	done = run("never", CODES(0, 0));
	for (int scheme = EXIT_GNU; scheme <= EXIT_ANY; ++scheme) {
		check_equal(status_of((enum exit_scheme)scheme, &done), 0);
	}
}

static int xargs_of(struct result second) {
	struct tally tally = {0};
	struct halt never = {0};
	struct result first = exited(1), third = exited(255);
	tally_add(&tally, &first);
	tally_add(&tally, &second);
	tally_add(&tally, &third);
	return exit_status(EXIT_XARGS, &tally, &never, false, NULL);
}

static void test_xargs_codes(void) {
	check_equal(xargs_of(exited(255)), 124);
	check_equal(xargs_of((struct result){.outcome = OUTCOME_SIGNAL, .term_signal = 15}), 125);
	check_equal(xargs_of((struct result){.outcome = OUTCOME_TIMEOUT, .term_signal = 15}), 125);
	check_equal(xargs_of((struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 126}), 126);
	check_equal(xargs_of((struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 127}), 127);
	check_equal(xargs_of(exited(127)), 127); // by a shell that did not find the command
	check_equal(xargs_of(exited(125)), 124); // 123, but for the third
}

static void test_tally(void) {
	struct tally tally = {0};
	for (int outcome = OUTCOME_OK; outcome <= OUTCOME_SKIPPED; ++outcome) {
		struct result result = {.outcome = (enum outcome)outcome, .exit_code = outcome == OUTCOME_OK ? 0 : outcome};
		tally_add(&tally, &result);
	}
	check_equal(tally.counts.ok, 1);
	check_equal(tally.counts.failed, 4);
	check_equal(tally.counts.cancelled, 1);
	check_equal(tally.counts.skipped, 1);
	check_equal(tally.first.outcome, OUTCOME_FAILED);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("--halt takes when,why=N and when,why=N%", test_grammar),
		TEST("a rule is said as it was typed", test_words),
		TEST("--halt takes the old forms of GNU parallel", test_old_forms),
		TEST("--halt refuses everything else", test_refused),
		TEST("status and stop are GNU parallel's, but for its faults", test_gnu_parallel_rows),
		TEST("the rule is met by the job that meets it", test_stops_at_the_right_job),
		TEST("a percentage is not judged before all input is known", test_percentage_waits_for_the_total),
		TEST("cancelled and skipped jobs meet no rule", test_cancelled_counts_nowhere),
		TEST("1 to 100 count the failed jobs, 101 is more", test_counts),
		TEST("a run in which something did not run is never 0 unasked", test_never_zero_when_something_did_not_run),
		TEST("fail=1 passes on the job's own code", test_own_code),
		TEST("the schemes first, max and any", test_schemes),
		TEST("the xargs scheme is that of the first job that stops xargs", test_xargs_codes),
		TEST("the tally counts each outcome where it belongs", test_tally),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
