// Tests of template/template.h: replacement strings as GNU parallel has them, words, and quoting inside quotes.

#include "template/template.h"

#include "base/alloc.h"
#include "shell/quoting.h"
#include "shells.h"

// The record of a NULL-terminated list.
static struct record record_of(const char *const *args, struct buf *buf) {
	uint32_t n = 0;
	buf_reset(buf);
	for (; args[n]; ++n) {
		buf_add(buf, args[n], strlen(args[n]) + 1);
	}
	return (struct record){.args = buf->data, .size = buf->len, .nargs = n};
}

static struct template *parse(const char *text, unsigned flags, const struct names *names) {
	char *error = NULL;
	struct template *template = template_parse(&text, 1, flags, names, &error);
	if (!template) {
		fprintf(stderr, "# %s\n", error);
	}
	check(template);
	return template;
}

// The text for a list of arguments; sequence number 7, slot 3. The caller frees it.
static char *expand(const char *text, unsigned flags, const struct names *names, const char *const *args) {
	struct template *template = parse(text, flags, names);
	struct buf bytes = BUF_INIT, out = BUF_INIT;
	struct record record = record_of(args, &bytes);
	template_expand(template, &(struct expansion){.record = &record, .seq = 7, .slot = 3}, &out);
	buf_fini(&bytes);
	template_free(template);
	return buf_take(&out);
}

#define check_expand(text, flags, expected, ...) do { \
		char *out_ = expand(text, flags, NULL, (const char *const[]){__VA_ARGS__, NULL}); \
		check_string(out_, expected); \
		free(out_); \
	} while (0)

