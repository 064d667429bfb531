// Items on their way to one queue, numbered and submitted together.

#ifndef FAIRPAR_RUN_SUBMISSION_H
#define FAIRPAR_RUN_SUBMISSION_H

#include "run/item.h"
#include "run/run.h"

enum {
	SUBMISSION_ITEMS = 256,         // submitted with one call
	SUBMISSION_BYTES = 64 * 1024,   // … and bytes
};

struct submission {
	struct queue *queue;      // open, or the running item's own
	struct batch *batch;      // its user; a reference
	uint64_t hash;            // of the batch's name; for who looks it up
	uint64_t from;            // seq of the job that emits these, or 0
	bool again;               // that job was not what the joblog has: these are not taken as done
	struct buf bytes;         // of items
	struct { size_t at, size; uint64_t number; unsigned width, flags; } items[SUBMISSION_ITEMS];
	uint32_t measured;        // with run->packs: what packs_measure() says of the record that is added next
	size_t n;
	size_t counted;           // of them, in the tally's total: an item is known before it can have ended
};

// Gives the record the next numbers of the run and of its batch and adds it, unless --resume says that it is done. `bad`:
// why it cannot be an item, or NULL. The submission must not be full.
void submission_add(struct submission *submission, const struct record *record, unsigned spec, const char *bad);

static inline bool submission_is_full(const struct submission *submission) {
	return submission->n == SUBMISSION_ITEMS || submission->bytes.len >= SUBMISSION_BYTES;
}

// Submits what is in the submission, as pool_submit() does. With SUBMIT_FULL all is still in it; with SUBMIT_CLOSED all was
// counted as never started.
enum submit_status submission_submit(struct submission *submission, struct worker *from, unsigned flags);

#endif
