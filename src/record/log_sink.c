// The subscribers that write logs: --log, and a temporary log from which the pictures are made at the end of the run.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "cli/options.h"
#include "state/publish.h"
#include "log/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { KEPT_LINES = 16 }; // the most lines that the temporary log gathers before it writes them

struct log_sink {
	int fd;                  // the descriptor of --log until `log` owns it; else -1
	bool on_stdout;          // lines of --log go to stdout, through run->writer as long as it exists
	struct event_log *log;   // --log, or NULL
	struct event_log *kept;  // the temporary log, from which the pictures are made, or NULL
	int kept_fd;             // the descriptor of `kept`
	atomic_bool said;        // a message has said that a log cannot be written
};

// ---- opening ----

static int cannot_write(const char *name, int error) {
	return diag_error("cannot write the log '%s': %s", text_shows(name), strerror(error));
}

// ---- while the run goes on ----

// Writes lines to stdout like the output of a job: in one piece, and not inside the output of another job.
static void put_on_stdout(void *arg, const char *lines, size_t len) {
	struct run *run = arg;
	struct log_sink *log = run->log;
	if (run->writer) {
		struct spool *spool = spool_open(run->writer, NULL, 0, WRITER_GROUP, NULL, 0);
		spool_add(spool, 0, lines, len);
		spool_finish(spool);
	} else if (write_limited(log->fd, lines, len) != 0 && !atomic_exchange(&log->said, true)) { // the writer is gone: the run is at its very end
		cannot_write(run->options->log, errno);
		atomic_store_relaxed(&run->trouble, true);
	}
}

static int subscribe_log(struct run *run) {
	struct log_sink *log = run->log;
	struct event_log_config config = {.fd = log->fd};
	bool by_writer = log->on_stdout && run->writer && result_files_fd(run) == STDOUT_FILENO;
	if (by_writer) {
		config = (struct event_log_config){.fd = -1, .put = put_on_stdout, .arg = run};
	}
	log->on_stdout = by_writer;
	log->log = event_log_open(&config);
	if (!log->log) {
		return cannot_write(run->options->log, errno);
	}
	log->fd = by_writer ? log->fd : -1; // without the writer, log->log owns the descriptor
	publish_subscribe(run, event_log_on_event, log->log, /* wants_output */ run->options->log_output);
	return 0;
}

static int subscribe_kept(struct run *run) {
	struct log_sink *log = run->log;
	log->kept_fd = tmpfile_open(run->temp_dir);
	log->kept = log->kept_fd >= 0 ? event_log_open(&(struct event_log_config){.fd = log->kept_fd}) : NULL;
	if (!log->kept) {
		diag_error("cannot make a temporary file in '%s': %s", text_shows(run->temp_dir), strerror(errno));
		fd_close(&log->kept_fd);
		return -1;
	}
	publish_subscribe(run, event_log_on_event, log->kept, /* wants_output */ false);
	return 0;
}

// Reports the first error. Jobs go on, as their output is worth more than the log, but the run does not exit with 0.
static void check(struct run *run, int error, bool is_kept) {
	if (error == 0 || atomic_exchange(&run->log->said, true)) {
		return;
	}
	atomic_store_relaxed(&run->trouble, true);
	if (is_kept) {
		diag_error("cannot write a temporary file in '%s': %s", text_shows(run->temp_dir), strerror(error));
	} else if (error == ETIMEDOUT) {
		diag_error("the log '%s' ends before the run: its reader has stopped reading", text_shows(run->options->log));
	} else {
		cannot_write(run->options->log, error);
	}
}

void log_sink_flush(struct run *run, bool may_wait) {
	struct log_sink *log = run->log;
	if (log->log) {
		check(run, event_log_flush(log->log, may_wait), /* is_kept */ false);
	}
	if (log->kept) { // this log is not read before the end of the run
		bool left;
		check(run, event_log_later(log->kept, KEPT_LINES, &left), /* is_kept */ true);
	}
}

// Writes the lines so far. Returns true if it leaves the lines about the end of a job to the next start of a job, which writes all lines at once.
static bool flush(struct run *run, enum publish_flush how) {
	struct log_sink *log = run->log;
	const struct options *options = run->options;
	// lines are left only if a slot starts its next job at once, without waiting for anything
	bool later = how == FLUSH_OR_LEAVE && log->log && !log->on_stdout && !run->gate &&
		!options->show_commands && !options->print_commands && !run->manifest;
	if (later) { // a line for each slot may be left: the next start of a job on any slot writes all lines, and each slot soon starts a job
		check(run, event_log_later(log->log, run->slots, &later), /* is_kept */ false);
	} else {
		log_sink_flush(run, how != FLUSH_AT_ONCE);
	}
	return later;
}

int log_sink_open(struct run *run) {
	const char *name = run->options->log;
	bool keeps = options_want_pictures(run->options);
	if (run->options->dry_run || (!name && !keeps)) {
		return 0; // a dry run writes no log; or no log is wanted
	}
	struct log_sink *log = run->log = NEW(struct log_sink);
	int fd = !name ? -1 : strcmp(name, "-") == 0 ? STDOUT_FILENO : option_log_fd(name);
	log->on_stdout = fd == STDOUT_FILENO;
	// jobs must not inherit the descriptor that --log names: else the reader of the log would wait until all processes of the jobs have ended
	log->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : name ? log_create(name, /* keeps */ false) : -1;
	if (name && (log->fd < 0 || (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0))) {
		return cannot_write(name, errno);
	}
	if ((name && subscribe_log(run) != 0) || (keeps && subscribe_kept(run) != 0)) {
		return -1;
	}
	publish_set_flush(run, flush);
	return 0;
}

// ---- the end ----

int log_sink_fd(const struct run *run) {
	const struct log_sink *log = run->log;
	return log && log->kept && event_log_flush(log->kept, /* may_wait */ true) == 0 ? log->kept_fd : -1;
}

bool log_sink_is_on_stdout(const struct run *run) {
	return run->log && run->log->on_stdout;
}

void log_sink_let_go(struct run *run) {
	struct log_sink *log = run->log;
	uint64_t lost;
	if (!log || !log->log) {
		return;
	}
	int error = event_log_close(log->log, &lost) != 0 ? errno : 0;
	log->log = NULL;
	if (error == ETIMEDOUT && !atomic_exchange(&log->said, true)) {
		diag_error("the log '%s' ends before the run: its reader has stopped reading: %" PRIu64 " line%s lost, run_end "
		           "among them", text_shows(run->options->log), lost, lost == 1 ? " is" : "s are");
		atomic_store_relaxed(&run->trouble, true);
	}
	check(run, error, /* is_kept */ false);
}

void log_sink_close(struct run *run) {
	struct log_sink *log = run->log;
	if (!log) {
		return;
	}
	log_sink_let_go(run);
	if (log->kept) {
		check(run, event_log_close(log->kept, NULL) != 0 ? errno : 0, /* is_kept */ true);
	}
	fd_close(&log->fd);
	free(log);
	run->log = NULL;
}
