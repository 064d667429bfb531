// What is printed from the option table: the helps and the completions.
//
// completions/skeleton.* are the completion scripts without the options; make install lets the program print the complete scripts.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/units.h"
#include "cli/option_table.h"

enum { WIDTH = 80, BRIEF_COLUMN = 29, TEXT_COLUMN = 10 };

static const char usage[] =
	"Usage: fairpar [options] [command [argument ...]] [::: item ...] [:::: file ...]\n"
	"       fairpar [options] < commands\n"
	"       fairpar [options] -f MANIFEST [batch ...]\n"
	"       fairpar --xargs [options of xargs] [command [argument ...]]\n";

static const char examples[] =
	"  fairpar gzip -9 ::: *.log                  a job for each item\n"
	"  find . -name '*.wav' | fairpar --batch-by '{//}' lame {} {.}.mp3\n"
	"                                             and a batch for each directory\n";

static const char sources[] =
	"  ::: ITEM ... :::: FILE ... items, files of items; several: all combinations\n"
	"  {} {.} {/} {//} {/.}       for a/b.c: a/b.c  a/b  b.c  a  b; if none: {} last\n";

static const char more_sources[] =
	"  :::+ ITEM ...              items that are paired with the source before;\n"
	"  ::::+ FILE ...             the shorter source ends both\n"
	"  {1} {2.} {NAME}            columns, or the items of several sources\n"
	"  {#} {%}                    the number of the job, and of its slot\n";

static const char see_also[] = "See also: man fairpar, fairpar-manifest, fairpar-tutorial, fairpar-xargs\n";

static bool wants_separate_value(const struct option_info *option) {
	return option_value_way(option) == VALUE_ALWAYS || option_value_way(option) == VALUE_MAY_FOLLOW;
}

// Appends all spellings of the option: first its letters, each behind letter_prefix, then its names, each behind name_prefix.
static void add_spellings(struct buf *text, const struct option_info *option, const char *letter_prefix, const char *name_prefix) {
	for (const char *letter = option->shorts; *letter; ++letter) {
		buf_printf(text, "%s%c", letter_prefix, *letter);
	}
	buf_printf(text, "%s%s", name_prefix, option->name);
	size_t len;
	const char *list = option->aliases;
	for (const char *name; (name = word_next(&list, &len));) {
		buf_printf(text, "%s%.*s", name_prefix, (int)len, name);
	}
}

static void add_brief(struct buf *text, const struct option_info *option) {
	size_t start = text->len;
	bool has_letter = option->shorts[0] != '\0';
	buf_printf(text, "  %s%.1s%s--%s%s%s", has_letter ? "-" : "  ", option->shorts, has_letter ? ", " : "  ", option->name,
	           wants_separate_value(option) ? " " : "", option->arg);
	do {
		buf_addc(text, ' ');
	} while (text->len - start < BRIEF_COLUMN);
	buf_printf(text, "%s\n", option->brief);
}

static void add_briefs(struct buf *text, enum option_list list) {
	for (const enum option_id *id = option_lists[list]; *id != NOPTIONS; ++id) {
		add_brief(text, &option_table[*id]);
	}
}

// Appends the text `s` in lines of at most WIDTH columns, each behind `indent` blanks.
static void add_wrapped(struct buf *text, const char *s, int indent) {
	size_t len, column = 0;
	for (const char *word; (word = word_next(&s, &len));) {
		if (column > 0 && column + 1 + len > WIDTH) {
			buf_addc(text, '\n');
			column = 0;
		}
		if (column == 0) {
			buf_printf(text, "%*s%.*s", indent, "", (int)len, word);
			column = (size_t)indent + len;
		} else {
			buf_printf(text, " %.*s", (int)len, word);
			column += 1 + len;
		}
	}
	buf_addc(text, '\n');
}

static void add_full(struct buf *text, const struct option_info *option) {
	FP_CLEANUP(buf_fini) struct buf names = BUF_INIT, sentence = BUF_INIT;
	add_spellings(&names, option, ", -", ", --");
	buf_printf(text, "  %s%s%s\n", buf_str(&names) + strlen(", "), wants_separate_value(option) ? " " : "", option->arg);
	buf_adds(&sentence, option->brief);
	// the brief becomes a sentence, so its first letter becomes a capital
	if (sentence.data[0] >= 'a' && sentence.data[0] <= 'z') {
		sentence.data[0] = (char)(sentence.data[0] - 'a' + 'A');
	}
	buf_printf(&sentence, ". %s", option->text);
	add_wrapped(text, buf_str(&sentence), TEXT_COLUMN);
}

