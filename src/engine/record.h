// Queued items as bytes: the records of a queue's chunks and of a worker's local list.
//
// A record is a header (RECORD_HEAD bytes), its id if that does not follow from the record before, its turns if these are
// several (struct work.turns), and the data. So an item costs 8 bytes besides its data, in memory and in the spill file.

#ifndef FAIRPAR_ENGINE_RECORD_H
#define FAIRPAR_ENGINE_RECORD_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	RECORD_HEAD = 8,
	RECORD_EXTRA = 12, // at most, for its id and its turns
	RECORD_GONE = 1 << 4, // in the flags of an item that was taken out of the middle: only its bytes are left
	RECORD_LAST_ITEM = 1 << 5, // in the flags of a queue's last item, which nobody cancels; never encoded
};

// An item, as it is encoded and decoded. `data` is borrowed.
struct item_record {
	const void *data;
	uint32_t size;
	uint16_t width;   // slots it takes
	uint8_t type;     // number of its work_type in the pool
	uint8_t flags;    // enum work_flags
	uint64_t id;
	uint32_t turns;   // that it is charged; 0 is taken for 1
};

// Returns the encoded size of the record, in bytes, if the id of the one before it is `prev`.
size_t record_bytes(const struct item_record *record, uint64_t prev);

// Writes it to `to` and returns its bytes.
size_t record_encode(const struct item_record *record, uint64_t prev, char *to);

// Reads the record at `from`, behind one with the id `prev`. Returns its bytes; record->data points into `from`.
size_t record_decode(const char *from, uint64_t prev, struct item_record *ret_record);

// Marks the record at `at` as RECORD_GONE.
void record_mark_gone(char *at);

// Bytes of the record at `from`, of which `len` can be read; 0 if it is longer than that.
size_t record_peek(const char *from, size_t len);

// A local list: records in a row, the oldest first. The owner takes the newest, thieves the oldest.
struct deque {
	char *data;
	size_t cap, begin, len; // begin: of the oldest; len: bytes in use
	uint64_t nitems;
};

// Bytes that deque_push() would allocate.
size_t deque_growth(const struct deque *deque, const struct item_record *record);
// Appends a copy of the record as the newest.
void deque_push(struct deque *deque, const struct item_record *record);

// Take a record out of a list that is not empty. ret_record->data points into the list, until the next push.
void deque_take_newest(struct deque *deque, struct item_record *ret_record);
void deque_take_oldest(struct deque *deque, struct item_record *ret_record);

// Takes the record with that id out of the list, wherever it stands. Returns false if there is none. The data, of which
// ret_record->data is a copy, are the caller's to free.
bool deque_take_id(struct deque *deque, uint64_t id, struct item_record *ret_record);

// Frees the list, which is empty then and may be used again.
void deque_fini(struct deque *deque);

#endif
