// How many processors there are, and what is left of the machine.

#include "slots/machine.h"

#include "base/sync.h"
#include "slots/slots.h"

#include <stdlib.h>

#define QUOTA_RENEWAL NS_PER_S // the quota is read again

const char *machine_root(void) {
#ifdef FAIRPAR_FAULTS
	const char *root = getenv("FAIRPAR_ROOT");
	return root ? root : "";
#else
	return "";
#endif
}

void machine_open(struct machine *machine, const char *root, uint64_t now) {
	*machine = (struct machine){.root = root, .cpus = slots_cpus(root), .cpus_read = now};
	pressure_open(&machine->pressure, root, now);
}

void machine_close(struct machine *machine) {
	pressure_close(&machine->pressure);
}

void machine_observe(struct machine *machine, struct controller_observation *observation) {
	struct pressure_observation pressure;
	if (observation->now - machine->cpus_read >= QUOTA_RENEWAL) {
		machine->cpus = slots_cpus(machine->root);
		machine->cpus_read = observation->now;
	}
	pressure_observe(&machine->pressure, machine->cpus, observation->now, &pressure);
	observation->cpus = machine->cpus;
	observation->idle = pressure.idle;
	observation->memory_full = pressure.memory_full;
	observation->disk_full = pressure.disk_full;
}
