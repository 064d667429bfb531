// Tests of input/records.h: where data is cut, over all sizes of blocks and of reads, and what is removed from it.

#include "input/records.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "test.h"

// Cuts the data as the caller of a splitter does, and joins the blocks by '|'.
static struct buf carve(const struct block_splitter_config *config, const char *data, size_t size) {
	char *error = NULL;
	struct block_splitter *splitter = block_splitter_create(config, &error);
	check(splitter != NULL);
	struct buf out = BUF_INIT, left = BUF_INIT;
	for (bool ended = false; !ended;) {
		size_t want = block_splitter_want(splitter, left.len);
		check(want > 0);
		ended = want > size;
		want = ended ? size : want;
		buf_add(&left, data, want);
		data += want;
		size -= want;
		size_t at = 0, len;
		bool first = true;
		for (; (len = block_splitter_cut(splitter, buf_str(&left) + at, left.len - at, first, ended)) > 0; first = false) {
			check(len <= left.len - at);
			buf_add(&out, left.data + at, len);
			buf_addc(&out, '|');
			at += len;
		}
		if (at == 0 && !ended) {
			size_t before = config->block;
			check(block_splitter_grow(splitter) > before);
		}
		memmove(left.data ? left.data : (char *)"", buf_str(&left) + at, left.len - at);
		left.len -= at;
	}
	buf_add(&out, buf_str(&left), left.len);
	buf_fini(&left);
	block_splitter_destroy(splitter);
	return out;
}

#define CUTS(text, expected, ...) do { \
	struct buf got_ = carve(&(struct block_splitter_config){__VA_ARGS__}, text, sizeof(text) - 1); \
	check(got_.len == sizeof(expected) - 1); \
	check(memcmp(buf_str(&got_), expected, got_.len) == 0); \
	buf_fini(&got_); \
} while (0)

static void test_lines(void) {
	CUTS("a\nb\nc\n", "a\nb\nc\n", .block = 100, .end = "\n");
	CUTS("a\nb\nc\n", "a\n|b\n|c\n|", .block = 2, .end = "\n");
	CUTS("a\nb\nc\nd", "a\nb\n|c\nd", .block = 5, .end = "\n");
	CUTS("a\n\nb", "a\n\n|b", .block = 3, .end = "\n");
	CUTS("", "", .block = 3, .end = "\n");
	CUTS("\n\n\n", "\n|\n|\n|", .block = 1, .end = "\n");
	CUTS("abc", "abc", .block = 3, .end = "\n");
	CUTS("a\0b\nc\n", "a\0b\n|c\n", .block = 4, .end = "\n");
}

// A record that is longer than a block: what is looked at grows by 30 % and 1, as in GNU parallel.
static void test_long_records(void) {
	CUTS("a\nbbbbbbbbbb\nc\n", "a\n|bbbbbbbbbb\n|c\n", .block = 2, .end = "\n");
	CUTS("bbbbbbbbbb", "bbbbbbbbbb", .block = 1, .end = "\n");
	CUTS("bbbbbb\nc\nd\n", "bbbbbb\n|c\nd\n", .block = 1, .end = "\n");
}

static void test_borders(void) {
	CUTS("a>b>c", "a|>b|>c", .block = 3, .start = ">");
	CUTS(">a>b>c", ">a|>b|>c", .block = 3, .start = ">");
	CUTS("1END2END3", "1END|2END|3", .block = 4, .end = "END");
	CUTS("1ENEND2", "1ENEND|2", .block = 4, .end = "END");
	CUTS("1END2E", "1END|2E", .block = 5, .end = "END");
	CUTS("a\nb\n>c\n>d\n", "a\nb\n|>c\n|>d\n", .block = 6, .end = "\n", .start = ">");
	CUTS("abcdefg", "ab|cd|ef|g", .block = 2, .end = "");
	CUTS("a\0b\0c", "a\0|b\0|c", .block = 3, .end = "\\0");
	CUTS("a\\b\\", "a\\|b\\|", .block = 2, .end = "\\\\");
	CUTS("aaaa", "aa|aa", .block = 3, .end = "a", .start = "a");
}

