// Tells from the joblog of an earlier run which jobs it has done: for --resume, --resume-failed and --retry-failed.
//
// A job is identified by its command, never by its number alone: so new items of a changed input have no row. Each row stands for
// one job, and is used up by one item: the item with its number and command; or, if the items must have moved, an item with its
// command and another number. They must have moved if the row's number is lower than the item's, or if an item before had another
// command than the row of its number.

#ifndef FAIRPAR_LOG_RESUME_H
#define FAIRPAR_LOG_RESUME_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resume;

struct resume *resume_create(void);
void resume_free(struct resume *resume);

// Adds a line of a joblog, without its newline. Returns false, and ignores the line, if it is no row.
// Where the log has several rows of the same number and command, the last one counts.
bool resume_add(struct resume *resume, const char *line, size_t len);

// Reads a whole joblog. A missing file counts as empty; an unfinished last line is ignored. *ret_strange: the number of lines
// that are neither header nor row. Returns 0; or -1 if the file cannot be read, or has lines but none of a joblog. *ret_error is
// then what a message says after "'FILE'": static text, or of strerror().
int resume_load(struct resume *resume, const char *path, uint64_t *ret_strange, const char **ret_error) FP_NODISCARD;

// To be called once, when all lines are added. With `ok_only` the jobs that failed do not count as done.
void resume_prepare(struct resume *resume, bool ok_only);

// True if the job with this number and command is done: its row is then used up. Items are asked for in the order of
// their numbers, more or less. Not thread-safe.
bool resume_take(struct resume *resume, uint64_t seq, const char *command, size_t len);

// True if the job is certainly new: no row has its command, and its number has a row with another command or is above all of the
// log. (A number without a row may be a job that was cut off.)
bool resume_is_other(const struct resume *resume, uint64_t seq, const char *command, size_t len);

// The greatest number that has a row, or 0.
uint64_t resume_last(const struct resume *resume);

// What the log has of just this number and command, used up or not: for a command that may differ from run to run ({%}),
// to find the form to take, which is that with the greatest value. RESUME_FAILED_ROW only with `ok_only`.
enum resume_match { RESUME_NO_ROW, RESUME_FAILED_ROW, RESUME_DONE_ROW };
enum resume_match resume_match(const struct resume *resume, uint64_t seq, const char *command, size_t len);

// Reads a joblog for --retry-failed: its failed jobs, each with its number and command, in the order of their numbers.
// Returns as resume_load() does; the caller frees the list with resume_free_jobs() in both cases.
struct logged_job {
	uint64_t seq;
	char *command;
};
struct logged_jobs {
	struct logged_job *jobs;
	size_t n, cap;
};
int resume_load_failed(struct logged_jobs *ret_jobs, const char *path, uint64_t *ret_strange,
                       const char **ret_error) FP_NODISCARD;
void resume_free_jobs(struct logged_jobs *jobs);

#endif
