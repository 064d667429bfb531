// Reads items from bytes by the rules of xargs, and packs them into command lines.

#pragma once

#include "template/packs.h"
#include "xargs/options.h"

enum items_status {
	ITEMS_MORE,          // all bytes were taken: the caller passes more, or says that the input has ended
	ITEMS_LINE,          // items->pack is a command line: the caller takes it, calls packs_reset(), and goes on with the rest of the bytes
	ITEMS_NUL,           // the first NUL was read, which no argument can hold: the caller warns, and goes on
	ITEMS_END,           // there are no further command lines
	ITEMS_ERROR,         // the input has an error (items->error): there are no further command lines
};

enum { ITEMS_BLOCK = 4096 }; // bytes of items that are read and packed at once

struct xargs_items {
	const struct xargs_options *options; // borrowed
	struct pack_limits limits;
	struct pack pack;       // the arguments of the present command line behind the initial arguments; with -I all its arguments
	struct buf item;        // the item that is being read, or that waits (`carried`)
	size_t item_max;        // the most bytes of an item
	bool has_blocks;        // several items may be read at once
	enum { IN_SPACE, IN_NORMAL, IN_QUOTE, IN_BACKSLASH } state;
	char quote;             // in IN_QUOTE: the quote that ends it
	char before;            // the previous byte, to find a line that ends with a blank
	bool first;             // the item is the first of its line of input
	bool seen;              // an item has begun, though it may be empty
	bool carried;           // `item` is complete, and belongs to the command line behind the line that the caller takes now
	bool line_ends;         // with `carried`: the item is the last of its line of input
	bool warned;
	bool ended;             // the rest of the input is ignored
	size_t lines;           // lines of input that ended since the last command line (-L)
	size_t nmade;           // how many command lines were made so far
	const char *error;      // the error (static text) for ITEMS_ERROR, which is returned after the pending command line; or NULL
};

// Prepares to read items as the options (borrowed) say. Returns NULL; or an error (static text) if the initial arguments leave no
// room for items. xargs_items_fini() frees the memory, also after an error.
const char *xargs_items_init(struct xargs_items *items, const struct xargs_options *options);
void xargs_items_fini(struct xargs_items *items);

// Takes bytes until the caller has something to do; the result says what. Sets *ret_used to how many of the `len` bytes were taken;
// after ITEMS_LINE and ITEMS_NUL the caller passes the other bytes again. `len` 0 says that the input has ended.
enum items_status xargs_items_next(struct xargs_items *items, const char *mem, size_t len, size_t *ret_used);
