// Opens the parts of a run, each part after the parts that it needs; and has the call-backs of the run's pool and of its writer.
// run_end() closes the parts.
//
// The call-backs are called on any thread, and without a lock of the pool or the writer unless a comment says so. They leave
// to the event loop what concerns the whole run: they set a flag, and wake the loop.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "gate/gate.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "exec/job_run.h"
#include "feed/feed.h"
#include "hosts/hosts.h"
#include "process/signals.h"
#include "record/record.h"
#include "sharing/jobserver_slots.h"
#include "sharing/leases.h"
#include "sharing/nested.h"
#include "slots/slots.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SPOOL_MEM = 8 * 1024 * 1024,   // the most bytes of output that are held in memory, for all jobs together (docs/design.md promises 16 MiB at most)
	WORKER_STACK = 256 * 1024,     // each slot has a thread, so its stack is small
};

// ---- the parts ----

// Loads the manifest, and takes from it what the command line does not say. Returns 0, or -1 after a message.
static int open_manifest(struct run *run, struct options *options) {
	bool unwritten;
	run->manifest = options_load_manifest(options, &unwritten);
	if (!run->manifest || unwritten) {
		return -1;
	}
	if (!options->given[OPT_FAIR]) {
		run->fair_time = run->manifest->fair == MANIFEST_TIME;
	}
	if (run->manifest->fail_fast && !options->given[OPT_HALT]) {
		run->halt = (struct halt){.when = HALT_SOON, .why = HALT_ON_FAIL, .count = 1, .text = "fail_fast"};
	}
	run->cwd = getcwd(NULL, 0);
	if (!run->cwd) {
		return diag_error("cannot tell the current directory: %s", strerror(errno));
	}
	return dag_check_files(run);
}

// Gives the run a number of slots that does not change.
static void set_slots(struct run *run, unsigned slots) {
	run->slots = slots;
	run->slots_bounds = (struct slots_bounds){slots, slots};
}

// ---- -j auto ----

static void get_demand(void *arg, struct auto_demand *ret_demand) {
	struct run *run = arg;
	struct pool_stat stat;
	bool wanted = !run->leases && run->phase < RUN_DRAINING && pool_demand(run->pool, 1) > 0;
	pool_stat(run->pool, &stat); // after pool_demand(): for an item that comes later, the pool calls on_starving()
	*ret_demand = (struct auto_demand){
		.children = run->children,
		.taken = run->hosts ? hosts_used_here(run->hosts) : (unsigned)stat.slots_taken,
		.lent = nested_lent(run->nested),
		.wanted = wanted,
	};
}

static void on_adapted(void *arg, unsigned slots, enum controller_reason reason) {
	struct run *run = arg;
	if (run->hosts) {
		hosts_adapt_here(run->hosts, slots, reason);
	} else {
		pool_set_slots(run->pool, slots);
		run_note_slots(run, slots, controller_reason_name(reason));
	}
	nested_tell_slots(run->nested, slots, reason);
}

// Begins to adapt the number of slots, within `bounds`. If `bounds` is NULL, only samples the jobs, for the server that lends and adapts the slots.
static void open_auto(struct run *run, const struct slots_bounds *bounds) {
	run->auto_slots = auto_slots_new(bounds, &(struct auto_owner){
		.demand = get_demand, .changed = on_adapted, .arg = run, .wake_fd = run->wake_fd,
	});
}

static void close_auto(struct run *run) {
	auto_slots_free(run->auto_slots);
	run->auto_slots = NULL;
}

// ---- how many slots ----

