// Takes the values of options, or refuses them with a message.
//
// All return 0, or -1 after a message that begins with the option's name, with *ret_… unchanged.

#ifndef FAIRPAR_CLI_OPTION_TAKE_H
#define FAIRPAR_CLI_OPTION_TAKE_H

#include "base/attr.h"
#include "cli/option_table.h"

#include <stddef.h>
#include <stdint.h>

// Prints "error: --NAME " and the text, and returns -1.
int option_fail(enum option_id id, const char *format, ...) FP_PRINTF(2, 3);

// A decimal number from `least` to `most`.
int option_take_long(enum option_id id, const char *text, long least, long most, long *ret_value);

// option_duration(), for an option that takes a percentage, too.
int option_take_duration(enum option_id id, const char *text, uint64_t *ret_ns);

// option_size()
int option_take_size(enum option_id id, const char *text, size_t *ret_bytes);

// A text that is not empty. It stays the caller's, as what *ret_text points to.
int option_take_text(enum option_id id, const char *text, const char **ret_text);

#endif
