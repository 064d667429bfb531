// Output line by line, beside other jobs' lines and groups: lines are whole and in order, whatever the reader and the disk do.

#include "output_fixture.h"

static void test_line_order(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.mode = WRITER_LINE_BUFFER, .spool_mem = 1 << 20});
	struct spool *a = job_open(&output, 1), *b = job_open(&output, 2);
	job_writes(a, 0, "a1\na");
	reader_wait(&output.out, 3);
	job_writes(b, 0, "b1\nb2");
	job_writes(a, 1, "e");
	job_writes(a, 0, "2\na3");
	reader_wait(&output.out, 9);
	spool_finish(a);
	spool_finish(b);
	output_end(&output);
	check_got(&output.out, "a1\nb1\na2\na3b2"); // as GNU parallel: no newline is added
	check_got(&output.err, "e");
	output_free(&output);
}

static void test_line_keep_order(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 1 << 20});
	struct spool *spool[5];
	for (uint64_t i = 1; i <= 4; ++i) {
		spool[i] = job_open(&output, i);
	}
	job_writes(spool[3], 0, "3a\n3b");
	job_writes(spool[2], 0, "2\n");
	spool_finish(spool[2]);
	job_writes(spool[1], 0, "1a\n1b");
	reader_wait(&output.out, 3); // the oldest is live
	job_writes(spool[4], 0, "4\n");
	spool_finish(spool[4]);
	spool_finish(spool[1]);
	reader_wait(&output.out, 10); // and so is the next one, with the lines that it has so far
	job_writes(spool[3], 1, "3e\n");
	reader_wait(&output.err, 3);
	job_writes(spool[3], 0, "c\n");
	reader_wait(&output.out, 14);
	spool_finish(spool[3]);
	output_end(&output);
	check_got(&output.out, "1a\n1b2\n3a\n3bc\n4\n");
	output_free(&output);
}

// A held job whose incomplete line is longer than any buffer: the lines before it come when its turn comes.
static void test_line_long(void) {
	for (int i = 0; i < 2; ++i) {
		struct output output;
		output_open(&output, &(struct output_setup){
			.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = i == 0 ? 1 << 20 : 0,
		});
		struct spool *first = job_open(&output, 1), *second = job_open(&output, 2);
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
		reader_wait(&output.out, shown);
		job_write(second, 0, text.data + half, whole - half);
		reader_wait(&output.out, whole);
		job_write(second, 0, text.data, SIZE); // no newline: it comes with the end
		buf_reserve(&text, SIZE);
		buf_add(&text, text.data, SIZE);
		spool_finish(second);
		reader_wait(&output.out, text.len);
		output_end(&output);
		check_bytes(&output.out, text.data, text.len);
		buf_fini(&text);
		output_free(&output);
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

static void run_lines(const struct output_setup *setup) {
	struct output output;
	output_open(&output, setup);
	struct liner liners[LINE_WORKERS];
	thread threads[LINE_WORKERS];
	for (int i = 0; i < LINE_WORKERS; ++i) {
		struct spool *spool = job_open(&output, (uint64_t)i + 1);
		liners[i] = (struct liner){.spool = spool, .number = i};
		check_equal(thread_start(&threads[i], liner_main, &liners[i], 1 << 17), 0);
	}
	for (int i = 0; i < LINE_WORKERS; ++i) {
		thread_join(threads[i]);
	}
	output_end(&output);
	int next[LINE_WORKERS] = {0};
	const char *at = output.out.got.data, *end = at + output.out.got.len;
	int last = 0;
	while (at < end) {
		int writer = at[1] - '0';
		check(at[0] == '[' && writer >= 0 && writer < LINE_WORKERS);
		check(!setup->keep_order || writer >= last);
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
	output_free(&output);
}

static void test_lines_whole(void) {
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .spool_mem = 1 << 20});
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .spool_mem = 70000});
}

static void test_lines_blocked(void) {
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .spool_mem = 1 << 20, .reader_waits = true});
}

static void test_lines_ordered(void) {
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 1 << 20});
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 70000});
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 70000, .reader_waits = true});
}

// ---- both modes in one run

