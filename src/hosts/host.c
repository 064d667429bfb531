// A machine: how it is made, the thread of its connection, and what follows from its worker's frames. The thread starts the launcher, moves bytes
// between the launcher, the protocol (dispatcher_end.h) and the attempts, and starts another launcher when that has ended. It waits in one poll().
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
	STACK_BYTES = 256 * 1024,
	READ_BYTES = 64 * 1024,
	BACKOFF_FIRST_S = 1, BACKOFF_MOST_S = 60,
	END_GRACE_MS = 2000,      // for a launcher whose pipes were closed
	DEADLINE_GRACE_MS = 1000, // for a job whose time is up: its worker should end it without an order
	KILL_GRACE_MS = 2000,     // for jobs on the other machine, after HOSTS_KILL
	LINES_MOST = 20,          // lines of a launcher that are passed on, for each connection, LINE_BYTES of each
	NOISE_IN_LINE = 200,      // bytes of the other end's noise in a message
	MESSAGE_MOST = 600,       // bytes of what a machine or its launcher says, as it is shown
	BEGIN_MOST = 8, BEGIN_S = 2, // most connections by ssh that are unanswered and younger than BEGIN_S (sshd's MaxStartups is 10:30:100)
	BEGIN_CHECK_MS = 50,
	KEY_S = 5,                // seconds that ssh-keygen may take
};

// Whether the host's worker takes attempts. On the host's thread.
static bool takes_attempts(const struct host *host) {
	return host->connection && host->connection->is_up && !host->connection->is_leaving;
}

static bool is_over_ssh(const struct host *host) {
	return host->login->kind == SSHLOGIN_SSH;
}

// ---- attempts ----

// Wakes the thread of the attempt. With the lock.
static void wake_attempt(struct host_attempt *attempt) {
	if (attempt->talk) {
		attempt->talk->ends = attempt->state == ATTEMPT_ENDED;
		cond_signal(&attempt->talk->heard);
	} else {
		wakeup_post(attempt->wake_fd);
	}
}

bool host_submit(struct host_attempt *attempt) {
	struct host *host = attempt->host;
	mutex_lock(&host->lock);
	enum hosts_ending ending = atomic_load_relaxed(&host->hosts->ending);
	bool taken = ending == HOSTS_RUN || (ending == HOSTS_TERMINATE && attempt->config->cleanup);
	if (taken) {
		attempt->number = ++host->last_number;
		list_push_back(&host->attempts, &attempt->link);
		wakeup_post(host->wake_fd);
	}
	mutex_unlock(&host->lock);
	return taken;
}

// Ends the attempt. From then on only the thread that waits for it uses it.
static void end_attempt(struct host *host, struct host_attempt *attempt, enum lost lost) {
	struct result *result = &attempt->result;
	bool has_run = lost != LOST_UNSENT && result->outcome != OUTCOME_SPAWN_ERROR && result->start > 0;
	bool is_natural = result->outcome <= OUTCOME_SIGNAL; // fairpar has not ended the process
	result->lost = lost;
	mutex_lock(&host->lock);
	attempt->state = ATTEMPT_ENDED;
	attempt->start = has_run && attempt->start == 0 ? result->start : attempt->start; // no `started` frame came
	attempt->is_doubted = host->login->is_slurm && lost == LOST_NOT && !attempt->talk && is_natural;
	host->ndoubted += attempt->is_doubted;
	list_remove(&attempt->link);
	wake_attempt(attempt); // with the lock: the thread that sees ATTEMPT_ENDED closes the descriptor
	mutex_unlock(&host->lock);
}

