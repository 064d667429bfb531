// A running child: started, read from, timed out, and waited for by its worker.

#include "process/child.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "process/children.h"
#include "process/memory.h"
#include "process/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3 // waitid(2), Linux 5.4; not in older C libraries
#endif

enum {
	GUARDIAN_AFTER_MS = 10, // a job that has lived this long is worth a guardian, whose start costs about 1 ms
	STOPPED_AFTER_MS = 1000, // how long after its start a job is checked, once, for a stop by the terminal
	DRAIN_GRACE_MS = 1000,   // how long after the child's end the output of its descendants is still read
	DRAIN_READS = 64,        // how often it is read after that time: this thread may have stood still, and the pipes may be full
};

struct child {
	struct running_child running;
	struct children *children;
	const struct child_config *config;
	struct pollfd fds[6];       // by enum child_stream, then END, IN, MORE and ROOM; -1: closed, or not polled now
	int paused[STREAM_ERR + 1]; // descriptors of the streams that are not read until ROOM is readable, or -1
	uint64_t time_due;          // when to call children_time_out(), or TIME_NEVER
	uint64_t stop_due;          // when to look whether the terminal has stopped the child, or TIME_NEVER
	uint64_t linger_until;      // once a child that was made to end is a zombie: until when its worker waits for its group; 0 before
};

enum { END = STREAM_ERR + 1, IN, MORE, ROOM }; // in child.fds: the child's pidfd, our end of its stdin, stdin_writer.more_fd, output_reader.more_fd

// ---- STARTING ----

static bool is_shortage(int error) {
	return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE;
}

// `fd` is our stdout or stderr, which a child is to inherit. A program may set O_NONBLOCK, which then holds for all processes that share the
// open file description (fcntl(2), F_SETFL): what these write into a full pipe is lost. So if `fd` is a pipe, returns a descriptor with an
// open file description of its own, for the child alone; else -1: the child shares ours. The description that the child gets is made to block.
static int open_own(int fd) {
	char path[32];
	struct stat stat;
	int own = -1;
	if (fstat(fd, &stat) == 0 && S_ISFIFO(stat.st_mode)) {
		snprintf(path, sizeof(path), "/dev/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); // without O_NONBLOCK, open() waits if the reader has gone (fifo(7))
	}
	int blocking = own >= 0 ? own : fd;
	int flags = fcntl(blocking, F_GETFL);
	if (flags >= 0 && flags & O_NONBLOCK) {
		verify(fcntl(blocking, F_SETFL, flags & ~O_NONBLOCK) == 0);
	}
	return own;
}

// Tries once to start the child. If that fails, ret_error->error is not 0, and only the cgroup of the claim, if any, is left open, for the next try.
static void child_try(struct child *child, atomic_int *listed, struct spawn_error *ret_error) {
	const struct child_config *config = child->config;
	struct children *children = child->children;
	FP_CLEANUP(fd_close) int in = -1, out = -1, err = -1;
	if (!config->output_reader) {
		out = open_own(STDOUT_FILENO);
		err = open_own(STDERR_FILENO);
	}
	if (config->stdin_writer && pipe_open(1, &child->fds[IN].fd, &in) != 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else if (config->output_reader && (pipe_open(0, &child->fds[STREAM_OUT].fd, &out) != 0
	                      || pipe_open(0, &child->fds[STREAM_ERR].fd, &err) != 0)) {
		*ret_error = (struct spawn_error){.step = SPAWN_PIPE, .error = errno};
	} else if (config->claim && memory_claim_prepare(&children->memory, config->claim) != 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_CGROUP, .error = errno};
	} else if (config->stdin_fd < 0 && in < 0 && children->null_fd < 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_STDIO, .error = ENOENT}; // there is no /dev/null
	} else {
		struct spawn_config spawning = {
			.path = config->path,
			.argv = config->argv,
			.env = config->env,
			.world = &children->world,
			.context = config->context,
			.stdio = {in >= 0 ? in : config->stdin_fd >= 0 ? config->stdin_fd : children->null_fd, out, err},
			.cgroup_fd = config->claim ? config->claim->group.procs_fd : -1,
			.own_group = config->own_group,
			.foreground = config->foreground,
			.listed = listed,
			.dies_with_thread = true,
			.stack_top = config->stack_top,
		};
		child->running.pid = spawn_program(&spawning, config->starter, &child->fds[END].fd, ret_error);
	}
	if (ret_error->error) {
		fd_close(&child->fds[IN].fd);
		fd_close(&child->fds[STREAM_OUT].fd);
		fd_close(&child->fds[STREAM_ERR].fd);
	}
}

