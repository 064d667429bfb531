// How an item is spelled in shell text so that it stays one, by the place that it stands in (shell/reader.h).
//
// GNU parallel spells an item in one way wherever it stands: inside '…' of the template its quotes then end the
// quotes, and a file named `;reboot` is a command. Here an item is spelled for the quotes around it. Where a template has
// backticks, ${…}, $'…' or a here-document, an item that needs quotes goes into a variable in front of the command, and
// an expansion stands in its place, which no shell reads as syntax.

#ifndef FAIRPAR_SHELL_QUOTING_H
#define FAIRPAR_SHELL_QUOTING_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

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
	PLACE_QUOTED = 1 << 6,    // a reserved word like `esac` would be one here: it gets quotes
	PLACE_BACKTICKS = 1 << 7, // inside `…`
	PLACE_VARIABLE = 1 << 8,  // in an intricate template
	PLACE_APART = 1 << 9,     // behind $NAME, before < or >, in [[ ]]: a plain item gets quotes, too, or it could be part of these
	// in PLACE_DOUBLE, where a byte that is not ASCII and the next one may be one character in some locales (GBK, SJIS):
	PLACE_AFTER_HIGH = 1 << 10,  // behind such a byte
	PLACE_BEFORE_TAIL = 1 << 11, // before a byte that may be the second one
};

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
