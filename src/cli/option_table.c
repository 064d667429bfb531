// The option table as data: names and texts of every option, and how a typed name finds its option.

#include "cli/option_table.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/suggest.h"

#define GROUP(id, topic, heading) " " topic
#define OPTION(...)
#define EVERYDAY(...)
static const char topics[] =
#include "cli/options.def"
	;
#define OPTION_TOPICS (topics + 1)
const char *const option_topics = OPTION_TOPICS;

#define GROUP(...)
#define OPTION(id, ...) [id] = {__VA_ARGS__},
#define EVERYDAY(...)
const struct option_info option_table[NOPTIONS] = {
#include "cli/options.def"
};

#define GROUP(id, ...) [id] = {__VA_ARGS__},
#define OPTION(...)
#define EVERYDAY(...)
const struct option_section option_sections[NGROUPS] = {
#include "cli/options.def"
};

#define GROUP(...)
#define OPTION(...)
#define EVERYDAY(id) id,
const enum option_id options_of_every_day[] = {
#include "cli/options.def"
};
const size_t noptions_of_every_day = sizeof(options_of_every_day) / sizeof(options_of_every_day[0]);

// The names under which GNU parallel 20221122 and GNU xargs know their options, the spellings of one option in one
// string: what a script may have typed in full or shortened, and what deserves a better answer than "unknown". The second
// column says what to do where fairpar has no such option; it means nothing where it has one.
#define USE_SSH \
	"jobs run on this machine: use ssh in the command"
#define USE_RSYNC \
	"jobs run on this machine: use rsync or scp in the command"
#define USE_JOBLOG \
	"use --joblog FILE for what became of the jobs, or have the command write into the database"
#define USE_PLUS \
	"use --plus ({/re/text}, {%re}, {:2:3} and more), or a command that makes the change"
#define USE_JOBS \
	"give the number with --jobs"
#define USE_TMPDIR \
	"what does not fit into memory lies in $TMPDIR as it is: put that on a disk that compresses"
#define USE_NPROC \
	"use nproc or lscpu"
#define USE_ALIAS \
	"no file and no variable gives fairpar options: use an alias or a script"
#define USE_EXPORT \
	"jobs get the whole environment, and exported functions run by bash: use export"
