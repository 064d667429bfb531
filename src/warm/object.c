// The shared object of server.c, in a file in memory.

#include "warm/object.h"

#include "base/fault.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // Linux 6.3: not the default where vm.memfd_noexec is set
#endif

int object_open(void) {
	errno = fault_errno("object"); // EACCES: vm.memfd_noexec is 2
	int fd = errno ? -1 : memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL) {
		fd = memfd_create("fairpar-warm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	if (fd >= 0 && (write_all(fd, server_so, server_so_size) != 0
	                || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
		fd_close(&fd);
	}
	return fd;
}
