// What /proc tells of load, memory and swapping, and the rules that are made of it.

#include "process/sysload.h"

#include "test.h"

static void test_load(void) {
	uint64_t load;
	check(sysload_parse_load("cpu  1 2 3\nintr 5\nprocesses 9\nprocs_running 4\nprocs_blocked 2\nsoftirq 1\n", &load));
	check_equal(load, 5);
	check(sysload_parse_load("procs_running 1\nprocs_blocked 0", &load));
	check_equal(load, 0);
	check(sysload_parse_load("procs_running 0\nprocs_blocked 1\n", &load));
	check_equal(load, 1);
	check(!sysload_parse_load("", &load));
	check(!sysload_parse_load("procs_running 1\n", &load));
	check(!sysload_parse_load("procs_running x\nprocs_blocked 1\n", &load));
	check(!sysload_parse_load("xprocs_running 1\nprocs_blocked 1\n", &load));
}

static void test_swapped(void) {
	struct swapped swapped;
	check(sysload_parse_swapped("pgpgin 1\npswpin 10\npswpout 18446744073709551615\n", &swapped));
	check_equal(swapped.in, 10);
	check(swapped.out == UINT64_MAX);
	check(!sysload_parse_swapped("pswpin 10\n", &swapped));
	check(!sysload_parse_swapped("", &swapped));
}

static void test_swapping(void) {
	struct swapped before = {10, 20};
	check(!sysload_is_swapping(&before, &before));
	check(!sysload_is_swapping(&before, &(struct swapped){11, 20}));
	check(!sysload_is_swapping(&before, &(struct swapped){10, 21}));
	check(sysload_is_swapping(&before, &(struct swapped){11, 21}));
}

// int(1/(2-free/limit)) is the last index of those that run in GNU parallel 20221122, suspend_young_if_not_enough_mem().
static void test_may_run(void) {
	static const struct { uint64_t bytes; unsigned n, may; } cases[] = {
		{0, 9, 1}, {99, 9, 1}, {100, 9, 2}, {149, 9, 2}, {150, 9, 3}, {175, 9, 5}, {199, 9, 9}, {199, 500, 100},
		{200, 9, 9}, {1000, 9, 9}, {0, 1, 1}, {150, 2, 2}, {0, 0, 0}, {300, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		check_equal(sysload_may_run(cases[i].bytes, 100, cases[i].n), cases[i].may);
	}
}

static void test_kernel(void) {
	uint64_t bytes;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	struct sysload_gate gate = {.max_load = 1e9, .memfree = 1, .asks = "memfree"}; // not every kernel tells of swapping
	check(sysload_free(&bytes) && bytes > 0);
	(void)sysload_check(&gate, &why);
	check(!gate.has_missed && why.len == 0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the load is what runs and what is blocked, but for who asks", test_load),
		TEST("pages swapped are found", test_swapped),
		TEST("a machine swaps that swaps in and out", test_swapping),
		TEST("how many may run is what GNU parallel lets run", test_may_run),
		TEST("this kernel tells", test_kernel),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
