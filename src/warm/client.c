// A server as fairpar sees it: how it is started, asked for jobs, and ended.

#include "warm/client.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/sync.h"
#include "process/proctree.h"
#include "warm/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // Linux 6.3: not the default where vm.memfd_noexec is set
#endif

enum {
	ANSWER_S = 10, // a server that is silent for as long is taken for one that was stopped or hangs
	FDS_SHARE = 3, // a third of the descriptors may be in use where a server is started
};

static const char *unfit_text(int unfit) {
	switch (unfit) {
	case WARM_FIT:            return NULL;
	case WARM_HAS_THREADS:    return "it starts threads before main()";
	case WARM_HAS_FDS:        return "it opens files before main()";
	case WARM_NO_TABLE:       return "no memory for it";
	case WARM_NO_TID_ADDRESS: return "the kernel has no PR_GET_TID_ADDRESS";
	case WARM_NO_LAYOUT:      return "the kernel has no PR_SET_MM_MAP";
	default:                  return "its server does not answer";
	}
}

// ---- starting and ending it ----

// Puts the object into a file in memory that nobody can change. Returns a descriptor, or -1 with errno.
static int object_open(void) {
	errno = fault_errno("object"); // EACCES: vm.memfd_noexec is 2
	int fd = errno ? -1 : memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) {
		fd = memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	if (fd >= 0 && (write_all(fd, server_so, server_so_size) != 0
	                || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
		fd_close(&fd);
	}
	return fd;
}

// The environment of the server: that of the job, and what makes a server of the program. The caller frees the array.
static char **warm_server_env(char *const *env, char *more[3]) {
	size_t n = 0;
	while (env[n]) {
		++n;
	}
	char **with = xcalloc(n + 4, sizeof(*with));
	memcpy(with, env, n * sizeof(*with));
	memcpy(with + n, more, 3 * sizeof(*with));
	return with;
}

// Starts the shell, with the descriptors of its end of the socket and of the object. Returns 0, or -1 with errno.
static int spawn_server(struct warm_server *server, const struct spawn_config *job, int socket, int object) {
	char preload[64], variable[128], now[] = "LD_BIND_NOW=1";
	char c[] = "-c", nothing[] = ":"; // should it not be stopped it does nothing
	snprintf(preload, sizeof(preload), "LD_PRELOAD=/proc/self/fd/%d", object);
	snprintf(variable, sizeof(variable), "%s=%d %d %zu %d", SERVER_VARIABLE, socket, server->table.fd, server->table.size, object);
	struct context context = {.umask = job->context->umask, .nofile = job->context->nofile, .nice = job->context->nice,
	                          .ignored = job->context->ignored};
	sigfillset(&context.mask);
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	FP_CLEANUP(free_later) char **env = warm_server_env(job->env, (char *[]){preload, variable, now});
	struct spawn_config config = {
		.path = job->path,
		.argv = (char *[]){job->argv[0], c, nothing, NULL},
		.env = env,
		.world = job->world,
		.context = &context,
		.stdio = {null_fd, null_fd, null_fd},
		.keep = (int[]){socket, object, server->table.fd},
		.nkeep = 3,
		.cgroup_fd = -1,
		.own_group = true, // no signal of a terminal reaches it
		.dies_with_thread = true,
		.stack_top = job->stack_top,
	};
	struct spawn_error error = {0};
	pid_t pid = null_fd >= 0 ? spawn(&config, &server->pidfd, &error) : -1;
	fd_close(&null_fd);
	if (pid > 0) {
		server->pid = pid;
	}
	return pid > 0 && !error.error ? 0 : -1;
}

// Returns false if there is none: it has ended, or is silent.
static bool read_reply(const struct warm_server *server, struct warm_reply *ret_reply) {
	return read_some(server->socket, ret_reply, sizeof(*ret_reply)) == sizeof(*ret_reply);
}

// By the descriptor: where the run ends in a hurry it may have been reaped with the orphans.
static void warm_server_kill(const struct warm_server *server) {
	struct pidfd_entry entry = {.pid = server->pid, .pidfd = server->pidfd};
	pidfd_set_signal(&(struct pidfd_set){.list = &entry, .n = 1}, SIGKILL);
}

// A wrapper that never called __libc_start_main() may have executed the shell that answers, which stands in nobody's place.
static bool is_the_shell(const struct warm_server *server, const char *path) {
	char exe[32];
	struct stat meant, answers;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)server->pid);
	return stat(path, &meant) == 0 && stat(exe, &answers) == 0 && meant.st_dev == answers.st_dev && meant.st_ino == answers.st_ino;
}