static void test_modes_in_order(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	struct spool *spool[5];
	for (uint64_t i = 1; i <= 4; ++i) {
		spool[i] = job_open_as(&output, i, i % 2 ? WRITER_GROUP : WRITER_LINE_BUFFER, NULL);
	}
	job_writes(spool[2], 0, "2a\n2b");
	job_writes(spool[4], 0, "4a\n");
	job_writes(spool[3], 0, "3a\n");
	spool_finish(spool[3]);
	job_writes(spool[1], 0, "1a\n");
	job_writes(spool[1], 0, "1b\n"); // whole, when it has ended, although it is the oldest
	spool_finish(spool[1]);
	reader_wait(&output.out, 9); // with the lines of the next one, which is live from here on
	job_writes(spool[2], 0, "c\n");
	reader_wait(&output.out, 13);
	job_writes(spool[2], 0, "2d\n");
	spool_finish(spool[2]);
	reader_wait(&output.out, 22); // the group behind it, and the line behind that
	spool_finish(spool[4]);
	output_end(&output);
	check_got(&output.out, "1a\n1b\n2a\n2bc\n2d\n3a\n4a\n");
	output_free(&output);
}

static void test_modes_as_they_come(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20});
	struct spool *group = job_open_as(&output, 1, WRITER_GROUP, NULL);
	struct spool *lines = job_open_as(&output, 2, WRITER_LINE_BUFFER, NULL);
	job_writes(group, 0, "g1\n");
	job_writes(lines, 0, "l1\nl");
	reader_wait(&output.out, 3);
	job_writes(group, 0, "g2\n");
	spool_finish(group);
	reader_wait(&output.out, 9);
	job_writes(lines, 0, "2\n");
	reader_wait(&output.out, 12);
	spool_finish(lines);
	output_end(&output);
	check_got(&output.out, "l1\ng1\ng2\nl2\n");
	output_free(&output);
}

// A live job in WRITER_GROUP streams, and what comes of jobs in WRITER_LINE_BUFFER meanwhile waits for its end.
static void test_modes_live(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.spool_mem = 1 << 20});
	struct spool *group = job_open_as(&output, 1, WRITER_GROUP, NULL);
	struct spool *lines = job_open_as(&output, 2, WRITER_LINE_BUFFER, NULL);
	spool_set_live(group);
	spool_set_live(lines); // means nothing
	char mem[100000];
	memset(mem, 'g', sizeof(mem));
	job_write(group, 0, mem, sizeof(mem));
	reader_wait(&output.out, sizeof(mem));
	job_writes(lines, 0, "l1\nl");
	job_writes(group, 0, "\n");
	spool_finish(group);
	reader_wait(&output.out, sizeof(mem) + 4);
	job_writes(lines, 0, "2\n");
	reader_wait(&output.out, sizeof(mem) + 7);
	spool_finish(lines);
	output_end(&output);
	check(memcmp(output.out.got.data + sizeof(mem), "\nl1\nl2\n", 7) == 0);
	output_free(&output);
}

enum { MIXERS = 8, MIX_LINES = 100 };

struct mixer {
	struct spool *spool;
	enum writer_mode mode;
	int number, queue;   // queue -1: no place in an order
	char tag[16];
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
		group = mixer->mode == WRITER_GROUP && next[number] < MIX_LINES ? number : -1;
		if (ordered && mixer->queue >= 0) {
			check(number >= last[mixer->queue]);
			last[mixer->queue] = number;
		}
	}
	for (int i = 0; i < MIXERS; ++i) {
		check_equal(next[i], MIX_LINES);
	}
}

static void run_mix(const struct output_setup *setup, bool tagged) {
	static const int queues[MIXERS] = {0, 0, 0, 1, 1, 1, -1, -1};
	struct output output;
	output_open(&output, setup);
	struct output_queue *queue[2] = {output_queue_open(output.writer), output_queue_open(output.writer)};
	uint64_t order[2] = {0, 0};
	struct mixer mixers[MIXERS];
	thread threads[MIXERS];
	for (int i = 0; i < MIXERS; ++i) {
		struct mixer *mixer = &mixers[i];
		*mixer = (struct mixer){.mode = i % 2 ? WRITER_GROUP : WRITER_LINE_BUFFER, .number = i, .queue = queues[i]};
		snprintf(mixer->tag, sizeof(mixer->tag), "%d\t", i);
		bool has_place = queues[i] >= 0;
		mixer->spool = spool_open(output.writer, has_place ? queue[queues[i]] : NULL, has_place ? ++order[queues[i]] : 0,
		                          mixer->mode, mixer->tag, tagged ? strlen(mixer->tag) : 0);
	}
	for (int i = 0; i < MIXERS; ++i) {
		check_equal(thread_start(&threads[i], mixer_main, &mixers[i], 1 << 17), 0);
	}
	for (int i = 0; i < MIXERS; ++i) {
		thread_join(threads[i]); // also when nobody reads
	}
	output_queue_close(output.writer, queue[0]);
	output_queue_close(output.writer, queue[1]);
	output_end(&output);
	check_mix(mixers, &output.out, setup->keep_order, tagged);
	check_mix(mixers, &output.err, setup->keep_order, tagged);
	output_free(&output);
}

