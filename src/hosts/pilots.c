// The pilots of a run: jobs of Slurm with a worker in them, requested while there is work and released when there is none.
//
// A thread does what pilot_policy.h decides, and runs Slurm's own commands. squeue tells why pilots wait. scancel cancels requests without work;
// jobs that killed runs on this machine have left; and, at the end of the run, all jobs of this run that Slurm still has.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/units.h"
#include "hosts/pilot_policy.h"
#include "process/proctree.h"
#include "remote/slurm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STACK_BYTES = 256 * 1024,
	COMMAND_S = 30,            // how long a command of Slurm may take
	LAST_COMMAND_S = 10,       // how long a command of Slurm may take at the end of the run
	SAID_MOST = 600,           // bytes of what Slurm says, in a message
};

enum { RUNS, STOPS, CLOSES };

// Environment variables that choose which jobs squeue and scancel see: they are unset for these commands. (Others are overridden by options here, as
// SQUEUE_USERS is, or name the cluster, as SLURM_CLUSTERS does.)
static char *const changing[] = {
	"SQUEUE_ACCOUNT", "SQUEUE_LICENSES", "SQUEUE_NAMES", "SQUEUE_PARTITION", "SQUEUE_QOS", "SQUEUE_STATES", "SCANCEL_ACCOUNT", "SCANCEL_BATCH",
	"SCANCEL_CRON", "SCANCEL_HURRY", "SCANCEL_INTERACTIVE", "SCANCEL_PARTITION", "SCANCEL_QOS", "SCANCEL_STATE", "SCANCEL_WCKEY", NULL,
};

struct pilots {
	struct hosts *hosts;
	const char *name;          // of the pilots' jobs in Slurm
	char **env;                // for Slurm's commands; array owned
	char user[24];             // the user's numeric ID, for Slurm's commands
	thread thread;
	int wake_fd, stop_fd;
	atomic_uint phase;         // STOPS: the thread is to end. CLOSES: the thread has ended, and stop_fd does not cut commands short any more
	// of the thread
	bool has_cleaned;          // all jobs that killed runs have left in Slurm were cancelled
	bool has_tried;            // the thread has tried at least once to cancel the jobs of killed runs
	bool has_requested;        // a pilot was requested at least once
	// under hosts.lock
	struct pilot_policy policy;
	struct buf last_error;     // text of the last message about a request that has failed
	struct buf last_reason;    // text of the last message about why pilots wait
};

static struct host *host_of(const struct pilots *pilots, unsigned pilot) {
	return pilots->hosts->hosts[pilots->hosts->first_pilot + pilot];
}

// ---- Slurm's commands ----

static int run_command(const struct pilots *pilots, const char *const *argv, struct buf *out, struct buf *why) {
	bool is_closing = atomic_load_relaxed(&pilots->phase) == CLOSES;
	const struct launcher_config command = {.argv = (char *const *)argv, .env = pilots->env, .context = pilots->hosts->context};
	uint64_t until = now_ns() + (is_closing ? LAST_COMMAND_S : COMMAND_S) * NS_PER_S;
	return launcher_run(&command, is_closing ? -1 : pilots->stop_fd, until, out, why);
}

// Cancels the jobs of that name; `waiting`: only the jobs that wait. Returns false if this fails, after a warning. In the phase STOPS there is no
// warning, because pilots_close() will cancel all jobs once more.
static bool cancel(struct pilots *pilots, const char *name, bool waiting) {
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	const char *const argv[] = {"scancel", "-Q", "-u", pilots->user, "-n", name, waiting ? "--state=PENDING" : NULL, NULL};
	bool is_done = run_command(pilots, argv, &out, &why) == 0;
	if (!is_done && atomic_load_relaxed(&pilots->phase) != STOPS) {
		diag_warn("the pilots '%s', which Slurm may still have, could not be cancelled: %s", name, buf_str(&why));
	}
	return is_done;
}

// Lets squeue print, in that format, a line for each job of that name or (NULL) for each job of this user. Returns 0, or -1 with *ret_why.
static int list_jobs(const struct pilots *pilots, const char *format, const char *name, struct buf *ret_lines, struct buf *ret_why) {
	const char *const argv[] = {"squeue", "-h", "-u", pilots->user, "-o", format, name ? "-n" : NULL, name, NULL};
	buf_reserve(ret_lines, 1);
	return run_command(pilots, argv, ret_lines, ret_why);
}

