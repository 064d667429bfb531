// Warm shells: which servers a worker has, how they are started and asked for jobs, and which jobs they start.
//
// A server is a shell that was started once, stands just before its main(), and is cloned for each job.

#include "warm/warm.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/map.h"
#include "base/sync.h"
#include "process/proc.h"
#include "process/proctree.h"
#include "warm/protocol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // since Linux 6.3: the file may be executed, which is not the default where vm.memfd_noexec is set
#endif

enum {
	ANSWER_S = 10,    // seconds of silence after which a server counts as stopped or hanging
	FDS_SHARE = 3,    // no server is started once a third of the descriptors is in use
	SHELLS_MAX = 8,   // the most shells that a worker knows at a time
	AUTO_AFTER = 6,   // executions before a shell gets a server; starting a server costs about one execution, and a clone half an execution
	DEATHS_MAX = 3,   // a shell gets no new server after this many of its servers have died: somebody kills them on purpose
	REFRESH_MS = 100, // pause between calls of inherited_read(); a call costs a hundredth of a short job
};

struct warm_server {
	pid_t pid;
	int pidfd;
	int socket;
	const struct guardian *guardian; // has the table of running children, in which a job enters itself
	struct buf request;
	bool is_lost;       // the server has failed, and is to be closed
};

// What a process that fairpar starts now would inherit.
struct inherited {
	uint64_t hash;       // hash of all that is inherited: any change almost certainly changes the hash
	const char *refusal; // why a server that inherits this must not be started; static text, or NULL
};

// A shell in one context: umask, limits, niceness, ignored signals.
struct warm_shell {
	char *path;
	struct context context;     // only umask, nofile, nice and ignored are set: these tell one shell from another
	struct warm_server *server; // or NULL
	const char *why;            // reason why there will be no server; static text, or NULL
	struct stat file;           // the file of the shell, as it was when the server was started
	uint64_t inherited;         // inherited.hash when the server was started
	unsigned executions;        // how many more times the shell is executed before it gets a server
	unsigned deaths;
};

struct warm {
	enum warm_mode mode;
	const struct guardian *guardian;
	struct warm_shell shells[SHELLS_MAX];
	unsigned next;              // the entry that a new shell takes
	struct inherited inherited; // what a process started now would inherit, as read at `refreshed`
	uint64_t refreshed;         // when `inherited` was read, by now_ns(); 0: not yet
	struct starter starter;
	const char *why;            // why the last job was no clone; NULL: it was a clone
	struct buf report;
};

static const char not_asked[] = ""; // no server was asked: the job ran on another machine, or its shell was not executed often enough (WARM_AUTO)

static const char *const unfit_texts[] = { // by enum warm_unfit
	[WARM_FIT] = NULL,
	[WARM_HAS_THREADS] = "the shell starts threads before main()",
	[WARM_HAS_FDS] = "the shell opens files before main()",
	[WARM_NO_TABLE] = "there is no memory for a server",
	[WARM_NO_TID_ADDRESS] = "the kernel has no PR_GET_TID_ADDRESS",
	[WARM_NO_LAYOUT] = "the kernel has no PR_SET_MM_MAP",
};

// ---- starting and ending a server ----

