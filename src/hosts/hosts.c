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

enum { THREADS = 4 };  // threads of the pool that serve all jobs on other machines
enum { FDS_OF_RUN = 64, FDS_OF_HOST = 4, FDS_OF_PIPE = 3, FDS_OF_FILES = 2 }; // descriptors: for the run, each host, each job's pipe, its files
enum {
	SUSPEND_WAIT_S = 3, NAMES_SHOWN = 3,
	SPREAD_S = 1,         // how long the first jobs may wait for machines that have not answered yet
	KILL_GRACE_MS = 2000, // time that jobs on other machines have to end after HOSTS_KILL
};

// ---- attempts ----

// An order to the attempts on all machines. An attempt that has an equal or a stronger order ignores it; clean-ups obey only ORDER_KILL.
struct order {
	enum attempt_order how;
	enum hosts_ending ending;      // hosts.ending is raised to this
	const void *origin;            // the order is only for the attempt with this config->origin; NULL: for all attempts
	uint64_t limit, now, due;      // ORDER_EXPIRE: only for attempts that have run for `limit` ns by `now`; `due`: when to repeat the order
};

static void give_order(struct order *order, struct host_attempt *attempt) {
	uint64_t due = attempt->start + order->limit;
	if ((order->origin && attempt->config->origin != order->origin) || (attempt->is_cleanup && order->how != ORDER_KILL) ||
	    attempt->order >= order->how || (order->how == ORDER_EXPIRE && attempt->start == 0)) {
		return;
	}
	if (order->how == ORDER_EXPIRE && due > order->now) {
		order->due = time_earlier(order->due, due);
	} else {
		attempt->order = order->how;
		host_post(attempt->host);
	}
}

// Raises hosts.ending, and gives the order to all attempts on all hosts. Returns order->due. NULL-safe.
static uint64_t order_all(struct hosts *hosts, struct order *order) {
	if (!hosts) {
		return order->due;
	}
	FP_HOLD(&hosts->lock);
	if (order->ending > atomic_load_relaxed(&hosts->ending)) {
		atomic_store_relaxed(&hosts->ending, order->ending);
		hosts->kill_at = order->ending == HOSTS_KILL ? now_ns() + (uint64_t)KILL_GRACE_MS * NS_PER_MS : TIME_NEVER;
		hosts_answer_requests(hosts);
	}
	for_each_host(hosts, host) {
		list_for_each_entry(&host->attempts, struct host_attempt, attempt, link) {
			give_order(order, attempt);
		}
	}
	return order->due;
}

void hosts_terminate(struct hosts *hosts) {
	order_all(hosts, &(struct order){.ending = HOSTS_TERMINATE, .how = ORDER_CANCEL});
}

void hosts_kill(struct hosts *hosts) {
	order_all(hosts, &(struct order){.ending = HOSTS_KILL, .how = ORDER_KILL});
}

void hosts_cancel(struct hosts *hosts, const void *origin) {
	order_all(hosts, &(struct order){.how = ORDER_CANCEL, .origin = origin});
}

uint64_t hosts_expire(struct hosts *hosts, uint64_t limit, uint64_t now) {
	return order_all(hosts, &(struct order){.how = ORDER_EXPIRE, .limit = limit, .now = now, .due = TIME_NEVER});
}

void hosts_each(struct hosts *hosts, void (*fn)(void *arg, const struct child_view *view), void *arg) {
	struct child_view *views = NULL;
	size_t n = 0, cap = 0;
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	for_each_host(hosts, host) {
		list_for_each_entry(&host->attempts, const struct host_attempt, attempt, link) {
			if (attempt->state == ATTEMPT_STARTED && !attempt->talk) {
				grow_array(&views, &cap, n + 1, sizeof(*views));
				views[n++] = (struct child_view){
					.pid = (pid_t)attempt->pid,
					.host = host->node->name, // the name lives as long as the run
					.start = attempt->start,
					.label = xstrdup(attempt->config->label ? attempt->config->label : ""), // the job may end while its label is printed
					.last = output_reader_last_line(attempt->config->output_reader),
				};
			}
		}
	}
	mutex_unlock(&hosts->lock);
	child_views_take(views, n, fn, arg);
}

// With the lock.
static bool are_suspended(const struct hosts *hosts) {
	bool are = true;
	for_each_host(hosts, host) {
		are = are && host_is_suspended(host);
	}
	return are;
}

void hosts_suspend(struct hosts *hosts, bool begins) {
	if (!hosts) {
		return;
	}
	uint64_t until = now_ns() + SUSPEND_WAIT_S * NS_PER_S;
	FP_HOLD(&hosts->lock);
	hosts->suspending = begins;
	for_each_host(hosts, host) {
		if (host->is_served) {
			host_post(host);
		}
	}
	while (begins && !are_suspended(hosts) && cond_wait_until(&hosts->changed, &hosts->lock, until)) {
	}
}

