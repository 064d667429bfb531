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

enum { THREADS = 4 };  // of the pool, that take turns on what is to be done here for jobs on other machines
enum { FDS_OF_RUN = 64, FDS_OF_HOST = 4, FDS_OF_PIPE = 3, FDS_OF_FILES = 2 }; // descriptors: RUN for all the rest, PIPE and FILES for a job
enum { SUSPEND_WAIT_S = 1, SPREAD_S = 1, NAMES_SHOWN = 3 }; // SPREAD_S: the first jobs are spread over machines that have not answered yet

// ---- attempts ----

// An order to attempts on all machines, or (ORDER_NONE) a look at them.
struct asked {
	enum attempt_order order;
	enum hosts_ending ending;      // the least that hosts.ending is to be
	const void *origin;            // only the attempt of this origin; or NULL
	bool spares_cleanup;           // not clean-ups
	uint64_t limit, now, due;      // ORDER_EXPIRE: only attempts that have run for `limit`; `due`: when the next one will have
	struct child_view *views;      // ORDER_NONE: what was seen of the attempts
	size_t nviews, cap;
};

// Orders that the attempt be stopped in that way, unless a stronger order was given before.
static void order_attempt(struct host_attempt *attempt, enum attempt_order order) {
	if (order > attempt->order) {
		attempt->order = order;
		host_post(attempt->host);
	}
}

static void ask(struct asked *asked, struct host_attempt *attempt) {
	uint64_t due = attempt->start + asked->limit;
	if ((asked->origin && attempt->sent->origin != asked->origin) || (asked->spares_cleanup && attempt->sent->cleanup)) {
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

// NULL-safe.
static void ask_all(struct hosts *hosts, struct asked *asked) {
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	if (asked->ending > atomic_load_relaxed(&hosts->ending)) {
		atomic_store_relaxed(&hosts->ending, asked->ending);
		hosts_answer_requests(hosts);
	}
	for (size_t i = 0; i < hosts->n; ++i) {
		list_for_each_entry(&hosts->hosts[i]->attempts, struct host_attempt, attempt, link) {
			ask(asked, attempt);
		}
	}
	mutex_unlock(&hosts->lock);
}

void hosts_terminate(struct hosts *hosts) {
	ask_all(hosts, &(struct asked){.ending = HOSTS_TERMINATE, .order = ORDER_CANCEL, .spares_cleanup = true});
}

void hosts_kill(struct hosts *hosts) {
	ask_all(hosts, &(struct asked){.ending = HOSTS_KILL, .order = ORDER_KILL});
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

// With the lock.
static bool are_suspended(const struct hosts *hosts) {
	size_t i = 0;
	while (i < hosts->n && host_is_suspended(hosts->hosts[i])) {
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
	hosts->suspending = begins;
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->is_served) {
			host_post(hosts->hosts[i]);
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
		idle = idle && list_is_empty(&hosts->hosts[i]->attempts);
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

static void show(void *arg FP_UNUSED, const struct host_view *view) {
	if (view->state == HOST_REMOVED) {
		diag_note("%s: %s; %u of its slots still used", view->name, view->says, view->used);
	} else if (view->slots == 0) {
		diag_note("%s: %s", view->name, view->says);
	} else {
		diag_note("%s%s%s%s: %u of %u slots used%s%s", view->name, view->is_here ? " (this machine)" : "", view->node ? ", on " : "",
		          view->node ? view->node : "", view->used, view->slots, view->says[0] ? "; " : "", view->says);
	}
}

void hosts_show(struct hosts *hosts) {
	hosts_view(hosts, show, NULL);
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
	list_init(&hosts->requests);
	list_init(&hosts->open);
	list_init(&hosts->begun);
	list_init(&hosts->queues[0]);
	list_init(&hosts->queues[1]);
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
	const struct options *options = hosts->options;
	bool has_files = options->ntransferred + options->nreturned > 0;
	rlim_t of_slot = (options->pipe ? (rlim_t)FDS_OF_PIPE : 0) + (has_files ? (rlim_t)FDS_OF_FILES : 0);
	size_t n = 0, nfit = 0;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	rlim_t needed = FDS_OF_RUN + options->nbatch_files;
	for (size_t i = 0; i < hosts->n; ++i) {
		struct host *host = hosts->hosts[i];
		if (!host->login->is_pilot && host->login->kind != SSHLOGIN_LOCAL) {
			needed += FDS_OF_HOST + of_slot * hosts_slots_or_default(hosts, host->login);
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
	hosts->env = env_merge(hosts->context->env, NULL, hosts_withheld);
	hosts->launch_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->prompt_context = context_derive(hosts->context, NULL, -1, 0);
	hosts->launch_context->nice = hosts->prompt_context->nice = 0;
	hosts->spread_until = now_ns() + SPREAD_S * NS_PER_S;
	ignore_terminal(&hosts->prompt_context->ignored);
	pool_bound_threads(pool, THREADS);
	if (hosts->machines == 0) {
		pool_add_slots(pool, -(int)slots);
	}
	fit_descriptors(hosts); // before there are threads
	if (connections_open(hosts, host_step) != 0) {
		return diag_error("cannot start a thread for connections: %s", strerror(errno));
	}
	if (hosts->npilots > 0 && pilots_open(hosts) != 0) {
		return diag_error("cannot start a thread for pilots: %s", strerror(errno));
	}
	mutex_lock(&hosts->lock);
	for (size_t i = 0; i < hosts->n; ++i) {
		if (hosts->hosts[i]->state != HOST_ENDED) {
			host_connect(hosts->hosts[i]);
		}
	}
	mutex_unlock(&hosts->lock);
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
		if (hosts->hosts[i]->is_served) {
			host_files_clean_up(hosts->hosts[i]);
		}
	}
	pilots_stop(hosts->pilots);
	connections_close(hosts); // waits a moment for the ends of the launchers
	for (size_t i = 0; i < hosts->n; ++i) {
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
	program_copy_fini(&hosts->copy);
	for (struct pilot_node *next, *node = hosts->nodes; node; node = next) {
		next = node->next;
		free(node);
	}
	buf_fini(&hosts->base);
	cond_fini(&hosts->changed);
	mutex_fini(&hosts->lock);
	free(hosts);
}
