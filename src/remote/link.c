// The thread of a line: starts the launcher, moves bytes between it, the protocol (host.h) and the pipes of attempts, and starts
// it anew when it has gone. All waiting is in one poll().

#include "remote/link.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/polls.h"
#include "base/random.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "remote/host.h"
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
	END_GRACE_MS = 2000,        // for a launcher whose line was closed
	LATE_GRACE_MS = 1000,       // for a job that is out of time, and that its worker is to end by itself
	KILL_GRACE_MS = 2000,       // for what runs at the other end, after link_kill()
	SAID_MOST = 20,             // lines of a launcher that are passed on, for each connection
	SAID_BYTES = 400,           // of each
	NOISE_IN_LINE = 200,        // bytes of what a launcher has said that is no worker
	SPARE_MOST = 2,             // for the next attempts; each thread has its own between two steps
};

struct host_link {
	struct link_config config;
	thread thread;
	int wake_fd;
	mutex lock;                // of the next ones, and of what link_internal.h says
	struct list attempts;      // in the order of their numbers
	struct link_pipes *spare;  // of attempts that have left
	unsigned nspare;
	uint64_t last_number;
	bool terminating, killing, closing, resting;
	bool has_rested;           // nothing is left to be sent since `resting`
	cond rested;               // that
	bool wanted;               // it is to be connected; set by who calls and dismisses
	bool called;               // by link_call(), and calls.gone has not answered it

	// of the thread
	struct launcher launcher;
	struct host *host;         // NULL: the line is down
	bool up;                   // calls.up was called, and calls.down was not
	bool braked;               // it is up, and takes nothing for now
	bool leaving;              // the worker takes no more
	bool rests;                // it was told so
	bool is_cut;               // nothing can be written any more
	bool let_go;               // it was told that it may end
	uint64_t now, retry_at, pause, kill_at, late_at; // late_at: when the next attempt is beyond its time
	struct buf said;           // the line that the launcher is writing
	char last_said[2][SAID_BYTES]; // the last two while it was not up, the later one behind
	unsigned nsaid;
	struct polls polls;
	char *bytes;               // READ_BYTES
};

// ---- attempts ----

static void attempt_started(struct host_link *link, struct link_attempt *attempt, uint64_t start, int pid) {
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_STARTED;
	attempt->start = start;
	attempt->pid = pid;
	wakeup_post(attempt->pipes->wake_fd);
	mutex_unlock(&link->lock);
}

static void attempt_left(struct host_link *link, struct link_attempt *attempt) {
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_LEFT;
	list_remove(&attempt->link);
	wakeup_post(attempt->pipes->wake_fd); // with the lock: who sees that it has left gives this to another attempt
	mutex_unlock(&link->lock);
}

enum link_state link_state_of(struct host_link *link, const struct link_attempt *attempt, uint64_t *ret_start, int *ret_pid) {
	mutex_lock(&link->lock);
	enum link_state state = attempt->state;
	*ret_start = attempt->start;
	*ret_pid = attempt->pid;
	mutex_unlock(&link->lock);
	return state;
}

// ---- their descriptors ----

int link_open_pipe(int *ret_read, int *ret_write) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
		return -1;
	}
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

static void close_pipes(struct link_pipes *pipes) {
	for (int i = 0; i < 2; ++i) {
		fd_close(&pipes->read_fds[i]);
		fd_close(&pipes->write_fds[i]);
	}
	fd_close(&pipes->wake_fd);
	free(pipes);
}

static bool is_whole(const struct link_pipes *pipes) {
	return pipes->read_fds[0] >= 0 && pipes->read_fds[1] >= 0 && pipes->write_fds[0] >= 0 && pipes->write_fds[1] >= 0;
}

struct link_pipes *link_take_pipes(struct host_link *link) {
	mutex_lock(&link->lock);
	struct link_pipes *pipes = link->spare;
	if (pipes) {
		link->spare = pipes->next;
		--link->nspare;
	}
	mutex_unlock(&link->lock);
	if (pipes) {
		return pipes;
	}
	pipes = NEW(struct link_pipes);
	*pipes = (struct link_pipes){.read_fds = {-1, -1}, .write_fds = {-1, -1}, .wake_fd = wakeup_open()};
	if (pipes->wake_fd >= 0 && link_open_pipe(&pipes->read_fds[0], &pipes->write_fds[0]) == 0 &&
	    link_open_pipe(&pipes->read_fds[1], &pipes->write_fds[1]) == 0) {
		return pipes;
	}
	int error = errno;
	close_pipes(pipes);
	errno = error;
	return NULL;
}

