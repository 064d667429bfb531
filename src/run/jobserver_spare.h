// Tokens of a jobserver (slots/jobserver.h) that are spare slots of a pool: there is a lease for each, of a client that
// gets only what nobody else waits for. When somebody waits, the tokens that nobody has taken are taken back, and the
// others when they are put back. Among several such clients who has more than another that waits, by more than one, gives
// back in the same way.

#ifndef FAIRPAR_RUN_JOBSERVER_SPARE_H
#define FAIRPAR_RUN_JOBSERVER_SPARE_H

#include "base/attr.h"

#include <stdbool.h>

struct jobserver;
struct jobserver_spare;
struct options;

// Connects to the pool that the options name, whose server runs. NULL after a message. `jobserver` outlives it.
struct jobserver_spare *jobserver_spare_open(const struct options *options, struct jobserver *jobserver) FP_NODISCARD;
void jobserver_spare_close(struct jobserver_spare *spare); // NULL-safe

// The slots stay taken until that process has ended, even if this one is killed. The descriptor stays the caller's.
void jobserver_spare_set_process(struct jobserver_spare *spare, int pidfd);

// What to poll for POLLIN, each may be -1: the connection, and the pipe while tokens are awaited there.
int jobserver_spare_fd(const struct jobserver_spare *spare);
int jobserver_spare_token_fd(const struct jobserver_spare *spare);

// To be called when one of these is readable, or `offers` is another than before: are there jobs to have tokens?
// Returns whether jobserver_spare_fd() is another now.
bool jobserver_spare_tick(struct jobserver_spare *spare, bool offers);

// When no job runs, so that all tokens should be in the pipe: takes all back, and gives all slots back. Returns how many
// tokens more there should have been (below 0: fewer).
int jobserver_spare_reset(struct jobserver_spare *spare);

#endif
