// How the items of a batch become jobs: what many jobs have in common, such as parsed texts and the environment, is made once.

#include "state/job_spec.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "state/run.h"
#include "shell/shell.h"
#include "shell/quoting.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- templates ----

struct template *job_spec_parse(const char *const *words, size_t n, unsigned flags, const struct names *names,
                              bool *ret_failed) {
	char *error;
	struct template *template = template_parse(words, n, flags, names, &error);
	if (!template) {
		diag_error_free(error);
		*ret_failed = true;
	}
	return template;
}

bool job_spec_any(const struct job_spec *spec, enum template_trait trait) {
	struct template *single[] = {spec->command, spec->on_failure, spec->tag, spec->workdir};
	const struct templates lists[] = {{single, sizeof(single) / sizeof(single[0])}, spec->then, spec->transferred, spec->returned};
	bool found = false;
	for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); ++list) {
		for (size_t i = 0; i < lists[list].n && !found; ++i) {
			found = template_has(lists[list].at[i], trait);
		}
	}
	return found;
}

// How the texts of one spec are read.
struct spec_parse {
	const struct names *names;
	unsigned flags;
	const char *slot_var; // the variable of --slot-var, which is set for each job; or NULL
	bool split;    // no shell runs the commands: they are split into words
	bool failed;
};

static struct template *parse_text(struct spec_parse *parse, const char *text) {
	if (!text) {
		return NULL;
	}
	if (!parse->split) {
		return job_spec_parse(&text, 1, parse->flags, parse->names, &parse->failed);
	}
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	struct split split;
	if (words_split(text, &bytes, &split) != 0) {
		diag_error("'%s': %s", text_shows(text), split.error);
		parse->failed = true;
		return NULL;
	}
	FP_CLEANUP(free_later) const char **words = xcalloc(split.n, sizeof(*words));
	const char *at = bytes.data;
	for (size_t i = 0; i < split.n; ++i, at += strlen(at) + 1) {
		words[i] = at;
	}
	return job_spec_parse(words, split.n, parse->flags | TEMPLATE_QUOTE, parse->names, &parse->failed);
}

// Adds the texts to the list.
static void parse_texts(struct templates *list, struct spec_parse *parse, const char *const *texts, size_t n) {
	list->at = xrealloc(list->at, (list->n + n + 1) * sizeof(*list->at));
	for (size_t i = 0; i < n; ++i) {
		list->at[list->n++] = parse_text(parse, texts[i]);
	}
}

// Sets spec->tag. `item` is the template for what --tag puts in front of each line of output.
static void parse_tag(struct job_spec *spec, const struct options *options, const char *item, struct spec_parse *parse) {
	const char *tag = options->tagstring ? options->tagstring : options->tag && !options->onall ? item : NULL;
	if (tag) {
		spec->tag = job_spec_parse(&tag, 1, TEMPLATE_RAW | (parse->flags & TEMPLATE_CONTEXT), parse->names, &parse->failed);
	}
}

// ---- the environment ----

// True if `entry` ("NAME=VALUE") is of the variable `name`, which may be NULL.
static bool is_of(const char *entry, const char *name) {
	size_t len = name ? strlen(name) : 0;
	return name && strncmp(entry, name, len) == 0 && entry[len] == '=';
}

// Enters the spec's own strings into its environment; no string may be added later, as this could move the strings in memory.
static void enter_strings(struct job_spec *spec) {
	const char *at = buf_str(&spec->strings), *end = at + spec->strings.len;
	for (; at < end; at += strlen(at) + 1) {
		spec->env[spec->nenv++] = (char *)at;
		spec->by.path = is_of(at, "PATH") ? strchr(at, '=') + 1 : spec->by.path;
	}
}

