// The slot server of a pool: its sockets, its files, its start and its end. What the server decides is in session.c and lease.c.

#include "slots/client.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "process/proc.h"
#include "process/proctree.h"
#include "process/spawn.h"
#include "slots/connections.h"
#include "slots/pool_dir.h"
#include "slots/session.h"
#include "slots/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE (5 * NS_PER_S) // the server ends when it has had no client for this long
#define RENEW_PAUSE (200 * NS_PER_MS) // pause before a removed socket is made again: a user may be removing its directory just now

// What the file NAME.lock says.
struct life {
	uint64_t epoch;
	uint64_t clients;          // how many clients may hold leases; if there are any, the next server waits until they have reported their leases
	struct slots_bounds bounds; // bounds of the pool's slots; equal: the number is fixed
};

struct server {
	struct pool_dir pool_dir;
	struct stat own;           // the socket's file as it was when this server made it
	int watch_fd;              // inotify(7): readable when something was done to the socket's file; or -1
	uint64_t renew_at;         // when to make the socket's file anew, because it was removed; or TIME_NEVER
	int lock_fd;
	struct sessions sessions;
	struct life life;          // what NAME.lock is to say
	struct machine machine;    // what is observed of the machine, if the number of slots is not fixed
	struct connections connections;
	struct polls polls;
	uint64_t idle_since;
};

// Returns a time that goes on while the machine sleeps.
static uint64_t boot_ns(void) {
	return clock_now(CLOCK_BOOTTIME);
}

// ---- the life of the server ----

// Returns how many clients may hold leases.
static uint64_t clients_told(const struct server *server) {
	return server->sessions.n + server->sessions.recovering;
}

// Writes NAME.lock. Errors are ignored: at worst the next server grants slots before clients have reported the leases that they hold.
static void write_life(struct server *server) {
	server->life.clients = clients_told(server);
	(void)!pwrite(server->lock_fd, &server->life, sizeof(server->life), 0);
}

static void observe_machine(void *arg, struct controller_observation *observation) {
	struct server *server = arg;
	machine_observe(&server->machine, observation);
}

static struct lease_id named_lease(void *arg, int pid) {
	const struct server *server = arg;
	FP_CLEANUP(free_later) char *value = proctree_variable(pid, "FAIRPAR_LEASE");
	return lease_id_named(value, server->pool_dir.name);
}

// Remembers which file the server's socket is, and watches this file.
static bool watch_socket(struct server *server) {
	const char *path = server->pool_dir.address.sun_path;
	(void)!inotify_add_watch(server->watch_fd, path, IN_ATTRIB | IN_MOVE_SELF); // if this fails, the next round of the loop sees that the file has gone
	return lstat(path, &server->own) == 0;
}

