// The dispatcher's end of a line: the jobs that are at one worker.
//
//   sent -started-> running -done-> gone       sent -refused-> gone      any -the line breaks-> gone, reported as lost
//
// What stands at the other end before a worker does may answer the greeting by a line "want MARK SYSTEM": it is sent a program, says
// "have MARK" when that is there, and becomes a worker, which is greeted anew.
//
// Pure, as channel.h. What is called back must not call in, but for host_more().

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
	void (*lost)(void *arg, uint64_t job, bool ran);       // the line has broken; `ran`: it may have begun
	// A machine of that kind (uname -sm) has no fairpar, and wants one: appends what it is to get, and returns 0; or -1 with *ret_why.
	// May be NULL.
	int (*wanted)(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why);
};

struct host;

// `mark`: MARK_SIZE digits that nobody else knows; copied, as the calls.
struct host *host_new(const struct host_calls *calls, void *arg, const char *mark, uint64_t now);
void host_free(struct host *host);

// The worker may come as late as it likes: what stands in a queue is silent until then.
void host_wait_for_worker(struct host *host);

// The line. As those of channel.h. What has come before the mark, if that did not come, is host_noise(): at most 1 KiB, a
// string.
int host_receive(struct host *host, const char *bytes, size_t n, uint64_t now);
const char *host_output(struct host *host, size_t *ret_n);
void host_sent(struct host *host, size_t n);
uint64_t host_tick(struct host *host, uint64_t now);
void host_break(struct host *host, const char *why);
const char *host_why(const struct host *host); // it is broken, or NULL
const char *host_noise(struct host *host);

// Reports all jobs as lost, once, and forgets them. When the line is broken.
void host_lose_jobs(struct host *host);

// After hello. The environment of all jobs to come: variables with a NUL behind each; `adds` them to the worker's own.
void host_env(struct host *host, bool adds, const char *bytes, size_t n);

// Sends a job (payload.h), whose number is higher than all before.
void host_run(struct host *host, uint64_t job, const char *payload, size_t n);

// How many bytes of input it takes now: then host_input() sends no more than that; and the end of it. 0 of a job that is gone.
size_t host_input_room(const struct host *host, uint64_t job);
void host_input(struct host *host, uint64_t job, const char *bytes, size_t n);
void host_input_end(struct host *host, uint64_t job);

// So many bytes of its output were passed on. A job that is gone is left alone, as by the next two.
void host_more(struct host *host, uint64_t job, size_t n);

// A worker that does not answer then is soon given up, for somebody waits for the end of the job.
void host_stop(struct host *host, uint64_t job, enum stop_how how, uint64_t now);

// Nobody reads that stream of its output any more (1 or 2): it is to get SIGPIPE, as if it wrote here.
void host_shut(struct host *host, uint64_t job, unsigned stream);

// The dispatcher is about to be stopped: the worker stops its jobs, and is not to end because of the silence. Or it goes on.
void host_rest(struct host *host, bool begins, uint64_t now);

// The worker is to end when its jobs have.
void host_bye(struct host *host, const char *why);

#endif