// Puts the object into a file in memory that nobody can change. Returns a descriptor, or -1 with errno.
static int object_open(void) {
	// memfd_create() fails with EACCES if vm.memfd_noexec is 2
	int fd = fault_fails("object") ? -1 : memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) {
		fd = memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	if (fd >= 0 && (write_all(fd, server_so, server_so_size) != 0
	                || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
		fd_close(&fd);
	}
	return fd;
}

// Starts the shell, with the descriptors of its end of the socket and of the object. Returns 0, or -1 with errno.
static int spawn_server(struct warm_server *server, const struct spawn_config *job, int socket, int object) {
	char preload[64], variable[128], now[] = "LD_BIND_NOW=1";
	char c[] = "-c", nothing[] = ":"; // a shell that is not stopped before main() then does nothing
	snprintf(preload, sizeof(preload), "LD_PRELOAD=/proc/self/fd/%d", object);
	snprintf(variable, sizeof(variable), "%s=%d %d %zu %d", SERVER_VARIABLE, socket, server->guardian->table_fd, sizeof(*server->guardian->table), object);
	struct context context = {.umask = job->context->umask, .nofile = job->context->nofile, .nice = job->context->nice,
	                          .ignored = job->context->ignored};
	sigfillset(&context.mask);
	FP_CLEANUP(fd_close) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	FP_CLEANUP(free_later) char **env = env_merge(job->env, (char *[]){preload, variable, now, NULL}, /* unset */ NULL); // variables of the server
	struct spawn_config config = {
		.path = job->path,
		.argv = (char *[]){job->argv[0], c, nothing, NULL},
		.env = env,
		.world = job->world,
		.context = &context,
		.stdio = {null_fd, null_fd, null_fd},
		.keep = (int[]){socket, object, server->guardian->table_fd},
		.nkeep = 3,
		.cgroup_fd = -1,
		.own_group = true, // no signal of a terminal reaches the server
		.dies_with_thread = true,
		.stack_top = job->stack_top,
	};
	struct spawn_error error = {0};
	pid_t pid = null_fd >= 0 ? spawn(&config, &server->pidfd, &error) : -1;
	if (pid > 0) {
		server->pid = pid;
	}
	return pid > 0 && !error.error ? 0 : -1;
}

// Reads a reply. Returns false if there is none: the server has ended, or is silent.
static bool read_reply(const struct warm_server *server, int32_t *ret_reply) {
	return read_some(server->socket, ret_reply, sizeof(*ret_reply)) == sizeof(*ret_reply);
}

// Kills the server by its pidfd: if the run ends in a hurry, the server may have been reaped as an orphan, and its pid may be another process.
static void server_kill(const struct warm_server *server) {
	struct pidfd_entry entry = {.pid = server->pid, .pidfd = server->pidfd};
	pidfd_set_signal(&(struct pidfd_set){.list = &entry, .n = 1}, SIGKILL);
}

// Ends the server at *held and waits for its end; its jobs run on. Sets *held, which may be NULL, to NULL.
static void server_close(struct warm_server **held) {
	struct warm_server *server = *held;
	*held = NULL;
	if (!server) {
		return;
	}
	fd_close(&server->socket);
	if (server->pid > 0) {
		server_kill(server);
		while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR) {
		}
	}
	fd_close(&server->pidfd);
	buf_fini(&server->request);
	free(server);
}

// Starts a server for the program of `job`, a shell, in the job's context except for the directory. The server ends when this thread
// ends or the socket is closed. job->world must be set, and this thread must block all signals, as for spawn_config.stack_top. Returns the
// server, for server_close(); or NULL with the reason in *ret_why (static text).
static struct warm_server *server_open(const struct spawn_config *job, const struct guardian *guardian, const char **ret_why) {
	struct warm_server *server = NEW(struct warm_server);
	int ends[2] = {-1, -1}, object = object_open();
	int32_t reply;
	struct timeval timeout = {.tv_sec = ANSWER_S};
	*server = (struct warm_server){.pidfd = -1, .socket = -1, .guardian = guardian};
	// `object` was the lowest free descriptor; a high number means that servers would take descriptors that jobs need to start
	bool is_tight = object >= 0 && (rlim_t)object >= job->world->nofile.rlim_cur / FDS_SHARE;
	*ret_why = object < 0 ? "the system has no memfd_create()" : is_tight ? "few descriptors are free" : "there is no memory for a server";
	if (object >= 0 && !is_tight && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0
	    && setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0) {
		server->socket = ends[0];
		ends[0] = -1;
		*ret_why = spawn_server(server, job, ends[1], object) == 0 ? NULL : "the shell cannot be started";
	}
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	fd_close(&object);
	FP_CLEANUP(fd_close) int probe = *ret_why ? -1 : pidfd_open_pid(server->pid); // jobs are waited for by pidfds
	if (!*ret_why && probe < 0) {
		*ret_why = "the system has no pidfd_open()";
	}
	if (!*ret_why) {
		bool answers = read_reply(server, &reply) && (uint32_t)reply <= WARM_NO_LAYOUT;
		*ret_why = answers ? unfit_texts[reply] : "the server of the shell does not answer";
	}
	// a wrapper without __libc_start_main() may have executed another shell, which then answers, but must not be cloned
	char exe[32];
	struct stat meant, answers;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)server->pid);
	if (!*ret_why && (stat(job->path, &meant) != 0 || stat(exe, &answers) != 0 || meant.st_dev != answers.st_dev || meant.st_ino != answers.st_ino)) {
		*ret_why = "the shell executes another shell";
	}
	if (*ret_why) {
		server_close(&server);
	}
	return server;
}

// ---- asking a server for a job ----

