// Tests of the leases of a pool (slots/lease.h): golden traces, what is lent, a server's successor, and a random world.

#include "slots/lease.h"

#include "base/random.h"
#include "base/sync.h"

#include "test.h"

// ---- a pool whose clients are called a, b, c ... ----

enum { MOST = 20 };

struct world {
	struct lease_table *table;
	struct lease_client *clients[MOST];
	struct lease_id leases[MOST][64]; // of each, the oldest first
	unsigned nleases[MOST];
	uint64_t now;
	char names[MOST];                 // what lease_user() points to
};

static void world_recover(struct world *world, unsigned slots) {
	*world = (struct world){.table = lease_table_create(slots, /* fair_time */ false, /* first */ 100)};
}

static void world_init(struct world *world, unsigned slots) {
	world_recover(world, slots);
	lease_open(world->table, 0);
}

static void world_fini(struct world *world) {
	for (unsigned i = 0; i < MOST; ++i) {
		if (world->clients[i]) {
			lease_leave(world->clients[i], world->now);
		}
	}
	struct lease_stat stat;
	lease_stat(world->table, &stat);
	check_equal(stat.taken, 0);
	check_equal(stat.held, 0);
	lease_table_destroy(world->table);
}

static void join_config(struct world *world, char name, const struct lease_client_config *config) {
	world->names[name - 'a'] = name;
	world->clients[name - 'a'] = lease_join(world->table, config, &world->names[name - 'a'], world->now);
}

static void join(struct world *world, char name) {
	join_config(world, name, &(struct lease_client_config){.weight = 1});
}

// Joins below the first lease of `parent`, on which a job runs.
static void join_below(struct world *world, char name, char parent) {
	check(lease_use(world->clients[parent - 'a'], world->leases[parent - 'a'][0].number, 0, true));
	join_config(world, name, &(struct lease_client_config){.weight = 1, .below = world->leases[parent - 'a'][0]});
}

static void want(struct world *world, char name, unsigned n) {
	lease_want(world->clients[name - 'a'], n, 1, world->now);
}

// Who is granted a lease, in order; capitals: lent.
static const char *grants(struct world *world) {
	static char trace[256];
	size_t n = 0;
	struct lease_grant grant;
	while (lease_next(world->table, world->now, &grant)) {
		char name = *(char *)lease_user(grant.client);
		world->leases[name - 'a'][world->nleases[name - 'a']++] = grant.id;
		trace[n++] = (char)(grant.lender ? name - 'a' + 'A' : name);
	}
	trace[n] = '\0';
	return trace;
}

// A pool in which a wants `n` leases, and has been granted those.
static void world_holding(struct world *world, unsigned slots, unsigned n, const char *granted) {
	world_init(world, slots);
	join(world, 'a');
	want(world, 'a', n);
	check_string(grants(world), granted);
}

// The client's oldest lease comes back.
static void release(struct world *world, char name) {
	struct lease_id *leases = world->leases[name - 'a'];
	check(world->nleases[name - 'a'] > 0);
	check(lease_release(world->clients[name - 'a'], leases[0].number, world->now));
	memmove(leases, leases + 1, --world->nleases[name - 'a'] * sizeof(*leases));
}

static void leave(struct world *world, char name) {
	lease_leave(world->clients[name - 'a'], world->now);
	world->clients[name - 'a'] = NULL;
	world->nleases[name - 'a'] = 0;
}

static unsigned taken(const struct world *world) {
	struct lease_stat stat;
	lease_stat(world->table, &stat);
	return stat.taken;
}

// ---- turns ----

static void test_spare(void) {
	struct world world;
	unsigned waiting;
	world_init(&world, 3);
	join(&world, 'a');
	join_config(&world, 's', &(struct lease_client_config){.weight = 1, .spare = true});
	join_config(&world, 't', &(struct lease_client_config){.weight = 1, .spare = true});
	want(&world, 's', 9);
	want(&world, 'a', 1);
	check_string(grants(&world), "ass");
	check(!lease_is_contended(world.table)); // for what is spare nobody has to give anything back
	check_equal(lease_rank(world.clients['s' - 'a'], &waiting), 0);
	check_equal(waiting, 0);
	want(&world, 't', 1);
	want(&world, 'a', 1);
	check(lease_is_contended(world.table));
	release(&world, 's');
	check_string(grants(&world), "a");
	release(&world, 's');
	check_string(grants(&world), "t"); // which has waited longer
	world_fini(&world);
}

static void test_turns(void) {
	struct world world;
	world_holding(&world, 1, 100, "a");
	join(&world, 'b');
	want(&world, 'b', 2); // late: next
	const char *trace[] = {"b", "a", "b", "a", "a"};
	char runs = 'a';
	for (unsigned i = 0; i < 5; ++i) {
		release(&world, runs);
		check_string(grants(&world), trace[i]);
		runs = trace[i][0];
	}
	world_fini(&world);
}

