// The joblog of a run: writes it, and reads an earlier run's joblog for --resume, --resume-failed and --retry-failed.
//
// Items that are done already are left out when they get their numbers (submission.c), so they cost no slot and no turn.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "state/publish.h"
#include "log/resume.h"
#include "record/added_jobs.h"
#include "shell/quoting.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

struct job_records {
	int fd;                       // the descriptor of the joblog; -1: the joblog goes to stdout, or is not written
	bool is_file, to_stdout;
	atomic_int error;             // errno of the first write that failed, or 0
	atomic_uint_least64_t lost;   // how many rows were not written since that error
	atomic_bool said;             // a message has said that the joblog cannot be written
	mutex lock;                   // guards `resume`
	struct resume *resume;        // what the joblog of earlier runs says, for --resume and the like; or NULL
	struct source_config source;  // --retry-failed: the failed commands of the joblog; else `args` is NULL
	uint64_t *seqs;               // --retry-failed: the numbers that these commands have in the joblog
};

// ---- the log ----

// Prints once that the joblog cannot be written. Jobs go on, as output is worth more than rows, but the run ends with an error. Returns -1.
static int cannot_write(struct run *run, int error) {
	struct job_records *job_records = run->job_records;
	atomic_store_relaxed(&run->trouble, true);
	if (atomic_exchange(&job_records->said, true)) {
		return -1;
	}
	return job_records->to_stdout ? diag_error("cannot write the joblog to stdout: %s", strerror(error))
	                              : diag_error("cannot write the joblog '%s': %s", text_shows(run->options->joblog), strerror(error));
}

// Writes rows to stdout like the output of a job: in one piece, and not inside the output of another job.
static void put_on_stdout(struct run *run, const char *mem, size_t len) {
	if (run->writer) {
		struct spool *spool = spool_open(run->writer, NULL, 0, WRITER_GROUP, NULL, 0);
		spool_add_shown(spool, mem, len);
		spool_finish(spool);
	} else if (write_limited(STDOUT_FILENO, mem, len) != 0) {
		cannot_write(run, errno);
	}
}

// Adds rows with one write. From any thread. After an error nothing more is written, because a hole in the joblog would not show.
static void put(struct run *run, const char *rows, size_t len) {
	struct job_records *job_records = run->job_records;
	int none = 0, error = atomic_load_relaxed(&job_records->error), fd = job_records->fd;
	if (!error && (job_records->is_file ? write_all(fd, rows, len) : write_limited(fd, rows, len)) != 0) {
		error = errno;
		atomic_compare_exchange_strong(&job_records->error, &none, error);
	}
	for (const char *at = rows; error && (at = memchr(at, '\n', (size_t)(rows + len - at))); ++at) {
		atomic_add_relaxed(&job_records->lost, 1);
	}
	if (error && error != ETIME) {
		cannot_write(run, error);
	}
}

// Makes the joblog begin with a header and end with a whole line: a last line that was cut off must not run into the first new row.
static void mend(struct run *run, size_t size) {
	static const char header[] = JOBLOG_HEADER;
	char head[sizeof(header)], last = '\n';
	size_t len = size < sizeof(header) - 1 ? size : sizeof(header) - 1;
	int fd = run->job_records->fd;
	bool is_known = pread_all(fd, head, len, 0) == len && (size == 0 || pread_all(fd, &last, 1, size - 1) == 1);
	if (is_known && memcmp(head, header, len) == 0 && len < sizeof(header) - 1) {
		put(run, header + len, sizeof(header) - 1 - len);
	} else if (is_known && last != '\n') {
		put(run, JOBLOG_CUT "\n", strlen(JOBLOG_CUT "\n"));
	}
}

static int open_log(struct run *run) {
	const struct options *options = run->options;
	struct job_records *job_records = run->job_records;
	job_records->to_stdout = strcmp(options->joblog, "-") == 0 && !options->joblog_append;
	if (job_records->to_stdout) {
		put_on_stdout(run, JOBLOG_HEADER, strlen(JOBLOG_HEADER));
		return 0;
	}
	bool append = options->joblog_append || options->resume != RESUME_NOT;
	struct stat stat;
	job_records->fd = log_create(options->joblog, append);
	if (job_records->fd < 0) {
		return cannot_write(run, errno);
	}
	job_records->is_file = fstat(job_records->fd, &stat) == 0 && S_ISREG(stat.st_mode);
	mend(run, job_records->is_file ? (size_t)stat.st_size : 0);
	return 0;
}

// Appends shell code that assigns the "NAME=VALUE" entries of `vars`, which have a NUL behind each. A name that is not valid in a
// shell cannot be exported, but is written, too, because its value distinguishes jobs.
static void add_assignments(const struct buf *vars, struct buf *buf) {
	const char *before = "";
	for (const char *at = vars->data; at && at < vars->data + vars->len; at += strlen(at) + 1) {
		const char *value = strchr(at, '=') + 1;
		size_t len = (size_t)(value - at) - 1;
		const char *verb = text_name_length(at) == len ? "export" : ":";
		buf_printf(buf, "%s%s ", strcmp(before, verb) == 0 ? "" : before[0] ? "; " : "", strcmp(before, verb) == 0 ? "" : verb);
		shell_quote(buf, at, len);
		buf_addc(buf, '=');
		shell_quote(buf, value, strlen(value));
		before = verb;
	}
	buf_adds(buf, before[0] ? "; " : "");
}

