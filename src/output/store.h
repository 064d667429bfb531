// Holds output: in memory up to a bound, then in one unlinked file for all jobs of the run (base/scratch_file.h).
//
// Output is held in pieces. A small output that is complete is one piece, with its tag and its receipt; the output of a job
// that writes much is a rope of pieces. There is one file for any number of jobs, so a low limit of descriptors does not
// matter.
//
// Bytes are always copied out of the file, never spliced: splice(2) shares pages with the page cache, so a page in a pipe
// would change when its place in the file is written again.

#pragma once

#include "base/atomic.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIECE_MAX = 64 * 1024 };

struct store {
	size_t bound;           // the most bytes of memory
	atomic_size_t used;     // bytes of memory in use
	struct scratch_file *file;
};

struct piece {
	union {
		char *mem;        // unless in_file: the bytes, allocated with malloc()
		uint64_t offset;  // if in_file: the offset of the bytes in the store's file
	};
	uint32_t len;
	bool in_file;
};

// A byte string in pieces; a zeroed rope is empty. Used by one thread at a time.
struct rope {
	struct piece *piece;   // an array; the rope's pieces are from index `first` to before `end`
	size_t first, end, cap;
	size_t start;          // how many bytes of the first piece were dropped
	uint64_t len;
};

// Creates a store with at most `bound` bytes of memory, and its file in `dir`, which is borrowed. Any thread may use the store.
// store_destroy() closes the file; all pieces and ropes must have been freed before.
struct store *store_create(size_t bound, const char *dir);
void store_destroy(struct store *store);

// Makes a piece of the `len` bytes (1 to PIECE_MAX) at `mem`, which malloc() has allocated, and takes them over. Returns
// false with errno if neither memory nor the file has room: the caller still owns the bytes then.
bool store_take(struct store *store, char *mem, size_t len, struct piece *ret_piece);

// Returns the bytes of the piece from offset `from` on. They are in `scratch` (PIECE_MAX bytes) if they were read from the file. Returns NULL with
// errno if they cannot be read.
const char *piece_peek(struct store *store, const struct piece *piece, size_t from, char *scratch) FP_NODISCARD;

void piece_free(struct store *store, const struct piece *piece);

// Appends a copy of the bytes in new pieces. Returns how many bytes were taken: fewer than `len`, with errno, if neither memory nor
// the file has room for more. With `force`, takes memory beyond the bound rather than fewer bytes.
size_t rope_add(struct store *store, struct rope *rope, const char *mem, size_t len, bool force);

// For a rope that is not empty: returns the rope_first() bytes of its first piece, as piece_peek() does.
const char *rope_peek(struct store *store, const struct rope *rope, char *scratch);

// Drops the first `n` bytes, at most the bytes of the first piece. Returns true if nothing of this piece is left.
bool rope_drop(struct store *store, struct rope *rope, size_t n);

// Returns how many bytes of the first piece are left.
size_t rope_first(const struct rope *rope);

// Moves pieces from the front of `from` to `to`, which is empty, as long as the moved pieces have at most `len` bytes together.
void rope_split(struct rope *from, uint64_t len, struct rope *to);

// Drops all but the first `len` bytes; the rope has at least this many bytes.
void rope_cut(struct store *store, struct rope *rope, uint64_t len);

// Frees all pieces of the rope, which is empty then.
void rope_clear(struct store *store, struct rope *rope);
