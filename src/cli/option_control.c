// The options that speak to a run which is under way: --add, --wait, --wait-any, --cancel, --status.

#include "cli/parser.h"

#include "base/diag.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum option_id id;
	const enum option_id *others; // that go with it
} requests[] = {
	[REQUEST_ADD] = {OPT_ADD, (const enum option_id[]){OPT_BATCH, OPT_TIMEOUT, OPT_RETRIES, OPT_NICE, OPT_SLOTS_PER_JOB, NOPTIONS}},
	[REQUEST_WAIT] = {OPT_WAIT, (const enum option_id[]){NOPTIONS}},
	[REQUEST_WAIT_ANY] = {OPT_WAIT_ANY, (const enum option_id[]){NOPTIONS}},
	[REQUEST_CANCEL] = {OPT_CANCEL, (const enum option_id[]){OPT_BATCH, NOPTIONS}},
	[REQUEST_STATUS] = {OPT_STATUS, (const enum option_id[]){NOPTIONS}},
};
enum { NREQUESTS = sizeof(requests) / sizeof(requests[0]) };

// --status is that of a pool where one is named and no run, neither by an option nor, with less weight, by the environment.
static bool is_about_pool(const struct options *o) {
	bool in_job = getenv("FAIRPAR_CONTROL") || getenv("FAIRPAR_SOCK");
	return o->given[OPT_POOL] || o->pool.single || (!o->control.run && !in_job);
}

enum request control_request(const struct options *o) {
	for (int i = REQUEST_ADD; i < NREQUESTS; ++i) {
		if (o->given[requests[i].id] && (i != REQUEST_STATUS || !is_about_pool(o))) {
			return (enum request)i;
		}
	}
	return REQUEST_NOTHING;
}

static bool goes_with(enum request request, enum option_id id) {
	const enum option_id *other = requests[request].others;
	while (*other != NOPTIONS && *other != id) {
		++other;
	}
	return *other != NOPTIONS || id == requests[request].id || id == OPT_RUN || id == OPT_QUIET;
}

static int check_ids(enum option_id id, char *const *words) {
	for (; *words; ++words) {
		char *end;
		errno = 0;
		if (strspn(*words, "0123456789") != strlen(*words) || strtoull(*words, &end, 10) == 0 || errno != 0) {
			return option_fail(id, "takes IDs of jobs, as --add has printed them, not '%s'", text_shows(*words));
		}
	}
	return 0;
}

int control_settle(struct options *o, char *const *words) {
	enum request request = o->control.request;
	enum option_id id = requests[request].id;
	for (int other = 0; other < NOPTIONS; ++other) {
		bool is_pool = other == OPT_POOL && o->given[OPT_POOL];
		if (is_pool || (o->given[other] && !goes_with(request, (enum option_id)other))) {
			return option_fail((enum option_id)other, "cannot be combined with --%s%s", option_table[id].name,
			                   is_pool ? ": a pool has slots and no jobs; --run NAME names a run" : "");
		}
	}
	o->command = words;
	if (o->nbatch_files > 0) {
		return option_fail(OPT_BATCH, "NAME=FILE cannot be combined with --%s: it takes a NAME alone", option_table[id].name);
	}
	if (o->timeout_percent > 0) {
		return option_fail(OPT_TIMEOUT, "of an added job is a time, and no percentage");
	}
	if (request == REQUEST_ADD) {
		return words[0] ? 0 : option_fail(id, "needs a command");
	}
	if (request == REQUEST_STATUS) {
		return words[0] ? option_fail(id, "runs nothing: a command does not belong behind it") : 0;
	}
	if (request == REQUEST_CANCEL && (words[0] != NULL) == (o->batch != NULL)) {
		return option_fail(id, "needs %s", words[0] ? "IDs or --batch NAME, not both" : "the IDs of jobs, or --batch NAME");
	}
	return check_ids(id, words);
}