static void test_batch_shared(void) {
	struct world world;
	world_init(&world, 1);
	const struct lease_client_config make = {.weight = 1, .batch = "make"};
	join_config(&world, 'a', &make);
	join_config(&world, 'b', &make);
	join(&world, 'c');
	want(&world, 'a', 9);
	want(&world, 'b', 9);
	want(&world, 'c', 9);
	char trace[9] = "", runs = grants(&world)[0];
	for (unsigned i = 0; i < 8; ++i) {
		trace[i] = runs;
		release(&world, runs);
		runs = grants(&world)[0];
	}
	check_string(trace, "acbcacbc"); // a and b have one turn together
	world_fini(&world);
}

static void test_wide(void) {
	struct world world;
	world_holding(&world, 3, 100, "aaa");
	join(&world, 'b');
	lease_want(world.clients[1], 1, 2, 0);
	check_string(grants(&world), "");
	release(&world, 'a');
	check_string(grants(&world), ""); // kept for b
	release(&world, 'a');
	check_string(grants(&world), "b");
	check_equal(taken(&world), 3);
	release(&world, 'b');
	check_string(grants(&world), "aa");
	lease_want(world.clients[1], 1, 99, 0); // more than there are: all
	want(&world, 'a', 0);
	release(&world, 'a');
	release(&world, 'a');
	check_string(grants(&world), "");
	release(&world, 'a');
	check_string(grants(&world), "b");
	check_equal(taken(&world), 3);
	world_fini(&world);
}

static void test_wide_gives_up(void) {
	struct world world;
	world_holding(&world, 2, 3, "aa");
	join(&world, 'b');
	lease_want(world.clients[1], 1, 2, 0);
	release(&world, 'a');
	check_string(grants(&world), "");
	leave(&world, 'b');
	check_string(grants(&world), "a");
	world_fini(&world);
}

// Two that always want slots, one for short jobs and one for long ones, share the time on these.
static void test_shares_time(void) {
	enum { SLOTS = 4, JOBS = 40000 };
	struct { uint64_t end, number; unsigned owner; } runs[SLOTS] = {{0, 0, 0}};
	struct lease_table *table = lease_table_create(SLOTS, /* fair_time */ true, 100);
	unsigned owners[] = {0, 1};
	uint64_t had[2] = {0}, random = 3, now = 1;
	struct lease_client *clients[2];
	lease_open(table, 0);
	for (unsigned i = 0; i < 2; ++i) {
		clients[i] = lease_join(table, &(struct lease_client_config){.weight = 1}, &owners[i], now);
		lease_want(clients[i], SLOTS, 1, now);
	}
	for (unsigned job = 0; job < JOBS; ++job) {
		unsigned next = 0;
		for (unsigned i = 1; i < SLOTS; ++i) {
			next = runs[i].end < runs[next].end ? i : next;
		}
		now = runs[next].end > now ? runs[next].end : now;
		check(runs[next].number == 0 || lease_release(clients[runs[next].owner], runs[next].number, now));
		struct lease_grant grant;
		check(lease_next(table, now, &grant)); // no slot is idle while somebody waits
		unsigned owner = *(unsigned *)lease_user(grant.client);
		uint64_t time = (1 + random_next(&random) % 20) * NS_PER_MS * (owner == 0 ? 1 : 30);
		lease_want(grant.client, SLOTS, 1, now);
		runs[next].owner = owner;
		runs[next].number = grant.id.number;
		runs[next].end = now + time;
		had[owner] += time;
	}
	double share = (double)had[0] / (double)(had[0] + had[1]);
	check(share > 0.49 && share < 0.51);
	lease_leave(clients[0], now);
	lease_leave(clients[1], now);
	lease_table_destroy(table);
}

static void test_slots_change(void) {
	struct world world;
	world_holding(&world, 4, 9, "aaaa");
	join(&world, 'b');
	want(&world, 'b', 2);
	lease_set_slots(world.table, 2);
	for (unsigned i = 0; i < 2; ++i) { // what runs is left alone, and of what comes back nothing is granted
		check_string(grants(&world), "");
		check_equal(taken(&world), 4 - i);
		release(&world, 'a');
	}
	check_string(grants(&world), "");
	release(&world, 'a');
	check_string(grants(&world), "b");
	lease_set_slots(world.table, 5);
	check_equal(strlen(grants(&world)), 3);
	check_equal(taken(&world), 5);
	want(&world, 'b', 0);
	check(lease_only_waiter(world.table) == world.clients[0]); // what it gives back is its own again
	want(&world, 'a', 0);
	check(!lease_is_contended(world.table));
	lease_set_slots(world.table, 4);
	check(lease_is_contended(world.table) && !lease_is_awaited(world.table)); // one is to come back, though nobody waits
	check(!lease_only_waiter(world.table));
	release(&world, 'b');
	check(!lease_is_contended(world.table));
	world_fini(&world);
}

