// The pool and the writer of a run, and what they call back.
//
// The calls come from any thread, without the locks of who calls. What concerns the whole run is left in flags for the
// event loop, which is woken.

#include "run/pool_callbacks.h"

#include "base/diag.h"
#include "base/text.h"
#include "run/autopack.h"
#include "run/dag_node.h"
#include "run/job_run.h"
#include "run/job_records.h"
#include "run/log_sink.h"
#include "run/publish.h"
#include "run/result_files.h"
#include "run/start_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SPOOL_MEM = 8 * 1024 * 1024,   // held output in memory, over all jobs (DESIGN §8, P7: 16 MiB in all)
	WORKER_STACK = 256 * 1024,     // a slot is a thread: small stacks (DESIGN §15)
};

// ---- the pool ----

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
	struct dag_node *node = batch->node;
	publish_longest_wait(batch, queue_longest_wait(queue));
	batch_retire(batch);
	if (node) { // behind the above, so that its end is told before others begin
		dag_node_ended(node);
	} else if (publish_is_on(run)) {
		run_wake(run);
	}
}

static void on_worker_started(void *arg, struct worker *worker) {
	struct run *run = arg;
	if (run->packs) {
		autopack_prepare(run, worker);
	}
}

static void on_dispatch(void *arg, const struct service *service) {
	struct run *run = arg;
	if (service->source != SOURCE_PACKED) { // those have their place with the one that took them along
		start_order_add(run->start_order, service->slot);
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
	trace_add(run->trace, &line); // run_item() wakes who writes it
}

static void on_reserving(void *arg, struct queue *queue, uint64_t id, unsigned width) {
	char what[40];
	snprintf(what, sizeof(what), "%u free slots", width);
	publish_wait(arg, queue_user(queue), id, WHY_RESERVE, what);
}

static void on_flush(void *arg) {
	log_sink_flush(arg, /* may_wait */ true);
}

static void on_pool_trouble(void *arg, const char *what, int error) {
	struct run *run = arg;
	if (strcmp(what, "spill") == 0) {
		diag_warn("items cannot be put into a temporary file in '%s': %s: they are read only as jobs take them, and none is lost",
		          text_shows(run->temp_dir), strerror(error));
	} else {
		diag_warn("%s: %s", what, strerror(error));
	}
	if (run->tee && error == EAGAIN) { // fewer threads than jobs: those that run would wait for ever for the others
		diag_error("--tee: not all jobs can run at once");
		atomic_store_relaxed(&run->trouble, true);
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
		run_wake(run);
	}
}

struct pool *make_pool(struct run *run, unsigned slots) {
	const struct options *options = run->options;
	run->fair_time = options->fair_time;
	if (run->manifest && !options->given[OPT_FAIR]) {
		run->fair_time = run->manifest->fair == MANIFEST_TIME;
	}
	struct pool_config config = {
		.slots = slots,
		.max_long = options->max_long,
		.fair_time = run->fair_time,
		.facts = publish_is_on(run),
		.queue_mem = options->queue_mem,
		.spill_dir = run->temp_dir,
		.start_interval = options->delay_auto ? 0 : options->delay,
		.stack_bytes = WORKER_STACK,
		.hooks = {
			.idle = on_idle,
			.low = on_low,
			.failed = work_failed,
			.removed = on_removed,
			.started = on_worker_started,
			.trace = run->trace || run->start_order ? on_dispatch : NULL,
			.flush = run->log ? on_flush : NULL,
			.reserving = publish_is_on(run) ? on_reserving : NULL,
			.trouble = on_pool_trouble,
			.arg = run,
		},
	};
	start_order_reserve(run->start_order, slots);
	return pool_create(&config);
}

// ---- the writer ----

// Output that cannot be written makes the rest of the run pointless: it starts nothing more (see stop_for_output()).
static void on_output_failed(void *arg, int stream, int error) {
	struct run *run = arg;
	const char *const names[] = {result_files_name(run), "standard error"};
	bool unread = error == ETIME; // the limit of run_limit_end(): on_unread() says so
	if (stream == 2) {
		diag_error("cannot write to a temporary file for output in '%s': %s: output of jobs is lost, and no more are started",
		           text_shows(run->temp_dir), strerror(error));
	} else if ((stream != 0 || error != EPIPE) && !unread) {
		diag_error("cannot write to %s: %s", names[stream], strerror(error));
	}
	atomic_store_relaxed(&run->trouble, true);
	int none = 0;
	atomic_compare_exchange_strong(&run->output_error, &none, error);
	atomic_store_release(&run->output_failed, true); // pairs with the load in stop_for_output()
	run_wake(run);
}

static void on_unread(void *arg, uint64_t bytes) {
	const struct run *run = arg;
	diag_error("output was not written: nobody reads %s: %" PRIu64 " bytes are lost", result_files_name(run), bytes);
}

struct writer *make_writer(struct run *run) {
	const struct options *options = run->options;
	if (options->output == OUTPUT_UNGROUP && !options->dry_run && !run->manifest) {
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
		.unread = on_unread,
		.arg = run,
	};
	return writer_create(&config);
}
