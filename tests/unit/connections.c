// Tests of the sockets of clients (slots/connections.h): who serves a client is found by what it says first, however that comes.

#include "slots/connections.h"

#include "base/sync.h"
#include "slots/control.h"
#include "slots/place.h"
#include "slots/protocol.h"

#include "test.h"

#include <sys/socket.h>

static struct sessions sessions;
static struct connections connections;
static char name[64];
static int client, claimed_fd = -1;
static unsigned nclaims;
static uint64_t now, due; // of the owner, and when it is to serve again

static bool claim(void *arg, uint32_t type, int fd) {
	(void)arg;
	if (!control_is_request(type)) {
		return false;
	}
	++nclaims;
	claimed_fd = fd;
	return true;
}

static void begin(void) {
	snprintf(name, sizeof(name), "@fairpar-unit-connections-%d", (int)getpid());
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, now);
	connections = (struct connections){.sessions = &sessions, .listen_fd = abstract_listen(name), .abstract_fd = -1, .spare_fd = -1, .claim = claim};
	check(connections.listen_fd >= 0);
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
	sessions_settle(&sessions, /* quiet */ false, now);
	due = connections_flush(&connections, now);
	free(polls.at);
	return ready;
}

// Sends the bytes, `first` of them alone; the rest is sent when the owner has nothing more to do.
static void say(const struct buf *said, size_t first) {
	check_equal(send(client, said->data, first, 0), (ssize_t)first);
	int rounds = 0;
	while (serve() > 0) {
		check(++rounds < 10); // a part of a frame is no reason to be woken again and again
	}
	check_equal(nclaims, 0);
	check_equal(send(client, said->data + first, said->len - first, 0), (ssize_t)(said->len - first));
}

static void test_claim(void) {
	// a request for the owner, cut in its first number; what is behind that number is the owner's to read
	for (size_t first = 1; first < sizeof(uint32_t); ++first) {
		struct buf said = BUF_INIT;
		char rest[2 * sizeof(struct frame)];
		begin();
		nclaims = 0;
		control_add(&said, 1, 2, CONTROL_LOOK, 0, NULL, 0);
		say(&said, first);
		serve();
		check_equal(nclaims, 1);
		check_equal(connections.n, 0);
		check_equal(recv(claimed_fd, rest, sizeof(rest), 0), (ssize_t)(said.len - sizeof(uint32_t)));
		check(memcmp(rest, said.data + sizeof(uint32_t), said.len - sizeof(uint32_t)) == 0);
		close(claimed_fd);
		buf_fini(&said);
		end();
	}
}

static void add_hello(struct buf *said) {
	static const char texts[3] = "\0\0"; // no batch, no directory, no label
	const struct hello hello = {.version = PROTOCOL_VERSION, .weight = 1};
	struct buf text = BUF_INIT;
	buf_add(&text, &hello, sizeof(hello));
	buf_add(&text, texts, sizeof(texts));
	frame_add(said, (struct frame){.type = FRAME_HELLO}, text.data, text.len);
	buf_fini(&text);
}

static void check_is_welcome(int fd) {
	struct frame heard;
	check_equal(recv(fd, &heard, sizeof(heard), 0), (ssize_t)sizeof(heard));
	check_equal(heard.type, FRAME_WELCOME);
}

static void test_session(void) {
	// a client of the sessions, cut in the same way
	for (size_t first = 1; first < sizeof(uint32_t); ++first) {
		struct buf said = BUF_INIT;
		begin();
		add_hello(&said);
		say(&said, first);
		serve();
		check_equal(nclaims, 0);
		check_is_welcome(client);
		buf_fini(&said);
		end();
	}
}

static void test_gone(void) {
	// one that has gone before it has said who it is
	begin();
	check_equal(send(client, "\1", 1, 0), 1);
	serve();
	serve();
	check_equal(connections.n, 1);
	check_equal(shutdown(client, SHUT_WR), 0);
	serve();
	check_equal(connections.n, 0);
	end();
}

static void test_silent(void) {
	// each has its own deadline from when it has connected, and a part of a frame is not enough
	struct buf said = BUF_INIT;
	char byte;
	now = 1;
	begin();
	serve();
	check_equal(due, now + CONNECTIONS_SILENT);
	const uint64_t first_due = due;
	now += NS_PER_S;
	int second = socket_connect(name);
	check_equal(send(second, "\1", 1, 0), 1);
	serve();
	serve();
	const uint64_t second_due = now + CONNECTIONS_SILENT;
	check_equal(due, first_due);
	now = first_due - 1;
	serve();
	check_equal(connections.n, 2);
	now = first_due;
	serve();
	check_equal(connections.n, 1);
	check_equal(recv(client, &byte, 1, 0), 0);
	check_equal(due, second_due);
	// who has spoken in time stays, with no deadline, also if the owner hears of it late
	int third = socket_connect(name);
	serve();
	add_hello(&said);
	check_equal(send(third, said.data, said.len, 0), (ssize_t)said.len);
	now = second_due + CONNECTIONS_SILENT;
	struct polls polls = {.n = 0};
	connections_add_polls(&connections, &polls); // that have found nothing
	connections_serve(&connections, &polls, now);
	due = connections_flush(&connections, now);
	check_equal(connections.n, 1);
	check_equal(due, TIME_NEVER);
	check_is_welcome(third);
	free(polls.at);
	buf_fini(&said);
	close(second);
	close(third);
	end();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a request to the owner may come in parts", test_claim),
		TEST("so may the first frame of a client", test_session),
		TEST("a client that goes in its first frame is forgotten", test_gone),
		TEST("a client that does not say who it is is disconnected after some seconds, and no other", test_silent),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
