// Cuts a stream of bytes that arrives in pieces into lines: the bytes of a file, or the output of a job.

#include "base/line_buffer.h"

#include "base/alloc.h"
#include "base/io.h"

enum {
	USUAL_BYTES = 64 << 10,
	SHOWN_BYTES = 80, // how many bytes of a line that is too long are shown in a message
};

static const char *const TOO_LONG = "the line is longer than 16 MiB";
static const char *const HAS_NUL = "there is a NUL byte in the line (NUL-terminated items are read with -0, in a manifest with file0)";

void line_buffer_fini(struct line_buffer *buffer) {
	free(buffer->data);
	*buffer = (struct line_buffer)LINE_BUFFER_INIT(buffer->delimiter);
}

// Moves the bytes to the front of the memory, and makes room for `need` bytes behind them. The memory grows for a long line and shrinks after it.
static void make_room(struct line_buffer *buffer, size_t need) {
	size_t left = buffer->end - buffer->start;
	if (buffer->start > 0) {
		memmove(buffer->data, buffer->data + buffer->start, left);
		buffer->start = 0;
		buffer->end = left;
	}
	size_t cap = buffer->cap;
	if (left + need > cap) {
		cap = left + need > 2 * cap ? left + need : 2 * cap;
	} else if (left < USUAL_BYTES && need < USUAL_BYTES - left) {
		cap = USUAL_BYTES;
	}
	cap = cap > USUAL_BYTES ? cap : USUAL_BYTES;
	if (cap != buffer->cap) {
		buffer->data = xrealloc(buffer->data, cap + 1);
		buffer->cap = cap;
	}
}

// Counts `len` bytes that the caller has put at the end of the buffer, and notes whether a NUL is among them.
static void added(struct line_buffer *buffer, size_t len) {
	if (buffer->delimiter != '\0') {
		bool kept_nul = buffer->may_hold_nul && memchr(buffer->data, '\0', buffer->end);
		buffer->may_hold_nul = kept_nul || memchr(buffer->data + buffer->end, '\0', len);
	}
	buffer->end += len;
}

void line_buffer_add(struct line_buffer *buffer, const char *mem, size_t len) {
	if (len > 0) {
		make_room(buffer, len);
		memcpy(buffer->data + buffer->end, mem, len);
		added(buffer, len);
	}
}

ssize_t line_buffer_read(struct line_buffer *buffer, int fd) {
	make_room(buffer, 1);
	ssize_t n = read_some(fd, buffer->data + buffer->end, buffer->cap - buffer->end);
	if (n > 0) {
		added(buffer, (size_t)n);
	}
	buffer->ended = n == 0;
	return n;
}

// Takes `len` bytes, and the delimiter if one is behind them, out of the buffer as a line.
static void cut_line(struct line_buffer *buffer, size_t len, struct line *ret_line) {
	char *text = buffer->data + buffer->start;
	text[len] = '\0';
	*ret_line = (struct line){.text = text, .len = len};
	if (len > buffer->most) {
		text[SHOWN_BYTES] = '\0';
		ret_line->bad = TOO_LONG;
	} else if (buffer->may_hold_nul && memchr(text, '\0', len)) {
		ret_line->bad = HAS_NUL;
	}
	if (ret_line->bad) {
		ret_line->len = strlen(text);
	}
	buffer->start += len + (buffer->longer ? strlen(buffer->longer) : 1);
	buffer->searched = 0;
}

// For a buffer that holds no delimiter: if its bytes are the last line or too long for a line, takes all of them as a line and returns true.
static bool cut_rest(struct line_buffer *buffer, struct line *ret_line) {
	size_t left = buffer->end - buffer->start;
	if (buffer->skipping) {
		size_t begun = buffer->longer ? strlen(buffer->longer) - 1 : 0; // bytes at the end that may begin a delimiter
		buffer->start = buffer->end - (begun < left ? begun : left);
		buffer->searched = 0;
		return false;
	}
	buffer->searched = left;
	bool is_too_long = left > buffer->most;
	if (!is_too_long && (left == 0 || !buffer->ended)) {
		return false;
	}
	cut_line(buffer, left, ret_line); // the line's NUL goes into the byte that the buffer has beyond `cap`
	ret_line->is_cut = buffer->ended;
	buffer->start = buffer->end = 0;
	buffer->skipping = is_too_long;
	return true;
}

// Returns the next delimiter from buffer->searched on, or NULL.
static const char *find_end(const struct line_buffer *buffer) {
	const char *start = buffer->data + buffer->start;
	size_t left = buffer->end - buffer->start;
	if (!buffer->longer) {
		return memchr(start + buffer->searched, buffer->delimiter, left - buffer->searched);
	}
	size_t len = strlen(buffer->longer);
	size_t from = buffer->searched >= len ? buffer->searched - (len - 1) : 0; // the delimiter may have begun before `searched`
	return memmem(start + from, left - from, buffer->longer, len);
}

bool line_buffer_next(struct line_buffer *buffer, struct line *ret_line) {
	while (buffer->start < buffer->end) {
		const char *start = buffer->data + buffer->start;
		const char *end = find_end(buffer);
		if (!end) {
			return cut_rest(buffer, ret_line);
		}
		if (!buffer->skipping) {
			cut_line(buffer, (size_t)(end - start), ret_line);
			return true;
		}
		buffer->skipping = false;
		buffer->start += (size_t)(end - start) + (buffer->longer ? strlen(buffer->longer) : 1);
		buffer->searched = 0;
	}
	return false;
}

// Works in steps of a fixed length: compilers turn this loop into vector instructions.
uint32_t line_buffer_end_lines(char *bytes, size_t len, char delimiter) {
	enum { STEP = 64 };
	uint32_t n = 0;
	size_t at = 0;
	for (; len - at >= STEP; at += STEP) {
		unsigned char found = 0;
		for (size_t i = 0; i < STEP; ++i) {
			char c = bytes[at + i];
			found = (unsigned char)(found + (c == delimiter));
			bytes[at + i] = c == delimiter ? '\0' : c;
		}
		n += found;
	}
	for (; at < len; ++at) {
		if (bytes[at] == delimiter) {
			bytes[at] = '\0';
			++n;
		}
	}
	return n;
}

bool line_buffer_next_lines(struct line_buffer *buffer, size_t most, struct line *ret_line) {
	bool is_plain = !buffer->longer && !buffer->skipping && !buffer->may_hold_nul;
	char *start = buffer->data + buffer->start;
	size_t left = buffer->end - buffer->start;
	const char *last = is_plain && left > 0 ? memrchr(start, buffer->delimiter, left < most ? left : most) : NULL;
	if (!last) {
		return line_buffer_next(buffer, ret_line);
	}
	size_t size = (size_t)(last - start) + 1;
	*ret_line = (struct line){.text = start, .len = size - 1, .n = line_buffer_end_lines(start, size, buffer->delimiter)};
	buffer->start += size;
	buffer->searched = 0;
	return true;
}
