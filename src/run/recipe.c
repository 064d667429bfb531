// How the items of a batch become jobs: texts parsed, contexts and environments put together, once for many jobs.

#include "run/recipe.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "plan/shell.h"
#include "plan/words.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- templates ----

struct template *recipe_parse(const char *const *words, size_t n, unsigned flags, const struct names *names,
                              bool *ret_failed) {
	char *error;
	struct template *template = template_parse(words, n, flags, names, &error);
	if (!template) {
		diag_error("%s", error);
		free(error);
		*ret_failed = true;
	}
	return template;
}

// How the texts of one recipe are read.
struct reading {
	const struct names *names;
	unsigned flags;
	const char *slot_var; // set for each job, or NULL
	bool split;    // no shell: into words, which mean nothing to anybody
	bool failed;
};

static struct template *parse_text(struct reading *reading, const char *text) {
	if (!text) {
		return NULL;
	}
	if (!reading->split) {
		return recipe_parse(&text, 1, reading->flags, reading->names, &reading->failed);
	}
	struct buf bytes = BUF_INIT;
	struct template *template = NULL;
	size_t n;
	const char *error;
	if (words_split(text, &bytes, &n, &error) != 0) {
		diag_error("'%s': %s", diag_shows(text), error);
		reading->failed = true;
	} else {
		const char **words = xcalloc(n, sizeof(*words));
		const char *at = bytes.data;
		for (size_t i = 0; i < n; ++i, at += strlen(at) + 1) {
			words[i] = at;
		}
		template = recipe_parse(words, n, reading->flags | TEMPLATE_QUOTE, reading->names, &reading->failed);
		free(words);
	}
	buf_fini(&bytes);
	return template;
}

static void parse_then(struct recipe *recipe, struct reading *reading, const char *const *texts, size_t n) {
	recipe->then = xcalloc(n, sizeof(*recipe->then));
	for (; recipe->nthen < n; ++recipe->nthen) {
		recipe->then[recipe->nthen] = parse_text(reading, texts[recipe->nthen]);
	}
}

// `item` is what --tag puts in front of the lines.
static void parse_tag(struct recipe *recipe, const struct options *options, const char *item, struct reading *reading) {
	const char *tag = options->tagstring ? options->tagstring : options->tag ? item : NULL;
	if (tag) {
		recipe->tag = recipe_parse(&tag, 1, TEMPLATE_RAW | (reading->flags & TEMPLATE_CONTEXT), reading->names, &reading->failed);
	}
}

// ---- the environment ----

// Is `entry`, "NAME=VALUE", one of the variables that are set for each job (attempt.c)?
static bool is_set_for_each(const char *entry) {
	static const char *const own[] = {
		"FAIRPAR_BATCH=", "FAIRPAR_JOB=", "FAIRPAR_SEQ=", "FAIRPAR_SLOT=", "FAIRPAR_ATTEMPT=", "FAIRPAR_EXIT=",
		"FAIRPAR_OUTCOME=", "FAIRPAR_RUN=", "PARALLEL_SEQ=", "PARALLEL_JOBSLOT=", "PARALLEL_PID=",
	};
	bool found = strncmp(entry, "FAIRPAR_ITEM", 12) == 0 && (entry[12] == '=' || entry[12] == '_');
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); ++i) {
		found = found || strncmp(entry, own[i], strlen(own[i])) == 0;
	}
	return found;
}

static bool is_hidden(const char *entry, const struct manifest_pair *pairs, size_t n) {
	bool hidden = false;
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(pairs[i].name);
		hidden = hidden || (strncmp(entry, pairs[i].name, len) == 0 && entry[len] == '=');
	}
	return hidden;
}

