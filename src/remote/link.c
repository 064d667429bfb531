// The thread of a connection: starts the launcher, moves bytes between it, the protocol (dispatcher_end.h) and the pipes of attempts, and starts
// it anew when it has gone. All waiting is in one poll().

#include "remote/link.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "remote/dispatcher_end.h"
#include "remote/file_copy.h"
#include "remote/link_internal.h"
#include "remote/payload.h"
#include "remote/program_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	STACK_BYTES = 256 * 1024,
	READ_BYTES = 64 * 1024,
	BACKOFF_FIRST_S = 1, BACKOFF_MOST_S = 60,
	END_GRACE_MS = 2000,      // for a launcher whose pipes were closed
	DEADLINE_GRACE_MS = 1000, // for a job that is out of time, and that its worker is to end by itself
	KILL_GRACE_MS = 2000,     // for what runs at the other end, after link_kill()
	LINES_MOST = 20,          // lines of a launcher that are passed on, for each connection, LINE_BYTES of each
	NOISE_IN_LINE = 200,      // bytes of the other end's noise in a message
};

// ---- attempts ----

// Wakes the thread of the attempt. With the lock.
static void wake_attempt(struct link_attempt *attempt) {
	if (attempt->has_files) {
		attempt->mail.ends = attempt->state == ATTEMPT_LEFT;
		cond_signal(&attempt->mail.heard);
	} else {
		wakeup_post(attempt->wake_fd);
	}
}

static void attempt_started(struct host_link *link, struct link_attempt *attempt, uint64_t start, int pid) {
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_STARTED;
	attempt->start = start;
	attempt->pid = pid;
	wake_attempt(attempt);
	mutex_unlock(&link->lock);
}

// Whether it is what a process makes of itself.
static bool is_natural(enum outcome outcome) {
	return outcome == OUTCOME_OK || outcome == OUTCOME_FAILED || outcome == OUTCOME_SIGNAL;
}

static void attempt_left(struct host_link *link, struct link_attempt *attempt) {
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_LEFT;
	list_remove(&attempt->link);
	attempt->is_doubted = link->config.calls.doubted && attempt->end == LINK_DONE && !attempt->has_files && is_natural(attempt->result.outcome);
	link->ndoubted += attempt->is_doubted;
	wake_attempt(attempt); // with the lock: who sees that it has left closes the descriptor
	mutex_unlock(&link->lock);
}

// ---- attempts, from their threads to this one ----

bool link_submit(struct host_link *link, struct link_attempt *attempt) {
	mutex_lock(&link->lock);
	bool taken = !link->killing && (!link->terminating || attempt->config->cleanup);
	if (taken) {
		attempt->number = ++link->last_number;
		list_push_back(&link->attempts, &attempt->link);
		wakeup_post(link->wake_fd);
	}
	mutex_unlock(&link->lock);
	return taken;
}

// The attempts are the thread's own to walk: it alone removes one, and others add behind the last.
static struct link_attempt *find(struct host_link *link, uint64_t number) {
	struct link_attempt *found = NULL;
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->number == number) {
			found = attempt;
			break;
		}
	}
	mutex_unlock(&link->lock);
	return found;
}

static void end_attempt(struct host_link *link, struct link_attempt *attempt, enum link_end end) {
	const struct result *result = &attempt->result;
	bool has_run = end != LINK_REFUSED && result->outcome != OUTCOME_SPAWN_ERROR && result->start > 0;
	attempt->end = end;
	fd_close(&attempt->in_fd);
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_ENDED;
	attempt->start = has_run && attempt->start == 0 ? result->start : attempt->start; // its worker was lost before it could tell
	mutex_unlock(&link->lock);
}

// How many bytes are not in the pipe yet.
static size_t unwritten(const struct stream_backlog *out) {
	return out->bytes.len - out->at;
}