bool hosts_are_idle(struct hosts *hosts) {
	bool idle = true;
	if (hosts) {
		FP_HOLD(&hosts->lock);
		for_each_host(hosts, host) {
			list_for_each_entry(&host->attempts, const struct host_attempt, attempt, link) {
				idle = idle && attempt->order != ORDER_NONE && atomic_load_relaxed(&attempt->awaits_reader);
			}
		}
	}
	return idle;
}

bool hosts_are_unreachable(struct hosts *hosts) {
	FP_HOLD(&hosts->lock);
	for_each_host(hosts, host) {
		bool is_gone = host->state == HOST_ENDED || ((host_has_failed(host) || host->is_removed) && !host->was_up);
		if (!host->login->is_pilot && !is_gone) {
			return false;
		}
	}
	return hosts->machines == 0 && (!hosts->pilots || pilots_are_lost(hosts)); // with --onall each job fails by itself
}

// ---- texts for the user: the state of each machine, and for which machines a job waits ----

void hosts_view(struct hosts *hosts, void (*fn)(void *arg, const struct host_view *view), void *arg) {
	static const char *const texts[] = {
		[HOST_UP] = "", [HOST_HELD] = "no job starts: ", [HOST_CONNECTING] = "the machine takes no jobs yet",
		[HOST_LOST] = "the connection is lost; the machine is tried again", [HOST_UNREACHABLE] = "the machine cannot be reached, and is tried again",
		[HOST_REMOVED] = "the machine is not in the list any more",
	};
	if (!hosts) {
		return;
	}
	FP_HOLD(&hosts->lock);
	for_each_host(hosts, host) {
		FP_CLEANUP(buf_fini) struct buf says = BUF_INIT;
		enum host_state failed = host->was_up ? HOST_LOST : HOST_UNREACHABLE, present = host->slots > 0 ? host->state : HOST_CONNECTING;
		enum host_state state = host->is_removed ? HOST_REMOVED : host_has_failed(host) ? failed : present;
		buf_printf(&says, "%s%s", texts[state], state == HOST_HELD ? buf_str(&host->brake) : "");
		if (host->slots > 0 || !host->login->is_pilot) {
			fn(arg, &(struct host_view){
				.name = host->login->name,
				.node = host->node != host->login ? host->node->name : NULL,
				.shown = sshlogin_shown(host->login),
				.state = state,
				.slots = host->slots,
				.used = host->used,
				.says = buf_str(&says),
			});
		}
	}
}

void hosts_print_messages(struct hosts *hosts) {
	FP_CLEANUP(buf_fini) struct buf messages = BUF_INIT;
	if (!hosts) {
		return;
	}
	mutex_lock(&hosts->lock);
	buf_move(&messages, &hosts->messages);
	mutex_unlock(&hosts->lock);
	(void)diag_text(buf_str(&messages), messages.len);
}

static void show(void *arg FP_UNUSED, const struct host_view *view) {
	if (view->state == HOST_REMOVED) {
		diag_note("%s: %s; %u of its slots are still used", view->shown, view->says, view->used);
	} else if (view->slots == 0) {
		diag_note("%s: %s", view->shown, view->says);
	} else {
		diag_note("%s%s%s: %u of %u slots used%s%s", view->shown, view->node ? ", on " : "", view->node ? view->node : "", view->used,
		          view->slots, view->says[0] ? "; " : "", view->says);
	}
}

void hosts_show(struct hosts *hosts) {
	if (!hosts) {
		return;
	}
	diag_keep(hosts_keep_message, &hosts->messages); // hosts_view() calls show() with the lock
	hosts_view(hosts, show, NULL);
	diag_keep(NULL, NULL);
	hosts_print_messages(hosts);
}

// With the lock.
static void describe_request(const struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	size_t n = 0;
	if (request->width > 1) {
		buf_printf(out, "%u slots on ", request->width);
	} else {
		buf_adds(out, "a slot on ");
	}
	if (request->binding) {
		for_each_host(hosts, host) {
			if (hosts_binding_has(request->binding, host) && !host->is_removed && n++ < NAMES_SHOWN) {
				buf_printf(out, "%s%s", n > 1 ? " or " : "", sshlogin_shown(host->login));
			}
		}
	}
	if (n > NAMES_SHOWN) {
		buf_printf(out, " or %zu more", n - NAMES_SHOWN);
	}
	buf_adds(out, n > 0 ? "" : request->tries && request->tries->n > 0 ? "another machine" : "a machine");
}

void hosts_describe_request(struct hosts *hosts, const struct hosts_request *request, struct buf *out) {
	FP_HOLD(&hosts->lock);
	describe_request(hosts, request, out);
}

bool hosts_describe_limit(struct hosts *hosts, const char *queue, struct buf *out) {
	FP_HOLD(&hosts->lock);
	list_for_each_entry(&hosts->bindings, struct hosts_binding, binding, link) {
		if (binding->queue && binding->attrs.max_parallel == 0 && strcmp(queue_name(binding->queue), queue) == 0) {
			describe_request(hosts, &(struct hosts_request){.width = binding->width, .binding = binding}, out);
			return true;
		}
	}
	return false;
}