// Puts the request together. Returns false if it is too long.
static bool build_request(struct warm_server *server, const struct spawn_config *job) {
	struct buf *buf = &server->request;
	struct warm_request head = {
		.parent = job->world->pid,
		.listed = (uint64_t)((const char *)job->listed - (const char *)server->guardian->table),
	};
	memcpy(&head.mask, &job->context->mask, sizeof(head.mask)); // the first bytes of a sigset_t are the kernel's mask
	memcpy(&head.deadly, &job->world->deadly, sizeof(head.deadly));
	buf_reset(buf);
	buf_add(buf, &head, sizeof(head));
	buf_add_strings(buf, job->argv, &head.nargs);
	buf_add_strings(buf, job->env, &head.nenv);
	memcpy(buf->data, &head, sizeof(head));
	return buf->len < WARM_BYTES_MAX && head.nargs + head.nenv < WARM_STRINGS_MAX;
}

// Waits until the job runs, and returns its pid; or until it is certain that the job does not run, and returns -errno.
static pid_t await_start(const struct warm_server *server, const struct spawn_config *job) {
	int32_t reply;
	if (read_reply(server, &reply)) {
		return reply != 0 ? reply : -EPROTO;
	}
	// The server was killed, or is killed now, but may have started the job before. The job enters itself in the table before it
	// closes its end of the socket: so at the end of file there is an entry, or no job.
	server_kill(server);
	while (read_reply(server, &reply)) {
	}
	int target = atomic_load_acquire(job->listed);
	return target < 0 ? -target : -ECHILD;
}

// Returns the reason why a server did not start a job.
static const char *failure_text(int error) {
	switch (error) {
	case EMSGSIZE:             return "the arguments and environment of the job are too long";
	case ECHILD: case EPIPE:   return "the server of the shell has died";
	case EPERM: case ENOSYS:   return "the system does not let the shell be cloned";
	default:                   return "there is no room for a process, or no memory";
	}
}

// Sends the request with the descriptors. Returns 0, or an errno.
static int send_request(const struct warm_server *server, const struct spawn_config *job, int dir) {
	int fds[WARM_FDS_MAX] = {job->stdio[0], job->stdio[1], job->stdio[2], dir};
	for (int fd = 0; fd < 3; ++fd) {
		fds[fd] = fds[fd] >= 0 ? fds[fd] : fd;
	}
	size_t size = (dir >= 0 ? 4 : 3) * sizeof(int);
	union {
		char bytes[CMSG_SPACE(WARM_FDS_MAX * sizeof(int))];
		struct cmsghdr header;
	} control = {.bytes = ""};
	struct iovec part = {server->request.data, server->request.len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control};
	message.msg_controllen = (socklen_t)CMSG_SPACE(size); // POSIX has the type socklen_t here, glibc has size_t
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.header), fds, size);
	return sendmsg(server->socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

// Starts a job as a clone of the server. Returns as spawn() does: the pid with *ret_pidfd, or -1 with *ret_error. Or returns 0: nothing
// was started, and the caller calls spawn(); *ret_why says why (static text).
static pid_t server_start(struct warm_server *server, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error,
                          const char **ret_why) {
	const char *cwd = job->context->cwd;
	FP_CLEANUP(fd_close) int dir = cwd ? open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (cwd && (dir < 0 || faccessat(dir, ".", X_OK, AT_EACCESS) != 0)) {
		*ret_why = "the directory of the job cannot be entered";
		return 0;
	}
	if (!build_request(server, job)) {
		*ret_why = failure_text(EMSGSIZE);
		return 0;
	}
	int reserved = fcntl(server->socket, F_DUPFD_CLOEXEC, 0); // keeps a descriptor free for the pidfd of the job, which runs by then
	if (reserved < 0) {
		*ret_error = (struct spawn_error){.step = SPAWN_CLONE, .error = errno};
		return -1;
	}
	int error = fault_fails("warm") ? errno : send_request(server, job, dir);
	pid_t pid = error ? -error : await_start(server, job);
	fd_close(&reserved);
	if (pid < 0) {
		*ret_why = failure_text(-pid);
		server->is_lost = pid != -EMSGSIZE;
		return 0;
	}
	while ((*ret_pidfd = pidfd_open_pid(pid)) < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL); // another thread was faster to take the descriptor
	}
	return pid;
}

// ---- whether a shell can be a server ----

// What a child inherits is named in fork(2) and execve(2). Other processes can change some of that: limits (prlimit(2)), niceness and policy
// (sched_setattr(2)), CPUs, I/O priority, timer slack, cgroups, and the values in the files of proc(5) that are read here.

