// Fuzz target: what several clients of a pool say to its server, in any order, with an end at any time: the server
// answers in whole frames, no slot is granted twice or lost, it never has to be called again and again, and leaks nothing.
//
// The input is a list of steps, each a byte for what is done, one for the client, and what that step takes.

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "slots/protocol.h"
#include "slots/session.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 6, LEASES = 64 };

// A lease as its client knows it.
struct known {
	struct lease_id id;
	uint32_t width;
	bool lent, used;
	int process;              // the descriptor of the process that uses it, or -1
};

struct peer {
	struct session *session;  // NULL: none, or it is closed and waits for its processes
	struct session *closed;
	struct known leases[LEASES];
	unsigned nleases;
	uint64_t last_number;     // of a lease
	size_t seen;              // bytes of its output that were looked at
	bool reads;
	bool welcome;
};

struct world {
	struct sessions sessions;
	struct peer peers[CLIENTS];
	uint64_t now;
	unsigned slots;
	bool holds;               // somebody has said that it holds something: it may be a lie
	const uint8_t *data, *end;
};

static unsigned next_byte(struct world *world) {
	return world->data < world->end ? *world->data++ : 0;
}

// ---- what the server says ----

static struct known *find_known(struct peer *peer, uint64_t number) {
	for (unsigned i = 0; i < peer->nleases; ++i) {
		if (peer->leases[i].id.number == number) {
			return &peer->leases[i];
		}
	}
	return NULL;
}

static void forget_known(struct peer *peer, struct known *known) {
	if (known) {
		*known = peer->leases[--peer->nleases];
	}
}

static bool is_new(struct world *world, uint64_t number) {
	for (unsigned i = 0; i < CLIENTS; ++i) {
		if (find_known(&world->peers[i], number)) {
			return false;
		}
	}
	return number != 0;
}

static void on_frame(struct world *world, struct peer *peer, const struct frame *frame) {
	struct known *known;
	verify(peer->welcome == (frame->type != FRAME_WELCOME && frame->type != FRAME_REFUSED));
	switch (frame->type) {
	case FRAME_WELCOME:
		verify(frame->c == 0 ? frame->a == world->slots : frame->a >= frame->b && frame->a <= frame->c && frame->c == world->slots);
		peer->welcome = true;
		break;
	case FRAME_GRANT:
		verify((uint32_t)frame->c >= 1 && (world->holds || (uint32_t)frame->c <= world->slots));
		verify(is_new(world, frame->a) && frame->a > peer->last_number);
		peer->last_number = frame->a;
		verify(peer->nleases < LEASES);
		peer->leases[peer->nleases++] = (struct known){
			.id = {frame->a, frame->b}, .width = (uint32_t)frame->c, .lent = frame->c & LEASE_LENT, .process = -1,
		};
		break;
	case FRAME_REVOKED:
		known = find_known(peer, frame->a);
		forget_known(peer, known && !known->used ? known : NULL);
		break;
	default: verify(frame->type > FRAME_WELCOME);
	}
}

// Looks at what is new in the output; a peer that reads takes it.
static void look(struct world *world, struct peer *peer) {
	struct buf *out = peer->session ? &peer->session->out : NULL;
	struct frame frame;
	const char *text;
	while (out && frame_next(out, &peer->seen, &frame, &text)) {
		verify(peer->seen <= out->len);
		on_frame(world, peer, &frame);
	}
	if (out && peer->reads) {
		buf_reset(out);
		peer->seen = 0;
	}
}

static void check_world(struct world *world) {
	unsigned own = 0;
	for (unsigned i = 0; i < CLIENTS; ++i) {
		const struct peer *peer = &world->peers[i];
		for (unsigned k = 0; k < peer->nleases; ++k) {
			own += peer->leases[k].lent ? 0 : peer->leases[k].width;
		}
	}
	struct lease_stat stat;
	lease_stat(world->sessions.table, &stat);
	verify(world->holds || (own <= stat.taken && stat.taken <= world->slots));
	verify(world->sessions.recovering || stat.waiting == 0 || stat.taken > 0 || stat.held > 0);
}

static void settle(struct world *world) {
	uint64_t when;
	unsigned calls = 0;
	do {
		when = sessions_step(&world->sessions, /* quiet */ true, world->now);
		for (unsigned i = 0; i < CLIENTS; ++i) {
			look(world, &world->peers[i]);
		}
		verify(++calls < CLIENTS * LEASES);
	} while (when <= world->now);
	check_world(world);
}

// ---- what clients do ----