static void test_records(void) {
	CUTS("a\nb\nc\nd\ne\n", "a\nb\n|c\nd\n|e\n", .block = 100, .end = "\n", .records = 2);
	CUTS("a\nb\nc", "a\n|b\n|c", .block = 100, .end = "\n", .records = 1);
	CUTS("a\nb\nc\n", "a\nb\n|c\n", .block = 1, .end = "\n", .records = 2);
	CUTS("\na\n", "\na\n|", .block = 100, .end = "\n", .records = 1); // GNU parallel's oddity
	CUTS("abcde", "ab|cd|e|", .block = 100, .end = "", .records = 2);
	CUTS("a\nb\nc\nd\ne\n", "a\nb\nc\nd\n|e\n", .block = 100, .lines = 2);
	CUTS("a\nb\nc\nd\n", "a\nb\n|c\nd\n|", .block = 5, .lines = 2);
}

static void test_regexps(void) {
	CUTS("a1b22c333d", "a1b22|c333d", .block = 6, .end = "[0-9]+", .regexp = true);
	CUTS("a\n\n\nb\nc\n\nd", "a\n\n\n|b\nc\n\nd", .block = 7, .end = "\\n\\n+", .regexp = true);
	CUTS("x>a\n>b\n>c\n", "x>a\n|>b\n>c\n", .block = 7, .start = "^>", .end = "", .regexp = true);
	CUTS("a.b\na-b", "a.b\na-b", .block = 100, .end = "a.b", .regexp = true);
	CUTS("a\nba-bc", "a\nba-b|c", .block = 7, .end = "a.b", .regexp = true); // a dot is no newline
	CUTS("zz>a>b>c", "zz|>a|>b|>c", .block = 100, .start = ">", .regexp = true, .records = 1);
	CUTS("a;b,c;d", "a;b,|c;d", .block = 100, .end = "[;,]", .regexp = true, .records = 2);
	CUTS("a\0b;c", "a\0b;|c", .block = 4, .end = ";", .regexp = true);
	char *error = NULL;
	check(!block_splitter_create(&(struct block_splitter_config){.block = 1, .end = "(", .regexp = true}, &error) && error);
	free(error);
	check(!block_splitter_create(&(struct block_splitter_config){.block = 1, .start = "(?=a)", .regexp = true}, &error) && error);
	free(error);
}

// A window of a regular expression that grows: borders at every distance from the ends.
static void test_windows(void) {
	struct buf data = BUF_INIT;
	for (size_t at = 0; at < 20000; at += 613) {
		buf_reset(&data);
		for (size_t i = 0; i < 20000; ++i) {
			buf_addc(&data, i == at ? ';' : 'x');
		}
		char *error = NULL;
		struct block_splitter *last = block_splitter_create(&(struct block_splitter_config){.block = 20000, .end = ";x", .regexp = true}, &error);
		check(block_splitter_cut(last, data.data, data.len, true, false) == at + 2);
		struct block_splitter *nth = block_splitter_create(
			&(struct block_splitter_config){.block = 20000, .end = ";x+", .regexp = true, .records = 1}, &error);
		check(block_splitter_cut(nth, data.data, data.len, true, false) == 20000);
		block_splitter_destroy(last);
		block_splitter_destroy(nth);
	}
	buf_fini(&data);
}

#define STRIPS(text, expected, ...) do { \
	char *error_ = NULL; \
	struct block_splitter *splitter_ = block_splitter_create(&(struct block_splitter_config){.block = 1, __VA_ARGS__}, &error_); \
	struct buf block_ = BUF_INIT; \
	buf_add(&block_, text, sizeof(text) - 1); \
	block_splitter_strip(splitter_, &block_); \
	check(block_.len == sizeof(expected) - 1 && memcmp(buf_str(&block_), expected, block_.len) == 0); \
	buf_fini(&block_); \
	block_splitter_destroy(splitter_); \
} while (0)

