// The server: a library that is preloaded into a shell, so that the shell stops just before its main(), and is cloned there for each job.
//
// This file is no part of the program fairpar: it is linked as a shared object of its own (see Makefile), which fairpar carries as data. The object
// replaces __libc_start_main(), which a program calls once it is linked and relocated, before any code of its own has run. A job is a clone of the
// server with CLONE_PARENT, and so a child of fairpar; it goes on into the real __libc_start_main().
//
// What the C library knows of the process must be right in the job: the thread's id, which the kernel writes to the place that the
// library told it; the list of robust mutexes, which a clone does not inherit; errno. So this code does not allocate or lock, and calls
// no function that keeps state: it makes all system calls by their number.

#include "warm/protocol.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

#define EXPORT __attribute__((visibility("default")))

EXPORT int __libc_start_main(main_fn *program_main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);

static struct {
	int socket, table_fd, object_fd;
	size_t table_size;
	char *table;
	unsigned nfds;                 // how many descriptors were open before any library of the shell was initialized
	void *tid_address;             // where the kernel writes the thread's id
	void *robust_list;
	size_t robust_size;
	struct prctl_mm_map layout;
} server;

// The request, which becomes the arguments and the environment of the job.
static union {
	struct warm_request request;
	char bytes[WARM_BYTES_MAX];
} message;
static char *strings[WARM_STRINGS_MAX + 2];
static int fds[WARM_FDS_MAX];
static int nfds;

// ---- what the server is like ----

static unsigned long read_number(const char **at) {
	unsigned long value = 0;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		value = value * 10 + (unsigned long)(**at - '0');
	}
	*at += **at == ' ';
	return value;
}

// Counts the entries of a directory in /proc/self; 0 if it cannot be read.
static unsigned count_entries(const char *path) {
	char bytes[2048] __attribute__((aligned(8)));
	unsigned n = 0;
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), got;
	while (fd >= 0 && (got = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < got; at += *(unsigned short *)(void *)(bytes + at + 16)) { // d_reclen (getdents64(2))
			++n;
		}
	}
	if (fd >= 0) {
		syscall(SYS_close, fd);
	}
	return n;
}

// Runs before all other constructors, as the object is linked with -z initfirst.
__attribute__((constructor)) static void count_fds(void) {
	server.nfds = count_entries("/proc/self/fd");
}

// Finds where the parts of the process lie in memory: to move its arguments (/proc/PID/cmdline, environ), a process must tell the kernel all parts.
static bool find_layout(void) {
	char text[2048];
	unsigned long field[52] = {0};
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	long n = fd >= 0 ? syscall(SYS_read, fd, text, sizeof(text) - 1) : -1;
	syscall(SYS_close, fd);
	if (n <= 0) {
		return false;
	}
	const char *at = text + n;
	text[n] = '\0';
	while (at > text && *at != ')') {
		--at;
	}
	// proc(5): field 2 is the name in brackets, which may hold anything; behind it, from 4 on, are numbers
	at += *at ? 4 : 0;
	for (int i = 4; i < 52 && *at; ++i) {
		at += *at == '-';
		field[i] = read_number(&at);
	}
	server.layout = (struct prctl_mm_map){
		.start_code = field[26], .end_code = field[27], .start_stack = field[28], .start_data = field[45], .end_data = field[46],
		.start_brk = field[47], .brk = (unsigned long)syscall(SYS_brk, 0),
		.arg_start = field[48], .arg_end = field[49], .env_start = field[50], .env_end = field[51], .exe_fd = (unsigned)-1,
	};
	return syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &server.layout, sizeof(server.layout), 0) == 0;
}

// Reads SERVER_VARIABLE, which fairpar puts into a server's environment. Returns false if it is not there: the process is no server.
static bool take_over(char **env) {
	while (*env && __builtin_strncmp(*env, SERVER_VARIABLE "=", sizeof(SERVER_VARIABLE)) != 0) {
		++env;
	}
	if (!*env) {
		return false;
	}
	const char *at = *env + sizeof(SERVER_VARIABLE "=") - 1;
	server.socket = (int)read_number(&at);
	server.table_fd = (int)read_number(&at);
	server.table_size = read_number(&at);
	server.object_fd = (int)read_number(&at);
	return true;
}

static enum warm_unfit find_fit(void) {
	if (count_entries("/proc/self/fd") != server.nfds) {
		return WARM_HAS_FDS;
	}
	if (count_entries("/proc/self/task") != 3) { // ".", ".." and the only thread
		return WARM_HAS_THREADS;
	}
	server.table = (char *)syscall(SYS_mmap, NULL, server.table_size, PROT_READ | PROT_WRITE, MAP_SHARED, server.table_fd, 0);
	if (server.table == MAP_FAILED) {
		return WARM_NO_TABLE;
	}
	if (syscall(SYS_prctl, PR_GET_TID_ADDRESS, &server.tid_address, 0, 0, 0) != 0 || !server.tid_address
	    || syscall(SYS_get_robust_list, 0, &server.robust_list, &server.robust_size) != 0) {
		return WARM_NO_TID_ADDRESS;
	}
	return find_layout() ? WARM_FIT : WARM_NO_LAYOUT;
}

