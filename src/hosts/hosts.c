// The slots of a run that are on several machines: one link for each of the others, and the count of the slots of all.
//
// A host has slots while it is up; the pool is told of each that comes and goes. An attempt whose connection is lost ends with
// result.lost, and exec/job_run.c runs it again, which takes a place anew. As its slots went with the connection, it waits for one
// elsewhere, or until the connection is back.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"
#include "hosts/host_command.h"
#include "hosts/host_files.h"
#include "hosts/pilots.h"
#include "remote/channel.h"
#include "remote/link.h"
#include "remote/payload.h"
#include "remote/program_copy.h"
#include "remote/slurm.h"
#include "remote/sshlogin.h"
#include "shell/shell.h"
#include "slots/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HOST_SLOTS_MOST = 4096,    // if a worker offers more, this many are used
	MESSAGE_MOST = 600,        // bytes of what a machine or its launcher says, as it is shown
	SUSPEND_WAIT_S = 1,
	SPREAD_S = 1,              // the first jobs are spread over machines that have not answered yet
	BEGIN_MOST = 8, BEGIN_S = 2, // connections by ssh that begin at once, while they have not answered for so long: sshd's MaxStartups is 10:30:100
	BEGIN_CHECK_MS = 50,
	KEY_S = 5,                 // that ssh-keygen may take
};

// A node on which a pilot has connected: messages and logs name the pilot by the login of its node.
struct pilot_node {
	struct sshlogin login;
	struct pilot_node *next;
	char name[];
};

// ---- as an executor ----

// The result of an attempt that ended with its connection, or did not get there.
static void set_lost_result(struct hosts *hosts, enum link_end end, bool wrote, struct result *ret_result) {
	mutex_lock(&hosts->lock);
	bool cancelled = hosts->terminating;
	mutex_unlock(&hosts->lock);
	uint64_t now = now_ns(), start = ret_result->start ? ret_result->start : now;
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	if (!cancelled) {
		*ret_result = (struct result){
			.outcome = OUTCOME_SIGNAL, .term_signal = SIGKILL, .start = start, .end = now,
			.lost = end == LINK_REFUSED ? LOST_UNSENT : wrote ? LOST_WROTE : LOST_SILENT,
		};
	}
}

// Returns the directory of the job there, by --workdir or the manifest. "." is this directory, relative to the login directory if it is below.
static const char *find_dir(const struct hosts *hosts, const struct child_config *config) {
	const char *dir = config->context->cwd;
	if (dir && hosts->options->own_workdir) {
		return dir + strlen(getenv("HOME")) + 1; // --workdir ...: below the login directory there
	}
	return dir && strcmp(dir, ".") == 0 ? hosts->dot : dir;
}

static struct transfer transfer_at(const struct hosts_host *host, const char *dir, const struct child_config *of) {
	return (struct transfer){.link = host->link, .host = host->login->name, .dir = dir, .of = of, .told_shared = &host->hosts->told_shared};
}

static void execute(void *arg, const struct child_config *config, struct result *ret_result, struct spawn_error *ret_error) {
	struct hosts *hosts = arg;
	const struct hosts_place *place = config->place;
	if (!place || !place->host->link) {
		hosts->inner.run(hosts->inner.arg, config, ret_result, ret_error);
		return;
	}
	// a fairpar in a job elsewhere is not to look for this one there
	char *unset[] = {"FAIRPAR_SOCK", "FAIRPAR_CONTROL", NULL}, **env = payload_env(config->env, NULL, unset);
	struct child_config sent = *config;
	sent.env = env;
	struct payload_context context = {
		.base = hosts->context->env,
		.copies_context = place->host->login->kind == SSHLOGIN_LAUNCH,
		.dir = find_dir(hosts, config),
		.makes_dir = place->host->login->kind != SSHLOGIN_LAUNCH || hosts->options->workdir,
	};
	bool wrote;
	const struct transfer transfer = transfer_at(place->host, context.dir, &sent);
	enum link_end end = place->files && place->host->files
		? host_files_run(place->host->files, &transfer, place->files, &context, hosts->cwd, ret_result, ret_error, &wrote)
		: link_run(place->host->link, &sent, &context, hosts->cwd, ret_result, ret_error, &wrote);
	if (end != LINK_DONE) {
		set_lost_result(hosts, end, wrote, ret_result);
	}
	free(env);
}

