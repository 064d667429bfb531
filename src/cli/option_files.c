// The files that options name. No file may be written for two options, or read for one and written for another.

#include "cli/options.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

int option_log_fd(const char *name) {
	long number;
	return strncmp(name, "fd:", 3) != 0 ? NO_FD : parse_number(name + 3, 0, INT_MAX, &number) == 0 ? (int)number : BAD_FD;
}

bool option_results_is_table(const char *path) {
	const char *ending = strrchr(path, '.');
	return ending && (strcasecmp(ending, ".csv") == 0 || strcasecmp(ending, ".tsv") == 0 || strcasecmp(ending, ".json") == 0);
}

// A file that is written for an option, or read for one.
struct named_file {
	enum option_id option;     // the option that names the file
	const char *read_as;       // what messages call a file that is read; NULL: the file is written
	const char *path;          // NULL: the file is only a descriptor
	int fd;                    // the descriptor that the name stands for, or -1
	char *ends_at;             // owned: the end of the symbolic links, if the file does not exist yet; or NULL
	bool is_found, is_regular;
	dev_t dev;
	ino_t ino;
};

// Returns the path at the end of the symbolic links from `path`, where open() would create the file. The caller frees it.
static char *follow_links(const char *path) {
	char *at = xstrdup(path), target[PATH_MAX];
	for (unsigned links = 0; links < 40; ++links) { // Linux follows at most 40 (path_resolution(7))
		ssize_t len = readlink(at, target, sizeof(target) - 1);
		if (len < 0) {
			break;
		}
		target[len] = '\0';
		struct buf next = BUF_INIT;
		buf_add(&next, at, target[0] == '/' ? 0 : (size_t)(path_base(at) - at));
		buf_adds(&next, target);
		free(at);
		at = buf_take(&next);
	}
	return at;
}

// Finds out which file the name stands for, or in which directory the file would be created if it does not exist. Never fails.
static void named_file_stat(struct named_file *file) {
	struct stat found;
	file->is_found = (file->fd >= 0 ? fstat(file->fd, &found) : stat(file->path, &found)) == 0;
	file->ends_at = file->is_found || file->fd >= 0 ? NULL : follow_links(file->path);
	FP_CLEANUP(free_later) char *directory = file->ends_at ? path_directory(file->ends_at) : NULL; // a new file is identified by its directory and its name
	if (file->is_found || (directory && stat(directory, &found) == 0)) {
		file->is_regular = file->is_found && S_ISREG(found.st_mode);
		file->dev = found.st_dev;
		file->ino = found.st_ino;
	}
}

static const char *last_part(const struct named_file *file) {
	return file->ends_at ? path_base(file->ends_at) : "";
}

// True if both are the same file; but false for a device or a FIFO, which may be shared.
static bool is_same_file(const struct named_file *a, const struct named_file *b) {
	if (a->is_found != b->is_found || a->dev != b->dev || a->ino != b->ino) {
		return false;
	}
	return a->is_found ? a->is_regular : strcmp(last_part(a), last_part(b)) == 0;
}

static bool is_stdout(const struct named_file *file) {
	if (file->read_as) {
		return false;
	}
	bool has_ending = file->option == OPT_REPORT || file->option == OPT_RESULTS; // "-.svg", "-.csv"
	return strcmp(file->path, "-") == 0 || (has_ending && strncmp(file->path, "-.", 2) == 0);
}

// True for a file that must be whole: unlike the lines of a log or a joblog, it cannot be mixed with jobs' output on stdout.
static bool is_whole(const struct named_file *file) {
	return file->option == OPT_TRACE || file->option == OPT_REPORT || file->option == OPT_RESULTS;
}

