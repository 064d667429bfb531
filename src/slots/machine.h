// What a number of slots that is found (-j auto, --pool-slots auto) has to fit: how many processors there are, and what is left of
// the machine.

#ifndef FAIRPAR_SLOTS_MACHINE_H
#define FAIRPAR_SLOTS_MACHINE_H

#include "process/pressure.h"
#include "slots/controller.h"

#include <stdint.h>

struct machine {
	const char *root;        // borrowed
	double cpus;             // as slots_cpus()
	uint64_t cpus_read;
	struct pressure pressure;
};

// What stands before /proc and the mounts found there: "", or, in a build that takes FAIRPAR_FAULT, $FAIRPAR_ROOT.
const char *machine_root(void);

// Begins to look, for machine_close() to free. Times are in ns, of a clock that does not go back.
void machine_open(struct machine *machine, const char *root, uint64_t now);
void machine_close(struct machine *machine);

// Looks, at observation->now: fills in the observation's cpus, idle, memory_full and disk_full, since the last look or machine_open().
void machine_observe(struct machine *machine, struct controller_observation *observation);

#endif