// Writes what fits into the pipe. If nobody reads the pipe any more it closes it and drops the rest. Returns how many bytes were written or
// dropped.
static size_t fill_pipe(struct stream_backlog *out, int *fd) {
	size_t rest = unwritten(out), done = 0;
	while (*fd >= 0 && done < rest) {
		ssize_t n = write(*fd, out->bytes.data + out->at + done, rest - done);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			break;
		}
		if (n < 0) {
			fd_close(fd);
			break;
		}
		done += (size_t)n;
	}
	out->written += done;
	out->at += *fd >= 0 ? done : rest;
	done = *fd >= 0 ? done : rest;
	if (unwritten(out) == 0) {
		buf_reset(&out->bytes);
		out->at = 0;
	}
	return done;
}

// Writes the attempt's output into its pipes. If it has ended, and all of it is written, it leaves.
static void flush_output(struct host_link *link, struct link_attempt *attempt) {
	bool ended = attempt->state == ATTEMPT_ENDED, left = ended; // which only this thread sets
	for (int i = 0; i < 2 && !attempt->has_files; ++i) {
		struct stream_backlog *out = &attempt->out[i];
		int *fd = &attempt->write_fds[i];
		bool was_open = *fd >= 0;
		size_t n = unwritten(out) > 0 ? fill_pipe(out, fd) : 0;
		if (n > 0 && link->connection && !ended) {
			channel_acknowledge(&link->connection->channel, attempt->number, n);
		}
		if (was_open && *fd < 0 && link->connection && !ended) {
			dispatcher_end_shut(link->connection, attempt->number, (unsigned)i + 1);
		}
		left = left && unwritten(out) == 0;
	}
	if (left) {
		attempt_left(link, attempt);
	}
}

// Reads as much of the attempt's standard input as the worker takes, and sends it.
static void read_input(struct host_link *link, struct link_attempt *attempt) {
	size_t room = channel_room(&link->connection->channel, attempt->number);
	ssize_t n = read(attempt->in_fd, link->bytes, room < READ_BYTES ? room : READ_BYTES);
	if (n > 0) {
		channel_send_bytes(&link->connection->channel, attempt->number, /* stream */ 0, link->bytes, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		dispatcher_end_input_end(link->connection, attempt->number);
		fd_close(&attempt->in_fd);
	}
}

// ---- what the worker says ----

static void on_hello(void *arg, const struct worker_hello *hello) {
	struct host_link *link = arg;
	if (link->config.env.len > 0) {
		dispatcher_end_env(link->connection, link->config.adds_env, link->config.env.data, link->config.env.len);
	}
	link->up = true;
	link->config.calls.up(link->config.calls.arg, hello);
}

static void on_braked(void *arg, uint64_t jobs, const char *why) {
	struct host_link *link = arg;
	link->config.calls.braked(link->config.calls.arg, jobs, why);
}

static int on_program_requested(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why) {
	const struct host_link *link = arg;
	return link->config.copy ? program_copy_read(link->config.copy, machine, ret_bytes, ret_why) : -1;
}

static void on_started(void *arg, uint64_t number, uint64_t pid, uint64_t ago) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	link->pause = 0; // only now: one that is connected, but takes no job, is not to be tried again without end
	if (attempt) {
		attempt_started(link, attempt, link->now - (ago < link->now ? ago : 0), (int)pid);
	}
}

static void on_output(void *arg, uint64_t number, unsigned stream, const char *bytes, size_t n) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	if (!attempt) { // stuck: it goes on, so that it may end
		channel_acknowledge(&link->connection->channel, number, n);
		return;
	}
	attempt->wrote = true;
	buf_add(&attempt->out[stream - 1].bytes, bytes, n);
	flush_output(link, attempt);
}

// Sets the times by the clock of this machine. The `started` frame may have taken longer than `done`: so the end is at most now.
static void set_times(const struct host_link *link, struct link_attempt *attempt, uint64_t wall) {
	struct result *result = &attempt->result;
	bool never_started = attempt->start == 0 && result->outcome == OUTCOME_CANCELLED;
	uint64_t start = attempt->start ? attempt->start : link->now;
	result->end = never_started ? 0 : start + wall < link->now ? start + wall : link->now;
	result->start = never_started ? 0 : minus(result->end, wall);
}

