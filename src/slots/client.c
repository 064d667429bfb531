// A client of a pool: its connection to the slot server, and how it finds or starts a server.

#include "slots/client.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/random.h"
#include "base/text.h"
#include "slots/controller.h"
#include "slots/pool_dir.h"
#include "slots/protocol.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (2 * NS_PER_S)
enum { PAUSE_MIN_MS = 2, PAUSE_MAX_MS = 256 }; // the pause between two attempts to connect to a server
enum { TRIES_MAX = 200 };       // the greatest value of client.tries
enum { HELLO_TEXT_MAX = 8192 }; // bytes of each text in a HELLO: a longer command line is cut

// ---- the client ----

struct held {
	struct lease_id id;
	uint32_t width;
	bool lent;                 // the lease is lent to this client out of another lease
	bool used;                 // the first job has begun on the lease
	bool last;                 // no other job runs on the lease after the present one
	pid_t pid;                 // process of the job; set if `pidfd` is not -1
	int pidfd;                 // the pidfd of that process, or -1
};

struct client {
	struct client_config config;
	char *dir, *label;         // the working directory, and what runs
	struct pool_dir pool_dir;
	enum { SEARCHES, GREETS, WELCOME } state; // SEARCHES: looks for a server again at `due`; GREETS: awaits WELCOME, the answer to HELLO
	uint64_t due;              // in state SEARCHES: when to look for a server again; TIME_NEVER otherwise, and after CLIENT_LOST
	unsigned pause_ms;         // milliseconds of the last pause between two attempts to connect
	bool awaits_lock;          // another process has the lock of NAME.lock, and starts or ends a server
	unsigned tries;            // how many servers hung up, or were started by this client, since the last WELCOME
	int fd;                    // -1 in state SEARCHES
	struct buf in;
	size_t at;                 // bytes of `in` that were read
	struct client_state said;  // what client_state() returns
	unsigned width;            // width of the leases that the client waits for
	uint64_t nonces;           // state of random_next(), which makes the nonces
	struct held *held;
	size_t nheld, held_cap;
	struct buf error;          // why there is no server; or the text of the last CLIENT_RANK or CLIENT_REPORT
};

// ---- frames ----

// Sends a frame with a text and a descriptor (-1: none). Errors are ignored: if the connection has ended (client->fd may be -1), fill() notices.
static void send_with(const struct client *client, struct frame frame, const void *text, size_t len, int fd) {
	while (frame_send(client->fd, frame, text, len, fd) != 0 && errno == EAGAIN) {
		(void)poll(&(struct pollfd){.fd = client->fd, .events = POLLOUT}, 1, -1);
	}
}

static void send_frame(const struct client *client, enum frame_type type, uint64_t a, uint64_t b, uint64_t c) {
	send_with(client, (struct frame){.type = type, .a = a, .b = b, .c = c}, NULL, 0, -1);
}

static void send_process(const struct client *client, const struct held *held) {
	if (held->pidfd >= 0) {
		send_with(client, (struct frame){.type = FRAME_PROCESS, .a = held->id.number, .b = (uint64_t)held->pid}, NULL, 0, held->pidfd);
	}
}

static void send_use(const struct client *client, const struct held *held) {
	send_frame(client, FRAME_USE, held->id.number, held->id.nonce, held->last);
}

// Reads the frames that have come. Returns false if the server has closed the connection.
static bool fill(struct client *client) {
	enum frame_result result;
	int fd;
	while ((result = frame_receive(client->fd, &client->in, &fd)) == FRAME_READY) {
		fd_close(&fd);
	}
	return result == FRAME_NONE;
}

// ---- finding a server ----

static int connect_again(struct client *client);

