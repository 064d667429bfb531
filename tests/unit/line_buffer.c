// Tests of base/line_buffer.h: lines out of pieces, however they are cut.

#include "base/line_buffer.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "test.h"

// Appends all lines that are there as <line>, bad ones as !line!.
static void take(struct line_buffer *buffer, struct buf *out) {
	struct line line;
	while (line_buffer_next(buffer, &line)) {
		check(line.text[line.len] == '\0' && strlen(line.text) == line.len);
		buf_addc(out, line.bad ? '!' : '<');
		buf_add(out, line.text, line.len);
		buf_addc(out, line.bad ? '!' : '>');
	}
}

#define PIECE(text) (text), sizeof(text) - 1

static void test_pieces(void) {
	static const char text[] = "one\n\n  three \nfo\0ur\nfive\r\n\nlast";
	for (size_t first = 0; first < sizeof(text); ++first) {
		for (size_t second = first; second < sizeof(text); ++second) {
			struct line_buffer buffer = LINE_BUFFER_INIT('\n');
			struct buf out = BUF_INIT;
			line_buffer_add(&buffer, text, first);
			take(&buffer, &out);
			line_buffer_add(&buffer, text + first, second - first);
			take(&buffer, &out);
			line_buffer_add(&buffer, text + second, sizeof(text) - 1 - second);
			take(&buffer, &out);
			check(!strstr(out.data, "last"));
			buffer.ended = true;
			take(&buffer, &out);
			check_string(buf_str(&out), "<one><><  three >!fo!<five\r><><last>");
			buf_fini(&out);
			line_buffer_fini(&buffer);
		}
	}
}

// Several lines at once, whatever room they have, are the lines that come one by one.
static void test_lines(void) {
	for (size_t most = 1; most < 200; ++most) {
		struct line_buffer one = LINE_BUFFER_INIT('\n'), many = LINE_BUFFER_INIT('\n');
		struct line line, lines;
		size_t at_once = 0;
		for (size_t i = 0; i < 60; ++i) {
			for (size_t k = 0; k < 400; ++k) {
				const char *byte = (i * 400 + k) * 7919 % 5 == 0 ? "\n" : i == 30 && k == 7 ? "" : "x";
				line_buffer_add(&one, byte, 1);
				line_buffer_add(&many, byte, 1);
			}
			while (line_buffer_next_lines(&many, most, &lines)) {
				uint32_t n = lines.n > 0 ? lines.n : 1;
				check(lines.n == 0 || lines.len < most);
				at_once = n > at_once ? n : at_once;
				const char *at = lines.text;
				for (uint32_t k = 0; k < n; ++k) {
					check(line_buffer_next(&one, &line));
					check_string(at, line.text);
					check(line.bad == lines.bad);
					at += line.len + 1;
				}
				check_equal((size_t)(at - lines.text), lines.len + 1);
			}
			check(!line_buffer_next(&one, &line));
		}
		check(most < 100 || at_once > 1);
		line_buffer_fini(&one);
		line_buffer_fini(&many);
	}
}

static void test_bytes(void) {
	struct line_buffer buffer = LINE_BUFFER_INIT('\n');
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < 300000; ++i) {
		line_buffer_add(&buffer, i % 7 == 6 ? "\n" : "x", 1);
		take(&buffer, &out);
	}
	check_equal(out.len, 300000 / 7 * 8);
	check(buffer.cap <= 64 << 10);
	buf_fini(&out);
	line_buffer_fini(&buffer);
}

static void test_nul(void) {
	struct line_buffer buffer = LINE_BUFFER_INIT('\0');
	struct buf out = BUF_INIT;
	line_buffer_add(&buffer, PIECE("a\nb\0\0c"));
	buffer.ended = true;
	take(&buffer, &out);
	check_string(buf_str(&out), "<a\nb><><c>");
	buf_fini(&out);
	line_buffer_fini(&buffer);
	buffer = (struct line_buffer)LINE_BUFFER_INIT('\n');
	struct line line;
	line_buffer_add(&buffer, PIECE("a\0b\nc\n"));
	check(line_buffer_next(&buffer, &line) && line.bad && strstr(line.bad, "NUL byte"));
	check(line_buffer_next(&buffer, &line) && !line.bad);
	line_buffer_add(&buffer, PIECE("\0"));
	buffer.ended = true;
	check(line_buffer_next(&buffer, &line) && line.bad && line.len == 0);
	check(!line_buffer_next(&buffer, &line));
	line_buffer_fini(&buffer);
}