static void test_wide_when_slots_change(void) {
	struct world world;
	world_holding(&world, 4, 9, "aaaa");
	join(&world, 'b');
	lease_want(world.clients[1], 1, 3, 0);
	release(&world, 'a');
	check_string(grants(&world), ""); // kept for b
	lease_set_slots(world.table, 2);  // which are now all that it can have
	release(&world, 'a');
	release(&world, 'a');
	check_string(grants(&world), "");
	release(&world, 'a');
	check_string(grants(&world), "b");
	check_equal(taken(&world), 2);
	world_fini(&world);
}

// ---- lending ----

static void test_lent_three_deep(void) {
	struct world world;
	world_holding(&world, 1, 1, "a");
	join_below(&world, 'b', 'a');
	want(&world, 'b', 5);
	check_string(grants(&world), "B");
	join_below(&world, 'c', 'b');
	want(&world, 'c', 2);
	check_string(grants(&world), "C");
	check_equal(taken(&world), 1);
	release(&world, 'c');
	check_string(grants(&world), "C");
	leave(&world, 'c');
	release(&world, 'b');
	check_string(grants(&world), "B");
	world_fini(&world);
}

static void test_lent_one_at_a_time(void) {
	struct world world;
	world_holding(&world, 1, 1, "a");
	join_below(&world, 'b', 'a');
	join_below(&world, 'c', 'a');
	want(&world, 'b', 1);
	want(&world, 'c', 1);
	check_string(grants(&world), "B");
	leave(&world, 'b');
	check_string(grants(&world), "C");
	world_fini(&world);
}

static void test_lent_outlives_lender(void) {
	struct world world;
	world_init(&world, 1);
	join(&world, 'a');
	join(&world, 'd');
	want(&world, 'a', 1);
	check_string(grants(&world), "a");
	want(&world, 'd', 1);
	join_below(&world, 'b', 'a');
	want(&world, 'b', 1);
	check_string(grants(&world), "B");
	leave(&world, 'a'); // killed, and what it started goes on
	check_string(grants(&world), "");
	check_equal(taken(&world), 1);
	leave(&world, 'b');
	check_string(grants(&world), "d");
	world_fini(&world);
}

static void test_lent_wide(void) {
	struct world world;
	world_init(&world, 2);
	join(&world, 'a');
	lease_want(world.clients[0], 1, 2, 0);
	check_string(grants(&world), "a");
	join_below(&world, 'b', 'a');
	lease_want(world.clients[1], 9, 5, 0); // more than the parent has: what it has
	check_string(grants(&world), "B");
	release(&world, 'b');
	want(&world, 'b', 3);
	check_string(grants(&world), "BB");
	check_equal(taken(&world), 2);
	world_fini(&world);
}

// Three slots, of which a has one; b runs on that, wants `n`, and has it and the two others. And d has come.
static void world_beyond(struct world *world, unsigned n) {
	world_init(world, 3);
	join(world, 'a');
	join(world, 'd');
	want(world, 'a', 1);
	check_string(grants(world), "a");
	join_below(world, 'b', 'a');
	want(world, 'b', n);
	check_string(grants(world), "Bbb");
}

static void test_beyond_is_charged_to_parent(void) {
	struct world world;
	world_beyond(&world, 9);
	want(&world, 'd', 9);
	want(&world, 'a', 9);
	leave(&world, 'b'); // the one that was lent is a's own again
	check_string(grants(&world), "da"); // two are free
	world_fini(&world);
}

static void test_lent_instead(void) {
	struct world world;
	world_beyond(&world, 4);
	want(&world, 'd', 9);
	check_string(grants(&world), "");
	release(&world, 'b'); // the one that was lent: one of the others is, and its slot is free for whose turn it is
	check_string(grants(&world), "d");
	check_equal(taken(&world), 3);
	release(&world, 'b');
	check_string(grants(&world), "b"); // its turn has come again
	release(&world, 'b');
	check_string(grants(&world), "d");
	world_fini(&world);
}

static void test_not_lent_before_use(void) {
	struct world world;
	world_holding(&world, 1, 1, "a");
	const struct lease_id id = world.leases[0][0];
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = id}); // its USE has not been read yet
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	check(lease_use(world.clients[0], id.number, 0, true));
	check_string(grants(&world), "B");
	world_fini(&world);
}

