// stress: 200 clients of a pool, each a batch of its own, ask its server again and again, over real sockets.
//
//	tests/stress/leases [SECONDS [SEED]]
//
// All connect before the first asks. Then one that holds a lease gives it back, the next one is granted it, and who gave
// it back asks anew; so long as SECONDS last. Checked, always:
//
//	never more leases are held than there are slots, and never fewer while somebody waits
//	nobody is overtaken twice, while he waits, by the same other one: turns are turns
//
// The seed is printed first and gives the same order of releases again.

#include "base/alloc.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/sync.h"
#include "slots/client.h"
#include "slots/connections.h"
#include "slots/pool_dir.h"
#include "slots/session.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CLIENTS = 200,
	SLOTS = 4,
	HANG_S = 1200,      // nothing else makes a round so long
};

struct visitor {
	struct client *client;
	uint64_t lease;     // in use; 0: none
	uint64_t since;     // number of its turn to wait; 0: it does not
	unsigned long rounds;
	unsigned char overtaken[CLIENTS]; // by each, while it has waited this time
};

static struct visitor visitors[CLIENTS];
static unsigned held;
static uint64_t waits;
static unsigned most;       // times that one was overtaken by the same one
static pid_t server;

static void expect(bool condition, const char *what) {
	if (!condition) {
		printf("not ok 1 - %s\n", what);
		kill(server, SIGKILL);
		exit(1);
	}
}

// A server whose turns do not depend on how long things take here; it ends when all clients have gone.
static void serve(int listen_fd) {
	struct sessions sessions;
	struct connections connections = {.sessions = &sessions, .listen_fds = {listen_fd, -1, -1}, .reserve_fd = -1};
	struct polls polls = {0};
	uint64_t due = 0;
	bool begun = false;
	sessions_init(&sessions, &(struct sessions_config){.slots = SLOTS, .epoch = 1}, now_ns());
	while (!begun || sessions.n > 0) {
		polls.n = 0;
		connections_add_polls(&connections, &polls);
		int ready = poll(polls.at, polls.n, poll_ms(due));
		connections_serve(&connections, &polls, now_ns());
		due = sessions_step(&sessions, ready == 0, now_ns());
		due = time_earlier(due, connections_flush(&connections));
		due = sessions_are_due(&sessions) ? 0 : due;
		begun = begun || sessions.n > 0;
	}
	sessions_fini(&sessions, now_ns());
	connections_fini(&connections);
	free(polls.at);
}

// In a process of its own.
static void start(void) {
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	struct pool_dir pool_dir;
	expect(pool_dir_open(&pool_dir, "stress", &error) == 0, buf_str(&error));
	int listen_fd = pool_dir_listen(&pool_dir);
	expect(listen_fd >= 0, "there is a socket");
	server = fork();
	if (server == 0) {
		serve(listen_fd);
		_exit(0);
	}
	expect(server > 0, "there is a process");
	close(listen_fd);
}

static void granted(struct visitor *visitor, struct lease_id lease) {
	if (!client_use(visitor->client, lease.number, /* nonce */ 0, &lease)) {
		return; // it took more than a second until here: CLIENT_REVOKED comes
	}
	for (unsigned i = 0; i < CLIENTS; ++i) {
		struct visitor *other = &visitors[i];
		if (other->since > 0 && other->since < visitor->since) {
			unsigned times = ++other->overtaken[visitor - visitors];
			most = times > most ? times : most;
		}
	}
	memset(visitor->overtaken, 0, sizeof(visitor->overtaken));
	visitor->lease = lease.number;
	visitor->since = 0;
	++visitor->rounds;
	expect(++held <= SLOTS, "no more leases are held than there are slots");
}

// What has happened to the client. Returns whether the answer about its rank was among it.
static bool listen_to(struct visitor *visitor) {
	struct client_event event;
	bool ranked = false;
	while ((event = client_next(visitor->client)).type != CLIENT_NOTHING) {
		expect(event.type != CLIENT_LOST && event.type != CLIENT_RENEWED, "the server lives");
		if (event.type == CLIENT_GRANTED) {
			granted(visitor, event.id);
		} else if (event.type == CLIENT_REVOKED) {
			client_want(visitor->client, 1, 1);
		}
		ranked = ranked || event.type == CLIENT_RANK;
	}
	return ranked;
}

// Asks for a lease. When this returns, the server knows.
static void ask(struct visitor *visitor) {
	struct pollfd poll_fd = {.fd = client_fd(visitor->client), .events = POLLIN};
	visitor->since = ++waits;
	client_want(visitor->client, 1, 1);
	client_ask(visitor->client, CLIENT_RANK);
	while (!listen_to(visitor)) {
		(void)poll(&poll_fd, 1, -1);
	}
}

// Until all slots are taken.
static void await_grants(void) {
	struct pollfd polls[CLIENTS];
	while (held < SLOTS) {
		for (unsigned i = 0; i < CLIENTS; ++i) {
			polls[i] = (struct pollfd){.fd = client_fd(visitors[i].client), .events = POLLIN};
		}
		(void)poll(polls, CLIENTS, -1);
		for (unsigned i = 0; i < CLIENTS; ++i) {
			if (polls[i].revents) {
				(void)listen_to(&visitors[i]);
			}
		}
	}
}

static void release_one(uint64_t *random) {
	unsigned i = (unsigned)(random_next(random) % CLIENTS);
	while (visitors[i].lease == 0) {
		i = (i + 1) % CLIENTS;
	}
	client_release(visitors[i].client, visitors[i].lease);
	visitors[i].lease = 0;
	--held;
	await_grants();
	ask(&visitors[i]);
}

static void on_alarm(int signal) {
	static const char message[] = "not ok 1 - a slot that is free is granted to who waits\n";
	(void)signal;
	(void)!write(STDOUT_FILENO, message, sizeof(message) - 1);
	kill(server, SIGKILL);
	_exit(1);
}

int main(int argc, char *argv[]) {
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : now_ns(), random = seed, begin = now_ns();
	char dir[] = "/tmp/fairpar-leases-XXXXXX";
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	verify(mkdtemp(dir) && setenv("FAIRPAR_POOL_DIR", dir, 1) == 0);
	signal(SIGALRM, on_alarm);
	alarm(HANG_S);
	start();
	for (unsigned i = 0; i < CLIENTS; ++i) {
		struct buf error = BUF_INIT;
		int reason;
		const struct client_config config = {.pool = "stress", .label = "stress", .weight = 1};
		visitors[i].client = client_open(&config, &error, &reason);
		expect(visitors[i].client, buf_str(&error));
	}
	for (unsigned i = 0; i < CLIENTS; ++i) {
		ask(&visitors[i]);
	}
	await_grants();
	while ((double)(now_ns() - begin) < seconds * 1e9) {
		alarm(HANG_S);
		release_one(&random);
	}
	unsigned long least = visitors[0].rounds, rounds = 0;
	for (unsigned i = 0; i < CLIENTS; ++i) {
		least = visitors[i].rounds < least ? visitors[i].rounds : least;
		rounds += visitors[i].rounds;
		client_close(visitors[i].client);
	}
	kill(server, SIGTERM);
	(void)waitpid(server, NULL, 0);
	char path[64];
	snprintf(path, sizeof(path), "%s/stress.sock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
	printf("# %lu leases, each client %lu or more; overtaken by the same one: %u times\n", rounds, least, most);
	expect(most <= 1, "nobody is overtaken twice by the same other one");
	printf("ok 1 - 200 clients of a pool take turns, and none is overtaken twice by the same other one\n");
	return 0;
}