static void test_modes_mixed(void) {
	for (int i = 0; i < 8; ++i) {
		bool keep_order = i & 1, tagged = i & 2;
		run_mix(&(struct output_setup){.keep_order = keep_order, .spool_mem = i & 4 ? 1 << 20 : 70000}, tagged);
	}
}

static void test_modes_blocked(void) {
	for (int i = 0; i < 4; ++i) {
		bool keep_order = i & 1, tagged = i & 2;
		run_mix(&(struct output_setup){.keep_order = keep_order, .spool_mem = 200000, .reader_waits = true}, tagged);
	}
}

// ---- jobs of both modes with steps, attempts, tags and pauses, from many threads

enum { STEPPED_WORKERS = 6, STEPPED_JOBS = 40, STEPPED_QUEUES = 3 }; // the last queue is none

struct stepped_run {
	struct output *output;
	struct output_queue *queue[STEPPED_QUEUES];
	mutex lock;
	uint64_t jobs;             // begun
	uint64_t next[STEPPED_QUEUES];
	uint64_t seed;
	bool rests;                // attempts fail, and jobs wait between steps
};

static enum writer_mode stepped_mode(uint64_t job) {
	return job % 3 ? WRITER_LINE_BUFFER : WRITER_GROUP;
}

// The bytes of an attempt: lines "[job queue order K|F number length]xxx…", K if they are to stay; a failed one ends
// within a line.
static void stepped_text(const struct stepped_run *run, uint64_t job, uint64_t order, int step, bool fails, struct buf *text) {
	uint64_t state = run->seed * 1000003 + job * 1009 + (uint64_t)step * 17 + fails;
	next_random(&state);
	int lines = (int)(next_random(&state) % 8);
	for (int i = 0; i < lines; ++i) {
		size_t len = (size_t)(next_random(&state) % (UINT64_C(1) << next_random(&state) % 18));
		buf_printf(text, "[%d %d %d %c %d %zu]", (int)job, (int)(job % STEPPED_QUEUES), (int)order, fails ? 'F' : 'K',
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

static void stepped_job(struct stepped_run *run, struct spool *spool, uint64_t job, uint64_t order) {
	uint64_t state = job;
	struct buf text = BUF_INIT;
	for (int step = 0; step < 3; ++step) {
		for (int attempt = run->rests && job % 4 == 1 ? 0 : 1; attempt < 2; ++attempt) {
			buf_reset(&text);
			stepped_text(run, job, order, step, attempt == 0, &text);
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
		if (run->rests && job % 2 == 0) {
			spool_suspend(spool);
		}
		spool_mark(spool);
	}
	buf_fini(&text);
}

static void *stepped_main(void *arg) {
	struct stepped_run *run = arg;
	for (;;) {
		mutex_lock(&run->lock);
		uint64_t job = ++run->jobs;
		uint64_t queue = job % STEPPED_QUEUES, order = ++run->next[queue];
		struct spool *spool = NULL;
		if (job <= STEPPED_JOBS && job % 10 == 7 && run->queue[queue]) {
			writer_skip(run->output->writer, run->queue[queue], order);
		} else if (job <= STEPPED_JOBS) {
			spool = spool_open(run->output->writer, run->queue[queue], order, stepped_mode(job), "T", job % 5 == 0);
		}
		mutex_unlock(&run->lock);
		if (job > STEPPED_JOBS) {
			return NULL;
		}
		if (spool) {
			stepped_job(run, spool, job, order);
			spool_finish(spool);
		}
	}
}

// Checks that all lines that are to stay are there once, in order and whole, and what may stand between them.
static void check_steps(const struct stepped_run *run, const struct reader *reader, bool ordered) {
	const char *at = reader->got.data, *end = at + reader->got.len;
	int last[STEPPED_JOBS + 1], last_order[STEPPED_QUEUES] = {0}, lines = 0, group = 0, order_of[STEPPED_JOBS + 1] = {0};
	bool left[STEPPED_JOBS + 1] = {false};
	memset(last, -1, sizeof(last));
	while (at < end) {
		int job, queue, order, number, head;
		size_t len;
		char kind;
		bool tagged = *at == 'T';
		check(sscanf(at + tagged, "[%d %d %d %c %d %zu]%n", &job, &queue, &order, &kind, &number, &len, &head) == 6);
		at += tagged + head;
		check((size_t)(end - at) > len && strspn(at, "x") == len && at[len] == '\n');
		at += len + 1;
		check(tagged == (job % 5 == 0));
		if (group != job && group != 0) {
			left[group] = true;
		}
		group = stepped_mode((uint64_t)job) == WRITER_GROUP ? job : 0;
		check(!left[job]); // a group is in one piece
		check(!ordered || queue == STEPPED_QUEUES - 1 || order >= last_order[queue]);
		last_order[queue] = order;
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
	for (int job = 1; job <= STEPPED_JOBS; ++job) {
		for (int step = 0; order_of[job] > 0 && step < 3; ++step) {
			stepped_text(run, (uint64_t)job, (uint64_t)order_of[job], step, false, &text);
		}
	}
	for (size_t i = 0; i < text.len; ++i) {
		expect += text.data[i] == '\n';
	}
	buf_fini(&text);
	check_equal(lines, expect);
}

static void run_steps(const struct output_setup *setup, bool rests) {
	struct output output;
	output_open(&output, setup);
	struct stepped_run run = {.output = &output, .seed = setup->spool_mem, .rests = rests};
	mutex_init(&run.lock, LOCK_OF_TEST);
	for (int i = 0; i < STEPPED_QUEUES - 1; ++i) {
		run.queue[i] = output_queue_open(output.writer);
	}
	thread threads[STEPPED_WORKERS];
	for (int i = 0; i < STEPPED_WORKERS; ++i) {
		check_equal(thread_start(&threads[i], stepped_main, &run, 1 << 17), 0);
	}
	for (int i = 0; i < STEPPED_WORKERS; ++i) {
		thread_join(threads[i]);
	}
	for (int i = 0; i < STEPPED_QUEUES - 1; ++i) {
		output_queue_close(output.writer, run.queue[i]);
	}
	output_end(&output);
	check_steps(&run, &output.out, setup->keep_order);
	check_steps(&run, &output.err, setup->keep_order);
	mutex_fini(&run.lock);
	output_free(&output);
}

static void test_steps_and_attempts(void) {
	for (int i = 0; i < 16; ++i) {
		bool keep_order = i & 1, rests = i & 2, reader_waits = !(i & 8);
		size_t spool_mem = i & 4 ? 1 << 20 : 100000;
		run_steps(&(struct output_setup){
			.keep_order = keep_order, .spool_mem = spool_mem, .reader_waits = reader_waits,
		}, rests);
	}
}

// A job whose stdout is read by somebody else has a spool for its stderr only.
static void test_stderr_only(void) {
	for (int i = 0; i < 8; ++i) {
		bool is_lines = i & 1, keep_order = i & 2, is_long = i & 4;
		struct output output;
		output_open(&output, &(struct output_setup){
			.mode = is_lines ? WRITER_LINE_BUFFER : WRITER_GROUP, .keep_order = keep_order, .spool_mem = 1 << 20,
		});
		struct spool *first = job_open(&output, 1), *second = job_open(&output, 2);
		spool_suspend(first);
		check(!first->block); // nothing is held for a job that has written nothing
		enum { SIZE = 300000 };
		char *mem = xmalloc(SIZE);
		memset(mem, 'e', SIZE);
		mem[SIZE - 1] = '\n';
		size_t size = is_long ? SIZE : 10;
		spool_add(second, 1, mem + SIZE - size, size / 2);
		spool_mark(second);
		spool_add(second, 1, "gone", 4);
		spool_reset(second);
		spool_add(second, 1, mem + SIZE - size + size / 2, size - size / 2);
		check_equal(spool_bytes(second, 0), 0);
		check_equal(spool_bytes(second, 1), size);
		spool_finish(second);
		spool_finish(first);
		output_end(&output);
		check_equal(output.out.got.len, 0);
		check_equal(output.err.got.len, size);
		check(memcmp(output.err.got.data, mem + SIZE - size, size) == 0);
		free(mem);
		output_free(&output);
	}
}

#ifdef FAIRPAR_FAULTS

static void run_lines_that_are_held(void) {
	run_lines(&(struct output_setup){.mode = WRITER_LINE_BUFFER, .keep_order = true, .spool_mem = 100000});
}

static void run_steps_that_are_held(void) {
	run_steps(&(struct output_setup){.keep_order = true, .spool_mem = 100000}, /* rests */ false);
	run_steps(&(struct output_setup){.spool_mem = 100000}, /* rests */ false);
}

static void test_spool_faults(void) {
	with_each_spool_fault(run_lines_that_are_held);
	with_each_spool_fault(run_steps_that_are_held);
}

#else

static void test_spool_faults(void) {
}

#endif

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
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
		TEST("jobs of both modes with steps and attempts are whole", test_steps_and_attempts),
		TEST("a job may have stderr only", test_stderr_only),
		TEST("no failure of the spool file loses anything while the job before runs", test_spool_faults),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
