// A machine: how it is made, the steps of its connection, and what its worker's frames do. The steps start the launcher, move bytes between
// the launcher, the protocol (dispatcher_end.h) and the attempts, and start another launcher when the last one has ended. No step waits, as one
// thread serves all hosts (connections.c). A step holds hosts.lock, but not while it uses the pipes of the connection or starts a launcher.
//
// A host has slots while it is connected: host_set_slots() adds them to the pool when the connection is up, and removes them when it ends. An attempt
// whose connection is lost ends with result.lost, and exec/job_run.c runs the job again at another place: on another host, or on this one when the
// connection is back.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "remote/dispatcher_end.h"
#include "remote/slurm.h"
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 * 1024,   // bytes for one read(2)
	BACKOFF_FIRST_S = 1, BACKOFF_MOST_S = 60,
	END_GRACE_MS = 2000,      // time that a launcher has to end after its pipes were closed
	DEADLINE_GRACE_MS = 1000, // time that a worker has to end a job after the job's timeout, before it gets an order to do so
	LINES_MOST = 20,          // lines of a launcher that are passed on, for each connection, LINE_BYTES of each
	NOISE_IN_LINE = 200,      // bytes of the other end's noise in a message
	MESSAGE_MOST = 600,       // bytes of a machine's or a launcher's text that are shown in a message
	BEGIN_MOST = 8, BEGIN_S = 2, // most connections by ssh that are unanswered and begun less than BEGIN_S ago (sshd's MaxStartups is 10:30:100)
	KEY_S = 5,                // seconds that ssh-keygen may take
	OUTLIVES_MS = 300, LEAVES_S = 2, // how long the end of an attempt in Slurm is doubted; how long after a goodbye of the worker (settle_doubt())
};

// Whether the host has a connection that is not being closed.
static bool is_connected(const struct host *host) {
	return host->phase == CONNECTION_BEGUN || host->phase == CONNECTION_RELEASED;
}

// Whether the host's worker takes attempts. On the connections' thread.
static bool takes_attempts(const struct host *host) {
	return host->connection && host->connection->is_up && !host->connection->is_leaving;
}

// Returns whether the descriptor was ready, and notes that it is not ready any more.
static bool take_ready(struct watch *watch) {
	bool is_ready = watch->is_ready;
	watch->is_ready = false;
	return is_ready;
}

// Closes the descriptor that is watched.
static void close_watched(struct host *host, struct watch *watch, int *fd) {
	host_watch(host, watch, *fd, WATCH_NOT);
	fd_close(fd);
}

static bool is_over_ssh(const struct host *host) {
	return host->login->kind == SSHLOGIN_SSH;
}

// ---- attempts ----

// Ends the attempt's step. After this call the connections' thread does not use the attempt.
static void finish_attempt(struct host_attempt *attempt) {
	if (attempt->state == ATTEMPT_DOUBTED) {
		hosts_doubt_place(attempt->place, /* begins */ false);
	}
	attempt->state = ATTEMPT_ENDED;
	list_remove(&attempt->link);
	if (attempt->talk) {
		file_talk_end(attempt->talk);
	}
	host_attempt_on_wake(attempt);
}

static void end_attempt(struct host *host, struct host_attempt *attempt, enum lost lost) {
	struct result *result = &attempt->result;
	bool has_run = lost != LOST_UNSENT && result->outcome != OUTCOME_SPAWN_ERROR && result->start > 0;
	bool is_natural = result->outcome <= OUTCOME_SIGNAL; // fairpar has not ended the process
	result->lost = lost;
	host_loans_end(attempt);
	host_watch(host, &attempt->in, -1, WATCH_NOT);
	host_watch(host, &attempt->more, -1, WATCH_NOT);
	attempt->start = has_run && attempt->start == 0 ? result->start : attempt->start; // the start is 0 if no `started` frame came
	if (host->login->is_slurm && lost == LOST_NOT && !attempt->talk && is_natural) {
		attempt->state = ATTEMPT_DOUBTED;
		hosts_doubt_place(attempt->place, /* begins */ true);
	} else {
		finish_attempt(attempt);
	}
}

// Slurm ends a step by signals to its processes one after the other, children first: so a shell whose child has died may exit with 0 before the
// worker gets its signal. So the end of a job is doubted for a moment: if Slurm is ending the worker, too, the worker says goodbye soon, and its
// connection ends. Ends the doubted attempt: as lost if the worker has ended, else as it was reported, once the worker has lived on long enough.
static void settle_doubt(struct host *host, struct host_attempt *attempt) {
	uint64_t end = attempt->result.end, leaves = host->hosts->stop_takes + LEAVES_S * NS_PER_S;
	uint64_t until = end + (uint64_t)OUTLIVES_MS * NS_PER_MS;
	until = host->bye_at > 0 && host->bye_at + leaves > until ? host->bye_at + leaves : until;
	if (host->lost_at >= end || host->now >= until) {
		attempt->result.lost = host->lost_at >= end && host->lost_at < until ? LOST_SILENT : LOST_NOT;
		finish_attempt(attempt);
	} else {
		host->next_deadline = time_earlier(host->next_deadline, until);
	}
}

