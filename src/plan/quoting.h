// Where in shell text a replacement string stands, and how an item is spelled there so that it stays one.
//
// GNU parallel spells an item in one way wherever it stands: inside '…' of the template its quotes then end the
// quotes, and a file named `;reboot` is a command. So the quotes of the template are followed (POSIX XCU 2.2 to 2.7),
// once, when it is parsed. Among plain quotes, $(…) and comments the item is then spelled in place. Where a template
// has backticks, ${…}, $'…' or a here-document, reading is not that simple: there an item that needs quotes goes into
// a variable in front of the command, and an expansion stands in its place, which no shell ever reads as syntax. If
// such a place was misjudged, an item may be split, but it still is no command.

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
	bool is_intricate;       // one of the constructs that need variables was seen
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
	PLACE_DOLLAR = 1 << 5,    // behind a $: a name is a variable, but nothing else may become syntax
	PLACE_NUMBER = 1 << 6,    // before < or >, where digits would be a descriptor
	PLACE_BACKTICKS = 1 << 7, // inside `…`
	PLACE_VARIABLE = 1 << 8,  // in an intricate template
};

// Goes on over literal text.
void quoting_follow(struct quoting *quoting, const char *text, size_t len);

// The place of an item that stands here, without PLACE_VARIABLE and PLACE_NUMBER, and goes on behind it.
unsigned quoting_place(struct quoting *quoting);

// True if the item has to be put into a variable for this place.
bool quoting_needs_variable(unsigned place, const char *item, size_t len);

// Appends what sets variable number `n` to the item, to stand in front of the command.
void quoting_add_assignment(struct buf *buf, unsigned n, const char *item, size_t len);

// Appends the expansion of variable number `n` for this place.
void quoting_add_variable(struct buf *buf, unsigned place, unsigned n);

// Appends an item that needs no variable as it is spelled in this place; in PLACE_PLAIN as shell_quote() does.
//
// Behind a backslash or a $ also an item that is not there has to be added, as an empty one.
void quoting_add(struct buf *buf, unsigned place, const char *item, size_t len);

#endif
