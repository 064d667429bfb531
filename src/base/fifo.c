// Opens files for writing that may be FIFOs, and so have to wait for a reader.

#include "base/fifo.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int taken[] = {SIGALRM, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { NTAKEN = sizeof(taken) / sizeof(taken[0]) };

static char waits[512], ends[512]; // messages, which handlers of signals write

static void say(int signal) {
	const char *text = signal == SIGALRM ? waits : ends;
	int error = errno;
	(void)!write(STDERR_FILENO, text, strlen(text)); // there is nobody else to be told
	if (signal != SIGALRM) {
		raise(signal); // its action is the default one again (SA_RESETHAND), and it is let through when this returns
	}
	errno = error;
}

int fifo_open(const char *path, int flags, const char *end) {
	struct stat stat_;
	if (stat(path, &stat_) != 0 || !S_ISFIFO(stat_.st_mode) || (flags & O_ACCMODE) != O_WRONLY) {
		return open(path, flags, 0666);
	}
	snprintf(waits, sizeof(waits), "%.64s: waiting for a reader of '%.300s'\n", diag_name(), text_shows(path));
	snprintf(ends, sizeof(ends), "%.64s: ended while waiting for a reader of '%.300s': %.64s\n", diag_name(), text_shows(path), end);
	struct sigaction old[NTAKEN];
	sigset_t alarm_only, mask;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	for (size_t i = 0; i < NTAKEN; ++i) {
		struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
		verify(sigaction(taken[i], NULL, &old[i]) == 0);
		if (taken[i] == SIGALRM || old[i].sa_handler == SIG_DFL) { // what nohup has made ignored stays so
			verify(sigaction(taken[i], &action, NULL) == 0);
		}
	}
	verify(pthread_sigmask(SIG_UNBLOCK, &alarm_only, &mask) == 0);
	alarm(1);
	int fd = open(path, flags, 0666), error = errno;
	alarm(0);
	verify(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0);
	for (size_t i = 0; i < NTAKEN; ++i) {
		verify(sigaction(taken[i], &old[i], NULL) == 0);
	}
	errno = error;
	return fd;
}
