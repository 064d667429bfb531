// Unlinked temporary files.

#include "base/temp_file.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fault.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

int tmpfile_open(const char *dir) {
	int error = fault_errno("tmpfile");
	if (error) {
		errno = error;
		return -1;
	}
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)) {
		return fd;
	}
	// a file system or kernel without O_TMPFILE
	struct buf name = BUF_INIT;
	buf_printf(&name, "%s/fairpar.XXXXXX", dir);
	fd = mkostemp(name.data, O_CLOEXEC);
	if (fd >= 0 && unlink(name.data) != 0) {
		fd_close(&fd);
	}
	buf_fini(&name);
	return fd;
}

int tmpfile_open_in_memory(const char *name, const char *dir) {
	int fd = memfd_create(name, MFD_CLOEXEC);
	return fd < 0 && call_is_refused(errno) ? tmpfile_open(dir) : fd;
}

void tmpfile_add_name(struct buf *buf, int fd) {
	buf_printf(buf, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

const char *tmpfile_dir(const char *fallback) {
	const char *dir = getauxval(AT_SECURE) ? NULL : getenv("TMPDIR");
	return dir && *dir ? dir : fallback;
}
