// Writes numbers, and text that fairpar did not make, into HTML, XML and JSON; text.h does it for plain text.

#ifndef FAIRPAR_BASE_MARKUP_H
#define FAIRPAR_BASE_MARKUP_H

#include "base/buf.h"

#include <stdint.h>

// "1,234,567"
void markup_add_count(struct buf *buf, uint64_t n);

// At most `max` bytes of the text and then "…", cut between characters.
void markup_add_cut(struct buf *buf, const char *text, size_t len, size_t max);

// Any bytes as text of HTML or XML, also within quotes: what means something there is escaped; bytes that are not UTF-8,
// and characters that XML forbids or that turn the direction of text, become U+FFFD; other control characters show as the
// pictures of them (U+2400 on). A newline stays.
void markup_add_escaped(struct buf *buf, const char *text, size_t len);

// Appends a name, cut to `columns` columns by text_add_cut(), then escaped by markup_add_escaped().
void markup_add_name(struct buf *buf, const char *name, size_t columns);

// As markup_add_escaped(), for a job's output: tabs stay too, and what colours a terminal (ESC [ ... m and its like) is left out.
void markup_add_output(struct buf *buf, const char *text, size_t len);

#endif
