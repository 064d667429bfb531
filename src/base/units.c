// Reads numbers, durations, sizes, escapes and words of a list from text.

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SECOND UINT64_C(1000000000)
#define CENTURY (SECOND * 86400 * 36500)
#define LONGEST (SECOND * 1000000000) // 30 years: the longest duration of PARALLEL_UNITS, and the longest interval of a rate

int parse_number(const char *text, long least, long most, long *ret_value) {
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	bool is_number = strspn(text + (*text == '-'), "0123456789") > 0; // strtol() takes blanks and a plus, too
	if (!is_number || *end || errno != 0 || value < least || value > most) {
		return -1;
	}
	*ret_value = value;
	return 0;
}

bool read_digits(const char **at, const char *end, uint64_t *ret_number) {
	const char *first = *at;
	uint64_t number = 0;
	bool fits = true;
	for (; *at != end && **at >= '0' && **at <= '9'; ++*at) {
		fits = fits && !__builtin_mul_overflow(number, 10, &number) && !__builtin_add_overflow(number, (uint64_t)(**at - '0'), &number);
	}
	*ret_number = fits ? number : UINT64_MAX;
	return fits && *at > first;
}

const char *read_decimal(const char *text, enum notation notation, struct decimal *ret_decimal) {
	struct decimal decimal = {0};
	const char *at = text;
	(void)read_digits(&at, NULL, &decimal.whole);
	bool has_digits = at > text;
	if (*at == '.' && (notation == PARALLEL_UNITS || (has_digits && at[1] >= '0' && at[1] <= '9'))) {
		double scale = 1, digits = 0;
		for (++at; *at >= '0' && *at <= '9'; ++at) {
			has_digits = true;
			digits = digits * 10 + (*at - '0');
			scale *= 10;
		}
		decimal.has_point = true;
		decimal.fraction = digits / scale;
	}
	*ret_decimal = decimal;
	return has_digits ? at : NULL;
}

// Multiplies the decimal by the unit; `rounding` 0.5 rounds the product, 0 cuts it off. Returns 0, or -1 if the product is above `most`.
static int scale(const struct decimal *decimal, uint64_t unit, double rounding, uint64_t most, uint64_t *ret_value) {
	if (decimal->whole > most / unit) {
		return -1;
	}
	uint64_t value = decimal->whole * unit + (uint64_t)(decimal->fraction * (double)unit + rounding);
	if (value > most) {
		return -1;
	}
	*ret_value = value;
	return 0;
}

int parse_duration(const char *text, enum notation notation, uint64_t *ret_ns) {
	static const struct { const char *name; uint64_t ns; } units[] = {
		{"d", 86400 * SECOND}, {"h", 3600 * SECOND}, {"m", 60 * SECOND}, {"s", SECOND}, {"ms", SECOND / 1000},
	};
	bool strict = notation == MANIFEST_UNITS;
	size_t nunits = sizeof(units) / sizeof(units[0]) - !strict, next = 0; // strict: each unit must be smaller than the one before
	uint64_t sum = 0, ns;
	const char *at = text;
	do {
		struct decimal decimal;
		const char *unit = read_decimal(at, notation, &decimal);
		size_t len = unit ? strcspn(unit, "0123456789.") : 0, i = strict ? next : 0;
		while (unit && i < nunits && (strlen(units[i].name) != len ||
		                              (strict ? memcmp(units[i].name, unit, len) : strncasecmp(units[i].name, unit, len)) != 0)) {
			++i;
		}
		bool is_bare = unit && at == text && *unit == '\0', is_mixed = unit && decimal.has_point && (at != text || unit[len]);
		if (!unit || (i == nunits && !is_bare) || (strict && is_mixed) ||
		    scale(&decimal, is_bare ? SECOND : units[i].ns, 0.5, (strict ? CENTURY : LONGEST) - sum, &ns) != 0) {
			return -1;
		}
		sum += ns;
		next = i + 1;
		at = unit + len;
	} while (*at);
	*ret_ns = sum;
	return 0;
}

static const struct { char letter; uint64_t ns; } rate_units[] = {{'s', SECOND}, {'m', 60 * SECOND}, {'h', 3600 * SECOND}};

int parse_rate(const char *text, uint64_t *ret_interval) {
	struct decimal decimal;
	const char *at = read_decimal(text, MANIFEST_UNITS, &decimal);
	double n = (double)decimal.whole + decimal.fraction;
	for (size_t i = 0; at && i < sizeof(rate_units) / sizeof(rate_units[0]); ++i) {
		double interval = n > 0 ? (double)rate_units[i].ns / n : 0;
		if (at[0] == '/' && at[1] == rate_units[i].letter && at[2] == '\0' && interval >= 1 && interval <= (double)LONGEST) {
			*ret_interval = (uint64_t)(interval + 0.5);
			return 0;
		}
	}
	return -1;
}

const char *rate_show(char text[RATE_TEXT], uint64_t interval) {
	size_t last = sizeof(rate_units) / sizeof(rate_units[0]) - 1;
	for (size_t i = 0;; ++i) {
		double n = (double)rate_units[i].ns / (double)interval, whole = (double)(uint64_t)(n + 0.5);
		bool is_whole = whole >= 1 && n > whole * (1 - 1e-6) && n < whole * (1 + 1e-6); // allows a small difference, because the interval was rounded
		if (is_whole || i == last) {
			snprintf(text, RATE_TEXT, "%.10g/%c", is_whole ? whole : n, rate_units[i].letter);
			return text;
		}
	}
}

