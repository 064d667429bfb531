// The pictures of a run, made from its log: --report and --trace.

#ifndef FAIRPAR_RECORD_PICTURES_H
#define FAIRPAR_RECORD_PICTURES_H

#include "cli/options.h"

// Checks, before anything is run, that the files of the pictures can be written. Returns 0, or -1 after messages.
int pictures_check(const struct options *options) FP_NODISCARD;

// Reads the log twice, from the start of the file `fd`, and writes the pictures. Messages call the log `name`; those about what is
// wrong in it are printed only if `with_messages`. Returns 0, or -1 after messages. If a picture cannot be written, the file that
// was in its place stays as it was, and the other pictures are written.
int pictures_draw(const struct options *options, int fd, const char *name, bool with_messages) FP_NODISCARD;

#endif
