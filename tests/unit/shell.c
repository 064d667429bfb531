// Tests of shell/shell.h: quoting that every shell reads back, what needs a shell, programs and shells found.

#include "shell/quoting.h"
#include "shell/shell.h"

#include "base/alloc.h"
#include "shells.h"

#include <errno.h>
#include <sys/stat.h>

static void check_quoted(const char *word, const char *expected) {
	struct buf buf = BUF_INIT;
	shell_quote(&buf, word, strlen(word));
	check_string(buf_str(&buf), expected);
	check_equal(buf.len, strlen(expected));
	buf_fini(&buf);
}

// Each spelling is that of `parallel --dry-run` (20221122).
static void test_spelling(void) {
	check_quoted("", "''");
	check_quoted("plain-_.+/09AZaz", "plain-_.+/09AZaz");
	check_quoted(" ", "' '");
	check_quoted("'", "\"'\"");
	check_quoted("''", "\"'\"''\"'\"");
	check_quoted("a'b", "'a'\"'\"'b'");
	check_quoted("'a", "\"'\"'a'");
	check_quoted("a'", "'a'\"'\"");
	check_quoted("it's ''x''", "'it'\"'\"'s '\"'\"''\"'\"'x'\"'\"''\"'\"");
	check_quoted("a\nb", "'a\nb'");
	for (int c = 1; c < 256; ++c) {
		char word[] = {'a', (char)c, 'b', '\0'}, expected[16];
		bool plain = c < 128 && (strchr("-_.+/", c) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
		snprintf(expected, sizeof(expected), c == '\'' ? "'a'\"'\"'b'" : plain ? "%s" : "'%s'", word);
		check_quoted(word, expected);
		check_equal(shell_is_plain(word, 3), plain);
	}
	check(!shell_is_plain("", 0));
}

static void check_reads_back(const char *shell, const struct buf *script, const struct buf *expected) {
	struct buf out = BUF_INIT;
	if (!shell_run(shell, script, &out)) {
		printf("# no %s here\n", shell);
		return;
	}
	check_equal(out.len, expected->len);
	check(memcmp(out.data, expected->data, out.len) == 0);
	buf_fini(&out);
}

static void test_reads_back(void) {
	struct buf script = BUF_INIT, expected = BUF_INIT;
	for (int i = 0; i < 100000; ++i) {
		char item[32];
		size_t len = random_item(item);
		buf_adds(&script, i % 500 ? " " : "\nprintf '%s\\0' ");
		shell_quote(&script, item, len);
		buf_add(&expected, item, len + 1);
	}
	static const char *const locales[] = {"C", "C.UTF-8"};
	for (size_t i = 0; i < 2; ++i) {
		check(setenv("LC_ALL", locales[i], 1) == 0);
		check_reads_back("sh", &script, &expected);
		check_reads_back("dash", &script, &expected);
		check_reads_back("bash", &script, &expected);
	}
	buf_fini(&script);
	buf_fini(&expected);
}

static bool needed(const char *command) {
	return shell_is_needed(command, strlen(command));
}

static void test_needed(void) {
	static const char *const direct[] = {
		"ls", "ls -l a/b c.d", " ls\t-l ", "/bin/ls x", "/nosuch/program x", "echo a b", "true", "false", "ls a=b", "ls a~ b#c",
		"ls %x @y a,b a:b", "ls \xc3\xa9", "ls --color=auto", "env A=b ls", "ls ]",
	};
	static const char *const shell[] = {
		"", " ", "nosuchcmd", "nosuchcmd x", "cd x", "exit 3", "if", ". x", ": x", "[ a ]", "[[ a ]]", "time ls", "test x",
		"printf x", "A=b ls", "A+=b ls", "ls 'a'", "ls \"a\"", "ls \\a", "ls $x", "ls `x`", "ls|cat", "ls & x", "ls; x", "ls <x",
		"ls >x", "(ls)", "{ ls; }", "ls *", "ls a?", "ls [a]", "ls ~", "~/x", "ls ~/x", "ls a:~/b", "ls a=~/b", "# ls", "ls #x",
		"ls\nls", "! ls", "ls ^x", "ls {a,b}", "ls x\n", "local x", "ulimit -n", "/bin/ls; x", "/bin/ls=x y",
	};
	for (size_t i = 0; i < sizeof(direct) / sizeof(direct[0]); ++i) {
		if (needed(direct[i])) {
			printf("# %s\n", direct[i]);
		}
		check(!needed(direct[i]));
	}
	for (size_t i = 0; i < sizeof(shell) / sizeof(shell[0]); ++i) {
		if (!needed(shell[i])) {
			printf("# %s\n", shell[i]);
		}
		check(needed(shell[i]));
	}
	check(!shell_has_syntax("nosuchcmd x", 11));
	check(shell_has_syntax("cd x", 4));
}

static void test_function(void) {
	check(!shell_uses_function("ls", 2));
	check(setenv("BASH_FUNC_ls%%", "() { :; }", 1) == 0);
	check(setenv("BASH_FUNC_do-it%%", "() { :; }", 1) == 0);
	check(setenv("BASH_FUNC_other", "x", 1) == 0);
	check(shell_function_exists("ls", 2) && shell_function_exists("do-it", 5));
	check(!shell_function_exists("l", 1) && !shell_function_exists("lsx", 3) && !shell_function_exists("other", 5));
	check(needed("ls x"));
	check(shell_uses_function("cd x&&do-it {}", 14));
	check(!shell_uses_function("cd x && do-itx {}", 17));
}

static void write_file(const char *dir, const char *name, const char *text, mode_t mode) {
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT, mode);
	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static void test_programs(void) {
	char one[] = "/tmp/fairpar-test.XXXXXX", two[] = "/tmp/fairpar-test.XXXXXX";
	char path[128], file[128];
	check(mkdtemp(one) && mkdtemp(two));
	snprintf(path, sizeof(path), "%s::%s", one, two);
	check(setenv("PATH", path, 1) == 0);

	errno = 0;
	check(!program_find("tool") && errno == ENOENT);
	check(!program_find("") && errno == ENOENT);
	write_file(one, "tool", "#!/bin/sh\n", 0600);
	check(!program_find("tool") && errno == EACCES);
	write_file(two, "tool", "#!/bin/sh\n", 0700);
	snprintf(file, sizeof(file), "%s/tool", two);
	const char *found = program_find("tool");
	check_string(found, file);
	check(program_find("tool") == found && program_find_direct("tool", strlen("tool")) == found);
	check(!needed("tool x"));

	// in the current directory, by the empty element
	write_file(one, "here", "#!/bin/sh\n", 0700);
	check(chdir(two) == 0);
	write_file(two, "there", "#!/bin/sh\n", 0700);
	check_string(program_find("there"), "./there");

	// a script without #! is for the shell to read
	write_file(two, "bare", "echo hello\n", 0700);
	check(program_find("bare") && needed("bare") && needed("./bare") && !needed("./there"));
	check(!program_find_direct("bare", strlen("bare")) && errno == ENOEXEC);
	check(!program_find_direct("./bare", strlen("./bare")) && errno == ENOEXEC);
	check_string(program_find_direct("./there", strlen("./there")), "./there");
	check_string(program_find_direct("./nosuch", strlen("./nosuch")), "./nosuch");
	check(!program_find("./nosuch") && errno == ENOENT);
	check(mkdir("dir", 0700) == 0);
	check(!program_find("dir") && errno == EACCES);

	unsetenv("PATH");
	check(program_find("ls"));

	static const char *const files[] = {"tool", "there", "bare", "here"};
	check(chdir("/") == 0);
	for (size_t i = 0; i < 4; ++i) {
		snprintf(file, sizeof(file), "%s/%s", i < 3 ? two : one, files[i]);
		check(unlink(file) == 0);
	}
	snprintf(file, sizeof(file), "%s/tool", one);
	check(unlink(file) == 0 && rmdir(one) == 0);
	snprintf(file, sizeof(file), "%s/dir", two);
	check(rmdir(file) == 0 && rmdir(two) == 0);
}

static void check_chosen(const char *option, const char *expected) {
	char *chosen = shell_choose(option);
	check(chosen);
	check_string(chosen, expected);
	free(chosen);
}

static void test_choose(void) {
	unsetenv("FAIRPAR_SHELL");
	unsetenv("PARALLEL_SHELL");
	unsetenv("SHELL");
	check_chosen(NULL, "/bin/sh");
	setenv("SHELL", "/bin/bash", 1);
	check_chosen(NULL, "/bin/bash");
	setenv("SHELL", "/bin/cat", 1);
	check_chosen(NULL, "/bin/sh");
	setenv("SHELL", "/nosuch/bash", 1);
	check_chosen(NULL, "/bin/sh");
	setenv("PARALLEL_SHELL", "/bin/dash", 1);
	check_chosen(NULL, "/bin/dash");
	setenv("FAIRPAR_SHELL", "", 1);
	check_chosen(NULL, "/bin/dash");
	setenv("FAIRPAR_SHELL", "/bin/cat", 1);
	check_chosen(NULL, "/bin/cat");
	check_chosen("/bin/sh", "/bin/sh");
	check_chosen("sh", program_find("sh"));
	check(!shell_choose("nosuchshell"));
	check(!shell_choose("/nosuch/shell"));
	setenv("FAIRPAR_SHELL", "/nosuch/shell", 1);
	check(!shell_choose(NULL) && errno == ENOENT);
	setenv("FAIRPAR_SHELL", "fish", 1);
	check(!shell_choose(NULL) && errno == ENOTSUP);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a word is spelled as GNU parallel spells it", test_spelling),
		TEST("every shell reads back the very bytes", test_reads_back),
		TEST("what means something to a shell needs one", test_needed),
		TEST("an exported bash function needs a shell", test_function),
		TEST("programs are found as execvp() finds them", test_programs),
		TEST("the shell is chosen by option, variables and kind", test_choose),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
