// The distance of words (base/units.h).

#include "base/units.h"
#include "test.h"

static size_t edits(const char *a, const char *b) {
	size_t n = edit_distance(a, strlen(a), b, strlen(b));
	check_equal(edit_distance(b, strlen(b), a, strlen(a)), n);
	return n < DISTANCE_NEAR + 1 ? n : DISTANCE_NEAR + 1;
}

static const char *near(const char *word) {
	struct nearest nearest = NEAREST_INIT(word, strlen(word));
	static const char *const candidates[] = {"weight", "needs", "max_parallel", "retries", "run"};
	for (size_t i = 0; i < 5; ++i) {
		nearest_offer(&nearest, candidates[i], strlen(candidates[i]));
	}
	return nearest.found ? nearest.found : "";
}

static void test_distance(void) {
	check_equal(edits("", ""), 0);
	check_equal(edits("weight", "weight"), 0);
	check_equal(edits("weight", "wieght"), 1);
	check_equal(edits("weight", "weigt"), 1);
	check_equal(edits("weight", "weigghtt"), 2);
	check_equal(edits("abcd", "badc"), 2);
	check_equal(edits("ca", "abc"), 3); // no part is edited twice
	check_equal(edits("abc", "xyz"), 3);
	check_equal(edits("", "abc"), 3);
	check_equal(edits("abcdefgh", "efghabcd"), 4);
	check_equal(edits("abcdefghij", "klmnopqrst"), 4);
	check_string(near("wieght"), "weight");
	check_string(near("max_paralel"), "max_parallel");
	check_string(near("need"), "needs");
	check_string(near("rnu"), "run");
	check_string(near("cmd"), "");
	check_string(near("x"), "");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("words are as far apart as they have edits", test_distance),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
