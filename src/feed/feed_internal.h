// The inside of the feeds, shared by the files of this room. Only the feeding thread, which is the event loop's, touches any of it.
//
// A function that returns -1 has printed a message. A function returns false if the pool has no room now, or takes no more items at all.

#pragma once

#include "base/list.h"
#include "exec/submission.h"
#include "feed/feed.h"
#include "input/input.h"
#include "template/packs.h"

enum {
	OUTLETS_MAX = 1024,     // most outlets of batches found in the input; for a further one the longest unused is submitted and removed
	OUTLETS_UNPACKED = 256, // most outlets if items are not packed
	OUTLET_BYTES = 2048,    // about the memory that an outlet takes without its items
	FEED_WHEN_EMPTY = 1,    // low_water of a queue for which packs are made only when it lacks them
};

// Items of one batch that were read and wait to be packed by time, in the order of the input. All zero: an empty stock.
struct stock {
	struct buf args;         // the arguments of all items
	size_t taken;            // bytes at the front of `args` whose items were taken
	struct stock_part *parts; // one for each record, in the order of the input: those from `first` to before `n` are left
	size_t first, n, cap;
	uint64_t nitems;         // items left
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
	struct submission *submission; // NULL: closed
	struct pack pack;    // being filled, if records are packed
	struct stock stock;  // items that wait to be packed, with --pack=auto
	// for a batch that is found in the input
	struct list used;    // link in outlets->used
	struct outlet *next; // the next one in the same bucket
	uint64_t hash;
	char *name;          // of the batch
};

struct outlets {
	struct list used;    // all outlets, the longest unused one first
	size_t n;
	struct outlet *buckets[OUTLETS_MAX];
};

struct feed {
	struct list link; // in feeds->active until the feed is finished
	bool is_data;                  // the feed moves the data of run->blocks; false: items
	struct input *input;           // where the items come from; NULL: from the list of `node`
	struct dag_node *node;         // of a manifest, or NULL
	struct outlet own;             // of the feed's batch. With --batch-by: of the batch "default",
	                               // whose queue is held open until the input has ended, because a pool without an open queue ends
	bool by_key;                   // --batch-by names the batch of each record
	bool waiting;                  // the feed waits until its input's descriptor is readable
	bool ended;                    // the input was read to its end
	bool joins;                    // a record may be several items of one argument each
	bool pending;                  // `record` was read, but there was no room for it yet
	struct record record;
	unsigned spec;    // of the pending record
	const char *bad;  // why the pending record cannot be an item, or NULL
};

struct feeds {
	struct list active;
	size_t n;                           // feeds of the command line
	bool full;                          // the pool had no room, and calls a hook when it has some
	bool stopped;                       // the pool takes no more items
	struct names names;                 // the names of the columns of the command line's inputs
	struct template *batch_by;          // --batch-by, or NULL
	struct source_config *file_sources; // of --batch NAME=FILE; inputs borrow them
	struct buf key;                     // scratch: an expanded --batch-by
	struct pack_limits limits;
	unsigned slots;                     // the slots that the last items are spread over; 0: the items are not spread
	size_t sharers;                     // number of unfinished packs that share these slots at the end of the input; 0 before
	struct outlets outlets;             // with --batch-by
};

// ---- feed_open.c

// Returns the limit of a batch's queued bytes: while it has that many, its input is not read.
size_t feed_high_water(const struct run *run);

// ---- feed_stock.c

// Bytes of the first `n` arguments of the record, their NULs included.
size_t record_bytes_of(const struct record *record, uint32_t n);

// Adds a copy of the record. `nitems`: how many items the record is; if several, each is one argument. `bad`: why it cannot be an item,
// or NULL.
void stock_add(struct stock *stock, const struct record *record, uint32_t nitems, uint32_t measured, const char *bad, uint64_t seq);

// Returns about how much memory the items take.
size_t stock_bytes(const struct stock *stock);

// Takes as many items as go into one process, at least one and at most `most`. The stock is not empty.
void stock_take(struct stock *stock, const struct pack_limits *limits, uint64_t most, struct stock_pack *ret_pack);

void stock_fini(struct stock *stock);

// Packs items of the outlet's stock and submits the packs, as many as its queue lacks, or with `all` all. `ended`: no more items will come. Has the
// pool call its hook when the queue lacks more. Returns false if the pool has no room now.
bool stock_submit(struct run *run, struct outlet *outlet, bool ended, bool all);

// ---- feed_route.c

// Ends the feeding: nothing more is submitted, and running jobs get no more data.
void feeds_cut_short(struct run *run);

// Submits what is in the submission. Returns false if the pool has no room: then it is still in the submission.
bool feed_submit(struct run *run, struct submission *submission);

// Returns a submission for the queue, which the submission holds open.
struct submission *feed_submission_open(struct queue *queue);

// Opens the queue of the batch of that name, and returns a submission for it; or NULL if the pool takes no more items.
struct submission *feed_submission_open_batch(struct run *run, const char *name, size_t low_water);

// Closes the queue, and frees the submission. What is in it is not submitted.
void feed_submission_close(struct run *run, struct submission *submission);

// Submits and closes the submissions of all batches found in the input; items in stocks stay there. Returns false if the pool has no room
// for one of the submissions.
bool feeds_flush_outlets(struct run *run);

// feed_flush_packs() submits the feed's unfinished packs, after its last record. Returns false if the pool has no room for them
// now: call it again. feed_count_packs() returns how many there are.
bool feed_flush_packs(struct run *run, struct feed *feed);
uint64_t feed_count_packs(const struct run *run, const struct feed *feed);

// Whether no item waits in the feed's outlets. The submission of feed->own is not looked at.
bool feed_is_empty(const struct run *run, const struct feed *feed);

// Submits packs of the stocks of the feed (--pack=auto), as many as its queues lack. Returns false if the pool has no room.
bool feed_submit_stocks(struct run *run, struct feed *feed);

// Throws away the outlets of batches found in the input. Items in their stocks and submissions count as lost.
void feeds_drop_outlets(struct run *run);

// Adds the pending record (feed->record) to the pack or submission of its batch. Returns false, and it stays pending, if the pool
// has no room now.
bool feed_record(struct run *run, struct feed *feed);