// Reads as much of the attempt's standard input as the worker takes, and sends it.
static void read_input(struct host *host, struct host_attempt *attempt) {
	size_t room = channel_room(&host->connection->channel, attempt->number);
	ssize_t n = read(attempt->in_fd, host->bytes, room < READ_BYTES ? room : READ_BYTES);
	if (n > 0) {
		channel_send_bytes(&host->connection->channel, attempt->number, /* stream */ 0, host->bytes, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		dispatcher_end_say(host->connection, FRAME_EOF, attempt->number, 0);
		fd_close(&attempt->in_fd);
	}
}

// ---- hosts that come and go ----

// Returns the login of the node of that name, or `otherwise` if the name is not valid. With hosts.lock.
static const struct sshlogin *find_node(struct hosts *hosts, const char *name, const struct sshlogin *otherwise) {
	size_t len = strlen(name);
	if (!slurm_is_node(name)) {
		return otherwise;
	}
	struct pilot_node *node = hosts->nodes;
	while (node && strcmp(node->name, name) != 0) {
		node = node->next;
	}
	if (!node) {
		node = xmalloc(sizeof(*node) + len + 1);
		memcpy(node->name, name, len + 1);
		node->login = (struct sshlogin){.kind = SSHLOGIN_LAUNCH, .is_pilot = true, .name = node->name, .host = node->name};
		node->next = hosts->nodes;
		hosts->nodes = node;
	}
	return &node->login;
}

// Whether another host, one of the binding's if `binding` is not NULL, has not failed. With hosts.lock.
static bool has_other_host(const struct host *host, const struct hosts_binding *binding) {
	const struct hosts *hosts = host->hosts;
	for (size_t i = 0; i < hosts->n && hosts->machines == 0; ++i) {
		const struct host *other = hosts->hosts[i];
		if (other != host && !host_has_failed(other) && !other->is_removed && (!binding || hosts_binding_has(binding, other))) {
			return true;
		}
	}
	return false;
}

// Returns the end of the message about a host that has failed: what becomes of its jobs. `reruns`: some ran there, and run again. With the lock.
static const char *retry_note(const struct host *host, bool reruns) {
	if (host->state == HOST_ENDED || host->is_removed) {
		return "";
	}
	list_for_each_entry(&host->hosts->bindings, const struct hosts_binding, binding, link) {
		if (hosts_binding_has(binding, host) && !has_other_host(host, binding) && host->was_up && has_other_host(host, NULL)) {
			return "; jobs that need it wait, others run elsewhere, and it is tried again";
		}
	}
	if (has_other_host(host, NULL)) {
		return reruns ? "; its jobs run again elsewhere, and it is tried again" : "; jobs go elsewhere, and it is tried again";
	}
	return reruns ? "; its jobs run again when it is back" : host->was_up ? "; it is tried again" : "";
}

// Notes and reports that the host takes no more jobs. `was_up`: its worker took attempts; else the connection has failed. `bye`: the worker has
// said goodbye, and its jobs go on; else they are lost.
static void host_down(struct host *host, const char *why, bool was_up, bool bye) {
	struct hosts *hosts = host->hosts;
	FP_CLEANUP(buf_fini) struct buf cause = BUF_INIT;
	buf_add_escaped(&cause, why, strlen(why), MESSAGE_MOST);
	mutex_lock(&host->lock);
	bool reruns = was_up && !hosts->options->at_most_once && !list_is_empty(&host->attempts);
	mutex_unlock(&host->lock);
	mutex_lock(&hosts->lock);
	bool is_pilot = host->login->is_pilot, has_ended = !was_up && host->login->kind == SSHLOGIN_LAUNCH && slurm_is_over(why);
	bool says = !is_pilot && !host_has_failed(host) && atomic_load_relaxed(&hosts->ending) == HOSTS_RUN && !(host->is_removed && bye);
	host->begun = 0;
	host->offered = 0;
	host->state = bye || is_pilot ? HOST_CONNECTING : was_up ? HOST_LOST : has_ended ? HOST_ENDED : HOST_UNREACHABLE;
	const char *what = was_up ? "the connection is lost" : has_ended ? "the allocation has ended" : "cannot connect";
	const char *next = retry_note(host, reruns);
	host_set_slots(host, 0, /* keeps */ false);
	if (host->is_removed) {
		host_want(host, false);
	}
	mutex_unlock(&hosts->lock);
	if (is_pilot) {
		pilots_on_down(host, why, was_up, bye);
		return;
	}
	if (says && bye) {
		diag_note("%s takes no more jobs: %s", host->login->name, buf_str(&cause));
	} else if (says) {
		diag_warn("%s: %s: %s%s", host->login->name, what, buf_str(&cause), next);
	}
	hosts_refresh_list(hosts); // the end of a job does so, too, but perhaps no job runs
	wakeup_post(hosts->wake_fd); // it may have been the last host
}

// ---- what the worker says ----

// Sends the environment that jobs there inherit: over ssh the variables that --env names, by --launch all. A pilot has all of it from srun, with the
// variables that Slurm adds, such as the number of its job and its devices.
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
	send_env(host);
	mutex_lock(&host->hosts->lock);
	bool is_back = host->state != HOST_CONNECTING || (host->was_up && !host->login->is_pilot);
	host->begun = 0;
	host->key = KEY_KNOWN;
	host->was_up = true;
	host->idle_since = now_ns();
	host->node = host->login->is_pilot ? find_node(host->hosts, hello->node, host->login) : host->login;
	host->offered = hello->slots < HOST_SLOTS_MOST ? hello->slots : HOST_SLOTS_MOST;
	host->state = HOST_UP;
	host_set_slots(host, host_target_slots(host), /* keeps */ false);
	if (host->login->is_pilot) {
		pilots_on_up(host);
	}
	mutex_unlock(&host->hosts->lock);
	if (is_back) {
		diag_note("%s: connected", host->login->name);
	}
}