// Reads as much of the attempt's standard input as the worker takes, and sends it.
static void read_input(struct host *host, struct host_attempt *attempt) {
	size_t room = channel_room(&host->connection->channel, attempt->number);
	char bytes[READ_BYTES];
	mutex_unlock(&host->hosts->lock);
	ssize_t n = read(attempt->in_fd, bytes, room < READ_BYTES ? room : READ_BYTES);
	mutex_lock(&host->hosts->lock);
	if (n > 0) {
		channel_send_bytes(&host->connection->channel, attempt->number, /* stream */ 0, bytes, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		channel_say(&host->connection->channel, FRAME_EOF, attempt->number, 0, "");
		close_watched(host, &attempt->in, &attempt->in_fd);
	}
	if (attempt->config->stdin_writer) {
		host_attempt_on_wake(attempt); // there is room in the pipe from which the input is read
	}
}

// ---- hosts that come and go ----

// Returns the login of the node of that name, or `otherwise` if the name is not valid.
static const struct sshlogin *find_node(struct hosts *hosts, const char *name, const struct sshlogin *otherwise) {
	if (!slurm_is_node(name)) {
		return otherwise;
	}
	struct pilot_node *node = hosts->nodes;
	while (node && strcmp(node->login.name, name) != 0) {
		node = node->next;
	}
	if (!node) {
		char *own = arena_text(&hosts->arena, name, strlen(name));
		node = arena_alloc(&hosts->arena, sizeof(*node));
		node->login = (struct sshlogin){.kind = SSHLOGIN_LAUNCH, .is_pilot = true, .name = own, .host = own};
		node->next = hosts->nodes;
		hosts->nodes = node;
	}
	return &node->login;
}

// Whether there is another host that has not failed; with `binding`, only the hosts of that binding count. With --onall, false.
static bool has_other_host(const struct host *host, const struct hosts_binding *binding) {
	bool has = false;
	for_each_host(host->hosts, other) {
		has = has || (other != host && !host_has_failed(other) && !other->is_removed && (!binding || hosts_binding_has(binding, other)));
	}
	return has && host->hosts->machines == 0;
}

// Returns the end of the message about a host that has failed: what becomes of its jobs. `reruns`: jobs ran there, and will run again.
static const char *retry_note(const struct host *host, bool reruns) {
	if (host->state == HOST_ENDED || host->is_removed) {
		return "";
	}
	list_for_each_entry(&host->hosts->bindings, const struct hosts_binding, binding, link) {
		if (hosts_binding_has(binding, host) && !has_other_host(host, binding) && host->was_up && has_other_host(host, NULL)) {
			return "; jobs that need this machine wait, other jobs run elsewhere, and the machine is tried again";
		}
	}
	if (has_other_host(host, NULL)) {
		return reruns ? "; its jobs run again elsewhere, and the machine is tried again" : "; jobs run elsewhere, and the machine is tried again";
	}
	return reruns ? "; its jobs run again when the machine is back" : host->was_up ? "; the machine is tried again" : "";
}

// Notes and reports that the host takes no more jobs. `was_up`: its worker took attempts; else the connection has failed. `bye`: the worker has
// said goodbye, and its jobs go on; else they are lost.
static void host_down(struct host *host, const char *why, bool was_up, bool bye) {
	struct hosts *hosts = host->hosts;
	FP_CLEANUP(buf_fini) struct buf cause = BUF_INIT;
	buf_add_escaped(&cause, why, strlen(why), MESSAGE_MOST);
	bool reruns = was_up && !hosts->options->at_most_once && !list_is_empty(&host->attempts);
	bool is_pilot = host->login->is_pilot, has_ended = !was_up && host->login->kind == SSHLOGIN_LAUNCH && slurm_is_over(why);
	bool says = !is_pilot && !host_has_failed(host) && atomic_load_relaxed(&hosts->ending) == HOSTS_RUN && !(host->is_removed && bye);
	host->offered = 0;
	host->adapted = CONTROLLER_KEPT;
	host->state = bye || is_pilot ? HOST_CONNECTING : was_up ? HOST_LOST : has_ended ? HOST_ENDED : HOST_UNREACHABLE;
	const char *what = was_up ? "the connection is lost" : has_ended ? "the allocation has ended" : "cannot connect";
	const char *next = retry_note(host, reruns);
	host_set_slots(host);
	if (host->is_removed) {
		host_want(host, false);
	}
	if (is_pilot) {
		pilots_on_down(host, why, was_up, bye);
		return;
	}
	if (says && bye) {
		diag_note("%s takes no more jobs: %s", host->login->name, buf_str(&cause));
	} else if (says) {
		diag_warn("%s: %s: %s%s", host->login->name, what, buf_str(&cause), next);
	}
	wakeup_post(hosts->wake_fd); // the event loop checks whether this was the last host, and whether the list of machines has changed
}

// ---- turns: only some connections by ssh begin at the same time, because many machines may be behind one gateway ----

// Posts the first host of each queue: its next step finds out whether it may begin to connect (may_begin()).
static void call_next(struct hosts *hosts) {
	for (size_t i = 0; i < sizeof(hosts->queues) / sizeof(hosts->queues[0]); ++i) {
		if (!list_is_empty(&hosts->queues[i])) {
			host_post(list_entry(hosts->queues[i].next, struct host, turn));
		}
	}
}

// Notes that the host's connection was answered, has failed, or is not to begin any more.
static void end_turn(struct host *host) {
	struct hosts *hosts = host->hosts;
	if (!list_is_empty(&host->turn)) {
		list_remove(&host->turn);
		call_next(hosts);
	}
}

// Returns 0 if the host may begin now: to run ssh-keygen if the host is KEY_UNLOOKED, else to connect. Else returns when to ask again (now_ns() time,
// or TIME_NEVER: when the host is posted). A host that may begin goes to hosts.begun; but a host about whose key ssh may ask the user (KEY_UNKNOWN)
// stays the first of its queue until its connection is answered, so that such hosts begin one after the other.
static uint64_t may_begin(struct host *host) {
	struct hosts *hosts = host->hosts;
	struct list *queue = &hosts->queues[host->key == KEY_UNKNOWN];
	uint64_t at = host->key == KEY_UNLOOKED ? 0 : hosts->next_begin;
	unsigned n = 0;
	if (!is_over_ssh(host)) {
		return 0;
	}
	if (list_is_empty(&host->turn)) {
		list_push_back(queue, &host->turn);
	}
	if (queue->next != &host->turn) {
		return TIME_NEVER;
	}
	for (struct list *other = hosts->begun.prev; other != &hosts->begun && n < BEGIN_MOST; other = other->prev) { // newest first
		uint64_t aged = list_entry(other, struct host, turn)->begun + BEGIN_S * NS_PER_S;
		at = ++n == BEGIN_MOST && aged > at ? aged : at;
	}
	if (at > host->now) {
		return at;
	}
	hosts->next_begin = host->key == KEY_UNLOOKED ? hosts->next_begin : host->now + hosts->options->ssh_delay;
	if (host->key != KEY_UNKNOWN) {
		list_remove(&host->turn);
		list_push_back(&hosts->begun, &host->turn);
		host->begun = host->now;
		call_next(hosts);
	}
	return 0;
}

// ---- what the worker says ----

// Sends the environment that jobs there inherit: over ssh the variables that --env names, with --launch all variables. Sends nothing to a pilot:
// srun has given it all variables, and those that Slurm adds, such as the number of its job and its devices.
static void send_env(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf env = BUF_INIT;
	bool is_launched = host->login->kind == SSHLOGIN_LAUNCH;
	for (char *const *at = host->hosts->env; *at && !host->login->is_pilot; ++at) {
		if (is_launched || option_env_has(host->hosts->options, *at)) {
			buf_add(&env, *at, strlen(*at) + 1);
		}
	}
	if (env.len > 0) {
		channel_send(&host->connection->channel, &(struct wire_frame){
			.type = FRAME_ENV, .numbers = {/* adds */ !is_launched}, .payload = env.data, .size = env.len});
	}
}

static void on_hello(void *arg, const struct worker_hello *hello) {
	struct host *host = arg;
	end_turn(host);
	host->key = KEY_KNOWN;
	send_env(host);
	bool is_back = host->state != HOST_CONNECTING || (host->was_up && !host->login->is_pilot);
	host->was_up = true;
	host->node = host->login->is_pilot ? find_node(host->hosts, hello->node, host->login) : host->login;
	host->offered = hello->slots < HOST_SLOTS_MOST ? hello->slots : HOST_SLOTS_MOST;
	host->state = HOST_UP;
	host_set_slots(host);
	if (host->login->is_pilot) {
		pilots_on_up(host);
	}
	if (is_back) {
		diag_note("%s: connected", host->login->name);
	}
}

// Called when the worker refuses attempts for now, because of `why`, while `jobs` run there; or, with `why` NULL, takes them again.
static void on_braked(void *arg, uint64_t jobs, const char *why) {
	struct host *host = arg;
	bool says = why && host->brake.len == 0 && jobs == 0; // the message is printed only for the host's first refusal, and if no job runs there
	if (why) {
		buf_reset(&host->brake);
		buf_add_escaped(&host->brake, why, strlen(why), MESSAGE_MOST);
	}
	if (host->state == HOST_UP || host->state == HOST_HELD) {
		host->state = why ? HOST_HELD : HOST_UP;
		hosts_answer_requests(host->hosts);
	}
	if (says) {
		diag_note("%s: waiting: %s", sshlogin_shown(host->login), buf_str(&host->brake));
	}
}

void hosts_brake_here(struct hosts *hosts, const char *why) {
	FP_HOLD(&hosts->lock);
	struct host *host = hosts_find_here(hosts);
	hosts_keep_messages(hosts, true);
	if (host) {
		on_braked(host, host->used, why);
	}
	hosts_keep_messages(hosts, false);
}

static void on_slots(void *arg, uint64_t slots, uint64_t reason) {
	bool is_known = reason > CONTROLLER_KEPT && reason <= CONTROLLER_DISK;
	host_adapt(arg, slots, is_known ? (enum controller_reason)reason : CONTROLLER_DISK + 1);
}

static int on_program_requested(void *arg, const char *machine, struct buf *ret_why) {
	struct host *host = arg;
	host->sends_program = is_over_ssh(host) && program_copy_open(&host->hosts->copy, machine, ret_why) == 0;
	host->program_at = 0;
	return host->sends_program ? 0 : -1;
}

static void on_started(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	host->pause = 0; // reset only when a job starts: while a host connects again and again but starts no job, the pauses must grow
	if (attempt) {
		attempt->state = ATTEMPT_STARTED;
		attempt->start = host->now - (ago < host->now ? ago : 0);
		attempt->pid = (int)pid;
		host_attempt_on_wake(attempt);
	}
}

static void on_output(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (!attempt) { // the job is stuck: its output is dropped, so that the job can go on to its end
		channel_acknowledge(&host->connection->channel, job->number, n);
		return;
	}
	buf_add(&attempt->out[stream - 1], bytes, n);
	host_attempt_on_wake(attempt);
}

// Sets the attempt's times by the clock of this machine. The end is at most now, as the `started` frame may have been on its way longer than `done`.
static void set_times(const struct host *host, struct host_attempt *attempt, uint64_t wall) {
	struct result *result = &attempt->result;
	bool never_started = attempt->start == 0 && result->outcome == OUTCOME_CANCELLED;
	uint64_t start = attempt->start ? attempt->start : host->now;
	result->end = never_started ? 0 : start + wall < host->now ? start + wall : host->now;
	result->start = never_started ? 0 : u64_minus(result->end, wall);
}

// Adds `jobs` (1 or -1) to the number of jobs on the host that were told to end and have not. The attempts of these jobs do not wait for them.
static void add_stuck(struct host *host, int jobs) {
	host->stuck += (unsigned)jobs;
	host_set_slots(host);
}

static void on_done(void *arg, const struct channel_job *job, const struct job_end *end) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (!attempt) {
		add_stuck(host, -1);
		return;
	}
	attempt->result = end->result;
	attempt->error = attempt->talk ? attempt->error : end->error;
	set_times(host, attempt, result_wall(&end->result));
	// a worker that got a signal cancels its jobs: these jobs are lost, as if the worker had died
	bool is_lost = end->result.outcome == OUTCOME_CANCELLED && attempt->order_sent == ORDER_NONE;
	if (is_lost && host->state != HOST_LOST && !host->login->is_pilot) { // the end of a pilot is expected, and not reported
		host->connection->is_leaving = true;
		host_down(host, "the worker has ended its jobs", /* was_up */ true, /* bye */ false);
	}
	end_attempt(host, attempt, is_lost ? LOST_SILENT : LOST_NOT);
}

