// Bytes that are too many for memory, in one unlinked file.

#include "base/scratch_file.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/temp_file.h"

enum {
	KEEP_UNITS = 64, // a file of at most this many units stays open when all its units are free, as opening it again and again takes time
};

struct scratch_file {
	mutex lock;
	const char *dir;
	int fd;              // -1: not open
	uint32_t *live;      // how many bytes of each unit are in use
	size_t nunits, live_cap;
	size_t *free_units;       // indexes of the units in which no byte is in use, without the unit that is being filled
	size_t nfree_units, free_units_cap;
	size_t unit;         // the index of the unit that is being filled
	size_t filled;       // bytes that were put into that unit so far; SCRATCH_UNIT: no unit is being filled
};

struct scratch_file *scratch_create(const char *dir) {
	struct scratch_file *file = NEW(struct scratch_file);
	mutex_init(&file->lock, LOCK_SCRATCH_FILE);
	file->dir = dir;
	file->fd = -1;
	file->filled = SCRATCH_UNIT;
	return file;
}

void scratch_destroy(struct scratch_file *file) {
	fd_close(&file->fd);
	free(file->live);
	free(file->free_units);
	mutex_fini(&file->lock);
	free(file);
}

// Under the lock: adds units to the end of the file. Returns the first of them.
static size_t add_units(struct scratch_file *file, size_t n) {
	size_t first = file->nunits;
	file->nunits += n;
	grow_array(&file->live, &file->live_cap, file->nunits, sizeof(file->live[0]));
	grow_array(&file->free_units, &file->free_units_cap, file->nunits, sizeof(file->free_units[0])); // so that scratch_free() need not allocate
	memset(file->live + first, 0, n * sizeof(file->live[0]));
	return first;
}

// Under the lock: reserves up to `len` bytes of the unit that is being filled; with `whole`, all `len` bytes: in another unit if that unit has too
// little room, or, if they are more than a unit, in new units at the end of the file. Returns how many it reserves; *ret_offset: where they are.
static size_t take_bytes(struct scratch_file *file, size_t len, bool whole, uint64_t *ret_offset) {
	if (whole && len > SCRATCH_UNIT) {
		size_t unit = add_units(file, (len + SCRATCH_UNIT - 1) / SCRATCH_UNIT);
		*ret_offset = (uint64_t)unit * SCRATCH_UNIT;
		for (size_t left = len; left > 0; ++unit) {
			file->live[unit] = left < SCRATCH_UNIT ? (uint32_t)left : SCRATCH_UNIT;
			left -= file->live[unit];
		}
		return len;
	}
	if (file->filled == SCRATCH_UNIT || (whole && SCRATCH_UNIT - file->filled < len)) {
		file->unit = file->nfree_units > 0 ? file->free_units[--file->nfree_units] : add_units(file, 1);
		file->filled = 0;
	}
	size_t n = len < SCRATCH_UNIT - file->filled ? len : SCRATCH_UNIT - file->filled;
	*ret_offset = (uint64_t)file->unit * SCRATCH_UNIT + file->filled;
	file->live[file->unit] += (uint32_t)n;
	file->filled += n;
	return n;
}

size_t scratch_write(struct scratch_file *file, const char *mem, size_t len, bool whole, uint64_t *ret_offset) {
	verify(len > 0);
	mutex_lock(&file->lock);
	if (file->fd < 0 && (file->fd = tmpfile_open(file->dir)) < 0) {
		mutex_unlock(&file->lock); // mutex_unlock() leaves errno as it is, and so does scratch_free()
		return 0;
	}
	size_t n = take_bytes(file, len, whole, ret_offset);
	int fd = file->fd;
	mutex_unlock(&file->lock);
	if (pwrite_all(fd, mem, n, *ret_offset) < n) {
		int unused = scratch_free(file, *ret_offset, n);
		fd_close(&unused);
		return 0;
	}
	return n;
}

int scratch_read(struct scratch_file *file, uint64_t offset, char *mem, size_t len) {
	mutex_lock(&file->lock);
	int fd = file->fd; // the file stays open as long as these bytes are in use
	mutex_unlock(&file->lock);
	return pread_all(fd, mem, len, offset) == len ? 0 : -1;
}

int scratch_free(struct scratch_file *file, uint64_t offset, size_t len) {
	int unused = -1;
	FP_HOLD(&file->lock);
	while (len > 0) {
		size_t unit = (size_t)(offset / SCRATCH_UNIT), n = SCRATCH_UNIT - offset % SCRATCH_UNIT;
		n = n < len ? n : len;
		offset += n;
		len -= n;
		file->live[unit] -= (uint32_t)n;
		if (file->live[unit] == 0 && unit == file->unit) {
			file->filled = 0;
		} else if (file->live[unit] == 0) {
			file->free_units[file->nfree_units++] = unit;
		}
	}
	bool is_empty = file->nfree_units + (file->filled == 0) == file->nunits;
	if (is_empty && file->nunits > KEEP_UNITS) {
		unused = file->fd;
		file->fd = -1;
		file->nunits = file->nfree_units = 0;
		file->filled = SCRATCH_UNIT;
	}
	return unused;
}

size_t scratch_units(struct scratch_file *file) {
	FP_HOLD(&file->lock);
	size_t units = 0;
	for (size_t i = 0; i < file->nunits; ++i) {
		units += file->live[i] > 0;
	}
	return units;
}
