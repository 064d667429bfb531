// How many jobs the limits of descriptors and processes allow at once.

#include "core/limits.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"

#include <fcntl.h>
#include <sys/resource.h>

enum {
	// Measured, as the least limit with which it works: 13 with the standard three for a job, and two more when its output
	// goes to disk; one is spare.
	FDS_ONE_JOB = 13,
	FDS_BLOCKS = 4,       // of --pipe: two blocks, and a pipe
	FDS_RESULTS = 2,
	FDS_NAME = 2,         // of --run: its socket and its lock
	TASKS_FEW = 512,      // a higher limit of processes is not taken for a tight one
	FDS_FEW = 256,        // more than this, and nobody has so many open that it could matter
};

static unsigned long count_needed(const struct options *options) {
	unsigned long needed = FDS_ONE_JOB + options->nbatch_files;
	const bool files[] = {
		options->joblog, options->log, options->trace_service, options_want_pictures(options), options->tty || options->interactive,
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
		needed += files[i];
	}
	needed += options->results || options->files ? FDS_RESULTS : 0;
	needed += options->control.run ? FDS_NAME : 0;
	return needed + (options->pipe != PIPE_NOT ? FDS_BLOCKS : 0);
}

int limits_check(const struct options *options, unsigned long nofile) {
	unsigned long needed = count_needed(options);
	if (nofile >= needed + FDS_FEW) {
		return 0;
	}
	unsigned long left = fds_count_free((unsigned)needed);
	if (left >= needed) {
		return 0;
	}
	unsigned long enough = nofile;
	for (; left < needed; ++enough) { // what was opened before the limit was lowered is in the way
		left += fcntl((int)enough, F_GETFD) < 0;
	}
	return diag_error("a limit of %lu descriptors leaves no room for a job: it must be %lu or more, by ulimit -n", nofile, enough);
}

// Waits until who counts unlocks what it holds.
static void *take_room(void *lock) {
	mutex_lock(lock);
	mutex_unlock(lock);
	return NULL;
}

unsigned limits_for_processes(unsigned slots, unsigned tasks, bool *ret_spare) {
	struct rlimit limit;
	*ret_spare = true;
	if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur > TASKS_FEW) {
		return slots;
	}
	// tried out: the limit is over all processes of the user, of which not all can be seen
	unsigned want = slots < TASKS_FEW / tasks ? slots * tasks + 1 : TASKS_FEW, n = 0;
	thread *threads = xcalloc(want, sizeof(*threads));
	mutex lock;
	mutex_init(&lock, LOCK_LIMITS);
	mutex_lock(&lock);
	while (n < want && thread_start(&threads[n], take_room, &lock, 0) == 0) {
		++n;
	}
	mutex_unlock(&lock);
	for (unsigned i = 0; i < n; ++i) {
		thread_join(threads[i]);
	}
	mutex_fini(&lock);
	free(threads);
	unsigned fit = n / tasks > 0 ? n / tasks : 1;
	fit = fit < slots ? fit : slots;
	*ret_spare = n > fit * LIMITS_TASKS;
	return fit;
}

unsigned long limits_for_jobs(const struct options *options, unsigned long nofile) {
	return nofile > options->nbatch_files ? nofile - options->nbatch_files : 0;
}
