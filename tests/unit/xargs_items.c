// Tests of xargs/items.h: items, quotes, lines and the end-of-file string, wherever the reads cut the input.

#include "xargs/items.h"

#include "base/buf.h"
#include "test.h"

static const char *const command[] = {"c", "a%b%", "-", "%"};

static const char unmatched_single[] = "unmatched single quote; by default quotes are special to xargs unless you use the -0 option";
static const char unmatched_double[] = "unmatched double quote; by default quotes are special to xargs unless you use the -0 option";

// Reads `len` bytes in pieces of that size, and shows all that came: each line as {<…><…>}, NUL for the warning, ! and the
// error. *ret_left is how much was not looked at. Limits of 0 are more than enough; the command is c, with -I all of `command`.
static void read_in_pieces(const struct xargs_options *given, const char *text, size_t len, size_t piece, struct buf *out,
                           size_t *ret_left) {
	struct xargs_options options = *given;
	options.command = command;
	options.ncommand = options.replace ? 4 : 1;
	options.limits.bytes = options.limits.bytes ? options.limits.bytes : 100000;
	options.limits.argc = options.limits.argc ? options.limits.argc : 100000;
	struct xargs_items items;
	check(xargs_items_init(&items, &options) == NULL);
	size_t at = 0;
	for (;;) {
		size_t used, n = len - at < piece ? len - at : piece;
		enum items_status status = xargs_items_next(&items, text + at, n, &used);
		check(used <= n && (used == n || status != ITEMS_MORE));
		at += used;
		if (status == ITEMS_LINE) {
			buf_addc(out, '{');
			const char *arg = buf_str(&items.pack.args);
			for (size_t i = 0; i < items.pack.nargs; ++i, arg += strlen(arg) + 1) {
				buf_printf(out, "<%s>", arg);
			}
			buf_addc(out, '}');
			packs_reset(&items.pack);
		} else if (status == ITEMS_NUL) {
			buf_adds(out, "NUL");
		} else if (status != ITEMS_MORE) {
			buf_printf(out, "%s%s", status == ITEMS_ERROR ? "!" : "", status == ITEMS_ERROR ? items.error : "");
			break;
		}
	}
	*ret_left = len - at;
	xargs_items_fini(&items);
}

// The same must come whatever the size of the pieces; `left` bytes are not looked at.
static void check_left(const struct xargs_options *given, const char *text, size_t len, const char *expected, size_t left) {
	for (size_t piece = 1; piece <= len + 1; ++piece) {
		struct buf out = BUF_INIT;
		size_t found;
		read_in_pieces(given, text, len, piece, &out, &found);
		check_string(buf_str(&out), expected);
		check_equal(found, left);
		buf_fini(&out);
	}
}

#define check_bytes(given, text, expected) check_left(given, text, sizeof(text) - 1, expected, 0)

static const struct xargs_options quoted = {.replace = NULL};

static void test_empty(void) {
	static const struct xargs_options run_empty = {.items = {.run_empty = true}};
	static const struct xargs_options literal = {.items = {.literal = true, .run_empty = true}};
	static const struct xargs_options replace = {.items = {.run_empty = true}, .replace = "%"};
	check_bytes(&quoted, "", "");
	check_bytes(&quoted, " \n\t\n", "");
	check_bytes(&run_empty, "", "{}");
	check_bytes(&run_empty, "\n \v\f\r\n", "{}");
	check_bytes(&run_empty, "a", "{<a>}");
	check_bytes(&literal, "", "{}");
	check_bytes(&literal, "\0", "{<>}");
	check_bytes(&replace, "\n\n", "");
}

static void test_items(void) {
	check_bytes(&quoted, "a  b\tc\n\nd", "{<a><b><c><d>}");
	check_bytes(&quoted, "'a b'\"c'd\" \\' \\\\ e\\\nf\\ g\n", "{<a bc'd><'><\\><e\nf g>}");
	check_bytes(&quoted, "'' a \"\"\n", "{<><a><>}");
	check_bytes(&quoted, "a ''", "{<a>}"); // nothing is there at the end of the input, as in GNU xargs
	check_bytes(&quoted, "a \\", "{<a>}");
	check_bytes(&quoted, "a\vb \v\fc\r\n", "{<a\vb><c\r>}");
	check_bytes(&quoted, "\xC3\xA9\xFF \x80\n", "{<\xC3\xA9\xFF><\x80>}");
}

