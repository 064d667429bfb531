// The options that say when jobs start.

#include "cli/option_admission.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_take.h"
#include "cli/option_values.h"
#include "slots/slots.h"

#include <string.h>

static int set_size(enum option_id id, const char *text, size_t *ret_bytes) {
	*ret_bytes = 0; // no limit, as in GNU parallel
	return strcmp(text, "0") == 0 ? 0 : option_take_size(id, text, ret_bytes);
}

// TIME or TIMEauto
static int set_delay(struct options *o, const char *text) {
	size_t len = strlen(text);
	o->delay_auto = len >= 4 && strcmp(text + len - 4, "auto") == 0;
	char *time = xmemdup(text, len - (o->delay_auto ? 4 : 0));
	int result = 0;
	if (o->delay_auto && *time == '\0') {
		o->delay = 0; // nothing to adapt, as in GNU parallel
	} else if (option_duration(time, &o->delay) != 0) {
		result = option_fail(OPT_DELAY, "must be seconds, or a time such as 1h30m or 2.5s, and may end with auto, not '%s'%s",
		                     text_shows(text), option_excess(text));
	}
	free(time);
	return result;
}

static int set_load(struct options *o, const char *text) {
	double load;
	char *error;
	if (load_parse(text, &load, &error) != 0) {
		diag_error("%s", error);
		free(error);
		return -1;
	}
	o->load = text;
	return 0;
}

int admission_option_take(struct options *options, enum option_id id, const char *value) {
	switch (id) {
	case OPT_LOAD: return set_load(options, value);
	case OPT_MEMFREE: return set_size(id, value, &options->memfree);
	case OPT_MEMSUSPEND: return set_size(id, value, &options->memsuspend);
	case OPT_NOSWAP: options->noswap = true; return 0;
	case OPT_DELAY: return set_delay(options, value);
	case OPT_INTERACTIVE: options->interactive = true; return 0;
	default: options->tty = true; return 0;
	}
}
