// Which command line runs again what failed in a run, by the joblog that it left.

#ifndef FAIRPAR_CLI_OPTION_AGAIN_H
#define FAIRPAR_CLI_OPTION_AGAIN_H

#include "base/buf.h"

#include <stdbool.h>

// What is run again.
enum again {
	AGAIN_COMMANDS,  // --retry-failed: the commands of the joblog, so that no input is needed
	AGAIN_MANIFEST,  // --resume-failed: the batches of the manifest
	AGAIN_ITEMS,     // --resume-failed: the whole command line, for what was cancelled too
};

// Appends that line for the shell: `argv` is that of the run (NULL at its end), `joblog` its file. What would write over the
// logs of this run is left out. Returns false, and nothing is appended, where no such line works: with AGAIN_ITEMS also if
// the items cannot be read again or are too many to show.
bool option_add_again(struct buf *buf, char *const *argv, const char *joblog, enum again again);

#endif
