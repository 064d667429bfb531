// Texts mapped to numbers (base/map.h).

#include "base/buf.h"
#include "base/map.h"

#include "test.h"

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
	check(map_add(&map, "", 0, 8) == 7 && map.n == 5001);
	map_fini(&map);
	arena_fini(&arena);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a map finds what was put in, and nothing else", test_map),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
