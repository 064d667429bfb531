// Where held output lies: in memory up to a bound, then in one unlinked file for all jobs of the run.
//
// Two kinds of holding, by size. A rope is a long byte string in pieces, each a block of memory or a run of the file:
// it belongs to one job that wrote much. A pack is a block that many short records share, so that a hundred thousand
// small jobs that wait for their turn cost their bytes and one number each; full packs move to the file when memory is
// short. There is one file however many jobs are held, so a low limit of descriptors does not matter. It is written at
// any place that is free, read back, and its space given back to the file system piece by piece.
//
// Bytes are always copied out of the file, never spliced: a page that lies in somebody's pipe would change there when
// its place in the file is written again or punched (splice(2), pages are shared with the page cache).

#ifndef FAIRPAR_OUTPUT_STORE_H
#define FAIRPAR_OUTPUT_STORE_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	BLOCK_SIZE = 64 * 1024,
	PACK_MAX = 32 * 1024, // the longest record of a pack, tag, receipt and head included
};

struct store;
struct piece;

// A byte string; all zero is the empty one. Used by one thread at a time.
struct rope {
	struct piece *first, *last;
	uint64_t len;
	size_t blocks;             // pieces of it in memory
};

// `bound`: bytes of memory for ropes and packs (one pack is allowed beyond it); `dir` for the file, which is opened
// when it is first needed. Borrows `dir`. All calls from any thread.
struct store *store_create(size_t bound, const char *dir);

// Frees the store and all that it holds, and closes the file.
void store_destroy(struct store *store);

// A block of BLOCK_SIZE bytes that does not count against the bound, recycled. To give it back: store_block_put().
char *store_block_get(struct store *store);
void store_block_put(struct store *store, char *block);

// Appends a copy. Returns the bytes taken: less than `len` with errno if neither memory nor the file has room for the
// rest. With `force` memory is taken beyond the bound instead.
size_t rope_add(struct store *store, struct rope *rope, const char *mem, size_t len, bool force);

// The first bytes of a rope that is not empty: sets *ret_mem to them, in `scratch` (BLOCK_SIZE bytes) if they had to be
// read. Returns how many, or -1 with errno.
ssize_t rope_peek(struct store *store, struct rope *rope, char *scratch, const char **ret_mem);

// Forgets the first `n` bytes, n at most what rope_peek() returned. Returns true if memory or file space became free.
bool rope_drop(struct store *store, struct rope *rope, size_t n);

// Forgets the first piece, whatever it holds: when it cannot be read back.
void rope_skip_piece(struct store *store, struct rope *rope);

// Gives all pieces back; the rope is empty then.
void rope_clear(struct store *store, struct rope *rope);

// Appends the bytes of `from`, which is empty then.
void rope_join(struct store *store, struct rope *to, struct rope *from);

// Appends the last `n` bytes, or all there are; of what cannot be read back nothing.
void rope_tail(struct store *store, const struct rope *rope, size_t n, struct buf *buf);

// Forgets all but the first `len` bytes, of which there are that many.
void rope_cut(struct store *store, struct rope *rope, uint64_t len);

// What a small job wrote.
struct output_record {
	const char *tag;
	const char *data[2];  // stdout, stderr
	const char *receipt;  // what is to be said when they are written
	size_t tag_len;
	size_t len[2];
	size_t receipt_len;
};

// True if the record fits into a pack.
bool record_fits(const struct output_record *record);

// Copies the record into a pack. Returns its number (low two bits PACK_REF), or 0 with errno: memory is used up and the
// file cannot be written.
enum { PACK_REF = 2, PACK_REF_MASK = 3 };
uint64_t pack_add(struct store *store, const struct output_record *record);

// Takes the record out: copies it to `buf` (PACK_MAX bytes), where *ret_record then points. By one thread at a time.
// Returns 0, or -1 with errno if it cannot be read back: it is gone then.
int pack_take(struct store *store, uint64_t ref, char *buf, struct output_record *ret_record) FP_NODISCARD;

// Bytes that count against the bound now, and the 64 KiB units of the file in use: for tests.
size_t store_mem(struct store *store);
size_t store_units(struct store *store);

#endif
