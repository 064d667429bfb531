// What the workers of answering.c, the dispatcher's watcher (dispatcher.c) and the directory that stalls (stall.c) know together: a file
// that each of them maps. COUNTERS in their environment is its path.

#pragma once

#include "base/atomic.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// A machine is a plain one, or one that disturbs the others.
enum group { PLAIN, DISTURBING, GROUPS };

struct counters {
	struct {
		atomic_ulong greeted; // connections that have begun
		atomic_ulong lost;    // connections that have ended, but not because the worker was released
		atomic_ulong started; // jobs, ended ones included
		atomic_ulong ended;
	} groups[GROUPS];
	atomic_bool is_disturbed;     // set by the watcher: now the machines that disturb do so
	atomic_uint stalled;          // calls that have stalled
};

// Maps the file, and makes it at first. Returns NULL with errno if the file cannot be had. The mapping stays until the process ends.
static inline struct counters *counters_map(const char *path) {
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *mapped = fd < 0 || ftruncate(fd, sizeof(struct counters)) != 0 ? MAP_FAILED
		: mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0) {
		close(fd);
	}
	return mapped == MAP_FAILED ? NULL : mapped;
}
