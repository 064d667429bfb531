// Where held output lies: in memory up to a bound, then in one unlinked file for all jobs of the run (base/scratch_file.h).
//
// Output is held in pieces. A small output that is complete is one piece, with its tag and its receipt; the output of a job
// that writes much is a rope of pieces. There is one file however many jobs are held, so a low limit of descriptors does not
// matter.
//
// Bytes are always copied out of the file, never spliced: a page that lies in somebody's pipe would change there when
// its place in the file is written again (splice(2), pages are shared with the page cache).

#pragma once

#include "base/atomic.h"
#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PIECE_MAX = 64 * 1024 };

struct store {
	size_t bound;
	atomic_size_t used;     // bytes of memory
	struct scratch_file *file;
};

struct piece {
	union {
		char *mem;        // allocated with malloc()
		uint64_t offset;  // its offset in the file
	};
	uint32_t len;
	bool in_file;
};

// A byte string; all zero is the empty one. Used by one thread at a time.
struct rope {
	struct piece *piece;   // the pieces are from `first` to before `end`
	size_t first, end, cap;
	size_t start;          // bytes of the first piece that were dropped
	uint64_t len;
};

// Creates a store with at most `bound` bytes of memory, and its file in `dir`, which is borrowed. Any thread may call these
// functions. store_destroy() closes the file; what was held must have been freed before.
struct store *store_create(size_t bound, const char *dir);
void store_destroy(struct store *store);

// Makes a piece of the `len` bytes (1 to PIECE_MAX) at `mem`, which malloc() has allocated, and takes them over. Returns
// false with errno if neither memory nor the file has room: the caller still owns them then.
bool store_take(struct store *store, char *mem, size_t len, struct piece *ret_piece);

// Copies bytes of the piece to `to`. Returns 0, or -1 with errno if they cannot be read back.
int piece_read(struct store *store, const struct piece *piece, size_t from, char *to, size_t len) FP_NODISCARD;

void piece_free(struct store *store, const struct piece *piece);

// Appends a copy of the bytes, in pieces of its own. Returns the bytes taken: less than `len` with errno if neither memory nor
// the file has room for the rest. With `force` memory is taken beyond the bound instead.
size_t rope_add(struct store *store, struct rope *rope, const char *mem, size_t len, bool force);

// The first bytes of a rope that is not empty: sets *ret_mem to them, in `scratch` (PIECE_MAX bytes) if they had to be
// read. Returns how many, or -1 with errno.
ssize_t rope_peek(struct store *store, const struct rope *rope, char *scratch, const char **ret_mem);

// Forgets the first `n` bytes, which are at most those of the first piece. Returns true if nothing of this piece is left.
bool rope_drop(struct store *store, struct rope *rope, size_t n);

// Returns how many bytes of the first piece are left.
size_t rope_first(const struct rope *rope);

// Appends pieces from the front of `from` as long as they have `len` bytes at most together; `to` was empty.
void rope_split(struct rope *from, uint64_t len, struct rope *to);

// Forgets all but the first `len` bytes; the rope has at least so many.
void rope_cut(struct store *store, struct rope *rope, uint64_t len);

// Frees all pieces of the rope, which is empty then.
void rope_clear(struct store *store, struct rope *rope);
