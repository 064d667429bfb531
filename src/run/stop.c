// What ends a run: a signal, a halt, output that cannot be written, or the end of its input; and the steps of its end. All on the
// event loop's thread.
//
//	RUN_RUNNING -stop()-> RUN_DRAINING -terminate()-> RUN_ENDING -second signal-> RUN_KILLING -third-> fairpar dies
//
// A thread that finds a halt or lost output sets a flag (halt_now, output_error) and wakes the event loop.

#include "run/run.h"

#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "gate/gate.h"
#include "state/publish.h"
#include "feed/feed.h"
#include "hosts/hosts.h"
#include "pipe/block.h"
#include "process/memory.h"
#include "process/proctree.h"
#include "process/signals.h"
#include "record/added_jobs.h"
#include "record/record.h"
#include "sharing/jobserver_slots.h"
#include "sharing/leases.h"
#include "sharing/nested.h"
#include "term/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LAST_COLUMNS = 80,     // columns of the last line of a running job, in the list of jobs (SIGUSR1)
	READER_WAIT_MS = 4000, // after a signal and the end of the last job: how long the run waits for a reader who does not read
	KILLED_WAIT_MS = 400,  // after a second signal: how long the run waits for a reader who does not read
	END_WAIT_S = 8,        // after a signal and the end of the last job: when fairpar dies by the signal, although the run has not come to its end
};

// Lets no more jobs start; running jobs go on.
static void stop(struct run *run) {
	if (run->phase < RUN_DRAINING) {
		run->phase = RUN_DRAINING;
		retry_queue_stop(run->retry_queue); // before dag_stop(): jobs that wait for a retry fail, so dag_stop() skips the batches that need theirs
		feeds_stop(run);
		dag_stop(run);
		terminal_cancel(run);
		pool_shutdown(run->pool);
	}
}

static void terminate(struct run *run) {
	if (run->phase < RUN_ENDING) {
		pool_pause(run->pool, true); // a slot that becomes free takes no further job
		leases_terminate(run->leases);
		hosts_terminate(run->hosts); // before stop(), which may take a while to drop what is queued
		children_terminate(run->children);
		stop(run);
		run->phase = RUN_ENDING;
		pool_pause(run->pool, false);
	}
}

static void list_child(void *arg, const struct child_view *view) {
	uint64_t now = *(uint64_t *)arg;
	FP_CLEANUP(buf_fini) struct buf last = BUF_INIT;
	if (view->last) {
		buf_adds(&last, ": ");
		text_add_output(&last, view->last, strlen(view->last), LAST_COLUMNS);
	}
	diag_note("running for %.1fs, pid %ld%s%s: %s%s", (double)(now - view->start) / 1e9, (long)view->pid, view->host ? " on " : "",
	          view->host ? view->host : "", text_shows(view->label), buf_str(&last));
}

static void suspend(struct run *run) {
	if (proctree_group_is_orphaned()) {
		return; // the kernel would not stop fairpar, and a SIGCONT right after the SIGSTOP misses processes that are just being forked
	}
	pool_pause(run->pool, true);
	children_await_starts(run->children);
	children_signal(run->children, SIGSTOP);
	hosts_suspend(run->hosts, true);
	status_display_suspend(run);
	signals_stop_self();
	screen_assume_line_start();
	status_display_resume(run);
	hosts_suspend(run->hosts, false);
	children_signal(run->children, SIGCONT);
	pool_pause(run->pool, false);
}

// Answers a signal that ends the run: the first one ends the jobs, a second one kills them, a third one kills fairpar.
static void answer_ending_signal(struct run *run, int signal) {
	if (run->phase == RUN_KILLING) { // the third signal: fairpar still waits, for a reader who does not read
		children_kill_with_cookie(run->children);
		signals_die(signal);
	}
	if (run->signal) {
		run->phase = RUN_KILLING;
		hosts_kill(run->hosts);
		children_kill(run->children);
		return;
	}
	run->signal = signal;
	if (signals_typed()) {
		screen_echoed();
	}
	write_limit_hasten();
	publish_set_stop_signal(run, signal);
	terminate(run);
	if (!run->options->quiet) {
		diag_note("stopping: the running jobs get SIGTERM; a second signal kills them");
	}
}

// Answers the signal of --stop-signal: no more jobs start; running jobs go on, however often the signal comes.
static void answer_stop_signal(struct run *run, int signal) {
	if (run->phase >= RUN_DRAINING) {
		return;
	}
	publish_set_stop_signal(run, signal);
	stop(run);
	if (!run->options->quiet) {
		diag_note("stopping: no more jobs start; running jobs go on to their end");
	}
}