// Waits for the memory that the child needs, unless its claim is open already. Returns false if the child was refused meanwhile.
static bool child_claim(struct child *child) {
	const struct child_config *config = child->config;
	return !config->claim || config->claim->is_open
		|| memory_claim_open(&child->children->memory, config->claim, config->memory, config->label, children_refusal(child->children, config->cleanup));
}

// Starts the child, if need be by several tries. Returns false if the child was refused (ret_error->error is 0), or could not be started.
static bool child_try_until(struct child *child, atomic_int *listed, struct spawn_error *ret_error) {
	const atomic_bool *refusal = children_refusal(child->children, child->config->cleanup);
	struct start_backoff backoff = {.pause = 0};
	for (;;) {
		*ret_error = (struct spawn_error){.error = 0};
		// acquire: pairs with the store of begin_termination(); children_list() ends a child whose start has missed that store ([C3])
		if (atomic_load_acquire(refusal)) {
			return false;
		}
		child->running.start = now_ns();
		child_try(child, listed, ret_error);
		if (!ret_error->error) {
			return true;
		}
		if (ret_error->step == SPAWN_CGROUP && !is_shortage(ret_error->error)
		    && memory_claim_renounce(&child->children->memory, child->config->claim, ret_error->error)) {
			(void)child_claim(child); // if the claim is refused, `refusal` is set, and the next round returns
			continue;
		}
		if (!is_shortage(ret_error->error)
		    || (!children_wait_room(child->children, &backoff, ret_error->error, refusal)
		        && !atomic_load_acquire(refusal))) {
			return false;
		}
	}
}

// Has the guardian unlink the file `path` if fairpar is killed before the child ends. NULL: the guardian unlinks no file of this child any more.
static void child_guard_file(const struct child *child, const char *path) {
	if (child->config->unlink_path) {
		guardian_set_path(&child->children->guardian, child->running.slot, path);
	}
}

static bool child_start(struct child *child, struct spawn_error *ret_error) {
	if (!child_claim(child)) {
		return false;
	}
	if (child->config->forks || child->config->unlink_path) {
		children_start_guardian(child->children);
	}
	atomic_int *listed = children_reserve(child->children, &child->running);
	child_guard_file(child, child->config->unlink_path);
	if (!child_try_until(child, listed, ret_error)) {
		child_guard_file(child, NULL);
		children_release(child->children, &child->running);
		return false;
	}
	const struct child_config *config = child->config;
	children_list(child->children, &child->running);
	memory_claim_started(&child->children->memory, config->claim, child->running.pid);
	if (config->started) {
		config->started(config->started_arg, child->running.pid, child->running.start);
	}
	return true;
}

// ---- RUNNING, ENDING ----

// Reads what the stream holds. If the output reader has no room for more, the stream is not read until there is room again.
static void child_read_stream(struct child *child, enum child_stream stream) {
	struct pollfd *from = &child->fds[stream];
	const struct output_reader *reader = child->config->output_reader;
	ssize_t n = reader->readable(reader->arg, stream, from->fd);
	if (n < 0 && errno == ENODATA) {
		child->paused[stream] = from->fd;
		from->fd = -1;
		child->fds[ROOM].fd = reader->more_fd;
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		fd_close(&from->fd);
	}
}

// Waits for an event, at most until `until`; reads the output that is there, and writes as much to the child's stdin as the pipe takes.
static void child_poll(struct child *child, uint64_t until) {
	nfds_t n_fds = child->fds[ROOM].fd >= 0 ? ROOM + 1 : child->config->stdin_writer ? MORE + 1 : END + 1;
	int ready = poll(child->fds, n_fds, poll_ms(until));
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM || errno == EAGAIN);
	for (int i = 0; ready <= 0 && i <= ROOM; ++i) {
		child->fds[i].revents = 0;
	}
	bool had_room = n_fds > ROOM && child->fds[ROOM].revents;
	for (enum child_stream stream = STREAM_OUT; stream <= STREAM_ERR; ++stream) {
		if (child->fds[stream].fd >= 0 && child->fds[stream].revents) {
			child_read_stream(child, stream);
		}
	}
	for (enum child_stream stream = STREAM_OUT; stream <= STREAM_ERR && had_room; ++stream) {
		if (child->paused[stream] >= 0) {
			child->fds[stream].fd = child->paused[stream];
			child->paused[stream] = -1;
		}
		child->fds[ROOM].fd = -1;
	}
	if (child->config->stdin_writer) {
		stdin_pipe_fill(child->config->stdin_writer, &child->fds[IN], &child->fds[MORE]);
	}
}

