// A job's output kept apart from the run's: in files of its own, or in memory until it becomes part of a row.

#include "output/results.h"

#include "base/alloc.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READ_BYTES = 64 * 1024,
	TEMP_TRIES = 100,
};

struct kept {
	bool takes;
	int fd;               // -1: in memory, or closed
	char *path;
	struct buf memory;
	uint64_t bytes, mark;
};

struct results {
	struct kept stream[2];
	char *block;          // READ_BYTES, once needed
	int error;
	const char *error_path;
};

// ---- names ----

// By number first, then by name, as GNU parallel sorts names of columns.
static bool comes_before(const char *a, const char *b) {
	double x = strtod(a, NULL), y = strtod(b, NULL);
	return x < y || (!(y < x) && strcmp(a, b) < 0);
}

static void add_argument(struct buf *buf, const char *arg) {
	size_t start = buf->len;
	for (const char *at = arg; *at; ++at) {
		switch (*at) {
		case '\\': buf_adds(buf, "\\\\"); break;
		case '\t': buf_adds(buf, "\\t"); break;
		case '/': buf_adds(buf, "\\_"); break;
		default: buf_addc(buf, *at); break;
		}
	}
	if (buf->len - start > NAME_MAX) {
		buf->len = start + NAME_MAX;
	}
	buf_addc(buf, '/');
}

static const char *nth(const char *args, uint32_t n) {
	while (n-- > 0) {
		args += strlen(args) + 1;
	}
	return args;
}

static int compare_columns(const char *a, const char *b) {
	return comes_before(a, b) ? -1 : comes_before(b, a) ? 1 : 0;
}

// Appends the path of one item.
static void add_item(struct buf *buf, const char *args, uint32_t nargs, char *const *names, size_t nnames) {
	uint32_t *order = xcalloc(nargs, sizeof(*order));
	struct buf number = BUF_INIT;
	for (uint32_t i = 0; i < nargs; ++i) { // few, and mostly in order
		uint32_t at = i;
		while (i < nnames && at > 0 && compare_columns(names[i], names[order[at - 1]]) < 0) {
			order[at] = order[at - 1];
			--at;
		}
		order[at] = i;
	}
	for (uint32_t i = 0; i < nargs; ++i) {
		buf_reset(&number);
		buf_printf(&number, "%u", order[i] + 1);
		buf_adds(buf, order[i] < nnames ? names[order[i]] : number.data);
		buf_addc(buf, '/');
		add_argument(buf, nth(args, order[i]));
	}
	buf_fini(&number);
	free(order);
}

void results_add_path(struct buf *buf, const char *args, uint32_t nargs, uint32_t columns, char *const *names,
                      size_t nnames) {
	while (columns > 0 && nargs > columns) {
		add_item(buf, args, columns, names, nnames);
		args = nth(args, columns);
		nargs -= columns;
	}
	add_item(buf, args, nargs, names, nnames);
}

// ---- files ----

int results_make_dir(const char *path) {
	char *copy = xstrdup(path);
	int result = 0;
	for (char *at = copy + 1; result == 0 && at[-1]; ++at) {
		if (*at != '/' && *at != '\0') {
			continue;
		}
		char was = *at;
		*at = '\0';
		result = mkdir(copy, 0777) != 0 && errno != EEXIST ? -1 : 0;
		*at = was;
	}
	struct stat stat_buf;
	if (result == 0 && stat(copy, &stat_buf) == 0 && !S_ISDIR(stat_buf.st_mode)) {
		errno = ENOTDIR;
		result = -1;
	}
	free(copy);
	return result;
}

static int open_new(const char *path) {
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
}

int results_write_file(const char *path, const char *text) {
	int fd = open_new(path);
	if (fd < 0) {
		return -1;
	}
	int error = write_all(fd, text, strlen(text)) == 0 ? 0 : errno;
	if (close(fd) != 0 && !error) {
		error = errno;
	}
	errno = error;
	return error ? -1 : 0;
}

// ---- opening ----

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

struct results *results_in_files(const char *out, const char *err, const char **ret_failed) {
	const char *const paths[] = {out, err};
	struct results *results = results_new();
	for (int i = 0; i < 2; ++i) {
		struct kept *kept = &results->stream[i];
		if (!paths[i]) {
			continue;
		}
		kept->fd = open_new(paths[i]);
		if (kept->fd < 0) {
			int error = errno;
			*ret_failed = paths[i];
			results_free(results, /* unlink_files */ false);
			errno = error;
			return NULL;
		}
		kept->takes = true;
		kept->path = xstrdup(paths[i]);
	}
	return results;
}

