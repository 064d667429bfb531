// Arenas, maps of texts, and the distance of words.

#include "base/alloc.h"
#include "base/arena.h"
#include "base/edit_distance.h"
#include "base/map.h"
#include "test.h"

#include <stdalign.h>
#include <stdint.h>

static void test_arena(void) {
	struct arena arena = ARENA_INIT;
	char *texts[2000];
	uint32_t random = 1;
	for (size_t i = 0; i < 2000; ++i) {
		random = random * 1664525 + 1013904223;
		size_t size = (random >> 16) % (i % 100 == 0 ? 100000 : 100);
		unsigned char *piece = arena_alloc(&arena, size);
		check((uintptr_t)piece % alignof(max_align_t) == 0);
		for (size_t k = 0; k < size; ++k) {
			check(piece[k] == 0);
			piece[k] = 0xAA;
		}
		char text[16];
		int len = snprintf(text, sizeof(text), "%zu", i);
		texts[i] = arena_text(&arena, text, (size_t)len);
	}
	for (size_t i = 0; i < 2000; ++i) {
		check_equal(strtoul(texts[i], NULL, 10), i);
	}
	arena_fini(&arena);
	check_string(arena_text(&arena, "again", 3), "aga");
	arena_fini(&arena);
}

static void test_map(void) {
	struct arena arena = ARENA_INIT;
	struct map map = MAP_INIT;
	check(map_get(&map, "a", 1) == MAP_NONE);
	for (uint32_t i = 0; i < 5000; ++i) {
		char text[16];
		int len = snprintf(text, sizeof(text), "%u", i);
		check(map_add(&map, arena_text(&arena, text, (size_t)len), (size_t)len, i) == MAP_NONE);
		check_equal(map_add(&map, text, (size_t)len, 1), i);
	}
	check(map_get(&map, "4999", 4) == 4999 && map_get(&map, "4999", 3) == 499 && map_get(&map, "5000", 4) == MAP_NONE);
	check(map_add(&map, "", 0, 7) == MAP_NONE && map_get(&map, "", 0) == 7);
	size_t cap = map.cap;
	map_reserve(&map, 10);
	check(map.cap == cap);
	map_reserve(&map, 20000);
	const struct map_entry *entries = map.entries;
	check(map_get(&map, "4999", 4) == 4999 && map.n == 5001);
	for (uint32_t i = 5000; i < 19999; ++i) {
		char text[16];
		int len = snprintf(text, sizeof(text), "%u", i);
		check(map_add(&map, arena_text(&arena, text, (size_t)len), (size_t)len, i) == MAP_NONE);
	}
	check(map.entries == entries && map.n == 20000 && map_get(&map, "19998", 5) == 19998);
	map_set(&map, "", 0, 8);
	check(map_get(&map, "", 0) == 8 && map.n == 20000);
	map_fini(&map);
	arena_fini(&arena);
}

static size_t edits(const char *a, const char *b) {
	size_t n = distance(a, strlen(a), b, strlen(b));
	check_equal(distance(b, strlen(b), a, strlen(a)), n);
	return n < DISTANCE_NEAR + 1 ? n : DISTANCE_NEAR + 1;
}

static const char *near(const char *word) {
	struct nearest nearest = NEAREST_INIT(word, strlen(word));
	static const char *const candidates[] = {"weight", "needs", "max_parallel", "retries", "run"};
	for (size_t i = 0; i < 5; ++i) {
		nearest_offer(&nearest, candidates[i]);
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
		size_t expected = naive(a, na, b, nb), got = distance(a, na, b, nb);
		check(expected <= DISTANCE_NEAR ? got == expected : got > DISTANCE_NEAR);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("pieces of an arena are zeroed, aligned and apart", test_arena),
		TEST("a map finds what was put in, and nothing else", test_map),
		TEST("words are as far apart as they have edits", test_distance),
		TEST("the distance is that of the whole table", test_naive),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
