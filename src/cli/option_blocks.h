// The options of --pipe and --pipe-part: data in the place of items.

#ifndef FAIRPAR_CLI_OPTION_BLOCKS_H
#define FAIRPAR_CLI_OPTION_BLOCKS_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes an option of GROUP_PIPE. Returns 0, or -1 after a message.
int block_option_take(struct options *options, enum option_id id, const char *value);

// With --pipe or --pipe-part: fills in what was not said, and refuses what does not go with them. `given` is by option.
// Returns 0, or -1 after a message.
int block_options_settle(struct options *options, const bool *given);

// Without them: refuses what needs them. Returns 0, or -1 after a message.
int block_options_refuse(const struct options *options);

#endif
