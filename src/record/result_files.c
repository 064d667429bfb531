// Puts the output of jobs where the user wants it instead of stdout: --results and --files.
//
// Rows of a table are the output of run->writer, which writes to the table's file: so they are whole, and with -k in order.

#include "record/record.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/pathname.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/write_limit.h"
#include "cli/options.h"
#include "state/publish.h"
#include "output/results.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

enum result_files_kind { RESULTS_DIR, RESULTS_TABLE, RESULTS_TEMP };

struct result_files {
	enum result_files_kind kind;
	enum table_kind table;
	int fd;                     // the descriptor of the table, or -1
	struct template *path;      // RESULTS_DIR: makes the path of a job's files
	size_t head, tail;          // how many bytes of `path` are before and behind its replacement strings
	int dir;                    // RESULTS_DIR: the directory that the files are below; -1: in a dry run it is missing
	const struct names *names;  // the names of the columns; borrowed
	bool has_head;              // result_files_head() was called
	atomic_uint columns;        // how many arguments an item has, if several items make one job; else 0
	atomic_bool said;           // a message has said that a file cannot be written
};

// ---- for the run ----

static int open_table(struct run *run, const char *path) {
	struct result_files *result_files = run->result_files;
	const char *ending = strrchr(path, '.'); // one of the endings that option_results_is_table() knows
	bool is_csv = strcasecmp(ending, ".csv") == 0, is_tsv = strcasecmp(ending, ".tsv") == 0;
	result_files->table = is_csv ? TABLE_CSV : is_tsv ? TABLE_TSV : TABLE_JSON;
	if (path[0] == '-' && path[1] == '.') {
		return 0; // the table goes to stdout
	}
	result_files->fd = write_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, "nothing was run");
	if (result_files->fd < 0) {
		return diag_error("cannot write '%s': %s", text_shows(path), strerror(errno));
	}
	return 0;
}

// True if the files of --results say which items are done.
static bool is_record(const struct options *options) {
	return options->resume != RESUME_NOT && !options->joblog;
}

int result_files_open(struct run *run) {
	const struct options *options = run->options;
	if ((!options->results && !options->files) || (options->dry_run && !is_record(options))) {
		return 0;
	}
	struct result_files *result_files = run->result_files = NEW(struct result_files);
	result_files->fd = result_files->dir = -1;
	result_files->kind = !options->results ? RESULTS_TEMP : option_results_is_table(options->results) ? RESULTS_TABLE : RESULTS_DIR;
	return result_files->kind == RESULTS_TABLE ? open_table(run, options->results) : 0;
}

int result_files_fd(const struct run *run) {
	return run->result_files && run->result_files->fd >= 0 ? run->result_files->fd : STDOUT_FILENO;
}

bool result_files_is_table(const struct run *run) {
	return run->result_files && run->result_files->kind == RESULTS_TABLE;
}

const char *result_files_name(const struct run *run) {
	return run->result_files && run->result_files->fd >= 0 ? text_shows(run->options->results) : "standard output";
}

// Opens the directory that the files will be below, and makes it if it is missing, except with --dry-run. Checks that files can be
// made in it. Returns 0, or -1 after a message.
static int open_dir(struct run *run) {
	struct result_files *result_files = run->result_files;
	const struct options *options = run->options;
	const struct expansion x = {.record = &(struct record){.args = "", .size = 1, .nargs = 1}};
	bool has_strings = template_has(result_files->path, TEMPLATE_HAS_STRINGS);
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
	template_expand(result_files->path, &x, &path);
	buf_adds(&path, has_strings ? "" : "/");
	path.len = has_strings ? result_files->head : path.len;
	while (path.len > 0 && path.data[path.len - 1] != '/') {
		--path.len;
	}
	path.data[path.len] = '\0';
	int dir = result_files->dir = open_base_dir(path.data, /* makes */ !options->dry_run);
	// with --resume the directory need not be writable: the earlier run may have written all files
	bool ok = options->dry_run || (dir >= 0 && (options->resume != RESUME_NOT || faccessat(dir, ".", W_OK | X_OK, 0) == 0));
	return ok ? 0 : diag_error("cannot write '%s': %s", text_shows(path.len > 0 ? path.data : "."), strerror(errno));
}

