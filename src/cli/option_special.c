// Options whose arguments are not just a value to store in a field: those with CALL in options.def.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "slots/slots.h"
#include "template/packs.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

// ---- input ----

int option_take_stdin(struct parser *parser, const char *reader) {
	if (parser->stdin_for) {
		return diag_error("stdin can be read only once, not by %s and by %s", parser->stdin_for, reader);
	}
	parser->stdin_for = reader;
	return 0;
}

struct source_config *options_add_source(struct options *o) {
	o->sources = xrealloc(o->sources, (o->nsources + 1) * sizeof(*o->sources));
	o->sources[o->nsources] = (struct source_config){.kind = FROM_STDIN};
	return &o->sources[o->nsources++];
}

int options_add_file_source(struct parser *parser, const char *path, bool linked, const char *reader) {
	if (*path == '\0') {
		return diag_error("%s needs the name of a file, not an empty text", reader);
	}
	struct source_config *source = options_add_source(parser->options);
	source->linked = linked;
	if (strcmp(path, "-") == 0) {
		return option_take_stdin(parser, reader);
	}
	source->kind = FROM_FILE;
	source->path = path;
	return 0;
}

int opt_arg_file(struct parser *parser, const char *value) {
	return options_add_file_source(parser, value, /* linked */ false, "--arg-file");
}

int opt_delimiter(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	if (parse_escapes(&bytes, value) != 0) {
		return option_fail(parser->id, "has an unknown escape: '%s'", text_shows(value));
	}
	if (bytes.len == 0 || (bytes.len > 1 && memchr(bytes.data, '\0', bytes.len))) {
		return option_fail(parser->id, "must be one byte or more, or an escape such as \\n, \\0 or \\x2c, not '%s'", text_shows(value));
	}
	o->input.delimiter = bytes.data[bytes.len - 1];
	o->input.delimiter_text = bytes.len > 1 ? arena_text(&o->texts, bytes.data, bytes.len) : NULL;
	return 0;
}

int opt_shell_quote(struct parser *parser, const char *value FP_UNUSED) {
	++parser->options->shell_quotes;
	parser->options->dry_run = true;
	return 0;
}

// ---- batches and manifests ----

int opt_batch(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	const char *equals = strchr(value, '=');
	size_t len = equals ? (size_t)(equals - value) : strlen(value);
	if (len == 0 || (equals && equals[1] == '\0')) {
		return option_fail(parser->id, "must be NAME or NAME=FILE, not '%s'", text_shows(value));
	}
	if (!equals) {
		if (o->batch && strcmp(o->batch, value) != 0) {
			return option_fail(parser->id, "names this input's batch twice: '%s' and '%s'", text_shows(o->batch), text_shows(value));
		}
		o->batch = value;
		return 0;
	}
	o->batch_files = xrealloc(o->batch_files, (o->nbatch_files + 1) * sizeof(*o->batch_files));
	o->batch_files[o->nbatch_files++] = (struct batch_file){.name = arena_text(&o->texts, value, len), .path = equals + 1};
	return strcmp(equals + 1, "-") == 0 ? option_take_stdin(parser, "--batch") : 0;
}

int opt_manifest(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	if (o->manifest) {
		return option_fail(parser->id, "names two files, '%s' and '%s': run one, then the other", text_shows(o->manifest),
		                   text_shows(value));
	}
	if (*value == '\0') {
		return option_fail(parser->id, "must not be empty");
	}
	o->manifest = value;
	return strcmp(value, "-") == 0 ? option_take_stdin(parser, "--manifest") : 0;
}

// ---- blocks and packing ----

// Reads SIZE; or -N, which means N blocks for each slot.
int opt_block(struct parser *parser, const char *value) {
	long parts;
	uint64_t bytes = 0;
	parser->options->block_parts = 0;
	if (value[0] == '-' && parse_number(value + 1, 1, INT_MAX, &parts) == 0) {
		parser->options->block_parts = (unsigned)parts;
		return 0;
	}
	if (strcmp(value, "0") != 0 && parse_size(value, PARALLEL_UNITS, &bytes) != 0) {
		return option_fail(parser->id, "must be a size such as 500k or 64M, not '%s'%s", text_shows(value), unit_excess(value));
	}
	parser->options->block = bytes; // 0 means the default size, as in GNU parallel
	return 0;
}

int opt_pack(struct parser *parser, const char *value) {
	parser->options->packing.by_time = true;
	bool is_good = strcmp(value, "auto") == 0;
	return is_good ? 0 : option_fail(parser->id, "must be auto, not '%s'; a number of items is given by --max-args", text_shows(value));
}

// ---- options that print ----