void link_give_pipes(struct host_link *link, struct link_pipes *pipes) {
	mutex_lock(&link->lock);
	bool keeps = link->nspare < SPARE_MOST && is_whole(pipes);
	if (keeps) {
		pipes->next = link->spare;
		link->spare = pipes;
		++link->nspare;
	}
	mutex_unlock(&link->lock);
	if (!keeps) {
		close_pipes(pipes);
	}
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
	attempt->end = end;
	fd_close(&attempt->in_fd);
	mutex_lock(&link->lock);
	attempt->state = ATTEMPT_ENDED;
	mutex_unlock(&link->lock);
}

// What is in no pipe yet.
static size_t rest_of(const struct stream_rest *out) {
	return out->rest.len - out->at;
}

// Moves what fits into the pipe, and tells how much that was. Whoever reads it may have had enough: then the pipe is closed, and it
// is thrown away.
static size_t fill_pipe(struct stream_rest *out, int *fd) {
	size_t rest = rest_of(out), done = 0;
	while (*fd >= 0 && done < rest) {
		ssize_t n = write(*fd, out->rest.data + out->at + done, rest - done);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			break;
		}
		if (n < 0) {
			fd_close(fd);
			break;
		}
		done += (size_t)n;
	}
	out->put += done;
	out->at += *fd >= 0 ? done : rest;
	done = *fd >= 0 ? done : rest;
	if (rest_of(out) == 0) {
		buf_reset(&out->rest);
		out->at = 0;
	}
	return done;
}

// One that has ended leaves when its pipes have all of it.
static void drain(struct host_link *link, struct link_attempt *attempt) {
	bool ended = attempt->state == ATTEMPT_ENDED, left = ended; // which only this thread sets
	for (int i = 0; i < 2; ++i) {
		struct stream_rest *out = &attempt->out[i];
		int *fd = &attempt->pipes->write_fds[i];
		bool was_open = *fd >= 0;
		size_t n = rest_of(out) > 0 ? fill_pipe(out, fd) : 0;
		if (n > 0 && link->host && !ended) {
			host_more(link->host, attempt->number, n);
		}
		if (was_open && *fd < 0 && link->host && !ended) {
			host_shut(link->host, attempt->number, (unsigned)i + 1);
		}
		left = left && rest_of(out) == 0;
	}
	if (left) {
		attempt_left(link, attempt);
	}
}

// Reads as much of its standard input as the worker takes.
static void feed(struct host_link *link, struct link_attempt *attempt) {
	size_t room = host_input_room(link->host, attempt->number);
	ssize_t n = read(attempt->in_fd, link->bytes, room < READ_BYTES ? room : READ_BYTES);
	if (n > 0) {
		host_input(link->host, attempt->number, link->bytes, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		host_input_end(link->host, attempt->number);
		fd_close(&attempt->in_fd);
	}
}

// ---- what the worker says ----

static void on_hello(void *arg, const struct worker_hello *hello) {
	struct host_link *link = arg;
	if (link->config.env.len > 0) {
		host_env(link->host, link->config.adds_env, link->config.env.data, link->config.env.len);
	}
	link->up = true;
	link->braked = false;
	link->pause = 0;
	link->config.calls.up(link->config.calls.arg, hello);
}

static void on_braked(void *arg, uint64_t jobs, const char *why) {
	struct host_link *link = arg;
	link->braked = why;
	link->config.calls.braked(link->config.calls.arg, jobs, why);
}

static int on_wanted(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why) {
	const struct host_link *link = arg;
	return link->config.copy ? program_copy_read(link->config.copy, machine, ret_bytes, ret_why) : -1;
}

static void on_started(void *arg, uint64_t number, uint64_t pid, uint64_t ago) {
	struct host_link *link = arg;
	attempt_started(link, find(link, number), link->now - (ago < link->now ? ago : 0), (int)pid);
}

static void on_output(void *arg, uint64_t number, unsigned stream, const char *bytes, size_t n) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	attempt->wrote = true;
	buf_add(&attempt->out[stream - 1].rest, bytes, n);
	drain(link, attempt);
}

static void on_done(void *arg, uint64_t number, const struct job_end *end) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	attempt->result = end->result;
	attempt->error = end->error;
	uint64_t wall = result_wall(&end->result);
	attempt->result.start = attempt->start ? attempt->start : link->now;
	attempt->result.end = attempt->result.start + wall;
	// a worker that is ended by somebody there ends its jobs: these are as lost as if it had died
	bool is_lost = end->result.outcome == OUTCOME_CANCELLED && attempt->told == ORDER_NONE;
	end_attempt(link, attempt, is_lost ? LINK_LOST : LINK_DONE);
	drain(link, attempt);
}

