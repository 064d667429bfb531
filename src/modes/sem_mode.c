// Semaphore mode: one command, run when there is room for it.
//
// The process that runs the command and its guardian hold the semaphore, by an open file. The command itself does not
// have the file: a daemon that it leaves behind holds nothing. If fairpar is killed, the guardian ends the command,
// and only then closes the file.

#include "modes/modes.h"

#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "process/guardian.h"
#include "run/run.h"
#include "slots/semaphore.h"
#include "slots/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { EXIT_GAVE_UP = 1 }; // exit status, as with GNU parallel

// Prints the message. Returns the exit status.
static int report(struct buf *error) {
	diag_error("%s", buf_str(error));
	return EXIT_TROUBLE;
}

#define SLOW (3 * NS_PER_S) // how long fairpar waits before a message says that it waits

static enum semaphore_result acquire_until(struct semaphore *semaphore, const struct options *options, unsigned limit, uint64_t deadline,
                                           struct buf *error) {
	return options->sem.waits ? semaphore_wait(semaphore, deadline, error) : semaphore_take(semaphore, limit, deadline, error);
}

// Waits for the semaphore (--wait), or takes one of its `limit` places. Returns 0; or, after a message, the exit
// status: EXIT_GAVE_UP if the semaphore was not free in time and the options say to give up then, or EXIT_TROUBLE.
static int acquire(struct semaphore *semaphore, const struct options *options, unsigned limit, struct buf *error) {
	const struct semaphore_options *sem = &options->sem;
	uint64_t deadline = sem->timeout > 0 ? now_ns() + sem->timeout : TIME_NEVER;
	uint64_t slow = options->given[OPT_QUIET] ? TIME_NEVER : now_ns() + SLOW; // options->quiet does not tell: semaphore mode always sets it
	enum semaphore_result result = acquire_until(semaphore, options, limit, time_earlier(deadline, slow), error);
	if (result == SEMAPHORE_TIMED_OUT && slow < deadline) {
		unsigned holding, waiting;
		if (semaphore_ahead(semaphore, &holding, &waiting, error) != 0) {
			return report(error);
		}
		diag_note("waits for semaphore '%s': %u running, %u waiting before this command", text_shows(sem->name), holding, waiting);
		result = acquire_until(semaphore, options, limit, deadline, error);
	}
	if (result == SEMAPHORE_TIMED_OUT) {
		diag_warn("semaphore '%s' was not free within %g s: %s", text_shows(sem->name), (double)sem->timeout / (double)NS_PER_S,
		          sem->gives_up ? "giving up" : sem->waits ? "not waiting any longer" : "taking it by force");
		if (sem->gives_up) {
			return EXIT_GAVE_UP;
		}
		result = sem->waits ? SEMAPHORE_DONE : semaphore_seize(semaphore, error);
	}
	return result == SEMAPHORE_DONE ? 0 : report(error);
}

// Opens the file `path` as standard input; with NULL, standard input stays. Returns 0, or -1 after a message.
static int open_input(const char *path) {
	FP_CLEANUP(fd_close) int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool is_open = !path || (fd >= 0 && dup2(fd, STDIN_FILENO) >= 0);
	return is_open ? 0 : diag_error("cannot open '%s': %s", text_shows(path), strerror(errno));
}

// Forks a process with a session of its own, so that it gets no SIGHUP when the caller's terminal closes. Returns 0 in the new
// process. In the calling process, returns its pid once it has that session, or -1 with errno.
static pid_t go_to_background(void) {
	int ends[2];
	char there = 0;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		pid = setsid() < 0 || write_all(ends[1], &there, 1) != 0 ? -1 : 0;
		close(ends[1]);
		return pid;
	}
	close(ends[1]);
	if (pid > 0 && read_some(ends[0], &there, 1) != 1) {
		errno = ECHILD; // the process was killed before it could say that it has its session
		pid = -1;
	}
	close(ends[0]);
	return pid;
}

// Runs the command as a run of one job: in this process, or in the background in a new one. Returns the exit status; in the background
// 0 once the new process is there.
static int run_command(struct semaphore *semaphore, struct options *options, struct context *context) {
	pid_t pid = options->sem.foreground ? 0 : go_to_background();
	if (pid < 0) {
		diag_error("cannot go to the background: %s", strerror(errno));
		semaphore_close(semaphore);
		return EXIT_TROUBLE;
	}
	if (pid > 0) {
		semaphore_forget(semaphore);
		return 0;
	}
	char one[] = "1";
	options->jobs = one;
	guardian_keep(GUARDIAN_SLOTS, semaphore_fd(semaphore));
	int status = run_all(options, context);
	semaphore_close(semaphore);
	return status;
}

int sem_run(struct options *options, struct context *context) {
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	struct slots_bounds bounds; // `most`: how many commands may hold the semaphore
	char *jobs_error;
	unsigned long nofile = context_raise_nofile(context);
	if (!options->sem.waits && limits_check(options, nofile) != 0) { // checked now: a run in the background has no exit status to report a failure by
		return EXIT_TROUBLE;
	}
	if (slots_parse(options->jobs ? options->jobs : "1", nofile, &bounds, &jobs_error) != 0) {
		diag_error_free(jobs_error);
		return EXIT_TROUBLE;
	}
	if (open_input(options->sem.input) != 0) {
		return EXIT_TROUBLE;
	}
	struct semaphore *semaphore = semaphore_open(options->sem.name, &error);
	int status = semaphore ? acquire(semaphore, options, bounds.most, &error) : report(&error);
	if (semaphore && (status != 0 || options->sem.waits)) {
		semaphore_close(semaphore);
	} else if (semaphore) {
		status = run_command(semaphore, options, context);
	}
	return status;
}
