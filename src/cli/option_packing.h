// The options that say how many items go into one command.

#ifndef FAIRPAR_CLI_OPTION_PACKING_H
#define FAIRPAR_CLI_OPTION_PACKING_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes an option of GROUP_PACKING. Returns 0, or -1 after a message. *ret_done is set for one that only prints.
int packing_option_take(struct options *options, enum option_id id, const char *value, bool *ret_done);

// --show-limits, when --max-chars is known. Returns 0, or -1 after a message.
int packing_show_limits(const struct packing *packing);

// Decides which of -n, -N, -L and -l counts, and refuses what does not go with --pack. `given`: by option_id. Returns 0,
// or -1 after a message.
int packing_options_settle(struct options *options, const bool *given);

#endif
