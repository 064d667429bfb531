// What of a run is kept for the next one: the joblog, and what --resume and its kin take from it.
//
// Items that are done are left out where they get their numbers (parcel.c), so they cost no slot and no turn.

#include "run/ledger.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "job/logline.h"
#include "plan/resume.h"
#include "report/joblog.h"
#include "run/outlet.h"
#include "run/shelf.h"

#include <errno.h>
#include <unistd.h>

enum { SLOTS_TRIED = 256 }; // values of {%} that a logged command is compared with

struct ledger {
	struct joblog *joblog;        // NULL: to stdout, or no log is written
	bool to_stdout;
	atomic_bool said;             // that the log cannot be written
	mutex lock;                   // guards resume
	struct resume *resume;        // or NULL
	atomic_uint_least64_t done;
	struct logged_jobs retried;   // --retry-failed, and these as a source:
	char **args;
	struct source_config source;
};

// ---- the log ----

// Rows on stdout are output like that of jobs: whole, and not within another's.
static void put_on_stdout(struct run *run, const char *mem, size_t len) {
	if (run->emit) {
		struct spool *spool = spool_open(run->emit, NULL, 0, EMIT_GROUP, NULL, 0);
		outlet_add_shown(spool, mem, len);
		spool_finish(spool);
	} else if (write_all(STDOUT_FILENO, mem, len) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write the joblog to stdout: %s", strerror(errno));
	}
}

// The jobs go on: their output is worth more than their rows. But the run does not end with 0.
static void check_log(struct run *run) {
	struct ledger *ledger = run->ledger;
	int error = joblog_error(ledger->joblog);
	if (error && !atomic_exchange(&ledger->said, true)) {
		diag_error("cannot write the joblog '%s': %s", diag_shows(run->options->joblog), strerror(error));
		atomic_store_relaxed(&run->trouble, true);
	}
}

static int open_log(struct run *run) {
	const struct options *options = run->options;
	struct ledger *ledger = run->ledger;
	ledger->to_stdout = strcmp(options->joblog, "-") == 0 && !options->joblog_append;
	if (ledger->to_stdout) {
		put_on_stdout(run, JOBLOG_HEADER, strlen(JOBLOG_HEADER));
		return 0;
	}
	ledger->joblog = joblog_open(options->joblog, options->joblog_append || options->resume != RESUME_NOT);
	if (!ledger->joblog) {
		diag_error("cannot write the joblog '%s': %s", diag_shows(options->joblog), strerror(errno));
		return -1;
	}
	check_log(run);
	return 0;
}

static void add_command(const struct recipe *recipe, const struct expansion *x, struct buf *buf) {
	command_text(recipe->command, x, &recipe->by, buf);
}

// A job whose output is lost has no row: --resume is to run it again.
void ledger_written(void *arg, const char *rows, size_t len) {
	struct run *run = arg;
	if (!atomic_load_relaxed(&run->output_failed)) {
		joblog_add(run->ledger->joblog, rows, len);
		check_log(run);
	}
}

bool ledger_add(struct desk *desk, const struct job *job, unsigned slot, const struct result *result,
                uint64_t received, struct spool *spool) {
	struct run *run = desk->run;
	struct ledger *ledger = run->ledger;
	if (!ledger || (!ledger->joblog && !ledger->to_stdout)) {
		return true;
	}
	if (spool && (ledger->to_stdout || (spool_bytes(spool, 0) == 0 && spool_bytes(spool, 1) == 0))) {
		return false;
	}
	struct expansion x = {.record = &job->record, .seq = job->item.seq, .slot = slot};
	buf_reset(&desk->row);
	add_command(job->recipe, &x, &desk->row);
	struct joblog_row row = {
		.seq = job->item.seq,
		.result = result,
		.start = job->start ? job->start : result->start,
		.sent = job_sent(job),
		.received = received,
		.command = buf_str(&desk->row),
		.command_len = desk->row.len,
	};
	struct buf line = BUF_INIT;
	joblog_format(&row, &line);
	if (spool) {
		spool_set_receipt(spool, line.data, line.len);
	} else if (ledger->to_stdout) {
		put_on_stdout(run, line.data, line.len);
	} else {
		ledger_written(run, line.data, line.len);
	}
	buf_fini(&line);
	return true;
}

// ---- what was done ----

static void warn_strange(const struct run *run, uint64_t strange) {
	if (strange > 0 && !run->options->quiet) {
		diag_warn("the joblog '%s' has %llu line%s that cannot be read; their jobs do not count as done",
		          diag_shows(run->options->joblog), (unsigned long long)strange, strange == 1 ? "" : "s");
	}
}

