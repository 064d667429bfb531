// Which options do not go together, and which do nothing beside another one.

#ifndef FAIRPAR_CLI_CONFLICTS_H
#define FAIRPAR_CLI_CONFLICTS_H

#include "cli/option_table.h"
#include "cli/options.h"

// Checks what was given for contradictions. Returns 0, or -1 after a message.
int option_pairs_check(const struct options *options, const bool given[NOPTIONS]);

// Checks that each batch is named once. Returns 0, or -1 after a message.
int option_batches_check(const struct options *options);

// Checks, before any is opened, that no file is written for two options, or read and written: the second would write over
// the first. But --eta and --log may name one file: it is read before it is emptied. Returns 0, or -1 after a message.
int option_files_check(const struct options *options);

// The same for one more file that is read, and what that is called ("the items of …").
int option_file_check_read(const struct options *options, const char *name, const char *path);

// True if --eta and --log name one file.
bool option_log_is_eta(const struct options *options);

// Warns of files that are asked for and will not be written, for nothing runs with --dry-run and its kin; and of what is
// said of blocks where there are none.
void option_idle_warn(const struct options *options, const bool given[NOPTIONS]);

#endif
