// Memory that is freed all at once.

#ifndef FAIRPAR_BASE_ARENA_H
#define FAIRPAR_BASE_ARENA_H

#include <stddef.h>

// Hands out pieces of large blocks.
struct arena {
	struct arena_block *blocks; // the newest first
	char *at;                   // the free part of the newest
	size_t left;                // bytes
	size_t next;                // bytes of the next block; 0: of a first one
};

#define ARENA_INIT {NULL, NULL, 0, 0}

// Frees all that was handed out and makes the arena empty; it may be used again.
void arena_fini(struct arena *arena);

// `size` zeroed bytes, aligned for any object. Never NULL; the arena owns them.
void *arena_alloc(struct arena *arena, size_t size);

// A copy of the `len` bytes with a NUL behind them; the arena owns it.
char *arena_text(struct arena *arena, const char *text, size_t len);

#endif
