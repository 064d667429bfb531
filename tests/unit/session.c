// Tests of the sessions of a slot server (slots/session.h): what clients say in bytes, and when the server has to look again.

#include "slots/session.h"

#include "base/sync.h"
#include "slots/protocol.h"

#include "test.h"

#include <unistd.h>

#define MS UINT64_C(1000000)

static void say(struct session *session, struct frame frame, const void *text, size_t len, uint64_t now) {
	frame.len = (uint32_t)len;
	check(session_input(session, &frame, text, -1, now));
}

// A client that says HELLO, holds some leases of another server, and wants some.
static int next_peer; // process of the next client

static struct session *join_holding(struct sessions *sessions, uint32_t held, uint64_t wanted, uint32_t flags, uint64_t now) {
	static const char texts[3] = "\0\0"; // no batch, no directory, no label
	const struct hello hello = {.version = PROTOCOL_VERSION, .weight = 1, .flags = flags};
	struct session *session = session_open(sessions, -1, next_peer, now);
	struct buf text = BUF_INIT, holds = BUF_INIT;
	check(session);
	buf_add(&text, &hello, sizeof(hello));
	buf_add(&text, texts, sizeof(texts));
	say(session, (struct frame){.type = FRAME_HELLO}, text.data, text.len, now);
	for (uint32_t i = 0; i < held; ++i) {
		const struct hold hold = {.number = i + 1, .nonce = i + 1, .width = 1, .last = 1};
		buf_add(&holds, &hold, sizeof(hold));
	}
	say(session, (struct frame){.type = FRAME_HOLDS}, holds.data, holds.len, now);
	say(session, (struct frame){.type = FRAME_WANT, .a = wanted, .b = 1}, NULL, 0, now);
	buf_fini(&text);
	buf_fini(&holds);
	return session;
}

static struct session *join_wanting(struct sessions *sessions, uint64_t wanted, uint32_t flags, uint64_t now) {
	return join_holding(sessions, 0, wanted, flags, now);
}

static struct session *join(struct sessions *sessions, uint64_t now) {
	return join_wanting(sessions, 1, 0, now);
}

// How often it was told that, since the last time; *ret_last: the last one.
static unsigned count_heard(struct session *session, enum frame_type type, struct frame *ret_last) {
	struct buf *out = &session->out;
	struct frame frame;
	const char *text;
	unsigned n = 0;
	for (size_t at = 0; frame_next(out, &at, &frame, &text);) {
		n += frame.type == type;
		*ret_last = frame.type == type ? frame : *ret_last;
	}
	buf_reset(out);
	return n;
}

static bool hears(struct session *session, enum frame_type type) {
	struct frame frame;
	return count_heard(session, type, &frame) > 0;
}

static void test_unused_is_looked_for(void) {
	struct sessions sessions;
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, 0);
	struct session *first = join(&sessions, 5), *second = join(&sessions, 5);
	check_equal(sessions_step(&sessions, true, 5), 5 + LEASE_UNUSED); // though nobody says anything until then
	check(hears(first, FRAME_GRANT) && !hears(second, FRAME_GRANT));
	uint64_t now = 5 + LEASE_UNUSED;
	check_equal(sessions_step(&sessions, true, now), now);
	check(hears(first, FRAME_REVOKED)); // and now it was sent
	check(sessions_are_due(&sessions));
	check_equal(sessions_step(&sessions, true, now), TIME_NEVER); // nobody waits any more
	check(hears(second, FRAME_GRANT));
	sessions_fini(&sessions, now);
}

// It has gone, but a process runs on its lease: this one can be revoked, and is given back when the process ends.
static void test_revoked_after_close(void) {
	struct sessions sessions;
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, 0);
	struct session *first = join(&sessions, 5), *second = join(&sessions, 5);
	struct frame grant = {0};
	(void)sessions_step(&sessions, true, 5);
	check_equal(count_heard(first, FRAME_GRANT, &grant), 1);
	int ends[2];
	check(pipe(ends) == 0);
	check(session_input(first, &(struct frame){.type = FRAME_PROCESS, .a = grant.a, .b = grant.b}, NULL, ends[0], 5));
	check(!session_close(first, 5));
	uint64_t now = 5 + LEASE_UNUSED;
	(void)sessions_step(&sessions, true, now);
	check(sessions.revoking == first);
	check(session_process_ended(first, 0, now));
	check(!sessions.revoking);
	check_equal(sessions_step(&sessions, true, now), TIME_NEVER);
	check(hears(second, FRAME_GRANT));
	close(ends[1]);
	sessions_fini(&sessions, now);
}

