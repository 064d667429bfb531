// GNU make's jobserver: what $MAKEFLAGS says of it, and its tokens.

#include "slots/jobserver.h"

#include "base/io.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// "FORM READ,WRITE PATH JOBS DRY", of a value of $MAKEFLAGS.
static const char *parsed(const char *makeflags) {
	static const char *const forms[] = {"none", "pipe", "fifo", "unknown"};
	static char text[256];
	struct jobserver_flags flags;
	jobserver_parse(makeflags, &flags);
	int n = snprintf(text, sizeof(text), "%s", forms[flags.form]);
	if (flags.form == JOBSERVER_PIPE) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %d,%d", flags.read_fd, flags.write_fd);
	} else if (flags.form == JOBSERVER_FIFO) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", flags.path);
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "%s%.0u%s", flags.jobs > 0 ? " -j" : "", flags.jobs, flags.dry_run ? " -n" : "");
	jobserver_flags_fini(&flags);
	return text;
}

static void test_parse(void) {
	static const struct {
		const char *makeflags, *means;
	} cases[] = {
		{NULL, "none"}, {"", "none"}, {" ", "none"}, {"ks", "none"}, {" -j8", "none -j8"}, {"n", "none -n"}, {"ksn -j", "none -n"},
		{" -j8 --jobserver-auth=3,4", "pipe 3,4 -j8"},
		{" --jobserver-fds=3,4 -j", "pipe 3,4"},
		{"n --jobserver-auth=fifo:/tmp/a", "fifo /tmp/a -n"},
		{" --jobserver-auth=3,4 --jobserver-auth=fifo:x", "fifo x"},
		{" --jobserver-auth=fifo:x\t--jobserver-fds=5,6", "pipe 5,6"},
		{" --jobserver-auth=-2,-2", "none"}, {" --jobserver-auth=3,4 --jobserver-auth=-1,4", "none"},
		{" --jobserver-auth=", "unknown"}, {" --jobserver-auth=3", "unknown"}, {" --jobserver-auth=3,", "unknown"},
		{" --jobserver-auth=3,4x", "unknown"}, {" --jobserver-auth=3,4,5", "unknown"}, {" --jobserver-auth=,4", "unknown"},
		{" --jobserver-auth=fifo:", "unknown"}, {" --jobserver-auth=sem:x", "unknown"}, {" --jobserver-auth=3, 4", "unknown"},
		{" --jobserver-auth=99999999999,4", "unknown"}, {" -j99999999999999999999", "none"},
		{" -- A=--jobserver-auth=3,4", "none"}, {" -- --jobserver-auth=3,4", "none"},
		{"A=n", "none"}, {" --no-print-directory", "none"}, {" -- n", "none"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		check_string(parsed(cases[i].makeflags), cases[i].means);
	}
}

static void check_set(const char *makeflags, const char *auth, const char *expected) {
	char *got = jobserver_set_flags(makeflags, auth);
	check_string(got, expected);
	free(got);
}

static void test_set(void) {
	check_set(NULL, "fifo:/a", " -j --jobserver-auth=fifo:/a");
	check_set("", "3,4", " -j --jobserver-fds=3,4 --jobserver-auth=3,4");
	check_set("ks", "fifo:/a", "ks -j --jobserver-auth=fifo:/a");
	check_set("ks -j8 --jobserver-fds=1,2 -O --jobserver-auth=1,2", "fifo:/a", "ks -O -j --jobserver-auth=fifo:/a");
	check_set(" -j8 --jobserver-auth=1,2 -- A=1\\ 2 B=-j3", "fifo:/a", " -j --jobserver-auth=fifo:/a -- A=1\\ 2 B=-j3");
	check_set("k -j8 --jobserver-auth=1,2 -- A=1", NULL, "k -- A=1");
	check_set(" -j8 --jobserver-auth=1,2", NULL, "");
}

// All that is in it, in order.
static const char *drain(struct jobserver *jobserver) {
	static char text[32];
	size_t n = 0;
	while (n < sizeof(text) - 1 && jobserver_take(jobserver, &text[n])) {
		++n;
	}
	text[n] = '\0';
	return text;
}

static void check_shared(enum jobserver_form form) {
	struct jobserver server, client;
	struct jobserver_flags flags;
	char token;
	check_equal(jobserver_create(form, "/tmp", &server), 0);
	char *makeflags = jobserver_set_flags(NULL, server.auth);
	jobserver_parse(makeflags, &flags);
	check_equal(flags.form, form);
	check_equal(jobserver_connect(&flags, &client), 0);
	check(jobserver_is_empty(&client));
	check(!jobserver_take(&client, &token)); // and does not wait
	jobserver_put(&server, 'a');
	jobserver_put(&server, 'b');
	check(!jobserver_is_empty(&client));
	check(jobserver_take(&client, &token));
	check_equal(token, 'a');
	jobserver_put(&client, 'c');
	check_string(drain(&server), "bc");
	if (form == JOBSERVER_PIPE) { // the descriptions of jobs are theirs
		check_equal(fcntl(server.job_fds[0], F_GETFL) & O_NONBLOCK, 0);
		check_equal(fcntl(server.job_fds[0], F_GETFD) & FD_CLOEXEC, 0);
	}
	jobserver_close(&client);
	jobserver_close(&server);
	check_equal(jobserver_connect(&flags, &client), -1);
	check_equal(errno, form == JOBSERVER_PIPE ? EBADF : ENOENT);
	jobserver_flags_fini(&flags);
	free(makeflags);
}

static void test_pipe(void) {
	check_shared(JOBSERVER_PIPE);
}

static void test_fifo(void) {
	check_shared(JOBSERVER_FIFO);
}

static void test_no_pipe(void) {
	struct jobserver jobserver;
	int file = open("/dev/null", O_RDWR), ends[2];
	check(file >= 0 && pipe(ends) == 0);
	const struct jobserver_flags wrong[] = {
		{.form = JOBSERVER_PIPE, .read_fd = file, .write_fd = file},       // closed by make, and somebody else's by now
		{.form = JOBSERVER_PIPE, .read_fd = ends[1], .write_fd = ends[0]}, // the wrong way round
		{.form = JOBSERVER_PIPE, .read_fd = ends[0], .write_fd = 9999},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		check_equal(jobserver_connect(&wrong[i], &jobserver), -1);
		check_equal(errno, i < 2 ? EINVAL : EBADF); // open, but no pipe; not open
	}
	check_equal(jobserver_connect(&(struct jobserver_flags){.form = JOBSERVER_UNKNOWN}, &jobserver), -1);
	check_equal(errno, ENOTSUP);
	check_equal(jobserver_create(JOBSERVER_FIFO, "/tmp/no such directory", &jobserver), -1);
	check_equal(jobserver_create(JOBSERVER_FIFO, "/no-such-directory", &jobserver), -1);
	check_equal(errno, ENOENT);
	fd_close(&file);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("MAKEFLAGS names a jobserver", test_parse),
		TEST("MAKEFLAGS gets another jobserver, and keeps the rest", test_set),
		TEST("tokens go through a pipe", test_pipe),
		TEST("tokens go through a FIFO", test_fifo),
		TEST("what is no jobserver is not used as one", test_no_pipe),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
