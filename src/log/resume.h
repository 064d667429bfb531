// Tells from the joblog of an earlier run which jobs that run has done: for --resume, --resume-failed and --retry-failed.
//
// A job is identified by its command, never by its number alone: so new items of a changed input have no row. Each row stands for
// one job, and is used up by one item: the item with the row's number and command; or, if items have certainly moved to other numbers,
// an item with the row's command and another number. Items have moved if the row's number is lower than the item's, or if this item, or
// an item before it, has another command than the row of the same number.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resume;

// Reads a whole joblog. A missing file counts as empty; an unfinished last line is ignored; of several rows of the same number and
// command the last one counts. With `ok_only` the jobs that failed do not count as done. *ret_strange: the number of lines that
// are neither header nor row. Returns NULL if the file cannot be read, or has lines but none of a joblog; *ret_error is
// then what a message says after "'FILE'": static text, or that of strerror(). The caller frees the result with resume_free().
struct resume *resume_load(const char *path, bool ok_only, uint64_t *ret_strange, const char **ret_error);
void resume_free(struct resume *resume);

enum resume_answer {
	RESUME_RUN,  // the job is to run
	RESUME_NEW,  // the job is to run, and is certainly new: no row has its command, and its number has a row with another command or is above all
	             // numbers of the log. (A number without a row may be a job that was cut off.)
	RESUME_DONE, // the job is done: its row is used up now
};

// Asks about the job with this number and command. In the earlier run the command may have had other digits at some positions, such as the digits
// of {%}: `marked` is the command with another digit at each of these positions. There any digits fit, but only in a row of the same number. If there
// are no such positions, `marked` is equal to `command`. To be called for jobs in about the order of their numbers. Not thread-safe.
enum resume_answer resume_ask(struct resume *resume, uint64_t seq, const char *command, const char *marked);

// Lists the jobs that failed, in the order of their numbers, for --retry-failed: returns their commands, which `resume` owns,
// and stores their numbers in *ret_seqs. The caller frees both arrays.
char **resume_failed(const struct resume *resume, uint64_t **ret_seqs, size_t *ret_n);
