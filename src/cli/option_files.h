// The files that options name: no file is written for two of them, or read and written.

#ifndef FAIRPAR_CLI_OPTION_FILES_H
#define FAIRPAR_CLI_OPTION_FILES_H

#include "cli/options.h"

// The number of "fd:N", of no more than 9 digits; -1 if the name is none, with *ret_at the offset of the mistake, or 0 if it
// does not begin with "fd:".
int option_log_fd(const char *name, size_t *ret_at);

// True if --results means a table by the name's ending: .csv, .tsv or .json, in any case.
bool option_results_is_table(const char *path);

// Checks, before any is opened, that no file is written for two options, or read and written: the second would write over
// the first. But --eta and --log may name one file: it is read before it is emptied. Returns 0, or -1 after a message.
int option_files_check(const struct options *options);

// The same for one more file that is read, and what that is called ("the items of …").
int option_file_check_read(const struct options *options, const char *name, const char *path);

// True if --eta and --log name one file.
bool option_log_is_eta(const struct options *options);

#endif
