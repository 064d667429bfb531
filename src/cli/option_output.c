// The options of what jobs print, and of what their failures mean.

#include "cli/option_output.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"
#include "cli/option_values.h"

#include <string.h>

static int set_tagstring(struct options *o, const char *text) {
	struct buf bytes = BUF_INIT;
	int ignored = option_unescape(&bytes, text); // what is no escape stays as it is, as in GNU parallel
	(void)ignored;
	if (memchr(buf_str(&bytes), '\0', bytes.len)) {
		buf_fini(&bytes);
		return option_fail(OPT_TAGSTRING, "must not hold NUL");
	}
	free(o->tagstring);
	o->tagstring = bytes.len > 0 ? buf_take(&bytes) : NULL; // empty: no tag, and no tab
	o->tag = o->tagstring != NULL;
	return 0;
}

static int set_halt(struct options *o, const char *text) {
	const char *error;
	o->halt_given = true;
	if (halt_parse(text, &o->halt, &error) != 0) {
		return option_fail(OPT_HALT, "'%s' %s", text_shows(text), error);
	}
	return 0;
}

int output_option_take(struct options *o, enum option_id id, const char *value) {
	switch (id) {
	case OPT_GROUP: return 0; // the default; whether others contradict it is checked at the end
	case OPT_LINE_BUFFER: o->output = OUTPUT_LINE_BUFFER; return 0;
	case OPT_UNGROUP: o->output = OUTPUT_UNGROUP; return 0;
	case OPT_KEEP_ORDER: o->keep_order = true; return 0;
	case OPT_NO_KEEP_ORDER: return 0; // whether or not the other follows
	case OPT_TAG: o->tag = true; return 0;
	case OPT_COLOR_FAILED: o->color_failed = true; return 0;
	case OPT_TAGSTRING: return set_tagstring(o, value);
	case OPT_HALT: return set_halt(o, value);
	case OPT_QUIET: o->quiet = true; return 0;
	case OPT_TRACE_SERVICE: return option_take_text(id, value, &o->trace_service);
	default:
		if (exit_scheme_parse(value, &o->exit_scheme) != 0) {
			return option_fail(id, "must be gnu, xargs, first, max or any, not '%s'", text_shows(value));
		}
		return 0;
	}
}