// Called when the worker refuses attempts for now, because of `why`, while `jobs` run there; or, with `why` NULL, takes them again.
static void on_braked(void *arg, uint64_t jobs, const char *why) {
	struct host *host = arg;
	struct hosts *hosts = host->hosts;
	mutex_lock(&hosts->lock);
	bool says = why && host->brake.len == 0 && jobs == 0; // once
	if (why) {
		buf_reset(&host->brake);
		buf_add_escaped(&host->brake, why, strlen(why), MESSAGE_MOST);
	}
	if (host->state == HOST_UP || host->state == HOST_HELD) {
		host->state = why ? HOST_HELD : HOST_UP;
		cond_broadcast(&hosts->changed);
	}
	mutex_unlock(&hosts->lock);
	if (says) {
		diag_note("%s: waiting: %s", host->login->name, buf_str(&host->brake)); // no other thread changes host->brake
	}
}

void hosts_brake_here(struct hosts *hosts, const char *why) {
	struct host *here = NULL;
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n && !here; ++i) {
		here = hosts->hosts[i]->login->kind == SSHLOGIN_LOCAL ? hosts->hosts[i] : NULL;
	}
	unsigned used = here ? here->used : 0;
	mutex_unlock(&hosts->lock);
	if (here) {
		on_braked(here, used, why);
	}
}

static int on_program_requested(void *arg, const char *machine, struct buf *ret_bytes, struct buf *ret_why) {
	const struct host *host = arg;
	return is_over_ssh(host) ? program_copy_read(&host->hosts->copy, machine, ret_bytes, ret_why) : -1;
}

static void on_started(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	host->pause = 0; // only now: if a host connects but can start no job, the pauses before new connections must grow
	if (attempt) {
		mutex_lock(&host->lock);
		attempt->state = ATTEMPT_STARTED;
		attempt->start = host->now - (ago < host->now ? ago : 0);
		attempt->pid = (int)pid;
		wake_attempt(attempt);
		mutex_unlock(&host->lock);
	}
}

static void on_output(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (!attempt) { // the job is stuck: its output is dropped, so that the job can go on to its end
		channel_acknowledge(&host->connection->channel, job->number, n);
		return;
	}
	mutex_lock(&host->lock);
	attempt->wrote = true;
	buf_add(&attempt->out[stream - 1], bytes, n);
	wake_attempt(attempt);
	mutex_unlock(&host->lock);
}

// Sets the attempt's times by the clock of this machine. The `started` frame may have been on its way longer than `done`: so the end is at most now.
static void set_times(const struct host *host, struct host_attempt *attempt, uint64_t wall) {
	struct result *result = &attempt->result;
	bool never_started = attempt->start == 0 && result->outcome == OUTCOME_CANCELLED;
	uint64_t start = attempt->start ? attempt->start : host->now;
	result->end = never_started ? 0 : start + wall < host->now ? start + wall : host->now;
	result->start = never_started ? 0 : u64_minus(result->end, wall);
}

