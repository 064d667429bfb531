// Tests of the pool (engine/pool.h): low water, the spill file, full memory and full disks.

#include "engine/pool.h"

#include "pool_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// ---- low water, spill ----

static void test_low(void) {
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .low_water = 1000};
	struct queue *a = open_queue("a", &attrs);
	char data[100] = {0};
	struct work works[20];
	for (int i = 0; i < 20; ++i) {
		works[i] = (struct work){.type = &count_type, .data = data, .size = sizeof(data)};
	}
	check_equal(pool_submit(pool, a, NULL, works, 20), SUBMIT_OK);
	check(pool_queue_bytes(pool, a) >= 2000);
	pool_queue_want(pool, a);
	check_seen(lows, 0);
	pool_start(pool);
	struct pool_stat stat;
	do {
		pool_stat(pool, &stat);
	} while (stat.queued > 0 || stat.running > 0);
	check_seen(lows, 1); // once for the arming
	pool_queue_want(pool, a);
	check_seen(lows, 2); // at once
	pool_queue_close(pool, a);
	close_pool();
}

enum { SPILL_ITEMS = 20000 };

static uint64_t spill_next[4], spill_ran;

// Byte-exact and in order: the data is a number, then as many bytes of its own as follow from the number.
static size_t spill_fill(uint64_t n, unsigned char *data) {
	size_t size = 8 + (size_t)(n * 37 % 400);
	memcpy(data, &n, 8);
	for (size_t i = 8; i < size; ++i) {
		data[i] = (unsigned char)(n + i * 7);
	}
	return size;
}

static enum work_status spill_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	unsigned char want[512];
	uint64_t n;
	(void)worker;
	memcpy(&n, data, 8);
	check_equal(size, spill_fill(n, want));
	check(memcmp(data, want, size) == 0);
	check_equal(n, spill_next[queue_name(queue)[0] - 'a']++);
	++spill_ran;
	return WORK_OK;
}

static void spill_drop(struct queue *queue, void *data, size_t size) {
	spill_run(NULL, queue, data, size);
	atomic_add_relaxed(&seen.dropped, 1);
}

static const struct work_type spill_type = {.run = spill_run, .drop = spill_drop};

static enum submit_status spill_submit(struct queue *queue, uint64_t n) {
	unsigned char data[512];
	struct work work = {.type = &spill_type, .data = data, .id = n};
	work.size = spill_fill(n, data);
	return pool_submit(pool, queue, NULL, &work, 1);
}

static void test_spill(void) {
	config.queue_mem = 512 << 10;
	open_pool(1);
	struct queue *queues[4] = {open_queue("a", NULL), open_queue("b", NULL), open_queue("c", NULL), open_queue("d", NULL)};
	struct pool_stat stat;
	for (uint64_t n = 0; n < SPILL_ITEMS; ++n) {
		for (int i = 0; i < 4; ++i) {
			check_equal(spill_submit(queues[i], n), SUBMIT_OK);
		}
		if (n == SPILL_ITEMS / 2) {
			pool_start(pool); // the rest meanwhile
		}
		if (n % 1000 == 0) {
			pool_stat(pool, &stat);
			check(stat.mem_bytes < 1 << 20);
		}
	}
	for (int i = 0; i < 4; ++i) {
		pool_queue_close(pool, queues[i]);
	}
	wait_idle();
	pool_stat(pool, &stat);
	check_equal(stat.spilled_bytes, 0);
	pool_destroy(pool);
	check_equal(spill_ran, 4 * SPILL_ITEMS);
}

static void test_spill_cancel(void) {
	config.queue_mem = 64 << 10;
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	for (uint64_t n = 0; n < SPILL_ITEMS; ++n) {
		check_equal(spill_submit(a, n), SUBMIT_OK);
	}
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check(stat.spilled_bytes > 1 << 20);
	check_equal(pool_cancel(pool, a), SPILL_ITEMS);
	check_seen(dropped, SPILL_ITEMS);
	pool_stat(pool, &stat);
	check_equal(stat.spilled_bytes, 0);
	check_equal(stat.queued, 0);
	spill_next[0] = 0;
	check_equal(spill_submit(a, 0), SUBMIT_OK); // and the queue goes on
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
}

static void test_big_items(void) {
	// longer than a place on disk
	config.queue_mem = 64 << 10;
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	size_t size = 200000;
	char *data = xcalloc(1, size);
	struct work work = {.type = &count_type, .data = data, .size = size};
	check_equal(pool_submit(pool, a, NULL, &work, 1), SUBMIT_OK); // there is nothing to wait for
	for (int i = 0; i < 10; ++i) {
		enum submit_status status = pool_submit(pool, a, NULL, &work, 1); // taken or refused, as there is room on disk
		check(status != SUBMIT_CLOSED);
	}
	struct pool_stat stat;
	pool_stat(pool, &stat);
	uint64_t taken = stat.queued;
	check(taken > 0);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_seen(ran, taken);
	free(data);
}

// The reader: waits for room when it is refused.
static void spill_insist(struct queue *queue, uint64_t items) {
	long rooms = 0;
	for (uint64_t n = 0; n < items; ++n) {
		enum submit_status status;
		while ((status = spill_submit(queue, n)) == SUBMIT_FULL) {
			if (rooms == 0) {
				pool_start(pool); // not before, so that it does get full
			}
			gate_wait(&seen.low_all, ++rooms);
		}
		check_equal(status, SUBMIT_OK);
	}
	check(rooms > 0);
}