static void go_down(struct host_link *link, const char *why, bool bye) {
	bool was_up = link->up;
	link->up = false;
	link->leaving = bye;
	if (was_up || !bye) {
		link->config.calls.down(link->config.calls.arg, why, was_up, bye);
	}
}

static void on_bye(void *arg, const char *why) {
	go_down(arg, why, /* bye */ true);
}

// It takes no more, either: or the same would be given to it again, at once.
static void on_refused(void *arg, uint64_t number, const char *why) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	if (!link->braked) {
		go_down(link, why, /* bye */ true);
	}
	end_attempt(link, attempt, LINK_REFUSED);
	drain(link, attempt);
}

static void on_lost(void *arg, uint64_t number, bool ran) {
	struct host_link *link = arg;
	struct link_attempt *attempt = find(link, number);
	bool is_late = ran && attempt->told == ORDER_EXPIRE; // who does not answer has not made it end in time, either
	attempt->result = (struct result){.outcome = OUTCOME_TIMEOUT, .start = attempt->start ? attempt->start : link->now, .end = link->now};
	end_attempt(link, attempt, is_late ? LINK_DONE : ran ? LINK_LOST : LINK_REFUSED);
	drain(link, attempt);
}

// What may be sent is looked at before each wait.
static void on_room(void *arg FP_UNUSED, uint64_t number FP_UNUSED) {
}

static const struct host_calls host_calls = {
	.hello = on_hello, .room = on_room, .started = on_started, .output = on_output, .done = on_done, .refused = on_refused, .lost = on_lost,
	.bye = on_bye, .braked = on_braked, .wanted = on_wanted,
};

// ---- the line ----

// One on demand waits for link_call(), whatever the pause.
static void be_gone(struct host_link *link) {
	if (link->config.on_demand) {
		mutex_lock(&link->lock);
		link->wanted = link->called = false;
		mutex_unlock(&link->lock);
		link->retry_at = 0;
		link->config.calls.gone(link->config.calls.arg);
	}
}

// What the launcher has said, or else what has come of what is no worker: why there is no connection, perhaps.
static void add_said(const struct host_link *link, struct buf *text) {
	const char *before = link->last_said[0], *said = link->last_said[1], *noise = host_noise(link->host);
	if (said[0]) {
		buf_printf(text, ": %s%s%s", before, before[0] ? "; " : "", said);
	} else if (noise[0]) {
		buf_adds(text, ": ");
		text_add_said(text, noise, strlen(noise), NOISE_IN_LINE);
	}
}

// The line has gone, or cannot be used any more.
static void lose(struct host_link *link, const char *why) {
	char how[80];
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	mutex_lock(&link->lock);
	bool wanted = link->wanted, closing = link->closing || !wanted, is_told = !link->closing && (wanted || !link->config.on_demand);
	mutex_unlock(&link->lock);
	// who still connects does not look at the line
	uint64_t grace = closing && !link->up && !link->leaving ? 0 : (uint64_t)END_GRACE_MS * NS_PER_MS;
	launcher_end(&link->launcher, link->now + grace, how, sizeof(how));
	link->now = now_ns();
	buf_adds(&text, why ? why : how[0] ? how : "the line has ended");
	if (!link->up && !link->leaving) {
		add_said(link, &text);
	}
	if (is_told) {
		go_down(link, buf_str(&text), /* bye */ link->leaving || !wanted); // first: nothing is to be given to it
	}
	host_break(link->host, buf_str(&text));
	host_lose_jobs(link->host);
	host_free(link->host);
	link->host = NULL;
	link->pause = link->pause == 0 ? BACKOFF_FIRST_S : link->pause * 2 < BACKOFF_MOST_S ? link->pause * 2 : BACKOFF_MOST_S;
	link->retry_at = link->now + link->pause * NS_PER_S;
	be_gone(link);
}