static void set_terminating(struct hosts *hosts) {
	mutex_lock(&hosts->lock);
	hosts->terminating = true;
	cond_broadcast(&hosts->changed);
	mutex_unlock(&hosts->lock);
}

struct hosts_host *hosts_at(struct hosts *hosts, size_t i) {
	mutex_lock(&hosts->lock);
	struct hosts_host *host = i < hosts->n ? hosts->hosts[i] : NULL;
	mutex_unlock(&hosts->lock);
	return host;
}

// The link of the next host that has one, from *i on, which is set behind it; or NULL.
static struct host_link *next_link(struct hosts *hosts, size_t *i) {
	const struct hosts_host *host;
	while ((host = hosts_at(hosts, *i))) {
		++*i;
		if (host->link) {
			return host->link;
		}
	}
	return NULL;
}

static void each_link(struct hosts *hosts, void (*fn)(struct host_link *link)) {
	struct host_link *link;
	for (size_t i = 0; (link = next_link(hosts, &i));) {
		fn(link);
	}
}

static void terminate(void *arg) {
	struct hosts *hosts = arg;
	set_terminating(hosts);
	each_link(hosts, link_terminate);
	hosts->inner.terminate(hosts->inner.arg);
}

static void kill_all(void *arg) {
	struct hosts *hosts = arg;
	set_terminating(hosts);
	each_link(hosts, link_kill);
	hosts->inner.kill(hosts->inner.arg);
}

static void cancel(void *arg, const void *origin, uint64_t now) {
	struct hosts *hosts = arg;
	struct host_link *link;
	for (size_t i = 0; (link = next_link(hosts, &i));) {
		link_cancel(link, origin);
	}
	executor_cancel(&hosts->inner, origin, now);
}

static uint64_t expire(void *arg, uint64_t limit, uint64_t now) {
	struct hosts *hosts = arg;
	uint64_t next = executor_expire(&hosts->inner, limit, now);
	struct host_link *link;
	for (size_t i = 0; (link = next_link(hosts, &i));) {
		uint64_t due = link_expire(link, limit, now);
		next = due < next ? due : next;
	}
	return next;
}

struct executor hosts_executor(struct hosts *hosts, const struct executor *inner) {
	hosts->inner = *inner;
	return (struct executor){.run = execute, .terminate = terminate, .kill = kill_all, .arg = hosts,
	                         .ender = {.cancel = cancel, .expire = expire, .arg = hosts}};
}

void hosts_suspend(struct hosts *hosts, bool begins) {
	uint64_t until = now_ns() + SUSPEND_WAIT_S * NS_PER_S;
	struct host_link *link;
	for (size_t i = 0; hosts && (link = next_link(hosts, &i));) {
		link_suspend(link, begins);
	}
	for (size_t i = 0; hosts && begins && (link = next_link(hosts, &i));) {
		link_await_suspended(link, until);
	}
}

void hosts_each(struct hosts *hosts, void (*fn)(void *arg, const struct child_view *view), void *arg) {
	const struct hosts_host *host;
	for (size_t i = 0; hosts && (host = hosts_at(hosts, i)); ++i) {
		mutex_lock(&hosts->lock);
		const char *name = host->node->name; // which lives as long as the run
		mutex_unlock(&hosts->lock);
		if (host->link) {
			link_each(host->link, name, fn, arg);
		}
	}
}

unsigned hosts_count(struct hosts *hosts) {
	unsigned n = 0;
	struct host_link *link;
	for (size_t i = 0; hosts && (link = next_link(hosts, &i));) {
		n += link_count(link);
	}
	return n;
}

// ---- hosts that come and go; on the threads of their links ----

// The slots that the pool has from all hosts. With the lock.
static unsigned count_slots(const struct hosts *hosts) {
	unsigned all = 0;
	for (size_t i = 0; i < hosts->n; ++i) {
		all += hosts->hosts[i]->slots + hosts->hosts[i]->excess;
	}
	return all;
}