static void report_stuck(struct host_link *link, unsigned jobs) {
	link->stuck = jobs;
	link->config.calls.stuck(link->config.calls.arg, jobs);
}

static void on_done(void *arg, uint64_t number, const struct job_end *end) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	if (!attempt) {
		report_stuck(link, link->stuck - 1);
		return;
	}
	attempt->result = end->result;
	attempt->error = end->error;
	set_times(link, attempt, result_wall(&end->result));
	// a worker that got a signal cancels its jobs: they are lost, as if it had died
	bool is_lost = end->result.outcome == OUTCOME_CANCELLED && attempt->order_sent == ORDER_NONE;
	if (is_lost && !link->ended_jobs && !link->config.on_demand) { // a pilot's end is no surprise
		link->ended_jobs = link->connection->is_leaving = true;
		link->up = false;
		link->config.calls.down(link->config.calls.arg, "the worker has ended its jobs", /* was_up */ true, /* bye */ false);
	}
	end_attempt(link, attempt, is_lost ? LINK_LOST : LINK_DONE);
	flush_output(link, attempt);
}

// Tells those who doubt the end of an attempt that the connection ends, or is about to.
static void note(struct host_link *link, uint64_t *at) {
	mutex_lock(&link->lock);
	link->bye_at = 0; // of the connection before
	*at = link->now;
	cond_broadcast(&link->changed);
	mutex_unlock(&link->lock);
}

static void report_down(struct host_link *link, const char *why, bool bye) {
	bool was_up = link->up;
	link->up = false;
	if (was_up || !bye) {
		link->config.calls.down(link->config.calls.arg, why, was_up, bye);
	}
}

static void on_bye(void *arg, const char *why) {
	struct host_link *link = arg;
	note(link, &link->bye_at);
	report_down(link, why, /* bye */ true);
}

// The worker refuses an attempt. It gets no further ones, or the same one would be sent to it again at once.
static void on_refused(void *arg, uint64_t number, const char *why) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	if (!link->connection->is_braked) {
		report_down(link, why, /* bye */ true);
	}
	if (!attempt) {
		report_stuck(link, link->stuck - 1);
		return;
	}
	end_attempt(link, attempt, LINK_REFUSED);
	flush_output(link, attempt);
}

// It was told to stop, and has not ended: its attempt has.
static void on_overdue(void *arg, uint64_t number) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	attempt->result = (struct result){.outcome = attempt->order_sent == ORDER_EXPIRE ? OUTCOME_TIMEOUT : OUTCOME_CANCELLED};
	set_times(link, attempt, attempt->start ? minus(link->now, attempt->start) : 0);
	report_stuck(link, link->stuck + 1); // first: its slot is not to be given to another one
	end_attempt(link, attempt, LINK_DONE);
	flush_output(link, attempt);
}

static void on_lost(void *arg, uint64_t number, bool ran) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	if (!attempt) {
		return;
	}
	bool is_late = ran && attempt->order_sent == ORDER_EXPIRE; // the worker has not answered: it counts as timed out all the same
	attempt->result = (struct result){.outcome = OUTCOME_TIMEOUT, .start = attempt->start ? attempt->start : link->now, .end = link->now};
	end_attempt(link, attempt, is_late ? LINK_DONE : ran ? LINK_LOST : LINK_REFUSED);
	flush_output(link, attempt);
}

static const char *on_files(void *arg, uint64_t number, const struct wire_frame *frame) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	mutex_lock(&link->lock);
	const char *why = attempt ? file_mail_post(&attempt->mail, frame) : NULL;
	mutex_unlock(&link->lock);
	return why;
}

static const struct dispatcher_calls dispatcher_calls = {
	.hello = on_hello, .started = on_started, .output = on_output, .done = on_done, .refused = on_refused, .lost = on_lost,
	.bye = on_bye, .braked = on_braked, .overdue = on_overdue, .program_requested = on_program_requested,
	.files = on_files,
};

// ---- the connection ----

