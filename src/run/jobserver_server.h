// --jobserver: the pipe or the FIFO that jobs get their slots from, and how they hear of it.

#ifndef FAIRPAR_RUN_JOBSERVER_SERVER_H
#define FAIRPAR_RUN_JOBSERVER_SERVER_H

#include "base/attr.h"
#include "slots/jobserver.h"

struct context;
struct options;

// Makes one of the form that the options say, without a token, and tells jobs by the context's environment. `dir`: for a
// FIFO. While there is one thread. Returns 0, or -1 after a message. The caller closes it.
int jobserver_server_open(const struct options *options, struct context *context, const char *dir, struct jobserver *ret_jobserver) FP_NODISCARD;

#endif