static void on_bye(void *arg, const char *why) {
	struct host *host = arg;
	host->bye_at = host->now;
	host_down(host, why, /* was_up */ true, /* bye */ true);
}

// Called when a job was told to stop, and has not ended in time: ends its attempt here, without waiting for the job any longer.
static void on_overdue(void *arg, struct channel_job *job) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	attempt->result = (struct result){.outcome = attempt->order_sent == ORDER_EXPIRE ? OUTCOME_TIMEOUT : OUTCOME_CANCELLED};
	set_times(host, attempt, attempt->start ? u64_minus(host->now, attempt->start) : 0);
	job->owner = NULL;
	add_stuck(host, 1); // before the attempt ends, so that its slot is not given to another job
	end_attempt(host, attempt, LOST_NOT);
}

static void on_lost(void *arg, const struct channel_job *job) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (!attempt) {
		add_stuck(host, -1);
		return;
	}
	bool is_late = !job->is_unsent && attempt->order_sent == ORDER_EXPIRE; // counts as timed out although the worker has not answered
	attempt->result = (struct result){.outcome = OUTCOME_TIMEOUT, .start = attempt->start ? attempt->start : host->now, .end = host->now};
	end_attempt(host, attempt, is_late ? LOST_NOT : job->is_unsent ? LOST_UNSENT : LOST_SILENT);
}

