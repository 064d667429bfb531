// Tests of the file in which fairpars that share slots tell each other what their jobs need (process/memory.h).

#include "process/memory.h"
#include "test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/fairpar-unit-ledger-XXXXXX";

static struct memory_ledger *open_ledger(void) {
	struct memory_ledger *ledger = memory_ledger_open(path);
	check(ledger);
	return ledger;
}

static void check_look(struct memory_ledger *ledger, uint64_t unknown, uint64_t bytes, uint64_t need, bool has_jobs) {
	struct memory_others others = memory_ledger_look(ledger, unknown, /* samples */ false);
	check_equal(others.bytes, bytes);
	check_equal(others.need, need);
	check_equal(others.has_jobs, has_jobs);
}

static void test_sum(void) {
	struct memory_ledger *a = open_ledger(), *b = open_ledger(), *c = open_ledger();
	check_look(a, 5, 0, 0, false);
	memory_ledger_publish(b, &(struct memory_entry){.reserved = 100, .need = 40});
	memory_ledger_publish(c, &(struct memory_entry){.unknown = 2});
	check_look(a, 7, 114, 40, true);  // those of which nothing is known are as large as the one that is to start,
	check_look(a, 0, 180, 40, true);  // or as the largest
	check_look(b, 7, 14, 0, true);
	memory_ledger_close(b);
	memory_ledger_close(c);
	check_look(a, 7, 0, 0, false);
	memory_ledger_close(a);
}

static void test_samples(void) {
	static char own[1 << 25];
	memset(own, 1, sizeof(own));
	struct memory_ledger *a = open_ledger(), *b = open_ledger();
	memory_ledger_publish(b, &(struct memory_entry){.reserved = sizeof(own)});
	check_equal(memory_ledger_look(a, 5, /* samples */ true).bytes, sizeof(own));
	memory_ledger_close(a);
	memory_ledger_close(b);
}

static void test_first_come_first_served(void) {
	struct memory_ledger *a = open_ledger(), *b = open_ledger();
	memory_ledger_publish(a, &(struct memory_entry){.wants = 100});
	check_look(b, 5, 100, 0, true);
	memory_ledger_publish(b, &(struct memory_entry){.wants = 10});
	check_look(b, 5, 100, 0, true);
	check_look(a, 5, 0, 0, false);
	memory_ledger_publish(a, &(struct memory_entry){.reserved = 100, .need = 100});
	check_look(a, 5, 10, 0, true); // it has its room, and is behind b with the next one
	memory_ledger_close(a);
	memory_ledger_close(b);
}

static void test_process_has_ended(void) {
	struct memory_ledger *a = open_ledger();
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		struct memory_ledger *b = open_ledger();
		memory_ledger_publish(b, &(struct memory_entry){.reserved = 100});
		_exit(0); // as if it was killed
	}
	int status;
	check(waitpid(pid, &status, 0) == pid && status == 0);
	check_look(a, 5, 0, 0, false);
	memory_ledger_close(a);
}

static void test_below_another(void) {
	struct memory_ledger *a = open_ledger(), *other = open_ledger();
	memory_ledger_publish(a, &(struct memory_entry){.reserved = 100, .need = 100});
	memory_ledger_close(other);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) { // its job waits for this process
		struct memory_ledger *b = open_ledger();
		check_look(b, 5, 0, 0, false);
		memory_ledger_close(b);
		_exit(0);
	}
	int status;
	check(waitpid(pid, &status, 0) == pid && status == 0);
	memory_ledger_close(a);
}

static void test_cannot_open(void) {
	check(!memory_ledger_open("/dev/null/none"));
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("what all others need is added up", test_sum),
		TEST("the memory that a process itself has is not its jobs'", test_samples),
		TEST("who waits leaves what those need who have waited before", test_first_come_first_served),
		TEST("a process that has ended needs nothing", test_process_has_ended),
		TEST("a process in whose job this one runs needs nothing more", test_below_another),
		TEST("a file that cannot be opened is an error", test_cannot_open),
	};
	close(mkstemp(path));
	int result = test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	unlink(path);
	return result;
}
