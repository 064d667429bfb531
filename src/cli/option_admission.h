// The options that say when jobs start.

#ifndef FAIRPAR_CLI_OPTION_ADMISSION_H
#define FAIRPAR_CLI_OPTION_ADMISSION_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes an option of GROUP_ADMISSION. Returns 0, or -1 after a message.
int admission_option_take(struct options *options, enum option_id id, const char *value);

#endif
