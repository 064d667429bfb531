// Memory that processes share.

#include "base/shared_memory.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int shared_memory_create(const char *name, size_t size) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size) { // it holds for memory too, and would send SIGXFSZ
		errno = EFBIG;
		return -1;
	}
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && (ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)) {
		int error = errno;
		fd_close(&fd);
		errno = error;
	}
	return fd;
}

size_t shared_memory_size(int fd) {
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
}

void *shared_memory_map(int fd, size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}