// The variables that fairpar has, under those of the manifest.
static void make_env(struct recipe *recipe, char *const *all, const struct manifest_pair *pairs, size_t npairs,
                     struct reading *reading) {
	size_t nall = 0;
	struct manifest_pair slot_var = {.name = (char *)(uintptr_t)reading->slot_var};
	size_t nslot_var = reading->slot_var ? 1 : 0;
	static const struct manifest_pair dirs[] = {{.name = (char *)(uintptr_t)"PWD"}, {.name = (char *)(uintptr_t)"OLDPWD"}};
	size_t ndirs = recipe->start ? 2 : 0;
	while (all[nall]) {
		++nall;
	}
	recipe->env = xcalloc(nall + npairs + 2, sizeof(*recipe->env));
	for (size_t i = 0; i < nall; ++i) {
		if (!is_set_for_each(all[i]) && !is_hidden(all[i], pairs, npairs)
		    && !is_hidden(all[i], &slot_var, nslot_var) && !is_hidden(all[i], dirs, ndirs)) {
			recipe->env[recipe->nenv++] = all[i];
		}
	}
	recipe->vars = xcalloc(npairs, sizeof(*recipe->vars));
	for (size_t i = 0; i < npairs; ++i) {
		const struct manifest_pair *pair = &pairs[i];
		bool is_path = strcmp(pair->name, "PATH") == 0;
		if (!(reading->flags & TEMPLATE_LITERAL) && strchr(pair->value, '{')) {
			recipe->by.path = is_path ? "" : recipe->by.path; // another for each job: the shell looks there
			recipe->vars[recipe->nvars++] = (struct variable){
				.name = xstrdup(pair->name),
				.value = recipe_parse(&pair->value, 1, TEMPLATE_RAW, reading->names, &reading->failed),
			};
			continue;
		}
		recipe->by.path = is_path ? pair->value : recipe->by.path;
		buf_printf(&recipe->strings, "%s=%s", pair->name, pair->value);
		buf_addc(&recipe->strings, '\0');
	}
	const char *at = buf_str(&recipe->strings); // the bytes stand still from here on
	for (; at < recipe->strings.data + recipe->strings.len; at += strlen(at) + 1) {
		recipe->env[recipe->nenv++] = (char *)at;
	}
}

// The directory of this process, by the name that the shell has for it, which may lead over symbolic links.
static char *current_dir(void) {
	struct stat named, here;
	const char *name = getenv("PWD");
	bool known = name && name[0] == '/' && stat(name, &named) == 0 && stat(".", &here) == 0 && named.st_dev == here.st_dev
	             && named.st_ino == here.st_ino;
	char *dir = known ? xstrdup(name) : getcwd(NULL, 0);
	return dir ? dir : xstrdup("."); // it is gone
}

// ---- the command line ----

int recipe_from_options(struct recipe *ret_recipe, const struct options *options, struct context *context, char *shell,
                        const struct names *names) {
	unsigned repeats = options->packing.repeats ? TEMPLATE_CONTEXT : 0;
	struct reading reading = {.names = names, .flags = TEMPLATE_APPEND | repeats, .slot_var = options->slot_var};
	*ret_recipe = (struct recipe){
		.shell = shell,
		.by = {.shell = shell},
		.context = context_ref(context),
		.timeout = options->timeout,
		.attempts = options->attempts,
		.width = 1,
		.output = options->output,
	};
	if (options->ncommand > 0) {
		const char *const *words = (const char *const *)options->command;
		// what comes by stdin has no name to append
		bool has_item = (!options->pipe || options->cat) && !options->tee;
		unsigned flags = (has_item ? TEMPLATE_APPEND : 0) | repeats | (options->quote ? TEMPLATE_QUOTE : 0);
		ret_recipe->command = recipe_parse(words, options->ncommand, flags, names, &reading.failed);
	}
	parse_then(ret_recipe, &reading, options->then, options->nthen);
	reading.flags = repeats;
	ret_recipe->on_failure = parse_text(&reading, options->on_failure);
	if (options->workdir) {
		// renamed strings may be anything, also what stands in the path of one's home
		const struct names *named = options->own_workdir ? NULL : names;
		ret_recipe->workdir = recipe_parse(&options->workdir, 1, TEMPLATE_RAW, named, &reading.failed);
		ret_recipe->start = current_dir();
		buf_printf(&ret_recipe->strings, "OLDPWD=%s", ret_recipe->start); // as after cd(1), which GNU parallel has there
		buf_addc(&ret_recipe->strings, '\0');
	}
	parse_tag(ret_recipe, options, "{}", &reading);
	make_env(ret_recipe, context->env, NULL, 0, &reading);
	return reading.failed ? -1 : 0;
}

// ---- a manifest ----

