// Opens files below a directory without following symbolic links, so a path made from an item cannot lead out of it.

#ifndef FAIRPAR_BASE_BENEATH_H
#define FAIRPAR_BASE_BENEATH_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>

// Opens the directory that files are to be opened below, "" for the present one; with `makes` it is made, and those above it
// (by the umask). Returns a descriptor for open_beneath(), which the caller closes, or -1 with errno.
int open_base_dir(const char *path, bool makes) FP_NODISCARD;

// Makes the directory, and those above it (by the umask). Returns 0, also if it is there; or -1 with errno.
int make_dirs(const char *path) FP_NODISCARD;

// Opens a file by its path below the directory `dir`, with the flags of open(2), close-on-exec; with O_CREAT the directories
// above it are made too. Returns a descriptor that the caller closes, or -1 with errno, ELOOP for a symbolic link.
int open_beneath(int dir, const char *path, int flags) FP_NODISCARD;

// True if a symbolic link with this target, in a directory `depth` levels below a top directory, cannot lead out of the top, whatever
// other such links are there: the target is relative, and has ".." only at its beginning and not too often.
bool link_stays_beneath(const char *target, size_t depth);

// remove_file() removes a file by its path ("./a/b") below the directory `dir`, and then the directories in that path that are empty; what is a
// directory stays. remove_tree() removes a directory with all that is in it. Both ignore failures.
void remove_file(const char *dir, const char *path);
void remove_tree(const char *path);

#endif
