// Tells from the joblog of an earlier run which jobs it has done: for --resume, --resume-failed and --retry-failed.
//
// A job is known by its command, never by its number alone: where the input has changed, what is new has no row. A row
// stands for one job. It is taken by the item of the same number and command; and by an item of the same command and
// another number where the input must have moved: the number is one that has gone by, or some number was found to have
// another command than in the log.

#ifndef FAIRPAR_LOG_RESUME_H
#define FAIRPAR_LOG_RESUME_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resume;

struct resume *resume_create(void);
void resume_free(struct resume *resume);

// Adds a line of a joblog, without its newline. Returns false for what is no row: it stands for no job.
// Where the log has several rows of the same number and command, the last one counts.
bool resume_add(struct resume *resume, const char *line, size_t len);

// Reads a whole joblog; a file that is not there is an empty one, and what is behind its last newline is no row.
// *ret_strange: lines that are neither header nor row. Returns 0, or -1 with *ret_error, which goes on from "'FILE'"
// (static text or of strerror()): it cannot be read, or has lines and none of them is a joblog's.
int resume_load(struct resume *resume, const char *path, uint64_t *ret_strange, const char **ret_error) FP_NODISCARD;

// To be called once, when all lines are added. With `ok_only` the jobs that failed do not count as done.
void resume_prepare(struct resume *resume, bool ok_only);

// True if the job with this number and command is done: its row is then used up. Items are asked for in the order of
// their numbers, more or less. Not thread-safe.
bool resume_take(struct resume *resume, uint64_t seq, const char *command, size_t len);

// True if the job was not in the run of the log: no row has its command, and a job of its number that was cut off, without
// a row, is not what the log has.
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
