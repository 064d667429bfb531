// How alike two words are, to name the one that was meant.

#ifndef FAIRPAR_BASE_EDIT_DISTANCE_H
#define FAIRPAR_BASE_EDIT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>

// The most edits between what was typed and what is suggested (ninja's kMaxValidEditDistance).
enum { DISTANCE_NEAR = 3 };

// Damerau–Levenshtein distance (optimal string alignment: no part is edited twice), or more than DISTANCE_NEAR where it is
// that anyway. Words above 64 bytes are never near.
size_t edit_distance(const char *a, size_t na, const char *b, size_t nb);

// A search for the nearest of several words. Begin with NEAREST_INIT(word, its length).
struct nearest {
	const char *word;
	size_t len;
	const char *found; // the nearest so far, or NULL if none is near: borrowed from the candidates
	size_t least;
};

#define NEAREST_INIT(word, len) {word, len, NULL, DISTANCE_NEAR + 1}

// Offers a candidate of `len` bytes, which is borrowed if it is the nearest so far. It is near if it takes at most
// DISTANCE_NEAR edits, at most half of the word's bytes (rounded up), and fewer than the word has.
void nearest_offer(struct nearest *nearest, const char *candidate, size_t len);

#endif
