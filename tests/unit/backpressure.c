// Output when memory and disk are full: jobs wait for room, or stream, and a loss that cannot be avoided is reported.

#include "output_fixture.h"

#include <signal.h>
#include <sys/resource.h>

// Without a disk a lone job, and the one whose turn it is, lose nothing.
static void check_no_disk(enum writer_mode mode, bool keep_order, int stream) {
	struct output output;
	output_open(&output, &(struct output_setup){
		.mode = mode, .keep_order = keep_order, .spool_mem = 100000, .spool_dir = "/nonexistent",
	});
	enum { SIZE = 1000000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 3);
	for (uint64_t i = 1; i <= 2; ++i) {
		struct spool *spool = job_open(&output, i);
		job_write(spool, stream, mem, SIZE);
		spool_finish(spool);
	}
	output_end(&output);
	struct reader *reader = stream ? &output.err : &output.out;
	check_equal(reader->got.len, 2 * SIZE);
	check(memcmp(reader->got.data, mem, SIZE) == 0 && memcmp(reader->got.data + SIZE, mem, SIZE) == 0);
	free(mem);
	output_free(&output);
}

static void test_no_disk(void) {
	for (int i = 0; i < 8; ++i) {
		bool keep_order = i & 1;
		int stream = i & 4 ? 1 : 0;
		check_no_disk(i & 2 ? WRITER_GROUP : WRITER_LINE_BUFFER, keep_order, stream);
	}
}

// A job whose output is written by a thread of its own.
struct slow_job {
	struct spool *spool;
	const char *mem;
	size_t size;
};

static void *slow_job_main(void *arg) {
	struct slow_job *job = arg;
	job_write(job->spool, 0, job->mem, job->size);
	spool_finish(job->spool);
	return NULL;
}

// A job that the disk fails waits while the one before it runs, and goes on when that has ended.
static void test_no_disk_waits(void) {
	for (int mode = WRITER_GROUP; mode <= WRITER_LINE_BUFFER; ++mode) {
		struct output output;
		output_open(&output, &(struct output_setup){
			.mode = (enum writer_mode)mode, .keep_order = true, .spool_mem = 200000, .spool_dir = "/nonexistent",
		});
		enum { SIZE = 2000000, WORKERS = 3 };
		char *mem = xmalloc(SIZE);
		noise(mem, SIZE, 4);
		struct slow_job jobs[WORKERS];
		thread threads[WORKERS];
		struct spool *first = job_open(&output, 1);
		for (int i = 0; i < WORKERS; ++i) {
			struct spool *spool = job_open(&output, (uint64_t)i + 2);
			jobs[i] = (struct slow_job){spool, mem, SIZE};
			check_equal(thread_start(&threads[i], slow_job_main, &jobs[i], 1 << 17), 0);
		}
		job_writes(first, 0, "first\n");
		spool_finish(first);
		for (int i = 0; i < WORKERS; ++i) {
			thread_join(threads[i]);
		}
		output_end(&output);
		check_equal(output.out.got.len, 6 + WORKERS * SIZE);
		check(memcmp(output.out.got.data, "first\n", 6) == 0);
		for (int i = 0; i < WORKERS; ++i) {
			check(memcmp(output.out.got.data + 6 + i * SIZE, mem, SIZE) == 0);
		}
		free(mem);
		output_free(&output);
	}
}

// Without a disk, and behind a job that cannot come before it ends: that loss is reported, and nothing hangs.
static void test_no_disk_lost(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000, .spool_dir = "/nonexistent"});
	struct spool *first = job_open(&output, 1);
	spool_suspend(first); // waits to be tried again, which needs a slot
	struct spool *second = job_open(&output, 2);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(second, 0, mem, 1000000);
	spool_finish(second);
	job_writes(first, 0, "first");
	spool_finish(first);
	output_end_with_loss(&output, 2, ENOENT);
	// what there was room for is there
	check(output.out.got.len > 50000 && output.out.got.len < 1000000);
	check(memcmp(output.out.got.data, "firstxxxx", 9) == 0);
	free(mem);
	output_free(&output);
}

