// What becomes of jobs' output: whole, in order, never lost, whatever the reader and the disk do.

#include "output/writer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sync.h"
#include "output/spool.h"
#include "output/store.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- a reader at the other end of stdout or stderr

struct reader {
	int fd;           // to read
	int write_fd;     // for the emitter
	mutex lock;
	cond more;
	bool go;          // reading is allowed
	struct buf got;
	thread thread;
};

static void *reader_main(void *arg) {
	struct reader *reader = arg;
	char *mem = xmalloc(1 << 16);
	mutex_lock(&reader->lock);
	while (!reader->go) {
		cond_wait(&reader->more, &reader->lock);
	}
	for (;;) {
		mutex_unlock(&reader->lock);
		ssize_t n = read(reader->fd, mem, 1 << 16);
		check(n >= 0);
		mutex_lock(&reader->lock);
		if (n == 0) {
			break;
		}
		buf_add(&reader->got, mem, (size_t)n);
		cond_broadcast(&reader->more);
	}
	mutex_unlock(&reader->lock);
	free(mem);
	return NULL;
}

static void reader_open(struct reader *reader, bool go, int flags) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	check(flags == 0 || fcntl(ends[1], F_SETFL, flags) == 0);
	*reader = (struct reader){.fd = ends[0], .write_fd = ends[1], .go = go, .got = BUF_INIT};
	mutex_init(&reader->lock, LOCK_OF_TEST);
	cond_init(&reader->more);
	check_equal(thread_start(&reader->thread, reader_main, reader, 1 << 16), 0);
}

static void reader_go(struct reader *reader) {
	mutex_lock(&reader->lock);
	reader->go = true;
	cond_broadcast(&reader->more);
	mutex_unlock(&reader->lock);
}

// Waits until so many bytes have arrived.
static void reader_wait(struct reader *reader, size_t len) {
	mutex_lock(&reader->lock);
	while (reader->got.len < len) {
		cond_wait(&reader->more, &reader->lock);
	}
	mutex_unlock(&reader->lock);
}

// Reads to the end.
static void reader_end(struct reader *reader) {
	close(reader->write_fd);
	reader_go(reader);
	thread_join(reader->thread);
	close(reader->fd);
}

static void reader_free(struct reader *reader) {
	buf_fini(&reader->got);
	mutex_fini(&reader->lock);
	cond_fini(&reader->more);
}

#define check_got(reader, text) do { \
		check_equal((reader)->got.len, sizeof(text) - 1); \
		check(memcmp((reader)->got.data, text, sizeof(text) - 1) == 0); \
	} while (0)

// ---- an emitter between two readers

struct failure {
	int calls, stream, error;
};

static void note_failure(void *arg, int stream, int error) {
	struct failure *failure = arg;
	++failure->calls;
	failure->stream = stream;
	failure->error = error;
}

struct bench {
	struct writer *writer;
	struct writer_config config;
	enum writer_mode mode;    // of its jobs
	struct reader out, err;
	struct failure failure;
};

static void bench_open(struct bench *bench, enum writer_mode mode, bool keep_order, size_t spool_mem, bool go) {
	memset(bench, 0, sizeof(*bench));
	bench->mode = mode;
	reader_open(&bench->out, go, 0);
	reader_open(&bench->err, go, 0);
	bench->config = (struct writer_config){
		.keep_order = keep_order, .spool_mem = spool_mem, .spool_dir = "/tmp",
		.out_fd = bench->out.write_fd, .err_fd = bench->err.write_fd, .failed = note_failure, .arg = &bench->failure,
	};
	bench->writer = writer_create(&bench->config);
}

static void bench_end(struct bench *bench, int result) {
	reader_go(&bench->out);
	reader_go(&bench->err);
	check_equal(writer_destroy(bench->writer), result);
	reader_end(&bench->out);
	reader_end(&bench->err);
}

static void bench_free(struct bench *bench) {
	reader_free(&bench->out);
	reader_free(&bench->err);
}

static void bench_close(struct bench *bench) {
	bench_end(bench, 0);
	bench_free(bench);
}

static struct spool *job_open(struct bench *bench, struct writer_lane *lane, uint64_t order) {
	return spool_open(bench->writer, lane, order, bench->mode, NULL, 0);
}

// Bytes a job writes, through a pipe as a child does.
static void job_write(struct spool *spool, int stream, const char *mem, size_t len) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	while (len > 0) {
		ssize_t n = write(ends[1], mem, len);
		if (n > 0) {
			mem += n;
			len -= (size_t)n;
		} else {
			check(errno == EAGAIN);
			check(spool_readable(spool, stream, ends[0]) > 0);
		}
	}
	while (spool_readable(spool, stream, ends[0]) > 0) {
	}
	check_equal(errno, EAGAIN);
	close(ends[1]);
	ssize_t n;
	while ((n = spool_readable(spool, stream, ends[0])) > 0) {
	}
	check_equal(n, 0);
	close(ends[0]);
}

static void job_writes(struct spool *spool, int stream, const char *text) {
	job_write(spool, stream, text, strlen(text));
}

static int count_fds(void) {
	int n = 0;
	DIR *dir = opendir("/proc/self/fd");
	check(dir);
	while (readdir(dir)) {
		++n;
	}
	closedir(dir);
	return n;
}

// ---- random jobs

static uint64_t next_random(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

// Bytes of job `n` on a stream: a head {n, length} and noise that follows from n.
struct head {
	uint64_t job, lane, len;
};

static void noise(char *mem, size_t len, uint64_t seed) {
	uint64_t state = seed * 77 + 1;
	for (size_t i = 0; i < len; ++i) {
		mem[i] = (char)next_random(&state);
	}
}

static size_t random_size(uint64_t *state) {
	// from 1 byte to 1 MB, each power of two as likely as any other
	return (next_random(state) % (UINT64_C(1) << (next_random(state) % 21))) + 1;
}

enum { LANES = 3 };

struct crowd {
	struct bench *bench;
	struct writer_lane *lane[LANES];
	mutex lock;
	uint64_t next[LANES];
	uint64_t jobs;          // in each lane
	uint64_t seed;
	int workers;            // still running
};

static char *job_bytes(uint64_t lane, uint64_t job, int stream, uint64_t seed, size_t *ret_len) {
	uint64_t state = seed ^ (job * 1000003 + lane * 7919 + (uint64_t)stream);
	next_random(&state);
	if (next_random(&state) % 4 == 0) { // silent
		*ret_len = 0;
		return NULL;
	}
	struct head head = {job, lane, random_size(&state)};
	char *mem = xmalloc(sizeof(head) + head.len);
	memcpy(mem, &head, sizeof(head));
	noise(mem + sizeof(head), head.len, job * 2 + (uint64_t)stream);
	*ret_len = sizeof(head) + head.len;
	return mem;
}

static void *crowd_worker(void *arg) {
	struct crowd *crowd = arg;
	for (uint64_t turn = 0;; ++turn) {
		uint64_t lane = turn % LANES;
		mutex_lock(&crowd->lock);
		uint64_t job = ++crowd->next[lane];
		uint64_t most = crowd->next[0] + crowd->next[1] + crowd->next[2];
		struct spool *spool = NULL;
		if (job <= crowd->jobs) { // in order: one that is not yet open cannot be waited for
			spool = job_open(crowd->bench, crowd->lane[lane], job);
		}
		mutex_unlock(&crowd->lock);
		if (job > crowd->jobs) {
			if (most > LANES * (crowd->jobs + 8)) {
				break;
			}
			continue;
		}
		size_t len[2];
		char *mem[2];
		for (int i = 0; i < 2; ++i) {
			mem[i] = job_bytes(lane, job, i, crowd->seed, &len[i]);
		}
		// in slices of both streams
		size_t at[2] = {0, 0};
		while (at[0] < len[0] || at[1] < len[1]) {
			for (int i = 0; i < 2; ++i) {
				size_t n = len[i] - at[i] < 50000 ? len[i] - at[i] : 50000;
				if (n > 0) {
					job_write(spool, i, mem[i] + at[i], n);
				}
				at[i] += n;
			}
		}
		check_equal(spool_bytes(spool, 0), len[0]);
		check_equal(spool_bytes(spool, 1), len[1]);
		free(mem[0]);
		free(mem[1]);
		spool_finish(spool);
	}
	return NULL;
}

// Checks that the stream is the jobs' outputs one after the other, each whole.
static void check_crowd(struct crowd *crowd, struct reader *reader, int stream, bool ordered) {
	const char *at = reader->got.data, *end = at + reader->got.len;
	uint64_t expect = 0, seen = 0, last[LANES] = {0};
	for (uint64_t lane = 0; lane < LANES; ++lane) {
		for (uint64_t job = 1; job <= crowd->jobs; ++job) {
			size_t len;
			free(job_bytes(lane, job, stream, crowd->seed, &len));
			expect += len > 0;
		}
	}
	while (at < end) {
		struct head head;
		check((size_t)(end - at) >= sizeof(head));
		memcpy(&head, at, sizeof(head));
		check(head.lane < LANES && head.job >= 1 && head.job <= crowd->jobs);
		size_t len;
		char *mem = job_bytes(head.lane, head.job, stream, crowd->seed, &len);
		check((size_t)(end - at) >= len && memcmp(at, mem, len) == 0);
		free(mem);
		at += len;
		++seen;
		check(!ordered || head.job > last[head.lane]);
		last[head.lane] = head.job;
	}
	check_equal(seen, expect);
}

static void run_crowd(bool ordered, size_t spool_mem, bool reader_waits, int flags) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, ordered, spool_mem, !reader_waits);
	if (flags) {
		check(fcntl(bench.out.write_fd, F_SETFL, flags) == 0);
	}
	struct crowd crowd = {.bench = &bench, .jobs = 40, .seed = spool_mem + ordered};
	mutex_init(&crowd.lock, LOCK_OF_TEST);
	for (int i = 0; i < LANES; ++i) {
		crowd.lane[i] = writer_lane_open(bench.writer);
	}
	thread workers[6];
	for (int i = 0; i < 6; ++i) {
		check_equal(thread_start(&workers[i], crowd_worker, &crowd, 1 << 17), 0);
	}
	for (int i = 0; i < 6; ++i) {
		thread_join(workers[i]); // also when nobody reads: nothing here waits for the reader
	}
	check(store_mem(writer_store(bench.writer)) <= spool_mem + BLOCK_SIZE);
	for (int i = 0; i < LANES; ++i) {
		writer_lane_close(bench.writer, crowd.lane[i]);
	}
	bench_end(&bench, 0);
	check_crowd(&crowd, &bench.out, 0, ordered);
	check_crowd(&crowd, &bench.err, 1, ordered);
	check_equal(bench.failure.calls, 0);
	mutex_fini(&crowd.lock);
	bench_free(&bench);
}

