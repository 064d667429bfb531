// A queued item as bytes: written by the thread that queues it, and read by the worker that runs it.

#ifndef FAIRPAR_CORE_ITEM_H
#define FAIRPAR_CORE_ITEM_H

#include "base/buf.h"
#include "input/input.h"

#include <stddef.h>
#include <stdint.h>

// What an earlier run made of an item, as its joblog says; see job_records_leave_out().
enum earlier_outcome {
	EARLIER_UNKNOWN,      // it is not in the log, or failed; or there is nothing to resume
	EARLIER_CHANGED,      // its command or something that it depends on has changed: the items that it emits run again, too
	EARLIER_DONE,         // it succeeded, and runs again only because its lines must come again
};

// The head of the bytes.
struct item {
	uint32_t nargs;       // arguments of the item, or of all items
	uint32_t spec : 26;   // what its job is made from: index in batch->specs
	uint32_t earlier : 2; // enum earlier_outcome
	uint32_t bad : 1;     // it cannot be run: its job fails with item_view.reason
	uint32_t added : 1;   // behind its words is the pointer to what it is made from: added_jobs.h
	uint32_t items;       // that one process gets; more than 1: a pack
	uint64_t seq;         // {#}, over the run
	uint64_t number;      // within its batch: FAIRPAR_JOB is BATCH#number
	uint64_t order;       // of its output within its batch, from 1; 0: it has no place in the order
	uint64_t queued;      // when, now_ns() time
	uint64_t from;        // seq of the job that emitted it, or 0
};

// One item, or a pack of items. After item_read() it borrows from the bytes.
struct item_view {
	struct item item;
	struct record record; // its arguments; of --pipe with the place of the block behind them
	const char *reason;   // why it cannot be run, with item.bad; else NULL
};

// Appends the item's bytes, at the next multiple of 8. Returns where they begin.
size_t item_write(struct buf *bytes, const struct item_view *view);

// Reads the `size` bytes that item_write() has appended, from which *ret_view borrows.
void item_read(struct item_view *ret_view, const void *data, size_t size);

#endif
