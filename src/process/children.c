// The table of running children: signals to all of them, their orderly end, and the orphans they leave.

#include "process/children.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PAUSE_MIN_MS = 10, PAUSE_MAX_MS = 1000, BACKOFF_S = 10, OWN_BACKOFF_S = 1, ORPHANS_S = 2, ORPHAN_ROUNDS = 1000 };
enum { LAST_LINE = 1024, REST_MS = 100, START_S = 5 };

// The table for children_kill_unlocked(), which is called without an argument on a dying thread.
static _Atomic(struct group_table *) last_table;

// ---- the sequence of signals that ends a job ----

// Parses a signal and the pause after it, with the commas behind them.
static int parse_step(const char **at, struct term_seq *seq, const char **ret_error) {
	size_t len = strcspn(*at, ",");
	int signal = signal_number(*at, len);
	if (signal == 0) {
		*ret_error = "there is no such signal";
		return -1;
	}
	// one entry is kept for the final KILL
	if (seq->nsteps + 1 >= sizeof(seq->steps) / sizeof(seq->steps[0])) {
		*ret_error = "too many signals";
		return -1;
	}
	*at += len + ((*at)[len] == ',');
	uint64_t pause = 0;
	if (**at) {
		if (!read_digits(at, NULL, &pause) || (**at && **at != ',') || pause > INT32_MAX) {
			*ret_error = "a pause in milliseconds must follow each signal";
			return -1;
		}
		*at += **at == ',';
	}
	seq->steps[seq->nsteps].signal = signal;
	seq->steps[seq->nsteps++].pause_ms = (unsigned)pause;
	return 0;
}

// Makes SIGKILL the last step, so that every job ends.
static void seq_finish(struct term_seq *seq) {
	if (seq->nsteps == 0 || seq->steps[seq->nsteps - 1].signal != SIGKILL) {
		verify(seq->nsteps < sizeof(seq->steps) / sizeof(seq->steps[0]));
		seq->steps[seq->nsteps].signal = SIGKILL;
		seq->steps[seq->nsteps++].pause_ms = 25;
	}
}

int term_seq_parse(const char *text, struct term_seq *ret_seq, const char **ret_error) {
	struct term_seq seq = {.nsteps = 0};
	const char *at = text;
	do {
		if (parse_step(&at, &seq, ret_error) != 0) {
			return -1;
		}
	} while (*at);
	seq_finish(&seq);
	*ret_seq = seq;
	return 0;
}

void term_seq_write(const struct term_seq *seq, struct buf *buf) {
	for (unsigned i = 0; i < seq->nsteps; ++i) {
		buf_printf(buf, "%s%d,%u", i > 0 ? "," : "", seq->steps[i].signal, seq->steps[i].pause_ms);
	}
}

uint64_t term_seq_due(const struct term_seq *seq, unsigned sent, uint64_t now) {
	return sent + 1 < seq->nsteps ? now + (uint64_t)seq->steps[sent].pause_ms * NS_PER_MS : TIME_NEVER;
}

uint64_t term_seq_length(const struct term_seq *seq) {
	uint64_t length = 0;
	for (unsigned i = 0; i < seq->nsteps; ++i) {
		length += (uint64_t)seq->steps[i].pause_ms * NS_PER_MS;
	}
	return length;
}

// ---- the table of running children ----

static void set_cookie(struct children *children, struct context *context) {
	uint64_t bits[2];
	random_bytes(bits, sizeof(bits));
	char value[40];
	snprintf(value, sizeof(value), "%016llx%016llx", (unsigned long long)bits[0], (unsigned long long)bits[1]);
	context_set_env(context, "FAIRPAR_COOKIE", value);
	snprintf(children->guardian.table->cookie, COOKIE_BYTES, "FAIRPAR_COOKIE=%s", value);
}

