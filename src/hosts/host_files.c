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
	struct buf base;
	mutex lock;
	cond changed;
	enum { BASE_ABSENT, BASE_TRANSFERRING, BASE_PRESENT } state; // under the lock
};

void job_files_fini(struct job_files *files) {
	buf_fini(&files->go);
	buf_fini(&files->come);
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
	if (transfer && host_files->options->cleans_up && host_files->state == BASE_PRESENT) {
		struct transfer there = *transfer;
		there.dir = host_files->base_dir;
		transfer_remove(&there, &host_files->base, FILE_GOES);
	}
	cond_fini(&host_files->changed);
	mutex_fini(&host_files->lock);
	buf_fini(&host_files->base);
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
		end = transfer_files(&there, &host_files->base, FILE_GOES, ret_result, ret_why);
		mutex_lock(&host_files->lock);
		host_files->state = end == TRANSFER_DONE ? BASE_PRESENT : BASE_ABSENT;
		cond_broadcast(&host_files->changed);
	}
	mutex_unlock(&host_files->lock);
	return end;
}

// ---- an attempt ----

// Fetches the files of an attempt that has ended. Returns how it has ended then.
static enum link_end fetch(const struct transfer *transfer, struct job_files *files, struct result *result) {
	struct result fetched = *result;
	switch (transfer_files(transfer, &files->come, FILE_COMES, &fetched, &files->why)) {
	case TRANSFER_DONE: break;
	case TRANSFER_LOST: return LINK_LOST;
	case TRANSFER_STOPPED: result->outcome = fetched.outcome; break;
	case TRANSFER_FAILED:
		if (result->outcome != OUTCOME_OK) {
			buf_reset(&files->why); // it may never have been made
		} else {
			result->outcome = OUTCOME_FAILED;
			result->exit_code = 1;
		}
		break;
	}
	return LINK_DONE;
}

// Removes the attempt's files. If some could not be fetched, all of its results stay.
static void clean_up(const struct host_files *host_files, const struct transfer *transfer, const struct job_files *files) {
	bool has_all = files->why.len == 0;
	transfer_remove(transfer, &files->go, FILE_GOES);
	if (has_all) {
		transfer_remove(transfer, &files->come, FILE_COMES);
	}
	if (has_all && host_files->options->own_workdir) {
		transfer_remove_dir(transfer);
	}
}

enum link_end host_files_run(struct host_files *host_files, const struct transfer *transfer, struct job_files *files,
                             const struct payload_context *context, const char *cwd, struct result *ret_result, struct spawn_error *ret_error,
                             bool *ret_wrote) {
	enum link_end end = LINK_DONE;
	*ret_wrote = false;
	*ret_error = (struct spawn_error){.error = 0};
	enum transfer_end brought = transfer_base(host_files, transfer, ret_result, &files->why);
	if (brought == TRANSFER_DONE) {
		brought = transfer_files(transfer, &files->go, FILE_GOES, ret_result, &files->why);
	}
	switch (brought) {
	case TRANSFER_DONE: end = link_run(transfer->link, transfer->of, context, cwd, ret_result, ret_error, ret_wrote); break;
	case TRANSFER_FAILED: result_cannot_start(ret_result, 126); break;
	case TRANSFER_STOPPED: break;
	case TRANSFER_LOST: end = LINK_REFUSED; break; // it has never run
	}
	bool has_run = brought == TRANSFER_DONE && ret_result->outcome != OUTCOME_SPAWN_ERROR && ret_result->outcome != OUTCOME_CANCELLED;
	if (end == LINK_DONE && has_run) {
		end = fetch(transfer, files, ret_result);
	}
	if (end == LINK_DONE && host_files->options->cleans_up) {
		clean_up(host_files, transfer, files);
	}
	return end;
}
