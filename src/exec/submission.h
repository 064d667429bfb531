// Items on their way to one queue, numbered and submitted together.

#pragma once

#include "base/line_buffer.h"
#include "state/job_state.h"
#include "engine/pool.h"

enum {
	SUBMISSION_ITEMS = 256,         // the most items that are submitted with one call
	SUBMISSION_BYTES = 48 * 1024,   // a submission of this many bytes takes no further item, so that it fits into a chunk of the queue
};

// Appends the item's bytes, at the next multiple of 8. Returns where they begin.
size_t item_write(struct buf *bytes, const struct item_view *view);

// Reads the `size` bytes that item_write() has appended, from which *ret_view borrows.
void item_read(struct item_view *ret_view, const void *data, size_t size);

struct submission {
	struct queue *queue;      // the queue of the items; open, because somebody holds it open, or the running item belongs to it
	struct batch *batch;      // the batch of the queue; the submission holds a reference
	struct submission *next;  // --onall: the submission of the next machine, which gets the same items; or NULL
	uint64_t from;            // seq of the job that emits the items, or 0
	bool again;               // job `from` is certainly not in the joblog (RESUME_NEW): --resume does not leave out its items
	struct buf bytes;         // the items, as item_write() writes them
	struct work *works;       // one for each of the items, in the same order; submission_offer() sets their `data` and `flags`
	size_t n, cap;            // of `works`
	size_t nitems;            // sum of works[].turns: each of `works` is an item, or a pack of several items
	uint64_t queued;          // item.queued of the next item: when the first item was added; now, if a job emits the items, as the job may be slow
	size_t counted;           // how many of `nitems` publish_queued() has counted: an item is counted before it can end
};

// What an item is made from.
struct new_item {
	const struct record *record; // its arguments, which are copied
	unsigned spec;            // index in batch->specs of the spec of its job
	const char *bad;          // why the record cannot be an item, or NULL
	uint32_t items;           // how many items the record is a pack of; 0 or 1: it is no pack
	uint64_t seq;             // number of the first item of a pack, if publish_queued() has counted the items; 0: the run's next number
	struct block *block;      // the standard input of its job, or NULL
	struct added_job *added;  // a job of --add, whose id submission_add() sets; or NULL
};

// Gives the item the next numbers of the run and of its batch, and adds the item. Returns false if --resume finds the item done: the item is not
// added, and the caller keeps its block and added job. The submission must not be full.
bool submission_add(struct submission *submission, const struct new_item *new);

// Frees the memory; the submission is empty then.
void submission_fini(struct submission *submission);

static inline bool submission_is_full(const struct submission *submission) {
	return submission->n == SUBMISSION_ITEMS || submission->bytes.len >= SUBMISSION_BYTES;
}

// Submits all items of the submission, as pool_submit() does with `from` (the worker whose running item adds them, or NULL) and `flags`. After
// SUBMIT_FULL the submission still has its items; else it is empty. After SUBMIT_CLOSED, and after SUBMIT_OK if the batch was cancelled, all items
// were counted as never started.
enum submit_status submission_submit(struct submission *submission, struct worker *from, unsigned flags);

// submission_submit() in two steps, for a caller with a lock: submission_offer() only submits; submission_finish(), without the lock, does what
// follows from the status that submission_offer() has returned.
enum submit_status submission_offer(struct submission *submission, struct worker *from, unsigned flags) FP_NODISCARD;
void submission_finish(struct submission *submission, enum submit_status status);

// ---- the lines that a job writes to its stdout, as items of a batch

// The output of one attempt whose lines become items, from line_items_begin() to line_items_end().
struct line_items {
	struct submission submission; // of the items
	struct worker *worker; // its running item submits the items
	struct line_buffer line_buffer;
	bool hold;      // the output stays in line_buffer until the attempt has ended, because it is discarded if the attempt fails
	bool closed;    // the run takes no more items: the rest of the output is ignored
	unsigned flags; // of the items: WORK_LOCAL, or 0
	uint64_t n;     // lines so far
};

// Begins the output of an attempt, whose lines become items of `queue`, submitted with `flags` (WORK_LOCAL or 0) by this worker's
// running item. With `hold` they are submitted only by line_items_end(). The queue must be open, or the running item's. `from`: seq
// of the job that writes the lines, or 0. line_items_end() frees what is returned.
struct line_items *line_items_begin(struct worker *worker, struct queue *queue, uint64_t from, unsigned flags, bool hold);

// Takes bytes of the job's stdout; a line may come in several calls.
void line_items_take(struct line_items *line_items, const char *mem, size_t len);

// Adds one item, a path that glob_expand() has found, instead of a line of stdout.
void line_items_add(void *line_items, const char *text); // a struct line_items

// Ends the output: submits the rest of the items, or with `keep` false discards what was held. Returns how many items there were.
uint64_t line_items_end(struct line_items *line_items, bool keep);
