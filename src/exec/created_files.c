// The files that jobs create (`creates`): a job whose file exists is not run, and the file of a failed job is removed.
//
// Several jobs may create the same path at once; a path is in the table `created` only while some job creates it.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/sync.h"
#include "base/text.h"

#include <errno.h>
#include <search.h>
#include <sys/stat.h>
#include <unistd.h>

struct created_file {
	unsigned njobs; // number of jobs that are creating the file
	bool is_made;   // a job of this run that creates the path has succeeded
	char path[];
};

static struct {
	mutex lock;
	void *tree; // of struct created_file: tsearch(3)
} created = {.lock = MUTEX_INIT(LOCK_CREATED_FILES)};

static int compare(const void *a, const void *b) {
	return strcmp(((const struct created_file *)a)->path, ((const struct created_file *)b)->path);
}

// Notes that one more job is creating the file at `path`. Returns the entry of the file.
static struct created_file *begin(const char *path) {
	size_t size = strlen(path) + 1;
	struct created_file *file = xcalloc(1, sizeof(*file) + size);
	memcpy(file->path, path, size);
	FP_HOLD(&created.lock);
	struct created_file **found = tsearch(file, &created.tree, compare);
	verify(found); // NULL: there is no memory
	if (*found != file) {
		free(file);
	}
	file = *found;
	++file->njobs;
	return file;
}

// Sets `path` to the absolute path of the file that the job creates, by its spec.
static void make_path(const struct job *job, struct buf *path) {
	const struct job_spec *spec = job->spec;
	struct expansion x = job_expansion(job);
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	template_expand(spec->creates, &x, &name);
	const char *dir = spec->context->cwd ? spec->context->cwd : "";
	buf_reset(path);
	if (buf_str(&name)[0] != '/') {
		buf_printf(path, "%s/", dir[0] == '/' ? "" : job->batch->run->cwd);
		buf_printf(path, "%s%s", dir, dir[0] ? "/" : "");
	}
	buf_adds(path, buf_str(&name));
}

bool created_files_find(struct worker_state *state, struct job *job) {
	struct stat stat;
	make_path(job, &state->path);
	const char *path = buf_str(&state->path);
	if (access(path, F_OK) == 0) {
		return true;
	}
	if (lstat(path, &stat) != 0 && !state->run->options->dry_run) {
		job->creating = begin(path);
	}
	return false;
}

const char *created_files_path(const struct job *job) {
	return job->creating ? job->creating->path : NULL;
}

void created_files_finish(struct job *job, bool ok) {
	struct created_file *file = job->creating;
	if (!file) {
		return;
	}
	job->creating = NULL;
	mutex_lock(&created.lock);
	file->is_made |= ok;
	bool is_last = --file->njobs == 0;
	if (is_last) {
		tdelete(file, &created.tree, compare);
	}
	mutex_unlock(&created.lock);
	if (!is_last) {
		return;
	}
	if (!file->is_made && unlink(file->path) != 0 && errno != ENOENT && errno != ENOTDIR && rmdir(file->path) != 0) {
		int error = errno;
		FP_CLEANUP(buf_fini) struct buf label = BUF_INIT;
		job_label(job, &label);
		diag_warn("job %s: cannot remove the unfinished '%s': %s", buf_str(&label), text_shows(file->path), strerror(error));
	}
	free(file);
}
