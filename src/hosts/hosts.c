// The machines of a run together: attempts on them, orders to all of them, and how they are opened and closed.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FDS_OF_RUN = 64, FDS_OF_HOST = 5, FDS_OF_SLOT = 2 }; // descriptors for a connection, for a job there whose output is held, and for the rest
enum { SUSPEND_WAIT_S = 1, SPREAD_S = 1, NAMES_SHOWN = 3 }; // SPREAD_S: the first jobs are spread over machines that have not answered yet

// ---- attempts ----

// Sets the result of an attempt whose connection was lost, or that could not be sent to its machine.
static void set_lost_result(struct hosts *hosts, bool wrote, struct result *ret_result) {
	uint64_t now = now_ns(), start = ret_result->start ? ret_result->start : now;
	enum lost lost = ret_result->lost == LOST_SILENT && wrote ? LOST_WROTE : ret_result->lost;
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	if (atomic_load_relaxed(&hosts->ending) == HOSTS_RUN) {
		*ret_result = (struct result){.outcome = OUTCOME_SIGNAL, .term_signal = SIGKILL, .start = start, .end = now, .lost = lost};
	}
}

// Returns the directory of the job there, or NULL for the worker's. `dir` is that of --workdir or the manifest, or NULL. With --launch the job has
// the directory that it would have here; else "." is this directory, relative to the login directory if it is below.
static const char *find_dir(const struct host *host, const char *dir) {
	const struct hosts *hosts = host->hosts;
	if (host->login->kind == SSHLOGIN_LAUNCH) {
		return dir ? dir : hosts->cwd;
	}
	if (dir && hosts->options->own_workdir) {
		return dir + strlen(getenv("HOME")) + 1; // --workdir ...: below the login directory there
	}
	return dir && strcmp(dir, ".") == 0 ? hosts->dot : dir;
}

void hosts_run(struct hosts *hosts, const struct hosts_place *place, const struct child_config *config, struct result *ret_result,
               struct spawn_error *ret_error) {
	// a fairpar in a job on another machine must not look for this run's socket there
	char *unset[] = {"FAIRPAR_SOCK", "FAIRPAR_CONTROL", NULL}, **env = env_merge(config->env, NULL, unset);
	struct child_config sent = *config;
	sent.env = env;
	const char *dir = find_dir(place->host, config->context->cwd);
	bool wrote = place->files && place->host->login->kind == SSHLOGIN_SSH
		? host_files_run(place, &sent, dir, ret_result, ret_error)
		: host_run(place, &sent, dir, ret_result, ret_error);
	if (ret_result->lost) {
		set_lost_result(hosts, wrote, ret_result);
	}
	free(env);
}

// An order to attempts on all machines, or (ORDER_NONE) a look at them.
struct asked {
	enum attempt_order order;
	const void *origin;            // only the attempt of this origin; or NULL
	bool spares_cleanup;           // not clean-ups
	uint64_t limit, now, due;      // ORDER_EXPIRE: only attempts that have run for `limit`; `due`: when the next one will have
	struct child_view *views;      // ORDER_NONE: what was seen of the attempts
	size_t nviews, cap;
};

// Orders that the attempt be stopped in that way, unless a stronger order was given before. With host.lock.
static void order_attempt(struct host_attempt *attempt, enum attempt_order order) {
	if (order > attempt->order) {
		attempt->order = order;
		wakeup_post(attempt->host->wake_fd);
	}
}

static void ask(struct asked *asked, struct host_attempt *attempt) {
	uint64_t due = attempt->start + asked->limit;
	if ((asked->origin && attempt->config->origin != asked->origin) || (asked->spares_cleanup && attempt->config->cleanup)) {
		return;
	}
	if (asked->order == ORDER_NONE && attempt->state == ATTEMPT_STARTED && !attempt->talk) {
		grow_array(&asked->views, &asked->cap, asked->nviews + 1, sizeof(*asked->views));
		asked->views[asked->nviews++] = (struct child_view){
			.pid = (pid_t)attempt->pid,
			.host = attempt->host->node->name, // which lives as long as the run
			.start = attempt->start,
			.label = xstrdup(attempt->config->label ? attempt->config->label : ""), // the job may end while it is printed
			.last = output_reader_last_line(attempt->config->output_reader),
		};
	} else if (asked->order != ORDER_EXPIRE || (attempt->start > 0 && due <= asked->now)) {
		order_attempt(attempt, asked->order);
	} else if (attempt->start > 0 && attempt->order < ORDER_EXPIRE) {
		asked->due = time_earlier(asked->due, due);
	}
}

