// Options that GNU parallel would have taken from its environment.

#ifndef FAIRPAR_CLI_OPTION_PROFILE_H
#define FAIRPAR_CLI_OPTION_PROFILE_H

#include "cli/option_table.h"
#include "cli/options.h"

// Warns if $PARALLEL or GNU parallel's file of options has some, for fairpar reads neither (parallel(1), PROFILE FILES).
// `given` is of all options of a command line that runs a command.
void option_profile_warn(const struct options *options, const bool given[NOPTIONS]);

#endif