// Notes how many jobs on the host were told to end and have not, although their attempts count as ended here.
static void set_stuck(struct host *host, unsigned jobs) {
	mutex_lock(&host->hosts->lock);
	host->stuck = jobs;
	host_set_slots(host, host_target_slots(host), /* keeps */ true);
	mutex_unlock(&host->hosts->lock);
}

static void on_done(void *arg, const struct channel_job *job, const struct job_end *end) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (!attempt) {
		set_stuck(host, host->stuck - 1);
		return;
	}
	attempt->result = end->result;
	attempt->error = end->error;
	set_times(host, attempt, result_wall(&end->result));
	// a worker that got a signal cancels its jobs: they are lost, as if it had died
	bool is_lost = end->result.outcome == OUTCOME_CANCELLED && attempt->order_sent == ORDER_NONE;
	if (is_lost && !host->ended_jobs && !host->login->is_pilot) { // a pilot's end is no surprise
		host->ended_jobs = host->connection->is_leaving = true;
		host_down(host, "the worker has ended its jobs", /* was_up */ true, /* bye */ false);
	}
	end_attempt(host, attempt, is_lost ? LOST_SILENT : LOST_NOT);
}

// Notes when the connection ends (lost_at) or is about to (bye_at), and wakes the threads of attempts with is_doubted.
static void note_end(struct host *host, uint64_t *at) {
	mutex_lock(&host->lock);
	host->bye_at = 0; // may be from the previous connection
	*at = host->now;
	cond_broadcast(&host->changed);
	mutex_unlock(&host->lock);
}

static void on_bye(void *arg, const char *why) {
	struct host *host = arg;
	note_end(host, &host->bye_at);
	host_down(host, why, /* was_up */ true, /* bye */ true);
}

static void on_refused(void *arg, const struct channel_job *job, const char *why FP_UNUSED) {
	struct host *host = arg;
	if (job->owner) {
		end_attempt(host, job->owner, LOST_UNSENT);
	} else {
		set_stuck(host, host->stuck - 1);
	}
}

// Called when a job was told to stop, and has not ended in time: ends its attempt here all the same.
static void on_overdue(void *arg, struct channel_job *job) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	attempt->result = (struct result){.outcome = attempt->order_sent == ORDER_EXPIRE ? OUTCOME_TIMEOUT : OUTCOME_CANCELLED};
	set_times(host, attempt, attempt->start ? u64_minus(host->now, attempt->start) : 0);
	job->owner = NULL;
	set_stuck(host, host->stuck + 1); // first: its slot is not to be given to another job
	end_attempt(host, attempt, LOST_NOT);
}

static void on_lost(void *arg, const struct channel_job *job) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	if (attempt) {
		bool is_late = !job->is_unsent && attempt->order_sent == ORDER_EXPIRE; // counts as timed out although the worker has not answered
		attempt->result = (struct result){.outcome = OUTCOME_TIMEOUT, .start = attempt->start ? attempt->start : host->now, .end = host->now};
		end_attempt(host, attempt, is_late ? LOST_NOT : job->is_unsent ? LOST_UNSENT : LOST_SILENT);
	}
}

static const char *on_files(void *arg, struct channel_job *job, const struct wire_frame *frame) {
	struct host *host = arg;
	struct host_attempt *attempt = job->owner;
	mutex_lock(&host->lock);
	const char *why = attempt ? file_talk_post(attempt->talk, frame) : NULL;
	mutex_unlock(&host->lock);
	return why;
}

static const struct dispatcher_calls dispatcher_calls = {
	.hello = on_hello, .started = on_started, .output = on_output, .done = on_done, .refused = on_refused, .lost = on_lost,
	.bye = on_bye, .braked = on_braked, .overdue = on_overdue, .program_requested = on_program_requested,
	.files = on_files,
};

// ---- the connection ----

