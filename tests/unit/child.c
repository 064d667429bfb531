// A child from start to end: how it starts, what is taken from it, how it is made to end, and what it leaves.

#include "process/child.h"

#include "base/atomic.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/sync.h"
#include "process/children.h"
#include "process/guardian.h"
#include "process/proctree.h"
#include "process/signals.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#ifdef FAIRPAR_FAULTS
enum { FAULTS = 1 };
#else
enum { FAULTS = 0 };
#endif

// ---- a world for one test ----

// What fairpar has around its children, and what the last child said.
struct world {
	struct context *context;
	struct children *children;
	void *stack_top;
	struct output_reader output_reader;
	struct child_config config;
	struct buf out, err;
	bool keeps_terminating; // children_terminate() once the child has said something
	bool says;              // reports what it hears on said[1]
	int said[2];
	int signal_fd;          // tells of nothing but what children_reap_orphans() asks for
	struct result result;
	struct spawn_error error;
};

static ssize_t hear(void *arg, enum child_stream stream, int fd) {
	struct world *world = arg;
	struct buf *buf = stream == STREAM_OUT ? &world->out : &world->err;
	ssize_t n = read(fd, buf_reserve(buf, 65536), 65536);
	if (n > 0) {
		buf->len += (size_t)n;
		buf->data[buf->len] = '\0';
	}
	if (n > 0 && world->keeps_terminating) {
		children_terminate(world->children);
	}
	if (n > 0 && world->says) {
		check_equal(write(world->said[1], "x", 1), 1);
	}
	return n;
}

static void close_from_3(void) {
	for (int fd = 3; fd < 256; ++fd) {
		close(fd); // not all are open
	}
}

static void block_signals(void) {
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGALRM); // the harness's
	sigprocmask(SIG_BLOCK, &all, NULL);
}

static void world_open_seq(struct world *world, const char *seq_text) {
	close_from_3(); // what the harness was started with
	memset(world, 0, sizeof(*world));
	world->context = context_capture();
	block_signals();
	context_raise_nofile(world->context);
	struct term_seq seq;
	const char *error;
	check_equal(term_seq_parse(seq_text, &seq, &error), 0);
	world->children = children_create(&seq, NULL, -1);
	world->stack_top = spawn_stack_create();
	check_equal(pipe2(world->said, O_CLOEXEC), 0);
	sigset_t none;
	sigemptyset(&none);
	world->signal_fd = signalfd(-1, &none, SFD_CLOEXEC | SFD_NONBLOCK);
	check(world->signal_fd >= 0);
	world->output_reader = (struct output_reader){.readable = hear, .arg = world};
	world->config = (struct child_config){
		.env = world->context->env,
		.context = world->context,
		.stdin_fd = -1,
		.output_reader = &world->output_reader,
		.label = "job",
		.own_group = true,
		.stack_top = world->stack_top,
	};
}

static void world_open(struct world *world) {
	world_open_seq(world, "TERM,10000,KILL,1000");
}

static void world_close(struct world *world) {
	spawn_stack_destroy(world->stack_top);
	children_destroy(world->children, /* kills_orphans */ false);
	context_unref(world->context);
	buf_fini(&world->out);
	buf_fini(&world->err);
	close(world->said[0]);
	close(world->said[1]);
	close(world->signal_fd);
}

static const struct result *run_path(struct world *world, const char *path, const char *first, const char *second) {
	char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL};
	world->config.path = path;
	world->config.argv = argv;
	buf_reset(&world->out);
	buf_reset(&world->err);
	child_run(world->children, &world->config, &world->result, &world->error);
	return &world->result;
}

static const struct result *run(struct world *world, const char *script) {
	return run_path(world, "/bin/sh", "-c", script);
}

static void *run_in_thread(void *arg) {
	struct world *world = arg;
	child_run(world->children, &world->config, &world->result, &world->error);
	return NULL;
}

// Starts a child on a thread of its own; it is waited for until it has said something.
static thread run_beside(struct world *world, char **argv) {
	world->config.path = argv[0];
	world->config.argv = argv;
	world->says = true;
	thread t;
	check_equal(thread_start(&t, run_in_thread, world, 256 * 1024), 0);
	char byte;
	check_equal(read(world->said[0], &byte, 1), 1);
	return t;
}

// Waits for the end of a process that is not our child, ten seconds at most. A zombie has ended.
static bool ends(pid_t pid) {
	int pidfd = pidfd_open_pid(pid);
	if (pidfd < 0) {
		return errno == ESRCH;
	}
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	int n = poll(&end, 1, 10000);
	close(pidfd);
	return n == 1;
}

static unsigned count_fds(void) {
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (readdir(dir)) {
		++n;
	}
	closedir(dir);
	return n;
}

static const char *trimmed(struct buf *buf) {
	while (buf->len > 0 && buf->data[buf->len - 1] == '\n') {
		buf->data[--buf->len] = '\0';
	}
	return buf_str(buf);
}

static const char *temporary_file(const char *text, mode_t mode) {
	static char name[64];
	snprintf(name, sizeof(name), "%s", "/tmp/fairpar-child.XXXXXX");
	int fd = mkstemp(name);
	check(fd >= 0);
	check_equal(write(fd, text, strlen(text)), strlen(text));
	check_equal(fchmod(fd, mode), 0);
	close(fd);
	return name;
}

// ---- how it ends by itself ----

static void test_exit_code(void) {
	struct world w;
	world_open(&w);
	static const int codes[] = {0, 1, 3, 124, 125, 126, 127, 128, 137, 255};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); ++i) {
		char script[32];
		snprintf(script, sizeof(script), "exit %d", codes[i]);
		run(&w, script);
		check_equal(w.result.outcome, codes[i] ? OUTCOME_FAILED : OUTCOME_OK);
		check_equal(w.result.exit_code, codes[i]);
		check_equal(w.result.term_signal, 0);
		check(w.result.start > 0 && w.result.end > w.result.start);
		check(w.result.maxrss > 0);
	}
	world_close(&w);
}

static void test_signal(void) {
	struct world w;
	world_open(&w);
	const int deadly[] = {SIGKILL, SIGTERM, SIGINT, SIGPIPE, SIGUSR1, SIGRTMIN + 3};
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); ++i) {
		if (deadly[i] > SIGRTMIN && is_emulated()) { // qemu-user numbers these otherwise than the kernel, which the shell sees
			continue;
		}
		char script[32];
		snprintf(script, sizeof(script), "kill -%d $$", deadly[i]);
		check_equal(run(&w, script)->outcome, OUTCOME_SIGNAL);
		check_equal(w.result.term_signal, deadly[i]);
		check_equal(w.result.exit_code, 0);
	}
	world_close(&w);
}

