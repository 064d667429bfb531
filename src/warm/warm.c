// Warm programs: which servers a worker has, and which jobs they start.

#include "warm/warm.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sync.h"
#include "warm/client.h"
#include "warm/fitness.h"

#include <string.h>
#include <sys/stat.h>

enum {
	PROGRAMS_MAX = 8,  // known at a time
	AUTO_AFTER = 6,    // a server costs about as much as one execution and saves more than half of each
	CROWDED_AFTER = 1, // where another program has to give up its place
	DEATHS_MAX = 3,    // servers of a program; whoever kills them shall have his will
	REFRESH_MS = 100, // at what others may have changed: a hundredth of a job's cost, where these are the shortest
};

// A program in one context: umask, limits, niceness, ignored signals.
struct warm_program {
	char *path;
	struct context context;    // of it, the fields above
	struct warm_server *server;     // or NULL
	const char *why;           // there is none, for good; static text, or NULL
	struct stat file;          // as it was when the server was started
	uint64_t env;              // of the server: hash_env()
	uint64_t inherited;        // by the server: inherited.hash
	unsigned executions;       // left until it gets a server
	unsigned deaths;
	uint64_t used;             // by warm.clock
};

struct warm {
	enum warm_mode mode;
	bool by_shell;             // of the job that is started
	struct shared_table table;
	struct warm_program programs[PROGRAMS_MAX];
	uint64_t clock;
	struct inherited inherited; // by what would be started now, as it was found at:
	uint64_t refreshed;        // when `inherited` was read, by now_ns(); 0: not yet
	struct starter starter;
	const char *why;           // of the last job; NULL: it was warm
	bool is_asked;             // whether that is worth a word
	struct buf report;
};

static const char too_few[] = "not executed often enough";

static void program_fini(struct warm_program *program) {
	warm_server_close(program->server);
	free(program->path);
	*program = (struct warm_program){.path = NULL};
}

static void drop_server(struct warm_program *program) {
	warm_server_close(program->server);
	program->server = NULL;
}

static bool same_context(const struct context *a, const struct context *b) {
	return a->umask == b->umask && a->nice == b->nice && a->nofile.rlim_cur == b->nofile.rlim_cur
		&& a->nofile.rlim_max == b->nofile.rlim_max && memcmp(&a->ignored, &b->ignored, sizeof(a->ignored)) == 0;
}

