// Allocation calls that never return NULL: if there is no memory, they end the process.
//
// Most callers could do nothing useful about a failed allocation, and a caller that handled the failure incompletely would lose items. So all callers
// allocate by these functions. If one fails, it prints a message with the size that was asked for, and ends the process by diag_die() (status 255).

#pragma once

#include "base/attr.h"

#include <stddef.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

// Like malloc(), calloc(), realloc() and strdup(), but never return NULL. The caller owns the result and frees it
// with free().
void *xmalloc(size_t size) FP_MALLOC;
void *xcalloc(size_t n, size_t size) FP_MALLOC;
void *xrealloc(void *mem, size_t size);
char *xstrdup(const char *s) FP_MALLOC;

// Returns a copy of `size` bytes with a NUL behind them. The caller frees it.
void *xmemdup(const void *mem, size_t size) FP_MALLOC;

// Copies `size` bytes from `mem`, which may be NULL if `size` is 0, to `to`. Returns the address behind the copy.
static inline char *put_bytes(char *to, const void *mem, size_t size) {
	return size > 0 ? (char *)memcpy(to, mem, size) + size : to;
}

// Stores the number in a member of `size` bytes: an integer or an enum of 4 or 8 bytes, a bool, or a pointer (0 becomes NULL).
void store_integer(void *member, size_t size, int64_t number);

// Describes a member of a struct that points to a text: `text` is the address of this member, `len` the length of the text in bytes.
struct text_member {
	const char **text;
	size_t len;
};

// Returns the length of a string, 0 for NULL.
static inline size_t text_len(const char *text) {
	return text ? strlen(text) : 0;
}

// Copies the object of `size` bytes, and behind it the texts of its `n` members in `texts`, with a NUL behind each. Afterwards
// these members point to the copied texts, both in the copy and in the object itself. The caller frees the copy, with its texts, by one free().
void *copy_with_texts(const void *object, size_t size, const struct text_member *texts, size_t n) FP_MALLOC;

// Frees the memory that the pointer at `mem` points to; errno stays. To free a local pointer whichever way its block is left,
// declare it so:  FP_CLEANUP(free_later) char *copy = xstrdup(text);
void free_later(void *mem);

// Returns a zeroed object of the named type. The caller frees it.
#define NEW(type) ((type *)xcalloc(1, sizeof(type)))

// Makes room for `need` elements of `size` bytes in an array with room for *cap. If it grows, it at least doubles. `mem`: the address of its pointer.
void grow_array(void *mem, size_t *cap, size_t need, size_t size);

// Adds an element to the end of the array `at`, which has `n` elements and room for `cap`, and gives its address; the element is not
// initialised:  *NEW_ELEMENT(parts->at, parts->n, parts->cap) = part;
#define NEW_ELEMENT(at, n, cap) (grow_array(&(at), &(cap), (n) + 1, sizeof(*(at))), &(at)[(n)++])

// ---- functions that a file which includes this header may not call ----

// These headers are included before the pragma: behind the pragma even their declarations of these functions would be errors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// With clang and _FORTIFY_SOURCE, glibc defines sprintf as a macro (bits/stdio2.h), and clang warns if a poisoned name is a macro
#undef sprintf

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok system popen usleep atoi atol