static void test_crowd(void) {
	run_crowd(false, 8 << 20, false, 0);
}

static void test_crowd_disk(void) {
	run_crowd(false, 100000, false, 0);
	run_crowd(false, 0, false, 0);
}

static void test_crowd_ordered(void) {
	run_crowd(true, 8 << 20, false, 0);
	run_crowd(true, 300000, false, 0);
}

static void test_crowd_blocked(void) {
	run_crowd(false, 200000, true, 0);
	run_crowd(true, 200000, true, 0);
}

static void test_crowd_nonblocking(void) {
	run_crowd(false, 1 << 20, false, O_NONBLOCK);
	run_crowd(false, 1 << 20, true, O_NONBLOCK);
}

// ---- order

static void test_streams_apart(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool = job_open(&bench, lane, 1);
	job_writes(spool, 1, "e1");
	job_writes(spool, 0, "o1");
	job_writes(spool, 1, "e2\n");
	job_writes(spool, 0, "o2");
	spool_finish(spool);
	reader_wait(&bench.out, 4); // at once, not at the end of the run
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_got(&bench.out, "o1o2");
	check_got(&bench.err, "e1e2\n");
	bench_free(&bench);
}

static void test_out_before_err(void) {
	struct reader both;
	reader_open(&both, true, 0);
	struct writer *writer = writer_create(&(struct writer_config){.spool_dir = "/tmp",
		.out_fd = both.write_fd, .err_fd = both.write_fd});
	for (uint64_t i = 1; i <= 2; ++i) {
		struct spool *spool = spool_open(writer, writer_lane_open(writer), i, EMIT_GROUP, NULL, 0);
		job_writes(spool, 1, "err\n");
		job_writes(spool, 0, "out\n");
		spool_finish(spool);
	}
	check_equal(writer_destroy(writer), 0);
	reader_end(&both);
	check_got(&both, "out\nerr\nout\nerr\n");
	reader_free(&both);
}

// A hundred thousand held jobs: memory, descriptors and order.
static void hold_many(enum writer_mode mode) {
	enum { JOBS = 100000, SPOOL_MEM = 300000 };
	check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16}) == 0);
	struct bench bench;
	bench_open(&bench, mode, true, SPOOL_MEM, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *first = job_open(&bench, lane, 1);
	job_writes(first, 0, "held up\n");
	struct buf expect = BUF_INIT;
	buf_adds(&expect, "held up\nat last\n");
	char text[64];
	for (uint64_t i = 2; i <= JOBS; ++i) {
		if (i % 5 == 0) {
			writer_skip(bench.writer, lane, i);
			continue;
		}
		struct spool *spool = job_open(&bench, lane, i);
		if (i % 7 != 0) {
			snprintf(text, sizeof(text), "job %d\nsays so", (int)i);
			spool_add(spool, 0, text, strlen(text));
			buf_adds(&expect, text);
		}
		spool_finish(spool);
	}
	check(store_mem(writer_store(bench.writer)) <= SPOOL_MEM + BLOCK_SIZE);
	job_writes(first, 0, "at last\n");
	spool_finish(first);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, expect.len);
	check(memcmp(bench.out.got.data, expect.data, expect.len) == 0);
	buf_fini(&expect);
	bench_free(&bench);
}

static void test_hold_many(void) {
	hold_many(EMIT_GROUP);
}

static void test_hold_many_lines(void) {
	hold_many(EMIT_LINE_BUFFER);
}