static const char *on_files(void *arg FP_UNUSED, struct channel_job *job, const struct wire_frame *frame) {
	struct host_attempt *attempt = job->owner;
	if (!attempt) {
		return NULL;
	}
	host_attempt_on_wake(attempt);
	return file_talk_post(attempt->talk, frame);
}

static const struct dispatcher_calls dispatcher_calls = {
	.hello = on_hello, .started = on_started, .output = on_output, .done = on_done, .lost = on_lost,
	.bye = on_bye, .braked = on_braked, .slots = on_slots, .overdue = on_overdue, .program_requested = on_program_requested,
	.wanted = host_loans_wanted, .back = host_loans_back, .files = on_files,
};

// ---- the connection ----

static char keygen[] = "ssh-keygen";

// Whether ssh may ask the user about an unknown key (the launcher is ssh itself, and there is a terminal), and there is ssh-keygen to look it up.
static bool may_ask(const struct host *host) {
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool has_terminal = terminal >= 0;
	fd_close(&terminal);
	return has_terminal && strcmp(path_base(host->argv[0]), "ssh") == 0 && program_find(keygen);
}

// Begins to look up whether ssh knows the machine's key. Does not resolve an alias of ssh_config(5).
static void look_up_key(struct host *host) {
	static char finds[] = "-F";
	const struct sshlogin *login = host->login;
	struct spawn_error error;
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	buf_printf(&name, login->port ? "[%s]:%s" : "%s", login->host, login->port);
	char *const argv[] = {keygen, finds, name.data, NULL};
	const struct launcher_config command = {.argv = argv, .env = host->hosts->env, .context = host->hosts->launch_context};
	if (launcher_start(&host->launcher, &command, &error) != 0) {
		host->key = KEY_UNKNOWN;
		end_turn(host);
		return;
	}
	host->phase = CONNECTION_LOOKUP;
	fd_close(&host->launcher.in_fd);
	host->launcher.until = host->now + KEY_S * NS_PER_S;
	host_watch(host, &host->end, host->launcher.pidfd, WATCH_READ);
}

