// Where in shell text a replacement string stands, and how an item is spelled there so that it stays one.
//
// GNU parallel spells an item in one way wherever it stands: inside '…' of the template its quotes then end the
// quotes, and a file named `;reboot` is a command. So the quotes, substitutions, comments and here-documents of the
// template are followed (POSIX XCU 2.2 to 2.7), once, when it is parsed.

#ifndef FAIRPAR_PLAN_QUOTING_H
#define FAIRPAR_PLAN_QUOTING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum { QUOTING_DEPTH = 64 };

// How far the text was followed. Zeroed is the beginning.
struct quoting {
	unsigned char stack[QUOTING_DEPTH]; // enum region of the source; what `depth` encloses
	unsigned depth;
	bool in_word;            // not where a word may begin
	bool escaped;            // a backslash stands before
	char before;             // the byte before, or 0
	// the here-document that was announced or is being read
	enum { NO_DOCUMENT, DELIMITER, ANNOUNCED, READING } document;
	bool is_literal;         // its delimiter is quoted: nothing in it is expanded
	bool strips_tabs;        // <<-
	bool is_other_line;      // the current line of it cannot be the delimiter
	char delimiter_quote;    // it is inside these, or 0
	char delimiter[64];
	size_t delimiter_len, matched;
};

// The place of an item: one of these …
enum place {
	PLACE_PLAIN,
	PLACE_SINGLE,
	PLACE_ANSI,          // $'…' of bash and ksh
	PLACE_DOUBLE,
	PLACE_DOCUMENT,
	PLACE_LITERAL_DOCUMENT,
	PLACE_COMMENT,
	PLACE_KINDS = 0xF,
	// … with any of these
	PLACE_ESCAPED = 1 << 4,   // behind a backslash
	PLACE_BACKTICKS = 1 << 5, // inside `…`
	PLACE_BRACE = 1 << 6,     // inside "${…}"
	PLACE_NUMBER = 1 << 7,    // before < or >, where digits would be a descriptor
};

// Goes on over literal text.
void quoting_follow(struct quoting *quoting, const char *text, size_t len);

// The place of an item that stands here, and goes on behind it.
unsigned quoting_place(struct quoting *quoting);

// Appends the item as it has to be spelled in this place; in PLACE_PLAIN as shell_quote() does.
void quoting_add(struct buf *buf, unsigned place, const char *item, size_t len);

#endif