void hosts_set_slots(struct hosts_host *host, unsigned slots, bool keeps) {
	struct hosts *hosts = host->hosts;
	unsigned before = host->slots + host->excess, over = host->used > slots ? host->used - slots : 0;
	bool changed = slots != host->slots;
	host->slots = slots;
	host->excess = keeps || over < host->excess ? over : host->excess;
	host->reserved_by = slots > 0 ? host->reserved_by : NULL; // its waiter reserves another host
	unsigned all = count_slots(hosts), were = all - (host->slots + host->excess) + before;
	if ((all == 0) != (were == 0)) {
		atomic_store_relaxed(all == 0 ? &hosts->down_since : &hosts->up_since, now_ns());
	}
	cond_broadcast(&hosts->changed);
	if (hosts->pool && hosts->machines == 0 && host->slots + host->excess != before) {
		pool_add_slots(hosts->pool, (int)(host->slots + host->excess) - (int)before);
	}
	if (hosts->pool && hosts->machines == 0 && changed) {
		hosts_limit_queues(hosts);
	}
}

// The slots that the options give the machine; 0: its worker decides.
static unsigned configured_slots(const struct hosts *hosts, const struct sshlogin *login) {
	char jobs[SSHLOGIN_JOBS_TEXT], *end;
	if (hosts->machines > 0) {
		return 1;
	}
	if (sshlogin_jobs(login, hosts->options->jobs, jobs) != 0 || !jobs[0]) {
		return 0;
	}
	unsigned long slots = strtoul(jobs, &end, 10);
	return *end == '\0' && jobs[0] != '+' && jobs[0] != '-' ? slots < HOST_SLOTS_MOST ? (unsigned)slots : HOST_SLOTS_MOST : 0;
}

// The same, or the number of this machine's slots if the worker decides.
static unsigned slots_or_default(const struct hosts *hosts, const struct sshlogin *login) {
	unsigned given = configured_slots(hosts, login);
	return given > 0 ? given : hosts->here;
}

unsigned hosts_target_slots(const struct hosts_host *host) {
	struct sshlogin login = *host->login;
	login.cpus = host->cpus;
	unsigned given = host->cpus != host->login->cpus ? configured_slots(host->hosts, &login) : 0;
	return host->is_removed || host->offered == 0 ? 0 : (unsigned)minus(given > 0 ? given : host->offered, host->stuck);
}

// Whether ssh itself is to connect, and would ask about the machine's key. A name of ssh_config(5) is looked for as it is.
static bool is_key_unknown(const struct hosts_host *host) {
	const struct sshlogin *login = host->login;
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	buf_printf(&name, login->port ? "[%s]:%s" : "%s", login->host, login->port);
	char *const argv[] = {"ssh-keygen", "-F", name.data, NULL};
	const struct host_command command = {
		.argv = argv, .env = host->hosts->env, .context = host->hosts->launch_context, .cut_fd = -1, .until = now_ns() + KEY_S * NS_PER_S,
	};
	return host->hosts->has_terminal && strcmp(path_base(host->path), "ssh") == 0 && program_find(argv[0]) &&
	       host_command_run(&command, &out, &why) != 0;
}

// As link_calls.begins, for machines over ssh, of which many may be behind one. Those whose key may be asked about begin one after another.
static uint64_t on_begin(void *arg, uint64_t now) {
	struct hosts_host *host = arg;
	struct hosts *hosts = host->hosts;
	unsigned n = 0;
	bool asks = false, is_unknown = host->key == KEY_UNLOOKED ? is_key_unknown(host) : host->key == KEY_UNKNOWN;
	mutex_lock(&hosts->lock);
	host->key = is_unknown ? KEY_UNKNOWN : KEY_KNOWN;
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct hosts_host *other = hosts->hosts[i];
		n += other != host && other->begun > 0 && now < other->begun + BEGIN_S * NS_PER_S;
		asks = asks || (is_unknown && other != host && other->begun > 0 && other->key == KEY_UNKNOWN);
	}
	uint64_t at = n < BEGIN_MOST && !asks ? hosts->next_begin : now + (uint64_t)BEGIN_CHECK_MS * NS_PER_MS;
	host->begun = at <= now ? now : 0;
	hosts->next_begin = at <= now ? now + hosts->options->ssh_delay : hosts->next_begin;
	mutex_unlock(&hosts->lock);
	return at <= now ? 0 : at;
}

