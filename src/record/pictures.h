// The pictures of a run, made from its log: --report and --trace.

#ifndef FAIRPAR_RECORD_PICTURES_H
#define FAIRPAR_RECORD_PICTURES_H

#include "cli/options.h"

// Looks, before anything is run, whether they can be written. Returns 0, or -1 after messages.
int pictures_check(const struct options *options) FP_NODISCARD;

// Reads the log, twice, and writes them. `fd` is a file, read from its start; `name` is for messages, of which those about
// the log itself are left out if `said`. Returns 0, or -1 after messages: a picture that cannot be written leaves what was
// in its place, and the others are made.
int pictures_draw(const struct options *options, int fd, const char *name, bool said) FP_NODISCARD;

// Copies all that can be read from `fd`, such as a pipe, into an unlinked file in `dir`. Returns its descriptor, which the caller
// closes; or -1 with errno.
int pictures_spool(int fd, const char *dir) FP_NODISCARD;

#endif
