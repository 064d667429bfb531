// The options of what is shown while a run goes.

#include "cli/option_status.h"

#include "base/diag.h"
#include "base/text.h"
#include "cli/option_values.h"

#include <limits.h>
#include <string.h>

int option_progress_parse(const char *text, enum progress *ret_progress) {
	static const char *const names[] = {
		[PROGRESS_AUTO] = "auto", [PROGRESS_TTY] = "tty", [PROGRESS_PLAIN] = "plain", [PROGRESS_NONE] = "none",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		if (strcmp(text, names[i]) == 0) {
			*ret_progress = (enum progress)i;
			return 0;
		}
	}
	return -1;
}

static int take_progress(struct status_options *status, const char *value) {
	status->progress_given = true;
	status->progress_always = value == NULL;
	if (value && option_progress_parse(value, &status->progress) != 0) {
		diag_error("--progress must be auto, tty, plain or none, not '%s'", text_shows(value));
		return -1;
	}
	return 0;
}

static int take_log(struct status_options *status, const char *value) {
	status->eta = true;
	status->eta_log = value;
	if (value && *value == '\0') {
		diag_error("--eta= needs the name of a log; without one, leave the = out");
		return -1;
	}
	return 0;
}

int option_status_take(struct options *options, enum option_id id, const char *value) {
	struct status_options *status = &options->show;
	switch (id) {
	case OPT_PROGRESS:
		return take_progress(status, value);
	case OPT_BAR:
		status->bar = true;
		return 0;
	case OPT_ETA:
		return take_log(status, value);
	case OPT_TOTAL_JOBS:
		if (option_long(value, 1, LONG_MAX, &status->total_jobs) == 0) {
			return 0;
		}
		diag_error("--total-jobs must be a number from 1 on, not '%s'%s", text_shows(value), option_excess(value));
		return -1;
	default:
		status->latest_line = true;
		return 0;
	}
}