static bool clashes(const struct named_file *a, const struct named_file *b) {
	if (a->read_as && b->read_as) {
		return false;
	}
	if (is_stdout(a) || is_stdout(b)) {
		return is_stdout(a) && is_stdout(b) && is_whole(a) && is_whole(b);
	}
	const struct named_file *read = a->read_as ? a : b, *written = a->read_as ? b : a;
	if (read->fd == STDOUT_FILENO && (written->fd >= 0 || is_whole(written))) {
		return false; // `read` is stdout, to which options may write: --log fd:N shares its offset, and a trace or report may be the file /dev/stdout
	}
	bool is_next = read->read_as && read->option == OPT_ETA && written->option == OPT_LOG; // --eta reads the file before --log empties it
	return !is_next && is_same_file(a, b);
}

// ---- the files of an option ----

struct file_list {
	struct named_file *files;
	size_t n, cap;
};

static void add_file(struct file_list *list, enum option_id option, const char *read_as, const char *path) {
	struct named_file *file = NEW_ELEMENT(list->files, list->n, list->cap);
	*file = (struct named_file){
		.option = option, .read_as = read_as, .path = path, .fd = option == OPT_LOG && !read_as ? option_log_fd(path) : NO_FD};
	if (read_as && (!path || strcmp(path, "-") == 0)) {
		*file = (struct named_file){.option = option, .read_as = path ? "standard input" : read_as, .fd = path ? STDIN_FILENO : STDOUT_FILENO};
	}
	if (!is_stdout(file)) {
		named_file_stat(file);
	}
}

// Adds the files that options write, then the files that no option may write: those that are read, and stdout.
static void add_files(struct file_list *list, const struct options *options) {
	bool has_table = options->results && option_results_is_table(options->results);
	const struct { enum option_id id; const char *read_as, *path; } named[] = {
		{OPT_TRACE_SERVICE, NULL, options->trace_service}, {OPT_JOBLOG, NULL, options->joblog}, {OPT_LOG, NULL, options->log},
		{OPT_RESULTS, NULL, has_table ? options->results : NULL}, {OPT_TRACE, NULL, options->trace},
		{OPT_FROM_LOG, "--from-log", options->from_log}, {OPT_ETA, "--eta", options->show.eta_log},
		{OPT_MANIFEST, "--manifest", options->manifest}, {OPT_ARG_FILE, "the file of --pipe-part", options->tee_file},
		{OPT_ARG_FILE, "--arg-file", options->sem.input}, {OPT_PIPE, "--pipe", options->pipe == PIPE_STREAM ? "-" : NULL},
	};
	for (size_t i = 0; i < options->nreports; ++i) {
		add_file(list, OPT_REPORT, NULL, options->reports[i]);
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); ++i) {
		if (named[i].path) {
			add_file(list, named[i].id, named[i].read_as, named[i].path);
		}
	}
	for (size_t i = 0; i < options->nsources; ++i) {
		if (options->sources[i].kind != FROM_ARGS) {
			bool is_file = options->sources[i].kind == FROM_FILE;
			add_file(list, OPT_ARG_FILE, "a file of items", is_file ? options->sources[i].path : "-");
		}
	}
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		add_file(list, OPT_BATCH, "a file of items", options->batch_files[i].path);
	}
	add_file(list, OPT_ARG_FILE, "standard output", NULL);
}

int option_files_check(const struct options *options, const char *name, const char *path) {
	struct file_list list = {0};
	int result = 0;
	add_files(&list, options);
	size_t first = path ? list.n : 0;
	if (path) {
		add_file(&list, OPT_ARG_FILE, name, path);
	}
	for (size_t i = first; i < list.n; ++i) {
		for (size_t j = 0; result == 0 && j < i; ++j) {
			const struct named_file *a = &list.files[j], *b = &list.files[i]; // if only one of both is written, it is `a`
			const char *other = b->read_as ? b->read_as : option_table[b->option].name;
			result = !clashes(a, b) ? 0 : diag_error("--%s and %s%s are the same file, '%s'", option_table[a->option].name,
			                                         b->read_as ? "" : "--", other, text_shows(a->path ? a->path : b->path));
		}
	}
	for (size_t i = 0; i < list.n; ++i) {
		free(list.files[i].ends_at);
	}
	free(list.files);
	return result;
}
