// Queued items as bytes: the records of a queue's chunks and of a worker's local list.

#include "engine/record.h"

#include "base/alloc.h"
#include "base/diag.h"

// In the flags byte, above enum work_flags.
enum {
	HAS_TURNS = RECORD_LAST_ITEM, // that flag is never encoded
	HAS_ID = 1 << 7,
	HAS_ALL = HAS_TURNS | HAS_ID,
};

struct head {
	uint32_t size;
	uint16_t width;
	uint8_t type;
	uint8_t flags;
};

_Static_assert(sizeof(struct head) == RECORD_HEAD, "the header has no holes");

static uint8_t extras(const struct item_record *record, uint64_t prev) {
	return (uint8_t)((record->id != prev + 1 ? HAS_ID : 0) | (record->turns > 1 ? HAS_TURNS : 0));
}

static size_t extra_bytes(unsigned flags) {
	return ((flags & HAS_ID) ? sizeof(uint64_t) : 0) + ((flags & HAS_TURNS) ? sizeof(uint32_t) : 0);
}

size_t record_bytes(const struct item_record *record, uint64_t prev) {
	return RECORD_HEAD + extra_bytes(extras(record, prev)) + record->size;
}

size_t record_encode(const struct item_record *record, uint64_t prev, char *to) {
	struct head head = {.size = record->size, .width = record->width, .type = record->type};
	head.flags = (uint8_t)(record->flags | extras(record, prev));
	char *at = to;
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	if (head.flags & HAS_ID) {
		memcpy(at, &record->id, sizeof(record->id));
		at += sizeof(record->id);
	}
	if (head.flags & HAS_TURNS) {
		memcpy(at, &record->turns, sizeof(record->turns));
		at += sizeof(record->turns);
	}
	if (record->size > 0) {
		memcpy(at, record->data, record->size);
	}
	return (size_t)(at - to) + record->size;
}

size_t record_decode(const char *from, uint64_t prev, struct item_record *ret_record) {
	struct head head;
	const char *at = from;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	*ret_record = (struct item_record){.size = head.size, .width = head.width, .type = head.type, .id = prev + 1, .turns = 1};
	ret_record->flags = (uint8_t)(head.flags & ~HAS_ALL);
	if (head.flags & HAS_ID) {
		memcpy(&ret_record->id, at, sizeof(ret_record->id));
		at += sizeof(ret_record->id);
	}
	if (head.flags & HAS_TURNS) {
		memcpy(&ret_record->turns, at, sizeof(ret_record->turns));
		at += sizeof(ret_record->turns);
	}
	ret_record->data = at;
	return (size_t)(at - from) + head.size;
}

size_t record_peek(const char *from, size_t len) {
	struct head head;
	if (len < sizeof(head)) {
		return 0;
	}
	memcpy(&head, from, sizeof(head));
	size_t bytes = RECORD_HEAD + extra_bytes(head.flags) + head.size;
	return bytes <= len ? bytes : 0;
}

void record_mark_gone(char *at) {
	struct head head;
	memcpy(&head, at, sizeof(head));
	head.flags |= RECORD_GONE;
	memcpy(at, &head, sizeof(head));
}

// ---- local lists ----
//
// Behind each record lies its length, so that the newest can be found from the end. Nothing wraps: what thieves took
// from the front is used again by moving the rest there.
//
//	begin                                           begin + len
//	| record length | record length | record length |

enum {
	TAIL = sizeof(uint32_t),   // the length behind each record
	ID_NONE = 0,               // the ids in a list do not follow from one another: always encoded
};

static size_t deque_need(const struct item_record *record) {
	return record_bytes(record, record->id) + TAIL; // an id never follows itself, so it is written
}

static size_t deque_cap(const struct deque *deque, size_t need) {
	size_t cap = deque->cap ? deque->cap : 128;
	while (deque->begin + deque->len + need > cap) {
		cap *= 2;
	}
	return cap;
}

size_t deque_growth(const struct deque *deque, const struct item_record *record) {
	size_t need = deque_need(record);
	if (deque->begin + deque->len + need <= deque->cap) {
		return 0;
	}
	// what thieves have taken from the front is used again before memory is asked for
	if (deque->len + need <= deque->cap / 2) {
		return 0;
	}
	return deque_cap(deque, need) - deque->cap;
}

void deque_push(struct deque *deque, const struct item_record *record) {
	size_t need = deque_need(record);
	if (deque->begin + deque->len + need > deque->cap) {
		if (deque->len + need <= deque->cap / 2) {
			// at least as much was taken as is moved, so a push costs constant time in the long run
			memmove(deque->data, deque->data + deque->begin, deque->len);
			deque->begin = 0;
		} else {
			deque->cap = deque_cap(deque, need);
			deque->data = xrealloc(deque->data, deque->cap);
		}
	}
	char *at = deque->data + deque->begin + deque->len;
	uint32_t len = (uint32_t)record_encode(record, record->id, at); // an id never follows itself, so it is written
	memcpy(at + len, &len, TAIL);
	deque->len += len + TAIL;
	++deque->nitems;
}

void deque_take_newest(struct deque *deque, struct item_record *ret_record) {
	verify(deque->nitems > 0);
	uint32_t len;
	const char *end = deque->data + deque->begin + deque->len;
	memcpy(&len, end - TAIL, TAIL);
	record_decode(end - TAIL - len, ID_NONE, ret_record);
	deque->len -= len + TAIL;
	--deque->nitems;
	if (deque->nitems == 0) {
		deque->begin = 0;
	}
}

void deque_take_oldest(struct deque *deque, struct item_record *ret_record) {
	verify(deque->nitems > 0);
	size_t len = record_decode(deque->data + deque->begin, ID_NONE, ret_record) + TAIL;
	deque->begin += len;
	deque->len -= len;
	--deque->nitems;
	if (deque->nitems == 0) {
		deque->begin = 0;
	}
}

bool deque_take_id(struct deque *deque, uint64_t id, struct item_record *ret_record) {
	size_t end = deque->begin + deque->len;
	for (size_t at = deque->begin, len; at < end; at += len) {
		len = record_decode(deque->data + at, ID_NONE, ret_record) + TAIL;
		if (ret_record->id == id) {
			ret_record->data = xmemdup(ret_record->data, ret_record->size);
			memmove(deque->data + at, deque->data + at + len, end - at - len);
			deque->len -= len;
			--deque->nitems;
			deque->begin = deque->nitems > 0 ? deque->begin : 0;
			return true;
		}
	}
	return false;
}

void deque_fini(struct deque *deque) {
	free(deque->data);
	*deque = (struct deque){0};
}
