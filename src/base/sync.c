// Threads, mutexes, condition variables and the monotonic clock, as calls that cannot fail silently.

#include "base/sync.h"

#include "base/diag.h"
#include "base/fault.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void) {
	struct timespec ts;
	verify(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void mutex_init(mutex *m) {
	verify(pthread_mutex_init(m, NULL) == 0);
}

void mutex_fini(mutex *m) {
	verify(pthread_mutex_destroy(m) == 0);
}

void mutex_lock(mutex *m) {
	verify(pthread_mutex_lock(m) == 0);
}

void mutex_unlock(mutex *m) {
	verify(pthread_mutex_unlock(m) == 0);
}

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
	verify(pthread_cond_wait(c, m) == 0);
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
	int error = pthread_cond_timedwait(c, m, &ts);
	verify(error == 0 || error == ETIMEDOUT);
	return error == 0;
}

void cond_signal(cond *c) {
	verify(pthread_cond_signal(c) == 0);
}

void cond_broadcast(cond *c) {
	verify(pthread_cond_broadcast(c) == 0);
}

int thread_start(thread *t, void *(*fn)(void *), void *arg, size_t stack_bytes) {
	int error = fault_errno("thread");
	if (error) {
		return error;
	}
	pthread_attr_t attr;
	error = pthread_attr_init(&attr);
	if (error) {
		return error;
	}
	long least = sysconf(_SC_THREAD_STACK_MIN);
	if (least > 0 && stack_bytes < (size_t)least) {
		stack_bytes = (size_t)least;
	}
	verify(pthread_attr_setstacksize(&attr, stack_bytes) == 0);
	// the new thread inherits the mask, so a signal never lands on a worker (POSIX pthread_create)
	sigset_t all, old;
	sigfillset(&all);
	verify(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
	error = pthread_create(t, &attr, fn, arg);
	verify(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
	verify(pthread_attr_destroy(&attr) == 0);
	return error;
}

void thread_join(thread t) {
	verify(pthread_join(t, NULL) == 0);
}
