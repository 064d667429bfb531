// Spools the output of jobs (in memory, then on disk), and writes it to stdout and stderr in the promised order: grouped by job
// or line by line, as jobs end or in input order, with or without tags.
//
// Every byte that a job wrote is written, or its loss is an error of the run; the output of a job is never mixed, cut or
// reordered (docs/design.md, "What is promised").
//
// One thread at a time has the turn to write. A worker that finds the turn taken leaves its output in a queue and goes on with
// its next job. A worker that writes what is held does not wait for a pipe or a socket: output that these do not take at once, and long
// outputs, are left to a thread that is started when it is first needed. So a slow reader holds up no slot, but that of a job whose output goes
// straight to the reader.
//
// Held output lies in memory up to `spool_mem`, then in one unlinked file in `spool_dir`. When that file cannot be
// opened or written:
//   1. if the output of a job may be written now, and no other output is being written, the job's output goes straight to the
//      reader from then on (spool_reset() does not take back what was written);
//   2. any other job waits, and its pipe is not read, as long as some job can make room: a job whose output is being written, or
//      a job that runs (its spool is open and not suspended) and does not wait for room itself;
//   3. if no job can make room, the further output of the job is lost: `failed` is called with stream 2.
// When a job ends and there is no room for the rest of its output, the rest stays in the memory block of its spool, beyond `spool_mem`. While
// there is such a block, jobs that have not written yet have to wait with their first output.
//
// The caller ignores or blocks SIGPIPE.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// How the output of a job is shown. A run, and even a queue, may have jobs of different modes. What is passed on in
// one piece (all output of a job with WRITER_GROUP, whole lines with WRITER_LINE_BUFFER) is never cut by the output of another job.
enum writer_mode {
	WRITER_GROUP,        // a job's stdout, then its stderr, when it has ended
	WRITER_LINE_BUFFER,  // whole lines as they come (a line ends with a newline), and a last line without a newline when the job has
	                   // ended; with keep_order, lines are held until all earlier jobs of the queue are written
	WRITER_LATEST,       // when a job has ended: only its last line, of either stream (only the last 8 KiB of a long line), on stdout; written
	                   // as with WRITER_GROUP
};

struct writer_config {
	bool keep_order;          // output in the order of the jobs' numbers within each queue (batch)
	size_t spool_mem;         // the most bytes of held output in memory, for all jobs together; more is held in an unlinked file
	const char *spool_dir;    // the directory of that file
	int out_fd, err_fd;       // the descriptors for stdout and stderr; borrowed
	// Called once for each stream, at its first failure to write: stream 0 stdout, 1 stderr, 2 spool; `error` is the errno. Called
	// on any thread, with no lock held. The callback should say nothing about EPIPE on stdout. Later output to that stream is
	// discarded; the other stream is still written.
	void (*failed)(void *arg, int stream, int error);
	// Called with the receipts of jobs, concatenated, once all of their output has been written (or could not be).
	// Called on any thread, but on one at a time; no lock held.
	void (*written)(void *arg, const char *receipts, size_t len);
	// Called when a job has to wait until its output is read (`stalls`), and when it goes on; `job` comes from spool_set_job().
	// Called on the job's thread, with no lock held. The callback may be NULL.
	void (*stalls)(void *arg, void *job, bool stalls);
	void *arg;
};

struct writer;       // the writer, one for the run
struct output_queue; // the outputs of the jobs of a batch, to be written in their order
struct spool;        // the captured output of one job, of all its attempts and steps

// Creates a writer, which the caller ends with writer_destroy(). Copies the config; but config->spool_dir is borrowed.
struct writer *writer_create(const struct writer_config *config);
// Writes all output that is still held, after the last spool was finished, and frees the writer. Sets *ret_unread to how many bytes
// were not written because nobody read them within the time of write_limit(). Returns 0, or -1 if output was lost since the start.
int writer_destroy(struct writer *writer, uint64_t *ret_unread) FP_NODISCARD;

// Opens a queue for a batch, which keeps the jobs' outputs in order; without keep_order all batches share one queue. The caller closes
// the queue after its last spool_finish(). The writer owns the queue, and frees it when it is closed and all its output is written.
struct output_queue *output_queue_open(struct writer *writer);
void output_queue_close(struct writer *writer, struct output_queue *queue);

