// The options that say how many items go into one command.

#include "cli/option_packing.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/option_take.h"
#include "cli/option_values.h"
#include "template/packs.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int take_count(enum option_id id, const char *text, bool *ret_given, uint32_t *ret_n) {
	size_t n = 0; // which is no size
	if ((strcmp(text, "0") != 0 && option_size(text, &n) != 0) || n > INT_MAX) {
		return option_fail(id, "must be a number such as 10 or 2k, not '%s'%s", text_shows(text), option_excess(text));
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

// Prints the longest line, or with the most that is used of it, as GNU parallel does. What they are, template/packs.h says.
static int print_limits(size_t used) {
	struct buf text = BUF_INIT;
	if (used > 0) {
		buf_printf(&text, "Maximal size of command: %d\nMaximal usable size of command: %zu\n\n"
		           "Execution will continue now, and it will try to read its input\n"
		           "and run commands; if this is not what you wanted to happen, please\n"
		           "press CTRL-D or CTRL-C\n", PACK_LINE_MAX, used);
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

int packing_show_limits(const struct packing *packing) {
	return print_limits(packing->chars > 0 ? packing->chars : PACK_CHARS_MAX);
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
	case OPT_PACK:
		packing->by_time = true;
		if (strcmp(value, "auto") != 0) {
			diag_error("--pack must be auto, not '%s'; a number of items is given by --max-args", text_shows(value));
			return -1;
		}
		return 0;
	case OPT_MAX_LINE_LENGTH:
		*ret_done = true;
		return print_limits(/* used */ 0);
	default: // --show-limits, when --max-chars is known
		return 0;
	}
}

// What else says how many items go into a command, or needs to know it before.
static int refuse_with_pack(const bool *given) {
	static const struct { enum option_id id; const char *why; } refused[] = {
		{OPT_MAX_REPLACE_ARGS, "a number of items as an upper bound is given by --max-args"},
		{OPT_LINES, "a number of items as an upper bound is given by --max-args"},
		{OPT_MAX_LINES, "a number of items as an upper bound is given by --max-args"},
		{OPT_X, "each says how many items go into a command"},
		{OPT_M, "each says how many items go into a command"},
		{OPT_XARGS, "each says how many items go into a command"},
		{OPT_RESUME, "the next run puts items together in another way"},
		{OPT_RESUME_FAILED, "the next run puts items together in another way"},
		{OPT_RESULTS, "files are named by the item, and a process has many"},
		{OPT_TAG, "a process has many items; --tagstring '{#}' is the number of its first"},
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		if (given[refused[i].id]) {
			return option_fail(refused[i].id, "cannot be combined with --pack: %s", refused[i].why);
		}
	}
	return 0;
}

static int check_pack(const struct options *options, const bool *given) {
	const struct packing *packing = &options->packing;
	const char *error = NULL;
	if (refuse_with_pack(given) != 0) {
		return -1;
	}
	if (packing->has_max_args && packing->max_args == 0) {
		error = "--max-args 0 cannot be combined with --pack: a process would have no items";
	} else if (options->ncommand == 0) {
		error = "--pack needs a command that takes items; here each line is a command";
	} else if (options->halt.percent > 0) {
		error = "--halt with a percentage cannot be combined with --pack: how many processes there will be is not known";
	} else if (options->timeout_percent > 0) {
		error = "--timeout with a percentage cannot be combined with --pack: processes have different numbers of items";
	}
	if (error) {
		diag_error("%s", error);
	}
	return error ? -1 : 0;
}

// As GNU parallel's parse_options() has it.
int packing_options_settle(struct options *options, const bool *given) {
	struct packing *packing = &options->packing;
	uint32_t items = packing->has_max_replace ? packing->max_replace : packing->max_args;
	packing->joins = packing->has_lines || packing->has_max_lines;
	if (!packing->has_max_replace && items == 0) {
		items = packing->has_max_lines ? packing->max_lines : packing->lines;
	}
	packing->inserts_none = items == 0 && (packing->has_max_replace || packing->has_max_args || packing->has_lines);
	packing->repeats = packing->repeats || packing->has_max_replace || (packing->has_lines && !packing->is_list);
	packing->items = items > 0 ? items : packing->fills && !packing->inserts_none ? 0 : 1;
	packing->by_time = packing->by_time && options->resume != RESUME_RETRY; // whose commands are complete
	if (packing->by_time) {
		packing->items = packing->max_args;
		return check_pack(options, given);
	}
	packing->on = packing->fills || packing->items > 1 || packing->inserts_none || packing->chars > 0;
	return 0;
}