static void test_recovery(void) {
	struct sessions sessions;
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1, .recovers = true}, 0);
	struct session *session = join(&sessions, 5);
	check_equal(sessions_step(&sessions, true, 5), RECOVERY);
	check(!hears(session, FRAME_GRANT));
	(void)sessions_step(&sessions, /* quiet */ false, RECOVERY); // who knows what has come with it
	check(!hears(session, FRAME_GRANT));
	(void)sessions_step(&sessions, true, RECOVERY);
	check(hears(session, FRAME_GRANT));
	sessions_fini(&sessions, RECOVERY);
}

// ---- clients that have lost their environment ----

static struct lease_id named;  // by the environment of process 3

// 4 is a child of 3, 3 of 2, 2 of 1; 2 has started at 5.
static int parent_of(int pid, uint64_t *ret_start) {
	*ret_start = pid == 2 ? 5 : 0;
	return pid >= 1 && pid <= 4 ? pid - 1 : 0;
}

static struct lease_id named_lease(void *arg, int pid) {
	(void)arg;
	return pid == 3 ? named : (struct lease_id){0};
}

// Process 2 holds as many leases (one for one job each), and 4, which has named none, wants one. Returns what that is granted.
static struct frame grant_below(struct sessions *sessions, uint32_t held, bool recovers, uint64_t joined) {
	sessions_init(sessions, &(struct sessions_config){.slots = held, .epoch = 1, .recovers = recovers}, 0);
	sessions->parent_of = parent_of;
	sessions->named_lease = named_lease;
	struct frame grant = {0}, frame = {0};
	struct session *below = NULL;
	if (recovers) { // it comes before the one that holds the lease
		next_peer = 4;
		below = join(sessions, joined);
	}
	next_peer = 2;
	struct session *above = join_holding(sessions, recovers ? held : 0, recovers ? 0 : held, 0, joined);
	(void)sessions_step(sessions, true, joined);
	for (uint32_t i = 0; i < held && !recovers; ++i) {
		say(above, (struct frame){.type = FRAME_USE, .a = (UINT64_C(1) << 32) + i + 1, .c = 1}, NULL, 0, joined);
	}
	check_equal(count_heard(above, FRAME_REVOKED, &frame), 0);
	next_peer = 4;
	below = below ? below : join(sessions, joined);
	next_peer = 0;
	(void)sessions_step(sessions, true, recovers ? RECOVERY : joined);
	(void)count_heard(below, FRAME_GRANT, &grant);
	return grant;
}

static void test_lost_environment(void) {
	struct sessions sessions;
	struct frame grant = grant_below(&sessions, 1, false, 5);
	check(grant.c & LEASE_LENT);
	sessions_fini(&sessions, 5);
	check_equal(grant_below(&sessions, 1, false, 4).type, 0); // the process has started since: the number was given again
	sessions_fini(&sessions, 5);
	grant = grant_below(&sessions, 1, true, 5); // of a server that has died
	check(grant.c & LEASE_LENT);
	sessions_fini(&sessions, RECOVERY);
}

static void test_lost_environment_of_one_of_several(void) {
	struct sessions sessions;
	struct frame grant = grant_below(&sessions, 2, false, 5);
	check(grant.c & LEASE_LENT);
	sessions_fini(&sessions, 5);
	named = (struct lease_id){.number = 2, .nonce = 99}; // a job that has ended
	check_equal(grant_below(&sessions, 2, false, 5).type, 0);
	sessions_fini(&sessions, 5);
	named = (struct lease_id){0};
}

// ---- leases that are used for one job after another ----

static void test_asks_for_the_last_job(void) {
	struct sessions sessions;
	struct frame grant = {0}, frame = {0};
	sessions_init(&sessions, &(struct sessions_config){.slots = 1, .epoch = 1}, 0);
	sessions.parent_of = parent_of;
	sessions.named_lease = named_lease;
	next_peer = 2;
	struct session *above = join(&sessions, 5);
	(void)sessions_step(&sessions, true, 5);
	check_equal(count_heard(above, FRAME_GRANT, &grant), 1);
	say(above, (struct frame){.type = FRAME_USE, .a = grant.a}, NULL, 0, 5);
	next_peer = 4;
	struct session *below = join(&sessions, 5);
	next_peer = 0;
	(void)sessions_step(&sessions, true, 5);
	(void)sessions_step(&sessions, true, 5);
	check(!hears(below, FRAME_GRANT));
	check_equal(count_heard(above, FRAME_LAST, &frame), 1);
	check_equal(frame.a, grant.a);
	say(above, (struct frame){.type = FRAME_USE, .a = grant.a, .b = 99, .c = 1}, NULL, 0, 5);
	(void)sessions_step(&sessions, true, 5);
	check_equal(count_heard(below, FRAME_GRANT, &frame), 1);
	check(frame.c & LEASE_LENT);
	sessions_fini(&sessions, 5);
}

