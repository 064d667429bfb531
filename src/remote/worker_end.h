// The worker's end of a connection.
//
//   run -> taken -started-> running -done-> gone     taken -refused, done-> gone
//
// Its counterpart is dispatcher_end.h. Pure, as channel.h: no I/O. The owner moves bytes by the functions of channel.h, sends output and acknowledges
// input. Of the functions of this file and channel.h, a callback may call channel_say() and channel_break(), and `begin` also worker_end_refuse().

#pragma once

#include "process/child.h"
#include "remote/channel.h"

struct worker_calls {
	void (*env)(void *arg, bool adds, const char *bytes, size_t n); // variables, a NUL behind each; without `adds` they replace the worker's own
	// A job has come: answer it by worker_end_started() and _done(), or by _refuse(). A conversation about files (has_files) gets no _started().
	void (*begin)(void *arg, struct channel_job *job, const char *payload, size_t n);
	// A frame of a job that is not gone: `in` (acknowledge its bytes when they were passed on), `eof`, `more`, `stop`, `shut` or `lend`, with
	// valid numbers; or any frame of a conversation about files. Returns NULL, or why the frame is not allowed: static text.
	const char *(*frame)(void *arg, struct channel_job *job, const struct wire_frame *frame);
	void (*suspend)(void *arg, bool begins); // `begins`: stop the jobs, as the dispatcher is about to be stopped; else let the jobs go on
};

struct worker_end {
	struct channel channel;
	struct worker_calls calls;
	void *arg;
	struct worker_hello hello;
	bool is_released;         // the dispatcher has said goodbye: no further job comes
};

// Makes the end. `calls` and `hello` are copied; hello->node is borrowed, and sent up to WIRE_HEADER_MOST - 1 bytes. The channel begins with
// the dispatcher's greeting, which is answered with the hello. worker_end_free() frees the end; NULL-safe.
struct worker_end *worker_end_new(const struct worker_calls *calls, void *arg, const struct worker_hello *hello, uint64_t now);
void worker_end_free(struct worker_end *end);

// The next three functions send a frame about a job that has come (`begin`) and is not gone. The owner itself sends `brake` and `bye` frames.

// The job runs as process `pid`, since `ago` nanoseconds.
void worker_end_started(struct worker_end *end, uint64_t job, uint64_t pid, uint64_t ago);

// The job has not run and will not, because of `why`.
void worker_end_refuse(struct worker_end *end, uint64_t job, const char *why);

// The job has ended, and all of its output was sent.
void worker_end_done(struct worker_end *end, uint64_t job, const struct job_end *how);
