// The options of what is shown while a run goes.

#ifndef FAIRPAR_CLI_OPTION_STATUS_H
#define FAIRPAR_CLI_OPTION_STATUS_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes one of the group GROUP_STATUS. Returns 0, or -1 after a message.
int option_status_take(struct options *options, enum option_id id, const char *value);

// Finds auto, tty, plain or none. Returns 0, or -1.
int option_progress_parse(const char *text, enum progress *ret_progress);

#endif