static void on_up(void *arg, const struct worker_hello *hello) {
	struct hosts_host *host = arg;
	mutex_lock(&host->hosts->lock);
	host->begun = 0;
	host->key = KEY_KNOWN;
	bool is_back = host->has_failed || (host->was_up && !host->login->is_pilot);
	host->was_up = true;
	host->has_failed = host->is_unreachable = host->is_braked = false;
	host->idle_since = now_ns();
	host->stuck = 0;
	host->offered = hello->slots < HOST_SLOTS_MOST ? hello->slots : HOST_SLOTS_MOST;
	hosts_set_slots(host, hosts_target_slots(host), /* keeps */ false);
	mutex_unlock(&host->hosts->lock);
	if (is_back) {
		diag_note("%s: connected", host->login->name);
	}
}

// Is there another host, of these if `binding` is not NULL, that has not failed? With the lock.
static bool has_other_host(const struct hosts_host *host, const struct hosts_binding *binding) {
	const struct hosts *hosts = host->hosts;
	for (size_t i = 0; i < hosts->n && hosts->machines == 0; ++i) {
		const struct hosts_host *other = hosts->hosts[i];
		if (other != host && !other->has_failed && !other->is_removed && (!binding || binding->includes[i])) {
			return true;
		}
	}
	return false;
}

// Returns the part of the message that a host has failed which says where its jobs go. `reruns`: some ran there, and are run again. With the lock.
static const char *retry_note(const struct hosts_host *host, bool reruns) {
	if (host->allocation_ended || host->is_removed) {
		return "";
	}
	list_for_each_entry(&host->hosts->bindings, const struct hosts_binding, binding, link) {
		if (binding->includes[host->index] && !has_other_host(host, binding) && host->was_up && has_other_host(host, NULL)) {
			return "; jobs that need it wait, others run elsewhere, and it is tried again";
		}
	}
	if (has_other_host(host, NULL)) {
		return reruns ? "; its jobs run again elsewhere, and it is tried again" : "; jobs go elsewhere, and it is tried again";
	}
	return reruns ? "; its jobs run again when it is back" : host->was_up ? "; it is tried again" : "";
}

static void on_down(void *arg, const char *why, bool was_up, bool bye) {
	struct hosts_host *host = arg;
	FP_CLEANUP(buf_fini) struct buf cause = BUF_INIT;
	buf_add_escaped(&cause, why, strlen(why), MESSAGE_MOST);
	struct hosts *hosts = host->hosts;
	mutex_lock(&hosts->lock);
	host->begun = 0;
	bool says = !host->has_failed && !hosts->terminating && !(host->is_removed && bye);
	host->has_failed = host->has_failed || !bye;
	host->is_unreachable = !was_up && !bye;
	host->allocation_ended = host->is_unreachable && host->login->kind == SSHLOGIN_LAUNCH && slurm_is_over(why);
	const char *what = was_up ? "the connection is lost" : host->allocation_ended ? "the allocation has ended" : "cannot connect";
	const char *next = retry_note(host, was_up && !hosts->options->at_most_once && link_count(host->link) > 0);
	host->offered = 0;
	hosts_set_slots(host, 0, /* keeps */ false);
	if (host->is_removed) {
		link_release(host->link);
	}
	mutex_unlock(&hosts->lock);
	if (says && bye) {
		diag_note("%s takes no more jobs: %s", host->login->name, buf_str(&cause));
	} else if (says) {
		diag_warn("%s: %s: %s%s", host->login->name, what, buf_str(&cause), next);
	}
	hosts_refresh_list(hosts); // the end of a job does so, too, but none may run
	hosts->wake(hosts->wake_arg); // it may have been the last host
}

