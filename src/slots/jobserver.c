// GNU make's jobserver: slots that are bytes in a pipe or a FIFO.

#include "slots/jobserver.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/random.h"
#include "base/temp_file.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOB_FD = 100 }; // the least number of a descriptor that jobs get, if possible: scripts use low numbers for themselves

// ---- $MAKEFLAGS ----

static const char auth_word[] = "--jobserver-auth=", fds_word[] = "--jobserver-fds="; // fds_word is the word of a make before 4.2

static bool begins(const char *word, const char *with) {
	return strncmp(word, with, strlen(with)) == 0;
}

// Returns the part of the word that names a jobserver, or NULL if the word names none.
static const char *auth_of(const char *word) {
	return begins(word, auth_word) ? word + sizeof(auth_word) - 1 : begins(word, fds_word) ? word + sizeof(fds_word) - 1 : NULL;
}

// Returns whether the word is the "--" behind which MAKEFLAGS has the variables.
static bool is_end(const char *word, size_t len) {
	return len == 2 && begins(word, "--");
}

// Parses "R,W" or "fifo:PATH". make sets R and W below 0 if it knows that this process does not inherit the descriptors.
static void parse_auth(const char *auth, size_t len, struct jobserver_flags *flags) {
	static const char fifo[] = "fifo:";
	char *end;
	free(flags->path);
	flags->path = NULL;
	flags->form = JOBSERVER_UNKNOWN;
	if (len > sizeof(fifo) - 1 && strncmp(auth, fifo, sizeof(fifo) - 1) == 0) {
		flags->form = JOBSERVER_FIFO;
		flags->path = xmemdup(auth + sizeof(fifo) - 1, len - (sizeof(fifo) - 1));
		return;
	}
	long read_fd = strtol(auth, &end, 10);
	if (end == auth || *end != ',') {
		return;
	}
	const char *second = end + 1;
	long write_fd = strtol(second, &end, 10);
	if (end == second || end != auth + len || read_fd > INT_MAX || write_fd > INT_MAX) {
		return;
	}
	flags->form = read_fd < 0 || write_fd < 0 ? JOBSERVER_NONE : JOBSERVER_PIPE;
	flags->read_fd = (int)read_fd;
	flags->write_fd = (int)write_fd;
}

void jobserver_parse(const char *makeflags, struct jobserver_flags *ret_flags) {
	const char *at = makeflags ? makeflags : "", *word;
	*ret_flags = (struct jobserver_flags){.read_fd = -1, .write_fd = -1};
	size_t len;
	for (bool first = true; (word = word_next(&at, &len)) && !is_end(word, len); first = false) {
		const char *auth = auth_of(word);
		if (auth) {
			parse_auth(auth, len - (size_t)(auth - word), ret_flags);
		} else if (begins(word, "-j")) {
			unsigned long jobs = strtoul(word + 2, NULL, 10);
			ret_flags->jobs = jobs < UINT_MAX ? (unsigned)jobs : 0;
		} else if (first && word[0] != '-' && !memchr(word, '=', len)) { // the word holds flags of one letter each
			ret_flags->dry_run = memchr(word, 'n', len);
		}
	}
}

void jobserver_flags_fini(struct jobserver_flags *flags) {
	free(flags->path);
}

char *jobserver_set_flags(const char *makeflags, const char *auth) {
	const char *at = makeflags ? makeflags : "";
	struct buf flags = BUF_INIT;
	size_t len;
	const char *word = word_next(&at, &len);
	if (word && word[0] != '-') { // make takes the first word for flags of one letter: nothing else may come before it
		buf_add(&flags, word, len);
		word = word_next(&at, &len);
	}
	for (; word && !is_end(word, len); word = word_next(&at, &len)) {
		if (!auth_of(word) && !begins(word, "-j")) {
			buf_addc(&flags, ' ');
			buf_add(&flags, word, len);
		}
	}
	if (auth) { // -j has no number: with a number in the environment, make before 4.2 would ignore the jobserver
		const char *fds = strchr(auth, ':') ? NULL : auth;
		buf_printf(&flags, " -j%s%s%s %s%s", fds ? " " : "", fds ? fds_word : "", fds ? fds : "", auth_word, auth);
	}
	if (word) {
		buf_printf(&flags, " %s", word);
	}
	return buf_take(&flags);
}

// ---- a client ----

// Opens the file behind a descriptor anew. Returns the descriptor, or -1 with errno.
static int reopen(int fd, int mode) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT; // buf_fini() leaves errno alone
	tmpfile_add_name(&name, fd);
	return open(buf_str(&name), mode | O_NONBLOCK | O_CLOEXEC);
}

// Checks that `fd` is an end of a pipe, but not the end that is open with `other_mode`: if make has closed the pipe, the number may stand
// for another file. Returns 0, or an errno of jobserver_connect().
static int check_pipe_end(int fd, int other_mode) {
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) != 0) {
		return EBADF;
	}
	return (flags & O_ACCMODE) != other_mode && S_ISFIFO(st.st_mode) ? 0 : EINVAL;
}