// A job that has lost output does not begin to stream: its end would stand behind a gap as if nothing were missing.
static void test_no_disk_live(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000, .spool_dir = "/nonexistent"});
	struct spool *first = job_open(&output, 1), *second = job_open(&output, 2);
	spool_suspend(first);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(second, 0, mem, 1000000);
	check_equal(output.failure.calls, 1);
	spool_finish(first);
	spool_set_live(second);
	memset(mem, 'y', 1000000);
	job_write(second, 0, mem, 1000000); // is read to its end nevertheless
	spool_finish(second);
	output_end_with_loss(&output, 2, ENOENT);
	check(output.out.got.len > 50000 && output.out.got.len < 1000000);
	check(!memchr(output.out.got.data, 'y', output.out.got.len));
	free(mem);
	output_free(&output);
}

// The file can be opened but not written to any length.
static void test_disk_full(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000000, 1000000}) == 0);
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000});
	enum { SIZE = 3000000, WORKERS = 3 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 5);
	struct slow_job jobs[WORKERS];
	thread threads[WORKERS];
	for (int i = 0; i < WORKERS; ++i) {
		jobs[i] = (struct slow_job){job_open(&output, (uint64_t)i + 1), mem, SIZE};
	}
	for (int i = WORKERS - 1; i >= 0; --i) {
		check_equal(thread_start(&threads[i], slow_job_main, &jobs[i], 1 << 17), 0);
	}
	for (int i = 0; i < WORKERS; ++i) {
		thread_join(threads[i]);
	}
	output_end(&output);
	check_equal(output.out.got.len, WORKERS * SIZE);
	for (int i = 0; i < WORKERS; ++i) {
		check(memcmp(output.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	output_free(&output);
}

static void test_disk_full_small(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000000, 1000000}) == 0);
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000});
	enum { JOBS = 500, SIZE = 10000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 6);
	for (uint64_t i = JOBS; i >= 1; --i) {
		struct spool *spool = job_open(&output, i);
		job_write(spool, 0, mem, SIZE);
		spool_finish(spool); // nothing else runs: held beyond the bound
	}
	output_end(&output);
	check_equal(output.out.got.len, JOBS * SIZE);
	for (int i = 0; i < JOBS; ++i) {
		check(memcmp(output.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	output_free(&output);
}

#ifdef FAIRPAR_FAULTS

static void lose_by_read(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000});
	char *mem = xcalloc(1, 1000000);
	for (uint64_t i = 20; i >= 1; --i) {
		struct spool *spool = job_open(&output, i);
		job_write(spool, 0, mem, i % 2 ? 1000000 : 20000);
		spool_finish(spool);
	}
	output_end_with_loss(&output, 2, EIO);
	free(mem);
	output_free(&output);
}

static void test_read_faults(void) {
	with_fault("spool_read:1:EIO", lose_by_read);
	with_fault("spool_read:3+:EIO", lose_by_read);
}

// A slow reader without a thread to wait for it: the worker waits itself.
static void blocked_without_thread(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 100000});
	char *mem = xcalloc(1, 1000000);
	struct spool *spool = job_open(&output, 1);
	job_write(spool, 0, mem, 1000000);
	spool_finish(spool);
	output_end(&output);
	check_equal(output.out.got.len, 1000000);
	free(mem);
	output_free(&output);
}

static void test_no_thread(void) {
	with_fault("thread:3+:EAGAIN", blocked_without_thread); // two are the readers
}

#else

static void test_read_faults(void) {
}

static void test_no_thread(void) {
}

#endif

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("without a disk a job that may be written goes straight through", test_no_disk),
		TEST("without a disk jobs wait for those before them", test_no_disk_waits),
		TEST("without a disk a loss that cannot be avoided is reported", test_no_disk_lost),
		TEST("without a disk a job that has lost output does not stream the rest", test_no_disk_live),
		TEST("with a full disk jobs wait for those before them", test_disk_full),
		TEST("with a full disk small outputs stay in memory", test_disk_full_small),
		TEST("what cannot be read back is reported", test_read_faults),
		TEST("without a thread for a slow reader nothing is lost", test_no_thread),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
