// Options whose arguments are more than a value for a field: those with CALL in options.def.

#ifndef FAIRPAR_CLI_OPTION_SPECIAL_H
#define FAIRPAR_CLI_OPTION_SPECIAL_H

#include "cli/option_store.h"

// Takes the argument of the option parser->id, or NULL where there is none. Returns 0, or -1 after a message.
typedef int option_taker(struct parser *parser, const char *value);

option_taker take_arg_file, take_delimiter, take_replace, take_shell_quote, take_pack, take_max_line_length, take_batch,
	take_manifest, take_schema, take_block, take_jobs, take_timeout, take_term_seq, take_slot_var, take_load, take_delay,
	take_tagstring, take_halt, take_joblog, take_log, take_report, take_semaphore_timeout, take_help, take_version,
	take_completions, take_citation;

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