struct children *children_create(const struct term_seq *seq, struct context *context, int wake_fd) {
	struct children *children = NEW(struct children);
	mutex_init(&children->lock, LOCK_CHILDREN);
	cond_init(&children->ended);
	cond_init(&children->started);
	list_init(&children->starting);
	list_init(&children->list);
	const char *error;
	verify(term_seq_parse(TERM_SEQ_DEFAULT, &children->seq, &error) == 0);
	children->seq = seq ? *seq : children->seq;
	children->wake_fd = wake_fd;
	guardian_init(&children->guardian);
	if (context) {
		set_cookie(children, context);
	}
	memory_init(&children->memory);
	spawn_world_init(&children->world);
	children->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	FP_CLEANUP(fd_close) int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	children->has_terminal = terminal >= 0;
	// Orphans of jobs become children of this process, not of init, so that they can be found. If a sandbox forbids this, orphans that
	// have left the group of their job cannot be found.
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	atomic_store_release(&last_table, children->guardian.table);
	diag_set_on_die(children_kill_unlocked);
	return children;
}

struct guardian *children_guardian(struct children *children) {
	return &children->guardian;
}

struct memory *children_memory(struct children *children) {
	return &children->memory;
}

void children_start_guardian(struct children *children) {
	if (guardian_is_wanted(&children->guardian)) {
		guardian_start(&children->guardian);
		wakeup_post(children->wake_fd);
	}
}

void children_destroy(struct children *children, bool kills_orphans) {
	if (!children) {
		return;
	}
	if (kills_orphans) {
		children_kill_orphans(children);
	}
	verify(list_is_empty(&children->list));
	diag_set_on_die(NULL);
	atomic_store_release(&last_table, NULL);
	guardian_fini(&children->guardian);
	memory_fini(&children->memory); // after the guardian's end, as the guardian may be in our cgroup
	fd_close(&children->null_fd);
	free(children->free_slots);
	cond_fini(&children->ended);
	cond_fini(&children->started);
	mutex_fini(&children->lock);
	free(children);
}

void children_begin_polls(struct children *children, struct polls *polls, int signal_fd) {
	polls->n = 0;
	polls_add(polls, signal_fd, POLLIN);
	polls_add(polls, children->wake_fd, POLLIN);
	polls_add(polls, guardian_fd(&children->guardian), 0);
}

void children_poll(struct children *children, struct polls *polls, uint64_t until) {
	int ready = poll(polls->at, (nfds_t)polls->n, poll_ms(until));
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	if (polls->at[POLL_WAKE].revents & POLLIN) {
		wakeup_clear(children->wake_fd);
	}
	if (polls->at[POLL_GUARDIAN].revents & POLLERR) {
		guardian_revive(&children->guardian);
	}
}

void children_kill_unlocked(void) {
	struct group_table *table = atomic_load_acquire(&last_table);
	if (table) {
		group_table_kill(table, SIGKILL);
	}
}

// Returns what kill(2) takes to reach all processes of the child: its group, if it has its own.
static pid_t running_target(const struct running_child *running) {
	return running->config->own_group ? -running->pid : running->pid;
}

