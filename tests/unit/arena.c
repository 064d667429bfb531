// Memory that is freed all at once (base/buf.h).

#include "base/buf.h"
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

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("pieces of an arena are zeroed, aligned and apart", test_arena),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