static uint64_t guardian_due(const struct child *child) {
	return guardian_is_wanted(&child->children->guardian)
		? child->running.start + (uint64_t)GUARDIAN_AFTER_MS * NS_PER_MS : TIME_NEVER;
}

// Returns when child_on_time() has to look again.
static uint64_t child_due(const struct child *child) {
	uint64_t due = time_earlier(time_earlier(guardian_due(child), child->time_due), child->stop_due);
	return child->linger_until ? time_earlier(due, child->linger_until) : due;
}

static void child_on_time(struct child *child) {
	uint64_t due = child_due(child);
	uint64_t now = due == TIME_NEVER ? 0 : now_ns();
	if (due > now) {
		return;
	}
	if (guardian_due(child) <= now) {
		children_start_guardian(child->children);
	}
	if (child->stop_due <= now) {
		child->stop_due = TIME_NEVER;
		children_note_stopped(child->children, &child->running);
	}
	if (child->time_due <= now) {
		child->time_due = children_time_out(child->children, &child->running, child->running.start + child->config->timeout);
	}
}

// Called when the child is a zombie. Returns true if it was made to end and other processes of its group must still be waited for: fds[END]
// then is the pidfd of one of them. They have as much time to end as the child had; after that, children_unlist() kills them.
static bool child_lingers(struct child *child) {
	if (!child->config->own_group || !children_is_marked(child->children, &child->running)) {
		return false;
	}
	uint64_t now = now_ns();
	if (child->linger_until == 0) {
		child->linger_until = now + term_seq_length(&child->children->seq);
	} else if (child->fds[END].revents) {
		siginfo_t info;
		waitid(P_PIDFD, (id_t)child->fds[END].fd, &info, WEXITED | WNOHANG); // fails if children_reap_orphans() has reaped this process
	}
	if (now >= child->linger_until) {
		return false;
	}
	fd_close(&child->fds[END].fd);
	child->fds[END].fd = proctree_open_orphan(child->running.pid);
	return child->fds[END].fd >= 0;
}

// Attends to the child until it has ended, and, if it was made to end, until its group has ended too.
static void child_attend(struct child *child) {
	child->time_due = child->config->timeout ? child->running.start + child->config->timeout : TIME_NEVER;
	child->stop_due = child->children->has_terminal && !child->config->foreground && child->config->own_group
		? child->running.start + (uint64_t)STOPPED_AFTER_MS * NS_PER_MS : TIME_NEVER;
	for (;;) {
		child_poll(child, child_due(child));
		bool ended = child->fds[END].revents != 0, overdue = child->linger_until && now_ns() >= child->linger_until;
		if ((ended || overdue) && !child_lingers(child)) {
			break;
		}
		if (!ended) {
			child_on_time(child);
		}
	}
	fd_close(&child->fds[END].fd);
	if (child->config->stdin_writer) {
		stdin_pipe_close(child->config->stdin_writer, &child->fds[IN], &child->fds[MORE]);
	}
}

// ---- EXITED, DRAINED ----

