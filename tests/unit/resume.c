// Tests of log/resume.c: which jobs a joblog says are done.

#include "log/resume.h"

#include "log/joblog.h"
#include "test.h"

#include <stdlib.h>

static struct resume *resume;
static struct buf rows; // of the log

static const char *write_log(const char *text, size_t len) {
	static char path[64];
	snprintf(path, sizeof(path), "/tmp/fairpar-resume-%ld", (long)getpid());
	FILE *file = fopen(path, "w");
	check(file && fwrite(text, 1, len, file) == len && fclose(file) == 0);
	return path;
}

// Begins with the log of that text. Returns how many of its lines are neither header nor row.
static uint64_t begin_with(const char *text, size_t len, bool ok_only) {
	const char *path = write_log(text, len), *error;
	uint64_t strange;
	resume = resume_load(path, ok_only, &strange, &error);
	unlink(path);
	check(resume);
	return strange;
}

static void add(const char *line) {
	buf_adds(&rows, line);
	buf_addc(&rows, '\n');
}

static void add_row(unsigned long seq, int exitval, const char *command) {
	buf_printf(&rows, "%lu\t:\t1795218632.014\t     0.005\t0\t0\t%d\t0\t%s\n", seq, exitval, command);
}

static bool take(uint64_t seq, const char *command) {
	return resume_ask(resume, seq, command, command) == RESUME_DONE;
}

static void begin(void) {
	buf_reset(&rows);
	add("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand");
}

static void test_same_input(void) {
	begin();
	add_row(1, 0, "echo a");
	add_row(3, 1, "echo c");
	begin_with(rows.data, rows.len, false);
	check(take(1, "echo a"));
	check(!take(2, "echo b"));
	check(take(3, "echo c"));
	check(!take(4, "echo d"));
	resume_free(resume);
}

static void test_failed(void) {
	begin();
	add_row(1, 0, "echo a");
	add_row(2, 3, "echo b");
	add_row(3, 3, "echo c");
	add_row(3, 0, "echo c");
	add_row(4, 0, "echo d");
	add_row(4, -1, "echo d");
	begin_with(rows.data, rows.len, true);
	check(take(1, "echo a"));
	check(!take(2, "echo b"));
	check(take(3, "echo c")); // the last row counts
	check(!take(4, "echo d"));
	resume_free(resume);
}

static void test_failed_like_another(void) {
	begin();
	add_row(1, 1, "echo a");
	add_row(2, 0, "echo a");
	begin_with(rows.data, rows.len, true);
	check(!take(1, "echo a"));
	check(take(2, "echo a"));
	check(!take(3, "echo a"));
	resume_free(resume);
}

static void test_other_job(void) {
	begin();
	add_row(1, 0, "echo a");
	add_row(2, 3, "echo b");
	add_row(4, 0, "echo d");
	begin_with(rows.data, rows.len, true);
	check_equal(resume_ask(resume, 1, "echo z", "echo z"), RESUME_NEW);
	check_equal(resume_ask(resume, 2, "echo b", "echo b"), RESUME_RUN); // it failed
		check_equal(resume_ask(resume, 3, "echo z", "echo z"), RESUME_RUN); // it may have been cut off
	check_equal(resume_ask(resume, 5, "echo z", "echo z"), RESUME_NEW);
	check_equal(resume_ask(resume, 6, "echo b", "echo b"), RESUME_RUN); // it has moved, and the one that moved failed
	resume_free(resume);
}

static void test_changed_command(void) {
	begin();
	add_row(1, 0, "echo a");
	add_row(2, 0, "echo b");
	begin_with(rows.data, rows.len, false);
	check(!take(1, "echo z"));
	check(!take(2, "echo y"));
	check(take(3, "echo b"));
	check(!take(4, "echo b"));
	check(take(5, "echo a"));
	resume_free(resume);
}

// Equal commands are told apart by their numbers while nothing says that the input has moved.
static void test_equal_commands(void) {
	begin();
	add_row(2, 0, "work");
	add_row(3, 0, "work");
	begin_with(rows.data, rows.len, false);
	check(!take(1, "work"));
	check(take(2, "work"));
	check(take(3, "work"));
	check(!take(4, "work"));
	resume_free(resume);
}

// Asks for a command with digits that may be others: each # of `pattern`.
static enum resume_answer ask_marked(uint64_t seq, const char *pattern) {
	char one[64], two[64];
	size_t len = strlen(pattern);
	check(len < sizeof(one));
	for (size_t i = 0; i <= len; ++i) {
		one[i] = pattern[i] == '#' ? '1' : pattern[i];
		two[i] = pattern[i] == '#' ? '2' : pattern[i];
	}
	return resume_ask(resume, seq, one, two);
}

