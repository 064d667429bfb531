// Frames as bytes.

#include "remote/wire.h"

#include "base/diag.h"
#include "base/units.h"

#include <string.h>

#define DISPATCHER WIRE_DISPATCHER
#define WORKER WIRE_WORKER
#define EITHER WIRE_EITHER
#define URGENT true
#define BULK false
#define FRAME(NAME, TEXT, SENDER, FIELDS, MOST, LANE) \
	[FRAME_##NAME] = {.name = (TEXT), .fields = (FIELDS), .sender = (SENDER), .has_payload = (MOST) != NO_PAYLOAD, .is_urgent = (LANE), .most = (MOST)},
static const struct frame_kind kinds[] = {
#include "remote/frames.def"
};
#undef FRAME

const struct frame_kind *wire_kind(enum wire_type type) {
	return &kinds[type];
}

unsigned wire_numbers(enum wire_type type) {
	const char *fields = kinds[type].fields;
	unsigned n = *fields != '\0';
	for (; *fields != '\0'; ++fields) {
		n += *fields == ' ';
	}
	return n;
}

void wire_write(struct buf *buf, const struct wire_frame *frame) {
	const struct frame_kind *kind = &kinds[frame->type];
	buf_adds(buf, kind->name);
	for (unsigned i = 0, n = wire_numbers(frame->type); i < n; ++i) {
		buf_addc(buf, ' ');
		buf_add_number(buf, frame->numbers[i]);
	}
	if (kind->has_payload) {
		verify(frame->size <= kind->most);
		buf_addc(buf, ' ');
		buf_add_number(buf, frame->size);
		buf_addc(buf, '\n');
		buf_add(buf, frame->payload, frame->size);
	}
	buf_addc(buf, '\n');
}

// Returns the type whose name the line begins with, or FRAME_TYPES. *ret_at points behind the name.
static enum wire_type find_type(const char *line, const char *end, const char **ret_at) {
	const char *at = memchr(line, ' ', (size_t)(end - line));
	*ret_at = at = at ? at : end;
	size_t type = 0;
	while (type < FRAME_TYPES && (strlen(kinds[type].name) != (size_t)(at - line) || memcmp(kinds[type].name, line, (size_t)(at - line)) != 0)) {
		++type;
	}
	return (enum wire_type)type;
}

// Reads " NUMBER". Returns false if there is none, or one with leading zeros or too large.
static bool read_number(const char **at, const char *end, uint64_t *ret_number) {
	const char *first = *at + 1;
	if (*at == end || **at != ' ') {
		return false;
	}
	*at = first;
	return read_digits(at, end, ret_number) && (*first != '0' || *at == first + 1);
}

// Reads the line, which ends before `end`. Returns NULL, or what is wrong.
static const char *read_header(const char *line, const char *end, enum wire_sender sender, struct wire_frame *ret_frame) {
	const char *at;
	uint64_t size = 0;
	*ret_frame = (struct wire_frame){.type = find_type(line, end, &at)};
	if (ret_frame->type == FRAME_TYPES) {
		return "the other side has sent a frame of an unknown type";
	}
	const struct frame_kind *kind = &kinds[ret_frame->type];
	if (!(kind->sender & sender)) {
		return "the other side has sent a frame that only this side sends";
	}
	for (unsigned i = 0, n = wire_numbers(ret_frame->type); i < n; ++i) {
		if (!read_number(&at, end, &ret_frame->numbers[i])) {
			return "the other side has sent a frame without one of its numbers";
		}
	}
	if (kind->has_payload && !read_number(&at, end, &size)) {
		return "the other side has sent a frame without its size";
	}
	if (at != end) {
		return "the other side has sent a frame with text after its last number";
	}
	if (kind->has_payload && size > kind->most) {
		return "the other side has sent a frame that is too large";
	}
	ret_frame->size = (size_t)size;
	return NULL;
}

enum wire_status wire_read(const char *bytes, size_t n, enum wire_sender sender, struct wire_frame *ret_frame, size_t *ret_used,
                           const char **ret_why) {
	const char *end = n > 0 ? memchr(bytes, '\n', n < WIRE_HEADER_MOST ? n : WIRE_HEADER_MOST) : NULL;
	if (!end) {
		*ret_why = "the other side has sent a line that is too long";
		return n < WIRE_HEADER_MOST ? WIRE_PART : WIRE_BAD;
	}
	*ret_why = read_header(bytes, end, sender, ret_frame);
	if (*ret_why) {
		return WIRE_BAD;
	}
	size_t used = (size_t)(end + 1 - bytes);
	if (kinds[ret_frame->type].has_payload) {
		if (n - used < ret_frame->size + 1) {
			return WIRE_PART;
		}
		ret_frame->payload = bytes + used;
		used += ret_frame->size + 1;
		if (bytes[used - 1] != '\n') {
			*ret_why = "the other side has sent a payload that does not end where its size says";
			return WIRE_BAD;
		}
	}
	*ret_used = used;
	return WIRE_FRAME;
}

bool wire_next(const struct buf *frames, size_t *at, struct wire_frame *ret_frame) {
	size_t used = 0;
	const char *why;
	bool is_frame = wire_read(buf_str(frames) + *at, frames->len - *at, WIRE_EITHER, ret_frame, &used, &why) == WIRE_FRAME;
	*at += used;
	return is_frame;
}
