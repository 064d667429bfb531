// The rules of --halt and of the exit status: decide by the counts of ended jobs when a run stops, and with what status it exits. No I/O, no clock.

#pragma once

#include "base/attr.h"
#include "job/job.h"

enum halt_when { HALT_NEVER, HALT_SOON, HALT_NOW };
enum halt_why { HALT_ON_FAIL, HALT_ON_SUCCESS, HALT_ON_DONE };

struct halt {
	enum halt_when when;
	enum halt_why why;
	uint64_t count;    // if `percent` is 0: the number of jobs that meets the rule
	uint64_t percent;  // the percentage of all jobs that meets the rule, up to 100; 0: `count` counts
	const char *text;  // the rule as given, borrowed; NULL before halt_parse()
};

// Parses "never", "now|soon,fail|success|done=N|N%", and the old forms 0, 1, 2, -1, -2 and N% (see --halt in GNU parallel's
// manual). Returns 0; or -1 with static text in *ret_error, which a message puts behind the value: "must begin with …".
int halt_parse(const char *given, struct halt *ret_halt, const char **ret_error) FP_NODISCARD;

// The counts from which --halt and the exit status are decided.
struct tally {
	struct job_counts counts;
	bool unread;               // the input was not read to its end, so nobody knows how many jobs there would be
	uint64_t total;            // number of jobs known so far
	bool total_is_final;       // all input was read, so `total` does not grow any more
	struct result first;       // result of the first job that failed; valid if a job has failed
	int max_code;              // the greatest result_code() of a failure
	int xargs_code;            // the status (124 to 127) with which xargs would have stopped at the first job that makes xargs stop; or 0
};

// Adds one ended job to the counts. `total` and `total_is_final` stay: the reader of the input sets them.
void tally_add(struct tally *tally, const struct result *result);

// Returns true if the jobs counted so far meet the rule. A percentage is a part of all jobs, so a rule with a percentage is not
// met before total_is_final: for such a rule the caller reads all input ahead (as GNU parallel does), and asks again when
// the total is final. There is no minimum number of jobs; see halt.c.
bool halt_is_met(const struct halt *halt, const struct tally *tally);

enum exit_scheme { EXIT_GNU, EXIT_XARGS, EXIT_FIRST, EXIT_MAX, EXIT_ANY };

// Returns the exit status of a run that was not interrupted (docs/design.md, "Decisions"). `halted`: the rule was met; `halted_by`: the
// job that met the rule, or NULL. The status is 0 in three cases only: a rule on success was met; a rule on done was met, and no job
// failed; all input was read, and no job failed, was cancelled or was skipped.
int exit_status(enum exit_scheme scheme, const struct tally *tally, const struct halt *halt, bool halted,
                const struct result *halted_by);
