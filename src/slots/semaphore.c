// Counting semaphores with a name: FIFOs that the kernel closes and unlocks when their owners end.
//
// A process reads or changes a semaphore's directory only while it briefly locks the directory of all semaphores. A semaphore's directory has files:
//
//	wN      belongs to a process that waits in the queue, with number N
//	hN      belongs to a process that holds the semaphore; N is the number with which it waited
//	xN      belongs to a process that waits until all processes of lower numbers have given the semaphore back (semaphore_wait())
//
// The owner of a file has it open for reading and writing, and locked. A file that is not locked was left by a process
// that was killed; the first process that sees it unlinks it. On the last close the kernel gives up the lock before it tells
// the readers of the FIFO (__fput() in fs/file_table.c: locks_remove_file(), then release()), so a process that is woken finds
// the lock free. POLLHUP stays as long as there is no writer, so it cannot be missed between looking and polling.

#include "slots/semaphore.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "slots/pool_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAITING = 'w', HOLDING = 'h', WATCHING = 'x' };

struct semaphore {
	char *name;              // name of the semaphore's directory
	struct buf path;         // path of that directory, for messages
	int parent_fd;           // the directory of all semaphores
	int dir_fd;              // the semaphore's directory while that of all semaphores is locked, else -1
	int fd;                  // descriptor of this process's file, or -1
	char kind;               // kind of this process's file: the first letter of its name
	unsigned number;         // number in the name of this process's file
};

// A file whose owner is another process, which lives.
struct other {
	unsigned number;
	char kind;
	int fd;                  // descriptor of the file, to poll
};

struct others {
	struct other *at;
	size_t n, cap;
	unsigned last;           // the greatest number in the name of any file; 0: there is no file
};

static int fail(const struct semaphore *s, struct buf *error, const char *what) {
	int cause = errno;
	buf_printf(error, "semaphore: cannot %s '%s': %s", what, text_shows(buf_str(&s->path)), strerror(cause));
	return -1;
}

// ---- the directory ----

// Enters the directory `name` below s->parent_fd, and makes it if it is missing. `others`: mode bits for other users that it must not have.
static int enter(struct semaphore *s, const char *name, mode_t others, struct buf *error) {
	buf_printf(&s->path, "/%s", name);
	bool is_there = mkdirat(s->parent_fd, name, 0700) == 0 || errno == EEXIST;
	int fd = is_there ? openat(s->parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		return fail(s, error, "open");
	}
	fd_close(&s->parent_fd);
	s->parent_fd = fd;
	if (st.st_uid != geteuid()) {
		buf_printf(error, "semaphore: '%s' belongs to another user: is HOME yours?", text_shows(s->path.data));
		return -1;
	}
	if (st.st_mode & others) {
		buf_printf(error, "semaphore: '%s' is open to other users: chmod 700 closes it", text_shows(s->path.data));
		return -1;
	}
	return 0;
}

// Makes ~/.cache/fairpar/sem if it is missing. Returns whether this directory cannot be made or written, because the home directory is missing (as
// that of a system user may be) or access is denied. A cause that may pass, such as a full disk, does not count: the user's other processes may
// already use the semaphores there.
static bool is_shut(const char *home) {
	static const char *const below[] = {"/.cache", "/fairpar", "/sem"};
	FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
	buf_adds(&path, home);
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); ++i) {
		buf_adds(&path, below[i]);
		if (mkdir(buf_str(&path), 0700) != 0 && errno != EEXIST) {
			return errno == EACCES || errno == EPERM || errno == EROFS || errno == ENOENT || errno == ENOTDIR;
		}
	}
	return faccessat(AT_FDCWD, buf_str(&path), W_OK | X_OK, AT_EACCESS) != 0;
}

// Appends a file name for any text: the prefix, then the text with %XX for all but letters, digits, "-" and "_".
static void add_file_name(struct buf *file, const char *prefix, const char *text) {
	buf_adds(file, prefix);
	for (const char *c = text; *c; ++c) {
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
		if (plain) {
			buf_addc(file, *c);
		} else {
			buf_printf(file, "%%%02X", (unsigned)(unsigned char)*c);
		}
	}
}