// Whether the launcher is ssh itself, and would ask the user about the machine's key. Does not resolve an alias of ssh_config(5).
static bool is_key_unknown(const struct host *host) {
	const struct sshlogin *login = host->login;
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	buf_printf(&name, login->port ? "[%s]:%s" : "%s", login->host, login->port);
	char *const argv[] = {"ssh-keygen", "-F", name.data, NULL};
	const struct launcher_config command = {.argv = argv, .env = host->hosts->env, .context = host->hosts->launch_context};
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool has_terminal = terminal >= 0;
	fd_close(&terminal);
	return has_terminal && strcmp(path_base(host->argv[0]), "ssh") == 0 && program_find(argv[0]) &&
	       launcher_run(&command, /* cut_fd */ -1, now_ns() + KEY_S * NS_PER_S, &out, &why) != 0;
}

// Returns 0 if a connection may begin now, and counts it; else when to ask again (now_ns() time). Only some connections by ssh begin
// at the same time, because many machines may be behind one gateway; those for which ssh may ask about a key begin one by one.
static uint64_t may_begin(struct host *host) {
	struct hosts *hosts = host->hosts;
	uint64_t now = host->now;
	unsigned n = 0;
	if (!is_over_ssh(host)) {
		return 0;
	}
	bool asks = false, is_unknown = host->key == KEY_UNLOOKED ? is_key_unknown(host) : host->key == KEY_UNKNOWN;
	mutex_lock(&hosts->lock);
	host->key = is_unknown ? KEY_UNKNOWN : KEY_KNOWN;
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct host *other = hosts->hosts[i];
		bool begins = other != host && other->begun > 0;
		n += begins && now < other->begun + BEGIN_S * NS_PER_S;
		asks = asks || (begins && is_unknown && other->key == KEY_UNKNOWN);
	}
	uint64_t at = n < BEGIN_MOST && !asks ? hosts->next_begin : now + (uint64_t)BEGIN_CHECK_MS * NS_PER_MS;
	host->begun = at <= now ? now : 0;
	hosts->next_begin = at <= now ? now + hosts->options->ssh_delay : hosts->next_begin;
	mutex_unlock(&hosts->lock);
	return at <= now ? 0 : at;
}

// Reports that the connection to a pilot has ended. Only host_want() opens it again, without a pause.
static void report_closed(struct host *host) {
	if (host->login->is_pilot) {
		mutex_lock(&host->lock);
		host->wanted = host->called = false;
		mutex_unlock(&host->lock);
		host->retry_at = 0;
		pilots_on_closed(host);
		wakeup_post(host->hosts->wake_fd); // it may have been the last pilot
	}
}

// Appends the last lines of the launcher, or if there are none, what the other end wrote before the protocol began: they may say why there is no
// connection.
static void add_launcher_text(const struct host *host, struct buf *text) {
	const char *before = host->last_lines[0], *said = host->last_lines[1], *noise = dispatcher_end_noise(host->connection);
	if (said[0]) {
		buf_printf(text, ": %s%s%s", before, before[0] ? "; " : "", said);
	} else if (noise[0]) {
		buf_adds(text, ": ");
		text_add_one_line(text, noise, strlen(noise), NOISE_IN_LINE);
	}
}

// Closes a connection that has ended, or that cannot be used any more, and ends its launcher and attempts. `why`: the reason; NULL: how the
// launcher has ended is the reason.
static void disconnect(struct host *host, const char *why) {
	char how[80];
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	note_end(host, &host->lost_at);
	mutex_lock(&host->lock);
	bool wanted = host->wanted, closing = host->closing || !wanted, reports = !host->closing && (wanted || !host->login->is_pilot);
	mutex_unlock(&host->lock);
	// a launcher that still connects does not notice that its pipes are closed
	uint64_t grace = closing && !host->connection->is_up ? 0 : (uint64_t)END_GRACE_MS * NS_PER_MS;
	launcher_end(&host->launcher, host->now + grace, how, sizeof(how));
	host->now = now_ns();
	buf_adds(&text, why ? why : how[0] ? how : "the connection has ended");
	if (!host->connection->is_up) {
		add_launcher_text(host, &text);
	}
	bool was_up = takes_attempts(host), bye = host->connection->is_leaving || !wanted;
	if (reports && (was_up || !bye)) {
		host_down(host, buf_str(&text), was_up, bye); // first, so that it gets no more attempts
	}
	channel_break(&host->connection->channel, buf_str(&text));
	dispatcher_end_lose_jobs(host->connection);
	dispatcher_end_free(host->connection);
	host->connection = NULL;
	host->pause = host->pause == 0 ? BACKOFF_FIRST_S : host->pause * 2 < BACKOFF_MOST_S ? host->pause * 2 : BACKOFF_MOST_S;
	host->retry_at = host->now + host->pause * NS_PER_S;
	report_closed(host);
}