int result_files_parse(struct run *run, const struct names *names) {
	struct result_files *result_files = run->result_files;
	bool failed = false;
	if (!result_files) {
		return 0;
	}
	if (result_files->kind == RESULTS_DIR) {
		result_files->path = job_spec_parse(&run->options->results, 1, TEMPLATE_RAW | TEMPLATE_PATH, names, &failed);
	}
	if (result_files->path) {
		template_ends(result_files->path, &result_files->head, &result_files->tail);
		failed = failed || open_dir(run) != 0;
	}
	result_files->names = names;
	return failed ? -1 : 0;
}

bool result_files_need_total(const struct run *run) {
	return run->result_files && template_has(run->result_files->path, TEMPLATE_NEEDS_TOTAL);
}

// Adds lines of the table to the spool.
static void put(struct run *run, struct spool *spool, const struct buf *text) {
	if (run->result_files->fd < 0) {
		spool_add_shown(spool, text->data, text->len);
	} else {
		spool_add(spool, 0, text->data, text->len);
	}
}

void result_files_head(struct run *run, uint32_t columns) {
	struct result_files *result_files = run->result_files;
	if (result_files->kind != RESULTS_TABLE || result_files->has_head) {
		return;
	}
	result_files->has_head = true;
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	table_add_header(&line, result_files->table, columns, result_files->names->names, result_files->names->n);
	if (line.len > 0) {
		struct spool *spool = spool_open(run->writer, NULL, 0, WRITER_GROUP, NULL, 0);
		put(run, spool, &line);
		spool_finish(spool);
	}
}

void result_files_note_item(struct run *run, const struct record *record) {
	if (run->result_files) {
		atomic_store_relaxed(&run->result_files->columns, record->nargs);
	}
}

void result_files_close(struct run *run) {
	struct result_files *result_files = run->result_files;
	if (!result_files) {
		return;
	}
	if (result_files->fd >= 0 && close(result_files->fd) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", text_shows(run->options->results), strerror(errno));
	}
	fd_close(&result_files->dir);
	template_free(result_files->path);
	free(result_files);
	run->result_files = NULL;
}

// ---- for a job ----

// Prints once that a file cannot be written. As after a failure of stdout, the run starts nothing more, and does not exit with
// 0. Adds the cause to `why`, unless that is NULL. Returns -1.
static int cannot_write(struct run *run, const char *path, int error, struct buf *why) {
	FP_CLEANUP(buf_fini) struct buf cause = BUF_INIT;
	buf_printf(&cause, "cannot write '%s': %s", text_shows(path),
	           error == ELOOP ? "a symbolic link below the directory of --results is not followed" : strerror(error));
	if (!atomic_exchange(&run->result_files->said, true)) {
		diag_error("%s", cause.data);
	}
	if (why) {
		buf_add(why, cause.data, cause.len);
	}
	atomic_store_relaxed(&run->trouble, true);
	int none = 0;
	atomic_compare_exchange_strong(&run->output_error, &none, error == EPIPE ? EIO : error); // EPIPE would mean that the reader of stdout has gone
	publish_set_stop_reason(run, cause.data);
	run_start_no_more(run);
	return -1;
}

// Appends the path of the job's files: a directory with a slash at its end, or a file. Sets *ret_below to the offset of the part
// that is relative to result_files->dir. For a block of --pipe, the number of the block stands for the item in the path.
static void make_path(struct run *run, const struct expansion *x, struct buf *path, size_t *ret_below) {
	const struct result_files *result_files = run->result_files;
	template_expand(result_files->path, x, path);
	bool is_plain = result_files->head == path->len;
	if (is_plain) {
		FP_CLEANUP(buf_fini) struct buf number = BUF_INIT;
		bool is_block = run->blocks && !run->options->tee;
		buf_printf(&number, "%llu", (unsigned long long)x->seq);
		buf_addc(path, '/');
		*ret_below = path->len;
		pathname_add_items(path, is_block ? number.data : x->record->args, is_block ? 1 : x->record->nargs,
		                   atomic_load_relaxed(&result_files->columns), result_files->names->names, result_files->names->n);
	} else {
		for (*ret_below = result_files->head; *ret_below > 0 && path->data[*ret_below - 1] != '/';) {
			--*ret_below;
		}
	}
	pathname_fit(path, *ret_below, is_plain ? 0 : result_files->tail);
}