// Tells the server who this client is, which leases it uses and how many more it wants. Forgets the leases that the last server
// granted and that are not in use.
static void introduce(struct client *client) {
	const struct client_config *config = &client->config;
	const struct hello hello = {
		.version = PROTOCOL_VERSION,
		.pid = (uint32_t)getpid(),
		.below_number = config->below.number,
		.below_nonce = config->below.nonce,
		.weight = config->weight,
		.priority = config->priority,
		.flags = (config->shows_rank ? HELLO_SHOWS_RANK : 0) | (config->spare ? HELLO_SPARE : HELLO_OBSERVES),
	};
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, holds = BUF_INIT;
	buf_add(&text, &hello, sizeof(hello));
	const char *texts[] = {config->batch, client->dir, client->label};
	for (unsigned i = 0; i < 3; ++i) {
		buf_add(&text, texts[i] ? texts[i] : "", texts[i] ? strnlen(texts[i], HELLO_TEXT_MAX) : 0);
		buf_addc(&text, '\0');
	}
	send_with(client, (struct frame){.type = FRAME_HELLO}, buf_str(&text), text.len, -1);
	size_t n = client->nheld;
	client->nheld = 0;
	for (size_t i = 0; i < n; ++i) {
		const struct held held = client->held[i];
		if (held.used) {
			const struct hold hold = {.number = held.id.number, .nonce = held.id.nonce, .last = held.last,
			                          .width = held.width | (held.lent ? LEASE_LENT : 0)};
			buf_add(&holds, &hold, sizeof(hold));
			client->held[client->nheld++] = held;
		}
	}
	if (holds.len > 0) {
		send_with(client, (struct frame){.type = FRAME_HOLDS}, holds.data, holds.len, -1);
	}
	for (size_t i = 0; i < client->nheld; ++i) {
		send_process(client, &client->held[i]);
	}
	if (client->said.wanted > 0) {
		send_frame(client, FRAME_WANT, client->said.wanted, client->width, 0);
	}
}

// Reads the answer to HELLO, which is the first frame that comes. Returns 0, also if the answer has not come yet. Returns an errno if there is no
// server for this client; client->error then has the reason, or is empty if the errno is the reason.
static int hear_welcome(struct client *client) {
	struct frame frame;
	const char *text;
	bool open = fill(client);
	if (!frame_next(&client->in, &client->at, &frame, &text)) {
		return open ? 0 : connect_again(client); // a server that was about to end has hung up
	}
	if (frame.type == FRAME_WELCOME) {
		client->said = (struct client_state){
			.slots = (unsigned)frame.a, .bounds = {.least = (unsigned)frame.b, .most = (unsigned)frame.c}, .spare_limit = UINT_MAX,
			.wanted = client->said.wanted,
		};
		client->state = WELCOME;
		client->tries = 0;
		return 0;
	}
	buf_printf(&client->error, "%.*s", frame.type == FRAME_REFUSED ? (int)frame.len : 0, text);
	fd_close(&client->fd);
	return EPROTO;
}

static void greet(struct client *client, int fd) {
	client->fd = fd;
	client->state = GREETS;
	client->pause_ms = 0;
	introduce(client); // if the server has hung up, hear_welcome() notices that
}

// Takes the locks, and starts a server. Returns 0, or an errno: EWOULDBLOCK if another process has one of the locks.
static int start_server(const struct client *client) {
	int lock_fds[2];
	if (pool_dir_lock_all(&client->pool_dir, lock_fds) != 0) {
		return errno;
	}
	struct slots_bounds bounds = client->said.slots > 0 ? client->said.bounds : client->config.bounds; // a new server gets the bounds of the last one
	if (bounds.most == 0) {
		bounds.least = bounds.most = slots_usable_cpus(); // the CPUs are counted only here, as counting takes long
	}
	int error = server_start(&client->pool_dir, lock_fds[client->pool_dir.at], bounds);
	fd_close(&lock_fds[0]);
	fd_close(&lock_fds[1]);
	return error;
}

// Looks for a server, and if there is none, starts one. Returns as hear_welcome() does. Returns 0 in state SEARCHES if another process is
// starting or ending a server, or if the server is busy: then search() is to be called again at client->due.
static int search(struct client *client) {
	const struct client_config *config = &client->config;
	buf_reset(&client->in);
	buf_reset(&client->error);
	client->at = 0;
	client->state = SEARCHES;
	client->due = TIME_NEVER;
	client->awaits_lock = false;
	int fd = config->socket ? socket_connect(config->socket) : pool_dir_connect(&client->pool_dir), error = errno;
	if (fd >= 0) {
		greet(client, fd);
		return 0;
	}
	if (!config->socket && pool_dir_is_deserted(error)) {
		int start = config->starts ? start_server(client) : pool_dir_has_server(&client->pool_dir) ? EWOULDBLOCK : error;
		if (start == 0) {
			return connect_again(client);
		}
		client->awaits_lock = start == EWOULDBLOCK;
		error = start;
	}
	if (error == EPROTOTYPE) { // the server's socket is a stream, as it was up to version 4 of the protocol
		buf_adds(&client->error, "it was started by another version of fairpar");
		return EPROTO;
	}
	if (error != EAGAIN) {
		return error;
	}
	client->pause_ms = client->pause_ms == 0 ? PAUSE_MIN_MS : client->pause_ms < PAUSE_MAX_MS ? 2 * client->pause_ms : PAUSE_MAX_MS;
	client->due = now_ns() + (uint64_t)client->pause_ms * NS_PER_MS;
	return 0;
}

