// Whether a program can be a server, by what its file says and by what a server would inherit.
//
// fork(2) and execve(2) name what a child has of its parent. Of that, others can set: limits (prlimit(2)), niceness and policy
// (sched_setattr(2)), CPUs, I/O priority, timer slack, cgroups, and what the files of proc(5) read here say.

#include "warm/fitness.h"

#include "base/io.h"
#include "base/map.h"
#include "base/text.h"
#include "process/proc.h"
#include "warm/client.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	CPU_WORDS = 128,     // of 64 CPUs
	SCHEDULING_WORDS = 8, // struct sched_attr has 7 (sched_setattr(2)); the kernel fills what it knows of
	IOPRIO_PROCESS = 1,  // ioprio_get(2), IOPRIO_WHO_PROCESS: a thread; the C library has neither
	PROCESSES_FEW = 512, // a job's own could be those that a server leaves no room for
};

// Who sets the program up: the dynamic linkers of glibc are ld-linux*.so.N and, on some machines, ld64.so.N.
static const char *refuse_linker(int fd, const ElfW(Phdr) *interpreter) {
	char path[PATH_MAX] = "";
	size_t size = interpreter->p_filesz < sizeof(path) ? interpreter->p_filesz : sizeof(path) - 1;
	if (pread_all(fd, path, size, interpreter->p_offset) != size) {
		return "its file is damaged";
	}
	const char *name = path_base(path);
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64.so", 7) == 0 ? NULL : "its C library is not glibc";
}

static const char *refuse_elf(int fd) {
	ElfW(Ehdr) header, own;
	if (pread_all(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
		return header.e_ident[0] == '#' && header.e_ident[1] == '!' ? "script" : "no ELF program";
	}
	memcpy(&own, server_so, sizeof(own));
	if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_machine != own.e_machine) {
		return "program for another machine";
	}
	for (unsigned i = 0; i < header.e_phnum; ++i) {
		ElfW(Phdr) part;
		if (pread_all(fd, &part, sizeof(part), header.e_phoff + i * sizeof(part)) != sizeof(part)) {
			return "its file is damaged";
		}
		if (part.p_type == PT_INTERP) {
			return refuse_linker(fd, &part);
		}
	}
	return "static program";
}

const char *fitness_refusal(const char *path) {
	struct stat st;
	if (sizeof(ElfW(Ehdr)) > server_so_size) {
		return "this fairpar was built without it";
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return "its file cannot be read";
	}
	const char *why = refuse_elf(fd);
	if (!why && st.st_mode & (S_ISUID | S_ISGID)) {
		why = "set-id program";
	} else if (!why && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		why = "program with file capabilities";
	}
	fd_close(&fd);
	return why;
}

const char *fitness_refusal_env(char *const *env) {
	for (; *env; ++env) {
		const char *name = *env;
		if (name[0] == 'L' && strncmp(name, "LD_", 3) == 0) {
			return "its environment has LD_*";
		}
		if (name[0] == 'G' && strncmp(name, "GLIBC_TUNABLES=", 15) == 0) {
			return "its environment has GLIBC_TUNABLES";
		}
		if (name[0] == 'M' && strncmp(name, "MALLOC_", 7) == 0) {
			return "its environment has MALLOC_*";
		}
	}
	return NULL;
}

// ---- what is inherited ----

void inherited_read(struct inherited *ret) {
	uint64_t scheduling[SCHEDULING_WORDS] = {0}, cpus[CPU_WORDS] = {0};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	memset(ret, 0, sizeof(*ret)); // what cannot be asked is always the same
	for (int i = 0; i < RLIM_NLIMITS; ++i) {
		(void)getrlimit(RLIMIT_OF(i), &ret->limits[i]);
	}
	(void)syscall(SYS_sched_getattr, 0, scheduling, sizeof(scheduling), 0);
	(void)syscall(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);
	buf_add(&text, ret->limits, sizeof(ret->limits));
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
}

// As process/spawn.c gives them to a child: cut to what it may have.
static bool has_limits(const struct inherited *inherited, const struct context *context) {
	for (unsigned i = 0; context->limits && i < context->nlimits && i < RLIM_NLIMITS; ++i) {
		struct rlimit have = inherited->limits[i], want = context->limits[i];
		want.rlim_max = want.rlim_max > have.rlim_max ? have.rlim_max : want.rlim_max;
		want.rlim_cur = want.rlim_cur > want.rlim_max ? want.rlim_max : want.rlim_cur;
		if (i != RLIMIT_NOFILE && (want.rlim_cur != have.rlim_cur || want.rlim_max != have.rlim_max)) {
			return false;
		}
	}
	return true;
}

const char *inherited_refusal(const struct inherited *inherited, const struct context *context) {
	if (inherited->limits[RLIMIT_AS].rlim_cur != RLIM_INFINITY) {
		return "the address space is limited";
	}
	if (inherited->limits[RLIMIT_NPROC].rlim_cur <= PROCESSES_FEW) {
		return "few processes are allowed";
	}
	return has_limits(inherited, context) ? NULL : "it has limits of its own";
}
