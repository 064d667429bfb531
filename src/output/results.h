// Keeps the output of a job apart from the output of the run: in the job's own files, or in memory until the output becomes a row of a table.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// The two streams of one job, stdout and stderr. Used by one thread at a time. Other files only read the members.
struct results {
	struct kept_stream {
		bool takes;           // the stream goes to results_add(); else to the job's spool
		int fd;               // the stream's file; -1: the stream is in memory, or the file is closed
		char *path;           // the path of the stream's file, or NULL
		struct buf memory;    // the stream's bytes, if it has no file
		uint64_t bytes, mark; // the length of the stream; its length at results_mark()
	} stream[2];
	int dir;                  // results_in_files(): the directory `dir`; borrowed
	size_t below;             // from this offset on, each path is relative to `dir`
	char *seq;                // path of the file for the job's number, or NULL
	int error;                // errno of the first write that failed, or 0
	const char *error_path;   // the file that `error` is about
};

// True if the files at `path`, relative to the directory `dir`, are complete: a run has called results_complete() for them.
bool results_are_complete(int dir, const char *path);

// Keeps both streams in memory. The caller frees these results, and those of the other two functions results_in_…(), with results_free().
struct results *results_in_memory(void);

// Keeps the streams in new files: PATH/stdout and PATH/stderr if `path` ends in a slash, else PATH and PATH.err. The part of
// `path` from offset `below` on is relative to the directory `dir`, which is borrowed; missing directories are made below `dir`, and no
// symbolic link is followed below it. Returns NULL with errno (ELOOP: a link), and the path that failed in `failed`.
struct results *results_in_files(int dir, const char *path, size_t below, struct buf *failed);

// Marks the files as complete, after the job has ended and all was written: writes the job's number to PATH/seq or PATH.seq. Does
// nothing for results_in_memory() and results_in_temp(). Returns 0, or -1 with errno and the file in *ret_path (borrowed).
int results_complete(struct results *results, uint64_t seq, const char **ret_path) FP_NODISCARD;

// Keeps stdout in a new file in the directory `dir`; only the file's owner may read it. Its name is as in GNU parallel (par….par).
// Returns NULL with errno.
struct results *results_in_temp(const char *dir);

// Appends a copy of the bytes to the stream. If a write fails, as on a full disk, the bytes are lost, and `error` is set.
void results_add(struct results *results, int stream, const void *mem, size_t len);

// results_mark() remembers the length of both streams. results_reset() cuts them to the remembered length, at first 0: so a new
// attempt removes the output of the previous attempt.
void results_mark(struct results *results);
void results_reset(struct results *results);

// Appends the last `n` bytes of the stream, or all bytes if it has fewer; appends nothing if its file cannot be read.
void results_tail(const struct results *results, int stream, size_t n, struct buf *buf);

// Closes the files. After this call `error` does not change any more.
void results_end(struct results *results);

// Closes the files, removes them if `unlink_files` is set, and frees the results.
void results_free(struct results *results, bool unlink_files);