// True if the child is a zombie: it ended by itself, before any signal that would be sent now.
static bool running_has_ended(const struct running_child *running) {
	siginfo_t info = {.si_pid = 0};
	return waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

// ---- the end of one child, step by step; under the lock ----

// Sends the signal of the step, and then SIGCONT, as a stopped process acts on no signal but SIGKILL before it is continued.
static void send_step(struct children *children, struct running_child *running, unsigned step, uint64_t now) {
	int signal = children->seq.steps[step].signal;
	running->step = step;
	running->step_due = term_seq_due(&children->seq, step, now);
	if (running->marked == MARKED_FOR_TIME) { // descendants outside of the child's group can be found only while the child lives
		pidfd_set_add_outside_group(&running->left_group, running->pid);
	}
	kill(running_target(running), signal);
	if (signal != SIGKILL && signal != SIGSTOP && signal != SIGTSTP) {
		kill(running_target(running), SIGCONT);
		running->suspended = false;
	}
	pidfd_set_signal(&running->left_group, signal);
	children->has_killed |= atomic_load_relaxed(&children->terminating) && running->step_due == TIME_NEVER;
}

// Sends a child that is being ended the signals of the steps that are due by now. Returns when the next step is due.
static uint64_t send_due(struct children *children, struct running_child *running, uint64_t now) {
	while (running->step_due <= now) {
		send_step(children, running, running->step + 1, now);
	}
	return running->step_due;
}

// Begins to end the child, by the signal of step `step`. Returns false if the child is being ended already, or has ended.
static bool mark(struct children *children, struct running_child *running, enum kill_mark why, unsigned step, uint64_t now) {
	if (running->marked || running_has_ended(running)) {
		return false;
	}
	running->marked = why;
	atomic_add_relaxed(&children->nmarked, 1);
	cond_broadcast(&children->started); // its worker may wait in children_time_out()
	send_step(children, running, step, now);
	return true;
}

// Begins to end the child if children of its kind (clean-up commands, or all others) are refused [C3]. Returns whether they are refused.
static bool end_refused(struct children *children, struct running_child *running, uint64_t now) {
	if (!atomic_load_relaxed(children_refusal(children, running->config->cleanup))) {
		return false;
	}
	bool kills = atomic_load_relaxed(&children->killing);
	unsigned step = kills ? children->seq.nsteps - 1 : 0; // the last step is KILL: see seq_finish()
	running->marked = running->marked == MARKED_FOR_MEMORY ? MARKED_FOR_CANCEL : running->marked;
	if (running->marked && kills) {
		send_step(children, running, step, now);
	} else {
		mark(children, running, MARKED_FOR_CANCEL, step, now);
	}
	return true;
}

// ---- entering the list, and leaving it ----

atomic_int *children_reserve(struct children *children, struct running_child *running) {
	struct group_table *table = children->guardian.table;
	FP_HOLD(&children->lock);
	unsigned used = atomic_load_relaxed(&table->used);
	running->slot = children->nfree > 0 ? children->free_slots[--children->nfree] : used;
	if (running->slot == used) {
		verify(used < GROUPS_MAX);
		atomic_store_release(&table->used, used + 1); // pairs with the acquire in group_table_kill()
	}
	running->number = children->nstarts++;
	list_push_back(&children->starting, &running->link);
	return &table->targets[running->slot];
}

static void slot_free(struct children *children, const struct running_child *running) {
	atomic_store_release(&children->guardian.table->targets[running->slot], 0);
	*NEW_ELEMENT(children->free_slots, children->nfree, children->free_cap) = running->slot;
}

void children_release(struct children *children, struct running_child *running) {
	FP_HOLD(&children->lock);
	list_remove(&running->link);
	cond_broadcast(&children->started);
	slot_free(children, running);
}

void children_list(struct children *children, struct running_child *running) {
	mutex_lock(&children->lock);
	list_remove(&running->link);
	cond_broadcast(&children->started);
	list_push_back(&children->list, &running->link);
	++children->nrunning;
	running->stopped = children->stopped;
	bool is_refused = end_refused(children, running, now_ns());
	mutex_unlock(&children->lock);
	if (is_refused) {
		wakeup_post(children->wake_fd);
	}
	if (running->config->foreground) {
		kill(getpid(), SIGCHLD); // if Ctrl-Z stopped the child before it was listed, the event loop saw SIGCHLD too early: so SIGCHLD is sent again
	}
}

void children_unlist(struct children *children, struct running_child *running) {
	FP_HOLD(&children->lock);
	if (running->marked && running->config->own_group) {
		kill(-running->pid, SIGKILL);
	}
	atomic_fetch_sub(&children->nmarked, running->marked != NOT_MARKED);
	list_remove(&running->link);
	slot_free(children, running);
	--children->nrunning;
	++children->nended;
	cond_signal(&children->ended);
}

bool children_is_marked(struct children *children, const struct running_child *running) {
	if (atomic_load_relaxed(&children->nmarked) == 0) { // no child is marked, and a child that has ended, as this one has, is never marked later
		return false;
	}
	FP_HOLD(&children->lock);
	return running->marked;
}

void children_note_stopped(struct children *children, const struct running_child *running) {
	siginfo_t info = {.si_pid = 0};
	int got = waitid(P_PID, (id_t)running->pid, &info, WSTOPPED | WNOHANG | WNOWAIT);
	bool stopped = got == 0 && info.si_pid != 0 && (info.si_status == SIGTTIN || info.si_status == SIGTTOU);
	if (stopped && !atomic_exchange(&children->has_stopped, true)) {
		diag_warn("stopped: %s: it uses the terminal, which jobs have only with --tty (SIG%s)", text_shows(running->config->label),
		          signal_name(info.si_status));
	}
}

const atomic_bool *children_refusal(const struct children *children, bool cleanup) {
	return cleanup ? &children->killing : &children->terminating;
}

bool children_wait_room(struct children *children, struct start_backoff *backoff, int error, const atomic_bool *refusal) {
	uint64_t now = now_ns();
	mutex_lock(&children->lock);
	uint64_t seen = children->nended;
	bool is_alone = children->nrunning == 0;
	mutex_unlock(&children->lock);
	backoff->alone_since = !is_alone ? 0 : backoff->alone_since ? backoff->alone_since : now;
	uint64_t alone_for = is_alone ? now - backoff->alone_since : 0;
	// With EMFILE there is less to wait for: descriptors of this process come back only when a child of ours ends, or when another
	// start gives up. Processes and memory may also come back from other programs.
	bool useful = alone_for < (error == EMFILE ? OWN_BACKOFF_S : BACKOFF_S) * NS_PER_S
		&& !(is_alone && error == EAGAIN && proctree_fills_limit());
	backoff->pause = backoff->pause ? backoff->pause * 2 : (uint64_t)PAUSE_MIN_MS * NS_PER_MS;
	if (backoff->pause > (uint64_t)PAUSE_MAX_MS * NS_PER_MS) {
		backoff->pause = (uint64_t)PAUSE_MAX_MS * NS_PER_MS; // the longest pause: nothing tells us when processes of other programs end
	}
	if (useful && alone_for >= NS_PER_S && !atomic_exchange(&children->has_reported, true)) {
		diag_note("cannot start a process yet: %s%s", strerror(error), error == EAGAIN ? " (ulimit -u)" : error == EMFILE ? " (ulimit -n)" : "");
	}
	FP_HOLD(&children->lock);
	while (useful && seen == children->nended && !atomic_load_relaxed(refusal)
	       && cond_wait_until(&children->ended, &children->lock, now + backoff->pause)) {
	}
	return useful && !atomic_load_relaxed(refusal);
}

void children_await_starts(struct children *children) {
	uint64_t deadline = now_ns() + START_S * NS_PER_S;
	FP_HOLD(&children->lock);
	uint64_t before = children->nstarts;
	while (!list_is_empty(&children->starting)
	       && list_entry(children->starting.next, struct running_child, link)->number < before
	       && cond_wait_until(&children->started, &children->lock, deadline)) {
	}
}

// ---- signals to all running children ----

void children_signal(struct children *children, int signal) {
	FP_HOLD(&children->lock);
	uint64_t now = now_ns(), stopped = 0; // `now` is read before the signals are sent, as this process may be stopped meanwhile
	if (signal == SIGCONT && children->stopped_at) {
		stopped = now - children->stopped_at;
		children->stopped += stopped;
		children->stopped_at = 0;
		cond_broadcast(&children->started);
	} else if ((signal == SIGTSTP || signal == SIGSTOP) && !children->stopped_at) {
		children->stopped_at = now;
	}
	list_for_each_entry(&children->list, struct running_child, running, link) {
		// SIGSTOP in place of SIGTSTP, as a job that handles SIGTSTP may go on, which fairpar could not notice
		kill(running_target(running), signal == SIGTSTP ? SIGSTOP : signal);
		running->suspended = running->suspended && signal != SIGCONT;
		running->step_due += running->marked && running->step_due != TIME_NEVER ? stopped : 0;
	}
}

uint64_t children_time_out(struct children *children, struct running_child *running, uint64_t deadline) {
	FP_HOLD(&children->lock);
	while (children->stopped_at && !running->marked) {
		cond_wait(&children->started, &children->lock);
	}
	uint64_t now = now_ns(), due = deadline + children->stopped - running->stopped;
	if (due <= now) {
		bool ends = mark(children, running, MARKED_FOR_TIME, 0, now) || running->marked;
		due = ends ? send_due(children, running, now) : TIME_NEVER;
	}
	return due;
}

void children_signal_one(struct children *children, const void *origin, int signal) {
	FP_HOLD(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		if (running->config->origin == origin) {
			kill(running_target(running), signal);
		}
	}
}

static void begin_termination(struct children *children, atomic_bool *flag) {
	mutex_lock(&children->lock);
	if (!atomic_load_relaxed(flag)) {
		atomic_store_release(&children->terminating, true);
		atomic_store_release(flag, true);
		children->has_killed |= flag == &children->killing;
		uint64_t now = now_ns();
		list_for_each_entry(&children->list, struct running_child, running, link) {
			(void)end_refused(children, running, now);
		}
		cond_broadcast(&children->ended);
	}
	mutex_unlock(&children->lock);
	memory_wake(&children->memory);
}

void children_terminate(struct children *children) {
	begin_termination(children, &children->terminating);
}

void children_kill(struct children *children) {
	begin_termination(children, &children->killing);
}

uint64_t children_term_step(struct children *children, uint64_t now) {
	uint64_t next = TIME_NEVER;
	if (atomic_load_relaxed(&children->nmarked) == 0) { // the function that marks a child later makes its worker or the event loop look again
		return next;
	}
	FP_HOLD(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		next = time_earlier(next, running->marked ? send_due(children, running, now) : TIME_NEVER);
	}
	return next;
}

// ---- single children, and their number ----

char *children_evict_youngest(struct children *children) {
	char *label = NULL;
	FP_HOLD(&children->lock);
	// the list is in the order of starts: the youngest child is last
	for (struct list *at = children->list.prev; at != &children->list && !label; at = at->prev) {
		struct running_child *running = list_entry(at, struct running_child, link);
		if (!running->config->cleanup && mark(children, running, MARKED_FOR_MEMORY, 0, now_ns())) {
			label = xstrdup(running->config->label ? running->config->label : "");
		}
	}
	return label;
}

uint64_t children_expire(struct children *children, uint64_t limit, uint64_t now) {
	uint64_t next = TIME_NEVER;
	FP_HOLD(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		uint64_t due = running->start + limit + children->stopped - running->stopped;
		if (running->config->cleanup || running->marked) {
			continue;
		}
		if (due <= now) {
			mark(children, running, MARKED_FOR_TIME, 0, now);
		} else if (due < next) {
			next = due;
		}
	}
	return next;
}

void children_cancel(struct children *children, const void *origin, uint64_t now) {
	bool marked = false;
	mutex_lock(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		marked = (running->config->origin == origin && mark(children, running, MARKED_FOR_CANCEL, 0, now)) || marked;
	}
	mutex_unlock(&children->lock);
	if (marked) {
		wakeup_post(children->wake_fd);
	}
}

void children_set_waiting(struct children *children, const void *origin, bool waits) {
	mutex_lock(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		running->waits = running->config->origin == origin ? waits : running->waits;
	}
	mutex_unlock(&children->lock);
	memory_set_waiting(&children->memory, origin, waits);
}

unsigned children_suspend_young(struct children *children, unsigned most) {
	unsigned n = 0, nsuspended = 0;
	FP_HOLD(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		if (running->config->cleanup || running->marked || running->waits) {
			continue;
		}
		bool suspends = n++ >= most;
		if (suspends != running->suspended) {
			kill(running_target(running), suspends ? SIGSTOP : SIGCONT);
			running->suspended = suspends;
		}
		nsuspended += suspends;
	}
	return nsuspended;
}

unsigned children_count(struct children *children) {
	FP_HOLD(&children->lock);
	return children->nrunning;
}

size_t children_sample(struct children *children, uint64_t random, pid_t *ret_pids, size_t most, unsigned *ret_running) {
	size_t n = 0, at = 0;
	FP_HOLD(&children->lock);
	size_t every = children->nrunning / most + (children->nrunning % most != 0);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		if (at++ % every == random % every && n < most && !running->suspended) {
			ret_pids[n++] = running->pid;
		}
	}
	*ret_running = children->nrunning;
	return n;
}

