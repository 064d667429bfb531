// Counts how many slots the attempts of a run had at once on each machine, so that a picture has as many rows for it.

#ifndef FAIRPAR_REPORT_MACHINES_H
#define FAIRPAR_REPORT_MACHINES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	MACHINES_MAX = 1 << 12,  // more, of a damaged log, are counted as the last of these by name
	MACHINES_ROWS = 1 << 14, // of all
};

struct machine_rows {
	char *name;              // NULL: the one that the run was started on
	unsigned now;            // slots that its attempts have
	unsigned rows;           // the most that they had at once
	unsigned first;          // row, after machines_place()
};

// Zeroed it is empty.
struct machines {
	struct machine_rows *machines; // by name, the one of the run first
	size_t n, cap;
	unsigned rows;           // of all, after machines_place()
};

void machines_fini(struct machines *machines);

// An attempt that has `nslots` slots begins on the machine `host` (NULL: that of the run), or ends there.
void machines_enter(struct machines *machines, const char *host, unsigned nslots);
void machines_leave(struct machines *machines, const char *host, unsigned nslots);

// Gives each machine its rows, one machine below the other.
void machines_place(struct machines *machines);

// How many rows there are in all, after machines_place(): one at least.
unsigned machines_rows(const struct machines *machines);

// Whether there is any machine but that of the run.
bool machines_are_several(const struct machines *machines);

// The machine of that name, or the last one if there is none; NULL if there are no machines.
const struct machine_rows *machines_find(const struct machines *machines, const char *host);

// The machine that the row belongs to, after machines_place(); there is one at least.
const struct machine_rows *machines_at(const struct machines *machines, unsigned row);

#endif
