// Cuts a stream of bytes into blocks on the borders of records, exactly where GNU parallel --pipe cuts it.
//
// A border is where one record ends (with --recend) and the next one begins (with --recstart). The splitter says where to
// cut; the caller reads, keeps and passes on the bytes, which are not copied here. The caller repeats this round:
//
//   read block_splitter_want() bytes more, or up to the end of the stream
//   while block_splitter_cut() returns the length of a block, take that block from the front of the bytes
//   if no block was cut off, call block_splitter_grow(); at the end of the stream the bytes that are left are the last block

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_splitter_config {
	size_t block;            // how many bytes a round searches for borders (--block); at least 1
	const char *start, *end; // --recstart and --recend as given; NULL: empty
	bool regexp;             // `start` and `end` are regular expressions of Perl, as for colsep_translate()
	uint64_t records;        // -N: records in each block; 0: as many as fit
	uint64_t lines;          // -L: a block has a multiple of this number of lines; 0: any number
};

struct block_splitter;

// Creates a splitter; the config is not kept. Returns NULL with *ret_error (caller frees) if a regular expression is invalid or
// not supported.
struct block_splitter *block_splitter_create(const struct block_splitter_config *config, char **ret_error);

// Frees the splitter, which may be NULL.
void block_splitter_destroy(struct block_splitter *splitter);

// Returns the most bytes that the caller is to read in this round, when `len` bytes are left from the rounds before.
size_t block_splitter_want(const struct block_splitter *splitter, size_t len);

// Returns the length of the block at the front of the bytes, or 0 if no block can be cut off. `first` says that this is the
// first call of a round, `ended` that the stream has no more bytes.
size_t block_splitter_cut(struct block_splitter *splitter, const char *bytes, size_t len, bool first, bool ended);

// Makes the splitter look at more bytes in the next round, after a round that cut off no block because a record is longer than
// the bytes. Returns how many bytes the next round looks at.
size_t block_splitter_grow(struct block_splitter *splitter);

// Returns the offset of the first border in the bytes (with config.regexp, of the last border, as in GNU parallel), or SIZE_MAX if the
// bytes hold no border. For the parts of a file (--pipe-part).
size_t block_splitter_find(struct block_splitter *splitter, const char *bytes, size_t len);

// Returns true if a record may end behind any byte, since neither --recstart nor --recend is set.
bool block_splitter_is_free(const struct block_splitter *splitter);

// Returns how many of the last bytes to keep when the bytes hold no border: a border may begin in them and end in the next bytes.
size_t block_splitter_overlap(const struct block_splitter *splitter);

// Removes the separators of the records from a block, in place (--remove-rec-sep).
void block_splitter_strip(struct block_splitter *splitter, struct buf *block);

// ---- blank lines (--no-run-if-empty) ----

// The state of blanks_drop() between two calls; zeroed before the first call.
struct blanks {
	struct buf begun;     // the beginning of the present line, if there are only blanks so far; the caller frees `begun`
	bool in_line;         // the present line has other bytes than blanks
};

// Appends the bytes to `to`, but leaves out lines that are empty or all blanks; `len` 0 marks the end of the data. Returns how
// many bytes were appended.
size_t blanks_drop(struct blanks *blanks, const char *bytes, size_t len, struct buf *to);

// ---- the header (--header with --pipe) ----

struct header_rule;

// Creates a rule that finds the header at the front of a stream; each block gets a copy of the header. `text` is a number of lines, ":" for one line,
// or a regular expression. Returns NULL with *ret_error (caller frees) if the text is invalid.
struct header_rule *header_create(const char *text, char **ret_error);

// Frees the rule, which may be NULL.
void header_destroy(struct header_rule *rule);

// Returns the length of the header at the front of the bytes, or SIZE_MAX if no header is there (yet).
size_t header_find(const struct header_rule *rule, const char *bytes, size_t len);
