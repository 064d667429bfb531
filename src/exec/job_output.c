// Where the output of a job goes: into its spool, the files of --results, or the items of another batch; and to subscribers.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "state/publish.h"
#include "record/record.h"
#include "term/screen.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 64 * 1024 };

// ---- the spool ----

// True if the descriptor may have a reader that can make jobs wait when they write to it.
static bool is_read(int fd) {
	struct stat stat;
	return fstat(fd, &stat) == 0 && (S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode));
}

bool job_output_is_relayed(const struct run *run) {
	return run->leases && !run->options->tty && (is_read(STDOUT_FILENO) || is_read(STDERR_FILENO));
}

void job_output_open_spool(struct worker_state *state, struct job *job) {
	struct run *run = state->run;
	enum output_kind output = run->options->dry_run ? OUTPUT_GROUP : job->spec->output;
	if (output == OUTPUT_UNGROUP && (job->batch->emits || job->role == ROLE_LISTING || job_output_is_relayed(run))) {
		output = OUTPUT_LINE_BUFFER; // if fairpar reads the job's stdout, it reads stderr, too
	}
	bool in_table = result_files_is_table(run);
	if (!run->writer || job->spool || output == OUTPUT_UNGROUP || (in_table && job->item.order == 0)) {
		return;
	}
	FP_CLEANUP(buf_fini) struct buf tag = BUF_INIT;
	bool by_machine = run->options->onall && run->options->tag && !job->spec->tag; // --onall: a batch is named after its machine
	if ((job->spec->tag || by_machine) && !in_table) {
		struct expansion x = job_expansion(job);
		FP_CLEANUP(buf_fini) struct buf raw = BUF_INIT;
		if (by_machine) {
			buf_adds(&raw, job->batch->name);
		} else {
			template_expand(job->spec->tag, &x, &raw);
		}
		buf_add_for(&tag, STDOUT_FILENO, buf_str(&raw), raw.len);
		buf_addc(&tag, '\t');
	}
	// a command that belongs to no item (order 0) has no rank in the order of output
	struct output_queue *output_queue = job->item.order ? job->batch->output_queue : NULL;
	enum writer_mode mode = output == OUTPUT_LINE_BUFFER ? WRITER_LINE_BUFFER : WRITER_GROUP;
	mode = run->options->show.latest_line && !run->options->dry_run ? WRITER_LATEST : mode;
	job->spool = spool_open(run->writer, output_queue, job->item.order, mode, tag.data, tag.len);
}

void job_output_let_through(struct run *run, const struct job *job) {
	const struct options *options = run->options;
	bool goes_on = job->spec->attempts > 1 || job->spec->then.n > 0 || run->hosts; // the job may be lost with its machine, and run again
	bool is_framed = options->color_failed || log_sink_is_on_stdout(run); // how the job's output is written depends on how the job ends
	bool has_others = !atomic_load_relaxed(&run->all_read)
		|| options->packing.by_time                            // items that were read may wait outside of the pool
		|| (options->sem.is_on && !options->sem.foreground)    // other commands of the semaphore write to the same place
		|| run->leases;                                        // the reader may wait for the slot of this very job
	if (!job->spool || goes_on || is_framed || has_others) {
		return;
	}
	struct pool_stat stat;
	pool_stat(run->pool, &stat);
	if (stat.queued == 0 && stat.running + stat.running_long == 1) {
		spool_set_live(job->spool);
	}
}

static int show_at_once(const struct buf *text) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	buf_add_for(&shown, STDOUT_FILENO, text->data, text->len);
	return screen_write(STDOUT_FILENO, shown.data, shown.len);
}

void job_output_show_command(struct worker_state *state, const struct job *job) {
	buf_addc(&state->text, '\n');
	if (job->results && job->results->stream[0].takes) {
		results_add(job->results, 0, state->text.data, state->text.len);
	} else if (job->spool) {
		spool_add_shown(job->spool, state->text.data, state->text.len);
	} else if (show_at_once(&state->text) != 0) {
		if (errno != EPIPE) {
			diag_error("cannot write to standard output: %s", strerror(errno));
		}
		atomic_store_relaxed(&state->run->trouble, true);
	}
	state->text.data[--state->text.len] = '\0';
}

// ---- what the child writes ----

static void pass_on(struct worker_state *state, enum child_stream stream, const char *bytes, size_t n) {
	const struct job *job = state->live.job;
	if (publish_wants_output(state->run)) {
		publish_output(state, job, (int)stream, bytes, n);
	}
	if (stream == STREAM_OUT && job->line_items) {
		line_items_take(job->line_items, bytes, n);
		state->stats.item_bytes += (uint64_t)n;
	} else if (job->results && job->results->stream[stream].takes) {
		job_keeps_thread(state->run, true);
		results_add(job->results, (int)stream, bytes, n);
		job_keeps_thread(state->run, false);
	} else {
		spool_add(job->spool, (int)stream, bytes, n);
	}
}

static void output_take(void *arg, enum child_stream stream, const char *bytes, size_t n) {
	struct worker_state *state = arg;
	pass_on(state, stream, bytes, n);
	status_display_output(state->run);
}

static ssize_t output_readable(void *arg, enum child_stream stream, int fd) {
	struct worker_state *state = arg;
	const struct job *job = state->live.job;
	ssize_t n;
	bool is_kept = job->results && job->results->stream[stream].takes;
	if (is_kept || (stream == STREAM_OUT && job->line_items) || publish_wants_output(state->run)) {
		state->output_bytes = state->output_bytes ? state->output_bytes : xmalloc(OUTPUT_BYTES);
		n = read(fd, state->output_bytes, OUTPUT_BYTES);
		if (n > 0) {
			pass_on(state, stream, state->output_bytes, (size_t)n);
		}
	} else {
		n = spool_readable(job->spool, (int)stream, fd);
	}
	if (n > 0) {
		status_display_output(state->run);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		int error = errno;
		diag_error("cannot read the output of a job: %s", strerror(error));
		atomic_store_relaxed(&state->run->trouble, true);
		errno = error;
	}
	return n;
}

// Writes the last line of the job's output into `text`; with --latest-line behind the job's tag, as it is shown.
static size_t output_last_line(void *arg, char *text, size_t size) {
	const struct worker_state *state = arg;
	bool tagged = state->run->options->show.latest_line;
	return state->live.job->spool ? spool_last_line(state->live.job->spool, tagged, text, size) : 0;
}

struct output_reader job_output_reader(struct worker_state *state) {
	return (struct output_reader){.readable = output_readable, .take = output_take, .last_line = output_last_line, .arg = state};
}