// Gives the run the slots of -j, as far as descriptors and processes allow it. Sets *ret_has_guardian to whether they allow a guardian.
// Returns 0, or -1 after a message.
static int count_slots(struct run *run, bool *ret_has_guardian) {
	const struct options *options = run->options;
	const char *most = options->tee ? "0" : "100%"; // with --tee all jobs run at once, as in GNU parallel
	const char *given = run->manifest && run->manifest->slots ? run->manifest->slots : most;
	const char *jobs = options->jobs ? options->jobs : given;
	if (gate_open(run, jobs) != 0) { // before slots_parse() reads a file that -j names: the gate must see each later change of the file
		return -1;
	}
	struct slots_bounds bounds;
	char *error;
	bool is_auto = slots_is_auto(jobs);
	unsigned limit = slots_limit(run->job_fds);
	if (slots_parse(jobs, run->job_fds, &bounds, &error) != 0) {
		return diag_error_free(error);
	}
	if (bounds.most > limit) {
		diag_warn("-j %s: %lu descriptors (ulimit -n) are enough for only %u job%s at once", jobs, run->nofile, limit, limit == 1 ? "" : "s");
		bounds.most = limit;
	}
	bounds.most = limits_slots_by_processes(bounds.most, is_auto ? LIMITS_TASKS_AUTO : LIMITS_TASKS, ret_has_guardian);
	bounds.least = bounds.least < bounds.most ? bounds.least : bounds.most;
	if (is_auto && options->pipe != PIPE_NOT) { // blockfeed_open() allows blocks only for as many jobs as run at the beginning
		unsigned cpus = slots_usable_cpus();
		bounds.most = bounds.least > cpus ? bounds.least : bounds.most < cpus ? bounds.most : cpus;
	}
	if (!is_auto || run_is_serial(run)) {
		set_slots(run, is_auto ? 1 : bounds.most);
	} else {
		run->slots_bounds = bounds;
		open_auto(run, &bounds);
		run->slots = auto_slots_number(run->auto_slots);
	}
	return 0;
}

// Returns how many slots the run may use of a jobserver or a pool that has `there` slots (0: not known).
static unsigned limit_shared_slots(const struct run *run, unsigned there) {
	bool has_guardian;
	unsigned limit = slots_limit(run->job_fds);
	unsigned most = limit < TOKENS_MOST ? limit : TOKENS_MOST;
	return limits_slots_by_processes(there > 0 && there < most ? there : most, LIMITS_TASKS, &has_guardian);
}

// Returns the first batch whose jobs take several slots, or NULL.
static const struct manifest_batch *wide_batch(const struct manifest *manifest) {
	for (size_t i = 0; manifest && i < manifest->nbatches; ++i) {
		if (manifest->batches[i].job->slots_per_job > 1) {
			return &manifest->batches[i];
		}
	}
	return NULL;
}

// Connects to the pool of --pool, to the fairpar in whose job this fairpar runs, or to make's jobserver. If there is such a
// program, the run uses its slots, and -j limits how many. Returns 0, or -1 after a message.
static int open_leases(struct run *run) {
	const struct options *options = run->options;
	if (options->dry_run || options->sem.is_on || run->hosts) {
		return 0;
	}
	const struct manifest_batch *wide = wide_batch(run->manifest);
	if (wide && options->pool.name) {
		return diag_error("--pool: a job of a manifest cannot take several slots of a pool: batch '%s' has 'slots_per_job'", text_shows(wide->name));
	}
	if (options->pool.no_inherit) {
		jobserver_slots_hide(run->context);
	}
	struct slots_bounds bounds;
	FP_CLEANUP(free_later) char *why = NULL;
	bool is_limited = options->jobs || (run->manifest && run->manifest->slots);
	unsigned slots = is_limited ? run->slots_bounds.most : 0, most;
	if (run_is_serial(run)) {
		slots = 1;
	} else if (slots == 0 && options->pool.name) {
		slots = limit_shared_slots(run, 0);
	}
	unsigned asked = slots;
	enum jobserver_found found = jobserver_slots_connect(options, &most, &run->jobserver, &why);
	if (found == JOBSERVER_CLIENT) {
		unsigned there = limit_shared_slots(run, most);
		set_slots(run, slots > 0 && slots < there ? slots : there);
		run->slots_shared = run->slots != asked;
		run->slots_bounds.least = most == 0 && run->slots == there ? 0 : run->slots;
		close_auto(run); // the jobserver decides how many slots there are
		return 0;
	}
	int result = leases_open(options, run->context, &slots, &bounds, &run->leases);
	if (run->leases || options->pool.name) {
		close_auto(run);
		run->slots = slots;
		run->slots_bounds = bounds;
		run->slots_shared = slots != asked;
		if (run->leases && leases_adapt(run->leases)) {
			open_auto(run, NULL);
		}
	} else if (result == 0 && found == JOBSERVER_CLOSED) {
		diag_warn("%s; one job runs at a time", why);
		set_slots(run, 1);
		close_auto(run);
	}
	return result;
}

