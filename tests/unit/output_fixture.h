// The fixture of the tests of output: a writer between two readers, one for stdout and one for stderr, and jobs that write.

#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sync.h"
#include "output/internal.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

// ---- a reader at the other end of stdout or stderr

struct reader {
	int fd;           // the end to read from
	int write_fd;     // the end that the writer writes to
	mutex lock;
	cond more;
	bool go;          // reading is allowed
	struct buf got;
	thread thread;
};

static inline void *reader_main(void *arg) {
	struct reader *reader = arg;
	char *mem = xmalloc(1 << 16);
	mutex_lock(&reader->lock);
	while (!reader->go) {
		cond_wait(&reader->more, &reader->lock);
	}
	for (;;) {
		mutex_unlock(&reader->lock);
		ssize_t n = read(reader->fd, mem, 1 << 16);
		check(n >= 0);
		mutex_lock(&reader->lock);
		if (n == 0) {
			break;
		}
		buf_add(&reader->got, mem, (size_t)n);
		cond_broadcast(&reader->more);
	}
	mutex_unlock(&reader->lock);
	free(mem);
	return NULL;
}

static inline void reader_open(struct reader *reader, bool go, int flags) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	check(flags == 0 || fcntl(ends[1], F_SETFL, flags) == 0);
	*reader = (struct reader){.fd = ends[0], .write_fd = ends[1], .go = go, .got = BUF_INIT};
	mutex_init(&reader->lock, LOCK_OF_TEST);
	cond_init(&reader->more);
	check_equal(thread_start(&reader->thread, reader_main, reader, 1 << 16), 0);
}

static inline void reader_go(struct reader *reader) {
	mutex_lock(&reader->lock);
	reader->go = true;
	cond_broadcast(&reader->more);
	mutex_unlock(&reader->lock);
}

// Waits until so many bytes have arrived.
static inline void reader_wait(struct reader *reader, size_t len) {
	mutex_lock(&reader->lock);
	while (reader->got.len < len) {
		cond_wait(&reader->more, &reader->lock);
	}
	mutex_unlock(&reader->lock);
}

// Reads to the end of file.
static inline void reader_end(struct reader *reader) {
	close(reader->write_fd);
	reader_go(reader);
	thread_join(reader->thread);
	close(reader->fd);
}

static inline void reader_free(struct reader *reader) {
	buf_fini(&reader->got);
	mutex_fini(&reader->lock);
	cond_fini(&reader->more);
}

#define check_got(reader, text) do { \
		check_equal((reader)->got.len, sizeof(text) - 1); \
		check(memcmp((reader)->got.data, text, sizeof(text) - 1) == 0); \
	} while (0)

#define check_bytes(reader, mem, size) do { \
		check_equal((reader)->got.len, (size)); \
		check(memcmp((reader)->got.data, (mem), (size)) == 0); \
	} while (0)

// ---- a writer between two readers

// The arguments of the calls of writer_config.failed.
struct failure {
	int calls, stream, error;
};

static inline void note_failure(void *arg, int stream, int error) {
	struct failure *failure = arg;
	++failure->calls;
	failure->stream = stream;
	failure->error = error;
}

struct output_setup {
	enum writer_mode mode;   // of jobs that job_open() opens
	bool keep_order;
	size_t spool_mem;        // bytes of held output in memory
	const char *spool_dir;   // NULL: /tmp
	bool reader_waits;       // the reader reads nothing before output_end()
	int out_flags;           // of the open file of stdout: O_NONBLOCK, or 0
};

struct output {
	struct output_setup setup;
	struct writer *writer;
	struct output_queue *queue;  // of jobs that job_open() opens
	struct reader out, err;
	struct failure failure;
};

static inline void output_open(struct output *output, const struct output_setup *setup) {
	*output = (struct output){.setup = *setup};
	reader_open(&output->out, !setup->reader_waits, setup->out_flags);
	reader_open(&output->err, !setup->reader_waits, 0);
	output->writer = writer_create(&(struct writer_config){
		.keep_order = setup->keep_order, .spool_mem = setup->spool_mem,
		.spool_dir = setup->spool_dir ? setup->spool_dir : "/tmp",
		.out_fd = output->out.write_fd, .err_fd = output->err.write_fd, .failed = note_failure, .arg = &output->failure,
	});
	output->queue = output_queue_open(output->writer);
}

