// Packing: how many records go into one job (-n, -N, -L, -X, -m, --xargs, -s). It knows no input, queue or clock.
//
// A pack is the arguments of the next job. It is full when one more record would be above a limit: of records, of the length
// of the command (--max-chars), or of what execve() takes.

#pragma once

#include "base/buf.h"
#include "input/input.h"
#include "template/command.h"

// The most that pack_limits.chars can be: the text of `sh -c TEXT` is one string, and a blank may come in front of it.
enum { PACK_CHARS_MAX = COMMAND_STRING_MAX - 1 };

struct pack_limits {
	uint32_t items;      // records in a pack, 0: no limit
	size_t chars;        // the command must be shorter than this
	size_t room;         // bytes that execve() takes for all arguments, or 0: not known
	bool fills;          // no shell runs the command: several records may fill `room`, which is known, even beyond `chars`
	bool waits;          // a full pack is not taken before the next record is there: the last pack is spread over the slots
	bool inserts_none;   // -N0: the records are counted, and their arguments left out
	const struct template *template; // the template of the command, borrowed; NULL: the command is the arguments, with a byte between each two
	// lengths of text in bytes, which packs_prepare() sets; without a template the caller may set them
	ptrdiff_t fixed;     // the length of the command without arguments; below 0 if it is nothing but arguments
	size_t each;         // bytes that an argument of one byte adds to the command
};

// A zeroed pack is empty. A pack's memory is kept for the next one.
struct pack {
	struct buf args;     // the arguments of all records
	uint32_t nargs, nitems;
	size_t size;         // bytes that the arguments add to the command
	const char *bad;     // why the pack cannot be run, or NULL
	uint32_t each, given; // for the caller, who spreads the pack over jobs: records in each job; records submitted so far
	uint32_t *counts;    // how many arguments each record has, when the limits say `waits`
	size_t counts_cap;
};

enum pack_status {
	PACK_TAKEN,
	PACK_FULL,      // take the pack first, then add again
	PACK_ALONE,     // *ret_bad says why the record cannot be an item: it is a job by itself, which fails
};

// Measures the command. To be called when the caller has set its limits.
void packs_prepare(struct pack_limits *limits);

// Adds the record; `bad` says why it cannot be an item, or is NULL. If packs have a fixed number of records, a bad record takes
// its place in the pack and makes the whole pack bad: the records behind it must not move up. `seq` is the number that the job
// will have. *ret_bad lives until the next call.
enum pack_status packs_add(struct pack *pack, const struct pack_limits *limits, const struct record *record,
                          const char *bad, uint64_t seq, const char **ret_bad);

// Adds a record of several joined ones (input_join_records()), one argument each, as packs_add() would add them one by one. Returns
// false, and adds none, if they do not all fit.
bool packs_add_all(struct pack *pack, const struct pack_limits *limits, const struct record *record, uint64_t seq);

// True if the pack is full whatever the next record is.
bool packs_is_complete(const struct pack *pack, const struct pack_limits *limits);

// Returns all arguments as the record of a job, borrowed from the pack.
struct record packs_record(const struct pack *pack);

// Returns the arguments of the records from number `from` to before `to`, borrowed from the pack. Its limits must say `waits`,
// and the pack must not be bad.
struct record packs_slice(const struct pack *pack, uint32_t from, uint32_t to);

// Returns how many records each job gets when the last pack is spread over the slots, as evenly as GNU parallel does it.
uint32_t packs_spread(const struct pack *pack, unsigned slots);

// Empties the pack and keeps its memory.
void packs_reset(struct pack *pack);

// Frees the memory and makes the pack empty.
void packs_fini(struct pack *pack);

// Returns the most bytes of records that may be joined (input_join_records()) and then measured and packed as one: each record
// is sure to be a valid item, and a pack gets shorter by a sixteenth at most. 0: records must come one by one.
size_t packs_join_size(const struct pack_limits *limits);

// Measures a record that is packed only when a job starts (--pack=auto), or several joined ones. Returns true, and in *ret_size
// the bytes that the record adds to a command; or false if it is longer than a command may be, with a message in *ret_bad that
// is valid until the next call.
bool packs_measure(const struct pack_limits *limits, const struct record *record, uint64_t seq, uint32_t *ret_size,
                   const char **ret_bad);

// True if a job may have `nargs` arguments of `size` bytes in all, by packs_measure().
bool packs_fit(const struct pack_limits *limits, uint32_t nargs, size_t size);
