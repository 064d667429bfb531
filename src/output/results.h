// A job's output kept apart from the run's: in files of its own, or in memory until it becomes part of a row.

#ifndef FAIRPAR_OUTPUT_RESULTS_H
#define FAIRPAR_OUTPUT_RESULTS_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The two streams of one job. Used by one thread at a time.
struct results;

// Appends a path below DIR for these arguments, as GNU parallel makes it: NAME/ARGUMENT for each of them, sorted by name
// (1, 2, 3, … where `names` is NULL), a slash behind each. Packed items have `columns` arguments each, and are counted and
// sorted one by one; 0: there is one item. In an argument \ becomes \\, a tab \t, a slash \_; what is
// longer than a file name may be is cut. `args`: `nargs` strings one after the other.
void results_add_path(struct buf *buf, const char *args, uint32_t nargs, uint32_t columns, char *const *names,
                      size_t nnames);

// Makes the directory, and those above it (by the umask). Returns 0, or -1 with errno.
int results_make_dir(const char *path) FP_NODISCARD;

// Makes a file that holds the text. Returns 0, or -1 with errno.
int results_write_file(const char *path, const char *text) FP_NODISCARD;

// Both streams in memory.
struct results *results_in_memory(void);

// Streams in files, which are made anew; a NULL path leaves its stream alone. Returns NULL with errno and the path that
// could not be opened in *ret_failed.
struct results *results_in_files(const char *out, const char *err, const char **ret_failed);

// stdout in a new file of that directory with a name as GNU parallel's, only for its owner. Returns NULL with errno.
struct results *results_in_temp(const char *dir);

// True if the stream (0 stdout, 1 stderr) is kept here.
bool results_takes(const struct results *results, int stream);

// Reads what is there from the pipe; as struct drain.readable. What a full disk does not take is lost: results_error().
ssize_t results_readable(struct results *results, int stream, int fd);

void results_add(struct results *results, int stream, const void *mem, size_t len);

// What was written so far stays, whatever is reset later; throws away what was written since.
void results_mark(struct results *results);
void results_reset(struct results *results);

uint64_t results_bytes(const struct results *results, int stream);

// The bytes in memory; borrowed.
const struct buf *results_memory(const struct results *results, int stream);

// Appends the last `n` bytes of the stream, or all there are; nothing of a file that cannot be read.
void results_tail(const struct results *results, int stream, size_t n, struct buf *buf);

// The path of stdout, or NULL. Borrowed.
const char *results_path(const struct results *results);

// errno of the first write that failed and *ret_path (borrowed) its file; or 0.
int results_error(const struct results *results, const char **ret_path);

// Closes the files, so that results_error() has all there is to know.
void results_end(struct results *results);

// `unlink_files`: nobody will know of them.
void results_free(struct results *results, bool unlink_files);

#endif