static void test_hold_many_big(void) {
	check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16}) == 0);
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	enum { JOBS = 200, SIZE = 150000 };
	char *mem = xmalloc(SIZE);
	for (uint64_t i = JOBS; i >= 1; --i) {
		struct spool *spool = job_open(&bench, lane, i);
		noise(mem, SIZE, i);
		job_write(spool, i % 2 == 0, mem, SIZE);
		spool_finish(spool);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, JOBS / 2 * SIZE);
	for (uint64_t i = 1; i <= JOBS; ++i) {
		noise(mem, SIZE, i);
		check(memcmp((i % 2 ? bench.out : bench.err).got.data + (i - 1) / 2 * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	bench_free(&bench);
}

// ---- receipts

// Where receipts go. Each is the line that says how long the file must be when it comes.
struct receipts {
	int fd;           // of the file, or -1
	struct buf got;
};

static void note_receipts(void *arg, const char *text, size_t len) {
	struct receipts *receipts = arg;
	buf_add(&receipts->got, text, len);
	struct stat stat;
	check(len > 0 && text[len - 1] == '\n' && receipts->fd >= 0);
	check(fstat(receipts->fd, &stat) == 0);
	for (const char *at = text; at < text + len; at = strchr(at, '\n') + 1) {
		check(strtol(at, NULL, 10) <= stat.st_size);
	}
}

static void never_fails(void *arg FP_UNUSED, int stream FP_UNUSED, int error) {
	check_equal(error, 0);
}

// Jobs that end in any order, those with odd numbers by more than a block: each receipt comes behind the output of its
// job, in the order of the output.
static void check_receipts(enum writer_mode mode, bool keep_order, size_t spool_mem) {
	enum { JOBS = 600 };
	struct receipts receipts = {.fd = memfd_create("out", MFD_CLOEXEC), .got = BUF_INIT};
	check(receipts.fd >= 0);
	struct writer *writer = writer_create(&(struct writer_config){.keep_order = keep_order, .spool_mem = spool_mem,
		.spool_dir = "/tmp", .out_fd = receipts.fd, .err_fd = receipts.fd, .failed = never_fails,
		.written = note_receipts, .arg = &receipts});
	struct writer_lane *lane = writer_lane_open(writer);
	char *line = xmalloc(BLOCK_SIZE), text[32];
	memset(line, 'x', BLOCK_SIZE - 1);
	line[BLOCK_SIZE - 1] = '\n';
	struct buf expect = BUF_INIT;
	size_t total = 0, begun = 0;
	struct spool *spools[8];
	for (uint64_t i = 1; i <= JOBS; ++i) {
		struct spool *spool = spools[begun++] = spool_open(writer, lane, i, mode, NULL, 0);
		size_t len = i % 64 == 1 ? BLOCK_SIZE : 3 + i % 7;
		spool_add(spool, i % 3 == 0, line + BLOCK_SIZE - len, len);
		total += len;
		snprintf(text, sizeof(text), "%zu\n", keep_order ? total : len);
		buf_adds(&expect, text);
		spool_set_receipt(spool, text, strlen(text));
		while (begun == 8 || (begun > 0 && i == JOBS)) {
			spool_finish(spools[--begun]); // the newest first
		}
	}
	writer_lane_close(writer, lane);
	check_equal(writer_destroy(writer), 0);
	check_equal(receipts.got.len, expect.len);
	check(!keep_order || memcmp(receipts.got.data, expect.data, expect.len) == 0);
	free(line);
	buf_fini(&expect);
	buf_fini(&receipts.got);
	close(receipts.fd);
}

static void test_receipts(void) {
	check_receipts(EMIT_GROUP, false, 1 << 20);
	check_receipts(EMIT_GROUP, true, 1 << 20);
	check_receipts(EMIT_GROUP, true, 0); // held in the file
	check_receipts(EMIT_LINE_BUFFER, false, 1 << 20);
	check_receipts(EMIT_LINE_BUFFER, true, 1 << 20);
	check_receipts(EMIT_LINE_BUFFER, true, 0);
}

static void count_receipts(void *arg, const char *text, size_t len) {
	check(text);
	atomic_add_relaxed((atomic_int *)arg, (int)len);
}

static void test_receipt_of_slow_reader(void) {
	struct reader out;
	atomic_int n = 0;
	reader_open(&out, false, 0);
	struct writer *writer = writer_create(&(struct writer_config){.spool_mem = 1 << 20, .spool_dir = "/tmp",
		.out_fd = out.write_fd, .err_fd = out.write_fd, .failed = never_fails, .written = count_receipts, .arg = &n});
	char *mem = xmalloc(1 << 18);
	memset(mem, '\n', 1 << 18);
	for (uint64_t i = 1; i <= 3; ++i) { // the first does not fit into the pipe, and the others wait behind it
		struct spool *spool = spool_open(writer, NULL, 0, i == 2 ? EMIT_LINE_BUFFER : EMIT_GROUP, NULL, 0);
		spool_add(spool, 0, mem, i == 1 ? 1 << 18 : 1);
		spool_set_receipt(spool, "x", 1);
		spool_finish(spool);
	}
	check_equal(atomic_load_relaxed(&n), 0);
	reader_go(&out);
	check_equal(writer_destroy(writer), 0);
	check_equal(atomic_load_relaxed(&n), 3);
	reader_end(&out);
	check_equal(out.got.len, (1 << 18) + 2);
	reader_free(&out);
	free(mem);
}

static void test_lanes_apart(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 1 << 20, true);
	struct writer_lane *a = writer_lane_open(bench.writer), *b = writer_lane_open(bench.writer);
	struct spool *a1 = job_open(&bench, a, 1);
	struct spool *a2 = job_open(&bench, a, 2);
	struct spool *b1 = job_open(&bench, b, 1);
	struct spool *b3 = job_open(&bench, b, 3);
	job_writes(a2, 0, "a2\n");
	spool_finish(a2);
	job_writes(b3, 0, "b3\n");
	spool_finish(b3);
	job_writes(b1, 0, "b1\n");
	spool_finish(b1);
	reader_wait(&bench.out, 3); // a1 holds up a2, not b1
	writer_skip(bench.writer, b, 2);
	reader_wait(&bench.out, 6);
	job_writes(a1, 0, "a1\n");
	spool_finish(a1);
	writer_lane_close(bench.writer, a);
	writer_lane_close(bench.writer, b);
	bench_end(&bench, 0);
	check_got(&bench.out, "b1\nb3\na1\na2\n");
	bench_free(&bench);
}

static void test_end_writes_held(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool = job_open(&bench, lane, 5);
	job_writes(spool, 0, "five");
	spool_finish(spool);
	bench_end(&bench, 0); // 1 to 4 never came
	check_got(&bench.out, "five");
	bench_free(&bench);
}

// ---- lines

static void test_line_order(void) {
	struct bench bench;
	bench_open(&bench, EMIT_LINE_BUFFER, false, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *a = job_open(&bench, lane, 1), *b = job_open(&bench, lane, 2);
	job_writes(a, 0, "a1\na");
	reader_wait(&bench.out, 3);
	job_writes(b, 0, "b1\nb2");
	job_writes(a, 1, "e");
	job_writes(a, 0, "2\na3");
	reader_wait(&bench.out, 9);
	spool_finish(a);
	spool_finish(b);
	bench_end(&bench, 0);
	check_got(&bench.out, "a1\nb1\na2\na3b2"); // as GNU parallel: no newline is added
	check_got(&bench.err, "e");
	bench_free(&bench);
}

static void test_line_keep_order(void) {
	struct bench bench;
	bench_open(&bench, EMIT_LINE_BUFFER, true, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool[5];
	for (uint64_t i = 1; i <= 4; ++i) {
		spool[i] = job_open(&bench, lane, i);
	}
	job_writes(spool[3], 0, "3a\n3b");
	job_writes(spool[2], 0, "2\n");
	spool_finish(spool[2]);
	job_writes(spool[1], 0, "1a\n1b");
	reader_wait(&bench.out, 3); // the oldest is live
	job_writes(spool[4], 0, "4\n");
	spool_finish(spool[4]);
	spool_finish(spool[1]);
	reader_wait(&bench.out, 10); // and so is the next one, with the lines that it has so far
	job_writes(spool[3], 1, "3e\n");
	reader_wait(&bench.err, 3);
	job_writes(spool[3], 0, "c\n");
	reader_wait(&bench.out, 14);
	spool_finish(spool[3]);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_got(&bench.out, "1a\n1b2\n3a\n3bc\n4\n");
	bench_free(&bench);
}

// A held job whose incomplete line is longer than any buffer: the lines before it come when its turn comes.
static void test_line_long(void) {
	for (int i = 0; i < 2; ++i) {
		struct bench bench;
		bench_open(&bench, EMIT_LINE_BUFFER, true, i == 0 ? 1 << 20 : 0, true);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		struct spool *first = job_open(&bench, lane, 1), *second = job_open(&bench, lane, 2);
		enum { SIZE = 300000 };
		struct buf text = BUF_INIT;
		for (int line = 0; line < 3; ++line) {
			buf_printf(&text, "%d:", line);
			memset(buf_reserve(&text, SIZE), 'x', SIZE);
			text.len += SIZE;
			buf_adds(&text, "\nshort\n");
		}
		size_t whole = text.len, half = whole / 2; // in the middle of the second long line
		size_t shown = whole / 3;
		check_equal(text.data[shown - 1], '\n');
		job_write(second, 0, text.data, half);
		spool_finish(first);
		reader_wait(&bench.out, shown);
		job_write(second, 0, text.data + half, whole - half);
		reader_wait(&bench.out, whole);
		job_write(second, 0, text.data, SIZE); // no newline: it comes with the end
		buf_reserve(&text, SIZE);
		buf_add(&text, text.data, SIZE);
		spool_finish(second);
		reader_wait(&bench.out, text.len);
		writer_lane_close(bench.writer, lane);
		bench_end(&bench, 0);
		check_equal(bench.out.got.len, text.len);
		check(memcmp(bench.out.got.data, text.data, text.len) == 0);
		buf_fini(&text);
		bench_free(&bench);
	}
}

enum { LINE_WORKERS = 6, LINES = 300 };

struct liner {
	struct spool *spool;
	int number;
};

// Line `n` of a writer: "[writer n length]", then bytes of all values but newline.
static void line_make(struct buf *line, int writer, int n) {
	uint64_t state = (uint64_t)(writer * 1000 + n);
	next_random(&state);
	size_t len = (size_t)(next_random(&state) % (UINT64_C(1) << (next_random(&state) % 18)));
	buf_printf(line, "[%d %d %zu]", writer, n, len);
	for (size_t i = 0; i < len; ++i) {
		char c = (char)next_random(&state);
		buf_addc(line, c == '\n' ? '\0' : c);
	}
	buf_addc(line, '\n');
}

static void *liner_main(void *arg) {
	struct liner *liner = arg;
	struct spool *spool = liner->spool;
	struct buf text = BUF_INIT;
	for (int n = 0; n < LINES; ++n) {
		line_make(&text, liner->number, n);
	}
	// in slices that do not care for lines
	uint64_t state = (uint64_t)liner->number;
	for (size_t at = 0; at < text.len;) {
		size_t n = (size_t)(next_random(&state) % 100000) + 1;
		n = n < text.len - at ? n : text.len - at;
		job_write(spool, 0, text.data + at, n);
		at += n;
	}
	buf_fini(&text);
	spool_finish(spool);
	return NULL;
}

static void run_lines(bool ordered, size_t spool_mem, bool go) {
	struct bench bench;
	bench_open(&bench, EMIT_LINE_BUFFER, ordered, spool_mem, go);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct liner liners[LINE_WORKERS];
	thread threads[LINE_WORKERS];
	for (int i = 0; i < LINE_WORKERS; ++i) {
		struct spool *spool = job_open(&bench, lane, (uint64_t)i + 1);
		liners[i] = (struct liner){.spool = spool, .number = i};
		check_equal(thread_start(&threads[i], liner_main, &liners[i], 1 << 17), 0);
	}
	for (int i = 0; i < LINE_WORKERS; ++i) {
		thread_join(threads[i]);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	int next[LINE_WORKERS] = {0};
	const char *at = bench.out.got.data, *end = at + bench.out.got.len;
	int last = 0;
	while (at < end) {
		int writer = at[1] - '0';
		check(at[0] == '[' && writer >= 0 && writer < LINE_WORKERS);
		check(!ordered || writer >= last);
		last = writer;
		struct buf line = BUF_INIT;
		line_make(&line, writer, next[writer]++);
		check((size_t)(end - at) >= line.len && memcmp(at, line.data, line.len) == 0);
		at += line.len;
		buf_fini(&line);
	}
	for (int i = 0; i < LINE_WORKERS; ++i) {
		check_equal(next[i], LINES);
	}
	bench_free(&bench);
}

static void test_lines_whole(void) {
	run_lines(false, 1 << 20, true);
	run_lines(false, 70000, true);
}

static void test_lines_blocked(void) {
	run_lines(false, 1 << 20, false);
}

static void test_lines_ordered(void) {
	run_lines(true, 1 << 20, true);
	run_lines(true, 70000, true);
	run_lines(true, 70000, false);
}

// ---- both modes in one run

static void test_modes_in_order(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool[5];
	for (uint64_t i = 1; i <= 4; ++i) {
		spool[i] = spool_open(bench.writer, lane, i, i % 2 ? EMIT_GROUP : EMIT_LINE_BUFFER, NULL, 0);
	}
	job_writes(spool[2], 0, "2a\n2b");
	job_writes(spool[4], 0, "4a\n");
	job_writes(spool[3], 0, "3a\n");
	spool_finish(spool[3]);
	job_writes(spool[1], 0, "1a\n");
	job_writes(spool[1], 0, "1b\n"); // whole, when it has ended, although it is the oldest
	spool_finish(spool[1]);
	reader_wait(&bench.out, 9); // with the lines of the next one, which is live from here on
	job_writes(spool[2], 0, "c\n");
	reader_wait(&bench.out, 13);
	job_writes(spool[2], 0, "2d\n");
	spool_finish(spool[2]);
	reader_wait(&bench.out, 22); // the group behind it, and the line behind that
	spool_finish(spool[4]);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_got(&bench.out, "1a\n1b\n2a\n2bc\n2d\n3a\n4a\n");
	bench_free(&bench);
}

static void test_modes_as_they_come(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *group = spool_open(bench.writer, lane, 1, EMIT_GROUP, NULL, 0);
	struct spool *lines = spool_open(bench.writer, lane, 2, EMIT_LINE_BUFFER, NULL, 0);
	job_writes(group, 0, "g1\n");
	job_writes(lines, 0, "l1\nl");
	reader_wait(&bench.out, 3);
	job_writes(group, 0, "g2\n");
	spool_finish(group);
	reader_wait(&bench.out, 9);
	job_writes(lines, 0, "2\n");
	reader_wait(&bench.out, 12);
	spool_finish(lines);
	bench_end(&bench, 0);
	check_got(&bench.out, "l1\ng1\ng2\nl2\n");
	bench_free(&bench);
}

// A live job in EMIT_GROUP streams, and what comes of jobs in EMIT_LINE_BUFFER meanwhile waits for its end.
static void test_modes_live(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *group = spool_open(bench.writer, lane, 1, EMIT_GROUP, NULL, 0);
	struct spool *lines = spool_open(bench.writer, lane, 2, EMIT_LINE_BUFFER, NULL, 0);
	spool_set_live(group);
	spool_set_live(lines); // means nothing
	char mem[100000];
	memset(mem, 'g', sizeof(mem));
	job_write(group, 0, mem, sizeof(mem));
	reader_wait(&bench.out, sizeof(mem));
	job_writes(lines, 0, "l1\nl");
	job_writes(group, 0, "\n");
	spool_finish(group);
	reader_wait(&bench.out, sizeof(mem) + 4);
	job_writes(lines, 0, "2\n");
	reader_wait(&bench.out, sizeof(mem) + 7);
	spool_finish(lines);
	bench_end(&bench, 0);
	check(memcmp(bench.out.got.data + sizeof(mem), "\nl1\nl2\n", 7) == 0);
	bench_free(&bench);
}

enum { MIXERS = 8, MIX_LINES = 100 };

struct mixer {
	struct spool *spool;
	enum writer_mode mode;
	int number, lane;   // lane -1: no place in an order
	char tag[8];
};

// Line `n` of the writer as it is to appear: as GNU parallel, a carriage return ends a line too.
static void mixer_line(const struct mixer *mixer, int n, bool tagged, struct buf *line) {
	struct buf plain = BUF_INIT;
	line_make(&plain, mixer->number, n);
	for (size_t i = 0; i < plain.len; ++i) {
		if (tagged && (i == 0 || plain.data[i - 1] == '\r')) {
			buf_adds(line, mixer->tag);
		}
		buf_addc(line, plain.data[i]);
	}
	buf_fini(&plain);
}

static void *mixer_main(void *arg) {
	struct mixer *mixer = arg;
	struct buf text = BUF_INIT;
	for (int n = 0; n < MIX_LINES; ++n) {
		line_make(&text, mixer->number, n);
	}
	uint64_t state = (uint64_t)mixer->number;
	size_t at[2] = {0, 0};
	while (at[0] < text.len || at[1] < text.len) {
		for (int i = 0; i < 2; ++i) {
			size_t n = (size_t)(next_random(&state) % 100000) + 1;
			n = n < text.len - at[i] ? n : text.len - at[i];
			job_write(mixer->spool, i, text.data + at[i], n);
			at[i] += n;
		}
	}
	buf_fini(&text);
	spool_finish(mixer->spool);
	return NULL;
}

static void check_mix(const struct mixer *mixers, const struct reader *reader, bool ordered, bool tagged) {
	const char *at = reader->got.data, *end = at + reader->got.len;
	int next[MIXERS] = {0}, last[2] = {0}, group = -1;
	while (at < end) {
		const char *head = tagged ? strchr(at, '[') : at;
		check(head && head[0] == '[' && head[1] >= '0' && head[1] < '0' + MIXERS);
		const struct mixer *mixer = &mixers[head[1] - '0'];
		int number = mixer->number;
		check(group < 0 || number == group); // nothing comes between the lines of a group
		struct buf line = BUF_INIT;
		mixer_line(mixer, next[number]++, tagged, &line);
		check((size_t)(end - at) >= line.len && memcmp(at, line.data, line.len) == 0);
		at += line.len;
		buf_fini(&line);
		group = mixer->mode == EMIT_GROUP && next[number] < MIX_LINES ? number : -1;
		if (ordered && mixer->lane >= 0) {
			check(number >= last[mixer->lane]);
			last[mixer->lane] = number;
		}
	}
	for (int i = 0; i < MIXERS; ++i) {
		check_equal(next[i], MIX_LINES);
	}
}

static void run_mix(bool ordered, bool tagged, size_t spool_mem, bool go) {
	static const int lanes[MIXERS] = {0, 0, 0, 1, 1, 1, -1, -1};
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, ordered, spool_mem, go);
	struct writer_lane *lane[2] = {writer_lane_open(bench.writer), writer_lane_open(bench.writer)};
	uint64_t order[2] = {0, 0};
	struct mixer mixers[MIXERS];
	thread threads[MIXERS];
	for (int i = 0; i < MIXERS; ++i) {
		struct mixer *mixer = &mixers[i];
		*mixer = (struct mixer){.mode = i % 2 ? EMIT_GROUP : EMIT_LINE_BUFFER, .number = i, .lane = lanes[i]};
		snprintf(mixer->tag, sizeof(mixer->tag), "%d\t", i);
		bool has_place = lanes[i] >= 0;
		mixer->spool = spool_open(bench.writer, has_place ? lane[lanes[i]] : NULL, has_place ? ++order[lanes[i]] : 0,
		                          mixer->mode, mixer->tag, tagged ? strlen(mixer->tag) : 0);
	}
	for (int i = 0; i < MIXERS; ++i) {
		check_equal(thread_start(&threads[i], mixer_main, &mixers[i], 1 << 17), 0);
	}
	for (int i = 0; i < MIXERS; ++i) {
		thread_join(threads[i]); // also when nobody reads
	}
	writer_lane_close(bench.writer, lane[0]);
	writer_lane_close(bench.writer, lane[1]);
	bench_end(&bench, 0);
	check_equal(bench.failure.calls, 0);
	check_mix(mixers, &bench.out, ordered, tagged);
	check_mix(mixers, &bench.err, ordered, tagged);
	bench_free(&bench);
}

static void test_modes_mixed(void) {
	for (int i = 0; i < 8; ++i) {
		run_mix(i & 1, i & 2, i & 4 ? 1 << 20 : 70000, true);
	}
}

static void test_modes_blocked(void) {
	for (int i = 0; i < 4; ++i) {
		run_mix(i & 1, i & 2, 200000, false);
	}
}

// ---- jobs of both modes with steps, attempts, tags and pauses, from many threads

enum { SOAK_WORKERS = 6, SOAK_JOBS = 40, SOAK_LANES = 3 }; // the last lane is none

struct soak {
	struct bench *bench;
	struct writer_lane *lane[SOAK_LANES];
	mutex lock;
	uint64_t jobs;             // begun
	uint64_t next[SOAK_LANES];
	uint64_t seed;
	bool rests;                // attempts fail, and jobs wait between steps
};

static enum writer_mode soak_mode(uint64_t job) {
	return job % 3 ? EMIT_LINE_BUFFER : EMIT_GROUP;
}

// The bytes of an attempt: lines "[job lane order K|F number length]xxx…", K if they are to stay; a failed one ends
// within a line.
static void soak_text(const struct soak *soak, uint64_t job, uint64_t order, int step, bool fails, struct buf *text) {
	uint64_t state = soak->seed * 1000003 + job * 1009 + (uint64_t)step * 17 + fails;
	next_random(&state);
	int lines = (int)(next_random(&state) % 8);
	for (int i = 0; i < lines; ++i) {
		size_t len = (size_t)(next_random(&state) % (UINT64_C(1) << next_random(&state) % 18));
		buf_printf(text, "[%d %d %d %c %d %zu]", (int)job, (int)(job % SOAK_LANES), (int)order, fails ? 'F' : 'K',
		           step * 100 + i, len);
		memset(buf_reserve(text, len), 'x', len);
		text->len += len;
		buf_addc(text, '\n');
	}
	if (fails) {
		size_t len = (size_t)(next_random(&state) % 100000);
		memset(buf_reserve(text, len), 'f', len);
		text->len += len;
	}
}

static void soak_job(struct soak *soak, struct spool *spool, uint64_t job, uint64_t order) {
	uint64_t state = job;
	struct buf text = BUF_INIT;
	for (int step = 0; step < 3; ++step) {
		for (int attempt = soak->rests && job % 4 == 1 ? 0 : 1; attempt < 2; ++attempt) {
			buf_reset(&text);
			soak_text(soak, job, order, step, attempt == 0, &text);
			for (size_t at = 0; at < text.len;) {
				size_t n = (size_t)(next_random(&state) % 60000) + 1;
				n = n < text.len - at ? n : text.len - at;
				spool_add(spool, 0, text.data + at, n);
				spool_add(spool, 1, text.data + at, n);
				at += n;
			}
			if (attempt == 0) {
				spool_suspend(spool);
				spool_reset(spool);
			}
		}
		if (soak->rests && job % 2 == 0) {
			spool_suspend(spool);
		}
		spool_mark(spool);
	}
	buf_fini(&text);
}

static void *soak_main(void *arg) {
	struct soak *soak = arg;
	for (;;) {
		mutex_lock(&soak->lock);
		uint64_t job = ++soak->jobs;
		uint64_t lane = job % SOAK_LANES, order = ++soak->next[lane];
		struct spool *spool = NULL;
		if (job <= SOAK_JOBS && job % 10 == 7 && soak->lane[lane]) {
			writer_skip(soak->bench->writer, soak->lane[lane], order);
		} else if (job <= SOAK_JOBS) {
			spool = spool_open(soak->bench->writer, soak->lane[lane], order, soak_mode(job), "T", job % 5 == 0);
		}
		mutex_unlock(&soak->lock);
		if (job > SOAK_JOBS) {
			return NULL;
		}
		if (spool) {
			soak_job(soak, spool, job, order);
			spool_finish(spool);
		}
	}
}

// Checks that all lines that are to stay are there once, in order and whole, and what may stand between them.
static void check_soak(const struct soak *soak, const struct reader *reader, bool ordered) {
	const char *at = reader->got.data, *end = at + reader->got.len;
	int last[SOAK_JOBS + 1], last_order[SOAK_LANES] = {0}, lines = 0, group = 0, order_of[SOAK_JOBS + 1] = {0};
	bool left[SOAK_JOBS + 1] = {false};
	memset(last, -1, sizeof(last));
	while (at < end) {
		int job, lane, order, number, head;
		size_t len;
		char kind;
		bool tagged = *at == 'T';
		check(sscanf(at + tagged, "[%d %d %d %c %d %zu]%n", &job, &lane, &order, &kind, &number, &len, &head) == 6);
		at += tagged + head;
		check((size_t)(end - at) > len && strspn(at, "x") == len && at[len] == '\n');
		at += len + 1;
		check(tagged == (job % 5 == 0));
		if (group != job && group != 0) {
			left[group] = true;
		}
		group = soak_mode((uint64_t)job) == EMIT_GROUP ? job : 0;
		check(!left[job]); // a group is in one piece
		check(!ordered || lane == SOAK_LANES - 1 || order >= last_order[lane]);
		last_order[lane] = order;
		order_of[job] = order;
		if (kind == 'F') {
			check(group == 0);
			continue;
		}
		check(number > last[job]);
		last[job] = number;
		++lines;
	}
	int expect = 0;
	struct buf text = BUF_INIT;
	for (int job = 1; job <= SOAK_JOBS; ++job) {
		for (int step = 0; order_of[job] > 0 && step < 3; ++step) {
			soak_text(soak, (uint64_t)job, (uint64_t)order_of[job], step, false, &text);
		}
	}
	for (size_t i = 0; i < text.len; ++i) {
		expect += text.data[i] == '\n';
	}
	buf_fini(&text);
	check_equal(lines, expect);
}

static void run_soak(bool ordered, bool rests, size_t spool_mem, bool go) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, ordered, spool_mem, go);
	struct soak soak = {.bench = &bench, .seed = spool_mem, .rests = rests};
	mutex_init(&soak.lock, LOCK_OF_TEST);
	for (int i = 0; i < SOAK_LANES - 1; ++i) {
		soak.lane[i] = writer_lane_open(bench.writer);
	}
	thread threads[SOAK_WORKERS];
	for (int i = 0; i < SOAK_WORKERS; ++i) {
		check_equal(thread_start(&threads[i], soak_main, &soak, 1 << 17), 0);
	}
	for (int i = 0; i < SOAK_WORKERS; ++i) {
		thread_join(threads[i]);
	}
	for (int i = 0; i < SOAK_LANES - 1; ++i) {
		writer_lane_close(bench.writer, soak.lane[i]);
	}
	bench_end(&bench, 0);
	check_equal(bench.failure.calls, 0);
	check_soak(&soak, &bench.out, ordered);
	check_soak(&soak, &bench.err, ordered);
	mutex_fini(&soak.lock);
	bench_free(&bench);
}

static void test_soak(void) {
	for (int i = 0; i < 16; ++i) {
		run_soak(i & 1, i & 2, i & 4 ? 1 << 20 : 100000, i & 8);
	}
}

// A job whose stdout is read by somebody else has a spool for its stderr only.
static void test_stderr_only(void) {
	for (int i = 0; i < 8; ++i) {
		struct bench bench;
		bench_open(&bench, i & 1 ? EMIT_LINE_BUFFER : EMIT_GROUP, i & 2, 1 << 20, true);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		struct spool *first = job_open(&bench, lane, 1), *second = job_open(&bench, lane, 2);
		spool_suspend(first);
		check(!first->block); // nothing is held for a job that has written nothing
		enum { SIZE = 300000 };
		char *mem = xmalloc(SIZE);
		memset(mem, 'e', SIZE);
		mem[SIZE - 1] = '\n';
		size_t size = i & 4 ? SIZE : 10;
		spool_add(second, 1, mem + SIZE - size, size / 2);
		spool_mark(second);
		spool_add(second, 1, "gone", 4);
		spool_reset(second);
		spool_add(second, 1, mem + SIZE - size + size / 2, size - size / 2);
		check_equal(spool_bytes(second, 0), 0);
		check_equal(spool_bytes(second, 1), size);
		spool_finish(second);
		spool_finish(first);
		writer_lane_close(bench.writer, lane);
		bench_end(&bench, 0);
		check_equal(bench.out.got.len, 0);
		check_equal(bench.err.got.len, size);
		check(memcmp(bench.err.got.data, mem + SIZE - size, size) == 0);
		free(mem);
		bench_free(&bench);
	}
}

// ---- tags

static void check_tagged(enum writer_mode mode, const char *tag, const char *const *pieces, const char *expect) {
	struct bench bench;
	bench_open(&bench, mode, false, 1 << 20, true);
	struct spool *spool = spool_open(bench.writer, writer_lane_open(bench.writer), 1, bench.mode, tag, strlen(tag));
	for (; *pieces; ++pieces) {
		job_writes(spool, 0, *pieces);
	}
	spool_finish(spool);
	bench_end(&bench, 0);
	check_string(buf_str(&bench.out.got), expect);
	bench_free(&bench);
}

#define PIECES(...) ((const char *const[]){__VA_ARGS__, NULL})

// Expected: what GNU parallel 20221122 --tag wrote for the same bytes.
static void test_tags(void) {
	for (enum writer_mode mode = EMIT_GROUP; mode <= EMIT_LINE_BUFFER; ++mode) {
		check_tagged(mode, "x\t", PIECES("a\nb"), "x\ta\nx\tb");
		check_tagged(mode, "x\t", PIECES("a\nb\n"), "x\ta\nx\tb\n");
		check_tagged(mode, "x\t", PIECES("a", "b", "\n", "c"), "x\tab\nx\tc");
		check_tagged(mode, "x\t", PIECES(""), "");
		check_tagged(mode, "x\t", PIECES("\n\n"), "x\t\nx\t\n");
		check_tagged(mode, "x\t", PIECES("a\r\nb\r\n"), "x\ta\rx\t\nx\tb\rx\t\n");
		check_tagged(mode, "x\t", PIECES("\ra"), "x\t\rx\ta");
		check_tagged(mode, "x\t", PIECES("a\r\r\nb"), "x\ta\rx\t\rx\t\nx\tb");
		check_tagged(mode, "x\t", PIECES("a\r"), "x\ta\r");
		check_tagged(mode, "", PIECES("a\nb\n"), "a\nb\n");
	}
}

static void test_tags_large(void) {
	// a tag longer than any buffer, and lines that cross all of them
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct buf tag = BUF_INIT, expect = BUF_INIT, text = BUF_INIT;
	for (int i = 0; i < 100000; ++i) {
		buf_addc(&tag, 't');
	}
	struct spool *first = job_open(&bench, lane, 1);
	struct spool *second = spool_open(bench.writer, lane, 2, bench.mode, tag.data, tag.len);
	for (int i = 0; i < 5; ++i) {
		size_t from = text.len;
		for (int k = 0; k < 33333; ++k) {
			buf_addc(&text, 'x');
		}
		buf_addc(&text, '\n');
		buf_add(&expect, tag.data, tag.len);
		buf_add(&expect, text.data + from, text.len - from);
	}
	job_write(second, 0, text.data, text.len);
	spool_finish(second);
	spool_finish(first);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, expect.len);
	check(memcmp(bench.out.got.data, expect.data, expect.len) == 0);
	buf_fini(&tag);
	buf_fini(&text);
	buf_fini(&expect);
	bench_free(&bench);
}

