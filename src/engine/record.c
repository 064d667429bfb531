// Queued items as bytes: the records of a queue's chunks and of a worker's local list.

#include "engine/record.h"

#include "base/alloc.h"
#include "base/diag.h"

// In the flags byte, above enum work_flags.
enum {
	HAS_CONTEXT = 1 << 6,
	HAS_ID = 1 << 7,
	HAS_ALL = HAS_CONTEXT | HAS_ID,
};

struct head {
	uint32_t size;
	uint16_t width;
	uint8_t type;
	uint8_t flags;
};

_Static_assert(sizeof(struct head) == RECORD_HEAD, "the header has no holes");

static uint8_t extras(const struct item_record *record, uint64_t prev) {
	return (uint8_t)((record->context ? HAS_CONTEXT : 0) | (record->id != prev + 1 ? HAS_ID : 0));
}

static size_t extra_bytes(unsigned flags) {
	return ((flags & HAS_CONTEXT) ? sizeof(void *) : 0) + ((flags & HAS_ID) ? sizeof(uint64_t) : 0);
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
	if (head.flags & HAS_CONTEXT) {
		memcpy(at, &record->context, sizeof(record->context));
		at += sizeof(record->context);
	}
	if (head.flags & HAS_ID) {
		memcpy(at, &record->id, sizeof(record->id));
		at += sizeof(record->id);
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
	*ret_record = (struct item_record){.size = head.size, .width = head.width, .type = head.type, .id = prev + 1};
	ret_record->flags = (uint8_t)(head.flags & ~HAS_ALL);
	if (head.flags & HAS_CONTEXT) {
		memcpy(&ret_record->context, at, sizeof(ret_record->context));
		at += sizeof(ret_record->context);
	}
	if (head.flags & HAS_ID) {
		memcpy(&ret_record->id, at, sizeof(ret_record->id));
		at += sizeof(ret_record->id);
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

static size_t lane_need(const struct item_record *record) {
	return RECORD_HEAD + (record->context ? sizeof(void *) : 0) + sizeof(uint64_t) + record->size + TAIL;
}

static size_t lane_cap(const struct lane *lane, size_t need) {
	size_t cap = lane->cap ? lane->cap : 128;
	while (lane->begin + lane->len + need > cap) {
		cap *= 2;
	}
	return cap;
}

size_t lane_growth(const struct lane *lane, const struct item_record *record) {
	size_t need = lane_need(record);
	if (lane->begin + lane->len + need <= lane->cap) {
		return 0;
	}
	// what thieves have taken from the front is used again before memory is asked for
	if (lane->len + need <= lane->cap / 2) {
		return 0;
	}
	return lane_cap(lane, need) - lane->cap;
}

void lane_push(struct lane *lane, const struct item_record *record) {
	size_t need = lane_need(record);
	if (lane->begin + lane->len + need > lane->cap) {
		if (lane->len + need <= lane->cap / 2) {
			// at least as much was taken as is moved, so a push costs constant time in the long run
			memmove(lane->data, lane->data + lane->begin, lane->len);
			lane->begin = 0;
		} else {
			lane->cap = lane_cap(lane, need);
			lane->data = xrealloc(lane->data, lane->cap);
		}
	}
	char *at = lane->data + lane->begin + lane->len;
	uint32_t len = (uint32_t)record_encode(record, record->id, at); // an id never follows itself, so it is written
	memcpy(at + len, &len, TAIL);
	lane->len += len + TAIL;
	++lane->nitems;
}

void lane_take_newest(struct lane *lane, struct item_record *ret_record) {
	verify(lane->nitems > 0);
	uint32_t len;
	const char *end = lane->data + lane->begin + lane->len;
	memcpy(&len, end - TAIL, TAIL);
	record_decode(end - TAIL - len, ID_NONE, ret_record);
	lane->len -= len + TAIL;
	--lane->nitems;
	if (lane->nitems == 0) {
		lane->begin = 0;
	}
}

void lane_take_oldest(struct lane *lane, struct item_record *ret_record) {
	verify(lane->nitems > 0);
	size_t len = record_decode(lane->data + lane->begin, ID_NONE, ret_record) + TAIL;
	lane->begin += len;
	lane->len -= len;
	--lane->nitems;
	if (lane->nitems == 0) {
		lane->begin = 0;
	}
}

void lane_fini(struct lane *lane) {
	free(lane->data);
	*lane = (struct lane){0};
}
