// Carries frames between the sockets of clients and their sessions.

#include "slots/connections.h"

#include "base/alloc.h"
#include "slots/pool_dir.h"

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

// Returns the next client's socket, or -1. If descriptors have run out, closes reserve_fd, so that the client can be accepted
// and refused: a client that is left waiting would wake the server again and again.
static int accept_next(struct connections *connections) {
	int fd = accept_one(connections);
	while (fd < 0 && (errno == EMFILE || errno == ENFILE) && connections->reserve_fd >= 0) {
		fd_close(&connections->reserve_fd);
		if ((fd = accept_one(connections)) >= 0) { // else nobody has come
			refuse(fd, too_many);
			connections->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
			fd = accept_one(connections);
		}
	}
	if (connections->reserve_fd < 0) {
		connections->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

// Hands a frame of the client to its session. Returns false if the client is to be disconnected, or was taken over by the owner.
static bool handle(struct connections *connections, struct session *session, const struct frame *frame, const char *text, int fd,
                   uint64_t now) {
	if (connections->take_over && !session->client && connections->take_over(connections->take_over_arg, frame, text, session->fd)) {
		fd_close(&fd);
		session->fd = -1;
		return false;
	}
	bool stays = session_input(session, frame, text, fd, now);
	if (!stays) {
		(void)!frames_flush(session->fd, &session->out); // the last frame tells the client why the server refuses it
	}
	return stays;
}

// Passes all frames that have come (READ_FRAMES at most) to the session. Returns false if the session was freed.
static bool read_client(struct connections *connections, struct session *session, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf in = BUF_INIT;
	enum frame_result result = FRAME_READY;
	for (int n = 0; result == FRAME_READY && n < READ_FRAMES; ++n) {
		struct frame frame;
		const char *text;
		int fd;
		size_t at = 0;
		buf_reset(&in);
		result = frame_receive(session->fd, &in, &fd);
		if (frame_next(&in, &at, &frame, &text) && !handle(connections, session, &frame, text, fd, now)) {
			result = FRAME_END;
		}
	}
	return result != FRAME_END || !session_close(session, now);
}

// Returns when a client that has not said who it is will be disconnected.
static uint64_t silent_until(const struct session *session) {
	return session->client ? TIME_NEVER : session->since + CONNECTIONS_SILENT;
}

// Serves a session. at[0] says what poll(2) has found on the session's socket, the next entries on the pidfds of its processes.
static void serve(struct connections *connections, struct session *session, const struct pollfd *at, uint64_t now) {
	for (unsigned k = session->nprocesses; k > 0; --k) { // backwards: the last process takes the place of one that has ended
		if (at[k].revents && session_process_ended(session, k - 1, now)) {
			return;
		}
	}
	if (session->closed) {
		return;
	}
	if ((at->revents & POLLOUT) && !frames_flush(session->fd, &session->out)) { // before more is read: reading adds answers to `out`
		(void)!session_close(session, now);
	} else if (at->revents & (POLLIN | POLLHUP | POLLERR)) {
		(void)!read_client(connections, session, now);
	}
}

// Adds the sockets that listen, then for each session its socket and the pidfds of its processes, in the order in
// which connections_serve() looks at them.
void connections_add_polls(struct connections *connections, struct polls *polls) {
	connections->first_poll = polls->n;
	for (int i = 0; i < LISTENERS; ++i) {
		polls_add(polls, connections->listen_fds[i], POLLIN);
	}
	list_for_each_entry(&connections->sessions->list, const struct session, session, link) {
		polls_add(polls, session->fd, session->out.len > 0 ? POLLIN | POLLOUT : POLLIN);
		for (unsigned k = 0; k < session->nprocesses; ++k) {
			polls_add(polls, session->processes[k].fd, POLLIN);
		}
	}
}

void connections_serve(struct connections *connections, const struct polls *polls, uint64_t now) {
	const struct pollfd *listens = &polls->at[connections->first_poll], *at = listens + LISTENERS;
	list_for_each_entry(&connections->sessions->list, struct session, session, link) {
		const struct pollfd *own = at;
		at += 1 + session->nprocesses;
		serve(connections, session, own, now);
	}
	list_for_each_entry(&connections->sessions->list, struct session, session, link) {
		bool is_late = now >= silent_until(session); // the client has said nothing; or this process was stopped, and has not read the HELLO
		if (is_late && read_client(connections, session, now) && !session->client) {
			(void)!session_close(session, now);
		}
	}
	bool come = false;
	for (int i = 0; i < LISTENERS; ++i) {
		come = come || listens[i].revents;
	}
	for (int fd; come && (fd = accept_next(connections)) >= 0;) {
		int peer;
		bool own = socket_is_own_user(fd, &peer);
		if (!own || !session_open(connections->sessions, fd, peer, now)) {
			refuse(fd, own ? too_many : "it belongs to another user");
		}
	}
}

uint64_t connections_flush(struct connections *connections) {
	uint64_t due = TIME_NEVER;
	list_for_each_entry(&connections->sessions->list, struct session, session, link) {
		if (!session->closed) {
			// connections_serve() closes the session of a client that has gone, so that the next sessions_step() grants the client's slots to others
			(void)!frames_flush(session->fd, &session->out);
		}
		due = time_earlier(due, silent_until(session));
	}
	return due;
}

void connections_fini(struct connections *connections) {
	for (int i = 0; i < LISTENERS; ++i) {
		fd_close(&connections->listen_fds[i]);
	}
	fd_close(&connections->reserve_fd);
}
