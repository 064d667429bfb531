// The options of what is told of a run, at its end or later from its log.

#include "cli/option_look.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"

#include <string.h>

static int take_when(struct options *options, const char *text) {
	options->summary_given = true;
	if (!text || strcmp(text, "always") == 0) {
		options->summary = SUMMARY_ALWAYS;
	} else if (strcmp(text, "auto") == 0) {
		options->summary = SUMMARY_AUTO;
	} else if (strcmp(text, "never") == 0) {
		options->summary = SUMMARY_NEVER;
	} else {
		diag_error("--summary must be auto, always or never, not '%s'", text_shows(text));
		return -1;
	}
	return 0;
}

static bool name_ends(const char *path, const char *end_summary) {
	size_t len = strlen(path), end_summary_len = strlen(end_summary);
	return len >= end_summary_len && strcmp(path + len - end_summary_len, end_summary) == 0;
}

static int take_report(struct options *options, const char *path) {
	if (strcmp(path, "-") != 0 && !name_ends(path, ".html") && !name_ends(path, ".htm") && !name_ends(path, ".svg")) {
		diag_error("--report: the name '%s' must end in .html or .svg, which says what to make", text_shows(path));
		return -1;
	}
	options->reports = xrealloc(options->reports, (options->nreports + 1) * sizeof(*options->reports));
	options->reports[options->nreports++] = path;
	return 0;
}

int option_look_take(struct options *options, enum option_id id, const char *value) {
	switch (id) {
	case OPT_SUMMARY:
		return take_when(options, value);
	case OPT_REPORT:
		return take_report(options, value);
	case OPT_TRACE:
		options->trace = value;
		break;
	case OPT_EXPLAIN:
		options->explain = true;
		options->explained = value;
		break;
	default: // --from-log
		options->from_log = value;
		break;
	}
	if (value && *value == '\0') {
		return option_fail(id, "must not be empty");
	}
	return 0;
}

int option_look_check(const struct options *options, const bool given[NOPTIONS], int nwords) {
	if (!options->from_log || options->manifest) { // with a manifest it is refused as every such option is
		if (options->explained) {
			diag_error("--explain=%s is for a run that has ended: name its log with --from-log FILE",
			           text_shows(options->explained));
			return -1;
		}
		return 0;
	}
	for (int id = 0; id < NOPTIONS; ++id) {
		if (given[id] && option_table[id].group != GROUP_LOOK && id != OPT_QUIET) {
			return option_fail((enum option_id)id, "cannot be combined with --from-log, which runs nothing");
		}
	}
	if (nwords > 0) {
		diag_error("--from-log runs nothing: a command or names of batches do not belong behind it");
		return -1;
	}
	return 0;
}