static inline void output_end_as(struct output *output, int result) {
	if (output->queue) {
		output_queue_close(output->writer, output->queue);
	}
	reader_go(&output->out);
	reader_go(&output->err);
	check_equal(writer_destroy(output->writer, &(uint64_t){0}), result);
	reader_end(&output->out);
	reader_end(&output->err);
}

// Ends the writer, and checks that it reports no loss. The bytes that were read stay until output_free().
static inline void output_end(struct output *output) {
	output_end_as(output, 0);
	check_equal(output->failure.calls, 0);
}

// Ends the writer, and checks that it has reported a loss once, of that stream (2: held output) with that error.
static inline void output_end_with_loss(struct output *output, int stream, int error) {
	output_end_as(output, -1);
	check_equal(output->failure.calls, 1);
	check_equal(output->failure.stream, stream);
	check_equal(output->failure.error, error);
}

static inline void output_free(struct output *output) {
	reader_free(&output->out);
	reader_free(&output->err);
}

// ---- jobs

// The job with number `order` in the writer's queue.
static inline struct spool *job_open(struct output *output, uint64_t order) {
	return spool_open(output->writer, output->queue, order, output->setup.mode, NULL, 0);
}

// The job with number `order` in any mode, with a tag or NULL.
static inline struct spool *job_open_as(struct output *output, uint64_t order, enum writer_mode mode, const char *tag) {
	return spool_open(output->writer, output->queue, order, mode, tag, tag ? strlen(tag) : 0);
}

// Lets the job write these bytes, through a pipe as a child does.
static inline void job_write(struct spool *spool, int stream, const char *mem, size_t len) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	while (len > 0) {
		ssize_t n = write(ends[1], mem, len);
		if (n > 0) {
			mem += n;
			len -= (size_t)n;
		} else {
			check(errno == EAGAIN);
			check(spool_readable(spool, stream, ends[0]) > 0);
		}
	}
	while (spool_readable(spool, stream, ends[0]) > 0) {
	}
	check_equal(errno, EAGAIN);
	close(ends[1]);
	ssize_t n;
	while ((n = spool_readable(spool, stream, ends[0])) > 0) {
	}
	check_equal(n, 0);
	close(ends[0]);
}

static inline void job_writes(struct spool *spool, int stream, const char *text) {
	job_write(spool, stream, text, strlen(text));
}

// ---- bytes

static inline uint64_t next_random(uint64_t *state) {
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

static inline void noise(char *mem, size_t len, uint64_t seed) {
	uint64_t state = seed * 77 + 1;
	for (size_t i = 0; i < len; ++i) {
		mem[i] = (char)next_random(&state);
	}
}

#ifdef FAIRPAR_FAULTS

// Runs `fn` in a child with the fault set: calls are counted over the life of a process, so each fault needs a new one.
static inline void with_fault(const char *fault, void (*fn)(void)) {
	fflush(NULL);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		check(setenv("FAIRPAR_FAULT", fault, 1) == 0);
		fn();
		exit(0);
	}
	int status;
	check(waitpid(pid, &status, 0) == pid);
	if (status != 0) {
		fprintf(stderr, "# with FAIRPAR_FAULT=%s\n", fault);
	}
	check_equal(status, 0);
}

// The faults: the spool file cannot be opened, or cannot be written, at one call or from one call on.
static const char *const spool_faults[] = {
	"tmpfile:1:EMFILE", "tmpfile:1+:ENFILE", "spool_write:1:EINTR", "spool_write:1:ENOSPC", "spool_write:2:EIO",
	"spool_write:7:ENOSPC", "spool_write:1+:ENOSPC", "spool_write:5+:ENOSPC", "spool_write:30+:EIO",
};

#define with_each_spool_fault(fn) do { \
		for (size_t i_ = 0; i_ < sizeof(spool_faults) / sizeof(spool_faults[0]); ++i_) { \
			with_fault(spool_faults[i_], fn); \
		} \
	} while (0)

#endif
