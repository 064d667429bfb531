// Tests of the sockets of clients (slots/connections.h), and of the frames on them: who serves a client is found by what it says first.

#include "slots/connections.h"

#include "base/sync.h"
#include "slots/control.h"
#include "slots/pool_dir.h"
#include "slots/protocol.h"

#include "test.h"

#include <sys/socket.h>

static struct sessions sessions;
static struct connections connections;
static char name[64];
static int client, claimed_fd = -1, leaving_fd = -1; // leaving_fd: what the next round closes before it sends answers, or -1
static unsigned nclaims;
static uint64_t now, due; // of the owner, and when it is to serve again

static bool take_over(void *arg, const struct frame *frame, const char *text, int fd) {
	(void)arg;
	if (!control_is_request(frame->type)) {
		return false;
	}
	++nclaims;
	check_equal(frame->len, 5);
	check(memcmp(text, "text", 5) == 0);
	claimed_fd = fd;
	return true;
}

static void begin(void) {
	snprintf(name, sizeof(name), "@fairpar-unit-connections-%d", (int)getpid());
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, now);
	connections = (struct connections){.sessions = &sessions, .listen_fds = {abstract_listen(name), -1, -1}, .reserve_fd = -1, .take_over = take_over};
	check(connections.listen_fds[0] >= 0);
	client = socket_connect(name);
	check(client >= 0);
}

static void end(void) {
	close(client);
	connections_fini(&connections);
	sessions_fini(&sessions, now);
}

// One round of the owner, which waits for nothing. Returns how many descriptors had something to say.
static int serve(void) {
	struct polls polls = {.n = 0};
	connections_add_polls(&connections, &polls);
	int ready = poll(polls.at, polls.n, 0);
	connections_serve(&connections, &polls, now);
	sessions_step(&sessions, /* quiet */ false, now);
	if (leaving_fd >= 0) {
		close(leaving_fd);
		leaving_fd = -1;
	}
	due = connections_flush(&connections);
	free(polls.at);
	return ready;
}

static void test_claim(void) {
	// a request for the owner
	begin();
	nclaims = 0;
	check_equal(frame_send(client, (struct frame){.type = CONTROL_LOOK, .a = 1}, "text", 5, -1), 0);
	serve();
	serve();
	check_equal(nclaims, 1);
	check_equal(sessions.n, 0);
	close(claimed_fd);
	end();
}

static void say_hello(int fd) {
	static const char texts[3] = "\0\0"; // no batch, no directory, no label
	const struct hello hello = {.version = PROTOCOL_VERSION, .weight = 1};
	struct buf text = BUF_INIT;
	buf_add(&text, &hello, sizeof(hello));
	buf_add(&text, texts, sizeof(texts));
	check_equal(frame_send(fd, (struct frame){.type = FRAME_HELLO}, text.data, text.len, -1), 0);
	buf_fini(&text);
}

static void check_is_welcome(int fd) {
	struct frame heard;
	check_equal(recv(fd, &heard, sizeof(heard), 0), (ssize_t)sizeof(heard));
	check_equal(heard.type, FRAME_WELCOME);
}

static void test_session(void) {
	// a client of the sessions
	begin();
	nclaims = 0;
	say_hello(client);
	serve();
	serve();
	check_equal(nclaims, 0);
	check_is_welcome(client);
	end();
}

static void test_frames(void) {
	// any text arrives whole with its frame, in a file if it is long, and what is no frame is the end
	static const size_t lens[] = {0, 1, 64 * 1024, 64 * 1024 + 1, 5 * 1024 * 1024};
	struct frame frame, no_file = {.type = CONTROL_ADD, .len = 1};
	struct buf queue = BUF_INIT, text = BUF_INIT;
	const char *heard;
	int ends[2], fd;
	check_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	check_equal(frame_receive(ends[1], &queue, &fd), FRAME_NONE);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); ++i) {
		size_t at = 0;
		memset(buf_reserve(&text, lens[i]), 'a' + (int)i, lens[i]);
		check_equal(frame_send(ends[0], (struct frame){.type = CONTROL_ADD, .a = i}, text.data, lens[i], -1), 0);
		check_equal(frame_receive(ends[1], &queue, &fd), FRAME_READY);
		check_equal(fd, -1);
		check(frame_next(&queue, &at, &frame, &heard));
		check(frame.a == i && frame.len == lens[i] && memcmp(heard, text.data, lens[i]) == 0);
		check(!frame_next(&queue, &at, &frame, &heard));
		buf_reset(&queue);
	}
	check_equal(send(ends[0], &no_file, sizeof(no_file), 0), (ssize_t)sizeof(no_file));
	check_equal(frame_receive(ends[1], &queue, &fd), FRAME_END);
	check_equal(queue.len, 0);
	check_equal(send(ends[0], &no_file, 7, 0), 7);
	check_equal(frame_receive(ends[1], &queue, &fd), FRAME_END);
	// what the socket does not take stays in the queue
	frame_add(&queue, (struct frame){.type = CONTROL_LOOK}, "text", 5);
	while (frames_flush(ends[0], &queue) && queue.len == 0) {
		frame_add(&queue, (struct frame){.type = CONTROL_LOOK}, "text", 5);
	}
	check_equal(queue.len, sizeof(struct frame) + 5);
	close(ends[1]);
	check(!frames_flush(ends[0], &queue));
	close(ends[0]);
	buf_fini(&queue);
	buf_fini(&text);
}

