// The composition root: puts pool, children, output and inputs together, and is the event loop of the run.
//
// The main thread reads input (feed.c), answers signals and times the end of jobs that must end; the workers of the
// pool run the jobs (work.c). The loop sleeps in poll() until a signal, input, or one of the wake-ups below comes:
// the pool wants more items or is idle, --halt now, output that cannot be written, a full trace buffer.

#include "run/run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "plan/shell.h"
#include "process/signals.h"
#include "run/admission.h"
#include "run/autopack.h"
#include "run/blockfeed.h"
#include "run/ending.h"
#include "run/explaining.h"
#include "run/feed.h"
#include "run/later.h"
#include "run/ledger.h"
#include "run/lineup.h"
#include "run/pictures.h"
#include "run/products.h"
#include "run/shelf.h"
#include "run/stages.h"
#include "run/tee.h"
#include "run/telling.h"
#include "run/telling_log.h"
#include "run/terminal.h"
#include "run/watch.h"
#include "run/work.h"
#include "slots/slots.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	SPOOL_MEM = 8 * 1024 * 1024,   // held output in memory, over all jobs (DESIGN §8, P7: 16 MiB in all)
	WORKER_STACK = 256 * 1024,     // a slot is a thread: small stacks (DESIGN §15)
};

void run_wake(struct run *run) {
	uint64_t one = 1;
	ssize_t n;
	do {
		n = write(run->wake_fd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
	verify(n == sizeof(one) || errno == EAGAIN); // EAGAIN: the counter is full, so a wake-up is pending
}

// ---- batches ----

struct batch *batch_new(struct run *run, const char *name) {
	struct batch *batch = NEW(struct batch);
	atomic_init(&batch->refs, 1);
	batch->run = run;
	batch->recipes = run->recipes;
	batch->width = 1;
	batch->name = xstrdup(name);
	batch->autopack = run->options->packing.by_time ? autopack_create() : NULL;
	return batch;
}

void batch_open_lane(struct batch *batch) {
	const struct options *options = batch->run->options;
	if (batch->run->emit && (options->keep_order || options->dry_run)) {
		batch->lane = emit_lane_open(batch->run->emit);
	}
}

struct batch *batch_ref(struct batch *batch) {
	atomic_add_relaxed(&batch->refs, 1); // the caller knows that it cannot go away meanwhile
	return batch;
}

void batch_unref(struct batch *batch) {
	// acquire and release: who frees it sees what the others did before their own unref
	if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) > 1) {
		return;
	}
	if (batch->lane) {
		emit_lane_close(batch->run->emit, batch->lane);
	}
	if (batch->news) {
		telling_batch_end(batch);
	}
	free(batch->autopack);
	free(batch->name);
	free(batch);
}

// Lets go of the batches whose queues are gone. On the thread that opens queues: what it finds open stays its own.
static void reap_batches(struct run *run) {
	mutex_lock(&run->lock);
	struct batch *dead = run->dead;
	run->dead = NULL;
	mutex_unlock(&run->lock);
	while (dead) {
		struct batch *next = dead->next_dead;
		batch_unref(dead);
		dead = next;
	}
}

void batch_override(const struct run *run, const char *name, struct queue_attrs *attrs) {
	for (size_t i = 0; i < run->options->nsettings; ++i) {
		struct batch_setting *setting = &run->options->settings[i];
		if (fnmatch(setting->pattern, name, 0) != 0) {
			continue;
		}
		setting->used = true;
		switch (setting->what) {
		case SET_WEIGHT: attrs->weight = (uint32_t)setting->value; break;
		case SET_MAX_PARALLEL: attrs->max_parallel = (uint32_t)setting->value; break;
		case SET_PRIORITY: attrs->priority = (int32_t)setting->value; break;
		case SET_LONG_RUNNING: attrs->long_running = setting->value; break;
		case SET_PREFER_FAIRNESS: attrs->prefer_fairness = setting->value; break;
		}
	}
}

// ---- what the rooms call ----

static void on_idle(void *arg) {
	struct run *run = arg;
	atomic_store_release(&run->idle, true); // pairs with the load in run_loop()
	run_wake(run);
}

static void on_low(void *arg, struct queue *queue FP_UNUSED) {
	run_wake(arg);
}

static void on_removed(void *arg, struct queue *queue, uint64_t submitted FP_UNUSED) {
	struct run *run = arg;
	struct batch *batch = queue_user(queue);
	struct stage *stage = batch->stage;
	mutex_lock(&run->lock);
	batch->next_dead = run->dead;
	run->dead = batch;
	mutex_unlock(&run->lock);
	if (stage) { // behind the above, so that its end is told before others begin
		stage_ended(stage);
	} else if (run->telling) {
		run_wake(run);
	}
}

