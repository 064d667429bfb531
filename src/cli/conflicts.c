// Refuses options that exclude each other; warns of options that have no effect together with other options, and of options in $PARALLEL.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/options.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the rules of the table ----

#define ALWAYS NOPTIONS // as `unless`: no option has this id, so the rule always holds

// A row of EXCLUDES or NEEDS, in the order of options.def. EXCLUDES: option `id` cannot be combined with any of `others`, for the
// reason `text`, except if `unless` is given. NEEDS (`others` is NULL): option `id` has no meaning without option `unless`.
static const struct rule {
	enum option_id id, unless;
	const char *text;              // EXCLUDES: the reason, or "" if the reason is evident; NEEDS: what is missing
	const enum option_id *others;  // NOPTIONS behind the last one
} rules[] = {
#define EXCLUDES(id, unless, reason, ...) {id, unless, reason, (const enum option_id[]){__VA_ARGS__, NOPTIONS}},
#define NEEDS(id, other, what) {id, other, what, NULL},
#include "cli/options.def"
};

// Sets on[id] for options that count in the rules. OPT_PIPE stands for all options that make blocks, OPT_SSHLOGIN for all that name machines, and
// OPT_JOBS for -j auto. With a semaphore, --pack and the options for blocks and manifests do not count; with --retry-failed, --pack does not.
static void fill_counting(const struct options *o, bool on[NOPTIONS + 1]) {
	for (int id = 0; id < NOPTIONS; ++id) {
		enum option_group group = option_table[id].group;
		on[id] = o->given[id] && !(o->sem.is_on && (group == GROUP_PIPE || group == GROUP_MANIFEST));
	}
	on[ALWAYS] = false;
	on[OPT_SEMAPHORE] = o->sem.is_on;
	on[OPT_JOBS] = options_jobs_auto(o);
	on[OPT_SSHLOGIN] = sshlogins_has_remote(&o->hosts) || o->slurm;
	on[OPT_SLURM] = on[OPT_SLURM] || o->slurm; // a manifest may have set `slurm`
	on[OPT_PIPE] = o->pipe != PIPE_NOT && !o->sem.is_on;
	on[OPT_PACK] = on[OPT_PACK] && o->resume != RESUME_RETRY && !o->sem.is_on;
}

enum option_id option_as_given(const struct options *o, enum option_id id) {
	static const enum option_id all[][4] = {{OPT_SSHLOGIN, OPT_SSHLOGINFILE, OPT_LAUNCH, OPT_SLURM}, {OPT_PIPE_PART, OPT_PIPE, OPT_CAT, OPT_FIFO}};
	for (size_t i = 0; i < sizeof(all[0]) / sizeof(all[0][0]) && (id == OPT_SSHLOGIN || id == OPT_PIPE); ++i) {
		enum option_id other = all[id == OPT_PIPE][i];
		if (o->given[other]) {
			return other;
		}
	}
	return id == OPT_SSHLOGIN && o->slurm ? OPT_SLURM : id;
}

static int check_rules(const struct options *o) {
	bool on[NOPTIONS + 1];
	fill_counting(o, on);
	for (const struct rule *rule = rules; rule < rules + sizeof(rules) / sizeof(rules[0]); ++rule) {
		if (!on[rule->id] || on[rule->unless]) {
			continue;
		}
		// no error: the manifest, which is not loaded yet, may name machines; and $FAIRPAR_POOL may name the pool
		bool waits = o->manifest && !o->machines_are_known && (rule->unless == OPT_SLURM || rule->unless == OPT_SSHLOGIN);
		if (!rule->others && !waits && !(rule->unless == OPT_POOL && o->pool.name)) {
			return option_fail(rule->id, "needs %s", rule->text);
		}
		for (const enum option_id *other = rule->others; other && *other != NOPTIONS; ++other) {
			if (on[*other]) {
				return option_fail(*other, "cannot be combined with --%s%s%s", option_table[option_as_given(o, rule->id)].name,
				                   *rule->text ? ": " : "", rule->text);
			}
		}
	}
	return !o->batch || !o->batch_by ? 0
		: diag_error("--batch %s cannot be combined with --batch-by: both name the batch of the same items", text_shows(o->batch));
}

// ---- rules that the table cannot express ----

int option_others_check(const struct options *o, enum option_id id, enum option_list with) {
	for (int other = 0; other < NOPTIONS; ++other) {
		const enum option_id *at = option_lists[with];
		while (*at != NOPTIONS && (int)*at != other) {
			++at;
		}
		if (o->given[other] && other != (int)id && *at == NOPTIONS) {
			return option_fail((enum option_id)other, "cannot be combined with --%s", option_table[id].name);
		}
	}
	return 0;
}

// Checks that each batch is named once.
static int check_batches(const struct options *options) {
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		const char *name = options->batch_files[i].name;
		bool twice = options->batch && strcmp(options->batch, name) == 0;
		for (size_t j = 0; j < i; ++j) {
			twice = twice || strcmp(options->batch_files[j].name, name) == 0;
		}
		if (twice) {
			return diag_error("--batch names the batch '%s' twice", text_shows(name));
		}
	}
	return 0;
}

// Refuses options that conflict with a table of --results, where a row holds the whole output of a job.
static int check_table(const struct options *options) {
	if (!options->results || !option_results_is_table(options->results) || options->dry_run) {
		return 0;
	}
	bool logs = options->log && (strcmp(options->log, "-") == 0 || option_log_fd(options->log) == STDOUT_FILENO);
	const char *other = options->output == OUTPUT_UNGROUP ? "ungroup" : options->output == OUTPUT_LINE_BUFFER ? "line-buffer"
		: options->files ? "files" : logs ? "log -" : options->joblog && strcmp(options->joblog, "-") == 0 ? "joblog -" : NULL;
	return !other ? 0 : diag_error("--results %s cannot be combined with --%s: each row holds the whole output of a job",
	                               text_shows(options->results), other);
}