// Prints how many slots there are with -j auto, for how long, and why.
static void show_slots(struct run *run) {
	const struct run_stats *stats = publish_stats(run); // without the lock, as only this thread publishes changes of the slots
	const struct stats_slots *last = stats->nchanges > 0 ? &stats->changes[stats->nchanges - 1] : NULL;
	diag_note("slots: %u for %.1fs: %s", publish_slots_now(run), (double)(now_ns() - (last ? last->at : run->start)) / 1e9,
	          !last ? "the first number" : last->why ? last->why : "one of many changes");
}

static void answer_signal(struct run *run, int signal) {
	uint64_t now = now_ns();
	if (signal == run->options->stop_signal) {
		answer_stop_signal(run, signal);
		return;
	}
	switch (signal) {
	case SIGTSTP:
		suspend(run);
		break;
	case SIGCONT:
		status_display_resume(run); // fairpar may be in the foreground now
		break;
	case SIGUSR2:
		status_display_toggle(run);
		break;
	case SIGWINCH:
		status_display_resized(run);
		break;
	case SIGCHLD:
		children_note_sigchld(run->children);
		terminal_note_stops(run);
		break;
	case SIGUSR1:
		children_await_starts(run->children);
		children_each(run->children, /* stopped_only */ false, list_child, &now);
		hosts_each(run->hosts, list_child, &now);
		hosts_show(run->hosts);
		if (run->auto_slots) {
			show_slots(run);
		}
		memory_show_waiting(children_memory(run->children));
		dag_show(run);
		explain_live_print(run);
		break;
	default:
		if (is_ending_signal(signal)) {
			answer_ending_signal(run, signal);
		}
		break;
	}
}

void run_answer_signals(struct run *run) {
	int signal;
	while ((signal = signals_next(run->signal_fd)) != 0) {
		answer_signal(run, signal);
	}
}

void run_answer_flags(struct run *run) {
	if (atomic_load_acquire(&run->halt_now)) { // pairs with the store in halt()
		publish_set_stop_reason(run, "not all jobs can run at once"); // the reason if --tee has set the flag; a halt has set its own reason before
		terminate(run);
	}
	hosts_print_messages(run->hosts);
	if (run->hosts && run->phase == RUN_RUNNING) {
		hosts_refresh_list(run->hosts); // the end of a job does so, too, but perhaps no job runs
	}
	if (run->hosts && run->phase == RUN_RUNNING && hosts_are_unreachable(run->hosts)) {
		diag_error("no machine can be reached: the jobs are not run");
		atomic_store_relaxed(&run->trouble, true);
		publish_set_stop_reason(run, "no machine can be reached");
		hosts_terminate(run->hosts); // no attempt runs on a machine any more, but one may wait for a machine
		stop(run);
	}
	if (run->phase == RUN_RUNNING && atomic_load_acquire(&run->output_error)) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_printf(&why, "output cannot be written: %s", strerror(atomic_load_relaxed(&run->output_error)));
		publish_set_stop_reason(run, why.data);
		// EPIPE: the run ends like a filter whose reader has gone, since the running jobs would write for nobody
		if (atomic_load_relaxed(&run->output_error) == EPIPE) {
			terminate(run);
		} else {
			stop(run);
		}
	}
}

static const char unread[] = "fairpar: error: output was not written: nobody reads it\n";

// Called in a signal handler when the time for the reader is over: says that output was not written, and kills processes that jobs left.
static void say_unread(void) {
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	if (poll(&room, 1, 0) > 0 && (room.revents & POLLOUT)) {
		(void)!write(STDERR_FILENO, unread, sizeof(unread) - 1); // if this fails, too, there is nowhere else to say it
	}
	children_kill_unlocked(); // the guardian then kills the other processes of the jobs
}

void run_limit_end(struct run *run) {
	if (atomic_load_relaxed(&run->output_error) == ETIME && !run->extended) {
		run->extended = true; // the unread output was given up: the other steps of the end get a time limit of their own
		signals_die_within(0, 0, NULL);
	}
	if (children_have_ended(run->children) && hosts_are_idle(run->hosts)) {
		// writes fail some seconds before the signal ends fairpar: so the run can still come to its end on a busy machine, too
		write_limit_set(now_ns() + (run->phase == RUN_KILLING ? KILLED_WAIT_MS : READER_WAIT_MS) * (uint64_t)NS_PER_MS);
		signals_die_within(END_WAIT_S, run->signal, say_unread);
	}
}

// ---- the end ----

// Waits for the jobs that run. Items that were read or queued, and have not begun, are lost.
static void end_jobs(struct run *run) {
	if (run->pool) {
		stop(run); // a halt has stopped only the pool
		pool_wait_idle(run->pool, TIME_NEVER);
		dag_close(run);
		feeds_close(run);
		hosts_detach(run->hosts);
		pool_destroy(run->pool);
		jobserver_slots_return(run->jobserver);
		leases_return(run->leases);
	}
	if (run->blocks) {
		blockfeed_close(run->blocks);
	}
	batches_reap(run);
}