// Reports that a connection on demand has ended. Only link_connect() opens it again, without a pause.
static void report_closed(struct host_link *link) {
	if (link->config.on_demand) {
		mutex_lock(&link->lock);
		link->wanted = link->called = false;
		mutex_unlock(&link->lock);
		link->retry_at = 0;
		link->config.calls.closed(link->config.calls.arg);
	}
}

// Appends the last lines of the launcher, or else the noise of the other end, which may explain why there is no connection.
static void add_launcher_text(const struct host_link *link, struct buf *text) {
	const char *before = link->last_lines[0], *said = link->last_lines[1], *noise = dispatcher_end_noise(link->connection);
	if (said[0]) {
		buf_printf(text, ": %s%s%s", before, before[0] ? "; " : "", said);
	} else if (noise[0]) {
		buf_adds(text, ": ");
		text_add_one_line(text, noise, strlen(noise), NOISE_IN_LINE);
	}
}

// Closes a connection that has ended, or that cannot be used any more, and ends its launcher and attempts. `why`: NULL if only the launcher's
// end says so.
static void disconnect(struct host_link *link, const char *why) {
	char how[80];
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	note(link, &link->lost_at);
	mutex_lock(&link->lock);
	bool wanted = link->wanted, closing = link->closing || !wanted, reports = !link->closing && (wanted || !link->config.on_demand);
	mutex_unlock(&link->lock);
	// a launcher that still connects does not notice that its pipes are closed
	uint64_t grace = closing && !link->up && !link->connection->is_leaving ? 0 : (uint64_t)END_GRACE_MS * NS_PER_MS;
	launcher_end(&link->launcher, link->now + grace, how, sizeof(how));
	link->now = now_ns();
	buf_adds(&text, why ? why : how[0] ? how : "the connection has ended");
	if (!link->up && !link->connection->is_leaving) {
		add_launcher_text(link, &text);
	}
	if (reports) {
		report_down(link, buf_str(&text), /* bye */ link->connection->is_leaving || !wanted); // first: nothing is to be given to it
	}
	channel_break(&link->connection->channel, buf_str(&text));
	dispatcher_end_lose_jobs(link->connection);
	dispatcher_end_free(link->connection);
	link->connection = NULL;
	link->pause = link->pause == 0 ? BACKOFF_FIRST_S : link->pause * 2 < BACKOFF_MOST_S ? link->pause * 2 : BACKOFF_MOST_S;
	link->retry_at = link->now + link->pause * NS_PER_S;
	report_closed(link);
}

static void connect_host(struct host_link *link) {
	struct spawn_error error;
	buf_reset(&link->line);
	link->last_lines[0][0] = link->last_lines[1][0] = '\0';
	link->nlines = 0;
	link->released = link->write_failed = link->ended_jobs = false;
	link->stuck = 0;
	if (launcher_start(&link->launcher, &link->config.launcher, &error) != 0) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_printf(&why, "cannot start '%s': %s: %s", link->config.launcher.argv[0], spawn_step_name(error.step), strerror(error.error));
		link->pause = BACKOFF_MOST_S;
		link->retry_at = link->now + link->pause * NS_PER_S;
		report_down(link, buf_str(&why), /* bye */ false);
		report_closed(link);
		return;
	}
	char mark[MARK_SIZE + 1];
	uint64_t random[2];
	random_bytes(random, sizeof(random));
	snprintf(mark, sizeof(mark), "%016llx%016llx", ull(random[0]), ull(random[1]));
	link->connection = dispatcher_end_new(&dispatcher_calls, link, mark, link->now);
	link->connection->channel.waits_for_greeting = link->config.on_demand; // its launcher may wait in a queue
}

// Ends a line of the launcher: passes it on; or, while there is no worker, keeps it for the message that the connection has failed.
static void end_launcher_line(struct host_link *link) {
	const struct buf *line = &link->line;
	if (line->len == 0) {
		return;
	}
	if (!link->up) {
		memcpy(link->last_lines[0], link->last_lines[1], LINE_BYTES);
		snprintf(link->last_lines[1], LINE_BYTES, "%s", line->data);
	} else if (link->nlines++ < LINES_MOST) {
		link->config.calls.message(link->config.calls.arg, line->data);
	} else if (link->nlines == LINES_MOST + 1) {
		link->config.calls.message(link->config.calls.arg, "(the rest of its messages is left out)");
	}
	buf_reset(&link->line);
}