// A pool of one slot that a uses for one job after another; b runs below the job of `below`, and wants to be lent it.
static void world_used_again(struct world *world, struct lease_id *ret_id, uint64_t below) {
	world_holding(world, 1, 1, "a");
	*ret_id = world->leases[0][0];
	check(lease_use(world->clients[0], ret_id->number, 0, false));
	join_config(world, 'b', &(struct lease_client_config){.weight = 1, .below = {ret_id->number, below}});
	check(lease_ask_last(world->table, &(uint64_t){0}) == NULL); // b wants nothing yet
	want(world, 'b', 1);
	check_string(grants(world), "");
}

// a is asked, once, and says that the job of that nonce is the last one.
static void ask_last(struct world *world, struct lease_id id, uint64_t nonce) {
	uint64_t number;
	check(lease_ask_last(world->table, &number) == world->clients[0]);
	check_equal(number, id.number);
	check(lease_ask_last(world->table, &number) == NULL);
	check_string(grants(world), "");
	check(lease_use(world->clients[0], id.number, nonce, true));
}

static void test_lent_when_last(void) {
	struct world world;
	struct lease_id id;
	const uint64_t nonce = 7;
	world_used_again(&world, &id, nonce); // of which the table has not heard
	ask_last(&world, id, nonce);
	check_string(grants(&world), "B");
	release(&world, 'b');
	want(&world, 'b', 1);
	check_string(grants(&world), "B"); // as long as the job runs
	check(lease_ask_last(world.table, &id.number) == NULL);
	world_fini(&world);
}

static void test_next_job_lends_nothing_to_the_last(void) {
	struct world world;
	struct lease_id id;
	const uint64_t nonce = 7, next = 9;
	world_used_again(&world, &id, nonce);
	ask_last(&world, id, next);
	check_string(grants(&world), "");
	check(!lease_is_known(world.table, (struct lease_id){id.number + 99, nonce}));
	check(lease_ask_last(world.table, &id.number) == NULL);
	join_config(&world, 'c', &(struct lease_client_config){.weight = 1, .below = {world.leases[0][0].number, next}});
	want(&world, 'c', 1);
	check_string(grants(&world), "C");
	leave(&world, 'c');
	leave(&world, 'a');
	check_string(grants(&world), "b"); // it has waited like anybody
	world_fini(&world);
}

static void test_whatever_job_runs(void) {
	struct world world;
	struct lease_id id;
	world_used_again(&world, &id, /* nonce */ 0);
	id = lease_of_client(world.clients[0]);
	check(id.number > 0 && id.nonce == 0); // not known
	ask_last(&world, id, 9);
	check_equal(lease_of_client(world.clients[0]).nonce, 9);
	check_string(grants(&world), "B");
	release(&world, 'b');
	check(lease_use(world.clients[0], id.number, 11, true)); // another job: b does not run below that
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	world_fini(&world);
}

static void test_nonce(void) {
	struct world world;
	world_holding(&world, 1, 1, "a");
	world.leases[0][0].nonce ^= 1;
	join_below(&world, 'b', 'a');
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	world_fini(&world);
}

static void test_other_lease(void) {
	// a job that has lent its lease to others, and goes on with another one under its nonce
	struct world world;
	world_holding(&world, 2, 2, "aa");
	struct lease_id first = world.leases[0][0], second = world.leases[0][1];
	check(lease_use(world.clients[0], first.number, first.nonce ^ 1, true));
	check(!lease_is_known(world.table, (struct lease_id){99, first.nonce}));
	check(lease_use(world.clients[0], second.number, first.nonce, true));
	check(lease_is_known(world.table, (struct lease_id){99, first.nonce}));
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = first});
	want(&world, 'b', 1);
	check_string(grants(&world), "B");
	check_equal(taken(&world), 2);
	world_fini(&world);
}

static void test_lender_comes_later(void) {
	// what runs below a job comes while the job has lent its lease to others, and the job waits for it when it has one again
	struct world world;
	world_holding(&world, 1, 1, "a");
	const struct lease_id first = world.leases[0][0];
	check(lease_use(world.clients[0], first.number, first.nonce ^ 1, true));
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = first});
	join(&world, 'c');
	want(&world, 'c', 1);
	want(&world, 'b', 2);
	check_string(grants(&world), "");
	check(lease_use(world.clients[0], first.number, first.nonce, true));
	check_string(grants(&world), "B");
	leave(&world, 'a');
	release(&world, 'b');
	check_string(grants(&world), "c");
	leave(&world, 'c');
	check_string(grants(&world), "b");
	world_fini(&world);
}

static void test_withheld(void) {
	struct world world;
	world_holding(&world, 1, 1, "a");
	uint64_t number = world.leases[0][0].number;
	check(lease_withhold(world.clients[0], number, true));
	join_below(&world, 'b', 'a');
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	check(lease_withhold(world.clients[0], number, false));
	check_string(grants(&world), "B");
	check(!lease_withhold(world.clients[0], number, true)); // it is lent
	check(!lease_withhold(world.clients[0], number + 99, true));
	world_fini(&world);
}