static void connect_host(struct host_link *link) {
	struct spawn_error error;
	buf_reset(&link->said);
	link->last_said[0][0] = link->last_said[1][0] = '\0';
	link->nsaid = 0;
	link->leaving = link->let_go = link->is_cut = false;
	if (launcher_start(&link->launcher, &link->config.launcher, &error) != 0) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_printf(&why, "cannot start '%s': %s: %s", link->config.launcher.argv[0], spawn_step_name(error.step), strerror(error.error));
		link->pause = BACKOFF_MOST_S;
		link->retry_at = link->now + link->pause * NS_PER_S;
		go_down(link, buf_str(&why), /* bye */ false);
		be_gone(link);
		return;
	}
	char mark[MARK_SIZE + 1];
	uint64_t random[2];
	random_bytes(random, sizeof(random));
	snprintf(mark, sizeof(mark), "%016llx%016llx", ull(random[0]), ull(random[1]));
	link->host = host_new(&host_calls, link, mark, link->now);
	if (link->config.on_demand) {
		host_wait_for_worker(link->host);
	}
}

// Says a line of the launcher, or keeps it for the message that there is no connection.
static void say(struct host_link *link) {
	const struct buf *line = &link->said;
	if (line->len == 0) {
		return;
	}
	if (!link->up) {
		memcpy(link->last_said[0], link->last_said[1], SAID_BYTES);
		snprintf(link->last_said[1], SAID_BYTES, "%s", line->data);
	} else if (link->nsaid++ < SAID_MOST) {
		link->config.calls.said(link->config.calls.arg, line->data);
	} else if (link->nsaid == SAID_MOST + 1) {
		link->config.calls.said(link->config.calls.arg, "(what more it says is left out)");
	}
	buf_reset(&link->said);
}

static void hear_launcher(struct host_link *link) {
	ssize_t n = read(link->launcher.err_fd, link->bytes, READ_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		say(link);
		fd_close(&link->launcher.err_fd);
	}
	for (ssize_t i = 0; i < n; ++i) {
		char c = link->bytes[i];
		if (c == '\n') {
			say(link);
		} else if (c != '\r' && c != '\0' && link->said.len < SAID_BYTES - 1) {
			buf_addc(&link->said, c);
		}
	}
}

// Returns false at the end of the line, or where it is broken.
static bool receive(struct host_link *link) {
	ssize_t n = read(link->launcher.out_fd, link->bytes, READ_BYTES);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	return n > 0 && host_receive(link->host, link->bytes, (size_t)n, link->now) == 0;
}

// Writes what can be written.
static void transmit(struct host_link *link) {
	size_t n;
	const char *bytes = host_output(link->host, &n);
	while (n > 0) {
		ssize_t sent = write(link->launcher.in_fd, bytes, n);
		if (sent < 0 && errno != EINTR) {
			link->is_cut = link->is_cut || errno != EAGAIN;
			return;
		}
		host_sent(link->host, sent > 0 ? (size_t)sent : 0);
		bytes = host_output(link->host, &n);
	}
}

// ---- the thread ----

static void give_order(struct host_link *link, struct link_attempt *attempt, enum attempt_order order) {
	static const enum stop_how orders[] = {[ORDER_CANCEL] = STOP_CANCEL, [ORDER_EXPIRE] = STOP_EXPIRE, [ORDER_KILL] = STOP_KILL};
	if (order > attempt->told && (attempt->state == ATTEMPT_SENT || attempt->state == ATTEMPT_STARTED)) {
		attempt->told = order;
		host_stop(link->host, attempt->number, orders[order], link->now);
	}
}

// A worker keeps the time of its jobs. Where it has not, it is told so, for it may not be there any more. With the lock.
static void look_at_time(struct host_link *link, struct link_attempt *attempt) {
	if (attempt->state != ATTEMPT_STARTED || attempt->config->timeout == 0 || attempt->asked != ORDER_NONE) {
		return;
	}
	uint64_t due = attempt->start + attempt->config->timeout + (uint64_t)LATE_GRACE_MS * NS_PER_MS;
	if (due <= link->now) {
		attempt->asked = ORDER_EXPIRE;
	} else if (due < link->late_at) {
		link->late_at = due;
	}
}

