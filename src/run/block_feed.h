// The data of --pipe and --pipe-part: read and cut into blocks, each the standard input of a job (block.h).

#ifndef FAIRPAR_RUN_BLOCK_FEED_H
#define FAIRPAR_RUN_BLOCK_FEED_H

#include "run/block.h"

// Opens what the options name. Returns NULL after a message.
struct blockfeed *blockfeed_open(struct run *run);

// When no job runs any more; frees what blocks there still are.
void blockfeed_close(struct blockfeed *feed);

// Goes on reading; blocks neither for input nor for long. With DATA_READY *ret_record is the item of a block, borrowed until
// the next call.
enum data_status blockfeed_step(struct blockfeed *feed, struct record *ret_record);

// Nothing more is read: jobs that wait for more blocks (--round-robin) get the end of file. Idempotent.
void blockfeed_stop(struct blockfeed *feed);

#endif
