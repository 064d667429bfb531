// The median of the values of late.

#include "base/median.h"

#include "test.h"

enum { KEPT = 999 };

static void test_few(void) {
	struct median *median = median_new(KEPT);
	check_equal(median_get(median), 0);
	static const uint64_t values[] = {5, 1, 9, 3, 3}, medians[] = {5, 1, 5, 3, 3};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); ++i) {
		median_add(median, values[i]);
		check_equal(median_get(median), medians[i]);
	}
	free(median);
}

static int compare(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

// Against the plain way: sort the last ones.
static void test_many(void) {
	struct median *median = median_new(KEPT);
	static uint64_t all[5 * KEPT], sorted[KEPT];
	uint32_t random = 1;
	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); ++n) {
		random = random * 1664525 + 1013904223;
		all[n] = random >> 24; // many are equal
		median_add(median, all[n]);
		size_t kept = n + 1 < KEPT ? n + 1 : KEPT;
		memcpy(sorted, all + n + 1 - kept, kept * sizeof(*sorted));
		if (n % 7 == 0 || n < 20) {
			qsort(sorted, kept, sizeof(*sorted), compare);
			check_equal(median_get(median), sorted[(kept - 1) / 2]);
		}
	}
	free(median);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the middle one, the lower of two", test_few),
		TEST("of many, those of late count", test_many),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
