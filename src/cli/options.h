// The command line: one option table (options.def) makes struct options, --help, -h and the completions.

#pragma once

#include "cli/option_table.h"
#include "input/input.h"
#include "job/halt.h"
#include "manifest/manifest.h"
#include "process/child.h"
#include "remote/sshlogin.h"
#include "slots/slots.h"
#include "template/template.h"
#include "warm/warm.h"

#include <stdbool.h>

enum mode {
	MODE_RUN,   // jobs of the command line, or of the manifest if there is one: run_all()
	MODE_SEM,   // a command that waits for a semaphore: sem_run()
	MODE_POOL,  // --single, a command in a pool; or --pool --status, a list of what runs in the pool: pool_run()
	MODE_WORKER,// --worker: worker_run()
	MODE_ASK,   // --add, --wait and so on: control_ask()
	MODE_SHOW,  // --check and --list: show_manifest()
	MODE_FROM_LOG, // --from-log: show_log()
	MODE_EXIT,  // the text of --help, --version, --completions or --schema was printed; exit with options.status
	MODE_ERROR, // a message was printed; exit with EXIT_TROUBLE
};

struct manifest;

// --batch NAME=FILE
struct batch_file {
	const char *name;
	const char *path;   // "-" is stdin
};

// --weight B=N, --max-parallel, --rate, --priority, --long-running and --prefer-fairness, in the order given; later settings win.
struct batch_setting {
	enum option_id option;
	const char *pattern; // batch name or glob
	int64_t value;       // N; for --rate, the nanoseconds from one start to the next; for --long-running and --prefer-fairness, true
	bool is_used;        // the name of a batch has matched the pattern
};

// Semaphore mode. option_resolve.c sets `line` and `input`, and `name` if --id is not given.
struct semaphore_options {
	bool is_on;                      // an option about semaphores, except --wait, is given; or fairpar is called sem
	bool foreground;                 // --fg
	bool waits;                      // --wait: there is no command
	bool gives_up;                   // after the timeout fairpar gives up waiting; false: fairpar takes the semaphore by force
	uint64_t timeout;                // nanoseconds, 0: none
	const char *name;                // --id
	const char *input;               // FILE that is the command's standard input, or NULL: fairpar's own
	char *line;                      // the command
};

// The options about a pool of slots.
enum { MOST_POOL_SLOTS = 4096 };
struct pool_options {
	const char *name;                // --pool or $FAIRPAR_POOL; or NULL
	bool no_inherit;                 // --no-inherit: a pool, an outer run or make's jobserver that the environment names is not used
	bool single;                     // --single: the command is options.command
	long width;                      // --slots-per-job
	uint64_t memory;                 // --memory SIZE, which only --single takes; or 0
	const char *memory_text;         // the argument of --memory as given, or NULL
	uint64_t wait;                   // --pool-wait, nanoseconds; or TIME_NEVER
	struct slots_bounds bounds;      // --pool-slots; without that option `most` is 0
	const char *weight_text, *priority_text; // arguments of --weight and --priority that name no batch; or NULL
	long weight, priority;           // these texts as numbers: the weight and priority of this run among the runs in the pool
	enum { POOL_SILENT, POOL_TEXT, POOL_JSON } status; // --status
	enum { SERVE_NOT, SERVE_AUTO, SERVE_FIFO, SERVE_PIPE } jobserver; // --jobserver
};

// A request to a run in progress. The words behind the option are in options.command.
struct control_options {
	const char *run;                 // --run, or NULL
	enum option_id request;          // OPT_ADD, OPT_WAIT, OPT_WAIT_ANY, OPT_CANCEL, OPT_STATUS; or NOPTIONS: there is no request
};

// What is shown while the run goes on.
enum progress {
	PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_NONE, // in the order of the words of --progress
	PROGRESS_ALWAYS,                                            // --progress without a word: tty or plain
};

struct status_options {
	enum progress progress;
	bool bar;
	const char *eta_log;             // LOG of --eta, or NULL
	long total_jobs;                 // 0: the number of jobs is that of the items read
	bool latest_line;
};