// Makes the environment: the variables `all`, in which those of the manifest replace any of the same name.
static void make_env(struct job_spec *spec, char *const *all, const struct manifest_env *env, struct spec_parse *parse) {
	FP_CLEANUP(free_later) struct manifest_pair *pairs = NULL;
	size_t nall = argv_length(all), npairs = manifest_env_pairs(env, &pairs);
	spec->env = xcalloc(nall + npairs + 2, sizeof(*spec->env));
	for (size_t i = 0; i < nall; ++i) {
		bool hidden = manifest_env_is_set_for_each(all[i]) || is_of(all[i], parse->slot_var)
			|| (spec->start && (is_of(all[i], "PWD") || is_of(all[i], "OLDPWD")));
		for (size_t k = 0; k < npairs && !hidden; ++k) {
			hidden = is_of(all[i], pairs[k].name);
		}
		if (!hidden) {
			spec->env[spec->nenv++] = all[i];
		}
	}
	spec->vars = xcalloc(npairs, sizeof(*spec->vars));
	for (size_t i = 0; i < npairs; ++i) {
		const struct manifest_pair *pair = &pairs[i];
		bool is_path = strcmp(pair->name, "PATH") == 0, is_locale = strncmp(pair->name, "LC_", 3) == 0 || strcmp(pair->name, "LANG") == 0;
		parse->flags |= is_locale ? TEMPLATE_OWN_LOCALE : 0;
		if (!(parse->flags & TEMPLATE_LITERAL) && strchr(pair->value, '{')) {
			spec->by.path = is_path ? "" : spec->by.path; // each job has its own PATH: the shell finds the program
			spec->vars[spec->nvars++] = (struct variable){
				.name = xstrdup(pair->name),
				.value = job_spec_parse(&pair->value, 1, TEMPLATE_RAW, parse->names, &parse->failed),
			};
			continue;
		}
		buf_printf(&spec->strings, "%s=%s", pair->name, pair->value);
		buf_addc(&spec->strings, '\0');
	}
	enter_strings(spec);
}

void job_spec_add_variable(struct buf *vars, const struct variable *variable, const struct expansion *x) {
	buf_printf(vars, "%s=", variable->name);
	template_expand(variable->value, x, vars);
	buf_addc(vars, '\0');
}

void job_spec_add_item(struct buf *vars, const struct record *record) {
	const char *at = record->args;
	buf_adds(vars, "FAIRPAR_ITEM=");
	for (uint32_t i = 0; i < record->nargs; ++i, at += strlen(at) + 1) {
		buf_adds(vars, i > 0 ? " " : "");
		buf_adds(vars, at);
	}
	buf_addc(vars, '\0');
	at = record->args;
	for (uint32_t i = 0; i < record->nargs; ++i, at += strlen(at) + 1) {
		buf_printf(vars, "FAIRPAR_ITEM_%u=", i + 1);
		buf_adds(vars, at);
		buf_addc(vars, '\0');
	}
}

// Returns a path of this process's directory: $PWD if it names this directory, perhaps over symbolic links; else the path of getcwd().
static char *current_dir(void) {
	struct stat named, here;
	const char *name = getenv("PWD");
	bool known = name && name[0] == '/' && stat(name, &named) == 0 && stat(".", &here) == 0 && named.st_dev == here.st_dev
	             && named.st_ino == here.st_ino;
	char *dir = known ? xstrdup(name) : getcwd(NULL, 0);
	return dir ? dir : xstrdup("."); // the directory was removed
}

// ---- the command line ----

// Chooses bash as the shell if a command has syntax of bash, and the user has named no other shell. Returns 0, or -1 after a message.
static int choose_bash(struct job_spec *spec, const struct options *options) {
	const char *by, *syntax = NULL, *bash;
	if (shell_named(options->shell, &by) || !shell_is_plain_sh(spec->by.shell)) {
		return 0;
	}
	for (size_t i = 0, n = spec->then.n; i < n + 2 && !syntax; ++i) {
		const struct template *template = i < n ? spec->then.at[i] : i == n ? spec->command : spec->on_failure;
		syntax = template ? template_bash_syntax(template) : NULL;
	}
	spec->by.is_unnamed = !syntax;
	if (!syntax) {
		return 0;
	}
	if (!(bash = program_find("bash"))) {
		return diag_error("%s does not know '%s', and there is no bash: name a shell that knows it by --shell", spec->by.shell, syntax);
	}
	free((char *)spec->by.shell);
	spec->by.shell = xstrdup(bash);
	return 0;
}

