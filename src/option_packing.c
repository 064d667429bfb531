// The options that say how many items go into one command.

#include "option_packing.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "option_values.h"
#include "plan/packs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int take_count(enum option_id id, const char *text, bool *ret_given, uint32_t *ret_n) {
	size_t n = 0; // which is no size
	if ((strcmp(text, "0") != 0 && option_size(text, &n) != 0) || n > INT_MAX) {
		diag_error("--%s must be a number such as 10 or 2k, not '%s'", option_table[id].name, diag_shows(text));
		return -1;
	}
	*ret_given = true;
	*ret_n = (uint32_t)n;
	return 0;
}

static int take_max_lines(struct packing *packing, const char *text) {
	packing->max_lines = 1;
	packing->has_max_lines = true;
	if (text && take_count(OPT_MAX_LINES, text, &packing->has_max_lines, &packing->max_lines) != 0) {
		return -1;
	}
	packing->max_lines = packing->max_lines > 0 ? packing->max_lines : 1;
	return 0;
}

static int take_max_chars(struct packing *packing, const char *text) {
	bool given;
	uint32_t n;
	if (take_count(OPT_MAX_CHARS, text, &given, &n) != 0) {
		return -1;
	}
	if (n == 0) {
		diag_error("--max-chars must be at least 1");
		return -1;
	}
	if (n > PACK_CHARS_MAX) {
		diag_warn("--max-chars: taking %d, the most there is", PACK_CHARS_MAX);
	}
	packing->chars = n > PACK_CHARS_MAX ? PACK_CHARS_MAX : n;
	return 0;
}

// Prints a limit, or both as GNU parallel does. What they are, plan/packs.h says.
static int print_limits(bool both) {
	struct buf text = BUF_INIT;
	if (both) {
		buf_printf(&text, "Maximal size of command: %d\nMaximal usable size of command: %d\n\n"
		           "Execution will continue now, and it will try to read its input\n"
		           "and run commands; if this is not what you wanted to happen, please\n"
		           "press CTRL-D or CTRL-C\n", PACK_LINE_MAX, PACK_CHARS_MAX);
	} else {
		buf_printf(&text, "%d\n", PACK_LINE_MAX);
	}
	int result = write_all(STDOUT_FILENO, buf_str(&text), text.len);
	if (result != 0 && errno != EPIPE) {
		diag_error("cannot write to stdout: %s", strerror(errno));
	}
	buf_fini(&text);
	return result;
}

int packing_option_take(struct options *options, enum option_id id, const char *value, bool *ret_done) {
	struct packing *packing = &options->packing;
	switch (id) {
	case OPT_MAX_ARGS: return take_count(id, value, &packing->has_max_args, &packing->max_args);
	case OPT_MAX_REPLACE_ARGS: return take_count(id, value, &packing->has_max_replace, &packing->max_replace);
	case OPT_LINES: return take_count(id, value, &packing->has_lines, &packing->lines);
	case OPT_MAX_LINES: return take_max_lines(packing, value);
	case OPT_MAX_CHARS: return take_max_chars(packing, value);
	case OPT_X:
		packing->repeats = true;
		packing->spreads = packing->fills = true;
		return 0;
	case OPT_M:
		packing->spreads = packing->fills = packing->is_list = true;
		return 0;
	case OPT_XARGS:
		packing->fills = packing->is_list = true;
		return 0;
	case OPT_EXIT:
		packing->exits = true;
		return 0;
	case OPT_MAX_LINE_LENGTH:
		*ret_done = true;
		return print_limits(/* both */ false);
	default: // --show-limits
		return print_limits(/* both */ true);
	}
}

// As GNU parallel's parse_options() has it.
void packing_options_settle(struct options *options) {
	struct packing *packing = &options->packing;
	uint32_t items = packing->has_max_replace ? packing->max_replace : packing->max_args;
	packing->joins = packing->has_lines || packing->has_max_lines;
	if (!packing->has_max_replace && items == 0) {
		items = packing->has_max_lines ? packing->max_lines : packing->lines;
	}
	packing->inserts_none = items == 0 && (packing->has_max_replace || packing->has_max_args || packing->has_lines);
	packing->repeats = packing->repeats || packing->has_max_replace || (packing->has_lines && !packing->is_list);
	packing->items = items > 0 ? items : packing->fills && !packing->inserts_none ? 0 : 1;
	packing->on = packing->fills || packing->items > 1 || packing->inserts_none || packing->chars > 0;
}
