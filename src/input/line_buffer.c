// Cuts a stream of bytes that comes in pieces into lines: what is read from a file, and what a job emits.

#include "input/line_buffer.h"

#include "base/alloc.h"

enum {
	USUAL_BYTES = 64 << 10,
	SHOWN_BYTES = 80, // of a line that is too long
};

static const char *const TOO_LONG = "the line is longer than 16 MiB";
static const char *const HAS_NUL = "there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)";

void line_buffer_fini(struct line_buffer *cutter) {
	free(cutter->data);
	cutter->data = NULL;
	cutter->cap = 0;
	line_buffer_reset(cutter);
}

void line_buffer_reset(struct line_buffer *cutter) {
	cutter->start = cutter->end = cutter->searched = 0;
	cutter->ended = cutter->skipping = cutter->may_hold_nul = false;
}

// Moves what is left to the front, and makes room behind it: more for a long line, the usual again after one.
static void make_room(struct line_buffer *cutter, size_t need) {
	size_t left = cutter->end - cutter->start;
	if (cutter->start > 0) {
		memmove(cutter->data, cutter->data + cutter->start, left);
		cutter->start = 0;
		cutter->end = left;
	}
	size_t cap = cutter->cap;
	if (left + need > cap) {
		cap = left + need > 2 * cap ? left + need : 2 * cap;
	} else if (left < USUAL_BYTES && need < USUAL_BYTES - left) {
		cap = USUAL_BYTES;
	}
	cap = cap > USUAL_BYTES ? cap : USUAL_BYTES;
	if (cap != cutter->cap) {
		cutter->data = xrealloc(cutter->data, cap + 1);
		cutter->cap = cap;
	}
}

char *line_buffer_room(struct line_buffer *cutter, size_t *ret_room) {
	make_room(cutter, 1);
	*ret_room = cutter->cap - cutter->end;
	return cutter->data + cutter->end;
}

void line_buffer_added(struct line_buffer *cutter, size_t len) {
	if (cutter->delimiter != '\0') {
		bool kept_nul = cutter->may_hold_nul && memchr(cutter->data, '\0', cutter->end);
		cutter->may_hold_nul = kept_nul || memchr(cutter->data + cutter->end, '\0', len);
	}
	cutter->end += len;
}

void line_buffer_add(struct line_buffer *cutter, const char *mem, size_t len) {
	if (len > 0) {
		make_room(cutter, len);
		memcpy(cutter->data + cutter->end, mem, len);
		line_buffer_added(cutter, len);
	}
}

void line_buffer_end(struct line_buffer *cutter) {
	cutter->ended = true;
}

// Takes `len` bytes and the delimiter behind them (or the NUL at the end) out of the buffer as a line.
static void take_line(struct line_buffer *cutter, size_t len, struct line *ret_line) {
	char *text = cutter->data + cutter->start;
	text[len] = '\0';
	*ret_line = (struct line){.text = text, .len = len};
	if (len > CUTTER_LINE_MAX) {
		text[SHOWN_BYTES] = '\0';
		ret_line->bad = TOO_LONG;
	} else if (cutter->may_hold_nul && memchr(text, '\0', len)) {
		ret_line->bad = HAS_NUL;
	}
	if (ret_line->bad) {
		ret_line->len = strlen(text);
	}
	cutter->start += len + (cutter->longer ? strlen(cutter->longer) : 1);
	cutter->searched = 0;
}

// What is there of a line without its end. Returns true if it is one all the same: too long, or the last.
static bool take_rest(struct line_buffer *cutter, struct line *ret_line) {
	size_t left = cutter->end - cutter->start;
	if (cutter->skipping) {
		size_t begun = cutter->longer ? strlen(cutter->longer) - 1 : 0; // of a delimiter, perhaps
		cutter->start = cutter->end - (begun < left ? begun : left);
		cutter->searched = 0;
		return false;
	}
	cutter->searched = left;
	bool is_too_long = left > CUTTER_LINE_MAX;
	if (!is_too_long && (left == 0 || !cutter->ended)) {
		return false;
	}
	take_line(cutter, left, ret_line); // the byte behind the buffer takes its NUL
	cutter->start = cutter->end = 0;
	cutter->skipping = is_too_long;
	return true;
}

// The next delimiter from cutter->searched on, or NULL.
static const char *find_end(const struct line_buffer *cutter) {
	const char *start = cutter->data + cutter->start;
	size_t left = cutter->end - cutter->start;
	if (!cutter->longer) {
		return memchr(start + cutter->searched, cutter->delimiter, left - cutter->searched);
	}
	size_t len = strlen(cutter->longer);
	size_t from = cutter->searched >= len ? cutter->searched - (len - 1) : 0; // it may have begun before
	return memmem(start + from, left - from, cutter->longer, len);
}

bool line_buffer_next(struct line_buffer *cutter, struct line *ret_line) {
	while (cutter->start < cutter->end) {
		const char *start = cutter->data + cutter->start;
		const char *end = find_end(cutter);
		if (!end) {
			return take_rest(cutter, ret_line);
		}
		if (!cutter->skipping) {
			take_line(cutter, (size_t)(end - start), ret_line);
			return true;
		}
		cutter->skipping = false;
		cutter->start += (size_t)(end - start) + (cutter->longer ? strlen(cutter->longer) : 1);
		cutter->searched = 0;
	}
	return false;
}