// --memory: whether jobs wait for the memory that they are expected to need. MEMORY_AUTO and MEMORY_NONE are in the order of the
// option's words.
enum memory_use { MEMORY_UNSAID, MEMORY_AUTO, MEMORY_NONE };

// The warm mode of a run without --warm. A build may set another default: make warm.
#ifndef WARM_DEFAULT
#define WARM_DEFAULT WARM_AUTO
#endif

enum resume_kind {
	RESUME_NOT,
	RESUME_SEEN,                     // --resume: a job with a row in the joblog is done
	RESUME_FAILED,                   // --resume-failed: a job is done if its row says that it succeeded
	RESUME_RETRY,                    // --retry-failed: the commands come from the log
};

// How many records go into one job. The records of one job are a pack, whose limits follow from this: template/packs.h.
struct packing {
	bool on;             // a job may have several records, or none
	bool spreads;        // -X, -m: the last records are spread over the slots
	bool repeats;        // -X, -N, -L: the word that {} stands in is repeated for each argument
	bool inserts_none;   // -N0: no argument is put into the command
	bool exits;          // -x
	bool by_time;        // --pack=auto: records are put together when a job starts; `on` is not set, `items` is the upper bound
	uint32_t max_args, max_replace, lines, max_lines; // -n, -N, -L, -l as given; else 0
	uint32_t items;      // records in a job at most; 0: no limit
	size_t chars;        // --max-chars, 0: the default
};

struct options {
	int status;                      // exit status of MODE_EXIT
	char **argv;                     // main's
	struct arena texts;              // owns the texts below that are not in argv
	bool given[NOPTIONS];            // which options the command line has: these win over the manifest's keys

	// what to run
	char *const *command;            // template words, in argv; ncommand 0: each record is a command
	size_t ncommand;
	const char **then;               // --then, in order
	size_t nthen;
	const char *on_failure;          // or NULL
	const char *shell;               // --shell, or NULL
	struct tokens tokens;            // the spelling of the replacement strings (-I and so on)
	bool quote;                      // -q
	unsigned shell_quotes;           // --shell-quote: print the commands, quoted this many times; implies dry_run

	// with -f; then nothing under "what to run" and "input" is set
	const char *manifest;            // FILE, "-" is stdin; or NULL
	const char **names;              // names of the batches to run, in argv; without names: all batches
	size_t nnames;
	bool check;                      // --check
	enum manifest_listing listing;   // the form of --list

	struct semaphore_options sem;
	struct pool_options pool;
	struct control_options control;

	// input
	struct source_config *sources;   // -a, then ::: and ::::, or stdin; their items go to the batch of --batch NAME, else to "default"
	size_t nsources;
	struct input_config input;       // how the records of each source are read. As in GNU parallel, colsep
	                                 // is a tab if there is a header and no --colsep, and trim is TRIM_BOTH with --colsep and no --trim
	const char *arg_sep, *arg_file_sep; // used in place of ::: and ::::
	const char *colsep_given;        // --colsep as given, or NULL
	bool header_files;               // --header 0: sources are named after their files
	bool shuffle;
	struct packing packing;
	const char *batch;               // --batch NAME, or NULL
	const char *batch_by;            // or NULL
	struct batch_file *batch_files;
	size_t nbatch_files;
	struct batch_setting *settings;
	size_t nsettings;

	// blocks of data
	enum { PIPE_NOT, PIPE_STREAM, PIPE_PART } pipe; // PIPE_PART: `sources` are the files of --pipe-part
	uint64_t block;                  // --block: bytes
	unsigned block_parts;            // --block -N: how many blocks for each slot; or 0
	const char *recstart, *recend;   // as given, or NULL
	bool regexp, remove_rec_sep;
	bool cat;                        // --cat or --fifo
	bool round_robin;
	bool tee;
	const char *tee_file;           // --pipe-part --tee: the file that each job reads
	uint64_t records, lines;         // -N and -L: how many records or lines a block has; or 0
	const char *header_text;         // --header as given, or NULL