// ---- life ----

// Returns the directory relative to $HOME if it is below $HOME, else unchanged: what `--workdir .` means, as in GNU parallel.
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
	*hosts = (struct hosts){.options = options, .context = context, .here = here, .cwd = getcwd(NULL, 0), .kill_at = TIME_NEVER};
	hosts->machines = !options->onall ? 0 : options->machines && options->machines < options->hosts.n ? options->machines : (unsigned)options->hosts.n;
	hosts->self = realpath("/proc/self/exe", NULL);
	hosts->self = hosts->self ? hosts->self : xstrdup("fairpar");
	hosts->dot = find_dot(hosts->cwd);
	program_copy_find(hosts->self, &hosts->copy);
	atomic_store_relaxed(&hosts->next_list_check, TIME_NEVER);
	list_init(&hosts->bindings);
	list_init(&hosts->requests);
	list_init(&hosts->woken);
	for (size_t i = 0; i <= SHARES; ++i) {
		list_init(&hosts->open[i]);
	}
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
		.term_seq = buf_str(&hosts->term_seq), .load = options->load, .memfree = options->memfree,
		.memory = options->given[OPT_MEMORY] ? options->pool.memory_text : options_jobs_auto(options) ? "auto" : NULL, .copy = &hosts->copy,
	};
	for (size_t i = 0; i < options->hosts.n; ++i) {
		char *error;
		struct host *host = host_new(hosts, &options->hosts.logins[i], &error);
		if (!host) {
			return diag_error_free(error);
		}
		host_append(hosts, host);
		hosts->first_pilot += !host->login->is_pilot; // pilots come after all other hosts
		hosts->npilots += host->login->is_pilot;
	}
	return 0;
}

unsigned hosts_estimate_slots(const struct hosts *hosts) {
	unsigned slots = 0;
	for_each_host(hosts, host) {
		slots += hosts_slots_or_default(hosts, host->login);
	}
	return hosts->machines > 0 ? hosts->machines : slots;
}

void hosts_detach(struct hosts *hosts) {
	if (hosts) {
		FP_HOLD(&hosts->lock);
		hosts->pool = NULL;
	}
}

// Adds to *ignored the signals that the terminal sends, and that of --stop-signal, if given, which may go to the whole process group. OpenSSH leaves
// ignored signals ignored, except while it prompts. SIGTERM is not ignored: by SIGTERM ssh restores the terminal (launcher_end()).
static void ignore_of_group(sigset_t *ignored, int stop_signal) {
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); ++i) {
		sigaddset(ignored, signals[i]);
	}
	if (stop_signal > 0 && stop_signal != SIGTERM) {
		sigaddset(ignored, stop_signal);
	}
}

// Sets the state HOST_ENDED of the machines for whose connections and jobs there are not enough descriptors; one machine is always left.
static void fit_descriptors(const struct hosts *hosts) {
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	const struct options *options = hosts->options;
	bool has_files = options->ntransferred + options->nreturned > 0;
	rlim_t of_slot = (options->pipe ? (rlim_t)FDS_OF_PIPE : 0) + (has_files ? (rlim_t)FDS_OF_FILES : 0);
	size_t n = 0, nfit = 0;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	rlim_t needed = FDS_OF_RUN + options->nbatch_files;
	for_each_host(hosts, host) {
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
	ignore_of_group(&hosts->prompt_context->ignored, hosts->options->stop_signal);
	pool_bound_threads(pool, THREADS);
	if (hosts->machines == 0) {
		pool_add_slots(pool, -(int)slots);
	}
	fit_descriptors(hosts); // needs no lock, as no thread is started yet
	if (connections_open(hosts, host_step) != 0) {
		return diag_error("cannot start a thread for connections: %s", strerror(errno));
	}
	if (hosts->npilots > 0 && pilots_open(hosts) != 0) {
		return diag_error("cannot start a thread for pilots: %s", strerror(errno));
	}
	hosts_starving(hosts);
	FP_HOLD(&hosts->lock);
	for_each_host(hosts, host) {
		if (host->state != HOST_ENDED) {
			host_connect(host);
		}
	}
	if (hosts->machines == 0 && options_hosts_have_file(hosts->options)) {
		atomic_store_release(&hosts->next_list_check, now_ns()); // pairs with the exchange in hosts_refresh_list()
	}
	return 0;
}

void hosts_close(struct hosts *hosts) {
	if (!hosts) {
		return;
	}
	for_each_host(hosts, host) {
		if (host->is_served) {
			host_files_clean_up(host);
		}
	}
	pilots_stop(hosts->pilots);
	connections_close(hosts); // waits a moment for the ends of the launchers
	hosts_print_messages(hosts);
	for_each_host(hosts, host) {
		host_free(host);
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
	arena_fini(&hosts->arena);
	buf_fini(&hosts->base);
	cond_fini(&hosts->changed);
	mutex_fini(&hosts->lock);
	free(hosts);
}
