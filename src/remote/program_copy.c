// The program that goes to a machine which has no fairpar.

#include "remote/sshlogin.h"

#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST_BYTES = 64 * 1024 * 1024 };

void program_copy_find(const char *self, struct program_copy *ret_copy) {
	struct buf path = BUF_INIT;
	struct stat st;
	buf_printf(&path, "%s-static", self);
	bool is_static = stat(buf_str(&path), &st) == 0 && S_ISREG(st.st_mode), found = is_static;
	if (!found) {
		buf_reset(&path);
		buf_adds(&path, self);
		found = stat(self, &st) == 0 && S_ISREG(st.st_mode);
	}
	*ret_copy = (struct program_copy){.is_static = is_static, .size = found && st.st_size <= MOST_BYTES ? (uint64_t)st.st_size : 0, .path = buf_take(&path)};
	if (found) {
		snprintf(ret_copy->name, sizeof(ret_copy->name), "%" PRIu64 "-%" PRIx64, ret_copy->size,
		         (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec);
	}
}

// POSIX.1-2017, cksum: CRC-32 of polynomial 0x04C11DB7, highest bit first, over the bytes and then their number, lowest byte first.
static uint32_t crc_step(uint32_t crc, unsigned char byte) {
	crc ^= (uint32_t)byte << 24;
	for (int bit = 0; bit < 8; ++bit) {
		crc = crc & UINT32_C(0x80000000) ? crc << 1 ^ UINT32_C(0x04C11DB7) : crc << 1;
	}
	return crc;
}

uint32_t program_copy_cksum(const void *bytes, size_t n) {
	const unsigned char *at = bytes;
	uint32_t crc = 0;
	for (size_t i = 0; i < n; ++i) {
		crc = crc_step(crc, at[i]);
	}
	for (size_t left = n; left > 0; left >>= 8) {
		crc = crc_step(crc, (unsigned char)left);
	}
	return ~crc;
}

int program_copy_read(const struct program_copy *copy, const char *machine, struct buf *ret_bytes, struct buf *ret_why) {
	struct utsname here;
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	if (copy->size == 0 || uname(&here) != 0) {
		buf_adds(ret_why, "there is no fairpar there, and the one that runs here cannot be looked at");
		return -1;
	}
	buf_printf(&own, "%s %s", here.sysname, here.machine);
	if (strcmp(buf_str(&own), machine) != 0) {
		buf_printf(ret_why, "there is no fairpar there, and the one here is for %s, not for %s", buf_str(&own), text_shows(machine));
		return -1;
	}
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	int fd = open(copy->path, O_RDONLY | O_CLOEXEC);
	int result = fd >= 0 ? read_to_end(fd, &bytes, MOST_BYTES) : -1;
	fd_close(&fd);
	if (result == 0) {
		buf_printf(ret_bytes, "%" PRIu32 " %zu\n", program_copy_cksum(buf_str(&bytes), bytes.len), bytes.len);
		buf_add(ret_bytes, bytes.data, bytes.len);
	} else {
		buf_printf(ret_why, "there is no fairpar there, and '%s' cannot be read: %s", text_shows(copy->path), strerror(errno));
	}
	return result;
}
