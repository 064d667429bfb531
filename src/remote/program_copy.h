// The program that goes to a machine which has no fairpar: which file, and what is sent of it.

#ifndef FAIRPAR_REMOTE_PROGRAM_COPY_H
#define FAIRPAR_REMOTE_PROGRAM_COPY_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct program_copy {
	char *path;      // owned
	uint64_t size;   // bytes
	char name[40];   // of its copies, by size and time: letters, digits and '-'
};

// Takes `fairpar-static` beside the program at `self`, for that runs wherever it is copied to; or else that program. Where neither can
// be looked at, size is 0. To be freed by program_copy_fini().
void program_copy_find(const char *self, struct program_copy *ret_copy);
void program_copy_fini(struct program_copy *copy);

// Appends what a machine gets that asks for it, and is such a `machine` (uname -sm): a line with what cksum(1) is to say, and the bytes.
// Returns 0, or -1 with *ret_why: it would not run there, or cannot be read.
int program_copy_read(const struct program_copy *copy, const char *machine, struct buf *ret_bytes, struct buf *ret_why) FP_NODISCARD;

// What POSIX's cksum(1) says of the bytes.
uint32_t program_copy_cksum(const void *bytes, size_t n);

#endif
