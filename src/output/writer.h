// What becomes of a job's output: spooled (in memory, then on disk) and written to stdout and stderr in the promised
// order, whole: grouped, line by line, in input order, tagged.
//
// Every byte that a job wrote is written, or its loss is an error of the run; the output of a job is never mixed, cut or
// reordered (docs/design.md, "What is promised").
//
// One thread at a time has the turn to write. A worker that finds it taken leaves its output with those that wait for
// their turn and goes on with its next job; a worker that has it never blocks on a pipe or a socket: what these do not
// take at once, and long outputs, are left to a thread that is started when it is first needed. So a slow reader holds
// up no slot.
//
// Held output lies in memory up to `spool_mem`, then in one unlinked file in `spool_dir`. When that file cannot be
// opened or written:
//   1. a job that may be written now, while no other job is being written, is passed straight through from then on (what was
//      written is not taken back by spool_reset());
//   2. any other job waits, and its pipe is not read, as long as a job can make room: one that is being written, or one that
//      runs (its spool is open and not suspended) and does not wait itself;
//   3. else its further output is lost: `failed` is called with stream 2.
// When a job ends, the output in the block of its spool is held even beyond the bound; while such a block is held, jobs that have
// not written yet have to wait with their first output.
//
// The caller ignores or blocks SIGPIPE.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// How one job is shown. Jobs of all modes live beside each other in a run, and in a queue: what is written of a job at once
// (WRITER_GROUP: all of it, WRITER_LINE_BUFFER: whole lines) is never cut by another job's output.
enum writer_mode {
	WRITER_GROUP,        // a job's stdout, then its stderr, when it has ended
	WRITER_LINE_BUFFER,  // whole lines as they come (a line ends with a newline), the rest of the last line when the job has
	                   // ended; with keep_order only while the job is the oldest of its queue: before, its lines are held
	WRITER_LATEST,       // when a job has ended: its last line, of either stream, or the last 8 KiB of that line, on stdout, and nothing else,
	                   // written as with WRITER_GROUP
};

struct writer_config {
	bool keep_order;          // output in the order of the jobs' numbers within each queue (batch)
	size_t spool_mem;         // bytes of held output in memory, over all jobs; beyond it unlinked files
	const char *spool_dir;
	int out_fd, err_fd;       // 1 and 2
	// Called once for each stream, at its first failure to write: stream 0 stdout, 1 stderr, 2 spool; errno in `error`. Any
	// thread, no lock held. The caller should say nothing about EPIPE on stdout. Later output to that stream is discarded;
	// the other stream is still written.
	void (*failed)(void *arg, int stream, int error);
	// Called with the receipts of jobs, one behind the other, once all of their output has been written (or has failed).
	// Any thread, but one at a time; no lock held.
	void (*written)(void *arg, const char *receipts, size_t len);
	// Called when a job has to wait until its output is read (`stalls`), and when it goes on; `job` is that of spool_set_job(). On
	// the job's thread, no lock held. May be NULL.
	void (*stalls)(void *arg, void *job, bool stalls);
	void *arg;
};

struct writer;       // the writer, one for the run
struct output_queue; // of one batch: its jobs' outputs, to be written in their order
struct spool;        // the captured output of one job, all its attempts and steps

// Copies the config, but for the name of the directory, which is borrowed. The caller ends it with writer_destroy().
struct writer *writer_create(const struct writer_config *config);
// Writes what is still held, after the last spool was finished, and frees the writer. *ret_unread: how many bytes were not
// written, because nobody read them before write_limit(). Returns 0, or -1 if anything was lost since the start.
int writer_destroy(struct writer *writer, uint64_t *ret_unread) FP_NODISCARD;

// Begins an order of its own for a batch; without keep_order all batches share one order. The caller closes the queue after its
// last spool_finish(). The writer owns the queue, and frees it when it was closed and all of it is written.
struct output_queue *output_queue_open(struct writer *writer);
void output_queue_close(struct writer *writer, struct output_queue *queue);

// All of `queue` is written behind all of `before`, which was opened earlier and is followed by no other queue. To be called
// before either has a spool or is closed. Without keep_order it does nothing.
void output_queue_follow(struct writer *writer, struct output_queue *queue, struct output_queue *before);

