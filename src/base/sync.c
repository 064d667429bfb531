// Threads, mutexes, condition variables and the monotonic clock, as calls that cannot fail silently.

#include "base/sync.h"

#include "base/diag.h"
#include "base/fault.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef FAIRPAR_FAULTS
#define yield() (sync_yield ? sync_yield() : (void)0)
#else
#define yield() ((void)0)
#endif

uint64_t clock_now(clockid_t clock) {
	struct timespec ts;
	verify(clock_gettime(clock, &ts) == 0);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t now_ns(void) {
	return clock_now(CLOCK_MONOTONIC);
}

// ---- mutexes, and the order in which they are taken ----

#ifdef FAIRPAR_FAULTS
static inline pthread_mutex_t *raw_mutex(mutex *m) {
	return &m->raw;
}

static const char *const lock_names[] = {
#define LOCK(id, where, guards) #id,
#include "base/locks.def"
#undef LOCK
};

enum { HELD_MOST = 16 };

// The mutexes that this thread holds.
static _Thread_local struct {
	const mutex *all[HELD_MOST];
	unsigned n;
} held;

// Prints what is wrong and aborts. Does not use diag_error(), which locks a mutex itself.
static FP_NORETURN void order_broken(const char *what, const mutex *m, const mutex *other) {
	dprintf(STDERR_FILENO, "%s %s while %s is held: see src/base/locks.def\n", what, lock_names[m->lock], lock_names[other->lock]);
	abort();
}

static void order_check(const mutex *m) {
	for (unsigned i = 0; i < held.n && m->lock != LOCK_OF_TEST; ++i) {
		if (held.all[i]->lock != LOCK_OF_TEST && held.all[i]->lock >= m->lock) {
			order_broken("locks", m, held.all[i]);
		}
	}
}

static void order_add(const mutex *m) {
	verify(held.n < HELD_MOST);
	held.all[held.n++] = m;
}

static void order_remove(const mutex *m) {
	unsigned i = held.n;
	do {
		verify(i > 0);
	} while (held.all[--i] != m);
	held.all[i] = held.all[--held.n];
}

// Ends the process if a thread that is about to wait with mutex `m` also holds another mutex: it would keep that mutex locked while it sleeps.
static void order_check_wait(const mutex *m) {
	for (unsigned i = 0; i < held.n; ++i) {
		if (held.all[i] != m && held.all[i]->lock != LOCK_OF_TEST) {
			order_broken("waits for a condition of", m, held.all[i]);
		}
	}
}
#else
static inline pthread_mutex_t *raw_mutex(mutex *m) {
	return m;
}
#define order_check(m) ((void)0)
#define order_add(m) ((void)0)
#define order_remove(m) ((void)0)
#define order_check_wait(m) ((void)0)
#endif

int poll_ms(uint64_t deadline) {
	if (deadline == TIME_NEVER) {
		return -1;
	}
	uint64_t now = now_ns(), ms = deadline > now ? (deadline - now + NS_PER_MS - 1) / NS_PER_MS : 0;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void mutex_init(mutex *m, enum lock lock) {
#ifdef FAIRPAR_FAULTS
	m->lock = lock;
#else
	(void)lock;
#endif
	verify(pthread_mutex_init(raw_mutex(m), NULL) == 0);
}

void mutex_fini(mutex *m) {
	verify(pthread_mutex_destroy(raw_mutex(m)) == 0);
}

void mutex_lock(mutex *m) {
	yield();
	order_check(m);
	verify(pthread_mutex_lock(raw_mutex(m)) == 0);
	order_add(m);
}

void mutex_unlock(mutex *m) {
	order_remove(m);
	verify(pthread_mutex_unlock(raw_mutex(m)) == 0);
	yield();
}

// ---- conditions ----

void cond_init(cond *c) {
	pthread_condattr_t attr;
	verify(pthread_condattr_init(&attr) == 0);
	verify(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
	verify(pthread_cond_init(c, &attr) == 0);
	verify(pthread_condattr_destroy(&attr) == 0);
}

void cond_fini(cond *c) {
	verify(pthread_cond_destroy(c) == 0);
}

void cond_wait(cond *c, mutex *m) {
	yield();
	order_check_wait(m);
	verify(pthread_cond_wait(c, raw_mutex(m)) == 0);
}

bool cond_wait_until(cond *c, mutex *m, uint64_t deadline) {
	if (deadline == TIME_NEVER) {
		cond_wait(c, m);
		return true;
	}
	struct timespec ts = {
		.tv_sec = (time_t)(deadline / NS_PER_S),
		.tv_nsec = (long)(deadline % NS_PER_S),
	};
	yield();
	order_check_wait(m);
	int error = pthread_cond_timedwait(c, raw_mutex(m), &ts);
	verify(error == 0 || error == ETIMEDOUT);
	return error == 0;
}

void cond_signal(cond *c) {
	yield();
	verify(pthread_cond_signal(c) == 0);
}

void cond_broadcast(cond *c) {
	verify(pthread_cond_broadcast(c) == 0);
}

int thread_start(thread *t, void *(*fn)(void *), void *arg, size_t stack_bytes) {
	if (fault_fails("thread")) {
		return errno;
	}
	pthread_attr_t attr;
	verify(pthread_attr_init(&attr) == 0);
	long least = sysconf(_SC_THREAD_STACK_MIN);
	if (least > 0 && stack_bytes < (size_t)least) {
		stack_bytes = (size_t)least;
	}
	verify(pthread_attr_setstacksize(&attr, stack_bytes) == 0);
	// the new thread inherits the signal mask, so no signal is ever delivered to it (POSIX pthread_create)
	sigset_t all, old;
	sigfillset(&all);
	verify(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
	int error = pthread_create(t, &attr, fn, arg);
	verify(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
	verify(pthread_attr_destroy(&attr) == 0);
	return error;
}

void thread_join(thread t) {
	verify(pthread_join(t, NULL) == 0);
}
