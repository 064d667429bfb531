// The options that say which items there are, and what replacement strings are called.

#ifndef FAIRPAR_CLI_OPTION_ITEMS_H
#define FAIRPAR_CLI_OPTION_ITEMS_H

#include "cli/option_table.h"
#include "cli/options.h"

// What is only needed until all options are known.
struct item_options {
	const char *arg_sep, *arg_file_sep;
	const char *trim;        // --trim as given, or NULL
	const char *colsep;      // the same
};

#define ITEM_OPTIONS_INIT {.arg_sep = ":::", .arg_file_sep = "::::"}

// Takes an option of GROUP_INPUT other than --arg-file. Returns 0, or -1 after a message.
int item_option_take(struct options *options, struct item_options *items, enum option_id id, const char *value);

// Takes an option of GROUP_REPLACEMENT. Returns 0, or -1 after a message.
int replacement_option_take(struct options *options, enum option_id id, const char *value);

// Puts together how items are split and trimmed. Returns 0, or -1 after a message.
int item_options_settle(struct options *options, const struct item_options *items);

#endif