bool children_have_ended(struct children *children) {
	bool ended = true;
	FP_HOLD(&children->lock);
	list_for_each_entry(&children->list, struct running_child, running, link) {
		ended = ended && running_has_ended(running);
	}
	return ended;
}

char *output_reader_last_line(const struct output_reader *reader) {
	char text[LAST_LINE];
	size_t len = reader && reader->last_line ? reader->last_line(reader->arg, text, sizeof(text)) : 0;
	return len > 0 ? xmemdup(text, len) : NULL;
}

void child_views_take(struct child_view *views, size_t n, void (*fn)(void *arg, const struct child_view *), void *arg) {
	for (size_t i = 0; i < n; ++i) {
		fn(arg, &views[i]);
		free((char *)(uintptr_t)views[i].label);
		free((char *)(uintptr_t)views[i].last);
	}
	free(views);
}

void children_each(struct children *children, bool stopped_only, void (*fn)(void *arg, const struct child_view *), void *arg) {
	struct child_view *views = NULL;
	size_t cap = 0, n = 0;
	mutex_lock(&children->lock);
	grow_array(&views, &cap, children->nrunning, sizeof(*views));
	list_for_each_entry(&children->list, struct running_child, running, link) {
		siginfo_t info = {.si_pid = 0};
		bool stopped = stopped_only && waitid(P_PID, (id_t)running->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0;
		if (stopped_only && (!stopped || running->suspended)) {
			continue;
		}
		views[n++] = (struct child_view){
			.pid = running->pid,
			.start = running->start,
			.label = xstrdup(running->config->label ? running->config->label : ""), // copied, as the job may end while fn prints
			.last = stopped_only ? NULL : output_reader_last_line(running->config->output_reader), // the lock keeps the reader of the child alive
			.stop_signal = stopped ? info.si_status : 0,
		};
	}
	mutex_unlock(&children->lock);
	child_views_take(views, n, fn, arg);
}

// ---- orphans ----

void children_note_sigchld(struct children *children) {
	children->rest_until = now_ns() + (uint64_t)REST_MS * NS_PER_MS;
}

uint64_t children_reap_orphans(struct children *children, int signal_fd) {
	siginfo_t info;
	bool live;
	do {
		info.si_pid = 0;
		// __WNOTHREAD: only children of this thread, which are orphans and the guardian; jobs are children of the workers' threads
		live = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WNOTHREAD) == 0; // fails with ECHILD if there are no such children
		if (live && info.si_pid != 0 && info.si_pid == atomic_load_acquire(&children->guardian.pid)) {
			atomic_store_release(&children->guardian.pid, 0); // the guardian was killed, and another process may get its pid
		}
	} while (live && info.si_pid != 0);
	bool rests = now_ns() < children->rest_until;
	if (children->sees_sigchld == rests) {
		children->sees_sigchld = !rests;
		signals_watch_children(signal_fd, children->sees_sigchld);
	}
	return rests ? children->rest_until : TIME_NEVER;
}