enum {
	CPU_WORDS = 128,     // of 64 CPUs each
	SCHEDULING_WORDS = 8, // struct sched_attr has 7 such words (sched_setattr(2)); the kernel fills the part that it knows
	IOPRIO_PROCESS = 1,  // IOPRIO_WHO_PROCESS of ioprio_get(2), which means one thread; the C library lacks the constant and the call
	PROCESSES_FEW = 512, // if no more processes than this are allowed, servers could take the processes that jobs need
};

// Returns why the file cannot be a server, or NULL. A static program, or a script's interpreter that executes another shell, would run and not stop.
static const char *refuse_elf(int fd) {
	ElfW(Ehdr) header, own;
	memcpy(&own, server_so, sizeof(own));
	if (pread_all(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, own.e_ident, EI_DATA + 1) != 0) {
		return "the shell is a script, or a program for another machine";
	}
	for (unsigned i = 0; i < header.e_phnum; ++i) {
		ElfW(Phdr) part;
		if (pread_all(fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) == sizeof(part) && part.p_type == PT_INTERP) {
			return NULL;
		}
	}
	return "the shell is a static program";
}

const char *fitness_refusal(const char *path) {
	if (sizeof(ElfW(Ehdr)) > server_so_size) {
		return "this fairpar was built without warm shells";
	}
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? "the file of the shell cannot be read" : refuse_elf(fd);
}

const char *fitness_refusal_env(char *const *env) {
	for (; *env; ++env) {
		if (strncmp(*env, "LD_", 3) == 0) {
			return "the environment of the job has LD_*";
		}
		if (strncmp(*env, "GLIBC_TUNABLES=", 15) == 0) {
			return "the environment of the job has GLIBC_TUNABLES";
		}
		if (strncmp(*env, "MALLOC_", 7) == 0) {
			return "the environment of the job has MALLOC_*";
		}
	}
	return NULL;
}

// ---- what is inherited ----

// Reads what a process that this thread starts now would inherit. This takes some 30 system calls.
static void inherited_read(struct inherited *ret) {
	uint64_t scheduling[SCHEDULING_WORDS] = {0}, cpus[CPU_WORDS] = {0};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct rlimit limits[RLIM_NLIMITS] = {0}; // a limit that cannot be read stays 0
	for (int i = 0; i < RLIM_NLIMITS; ++i) {
		(void)getrlimit(RLIMIT_OF(i), &limits[i]);
	}
	(void)syscall(SYS_sched_getattr, 0, scheduling, sizeof(scheduling), 0);
	(void)syscall(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);
	buf_add(&text, limits, sizeof(limits));
	buf_add(&text, scheduling, sizeof(scheduling));
	buf_add(&text, cpus, sizeof(cpus));
	buf_printf(&text, "%ld %ld ", syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0), syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0));
	static const char *const files[] = {"/proc/thread-self/cgroup", "/proc/self/oom_score_adj", "/proc/self/coredump_filter"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
		if (proc_read(AT_FDCWD, files[i], &text) != 0) {
			buf_addc(&text, '?');
		}
	}
	ret->hash = hash_bytes(text.data, text.len, 0);
	ret->refusal = limits[RLIMIT_AS].rlim_cur != RLIM_INFINITY ? "the address space is limited"
		: limits[RLIMIT_NPROC].rlim_cur <= PROCESSES_FEW ? "few processes are allowed" : NULL;
}

// ---- the shells of a worker ----

static void shell_fini(struct warm_shell *shell) {
	server_close(&shell->server);
	free(shell->path);
	*shell = (struct warm_shell){.path = NULL};
}

// Returns the entry of the job's shell. A new shell takes the oldest entry.
static struct warm_shell *find_shell(struct warm *warm, const struct spawn_config *job) {
	for (struct warm_shell *one = warm->shells; one < warm->shells + SHELLS_MAX; ++one) {
		if (one->path && strcmp(one->path, job->path) == 0 && one->context.umask == job->context->umask
		    && one->context.nice == job->context->nice && memcmp(&one->context.nofile, &job->context->nofile, sizeof(struct rlimit)) == 0
		    && memcmp(&one->context.ignored, &job->context->ignored, sizeof(sigset_t)) == 0) {
			return one;
		}
	}
	struct warm_shell *oldest = &warm->shells[warm->next++ % SHELLS_MAX];
	shell_fini(oldest);
	*oldest = (struct warm_shell){
		.path = xstrdup(job->path),
		.context = {.umask = job->context->umask, .nice = job->context->nice, .nofile = job->context->nofile,
		            .ignored = job->context->ignored},
		.executions = warm->mode == WARM_AUTO ? AUTO_AFTER : 0,
	};
	return oldest;
}