static void connect(struct host *host) {
	struct spawn_error error;
	const struct hosts *hosts = host->hosts;
	bool prompts = is_over_ssh(host);
	const struct launcher_config config = {
		.argv = host->argv, .env = hosts->env, .context = prompts ? hosts->prompt_context : hosts->launch_context, .prompts = prompts,
	};
	buf_reset(&host->line);
	host->last_lines[0][0] = host->last_lines[1][0] = '\0';
	host->nlines = 0;
	host->released = host->ended_jobs = false;
	set_stuck(host, 0);
	if (launcher_start(&host->launcher, &config, &error) != 0) {
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		buf_printf(&why, "cannot start '%s': %s: %s", host->argv[0], spawn_step_name(error.step), strerror(error.error));
		host->pause = BACKOFF_MOST_S;
		host->retry_at = host->now + host->pause * NS_PER_S;
		host_down(host, buf_str(&why), /* was_up */ false, /* bye */ false);
		report_closed(host);
		return;
	}
	char mark[MARK_SIZE + 1];
	uint64_t random[2];
	random_bytes(random, sizeof(random));
	snprintf(mark, sizeof(mark), "%016llx%016llx", ull(random[0]), ull(random[1]));
	host->connection = dispatcher_end_new(&dispatcher_calls, host, mark, host->now);
	host->connection->channel.waits_for_greeting = host->login->is_pilot; // its launcher may wait in a queue
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
	ssize_t n = read(host->launcher.err_fd, host->bytes, READ_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		end_launcher_line(host);
		fd_close(&host->launcher.err_fd);
	}
	for (ssize_t i = 0; i < n; ++i) {
		char c = host->bytes[i];
		if (c == '\n') {
			end_launcher_line(host);
		} else if (c != '\r' && c != '\0' && host->line.len < LINE_BYTES - 1) {
			buf_addc(&host->line, c);
		}
	}
}

// Reads frames. Returns false if the connection has ended or is broken.
static bool receive(struct host *host) {
	ssize_t n = read(host->launcher.out_fd, host->bytes, READ_BYTES);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	return n > 0 && channel_receive(&host->connection->channel, host->bytes, (size_t)n, host->now) == 0;
}

// ---- the thread ----

// A worker enforces the timeouts of its jobs itself. If it has not done so, it may have died: then the attempt is expired from here. With the
// lock.
static void check_deadline(struct host *host, struct host_attempt *attempt) {
	if (attempt->state != ATTEMPT_STARTED || attempt->config->timeout == 0 || attempt->order != ORDER_NONE) {
		return;
	}
	uint64_t due = attempt->start + attempt->config->timeout + (uint64_t)DEADLINE_GRACE_MS * NS_PER_MS;
	if (due <= host->now) {
		attempt->order = ORDER_EXPIRE;
	} else if (due < host->next_deadline) {
		host->next_deadline = due;
	}
}

// With `begins`, sends the attempt, which waits. Sends what the attempt's thread has left for the worker, such as an order to stop. With the lock.
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
	for (unsigned stream = 1; stream <= 2; ++stream) {
		if (attempt->shut & ~attempt->shut_sent & stream) {
			dispatcher_end_say(host->connection, FRAME_SHUT, attempt->number, stream);
		}
	}
	attempt->shut_sent = attempt->shut;
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