// Enters the directory in which all semaphores of this host are. Returns 0, or -1 with *error.
static int enter_all(struct semaphore *s, struct buf *error) {
	const char *home = getenv("HOME");
	bool at_home = home && home[0] == '/' && !is_shut(home);
	struct pool_dir pool_dir;
	if (!at_home && pool_dir_open(&pool_dir, "sem", error) != 0) {
		return -1;
	}
	buf_printf(&s->path, "%s%s", at_home ? home : pool_dir_path(&pool_dir), at_home ? "/.cache" : "");
	// ~/.cache may be a link: many users have their cache on another disk
	s->parent_fd = open(s->path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->parent_fd < 0) {
		return fail(s, error, "open");
	}
	// a directory for each host: on a disk that hosts share, a lock that a FIFO has on one host is not seen on another
	char host[HOST_NAME_MAX + 1] = "";
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	(void)gethostname(host, HOST_NAME_MAX);
	add_file_name(&own, "on-", host);
	return (!at_home || enter(s, "fairpar", 022, error) == 0) && enter(s, "sem", 077, error) == 0
		&& enter(s, buf_str(&own), 077, error) == 0 ? 0 : -1;
}

static int set_name(struct semaphore *s, const char *name, struct buf *error) {
	struct buf file = BUF_INIT;
	add_file_name(&file, "id-", name);
	s->name = buf_take(&file);
	if (strlen(s->name) <= NAME_MAX) {
		return 0;
	}
	buf_printf(error, "semaphore: the name '%s' is too long", text_shows(name));
	return -1;
}

struct semaphore *semaphore_open(const char *name, struct buf *error) {
	struct semaphore *s = NEW(struct semaphore);
	s->parent_fd = s->dir_fd = s->fd = -1;
	if (set_name(s, name, error) != 0 || enter_all(s, error) != 0) {
		semaphore_forget(s);
		return NULL;
	}
	buf_printf(&s->path, "/%s", s->name);
	return s;
}

// ---- the lock ----

static void unlock(struct semaphore *s) {
	fd_close(&s->dir_fd);
	(void)flock(s->parent_fd, LOCK_UN);
}

