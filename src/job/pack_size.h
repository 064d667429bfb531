// How many items go into one process, by the time that items have taken so far (--pack=auto). No function here reads a clock.

#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	PACKSIZE_TARGET_MS = 200, // about how long a process is to take
	PACKSIZE_LEAST_MS = 10,   // milliseconds of work that are worth a process of its own
	PACKSIZE_GROWTH = 4,      // a process gets at most this many times as many items as the largest process before it
};

// How long the items of a batch have taken. Zeroed, nothing is known.
struct packsize {
	double items, ns;   // sums of items and of run times over the batch's processes: each process halves the earlier sums
	uint32_t most;      // the most items that a process has had
	uint32_t want;      // number of items for the next process; 0: nothing is known yet, so the next process gets 1 item
	uint32_t least;     // the fewest items that are worth a process: no process gets fewer, unless fewer items are left
};

// Adds a process that took `ns` nanoseconds for `items` items (at least 1).
void packsize_note(struct packsize *size, uint32_t items, uint64_t ns);

// Returns how many items the next process gets, at least 1: `want`; or, if no more items come (`ended`), at most its share of the `waiting`
// items (its first item included), but not fewer than `least`: so the last processes end on all slots at about the same time.
uint64_t packsize_share(uint32_t want, uint32_t least, uint64_t waiting, unsigned slots, bool ended);
