// The sockets of clients: frames between them and their sessions.

#include "slots/connections.h"

#include "base/alloc.h"
#include "slots/place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_FRAMES = 1024 };

static const char too_many[] = "it has too many clients";

static void refuse(int fd, const char *why) {
	(void)!frame_send(fd, (struct frame){.type = FRAME_REFUSED}, why, strlen(why), -1);
	close(fd);
}

static int accept_one(const struct connections *connections) {
	int fd = -1;
	errno = EAGAIN;
	for (int i = 0; i < LISTENERS && fd < 0 && errno == EAGAIN; ++i) {
		if (connections->listen_fds[i] >= 0) {
			fd = accept4(connections->listen_fds[i], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		}
	}
	return fd;
}

// The next client, or -1. When descriptors have run out it is told so, for which one was kept: left alone, it would
// wake the server again and again.
static int accept_next(struct connections *connections) {
	int fd = accept_one(connections);
	bool refused = true;
	while (refused && fd < 0 && (errno == EMFILE || errno == ENFILE) && connections->spare_fd >= 0) { // also if nobody comes
		fd_close(&connections->spare_fd);
		fd = accept_one(connections);
		refused = fd >= 0;
		if (refused) {
			refuse(fd, too_many);
			connections->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
			fd = accept_one(connections);
		}
	}
	if (connections->spare_fd < 0) {
		connections->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static void disconnect(struct connection *connection, uint64_t now) {
	fd_close(&connection->fd);
	if (session_close(connection->session, now)) {
		connection->session = NULL;
	}
}

// Sends what can be sent. False: the client has gone.
static bool flush(struct connection *connection) {
	return frames_flush(connection->fd, session_output(connection->session));
}

// Hands on what its client has said. Returns false if the client was disconnected, or taken over by the owner.
static bool handle(struct connections *connections, struct connection *connection, const struct frame *frame, const char *text, int fd,
                   uint64_t now) {
	bool is_claimed = connections->claim && !session_has_joined(connection->session)
	                  && connections->claim(connections->claim_arg, frame, text, connection->fd);
	if (is_claimed) {
		fd_close(&fd);
		connection->fd = -1;
	} else if (session_input(connection->session, frame, text, fd, now)) {
		return true;
	} else {
		(void)flush(connection); // why it was refused
	}
	disconnect(connection, now);
	return false;
}

// All that has come, so that nothing is decided without it; but for who sends without end.
static void read_client(struct connections *connections, struct connection *connection, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf in = BUF_INIT;
	enum frame_result result = FRAME_READY;
	for (int n = 0; result == FRAME_READY && n < READ_FRAMES; ++n) {
		struct frame frame;
		const char *text;
		int fd;
		size_t at = 0;
		buf_reset(&in);
		result = frame_receive(connection->fd, &in, &fd);
		if (frame_next(&in, &at, &frame, &text) && !handle(connections, connection, &frame, text, fd, now)) {
			return;
		}
	}
	if (result == FRAME_END) {
		disconnect(connection, now);
	}
}

static bool is_silent(const struct connection *connection) {
	return connection->session && connection->fd >= 0 && !session_has_joined(connection->session);
}

// The sockets that listen, then for each connection its own and its processes, in the order in which
// connections_serve() looks at them.
void connections_add_polls(struct connections *connections, struct polls *polls) {
	connections->first_poll = polls->n;
	for (int i = 0; i < LISTENERS; ++i) {
		polls_add(polls, connections->listen_fds[i], POLLIN);
	}
	for (size_t i = 0; i < connections->n; ++i) {
		const struct connection *connection = &connections->list[i];
		polls_add(polls, connection->fd, session_output(connection->session)->len > 0 ? POLLIN | POLLOUT : POLLIN);
		int fd;
		for (unsigned k = 0; (fd = session_process(connection->session, k)) >= 0; ++k) {
			polls_add(polls, fd, POLLIN);
		}
	}
}

void connections_serve(struct connections *connections, const struct polls *polls, uint64_t now) {
	const struct pollfd *listens = &polls->at[connections->first_poll], *at = listens + LISTENERS;
	for (size_t i = 0; i < connections->n; ++i) {
		struct connection *connection = &connections->list[i];
		size_t nprocesses = 0;
		while (session_process(connection->session, (unsigned)nprocesses) >= 0) {
			++nprocesses;
		}
		for (size_t k = nprocesses; k > 0 && connection->session; --k) { // the last first: one that has ended gives its place to the last
			if (at[k].revents && session_process_ended(connection->session, (unsigned)k - 1, now)) {
				connection->session = NULL;
			}
		}
		if (connection->session && connection->fd >= 0 && (at->revents & POLLOUT) && !flush(connection)) {
			disconnect(connection, now); // flushed first: who does not read is not told more
		}
		if (connection->session && connection->fd >= 0 && (at->revents & (POLLIN | POLLHUP | POLLERR))) {
			read_client(connections, connection, now);
		}
		at += 1 + nprocesses;
	}
	for (size_t i = 0; i < connections->n; ++i) {
		struct connection *connection = &connections->list[i];
		bool is_late = is_silent(connection) && now >= connection->since + CONNECTIONS_SILENT;
		if (is_late) { // or this process was stopped, and what the client has said is not read yet
			read_client(connections, connection, now);
		}
		if (is_late && is_silent(connection)) {
			disconnect(connection, now);
		}
	}
	bool come = false;
	for (int i = 0; i < LISTENERS; ++i) {
		come = come || listens[i].revents;
	}
	for (int fd; come && (fd = accept_next(connections)) >= 0;) {
		int peer;
		bool own = socket_is_own_user(fd, &peer);
		struct session *session = own ? session_open(connections->sessions, peer) : NULL;
		if (!session) {
			refuse(fd, own ? too_many : "it belongs to another user");
			continue;
		}
		grow_array(&connections->list, &connections->cap, connections->n + 1, sizeof(*connections->list));
		connections->list[connections->n++] = (struct connection){.fd = fd, .since = now, .session = session};
	}
}

uint64_t connections_flush(struct connections *connections, uint64_t now) {
	for (size_t i = 0; i < connections->n; ++i) {
		struct connection *connection = &connections->list[i];
		if (connection->session && connection->fd >= 0 && !flush(connection)) {
			disconnect(connection, now);
		}
	}
	size_t kept = 0;
	uint64_t due = TIME_NEVER;
	for (size_t i = 0; i < connections->n; ++i) {
		if (connections->list[i].session) {
			connections->list[kept] = connections->list[i];
			due = is_silent(&connections->list[kept]) ? earlier(due, connections->list[kept].since + CONNECTIONS_SILENT) : due;
			++kept;
		}
	}
	connections->n = kept;
	return due;
}

void connections_fini(struct connections *connections) {
	for (size_t i = 0; i < connections->n; ++i) {
		fd_close(&connections->list[i].fd);
	}
	for (int i = 0; i < LISTENERS; ++i) {
		fd_close(&connections->listen_fds[i]);
	}
	fd_close(&connections->spare_fd);
	free(connections->list);
}
