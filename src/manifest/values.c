// Values of a manifest that are more than text: numbers, durations, sizes and the like.

#include "manifest/values.h"

#include "base/alloc.h"

#define SECOND UINT64_C(1000000000)
#define CENTURY (SECOND * 86400 * 36500)

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// A number with decimals, by hand: strtod() takes hexadecimal, and the comma of the locale.
struct decimal {
	uint64_t whole;
	double fraction;    // below 1
	bool has_point;
};

// Returns what is behind the number, or NULL if there is none (or a too large one).
static const char *read_decimal(const char *text, struct decimal *ret_decimal) {
	struct decimal decimal = {0, 0, false};
	const char *at = text;
	for (; is_digit(*at); ++at) {
		if (decimal.whole > UINT64_MAX / 10 - 1) {
			return NULL;
		}
		decimal.whole = decimal.whole * 10 + (uint64_t)(*at - '0');
	}
	if (at == text) {
		return NULL;
	}
	if (at[0] == '.' && is_digit(at[1])) {
		decimal.has_point = true;
		double place = 1;
		for (++at; is_digit(*at); ++at) {
			place /= 10;
			decimal.fraction += place * (*at - '0');
		}
	}
	*ret_decimal = decimal;
	return at;
}

// The decimal times the unit, or false above the limit.
static bool scale(const struct decimal *decimal, uint64_t unit, uint64_t most, uint64_t *ret_value) {
	if (decimal->whole > most / unit) {
		return false;
	}
	uint64_t value = decimal->whole * unit + (uint64_t)(decimal->fraction * (double)unit + 0.5);
	if (value > most) {
		return false;
	}
	*ret_value = value;
	return true;
}

bool value_int(const char *text, int least, int most, int *ret_value) {
	bool is_negative = text[0] == '-';
	const char *digits = text + is_negative;
	long long value = 0;
	size_t n = 0;
	for (; is_digit(digits[n]) && n < 12; ++n) {
		value = value * 10 + (digits[n] - '0');
	}
	value = is_negative ? -value : value;
	if (n == 0 || digits[n] != '\0' || (digits[0] == '0' && n > 1) || value < least || value > most) {
		return false;
	}
	*ret_value = (int)value;
	return true;
}

bool value_duration(const char *text, uint64_t *ret_ns) {
	static const struct { const char *name; uint64_t ns; } units[] = {
		{"d", 86400 * SECOND}, {"h", 3600 * SECOND}, {"m", 60 * SECOND}, {"s", SECOND}, {"ms", SECOND / 1000},
	};
	enum { NUNITS = sizeof(units) / sizeof(units[0]) };
	uint64_t sum = 0, ns;
	size_t next = 0; // a smaller unit must follow
	for (const char *at = text; at == text || *at;) {
		struct decimal decimal;
		const char *unit = read_decimal(at, &decimal);
		if (!unit || (decimal.has_point && at != text)) {
			return false;
		}
		size_t len = strcspn(unit, "0123456789."), i = next;
		while (i < NUNITS && (strlen(units[i].name) != len || memcmp(units[i].name, unit, len) != 0)) {
			++i;
		}
		bool is_bare = at == text && len == 0 && *unit == '\0';
		if ((i == NUNITS && !is_bare) || (decimal.has_point && unit[len])) {
			return false;
		}
		if (!scale(&decimal, is_bare ? SECOND : units[i].ns, CENTURY - sum, &ns)) {
			return false;
		}
		sum += ns;
		next = i + 1;
		at = unit + len;
	}
	*ret_ns = sum;
	return true;
}

bool value_size(const char *text, uint64_t *ret_bytes) {
	static const char units[] = "KMGT";
	struct decimal decimal;
	const char *unit = read_decimal(text, &decimal);
	if (!unit) {
		return false;
	}
	uint64_t bytes = 1;
	if (*unit) {
		const char *at = strchr(units, *unit);
		if (!at || unit[1]) {
			return false;
		}
		bytes = UINT64_C(1) << 10 * (at - units + 1);
	}
	return (bytes > 1 || !decimal.has_point) && scale(&decimal, bytes, INT64_MAX, ret_bytes);
}

bool value_umask(const char *text, int *ret_umask) {
	const char *digits = text[0] == '0' && text[1] == 'o' ? text + 2 : text;
	int value = 0;
	size_t n = 0;
	for (; digits[n] >= '0' && digits[n] <= '7' && n < 5; ++n) {
		value = value * 8 + (digits[n] - '0');
	}
	if (n == 0 || n > 4 || digits[n] != '\0' || value > 0777) {
		return false;
	}
	*ret_umask = value;
	return true;
}

bool value_factor(const char *text, double *ret_factor) {
	struct decimal decimal;
	const char *end = read_decimal(text, &decimal);
	if (!end || *end || decimal.whole < 1 || decimal.whole > 1000 || (decimal.whole == 1000 && decimal.fraction > 0)) {
		return false;
	}
	*ret_factor = (double)decimal.whole + decimal.fraction;
	return true;
}

bool value_is_slots(const char *text) {
	bool has_sign = *text == '+' || *text == '-';
	struct decimal decimal;
	const char *end = read_decimal(text + has_sign, &decimal);
	size_t whole = strcspn(text + has_sign, ".%");
	if (!end || decimal.whole > 1000000 || whole > 9 || (size_t)(end - text) - has_sign > whole + 10) {
		return false;
	}
	return *end == '\0' ? !decimal.has_point : !has_sign && strcmp(end, "%") == 0;
}
