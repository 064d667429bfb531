// An attempt on another machine, as a sequence of steps. A step runs on a thread of the pool. It may wait for the disk, but never for the machine:
// the attempt is resumed (pool_resume()) when its connection has something for it.
//
//   BASE    the first attempt on the machine transfers the base files; other attempts there wait for this
//   GO      the files of the job are transferred (--transferfile)
//   RUN     the command runs (host_attempt.c)
//   COME    the files of the job are fetched (--return), and removed there (--cleanup)
//   REMOVE  the files of the job are removed there (--cleanup), because an earlier step has failed or was cut off
//   OVER
//
//   without files:  RUN -> OVER       with files:  BASE (with --basefile) -> GO -> RUN -> COME -> OVER
//   BASE, GO, RUN -> OVER (the connection is lost)    BASE, GO, RUN, COME -> REMOVE -> OVER (the command did not start, or the attempt was stopped)
//
// If a file cannot be transferred, the command does not start; if a file of a successful command cannot be fetched, the attempt has failed:
// files->why names the file and the cause. When hosts.ending forbids the next step, this step is refused.
//
// The base files of a machine:   ABSENT -first attempt-> TRANSFERRING -> PRESENT       TRANSFERRING -a transfer fails-> ABSENT
// Base files stay there when the connection is lost. A file in a directory that both machines share is not transferred, and never removed.

#include "hosts/hosts_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_files_fini(struct job_files *files) {
	buf_fini(&files->go);
	buf_fini(&files->come);
	buf_fini(&files->went);
	buf_fini(&files->came);
	buf_fini(&files->why);
}

// ---- an attempt ----

static struct host_attempt *attempt_new(struct host *host, const struct child_config *config) {
	struct host_attempt *attempt = xmalloc(sizeof(*attempt)); // calloc() would not take what was freed last, which is in the cache
	*attempt = (struct host_attempt){.host = host, .config = config, .more_fd = -1, .in_fd = -1};
	list_init(&attempt->link);
	list_init(&attempt->woken);
	list_init(&attempt->loans);
	return attempt;
}

static void attempt_free(struct host_attempt *attempt) {
	buf_fini(&attempt->outbox);
	buf_fini(&attempt->unsaid);
	free(attempt);
}

// ---- a conversation ----

// The task of one conversation. Each path has a NUL behind it; file_route() interprets it.
struct transfer {
	struct host *host;
	const char *dir;               // the work dir there, or NULL: the directory of the worker
	struct buf goes;               // borrowed: paths of files to copy there; the first failure ends the copying
	struct buf comes;              // borrowed: paths of files to fetch from there; if one fails, the other files are still fetched
	bool may_lack;                 // a file of `comes` that does not exist is no failure: the job that should have made it has failed
	struct buf *went, *came;       // get the paths of `goes` and `comes` that were copied whole, to or from a directory that is not shared
	bool removes;                  // at the end, removes there the files in `went` and, if nothing has failed, in `came`; after that, the directories
	                               // above these files that have become empty, except the work dir. A path that is itself a directory is not removed
	bool removes_dir;              // at the end, removes the work dir with its contents, if nothing has failed
	struct buf *why;               // gets the names of files that could not be copied, and the causes; empty at first
	// GOING -all of `goes` are copied-> COMING -all of `comes` are fetched-> ENDED: the last item was sent       GOING -a file fails-> ENDED
	enum { GOING, COMING, ENDED } state;
	size_t at;                     // the offset of the present path in `goes` or `comes`
	struct file_talk talk;         // talk.copy is of the present path
};

static void transfer_free(struct host_attempt *attempt) {
	struct transfer *transfer = attempt->transfer;
	file_talk_fini(&transfer->talk);
	free(transfer);
	attempt->transfer = NULL;
}

// Ends the work on the present path: its copy is over, or could not begin because of `error`.
static void end_path(struct transfer *transfer, const char *path, const char *error) {
	struct file_copy *copy = transfer->talk.copy;
	bool goes = transfer->state == GOING;
	struct buf *done = goes ? transfer->went : transfer->came;
	if (error || copy->why.len > 0) {
		if (!transfer->may_lack || (copy && copy->entries > 0)) {
			buf_printf(transfer->why, "%scannot %s '%s': %s", transfer->why->len > 0 ? "; " : "", goes ? "transfer" : "return", text_shows(path),
			           error ? error : buf_str(&copy->why));
		}
	} else if (copy->look == LOOK_SAME) {
		if (!atomic_exchange(&transfer->host->hosts->told_shared, true)) {
			diag_note("%s shares the directory of '%s' with this machine: files in such a directory are not copied, fetched or removed",
			          transfer->host->login->name, text_shows(path));
		}
	} else if (copy->look == LOOK_OTHER) {
		buf_add(done, path, strlen(path) + 1);
	}
	if (copy) {
		file_copy_give(copy, &transfer->talk.out); // the last frames tell the worker that the copy is over
	}
	file_copy_free(copy);
	transfer->talk.copy = NULL;
	transfer->at += strlen(path) + 1;
}

