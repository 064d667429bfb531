// Warm shells: which servers a worker has, and which jobs they start.

#include "warm/warm.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sync.h"
#include "warm/client.h"

#include <string.h>
#include <sys/stat.h>

enum {
	SHELLS_MAX = 8,   // known at a time
	AUTO_AFTER = 6,   // a server costs about as much as one execution and saves more than half of each
	DEATHS_MAX = 3,   // of servers of a shell; then somebody means to kill them
	REFRESH_MS = 100, // between looks at what others may have changed; a look costs a hundredth of a short job
};

// A shell in one context: umask, limits, niceness, ignored signals.
struct warm_shell {
	char *path;
	struct context context;     // of it, the fields above
	struct warm_server *server; // or NULL
	const char *why;            // reason why there will be no server; static text, or NULL
	struct stat file;           // as it was when the server was started
	uint64_t inherited;         // by the server: inherited.hash
	unsigned executions;        // left until it gets a server
	unsigned deaths;
	uint64_t used;              // by warm.clock
};

struct warm {
	enum warm_mode mode;
	const struct guardian *guardian;
	struct warm_shell shells[SHELLS_MAX];
	uint64_t clock;
	struct inherited inherited; // by what would be started now, as it was found at:
	uint64_t refreshed;         // when `inherited` was read, by now_ns(); 0: not yet
	struct starter starter;
	const char *why;            // of the last job; NULL: it was warm
	struct buf report;
};

static const char not_asked[] = ""; // on another machine, or not executed often enough (WARM_AUTO)

static void shell_fini(struct warm_shell *shell) {
	warm_server_close(shell->server);
	free(shell->path);
	*shell = (struct warm_shell){.path = NULL};
}

static void drop_server(struct warm_shell *shell) {
	warm_server_close(shell->server);
	shell->server = NULL;
}

// The shell of the job, which takes the place of the one that was used longest ago if it is new.
static struct warm_shell *find_shell(struct warm *warm, const struct spawn_config *job) {
	struct warm_shell *oldest = &warm->shells[0];
	++warm->clock;
	for (struct warm_shell *one = warm->shells; one < warm->shells + SHELLS_MAX; ++one) {
		if (one->path && strcmp(one->path, job->path) == 0 && one->context.umask == job->context->umask
		    && one->context.nice == job->context->nice && memcmp(&one->context.nofile, &job->context->nofile, sizeof(struct rlimit)) == 0
		    && memcmp(&one->context.ignored, &job->context->ignored, sizeof(sigset_t)) == 0) {
			one->used = warm->clock;
			return one;
		}
		oldest = one->used < oldest->used ? one : oldest;
	}
	shell_fini(oldest);
	*oldest = (struct warm_shell){
		.path = xstrdup(job->path),
		.context = {.umask = job->context->umask, .nice = job->context->nice, .nofile = job->context->nofile,
		            .ignored = job->context->ignored},
		.executions = warm->mode == WARM_AUTO ? AUTO_AFTER : 0,
		.used = warm->clock,
	};
	return oldest;
}

// A cloned job inherits limits, niceness and the like from its server, which got them when it was started; an executed job gets
// those that fairpar has now. So they are compared, but not for each job, which would cost too much.
static void refresh_inherited(struct warm *warm, uint64_t max_age_ms) {
	uint64_t now = now_ns();
	if (!warm->refreshed || now - warm->refreshed >= max_age_ms * NS_PER_MS) {
		inherited_read(&warm->inherited);
		warm->refreshed = now;
	}
}

// Has the shell a server, or gets it one? Else says why not.
static const char *refuse_shell(struct warm *warm, struct warm_shell *shell, const struct spawn_config *job) {
	if (shell->executions > 0) {
		--shell->executions;
		return not_asked;
	}
	struct stat st;
	if (stat(shell->path, &st) != 0) {
		return "its file is gone";
	}
	const struct stat *was = &shell->file;
	if (shell->server && (st.st_dev != was->st_dev || st.st_ino != was->st_ino || st.st_size != was->st_size
	                      || memcmp(&st.st_mtim, &was->st_mtim, sizeof(st.st_mtim)) != 0 || memcmp(&st.st_ctim, &was->st_ctim, sizeof(st.st_ctim)) != 0)) {
		drop_server(shell); // a file that was replaced is another shell
	}
	shell->file = st;
	if (shell->why) {
		return shell->why;
	}
	refresh_inherited(warm, REFRESH_MS);
	if (warm->inherited.refusal) {
		return warm->inherited.refusal;
	}
	if (shell->server && shell->inherited != warm->inherited.hash) {
		drop_server(shell);
	}
	if (!shell->server) {
		shell->why = fitness_refusal(shell->path);
		if (!shell->why) {
			refresh_inherited(warm, 0); // before it starts: what is changed from now on is found later
			shell->inherited = warm->inherited.hash;
			shell->server = warm_server_open(job, warm->guardian, &shell->why);
		}
	}
	return shell->why;
}

// A starter.start.
static pid_t start(void *arg, const struct spawn_config *job, int *ret_pidfd, struct spawn_error *ret_error) {
	struct warm *warm = arg;
	warm->why = warm->guardian->table_fd < 0 ? "there is no guardian" : job->path[0] != '/' ? "the path of its shell is relative"
		: job->foreground ? "it has the terminal" : job->cgroup_fd >= 0 ? "it has a cgroup" : fitness_refusal_env(job->env);
	struct warm_shell *shell = warm->why ? NULL : find_shell(warm, job);
	warm->why = shell ? refuse_shell(warm, shell, job) : warm->why;
	if (warm->why) {
		return spawn(job, ret_pidfd, ret_error);
	}
	pid_t pid = warm_server_start(shell->server, job, ret_pidfd, ret_error, &warm->why);
	if (shell->server->is_lost) {
		drop_server(shell);
		shell->why = ++shell->deaths < DEATHS_MAX ? NULL : warm->why;
	}
	return pid == 0 ? spawn(job, ret_pidfd, ret_error) : pid;
}

struct warm *warm_create(enum warm_mode mode, struct children *children) {
	if (mode == WARM_OFF || (mode == WARM_AUTO && server_so_size == 0)) {
		return NULL;
	}
	struct warm *warm = NEW(struct warm);
	warm->mode = mode;
	warm->guardian = children_guardian(children);
	warm->starter = (struct starter){.start = start, .arg = warm};
	return warm;
}

void warm_destroy(struct warm *warm) {
	if (warm) {
		for (size_t i = 0; i < SHELLS_MAX; ++i) {
			shell_fini(&warm->shells[i]);
		}
		buf_fini(&warm->report);
		free(warm);
	}
}

const struct starter *warm_starter(struct warm *warm) {
	if (!warm) {
		return NULL;
	}
	warm->why = not_asked;
	return &warm->starter;
}

const char *warm_report(struct warm *warm) {
	if (!warm || warm->why == not_asked) {
		return NULL;
	}
	buf_reset(&warm->report);
	buf_adds(&warm->report, warm->why ? "no, " : "yes");
	buf_adds(&warm->report, warm->why ? warm->why : "");
	return warm->report.data;
}