// If the host is a pilot, reports that its connection has ended. A pilot connects again only after host_want(), but without a pause.
static void report_closed(struct host *host) {
	if (host->login->is_pilot) {
		host->wanted = false;
		host->retry_at = 0;
		hosts_starving(host->hosts); // another pilot may be requested now
		wakeup_post(host->hosts->wake_fd); // the event loop looks whether this was the last pilot
	}
}

// Appends a text that may tell why there is no connection: the last lines that the launcher wrote; if the launcher wrote nothing, what the other
// end wrote before the protocol began.
static void add_launcher_text(const struct host *host, struct buf *text) {
	const char *before = host->last_lines[0], *said = host->last_lines[1], *noise = dispatcher_end_noise(host->connection);
	if (said[0]) {
		buf_printf(text, ": %s%s%s", before, before[0] ? "; " : "", said);
	} else if (noise[0]) {
		buf_adds(text, ": ");
		text_add_one_line(text, noise, strlen(noise), NOISE_IN_LINE);
	}
}

// Closes a connection that has ended, or that cannot be used any more, and begins to end its launcher.
static void disconnect(struct host *host) {
	bool is_wanted = host->wanted && !host->hosts->closing;
	host->lost_at = host->now;
	host->phase = CONNECTION_ENDING;
	close_watched(host, &host->out, &host->launcher.out_fd);
	close_watched(host, &host->err, &host->launcher.err_fd);
	close_watched(host, &host->in, &host->launcher.in_fd);
	// a launcher that is still connecting does not notice that its pipes are closed: so waiting for its end would be in vain
	uint64_t grace = is_wanted || host->connection->is_up ? (uint64_t)END_GRACE_MS * NS_PER_MS : 0;
	launcher_end(&host->launcher, host->now + grace);
	host_watch(host, &host->end, host->launcher.pidfd, WATCH_READ);
}

// Reports the end of the connection, whose launcher has ended or gets SIGTERM, and ends its attempts.
static void connection_lost(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	const char *how = host->launcher.how, *why = channel_why(&host->connection->channel);
	bool was_up = takes_attempts(host), bye = host->connection->is_leaving || !host->wanted;
	buf_adds(&text, why ? why : how[0] ? how : "the connection has ended");
	if (!host->connection->is_up) {
		add_launcher_text(host, &text);
	}
	if (!host->hosts->closing && (host->wanted || !host->login->is_pilot) && (was_up || !bye)) {
		host_down(host, buf_str(&text), was_up, bye); // before its jobs are lost, so that the host gets no more attempts
	}
	channel_break(&host->connection->channel, buf_str(&text));
	dispatcher_end_lose_jobs(host->connection);
	dispatcher_end_free(host->connection);
	host->connection = NULL;
	end_turn(host);
	host->pause = host->pause == 0 ? BACKOFF_FIRST_S : host->pause * 2 < BACKOFF_MOST_S ? host->pause * 2 : BACKOFF_MOST_S;
	host->retry_at = host->now + host->pause * NS_PER_S;
}

// Makes the next step to end the launcher, or ssh-keygen: reaps the process if it has ended, or signals it if that is due.
static void end_launcher(struct host *host) {
	host_watch(host, &host->end, host->launcher.pidfd, WATCH_NOT); // before the pidfd is closed, whose number another thread may get
	bool is_reaped = launcher_reap(&host->launcher, host->now);
	if (host->connection && (is_reaped || host->launcher.signal)) {
		connection_lost(host);
	}
	if (!is_reaped) {
		host_watch(host, &host->end, host->launcher.pidfd, WATCH_READ);
		return;
	}
	if (host->phase == CONNECTION_LOOKUP) {
		host->key = launcher_has_succeeded(&host->launcher) ? KEY_KNOWN : KEY_UNKNOWN;
		end_turn(host);
	} else {
		report_closed(host);
	}
	host->phase = CONNECTION_NONE;
}

