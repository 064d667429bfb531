// The directory of a user's pools, which nobody else can enter. For each pool the directory has NAME.sock, the socket of the server, and
// NAME.lock, which the server has locked as long as it lives: the process that starts a server takes the lock, and the server inherits it.
//
// There are two such directories, in /run/user/UID and in /tmp, because the first one exists only while the user is logged in. A
// client looks for a server in both. If there is none, it starts one: in the directory where the last server has died, or else
// in the first directory that exists.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

enum { POOL_DIR_SIZE = sizeof(((struct sockaddr_un *)NULL)->sun_path), POOL_NAME_SIZE = 96 };

struct pool_dir {
	char dirs[2][POOL_DIR_SIZE]; // "": the directory is not there, or cannot be used; if is_given, there is only the first one
	bool is_given;           // $FAIRPAR_POOL_DIR names another directory than the usual two
	unsigned at;             // index in `dirs` of the directory that is used for this pool
	char name[POOL_NAME_SIZE];
	struct sockaddr_un address; // of NAME.sock in that directory
};

// Whether a pool may have that name: 1 to 64 letters, digits, '.', '_' and '-', of which the first is not '.'.
bool pool_dir_is_valid_name(const char *name);

static inline const char *pool_dir_path(const struct pool_dir *pool_dir) {
	return pool_dir->dirs[pool_dir->at];
}

// Finds the directories, and makes the first of them if it is missing: $FAIRPAR_POOL_DIR, else fairpar/ in /run/user/UID if /run/user/UID
// is there and only the user can enter it, else /tmp/fairpar-UID. Refuses a directory that is a link, somebody else's, or open to others.
// `name`: a valid name, or one with a prefix such as "run+". Returns 0, or -1 with a whole message in *error, and errno:
// EPERM if the directory was refused, else why it cannot be made. Nothing is to be freed.
int pool_dir_open(struct pool_dir *pool_dir, const char *name, struct buf *error) FP_NODISCARD;

// Opens NAME.lock, makes it if it is missing, and locks it by flock(2). Returns the descriptor, or -1 with errno: EWOULDBLOCK if
// another process has the lock, or has just removed the file.
int pool_dir_lock(const struct pool_dir *pool_dir) FP_NODISCARD;

// Locks NAME.lock in all directories that are there: so while a server runs in one directory, no process starts a server in the other. Returns
// 0 with the descriptors (-1 for a directory that is not there), or -1 with errno as pool_dir_lock().
int pool_dir_lock_all(const struct pool_dir *pool_dir, int ret_fds[2]) FP_NODISCARD;

// The path of NAME.SUFFIX, for the caller to free.
char *pool_dir_file(const struct pool_dir *pool_dir, const char *suffix);

// Removes NAME.lock, if NAME.lock is still the file that `fd` (from pool_dir_lock()) has locked. Closing `fd` gives the lock up. A
// process that has opened the file before its removal, and locks it later, sees that the file has no name any more.
void pool_dir_remove_lock(const struct pool_dir *pool_dir, int fd);

// Has a process locked NAME.lock? Makes no file.
bool pool_dir_has_server(const struct pool_dir *pool_dir);

// Makes NAME.sock, in place of a socket on which nobody listens any more, and listens on NAME.sock. Returns the descriptor, or -1 with errno.
int pool_dir_listen(const struct pool_dir *pool_dir) FP_NODISCARD;

// Listens for the pool in the abstract namespace (unix(7)), too: there pool_dir_connect() finds the server when
// NAME.sock, or the whole directory, is gone. Returns the descriptor, or -1 with errno.
int pool_dir_listen_abstract(const struct pool_dir *pool_dir) FP_NODISCARD;

// Connects to the server, in whichever directory it is, and sets pool_dir->at to that directory; if there is no server, to a directory in
// which one has died. Returns the descriptor, which does not block, or -1 with errno: ENOENT or ECONNREFUSED if there is no server
// (pool_dir_is_deserted()); EPERM if another user listens; EAGAIN if the server is busy or stopped, and its backlog is full.
int pool_dir_connect(struct pool_dir *pool_dir) FP_NODISCARD;
static inline bool pool_dir_is_deserted(int error) {
	return error == ENOENT || error == ECONNREFUSED;
}

// Is NAME.sock still the file that `own` describes?
struct stat;
bool pool_dir_is_own(const struct pool_dir *pool_dir, const struct stat *own);

// For the socket of a run. `name`, as in $FAIRPAR_SOCK: the path of its file, or "@" and a name. abstract_listen() listens in the abstract
// namespace (unix(7)), on `name` without the first byte: there processes find the run that do not see the file. Processes in another network
// namespace see only the file. socket_connect() tries the file, then the abstract namespace. Both return the descriptor, or -1 with errno.
int abstract_listen(const char *name) FP_NODISCARD;
int socket_connect(const char *name) FP_NODISCARD;

// If `path` is the socket of a run (SOCKET_OF_RUN, its process number, "-", a number, ".sock"), removes from its directory the sockets of runs
// that were killed together with their guardian.
#define SOCKET_OF_RUN "jobs+"
void socket_tidy(const char *path);

// Is the other end of the socket a process of the same user? *ret_pid, if not NULL, is its pid, or 0 in another pid namespace.
bool socket_is_own_user(int fd, int *ret_pid);
