// What becomes of jobs' output as a whole: in groups, in order, never lost, whatever the reader does.

#include "base/scratch_file.h"
#include "output_fixture.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/stat.h>

// Bytes of job `n` on a stream: a head {n, length} and noise that follows from n.
struct head {
	uint64_t job, queue, len;
};

static size_t random_size(uint64_t *state) {
	// from 1 byte to 1 MB, each power of two as likely as any other
	return (next_random(state) % (UINT64_C(1) << (next_random(state) % 21))) + 1;
}

enum { QUEUES = 3 };

struct many_jobs {
	struct output *output;
	struct output_queue *queue[QUEUES];
	mutex lock;
	uint64_t next[QUEUES];
	uint64_t count;         // in each queue
	uint64_t seed;
	int workers;            // still running
};

static char *job_bytes(uint64_t queue, uint64_t job, int stream, uint64_t seed, size_t *ret_len) {
	uint64_t state = seed ^ (job * 1000003 + queue * 7919 + (uint64_t)stream);
	next_random(&state);
	if (next_random(&state) % 4 == 0) { // silent
		*ret_len = 0;
		return NULL;
	}
	struct head head = {job, queue, random_size(&state)};
	char *mem = xmalloc(sizeof(head) + head.len);
	memcpy(mem, &head, sizeof(head));
	noise(mem + sizeof(head), head.len, job * 2 + (uint64_t)stream);
	*ret_len = sizeof(head) + head.len;
	return mem;
}

