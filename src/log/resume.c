// Tells from the joblog of an earlier run which jobs that run has done: for --resume, --resume-failed and --retry-failed.
//
// The rows are sorted by command, then by number. `next` of the first row of each command says up to where the rows of this command are used up.
// So a million rows of the same command cost no more time than a million rows of different commands.

#include "log/resume.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/units.h"
#include "log/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct resume_row {
	char *command;           // in the arena; equal commands are the same pointer
	uint64_t seq;
	uint32_t next;           // at first the row's place in the log; later, in a command's first row: the command's rows before this index are used up
	bool failed, used;
};

struct resume {
	struct arena commands;
	struct resume_row *rows;
	size_t n, cap;
	struct resume_row **by_seq; // the rows in the order of their numbers
	bool ok_only;
	bool moved;              // the input has changed: an item had another command than the row of the same number
};

void resume_free(struct resume *resume) {
	if (resume) {
		arena_fini(&resume->commands);
		free(resume->rows);
		free(resume->by_seq);
		free(resume);
	}
}

// ---- one line ----

// Takes a column that ends with a tab and has only the characters `allowed` (NULL: any), with blanks in front. Returns its start, or NULL.
static const char *take_column(const char **at, const char *end, const char *allowed) {
	const char *start = *at;
	const char *tab = memchr(start, '\t', (size_t)(end - start));
	if (!tab) {
		return NULL;
	}
	while (*start == ' ') {
		++start;
	}
	if (start == tab || (allowed && strspn(start, allowed) != (size_t)(tab - start))) {
		return NULL;
	}
	*at = tab + 1;
	return start;
}

// Adds the row of a job that the line holds; a newline of the command is a NUL in the log. Returns false if the line is no
// row. A tab or a NUL stands behind the line, so no search runs beyond it.
static bool add_row(struct resume *resume, const char *line, size_t len) {
	const char *at = line, *end = line + len, *column[8];
	static const char *const allowed[8] = {
		"0123456789", NULL, "0123456789.", "0123456789.", "0123456789-", "0123456789-", "0123456789-", "0123456789",
	};
	for (int i = 0; i < 8; ++i) {
		if (!(column[i] = take_column(&at, end, allowed[i]))) {
			return false;
		}
	}
	size_t cut = strlen(JOBLOG_CUT);
	if (line[0] == ' ' || (size_t)(end - line) < cut || memcmp(end - cut, JOBLOG_CUT, cut) == 0) {
		return false;
	}
	errno = 0;
	uint64_t seq = strtoull(column[0], NULL, 10);
	bool failed = strtol(column[6], NULL, 10) != 0 || strtol(column[7], NULL, 10) != 0;
	if (errno != 0 || seq == 0) {
		return false;
	}
	char *command = arena_text(&resume->commands, at, (size_t)(end - at));
	for (char *nul = command; (nul = memchr(nul, '\0', (size_t)(command + (end - at) - nul)));) {
		*nul = '\n';
	}
	uint32_t number = (uint32_t)resume->n;
	*NEW_ELEMENT(resume->rows, resume->n, resume->cap) = (struct resume_row){.command = command, .seq = seq, .next = number, .failed = failed};
	return true;
}

// ---- a file ----

// Reads all lines of the log, up to a line that was cut off. Returns 0, or -1 with *ret_error.
static int read_rows(struct resume *resume, FILE *file, uint64_t *ret_strange, const char **ret_error) {
	FP_CLEANUP(free_later) char *line = NULL;
	size_t cap = 0;
	bool has_header = false;
	ssize_t n;
	while (errno = 0, resume->n < UINT32_MAX - 1 && (n = getline(&line, &cap, file)) > 0 && line[n - 1] == '\n') {
		line[n - 1] = '\0';
		bool is_header = (size_t)n == strlen(JOBLOG_HEADER) && memcmp(line, JOBLOG_HEADER, (size_t)n - 1) == 0;
		has_header = has_header || is_header;
		*ret_strange += !is_header && !add_row(resume, line, (size_t)n - 1);
	}
	bool has_failed = ferror(file) || errno == ENOMEM, is_none = *ret_strange > 0 && resume->n == 0 && !has_header;
	*ret_error = has_failed ? strerror(errno) : "it is not a joblog";
	return has_failed || is_none ? -1 : 0;
}

// Reads the log; a missing file has no rows. Returns as read_rows().
static int read_log(struct resume *resume, const char *path, uint64_t *ret_strange, const char **ret_error) {
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		return 0;
	}
	bool is_known = fd >= 0 && fstat(fd, &stat) == 0;
	FILE *file = is_known && S_ISREG(stat.st_mode) ? fdopen(fd, "r") : NULL;
	if (!file) { // a pipe or a device has no earlier run to read back
		*ret_error = is_known && !S_ISREG(stat.st_mode) ? "it is not a regular file, so it cannot be read back" : strerror(errno);
		fd_close(&fd);
		return -1;
	}
	int result = read_rows(resume, file, ret_strange, ret_error);
	fclose(file);
	return result;
}

// ---- the rows ----

static int compare_rows(const void *a_row, const void *b_row) {
	const struct resume_row *a = a_row, *b = b_row;
	int by_command = strcmp(a->command, b->command), by_seq = compare_numbers(a->seq, b->seq);
	return by_command ? by_command : by_seq ? by_seq : compare_numbers(a->next, b->next);
}

