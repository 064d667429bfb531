// How busy some processes and their descendants are, from one sample to the next.

#include "process/activity.h"

#include "base/sync.h"
#include "process/proctree.h"

#include <string.h>
#include <unistd.h>

// The processors that a process with threads has used since the last sample, or 0 if it was not in that.
static double used_since(const struct activity *activity, pid_t pid, uint64_t ticks, uint64_t now) {
	double seconds = (double)(now - activity->at) / 1e9;
	for (size_t i = 0; i < activity->n; ++i) {
		if (activity->pids[i] == pid && ticks >= activity->ticks[i] && seconds > 0) {
			return (double)(ticks - activity->ticks[i]) / (double)sysconf(_SC_CLK_TCK) / seconds;
		}
	}
	return 0;
}

double activity_sample(struct activity *activity, const pid_t *pids, size_t n, uint64_t now, unsigned *ret_alive) {
	struct tree_use uses[ACTIVITY_PROCESSES];
	double busy = 0;
	*ret_alive = 0;
	proctree_use(pids, n, uses);
	for (size_t i = 0; i < n; ++i) {
		double used = uses[i].has_threads ? used_since(activity, pids[i], uses[i].cpu_ticks, now) : 0;
		*ret_alive += uses[i].processes > 0;
		busy += used > uses[i].busy ? used : uses[i].busy;
	}
	memcpy(activity->pids, pids, n * sizeof(*pids));
	for (size_t i = 0; i < n; ++i) {
		activity->ticks[i] = uses[i].cpu_ticks;
	}
	activity->n = n;
	activity->at = now;
	return busy;
}
