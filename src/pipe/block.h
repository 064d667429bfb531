// A block is the standard input of one job: a part of the data of --pipe or --pipe-part, or with --tee all of the data. A block is
// kept until its job has ended.
//
// A block of --pipe is in memory, a block of --pipe-part is a range of a file. Both are written into a pipe that the job reads,
// from their beginning for each attempt. A job gets no file as its standard input, because some programs treat a file differently:
// wc(1) pads its columns by the size of the file, and head(1) leaves the rest of a file to the next command. Only with --cat is a block
// written to a file, whose name the job gets: a memfd, since no file may outlive fairpar.
//
// A function that fails has printed a message, unless its comment names errno: failures happen in other threads, or while jobs run.

#pragma once

#include "base/list.h"
#include "base/atomic.h"
#include "base/buf.h"
#include "base/sync.h"
#include "cli/options.h"
#include "input/input.h"
#include "process/child.h"

#define BLOCK_NOT_KEPT "cannot keep a block in memory"

enum { PIPE_BYTES = 1024 * 1024 }; // the most bytes that a pipe may hold without privileges (pipe(7))

// The result of a call that reads more data.
enum data_status {
	DATA_READY, // there is a block
	DATA_AGAIN, // not yet: call again at once
	DATA_WAIT,  // there is no data yet: poll stdin
	DATA_FULL,  // no room for more blocks: config->wake_fd tells when there is room
	DATA_ERROR, // reading failed, and a message says so; data that was read before may still be returned, then DATA_END
	DATA_LOST,  // no job reads any more: the rest of the data is not read; the next call returns DATA_END
	DATA_END,
};

// What the functions here need to know of the run. The pointers outlive every object that is made with the config.
struct pipe_config {
	const struct options *options;
	unsigned slots;          // jobs that run at once, at most
	bool slots_by_fds;       // the limit of descriptors allows no more slots
	bool slots_shared;       // a pool, an outer run or make's jobserver sets the number of slots
	unsigned long nofile;    // the limit of descriptors
	const char *temp_dir;    // directory for bytes that memory has no room for
	int wake_fd;             // wakes the event loop (wakeup_post()), when there is room for more data
	atomic_bool *trouble;    // set, after a message, if a job could not get all of its data
};

// All blocks of a run.
struct blocks {
	const struct pipe_config *config;
	bool named;              // --cat, --fifo: jobs get a file name: of the block's file, or with --round-robin /dev/stdin
	size_t most;             // how many blocks there may be at once
	mutex lock;              // guards the members below
	struct list all;
	size_t n;
	bool room_wanted;        // block_new() has returned NULL: wake the event loop when a block is freed
};

struct block {
	struct list link;        // of blocks->all
	struct blocks *blocks;
	int fd;                  // for --cat: the file whose name the job gets; or -1
	struct file_part *part;  // the file that has the data behind the header, or NULL
	struct consumer *consumer; // for --round-robin and --tee: gives the job the data as it comes; owned, or NULL
	const char *path;        // for --tee with a file: its path, which each attempt opens; or NULL
	const char *head;        // the header, borrowed
	size_t head_len;
	struct buf bytes;        // the data behind the header; empty if the data is a part of a file
	uint64_t offset, size;   // where the data behind the header begins in the file (in `bytes`: 0), and how long it is
	size_t head_at;          // how many bytes of the header the present attempt has got
	uint64_t at;             // how many bytes of the data behind the header the present attempt has got
	struct stdin_writer stdin_writer; // writes the block for the present attempt
};

// A file of --pipe-part, or a large file that is stdin.
struct file_part {
	const char *path;
	bool is_stdin;           // the file is the stdin of --pipe
	int fd;
	char *head;              // the header, which is put in front of each block
	size_t head_len;
	uint64_t size;
	uint64_t from;           // where the next block begins
	uint64_t scan;           // how far the end of the next block has been searched for
	uint64_t end;            // the end of the next block, or 0: not found yet
	uint64_t base;           // the offset in the file of the first byte in blockfeed.data, where the end is searched for
};

// ---- from the event loop ----

// Returns a block without bytes yet, which block_free() frees; or NULL if there are `most` blocks: config->wake_fd tells when one of
// them was freed.
struct block *block_new(struct blocks *blocks);

// Sets *ret_record to the item of the block's job: the name of the block, or "". Borrowed from `buf`.
void block_record(struct block *block, struct buf *buf, struct record *ret_record);

// ---- from any thread ----

// Makes the block the standard input of the child that `config` describes, from the block's beginning: a pipe, as in GNU parallel,
// or a file. Returns 0, or -1 after a message; after 0 block_disconnect() follows when the child has ended.
int block_connect(struct block *block, struct child_config *config);
void block_disconnect(const struct block *block, struct child_config *config);

// Returns the number of bytes that the joblog says were sent to the job. As in GNU parallel, it includes the header, and is 0 for
// --pipe-part. To be called by the job's worker.
uint64_t block_sent(const struct block *block);

// Frees the block: its job has ended, or will never start.
void block_free(struct block *block);

// ---- dealer.c ----