// Opens the machines of -S, if there are any: the run uses their slots. Returns 0, or -1 after a message.
static int open_hosts(struct run *run) {
	const struct options *options = run->options;
	if (options->dry_run) {
		return 0;
	}
	if (hosts_open(options, run->context, run->slots, &run->hosts) != 0) {
		return -1;
	}
	if (run->hosts) {
		if (run->auto_slots && !hosts_adapts_here(run->hosts)) {
			close_auto(run);
		}
		unsigned slots = hosts_estimate_slots(run->hosts), most = run->slots_bounds.most; // `most` counts the slots of one machine
		set_slots(run, slots);
		run->slots_bounds = (struct slots_bounds){.least = 0, .most = options_jobs_auto(options) && most > slots ? most : slots};
	}
	return 0;
}

// --jobserver: serves slots to the tools in jobs. A run that is a client of make's jobserver passes that jobserver on instead.
// Returns 0, or -1 after a message.
static int open_jobserver(struct run *run) {
	const struct options *options = run->options;
	if (!options->pool.jobserver || options->dry_run || options->sem.is_on || run->jobserver) {
		return 0;
	}
	if (run->leases && !options->pool.name) {
		diag_warn("--jobserver has no effect in a job of another run: give it to that run");
		return 0;
	}
	run->jobserver = jobserver_slots_serve(options, run->context, run->temp_dir, /* in_shared_pool */ run->leases);
	return run->jobserver ? 0 : -1;
}

// Sets run->temp_dir, where spilled items and held output go. A TMPDIR that cannot be used is reported here, because jobs would
// only meet the error much later. Returns 0, or -1 after a message.
static int choose_temp_dir(struct run *run) {
	const char *given = run->options->tmpdir;
	if (given && access(given, W_OK | X_OK) != 0) {
		return diag_error("--tmpdir '%s': %s", text_shows(given), strerror(errno));
	}
	const char *own = given ? given : tmpfile_dir(NULL);
	run->temp_dir = access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp";
	if (own && access(own, W_OK | X_OK) == 0) {
		run->temp_dir = own;
	} else if (own) {
		diag_warn("TMPDIR '%s' cannot be used: %s; %s is used instead", text_shows(own), strerror(errno), run->temp_dir);
	}
	return 0;
}

// Opens the descriptors that wake the event loop: for signals, and for run_wake(). Returns 0, or -1 after a message.
static int open_wakeups(struct run *run) {
	int stop_signal = run->options->stop_signal;
	take_from_ending_signals(stop_signal);
	run->signal_fd = signals_open();
	if (run->signal_fd < 0 || (run->options->tty && signals_add(run->signal_fd, SIGCHLD) != 0) ||
	    (stop_signal && signals_add(run->signal_fd, stop_signal) != 0)) {
		return diag_error("cannot set up signals: signalfd: %s", strerror(errno));
	}
	run->wake_fd = wakeup_open();
	write_limit_watch(run->signal_fd);
	return run->wake_fd >= 0 ? 0 : diag_error("cannot set up signals: eventfd: %s", strerror(errno));
}

// ---- the pool ----

static void on_idle(void *arg) {
	struct run *run = arg;
	atomic_store_release(&run->idle, true); // pairs with the load in run_loop()
	run_wake(run);
}

static void on_low(void *arg, struct queue *queue) {
	if (queue) {
		struct batch *batch = queue_user(queue);
		atomic_store_release(&batch->is_low, true); // pairs with the exchange in feed_route.c
	}
	run_wake(arg);
}

static void on_removed(void *arg, struct queue *queue, uint64_t submitted FP_UNUSED) {
	struct run *run = arg;
	struct batch *batch = queue_user(queue);
	struct dag_node *node = batch->node;
	batch->ended.longest_wait = queue_longest_wait(queue);
	hosts_set_queue(batch->binding, NULL, &batch->attrs, batch->width);
	batch_retire(batch);
	if (node) { // last, so that the end of this batch is published before other batches begin
		dag_node_ended(node);
	} else {
		run_wake(run);
	}
}

static void on_dispatch(void *arg, const struct service *service) {
	struct run *run = arg;
	struct event event = {.kind = EVENT_DISPATCH, .at = service->now - run->start, .u.dispatch = {
		.n = service->n,
		.batch = service->batch,
		.job = service->id,
		.source = (enum event_source)service->source,
		.slot = service->slot,
		.turns = service->turns,
		.virt = service->virt,
		.lag = service->lag,
	}};
	event_log_on_event(run->trace, &event); // run_item() or the event loop writes it to the file
}