// ---- what is not used, and what is not there ----

static void test_unused(void) {
	struct world world;
	struct lease_client *holder;
	uint64_t number;
	world_holding(&world, 2, 2, "aa");
	join(&world, 'b');
	check(lease_use(world.clients[0], world.leases[0][0].number, 0, true));
	check(lease_unused(world.table, &holder, &number) == TIME_NEVER); // nobody waits
	want(&world, 'b', 2);
	check_equal(lease_unused(world.table, &holder, &number), LEASE_UNUSED);
	check(holder == world.clients[0] && number == world.leases[0][1].number);
	check(!lease_revoke(world.clients[0], world.leases[0][0].number, 0)); // that one is in use
	check(lease_revoke(world.clients[0], world.leases[0][1].number, 0));
	check(lease_unused(world.table, &holder, &number) == TIME_NEVER);
	check_string(grants(&world), "b");
	check(!lease_release(world.clients[0], world.leases[0][1].number, 0)); // not its any more
	world_fini(&world);
}

static void test_unused_lent(void) {
	struct world world;
	struct lease_client *holder;
	uint64_t number;
	world_holding(&world, 1, 1, "a");
	check(lease_use(world.clients[0], world.leases[0][0].number, 0, true));
	join_below(&world, 'b', 'a');
	join_below(&world, 'c', 'a');
	want(&world, 'b', 1);
	check_string(grants(&world), "B");
	check(lease_unused(world.table, &holder, &number) == TIME_NEVER);
	want(&world, 'c', 1);
	check_equal(lease_unused(world.table, &holder, &number), LEASE_UNUSED);
	check(holder == world.clients[1] && lease_revoke(holder, number, 0));
	check_string(grants(&world), "C");
	world_fini(&world);
}

static void test_gathers_what_it_was_lent(void) {
	struct world world;
	world_holding(&world, 2, 1, "a");
	join_below(&world, 'b', 'a');
	lease_want(world.clients[1], 2, 2, 0);
	check_string(grants(&world), "Bb"); // more than the one that is left it cannot have
	release(&world, 'b');
	release(&world, 'b');
	join(&world, 'c');
	want(&world, 'c', 1);
	check_string(grants(&world), "c");
	lease_want(world.clients[1], 2, 1, 0);
	check_string(grants(&world), "B");
	release(&world, 'b'); // and is lent it again, while its turn has come to wait for another
	check_string(grants(&world), "B");
	world_fini(&world);
}

static void test_gathers_what_can_be_free(void) {
	struct world world;
	struct lease_client_stat stat;
	world_holding(&world, 3, 1, "a");
	join(&world, 'c');
	want(&world, 'c', 1);
	check_string(grants(&world), "c");
	join_below(&world, 'b', 'a');
	lease_want(world.clients[1], 2, 9, 0);
	check_string(grants(&world), "B");
	lease_client_stat(world.clients[1], 0, &stat);
	check_equal(stat.gathers, 2); // not 9: a holds the third slot as long as b is there
	world_fini(&world);
}

static void test_foreign(void) {
	struct world world;
	world_holding(&world, 2, 1, "a");
	join(&world, 'b');
	uint64_t number = world.leases[0][0].number;
	check(!lease_use(world.clients[1], number, 0, true));
	check(!lease_release(world.clients[1], number, 0));
	check(!lease_release(world.clients[0], number + 1, 0));
	check(!lease_hold(world.clients[1], world.leases[0][0], 1, false, 0));
	check_equal(taken(&world), 1);
	world_fini(&world);
}

// ---- a server's successor ----

static void test_recovery(void) {
	struct world old, world;
	world_holding(&old, 1, 1, "a");
	join_below(&old, 'b', 'a');
	want(&old, 'b', 2);
	check_string(grants(&old), "B");

	world_recover(&world, 1);
	// b comes before its parent
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = old.leases[0][0]});
	check(lease_hold(world.clients[1], old.leases[1][0], 1, /* lent */ true, 0));
	join(&world, 'c');
	want(&world, 'c', 1);
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	join(&world, 'a');
	check(lease_hold(world.clients[0], old.leases[0][0], 1, false, 0));
	check(!lease_hold(world.clients[2], old.leases[0][0], 1, false, 0)); // held already
	lease_open(world.table, 0);
	check_equal(taken(&world), 1);
	check_string(grants(&world), "");
	check(lease_release(world.clients[1], old.leases[1][0].number, 0));
	check_string(grants(&world), ""); // a may go on to another job until it has said how it uses the lease
	check(lease_use(world.clients[0], old.leases[0][0].number, 0, true));
	check_string(grants(&world), "B");
	check(world.leases[1][0].number > old.leases[1][0].number);
	leave(&world, 'b');
	leave(&world, 'a');
	check_string(grants(&world), "c");
	world_fini(&world);
	world_fini(&old);
}