// Sends waiting attempts and orders to stop; refuses attempts that cannot be sent.
static void process_attempts(struct host *host) {
	host->next_deadline = TIME_NEVER;
	mutex_lock(&host->lock);
	list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
		check_deadline(host, attempt);
		// a worker that leaves still takes the files of its last jobs
		bool takes = takes_attempts(host) || (attempt->talk && host->connection && host->connection->is_leaving && !host->released);
		bool waits = attempt->state == ATTEMPT_WAITING, refuses = waits && (!takes || attempt->order != ORDER_NONE);
		if (refuses) {
			enum lost lost = attempt->order == ORDER_NONE ? LOST_UNSENT : LOST_NOT;
			attempt->result.outcome = OUTCOME_CANCELLED;
			mutex_unlock(&host->lock);
			end_attempt(host, attempt, lost);
			mutex_lock(&host->lock);
		} else if (host->connection) {
			send_attempt(host, attempt, waits);
		}
	}
	mutex_unlock(&host->lock);
	if (atomic_load_relaxed(&host->hosts->ending) == HOSTS_KILL && host->kill_at == TIME_NEVER) {
		host->kill_at = host->now + (uint64_t)KILL_GRACE_MS * NS_PER_MS;
	}
}

enum { FD_WAKE, FD_OUT, FD_ERR, FD_IN, FD_ATTEMPTS };

// Waits until `due` for anything; `writes`: also until more can be written. The descriptors of the attempts' standard inputs stand behind the others,
// in their order.
static void wait_for_any(struct host *host, uint64_t due, bool writes) {
	host->polls.n = 0;
	polls_add(&host->polls, host->wake_fd, POLLIN);
	polls_add(&host->polls, host->connection ? host->launcher.out_fd : -1, POLLIN);
	polls_add(&host->polls, host->connection ? host->launcher.err_fd : -1, POLLIN);
	polls_add(&host->polls, writes ? host->launcher.in_fd : -1, POLLOUT);
	mutex_lock(&host->lock);
	list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
		bool runs = host->connection && (attempt->state == ATTEMPT_SENT || attempt->state == ATTEMPT_STARTED);
		bool reads = runs && attempt->in_fd >= 0 && channel_room(&host->connection->channel, attempt->number) > 0;
		polls_add(&host->polls, reads ? attempt->in_fd : -1, POLLIN);
	}
	mutex_unlock(&host->lock);
	if (poll(host->polls.at, host->polls.n, poll_ms(due)) <= 0) {
		for (size_t i = 0; i < host->polls.n; ++i) {
			host->polls.at[i].revents = 0;
		}
	}
	host->now = now_ns();
}

// Reads the standard inputs that poll() has reported. Since then no attempt has left the list, and new ones were added at its end.
static void serve_attempts(struct host *host) {
	size_t i = FD_ATTEMPTS;
	mutex_lock(&host->lock);
	list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
		if (i < host->polls.n && host->polls.at[i++].revents) {
			read_input(host, attempt);
		}
	}
	mutex_unlock(&host->lock);
}

static void serve_connection(struct host *host) {
	if (host->polls.at[FD_ERR].revents) {
		read_launcher_errors(host);
	}
	bool broken = (host->polls.at[FD_OUT].revents && !receive(host)) || host->launcher.in_fd < 0;
	if (host->now >= host->kill_at) {
		disconnect(host, "killed");
	} else if (broken || channel_why(&host->connection->channel)) {
		if (host->launcher.err_fd >= 0) {
			read_launcher_errors(host); // which may say why the connection has ended
			end_launcher_line(host);
		}
		disconnect(host, channel_why(&host->connection->channel));
	}
}

// Writes the frames that wait to be sent. If the jobs are to be suspended, it tells the worker so first; hosts_suspend() waits for that.
// Returns whether some frames have to wait until more can be written.
static bool write_frames(struct host *host) {
	struct hosts *hosts = host->hosts;
	bool suspending = atomic_load_relaxed(&hosts->suspending);
	ssize_t left = 0;
	if (host->connection) {
		if (suspending != host->connection->channel.is_suspended) {
			dispatcher_end_suspend(host->connection, suspending, host->now);
		}
		left = channel_write(&host->connection->channel, host->launcher.in_fd);
		if (left < 0) {
			fd_close(&host->launcher.in_fd);
		}
	}
	if (suspending && left == 0) {
		mutex_lock(&hosts->lock);
		host->is_suspended = true;
		cond_broadcast(&hosts->changed);
		mutex_unlock(&hosts->lock);
	}
	return left > 0;
}

