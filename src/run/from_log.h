// What the log of a run tells, without running anything: --from-log.

#ifndef FAIRPAR_RUN_FROM_LOG_H
#define FAIRPAR_RUN_FROM_LOG_H

#include "cli/options.h"

// Reads options->from_log and writes what is asked for to stdout. Returns the exit status.
int show_log(const struct options *options);

#endif
