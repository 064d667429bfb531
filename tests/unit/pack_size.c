// Tests of the size of packs (job/pack_size.h), with numbers for times.

#include "job/pack_size.h"

#include "test.h"

enum { MS = 1000000 };

static void test_unknown(void) {
	check_equal(packsize_share(0, 0, 1000000, 8, false), 1);
	check_equal(packsize_share(0, 0, 1000000, 8, true), 1);
	check_equal(packsize_share(0, 0, 0, 0, true), 1);
}

static void test_target(void) {
	struct packsize size = {0};
	packsize_note(&size, 1, 100 * MS);
	check_equal(size.want, 2);
	size = (struct packsize){0};
	packsize_note(&size, 1, 60 * MS);
	check_equal(size.want, 3);
	size = (struct packsize){0};
	packsize_note(&size, 1, 101 * MS);
	check_equal(size.want, 1);
	packsize_note(&size, 1, UINT64_MAX / 2);
	check_equal(size.want, 1);
}

static void test_growth(void) {
	// items of 1 us, and 1 ms for the process: 4, 16, ... and then what takes 200 ms
	struct packsize size = {0};
	uint32_t n = 1;
	for (uint32_t most = 4; most < 100000; most *= 4) {
		packsize_note(&size, n, 1 * MS + n * UINT64_C(1000));
		check_equal(size.want, most);
		n = size.want;
	}
	for (int i = 0; i < 20; ++i) {
		packsize_note(&size, n, 1 * MS + n * UINT64_C(1000));
		check(size.want <= 4 * n);
		n = size.want;
	}
	check(n > 198000 && n < 200000);
	for (int i = 0; i < 100; ++i) { // no time at all: no end either, and no overflow
		packsize_note(&size, size.want, 0);
	}
	check_equal(size.want, INT32_MAX);
}

static void test_limited(void) {
	// a pack that is cut, by -s or for want of items, does not let the next one grow without end
	struct packsize size = {0};
	for (int i = 0; i < 20; ++i) {
		packsize_note(&size, size.want < 10 ? size.want + 1 : 10, 1 * MS);
	}
	check_equal(size.want, 40);
}

static void test_smooth(void) {
	// one item of 10 s between others of 1 ms, in packs of 200: smaller for a while, and then as before
	struct packsize size = {0};
	for (int i = 0; i < 10; ++i) {
		packsize_note(&size, size.want ? size.want : 1, (size.want ? size.want : 1) * UINT64_C(1000000));
	}
	check_equal(size.want, 200);
	packsize_note(&size, 200, 10199 * UINT64_C(1000000));
	check(size.want >= 4 && size.want < 20);
	int n = 0;
	for (; size.want < 150; ++n) {
		packsize_note(&size, size.want, size.want * UINT64_C(1000000));
	}
	check(n < 15);
}

static void test_change(void) {
	// items become a hundred times dearer, and cheap again
	struct packsize size = {0};
	for (int i = 0; i < 10; ++i) {
		packsize_note(&size, size.want ? size.want : 1, (size.want ? size.want : 1) * UINT64_C(1000000));
	}
	int dear = 0, cheap = 0;
	for (; size.want > 2; ++dear) {
		packsize_note(&size, size.want, size.want * UINT64_C(100000000));
	}
	for (; size.want < 180; ++cheap) {
		packsize_note(&size, size.want, size.want * UINT64_C(1000000));
	}
	printf("# %d processes until they fit, %d until they fit again\n", dear, cheap);
	check(dear <= 10 && cheap <= 15);
}

static void test_spread(void) {
	check_equal(packsize_share(100, 1, 1000, 8, false), 100);
	check_equal(packsize_share(100, 1, 1000, 8, true), 100);
	check_equal(packsize_share(100, 1, 799, 8, true), 100);
	check_equal(packsize_share(100, 1, 792, 8, true), 99);
	check_equal(packsize_share(100, 1, 9, 8, true), 2);
	check_equal(packsize_share(100, 1, 8, 8, true), 1);
	check_equal(packsize_share(100, 1, 1, 8, true), 1);
	check_equal(packsize_share(100, 1, UINT64_MAX, 8, true), 100);
	check_equal(packsize_share(100, 1, 50, 0, true), 100); // no slots: as long as it lasts
	// what is not worth a process is not spread
	check_equal(packsize_share(100, 25, 40, 8, true), 25);
	check_equal(packsize_share(20, 25, 40, 8, true), 20);
}

static void test_tail(void) {
	// the last items: each process takes its share, until none is left; the last ones are single items on all slots
	for (unsigned slots = 1; slots <= 64; slots *= 2) {
		uint64_t left = 10000, last = UINT64_MAX, processes = 0, single = 0;
		while (left > 0) {
			uint64_t n = packsize_share(500, 1, left, slots, true);
			check(n <= last && n <= left);
			single += n == 1;
			left -= n;
			last = n;
			++processes;
		}
		check(single >= slots - 1);
		check(processes <= 20 + 8 * slots);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("while nothing is known an item goes alone", test_unknown),
		TEST("a process gets what takes 200 ms", test_target),
		TEST("no process has more than four times as many items as any before", test_growth),
		TEST("a limit on packs limits growth", test_limited),
		TEST("one slow item is forgotten after a few processes", test_smooth),
		TEST("a change of cost is followed", test_change),
		TEST("the last items are shared by the slots, as far as they are worth it", test_spread),
		TEST("the shares of the last items use them up", test_tail),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
