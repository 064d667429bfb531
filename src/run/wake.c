// What wakes the event loop, and the wait for input before there is a loop.

#include "base/diag.h"
#include "base/wakeup.h"
#include "base/write_limit.h"
#include "process/signals.h"
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

void run_wake(struct run *run) {
	wakeup_post(run->wake_fd);
}

bool run_wait_input(struct run *run, int fd) {
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = run->signal_fd, .events = POLLIN}};
	for (;;) {
		int ready = poll(fds, 2, -1);
		verify(ready >= 0 || errno == EINTR);
		if (ready > 0 && fds[1].revents) {
			int signal = signals_next(run->signal_fd);
			if (signal == SIGTSTP) {
				signals_stop_self();
			} else if (is_ending_signal(signal)) {
				run->signal = signal;
				return false;
			}
		} else if (ready > 0) {
			return true;
		}
	}
}