static void read_launcher_errors(struct host_link *link) {
	ssize_t n = read(link->launcher.err_fd, link->bytes, READ_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		end_launcher_line(link);
		fd_close(&link->launcher.err_fd);
	}
	for (ssize_t i = 0; i < n; ++i) {
		char c = link->bytes[i];
		if (c == '\n') {
			end_launcher_line(link);
		} else if (c != '\r' && c != '\0' && link->line.len < LINE_BYTES - 1) {
			buf_addc(&link->line, c);
		}
	}
}

// Returns false at the end of the connection, or where it is broken.
static bool receive(struct host_link *link) {
	ssize_t n = read(link->launcher.out_fd, link->bytes, READ_BYTES);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	return n > 0 && channel_receive(&link->connection->channel, link->bytes, (size_t)n, link->now) == 0;
}

// Writes what can be written.
static void transmit(struct host_link *link) {
	size_t n;
	const char *bytes = channel_output(&link->connection->channel, &n);
	while (n > 0) {
		ssize_t sent = write(link->launcher.in_fd, bytes, n);
		if (sent < 0 && errno != EINTR) {
			link->write_failed = link->write_failed || errno != EAGAIN;
			return;
		}
		channel_sent(&link->connection->channel, sent > 0 ? (size_t)sent : 0);
		bytes = channel_output(&link->connection->channel, &n);
	}
}

// ---- the thread ----

static void send_order(struct host_link *link, struct link_attempt *attempt, enum attempt_order order) {
	static const enum stop_how orders[] = {[ORDER_CANCEL] = STOP_CANCEL, [ORDER_EXPIRE] = STOP_EXPIRE, [ORDER_KILL] = STOP_KILL};
	if (order > attempt->order_sent && (attempt->state == ATTEMPT_SENT || attempt->state == ATTEMPT_STARTED)) {
		attempt->order_sent = order;
		dispatcher_end_stop(link->connection, attempt->number, orders[order], link->config.stop_takes, link->now);
	}
}

// A worker enforces the timeouts of its jobs itself. If one has not, the attempt is expired from here, for the worker may have died. With the
// lock.
static void check_deadline(struct host_link *link, struct link_attempt *attempt) {
	if (attempt->state != ATTEMPT_STARTED || attempt->config->timeout == 0 || attempt->order != ORDER_NONE) {
		return;
	}
	uint64_t due = attempt->start + attempt->config->timeout + (uint64_t)DEADLINE_GRACE_MS * NS_PER_MS;
	if (due <= link->now) {
		attempt->order = ORDER_EXPIRE;
	} else if (due < link->next_deadline) {
		link->next_deadline = due;
	}
}

// Begins the attempt, which waits, or is a conversation about files: then it sends what there is to be said.
static void send_attempt(struct host_link *link, struct link_attempt *attempt, bool begins) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	if (begins && attempt->has_files) {
		dispatcher_end_files(link->connection, attempt->number);
		attempt_started(link, attempt, link->now, 0);
	} else if (begins) {
		dispatcher_end_run(link->connection, attempt->number, buf_str(&attempt->payload), attempt->payload.len);
		buf_fini(&attempt->payload);
	}
	if (attempt->has_files && attempt->state == ATTEMPT_STARTED) {
		mutex_lock(&link->lock);
		buf_move(&out, &attempt->outbox);
		const char *why = attempt->why;
		mutex_unlock(&link->lock);
		channel_send_frames(&link->connection->channel, attempt->number, &out);
		if (why) {
			channel_break(&link->connection->channel, why);
		}
	}
}

