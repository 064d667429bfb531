// Which options do not go together, and which do nothing beside another one.

#ifndef FAIRPAR_CLI_OPTION_PAIRS_H
#define FAIRPAR_CLI_OPTION_PAIRS_H

#include "cli/option_table.h"
#include "cli/options.h"

// Checks what was given for contradictions. Returns 0, or -1 after a message.
int option_pairs_check(const struct options *options, const bool given[NOPTIONS]);

// Checks that each batch is named once. Returns 0, or -1 after a message.
int option_batches_check(const struct options *options);

// Checks, before any is opened, that no file is written for two options, or read and written: the second would write over
// the first. Returns 0, or -1 after a message.
int option_files_check(const struct options *options);

// Warns, in one line, of files that are asked for and will not be written: nothing runs with --dry-run and its kin.
void option_idle_warn(const struct options *options, const bool given[NOPTIONS]);

#endif
