// The two descriptors that output goes to, and the one buffer in which small pieces gather and tags are put in.
//
// Used by one thread at a time: the one that has the turn to write (turn.c). If `wait` is false, no call blocks on a
// pipe or a socket: what would block is left to a thread that may wait.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sink {
	int fd;
	bool is_fifo;
	bool nowait;        // a pipe or socket, and the kernel knows RWF_NOWAIT for it
	bool splice;        // splice(2) is worth a try
	bool dead;          // failed: everything is discarded
	bool is_tty;        // a terminal: it takes no bytes after Ctrl-S
};

struct streams {
	struct sink sink[2];
	void (*failed)(void *arg, int stream, int error);
	void *arg;
	char *gather;       // GATHER_SIZE bytes, or NULL: not yet needed
	size_t start, len;  // gathered bytes from start to len
	int stream;         // the stream of the gathered bytes
	uint64_t unread;    // bytes that were discarded because nobody had read them at write_limit()
	bool gave_up;
	struct buf shown;   // a tag in the form in which a terminal gets it
};

// The place in its line that the tagged stream has come to; all zero: the start of a line.
struct tag_state {
	bool in_line;
	size_t at;          // bytes of the tag that are already put
	size_t tail_at;     // bytes already put of the part of the tag that stands before the end of the line
};

// `failed` is called at each sink's first failure, with the stream and errno; that stream is discarded from then on. The
// descriptors stay open and the caller's; what was gathered and not flushed is lost with streams_fini().
void streams_init(struct streams *streams, int out_fd, int err_fd, void (*failed)(void *arg, int stream, int error), void *arg);
void streams_fini(struct streams *streams);

// Takes bytes of the stream (0 stdout, 1 stderr), and gathers or writes them. Returns how many it has taken, all or
// fewer; 0 only if it would block and `wait` is false.
size_t streams_put(struct streams *streams, int stream, const char *mem, size_t len, bool wait);

// As streams_put(), with the tag in front of every line. As in GNU parallel a carriage return ends a line too, an empty stream
// has no tag, and a last line without a newline gets none. A tag that holds a NUL is two: the part behind the NUL is put before
// each end of a line.
size_t streams_put_tagged(struct streams *streams, int stream, const char *tag, size_t tag_len, struct tag_state *state,
                        const char *mem, size_t len, bool wait);

// True if gathered bytes are not yet written.
bool streams_pending(const struct streams *streams);

// Writes what was gathered. Returns false if it would block, with the rest kept.
bool streams_flush(struct streams *streams, bool wait);

// Moves what is in the pipe `fd` to the stream without copying, and waits for the reader. To be called only when nothing is pending.
// Returns the bytes, 0 at end of file, or -1 with errno: EAGAIN if nothing is there now, ENOTSUP if the bytes must be read and put.
ssize_t streams_splice(struct streams *streams, int stream, int fd);