int job_spec_from_options(struct job_spec *ret_spec, const struct options *options, struct context *context, char *shell,
                        const struct names *names) {
	unsigned repeats = options->packing.repeats ? TEMPLATE_CONTEXT : 0;
	struct spec_parse parse = {.names = names, .flags = TEMPLATE_APPEND | repeats, .slot_var = options->slot_var};
	*ret_spec = (struct job_spec){
		.by.shell = shell,
		.context = context_ref(context),
		.timeout = options->timeout,
		.attempts = options->attempts,
		.delay = options->retry_delay,
		.width = 1,
		.output = options->output,
	};
	if (options->ncommand > 0) {
		const char *const *words = (const char *const *)options->command;
		// a job that gets its data on stdin has no item to append
		bool has_item = (!options->pipe || options->cat) && !options->tee;
		unsigned flags = (has_item ? TEMPLATE_APPEND : 0) | repeats | (options->quote ? TEMPLATE_QUOTE : 0);
		ret_spec->command = job_spec_parse(words, options->ncommand, flags, names, &parse.failed);
	}
	parse_texts(&ret_spec->then, &parse, options->then, options->nthen);
	parse.flags = repeats;
	ret_spec->on_failure = parse_text(&parse, options->on_failure);
	if (options->workdir) {
		// the path of `--workdir ...` is read without the replacement strings that the user has renamed: they may look like a part of the path
		const struct names *named = options->own_workdir ? NULL : names;
		ret_spec->workdir = job_spec_parse(&options->workdir, 1, TEMPLATE_RAW, named, &parse.failed);
		ret_spec->start = current_dir();
		buf_printf(&ret_spec->strings, "OLDPWD=%s", ret_spec->start); // as cd(1) sets it in the jobs of GNU parallel
		buf_addc(&ret_spec->strings, '\0');
	}
	parse_tag(ret_spec, options, "{}", &parse);
	if (sshlogins_has_remote(&options->hosts)) {
		static const char *const item[] = {"{}"};
		struct spec_parse item_parse = {.flags = TEMPLATE_RAW};
		parse_texts(&ret_spec->transferred, &item_parse, item, options->transfers_item);
		parse.flags = TEMPLATE_RAW;
		parse_texts(&ret_spec->transferred, &parse, options->transferred, options->ntransferred);
		parse_texts(&ret_spec->returned, &parse, options->returned, options->nreturned);
	}
	make_env(ret_spec, context->env, NULL, &parse);
	return parse.failed ? -1 : choose_bash(ret_spec, options);
}

// ---- an added job ----

// True for the variables that tie a job to its run. An added job gets the run's values of these variables, not those of the process that adds it.
static bool is_of_run(const char *entry) {
	return is_of(entry, "FAIRPAR_COOKIE") || is_of(entry, "FAIRPAR_POOL");
}

static void add_env_of(struct job_spec *spec, const struct context *context, const struct control_job *added, const char *slot_var) {
	const char *at = added->env;
	for (uint32_t i = 0; i < added->nenv; ++i, at += strlen(at) + 1) {
		if (!manifest_env_is_set_for_each(at) && !is_of(at, slot_var) && !is_of_run(at)) {
			buf_add(&spec->strings, at, strlen(at) + 1);
		}
	}
	size_t most = added->nenv + 1;
	for (char *const *entry = context->env; *entry; ++entry) {
		if (is_of_run(*entry)) {
			buf_add(&spec->strings, *entry, strlen(*entry) + 1);
			++most;
		}
	}
	spec->env = xcalloc(most, sizeof(*spec->env));
	enter_strings(spec);
}

int job_spec_from_added(struct job_spec *ret_spec, const struct options *options, const struct context *context,
                        const struct control_job *added) {
	struct spec_parse parse = {.slot_var = options->slot_var};
	struct context *own = context_derive(context, added->cwd, (int)added->umask, added->nice);
	context_set_limits(own, added->limits, CONTROL_LIMITS);
	*ret_spec = (struct job_spec){
		.context = own,
		.timeout = added->timeout,
		.attempts = added->attempts,
		.width = added->width,
		.output = options->output,
		.by.path = "",
	};
	parse_tag(ret_spec, options, "{}", &parse);
	add_env_of(ret_spec, context, added, options->slot_var);
	return parse.failed ? -1 : 0;
}

