// Bytes that are too many for memory, in one unlinked file.

#include "base/scratch_file.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/temp_file.h"

#include <errno.h>

enum {
	KEEP_UNITS = 64, // a file this small is kept when it is empty: opening a new one all the time would cost more
};

struct scratch_file {
	mutex lock;
	const char *dir;
	int fd;              // -1: not open
	uint32_t *live;      // of each unit: its bytes in use
	size_t nunits, live_cap;
	size_t *spare;       // units with nothing in use, but for the one at hand
	size_t nspare, spare_cap;
	size_t unit;         // the one at hand, which is being filled
	size_t filled;       // its bytes so far; SCRATCH_UNIT: there is none
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
	free(file->spare);
	mutex_fini(&file->lock);
	free(file);
}

// Under the lock: puts a unit at hand that is empty.
static void next_unit(struct scratch_file *file) {
	if (file->nspare > 0) {
		file->unit = file->spare[--file->nspare];
	} else {
		file->unit = file->nunits++;
		grow_array(&file->live, &file->live_cap, file->nunits, sizeof(file->live[0]));
		grow_array(&file->spare, &file->spare_cap, file->nunits, sizeof(file->spare[0])); // so that freeing needs no memory
		file->live[file->unit] = 0;
	}
	file->filled = 0;
}

size_t scratch_write(struct scratch_file *file, const char *mem, size_t len, bool whole, uint64_t *ret_offset) {
	verify(len > 0 && (!whole || len <= SCRATCH_UNIT));
	mutex_lock(&file->lock);
	if (file->fd < 0 && (file->fd = tmpfile_open(file->dir)) < 0) {
		mutex_unlock(&file->lock); // which leaves errno as it is
		return 0;
	}
	if (file->filled == SCRATCH_UNIT || (whole && SCRATCH_UNIT - file->filled < len)) {
		next_unit(file);
	}
	size_t n = len < SCRATCH_UNIT - file->filled ? len : SCRATCH_UNIT - file->filled;
	uint64_t offset = (uint64_t)file->unit * SCRATCH_UNIT + file->filled;
	file->live[file->unit] += (uint32_t)n;
	file->filled += n;
	int fd = file->fd;
	mutex_unlock(&file->lock);
	if (pwrite_all(fd, mem, n, offset) < n) {
		int error = errno;
		scratch_free(file, offset, n);
		errno = error;
		return 0;
	}
	*ret_offset = offset;
	return n;
}

int scratch_read(struct scratch_file *file, uint64_t offset, char *mem, size_t len) {
	mutex_lock(&file->lock);
	int fd = file->fd; // stays open as long as these bytes are in use
	mutex_unlock(&file->lock);
	return pread_all(fd, mem, len, offset) == len ? 0 : -1;
}

void scratch_free(struct scratch_file *file, uint64_t offset, size_t len) {
	size_t unit = (size_t)(offset / SCRATCH_UNIT);
	int unused = -1;
	mutex_lock(&file->lock);
	file->live[unit] -= (uint32_t)len;
	if (file->live[unit] == 0 && unit == file->unit) {
		file->filled = 0;
	} else if (file->live[unit] == 0) {
		file->spare[file->nspare++] = unit;
	}
	bool is_empty = file->nspare + (file->live[file->unit] == 0) == file->nunits;
	if (is_empty && file->nunits > KEEP_UNITS) {
		unused = file->fd;
		file->fd = -1;
		file->nunits = file->nspare = 0;
		file->filled = SCRATCH_UNIT;
	}
	mutex_unlock(&file->lock);
	fd_close(&unused);
}

size_t scratch_units(struct scratch_file *file) {
	mutex_lock(&file->lock);
	size_t units = 0;
	for (size_t i = 0; i < file->nunits; ++i) {
		units += file->live[i] > 0;
	}
	mutex_unlock(&file->lock);
	return units;
}