// Begins to copy the file of that path.
static void begin_path(struct transfer *transfer, const char *path) {
	FP_CLEANUP(file_route_fini) struct file_route route = {.is_absolute = false};
	bool goes = transfer->state == GOING, is_long = strlen(path) >= PATH_MAX;
	const char *why = strerror(ENAMETOOLONG), *dir = transfer->dir ? transfer->dir : "";
	uint64_t random;
	char temp[40];
	random_bytes(&random, sizeof(random));
	snprintf(temp, sizeof(temp), FILE_TEMP "%016llx", ull(random));
	if (is_long || file_route(&route, path, goes ? ITEM_GOES : ITEM_COMES, &why) != 0) {
		end_path(transfer, path, why);
		return;
	}
	const struct file_location here = {.dir = buf_str(&route.here), .name = buf_str(&route.name), .temp = temp};
	const struct file_location there = {.dir = route.is_absolute ? here.dir : dir, .name = here.name, .temp = temp};
	transfer->talk.copy = file_copy_new(goes, &here);
	file_talk_add_item(&transfer->talk, goes ? ITEM_GOES : ITEM_COMES, &there);
}

static void remove_paths(struct transfer *transfer, const struct buf *paths, enum file_item way) {
	for (const char *path = buf_str(paths); path < paths->data + paths->len; path += strlen(path) + 1) {
		const char *why, *dir = transfer->dir;
		FP_CLEANUP(file_route_fini) struct file_route route;
		if (file_route(&route, path, way, &why) == 0) {
			FP_CLEANUP(buf_fini) struct buf below_root = BUF_INIT;
			buf_printf(&below_root, ".%s%s", strcmp(buf_str(&route.here), "/") == 0 ? "" : buf_str(&route.here), buf_str(&route.name) + 1);
			file_talk_add_item(&transfer->talk, ITEM_REMOVED, &(struct file_location){
				.dir = route.is_absolute ? "/" : dir ? dir : "",
				.name = route.is_absolute ? buf_str(&below_root) : buf_str(&route.name),
				.temp = "",
			});
		}
	}
}

static void end_transfer(struct transfer *transfer) {
	bool failed = transfer->why->len > 0;
	if (transfer->removes) {
		remove_paths(transfer, transfer->went, ITEM_GOES);
	}
	if (transfer->removes && transfer->came && !failed) {
		remove_paths(transfer, transfer->came, ITEM_COMES);
	}
	if (transfer->removes_dir && !failed) {
		file_talk_add_item(&transfer->talk, ITEM_TREE_REMOVED, &(struct file_location){.dir = transfer->dir, .name = "", .temp = ""});
	}
	file_talk_add_item(&transfer->talk, ITEM_LAST, NULL);
	transfer->state = ENDED;
}

// Called by file_talk_step(). Ends the present path if its copy is over, and begins the next path; after the last path, ends the transfer.
static void next(void *arg) {
	const struct host_attempt *attempt = arg;
	struct transfer *transfer = attempt->transfer;
	const struct file_talk *talk = &transfer->talk;
	while (transfer->state != ENDED && (!talk->copy || talk->copy->is_over)) {
		bool goes = transfer->state == GOING, has_failed = transfer->why->len > 0;
		const struct buf *paths = goes ? &transfer->goes : &transfer->comes;
		const char *path = buf_str(paths) + transfer->at;
		if (talk->copy) {
			end_path(transfer, path, NULL);
		} else if (transfer->at < paths->len && !(goes && has_failed)) {
			begin_path(transfer, path);
		} else if (goes && !has_failed) {
			transfer->state = COMING;
			transfer->at = 0;
		} else {
			end_transfer(transfer);
		}
	}
}

static bool is_done(const struct result *result) {
	return !result->lost && result->outcome == OUTCOME_OK;
}

static void send_files(void *arg, struct buf *frames, const char *why) {
	struct host_attempt *attempt = arg;
	buf_move(&attempt->outbox, frames);
	attempt->why = why;
	host_post(attempt->host);
}

