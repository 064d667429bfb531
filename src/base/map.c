// Texts mapped to numbers.

#include "base/map.h"

#include "base/alloc.h"

uint64_t hash_bytes(const void *mem, size_t len, uint64_t seed) {
	const unsigned char *bytes = mem;
	uint64_t hash = UINT64_C(14695981039346656037) ^ seed;
	for (size_t i = 0; i < len; ++i) {
		hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
	}
	return hash;
}

// Returns the hash, mixed so that its low bits depend on all bits. Nobody can choose texts that collide without knowing the seed, which is an address
// of the heap and differs from run to run.
static uint32_t hash_text(const struct map *map, const char *text, size_t len) {
	uint64_t hash = hash_bytes(text, len, map->seed);
	hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15); // 2^64 divided by the golden ratio (Knuth, TAOCP vol. 3, 6.4)
	return (uint32_t)(hash >> 32);
}

void map_fini(struct map *map) {
	free(map->entries);
	*map = (struct map)MAP_INIT;
}

// Returns the entry that has the text, or the free entry where the text would go.
static struct map_entry *find(const struct map *map, const char *text, size_t len, uint32_t hash) {
	for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
		struct map_entry *entry = &map->entries[i];
		if (!entry->text || (entry->hash == hash && entry->len == len && memcmp(entry->text, text, len) == 0)) {
			return entry;
		}
	}
}

static void grow(struct map *map) {
	struct map old = *map;
	map->cap = old.cap > 0 ? old.cap * 2 : 16;
	map->entries = xcalloc(map->cap, sizeof(map->entries[0]));
	if (!old.entries) {
		map->seed = (uint64_t)(uintptr_t)map->entries;
	}
	for (size_t i = 0; i < old.cap; ++i) {
		const struct map_entry *entry = &old.entries[i];
		if (entry->text) {
			*find(map, entry->text, entry->len, entry->hash) = *entry;
		}
	}
	free(old.entries);
}

uint32_t map_get(const struct map *map, const char *text, size_t len) {
	const struct map_entry *entry = map->n > 0 ? find(map, text, len, hash_text(map, text, len)) : NULL;
	return entry && entry->text ? entry->number : MAP_NONE;
}

uint32_t map_add(struct map *map, const char *text, size_t len, uint32_t number) {
	if (map->n * 2 >= map->cap) {
		grow(map);
	}
	uint32_t hash = hash_text(map, text, len);
	struct map_entry *entry = find(map, text, len, hash);
	if (entry->text) {
		return entry->number;
	}
	*entry = (struct map_entry){.text = text, .len = (uint32_t)len, .number = number, .hash = hash};
	++map->n;
	return MAP_NONE;
}
