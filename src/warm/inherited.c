// What a process inherits of the thread that starts it, where others can change it in one that runs.
//
// fork(2) and execve(2) name what a child has of its parent. Of that, others can set: limits (prlimit(2)), niceness and policy
// (sched_setattr(2)), CPUs, I/O priority, timer slack, cgroups, and what the files of proc(5) read here say.

#include "warm/inherited.h"

#include "base/buf.h"
#include "base/map.h"
#include "process/proc.h"

#include <fcntl.h>
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