static void add_section(struct buf *text, int group) {
	buf_printf(text, "%s:\n", option_sections[group].heading);
	for (int id = 0; id < NOPTIONS; ++id) {
		if ((int)option_table[id].group == group) {
			add_full(text, &option_table[id]);
		}
	}
}

void help_short(struct buf *text) {
	buf_printf(text, "%s\n%s\n", usage, examples);
	add_briefs(text, LIST_EVERYDAY);
	buf_printf(text, "%s\n--help explains all options; --help=TOPIC some of them:\n", sources);
	add_wrapped(text, option_topics, 0);
}

void help_long(struct buf *text) {
	buf_printf(text, "fairpar runs batches of commands on shared job slots; each batch gets its turn.\n\n%s\n%s\n%s%s\n",
	           usage, examples, sources, more_sources);
	for (int group = 0; group < NGROUPS; ++group) {
		add_section(text, group);
		buf_addc(text, '\n');
	}
	buf_adds(text, "Exit status: 0 if all jobs succeeded, else the number of failed jobs, 101 for\n"
	               "more than 100, 255 for a wrong usage or an error of fairpar itself. --halt and\n"
	               "--exit-status change the exit status.\n\n");
	buf_adds(text, see_also);
}

int help_topic(struct buf *text, const char *topic, const char **ret_suggestion) {
	const char *name = topic + strspn(topic, "-");
	size_t len = strlen(name);
	enum option_id id;
	for (int group = 0; group < NGROUPS; ++group) {
		if (strcmp(option_sections[group].topic, topic) == 0) {
			add_section(text, group);
			return 0;
		}
	}
	if (option_is_name(name, len, &id) || (len == 1 && option_find_short(name[0], &id, ret_suggestion) == MATCH_OPTION)) {
		add_full(text, &option_table[id]);
		return 0;
	}
	(void)option_suggest(name, len, ret_suggestion);
	return -1;
}

void help_concise(struct buf *text) {
	buf_printf(text, "%s\n%s\n", usage, examples);
	add_briefs(text, LIST_MOST_USED);
}

// ---- completions ----

// Appends s as a word in single quotes, for any of the shells (inside the quotes, fish takes \', bash and zsh take '\'').
static void add_quoted(struct buf *text, const char *s, bool fish) {
	buf_addc(text, '\'');
	for (; *s; ++s) {
		if (*s == '\'') {
			buf_adds(text, fish ? "\\'" : "'\\''");
		} else if (fish && *s == '\\') {
			buf_adds(text, "\\\\");
		} else {
			buf_addc(text, *s);
		}
	}
	buf_addc(text, '\'');
}

// How each shell completes an argument. `name` is what the column "completion" of options.def has; any other text there is the list of choices.
static const struct argument_kind {
	const char *name, *bash, *zsh, *fish;
} argument_kinds[] = {
	{"file", "_fairpar_files", ":_files", " -r -F"},
	{"named", "_fairpar_files", ":_fairpar_named", " -r -F"},
	{"manifest", "_fairpar_manifests", ":_files -g \"*.(yaml|yml)(-.)\"",
	 " -r -k -a '(__fish_complete_suffix .yml; __fish_complete_suffix .yaml)'"},
	{"command", "_fairpar_commands", ":_command_names -e", " -x -a '(__fish_complete_command)'"},
};

static const struct argument_kind *kind_of(const struct option_info *option) {
	for (size_t i = 0; i < sizeof(argument_kinds) / sizeof(argument_kinds[0]); ++i) {
		if (strcmp(option->complete, argument_kinds[i].name) == 0) {
			return &argument_kinds[i];
		}
	}
	return NULL;
}

static void add_bash_value(struct buf *text, const struct option_info *option) {
	if (!option->complete[0]) {
		return;
	}
	const struct argument_kind *kind = kind_of(option);
	FP_CLEANUP(buf_fini) struct buf spellings = BUF_INIT;
	add_spellings(&spellings, option, " | -", " | --");
	buf_printf(text, "	%s)\n", buf_str(&spellings) + strlen(" | "));
	if (kind) {
		buf_printf(text, "		%s \"$cur\"\n", kind->bash);
	} else {
		buf_printf(text, "		mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n", option->complete);
	}
	buf_adds(text, "		return\n		;;\n");
}

static void add_bash_line(struct buf *text, const struct option_info *option) {
	buf_addc(text, '\t');
	add_spellings(text, option, " -", " --");
	buf_addc(text, '\n');
}

// Appends the text that stands in brackets in a specification of zsh, with its brackets, colons and backslashes escaped.
static void add_zsh_text(struct buf *text, const char *s) {
	for (; *s; ++s) {
		if (strchr("[]:\\", *s)) {
			buf_addc(text, '\\');
		}
		buf_addc(text, *s);
	}
}

