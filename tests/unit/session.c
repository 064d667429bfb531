// Tests of the sessions of a slot server (slots/session.h): what clients say in bytes, and when the server has to look again.

#include "slots/session.h"

#include "base/sync.h"
#include "slots/protocol.h"

#include "test.h"

// A client that says HELLO and wants one lease.
static struct session *join(struct sessions *sessions, uint64_t now) {
	static const char texts[3] = "\0\0"; // no batch, no directory, no label
	const struct hello hello = {.version = PROTOCOL_VERSION, .weight = 1};
	struct session *session = session_open(sessions);
	struct buf text = BUF_INIT, said = BUF_INIT;
	check(session);
	buf_add(&text, &hello, sizeof(hello));
	buf_add(&text, texts, sizeof(texts));
	frame_add(&said, (struct frame){.type = FRAME_HELLO}, text.data, text.len);
	frame_add(&said, (struct frame){.type = FRAME_WANT, .a = 1, .b = 1}, NULL, 0);
	check(session_input(session, said.data, said.len, -1, now));
	buf_fini(&text);
	buf_fini(&said);
	return session;
}

// Was it told that, since the last time?
static bool hears(struct session *session, enum frame_type type) {
	struct buf *out = session_output(session);
	struct frame frame;
	const char *text;
	bool found = false;
	for (size_t at = 0; frame_parse(buf_str(out) + at, out->len - at, &frame, &text) == FRAME_READY; at += sizeof(frame) + frame.len) {
		found = found || frame.type == type;
	}
	buf_reset(out);
	return found;
}

static void test_unused_is_looked_for(void) {
	struct sessions sessions;
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, 0);
	struct session *first = join(&sessions, 5), *second = join(&sessions, 5);
	check_equal(sessions_settle(&sessions, true, 5), 5 + LEASE_UNUSED); // though nobody says anything until then
	check(hears(first, FRAME_GRANT) && !hears(second, FRAME_GRANT));
	uint64_t now = 5 + LEASE_UNUSED;
	check_equal(sessions_settle(&sessions, true, now), now);
	check(hears(first, FRAME_REVOKED)); // and now it was sent
	check(sessions_are_due(&sessions));
	check_equal(sessions_settle(&sessions, true, now), TIME_NEVER); // nobody waits any more
	check(hears(second, FRAME_GRANT));
	sessions_fini(&sessions, now);
}

static void test_recovery(void) {
	struct sessions sessions;
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1, .recovers = true}, 0);
	struct session *session = join(&sessions, 5);
	check_equal(sessions_settle(&sessions, true, 5), RECOVERY);
	check(!hears(session, FRAME_GRANT));
	(void)sessions_settle(&sessions, /* quiet */ false, RECOVERY); // who knows what has come with it
	check(!hears(session, FRAME_GRANT));
	(void)sessions_settle(&sessions, true, RECOVERY);
	check(hears(session, FRAME_GRANT));
	sessions_fini(&sessions, RECOVERY);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a lease that is not used is looked for, though nobody says anything", test_unused_is_looked_for),
		TEST("a server's successor grants nothing before a second has passed and all was read", test_recovery),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
