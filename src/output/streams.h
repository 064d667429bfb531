// Writes output to the two descriptors stdout and stderr. Gathers small pieces in one buffer, and puts tags in front of lines.
//
// Each write ends where a line ends, unless there is no such place or the descriptor takes fewer bytes: so messages, which other threads write, seldom
// stand inside a line of a job.
//
// Only the thread that has the turn to write (turn.c) uses the streams. If `wait` is false, no call blocks on a pipe or a
// socket: a write that would block is left to a thread that may wait.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink {
	int fd;
	bool is_fifo;
	bool nowait;        // a pipe or socket, for which the kernel has not refused RWF_NOWAIT
	bool splice;        // splice(2) is worth a try
	bool dead;          // a write has failed: all further output is discarded
	bool is_tty;        // a terminal: it takes no bytes after Ctrl-S
};

struct streams {
	struct sink sink[2];
	void (*failed)(void *arg, int stream, int error);
	void *arg;
	char *gather;       // GATHER_SIZE bytes
	size_t start, len;  // gathered bytes from start to len
	int stream;         // the stream of the gathered bytes
	uint64_t unread;    // how many bytes were discarded because nobody had read them by the time limit (write_limit())
	bool gave_up;       // a write has waited for the time limit: from then on, discarded bytes count as `unread`
	struct buf shown;   // the tag as it is shown on a terminal
};

// How far streams_put_tagged() has come in the present line of a stream; all zero: the start of a line.
struct tag_state {
	bool in_line;       // the tag was put, and the end of the line was not
	size_t at;          // how many bytes of the tag were put
	size_t tail_at;     // how many bytes were put of the part of the tag that stands before the end of the line
};

// `failed` is called at the first failure of each stream, with the stream and errno; further output to that stream is discarded.
// The caller owns the descriptors. streams_fini() drops gathered bytes that were not flushed.
void streams_init(struct streams *streams, int out_fd, int err_fd, void (*failed)(void *arg, int stream, int error), void *arg);
void streams_fini(struct streams *streams);

// Takes bytes of the stream (0 stdout, 1 stderr), and gathers or writes them. Returns how many it has taken, all or
// fewer; 0 only if a write would block and `wait` is false.
size_t streams_put(struct streams *streams, int stream, const char *mem, size_t len, bool wait);

// As streams_put(), with the tag in front of every line. As in GNU parallel a carriage return ends a line, too, an empty stream
// has no tag, and no newline is added to a last line without one. A tag with a NUL inside has two parts: the part behind the NUL
// is put before the end of each line.
size_t streams_put_tagged(struct streams *streams, int stream, const char *tag, size_t tag_len, struct tag_state *state,
                        const char *mem, size_t len, bool wait);

// True if gathered bytes are not yet written.
bool streams_pending(const struct streams *streams);

// Writes the gathered bytes. Returns false if a write would block; the bytes that are left are kept.
bool streams_flush(struct streams *streams, bool wait);

// Moves the bytes in the pipe `fd` to the stream without copying, and waits for the reader. To be called only when nothing is pending.
// Returns how many bytes, 0 at end of file, or -1 with errno: EAGAIN if the pipe is empty now, ENOTSUP if the caller must read and put.
ssize_t streams_splice(struct streams *streams, int stream, int fd);