// The session has ended on its side; its leases are free, but for those that a process uses.
static void close_peer(struct world *world, struct peer *peer) {
	struct session *session = peer->session;
	peer->session = NULL;
	peer->seen = 0;
	unsigned kept = 0;
	for (unsigned i = 0; i < peer->nleases; ++i) {
		if (peer->leases[i].process >= 0) {
			peer->leases[kept++] = peer->leases[i];
		}
	}
	peer->nleases = kept;
	peer->welcome = false;
	peer->last_number = 0;
	peer->closed = session_close(session, world->now) ? NULL : session;
}

static void end_process(struct world *world, struct peer *peer, unsigned which) {
	struct session *session = peer->session ? peer->session : peer->closed;
	unsigned n = session ? session->nprocesses : 0;
	if (n == 0) {
		return;
	}
	int fd = session->processes[which % n].fd;
	for (unsigned i = peer->nleases; i > 0; --i) {
		forget_known(peer, peer->leases[i - 1].process == fd ? &peer->leases[i - 1] : NULL);
	}
	if (session_process_ended(session, which % n, world->now)) {
		verify(peer->nleases == 0);
		peer->closed = NULL;
	}
}

static void say(struct world *world, struct peer *peer, struct frame frame, const void *text, size_t len, int fd) {
	char *copy = xmemdup(text, len); // exactly as long, so that the sanitizer sees the first byte too many
	copy = xrealloc(copy, len > 0 ? len : 1);
	frame.len = (uint32_t)len;
	look(world, peer);
	bool stays = session_input(peer->session, &frame, copy, fd, world->now);
	free(copy);
	look(world, peer);
	if (!stays) {
		close_peer(world, peer);
	}
}

// A lease of anybody, or of nobody.
static struct known any_lease(struct world *world) {
	const struct peer *peer = &world->peers[next_byte(world) % CLIENTS];
	unsigned which = next_byte(world);
	return peer->nleases > 0 ? peer->leases[which % peer->nleases] : (struct known){.id = {which == 255 ? UINT64_MAX : which, which}, .process = -1};
}

static void send_hello(struct world *world, struct peer *peer) {
	struct known below = any_lease(world);
	unsigned flags = next_byte(world);
	struct hello hello = {
		.version = flags == 255 ? PROTOCOL_VERSION + 1 : PROTOCOL_VERSION,
		.pid = 7,
		.below_number = flags & 1 ? below.id.number : 0,
		.below_nonce = below.id.nonce,
		.weight = next_byte(world),
		.priority = (int32_t)(next_byte(world) % 5) - 2,
		.flags = (flags & 8 ? HELLO_SHOWS_RANK : 0) | (flags & 32 ? HELLO_SPARE : 0) | (flags & 64 ? HELLO_OBSERVES : 0),
	};
	struct buf text = BUF_INIT;
	buf_add(&text, &hello, sizeof(hello));
	buf_addc(&text, flags & 16 ? 'x' : '\0');
	buf_add(&text, "\0dir\0label", 11);
	say(world, peer, (struct frame){.type = FRAME_HELLO}, buf_str(&text), text.len, -1);
	buf_fini(&text);
}

// What the server will make of USE and RELEASE of its own leases, as the client sees it.
static void note_own(struct peer *peer, const struct frame *frame, int fd) {
	struct known *known = find_known(peer, frame->a);
	if (known && frame->type == FRAME_USE) {
		known->used = true;
	} else if (known && frame->type == FRAME_PROCESS) {
		known->process = fd;
	} else if (frame->type == FRAME_RELEASE) {
		forget_known(peer, known);
	}
}

static void say_lease(struct world *world, struct peer *peer, enum frame_type type) {
	struct known known = any_lease(world);
	unsigned flags = next_byte(world);
	struct frame frame = {.type = type, .a = known.id.number, .b = known.id.nonce};
	int fd = type == FRAME_PROCESS ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (type == FRAME_USE) {
		frame.b = flags & 1 ? 0 : frame.b;
		frame.c = flags / 2 % 2;
	}
	look(world, peer);
	if (peer->welcome) {
		note_own(peer, &frame, fd);
	}
	say(world, peer, frame, NULL, 0, fd);
}

// A lease of another server, or a lie.
static void say_holds(struct world *world, struct peer *peer) {
	struct known known = any_lease(world);
	unsigned flags = next_byte(world);
	const struct hold hold = {.number = known.id.number, .nonce = known.id.nonce, .width = (flags % 8) | (flags & 8 ? LEASE_LENT : 0),
	                          .last = flags / 16 % 2};
	world->holds = true;
	say(world, peer, (struct frame){.type = FRAME_HOLDS}, &hold, sizeof(hold) - (flags == 255), -1);
}

