// The options of semaphore mode.

#include "cli/option_semaphore.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/option_values.h"
#include "shell/shell.h"

#include <string.h>
#include <unistd.h>

bool option_semaphore_is_called(const char *program) {
	const char *slash = strrchr(program, '/');
	return strcmp(slash ? slash + 1 : program, "sem") == 0;
}

// SECS: above 0 the semaphore is taken by force then, below 0 it is given up. 0 is no limit, as in GNU parallel.
static int set_semaphore_timeout(struct options *options, const char *text) {
	struct semaphore_options *sem = &options->sem;
	sem->gives_up = text[0] == '-';
	if (option_duration(text + sem->gives_up, &sem->timeout) == 0) {
		return 0;
	}
	diag_error("--semaphore-timeout must be seconds, or a time such as 1m30s, below 0 to give up then, not '%s'",
	           text_shows(text));
	return -1;
}

int option_semaphore_take(struct options *options, enum option_id id, const char *value) {
	struct semaphore_options *sem = &options->sem;
	sem->is_on = sem->is_on || id != OPT_WAIT;
	switch (id) {
	case OPT_SEMAPHORE_NAME: sem->name = value; return 0;
	case OPT_FG: sem->foreground = true; return 0;
	case OPT_BG: sem->background = true; return 0;
	case OPT_WAIT: sem->waits = true; return 0;
	case OPT_SEMAPHORE_TIMEOUT: return set_semaphore_timeout(options, value);
	default: return 0; // --semaphore
	}
}

// `tty` is what GNU parallel asks, and so scripts without a terminal share one semaphore.
static void choose_name(struct semaphore_options *sem) {
	if (!sem->name) {
		const char *tty = ttyname(STDIN_FILENO);
		sem->name = tty ? tty : "not a tty";
	}
}

// The file of -a is the command's standard input.
static int choose_input(struct options *options) {
	if (options->nsources > 1) {
		diag_error("a semaphore's command has one standard input: give --arg-file once");
		return -1;
	}
	if (options->nsources == 1 && options->sources[0].kind == FROM_FILE) {
		options->sem.input = options->sources[0].path;
	}
	return 0;
}

static void join_words(struct options *options, char *const *words, size_t nwords) {
	struct buf line = BUF_INIT;
	for (size_t i = 0; i < nwords; ++i) {
		if (i > 0) {
			buf_addc(&line, ' ');
		}
		if (options->quote) {
			shell_quote(&line, words[i], strlen(words[i]));
		} else {
			buf_adds(&line, words[i]);
		}
	}
	options->sem.line = buf_take(&line);
}

// A program that asks, or draws, needs the terminal itself: it gets it as with --tty.
static void choose_terminal(struct options *options) {
	bool plain = !options->tag && !options->keep_order && options->output == OUTPUT_GROUP && !options->dry_run;
	if (options->sem.foreground && plain && !options->sem.input && isatty(STDIN_FILENO) == 1) {
		options->tty = true;
	}
}

int option_semaphore_settle(struct options *options, char *const *words, size_t nwords) {
	struct semaphore_options *sem = &options->sem;
	choose_name(sem);
	if (sem->foreground && sem->background) {
		diag_error("--fg cannot be combined with --bg");
		return -1;
	}
	if (sem->waits) {
		return 0;
	}
	if (nwords == 0) {
		diag_error("a semaphore needs a command to run, or --wait");
		return -1;
	}
	if (options->interactive && !sem->foreground) {
		diag_error("--interactive needs --fg: a job in the background cannot ask");
		return -1;
	}
	if (options->batch || options->batch_by || options->nbatch_files > 0) {
		diag_error("--batch and --batch-by cannot be combined with a semaphore: it runs one command");
		return -1;
	}
	if (choose_input(options) != 0) {
		return -1;
	}
	join_words(options, words, nwords);
	choose_terminal(options);
	free(options->sources);
	options->sources = NEW(struct source_config);
	options->sources[0] = (struct source_config){.kind = FROM_ARGS, .args = &sem->line, .nargs = 1};
	options->nsources = 1;
	options->pipe = PIPE_NOT; // --pipe is what GNU parallel's manual asks for, lest it keeps stdin for itself
	options->quiet = true; // whoever waits for its status knows which job that was
	options->exit_scheme = EXIT_FIRST;
	return 0;
}
