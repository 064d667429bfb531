// What a job is, how it can end, and what follows from its end.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a job ended. The log and the summary use these words, and the exit code follows from them.
enum outcome {
	OUTCOME_OK,
	OUTCOME_FAILED,       // exit status not 0
	OUTCOME_SIGNAL,       // killed by a signal that fairpar did not send
	OUTCOME_TIMEOUT,      // killed by fairpar because its time was up
	OUTCOME_SPAWN_ERROR,  // never ran: not found (127), cannot run (126), bad item, too long
	OUTCOME_CANCELLED,    // killed, or never started, because of Ctrl-C or --halt
	OUTCOME_SKIPPED,      // never started: a batch that it needs has not succeeded
};

extern const char *const outcome_names[OUTCOME_SKIPPED + 1];

// True for a failed job; a job that was cancelled or skipped has not failed.
static inline bool outcome_is_failure(enum outcome outcome) {
	return outcome != OUTCOME_OK && outcome != OUTCOME_CANCELLED && outcome != OUTCOME_SKIPPED;
}

// The numbers of jobs, by how they have ended.
struct job_counts {
	uint64_t ok;
	uint64_t failed;    // jobs for which outcome_is_failure() is true
	uint64_t cancelled; // jobs with OUTCOME_CANCELLED
	uint64_t skipped;
};

void counts_add(struct job_counts *counts, enum outcome outcome, uint64_t jobs);

// How far an attempt had come when its machine, or the connection to its machine, was lost.
enum lost {
	LOST_NOT,     // nothing was lost
	LOST_UNSENT,  // the attempt has never run
	LOST_SILENT,  // the attempt may have run, but none of its output was passed on
	LOST_WROTE,   // some output of the attempt was passed on
};

// The end of one attempt.
struct result {
	enum outcome outcome;
	int exit_code;         // 0 to 255; 126 or 127 for OUTCOME_SPAWN_ERROR
	int term_signal;       // the signal that killed the process, or 0
	bool is_refused;       // never started: the item may not stand at its place in the command, or is too long for it; a retry would fail too
	bool lacks_results;    // never started: its --results files could not be made, so the run starts no more jobs
	enum lost lost;        // if not LOST_NOT, the other members say that the attempt was killed
	bool out_of_memory;    // the attempt failed, and one of its processes was killed for want of memory
	uint64_t start, end;   // now_ns() time; both 0 if the attempt never started
	// what the child used, with its children that were waited for (getrusage(2)):
	uint64_t user, sys;    // processor time, in nanoseconds
	uint64_t maxrss;       // the most bytes that one of the processes had in memory
	uint32_t nvcsw, nivcsw; // switches that the processes made by waiting, and that they were made to
};

// Fills in the result of a job that never ran.
void result_cannot_start(struct result *ret_result, int exit_code);

// Returns the nanoseconds that the attempt ran; 0 if it never ran.
static inline uint64_t result_wall(const struct result *result) {
	return result->end > result->start ? result->end - result->start : 0;
}

// Writes "exit 3", "signal 9 (KILL)", "signal 9 (KILL), out of memory", "timeout", "not found", … for a message into `text` of
// `size` bytes, and returns it.
const char *result_describe(const struct result *result, char *text, size_t size);

// The code by which the job's failure is passed on: its exit code, 128+n for a signal, 124 for a timeout; 0 only for
// OUTCOME_OK (a job that was cancelled and ended with 0, or never ran, gives 1).
int result_code(const struct result *result);

// Returns "KILL" for 9; NULL for a signal without a name of its own (the real-time ones).
const char *signal_name(int number);

// Returns the number of the signal that `text`, of `len` bytes, names: "KILL", "SIGKILL", in any case, or "9"; 0 if no signal has that name.
int signal_number(const char *text, size_t len);