bool result_files_is_done(struct run *run, const struct record *record, uint64_t seq) {
	struct expansion x = {.record = record, .seq = seq, .slots = run->slots, .total = run->total};
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
	size_t below;
	if (!run->result_files || run->result_files->kind != RESULTS_DIR || !is_record(run->options)) {
		return false;
	}
	make_path(run, &x, &path, &below);
	int dir = run->result_files->dir;
	return dir >= 0 && results_are_complete(dir, path.data + below);
}

// Adds the name of the file that holds the job's stdout, as a line of output.
static void show_name(struct run *run, struct job *job) {
	const char *path = job->results->stream[0].path;
	if (job->spool && path) {
		spool_add_shown(job->spool, path, strlen(path));
		spool_add(job->spool, 0, run->options->files_nul ? "" : "\n", 1);
	}
}

// Opens the files of one job. Returns 0, or -1 after a message, with the cause added to `why`.
static int begin_in_files(struct run *run, struct job *job, struct buf *why) {
	const struct options *options = run->options;
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT, failed = BUF_INIT;
	if (run->result_files->kind == RESULTS_DIR) {
		struct expansion x = job_expansion(job);
		size_t below;
		make_path(run, &x, &path, &below);
		job->results = results_in_files(run->result_files->dir, path.data, below, &failed);
	} else if (options->output == OUTPUT_UNGROUP) {
		return 0;
	} else {
		buf_adds(&failed, options->tmpdir ? options->tmpdir : tmpfile_dir("/tmp"));
		job->results = results_in_temp(failed.data);
	}
	return job->results ? 0 : cannot_write(run, failed.data, errno, why);
}

bool result_files_begin(struct worker_state *state, struct job *job, struct result *ret_result) {
	struct run *run = state->run;
	if (job->results || job->item.order == 0) { // the job's files are open already, or the job has no item, such as a listing
		return true;
	}
	if (atomic_load_acquire(&run->output_error)) {
		*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
		return false;
	}
	if (run->result_files->kind == RESULTS_TABLE) {
		job->results = results_in_memory();
		return true;
	}
	buf_reset(&state->stats.why);
	if (begin_in_files(run, job, &state->stats.why) != 0) {
		result_cannot_start(ret_result, 126);
		ret_result->lacks_results = true;
		return false;
	}
	if (run->options->output == OUTPUT_LINE_BUFFER) {
		show_name(run, job);
	}
	return true;
}

static void add_row(struct worker_state *state, struct job *job, const struct result *result, uint64_t received) {
	struct expansion x = job_expansion(job);
	FP_CLEANUP(buf_fini) struct buf command = BUF_INIT, tag = BUF_INIT, line = BUF_INIT;
	if (job->step > 0) { // in the first step, state->text is this command
		command_text(job->spec->command, &x, &job->spec->by, &command);
	}
	const struct buf *text = job->step > 0 ? &command : &state->text;
	if (job->spec->tag) {
		template_expand(job->spec->tag, &x, &tag);
		buf_addc(&tag, '\t');
	}
	struct table_row row = {
		.log = joblog_row_of(job, result, received, text),
		.args = job->added ? buf_str(&state->text) : job->record.args, // an added job has one column, whatever the columns of items are
		.nargs = job->added ? 1 : job->record.nargs,
		.output = {&job->results->stream[0].memory, &job->results->stream[1].memory},
		.tag = tag.data,
		.tag_len = tag.len,
	};
	table_add_row(&line, state->run->result_files->table, &row);
	put(state->run, job->spool, &line);
}

void result_files_end(struct worker_state *state, struct job *job, const struct result *result, uint64_t received) {
	struct run *run = state->run;
	const char *failed;
	if (!job->results) {
		return;
	}
	results_end(job->results);
	int error = job->results->error;
	if (error) {
		cannot_write(run, job->results->error_path, error, NULL);
	}
	bool cut = result->outcome == OUTCOME_CANCELLED;
	if (!cut && !error && results_complete(job->results, job->item.seq, &failed) != 0) {
		cannot_write(run, failed, errno, NULL);
	}
	if (!cut && run->result_files->kind == RESULTS_TABLE && job->spool) {
		add_row(state, job, result, received);
	} else if (!cut && run->options->files && run->options->output != OUTPUT_LINE_BUFFER) {
		show_name(run, job);
	}
	results_free(job->results, /* unlink_files */ cut && run->result_files->kind == RESULTS_TEMP);
	job->results = NULL;
}