static void *many_jobs_main(void *arg) {
	struct many_jobs *jobs = arg;
	for (uint64_t turn = 0;; ++turn) {
		uint64_t queue = turn % QUEUES;
		mutex_lock(&jobs->lock);
		uint64_t job = ++jobs->next[queue];
		uint64_t most = jobs->next[0] + jobs->next[1] + jobs->next[2];
		struct spool *spool = NULL;
		if (job <= jobs->count) { // in order: one that is not yet open cannot be waited for
			spool = spool_open(jobs->output->writer, jobs->queue[queue], job, WRITER_GROUP, NULL, 0);
		}
		mutex_unlock(&jobs->lock);
		if (job > jobs->count) {
			if (most > QUEUES * (jobs->count + 8)) {
				break;
			}
			continue;
		}
		size_t len[2];
		char *mem[2];
		for (int i = 0; i < 2; ++i) {
			mem[i] = job_bytes(queue, job, i, jobs->seed, &len[i]);
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
static void check_many_jobs(struct many_jobs *jobs, struct reader *reader, int stream, bool ordered) {
	const char *at = reader->got.data, *end = at + reader->got.len;
	uint64_t expect = 0, seen = 0, last[QUEUES] = {0};
	for (uint64_t queue = 0; queue < QUEUES; ++queue) {
		for (uint64_t job = 1; job <= jobs->count; ++job) {
			size_t len;
			free(job_bytes(queue, job, stream, jobs->seed, &len));
			expect += len > 0;
		}
	}
	while (at < end) {
		struct head head;
		check((size_t)(end - at) >= sizeof(head));
		memcpy(&head, at, sizeof(head));
		check(head.queue < QUEUES && head.job >= 1 && head.job <= jobs->count);
		size_t len;
		char *mem = job_bytes(head.queue, head.job, stream, jobs->seed, &len);
		check((size_t)(end - at) >= len && memcmp(at, mem, len) == 0);
		free(mem);
		at += len;
		++seen;
		check(!ordered || head.job > last[head.queue]);
		last[head.queue] = head.job;
	}
	check_equal(seen, expect);
}

static void run_many_jobs(const struct output_setup *setup) {
	struct output output;
	output_open(&output, setup);
	struct many_jobs jobs = {.output = &output, .count = 40, .seed = setup->spool_mem + setup->keep_order};
	mutex_init(&jobs.lock, LOCK_OF_TEST);
	for (int i = 0; i < QUEUES; ++i) {
		jobs.queue[i] = output_queue_open(output.writer);
	}
	thread workers[6];
	for (int i = 0; i < 6; ++i) {
		check_equal(thread_start(&workers[i], many_jobs_main, &jobs, 1 << 17), 0);
	}
	for (int i = 0; i < 6; ++i) {
		thread_join(workers[i]); // also when nobody reads: nothing here waits for the reader
	}
	check(atomic_load_relaxed(&output.writer->store->used) <= setup->spool_mem + BLOCK_SIZE);
	for (int i = 0; i < QUEUES; ++i) {
		output_queue_close(output.writer, jobs.queue[i]);
	}
	output_end(&output);
	check_many_jobs(&jobs, &output.out, 0, setup->keep_order);
	check_many_jobs(&jobs, &output.err, 1, setup->keep_order);
	mutex_fini(&jobs.lock);
	output_free(&output);
}

static void test_many_threads(void) {
	run_many_jobs(&(struct output_setup){.spool_mem = 8 << 20});
}

static void test_more_than_memory(void) {
	run_many_jobs(&(struct output_setup){.spool_mem = 100000});
	run_many_jobs(&(struct output_setup){.spool_mem = 0});
}

static void test_keep_order(void) {
	run_many_jobs(&(struct output_setup){.keep_order = true, .spool_mem = 8 << 20});
	run_many_jobs(&(struct output_setup){.keep_order = true, .spool_mem = 300000});
}

static void test_nobody_reads(void) {
	run_many_jobs(&(struct output_setup){.spool_mem = 200000, .reader_waits = true});
	run_many_jobs(&(struct output_setup){.keep_order = true, .spool_mem = 200000, .reader_waits = true});
}

static void test_nonblocking_stdout(void) {
	run_many_jobs(&(struct output_setup){.spool_mem = 1 << 20, .out_flags = O_NONBLOCK});
	run_many_jobs(&(struct output_setup){.spool_mem = 1 << 20, .reader_waits = true, .out_flags = O_NONBLOCK});
}

// ---- order

static void test_streams_apart(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20});
	struct spool *spool = job_open(&output, 1);
	job_writes(spool, 1, "e1");
	job_writes(spool, 0, "o1");
	job_writes(spool, 1, "e2\n");
	job_writes(spool, 0, "o2");
	spool_finish(spool);
	reader_wait(&output.out, 4); // at once, not at the end of the run
	output_end(&output);
	check_got(&output.out, "o1o2");
	check_got(&output.err, "e1e2\n");
	output_free(&output);
}

static void test_out_before_err(void) {
	struct reader both;
	reader_open(&both, true, 0);
	struct writer *writer = writer_create(&(struct writer_config){.spool_dir = "/tmp",
		.out_fd = both.write_fd, .err_fd = both.write_fd});
	for (uint64_t i = 1; i <= 2; ++i) {
		struct spool *spool = spool_open(writer, output_queue_open(writer), i, WRITER_GROUP, NULL, 0);
		job_writes(spool, 1, "err\n");
		job_writes(spool, 0, "out\n");
		spool_finish(spool);
	}
	check_equal(writer_destroy(writer, &(uint64_t){0}), 0);
	reader_end(&both);
	check_got(&both, "out\nerr\nout\nerr\n");
	reader_free(&both);
}

// A hundred thousand held jobs: memory, descriptors and order.
static void hold_many(enum writer_mode mode) {
	enum { JOBS = 100000, SPOOL_MEM = 300000 };
	check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16}) == 0);
	struct output output;
	output_open(&output, &(struct output_setup){.mode = mode, .keep_order = true, .spool_mem = SPOOL_MEM});
	struct spool *first = job_open(&output, 1);
	job_writes(first, 0, "held up\n");
	struct buf expect = BUF_INIT;
	buf_adds(&expect, "held up\nat last\n");
	char text[64];
	for (uint64_t i = 2; i <= JOBS; ++i) {
		if (i % 5 == 0) {
			writer_skip(output.writer, output.queue, i);
			continue;
		}
		struct spool *spool = job_open(&output, i);
		if (i % 7 != 0) {
			snprintf(text, sizeof(text), "job %d\nsays so", (int)i);
			spool_add(spool, 0, text, strlen(text));
			buf_adds(&expect, text);
		}
		spool_finish(spool);
	}
	check(atomic_load_relaxed(&output.writer->store->used) <= SPOOL_MEM + BLOCK_SIZE);
	job_writes(first, 0, "at last\n");
	spool_finish(first);
	output_end(&output);
	check_bytes(&output.out, expect.data, expect.len);
	buf_fini(&expect);
	output_free(&output);
}