static void test_tags_both_streams(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *first = spool_open(bench.writer, lane, 1, bench.mode, "1\t", 2);
	struct spool *second = spool_open(bench.writer, lane, 2, bench.mode, "2\t", 2);
	job_writes(second, 0, "o\n");
	job_writes(second, 1, "e\n");
	spool_finish(second); // held in a pack
	job_writes(first, 1, "e");
	job_writes(first, 0, "o\n");
	spool_finish(first);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_got(&bench.out, "1\to\n2\to\n");
	check_got(&bench.err, "1\te2\te\n");
	bench_free(&bench);
}

// ---- all else

static void test_bytes_of_all_values(void) {
	char all[256 * 300];
	for (size_t i = 0; i < sizeof(all); ++i) {
		all[i] = (char)(i + i / 256);
	}
	for (int mode = EMIT_GROUP; mode <= EMIT_LINE_BUFFER; ++mode) {
		struct bench bench;
		bench_open(&bench, (enum writer_mode)mode, false, 1 << 20, true);
		struct spool *spool = job_open(&bench, writer_lane_open(bench.writer), 1);
		job_write(spool, 0, all, sizeof(all));
		job_write(spool, 1, all, sizeof(all));
		spool_finish(spool);
		bench_end(&bench, 0);
		check(bench.out.got.len == sizeof(all) && memcmp(bench.out.got.data, all, sizeof(all)) == 0);
		check(bench.err.got.len == sizeof(all) && memcmp(bench.err.got.data, all, sizeof(all)) == 0);
		bench_free(&bench);
	}
}

