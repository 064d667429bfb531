// The pictures of a run, made from its log: --report and --trace.

#ifndef FAIRPAR_RUN_PICTURES_H
#define FAIRPAR_RUN_PICTURES_H

#include "cli/options.h"
#include "job/event.h"

// True if one is asked for.
bool pictures_wanted(const struct options *options);

// Looks, before anything is run, whether they can be written. Returns 0, or -1 after messages.
int pictures_check(const struct options *options) FP_NODISCARD;

// Reads the log, twice, and writes them. `fd` is a file, read from its start; `name` is for messages, of which those about
// the log itself are left out if `said`. Returns 0, or -1 after messages: a picture that cannot be written leaves what was
// in its place, and the others are made.
int pictures_draw(const struct options *options, int fd, const char *name, bool said) FP_NODISCARD;

// Reads the log `fd` as eventread() does, and prints the messages if `with_messages`. Returns 0, or -1 if it is no log that can be
// read, or a message could not be printed.
int log_read(int fd, const char *name, event_fn *on_event, void *arg, bool with_messages) FP_NODISCARD;

// Copies all that can be read from `fd`, such as a pipe, into an unlinked file in `dir`. Returns its descriptor, which the caller
// closes; or -1 with errno.
int pictures_spool(int fd, const char *dir) FP_NODISCARD;

#endif
