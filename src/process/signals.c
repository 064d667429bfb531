// Signals as events: blocked before any thread exists, read in one place, restored in children.

#include "process/signals.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/diag.h"
#include "base/sync.h"
#include "base/write_limit.h"

#include <errno.h>
#include <sys/signalfd.h>

// The signals that fairpar answers, besides those that end a run. SIGTTIN and SIGTTOU are left alone: a background fairpar that reads
// or writes the terminal stops as any program does.
static const int other_signals[] = {SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2};

static bool is_ignored(int signal) {
	struct sigaction action;
	// sigaction() fails for the signals that the C library uses itself
	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void signals_get_ignored(sigset_t *ret_ignored) {
	sigemptyset(ret_ignored);
	for (int signal = 1; signal <= SIGRTMAX; ++signal) {
		if (is_ignored(signal)) {
			sigaddset(ret_ignored, signal);
		}
	}
}

// The signals that the descriptor of signals_open() reports.
static sigset_t wanted;

void signal_mask(int how, int signal) {
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, signal);
	verify(pthread_sigmask(how, &one, NULL) == 0);
}

void signals_defer(sigset_t *ret_mask) {
	verify(pthread_sigmask(SIG_BLOCK, NULL, ret_mask) == 0);
	signal_mask(SIG_BLOCK, SIGUSR1);
	signal_mask(SIG_BLOCK, SIGUSR2);
}

// Adds the signal to `wanted`, unless nohup or a shell's `&` has made it ignored: the descriptor reports blocked signals even if they are ignored.
static void want(int signal) {
	if (!is_ignored(signal)) {
		sigaddset(&wanted, signal);
	}
}

int signals_open(void) {
	sigset_t blocked;
	sigemptyset(&wanted);
	for (size_t i = 0; i < nending_signals; ++i) {
		want(ending_signals[i]);
	}
	for (size_t i = 0; i < sizeof(other_signals) / sizeof(other_signals[0]); ++i) {
		want(other_signals[i]);
	}
	if (is_ignored(SIGCHLD)) {
		// POSIX wait(): with SIGCHLD ignored, children vanish without a status
		struct sigaction action = {.sa_handler = SIG_DFL};
		verify(sigaction(SIGCHLD, &action, NULL) == 0);
	}
	blocked = wanted;
	sigaddset(&blocked, SIGPIPE);
	sigaddset(&blocked, SIGXFSZ);
	sigaddset(&blocked, SIGCHLD);
	verify(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_add(int fd, int signal) {
	sigaddset(&wanted, signal);
	signal_mask(SIG_BLOCK, signal);
	return signalfd(fd, &wanted, SFD_CLOEXEC | SFD_NONBLOCK) == fd ? 0 : -1;
}

void signals_watch_children(int fd, bool on) {
	sigset_t set = wanted;
	if (on) {
		sigaddset(&set, SIGCHLD);
	}
	verify(signalfd(fd, &set, SFD_CLOEXEC | SFD_NONBLOCK) == fd); // only the mask changes
}

static bool typed; // the last signal of signals_next() came from a key; only the thread that calls signals_next() uses this

bool signals_typed(void) {
	return typed;
}

int signals_next(int fd) {
	struct signalfd_siginfo info;
	ssize_t n;
	do {
		n = read(fd, &info, sizeof(info));
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(info)) {
		return 0;
	}
	// sigaction(2): si_code is SI_KERNEL if the kernel itself has sent the signal, as for a key on the terminal
	typed = info.ssi_code == SI_KERNEL && (info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT);
	return (int)info.ssi_signo;
}

// Raises the signal on this thread with its default action, and blocks it again.
static void signal_take(int signal) {
	struct sigaction action = {.sa_handler = SIG_DFL}, old;
	sigaction(signal, &action, &old); // the call fails for KILL and STOP, whose action is the default
	raise(signal);
	signal_mask(SIG_UNBLOCK, signal);
	// POSIX pthread_sigmask(): a pending signal that is unblocked is delivered before the call returns
	signal_mask(SIG_BLOCK, signal);
	sigaction(signal, &old, NULL);
}

static volatile sig_atomic_t dies_by; // the signal by which this process is to die at dies_at; 0: none
static uint64_t dies_at = TIME_NEVER; // now_ns() time of the alarm
static void (*dies_with)(void);

static void die_now(int signal FP_UNUSED) {
	if (dies_by) {
		dies_with();
		signals_die(dies_by);
	}
}

void signals_die_within(unsigned seconds, int signal, void (*on_die)(void)) {
	struct sigaction action = {.sa_handler = die_now, .sa_flags = SA_RESTART};
	if (seconds == 0) {
		dies_by = 0;
		dies_at = TIME_NEVER;
		return;
	}
	if (!dies_by) {
		dies_with = on_die;
		dies_by = signal;
		verify(sigaction(SIGALRM, &action, NULL) == 0);
		signal_mask(SIG_UNBLOCK, SIGALRM);
	}
	uint64_t at = now_ns() + seconds * NS_PER_S;
	if (at < dies_at) {
		dies_at = at;
		alarm(seconds);
	}
}

// Sets the action of the signals that end a run, except for those that were ignored at the start.
static void set_ending(void (*handler)(int)) {
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	get_ending_signals(&action.sa_mask); // hurry_on() sets the action of all these signals: none of them may interrupt it
	for (size_t i = 0; i < nending_signals; ++i) {
		if (sigismember(&wanted, ending_signals[i]) == 1) {
			(void)sigaction(ending_signals[i], &action, NULL); // cannot fail for these signals
		}
	}
}

static void (*hurries)(unsigned left);
static volatile sig_atomic_t hurried_by, hurries_left;

static void hurry_on(int signal) {
	hurried_by = hurried_by ? hurried_by : signal;
	hurries((unsigned)--hurries_left);
	if (hurries_left == 0) {
		set_ending(SIG_DFL);
	}
}

void signals_release_after(unsigned n, void (*hurry)(unsigned left)) {
	hurries_left = (sig_atomic_t)n;
	hurries = hurry;
	set_ending(n > 0 ? hurry_on : SIG_DFL);
	sigset_t set;
	get_ending_signals(&set);
	verify(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
}

int signals_hurried(void) {
	return hurried_by;
}

void signals_release(void) {
	signals_release_after(0, NULL);
}

void signals_block_again(void) {
	verify(pthread_sigmask(SIG_BLOCK, &wanted, NULL) == 0);
}

void signals_stop_self(void) {
	// SIGTSTP, not SIGSTOP: the kernel ignores SIGTSTP in an orphaned process group, where nobody could continue us
	signal_take(SIGTSTP);
}

void signals_die(int signal) {
	signal_take(signal);
	_exit(128 + signal); // the action is not deadly, or this is the init process of a container
}