static void test_hold_many(void) {
	hold_many(WRITER_GROUP);
}

static void test_hold_many_lines(void) {
	hold_many(WRITER_LINE_BUFFER);
}

static void test_hold_many_big(void) {
	check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16}) == 0);
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	enum { JOBS = 200, SIZE = 150000 };
	char *mem = xmalloc(SIZE);
	for (uint64_t i = JOBS; i >= 1; --i) {
		struct spool *spool = job_open(&output, i);
		noise(mem, SIZE, i);
		job_write(spool, i % 2 == 0, mem, SIZE);
		spool_finish(spool);
	}
	output_end(&output);
	check_equal(output.out.got.len, JOBS / 2 * SIZE);
	for (uint64_t i = 1; i <= JOBS; ++i) {
		noise(mem, SIZE, i);
		check(memcmp((i % 2 ? output.out : output.err).got.data + (i - 1) / 2 * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	output_free(&output);
}

static void test_queues_apart(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	struct output_queue *a = output_queue_open(output.writer), *b = output_queue_open(output.writer);
	struct spool *a1 = spool_open(output.writer, a, 1, WRITER_GROUP, NULL, 0);
	struct spool *a2 = spool_open(output.writer, a, 2, WRITER_GROUP, NULL, 0);
	struct spool *b1 = spool_open(output.writer, b, 1, WRITER_GROUP, NULL, 0);
	struct spool *b3 = spool_open(output.writer, b, 3, WRITER_GROUP, NULL, 0);
	job_writes(a2, 0, "a2\n");
	spool_finish(a2);
	job_writes(b3, 0, "b3\n");
	spool_finish(b3);
	job_writes(b1, 0, "b1\n");
	spool_finish(b1);
	reader_wait(&output.out, 3); // a1 holds up a2, not b1
	writer_skip(output.writer, b, 2);
	reader_wait(&output.out, 6);
	job_writes(a1, 0, "a1\n");
	spool_finish(a1);
	output_queue_close(output.writer, a);
	output_queue_close(output.writer, b);
	output_end(&output);
	check_got(&output.out, "b1\nb3\na1\na2\n");
	output_free(&output);
}

static void test_queues_that_follow(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	struct output_queue *queues[3];
	for (int i = 0; i < 3; ++i) {
		queues[i] = output_queue_open(output.writer);
		if (i > 0) {
			output_queue_follow(output.writer, queues[i], queues[i - 1]);
		}
	}
	for (int i = 2; i > 0; --i) { // the last is over first
		struct spool *spool = spool_open(output.writer, queues[i], 1, i == 1 ? WRITER_LINE_BUFFER : WRITER_GROUP, NULL, 0);
		job_writes(spool, 0, i == 1 ? "b1\n" : "c1\n");
		spool_finish(spool);
		output_queue_close(output.writer, queues[i]);
	}
	struct spool *spool = spool_open(output.writer, queues[0], 1, WRITER_GROUP, NULL, 0);
	job_writes(spool, 0, "a1\n");
	spool_finish(spool);
	reader_wait(&output.out, 3);
	output_queue_close(output.writer, queues[0]);
	output_end(&output);
	check_got(&output.out, "a1\nb1\nc1\n");
	output_free(&output);
}

static void test_end_writes_held(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	struct spool *spool = job_open(&output, 5);
	job_writes(spool, 0, "five");
	spool_finish(spool);
	output.queue = NULL; // it is not closed, and 1 to 4 never came
	output_end(&output);
	check_got(&output.out, "five");
	output_free(&output);
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
static void check_receipts(const struct output_setup *setup) {
	enum { JOBS = 600 };
	struct receipts receipts = {.fd = memfd_create("out", MFD_CLOEXEC), .got = BUF_INIT};
	check(receipts.fd >= 0);
	struct writer *writer = writer_create(&(struct writer_config){.keep_order = setup->keep_order, .spool_mem = setup->spool_mem,
		.spool_dir = "/tmp", .out_fd = receipts.fd, .err_fd = receipts.fd, .failed = never_fails,
		.written = note_receipts, .arg = &receipts});
	struct output_queue *queue = output_queue_open(writer);
	char *line = xmalloc(BLOCK_SIZE), text[32];
	memset(line, 'x', BLOCK_SIZE - 1);
	line[BLOCK_SIZE - 1] = '\n';
	struct buf expect = BUF_INIT;
	size_t total = 0, begun = 0;
	struct spool *spools[8];
	for (uint64_t i = 1; i <= JOBS; ++i) {
		struct spool *spool = spools[begun++] = spool_open(writer, queue, i, setup->mode, NULL, 0);
		size_t len = i % 64 == 1 ? BLOCK_SIZE : 3 + i % 7;
		spool_add(spool, i % 3 == 0, line + BLOCK_SIZE - len, len);
		total += len;
		snprintf(text, sizeof(text), "%zu\n", setup->keep_order ? total : len);
		buf_adds(&expect, text);
		spool_set_receipt(spool, text, strlen(text));
		while (begun == 8 || (begun > 0 && i == JOBS)) {
			spool_finish(spools[--begun]); // the newest first
		}
	}
	output_queue_close(writer, queue);
	check_equal(writer_destroy(writer, &(uint64_t){0}), 0);
	check_equal(receipts.got.len, expect.len);
	check(!setup->keep_order || memcmp(receipts.got.data, expect.data, expect.len) == 0);
	free(line);
	buf_fini(&expect);
	buf_fini(&receipts.got);
	close(receipts.fd);
}

static void test_receipts(void) {
	check_receipts(&(struct output_setup){.spool_mem = 1 << 20});
	check_receipts(&(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	check_receipts(&(struct output_setup){.keep_order = true, .spool_mem = 0}); // held in the file
	check_receipts(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .spool_mem = 1 << 20});
	check_receipts(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 1 << 20});
	check_receipts(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 0});
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
		struct spool *spool = spool_open(writer, NULL, 0, i == 2 ? WRITER_LINE_BUFFER : WRITER_GROUP, NULL, 0);
		spool_add(spool, 0, mem, i == 1 ? 1 << 18 : 1);
		spool_set_receipt(spool, "x", 1);
		spool_finish(spool);
	}
	check_equal(atomic_load_relaxed(&n), 0);
	reader_go(&out);
	check_equal(writer_destroy(writer, &(uint64_t){0}), 0);
	check_equal(atomic_load_relaxed(&n), 3);
	reader_end(&out);
	check_equal(out.got.len, (1 << 18) + 2);
	reader_free(&out);
	free(mem);
}

// ---- steps and attempts

static void test_reset(void) {
	for (int i = 0; i < 4; ++i) {
		bool keep_order = i & 1, is_lines = i & 2;
		struct output output;
		output_open(&output, &(struct output_setup){
			.mode = is_lines ? WRITER_LINE_BUFFER : WRITER_GROUP, .keep_order = keep_order, .spool_mem = 200000,
		});
		struct spool *first = job_open(&output, 1);
		struct spool *spool = job_open(&output, 2);
		char *mem = xcalloc(1, 500000);
		job_write(spool, 0, mem, 500000); // no line
		job_writes(spool, 1, "gone");
		spool_reset(spool);
		check_equal(spool_bytes(spool, 0), 0);
		job_writes(spool, 0, "kept");
		spool_finish(spool);
		spool_finish(first);
		output_end(&output);
		check_got(&output.out, "kept");
		check_equal(output.err.got.len, 0);
		free(mem);
		output_free(&output);
	}
}

// Steps and attempts: what a step keeps, with lines that go on from one to the next, short and long.
static void run_marks(const struct output_setup *setup, bool first_is_slow, size_t size) {
	struct output output;
	output_open(&output, setup);
	struct spool *first = job_open(&output, 1);
	if (!first_is_slow) {
		spool_finish(first);
	}
	struct buf expect = BUF_INIT, step = BUF_INIT;
	struct spool *spool = job_open(&output, 2);
	bool live = setup->mode == WRITER_LINE_BUFFER && !(setup->keep_order && first_is_slow);
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
	output_end(&output);
	check_bytes(&output.out, expect.data, expect.len);
	buf_fini(&expect);
	buf_fini(&step);
	output_free(&output);
}

static void test_marks(void) {
	static const size_t sizes[] = {0, 30000, 70000, 300000};
	for (int i = 0; i < 8; ++i) {
		bool keep_order = i & 2, first_is_slow = i & 4;
		enum writer_mode mode = i & 1 ? WRITER_LINE_BUFFER : WRITER_GROUP;
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); ++k) {
			run_marks(&(struct output_setup){
				.mode = mode, .keep_order = keep_order, .spool_mem = 200000,
			}, first_is_slow, sizes[k]);
		}
	}
}