// ---- a number of slots that the owner finds ----

static void test_told_slots(void) {
	struct sessions sessions;
	struct frame frame = {0};
	sessions_init(&sessions, &(struct sessions_config){.slots = 2, .bounds = {.least = 1, .most = 9}, .is_told = true, .epoch = 1}, 0);
	check_equal(sessions_step(&sessions, true, 5), TIME_NEVER);
	struct session *session = join(&sessions, 5);
	check_equal(count_heard(session, FRAME_WELCOME, &frame), 1);
	check(frame.a == 2 && frame.b == 1 && frame.c == 9);
	sessions_announce(&sessions, 4, CONTROLLER_JOBS_SLEEP);
	check_equal(sessions_step(&sessions, true, 6), TIME_NEVER); // nobody is asked what he sees
	check_equal(count_heard(session, FRAME_STATE, &frame), 1);
	check(frame.c == (4 | (uint64_t)CONTROLLER_JOBS_SLEEP << 32));
	session = join(&sessions, 7);
	check_equal(count_heard(session, FRAME_WELCOME, &frame), 1);
	check(frame.a == 4 && frame.b == 1 && frame.c == 9);
	struct lease_stat stat;
	lease_stat(sessions.table, &stat);
	check_equal(stat.slots, 2); // those are the owner's business
	sessions_fini(&sessions, 7);
}

// ---- a number of slots that is found ----

static unsigned nsamples; // at the machine

static void observe_machine(void *arg, struct controller_observation *observation) {
	const double *idle = arg;
	++nsamples;
	observation->cpus = 2;
	observation->pressure.idle = *idle;
}

static void open_auto(struct sessions *sessions, unsigned least, unsigned most, bool recovers, double *idle) {
	sessions_init(sessions, &(struct sessions_config){
		.slots = 2, .bounds = {.least = least, .most = most}, .epoch = 1, .recovers = recovers,
	}, 0);
	sessions->observe_machine = observe_machine;
	sessions->arg = idle;
	nsamples = 0;
}

static void send_observation(struct session *session, uint64_t slots, double busy, uint64_t now) {
	const struct observation observation = {.sampled = slots * 1000, .busy = (uint64_t)(busy * 1000), .since_ns = 100 * MS};
	say(session, (struct frame){.type = FRAME_OBSERVED}, &observation, sizeof(observation), now);
}

static unsigned slots_of(const struct sessions *sessions) {
	struct lease_stat stat;
	lease_stat(sessions->table, &stat);
	return stat.slots;
}

static void test_slots_follow_jobs(void) {
	struct sessions sessions;
	struct frame state = {0};
	double idle = 0.9;
	open_auto(&sessions, 1, 64, /* recovers */ false, &idle);
	struct session *a = join_wanting(&sessions, 20, HELLO_OBSERVES, 5), *b = join_wanting(&sessions, 20, HELLO_OBSERVES, 5);
	uint64_t due = sessions_step(&sessions, false, 5);
	check_equal(due, 5 + 100 * MS); // two have a slot each, and the others wait
	check_equal(count_heard(a, FRAME_GRANT, &state) + count_heard(b, FRAME_GRANT, &state), 2);
	check_equal(sessions_step(&sessions, true, due - 1), due);
	check(!hears(a, FRAME_OBSERVE));
	check(sessions_step(&sessions, true, due) > due);
	check_equal(count_heard(a, FRAME_OBSERVE, &state), 1);
	check_equal(count_heard(b, FRAME_OBSERVE, &state), 1);
	send_observation(a, 1, 0, due);
	check(sessions_step(&sessions, false, due) > due);
	check_equal(slots_of(&sessions), 2); // b has not answered yet
	send_observation(b, 1, 0, due + 1);
	uint64_t next = sessions_step(&sessions, false, due + 1);
	check_equal(slots_of(&sessions), 4); // twice as many
	check_equal(next, due + 1 + 100 * MS);
	check_equal(count_heard(a, FRAME_STATE, &state), 1);
	check_equal(state.c, 4 | (uint64_t)CONTROLLER_JOBS_SLEEP << 32);
	check_equal(nsamples, 2);
	sessions_fini(&sessions, next);
}

