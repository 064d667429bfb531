// The options of the joblog, of --resume and its kin, and of result files.

#include "option_log.h"

#include "base/diag.h"

#include <string.h>

static int take_path(enum option_id id, const char *path, const char **ret_path) {
	if (*path == '\0') {
		diag_error("--%s must not be empty", option_table[id].name);
		return -1;
	}
	*ret_path = path;
	return 0;
}

int option_log_take(struct options *options, enum option_id id, const char *value) {
	switch (id) {
	case OPT_JOBLOG:
		options->joblog_append = value[0] == '+';
		return take_path(id, value + options->joblog_append, &options->joblog);
	case OPT_RETRY_FAILED:
		options->resume = RESUME_RETRY;
		return 0;
	case OPT_RESUME_FAILED:
		options->resume = RESUME_FAILED;
		return 0;
	default: // --resume, which says less than --resume-failed
		options->resume = options->resume == RESUME_NOT ? RESUME_SEEN : options->resume;
		return 0;
	}
}

int option_log_check(const struct options *options) {
	static const enum option_id ids[] = {
		[RESUME_SEEN] = OPT_RESUME, [RESUME_FAILED] = OPT_RESUME_FAILED, [RESUME_RETRY] = OPT_RETRY_FAILED,
	};
	if (options->resume == RESUME_NOT) {
		return 0;
	}
	const char *name = option_table[ids[options->resume]].name;
	if (!options->joblog) {
		diag_error("--%s needs the log of the run before: name it with --joblog FILE", name);
	} else if (strcmp(options->joblog, "-") == 0) {
		diag_error("--%s needs a joblog in a file, not on stdout", name);
	} else {
		return 0;
	}
	return -1;
}
