// Files of attempts on other machines: --basefile before the first attempt there, --transferfile before each, --return after it, and their
// removal (--cleanup); the dispatcher's end of a conversation about files (file_talk.h).
//
// The base files of a machine:   ABSENT -first attempt-> TRANSFERRING -> PRESENT       TRANSFERRING -a transfer fails-> ABSENT
// While they are transferred, the other attempts of that machine wait. They stay there when the connection is lost.
//
// A file in a directory that this machine and the other one share is not transferred, and never removed.

#include "hosts/hosts_internal.h"

#include "base/diag.h"
#include "base/random.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

void job_files_fini(struct job_files *files) {
	buf_fini(&files->go);
	buf_fini(&files->come);
	buf_fini(&files->went);
	buf_fini(&files->came);
	buf_fini(&files->why);
}

// ---- a conversation ----

// The task of one conversation. Each path has a NUL behind it; file_route() interprets it.
struct transfer {
	struct host *host;
	const char *dir;               // the work dir there, or NULL: the directory of the worker
	struct buf goes;               // borrowed: paths of files to copy there; the first failure ends the copying
	struct buf comes;              // borrowed: paths of files to fetch from there; after a failure the others are still fetched
	bool may_lack;                 // a file of `comes` that does not exist is no failure: the job that should have made it has failed
	struct buf *went, *came;       // get the paths of `goes` and `comes` that were copied whole, in no shared directory: they may be removed there
	bool removes;                  // at the end, removes there the files in `went`, and if nothing has failed those in `came`; then directories above
	                               // them that are empty, up to but not including the work dir. A path that is a directory stays
	bool removes_dir;              // at the end, removes the work dir with its contents, if nothing has failed
	struct buf *why;               // gets the names of files that could not be copied, and the causes; empty at first
	// GOING -all of `goes`-> COMING -all of `comes`-> ENDED: "last" is said        GOING -one fails-> ENDED
	enum { GOING, COMING, ENDED } state;
	size_t at;                     // the offset of the present path in `goes` or `comes`
	struct file_copy *copy;        // of the present path, or NULL
	struct buf out;
};

// The present path is done, or cannot be begun because of `error`.
static void end_path(struct transfer *transfer, const char *path, const char *error) {
	struct file_copy *copy = transfer->copy;
	bool goes = transfer->state == GOING;
	struct buf *done = goes ? transfer->went : transfer->came;
	if (error || copy->why.len > 0) {
		if (!transfer->may_lack || (copy && copy->entries > 0)) {
			buf_printf(transfer->why, "%scannot %s '%s': %s", transfer->why->len > 0 ? "; " : "", goes ? "transfer" : "return", text_shows(path),
			           error ? error : buf_str(&copy->why));
		}
	} else if (copy->look == LOOK_SAME) {
		if (!atomic_exchange(&transfer->host->hosts->told_shared, true)) {
			diag_note("%s has the directory of '%s' in common with this machine: such files are not transferred, returned or removed",
			          transfer->host->login->name, text_shows(path));
		}
	} else if (copy->look == LOOK_OTHER) {
		buf_add(done, path, strlen(path) + 1);
	}
	if (copy) {
		file_copy_give(copy, &transfer->out); // tells the worker that the copy is over
	}
	file_copy_free(copy);
	transfer->copy = NULL;
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
	if (is_long || file_route(&route, path, goes ? FILE_GOES : FILE_COMES, &why) != 0) {
		end_path(transfer, path, why);
		return;
	}
	const struct file_location here = {.dir = buf_str(&route.here), .name = buf_str(&route.name), .temp = temp};
	const struct file_location there = {.dir = route.is_absolute ? here.dir : dir, .name = here.name, .temp = temp};
	transfer->copy = file_copy_new(goes, &here);
	file_talk_add_item(&transfer->out, goes ? ITEM_GOES : ITEM_COMES, &there);
}