static void on_braked(void *arg, uint64_t jobs, const char *why) {
	struct hosts_host *host = arg;
	struct hosts *hosts = host->hosts;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	mutex_lock(&hosts->lock);
	bool says = why && host->brake.len == 0 && jobs == 0; // once
	host->is_braked = why;
	if (why) {
		buf_reset(&host->brake);
		buf_add_escaped(&host->brake, why, strlen(why), MESSAGE_MOST);
		buf_adds(&text, buf_str(&host->brake));
	}
	cond_broadcast(&hosts->changed);
	mutex_unlock(&hosts->lock);
	if (says) {
		diag_note("%s: waiting: %s", host->login->name, buf_str(&text));
	}
}

static void on_stuck(void *arg, unsigned jobs) {
	struct hosts_host *host = arg;
	mutex_lock(&host->hosts->lock);
	host->stuck = jobs;
	hosts_set_slots(host, hosts_target_slots(host), /* keeps */ true);
	mutex_unlock(&host->hosts->lock);
}

static void on_launcher_line(void *arg, const char *line) {
	const struct hosts_host *host = arg;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_add_escaped(&text, line, strlen(line), MESSAGE_MOST);
	diag_note("%s: %s", host->login->name, buf_str(&text));
}

// ---- pilots: hosts that are requested from Slurm while there is work ----

static unsigned pilot_index(const struct hosts_host *host) {
	return (unsigned)(host->index - host->hosts->first_pilot);
}

// Returns the login of the node of that name, or `otherwise` if the name is not valid. With the lock.
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

static void on_pilot_up(void *arg, const struct worker_hello *hello) {
	struct hosts_host *host = arg;
	mutex_lock(&host->hosts->lock);
	host->node = find_node(host->hosts, hello->node, host->login);
	mutex_unlock(&host->hosts->lock);
	on_up(host, hello);
	pilots_on_up(host->hosts->pilots, pilot_index(host));
}

static void on_pilot_down(void *arg, const char *why, bool was_up, bool bye) {
	struct hosts_host *host = arg;
	mutex_lock(&host->hosts->lock);
	hosts_set_slots(host, 0, /* keeps */ false);
	mutex_unlock(&host->hosts->lock);
	pilots_on_down(host->hosts->pilots, pilot_index(host), why, was_up, bye);
}

static void on_pilot_closed(void *arg) {
	const struct hosts_host *host = arg;
	pilots_on_closed(host->hosts->pilots, pilot_index(host));
	host->hosts->wake(host->hosts->wake_arg); // it may have been the last
}

// As pilots_calls.demand; 0 while the run ends.
static unsigned pilots_demand(void *arg, unsigned most) {
	struct hosts *hosts = arg;
	mutex_lock(&hosts->lock);
	unsigned demand = hosts->pool && !hosts->terminating ? hosts->waiting + pool_demand(hosts->pool, most) : 0;
	mutex_unlock(&hosts->lock);
	return demand;
}

static uint64_t pilots_idle_since(void *arg, unsigned pilot) {
	struct hosts *hosts = arg;
	mutex_lock(&hosts->lock);
	const struct hosts_host *host = hosts->hosts[hosts->first_pilot + pilot];
	uint64_t idle_since = host->used > 0 ? TIME_NEVER : host->idle_since;
	mutex_unlock(&hosts->lock);
	return idle_since;
}

static void pilots_request(void *arg, unsigned pilot) {
	struct hosts *hosts = arg;
	link_connect(hosts_at(hosts, hosts->first_pilot + pilot)->link);
}

static bool pilots_release(void *arg, unsigned pilot) {
	struct hosts *hosts = arg;
	struct hosts_host *host = hosts_at(hosts, hosts->first_pilot + pilot);
	mutex_lock(&hosts->lock);
	bool is_idle = host->used == 0;
	if (is_idle) {
		hosts_set_slots(host, 0, /* keeps */ false);
	}
	mutex_unlock(&hosts->lock);
	if (is_idle) {
		link_release(host->link);
	}
	return is_idle;
}

static void pilots_wake(void *arg) {
	const struct hosts *hosts = arg;
	hosts->wake(hosts->wake_arg);
}

void hosts_starving(struct hosts *hosts) {
	if (hosts && hosts->pilots) {
		pilots_check(hosts->pilots);
	}
}