// True if the text of the first command may not show the item: a command names $FAIRPAR_ITEM, or only a later step has replacement strings.
static bool needs_item(const struct job_spec *spec) {
	bool needed = template_has(spec->command, TEMPLATE_NAMES_ITEM), is_said = !spec->command || template_has(spec->command, TEMPLATE_HAS_STRINGS);
	for (size_t i = 0; i < spec->then.n; ++i) {
		const struct template *step = spec->then.at[i];
		needed = needed || template_has(step, TEMPLATE_NAMES_ITEM | (is_said ? 0 : TEMPLATE_HAS_STRINGS));
	}
	return needed;
}

// Adds assignments of those variables in the command's environment that depend on the item.
static void add_variables(const struct job_spec *spec, const struct expansion *x, const struct buf *command, struct buf *buf) {
	FP_CLEANUP(buf_fini) struct buf vars = BUF_INIT;
	for (size_t i = 0; i < spec->nvars; ++i) {
		if (template_has(spec->vars[i].value, TEMPLATE_HAS_STRINGS)) {
			job_spec_add_variable(&vars, &spec->vars[i], x);
		}
	}
	if (needs_item(spec)) {
		size_t before = vars.len;
		job_spec_add_item(&vars, x->record);
		if (x->record->nargs == 1 && !strstr(buf_str(command), "FAIRPAR_ITEM_")) { // without FAIRPAR_ITEM_1, which has the same value as FAIRPAR_ITEM
			vars.len = before + strlen(vars.data + before) + 1;
		}
	}
	add_assignments(&vars, buf);
}

// Adds the text that identifies the job in the joblog and that --retry-failed runs: the command, with the variables that depend on the item in
// front of it. If no shell may read the item, the text is another command, which prints the job's command and fails as the job has failed.
static void add_command(const struct job_spec *spec, const struct expansion *x, bool is_bad, struct buf *buf) {
	const struct template *template = spec->command;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, why = BUF_INIT;
	command_text(template, x, &spec->by, &text);
	bool is_permitted = !template || template_permits(template, x, &why);
	if (is_bad || !is_permitted) {
		buf_adds(buf, "printf 'refused: %s\\n' ");
		shell_quote(buf, buf_str(&text), text.len);
		buf_adds(buf, " >&2; exit 126");
	} else {
		add_variables(spec, x, &text, buf);
		buf_add(buf, buf_str(&text), text.len);
	}
}

// Returns the size of the first row in `rows`, in bytes.
static size_t row_size(const char *rows, size_t len) {
	const char *newline = memchr(rows, '\n', len);
	return newline ? (size_t)(newline - rows) + 1 : len;
}

static uint64_t row_seq(const char *row) {
	return strtoull(row, NULL, 10);
}

// Writes the rows, then the kept rows of jobs whose added jobs are all finished now. *rows is empty afterwards.
static void write_rows(struct run *run, struct buf *rows) {
	while (rows->len > 0 && run->job_records->fd >= 0 && !atomic_load_relaxed(&run->output_error)) {
		struct buf kept = BUF_INIT;
		put(run, rows->data, rows->len); // before the kept rows: a kept row says that the rows of the added jobs are in the joblog
		for (size_t at = 0; at < rows->len; at += row_size(rows->data + at, rows->len - at)) {
			added_jobs_finish(run->added_jobs, row_seq(rows->data + at), &kept);
		}
		buf_fini(rows);
		*rows = kept;
	}
	buf_fini(rows);
}

// Called after the output of the jobs was written: a job whose output is lost gets no row, so that --resume runs it again.
void job_records_written(void *arg, const char *rows, size_t len) {
	struct run *run = arg;
	struct buf ready = BUF_INIT;
	for (size_t at = 0, size; at < len; at += size) {
		size = row_size(rows + at, len - at);
		if (!added_jobs_keep_row(run->added_jobs, row_seq(rows + at), rows + at, size)) {
			buf_add(&ready, rows + at, size);
		}
	}
	write_rows(run, &ready);
}

void job_records_finish(struct run *run, uint64_t seq) {
	struct buf ready = BUF_INIT;
	if (run->job_records) {
		added_jobs_finish(run->added_jobs, seq, &ready);
		write_rows(run, &ready);
	}
}

