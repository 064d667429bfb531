// A queued item as bytes: what is written where it is queued, and read where it runs.

#ifndef FAIRPAR_RUN_ITEM_H
#define FAIRPAR_RUN_ITEM_H

#include "base/buf.h"
#include "input/input.h"

#include <stddef.h>
#include <stdint.h>

// What an earlier run made of an item, as its joblog says; see job_records_leave_out().
enum earlier_outcome {
	EARLIER_UNKNOWN,      // it is not in the log, or failed; or there is nothing to resume
	EARLIER_CHANGED,      // it was another one, or what it depends on runs again: so does what it emits
	EARLIER_DONE,         // it succeeded, and runs again only for what it emits
};

// The head of the bytes.
struct item {
	uint32_t nargs;       // of several items: how many are left, as struct work.items has it
	uint32_t spec : 26;   // what its job is made from: index in batch->specs
	uint32_t earlier : 2; // enum earlier_outcome
	uint32_t bad : 1;     // it cannot be run: its job fails with item_view.reason
	uint32_t stamped : 1; // a struct stamp follows
	uint32_t added : 1;   // behind its words is the pointer to what it is made from: added_jobs.h
	uint32_t measured : 1; // item_view.measured and .items follow
	uint64_t seq;         // {#}, over the run
	uint64_t number;      // within its batch: FAIRPAR_JOB is BATCH#number
	uint64_t order;       // of its output within its batch, from 1; 0: it has no place in the order
};

// What only subscribers want to know of an item.
struct stamp {
	uint64_t queued;      // when, now_ns() time
	uint64_t from;        // seq of the job that emitted it, or 0
};

// All that an item is, or several of one argument each, with numbers that follow one another, in one; borrowed from the bytes
// when it was read.
struct item_view {
	struct item item;
	struct stamp stamp;   // zero unless item.stamped
	struct record record; // its arguments; of --pipe with the place of the block behind them
	const char *reason;   // why it cannot be run, with item.bad; else NULL
	uint32_t measured;    // what packs_measure() said of the record, with item.measured; else 0
	uint32_t items;       // that were written, with item.measured; else 0
};

// Appends the item's bytes, at the next multiple of 8. Returns where they begin.
size_t item_write(struct buf *bytes, const struct item_view *view);

// Reads the `size` bytes that item_write() has appended; what is in *ret_view is borrowed from them. Of several items those that
// are left.
void item_read(struct item_view *ret_view, const void *data, size_t size);

// Bytes of the first `n` arguments of the record, their NULs included.
size_t record_bytes_of(const struct record *record, uint32_t n);

// Leaves out the first `n` of several items.
void item_skip(struct item_view *view, uint32_t n);

#endif
