// Tests of input/input.h: splitting, products, links, columns, headers, and what cannot be read.

#include "input/input.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

// A source in a test: arguments, or the text of a file.
struct given {
	const char *text;     // of a file, or NULL
	size_t size;          // of the text; 0: strlen
	const char *args[8];
	bool linked;
};

static char *file_with(const char *text, size_t size) {
	char *path = xstrdup("/tmp/fairpar-test.XXXXXX");
	int fd = mkstemp(path);
	check(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	close(fd);
	return path;
}

static unsigned random_below(unsigned n) {
	static uint64_t state = 88172645463325252; // xorshift64 (Marsaglia 2003)
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

// What is still to be written into a pipe that is being read.
static struct {
	int fd;
	const char *text;
	size_t left, piece;
} feeding = {.fd = -1};

static void feed_or_wait(const struct input *input) {
	if (feeding.fd < 0) {
		struct pollfd in = {.fd = input_fd(input), .events = POLLIN};
		check(poll(&in, 1, 10000) == 1);
		return;
	}
	size_t n = 1 + random_below((unsigned)feeding.piece);
	n = n < feeding.left ? n : feeding.left;
	check(write(feeding.fd, feeding.text, n) == (ssize_t)n);
	feeding.text += n;
	feeding.left -= n;
	if (feeding.left == 0) {
		close(feeding.fd);
		feeding.fd = -1;
	}
}

// All that an input gives, as text: arguments in <>, a newline behind each record, "bad: …" and "error: …" lines.
static char *read_all(struct input *input) {
	struct buf out = BUF_INIT;
	for (;;) {
		struct record record;
		const char *error = NULL;
		enum input_status status = input_next(input, &record, &error);
		if (status == INPUT_END) {
			check(input_next(input, &record, &error) == INPUT_END);
			buf_adds(&out, "");
			return buf_take(&out);
		}
		if (status == INPUT_WAIT) {
			feed_or_wait(input);
			continue;
		}
		if (status == INPUT_ERROR) {
			buf_printf(&out, "error: %s\n", error);
			continue;
		}
		buf_adds(&out, status == INPUT_HEADER ? "names: " : status == INPUT_BAD ? "bad: " : "");
		const char *at = record.args;
		for (uint32_t i = 0; i < record.nargs; ++i) {
			buf_printf(&out, "<%s>", at);
			at += strlen(at) + 1;
		}
		check((size_t)(at - record.args) == record.size);
		buf_printf(&out, "%s%s\n", status == INPUT_BAD ? " " : "", status == INPUT_BAD ? error : "");
	}
}

static struct source_config source_of(const struct given *given) {
	struct source_config source = {.linked = given->linked};
	if (given->text) {
		source.kind = FROM_FILE;
		source.path = file_with(given->text, given->size ? given->size : strlen(given->text));
	} else {
		source.kind = FROM_ARGS;
		source.args = (char *const *)(uintptr_t)given->args;
		while (given->args[source.nargs]) {
			++source.nargs;
		}
	}
	return source;
}

static char *run(struct input_config config, const struct given *given, size_t n) {
	struct source_config sources[4];
	for (size_t i = 0; i < n; ++i) {
		sources[i] = source_of(&given[i]);
	}
	config.sources = sources;
	config.nsources = n;
	config.delimiter = config.delimiter == 'Z' ? '\0' : config.delimiter ? config.delimiter : '\n';
	char *colsep = NULL, *error = NULL;
	if (config.colsep) {
		config.colsep = colsep = colsep_translate(config.colsep, &error);
		check(colsep);
	}
	struct input *input = input_open(&config, &error);
	check(input);
	char *out = read_all(input);
	input_close(input);
	free(colsep);
	for (size_t i = 0; i < n; ++i) {
		if (sources[i].kind == FROM_FILE) {
			unlink(sources[i].path);
			free((char *)(uintptr_t)sources[i].path);
		}
	}
	return out;
}

#define check_run(config, expected, ...) do { \
		const struct given given_[] = {__VA_ARGS__}; \
		char *out_ = run((struct input_config)config, given_, sizeof(given_) / sizeof(given_[0])); \
		check_string(out_, expected); \
		free(out_); \
	} while (0)
#define WITH(...) {.nsources = 0, __VA_ARGS__}
#define ARGS(...) {.args = {__VA_ARGS__}}
#define LINKED(...) {.args = {__VA_ARGS__}, .linked = true}
#define FILE_OF(s) {.text = s, .size = sizeof(s) - 1}

static void test_lines(void) {
	check_run(WITH(), "<a>\n<>\n< b >\n<c>\n", FILE_OF("a\n\n b \nc"));
	check_run(WITH(), "<a\r>\n<b>\n", FILE_OF("a\r\nb\n"));
	check_run(WITH(), "", FILE_OF(""));
	check_run(WITH(), "<>\n", FILE_OF("\n"));
	check_run(WITH(.delimiter = ','), "<a>\n<b>\n<c\n>\n", FILE_OF("a,b,c\n"));
	check_run(WITH(.delimiter = 'Z'), "<a\nb>\n<>\n<c>\n", FILE_OF("a\nb\0\0c"));
	check_run(WITH(.delimiter_text = "\r\n"), "<a>\n<b\rc>\n<>\n<d\n>\n", FILE_OF("a\r\nb\rc\r\n\r\nd\n"));
	check_run(WITH(.delimiter_text = "--"), "<a>\n<-b>\n<c>\n", FILE_OF("a---b--c--"));
	check_run(WITH(.joins = true), "<a c>\n<d>\n", FILE_OF("a \n\nc\nd\n"));
}

static void test_args(void) {
	check_run(WITH(), "<a\nb>\n<>\n<c>\n", ARGS("a\nb", "", "c"));
	check_run(WITH(.delimiter = ','), "<a,b>\n", ARGS("a,b"));
	check_run(WITH(), "", ARGS(NULL));
}

// Each expected text is what GNU parallel 20221122 runs, in its order.
static void test_product(void) {
	check_run(WITH(), "<1><a>\n<1><b>\n<2><a>\n<2><b>\n", ARGS("1", "2"), ARGS("a", "b"));
	check_run(WITH(), "<1><a>\n<1><b>\n<2><a>\n<2><b>\n", FILE_OF("1\n2\n"), FILE_OF("a\nb"));
	check_run(WITH(), "<1><a><x>\n<1><a><y>\n<1><b><x>\n<1><b><y>\n<2><a><x>\n<2><a><y>\n<2><b><x>\n<2><b><y>\n",
	          ARGS("1", "2"), FILE_OF("a\nb\n"), ARGS("x", "y"));
}

static void test_product_of_nothing(void) {
	check_run(WITH(), "<><a>\n<><b>\n", FILE_OF(""), ARGS("a", "b"));
	check_run(WITH(), "<a><>\n<b><>\n", ARGS("a", "b"), FILE_OF(""));
	check_run(WITH(), "", FILE_OF(""), FILE_OF(""));
	check_run(WITH(), "<a><>\n", ARGS("a", "b"), {.text = "", .linked = true});
}

static void test_links(void) {
	check_run(WITH(), "<a><1><x>\n<a><1><y>\n<b><2><x>\n<b><2><y>\n", ARGS("a", "b", "c"), LINKED("1", "2"),
	          ARGS("x", "y"));
	check_run(WITH(), "<x><a><1>\n<x><b><2>\n<y><a><1>\n<y><b><2>\n", ARGS("x", "y"), ARGS("a", "b", "c"),
	          LINKED("1", "2"));
	check_run(WITH(), "<a><1>\n", ARGS("a"), LINKED("1", "2", "3"));
	check_run(WITH(), "<a><1><x>\n<b><2><y>\n", ARGS("a", "b", "c"), LINKED("1", "2", "3"), LINKED("x", "y"));
	check_run(WITH(), "<a><1>\n<a><2>\n<b><1>\n<b><2>\n", LINKED("a", "b"), ARGS("1", "2"));
}

static void test_link_all(void) {
	check_run(WITH(.link = true), "<a><1><x>\n<b><2><x>\n<c><1><x>\n", ARGS("a", "b", "c"), ARGS("1", "2"), ARGS("x"));
	check_run(WITH(.link = true), "<x><1><a>\n<x><2><b>\n<x><1><c>\n", FILE_OF("x\n"), ARGS("1", "2"),
	          FILE_OF("a\nb\nc\n"));
	check_run(WITH(.link = true), "<a><>\n<b><>\n", ARGS("a", "b"), FILE_OF(""));
	check_run(WITH(.link = true), "<><a>\n<><b>\n", FILE_OF(""), ARGS("a", "b"));
}

static void test_columns(void) {
	static const char csv[] = " a ,b, c\n,x,\n\n,\n";
	check_run(WITH(.colsep = ",", .trim = TRIM_BOTH), "<a><b><c>\n<><x><>\n<>\n<><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = ","), "< a ><b>< c>\n<><x><>\n<>\n<><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = ",", .trim = TRIM_LEFT), "<a ><b><c>\n<><x><>\n<>\n<><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = ",", .trim = TRIM_RIGHT), "< a><b>< c>\n<><x><>\n<>\n<><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = " ", .trim = TRIM_BOTH), "<><a><,b,><c>\n<,x,>\n<>\n<,>\n", FILE_OF(csv));
	check_run(WITH(.colsep = ",*", .trim = TRIM_BOTH), "<><a><><b><><c><>\n<><x><>\n<>\n<><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = "", .trim = TRIM_BOTH), "<><a><><,><b><,><><c><>\n<,><x><,><>\n<>\n<,><>\n", FILE_OF(csv));
	check_run(WITH(.colsep = "\\s*", .trim = TRIM_BOTH), "<><a><,><b><,><c><>\n<,><x><,><>\n<>\n<,><>\n",
	          FILE_OF(csv));
	check_run(WITH(.trim = TRIM_BOTH), "<a b>\n", ARGS(" a b\t"));
	check_run(WITH(.colsep = "-", .trim = TRIM_BOTH), "<a><b><1><2>\n<a><b><3>\n", ARGS("a-b"), ARGS("1 - 2", "3"));
}