static void test_recovery_ranks(void) {
	struct world world;
	unsigned waiting;
	world_recover(&world, 1);
	for (char name = 'a'; name <= 'c'; ++name) {
		join(&world, name);
		want(&world, name, 1);
		want(&world, name, 2); // more of them, at the same rank
	}
	for (unsigned i = 0; i < 3; ++i) {
		check_equal(lease_rank(world.clients[i], &waiting), i + 1);
	}
	check_equal(waiting, 3);
	lease_open(world.table, 0);
	for (unsigned i = 0; i < 3; ++i) {
		check_equal(lease_rank(world.clients[i], &waiting), i + 1);
	}
	world_fini(&world);
}

static void test_stale_nonce(void) {
	struct world old, world;
	world_holding(&old, 1, 1, "a");
	world_holding(&world, 1, 1, "a");
	struct lease_id stale = old.leases[0][0];
	check_equal(stale.number, world.leases[0][0].number);
	check(stale.nonce != world.leases[0][0].nonce);
	check(lease_use(world.clients[0], stale.number, 0, true));
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = stale});
	want(&world, 'b', 1);
	check_string(grants(&world), "");
	world_fini(&old);
	world_fini(&world);
}

static void test_recovery_orphan(void) {
	struct world world;
	world_recover(&world, 1);
	const struct lease_id mine = {7, 70}, parent = {6, 60};
	join_config(&world, 'a', &(struct lease_client_config){.weight = 1, .below = parent});
	check(lease_hold(world.clients[0], mine, 1, /* lent */ true, 0));
	lease_open(world.table, 0);
	check_equal(taken(&world), 1); // its parent has gone: the slot is its own
	world_fini(&world);
}

static void test_recovery_late(void) {
	struct world world;
	world_holding(&world, 1, 2, "a");
	join(&world, 'b'); // was stopped until now
	check(lease_hold(world.clients[1], (struct lease_id){7, 70}, 1, false, 0));
	check_equal(taken(&world), 2);
	release(&world, 'a');
	check_string(grants(&world), "");
	leave(&world, 'b');
	check_string(grants(&world), "a");
	world_fini(&world);
}

static void test_recovery_circle(void) {
	struct world world;
	world_recover(&world, 2);
	const struct lease_id one = {7, 70}, other = {8, 80};
	join_config(&world, 'a', &(struct lease_client_config){.weight = 1, .below = other});
	join_config(&world, 'b', &(struct lease_client_config){.weight = 1, .below = one});
	check(lease_hold(world.clients[0], one, 1, true, 0));
	check(lease_hold(world.clients[1], other, 1, true, 0));
	lease_open(world.table, 0);
	check_equal(taken(&world), 1); // a lie; one of the two is not lent
	world_fini(&world);
}

static void test_spare_is_shared(void) {
	struct world world;
	world_init(&world, 8);
	for (char name = 's'; name <= 't'; ++name) {
		join_config(&world, name, &(struct lease_client_config){.weight = 1, .spare = true});
	}
	want(&world, 's', 6);
	check_string(grants(&world), "ssssss");
	join(&world, 'a');
	want(&world, 'a', 2);
	check_string(grants(&world), "aa");
	check_equal(lease_spare_limit(world.clients['s' - 'a']), 0); // nobody waits
	want(&world, 's', 2);
	check_equal(lease_spare_limit(world.clients['s' - 'a']), 0); // nobody else
	want(&world, 't', 7);
	for (uint32_t limit = 5; limit >= 3; --limit) { // each goes to who has fewer, though the other one wants more, too
		check_equal(lease_spare_limit(world.clients['s' - 'a']), limit);
		check_equal(lease_spare_limit(world.clients['t' - 'a']), 0);
		check_equal(lease_spare_limit(world.clients['a' - 'a']), 0);
		release(&world, 's');
		check_string(grants(&world), "t");
	}
	check_equal(lease_spare_limit(world.clients['s' - 'a']), 0);
	release(&world, 'a'); // one more or less is not worth a move
	check_equal(strlen(grants(&world)), 1);
	check_equal(lease_spare_limit(world.clients['s' - 'a']), 0);
	check_equal(lease_spare_limit(world.clients['t' - 'a']), 0);
	world_fini(&world);
}

// ---- a random world ----

// `most`: slots that may be taken.
static void check_sane(const struct world *world, unsigned most) {
	struct lease_stat stat;
	lease_stat(world->table, &stat);
	check(stat.taken <= most);
	check(stat.taken <= stat.slots || lease_is_contended(world->table)); // those beyond come back
	unsigned own = 0;
	for (unsigned i = 0; i < MOST; ++i) {
		struct lease_client_stat client;
		if (world->clients[i]) {
			lease_client_stat(world->clients[i], world->now, &client);
			check_equal(client.held, world->nleases[i]);
			own += client.slots;
		}
	}
	check(own <= stat.taken); // the rest has ended, but is lent
	check(stat.waiting == 0 || stat.taken > 0); // somebody runs while somebody waits
}

