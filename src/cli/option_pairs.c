// Which options do not go together.

#include "cli/option_pairs.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int option_pairs_check(const struct options *options, const bool given[NOPTIONS]) {
	// the first three as in GNU parallel, which lets no other order of them win either
	static const enum option_id pairs[][2] = {
		{OPT_GROUP, OPT_UNGROUP},
		{OPT_GROUP, OPT_LINE_BUFFER},
		{OPT_UNGROUP, OPT_LINE_BUFFER},
		{OPT_LATEST_LINE, OPT_GROUP},
		{OPT_LATEST_LINE, OPT_UNGROUP},
		{OPT_NULL, OPT_DELIMITER},
		{OPT_CAT, OPT_FIFO},
		{OPT_CHECK, OPT_LIST},
		{OPT_CHECK, OPT_DRY_RUN},
		{OPT_LIST, OPT_DRY_RUN},
		{OPT_RETRY_FAILED, OPT_RESUME},
		{OPT_RETRY_FAILED, OPT_RESUME_FAILED},
		{OPT_RETRY_FAILED, OPT_BATCH},
		{OPT_RETRY_FAILED, OPT_BATCH_BY},
		{OPT_RETRY_FAILED, OPT_THEN},
		{OPT_RETRY_FAILED, OPT_ON_FAILURE},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
		enum option_id a = pairs[i][0], b = pairs[i][1];
		if (given[a] && given[b]) {
			diag_error("--%s cannot be combined with --%s", option_table[a].name, option_table[b].name);
			return -1;
		}
	}
	if (options->batch && options->batch_by) {
		diag_error("--batch %s cannot be combined with --batch-by: each names the batch of the same items",
		           diag_shows(options->batch));
		return -1;
	}
	return 0;
}

int option_batches_check(const struct options *options) {
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		const char *name = options->batch_files[i].name;
		bool twice = options->batch && strcmp(options->batch, name) == 0;
		for (size_t j = 0; j < i; ++j) {
			twice = twice || strcmp(options->batch_files[j].name, name) == 0;
		}
		if (twice) {
			diag_error("--batch names the batch '%s' twice", diag_shows(name));
			return -1;
		}
	}
	return 0;
}

// A file that an option names.
struct named_file {
	enum option_id option;
	const char *path;
};

// True if both are one file, by their names or where they are; a device or a FIFO may be shared.
static bool is_same_file(const char *a, const char *b) {
	struct stat first, second;
	if (stat(a, &first) != 0 || stat(b, &second) != 0) {
		return strcmp(a, b) == 0;
	}
	return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool is_stdout(const struct named_file *file) {
	return strcmp(file->path, "-") == 0;
}

// Lines of a log and rows of a joblog may go to stdout, among the output of jobs; two drawings may not.
static bool is_drawing(const struct named_file *file) {
	return file->option == OPT_TRACE || file->option == OPT_REPORT;
}

static bool clashes(const struct named_file *a, const struct named_file *b) {
	if (is_stdout(a) || is_stdout(b)) {
		return is_stdout(a) && is_stdout(b) && is_drawing(a) && is_drawing(b);
	}
	return is_same_file(a->path, b->path);
}

int option_files_check(const struct options *options) {
	struct named_file *files = xcalloc(options->nreports + 4, sizeof(*files));
	const struct named_file others[] = {
		{OPT_TRACE, options->trace}, {OPT_LOG, options->log}, {OPT_JOBLOG, options->joblog}, {OPT_FROM_LOG, options->from_log},
	};
	size_t n = 0;
	int result = 0;
	for (; n < options->nreports; ++n) {
		files[n] = (struct named_file){OPT_REPORT, options->reports[n]};
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
		if (others[i].path) {
			files[n++] = others[i];
		}
	}
	for (size_t i = 0; i < n && result == 0; ++i) {
		for (size_t j = i + 1; j < n && result == 0; ++j) {
			if (clashes(&files[i], &files[j])) {
				diag_error("--%s and --%s are the same file, '%s'", option_table[files[i].option].name,
				           option_table[files[j].option].name, diag_shows(files[i].path));
				result = -1;
			}
		}
	}
	free(files);
	return result;
}
