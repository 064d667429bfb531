// The machines of -S, --sshloginfile and --launch: reads GNU parallel's lists of machines, and makes the command line that starts a
// worker on a machine.
//
// A machine is written [@GROUP+GROUP/][N/][SSH COMMAND ][USER@]HOST[:PORT]. All is pure: files are read by a call-back, and nothing is started.

#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sshlogin_kind {
	SSHLOGIN_LOCAL,   // ":": this machine, without a worker
	SSHLOGIN_SSH,     // over ssh, or the command that stands in its place
	SSHLOGIN_LAUNCH,  // --launch: a command with {} for the worker's command line
};

// A machine. All texts are owned by the list, and live as long as it does.
struct sshlogin {
	enum sshlogin_kind kind;
	bool is_pilot;    // SSHLOGIN_LAUNCH: a job of Slurm, to be asked for while there is work
	bool is_slurm;    // the machine's worker runs in a job of Slurm
	unsigned cpus;    // N of N/HOST, used in place of the machine's number of CPUs; 0: there is no N, or it is 0
	bool has_no_cpus; // N is 0: the machine has slots only if --jobs is a number or +N
	char *name;       // GNU parallel's {sshlogin} and joblog's Host: ":", "user@host:2222", "/usr/bin/ssh -p 22 host"; with --launch the command
	                  // without the {}, and with " (2)" if an earlier machine has it, etc. No two machines of the list have the same name
	char *host;       // GNU parallel's {host}: without user, port, brackets, command; with --launch `name` without " (2)"
	char *user, *port; // or NULL
	char *command;    // the machine's own command in place of ssh, text for sh; or NULL. With --launch: the whole command, with {}
	struct buf groups; // the groups that the machine is in: "a\0b\0", a NUL behind each
};

struct sshlogins {
	struct sshlogin *logins;
	size_t n, cap;
	struct buf wanted; // the groups of the arguments that are "@GROUP" and nothing else, as sshlogin.groups; for sshlogins_apply_groups()
};

// What messages call the machine. Returns text that lives as long as the login.
static inline const char *sshlogin_shown(const struct sshlogin *login) {
	return login->kind == SSHLOGIN_LOCAL ? "this machine" : login->name;
}

#define SSHLOGINS_INIT {NULL, 0, 0, BUF_INIT}

void sshlogins_fini(struct sshlogins *list);

// Reads the file that a list names: "-" is stdin, "." and ".." are GNU parallel's own files, else a path. Appends the file's text and
// returns 0; or returns -1 with *ret_error, a whole message (caller frees).
typedef int sshlogin_reader(void *arg, const char *name, struct buf *ret_text, char **ret_error);

// Adds the machines of one argument of -S, separated by commas or newlines (\, and ,, stand for a comma); ".." and "-" are files, read by `read`.
// A machine whose name is in the list is not added again, but its N, if not 0, replaces the old N, as in GNU parallel.
// Returns 0, or -1 with *ret_error, a whole message (caller frees).
//
// `is_file`: the text is the name of a file (of --sshloginfile), with one or more machines on each line. Empty lines are skipped, and so are
// comments: from a # at the beginning of a line or behind a blank to the end of the line.
int sshlogins_add(struct sshlogins *list, const char *text, bool is_file, sshlogin_reader *read, void *arg, char **ret_error) FP_NODISCARD;

// Adds a machine of --launch; `text` is its command. `name`: its name; if a machine of the list has this name, nothing is added. NULL: its name is
// made of `text` (sshlogin.name). `cpus`: as sshlogin.cpus. Returns 0, or -1 with *ret_error: `text` is not one line with one {}.
int sshlogins_add_launch(struct sshlogins *list, const char *name, unsigned cpus, const char *text, char **ret_error) FP_NODISCARD;

// If "@GROUP" has named groups, removes the machines that are in none of them. Then removes machines without a slot, as GNU parallel does: 0/HOST
// has none if --jobs counts by CPUs, which is the default. `jobs`: the text of --jobs, or NULL. Returns 0, or -1 with *ret_error if it has
// removed all.
int sshlogins_apply_groups(struct sshlogins *list, const char *jobs, char **ret_error) FP_NODISCARD;

