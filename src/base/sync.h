// Threads, mutexes, condition variables and the monotonic clock, as calls that cannot fail silently.

#pragma once

#include "base/attr.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// All mutexes of the program, in the order in which they may be taken: base/locks.def.
enum lock {
#define LOCK(id, where, guards) LOCK_##id,
#include "base/locks.def"
#undef LOCK
	LOCKS,
};

// Builds with faults (make debug, the sanitizers) check this order: each mutex knows its row. The process aborts with a message
// that names both mutexes if a thread locks a mutex while it holds one of the same or a later row, or waits for a condition while
// it holds another mutex than the condition's. Other builds use plain mutexes.
#ifdef FAIRPAR_FAULTS
typedef struct {
	pthread_mutex_t raw;
	enum lock lock;
} mutex;
#define MUTEX_INIT(lock) {PTHREAD_MUTEX_INITIALIZER, lock}
#else
typedef pthread_mutex_t mutex;
#define MUTEX_INIT(lock) PTHREAD_MUTEX_INITIALIZER
#endif
typedef pthread_cond_t cond; // waits by the monotonic clock
typedef pthread_t thread;

// A deadline that never comes.
#define TIME_NEVER UINT64_MAX

enum { NS_PER_MS = 1000000 };
#define NS_PER_S UINT64_C(1000000000)

// clock_now() returns the nanoseconds of that clock (clock_gettime(2)), now_ns() those of CLOCK_MONOTONIC.
uint64_t clock_now(clockid_t clock);
uint64_t now_ns(void);

// Returns the nanoseconds of processor time that this thread has used.
static inline uint64_t thread_cpu_ns(void) {
	return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

// Returns the earlier of two times; TIME_NEVER is later than any other.
static inline uint64_t time_earlier(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

// Returns the milliseconds for poll(2) until `deadline` (now_ns() time), rounded up so that it does not wake too early; -1 for TIME_NEVER.
int poll_ms(uint64_t deadline);

// As pthread_mutex_init(3) and its like, but a failure, which can only be a bug, ends the process. `lock`: the row of
// base/locks.def that the mutex belongs to.
void mutex_init(mutex *m, enum lock lock);
void mutex_fini(mutex *m);
void mutex_lock(mutex *m);
void mutex_unlock(mutex *m);

// FP_HOLD(&lock) locks the mutex until the end of the block in which it stands, however that block is left. A wait for a condition
// may be in the block; a block that unlocks the mutex earlier or for a while calls mutex_lock() and mutex_unlock() instead.
#define FP_HOLD(m) FP_CLEANUP(mutex_held_fini) mutex *const held_mutex FP_UNUSED = mutex_hold(m)
static inline mutex *mutex_hold(mutex *m) {
	mutex_lock(m);
	return m;
}
static inline void mutex_held_fini(mutex *const *m) {
	mutex_unlock(*m);
}

// As pthread_cond_init(3) and its like. A wait unlocks the locked mutex while it sleeps; the caller then checks its condition again.
void cond_init(cond *c);
void cond_fini(cond *c);
void cond_wait(cond *c, mutex *m);
// As cond_wait(), but returns false once `deadline` (now_ns() time, or TIME_NEVER) has passed.
bool cond_wait_until(cond *c, mutex *m, uint64_t deadline);
void cond_signal(cond *c);
void cond_broadcast(cond *c);

// Starts a thread with a small stack (`stack_bytes`, at least the system's minimum) and all signals blocked.
// Returns 0, or the error number (EAGAIN: no more threads are to be had).
int thread_start(thread *t, void *(*fn)(void *), void *arg, size_t stack_bytes) FP_NODISCARD;
// Waits for the end of the thread.
void thread_join(thread t);

// Builds with faults call sync_yield(), if the program defines it (tests/stress), before a mutex is locked, after it is unlocked, before
// a condition is signalled, and, with the mutex held, before a thread waits for a condition.
void sync_yield(void) __attribute__((weak));
