// The data of --pipe and --pipe-part: read and cut into blocks, each the standard input of a job (block.h).

#ifndef FAIRPAR_RUN_BLOCK_FEED_H
#define FAIRPAR_RUN_BLOCK_FEED_H

#include "run/run.h"

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

#endif
