// How the items of a batch become jobs: texts parsed, contexts and environments put together, once for many jobs.

#include "run/job_spec.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "shell/shell.h"
#include "shell/split.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- templates ----

struct template *job_spec_parse(const char *const *words, size_t n, unsigned flags, const struct names *names,
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

bool job_spec_any(const struct job_spec *spec, bool (*is_such)(const struct template *template)) {
	const struct template *all[] = {spec->command, spec->on_failure, spec->tag, spec->workdir};
	bool found = false;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) + spec->nthen && !found; ++i) {
		const struct template *one = i < spec->nthen ? spec->then[i] : all[i - spec->nthen];
		found = one && is_such(one);
	}
	return found;
}

// How the texts of one spec are read.
struct spec_parse {
	const struct names *names;
	unsigned flags;
	const char *slot_var; // set for each job, or NULL
	bool split;    // no shell: into words, which mean nothing to anybody
	bool failed;
};

static struct template *parse_text(struct spec_parse *reading, const char *text) {
	if (!text) {
		return NULL;
	}
	if (!reading->split) {
		return job_spec_parse(&text, 1, reading->flags, reading->names, &reading->failed);
	}
	struct buf bytes = BUF_INIT;
	struct template *template = NULL;
	size_t n;
	const char *error;
	if (words_split(text, &bytes, &n, &error) != 0) {
		diag_error("'%s': %s", text_shows(text), error);
		reading->failed = true;
	} else {
		const char **words = xcalloc(n, sizeof(*words));
		const char *at = bytes.data;
		for (size_t i = 0; i < n; ++i, at += strlen(at) + 1) {
			words[i] = at;
		}
		template = job_spec_parse(words, n, reading->flags | TEMPLATE_QUOTE, reading->names, &reading->failed);
		free(words);
	}
	buf_fini(&bytes);
	return template;
}

static void parse_then(struct job_spec *spec, struct spec_parse *reading, const char *const *texts, size_t n) {
	spec->then = xcalloc(n, sizeof(*spec->then));
	for (; spec->nthen < n; ++spec->nthen) {
		spec->then[spec->nthen] = parse_text(reading, texts[spec->nthen]);
	}
}

// `item` is what --tag puts in front of the lines.
static void parse_tag(struct job_spec *spec, const struct options *options, const char *item, struct spec_parse *reading) {
	const char *tag = options->tagstring ? options->tagstring : options->tag ? item : NULL;
	if (tag) {
		spec->tag = job_spec_parse(&tag, 1, TEMPLATE_RAW | (reading->flags & TEMPLATE_CONTEXT), reading->names, &reading->failed);
	}
}

// ---- the environment ----

static bool is_hidden(const char *entry, const struct manifest_pair *pairs, size_t n) {
	bool hidden = false;
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(pairs[i].name);
		hidden = hidden || (strncmp(entry, pairs[i].name, len) == 0 && entry[len] == '=');
	}
	return hidden;
}

