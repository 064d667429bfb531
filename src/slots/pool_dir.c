// Where the pools of a user are: a private directory with sockets and locks.

#include "slots/pool_dir.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/io.h"
#include "base/map.h"
#include "base/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LEN_MAX = 64, BACKLOG = 1024 };
static const char NEW_SUFFIX[] = ".new";

bool pool_dir_is_valid_name(const char *name) {
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);
	return len > 0 && len <= NAME_LEN_MAX && name[0] != '.' && strspn(name, allowed) == len;
}

// ---- the directory ----

// Returns why the directory cannot be used, for example because other users could make files in it; or NULL if it can.
static const char *why_not_private(const char *dir) {
	struct stat st;
	if (lstat(dir, &st) != 0) {
		return strerror(errno);
	}
	return S_ISLNK(st.st_mode)           ? "it is a symbolic link"
	       : !S_ISDIR(st.st_mode)        ? "it is not a directory"
	       : st.st_uid != geteuid()      ? "it belongs to another user"
	       : (st.st_mode & 077) != 0     ? "other users may use it (it must have mode 0700)"
	                                     : NULL;
}

// Notes that the pool is in pool_dir->dirs[at]. Returns false if the path of NAME.sock in that directory is too long for a socket.
static bool set_dir(struct pool_dir *pool_dir, unsigned at) {
	const size_t room = sizeof(pool_dir->address.sun_path);
	pool_dir->at = at;
	return (size_t)snprintf(pool_dir->address.sun_path, room, "%s/%s.sock", pool_dir_path(pool_dir), pool_dir->name) < room - sizeof(NEW_SUFFIX);
}

int pool_dir_open(struct pool_dir *pool_dir, const char *name, struct buf *error) {
	const unsigned uid = geteuid();
	const char *given = getenv("FAIRPAR_POOL_DIR");
	char session[40];
	given = given && given[0] ? given : NULL;
	*pool_dir = (struct pool_dir){.address = {.sun_family = AF_UNIX}};
	snprintf(pool_dir->name, sizeof(pool_dir->name), "%s", name);
	snprintf(session, sizeof(session), "/run/user/%u", uid);
	snprintf(pool_dir->dirs[0], POOL_DIR_SIZE, "%s/fairpar", session);
	snprintf(pool_dir->dirs[1], POOL_DIR_SIZE, "/tmp/fairpar-%u", uid);
	pool_dir->is_given = given && strcmp(given, pool_dir->dirs[0]) != 0 && strcmp(given, pool_dir->dirs[1]) != 0;
	if (pool_dir->is_given) {
		snprintf(pool_dir->dirs[0], POOL_DIR_SIZE, "%s", given); // cut if it is too long for a socket
		pool_dir->dirs[1][0] = '\0';
	} else if (why_not_private(session)) {
		pool_dir->dirs[0][0] = '\0';
	}
	bool fits = set_dir(pool_dir, pool_dir->dirs[0][0] == '\0' || (given && strcmp(given, pool_dir->dirs[1]) == 0));
	const char *dir = pool_dir->is_given ? given : pool_dir_path(pool_dir);
	bool absolute = dir[0] == '/'; // a relative path would name another pool in another working directory
	int made = !absolute || mkdir(dir, 0700) == 0 || errno == EEXIST ? 0 : errno;
	const char *why = !absolute ? "FAIRPAR_POOL_DIR has to be an absolute path" : made ? strerror(made) : why_not_private(dir);
	why = why || fits ? why : "its path is too long for a socket";
	if (why) {
		buf_printf(error, "cannot use '%s', the directory of the pools: %s%s", text_shows(dir), why,
		           given || made ? "" : "; FAIRPAR_POOL_DIR can name another one");
		errno = made ? made : EPERM;
		return -1;
	}
	if (pool_dir->at == 0 && pool_dir->dirs[1][0] && why_not_private(pool_dir->dirs[1])) {
		pool_dir->dirs[1][0] = '\0';
	}
	return 0;
}

// ---- the files in the directory ----

static char *path_in(const struct pool_dir *pool_dir, const char *dir, const char *suffix) {
	struct buf path = BUF_INIT;
	buf_printf(&path, "%s/%s.%s", dir, pool_dir->name, suffix);
	return buf_take(&path);
}

char *pool_dir_file(const struct pool_dir *pool_dir, const char *suffix) {
	return path_in(pool_dir, pool_dir_path(pool_dir), suffix);
}

