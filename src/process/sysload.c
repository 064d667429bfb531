// How hard the machine is pressed: its load, its free memory and its swapping, as the kernel reports them in /proc.

#include "process/sysload.h"

#include "process/memory.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

bool sysload_parse_load(const char *text, uint64_t *ret_load) {
	uint64_t running, blocked;
	if (!proc_find_number(text, "procs_running", &running) || !proc_find_number(text, "procs_blocked", &blocked)) {
		return false;
	}
	*ret_load = (running > 0 ? running - 1 : 0) + blocked; // the reader itself runs
	return true;
}

bool sysload_parse_swapped(const char *text, struct swapped *ret_swapped) {
	return proc_find_number(text, "pswpin", &ret_swapped->in) && proc_find_number(text, "pswpout", &ret_swapped->out);
}

bool sysload_is_swapping(const struct swapped *before, const struct swapped *after) {
	return after->in > before->in && after->out > before->out;
}

unsigned sysload_may_run(uint64_t free_bytes, uint64_t limit, unsigned n) {
	double ratio = (double)free_bytes / (double)limit;
	if (ratio >= 2) {
		return n;
	}
	double most = 1 / (2 - ratio) + 1; // one more than parallel's $run, which is the last index
	return most < (double)n ? (unsigned)most : n;
}

void sysload_add_load(struct buf *why, uint64_t load, double most) {
	if ((double)load >= most) {
		buf_printf(why, "the load is %" PRIu64 ", and --load lets jobs start below %g", load, most);
	}
}

void sysload_add_free(struct buf *why, uint64_t bytes, const char *option, uint64_t asked) {
	if (bytes < asked) {
		buf_printf(why, "%s of memory are available, and --%s asks for %s", memory_show(bytes), option, memory_show(asked));
	}
}

// ---- the kernel ----

static bool read_file(const char *path, const char *override FP_UNUSED, struct buf *text) {
#ifdef FAIRPAR_FAULTS
	const char *other = getenv(override);
	path = other ? other : path;
#endif
	errno = 0;
	bool done = proc_read(AT_FDCWD, path, text) == 0;
	errno = done ? 0 : errno;
	return done;
}

bool sysload_load(uint64_t *ret_load) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/stat", "FAIRPAR_STAT", &text) && sysload_parse_load(buf_str(&text), ret_load);
}

bool sysload_swapped(struct swapped *ret_swapped) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/vmstat", "FAIRPAR_VMSTAT", &text) && sysload_parse_swapped(buf_str(&text), ret_swapped);
}

bool sysload_free(uint64_t *ret_bytes) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/meminfo", "FAIRPAR_MEMINFO", &text)
		&& meminfo_find(buf_str(&text), "MemAvailable:", ret_bytes);
}