static void on_dispatch(void *arg, const struct service *service) {
	struct run *run = arg;
	if (service->source != SOURCE_PACKED) { // those have their place with the one that took them along
		lineup_add(run, service->slot);
	}
	if (!run->trace) {
		return;
	}
	static const char *const sources[] = {
		[SOURCE_OWN] = "own", [SOURCE_STOLEN] = "stolen", [SOURCE_QUEUE] = "queue",
		[SOURCE_LENT] = "lent", [SOURCE_LONG] = "long", [SOURCE_PACKED] = "pack",
	};
	struct trace_line line = {
		.n = service->n,
		.seconds = (double)(service->now - run->start) / 1e9,
		.batch = service->batch,
		.job = service->id,
		.source = sources[service->source],
		.slot = service->slot,
		.virt = service->virt,
		.lag = service->lag,
	};
	if (trace_add(run->trace, &line)) {
		run_wake(run);
	}
}

static void on_reserving(void *arg, struct queue *queue, uint64_t id, unsigned width) {
	char what[40];
	snprintf(what, sizeof(what), "%u free slots", width);
	telling_wait(arg, queue_user(queue), id, WHY_RESERVE, what);
}

static void on_settle(void *arg) {
	telling_log_flush(arg, /* may_wait */ true);
}

static void on_pool_trouble(void *arg, const char *what, int error) {
	struct run *run = arg;
	diag_warn("%s: %s", what, strerror(error));
	if (run->tee && error == EAGAIN) { // fewer threads than jobs: those that run would wait for ever for the others
		diag_error("--tee: not all jobs can run at once");
		atomic_store_relaxed(&run->trouble, true);
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
		run_wake(run);
	}
}

// Output that cannot be written makes the rest of the run pointless: it starts nothing more (see stop_for_output()).
static void on_output_failed(void *arg, int stream, int error) {
	struct run *run = arg;
	const char *const names[] = {shelf_name(run), "standard error", "a temporary file for output"};
	if (stream != 0 || error != EPIPE) {
		diag_error("cannot write to %s: %s", names[stream], strerror(error));
	}
	atomic_store_relaxed(&run->trouble, true);
	int none = 0;
	atomic_compare_exchange_strong(&run->output_error, &none, error);
	atomic_store_release(&run->output_failed, true); // pairs with the load in stop_for_output()
	run_wake(run);
}

// ---- the loop ----

// Starts nothing more. Running jobs go on unless terminate() is called too.
static void stop(struct run *run) {
	if (!run->stopping) {
		run->stopping = true;
		feeds_stop(run);
		stages_stop(run);
		later_stop(run);
		terminal_cancel(run);
		if (run->admission) {
			admission_stop(run);
		}
		pool_shutdown(run->pool, POOL_CANCELLING);
	}
}

static void terminate(struct run *run) {
	if (!run->terminating) {
		run->terminating = true;
		children_terminate(run->children); // first: to drop what is queued may take a while
	}
	stop(run);
}

static void list_child(void *arg, const struct child_view *view) {
	uint64_t now = *(uint64_t *)arg;
	diag_note("running for %.1fs, pid %ld: %s%s%s", (double)(now - view->start) / 1e9, (long)view->pid,
	          diag_shows(view->label), view->last ? ": " : "", view->last ? diag_shows(view->last) : "");
}

static void suspend(struct run *run) {
	pool_pause(run->pool, true);
	children_signal(run->children, SIGSTOP);
	watch_suspend(run);
	signals_stop_self();
	watch_resume(run);
	children_signal(run->children, SIGCONT);
	pool_pause(run->pool, false);
}

static void answer_signal(struct run *run, int signal) {
	uint64_t now = now_ns();
	switch (signal) {
	case SIGTSTP:
		suspend(run);
		break;
	case SIGCONT:
		watch_resume(run); // perhaps in the foreground
		break;
	case SIGUSR2:
		watch_toggle(run);
		break;
	case SIGWINCH:
		watch_resized(run);
		break;
	case SIGCHLD:
		terminal_note_stops(run);
		break;
	case SIGUSR1:
		children_each(run->children, list_child, &now);
		stages_show(run);
		if (run->explaining) {
			explaining_print(run);
		}
		break;
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		if (run->killing) { // a third one: what keeps us is a reader who does not read
			signals_die(signal);
		}
		if (run->signal) {
			run->killing = true;
			children_kill(run->children);
			break;
		}
		run->signal = signal;
		if (!run->options->quiet) {
			diag_note("stopping: the running jobs get SIGTERM; once more and they are killed");
		}
		terminate(run);
		break;
	default:
		break;
	}
}

