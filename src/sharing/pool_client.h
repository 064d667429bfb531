// Connects a fairpar to a pool, as its options and environment say; starts the server of the pool if there is none.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "slots/client.h"

#include <stdbool.h>

struct options;

enum { EXIT_NO_SLOT = 75 }; // of --pool-wait: EX_TEMPFAIL of sysexits.h

// Connects to the pool options->pool.name, for the command of --single or a run, and starts a server if there is none; or for --status, and
// starts none. Returns NULL
//	with *ret_status, the caller's exit status, after an error message: the socket may be another user's, or no server has
//	answered within --pool-wait; for --status, any other error too
//	else, but for --status, after a warning that says how the caller goes on
//	else silently: there is no server
struct client *pool_client_open(const struct options *options, int *ret_status) FP_NODISCARD;

// Has this process count the memory that jobs of others in the pool need, and tell them what its own jobs need.
struct memory;
void pool_client_share_memory(const struct client *client, const char *pool, struct memory *memory);

// Appends "WHAT slot of pool NAME: 2nd of 3, held by …", from a CLIENT_RANK; `pool` is NULL for the run that this one is started in.
void pool_client_add_rank(struct buf *buf, const char *what, const char *pool, const struct client_event *event);

// Prints a message of what pool_client_add_rank() says, and of how to see more.
void pool_client_say_rank(const char *pool, const struct client_event *event);

// The words with blanks between them, for the caller to free().
char *pool_client_label(char *const *words);
