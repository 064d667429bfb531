// The machines of -S, --sshloginfile and --launch: read from GNU parallel's lists, and the command line that brings a worker to life
// on one of them.
//
// [@GROUP+GROUP/][N/][SSH COMMAND ][USER@]HOST[:PORT]. All is pure: files are read by a call-back, and nothing is started.

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
	bool is_slurm;    // its worker is in a job of Slurm
	unsigned cpus;    // N of N/HOST, used in place of the number of its CPUs; 0: not given, or
	bool has_no_cpus; // 0/HOST: it has slots only by a --jobs that is a number or +N
	char *name;       // GNU parallel's {sshlogin} and joblog's Host: ":", "user@host:2222", "/usr/bin/ssh -p 22 host"; of --launch
	                  // its command without the {}. One of a kind in the list, but with --launch
	char *host;       // GNU parallel's {host}: without user, port, brackets, command; of --launch as name
	char *user, *port; // or NULL
	char *command;    // of its own in place of ssh, text for sh; or NULL. Of --launch: its text, with {}
	struct buf groups; // that it is in: "a\0b\0", a NUL behind each
};

struct sshlogins {
	struct sshlogin *logins;
	size_t n, cap;
	struct buf wanted; // groups that an "@GROUP" alone has named, as `groups`; until sshlogins_apply_groups()
};

#define SSHLOGINS_INIT {NULL, 0, 0, BUF_INIT}

void sshlogins_fini(struct sshlogins *list);

// Reads the file that a list names: "-" is stdin, "." and ".." GNU parallel's own files, else a path. Appends what it holds and
// returns 0; or returns -1 with *ret_error, a whole message (caller frees).
typedef int sshlogin_reader(void *arg, const char *name, struct buf *ret_text, char **ret_error);

// Adds the machines of one argument of -S, separated by commas or newlines (\, and ,, are a comma); ".." and "-" are files, read by
// `read`. One that is there already (by its name) is not added again, but its N is taken over, as GNU parallel does.
// Returns 0, or -1 with *ret_error, a whole message (caller frees).
//
// `is_file`: the text is the name of a file (of --sshloginfile), which has one or more a line. Empty lines are skipped, and so is a comment: # at
// the beginning of a line or behind a blank, and the rest of that line.
int sshlogins_add(struct sshlogins *list, const char *text, bool is_file, sshlogin_reader *read, void *arg, char **ret_error) FP_NODISCARD;

// Adds one of --launch. `name`: its name, and nothing is added if there is one of that name; or NULL: the text without the {}, and each is a
// machine of its own, also where two are alike. `cpus`: as sshlogin.cpus. Returns 0, or -1 with *ret_error: the text does not hold {} once.
int sshlogins_add_launch(struct sshlogins *list, const char *name, unsigned cpus, const char *text, char **ret_error) FP_NODISCARD;

// Removes the machines that are in no group that "@GROUP" named, where one was named, and then those without a slot, as GNU parallel
// does: 0/HOST has none where --jobs counts by CPUs, which is the default. `jobs`: the text of --jobs, or NULL. Returns 0, or -1 with
// *ret_error if it has removed all.
int sshlogins_apply_groups(struct sshlogins *list, const char *jobs, char **ret_error) FP_NODISCARD;

// The machine of that name, of those that are not of --launch; or NULL.
struct sshlogin *sshlogins_find(const struct sshlogins *list, const char *name);

// Whether that is its name, with or without the user and the port; or, as "@GROUP", a group that it is in.
bool sshlogin_matches(const struct sshlogin *login, const char *name);

// True if a machine of the list is not this one.
bool sshlogins_has_remote(const struct sshlogins *list);

// How a worker is started.
struct sshlogin_worker {
	const char *ssh;      // --ssh, or NULL: $PARALLEL_SSH, else ssh
	const char *jobs;     // -j as given, or NULL
	const char *term_seq; // --term-seq, or NULL
	const char *load;     // --load, or NULL
	uint64_t memfree;     // --memfree, bytes, or 0
	const char *program;  // $FAIRPAR_REMOTE, path of fairpar there ("~/…" is below the login directory), not empty; or NULL: it is searched
	                      // for, but with --launch it is `self`
	const char *self;     // path of this program
	const struct program_copy *copy; // for machines without a fairpar; or NULL
};

// Appends the words of the command that starts the worker, each with its NUL. The first is a program to be
// looked for in PATH. Its stdin and stdout are the connection. With ssh the last word is one text that sh, csh and fish read alike; where no
// fairpar is there it requests `copy`, as dispatcher_end.h has it, keeps it below ~/.cache/fairpar, and finds it there the next time.
// Returns 0, or -1 with *ret_error, a whole message (caller frees): `program` has more than letters, digits and "_./+,:@%-".
int sshlogin_argv(const struct sshlogin *login, const struct sshlogin_worker *worker, struct buf *words, char **ret_error) FP_NODISCARD;

// What the worker gets as its -j: "" for its default, which is as many as it has CPUs. A number of jobs counts for each machine, as
// GNU parallel has it; +N, -N and N% are by `cpus` if that is given, else left to the worker. What else `jobs` says (a file, auto)
// is the caller's to resolve: -1.
enum { SSHLOGIN_JOBS_TEXT = 24 };
int sshlogin_jobs(const struct sshlogin *login, const char *jobs, char ret_text[SSHLOGIN_JOBS_TEXT]) FP_NODISCARD;

// ---- program_copy.c: the copy of fairpar that is sent to a machine which has none ----

struct program_copy {
	char *path;      // of the file here; owned
	uint64_t size;   // bytes; 0: there is no file
	char name[40];   // of its copies there, from its size and time: letters, digits and '-'
	bool is_static;   // it is `fairpar-static`, which needs no libraries
};

// Finds the file to send: `fairpar-static` beside the program at `self`, which needs no libraries there; else that program. Where stat(2) fails
// for both, size is 0. The caller frees the path.
void program_copy_find(const char *self, struct program_copy *ret_copy);

// Appends the answer to a machine's request: a line with the output of cksum(1), then the bytes of the file. `machine`: its uname -sm. Returns
// 0, or -1 with *ret_why: the file is for another kind of machine, or cannot be read.
int program_copy_read(const struct program_copy *copy, const char *machine, struct buf *ret_bytes, struct buf *ret_why) FP_NODISCARD;

// The checksum of the bytes by POSIX's cksum(1).
uint32_t program_copy_cksum(const void *bytes, size_t n);