static void step(struct world *world, uint64_t *random) {
	unsigned i = (unsigned)(random_next(random) % MOST), parent = (unsigned)(random_next(random) % MOST);
	char name = (char)('a' + i);
	++world->now;
	if (!world->clients[i]) {
		struct lease_client_config config = {.weight = 1 + i % 3, .priority = i % 5 == 0, .batch = i % 4 == 0 ? "x" : NULL};
		config.below = world->nleases[parent] > 0 ? world->leases[parent][0] : config.below;
		config.spare = i % 7 == 6;
		join_config(world, name, &config);
	}
	switch (random_next(random) % 8) {
	case 0: leave(world, name); break;
	case 1: lease_want(world->clients[i], 0, 1, world->now); break;
	case 2: case 3: lease_want(world->clients[i], (uint32_t)(random_next(random) % 4), 1 + i % 6 / 5 * 2, world->now); break;
	default:
		if (world->nleases[i] > 0) {
			release(world, name);
		}
	}
	(void)grants(world);
}

static void test_random(void) {
	for (uint64_t seed = 1; seed <= 200; ++seed) {
		struct world world;
		uint64_t random = seed;
		unsigned slots = 1 + (unsigned)(seed % 4);
		world_init(&world, slots);
		for (unsigned i = 0; i < 2000; ++i) {
			unsigned before = taken(&world);
			if (seed % 2 == 0 && random_next(&random) % 16 == 0) {
				slots = 1 + (unsigned)(random_next(&random) % 6);
				lease_set_slots(world.table, slots);
			}
			step(&world, &random);
			check_sane(&world, before > slots ? before : slots); // never one more while there are fewer slots than are taken
		}
		world_fini(&world);
	}
}

// ---- a crowd ----

enum { CROWD = 100, ROUNDS = 1000 };

// A client that comes again and again: it waits, holds a lease for a while, may be away for a while.
struct visitor {
	struct lease_client *client;
	uint64_t lease;
	uint64_t since;                // number of its turn to wait; 0: it does not
	uint64_t next;                 // when it gives its lease back, or comes
	double rank;                   // lease_client_stat.virt, while it waits
	unsigned rounds;
	unsigned char overtaken[CROWD]; // by each, while it has waited this time
};

struct crowd {
	struct visitor all[CROWD];
	struct lease_table *table;
	uint64_t now, random, waits;
	bool is_random;                // times are
	bool is_away;                  // between its rounds
	bool by_time;                  // turns are
	unsigned most;                 // times that one was overtaken by the same one
};

static uint64_t some_time(struct crowd *crowd) {
	return crowd->is_random ? 1 + random_next(&crowd->random) % 1000 : 500;
}

static void visitor_granted(struct crowd *crowd, const struct lease_grant *grant) {
	struct visitor *visitor = lease_user(grant->client);
	for (unsigned i = 0; i < CROWD; ++i) {
		struct visitor *other = &crowd->all[i];
		bool is_due = crowd->by_time && visitor->rank < other->rank; // its batch has had less
		if (other->since > 0 && other->since < visitor->since && !is_due) {
			unsigned times = ++other->overtaken[visitor - crowd->all];
			crowd->most = times > crowd->most ? times : crowd->most;
		}
	}
	memset(visitor->overtaken, 0, sizeof(visitor->overtaken));
	visitor->lease = grant->id.number;
	visitor->since = 0;
	uint64_t time = some_time(crowd);
	visitor->next = crowd->now + time;
	++visitor->rounds;
}

static void visitor_acts(struct crowd *crowd, struct visitor *visitor) {
	bool had = visitor->lease > 0;
	if (had) {
		check(lease_release(visitor->client, visitor->lease, crowd->now));
		visitor->lease = 0;
		visitor->next = crowd->now + (crowd->is_away && random_next(&crowd->random) % 3 == 0 ? 20 * some_time(crowd) : 0);
	}
	if (!had || visitor->next == crowd->now) {
		lease_want(visitor->client, 1, 1, crowd->now);
		visitor->since = ++crowd->waits;
		visitor->next = TIME_NEVER;
		struct lease_client_stat stat;
		lease_client_stat(visitor->client, crowd->now, &stat);
		visitor->rank = stat.virt;
	}
}