void children_kill_orphans(struct children *children) {
	pid_t guardian = atomic_load_acquire(&children->guardian.pid);
	uint64_t deadline = 0; // of the wait since the last one ended, as an orphan in an uninterruptible sleep does not die
	bool found = true, ended = true;
	for (unsigned round = 0; found && round < ORPHAN_ROUNDS && (ended || now_ns() < deadline); ++round) {
		FP_CLEANUP(proctree_fini) struct proctree orphans = PROCTREE_INIT;
		proctree_add_children(&orphans, getpid());
		found = false;
		// each round kills one generation of orphans, whose children then become children of this process
		for (size_t i = 0; i < orphans.n; ++i) {
			found |= orphans.pids[i] != guardian && kill(orphans.pids[i], SIGKILL) == 0;
		}
		deadline = ended ? now_ns() + ORPHANS_S * NS_PER_S : deadline;
		ended = false;
		for (size_t i = 0; i < orphans.n; ++i) {
			if (orphans.pids[i] != guardian) {
				FP_CLEANUP(fd_close) int pidfd = pidfd_open_pid(orphans.pids[i]);
				if (pidfd >= 0) {
					poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, poll_ms(deadline));
				}
				ended |= waitpid(orphans.pids[i], NULL, WNOHANG) > 0;
			}
		}
	}
	mutex_lock(&children->lock);
	bool killed = children->has_killed;
	mutex_unlock(&children->lock);
	if (killed) {
		children_kill_with_cookie(children);
	}
}

void children_kill_with_cookie(struct children *children) {
	proctree_kill_marked(&(struct marked){.cookie = children->guardian.table->cookie, .session = SESSION_ANY}, ORPHANS_S * 1000);
}
