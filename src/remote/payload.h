// The description of a job that a worker runs, as the payload of a `run` frame: fields, each a line "NAME SIZE", that many bytes, and
// a newline. A field that the reader does not know is an error, because without this field the job would do something else.
//
// Pure. The bytes that are read are not trusted.

#pragma once

#include "base/buf.h"
#include "process/child.h"

#include <stdbool.h>
#include <stddef.h>

// The environment and directory of the jobs of one worker.
struct payload_context {
	char *const *base;    // variables that the worker has already, from its own start or an `env` frame. A variable of the job is not sent if its
	                      // string is one of these strings: the addresses are compared, not the texts
	char *const *withheld; // names of variables that are not sent
	bool copies_context;  // --launch: jobs get the same context there as here, so unset variables and limits are sent, too
	const char *dir;      // the job's directory, relative to the worker's; NULL: the worker's
	bool makes_dir;       // the worker makes the directory if it is missing
	uint64_t batch;       // number of the job's batch, for a worker that learns from jobs what others of the batch need; 0: it is not sent
	unsigned width;       // slots that the job takes
};

// Appends the payload for the attempt. `has_input`: the attempt has a standard input, so `in` frames and an `eof` frame follow.
void payload_write(struct buf *buf, const struct child_config *config, const struct payload_context *context, bool has_input);

// A growing array of strings with NULL at its end; zeroed at first, freed by free(at).
struct payload_strings {
	char **at;            // NULL while it is empty
	size_t n, cap;
};

// A payload that was read. Its strings point into `bytes`.
struct payload {
	struct child_config child; // its path, timeout, memory, label, forks and cleanup are set
	struct payload_strings argv;
	struct payload_strings set, unset; // "NAME=VALUE" of variables to set, and names of variables to unset
	const char *dir;      // the job's directory; NULL: the worker's
	bool makes_dir;
	int umask;            // -1: the worker's
	struct rlimit *limits;// by resource; owned, or NULL
	unsigned nlimits;
	int nice;
	bool has_input;
	uint64_t batch;       // the number of the job's batch; 0: it was not sent
	uint64_t width;       // slots that the job takes
	struct buf bytes;     // owned
};

// Reads a payload. Returns 0, or -1 with *ret_why (static text); payload_fini() in both cases.
int payload_read(struct payload *ret_payload, const char *bytes, size_t n, const char **ret_why) FP_NODISCARD;
void payload_fini(struct payload *payload);

// Returns the strings of the buffer, which have a NUL behind each, with NULL at their end. The caller frees the array; its strings are borrowed.
char **payload_list(const struct buf *strings);
