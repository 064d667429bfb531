// The options of what is told of a run, at its end or later from its log.

#ifndef FAIRPAR_CLI_OPTION_LOOK_H
#define FAIRPAR_CLI_OPTION_LOOK_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes one of the group GROUP_LOOK. Returns 0, or -1 after a message.
int option_look_take(struct options *options, enum option_id id, const char *value);

// With --from-log nothing is run: checks that nothing was given that is for a run, by `given` of all options and the
// number of words behind them. Returns 0, or -1 after a message.
int option_look_check(const struct options *options, const bool given[NOPTIONS], int nwords);

#endif
