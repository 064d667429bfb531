// hold: a job that holds memory.
//
//	hold [-g] [-c] MB MS
//
// Touches MB MiB of memory and holds them for MS milliseconds, asleep; -g: it grows to this size in that time; -c: it computes
// all the while, and ends when it has used that much CPU time. MB may have decimals.

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 100, PAGE = 4096 };

static double seconds(clockid_t clock) {
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Until so much time of the clock has passed: asleep, or over and over through the memory.
static void pass(double until, bool computes, unsigned char *memory, size_t size) {
	clockid_t clock = computes ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	volatile const unsigned char *bytes = memory;
	for (double left; (left = until - seconds(clock)) > 0;) {
		if (!computes) {
			struct timespec rest = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
			nanosleep(&rest, NULL);
		}
		for (size_t at = 0; computes && at < size && at < (size_t)256 * PAGE; ++at) {
			(void)bytes[at];
		}
	}
}

int main(int argc, char *argv[]) {
	bool grows = false, computes = false;
	for (int option; (option = getopt(argc, argv, "gc")) != -1;) {
		grows |= option == 'g';
		computes |= option == 'c';
	}
	if (argc - optind != 2) {
		fprintf(stderr, "hold: usage: hold [-g] [-c] MB MS\n");
		return 255;
	}
	size_t size = (size_t)(strtod(argv[optind], NULL) * 1048576);
	double time = strtod(argv[optind + 1], NULL) / 1000;
	unsigned char *memory = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("hold: mmap");
		return 1;
	}
	double start = seconds(computes ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
	for (unsigned step = 0; step < (grows ? STEPS : 1); ++step) {
		size_t from = grows ? size / STEPS * step : 0, to = grows ? size / STEPS * (step + 1) : size;
		memset(memory + from, 1, to - from);
		pass(start + (grows ? time * (step + 1) / STEPS : time), computes, memory, to);
	}
	return 0;
}