static void add_zsh_value(struct buf *spec, const struct option_info *option) {
	const struct argument_kind *kind = kind_of(option);
	buf_adds(spec, option_value_way(option) > VALUE_ALWAYS ? "::" : ":");
	for (const char *c = option->arg; *c; ++c) {
		if (!strchr("[]=:", *c)) {
			buf_addc(spec, *c);
		}
	}
	if (kind) {
		buf_adds(spec, kind->zsh);
	} else if (option->complete[0]) {
		buf_adds(spec, ":(");
		add_zsh_text(spec, option->complete);
		buf_addc(spec, ')');
	} else {
		buf_adds(spec, ": ");
	}
}

// Appends the specification of one spelling, for zsh: "*-j+[text]:N:_files", "*--jobs=[text]:N:_files".
static void add_zsh_spec(struct buf *text, const struct option_info *option, const char *spelling, size_t len) {
	FP_CLEANUP(buf_fini) struct buf spec = BUF_INIT;
	buf_printf(&spec, "*%.*s", (int)len, spelling);
	if (option_value_way(option) > VALUE_ALWAYS) {
		buf_adds(&spec, "=-");
	} else if (option_value_way(option) != VALUE_NEVER) {
		buf_addc(&spec, spelling[1] == '-' ? '=' : '+');
	}
	buf_addc(&spec, '[');
	add_zsh_text(&spec, option->brief);
	buf_addc(&spec, ']');
	if (option_value_way(option) != VALUE_NEVER) {
		add_zsh_value(&spec, option);
	}
	buf_adds(text, "		");
	add_quoted(text, buf_str(&spec), false);
	buf_adds(text, " \\\n");
}

static void add_zsh_option(struct buf *text, const struct option_info *option) {
	FP_CLEANUP(buf_fini) struct buf spellings = BUF_INIT;
	add_spellings(&spellings, option, " -", " --");
	const char *list = buf_str(&spellings);
	size_t len;
	for (const char *spelling; (spelling = word_next(&list, &len));) {
		add_zsh_spec(text, option, spelling, len);
	}
}

static void add_fish_option(struct buf *text, const struct option_info *option) {
	const struct argument_kind *kind = kind_of(option);
	buf_adds(text, "complete -c fairpar -n __fairpar_in_options");
	add_spellings(text, option, " -s ", " -l ");
	if (kind) {
		buf_adds(text, kind->fish);
	} else if (option->complete[0]) {
		buf_adds(text, option_value_way(option) > VALUE_ALWAYS ? " -a " : " -x -a ");
		add_quoted(text, option->complete, true);
	} else if (wants_separate_value(option)) {
		buf_adds(text, " -x");
	}
	buf_adds(text, " -d ");
	add_quoted(text, option->brief, true);
	buf_addc(text, '\n');
}

static void add_valued(struct buf *text, const struct option_info *option) {
	if (wants_separate_value(option)) {
		add_spellings(text, option, " -", " --");
	}
}

static void add_manifest(struct buf *text, const struct option_info *option) {
	if (strcmp(option->complete, "manifest") == 0) {
		add_spellings(text, option, " -", " --");
	}
}

// The completion scripts without options, which the Makefile puts into the program. Each `word` in them is replaced by what `add` appends.
extern const char skeleton_bash[], skeleton_zsh[], skeleton_fish[];
static const struct {
	const char *shell, *skeleton;
	struct { const char *word; void (*add)(struct buf *text, const struct option_info *option); } placeholders[4];
} scripts[] = {
	{"bash", skeleton_bash, {{"@OPTIONS@\n", add_bash_line}, {"@VALUED@", add_valued}, {"@MANIFESTS@", add_manifest},
	                         {"@VALUES@\n", add_bash_value}}},
	{"zsh", skeleton_zsh, {{"@OPTIONS@\n", add_zsh_option}}},
	{"fish", skeleton_fish, {{"@VALUED@", add_valued}, {"@MANIFESTS@", add_manifest}, {"@OPTIONS@\n", add_fish_option}}},
};

int completions_print(struct buf *text, const char *shell) {
	size_t n = sizeof(scripts) / sizeof(scripts[0]), i = 0;
	while (i < n && strcmp(shell, scripts[i].shell) != 0) {
		++i;
	}
	if (i == n) {
		return -1;
	}
	const char *rest = scripts[i].skeleton;
	for (size_t k = 0; k < 4 && scripts[i].placeholders[k].word; ++k) { // the placeholders stand in the order in which the script has them
		rest = buf_add_until(text, rest, scripts[i].placeholders[k].word);
		for (int id = 0; id < NOPTIONS; ++id) {
			scripts[i].placeholders[k].add(text, &option_table[id]);
		}
	}
	buf_adds(text, rest);
	return 0;
}