// ---- the protocol ----

static bool reply(int32_t value) {
	return syscall(SYS_write, server.socket, &value, sizeof(value)) == sizeof(value);
}

// Waits for the next request. Returns false if none can come any more, or if the request is invalid.
static bool take_request(void) {
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr header;
	} control;
	struct iovec part = {message.bytes, sizeof(message.bytes) - 1};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	long n;
	do {
		n = syscall(SYS_recvmsg, server.socket, &header, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < (long)sizeof(message.request)) {
		return false;
	}
	struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
	nfds = rights ? (int)((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	for (int i = 0; i < nfds; ++i) {
		fds[i] = ((const int *)(const void *)CMSG_DATA(rights))[i];
	}
	message.bytes[n] = '\0';
	return nfds >= 3 && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

static void close_fds(void) {
	for (int i = 0; i < nfds; ++i) {
		syscall(SYS_close, fds[i]);
	}
}

// ---- in the job ----

static void must(bool succeeds) {
	if (!succeeds) {
		syscall(SYS_exit_group, 127);
	}
}

// Takes the same steps in the same order as process/spawn.c, except for steps that may fail: a job that needs such a step is executed, not cloned.
// Umask, limits, niceness and dispositions are those of the server.
static void set_up(void) {
	const struct warm_request *request = &message.request;
	must(syscall(SYS_setpgid, 0, 0) == 0);
	const struct timespec at_once = {0};
	while (syscall(SYS_rt_sigtimedwait, &request->deadly, NULL, &at_once, sizeof(request->deadly)) > 0) {
	}
	must(syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || syscall(SYS_getppid) == request->parent);
	must(nfds < WARM_FDS_MAX || syscall(SYS_fchdir, fds[3]) == 0);
	for (int fd = 0; fd < 3; ++fd) {
		must(syscall(SYS_dup3, fds[fd], fd, 0) >= 0);
	}
	// before the job does anything else, so that the guardian knows the job's group if fairpar is killed
	atomic_store_explicit((atomic_int *)(void *)(server.table + request->listed), -(int)syscall(SYS_getpid), memory_order_release);
	syscall(SYS_munmap, server.table, server.table_size);
	close_fds();
	syscall(SYS_close, server.socket);
	syscall(SYS_set_robust_list, server.robust_list, server.robust_size);
}

// Makes an array of the `n` strings that begin at *at, with NULL at its end, for main(). Returns where the next array begins.
static char **take_strings(char **array, char **at, uint32_t n) {
	for (; n > 0; --n) {
		*array++ = *at;
		*at += __builtin_strlen(*at) + 1;
	}
	*array++ = NULL;
	return array;
}

// Turns this clone into the job, up to the start of the program. `strings` gets the array of arguments and, behind it, that of the environment.
static void become_job(void) {
	const struct warm_request *request = &message.request;
	char *at = message.bytes + sizeof(*request);
	set_up();
	server.layout.arg_start = (uintptr_t)at;
	char **env = take_strings(strings, &at, request->nargs);
	server.layout.arg_end = server.layout.env_start = (uintptr_t)at;
	take_strings(env, &at, request->nenv);
	environ = __environ = env; // both are names of one variable; main() gets this array as an argument, too
	server.layout.env_end = (uintptr_t)at;
	syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &server.layout, sizeof(server.layout), 0);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &request->mask, NULL, sizeof(request->mask));
	errno = 0;
}

// ---- the server ----

// Serves requests. Returns in each clone, which is a job; never in the server, which ends here.
static void serve(void) {
	enum warm_unfit unfit = find_fit();
	syscall(SYS_close, server.table_fd);
	syscall(SYS_close, server.object_fd);
	bool goes_on = reply((int32_t)unfit) && unfit == WARM_FIT;
	while (goes_on && take_request()) {
		// the address is passed twice: machines differ in the order of this argument and the argument for thread-local storage, which is unused
		long pid = syscall(SYS_clone, CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, 0, 0, server.tid_address,
		                   server.tid_address);
		if (pid == 0) {
			become_job();
			return;
		}
		int error = errno;
		close_fds();
		goes_on = reply(pid > 0 ? (int32_t)pid : -error);
	}
	syscall(SYS_exit_group, 0);
}

int __libc_start_main(main_fn *program_main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
	union {
		void *address;
		start_fn *call;
	} real = {dlsym(RTLD_NEXT, "__libc_start_main")}; // POSIX, dlsym(): a pointer to data can hold the address of a function
	if (take_over(argv + argc + 1)) {
		serve();
		argc = (int)message.request.nargs;
		argv = strings;
	}
	return real.call(program_main, argc, argv, init, fini, rtld_fini, stack_end);
}