static void answer_signals(struct run *run) {
	int signal;
	while ((signal = signals_next(run->signal_fd)) != 0) {
		answer_signal(run, signal);
	}
}

static void stop_for_output(struct run *run) {
	if (!run->stopping && atomic_load_acquire(&run->output_failed)) {
		// like a filter whose reader has gone: what still runs would write for nobody
		if (atomic_load_relaxed(&run->output_error) == EPIPE) {
			terminate(run);
		} else {
			stop(run);
		}
	}
}

static void flush_trace(struct run *run) {
	if (run->trace && trace_flush(run->trace) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", diag_shows(run->options->trace_service), strerror(errno));
	}
}

// Polls for signals, wake-ups and the inputs that wait. `timeout_ms` as for poll().
static void loop_poll(struct run *run, int timeout_ms) {
	size_t n = 2;
	grow_array(&run->fds, &run->fds_cap, n, sizeof(*run->fds));
	run->fds[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
	run->fds[1] = (struct pollfd){.fd = run->wake_fd, .events = POLLIN};
	const struct list *at = NULL;
	for (int fd; (fd = feeds_poll_fd(run, &at)) >= 0;) {
		grow_array(&run->fds, &run->fds_cap, n + 1, sizeof(*run->fds));
		run->fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	int ready = poll(run->fds, (nfds_t)n, timeout_ms);
	verify(ready >= 0 || errno == EINTR || errno == ENOMEM);
	uint64_t count;
	if (ready > 0 && (run->fds[1].revents & POLLIN)) {
		ssize_t got = read(run->wake_fd, &count, sizeof(count));
		verify(got == sizeof(count) || errno == EAGAIN || errno == EINTR);
	}
}

// Milliseconds until `deadline`, for poll(): rounded up, so that it does not wake too early.
static int poll_timeout(uint64_t deadline) {
	if (deadline == TIME_NEVER) {
		return -1;
	}
	uint64_t now = now_ns();
	uint64_t ms = deadline > now ? (deadline - now + NS_PER_MS - 1) / NS_PER_MS : 0;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

static void run_loop(struct run *run) {
	bool again = feeds_fill(run);
	pool_start(run->pool);
	while (!atomic_load_acquire(&run->idle)) { // pairs with the store in on_idle()
		uint64_t next = later_submit(run, now_ns());
		if (run->terminating) {
			uint64_t step = children_term_step(run->children, now_ns());
			next = step < next ? step : next;
		}
		if (run->admission) {
			uint64_t due = admission_tick(run, now_ns());
			next = due < next ? due : next;
		}
		if (run->watch) {
			uint64_t due = watch_tick(run, now_ns());
			next = due < next ? due : next;
		}
		loop_poll(run, again ? 0 : poll_timeout(next));
		answer_signals(run);
		if (atomic_load_acquire(&run->halt_now)) { // pairs with the store in work_stop_run()
			terminate(run);
		}
		stop_for_output(run);
		children_reap_strays(run->children);
		flush_trace(run);
		reap_batches(run);
		if (run->telling) {
			telling_tick(run);
		}
		stages_advance(run);
		again = !run->stopping && feeds_fill(run);
	}
}

bool run_wait_input(struct run *run, int fd) {
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = run->signal_fd, .events = POLLIN}};
	for (;;) {
		int ready = poll(fds, 2, -1);
		verify(ready >= 0 || errno == EINTR);
		if (ready > 0 && fds[1].revents) {
			int signal = signals_next(run->signal_fd);
			if (signal == SIGTSTP) {
				signals_stop_self();
			} else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
				run->signal = signal;
				return false;
			}
		} else if (ready > 0) {
			return true;
		}
	}
}

// ---- putting it together ----

// The shell of the command line, as shell_choose(), or NULL after a message.
static char *choose_shell(const struct options *options) {
	char *shell = shell_choose(options->shell);
	if (!shell) {
		int error = errno;
		const char *by;
		const char *name = diag_shows(shell_named(options->shell, &by));
		if (error == ENOTSUP) {
			diag_error("%s: '%s' does not read the quotes of a Bourne shell; take sh, bash, dash, ksh, zsh or their kin", by,
			           name);
		} else {
			diag_error("%s: there is no program '%s'", by, name);
		}
	}
	return shell;
}

