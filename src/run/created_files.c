// What the jobs of this run create: whose it is to take away what a failed one has left.
//
// A set of hashes of paths, 16 bytes each, as there may be a million. Two paths of one hash count as the same: then a
// half product stays that could have been removed, once in 2^64 pairs.

#include "run/created_files.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/sync.h"

#include <stdint.h>

struct created_file {
	uint64_t hash;     // 0: an empty place
	uint32_t running;  // jobs that are making it
	bool made;
};

struct created_files {
	mutex lock;
	struct created_file *places; // linear probing
	size_t cap, n;
};

struct created_files *created_files_create(void) {
	struct created_files *created_files = NEW(struct created_files);
	mutex_init(&created_files->lock, LOCK_CREATED_FILES);
	return created_files;
}

void created_files_destroy(struct created_files *created_files) {
	if (created_files) {
		mutex_fini(&created_files->lock);
		free(created_files->places);
		free(created_files);
	}
}

// Never 0.
static uint64_t hash_path(const char *path) {
	uint64_t hash = hash_bytes(path, strlen(path), 0);
	return hash | (hash == 0);
}

static struct created_file *find(struct created_files *created_files, uint64_t hash) {
	size_t mask = created_files->cap - 1;
	size_t i = (size_t)(hash >> 16) & mask;
	while (created_files->places[i].hash != 0 && created_files->places[i].hash != hash) {
		i = (i + 1) & mask;
	}
	return &created_files->places[i];
}

static void grow(struct created_files *created_files) {
	if ((created_files->n + 1) * 4 <= created_files->cap * 3) {
		return;
	}
	struct created_file *old = created_files->places;
	size_t old_cap = created_files->cap;
	created_files->cap = old_cap ? old_cap * 2 : 64;
	created_files->places = xcalloc(created_files->cap, sizeof(created_files->places[0]));
	for (size_t i = 0; i < old_cap; ++i) {
		if (old[i].hash != 0) {
			*find(created_files, old[i].hash) = old[i];
		}
	}
	free(old);
}

void created_files_begin(struct created_files *created_files, const char *path) {
	uint64_t hash = hash_path(path);
	mutex_lock(&created_files->lock);
	grow(created_files);
	struct created_file *product = find(created_files, hash);
	created_files->n += product->hash == 0;
	product->hash = hash;
	++product->running;
	mutex_unlock(&created_files->lock);
}

bool created_files_end(struct created_files *created_files, const char *path, bool ok) {
	uint64_t hash = hash_path(path);
	mutex_lock(&created_files->lock);
	struct created_file *product = find(created_files, hash);
	--product->running;
	product->made |= ok;
	bool alone = product->running == 0 && !product->made;
	mutex_unlock(&created_files->lock);
	return alone;
}
