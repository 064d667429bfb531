// Connects a fairpar to a pool, as its options and environment say; starts the server of the pool if there is none.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "slots/client.h"

struct options;

enum { EXIT_NO_SLOT = 75 }; // exit status when --pool-wait is over: EX_TEMPFAIL of sysexits.h

// Connects to the pool options->pool.name. For --single or a run, starts a server if there is none; for --status, starts none. Returns NULL
//	with *ret_status, the caller's exit status, after an error message, if the directory or the server may be another user's, or no
//	server has answered within --pool-wait; for --status also after any other error
//	with *ret_status 0, for --single or a run, after a warning that says how the caller goes on without the pool
//	with *ret_status 0, for --status, silently: there is no server
struct client *pool_client_open(const struct options *options, int *ret_status) FP_NODISCARD;

// Makes this process count the memory that jobs of the pool's other clients need, and tell these clients how much its own jobs need.
struct memory;
void pool_client_share_memory(const struct client *client, const char *pool, struct memory *memory);

// Appends `what`, then "2nd of 3 waiting for pool NAME, held by …", by a CLIENT_RANK event; `pool` NULL: for the run in whose job this one runs.
void pool_client_add_rank(struct buf *buf, const char *what, const char *pool, const struct client_event *event);

// Prints the text of pool_client_add_rank() as a message; for a pool also the command that shows more.
void pool_client_say_rank(const char *pool, const struct client_event *event);

// Returns the words joined by blanks; the caller frees the text.
char *pool_client_label(char *const *words);