struct warm_server *warm_server_open(const struct spawn_config *job, const struct shared_table *table, const char **ret_why) {
	struct warm_server *server = NEW(struct warm_server);
	int ends[2] = {-1, -1}, object = object_open();
	struct warm_reply reply = {.kind = -1};
	struct timeval timeout = {.tv_sec = ANSWER_S};
	*server = (struct warm_server){.pidfd = -1, .socket = -1, .table = *table};
	// the lowest that is free: what jobs need to be started must not be taken by servers
	bool is_tight = object >= 0 && (rlim_t)object >= job->world->nofile.rlim_cur / FDS_SHARE;
	*ret_why = object < 0 ? "the system has no memfd for it" : is_tight ? "few descriptors are free" : "no memory for it";
	if (object >= 0 && !is_tight && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0
	    && setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0) {
		server->socket = ends[0];
		ends[0] = -1;
		*ret_why = spawn_server(server, job, ends[1], object) == 0 ? NULL : "it cannot be started";
	}
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	fd_close(&object);
	int probe = *ret_why ? -1 : pidfd_open_pid(server->pid); // by which jobs are waited for
	if (!*ret_why && probe < 0) {
		*ret_why = "the system has no pidfd_open() for it";
	}
	fd_close(&probe);
	if (!*ret_why) {
		*ret_why = read_reply(server, &reply) && reply.kind == WARM_READY ? unfit_text(reply.value) : unfit_text(-1);
	}
	if (!*ret_why && !is_the_shell(server, job->path)) {
		*ret_why = "it executes another shell";
	}
	if (*ret_why) {
		warm_server_close(server);
		server = NULL;
	}
	return server;
}

