// Pool mode: runs one command in a slot of a pool (--single), or shows what is in the pool (--status).

#include "modes/modes.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/json.h"
#include "base/sync.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "process/child.h"
#include "process/guardian.h"
#include "process/memory.h"
#include "process/proctree.h"
#include "process/signals.h"
#include "process/spawn.h"
#include "sharing/jobserver_slots.h"
#include "sharing/pool_client.h"
#include "shell/shell.h"
#include "slots/protocol.h"
#include "slots/slots.h"
#include "term/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_TIMED_OUT = 124, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 }; // exit statuses, as of timeout(1) and env(1)
enum { STOP_MS = 100 };

#define LAST_ANSWER (2 * NS_PER_S) // how long a busy server has to answer once --pool-wait is over

// ---- waiting ----

// Appends the text, cut to at most `columns` columns. If the first holder of slots in the text does not fit, its command is cut, but
// not the pid behind the command.
static void add_holder_cut(struct buf *line, const char *text, size_t columns) {
	const char *pid = strstr(text, "' (pid "), *end = pid ? strchr(pid, ')') : NULL;
	size_t tail = end ? (size_t)(end + 1 - pid) : 0;
	if (end && (size_t)(end + 1 - text) > columns && tail < columns) {
		text_add_cut(line, text, (size_t)(pid - text), columns - tail);
		buf_add(line, pid, tail);
	} else {
		text_add_cut(line, text, strlen(text), columns);
	}
}

// Draws a line with the rank of this process among the clients that wait for slots; shown only while this process is in the foreground.
static void show_rank(const struct options *options, const struct client_event *event) {
	struct winsize size = {0};
	(void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, line = BUF_INIT;
	buf_adds(&text, "fairpar: ");
	pool_client_add_rank(&text, "", options->pool.name, event);
	add_holder_cut(&line, buf_str(&text), size.ws_col > 1 ? size.ws_col - 1U : 79);
	(void)screen_draw(NULL, buf_str(&line), 1);
}

// Answers signals while the command waits. After SIGCONT asks `client` (NULL: nobody) for the rank. A signal that would end a run ends this process.
static void answer_signals(struct client *client, int signal_fd) {
	int signal;
	while ((signal = signals_next(signal_fd)) != 0) {
		if (signal == SIGTSTP) {
			screen_clear(NULL);
			signals_stop_self();
		} else if (signal == SIGCONT && client) {
			client_ask(client, CLIENT_RANK); // the line is drawn again
		} else if (is_ending_signal(signal)) {
			screen_close();
			signals_die(signal);
		}
	}
}

// Says that no slot came in time (--pool-wait). `event`: the CLIENT_RANK of the server, or NULL: it does not answer.
static void give_up(const struct options *options, const struct client_event *event) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (event) {
		pool_client_add_rank(&text, "the command got no slot in time: ", options->pool.name, event);
	} else {
		buf_printf(&text, "the server of pool %s does not answer", options->pool.name);
	}
	screen_clear(NULL);
	diag_error("--pool-wait: %s", buf_str(&text));
}

enum awaited { AWAITED_LEASE, AWAITED_NOBODY, AWAITED_TOO_LONG };