// ---- a manifest ----

char *job_spec_shell(const char *shell, bool has_items, const char **ret_error) {
	const char *name = shell ? shell : "/bin/sh";
	const char *path = has_items ? NULL : program_find(name);
	char *chosen = has_items ? shell_choose(name) : path ? xstrdup(path) : NULL;
	if (!chosen) {
		*ret_error = errno == ENOTSUP ? "items are quoted for a Bourne shell; take sh, bash, dash, ksh, zsh or another one, or none"
			: errno == EMULTIHOP ? "this file is many programs, and its name says which one runs: make a link that is "
		                               "called ash, and name the link" : strerror(errno);
	}
	return chosen;
}

// Makes the context of the job: fairpar's own context, with the job's directory, umask and niceness.
static struct context *make_context(struct context *context, const struct manifest *manifest,
                                    const struct manifest_job *job) {
	if (!job->working_dir && job->umask < 0 && job->nice == 0) {
		return context_ref(context);
	}
	FP_CLEANUP(buf_fini) struct buf dir = BUF_INIT;
	if (job->working_dir) {
		if (job->working_dir[0] != '/') {
			buf_printf(&dir, "%s/", manifest->dir);
		}
		buf_adds(&dir, job->working_dir);
	}
	return context_derive(context, dir.data, job->umask, job->nice);
}

int job_spec_from_job(struct job_spec *ret_spec, const struct run *run, const struct manifest_batch *batch,
                      const struct manifest_job *job, const char *command, bool templates) {
	const struct options *options = run->options;
	struct spec_parse parse = {
		.names = &batch->matrix.names,
		.flags = templates ? 0 : TEMPLATE_LITERAL,
		.slot_var = options->slot_var,
		.split = job->shell && strcmp(job->shell, "none") == 0,
	};
	*ret_spec = (struct job_spec){
		.context = make_context(run->context, run->manifest, job),
		.timeout = job->timeout_ns,
		.attempts = (unsigned)job->retries + 1,
		.delay = job->retry_delay,
		.memory = job->memory,
		.width = (unsigned)job->slots_per_job,
		.output = options->output_given ? options->output : (enum output_kind)batch->output,
	};
	if (!parse.split) {
		const char *error;
		ret_spec->by.shell = job_spec_shell(job->shell, templates, &error);
		if (!ret_spec->by.shell) { // dag_check() has found the shell, but perhaps long ago
			diag_error("batch '%s': shell: '%s': %s", text_shows(batch->name), text_shows(job->shell ? job->shell : "/bin/sh"), error);
			parse.failed = true;
		}
	}
	make_env(ret_spec, run->context->env, job->env, &parse);
	ret_spec->command = parse_text(&parse, command);
	parse_texts(&ret_spec->then, &parse, job->then.at, job->then.n);
	ret_spec->on_failure = parse_text(&parse, job->on_failure);
	if (job->creates) {
		ret_spec->creates = job_spec_parse(&job->creates, 1, TEMPLATE_RAW | parse.flags, parse.names, &parse.failed);
	}
	parse_tag(ret_spec, options, templates ? "{}" : batch->name, &parse);
	return parse.failed ? -1 : 0;
}

static void templates_fini(struct templates *templates) {
	for (size_t i = 0; i < templates->n; ++i) {
		template_free(templates->at[i]);
	}
	free(templates->at);
}

void job_spec_fini(struct job_spec *spec) {
	template_free(spec->command);
	template_free(spec->on_failure);
	template_free(spec->tag);
	template_free(spec->workdir);
	template_free(spec->creates);
	templates_fini(&spec->then);
	templates_fini(&spec->transferred);
	templates_fini(&spec->returned);
	for (size_t i = 0; i < spec->nvars; ++i) {
		free(spec->vars[i].name);
		template_free(spec->vars[i].value);
	}
	free(spec->vars);
	free(spec->env);
	free((char *)spec->by.shell);
	free(spec->start);
	buf_fini(&spec->strings);
	context_unref(spec->context);
	*spec = (struct job_spec){0};
}

void job_spec_free(struct job_spec *spec) {
	if (spec) {
		job_spec_fini(spec);
		free(spec);
	}
}
