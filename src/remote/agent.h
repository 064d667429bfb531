// The worker's end of a connection.
//
//   run -> taken -agent_started()-> running -agent_done()-> gone     taken -agent_refuse(), agent_done()-> gone
//
// Its counterpart is host.h. Pure, as channel.h: no I/O. A callback must not call any function of this file.

#ifndef FAIRPAR_REMOTE_AGENT_H
#define FAIRPAR_REMOTE_AGENT_H

#include "remote/channel.h"
#include "remote/ends.h"

struct agent_calls {
	void (*env)(void *arg, bool adds, const char *bytes, size_t n); // as host_env(); all bytes are valid during the call
	void (*run)(void *arg, uint64_t job, const char *payload, size_t n); // answered by agent_started(), agent_refuse() or agent_done()
	void (*input)(void *arg, uint64_t job, const char *bytes, size_t n); // agent_take() says when they were passed on
	void (*input_end)(void *arg, uint64_t job);
	void (*room)(void *arg, uint64_t job);                 // more of its output may be sent
	void (*stop)(void *arg, uint64_t job, enum stop_how how);
	void (*shut)(void *arg, uint64_t job, unsigned stream); // nobody reads that output any more; as host_shut()
	void (*suspend)(void *arg, bool begins);                  // as host_suspend()
	void (*bye)(void *arg, const char *why);               // no further job comes
};

struct agent;

// Makes the end. `calls` and `hello` are copied. agent_free() frees it; NULL-safe.
struct agent *agent_new(const struct agent_calls *calls, void *arg, const struct worker_hello *hello, uint64_t now);
void agent_free(struct agent *agent);

// The connection. As those of channel.h. It begins with the dispatcher's greeting, which is answered with the hello.
int agent_receive(struct agent *agent, const char *bytes, size_t n, uint64_t now);
const char *agent_output(struct agent *agent, size_t *ret_n);
void agent_sent(struct agent *agent, size_t n);
uint64_t agent_tick(struct agent *agent, uint64_t now);
void agent_break(struct agent *agent, const char *why);
const char *agent_why(const struct agent *agent); // why it is broken, or NULL

// The following tell the dispatcher something. Each job is one that `run` has given and that is not gone.

// The job runs as `pid`, since `ago` nanoseconds.
void agent_started(struct agent *agent, uint64_t job, uint64_t pid, uint64_t ago);

// The job has not run and will not, because of `why`.
void agent_refuse(struct agent *agent, uint64_t job, const char *why);

// Output of a job: agent_output_room() says how many bytes may be sent now; agent_output_bytes() sends at most as many, of stream 1 or 2.
size_t agent_output_room(const struct agent *agent, uint64_t job);
void agent_output_bytes(struct agent *agent, uint64_t job, unsigned stream, const char *bytes, size_t n);

// So many bytes of the job's input were passed on: as many more may come.
void agent_take(struct agent *agent, uint64_t job, size_t n);

// The job has ended, and all of its output was sent.
void agent_done(struct agent *agent, uint64_t job, const struct job_end *end);

// Jobs are refused from now on because of `why`, the load or memory of the machine, while `jobs` run; or (NULL) they are taken again.
void agent_brake(struct agent *agent, size_t jobs, const char *why);

// The worker takes no further job, because of `why`; those that run go on.
void agent_bye(struct agent *agent, const char *why);

// How many jobs are there, from their `run` to agent_done() or agent_refuse().
unsigned agent_jobs(const struct agent *agent);

#endif
