// Files of jobs on other machines: transferred before an attempt, fetched after it, and removed.
//
// The base files of a machine:   ABSENT -first attempt-> TRANSFERRING -> PRESENT       TRANSFERRING -a transfer fails-> ABSENT
// While they are transferred, the other attempts of that machine wait. They stay there when the connection is lost.

#include "hosts/host_files.h"

#include "base/alloc.h"
#include "base/sync.h"
#include "remote/payload.h"

#include <stdlib.h>
#include <string.h>

struct host_files {
	const struct options *options;
	const char *base_dir;
	struct buf base, brought; // the files; those that may be removed
	mutex lock;
	cond changed;
	enum { BASE_ABSENT, BASE_TRANSFERRING, BASE_PRESENT } state; // under the lock
};

void job_files_fini(struct job_files *files) {
	buf_fini(&files->go);
	buf_fini(&files->come);
	buf_fini(&files->went);
	buf_fini(&files->came);
	buf_fini(&files->why);
}

// ---- base files ----

struct host_files *host_files_open(const struct options *options, const char *base_dir) {
	struct host_files *host_files = NEW(struct host_files);
	*host_files = (struct host_files){.options = options, .base_dir = base_dir};
	for (size_t i = 0; i < options->nbasefiles; ++i) {
		buf_add(&host_files->base, options->basefiles[i], strlen(options->basefiles[i]) + 1);
	}
	mutex_init(&host_files->lock, LOCK_HOST_FILES);
	cond_init(&host_files->changed);
	return host_files;
}

void host_files_close(struct host_files *host_files, const struct transfer *transfer) {
	if (!host_files) {
		return;
	}
	if (transfer && host_files->options->cleans_up) {
		struct transfer there = *transfer;
		struct result result;
		FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
		there.dir = host_files->base_dir;
		(void)transfer_run(&there, &(struct transfer_work){.went = &host_files->brought, .removes_went = true}, &result, &why);
	}
	cond_fini(&host_files->changed);
	mutex_fini(&host_files->lock);
	buf_fini(&host_files->base);
	buf_fini(&host_files->brought);
	free(host_files);
}

static enum transfer_end transfer_base(struct host_files *host_files, const struct transfer *transfer, struct result *ret_result, struct buf *ret_why) {
	enum transfer_end end = TRANSFER_DONE;
	mutex_lock(&host_files->lock);
	while (host_files->state == BASE_TRANSFERRING) {
		cond_wait(&host_files->changed, &host_files->lock);
	}
	if (host_files->state == BASE_ABSENT && host_files->base.len > 0) {
		struct transfer there = *transfer;
		there.dir = host_files->base_dir;
		host_files->state = BASE_TRANSFERRING;
		mutex_unlock(&host_files->lock);
		buf_reset(&host_files->brought);
		end = transfer_run(&there, &(struct transfer_work){.goes = &host_files->base, .went = &host_files->brought}, ret_result, ret_why);
		mutex_lock(&host_files->lock);
		host_files->state = end == TRANSFER_DONE ? BASE_PRESENT : BASE_ABSENT;
		cond_broadcast(&host_files->changed);
	}
	mutex_unlock(&host_files->lock);
	return end;
}

// ---- an attempt ----

// Fetches the files of an attempt that has ended, and removes what is not needed any more: if some could not be fetched, all of its results
// stay. Returns how the attempt has ended after that. *ret_stopped: the transfer was cut off.
static enum link_end fetch(const struct host_files *host_files, const struct transfer *transfer, struct job_files *files, struct result *result,
                           bool *ret_stopped) {
	struct result fetched = *result;
	struct transfer_work work = {
		.comes = &files->come,
		.may_lack = result->outcome != OUTCOME_OK,
		.went = &files->went,
		.came = &files->came,
		.removes_went = host_files->options->cleans_up,
		.removes_came = host_files->options->cleans_up,
		.removes_dir = host_files->options->cleans_up && host_files->options->own_workdir,
	};
	switch (transfer_run(transfer, &work, &fetched, &files->why)) {
	case TRANSFER_DONE: break;
	case TRANSFER_LOST: return LINK_LOST;
	case TRANSFER_STOPPED:
		result->outcome = fetched.outcome;
		*ret_stopped = true;
		break;
	case TRANSFER_FAILED:
		if (result->outcome == OUTCOME_OK) {
			result->outcome = OUTCOME_FAILED;
			result->exit_code = 1;
		}
		break;
	}
	return LINK_DONE;
}

// Removes the files of an attempt from which not all was fetched, also while jobs are being ended.
static void clean_up(const struct host_files *host_files, const struct transfer *transfer, struct job_files *files) {
	struct result result;
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	(void)transfer_run(transfer, &(struct transfer_work){
		.went = &files->went, .removes_went = true, .removes_dir = host_files->options->own_workdir && files->why.len == 0}, &result, &why);
}

enum link_end host_files_run(struct host_files *host_files, const struct transfer *transfer, struct job_files *files,
                             const struct payload_context *context, const char *cwd, struct result *ret_result, struct spawn_error *ret_error,
                             bool *ret_wrote) {
	enum link_end end = LINK_DONE;
	*ret_wrote = false;
	*ret_error = (struct spawn_error){.error = 0};
	enum transfer_end brought = transfer_base(host_files, transfer, ret_result, &files->why);
	if (brought == TRANSFER_DONE) {
		brought = transfer_run(transfer, &(struct transfer_work){.goes = &files->go, .went = &files->went}, ret_result, &files->why);
	}
	switch (brought) {
	case TRANSFER_DONE: end = link_run(transfer->link, transfer->of, context, cwd, ret_result, ret_error, ret_wrote); break;
	case TRANSFER_FAILED: result_cannot_start(ret_result, 126); break;
	case TRANSFER_STOPPED: break;
	case TRANSFER_LOST: end = LINK_REFUSED; break; // it has never run
	}
	bool has_run = brought == TRANSFER_DONE && ret_result->outcome != OUTCOME_SPAWN_ERROR && ret_result->outcome != OUTCOME_CANCELLED;
	bool is_cut_off = !has_run;
	if (end == LINK_DONE && has_run) {
		end = fetch(host_files, transfer, files, ret_result, &is_cut_off);
	}
	if (end == LINK_DONE && is_cut_off && host_files->options->cleans_up) {
		clean_up(host_files, transfer, files);
	}
	return end;
}