static void test_not_found(void) {
	struct world w;
	world_open(&w);
	unsigned fds = count_fds();
	run_path(&w, "/no/such/program", NULL, NULL);
	check_equal(w.result.outcome, OUTCOME_SPAWN_ERROR);
	check_equal(w.result.exit_code, 127);
	check_equal(w.error.step, SPAWN_EXEC);
	check_equal(w.error.error, ENOENT);
	run_path(&w, "/tmp", NULL, NULL);
	check_equal(w.result.outcome, OUTCOME_SPAWN_ERROR);
	check_equal(w.result.exit_code, 126);
	check_equal(w.error.error, EACCES);
	const char *file = temporary_file("#!/bin/sh\n", 0600);
	run_path(&w, file, NULL, NULL);
	unlink(file);
	check_equal(w.result.exit_code, 126);
	check_equal(w.error.error, EACCES);
	check_equal(count_fds(), fds);
	errno = 0;
	check_equal(waitpid(-1, NULL, WNOHANG), -1); // no child is left
	check_equal(errno, ECHILD);
	world_close(&w);
}

static void test_script(void) {
	struct world w;
	world_open(&w);
	const char *file = temporary_file("echo \"$1+$2\"; exit 5\n", 0700);
	run_path(&w, file, "a b", "*");
	unlink(file);
	check_equal(w.result.outcome, OUTCOME_FAILED);
	check_equal(w.result.exit_code, 5);
	check_string(trimmed(&w.out), "a b+*");
	world_close(&w);
}

// ---- what it finds ----

// glibc's own signals (32 and 33), where this program was started with them ignored: posix_spawn() leaves them so in what
// make starts, and no program can change that through glibc.
static unsigned long long ignored_by_libc(void) {
	unsigned long long ignored = 0;
	char line[256];
	FILE *status = fopen("/proc/self/status", "re");
	check(status);
	while (fgets(line, sizeof(line), status)) {
		(void)sscanf(line, "SigIgn: %llx", &ignored);
	}
	fclose(status);
	return ignored & (3ULL << 31);
}

static void test_clean(void) {
	signal(SIGUSR2, SIG_IGN); // by the caller, before anything
	signal(SIGCHLD, SIG_IGN);
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	struct world w;
	close_from_3();
	struct context *context = context_capture();
	int fd = signals_open();
	check(fd >= 0);
	world_open(&w); // captures a second time: what jobs get is the first
	w.config.context = context;
	w.config.env = context->env;
	run_path(&w, "/bin/cat", "/proc/self/status", NULL); // a shell would change both
	check_equal(w.result.outcome, OUTCOME_OK);
	char expected[200];
	snprintf(expected, sizeof(expected), "SigBlk:\t%016llx\nSigIgn:\t%016llx\nSigCgt:\t%016llx\n",
	         1ULL << (SIGUSR1 - 1), 1ULL << (SIGUSR2 - 1) | 1ULL << (SIGCHLD - 1) | ignored_by_libc(), 0ULL);
	check(strstr(buf_str(&w.out), expected));
	context_unref(context);
	world_close(&w);
}

static void test_other_dispositions(void) {
	struct world w;
	world_open(&w);
	sigemptyset(&w.context->ignored); // as if somebody else had submitted it
	sigaddset(&w.context->ignored, SIGHUP);
	sigaddset(&w.context->ignored, SIGPIPE);
	run(&w, "grep ^SigIgn /proc/self/status");
	char expected[64];
	snprintf(expected, sizeof(expected), "SigIgn:\t%016llx",
	         1ULL << (SIGHUP - 1) | 1ULL << (SIGPIPE - 1) | ignored_by_libc());
	check_string(trimmed(&w.out), expected);
	world_close(&w);
}

static void test_descriptors(void) {
	struct world w;
	world_open(&w);
	guardian_start(&w.children->guardian);
	// ls has 3 open for the directory
	run_path(&w, "/bin/ls", "/proc/self/fd", NULL);
	check_string(trimmed(&w.out), "0\n1\n2\n3");
	run(&w, "readlink /proc/self/fd/0; readlink /proc/self/fd/1 | cut -c1-5; "
	        "grep ^flags /proc/self/fdinfo/1 /proc/self/fdinfo/2");
	check(strncmp(buf_str(&w.out), "/dev/null\npipe:\n", 16) == 0);
	check(!strstr(buf_str(&w.out), "\t04")); // O_NONBLOCK is ours alone
	int ends_of_pipe[2];
	check_equal(pipe2(ends_of_pipe, O_CLOEXEC), 0);
	check_equal(write(ends_of_pipe[1], "given\n", 6), 6);
	close(ends_of_pipe[1]);
	w.config.stdin_fd = ends_of_pipe[0];
	run(&w, "cat");
	check_string(trimmed(&w.out), "given");
	world_close(&w);
}

static void test_context(void) {
	struct world w;
	struct rlimit limit;
	check_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 200; // of the caller; fairpar raises its own
	check_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	world_open(&w);
	struct context *batch = context_derive(w.context, "/usr/bin", 0123, 1), *step = context_derive(batch, NULL, -1, 2);
	context_unref(batch);
	w.config.context = step;
	char *env[] = {(char[]){"A=b c"}, (char[]){"PATH=/usr/bin:/bin"}, NULL};
	w.config.env = env;
	umask(0);
	int own_nice = getpriority(PRIO_PROCESS, 0);
	run(&w, "pwd -P; umask; nice; ulimit -Sn; echo \"$A\"; ps -o pgid= -p $$ | tr -d ' '; echo $$");
	char expected[200];
	char *end = strrchr(trimmed(&w.out), '\n');
	check(end);
	snprintf(expected, sizeof(expected), "/usr/bin\n0123\n%d\n%ld\nb c\n%s\n%s", own_nice + 3,
	         (long)step->nofile.rlim_cur, end + 1, end + 1);
	check_string(buf_str(&w.out), expected);
	check_equal(umask(0), 0); // ours is as it was
	check_equal(getpriority(PRIO_PROCESS, 0), own_nice);
	w.config.own_group = false;
	run(&w, "ps -o pgid= -p $$ | tr -d ' '");
	snprintf(expected, sizeof(expected), "%ld", (long)getpgrp());
	check_string(trimmed(&w.out), expected);
	context_unref(step);
	world_close(&w);
}

