// The dispatcher's end of a connection, as a state machine: the jobs that one worker has. Its counterpart is worker_end.h.
//
//   sent -started-> running -done-> gone       sent -refused-> gone, reported as lost      any -the connection breaks-> gone, reported as lost
//
// The other end may first send noise, the output of a login shell. The noise ends at the mark: a random text that the greeting contains and the
// worker repeats. If the machine has no fairpar, the script that was started there may answer the greeting by a line "want MARK SYSTEM". Then the
// owner sends it a program; the script says "have MARK" when the program is installed, runs it as the worker, and gets the greeting once more.
//
// Pure, as channel.h: no I/O. The owner moves bytes by the functions of channel.h, sends the jobs' input and where it ends, and acknowledges output.
// Of the functions of this file and channel.h, a callback may call only channel_acknowledge(), and hello() also channel_send().

#pragma once

#include "remote/channel.h"

struct dispatcher_calls {
	void (*hello)(void *arg, const struct worker_hello *hello);   // jobs may be sent from now on; an `env` frame may be sent before the first job
	void (*started)(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago); // the job runs as process `pid`, since `ago` nanoseconds
	// Output of stream 1 or 2. The owner calls channel_acknowledge() when it has passed the bytes on.
	void (*output)(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n);
	void (*done)(void *arg, const struct channel_job *job, const struct job_end *end); // `job` is a copy here and in lost()
	// The worker takes no further job: it said `bye`, or refused a job without a `brake` or `slots` frame that explains it. Running jobs go on. Called once, before lost().
	void (*bye)(void *arg, const char *why);
	// The worker takes no jobs for now, because of `why`, while `jobs` jobs run there; or, if `why` is NULL, the worker takes jobs again. The call
	// with NULL comes at least a second after the worker's last refusal.
	void (*braked)(void *arg, uint64_t jobs, const char *why);
	// The worker has another number of slots now, at least 1, because of `reason` (enum controller_reason, perhaps a number that has no name).
	void (*slots)(void *arg, uint64_t slots, uint64_t reason);
	// The connection has broken, or the worker has refused the job. The job has not begun if job->is_unsent (as after a refusal); else it may have.
	void (*lost)(void *arg, const struct channel_job *job);
	void (*overdue)(void *arg, struct channel_job *job);   // the job was told to stop and has not ended in time; its frames may still come
	// The machine at the other end, of the kind `machine` (uname -sm), has no fairpar and requests the program. Returns 0, and the owner writes the
	// program before any further output of the channel; or returns -1 with *ret_why. This callback may be NULL.
	int (*program_requested)(void *arg, const char *machine, struct buf *ret_why);
	// wanted(): the fairpars in the job want `slots` more slots; the owner lends each by a `lend` frame when it has one. Returns NULL, or why so
	// many are not allowed: static text. back(): the fairpars in the job do not need one of the lent slots any more.
	const char *(*wanted)(void *arg, struct channel_job *job, uint64_t slots);
	void (*back)(void *arg, struct channel_job *job);
	// A frame of a conversation about files. Returns NULL, or why the frame is not allowed: static text.
	const char *(*files)(void *arg, struct channel_job *job, const struct wire_frame *frame);
};

struct dispatcher_end {
	struct channel channel;
	struct dispatcher_calls calls;
	void *arg;
	char mark[MARK_SIZE + 3]; // the mark, with a newline before and behind it
	bool is_up;               // the worker's hello has come
	uint64_t up_since;        // when the hello came
	uint64_t suspended;       // since when the connection is suspended; valid only while channel.is_suspended
	bool is_braked;           // the last `brake` frame said that the worker takes no jobs
	uint64_t changes;         // how many `slots` frames have come
	uint64_t sent;            // the number of the last job that was sent before the last `slots` frame came; 0: none
	bool is_leaving;          // the worker takes no more jobs: one end said bye, or the worker refused a job although it had no reason (on_refuse())
	uint64_t refused, goes;   // when the worker last refused a job; when calls.braked() is to say that the worker takes jobs again, or UINT64_MAX
	uint64_t idle_until;      // when the connection is given up because the worker is leaving and has no job, else UINT64_MAX
	bool program_requested, program_installed; // the script at the other end has requested a program; it has installed the program
};

// Makes the end, with the greeting as its first output. `mark`: MARK_SIZE hexadecimal digits that nobody else knows; copied, as `calls`.
// dispatcher_end_free() frees it; NULL-safe.
struct dispatcher_end *dispatcher_end_new(const struct dispatcher_calls *calls, void *arg, const char *mark, uint64_t now);
void dispatcher_end_free(struct dispatcher_end *end);

// Returns what came before the mark, as a string, borrowed; "" once the mark has come or a program was requested.
const char *dispatcher_end_noise(const struct dispatcher_end *end);

// Reports each job as lost (dispatcher_calls.lost) and forgets it. Only when the connection is broken.
void dispatcher_end_lose_jobs(struct dispatcher_end *end);

// Sends a job (payload.h), whose number is higher than that of any earlier job. Without a payload (NULL, 0) begins a conversation about files, which
// has a number and an end as a job has; channel_send_frames() sends its frames. Returns the job as channel_add_job() does; the caller sets `owner`.
struct channel_job *dispatcher_end_begin(struct dispatcher_end *end, uint64_t number, const char *payload, size_t n);

// Tells the worker to end a job. The job has `takes` nanoseconds (the length of --term-seq) and 10 s more, counted from the first such call,
// before it is overdue. Does nothing if the job is gone.
void dispatcher_end_stop(struct dispatcher_end *end, uint64_t job, enum stop_how how, uint64_t takes, uint64_t now);

// Has the worker suspend its jobs (`begins`), as the dispatcher is about to be stopped; or continue them. Meanwhile silence breaks no connection.
void dispatcher_end_suspend(struct dispatcher_end *end, bool begins, uint64_t now);

// Calls channel_tick(), and returns as it does; also reports overdue jobs and the end of a brake. Breaks the connection if the worker takes no
// more jobs and has had no job for a minute.
uint64_t dispatcher_end_tick(struct dispatcher_end *end, uint64_t now);

// Releases the worker, and tells it `why`: the worker takes no further job, and ends when its jobs have ended.
void dispatcher_end_bye(struct dispatcher_end *end, const char *why);
