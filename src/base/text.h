// Writes numbers, and text from outside (items, output, names), for people: no control character of the text reaches a terminal,
// and no part of it is read as HTML or XML.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// True for the characters that isspace(3) accepts in the C locale, whatever the locale of the process is.
static inline bool text_is_space(char c) {
	return c == ' ' || (c >= '\t' && c <= '\r');
}

// True for the bytes of a shell's names and positional parameters (POSIX XBD 3.216).
static inline bool text_is_name(char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the length of the shell variable's name that the text begins with, 0 if it begins with none: a name does not begin with a digit.
static inline size_t text_name_length(const char *text) {
	size_t len = 0;
	while (text_is_name(text[len]) && (len > 0 || text[0] < '0' || text[0] > '9')) {
		++len;
	}
	return len;
}

// Returns the last part of the path, behind its last slash: "sh" for "/bin/sh", "" for "/bin/". Within `path`.
static inline const char *path_base(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// Returns the directory of the path, up to its last slash: "/bin/" for "/bin/sh", "." for "sh". The caller frees it.
char *path_directory(const char *path) FP_NODISCARD;

// True if this name of a directory's entry is "." or "..".
static inline bool path_is_dots(const char *name) {
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static inline bool text_ends(const char *text, const char *end) {
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

// Appends the time as "420us", "4.2ms", "0.42s", "42.0s", "4m20s", "4h20m" or "4d20h": cut off, not rounded.
void text_add_time(struct buf *buf, uint64_t ns);

// Returns the columns that the text takes on a terminal: two for a wide character, none for a combining one or a control
// sequence; the text must have no other control characters. The result does not depend on the locale.
size_t text_columns(const char *text, size_t len);

// Returns the length in bytes of the character or control sequence that the text (of at least one byte) begins with, and its columns in *ret_columns.
size_t text_step(const char *text, size_t len, size_t *ret_columns);

// Appends the text in at most `columns` columns, and escapes control characters and bytes that are not UTF-8. A longer text is
// cut, and ends in "...".
void text_add_cut(struct buf *buf, const char *text, size_t len, size_t columns);

// As text_add_cut(), for a command: appends only its first line that is not blank, and "..." if other lines follow.
void text_add_command(struct buf *buf, const char *command, size_t len, size_t columns);

// Appends a line of a job's output as a terminal would show it: without colours, with blanks for tabs, and only what
// follows the last carriage return. Control characters and the cut are as in text_add_cut().
void text_add_output(struct buf *buf, const char *line, size_t len, size_t columns);

// Appends what another program has said, to be part of a message of one line: escaped, with "; " between its lines; cut after `max` bytes.
void text_add_one_line(struct buf *buf, const char *said, size_t len, size_t max);

// Appends the name of a job: "tests#3" is its batch and its number in the batch (`number`); "#17" its number in the run (`seq`), if the batch is
// "default"; "tests" names a command that belongs to no item (`number` 0). The batch's name is cut to `columns` columns, as by text_add_cut().
enum { TEXT_BATCH_COLUMNS = 60 }; // columns for the name of a batch in a line
void text_add_job(struct buf *buf, const char *batch, uint64_t number, uint64_t seq, size_t columns);

// Returns the bytes escaped for a person, cut after 80 bytes, in one of four buffers of the thread, which calls use in
// turn: for the arguments of diag_error() and the like. text_shows() takes a string.
const char *text_show(const char *mem, size_t len);
const char *text_shows(const char *s);

// ---- in HTML and XML ----

// Appends the number as "1,234,567".
void markup_add_count(struct buf *buf, uint64_t n);

// Appends the text. A text that is longer than `max` bytes is cut there, between two characters, and "…" is put behind it.
void markup_add_cut(struct buf *buf, const char *text, size_t len, size_t max);

// Appends any bytes as text of HTML or XML, also within quotes: characters with a meaning there are escaped; bytes that are not
// UTF-8, and characters that XML forbids or that turn the direction of text, become U+FFFD; other control characters become
// pictures of them (U+2400 on). A newline stays.
void markup_add_escaped(struct buf *buf, const char *text, size_t len);

// Appends a string, escaped by markup_add_escaped().
void markup_add_text(struct buf *buf, const char *text);

// Appends a name, cut to `columns` columns by text_add_cut(), then escaped by markup_add_escaped().
void markup_add_name(struct buf *buf, const char *name, size_t columns);

// As markup_add_escaped(), for a job's output: tabs stay, too, and control sequences of terminals (as for colours) are left out.
void markup_add_output(struct buf *buf, const char *text, size_t len);
