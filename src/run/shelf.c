// Puts the output of jobs where the user wants it instead of stdout: --results and --files.
//
// Rows of a table are the output of run->emit, which writes to the table's file: so they are whole, and with -k in order.

#include "run/shelf.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "cli/option_log.h"
#include "output/results.h"
#include "plan/pathname.h"
#include "report/table.h"
#include "run/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

enum shelf_kind { SHELF_DIR, SHELF_TABLE, SHELF_TEMP };

struct shelf {
	enum shelf_kind kind;
	enum table_kind table;
	int fd;                     // of the table, or -1
	struct template *path;      // SHELF_DIR
	size_t head, tail;          // of its text: what stands before and behind the replacement strings
	atomic_int dir;             // what the files are below, or -1 until the first one
	struct names names;         // of the columns
	bool has_head;
	atomic_uint columns;        // of an item, where they are packed; else 0
	atomic_bool said;           // that something cannot be written
};

// ---- the run's ----

static bool has_ending(const char *path, const char *ending) {
	size_t len = strlen(path), ending_len = strlen(ending);
	return len >= ending_len && strcasecmp(path + len - ending_len, ending) == 0;
}

static int open_table(struct run *run, const char *path) {
	struct shelf *shelf = run->shelf;
	shelf->table = has_ending(path, ".csv") ? TABLE_CSV : has_ending(path, ".tsv") ? TABLE_TSV : TABLE_JSON;
	if (path[0] == '-' && path[1] == '.') {
		return 0; // to stdout
	}
	shelf->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (shelf->fd < 0) {
		diag_error("cannot write '%s': %s", diag_shows(path), strerror(errno));
		return -1;
	}
	return 0;
}

// The files are the record of what is done.
static bool is_record(const struct options *options) {
	return options->resume != RESUME_NOT && !options->joblog;
}

int shelf_open(struct run *run) {
	const struct options *options = run->options;
	if ((!options->results && !options->files) || (options->dry_run && !is_record(options))) {
		return 0;
	}
	struct shelf *shelf = run->shelf = NEW(struct shelf);
	shelf->fd = -1;
	atomic_init(&shelf->dir, -1);
	shelf->kind = !options->results ? SHELF_TEMP : option_results_is_table(options->results) ? SHELF_TABLE : SHELF_DIR;
	return shelf->kind == SHELF_TABLE ? open_table(run, options->results) : 0;
}

int shelf_fd(const struct run *run) {
	return run->shelf && run->shelf->fd >= 0 ? run->shelf->fd : STDOUT_FILENO;
}

bool shelf_is_table(const struct run *run) {
	return run->shelf && run->shelf->kind == SHELF_TABLE;
}

const char *shelf_name(const struct run *run) {
	return run->shelf && run->shelf->fd >= 0 ? diag_shows(run->options->results) : "standard output";
}

int shelf_parse(struct run *run, const struct names *names) {
	struct shelf *shelf = run->shelf;
	bool failed = false;
	if (!shelf) {
		return 0;
	}
	if (shelf->kind == SHELF_DIR) {
		shelf->path = recipe_parse(&run->options->results, 1, TEMPLATE_RAW | TEMPLATE_PATH, names, &failed);
	}
	if (shelf->path) {
		template_ends(shelf->path, &shelf->head, &shelf->tail);
	}
	shelf->names.names = xcalloc(names->n, sizeof(*shelf->names.names));
	for (; shelf->names.n < names->n; ++shelf->names.n) {
		shelf->names.names[shelf->names.n] = xstrdup(names->names[shelf->names.n]);
	}
	return failed ? -1 : 0;
}

// Lines of the table.
static void put(struct run *run, struct spool *spool, const struct buf *text) {
	if (run->shelf->fd < 0) {
		outlet_add_shown(spool, text->data, text->len);
	} else {
		spool_add(spool, 0, text->data, text->len);
	}
}