// Returns 0, or -1 with errno.
static int open_pilots(struct hosts *hosts) {
	const struct sshlogin *first = &hosts->options->hosts.logins[hosts->first_pilot];
	const struct pilots_config config = {
		.name = hosts->options->pilot_name,
		.n = (unsigned)hosts->npilots,
		.slots = slots_or_default(hosts, first),
		.env = hosts->env,
		.context = hosts->context,
		.calls = {.demand = pilots_demand, .idle_since = pilots_idle_since, .request = pilots_request, .release = pilots_release,
		          .wake = pilots_wake, .arg = hosts},
	};
	hosts->pilots = pilots_open(&config);
	return hosts->pilots ? 0 : -1;
}

bool hosts_are_unreachable(struct hosts *hosts) {
	bool none = hosts->machines == 0 && (!hosts->pilots || pilots_are_lost(hosts->pilots)); // with --onall each job fails by itself
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n && none; ++i) {
		const struct hosts_host *host = hosts->hosts[i];
		none = host->login->is_pilot || host->allocation_ended || ((host->has_failed || host->is_removed) && !host->was_up);
	}
	mutex_unlock(&hosts->lock);
	return none;
}

// ---- life ----

// Makes the command line of the launcher. Returns 0, or -1 with *ret_error.
static int build_argv(struct hosts_host *host, const struct sshlogin_worker *worker, char **ret_error) {
	size_t n;
	if (sshlogin_argv(host->login, worker, &host->words, &n, ret_error) != 0) {
		return -1;
	}
	host->argv = xcalloc(n + 1, sizeof(*host->argv));
	char *at = host->words.data;
	for (size_t i = 0; i < n; ++i) {
		host->argv[i] = at;
		at += strlen(at) + 1;
	}
	return 0;
}

static void add_variable(struct buf *buf, const char *variable) {
	buf_add(buf, variable, strlen(variable) + 1);
}

// Returns the directory relative to $HOME if it is below, else as it is: what "." of --workdir means to GNU parallel.
static const char *find_dot(const char *cwd) {
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	if (!cwd || len == 0 || strncmp(cwd, home, len) != 0 || (cwd[len] != '/' && cwd[len] != '\0')) {
		return cwd ? cwd : ".";
	}
	return cwd[len] ? cwd + len + 1 : ".";
}

// Copies what jobs elsewhere inherit: over ssh what --env names, by --launch all. A pilot has all of it from srun, with what Slurm
// adds: its number, and which devices are its own.
static void choose_env(struct hosts *hosts) {
	for (char *const *at = hosts->env; *at; ++at) {
		add_variable(&hosts->whole_env, *at);
		if (option_env_has(hosts->options, *at)) {
			add_variable(&hosts->sent_env, *at);
		}
	}
}

void hosts_free_host(struct hosts_host *host) {
	host_files_close(host->files, NULL);
	buf_fini(&host->words);
	buf_fini(&host->brake);
	free(host->argv);
	free(host);
}

struct hosts_host *hosts_make_host(struct hosts *hosts, const struct sshlogin *login, char **ret_error) {
	const struct options *options = hosts->options;
	struct hosts_host *host = NEW(struct hosts_host);
	*host = (struct hosts_host){.hosts = hosts, .login = login, .node = login, .cpus = login->cpus};
	int result = login->kind != SSHLOGIN_LOCAL ? build_argv(host, &hosts->worker, ret_error) : 0;
	if (result == 0 && host->argv && !(host->path = program_find(host->argv[0]))) {
		result = error_text(ret_error, "cannot start '%s' for %s: %s", text_shows(host->argv[0]), login->name, strerror(errno));
	}
	if (result != 0) {
		hosts_free_host(host);
		return NULL;
	}
	if (login->kind == SSHLOGIN_SSH) {
		bool is_dot = options->workdir && strcmp(options->workdir, ".") == 0;
		host->files = host_files_open(options, is_dot ? hosts->dot : options->workdir);
	}
	return host;
}

static void append_host(struct hosts *hosts, struct hosts_host *host) {
	grow_array(&hosts->hosts, &hosts->cap, hosts->n + 1, sizeof(struct hosts_host *));
	host->index = hosts->n;
	hosts->hosts[hosts->n++] = host;
}

