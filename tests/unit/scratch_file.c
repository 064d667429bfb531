// Bytes in an unlinked file: units are used again, and the file is closed when nothing is in it.

#include "base/scratch_file.h"

#include "base/alloc.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

enum { UNIT = SCRATCH_UNIT, LONGEST = 5 * UNIT };

static struct scratch_file *file;
static char *mem, *found;

static void open_file(void) {
	file = scratch_create("/tmp");
	mem = xcalloc(1, LONGEST);
	found = xmalloc(LONGEST);
}

static void close_file(void) {
	check_equal(scratch_units(file), 0);
	scratch_destroy(file);
	free(mem);
	free(found);
}

static uint64_t put(size_t len) {
	uint64_t offset;
	check_equal(scratch_write(file, mem, len, /* whole */ true, &offset), len);
	return offset;
}

static uint64_t roll(uint64_t *state) {
	return (*state = *state * 6364136223846793005u + 1442695040888963407u) >> 33;
}

static void test_units(void) {
	open_file();
	uint64_t dice = 2, held[64], most = 0;
	size_t lens[64], n = 0;
	char seal[64];
	for (int step = 0; step < 20000; ++step) {
		if (n < 64 && roll(&dice) % 2) {
			bool is_long = roll(&dice) % 50 == 0;
			lens[n] = 1 + roll(&dice) % (is_long ? LONGEST : UNIT / 4);
			seal[n] = (char)step;
			memset(mem, seal[n], lens[n]);
			held[n] = put(lens[n]);
			most = held[n] + lens[n] > most ? held[n] + lens[n] : most;
			++n;
		} else if (n > 0) {
			size_t i = roll(&dice) % n;
			memset(mem, seal[i], lens[i]);
			check_equal(scratch_read(file, held[i], found, lens[i]), 0);
			check(memcmp(found, mem, lens[i]) == 0);
			int fd = scratch_free(file, held[i], lens[i]);
			check(fd < 0 || n == 1);
			close(fd);
			--n;
			held[i] = held[n];
			lens[i] = lens[n];
			seal[i] = seal[n];
		}
	}
	while (n > 0) {
		--n;
		close(scratch_free(file, held[n], lens[n]));
	}
	check(most < 400 * UNIT); // it does not grow for ever
	close_file();
}

static void test_long(void) {
	open_file();
	uint64_t first = put(3 * UNIT + 1);
	check_equal(put(1), first + 4 * UNIT);
	check_equal(scratch_free(file, first, 3 * UNIT + 1), -1);
	for (int i = 0; i < 4; ++i) {
		check(put(UNIT) < 4 * UNIT); // as four single ones
	}
	check_equal(scratch_units(file), 5);
	check_equal(scratch_free(file, 0, 4 * UNIT + 1), -1); // a small file is kept
	close_file();
}

static void test_part(void) {
	open_file();
	uint64_t offset;
	check_equal(scratch_write(file, mem, 10, /* whole */ false, &offset), 10);
	check_equal(scratch_write(file, mem, UNIT, /* whole */ false, &offset), UNIT - 10);
	check_equal(offset, 10);
	check_equal(put(UNIT), UNIT);
	check_equal(scratch_free(file, 0, 2 * UNIT), -1);
	close_file();
}

static void test_closed(void) {
	open_file();
	for (int i = 0; i < 100; ++i) {
		check_equal(put(UNIT), i * UNIT);
	}
	check_equal(scratch_free(file, 0, 100 * UNIT - 1), -1);
	int fd = scratch_free(file, 100 * UNIT - 1, 1);
	check(fd >= 0);
	close(fd);
	check_equal(put(1), 0); // in a new one
	check_equal(scratch_free(file, 0, 1), -1);
	close_file();
}

static void test_full(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){2 * UNIT, 2 * UNIT}) == 0);
	open_file();
	uint64_t offset;
	check_equal(put(UNIT), 0);
	check_equal(put(UNIT), UNIT);
	for (int i = 0; i < 100; ++i) {
		check_equal(scratch_write(file, mem, UNIT, /* whole */ true, &offset), 0);
		check_equal(errno, EFBIG);
	}
	check_equal(scratch_free(file, 0, UNIT), -1);
	check_equal(scratch_units(file), 1);
	close(scratch_free(file, UNIT, UNIT));
	close_file();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("what was written comes back, and units are used again", test_units),
		TEST("a run of units is used again as single ones", test_long),
		TEST("a part of the bytes fills the unit", test_part),
		TEST("a large file is given up when nothing is in it", test_closed),
		TEST("what a full disk does not take costs no unit", test_full),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
