// A manifest: named batches read from a YAML file, checked in full before anything runs.
//
// The meaning of the keys for users is in src/manifest/keys.def and fairpar-manifest(5). Here their values are typed, with the
// defaults applied, so that the code that runs a manifest need not ask whether a key was written.
//
// Replacement strings: in a batch that has items (manifest_batch_has_items()), `run`, `then`, `on_failure`, `creates` and the
// values of `env` are templates; the axes of a matrix are the named columns, in their order. In a batch without items
// all texts are taken as they are written. `finally` and all other texts are never templates.
//
// Paths: `working_dir` is relative to the manifest's directory (manifest->dir), as written. All other paths of a batch
// (in file, file0, glob, command, creates) are relative to its working directory.

#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "engine/pool.h"
#include "template/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MANIFEST_DEPTH = 64,         // the most levels of nesting
	MANIFEST_BYTES = 64 << 20,   // the most bytes of a file
	MANIFEST_VALUES = 1000000,   // the most values in a file (a value counts again for each alias that leads to it), and combinations of a matrix
	MANIFEST_ERRORS = 20,        // how many errors are shown, and how many warnings
};

struct manifest_texts {
	const char *const *at;
	size_t n;
};

struct manifest_pair {
	const char *name, *value;
};

// The variables of one key `env`: of a command, a batch, the defaults or the top. They hide variables of the same names in the layers below.
struct manifest_env {
	const struct manifest_env *under;   // the next lower layer, or NULL
	const struct manifest_pair *pairs;  // no name twice
	size_t n;
};

// Pauses before extra attempts: the first pause takes `first_ns`; each further pause is `factor` times as long as the last, at most `max_ns`.
struct manifest_delay {
	uint64_t first_ns, max_ns;          // first_ns 0: no pause
	double factor;                      // 1 or more
};

enum manifest_fair { MANIFEST_TURNS, MANIFEST_TIME };
#define MANIFEST_FAIR_WORDS "turns time" // in the order of enum manifest_fair
enum output_kind { OUTPUT_GROUP, OUTPUT_LINE_BUFFER, OUTPUT_UNGROUP }; // in the order of the words of the key `output`

// The settings of jobs: of all jobs of a batch, or of the job of one entry of `commands`.
struct manifest_job {
	struct manifest_texts then;         // the steps after `run`
	const char *on_failure;             // or NULL
	const char *creates;                // or NULL
	const struct manifest_env *env;     // or NULL
	const char *working_dir;            // or NULL: where fairpar was started
	const char *shell;                  // a program, or NULL: /bin/sh; "none": no shell, words_split() splits the commands
	uint64_t timeout_ns;                // of an attempt of a step; 0: none
	uint64_t memory;                    // bytes; 0: no limit
	struct manifest_delay retry_delay;
	int umask;                          // or -1: as fairpar's
	int nice;                           // added to fairpar's
	int retries;                        // attempts after the first
	int slots_per_job;
};

struct manifest_command {
	const char *run;
	const struct manifest_job *job;     // the settings of the batch, unless the entry has keys of its own
	uint32_t line;
};

enum manifest_source {
	MANIFEST_NONE,                      // no items of its own: one job, `commands`, or only items that other batches emit
	MANIFEST_ARGS,
	MANIFEST_MATRIX,
	MANIFEST_FILE,                      // lines; this source and those below are in the order of the keys of `args_from`
	MANIFEST_FILE0,                     // items that end with a NUL
	MANIFEST_GLOB,                      // see glob_expand()
	MANIFEST_COMMAND,                   // lines that a command prints; the batch's shell runs it
	MANIFEST_STDIN,                     // lines; at most one batch has it
};

// Combinations of the axes' values, the last axis varying fastest, without the excluded combinations; never empty.
struct manifest_matrix {
	struct names names;                 // the names of the axes: [A-Za-z_][A-Za-z0-9_]*
	struct manifest_texts *values;      // the values of each axis
	const uint32_t *rows;               // numbers of combinations, see manifest_matrix_value()
	size_t nrows;
};

