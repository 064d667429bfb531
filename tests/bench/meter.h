// What engine.c, glib.c and tbb.cpp measure alike: time, CPU and context switches for each item. C17 and C++17.

#pragma once

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

struct meter {
	double wall, cpu; // nanoseconds
	long switches;    // voluntary and not
};

static inline double meter_time(struct timeval t) {
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

static inline struct meter meter_read(void) {
	struct timespec ts;
	struct rusage usage;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	getrusage(RUSAGE_SELF, &usage);
	struct meter meter;
	meter.wall = (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
	meter.cpu = meter_time(usage.ru_utime) + meter_time(usage.ru_stime);
	meter.switches = usage.ru_nvcsw + usage.ru_nivcsw;
	return meter;
}

// Prints "MODE wall_ns cpu_ns switches wakes", tab-separated, each for one item. `wakes` below 0: not known.
static inline void meter_print(const char *mode, struct meter start, double items, double wakes) {
	struct meter end = meter_read();
	printf("%s\t%.2f\t%.2f\t%.5f\t%.5f\n", mode, (end.wall - start.wall) / items, (end.cpu - start.cpu) / items,
	       (double)(end.switches - start.switches) / items, wakes < 0 ? -1.0 : wakes / items);
}
