// Tests of template/command.h: which commands run directly and which by the shell, and what execve() gets.

#include "template/command.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "shell/shell.h"
#include "shells.h"

#include <errno.h>
#include <sys/stat.h>

static const struct expansion *item(const char *text) {
	static struct record record;
	static struct expansion x = {.record = &record, .seq = 7, .slot = 3};
	record = (struct record){.args = text, .size = strlen(text) + 1, .nargs = 1};
	return &x;
}

static int build_by(struct command *command, const struct template *template, const struct expansion *x,
                    const struct interpreter *by) {
	struct buf text = BUF_INIT;
	command_text(template, x, by, &text);
	int result = command_build(command, template, x, by, &text);
	int error = errno;
	buf_fini(&text);
	errno = error;
	return result;
}

static int build(struct command *command, const struct template *template, const struct expansion *x, const char *shell) {
	return build_by(command, template, x, &(struct interpreter){.shell = shell});
}

// The command as "PATH: <word><word>".
static void check_built_by(struct command *command, const struct template *template, const struct expansion *x,
                           const struct interpreter *by, const char *expected) {
	check_equal(build_by(command, template, x, by), 0);
	struct buf out = BUF_INIT;
	buf_printf(&out, "%s:", command->path);
	for (char **word = command->argv; *word; ++word) {
		buf_printf(&out, " <%s>", *word);
	}
	check_string(buf_str(&out), expected);
	buf_fini(&out);
}

