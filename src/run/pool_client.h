// How a fairpar is a client of a pool: by its options and environment, starting the server if there is none.

#ifndef FAIRPAR_RUN_POOL_CLIENT_H
#define FAIRPAR_RUN_POOL_CLIENT_H

#include "base/attr.h"
#include "base/buf.h"
#include "slots/client.h"

#include <stdbool.h>

struct options;

// Connects to the pool options->pool.name. `dir` and `label`: where and what runs, to show; borrowed as long as the
// client is there. `starts`: a server is started if there is none. Returns NULL if it cannot be had, after a warning
// that says what follows; or, with *ret_refused, after an error: somebody else could have a hand in it. Without
// `starts` it is no trouble that there is no server.
struct client *pool_client_open(const struct options *options, const char *dir, const char *label, bool shows_place, bool starts,
                                bool *ret_refused) FP_NODISCARD;

// Connects once more to the pool, whose server runs, for slots that nobody else waits for. `dir` and `label` as above.
// NULL after a warning.
struct client *pool_client_open_spare(const struct options *options, const char *dir, const char *label) FP_NODISCARD;

// Connects to the fairpar in whose job this one runs, $FAIRPAR_SOCK. Returns NULL if there is none, or it is not to be
// had: then the slots are the run's own; or, with *ret_refused, after an error. *ret_socket is its name for
// pool_client_add_lease(), for the caller to free().
struct client *pool_client_open_parent(const struct options *options, const char *dir, const char *label, char **ret_socket, bool *ret_refused)
	FP_NODISCARD;

// Appends "waits for a slot of pool NAME: 2nd of 3, held by …", from a CLIENT_PLACE; NULL for `pool`: of the run that
// this one is started in.
void pool_client_add_place(struct buf *buf, const char *pool, const struct client_event *event);

// Reads "NAME:NUMBER:NONCE", the value of $FAIRPAR_LEASE, $FAIRPAR_SOCK and $FAIRPAR_CONTROL. Returns the length of the name, or
// 0: it is no such value, or NULL.
size_t pool_client_parse_lease(const char *value, struct lease_id *ret_id);

// The words with blanks between them, for the caller to free().
char *pool_client_label(char *const *words);

// Appends the value of $FAIRPAR_LEASE, or of $FAIRPAR_SOCK where `pool` is the name of a socket, for a job on that
// lease: so a process below the job is lent it.
void pool_client_add_lease(struct buf *buf, const char *pool, struct lease_id id);

#endif
