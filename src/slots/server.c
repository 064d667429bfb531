// The slot server of a pool: sockets, time, and its own life. What it decides is in session.c and lease.c.

#include "slots/server.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "slots/place.h"
#include "slots/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE (5 * NS_PER_S) // it ends when it has had no client for so long
enum { READ_SIZE = 64 * 1024 };

// What the lock file says.
struct life {
	uint64_t epoch;
	uint64_t clients;
};

struct connection {
	int fd;                    // -1: its client has gone
	struct session *session;
};

struct server {
	struct pool_place place;
	struct stat own;           // of the socket's file
	int lock_fd, listen_fd;
	struct sessions sessions;
	struct life life;
	struct connection *connections;
	size_t n, cap;
	struct pollfd *polls;
	size_t polls_cap;
	bool draining;             // somebody has taken the socket's file away
	uint64_t idle_since;
};

// Time goes on while the machine sleeps, as it does for the jobs' owners.
static uint64_t boot_ns(void) {
	struct timespec t;
	verify(clock_gettime(CLOCK_BOOTTIME, &t) == 0);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

// ---- its life ----

// What cannot be written costs the next server a second of waiting, and nothing else.
static void write_life(struct server *server) {
	const struct sessions *sessions = &server->sessions;
	bool all_back = !sessions->recovering || sessions->n > sessions->config.expected;
	server->life.clients = all_back ? sessions->n : sessions->config.expected;
	(void)!pwrite(server->lock_fd, &server->life, sizeof(server->life), 0);
}

static bool server_init(struct server *server, const struct server_config *config) {
	struct buf error = BUF_INIT;
	*server = (struct server){.lock_fd = config->lock_fd, .listen_fd = config->listen_fd};
	setenv("FAIRPAR_POOL_DIR", config->dir, 1);
	if (fcntl(server->lock_fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(server->listen_fd, F_SETFD, FD_CLOEXEC) != 0
	    || place_open(&server->place, config->name, &error) != 0 || lstat(server->place.address.sun_path, &server->own) != 0) {
		buf_fini(&error);
		return false;
	}
	struct life last = {0};
	if (pread(server->lock_fd, &last, sizeof(last), 0) != (ssize_t)sizeof(last)) {
		last = (struct life){0};
	}
	server->life.epoch = (last.epoch + 1) & UINT32_MAX;
	server->life.epoch += server->life.epoch == 0; // 0 is none
	server->idle_since = boot_ns();
	sessions_init(&server->sessions, &(struct sessions_config){
		.slots = config->slots,
		.fair_time = config->fair_time,
		.epoch = server->life.epoch,
		.expected = last.clients < SESSIONS_MAX ? (unsigned)last.clients : SESSIONS_MAX,
	}, server->idle_since);
	return true;
}

// Nobody came for some seconds. False: somebody is about to come, who has the lock of those who start and end servers.
static bool may_end(struct server *server) {
	int start_fd = place_lock(&server->place, "start", /* waits */ false);
	if (start_fd < 0) {
		return false;
	}
	if (place_is_own(&server->place, &server->own)) {
		(void)!unlink(server->place.address.sun_path);
	}
	// who has connected meanwhile sees the end before any answer, and begins again. Before the lock of the start, so that he can
	fd_close(&server->listen_fd);
	write_life(server);
	fd_close(&server->lock_fd);
	fd_close(&start_fd);
	return true;
}

// ---- clients ----

static void accept_all(struct server *server) {
	int fd;
	while ((fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct session *session = socket_is_own_user(fd) ? session_open(&server->sessions) : NULL;
		if (!session) {
			close(fd);
			continue;
		}
		grow_array(&server->connections, &server->cap, server->n + 1, sizeof(*server->connections));
		server->connections[server->n++] = (struct connection){.fd = fd, .session = session};
	}
}

static void disconnect(struct connection *connection, uint64_t now) {
	fd_close(&connection->fd);
	if (session_close(connection->session, now)) {
		connection->session = NULL;
	}
}

// Sends what can be sent. False: the client has gone.
static bool flush(struct connection *connection) {
	struct buf *out = session_output(connection->session);
	ssize_t n = 0;
	while (out->len > 0 && (n = send(connection->fd, out->data, out->len, MSG_NOSIGNAL)) > 0) {
		out->len -= (size_t)n;
		memmove(out->data, out->data + n, out->len);
	}
	return out->len == 0 || n > 0 || errno == EAGAIN || errno == EINTR;
}

// At most one descriptor is taken; the kernel closes those for which there is no room.
static ssize_t receive(int fd, char *mem, size_t len, int *ret_fd) {
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = mem, .iov_len = len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	}
	return n;
}

static void read_client(struct connection *connection, uint64_t now) {
	static char mem[READ_SIZE];
	int fd;
	ssize_t n = receive(connection->fd, mem, sizeof(mem), &fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0 || !session_input(connection->session, mem, (size_t)n, fd, now)) {
		if (n > 0) {
			(void)flush(connection); // why it was refused
		}
		disconnect(connection, now);
	}
}

static void forget_closed(struct server *server) {
	size_t kept = 0;
	for (size_t i = 0; i < server->n; ++i) {
		if (server->connections[i].session) {
			server->connections[kept++] = server->connections[i];
		}
	}
	server->n = kept;
}

// ---- the loop ----

static void add_poll(struct server *server, size_t *n, int fd, short events) {
	grow_array(&server->polls, &server->polls_cap, *n + 1, sizeof(*server->polls));
	server->polls[(*n)++] = (struct pollfd){.fd = fd, .events = events};
}

// The socket that listens, then for each connection its own and its processes, in the order in which serve() looks at them.
static size_t prepare(struct server *server) {
	size_t n = 0;
	add_poll(server, &n, server->listen_fd, POLLIN);
	for (size_t i = 0; i < server->n; ++i) {
		const struct connection *connection = &server->connections[i];
		add_poll(server, &n, connection->fd, session_output(connection->session)->len > 0 ? POLLIN | POLLOUT : POLLIN);
		int fd;
		for (unsigned k = 0; (fd = session_process(connection->session, k)) >= 0; ++k) {
			add_poll(server, &n, fd, POLLIN);
		}
	}
	return n;
}

static void serve_connection(struct connection *connection, const struct pollfd *polls, size_t nprocesses, uint64_t now) {
	for (size_t k = nprocesses; k > 0 && connection->session; --k) { // the last first: one that has ended gives its place to the last
		if (polls[k].revents && session_process_ended(connection->session, (unsigned)k - 1, now)) {
			connection->session = NULL;
		}
	}
	if (connection->session && connection->fd >= 0 && (polls[0].revents & (POLLIN | POLLHUP | POLLERR))) {
		read_client(connection, now);
	}
}

static void serve(struct server *server, uint64_t now) {
	size_t at = 1;
	for (size_t i = 0; i < server->n; ++i) {
		struct connection *connection = &server->connections[i];
		size_t nprocesses = 0;
		while (session_process(connection->session, (unsigned)nprocesses) >= 0) {
			++nprocesses;
		}
		serve_connection(connection, &server->polls[at], nprocesses, now);
		at += 1 + nprocesses;
	}
	if (server->polls[0].revents) {
		accept_all(server);
	}
}

static void flush_all(struct server *server, uint64_t now) {
	for (size_t i = 0; i < server->n; ++i) {
		struct connection *connection = &server->connections[i];
		if (connection->session && connection->fd >= 0 && !flush(connection)) {
			disconnect(connection, now);
		}
	}
	forget_closed(server);
}

// One round: what has happened, what follows, what is said. Returns false when the server is to end.
static bool run_once(struct server *server, uint64_t *deadline) {
	uint64_t now = boot_ns();
	size_t n = prepare(server);
	uint64_t idle_end = server->n == 0 ? server->idle_since + IDLE : TIME_NEVER;
	uint64_t until = *deadline < idle_end ? *deadline : idle_end;
	int ms = until == TIME_NEVER ? -1 : until <= now ? 0 : (int)((until - now) / NS_PER_MS) + 1;
	if (poll(server->polls, n, ms) < 0 && errno != EINTR) {
		return false;
	}
	now = boot_ns();
	uint64_t clients = server->life.clients;
	serve(server, now);
	if (!server->draining && !place_is_own(&server->place, &server->own)) {
		server->draining = true;
		lease_drain(server->sessions.table);
	}
	*deadline = sessions_settle(&server->sessions, now);
	if (clients != server->sessions.n) {
		write_life(server); // before anybody hears that he holds something
	}
	flush_all(server, now);
	if (server->n > 0) {
		server->idle_since = now;
	}
	return server->n > 0 || now < server->idle_since + IDLE || !may_end(server);
}

int server_run(const struct server_config *config) {
	struct server server;
	if (!server_init(&server, config)) {
		return EXIT_TROUBLE;
	}
	uint64_t deadline = server.sessions.recovery_end;
	while (run_once(&server, &deadline)) {
	}
	sessions_fini(&server.sessions, boot_ns());
	place_fini(&server.place);
	free(server.connections);
	free(server.polls);
	return 0;
}