int hosts_open(const struct options *options, const struct context *context, unsigned here, struct hosts **ret_hosts) {
	if (!sshlogins_has_remote(&options->hosts) && !options->onall) {
		return 0;
	}
	struct hosts *hosts = *ret_hosts = NEW(struct hosts);
	*hosts = (struct hosts){.options = options, .context = context, .here = here, .cwd = getcwd(NULL, 0)};
	hosts->machines = !options->onall ? 0 : options->machines && options->machines < options->hosts.n ? options->machines : (unsigned)options->hosts.n;
	hosts->self = realpath("/proc/self/exe", NULL);
	hosts->self = hosts->self ? hosts->self : xstrdup("fairpar");
	hosts->dot = find_dot(hosts->cwd);
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	hosts->has_terminal = terminal >= 0;
	fd_close(&terminal);
	program_copy_find(hosts->self, &hosts->copy);
	atomic_store_relaxed(&hosts->next_list_check, TIME_NEVER);
	list_init(&hosts->bindings);
	list_init(&hosts->waiters);
	mutex_init(&hosts->lock, LOCK_HOSTS);
	cond_init(&hosts->changed);
	term_seq_write(&options->term_seq, &hosts->term_seq);
	const char *program = getenv("FAIRPAR_REMOTE");
	hosts->worker = (struct sshlogin_worker){
		.ssh = options->ssh, .jobs = options->onall ? "1" : options->jobs, .program = program && *program ? program : NULL, .self = hosts->self,
		.term_seq = buf_str(&hosts->term_seq), .load = options->load, .memfree = options->memfree, .copy = &hosts->copy,
	};
	int result = 0;
	for (size_t i = 0; i < options->hosts.n && result == 0; ++i) {
		char *error;
		struct hosts_host *host = hosts_make_host(hosts, &options->hosts.logins[i], &error);
		result = host ? 0 : diag_error_free(error);
		if (host) {
			append_host(hosts, host);
			hosts->first_pilot += !host->login->is_pilot; // they stand behind all others
			hosts->npilots += host->login->is_pilot;
		}
	}
	return result;
}

unsigned hosts_estimate_slots(const struct hosts *hosts) {
	unsigned slots = 0;
	for (size_t i = 0; i < hosts->n && hosts->machines == 0; ++i) {
		slots += slots_or_default(hosts, hosts->hosts[i]->login);
	}
	return hosts->machines > 0 ? hosts->machines : slots;
}

void hosts_detach(struct hosts *hosts) {
	if (hosts) {
		mutex_lock(&hosts->lock);
		hosts->pool = NULL;
		mutex_unlock(&hosts->lock);
	}
}

// Adds the signals that the terminal sends. OpenSSH leaves ignored signals ignored, except while it prompts.
static void ignore_terminal(sigset_t *ignored) {
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); ++i) {
		sigaddset(ignored, signals[i]);
	}
}

// Returns NULL with errno.
static struct host_link *open_link(struct hosts_host *host) {
	const struct hosts *hosts = host->hosts;
	bool prompts = host->login->kind == SSHLOGIN_SSH, is_pilot = host->login->is_pilot;
	struct link_config config = {
		.launcher = {.path = host->path, .argv = host->argv, .env = hosts->env, .context = prompts ? hosts->prompt_context : hosts->launch_context, .prompts = prompts},
		.env = is_pilot ? (struct buf)BUF_INIT : host->login->kind == SSHLOGIN_LAUNCH ? hosts->whole_env : hosts->sent_env,
		.adds_env = host->login->kind != SSHLOGIN_LAUNCH,
		.copy = prompts ? &hosts->copy : NULL,
		.stop_takes = term_seq_length(&hosts->options->term_seq),
		.on_demand = is_pilot,
		.calls = {.up = is_pilot ? on_pilot_up : on_up, .down = is_pilot ? on_pilot_down : on_down, .braked = on_braked,
		          .begins = prompts ? on_begin : NULL,
		          .stuck = on_stuck, .doubted = host->login->is_slurm ? hosts_doubt_place : NULL,
		          .message = on_launcher_line, .closed = on_pilot_closed, .arg = host},
	};
	return link_open(&config);
}

