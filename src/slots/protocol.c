// What a client and the slot server of a pool say to each other: frames on a stream socket.

#include "slots/protocol.h"

#include <string.h>

const char *frame_strings(const char **at, const char *end, uint32_t n) {
	const char *first = *at, *nul = *at;
	for (; n > 0 && nul; --n) {
		nul = memchr(*at, '\0', (size_t)(end - *at));
		*at = nul ? nul + 1 : end;
	}
	return nul ? first : NULL;
}

void frame_add(struct buf *buf, struct frame frame, const void *text, size_t len) {
	frame.len = (uint32_t)len;
	buf_add(buf, &frame, sizeof(frame));
	buf_add(buf, text, len);
}

enum frame_result frame_parse_most(const char *mem, size_t len, size_t most, struct frame *ret_frame, const char **ret_text) {
	if (len < sizeof(*ret_frame)) {
		return FRAME_PARTIAL;
	}
	memcpy(ret_frame, mem, sizeof(*ret_frame)); // not aligned
	if (ret_frame->len > most) {
		return FRAME_BAD;
	}
	*ret_text = mem + sizeof(*ret_frame);
	return len - sizeof(*ret_frame) < ret_frame->len ? FRAME_PARTIAL : FRAME_READY;
}

enum frame_result frame_parse(const char *mem, size_t len, struct frame *ret_frame, const char **ret_text) {
	return frame_parse_most(mem, len, PROTOCOL_TEXT_MAX, ret_frame, ret_text);
}
