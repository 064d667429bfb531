// The joblog (--joblog): GNU parallel's nine columns, one row for each job that has ended, one write for each row.

#include "log/joblog.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/write_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct joblog {
	int fd;
	atomic_int error;   // errno of the first write that failed, or 0
	bool is_file;
	atomic_uint_least64_t lost; // rows, since then
};

// ---- a row ----

int joblog_exitval(const struct result *result) {
	return result->outcome == OUTCOME_TIMEOUT ? -1 : result->term_signal > 0 ? 0 : result->exit_code;
}

double joblog_wall_seconds(uint64_t at) {
	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	double since = (double)(now_ns() - at) / 1e9;
	return (double)wall.tv_sec + (double)wall.tv_nsec / 1e9 - since;
}

double joblog_runtime(const struct joblog_row *row) {
	uint64_t end = row->result->end;
	return end > row->start ? (double)(end - row->start) / 1e9 : 0;
}

void joblog_add_numbers(struct buf *buf, const struct joblog_row *row, char separator, int runtime_width) {
	const char s = separator;
	buf_printf(buf, "%llu%c%s%c%.3f%c%*.3f%c%llu%c%llu%c%d%c%d%c", ull(row->seq), s, row->host ? row->host : ":", s, joblog_wall_seconds(row->start), s,
	           runtime_width, joblog_runtime(row), s, ull(row->sent), s, ull(row->received), s,
	           joblog_exitval(row->result), s, row->result->term_signal, s);
}

void joblog_format(const struct joblog_row *row, struct buf *buf) {
	joblog_add_numbers(buf, row, '\t', 10);
	char *command = buf_reserve(buf, row->command_len + 1);
	memcpy(command, row->command, row->command_len);
	for (char *at = command; (at = memchr(at, '\n', (size_t)(command + row->command_len - at)));) {
		*at = '\0';
	}
	command[row->command_len] = '\n';
	command[row->command_len + 1] = '\0';
	buf->len += row->command_len + 1;
}

// ---- the file ----

void joblog_add(struct joblog *joblog, const char *rows, size_t len) {
	int none = 0, error = atomic_load_relaxed(&joblog->error);
	if (!error && len > 0 && (joblog->is_file ? write_all(joblog->fd, rows, len) : write_limited(joblog->fd, rows, len)) != 0) {
		error = errno;
		atomic_compare_exchange_strong(&joblog->error, &none, error);
	}
	for (const char *at = rows; error && (at = memchr(at, '\n', (size_t)(rows + len - at))); ++at) {
		atomic_add_relaxed(&joblog->lost, 1);
	}
}

// Makes what is there end with a whole line, and begin with a header.
static void mend(struct joblog *joblog, size_t size) {
	static const char header[] = JOBLOG_HEADER;
	char head[sizeof(header)], last = '\n';
	size_t len = size < sizeof(header) - 1 ? size : sizeof(header) - 1;
	bool is_known = pread_all(joblog->fd, head, len, 0) == len && pread_all(joblog->fd, &last, 1, size - 1) == 1;
	if (is_known && memcmp(head, header, len) == 0 && len < sizeof(header) - 1) {
		joblog_add(joblog, header + len, sizeof(header) - 1 - len);
	} else if (is_known && last != '\n') {
		joblog_add(joblog, JOBLOG_CUT "\n", strlen(JOBLOG_CUT "\n"));
	}
}

struct joblog *joblog_open(const char *path, bool append) {
	int flags = O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
	struct stat found;
	bool reads = append && (stat(path, &found) != 0 || S_ISREG(found.st_mode)); // its end is looked at
	int fd = reads ? open(path, O_RDWR | flags, 0666) : -1;
	if (fd < 0) {
		fd = write_open(path, O_WRONLY | flags, "nothing was run");
	}
	if (fd < 0) {
		return NULL;
	}
	struct joblog *joblog = NEW(struct joblog);
	joblog->fd = fd;
	joblog->is_file = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
	bool has_content = joblog->is_file && found.st_size > 0;
	if (has_content) {
		mend(joblog, (size_t)found.st_size);
	} else {
		joblog_add(joblog, JOBLOG_HEADER, strlen(JOBLOG_HEADER));
	}
	return joblog;
}

int joblog_error(struct joblog *joblog) {
	return atomic_load_relaxed(&joblog->error);
}

uint64_t joblog_lost(struct joblog *joblog) {
	return atomic_load_relaxed(&joblog->lost);
}

int joblog_close(struct joblog *joblog) {
	int error = fd_finish(joblog->fd, joblog_error(joblog));
	free(joblog);
	return result_of(error);
}
