// A block: some of the data of --pipe or --pipe-part, the standard input of one job, kept until that has ended. With --tee all
// of it.
//
// A block of --pipe is in memory, a part of --pipe-part is a range of a file. Both are written into the pipe that the job reads
// from, from their beginning for each attempt. Only with --cat is a block a file, in memory (memfd) and without a name that could
// outlive fairpar: a job that reads a file prints other columns (wc(1)), and leaves the rest to the next command (head(1)).

#pragma once

#include "base/list.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "cli/options.h"
#include "input/input.h"
#include "process/child.h"

#define BLOCK_NOT_KEPT "cannot keep a block in memory"

enum { PIPE_BYTES = 1024 * 1024 }; // what a pipe may hold at most without privileges (pipe(7))

// The result of a call that reads more data.
enum data_status {
	DATA_READY, // there is a block
	DATA_AGAIN, // not yet: call again at once
	DATA_WAIT,  // nothing there yet: poll stdin
	DATA_FULL,  // no room for more: config->wake_fd tells when there is some
	DATA_ERROR, // reading failed, and a message says so; what was read before stays good; then DATA_END
	DATA_LOST,  // no job reads any more: the rest of the data is not read; then DATA_END
	DATA_END,
};

// What the data of a run's jobs is read for. The pointers outlive what is made with it.
struct pipe_config {
	const struct options *options;
	unsigned slots;          // jobs that run at once, at most
	bool slots_by_fds;       // there are no more because of the limit of descriptors
	bool slots_shared;       // there are no more because a pool, or the run or make that this one runs in, has no more
	unsigned long nofile;    // that limit
	const char *temp_dir;    // for bytes that memory has no room for
	int wake_fd;             // wakes the event loop (wakeup_post()), when there is room for more data
	atomic_bool *trouble;    // set, after a message, if a job could not get all of its data
};

// All blocks of a run.
struct blocks {
	const struct pipe_config *config;
	bool named;              // --cat, --fifo: jobs get the name of the block
	size_t most;             // at once; changed only before the first
	mutex lock;              // guards what follows
	struct list all;
	size_t n;
	bool room_wanted;             // the reader waits until one has gone
};

struct block {
	struct list link;        // of blocks->all
	struct blocks *blocks;
	int fd;                  // of --cat: the file that its job gets the name of; or -1
	struct file_part *part;  // the file that it is a part of, or NULL
	struct consumer *consumer; // of --round-robin (this block first) and --tee: what its job gets as it comes; or NULL
	const char *path;        // of --tee with a file: each attempt opens it; or NULL
	const char *head;        // the header, borrowed
	size_t head_len;
	struct buf bytes;        // what follows it, if it is no part
	uint64_t offset, size;   // of what follows the header, in the file; in `bytes` the offset is 0
	size_t head_at;          // how much of the header the attempt's child has got, and
	uint64_t at;             // of what follows it
	struct stdin_writer stdin_writer; // of the attempt
};

// A file of --pipe-part, or a large one that is stdin.
struct file_part {
	const char *path;
	bool is_stdin;           // of --pipe
	int fd;
	char *head;              // the header, which is before each block
	size_t head_len;
	uint64_t size;
	uint64_t from;           // where the next block begins
	uint64_t scan;           // where its end is looked for
	uint64_t end;            // which was found, or 0
	uint64_t base;           // where what was read begins
};

// ---- from the event loop ----

// Blocks of which there are at most so many at once. `named`: jobs get their names, in place of a pipe.
void blocks_init(struct blocks *blocks, const struct pipe_config *config, bool named, size_t most);
// When no job runs any more; frees what blocks there still are.
void blocks_fini(struct blocks *blocks);

// A block without bytes yet, which block_free() frees; or NULL if there are as many as may be: config->wake_fd tells when one has gone.
struct block *block_new(struct blocks *blocks);

// Makes the item of the block: its name, or "". Borrowed from `buf`.
void block_record(struct block *block, struct buf *buf, struct record *ret_record);