static const struct { const char *names, *instead; } gnu_options[] = {
	{"arg-file argfile", ""},
	{"arg-file-sep argfilesep", ""},
	{"arg-sep argsep", ""},
	{"bar", ""},
	{"basefile bf", USE_RSYNC},
	{"basenameextensionreplace bner", ""},
	{"basenamereplace bnr", ""},
	{"bg", ""},
	{"bin", "use --batch-by or --colsep for columns of the input"},
	{"block-size blocksize block", ""},
	{"block-timeout blocktimeout bt", "what is read goes to a job once it is a block, or at the end"},
	{"cat", ""},
	{"citation bibtex", ""},
	{"cleanup", USE_RSYNC},
	{"col-sep colsep", ""},
	{"color colour", "use --tag to tell jobs apart"},
	{"color-failed colour-failed colorfailed colourfailed color-fail colour-fail colorfail colourfail cf", ""},
	{"compress", USE_TMPDIR},
	{"controlmaster", USE_SSH},
	{"csv", ""},
	{"ctag", "use --tag"},
	{"ctag-string ctagstring", "use --tagstring"},
	{"debug", "use --trace-service or --verbose"},
	{"delay", ""},
	{"delimiter", ""},
	{"dirnamereplace dnr", ""},
	{"dry-run dryrun dr", ""},
	{"embed", "fairpar is one program: copy that"},
	{"env", USE_EXPORT},
	{"eof", ""},
	{"eta", ""},
	{"exit", ""},
	{"extensionreplace er", ""},
	{"fg", ""},
	{"fifo", ""},
	{"filter", "use grep or awk in front of fairpar, or {choose_k} and {uniq} of --plus"},
	{"filter-hosts filterhosts filter-host", USE_SSH},
	{"gnu", ""},
	{"group", ""},
	{"group-by groupby", "use --batch-by for items"},
	{"halt-on-error haltonerror halt", ""},
	{"header", ""},
	{"help", ""},
	{"hgrp hostgrp hostgroup hostgroups", USE_SSH},
	{"interactive", ""},
	{"jobs", ""},
	{"joblog jl", ""},
	{"keep-order keeporder", ""},
	{"latest-line latestline ll", ""},
	{"limit", "use --load, --memfree or --noswap, or --jobs FILE, which can be changed"},
	{"line-buffer line-buffered linebuffer linebuffered lb", ""},
	{"link xapply", ""},
	{"load", ""},
	{"max-args maxargs", ""},
	{"max-chars maxchars", ""},
	{"max-line-length-allowed maxlinelengthallowed", ""},
	{"max-lines maxlines", ""},
	{"max-procs maxprocs", ""},
	{"max-replace-args maxreplaceargs", ""},
	{"memfree", ""},
	{"memsuspend", ""},
	{"min-version minversion", "compare with --version"},
	{"nice", ""},
	{"no-keep-order nokeeporder nok no-k", ""},
	{"no-run-if-empty norunifempty", ""},
	{"nonall", USE_SSH},
	{"noswap", ""},
	{"null", ""},
	{"number-of-cores numberofcores", USE_NPROC},
	{"number-of-cpus numberofcpus", USE_NPROC},
	{"number-of-sockets numberofsockets", USE_NPROC},
	{"number-of-threads numberofthreads", USE_NPROC},
	{"onall", USE_SSH},
	{"open-tty", ""},
	{"output-as-files outputasfiles files", ""},
	{"parens", USE_PLUS},
	{"pipe spreadstdin", ""},
	{"pipe-part pipepart", ""},
	{"plain", ""},
	{"plus", ""},
	{"process-slot-var processslotvar", ""},
	{"profile", USE_ALIAS},
	{"progress", ""},
	{"quote", ""},
	{"recend", ""},
	{"record-env recordenv", USE_EXPORT},
	{"recstart", ""},
	{"regexp regex", ""},
	{"remove-rec-sep removerecsep rrs", ""},
	{"replace", ""},
	{"results result res", ""},
	{"resume", ""},
	{"resume-failed resumefailed", ""},
	{"retries", ""},
	{"retry-failed retryfailed", ""},
	{"return", USE_RSYNC},
	{"round-robin roundrobin round", ""},
	{"rpl", USE_PLUS},
	{"rsync-opts rsyncopts", USE_RSYNC},
	{"semaphore", ""},
	{"semaphore-name semaphorename id", ""},
	{"semaphore-timeout semaphoretimeout st", ""},
	{"seqreplace", ""},
	{"session", USE_EXPORT},
	{"shard", "use --batch-by for items"},
	{"shebang hashbang", "use #!/bin/sh and fairpar with a here-document"},
	{"shebang-wrap", "use #!/bin/sh and fairpar with a here-document"},
	{"shell-completion shellcompletion", "use --completions"},
	{"shell-quote shellquote shell_quote", ""},
	{"show-limits showlimits", ""},
	{"shuf", ""},
	{"silent", ""},
	{"skip-first-line skipfirstline", ""},
	{"slotreplace", ""},
	{"sql-and-worker sqlandworker", USE_JOBLOG},
	{"sql-master sqlmaster", USE_JOBLOG},
	{"sql-worker sqlworker", USE_JOBLOG},
	{"ssh", USE_SSH},
	{"ssh-delay sshdelay", USE_SSH},
	{"sshlogin", USE_SSH},
	{"sshloginfile slf", USE_SSH},
	{"tag", ""},
	{"tag-string tagstring", ""},
	{"tee", ""},
	{"template tmpl", "use a command that writes the file, as in fairpar 'echo {} >{.}.conf'"},
	{"term-seq termseq", ""},
	{"timeout", ""},
	{"tmpdir tempdir", "set $TMPDIR"},
	{"tmux", "use --line-buffer to see output as it comes"},
	{"tmux-pane tmuxpane", "use --line-buffer to see output as it comes"},
	{"total-jobs totaljobs total", ""},
	{"transfer", USE_RSYNC},
	{"transfer-file transferfile transfer-files transferfiles tf", USE_RSYNC},
	{"trc", USE_RSYNC},
	{"trim", ""},
	{"tty", ""},
	{"ungroup", ""},
	{"use-compress-program compress-program usecompressprogram compressprogram", USE_TMPDIR},
	{"use-cores-instead-of-threads usecoresinsteadofthreads", USE_JOBS},
	{"use-cpus-instead-of-cores usecpusinsteadofcores", USE_JOBS},
	{"use-decompress-program decompress-program usedecompressprogram decompressprogram", USE_TMPDIR},
	{"use-sockets-instead-of-threads usesocketsinsteadofthreads", USE_JOBS},
	{"verbose", ""},
	{"version", ""},
	{"wait", ""},
	{"will-cite willcite nn nonotice no-notice", ""},
	{"work-dir workdir wd", ""},
	{"xargs", ""},
	{"linkinputsource xapplyinputsource", "use :::+ and ::::+"},
	{"sql", USE_JOBLOG},
	{"ctrl-c ctrlc", "it is how fairpar works"},
	{"no-ctrl-c no-ctrlc noctrlc", "use --term-seq"},
	{"tollef", "put ::: in front of the items"},
};

// Letters of GNU parallel that fairpar may not have, and the name of what each is.
static const struct { char letter; const char *name; } gnu_shorts[] = {
	{'D', "debug"}, {'J', "profile"}, {'M', "controlmaster"}, {'S', "sshlogin"}, {'B', "basefile"}, {'W', "work-dir"},
	{'Y', "shebang"},
};

// All its letters. Getopt::Long takes them also as long options, --j 2.
static const char gnu_letters[] = "0BCDEHIJLMNPSTUVWXYadehijklmnopqrstuvx";

