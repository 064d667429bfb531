// What is learned of the memory that jobs need: numbers in, numbers out.

#include "process/memory_learned.h"

#include "base/sync.h"

#include "test.h"

#define MB UINT64_C(1048576)
#define MS ((uint64_t)NS_PER_MS)

static void begin(struct memory_learned *learned, uint64_t now) {
	++learned->running;
	memory_learned_begin(learned, now);
}

static void end(struct memory_learned *learned, uint64_t peak) {
	--learned->running;
	memory_learned_end(learned, peak);
}

static void test_ends(void) {
	struct memory_learned learned = {.peak = 0};
	static const unsigned at_once[] = {1, 2, 4};
	check(memory_learned_need(&learned) == 0);
	for (unsigned samples = 0; samples < 3; ++samples) {
		while (!memory_learned_holds_back(&learned)) {
			begin(&learned, 0);
		}
		check_equal(learned.running, at_once[samples]);
		end(&learned, 80 * MB);
	}
	for (unsigned i = 0; i < 1000; ++i) {
		check(!memory_learned_holds_back(&learned));
		begin(&learned, 0);
	}
	check_equal(memory_learned_need(&learned), 90 * MB);
}

static void test_looks(void) {
	struct memory_learned learned = {.peak = 0};
	begin(&learned, 1000 * MS);
	check_equal(learned.due, 1100 * MS);
	memory_learned_note(&learned, 5 * MB);
	memory_learned_looked(&learned, /* grown */ true, 1100 * MS);
	check(memory_learned_holds_back(&learned));
	check_equal(learned.due, 1300 * MS);
	memory_learned_note(&learned, 8 * MB);
	memory_learned_note(&learned, 7 * MB);
	memory_learned_looked(&learned, /* grown */ false, 1300 * MS);
	check(!memory_learned_holds_back(&learned));
	check_equal(memory_learned_need(&learned), 9 * MB);
	begin(&learned, 1300 * MS);
	check(memory_learned_holds_back(&learned));
	for (unsigned i = 0; i < 10; ++i) { // it grows on and on: it is looked at less and less often
		memory_learned_looked(&learned, /* grown */ true, 2000 * MS);
	}
	check_equal(learned.due, 4000 * MS);
	check(memory_learned_holds_back(&learned));
}

static void test_outlier(void) {
	struct memory_learned learned = {.peak = 0};
	memory_learned_end(&learned, 1024 * MB);
	check_equal(memory_learned_need(&learned), 1152 * MB);
	for (unsigned i = 0; i < 11; ++i) {
		memory_learned_end(&learned, MB);
	}
	check(memory_learned_need(&learned) > 500 * MB && memory_learned_need(&learned) < 600 * MB);
	memory_learned_end(&learned, 2048 * MB);
	check_equal(memory_learned_need(&learned), 2304 * MB);
}

static void test_known(void) {
	struct memory_learned learned = {.peak = 0};
	memory_learned_know(&learned, 8 * MB);
	begin(&learned, 0);
	check(!memory_learned_holds_back(&learned));
	check_equal(memory_learned_need(&learned), 9 * MB);
	memory_learned_end(&learned, UINT64_MAX); // from a damaged log, or a machine to come: sums stay numbers
	check_equal(memory_learned_need(&learned), UINT64_C(1) << 46);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("with each job that ends twice as many may run, and after three all", test_ends),
		TEST("jobs that grow no more let others begin", test_looks),
		TEST("a huge job counts at once, and is forgotten by and by", test_outlier),
		TEST("what a former run has learned is enough", test_known),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
