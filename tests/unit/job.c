// Outcomes in words and codes, and signals by name.

#include "job/job.h"
#include "test.h"

static const char *described(struct result result) {
	static char text[80];
	return result_describe(&result, text, sizeof(text));
}

static void test_words(void) {
	check_string(outcome_names[OUTCOME_OK], "ok");
	check_string(outcome_names[OUTCOME_FAILED], "failed");
	check_string(outcome_names[OUTCOME_SIGNAL], "signal");
	check_string(outcome_names[OUTCOME_TIMEOUT], "timeout");
	check_string(outcome_names[OUTCOME_SPAWN_ERROR], "spawn_error");
	check_string(outcome_names[OUTCOME_CANCELLED], "cancelled");
	check_string(outcome_names[OUTCOME_SKIPPED], "skipped");
}

static void test_describe(void) {
	check_string(described((struct result){.outcome = OUTCOME_OK}), "ok");
	check_string(described((struct result){.outcome = OUTCOME_FAILED, .exit_code = 3}), "exit 3");
	check_string(described((struct result){.outcome = OUTCOME_SIGNAL, .term_signal = 9}), "signal 9 (KILL)");
	check_string(described((struct result){.outcome = OUTCOME_SIGNAL, .term_signal = 40}), "signal 40");
	check_string(described((struct result){.outcome = OUTCOME_TIMEOUT, .term_signal = 15}), "timeout");
	check_string(described((struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 127}), "not found");
	check_string(described((struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 126}), "cannot run");
	check_string(described((struct result){.outcome = OUTCOME_CANCELLED}), "cancelled");
	check_string(described((struct result){.outcome = OUTCOME_SKIPPED}), "skipped");
	check_string(described((struct result){.outcome = OUTCOME_SIGNAL, .term_signal = 9, .out_of_memory = true}),
	             "signal 9 (KILL), out of memory");
	check_string(described((struct result){.outcome = OUTCOME_FAILED, .exit_code = 137, .out_of_memory = true}),
	             "exit 137, out of memory");
}

static void test_code(void) {
	check_equal(result_code(&(struct result){.outcome = OUTCOME_OK}), 0);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_FAILED, .exit_code = 255}), 255);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_SIGNAL, .term_signal = 2}), 130);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_TIMEOUT, .term_signal = 15}), 124);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_TIMEOUT, .exit_code = 0}), 124);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = 127}), 127);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_CANCELLED}), 1);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_SKIPPED}), 1);
	check_equal(result_code(&(struct result){.outcome = OUTCOME_CANCELLED, .term_signal = 15}), 143);
}

static int number(const char *text) {
	return signal_number(text, strlen(text));
}

static void test_signals(void) {
	for (int i = 1; i < 32; ++i) {
		check(signal_name(i));
		check_equal(number(signal_name(i)), i);
	}
	check(!signal_name(40));
	check(!signal_name(0));
	check_equal(number("TERM"), SIGTERM);
	check_equal(number("SIGTERM"), SIGTERM);
	check_equal(number("sigterm"), SIGTERM);
	check_equal(number("9"), 9);
	check_equal(number("64"), 64);
	check_equal(signal_number("KILL,25", 4), SIGKILL);
	static const char *const wrong[] = {"", "SIG", "0", "65", "-9", "9x", "99999999999999999999", "FOO", "TER", "TERMS"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		check_equal(number(wrong[i]), 0);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each outcome has its word", test_words),
		TEST("a result is described with its code or signal", test_describe),
		TEST("a failure is passed on by its code, 128+n or 124, never as 0", test_code),
		TEST("signals are found by name, SIG name and number", test_signals),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
