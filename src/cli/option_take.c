// Takes the values of options, or refuses them with a message.

#include "cli/option_take.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_values.h"

#include <stdarg.h>

int option_fail(enum option_id id, const char *format, ...) {
	struct buf text = BUF_INIT;
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error("--%s %s", option_table[id].name, buf_str(&text));
	buf_fini(&text);
	return -1;
}

int option_take_long(enum option_id id, const char *text, long least, long most, long *ret_value) {
	if (option_long(text, least, most, ret_value) != 0) {
		return option_fail(id, "must be a number from %ld to %ld, not '%s'", least, most, text_shows(text));
	}
	return 0;
}

int option_take_duration(enum option_id id, const char *text, uint64_t *ret_ns) {
	if (option_duration(text, ret_ns) == 0) {
		return 0;
	}
	return option_fail(id, "must be seconds, a time such as 1h30m or 2.5s, or a percentage such as 200%%, not '%s'%s", text_shows(text),
	            option_excess(text));
}

int option_take_size(enum option_id id, const char *text, size_t *ret_bytes) {
	if (option_size(text, ret_bytes) != 0) {
		return option_fail(id, "must be a size such as 500k or 64M, not '%s'%s", text_shows(text), option_excess(text));
	}
	return 0;
}

int option_take_text(enum option_id id, const char *text, const char **ret_text) {
	if (*text == '\0') {
		return option_fail(id, "must not be empty");
	}
	*ret_text = text;
	return 0;
}
