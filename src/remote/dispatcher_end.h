// The dispatcher's end of a connection, as a state machine: the jobs that one worker has. Its counterpart is worker_end.h.
//
//   sent -started-> running -done-> gone       sent -refused-> gone      any -the connection breaks-> gone, reported as lost
//
// The other end begins to speak with noise, the output of a login shell, which ends at the mark: a random text that the greeting names and
// the worker repeats. A script that finds no fairpar there may answer the greeting by a line "want MARK SYSTEM" instead: it is sent a
// program, says "have MARK" when that is installed, and becomes a worker, which is greeted anew.
//
// Pure, as channel.h: no I/O. The owner moves bytes by the functions of channel.h, sends input and acknowledges output. A callback must not
// call any function of these files but channel_acknowledge(), and hello() channel_send().

#pragma once

#include "remote/channel.h"

struct dispatcher_calls {
	void (*hello)(void *arg, const struct worker_hello *hello);   // jobs may be sent from now on; before the first one an `env` frame
	void (*started)(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago); // it runs, since `ago` nanoseconds
	// Stream 1 or 2; channel_acknowledge() when it was passed on.
	void (*output)(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n);
	void (*done)(void *arg, const struct channel_job *job, const struct job_end *end); // it is gone, as it is in the next one and in lost()
	void (*refused)(void *arg, const struct channel_job *job, const char *why); // it has not run
	// The worker takes no further job: it has said so, or has refused one without a brake. What runs goes on. Called once, before refused().
	void (*bye)(void *arg, const char *why);
	// The worker takes no jobs for now, while so many run; or (`why` is NULL) it takes jobs again. The latter is called at least a
	// second after its last refusal.
	void (*braked)(void *arg, uint64_t jobs, const char *why);
	void (*lost)(void *arg, const struct channel_job *job); // the connection has broken; without is_unsent the job may have begun
	void (*overdue)(void *arg, struct channel_job *job);   // it was told to stop, and has not ended in time; its frames still come
	// A machine of that kind (uname -sm) has no fairpar, and requests one: appends the bytes for it and returns 0, or returns -1 with *ret_why.
	// May be NULL.
	int (*program_requested)(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why);
	// A frame of a conversation about files. Returns NULL, or why it is not allowed: static text.
	const char *(*files)(void *arg, struct channel_job *job, const struct wire_frame *frame);
};

struct dispatcher_end {
	struct channel channel;
	struct dispatcher_calls calls;
	void *arg;
	char mark[MARK_SIZE + 3]; // with the newlines around it
	bool is_up;               // hello has come
	uint64_t suspended;       // since when it is suspended; only while it is
	bool is_braked;           // by the last `brake` frame
	bool is_leaving;          // it takes no more jobs: bye was said, or it has refused one without a brake
	uint64_t refused, goes;   // when it has refused a job last; when calls.braked() is to say that it takes jobs again, or UINT64_MAX
	uint64_t idle_until;      // when it is given up, if it is leaving and has no job, else UINT64_MAX
	bool program_requested, program_installed; // a program, before the mark
};

// Makes the end, with the greeting as its first output. `mark`: MARK_SIZE hexadecimal digits that nobody else knows; copied, as `calls`.
// dispatcher_end_free() frees it; NULL-safe.
struct dispatcher_end *dispatcher_end_new(const struct dispatcher_calls *calls, void *arg, const char *mark, uint64_t now);
void dispatcher_end_free(struct dispatcher_end *end);

// What came before the mark, as a string of at most 1 KiB, borrowed; "" after the mark, or where a program was requested.
const char *dispatcher_end_noise(struct dispatcher_end *end);

// Reports each job as lost (dispatcher_calls.lost) and forgets it. Only when the connection is broken.
void dispatcher_end_lose_jobs(struct dispatcher_end *end);

// Sends a job (payload.h), whose number is higher than all before; or, without a payload (NULL, 0), begins a conversation about files, which is
// numbered as a job and ends as one; channel_send_frames() sends what is said in it. Returns it as channel_add_job() does: its owner is to be set.
struct channel_job *dispatcher_end_begin(struct dispatcher_end *end, uint64_t number, const char *payload, size_t n);

// Sends an `eof` or `shut` frame of a job: its standard input has ended; or that stream of its output (1 or 2) is to be closed, which nobody reads
// any more: the job is to get SIGPIPE, as it would here. This and the next one do nothing if the job is gone.
void dispatcher_end_say(struct dispatcher_end *end, enum wire_type type, uint64_t job, unsigned stream);

// Stops a job, for whose end somebody waits. It has `takes` nanoseconds, those of --term-seq, and 10 s more from the first of these calls;
// then it is overdue.
void dispatcher_end_stop(struct dispatcher_end *end, uint64_t job, enum stop_how how, uint64_t takes, uint64_t now);

// Has the worker stop its jobs, because the dispatcher is about to be stopped (`begins`), or continue them. Meanwhile silence breaks nothing.
void dispatcher_end_suspend(struct dispatcher_end *end, bool begins, uint64_t now);

// As channel_tick(), which it calls; and reports overdue jobs, and the end of a brake. The connection breaks if the worker takes no more jobs,
// and has had none for a minute.
uint64_t dispatcher_end_tick(struct dispatcher_end *end, uint64_t now);

// Releases the worker: it ends when its jobs have.
void dispatcher_end_bye(struct dispatcher_end *end, const char *why);