// Sends waiting attempts and orders to stop; refuses attempts that cannot be sent.
static void process_attempts(struct host_link *link) {
	link->next_deadline = TIME_NEVER;
	mutex_lock(&link->lock);
	const struct list *at = link->attempts.next;
	while (at != &link->attempts) {
		struct link_attempt *attempt = list_entry(at, struct link_attempt, link);
		at = at->next;
		check_deadline(link, attempt);
		enum attempt_order asked = attempt->order;
		// the files of a job that still ran there
		bool is_up = link->up || (attempt->has_files && link->connection && link->connection->is_leaving && !link->released);
		bool waits = attempt->state == ATTEMPT_WAITING, refuses = waits && (!is_up || asked != ORDER_NONE);
		attempt->state = waits && !refuses ? ATTEMPT_SENT : attempt->state;
		mutex_unlock(&link->lock);
		if (refuses) {
			attempt->result.outcome = OUTCOME_CANCELLED;
			end_attempt(link, attempt, asked == ORDER_NONE ? LINK_REFUSED : LINK_DONE);
		} else if (link->connection) {
			send_attempt(link, attempt, waits);
		}
		if (link->connection) {
			send_order(link, attempt, asked);
		}
		flush_output(link, attempt);
		mutex_lock(&link->lock);
	}
	if (link->killing && link->kill_at == TIME_NEVER) {
		link->kill_at = link->now + (uint64_t)KILL_GRACE_MS * NS_PER_MS;
	}
	mutex_unlock(&link->lock);
}

enum { FD_WAKE, FD_OUT, FD_ERR, FD_IN, FD_ATTEMPTS };

// Waits until `due` for anything. The descriptors of attempts stand three for each behind the others, in their order.
static void wait_for_any(struct host_link *link, uint64_t due) {
	size_t n = 0;
	link->polls.n = 0;
	if (link->connection) {
		(void)channel_output(&link->connection->channel, &n);
	}
	polls_add(&link->polls, link->wake_fd, POLLIN);
	polls_add(&link->polls, link->connection ? link->launcher.out_fd : -1, POLLIN);
	polls_add(&link->polls, link->connection ? link->launcher.err_fd : -1, POLLIN);
	polls_add(&link->polls, n > 0 && !link->write_failed ? link->launcher.in_fd : -1, POLLOUT);
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		bool runs = link->connection && (attempt->state == ATTEMPT_SENT || attempt->state == ATTEMPT_STARTED);
		for (int i = 0; i < 2; ++i) {
			polls_add(&link->polls, unwritten(&attempt->out[i]) > 0 ? attempt->write_fds[i] : -1, POLLOUT);
		}
		bool reads = runs && attempt->in_fd >= 0 && channel_room(&link->connection->channel, attempt->number) > 0;
		polls_add(&link->polls, reads ? attempt->in_fd : -1, POLLIN);
	}
	mutex_unlock(&link->lock);
	if (poll(link->polls.at, link->polls.n, poll_ms(due)) <= 0) {
		for (size_t i = 0; i < link->polls.n; ++i) {
			link->polls.at[i].revents = 0;
		}
	}
	link->now = now_ns();
}

// Serves the pipes that poll() has reported. No attempt has left since, and new ones are behind the others.
static void serve_attempts(struct host_link *link) {
	mutex_lock(&link->lock);
	const struct list *at = link->attempts.next;
	for (size_t i = FD_ATTEMPTS; i < link->polls.n; i += 3) {
		struct link_attempt *attempt = list_entry(at, struct link_attempt, link);
		at = at->next;
		mutex_unlock(&link->lock);
		if (link->polls.at[i + 2].revents) {
			read_input(link, attempt);
		}
		if (link->polls.at[i].revents || link->polls.at[i + 1].revents) {
			flush_output(link, attempt);
		}
		mutex_lock(&link->lock);
	}
	mutex_unlock(&link->lock);
}