static void test_reset(void) {
	for (int order = 0; order < 4; ++order) {
		struct bench bench;
		bench_open(&bench, order & 2 ? EMIT_LINE_BUFFER : EMIT_GROUP, order & 1, 200000, true);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		struct spool *first = job_open(&bench, lane, 1);
		struct spool *spool = job_open(&bench, lane, 2);
		char *mem = xcalloc(1, 500000);
		job_write(spool, 0, mem, 500000); // no line
		job_writes(spool, 1, "gone");
		spool_reset(spool);
		check_equal(spool_bytes(spool, 0), 0);
		job_writes(spool, 0, "kept");
		spool_finish(spool);
		spool_finish(first);
		writer_lane_close(bench.writer, lane);
		bench_end(&bench, 0);
		check_got(&bench.out, "kept");
		check_equal(bench.err.got.len, 0);
		free(mem);
		bench_free(&bench);
	}
}

// Steps and attempts: what a step keeps, with lines that go on from one to the next, short and long.
static void run_marks(enum writer_mode mode, bool keep_order, bool first_is_slow, size_t size) {
	struct bench bench;
	bench_open(&bench, mode, keep_order, 200000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *first = job_open(&bench, lane, 1);
	if (!first_is_slow) {
		spool_finish(first);
	}
	struct buf expect = BUF_INIT, step = BUF_INIT;
	struct spool *spool = job_open(&bench, lane, 2);
	bool live = mode == EMIT_LINE_BUFFER && !(keep_order && first_is_slow);
	for (int i = 0; i < 3; ++i) {
		for (int attempt = 0; attempt < 2; ++attempt) {
			buf_reset(&step);
			if (attempt == 0 && !live) {
				buf_adds(&step, "a failed\nattempt"); // whole lines are passed on at once where the job is live
			}
			buf_printf(&step, "[%d %d ", i, attempt);
			while (step.len < size) {
				buf_addc(&step, 'x');
			}
			if (attempt == 1) {
				buf_adds(&step, "]\nbegun ");
			}
			job_write(spool, 0, step.data, step.len);
			if (attempt == 0) {
				spool_suspend(spool);
				spool_reset(spool);
			}
		}
		buf_add(&expect, step.data, step.len);
		check_equal(spool_bytes(spool, 0), expect.len);
		spool_suspend(spool);
		spool_mark(spool);
	}
	spool_finish(spool);
	if (first_is_slow) {
		spool_finish(first);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, expect.len);
	check(memcmp(bench.out.got.data, expect.data, expect.len) == 0);
	buf_fini(&expect);
	buf_fini(&step);
	bench_free(&bench);
}

static void test_marks(void) {
	static const size_t sizes[] = {0, 30000, 70000, 300000};
	for (int i = 0; i < 8; ++i) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
			run_marks(i & 1 ? EMIT_LINE_BUFFER : EMIT_GROUP, i & 2, i & 4, sizes[k]);
		}
	}
}