int parse_percent(const char *text, double *ret_percent) {
	struct decimal decimal;
	const char *at = read_decimal(text, PARALLEL_UNITS, &decimal);
	double value = (double)decimal.whole + decimal.fraction;
	if (!at || strcmp(at, "%") != 0 || !(value > 0) || value > 1e9) {
		return -1;
	}
	*ret_percent = value;
	return 0;
}

int parse_size(const char *text, enum notation notation, uint64_t *ret_bytes) {
	static const char units[] = "KMGTkmgt";
	bool strict = notation == MANIFEST_UNITS;
	struct decimal decimal;
	const char *at = read_decimal(text, notation, &decimal), *unit = at && *at ? strchr(units, *at) : NULL;
	if (!at || (*at && (!unit || at[1] || (strict && unit >= units + 4))) || (strict && !unit && decimal.has_point)) {
		return -1;
	}
	uint64_t bytes = 1, value;
	for (long n = unit ? (unit - units) % 4 : -1; n >= 0; --n) {
		bytes *= unit < units + 4 ? 1024 : 1000;
	}
	if (scale(&decimal, bytes, strict ? 0.5 : 0, INT64_MAX, &value) != 0 || (!strict && value == 0)) {
		return -1;
	}
	*ret_bytes = value;
	return 0;
}

const char *unit_excess(const char *text) {
	static const char units[] = "KMGTkmgtdDhHsS";
	enum { MUCH = 1000000000 }; // a number of at least MUCH that was refused is taken to be too large
	struct decimal decimal;
	const char *at = read_decimal(text, PARALLEL_UNITS, &decimal);
	if (!at || (*at && (!strchr(units, *at) || at[1]))) {
		return "";
	}
	bool of_counts = *at && strchr("GTgt", *at);
	bool is_none = decimal.whole == 0 && decimal.fraction == 0;
	return decimal.whole >= MUCH || (of_counts && decimal.whole >= 1) ? ", which is too much" : is_none ? ", which is too little" : "";
}

// Returns how many of the next characters, at most `most`, are digits of that base. Sets *ret_value to the value of these digits.
static size_t scan_digits(const char *text, unsigned base, size_t most, unsigned *ret_value) {
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	*ret_value = 0;
	for (; n < most && text[n]; ++n) {
		const char *digit = memchr(digits, text[n] >= 'A' && text[n] <= 'F' ? text[n] - 'A' + 'a' : text[n], base);
		if (!digit) {
			break;
		}
		*ret_value = *ret_value * base + (unsigned)(digit - digits);
	}
	return n;
}

int parse_escapes(struct buf *buf, const char *text) {
	static const char letters[] = "abfnrtv\\", bytes[] = "\a\b\f\n\r\t\v\\";
	int result = 0;
	while (*text) {
		const char *letter = *text == '\\' && text[1] ? strchr(letters, text[1]) : NULL;
		unsigned value;
		size_t n;
		if (*text != '\\') {
			buf_addc(buf, *text++);
		} else if (letter) {
			buf_addc(buf, bytes[letter - letters]);
			text += 2;
		} else if (text[1] == 'x' && (n = scan_digits(text + 2, 16, 2, &value)) > 0) {
			buf_addc(buf, (char)value);
			text += 2 + n;
		} else if ((n = scan_digits(text + 1, 8, text[1] == '0' ? 4 : 3, &value)) > 0 && value <= 255) {
			buf_addc(buf, (char)value);
			text += 1 + n;
		} else {
			buf_addc(buf, *text++);
			result = -1;
		}
	}
	return result;
}

const char *strings_next(const char **at, const char *end, uint32_t n) {
	const char *first = *at, *nul = *at;
	for (; n > 0 && nul; --n) {
		nul = memchr(*at, '\0', (size_t)(end - *at));
		*at = nul ? nul + 1 : end;
	}
	return nul ? first : NULL;
}

const char *word_next(const char **list, size_t *ret_len) {
	const char *word = *list + strspn(*list, " \t");
	*ret_len = strcspn(word, " \t");
	*list = word + *ret_len;
	return *ret_len > 0 ? word : NULL;
}

int word_index(const char *list, const char *word, size_t len) {
	int i = 0;
	for (const char *end; *list; list = end + (*end == ' ')) {
		end = strchrnul(list, ' ');
		if ((size_t)(end - list) == len && len > 0 && memcmp(list, word, len) == 0) {
			return i;
		}
		i += end > list;
	}
	return -1;
}

// ---- the word that was meant ----

size_t edit_distance(const char *a, size_t na, const char *b, size_t nb) {
	enum { MOST = 64 };
	size_t cells[MOST + 1][MOST + 1]; // [i][j]: the edits from the first i bytes of `a` to the first j of `b`
	if (na > MOST || nb > MOST || na > nb + DISTANCE_NEAR || nb > na + DISTANCE_NEAR) {
		return MOST;
	}
	for (size_t i = 0; i <= na; ++i) {
		for (size_t j = 0; j <= nb; ++j) {
			size_t least = i == 0 ? j : j == 0 ? i : cells[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (i > 0 && j > 0) {
				size_t gap = (cells[i - 1][j] < cells[i][j - 1] ? cells[i - 1][j] : cells[i][j - 1]) + 1;
				least = gap < least ? gap : least;
			}
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && cells[i - 2][j - 2] + 1 < least) {
				least = cells[i - 2][j - 2] + 1;
			}
			cells[i][j] = least;
		}
	}
	return cells[na][nb];
}

void nearest_offer(struct nearest *nearest, const char *candidate, size_t len) {
	size_t edits = edit_distance(nearest->word, nearest->len, candidate, len);
	if (edits < nearest->least && edits < nearest->len && edits <= len && edits <= (nearest->len + 1) / 2) {
		nearest->least = edits;
		nearest->found = candidate;
	}
}