// Opens a FIFO, or a device, which some jobservers use instead; refuses a regular file, whose bytes would be taken for tokens.
static int connect_fifo(const char *path, struct jobserver *jobserver) {
	struct stat st;
	jobserver->in_fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (jobserver->in_fd >= 0 && (fstat(jobserver->in_fd, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))) {
		errno = EINVAL;
		return -1;
	}
	jobserver->out_fd = jobserver->in_fd >= 0 ? fcntl(jobserver->in_fd, F_DUPFD_CLOEXEC, 0) : -1;
	return jobserver->out_fd >= 0 ? 0 : -1;
}

int jobserver_connect(const struct jobserver_flags *flags, struct jobserver *ret_jobserver) {
	*ret_jobserver = (struct jobserver){.in_fd = -1, .out_fd = -1, .job_fds = {-1, -1}};
	int result = -1;
	errno = ENOTSUP;
	if (flags->form == JOBSERVER_PIPE) {
		int error = check_pipe_end(flags->read_fd, O_WRONLY);
		error = error ? error : check_pipe_end(flags->write_fd, O_RDONLY);
		errno = error;
		ret_jobserver->in_fd = error ? -1 : reopen(flags->read_fd, O_RDONLY);
		ret_jobserver->out_fd = ret_jobserver->in_fd >= 0 ? reopen(flags->write_fd, O_WRONLY) : -1;
		result = ret_jobserver->out_fd >= 0 ? 0 : -1;
	} else if (flags->form == JOBSERVER_FIFO) {
		result = connect_fifo(flags->path, ret_jobserver);
	}
	if (result != 0) {
		fd_close(&ret_jobserver->in_fd);
	}
	return result;
}

// ---- a server ----

// Makes a pipe whose ends jobs inherit.
static int create_pipe(struct jobserver *jobserver) {
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0) {
		return -1;
	}
	for (int i = 0; i < 2; ++i) {
		int high = fcntl(ends[i], F_DUPFD, JOB_FD);
		jobserver->job_fds[i] = high >= 0 ? high : fcntl(ends[i], F_DUPFD, 3);
	}
	jobserver->in_fd = reopen(ends[0], O_RDONLY);
	jobserver->out_fd = reopen(ends[1], O_WRONLY);
	close(ends[0]);
	close(ends[1]);
	if (jobserver->in_fd < 0 || jobserver->out_fd < 0 || jobserver->job_fds[0] < 0 || jobserver->job_fds[1] < 0) {
		return -1;
	}
	struct buf auth = BUF_INIT;
	buf_printf(&auth, "%d,%d", jobserver->job_fds[0], jobserver->job_fds[1]);
	jobserver->auth = buf_take(&auth);
	return 0;
}

static const char fifo_prefix[] = "fairpar-jobserver-";

// Returns whether the file is a FIFO of this user that no process has open for reading (fifo(7): ENXIO). A fairpar that was killed has left
// such a FIFO behind: a fairpar that runs has its own FIFO open.
static bool is_left_over(const char *path) {
	struct stat st;
	if (lstat(path, &st) != 0 || !S_ISFIFO(st.st_mode) || st.st_uid != geteuid()) {
		return false;
	}
	FP_CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 && errno == ENXIO;
}

static int create_fifo(const char *dir, struct jobserver *jobserver) {
	struct buf auth = BUF_INIT;
	uint64_t random;
	random_bytes(&random, sizeof(random));
	buf_printf(&auth, "fifo:%s/%s%016" PRIx64, dir, fifo_prefix, random);
	jobserver->auth = buf_take(&auth);
	const char *path = strchr(jobserver->auth, ':') + 1;
	if (strpbrk(path, " \t")) { // $MAKEFLAGS has no way to quote a blank
		errno = EINVAL;
		return -1;
	}
	remove_left_over(dir, fifo_prefix, is_left_over);
	int result;
	do { // until the FIFO is open, another fairpar may take it for one that was left behind, and remove it
		if (mkfifo(path, 0600) != 0) {
			return -1;
		}
		result = connect_fifo(path, jobserver);
	} while (result != 0 && errno == ENOENT);
	jobserver->path = path;
	return result;
}

int jobserver_create(enum jobserver_form form, const char *dir, struct jobserver *ret_jobserver) {
	*ret_jobserver = (struct jobserver){.in_fd = -1, .out_fd = -1, .job_fds = {-1, -1}};
	int result = form == JOBSERVER_FIFO ? create_fifo(dir, ret_jobserver) : create_pipe(ret_jobserver);
	if (result != 0) {
		FP_KEEP_ERRNO;
		jobserver_close(ret_jobserver);
	}
	return result;
}

void jobserver_close(struct jobserver *jobserver) {
	if (jobserver->path) {
		(void)!unlink(jobserver->path); // somebody may have removed it
	}
	fd_close(&jobserver->in_fd);
	fd_close(&jobserver->out_fd);
	fd_close(&jobserver->job_fds[0]);
	fd_close(&jobserver->job_fds[1]);
	free(jobserver->auth);
}

// ---- tokens ----

bool jobserver_take(struct jobserver *jobserver, char *ret_token) {
	return read_some(jobserver->in_fd, ret_token, 1) == 1;
}

void jobserver_put(struct jobserver *jobserver, char token) {
	(void)!write(jobserver->out_fd, &token, 1); // the pipe has room for more bytes than there are tokens
}

bool jobserver_is_empty(const struct jobserver *jobserver) {
	int n;
	return ioctl(jobserver->in_fd, FIONREAD, &n) == 0 && n == 0;
}
