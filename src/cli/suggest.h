// What may be meant by a name that no option has.

#ifndef FAIRPAR_CLI_SUGGEST_H
#define FAIRPAR_CLI_SUGGEST_H

#include "cli/option_table.h"

// Finds what is near to the name: MATCH_SIMILAR, MATCH_NEGATED, MATCH_FOREIGN (of another program), or MATCH_NONE with
// *ret_near NULL. *ret_near is static.
enum option_match option_suggest(const char *name, size_t len, const char **ret_near);

#endif
