// Packing: how many records go into one job (-n, -N, -L, -X, -m, --xargs, -s). Pure: no input, no queue, no clock.
//
// A pack is the job that is being put together. It is full when the next record does not fit any more: by the number of
// records, by the length as GNU parallel counts it (--max-chars), or by what execve() takes.

#ifndef FAIRPAR_TEMPLATE_PACKS_H
#define FAIRPAR_TEMPLATE_PACKS_H

#include "base/buf.h"
#include "input/input.h"
#include "template/template.h"

enum {
	// What GNU parallel 20221122 finds and keeps on Linux, where one string of a command has 128 KiB at most: its binary
	// search stops at 130329 bytes, of which it uses (130329 - 3000) / 2.
	PACK_LINE_MAX = 130329,
	PACK_CHARS_MAX = (PACK_LINE_MAX - 3000) / 2,
};

struct pack_limits {
	uint32_t items;      // records in a pack, 0: no limit
	size_t chars;        // the command is shorter than this
	bool strict;         // also for one record alone, for the user has set it; else that may be as long as execve() takes
	size_t room;         // bytes that execve() takes for all arguments, or 0: not known
	bool waits;          // a pack is not over before the next record is there, for the last one is spread
	bool inserts_none;   // -N0: the records are counted, and their arguments left out
	const struct template *template; // of the command, borrowed, or NULL: the record is the command
	struct template_measure measure; // of it
};

// Zeroed is an empty one; its memory is kept from one to the next.
struct pack {
	struct buf args;     // of all records
	uint32_t nargs, nitems;
	size_t chars, real;  // of the arguments, as template_measure_record() counts them
	const char *bad;     // why it cannot be run, or NULL
	uint32_t each, given; // for who spreads it: records in a job, and those that are gone
	struct pack_end { size_t size; uint32_t nargs; } *ends; // behind each record, when the limits say `waits`
	size_t ends_cap;
};

enum pack_status {
	PACK_TAKEN,
	PACK_FULL,      // take the pack first, then add again
	PACK_ALONE,     // *ret_bad says why the record cannot be an item: it is a job by itself, which fails
};

// Adds the record, of which `bad` says why it cannot be an item, or NULL. With a number of records to a pack, a bad one
// takes its place there, and makes the whole pack bad: those behind it must not move up. `seq` is the number that the job
// will have. *ret_bad lives until the next call.
enum pack_status packs_add(struct pack *pack, const struct pack_limits *limits, const struct record *record,
                          const char *bad, uint64_t seq, const char **ret_bad);

// True if the pack is over without a look at the next record.
bool packs_is_complete(const struct pack *pack, const struct pack_limits *limits);

// The job's record; borrowed from the pack.
struct record packs_record(const struct pack *pack);

// The pack's records `from` up to `to`, for one that is spread: its limits say `waits`, and it is not bad.
struct record packs_slice(const struct pack *pack, uint32_t from, uint32_t to);

// Records for each of the jobs that the last pack is spread over, as evenly as GNU parallel does.
uint32_t packs_spread(const struct pack *pack, unsigned slots);

void packs_reset(struct pack *pack);
void packs_fini(struct pack *pack);

// Measures a record that will be put together with others only when a job starts (--pack=auto). Returns true with the
// bytes that it adds in *ret_size; false if it is longer than a command may be: *ret_bad says so, until the next call.
bool packs_measure(const struct pack_limits *limits, const struct record *record, uint64_t seq, uint32_t *ret_size,
                   const char **ret_bad);

// True if a job may have so many arguments of so many bytes in all, measured like this.
bool packs_fit(const struct pack_limits *limits, uint32_t nargs, size_t size);

// The length of the command with so many arguments, of `chars` bytes in all, as GNU parallel counts it.
size_t packs_chars(const struct template_measure *measure, uint32_t nargs, size_t chars);

#endif
