// Where held output lies: what was put in comes out, in memory, on disk and across both.

#include "output/store.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

static uint64_t state = 1;

static size_t below(size_t n) {
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(state >> 33) % n;
}

// Adds, drops, cuts and joins at random, beside a plain buffer that does the same.
static void run_ropes(size_t bound) {
	struct store *store = store_create(bound, "/tmp");
	char *scratch = xmalloc(BLOCK_SIZE), *mem = xmalloc(200000);
	struct rope ropes[4] = {0};
	struct buf model[4] = {0};
	size_t at[4] = {0};
	for (int step = 0; step < 2000; ++step) {
		size_t i = below(4);
		if (below(3) > 0 && model[i].len - at[i] < 3000000) {
			size_t n = below(below(10) == 0 ? 200000 : 5000);
			for (size_t k = 0; k < n; ++k) {
				mem[k] = (char)below(256);
			}
			check_equal(rope_add(store, &ropes[i], mem, n, false), n);
			buf_add(&model[i], mem, n);
		}
		for (size_t most = below(10); most > 0 && ropes[i].len > 0; --most) {
			const char *found;
			ssize_t n = rope_peek(store, &ropes[i], scratch, &found);
			check(n > 0);
			size_t drop = below((size_t)n) + 1;
			check(memcmp(found, model[i].data + at[i], drop) == 0);
			rope_drop(store, &ropes[i], drop);
			at[i] += drop;
		}
		if (below(20) == 0) {
			size_t keep = below((size_t)ropes[i].len + 1);
			rope_cut(store, &ropes[i], keep);
			model[i].len = at[i] + keep;
		}
		if (below(10) == 0) {
			size_t k = below(4);
			if (k != i) {
				rope_join(store, &ropes[i], &ropes[k]);
				check_equal(ropes[k].len, 0);
				buf_add(&model[i], buf_str(&model[k]) + at[k], model[k].len - at[k]);
				at[k] = model[k].len;
			}
		}
		check_equal(ropes[i].len, model[i].len - at[i]);
		check(store_mem(store) <= bound);
	}
	for (size_t i = 0; i < 4; ++i) {
		rope_clear(store, &ropes[i]);
		buf_fini(&model[i]);
	}
	check_equal(store_mem(store), 0);
	check_equal(store_units(store), 0);
	store_destroy(store);
	free(scratch);
	free(mem);
}

static void test_ropes(void) {
	run_ropes(64 << 20);
	run_ropes(400000);
	run_ropes(0);
}

// Packs of records in random order of taking.
static void run_packs(size_t bound) {
	enum { RECORDS = 3000 };
	struct store *store = store_create(bound, "/tmp");
	char *buf = xmalloc(PACK_MAX), *mem = xmalloc(PACK_MAX);
	uint64_t *refs = xcalloc(RECORDS, sizeof(refs[0]));
	size_t held = 0;
	for (int step = 0; step < 20000; ++step) {
		size_t i = below(RECORDS);
		struct output_record record = {.tag = mem, .tag_len = (uint32_t)(i % 7), .data = {mem + 10, mem + 20},
			.len = {(uint32_t)(i % 3 ? i : i * 10), (uint32_t)(i % 5)}};
		memset(mem, (int)i, PACK_MAX);
		check(record_fits(&record));
		if (refs[i] == 0) {
			refs[i] = pack_add(store, &record);
			check((refs[i] & PACK_REF_MASK) == PACK_REF);
			++held;
			continue;
		}
		struct output_record found;
		check_equal(pack_take(store, refs[i], buf, &found), 0);
		refs[i] = 0;
		--held;
		check_equal(found.tag_len, record.tag_len);
		check(memcmp(found.tag, mem, found.tag_len) == 0);
		for (int k = 0; k < 2; ++k) {
			check_equal(found.len[k], record.len[k]);
			check(memcmp(found.data[k], mem, found.len[k]) == 0);
		}
		check(store_mem(store) <= bound + BLOCK_SIZE);
	}
	for (size_t i = 0; i < RECORDS; ++i) {
		struct output_record found;
		check(refs[i] == 0 || pack_take(store, refs[i], buf, &found) == 0);
	}
	check(store_mem(store) <= BLOCK_SIZE); // the open pack
	check_equal(store_units(store), 0);
	store_destroy(store);
	free(refs);
	free(buf);
	free(mem);
}

static void test_packs(void) {
	run_packs(64 << 20);
	run_packs(300000);
	run_packs(0);
}

static void test_too_long_for_pack(void) {
	struct output_record record = {.len = {PACK_MAX, 0}};
	check(!record_fits(&record));
	record = (struct output_record){.tag_len = UINT32_MAX, .len = {UINT32_MAX, UINT32_MAX}};
	check(!record_fits(&record));
}

static void test_space_is_used_again(void) {
	struct store *store = store_create(0, "/tmp");
	char *mem = xcalloc(1, 1 << 20);
	// 2 GB pass through, one rope at a time, in a file that may have 8 MB
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8 << 20, 8 << 20}) == 0);
	for (int i = 0; i < 500; ++i) {
		struct rope rope = {0};
		for (int k = 0; k < 4; ++k) {
			check_equal(rope_add(store, &rope, mem, 1 << 20, false), 1 << 20);
		}
		rope_clear(store, &rope);
	}
	free(mem);
	store_destroy(store);
}

static void test_full(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20}) == 0);
	struct store *store = store_create(300000, "/tmp");
	char *mem = xmalloc(4 << 20), *scratch = xmalloc(BLOCK_SIZE);
	for (size_t i = 0; i < 4 << 20; ++i) {
		mem[i] = (char)(i % 251);
	}
	struct rope rope = {0};
	size_t n = rope_add(store, &rope, mem, 4 << 20, false);
	check_equal(errno, EFBIG);
	check(n > 1 << 20 && n < 4 << 20); // memory and disk
	check_equal(rope_add(store, &rope, mem, 1, false), 0);
	check_equal(rope_add(store, &rope, mem + n, 100000, true), 100000);
	for (size_t at = 0; rope.len > 0;) {
		const char *found;
		ssize_t part = rope_peek(store, &rope, scratch, &found);
		check(part > 0 && memcmp(found, mem + at, (size_t)part) == 0);
		at += (size_t)part;
		rope_drop(store, &rope, (size_t)part);
		check(rope.len > 0 || at == n + 100000);
	}
	rope_clear(store, &rope);
	check_equal(store_mem(store), 0);
	check_equal(store_units(store), 0);
	store_destroy(store);
	free(mem);
	free(scratch);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a rope gives back what was added, from memory and disk", test_ropes),
		TEST("a pack gives back its records in any order", test_packs),
		TEST("what is too long for a pack is seen before", test_too_long_for_pack),
		TEST("space in the file is used again", test_space_is_used_again),
		TEST("a full disk takes what it can and says so", test_full),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
