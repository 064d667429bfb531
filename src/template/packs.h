// Decides how many records go into one job (-n, -N, -L, -X, -m, --xargs, -s). This file knows no input, queue or clock.
//
// A pack holds the arguments of the next job. A pack is full when one more record would exceed a limit: the number of records, the
// length of the command (--max-chars), or the bytes that execve() takes.

#pragma once

#include "base/buf.h"
#include "input/input.h"
#include "template/command.h"

// The highest value of pack_limits.chars: the text of `sh -c TEXT` is one string, and a blank may stand in front of the text.
enum { PACK_CHARS_MAX = COMMAND_STRING_MAX - 1 };

struct pack_limits {
	uint32_t items;      // records in a pack, 0: no limit
	size_t chars;        // the command must be shorter than this
	size_t room;         // bytes that execve() takes for all arguments, or 0: not known
	bool fills;          // no shell runs the command: several records together may exceed `chars`, up to `room`, which is then known
	bool waits;          // a full pack is not taken before the next record has come, because the last pack is spread over the slots
	bool inserts_none;   // -N0: records are counted, but the command gets none of their arguments
	bool exits;          // the caller reads no further than a record that is too long: the record does not make a pack of fixed length bad
	const struct template *template; // the template of the command, borrowed; NULL: the command is the arguments, with a byte between two of them
	// lengths of text in bytes, which packs_prepare() sets; without a template the caller may set them
	ptrdiff_t fixed;     // the length of the command without arguments; below 0 if the command is nothing but arguments
	size_t each;         // bytes that an argument of one byte adds to the command
};

// The arguments of the next job. A zeroed pack is empty. packs_reset() keeps the memory for the next pack.
struct pack {
	struct buf args;     // the arguments of all records
	uint32_t nargs, nitems; // how many arguments and how many records the pack has
	size_t size;         // bytes that the arguments add to the command
	const char *bad;     // why the pack cannot be run, or NULL
	uint32_t each, given; // set by a caller that spreads the pack over jobs: records in each job, and records submitted so far
	uint32_t *counts;    // how many arguments each record has, when the limits say `waits`
	size_t counts_cap;
};

enum pack_status {
	PACK_TAKEN,     // the record was added
	PACK_FULL,      // the record was not added: take the pack, reset it, then add the record again
	PACK_ALONE,     // the record was not added, as it cannot be an item (*ret_bad says why): make it a job of its own, which fails
};

// Measures the command: sets limits->fixed and limits->each. The caller has set the other members.
void packs_prepare(struct pack_limits *limits);

// Adds the record; `bad` says why it cannot be an item, or is NULL. If packs have a fixed number of records, a bad record is counted
// in the pack and makes the whole pack bad, so that no later record moves to another pack. `seq` is the number that the job will have.
// *ret_bad is valid until the next call.
enum pack_status packs_add(struct pack *pack, const struct pack_limits *limits, const struct record *record,
                          const char *bad, uint64_t seq, const char **ret_bad);

// Adds several records of one argument each, which input_join_records() has joined into `record`, as packs_add() would add them one
// by one. Returns false, and adds no record, if not all of them fit.
bool packs_add_all(struct pack *pack, const struct pack_limits *limits, const struct record *record, uint64_t seq);

// Returns true if the pack has all its records and can be taken at once; false if the next record must be seen first.
bool packs_is_complete(const struct pack *pack, const struct pack_limits *limits);

// Returns all arguments as the record of a job, borrowed from the pack.
struct record packs_record(const struct pack *pack);

// Returns the arguments of the records with the numbers `from` to `to` - 1, borrowed from the pack. The pack must have been filled
// with limits that say `waits`, and must not be bad.
struct record packs_slice(const struct pack *pack, uint32_t from, uint32_t to);

// Returns how many records each job gets when the last pack is spread over the slots, as evenly as GNU parallel spreads it.
uint32_t packs_spread(const struct pack *pack, unsigned slots);

// Empties the pack and keeps its memory.
void packs_reset(struct pack *pack);

// Frees the memory and makes the pack empty.
void packs_fini(struct pack *pack);

// Returns how many bytes of records input_join_records() may join, to be measured and packed as one record. With so few bytes each
// record surely fits into a command, and joining makes a pack shorter by a sixteenth at most. 0: records must not be joined.
size_t packs_join_size(const struct pack_limits *limits);

// Measures a record, or several joined records, for --pack=auto, which packs records only when a job starts. Returns true, and in
// *ret_size the bytes that the record adds to a command; or false if a command with the record would be too long, and in *ret_bad
// a message that is valid until the next call.
bool packs_measure(const struct pack_limits *limits, const struct record *record, uint64_t seq, uint32_t *ret_size,
                   const char **ret_bad);

// Returns true if a job may have `nargs` arguments that add `size` bytes to its command, as packs_measure() has measured them.
// `is_alone`: they are the arguments of one record.
bool packs_fit(const struct pack_limits *limits, uint32_t nargs, size_t size, bool is_alone);