// Reads what jobs inherit now, unless that was read less than `max_age_ms` ago (reading it for each job would cost too much). A clone has the limits,
// niceness and so on with which its server was started, an executed job the present ones: a job may be cloned only if both are equal.
static void refresh_inherited(struct warm *warm, uint64_t max_age_ms) {
	uint64_t now = now_ns();
	if (!warm->refreshed || now - warm->refreshed >= max_age_ms * NS_PER_MS) {
		inherited_read(&warm->inherited);
		warm->refreshed = now;
	}
}

// Makes sure that the shell has a server. Returns NULL; or the reason why it has none (static text).
static const char *refuse_shell(struct warm *warm, struct warm_shell *shell, const struct spawn_config *job) {
	if (shell->executions > 0) {
		--shell->executions;
		return not_asked;
	}
	struct stat st;
	if (stat(shell->path, &st) != 0) {
		return "the file of the shell is gone";
	}
	const struct stat *was = &shell->file;
	if (shell->server && (st.st_dev != was->st_dev || st.st_ino != was->st_ino || st.st_size != was->st_size
	                      || memcmp(&st.st_mtim, &was->st_mtim, sizeof(st.st_mtim)) != 0 || memcmp(&st.st_ctim, &was->st_ctim, sizeof(st.st_ctim)) != 0)) {
		server_close(&shell->server); // a file that was replaced is another shell
	}
	shell->file = st;
	if (shell->why) {
		return shell->why;
	}
	refresh_inherited(warm, REFRESH_MS);
	if (warm->inherited.refusal) {
		return warm->inherited.refusal;
	}
	if (shell->server && shell->inherited != warm->inherited.hash) {
		server_close(&shell->server);
	}
	if (!shell->server) {
		shell->why = fitness_refusal(shell->path);
		if (!shell->why) {
			refresh_inherited(warm, 0); // reads what jobs inherit before the server starts: if that changes later, the comparison above notices it
			shell->inherited = warm->inherited.hash;
			shell->server = server_open(job, warm->guardian, &shell->why);
		}
	}
	return shell->why;
}

// The function of warm.starter: starts the job as a clone, or by spawn().
static pid_t start(void *arg, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error) {
	struct warm *warm = arg;
	warm->why = warm->guardian->table_fd < 0 ? "there is no guardian" : job->path[0] != '/' ? "the path of the shell is relative"
		: job->foreground ? "the job has the terminal" : job->cgroup_fd >= 0 ? "the job has a cgroup" : fitness_refusal_env(job->env);
	struct warm_shell *shell = warm->why ? NULL : find_shell(warm, job);
	warm->why = shell ? refuse_shell(warm, shell, job) : warm->why;
	if (warm->why) {
		return spawn(job, ret_pidfd, ret_error);
	}
	pid_t pid = server_start(shell->server, job, ret_pidfd, ret_error, &warm->why);
	if (shell->server->is_lost) {
		server_close(&shell->server);
		shell->why = ++shell->deaths < DEATHS_MAX ? NULL : warm->why;
	}
	return pid == 0 ? spawn(job, ret_pidfd, ret_error) : pid;
}

struct warm *warm_create(enum warm_mode mode, struct children *children) {
	if (mode == WARM_OFF || (mode == WARM_AUTO && server_so_size == 0)) {
		return NULL;
	}
	struct warm *warm = NEW(struct warm);
	warm->mode = mode;
	warm->guardian = children_guardian(children);
	warm->starter = (struct starter){.start = start, .arg = warm};
	return warm;
}

void warm_destroy(struct warm *warm) {
	if (warm) {
		for (size_t i = 0; i < SHELLS_MAX; ++i) {
			shell_fini(&warm->shells[i]);
		}
		buf_fini(&warm->report);
		free(warm);
	}
}

const struct starter *warm_starter(struct warm *warm) {
	if (!warm) {
		return NULL;
	}
	warm->why = not_asked;
	return &warm->starter;
}

const char *warm_report(struct warm *warm) {
	if (!warm || warm->why == not_asked) {
		return NULL;
	}
	buf_reset(&warm->report);
	buf_adds(&warm->report, warm->why ? "no, " : "yes");
	buf_adds(&warm->report, warm->why ? warm->why : "");
	return warm->report.data;
}