static void connect(struct host *host) {
	struct spawn_error error;
	struct hosts *hosts = host->hosts;
	bool prompts = is_over_ssh(host);
	const struct launcher_config config = {
		.argv = host->argv, .env = hosts->env, .context = prompts ? hosts->prompt_context : hosts->launch_context, .prompts = prompts,
	};
	buf_reset(&host->line);
	host->last_lines[0][0] = host->last_lines[1][0] = '\0';
	host->nlines = 0;
	host->bye_at = 0;
	host->sends_program = false;
	mutex_unlock(&hosts->lock);
	int result = launcher_start(&host->launcher, &config, &error);
	mutex_lock(&hosts->lock);
	if (result != 0) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_printf(&why, "cannot start '%s': %s: %s", host->argv[0], spawn_step_name(error.step), strerror(error.error));
		host->pause = BACKOFF_MOST_S;
		host->retry_at = host->now + host->pause * NS_PER_S;
		end_turn(host);
		host_down(host, buf_str(&why), /* was_up */ false, /* bye */ false);
		report_closed(host);
		return;
	}
	char mark[MARK_SIZE + 1];
	uint64_t random[2];
	random_bytes(random, sizeof(random));
	snprintf(mark, sizeof(mark), "%016llx%016llx", ull(random[0]), ull(random[1]));
	host->connection = dispatcher_end_new(&dispatcher_calls, host, mark, host->now);
	host->connection->channel.waits_for_greeting = host->login->is_pilot; // the request for a pilot may wait long in Slurm's queue
	host->phase = CONNECTION_BEGUN;
	host_watch(host, &host->out, host->launcher.out_fd, WATCH_READ);
	host_watch(host, &host->err, host->launcher.err_fd, WATCH_READ);
}

static void show_launcher_line(const struct host *host, const char *line) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_add_escaped(&text, line, strlen(line), MESSAGE_MOST);
	diag_note("%s: %s", host->login->name, buf_str(&text));
}

// Ends a line of the launcher: passes it on; or, while there is no worker, keeps it for the message that the connection has failed.
static void end_launcher_line(struct host *host) {
	const struct buf *line = &host->line;
	if (line->len == 0) {
		return;
	}
	if (!takes_attempts(host)) {
		memcpy(host->last_lines[0], host->last_lines[1], LINE_BYTES);
		snprintf(host->last_lines[1], LINE_BYTES, "%s", line->data);
	} else if (host->nlines++ < LINES_MOST) {
		show_launcher_line(host, line->data);
	} else if (host->nlines == LINES_MOST + 1) {
		show_launcher_line(host, "(the rest of its messages is left out)");
	}
	buf_reset(&host->line);
}

static void read_launcher_errors(struct host *host) {
	char bytes[READ_BYTES];
	ssize_t n = read(host->launcher.err_fd, bytes, sizeof(bytes));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		end_launcher_line(host);
		close_watched(host, &host->err, &host->launcher.err_fd);
	}
	for (ssize_t i = 0; i < n; ++i) {
		char c = bytes[i];
		if (c == '\n') {
			end_launcher_line(host);
		} else if (c != '\r' && c != '\0' && host->line.len < LINE_BYTES - 1) {
			buf_addc(&host->line, c);
		}
	}
}

// Reads frames. Returns false if the connection has ended or is broken.
static bool receive(struct host *host) {
	char bytes[READ_BYTES];
	mutex_unlock(&host->hosts->lock);
	ssize_t n = read(host->launcher.out_fd, bytes, sizeof(bytes));
	mutex_lock(&host->hosts->lock);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	return n > 0 && channel_receive(&host->connection->channel, bytes, (size_t)n, host->now) == 0;
}

// ---- a step ----

// Orders the worker to end an attempt whose timeout has passed: the worker should have done so itself, but may have stopped or died.
static void check_deadline(struct host *host, struct host_attempt *attempt) {
	if (attempt->state != ATTEMPT_STARTED || attempt->config->timeout == 0 || attempt->order != ORDER_NONE) {
		return;
	}
	uint64_t due = attempt->start + attempt->config->timeout + (uint64_t)DEADLINE_GRACE_MS * NS_PER_MS;
	if (due <= host->now) {
		attempt->order = ORDER_EXPIRE;
	} else {
		host->next_deadline = time_earlier(host->next_deadline, due);
	}
}

// Sends what the attempt has for the worker: acknowledgements, frames, an order to stop. With `begins`, first sends the attempt itself, which waited.
static void send_attempt(struct host *host, struct host_attempt *attempt, bool begins) {
	static const enum stop_how orders[] = {[ORDER_CANCEL] = STOP_CANCEL, [ORDER_EXPIRE] = STOP_EXPIRE, [ORDER_KILL] = STOP_KILL};
	struct channel *channel = &host->connection->channel;
	if (begins) {
		const char *payload = attempt->talk ? NULL : buf_str(&attempt->payload);
		dispatcher_end_begin(host->connection, attempt->number, payload, attempt->payload.len)->owner = attempt;
		buf_fini(&attempt->payload);
		attempt->state = attempt->talk ? ATTEMPT_STARTED : ATTEMPT_SENT;
		attempt->start = attempt->talk ? host->now : 0;
	}
	if (attempt->taken >= OUTPUT_TAKEN) {
		channel_acknowledge(channel, attempt->number, attempt->taken);
		attempt->taken = 0;
	}
	channel_send_frames(channel, attempt->number, &attempt->outbox);
	buf_reset(&attempt->outbox);
	if (attempt->why) {
		channel_break(channel, attempt->why);
	}
	if (attempt->order > attempt->order_sent) {
		attempt->order_sent = attempt->order;
		dispatcher_end_stop(host->connection, attempt->number, orders[attempt->order], host->hosts->stop_takes, host->now);
	}
}

