// Keeps the output of a job apart from the output of the run: in the job's own files, or in memory until the output becomes a row of a table.

#include "output/results.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/fault.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- opening ----

static void add_seq_path(struct buf *buf, const char *path) {
	size_t len = strlen(path);
	buf_printf(buf, "%s%s", path, len == 0 || path[len - 1] == '/' ? "seq" : ".seq");
}

bool results_are_complete(int dir, const char *path) {
	FP_CLEANUP(buf_fini) struct buf seq = BUF_INIT;
	struct stat stat;
	add_seq_path(&seq, path);
	FP_CLEANUP(fd_close) int fd = open_beneath(dir, seq.data, O_PATH);
	return fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0;
}

static struct results *results_new(void) {
	struct results *results = NEW(struct results);
	results->stream[0].fd = results->stream[1].fd = -1;
	return results;
}

struct results *results_in_memory(void) {
	struct results *results = results_new();
	results->stream[0].takes = results->stream[1].takes = true;
	return results;
}

// Empties the file with the job's number that an earlier run may have left: the job's files are not complete any more. Returns 0, or -1 with errno.
static int forget_seq(int dir, const char *path) {
	FP_CLEANUP(fd_close) int fd = open_beneath(dir, path, O_WRONLY | O_TRUNC);
	return fd >= 0 || errno == ENOENT ? 0 : -1;
}

struct results *results_in_files(int dir, const char *path, size_t below, struct buf *failed) {
	struct results *results = results_new();
	size_t len = strlen(path);
	bool is_dir = path[len - 1] == '/';
	const char *const endings[] = {is_dir ? "stdout" : "", is_dir ? "stderr" : ".err"};
	struct buf name = BUF_INIT;
	results->dir = dir;
	results->below = below;
	add_seq_path(&name, path);
	results->seq = buf_take(&name);
	buf_adds(failed, results->seq);
	bool ok = forget_seq(dir, results->seq + below) == 0;
	for (int i = 0; i < 2 && ok; ++i) {
		struct kept_stream *kept = &results->stream[i];
		buf_reset(failed);
		buf_printf(failed, "%s%s", path, endings[i]);
		kept->fd = open_beneath(dir, failed->data + below, O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
		kept->takes = ok = kept->fd >= 0;
		kept->path = xstrdup(failed->data);
	}
	if (!ok) {
		FP_KEEP_ERRNO;
		results_free(results, /* unlink_files */ false);
		return NULL;
	}
	return results;
}

int results_complete(struct results *results, uint64_t seq, const char **ret_path) {
	*ret_path = results->seq;
	if (!results->seq) {
		return 0;
	}
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)seq);
	int fd = open_beneath(results->dir, results->seq + results->below, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0) {
		return -1;
	}
	int error = write_all(fd, text, (size_t)len) == 0 ? 0 : errno;
	return result_of(fd_finish(fd, error));
}

struct results *results_in_temp(const char *dir) {
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
	buf_printf(&path, "%s/parXXXXXX.par", dir);
	int fd = mkostemps(path.data, (int)strlen(".par"), O_APPEND | O_CLOEXEC); // mode 0600
	if (fd < 0) {
		return NULL;
	}
	struct results *results = results_new();
	results->stream[0] = (struct kept_stream){.takes = true, .fd = fd, .path = buf_take(&path)};
	return results;
}

// ---- writing ----

static void note_error(struct results *results, const struct kept_stream *kept, int error) {
	if (!results->error) {
		results->error = error;
		results->error_path = kept->path;
	}
}

void results_add(struct results *results, int stream, const void *mem, size_t len) {
	struct kept_stream *kept = &results->stream[stream];
	kept->bytes += len;
	if (!kept->path) {
		buf_add(&kept->memory, mem, len);
	} else if (!results->error) {
		if (fault_fails("results") || write_all(kept->fd, mem, len) != 0) {
			note_error(results, kept, errno);
		}
	}
}

void results_mark(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		results->stream[i].mark = results->stream[i].bytes;
	}
}

void results_reset(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		struct kept_stream *kept = &results->stream[i];
		if (kept->fd >= 0 && kept->bytes > kept->mark && ftruncate(kept->fd, (off_t)kept->mark) != 0) {
			note_error(results, kept, errno);
		}
		if (kept->memory.len > kept->mark) {
			kept->memory.len = (size_t)kept->mark;
		}
		kept->bytes = kept->mark;
	}
}

void results_tail(const struct results *results, int stream, size_t n, struct buf *buf) {
	const struct kept_stream *kept = &results->stream[stream];
	uint64_t from = kept->bytes > n ? kept->bytes - n : 0;
	size_t len = (size_t)(kept->bytes - from);
	if (!kept->path) {
		buf_add(buf, buf_str(&kept->memory) + from, len);
		return;
	}
	char *to = buf_reserve(buf, len);
	size_t got = pread_all(kept->fd, to, len, from);
	to[got] = '\0';
	buf->len += got;
}

void results_end(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		struct kept_stream *kept = &results->stream[i];
		if (kept->fd >= 0 && close(kept->fd) != 0) {
			note_error(results, kept, errno);
		}
		kept->fd = -1;
	}
}

void results_free(struct results *results, bool unlink_files) {
	results_end(results);
	for (int i = 0; i < 2; ++i) {
		struct kept_stream *kept = &results->stream[i];
		if (unlink_files && kept->path && unlink(kept->path) != 0) {
			note_error(results, kept, errno); // nobody reads this error any more: the file just stays
		}
		free(kept->path);
		buf_fini(&kept->memory);
	}
	free(results->seq);
	free(results);
}