// NULL-safe, as is end_all().
static void ask_all(struct hosts *hosts, struct asked *asked) {
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		mutex_lock(&host->lock);
		list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
			ask(asked, attempt);
		}
		mutex_unlock(&host->lock);
	}
	mutex_unlock(&hosts->lock);
}

static void end_all(struct hosts *hosts, enum hosts_ending ending, struct asked asked) {
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	if (ending > atomic_load_relaxed(&hosts->ending)) {
		atomic_store_relaxed(&hosts->ending, ending);
	}
	cond_broadcast(&hosts->changed);
	mutex_unlock(&hosts->lock);
	ask_all(hosts, &asked);
}

void hosts_terminate(struct hosts *hosts) {
	end_all(hosts, HOSTS_TERMINATE, (struct asked){.order = ORDER_CANCEL, .spares_cleanup = true});
}

void hosts_kill(struct hosts *hosts) {
	end_all(hosts, HOSTS_KILL, (struct asked){.order = ORDER_KILL});
}

void hosts_cancel(struct hosts *hosts, const void *origin) {
	ask_all(hosts, &(struct asked){.order = ORDER_CANCEL, .origin = origin});
}

uint64_t hosts_expire(struct hosts *hosts, uint64_t limit, uint64_t now) {
	struct asked asked = {.order = ORDER_EXPIRE, .spares_cleanup = true, .limit = limit, .now = now, .due = TIME_NEVER};
	ask_all(hosts, &asked);
	return asked.due;
}

void hosts_each(struct hosts *hosts, void (*fn)(void *arg, const struct child_view *view), void *arg) {
	struct asked asked = {.order = ORDER_NONE};
	ask_all(hosts, &asked);
	child_views_take(asked.views, asked.nviews, fn, arg);
}

// Whether all workers were told to suspend their jobs. With the lock.
static bool are_suspended(const struct hosts *hosts) {
	size_t i = 0;
	while (i < hosts->n && (hosts->hosts[i]->is_suspended || !hosts->hosts[i]->has_thread)) {
		++i;
	}
	return i == hosts->n;
}

void hosts_suspend(struct hosts *hosts, bool begins) {
	if (!hosts) {
		return;
	}
	uint64_t until = now_ns() + SUSPEND_WAIT_S * NS_PER_S;
	mutex_lock(&hosts->lock);
	atomic_store_relaxed(&hosts->suspending, begins);
	for (size_t i = 0; i < hosts->n; ++i) {
		hosts->hosts[i]->is_suspended = false;
		if (hosts->hosts[i]->has_thread) {
			wakeup_post(hosts->hosts[i]->wake_fd);
		}
	}
	while (begins && !are_suspended(hosts) && cond_wait_until(&hosts->changed, &hosts->lock, until)) {
	}
	mutex_unlock(&hosts->lock);
}

bool hosts_are_idle(struct hosts *hosts) {
	bool idle = true;
	if (!hosts) {
		return true;
	}
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		mutex_lock(&host->lock);
		idle = idle && list_is_empty(&host->attempts);
		mutex_unlock(&host->lock);
	}
	mutex_unlock(&hosts->lock);
	return idle;
}

bool hosts_are_unreachable(struct hosts *hosts) {
	mutex_lock(&hosts->lock);
	bool none = hosts->machines == 0 && (!hosts->pilots || pilots_are_lost(hosts)); // with --onall each job fails by itself
	for (size_t i = 0; i < hosts->n && none; ++i) {
		const struct host *host = hosts->hosts[i];
		none = host->login->is_pilot || host->state == HOST_ENDED || ((host_has_failed(host) || host->is_removed) && !host->was_up);
	}
	mutex_unlock(&hosts->lock);
	return none;
}

// ---- for people: the state of each machine, and for which of them a job waits ----

static enum host_state state_of(const struct host *host) {
	return host->is_removed ? HOST_REMOVED : host_has_failed(host) ? host->was_up ? HOST_LOST : HOST_UNREACHABLE
		: host->slots > 0 ? host->state : HOST_CONNECTING;
}

