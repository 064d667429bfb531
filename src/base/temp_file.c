// Files without a name: temporary ones, and memory that processes share.

#include "base/temp_file.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int tmpfile_open(const char *dir) {
	if (fault_fails("tmpfile")) {
		return -1;
	}
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT)) {
		return fd;
	}
	// the file system or the kernel does not know O_TMPFILE: makes a file with a name, and unlinks it
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	buf_printf(&name, "%s/fairpar.XXXXXX", dir);
	fd = mkostemp(name.data, O_CLOEXEC);
	if (fd >= 0 && unlink(name.data) != 0) {
		fd_close(&fd);
	}
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
	const char *dir = secure_getenv("TMPDIR");
	return dir && *dir ? dir : fallback;
}

// ---- memory that processes share ----

int shared_memory_create(const char *name, size_t size) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size) { // also for files in memory, ftruncate() beyond the limit raises SIGXFSZ
		errno = EFBIG;
		return -1;
	}
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)size) != 0) {
		fd_close(&fd);
	}
	return fd;
}

void *shared_memory_map(int fd, size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}