static void test_no_spill_dir(void) {
	config.queue_mem = 64 << 10;
	config.spill_dir = "/nonexistent";
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	spill_insist(a, SPILL_ITEMS);
	check_seen(troubles, 1);
	check_seen(trouble_error, ENOENT);
	pool_queue_close(pool, a);
	close_pool();
	check_equal(spill_ran, SPILL_ITEMS);
}

static void test_disk_full(void) {
#ifdef FAIRPAR_FAULTS
	setenv("FAIRPAR_FAULT", "spill:5+:ENOSPC", 1);
	config.queue_mem = 64 << 10;
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	uint64_t n = 0;
	while (spill_submit(a, n) == SUBMIT_OK) {
		++n; // nothing runs yet, so it must be full at some time
	}
	check_seen(troubles, 1);
	check_seen(trouble_error, ENOSPC);
	check_equal(spill_submit(a, n), SUBMIT_FULL);
	check_seen(lows_all, 0);
	pool_start(pool);
	long rooms = 0;
	for (; n < SPILL_ITEMS; ++n) {
		while (spill_submit(a, n) == SUBMIT_FULL) {
			gate_wait(&seen.low_all, ++rooms);
		}
	}
	check_seen(troubles, 1);
	pool_queue_close(pool, a);
	close_pool();
	check(atomic_load_relaxed(&seen.lows_all) > 0);
	check_equal(spill_ran, SPILL_ITEMS);
#endif
}

// The lowest descriptor that is free: it stays the same unless descriptors are leaked.
FP_UNUSED static int free_descriptor(void) {
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	check(fd >= 0 && close(fd) == 0);
	return fd;
}

static void test_disk_always_full(void) {
#ifdef FAIRPAR_FAULTS
	setenv("FAIRPAR_FAULT", "spill:1+:ENOSPC", 1);
	config.queue_mem = 64 << 10;
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	int before = free_descriptor();
	spill_insist(a, SPILL_ITEMS);
	check_equal(free_descriptor(), before);
	check_seen(troubles, 1);
	pool_queue_close(pool, a);
	close_pool();
	check_equal(spill_ran, SPILL_ITEMS);
#endif
}

static enum work_status flood_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)data, (void)size;
	unsigned char bytes[512];
	for (uint64_t n = 0; n < SPILL_ITEMS; ++n) {
		struct work work = {.type = &spill_type, .data = bytes, .id = n};
		work.size = spill_fill(n, bytes);
		check_equal(pool_submit(pool, queue, worker, &work, 1), SUBMIT_OK); // never refused for room
	}
	return WORK_OK;
}

static void test_nested_is_never_refused(void) {
	static const struct work_type type = {.run = flood_run};
	config.queue_mem = 64 << 10;
	config.spill_dir = "/nonexistent";
	open_pool(1);
	struct queue *a = open_queue("a", NULL);
	submit(a, &type, 1);
	pool_queue_close(pool, a);
	pool_start(pool);
	close_pool();
	check_equal(spill_ran, SPILL_ITEMS);
}

static void test_threads_run_out(void) {
#ifdef FAIRPAR_FAULTS
	setenv("FAIRPAR_FAULT", "thread:2+:EAGAIN", 1);
	open_pool(4);
	struct queue *a = open_queue("a", NULL);
	for (int i = 0; i < 10; ++i) {
		submit(a, &count_type, 20);
	}
	pool_queue_close(pool, a);
	pool_start(pool);
	wait_idle();
	struct pool_stat stat;
	pool_stat(pool, &stat);
	check_equal(stat.threads, 1);
	check_seen(ran, 200);
	check(atomic_load_relaxed(&seen.troubles) <= 1);
	pool_destroy(pool);
#endif
}

static void test_long_thread_later(void) {
#ifdef FAIRPAR_FAULTS
	setenv("FAIRPAR_FAULT", "thread:2:EAGAIN", 1);
	open_pool(1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *a = open_queue("a", NULL), *l = open_queue("l", &attrs);
	pool_start(pool);
	submit_hold(a, 1);
	gate_wait(&gates[0], 1);
	submit(l, &count_type, 1); // its thread cannot be started
	check_seen(troubles, 1);
	gate_raise(&gates[1]);     // now it can
	pool_queue_close(pool, a);
	pool_queue_close(pool, l);
	close_pool();
	check_seen(ran, 2);
#endif
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("hooks.low is called once for each arming", test_low),
		TEST("spilled items come back byte-exact and in order", test_spill),
		TEST("spilled items are dropped when cancelled", test_spill_cancel),
		TEST("an item may be larger than queue_mem", test_big_items),
		TEST("without a spill file the submitter waits for room, and nothing is lost", test_no_spill_dir),
		TEST("a full disk makes the submitter wait, with one warning", test_disk_full),
		TEST("a disk that was full from the start is not tried again and again, and no descriptor is left open", test_disk_always_full),
		TEST("nested work is never refused for room", test_nested_is_never_refused),
		TEST("threads that cannot be had are done without", test_threads_run_out),
		TEST("a dedicated thread that cannot be had is tried again", test_long_thread_later),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