void hosts_view(struct hosts *hosts, void (*fn)(void *arg, const struct host_view *view), void *arg) {
	static const char *const texts[] = {
		[HOST_UP] = "", [HOST_HELD] = "no job starts: ", [HOST_CONNECTING] = "it takes no jobs yet",
		[HOST_LOST] = "the connection is lost; it is tried again", [HOST_UNREACHABLE] = "cannot be reached; it is tried again",
		[HOST_REMOVED] = "it is not in the list any more",
	};
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n; ++i) {
		const struct host *host = hosts->hosts[i];
		FP_CLEANUP(buf_fini) struct buf says = BUF_INIT;
		enum host_state state = state_of(host);
		buf_adds(&says, texts[state]);
		buf_adds(&says, state == HOST_HELD ? buf_str(&host->brake) : "");
		if (host->slots > 0 || !host->login->is_pilot) {
			fn(arg, &(struct host_view){
				.name = host->login->name,
				.node = host->node != host->login ? host->node->name : NULL,
				.is_here = host->login->kind == SSHLOGIN_LOCAL,
				.state = state,
				.slots = host->slots,
				.used = host->used,
				.says = buf_str(&says),
			});
		}
	}
	mutex_unlock(&hosts->lock);
}

// Appends the line, and a NUL.
static void add_line(void *arg, const struct host_view *view) {
	struct buf *lines = arg;
	if (view->state == HOST_REMOVED) {
		buf_printf(lines, "%s: %s; %u of its slots still used%c", view->name, view->says, view->used, 0);
	} else if (view->slots == 0) {
		buf_printf(lines, "%s: %s%c", view->name, view->says, 0);
	} else {
		buf_printf(lines, "%s%s%s%s: %u of %u slots used%s%s%c", view->name, view->is_here ? " (this machine)" : "", view->node ? ", on " : "",
		           view->node ? view->node : "", view->used, view->slots, view->says[0] ? "; " : "", view->says, 0);
	}
}

void hosts_show(struct hosts *hosts) {
	FP_CLEANUP(buf_fini) struct buf lines = BUF_INIT;
	hosts_view(hosts, add_line, &lines);
	for (size_t i = 0; i < lines.len; i += strlen(lines.data + i) + 1) {
		diag_note("%s", lines.data + i);
	}
}

// With the lock.
static void describe_request(const struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	size_t n = 0;
	if (request->width > 1) {
		buf_printf(out, "%u slots on ", request->width);
	} else {
		buf_adds(out, "a slot on ");
	}
	for (size_t i = 0; request->binding && i < hosts->n; ++i) {
		if (hosts_binding_has(request->binding, hosts->hosts[i]) && !hosts->hosts[i]->is_removed && n++ < NAMES_SHOWN) {
			buf_adds(out, n > 1 ? " or " : "");
			buf_adds(out, hosts->hosts[i]->login->name);
		}
	}
	if (n > NAMES_SHOWN) {
		buf_printf(out, " or %zu more", n - NAMES_SHOWN);
	}
	buf_adds(out, n > 0 ? "" : request->tries && request->tries->n > 0 ? "another machine" : "a machine");
}

void hosts_describe_request(struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	mutex_lock(&hosts->lock);
	describe_request(hosts, request, out);
	mutex_unlock(&hosts->lock);
}

bool hosts_describe_limit(struct hosts *hosts, const char *queue, struct buf *out) {
	bool is_theirs = false;
	mutex_lock(&hosts->lock);
	list_for_each_entry(&hosts->bindings, struct hosts_binding, binding, link) {
		if (!is_theirs && binding->queue && binding->attrs.max_parallel == 0 && strcmp(queue_name(binding->queue), queue) == 0) {
			is_theirs = true;
			describe_request(hosts, &(struct hosts_request){.width = binding->width, .binding = binding}, out);
		}
	}
	mutex_unlock(&hosts->lock);
	return is_theirs;
}

// ---- life ----

// Returns the directory relative to $HOME if it is below, else as it is: what "." of --workdir means to GNU parallel.
static const char *find_dot(const char *cwd) {
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	if (!cwd || len == 0 || strncmp(cwd, home, len) != 0 || (cwd[len] != '/' && cwd[len] != '\0')) {
		return cwd ? cwd : ".";
	}
	return cwd[len] ? cwd + len + 1 : ".";
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
	hosts->base_dir = options->workdir && strcmp(options->workdir, ".") == 0 ? hosts->dot : options->workdir;
	program_copy_find(hosts->self, &hosts->copy);
	atomic_store_relaxed(&hosts->next_list_check, TIME_NEVER);
	list_init(&hosts->bindings);
	list_init(&hosts->waiters);
	mutex_init(&hosts->lock, LOCK_HOSTS);
	cond_init(&hosts->changed);
	term_seq_write(&options->term_seq, &hosts->term_seq);
	hosts->stop_takes = term_seq_length(&options->term_seq);
	for (size_t i = 0; i < options->nbasefiles; ++i) {
		buf_add(&hosts->base, options->basefiles[i], strlen(options->basefiles[i]) + 1);
	}
	const char *program = getenv("FAIRPAR_REMOTE");
	hosts->worker = (struct sshlogin_worker){
		.ssh = options->ssh, .jobs = options->onall ? "1" : options->jobs, .program = program && *program ? program : NULL, .self = hosts->self,
		.term_seq = buf_str(&hosts->term_seq), .load = options->load, .memfree = options->memfree, .copy = &hosts->copy,
	};
	int result = 0;
	for (size_t i = 0; i < options->hosts.n && result == 0; ++i) {
		char *error;
		struct host *host = host_new(hosts, &options->hosts.logins[i], &error);
		result = host ? 0 : diag_error_free(error);
		if (host) {
			host_append(hosts, host);
			hosts->first_pilot += !host->login->is_pilot; // pilots stand behind all other hosts
			hosts->npilots += host->login->is_pilot;
		}
	}
	return result;
}

