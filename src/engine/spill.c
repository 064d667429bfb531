// The spill file: queued bytes that are too many for memory.
//
// Nearly all chunks need one unit. A longer one (a record of more than SPILL_UNIT bytes) gets several in a row at the end of
// the file, which are freed as single ones. A unit that is used for less has a hole behind what was written.

#include "engine/spill.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/temp_file.h"

#include <errno.h>
#include <unistd.h>

enum {
	GIVE_UP_UNITS = 64, // a file this small is kept: opening a new one all the time would cost more
};

void spill_init(struct spill *spill, const char *dir) {
	*spill = (struct spill){.dir = dir, .fd = -1};
}

void spill_fini(struct spill *spill) {
	fd_close(&spill->fd);
	free(spill->free);
}

static uint32_t units_of(size_t len) {
	return (uint32_t)((len + SPILL_UNIT - 1) / SPILL_UNIT);
}

bool spill_has_room(const struct spill *spill, size_t len) {
	uint32_t n = units_of(len);
	if (n == 1 && spill->nfree > 0) {
		return true;
	}
	return spill->error == 0 && n < UINT32_MAX - spill->nunits;
}

uint64_t spill_alloc(struct spill *spill, size_t len) {
	verify(spill_has_room(spill, len));
	uint32_t n = units_of(len);
	if (n == 1 && spill->nfree > 0) {
		return (uint64_t)spill->free[--spill->nfree] * SPILL_UNIT;
	}
	uint32_t unit = spill->nunits;
	spill->nunits += n;
	grow_array(&spill->free, &spill->free_cap, spill->nunits, sizeof(spill->free[0]));
	return (uint64_t)unit * SPILL_UNIT;
}

// Gives up the file if none of its units is in use: then nobody reads or writes it. Returns its descriptor, or -1.
static int give_up_if_unused(struct spill *spill) {
	if (spill->nfree + spill->nlost < spill->nunits || (spill->nunits < GIVE_UP_UNITS && spill->error == 0)) {
		return -1;
	}
	int fd = spill->fd;
	if (spill->nfree > 0) { // else it could not be opened, or not even its first unit be written: a new one would fail as well
		spill->error = 0;
	}
	spill->fd = -1;
	spill->nunits = spill->nfree = spill->nlost = 0;
	return fd;
}

int spill_free(struct spill *spill, uint64_t offset, size_t len) {
	uint32_t first = (uint32_t)(offset / SPILL_UNIT);
	for (uint32_t i = 0; i < units_of(len); ++i) {
		spill->free[spill->nfree++] = first + i;
	}
	return give_up_if_unused(spill);
}

int spill_fail(struct spill *spill, size_t len, int error) {
	spill->nlost += units_of(len);
	spill->error = error;
	return give_up_if_unused(spill);
}

int spill_open(const struct spill *spill) {
	int fd = tmpfile_open(spill->dir);
	return fd >= 0 ? fd : -errno;
}

int spill_write(int fd, const char *data, size_t len, uint64_t offset) {
	int error = fault_errno("spill");
	if (error) {
		return -error;
	}
	return pwrite_all(fd, data, len, offset) == len ? 0 : -errno;
}

int spill_read(int fd, char *data, size_t len, uint64_t offset) {
	return pread_all(fd, data, len, offset) == len ? 0 : -errno;
}