// Rows of the same number stay in the order of their commands.
static int compare_seqs(const void *a_row, const void *b_row) {
	const struct resume_row *const *a = a_row, *const *b = b_row;
	int by_seq = compare_numbers((*a)->seq, (*b)->seq);
	return by_seq ? by_seq : compare_numbers((uintptr_t)*a, (uintptr_t)*b);
}

// Sorts the rows; of several rows with the same number and command keeps only the last.
static void prepare(struct resume *resume) {
	size_t kept = 0;
	qsort(resume->rows, resume->n, sizeof(resume->rows[0]), compare_rows);
	for (size_t i = 0; i < resume->n; ++i) {
		struct resume_row row = resume->rows[i];
		struct resume_row *before = kept > 0 ? &resume->rows[kept - 1] : NULL;
		bool repeats = before && strcmp(before->command, row.command) == 0;
		row.command = repeats ? before->command : row.command;
		row.used = resume->ok_only && row.failed;
		kept -= repeats && before->seq == row.seq; // the later row replaces the row before
		row.next = (uint32_t)kept;
		resume->rows[kept++] = row;
	}
	resume->n = kept;
	resume->by_seq = xcalloc(kept, sizeof(struct resume_row *));
	for (size_t i = 0; i < kept; ++i) {
		resume->by_seq[i] = &resume->rows[i];
	}
	qsort(resume->by_seq, kept, sizeof(struct resume_row *), compare_seqs);
}

struct resume *resume_load(const char *path, bool ok_only, uint64_t *ret_strange, const char **ret_error) {
	struct resume *resume = NEW(struct resume);
	resume->ok_only = ok_only;
	*ret_strange = 0;
	if (read_log(resume, path, ret_strange, ret_error) != 0) {
		resume_free(resume);
		return NULL;
	}
	if (resume->n > 0) {
		prepare(resume);
	}
	return resume;
}

// Searches `rows` for the command or, if that is NULL, `by_seq` for the number. Returns the index of the first such row, or where such a row would be.
static size_t index_of(const struct resume *resume, const char *command, uint64_t seq) {
	size_t low = 0, high = resume->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool is_before = command ? strcmp(resume->rows[middle].command, command) < 0 : resume->by_seq[middle]->seq < seq;
		low = is_before ? middle + 1 : low;
		high = is_before ? high : middle;
	}
	return low;
}

// True if `logged` equals `command`, except that it may have any digits at each position where `marked` has another digit.
static bool fits(const char *command, const char *marked, const char *logged) {
	for (; *command == *marked; ++command, ++marked, ++logged) {
		if (*logged != *command || *command == '\0') {
			return *logged == *command;
		}
	}
	bool found = false;
	for (; *logged >= '0' && *logged <= '9' && !found; ++logged) {
		found = fits(command + 1, marked + 1, logged + 1);
	}
	return found;
}

// Finds a row with that number and command, or NULL; prefers the row of a job that did not fail. *ret_taken: some row has the number.
static struct resume_row *find_row(const struct resume *resume, uint64_t seq, const char *command, const char *marked, bool *ret_taken) {
	struct resume_row *found = NULL;
	size_t at = index_of(resume, NULL, seq);
	*ret_taken = at < resume->n && resume->by_seq[at]->seq == seq;
	for (; at < resume->n && resume->by_seq[at]->seq == seq && (!found || found->failed); ++at) {
		found = fits(command, marked, resume->by_seq[at]->command) ? resume->by_seq[at] : found;
	}
	return found;
}

// Finds the first row with the command of `first` that is not used up, or NULL.
static struct resume_row *find_free(const struct resume *resume, struct resume_row *first) {
	size_t at = first->next;
	while (at < resume->n && resume->rows[at].command == first->command && resume->rows[at].used) {
		++at;
	}
	first->next = (uint32_t)at;
	return at < resume->n && resume->rows[at].command == first->command ? &resume->rows[at] : NULL;
}

enum resume_answer resume_ask(struct resume *resume, uint64_t seq, const char *command, const char *marked) {
	bool is_taken, is_marked = strcmp(command, marked) != 0;
	struct resume_row *row = find_row(resume, seq, command, marked, &is_taken);
	if (row && resume->ok_only && row->failed) {
		return RESUME_RUN; // this very job has failed: the row of another job with the same command says nothing about this one
	}
	size_t at = index_of(resume, command, 0);
	bool is_there = !is_marked && at < resume->n && strcmp(resume->rows[at].command, command) == 0;
	struct resume_row *first = is_there ? &resume->rows[at] : NULL; // the first row with that command
	if (!row || row->used) {
		resume->moved |= !row && is_taken;
		bool is_new = !row && !first && (is_taken || resume->n == 0 || seq > resume->by_seq[resume->n - 1]->seq);
		row = first ? find_free(resume, first) : NULL;
		if (!row || (row->seq > seq && !resume->moved)) {
			return is_new ? RESUME_NEW : RESUME_RUN;
		}
	}
	row->used = true;
	return RESUME_DONE;
}

char **resume_failed(const struct resume *resume, uint64_t **ret_seqs, size_t *ret_n) {
	char **commands = xcalloc(resume->n, sizeof(char *));
	*ret_seqs = xcalloc(resume->n, sizeof(uint64_t));
	*ret_n = 0;
	for (size_t i = 0; i < resume->n; ++i) {
		if (resume->by_seq[i]->failed) {
			(*ret_seqs)[*ret_n] = resume->by_seq[i]->seq;
			commands[(*ret_n)++] = resume->by_seq[i]->command;
		}
	}
	return commands;
}