// As read(2) from stdin, but EAGAIN where that would wait.
ssize_t read_now(char *to, size_t want);

// ---- from any thread ----

// Makes the block the standard input of the child that `config` describes, from the block's beginning: a pipe, as in GNU parallel,
// or a file. Returns 0, or -1 after a message; after 0 block_disconnect() follows when the child has ended.
int block_connect(struct block *block, struct child_config *config);
void block_disconnect(const struct block *block, struct child_config *config);

// Bytes that the joblog says were sent: as in GNU parallel, of --pipe with the header, and none of a file that jobs read
// by themselves. By the job's worker.
uint64_t block_sent(const struct block *block);

// Frees the block: its job has ended, or will never start.
void block_free(struct block *block);

// ---- dealer.c ----

// Data that goes to running jobs as it comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// The event loop deals out portions of it: to the job whose turn it is, or to all jobs. The worker of a job writes the job's
// portions into the pipe, and sleeps (base/wakeup.h) while there are none. A job has two portions at most, the one being written
// and the next: so memory is bounded, and slow jobs get less. A job that has stopped reading gets nothing more; its portions of
// which nothing was written go to other jobs.

struct dealer;
struct portion; // some bytes, with counted references

// A job that is given data.
struct consumer {
	struct list link;     // of dealer->turns until it has left; guarded by the dealer's lock
	struct consumer *older; // the event loop's list of all
	struct dealer *dealer;
	struct stdin_writer stdin_writer; // writes the job's data into its pipe
	bool asked;           // the next three are its worker's own: it was told to wait for stdin_writer.more_fd
	uint64_t sent;        // bytes that its job has been given so far
	struct portion *mine; // is being written, from `at` on; or NULL
	size_t at;
	struct portion *next; // waits, or NULL; this and what follows is guarded by the lock
	bool waiting;         // is to be woken by stdin_writer.more_fd
	bool gone;
};

// The caller frees it with dealer_destroy(), and with it all consumers, when no job runs any more.
struct dealer *dealer_create(const struct pipe_config *config);
void dealer_destroy(struct dealer *dealer);

// A portion with one reference, the caller's: what is in the buffer, which is empty then.
struct portion *portion_of_bytes(struct buf *bytes);
void portion_unref(struct portion *portion); // or NULL

// From the event loop:

// One more job, and its first portion, or NULL. The dealer owns both. Returns NULL with errno; the portion is
// the caller's then.
struct consumer *dealer_add(struct dealer *dealer, struct portion *portion);

// How many of the jobs that were added have not stopped reading.
unsigned dealer_readers(struct dealer *dealer);

enum deal {
	DEAL_OK,     // the portion is dealt out, and the dealer's now
	DEAL_FULL,   // there is no room now: config->wake_fd tells when there is some
	DEAL_NOBODY, // no job reads
};

// Deals out the portion to the job that has waited longest of those with room; with `in_order` only to the job that has waited
// longest of all. The portion is the dealer's with DEAL_OK, else still the caller's.
enum deal dealer_deal(struct dealer *dealer, struct portion *portion, bool in_order);

// Deals out the portion to all jobs, once all have room.
enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion);

// To be called when there is nothing more to deal out for now: wakes the workers that sleep though they have a small portion.
void dealer_wake(struct dealer *dealer);

// Deals out again the portions of jobs that stopped reading (consumer_leave()). Returns DEAL_OK when none of them is left.
enum deal dealer_deal_left(struct dealer *dealer);

// No more portions come: all jobs get the end of file behind what they have. Idempotent.
void dealer_end(struct dealer *dealer);

// From any thread:

// To be called when the consumer's job has stopped reading, has ended or will never start: its portions of which nothing was
// written go to other jobs. Idempotent; not while its worker writes.
void consumer_leave(struct consumer *consumer);

// ---- block_feed.c ----

// The data that jobs get on their standard input: cut into blocks (--pipe, --pipe-part), or all of it for each job (--tee).

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