static void test_end(void) {
	struct line_buffer buffer = LINE_BUFFER_INIT('\n');
	struct line line;
	check(!line_buffer_next(&buffer, &line));
	buffer.ended = true;
	check(!line_buffer_next(&buffer, &line));
	line_buffer_fini(&buffer);
	line_buffer_add(&buffer, PIECE("a\nb"));
	line_buffer_fini(&buffer); // a failed attempt
	line_buffer_add(&buffer, PIECE("c\n"));
	buffer.ended = true;
	check(line_buffer_next(&buffer, &line));
	check_string(line.text, "c");
	check(!line_buffer_next(&buffer, &line));
	line_buffer_fini(&buffer);
}

// Lines around the limit, in pieces of `step` bytes.
static void check_long(size_t size, size_t step) {
	struct line_buffer buffer = LINE_BUFFER_INIT('\n');
	struct line line;
	char *piece = xmalloc(step);
	size_t left = size, n = 0;
	memset(piece, 'x', step);
	while (left > 0) {
		size_t len = left < step ? left : step;
		line_buffer_add(&buffer, piece, len);
		left -= len;
		while (line_buffer_next(&buffer, &line)) {
			++n;
		}
	}
	check_equal(n, size > LINE_BUFFER_MAX); // told at once, the rest is skipped
	check(buffer.cap <= 2 * (size_t)LINE_BUFFER_MAX + step);
	line_buffer_add(&buffer, PIECE("\nnext\n"));
	if (n == 0) {
		check(line_buffer_next(&buffer, &line) && !line.bad && line.len == size);
	} else {
		check(line.bad && strstr(line.bad, "longer than 16 MiB") && line.len == 80);
	}
	check(line_buffer_next(&buffer, &line));
	check_string(line.text, "next");
	check(!line_buffer_next(&buffer, &line));
	line_buffer_add(&buffer, PIECE("x"));
	buffer.ended = true;
	check(line_buffer_next(&buffer, &line) && line.len == 1);
	free(piece);
	line_buffer_fini(&buffer);
}

static void test_long(void) {
	static const size_t sizes[] = {LINE_BUFFER_MAX - 1, LINE_BUFFER_MAX, LINE_BUFFER_MAX + 1, 3 * (size_t)LINE_BUFFER_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
		check_long(sizes[i], 65536);
		check_long(sizes[i], 999983);
	}
	struct line_buffer buffer = LINE_BUFFER_INIT('\n');
	struct line line;
	char *large = xmalloc((size_t)LINE_BUFFER_MAX + 1);
	memset(large, 'x', (size_t)LINE_BUFFER_MAX + 1);
	line_buffer_add(&buffer, large, (size_t)LINE_BUFFER_MAX + 1);
	buffer.ended = true; // the last line, and too long
	check(line_buffer_next(&buffer, &line) && line.bad);
	check(!line_buffer_next(&buffer, &line));
	line_buffer_fini(&buffer);
	line_buffer_add(&buffer, PIECE("x\n"));
	check(line_buffer_next(&buffer, &line) && buffer.cap <= 64 << 10); // the memory of a long line is given back
	free(large);
	line_buffer_fini(&buffer);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("lines are the same however the stream is cut", test_pieces),
		TEST("lines that are taken at once are those that come one by one", test_lines),
		TEST("bytes one by one need no more memory", test_bytes),
		TEST("a NUL ends a line or makes it bad", test_nul),
		TEST("the end gives the last line, a reset forgets it", test_end),
		TEST("a line that is too long is told at once and skipped", test_long),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