// What is taken for a column's name and is none leaves all items in one batch, and nobody would see why.
static void warn_one_batch(const struct run *run) {
	struct template_measure measure = {0};
	if (run->batch_by && !run->options->quiet) {
		template_measure(run->batch_by, &measure);
		if (measure.inserts == 0) {
			diag_warn("--batch-by: '%s' has no replacement string, so all items are in one batch",
			          diag_shows(run->options->batch_by));
		}
	}
}

int run_parse_templates(struct run *run, const struct names *names) {
	const struct options *options = run->options;
	char *shell = choose_shell(options);
	if (!shell) {
		return -1;
	}
	bool failed = recipe_from_options(&run->recipe, options, run->context, shell, names) != 0;
	if (options->batch_by) {
		run->batch_by = recipe_parse(&options->batch_by, 1, TEMPLATE_RAW, names, &failed);
		warn_one_batch(run);
	}
	return shelf_parse(run, names) != 0 || failed ? -1 : 0;
}

static bool needs_total(const struct template *template) {
	return template && template_needs_total(template);
}

bool run_needs_total(const struct run *run) {
	const struct recipe *recipe = &run->recipe;
	bool needed = needs_total(recipe->command) || needs_total(recipe->on_failure) || needs_total(recipe->tag);
	for (size_t i = 0; i < recipe->nthen; ++i) {
		needed = needed || needs_total(recipe->then[i]);
	}
	return needed || needs_total(run->batch_by);
}

// Loads the manifest, and takes from it what the command line does not say. Returns 0, or -1 after a message.
static int load_manifest(struct run *run) {
	const struct options *options = run->options;
	struct buf messages = BUF_INIT;
	run->manifest = manifest_load(options->manifest, &messages);
	bool failed = !run->manifest;
	if (messages.len > 0 && write_all(STDERR_FILENO, messages.data, messages.len) != 0) {
		failed = true;
	}
	buf_reset(&messages);
	if (!failed && options->nnames > 0 && manifest_select(run->manifest, options->names, options->nnames, &messages) != 0) {
		diag_error("%s", buf_str(&messages));
		failed = true;
	}
	buf_fini(&messages);
	if (failed) {
		return -1;
	}
	if (run->manifest->fail_fast && !options->halt_given) {
		run->halt = (struct halt){.when = HALT_SOON, .why = HALT_ON_FAIL, .count = 1};
	}
	run->cwd = getcwd(NULL, 0);
	if (!run->cwd) {
		diag_error("cannot tell the current directory: %s", strerror(errno));
		return -1;
	}
	return stages_check_files(run);
}

static struct pool *make_pool(struct run *run, unsigned slots) {
	const struct options *options = run->options;
	run->fair_time = options->fair_time;
	if (run->manifest && !options->fair_given) {
		run->fair_time = run->manifest->fair == MANIFEST_TIME;
	}
	struct pool_config config = {
		.slots = slots,
		.max_long = options->max_long,
		.fair_time = run->fair_time,
		.facts = run->telling != NULL,
		.queue_mem = options->queue_mem,
		.spill_dir = run->temp_dir,
		.start_interval = options->delay_auto ? 0 : options->delay,
		.stack_bytes = WORKER_STACK,
		.hooks = {
			.idle = on_idle,
			.low = on_low,
			.failed = work_failed,
			.removed = on_removed,
			.trace = run->trace || run->lineup ? on_dispatch : NULL,
			.settle = run->log ? on_settle : NULL,
			.reserving = run->telling ? on_reserving : NULL,
			.trouble = on_pool_trouble,
			.arg = run,
		},
	};
	return pool_create(&config);
}

static struct emit *make_emit(struct run *run) {
	const struct options *options = run->options;
	if (options->output == OUTPUT_UNGROUP && !options->dry_run && !run->manifest) {
		return NULL;
	}
	struct emit_config config = {
		.keep_order = options->keep_order || options->dry_run,
		.spool_mem = SPOOL_MEM,
		.spool_dir = run->temp_dir,
		.out_fd = shelf_fd(run),
		.err_fd = STDERR_FILENO,
		.failed = on_output_failed,
		.written = ledger_written,
		.arg = run,
	};
	return emit_create(&config);
}

