// Holds output: in memory up to a bound, then in one unlinked file for all jobs of the run.

#include "output/store.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/scratch_file.h"

enum {
	PIECE_COST = 32,        // bytes of memory that a piece costs in addition to its `len` bytes
	ROPE_MEM = 1024 * 1024, // bytes; a longer rope takes no more memory, so that there is memory for other ropes
};

struct store *store_create(size_t bound, const char *dir) {
	struct store *store = NEW(struct store);
	store->bound = bound;
	store->file = scratch_create(dir);
	return store;
}

void store_destroy(struct store *store) {
	scratch_destroy(store->file);
	free(store);
}

// ---- pieces

// Counts the memory of a piece of `len` bytes as used. If the bound would be exceeded, counts nothing and returns false, except with `force`.
static bool charge(struct store *store, size_t len, bool force) {
	size_t cost = len + PIECE_COST;
	if (atomic_add_relaxed(&store->used, cost) + cost <= store->bound || force) {
		return true;
	}
	atomic_add_relaxed(&store->used, -cost);
	return false;
}

// Writes bytes to the file: all of them if `whole`, else perhaps fewer. Returns how many were written, or 0 with errno.
static size_t piece_write(struct store *store, const char *mem, size_t len, bool whole, struct piece *ret_piece) {
	uint64_t offset;
	size_t n = fault_fails("spool_write") ? 0 : scratch_write(store->file, mem, len, whole, &offset);
	if (n > 0) {
		*ret_piece = (struct piece){.offset = offset, .len = (uint32_t)n, .in_file = true};
	}
	return n;
}

bool store_take(struct store *store, char *mem, size_t len, struct piece *ret_piece) {
	if (charge(store, len, /* force */ false)) {
		*ret_piece = (struct piece){.mem = mem, .len = (uint32_t)len};
		return true;
	}
	if (piece_write(store, mem, len, /* whole */ true, ret_piece) == 0) {
		return false;
	}
	free(mem);
	return true;
}

const char *piece_peek(struct store *store, const struct piece *piece, size_t from, char *scratch) {
	if (!piece->in_file) {
		return piece->mem + from;
	}
	bool is_read = !fault_fails("spool_read") && scratch_read(store->file, piece->offset + from, scratch, piece->len - from) == 0;
	return is_read ? scratch : NULL;
}

static void file_free(struct store *store, uint64_t offset, size_t len) {
	int unused = scratch_free(store->file, offset, len);
	fd_close(&unused);
}

void piece_free(struct store *store, const struct piece *piece) {
	if (piece->in_file) {
		file_free(store, piece->offset, piece->len);
	} else {
		free(piece->mem);
		atomic_add_relaxed(&store->used, -(size_t)piece->len - PIECE_COST);
	}
}

// ---- ropes

static void rope_push(struct rope *rope, struct piece piece) {
	*NEW_ELEMENT(rope->piece, rope->end, rope->cap) = piece;
	rope->len += piece.len;
}

// Copies the bytes into a piece in memory. Returns `len`; or 0 if the bound would be exceeded (never with `force`).
static size_t piece_copy(struct store *store, const char *mem, size_t len, bool force, struct piece *ret_piece) {
	if (!charge(store, len, force)) {
		return 0;
	}
	*ret_piece = (struct piece){.mem = xmemdup(mem, len), .len = (uint32_t)len};
	return len;
}

size_t rope_add(struct store *store, struct rope *rope, const char *mem, size_t len, bool force) {
	size_t done = 0;
	while (done < len) {
		const char *rest = mem + done;
		size_t left = len - done < PIECE_MAX ? len - done : PIECE_MAX;
		struct piece piece;
		size_t n = rope->len < ROPE_MEM ? piece_copy(store, rest, left, /* force */ false, &piece) : 0;
		if (n == 0) {
			n = piece_write(store, rest, left, /* whole */ false, &piece);
		}
		if (n == 0) { // the last resort: memory that this rope should have left to other ropes
			FP_KEEP_ERRNO;
			n = piece_copy(store, rest, left, force, &piece);
		}
		if (n == 0) {
			break;
		}
		rope_push(rope, piece);
		done += n;
	}
	return done;
}

size_t rope_first(const struct rope *rope) {
	return rope->piece[rope->first].len - rope->start;
}

const char *rope_peek(struct store *store, const struct rope *rope, char *scratch) {
	return piece_peek(store, &rope->piece[rope->first], rope->start, scratch);
}

bool rope_drop(struct store *store, struct rope *rope, size_t n) {
	rope->start += n;
	rope->len -= n;
	const struct piece *piece = &rope->piece[rope->first];
	if (rope->start < piece->len) {
		return false;
	}
	rope->start = 0;
	piece_free(store, piece);
	if (++rope->first == rope->end) {
		rope->first = rope->end = 0;
	}
	return true;
}

void rope_split(struct rope *from, uint64_t len, struct rope *to) {
	while (from->len > 0 && to->len + rope_first(from) <= len) {
		struct piece *piece = &from->piece[from->first++];
		rope_push(to, *piece);
		to->start += from->start; // bytes that were dropped from the first piece stay dropped
		to->len -= from->start;
		from->len -= piece->len - from->start;
		from->start = 0;
	}
	if (from->len == 0) {
		from->first = from->end = 0;
	}
}

// Frees all but the first `len` bytes of a piece.
static void piece_cut(struct store *store, struct piece *piece, size_t len) {
	if (piece->in_file) {
		file_free(store, piece->offset + len, piece->len - len);
	} else {
		atomic_add_relaxed(&store->used, len - piece->len);
	}
	piece->len = (uint32_t)len;
}

void rope_cut(struct store *store, struct rope *rope, uint64_t len) {
	while (rope->len > len) {
		struct piece *last = &rope->piece[rope->end - 1];
		uint64_t here = rope->end - 1 == rope->first ? rope_first(rope) : last->len;
		uint64_t n = rope->len - len;
		if (n < here) {
			piece_cut(store, last, last->len - (size_t)n);
		} else {
			n = here;
			piece_free(store, last);
			--rope->end;
		}
		rope->len -= n;
	}
	if (rope->len == 0) {
		rope_clear(store, rope);
	}
}

void rope_clear(struct store *store, struct rope *rope) {
	for (size_t i = rope->first; i < rope->end; ++i) {
		piece_free(store, &rope->piece[i]);
	}
	free(rope->piece);
	*rope = (struct rope){.len = 0};
}
