// Signals arrive as events, and as nothing else.

#include "base/sync.h"
#include "process/signals.h"
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <sys/time.h>

static void test_event(void) {
	int fd = signals_open();
	check(fd >= 0);
	check_equal(signals_next(fd), 0);
	static const int sent[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1};
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); ++i) {
		kill(getpid(), sent[i]);
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		check_equal(poll(&ready, 1, -1), 1);
		check_equal(signals_next(fd), sent[i]);
		check_equal(signals_next(fd), 0);
	}
}

static void test_ignored(void) {
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	int fd = signals_open();
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGINT);
	check_equal(signals_next(fd), 0);
	kill(getpid(), SIGTERM);
	check_equal(signals_next(fd), SIGTERM);
	sigset_t ignored;
	signals_get_ignored(&ignored);
	check(sigismember(&ignored, SIGHUP) && sigismember(&ignored, SIGINT) && !sigismember(&ignored, SIGTERM));
}

static void test_pipe(void) {
	int fd = signals_open(), ends[2];
	check_equal(pipe(ends), 0);
	close(ends[0]);
	errno = 0;
	check_equal(write(ends[1], "x", 1), -1);
	check_equal(errno, EPIPE);
	check_equal(signals_next(fd), 0);
}

static void test_sigchld(void) {
	signal(SIGCHLD, SIG_IGN);
	check(signals_open() >= 0);
	pid_t pid = fork();
	if (pid == 0) {
		_exit(7);
	}
	int status;
	check_equal(waitpid(pid, &status, 0), pid);
	check_equal(WEXITSTATUS(status), 7);
}

static int die_by(int signal) {
	pid_t pid = fork();
	if (pid == 0) {
		check(signals_open() >= 0);
		signals_die(signal);
	}
	int status;
	check_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_die(void) {
	static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGKILL};
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); ++i) {
		int status = die_by(deadly[i]);
		check(WIFSIGNALED(status));
		check_equal(WTERMSIG(status), deadly[i]);
	}
	int status = die_by(SIGWINCH);
	check(WIFEXITED(status));
	check_equal(WEXITSTATUS(status), 128 + SIGWINCH);
}

static void test_stop(void) {
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0); // its parent is in another group of the session, so this one is no orphan
		int fd = signals_open();
		signals_stop_self();
		check_equal(signals_next(fd), SIGCONT);
		kill(getpid(), SIGTSTP); // still an event
		check_equal(signals_next(fd), SIGTSTP);
		_exit(3);
	}
	int status;
	check_equal(waitpid(pid, &status, WUNTRACED), pid);
	check(WIFSTOPPED(status));
	check_equal(WSTOPSIG(status), SIGTSTP);
	kill(pid, SIGCONT);
	check_equal(waitpid(pid, &status, WUNTRACED), pid);
	check_equal(WEXITSTATUS(status), 3);
}

static void no_words(void) {
}

// When the alarm is due (now_ns() time), rounded to microseconds.
static uint64_t alarm_time(void) {
	struct itimerval timer;
	uint64_t now = now_ns();
	check_equal(getitimer(ITIMER_REAL, &timer), 0);
	return now + (uint64_t)timer.it_value.tv_sec * NS_PER_S + (uint64_t)timer.it_value.tv_usec * 1000;
}

static void test_earliest_death(void) {
	check(signals_open() >= 0);
	signals_die_within(61, SIGTERM, no_words);
	uint64_t limit = now_ns() + 61 * NS_PER_S + NS_PER_MS, asked = now_ns();
	while (now_ns() < asked + NS_PER_S + 100 * (uint64_t)NS_PER_MS) { // so that 60 s from then are later than the limit
		poll(NULL, 0, 100);
	}
	signals_die_within(60, SIGTERM, no_words);
	check(alarm_time() <= limit);
	signals_die_within(30, SIGTERM, no_words); // this is earlier
	check(alarm_time() <= limit - 5 * NS_PER_S);
	signals_die_within(0, 0, NULL);
	signals_die_within(90, SIGTERM, no_words); // what was taken back does not count
	check(alarm_time() > limit);
	signals_die_within(0, 0, NULL);
	alarm(0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each signal that is answered arrives once, as an event", test_event),
		TEST("what was ignored at the start stays ignored", test_ignored),
		TEST("writing to a pipe without a reader is EPIPE, not death", test_pipe),
		TEST("an ignored SIGCHLD does not cost exit statuses", test_sigchld),
		TEST("the process dies by the signal, or with 128+n", test_die),
		TEST("a later time to die by does not replace an earlier one", test_earliest_death),
		TEST("stopping self is what SIGTSTP does, until SIGCONT", test_stop),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
