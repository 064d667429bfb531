// The copy of fairpar that is sent to a machine which has none.

#ifndef FAIRPAR_REMOTE_PROGRAM_COPY_H
#define FAIRPAR_REMOTE_PROGRAM_COPY_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program_copy {
	char *path;      // of the file here; owned
	uint64_t size;   // bytes; 0: there is no file
	char name[40];   // of its copies there, from its size and time: letters, digits and '-'
	bool is_static;   // it is `fairpar-static`, which needs no libraries
};

// Finds the file to send: `fairpar-static` beside the program at `self`, which needs no libraries there; else that program. Where stat(2) fails
// for both, size is 0. The caller frees it by program_copy_fini().
void program_copy_find(const char *self, struct program_copy *ret_copy);
void program_copy_fini(struct program_copy *copy);

// Appends the answer to a machine's request: a line with the output of cksum(1), then the bytes of the file. `machine`: its uname -sm. Returns
// 0, or -1 with *ret_why: the file is for another kind of machine, or cannot be read.
int program_copy_read(const struct program_copy *copy, const char *machine, struct buf *ret_bytes, struct buf *ret_why) FP_NODISCARD;

// The checksum of the bytes by POSIX's cksum(1).
uint32_t program_copy_cksum(const void *bytes, size_t n);

#endif
