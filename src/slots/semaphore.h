// Counting semaphores with a name, between independent processes of one user on one machine.
//
// Each process that holds the semaphore or waits for it has a FIFO of its own in the semaphore's directory, open and locked by
// flock(2). The kernel closes and unlocks the FIFO when the process ends, however it ends: so the place of a dead holder is free at
// once, and nothing needs to be cleaned up. Processes that wait poll the other ends of these FIFOs, so none sleeps for a
// fixed time. Waiting processes are served in the order in which they came.
//
// The directory is ~/.cache/fairpar/sem/NAME, where a login session and a cron job meet; or, if there is no $HOME or it cannot be
// written, sem/NAME in the directory of the pools (pool_dir.h).

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdint.h>

struct semaphore;

enum semaphore_result {
	SEMAPHORE_ERROR = -1, // with a whole message in *error
	SEMAPHORE_DONE,
	SEMAPHORE_TIMED_OUT,
};

// Opens the semaphore of that name, which is made if it is not there. Returns NULL with a whole message in *error.
struct semaphore *semaphore_open(const char *name, struct buf *error) FP_NODISCARD;

// Waits until fewer than `limit` (at least 1) processes hold the semaphore and all processes that came before were served, and
// takes the semaphore. At the `deadline` (now_ns() time, or TIME_NEVER) returns without it: another call goes on waiting at the
// same place in the queue, and semaphore_seize() takes the semaphore without waiting, even if `limit` processes hold it.
enum semaphore_result semaphore_take(struct semaphore *semaphore, unsigned limit, uint64_t deadline, struct buf *error)
	FP_NODISCARD;
enum semaphore_result semaphore_seize(struct semaphore *semaphore, struct buf *error) FP_NODISCARD;

// Waits until all processes that hold the semaphore now, or wait for it, have given it back. At the deadline
// it returns even if they have not; another call goes on waiting.
enum semaphore_result semaphore_wait(struct semaphore *semaphore, uint64_t deadline, struct buf *error) FP_NODISCARD;

// For a caller who has waited until a deadline: how many hold the semaphore, and how many wait before the caller. Returns 0, or -1
// with a whole message in *error.
int semaphore_ahead(struct semaphore *semaphore, unsigned *ret_holding, unsigned *ret_waiting, struct buf *error) FP_NODISCARD;

// The descriptor that holds the semaphore: a process that has it open holds the semaphore, too. Close-on-exec.
int semaphore_fd(const struct semaphore *semaphore);

// Gives the semaphore back, if it is held, and frees the struct; removes the directory if nobody uses it. NULL-safe.
void semaphore_close(struct semaphore *semaphore);

// Frees the struct, but does not give the semaphore back: for the parent after fork(), when the child holds the semaphore.
void semaphore_forget(struct semaphore *semaphore);