static void test_colsep(void) {
	static const struct { const char *perl, *line, *expected; } cases[] = {
		{"\\t", "a\tb\t", "<a><b><>\n"}, {"\t", "a\tb", "<a><b>\n"}, {"\\|", "a|b", "<a><b>\n"},
		{"[,;]", "a,b;c,;d", "<a><b><c><><d>\n"}, {"[,;]+", "a,b;c,;d,", "<a><b><c><d><>\n"},
		{"\\s+", "a  b\tc", "<a><b><c>\n"}, {"[\\s,]+", "a , b", "<a><b>\n"}, {" +", "a  b c", "<a><b><c>\n"},
		{"::", "a::b:c", "<a><b:c>\n"}, {"(?:x|yy)", "axbyyc", "<a><b><c>\n"}, {"[\\]\\-]", "a]b-c", "<a><b><c>\n"},
		{"\\d", "a1b22", "<a><b><><>\n"}, {"\\.", "a.b", "<a><b>\n"}, {"\\x2c", "a,b", "<a><b>\n"}, {"\\x7c", "a|b", "<a><b>\n"},
		{"[^a-z]", "a1b c", "<a><b><c>\n"}, {"\\W+", "a -b", "<a><b>\n"}, {"[\\\\]", "a\\b", "<a><b>\n"},
		{"\\/", "a/b", "<a><b>\n"}, {"[[:space:]]", "a b", "<a><b>\n"}, {"x{2}", "axxbx", "<a><bx>\n"},
		{"[\\^]", "a^b", "<a><b>\n"}, {"]", "a]b", "<a><b>\n"}, {"}", "a}b", "<a><b>\n"},
		{"\xc3\xa9", "a\xc3\xa9""b", "<a><b>\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		struct given given = {.text = cases[i].line};
		char *out = run((struct input_config){.colsep = cases[i].perl}, &given, 1);
		check_string(out, cases[i].expected);
		free(out);
		given = (struct given){.args = {cases[i].line}};
		out = run((struct input_config){.colsep = cases[i].perl}, &given, 1);
		check_string(out, cases[i].expected);
		free(out);
	}
	static const char *const refused[] = {"(?=x)", "a+?", "\\b", "[a", "(", "\\", "[\\S]", "a*+"};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		char *error = NULL;
		check(!colsep_translate(refused[i], &error));
		check(strstr(error, "column separator"));
		free(error);
	}
}

