// How many jobs the limits of descriptors and processes allow at once.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/sync.h"

#include <fcntl.h>
#include <sys/resource.h>

enum {
	// How many descriptors a run with one job at a time needs, besides 0, 1 and 2. Measured: 11 for jobs with little output,
	// and two more for jobs whose output goes to disk.
	FDS_ONE_JOB = 13,
	FDS_BLOCKS = 4,       // of --pipe: two blocks, and a pipe
	FDS_RESULTS = 2,
	FDS_NAME = 2,         // of --run: its socket and its lock
	TASKS_TESTED = 512,   // a limit of more processes than this is not tested: such a limit is assumed to allow all slots
	FDS_OPEN_MAX = 256,   // how many descriptors are assumed to be open before the run, at most
};

// Returns how many descriptors the run needs with one job at a time.
static unsigned long count_fds(const struct options *options) {
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
	unsigned long needed = count_fds(options);
	if (nofile >= needed + FDS_OPEN_MAX) {
		return 0;
	}
	unsigned long enough = 0;
	for (unsigned long left = 0; left < needed; ++enough) { // a descriptor may be above the limit, if it was opened before the limit was lowered
		left += fcntl((int)enough, F_GETFD) < 0;
	}
	return enough <= nofile ? 0 : diag_error("a limit of %lu descriptors leaves no room for a job: it must be %lu or more, by ulimit -n", nofile, enough);
}

// A thread that counts against RLIMIT_NPROC until limits_slots_by_processes() gives back the lock.
static void *occupy_task(void *lock) {
	FP_HOLD(lock);
	return NULL;
}

unsigned limits_slots_by_processes(unsigned slots, unsigned tasks, bool *ret_has_guardian) {
	struct rlimit limit;
	*ret_has_guardian = true;
	if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur > TASKS_TESTED) {
		return slots;
	}
	// threads are started to find out: the limit counts all processes of the user, of which fairpar may not see all
	unsigned want = slots < TASKS_TESTED / tasks ? slots * tasks + 1 : TASKS_TESTED, n = 0;
	thread *threads = xcalloc(want, sizeof(*threads));
	mutex lock;
	mutex_init(&lock, LOCK_LIMITS);
	mutex_lock(&lock);
	while (n < want && thread_start(&threads[n], occupy_task, &lock, 0) == 0) {
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
	*ret_has_guardian = n > fit * LIMITS_TASKS;
	return fit;
}