// The number of slots by -j, within the descriptors there are. Returns 0, or -1 after a message.
static int count_slots(struct run *run, unsigned *ret_slots) {
	const char *most = run->options->tee ? "0" : "100%"; // --tee: all at once, as in GNU parallel
	const char *given = run->manifest && run->manifest->slots ? run->manifest->slots : most;
	const char *jobs = run->options->jobs ? run->options->jobs : given;
	unsigned long nofile = run->nofile = (unsigned long)context_raise_nofile(run->context);
	char *error;
	if (admission_open(run, jobs) != 0) { // it may be a file, which is not to change between two looks
		return -1;
	}
	if (slots_parse(jobs, nofile, ret_slots, &error) != 0) {
		diag_error("%s", error);
		free(error);
		return -1;
	}
	unsigned limit = slots_limit(nofile);
	if (*ret_slots > limit) {
		diag_warn("-j %s: %lu descriptors are enough for %u job%s at once", jobs, nofile, limit, limit == 1 ? "" : "s");
		*ret_slots = limit;
	}
	return 0;
}

// Where spilled items and held output go. A TMPDIR that is no use would hold jobs up only much later.
static void choose_temp_dir(struct run *run) {
	const char *own = run->options->tmpdir ? run->options->tmpdir : tmpfile_dir(NULL);
	run->temp_dir = own ? own : "/var/tmp";
	if (access(run->temp_dir, W_OK | X_OK) == 0) {
		return;
	}
	if (own) {
		diag_warn("TMPDIR '%s': %s; taking /var/tmp", diag_shows(own), strerror(errno));
		run->temp_dir = "/var/tmp";
	}
	if (access(run->temp_dir, W_OK | X_OK) != 0) {
		run->temp_dir = "/tmp";
	}
}

// All who listen, before anything can be told. Returns 0, or -1 after a message.
static int open_listeners(struct run *run) {
	if (run->options->dry_run) {
		return 0; // nothing happens
	}
	ending_listen(run);
	explaining_listen(run);
	if (pictures_wanted(run->options)) {
		telling_log_keep(run);
	}
	return telling_log_listen(run);
}

// Opens what the run needs. Returns 0, or -1 after a message.
static int run_open(struct run *run) {
	const struct options *options = run->options;
	if (pictures_check(options) != 0) {
		return -1;
	}
	run->signal_fd = signals_open();
	run->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->signal_fd < 0 || run->wake_fd < 0) {
		diag_error("cannot set up signals: %s", strerror(errno));
		return -1;
	}
	if (options->tty && signals_add(run->signal_fd, SIGCHLD) != 0) {
		diag_error("cannot set up signals: %s", strerror(errno));
		return -1;
	}
	signals_release(); // what is opened may be a FIFO, whose other end never comes
	if ((options->manifest && load_manifest(run) != 0) || count_slots(run, &run->slots) != 0) {
		return -1;
	}
	if (options->trace_service && !(run->trace = trace_open(options->trace_service))) {
		diag_error("cannot write '%s': %s", diag_shows(options->trace_service), strerror(errno));
		return -1;
	}
	if (options->tmpdir && access(options->tmpdir, W_OK | X_OK) != 0) {
		diag_error("--tmpdir '%s': %s", diag_shows(options->tmpdir), strerror(errno));
		return -1;
	}
	choose_temp_dir(run);
	run->children = children_create(&options->term_seq);
	diag_set_last_words(children_last_words);
	if (shelf_open(run) != 0) {
		return -1;
	}
	run->emit = make_emit(run);
	if ((options->tty || options->interactive) && terminal_open(run) != 0) {
		return -1;
	}
	lineup_open(run);
	run->later = later_create();
	run->products = run->manifest ? products_create() : NULL;
	if (ledger_open(run) != 0) {
		return -1;
	}
	if (watch_open(run) != 0 || telling_log_open(run) != 0 || open_listeners(run) != 0) { // what --eta reads, --log may empty
		return -1;
	}
	signals_hold();
	run->pool = make_pool(run, options->dry_run || options->tty ? 1 : run->slots); // shows the order of turns; has one foreground
	if (run->telling) {
		telling_begin(run);
	}
	return feeds_open(run);
}

