// The distance of words (base/units.h).

#include "base/units.h"
#include "test.h"

#include <stdint.h>

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

// The whole table, with no band and no limit.
static size_t naive(const char *a, size_t na, const char *b, size_t nb) {
	size_t table[8][8];
	for (size_t i = 0; i <= na; ++i) {
		for (size_t j = 0; j <= nb; ++j) {
			size_t best = i == 0 ? j : j == 0 ? i : table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (i > 0 && j > 0) {
				best = table[i - 1][j] + 1 < best ? table[i - 1][j] + 1 : best;
				best = table[i][j - 1] + 1 < best ? table[i][j - 1] + 1 : best;
			}
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && table[i - 2][j - 2] + 1 < best) {
				best = table[i - 2][j - 2] + 1;
			}
			table[i][j] = best;
		}
	}
	return table[na][nb];
}

static void test_naive(void) {
	uint32_t random = 1;
	for (int i = 0; i < 100000; ++i) {
		char a[7], b[7];
		size_t na = (random >> 8) % 8, nb = (random >> 12) % 8;
		for (size_t k = 0; k < 7; ++k) {
			random = random * 1664525 + 1013904223; // Numerical Recipes
			a[k] = (char)('a' + (random >> 16) % 3);
			b[k] = (char)('a' + (random >> 20) % 3);
		}
		size_t expected = naive(a, na, b, nb), got = edit_distance(a, na, b, nb);
		check(expected <= DISTANCE_NEAR ? got == expected : got > DISTANCE_NEAR);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("words are as far apart as they have edits", test_distance),
		TEST("the distance is that of the whole table", test_naive),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
