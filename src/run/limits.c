// Whether there are descriptors enough: for a run at all, and for how many jobs at once.

#include "run/limits.h"

#include "base/diag.h"
#include "base/io.h"
#include "run/pictures.h"

enum {
	// Measured, as the least limit with which it works: 13 with the standard three for a job, and two more when its output
	// goes to disk; one is spare.
	FDS_ONE_JOB = 13,
	FDS_BLOCKS = 4,       // of --pipe: two blocks, and a pipe
	FDS_RESULTS = 2,
	FDS_FEW = 256,        // more than this, and nobody has so many open that it could matter
};

static unsigned long count_needed(const struct options *options) {
	unsigned long needed = FDS_ONE_JOB + options->nbatch_files;
	const bool files[] = {
		options->joblog, options->log, options->trace_service, pictures_wanted(options), options->tty || options->interactive,
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
		needed += files[i];
	}
	needed += options->results || options->files ? FDS_RESULTS : 0;
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
	diag_error("a limit of %lu descriptors leaves no room for a job: it must be %lu or more, by ulimit -n", nofile,
	           nofile + needed - left);
	return -1;
}

unsigned long limits_for_jobs(const struct options *options, unsigned long nofile) {
	return nofile > options->nbatch_files ? nofile - options->nbatch_files : 0;
}
