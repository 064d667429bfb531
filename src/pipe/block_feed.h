// The data that jobs get on their standard input: cut into blocks (--pipe, --pipe-part), or all of it for each job (--tee).

#ifndef FAIRPAR_PIPE_BLOCK_FEED_H
#define FAIRPAR_PIPE_BLOCK_FEED_H

#include "pipe/block.h"

// ---- block_feed.c ----

// Opens what config->options name; *config is copied. Returns NULL after a message.
struct blockfeed *blockfeed_open(const struct pipe_config *config);

// When no job runs any more; frees what blocks there still are.
void blockfeed_close(struct blockfeed *feed);

// Goes on reading; blocks neither for input nor for long. With DATA_READY *ret_record is the item of a block, borrowed until
// the next call.
enum data_status blockfeed_step(struct blockfeed *feed, struct record *ret_record);

// Nothing more is read: jobs that wait for more blocks (--round-robin) get the end of file. Idempotent.
void blockfeed_stop(struct blockfeed *feed);

// ---- tee.c ----

// The data of --tee: all of it to every job. With --pipe, stdin as it comes; with --pipe-part, a file.
//
// The jobs come from items. Of a stream all jobs run at once: data flows after all of them were queued, and no faster than the
// slowest one reads. A file is opened anew for each job, so these jobs need not run at once.

struct tee;

// Opens what the options name. Returns NULL after a message.
struct tee *tee_open(const struct pipe_config *config);
// When no job runs any more.
void tee_close(struct tee *tee);

// ---- from the event loop ----

// Prepares for `jobs` jobs at most, before any is queued. Returns 0; or -1 after a message if these cannot run at once, for lack
// of slots or descriptors.
int tee_expect(struct tee *tee, uint64_t jobs);

// To be called when all jobs are queued, numbered from 1 to `jobs`: starts the flow of data.
void tee_begin(struct tee *tee, uint64_t jobs);

// Passes on some data; blocks neither for input nor for long. DATA_FULL also before tee_begin(). Never DATA_READY, for the jobs
// come from items.
enum data_status tee_step(struct tee *tee);

// Nothing more is read: jobs get the end of file behind what they have. Idempotent.
void tee_stop(struct tee *tee);

// ---- from any thread ----

// The data as a block, the standard input of that job; block_free() when it has ended or will never start.
struct block *tee_block(struct tee *tee, uint64_t job);

#endif
