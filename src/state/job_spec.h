// How the items of a batch become jobs: what many jobs have in common, such as parsed texts and the environment, is made once.

#pragma once

#include "cli/options.h"
#include "manifest/manifest.h"
#include "process/context.h"
#include "slots/control.h"
#include "template/command.h"
#include "template/template.h"

struct run;

// A variable whose value is expanded for each job.
struct variable {
	char *name;
	struct template *value;
};

struct templates {
	struct template **at;
	size_t n;
};

struct job_spec {
	struct template *command;    // NULL: each record is itself a command: its line, or if no shell runs it, its words
	struct templates then;       // the steps after the command
	struct template *on_failure; // or NULL
	struct template *tag;        // or NULL
	struct template *workdir;    // directory of the job, made if it is missing; or NULL: the context's directory
	struct templates transferred, returned; // --transferfile, --return: paths
	char *start;                 // with workdir: the directory that this process runs in
	struct template *creates;    // path of the file that the job creates, relative to the job's directory; or NULL
	struct interpreter by;       // what runs the commands; by.shell is owned
	struct context *context;     // the directory, umask and so on of the jobs; a reference
	char **env;                  // the jobs' environment, without the variables that differ from job to job; the array is owned
	size_t nenv;
	struct buf strings;          // those strings of `env` that the spec owns
	struct variable *vars;       // the variables whose values are expanded for each job; owned
	size_t nvars;
	uint64_t timeout;            // of an attempt, nanoseconds; 0: none
	unsigned attempts;           // the most attempts at each step, the first included; UINT_MAX: no limit
	struct manifest_delay delay; // the pause before each further attempt
	uint64_t memory;             // bytes that a job may take; without a cgroup, bytes that must be available before it starts; 0: no limit
	unsigned width;              // how many slots a job takes
	enum output_kind output;
};

// Makes the spec of the command line's jobs; `names`: the names of the columns. Takes ownership of `shell`. Returns 0, or -1 after a
// message; the caller calls job_spec_fini() in both cases.
int job_spec_from_options(struct job_spec *ret_spec, const struct options *options, struct context *context, char *shell,
                        const struct names *names) FP_NODISCARD;

// Makes a spec for jobs of a manifest's batch. `job`: keys of the batch, or of an entry of `commands`. `command`: NULL if each record is a command.
// `templates`: replacement strings are expanded. Returns 0, or -1 after a message; the caller calls job_spec_fini() in both cases.
int job_spec_from_job(struct job_spec *ret_spec, const struct run *run, const struct manifest_batch *batch,
                      const struct manifest_job *job, const char *command, bool templates) FP_NODISCARD;

// Makes the spec of a job of --add (slots/control.h), whose record has the command's words. Its result is as that of job_spec_from_options().
int job_spec_from_added(struct job_spec *ret_spec, const struct options *options, const struct context *context,
                        const struct control_job *added) FP_NODISCARD;

// Returns the path of the program that runs a manifest's commands with shell syntax: `shell` as the manifest names it (NULL: /bin/sh, not "none").
// With `has_items` the program must read the quotes of a Bourne shell. The caller frees the path. Returns NULL with *ret_error (static text) on
// failure.
char *job_spec_shell(const char *shell, bool has_items, const char **ret_error);

// Appends "NAME=VALUE" and a NUL: a variable of the spec, with its value for one job.
void job_spec_add_variable(struct buf *vars, const struct variable *variable, const struct expansion *x);

// Appends the variables FAIRPAR_ITEM, with the record's arguments joined by blanks as in {}, and FAIRPAR_ITEM_1 and so on, with one argument
// each; a NUL behind each variable.
void job_spec_add_item(struct buf *vars, const struct record *record);

void job_spec_fini(struct job_spec *spec);
void job_spec_free(struct job_spec *spec); // job_spec_fini(), and frees `spec`, which may be NULL

// True if a template of the spec has the trait. Looks only at templates that the command line can set: the command, the steps, on-failure, the
// tag, the directory, the paths of --transferfile and --return.
bool job_spec_any(const struct job_spec *spec, enum template_trait trait);

// Parses one text of the command line. Returns NULL with *ret_failed true after a message.
struct template *job_spec_parse(const char *const *words, size_t n, unsigned flags, const struct names *names,
                              bool *ret_failed);