// `argv`: as server_start() makes it.
static bool server_init(struct server *server, char *const *argv) {
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	struct slots_bounds bounds;
	if (sscanf(argv[4], "%u-%u", &bounds.least, &bounds.most) != 2) {
		return false;
	}
	*server = (struct server){.lock_fd = 3, .watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .renew_at = TIME_NEVER,
		.connections = {.sessions = &server->sessions, .listen_fds = {4, -1, -1}, .reserve_fd = -1}};
	struct rlimit limit; // the limit is inherited from the client that happened to start this server
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	setenv("FAIRPAR_POOL_DIR", argv[5], 1);
	if (fcntl(server->lock_fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(server->connections.listen_fds[0], F_SETFD, FD_CLOEXEC) != 0
	    || pool_dir_open(&server->pool_dir, argv[6], &error) != 0 || !watch_socket(server)) {
		return false;
	}
	struct life last = {0};
	if (pread(server->lock_fd, &last, sizeof(last), 0) != (ssize_t)sizeof(last)) {
		last = (struct life){0};
	}
	// the lease numbers of this server are above those of the last server. If that server died with clients, its number of slots stays, too
	server->life = (struct life){.epoch = (last.epoch + 1) & UINT32_MAX, .bounds = bounds};
	server->life.epoch += server->life.epoch == 0; // the epoch 0 stands for none
	if (last.clients > 0 && last.bounds.least > 0 && last.bounds.least <= last.bounds.most) {
		server->life.bounds = last.bounds;
	}
	server->connections.listen_fds[1] = pool_dir_listen_abstract(&server->pool_dir);
	server->idle_since = boot_ns();
	unsigned slots = server->life.bounds.most;
	if (server->life.bounds.least < server->life.bounds.most) { // to begin with, a slot for each processor
		machine_open(&server->machine, argv[7], server->idle_since);
		slots = whole_cpus(server->machine.cpus);
	}
	sessions_init(&server->sessions, &(struct sessions_config){
		.slots = slots,
		.bounds = server->life.bounds,
		.fair_time = true,
		.epoch = server->life.epoch,
		.recovers = last.clients > 0,
	}, server->idle_since);
	server->sessions.observe_machine = observe_machine;
	server->sessions.parent_of = proctree_parent;
	server->sessions.named_lease = named_lease;
	server->sessions.arg = server;
	return true;
}

// Ends the server, as no client has come for some seconds. For a client that has connected meanwhile, the connection ends without an
// answer, and the client looks for a server again. The lock is given up last: from then on, the client can start a server.
static void end(struct server *server) {
	if (pool_dir_is_own(&server->pool_dir, &server->own)) {
		(void)!unlink(server->pool_dir.address.sun_path);
	}
	fd_close(&server->connections.listen_fds[0]);
	fd_close(&server->connections.listen_fds[1]);
	write_life(server);
	fd_close(&server->lock_fd);
}

// Makes the files of the server anew, also its lock. Returns false if there is another server.
static bool renew_files(struct server *server) {
	struct pool_dir pool_dir;
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	if (pool_dir_open(&pool_dir, server->pool_dir.name, &error) != 0) {
		return true; // there is no directory in which the files could be made
	}
	pool_dir_remove_lock(&pool_dir, server->lock_fd);
	int lock_fd = pool_dir_lock(&pool_dir);
	if (lock_fd < 0) {
		return errno != EWOULDBLOCK;
	}
	int listen_fd = pool_dir_listen(&pool_dir);
	fd_close(&server->lock_fd);
	server->lock_fd = lock_fd;
	write_life(server);
	if (listen_fd >= 0) {
		fd_close(&server->connections.listen_fds[0]);
		server->connections.listen_fds[0] = listen_fd;
	}
	server->pool_dir = pool_dir; // pool_dir_open() may have found the other of the two directories of pool_dir.h
	(void)!watch_socket(server);
	return true;
}

// Checks the socket's file, and makes the file anew if it was removed: without the file a client that does not see the abstract namespace
// would start another server, or wait until this server gives its lock up. Returns false when the server is to end.
static bool keep_files(struct server *server, uint64_t now) {
	char events[1024];
	while (read(server->watch_fd, events, sizeof(events)) > 0) {
	}
	if (pool_dir_is_own(&server->pool_dir, &server->own)) {
		server->renew_at = TIME_NEVER;
		return true;
	}
	if (server->sessions.n == 0 || access(server->pool_dir.address.sun_path, F_OK) == 0) {
		return false; // there are no clients; or another server has made a new file, and the clients will report their leases to that server
	}
	bool is_due = now >= server->renew_at;
	server->renew_at = is_due ? TIME_NEVER : time_earlier(server->renew_at, now + RENEW_PAUSE);
	return !is_due || renew_files(server);
}

// ---- the loop ----

// One round: waits until *deadline at most, reads what clients say, does what follows, sends answers. Returns false when the server is to end.
static bool run_once(struct server *server, uint64_t *deadline) {
	uint64_t now = boot_ns();
	server->polls.n = 0;
	connections_add_polls(&server->connections, &server->polls);
	polls_add(&server->polls, server->watch_fd, POLLIN);
	uint64_t idle_end = server->sessions.n == 0 ? server->idle_since + IDLE : TIME_NEVER;
	uint64_t until = time_earlier(time_earlier(*deadline, server->renew_at), idle_end);
	int ms = until == TIME_NEVER ? -1 : until <= now ? 0 : (int)((until - now) / NS_PER_MS) + 1;
	int ready = poll(server->polls.at, server->polls.n, ms);
	if (ready < 0) {
		return errno == EINTR; // after an error `polls` does not say what has come
	}
	now = boot_ns();
	connections_serve(&server->connections, &server->polls, now);
	if (!keep_files(server, now)) {
		return false;
	}
	*deadline = sessions_step(&server->sessions, ready == 0, now);
	if (server->life.clients != clients_told(server)) {
		write_life(server); // before a client hears of its lease
	}
	*deadline = time_earlier(*deadline, connections_flush(&server->connections));
	*deadline = sessions_are_due(&server->sessions) ? now : *deadline;
	if (server->sessions.n > 0) {
		server->idle_since = now;
	}
	return server->sessions.n > 0 || now < server->idle_since + IDLE;
}

enum { SERVER_ARGS = 8 };

int server_start(const struct pool_dir *pool_dir, int lock_fd, struct slots_bounds bounds) {
	char text[40];
	FP_CLEANUP(fd_close) int listen_fd = pool_dir_listen(pool_dir);
	if (listen_fd < 0) {
		return errno;
	}
	snprintf(text, sizeof(text), "%u-%u", bounds.least, bounds.most);
	const char *texts[] = {text, pool_dir_path(pool_dir), pool_dir->name, proc_root(), NULL};
	int result = daemon_start(POOL_SERVER_ARG, (int[]){lock_fd, listen_fd}, 2, texts);
	return result == 0 || errno == ESRCH ? 0 : errno; // ESRCH: the server was started, and killed at once
}

int server_main(int argc, char *argv[]) {
	struct server server;
	if (argc != SERVER_ARGS || daemon_detach() != 0 || daemon_isolate(argv + 2, 2) != 0) {
		return EXIT_TROUBLE;
	}
	sigset_t none; // main() has blocked signals. Only TERM is not ignored: it ends the server, and clients that need one start another
	sigemptyset(&none);
	signal(SIGTERM, SIG_DFL);
	verify(sigprocmask(SIG_SETMASK, &none, NULL) == 0);
	if (!server_init(&server, argv)) {
		return EXIT_TROUBLE;
	}
	uint64_t deadline = server.sessions.recovery_end;
	while (run_once(&server, &deadline)) {
	}
	end(&server);
	sessions_fini(&server.sessions, boot_ns());
	machine_close(&server.machine);
	connections_fini(&server.connections);
	fd_close(&server.watch_fd);
	free(server.polls.at);
	return 0;
}
