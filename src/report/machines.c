// Counts how many slots the attempts of a run had at once on each machine, so that a picture has as many rows for it.

#include "report/machines.h"

#include "base/alloc.h"

#include <string.h>

void machines_fini(struct machines *machines) {
	for (size_t i = 0; i < machines->n; ++i) {
		free(machines->machines[i].name);
	}
	free(machines->machines);
	*machines = (struct machines){0};
}

// By their numbers, as people read them: n2 comes before n10.
static int compare_names(const char *a, const char *b) {
	return a && b ? strverscmp(a, b) : (a != NULL) - (b != NULL);
}

// The index of the machine, or where it would be; *ret_found: it is there.
static size_t place_of(const struct machines *machines, const char *host, bool *ret_found) {
	size_t low = 0, high = machines->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_names(machines->machines[middle].name, host);
		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		low = order < 0 ? middle + 1 : low;
		high = order < 0 ? high : middle;
	}
	*ret_found = false;
	return low;
}

static struct machine_rows *find(const struct machines *machines, const char *host) {
	bool found;
	size_t i = place_of(machines, host, &found);
	return found ? &machines->machines[i] : machines->n > 0 ? &machines->machines[machines->n - 1] : NULL;
}

void machines_enter(struct machines *machines, const char *host, unsigned nslots) {
	bool found;
	size_t i = place_of(machines, host, &found);
	if (!found && machines->n < MACHINES_MAX) {
		grow_array(&machines->machines, &machines->cap, machines->n + 1, sizeof(*machines->machines));
		memmove(&machines->machines[i + 1], &machines->machines[i], (machines->n - i) * sizeof(*machines->machines));
		machines->machines[i] = (struct machine_rows){.name = host ? xstrdup(host) : NULL};
		++machines->n;
	}
	struct machine_rows *machine = find(machines, host);
	nslots = nslots < 1 ? 1 : nslots < MACHINES_ROWS ? nslots : MACHINES_ROWS;
	machine->now = machine->now + nslots < MACHINES_ROWS ? machine->now + nslots : MACHINES_ROWS;
	machine->rows = machine->now > machine->rows ? machine->now : machine->rows;
}

void machines_leave(struct machines *machines, const char *host, unsigned nslots) {
	struct machine_rows *machine = find(machines, host);
	nslots = nslots < 1 ? 1 : nslots;
	if (machine) {
		machine->now = machine->now > nslots ? machine->now - nslots : 0;
	}
}

void machines_place(struct machines *machines) {
	unsigned rows = 0;
	for (size_t i = 0; i < machines->n; ++i) {
		struct machine_rows *machine = &machines->machines[i];
		machine->first = rows;
		if (machine->rows > MACHINES_ROWS - rows) { // of a damaged log: the last ones share the last row
			machine->rows = MACHINES_ROWS - rows;
			machine->first -= machine->rows == 0;
		}
		rows += machine->rows;
	}
	machines->rows = rows;
}

unsigned machines_rows(const struct machines *machines) {
	return machines->rows > 0 ? machines->rows : 1;
}

bool machines_are_several(const struct machines *machines) {
	return machines->n > 0 && machines->machines[machines->n - 1].name;
}

const struct machine_rows *machines_find(const struct machines *machines, const char *host) {
	return find(machines, host);
}

const struct machine_rows *machines_at(const struct machines *machines, unsigned row) {
	size_t i = 0;
	while (i + 1 < machines->n && machines->machines[i].first + machines->machines[i].rows <= row) {
		++i;
	}
	return &machines->machines[i];
}
