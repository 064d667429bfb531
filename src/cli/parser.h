// What the files that read a command line share.

#ifndef FAIRPAR_CLI_PARSER_H
#define FAIRPAR_CLI_PARSER_H

#include "base/attr.h"
#include "cli/option_table.h"
#include "cli/options.h"

// What is known while the words are read.
struct parser {
	struct options *options;
	enum option_id id;       // the option that is taken
	bool by_letter;          // it was given as a letter
	const char *stdin_for;   // what reads stdin, or NULL
	bool done;               // --help and the like: nothing is left to do but to exit with options->status
};

// ---- option_store.c: arguments go where the table says ----

// Takes the option with its argument, or NULL where there is none. Returns 0, or -1 after a message.
int option_store(struct parser *parser, enum option_id id, const char *value);

// Prints "error: --NAME " and the text, and returns -1.
int option_fail(enum option_id id, const char *format, ...) FP_PRINTF(2, 3);

// Appends to an array of texts, whose memory is the caller's.
void option_add_text(const char ***list, size_t *n, const char *text);

// ---- option_special.c: options with CALL in options.def ----

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

// ---- option_settle.c: what all options together mean, when all of them are known ----

// Works out what the options imply, whatever is to be run.
void settle_options(struct options *options);

// Settles a run of a command: sources, blocks, packing, output. Returns 0, or -1 after a message.
int settle_command(struct parser *parser);

// The same of a manifest.
int settle_manifest(struct options *options);

// The same of a semaphore, whose command the words are: they become the only item of the run.
int settle_semaphore(struct options *options, char *const *words, size_t nwords);

// Whether the program was started by the name that means --semaphore.
bool is_called_sem(const char *program);

// Sets the --term-seq of a run that names none; the text is a lawful one.
void set_default_term_seq(struct options *options, const char *text);

// ---- conflicts.c: what does not go together, or does nothing beside another option ----

// Each checks what was given, as settle_options() has worked it out, and returns 0, or -1 after a message.
int option_rules_check(const struct options *options);              // EXCLUDES and NEEDS of options.def
int option_from_log_check(const struct options *options, bool words); // nothing is run then; `words` follow the options
int option_log_check(const struct options *options);                // what is to be resumed has a log that can be read
int option_batches_check(const struct options *options);            // each batch is named once

// Warns of files that are asked for and will not be written, for nothing runs with --dry-run and its kin; and of what is
// said of blocks where there are none.
void option_idle_warn(const struct options *options);

// Warns if $PARALLEL or GNU parallel's file of options has some, for fairpar reads neither (parallel(1), PROFILE FILES).
// For a command line that runs a command.
void option_profile_warn(const struct options *options);

#endif
