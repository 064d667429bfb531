// What the jobs of this run create: whose it is to take away what a failed one has left.
//
// A set of hashes of paths, 16 bytes each, as there may be a million. Two paths of one hash count as the same: then a
// half product stays that could have been removed, once in 2^64 pairs.

#include "run/products.h"

#include "base/alloc.h"
#include "base/sync.h"

#include <stdint.h>

struct product {
	uint64_t hash;     // 0: an empty place
	uint32_t running;  // jobs that are making it
	bool made;
};

struct products {
	mutex lock;
	struct product *places; // linear probing
	size_t cap, n;
};

struct products *products_create(void) {
	struct products *products = NEW(struct products);
	mutex_init(&products->lock);
	return products;
}

void products_destroy(struct products *products) {
	if (products) {
		mutex_fini(&products->lock);
		free(products->places);
		free(products);
	}
}

// FNV-1a (Fowler, Noll, Vo), 64 bits, never 0
static uint64_t hash_path(const char *path) {
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *path; ++path) {
		hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
	}
	return hash | (hash == 0);
}

static struct product *find(struct products *products, uint64_t hash) {
	size_t mask = products->cap - 1;
	size_t i = (size_t)(hash >> 16) & mask;
	while (products->places[i].hash != 0 && products->places[i].hash != hash) {
		i = (i + 1) & mask;
	}
	return &products->places[i];
}

static void grow(struct products *products) {
	if ((products->n + 1) * 4 <= products->cap * 3) {
		return;
	}
	struct product *old = products->places;
	size_t old_cap = products->cap;
	products->cap = old_cap ? old_cap * 2 : 64;
	products->places = xcalloc(products->cap, sizeof(products->places[0]));
	for (size_t i = 0; i < old_cap; ++i) {
		if (old[i].hash != 0) {
			*find(products, old[i].hash) = old[i];
		}
	}
	free(old);
}

void products_begin(struct products *products, const char *path) {
	uint64_t hash = hash_path(path);
	mutex_lock(&products->lock);
	grow(products);
	struct product *product = find(products, hash);
	products->n += product->hash == 0;
	product->hash = hash;
	++product->running;
	mutex_unlock(&products->lock);
}

bool products_end(struct products *products, const char *path, bool ok) {
	uint64_t hash = hash_path(path);
	mutex_lock(&products->lock);
	struct product *product = find(products, hash);
	--product->running;
	product->made |= ok;
	bool alone = product->running == 0 && !product->made;
	mutex_unlock(&products->lock);
	return alone;
}
