// Packs items into command lines as xargs does: as many as the limits take, or one line for each by replacement.

#ifndef FAIRPAR_XARGS_PACKER_H
#define FAIRPAR_XARGS_PACKER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The arguments of one command line. Its memory grows with its largest use and is kept.
struct packed {
	struct buf bytes;    // the arguments, a NUL behind each; one may have NULs inside: its end is then the first
	uint32_t *starts;    // of each in `bytes`
	size_t nargs, starts_cap;
};

// Frees the memory; the line is empty then.
void packed_fini(struct packed *packed);

struct packer_limits {
	size_t bytes;        // of a command line, initial arguments and the NULs included; below 4 GiB
	size_t args;         // items in a line (-n), 0: no limit
	size_t lines;        // lines of input in a line (-L), 0: no limit
	size_t argc;         // arguments of a command line, the initial ones included
	bool exact;          // -x: with `args` or `lines`, an item beyond `bytes` is an error
};

struct packer {
	struct packer_limits limits;
	const char *const *initial; // the command and its arguments; borrowed
	size_t ninitial;
	size_t initial_bytes;       // of them; 0 with `replace`
	const char *replace;        // -I: what stands for the item in them, or NULL
	struct packed line;         // what is packed so far, without the initial arguments unless they are replaced
	size_t item;                // bytes at the end of line.bytes that belong to an item that is being written
};

// The result of packer_add().
enum packer_status {
	PACK_MORE,      // there is room for more
	PACK_FULL,      // the line is done: take it
	PACK_CARRY,     // the line was done before this item, which is still in packer->item: take it, then add the item again
	PACK_ERROR,     // *ret_error says why; the line is what it was
};

// The longest item that can be in a line, its NUL not included.
size_t packer_item_max(const struct packer *packer);

// Makes an empty packer, and checks that the initial arguments, which are borrowed, leave room for an item. `replace`: see struct
// packer. Returns NULL; or the error, a static text. packed_fini() frees packer->line, after an error too.
const char *packer_init(struct packer *packer, const struct packer_limits *limits, const char *const *initial,
                        size_t ninitial, const char *replace);

// Returns where the next bytes of the item are to be written: room for `more` of them and a NUL. The caller adds to packer->item
// how many it has written.
char *packer_room(struct packer *packer, size_t more);

// Adds the item that was written as the next argument of the line. With `replace` the line becomes the initial arguments, with
// the item in their places, and is full. *ret_error is static, and set with PACK_ERROR only.
enum packer_status packer_add(struct packer *packer, const char **ret_error);

// Swaps the packed line with *line, whose memory is used for the next one; the item that is being written stays with the packer.
void packer_take(struct packer *packer, struct packed *line);

#endif