void warm_server_close(struct warm_server *server) {
	if (!server) {
		return;
	}
	fd_close(&server->socket);
	if (server->pid > 0) {
		warm_server_kill(server);
		while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
	fd_close(&server->pidfd);
	buf_fini(&server->request);
	free(server);
}

// ---- a job ----

static bool add_strings(struct buf *buf, char *const *strings, uint32_t *ret_n) {
	for (*ret_n = 0; strings[*ret_n]; ++*ret_n) {
		buf_add(buf, strings[*ret_n], strlen(strings[*ret_n]) + 1);
	}
	return buf->len < WARM_BYTES_MAX;
}

// Puts the request together, and its descriptors. Returns false if it is too long.
static bool build_request(struct warm_server *server, const struct spawn_config *job, int *ret_fds, size_t *ret_nfds) {
	struct buf *buf = &server->request;
	struct warm_request head = {
		.flags = (job->context->cwd ? WARM_CHDIR : 0U) | (job->foreground ? WARM_FOREGROUND : 0U)
			| (job->cgroup_fd >= 0 ? WARM_CGROUP : 0U),
		.parent = job->world->pid,
		.listed = (uint64_t)((const char *)job->listed - (const char *)server->table.start),
	};
	memcpy(&head.mask, &job->context->mask, sizeof(head.mask)); // its first bytes are the kernel's
	memcpy(&head.deadly, &job->world->deadly, sizeof(head.deadly));
	buf_reset(buf);
	buf_add(buf, &head, sizeof(head));
	for (int fd = 0; fd < 3; ++fd) {
		ret_fds[fd] = job->stdio[fd] >= 0 ? job->stdio[fd] : fd;
	}
	ret_fds[3] = job->cgroup_fd;
	*ret_nfds = job->cgroup_fd >= 0 ? 4 : 3;
	if (job->context->cwd) {
		buf_add(buf, job->context->cwd, strlen(job->context->cwd) + 1);
	}
	bool fits = add_strings(buf, job->argv, &head.nargs) && add_strings(buf, job->env, &head.nenv)
		&& head.nargs + head.nenv < WARM_STRINGS_MAX;
	memcpy(buf->data, &head, sizeof(head));
	return fits;
}

// Returns 0, or -1 with errno.
static int send_request(const struct warm_server *server, const int *fds, size_t nfds) {
	union {
		char bytes[CMSG_SPACE(WARM_FDS_MAX * sizeof(int))];
		struct cmsghdr header;
	} control = {.bytes = ""};
	struct iovec part = {server->request.data, server->request.len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
	message.msg_controllen = (socklen_t)CMSG_SPACE(nfds * sizeof(int)); // POSIX has that type, glibc size_t
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(nfds * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, nfds * sizeof(int));
	return sendmsg(server->socket, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

// What is known of a job that was asked for.
struct job_answer {
	pid_t pid;
	int error;                  // errno: it could not be started
	bool is_set_up;             // the steps that can fail are done, or one has failed
	struct spawn_error failed;
};

// Returns false if no reply comes.
static bool take_reply(const struct warm_server *server, struct job_answer *answer) {
	struct warm_reply reply;
	if (!read_reply(server, &reply)) {
		return false;
	}
	if (reply.kind == WARM_SET_UP) {
		answer->is_set_up = true;
		answer->failed = (struct spawn_error){.step = (enum spawn_step)reply.value, .error = reply.error};
	} else if (reply.value > 0) {
		answer->pid = reply.value;
	} else {
		answer->error = reply.value < 0 ? -reply.value : EPROTO;
	}
	return true;
}

// Waits until the job runs, or is known not to: answer->error.
static void await_start(const struct warm_server *server, const struct spawn_config *job, struct job_answer *answer) {
	while (!answer->pid && !answer->error && take_reply(server, answer)) {
	}
	if (answer->pid || answer->error) {
		return;
	}
	// It was killed, or has to be; and may have started the job before. The job closes its end of the socket behind its entry in
	// the table: with the end of file there is an entry, or no job.
	warm_server_kill(server);
	while (take_reply(server, answer)) {
	}
	int target = atomic_load_acquire(job->listed);
	answer->pid = target < 0 ? -target : 0;
	answer->error = answer->pid ? 0 : ECHILD;
}

// Waits for what the job says of the steps that can fail, or for its end.
static void await_set_up(const struct warm_server *server, int pidfd, struct job_answer *answer) {
	struct pollfd fds[] = {{.fd = server->socket, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	while (!answer->is_set_up && (poll(fds, 2, -1) < 0 || (fds[0].revents && take_reply(server, answer)))) {
	}
}

// Why a server did not start a job, or NULL: the request is too long for the socket.
static const char *lost_text(int error) {
	switch (error) {
	case EMSGSIZE:             return NULL;
	case ECHILD: case EPIPE:   return "its server has died";
	case EPERM: case ENOSYS:   return "the system does not let it be cloned";
	default:                   return "no room for a process, or no memory";
	}
}

pid_t warm_server_start(struct warm_server *server, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error,
                   const char **ret_why) {
	int fds[WARM_FDS_MAX];
	size_t nfds;
	*ret_why = NULL;
	if (!build_request(server, job, fds, &nfds)) {
		return 0;
	}
	int reserved = fcntl(server->socket, F_DUPFD_CLOEXEC, 0); // so that there is room for the pidfd of what runs by then
	if (reserved < 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_CLONE, .error = errno};
		return -1;
	}
	struct job_answer answer = {.error = fault_errno("warm")};
	if (!answer.error && send_request(server, fds, nfds) != 0) {
		answer.error = errno;
	} else if (!answer.error) {
		await_start(server, job, &answer);
	}
	fd_close(&reserved);
	if (answer.error) {
		*ret_why = lost_text(answer.error);
		return 0;
	}
	while ((*ret_pidfd = pidfd_open_pid(answer.pid)) < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL); // another thread was faster to take it
	}
	if (job->context->cwd || job->foreground || job->cgroup_fd >= 0) {
		await_set_up(server, *ret_pidfd, &answer);
	}
	*ret_error = answer.failed;
	if (answer.failed.error) {
		spawn_discard(job, answer.pid, ret_pidfd);
		return -1;
	}
	return answer.pid;
}