// Locks the directory of all semaphores, and opens the semaphore's own directory, made if it is missing. A repeated call changes nothing.
static int lock(struct semaphore *s, struct buf *error) {
	int result;
	do {
		result = flock(s->parent_fd, LOCK_EX);
	} while (result != 0 && errno == EINTR);
	if (s->dir_fd < 0 && result == 0 && (mkdirat(s->parent_fd, s->name, 0700) == 0 || errno == EEXIST)) {
		s->dir_fd = openat(s->parent_fd, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	return s->dir_fd >= 0 ? 0 : fail(s, error, "lock");
}

// ---- the files ----

typedef char file_name[16];

static void name_file(file_name ret_name, char kind, unsigned number) {
	snprintf(ret_name, sizeof(file_name), "%c%u", kind, number);
}

// Reads a name that name_file() has made. Returns false for any other name.
static bool parse_name(const char *name, char *ret_kind, unsigned *ret_number) {
	file_name same;
	if (name[0] == '\0' || !strchr("whx", name[0]) || strlen(name) >= sizeof(same)) {
		return false;
	}
	*ret_kind = name[0];
	*ret_number = (unsigned)strtoul(name + 1, NULL, 10);
	name_file(same, *ret_kind, *ret_number);
	return strcmp(name, same) == 0;
}

// Makes the file of this process, with that number. The semaphore is locked.
static int make_file(struct semaphore *s, char kind, unsigned number, struct buf *error) {
	file_name name;
	name_file(name, kind, number);
	if (mkfifoat(s->dir_fd, name, 0600) != 0) {
		return fail(s, error, "make a FIFO in");
	}
	int fd = openat(s->dir_fd, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
		fail(s, error, "lock a FIFO in");
		fd_close(&fd);
		return -1;
	}
	s->fd = fd;
	s->kind = kind;
	s->number = number;
	return 0;
}

static void drop_file(struct semaphore *s) {
	file_name name;
	name_file(name, s->kind, s->number);
	if (s->fd >= 0) {
		(void)!unlinkat(s->dir_fd, name, 0); // if this fails, the next process removes the file, as it is not locked
	}
	fd_close(&s->fd);
}

static void others_fini(struct others *others) {
	for (size_t i = 0; i < others->n; ++i) {
		close(others->at[i].fd);
	}
	free(others->at);
}

// Adds the owner of the file to `others`, if the owner lives; else removes the file.
static int read_other(struct semaphore *s, struct others *others, char kind, unsigned number, struct buf *error) {
	file_name name;
	name_file(name, kind, number);
	int fd = openat(s->dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		return errno == ENOENT ? 0 : fail(s, error, "open a FIFO in");
	}
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && flock(fd, LOCK_SH | LOCK_NB) != 0) {
		*NEW_ELEMENT(others->at, others->n, others->cap) = (struct other){.number = number, .kind = kind, .fd = fd};
		return 0;
	}
	(void)!unlinkat(s->dir_fd, name, 0);
	close(fd);
	return 0;
}

// Locks the semaphore, and lists the other processes that hold it or wait. `ret_others` is empty before; the caller calls others_fini(),
// also after an error.
static int list_others(struct semaphore *s, struct others *ret_others, struct buf *error) {
	if (lock(s, error) != 0) {
		return -1;
	}
	int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		fail(s, error, "read");
		fd_close(&fd);
		return -1;
	}
	int result = 0;
	for (struct dirent *entry; result == 0 && (errno = 0, entry = readdir(dir));) {
		char kind;
		unsigned number;
		if (!parse_name(entry->d_name, &kind, &number)) {
			continue;
		}
		ret_others->last = number > ret_others->last ? number : ret_others->last;
		if (s->fd < 0 || number != s->number || kind != s->kind) {
			result = read_other(s, ret_others, kind, number, error);
		}
	}
	if (result == 0 && errno != 0) {
		result = fail(s, error, "read");
	}
	closedir(dir);
	return result;
}

// ---- waiting ----

// Unlocks the semaphore, and sleeps until one of the processes in `others` has closed its file.
static enum semaphore_result sleep_unlocked(struct semaphore *s, const struct others *others, uint64_t deadline, struct buf *error) {
	unlock(s);
	FP_CLEANUP(free_later) struct pollfd *fds = xcalloc(others->n, sizeof(*fds));
	for (size_t i = 0; i < others->n; ++i) {
		fds[i] = (struct pollfd){.fd = others->at[i].fd}; // poll(2) reports POLLHUP without being asked for it
	}
	int ready;
	do {
		ready = poll(fds, (nfds_t)others->n, poll_ms(deadline));
	} while ((ready < 0 && errno == EINTR) || (ready == 0 && now_ns() < deadline));
	if (ready < 0) {
		fail(s, error, "wait for");
	}
	return ready > 0 ? SEMAPHORE_DONE : ready == 0 ? SEMAPHORE_TIMED_OUT : SEMAPHORE_ERROR;
}

// Makes this process a holder, with the number with which it waited. The semaphore is locked.
static enum semaphore_result hold(struct semaphore *s, struct buf *error) {
	struct semaphore waiting = *s;
	s->fd = -1;
	int result = make_file(s, HOLDING, waiting.number, error);
	drop_file(&waiting); // wakes the next process in the queue
	return result == 0 ? SEMAPHORE_DONE : SEMAPHORE_ERROR;
}

// Gets in line: makes the file of this process, with a number above `last`, the greatest of all. The semaphore is locked.
static int line_up(struct semaphore *s, char kind, unsigned last, struct buf *error) {
	if (last == UINT_MAX) {
		buf_printf(error, "semaphore: '%s' has no more numbers", text_shows(buf_str(&s->path)));
		return -1;
	}
	return make_file(s, kind, last + 1, error);
}

