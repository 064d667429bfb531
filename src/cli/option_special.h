// Options whose arguments are more than a value for a field: those with CALL in options.def.

#ifndef FAIRPAR_CLI_OPTION_SPECIAL_H
#define FAIRPAR_CLI_OPTION_SPECIAL_H

#include "cli/option_store.h"

// Takes the argument of the option parser->id, or NULL where there is none. Returns 0, or -1 after a message.
typedef int option_taker(struct parser *parser, const char *value);

option_taker opt_arg_file, opt_delimiter, opt_replace, opt_shell_quote, opt_pack, opt_max_line_length, opt_batch,
	opt_manifest, opt_schema, opt_block, opt_jobs, opt_timeout, opt_term_seq, opt_slot_var, opt_load, opt_delay,
	opt_tagstring, opt_halt, opt_joblog, opt_log, opt_report, opt_semaphore_timeout, opt_help, opt_version,
	opt_completions, opt_citation;

// Notes that stdin is read. Only one may: two readers would each get a part of it, by chance. Returns 0, or -1 after a
// message.
int claim_stdin(struct parser *parser, const char *reader);

// Adds a source of items, stdin as yet. It is the options'.
struct source_config *add_source(struct options *options);

// Adds the file, or stdin for "-"; the reader is what names it. Returns 0, or -1 after a message.
int add_file_source(struct parser *parser, const char *path, bool linked, const char *reader);

// --show-limits, when --max-chars is known. Returns 0, or -1 after a message.
int packing_show_limits(const struct packing *packing);

#endif