// Waits until the pool grants a lease. Returns AWAITED_LEASE, with *ret_lease, the event of type CLIENT_GRANTED; or, after a message,
// AWAITED_NOBODY if the server was lost, or AWAITED_TOO_LONG if no lease came by `deadline` (--pool-wait).
static enum awaited await_lease(struct client *client, const struct options *options, uint64_t deadline, int signal_fd,
                                struct client_event *ret_lease) {
	const bool draws = isatty(STDERR_FILENO) && !options->quiet;
	uint64_t slow = draws || options->quiet ? TIME_NEVER : now_ns() + CLIENT_SLOW;
	bool is_late = false;      // the time of --pool-wait is over, and the server was asked once more for the rank
	for (;;) {
		struct client_event event;
		while ((event = client_next(client)).type != CLIENT_NOTHING) {
			if (event.type == CLIENT_GRANTED && client_use(client, event.id.number, /* nonce */ 0, &event.id)) {
				*ret_lease = event;
				return AWAITED_LEASE;
			}
			if (event.type == CLIENT_REVOKED || event.type == CLIENT_RENEWED) {
				client_want(client, 1, (unsigned)options->pool.width);
			} else if (event.type == CLIENT_RANK && is_late) {
				give_up(options, &event);
				return AWAITED_TOO_LONG;
			} else if (event.type == CLIENT_RANK && draws) {
				show_rank(options, &event);
			} else if (event.type == CLIENT_RANK) {
				pool_client_say_rank(options->pool.name, &event);
			} else if (event.type == CLIENT_LOST) {
				diag_warn("%s: the command runs without a slot", event.text);
				return AWAITED_NOBODY;
			}
		}
		struct pollfd polls[] = {{.fd = client_fd(client), .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
		(void)poll(polls, 2, poll_ms(time_earlier(time_earlier(slow, deadline), client_due(client))));
		uint64_t now = now_ns();
		if (now >= deadline && is_late) {
			give_up(options, NULL);
			return AWAITED_TOO_LONG;
		}
		if (now >= time_earlier(slow, deadline)) {
			is_late = now >= deadline;
			deadline = is_late ? now + LAST_ANSWER : deadline;
			slow = TIME_NEVER;
			client_ask(client, CLIENT_RANK);
		}
		answer_signals(draws ? client : NULL, signal_fd);
	}
}

// Waits until there is memory for what the command needs (--memory) beside the jobs of the runs in the pool. The caller
// then has to call memory_claim_close(), and memory_fini() after that.
static void await_memory(const struct client *client, const struct options *options, int signal_fd, struct memory *memory,
                         struct memory_claim *claim) {
	uint64_t again;
	bool waits = false;
	memory_init(memory);
	pool_client_share_memory(client, options->pool.name, memory);
	while (!memory_claim_try(memory, claim, options->pool.memory, options->command[0], &again)) {
		if (!waits) {
			diag_note("memory: '%s' waits for %s", text_shows(options->command[0]), memory_show(options->pool.memory));
		}
		waits = true;
		(void)poll(&(struct pollfd){.fd = signal_fd, .events = POLLIN}, 1, poll_ms(again));
		answer_signals(NULL, signal_fd);
	}
}

// ---- the command ----

// The command, a child that keeps what this process has: process group, stdin, stdout, stderr and terminal. If this process is killed,
// the guardian ends the child, its descendants, and the processes with the cookie in their environment, as it ends a run's jobs; but
// not processes that have called setsid(2). (A parent-death signal would end these, too.)
struct plain_child {
	pid_t pid;
	int pidfd; // readable when the child has ended
	struct guardian guardian;
};

// Starts the program at `path`, or the shell if the file is a script without "#!". `cookie` is "NAME=VALUE", which only the
// environment of this child has on this machine; or "". Starts the guardian before the child, so that the child is never without one.
// Returns false with *ret_error if the child cannot be started; else the caller reaps the child.
static bool start_child(const char *path, char *const *argv, const struct context *context, const char *cookie,
                        struct plain_child *ret_child, struct spawn_error *ret_error) {
	struct guardian *guardian = &ret_child->guardian;
	guardian_init(guardian);
	struct group_table *table = guardian->table;
	snprintf(table->cookie, sizeof(table->cookie), "%s", cookie);
	atomic_store_relaxed(&table->session, getsid(0));
	atomic_store_release(&table->used, 1); // pairs with the acquire in group_table_kill()
	guardian_start(guardian);
	struct spawn_config config = {
		.path = path,
		.argv = argv,
		.env = context->env,
		.context = context,
		.stdio = {-1, -1, -1},
		.cgroup_fd = -1,
		.listed = &table->targets[0],
	};
	ret_child->pid = spawn_program(&config, /* starter */ NULL, &ret_child->pidfd, ret_error);
	if (ret_child->pid <= 0) {
		guardian_fini(guardian);
	}
	return ret_child->pid > 0;
}

// Waits for the child's end. Returns the child's exit status, and *ret_signal: the signal that has ended the child, or 0.
static int reap_child(struct plain_child *child, int *ret_signal) {
	int status = 0;
	atomic_store_release(&child->guardian.table->targets[0], 0); // before another process can get the pid
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
	}
	fd_close(&child->pidfd);
	guardian_fini(&child->guardian); // processes that the child has left behind live on
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return WEXITSTATUS(status);
}

// Waits until the child, which was sent a stop signal, has stopped or ended; but not for long, as it may ignore the signal. Called before
// this process stops itself: else the child would still read from the terminal what is typed for the shell.
static void await_stop(const struct plain_child *child) {
	sigset_t ends; // blocked by signals_open()
	uint64_t now, until = now_ns() + (uint64_t)STOP_MS * NS_PER_MS;
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	siginfo_t info = {.si_pid = 0};
	while (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0
	       && (now = now_ns()) < until) {
		struct timespec left = {.tv_nsec = (long)(until - now)};
		(void)sigtimedwait(&ends, NULL, &left);
	}
}

// Hands signals on to the command, except those typed at the terminal, which the command gets by itself. Before a stop, gives
// the spare slots back. Returns for how many nanoseconds this process was stopped.
static uint64_t hand_on_signals(const struct plain_child *child, struct jobserver_spare *spare, int signal_fd) {
	uint64_t stopped = 0;
	int signal;
	while ((signal = signals_next(signal_fd)) != 0) {
		if (!signals_typed() && signal != SIGCONT) {
			kill(child->pid, signal); // the command was not waited for yet, so the pid is still its own
		}
		if (signal == SIGTSTP && spare) {
			(void)jobserver_spare_tick(spare, /* offers */ false);
		}
		if (signal == SIGTSTP) {
			await_stop(child);
			uint64_t since = now_ns();
			signals_stop_self();
			stopped += now_ns() - since;
		}
	}
	return stopped;
}

// --timeout of the command.
struct time_limit {
	uint64_t due;             // when the next signal of --term-seq is due, or TIME_NEVER
	unsigned nsent;           // number of signals of --term-seq that were sent
	struct pidfd_set targets; // the command, and what descends from it
};

static void limit_step(struct time_limit *limit, const struct options *options, const struct plain_child *child) {
	const struct term_seq *seq = &options->term_seq;
	uint64_t now = now_ns();
	if (now < limit->due) {
		return;
	}
	if (limit->nsent == 0 && !options->quiet) {
		FP_CLEANUP(buf_fini) struct buf time = BUF_INIT;
		text_add_time(&time, options->timeout);
		diag_warn("'%s' has run for %s, and is ended (--timeout)", text_shows(options->command[0]), buf_str(&time));
	}
	int signal = seq->steps[limit->nsent].signal;
	pidfd_set_add_tree(&limit->targets, child->pid, SESSION_ANY);
	pidfd_set_signal(&limit->targets, signal);
	if (signal != SIGSTOP && signal != SIGTSTP) {
		pidfd_set_signal(&limit->targets, SIGCONT);
	}
	limit->due = term_seq_due(seq, limit->nsent++, now);
}

// Answers the server of a pool that finds its number of slots by measuring (-j auto): tells the server how busy the command is. With
// `spares`, at most `width` processors count, because spare slots count as busy by themselves.
static void send_observation(struct client *client, const struct plain_child *child, uint32_t width, bool spares, struct activity *activity) {
	uint64_t used = thread_cpu_ns();
	unsigned alive;
	double busy = activity_sample(activity, &child->pid, 1, now_ns(), &alive);
	busy = spares && busy > width ? width : busy;
	client_send_observation(client, &(struct observation){
		.sampled = alive * width * UINT64_C(1000),
		.busy = (uint64_t)(busy * 1000),
		.cost_ns = thread_cpu_ns() - used,
	});
}

// Answers signals and the server until the command has ended. If the server dies, the client reports the lease to the next server.
// Returns whether --timeout has ended the command.
static bool attend(struct client *client, const struct options *options, struct plain_child *child, uint32_t width,
                   struct jobserver_spare *spare, int signal_fd) {
	struct activity activity = {.n = 0};
	struct time_limit limit = {.due = options->timeout > 0 ? now_ns() + options->timeout : TIME_NEVER};
	const struct pidfd_entry *left = NULL;
	bool has_ended = false;
	struct pollfd polls[] = {
		{.fd = child->pidfd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}, {.fd = -1, .events = POLLIN},
		{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}, {.fd = -1},
	};
	while (!has_ended || left) {
		polls[0].fd = left ? left->pidfd : child->pidfd;
		polls[2].fd = client ? client_fd(client) : -1;
		if (spare) {
			(void)jobserver_spare_tick(spare, /* offers */ true);
			polls[3].fd = jobserver_spare_fd(spare);
			polls[4].fd = jobserver_spare_token_fd(spare);
		}
		polls[5].fd = guardian_fd(&child->guardian);
		(void)poll(polls, 6, poll_ms(client ? time_earlier(limit.due, client_due(client)) : limit.due));
		has_ended = has_ended || (polls[0].revents & POLLIN);
		if (polls[5].revents & POLLERR) {
			guardian_keep(GUARDIAN_SLOTS, client ? client_fd(client) : -1);
			guardian_revive(&child->guardian);
		}
		uint64_t stopped = hand_on_signals(child, spare, signal_fd);
		limit.due += limit.due != TIME_NEVER ? stopped : 0;
		if (!has_ended || left) {
			limit_step(&limit, options, child);
		}
		left = has_ended && limit.nsent > 0 && limit.due != TIME_NEVER ? pidfd_set_running(&limit.targets) : NULL; // a process to wait for
		struct client_event event = {.type = CLIENT_RANK};
		while (client && event.type != CLIENT_NOTHING && event.type != CLIENT_LOST) {
			event = client_next(client);
			if (event.type == CLIENT_OBSERVE) {
				send_observation(client, child, width, spare, &activity);
			}
		}
	}
	pidfd_set_fini(&limit.targets);
	return limit.nsent > 0;
}

// Runs the command: on the lease if `client` is not NULL, and with spare slots if `spare` is not NULL. Returns the command's exit status,
// or EXIT_TIMED_OUT. Sets *ret_signal, which is 0 before the call, to the signal that has ended the command, if one has.
static int run_command(struct client *client, const struct options *options, struct context *context, const struct client_event *lease,
                       struct jobserver_spare *spare, int signal_fd, int *ret_signal) {
	const char *path = program_find(options->command[0]);
	if (!path) {
		diag_error("cannot start '%s': %s", text_shows(options->command[0]), errno == ENOENT ? "not found" : strerror(errno));
		return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	struct plain_child child;
	struct spawn_error error;
	FP_CLEANUP(buf_fini) struct buf cookie = BUF_INIT;
	if (client) {
		buf_adds(&cookie, "FAIRPAR_LEASE=");
		lease_id_add(&cookie, options->pool.name, lease->id);
		context_set_env(context, "FAIRPAR_LEASE", strchr(cookie.data, '=') + 1); // a fairpar in the command finds the lease by this variable
		context_set_env(context, "FAIRPAR_POOL", options->pool.name);
		jobserver_slots_mark_level(context);
		guardian_keep(GUARDIAN_SLOTS, client_fd(client)); // the slot comes back when the guardian has ended what ran in it
	}
	for (int fd = 0; fd <= 2; ++fd) {
		if (context->closed & 1 << fd) {
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC); // the command gets the descriptor closed, as this process did
		}
	}
	if (!start_child(path, options->command, context, buf_str(&cookie), &child, &error)) {
		diag_error("cannot start '%s': %s: %s", text_shows(options->command[0]), spawn_step_name(error.step), strerror(error.error));
		return error.step != SPAWN_EXEC ? EXIT_TROUBLE : error.error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (client) {
		client_set_process(client, lease->id.number, child.pid, child.pidfd);
	}
	if (spare) {
		jobserver_spare_set_process(spare, child.pid, child.pidfd);
	}
	bool is_late = attend(client, options, &child, lease->width, spare, signal_fd);
	if (client) {
		client_release(client, lease->id.number);
	}
	int status = reap_child(&child, ret_signal);
	*ret_signal = is_late ? 0 : *ret_signal;
	return is_late ? EXIT_TIMED_OUT : status;
}

// Runs the command: on the lease if `client` is not NULL. With --jobserver the command itself has one slot of the lease, and the other slots
// are tokens of a jobserver while the command runs. Returns as run_command() does.
static int run_with_jobserver(struct client *client, const struct options *options, struct context *context, const struct client_event *lease,
                              int signal_fd, int *ret_signal) {
	struct jobserver jobserver;
	*ret_signal = 0;
	if (!client || !options->pool.jobserver) {
		return run_command(client, options, context, lease, /* spare */ NULL, signal_fd, ret_signal);
	}
	if (jobserver_server_open(options, context, tmpfile_dir("/tmp"), &jobserver) != 0) {
		return EXIT_TROUBLE;
	}
	for (uint32_t i = 1; i < lease->width; ++i) {
		jobserver_put(&jobserver, '+');
	}
	struct jobserver_spare *spare = jobserver_spare_open(options, &jobserver);
	int status = run_command(client, options, context, lease, spare, signal_fd, ret_signal);
	jobserver_spare_close(spare);
	jobserver_close(&jobserver);
	return status;
}

// --single: waits for a slot until `deadline`, and runs the command; without a client it runs at once. Returns the exit status, and
// *ret_signal: the signal that has ended the command, or 0.
static int run_single(struct client *client, const struct options *options, uint64_t deadline, struct context *context, int *ret_signal) {
	FP_CLEANUP(fd_close) int signal_fd = signals_open();
	if (signal_fd < 0) {
		diag_error("cannot wait for signals: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	struct client_event lease = {0};
	enum awaited awaited = AWAITED_NOBODY;
	struct memory memory;
	struct memory_claim claim = {.is_open = false};
	if (client && options->pool.memory > 0) { // memory before a slot: jobs that have the memory may need the slot in order to end
		const uint64_t since = now_ns();
		await_memory(client, options, signal_fd, &memory, &claim);
		deadline += deadline != TIME_NEVER ? now_ns() - since : 0;
	}
	if (client) {
		screen_open(NULL, NULL);
		client_want(client, 1, (unsigned)options->pool.width);
		awaited = await_lease(client, options, deadline, signal_fd, &lease);
		screen_close();
	}
	int status = EXIT_NO_SLOT;
	if (awaited != AWAITED_TOO_LONG) {
		client = awaited == AWAITED_LEASE ? client : NULL;
		status = run_with_jobserver(client, options, context, &lease, signal_fd, ret_signal);
	}
	if (claim.is_open) {
		(void)memory_claim_close(&memory, &claim);
		memory_fini(&memory);
	}
	return status;
}

// ---- what is in the pool ----

struct client_line {
	unsigned pid, held, slots, lent, wanted, rank, gathers;
	double virt, seconds;
	const char *texts[3]; // batch, directory, command
	int lens[3];
};

// Parses the line of the server's report at *at, and moves *at behind it. Returns false at the end.
static bool next_line(const char **at, struct client_line *ret_line) {
	const char *end = strchr(*at, '\n');
	int n = 0;
	if (!end || sscanf(*at, "%u %u %u %u %u %u %lf %u %lf%n", &ret_line->pid, &ret_line->held, &ret_line->slots, &ret_line->lent,
	                   &ret_line->wanted, &ret_line->rank, &ret_line->virt, &ret_line->gathers, &ret_line->seconds, &n) != 9) {
		return false;
	}
	const char *text = *at + n;
	for (unsigned i = 0; i < 3; ++i) {
		text += *text == '\t';
		ret_line->texts[i] = text;
		ret_line->lens[i] = (int)strcspn(text, "\t\n");
		text += ret_line->lens[i];
	}
	*at = end + 1;
	return true;
}

static void add_text_line(struct buf *out, const struct client_line *line) {
	FP_CLEANUP(buf_fini) struct buf time = BUF_INIT;
	const unsigned where = line->lens[0] > 0 ? 0 : 1; // index in `texts`: the batch if there is one, else the directory
	text_add_time(&time, (uint64_t)(line->seconds * (double)NS_PER_S));
	buf_printf(out, "%6u  %5u  %4u  %5u  ", line->pid, line->slots, line->lent, line->wanted);
	buf_printf(out, line->rank > 0 ? "%5u" : "    -", line->rank);
	buf_printf(out, "  %7s  %.*s", buf_str(&time), line->lens[2], line->texts[2]);
	buf_printf(out, "  (%s%.*s)", where == 0 ? "batch " : "", line->lens[where], line->texts[where]);
	buf_printf(out, line->gathers > 0 ? "  waits for %u slots at once\n" : "\n", line->gathers);
}

static void add_json_line(struct buf *out, const struct client_line *line) {
	static const char *const names[] = {"batch", "directory", "command"};
	buf_printf(out, "\n{\"pid\":%u,\"leases\":%u,\"slots\":%u,\"lent\":%u,\"wanted\":%u,\"place\":%u,\"gathers\":%u,", line->pid, line->held,
	           line->slots, line->lent, line->wanted, line->rank, line->gathers);
	buf_printf(out, "\"service\":%.3f,\"seconds\":%.3f", line->virt, line->seconds);
	for (unsigned i = 0; i < 3; ++i) {
		json_add_bytes(out, names[i], line->texts[i], (size_t)line->lens[i]);
	}
	buf_addc(out, '}');
}

// Appends what the server has reported; or, without a client, that nobody uses the pool, with the number of slots that the pool
// would have without --pool-slots.
static void add_status(struct buf *out, const char *pool, bool is_json, const struct client *client, const struct client_event *report) {
	const struct slots_bounds bounds = client ? client_state(client)->bounds : (struct slots_bounds){0};
	const unsigned slots = client ? client_state(client)->slots : slots_usable_cpus();
	const char *at = report->text, *why = NULL; // `why`: the reason of the number of slots; NULL: the number is fixed
	struct client_line line;
	if (bounds.least < bounds.most) {
		why = client_state(client)->why ? client_state(client)->why : "the number that the pool began with";
	}
	if (is_json) {
		buf_printf(out, "{\"pool\":\"%s\",\"slots\":%u,", pool, slots);
		if (why) {
			buf_printf(out, "\"why\":\"%s\",", why);
		}
		buf_printf(out, "\"taken\":%u,\"waiting\":%u,\"clients\":[", report->taken, report->waiting);
	} else {
		buf_printf(out, "pool %s: %u of %u slots taken, %u waiting", pool, report->taken, slots, report->waiting);
		buf_printf(out, why ? " (auto: %s)\n" : "\n", why);
		buf_adds(out, *at ? "   PID  SLOTS  LENT  WANTS  PLACE     TIME  COMMAND\n" : "");
	}
	for (const char *before = ""; next_line(&at, &line); before = ",") {
		buf_adds(out, is_json ? before : "");
		(is_json ? add_json_line : add_text_line)(out, &line);
	}
	buf_adds(out, is_json ? "]}\n" : "");
}

// --status: prints what the server reports; or, without a client, that nobody uses the pool. Returns the exit status.
static int show_status(struct client *client, const struct options *options) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	struct client_event report = {.text = ""};
	if (client) {
		client_ask(client, CLIENT_REPORT);
	}
	while (client && report.type != CLIENT_REPORT && report.type != CLIENT_LOST) {
		report = client_next(client);
		if (report.type == CLIENT_NOTHING) { // must not poll if the report is here already: the descriptor may never be readable again
			struct pollfd poll_fd = {.fd = client_fd(client), .events = POLLIN};
			(void)poll(&poll_fd, 1, -1);
		}
	}
	add_status(&out, options->pool.name, options->pool.status == POOL_JSON, client, &report);
	int result = diag_print(buf_str(&out), out.len);
	return result == 0 ? 0 : EXIT_TROUBLE;
}

int pool_run(const struct options *options, struct context *context) {
	const bool single = options->pool.single;
	const uint64_t deadline = options->pool.wait == TIME_NEVER ? TIME_NEVER : now_ns() + options->pool.wait;
	int status, signal = 0;
	struct client *client = pool_client_open(options, &status);
	if (status == 0) {
		status = single ? run_single(client, options, deadline, context, &signal) : show_status(client, options);
	}
	client_close(client);
	if (signal != 0) {
		signals_die(signal);
	}
	return status;
}