static void test_open_quotes(void) {
	struct buf expected = BUF_INIT;
	buf_printf(&expected, "{<a><b>}!%s", unmatched_single);
	check_left(&quoted, "a b 'c\nd", 8, buf_str(&expected), 1);
	check_bytes(&quoted, "a b 'c", buf_str(&expected));
	buf_reset(&expected);
	buf_printf(&expected, "!%s", unmatched_double);
	check_bytes(&quoted, "\"c'", buf_str(&expected));
	buf_reset(&expected);
	buf_printf(&expected, "!%s", unmatched_single);
	check_bytes(&quoted, "a'b", buf_str(&expected));
	check_bytes(&quoted, "a '", "{<a>}"); // open, but nothing is behind it
	static const struct xargs_options exact = {.limits = {.args = 3, .exact = true}};
	check_bytes(&exact, "a b 'c", buf_str(&expected)); // what is packed is not run with -x
	buf_fini(&expected);
}

static void test_nul(void) {
	check_bytes(&quoted, "a\0b c\0d\n", "NUL{<a><c>}");
	check_bytes(&quoted, "'\0' x\n", "NUL{<><x>}");
}

static void test_literal(void) {
	static const struct xargs_options zero = {.items = {.literal = true}};
	static const struct xargs_options comma = {.items = {.literal = true, .delimiter = ',', .eof = "b"}};
	check_bytes(&zero, "a b'\0\0c\\\n", "{<a b'><><c\\\n>}");
	check_bytes(&zero, "a\0b\0", "{<a><b>}");
	check_bytes(&comma, "a,b,,c", "{<a><b><><c>}"); // the end-of-file string means nothing here
	check_bytes(&comma, ",", "{<>}");
	static const struct xargs_options lines = {.items = {.literal = true, .delimiter = '\n'}, .limits = {.lines = 2}};
	check_bytes(&lines, "a b\nc\nd\n", "{<a b><c>}{<d>}");
}

static void test_eof(void) {
	static const struct xargs_options given = {.items = {.eof = "X"}};
	check_left(&given, "X\na\n", 4, "", 2);
	check_left(&given, "a X b\n", 6, "{<a>}", 2);
	check_left(&given, "a\nX\nb\n", 6, "{<a>}", 2);
	check_left(&given, "a 'X' b\n", 8, "{<a>}", 2);
	check_bytes(&given, "a X\n", "{<a>}");
	check_bytes(&given, "X", "");
	check_bytes(&given, "a\nX", "{<a>}");
	check_bytes(&given, "a X", "{<a><X>}"); // at the very end only as the first of its line
	check_bytes(&given, "a XX xX Xa\n", "{<a><XX><xX><Xa>}");
	static const struct xargs_options replace = {.items = {.eof = "X"}, .replace = "%"};
	check_left(&replace, "a\nX\nb\n", 6, "{<c><aaba><-><a>}", 2);
	check_bytes(&replace, "a X\n", "{<c><aa Xba X><-><a X>}");
	static const struct xargs_options run_empty = {.items = {.eof = "X", .run_empty = true}};
	check_left(&run_empty, "X a", 3, "{}", 1);
}

static void test_lines(void) {
	static const struct xargs_options two = {.limits = {.lines = 2}};
	check_bytes(&two, "a b\nc\nd\n", "{<a><b><c>}{<d>}");
	check_bytes(&two, "a \nb\nc\nd\n", "{<a><b><c>}{<d>}");
	check_bytes(&two, "a\t\n\n\nb\nc\nd\n", "{<a><b><c>}{<d>}"); // empty lines are none
	static const struct xargs_options one = {.limits = {.lines = 1}};
	check_bytes(&one, "a\nb", "{<a>}{<b>}");
	check_bytes(&one, "a \nb \n", "{<a><b>}");
	static const struct xargs_options args = {.limits = {.args = 2}};
	check_bytes(&args, "a b c\nd", "{<a><b>}{<c><d>}");
}

static void test_bytes(void) {
	static const struct xargs_options given = {.limits = {.bytes = 2 + 4}};
	check_bytes(&given, "a b c", "{<a><b>}{<c>}");
	check_bytes(&given, "abc d", "{<abc>}{<d>}");
	check_bytes(&given, "a bcd '' e\n", "{<a>}{<bcd>}{<><e>}");
	check_left(&given, "a bcde fg", 9, "{<a>}!argument line too long", 3);
	static const struct xargs_options exact = {.limits = {.bytes = 2 + 4, .args = 3, .exact = true}};
	check_left(&exact, "a b c ", 6, "!argument list too long", 0);
	static const struct xargs_options literal = {.items = {.literal = true}, .limits = {.bytes = 2 + 4}};
	check_bytes(&literal, "abc\0d", "{<abc>}{<d>}");
}

