// Records that are kept in memory: to be counted, shuffled, or combined with those of other sources.

#ifndef FAIRPAR_INPUT_RECORD_LIST_H
#define FAIRPAR_INPUT_RECORD_LIST_H

#include "input/input.h"

#include "base/buf.h"

// Zeroed is an empty one.
struct record_list {
	struct buf bytes;    // the arguments of all records
	struct listed_record { size_t offset, size; uint32_t nargs; const char *bad; } *records;
	size_t n, cap;
	size_t at;           // the next one that its reader takes
};

// Frees the records and makes the list empty.
void record_list_fini(struct record_list *list);

// Adds a copy of the record. `bad` says why it cannot be an item (static text, kept as it is), or is NULL.
void record_list_add(struct record_list *list, const struct record *record, const char *bad);

// Sets *ret_record to record number `i` (below list->n), borrowed until one is added. Returns its `bad`.
const char *record_list_get(const struct record_list *list, size_t i, struct record *ret_record);

// Puts the records from list->at on into a random order, in which each order is as likely as any other.
void record_list_shuffle(struct record_list *list);

#endif