struct manifest_batch {
	const struct manifest_job *job;     // the settings of its jobs; shared with other batches, unless this batch has keys of a job
	const char *name;
	const char *description;            // or NULL
	const char *run;                    // or NULL: the jobs are those of `commands`
	const struct manifest_command *commands;
	size_t ncommands;
	enum manifest_source source;
	const char *source_text;            // the file, pattern or command of `args_from`
	struct manifest_texts args;
	struct manifest_matrix matrix;
	struct manifest_texts hosts;        // names of machines of the run and @GROUPs; empty: all machines
	struct manifest_batch *const *needs;    // batches that must have succeeded before this batch starts, or have failed with allow_failure
	size_t nneeds;
	struct manifest_batch *emits;           // or NULL
	struct manifest_batch *feeders;         // the first of the batches that emit into this batch (may be this batch), or NULL
	struct manifest_batch *next_feeder;     // the next batch, in the order of the file, that emits into the same batch as this batch; or NULL
	size_t nfeeders;
	const char *finally;                // or NULL
	struct queue_attrs attrs;           // attributes of the batch's queue, from the keys
	int output;                         // enum output_kind
	bool allow_failure;
	bool selected;                      // set by manifest_select(); before that call all batches are selected
	uint32_t line;                      // the line of the file at which the batch begins
};

struct manifest {
	const char *path;                   // as given, for messages
	const char *dir;                    // directory of `path`: "." if the path has none, or names no regular file (a pipe, /dev/fd/N)
	const char *name;                   // or NULL
	const char *slots;                  // text for -j, or NULL
	const char *slurm;                  // options of --slurm, or NULL
	int fair;                           // enum manifest_fair
	bool fail_fast;
	const struct manifest_env *env;     // variables of the top level, the lowest layer for every batch
	struct manifest_batch *batches;     // in the order of the file; at least one
	size_t nbatches;
	struct map index;                   // batches by name
	struct arena arena;                 // owns all of the manifest
};

// Reads and checks the file ("-" is stdin); opens none of the files that the manifest names. Returns the manifest, which
// manifest_free() frees, or NULL after errors. Appends complete lines for the user to `messages`: warnings, or errors and at
// last "fairpar: N errors in FILE, nothing was run".
struct manifest *manifest_load(const char *path, struct buf *messages);

// As manifest_load(), for bytes in memory with a NUL behind them; the bytes are not kept. `path` is for messages.
struct manifest *manifest_parse(const char *path, const char *data, size_t len, struct buf *messages);

// Frees the manifest, which may be NULL, and all that it points to.
void manifest_free(struct manifest *manifest);

// Returns the batch of that name, or NULL.
struct manifest_batch *manifest_find(const struct manifest *manifest, const char *name);

// Selects the batches with these names and, in turn, the batches that a selected batch needs or emits into. If a batch is named or needed and
// has no items of its own, the batches that emit its items are selected, too. Without names, all batches are selected.
// Returns 0; or -1 if one of the names is not the name of a batch: then appends a message (no newline) to `error`, and keeps the selection as it was.
int manifest_select(struct manifest *manifest, const char *const *names, size_t n, struct buf *error);

// True if the batch has items, of its own or from other batches that emit into it: then its texts are templates.
bool manifest_batch_has_items(const struct manifest_batch *batch);

// Returns how many jobs the batch has, not counting jobs from emitted items; SIZE_MAX if this number is known only when the batch runs.
size_t manifest_batch_jobs(const struct manifest_batch *batch);

// Returns the value of that axis in that row, borrowed.
const char *manifest_matrix_value(const struct manifest_matrix *matrix, size_t row, size_t axis);

// Reads TIME[,FACTOR[,MAX]], with the meaning and the bounds of the key retry_delay. TIME and MAX may be in the syntax of options or in that of a
// manifest, and FACTOR may be empty. Returns 0; or -1 with what the text must be in *ret_error (static), and *ret_delay unchanged.
int manifest_delay_parse(const char *text, struct manifest_delay *ret_delay, const char **ret_error);

// Returns the pause before the extra attempt `n` (from 1), in nanoseconds.
uint64_t manifest_delay_ns(const struct manifest_delay *delay, unsigned n);

// True if `entry`, "NAME" or "NAME=VALUE", is one of the variables that fairpar sets for each job.
bool manifest_env_is_set_for_each(const char *entry);

// Sets *ret_pairs to the variables of all layers, the lowest layer first; of a name in several layers, only the highest layer's value. Returns their
// number. The caller frees the array; its texts are borrowed.
size_t manifest_env_pairs(const struct manifest_env *env, struct manifest_pair **ret_pairs);

enum manifest_listing {
	MANIFEST_PLAIN,  // a line for each batch: name, number of jobs, the batches that it waits for, description
	MANIFEST_NAMES,  // a line for each batch: its name
	MANIFEST_DOT,    // a graph for graphviz, with solid edges for `needs` and dashed edges for `emits`
};

// Appends the list of the selected batches to `buf`.
void manifest_list(const struct manifest *manifest, enum manifest_listing listing, struct buf *buf);

// Appends the JSON Schema (draft-07) of a manifest.
void manifest_schema(struct buf *buf);
