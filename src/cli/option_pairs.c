// Which options do not go together, and which do nothing beside another one.

#include "cli/option_pairs.h"

#include "base/alloc.h"
#include "base/buf.h"
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

// ---- what has no effect ----

// What keeps anything from running, or NULL.
static const char *name_of_idler(const struct options *options) {
	bool shows = options->manifest && (options->check || options->list);
	return shows ? (options->check ? "check" : "list") : options->shell_quotes > 0 ? "shell-quote" : options->dry_run ? "dry-run" : NULL;
}

void option_idle_warn(const struct options *options, const bool given[NOPTIONS]) {
	static const enum option_id writing[] = {
		OPT_TRACE_SERVICE, OPT_JOBLOG, OPT_LOG, OPT_LOG_OUTPUT, OPT_RESULTS, OPT_FILES, OPT_FILES0, OPT_SUMMARY, OPT_REPORT,
		OPT_TRACE,
	};
	const size_t n = sizeof(writing) / sizeof(writing[0]);
	const char *idler = name_of_idler(options), *idle[sizeof(writing) / sizeof(writing[0])];
	size_t nidle = 0;
	for (size_t i = 0; idler && !given[OPT_QUIET] && i < n; ++i) {
		enum option_id id = writing[i];
		bool works = options->dry_run && (id == OPT_TRACE_SERVICE || (id == OPT_JOBLOG && options->resume != RESUME_NOT));
		works = works || (id == OPT_SUMMARY && options->summary != SUMMARY_ALWAYS);
		if (given[id] && !works) {
			idle[nidle++] = option_table[id].name;
		}
	}
	struct buf names = BUF_INIT;
	for (size_t i = 0; i < nidle; ++i) {
		buf_printf(&names, "%s--%s", i == 0 ? "" : i + 1 < nidle ? ", " : " and ", idle[i]);
	}
	if (nidle > 0) {
		diag_warn("%s ha%s no effect with --%s", buf_str(&names), nidle > 1 ? "ve" : "s", idler);
	}
	buf_fini(&names);
}

// ---- files ----

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
