// What the jobs of this run create: whose it is to take away what a failed one has left.

#ifndef FAIRPAR_RUN_PRODUCTS_H
#define FAIRPAR_RUN_PRODUCTS_H

#include <stdbool.h>

struct products;

struct products *products_create(void);
void products_destroy(struct products *products); // NULL is fine

// A job begins that creates the path, which is not there. From any thread.
void products_begin(struct products *products, const char *path);

// It has ended, well or not. Returns true if what is at the path is its alone: no job of this run has made it, and no
// other one is making it.
bool products_end(struct products *products, const char *path, bool ok);

#endif
