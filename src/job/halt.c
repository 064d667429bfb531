// The rules of --halt and of the exit status: decide by the counts of ended jobs when a run stops, and with what status it exits.
//
// How the exit status compares with that of GNU parallel 20221122, with -j1 and jobs that exit with the given codes:
//
//	--halt                   jobs       GNU parallel   here
//	now,fail=1               0 7 5      7              7: the code of the job that met the rule
//	soon,fail=2, -j4         1 1 1 1    2              4: the number of jobs that have failed at the end of the run
//	now,fail=10%             7 6 0      34             34: stops after one of three jobs; the percentage of failed jobs, rounded up
//	now,fail=50%             0 7        7              50: GNU parallel turns the percentage into one job, and exits with the code of that job
//	now,success=1            7 6 0 0    0              0
//	now,success=3            7 6 0 0    2              2: the rule was not met; two jobs failed
//	soon,done=2              0 0 4 3    101            0: in GNU parallel the minimum of an undefined number and 101 is 101
//	soon,done=1              7 5        7              1: by GNU parallel's manual only fail=1 gives the code of the job
//	now,fail=0, fail=0%      0 7 5      0              refused: such a rule would be met before the first job
//
// GNU parallel's manuals of 2015 ask for a minimum of 3 jobs before a percentage counts; GNU parallel 20221122 and its manual do not.

#include "job/halt.h"

#include "base/units.h"

#include <string.h>

// Parses N or N%, which must end the text.
static int parse_amount(const char *s, struct halt *halt, const char **ret_error) {
	const char *end = s;
	uint64_t n;
	if (!read_digits(&end, NULL, &n) || (*end != '\0' && strcmp(end, "%") != 0)) {
		*ret_error = "must end with a number of jobs or a percentage, as in 'now,fail=1' or 'soon,fail=10%'";
		return -1;
	}
	if (n == 0) {
		*ret_error = "would stop before the first job: the number must be at least 1";
		return -1;
	}
	if (*end == '%' && n > 100) {
		*ret_error = "has a percentage above 100";
		return -1;
	}
	*(*end == '%' ? &halt->percent : &halt->count) = n;
	return 0;
}

// Returns which word of the list stands at *s, or -1. Moves *s behind the word and its separator: "," or "=", which mean the same to GNU
// parallel, whose own messages say "now,fail,1".
static int parse_word(const char **s, const char *list) {
	size_t len = strcspn(*s, ",=");
	int found = (*s)[len] != '\0' ? word_index(list, *s, len) : -1;
	*s += found >= 0 ? len + 1 : 0;
	return found;
}

int halt_parse(const char *given, struct halt *ret_halt, const char **ret_error) {
	static const struct { const char *old, *now; } old_forms[] = {
		{"0", "never"}, {"1", "soon,fail=1"}, {"2", "now,fail=1"}, {"-1", "soon,success=1"}, {"-2", "now,success=1"},
	};
	const char *text = given;
	for (size_t i = 0; i < sizeof(old_forms) / sizeof(old_forms[0]); ++i) {
		if (strcmp(text, old_forms[i].old) == 0) {
			text = old_forms[i].now;
			break;
		}
	}
	struct halt halt = {.when = HALT_NEVER, .text = given};
	if (strcmp(text, "never") == 0) {
		*ret_halt = halt;
		return 0;
	}
	size_t len = strlen(text);
	if (len > 1 && text[len - 1] == '%' && strspn(text, "0123456789") == len - 1) {
		halt.when = HALT_SOON;
		halt.why = HALT_ON_FAIL;
	} else {
		int when = parse_word(&text, "soon now"), why = when < 0 ? -1 : parse_word(&text, "fail success done"); // in the order of the enums
		if (why < 0) {
			*ret_error = when < 0 ? "must be 'never', or begin with 'now,' or 'soon,'"
			                      : "must go on with 'fail=', 'success=' or 'done=' after 'now,' or 'soon,'";
			return -1;
		}
		halt.when = (enum halt_when)(HALT_SOON + when);
		halt.why = (enum halt_why)why;
	}
	if (parse_amount(text, &halt, ret_error) != 0) {
		return -1;
	}
	*ret_halt = halt;
	return 0;
}

// Returns the code of a failure, which is never 0.
static int failure_code(const struct result *result) {
	int code = result_code(result);
	return code != 0 ? code : 1;
}

// Returns the status with which xargs would stop at once after a job with this result, or 0 (xargs(1), EXIT STATUS; POSIX for 126 and 127).
static int xargs_stop_code(const struct result *result) {
	switch (result->outcome) {
	case OUTCOME_SPAWN_ERROR:
		return result->exit_code == 127 ? 127 : 126;
	case OUTCOME_SIGNAL:
	case OUTCOME_TIMEOUT:
		return 125;
	case OUTCOME_FAILED:
		if (result->exit_code == 126 || result->exit_code == 127) {
			return result->exit_code; // by this status a shell says that it could not start the command (POSIX sh, EXIT STATUS)
		}
		return result->exit_code == 255 ? 124 : 0;
	default:
		return 0;
	}
}

void tally_add(struct tally *tally, const struct result *result) {
	counts_add(&tally->counts, result->outcome, 1);
	if (!outcome_is_failure(result->outcome)) {
		return;
	}
	if (tally->counts.failed == 1) {
		tally->first = *result;
	}
	int code = failure_code(result);
	if (code > tally->max_code) {
		tally->max_code = code;
	}
	if (tally->xargs_code == 0) {
		tally->xargs_code = xargs_stop_code(result);
	}
}

bool halt_is_met(const struct halt *halt, const struct tally *tally) {
	if (halt->when == HALT_NEVER) {
		return false;
	}
	uint64_t n = halt->why == HALT_ON_FAIL      ? tally->counts.failed
	             : halt->why == HALT_ON_SUCCESS ? tally->counts.ok
	                                            : tally->counts.ok + tally->counts.failed;
	if (halt->percent == 0) {
		return n >= halt->count;
	}
	return n > 0 && tally->total_is_final && (double)n * 100 >= (double)halt->percent * (double)tally->total;
}

static int gnu_status(const struct tally *tally, const struct halt *halt, bool halted, const struct result *halted_by) {
	if (halted && halted_by && halt->why == HALT_ON_FAIL && halt->percent == 0 && halt->count == 1) {
		return failure_code(halted_by);
	}
	if (halt->when != HALT_NEVER && halt->percent > 0 && tally->total >= tally->counts.failed) {
		uint64_t failed = tally->counts.failed, total = tally->total;
		return (int)(failed / total * 100 + (failed % total * 100 + total - 1) / total); // rounded up
	}
	return tally->counts.failed <= 100 ? (int)tally->counts.failed : 101;
}

int exit_status(enum exit_scheme scheme, const struct tally *tally, const struct halt *halt, bool halted,
                const struct result *halted_by) {
	if (halted && halt->why == HALT_ON_SUCCESS) {
		return 0;
	}
	if (tally->counts.failed == 0) {
		bool all_ran = tally->counts.cancelled == 0 && tally->counts.skipped == 0 && !tally->unread;
		return all_ran || (halted && halt->why == HALT_ON_DONE) ? 0 : 1;
	}
	switch (scheme) {
	case EXIT_XARGS:
		return tally->xargs_code != 0 ? tally->xargs_code : 123;
	case EXIT_FIRST:
		return failure_code(&tally->first);
	case EXIT_MAX:
		return tally->max_code;
	case EXIT_ANY:
		return 1;
	case EXIT_GNU:
		break;
	}
	return gnu_status(tally, halt, halted, halted_by);
}
