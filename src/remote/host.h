// The dispatcher's end of a connection, as a state machine: the jobs that one worker has. Its counterpart is agent.h.
//
//   sent -started-> running -done-> gone       sent -refused-> gone      any -the connection breaks-> gone, reported as lost
//
// The other end begins to speak with noise, the output of a login shell, which ends at the mark: a random text that the greeting names and
// the worker repeats. A script that finds no fairpar there may answer the greeting by a line "want MARK SYSTEM" instead: it is sent a
// program, says "have MARK" when that is installed, and becomes a worker, which is greeted anew.
//
// Pure, as channel.h: no I/O. A callback must not call any function of this file but host_more().

#ifndef FAIRPAR_REMOTE_HOST_H
#define FAIRPAR_REMOTE_HOST_H

#include "remote/channel.h"
#include "remote/ends.h"

struct host_calls {
	void (*hello)(void *arg, const struct worker_hello *hello);   // jobs may be sent from now on
	void (*started)(void *arg, uint64_t job, uint64_t pid, uint64_t ago); // it runs, since `ago` nanoseconds
	void (*output)(void *arg, uint64_t job, unsigned stream, const char *bytes, size_t n); // 1 or 2; host_more() when it was passed on
	void (*room)(void *arg, uint64_t job);                 // more of its input may be sent
	void (*done)(void *arg, uint64_t job, const struct job_end *end);
	void (*refused)(void *arg, uint64_t job, const char *why); // it has not run
	void (*bye)(void *arg, const char *why);               // the worker takes no further job; what runs goes on
	void (*braked)(void *arg, uint64_t jobs, const char *why); // it takes none for now, when so many run; or (NULL) does again
	void (*lost)(void *arg, uint64_t job, bool ran);       // the connection has broken; `ran`: it may have begun
	// A machine of that kind (uname -sm) has no fairpar, and requests one: appends the bytes for it and returns 0, or returns -1 with *ret_why.
	// May be NULL.
	int (*program_requested)(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why);
};

struct host;

// Makes the end, with the greeting as its first output. `mark`: MARK_SIZE hexadecimal digits that nobody else knows; copied, as `calls`.
// host_free() frees it; NULL-safe.
struct host *host_new(const struct host_calls *calls, void *arg, const char *mark, uint64_t now);
void host_free(struct host *host);

// Lets the other end be silent for any time until the worker begins: its launcher may wait in a queue.
void host_wait_for_worker(struct host *host);

// Bytes and times, as in channel.h: host_receive() takes bytes that have come, and returns -1 when the connection is broken; host_output()
// gives those to be written, of which host_sent() says how many were; host_tick() returns when to call it again. host_why() is why the
// connection is broken, or NULL. host_noise() is what came before the mark, as a string of at most 1 KiB; "" after the mark.
int host_receive(struct host *host, const char *bytes, size_t n, uint64_t now);
const char *host_output(struct host *host, size_t *ret_n);
void host_sent(struct host *host, size_t n);
uint64_t host_tick(struct host *host, uint64_t now);
void host_break(struct host *host, const char *why);
const char *host_why(const struct host *host);
const char *host_noise(struct host *host);

// Reports each job as lost (host_calls.lost) and forgets it. Only when the connection is broken.
void host_lose_jobs(struct host *host);

// Sends the environment of all jobs, after hello and before the first job: variables with a NUL behind each. `adds`: in addition to the
// worker's own.
void host_env(struct host *host, bool adds, const char *bytes, size_t n);

// Sends a job (payload.h), whose number is higher than all before.
void host_run(struct host *host, uint64_t job, const char *payload, size_t n);

// Standard input of a job: host_input_room() says how many bytes the worker takes now, 0 if the job is gone; host_input() sends at most as
// many; host_input_end() sends the end.
size_t host_input_room(const struct host *host, uint64_t job);
void host_input(struct host *host, uint64_t job, const char *bytes, size_t n);
void host_input_end(struct host *host, uint64_t job);

// Tells the worker that so many bytes of the job's output were passed on, and it may send as many more. This and the next two do nothing
// if the job is gone.
void host_more(struct host *host, uint64_t job, size_t n);

// Stops a job. The connection breaks if the worker does not answer within 10 s, for somebody waits for the end of the job.
void host_stop(struct host *host, uint64_t job, enum stop_how how, uint64_t now);

// Closes a stream of its output (1 or 2) that nobody reads any more: the job is to get SIGPIPE, as it would here.
void host_shut(struct host *host, uint64_t job, unsigned stream);

// Has the worker stop its jobs, because the dispatcher is about to be stopped (`begins`), or continue them. Meanwhile silence breaks nothing.
void host_suspend(struct host *host, bool begins, uint64_t now);

// Releases the worker: it ends when its jobs have.
void host_bye(struct host *host, const char *why);

#endif