// A live job that is tried again or goes on with a step: the turn is taken once more.
static void test_marks_live(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool = job_open(&bench, lane, 1);
	spool_set_live(spool);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(spool, 0, mem, 1000000);
	reader_wait(&bench.out, 1000000);
	spool_suspend(spool);
	struct spool *other = job_open(&bench, lane, 2);
	job_writes(other, 0, "other");
	spool_finish(other);
	reader_wait(&bench.out, 1000005);
	spool_mark(spool);
	job_write(spool, 0, mem, 1000000);
	spool_finish(spool);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, 2000005);
	check(memcmp(bench.out.got.data + 1000000, "otherx", 6) == 0);
	free(mem);
	bench_free(&bench);
}

static void test_no_order(void) {
	for (int mode = EMIT_GROUP; mode <= EMIT_LINE_BUFFER; ++mode) {
		struct bench bench;
		bench_open(&bench, (enum writer_mode)mode, true, 1 << 20, true);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		struct spool *first = job_open(&bench, lane, 1);
		struct spool *second = job_open(&bench, lane, 2);
		struct spool *hook = job_open(&bench, NULL, 0);
		job_writes(second, 0, "second\n");
		spool_finish(second);
		job_writes(hook, 0, "hook\n");
		spool_finish(hook);
		reader_wait(&bench.out, 5);
		spool_finish(first);
		writer_lane_close(bench.writer, lane);
		bench_end(&bench, 0);
		check_got(&bench.out, "hook\nsecond\n");
		bench_free(&bench);
	}
}

static void test_live(void) {
	for (int tagged = 0; tagged < 2; ++tagged) {
		struct bench bench;
		bench_open(&bench, EMIT_GROUP, false, 1 << 20, true);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		struct spool *spool = spool_open(bench.writer, lane, 1, bench.mode, "T\t", tagged ? 2 : 0);
		struct spool *other = job_open(&bench, lane, 2);
		spool_set_live(spool);
		enum { SIZE = 3000000 };
		char *mem = xmalloc(SIZE);
		memset(mem, 'x', SIZE);
		job_writes(spool, 1, "err"); // not streamed
		job_write(spool, 0, mem, SIZE);
		reader_wait(&bench.out, SIZE);
		job_writes(other, 0, "other");
		spool_finish(other);
		job_writes(spool, 0, "end");
		check_equal(spool_bytes(spool, 0), SIZE + 3);
		spool_finish(spool);
		bench_end(&bench, 0);
		size_t tag_len = tagged ? 2 : 0;
		check_equal(bench.out.got.len, tag_len + SIZE + 8);
		check(memcmp(bench.out.got.data, "T\t", tag_len) == 0);
		check(memcmp(bench.out.got.data + tag_len, mem, SIZE) == 0);
		check(memcmp(bench.out.got.data + tag_len + SIZE, "endother", 8) == 0);
		check_equal(bench.err.got.len, tag_len + 3);
		free(mem);
		bench_free(&bench);
	}
}

