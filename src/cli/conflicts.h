// Which options do not go together, and which do nothing beside another one.

#ifndef FAIRPAR_CLI_CONFLICTS_H
#define FAIRPAR_CLI_CONFLICTS_H

#include "cli/option_store.h"

// Each checks what was given, as settle_options() has worked it out, and returns 0, or -1 after a message.
int option_rules_check(const struct parser *parser);            // EXCLUDES and NEEDS of options.def
int option_from_log_check(const struct parser *parser, bool words); // with --from-log nothing is run; `words` follow the options
int option_log_check(const struct options *options);            // what is to be resumed has a log that can be read
int option_batches_check(const struct options *options);        // each batch is named once

// Warns of files that are asked for and will not be written, for nothing runs with --dry-run and its kin; and of what is
// said of blocks where there are none.
void option_idle_warn(const struct parser *parser);

#endif
