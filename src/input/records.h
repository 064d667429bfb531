// Where a stream of bytes is cut into blocks: on the borders of records, exactly where GNU parallel --pipe cuts it.
//
// Bytes in, lengths out: the caller reads, keeps and hands on; nothing is copied here. The caller's loop is a round:
//
//   read carver_want() bytes more, or up to the end of the stream
//   take off blocks from the front as long as carver_cut() gives their length
//   if it gave none: carver_grow(); at the end of the stream what is left is the last block
//
// A border is where a record may end (--recend) and the next one begins (--recstart): between `end` and `start`.

#ifndef FAIRPAR_INPUT_RECORDS_H
#define FAIRPAR_INPUT_RECORDS_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carver_config {
	size_t block;            // bytes that are looked at together, at least 1 (--block)
	const char *start;       // --recstart and --recend, as given; NULL: empty
	const char *end;
	bool regexp;             // they are regular expressions, of Perl as far as colsep_translate() knows them
	uint64_t records;        // -N: each block has so many records; 0: as many as fit
	uint64_t lines;          // -L: the number of lines of a block is a multiple of it; 0: whatever it is
};

struct carver;
struct header_rule;

// Returns NULL with *ret_error (caller frees) if an expression cannot be understood.
struct carver *carver_create(const struct carver_config *config, char **ret_error);
void carver_destroy(struct carver *carver);

// How many bytes to read, at most, when `len` bytes are left over from the rounds before.
size_t carver_want(const struct carver *carver, size_t len);

// The length of the block at the front of what is left, or 0 if none can be cut off (now). `first`: the first call of a
// round. `ended`: the stream has ended.
size_t carver_cut(struct carver *carver, const char *bytes, size_t len, bool first, bool ended);

// Nothing was cut off in a whole round: a record is longer than what is looked at together. Returns the new size.
size_t carver_grow(struct carver *carver);

// The first border in the bytes, for a part of a file (--pipe-part): its distance from their beginning, or SIZE_MAX if
// there is none. With regexp it is the last border, as in GNU parallel.
size_t carver_find(struct carver *carver, const char *bytes, size_t len);

// True if a record may end anywhere.
bool carver_is_free(const struct carver *carver);

// How many of the bytes without a border may begin one, if more come behind them.
size_t carver_overlap(const struct carver *carver);

// Removes what separates the records of a block, in place: --remove-rec-sep.
void carver_strip(struct carver *carver, struct buf *block);

// Lines of nothing but blanks, which --no-run-if-empty leaves out of the data. Begins as {0}.
struct blanks {
	struct buf begun;     // the blanks of the line that may be one; the owner's to free
	bool in_line;         // the line is none
};
// Appends `bytes` to `to` but for blank lines; `len` 0 is the end of the data. Returns how many bytes it has appended.
size_t blanks_drop(struct blanks *blanks, const char *bytes, size_t len, struct buf *to);

// What stands at the front of a stream, for all blocks: --header, a regular expression, a number of lines or ":" for
// one. Returns NULL with *ret_error (caller frees).
struct header_rule *header_create(const char *text, char **ret_error);
void header_destroy(struct header_rule *rule);

// The length of the header at the front of the bytes, or SIZE_MAX if it is not there (yet).
size_t header_find(const struct header_rule *rule, const char *bytes, size_t len);

#endif
