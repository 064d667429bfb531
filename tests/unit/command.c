// Tests of plan/command.h: which commands run directly and which by the shell, and what execve() gets.

#include "plan/command.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "plan/shell.h"
#include "shells.h"

#include <errno.h>
#include <sys/stat.h>

static const struct expansion *item(const char *text) {
	static struct record record;
	static struct expansion x = {.record = &record, .seq = 7, .slot = 3};
	record = (struct record){.args = text, .size = strlen(text) + 1, .nargs = 1};
	return &x;
}

// The command as "PATH: <word><word>".
static void check_built(struct command *command, const struct template *template, const struct expansion *x,
                        const char *shell, const char *expected) {
	check_equal(command_build(command, template, x, shell), 0);
	struct buf out = BUF_INIT;
	buf_printf(&out, "%s:", command->path);
	for (char **word = command->argv; *word; ++word) {
		buf_printf(&out, " <%s>", *word);
	}
	check_string(buf_str(&out), expected);
	buf_fini(&out);
}

static void check_template(const char *text, const char *arg, const char *expected) {
	char *error;
	struct template *template = template_parse(&text, 1, TEMPLATE_APPEND, NULL, &error);
	struct command command = COMMAND_INIT;
	check_built(&command, template, item(arg), "/bin/sh", expected);
	command_fini(&command);
	template_free(template);
}

static void check_line(const char *line, const char *expected) {
	struct command command = COMMAND_INIT;
	check_built(&command, NULL, item(line), "/bin/sh", expected);
	command_fini(&command);
}

// The expected text with the path of the program in front.
static const char *direct(const char *program, const char *words) {
	static char text[400];
	snprintf(text, sizeof(text), "%s: %s", program_find(program), words);
	return text;
}

static void test_direct(void) {
	check_template("ls {}", "a b; $c", direct("ls", "<ls> <a b; $c>"));
	check_template("ls", "", direct("ls", "<ls> <>"));
	check_template("ls {9}", "x", direct("ls", "<ls>"));
	check_template("/bin/ls {}", "'", "/bin/ls: </bin/ls> <'>");
	check_template("/nosuch/program {}", "a b", "/nosuch/program: </nosuch/program> <a b>");
	check_template("echo {}", "a b", direct("echo", "<echo> <a b>"));
	check_template("ls {}", "~", direct("ls", "<ls> <~>"));
}

static void test_shell(void) {
	check_template("ls {}|cat", "a b", "/bin/sh: </bin/sh> <-c> <ls 'a b'|cat>");
	check_template("cd {}", "a b", "/bin/sh: </bin/sh> <-c> <cd 'a b'>");
	check_template("nosuchcmd {}", "a b", "/bin/sh: </bin/sh> <-c> <nosuchcmd 'a b'>");
	check_template("{}", "ls a b", "/bin/sh: </bin/sh> <-c> <ls a b>");
	check_template("{}", "-x", "/bin/sh: </bin/sh> <-c> < -x>");
	check_template("{}", "", "/bin/sh: </bin/sh> <-c> <>");
	check_template("echo {}", "--help", "/bin/sh: </bin/sh> <-c> <echo --help>");
	check_template("echo {} x", "--help", direct("echo", "<echo> <--help> <x>"));
}

static void test_lines(void) {
	check_line("ls  -l\ta ", direct("ls", "<ls> <-l> <a>"));
	check_line(" true", direct("true", "<true>"));
	check_line("ls -l | cat", "/bin/sh: </bin/sh> <-c> <ls -l | cat>");
	check_line("nosuchcmd x", "/bin/sh: </bin/sh> <-c> <nosuchcmd x>");
	check_line("", "/bin/sh: </bin/sh> <-c> <>");
	check_line("echo --version", "/bin/sh: </bin/sh> <-c> <echo --version>");
	struct record record = {.args = "ls\0-l\0a b", .size = 10, .nargs = 3};
	struct expansion x = {.record = &record};
	struct command command = COMMAND_INIT;
	check_built(&command, NULL, &x, "/bin/sh", direct("ls", "<ls> <-l> <a> <b>"));
	command_fini(&command);
}

static void test_function(void) {
	check(setenv("BASH_FUNC_doit%%", "() {  echo did \"$1\"\n}", 1) == 0);
	char expected[200];
	snprintf(expected, sizeof(expected), "%s: <%s> <-c> <doit 'a b'>", program_find("bash"), program_find("bash"));
	check_template("doit {}", "a b", expected);
	snprintf(expected, sizeof(expected), "%s: <%s> <-c> <true && doit 'a b'>", program_find("bash"), program_find("bash"));
	check_template("true && doit {}", "a b", expected);
	check_template("true && doits {}", "a b", "/bin/sh: </bin/sh> <-c> <true && doits 'a b'>");
	const char *text = "doit {}";
	char *error;
	struct template *template = template_parse(&text, 1, 0, NULL, &error);
	struct command command = COMMAND_INIT;
	check_built(&command, template, item("x"), "/opt/bash", "/opt/bash: </opt/bash> <-c> <doit x>");
	command_fini(&command);
	template_free(template);
}