// Releases a worker without attempts, if it is not wanted any more, or is a pilot that takes no more attempts. Disconnects from a
// worker whose only jobs are those that were told to end and have not.
static void release_worker(struct host *host) {
	mutex_lock(&host->lock);
	bool wanted = host->wanted, idle = list_is_empty(&host->attempts) && host->ndoubted == 0;
	mutex_unlock(&host->lock);
	bool leaving = host->connection->is_leaving;
	if (!wanted && !host->connection->is_up) {
		disconnect(host, "it is not needed any more");
	} else if (idle && host->stuck > 0) {
		disconnect(host, "a job there was told to end, and has not");
	} else if (idle && !host->released && (!wanted || (leaving && host->login->is_pilot))) {
		if (!host->login->is_pilot && !leaving) {
			host_down(host, "it is not needed any more", /* was_up */ true, /* bye */ true);
		}
		host->released = true;
		dispatcher_end_bye(host->connection, "there is no more work for it");
	}
}

// Connects if that is wanted and its time has come.
static void connect_if_due(struct host *host, bool wanted, bool called) {
	if (wanted && host->now >= host->retry_at) {
		if (atomic_load_relaxed(&host->hosts->ending) != HOSTS_RUN) {
			host->retry_at = TIME_NEVER; // no attempt may start any more
		} else if ((host->retry_at = may_begin(host)) == 0) {
			connect(host);
		}
	}
	if (!wanted) {
		host->retry_at = host->pause = 0; // the next connection is not delayed by earlier failures
	}
	if (!wanted && called) {
		report_closed(host); // the pilot was not wanted any more before it began to connect
	}
}

static void *host_main(void *arg) {
	struct host *host = arg;
	host->now = now_ns();
	for (;;) {
		mutex_lock(&host->lock);
		bool closing = host->closing, wanted = host->wanted, called = host->called;
		mutex_unlock(&host->lock);
		if (closing) {
			break;
		}
		if (!host->connection) {
			connect_if_due(host, wanted, called);
		}
		process_attempts(host);
		if (host->connection) {
			release_worker(host);
		}
		uint64_t due = host->connection ? dispatcher_end_tick(host->connection, host->now) : wanted ? host->retry_at : TIME_NEVER;
		bool writes = write_frames(host);
		due = host->connection && (host->launcher.in_fd < 0 || channel_why(&host->connection->channel)) ? host->now : due;
		due = time_earlier(due, host->connection ? time_earlier(host->next_deadline, host->kill_at) : host->next_deadline);
		wait_for_any(host, due, writes);
		if (host->polls.at[FD_WAKE].revents) {
			wakeup_clear(host->wake_fd);
		}
		serve_attempts(host);
		if (host->connection) {
			serve_connection(host);
		}
	}
	if (host->connection) {
		disconnect(host, NULL);
	}
	return NULL;
}

// ---- life ----

void host_free(struct host *host) {
	buf_fini(&host->words);
	buf_fini(&host->brake);
	buf_fini(&host->brought);
	buf_fini(&host->line);
	free(host->argv);
	fd_close(&host->wake_fd);
	cond_fini(&host->changed);
	mutex_fini(&host->lock);
	free(host->polls.at);
	free(host->bytes);
	free(host);
}

struct host *host_new(struct hosts *hosts, const struct sshlogin *login, char **ret_error) {
	struct host *host = NEW(struct host);
	*host = (struct host){
		.hosts = hosts, .login = login, .node = login, .listed = login, .wanted = !login->is_pilot, .wake_fd = -1, .kill_at = TIME_NEVER,
	};
	list_init(&host->attempts);
	mutex_init(&host->lock, LOCK_HOST);
	cond_init(&host->changed);
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

int host_connect(struct host *host) {
	if (host->login->kind == SSHLOGIN_LOCAL) {
		host->offered = hosts_slots_or_default(host->hosts, host->login);
		host->state = options_watch_machine(host->hosts->options) ? HOST_HELD : HOST_UP;
		host_set_slots(host, host_target_slots(host), /* keeps */ false);
		return 0;
	}
	host->bytes = xmalloc(READ_BYTES);
	host->wake_fd = wakeup_open();
	int error = host->wake_fd < 0 ? errno : thread_start(&host->thread, host_main, host, STACK_BYTES);
	host->has_thread = !error;
	return result_of(error);
}