static void test_no_directory(void) {
	struct world w;
	world_open(&w);
	struct context *gone = context_derive(w.context, "/no/such", -1, 0);
	w.config.context = gone;
	run(&w, "true");
	check_equal(w.result.outcome, OUTCOME_SPAWN_ERROR);
	check_equal(w.result.exit_code, 126);
	check_equal(w.error.step, SPAWN_CHDIR);
	check_equal(w.error.error, ENOENT);
	context_unref(gone);
	world_close(&w);
}

// ---- what it says ----

static void test_output(void) {
	struct world w;
	world_open(&w);
	run(&w, "head -c 3000000 /dev/zero | tr '\\0' a; head -c 2000000 /dev/zero | tr '\\0' b >&2; printf end");
	check_equal(w.out.len, 3000003);
	check_equal(w.err.len, 2000000);
	check_string(w.out.data + 3000000, "end");
	for (size_t i = 0; i < 2000000; ++i) {
		check(w.out.data[i] == 'a' && w.err.data[i] == 'b');
	}
	world_close(&w);
}

static void test_closed_streams(void) {
	struct world w;
	world_open(&w);
	// the job goes on with both streams closed, and has no end before the pipe that it waits on has one
	int hold[2];
	check_equal(pipe2(hold, O_CLOEXEC), 0);
	w.config.stdin_fd = hold[0];
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo x; exec >&- 2>&-; read x; exit 7"}, NULL};
	thread t = run_beside(&w, argv);
	check_equal(write(hold[1], "\n", 1), 1);
	thread_join(t);
	check_equal(w.result.exit_code, 7);
	world_close(&w);
}

static void test_grandchild(void) {
	skip_emulated(); // qemu-user 7.2 refuses PR_SET_CHILD_SUBREAPER, so orphans are not found
	struct world w;
	world_open(&w);
	run(&w, "sleep 1000 & echo $!; echo late >&2; exit 4");
	check_equal(w.result.exit_code, 4);
	check_string(trimmed(&w.err), "late");
	uint64_t now = now_ns();
	check(now >= w.result.end + NS_PER_S * 9 / 10); // it was given its second
	check(now < w.result.end + 900 * NS_PER_S); // not until the grandchild ends
	pid_t pid = (pid_t)strtol(buf_str(&w.out), NULL, 10);
	check_equal(kill(pid, 0), 0); // nobody asked for its end
	children_kill_orphans(w.children);
	check(kill(pid, 0) != 0 && errno == ESRCH);
	world_close(&w);
}

// Takes a little, and then no more, as where the reader of it has gone.
static ssize_t refuse(void *arg, enum child_stream stream, int fd) {
	struct world *world = arg;
	if (stream == STREAM_OUT && world->out.len > 0) {
		errno = EPIPE;
		return -1;
	}
	return hear(arg, stream, fd);
}

static void test_refused_output(void) {
	struct world w;
	world_open(&w);
	w.output_reader.readable = refuse;
	unsigned fds = count_fds();
	run_path(&w, "/usr/bin/yes", NULL, NULL);
	check_equal(w.result.outcome, OUTCOME_SIGNAL);
	check_equal(w.result.term_signal, SIGPIPE);
	// the other stream goes on
	run(&w, "trap '' PIPE; echo one; while echo more; do :; done 2>&-; echo last >&2; exit 6");
	check_equal(w.result.exit_code, 6);
	check_string(trimmed(&w.err), "last");
	check_equal(count_fds(), fds + (w.children->guardian.pipe_fd >= 0));
	world_close(&w);
}

// A reader that has no room until some time after the child was reaped.
struct full_reader {
	struct world *world;
	atomic_int pid;
	atomic_bool has_room;
	int more_fd;
};

static ssize_t hear_with_room(void *arg, enum child_stream stream, int fd) {
	struct full_reader *full = arg;
	if (!atomic_load(&full->has_room)) {
		errno = ENODATA;
		return -1;
	}
	return hear(full->world, stream, fd);
}

static void note_pid(void *arg, pid_t pid, uint64_t start FP_UNUSED) {
	atomic_store(&((struct full_reader *)arg)->pid, pid);
}

static void *make_room(void *arg) {
	struct full_reader *full = arg;
	while (atomic_load(&full->pid) == 0 || kill(atomic_load(&full->pid), 0) == 0) {
		sched_yield();
	}
	usleep(1200000); // longer than what is left in the pipes is waited for: so much that counts as time of its own
	atomic_store(&full->has_room, true);
	wakeup_post(full->more_fd);
	return NULL;
}

static void run_without_room(struct world *world, const char *script) {
	struct full_reader full = {.world = world, .more_fd = wakeup_open()};
	thread other;
	world->output_reader = (struct output_reader){.readable = hear_with_room, .more_fd = full.more_fd, .arg = &full};
	world->config.started = note_pid;
	world->config.started_arg = &full;
	check_equal(thread_start(&other, make_room, &full, 256 * 1024), 0);
	run(world, script);
	thread_join(other);
	close(full.more_fd);
}

static void test_no_room(void) {
	struct world w;
	world_open(&w);
	unsigned fds = count_fds();
	run_without_room(&w, "echo out; echo err >&2; exit 3");
	check_equal(w.result.exit_code, 3);
	check_string(trimmed(&w.out), "out");
	check_string(trimmed(&w.err), "err");
	w.config.timeout = 200 * (uint64_t)NS_PER_MS;
	run_without_room(&w, "echo out; exec sleep 1000");
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	check_equal(count_fds(), fds + (w.children->guardian.pipe_fd >= 0));
	world_close(&w);
}

// Takes little at a time, nothing before the child has ended, and stands still once the child was reaped: longer than what is left is waited for.
static ssize_t hear_slowly(void *arg, enum child_stream stream FP_UNUSED, int fd) {
	struct full_reader *full = arg;
	siginfo_t info;
	if (waitid(P_PID, (id_t)atomic_load(&full->pid), &info, WEXITED | WNOWAIT) != 0 && !atomic_exchange(&full->has_room, true)) {
		usleep(1200000);
	}
	ssize_t n = read(fd, buf_reserve(&full->world->out, 100), 100);
	full->world->out.len += n > 0 ? (size_t)n : 0;
	return n;
}

static void test_slow_reader(void) {
	struct world w;
	world_open(&w);
	struct full_reader full = {.world = &w};
	w.output_reader = (struct output_reader){.readable = hear_slowly, .arg = &full};
	w.config.started = note_pid;
	w.config.started_arg = &full;
	run(&w, "head -c 4000 /dev/zero");
	check_equal(w.out.len, 4000);
	w.config.started = NULL;
	run(&w, "yes &"); // it ends, although there is always more
	world_close(&w);
}

