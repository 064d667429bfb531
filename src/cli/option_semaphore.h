// The options of semaphore mode: one command that waits until there is room for it (sem_mode.c).

#ifndef FAIRPAR_CLI_OPTION_SEMAPHORE_H
#define FAIRPAR_CLI_OPTION_SEMAPHORE_H

#include "cli/option_table.h"
#include "cli/options.h"

// Whether the program was started by the name that means --semaphore.
bool option_semaphore_is_called(const char *program);

// Takes one of the group GROUP_SEMAPHORE. Returns 0, or -1 after a message.
int option_semaphore_take(struct options *options, enum option_id id, const char *value);

// Makes the words one command line, which is the only item of the run, and settles what else is different with a
// semaphore. Options and words have all been taken. Returns 0, or -1 after a message.
int option_semaphore_settle(struct options *options, char *const *words, size_t nwords);

#endif