// A live job that is tried again or goes on with a step: the turn is taken once more.
static void test_marks_live(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20});
	struct spool *spool = job_open(&output, 1);
	spool_set_live(spool);
	char *mem = xmalloc(1000000);
	memset(mem, 'x', 1000000);
	job_write(spool, 0, mem, 1000000);
	reader_wait(&output.out, 1000000);
	spool_suspend(spool);
	struct spool *other = job_open(&output, 2);
	job_writes(other, 0, "other");
	spool_finish(other);
	reader_wait(&output.out, 1000005);
	spool_mark(spool);
	job_write(spool, 0, mem, 1000000);
	spool_finish(spool);
	output_end(&output);
	check_equal(output.out.got.len, 2000005);
	check(memcmp(output.out.got.data + 1000000, "otherx", 6) == 0);
	free(mem);
	output_free(&output);
}

static void test_no_order(void) {
	for (int mode = WRITER_GROUP; mode <= WRITER_LINE_BUFFER; ++mode) {
		struct output output;
		output_open(&output, &(struct output_setup){.mode = (enum writer_mode)mode, .keep_order = true, .spool_mem = 1 << 20});
		struct spool *first = job_open(&output, 1);
		struct spool *second = job_open(&output, 2);
		struct spool *hook = spool_open(output.writer, NULL, 0, output.setup.mode, NULL, 0);
		job_writes(second, 0, "second\n");
		spool_finish(second);
		job_writes(hook, 0, "hook\n");
		spool_finish(hook);
		reader_wait(&output.out, 5);
		spool_finish(first);
		output_end(&output);
		check_got(&output.out, "hook\nsecond\n");
		output_free(&output);
	}
}

