// When pilots of Slurm are asked for, given up and released (hosts/pilot_policy.h), with a clock of the test's own.

#include "hosts/pilot_policy.h"

#include "base/sync.h"

#include "test.h"

enum { MOST = 4 };

static struct pilot pilots[MOST];
static uint64_t came[MOST];
static struct pilot_policy policy;
static uint64_t due;
static bool queries;

static uint64_t ns(double s) {
	return (uint64_t)(s * 1e9);
}

static void begin(unsigned n, unsigned slots) {
	memset(pilots, 0, sizeof(pilots));
	policy = (struct pilot_policy){.pilots = pilots, .n = n, .slots = slots};
}

// Steps at that second. Returns what was decided, a letter for each pilot: "-" keep, "a"sk, "g"ive up, "r"elease.
static const char *step(unsigned demand, double s) {
	static char text[MOST + 1];
	struct pilot before[MOST];
	memcpy(before, pilots, sizeof(before));
	due = pilot_policy_step(&policy, demand, ns(s), &queries);
	for (unsigned i = 0; i < policy.n; ++i) {
		bool is_new = pilots[i].state != before[i].state;
		text[i] = "-agr"[!is_new ? 0 : pilots[i].state == PILOT_REQUESTED ? 1 : before[i].state == PILOT_REQUESTED ? 2 : 3];
	}
	text[policy.n] = '\0';
	return text;
}

static void check_due(double s) {
	check_equal(due, ns(s));
}

static void come(unsigned i, double s) {
	pilots[i] = (struct pilot){.state = PILOT_UP, .since = ns(s)};
	came[i] = ns(s);
	pilot_has_come(&policy);
}

static void busy(unsigned i) {
	pilots[i].since = TIME_NEVER;
}

static void fail(unsigned i, bool for_good, double s) {
	pilot_has_failed(&policy, pilots[i].state == PILOT_UP ? ns(s) - came[i] : 0, for_good, ns(s));
	pilots[i].state = PILOT_ABSENT;
}

static void test_as_many_as_needed(void) {
	begin(4, 2);
	check_string(step(0, 0), "----");
	check_string(step(3, 1), "aa--"); // two slots each
	check_string(step(3, 1), "----"); // they are on their way
	check_string(step(100, 2), "--aa");
	check_string(step(100, 3), "----"); // no more than there may be
}

static void test_released(void) {
	begin(2, 1);
	check_string(step(2, 0), "aa");
	come(0, 1);
	come(1, 1);
	busy(0);
	check_string(step(0, 2), "--");
	pilots[1].since = ns(10);
	check_string(step(0, 10), "--");
	check_due(25);
	check_string(step(1, 25), "--"); // there is work, which it is about to get
	check_string(step(0, 26), "--");
	check_due(41); // idle, and no work, since then
	check_string(step(0, 41), "-r");
	pilots[1].state = PILOT_ABSENT;
	check_string(step(1, 43), "-a"); // work comes back
}

static void test_given_up(void) {
	begin(1, 1);
	check_string(step(1, 0), "a");
	check_string(step(0, 3), "-");
	check_string(step(0, 18), "g");
	check(!policy.is_refused);
}

static void test_looks(void) {
	begin(1, 1);
	step(1, 0);
	check(!queries);
	check_due(5);
	static const int at[] = {5, 20, 50, 110, 230, 470, 770, 1070};
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); ++i) {
		step(1, at[i] - 0.5);
		check(!queries);
		check_due(at[i]);
		step(1, at[i]);
		check(queries);
	}
	come(0, 1080);
	step(1, 2000);
	check(!queries);
}

static void test_failures(void) {
	begin(3, 1);
	check_string(step(3, 0), "aaa");
	fail(0, false, 1);
	fail(1, false, 1); // together: one failure
	fail(2, false, 1);
	check_string(step(3, 1), "---");
	check_due(6);
	check_string(step(3, 6), "a--"); // one, to see
	fail(0, false, 7);
	check_string(step(3, 16), "---");
	check_due(17);
	check_string(step(3, 17), "a--");
	come(0, 18);
	check_string(step(2, 18), "-aa");
	check(!policy.is_refused);
}

static void test_replaced(void) {
	begin(1, 1);
	step(1, 0);
	come(0, 1);
	busy(0);
	pilots[0].state = PILOT_LEAVING; // its time is over, and a job is still there
	check_string(step(1, 50), "-");
	pilots[0].state = PILOT_ABSENT;
	check_string(step(1, 60), "a");
	come(0, 61);
	fail(0, false, 130); // a node has failed
	check_string(step(1, 130), "a");
	come(0, 131);
	fail(0, false, 132); // and again, at once
	check_string(step(1, 132), "-");
	check_due(137);
}

static void test_refused(void) {
	begin(2, 1);
	step(2, 0);
	fail(0, true, 1);
	check(policy.is_refused);
	check_string(step(2, 100), "--"); // the other one may come, and is the trial
	fail(1, true, 101);
	check_string(step(2, 200), "--");
	begin(2, 1);
	step(2, 0);
	policy.none_can_start = policy.is_refused = true;
	check_string(step(2, 5), "gg");
	check_string(step(2, 5), "--");
	begin(2, 1);
	step(2, 0);
	come(0, 1);
	fail(1, true, 1);
	fail(0, true, 2);
	check(!policy.is_refused); // what has been there may come back
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("as many pilots are asked for as there is work for, and no more than there may be", test_as_many_as_needed),
		TEST("a pilot that has been idle for a while is released, and asked for again when work comes", test_released),
		TEST("a pilot that has not come is given up when there is no work any more", test_given_up),
		TEST("the queue is looked at after 5 s, and then ever more rarely", test_looks),
		TEST("after a failure one is asked for as a trial, ever more rarely", test_failures),
		TEST("a pilot that leaves or is lost is replaced while there is work", test_replaced),
		TEST("none is asked for once Slurm refuses them, none has ever come and none is on its way", test_refused),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
