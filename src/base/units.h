// Reads numbers, durations, sizes, escapes and words of a list from text.
//
// The parsers return 0, or -1 for invalid text, with *ret_… unchanged. They print nothing.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Returns a - b, or 0 if `b` is the larger: for times and counts that were read at different moments.
static inline uint64_t u64_minus(uint64_t a, uint64_t b) {
	return a > b ? a - b : 0;
}

// Returns a number below 0, 0, or above 0, as strcmp() does: for qsort(3) and the like.
static inline int compare_numbers(uint64_t a, uint64_t b) {
	return (a > b) - (a < b);
}

// Parses a decimal number from `least` to `most`.
int parse_number(const char *text, long least, long most, long *ret_value) FP_NODISCARD;

// Reads digits up to `end` (NULL: the end of the text), and moves *at behind them. Returns false if there are none; or if the
// number is too large, with UINT64_MAX in *ret_number.
bool read_digits(const char **at, const char *end, uint64_t *ret_number);

// How numbers and units are written: as in options of GNU parallel, or as in a manifest.
enum notation { PARALLEL_UNITS, MANIFEST_UNITS };

// A number with decimals. It is read by hand, since strtod() takes "inf", hexadecimal, and the comma of the locale.
struct decimal {
	uint64_t whole;     // UINT64_MAX: too large
	double fraction;    // below 1
	bool has_point;
};

// Reads digits with at most one point, which in a manifest must stand between digits. Returns what follows, or NULL if
// there are no digits.
const char *read_decimal(const char *text, enum notation notation, struct decimal *ret_decimal);

// Parses a duration. PARALLEL_UNITS: seconds, or a sum such as 1d3.5h16.6m4s, in upper or lower case. MANIFEST_UNITS: 90, 90s,
// 1.5h, 100ms, 1d, or whole numbers with units from large to small, 1h30m; at most 100 years.
int parse_duration(const char *text, enum notation notation, uint64_t *ret_ns) FP_NODISCARD;

// Parses a rate: N/s, N/m or N/h with a decimal N above 0. Sets *ret_interval to the ns from one start to the next: 1 ns to 30 years.
int parse_rate(const char *text, uint64_t *ret_interval) FP_NODISCARD;

// Writes the rate of one start in `interval` ns, as parse_rate() reads it: in the first of the units s, m and h for which N is
// whole, else per hour. Returns `text`.
enum { RATE_TEXT = 32 };
const char *rate_show(char text[RATE_TEXT], uint64_t interval);

// Parses a percentage above 0: N% or N.N%.
int parse_percent(const char *text, double *ret_percent) FP_NODISCARD;

// Parses a number of bytes below 2^63: K, M, G, T are powers of 1024. PARALLEL_UNITS: k, m, g, t are powers of 1000, and 0 is refused.
int parse_size(const char *text, enum notation notation, uint64_t *ret_bytes) FP_NODISCARD;

// Returns the end of the message that refuses a number, a size or a time: ", which is too much", ", which is too little", or "" if the text was
// refused for another reason. Static text.
const char *unit_excess(const char *text);

// Appends the text with its escapes translated, as printf(1) understands them: \n, \t and other letters, \NNN, \0NNN, \xHH.
// Returns 0; or -1 if there was an invalid escape, which stays as it is.
int parse_escapes(struct buf *buf, const char *text);

// Moves *at behind the next `n` strings before `end`, each with its NUL. Returns the first of them; or NULL with *at at `end` if fewer are left.
const char *strings_next(const char **at, const char *end, uint32_t n);

// Returns the address behind the first `n` of the strings at `at`, which stand one after the other, each with its NUL.
static inline const char *strings_skip(const char *at, uint32_t n) {
	for (; n > 0; --n) {
		at += strlen(at) + 1;
	}
	return at;
}

// ---- lists of words, each in one text with blanks between the words ----

// Takes the next word off the list; tabs may separate words, too. Returns where the word starts, and its length; or NULL at the end.
const char *word_next(const char **list, size_t *ret_len);

// Returns the position of the word in the list, from 0; or -1 if the word is not there, or is empty.
int word_index(const char *list, const char *word, size_t len);

static inline bool word_is_in(const char *list, const char *word, size_t len) {
	return word_index(list, word, len) >= 0;
}

// ---- how alike two words are, to suggest the word that was probably meant ----

// The greatest distance (number of edits) between a word that was typed and a word that is suggested (ninja's kMaxValidEditDistance).
enum { DISTANCE_NEAR = 3 };

// Returns the Damerau–Levenshtein distance (optimal string alignment: no part is edited twice); if it is above DISTANCE_NEAR,
// the result may be any number above that. Words above 64 bytes are never near.
size_t edit_distance(const char *a, size_t na, const char *b, size_t nb);

// A search for the nearest of several words. Begin with NEAREST_INIT(word, its length).
struct nearest {
	const char *word;
	size_t len;
	const char *found; // the nearest so far, or NULL if none is near: borrowed from the candidates
	size_t least;      // the distance of `found` from the word; DISTANCE_NEAR + 1 if `found` is NULL
};

#define NEAREST_INIT(word, len) {word, len, NULL, DISTANCE_NEAR + 1}

// Offers a candidate of `len` bytes, which is borrowed if it is the nearest so far. A candidate is near if its distance to the word is at most
// DISTANCE_NEAR, at most half of the word's bytes (rounded up), below the number of the word's bytes, and at most the number of the candidate's.
void nearest_offer(struct nearest *nearest, const char *candidate, size_t len);