// Checks that a run to be resumed has a log that can be read back.
static int check_log(const struct options *options) {
	static const enum option_id ids[] = {
		[RESUME_SEEN] = OPT_RESUME, [RESUME_FAILED] = OPT_RESUME_FAILED, [RESUME_RETRY] = OPT_RETRY_FAILED,
	};
	if (options->resume == RESUME_NOT) {
		return 0;
	}
	const char *name = option_table[ids[options->resume]].name;
	bool has_dir = options->results && !option_results_is_table(options->results);
	if (!options->joblog && has_dir && options->resume == RESUME_SEEN) {
		return 0;
	}
	if (!options->joblog) {
		return diag_error("--%s needs the log of the run before: name it with --joblog FILE%s", name,
		                  has_dir ? "; --results does not say which jobs failed" : "");
	}
	return strcmp(options->joblog, "-") != 0 ? 0 : diag_error("--%s needs a joblog in a file, not on stdout", name);
}

int option_conflicts_check(const struct options *o) {
	return check_rules(o) != 0 || check_table(o) != 0 || check_log(o) != 0 ? -1 : check_batches(o);
}

// ---- what has no effect ----

// True if no warning is due although no job runs: the option writes its file all the same, or --summary does not ask for a summary.
static bool is_written(const struct options *o, enum option_id id) {
	bool is_record = o->resume != RESUME_NOT && id == (o->joblog ? OPT_JOBLOG : OPT_RESULTS);
	return (o->dry_run && (id == OPT_TRACE_SERVICE || is_record)) || (id == OPT_SUMMARY && o->summary != SUMMARY_ALWAYS);
}

// Warns that the options of the list that are given have no effect: "--NAME, --NAME and --NAME have no effect …".
static void warn_ineffective(const struct options *o, enum option_list list, const char *beside, const char *other) {
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT;
	size_t n = 0, last = 0;
	for (const enum option_id *id = option_lists[list]; *id != NOPTIONS; ++id) {
		if (o->given[*id] && !is_written(o, *id)) {
			last = names.len;
			buf_printf(&names, "%s--%s", n++ > 0 ? ", " : "", option_table[*id].name);
		}
	}
	if (n > 1) {
		diag_warn("%.*s and %s have no effect %s --%s", (int)last, buf_str(&names), buf_str(&names) + last + strlen(", "),
		          beside, other);
	} else if (n > 0) {
		diag_warn("%s has no effect %s --%s", buf_str(&names), beside, other);
	}
}

void option_ineffective_warn(const struct options *o) {
	bool shows = o->manifest && (o->check || o->given[OPT_LIST]);
	const char *dry_mode = shows ? (o->check ? "check" : "list") : o->shell_quotes > 0 ? "shell-quote" : o->dry_run ? "dry-run" : NULL;
	if (dry_mode && !o->given[OPT_QUIET]) {
		warn_ineffective(o, LIST_WRITES, "with", dry_mode);
	}
	if (o->pipe == PIPE_NOT && !o->sem.is_on && !o->given[OPT_QUIET]) {
		warn_ineffective(o, LIST_OF_BLOCKS, "without", "pipe");
	}
}

// ---- options that GNU parallel would have read from $PARALLEL or its configuration file ----

// True for an option of GNU parallel that changes nothing in fairpar.
static bool is_without_effect(const char *word, size_t len) {
	enum option_id id;
	return len > 2 && strncmp(word, "--", 2) == 0 && option_is_name(word + 2, len - 2, &id) &&
	       (id == OPT_IGNORED || id == OPT_CITATION || id == OPT_PLAIN);
}

// True if the text has a word that is neither in a comment (a line that begins with #) nor an option without effect.
static bool has_options(const char *text) {
	bool begins = true; // only blanks have come in this line so far
	for (size_t len; *text; text += len) {
		bool is_blank = strchr(" \t\n", *text), is_comment = begins && *text == '#';
		begins = is_blank && (begins || *text == '\n');
		len = is_blank ? 1 : strcspn(text, is_comment ? "\n" : " \t\n");
		if (!is_blank && !is_comment && !is_without_effect(text, len)) {
			return true;
		}
	}
	return false;
}

static bool file_has_options(const char *path) {
	enum { ENOUGH = 64 * 1024 };
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat stat;
	if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
		return false;
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	text.len = pread_all(fd, buf_reserve(&text, ENOUGH), ENOUGH, 0);
	text.data[text.len] = '\0';
	return has_options(buf_str(&text));
}

void option_profile_warn(const struct options *options) {
	if (options->quiet || options->given[OPT_PLAIN] || getenv("FAIRPAR_JOB")) { // a fairpar in a job would warn again for each job
		return;
	}
	const char *variable = getenv("PARALLEL"), *own = getenv("PARALLEL_HOME"), *home = getenv("HOME");
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
	if (own || home) {
		buf_printf(&path, "%s%s/config", own ? own : home, own ? "" : "/.parallel");
	}
	bool in_variable = variable && has_options(variable), in_file = path.len > 0 && file_has_options(path.data);
	if (in_variable || in_file) {
		diag_warn("GNU parallel's options in %s%s%s%s%s are not read: give them here, or give --plain", in_variable ? "$PARALLEL" : "",
		          in_variable && in_file ? " and " : "", in_file ? "'" : "", in_file ? text_shows(path.data) : "", in_file ? "'" : "");
	}
}