static int connect_again(struct client *client) {
	fd_close(&client->fd);
	return ++client->tries <= TRIES_MAX ? search(client) : ETIMEDOUT;
}

static void tell_why(const struct client *client) {
	const char *pool = client->config.pool;
	if (client->config.says) {
		diag_note("waits for the %s%s: %s", pool ? "server of pool " : "run in whose job this run was started", pool ? pool : "",
		          client->awaits_lock ? "another process starts or ends it" : "it does not answer");
	}
}

// Waits until the server answers or client->due has come, but not beyond `deadline`, and goes on with the search or the greeting.
// Returns as hear_welcome() does.
static int go_on(struct client *client, uint64_t deadline) {
	struct pollfd answer = {.fd = client->fd, .events = POLLIN};
	bool ready = poll(&answer, 1, poll_ms(time_earlier(client->due, deadline))) > 0;
	return ready ? hear_welcome(client) : now_ns() >= client->due ? search(client) : 0;
}

// Connects, waits for a process that has the lock, and then for the WELCOME. Returns 0, or an errno, as hear_welcome() does.
static int reach_server(struct client *client) {
	uint64_t begin = now_ns(), deadline = begin + CONNECT_TIMEOUT_NS, slow = begin + CLIENT_SLOW;
	int error = search(client);
	deadline = client->config.deadline > deadline ? client->config.deadline : deadline;
	while (!error && client->state != WELCOME) {
		error = go_on(client, time_earlier(deadline, slow));
		if (!error && client->state != WELCOME && now_ns() >= deadline) {
			fd_close(&client->fd);
			return client->awaits_lock && !client->config.starts ? EBUSY : ETIMEDOUT;
		}
		if (now_ns() >= slow && client->state != WELCOME) {
			tell_why(client);
			slow = TIME_NEVER;
		}
	}
	return error;
}

static void add_reason(struct client *client, struct buf *text, int error) {
	if (client->config.socket) {
		buf_adds(text, "cannot use the slots of the fairpar that this one runs in: ");
	} else {
		buf_printf(text, "cannot use pool '%s' in '%s': ", client->pool_dir.name, text_shows(pool_dir_path(&client->pool_dir)));
	}
	if (client->error.len > 0) {
		buf_adds(text, buf_str(&client->error));
	} else if (error == EBUSY) {
		buf_adds(text, "its server still runs, but somebody has removed its socket");
	} else if (error == EPERM) {
		buf_adds(text, "its server belongs to another user");
	} else if (error == ETIMEDOUT) {
		buf_adds(text, "its server does not answer");
	} else {
		buf_adds(text, strerror(error));
	}
}

struct client *client_open(const struct client_config *config, struct buf *error, int *ret_error) {
	struct client *client = NEW(struct client);
	client->config = *config;
	client->dir = getcwd(NULL, 0);
	client->label = xstrdup(config->label);
	client->fd = -1;
	client->due = TIME_NEVER;
	client->width = 1;
	random_bytes(&client->nonces, sizeof(client->nonces));
	if (!config->socket && pool_dir_open(&client->pool_dir, config->pool, error) != 0) {
		*ret_error = pool_dir_is_deserted(errno) ? ENOTDIR : errno; // ENOENT would say that nobody uses the pool
	} else {
		*ret_error = reach_server(client);
		if (*ret_error == 0) {
			return client;
		}
		add_reason(client, error, *ret_error);
	}
	client_close(client);
	return NULL;
}

void client_close(struct client *client) {
	if (client) {
		fd_close(&client->fd);
		buf_fini(&client->in);
		buf_fini(&client->error);
		free(client->held);
		free(client->dir);
		free(client->label);
		free(client);
	}
}

// ---- what the client asks the server, and tells it ----

int client_fd(const struct client *client) {
	return client->fd;
}