void shelf_head(struct run *run, const struct record *record) {
	struct shelf *shelf = run->shelf;
	if (shelf->kind != SHELF_TABLE || shelf->has_head) {
		return;
	}
	shelf->has_head = true;
	struct buf line = BUF_INIT;
	table_add_header(&line, shelf->table, record->nargs, shelf->names.names, shelf->names.n);
	if (line.len > 0) {
		struct spool *spool = spool_open(run->emit, NULL, 0, EMIT_GROUP, NULL, 0);
		put(run, spool, &line);
		spool_finish(spool);
	}
	buf_fini(&line);
}

void shelf_note_item(struct run *run, const struct record *record) {
	if (run->shelf) {
		atomic_store_relaxed(&run->shelf->columns, record->nargs);
	}
}

void shelf_close(struct run *run) {
	struct shelf *shelf = run->shelf;
	if (!shelf) {
		return;
	}
	if (shelf->fd >= 0 && close(shelf->fd) != 0 && !atomic_exchange(&run->trouble, true)) {
		diag_error("cannot write '%s': %s", diag_shows(run->options->results), strerror(errno));
	}
	for (size_t i = 0; i < shelf->names.n; ++i) {
		free(shelf->names.names[i]);
	}
	free(shelf->names.names);
	if (atomic_load_relaxed(&shelf->dir) >= 0) {
		close(atomic_load_relaxed(&shelf->dir));
	}
	template_free(shelf->path);
	free(shelf);
	run->shelf = NULL;
}

// ---- a job's ----

// As with output that stdout does not take: the run starts nothing more, and does not end with 0.
static int cannot_write(struct run *run, const char *path, int error) {
	if (!atomic_exchange(&run->shelf->said, true)) {
		diag_error("cannot write '%s': %s", diag_shows(path),
		           error == ELOOP ? "a symbolic link below the directory of --results is not followed" : strerror(error));
	}
	atomic_store_relaxed(&run->trouble, true);
	int none = 0;
	atomic_compare_exchange_strong(&run->output_error, &none, error == EPIPE ? EIO : error); // the reader of stdout is there
	atomic_store_release(&run->output_failed, true); // pairs with the load in stop_for_output()
	run_wake(run);
	return -1;
}

static struct expansion expansion_of(const struct job *job, unsigned slot) {
	return (struct expansion){.record = &job->record, .seq = job->item.seq, .slot = slot};
}

// The path of the job: a directory with a slash at its end, or a file. Sets *ret_below to where that begins which is below
// the user's own directory. A block of --pipe has its number for an item.
static void make_path(struct run *run, const struct expansion *x, struct buf *path, size_t *ret_below) {
	const struct shelf *shelf = run->shelf;
	template_expand(shelf->path, x, path);
	bool is_plain = shelf->head == path->len;
	if (is_plain) {
		struct buf number = BUF_INIT;
		buf_printf(&number, "%llu", (unsigned long long)x->seq);
		buf_addc(path, '/');
		*ret_below = path->len;
		pathname_add_items(path, run->blocks ? number.data : x->record->args, run->blocks ? 1 : x->record->nargs,
		                   atomic_load_relaxed(&shelf->columns), shelf->names.names, shelf->names.n);
		buf_fini(&number);
	} else {
		for (*ret_below = shelf->head; *ret_below > 0 && path->data[*ret_below - 1] != '/';) {
			--*ret_below;
		}
	}
	pathname_fit(path, *ret_below, is_plain ? 0 : shelf->tail);
}

// Opens the directory once; `path` begins with it. Returns it, or -1 with errno.
static int open_dir(struct shelf *shelf, const char *path, size_t below, bool makes) {
	int none = -1, dir = atomic_load_acquire(&shelf->dir);
	if (dir >= 0) {
		return dir;
	}
	char *name = xmemdup(path, below);
	dir = results_open_dir(name, makes);
	free(name);
	if (dir >= 0 && !atomic_compare_exchange_strong(&shelf->dir, &none, dir)) {
		close(dir); // another job was faster
		dir = none;
	}
	return dir;
}

static int begin_in_dir(struct run *run, struct job *job, unsigned slot) {
	struct expansion x = expansion_of(job, slot);
	struct buf path = BUF_INIT, failed = BUF_INIT;
	size_t below;
	int result = 0;
	make_path(run, &x, &path, &below);
	int dir = open_dir(run->shelf, path.data, below, /* makes */ true);
	if (dir < 0) {
		path.data[strrchr(path.data, '/') - path.data + 1] = '\0';
		result = cannot_write(run, path.data, errno);
	} else if (!(job->results = results_in_files(dir, path.data, below, &failed))) {
		result = cannot_write(run, failed.data, errno);
	}
	buf_fini(&path);
	buf_fini(&failed);
	return result;
}