static void test_no_reader(void) {
	struct world w;
	world_open(&w);
	int ends_of_pipe[2];
	check_equal(pipe2(ends_of_pipe, O_CLOEXEC), 0);
	check_equal(dup2(ends_of_pipe[1], 1), 1);
	w.config.output_reader = NULL;
	run(&w, "echo through");
	char text[16] = "";
	check_equal(read(ends_of_pipe[0], text, sizeof(text) - 1), 8);
	check_string(text, "through\n");
	world_close(&w);
}

// ---- how it is made to end ----

static void test_timeout(void) {
	struct world w;
	world_open(&w);
	w.config.timeout = 30 * (uint64_t)NS_PER_MS;
	run(&w, "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done");
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	run(&w, "exit 0");
	check(w.result.outcome == OUTCOME_OK || w.result.outcome == OUTCOME_TIMEOUT); // on a slow machine
	w.config.timeout = 1000 * NS_PER_S;
	check_equal(run(&w, "exit 3")->outcome, OUTCOME_FAILED);
	world_close(&w);
}

// Runs a job that never ends until its time is up after it has said something, however slow the machine is.
static void run_out_of_time(struct world *world, const char *script) {
	world->config.timeout = 50 * (uint64_t)NS_PER_MS;
	do {
		world->config.timeout *= 2;
		run(world, script);
	} while (world->out.len == 0 && world->result.outcome == OUTCOME_TIMEOUT);
}

static void test_timeout_escalates(void) {
	struct world w;
	world_open_seq(&w, "TERM,50,TERM,50,KILL,1000");
	run_out_of_time(&w, "trap '' TERM; echo $$; (trap '' TERM; while :; do sleep 1000; done) & while :; do sleep 1000; done");
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	check_equal(w.result.term_signal, SIGKILL);
	pid_t group = (pid_t)strtol(buf_str(&w.out), NULL, 10);
	do {
		children_reap_orphans(w.children, w.signal_fd);
	} while (kill(-group, 0) == 0); // its members are dying of SIGKILL
	check_equal(errno, ESRCH);
	world_close(&w);
}

static void test_timeout_finds_escapees(void) {
	struct world w;
	world_open_seq(&w, "TERM,50,KILL,1000");
	run_out_of_time(&w, "setsid sh -c 'echo $$; exec sleep 1000'; exit 0");
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	pid_t pid = (pid_t)strtol(buf_str(&w.out), NULL, 10);
	check(pid > 0 && ends(pid));
	world_close(&w);
}

static void test_cancel(void) {
	struct world w;
	world_open(&w);
	w.keeps_terminating = true;
	run(&w, "echo ready; while :; do sleep 1000; done");
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.term_signal, SIGTERM);
	run(&w, "echo never");
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.start, 0);
	check_equal(w.out.len, 0);
	world_close(&w);
}

static void test_cancel_trapped(void) {
	struct world w;
	world_open(&w);
	w.keeps_terminating = true;
	run(&w, "trap 'exit 0' TERM; echo ready; while :; do sleep 1000 & wait; done");
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.exit_code, 0);
	world_close(&w);
}

static void test_group_cleans_up(void) {
	skip_emulated(); // qemu-user 7.2 refuses PR_SET_CHILD_SUBREAPER, so orphans are not found
	struct world w;
	world_open(&w);
	w.keeps_terminating = true;
	// the leader dies of TERM at once; the other one needs a moment for its trap
	run(&w, "(trap 'sleep 0.2; echo cleaned >&2; exit' TERM; echo ready; while :; do sleep 1000 & wait; done) & wait");
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.term_signal, SIGTERM);
	check_string(trimmed(&w.err), "cleaned");
	world_close(&w);
}

static void test_term_steps(void) {
	struct world w;
	world_open_seq(&w, "TERM,1000000,TERM,1000000,KILL,1000000");
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
	                (char[]){"trap '' TERM; echo ready; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	check_equal(children_term_step(w.children, now_ns()), TIME_NEVER);
	children_terminate(w.children);
	uint64_t next, steps = 0;
	for (uint64_t now = now_ns(); (next = children_term_step(w.children, now)) != TIME_NEVER; now = next) {
		++steps;
	}
	check_equal(steps, 2);
	thread_join(t);
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.term_signal, SIGKILL);
	world_close(&w);
}

static void test_kill(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
	                (char[]){"trap '' TERM; echo ready; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	children_terminate(w.children);
	children_kill(w.children);
	thread_join(t);
	check_equal(w.result.term_signal, SIGKILL);
	check_equal(children_term_step(w.children, now_ns()), TIME_NEVER);
	world_close(&w);
}

// Sends all steps of the sequence.
static void step_through(struct children *children) {
	uint64_t next;
	for (uint64_t now = now_ns(); (next = children_term_step(children, now)) != TIME_NEVER; now = next) {
	}
}

static void test_cleanup_is_spared(void) {
	struct world w;
	world_open_seq(&w, "TERM,1,TERM,1,KILL,1");
	w.config.cleanup = true;
	int hold[2];
	check_equal(pipe2(hold, O_CLOEXEC), 0);
	w.config.stdin_fd = hold[0];
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo ready; read x; exit 3"}, NULL};
	thread t = run_beside(&w, argv);
	children_terminate(w.children);
	step_through(w.children);
	check_equal(write(hold[1], "\n", 1), 1);
	thread_join(t);
	check_equal(w.result.outcome, OUTCOME_FAILED);
	check_equal(w.result.exit_code, 3);
	w.says = false;
	check_equal(run(&w, "exit 0")->outcome, OUTCOME_OK); // starts as well
	run_out_of_time(&w, "trap 'exit 0' TERM; echo ready; while :; do sleep 1000 & wait; done");
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	w.config.timeout = 0;
	w.config.cleanup = false;
	check_equal(run(&w, "exit 0")->outcome, OUTCOME_CANCELLED);
	world_close(&w);
}

static void test_cleanup_is_killed(void) {
	struct world w;
	world_open_seq(&w, "TERM,1,KILL,1");
	w.config.cleanup = true;
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo ready; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	children_terminate(w.children);
	step_through(w.children); // up to KILL, which must not make the second request void
	children_kill(w.children);
	thread_join(t);
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.term_signal, SIGKILL);
	w.says = false;
	check_equal(run(&w, "exit 0")->outcome, OUTCOME_CANCELLED);
	check_equal(w.result.start, 0);
	world_close(&w);
}

