// Unlinked temporary files.

#ifndef FAIRPAR_BASE_TEMP_FILE_H
#define FAIRPAR_BASE_TEMP_FILE_H

#include "base/attr.h"
#include "base/buf.h"

// Opens a file in `dir` that has no name and that nobody else can open (O_TMPFILE, else mkstemp and unlink), 0600,
// close-on-exec, read-write. Returns the descriptor, or -1 with errno.
int tmpfile_open(const char *dir) FP_NODISCARD;

// The same in memory (memfd_create(2)), or where the system refuses that in `dir`. `name` is for who looks at the descriptors.
int tmpfile_open_in_memory(const char *name, const char *dir) FP_NODISCARD;

// Appends a name by which this process and others can open the file as long as this one has the descriptor.
void tmpfile_add_name(struct buf *buf, int fd);

// $TMPDIR if it is set and not empty (and the process is not set-id), else `fallback`. Borrowed.
const char *tmpfile_dir(const char *fallback);

#endif