// Whether more of the attempt's standard input can be sent.
static bool takes_input(const struct host *host, const struct host_attempt *attempt) {
	return attempt->in_fd >= 0 && channel_room(&host->connection->channel, attempt->number) > 0;
}

// Reads the standard input of an attempt that was sent, if it is ready, and has it watched if more of it can be sent.
static void serve_input(struct host *host, struct host_attempt *attempt) {
	if (take_ready(&attempt->more)) {
		attempt->more_fd = -1;
		host_attempt_on_wake(attempt);
	} else if (attempt->more_fd >= 0) {
		host_watch(host, &attempt->more, attempt->more_fd, WATCH_READ_ONCE);
	}
	if (takes_input(host, attempt) && take_ready(&attempt->in)) {
		read_input(host, attempt);
	}
	if (takes_input(host, attempt)) {
		host_watch(host, &attempt->in, attempt->in_fd, WATCH_READ_ONCE);
	}
}

// Sends waiting attempts, input and orders to stop; refuses attempts that cannot be sent.
static void process_attempts(struct host *host) {
	list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
		check_deadline(host, attempt);
		// a worker that takes no more jobs still transfers the files of its last jobs
		bool takes = takes_attempts(host) || (attempt->talk && host->phase == CONNECTION_BEGUN && host->connection->is_up);
		bool waits = attempt->state == ATTEMPT_WAITING;
		if (attempt->state == ATTEMPT_DOUBTED) {
			settle_doubt(host, attempt);
		} else if (waits && (!takes || attempt->order != ORDER_NONE)) {
			attempt->result.outcome = OUTCOME_CANCELLED;
			end_attempt(host, attempt, attempt->order == ORDER_NONE ? LOST_UNSENT : LOST_NOT);
		} else if (host->connection) {
			send_attempt(host, attempt, waits);
			serve_input(host, attempt);
		}
	}
}

static void serve_connection(struct host *host) {
	if (take_ready(&host->err)) {
		read_launcher_errors(host);
	}
	bool broken = (take_ready(&host->out) && !receive(host)) || host->launcher.in_fd < 0;
	if (host->now >= host->hosts->kill_at) {
		channel_break(&host->connection->channel, "killed");
	}
	if (broken || channel_why(&host->connection->channel)) {
		if (host->launcher.err_fd >= 0) {
			read_launcher_errors(host); // the launcher may have written why the connection has ended
			end_launcher_line(host);
		}
		disconnect(host);
	}
}

// Writes the next piece of the program that the machine has requested. Returns as channel_write() does.
static ssize_t write_program(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	struct channel *channel = &host->connection->channel;
	uint64_t before = host->program_at;
	int result = program_copy_send(&host->hosts->copy, &host->program_at, host->launcher.in_fd, &why);
	channel->has_sent = channel->has_sent || host->program_at > before;
	host->sends_program = result > 0;
	if (why.len > 0) {
		channel_break(channel, buf_str(&why));
	}
	return result;
}

// Writes the frames that wait to be sent. If the jobs are to be suspended or resumed, first queues a frame that tells the worker so.
static void write_frames(struct host *host) {
	struct hosts *hosts = host->hosts;
	if (hosts->suspending != host->connection->channel.is_suspended) {
		dispatcher_end_suspend(host->connection, hosts->suspending, host->now);
	}
	mutex_unlock(&hosts->lock);
	ssize_t left = host->sends_program ? write_program(host) : channel_write(&host->connection->channel, host->launcher.in_fd);
	mutex_lock(&hosts->lock);
	host_watch(host, &host->in, host->launcher.in_fd, left > 0 ? WATCH_WRITE : WATCH_NOT);
	if (left < 0) {
		fd_close(&host->launcher.in_fd);
	}
}

bool host_is_suspended(const struct host *host) {
	return !is_connected(host) || (host->connection->channel.is_suspended && host->in.what == WATCH_NOT);
}

// Releases a worker without attempts, if it is not wanted any more. Breaks the connection to a worker whose only jobs are those that were told to end
// and have not.
static void release_worker(struct host *host) {
	bool idle = list_is_empty(&host->attempts), leaving = host->connection->is_leaving;
	if (!host->wanted && !host->connection->is_up) {
		channel_break(&host->connection->channel, "the machine is not needed any more");
	} else if (idle && host->stuck > 0) {
		channel_break(&host->connection->channel, "a job there was told to end, but has not ended");
	} else if (idle && host->phase != CONNECTION_RELEASED && !host->wanted) {
		if (!host->login->is_pilot && !leaving) {
			host_down(host, "the run does not need it any more", /* was_up */ true, /* bye */ true);
		}
		host->phase = CONNECTION_RELEASED;
		dispatcher_end_bye(host->connection, "there is no more work for the worker");
	}
}