uint64_t client_due(const struct client *client) {
	return client->due;
}

char *client_memory_path(const struct client *client) {
	return pool_dir_file(&client->pool_dir, "memory");
}

const struct client_state *client_state(const struct client *client) {
	return &client->said;
}

void client_want(struct client *client, unsigned n, unsigned width) {
	if (n != client->said.wanted || width != client->width) {
		client->said.wanted = n;
		client->width = width;
		send_frame(client, FRAME_WANT, n, width, 0);
	}
}

void client_ask(struct client *client, enum client_event_type type) {
	if (client->state == WELCOME) {
		send_frame(client, FRAME_STATUS, type == CLIENT_RANK ? STATUS_RANK : 0, 0, 0);
	} else {
		tell_why(client);
	}
}

void client_send_observation(struct client *client, const struct observation *observation) {
	send_with(client, (struct frame){.type = FRAME_OBSERVED}, observation, sizeof(*observation), -1);
}

// Sets the number of slots and the reason. Returns whether the number has changed.
static bool set_slots(struct client *client, uint64_t slots_and_reason) {
	unsigned slots = (uint32_t)slots_and_reason;
	bool differs = slots != client->said.slots;
	client->said.slots = slots;
	enum controller_reason reason = (enum controller_reason)STATE_REASON(slots_and_reason);
	client->said.why = reason != CONTROLLER_KEPT ? controller_reason_name(reason) : NULL;
	return differs;
}

static struct held *find_held(const struct client *client, uint64_t number) {
	for (size_t i = 0; i < client->nheld; ++i) {
		if (client->held[i].id.number == number) {
			return &client->held[i];
		}
	}
	return NULL;
}

static void forget_held(struct client *client, uint64_t number) {
	struct held *held = find_held(client, number);
	if (held) {
		*held = client->held[--client->nheld];
	}
}

// Handles a frame of the server. Returns the event that follows for the owner of the client, or CLIENT_NOTHING.
static struct client_event on_frame(struct client *client, const struct frame *frame, const char *text) {
	struct client_event event = {.type = CLIENT_NOTHING, .rank = (unsigned)frame->a, .taken = (unsigned)frame->a, .waiting = (unsigned)frame->b};
	struct held *held;
	switch (frame->type) {
	case FRAME_GRANT:
		event.type = CLIENT_GRANTED;
		event.id = (struct lease_id){frame->a, frame->b};
		event.width = (uint32_t)frame->c;
		*NEW_ELEMENT(client->held, client->nheld, client->held_cap) = (struct held){
			.id = event.id, .width = event.width, .lent = frame->c & LEASE_LENT, .last = !client->config.reuses, .pidfd = -1,
		};
		client->said.wanted -= client->said.wanted > 0;
		return event;
	case FRAME_REVOKED:
		held = find_held(client, frame->a);
		if (held && !held->used) {
			event.type = CLIENT_REVOKED;
			event.id = held->id;
			forget_held(client, frame->a);
		}
		return event;
	case FRAME_LAST:
		held = find_held(client, frame->a);
		if (held) { // else the lease has been given back meanwhile
			held->last = true;
			send_use(client, held);
		}
		return event;
	case FRAME_STATE:
		client->said.contended = frame->a != 0;
		client->said.spare_limit = frame->b > 0 ? (unsigned)frame->b : UINT_MAX;
		event.type = set_slots(client, frame->c) ? CLIENT_SLOTS : CLIENT_NOTHING;
		return event;
	case FRAME_OBSERVE:
		event.type = CLIENT_OBSERVE;
		return event;
	case FRAME_RANK:
	case FRAME_REPORT:
		buf_reset(&client->error);
		buf_add(&client->error, text, frame->len);
		event.type = frame->type == FRAME_RANK ? CLIENT_RANK : CLIENT_REPORT;
		(void)(frame->type == FRAME_REPORT && set_slots(client, frame->c));
		event.text = buf_str(&client->error);
		return event;
	default:
		return event;
	}
}

static struct client_event next_frame(struct client *client) {
	struct client_event event = {.type = CLIENT_NOTHING};
	struct frame frame;
	const char *text;
	while (event.type == CLIENT_NOTHING && frame_next(&client->in, &client->at, &frame, &text)) {
		event = on_frame(client, &frame, text);
	}
	if (event.type == CLIENT_NOTHING) {
		buf_drop(&client->in, client->at);
		client->at = 0;
	}
	return event;
}