// Begins the transfer that `of` describes; `of` is copied. A transfer that only removes files is made even while jobs are being ended. Returns false
// if there is nothing to do (the result is OUTCOME_OK), or the transfer is refused (OUTCOME_CANCELLED).
static bool transfer_begin(struct host_attempt *attempt, const struct transfer *of) {
	bool only_removes = of->goes.len == 0 && of->comes.len == 0;
	attempt->result = (struct result){.outcome = OUTCOME_OK};
	if (only_removes && !of->removes_dir && (!of->removes || of->went->len == 0)) {
		return false;
	}
	struct transfer *transfer = attempt->transfer = NEW(struct transfer);
	*transfer = *of;
	transfer->host = attempt->host;
	transfer->talk = (struct file_talk){.next = next, .send = send_files, .sender = attempt};
	file_talk_init(&transfer->talk);
	if (!host_submit(attempt, &transfer->talk, only_removes)) {
		transfer_free(attempt);
	}
	return attempt->transfer;
}

// Begins the transfer, or goes on with it. Returns false if the transfer waits for the machine. Else returns true, and attempt->result.outcome is
// OUTCOME_OK; OUTCOME_FAILED, with the reason in of->why; or the outcome of an attempt that was ended meanwhile. If the connection was lost, only
// attempt->result.lost says so.
static bool transfer_step(struct host_attempt *attempt, const struct transfer *of) {
	mutex *lock = &attempt->host->hosts->lock;
	if (!attempt->transfer && !transfer_begin(attempt, of)) {
		return true;
	}
	struct transfer *transfer = attempt->transfer;
	if (!file_talk_step(&transfer->talk, lock)) {
		return false;
	}
	mutex_lock(lock);
	list_remove(&attempt->woken); // nothing adds the attempt again, as its step has ended
	mutex_unlock(lock);
	if (is_done(&attempt->result)) {
		buf_adds(transfer->why, transfer->state != ENDED ? "the worker has ended the transfer" : "");
		attempt->result.outcome = transfer->why->len > 0 ? OUTCOME_FAILED : OUTCOME_OK;
	}
	transfer_free(attempt);
	return true;
}

// Returns the directory of a job on the host; NULL: the worker's directory. `dir`: that of --workdir or the manifest, or NULL. With --launch,
// the job's directory is the same as on this machine. Else "." means this process's directory, written relative to $HOME if it is below $HOME.
static const char *find_dir(const struct host *host, const char *dir) {
	const struct hosts *hosts = host->hosts;
	if (host->login->kind == SSHLOGIN_LAUNCH) {
		return dir ? dir : hosts->cwd;
	}
	if (dir && hosts->options->own_workdir) {
		return dir + strlen(getenv("HOME")) + 1; // --workdir ...: below the login directory there
	}
	return dir && strcmp(dir, ".") == 0 ? hosts->dot : dir;
}

// ---- the steps. Each sets attempt->step to the next step and returns true; or it returns false if it waits for the machine ----

void host_files_clean_up(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	const struct child_config none = {.timeout = 0};
	struct hosts *hosts = host->hosts;
	struct host_attempt *attempt = attempt_new(host, &none);
	const struct transfer removal = {
		.dir = find_dir(host, hosts->options->workdir), .went = &host->brought, .removes = hosts->options->cleans_up, .why = &why,
	};
	while (!transfer_step(attempt, &removal)) {
		file_talk_wait(&attempt->transfer->talk, &hosts->lock);
	}
	attempt_free(attempt);
}

// Called when a transfer before the command has ended: the next step is `next` if the files are there; else the command does not run.
static bool end_transfer_before(struct host_attempt *attempt, enum host_attempt_step next) {
	struct result *result = &attempt->result;
	attempt->step = is_done(result) ? next : result->lost ? STEP_OVER : STEP_REMOVE;
	if (result->lost) {
		result->lost = LOST_UNSENT;
	} else if (result->outcome == OUTCOME_FAILED) {
		result_cannot_start(result, 126);
	}
	attempt->ended = *result;
	return true;
}

static bool step_base(struct host_attempt *attempt) {
	struct host *host = attempt->host;
	struct hosts *hosts = host->hosts;
	mutex_lock(&hosts->lock);
	bool waits = host->base_files == BASE_TRANSFERRING && !attempt->transfer, is_present = host->base_files == BASE_PRESENT;
	if (waits && list_is_empty(&attempt->link)) {
		list_push_back(&host->base_waiters, &attempt->link);
	} else if (host->base_files == BASE_ABSENT) {
		host->base_files = BASE_TRANSFERRING;
		buf_reset(&host->brought);
	}
	mutex_unlock(&hosts->lock);
	if (is_present) {
		attempt->step = STEP_GO;
		return true;
	}
	if (waits || !transfer_step(attempt, &(struct transfer){
		.dir = find_dir(host, hosts->options->workdir), .goes = hosts->base, .went = &host->brought, .why = &attempt->files->why})) {
		return false;
	}
	FP_HOLD(&hosts->lock);
	host->base_files = is_done(&attempt->result) ? BASE_PRESENT : BASE_ABSENT;
	list_for_each_entry(&host->base_waiters, struct host_attempt, waiter, link) {
		list_remove(&waiter->link);
		pool_resume(waiter->worker);
	}
	return end_transfer_before(attempt, STEP_GO);
}

