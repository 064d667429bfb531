// The options that say how jobs are run.

#ifndef FAIRPAR_CLI_OPTION_JOBS_H
#define FAIRPAR_CLI_OPTION_JOBS_H

#include "cli/option_table.h"
#include "cli/options.h"

// Takes one of the group GROUP_JOBS. Returns 0, or -1 after a message.
int job_option_take(struct options *options, enum option_id id, const char *value);

// Sets the --term-seq of a run that names none; the text is a lawful one.
void job_options_default_term_seq(struct options *options, const char *text);

#endif