// Sends what has come to be sent, and gives back what cannot be.
static void take_orders(struct host_link *link) {
	link->late_at = TIME_NEVER;
	mutex_lock(&link->lock);
	const struct list *at = link->attempts.next;
	while (at != &link->attempts) {
		struct link_attempt *attempt = list_entry(at, struct link_attempt, link);
		at = at->next;
		look_at_time(link, attempt);
		enum attempt_order asked = attempt->asked;
		bool waits = attempt->state == ATTEMPT_WAITING, refuses = waits && (!link->up || asked != ORDER_NONE);
		attempt->state = waits && !refuses ? ATTEMPT_SENT : attempt->state;
		mutex_unlock(&link->lock);
		if (refuses) {
			attempt->result.outcome = OUTCOME_CANCELLED;
			end_attempt(link, attempt, asked == ORDER_NONE ? LINK_REFUSED : LINK_DONE);
		} else if (waits) {
			host_run(link->host, attempt->number, buf_str(&attempt->payload), attempt->payload.len);
			buf_fini(&attempt->payload);
		}
		if (link->host) {
			give_order(link, attempt, asked);
		}
		drain(link, attempt);
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
	if (link->host) {
		(void)host_output(link->host, &n);
	}
	polls_add(&link->polls, link->wake_fd, POLLIN);
	polls_add(&link->polls, link->host ? link->launcher.out_fd : -1, POLLIN);
	polls_add(&link->polls, link->host ? link->launcher.err_fd : -1, POLLIN);
	polls_add(&link->polls, n > 0 && !link->is_cut ? link->launcher.in_fd : -1, POLLOUT);
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		bool runs = link->host && (attempt->state == ATTEMPT_SENT || attempt->state == ATTEMPT_STARTED);
		for (int i = 0; i < 2; ++i) {
			polls_add(&link->polls, rest_of(&attempt->out[i]) > 0 ? attempt->pipes->write_fds[i] : -1, POLLOUT);
		}
		polls_add(&link->polls, runs && attempt->in_fd >= 0 && host_input_room(link->host, attempt->number) > 0 ? attempt->in_fd : -1, POLLIN);
	}
	mutex_unlock(&link->lock);
	if (poll(link->polls.at, link->polls.n, poll_ms(due)) <= 0) {
		for (size_t i = 0; i < link->polls.n; ++i) {
			link->polls.at[i].revents = 0;
		}
	}
	link->now = now_ns();
}

// What poll() has reported of the pipes: no attempt has left since it was asked, and new ones stand behind.
static void serve_attempts(struct host_link *link) {
	mutex_lock(&link->lock);
	const struct list *at = link->attempts.next;
	for (size_t i = FD_ATTEMPTS; i < link->polls.n; i += 3) {
		struct link_attempt *attempt = list_entry(at, struct link_attempt, link);
		at = at->next;
		mutex_unlock(&link->lock);
		if (link->polls.at[i + 2].revents) {
			feed(link, attempt);
		}
		if (link->polls.at[i].revents || link->polls.at[i + 1].revents) {
			drain(link, attempt);
		}
		mutex_lock(&link->lock);
	}
	mutex_unlock(&link->lock);
}

static void serve_line(struct host_link *link) {
	if (link->polls.at[FD_ERR].revents) {
		hear_launcher(link);
	}
	bool broken = (link->polls.at[FD_OUT].revents && !receive(link)) || link->is_cut;
	if (link->now >= link->kill_at) {
		lose(link, "killed");
	} else if (broken || host_why(link->host)) {
		if (link->launcher.err_fd >= 0) {
			hear_launcher(link); // why, perhaps
			say(link);
		}
		lose(link, host_why(link->host));
	}
}

// Sends what there is to be sent. If it is to rest, the worker is told so, and then who waits for that, once it is on its way.
static void send_waiting(struct host_link *link, bool resting) {
	size_t left = 0;
	if (resting != link->rests && link->host) {
		host_rest(link->host, resting, link->now);
	}
	link->rests = resting;
	if (link->host) {
		transmit(link);
		(void)host_output(link->host, &left);
	}
	if (resting && left == 0) {
		mutex_lock(&link->lock);
		link->has_rested = true;
		cond_broadcast(&link->rested);
		mutex_unlock(&link->lock);
	}
}

// Lets a worker go that is wanted no more, or one on demand that takes no more, when it has nothing left to do.
static void let_go(struct host_link *link) {
	mutex_lock(&link->lock);
	bool wanted = link->wanted, idle = list_is_empty(&link->attempts);
	mutex_unlock(&link->lock);
	if (!wanted && !link->up && !link->leaving) {
		lose(link, "it is not needed any more");
	} else if (idle && !link->let_go && (!wanted || (link->leaving && link->config.on_demand))) {
		if (!link->config.on_demand) {
			go_down(link, "it is not needed any more", /* bye */ true);
		}
		link->up = false;
		link->leaving = link->let_go = true;
		host_bye(link->host, "there is no more work for it");
	}
}

