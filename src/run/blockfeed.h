// The data of --pipe and --pipe-part: cut into blocks, each the standard input of a job, kept until the job has ended.
//
// A block of --pipe is a file in memory (memfd), into which the bytes of stdin go inside the kernel; a part of --pipe-part
// is a range of a file. Both are spliced into the pipe that the job reads from, from their beginning for each attempt.
// A job could read a memfd by itself, but it would see a file there: wc(1) prints other columns then, and head(1) leaves
// the rest to the next command. Blocks have no name that could outlive fairpar.

#ifndef FAIRPAR_RUN_BLOCKFEED_H
#define FAIRPAR_RUN_BLOCKFEED_H

#include "run/run.h"

struct block;

// Opens what the options name. Returns NULL after a message.
struct blockfeed *blockfeed_open(struct run *run);

// When no job runs any more; frees what blocks there still are.
void blockfeed_close(struct blockfeed *feed);

enum block_status {
	BLOCK_READY,     // *ret_record is the item of a block, borrowed until the next call
	BLOCK_AGAIN,     // not yet: call again at once
	BLOCK_WAIT,      // nothing there yet: poll blockfeed_fd() for input
	BLOCK_ENOUGH,    // there are as many blocks as may be at once: run_wake() tells when one has gone
	BLOCK_ERROR,     // reading failed, and a message says so; what was read before stays good; then BLOCK_END
	BLOCK_LOST,      // no job reads any more (--round-robin): the rest of the data is not read; then BLOCK_END
	BLOCK_END,
};

// Goes on reading; blocks neither for input nor for long.
enum block_status blockfeed_step(struct blockfeed *feed, struct record *ret_record);
int blockfeed_fd(const struct blockfeed *feed);

// Nothing more is read: jobs that wait for more blocks (--round-robin) get the end of file. Idempotent.
void blockfeed_stop(struct blockfeed *feed);

// ---- from any thread ----

// The block that belongs to the record of an item.
struct block *block_of(const struct record *record);

// Makes the block the standard input of the child, a pipe as it is in GNU parallel: from its beginning, for each attempt.
// *input must live as long as the child. Returns 0, or -1 after a message.
struct block_input {
	struct run *run;
	struct block *block;
	size_t head;             // bytes of the header that are written
	uint64_t offset, left;   // of what follows it
	struct pour pour;
};
int block_connect(struct block_input *input, struct run *run, struct block *block, struct child_config *config);

// Bytes that the joblog says were sent: as in GNU parallel, of --pipe with the header, and none of --pipe-part.
uint64_t block_sent(const struct block *block);

// Its job has ended, or will never start.
void block_free(struct block *block);

#endif
