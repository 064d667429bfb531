// The options that say how jobs are run.

#include "cli/option_jobs.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"
#include "cli/option_values.h"
#include "slots/slots.h"

#include <limits.h>
#include <string.h>

static int set_jobs(struct options *o, const char *text) {
	// Parsed for good once the limits are raised; here so that a mistake is told with the others.
	unsigned slots;
	char *error;
	if (slots_parse(text, /* nofile */ 1024, &slots, &error) != 0) {
		diag_error("%s", error);
		free(error);
		return -1;
	}
	o->jobs = text;
	return 0;
}

static int set_term_seq(struct options *o, const char *text) {
	const char *error;
	if (term_seq_parse(text, &o->term_seq, &error) != 0) {
		return option_fail(OPT_TERM_SEQ, "cannot be '%s': %s", text_shows(text), error);
	}
	return 0;
}

void job_options_default_term_seq(struct options *o, const char *text) {
	const char *error;
	verify(term_seq_parse(text, &o->term_seq, &error) == 0);
}

// TIME or N%
static int set_timeout(struct options *o, const char *text) {
	o->timeout_percent = 0;
	o->timeout = 0;
	if (option_percent(text, &o->timeout_percent) == 0) {
		return 0;
	}
	return option_take_duration(OPT_TIMEOUT, text, &o->timeout);
}

static int set_slot_var(struct options *o, const char *text) {
	if (*text == '\0' || strchr(text, '=')) {
		return option_fail(OPT_SLOT_VAR, "must be the name of a variable, not '%s'", text_shows(text));
	}
	o->slot_var = text;
	return 0;
}

int job_option_take(struct options *o, enum option_id id, const char *value) {
	long n = 0;
	int result = 0;
	switch (id) {
	case OPT_JOBS: return set_jobs(o, value);
	case OPT_SHELL: return option_take_text(id, value, &o->shell);
	case OPT_TIMEOUT: return set_timeout(o, value);
	case OPT_WORKDIR: return option_take_text(id, value, &o->workdir);
	case OPT_TMPDIR: return option_take_text(id, value, &o->tmpdir);
	case OPT_SLOT_VAR: return set_slot_var(o, value);
	case OPT_ENV: return 0;
	case OPT_SHOW_COMMAND: o->show_commands = true; return 0;
	case OPT_TERM_SEQ: return set_term_seq(o, value);
	case OPT_RETRIES:
		result = option_take_long(id, value, 0, INT_MAX, &n);
		o->attempts = n > 0 ? (unsigned)n : UINT_MAX;
		return result;
	case OPT_NICE:
		result = option_take_long(id, value, -20, 19, &n);
		o->nice = (int)n;
		return result;
	case OPT_DRY_RUN:
		o->dry_run = true;
		return 0;
	default: // --verbose
		o->print_commands = true;
		return 0;
	}
}