char *recipe_shell(const char *shell, bool has_items, const char **ret_error) {
	const char *name = shell ? shell : "/bin/sh";
	const char *path = has_items ? NULL : program_find(name);
	char *chosen = has_items ? shell_choose(name) : path ? xstrdup(path) : NULL;
	if (!chosen) {
		*ret_error = errno == ENOTSUP ? "items are quoted for a Bourne shell; take sh, bash, dash, ksh, zsh or their kin, or none"
		                              : strerror(errno);
	}
	return chosen;
}

// The context of the job, on top of fairpar's.
static struct context *make_context(struct context *context, const struct manifest *manifest,
                                    const struct manifest_job *job) {
	if (!job->working_dir && job->umask < 0 && job->nice == 0) {
		return context_ref(context);
	}
	struct buf dir = BUF_INIT;
	if (job->working_dir) {
		if (job->working_dir[0] != '/') {
			buf_printf(&dir, "%s/", manifest->dir);
		}
		buf_adds(&dir, job->working_dir);
	}
	struct context *derived = context_derive(context, dir.data, job->umask, job->nice);
	buf_fini(&dir);
	return derived;
}

int recipe_from_job(struct recipe *ret_recipe, const struct options *options, struct context *context,
                    const struct job_texts *texts, const struct names *names) {
	static const enum output_kind kinds[] = {
		[MANIFEST_GROUP] = OUTPUT_GROUP, [MANIFEST_LINE] = OUTPUT_LINE_BUFFER, [MANIFEST_RAW] = OUTPUT_UNGROUP,
	};
	const struct manifest_job *job = texts->job;
	struct reading reading = {.names = names, .flags = texts->templates ? 0 : TEMPLATE_LITERAL,
	                          .slot_var = options->slot_var};
	*ret_recipe = (struct recipe){
		.context = make_context(context, texts->manifest, job),
		.timeout = job->timeout_ns,
		.attempts = (unsigned)job->retries + 1,
		.delay = job->retry_delay,
		.memory = job->memory,
		.width = (unsigned)job->slots_per_job,
		.output = options->output_given ? options->output : kinds[texts->batch->output],
	};
	reading.split = job->shell && strcmp(job->shell, "none") == 0;
	if (!reading.split) {
		const char *error;
		ret_recipe->by.shell = ret_recipe->shell = recipe_shell(job->shell, texts->templates, &error);
		verify(ret_recipe->shell); // it was there when the run began
	}
	struct manifest_pair *pairs;
	size_t npairs = manifest_env_pairs(job->env, &pairs);
	for (size_t i = 0; i < npairs; ++i) {
		bool is_locale = strncmp(pairs[i].name, "LC_", 3) == 0 || strcmp(pairs[i].name, "LANG") == 0;
		reading.flags |= is_locale ? TEMPLATE_OWN_LOCALE : 0;
	}
	ret_recipe->command = parse_text(&reading, texts->command);
	parse_then(ret_recipe, &reading, job->then.at, job->then.n);
	ret_recipe->on_failure = parse_text(&reading, job->on_failure);
	if (job->creates) {
		ret_recipe->creates = recipe_parse(&job->creates, 1, TEMPLATE_RAW | reading.flags, names, &reading.failed);
	}
	parse_tag(ret_recipe, options, texts->templates ? "{}" : texts->batch->name, &reading);
	make_env(ret_recipe, context->env, pairs, npairs, &reading);
	free(pairs);
	return reading.failed ? -1 : 0;
}

void recipe_fini(struct recipe *recipe) {
	template_free(recipe->command);
	template_free(recipe->on_failure);
	template_free(recipe->tag);
	template_free(recipe->workdir);
	template_free(recipe->creates);
	for (size_t i = 0; i < recipe->nthen; ++i) {
		template_free(recipe->then[i]);
	}
	for (size_t i = 0; i < recipe->nvars; ++i) {
		free(recipe->vars[i].name);
		template_free(recipe->vars[i].value);
	}
	free(recipe->then);
	free(recipe->vars);
	free(recipe->env);
	free(recipe->shell);
	free(recipe->start);
	buf_fini(&recipe->strings);
	context_unref(recipe->context);
	*recipe = (struct recipe){0};
}

void recipe_free(struct recipe *recipe) {
	if (recipe) {
		recipe_fini(recipe);
		free(recipe);
	}
}