// Connects to the host, unless it is this one. Returns 0, or -1 with errno.
static int connect_host(struct hosts_host *host) {
	if (host->login->kind != SSHLOGIN_LOCAL) {
		host->link = open_link(host);
		return host->link ? 0 : -1;
	}
	host->offered = slots_or_default(host->hosts, host->login);
	hosts_set_slots(host, hosts_target_slots(host), /* keeps */ false);
	return 0;
}

int hosts_insert_host(struct hosts *hosts, struct hosts_host *host) {
	append_host(hosts, host); // callbacks of the link wait for the lock
	hosts_bind_host(hosts, host, host->login); // first: its slots count for the queues of the batches that are bound to it
	if (connect_host(host) != 0) {
		--hosts->n;
		return -1;
	}
	return 0;
}

void hosts_release_removed(const struct hosts_host *host) {
	if (host->is_removed && host->link && host->used == 0 && (host->hosts->options->nbasefiles == 0 || !host->hosts->options->cleans_up)) {
		link_release(host->link); // else its files are still to be removed, when the run ends
	}
}

int hosts_attach(struct hosts *hosts, struct pool *pool, unsigned slots, void (*wake)(void *arg), void *arg) {
	hosts->pool = pool;
	hosts->wake = wake;
	hosts->wake_arg = arg;
	// the cookie marks processes to be killed when this run dies: a launcher ends with its connection, and remote jobs are their worker's
	hosts->env = payload_env(hosts->context->env, NULL, (char *[]){"FAIRPAR_COOKIE", NULL});
	hosts->launch_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->prompt_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->launch_context->nice = hosts->prompt_context->nice = 0;
	hosts->spread_until = now_ns() + SPREAD_S * NS_PER_S;
	ignore_terminal(&hosts->prompt_context->ignored);
	choose_env(hosts);
	if (hosts->machines == 0) {
		pool_add_slots(pool, -(int)slots);
	}
	if (hosts->npilots > 0 && open_pilots(hosts) != 0) {
		return diag_error("cannot start a thread for pilots: %s", strerror(errno));
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		struct hosts_host *host = hosts->hosts[i];
		mutex_lock(&hosts->lock);
		int result = connect_host(host);
		mutex_unlock(&hosts->lock);
		if (result != 0) {
			return diag_error("cannot start a thread for %s: %s", host->login->name, strerror(errno));
		}
	}
	hosts_starving(hosts);
	if (hosts->machines == 0 && options_hosts_have_file(hosts->options)) {
		atomic_store_release(&hosts->next_list_check, now_ns()); // pairs with the exchange in hosts_refresh_list()
	}
	return 0;
}

void hosts_close(struct hosts *hosts) {
	if (!hosts) {
		return;
	}
	static const struct child_config clean_up = {.label = "clean-up"};
	for (size_t i = 0; i < hosts->n; ++i) {
		struct hosts_host *host = hosts->hosts[i];
		const struct transfer transfer = host->link ? transfer_at(host, NULL, &clean_up) : (struct transfer){.link = NULL};
		host_files_close(host->files, host->link ? &transfer : NULL);
		host->files = NULL;
	}
	if (hosts->pilots) {
		pilots_stop(hosts->pilots);
	}
	each_link(hosts, link_hang_up);
	each_link(hosts, link_close);
	for (size_t i = 0; i < hosts->n; ++i) { // behind all links, whose threads look at the others, too
		hosts_free_host(hosts->hosts[i]);
	}
	if (hosts->pilots) {
		pilots_close(hosts->pilots);
	}
	free(hosts->hosts);
	hosts_free_lists(hosts);
	free(hosts->self);
	buf_fini(&hosts->term_seq);
	context_unref(hosts->launch_context);
	context_unref(hosts->prompt_context);
	free(hosts->env);
	free(hosts->cwd);
	program_copy_fini(&hosts->copy);
	for (struct pilot_node *next, *node = hosts->nodes; node; node = next) {
		next = node->next;
		free(node);
	}
	buf_fini(&hosts->sent_env);
	buf_fini(&hosts->whole_env);
	cond_fini(&hosts->changed);
	mutex_fini(&hosts->lock);
	free(hosts);
}
