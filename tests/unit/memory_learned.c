// What a job of a batch is to need, by what the last ones of it had: numbers in, numbers out.

#include "process/memory.h"

#include "test.h"

#define MB UINT64_C(1048576)

static void end_each(struct memory_learned *learned, unsigned n, uint64_t peak) {
	for (unsigned i = 0; i < n; ++i) {
		memory_learned_end(learned, peak);
	}
}

static void test_few_at_first(void) {
	struct memory_learned learned = {.ended = 0};
	static const unsigned at_once[] = {1, 2, 4};
	unsigned running = 0;
	for (unsigned ended = 0; ended < 3; ++ended) {
		while (!memory_learned_holds_back(&learned, running)) {
			++running;
		}
		check_equal(running, at_once[ended]);
		--running;
		memory_learned_end(&learned, 80 * MB);
	}
	check(!memory_learned_holds_back(&learned, 1000000));
}

static void test_need(void) {
	struct memory_learned learned = {.ended = 0};
	check_equal(memory_learned_need(&learned), 0);
	memory_learned_end(&learned, 80 * MB);
	check_equal(memory_learned_need(&learned), 90 * MB);
	memory_learned_end(&learned, 8 * MB);
	check_equal(memory_learned_need(&learned), 90 * MB);
	memory_learned_end(&learned, 160 * MB);
	check_equal(memory_learned_need(&learned), 180 * MB);
	memory_learned_end(&learned, UINT64_MAX); // sums stay numbers
	check_equal(memory_learned_need(&learned), MEMORY_NEED_MOST);
}

static void test_last_fifty(void) {
	struct memory_learned learned = {.ended = 0};
	end_each(&learned, 60, 8 * MB);
	memory_learned_end(&learned, 800 * MB);
	end_each(&learned, 25, 8 * MB);
	memory_learned_end(&learned, 80 * MB);
	end_each(&learned, 23, 8 * MB);
	check_equal(memory_learned_need(&learned), 900 * MB);
	end_each(&learned, 1, 8 * MB);
	check_equal(memory_learned_need(&learned), 90 * MB);
	end_each(&learned, 25, 8 * MB);
	check_equal(memory_learned_need(&learned), 90 * MB);
	end_each(&learned, 1, 8 * MB);
	check_equal(memory_learned_need(&learned), 9 * MB);
	check_equal(atomic_load(&learned.most), 8 * MB);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("until three jobs have ended one, two, four run at once, and then all", test_few_at_first),
		TEST("a job is to need the most that one had, and an eighth", test_need),
		TEST("only the last fifty count", test_last_fifty),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