static void serve_connection(struct host_link *link) {
	if (link->polls.at[FD_ERR].revents) {
		read_launcher_errors(link);
	}
	bool broken = (link->polls.at[FD_OUT].revents && !receive(link)) || link->write_failed;
	if (link->now >= link->kill_at) {
		disconnect(link, "killed");
	} else if (broken || channel_why(&link->connection->channel)) {
		if (link->launcher.err_fd >= 0) {
			read_launcher_errors(link); // why, perhaps
			end_launcher_line(link);
		}
		disconnect(link, channel_why(&link->connection->channel));
	}
}

// Sends what there is to be sent. If the jobs are to be suspended the worker is told so; link_await_suspended() returns once that is written.
static void send_waiting(struct host_link *link, bool suspending) {
	size_t left = 0;
	if (suspending != link->suspend_sent && link->connection) {
		dispatcher_end_suspend(link->connection, suspending, link->now);
	}
	link->suspend_sent = suspending;
	if (link->connection) {
		transmit(link);
		(void)channel_output(&link->connection->channel, &left);
	}
	if (suspending && left == 0) {
		mutex_lock(&link->lock);
		link->is_suspended = true;
		cond_broadcast(&link->changed);
		mutex_unlock(&link->lock);
	}
}

// Releases a worker that has no attempt left, if it is not wanted any more, or is one on demand that takes no more attempts. One that has only
// jobs left which do not end is cut off.
static void release_worker(struct host_link *link) {
	mutex_lock(&link->lock);
	bool wanted = link->wanted, idle = list_is_empty(&link->attempts) && link->ndoubted == 0;
	mutex_unlock(&link->lock);
	bool leaving = link->connection->is_leaving;
	if (!wanted && !link->up && !leaving) {
		disconnect(link, "it is not needed any more");
	} else if (idle && link->stuck > 0) {
		disconnect(link, "a job there was told to end, and has not");
	} else if (idle && !link->released && (!wanted || (leaving && link->config.on_demand))) {
		if (!link->config.on_demand) {
			report_down(link, "it is not needed any more", /* bye */ true);
		}
		link->up = false;
		link->released = true;
		dispatcher_end_bye(link->connection, "there is no more work for it");
	}
}

static void *link_main(void *arg) {
	struct host_link *link = arg;
	link->now = now_ns();
	for (;;) {
		mutex_lock(&link->lock);
		bool closing = link->closing, terminating = link->terminating, suspending = link->suspending, wanted = link->wanted, called = link->called;
		mutex_unlock(&link->lock);
		if (closing) {
			break;
		}
		if (!link->connection && wanted && link->now >= link->retry_at) {
			if (terminating) {
				link->retry_at = TIME_NEVER; // no attempt may start any more
			} else if (!link->config.calls.begins || (link->retry_at = link->config.calls.begins(link->config.calls.arg, link->now)) == 0) {
				connect_host(link);
			}
		}
		if (!link->connection && !wanted) {
			link->retry_at = link->pause = 0; // the next link_connect() is not delayed by earlier failures
		}
		if (!link->connection && !wanted && called) {
			report_closed(link); // link_release() came before it began to connect
		}
		process_attempts(link);
		if (link->connection) {
			release_worker(link);
		}
		uint64_t due = link->connection ? dispatcher_end_tick(link->connection, link->now) : wanted ? link->retry_at : TIME_NEVER;
		send_waiting(link, suspending);
		due = link->write_failed || (link->connection && channel_why(&link->connection->channel)) ? link->now : due;
		due = link->next_deadline < due ? link->next_deadline : due;
		wait_for_any(link, link->kill_at < due && link->connection ? link->kill_at : due);
		if (link->polls.at[FD_WAKE].revents) {
			wakeup_clear(link->wake_fd);
		}
		serve_attempts(link);
		if (link->connection) {
			serve_connection(link);
		}
	}
	if (link->connection) {
		disconnect(link, NULL);
	}
	return NULL;
}

// ---- from other threads ----

