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

enum { MOST_BYTES = 64 * 1024 * 1024, PIECE = 32 * 1024 };

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
	*ret_copy = (struct program_copy){
		.is_static = is_static, .size = found && st.st_size <= MOST_BYTES ? (uint64_t)st.st_size : 0, .path = buf_take(&path), .fd = -1,
	};
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

// Ends the checksum of `n` bytes.
static uint32_t crc_end(uint32_t crc, uint64_t n) {
	for (; n > 0; n >>= 8) {
		crc = crc_step(crc, (unsigned char)n);
	}
	return ~crc;
}

static int cannot_read(const struct program_copy *copy, struct buf *ret_why) {
	buf_printf(ret_why, "there is no fairpar on the machine, and '%s' cannot be read: %s", text_shows(copy->path), strerror(errno));
	return -1;
}

int program_copy_open(struct program_copy *copy, const char *machine, struct buf *ret_why) {
	struct utsname here;
	struct stat st;
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	if (copy->size == 0 || uname(&here) != 0) {
		buf_adds(ret_why, "there is no fairpar on the machine, and the file of this fairpar cannot be read");
		return -1;
	}
	buf_printf(&own, "%s %s", here.sysname, here.machine);
	if (strcmp(buf_str(&own), machine) != 0) {
		buf_printf(ret_why, "there is no fairpar on the machine, and this fairpar is for %s, not for %s", buf_str(&own), text_shows(machine));
		return -1;
	}
	if (copy->fd < 0) {
		copy->fd = open(copy->path, O_RDONLY | O_CLOEXEC);
		if (copy->fd < 0 || fstat(copy->fd, &st) != 0) {
			return cannot_read(copy, ret_why);
		}
		copy->left = copy->length = (uint64_t)st.st_size;
	}
	return 0;
}

// Reads the next piece of the file for its checksum.
static int sum_piece(struct program_copy *copy) {
	char piece[PIECE];
	size_t want = copy->left < sizeof(piece) ? (size_t)copy->left : sizeof(piece);
	if (pread_all(copy->fd, piece, want, copy->length - copy->left) < want) {
		return -1;
	}
	for (size_t i = 0; i < want; ++i) {
		copy->crc = crc_step(copy->crc, (unsigned char)piece[i]);
	}
	copy->left -= want;
	return 0;
}

int program_copy_send(struct program_copy *copy, uint64_t *at, int to, struct buf *ret_why) {
	char line[40];
	if (copy->left > 0) {
		return sum_piece(copy) == 0 ? 1 : cannot_read(copy, ret_why);
	}
	uint64_t len = (uint64_t)snprintf(line, sizeof(line), "%" PRIu32 " %" PRIu64 "\n", crc_end(copy->crc, copy->length), copy->length);
	ssize_t n = *at < len ? write(to, line + *at, (size_t)(len - *at)) : splice_file(copy->fd, *at - len, to, PIECE);
	if (n < 0 && errno == EPIPE) {
		return -1;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		errno = n == 0 ? EIO : errno; // the file has become shorter
		return cannot_read(copy, ret_why);
	}
	*at += n > 0 ? (uint64_t)n : 0;
	return *at < len + copy->length;
}

void program_copy_fini(struct program_copy *copy) {
	fd_close(&copy->fd);
	free(copy->path);
}
