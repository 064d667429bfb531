// Whether text may have colours.

#include "term/colour.h"

#include "base/alloc.h"

static bool is_set(const char *name, bool or_zero) {
	const char *value = getenv(name);
	return value && *value != '\0' && (or_zero || strcmp(value, "0") != 0);
}

bool colour_wanted(int fd) {
	if (is_set("NO_COLOR", /* or_zero */ true)) {
		return false;
	}
	if (is_set("FORCE_COLOR", /* or_zero */ false) || is_set("CLICOLOR_FORCE", /* or_zero */ false)) {
		return true;
	}
	const char *term = getenv("TERM");
	return isatty(fd) == 1 && term && strcmp(term, "dumb") != 0;
}
