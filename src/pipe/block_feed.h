// The data that jobs get on their standard input: cut into blocks (--pipe, --pipe-part), or all of it for each job (--tee).

#pragma once

#include "pipe/block.h"

// Opens what config->options name; *config is copied. Returns NULL after a message.
struct blockfeed *blockfeed_open(const struct pipe_config *config);

// When no job runs any more; frees what blocks there still are.
void blockfeed_close(struct blockfeed *feed);

// Goes on reading; blocks neither for input nor for long. With DATA_READY *ret_block is a block for a job, which is the
// caller's.
enum data_status blockfeed_step(struct blockfeed *feed, struct block **ret_block);

// Nothing more is read: jobs that get data while they run (--round-robin, --tee) get the end of file behind what they have.
// Idempotent.
void blockfeed_stop(struct blockfeed *feed);

// ---- all of it for each job (--tee): with --pipe, stdin as it comes; with --pipe-part, a file ----

// The jobs come from items: blockfeed_step() never has DATA_READY. Of a stream all jobs run at once: data flows after all of them
// were queued, and no faster than the slowest one reads. A file is opened anew for each job, so these jobs need not run at once.

// Prepares for `jobs` jobs at most, before any is queued. Returns 0; or -1 after a message if these cannot run at once, for lack
// of slots or descriptors.
int blockfeed_expect(struct blockfeed *feed, uint64_t jobs);

// To be called when all jobs are queued, numbered from 1 to `jobs`: starts the flow of data. blockfeed_step() has DATA_FULL before.
void blockfeed_begin(struct blockfeed *feed, uint64_t jobs);

// From any thread: the data as a block, the standard input of that job; block_free() when it has ended or will never start.
struct block *blockfeed_block(struct blockfeed *feed, uint64_t job);
