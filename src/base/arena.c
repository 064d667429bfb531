// Memory that is freed all at once.

#include "base/arena.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <stdint.h>

enum { FIRST_BLOCK = 1024, BLOCK = 64 * 1024 }; // each is twice as large as the one before: many arenas stay small

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) char data[];
};

// The start of `size` bytes, zeroed: blocks come so, and nothing is handed out twice. A piece that is large beside a block
// gets one of its own, and what is left of the newest stays in use.
static char *carve(struct arena *arena, size_t size) {
	if (size <= arena->left) {
		char *piece = arena->at;
		arena->at += size;
		arena->left -= size;
		return piece;
	}
	size_t next = arena->next > 0 ? arena->next : FIRST_BLOCK;
	size_t bytes = size > next / 4 ? size : next;
	struct arena_block *block = xcalloc(1, sizeof(*block) + bytes); // fresh pages stay untouched until they are used
	if (bytes == size && arena->blocks) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
		return block->data;
	}
	arena->next = next < BLOCK ? 2 * next : BLOCK;
	block->next = arena->blocks;
	arena->blocks = block;
	arena->at = block->data + size;
	arena->left = bytes - size;
	return block->data;
}

void arena_fini(struct arena *arena) {
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;
		arena->blocks = block->next;
		free(block);
	}
	*arena = (struct arena)ARENA_INIT;
}

void *arena_alloc(struct arena *arena, size_t size) {
	// texts leave the free part at any address
	size_t skew = (size_t)((uintptr_t)arena->at % alignof(max_align_t));
	size_t pad = skew > 0 ? alignof(max_align_t) - skew : 0;
	size += size == 0;
	if (pad > 0 && pad + size <= arena->left) {
		carve(arena, pad);
	} else if (pad > 0 && size <= arena->left) {
		arena->left = 0;
	}
	return carve(arena, size);
}

char *arena_text(struct arena *arena, const char *text, size_t len) {
	char *copy = carve(arena, len + 1);
	return memcpy(copy, text, len);
}
