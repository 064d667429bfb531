// Puts a run together: what is opened, in the order that one needs the other. run_end() closes it.

#include "run/setup.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/wakeup.h"
#include "base/write_limit.h"
#include "process/signals.h"
#include "run/admission.h"
#include "run/created_files.h"
#include "run/dag.h"
#include "run/job_run.h"
#include "run/limits.h"
#include "run/end_summary.h"
#include "run/explain_live.h"
#include "run/feed.h"
#include "run/job_records.h"
#include "run/log_sink.h"
#include "run/pictures.h"
#include "run/pool_callbacks.h"
#include "run/status_display.h"
#include "run/publish.h"
#include "run/result_files.h"
#include "run/retry_queue.h"
#include "run/start_order.h"
#include "run/terminal.h"
#include "slots/slots.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

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
	if (run->manifest->fail_fast && !options->given[OPT_HALT]) {
		run->halt = (struct halt){.when = HALT_SOON, .why = HALT_ON_FAIL, .count = 1};
	}
	run->cwd = getcwd(NULL, 0);
	if (!run->cwd) {
		diag_error("cannot tell the current directory: %s", strerror(errno));
		return -1;
	}
	return dag_check_files(run);
}

// The number of slots by -j, within the descriptors there are, and whether there is room for the guardian. Returns 0, or -1 after a message.
static int count_slots(struct run *run, unsigned *ret_slots, bool *ret_guarded) {
	const char *most = run->options->tee ? "0" : "100%"; // --tee: all at once, as in GNU parallel
	const char *given = run->manifest && run->manifest->slots ? run->manifest->slots : most;
	const char *jobs = run->options->jobs ? run->options->jobs : given;
	unsigned long nofile = limits_for_jobs(run->options, run->nofile);
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
		diag_warn("-j %s: %lu descriptors are enough for %u job%s at once", jobs, run->nofile, limit, limit == 1 ? "" : "s");
		*ret_slots = limit;
	}
	*ret_slots = limits_for_processes(*ret_slots, ret_guarded);
	return 0;
}

// Where spilled items and held output go. A TMPDIR that is no use would hold jobs up only much later. Returns 0, or -1
// after a message.
static int choose_temp_dir(struct run *run) {
	const char *given = run->options->tmpdir;
	if (given && access(given, W_OK | X_OK) != 0) {
		diag_error("--tmpdir '%s': %s", text_shows(given), strerror(errno));
		return -1;
	}
	const char *own = given ? given : tmpfile_dir(NULL);
	run->temp_dir = own ? own : "/var/tmp";
	if (access(run->temp_dir, W_OK | X_OK) == 0) {
		return 0;
	}
	if (own) {
		diag_warn("TMPDIR '%s': %s; taking /var/tmp", text_shows(own), strerror(errno));
		run->temp_dir = "/var/tmp";
	}
	if (access(run->temp_dir, W_OK | X_OK) != 0) {
		run->temp_dir = "/tmp";
	}
	return 0;
}

// All subscribers, before anything can be published. Returns 0, or -1 after a message.
static int open_subscribers(struct run *run) {
	end_summary_open(run);
	if (run->options->dry_run) {
		return 0; // nothing happens
	}
	explain_live_subscribe(run);
	if (pictures_wanted(run->options)) {
		log_sink_keep(run);
	}
	return log_sink_subscribe(run);
}

// What the event loop sleeps on. Returns 0, or -1 after a message.
static int open_wake_ups(struct run *run) {
	run->signal_fd = signals_open();
	if (run->signal_fd < 0 || (run->options->tty && signals_add(run->signal_fd, SIGCHLD) != 0)) {
		diag_error("cannot set up signals: signalfd: %s", strerror(errno));
		return -1;
	}
	run->wake_fd = wakeup_open();
	write_limit_watch(run->signal_fd);
	if (run->wake_fd < 0) {
		diag_error("cannot set up signals: eventfd: %s", strerror(errno));
	}
	return run->wake_fd < 0 ? -1 : 0;
}

static void wake(void *run) {
	run_wake(run);
}

int setup_open(struct run *run) {
	const struct options *options = run->options;
	bool guarded;
	run->nofile = (unsigned long)context_raise_nofile(run->context);
	if (limits_check(options, run->nofile) != 0 || pictures_check(options) != 0 || open_wake_ups(run) != 0) {
		return -1;
	}
	signals_release(); // what is opened may be a FIFO, whose other end never comes
	if ((options->manifest && load_manifest(run) != 0) || count_slots(run, &run->slots, &guarded) != 0) {
		return -1;
	}
	if (options->trace_service && !(run->trace = trace_open(options->trace_service))) {
		diag_error("cannot write '%s': %s", text_shows(options->trace_service), strerror(errno));
		return -1;
	}
	if (choose_temp_dir(run) != 0) {
		return -1;
	}
	run->children = children_create(&options->term_seq);
	children_set_cookie(run->children, run->context);
	if (!guarded) {
		children_forgo_guardian(run->children);
	}
	children_set_wake(run->children, wake, run);
	if (!run->executor.run) {
		run->executor = children_executor(run->children);
	}
	diag_set_last_words(children_last_words);
	if (result_files_open(run) != 0) {
		return -1;
	}
	run->writer = make_writer(run);
	if ((options->tty || options->interactive) && terminal_open(run) != 0) {
		return -1;
	}
	if (options->print_commands || (options->interactive && !options->dry_run)) {
		run->start_order = start_order_create(options->max_long);
	}
	run->retry_queue = retry_queue_create(&work_retries);
	run->item_work = &work_item;
	run->created_files = run->manifest ? created_files_create() : NULL;
	if (job_records_open(run) != 0) {
		return -1;
	}
	if (status_display_open(run) != 0 || log_sink_open(run) != 0 || open_subscribers(run) != 0) { // what --eta reads, --log may empty
		return -1;
	}
	signals_hold();
	run->pool = make_pool(run, run_is_serial(run) ? 1 : run->slots);
	publish_begin(run);
	return feeds_open(run) != 0 ? -1 : run->manifest ? dag_open(run) : 0;
}
