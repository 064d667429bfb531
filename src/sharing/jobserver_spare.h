// Tokens of a jobserver (slots/jobserver.h) that stand for spare slots of a pool. For each token it holds a lease, which the
// server grants only while no ordinary client waits.
//
// When one waits, the tokens in the pipe are taken back and their leases released at once; those of the other tokens as soon as
// jobs put these back. A client of this kind also gives back in this way while it has at least two leases more than another one
// that waits.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <sys/types.h>

struct jobserver;
struct jobserver_spare;
struct options;

// Connects to the pool that the options name, whose server runs already. `jobserver` is borrowed until jobserver_spare_close(),
// which frees the result. Returns NULL after a message.
struct jobserver_spare *jobserver_spare_open(const struct options *options, struct jobserver *jobserver) FP_NODISCARD;
void jobserver_spare_close(struct jobserver_spare *spare); // NULL-safe

// Binds the leases that come from now on to the process `pid`: the server counts them as in use until that process has
// ended, even if this one is killed. `pidfd` stays the caller's, who keeps it open.
void jobserver_spare_set_process(struct jobserver_spare *spare, pid_t pid, int pidfd);

// Return a descriptor to poll for POLLIN, or -1: the connection to the server; and the pipe, while tokens are to be taken back.
int jobserver_spare_fd(const struct jobserver_spare *spare);
int jobserver_spare_token_fd(const struct jobserver_spare *spare);

// Requests, offers and takes back tokens. To be called when one of these is readable or `offers` has changed, which says whether
// a job runs that may take tokens. Returns true if the connection was replaced: jobserver_spare_fd() is another descriptor now.
bool jobserver_spare_tick(struct jobserver_spare *spare, bool offers);

// Takes all tokens out of the pipe and releases all leases. Called when no job runs, so that all should be there. Returns how
// many are missing; below 0: how many there are too many.
int jobserver_spare_reset(struct jobserver_spare *spare);