static void say_want(struct world *world, struct peer *peer) {
	unsigned n = next_byte(world), width = next_byte(world) % 8;
	n = peer->nleases + n % 8 < LEASES ? n % 8 : 0; // no more than are kept here
	say(world, peer, (struct frame){.type = FRAME_WANT, .a = n, .b = width}, NULL, 0, -1);
}

// Whether it was asked or not, and whatever it says.
static void send_observation(struct world *world, struct peer *peer) {
	struct observation observation;
	memset(&observation, (int)next_byte(world), sizeof(observation));
	observation.sampled = next_byte(world) * 100;
	observation.busy = next_byte(world) % 2 == 0 ? observation.busy : next_byte(world) * 100;
	say(world, peer, (struct frame){.type = FRAME_OBSERVED}, &observation, sizeof(observation) - (next_byte(world) == 255), -1);
}

// Any bytes, which are no frame that changes what this client knows.
static void say_bytes(struct world *world, struct peer *peer) {
	size_t len = next_byte(world), left = (size_t)(world->end - world->data);
	len = len < left ? len : left;
	char bytes[256] = {0};
	memcpy(bytes + 4, world->data, len < 252 ? len : 252);
	world->data += len;
	say(world, peer, (struct frame){.type = 1000}, bytes, 4 + (len < 252 ? len : 252), -1);
}

static void step(struct world *world) {
	unsigned what = next_byte(world);
	struct peer *peer = &world->peers[next_byte(world) % CLIENTS];
	if (!peer->session && !peer->closed && what % 16 < 12) {
		peer->session = session_open(&world->sessions, -1, 0, world->now);
		peer->reads = true;
		send_hello(world, peer);
	} else if (what % 16 == 12) {
		world->now += (uint64_t)next_byte(world) * NS_PER_S / 64;
	} else if (what % 16 == 13) {
		end_process(world, peer, next_byte(world));
	} else if (peer->session) {
		switch (what % 16) {
		case 0: send_hello(world, peer); break;
		case 1: case 2: case 3: say_want(world, peer); break;
		case 4: say_lease(world, peer, FRAME_USE); break;
		case 5: say_lease(world, peer, FRAME_PROCESS); break;
		case 6: case 7: say_lease(world, peer, FRAME_RELEASE); break;
		case 8: say_holds(world, peer); break;
		case 9:
			if (what >> 5 & 1) {
				send_observation(world, peer);
				break;
			}
			say(world, peer, (struct frame){.type = FRAME_STATUS, .a = what >> 4 & 1}, NULL, 0, -1); break;
		case 10: say_bytes(world, peer); break;
		case 11: peer->reads = !peer->reads; break;
		default: close_peer(world, peer);
		}
	}
	if (what < 192) {
		settle(world);
	}
}

static void observe_machine(void *arg, struct controller_observation *observation) {
	const struct world *world = arg;
	observation->cpus = 2;
	observation->pressure.idle = world->now / NS_PER_S % 3 == 0 ? 0.5 : 0;
	observation->pressure.memory_full = world->now / NS_PER_S % 5 == 0 ? 0.5 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct world world = {.data = data, .end = data + size, .now = 1};
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	world.slots = 1 + next_byte(&world) % 4;
	unsigned flags = next_byte(&world);
	sessions_init(&world.sessions, &(struct sessions_config){
		.slots = world.slots, .fair_time = flags & 1, .epoch = 1 + flags / 2 % 2, .recovers = flags & 4,
		.bounds = flags & 8 ? (struct slots_bounds){.least = 1, .most = world.slots} : (struct slots_bounds){0},
	}, world.now);
	world.sessions.observe_machine = observe_machine;
	world.sessions.arg = &world;
	while (world.data < world.end) {
		step(&world);
	}
	settle(&world);
	for (unsigned i = 0; i < CLIENTS; ++i) {
		struct peer *peer = &world.peers[i];
		if (peer->session) {
			close_peer(&world, peer);
		}
		while (peer->closed) {
			end_process(&world, peer, 0);
		}
	}
	struct lease_stat stat;
	lease_stat(world.sessions.table, &stat);
	verify(world.sessions.n == 0 && stat.taken == 0 && stat.held == 0 && stat.waiting == 0);
	sessions_fini(&world.sessions, world.now);
	int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	verify(after == before);
	close(after);
	return 0;
}
