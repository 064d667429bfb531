// Where held output lies: what was put in comes out, in memory, on disk and across both.

#include "base/scratch_file.h"
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

// Adds, drops, cuts and splits at random, beside a plain buffer that does the same.
static void run_ropes(size_t bound) {
	struct store *store = store_create(bound, "/tmp");
	char *scratch = xmalloc(PIECE_MAX), *mem = xmalloc(200000);
	struct rope ropes[4] = {0};
	struct buf model[4] = {0};
	size_t at[4] = {0};
	for (int step = 0; step < 2000; ++step) {
		size_t i = below(4), k = below(4);
		if (below(3) > 0 && model[i].len - at[i] < 3000000) {
			size_t n = below(below(10) == 0 ? 200000 : 5000);
			for (size_t j = 0; j < n; ++j) {
				mem[j] = (char)below(256);
			}
			check_equal(rope_add(store, &ropes[i], mem, n, false), n);
			buf_add(&model[i], mem, n);
		}
		for (size_t most = below(10); most > 0 && ropes[i].len > 0; --most) {
			const char *found = rope_peek(store, &ropes[i], scratch);
			size_t n = rope_first(&ropes[i]), drop = below(n) + 1;
			check(found && memcmp(found, model[i].data + at[i], drop) == 0);
			check_equal(rope_drop(store, &ropes[i], drop), drop == n);
			at[i] += drop;
		}
		if (below(20) == 0) {
			size_t keep = below((size_t)ropes[i].len + 1);
			rope_cut(store, &ropes[i], keep);
			model[i].len = at[i] + keep;
		}
		if (ropes[k].len == 0 && ropes[i].len > 0) {
			size_t most = below((size_t)ropes[i].len + 1), whole = ropes[i].len;
			rope_split(&ropes[i], most, &ropes[k]);
			size_t n = (size_t)ropes[k].len;
			check(n <= most && ropes[i].len == whole - n && (n < whole ? n + rope_first(&ropes[i]) > most : true));
			model[k].len = at[k] = 0;
			buf_add(&model[k], model[i].data + at[i], n);
			at[i] += n;
		}
		check_equal(ropes[i].len, model[i].len - at[i]);
		check(atomic_load_relaxed(&store->used) <= bound);
	}
	for (size_t i = 0; i < 4; ++i) {
		rope_clear(store, &ropes[i]);
		buf_fini(&model[i]);
	}
	check_equal(atomic_load_relaxed(&store->used), 0);
	check_equal(scratch_units(store->file), 0);
	store_destroy(store);
	free(scratch);
	free(mem);
}

static void test_ropes(void) {
	run_ropes(64 << 20);
	run_ropes(400000);
	run_ropes(0);
}

// Single pieces that come and go in random order.
static void run_pieces(size_t bound) {
	enum { PIECES = 3000 };
	struct store *store = store_create(bound, "/tmp");
	struct piece *pieces = xcalloc(PIECES, sizeof(pieces[0]));
	char *expect = xmalloc(PIECE_MAX), *scratch = xmalloc(PIECE_MAX);
	for (int step = 0; step < 20000; ++step) {
		size_t i = below(PIECES), len = i % 3 ? i + 1 : i * 20 + 1;
		memset(expect, (int)i, len);
		if (pieces[i].len == 0) {
			check(store_take(store, xmemdup(expect, len), len, &pieces[i]));
			check_equal(pieces[i].len, len);
		} else {
			size_t from = below(len);
			const char *found = piece_peek(store, &pieces[i], from, scratch);
			check(found && memcmp(found, expect, len - from) == 0);
			piece_free(store, &pieces[i]);
			pieces[i].len = 0;
		}
		check(atomic_load_relaxed(&store->used) <= bound);
	}
	for (size_t i = 0; i < PIECES; ++i) {
		if (pieces[i].len > 0) {
			piece_free(store, &pieces[i]);
		}
	}
	check_equal(atomic_load_relaxed(&store->used), 0);
	check_equal(scratch_units(store->file), 0);
	store_destroy(store);
	free(pieces);
	free(expect);
	free(scratch);
}

static void test_pieces(void) {
	run_pieces(64 << 20);
	run_pieces(300000);
	run_pieces(0);
}

static void test_space_is_used_again(void) {
	struct store *store = store_create(0, "/tmp");
	char *mem = xcalloc(1, 1 << 20);
	struct rope kept = {0};
	// 2 GB pass through, one rope at a time, in a file that may have 8 MB; some of them beside what stays
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8 << 20, 8 << 20}) == 0);
	for (int i = 0; i < 500; ++i) {
		struct rope rope = {0};
		for (int k = 0; k < 4; ++k) {
			check_equal(rope_add(store, &rope, mem, 1 << 20, false), 1 << 20);
		}
		if (i == 300) {
			check_equal(rope_add(store, &kept, mem, 1 << 20, false), 1 << 20);
		}
		rope_clear(store, &rope);
	}
	rope_clear(store, &kept);
	check_equal(scratch_units(store->file), 0);
	free(mem);
	store_destroy(store);
}

static void test_full(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20}) == 0);
	struct store *store = store_create(300000, "/tmp");
	char *mem = xmalloc(4 << 20), *scratch = xmalloc(PIECE_MAX);
	for (size_t i = 0; i < 4 << 20; ++i) {
		mem[i] = (char)(i % 251);
	}
	struct rope rope = {0};
	size_t n = rope_add(store, &rope, mem, 4 << 20, false);
	check_equal(errno, EFBIG);
	check(n > 1 << 20 && n < 4 << 20); // memory and disk
	check_equal(rope_add(store, &rope, mem, PIECE_MAX, false), 0);
	struct piece piece;
	check(!store_take(store, mem, PIECE_MAX, &piece));
	check_equal(rope_add(store, &rope, mem + n, 100000, true), 100000);
	for (size_t at = 0; rope.len > 0;) {
		const char *found = rope_peek(store, &rope, scratch);
		size_t part = rope_first(&rope);
		check(found && memcmp(found, mem + at, part) == 0);
		at += part;
		rope_drop(store, &rope, part);
		check(rope.len > 0 || at == n + 100000);
	}
	rope_clear(store, &rope);
	check_equal(atomic_load_relaxed(&store->used), 0);
	check_equal(scratch_units(store->file), 0);
	store_destroy(store);
	free(mem);
	free(scratch);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a rope gives back what was added, from memory and disk", test_ropes),
		TEST("pieces come back in any order", test_pieces),
		TEST("space in the file is used again", test_space_is_used_again),
		TEST("a full disk takes what it can and says so", test_full),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
