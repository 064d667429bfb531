// The options of --pipe and --pipe-part: data in the place of items.

#include "cli/option_blocks.h"

#include "cli/option_take.h"
#include "cli/option_values.h"

#include <limits.h>
#include <string.h>

// SIZE, or -N for so many parts for each slot.
static int set_block(struct options *o, const char *text) {
	long parts;
	size_t bytes = 0;
	o->block_parts = 0;
	if (text[0] == '-' && option_long(text + 1, 1, INT_MAX, &parts) == 0) {
		o->block_parts = (unsigned)parts;
		return 0;
	}
	if (strcmp(text, "0") != 0 && option_take_size(OPT_BLOCK, text, &bytes) != 0) {
		return -1;
	}
	o->block = bytes; // 0 is the default, as in GNU parallel
	return 0;
}

int block_option_take(struct options *o, enum option_id id, const char *value) {
	switch (id) {
	case OPT_PIPE: o->pipe = o->pipe == PIPE_NOT ? PIPE_STREAM : o->pipe; return 0;
	case OPT_PIPE_PART: o->pipe = PIPE_PART; return 0;
	case OPT_BLOCK: return set_block(o, value);
	case OPT_RECEND: o->recend = value; return 0;
	case OPT_RECSTART: o->recstart = value; return 0;
	case OPT_REGEXP: o->regexp = true; return 0;
	case OPT_REMOVE_REC_SEP: o->remove_rec_sep = true; return 0;
	case OPT_ROUND_ROBIN: o->round_robin = true; return 0;
	case OPT_TEE: o->tee = true; return 0;
	default: // --cat, --fifo: they mean --pipe
		o->cat = true;
		o->pipe = o->pipe == PIPE_NOT ? PIPE_STREAM : o->pipe;
		return 0;
	}
}

// Data takes the place of items: what is said of items has no meaning.
static int refuse_with_pipe(const struct options *o, const bool *given) {
	static const struct { enum option_id id; const char *instead; } refused[] = {
		{OPT_COLSEP, "data is not split into columns"},
		{OPT_DELIMITER, "--recend says what ends a record"},
		{OPT_CSV, "data is not split into columns"},
		{OPT_TRIM, "data is not changed"},
		{OPT_EOF, "data ends where it ends"},
		{OPT_LINK, "there are no items"},
		{OPT_SHUF, "blocks are run in the order of the data"},
		// these do not go with --tee either, which has items
		{OPT_BATCH_BY, "the batch of a block is named by --batch NAME"},
		{OPT_LONG_RUNNING, "as many blocks are kept as there are slots"},
		{OPT_THEN, "join the commands with '&&'"},
		{OPT_ON_FAILURE, "join the commands with '||'"},
	};
	const char *name = option_table[o->pipe == PIPE_PART ? OPT_PIPE_PART : OPT_PIPE].name;
	bool of_items = true;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		of_items = of_items && refused[i].id != OPT_BATCH_BY;
		if (given[refused[i].id] && !(of_items && o->tee)) {
			return option_fail(refused[i].id, "cannot be combined with --%s: %s", name, refused[i].instead);
		}
	}
	for (int id = 0; id < NOPTIONS; ++id) {
		bool counts = id == OPT_MAX_ARGS || id == OPT_MAX_REPLACE_ARGS || id == OPT_LINES || id == OPT_MAX_LINES;
		if (given[id] && option_table[id].group == GROUP_PACKING && id != OPT_SHOW_LIMITS && !counts) {
			return option_fail((enum option_id)id, "packs items, and --pipe has blocks instead: see --block");
		}
	}
	if (o->nbatch_files > 0) {
		return option_fail(OPT_BATCH, "NAME=FILE cannot be combined with --%s: it has one batch, of blocks", name);
	}
	return 0;
}

// A job that gets data as it comes has read what was there: it cannot be run once more.
static int refuse_again(const char *name, const bool *given) {
	static const enum option_id again[] = {
		OPT_RETRIES, OPT_MEMFREE, OPT_RESUME, OPT_RESUME_FAILED, OPT_RETRY_FAILED,
	};
	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); ++i) {
		if (given[again[i]]) {
			return option_fail(again[i], "cannot be combined with --%s: a job cannot get again what it has read", name);
		}
	}
	return 0;
}

static int check_round_robin(const struct options *o, const bool *given) {
	if (o->round_robin && refuse_again("round-robin", given) != 0) {
		return -1;
	}
	if (o->round_robin && o->pipe == PIPE_PART) {
		return option_fail(OPT_ROUND_ROBIN, "cannot be combined with --pipe-part: --pipe < FILE deals out its blocks");
	}
	if (o->round_robin && given[OPT_CAT]) {
		return option_fail(OPT_ROUND_ROBIN, "cannot be combined with --cat: a job begins before its last block is there; --fifo can");
	}
	return 0;
}

