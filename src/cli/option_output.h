// The options of what jobs print, and of what their failures mean.

#ifndef FAIRPAR_CLI_OPTION_OUTPUT_H
#define FAIRPAR_CLI_OPTION_OUTPUT_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes one of the groups GROUP_OUTPUT and GROUP_OUTCOME. Returns 0, or -1 after a message.
int output_option_take(struct options *options, enum option_id id, const char *value);

#endif
