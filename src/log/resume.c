// Tells from the joblog of an earlier run which jobs it has done: for --resume, --resume-failed and --retry-failed.
//
// The rows are sorted by command, then by number. The first row of each command knows how far its rows are used up, so a million
// rows of the same command cost no more than a million different ones.

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
#include <unistd.h>

struct resume_row {
	char *command;           // of the arena; equal ones are the same
	uint64_t seq;
	uint32_t next;           // first the row's place in the log; then, of the first with its command, where the next free one may be
	bool failed, used;
};

struct resume {
	struct arena commands;
	struct resume_row *rows;
	size_t n, cap;
	struct resume_row **by_seq; // the rows in the order of their numbers
	bool ok_only;
	bool moved;              // the input is not what it was
};

struct resume *resume_create(void) {
	return NEW(struct resume);
}

void resume_free(struct resume *resume) {
	if (resume) {
		arena_fini(&resume->commands);
		free(resume->rows);
		free(resume->by_seq);
		free(resume);
	}
}

// ---- one line ----

struct parsed {
	uint64_t seq;
	bool failed;
	const char *command;
	size_t len;
};

// Takes a column that ends with a tab and holds only these characters, blanks in front. Returns its start, or NULL.
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

// The line has a tab or NUL behind its end, which nothing here runs over.
static bool parse_row(const char *line, size_t len, struct parsed *ret_row) {
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
	*ret_row = (struct parsed){
		.seq = strtoull(column[0], NULL, 10),
		.failed = strtol(column[6], NULL, 10) != 0 || strtol(column[7], NULL, 10) != 0,
		.command = at,
		.len = (size_t)(end - at),
	};
	return errno == 0 && ret_row->seq > 0;
}

// A newline of the command is a NUL in the log.
static void add_row(struct resume *resume, const struct parsed *parsed) {
	char *command = arena_text(&resume->commands, parsed->command, parsed->len);
	for (size_t i = 0; i < parsed->len; ++i) {
		command[i] = command[i] == '\0' ? '\n' : command[i];
	}
	grow_array(&resume->rows, &resume->cap, resume->n + 1, sizeof(resume->rows[0]));
	resume->rows[resume->n] = (struct resume_row){
		.command = command, .seq = parsed->seq, .next = (uint32_t)resume->n, .failed = parsed->failed,
	};
	++resume->n;
}

bool resume_add(struct resume *resume, const char *line, size_t len) {
	struct parsed parsed;
	if (resume->n >= UINT32_MAX - 1 || !parse_row(line, len, &parsed)) {
		return false;
	}
	add_row(resume, &parsed);
	return true;
}

// ---- a file ----

struct joblog_reader {
	FILE *file;
	char *line;
	size_t cap;
	uint64_t rows, strange;
	bool has_header;
};

// Reads the next line and puts NUL in place of its newline. Returns 1, 0 at the end, or -1 with errno. A line that was cut off
// is the end.
static int next_line(struct joblog_reader *reader, size_t *ret_len) {
	errno = 0;
	ssize_t n = getline(&reader->line, &reader->cap, reader->file);
	if (n > 0 && reader->line[n - 1] == '\n') {
		reader->line[n - 1] = '\0';
		*ret_len = (size_t)n - 1;
		return 1;
	}
	return ferror(reader->file) || errno == ENOMEM ? -1 : 0;
}

// The next row. Returns as next_line().
static int next_row(struct joblog_reader *reader, struct parsed *ret_row) {
	size_t len;
	int got;
	while ((got = next_line(reader, &len)) > 0) {
		if (parse_row(reader->line, len, ret_row)) {
			++reader->rows;
			return 1;
		}
		if (len == strlen(JOBLOG_HEADER) - 1 && memcmp(reader->line, JOBLOG_HEADER, len) == 0) {
			reader->has_header = true;
		} else {
			++reader->strange;
		}
	}
	return got;
}

// Opens the log for next_row(). Returns 1, 0 if there is none, or -1 with *ret_error.
static int reader_open(struct joblog_reader *reader, const char *path, const char **ret_error) {
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	*reader = (struct joblog_reader){.line = NULL};
	if (fd < 0 && errno == ENOENT) {
		return 0;
	}
	if (fd < 0 || fstat(fd, &stat) != 0) {
		*ret_error = strerror(errno);
	} else if (!S_ISREG(stat.st_mode)) { // a pipe or a device remembers nothing
		*ret_error = "it is not a regular file, so it cannot be read back";
	} else if (!(reader->file = fdopen(fd, "r"))) {
		*ret_error = strerror(errno);
	} else {
		return 1;
	}
	fd_close(&fd);
	return -1;
}

// Returns what resume_load() does; `got` is that of the last next_row().
static int reader_close(struct joblog_reader *reader, int got, uint64_t *ret_strange, const char **ret_error) {
	int result = got;
	if (got < 0) {
		*ret_error = strerror(errno);
	} else if (reader->strange > 0 && reader->rows == 0 && !reader->has_header) {
		*ret_error = "it is not a joblog";
		result = -1;
	}
	*ret_strange = reader->strange;
	fclose(reader->file);
	free(reader->line);
	return result;
}

int resume_load(struct resume *resume, const char *path, uint64_t *ret_strange, const char **ret_error) {
	struct joblog_reader reader;
	struct parsed row;
	*ret_strange = 0;
	int got = reader_open(&reader, path, ret_error);
	if (got <= 0) {
		return got;
	}
	while (resume->n < UINT32_MAX - 1 && (got = next_row(&reader, &row)) > 0) {
		add_row(resume, &row);
	}
	return reader_close(&reader, got < 0 ? -1 : 0, ret_strange, ret_error);
}

// ---- the set ----

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

void resume_prepare(struct resume *resume, bool ok_only) {
	size_t kept = 0;
	resume->ok_only = ok_only;
	if (resume->n == 0) {
		return;
	}
	qsort(resume->rows, resume->n, sizeof(resume->rows[0]), compare_rows);
	for (size_t i = 0; i < resume->n; ++i) {
		struct resume_row row = resume->rows[i];
		struct resume_row *before = kept > 0 ? &resume->rows[kept - 1] : NULL;
		bool repeats = before && strcmp(before->command, row.command) == 0;
		row.command = repeats ? before->command : row.command;
		row.used = ok_only && row.failed;
		kept -= repeats && before->seq == row.seq; // the last one counts
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

// True if `logged` is `command`, but for any digits at each place where `marked` has another digit.
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

// Finds the row of that number and command, one that is done before one that failed, or NULL. *ret_taken: the number has a row.
static struct resume_row *find_row(const struct resume *resume, uint64_t seq, const char *command, const char *marked, bool *ret_taken) {
	struct resume_row *found = NULL;
	size_t low = 0, high = resume->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (resume->by_seq[middle]->seq < seq) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	*ret_taken = low < resume->n && resume->by_seq[low]->seq == seq;
	for (; low < resume->n && resume->by_seq[low]->seq == seq && (!found || found->failed); ++low) {
		found = fits(command, marked, resume->by_seq[low]->command) ? resume->by_seq[low] : found;
	}
	return found;
}

// Finds the first row with that command, or NULL.
static struct resume_row *find_command(const struct resume *resume, const char *command) {
	size_t low = 0, high = resume->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(resume->rows[middle].command, command) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < resume->n && strcmp(resume->rows[low].command, command) == 0 ? &resume->rows[low] : NULL;
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
		return RESUME_RUN; // it is this job that failed: the row of another with the same command does not stand for it
	}
	struct resume_row *first = is_marked ? NULL : find_command(resume, command);
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
