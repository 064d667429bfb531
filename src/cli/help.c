// What is printed from the option table: the helps.

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
	"                                             ... and a turn for each directory\n";

static const char sources[] =
	"  ::: ITEM ... :::: FILE ... items, and files of them; several are multiplied\n"
	"  {} {.} {/} {//} {/.}       a/b.c  a/b  b.c  a  b; without any, {} is appended\n";

static const char more_sources[] =
	"  :::+ ITEM ...              items that go in step with the source before;\n"
	"  ::::+ FILE ...             the shortest of them ends it\n"
	"  {1} {2.} {NAME}            columns, or the items of several sources\n"
	"  {#} {%}                    the number of the job, and of its slot\n";

static const char see_also[] = "See also: man fairpar, fairpar-manifest, fairpar-tutorial, fairpar-xargs\n";

// "-j, --jobs N", or with the other names "-j, -P, --jobs, --max-procs N".
static void add_names(struct buf *text, const struct option_info *option, bool all) {
	for (const char *letter = option->shorts; *letter; ++letter) {
		buf_printf(text, "%s-%c", letter == option->shorts ? "" : ", ", *letter);
		if (!all) {
			break;
		}
	}
	buf_printf(text, "%s--%s", option->shorts[0] ? ", " : all ? "" : "    ", option->name);
	size_t len;
	const char *list = all ? option->aliases : "";
	for (const char *name; (name = word_next(&list, &len));) {
		buf_printf(text, ", --%.*s", (int)len, name);
	}
	if (option_takes_value(option)) {
		bool is_apart = !option_value_is_optional(option) || option_value_may_follow(option);
		buf_printf(text, "%s%s", is_apart ? " " : "", option->arg);
	}
}

static void add_brief(struct buf *text, const struct option_info *option) {
	size_t start = text->len;
	buf_adds(text, "  ");
	add_names(text, option, false);
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

// Breaks the text into lines, each behind so many blanks.
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
	buf_adds(text, "  ");
	add_names(text, option, true);
	buf_addc(text, '\n');
	FP_CLEANUP(buf_fini) struct buf words = BUF_INIT;
	buf_adds(&words, option->brief);
	// the first letter of the text begins a sentence; the brief becomes one
	if (words.data[0] >= 'a' && words.data[0] <= 'z') {
		words.data[0] = (char)(words.data[0] - 'a' + 'A');
	}
	buf_printf(&words, ". %s", option->text);
	add_wrapped(text, buf_str(&words), TEXT_COLUMN);
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
	buf_adds(text, "Exit status: 0 if all jobs succeeded, 1 to 100 for so many failed jobs, 101 for\n"
	               "more, 255 for a wrong usage or an error of fairpar's own; --halt and\n"
	               "--exit-status change that.\n\n");
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