static void test_terminate_stopped(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
	                (char[]){"trap 'exit 5' TERM; echo ready; while :; do sleep 1000 & wait; done"}, NULL};
	thread t = run_beside(&w, argv);
	check_equal(children_count(w.children), 1);
	children_signal(w.children, SIGTSTP);
	children_terminate(w.children);
	thread_join(t);
	check_equal(w.result.outcome, OUTCOME_CANCELLED);
	check_equal(w.result.exit_code, 5);
	world_close(&w);
}

static void test_stopped_time(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo ready; read x; exit 3"}, NULL};
	uint64_t deadline, went_on;
	w.config.timeout = 500 * (uint64_t)NS_PER_MS;
	do { // until it is stopped in the first half of its time, and ends in as much time after that
		int hold[2];
		check_equal(pipe2(hold, O_CLOEXEC), 0);
		w.config.stdin_fd = hold[0];
		w.config.timeout *= 2;
		deadline = now_ns() + w.config.timeout;
		thread t = run_beside(&w, argv);
		check_equal(children_count(w.children), 1);
		children_signal(w.children, SIGTSTP);
		deadline = now_ns() < deadline - w.config.timeout / 2 ? deadline : 0;
		while (now_ns() < deadline) {
			poll(NULL, 0, poll_ms(deadline));
		}
		went_on = now_ns();
		children_signal(w.children, SIGCONT);
		check_equal(write(hold[1], "\n", 1), 1);
		thread_join(t);
		close(hold[0]);
		close(hold[1]);
	} while (deadline == 0 || w.result.end >= went_on + w.config.timeout / 2);
	check_equal(w.result.exit_code, 3);
	w.config.stdin_fd = -1;
	w.says = false;
	run_out_of_time(&w, "echo ready; exec sleep 1000"); // later ones have their time all the same
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	world_close(&w);
}

struct storm {
	struct world world;
	atomic_uint ran;
};

static void *storm_thread(void *arg) {
	struct storm *storm = arg;
	void *stack_top = spawn_stack_create();
	char *argv[] = {(char[]){"true"}, NULL};
	struct child_config config = {
		.path = "/bin/true", .argv = argv, .env = storm->world.context->env, .context = storm->world.context,
		.stdin_fd = -1, .output_reader = NULL, .label = "true", .own_group = true, .stack_top = stack_top,
	};
	struct result result;
	struct spawn_error error;
	do {
		child_run(storm->world.children, &config, &result, &error);
		check(result.outcome == OUTCOME_OK || result.outcome == OUTCOME_CANCELLED);
		atomic_add_relaxed(&storm->ran, 1);
	} while (result.outcome == OUTCOME_OK);
	child_run(storm->world.children, &config, &result, &error);
	check_equal(result.outcome, OUTCOME_CANCELLED);
	check_equal(result.start, 0);
	spawn_stack_destroy(stack_top);
	return NULL;
}

static void test_terminate_race(void) {
	for (unsigned round = 0; round < 30; ++round) {
		struct storm storm = {.ran = 0};
		world_open(&storm.world);
		thread threads[4];
		for (unsigned i = 0; i < 4; ++i) {
			check_equal(thread_start(&threads[i], storm_thread, &storm, 256 * 1024), 0);
		}
		while (atomic_load_relaxed(&storm.ran) < round) {
			children_reap_orphans(storm.world.children, storm.world.signal_fd);
		}
		children_terminate(storm.world.children);
		for (unsigned i = 0; i < 4; ++i) {
			thread_join(threads[i]);
		}
		world_close(&storm.world);
	}
}

// As if it had been started just before, and its worker were late.
static void test_terminate_late(void) {
	struct world w;
	world_open(&w);
	children_terminate(w.children);
	pid_t pid = fork();
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		for (;;) {
			sigsuspend(&none);
		}
	}
	struct running_child running = {.pid = pid, .config = &(struct child_config){.own_group = false}};
	children_reserve(w.children, &running);
	children_list(w.children, &running);
	int status;
	siginfo_t info;
	check_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	children_unlist(w.children, &running);
	check_equal(running.marked, MARKED_FOR_CANCEL);
	check_equal(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status));
	check_equal(WTERMSIG(status), SIGTERM);
	world_close(&w);
}

