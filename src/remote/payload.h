// What a worker needs to know of a job, as the payload of a `run` frame: fields, each a line "NAME SIZE", that many bytes, and
// a newline. A field that the reader does not know is an error, for the job would not be what was meant.
//
// Pure. What is read may come from anybody.

#ifndef FAIRPAR_REMOTE_PAYLOAD_H
#define FAIRPAR_REMOTE_PAYLOAD_H

#include "base/buf.h"
#include "process/child.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How jobs are to be at the other end.
struct payload_context {
	char *const *base; // variables that the worker has of itself, or by host_env(): only what differs is sent
	bool copies_context;      // the worker stands for this machine: unset variables, directory, umask, limits and niceness are sent, too
	const char *dir;   // without copies_context: directory, seen from where the worker is, or NULL: that
	bool makes_dir;    // … which is made if it is missing
};

// Appends the payload for the attempt: program, arguments, what context says, timeout, memory, and how it is to run. `cwd` is where
// the job is with copies_context, if config->context does not say. `has_input`: in and eof frames follow.
void payload_write(struct buf *buf, const struct child_config *config, const struct payload_context *context, const char *cwd, bool has_input);

// A payload that was read. What it points to is its own, or borrowed from the bytes.
struct payload {
	const char *path;
	char **argv;          // NULL-terminated; array owned
	char **set, **unset;  // variables "NAME=VALUE", and names; NULL-terminated; arrays owned
	const char *dir;      // or NULL
	bool makes_dir;
	bool has_umask;
	mode_t umask;
	struct rlimit *limits;// by resource; owned, or NULL
	unsigned nlimits;
	int nice;
	uint64_t timeout;     // ns, 0: none
	uint64_t memory;      // bytes, 0: no limit
	const char *label;
	bool forks, own_group, cleanup, has_input, has_output;
	struct buf bytes;     // owned
};

// Returns 0, or -1 with *ret_why (static text); payload_fini() in both cases.
int payload_read(struct payload *ret_payload, const char *bytes, size_t n, const char **ret_why) FP_NODISCARD;
void payload_fini(struct payload *payload);

// The environment of the job: `base` as the payload changes it. The caller frees the array; its strings are borrowed.
char **payload_env(const struct payload *payload, char *const *base);

#endif
