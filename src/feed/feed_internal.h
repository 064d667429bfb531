// What the files of this directory share. Only the thread of the event loop uses it.
//
// A function that returns -1 has printed a message. Functions that submit items return false if the pool has no room now, or takes no more items.

#pragma once

#include "base/list.h"
#include "exec/submission.h"
#include "feed/feed.h"
#include "input/input.h"
#include "template/packs.h"

enum {
	OUTLETS_MAX = 1024,     // most outlets of batches found in the input; for a further outlet, the longest unused outlet submits its items and goes
	OUTLETS_UNPACKED = 256, // most outlets if items are not packed
	OUTLET_BYTES = 2048,    // about the memory that an outlet takes without its items
	FEED_WHEN_EMPTY = 1,    // low_water, in bytes, with --pack=auto: the pool asks for more packs only when none is queued
};

// Items of one batch that were read and wait to be packed (--pack=auto), in the order of the input. A zeroed stock is empty.
struct stock {
	struct buf args;         // the arguments of all items
	size_t taken;            // bytes at the front of `args` whose items were taken
	struct stock_part *parts; // one for each record, in the order of the input: parts[first] to parts[n - 1] are left
	size_t first, n, cap;
	uint64_t nitems;         // how many items are left
};

// What stock_take() has taken; borrowed until the next stock_add().
struct stock_pack {
	struct record record;
	uint32_t nitems;
	uint64_t seq;            // {#} of the first item
	const char *bad;         // why the record cannot be an item, or NULL
};

// Where the items of a batch go: into the pack or the stock, if they are packed, and from there into the submission.
struct outlet {
	struct submission *submission; // NULL: the outlet is closed
	struct pack pack;    // the pack that is being filled, if records are packed
	struct stock stock;  // items that wait to be packed, with --pack=auto
	// the members below are only for a batch that is found in the input (--batch-by)
	struct list used;    // link in outlets->used
	struct outlet *next; // the next outlet of the same bucket
	uint64_t hash;       // of `name`
	char *name;          // the name of the batch
};

struct outlets {
	struct list used;    // all outlets, the longest unused one first
	size_t n;
	struct outlet *buckets[OUTLETS_MAX];
};

struct feed {
	struct list link; // in feeds->active until the feed is finished
	bool is_data;                  // the feed moves the data of run->blocks; false: it moves items
	struct input *input;           // where the items come from; NULL: from the list of `node`
	struct dag_node *node;         // the node of a manifest that the feed is for, or NULL
	struct outlet own;             // the outlet of the feed's batch; with --batch-by, of --batch or "default",
	                               // whose queue is held open until the input has ended, because a pool without an open queue ends
	bool by_key;                   // --batch-by names the batch of each record
	bool waiting;                  // the feed waits until its input's descriptor is readable
	bool ended;                    // the input was read to its end
	bool joins;                    // a record may hold several items of one argument each
	bool pending;                  // `record` was read, but there was no room for it yet
	struct record record;
	unsigned spec;    // of the pending record: the index of its job_spec in batch->specs
	const char *bad;  // why the pending record cannot be an item, or NULL
};

struct feeds {
	struct list active;
	size_t n;                           // how many feeds the command line has
	bool full;                          // the pool had no room, and calls a hook when it has room
	bool stopped;                       // the pool takes no more items
	struct names names;                 // the names of the columns of the command line's inputs
	struct template *batch_by;          // --batch-by, or NULL
	struct source_config *file_sources; // of --batch NAME=FILE; inputs borrow them
	struct buf key;                     // scratch: an expanded --batch-by
	struct pack_limits limits;
	unsigned slots;                     // how many slots the last items are spread over; 0: the items are not spread
	size_t sharers;                     // how many unfinished packs share `slots` at the end of the input; 0 before the end
	struct outlets outlets;             // with --batch-by
};

// ---- feed_open.c

// Returns the limit of a batch's queued bytes: while this many bytes are queued, the input of the batch is not read.
size_t feed_high_water(const struct run *run);

// ---- feed_stock.c

// Returns how many bytes the first `n` arguments of the record have, with their NULs.
size_t record_bytes_of(const struct record *record, uint32_t n);

// Adds a copy of the record, which holds `nitems` items; if it holds several, each item is one argument. `measured` is the result of packs_measure().
// `bad` says why the record cannot be an item, or is NULL. `seq` is the number of the first item.
void stock_add(struct stock *stock, const struct record *record, uint32_t nitems, uint32_t measured, const char *bad, uint64_t seq);

// Returns about how many bytes of memory the items that are left take.
size_t stock_bytes(const struct stock *stock);

// Takes as many items as one process can have, at least one item and at most `most`. The stock is not empty.
void stock_take(struct stock *stock, const struct pack_limits *limits, uint64_t most, struct stock_pack *ret_pack);

void stock_fini(struct stock *stock);

// Packs items of the outlet's stock and submits the packs: with `all`, all items; else, if the queue is empty, one for each free slot and one more.
// `ended`: no more items come. If items are left, lets the pool call its hook when the queue is empty. Returns false if the pool has no room now.
bool stock_submit(struct run *run, struct outlet *outlet, bool ended, bool all);

// ---- feed_route.c

// Ends the feeding: no more items are submitted, and running jobs get no more data.
void feeds_cut_short(struct run *run);

// Submits the items in the submission. Returns false if the pool has no room: then the items stay in the submission.
bool feed_submit(struct run *run, struct submission *submission);

// Returns a submission for the queue, which the submission holds open.
struct submission *feed_submission_open(struct queue *queue);

// Opens the queue of the batch of that name, and returns a submission for it; or NULL if the pool takes no more items.
struct submission *feed_submission_open_batch(struct run *run, const char *name, size_t low_water);

// Closes the queue, and frees the submission. Items that are still in the submission are not submitted.
void feed_submission_close(struct run *run, struct submission *submission);

// Submits and closes the submissions of all batches found in the input, as far as the pool has room; items in stocks stay there.
void feeds_flush_outlets(struct run *run);

// feed_flush_packs() submits the feed's unfinished packs, after its last record. Returns false if the pool has no room for them
// now: call it again. feed_count_packs() returns how many unfinished packs there are.
bool feed_flush_packs(struct run *run, struct feed *feed);
uint64_t feed_count_packs(const struct run *run, const struct feed *feed);

// Returns true if no item waits in the feed's outlets. Does not look into the submission of feed->own.
bool feed_is_empty(const struct run *run, const struct feed *feed);

// Submits packs of the feed's stocks (--pack=auto), as many packs as the queues lack. Returns false if the pool has no room.
bool feed_submit_stocks(struct run *run, struct feed *feed);

// Throws away the outlets of batches found in the input. Items in their stocks and submissions count as lost.
void feeds_drop_outlets(struct run *run);

// Adds the pending record (feed->record) to the pack or submission of its batch. Returns false, and the record stays pending, if the
// pool has no room now.
bool feed_record(struct run *run, struct feed *feed);