// The end of a live job's pipe is seen as such while the reader's pipe is full.
static void test_live_end(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, false);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool = job_open(&bench, lane, 1);
	spool_set_live(spool);
	char *mem = xcalloc(1, 65536);
	int capacity = fcntl(bench.out.write_fd, F_GETPIPE_SZ);
	check(capacity >= 65536);
	// fill the reader's pipe, which counts pages: live from the second write on
	job_write(spool, 0, mem, 7 * 4096);
	job_write(spool, 0, mem, 7 * 4096);
	for (int left = capacity - 14 * 4096; left > 0; left -= 4096) {
		job_write(spool, 0, mem, 4096);
	}
	int ends[2];
	check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	check_equal(spool_readable(spool, 0, ends[0]), -1);
	check_equal(errno, EAGAIN);
	close(ends[1]);
	check_equal(spool_readable(spool, 0, ends[0]), 0);
	close(ends[0]);
	reader_go(&bench.out);
	spool_finish(spool);
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, capacity);
	free(mem);
	bench_free(&bench);
}

static void test_large(void) {
	int before = count_fds();
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, false);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	enum { SIZE = 20000000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 1);
	for (uint64_t i = 1; i <= 3; ++i) {
		struct spool *spool = job_open(&bench, lane, i);
		job_write(spool, 0, mem, SIZE);
		check(store_mem(writer_store(bench.writer)) <= 1 << 20);
		spool_finish(spool);
	}
	bench_end(&bench, 0);
	check_equal(bench.out.got.len, 3 * SIZE);
	for (int i = 0; i < 3; ++i) {
		check(memcmp(bench.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	bench_free(&bench);
	int kept = count_fds() - before; // once for all, for base/write_limit.h; the other descriptors come with each writer
	check(kept == 0 || kept == 1);
	bench_open(&bench, EMIT_GROUP, false, 1 << 20, false);
	bench_end(&bench, 0);
	bench_free(&bench);
	check_equal(count_fds() - before, kept);
}

static void test_no_temporary_file(void) {
	char dir[] = "/tmp/emit-test.XXXXXX";
	check(mkdtemp(dir));
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 0, true);
	check_equal(writer_destroy(bench.writer), 0);
	bench.config.spool_dir = dir;
	bench.writer = writer_create(&bench.config);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *spool = job_open(&bench, lane, 1);
	char *mem = xcalloc(1, 200000);
	job_write(spool, 0, mem, 200000);
	check(store_units(writer_store(bench.writer)) > 0);
	check(rmdir(dir) == 0); // nothing has a name in it
	spool_finish(spool);
	writer_lane_close(bench.writer, lane);
	bench_close(&bench);
	free(mem);
}

// ---- failures

static void test_full_stdout(void) {
	struct reader err;
	reader_open(&err, true, 0);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	check(full >= 0);
	struct failure failure = {0};
	struct writer *writer = writer_create(&(struct writer_config){.spool_dir = "/tmp", .out_fd = full,
		.err_fd = err.write_fd, .failed = note_failure, .arg = &failure});
	struct writer_lane *lane = writer_lane_open(writer);
	for (uint64_t i = 1; i <= 3; ++i) {
		struct spool *spool = spool_open(writer, lane, i, EMIT_GROUP, NULL, 0);
		job_writes(spool, 0, "out");
		job_writes(spool, 1, "err");
		spool_finish(spool);
	}
	check_equal(failure.calls, 1);
	check_equal(failure.stream, 0);
	check_equal(failure.error, ENOSPC);
	check_equal(writer_destroy(writer), -1);
	check_equal(failure.calls, 1);
	reader_end(&err);
	check_got(&err, "errerrerr");
	reader_free(&err);
	close(full);
}

static void test_closed_stdout(void) {
	signal(SIGPIPE, SIG_IGN);
	for (int live = 0; live < 2; ++live) {
		int ends[2];
		check(pipe2(ends, O_CLOEXEC) == 0);
		close(ends[0]);
		struct failure failure = {0};
		struct writer *writer = writer_create(&(struct writer_config){.spool_dir = "/tmp",
			.out_fd = ends[1], .err_fd = ends[1], .failed = note_failure, .arg = &failure});
		struct writer_lane *lane = writer_lane_open(writer);
		char *mem = xcalloc(1, 1000000);
		for (uint64_t i = 1; i <= 2; ++i) {
			struct spool *spool = spool_open(writer, lane, i, EMIT_GROUP, NULL, 0);
			if (live) {
				spool_set_live(spool);
			}
			job_write(spool, 0, mem, 1000000);
			job_writes(spool, 1, "err");
			spool_finish(spool);
		}
		check_equal(writer_destroy(writer), -1);
		check_equal(failure.calls, 1);
		check_equal(failure.error, EPIPE);
		free(mem);
		close(ends[1]);
	}
}

// Without a disk a lone job, and the one whose turn it is, lose nothing.
static void no_disk(bool keep_order, enum writer_mode mode, int stream) {
	struct bench bench;
	bench_open(&bench, mode, keep_order, 100000, true);
	check_equal(writer_destroy(bench.writer), 0);
	bench.config.spool_dir = "/nonexistent";
	bench.writer = writer_create(&bench.config);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	enum { SIZE = 1000000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 3);
	for (uint64_t i = 1; i <= 2; ++i) {
		struct spool *spool = job_open(&bench, lane, i);
		job_write(spool, stream, mem, SIZE);
		spool_finish(spool);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.failure.calls, 0);
	struct reader *reader = stream ? &bench.err : &bench.out;
	check_equal(reader->got.len, 2 * SIZE);
	check(memcmp(reader->got.data, mem, SIZE) == 0 && memcmp(reader->got.data + SIZE, mem, SIZE) == 0);
	free(mem);
	bench_free(&bench);
}

static void test_no_disk(void) {
	for (int i = 0; i < 8; ++i) {
		no_disk(i & 1, i & 2 ? EMIT_GROUP : EMIT_LINE_BUFFER, i & 4 ? 1 : 0);
	}
}

struct retry_queue {
	struct bench *bench;
	struct writer_lane *lane;
	const char *mem;
	size_t size;
	struct spool *spool;
};

static void *later_main(void *arg) {
	struct retry_queue *retry_queue = arg;
	job_write(retry_queue->spool, 0, retry_queue->mem, retry_queue->size);
	spool_finish(retry_queue->spool);
	return NULL;
}

// A job that the disk fails waits while the one before it runs, and goes on when that has ended.
static void test_no_disk_waits(void) {
	for (int mode = EMIT_GROUP; mode <= EMIT_LINE_BUFFER; ++mode) {
		struct bench bench;
		bench_open(&bench, (enum writer_mode)mode, true, 200000, true);
		check_equal(writer_destroy(bench.writer), 0);
		bench.config.spool_dir = "/nonexistent";
		bench.writer = writer_create(&bench.config);
		struct writer_lane *lane = writer_lane_open(bench.writer);
		enum { SIZE = 2000000, WORKERS = 3 };
		char *mem = xmalloc(SIZE);
		noise(mem, SIZE, 4);
		struct retry_queue retry_queue[WORKERS];
		thread threads[WORKERS];
		struct spool *first = job_open(&bench, lane, 1);
		for (int i = 0; i < WORKERS; ++i) {
			struct spool *spool = job_open(&bench, lane, (uint64_t)i + 2);
			retry_queue[i] = (struct retry_queue){&bench, lane, mem, SIZE, spool};
			check_equal(thread_start(&threads[i], later_main, &retry_queue[i], 1 << 17), 0);
		}
		job_writes(first, 0, "first\n");
		spool_finish(first);
		for (int i = 0; i < WORKERS; ++i) {
			thread_join(threads[i]);
		}
		writer_lane_close(bench.writer, lane);
		bench_end(&bench, 0);
		check_equal(bench.failure.calls, 0);
		check_equal(bench.out.got.len, 6 + WORKERS * SIZE);
		check(memcmp(bench.out.got.data, "first\n", 6) == 0);
		for (int i = 0; i < WORKERS; ++i) {
			check(memcmp(bench.out.got.data + 6 + i * SIZE, mem, SIZE) == 0);
		}
		free(mem);
		bench_free(&bench);
	}
}

// Without a disk, and behind a job that cannot come before it ends: that loss is reported, and nothing hangs.
static void test_no_disk_lost(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	check_equal(writer_destroy(bench.writer), 0);
	bench.config.spool_dir = "/nonexistent";
	bench.writer = writer_create(&bench.config);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *first = job_open(&bench, lane, 1);
	spool_suspend(first); // waits to be tried again, which needs a slot
	struct spool *second = job_open(&bench, lane, 2);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(second, 0, mem, 1000000);
	spool_finish(second);
	job_writes(first, 0, "first");
	spool_finish(first);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, -1);
	check_equal(bench.failure.calls, 1);
	check_equal(bench.failure.stream, 2);
	check_equal(bench.failure.error, ENOENT);
	// what there was room for is there
	check(bench.out.got.len > 50000 && bench.out.got.len < 1000000);
	check(memcmp(bench.out.got.data, "firstxxxx", 9) == 0);
	free(mem);
	bench_free(&bench);
}