static bool is_path_of(const char *path, const struct stat *file) {
	struct stat st;
	return lstat(path, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool is_at(int fd, const char *path) {
	struct stat own;
	return fstat(fd, &own) == 0 && is_path_of(path, &own);
}

static int lock_in(const struct pool_dir *pool_dir, const char *dir) {
	FP_CLEANUP(free_later) char *path = path_in(pool_dir, dir, "lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0, gone = locked && !is_at(fd, path);
	if (!locked || gone) { // the process that had the lock has removed the file: a lock on a file without a name keeps nobody off
		fd_close(&fd);
	}
	errno = gone ? EWOULDBLOCK : errno;
	return fd;
}

int pool_dir_lock(const struct pool_dir *pool_dir) {
	return lock_in(pool_dir, pool_dir_path(pool_dir));
}

int pool_dir_lock_all(const struct pool_dir *pool_dir, int ret_fds[2]) {
	ret_fds[0] = ret_fds[1] = -1;
	for (unsigned i = 0; i < 2; ++i) {
		ret_fds[i] = pool_dir->dirs[i][0] ? lock_in(pool_dir, pool_dir->dirs[i]) : -1;
		bool is_there = pool_dir->dirs[i][0] && (pool_dir->at == i || errno != ENOENT);
		if (is_there && ret_fds[i] < 0) {
			fd_close(&ret_fds[0]);
			return -1;
		}
	}
	return 0;
}

void pool_dir_remove_lock(const struct pool_dir *pool_dir, int fd) {
	FP_CLEANUP(free_later) char *path = pool_dir_file(pool_dir, "lock");
	if (is_at(fd, path)) {
		(void)!unlink(path);
	}
}

bool pool_dir_has_server(const struct pool_dir *pool_dir) {
	FP_CLEANUP(free_later) char *path = pool_dir_file(pool_dir, "lock");
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// The socket gets its name only once it listens, so that no client finds a socket that does not listen yet.
int pool_dir_listen(const struct pool_dir *pool_dir) {
	struct sockaddr_un address = pool_dir->address;
	size_t len = strlen(address.sun_path);
	memcpy(address.sun_path + len, NEW_SUFFIX, sizeof(NEW_SUFFIX)); // pool_dir_open() has left room for the suffix
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return -1;
	}
	(void)!unlink(address.sun_path); // left by a process that died here
	int bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	if (bound != 0 || listen(fd, BACKLOG) != 0 || rename(address.sun_path, pool_dir->address.sun_path) != 0) {
		FP_KEEP_ERRNO;
		(void)!unlink(address.sun_path);
		fd_close(&fd);
	}
	return fd;
}

// Returns the descriptor, or -1 with errno.
static int connect_to(const struct sockaddr_un *address, socklen_t len) {
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, len) != 0) {
		fd_close(&fd);
	} else if (fd >= 0 && !socket_is_own_user(fd, NULL)) {
		fd_close(&fd);
		errno = EPERM;
	}
	return fd;
}

static socklen_t abstract_address(const char *name, struct sockaddr_un *ret_address) {
	size_t len = strnlen(name, sizeof(ret_address->sun_path));
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret_address->sun_path, name, len);
	ret_address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

int abstract_listen(const char *name) {
	struct sockaddr_un address;
	socklen_t len = abstract_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && (bind(fd, (const struct sockaddr *)&address, len) != 0 || listen(fd, BACKLOG) != 0)) {
		fd_close(&fd);
	}
	return fd;
}

static int abstract_connect(const char *name) {
	struct sockaddr_un address;
	socklen_t len = abstract_address(name, &address);
	return connect_to(&address, len);
}

// Appends the name of the pool in the abstract namespace. This name differs between mount namespaces.
static void add_abstract_name(const struct pool_dir *pool_dir, struct buf *name) {
	struct stat mounts = {0};
	(void)!stat("/proc/self/ns/mnt", &mounts);
	const char *dir = pool_dir->is_given ? pool_dir->dirs[0] : "";
	buf_printf(name, "@fairpar-%u-%llx-%llx-%s", (unsigned)geteuid(), (unsigned long long)mounts.st_ino,
	           (unsigned long long)hash_bytes(dir, strlen(dir), 0), pool_dir->name);
}

int pool_dir_listen_abstract(const struct pool_dir *pool_dir) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	add_abstract_name(pool_dir, &name);
	return abstract_listen(buf_str(&name));
}

int pool_dir_connect(struct pool_dir *pool_dir) {
	const unsigned first = pool_dir->at, other = !first;
	int fd = connect_to(&pool_dir->address, sizeof(pool_dir->address)), error = errno;
	if (fd >= 0 || !pool_dir_is_deserted(error)) {
		return fd;
	}
	bool fits = pool_dir->dirs[other][0] && set_dir(pool_dir, other);
	fd = fits ? connect_to(&pool_dir->address, sizeof(pool_dir->address)) : -1;
	if (fd < 0 && !(fits && errno == ECONNREFUSED && error == ENOENT)) {
		(void)set_dir(pool_dir, first);
	}
	if (fd < 0) {
		FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
		add_abstract_name(pool_dir, &name);
		fd = abstract_connect(buf_str(&name));
		errno = error;
	}
	return fd;
}

int socket_connect(const char *name) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = -1;
	if (name[0] == '/' && strlen(name) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, name, strlen(name));
		fd = connect_to(&address, sizeof(address));
	}
	if (fd >= 0 || (name[0] == '/' && errno == EAGAIN)) { // the process that listens there is busy
		return fd;
	}
	return abstract_connect(name);
}

// Whether the file is the socket of a run that was killed.
static bool is_dead(const char *path) {
	pid_t pid = (pid_t)strtol(strrchr(path, '/') + 1 + strlen(SOCKET_OF_RUN), NULL, 10);
	if (!text_ends(path, ".sock") || kill(pid, 0) == 0) { // without such a process, the run has ended, or is in another pid namespace
		return false;
	}
	FP_CLEANUP(fd_close) int fd = socket_connect(path);
	return fd < 0 && errno == ECONNREFUSED;
}

void socket_tidy(const char *path) {
	const char *slash = strrchr(path, '/');
	if (slash && strncmp(slash + 1, SOCKET_OF_RUN, strlen(SOCKET_OF_RUN)) == 0) {
		FP_CLEANUP(free_later) char *dir = xmemdup(path, (size_t)(slash - path));
		remove_left_over(dir, SOCKET_OF_RUN, is_dead);
	}
}

bool pool_dir_is_own(const struct pool_dir *pool_dir, const struct stat *own) {
	return is_path_of(pool_dir->address.sun_path, own);
}

bool socket_is_own_user(int fd, int *ret_pid) {
	struct ucred peer;
	socklen_t len = sizeof(peer);
	bool is_own = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
	if (ret_pid) {
		*ret_pid = is_own ? peer.pid : 0;
	}
	return is_own;
}
