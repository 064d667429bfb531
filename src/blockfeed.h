// The data of --pipe and --pipe-part: cut into blocks, each the standard input of a job, kept until the job has ended.
//
// A block of --pipe is a file in memory (memfd). The bytes of stdin go into it inside the kernel, and the job reads them
// from there by itself: nobody pumps, and each attempt begins at its beginning. A part of --pipe-part is a range of a
// file, spliced into the pipe that the job reads from. Blocks have no name that could outlive fairpar.

#ifndef FAIRPAR_BLOCKFEED_H
#define FAIRPAR_BLOCKFEED_H

#include "run.h"

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
	BLOCK_END,
};

// Goes on reading; blocks neither for input nor for long.
enum block_status blockfeed_step(struct blockfeed *feed, struct record *ret_record);
int blockfeed_fd(const struct blockfeed *feed);

// ---- from any thread ----

// The block that belongs to the record of an item.
struct block *block_of(const struct record *record);

// Makes the block the standard input of the child: from its beginning, for each attempt. Returns 0, or -1 after a
// message; block_disconnect() in both cases, when the child has ended.
struct block_input {
	struct run *run;
	struct block *block;
	int fd;                  // opened for this attempt, or -1
	size_t head;             // bytes of the header that are written
	uint64_t offset, left;   // of the part
	struct pour pour;
};
int block_connect(struct block_input *input, struct run *run, struct block *block, unsigned attempt,
                  struct child_config *config);
void block_disconnect(struct block_input *input);

// Its job has ended, or will never start.
void block_free(struct block *block);

#endif