static const char cannot_fit[] = "!cannot fit single argument within argument list size limit";

static void test_initial_arguments(void) {
	struct xargs_items items;
	struct xargs_options options = {.command = command, .ncommand = 2, .limits = {.bytes = 7, .argc = 10}};
	check(xargs_items_init(&items, &options) == NULL);
	options.limits.bytes = 6;
	check_string(xargs_items_init(&items, &options), cannot_fit + 1);
	options.replace = "%"; // they are made anew for each line
	check(xargs_items_init(&items, &options) == NULL);
	static const struct xargs_options none = {.items = {.literal = true}, .limits = {.bytes = 2}};
	check_left(&none, "\0", 1, cannot_fit, 0);
}

static void test_counts(void) {
	static const struct xargs_options args = {.limits = {.args = 2}}, argc = {.limits = {.argc = 3}};
	check_bytes(&args, "a b c d\n", "{<a><b>}{<c><d>}"); // full at its last argument, not behind it
	check_bytes(&argc, "a b c\n", "{<a><b>}{<c>}");
	static const struct xargs_options exact = {.limits = {.bytes = 2 + 4, .exact = true}}; // says nothing without -n or -L
	check_bytes(&exact, "abc d\n", "{<abc>}{<d>}");
}

static void test_replacement(void) {
	static const struct xargs_options replace = {.replace = "%"};
	check_bytes(&replace, " x y\n'' \n", "{<c><ax ybx y><-><x y>}{<c><a b ><->< >}");
	for (size_t bytes = 1; bytes <= 16; ++bytes) { // "c", "aibi", "-", "i" and their NULs: 11 bytes
		struct xargs_options limited = {.replace = "%", .limits = {.bytes = bytes}};
		struct buf out = BUF_INIT;
		size_t left;
		read_in_pieces(&limited, "i\n", 2, 2, &out, &left);
		check_equal(buf_str(&out)[0], bytes < 11 ? '!' : '{');
		buf_fini(&out);
	}
}

// Many ordinary items are read at once, and come as those that are read byte by byte.
static void test_blocks(void) {
	static char text[30000];
	static const char *const ends[] = {"\n", " ", "\n", "  ", "\t", "\n", " \\'\n", "\v\n"};
	size_t len = 0;
	for (unsigned i = 0; len < sizeof(text) - 20; ++i) {
		len += (size_t)sprintf(text + len, "%u%s", i * i, ends[i % 64 > 55 ? i % 8 : 0]);
	}
	struct xargs_options given[] = {
		{.limits = {.bytes = 10000}}, {.limits = {.bytes = 5000, .args = 601}}, {.items = {.literal = true, .delimiter = '\n'}},
		{.items = {.literal = true, .delimiter = '1'}, .limits = {.bytes = 5000}},
	};
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); ++i) {
		struct buf whole = BUF_INIT, pieces = BUF_INIT;
		size_t left;
		read_in_pieces(&given[i], text, len, len, &whole, &left);
		for (size_t piece = 1; piece < 40; piece += 3) {
			buf_reset(&pieces);
			read_in_pieces(&given[i], text, len, piece, &pieces, &left);
			check_string(buf_str(&pieces), buf_str(&whole));
		}
		given[i].items.eof = "none"; // byte by byte
		buf_reset(&pieces);
		read_in_pieces(&given[i], text, len, len, &pieces, &left);
		check_string(buf_str(&pieces), buf_str(&whole));
		buf_fini(&whole);
		buf_fini(&pieces);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("input without items gives one line or none, as is said", test_empty),
		TEST("items end at blanks and newlines, quotes and backslashes protect them", test_items),
		TEST("an open quote is an error behind what was before it", test_open_quotes),
		TEST("a NUL is told of once, and ends its argument", test_nul),
		TEST("nothing is special in literal items", test_literal),
		TEST("the end-of-file string ends the input where it is an item", test_eof),
		TEST("lines of input are counted, and go on behind a blank at their end", test_lines),
		TEST("command lines may have exactly the bytes of the limit", test_bytes),
		TEST("initial arguments that no line can hold are an error", test_initial_arguments),
		TEST("a line is full at its last argument, not behind it", test_counts),
		TEST("an item takes all its places but the command's name", test_replacement),
		TEST("items that are read at once are those that are read byte by byte", test_blocks),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