static bool step_go(struct host_attempt *attempt) {
	struct job_files *files = attempt->files;
	return transfer_step(attempt, &(struct transfer){.dir = attempt->dir, .goes = files->go, .went = &files->went, .why = &files->why}) &&
	       end_transfer_before(attempt, STEP_RUN);
}

static bool step_run(struct host_attempt *attempt) {
	if (!host_attempt_run(attempt)) {
		return false;
	}
	attempt->ended = attempt->result;
	bool has_run = attempt->ended.outcome != OUTCOME_SPAWN_ERROR && attempt->ended.outcome != OUTCOME_CANCELLED;
	attempt->step = !attempt->files || attempt->ended.lost ? STEP_OVER : has_run ? STEP_COME : STEP_REMOVE;
	return true;
}

static bool step_come(struct host_attempt *attempt) {
	struct job_files *files = attempt->files;
	const struct options *options = attempt->host->hosts->options;
	struct result *result = &attempt->ended;
	bool is_good = result->outcome == OUTCOME_OK;
	// with --cleanup this also removes the job's files there; but if a file could not be fetched, the files of --return stay there
	if (!transfer_step(attempt, &(struct transfer){
		.dir = attempt->dir, .comes = files->come, .may_lack = !is_good, .went = &files->went, .came = &files->came,
		.removes = options->cleans_up, .removes_dir = options->cleans_up && options->own_workdir, .why = &files->why,
	})) {
		return false;
	}
	const struct result *fetched = &attempt->result;
	attempt->step = STEP_OVER;
	if (fetched->lost) {
		result->lost = LOST_SILENT; // not LOST_UNSENT, as the command has run
	} else if (fetched->outcome == OUTCOME_FAILED && is_good) {
		result->outcome = OUTCOME_FAILED;
		result->exit_code = 1;
	} else if (fetched->outcome != OUTCOME_OK && fetched->outcome != OUTCOME_FAILED) { // the transfer was cut off
		result->outcome = fetched->outcome;
		attempt->step = STEP_REMOVE;
	}
	return true;
}

static bool step_remove(struct host_attempt *attempt) {
	struct job_files *files = attempt->files;
	const struct options *options = attempt->host->hosts->options;
	bool is_over = !options->cleans_up || transfer_step(attempt, &(struct transfer){
		.dir = attempt->dir, .went = &files->went, .removes = true, .removes_dir = options->own_workdir && files->why.len == 0,
		.why = &attempt->unsaid,
	});
	attempt->step = is_over ? STEP_OVER : STEP_REMOVE;
	return is_over;
}

// ---- from the first step to the last ----

// Sets the result of an attempt whose connection was lost, or that could not be sent to its machine.
static void set_lost_result(const struct host_attempt *attempt, struct result *ret_result) {
	uint64_t now = now_ns(), start = ret_result->start ? ret_result->start : now;
	enum lost lost = ret_result->lost == LOST_SILENT && attempt->wrote ? LOST_WROTE : ret_result->lost;
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	if (atomic_load_relaxed(&attempt->host->hosts->ending) == HOSTS_RUN) {
		*ret_result = (struct result){.outcome = OUTCOME_SIGNAL, .term_signal = SIGKILL, .start = start, .end = now, .lost = lost};
	}
}

struct host_attempt *hosts_begin(const struct hosts_place *place, const struct child_config *config, struct worker *worker) {
	struct host_attempt *attempt = attempt_new(place->host, config);
	attempt->place = place;
	attempt->worker = worker;
	attempt->dir = find_dir(place->host, config->context->cwd);
	attempt->files = place->host->login->kind == SSHLOGIN_SSH ? place->files : NULL;
	attempt->step = !attempt->files ? STEP_RUN : place->host->hosts->base.len > 0 ? STEP_BASE : STEP_GO;
	return attempt;
}

bool hosts_step(struct host_attempt *attempt, struct result *ret_result, struct spawn_error *ret_error) {
	static bool (*const steps[])(struct host_attempt *attempt) = {
		[STEP_BASE] = step_base, [STEP_GO] = step_go, [STEP_RUN] = step_run, [STEP_COME] = step_come, [STEP_REMOVE] = step_remove,
	};
	while (attempt->step != STEP_OVER) {
		if (!steps[attempt->step](attempt)) {
			return false;
		}
	}
	*ret_result = attempt->ended;
	*ret_error = attempt->error;
	if (ret_result->lost) {
		set_lost_result(attempt, ret_result);
	}
	attempt_free(attempt);
	return true;
}
