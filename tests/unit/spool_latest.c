// The last line of a job's output: looked at while it runs, and all that WRITER_LATEST writes of it.

#include "base/buf.h"
#include "output/writer.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>

static struct writer *writer;
static struct output_queue *queue;
static FILE *out;

static struct spool *open_spool(enum writer_mode mode, bool keep_order, const char *tag) {
	out = tmpfile();
	check(out != NULL);
	writer = writer_create(&(struct writer_config){
		.keep_order = keep_order, .spool_mem = 1 << 20, .spool_dir = "/tmp", .out_fd = fileno(out), .err_fd = fileno(out),
	});
	queue = output_queue_open(writer);
	return spool_open(writer, queue, 1, mode, tag, tag ? strlen(tag) : 0);
}

// As a child writes: through a pipe.
static void job_writes(struct spool *spool, int stream, const char *text) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	check(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
	close(ends[1]);
	while (spool_readable(spool, stream, ends[0]) > 0) {
	}
	close(ends[0]);
}

static void check_last(struct spool *spool, const char *expected) {
	char text[80];
	size_t len = spool_last_line(spool, false, text, sizeof(text) - 1);
	text[len] = '\0';
	check_string(text, expected);
}

static void check_written(struct spool *spool, const char *expected) {
	char text[200000];
	spool_finish(spool);
	output_queue_close(writer, queue);
	check(writer_destroy(writer, &(uint64_t){0}) == 0);
	rewind(out);
	size_t len = fread(text, 1, sizeof(text) - 1, out);
	text[len] = '\0';
	check_string(text, expected);
	fclose(out);
}

static void look(enum writer_mode mode, bool keep_order, const char *written) {
	struct spool *spool = open_spool(mode, keep_order, NULL);
	check_last(spool, "");
	job_writes(spool, 0, "one\ntwo\n");
	check_last(spool, "two");
	job_writes(spool, 0, "thr");
	check_last(spool, "thr");
	job_writes(spool, 0, "ee\n");
	job_writes(spool, 1, "error\n\n");
	check_last(spool, "error");
	job_writes(spool, 0, "10%\r20%\r");
	check_last(spool, "20%");
	char text[4];
	check_equal(spool_last_line(spool, false, text, 2), 2);
	check(memcmp(text, "20", 2) == 0);
	check_written(spool, written);
}

static void test_look(void) {
	look(WRITER_GROUP, false, "one\ntwo\nthree\n10%\r20%\rerror\n\n");
	look(WRITER_GROUP, true, "one\ntwo\nthree\n10%\r20%\rerror\n\n");
	look(WRITER_LINE_BUFFER, false, "one\ntwo\nthree\nerror\n\n10%\r20%\r");
	look(WRITER_LINE_BUFFER, true, "one\ntwo\nthree\nerror\n\n10%\r20%\r");
	look(WRITER_LATEST, false, "20%\n");
}

static void test_latest(void) {
	static const struct { const char *out, *err, *last; } cases[] = {
		{"a\nb\n", "", "b\n"}, {"a\nb", "", "b\n"}, {"a\n\n\n", "", "a\n"}, {"", "", ""}, {"\n", "", ""}, {"a\n", "e\nf", "f\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		struct spool *spool = open_spool(WRITER_LATEST, false, NULL);
		job_writes(spool, 0, cases[i].out);
		if (cases[i].err[0]) {
			job_writes(spool, 1, cases[i].err);
		}
		check_written(spool, cases[i].last);
	}
	struct spool *spool = open_spool(WRITER_LATEST, false, "tag\t");
	job_writes(spool, 0, "a\nb\n");
	char text[20];
	size_t len = spool_last_line(spool, true, text, sizeof(text));
	check(len == 5 && memcmp(text, "tag\tb", 5) == 0);
	check_written(spool, "tag\tb\n");
}

static void test_again(void) {
	struct spool *spool = open_spool(WRITER_LATEST, false, NULL);
	job_writes(spool, 0, "first try\nhalf");
	spool_suspend(spool);
	spool_reset(spool);
	check_last(spool, "");
	job_writes(spool, 0, "second");
	check_equal(spool_bytes(spool, 0), 6);
	check_written(spool, "second\n");
}

static void test_much(void) {
	struct spool *spool = open_spool(WRITER_LATEST, false, NULL);
	struct buf expected = BUF_INIT;
	char line[4000];
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 1000; ++i) {
		job_writes(spool, 0, line); // a line that does not end
	}
	job_writes(spool, 1, "\n");
	job_writes(spool, 0, "\nb\n");
	check_last(spool, "b");
	for (int i = 0; i < 1000; ++i) {
		job_writes(spool, 0, line);
		job_writes(spool, 0, "\n");
	}
	buf_adds(&expected, line);
	buf_addc(&expected, '\n');
	check_written(spool, buf_str(&expected));
	buf_fini(&expected);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the last line can be looked at while the job writes", test_look),
		TEST("WRITER_LATEST writes the last line of either stream and nothing else", test_latest),
		TEST("the next attempt begins anew", test_again),
		TEST("lines without end and many of them need little memory", test_much),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