// Data that is not cut, and jobs that have to run at once.
static int check_tee(struct options *o, const bool *given) {
	static const enum option_id refused[] = {
		OPT_RECEND, OPT_RECSTART, OPT_REGEXP, OPT_REMOVE_REC_SEP, OPT_HEADER, OPT_MAX_ARGS, OPT_MAX_REPLACE_ARGS, OPT_LINES,
		OPT_MAX_LINES, OPT_ROUND_ROBIN,
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		if (given[refused[i]]) {
			return option_fail(refused[i], "cannot be combined with --tee: each job gets all data, as it is");
		}
	}
	if (o->cat) {
		return option_fail(given[OPT_CAT] ? OPT_CAT : OPT_FIFO, "cannot be combined with --tee: /dev/stdin names the data of a job");
	}
	if (o->pipe == PIPE_STREAM) {
		if (given[OPT_MAX_PARALLEL]) {
			return option_fail(OPT_MAX_PARALLEL, "cannot be combined with --tee: all jobs run at once");
		}
		return o->nsources > 0 ? refuse_again("tee", given)
		                       : option_fail(OPT_TEE, "needs items, one for each job, as in --pipe --tee cmd ::: a b");
	}
	if (o->nsources == 0 || o->sources[0].kind != FROM_FILE) {
		return option_fail(OPT_PIPE_PART, "needs a file: name it with --arg-file FILE");
	}
	o->tee_file = o->sources[0].path; // the others are of items, as in GNU parallel
	memmove(o->sources, o->sources + 1, --o->nsources * sizeof(*o->sources));
	return 0;
}

// --pipe, or what means it.
static enum option_id pipe_as_given(const struct options *o, const bool *given) {
	if (o->pipe == PIPE_PART) {
		return OPT_PIPE_PART;
	}
	return given[OPT_PIPE] ? OPT_PIPE : given[OPT_CAT] ? OPT_CAT : OPT_FIFO;
}

// The sources of --pipe-part are files; --pipe has stdin.
static int check_sources(const struct options *o, const bool *given) {
	if (o->pipe == PIPE_STREAM) {
		if (o->nsources > 0) {
			return option_fail(pipe_as_given(o, given), "cannot be combined with %s: it reads its data from stdin, as in --pipe < FILE",
			            given[OPT_ARG_FILE] ? "--arg-file" : "items");
		}
		return 0;
	}
	for (size_t i = 0; i < o->nsources; ++i) {
		if (o->sources[i].kind != FROM_FILE) {
			return option_fail(OPT_PIPE_PART, "needs files that can be read anywhere; --pipe reads stdin");
		}
	}
	return o->nsources > 0 ? 0 : option_fail(OPT_PIPE_PART, "needs a file: name it with --arg-file FILE");
}

int block_options_settle(struct options *o, const bool *given) {
	if (o->ncommand == 0) {
		return option_fail(pipe_as_given(o, given), "needs a command to pipe into, such as 'cat'");
	}
	if (o->tee) {
		return refuse_with_pipe(o, given) != 0 || check_tee(o, given) != 0 ? -1 : 0;
	}
	if (given[OPT_NULL] && !given[OPT_RECEND] && !given[OPT_RECSTART]) {
		o->recend = "\\0";
	}
	const struct packing *counts = &o->packing; // as in GNU parallel: -N before -n, and -L before -l, in any order
	enum option_id records_by = counts->has_max_replace ? OPT_MAX_REPLACE_ARGS : OPT_MAX_ARGS;
	enum option_id lines_by = counts->has_lines ? OPT_LINES : OPT_MAX_LINES;
	o->records = counts->has_max_replace ? counts->max_replace : counts->max_args;
	o->lines = counts->has_lines ? counts->lines : counts->max_lines;
	if (o->block_parts > 0 && o->pipe == PIPE_STREAM) {
		return option_fail(OPT_BLOCK, "-%u is for --pipe-part: the length of stdin is not known", o->block_parts);
	}
	if (o->pipe == PIPE_PART && (o->records > 0 || o->lines > 0)) {
		return option_fail(o->records > 0 ? records_by : lines_by,
		                  "cannot be combined with --pipe-part: records are not counted there; --pipe < FILE counts them");
	}
	o->records *= o->records > 0 && o->lines > 0 ? o->lines : 1; // as in GNU parallel
	if (o->skip_blank && o->pipe == PIPE_PART) {
		return option_fail(OPT_NO_RUN_IF_EMPTY, "cannot be combined with --pipe-part: its data is not touched; --pipe < FILE does it");
	}
	if (o->remove_rec_sep && o->pipe == PIPE_PART) {
		return option_fail(OPT_REMOVE_REC_SEP, "cannot be combined with --pipe-part: its data is not touched; --pipe < FILE does it");
	}
	if (o->block == 0 && o->block_parts == 0) {
		o->block = (uint64_t)1 << 20;
		o->block_parts = o->pipe == PIPE_PART ? 10 : 0; // GNU parallel's defaults
	}
	o->header = o->header_files = false; // it says something else here
	return refuse_with_pipe(o, given) != 0 || check_round_robin(o, given) != 0 || check_sources(o, given) != 0 ? -1 : 0;
}

int block_options_refuse(const struct options *o) {
	if (o->tee) {
		return option_fail(OPT_TEE, "needs --pipe, which reads the data from stdin, or --pipe-part");
	}
	return o->round_robin ? option_fail(OPT_ROUND_ROBIN, "needs --pipe: it deals out blocks of data") : 0;
}