static void test_marks(void) {
	begin();
	add_row(1, 0, "echo 12 a");
	add_row(2, 0, "echo 1 b");
	add_row(3, 0, "echo 1071 c");
	add_row(4, 0, "echo x d");
	add_row(5, 1, "echo 1 e");
	add_row(5, 0, "echo 2 e");
	add_row(6, 1, "echo 3 f");
	begin_with(rows.data, rows.len, true);
	check_equal(ask_marked(1, "echo # a"), RESUME_DONE);
	check_equal(ask_marked(1, "echo # a"), RESUME_RUN); // its row is used up
	check_equal(ask_marked(2, "echo #2 b"), RESUME_NEW);
	check_equal(ask_marked(2, "echo # c"), RESUME_NEW);
	check_equal(ask_marked(7, "echo # b"), RESUME_NEW); // it has moved
	check_equal(ask_marked(2, "echo # b"), RESUME_DONE);
	check_equal(ask_marked(3, "echo ##7# d"), RESUME_NEW);
	check_equal(ask_marked(3, "echo ###71 c"), RESUME_NEW);
	check_equal(ask_marked(3, "echo ##7# c"), RESUME_DONE);
	check_equal(ask_marked(4, "echo # d"), RESUME_NEW);
	check_equal(ask_marked(5, "echo # e"), RESUME_DONE); // it has failed with other digits before
	check_equal(ask_marked(6, "echo # f"), RESUME_RUN);
	resume_free(resume);
}

static void test_counts(void) {
	begin();
	add_row(1, 0, "a");
	add_row(2, 0, "b");
	add_row(3, 0, "a");
	begin_with(rows.data, rows.len, false);
	check(!take(1, "new"));
	check(take(2, "a"));
	check(take(3, "a")); // its own row, not yet used
	check(!take(4, "a"));
	check(take(5, "b"));
	check(!take(6, "b"));
	resume_free(resume);
}

static void test_many_equal(void) {
	begin();
	for (unsigned long i = 1; i <= 200000; ++i) {
		add_row(2 * i, 0, "same");
	}
	add_row(1, 0, "other");
	begin_with(rows.data, rows.len, false);
	unsigned long taken = 0;
	for (uint64_t seq = 1; seq <= 500000; ++seq) {
		taken += take(seq, "same");
	}
	check_equal(taken, 200000);
	resume_free(resume);
}

static void test_garbage(void) {
	static const char *const bad[] = {
		"", "x", "1", "1\t:\t1.0\t0.1\t0\t0\t0\t0", "a\t:\t1.0\t0.1\t0\t0\t0\t0\tc", "\t:\t1.0\t0.1\t0\t0\t0\t0\tc",
		"1\t\t1.0\t0.1\t0\t0\t0\t0\tc", "1\t:\t1.0\t0.1\t0\t0\t0\t\tc", "1\t:\t1x0\t0.1\t0\t0\t0\t0\tc",
		"0\t:\t1.0\t0.1\t0\t0\t0\t0\tc", "-1\t:\t1.0\t0.1\t0\t0\t0\t0\tc", " 1\t:\t1.0\t0.1\t0\t0\t0\t0\tc",
		"99999999999999999999999\t:\t1.0\t0.1\t0\t0\t0\t0\tc", "1\t:\t1.0\t0.1\t0\t0\t0\t0\tc" JOBLOG_CUT,
		"1\t:\t1.0\t0.1\t0\t0\t0\t0" JOBLOG_CUT, "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand",
	};
	begin();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
		add(bad[i]);
	}
	add("7\t:\t1.0\t0.1\t0\t0\t0\t0\t");
	add("4294967299\thost\t1.0\t0.1\t1\t2\t-2\t0\tx\ty");
	check_equal(begin_with(rows.data, rows.len, false), sizeof(bad) / sizeof(bad[0]) - 1);
	check(take(7, ""));
	check(take(4294967299, "x\ty"));
	check(!take(1, "c"));
	resume_free(resume);
}

static void test_newline(void) {
	static const char row[] = "1\t:\t1.0\t0.1\t0\t0\t0\t0\techo a\0b";
	begin();
	buf_add(&rows, row, sizeof(row) - 1);
	add("");
	begin_with(rows.data, rows.len, false);
	check(!take(1, "echo a"));
	check(take(1, "echo a\nb"));
	resume_free(resume);
}

