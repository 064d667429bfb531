// How alike two words are, to name the one that was meant.

#include "base/edit_distance.h"

#include <string.h>

static size_t least_of(size_t a, size_t b) {
	return a < b ? a : b;
}

// Only the cells near the diagonal count: those farther off stand for more edits than that.
size_t edit_distance(const char *a, size_t na, const char *b, size_t nb) {
	enum { MOST = 64 };
	size_t rows[3][MOST + 1];
	size_t apart = na > nb ? na - nb : nb - na;
	if (na > MOST || nb > MOST || apart > DISTANCE_NEAR) {
		return MOST;
	}
	size_t *last = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= nb; ++j) {
		above[j] = j;
	}
	for (size_t i = 1; i <= na; ++i) {
		size_t from = i > DISTANCE_NEAR ? i - DISTANCE_NEAR : 1;
		size_t to = i + DISTANCE_NEAR < nb ? i + DISTANCE_NEAR : nb;
		row[from - 1] = from == 1 ? i : MOST;
		for (size_t j = from; j <= to; ++j) {
			row[j] = least_of(above[j - 1] + (a[i - 1] != b[j - 1]), least_of(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				row[j] = least_of(row[j], last[j - 2] + 1);
			}
		}
		if (to < nb) {
			row[to + 1] = MOST; // read by the next row as what is above its last
		}
		size_t *spare = last;
		last = above;
		above = row;
		row = spare;
	}
	return above[nb];
}

void nearest_offer(struct nearest *nearest, const char *candidate, size_t len) {
	size_t edits = edit_distance(nearest->word, nearest->len, candidate, len);
	if (edits < nearest->least && edits < nearest->len && edits <= len && edits <= (nearest->len + 1) / 2) {
		nearest->least = edits;
		nearest->found = candidate;
	}
}