static void test_too_long(void) {
	static const char *const texts[] = {"ls {}", "ls {} | cat", NULL};
	for (size_t i = 0; i < 3; ++i) {
		char *error;
		struct template *template = texts[i] ? template_parse(&texts[i], 1, 0, NULL, &error) : NULL;
		struct command command = COMMAND_INIT;
		size_t around = !texts[i] ? 0 : i == 1 ? strlen("ls  | cat") : 0;
		size_t most = 131071 - around;
		char *arg = xmalloc(most + 2);
		memset(arg, 'x', most + 1);
		arg[most + 1] = '\0';
		if (!texts[i]) {
			memcpy(arg, "cd ", 3);
		}
		errno = 0;
		check_equal(command_build(&command, template, item(arg), "/bin/sh"), -1);
		check_equal(errno, E2BIG);
		arg[most] = '\0';
		check_equal(command_build(&command, template, item(arg), "/bin/sh"), 0);
		command_fini(&command);
		template_free(template);
		free(arg);
	}
}

static void test_reused(void) {
	const char *text = "ls {} {}";
	char *error;
	struct template *template = template_parse(&text, 1, 0, NULL, &error);
	struct command command = COMMAND_INIT;
	check_built(&command, template, item("a long item to begin with"), "/bin/sh",
	            direct("ls", "<ls> <a long item to begin with> <a long item to begin with>"));
	char **argv = command.argv;
	char *words = command.words.data;
	check_built(&command, template, item("x"), "/bin/sh", direct("ls", "<ls> <x> <x>"));
	check(command.argv == argv && command.words.data == words);
	command_fini(&command);
	template_free(template);
}

static void test_quoted(void) {
	const char *words[] = {"ls", "a  b", "{}", "$x"};
	char *error;
	struct template *template = template_parse(words, 4, TEMPLATE_QUOTE, NULL, &error);
	struct command command = COMMAND_INIT;
	check_built(&command, template, item("it's"), "/bin/sh", direct("ls", "<ls> <a  b> <it's> <$x>"));
	template_free(template);
	words[0] = "umask";
	template = template_parse(words, 4, TEMPLATE_QUOTE, NULL, &error);
	check_built(&command, template, item("y"), "/bin/sh", "/bin/sh: </bin/sh> <-c> <umask 'a  b' y '$x'>");
	command_fini(&command);
	template_free(template);
}

static void test_text(void) {
	struct buf text = BUF_INIT;
	command_text(NULL, item("ls  'a'"), &text);
	check_string(buf_str(&text), "ls  'a'");
	buf_reset(&text);
	const char *words = "ls {}";
	char *error;
	struct template *template = template_parse(&words, 1, 0, NULL, &error);
	command_text(template, item("a b"), &text);
	check_string(buf_str(&text), "ls 'a b'");
	template_free(template);
	buf_fini(&text);
}

static void *build_many(void *arg) {
	(void)arg;
	static const char *const lines[] = {"ls x", "cat y", "sort", "nosuchcmd", "/bin/ls x", "cd /", "sed p", "head", "wc"};
	struct command command = COMMAND_INIT;
	for (size_t i = 0; i < 5000; ++i) {
		const char *line = lines[i % (sizeof(lines) / sizeof(lines[0]))];
		struct record record = {.args = line, .size = strlen(line) + 1, .nargs = 1};
		check_equal(command_build(&command, NULL, &(struct expansion){.record = &record}, "/bin/sh"), 0);
	}
	command_fini(&command);
	return NULL;
}

static void test_threads(void) {
	thread threads[4];
	for (size_t i = 0; i < 4; ++i) {
		check_equal(thread_start(&threads[i], build_many, NULL, 256 << 10), 0);
	}
	for (size_t i = 0; i < 4; ++i) {
		thread_join(threads[i]);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a command without shell syntax is executed directly", test_direct),
		TEST("shell syntax, builtins and unknown programs go to the shell", test_shell),
		TEST("a line of input is a command", test_lines),
		TEST("exported functions go to bash", test_function),
		TEST("a string above the limit is E2BIG before any spawn", test_too_long),
		TEST("memory is kept from job to job", test_reused),
		TEST("-q needs no shell but for builtins", test_quoted),
		TEST("the text for people is what a shell would be given", test_text),
		TEST("threads build commands at the same time", test_threads),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
