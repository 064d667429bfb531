// How busy the machine is, as the kernel reports it: its load, its free memory and its swapping; how idle the processors are, and
// for how much of the time all tasks waited for memory or for a disk.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "job/event.h"

#include <stdbool.h>
#include <stdint.h>

// ---- what the texts of /proc say; these calls return false if a figure is missing ----

// Gets from the text of /proc/stat how many threads run, or wait for a processor or a disk, now, without the calling thread. As in GNU parallel, this
// load is no average over minutes: so a job that has just started already counts when fairpar decides whether to start the next one.
bool sysload_parse_load(const char *text, uint64_t *ret_load) FP_NODISCARD;

// Pages swapped so far.
struct swapped {
	uint64_t in, out;
};
// Gets the pages swapped so far from the text of /proc/vmstat.
bool sysload_parse_swapped(const char *text, struct swapped *ret_swapped) FP_NODISCARD;

// Returns whether the machine was swapping between the two readings: whether pages went both in and out. Pages that only go out belong
// to programs that nobody uses; pages that only come in, to programs that are used again. GNU parallel's rule.
bool sysload_is_swapping(const struct swapped *before, const struct swapped *after);

// How many of `n` jobs may run with `free_bytes` free, under --memsuspend LIMIT: one below the limit, two from the limit on,
// three from 1.5 times the limit, five from 1.75 times, and so on; all from twice the limit. GNU parallel's rule.
unsigned sysload_may_run(uint64_t free_bytes, uint64_t limit, unsigned n);

// Gets how many bytes new programs can have now without swapping (proc(5), MemAvailable). Returns false with errno (0: the file lacks the figure).
bool sysload_free(uint64_t *ret_bytes) FP_NODISCARD;

// ---- whether a job may start on this machine, by its load and memory: for a run (gate/gate.c) and for a worker (modes/worker.c) ----

struct sysload_gate {
	double max_load;         // --load: no job starts at this load or above; 0: any load
	uint64_t memfree;        // no job starts while fewer bytes of memory are available; 0: any number
	const char *asks;        // name of the option that asks for `memfree`
	bool noswap;             // no job starts while the machine is swapping
	// what the checks have seen
	bool is_swapping, has_missed; // has_missed: a message about a missing figure was printed
	struct swapped swapped;
	uint64_t swap_read_at;   // when `swapped` was last read; 0: never
};

// Appends the reason why no job may start now, or nothing if a job may start. Returns WHY_MEMORY if the reason is --memfree or --memsuspend, else
// WHY_LOAD. If /proc lacks a number, a warning says so once, and this number holds no job back.
enum event_why sysload_check(struct sysload_gate *gate, struct buf *why);

// ---- the idle capacity of the machine between two samples ----

// Counters that only grow; 0 where the system does not have them.
struct pressure_totals {
	double idle, all;      // ticks of the usable processors: idle ones, and all
	double used_us;        // microseconds of processor time that this process's cgroup has used
	double memory_us, disk_us; // microseconds in which all tasks waited for memory, or for a disk
};

struct pressure {
	const char *root;      // the `root` of pressure_open(); borrowed
	char *group;           // directory of this process's cgroup v2, or NULL; owned
	char *accounts;        // directory of this process's cgroup v1 with cpuacct.usage, or NULL; owned
	uint64_t sampled;       // now_ns() time of the last sample
	struct pressure_totals before;
};

// Shares, 0 to 1, since the last sample; 0 if the system does not tell.
struct pressure_observation {
	double idle;           // the share of the usable processors that was idle, or that the cgroup has not used, whichever is less
	double memory_full;    // the share of the time in which all tasks waited for memory: PSI "full" of this process's cgroup, else of the host
	double disk_full;      // the share of the time in which all tasks waited for a disk, from the same source
};

// Takes the first sample, at time `now` (now_ns()); pressure_close() frees what *pressure owns. `root` is put in front of /proc and of the
// mount points found there; it is "" except in tests.
void pressure_open(struct pressure *pressure, const char *root, uint64_t now);
void pressure_close(struct pressure *pressure);

// Takes a sample, and fills *ret_observation with what has happened since the last one. `cpus` is the number of processors that this
// process may use (slots_cpus()): perhaps a fraction.
void pressure_observe(struct pressure *pressure, double cpus, uint64_t now, struct pressure_observation *ret_observation);
