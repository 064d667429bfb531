// What running jobs do.

#include "run/job_looks.h"

#include "base/diag.h"
#include "base/sync.h"
#include "process/proctree.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t job_looks_clock(void) {
	struct timespec used;
	verify(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

// The processors that a job with threads has used since the last look, if it was looked at then: else 0.
static double used_since(const struct job_looks *looks, pid_t pid, uint64_t ticks, uint64_t now) {
	double seconds = (double)(now - looks->at) / 1e9;
	for (size_t i = 0; i < looks->n; ++i) {
		if (looks->pids[i] == pid && ticks >= looks->ticks[i] && seconds > 0) {
			return (double)(ticks - looks->ticks[i]) / (double)sysconf(_SC_CLK_TCK) / seconds;
		}
	}
	return 0;
}

double job_looks_slots(unsigned taken, unsigned theirs, unsigned jobs, unsigned seen) {
	unsigned slots = theirs < taken ? theirs : taken;
	return jobs > 0 ? (double)slots * seen / jobs : 0;
}

double job_looks_busy(struct job_looks *looks, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive) {
	struct tree_use uses[JOB_LOOKS];
	double busy = 0;
	*ret_alive = 0;
	proctree_use(pids, n, uses);
	for (size_t i = 0; i < n; ++i) {
		double used = uses[i].has_threads ? used_since(looks, pids[i], uses[i].cpu_ticks, now) : 0;
		*ret_alive += uses[i].processes > 0;
		busy += used > uses[i].busy ? used : uses[i].busy;
	}
	memcpy(looks->pids, pids, n * sizeof(*pids));
	for (size_t i = 0; i < n; ++i) {
		looks->ticks[i] = uses[i].cpu_ticks;
	}
	looks->n = n;
	looks->at = now;
	return busy;
}