	// scheduling
	const char *jobs;                // -j as given, or NULL; slots_parse() reads the text after the limit of descriptors was raised
	bool fair_time;
	unsigned max_long;
	size_t queue_mem;                // bytes
	uint64_t delay;                  // nanoseconds
	uint64_t ssh_delay;              // --sshdelay, nanoseconds
	bool delay_auto;                 // the delay adapts itself
	const char *load;                // --load as given, or NULL
	size_t memfree, memsuspend;      // bytes, 0: none
	bool noswap;
	enum memory_use memory_use;      // --memory
	enum warm_mode warm;             // --warm
	bool interactive;                // -p

	// jobs
	uint64_t timeout;                // nanoseconds, 0: none
	double timeout_percent;          // of the median run time, 0: none
	unsigned attempts;               // --retries: attempts in all, at least 1; UINT_MAX: no limit
	struct manifest_delay retry_delay;
	int nice;
	struct term_seq term_seq;        // as given, or the default, which is longer with -f
	bool dry_run, print_commands;    // -t
	bool show_commands;              // -v
	bool tty;                        // -o
	const char *workdir;             // or NULL
	const char *own_workdir;         // the template that `--workdir ...` stands for, and to which `workdir` points, too; or NULL
	const char *tmpdir;              // or NULL
	const char *slot_var;            // --process-slot-var, or NULL
	const char **env;                // --env as given: see option_env_has()
	size_t nenv;

	// other machines
	struct sshlogins hosts;          // the machines of -S, --sshloginfile, --launch and --slurm; none, or only ":": all jobs run on this machine
	bool machines_are_known;         // `hosts` and `slurm` are complete: the key `slurm` of a manifest has been read
	struct host_sources *host_sources; // the options and files that name machines over ssh: see options_hosts_changed(); or NULL
	const char *ssh;                 // --ssh, or NULL
	bool at_most_once;
	const char **transferred, **returned, **basefiles; // --transferfile, --return, --basefile as given
	size_t ntransferred, nreturned, nbasefiles;
	bool transfers_item;             // --transfer
	bool cleans_up;                  // --cleanup
	bool onall, nonall;              // --onall, which --nonall sets, too
	unsigned machines;               // --onall: how many machines work at once; 0: all
	const char *worker_left;         // --worker: how long the worker may still run, as given, or NULL
	uint64_t worker_seconds;         // `worker_left` in seconds; 0: no limit
	const char *slurm;               // --slurm outside an allocation: options of the pilots, "" for none; or NULL
	long pilots;                     // --slurm-pilots: the most pilots at once
	const char *pilot_name;          // the name that pilots have as jobs of Slurm; NULL: there are no pilots
	char own_jobs[SSHLOGIN_JOBS_TEXT]; // the number of jobs that -S N/: gives this machine, as text; `jobs` then points to it

	// output and outcome
	enum output_kind output;
	bool output_given;               // `output` comes from an option (also --dry-run or --tty), and wins over the manifest's key
	bool keep_order;
	bool color_failed;
	bool tag;
	const char *tagstring;           // --tagstring, its escapes translated; NULL: the tag is the item (--onall: the machine). Used only with `tag`
	struct halt halt;
	int stop_signal;                 // the signal after which no more jobs start, or 0
	enum exit_scheme exit_scheme;
	bool quiet;
	struct status_options show;
	const char *trace_service;       // FILE, or NULL

	// joblog
	const char *joblog;              // FILE without its "+", "-" is stdout; or NULL
	bool joblog_append;              // +FILE
	enum resume_kind resume;

	// looking at a run
	enum { SUMMARY_AUTO, SUMMARY_ALWAYS, SUMMARY_NEVER } summary; // --quiet means never, too, unless --summary is given
	const char *from_log;            // or NULL
	const char **reports;            // --report: the names of the files; the texts are in argv
	size_t nreports;
	const char *trace;               // --trace: FILE, "-" is stdout; or NULL

	// log of events
	const char *log;                 // FILE, "-" or "fd:N"; or NULL
	bool log_output;