// A stop meant for our group reaches a child that has not left it yet: it must not sleep for ever with us waiting.
static void test_stop_at_start(void) {
	struct world w;
	pid_t shooter = -1;
	setpgid(0, 0);
	world_open(&w);
	pid_t group = getpgrp();
	shooter = fork();
	if (shooter == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (kill(-group, SIGTSTP) == 0) {
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 500; ++i) {
		check_equal(run_path(&w, "/bin/true", NULL, NULL)->outcome, OUTCOME_OK);
	}
	kill(shooter, SIGKILL);
	waitpid(shooter, NULL, 0);
	world_close(&w);
}

// ---- shortage ----

static void test_shortage(void) {
	struct world w;
	world_open(&w);
	setenv("FAIRPAR_FAULT", "spawn:1:EAGAIN,pipe:1:ENFILE", 1);
	check_equal(run(&w, "exit 3")->outcome, OUTCOME_FAILED);
	check_equal(w.result.exit_code, 3);
	world_close(&w);
}

static void test_shortage_waits_for_another(void) {
	if (!FAULTS) {
		return;
	}
	struct world w, other = {.out = BUF_INIT};
	world_open(&w);
	setenv("FAIRPAR_FAULT", "spawn:2+:ENOMEM", 1); // all but the first
	int hold[2];
	check_equal(pipe2(hold, O_CLOEXEC), 0);
	w.config.stdin_fd = hold[0];
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo ready; read x; exit 2"}, NULL};
	thread t = run_beside(&w, argv);
	char *argv_true[] = {(char[]){"/bin/true"}, NULL};
	other.children = w.children;
	other.stack_top = spawn_stack_create();
	other.output_reader = (struct output_reader){.readable = hear, .arg = &other};
	other.config = (struct child_config){
		.path = argv_true[0], .argv = argv_true, .env = w.context->env, .context = w.context, .stdin_fd = -1,
		.output_reader = &other.output_reader, .own_group = true, .stack_top = other.stack_top,
	};
	thread u;
	check_equal(thread_start(&u, run_in_thread, &other, 256 * 1024), 0);
	children_terminate(w.children); // ends the wait of that thread; or the thread finds out before it waits
	thread_join(u);
	check_equal(other.result.outcome, OUTCOME_CANCELLED);
	check_equal(other.result.start, 0);
	thread_join(t);
	spawn_stack_destroy(other.stack_top);
	world_close(&w);
}

static void test_shortage_lasts(void) {
	if (!FAULTS) {
		return;
	}
	struct world w;
	world_open(&w);
	setenv("FAIRPAR_FAULT", "spawn:1+:EAGAIN", 1);
	uint64_t start = now_ns();
	run(&w, "exit 0");
	check_equal(w.result.outcome, OUTCOME_SPAWN_ERROR);
	check_equal(w.result.exit_code, 126);
	check_equal(w.error.step, SPAWN_CLONE);
	check_equal(w.error.error, EAGAIN);
	check(now_ns() - start >= 9 * NS_PER_S);
	world_close(&w);
}

// ---- what it leaves ----

static void test_no_leak(void) {
	struct world w;
	world_open(&w);
	run(&w, "exit 0");
	unsigned fds = count_fds() - (w.children->guardian.pipe_fd >= 0); // some child may take 10 ms
	for (unsigned i = 0; i < 1000; ++i) {
		check_equal(run_path(&w, i % 10 ? "/bin/true" : "/no/such", NULL, NULL)->exit_code, i % 10 ? 0 : 127);
	}
	check_equal(count_fds(), fds + (w.children->guardian.pipe_fd >= 0));
	check_equal(atomic_load_relaxed(&w.children->guardian.table->used), 1);
	world_close(&w);
}

static void note_view(void *arg, const struct child_view *view) {
	struct child_view *ret = arg;
	ret->pid = view->pid;
	ret->start = view->start;
	ret->stop_signal = view->stop_signal;
	check_string(view->label, "job");
}

static void test_each(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo $$; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	struct child_view view = {.pid = 0};
	children_each(w.children, /* stopped_only */ false, note_view, &view);
	check(view.pid > 0 && view.start > 0);
	children_kill_unlocked();
	thread_join(t);
	check_equal(view.pid, strtol(buf_str(&w.out), NULL, 10));
	check_equal(view.start, w.result.start);
	check_equal(w.result.outcome, OUTCOME_SIGNAL);
	check_equal(w.result.term_signal, SIGKILL);
	view.pid = 0;
	children_each(w.children, /* stopped_only */ false, note_view, &view);
	check_equal(view.pid, 0);
	world_close(&w);
}

// Sends what is due until the thread's child has ended.
static void step_and_join(struct world *world, thread t) {
	while (children_count(world->children) > 0) {
		children_term_step(world->children, now_ns());
		poll(NULL, 0, 1);
	}
	thread_join(t);
}

static void test_evict(void) {
	struct world w;
	world_open_seq(&w, "TERM,30,KILL,1000");
	check(!children_evict_youngest(w.children));
	w.config.label = "one";
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"trap '' TERM; echo $$; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	char *label = children_evict_youngest(w.children);
	check_string(label, "one");
	free(label);
	check(!children_evict_youngest(w.children)); // it is ending already
	check(children_term_step(w.children, 0) != TIME_NEVER);
	step_and_join(&w, t);
	check_equal(w.result.outcome, OUTCOME_SIGNAL);
	check_equal(w.result.term_signal, SIGKILL);
	check(w.result.out_of_memory);
	check(children_term_step(w.children, now_ns()) == TIME_NEVER);
	world_close(&w);
}

static void test_evict_trapped(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
	                (char[]){"trap 'exit 0' TERM; echo $$; while :; do sleep 1000 & wait; done"}, NULL};
	thread t = run_beside(&w, argv);
	free(children_evict_youngest(w.children));
	step_and_join(&w, t);
	check_equal(w.result.outcome, OUTCOME_SIGNAL);
	check_equal(w.result.term_signal, SIGTERM);
	world_close(&w);
}

static void test_expire(void) {
	struct world w;
	world_open(&w);
	check(children_expire(w.children, 1, now_ns()) == TIME_NEVER);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo $$; while :; do sleep 1000; done"}, NULL};
	thread t = run_beside(&w, argv);
	struct child_view view = {.pid = 0};
	children_each(w.children, /* stopped_only */ false, note_view, &view);
	check_equal(children_expire(w.children, 1000 * NS_PER_S, now_ns()), view.start + 1000 * NS_PER_S);
	check(children_expire(w.children, 1, now_ns()) == TIME_NEVER);
	step_and_join(&w, t);
	check_equal(w.result.outcome, OUTCOME_TIMEOUT);
	world_close(&w);
}

static bool is_stopped(pid_t pid) {
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

// The job is one process: a shell that waits in vfork() for a child that was stopped before its exec is not reported.
static void test_hold(void) {
	struct world w;
	world_open(&w);
	check_equal(children_suspend_young(w.children, 0), 0);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo $$; exec sleep 1000"}, NULL};
	thread t = run_beside(&w, argv);
	struct child_view view = {.pid = 0};
	children_each(w.children, /* stopped_only */ false, note_view, &view);
	check_equal(children_suspend_young(w.children, 1), 0);
	check_equal(children_suspend_young(w.children, 0), 1);
	while (!is_stopped(view.pid)) {
		poll(NULL, 0, 1);
	}
	struct child_view seen = {.pid = 0};
	children_each(w.children, /* stopped_only */ true, note_view, &seen);
	check_equal(seen.pid, 0); // nobody is told of it
	check_equal(children_suspend_young(w.children, 1), 0);
	while (is_stopped(view.pid)) {
		poll(NULL, 0, 1);
	}
	check_equal(children_suspend_young(w.children, 0), 1);
	free(children_evict_youngest(w.children)); // it takes the signal although it is stopped
	step_and_join(&w, t);
	check_equal(w.result.term_signal, SIGTERM);
	world_close(&w);
}

static void test_stopped(void) {
	struct world w;
	world_open(&w);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char[]){"echo $$; kill -TTIN $$; exit 3"}, NULL};
	thread t = run_beside(&w, argv);
	struct child_view seen = {.pid = 0};
	while (seen.pid == 0) {
		children_each(w.children, /* stopped_only */ true, note_view, &seen);
		poll(NULL, 0, 1);
	}
	check_equal(seen.stop_signal, SIGTTIN);
	struct child_view again = {.pid = 0};
	children_each(w.children, /* stopped_only */ true, note_view, &again);
	check_equal(again.pid, 0);
	children_signal(w.children, SIGCONT);
	thread_join(t);
	check_equal(w.result.exit_code, 3);
	world_close(&w);
}

