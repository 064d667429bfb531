// A descriptor that wakes a thread out of poll().

#include "base/wakeup.h"

#include "base/diag.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int wakeup_open(void) {
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void wakeup_post(int fd) {
	uint64_t one = 1;
	ssize_t n;
	do {
		n = write(fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	verify(n == sizeof(one) || errno == EAGAIN); // EAGAIN: the counter is full, so it is readable
}

void wakeup_clear(int fd) {
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));
	verify(n == sizeof(count) || errno == EAGAIN || errno == EINTR); // EAGAIN: it was not readable
}