// Makes the writer write all output of `queue` after all output of `before`, which was opened earlier and is followed by no other
// queue. To be called before either of the two has a spool or is closed. Does nothing without keep_order.
void output_queue_follow(struct writer *writer, struct output_queue *queue, struct output_queue *before);

// Opens the spool of the job with number `order` (from 1, without gaps) in its queue, to be shown as `mode` says. If
// `queue` is NULL, the job has no place in an order, and waits for no other job. A spool costs next to nothing until a byte
// comes. `tag` (copied, `tag_len` bytes), if not NULL, is put in front of every line of both streams as by GNU parallel: a
// carriage return ends a line, too, an empty output has no tag, and no newline is added to a last line without one. Memory of
// finished spools is used again. A spool is used by one thread at a time.
struct spool *spool_open(struct writer *writer, struct output_queue *queue, uint64_t order, enum writer_mode mode,
                         const char *tag, size_t tag_len);

// Reads the bytes that are in the non-blocking pipe `fd` of the stream (0 or 1) into the spool, or passes them straight to the
// reader. Returns how many bytes, 0 at the end, or -1 with errno, as output_reader.readable of process/child.h. Blocks in two cases
// only: the output goes straight to a slow reader (spool_set_live()), or the disk is full (see above).
ssize_t spool_readable(struct spool *spool, int stream, int fd);

// Adds bytes to a stream, as if the job had written them.
void spool_add(struct spool *spool, int stream, const void *mem, size_t len);

// Adds a text that fairpar itself makes to the job's stdout. If stdout is a terminal, escapes the text's control bytes.
void spool_add_shown(struct spool *spool, const char *mem, size_t len);

// Says that the next step of the job begins: spool_reset() does not take back what was written so far.
void spool_mark(struct spool *spool);

// Says, from any thread, that the job is alone: no other job runs or will be written before it, and no retry will take its
// output back. With WRITER_GROUP a stdout of more than some 24 KiB then goes straight to the reader, and no other job is written
// until this job has ended. Does nothing with the other modes.
void spool_set_live(struct spool *spool);

// Says for config.stalls which job's attempt fills the spool from now on; NULL: the attempt has ended.
void spool_set_job(struct spool *spool, void *job);

// Throws away the output since the last spool_mark(), because the next attempt begins. Lines that WRITER_LINE_BUFFER has already
// passed on are not taken back.
void spool_reset(struct spool *spool);

// Says that the job has no worker until its next attempt or step. If it has the turn to write, it gives the turn up. Until the next
// call with this spool, the job does not count as one that can make room in the file of held output.
void spool_suspend(struct spool *spool);

// For a job that has ended and was not live: puts `before` in front of each line and its tag, and `after` in
// front of the end of each line; ends a last line without a newline. Does nothing with WRITER_LINE_BUFFER.
void spool_frame_lines(struct spool *spool, const char *before, const char *after);

// Ends the last line of the stream, if its newline is missing; for a job that has ended and was not live.
void spool_complete(struct spool *spool, int stream);

// Puts the last line that the job has written so far, of either stream (a carriage return ends a line, too), into `text` of `size`
// bytes, without its end, and with the tag in front if `tagged`. Puts only the last 8 KiB of a longer line. Returns the length, cut
// to `size`, or 0 if there is no line. Any thread may call it until spool_finish(). Does not wait for a reader.
size_t spool_last_line(struct spool *spool, bool tagged, char *text, size_t size);

// Returns how many bytes the stream has had so far, without the bytes that spool_reset() has taken back.
uint64_t spool_bytes(const struct spool *spool, int stream);

// Appends the last `n` bytes of the stream, at most 8 KiB. With WRITER_GROUP, leaves out bytes that have already gone to the reader.
void spool_tail(const struct spool *spool, int stream, size_t n, struct buf *buf);

// Sets the receipt (copied bytes, such as a row of the joblog) that config.written() gets when this job's output is written. To be called for
// a job that has ended, right before spool_finish().
void spool_set_receipt(struct spool *spool, const char *mem, size_t len);

// Takes the spool of a job that has ended from the caller. The output is written now, or when the job is the next of its queue.
void spool_finish(struct spool *spool);

// Says that the job with this number in the queue has no spool and never will: it was cancelled before it started, or
// its output is not captured. With keep_order the jobs behind it wait for this call.
void writer_skip(struct writer *writer, struct output_queue *queue, uint64_t order);