// The program of the job, which takes the place of the one that was used longest ago if it is new.
static struct warm_program *find_program(struct warm *warm, const struct spawn_config *job) {
	struct warm_program *oldest = &warm->programs[0];
	++warm->clock;
	for (struct warm_program *one = warm->programs; one < warm->programs + PROGRAMS_MAX; ++one) {
		if (one->path && strcmp(one->path, job->path) == 0 && same_context(&one->context, job->context)) {
			one->used = warm->clock;
			return one;
		}
		oldest = one->used < oldest->used ? one : oldest;
	}
	unsigned after = warm->mode == WARM_AUTO ? AUTO_AFTER : oldest->path ? CROWDED_AFTER : 0;
	program_fini(oldest);
	*oldest = (struct warm_program){
		.path = xstrdup(job->path),
		.context = {.umask = job->context->umask, .nice = job->context->nice, .nofile = job->context->nofile,
		            .ignored = job->context->ignored},
		.executions = after,
		.used = warm->clock,
	};
	return oldest;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size
		&& memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 && memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

// A file that was replaced is another program. Returns why it cannot be a server, or NULL.
static const char *check_file(struct warm_program *program) {
	struct stat st;
	if (stat(program->path, &st) != 0) {
		return "its file is gone";
	}
	if (program->server && !is_same_file(&st, &program->file)) {
		drop_server(program);
	}
	program->file = st;
	return program->why;
}

// Why this job cannot come from a server, whatever its program, or NULL.
static const char *refuse_job(const struct warm *warm, const struct spawn_config *job) {
	if (warm->table.fd < 0) {
		return "there is no guardian";
	}
	if (job->path[0] != '/') {
		return "the path of its program is relative";
	}
	return fitness_refusal_env(job->env);
}

// A number for what libraries may read before main() of the environment: not what differs from job to job anyway. Shells read
// nothing so early.
static uint64_t hash_env(char *const *env) {
	uint64_t hash = 0;
	for (; *env; ++env) {
		if (strncmp(*env, "FAIRPAR_", 8) == 0 || strncmp(*env, "PARALLEL_", 9) == 0 || strncmp(*env, "PWD=", 4) == 0) {
			continue;
		}
		hash = hash_bytes(*env, strlen(*env) + 1, hash);
	}
	return hash;
}

// A server has inherited what fairpar was like; of a job that is executed it is what fairpar is like now. To ask for each job would
// cost too much.
static void refresh_inherited(struct warm *warm, uint64_t max_age_ms) {
	uint64_t now = now_ns();
	if (!warm->refreshed || now - warm->refreshed >= max_age_ms * NS_PER_MS) {
		inherited_read(&warm->inherited);
		warm->refreshed = now;
	}
}

// Returns why there is none, or NULL.
static const char *open_server(struct warm *warm, struct warm_program *program, const struct spawn_config *job) {
	program->why = fitness_refusal(program->path);
	if (program->why) {
		return program->why;
	}
	refresh_inherited(warm, 0); // before it starts: what is changed from now on is found later
	program->inherited = warm->inherited.hash;
	program->server = warm_server_open(job, warm->by_shell, &warm->table, &program->why);
	return program->why;
}

// Has the program a server, or gets it one? Else says why not.
static const char *refuse_program(struct warm *warm, struct warm_program *program, const struct spawn_config *job) {
	if (program->executions > 0) {
		--program->executions;
		return too_few;
	}
	const char *why = check_file(program);
	uint64_t env = why || warm->by_shell ? 0 : hash_env(job->env);
	if (program->server && env != program->env) {
		return "its environment is not that of the server";
	}
	if (why) {
		return why;
	}
	refresh_inherited(warm, REFRESH_MS);
	why = inherited_refusal(&warm->inherited, job->context);
	if (why) {
		return why;
	}
	if (program->server && program->inherited != warm->inherited.hash) {
		drop_server(program);
	}
	program->env = env;
	return program->server ? NULL : open_server(warm, program, job);
}

// A starter.start.
static pid_t start(void *arg, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error) {
	struct warm *warm = arg;
	warm->why = refuse_job(warm, job);
	struct warm_program *program = warm->why ? NULL : find_program(warm, job);
	warm->why = program ? refuse_program(warm, program, job) : warm->why;
	if (warm->why) {
		return spawn(job, ret_pidfd, ret_error);
	}
	const char *lost;
	pid_t pid = warm_server_start(program->server, job, ret_pidfd, ret_error, &lost);
	if (pid == 0) {
		warm->why = lost ? lost : "its arguments and environment are too long";
	}
	if (lost) {
		drop_server(program);
		program->why = ++program->deaths < DEATHS_MAX ? NULL : lost;
	}
	return pid == 0 ? spawn(job, ret_pidfd, ret_error) : pid;
}

struct warm *warm_create(enum warm_mode mode, struct children *children) {
	if (mode == WARM_OFF || (mode == WARM_AUTO && server_so_size == 0)) {
		return NULL;
	}
	struct warm *warm = NEW(struct warm);
	warm->mode = mode;
	warm->table.fd = children_table(children, &warm->table.start, &warm->table.size);
	warm->starter = (struct starter){.start = start, .arg = warm};
	return warm;
}

void warm_destroy(struct warm *warm) {
	if (warm) {
		for (size_t i = 0; i < PROGRAMS_MAX; ++i) {
			program_fini(&warm->programs[i]);
		}
		buf_fini(&warm->report);
		free(warm);
	}
}

const struct starter *warm_starter(struct warm *warm, bool by_shell) {
	if (!warm) {
		return NULL;
	}
	warm->by_shell = by_shell;
	warm->is_asked = by_shell || warm->mode == WARM_ALL;
	warm->why = NULL;
	return warm->is_asked ? &warm->starter : NULL;
}

const char *warm_report(struct warm *warm) {
	if (!warm || !warm->is_asked || (warm->mode == WARM_AUTO && warm->why == too_few)) {
		return NULL;
	}
	buf_reset(&warm->report);
	buf_adds(&warm->report, warm->why ? "no, " : "yes");
	buf_adds(&warm->report, warm->why ? warm->why : "");
	return warm->report.data;
}