static void set_wanted(struct host_link *link, bool wanted) {
	mutex_lock(&link->lock);
	link->wanted = wanted;
	link->called = link->called || wanted;
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_connect(struct host_link *link) {
	set_wanted(link, true);
}

void link_release(struct host_link *link) {
	set_wanted(link, false);
}

static void order_attempt(struct host_link *link, struct link_attempt *attempt, enum attempt_order order) {
	if (order > attempt->order) {
		attempt->order = order;
		wakeup_post(link->wake_fd);
	}
}

void link_terminate(struct host_link *link) {
	mutex_lock(&link->lock);
	link->terminating = true;
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (!attempt->config->cleanup) {
			order_attempt(link, attempt, ORDER_CANCEL);
		}
	}
	mutex_unlock(&link->lock);
}

void link_kill(struct host_link *link) {
	mutex_lock(&link->lock);
	link->terminating = link->killing = true;
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		order_attempt(link, attempt, ORDER_KILL);
	}
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_cancel(struct host_link *link, const void *origin) {
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->config->origin == origin) {
			order_attempt(link, attempt, ORDER_CANCEL);
		}
	}
	mutex_unlock(&link->lock);
}

uint64_t link_expire(struct host_link *link, uint64_t limit, uint64_t now) {
	uint64_t next = TIME_NEVER;
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->start == 0 || attempt->config->cleanup || attempt->order >= ORDER_EXPIRE) {
			continue;
		}
		uint64_t due = attempt->start + limit;
		if (due <= now) {
			order_attempt(link, attempt, ORDER_EXPIRE);
		} else {
			next = due < next ? due : next;
		}
	}
	mutex_unlock(&link->lock);
	return next;
}

void link_suspend(struct host_link *link, bool begins) {
	mutex_lock(&link->lock);
	link->suspending = begins;
	link->is_suspended = false;
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_await_suspended(struct host_link *link, uint64_t until) {
	mutex_lock(&link->lock);
	while (!link->is_suspended && cond_wait_until(&link->changed, &link->lock, until)) {
	}
	mutex_unlock(&link->lock);
}

void link_each(struct host_link *link, const char *host, void (*fn)(void *arg, const struct child_view *view), void *arg) {
	struct child_view *views = NULL;
	size_t cap = 0, n = 0;
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->state == ATTEMPT_STARTED && !attempt->has_files) {
			grow_array(&views, &cap, n + 1, sizeof(*views));
			views[n++] = (struct child_view){
				.pid = (pid_t)attempt->pid,
				.host = host,
				.start = attempt->start,
				.label = xstrdup(attempt->config->label ? attempt->config->label : ""), // the job may end while fn prints
				.last = output_reader_last_line(attempt->config->output_reader),
			};
		}
	}
	mutex_unlock(&link->lock);
	child_views_take(views, n, fn, arg);
}

unsigned link_count(struct host_link *link) {
	unsigned n = 0;
	mutex_lock(&link->lock);
	list_for_each(&link->attempts, at) {
		++n;
	}
	mutex_unlock(&link->lock);
	return n;
}

// ---- life ----

struct host_link *link_open(const struct link_config *config) {
	struct host_link *link = NEW(struct host_link);
	*link = (struct host_link){.config = *config, .wanted = !config->on_demand, .kill_at = TIME_NEVER};
	list_init(&link->attempts);
	mutex_init(&link->lock, LOCK_LINK);
	cond_init(&link->changed);
	link->bytes = xmalloc(READ_BYTES);
	link->wake_fd = wakeup_open();
	int error = link->wake_fd < 0 ? errno : thread_start(&link->thread, link_main, link, STACK_BYTES);
	if (error) {
		fd_close(&link->wake_fd);
		cond_fini(&link->changed);
		mutex_fini(&link->lock);
		free(link->bytes);
		free(link);
		errno = error;
		return NULL;
	}
	return link;
}

void link_hang_up(struct host_link *link) {
	mutex_lock(&link->lock);
	verify(list_is_empty(&link->attempts));
	link->closing = true;
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_close(struct host_link *link) {
	link_hang_up(link);
	thread_join(link->thread);
	fd_close(&link->wake_fd);
	cond_fini(&link->changed);
	mutex_fini(&link->lock);
	buf_fini(&link->line);
	free(link->polls.at);
	free(link->bytes);
	free(link);
}
