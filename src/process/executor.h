// How an attempt of a job is executed: the seam behind which a child process stands, and anything else that can take its place.

#pragma once

#include "process/child.h"

// Ends single attempts. Called from the event loop; does not wait.
struct attempt_ender {
	// Begins to end the running attempt with that config->origin, if there is one here: its outcome is OUTCOME_CANCELLED.
	void (*cancel)(void *arg, const void *origin, uint64_t now);
	// Begins to end every running attempt but clean-ups that has run for `limit` nanoseconds: its outcome is OUTCOME_TIMEOUT.
	// Returns when to call again (now_ns() time), if none starts before, or TIME_NEVER.
	uint64_t (*expire)(void *arg, uint64_t limit, uint64_t now);
	void *arg; // of both
};

struct executor {
	// Executes one attempt on the calling worker's thread; returns when it has ended and all that it wrote was read. Calls
	// config->started once it runs, reads its output by config->output_reader, and writes its input by config->stdin_writer.
	// Fills *ret_result, and *ret_error if the outcome is OUTCOME_SPAWN_ERROR. All of *config stays the caller's.
	void (*run)(void *arg, const struct child_config *config, struct result *ret_result, struct spawn_error *ret_error);
	// Begins to end all attempts that run but those with config->cleanup, and refuses new ones: their outcome is
	// OUTCOME_CANCELLED. From the event loop; does not wait for their end.
	void (*terminate)(void *arg);
	// The same at once, and with clean-ups too.
	void (*kill)(void *arg);
	void *arg; // of all three
	// With NULL members no attempt can be ended alone.
	struct attempt_ender ender;
};

static inline void executor_cancel(const struct executor *executor, const void *origin, uint64_t now) {
	if (executor->ender.cancel) {
		executor->ender.cancel(executor->ender.arg, origin, now);
	}
}

static inline uint64_t executor_expire(const struct executor *executor, uint64_t limit, uint64_t now) {
	return executor->ender.expire ? executor->ender.expire(executor->ender.arg, limit, now) : UINT64_MAX; // TIME_NEVER
}

// Executes attempts as child processes, by child_run() with that table, which outlives it.
struct executor children_executor(struct children *children);
