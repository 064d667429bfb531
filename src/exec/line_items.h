// The lines that a job writes to its stdout, as items of a batch.

#ifndef FAIRPAR_EXEC_LINE_ITEMS_H
#define FAIRPAR_EXEC_LINE_ITEMS_H

#include "exec/submission.h"
#include "input/line_buffer.h"

// From line_items_begin() to line_items_end().
struct line_items {
	struct submission submission; // its queue is NULL while nobody emits
	struct worker *worker;
	struct line_buffer line_buffer;
	struct buf held; // bytes of an attempt that may yet be taken back
	bool hold;
	bool closed;    // the run takes no more items: the rest is not looked at
	unsigned flags; // of the items: WORK_LOCAL, or 0
	uint64_t n;     // lines so far
};

// Begins the output of an attempt, whose lines become items of `queue`, submitted with `flags` (WORK_LOCAL or 0) by this worker's
// running item. With `hold` they are submitted only by line_items_end(). The queue is open, or the running item's own. `from`: seq
// of the job that writes them, or 0. line_items_end() frees what is returned.
struct line_items *line_items_begin(struct worker *worker, struct queue *queue, uint64_t from, unsigned flags, bool hold);

// Takes the lines of bytes of the stream; a line may be in several calls.
void line_items_take(struct line_items *line_items, const char *mem, size_t len);

// Adds one item that is no line of a stream.
void line_items_add(struct line_items *line_items, const char *text);

// The stream has ended: submits what is left, or with `keep` false throws away what was held. Returns how many items there were.
uint64_t line_items_end(struct line_items *line_items, bool keep);

#endif
