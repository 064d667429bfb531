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
	memory_learned_note(&learned, 0, 5 * MB);
	memory_learned_sampled(&learned, /* grown */ true, 1100 * MS);
	check(memory_learned_holds_back(&learned));
	check_equal(learned.due, 1300 * MS);
	memory_learned_note(&learned, 5 * MB, 8 * MB);
	memory_learned_note(&learned, 8 * MB, 7 * MB);
	memory_learned_sampled(&learned, /* grown */ false, 1300 * MS);
	check(!memory_learned_holds_back(&learned));
	check_equal(memory_learned_need(&learned), 9 * MB);
	begin(&learned, 1300 * MS);
	check(memory_learned_holds_back(&learned));
	for (unsigned i = 0; i < 10; ++i) { // it grows on and on: it is looked at less and less often
		memory_learned_sampled(&learned, /* grown */ true, 2000 * MS);
	}
	check_equal(learned.due, 4000 * MS);
	check(memory_learned_holds_back(&learned));
}

static void test_grown(void) {
	check(memory_learned_has_grown(0, 2 * MB, 100 * MB));
	check(!memory_learned_has_grown(0, MB, 100 * MB));
	check(!memory_learned_has_grown(32 * MB, 35 * MB, 0));
	check(memory_learned_has_grown(32 * MB, 36 * MB, 0));
	check(!memory_learned_has_grown(0, 24 * MB, 24 * 1024 * MB)); // beside so much
	check(memory_learned_has_grown(0, 25 * MB, 24 * 1024 * MB));
	check(!memory_learned_has_grown(0, 1024 * MB, UINT64_MAX));
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

static void test_several(void) {
	struct memory_learned same = {.peak = 0}, varied = {.peak = 0}, one_huge = {.peak = 0};
	check_equal(memory_learned_reserve(&same, 0), 0);
	check_equal(memory_learned_reserve(&same, 5), 0);
	for (unsigned i = 0; i < 64; ++i) {
		memory_learned_end(&same, 32 * MB);
		memory_learned_end(&varied, (8 + i * 7 % 48) * MB); // 8 to 55
		memory_learned_end(&one_huge, i == 32 ? 320 * MB : 32 * MB);
	}
	check_equal(memory_learned_reserve(&same, 8), 8 * 33 * MB);
	// the mean is 31, the deviation 14: 310 + 2 * 14 * 3.2 for ten, and never more than ten of the greatest
	check(memory_learned_reserve(&varied, 10) > 350 * MB && memory_learned_reserve(&varied, 10) < 480 * MB);
	check(memory_learned_reserve(&varied, 1) > 45 * MB && memory_learned_reserve(&varied, 1) < 58 * MB);
	check(memory_learned_reserve(&one_huge, 8) < 10 * 33 * MB + 320 * MB);
	// a larger one may be the first of many: all are, until it is known
	memory_learned_note(&one_huge, 0, 320 * MB);
	check_equal(memory_learned_reserve(&one_huge, 8), 8 * 360 * MB);
	memory_learned_note(&one_huge, 320 * MB, 328 * MB); // it grows
	check_equal(memory_learned_reserve(&one_huge, 8), 8 * 369 * MB);
	for (unsigned i = 0; i < 16; ++i) {
		memory_learned_end(&one_huge, 32 * MB);
	}
	uint64_t reserve = memory_learned_reserve(&one_huge, 8), one = memory_learned_reserve(&one_huge, 1);
	check(reserve > one + 7 * 32 * MB && reserve < 6 * one);
	for (unsigned jobs = 0; jobs < 1000; ++jobs) { // more jobs never need less
		check(memory_learned_reserve(&one_huge, jobs) <= memory_learned_reserve(&one_huge, jobs + 1));
	}
}

static void end_each(struct memory_learned *learned, unsigned n, uint64_t peak) {
	for (unsigned i = 0; i < n; ++i) {
		memory_learned_end(learned, peak);
	}
}

// What is reserved for eight where one of 180M may be the first of many, and four of 20M have ended since: the mean is 52, the
// deviation 64; and where it was an exception, whose peak falls by a sixteenth of the difference with each that ends.
#define MANY_LEAST (875 * MB)
#define MANY_MOST (876 * MB)
#define FALLEN UINT64_C(150571520)
#define ONE_OF_EIGHT ((FALLEN + 7 * 20 * MB) * 9 / 8)

static bool counts_huge(const struct memory_learned *learned) {
	uint64_t reserve = memory_learned_reserve(learned, 8);
	return reserve >= MANY_LEAST && reserve < MANY_MOST;
}

static void test_exception(void) {
	struct memory_learned learned = {.peak = 0};
	end_each(&learned, 8, 20 * MB);
	memory_learned_end(&learned, 180 * MB);
	check_equal(memory_learned_reserve(&learned, 8), 8 * 180 * MB * 9 / 8);
	end_each(&learned, 3, 20 * MB);
	check(memory_learned_reserve(&learned, 8) > 900 * MB);
	end_each(&learned, 1, 20 * MB);
	check_equal(atomic_load(&learned.peak), FALLEN);
	check_equal(memory_learned_reserve(&learned, 8), ONE_OF_EIGHT);
	check_equal(memory_learned_reserve(&learned, 1), FALLEN * 9 / 8);
	// another within 64 jobs is none, and a later one is
	end_each(&learned, 59, 20 * MB);
	memory_learned_end(&learned, 180 * MB);
	end_each(&learned, 4, 20 * MB);
	check(counts_huge(&learned));
	end_each(&learned, 63, 20 * MB);
	memory_learned_end(&learned, 180 * MB);
	end_each(&learned, 4, 20 * MB);
	check_equal(memory_learned_reserve(&learned, 8), ONE_OF_EIGHT);
}

// One that runs still, with a few looks at it.
static void test_running_exception(void) {
	struct memory_learned learned = {.peak = 0}, jumps;
	end_each(&learned, 16, 20 * MB);
	jumps = learned;
	memory_learned_note(&jumps, 0, 180 * MB);
	check_equal(memory_learned_reserve(&jumps, 8), 8 * 180 * MB * 9 / 8);
	end_each(&jumps, 4, 20 * MB);
	check_equal(memory_learned_reserve(&jumps, 8), ONE_OF_EIGHT);
	memory_learned_note(&jumps, 180 * MB, 191 * MB); // and counts no less than before
	check_equal(memory_learned_reserve(&jumps, 8), (191 + 7 * 20) * MB * 9 / 8);
	memory_learned_end(&jumps, 191 * MB); // its end does not count once more
	check_equal(memory_learned_reserve(&jumps, 8), (191 + 7 * 20) * MB * 9 / 8);
	// another one comes up slowly: as long as it grows it may be the first of many
	for (uint64_t mb = 20; mb < 180; ++mb) {
		memory_learned_note(&learned, mb * MB, (mb + 1) * MB);
		end_each(&learned, mb % 8 == 0, 20 * MB);
	}
	check(memory_learned_reserve(&learned, 8) > 400 * MB);
	end_each(&learned, 4, 20 * MB);
	memory_learned_end(&learned, 180 * MB);
	check_equal(memory_learned_reserve(&learned, 8), (180 + 7 * 20) * MB * 33 / 32);
}

static void test_grows_on(void) {
	struct memory_learned learned = {.peak = 0};
	memory_learned_note(&learned, 0, 100 * MB);
	end_each(&learned, 4, 20 * MB);
	uint64_t exception = memory_learned_reserve(&learned, 8);
	memory_learned_note(&learned, 100 * MB, 106 * MB);
	check_equal(memory_learned_reserve(&learned, 8), (106 + 7 * 20) * MB * 9 / 8);
	memory_learned_note(&learned, 106 * MB, 107 * MB);
	check(memory_learned_reserve(&learned, 8) > 2 * exception);
	end_each(&learned, 4, 20 * MB);
	check(memory_learned_reserve(&learned, 8) < exception); // it is the same one
}

// Many huge jobs take longer than the small ones among them: these end first.
static void test_second(void) {
	struct memory_learned learned = {.peak = 0}, later;
	memory_learned_note(&learned, 0, 180 * MB);
	memory_learned_note(&learned, 0, 89 * MB);
	later = learned;
	end_each(&later, 4, 20 * MB);
	check_equal(memory_learned_reserve(&later, 8), ONE_OF_EIGHT);
	memory_learned_note(&later, 89 * MB, 90 * MB);
	check(counts_huge(&later));
	end_each(&later, 4, 20 * MB);
	check(memory_learned_reserve(&later, 8) > 604 * MB); // the mean of nine is 38, the deviation 50
	memory_learned_note(&learned, 89 * MB, 90 * MB);
	end_each(&learned, 4, 20 * MB);
	check(counts_huge(&learned));
}

static void test_growing(void) {
	struct memory_learned much = {.peak = 0}, little = {.peak = 0};
	for (uint64_t mb = 20; mb < 20000; mb += mb / 3) { // each is the first of many
		memory_learned_end(&much, mb * MB);
		check_equal(memory_learned_reserve(&much, 8), 9 * mb * MB);
	}
	for (uint64_t mb = 20; mb < 20000; mb += mb / 10) {
		memory_learned_note(&little, 0, mb / 2 * MB);
		memory_learned_note(&little, mb / 2 * MB, mb * MB);
		memory_learned_end(&little, mb * MB);
		check(memory_learned_reserve(&little, 8) > 5 * mb * MB);
	}
}

static void test_known(void) {
	struct memory_learned learned = {.peak = 0};
	memory_learned_restore(&learned, 8 * MB);
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
		TEST("a job that has little of what there is has not grown", test_grown),
		TEST("a huge job counts at once, and is forgotten by and by", test_outlier),
		TEST("several jobs need what they need together, of which one may be huge", test_several),
		TEST("a huge job is an exception when four others have ended, but not so a second one", test_exception),
		TEST("one that runs is an exception when it has grown no more meanwhile", test_running_exception),
		TEST("an exception that grows on may be the first of many again", test_grows_on),
		TEST("where another one that runs has half as much there is no exception", test_second),
		TEST("jobs that need more and more are all reserved for", test_growing),
		TEST("what a former run has learned is enough", test_known),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