// Keeps in `others` only those for which this process waits. If this process is WATCHING: all that came before it. If it is WAITING in the queue: the
// process just in front of it, so that only one process wakes when one leaves; or the holders, if no process is in front. Returns whether none is.
static bool keep_awaited(const struct semaphore *s, struct others *others) {
	unsigned ahead = 0; // the number of the process just in front in the queue; 0: there is none
	for (size_t i = 0; i < others->n && s->kind == WAITING; ++i) {
		const struct other *other = &others->at[i];
		ahead = other->kind == WAITING && other->number < s->number && other->number > ahead ? other->number : ahead;
	}
	size_t n = 0;
	for (size_t i = 0; i < others->n; ++i) {
		const struct other other = others->at[i];
		bool is_awaited = s->kind == WATCHING ? other.kind != WATCHING && other.number < s->number
			: ahead > 0 ? other.kind == WAITING && other.number == ahead : other.kind == HOLDING;
		if (is_awaited) {
			others->at[n++] = other;
		} else {
			close(other.fd);
		}
	}
	others->n = n;
	return ahead == 0;
}

// Gets in line, unless this process is in line already, and waits until it is first and has fewer than `limit` others to wait for. Returns
// SEMAPHORE_DONE with the semaphore locked; or as sleep_unlocked().
static enum semaphore_result await(struct semaphore *s, char kind, unsigned limit, uint64_t deadline, struct buf *error) {
	enum semaphore_result result = SEMAPHORE_DONE;
	for (bool done = false; result == SEMAPHORE_DONE && !done;) {
		FP_CLEANUP(others_fini) struct others others = {0};
		bool is_in_line = list_others(s, &others, error) == 0 && (s->fd >= 0 || line_up(s, kind, others.last, error) == 0);
		result = is_in_line ? SEMAPHORE_DONE : SEMAPHORE_ERROR;
		done = keep_awaited(s, &others) && others.n < limit;
		if (is_in_line && !done) {
			result = sleep_unlocked(s, &others, deadline, error);
		}
	}
	return result;
}

enum semaphore_result semaphore_take(struct semaphore *s, unsigned limit, uint64_t deadline, struct buf *error) {
	enum semaphore_result result = await(s, WAITING, limit, deadline, error);
	if (result == SEMAPHORE_DONE) {
		result = hold(s, error);
	}
	unlock(s);
	return result;
}

enum semaphore_result semaphore_seize(struct semaphore *s, struct buf *error) {
	enum semaphore_result result = lock(s, error) == 0 ? hold(s, error) : SEMAPHORE_ERROR;
	unlock(s);
	return result;
}

enum semaphore_result semaphore_wait(struct semaphore *s, uint64_t deadline, struct buf *error) {
	enum semaphore_result result = await(s, WATCHING, /* limit */ 1, deadline, error);
	unlock(s);
	return result;
}

int semaphore_ahead(struct semaphore *s, unsigned *ret_holding, unsigned *ret_waiting, struct buf *error) {
	FP_CLEANUP(others_fini) struct others others = {0};
	*ret_holding = *ret_waiting = 0;
	int result = list_others(s, &others, error);
	for (size_t i = 0; i < others.n; ++i) {
		*ret_holding += others.at[i].kind == HOLDING;
		*ret_waiting += others.at[i].kind == WAITING && others.at[i].number < s->number;
	}
	unlock(s);
	return result;
}

int semaphore_fd(const struct semaphore *s) {
	return s->fd;
}

void semaphore_close(struct semaphore *s) {
	if (!s) {
		return;
	}
	FP_CLEANUP(buf_fini) struct buf ignored = BUF_INIT;
	FP_CLEANUP(others_fini) struct others others = {0};
	if (lock(s, &ignored) == 0) { // else semaphore_forget() closes the file, which also gives the semaphore back
		drop_file(s);
		(void)list_others(s, &others, &ignored); // removes what dead processes have left
		(void)!unlinkat(s->parent_fd, s->name, AT_REMOVEDIR); // fails if the directory has files
	}
	unlock(s);
	semaphore_forget(s);
}

void semaphore_forget(struct semaphore *s) { // does not unlock the directory of all semaphores, as a child may just have locked it
	fd_close(&s->fd);
	fd_close(&s->parent_fd);
	buf_fini(&s->path);
	free(s->name);
	free(s);
}