// Connects to the host if it is wanted, and the pause after the last connection is over. Returns when to call it again.
static uint64_t connect_if_due(struct host *host) {
	if (!host->wanted) {
		end_turn(host);
		host->retry_at = host->pause = 0; // the next connection is not delayed by earlier failures
		report_closed(host); // the host may be a pilot that was requested, and was cancelled before it began to connect
		return TIME_NEVER;
	}
	if (atomic_load_relaxed(&host->hosts->ending) != HOSTS_RUN) {
		return TIME_NEVER; // no attempt may start any more
	}
	if (host->now < host->retry_at) {
		return host->retry_at;
	}
	if (host->key == KEY_UNLOOKED && !(is_over_ssh(host) && may_ask(host))) {
		host->key = KEY_KNOWN;
	}
	uint64_t at = may_begin(host);
	if (at > 0) {
		return at;
	}
	if (host->key == KEY_UNLOOKED) {
		look_up_key(host);
	} else {
		connect(host);
	}
	return host->retry_at;
}

// Makes the next step to close the connection for good. Returns when to call it again.
static uint64_t close_step(struct host *host) {
	if (is_connected(host)) {
		disconnect(host);
	} else if (host->phase == CONNECTION_LOOKUP && !host->launcher.signal) {
		host->launcher.until = host->now;
	}
	verify(list_is_empty(&host->attempts));
	return host->phase == CONNECTION_NONE ? TIME_NEVER : host->launcher.until;
}

// If the time is over in which attempts wait for hosts that are being connected, lets these attempts take other hosts. Returns when that time ends.
static uint64_t end_spread(struct hosts *hosts, uint64_t now) {
	if (hosts->spread_until > 0 && now >= hosts->spread_until) {
		hosts->spread_until = 0;
		hosts_answer_requests(hosts);
	}
	return hosts->spread_until > 0 ? hosts->spread_until : TIME_NEVER;
}

uint64_t host_step(struct host *host) {
	host->now = now_ns();
	if (is_connected(host)) {
		serve_connection(host);
	} else if (host->phase != CONNECTION_NONE) {
		end_launcher(host);
	}
	if (host->hosts->closing) {
		return close_step(host);
	}
	uint64_t due = host->phase == CONNECTION_NONE ? connect_if_due(host) : TIME_NEVER;
	host->next_deadline = TIME_NEVER;
	if (is_connected(host) || !host->connection) { // else attempts wait until it is known how the launcher ends
		process_attempts(host);
	}
	if (is_connected(host)) {
		release_worker(host);
		due = time_earlier(dispatcher_end_tick(host->connection, host->now), host->hosts->kill_at);
		write_frames(host);
		due = host->launcher.in_fd < 0 || channel_why(&host->connection->channel) ? host->now : due;
	} else if (host->phase != CONNECTION_NONE) {
		due = host->launcher.until;
	}
	cond_broadcast(&host->hosts->changed); // hosts_suspend() may wait
	return time_earlier(time_earlier(due, host->next_deadline), end_spread(host->hosts, host->now));
}

// ---- life ----

void host_free(struct host *host) {
	buf_fini(&host->words);
	buf_fini(&host->brake);
	buf_fini(&host->brought);
	buf_fini(&host->line);
	free(host->argv);
	free(host);
}

struct host *host_new(struct hosts *hosts, const struct sshlogin *login, char **ret_error) {
	struct host *host = NEW(struct host);
	*host = (struct host){
		.hosts = hosts, .login = login, .node = login, .listed = login, .wanted = !login->is_pilot,
	};
	list_init(&host->attempts);
	list_init(&host->base_waiters);
	list_init(&host->open);
	list_init(&host->turn);
	list_init(&host->posted);
	int result = login->kind != SSHLOGIN_LOCAL ? sshlogin_argv(login, &hosts->worker, &host->words, ret_error) : 0;
	host->argv = payload_list(&host->words);
	if (result == 0 && host->argv[0] && !program_find(host->argv[0])) {
		result = error_text(ret_error, "cannot start '%s' for %s: %s", text_shows(host->argv[0]), login->name, strerror(errno));
	}
	if (result != 0) {
		host_free(host);
		return NULL;
	}
	return host;
}

void host_append(struct hosts *hosts, struct host *host) {
	grow_array(&hosts->hosts, &hosts->cap, hosts->n + 1, sizeof(struct host *));
	host->index = hosts->n;
	hosts->hosts[hosts->n++] = host;
}

void host_connect(struct host *host) {
	host->is_served = host->login->kind != SSHLOGIN_LOCAL;
	if (host->is_served) {
		host_post(host);
		return;
	}
	host->offered = hosts_slots_or_default(host->hosts, host->login);
	host->state = options_watch_machine(host->hosts->options) ? HOST_HELD : HOST_UP;
	host_set_slots(host);
}