// Cancels the jobs that killed runs have left. srun cancels its job when it ends, but not when it is killed before the job has started: such a
// job would stay in the queue.
static void clean_up(struct pilots *pilots) {
	FP_CLEANUP(buf_fini) struct buf lines = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT; // names seen so far: several jobs may have the same name
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	struct slurm_run own, run;
	if (slurm_run_read(&own, pilots->name) != 0 || list_jobs(pilots, "%j", NULL, &lines, &why) != 0) {
		return;
	}
	pilots->has_cleaned = true;
	char *rest = NULL;
	for (const char *line = strtok_r(lines.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool is_left = slurm_run_read(&run, line) == 0 && strcmp(run.host, own.host) == 0 && proctree_start_time((pid_t)run.pid) != run.start;
		if (!is_left || word_is_in(buf_str(&names), line, strlen(line))) {
			continue;
		}
		buf_printf(&names, "%s ", line);
		if (cancel(pilots, line, /* waiting */ false)) {
			diag_note("cancelled pilots that a killed run has left in Slurm's queue: %s", line);
		} else {
			pilots->has_cleaned = false;
		}
	}
}

// ---- why pilots wait ----

// Sets *last, the text of the last message, to `text`. Returns whether this text is new. With the lock.
static bool set_if_new(struct buf *last, const char *text) {
	bool is_new = strcmp(buf_str(last), text) != 0;
	if (is_new) {
		buf_reset(last);
		buf_adds(last, text);
	}
	return is_new;
}

static void query_queue(struct pilots *pilots) {
	FP_CLEANUP(buf_fini) struct buf lines = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf reasons = BUF_INIT;
	unsigned pending = 0, impossible = 0, others = 0;
	char *rest = NULL;
	int result = list_jobs(pilots, "%T|%r", pilots->name, &lines, &why);
	for (const char *line = strtok_r(lines.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *reason = line + strlen("PENDING|");
		if (strncmp(line, "PENDING|", strlen("PENDING|")) != 0) {
			++others;
			continue;
		}
		++pending;
		impossible += slurm_is_impossible(reason);
		if (strcmp(reason, "None") != 0 && !strstr(buf_str(&reasons), reason)) {
			buf_printf(&reasons, "%s%s", reasons.len > 0 ? "; " : "", reason);
		}
	}
	FP_HOLD(&pilots->hosts->lock);
	hosts_keep_messages(pilots->hosts, true);
	bool none_can_start = result == 0 && pending > 0 && impossible == pending && others == 0 && !pilots->policy.was_up;
	if (none_can_start) {
		pilots->policy.none_can_start = pilots->policy.is_refused = true;
		diag_error("no pilot can start with these options: Slurm says %s", text_shows(buf_str(&reasons)));
		wakeup_post(pilots->wake_fd);
	} else if (result != 0) {
		if (atomic_load_relaxed(&pilots->phase) == RUNS && set_if_new(&pilots->last_reason, buf_str(&why))) {
			diag_warn("Slurm does not say why pilots wait: %s", buf_str(&why));
		}
	} else if (reasons.len > 0 && set_if_new(&pilots->last_reason, buf_str(&reasons))) {
		diag_note("%u pilot%s in Slurm's queue: %s", pending, pending == 1 ? " waits" : "s wait", text_shows(buf_str(&reasons)));
	}
	hosts_keep_messages(pilots->hosts, false);
}

// ---- the thread ----

// Returns the state of the pilot, for the policy. With the lock.
static struct pilot pilot_of(const struct host *host) {
	enum pilot_state wanted = host->offered > 0 ? PILOT_UP : PILOT_REQUESTED, unwanted = host->phase == CONNECTION_NONE ? PILOT_ABSENT : PILOT_LEAVING;
	return (struct pilot){.state = host->wanted ? wanted : unwanted, .since = host->used > 0 ? TIME_NEVER : host->idle_since};
}

// Requests and releases pilots as the policy decides. Returns when to do so again. *ret_queries: Slurm's queue is to be queried; *ret_cancels: waiting
// requests are to be cancelled.
static uint64_t decide(struct pilots *pilots, bool *ret_queries, bool *ret_cancels) {
	struct hosts *hosts = pilots->hosts;
	struct pilot_policy *policy = &pilots->policy;
	FP_HOLD(&hosts->lock);
	bool has_work = hosts->pool && atomic_load_relaxed(&hosts->ending) == HOSTS_RUN;
	unsigned demand = has_work ? hosts_pilots_wanted(hosts) + pool_demand(hosts->pool, policy->n * policy->slots) : 0;
	for (unsigned i = 0; i < policy->n; ++i) {
		policy->pilots[i] = pilot_of(host_of(pilots, i));
	}
	uint64_t now = now_ns(), due = pilot_policy_step(policy, demand, now, ret_queries);
	for (unsigned i = 0; i < policy->n; ++i) {
		struct host *host = host_of(pilots, i);
		enum pilot_state state = policy->pilots[i].state;
		if (state == PILOT_REQUESTED && !host->wanted) {
			pilots->has_requested = true;
			host->idle_since = now;
			host_want(host, true);
		} else if (state == PILOT_LEAVING && host->wanted) {
			*ret_cancels = *ret_cancels || host->offered == 0;
			host->offered = 0;
			host_set_slots(host);
			host_want(host, false);
		}
	}
	return due;
}

// Does what the policy decides now. Returns when the next step is due.
static uint64_t step(struct pilots *pilots) {
	bool queries, cancels = false;
	uint64_t due = decide(pilots, &queries, &cancels);
	if (cancels) {
		(void)cancel(pilots, pilots->name, /* waiting */ true);
		wakeup_post(pilots->hosts->wake_fd); // pilots_are_lost() may have changed
	}
	if (pilots->has_requested && !pilots->has_cleaned && (queries || !pilots->has_tried)) {
		pilots->has_tried = true;
		clean_up(pilots);
	}
	if (queries) {
		query_queue(pilots);
	}
	return due;
}

static void *pilots_main(void *arg) {
	struct pilots *pilots = arg;
	uint64_t due = TIME_NEVER;
	for (;;) {
		struct pollfd fds[] = {{.fd = pilots->wake_fd, .events = POLLIN}, {.fd = pilots->stop_fd, .events = POLLIN}};
		(void)poll(fds, 2, poll_ms(due));
		if (fds[1].revents) {
			return NULL;
		}
		wakeup_clear(pilots->wake_fd);
		due = step(pilots);
	}
}

// ---- from other threads ----

void hosts_starving(struct hosts *hosts) {
	if (hosts && hosts->pilots) {
		wakeup_post(hosts->pilots->wake_fd);
	}
}

void pilots_on_up(struct host *host) {
	struct pilots *pilots = host->hosts->pilots;
	host->came = host->idle_since = host->now;
	pilot_has_come(&pilots->policy);
	buf_reset(&pilots->last_error);
	buf_reset(&pilots->last_reason);
	wakeup_post(pilots->wake_fd);
}

static void warn_failed(struct pilots *pilots, const char *name, const char *why, bool was_up, bool for_good) {
	static const char by_srun[] = "srun: error: ";
	const char *said = strstr(why, by_srun);
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	said = said ? said + strlen(by_srun) : why;
	buf_add_escaped(&text, said, strlen(said), SAID_MOST);
	if (was_up) {
		diag_warn("%s: the connection is lost: %s; its jobs run again elsewhere", name, buf_str(&text));
	} else if (set_if_new(&pilots->last_error, said)) {
		diag_warn("Slurm gives no pilot%s: %s%s", for_good ? "" : " now", buf_str(&text), for_good ? "" : "; it is asked again");
	}
}

void pilots_on_down(struct host *host, const char *why, bool was_up, bool bye) {
	struct pilots *pilots = host->hosts->pilots;
	bool for_good = !was_up && !slurm_is_transient(why);
	host->wanted = false;
	if (!bye) {
		pilot_has_failed(&pilots->policy, was_up ? host->now - host->came : 0, for_good, host->now);
		if (atomic_load_relaxed(&pilots->phase) == RUNS) {
			warn_failed(pilots, host->login->name, why, was_up, for_good && !pilots->policy.was_up);
		}
	}
	wakeup_post(pilots->wake_fd);
}

bool pilots_are_lost(const struct hosts *hosts) {
	bool comes = false;
	for_each_host(hosts, host) {
		comes = comes || (host->login->is_pilot && host->wanted);
	}
	return hosts->pilots->policy.is_refused && !comes;
}

// ---- life ----

static void free_all(struct pilots *pilots) {
	fd_close(&pilots->wake_fd);
	fd_close(&pilots->stop_fd);
	free(pilots->policy.pilots);
	buf_fini(&pilots->last_error);
	buf_fini(&pilots->last_reason);
	free(pilots->env);
	free(pilots);
}

int pilots_open(struct hosts *hosts) {
	static char plain[] = "LC_ALL=C", *const set[] = {plain, NULL};
	struct pilots *pilots = NEW(struct pilots);
	const struct options *options = hosts->options;
	*pilots = (struct pilots){
		.hosts = hosts, .name = options->pilot_name, .env = env_merge(hosts->env, set, changing), .wake_fd = wakeup_open(), .stop_fd = wakeup_open(),
	};
	snprintf(pilots->user, sizeof(pilots->user), "%ju", (uintmax_t)getuid());
	pilots->policy = (struct pilot_policy){
		.pilots = xcalloc(hosts->npilots, sizeof(struct pilot)),
		.n = (unsigned)hosts->npilots,
		.slots = hosts_slots_or_default(hosts, &options->hosts.logins[hosts->first_pilot]),
	};
	int error = pilots->wake_fd < 0 || pilots->stop_fd < 0 ? errno : thread_start(&pilots->thread, pilots_main, pilots, STACK_BYTES);
	if (error) {
		free_all(pilots);
	} else {
		hosts->pilots = pilots;
	}
	return result_of(error);
}

void pilots_stop(struct pilots *pilots) {
	if (pilots) {
		atomic_store_relaxed(&pilots->phase, STOPS);
		wakeup_post(pilots->stop_fd);
		thread_join(pilots->thread);
	}
}

void pilots_close(struct hosts *hosts) {
	struct pilots *pilots = hosts->pilots;
	if (pilots) {
		atomic_store_relaxed(&pilots->phase, CLOSES);
		if (pilots->has_requested && cancel(pilots, pilots->name, /* waiting */ false) && !pilots->has_cleaned) {
			clean_up(pilots);
		}
		free_all(pilots);
	}
}