static void on_reserving(void *arg, struct queue *queue, uint64_t id, unsigned width) {
	char what[40];
	snprintf(what, sizeof(what), "%u free slots", width);
	publish_wait(arg, queue_user(queue), id, WHY_RESERVE, what);
}

static void on_flush(void *arg) {
	log_sink_flush(arg, /* may_wait */ true);
}

static void on_starving(void *arg) {
	struct run *run = arg;
	if (run->leases) {
		leases_ask(run->leases);
	} else if (run->nested) {
		run_wake(run); // there are items that could use the slots which are lent to runs in jobs
	}
	hosts_starving(run->hosts);
	if (run->jobserver) {
		jobserver_slots_check(run->jobserver);
	}
	auto_slots_starving(run->auto_slots);
}

// Under the pool's lock.
static void on_returned(void *arg, struct worker *worker FP_UNUSED) {
	run_wake(arg);
}

static void on_surplus(void *arg) {
	const struct run *run = arg;
	if (run->leases) {
		leases_return_surplus(run->leases);
	} else {
		jobserver_slots_check(run->jobserver);
	}
}

static void on_pool_trouble(void *arg, const char *what, int error) {
	struct run *run = arg;
	if (strcmp(what, "spill") == 0) {
		diag_warn("items cannot be put into a temporary file in '%s': %s: they are read only as jobs take them, and none is lost",
		          text_shows(run->temp_dir), strerror(error));
	} else {
		diag_warn("%s: %s", what, strerror(error));
	}
	if (run->options->tee && error == EAGAIN) { // fewer threads than jobs: the jobs that run would wait for ever for the other jobs
		diag_error("--tee: not all jobs can run at once");
		atomic_store_relaxed(&run->trouble, true);
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
		run_wake(run);
	}
}

// Makes a pool of `slots` slots, which pool_start() starts later. All that its call-backs use is open by now, except the nodes of
// a manifest and the feeds, which are made before pool_start().
static struct pool *make_pool(struct run *run, unsigned slots) {
	const struct options *options = run->options;
	struct pool_config config = {
		.slots = slots,
		.max_long = options->max_long,
		.fair_time = run->fair_time,
		.one_by_one = options->interactive || gate_can_hold(run->gate),
		.queue_mem = options->queue_mem,
		.spill_dir = run->temp_dir,
		.stack_bytes = WORKER_STACK,
		.hooks = {
			.idle = on_idle,
			.low = on_low,
			.removed = on_removed,
			.trace = run->trace ? on_dispatch : NULL,
			.returned = on_returned,
			.gate = gate_can_hold(run->gate) ? gate_ask : NULL,
			.flush = run->log ? on_flush : NULL,
			.starving = run->leases || run->nested || run->jobserver || run->auto_slots ? on_starving : NULL,
			.surplus = run->leases || run->jobserver ? on_surplus : NULL,
			.reserving = on_reserving,
			.trouble = on_pool_trouble,
			.arg = run,
		},
	};
	return pool_create(&config);
}

// ---- the writer ----

// Called when output cannot be written: to stdout or --results (`stream` 0), stderr (1) or a temporary file (2). To end the run, sets output_error.
static void on_output_failed(void *arg, int stream, int error) {
	struct run *run = arg;
	const char *const names[] = {result_files_name(run), "standard error"};
	bool unread = error == ETIME; // the time limit of run_limit_end() is over: writer_destroy() tells how much was not written
	if (stream == 2) {
		diag_error("cannot write to a temporary file for output in '%s': %s: output of jobs is lost, and no more jobs are started",
		           text_shows(run->temp_dir), strerror(error));
	} else if ((stream != 0 || error != EPIPE) && !unread) {
		diag_error("cannot write to %s: %s", names[stream], strerror(error));
	}
	atomic_store_relaxed(&run->trouble, true);
	if (stream == 1 && error != EPIPE && !unread) {
		return; // the run goes on, because what jobs write to stdout is still of use
	}
	int none = 0;
	atomic_compare_exchange_strong(&run->output_error, &none, error); // pairs with the load in stop.c
	run_wake(run);
}

static void on_stall(void *arg, void *attempt, bool stalls) {
	struct run *run = arg;
	if (run->hosts) {
		pool_add_threads(run->pool, stalls ? 1 : -1);
	} else if (stalls) {
		leases_yield(run->leases, attempt);
	} else {
		leases_take_back(run->leases, attempt);
	}
}

