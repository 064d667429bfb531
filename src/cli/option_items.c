// The options that say which items there are, and what replacement strings are called.

#include "cli/option_items.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"
#include "cli/option_values.h"

#include <stdlib.h>
#include <string.h>

// ---- items ----

static int set_delimiter(struct options *o, const char *text) {
	struct buf bytes = BUF_INIT;
	int result = option_unescape(&bytes, text);
	free(o->delimiter_text);
	o->delimiter_text = NULL;
	if (result != 0) {
		option_fail(OPT_DELIMITER, "has an unknown escape: '%s'", text_shows(text));
	} else if (bytes.len == 0 || (bytes.len > 1 && memchr(bytes.data, '\0', bytes.len))) {
		result = option_fail(OPT_DELIMITER, "must be one byte or more, or an escape such as \\n, \\0 or \\x2c, not '%s'",
		                     text_shows(text));
	} else {
		o->delimiter = bytes.data[bytes.len - 1];
		o->delimiter_text = bytes.len > 1 ? buf_take(&bytes) : NULL;
	}
	buf_fini(&bytes);
	return result;
}

static int set_colsep(struct options *o, const char *regex) {
	char *error;
	free(o->colsep);
	o->colsep = colsep_translate(regex, &error);
	if (!o->colsep) {
		diag_error("--colsep: %s", error);
		free(error);
		return -1;
	}
	return 0;
}

static int set_trim(struct options *o, const char *text) {
	static const struct { const char *name; enum input_trim trim; } trims[] = {
		{"n", TRIM_NONE}, {"l", TRIM_LEFT}, {"r", TRIM_RIGHT}, {"lr", TRIM_BOTH}, {"rl", TRIM_BOTH},
	};
	for (size_t i = 0; i < sizeof(trims) / sizeof(trims[0]); ++i) {
		if (strcmp(text, trims[i].name) == 0) {
			o->trim = trims[i].trim;
			return 0;
		}
	}
	return option_fail(OPT_TRIM, "must be n, l, r, lr or rl, not '%s'", text_shows(text));
}

// The separator of CSV records.
static int set_csv(struct options *o, const char *text) {
	struct buf bytes = BUF_INIT;
	int result = option_unescape(&bytes, text);
	if (result != 0 || bytes.len != 1 || strchr("\"\r\n", bytes.data[0])) {
		result = option_fail(OPT_COLSEP, "must be one byte with --csv, not '%s'", text_shows(text));
	} else {
		o->csv = bytes.data[0];
	}
	buf_fini(&bytes);
	return result;
}

// What says which items there are.
static int take_item_option(struct options *o, struct item_options *items, enum option_id id, const char *value) {
	switch (id) {
	case OPT_EOF: o->end = value && *value ? value : NULL; return 0;
	case OPT_NO_RUN_IF_EMPTY: o->skip_blank = true; return 0;
	case OPT_SKIP_FIRST_LINE: o->skip_first = true; return 0;
	case OPT_LINK: o->link = true; return 0;
	case OPT_SHUF: o->shuffle = true; return 0;
	case OPT_ARG_SEP: return option_take_text(id, value, &items->arg_sep);
	default: return option_take_text(id, value, &items->arg_file_sep);
	}
}

int item_option_take(struct options *o, struct item_options *items, enum option_id id, const char *value) {
	switch (id) {
	case OPT_NULL:
		o->delimiter = '\0';
		free(o->delimiter_text);
		o->delimiter_text = NULL;
		return 0;
	case OPT_DELIMITER:
		return set_delimiter(o, value);
	case OPT_COLSEP:
		items->colsep = value;
		return 0;
	case OPT_CSV:
		o->csv = ',';
		return 0;
	case OPT_HEADER:
		o->header_text = value;
		// GNU parallel, without --pipe, takes one line whatever the expression is
		o->header_files = strcmp(value, "0") == 0;
		o->header = !o->header_files;
		return 0;
	case OPT_TRIM:
		items->trim = value;
		return set_trim(o, value);
	default:
		return take_item_option(o, items, id, value);
	}
}

// ---- replacement strings ----

static int rename_token(struct options *o, enum option_id id, enum token token, const char *name) {
	return name ? option_take_text(id, name, &o->tokens.name[token]) : 0;
}

int replacement_option_take(struct options *o, enum option_id id, const char *value) {
	switch (id) {
	case OPT_REPLACE: return rename_token(o, id, TOKEN_ITEM, value && *value ? value : NULL);
	case OPT_ER: return rename_token(o, id, TOKEN_NO_EXTENSION, value);
	case OPT_BNR: return rename_token(o, id, TOKEN_BASENAME, value);
	case OPT_DNR: return rename_token(o, id, TOKEN_DIRNAME, value);
	case OPT_BNER: return rename_token(o, id, TOKEN_BASENAME_NO_EXTENSION, value);
	case OPT_SEQREPLACE: return rename_token(o, id, TOKEN_SEQ, value);
	case OPT_SLOTREPLACE: return rename_token(o, id, TOKEN_SLOT, value);
	case OPT_PLUS: o->tokens.plus = true; return 0;
	case OPT_QUOTE: o->quote = true; return 0;
	default: // --shell-quote
		++o->shell_quotes;
		o->dry_run = true;
		return 0;
	}
}

// ---- all of them ----

// As GNU parallel: a tab with --header, blanks off with --colsep.
int item_options_settle(struct options *o, const struct item_options *items) {
	if (items->colsep && !items->trim) {
		o->trim = TRIM_BOTH;
	}
	const char *colsep = items->colsep ? items->colsep : o->header || o->header_files ? "\\t" : NULL;
	if (o->csv) {
		return items->colsep ? set_csv(o, items->colsep) : 0;
	}
	return colsep ? set_colsep(o, colsep) : 0;
}

