// Values of a manifest that are numbers; durations and sizes are read by base/units.h.

#include "manifest/values.h"

#include "base/units.h"

#include <string.h>

bool value_int(const char *text, int least, int most, int *ret_value) {
	const char *digits = text + (*text == '-');
	long value;
	if ((digits[0] == '0' && digits[1]) || parse_number(text, least, most, &value) != 0) {
		return false;
	}
	*ret_value = (int)value;
	return true;
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
	const char *end = read_decimal(text, MANIFEST_UNITS, &decimal);
	if (!end || *end || decimal.whole < 1 || decimal.whole > 1000 || (decimal.whole == 1000 && decimal.fraction > 0)) {
		return false;
	}
	*ret_factor = (double)decimal.whole + decimal.fraction;
	return true;
}

bool value_is_slots(const char *text) {
	bool has_sign = *text == '+' || *text == '-';
	struct decimal decimal;
	const char *end = read_decimal(text + has_sign, MANIFEST_UNITS, &decimal);
	size_t whole = strcspn(text + has_sign, ".%");
	if (!end || decimal.whole > 1000000 || whole > 9 || (size_t)(end - text) - has_sign > whole + 10) {
		return false;
	}
	return *end == '\0' ? !decimal.has_point : !has_sign && strcmp(end, "%") == 0;
}