static void remove_paths(struct transfer *transfer, const struct buf *paths, enum file_way way) {
	for (const char *path = buf_str(paths); path < paths->data + paths->len; path += strlen(path) + 1) {
		const char *why, *dir = transfer->dir;
		FP_CLEANUP(file_route_fini) struct file_route route;
		if (file_route(&route, path, way, &why) == 0) {
			FP_CLEANUP(buf_fini) struct buf below_root = BUF_INIT;
			buf_printf(&below_root, ".%s%s", strcmp(buf_str(&route.here), "/") == 0 ? "" : buf_str(&route.here), buf_str(&route.name) + 1);
			file_talk_add_item(&transfer->out, ITEM_REMOVED, &(struct file_location){
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
		remove_paths(transfer, transfer->went, FILE_GOES);
	}
	if (transfer->removes && transfer->came && !failed) {
		remove_paths(transfer, transfer->came, FILE_COMES);
	}
	if (transfer->removes_dir && !failed) {
		file_talk_add_item(&transfer->out, ITEM_TREE_REMOVED, &(struct file_location){.dir = transfer->dir, .name = "", .temp = ""});
	}
	file_talk_add_item(&transfer->out, ITEM_LAST, NULL);
	transfer->state = ENDED;
}

// Begins with the next path, if the present one is done.
static void step(struct transfer *transfer) {
	while (transfer->state != ENDED && (!transfer->copy || transfer->copy->is_over)) {
		bool goes = transfer->state == GOING, has_failed = transfer->why->len > 0;
		const struct buf *paths = goes ? &transfer->goes : &transfer->comes;
		const char *path = buf_str(paths) + transfer->at;
		if (transfer->copy) {
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

static const char *take(void *arg, const struct wire_frame *frame) {
	struct transfer *transfer = arg;
	const char *why = NULL;
	if (transfer->copy) {
		why = file_copy_take(transfer->copy, frame);
		step(transfer);
	} else if (frame->type != FRAME_ROOM) {
		why = "it speaks of a file that was not named";
	}
	return why;
}

static bool give(void *arg, struct buf *out) {
	struct transfer *transfer = arg;
	step(transfer);
	if (transfer->copy) {
		file_copy_give(transfer->copy, &transfer->out);
	}
	buf_move(out, &transfer->out);
	return true; // the worker says when it is over
}

static bool is_done(const struct result *result) {
	return !result->lost && result->outcome == OUTCOME_OK;
}

// Does the transfer on the calling thread, in which all signals are blocked, and waits for its end. `of`: the attempt whose files these are, or
// NULL. Sets ret_result->outcome to OUTCOME_OK; OUTCOME_FAILED, with the reason in transfer->why; or the outcome of an attempt that was ended
// meanwhile. If the conversation was lost, only ret_result->lost is set. A transfer that only removes works also while jobs are being ended.
static void transfer_run(struct transfer *transfer, const struct child_config *of, struct result *ret_result) {
	bool only_removes = transfer->goes.len == 0 && transfer->comes.len == 0;
	*ret_result = (struct result){.outcome = OUTCOME_OK};
	if (only_removes && !transfer->removes_dir && (!transfer->removes || transfer->went->len == 0)) {
		return;
	}
	struct file_talk talk = {.take = take, .give = give, .arg = transfer};
	const struct child_config config = {.timeout = of ? of->timeout : 0, .origin = of ? of->origin : NULL, .cleanup = only_removes};
	host_talk(transfer->host, &config, &talk, ret_result);
	if (is_done(ret_result)) {
		buf_adds(transfer->why, transfer->state != ENDED ? "the worker has ended the transfer" : "");
		ret_result->outcome = transfer->why->len > 0 ? OUTCOME_FAILED : OUTCOME_OK;
	}
	file_copy_free(transfer->copy);
	buf_fini(&transfer->out);
}

// ---- base files ----

void host_files_clean_up(struct host *host) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	struct transfer transfer = {.host = host, .dir = host->hosts->base_dir, .went = &host->brought, .removes = true, .why = &why};
	struct result result;
	if (host->hosts->options->cleans_up) {
		transfer_run(&transfer, NULL, &result);
	}
}

static void transfer_base(struct host *host, const struct child_config *config, struct result *ret_result, struct buf *ret_why) {
	const struct hosts *hosts = host->hosts;
	*ret_result = (struct result){.outcome = OUTCOME_OK};
	mutex_lock(&host->lock);
	while (host->base_files == BASE_TRANSFERRING) {
		cond_wait(&host->changed, &host->lock);
	}
	if (host->base_files == BASE_ABSENT && hosts->base.len > 0) {
		struct transfer transfer = {.host = host, .dir = hosts->base_dir, .goes = hosts->base, .went = &host->brought, .why = ret_why};
		host->base_files = BASE_TRANSFERRING;
		mutex_unlock(&host->lock);
		buf_reset(&host->brought);
		transfer_run(&transfer, config, ret_result);
		mutex_lock(&host->lock);
		host->base_files = is_done(ret_result) ? BASE_PRESENT : BASE_ABSENT;
		cond_broadcast(&host->changed);
	}
	mutex_unlock(&host->lock);
}

// ---- an attempt ----

// Fetches the files of an attempt that has ended, and removes its files there (--cleanup), but not those to be fetched if one of these could not
// be. Changes the attempt's `result` if the transfer fails. Returns whether the transfer was cut off.
static bool fetch(struct host *host, const struct child_config *config, const char *dir, struct job_files *files, struct result *result) {
	bool cleans_up = host->hosts->options->cleans_up;
	struct result fetched;
	struct transfer transfer = {
		.host = host, .dir = dir, .comes = files->come, .may_lack = result->outcome != OUTCOME_OK, .went = &files->went, .came = &files->came,
		.removes = cleans_up, .removes_dir = cleans_up && host->hosts->options->own_workdir, .why = &files->why,
	};
	transfer_run(&transfer, config, &fetched);
	bool is_cut_off = fetched.outcome != OUTCOME_OK && fetched.outcome != OUTCOME_FAILED;
	if (fetched.lost) {
		result->lost = LOST_SILENT; // the attempt has run
	} else if (is_cut_off) {
		result->outcome = fetched.outcome;
	} else if (fetched.outcome == OUTCOME_FAILED && result->outcome == OUTCOME_OK) {
		result->outcome = OUTCOME_FAILED;
		result->exit_code = 1;
	}
	return is_cut_off;
}

bool host_files_run(const struct hosts_place *place, const struct child_config *config, const char *dir, struct result *ret_result,
                    struct spawn_error *ret_error) {
	struct host *host = place->host;
	struct job_files *files = place->files;
	const struct options *options = host->hosts->options;
	bool has_run = false, is_cut_off = true, wrote = false;
	*ret_error = (struct spawn_error){.error = 0};
	transfer_base(host, config, ret_result, &files->why);
	if (is_done(ret_result)) {
		struct transfer transfer = {.host = host, .dir = dir, .goes = files->go, .went = &files->went, .why = &files->why};
		transfer_run(&transfer, config, ret_result);
	}
	if (ret_result->lost) {
		ret_result->lost = LOST_UNSENT;
	} else if (ret_result->outcome == OUTCOME_OK) {
		wrote = host_run(place, config, dir, ret_result, ret_error);
		has_run = ret_result->outcome != OUTCOME_SPAWN_ERROR && ret_result->outcome != OUTCOME_CANCELLED;
	} else if (ret_result->outcome == OUTCOME_FAILED) {
		result_cannot_start(ret_result, 126);
	}
	if (!ret_result->lost && has_run) {
		is_cut_off = fetch(host, config, dir, files, ret_result);
	}
	if (!ret_result->lost && is_cut_off && options->cleans_up) { // also while jobs are being ended
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		struct result result;
		struct transfer transfer = {
			.host = host, .dir = dir, .went = &files->went, .removes = true, .removes_dir = options->own_workdir && files->why.len == 0, .why = &why,
		};
		transfer_run(&transfer, config, &result);
	}
	return wrote;
}