unsigned hosts_estimate_slots(const struct hosts *hosts) {
	unsigned slots = 0;
	for (size_t i = 0; i < hosts->n && hosts->machines == 0; ++i) {
		slots += hosts_slots_or_default(hosts, hosts->hosts[i]->login);
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

// Removes the machines for whose connections and jobs there are not enough descriptors; one machine is always left.
static void fit_descriptors(const struct hosts *hosts) {
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	size_t n = 0, nfit = 0;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	rlim_t needed = FDS_OF_RUN + hosts->options->nbatch_files;
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		if (!host->login->is_pilot && host->login->kind != SSHLOGIN_LOCAL) {
			needed += FDS_OF_HOST + FDS_OF_SLOT * (rlim_t)hosts_slots_or_default(hosts, host->login);
			bool fits = n++ == 0 || needed <= limit.rlim_cur;
			nfit += fits;
			host->state = fits ? host->state : HOST_ENDED;
		}
	}
	if (nfit < n) {
		diag_warn("%zu of %zu machines are used: %lu descriptors allow no more (ulimit -n)", nfit, n, (unsigned long)limit.rlim_cur);
	}
}

int hosts_attach(struct hosts *hosts, struct pool *pool, unsigned slots, int wake_fd) {
	hosts->pool = pool;
	hosts->wake_fd = wake_fd;
	// the cookie marks processes to be killed when this run dies: a launcher ends with its connection, and remote jobs are their worker's
	hosts->env = env_merge(hosts->context->env, NULL, (char *[]){"FAIRPAR_COOKIE", NULL});
	hosts->launch_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->prompt_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->launch_context->nice = hosts->prompt_context->nice = 0;
	hosts->spread_until = now_ns() + SPREAD_S * NS_PER_S;
	ignore_terminal(&hosts->prompt_context->ignored);
	if (hosts->machines == 0) {
		pool_add_slots(pool, -(int)slots);
	}
	fit_descriptors(hosts); // before there are threads
	if (hosts->npilots > 0 && pilots_open(hosts) != 0) {
		return diag_error("cannot start a thread for pilots: %s", strerror(errno));
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		mutex_lock(&hosts->lock);
		int result = host->state == HOST_ENDED ? 0 : host_connect(host);
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
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->has_thread) {
			host_files_clean_up(hosts->hosts[i]);
		}
	}
	pilots_stop(hosts->pilots);
	for (size_t i = 0; i < hosts->n; ++i) { // closing the connections ends the workers
		struct host *host = hosts->hosts[i];
		mutex_lock(&host->lock);
		verify(list_is_empty(&host->attempts));
		host->closing = true;
		mutex_unlock(&host->lock);
		if (host->has_thread) {
			wakeup_post(host->wake_fd);
		}
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->has_thread) {
			thread_join(hosts->hosts[i]->thread); // the thread waits a moment for the launcher's end
		}
	}
	for (size_t i = 0; i < hosts->n; ++i) { // only after all threads have ended, because each looks at the other hosts, too
		host_free(hosts->hosts[i]);
	}
	pilots_close(hosts);
	free(hosts->hosts);
	hosts_free_lists(hosts);
	free(hosts->self);
	buf_fini(&hosts->term_seq);
	context_unref(hosts->launch_context);
	context_unref(hosts->prompt_context);
	free(hosts->env);
	free(hosts->cwd);
	free(hosts->copy.path);
	for (struct pilot_node *next, *node = hosts->nodes; node; node = next) {
		next = node->next;
		free(node);
	}
	buf_fini(&hosts->base);
	cond_fini(&hosts->changed);
	mutex_fini(&hosts->lock);
	free(hosts);
}
