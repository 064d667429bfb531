// stall.so: for LD_PRELOAD, makes a directory that stalls. Once the counters (counters.h) say that the run is disturbed, the next
// STALL_CALLS calls that make or open something below a directory "stalling" take STALL_MS milliseconds.

#include "counters.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

typedef long syscall_function(long number, ...);
typedef int mkdirat_function(int dir, const char *path, mode_t mode);
typedef int openat_function(int dir, const char *path, int flags, ...);

static unsigned from_env(const char *name) {
	const char *text = getenv(name);
	return text ? (unsigned)atoi(text) : 0;
}

// Sleeps if the path is one that stalls now.
static void stall(const char *path) {
	static _Atomic(struct counters *) mapped;
	struct counters *counters = atomic_load(&mapped);
	if (!path || !strstr(path, "stalling")) {
		return;
	}
	if (!counters) {
		const char *file = getenv("COUNTERS");
		atomic_store(&mapped, counters = file ? counters_map(file) : NULL);
	}
	if (counters && atomic_load_relaxed(&counters->is_disturbed) && atomic_add_relaxed(&counters->stalled, 1) < from_env("STALL_CALLS")) {
		unsigned ms = from_env("STALL_MS");
		struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
		nanosleep(&rest, NULL);
	}
}

static void *next(const char *name) {
	return dlsym(RTLD_NEXT, name);
}

int mkdirat(int dir, const char *path, mode_t mode) {
	static mkdirat_function *real;
	real = real ? real : (mkdirat_function *)(uintptr_t)next("mkdirat");
	stall(path);
	return real(dir, path, mode);
}

int openat(int dir, const char *path, int flags, ...) {
	static openat_function *real;
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
	va_end(args);
	real = real ? real : (openat_function *)(uintptr_t)next("openat");
	stall(path);
	return real(dir, path, flags, mode);
}

// openat2(2) has no function of its own in the C library.
long syscall(long number, ...) {
	static syscall_function *real;
	long a[6];
	va_list args;
	va_start(args, number);
	for (int i = 0; i < 6; ++i) {
		a[i] = va_arg(args, long);
	}
	va_end(args);
	real = real ? real : (syscall_function *)(uintptr_t)next("syscall");
	if (number == SYS_openat2) {
		stall((const char *)a[1]);
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