bool job_records_add(struct worker_state *state, const struct job *job, const struct result *result,
                uint64_t received, struct spool *spool) {
	struct run *run = state->run;
	struct job_records *job_records = run->job_records;
	if (!job_records || (job_records->fd < 0 && !job_records->to_stdout)) {
		return true;
	}
	if (spool && (job_records->to_stdout || (spool_bytes(spool, 0) == 0 && spool_bytes(spool, 1) == 0))) {
		return false;
	}
	struct expansion x = job_expansion(job);
	x.host = x.sshlogin = NULL; // so that --resume recognizes the command, whichever machine it has run on
	buf_reset(&state->row);
	add_command(job->spec, &x, job->item.bad, &state->row);
	struct joblog_row row = joblog_row_of(job, result, received, &state->row);
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	joblog_format(&row, &line);
	if (spool) {
		spool_set_receipt(spool, line.data, line.len);
	} else if (job_records->to_stdout) {
		put_on_stdout(run, line.data, line.len);
	} else {
		job_records_written(run, line.data, line.len);
	}
	return true;
}

// ---- what an earlier run has done ----

static int load(struct run *run) {
	const struct options *options = run->options;
	struct job_records *job_records = run->job_records;
	const char *error;
	uint64_t strange;
	job_records->resume = resume_load(options->joblog, /* ok_only */ options->resume == RESUME_FAILED, &strange, &error);
	if (!job_records->resume) {
		return diag_error("--joblog '%s': %s", text_shows(options->joblog), error);
	}
	if (strange > 0 && !options->quiet) {
		diag_warn("the joblog '%s' has %llu line%s that cannot be read; their jobs do not count as done",
		          text_shows(options->joblog), (unsigned long long)strange, strange == 1 ? "" : "s");
	}
	if (options->resume == RESUME_RETRY) {
		job_records->source.kind = FROM_ARGS;
		job_records->source.args = resume_failed(job_records->resume, &job_records->seqs, &job_records->source.nargs);
	}
	return 0;
}

int job_records_open(struct run *run) {
	const struct options *options = run->options;
	if (!options->joblog && options->resume == RESUME_NOT) {
		return 0;
	}
	run->job_records = NEW(struct job_records);
	run->job_records->fd = -1;
	mutex_init(&run->job_records->lock, LOCK_JOB_RECORDS);
	if (options->joblog && options->resume != RESUME_NOT && load(run) != 0) {
		return -1;
	}
	return options->dry_run || !options->joblog ? 0 : open_log(run);
}

const struct source_config *job_records_source(const struct run *run) {
	return run->options->resume == RESUME_RETRY ? &run->job_records->source : NULL;
}

uint64_t job_records_seq(const struct run *run, uint64_t n) {
	const struct job_records *job_records = run->job_records;
	return job_records && n >= 1 && n <= job_records->source.nargs ? job_records->seqs[n - 1] : n;
}

// Asks the joblog, or else the files of --results, whether the item is done. A row that shows this is used up: it counts for no other item.
static enum resume_answer find_earlier(struct run *run, const struct job_spec *spec, const struct record *record, uint64_t seq) {
	struct job_records *job_records = run->job_records;
	struct expansion x = {.record = record, .seq = seq, .mark = '1'};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, marked = BUF_INIT;
	if (job_records->source.args || !job_records->resume) {
		return result_files_is_done(run, record, seq) ? RESUME_DONE : RESUME_RUN;
	}
	add_command(spec, &x, /* is_bad */ false, &text);
	x.mark = '2';
	add_command(spec, &x, /* is_bad */ false, &marked);
	FP_HOLD(&job_records->lock);
	return resume_ask(job_records->resume, seq, buf_str(&text), buf_str(&marked));
}

bool job_records_leave_out(struct batch *batch, const struct job_spec *spec, const struct record *record, struct item *item) {
	struct run *run = batch->run;
	struct job_records *job_records = run->job_records;
	if (!job_records) {
		return false;
	}
	bool again = batch->again || item->earlier == RESUME_NEW;
	enum resume_answer earlier = again ? RESUME_NEW : find_earlier(run, spec ? spec : batch->specs[item->spec], record, item->seq);
	item->earlier = earlier & 3;
	if (earlier != RESUME_DONE || batch->emits) {
		return false;
	}
	publish_resumed(run);
	batch_skip_output(batch, item->order);
	return true;
}

void job_records_close(struct run *run) {
	struct job_records *job_records = run->job_records;
	if (!job_records) {
		return;
	}
	int error = job_records->fd >= 0 ? fd_finish(job_records->fd, atomic_load_relaxed(&job_records->error)) : 0;
	if (error == ETIME && !atomic_exchange(&job_records->said, true)) {
		uint64_t lost = atomic_load_relaxed(&job_records->lost);
		diag_error("the joblog '%s' was not written to its end: nobody reads it: %" PRIu64 " row%s lost",
		           text_shows(run->options->joblog), lost, lost == 1 ? " is" : "s are");
	}
	if (error) {
		cannot_write(run, error);
	}
	resume_free(job_records->resume);
	free((char **)(uintptr_t)job_records->source.args);
	free(job_records->seqs);
	mutex_fini(&job_records->lock);
	free(job_records);
	run->job_records = NULL;
}