bool shelf_is_done(struct run *run, const struct record *record, uint64_t seq) {
	struct expansion x = {.record = record, .seq = seq};
	struct buf path = BUF_INIT;
	size_t below;
	if (!run->shelf || run->shelf->kind != SHELF_DIR || !is_record(run->options)) {
		return false;
	}
	make_path(run, &x, &path, &below);
	int dir = open_dir(run->shelf, path.data, below, /* makes */ false);
	bool is_done = dir >= 0 && results_are_complete(dir, path.data + below);
	buf_fini(&path);
	return is_done;
}

// The name of the file that holds stdout, as a line of output.
static void show_name(struct run *run, struct job *job) {
	const char *path = results_path(job->results);
	if (job->spool && path) {
		outlet_add_shown(job->spool, path, strlen(path));
		spool_add(job->spool, 0, run->options->files_nul ? "" : "\n", 1);
	}
}

int shelf_begin(struct desk *desk, struct job *job, unsigned slot) {
	struct run *run = desk->run;
	struct shelf *shelf = run->shelf;
	const struct options *options = run->options;
	if (!shelf || job->results || job->item.order == 0) { // what is no item has no place there
		return 0;
	}
	if (shelf->kind == SHELF_TABLE) {
		job->results = results_in_memory();
		return 0;
	}
	if (shelf->kind == SHELF_DIR) {
		if (begin_in_dir(run, job, slot) != 0) {
			return -1;
		}
	} else if (options->output != OUTPUT_UNGROUP) {
		const char *dir = options->tmpdir ? options->tmpdir : tmpfile_dir("/tmp");
		job->results = results_in_temp(dir);
		if (!job->results) {
			return cannot_write(run, dir, errno);
		}
	}
	if (options->output == OUTPUT_LINE_BUFFER) {
		show_name(run, job);
	}
	return 0;
}

static void add_row(struct run *run, struct job *job, unsigned slot, const struct result *result, uint64_t received) {
	struct expansion x = expansion_of(job, slot);
	struct buf command = BUF_INIT, tag = BUF_INIT, line = BUF_INIT;
	command_text(job->recipe->command, &x, &job->recipe->by, &command);
	if (job->recipe->tag) {
		template_expand(job->recipe->tag, &x, &tag);
		buf_addc(&tag, '\t');
	}
	struct table_row row = {
		.log = {
			.seq = job->item.seq,
			.result = result,
			.start = job->start ? job->start : result->start,
			.sent = job_sent(job),
			.received = received,
			.command = buf_str(&command),
			.command_len = command.len,
		},
		.args = job->record.args,
		.nargs = job->record.nargs,
		.output = {results_memory(job->results, 0), results_memory(job->results, 1)},
		.tag = tag.data,
		.tag_len = tag.len,
	};
	table_add_row(&line, run->shelf->table, &row);
	put(run, job->spool, &line);
	buf_fini(&command);
	buf_fini(&tag);
	buf_fini(&line);
}

void shelf_end(struct run *run, struct job *job, unsigned slot, const struct result *result, uint64_t received) {
	const char *failed;
	if (!job->results) {
		return;
	}
	results_end(job->results);
	int error = results_error(job->results, &failed);
	if (error) {
		cannot_write(run, failed, error);
	}
	bool cut = !result || result->outcome == OUTCOME_CANCELLED;
	if (!cut && !error && results_complete(job->results, job->item.seq, &failed) != 0) {
		cannot_write(run, failed, errno);
	}
	if (!cut && run->shelf->kind == SHELF_TABLE && job->spool) {
		add_row(run, job, slot, result, received);
	} else if (!cut && run->options->files && run->options->output != OUTPUT_LINE_BUFFER) {
		show_name(run, job);
	}
	results_free(job->results, /* unlink_files */ cut && run->shelf->kind == SHELF_TEMP);
	job->results = NULL;
}
