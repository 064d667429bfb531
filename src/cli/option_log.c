// The options of the logs, of --resume and its kin, and of result files.

#include "cli/option_log.h"

#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int option_log_fd(const char *name, size_t *ret_at) {
	int number = 0;
	*ret_at = 0;
	if (strncmp(name, "fd:", 3) != 0) {
		return -1;
	}
	const char *at = name + 3;
	for (; *at >= '0' && *at <= '9' && at < name + 3 + 9; ++at) {
		number = number * 10 + (*at - '0');
	}
	*ret_at = (size_t)(at - name);
	return *at == '\0' && at > name + 3 ? number : -1;
}

static int refuse_fd(const char *name, size_t at) {
	if (name[at] == '\0') {
		diag_error("--log %s: position %zu: the number of a descriptor is missing (a file: './%s')", name, at + 1, name);
	} else if (name[at] >= '0' && name[at] <= '9') {
		diag_error("--log %s: position %zu: no descriptor has such a number (a file: './%s')", text_shows(name), at + 1,
		           text_shows(name));
	} else {
		diag_error("--log %s: position %zu: '%s' is no digit (a file: './%s')", text_shows(name), at + 1,
		           text_show(name + at, 1), text_shows(name));
	}
	return -1;
}

// Here, where nothing has been opened yet: the number of one that the caller has not opened would be that of a file of
// fairpar's own.
static int take_log(const char *name, const char **ret_name) {
	size_t at;
	int fd = option_log_fd(name, &at);
	if (fd < 0 && at > 0) {
		return refuse_fd(name, at);
	}
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : 0;
	if (flags < 0) {
		diag_error("cannot write the log '%s': descriptor %d is not open", name, fd);
		return -1;
	}
	if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
		diag_error("cannot write the log '%s': descriptor %d is open for reading only", name, fd);
		return -1;
	}
	return option_take_text(OPT_LOG, name, ret_name);
}

int option_log_take(struct options *options, enum option_id id, const char *value) {
	switch (id) {
	case OPT_JOBLOG:
		options->joblog_append = value[0] == '+';
		return option_take_text(id, value + options->joblog_append, &options->joblog);
	case OPT_LOG:
		return take_log(value, &options->log);
	case OPT_LOG_OUTPUT:
		options->log_output = true;
		return 0;
	case OPT_RESULTS:
		return option_take_text(id, value, &options->results);
	case OPT_FILES0:
		options->files = options->files_nul = true;
		return 0;
	case OPT_FILES:
		options->files = true;
		return 0;
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

static bool has_ending(const char *path, const char *end_summary) {
	size_t len = strlen(path), end_summary_len = strlen(end_summary);
	return len >= end_summary_len && strcasecmp(path + len - end_summary_len, end_summary) == 0;
}

bool option_results_is_table(const char *path) {
	return has_ending(path, ".csv") || has_ending(path, ".tsv") || has_ending(path, ".json");
}

static bool is_stdout(const char *log) {
	size_t at;
	return log && (strcmp(log, "-") == 0 || option_log_fd(log, &at) == STDOUT_FILENO);
}

// A row holds the whole output of a job.
static int check_table(const struct options *options) {
	if (!options->results || !option_results_is_table(options->results) || options->dry_run) {
		return 0;
	}
	const char *other = options->output == OUTPUT_UNGROUP ? "ungroup" : options->output == OUTPUT_LINE_BUFFER ? "line-buffer"
		: options->files ? "files" : is_stdout(options->log) ? "log -" : options->joblog && strcmp(options->joblog, "-") == 0 ? "joblog -" : NULL;
	if (other) {
		diag_error("--results %s cannot be combined with --%s: each row holds the whole output of a job",
		           text_shows(options->results), other);
		return -1;
	}
	return 0;
}

int option_log_check(const struct options *options) {
	static const enum option_id ids[] = {
		[RESUME_SEEN] = OPT_RESUME, [RESUME_FAILED] = OPT_RESUME_FAILED, [RESUME_RETRY] = OPT_RETRY_FAILED,
	};
	if (check_table(options) != 0) {
		return -1;
	}
	if (options->log_output && !options->log) {
		diag_error("--log-output needs a log: name it with --log FILE");
		return -1;
	}
	if (options->resume == RESUME_NOT) {
		return 0;
	}
	const char *name = option_table[ids[options->resume]].name;
	bool has_dir = options->results && !option_results_is_table(options->results);
	if (!options->joblog && has_dir && options->resume == RESUME_SEEN) {
		return 0;
	}
	if (!options->joblog) {
		diag_error("--%s needs the log of the run before: name it with --joblog FILE%s", name,
		           has_dir ? "; --results does not say what failed" : "");
	} else if (strcmp(options->joblog, "-") == 0) {
		diag_error("--%s needs a joblog in a file, not on stdout", name);
	} else {
		return 0;
	}
	return -1;
}