static void test_silent_are_busy(void) {
	for (unsigned i = 0; i < 2; ++i) {
		struct sessions sessions;
		double idle = 0.9; // which does not tell what the jobs do
		open_auto(&sessions, 1, 64, /* recovers */ false, &idle);
		struct session *session = join_wanting(&sessions, 4, i == 0 ? 0 : HELLO_OBSERVES, 0);
		uint64_t now = sessions_step(&sessions, false, 0);
		for (unsigned step = 0; step < 50; ++step) {
			now = sessions_step(&sessions, true, now);
			check_equal(slots_of(&sessions), 2);
		}
		check(hears(session, FRAME_OBSERVE) == (i == 1));
		check(nsamples > 10 && now > (nsamples - 1) * (i == 0 ? 100 : 350) * MS); // the late one was waited for
		sessions_fini(&sessions, now);
	}
}

static void test_no_sample_while_nobody_waits(void) {
	struct sessions sessions;
	double idle = 0.9;
	open_auto(&sessions, 1, 64, /* recovers */ false, &idle);
	struct session *session = join_wanting(&sessions, 2, HELLO_OBSERVES, 0);
	check_equal(sessions_step(&sessions, false, 0), TIME_NEVER);
	say(session, (struct frame){.type = FRAME_WANT, .a = 7, .b = 1}, NULL, 0, 5);
	uint64_t now = 5;
	while (slots_of(&sessions) < 9) {
		now = sessions_step(&sessions, true, now);
		if (hears(session, FRAME_OBSERVE)) {
			send_observation(session, 2, 0, now);
		}
	}
	now = sessions_step(&sessions, true, now); // all have one
	unsigned samples = nsamples;
	check_equal(sessions_step(&sessions, true, now), TIME_NEVER);
	check(!hears(session, FRAME_OBSERVE));
	check_equal(nsamples, samples);
	check_equal(session_close(session, now), true);
	session = join_wanting(&sessions, 9, HELLO_OBSERVES, now); // who knows what these do
	(void)sessions_step(&sessions, false, now);
	check_equal(slots_of(&sessions), 2);
	check_equal(count_heard(session, FRAME_GRANT, &(struct frame){0}), 2);
	sessions_fini(&sessions, now);
}

static void test_successor_begins_with_what_is_held(void) {
	struct sessions sessions;
	struct frame frame = {0};
	double idle = 0;
	open_auto(&sessions, 1, 6, /* recovers */ true, &idle);
	struct session *session = join_holding(&sessions, 5, 9, HELLO_OBSERVES, 5);
	check_equal(count_heard(session, FRAME_WELCOME, &frame), 1);
	check_equal(frame.a, 2);
	check_equal(frame.b, 1);
	check_equal(frame.c, 6);
	(void)sessions_step(&sessions, true, RECOVERY);
	check_equal(slots_of(&sessions), 5);
	check(!hears(session, FRAME_GRANT));
	sessions_fini(&sessions, RECOVERY);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a lease that is not used is looked for, though nobody says anything", test_unused_is_looked_for),
		TEST("a lease of a client that has gone is revoked, and is free when its process has ended", test_revoked_after_close),
		TEST("a server's successor grants nothing before a second has passed and all was read", test_recovery),
		TEST("a client that has lost its environment is lent the lease of the process above it", test_lost_environment),
		TEST("of several leases above it a client is lent the one that an environment above it names", test_lost_environment_of_one_of_several),
		TEST("whoever uses a lease for one job after another is asked once which is the last, for another to be lent it", test_asks_for_the_last_job),
		TEST("a number of slots that the owner finds is told, with its bounds and its reason", test_told_slots),
		TEST("while somebody waits, clients are asked what they see of their jobs, and the number of slots follows", test_slots_follow_jobs),
		TEST("who does not answer counts as busy, and is waited for a quarter of a second at most", test_silent_are_busy),
		TEST("while nobody waits nobody is asked, and who comes then finds no slots that others had for theirs", test_no_sample_while_nobody_waits),
		TEST("a server's successor begins with as many slots as are held", test_successor_begins_with_what_is_held),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
