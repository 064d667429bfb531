// Reads items from bytes by the rules of xargs, and packs them into command lines.

#pragma once

#include "template/packs.h"
#include "xargs/options.h"

enum items_status {
	ITEMS_MORE,          // all bytes were taken: bring more, or say that the input has ended
	ITEMS_LINE,          // items->pack is a command line: take it, packs_reset() it, and go on with the rest of the bytes
	ITEMS_NUL,           // a NUL, which no argument can hold, came for the first time: warn, and go on
	ITEMS_END,           // nothing comes any more
	ITEMS_ERROR,         // items->error says why; nothing comes any more
};

enum { ITEMS_BLOCK = 4096 }; // bytes of items that are read and packed at once

struct xargs_items {
	const struct xargs_options *options; // borrowed
	struct pack_limits limits;
	struct pack pack;       // the arguments of the command line behind the initial ones; with -I all of them
	struct buf item;        // the item that is being read, or that waits (`carried`)
	size_t item_max;        // bytes
	bool has_blocks;        // several items may be read at once
	enum { IN_SPACE, IN_NORMAL, IN_QUOTE, IN_BACKSLASH } state;
	char quote;             // of IN_QUOTE
	char before;            // the byte before, for blanks at the end of a line
	bool first;             // the item is the first of its line of input
	bool seen;              // there is an item, though it may be empty
	bool carried;           // `item` is complete, and waits until the command line before it is taken
	bool line_ends;         // with `carried`: the item is the last of its line of input
	bool warned;
	bool ended;             // the rest of the input is ignored
	size_t lines;           // lines of input that ended since the last command line (-L)
	size_t nmade;           // command lines so far
	const char *error;      // of ITEMS_ERROR, which comes when the pending command line was taken: static; or NULL
};

// Begins to read by the options, which are borrowed. Returns NULL; or the error, a static text, if the initial arguments leave no
// room. xargs_items_fini() frees the memory, after an error too.
const char *xargs_items_init(struct xargs_items *items, const struct xargs_options *options);
void xargs_items_fini(struct xargs_items *items);

// Takes bytes until the caller has something to do, which the result says. *ret_used of the `len` bytes were taken; after
// ITEMS_LINE and ITEMS_NUL the caller brings the rest again. `len` 0 says that the input has ended.
enum items_status xargs_items_next(struct xargs_items *items, const char *mem, size_t len, size_t *ret_used);