int options_show_limits(const struct packing *packing) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_printf(&text, "Maximal size of command: %d\nMaximal usable size of command: %zu\n\n"
	           "Execution will continue now, and it will try to read its input\n"
	           "and run commands; if this is not what you wanted to happen, please\n"
	           "press CTRL-D or CTRL-C\n", PACK_CHARS_MAX, packing->chars > 0 ? packing->chars : PACK_CHARS_MAX);
	return diag_print(buf_str(&text), text.len);
}

int opt_print(struct parser *parser, const char *value) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	const char *suggestion;
	switch (parser->id) {
	case OPT_HELP:
		if (value && help_topic(&text, value, &suggestion) != 0) {
			return option_fail(parser->id, suggestion ? "has no topic and no option '%s'; did you mean '%s'?"
				: "has no topic and no option '%s'; the topics are %s", text_shows(value), suggestion ? suggestion : option_topics);
		}
		if (!value) {
			(parser->by_letter ? help_short : help_long)(&text);
		}
		break;
	case OPT_COMPLETIONS:
		if (completions_print(&text, value) != 0) {
			return option_fail(parser->id, "must be bash, zsh or fish, not '%s'", text_shows(value));
		}
		break;
	case OPT_SCHEMA:
		manifest_schema(&text);
		break;
	case OPT_VERSION:
		buf_adds(&text, "fairpar " FAIRPAR_VERSION "\nMIT License; there is no warranty, to the extent permitted by law\n");
		break;
	case OPT_MAX_LINE_LENGTH: // as GNU parallel prints it
		buf_printf(&text, "%d\n", PACK_CHARS_MAX);
		break;
	default: // --citation prints nothing
		break;
	}
	parser->done = true;
	return diag_print(buf_str(&text), text.len);
}

// ---- jobs and when they start ----

int opt_jobs(struct parser *parser, const char *value) {
	// The run parses the argument again when it has raised the limit of descriptors; here a mistake is found before anything starts.
	struct slots_bounds bounds;
	char *error;
	parser->options->jobs = value;
	return slots_parse(value, /* nofile */ 1024, &bounds, &error) == 0 ? 0 : diag_error_free(error);
}

// Reads N, or auto as with --jobs.
int opt_pool_slots(struct parser *parser, const char *value) {
	struct slots_bounds *bounds = &parser->options->pool.bounds;
	char *error;
	long slots;
	if (!slots_is_auto(value)) {
		if (parse_number(value, 1, MOST_POOL_SLOTS, &slots) != 0) {
			return option_fail(parser->id, "must be a number from 1 to %d, or auto, not '%s'", MOST_POOL_SLOTS, text_shows(value));
		}
		*bounds = (struct slots_bounds){(unsigned)slots, (unsigned)slots};
		return 0;
	}
	if (slots_auto_parse("--pool-slots", value, MOST_POOL_SLOTS, bounds, &error) != 0) {
		return diag_error_free(error);
	}
	bounds->most = bounds->most < MOST_POOL_SLOTS ? bounds->most : MOST_POOL_SLOTS;
	bounds->least = bounds->least < bounds->most ? bounds->least : bounds->most;
	return 0;
}

int opt_load(struct parser *parser, const char *value) {
	double load;
	char *error;
	parser->options->load = value;
	return load_parse(value, &load, &error) == 0 ? 0 : diag_error_free(error);
}

// Reads auto, none or a size; check_own_settings() refuses a size without --single.
int opt_memory(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	int chosen = word_index(option_table[parser->id].complete, value, strlen(value));
	o->memory_use = chosen >= 0 ? (enum memory_use)(MEMORY_AUTO + chosen) : MEMORY_UNSAID;
	o->pool.memory = 0;
	o->pool.memory_text = value;
	return chosen >= 0 || parse_size(value, PARALLEL_UNITS, &o->pool.memory) == 0
		? 0 : option_fail(parser->id, "must be auto or none, or a size with --single, not '%s'", text_shows(value));
}

// Reads TIME or N%.
int opt_timeout(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	o->timeout_percent = 0;
	o->timeout = 0;
	bool is_good = parse_percent(value, &o->timeout_percent) == 0 || parse_duration(value, PARALLEL_UNITS, &o->timeout) == 0;
	return is_good ? 0 : option_fail(parser->id, "must be seconds, a time such as 1h30m or 2.5s, or a percentage such as 200%%, not '%s'%s",
	                                 text_shows(value), unit_excess(value));
}

int opt_retry_delay(struct parser *parser, const char *value) {
	const char *error;
	bool is_good = manifest_delay_parse(value, &parser->options->retry_delay, &error) == 0;
	return is_good ? 0 : option_fail(parser->id, "%s, not '%s'", error, text_shows(value));
}

