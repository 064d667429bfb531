// What a job is, how it can end, and what follows from its end.

#include "job/job.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "base/units.h"

#include <signal.h>
#include <stdio.h>
#include <strings.h>

const char *const outcome_names[OUTCOME_SKIPPED + 1] = {
	[OUTCOME_OK] = "ok",
	[OUTCOME_FAILED] = "failed",
	[OUTCOME_SIGNAL] = "signal",
	[OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_SPAWN_ERROR] = "spawn_error",
	[OUTCOME_CANCELLED] = "cancelled",
	[OUTCOME_SKIPPED] = "skipped",
};

void counts_add(struct job_counts *counts, enum outcome outcome, uint64_t jobs) {
	switch (outcome) {
	case OUTCOME_OK: counts->ok += jobs; break;
	case OUTCOME_CANCELLED: counts->cancelled += jobs; break;
	case OUTCOME_SKIPPED: counts->skipped += jobs; break;
	default: counts->failed += jobs; break;
	}
}

// glibc's sigabbrev_np() is not in musl
static const struct { int number; const char *name; } signals[] = {
	{SIGHUP, "HUP"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}, {SIGILL, "ILL"}, {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},
	{SIGBUS, "BUS"}, {SIGFPE, "FPE"}, {SIGKILL, "KILL"}, {SIGUSR1, "USR1"}, {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
	{SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},
	{SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"}, {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"}, {SIGURG, "URG"},
	{SIGXCPU, "XCPU"}, {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
	{SIGIO, "IO"}, {SIGIO, "POLL"}, {SIGPWR, "PWR"}, {SIGSYS, "SYS"},
#ifdef SIGSTKFLT
	{SIGSTKFLT, "STKFLT"},
#endif
};

const char *signal_name(int number) {
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
		if (signals[i].number == number) {
			return signals[i].name;
		}
	}
	return NULL;
}

int signal_number(const char *text, size_t len) {
	uint64_t number;
	const char *end = text;
	if (read_digits(&end, text + len, &number) && end == text + len) {
		return number <= (uint64_t)SIGRTMAX ? (int)number : 0;
	}
	if (len > 3 && strncasecmp(text, "SIG", 3) == 0) {
		text += 3;
		len -= 3;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
		if (strlen(signals[i].name) == len && strncasecmp(signals[i].name, text, len) == 0) {
			return signals[i].number;
		}
	}
	return 0;
}

const char *result_describe(const struct result *result, char *text, size_t size) {
	const char *cause = result->out_of_memory ? ", out of memory" : result->lost ? ", lost with its machine" : "";
	const char *name = signal_name(result->term_signal);
	switch (result->outcome) {
	case OUTCOME_FAILED:
		snprintf(text, size, "exit %d%s", result->exit_code, cause);
		break;
	case OUTCOME_SIGNAL:
		snprintf(text, size, "signal %d%s%s%s%s", result->term_signal, name ? " (" : "", name ? name : "", name ? ")" : "", cause);
		break;
	case OUTCOME_SPAWN_ERROR:
		snprintf(text, size, "%s", result->is_refused ? "its item is refused" : result->lacks_results ?
		         "its output cannot be kept" : result->exit_code == 127 ? "not found" : "cannot run");
		break;
	default:
		snprintf(text, size, "%s", outcome_names[result->outcome]);
		break;
	}
	return text;
}

int result_code(const struct result *result) {
	if (result->outcome == OUTCOME_OK) {
		return 0;
	}
	if (result->outcome == OUTCOME_TIMEOUT) {
		return 124; // the status of timeout(1)
	}
	if (result->term_signal > 0) {
		return 128 + result->term_signal;
	}
	return result->exit_code > 0 ? result->exit_code : 1;
}

void result_cannot_start(struct result *ret_result, int exit_code) {
	uint64_t now = now_ns();
	*ret_result = (struct result){.outcome = OUTCOME_SPAWN_ERROR, .exit_code = exit_code, .start = now, .end = now};
}
