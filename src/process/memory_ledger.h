// The memory that is reserved for the jobs of several fairpars that share slots: a file that each of them maps, with an entry for each.
//
// A fairpar publishes what is reserved for its jobs, including the job that it is about to start, before it reads what the others
// have published. So if two are about to start a job, at least one of them sees the other. How much of a reservation is already in
// use is read from /proc. An entry is free once the process that it names has ended, for whatever reason.

#ifndef FAIRPAR_PROCESS_MEMORY_LEDGER_H
#define FAIRPAR_PROCESS_MEMORY_LEDGER_H

#include "base/attr.h"

#include <stdbool.h>
#include <stdint.h>

struct memory_ledger;

// Opens the file, which is made if it is missing. Returns what memory_ledger_close() frees, or NULL with errno.
struct memory_ledger *memory_ledger_open(const char *path) FP_NODISCARD;
void memory_ledger_close(struct memory_ledger *ledger); // NULL-safe

// The jobs of this process, and what it may have begun to start.
struct memory_entry {
	uint64_t reserved;   // bytes, of jobs of whose batch one has ended
	uint64_t unknown;    // number of other jobs, whose need the reader estimates
	uint64_t need;       // bytes of the largest one
	uint64_t wants;      // bytes that it waits for: fairpars that came later leave them free
};
void memory_ledger_publish(struct memory_ledger *ledger, const struct memory_entry *entry);

struct memory_others {
	uint64_t bytes;      // that they are yet to need
	uint64_t need;       // the largest of their jobs
	bool has_jobs;       // a job starts that does not fit only if they have none; also true if one is to wait for them
};

// Sums up the entries of the others, except for those in whose jobs this process runs, since they only wait. `unknown`: bytes of a job of which nothing is known, or 0:
// the largest of all. With `samples` less what they have, which takes some system calls for each of their processes; else all that is
// reserved counts.
struct memory_others memory_ledger_look(struct memory_ledger *ledger, uint64_t unknown, bool samples);

#endif