// ---- jobs that stream

static void test_live(void) {
	for (int tagged = 0; tagged < 2; ++tagged) {
		struct output output;
		output_open(&output, &(struct output_setup){.spool_mem = 1 << 20});
		struct spool *spool = job_open_as(&output, 1, WRITER_GROUP, tagged ? "T\t" : NULL);
		struct spool *other = job_open(&output, 2);
		spool_set_live(spool);
		enum { SIZE = 3000000 };
		char *mem = xmalloc(SIZE);
		memset(mem, 'x', SIZE);
		job_writes(spool, 1, "err"); // not streamed
		job_write(spool, 0, mem, SIZE);
		reader_wait(&output.out, SIZE);
		job_writes(other, 0, "other");
		spool_finish(other);
		job_writes(spool, 0, "end");
		check_equal(spool_bytes(spool, 0), SIZE + 3);
		spool_finish(spool);
		output_end(&output);
		size_t tag_len = tagged ? 2 : 0;
		check_equal(output.out.got.len, tag_len + SIZE + 8);
		check(memcmp(output.out.got.data, "T\t", tag_len) == 0);
		check(memcmp(output.out.got.data + tag_len, mem, SIZE) == 0);
		check(memcmp(output.out.got.data + tag_len + SIZE, "endother", 8) == 0);
		check_equal(output.err.got.len, tag_len + 3);
		free(mem);
		output_free(&output);
	}
}