// Reads TIME or TIMEauto.
int opt_delay(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	o->delay_auto = text_ends(value, "auto");
	FP_CLEANUP(free_later) char *time = xmemdup(value, strlen(value) - (o->delay_auto ? strlen("auto") : 0));
	o->delay = 0; // as in GNU parallel, "auto" without a time leaves 0, which never changes
	bool is_good = (o->delay_auto && *time == '\0') || parse_duration(time, PARALLEL_UNITS, &o->delay) == 0;
	return is_good ? 0 : option_fail(parser->id, "must be seconds, or a time such as 1h30m or 2.5s (auto may follow), not '%s'%s",
	                                 text_shows(value), unit_excess(value));
}

int opt_term_seq(struct parser *parser, const char *value) {
	const char *error;
	bool is_good = term_seq_parse(value, &parser->options->term_seq, &error) == 0;
	return is_good ? 0 : option_fail(parser->id, "cannot be '%s': %s", text_shows(value), error);
}

int opt_slot_var(struct parser *parser, const char *value) {
	parser->options->slot_var = value;
	bool is_good = *value != '\0' && !strchr(value, '=');
	if (manifest_env_is_set_for_each(value) || strcmp(value, "FAIRPAR_COOKIE") == 0) {
		return option_fail(parser->id, "cannot be '%s', which fairpar itself sets", text_shows(value));
	}
	return is_good ? 0 : option_fail(parser->id, "must be the name of a variable, not '%s'", text_shows(value));
}

// Reads SECS: after that time the semaphore is taken by force; if SECS is negative, fairpar gives up instead. 0: no limit, as in GNU parallel.
int opt_semaphore_timeout(struct parser *parser, const char *value) {
	struct semaphore_options *sem = &parser->options->sem;
	sem->gives_up = value[0] == '-';
	bool is_good = parse_duration(value + sem->gives_up, PARALLEL_UNITS, &sem->timeout) == 0;
	return is_good ? 0 : option_fail(parser->id, "must be seconds, or a time such as 1m30s, negative to give up afterwards, not '%s'", text_shows(value));
}

// ---- output, outcome and logs ----

int opt_tagstring(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	(void)parse_escapes(&bytes, value); // text that is no escape stays as it is, as in GNU parallel
	if (memchr(buf_str(&bytes), '\0', bytes.len)) {
		return option_fail(parser->id, "must not hold NUL");
	}
	o->tagstring = bytes.len > 0 ? arena_text(&o->texts, bytes.data, bytes.len) : NULL; // an empty text: lines get neither a tag nor a tab
	o->tag = o->tagstring != NULL;
	return 0;
}

int opt_halt(struct parser *parser, const char *value) {
	const char *error;
	bool is_good = halt_parse(value, &parser->options->halt, &error) == 0;
	return is_good ? 0 : option_fail(parser->id, "'%s' %s", text_shows(value), error);
}

// Accepts only signals that fairpar does not need for itself, and that are not raised by faults of a program.
int opt_stop_signal(struct parser *parser, const char *value) {
	static const int free_ones[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGURG, SIGPWR};
	int signal = signal_number(value, strlen(value));
	bool is_free = false;
	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); ++i) {
		is_free = is_free || signal == free_ones[i];
	}
	parser->options->stop_signal = signal;
	return is_free ? 0 : option_fail(parser->id, "must be HUP, INT, QUIT, TERM, USR1, USR2, XCPU, URG or PWR, not '%s'%s", text_shows(value), signal ? ", which has its own meaning" : "");
}

int opt_joblog(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	o->joblog_append = value[0] == '+';
	o->joblog = value + o->joblog_append;
	return *o->joblog ? 0 : option_fail(parser->id, "must not be empty");
}

// Checks the descriptor of fd:N now, before fairpar opens any file: if fairpar's caller has not opened N, a file of fairpar's
// own might get this number later.
int opt_log(struct parser *parser, const char *value) {
	int fd = option_log_fd(value);
	if (fd == BAD_FD) {
		return diag_error("--log %s: 'fd:' must be followed by the number of a descriptor (for a file of that name, write './%s')", text_shows(value), text_shows(value));
	}
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : 0;
	if (flags < 0 || (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY)) {
		return diag_error("cannot write the log '%s': descriptor %d is %s", value, fd, flags < 0 ? "not open" : "open for reading only");
	}
	parser->options->log = value;
	return *value ? 0 : option_fail(parser->id, "must not be empty");
}

int opt_report(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	if (strcmp(value, "-") != 0 && !text_ends(value, ".html") && !text_ends(value, ".htm") && !text_ends(value, ".svg")) {
		return diag_error("--report: the name '%s' must end in .html or .svg, which says what to make", text_shows(value));
	}
	option_add_text(&o->reports, &o->nreports, value);
	return 0;
}