// What GNU parallel 20221122 makes of each item.
static void test_forms(void) {
	static const struct { const char *item, *no_extension, *base, *dir, *base_no_extension; } table[] = {
		{"a/b.c/d.tar.gz", "a/b.c/d.tar", "d.tar.gz", "a/b.c", "d.tar"},
		{"x", "x", "x", ".", "x"},
		{"/abs", "/abs", "abs", "/", "abs"},
		{".hidden", "''", ".hidden", ".", "''"},
		{"a/.hid", "a/", ".hid", "a", "''"},
		{"dir/", "dir/", "''", ".", "''"},
		{"", "''", "''", ".", "''"},
		{"/", "/", "''", "/", "''"},
		{"//", "//", "''", "/", "''"},
		{"a/", "a/", "''", ".", "''"},
		{"a//b", "a//b", "b", "a", "b"},
		{"/a/b", "/a/b", "b", "/a", "b"},
		{"a//b//", "a//b//", "''", "a", "''"},
		{".", "''", ".", ".", "''"},
		{"..", ".", "..", ".", "."},
		{"../x.y", "../x", "x.y", "..", "x"},
		{"a.b/c", "a.b/c", "c", "a.b", "c"},
		{"a.", "a", "a.", ".", "a"},
		{".a.b", ".a", ".a.b", ".", ".a"},
		{"a..b", "a.", "a..b", ".", "a."},
		{"a b.c d", "'a b'", "'a b.c d'", ".", "'a b'"},
		{"a/b/", "a/b/", "''", "a", "''"},
		{"//x", "//x", "x", "/", "x"},
		{"x/.", "x/", ".", "x", "''"},
		{"a.b/", "a.b/", "''", ".", "''"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
		char expected[200];
		snprintf(expected, sizeof(expected), "e %s %s %s %s", table[i].no_extension, table[i].base, table[i].dir,
		         table[i].base_no_extension);
		check_expand("e {.} {/} {//} {/.}", 0, expected, table[i].item);
		check_expand("e {2.} {2/} {2//} {2/.}", 0, expected, "x", table[i].item);
		check_expand("e {-1.} {-1/} {-1//} {-1/.}", 0, expected, "x", table[i].item);
	}
	check_expand("e {/} {.}", 0, "e 'c\n.d' 'a\nb/c\n'", "a\nb/c\n.d");
}

static void test_tokens(void) {
	check_expand("e {#} {%}", 0, "e 7 3", "x");
	check_expand("e {1}{2}{3}{-1}{-2}{-3}", 0, "e abba", "a", "b");
	check_expand("e x{}y", 0, "e x1 'a b'y", "1", "a b");
	check_expand("e x{/}y", 0, "e xb dy", "a/b", "c/d");
	check_expand("e {0} {00} {01} {-0} {99999999999999999999}", 0, "e a b  a  ", "a", "b");
	check_expand("e {1 } {1 .} {2\t/}", 0, "e a.x a d", "a.x", "c/d");
	check_expand("e { 1} {+1} {foo} {} {a,b} ${x} {1 2} {", 0, "e { 1} {+1} {foo} v {a,b} ${x} {1 2} {", "v");
	check_expand("e {{}} {{1}}", 0, "e {v} {v}", "v");
	check_expand("e {.} {}", 0, "e '{#}' '{#}.{1}'", "{#}.{1}");
	check_expand("e {", 0, "e {", "v");
	check_expand("e {1", 0, "e {1", "v");
	check_expand("e {= x", 0, "e {= x", "v");
	check_expand("e =} {= {}", 0, "e =} {= v", "v");
	check_expand("awk '{print $1}' {}", 0, "awk '{print $1}' v", "v");
}

static void test_append(void) {
	check_expand("e", TEMPLATE_APPEND, "e a 'b c'", "a", "b c");
	check_expand("e", 0, "e", "a");
	check_expand("e {foo}", TEMPLATE_APPEND, "e {foo} a", "a");
	check_expand("e {#}", TEMPLATE_APPEND, "e 7", "a");
	check_expand("e {%}", TEMPLATE_APPEND, "e 3", "a");
	check_expand("e {9}", TEMPLATE_APPEND, "e ", "a");
	check_expand("e {.}", TEMPLATE_APPEND, "e a", "a.b");
	check_expand("e ", TEMPLATE_APPEND, "e  a", "a");
}

static void test_joined(void) {
	const char *words[] = {"e", "", "a  b", "{}"};
	char *error;
	struct template *template = template_parse(words, 4, TEMPLATE_APPEND, NULL, &error);
	struct buf bytes = BUF_INIT, out = BUF_INIT;
	struct record record = record_of((const char *const[]){"x y", NULL}, &bytes);
	template_expand(template, &(struct expansion){.record = &record}, &out);
	check_string(buf_str(&out), "e  a  b 'x y'");
	template_free(template);
	buf_fini(&bytes);
	buf_fini(&out);
}

static void test_raw(void) {
	check_expand("{}", 0, "a b; c", "a b; c");
	check_expand("{} {}", 0, "a b 'a b'", "a b");
	check_expand("{2} {1}", 0, "x y 'a b'", "a b", "x y");
	check_expand(" {}", 0, " 'a b'", "a b");
	check_expand("./{}", 0, "./'a b'", "a b");
	check_expand("A={} x", 0, "A='a b' x", "a b");
	check_expand("{1}-'{2}'-{//}", TEMPLATE_RAW, "a b-'c d'-. .", "a b", "c d");
	check_expand("{}", TEMPLATE_RAW, "a\nb", "a\nb");
}

static void test_names(void) {
	char *list[] = {(char[]){"a"}, (char[]){"e-mail addr"}, (char[]){" b "}, (char[]){""}, (char[]){"#"}, (char[]){"2"}};
	struct names names = {.names = list, .n = 6};
	const char *const args[] = {"d/x.y", "m", "n", "o", "p", "q", NULL};
	static const struct { const char *text, *expected; } cases[] = {
		{"e {a} {a.} {a/} {a//} {a/.}", "e d/x.y d/x x.y d x"}, {"e {e-mail addr} {b} { b } {b/}", "e m n n n"},
		{"e {#} {2} {3}", "e p q n"}, {"e {A} {aa} {a }", "e {A} {aa} {a } d/x.y m n o p q"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		char *out = expand(cases[i].text, TEMPLATE_APPEND, &names, args);
		check_string(out, cases[i].expected);
		free(out);
	}
}

// What GNU parallel 20221122 makes of them.
static void test_plus(void) {
	static const struct tokens tokens = {{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"}, .plus = true};
	struct names names = {.tokens = &tokens};
	static const struct { const char *text, *item, *expected; } table[] = {
		{"{..} {...} {/..} {/...}", "a/b.c/d.tar.gz.x", "a/b.c/d.tar a/b.c/d d.tar d"},
		{"{..} {...} {/..} {+/}|{+.}|{+..}", "x", "x x x ||"},
		{"{..} {+/} {+.} {+..} {+...}|", "d/a.b.c", "d/a d c b.c |"},
		{"{+.}|{+..}|", "a.b/c", "b/c||"},
		{"{:-z}", "", "z"}, {"{:-z}", "0", "z"}, {"{:-z}", "00", "00"},
		{"{:2}|{:9}|{:0:2}|{:1:1}|{:9:1}|", "abc", "c||ab|b||"},
		{"{#z.*z.} {##z.*z.} {%.z.*z} {%%.z.*z}", "z.z.z.foo", "z.foo foo z.z.z.foo z.z.z.foo"},
		{"{%.z.*z} {%%.z.*z}", "foo.z.z.z", "foo.z foo"},
		{"{#x} {%x} {#}", "xax", "ax xa 7"},
		{"{/a/b} {//a/b} {/#a/b} {/%a/b} {/a/}", "aXa", "bXa bXb bXa aXb Xa"},
		{"{//x*/-}", "abc", "-a-b-c-"}, {"{//a*/-}", "aab", "--b-"}, {"{//b/a.b}", "b", "a.b"},
		{"{^a} {^^[ab]} {,A} {,,[AB]}", "abAB", "AbAB ABAB abAB abab"},
		{"{^^[a-z]+}", "\303\244a", "\303\244A"},
		{"{%\\d+} {%%\\d+} {//\\s/_}", "a 12", "a 1 a  a_12"},
		{"{0#}|{0%}|{##}|{slot}", "x", "007|03|123|3"},
		{"{host}{sshlogin}{hgrp}{agrp}", "x", "::"},
		{"{foo} {:x} {/x} {^} {:-} {###x}", "v", "{foo} {:x} {/x} {^} {:-} {###x}"},
		{"{1..} {-1:1} {2:1}|", "a.b.c", "a .b.c |"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
		struct template *template = parse(table[i].text, TEMPLATE_RAW, &names);
		struct buf bytes = BUF_INIT, out = BUF_INIT;
		struct record record = record_of((const char *const[]){table[i].item, NULL}, &bytes);
		template_expand(template, &(struct expansion){&record, .seq = 7, .slot = 3, .slots = 12, .total = 123}, &out);
		check_string(buf_str(&out), table[i].expected);
		check_equal(template_has(template, TEMPLATE_NEEDS_TOTAL), strstr(table[i].text, "{0#}") != NULL);
		buf_fini(&bytes);
		buf_fini(&out);
		template_free(template);
	}
	char *error = NULL;
	check(!template_parse((const char *const[]){"e {%(}"}, 1, 0, &names, &error));
	check(strncmp(error, "cannot use '(' as a regular expression: ", 40) == 0);
	free(error);
	check_expand("e {..} {##}", 0, "e {..} {##}", "a.b.c"); // not without --plus
}

static void test_choosing(void) {
	static const struct tokens tokens = {{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"}, .plus = true};
	struct names names = {.tokens = &tokens};
	struct template *rise = parse("e {choose_k}", 0, &names), *unique = parse("e {uniq}", 0, &names);
	static const struct { const char *args[4]; bool rises, is_unique; } table[] = {
		{{"a", "b", "c"}, true, true}, {{"b", "a"}, false, true}, {{"a", "b", "a"}, false, false}, {{"a", "a"}, false, false},
		{{"a"}, true, true},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); ++i) {
		struct buf bytes = BUF_INIT;
		struct record record = record_of(table[i].args, &bytes);
		check_equal(template_skips(rise, &record), !table[i].rises);
		check_equal(template_skips(unique, &record), !table[i].is_unique);
		buf_fini(&bytes);
	}
	template_free(rise);
	template_free(unique);
}

static void test_renamed(void) {
	static const struct tokens tokens = {{",,", "{x}", "BASE", "//", "{/.}", "{#}", "%"}, .plus = false};
	struct names names = {.tokens = &tokens};
	char *out = expand("e ,,- {x} BASE // % {1} {1x} {-1/.} {} {.}", 0, &names, (const char *const[]){"d/a.b", NULL});
	check_string(out, "e d/a.b- d/a a.b d 3 {1} d/a a {} {.}");
	free(out);
	out = expand("e", TEMPLATE_APPEND, &names, (const char *const[]){"a b", NULL});
	check_string(out, "e 'a b'");
	free(out);
}

static void test_perl(void) {
	static const char *const refused[] = {"e {= $_ =}", "e {==}", "{=1 s/a/b/ =}"};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		char *error = NULL;
		check(!template_parse(&refused[i], 1, 0, NULL, &error));
		check_string(error, "Perl expressions {= =} are not in fairpar; use --plus ({/re/text}, {%re}, {:2:3} and more), "
		                    "or a command that makes the change");
		free(error);
	}
	const char *split[] = {"e", "{=", "$_", "=}"};
	char *error = NULL;
	check(!template_parse(split, 4, 0, NULL, &error));
	free(error);
}

// The words of a direct template in <>, or "shell" if it is none.
static void check_words(const char *text, unsigned flags, const char *const *args, const char *expected) {
	struct template *template = parse(text, flags, NULL);
	struct buf out = BUF_INIT;
	if (!template_has(template, TEMPLATE_IS_DIRECT)) {
		buf_adds(&out, "shell");
	} else {
		struct buf bytes = BUF_INIT, words = BUF_INIT;
		struct record record = record_of(args, &bytes);
		size_t n = template_expand_words(template, &(struct expansion){.record = &record, .seq = 7, .slot = 3}, &words);
		const char *word = words.data;
		for (size_t i = 0; i < n; ++i, word += strlen(word) + 1) {
			buf_printf(&out, "<%s>", word);
		}
		check(word == words.data + words.len);
		buf_fini(&bytes);
		buf_fini(&words);
	}
	check_string(buf_str(&out), expected);
	buf_fini(&out);
	template_free(template);
}

static void test_words(void) {
	const char *const args[] = {"a b", "", "$c", NULL};
	check_words("ls {}", 0, args, "<ls><a b><><$c>");
	check_words("  ls\t-l  x{}y ", 0, args, "<ls><-l><xa b><><$cy>");
	check_words("ls {2} {9} x{9} {9}", 0, args, "<ls><><x>");
	check_words("ls", TEMPLATE_APPEND, args, "<ls><a b><><$c>");
	check_words("ls {#}-{%} {1}{3}", 0, args, "<ls><7-3><a b$c>");
	check_words("./x-{1} {3}", 0, args, "<./x-a b><$c>");
	check_words("nosuchcmd {3}", 0, args, "<nosuchcmd><$c>");
	static const char *const shell[] = {"{} x", "x{} y", "{1}/x", "cd {}", "ls {} | x", "ls '{}'", "ls ~{}", "ls #{}", "A={} x",
	                                    "ls {a,{}}", "", " {}"};
	for (size_t i = 0; i < sizeof(shell) / sizeof(shell[0]); ++i) {
		check_words(shell[i], 0, args, "shell");
	}
	check_words("ls {}", TEMPLATE_RAW, args, "shell");
}

static void check_quoted_words(const char *const *words, size_t n, const char *expected, bool direct) {
	char *error;
	struct template *template = template_parse(words, n, TEMPLATE_APPEND | TEMPLATE_QUOTE, NULL, &error);
	struct buf bytes = BUF_INIT, out = BUF_INIT;
	struct record record = record_of((const char *const[]){"x y", "z", NULL}, &bytes);
	template_expand(template, &(struct expansion){.record = &record}, &out);
	check_string(buf_str(&out), expected);
	check_equal(template_has(template, TEMPLATE_IS_DIRECT), direct);
	template_free(template);
	buf_fini(&bytes);
	buf_fini(&out);
}

// As `parallel -q --dry-run`.
static void test_quote(void) {
	check_quoted_words((const char *const[]){"e", "{1}", "{9}", "a b", "{}"}, 5, "e 'x y' '' 'a b' 'x y' z", true);
	check_quoted_words((const char *const[]){"e", "a'{}b"}, 2, "e 'a'\"'\"'x y' zb", true);
	check_quoted_words((const char *const[]){"perl", "-e", "s/FOO BAR/$x/g", ""}, 4, "perl -e 's/FOO BAR/$x/g' '' 'x y' z", true);
	check_quoted_words((const char *const[]){"cd", "{1}"}, 2, "cd 'x y'", false);
}

// Templates that print their item between `before` and `after`, and a NUL.
static const struct context {
	const char *text, *before, *after;
	enum { EXACT, NO_NEWLINES, BASH_ONLY, NO_NAMES } kind;
} contexts[] = {
	{"printf '%s\\0' {}", "", "", EXACT},
	{"printf '%s\\0' '{}'", "", "", EXACT},
	{"printf '%s\\0' \"{}\"", "", "", EXACT},
	{"printf '%s\\0' a{}b", "a", "b", EXACT},
	{"printf '%s\\0' 'a'{}\"b\"", "a", "b", EXACT},
	{"printf '%s\\0' 'a\"{}'\"'c\"", "a\"", "'c", EXACT},
	{"printf '%s\\0' \"a'{}'b\"", "a'", "'b", EXACT},
	{"printf '%s\\0' \\{}", "", "", EXACT},
	{"printf '%s\\0' a\\\\{}", "a\\", "", EXACT},
	{"printf '%s\\0' \"\\{}\"", "\\", "", EXACT},
	{"printf '%s\\0' \"\\\"{}\\\"\"", "\"", "\"", EXACT},
	{"printf '%s\\0' 'a\\{}'", "a\\", "", EXACT},
	{"printf '%s\\0' \"$(printf '%sX' {})\"", "", "X", EXACT},
	{"printf '%s\\0' \"$(printf '%sX' \"{}\")\"", "", "X", EXACT},
	{"printf '%s\\0' \"$(printf '%sX' '{}')\"", "", "X", EXACT},
	{"printf '%s\\0' \"a$(echo)b{}\"", "ab", "", EXACT},
	{"printf '%s\\0' \"`printf '%sX' {}`\"", "", "X", EXACT},
	{"printf '%s\\0' \"`printf '%sX' '{}'`\"", "", "X", EXACT},
	{"printf '%s\\0' \"`printf '%sX' \\\"{}\\\"`\"", "", "X", EXACT},
	{"x=`printf '%sX' \"{}\"`; printf '%s\\0' \"$x\"", "", "X", EXACT},
	{"x=`printf '%sX' {}`; printf '%s\\0' \"$x\"", "", "X", EXACT},
	{"x=`printf '%sX' 'a\\{}'`; printf '%s\\0' \"$x\"", "a\\", "X", EXACT},
	{"x=`printf '%sX' \"a\\{}\"`; printf '%s\\0' \"$x\"", "a\\", "X", EXACT},
	{"x={}; printf '%s\\0' \"$x\"", "", "", EXACT},
	{"x=\"{}\" y='{}'; printf '%s\\0' \"$x\"", "", "", EXACT},
	{"printf '%s\\0' \"${nosuch:-{}}\"", "", "", EXACT},
	{"printf '%s\\0' ${nosuch:-\"{}\"}", "", "", EXACT},
	{"(printf '%s\\0' {})", "", "", EXACT},
	{"{ printf '%s\\0' {}; }", "", "", EXACT},
	{"case x in x) printf '%s\\0' \"{}\";; esac", "", "", EXACT},
	{"if true; then printf '%s\\0' {}; fi # it's {}\nx='x'", "", "", EXACT},
	{"printf '%s\\0' a#\"{}\"", "a#", "", EXACT},
	{": $((1<<2))\nprintf '%s\\0' '{}'", "", "", EXACT},
	{"cat <<E\na {}b\nE\nprintf 'it'\"'\"'s \\0'", "a ", "b\nit's ", EXACT},
	{"cat <<E | cat\n\\{}\nE\nprintf '\\0'", "\\", "\n", EXACT},
	{"cat <<-E;printf '%s\\0' '{}'\n\tx\n\tE", "x\n", "", EXACT},
	{"cat <<'E E'\na\"{}\nE E\nprintf '%s\\0' \"b\"", "a\"", "\nb", NO_NEWLINES},
	{"printf '%s\\0' \"a${}\"", "a$", "", NO_NAMES},
	{"printf '%s\\0' \"${9}{}\"", "$", "", NO_NAMES},
	{"x=`printf '%sX' \"${}\"`; printf '%s\\0' \"$x\"", "$", "X", NO_NAMES},
	{"cat <<E\n${}\nE\nprintf '\\0'", "$", "\n", NO_NAMES},
	{"printf '%s\\0' \\{9}{}", "", "", EXACT},
	{"printf '%s\\0' $'\\x41{}\\x42'", "A", "B", BASH_ONLY},
	{"printf '%s\\0' $'\\{}'", "\\", "", BASH_ONLY},
	{"cat <<<'{}'; printf '%s\\0' \"\"", "", "\n", BASH_ONLY},
};

static void add_expected(const struct context *context, const char *item, size_t len, struct buf *out) {
	buf_adds(out, context->before);
	for (size_t i = 0; i < len; ++i) {
		buf_addc(out, context->kind == NO_NEWLINES && item[i] == '\n' ? ' ' : item[i]);
	}
	buf_add(out, context->after, strlen(context->after) + 1);
}

enum { ITEMS = 200 }; // in each place

static void check_context(const struct context *context, const char *const *shells) {
	struct template *template = parse(context->text, 0, NULL);
	struct buf script = BUF_INIT, expected = BUF_INIT;
	for (int i = 0; i < ITEMS; ++i) {
		char item[32];
		size_t len = random_item(item);
		if (context->kind == NO_NAMES && (len == 0 || shell_is_plain(item, len))) { // $HOME is meant
			continue;
		}
		struct record record = {item, len + 1, 1};
		template_expand(template, &(struct expansion){.record = &record}, &script);
		buf_addc(&script, '\n');
		add_expected(context, item, len, &expected);
	}
	for (; *shells; ++shells) {
		struct buf out = BUF_INIT;
		bool there = shell_run(*shells, &script, &out);
		if (there && (out.len != expected.len || memcmp(out.data, expected.data, out.len) != 0)) {
			size_t at = 0;
			while (at < out.len && at < expected.len && out.data[at] == expected.data[at]) {
				++at;
			}
			fprintf(stderr, "# %s with %s: %zu bytes, not %zu; other from byte %zu\n", *shells, context->text, out.len,
			        expected.len, at);
			exit(1);
		}
		buf_fini(&out);
	}
	buf_fini(&script);
	buf_fini(&expected);
	template_free(template);
}

static void test_contexts(void) {
	static const char *const all[] = {"sh", "dash", "bash", NULL};
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); ++i) {
		check_context(&contexts[i], contexts[i].kind == BASH_ONLY ? all + 2 : all);
	}
}

static void test_redirection(void) {
	check_expand("e {}>f", 0, "e '5'>f", "5");
	check_expand("e {}>f", 0, "e 'x'>f", "x");
	check_expand("e {1}2{2}<f", 0, "e '1'2'3'<f", "1", "3");
	check_expand("e {} >f", 0, "e 5 >f", "5");
	check_expand("e \\{}>f ${}>f", 0, "e \\5>f $5>f", "5");
	check_expand("e {#}>&2 {}", 0, "e '7'>&2 a", "a");
}

static void test_variables(void) {
	check_expand("\"$(case x in (x) e {};; esac)\"", 0, "_item1='$(x)'; \"$(case x in (x) e \"${_item1}\";; esac)\"", "$(x)");
	check_expand("e {} `x {.}`", 0, "e a.b `x a`", "a.b");
	check_expand("e {} `x {1.}`", 0, "_item1='a b.c'; _item2='a b'; e \"${_item1}\" `x \"${_item2}\"`", "a b.c");
	check_expand("e \"{}${x}\" '{}' {}", 0, "_item1='$'; _item2='$'; _item3='$'; e \"${_item1}${x}\" ''\"${_item2}\"'' \"${_item3}\"", "$");
}

static void test_quotes_around(void) {
	check_expand("e \"{}\" '{}'", 0, "e \"a b\" 'a b'", "a b");
	check_expand("e \"{}\" '{}'", 0, "e \"a-b\" 'a-b'", "a-b");
}

static void test_literal(void) {
	check_expand("ls {} {1} {#} {.} {= 1 =}", TEMPLATE_LITERAL, "ls {} {1} {#} {.} {= 1 =}", "x");
	check_expand("{}", TEMPLATE_LITERAL | TEMPLATE_RAW, "{}", "x");
	check_expand("ls a", TEMPLATE_LITERAL | TEMPLATE_APPEND, "ls a", "x");
	check_expand("a {}'", TEMPLATE_LITERAL | TEMPLATE_QUOTE, "'a {}'\"'\"", "x");
	struct template *template = parse("ls -l a", TEMPLATE_LITERAL, NULL);
	struct buf words = BUF_INIT;
	struct record record = {.args = "x", .size = 2, .nargs = 1};
	check(template_has(template, TEMPLATE_IS_DIRECT));
	check_equal(template_expand_words(template, &(struct expansion){.record = &record}, &words), 3);
	check(words.len == 8 && memcmp(words.data, "ls\0-l\0a", 8) == 0);
	template_free(template);
	template = parse("ls {}", TEMPLATE_LITERAL, NULL);
	check(!template_has(template, TEMPLATE_IS_DIRECT)); // braces are the shell's
	template_free(template);
	buf_fini(&words);
}

// The last two lines of a refusal but one, which show the place.
static void check_refusal(const char *text, const char *expected) {
	char *error = NULL;
	check(!template_parse(&text, 1, TEMPLATE_APPEND, NULL, &error));
	const char *shown = strchr(error, '\n'), *advice = strrchr(error, '\n');
	check(shown && strncmp(error, "an item cannot stand here: ", 27) == 0);
	char *place = xmemdup(shown, (size_t)(advice - shown));
	check_string(place, expected);
	free(place);
	free(error);
}

static void test_nothing(void) {
	check_expand("", 0, "", "a");
	check_expand("{2}", 0, "", "a");
}

static void test_refusals(void) {
	check_refusal("sh `z ${a:-", "\n    sh `z ${a:- {}\n                ^^"); // the item is appended
	check_refusal("a\n`b {}\nc", "\n    `b {}\n       ^^");
	check_refusal("\xE6\x97\xA5\t\xFD\x01 `{/.}", "\n    \xE6\x97\xA5\\t\\xFD\\x01 `{/.}\n                  ^^^^");
	char text[2000];
	memset(text, 'x', sizeof(text));
	memcpy(text + 1000, " `{}", 4);
	memcpy(text + sizeof(text) - 2, "\n", 2);
	char *error = NULL;
	check(!template_parse((const char *const[]){text}, 1, 0, NULL, &error));
	check(strstr(error, "\n    ...xxxx") && strstr(error, "xx `{}xxx") && strstr(error, "xxx...\n"));
	check(strlen(error) < 500);
	free(error);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("paths are cut as GNU parallel cuts them", test_forms),
		TEST("replacement strings are found, others stay", test_tokens),
		TEST("the item is appended where no replacement string is", test_append),
		TEST("words are joined by blanks", test_joined),
		TEST("an item that the command begins with is not quoted", test_raw),
		TEST("columns have the names of the header", test_names),
		TEST("the strings of --plus", test_plus),
		TEST("arguments in order, and without doubles", test_choosing),
		TEST("renamed replacement strings", test_renamed),
		TEST("Perl expressions are refused", test_perl),
		TEST("a template without shell syntax gives words", test_words),
		TEST("-q keeps each word one word", test_quote),
		TEST("an item arrives wherever the template puts it", test_contexts),
		TEST("a number before a redirection stays an argument", test_redirection),
		TEST("items go into variables where text is intricate", test_variables),
		TEST("an item is spelled for the quotes around it", test_quotes_around),
		TEST("what expands to nothing is the empty string", test_nothing),
		TEST("a refusal shows the place in a line that is safe and not too long", test_refusals),
		TEST("a literal template has no replacement strings", test_literal),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