static void test_header(void) {
	static const char table[] = "a\tb \tc\t\t\r\n1\t2\n 3 \t4\t5\t6\n";
	check_run(WITH(.header = true), "names: <a><b ><c>\n<1><2>\n< 3 ><4><5><6>\n", FILE_OF(table));
	check_run(WITH(.header = true, .colsep = "\\t", .trim = TRIM_BOTH), "names: <a><b ><c>\n<1><2>\n<3><4><5><6>\n",
	          FILE_OF(table));
	check_run(WITH(.header = true), "names: <n><m>\n<1><a>\n<1><b>\n<2><a>\n<2><b>\n", ARGS("n", "1", "2"),
	          ARGS("m", "a", "b"));
	check_run(WITH(.header = true), "names: <n><m>\n<1><a>\n<2><b>\n", ARGS("n", "1", "2"), LINKED("m", "a", "b"));
	check_run(WITH(.header = true), "names: <n>\n", ARGS("n"));
	check_run(WITH(.header = true), "names: \n", FILE_OF(""));
	check_run(WITH(.header = true, .colsep = ","), "names: <x><y><z>\n<1><2><7>\n<1><2><8>\n", FILE_OF("x,y\n1,2\n"),
	          ARGS("z", "7", "8"));
}

static void test_nul(void) {
	check_run(WITH(), "<a>\nbad: <b> there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)\n<d>\n",
	          FILE_OF("a\nb\0c\nd\n"));
	check_run(WITH(),
	          "<1><a>\nbad: <1><b> there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)\n"
	          "<2><a>\nbad: <2><b> there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)\n",
	          ARGS("1", "2"), FILE_OF("a\nb\0c\n"));
	check_run(WITH(.header = true),
	          "error: the header cannot be used: there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)\n",
	          FILE_OF("a\0b\nc\n"));
}