static uint64_t timeval_ns(struct timeval time) {
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

static void child_reap(struct child *child, struct result *ret_result) {
	child_guard_file(child, NULL);
	children_unlist(child->children, &child->running); // before the child is reaped: [C1] in children.h
	pidfd_set_signal(&child->running.left_group, SIGKILL);
	pidfd_set_fini(&child->running.left_group);
	struct rusage usage;
	int status;
	pid_t reaped;
	do {
		reaped = wait4(child->running.pid, &status, 0, &usage);
	} while (reaped < 0 && errno == EINTR);
	verify(reaped == child->running.pid); // no other thread waits for this child
	ret_result->user = timeval_ns(usage.ru_utime);
	ret_result->sys = timeval_ns(usage.ru_stime);
	ret_result->maxrss = (uint64_t)usage.ru_maxrss * 1024;
	ret_result->nvcsw = (uint32_t)usage.ru_nvcsw;
	ret_result->nivcsw = (uint32_t)usage.ru_nivcsw;
	ret_result->start = child->running.start;
	ret_result->end = now_ns();
	ret_result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	ret_result->term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	enum kill_mark marked = child->running.marked;
	if (marked == MARKED_FOR_TIME) {
		ret_result->outcome = OUTCOME_TIMEOUT;
	} else if (marked == MARKED_FOR_CANCEL) {
		ret_result->outcome = OUTCOME_CANCELLED;
	} else if (marked == MARKED_FOR_MEMORY) {
		ret_result->outcome = OUTCOME_SIGNAL; // even if the child exited with 0: it was told to end
		ret_result->term_signal = ret_result->term_signal ? ret_result->term_signal : child->children->seq.steps[0].signal;
		ret_result->out_of_memory = true;
	} else if (ret_result->term_signal) {
		ret_result->outcome = OUTCOME_SIGNAL;
	} else {
		ret_result->outcome = ret_result->exit_code ? OUTCOME_FAILED : OUTCOME_OK;
	}
}

void child_run(struct children *children, const struct child_config *config, struct result *ret_result, struct spawn_error *ret_error) {
	struct child child = {
		.running.config = config,
		.children = children,
		.config = config,
		.fds = {{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN},
		        {.fd = -1, .events = POLLOUT}, {.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}},
		.paused = {-1, -1},
	};
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	*ret_error = (struct spawn_error){.error = 0};
	if (!child_start(&child, ret_error)) {
		if (ret_error->error) {
			ret_result->outcome = OUTCOME_SPAWN_ERROR;
			ret_result->exit_code = ret_error->step == SPAWN_EXEC && ret_error->error == ENOENT ? 127 : 126;
			ret_result->start = child.running.start;
			ret_result->end = now_ns();
		}
		memory_claim_close(&children->memory, config->claim);
		return;
	}
	child_attend(&child);
	child_reap(&child, ret_result);
	// Reads what the pipes still hold, for DRAIN_GRACE_MS at most, as a grandchild may keep a pipe open for ever. Time in which there
	// is no room for output does not count.
	uint64_t until = ret_result->end + (uint64_t)DRAIN_GRACE_MS * NS_PER_MS;
	unsigned late = 0;
	struct pollfd *fds = child.fds;
	while (fds[ROOM].fd >= 0 || ((fds[STREAM_OUT].fd >= 0 || fds[STREAM_ERR].fd >= 0) && (now_ns() < until || late++ < DRAIN_READS))) {
		bool paused = fds[ROOM].fd >= 0;
		child_poll(&child, paused ? TIME_NEVER : until);
		until = paused ? now_ns() + (uint64_t)DRAIN_GRACE_MS * NS_PER_MS : until;
	}
	fd_close(&fds[STREAM_OUT].fd);
	fd_close(&fds[STREAM_ERR].fd);
	// 128 + SIGKILL is the exit code of a shell whose command was killed
	bool is_killed = (ret_result->outcome == OUTCOME_SIGNAL && ret_result->term_signal == SIGKILL)
		|| (ret_result->outcome == OUTCOME_FAILED && ret_result->exit_code == 128 + SIGKILL);
	ret_result->out_of_memory |= memory_claim_learn(&children->memory, config->claim, ret_result->maxrss, is_killed);
	// closing the claim kills the processes that are left in the cgroup: so this comes after the last read of what they may write
	bool ran_out = memory_claim_close(&children->memory, config->claim);
	ret_result->out_of_memory |= ran_out && (ret_result->outcome == OUTCOME_SIGNAL || ret_result->outcome == OUTCOME_FAILED);
}

// ---- the pipe that is a job's standard input ----

void stdin_pipe_close(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more) {
	bool open = to->fd >= 0;
	more->fd = -1;
	fd_close(&to->fd);
	if (open && writer->closed) {
		writer->closed(writer->arg);
	}
}

void stdin_pipe_fill(const struct stdin_writer *writer, struct pollfd *to, struct pollfd *more) {
	if (more->fd >= 0 && more->revents) {
		more->fd = -1;
		to->events = POLLOUT;
	}
	if (to->fd < 0 || !to->revents) {
		return;
	}
	ssize_t n = to->revents & POLLERR ? 0 : writer->writable(writer->arg, to->fd);
	if (n < 0 && errno == ENODATA) {
		more->fd = writer->more_fd;
		to->events = 0; // poll() still reports POLLERR
	} else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		stdin_pipe_close(writer, to, more);
	}
}
