// Numbers, durations, sizes and escapes, read from text.

#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

// Digits with, at most, a point among them. Returns what follows, or NULL. By hand: strtod() takes "inf", "0x1p3", and
// under some locales a comma.
static const char *read_decimal(const char *text, double *ret_value) {
	double value = 0, scale = 1;
	bool any = false, fraction = false;
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !fraction); ++text) {
		if (*text == '.') {
			fraction = true;
			continue;
		}
		any = true;
		scale *= fraction ? 10 : 1;
		value = value * 10 + (*text - '0');
	}
	*ret_value = value / scale;
	return any ? text : NULL;
}

static double unit_seconds(char unit) {
	switch (unit) {
	case 'd': case 'D': return 86400;
	case 'h': case 'H': return 3600;
	case 'm': case 'M': return 60;
	case 's': case 'S': return 1;
	default: return 0;
	}
}

int parse_duration(const char *text, uint64_t *ret_ns) {
	double seconds = 0, value;
	const char *at = read_decimal(text, &value);
	if (at && *at == '\0') {
		seconds = value;
	}
	while (at && *at) {
		double unit = unit_seconds(*at++);
		if (unit == 0) {
			return -1;
		}
		seconds += value * unit;
		if (*at == '\0') {
			break;
		}
		at = read_decimal(at, &value);
		if (!at || *at == '\0') { // what goes on after a unit ends with one
			return -1;
		}
	}
	if (!at || !(seconds <= 1e9)) { // 30 years: far from where nanoseconds overflow
		return -1;
	}
	*ret_ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

int parse_percent(const char *text, double *ret_percent) {
	double value;
	const char *at = read_decimal(text, &value);
	if (!at || strcmp(at, "%") != 0 || !(value > 0) || value > 1e9) {
		return -1;
	}
	*ret_percent = value;
	return 0;
}

int parse_size(const char *text, size_t *ret_bytes) {
	static const char units[] = "KMGT", small_units[] = "kmgt";
	double value;
	const char *at = read_decimal(text, &value);
	const char *unit = at && *at ? strchr(units, *at) : NULL, *small = at && *at ? strchr(small_units, *at) : NULL;
	for (long n = unit ? unit - units : small ? small - small_units : -1; n >= 0; --n) {
		value *= unit ? 1024 : 1000;
	}
	if (!at || (*at && !unit && !small) || (*at && at[1]) || value < 1 || value >= (double)(SIZE_MAX / 2)) {
		return -1;
	}
	*ret_bytes = (size_t)value;
	return 0;
}

const char *unit_excess(const char *text) {
	static const char units[] = "KMGTkmgtdDhHsS";
	enum { MUCH = 1000000000 }; // more than a time, or a count, can be
	double value;
	const char *at = read_decimal(text, &value);
	if (!at || (*at && (!strchr(units, *at) || at[1]))) {
		return "";
	}
	bool of_counts = *at && strchr("GTgt", *at);
	return value >= MUCH || (of_counts && value >= 1) ? ", which is too much" : value == 0 ? ", which is too little" : "";
}

// How many of the next characters, at most `most`, are digits of that base; their value in *ret_value.
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
