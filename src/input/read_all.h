// Records that are read to the end of the input before the first is used: to be counted or shuffled.

#ifndef FAIRPAR_INPUT_READ_ALL_H
#define FAIRPAR_INPUT_READ_ALL_H

#include "input/input.h"

#include "base/buf.h"

struct gathered {
	struct buf bytes;
	struct gathered_record { size_t offset, size; uint32_t nargs; const char *bad; } *records;
	size_t n, cap;
	size_t at;   // the next one to be taken
};

// Adds a copy. `bad`, why it cannot be an item, or NULL, is static text.
void gathered_add(struct gathered *gathered, const struct record *record, const char *bad);

// Puts those that were not taken yet into a random order, each of the orders being as likely as any other.
void gathered_shuffle(struct gathered *gathered);

// Takes the next one, borrowed for the life of `gathered`. Returns false if there is none.
bool gathered_next(struct gathered *gathered, struct record *ret_record, const char **ret_bad);

void gathered_fini(struct gathered *gathered);

#endif
