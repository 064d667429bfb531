// When pilots of Slurm are asked for, given up and released (hosts/pilot_policy.h), with a clock of the test's own.

#include "hosts/pilot_policy.h"

#include "base/sync.h"

#include "test.h"

enum { MOST = 4 };

static struct pilot_policy policy;
static struct pilot_step last;

// Steps at that second. Returns what was decided, a letter for each pilot: "-" keep, "a"sk, "g"ive up, "r"elease.
static const char *step(unsigned demand, double s) {
	static const char letters[] = "-agr";
	static char text[MOST + 1];
	last = pilot_policy_step(&policy, demand, (uint64_t)(s * 1e9));
	for (unsigned i = 0; i < policy.n; ++i) {
		text[i] = letters[policy.pilots[i].order];
	}
	text[policy.n] = '\0';
	return text;
}

static void check_due(double s) {
	check_equal(last.due, (uint64_t)(s * 1e9));
}

static void come(unsigned i, double s) {
	pilot_has_come(&policy, i, (uint64_t)(s * 1e9));
}

static void busy(unsigned i) {
	policy.pilots[i].idle_since = TIME_NEVER;
}

static void fail(unsigned i, bool for_good, double s) {
	pilot_has_failed(&policy, i, for_good, (uint64_t)(s * 1e9));
	pilot_set_state(&policy, i, PILOT_ABSENT, (uint64_t)(s * 1e9));
}

static void test_as_many_as_needed(void) {
	pilot_policy_init(&policy, 4, 2);
	check_string(step(0, 0), "----");
	check_string(step(3, 1), "aa--"); // two slots each
	check_string(step(3, 1), "----"); // they are on their way
	check_string(step(100, 2), "--aa");
	check_string(step(100, 3), "----"); // no more than there may be
	pilot_policy_fini(&policy);
}

static void test_released(void) {
	pilot_policy_init(&policy, 2, 1);
	check_string(step(2, 0), "aa");
	come(0, 1);
	come(1, 1);
	busy(0);
	check_string(step(0, 2), "--");
	policy.pilots[1].idle_since = 10 * NS_PER_S;
	check_string(step(0, 10), "--");
	check_due(25);
	check_string(step(1, 25), "--"); // there is work, which it is about to get
	check_string(step(0, 26), "--");
	check_due(41); // idle, and no work, since then
	check_string(step(0, 41), "-r");
	pilot_set_state(&policy, 1, PILOT_ABSENT, 42 * NS_PER_S);
	check_string(step(1, 43), "-a"); // work comes back
	pilot_policy_fini(&policy);
}

static void test_given_up(void) {
	pilot_policy_init(&policy, 1, 1);
	check_string(step(1, 0), "a");
	check_string(step(0, 3), "-");
	check_string(step(0, 18), "g");
	check(!pilots_are_hopeless(&policy));
	pilot_policy_fini(&policy);
}

static void test_looks(void) {
	pilot_policy_init(&policy, 1, 1);
	step(1, 0);
	check(!last.queries_queue);
	check_due(5);
	static const int at[] = {5, 20, 50, 110, 230, 470, 770, 1070};
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); ++i) {
		step(1, at[i] - 0.5);
		check(!last.queries_queue);
		check_due(at[i]);
		step(1, at[i]);
		check(last.queries_queue);
	}
	come(0, 1080);
	step(1, 2000);
	check(!last.queries_queue);
	pilot_policy_fini(&policy);
}

static void test_failures(void) {
	pilot_policy_init(&policy, 3, 1);
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
	check(!pilots_are_hopeless(&policy));
	pilot_policy_fini(&policy);
}

static void test_replaced(void) {
	pilot_policy_init(&policy, 1, 1);
	step(1, 0);
	come(0, 1);
	busy(0);
	pilot_set_state(&policy, 0, PILOT_LEAVING, 50 * NS_PER_S); // its time is over, and a job is still there
	check_string(step(1, 50), "-");
	pilot_set_state(&policy, 0, PILOT_ABSENT, 60 * NS_PER_S);
	check_string(step(1, 60), "a");
	come(0, 61);
	fail(0, false, 130); // a node has failed
	check_string(step(1, 130), "a");
	come(0, 131);
	fail(0, false, 132); // and again, at once
	check_string(step(1, 132), "-");
	check_due(137);
	pilot_policy_fini(&policy);
}

static void test_hopeless(void) {
	pilot_policy_init(&policy, 2, 1);
	step(2, 0);
	fail(0, true, 1);
	check(!pilots_are_hopeless(&policy)); // the other one may come
	fail(1, true, 1);
	check(pilots_are_hopeless(&policy));
	check_string(step(2, 100), "--");
	pilot_policy_fini(&policy);
	pilot_policy_init(&policy, 2, 1);
	step(2, 0);
	pilots_cannot_start(&policy);
	check_string(step(2, 5), "gg");
	check(pilots_are_hopeless(&policy));
	pilot_policy_fini(&policy);
	pilot_policy_init(&policy, 2, 1);
	step(2, 0);
	come(0, 1);
	fail(1, true, 1);
	fail(0, true, 2);
	pilots_cannot_start(&policy);
	check(!pilots_are_hopeless(&policy)); // what has been there may come back
	pilot_policy_fini(&policy);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("as many pilots are asked for as there is work for, and no more than there may be", test_as_many_as_needed),
		TEST("a pilot that has been idle for a while is released, and asked for again when work comes", test_released),
		TEST("a pilot that has not come is given up when there is no work any more", test_given_up),
		TEST("the queue is looked at after 5 s, and then ever more rarely", test_looks),
		TEST("after a failure one is asked for as a trial, ever more rarely", test_failures),
		TEST("a pilot that leaves or is lost is replaced while there is work", test_replaced),
		TEST("it is hopeless once none has ever come and none is asked for", test_hopeless),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