// "parXXXXX.par", as GNU parallel calls them.
static void add_temp_name(struct buf *path, const char *dir) {
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	unsigned char bytes[5] = {0};
	if (getrandom(bytes, sizeof(bytes), 0) < 0) {
		bytes[0] = (unsigned char)getpid(); // the next try differs by what is there
	}
	buf_reset(path);
	buf_printf(path, "%s/par", dir);
	for (size_t i = 0; i < sizeof(bytes); ++i) {
		buf_addc(path, letters[bytes[i] % (sizeof(letters) - 1)]);
	}
	buf_adds(path, ".par");
}

struct results *results_in_temp(const char *dir) {
	struct buf path = BUF_INIT;
	int fd = -1;
	errno = EEXIST;
	for (int i = 0; i < TEMP_TRIES && fd < 0 && errno == EEXIST; ++i) {
		add_temp_name(&path, dir);
		fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		buf_fini(&path);
		return NULL;
	}
	struct results *results = results_new();
	results->stream[0] = (struct kept){.takes = true, .fd = fd, .path = buf_take(&path)};
	return results;
}

// ---- writing ----

bool results_takes(const struct results *results, int stream) {
	return results->stream[stream].takes;
}

static void note_error(struct results *results, const struct kept *kept, int error) {
	if (!results->error) {
		results->error = error;
		results->error_path = kept->path;
	}
}

void results_add(struct results *results, int stream, const void *mem, size_t len) {
	struct kept *kept = &results->stream[stream];
	kept->bytes += len;
	if (!kept->path) {
		buf_add(&kept->memory, mem, len);
	} else if (!results->error && write_all(kept->fd, mem, len) != 0) {
		note_error(results, kept, errno);
	}
}

ssize_t results_readable(struct results *results, int stream, int fd) {
	struct kept *kept = &results->stream[stream];
	if (kept->path && !results->block) {
		results->block = xmalloc(READ_BYTES);
	}
	char *to = kept->path ? results->block : buf_reserve(&kept->memory, READ_BYTES);
	ssize_t n;
	do {
		n = read(fd, to, READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && kept->path) {
		results_add(results, stream, to, (size_t)n);
	} else if (n > 0) {
		kept->memory.len += (size_t)n;
		kept->memory.data[kept->memory.len] = '\0';
		kept->bytes += (uint64_t)n;
	}
	return n;
}

void results_mark(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		results->stream[i].mark = results->stream[i].bytes;
	}
}

void results_reset(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		struct kept *kept = &results->stream[i];
		if (kept->fd >= 0 && kept->bytes > kept->mark && ftruncate(kept->fd, (off_t)kept->mark) != 0) {
			note_error(results, kept, errno);
		}
		if (kept->memory.len > kept->mark) {
			kept->memory.len = (size_t)kept->mark;
		}
		kept->bytes = kept->mark;
	}
}

uint64_t results_bytes(const struct results *results, int stream) {
	return results->stream[stream].bytes;
}

const struct buf *results_memory(const struct results *results, int stream) {
	return &results->stream[stream].memory;
}

void results_tail(const struct results *results, int stream, size_t n, struct buf *buf) {
	const struct kept *kept = &results->stream[stream];
	uint64_t from = kept->bytes > n ? kept->bytes - n : 0;
	size_t len = (size_t)(kept->bytes - from);
	if (!kept->path) {
		buf_add(buf, buf_str(&kept->memory) + from, len);
		return;
	}
	int fd = open(kept->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		char *to = buf_reserve(buf, len);
		size_t got = pread_all(fd, to, len, from);
		to[got] = '\0';
		buf->len += got;
		close(fd);
	}
}

const char *results_path(const struct results *results) {
	return results->stream[0].path;
}

int results_error(const struct results *results, const char **ret_path) {
	*ret_path = results->error_path;
	return results->error;
}

void results_end(struct results *results) {
	for (int i = 0; i < 2; ++i) {
		struct kept *kept = &results->stream[i];
		if (kept->fd >= 0 && close(kept->fd) != 0) {
			note_error(results, kept, errno);
		}
		kept->fd = -1;
	}
}

void results_free(struct results *results, bool unlink_files) {
	results_end(results);
	for (int i = 0; i < 2; ++i) {
		struct kept *kept = &results->stream[i];
		if (unlink_files && kept->path && unlink(kept->path) != 0) {
			note_error(results, kept, errno); // nobody asks any more: there is nothing to be done about it
		}
		free(kept->path);
		buf_fini(&kept->memory);
	}
	free(results->block);
	free(results);
}