// Goes on to look for another server. `error`: errno of the last step, or 0. Returns CLIENT_RENEWED if it is found, CLIENT_LOST after an error.
static struct client_event seek(struct client *client, int error) {
	error = error || client->state == WELCOME ? error : go_on(client, 0);
	if (!error) {
		return (struct client_event){.type = client->state == WELCOME ? CLIENT_RENEWED : CLIENT_NOTHING};
	}
	struct buf why = BUF_INIT;
	add_reason(client, &why, error);
	buf_fini(&client->error);
	client->error = why;
	client->due = TIME_NEVER;
	return (struct client_event){.type = CLIENT_LOST, .text = buf_str(&client->error)};
}

struct client_event client_next(struct client *client) {
	if (client->state != WELCOME && (client->fd >= 0 || client->due != TIME_NEVER)) {
		return seek(client, 0);
	}
	struct client_event event = next_frame(client);
	while (event.type == CLIENT_NOTHING && client->fd >= 0) {
		size_t before = client->in.len;
		bool open = fill(client);
		if (!open && client->in.len == before) {
			fd_close(&client->fd);
			client->said.contended = false; // until the next server says otherwise
			client->said.spare_limit = UINT_MAX;
			// a client that may start a server does not block here; another client blocks until it has reached a server, or fails
			return seek(client, client->config.starts ? search(client) : reach_server(client));
		}
		if (client->in.len == before) {
			break;
		}
		event = next_frame(client);
	}
	return event;
}

// Begins the first job on the lease.
static bool use_first(struct client *client, struct held *held, uint64_t nonce, struct lease_id *ret_id) {
	const uint64_t number = held->id.number;
	if (client->fd < 0) {
		return false;
	}
	held->id.nonce = nonce ? nonce : held->id.nonce;
	*ret_id = held->id;
	send_use(client, held);
	if (!fill(client)) {
		return false; // the next server will not know of this lease; client_next() will return CLIENT_RENEWED
	}
	size_t at = client->at; // looks through the frames that client_next() has not returned yet
	bool is_revoked = false;
	struct frame frame;
	const char *text;
	while (frame_next(&client->in, &at, &frame, &text)) {
		is_revoked = is_revoked || (frame.type == FRAME_REVOKED && frame.a == number);
	}
	if (is_revoked) {
		send_frame(client, FRAME_RELEASE, number, 0, 0); // the server may have read that the lease is in use
		return false;
	}
	held->used = true;
	return true;
}

// Begins another job on a lease in use, if the connection still stands: a server that comes after this check learns by introduce()
// that the lease is in use (see the model tests/model/leases.pml, MUTANT_USED_AGAIN_WITHOUT_SERVER).
static bool use_again(struct client *client, struct held *held, uint64_t nonce, struct lease_id *ret_id) {
	held->id.nonce = nonce ? nonce : random_next(&client->nonces) | 1;
	*ret_id = held->id;
	if (client->fd < 0 || !fill(client)) { // the next server may grant the slots to another client before this client introduces itself
		forget_held(client, ret_id->number);
		return false;
	}
	if (held->last) {
		client_release(client, ret_id->number);
		return false;
	}
	if (nonce) { // tells the server, as a client below that job may be waiting until the job has a lease again
		send_use(client, held);
	}
	return true;
}

bool client_use(struct client *client, uint64_t number, uint64_t nonce, struct lease_id *ret_id) {
	struct held *held = find_held(client, number);
	return held && (held->used ? use_again : use_first)(client, held, nonce, ret_id);
}

bool client_has_input(const struct client *client) {
	return client->in.len > client->at;
}

void client_set_process(struct client *client, uint64_t number, pid_t pid, int pidfd) {
	struct held *held = find_held(client, number);
	if (held && client->fd >= 0) {
		held->pid = pid;
		held->pidfd = pidfd;
		send_process(client, held);
	}
}

void client_release(struct client *client, uint64_t number) {
	client_release_and_want(client, number, client->said.wanted);
}

void client_release_and_want(struct client *client, uint64_t number, unsigned n) {
	unsigned width = n != client->said.wanted ? client->width : 0; // 0: `n` leases are wanted already
	forget_held(client, number);
	client->said.wanted = n;
	send_frame(client, FRAME_RELEASE, number, n, width);
}