static void test_orphans(void) {
	skip_emulated(); // qemu-user 7.2 refuses PR_SET_CHILD_SUBREAPER, so orphans are not found
	struct world w;
	world_open(&w);
	run(&w, "sleep 0 >&- 2>&- & echo $!");
	pid_t pid = (pid_t)strtol(buf_str(&w.out), NULL, 10);
	check(ends(pid));
	children_reap_orphans(w.children, w.signal_fd);
	check(kill(pid, 0) != 0 && errno == ESRCH);
	int hold[2];
	check_equal(pipe2(hold, O_CLOEXEC), 0);
	w.config.stdin_fd = hold[0];
	buf_reset(&w.out);
	char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
	                (char[]){"setsid sh -c 'setsid sleep 1000 & echo $!; exec sleep 1000' 2>&- & read x; exit 0"}, NULL};
	thread t = run_beside(&w, argv);
	check_equal(write(hold[1], "\n", 1), 1);
	thread_join(t);
	pid = (pid_t)strtol(buf_str(&w.out), NULL, 10);
	check(pid > 0);
	children_kill_orphans(w.children);
	check(kill(pid, 0) != 0 && errno == ESRCH);
	world_close(&w);
}

// ---- the guardian ----

static void test_guardian_starts(void) {
	skip_emulated(); // the kernel cannot execute /proc/self/exe, which the guardian is
	struct world w;
	world_open(&w);
	check_equal(w.children->guardian.pid, 0);
	for (unsigned i = 0; i < 50 && w.children->guardian.pid == 0; ++i) { // on a busy machine a job may have ended before its thread looks again
		run(&w, "sleep 0.05");
	}
	pid_t pid = w.children->guardian.pid;
	check(pid > 0);
	run(&w, "sleep 0.05");
	check_equal(w.children->guardian.pid, pid);
	world_close(&w);
	check(kill(pid, 0) != 0 && errno == ESRCH);
	// short jobs do without: unless the machine is busy
	bool spared = false;
	for (unsigned i = 0; i < 50 && !spared; ++i) {
		world_open(&w);
		run_path(&w, "/bin/true", NULL, NULL);
		spared = w.children->guardian.pid == 0;
		world_close(&w);
	}
	check(spared);
}

// A process with a guardian and one running job, whose stdout is `out`.
// Before that it has done a job that made `done`.
static pid_t start_victim(int out, bool guarded, const char *script, const char *done, const char *product) {
	pid_t victim = fork();
	if (victim != 0) {
		return victim;
	}
	check(dup2(out, 1) == 1);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	struct world w;
	world_open(&w); // closes all but 0 to 2
	if (guarded) {
		guardian_start(&w.children->guardian);
	} else {
		atomic_store(&w.children->guardian.is_tried, true); // as if it had been tried
	}
	if (done) {
		char first[200];
		snprintf(first, sizeof(first), ": >%s", done);
		w.config.unlink_path = done;
		run(&w, first);
	}
	w.config.unlink_path = product;
	w.config.output_reader = NULL;
	run(&w, script);
	_exit(0);
}

// Kills it once its job has said a process number, which is returned: that process ends, too. Its ended children are ours.
static pid_t kill_victim_only(bool guarded, const char *script, const char *done, const char *product) {
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	int said[2];
	check_equal(pipe2(said, O_CLOEXEC), 0);
	pid_t victim = start_victim(said[1], guarded, script, done, product);
	close(said[1]);
	char text[64] = "";
	size_t n = 0;
	while (n == 0 || text[n - 1] != '\n') {
		ssize_t got = read(said[0], text + n, sizeof(text) - 1 - n);
		check(got > 0);
		n += (size_t)got;
	}
	pid_t pid = (pid_t)strtol(text, NULL, 10);
	check(pid > 0 && kill(pid, 0) == 0);
	check_equal(kill(victim, SIGKILL), 0);
	close(said[0]);
	return pid;
}

// Nobody is left: neither a job nor the guardian, whose end this waits for.
static void reap_everybody(void) {
	while (waitpid(-1, NULL, 0) > 0) {
	}
	check_equal(errno, ECHILD);
}

static void kill_victim(bool guarded, const char *script, const char *done, const char *product) {
	check(ends(kill_victim_only(guarded, script, done, product)));
	reap_everybody();
}

static void test_guardian_kills(void) {
	skip_emulated(); // the kernel cannot execute /proc/self/exe, which the guardian is
	// the member of the group that a parent-death signal does not reach
	kill_victim(true, "sleep 1000 & echo $!; wait", NULL, NULL);
	kill_victim(true, "(trap '' TERM HUP; sh -c 'echo $$; exec sleep 1000'; sleep 1000) & wait", NULL, NULL);
}

static void test_guardian_unlinks(void) {
	skip_emulated(); // the kernel cannot execute /proc/self/exe, which the guardian is
	char dir[] = "/tmp/fairpar-child.XXXXXX", product[64], done[64];
	check(mkdtemp(dir) && chdir(dir) == 0);
	snprintf(product, sizeof(product), "%s/product", dir);
	snprintf(done, sizeof(done), "%s/product.done", dir);
	// who writes it again when it is asked to end is waited for
	kill_victim(true, "(trap ': >product' TERM HUP; : >product; sh -c 'echo $$; exec sleep 1000';"
	            " sleep 0.1; while :; do sleep 1000; done) & wait", done, product);
	check(access(product, F_OK) != 0 && errno == ENOENT);
	check_equal(access(done, F_OK), 0);
	// what is done stays, though another job runs in its place
	kill_victim(true, "sleep 1000 & echo $!; wait", done, NULL);
	check_equal(access(done, F_OK), 0);
	// only a file or an empty directory
	kill_victim(true, "ln -s product.done product; sleep 1000 & echo $!; wait", done, product);
	check_equal(access(product, F_OK), 0);
	check_equal(unlink(product), 0);
	kill_victim(true, "mkdir product; sleep 1000 & echo $!; wait", done, product);
	check(access(product, F_OK) != 0 && errno == ENOENT);
	kill_victim(true, "mkdir -p product/full; sleep 1000 & echo $!; wait", done, product);
	check_equal(access(product, F_OK), 0);
	check(rmdir("product/full") == 0 && rmdir(product) == 0);
	check_equal(unlink(done), 0);
	check_equal(rmdir(dir), 0);
}

// Who inherits the jobs of a killed fairpar may reap them late, or never; whoever starts it again does so at once, and
// what the next run has made is not to be unlinked.
static void test_guardian_needs_no_reaper(void) {
	skip_emulated(); // the kernel cannot execute /proc/self/exe, which the guardian is
	char dir[] = "/tmp/fairpar-child.XXXXXX", product[64];
	check(mkdtemp(dir) && chdir(dir) == 0);
	snprintf(product, sizeof(product), "%s/product", dir);
	uint64_t least = TIME_NEVER;
	for (unsigned i = 0; i < 50 && least > NS_PER_S; ++i) { // the machine may be busy
		kill_victim_only(true, ": >product; echo $$; exec sleep 1000", NULL, product);
		uint64_t from = now_ns();
		while (access(product, F_OK) == 0) {
			nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
		}
		uint64_t took = now_ns() - from;
		least = took < least ? took : least;
		reap_everybody();
	}
	check(least < NS_PER_S); // not the two seconds of one that cannot be killed
	check_equal(rmdir(dir), 0);
}

