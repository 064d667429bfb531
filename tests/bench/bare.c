// bare: the spawn loop that fairpar's budgets are measured against, and nothing else.
//
//	bare [-w] [-j THREADS] JOBS COMMAND [ARGUMENT...]
//
// Runs COMMAND JOBS times, shared evenly between the threads, with the job's number as one more argument. Each job gets
// its own process group, /dev/null as stdin and a pipe each for stdout and stderr; the thread starts it by vfork, polls
// both pipes to their end, passes on what they hold, and waits for exactly that child. There is no queue, no lock, no
// spool, no table of jobs: nobody who keeps jobs' output apart can be much cheaper. With -w a job is a clone of a server
// that each thread has (warm/warm.h), and COMMAND is a path.

#include "process/children.h"
#include "warm/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct share {
	pthread_t thread;
	long first, last;  // numbers of its jobs
	char **argv;       // of the command; the last entry before NULL is the job's number
	int nargs;
};

static int dev_null;
static bool is_warm;

static struct children *children; // for -w: in the table of their guardian the clones enter themselves

// What a thread has for -w.
static _Thread_local struct {
	struct warm *servers;
	struct spawn_world world;
	struct context *context;
	void *stack_top;
	atomic_int *listed; // its entry in that table
} warm;

static void die(const char *what) {
	fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
	exit(255);
}

static void pipe_read(struct pollfd *from, int to) {
	char mem[65536];
	ssize_t n = read(from->fd, mem, sizeof(mem));
	if (n < 0) {
		die("read");
	}
	if (n == 0) {
		close(from->fd);
		from->fd = -1; // poll ignores it (POSIX poll)
	} else if (write(to, mem, (size_t)n) != n) {
		die("write");
	}
}

// Returns the pid of a clone of the thread's server, which is started for the first one.
static pid_t clone_job(char *argv[], int out, int err) {
	if (!warm.servers) {
		static atomic_uint nthreads;
		warm.context = context_capture();
		spawn_world_init(&warm.world);
		warm.listed = &children_guardian(children)->table->targets[atomic_fetch_add(&nthreads, 1)];
		warm.stack_top = spawn_stack_create();
		warm.servers = warm_create(WARM_SH, children);
	}
	struct spawn_config job = {
		.path = argv[0], .argv = argv, .env = environ, .world = &warm.world, .stdio = {dev_null, out, err}, .cgroup_fd = -1,
		.own_group = true, .dies_with_thread = true, .context = warm.context, .stack_top = warm.stack_top, .listed = warm.listed,
	};
	int pidfd = -1;
	struct spawn_error error;
	const struct starter *starter = warm_starter(warm.servers);
	pid_t pid = starter->start(starter->arg, &job, &pidfd, &error);
	const char *report = warm_report(warm.servers);
	if (pid <= 0 || strcmp(report, "yes") != 0) {
		fprintf(stderr, "bare: %s: %s\n", argv[0], report);
		exit(255);
	}
	close(pidfd);
	return pid;
}

static void job_run(char *argv[]) {
	int out[2], err[2];
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		die("pipe2");
	}
	pid_t pid = is_warm ? clone_job(argv, out[1], err[1]) : vfork();
	if (pid == 0) {
		setpgid(0, 0);
		dup2(dev_null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		execve(argv[0], argv, environ);
		_exit(127);
	}
	if (pid < 0) {
		die("vfork");
	}
	close(out[1]);
	close(err[1]);
	struct pollfd fds[] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0) {
			die("poll");
		}
		for (int i = 0; i < 2; ++i) {
			if (fds[i].fd >= 0 && fds[i].revents) {
				pipe_read(&fds[i], i + 1);
			}
		}
	}
	int status;
	if (waitpid(pid, &status, 0) != pid) {
		die("waitpid");
	}
	if (status) {
		fprintf(stderr, "bare: %s: wait status %d\n", argv[0], status);
		exit(1);
	}
}

static void *share_run(void *arg) {
	struct share *share = arg;
	char **argv = calloc((size_t)share->nargs + 2, sizeof(*argv));
	if (!argv) {
		die("calloc");
	}
	memcpy(argv, share->argv, (size_t)share->nargs * sizeof(*argv));
	char number[32];
	argv[share->nargs] = number;
	for (long i = share->first; i < share->last; ++i) {
		snprintf(number, sizeof(number), "%ld", i + 1);
		job_run(argv);
	}
	free(argv);
	warm_destroy(warm.servers);
	return NULL;
}

int main(int argc, char *argv[]) {
	long threads = 2;
	int opt;
	while ((opt = getopt(argc, argv, "+wj:")) == 'j' || opt == 'w') {
		is_warm = is_warm || opt == 'w';
		threads = opt == 'j' ? strtol(optarg, NULL, 10) : threads;
	}
	if (opt != -1 || argc - optind < 2 || threads < 1) {
		fprintf(stderr, "usage: bare [-w] [-j THREADS] JOBS COMMAND [ARGUMENT...]\n");
		return 255;
	}
	long jobs = strtol(argv[optind], NULL, 10);
	children = children_create(NULL, NULL, -1);
	dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (dev_null < 0) {
		die("/dev/null");
	}
	struct share *shares = calloc((size_t)threads, sizeof(*shares));
	if (!shares) {
		die("calloc");
	}
	for (long i = 0; i < threads; ++i) {
		shares[i].first = jobs * i / threads;
		shares[i].last = jobs * (i + 1) / threads;
		shares[i].argv = argv + optind + 1;
		shares[i].nargs = argc - optind - 1;
		errno = pthread_create(&shares[i].thread, NULL, share_run, &shares[i]);
		if (errno) {
			die("pthread_create");
		}
	}
	for (long i = 0; i < threads; ++i) {
		pthread_join(shares[i].thread, NULL);
	}
	free(shares);
	return 0;
}