static void check_built(struct command *command, const struct template *template, const struct expansion *x,
                        const char *shell, const char *expected) {
	check_built_by(command, template, x, &(struct interpreter){.shell = shell}, expected);
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
		check_equal(build(&command, template, item(arg), "/bin/sh"), -1);
		check_equal(errno, E2BIG);
		arg[most] = '\0';
		check_equal(build(&command, template, item(arg), "/bin/sh"), 0);
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

static const struct expansion *words_of(const char *args, size_t size, uint32_t nargs) {
	static struct record record;
	static struct expansion x = {.record = &record};
	record = (struct record){.args = args, .size = size, .nargs = nargs};
	return &x;
}
#define WORDS(args, n) words_of(args, sizeof(args), n)

static void check_refused(const struct expansion *x, const struct interpreter *by, int error) {
	struct command command = COMMAND_INIT;
	errno = 0;
	check_equal(build_by(&command, NULL, x, by), -1);
	check_equal(errno, error);
	check(command.argv && (x->record->nargs == 0 ? !command.argv[0] : strcmp(command.argv[0], x->record->args) == 0));
	command_fini(&command);
}

static void test_no_shell(void) {
	const struct interpreter none = {.shell = NULL};
	struct command command = COMMAND_INIT;
	check_built_by(&command, NULL, WORDS("ls\0a  b\0$x|*\0{}\0", 5), &none, direct("ls", "<ls> <a  b> <$x|*> <{}> <>"));
	check(!command.by_shell);
	check_built_by(&command, NULL, WORDS("echo\0--help", 2), &none, direct("echo", "<echo> <--help>"));
	check_built_by(&command, NULL, WORDS("./no such", 1), &none, "./no such: <./no such>");
	const char *words[] = {"printf", "{} ", "{}", ""};
	char *error;
	struct template *template = template_parse(words, 4, TEMPLATE_QUOTE, NULL, &error);
	check_built_by(&command, template, item("a;b"), &none, direct("printf", "<printf> <a;b > <a;b> <>"));
	template_free(template);
	template = template_parse(words, 4, TEMPLATE_QUOTE | TEMPLATE_LITERAL, NULL, &error);
	check_built_by(&command, template, item("a;b"), &none, direct("printf", "<printf> <{} > <{}> <>"));
	template_free(template);
	command_fini(&command);
	check_refused(WORDS("cd\0x", 2), &none, ENOENT);
	check_refused(WORDS("", 1), &none, ENOENT);
	check_refused(WORDS("", 0), &none, ENOENT);
	char *large = xmalloc(131073);
	memset(large, 'x', 131072);
	large[131072] = '\0';
	check_refused(words_of(large, 131073, 1), &none, E2BIG);
	free(large);
}

static void make_program(const char *dir, const char *name, mode_t mode) {
	char path[300];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	check(file && fputs("echo x\n", file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

static void test_own_path(void) {
	char one[] = "/tmp/fairpar-command.XXXXXX", two[] = "/tmp/fairpar-command.XXXXXX";
	check(mkdtemp(one) && mkdtemp(two));
	make_program(one, "dull", 0644);
	make_program(one, "late", 0644);
	make_program(two, "late", 0755);
	make_program(two, "ls", 0755);
	char path[200], expected[200];
	snprintf(path, sizeof(path), "bin:%s::%s", one, two);
	struct command command = COMMAND_INIT;
	const struct interpreter none = {.path = path}, sh = {.shell = "/bin/sh", .path = path};
	snprintf(expected, sizeof(expected), "%s/late: <late> <x y>", two);
	check_built_by(&command, NULL, WORDS("late\0x y", 2), &none, expected);
	snprintf(expected, sizeof(expected), "%s/ls: <ls>", two);
	check_built_by(&command, NULL, WORDS("ls", 1), &none, expected);
	check_built_by(&command, NULL, WORDS("a/ls", 1), &none, "a/ls: <a/ls>");
	check_built_by(&command, NULL, WORDS("dull", 1), &none, "bin/dull: <dull>"); // from the job's directory
	check_built_by(&command, NULL, WORDS("cat", 1), &(struct interpreter){.path = ""}, "./cat: <cat>");
	check_refused(WORDS("dull", 1), &(struct interpreter){.path = one}, EACCES);
	check_refused(WORDS("cat", 1), &(struct interpreter){.path = one}, ENOENT);
	// the shell looks for it
	check_built_by(&command, NULL, item("ls x"), &sh, "/bin/sh: </bin/sh> <-c> <ls x>");
	check_built_by(&command, NULL, item("late x"), &sh, "/bin/sh: </bin/sh> <-c> <late x>");
	check_built_by(&command, NULL, item("/bin/ls x"), &sh, "/bin/ls: </bin/ls> <x>");
	const char *texts[] = {"ls {}", "/bin/ls {}"};
	static const char *const built[] = {"/bin/sh: </bin/sh> <-c> <ls 'a b'>", "/bin/ls: </bin/ls> <a b>"};
	for (size_t i = 0; i < 2; ++i) {
		char *error;
		struct template *template = template_parse(&texts[i], 1, 0, NULL, &error);
		check_built_by(&command, template, item("a b"), &sh, built[i]);
		template_free(template);
	}
	command_fini(&command);
	static const char *const names[] = {"dull", "late", "ls"};
	for (size_t i = 0; i < 6; ++i) {
		snprintf(expected, sizeof(expected), "%s/%s", i % 2 ? one : two, names[i / 2]);
		unlink(expected);
	}
	check(rmdir(one) == 0 && rmdir(two) == 0);
}

static void test_text(void) {
	struct buf text = BUF_INIT;
	const struct interpreter sh = {.shell = "/bin/sh"}, none = {.shell = NULL};
	command_text(NULL, WORDS("ls\0a  b\0\0it's", 4), &none, &text);
	check_string(buf_str(&text), "ls 'a  b' '' 'it'\"'\"'s'");
	buf_reset(&text);
	command_text(NULL, item("ls  'a'"), &sh, &text);
	check_string(buf_str(&text), "ls  'a'");
	buf_reset(&text);
	const char *words = "ls {}";
	char *error;
	struct template *template = template_parse(&words, 1, 0, NULL, &error);
	command_text(template, item("a b"), &sh, &text);
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
		check_equal(build(&command, NULL, &(struct expansion){.record = &record}, "/bin/sh"), 0);
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
		TEST("without a shell the words are executed as they are", test_no_shell),
		TEST("a job's own PATH is searched for it", test_own_path),
		TEST("the text for people is what a shell would be given", test_text),
		TEST("threads build commands at the same time", test_threads),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
