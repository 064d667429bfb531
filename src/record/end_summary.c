// Prints the messages at the end of a run: the summary, and the last line.
//
// The summary leaves out what its reader knows already: for a single batch of the command line it has no table, only a line for
// each job that failed, and the output of such a job only if it was not shown before.

#include "record/record.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/options.h"
#include "state/publish.h"
#include "report/run_stats.h"
#include "shell/shell.h"
#include "term/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

struct end_summary {
	atomic_int trouble; // enum trouble: what was wrong with the first job that had trouble
	struct buf unknown; // the first word of that job's command, if no program is called so; else empty. Written by the thread that has set `trouble`
};

// What can be wrong with a command, as far as its exit code and the shell's message tell.
enum trouble { TROUBLE_NONE, TROUBLE_SYNTAX, TROUBLE_NOT_FOUND };

void end_summary_open(struct run *run) {
	const struct options *options = run->options;
	bool is_quiet = options->summary == SUMMARY_NEVER || (options->quiet && options->summary != SUMMARY_ALWAYS);
	if (!is_quiet && !options->dry_run && !options->sem.is_on) {
		run->end_summary = NEW(struct end_summary);
	}
}

void end_summary_close(struct run *run) {
	if (run->end_summary) {
		buf_fini(&run->end_summary->unknown);
		free(run->end_summary);
	}
}

// ---- the summary ----

static void add(struct buf *buf, const struct run_stats *stats, int fd, struct summary_form form) {
	struct winsize size;
	form.width = ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
	form.colour = colour_wanted(fd);
	summary_add(buf, stats, &form);
}

void end_summary_add_stats(struct buf *buf, const struct run_stats *stats, int fd) {
	add(buf, stats, fd, (struct summary_form){.table = true});
	FP_CLEANUP(buf_fini) struct buf last = BUF_INIT;
	summary_add_last(&last, stats, /* listed */ false);
	if (last.len > 0) {
		buf_printf(buf, "fairpar: %s\n", last.data);
	}
}

// True if both descriptors lead to the same place, so that a reader sees the output of both.
static bool is_same_place(int fd, int other) {
	struct stat a, b;
	return (isatty(fd) == 1 && isatty(other) == 1) ||
	       (fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

// Prints the summary, if the options and the run ask for it. Returns true if the summary lists the jobs that failed, without a table.
static bool print_summary(const struct run *run, struct run_stats *stats) {
	const struct options *options = run->options;
	stats_finish(stats, stats->last);
	const struct stats_batch *total = &stats->total;
	uint64_t jobs = stats_ended(total);
	bool always = options->summary == SUMMARY_ALWAYS || run->manifest, many = stats->nbatches > 1;
	bool failed = total->counts.failed > 0 && jobs > 1;
	if (!always && !failed && !(many && isatty(STDERR_FILENO) == 1)) {
		return false;
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	bool whole = always || many; // false: the summary lists only the failed jobs of a single batch
	bool err_seen = !options->show.latest_line && !options->results;
	bool out_seen = err_seen && !options->files && is_same_place(STDOUT_FILENO, STDERR_FILENO);
	add(&text, stats, STDERR_FILENO, (struct summary_form){
		.table = whole, .out_seen = !whole && out_seen, .err_seen = !whole && err_seen,
	});
	diag_text(buf_str(&text), text.len);
	return !whole;
}

// ---- hints ----

// True if `tail` has a message of the shell: "/bin/sh: 1: Syntax error: …" (dash), "/bin/sh: -c: line 1: syntax error …" (bash),
// "bad substitution", or bash's "unexpected EOF while looking for matching `''.
static bool is_syntax_error(const char *tail, const char *shell) {
	static const char *const errors[] = {"yntax error", "ad substitution", "unexpected EOF"};
	const char *line = strstr(tail, shell), *error = NULL;
	for (size_t i = 0; line && !error && i < sizeof(errors) / sizeof(errors[0]); ++i) {
		error = strstr(line, errors[i]);
	}
	return error && !memchr(line, '\n', (size_t)(error - line));
}

void end_summary_note_failure(struct worker_state *state, const struct result *result) {
	struct end_summary *end_summary = state->run->end_summary;
	if (!end_summary || state->run->manifest || result->outcome != OUTCOME_FAILED || !state->command.by_shell) {
		return; // no hint for a manifest, whose shell does not depend on $SHELL
	}
	enum trouble trouble = result->exit_code == 127 ? TROUBLE_NOT_FOUND
		: is_syntax_error(buf_str(&state->stats.tail), state->command.argv[0]) ? TROUBLE_SYNTAX : TROUBLE_NONE;
	int none = TROUBLE_NONE;
	if (trouble == TROUBLE_NONE || !atomic_compare_exchange_strong(&end_summary->trouble, &none, trouble)) {
		return;
	}
	const char *name = buf_str(&state->text);
	size_t len = strcspn(name, " \t\n;&|<>()$`'\"\\");
	buf_add(&end_summary->unknown, name, len);
	if (len == 0 || memchr(name, '/', len) || shell_has_syntax(name, len) || program_find(buf_str(&end_summary->unknown))) {
		buf_reset(&end_summary->unknown);
	}
}

// Prints the hint that fits the first job with trouble, if there is such a hint. All jobs have ended.
static void print_hint(const struct run *run) {
	enum trouble trouble = (enum trouble)atomic_load(&run->end_summary->trouble);
	const struct options *options = run->options;
	bool has_words = options->ncommand > 1 && !options->quote;
	if (trouble == TROUBLE_NONE || (has_words && options_words_lost_quotes(options->command, options->ncommand))) {
		return; // no hint fits, or LOST_QUOTES_HINT was printed already
	}
	bool can_serve, by_sh = shell_is_plain_sh(run->spec.by.shell);
	const char *login = getenv("SHELL"), *by;
	bool is_unsaid = !shell_named(options->shell, &by) && (!login || login[0] == '\0');
	const char *shell = by_sh ? shell_passed_over(options->shell, &can_serve) : NULL, *unknown = buf_str(&run->end_summary->unknown);
	if (trouble == TROUBLE_SYNTAX && has_words) {
		diag_note(LOST_QUOTES_HINT);
	} else if (shell && can_serve) {
		diag_note("hint: /bin/sh ran the commands, and not $SHELL, '%s': for that shell, use --shell %s", text_shows(shell), text_shows(shell));
	} else if (shell) {
		diag_note("hint: /bin/sh ran the commands, and not $SHELL, '%s', which cannot read the quotes around items: write the commands for sh, "
		          "or name another shell with --shell", text_shows(shell));
	} else if (trouble == TROUBLE_NOT_FOUND && unknown[0] != '\0' && login && strcmp(path_base(login), "bash") == 0) {
		diag_note("hint: '%s' was not found: if it is a function of bash, jobs know it only after export -f %s", text_shows(unknown),
		          text_shows(unknown));
	} else if (by_sh && is_unsaid && program_find("bash")) {
		diag_note("hint: /bin/sh ran the commands, because $SHELL is not set: to have bash run them, use --shell bash");
	}
}

void end_summary_print(struct run *run) {
	struct run_stats *stats = publish_stats(run);
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	bool listed = false;
	stats->counts_items = run->options->packing.by_time; // with --pack=auto the summary counts items instead of jobs
	if (run->end_summary) {
		listed = print_summary(run, stats);
		print_hint(run);
	}
	if (!run->options->quiet) {
		summary_add_last(&line, stats, listed);
	}
	if (line.len > 0) {
		diag_note("%s", line.data);
	}
}
