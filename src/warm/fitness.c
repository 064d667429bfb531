// Whether a shell can be a server, by what its file says and by what a server would inherit.
//
// fork(2) and execve(2) list what a child inherits. Other processes can change some of it: limits (prlimit(2)), niceness and policy
// (sched_setattr(2)), CPUs, I/O priority, timer slack, cgroups, and what is in the files of proc(5) that are read here.

#include "warm/fitness.h"

#include "base/io.h"
#include "base/map.h"
#include "process/context.h"
#include "process/proc.h"
#include "warm/client.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CPU_WORDS = 128,     // of 64 CPUs
	SCHEDULING_WORDS = 8, // struct sched_attr has 7 (sched_setattr(2)); the kernel fills what it knows of
	IOPRIO_PROCESS = 1,  // ioprio_get(2), IOPRIO_WHO_PROCESS: a thread; the C library has neither
	PROCESSES_FEW = 512, // a job's own could be those that a server leaves no room for
};

// A static program or an interpreter that executes another shell would not stop but run.
static const char *refuse_elf(int fd) {
	ElfW(Ehdr) header, own;
	memcpy(&own, server_so, sizeof(own));
	if (pread_all(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, own.e_ident, EI_DATA + 1) != 0) {
		return "script, or a program for another machine";
	}
	for (unsigned i = 0; i < header.e_phnum; ++i) {
		ElfW(Phdr) part;
		if (pread_all(fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) == sizeof(part) && part.p_type == PT_INTERP) {
			return NULL;
		}
	}
	return "static program";
}

const char *fitness_refusal(const char *path) {
	if (sizeof(ElfW(Ehdr)) > server_so_size) {
		return "this fairpar was built without it";
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why = fd < 0 ? "its file cannot be read" : refuse_elf(fd);
	fd_close(&fd);
	return why;
}

const char *fitness_refusal_env(char *const *env) {
	for (; *env; ++env) {
		if (strncmp(*env, "LD_", 3) == 0) {
			return "its environment has LD_*";
		}
		if (strncmp(*env, "GLIBC_TUNABLES=", 15) == 0) {
			return "its environment has GLIBC_TUNABLES";
		}
		if (strncmp(*env, "MALLOC_", 7) == 0) {
			return "its environment has MALLOC_*";
		}
	}
	return NULL;
}

// ---- what is inherited ----

void inherited_read(struct inherited *ret) {
	uint64_t scheduling[SCHEDULING_WORDS] = {0}, cpus[CPU_WORDS] = {0};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct rlimit limits[RLIM_NLIMITS] = {0}; // what cannot be asked is always the same
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