static void test_parent_death(void) {
	kill_victim(false, "trap '' HUP INT TERM; echo $$; exec sleep 1000", NULL, NULL);
}

static void test_guardian_holds_nothing(void) {
	int said[2];
	check_equal(pipe2(said, O_CLOEXEC), 0);
	// the job closes the stream, and so does its victim: the end comes once the guardian has let go
	int hold[2];
	check_equal(pipe2(hold, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int in = fcntl(hold[0], F_DUPFD_CLOEXEC, 100);
		check(dup2(said[1], 1) == 1 && dup2(said[1], 2) == 2 && dup2(in, 0) == 0);
		struct world w;
		world_open(&w);
		guardian_start(&w.children->guardian);
		close(1);
		close(2);
		char byte;
		_exit(read(0, &byte, 1) == 1 ? 0 : 1);
	}
	close(said[1]);
	char byte;
	check_equal(read(said[0], &byte, 1), 0); // end of file while the other two run
	check_equal(kill(pid, 0), 0);
	check_equal(write(hold[1], "x", 1), 1);
	int status;
	check_equal(waitpid(pid, &status, 0), pid);
	check_equal(status, 0);
}

// ---- the sequence ----

static void test_term_seq(void) {
	struct term_seq seq;
	const char *error = NULL;
	check_equal(term_seq_parse("TERM,200,SIGTERM,100,term,50,KILL,25", &seq, &error), 0);
	check_equal(seq.nsteps, 4);
	check_equal(seq.steps[1].signal, SIGTERM);
	check_equal(seq.steps[1].pause_ms, 100);
	check_equal(seq.steps[3].signal, SIGKILL);
	check_equal(term_seq_parse("INT", &seq, &error), 0);
	check_equal(seq.nsteps, 2);
	check_equal(seq.steps[0].signal, SIGINT);
	check_equal(seq.steps[1].signal, SIGKILL);
	check_equal(term_seq_parse("2,5000,9", &seq, &error), 0);
	check_equal(seq.nsteps, 2);
	static const char *const wrong[] = {
		"", "FOO", "TERM,x", "TERM,200,FOO", "TERM,-1", "TERM, 1", "TERM,1x", "TERM,99999999999", "200,TERM", ",",
		"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		error = NULL;
		check_equal(term_seq_parse(wrong[i], &seq, &error), -1);
		check(error);
	}
}

int main(int argc, char *argv[]) {
	if (argc > 1 && strcmp(argv[1], GUARDIAN_ARG) == 0) {
		return guardian_main(argc, argv, /* tidy */ NULL);
	}
	static const struct test tests[] = {
		TEST("the exit code is exact", test_exit_code),
		TEST("the signal is exact", test_signal),
		TEST("not found is 127, cannot run is 126, and the cause is known", test_not_found),
		TEST("a script without an interpreter is run by the shell", test_script),
		TEST("a job finds mask and dispositions as the caller had them", test_clean),
		TEST("a job finds the dispositions of who submitted it", test_other_dispositions),
		TEST("a job has descriptors 0 to 2, /dev/null and two blocking pipes", test_descriptors),
		TEST("a job finds directory, umask, niceness, limits, environment and group", test_context),
		TEST("a directory that is not there is known as that", test_no_directory),
		TEST("all output is taken", test_output),
		TEST("a job that closes its streams is waited for", test_closed_streams),
		TEST("a grandchild with an open stream gets a second", test_grandchild),
		TEST("a stream that is not taken ends, and the job as it likes", test_refused_output),
		TEST("a job whose output has no room is attended to, and nothing of it is lost", test_no_room),
		TEST("a reader that stands still gets all that the job has written, and what writes for ever is left", test_slow_reader),
		TEST("without a reader the streams are inherited", test_no_reader),
		TEST("a timeout is a timeout whatever the job makes of it", test_timeout),
		TEST("a timeout goes on to KILL, for the whole group", test_timeout_escalates),
		TEST("a timeout ends what has left the group", test_timeout_finds_escapees),
		TEST("a cancelled job ends, and no other starts", test_cancel),
		TEST("a job that exits 0 after TERM was cancelled", test_cancel_trapped),
		TEST("the group gets its time to clean up after its leader's death", test_group_cleans_up),
		TEST("the steps of the sequence come when they are due", test_term_steps),
		TEST("a second request kills at once", test_kill),
		TEST("a clean-up starts and goes on after the first request", test_cleanup_is_spared),
		TEST("a second request ends and refuses clean-ups", test_cleanup_is_killed),
		TEST("a stopped job can be terminated", test_terminate_stopped),
		TEST("time in which all jobs are stopped does not count for a timeout", test_stopped_time),
		TEST("a start that races with the end is cancelled or refused", test_terminate_race),
		TEST("a child that is listed late gets its signal at once", test_terminate_late),
		TEST("a stop of our group does not catch a starting child", test_stop_at_start),
		TEST("a start that finds no room is tried again", test_shortage),
		TEST("the wait for room is interrupted by the end", test_shortage_waits_for_another),
		TEST("a shortage that lasts is an error", test_shortage_lasts),
		TEST("a thousand children leave no descriptor and no entry", test_no_leak),
		TEST("running children are listed; the last words kill them", test_each),
		TEST("one child can be ended, step by step, for want of memory", test_evict),
		TEST("a child that is ended so has failed whatever it makes of it", test_evict_trapped),
		TEST("what has run for too long by now is ended", test_expire),
		TEST("the young are stopped and go on", test_hold),
		TEST("a child that has stopped is told of once", test_stopped),
		TEST("orphans are reaped, and killed where asked", test_orphans),
		TEST("the guardian is there for long jobs, once, and goes", test_guardian_starts),
		TEST("a killed parent's jobs end, whole groups of them", test_guardian_kills),
		TEST("a killed parent's half-made products are unlinked, and no others", test_guardian_unlinks),
		TEST("a file is unlinked when its jobs have ended, though nobody reaps them", test_guardian_needs_no_reaper),
		TEST("a killed parent's job ends even without a guardian", test_parent_death),
		TEST("the guardian holds no stream", test_guardian_holds_nothing),
		TEST("a sequence is read, and ends in KILL", test_term_seq),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
