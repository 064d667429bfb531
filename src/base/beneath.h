// Opens files below a directory, through no symbolic link: what an item names never leaves it.

#ifndef FAIRPAR_BASE_BENEATH_H
#define FAIRPAR_BASE_BENEATH_H

#include "base/attr.h"

#include <stdbool.h>

// Opens the directory that files are to be opened below, "" for the present one; with `makes` it is made, and those above it
// (by the umask). Returns a descriptor for open_beneath(), which the caller closes, or -1 with errno.
int open_base_dir(const char *path, bool makes) FP_NODISCARD;

// Makes the directory, and those above it (by the umask). Returns 0, also if it is there; or -1 with errno.
int make_dirs(const char *path) FP_NODISCARD;

// Opens a file by its path below the directory `dir`, with the flags of open(2), close-on-exec; with O_CREAT the directories
// above it are made too. Returns a descriptor that the caller closes, or -1 with errno, ELOOP for a symbolic link.
int open_beneath(int dir, const char *path, int flags) FP_NODISCARD;

#endif
