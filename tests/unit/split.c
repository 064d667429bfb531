// Tests of shell/quoting.h: words as a shell splits them, and nothing else that a shell does.

#include "shell/quoting.h"

#include "base/alloc.h"
#include "shells.h"

static void check_words(const char *text, const char *expected) {
	struct buf words = BUF_INIT, out = BUF_INIT;
	struct split split;
	size_t at = 0;
	buf_adds(&words, "kept");
	int result = words_split(text, &words, &split);
	if (result != 0) {
		buf_printf(&out, "%s", split.error);
		check(strcmp(words.data, "kept") == 0 && words.len == 4);
	}
	for (at = 4; result == 0 && split.n > 0; --split.n) {
		buf_printf(&out, "<%s>", words.data + at);
		at += strlen(words.data + at) + 1;
	}
	check(result != 0 || at == words.len);
	check_string(buf_str(&out), expected);
	buf_fini(&words);
	buf_fini(&out);
}

static void test_split(void) {
	check_words("ls", "<ls>");
	check_words(" \tls  -l\n a\n", "<ls><-l><a>");
	check_words("a 'b c' \"d e\" f\\ g", "<a><b c><d e><f g>");
	check_words("a'b'\"c\"\\d", "<abcd>");
	check_words("'' \"\" x''", "<><><x>");
	check_words("'a\\b\"' \"it's\"", "<a\\b\"><it's>");
	check_words("\"\\$x \\` \\\" \\\\ \\n \\a\"", "<$x ` \" \\ \\n \\a>");
	check_words("a\\\nb \"c\\\nd\" 'e\\\nf'", "<ab><cd><e\\\nf>");
	check_words("\"a\nb\"", "<a\nb>");
	check_words("a|b > c && $d *.x #e", "<a|b><>><c><&&><$d><*.x><#e>");
	check_words("printf {} '{1} x'", "<printf><{}><{1} x>");
	check_words("gr\xC3\xB6\xC3\x9F\x65 \xFF", "<gr\xC3\xB6\xC3\x9F\x65><\xFF>");
}

static void test_errors(void) {
	check_words("", "there is no word");
	check_words(" \n\t", "there is no word");
	check_words("\\\n", "there is no word");
	check_words("it's", "a ' is not closed");
	check_words("a \"b c", "a \" is not closed");
	check_words("a \"b\\\"", "a \" is not closed");
	check_words("a \"b\\", "a \" is not closed");
	check_words("a 'b\\", "a ' is not closed");
	check_words("a\\", "there is nothing behind the backslash at its end");
}

// Texts without operators, as every shell here splits them.
static void test_as_shells(void) {
	static const char *const shells[] = {"sh", "dash", "bash", "ksh"};
	static const char pieces[] = "ab \t'\"\\xy  \\'\"";
	struct buf script = BUF_INIT, expected = BUF_INIT;
	buf_adds(&script, "show() { for w; do printf '<%s>' \"$w\"; done; echo; }\n");
	for (int i = 0; i < 3000; ++i) {
		struct buf text = BUF_INIT, words = BUF_INIT;
		for (unsigned len = 1 + random_below(14); len > 0; --len) {
			buf_addc(&text, pieces[random_below(sizeof(pieces) - 1)]);
		}
		struct split split;
		size_t at = 0;
		if (words_split(text.data, &words, &split) == 0) {
			buf_printf(&script, "show %s\n", text.data);
			for (; split.n > 0; --split.n) {
				buf_printf(&expected, "<%s>", words.data + at);
				at += strlen(words.data + at) + 1;
			}
			buf_addc(&expected, '\n');
		}
		buf_fini(&text);
		buf_fini(&words);
	}
	check(expected.len > 1000);
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); ++i) {
		struct buf out = BUF_INIT;
		if (shell_run(shells[i], &script, &out)) {
			check_string(buf_str(&out), buf_str(&expected));
		}
		buf_fini(&out);
	}
	buf_fini(&script);
	buf_fini(&expected);
}

static void check_syntax(const char *text, const char *expected) {
	FP_CLEANUP(buf_fini) struct buf words = BUF_INIT;
	struct split split;
	char found[40] = "";
	(void)words_split(text, &words, &split);
	if (split.syntax) {
		check(split.syntax >= text && split.syntax + split.syntax_len <= text + strlen(text) && split.syntax_len > 0);
		snprintf(found, sizeof(found), "%.*s", (int)split.syntax_len, split.syntax);
	}
	check_string(found, expected);
}

static void test_syntax(void) {
	check_syntax("ls -l 'a|b' \"c;d*\" \\> {} x#y http://a/?b=c&d=[1]", "");
	check_syntax("ls | cat", "|");
	check_syntax("a || b", "||");
	check_syntax("a&&b", "&&");
	check_syntax("a &", "&");
	check_syntax("a & b", "&");
	check_syntax("a; b", ";");
	check_syntax("a >> b", ">>");
	check_syntax("a 2>b", ">");
	check_syntax("a <b", "<");
	check_syntax("echo $HOME/x", "$HOME");
	check_syntax("echo \"x $HOME/x\"", "$HOME");
	check_syntax("echo \"\\$HOME\" '$HOME' \\$HOME 5$ $,", "");
	check_syntax("echo ${x}", "${");
	check_syntax("echo $(x)", "$(");
	check_syntax("echo `x`", "`");
	check_syntax("echo $?", "$?");
	check_syntax("ls *.c", "*");
	check_syntax("ls \"*.c\"", "");
	check_syntax("it's | x", "");
	check_syntax("$", "");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("quotes and backslashes keep words together", test_split),
		TEST("what cannot be split is named, and nothing is added", test_errors),
		TEST("words are those of a shell", test_as_shells),
		TEST("what only a shell understands is found", test_syntax),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