// Called in a signal handler when no job is left. `left` is how many later signals call this function, before a signal kills fairpar. Limits the
// time for writes to 4 s, as run_limit_end() does; if `left` is 0, to half a second, in which the run can still come to its end.
static void hurry_writes(unsigned left) {
	write_limit_set(now_ns() + (left > 0 ? 4 * NS_PER_S : NS_PER_S / 2));
}

// Called when no job is left that a signal could end: from now on a signal ends the wait for a reader who does not read.
static void free_signals(struct run *run) {
	if (!run->signal) {
		signals_release_after(2, hurry_writes);
		return;
	}
	run_answer_signals(run); // a pending signal is the second one: a reader gets less time, and the next signal kills fairpar
	publish_end(run, 128 + run->signal, run->signal);
	run_limit_end(run);
	// after one signal, the next one ends the wait for a reader who does not read; after two, the next one kills fairpar
	signals_release_after(run->phase == RUN_KILLING ? 0 : 1, hurry_writes);
}

// Writes all output that is left, then the rows of the joblog and the files of --results.
static void end_output(struct run *run) {
	retry_queue_destroy(run->retry_queue);
	gate_close(run);
	auto_slots_free(run->auto_slots);
	terminal_close(run);
	if (run->writer) {
		uint64_t lost;
		if (writer_destroy(run->writer, &lost) != 0) {
			atomic_store_relaxed(&run->trouble, true);
		}
		if (lost > 0) {
			diag_error("output was not written: nobody reads %s: %llu bytes are lost", result_files_name(run), ull(lost));
		}
		run->writer = NULL;
	}
	if (run->signal) {
		run_limit_end(run);
	}
	job_records_close(run);
	result_files_close(run);
	signals_die_within(0, 0, NULL);
}

// Closes the connections to other programs and machines, then the table of children. If the run was cut short, kills the processes that jobs left.
static void end_children(struct run *run) {
	control_close(run->control);
	added_jobs_close(run->added_jobs);
	jobserver_slots_close(run->jobserver);
	hosts_close(run->hosts);
	leases_close(run->leases);
	nested_close(run->nested);
	children_destroy(run->children, /* kills_orphans */ run->phase >= RUN_ENDING);
	if (run->trace && event_log_close(run->trace, NULL) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", text_shows(run->options->trace_service), strerror(errno));
	}
}

// Publishes the end, and writes the log and the pictures that are made from it.
static void end_log(struct run *run, int status, int signal) {
	if (!run->signal) { // otherwise free_signals() has published the end, before another signal can kill fairpar
		publish_end(run, signal ? 128 + signal : status, signal);
	}
	log_sink_let_go(run);
	bool may_be_ended = signal == 0 || signal == SIGPIPE;
	int fd = publish_run_id(run)[0] ? log_sink_fd(run) : -1; // no run ID: nothing was published
	if (fd >= 0 && may_be_ended) {
		signals_release(); // drawing may take long, and a FIFO may have no reader: a signal may end fairpar meanwhile
	}
	if (fd >= 0 && pictures_draw(run->options, fd, "the log of this run", /* with_messages */ true) != 0) {
		atomic_store_relaxed(&run->trouble, true);
	}
	if (may_be_ended) {
		signals_release_after(1, hurry_writes); // the end was published: a signal now only ends the wait for a reader who does not read
	}
	log_sink_close(run);
}

static void free_all(struct run *run) {
	screen_close(); // only now: while the screen is open, a message begins a new line, even after output without a newline
	end_summary_close(run);
	explain_live_close(run);
	status_display_close(run);
	publish_close(run);
	job_spec_fini(&run->spec);
	manifest_free(run->manifest);
	free((char *)run->cwd);
	mutex_fini(&run->lock);
	fd_close(&run->wake_fd);
}

int run_end(struct run *run, bool opened) {
	status_display_end(run);
	end_jobs(run);
	free_signals(run);
	end_output(run);
	end_children(run);
	bool trouble = !opened || atomic_load_relaxed(&run->trouble) || diag_lost();
	bool is_piped = atomic_load_relaxed(&run->output_error) == EPIPE; // as in `| head`: the run ends without a message
	int status = trouble ? EXIT_TROUBLE : publish_exit_status(run);
	// a signal that comes during end_log() does not change the logged status; if the signal cuts off a picture, fairpar dies by it
	int signal = run->signal ? run->signal : signals_hurried() ? signals_hurried() : is_piped ? SIGPIPE : 0;
	end_log(run, status, signal);
	if (atomic_load_relaxed(&run->trouble) && status != EXIT_TROUBLE) {
		status = EXIT_TROUBLE;
		signal = signal ? signal : signals_hurried();
	}
	if (opened && !is_piped) {
		if (!run->signal && run->options->batch_by) {
			batches_warn_unused(run);
		}
		end_summary_print(run);
	}
	free_all(run);
	if (signal) {
		signals_die(signal);
	}
	return status;
}
