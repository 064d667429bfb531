// What all options together mean, when all of them are known.

#ifndef FAIRPAR_CLI_OPTION_SETTLE_H
#define FAIRPAR_CLI_OPTION_SETTLE_H

#include "cli/option_store.h"

// Works out what the options imply, whatever is to be run.
void settle_options(struct parser *parser);

// Settles a run of a command: sources, blocks, packing, output. Returns 0, or -1 after a message.
int settle_command(struct parser *parser);

// The same of a manifest.
int settle_manifest(struct parser *parser);

// The same of a semaphore, whose command the words are: they become the only item of the run.
int settle_semaphore(struct parser *parser, char *const *words, size_t nwords);

// Whether the program was started by the name that means --semaphore.
bool is_called_sem(const char *program);

// Sets the --term-seq of a run that names none; the text is a lawful one.
void set_default_term_seq(struct options *options, const char *text);

#endif
