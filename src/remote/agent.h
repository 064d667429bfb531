// The worker's end of a line.
//
//   run -> taken -agent_started()-> running -agent_done()-> gone     taken -agent_refuse(), agent_done()-> gone
//
// Pure, as channel.h. What is called back must not call in.

#ifndef FAIRPAR_REMOTE_AGENT_H
#define FAIRPAR_REMOTE_AGENT_H

#include "remote/channel.h"
#include "remote/ends.h"

struct agent_calls {
	void (*env)(void *arg, bool adds, const char *bytes, size_t n); // as host_env(); valid during the call, as all bytes
	void (*run)(void *arg, uint64_t job, const char *payload, size_t n); // to be answered by started, refuse or done
	void (*input)(void *arg, uint64_t job, const char *bytes, size_t n); // agent_take() when it was passed on
	void (*input_end)(void *arg, uint64_t job);
	void (*room)(void *arg, uint64_t job);                 // more of its output may be sent
	void (*stop)(void *arg, uint64_t job, enum stop_how how);
	void (*shut)(void *arg, uint64_t job, unsigned stream); // nobody reads its output any more; as host_shut()
	void (*rest)(void *arg, bool begins);                  // as host_rest()
	void (*bye)(void *arg, const char *why);               // no further job comes
};

struct agent;

struct agent *agent_new(const struct agent_calls *calls, void *arg, const struct worker_hello *hello, uint64_t now);
void agent_free(struct agent *agent);

// The line. As those of channel.h. It begins with the dispatcher's greeting, which is answered with the hello.
int agent_receive(struct agent *agent, const char *bytes, size_t n, uint64_t now);
const char *agent_output(struct agent *agent, size_t *ret_n);
void agent_sent(struct agent *agent, size_t n);
uint64_t agent_tick(struct agent *agent, uint64_t now);
void agent_break(struct agent *agent, const char *why);
const char *agent_why(const struct agent *agent); // it is broken, or NULL

// It runs, since `ago` nanoseconds.
void agent_started(struct agent *agent, uint64_t job, uint64_t pid, uint64_t ago);

void agent_refuse(struct agent *agent, uint64_t job, const char *why);

// How many bytes of output may be sent now; then agent_output_bytes() sends no more than that. Stream 1 or 2.
size_t agent_output_room(const struct agent *agent, uint64_t job);
void agent_output_bytes(struct agent *agent, uint64_t job, unsigned stream, const char *bytes, size_t n);

// So many bytes of its input were passed on.
void agent_take(struct agent *agent, uint64_t job, size_t n);

// It has ended, and all of its output was sent.
void agent_done(struct agent *agent, uint64_t job, const struct job_end *end);

// From now on no job is taken, for a reason of the machine, while so many run; or (NULL) they are again.
void agent_brake(struct agent *agent, size_t jobs, const char *why);

// No further job is taken.
void agent_bye(struct agent *agent, const char *why);

// How many jobs are not gone.
unsigned agent_jobs(const struct agent *agent);

#endif