static void test_strip(void) {
	STRIPS("a\nb\n", "ab", .end = "\n");
	STRIPS("", "", .end = "\n");
	STRIPS("\n", "", .end = "\n");
	STRIPS("a", "a", .end = "\n");
	STRIPS(">a>b", "ab", .start = ">");
	STRIPS(">a;>b;", "ab", .start = ">", .end = ";");
	STRIPS("abx\n", "ab\n", .end = "x");
	STRIPS("abc", "abc", .end = "");
	STRIPS("a1b22c", "abc", .end = "[0-9]+", .regexp = true);
	STRIPS("a1b22\n", "ab\n", .end = "[0-9]+", .regexp = true);
	STRIPS("1a2b", "ab", .start = "[0-9]", .regexp = true);
}

static void check_header(const char *rule, const char *bytes, size_t len, size_t expected) {
	char *error = NULL;
	struct header_rule *header = header_create(rule, &error);
	check(header && header_find(header, bytes, len) == expected);
	header_destroy(header);
}

static void test_header(void) {
	check_header(":", "a\nb\n", 4, 2);
	check_header(":", "a", 1, SIZE_MAX);
	check_header("2", "a\nb\nc", 5, 4);
	check_header("2", "a\nb", 3, SIZE_MAX);
	check_header("0", "a\nb", 3, 0);
	check_header("#.*\\n", "#a\n#b\n", 6, 3);
	check_header("(#.*\\n)*", "#a\n#b\nc\n", 8, 6);
	check_header("#", "a#", 2, SIZE_MAX);
	check_header(":", "", 0, SIZE_MAX);
}

static void test_parts(void) {
	char *error = NULL;
	struct block_splitter *splitter = block_splitter_create(&(struct block_splitter_config){.block = 1, .end = "ab", .start = "c"}, &error);
	check(block_splitter_find(splitter, "xxabxabc", 8) == 7);
	check(block_splitter_find(splitter, "xxab", 4) == SIZE_MAX);
	check(block_splitter_overlap(splitter) == 2 && !block_splitter_is_free(splitter));
	block_splitter_destroy(splitter);
	splitter = block_splitter_create(&(struct block_splitter_config){.block = 1, .end = ""}, &error);
	check(block_splitter_is_free(splitter) && block_splitter_overlap(splitter) == 0);
	block_splitter_destroy(splitter);
}

// Whatever the pieces in which it comes.
static void check_blanks(const char *data, const char *expected) {
	size_t len = strlen(data);
	for (size_t piece = 1; piece <= len + 1; ++piece) {
		struct blanks blanks = {0};
		struct buf kept = BUF_INIT;
		size_t added = 0;
		for (size_t at = 0; at < len; at += piece) {
			added += blanks_drop(&blanks, data + at, len - at < piece ? len - at : piece, &kept);
		}
		added += blanks_drop(&blanks, "", 0, &kept);
		check_string(buf_str(&kept), expected);
		check_equal(added, kept.len);
		buf_fini(&kept);
		buf_fini(&blanks.begun);
	}
}

static void test_blanks(void) {
	check_blanks("", "");
	check_blanks("a\nb\n", "a\nb\n");
	check_blanks("\n\n", "");
	check_blanks(" \t\r\f\v\n", "");
	check_blanks("\n  a  \n \n  \n b\n\n", "  a  \n b\n");
	check_blanks("a\n  ", "a\n  ");
	check_blanks("  ", "  ");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("lines are cut at the last newline that fits", test_lines),
		TEST("a record longer than a block makes it grow", test_long_records),
		TEST("ends and starts of any length", test_borders),
		TEST("so many records or lines in a block", test_records),
		TEST("regular expressions", test_regexps),
		TEST("regular expressions at any place of large blocks", test_windows),
		TEST("separators are removed", test_strip),
		TEST("headers", test_header),
		TEST("blank lines are dropped", test_blanks),
		TEST("borders in parts of files", test_parts),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