// A dealer gives data to running jobs as the data comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// The event loop deals out portions of the data: to the job that has waited longest, or to all jobs. The worker of a job writes the
// job's portions into the pipe, and sleeps (wakeup_open()) while the job has none. A job has at most two portions, the present one
// and the next: so memory is bounded, and slow jobs get less. A job that has stopped reading gets no more portions; its portions
// that are still whole go to other jobs.

struct dealer;
struct portion; // some bytes of the data, with counted references

// A job that gets data from a dealer.
struct consumer {
	struct list link;     // in dealer->consumers until consumer_leave(); guarded by the dealer's lock
	struct dealer *dealer;
	struct stdin_writer stdin_writer; // writes the job's data into its pipe
	// used only by the worker of the job
	bool asked;           // the worker was told to wait for stdin_writer.more_fd
	uint64_t sent;        // how many bytes the job has been given so far
	struct portion *mine; // the portion that is being written, from `at` on; or NULL
	size_t at;
	// guarded by the dealer's lock
	struct portion *next; // the portion that waits to be written, or NULL
	bool waiting;         // the worker sleeps until stdin_writer.more_fd wakes it
};

// Makes a dealer. The caller frees it with dealer_destroy() when all its consumers were freed.
struct dealer *dealer_create(const struct pipe_config *config);
void dealer_destroy(struct dealer *dealer);

// Makes a portion of the bytes, and empties the buffer. The caller has the only reference, and gives it up with portion_unref().
struct portion *portion_of_bytes(struct buf *bytes);
void portion_unref(struct portion *portion); // NULL-safe

// From the event loop:

// Adds a consumer for a job, with its first portion or NULL, which the dealer owns from then on. Returns the consumer, which consumer_free()
// frees; or NULL with errno if the call fails: then the caller still owns the portion.
struct consumer *dealer_add(struct dealer *dealer, struct portion *portion);

// True if one of the jobs that were added has not stopped reading.
bool dealer_has_readers(struct dealer *dealer);

enum deal {
	DEAL_OK,     // the portion was dealt out: the dealer owns it now
	DEAL_FULL,   // there is no room now: config->wake_fd tells when there is room
	DEAL_NOBODY, // no job reads
};

// Deals out the portion to the job that has waited longest of the jobs with room; with `in_order` only to the job that has waited
// longest of all. After DEAL_OK the dealer owns the portion; else the caller still owns it.
enum deal dealer_deal(struct dealer *dealer, struct portion *portion, bool in_order);

// Deals out the portion to all jobs, if all of them have room.
enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion);

// To be called when there is nothing more to deal out for now: wakes the workers that sleep although a small portion waits for them.
void dealer_wake(struct dealer *dealer);

// Deals out again the whole portions of jobs that stopped reading (consumer_leave()). Returns DEAL_OK when no such portion is left.
enum deal dealer_deal_left(struct dealer *dealer);

// Says that no more portions come: each job gets the end of file behind the portions that it has. Idempotent.
void dealer_end(struct dealer *dealer);

// From any thread:

// To be called when the consumer's job has stopped reading, has ended or will never start: its portions that are still whole go to
// other jobs. Idempotent; not to be called while the job's worker writes.
void consumer_leave(struct consumer *consumer);
void consumer_free(struct consumer *consumer); // consumer_leave(), and frees `consumer`, which may be NULL

// ---- block_feed.c ----

// The data that jobs get on their standard input: cut into blocks (--pipe, --pipe-part), or all of it for each job (--tee).

// Opens the data that config->options name; *config is copied. Returns NULL after a message.
struct blockfeed *blockfeed_open(const struct pipe_config *config);

// Frees the feed, and the blocks that are left. To be called when no job runs any more.
void blockfeed_close(struct blockfeed *feed);

// Reads on, without waiting for input, and for a short time only. With DATA_READY *ret_block is a block for a job, which the
// caller owns.
enum data_status blockfeed_step(struct blockfeed *feed, struct block **ret_block);

// Ends the reading: jobs that get data while they run (--round-robin, --tee) get the end of file behind their last data. Idempotent.
void blockfeed_stop(struct blockfeed *feed);

// ---- all of the data for each job (--tee): with --pipe, stdin as it comes; with --pipe-part, a file ----

// The jobs come from items: blockfeed_step() never returns DATA_READY. The jobs that read a stream all run at once: data flows after
// all of them were queued, and no faster than the slowest job reads. A file is opened anew for each job, so jobs that read a file
// need not run at once.

// Prepares for at most `jobs` jobs, before any job is queued. Returns 0; or -1 after a message if that many jobs cannot run at once,
// for lack of slots or descriptors.
int blockfeed_expect(struct blockfeed *feed, uint64_t jobs);

// To be called when all jobs are queued, numbered from 1 to `jobs`: starts the flow of data. Before this call, blockfeed_step()
// returns DATA_FULL.
void blockfeed_begin(struct blockfeed *feed, uint64_t jobs);

// Returns all the data as a block, the standard input of that job. The caller frees it by block_free() when the job has ended or
// will never start. From any thread.
struct block *blockfeed_block(struct blockfeed *feed, uint64_t job);