// The variables that fairpar has, under those of the manifest.
static void make_env(struct job_spec *spec, char *const *all, const struct manifest_pair *pairs, size_t npairs,
                     struct spec_parse *reading) {
	size_t nall = 0;
	struct manifest_pair slot_var = {.name = (char *)(uintptr_t)reading->slot_var};
	size_t nslot_var = reading->slot_var ? 1 : 0;
	static const struct manifest_pair dirs[] = {{.name = (char *)(uintptr_t)"PWD"}, {.name = (char *)(uintptr_t)"OLDPWD"}};
	size_t ndirs = spec->start ? 2 : 0;
	while (all[nall]) {
		++nall;
	}
	spec->env = xcalloc(nall + npairs + 2, sizeof(*spec->env));
	for (size_t i = 0; i < nall; ++i) {
		if (!manifest_env_is_set_for_each(all[i]) && !is_hidden(all[i], pairs, npairs)
		    && !is_hidden(all[i], &slot_var, nslot_var) && !is_hidden(all[i], dirs, ndirs)) {
			spec->env[spec->nenv++] = all[i];
		}
	}
	spec->vars = xcalloc(npairs, sizeof(*spec->vars));
	for (size_t i = 0; i < npairs; ++i) {
		const struct manifest_pair *pair = &pairs[i];
		bool is_path = strcmp(pair->name, "PATH") == 0;
		if (!(reading->flags & TEMPLATE_LITERAL) && strchr(pair->value, '{')) {
			spec->by.path = is_path ? "" : spec->by.path; // another for each job: the shell looks there
			spec->vars[spec->nvars++] = (struct variable){
				.name = xstrdup(pair->name),
				.value = job_spec_parse(&pair->value, 1, TEMPLATE_RAW, reading->names, &reading->failed),
			};
			continue;
		}
		spec->by.path = is_path ? pair->value : spec->by.path;
		buf_printf(&spec->strings, "%s=%s", pair->name, pair->value);
		buf_addc(&spec->strings, '\0');
	}
	const char *at = buf_str(&spec->strings); // the bytes stand still from here on
	for (; at < spec->strings.data + spec->strings.len; at += strlen(at) + 1) {
		spec->env[spec->nenv++] = (char *)at;
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

int job_spec_from_options(struct job_spec *ret_recipe, const struct options *options, struct context *context, char *shell,
                        const struct names *names) {
	unsigned repeats = options->packing.repeats ? TEMPLATE_CONTEXT : 0;
	struct spec_parse reading = {.names = names, .flags = TEMPLATE_APPEND | repeats, .slot_var = options->slot_var};
	*ret_recipe = (struct job_spec){
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
		ret_recipe->command = job_spec_parse(words, options->ncommand, flags, names, &reading.failed);
	}
	parse_then(ret_recipe, &reading, options->then, options->nthen);
	reading.flags = repeats;
	ret_recipe->on_failure = parse_text(&reading, options->on_failure);
	if (options->workdir) {
		// renamed strings may be anything, also what stands in the path of one's home
		const struct names *named = options->own_workdir ? NULL : names;
		ret_recipe->workdir = job_spec_parse(&options->workdir, 1, TEMPLATE_RAW, named, &reading.failed);
		ret_recipe->start = current_dir();
		buf_printf(&ret_recipe->strings, "OLDPWD=%s", ret_recipe->start); // as after cd(1), which GNU parallel has there
		buf_addc(&ret_recipe->strings, '\0');
	}
	parse_tag(ret_recipe, options, "{}", &reading);
	make_env(ret_recipe, context->env, NULL, 0, &reading);
	return reading.failed ? -1 : 0;
}

// ---- a manifest ----

char *job_spec_shell(const char *shell, bool has_items, const char **ret_error) {
	const char *name = shell ? shell : "/bin/sh";
	const char *path = has_items ? NULL : program_find(name);
	char *chosen = has_items ? shell_choose(name) : path ? xstrdup(path) : NULL;
	if (!chosen) {
		*ret_error = errno == ENOTSUP ? "items are quoted for a Bourne shell; take sh, bash, dash, ksh, zsh or their kin, or none"
			: errno == EMULTIHOP ? "it is many programs, told apart by the name that they are called by: name a link to it that is "
		                               "called ash" : strerror(errno);
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

int job_spec_from_job(struct job_spec *ret_recipe, const struct options *options, struct context *context,
                    const struct job_texts *texts, const struct names *names) {
	static const enum output_kind kinds[] = {
		[MANIFEST_GROUP] = OUTPUT_GROUP, [MANIFEST_LINE] = OUTPUT_LINE_BUFFER, [MANIFEST_RAW] = OUTPUT_UNGROUP,
	};
	const struct manifest_job *job = texts->job;
	struct spec_parse reading = {.names = names, .flags = texts->templates ? 0 : TEMPLATE_LITERAL,
	                          .slot_var = options->slot_var};
	*ret_recipe = (struct job_spec){
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
		ret_recipe->by.shell = ret_recipe->shell = job_spec_shell(job->shell, texts->templates, &error);
		verify(ret_recipe->shell); // it was there when the run began
	}
	struct manifest_pair *pairs;
	size_t npairs = manifest_env_pairs(job->env, &pairs);
	for (size_t i = 0; i < npairs; ++i) {
		bool is_locale = strncmp(pairs[i].name, "LC_", 3) == 0 || strcmp(pairs[i].name, "LANG") == 0;
		reading.flags |= is_locale ? TEMPLATE_OWN_LOCALE : 0;
	}
	struct names own = names ? *names : (struct names){.n = 0};
	manifest_env_variables(pairs, texts->templates ? npairs : 0, &own);
	reading.names = &own;
	ret_recipe->command = parse_text(&reading, texts->command);
	parse_then(ret_recipe, &reading, job->then.at, job->then.n);
	ret_recipe->on_failure = parse_text(&reading, job->on_failure);
	reading.names = names;
	free(own.variables);
	if (job->creates) {
		ret_recipe->creates = job_spec_parse(&job->creates, 1, TEMPLATE_RAW | reading.flags, names, &reading.failed);
	}
	parse_tag(ret_recipe, options, texts->templates ? "{}" : texts->batch->name, &reading);
	make_env(ret_recipe, context->env, pairs, npairs, &reading);
	free(pairs);
	return reading.failed ? -1 : 0;
}

void job_spec_fini(struct job_spec *spec) {
	template_free(spec->command);
	template_free(spec->on_failure);
	template_free(spec->tag);
	template_free(spec->workdir);
	template_free(spec->creates);
	for (size_t i = 0; i < spec->nthen; ++i) {
		template_free(spec->then[i]);
	}
	for (size_t i = 0; i < spec->nvars; ++i) {
		free(spec->vars[i].name);
		template_free(spec->vars[i].value);
	}
	free(spec->then);
	free(spec->vars);
	free(spec->env);
	free(spec->shell);
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
