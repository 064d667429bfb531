// --jobserver: creates the pipe or FIFO of a jobserver for the jobs of this run, and names it in their environment.

#ifndef FAIRPAR_SHARING_JOBSERVER_SERVER_H
#define FAIRPAR_SHARING_JOBSERVER_SERVER_H

#include "base/attr.h"
#include "slots/jobserver.h"

struct context;
struct options;

// Creates a jobserver without tokens, as options->pool.jobserver says, and puts its name into the context's MAKEFLAGS. `dir`: the
// directory of a FIFO. Called while the process has one thread. Returns 0, and the caller calls jobserver_close(); or -1 after a
// message.
int jobserver_server_open(const struct options *options, struct context *context, const char *dir, struct jobserver *ret_jobserver) FP_NODISCARD;

#endif