static void test_long_line(void) {
	static const size_t sizes[] = {LINE_BUFFER_MAX - 1, LINE_BUFFER_MAX, LINE_BUFFER_MAX + 1, LINE_BUFFER_MAX + 70000,
	                               3 * (size_t)LINE_BUFFER_MAX};
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); ++i) {
		size_t size = sizes[i / 2];
		char *text = xmalloc(size + 10);
		memcpy(text, "x\n", 2);
		memset(text + 2, 'y', size);
		memcpy(text + 2 + size, "\nz\n", 4);
		struct given given = {.text = text, .size = i % 2 ? size + 2 : size + 5}; // without its end, or not last
		struct source_config source = source_of(&given);
		struct input_config config = {.sources = &source, .nsources = 1, .delimiter = '\n'};
		char *message;
		struct input *input = input_open(&config, &message);
		struct record record;
		const char *error;
		check_equal(input_next(input, &record, &error), INPUT_RECORD);
		bool fits = size <= LINE_BUFFER_MAX;
		check_equal(input_next(input, &record, &error), fits ? INPUT_RECORD : INPUT_BAD);
		check_equal(record.size, fits ? size + 1 : 81);
		check_equal(strlen(record.args) + 1, record.size);
		if (i % 2 == 0) {
			check_equal(input_next(input, &record, &error), INPUT_RECORD);
			check_string(record.args, "z");
		}
		check_equal(input_next(input, &record, &error), INPUT_END);
		input_close(input);
		unlink(source.path);
		free((char *)(uintptr_t)source.path);
		free(text);
	}
}

// Random text in random pieces through a pipe gives the same records as from a file.
static void test_chunks(void) {
	for (unsigned round = 0; round < 300; ++round) {
		char text[3000];
		size_t size = 1 + random_below(sizeof(text));
		for (size_t i = 0; i < size; ++i) {
			text[i] = "\n\n,ab \t\0c"[random_below(round % 3 ? 7 : 9)];
		}
		struct given given = {.text = text, .size = size};
		struct input_config config = {.delimiter = '\n', .colsep = round % 2 ? "," : NULL, .header = round % 5 == 0,
		                              .trim = round % 7 == 0 ? TRIM_BOTH : TRIM_NONE};
		char *expected = run(config, &given, 1);

		int ends[2];
		check(pipe(ends) == 0 && dup2(ends[0], 0) == 0 && close(ends[0]) == 0);
		feeding.fd = ends[1];
		feeding.text = text;
		feeding.left = size;
		feeding.piece = round % 4 ? 20 : 1500;
		struct source_config source = {.kind = FROM_STDIN};
		config.sources = &source;
		config.nsources = 1;
		char *message;
		struct input *input = input_open(&config, &message);
		char *out = read_all(input);
		check_string(out, expected);
		if (feeding.fd >= 0) { // an error ended it early
			close(feeding.fd);
			feeding.fd = -1;
		}
		free(out);
		free(expected);
		input_close(input);
	}
}

static void test_fifo(void) {
	char dir[] = "/tmp/fairpar-test.XXXXXX";
	check(mkdtemp(dir));
	char path[64];
	snprintf(path, sizeof(path), "%s/fifo", dir);
	check(mkfifo(path, 0600) == 0);
	struct source_config source = {.kind = FROM_FILE, .path = path};
	struct input_config config = {.sources = &source, .nsources = 1, .delimiter = '\n'};
	char *message;
	struct record record;
	const char *error;
	struct input *input = input_open(&config, &message);
	check(input);
	struct pollfd in = {.fd = input_fd(input), .events = POLLIN};
	check_equal(input_next(input, &record, &error), INPUT_WAIT);
	check_equal(poll(&in, 1, 0), 0);
	check_equal(input_next(input, &record, &error), INPUT_WAIT); // no writer yet is not the end
	int writer = open(path, O_WRONLY);
	check(writer >= 0);
	check_equal(input_next(input, &record, &error), INPUT_WAIT);
	check(write(writer, "a\nb", 3) == 3);
	check_equal(poll(&in, 1, -1), 1);
	check_equal(input_next(input, &record, &error), INPUT_RECORD);
	check_string(record.args, "a");
	check_equal(input_next(input, &record, &error), INPUT_WAIT);
	close(writer);
	check_equal(poll(&in, 1, -1), 1);
	check_equal(input_next(input, &record, &error), INPUT_RECORD);
	check_string(record.args, "b");
	check_equal(input_next(input, &record, &error), INPUT_END);
	input_close(input);
	unlink(path);
	rmdir(dir);
}