static void test_last_frame(void) {
	// a server refuses a client by the first of its frames, and closes: the others stay unread
	struct frame frame;
	struct buf queue = BUF_INIT;
	const char *why;
	size_t at = 0;
	int ends[2], fd;
	check_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	for (unsigned i = 0; i < 2; ++i) {
		check_equal(frame_send(ends[0], (struct frame){.type = FRAME_HELLO}, NULL, 0, -1), 0);
	}
	check_equal(frame_receive(ends[1], &queue, &fd), FRAME_READY);
	buf_reset(&queue);
	check_equal(frame_send(ends[1], (struct frame){.type = FRAME_REFUSED}, "no", 2, -1), 0);
	close(ends[1]);
	check_equal(frame_receive(ends[0], &queue, &fd), FRAME_READY);
	check(frame_next(&queue, &at, &frame, &why) && frame.type == FRAME_REFUSED);
	check_equal(frame_receive(ends[0], &queue, &fd), FRAME_END);
	close(ends[0]);
	buf_fini(&queue);
}

static void test_gone(void) {
	// one that has gone before it has said who it is
	begin();
	serve();
	serve();
	check_equal(sessions.n, 1);
	check_equal(shutdown(client, SHUT_WR), 0);
	serve();
	check_equal(sessions.n, 0);
	end();
}

static struct frame hear(int fd) {
	struct frame heard = {.type = 0};
	check_equal(recv(fd, &heard, sizeof(heard), MSG_DONTWAIT), (ssize_t)sizeof(heard));
	return heard;
}

static void test_gone_unheard(void) {
	// one that goes just before it is told something: the slot that it had goes to the next
	begin();
	int next = socket_connect(name);
	serve();
	say_hello(client);
	say_hello(next);
	check_equal(frame_send(client, (struct frame){.type = FRAME_WANT, .a = 1, .b = 1}, NULL, 0, -1), 0);
	serve();
	check_is_welcome(client);
	check_is_welcome(next);
	const struct frame grant = hear(client);
	check_equal(grant.type, FRAME_GRANT);
	check_equal(frame_send(client, (struct frame){.type = FRAME_USE, .a = grant.a, .b = grant.b, .c = 1}, NULL, 0, -1), 0);
	check_equal(frame_send(next, (struct frame){.type = FRAME_WANT, .a = 1, .b = 1}, NULL, 0, -1), 0);
	leaving_fd = client;
	serve(); // queues a frame for the client that has the slot: another one waits
	check(serve() > 0 || due <= now);
	check_equal(hear(next).type, FRAME_GRANT);
	close(next);
	client = socket_connect(name);
	end();
}

static void test_silent(void) {
	// each has its own deadline from when it has connected
	char byte;
	now = 1;
	begin();
	serve();
	check_equal(due, now + CONNECTIONS_SILENT);
	const uint64_t first_due = due;
	now += NS_PER_S;
	int second = socket_connect(name);
	serve();
	serve();
	const uint64_t second_due = now + CONNECTIONS_SILENT;
	check_equal(due, first_due);
	now = first_due - 1;
	serve();
	check_equal(sessions.n, 2);
	now = first_due;
	serve();
	check_equal(sessions.n, 1);
	check_equal(recv(client, &byte, 1, 0), 0);
	check_equal(due, second_due);
	// who has spoken in time stays, with no deadline, also if the owner hears of it late
	int third = socket_connect(name);
	serve();
	say_hello(third);
	now = second_due + CONNECTIONS_SILENT;
	struct polls polls = {.n = 0};
	connections_add_polls(&connections, &polls); // that have found nothing
	connections_serve(&connections, &polls, now);
	due = connections_flush(&connections);
	check_equal(sessions.n, 1);
	check_equal(due, TIME_NEVER);
	check_is_welcome(third);
	free(polls.at);
	close(second);
	close(third);
	end();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a request to the owner is the owner's", test_claim),
		TEST("a client of the sessions is welcome", test_session),
		TEST("frames arrive whole, whatever their length", test_frames),
		TEST("the last frame before the end arrives, although frames to its sender were unread", test_last_frame),
		TEST("a client that goes before its first frame is forgotten", test_gone),
		TEST("the slot of a client that goes just before it is told something goes to the next", test_gone_unheard),
		TEST("a client that does not say who it is is disconnected after some seconds, and no other", test_silent),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
