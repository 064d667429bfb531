// Shared by the files that parse a command line: the parser's state, and the functions that these files call in each other.
//
// A function that returns -1 has printed the message that says which option is wrong, and why.

#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "cli/option_table.h"
#include "cli/options.h"

struct parser {
	struct options *options; // to be filled
	char *const *at;         // the next word; NULL behind the last one
	const char *letters;     // the letters of a word such as -kj4 that are still to be read, or NULL
	const char *bundle;      // the whole word that `letters` points into
	bool is_ended;           // "--" has ended the options
	enum option_id id;       // the option that was read last
	const char *value;       // the value of option `id`, borrowed from the words; or NULL
	bool by_letter;          // option `id` was given as a letter
	const char *bare;        // the name of option `id`, if its value can only follow a "=" and no value was given; or NULL
	const char *stdin_for;   // the option that reads stdin, for messages; or NULL
	bool done;               // an option such as --help has printed its text: all that is left is to exit with options->status
};

// ---- option_store.c: stores arguments in the fields that the table names ----

// Checks the value of the option that was read, stores it in the field of the table, and marks the option as given. Texts are
// borrowed from argv. Returns 0 or -1.
int option_store(struct parser *parser);

// Prints "fairpar: error: --NAME " and the formatted text. Returns -1.
int option_fail(enum option_id id, const char *format, ...) FP_PRINTF(2, 3);

// Appends the text, which is borrowed, to an array of *n texts, which grows; the caller frees the array.
void option_add_text(const char ***list, size_t *n, const char *text);

// ---- option_special.c: handles the options with CALL in options.def ----

// Checks and stores `value`, the argument of the option parser->id; NULL: the option has none. Returns 0 or -1.
typedef int option_handler(struct parser *parser, const char *value);

option_handler opt_arg_file, opt_delimiter, opt_shell_quote, opt_pack, opt_batch, opt_manifest, opt_block, opt_jobs,
	opt_pool_slots, opt_timeout, opt_retry_delay, opt_term_seq, opt_slot_var, opt_load, opt_memory, opt_delay, opt_tagstring, opt_halt,
	opt_stop_signal, opt_joblog, opt_log, opt_report, opt_semaphore_timeout;

// Prints the text that the option asks for (such as the help), and sets parser->done. Returns 0 or -1.
option_handler opt_print;

// Notes that stdin is read by `reader`, an option or separator (not copied). Returns 0; or -1 after a message if stdin has a reader
// already, since it would be chance which of the two gets which bytes.
int option_take_stdin(struct parser *parser, const char *reader);

// Adds a source of items, which is stdin until the caller changes it. Returns the source, which the options own; the pointer is
// valid until the next source is added.
struct source_config *options_add_source(struct options *options);

// Adds the file ("-": stdin) as a source of items. `linked`: its items are paired with the items of the source before. `reader` is the
// option or separator that names the file, for messages. Returns 0 or -1.
int options_add_file_source(struct parser *parser, const char *path, bool linked, const char *reader);

// Prints the limits of --show-limits to stdout; --max-chars must be known. Returns 0, or -1 if stdout does not take them.
int options_show_limits(const struct packing *packing);

// ---- option_hosts.c: the machines that jobs run on ----

option_handler opt_sshlogin, opt_launch, opt_slurm, opt_trc, opt_env;

void host_sources_free(struct host_sources *sources); // NULL-safe

// Resolves options->hosts when all options are known, and options->jobs if this machine is the only one. Returns 0 or -1.
int options_resolve_hosts(struct options *options);

// In an allocation of Slurm adds its nodes to options->hosts; else keeps `value` as options->slurm. Returns 0, or -1 after a message.
int options_set_slurm(struct options *options, const char *value);

// Adds the pilots of options->slurm, if there are any, to options->hosts, behind all other machines, and names them. Returns 0 or -1.
int options_add_pilots(struct options *options);

// ---- option_resolve.c: sets, once all options are known, what follows from them together ----

// Sets the options that follow from the given options, in every mode.
void options_resolve(struct options *options);

// Checks the options of a run of a command, and sets what follows from them: sources, blocks, packing, output. Returns 0 or -1.
int options_resolve_command(struct parser *parser);

// Checks the options of a run of a manifest, and sets what follows from them. Returns 0 or -1.
int options_resolve_manifest(struct options *options);

// Checks the options of a semaphore, and sets what follows from them. The words are its command, and the only item of the run. Returns 0 or -1.
int options_resolve_semaphore(struct options *options, char *const *words, size_t nwords);

// Returns the given option that makes a request to a run in progress (OPT_ADD and so on), or NOPTIONS.
enum option_id options_request(const struct options *options);

// Checks the options of a request to a run, and the words behind them, which become options->command. Returns 0 or -1.
int options_resolve_request(struct options *options, char *const *words);

// ---- help.c: what is printed from the option table ----

// Append the texts of -h (a line for each everyday option), of --help, and of the help that is shown if there is nothing to run.
void help_short(struct buf *text);
void help_long(struct buf *text);
void help_concise(struct buf *text);

// Appends the section of --help, or the option, that the topic names. Returns 0. If the topic names neither, returns -1, with the
// nearest topic or option in *ret_suggestion, or NULL.
int help_topic(struct buf *text, const char *topic, const char **ret_suggestion);

// Appends the completion script of the shell: "bash", "zsh" or "fish". Returns 0, or -1 for any other.
int completions_print(struct buf *text, const char *shell) FP_NODISCARD;

// ---- conflicts.c: options that exclude each other, or have no effect with another ----

// Check the options after options_resolve(); return 0, or -1 after a message. option_others_check() refuses options that are given with `id`
// and are not on the list `with`; option_conflicts_check() applies EXCLUDES and NEEDS of options.def, and checks what these cannot express.
int option_others_check(const struct options *options, enum option_id id, enum option_list with);
int option_conflicts_check(const struct options *options);

// Returns the option that a message about `id` names: of the options that OPT_SSHLOGIN or OPT_PIPE stand for, the one that was given.
enum option_id option_as_given(const struct options *options, enum option_id id);

// Warns of options that have no effect: options that write a file, if --dry-run, --check or --list lets nothing run; and options about
// blocks of data, without --pipe.
void option_ineffective_warn(const struct options *options);

// Warns if $PARALLEL or GNU parallel's file of options has options, because fairpar reads neither (parallel(1), PROFILE FILES).
// To be called for a command line that runs a command.
void option_profile_warn(const struct options *options);