// Makes the writer. Returns NULL if jobs write to stdout and stderr themselves. To be called after open_leases() and result_files_open().
static struct writer *make_writer(struct run *run) {
	const struct options *options = run->options;
	if (options->output == OUTPUT_UNGROUP && !options->dry_run && !run->manifest && !job_output_is_relayed(run)) {
		return NULL;
	}
	struct writer_config config = {
		.keep_order = options->keep_order || options->dry_run,
		.spool_mem = SPOOL_MEM,
		.spool_dir = run->temp_dir,
		.out_fd = result_files_fd(run),
		.err_fd = STDERR_FILENO,
		.failed = on_output_failed,
		.written = job_records_written,
		.stalls = run->leases || run->hosts ? on_stall : NULL,
		.arg = run,
	};
	return writer_create(&config);
}

// Makes the table of the children, and the parts that lend slots to jobs or set variables in their environment.
static void open_children(struct run *run, bool has_guardian) {
	const struct options *options = run->options;
	run->children = children_create(&options->term_seq, run->context, run->wake_fd);
	if (!has_guardian) {
		guardian_forgo(children_guardian(run->children));
	}
	if (run->leases && batches_learn_memory(run)) {
		leases_share_memory(run->leases, run->children);
	}
	if (!options->dry_run) {
		run->nested = nested_open(run->slots, run->slots_bounds, /* lends */ !run->leases, run->context, run->children);
	}
	if (run->jobserver) {
		jobserver_slots_set_children(run->jobserver, run->children);
	}
	if (run->leases || run->nested) {
		jobserver_slots_mark_level(run->context);
	}
}

// ---- the run ----

int setup_open(struct run *run, struct options *options) {
	bool has_guardian;
	run->nofile = (unsigned long)context_raise_nofile(run->context);
	run->job_fds = run->nofile > options->nbatch_files ? run->nofile - options->nbatch_files : 0;
	if (limits_check(options, run->nofile) != 0 || pictures_check(options) != 0 || open_wakeups(run) != 0) {
		return -1;
	}
	signals_release(); // a signal must end fairpar while it waits for the reader of a FIFO that an option names
	if ((options->manifest && open_manifest(run, options) != 0) || count_slots(run, &has_guardian) != 0
	    || open_hosts(run) != 0 || open_leases(run) != 0) {
		return -1;
	}
	if (options->trace_service) {
		struct event_log_config config = {.fd = log_create(options->trace_service, /* keeps */ false)};
		if (config.fd < 0 || !(run->trace = event_log_open(&config))) {
			return diag_error("cannot write '%s': %s", text_shows(options->trace_service), strerror(errno));
		}
	}
	if (choose_temp_dir(run) != 0 || open_jobserver(run) != 0) {
		return -1;
	}
	open_children(run, has_guardian);
	if (control_open(run) != 0 || result_files_open(run) != 0) {
		return -1;
	}
	run->writer = make_writer(run);
	if ((options->tty || options->interactive) && terminal_open(run) != 0) {
		return -1;
	}
	run->retry_queue = retry_queue_create(&work_retries);
	run->item_work = &work_item;
	if (job_records_open(run) != 0 || status_display_open(run) != 0) {
		return -1;
	}
	end_summary_open(run);
	if (!options->dry_run) { // a dry run starts no job
		explain_live_subscribe(run);
	}
	if (log_sink_open(run) != 0) { // after status_display_open(): --log may empty the file that --eta reads
		return -1;
	}
	signals_block_again();
	unsigned slots = run_is_serial(run) ? 1 : run->slots;
	run->pool = make_pool(run, slots);
	if (run->hosts && hosts_attach(run->hosts, run->pool, slots, run->wake_fd) != 0) {
		return -1;
	}
	if (run->leases) {
		bool says = !options->quiet && !(run->status_display && isatty(STDERR_FILENO));
		leases_attach(run->leases, run->pool, slots, says, run->wake_fd);
	}
	if (run->nested) {
		loans_attach(run);
	}
	if (run->jobserver) {
		jobserver_slots_attach(run->jobserver, run->pool, slots, run->wake_fd);
	}
	publish_begin(run);
	return feeds_open(run) != 0 ? -1 : run->manifest ? dag_open(run) : 0;
}
