// The option table as data: names and texts of every option, and how a typed name finds its option.

#include "option_table.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/distance.h"

#define GROUP(...)
#define OPTION(id, ...) [id] = {__VA_ARGS__},
const struct option_info option_table[NOPTIONS] = {
#include "options.def"
};

#define GROUP(id, heading) [id] = heading,
#define OPTION(...)
const char *const option_group_headings[NGROUPS] = {
#include "options.def"
};

// The names under which GNU parallel 20221122 and GNU xargs know their options, the spellings of one option in one
// string: what a script may have typed in full or shortened, and what deserves a better answer than "unknown".
static const char *const gnu_names[] = {
	"arg-file argfile", "arg-file-sep argfilesep", "arg-sep argsep", "bar", "basefile bf",
	"basenameextensionreplace bner", "basenamereplace bnr", "bg", "bin", "block-size blocksize block",
	"block-timeout blocktimeout bt", "cat", "citation bibtex", "cleanup", "col-sep colsep",
	"color colour", "color-failed colour-failed colorfailed colourfailed color-fail colour-fail colorfail colourfail cf",
	"compress", "controlmaster", "csv", "ctag", "ctag-string ctagstring", "debug", "delay", "delimiter",
	"dirnamereplace dnr", "dry-run dryrun dr", "embed", "env", "eof", "eta", "exit", "extensionreplace er", "fg", "fifo",
	"filter", "filter-hosts filterhosts filter-host", "gnu", "group", "group-by groupby",
	"halt-on-error haltonerror halt", "header", "help", "hgrp hostgrp hostgroup hostgroups", "interactive",
	"jobs", "joblog jl", "keep-order keeporder", "latest-line latestline ll", "limit",
	"line-buffer line-buffered linebuffer linebuffered lb", "link xapply", "load", "max-args maxargs",
	"max-chars maxchars", "max-line-length-allowed maxlinelengthallowed", "max-lines maxlines", "max-procs maxprocs",
	"max-replace-args maxreplaceargs", "memfree", "memsuspend", "min-version minversion", "nice",
	"no-keep-order nokeeporder nok no-k", "no-run-if-empty norunifempty", "nonall", "noswap", "null",
	"number-of-cores numberofcores", "number-of-cpus numberofcpus", "number-of-sockets numberofsockets",
	"number-of-threads numberofthreads", "onall", "open-tty", "output-as-files outputasfiles files", "parens",
	"pipe spreadstdin", "pipe-part pipepart", "plain", "plus", "process-slot-var processslotvar", "profile", "progress",
	"quote", "recend", "record-env recordenv", "recstart", "regexp regex", "remove-rec-sep removerecsep rrs", "replace",
	"results result res", "resume", "resume-failed resumefailed", "retries", "retry-failed retryfailed", "return",
	"round-robin roundrobin round", "rpl", "rsync-opts rsyncopts", "semaphore", "semaphore-name semaphorename id",
	"semaphore-timeout semaphoretimeout st", "seqreplace", "session", "shard", "shebang hashbang", "shebang-wrap",
	"shell-completion shellcompletion", "shell-quote shellquote shell_quote", "show-limits showlimits", "shuf", "silent",
	"skip-first-line skipfirstline", "slotreplace", "sql-and-worker sqlandworker", "sql-master sqlmaster",
	"sql-worker sqlworker", "ssh", "ssh-delay sshdelay", "sshlogin", "sshloginfile slf", "tag", "tag-string tagstring",
	"tee", "template tmpl", "term-seq termseq", "timeout", "tmpdir tempdir", "tmux", "tmux-pane tmuxpane",
	"total-jobs totaljobs total", "transfer", "transfer-file transferfile transfer-files transferfiles tf", "trc", "trim",
	"tty", "ungroup", "use-compress-program compress-program usecompressprogram compressprogram",
	"use-cores-instead-of-threads usecoresinsteadofthreads", "use-cpus-instead-of-cores usecpusinsteadofcores",
	"use-decompress-program decompress-program usedecompressprogram decompressprogram",
	"use-sockets-instead-of-threads usesocketsinsteadofthreads", "verbose", "version", "wait",
	"will-cite willcite nn nonotice no-notice", "work-dir workdir wd", "xargs",
};

static const char gnu_letters[] = "BDEHIJLMNSTUWXYeilmnqsx";

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

// What fairpar calls the option that GNU parallel knows by these names.
static enum option_match find_gnu(const char *names, enum option_id *ret_id) {
	size_t len;
	for (const char *name; (name = option_next_word(&names, &len));) {
		if (find_exact(name, len, ret_id)) {
			return MATCH_OPTION;
		}
	}
	return MATCH_FOREIGN;
}

// The nearest name that fairpar has: one that begins like this, else one with few edits; NULL if none is near.
static const char *find_near(const char *name, size_t len) {
	const char *near = NULL;
	size_t least = DISTANCE_NEAR + 1;
	for (int id = 0; id < NOPTIONS; ++id) {
		const struct option_info *option = &option_table[id];
		if (len > 2 && strncmp(option->name, name, len) == 0) {
			return option->name;
		}
		size_t edits = distance(name, len, option->name, strlen(option->name));
		const char *list = option->aliases;
		size_t alias_len;
		for (const char *alias; (alias = option_next_word(&list, &alias_len));) {
			size_t n = distance(name, len, alias, alias_len);
			edits = n < edits ? n : edits;
		}
		if (edits < least && edits * 2 <= len) { // not by replacing most of it
			least = edits;
			near = option->name;
		}
	}
	return near;
}

enum option_match option_find_long(const char *name, size_t len, enum option_id *ret_id, char **ret_names,
                                   const char **ret_near) {
	if (find_exact(name, len, ret_id)) {
		return MATCH_OPTION;
	}
	const char *found = NULL;
	size_t n = 0;
	struct buf names = BUF_INIT;
	for (size_t i = 0; len > 0 && i < sizeof(gnu_names) / sizeof(gnu_names[0]); ++i) {
		if (list_has(gnu_names[i], name, len)) {
			found = gnu_names[i];
			n = 1;
			break;
		}
		if (list_has_prefix(gnu_names[i], name, len)) {
			found = gnu_names[i];
			buf_printf(&names, "%s--%.*s", n++ > 0 ? ", " : "", (int)strcspn(found, " "), found);
		}
	}
	if (n > 1) {
		*ret_names = buf_take(&names);
		return MATCH_AMBIGUOUS;
	}
	buf_fini(&names);
	if (n == 1) {
		return find_gnu(found, ret_id);
	}
	*ret_near = find_near(name, len);
	return *ret_near ? MATCH_NEAR : MATCH_NONE;
}

enum option_match option_find_short(char letter, enum option_id *ret_id) {
	for (int id = 0; letter != '\0' && id < NOPTIONS; ++id) {
		if (strchr(option_table[id].shorts, letter)) {
			*ret_id = (enum option_id)id;
			return MATCH_OPTION;
		}
	}
	return letter != '\0' && strchr(gnu_letters, letter) ? MATCH_FOREIGN : MATCH_NONE;
}