static void *link_main(void *arg) {
	struct host_link *link = arg;
	link->now = now_ns();
	for (;;) {
		mutex_lock(&link->lock);
		bool closing = link->closing, terminating = link->terminating, resting = link->resting, wanted = link->wanted, called = link->called;
		mutex_unlock(&link->lock);
		if (closing) {
			break;
		}
		if (!link->host && wanted && link->now >= link->retry_at) {
			if (terminating) {
				link->retry_at = TIME_NEVER; // there is nothing to come back for
			} else {
				connect_host(link);
			}
		}
		if (!link->host && !wanted) {
			link->retry_at = link->pause = 0; // who is called again does not wait for what was before
		}
		if (!link->host && !wanted && called) {
			be_gone(link); // it was dismissed before it began to connect
		}
		take_orders(link);
		if (link->host) {
			let_go(link);
		}
		uint64_t due = link->host ? host_tick(link->host, link->now) : wanted ? link->retry_at : TIME_NEVER;
		send_waiting(link, resting);
		due = link->is_cut ? link->now : due;
		due = link->late_at < due ? link->late_at : due;
		wait_for_any(link, link->kill_at < due && link->host ? link->kill_at : due);
		if (link->polls.at[FD_WAKE].revents) {
			wakeup_clear(link->wake_fd);
		}
		serve_attempts(link);
		if (link->host) {
			serve_line(link);
		}
	}
	if (link->host) {
		lose(link, NULL);
	}
	return NULL;
}

// ---- from other threads ----

static void want(struct host_link *link, bool wanted) {
	mutex_lock(&link->lock);
	link->wanted = wanted;
	link->called = link->called || wanted;
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_call(struct host_link *link) {
	want(link, true);
}

void link_dismiss(struct host_link *link) {
	want(link, false);
}

static void ask(struct host_link *link, struct link_attempt *attempt, enum attempt_order order) {
	if (order > attempt->asked) {
		attempt->asked = order;
		wakeup_post(link->wake_fd);
	}
}

void link_terminate(struct host_link *link) {
	mutex_lock(&link->lock);
	link->terminating = true;
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (!attempt->config->cleanup) {
			ask(link, attempt, ORDER_CANCEL);
		}
	}
	mutex_unlock(&link->lock);
}

void link_kill(struct host_link *link) {
	mutex_lock(&link->lock);
	link->terminating = link->killing = true;
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		ask(link, attempt, ORDER_KILL);
	}
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_cancel(struct host_link *link, const void *origin) {
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->config->origin == origin) {
			ask(link, attempt, ORDER_CANCEL);
		}
	}
	mutex_unlock(&link->lock);
}

uint64_t link_expire(struct host_link *link, uint64_t limit, uint64_t now) {
	uint64_t next = TIME_NEVER;
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->start == 0 || attempt->config->cleanup || attempt->asked >= ORDER_EXPIRE) {
			continue;
		}
		uint64_t due = attempt->start + limit;
		if (due <= now) {
			ask(link, attempt, ORDER_EXPIRE);
		} else {
			next = due < next ? due : next;
		}
	}
	mutex_unlock(&link->lock);
	return next;
}

void link_rest(struct host_link *link, bool begins) {
	mutex_lock(&link->lock);
	link->resting = begins;
	link->has_rested = false;
	wakeup_post(link->wake_fd);
	mutex_unlock(&link->lock);
}

void link_await_rest(struct host_link *link, uint64_t until) {
	mutex_lock(&link->lock);
	while (!link->has_rested && cond_wait_until(&link->rested, &link->lock, until)) {
	}
	mutex_unlock(&link->lock);
}

void link_each(struct host_link *link, const char *host, void (*fn)(void *arg, const struct child_view *view), void *arg) {
	struct child_view *views = NULL;
	size_t cap = 0, n = 0;
	mutex_lock(&link->lock);
	list_for_each_entry(&link->attempts, struct link_attempt, attempt, link) {
		if (attempt->state == ATTEMPT_STARTED) {
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
	cond_init(&link->rested);
	link->bytes = xmalloc(READ_BYTES);
	link->wake_fd = wakeup_open();
	int error = link->wake_fd < 0 ? errno : thread_start(&link->thread, link_main, link, STACK_BYTES);
	if (error) {
		fd_close(&link->wake_fd);
		cond_fini(&link->rested);
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
	cond_fini(&link->rested);
	mutex_fini(&link->lock);
	buf_fini(&link->said);
	for (struct link_pipes *next, *pipes = link->spare; pipes; pipes = next) {
		next = pipes->next;
		close_pipes(pipes);
	}
	free(link->polls.at);
	free(link->bytes);
	free(link);
}