static int load(struct run *run) {
	const struct options *options = run->options;
	struct ledger *ledger = run->ledger;
	const char *error;
	uint64_t strange;
	int result;
	if (options->resume == RESUME_RETRY) {
		result = resume_load_failed(&ledger->retried, options->joblog, &strange, &error);
	} else {
		ledger->resume = resume_create();
		result = resume_load(ledger->resume, options->joblog, &strange, &error);
		resume_prepare(ledger->resume, /* ok_only */ options->resume == RESUME_FAILED);
	}
	if (result != 0) {
		diag_error("--joblog '%s': %s", diag_shows(options->joblog), error);
		return -1;
	}
	warn_strange(run, strange);
	ledger->args = xcalloc(ledger->retried.n, sizeof(*ledger->args));
	for (size_t i = 0; i < ledger->retried.n; ++i) {
		ledger->args[i] = ledger->retried.jobs[i].command;
	}
	ledger->source = (struct source_config){
		.kind = FROM_ARGS, .args = ledger->args, .nargs = ledger->retried.n,
	};
	return 0;
}

int ledger_open(struct run *run) {
	const struct options *options = run->options;
	if (!options->joblog && options->resume == RESUME_NOT) {
		return 0;
	}
	run->ledger = NEW(struct ledger);
	mutex_init(&run->ledger->lock);
	if (options->joblog && options->resume != RESUME_NOT && load(run) != 0) {
		return -1;
	}
	return options->dry_run || !options->joblog ? 0 : open_log(run);
}

const struct source_config *ledger_source(const struct run *run) {
	return run->options->resume == RESUME_RETRY ? &run->ledger->source : NULL;
}

uint64_t ledger_seq(const struct run *run, uint64_t n) {
	const struct ledger *ledger = run->ledger;
	return ledger && n >= 1 && n <= ledger->retried.n ? ledger->retried.jobs[n - 1].seq : n;
}

// The command as the log may have it: where it depends on the slot, in the form that fits.
static void find_form(struct ledger *ledger, const struct recipe *recipe, struct expansion *x, struct buf *text) {
	struct buf other = BUF_INIT;
	x->slot = 1;
	add_command(recipe, x, text);
	for (x->slot = 2; x->slot <= SLOTS_TRIED && !resume_matches(ledger->resume, x->seq, buf_str(text), text->len);) {
		buf_reset(&other);
		add_command(recipe, x, &other);
		if (x->slot++ == 2 && other.len == text->len && memcmp(buf_str(&other), buf_str(text), text->len) == 0) {
			break;
		}
		struct buf swapped = *text;
		*text = other;
		other = swapped;
	}
	buf_fini(&other);
}

// Asks the log for the item, and uses up the row that says that it is done.
static enum past find_past(struct run *run, const struct recipe *recipe, const struct record *record, uint64_t seq) {
	struct ledger *ledger = run->ledger;
	struct expansion x = {.record = record, .seq = seq};
	struct buf text = BUF_INIT;
	if (!ledger->resume) {
		return shelf_is_done(run, record, seq) ? PAST_DONE : PAST_UNKNOWN;
	}
	mutex_lock(&ledger->lock);
	find_form(ledger, recipe, &x, &text);
	bool done = resume_take(ledger->resume, seq, buf_str(&text), text.len);
	bool other = !done && resume_is_other(ledger->resume, seq, buf_str(&text), text.len);
	mutex_unlock(&ledger->lock);
	buf_fini(&text);
	return done ? PAST_DONE : other ? PAST_CHANGED : PAST_UNKNOWN;
}

bool ledger_leave_out(struct batch *batch, const struct record *record, struct item *item) {
	struct run *run = batch->run;
	struct ledger *ledger = run->ledger;
	if (!ledger) {
		return false;
	}
	struct record bare = *record;
	if (run->blocks) {
		bare.size = strlen(bare.args) + 1; // without where the block is
	}
	bool again = batch->again || item->past == PAST_CHANGED;
	enum past past = again ? PAST_CHANGED : find_past(run, batch->recipes[item->recipe], &bare, item->seq);
	item->past = past & 3;
	if (past != PAST_DONE || batch->emits) {
		return false;
	}
	atomic_add_relaxed(&ledger->done, 1);
	if (batch->lane) {
		emit_skip(run->emit, batch->lane, item->order);
	}
	return true;
}

uint64_t ledger_done(const struct run *run) {
	return run->ledger ? atomic_load_relaxed(&run->ledger->done) : 0;
}

void ledger_close(struct run *run) {
	struct ledger *ledger = run->ledger;
	if (!ledger) {
		return;
	}
	if (ledger->joblog && joblog_close(ledger->joblog) != 0 && !atomic_exchange(&ledger->said, true)) {
		diag_error("cannot write the joblog '%s': %s", diag_shows(run->options->joblog), strerror(errno));
		atomic_store_relaxed(&run->trouble, true);
	}
	resume_free(ledger->resume);
	resume_free_jobs(&ledger->retried);
	free(ledger->args);
	mutex_fini(&ledger->lock);
	free(ledger);
	run->ledger = NULL;
}