// Each has ROUNDS rounds or more. Returns how often one was overtaken by the same other one, at most.
static unsigned run_crowd(const char *batch, bool fair_time, bool is_random, bool is_away) {
	static struct crowd crowd;
	crowd = (struct crowd){.table = lease_table_create(4, fair_time, 100), .random = 5, .is_random = is_random, .is_away = is_away, .by_time = fair_time && !batch};
	lease_open(crowd.table, 0);
	for (unsigned i = 0; i < CROWD; ++i) {
		struct visitor *visitor = &crowd.all[i];
		visitor->client = lease_join(crowd.table, &(struct lease_client_config){.weight = 1, .batch = batch}, visitor, 0);
	}
	for (unsigned left = CROWD; left > 0;) {
		struct lease_grant grant;
		uint64_t next = TIME_NEVER;
		left = 0;
		for (unsigned i = 0; i < CROWD; ++i) {
			if (crowd.all[i].next <= crowd.now) {
				visitor_acts(&crowd, &crowd.all[i]);
			}
		}
		while (lease_next(crowd.table, crowd.now, &grant)) {
			visitor_granted(&crowd, &grant);
		}
		for (unsigned i = 0; i < CROWD; ++i) {
			next = crowd.all[i].next < next ? crowd.all[i].next : next;
			left += crowd.all[i].rounds < ROUNDS;
		}
		check(next != TIME_NEVER); // somebody holds a lease, or comes
		crowd.now = next;
	}
	for (unsigned i = 0; i < CROWD; ++i) {
		lease_leave(crowd.all[i].client, crowd.now);
	}
	lease_table_destroy(crowd.table);
	return crowd.most;
}

static void test_overtaking(void) {
	for (unsigned i = 0; i < 8; ++i) {
		bool fair_time = i & 1, is_random = i & 2, is_away = i & 4;
		check(run_crowd(NULL, fair_time, is_random, is_away) <= 1);
		check_equal(run_crowd("shared", fair_time, is_random, is_away), 0);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("batches take turns, and a late one is next", test_turns),
		TEST("what is spare goes to who wants only that, and he delays nobody", test_spare),
		TEST("what is spare is shared evenly among those who want only that", test_spare_is_shared),
		TEST("clients that name the same batch share its turns", test_batch_shared),
		TEST("a wide lease waits for its slots, and nothing passes it", test_wide),
		TEST("a client that waits for slots and leaves holds nobody up", test_wide_gives_up),
		TEST("when there are fewer slots than are taken, those that come back are not granted until enough have", test_slots_change),
		TEST("what is kept for a wide lease is no more than there are slots by then", test_wide_when_slots_change),
		TEST("short jobs and long ones get as much time on the slots", test_shares_time),
		TEST("a lease is lent to who runs below it, three deep on one slot", test_lent_three_deep),
		TEST("a lease is lent to one client at a time", test_lent_one_at_a_time),
		TEST("a lease that ends while it is lent keeps its slot until it is back", test_lent_outlives_lender),
		TEST("of a wide lease several are lent", test_lent_wide),
		TEST("what is wanted beyond the lent lease is charged to the parent's batch", test_beyond_is_charged_to_parent),
		TEST("when what was lent comes back, what was granted beyond is lent in its place", test_lent_instead),
		TEST("nothing is lent before its holder has said how it uses the lease", test_not_lent_before_use),
		TEST("a lease that gets one job after another is lent once its holder says that this is the last one", test_lent_when_last),
		TEST("once the next job has begun, the last one's are lent nothing", test_next_job_lends_nothing_to_the_last),
		TEST("who does not know on which job it runs is lent the lease of whatever job runs then", test_whatever_job_runs),
		TEST("what runs below a job without a lease is lent the one that the job gets", test_lender_comes_later),
		TEST("nothing is lent without the nonce", test_nonce),
		TEST("who runs below a job finds the lease that this has now by the nonce", test_other_lease),
		TEST("nothing is lent out of a lease that is withheld, and none that is lent is", test_withheld),
		TEST("what is not used for a second is taken back once somebody waits", test_unused),
		TEST("what is lent and not used is taken back for another below the same lease", test_unused_lent),
		TEST("a client never waits for slots that its own parent holds", test_gathers_what_it_was_lent),
		TEST("a client is said to wait for no more slots than can be free", test_gathers_what_can_be_free),
		TEST("nobody uses or returns the lease of another", test_foreign),
		TEST("a new server learns who holds what, in any order", test_recovery),
		TEST("those that wait while a server learns who holds what have ranks, one each", test_recovery_ranks),
		TEST("who names a lease of a pool that is no more is lent nothing by the next one", test_stale_nonce),
		TEST("what was lent by a client that did not come back takes a slot", test_recovery_orphan),
		TEST("who comes back late keeps what it has, and nothing is granted until that evens out", test_recovery_late),
		TEST("leases that claim to be lent by each other are not believed", test_recovery_circle),
		TEST("of 100 clients and 1,000 rounds nobody is overtaken twice by the same one of his rank", test_overtaking),
		TEST("whatever clients do, slots are neither lost nor double", test_random),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