static void test_stdin_flags(void) {
	int ends[2];
	check(pipe(ends) == 0 && dup2(ends[0], 0) == 0);
	int before = fcntl(0, F_GETFL);
	struct source_config source = {.kind = FROM_STDIN};
	struct input_config config = {.sources = &source, .nsources = 1, .delimiter = '\n'};
	char *message;
	struct record record;
	const char *error;
	struct input *input = input_open(&config, &message);
	check_equal(input_next(input, &record, &error), INPUT_WAIT);
	check_equal(input_fd(input), 0);
	check_equal(fcntl(0, F_GETFL), before);
	input_close(input);
	check(fcntl(0, F_GETFD) >= 0);
}

static void check_open_error(const struct source_config *sources, size_t n, const char *expected) {
	struct input_config config = {.sources = sources, .nsources = n, .delimiter = '\n'};
	char *error = NULL;
	check(!input_open(&config, &error));
	check_string(error, expected);
	free(error);
}

static void test_cannot_open(void) {
	struct source_config missing = {.kind = FROM_FILE, .path = "/nosuch\nfile"};
	check_open_error(&missing, 1, "cannot open '/nosuch\\nfile': No such file or directory");
	struct source_config directory = {.kind = FROM_FILE, .path = "/"};
	check_open_error(&directory, 1, "cannot open '/': Is a directory");
	struct source_config twice[] = {{.kind = FROM_STDIN}, {.kind = FROM_STDIN}};
	check_open_error(twice, 2, "stdin is named as input twice, but can be read only once");
}

static void check_read(const struct source_config *sources, size_t n, const char *expected) {
	struct input_config config = {.sources = sources, .nsources = n, .delimiter = '\n'};
	char *message;
	struct input *input = input_open(&config, &message);
	check(input);
	char *out = read_all(input);
	check_string(out, expected);
	free(out);
	input_close(input);
}

static void test_cannot_read(void) {
	check(dup2(open("/dev/null", O_WRONLY), 0) == 0);
	struct source_config sources[] = {{.kind = FROM_STDIN}, {.kind = FROM_FILE, .path = "/dev/null"}};
	check_read(sources, 1, "error: cannot read stdin: Bad file descriptor\n");
	check_read(sources, 2, "error: cannot read stdin: Bad file descriptor\n");
	struct source_config retry_queue[] = {sources[1], sources[0]};
	check_read(retry_queue, 2, "error: cannot read stdin: Bad file descriptor\n");
}

static void test_keeps_what_was_read(void) {
#ifdef FAIRPAR_FAULTS
	struct given given = FILE_OF("a\nb\nrest");
	check(setenv("FAIRPAR_FAULT", "input:2:EIO", 1) == 0);
	char *out = run((struct input_config){.nsources = 1}, &given, 1);
	check(strncmp(out, "<a>\n<b>\nerror: cannot read '/tmp/", 33) == 0);
	check(strstr(out, strerror(EIO)) && !strstr(out, "rest"));
	free(out);
#endif
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a record ends at each delimiter, or at the end of input", test_lines),
		TEST("arguments are items as they are", test_args),
		TEST("the last source varies fastest", test_product),
		TEST("a source without items counts as one empty item", test_product_of_nothing),
		TEST("linked sources go in step and stop at the shortest", test_links),
		TEST("--link goes on to the end of the longest", test_link_all),
		TEST("lines are split into columns and trimmed", test_columns),
		TEST("column separators of Perl are understood or refused", test_colsep),
		TEST("the first record of each source holds names", test_header),
		TEST("a NUL in a line makes a bad record of it", test_nul),
		TEST("a line above the limit is a bad record, and the rest is read", test_long_line),
		TEST("records do not depend on how the input arrives", test_chunks),
		TEST("a fifo is waited for and read to its end", test_fifo),
		TEST("reading stdin does not change its flags", test_stdin_flags),
		TEST("what cannot be opened is named", test_cannot_open),
		TEST("what cannot be read is an error, then the end", test_cannot_read),
		TEST("an error keeps the records before it", test_keeps_what_was_read),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