	// results
	const char *results;             // --results, or NULL
	bool files;                      // --files or --files0
	bool files_nul;                  // --files0: a NUL behind each name
};

// Parses the command line. Prints its own messages: usage errors name the option, the cause and the nearest option.
// argv is kept: it must live as long as the options. Fills *ret_options in every mode.
enum mode options_parse(struct options *ret_options, int argc, char *argv[]);

// Frees what the options own.
void options_fini(struct options *options);

// Stores in *attrs the values of the settings whose pattern matches the batch's name, and marks these settings as used; later settings win.
void option_settings_apply(const struct options *options, const char *name, struct queue_attrs *attrs);

// ---- option_files.c: the files that options name ----

// Returns the descriptor N that the name "fd:N" means; BAD_FD if N is no number, NO_FD if the name does not begin with "fd:".
enum { NO_FD = -1, BAD_FD = -2 };
int option_log_fd(const char *name);

// True if --results PATH asks for a table, because PATH ends in .csv, .tsv or .json, in any case.
bool option_results_is_table(const char *path);

// Checks, before any file is opened, that no file is written for two options, or read for one and written for another. Only --eta and
// --log may name the same file, because --eta reads it before --log empties it. With a `path`, checks only that no option writes the
// file of that path, which is to be read; messages call this file `name` ("the items of …"). Returns 0, or -1 after a message.
int option_files_check(const struct options *options, const char *name, const char *path);

// ---- option_hosts.c ----

// True if jobs on other machines get the variable ("NAME=VALUE" or "NAME"), because --env names it, or names the function of bash
// that is exported as this variable.
bool option_env_has(const struct options *options, const char *variable);

// options_hosts_have_file() returns whether a regular file was read for -S or --sshloginfile, options_hosts_changed() whether
// such a file has changed since the last call of options_hosts_changed(). Only one thread at a time may call this function or options_hosts_read().
bool options_hosts_have_file(const struct options *options);
bool options_hosts_changed(const struct options *options);

// Reads the machines of -S and --sshloginfile again, as for options.hosts, but not those of --launch and --slurm. Returns 0; or -1 with
// *ret_error, a whole message (caller frees): a file cannot be read, or there are no machines. The caller frees the list in any case.
int options_hosts_read(const struct options *options, struct sshlogins *ret_list, char **ret_error) FP_NODISCARD;

// ---- option_resolve.c ----

// True if the words of a command have probably lost their quotes, because a shell of the user has read them once and a job's shell
// reads them again: behind a word that begins with a dash stands a word that this shell would split, as in sh -c 'cd /; pwd'.
bool options_words_lost_quotes(char *const *words, size_t n);

#define LOST_QUOTES_HINT "hint: a shell reads these words again: quote them once more, or use -q"

// Whether -j is auto on the command line.
static inline bool options_jobs_auto(const struct options *options) {
	return options->jobs && slots_is_auto(options->jobs);
}

// Whether fairpar learns how much memory jobs need, and starts a job only when that much is available: with --memory=auto, or with -j auto
// (`is_auto`) and no --memory.
static inline bool options_learn_memory(const struct options *options, bool is_auto) {
	return options->memory_use == MEMORY_AUTO || (options->memory_use == MEMORY_UNSAID && is_auto);
}

// True if a job may have to wait for the load or the memory of this machine.
static inline bool options_watch_machine(const struct options *options) {
	return options->load || options->memfree > 0 || options->memsuspend > 0 || options->noswap;
}

// True if --report or --trace asks for pictures of the run.
static inline bool options_want_pictures(const struct options *options) {
	return options->nreports > 0 || options->trace;
}

// Loads options->manifest, selects the batches that options->names names, and sets options->slurm and options->jobs by the manifest's
// keys `slurm` and `slots`: these texts are the manifest's, and must not be used once it is freed. Prints errors and warnings on stderr;
// *ret_unwritten: they could not be written. Returns the manifest, which the caller frees with manifest_free(), or NULL after a message.
struct manifest *options_load_manifest(struct options *options, bool *ret_unwritten) FP_NODISCARD;