// A job that has lost output does not begin to stream: its end would stand behind a gap as if nothing were missing.
static void test_no_disk_live(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	check_equal(writer_destroy(bench.writer), 0);
	bench.config.spool_dir = "/nonexistent";
	bench.writer = writer_create(&bench.config);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	struct spool *first = job_open(&bench, lane, 1), *second = job_open(&bench, lane, 2);
	spool_suspend(first);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(second, 0, mem, 1000000);
	check_equal(bench.failure.calls, 1);
	spool_finish(first);
	spool_set_live(second);
	memset(mem, 'y', 1000000);
	job_write(second, 0, mem, 1000000); // is read to its end nevertheless
	spool_finish(second);
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, -1);
	check_equal(bench.failure.calls, 1);
	check(bench.out.got.len > 50000 && bench.out.got.len < 1000000);
	check(!memchr(bench.out.got.data, 'y', bench.out.got.len));
	free(mem);
	bench_free(&bench);
}

// The file can be opened but not written to any length.
static void test_disk_full(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000000, 1000000}) == 0);
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	enum { SIZE = 3000000, WORKERS = 3 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 5);
	struct retry_queue retry_queue[WORKERS];
	thread threads[WORKERS];
	for (int i = 0; i < WORKERS; ++i) {
		retry_queue[i] = (struct retry_queue){&bench, lane, mem, SIZE, job_open(&bench, lane, (uint64_t)i + 1)};
	}
	for (int i = WORKERS - 1; i >= 0; --i) {
		check_equal(thread_start(&threads[i], later_main, &retry_queue[i], 1 << 17), 0);
	}
	for (int i = 0; i < WORKERS; ++i) {
		thread_join(threads[i]);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.failure.calls, 0);
	check_equal(bench.out.got.len, WORKERS * SIZE);
	for (int i = 0; i < WORKERS; ++i) {
		check(memcmp(bench.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	bench_free(&bench);
}

static void test_disk_full_small(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000000, 1000000}) == 0);
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	enum { JOBS = 500, SIZE = 10000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 6);
	for (uint64_t i = JOBS; i >= 1; --i) {
		struct spool *spool = job_open(&bench, lane, i);
		job_write(spool, 0, mem, SIZE);
		spool_finish(spool); // nothing else runs: held beyond the bound
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, 0);
	check_equal(bench.failure.calls, 0);
	check_equal(bench.out.got.len, JOBS * SIZE);
	for (int i = 0; i < JOBS; ++i) {
		check(memcmp(bench.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	bench_free(&bench);
}

#ifdef FAIRPAR_FAULTS

// Runs `fn` in a child with the fault set, as the calls are counted over the life of a process.
static void with_fault(const char *fault, void (*fn)(void)) {
	fflush(NULL);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		check(setenv("FAIRPAR_FAULT", fault, 1) == 0);
		fn();
		exit(0);
	}
	int status;
	check(waitpid(pid, &status, 0) == pid);
	if (status != 0) {
		fprintf(stderr, "# with FAIRPAR_FAULT=%s\n", fault);
	}
	check_equal(status, 0);
}

static void small_crowd(void) {
	run_crowd(true, 300000, false, 0);
}

static void small_lines(void) {
	run_lines(true, 100000, true);
}

static void small_soak(void) {
	run_soak(true, false, 100000, true);
	run_soak(false, false, 100000, true);
}

static void test_faults(void) {
	static const char *const faults[] = {
		"tmpfile:1:EMFILE", "tmpfile:1+:ENFILE", "spool_write:1:EINTR", "spool_write:1:ENOSPC", "spool_write:2:EIO",
		"spool_write:7:ENOSPC", "spool_write:1+:ENOSPC", "spool_write:5+:ENOSPC", "spool_write:30+:EIO",
	};
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) {
		with_fault(faults[i], small_crowd);
		with_fault(faults[i], small_lines);
		with_fault(faults[i], small_soak);
	}
}

static void lose_by_read(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, true, 100000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	char *mem = xcalloc(1, 1000000);
	for (uint64_t i = 20; i >= 1; --i) {
		struct spool *spool = job_open(&bench, lane, i);
		job_write(spool, 0, mem, i % 2 ? 1000000 : 20000);
		spool_finish(spool);
	}
	writer_lane_close(bench.writer, lane);
	bench_end(&bench, -1);
	check_equal(bench.failure.calls, 1);
	check_equal(bench.failure.stream, 2);
	check_equal(bench.failure.error, EIO);
	free(mem);
	bench_free(&bench);
}

static void test_read_faults(void) {
	with_fault("spool_read:1:EIO", lose_by_read);
	with_fault("spool_read:3+:EIO", lose_by_read);
}

// A slow reader without a thread to wait for it: the worker waits itself.
static void blocked_without_thread(void) {
	struct bench bench;
	bench_open(&bench, EMIT_GROUP, false, 100000, true);
	struct writer_lane *lane = writer_lane_open(bench.writer);
	char *mem = xcalloc(1, 1000000);
	struct spool *spool = job_open(&bench, lane, 1);
	job_write(spool, 0, mem, 1000000);
	spool_finish(spool);
	check_equal(writer_destroy(bench.writer), 0);
	reader_end(&bench.out);
	reader_end(&bench.err);
	check_equal(bench.out.got.len, 1000000);
	free(mem);
	bench_free(&bench);
}

static void test_no_thread(void) {
	with_fault("thread:3+:EAGAIN", blocked_without_thread); // two are the readers
}

#else

static void test_faults(void) {
}

static void test_read_faults(void) {
}

static void test_no_thread(void) {
}

#endif

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a job's stdout and stderr go to their own descriptor, when it ends", test_streams_apart),
		TEST("a job's stdout stands before its stderr", test_out_before_err),
		TEST("outputs of 1 B to 1 MB from many threads are whole", test_crowd),
		TEST("outputs that do not fit into memory are whole", test_crowd_disk),
		TEST("keep_order holds in each lane", test_crowd_ordered),
		TEST("jobs go on while nobody reads, and memory is bounded", test_crowd_blocked),
		TEST("a non-blocking stdout loses nothing", test_crowd_nonblocking),
		TEST("a hundred thousand jobs are held with 16 descriptors", test_hold_many),
		TEST("a hundred thousand jobs are held line by line with 16 descriptors", test_hold_many_lines),
		TEST("long outputs are held with 16 descriptors", test_hold_many_big),
		TEST("a receipt comes when the output of its job is written", test_receipts),
		TEST("a receipt waits for a slow reader", test_receipt_of_slow_reader),
		TEST("lanes do not hold each other up", test_lanes_apart),
		TEST("the end of the run writes what is held behind a gap", test_end_writes_held),
		TEST("lines come as they are complete", test_line_order),
		TEST("with keep_order the oldest job is live and hands over to the next", test_line_keep_order),
		TEST("with keep_order a long incomplete line holds up no whole ones", test_line_long),
		TEST("lines of 1 B to 128 kB with all byte values are never split", test_lines_whole),
		TEST("lines are whole when nobody reads", test_lines_blocked),
		TEST("lines are whole and in order of their jobs", test_lines_ordered),
		TEST("a job in lines and a group have their places in one order", test_modes_in_order),
		TEST("a group comes whole between the lines of another job", test_modes_as_they_come),
		TEST("a live group holds up the lines of another job", test_modes_live),
		TEST("groups and lines beside each other are whole, in order, tagged", test_modes_mixed),
		TEST("groups and lines are whole when nobody reads", test_modes_blocked),
		TEST("jobs of both modes with steps and attempts are whole", test_soak),
		TEST("a job may have stderr only", test_stderr_only),
		TEST("tags are those of GNU parallel", test_tags),
		TEST("tags and lines may be longer than any buffer", test_tags_large),
		TEST("both streams are tagged, held or not", test_tags_both_streams),
		TEST("all byte values pass", test_bytes_of_all_values),
		TEST("a reset throws away what the attempt wrote", test_reset),
		TEST("a reset goes back to the mark and no further", test_marks),
		TEST("a live job gives up the turn between its steps", test_marks_live),
		TEST("a spool without a place in the order waits for nobody", test_no_order),
		TEST("a live job streams its stdout and others wait", test_live),
		TEST("a live job's end is seen while nobody reads", test_live_end),
		TEST("20 MB outputs take little memory and leave no descriptor", test_large),
		TEST("the spool file has no name", test_no_temporary_file),
		TEST("a full stdout is reported once, stderr goes on", test_full_stdout),
		TEST("a closed reader is EPIPE, reported once", test_closed_stdout),
		TEST("without a disk a job that may be written goes straight through", test_no_disk),
		TEST("without a disk jobs wait for those before them", test_no_disk_waits),
		TEST("without a disk a loss that cannot be avoided is reported", test_no_disk_lost),
		TEST("without a disk a job that has lost output does not stream the rest", test_no_disk_live),
		TEST("with a full disk jobs wait for those before them", test_disk_full),
		TEST("with a full disk small outputs stay in memory", test_disk_full_small),
		TEST("no failure of the spool file loses anything while the job before runs", test_faults),
		TEST("what cannot be read back is reported", test_read_faults),
		TEST("without a thread for a slow reader nothing is lost", test_no_thread),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