// Commands whose ends differ only in length.
static void test_lengths(void) {
	char text[64];
	begin();
	memset(text, 'x', sizeof(text));
	for (int len = 0; len < 40; ++len) {
		char line[128];
		snprintf(line, sizeof(line), "%d\t:\t1.0\t0.1\t0\t0\t0\t0\t%.*s", len + 1, len, text);
		add(line);
	}
	begin_with(rows.data, rows.len, false);
	for (size_t len = 0; len < 40; ++len) {
		char command[64];
		snprintf(command, sizeof(command), "%.*s", (int)len, text);
		check(take(len + 1, command));
		check(!take(len + 1, command));
	}
	resume_free(resume);
}

static const char atomic_file_log[] = JOBLOG_HEADER
	"2\t:\t1795218632.014\t     0.005\t0\t0\t0\t0\techo 12\n"
	"1\t:\t1795218632.014\t     0.005\t0\t0\t3\t0\techo 1\n"
	"3\t:\t1795218632.014\t     0.005\t0\t0\t0\t0\techo 123\n";

// At whatever byte the log is cut, only whole rows count.
static void test_every_cut(void) {
	for (size_t len = 0; len < sizeof(atomic_file_log); ++len) {
		check_equal(begin_with(atomic_file_log, len, false), 0);
		size_t whole = 0;
		for (size_t i = sizeof(JOBLOG_HEADER) - 1; i < len; ++i) {
			whole += atomic_file_log[i] == '\n';
		}
		check_equal(take(1, "echo 1"), whole >= 2);
		check_equal(take(2, "echo 12"), whole >= 1);
		check_equal(take(3, "echo 123"), whole >= 3);
		resume_free(resume);
	}
}

static void test_no_log(void) {
	const char *error = NULL, *path = write_log("#!/bin/sh\necho\n", 15);
	uint64_t strange;
	check(!resume_load(path, false, &strange, &error));
	check_string(error, "it is not a joblog");
	unlink(path);
	check(!resume_load("/dev/null", false, &strange, &error));
	check(!resume_load("/", false, &strange, &error));
	resume = resume_load(path, false, &strange, &error);
	check(!take(1, "echo"));
	resume_free(resume);
}

static void test_failed_jobs(void) {
	static const char log[] = JOBLOG_HEADER
		"9\t:\t1.0\t0.1\t0\t0\t1\t0\tnine\n"
		"2\t:\t1.0\t0.1\t0\t0\t1\t0\ttwo\n"
		"3\t:\t1.0\t0.1\t0\t0\t0\t9\tthree\0lines\n"
		"4\t:\t1.0\t0.1\t0\t0\t0\t0\tfour\n"
		"2\t:\t1.0\t0.1\t0\t0\t0\t0\ttwo\n"
		"9\t:\t1.0\t0.1\t0\t0\t-1\t15\tnine\n";
	uint64_t *seqs;
	size_t n;
	begin_with(log, sizeof(log) - 1, false);
	char **commands = resume_failed(resume, &seqs, &n);
	check_equal(n, 2);
	check_equal(seqs[0], 3);
	check_string(commands[0], "three\nlines");
	check_equal(seqs[1], 9);
	check_string(commands[1], "nine");
	free(commands);
	free(seqs);
	resume_free(resume);
	begin_with("", 0, false);
	commands = resume_failed(resume, &seqs, &n);
	check_equal(n, 0);
	free(commands);
	free(seqs);
	resume_free(resume);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a job with a row is done, one without is not", test_same_input),
		TEST("what failed is done only if failures count as done, and the last row decides", test_failed),
		TEST("a changed command is never done, and a moved one is found", test_changed_command),
		TEST("equal commands are told apart by their numbers", test_equal_commands),
		TEST("any digits stand for a mark, but in no row of another number", test_marks),
		TEST("a command that was logged twice is done twice", test_counts),
		TEST("many rows of the same command are used up one by one", test_many_equal),
		TEST("a line that is no whole row marks nothing as done", test_garbage),
		TEST("a newline in a command is the NUL of the log", test_newline),
		TEST("commands of any length are told apart", test_lengths),
		TEST("a job that failed runs again, and none of the same command for it", test_failed_like_another),
		TEST("a job that was not in the log is told from one that failed, moved or was cut off", test_other_job),
		TEST("a log cut at any byte counts its whole rows", test_every_cut),
		TEST("what is no joblog is refused, and none is an empty one", test_no_log),
		TEST("the jobs that failed in the end are listed by number", test_failed_jobs),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