// Opens the spool of the job with number `order` (from 1, without gaps) in its queue, to be shown as `mode` says. If
// `queue` is NULL, the job has no rank in the order, and waits for nobody. A spool costs next to nothing until a byte
// comes. `tag` (copied, `tag_len` bytes), if not NULL, is put in front of every line of both streams, as GNU parallel
// does: a carriage return ends a line too, an empty output has no tag, a last line without a newline gets none. Memory of
// finished spools is used again. A spool is used by one thread at a time.
struct spool *spool_open(struct writer *writer, struct output_queue *queue, uint64_t order, enum writer_mode mode,
                         const char *tag, size_t tag_len);

// Reads what is there from the non-blocking pipe (stream 0 or 1) into the spool, or passes it right through. Returns what
// output_reader.readable of process/child.h does: bytes taken, 0 at end, -1 with errno. Blocks in two cases only: the job
// streams live and the reader of stdout is slow, or the disk is full (see above).
ssize_t spool_readable(struct spool *spool, int stream, int fd);

// Adds bytes to a stream, as if the job had written them.
void spool_add(struct spool *spool, int stream, const void *mem, size_t len);

// Adds text of fairpar's own to what goes to stdout: on a terminal its control bytes are escaped.
void spool_add_shown(struct spool *spool, const char *mem, size_t len);

// Says that the next step of the job begins: spool_reset() does not take back what was written so far.
void spool_mark(struct spool *spool);

// Says, from any thread, that the job is alone: nothing else runs or will be written before it, and no retry will take its
// output back. WRITER_GROUP then passes a stdout of more than some 24 KiB straight through, and nobody else writes until the
// job has ended. For WRITER_LINE_BUFFER it means nothing.
void spool_set_live(struct spool *spool);

// Says for config.stalls which job's attempt fills the spool from now on; NULL: the attempt has ended.
void spool_set_job(struct spool *spool, void *job);

// Throws away what was written since the last mark, because the next attempt begins. What WRITER_LINE_BUFFER has
// already passed on is not taken back.
void spool_reset(struct spool *spool);

// Says that the job has no worker until its next attempt or step. If it has the turn to write, it gives the turn up. Until the next
// call with this spool, the job does not count as one that can make room in the file of held output.
void spool_suspend(struct spool *spool);

// With WRITER_GROUP, for a job that has ended and was not live: puts `before` in front of each line and its tag, and
// `after` before its end, which the last line gets if it has none. For WRITER_LINE_BUFFER it means nothing.
void spool_frame_lines(struct spool *spool, const char *before, const char *after);

// Ends the last line of the stream, if its newline is missing; for a job that has ended and was not live.
void spool_complete(struct spool *spool, int stream);

// Puts the last line that the job has written so far, of either stream (a carriage return ends one, too), into `text` of `size`
// bytes, without its end; `tagged`: behind the tag. Of a line of more than 8 KiB, only the last 8 KiB. Returns the length, cut
// to the size, or 0 if there is no line. From any thread, until spool_finish(). Does not wait for a reader.
size_t spool_last_line(struct spool *spool, bool tagged, char *text, size_t size);

// Returns the bytes of the stream so far, without those taken back by spool_reset().
uint64_t spool_bytes(const struct spool *spool, int stream);

// Appends the last `n` bytes of the stream, at most 8 KiB. For WRITER_GROUP, without those that were already passed on to the reader.
void spool_tail(const struct spool *spool, int stream, size_t n, struct buf *buf);

// Sets what config.written() gets when this job's output is written (copied). For a job that has ended, right before
// spool_finish().
void spool_set_receipt(struct spool *spool, const char *mem, size_t len);

// Ends the spool of a job that has ended: its output is written now, or when the job is the next of its queue. The spool is gone.
void spool_finish(struct spool *spool);

// Says that the job with this number in the queue has no spool and never will: it was cancelled before it started, or
// its output is not captured. With keep_order the jobs behind it wait for this call.
void writer_skip(struct writer *writer, struct output_queue *queue, uint64_t order);