static void run_close(struct run *run) {
	if (run->pool) {
		stop(run); // a halt has stopped the pool alone
		pool_wait_idle(run->pool, NULL, TIME_NEVER);
		stages_close(run);
		feeds_close(run);
		pool_destroy(run->pool);
	}
	if (run->blocks) {
		blockfeed_close(run->blocks);
	}
	if (run->tee) {
		tee_close(run->tee);
	}
	reap_batches(run);
	run->resumed = ledger_done(run);
	if (run->signal) {
		answer_signals(run); // one that came with the first is not to keep the end from being told
		if (run->telling) {
			telling_end(run, 128 + run->signal, run->signal);
		}
		signals_release();
	}
	later_destroy(run->later);
	products_destroy(run->products);
	admission_close(run);
	lineup_close(run);
	terminal_close(run);
	if (run->emit && emit_destroy(run->emit) != 0) {
		atomic_store_relaxed(&run->trouble, true);
	}
	run->emit = NULL;
	ledger_close(run); // after the output, for rows come behind it
	shelf_close(run);
	if (run->children) {
		if (run->terminating) {
			children_kill_strays(run->children);
		}
		diag_set_last_words(NULL);
		children_destroy(run->children);
	}
	if (run->trace && trace_close(run->trace) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", diag_shows(run->options->trace_service), strerror(errno));
	}
	recipe_fini(&run->recipe);
	template_free(run->batch_by);
	manifest_free(run->manifest);
	free((char *)run->cwd);
	free(run->file_sources);
	free(run->fds);
	if (run->wake_fd >= 0) {
		close(run->wake_fd);
	}
}

// ---- the end ----

static void warn_unused_settings(const struct options *options) {
	static const char *const names[] = {
		[SET_WEIGHT] = "weight", [SET_MAX_PARALLEL] = "max-parallel", [SET_PRIORITY] = "priority",
		[SET_LONG_RUNNING] = "long-running", [SET_PREFER_FAIRNESS] = "prefer-fairness",
	};
	for (size_t i = 0; i < options->nsettings; ++i) {
		const struct batch_setting *setting = &options->settings[i];
		if (!setting->used && strcmp(setting->pattern, "*") != 0) {
			diag_warn("--%s: there was no batch '%s'", names[setting->what], diag_shows(setting->pattern));
		}
	}
}

static int run_status(struct run *run) {
	const struct options *options = run->options;
	if (atomic_load_relaxed(&run->trouble) || diag_lost()) {
		return EXIT_TROUBLE;
	}
	return exit_status(options->exit_scheme, &run->tally, &run->halt, run->halted, &run->halted_by);
}

static void draw_pictures(struct run *run) {
	int fd = telling_log_fd(run);
	if (fd < 0 || !pictures_wanted(run->options) || telling_run(run)[0] == '\0') { // nothing was told
		return;
	}
	signals_release(); // it may take long, and a FIFO may have no reader
	if (pictures_draw(run->options, fd, "the log of this run", /* said */ false) != 0) {
		atomic_store_relaxed(&run->trouble, true);
	}
}

// Returns the exit status: that which was told, unless what listens has had trouble.
static int end_telling(struct run *run, int status, int signal) {
	if (!run->signal) { // else run_close() has, before another signal can kill
		telling_end(run, signal ? 128 + signal : status, signal);
	}
	telling_log_let_go(run);
	draw_pictures(run);
	telling_log_close(run);
	telling_close(run);
	return atomic_load_relaxed(&run->trouble) ? EXIT_TROUBLE : status;
}

int run_all(const struct options *options, struct context *context) {
	struct run run = {
		.options = options,
		.context = context,
		.halt = options->halt,
		.recipes = {&run.recipe},
		.signal_fd = -1,
		.wake_fd = -1,
		.start = now_ns(),
	};
	context->nice = options->nice;
	if (options->tmpdir) {
		context_set_env(context, "TMPDIR", options->tmpdir);
	}
	mutex_init(&run.lock);
	run.file_sources = xcalloc(options->nbatch_files, sizeof(*run.file_sources));
	bool opened = run_open(&run) == 0;
	if (opened) {
		run_loop(&run);
	}
	watch_end(&run);
	run_close(&run);
	int status = opened ? run_status(&run) : EXIT_TROUBLE;
	bool reader_gone = run.output_error == EPIPE; // `| head`: not a word
	if (run.telling) {
		status = end_telling(&run, status, run.signal ? run.signal : reader_gone ? SIGPIPE : 0);
	}
	telling_log_close(&run); // if there was none to tell
	if (opened && !reader_gone) {
		if (!run.signal && !options->quiet) {
			warn_unused_settings(options);
		}
		ending_print(&run);
	}
	ending_close(&run);
	explaining_close(&run);
	watch_close(&run);
	buf_fini(&run.failures);
	mutex_fini(&run.lock);
	if (run.signal) {
		signals_die(run.signal);
	}
	if (reader_gone) {
		signals_die(SIGPIPE);
	}
	return status;
}
