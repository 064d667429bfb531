// What goes to stdout and stderr: tags, all byte values, and descriptors that take no more.

#include "output_fixture.h"

#include <sys/socket.h>

// ---- tags

#define PIECES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_tagged(enum writer_mode mode, const char *tag, const char *const *pieces, const char *expect) {
	struct output output;
	output_open(&output, &(struct output_setup){.mode = mode, .spool_mem = 1 << 20});
	struct spool *spool = job_open_as(&output, 1, mode, tag);
	for (; *pieces; ++pieces) {
		job_writes(spool, 0, *pieces);
	}
	spool_finish(spool);
	output_end(&output);
	check_string(buf_str(&output.out.got), expect);
	output_free(&output);
}

// Expected: what GNU parallel 20221122 --tag wrote for the same bytes.
static void test_tags(void) {
	for (enum writer_mode mode = WRITER_GROUP; mode <= WRITER_LINE_BUFFER; ++mode) {
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
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 100000});
	struct buf tag = BUF_INIT, expect = BUF_INIT, text = BUF_INIT;
	for (int i = 0; i < 100000; ++i) {
		buf_addc(&tag, 't');
	}
	struct spool *first = job_open(&output, 1);
	struct spool *second = spool_open(output.writer, output.queue, 2, output.setup.mode, tag.data, tag.len);
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
	output_end(&output);
	check_bytes(&output.out, expect.data, expect.len);
	buf_fini(&tag);
	buf_fini(&text);
	buf_fini(&expect);
	output_free(&output);
}

static void test_tags_both_streams(void) {
	struct output output;
	output_open(&output, &(struct output_setup){.keep_order = true, .spool_mem = 1 << 20});
	struct spool *first = job_open_as(&output, 1, WRITER_GROUP, "1\t");
	struct spool *second = job_open_as(&output, 2, WRITER_GROUP, "2\t");
	job_writes(second, 0, "o\n");
	job_writes(second, 1, "e\n");
	spool_finish(second); // held in a pack
	job_writes(first, 1, "e");
	job_writes(first, 0, "o\n");
	spool_finish(first);
	output_end(&output);
	check_got(&output.out, "1\to\n2\to\n");
	check_got(&output.err, "1\te2\te\n");
	output_free(&output);
}

// ---- bytes

static void test_bytes_of_all_values(void) {
	char all[256 * 300];
	for (size_t i = 0; i < sizeof(all); ++i) {
		all[i] = (char)(i + i / 256);
	}
	for (int mode = WRITER_GROUP; mode <= WRITER_LINE_BUFFER; ++mode) {
		struct output output;
		output_open(&output, &(struct output_setup){.mode = (enum writer_mode)mode, .spool_mem = 1 << 20});
		struct spool *spool = job_open(&output, 1);
		job_write(spool, 0, all, sizeof(all));
		job_write(spool, 1, all, sizeof(all));
		spool_finish(spool);
		output_end(&output);
		check(output.out.got.len == sizeof(all) && memcmp(output.out.got.data, all, sizeof(all)) == 0);
		check(output.err.got.len == sizeof(all) && memcmp(output.err.got.data, all, sizeof(all)) == 0);
		output_free(&output);
	}
}

// ---- descriptors that fail

static void test_full_stdout(void) {
	struct reader err;
	reader_open(&err, true, 0);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	check(full >= 0);
	struct failure failure = {0};
	struct writer *writer = writer_create(&(struct writer_config){.spool_dir = "/tmp", .out_fd = full,
		.err_fd = err.write_fd, .failed = note_failure, .arg = &failure});
	struct output_queue *queue = output_queue_open(writer);
	for (uint64_t i = 1; i <= 3; ++i) {
		struct spool *spool = spool_open(writer, queue, i, WRITER_GROUP, NULL, 0);
		job_writes(spool, 0, "out");
		job_writes(spool, 1, "err");
		spool_finish(spool);
	}
	check_equal(failure.calls, 1);
	check_equal(failure.stream, 0);
	check_equal(failure.error, ENOSPC);
	check_equal(writer_destroy(writer, &(uint64_t){0}), -1);
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
		struct output_queue *queue = output_queue_open(writer);
		char *mem = xcalloc(1, 1000000);
		for (uint64_t i = 1; i <= 2; ++i) {
			struct spool *spool = spool_open(writer, queue, i, WRITER_GROUP, NULL, 0);
			if (live) {
				spool_set_live(spool);
			}
			job_write(spool, 0, mem, 1000000);
			job_writes(spool, 1, "err");
			spool_finish(spool);
		}
		check_equal(writer_destroy(writer, &(uint64_t){0}), -1);
		check_equal(failure.calls, 2); // both streams go there
		check_equal(failure.error, EPIPE);
		free(mem);
		close(ends[1]);
	}
}

// Every packet is what one write has sent.
static void check_packets(int fd) {
	char packet[1 << 17];
	for (ssize_t n; (n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0;) {
		check(packet[n - 1] == '\n');
	}
}

static void put_lines(const char *tag, size_t piece) {
	int ends[2];
	check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	struct streams streams;
	struct tag_state state = {.in_line = false};
	streams_init(&streams, ends[1], ends[1], NULL, NULL);
	struct buf text = BUF_INIT;
	for (int i = 0; i < 10000; ++i) {
		buf_printf(&text, "line %d of some length\n", i);
	}
	for (size_t at = 0, n; at < text.len; at += n) {
		size_t left = text.len - at, len = left < piece ? left : piece;
		n = tag ? streams_put_tagged(&streams, 0, tag, strlen(tag), &state, text.data + at, len, true) : streams_put(&streams, 0, text.data + at, len, true);
		check_packets(ends[0]);
	}
	check(streams_flush(&streams, true));
	check_packets(ends[0]);
	streams_fini(&streams);
	buf_fini(&text);
	close(ends[0]);
	close(ends[1]);
}

static void test_whole_lines(void) {
	static const size_t pieces[] = {7, 1000, 8000, 10000, 65536};
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); ++i) {
		put_lines(NULL, pieces[i]);
		put_lines("tag\t", pieces[i]);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("tags are those of GNU parallel", test_tags),
		TEST("tags and lines may be longer than any buffer", test_tags_large),
		TEST("both streams are tagged, held or not", test_tags_both_streams),
		TEST("all byte values pass", test_bytes_of_all_values),
		TEST("a full stdout is reported once, stderr goes on", test_full_stdout),
		TEST("each write ends where a line ends, so that no message of fairpar can come into a line", test_whole_lines),
		TEST("a closed reader is EPIPE, reported once for each stream", test_closed_stdout),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
