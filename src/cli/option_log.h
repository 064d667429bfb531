// The options of the logs, of --resume and its kin, and of result files.

#ifndef FAIRPAR_CLI_OPTION_LOG_H
#define FAIRPAR_CLI_OPTION_LOG_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes one of the group GROUP_LOG. Returns 0, or -1 after a message.
int option_log_take(struct options *options, enum option_id id, const char *value);

// Checks that what is to be resumed has a log that can be read, and what does not go with a table. Returns 0, or -1 after
// a message.
int option_log_check(const struct options *options);

// The number of "fd:N", of no more than 9 digits; -1 if the name is none, with *ret_at the offset of the mistake, or 0 if it
// does not begin with "fd:".
int option_log_fd(const char *name, size_t *ret_at);

// True if --results means a table by the name's ending: .csv, .tsv or .json, in any case.
bool option_results_is_table(const char *path);

#endif
