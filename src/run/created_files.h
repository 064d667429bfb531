// What the jobs of this run create: whose it is to take away what a failed one has left.

#ifndef FAIRPAR_RUN_CREATED_FILES_H
#define FAIRPAR_RUN_CREATED_FILES_H

#include <stdbool.h>

struct created_files;

struct created_files *created_files_create(void);
void created_files_destroy(struct created_files *created_files); // NULL is fine

// A job begins that creates the path, which is not there. From any thread.
void created_files_begin(struct created_files *created_files, const char *path);

// It has ended, well or not. Returns true if what is at the path is its alone: no job of this run has made it, and no
// other one is making it.
bool created_files_end(struct created_files *created_files, const char *path, bool ok);

#endif