// Returns the machine of that name, unless it is one of --launch; or NULL.
struct sshlogin *sshlogins_find(const struct sshlogins *list, const char *name);

// Returns whether `name` is the name of the machine, with or without the user and the port; or "@GROUP", for a group that it is in.
bool sshlogin_matches(const struct sshlogin *login, const char *name);

// True if the list has a machine other than this machine.
bool sshlogins_has_remote(const struct sshlogins *list);

// How a worker is started.
struct sshlogin_worker {
	const char *ssh;      // --ssh, or NULL: $PARALLEL_SSH, else ssh
	const char *jobs;     // -j as given, or NULL
	const char *term_seq; // --term-seq, or NULL
	const char *load;     // --load, or NULL
	uint64_t memfree;     // --memfree, bytes, or 0
	const char *memory;   // the --memory of the worker: "auto" or "none"; or NULL
	const char *program;  // $FAIRPAR_REMOTE, the path of fairpar there ("~/…" is below the login directory), not empty; or NULL: with --launch the
	                      // path is `self`, else fairpar is searched for
	const char *self;     // path of this program
	const struct program_copy *copy; // the program for machines without a fairpar; or NULL
};

// Appends the words of the command that starts the worker, a NUL behind each. The first word is a program to be looked for in PATH. The command's
// stdin and stdout are the connection. With ssh the last word is a script that sh, csh and fish read alike. If the machine has no fairpar, the
// script requests `copy` (dispatcher_end.h), keeps it below ~/.cache/fairpar, and finds it there the next time. Returns 0, or -1 with *ret_error
// (caller frees): `program` or `self` has characters other than letters, digits and "_./+,:@%-"; or sshlogin_jobs() has failed.
int sshlogin_argv(const struct sshlogin *login, const struct sshlogin_worker *worker, struct buf *words, char **ret_error) FP_NODISCARD;

// Sets ret_text to the -j for the worker: "" for the default, one slot for each CPU. A number of jobs counts for each machine, as in GNU
// parallel; +N, -N and N% are computed by login->cpus if that is given, else by the worker. With auto the worker decides, unless login->cpus is given.
// Returns 0; or -1 if `jobs` says anything else (a file), which the caller has to resolve.
enum { SSHLOGIN_JOBS_TEXT = 24 };
int sshlogin_jobs(const struct sshlogin *login, const char *jobs, char ret_text[SSHLOGIN_JOBS_TEXT]) FP_NODISCARD;

// ---- program_copy.c: the copy of fairpar that is sent to a machine which has none ----

struct program_copy {
	char *path;      // of the file on this machine; owned
	uint64_t size;   // bytes; 0: there is no file
	char name[40];   // name of the copies on other machines, made from the file's size and time: letters, digits and '-'
	bool is_static;   // the file is `fairpar-static`, which needs no libraries
	int fd;          // of the file, once a machine has requested it; -1 before
	uint64_t length, left; // length of the file when it was opened; how many of its bytes are not in `crc` yet
	uint32_t crc;    // the checksum of cksum(1) so far
};

// Finds the file to send: `fairpar-static`, which needs no libraries on the other machine, beside the program at `self`; else the program itself.
// If stat(2) fails for both files, size is 0. program_copy_fini() frees what the copy holds.
void program_copy_find(const char *self, struct program_copy *ret_copy);

void program_copy_fini(struct program_copy *copy);

// Opens the file for a machine's request. `machine`: its uname -sm. Returns 0; or -1 with *ret_why: the file is for another kind of machine, or
// cannot be read.
int program_copy_open(struct program_copy *copy, const char *machine, struct buf *ret_why) FP_NODISCARD;

// Writes the next piece of the answer to a machine's request into the pipe `to`, which is non-blocking: first a line with the output of cksum(1),
// then the bytes of the file. *at is how many bytes of the answer were written so far; the call adds its own. The first calls compute the checksum
// instead, once for all machines, also piece by piece. Returns 1 if more is to be written; 0 if all was written; or -1 with *ret_why, which
// stays empty if nobody reads the pipe any more.
int program_copy_send(struct program_copy *copy, uint64_t *at, int to, struct buf *ret_why) FP_NODISCARD;