// The end of a live job's pipe is seen as such while the reader's pipe is full.
static void test_live_end(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20, .reader_waits = true});
	struct spool *spool = job_open(&output, 1);
	spool_set_live(spool);
	char *mem = xcalloc(1, 65536);
	int capacity = fcntl(output.out.write_fd, F_GETPIPE_SZ);
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
	reader_go(&output.out);
	spool_finish(spool);
	output_end(&output);
	check_equal(output.out.got.len, capacity);
	free(mem);
	output_free(&output);
}

// ---- what it costs

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

static void test_large(void) {
	int before = count_fds();
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20, .reader_waits = true});
	enum { SIZE = 20000000 };
	char *mem = xmalloc(SIZE);
	noise(mem, SIZE, 1);
	for (uint64_t i = 1; i <= 3; ++i) {
		struct spool *spool = job_open(&output, i);
		job_write(spool, 0, mem, SIZE);
		check(atomic_load_relaxed(&output.writer->store->used) <= 1 << 20);
		spool_finish(spool);
	}
	output_end(&output);
	check_equal(output.out.got.len, 3 * SIZE);
	for (int i = 0; i < 3; ++i) {
		check(memcmp(output.out.got.data + i * SIZE, mem, SIZE) == 0);
	}
	free(mem);
	output_free(&output);
	int kept = count_fds() - before; // once for all, for base/write_limit.h; the other descriptors come with each writer
	check(kept == 0 || kept == 1);
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20, .reader_waits = true});
	output_end(&output);
	output_free(&output);
	check_equal(count_fds() - before, kept);
}

static void test_no_temporary_file(void) {
	char dir[] = "/tmp/fairpar-writer.XXXXXX";
	check(mkdtemp(dir));
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 0, .spool_dir = dir});
	struct spool *spool = job_open(&output, 1);
	char *mem = xcalloc(1, 200000);
	job_write(spool, 0, mem, 200000);
	check(scratch_units(output.writer->store->file) > 0);
	check(rmdir(dir) == 0); // nothing has a name in it
	spool_finish(spool);
	output_end(&output);
	output_free(&output);
	free(mem);
}

#ifdef FAIRPAR_FAULTS

static void run_many_jobs_held(void) {
	run_many_jobs(&(struct output_setup){.keep_order = true, .spool_mem = 300000});
}

static void test_spool_faults(void) {
	with_each_spool_fault(run_many_jobs_held);
}

#else

static void test_spool_faults(void) {
}

#endif

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a job's stdout and stderr go to their own descriptor, when it ends", test_streams_apart),
		TEST("a job's stdout stands before its stderr", test_out_before_err),
		TEST("outputs of 1 B to 1 MB from many threads are whole", test_many_threads),
		TEST("outputs that do not fit into memory are whole", test_more_than_memory),
		TEST("keep_order holds in each queue", test_keep_order),
		TEST("jobs go on while nobody reads, and memory is bounded", test_nobody_reads),
		TEST("a non-blocking stdout loses nothing", test_nonblocking_stdout),
		TEST("a hundred thousand jobs are held with 16 descriptors", test_hold_many),
		TEST("a hundred thousand jobs are held line by line with 16 descriptors", test_hold_many_lines),
		TEST("long outputs are held with 16 descriptors", test_hold_many_big),
		TEST("a receipt comes when the output of its job is written", test_receipts),
		TEST("a receipt waits for a slow reader", test_receipt_of_slow_reader),
		TEST("queues do not hold each other up", test_queues_apart),
		TEST("a queue is written behind the one that it follows", test_queues_that_follow),
		TEST("the end of the run writes what is held behind a gap", test_end_writes_held),
		TEST("a reset throws away what the attempt wrote", test_reset),
		TEST("a reset goes back to the mark and no further", test_marks),
		TEST("a live job gives up the turn between its steps", test_marks_live),
		TEST("a spool without a place in the order waits for nobody", test_no_order),
		TEST("a live job streams its stdout and others wait", test_live),
		TEST("a live job's end is seen while nobody reads", test_live_end),
		TEST("20 MB outputs take little memory and leave no descriptor", test_large),
		TEST("the spool file has no name", test_no_temporary_file),
		TEST("no failure of the spool file loses anything while the job before runs", test_spool_faults),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
