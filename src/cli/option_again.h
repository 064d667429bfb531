// Which command line runs again what failed in a run, by the joblog that it left.

#ifndef FAIRPAR_CLI_OPTION_AGAIN_H
#define FAIRPAR_CLI_OPTION_AGAIN_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>

// Appends that line for the shell: `argv` is that of the run (NULL at its end), `joblog` its file. Commands come from the
// joblog (--retry-failed), so that no input is needed; with a manifest its batches are run again (--resume-failed). What
// would write over the logs of this run is left out. Returns false, and nothing is appended, where no such line works.
bool option_add_again(struct buf *buf, char *const *argv, const char *joblog, bool has_manifest);

// The same for what is not done of a run without manifest, some of which was cancelled: its command line with
// --resume-failed. Returns false, and nothing is appended, where the items cannot be read again or are too many to show.
bool option_add_rest(struct buf *buf, char *const *argv, const char *joblog);

#endif
