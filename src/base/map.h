// Texts mapped to numbers.

#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns the FNV-1a hash (Fowler, Noll, Vo) of the bytes, mixed with `seed`: for hash tables. Whoever knows the seed can
// choose texts that collide, so a table of texts from outside takes a random seed.
uint64_t hash_bytes(const void *mem, size_t len, uint64_t seed);

// A hash table with open addressing and linear probing, at most half full. Texts are borrowed and must stay as long as the map.
struct map {
	struct map_entry {
		const char *text;  // NULL: free
		uint32_t len, number, hash;
	} *entries;
	size_t cap, n;
	uint64_t seed;
};

#define MAP_INIT {NULL, 0, 0, 0}

#define MAP_NONE UINT32_MAX

// Frees the table, but not the texts, and makes the map empty; it may be used again.
void map_fini(struct map *map);

// Returns the number of the text, or MAP_NONE if the map does not have it.
uint32_t map_get(const struct map *map, const char *text, size_t len);

// Maps the text to the number and returns MAP_NONE. If the map has the text already, changes nothing and returns the text's number.
uint32_t map_add(struct map *map, const char *text, size_t len, uint32_t number);