const char *option_next_word(const char **list, size_t *ret_len) {
	const char *word = *list + strspn(*list, " ");
	*ret_len = strcspn(word, " ");
	*list = word + *ret_len;
	return *ret_len > 0 ? word : NULL;
}

static bool list_has(const char *list, const char *name, size_t len) {
	size_t word_len;
	for (const char *word; (word = option_next_word(&list, &word_len));) {
		if (word_len == len && memcmp(word, name, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool list_has_prefix(const char *list, const char *name, size_t len) {
	size_t word_len;
	for (const char *word; (word = option_next_word(&list, &word_len));) {
		if (word_len >= len && memcmp(word, name, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool find_exact(const char *name, size_t len, enum option_id *ret_id) {
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		if (list_has(option->name, name, len) || list_has(option->aliases, name, len)) {
			*ret_id = (enum option_id)id;
			return true;
		}
	}
	return false;
}

// What fairpar calls the option that GNU parallel knows by the names in that row.
static enum option_match find_gnu(size_t row, enum option_id *ret_id, const char **ret_instead) {
	const char *names = gnu_options[row].names;
	size_t len;
	for (const char *name; (name = option_next_word(&names, &len));) {
		if (find_exact(name, len, ret_id)) {
			return MATCH_OPTION;
		}
	}
	*ret_instead = gnu_options[row].instead[0] != '\0' ? gnu_options[row].instead : NULL;
	return MATCH_FOREIGN;
}

// Appends the options of fairpar that have a name which begins like this, by the first such name.
static void add_own(struct buf *names, const char *name, size_t len) {
	for (int id = 0; id < NOPTIONS; ++id) {
		const char *lists[] = {option_table[id].name, option_table[id].aliases};
		bool found = false;
		for (size_t i = 0; i < 2 && !found; ++i) {
			size_t word_len;
			for (const char *word; !found && (word = option_next_word(&lists[i], &word_len));) {
				found = word_len >= len && memcmp(word, name, len) == 0;
				if (found) {
					buf_printf(names, "%s--%.*s", names->len > 0 ? ", " : "", (int)word_len, word);
				}
			}
		}
	}
}

enum option_match option_find_long(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                   const char **ret_near) {
	if (find_exact(name, len, ret_id)) {
		return MATCH_OPTION;
	}
	if (len == 1 && strchr(gnu_letters, name[0])) {
		return option_find_short(name[0], ret_id, ret_near);
	}
	size_t found = 0;
	size_t n = 0;
	for (size_t i = 0; len > 0 && i < sizeof(gnu_options) / sizeof(gnu_options[0]); ++i) {
		if (list_has(gnu_options[i].names, name, len)) {
			found = i;
			n = 1;
			break;
		}
		if (list_has_prefix(gnu_options[i].names, name, len)) {
			found = n++ == 0 ? i : found;
		}
	}
	if (n > 1) {
		struct buf names = BUF_INIT;
		add_own(&names, name, len);
		if (names.len > 0) {
			*ret_names = buf_take(&names);
			return MATCH_AMBIGUOUS;
		}
		buf_fini(&names);
	}
	return n > 0 ? find_gnu(found, ret_id, ret_near) : option_near(name, len, ret_near);
}

bool option_is_name(const char *name, size_t len, enum option_id *ret_id) {
	return find_exact(name, len, ret_id);
}

bool option_is_meant(const char *word, size_t len, enum option_id *ret_id) {
	enum { SHORT_NAME = 3, SHORT_ALIAS = 5 };
	if (len < SHORT_NAME || option_is_name(word, len, ret_id)) {
		return len >= SHORT_NAME && (len >= SHORT_ALIAS || strlen(option_table[*ret_id].name) == len);
	}
	for (size_t i = 0; len >= SHORT_ALIAS && i < sizeof(gnu_options) / sizeof(gnu_options[0]); ++i) {
		const char *instead;
		if (list_has(gnu_options[i].names, word, len)) {
			return find_gnu(i, ret_id, &instead) == MATCH_OPTION;
		}
	}
	return false;
}

enum option_match option_find_short(char letter, enum option_id *ret_id, const char **ret_instead) {
	*ret_instead = NULL;
	for (int id = 0; letter != '\0' && id < NOPTIONS; ++id) {
		if (strchr(option_table[id].shorts, letter)) {
			*ret_id = (enum option_id)id;
			return MATCH_OPTION;
		}
	}
	for (size_t i = 0; i < sizeof(gnu_shorts) / sizeof(gnu_shorts[0]); ++i) {
		if (gnu_shorts[i].letter == letter) {
			const char *near;
			char *names = NULL;
			enum option_match match = option_find_long(gnu_shorts[i].name, strlen(gnu_shorts[i].name), ret_id, &names, &near);
			*ret_instead = match == MATCH_FOREIGN ? near : NULL;
			return match;
		}
	}
	*ret_instead = "GNU parallel has retired it, too: leave it out";
	return letter != '\0' && strchr(gnu_letters, letter) ? MATCH_FOREIGN : MATCH_NONE;
}
