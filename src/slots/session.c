// The slot server without its sockets: the frames of clients, and the answers to them.

#include "slots/session.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/units.h"
#include "engine/fair.h"

#include <string.h>
#include <unistd.h>

enum { HOLDERS_SHOWN = 3, LABEL_SHOWN = 40, LABEL_MAX = 256, TEXT_MAX = 64 * 1024 };
#define ANSWER (250 * NS_PER_MS) // how long a client has to say what it sees of its jobs
enum { DEPTH_MAX = 1000 }; // the most ancestors that are looked at: as pids are used again, parents may seem to make a circle
enum { OUTPUT_QUIET = 4096 }; // a client with more unread bytes than this gets no STATE until it reads again

// Lets the controller find the number of slots from now on, beginning with `slots` slots, cut to the bounds.
static void begin_control(struct sessions *sessions, unsigned slots, uint64_t now) {
	const struct slots_bounds *bounds = &sessions->config.bounds;
	controller_init(&sessions->controller, bounds->least, bounds->most, slots, now);
	lease_set_slots(sessions->table, sessions->controller.slots);
}

static bool finds_slots(const struct sessions *sessions) {
	return sessions->config.bounds.least < sessions->config.bounds.most && !sessions->config.is_told;
}

// Returns c of FRAME_STATE.
static uint64_t slots_and_reason(const struct sessions *sessions) {
	const struct controller *controller = &sessions->controller;
	return controller->slots > 0 ? controller->slots | (uint64_t)controller->reason << 32 : sessions->config.slots;
}

void sessions_init(struct sessions *sessions, const struct sessions_config *config, uint64_t now) {
	*sessions = (struct sessions){
		.table = lease_table_create(config->slots, config->fair_time, config->epoch << 32),
		.config = *config,
		.recovering = true,
		.recovery_end = now + RECOVERY,
		.sample_due = TIME_NEVER,
	};
	list_init(&sessions->list);
	if (finds_slots(sessions)) {
		begin_control(sessions, config->slots, now);
	}
}

void sessions_announce(struct sessions *sessions, unsigned slots, enum controller_reason reason) {
	sessions->controller.slots = slots;
	sessions->controller.reason = reason;
}

static void session_free(struct session *session, uint64_t now) {
	if (session->all->revoking == session) { // the client has gone after it was told that a lease is taken back
		session->all->revoking = NULL;
	}
	if (session->client) {
		lease_leave(session->client, now);
	}
	for (unsigned i = 0; i < session->nprocesses; ++i) {
		close(session->processes[i].fd);
	}
	fd_close(&session->fd);
	list_remove(&session->link);
	--session->all->n;
	buf_fini(&session->out);
	free(session->processes);
	free(session->dir);
	free(session->label);
	free(session);
}

void sessions_fini(struct sessions *sessions, uint64_t now) {
	list_for_each_entry(&sessions->list, struct session, session, link) {
		session_free(session, now);
	}
	lease_table_destroy(sessions->table);
}

struct session *session_open(struct sessions *sessions, int fd, int peer, uint64_t now) {
	if (sessions->n >= SESSIONS_MAX) {
		return NULL;
	}
	struct session *session = NEW(struct session);
	session->all = sessions;
	session->fd = fd;
	session->peer = peer;
	session->since = now;
	list_push_back(&sessions->list, &session->link);
	++sessions->n;
	return session;
}

static void send_frame(struct session *session, enum frame_type type, uint64_t a, uint64_t b, uint64_t c) {
	frame_add(&session->out, (struct frame){.type = type, .a = a, .b = b, .c = c}, NULL, 0);
}

static void send_text(struct session *session, enum frame_type type, uint64_t a, uint64_t b, uint64_t c, const struct buf *text) {
	size_t len = text->len < TEXT_MAX ? text->len : TEXT_MAX;
	frame_add(&session->out, (struct frame){.type = type, .a = a, .b = b, .c = c}, buf_str(text), len);
}

// ---- frames of the client ----

static bool refuse(struct session *session, const char *why) {
	frame_add(&session->out, (struct frame){.type = FRAME_REFUSED}, why, strlen(why));
	return false;
}

// Returns the session of the nearest process above this session's client that has a lease on which a job may run, or NULL. *ret_child:
// that child of the found process which is this client or an ancestor of it. Nothing is found above a process whose parent has ended.
static const struct session *find_above(const struct session *session, int *ret_child) {
	const struct sessions *all = session->all;
	uint64_t start;
	int pid = session->peer, parent = pid > 0 ? all->parent_of(pid, &start) : 0;
	for (unsigned depth = 0; parent > 0 && depth < DEPTH_MAX; ++depth) {
		*ret_child = pid;
		pid = parent;
		parent = all->parent_of(pid, &start);
		list_for_each_entry(&all->list, const struct session, other, link) {
			bool is_it = other->peer == pid && other->client && !other->closed && start <= other->since; // else the pid was used again
			if (is_it && lease_of_client(other->client).number > 0) {
				return other;
			}
		}
	}
	return NULL;
}

// Finds the lease that a client runs on, if its environment names none: without that lease a client could wait for the slot of its own job. Returns
// the lease that is named by the environment of a process between this client and the client above; else a lease of the client above; or number 0.
static struct lease_id find_lost_lease(const struct session *session) {
	const struct sessions *all = session->all;
	struct lease_stat stat;
	uint64_t start;
	int child;
	lease_stat(all->table, &stat);
	const struct session *above = all->parent_of && stat.held > 0 ? find_above(session, &child) : NULL;
	struct lease_id id = {0};
	for (int pid = session->peer; above && id.number == 0 && pid != child && pid > 0;) {
		pid = all->parent_of(pid, &start);
		id = all->named_lease(all->arg, pid);
	}
	return above && id.number == 0 ? lease_of_client(above->client) : id;
}

static bool on_hello(struct session *session, const char *text, size_t len, uint64_t now) {
	struct sessions *all = session->all;
	struct hello hello;
	if (session->client || len < sizeof(hello.version)) {
		return false;
	}
	memcpy(&hello.version, text, sizeof(hello.version));
	if (hello.version != PROTOCOL_VERSION) {
		return refuse(session, "it was started by another version of fairpar");
	}
	if (len < sizeof(hello)) {
		return false;
	}
	memcpy(&hello, text, sizeof(hello));
	const char *at = text + sizeof(hello), *end = text + len;
	const char *batch = strings_next(&at, end, 1), *dir = strings_next(&at, end, 1), *label = strings_next(&at, end, 1);
	if (!batch || !dir || !label) {
		return false;
	}
	struct lease_id below = {hello.below_number, hello.below_nonce};
	session->has_lost_lease = below.number == 0 && !(hello.flags & HELLO_SPARE);
	if (session->has_lost_lease && !all->recovering) {
		below = find_lost_lease(session);
	}
	if (all->find_lease && !all->find_lease(all->arg, below)) {
		return refuse(session, "the job in which this fairpar runs has ended");
	}
	struct lease_client_config config = {
		.batch = batch[0] ? batch : NULL,
		.weight = hello.weight < 1 ? 1 : hello.weight > FAIR_MOST_WEIGHT ? FAIR_MOST_WEIGHT : hello.weight,
		.priority = hello.priority,
		.below = below,
		.spare = hello.flags & HELLO_SPARE,
	};
	session->dir = xstrdup(dir);
	session->label = xstrdup(label);
	session->since = now;
	session->client = lease_join(all->table, &config, session, now);
	if (lease_is_too_deep(session->client)) {
		return refuse(session, "too many fairpars run nested, each in a job of another");
	}
	session->pid = hello.pid;
	session->shows_rank = hello.flags & HELLO_SHOWS_RANK;
	session->observes = hello.flags & HELLO_OBSERVES;
	session->state = (struct frame){.type = FRAME_STATE, .c = slots_and_reason(all)};
	send_frame(session, FRAME_WELCOME, (uint32_t)session->state.c, all->config.bounds.least, all->config.bounds.most);
	return true;
}

// Returns the process that uses the lease of that number, or NULL.
static struct process *find_process(const struct session *session, uint64_t number) {
	for (unsigned i = 0; i < session->nprocesses; ++i) {
		if (session->processes[i].number == number) {
			return &session->processes[i];
		}
	}
	return NULL;
}

static void forget_process_of(struct session *session, uint64_t number) {
	struct process *process = find_process(session, number);
	if (process) {
		close(process->fd);
		*process = session->processes[--session->nprocesses];
	}
}

static void release(struct session *session, uint64_t number, uint64_t now) {
	forget_process_of(session, number);
	lease_release(session->client, number, now); // does nothing if the lease was taken back meanwhile
}

// Returns the pid to show: that of a process on a lease, as fairpar itself may have been killed; or, if there is none, that of fairpar.
static uint32_t shown_pid(const struct session *session) {
	return session->nprocesses > 0 ? session->processes[0].pid : session->pid;
}

// Sends a line for each other client: "PID HELD SLOTS LENT WANTED RANK VIRT GATHERS SECONDS", then, each behind a tab, batch, directory and label.
static void report(struct session *session, uint64_t now) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct lease_stat stat;
	lease_stat(session->all->table, &stat);
	list_for_each_entry(&session->all->list, const struct session, other, link) {
		struct lease_client_stat client;
		if (!other->client || other == session) {
			continue;
		}
		lease_client_stat(other->client, now, &client);
		buf_printf(&text, "%u %u %u %u %u %u %.3f %u %.3f", shown_pid(other), client.held, client.slots, client.lent, client.wanted,
		           client.rank, client.virt, client.gathers, client.seconds);
		const char *texts[] = {client.batch ? client.batch : "", other->dir, other->label};
		for (unsigned i = 0; i < 3; ++i) {
			buf_addc(&text, '\t');
			buf_add_escaped(&text, texts[i], strlen(texts[i]), LABEL_MAX);
		}
		buf_addc(&text, '\n');
	}
	send_text(session, FRAME_REPORT, stat.taken, stat.waiting, slots_and_reason(session->all), &text);
}

static void add_holder(const struct session *session, struct buf *text) {
	buf_addc(text, '\'');
	buf_add_escaped(text, session->label, strlen(session->label), LABEL_SHOWN);
	buf_printf(text, "' (pid %u)", shown_pid(session));
}

// Appends the holders of slots, without the session itself: "'make' (pid 7), 'cargo test' (pid 8), and 2 more"; and the client for
// which free slots are kept: "; 'make -j4' (pid 9) waits for 4 slots at once: …".
static void add_holders(const struct session *session, uint64_t now, struct buf *text) {
	FP_CLEANUP(buf_fini) struct buf gathers = BUF_INIT;
	unsigned n = 0;
	list_for_each_entry(&session->all->list, const struct session, other, link) {
		struct lease_client_stat client = {0};
		if (other->client && other != session) {
			lease_client_stat(other->client, now, &client);
		}
		if (client.slots > 0 && ++n <= HOLDERS_SHOWN) {
			buf_adds(text, n > 1 ? ", " : "");
			add_holder(other, text);
		}
		if (client.gathers > 0) {
			buf_adds(&gathers, "; ");
			add_holder(other, &gathers);
			buf_printf(&gathers, " waits for %u slots at once: free slots are kept for it", client.gathers);
		}
	}
	if (n > HOLDERS_SHOWN) {
		buf_printf(text, ", and %u more", n - HOLDERS_SHOWN);
	}
	buf_adds(text, buf_str(&gathers));
}

static bool want(struct session *session, uint64_t n, uint64_t width, uint64_t now) {
	bool is_sane = n <= WANTED_MAX && width <= WANTED_MAX;
	if (is_sane) {
		lease_want(session->client, (uint32_t)n, (uint32_t)width, now);
	}
	return is_sane;
}

static void end_asking(struct session *session) {
	session->all->unanswered -= session->asked;
	session->asked = false;
}

// Handles a frame, as session_input() does; sets *fd to -1 if the session keeps the descriptor.
static bool on_frame(struct session *session, const struct frame *frame, const char *text, int *fd, uint64_t now) {
	if (frame->type == FRAME_HELLO) {
		return on_hello(session, text, frame->len, now);
	}
	if (!session->client) {
		return false;
	}
	switch (frame->type) {
	case FRAME_WANT: return want(session, frame->a, frame->b, now);
	case FRAME_HOLDS: {
		struct hold hold;
		for (size_t at = 0; frame->len - at >= sizeof(hold); at += sizeof(hold)) {
			memcpy(&hold, text + at, sizeof(hold)); // not aligned
			struct lease_id id = {hold.number, hold.nonce};
			if ((uint32_t)hold.width <= WANTED_MAX && lease_hold(session->client, id, (uint32_t)hold.width, hold.width & LEASE_LENT, now)) {
				verify(lease_use(session->client, hold.number, /* nonce */ 0, hold.last != 0));
			}
		}
		return true;
	}
	case FRAME_USE:
		if (!lease_use(session->client, frame->a, frame->b, frame->c != 0)) {
			send_frame(session, FRAME_REVOKED, frame->a, 0, 0);
		}
		return true;
	case FRAME_PROCESS:
		if (*fd < 0) {
			return false;
		}
		if (!lease_is_held(session->client, frame->a)) { // the lease was taken back meanwhile, and the client is told so
			return true;
		}
		forget_process_of(session, frame->a); // the process of the previous job
		*NEW_ELEMENT(session->processes, session->nprocesses, session->processes_cap) = (struct process){
			.number = frame->a, .pid = (uint32_t)frame->b, .fd = *fd,
		};
		*fd = -1;
		return true;
	case FRAME_RELEASE:
		release(session, frame->a, now);
		return frame->c == 0 || want(session, frame->b, frame->c, now);
	case FRAME_STATUS:
		if (frame->a == STATUS_RANK) {
			session->asks_rank = true;
		} else {
			report(session, now);
		}
		return true;
	case FRAME_OBSERVED:
		if (frame->len != sizeof(session->observation)) {
			return false;
		}
		if (session->asked) { // else the answer comes too late
			memcpy(&session->observation, text, sizeof(session->observation));
		}
		end_asking(session);
		return true;
	default: return false;
	}
}

bool session_input(struct session *session, const struct frame *frame, const char *text, int fd, uint64_t now) {
	bool stays = on_frame(session, frame, text, &fd, now) && session->out.len <= OUTPUT_MAX;
	fd_close(&fd);
	return stays;
}

// ---- the end of a session ----

static bool free_if_done(struct session *session, uint64_t now) {
	if (!session->closed || session->nprocesses > 0) {
		return false;
	}
	session_free(session, now);
	return true;
}

static bool has_process(void *arg, uint64_t number) {
	return find_process(arg, number);
}

bool session_close(struct session *session, uint64_t now) {
	session->closed = true;
	fd_close(&session->fd);
	buf_reset(&session->out); // nobody will read these frames
	if (session->all->revoking == session) { // nothing is sent to this client any more
		session->all->revoking = NULL;
	}
	end_asking(session);
	if (session->client) {
		lease_keep_only(session->client, has_process, session, now);
	}
	return free_if_done(session, now);
}

bool session_process_ended(struct session *session, unsigned i, uint64_t now) {
	release(session, session->processes[i].number, now);
	return free_if_done(session, now);
}

// ---- the end of the recovery ----

static void end_recovery(struct sessions *sessions, bool quiet, uint64_t now) {
	if (sessions->recovering && (!sessions->config.recovers || (quiet && now >= sessions->recovery_end))) {
		struct lease_stat stat;
		sessions->recovering = false;
		list_for_each_entry(&sessions->list, const struct session, session, link) {
			if (session->client && session->has_lost_lease) { // now that all clients have said what they hold
				lease_set_below(session->client, find_lost_lease(session));
			}
		}
		lease_open(sessions->table, now);
		lease_stat(sessions->table, &stat);
		if (finds_slots(sessions) && stat.taken > sessions->controller.slots) { // begins with about as many slots as the last server found
			begin_control(sessions, stat.taken, now);
		}
	}
}

// ---- how many slots there are ----

static uint64_t at_most(uint64_t a, uint64_t b) {
	return a < b ? a : b;
}

// Decides on the number of slots, once all clients that were asked have answered, or have had time to.
static void end_observation(struct sessions *sessions, uint64_t now) {
	struct controller_observation seen = {.now = now};
	double seen_slots = 0, seen_busy = 0; // sums over the clients that have sampled jobs: the slots of their jobs, and how many of these are busy
	struct lease_stat stat;
	if (sessions->sampling != SAMPLING_ASKS || (sessions->unanswered > 0 && now < sessions->sample_due)) {
		return;
	}
	list_for_each_entry(&sessions->list, struct session, session, link) {
		// a client may have counted for longer than since the last sample: then only this part of its counts is used. A client may see only some of
		// its jobs: these stand for all its jobs
		const struct observation *observation = &session->observation;
		uint64_t elapsed = now - sessions->controller.last;
		double slots = session->client ? lease_working(session->client) : 0;
		double sampled = (double)at_most(observation->sampled, WANTED_MAX * UINT64_C(1000));
		double part = observation->since_ns > elapsed ? (double)elapsed / (double)observation->since_ns : 1;
		if (sampled > 0) {
			seen.sampled += sampled / 1000;
			seen_slots += slots;
			seen_busy += slots * (double)observation->busy / sampled;
		}
		seen.ended += (uint64_t)((double)at_most(observation->ended, UINT32_MAX) * part + 0.5);
		seen.wall_ns += (double)observation->wall_ns * part;
		seen.work_ns += (double)observation->work_ns * part;
		seen.cost_ns = observation->cost_ns > seen.cost_ns ? at_most(observation->cost_ns, NS_PER_S) : seen.cost_ns;
		bool waits = session->client && lease_waits(session->client);
		seen.wanted = seen.wanted || (waits && !observation->held_up);
		end_asking(session);
	}
	seen.busy = seen_slots > 0 ? seen_busy * seen.sampled / seen_slots : 0;
	lease_stat(sessions->table, &stat);
	seen.running = stat.taken;
	sessions->observe_machine(sessions->arg, &seen);
	sessions->sampling = SAMPLING_WAITS;
	sessions->sample_due = controller_decide(&sessions->controller, &seen);
	lease_set_slots(sessions->table, sessions->controller.slots);
}

// Begins a sample if that is due; ends the sampling if no client waits; begins it again when a client waits. Returns when to call this again.
static uint64_t plan_observation(struct sessions *sessions, uint64_t now) {
	if (!finds_slots(sessions)) {
		return TIME_NEVER;
	}
	bool awaited = lease_is_awaited(sessions->table);
	if (sessions->sampling == SAMPLING_IDLE && awaited) { // what was measured of the machine before is of no use any more
		struct controller_observation ignored = {.now = now};
		sessions->observe_machine(sessions->arg, &ignored);
		sessions->sampling = SAMPLING_WAITS;
		sessions->sample_due = controller_resume(&sessions->controller, now);
	} else if (sessions->sampling == SAMPLING_WAITS && now >= sessions->sample_due && awaited) {
		list_for_each_entry(&sessions->list, struct session, session, link) {
			uint32_t slots = session->client ? lease_working(session->client) : 0;
			session->observation = (struct observation){.sampled = slots * UINT64_C(1000), .busy = slots * UINT64_C(1000)};
			session->asked = session->observes && !session->closed && slots > 0 && session->out.len <= OUTPUT_QUIET;
			sessions->unanswered += session->asked;
			if (session->asked) {
				send_frame(session, FRAME_OBSERVE, 0, 0, 0);
			}
		}
		sessions->sampling = SAMPLING_ASKS;
		sessions->sample_due = sessions->unanswered > 0 ? now + ANSWER : now;
	} else if (sessions->sampling == SAMPLING_WAITS && now >= sessions->sample_due) {
		sessions->sampling = SAMPLING_IDLE;
		sessions->sample_due = TIME_NEVER;
	}
	return sessions->sample_due;
}

// ---- a step: takes leases back, grants leases, and tells the clients ----

// Takes an unused lease back, in two calls: the first call queues a frame that tells the client. The next call, after that frame was sent and all
// that the client had said was read, takes the lease back. See lease_revoke(). Returns when to call take_back() again.
static uint64_t take_back(struct sessions *sessions, uint64_t now) {
	struct lease_client *holder;
	if (sessions->revoking) {
		if (sessions->revoking->out.len > 0) {
			return TIME_NEVER; // take_back() is called again when the frame was sent
		}
		lease_revoke(sessions->revoking->client, sessions->revoked, now);
		sessions->revoking = NULL;
	}
	uint64_t number, when = lease_unused(sessions->table, &holder, &number);
	if (when <= now) {
		sessions->revoking = lease_user(holder);
		sessions->revoked = number;
		send_frame(sessions->revoking, FRAME_REVOKED, number, 0, 0);
	}
	return when;
}

bool sessions_are_due(const struct sessions *sessions) {
	return sessions->revoking && sessions->revoking->out.len == 0;
}

uint64_t sessions_step(struct sessions *sessions, bool quiet, uint64_t now) {
	struct lease_grant grant;
	end_recovery(sessions, quiet, now);
	end_observation(sessions, now);
	if (finds_slots(sessions) && sessions->sampling == SAMPLING_IDLE && lease_is_awaited(sessions->table)) {
		// a client waits after a time in which none did: its jobs may behave differently from those that were sampled. So the
		// number of slots becomes that of the processors, or a few more than are taken
		struct lease_stat stat;
		lease_stat(sessions->table, &stat);
		unsigned taken = stat.taken + stat.taken / 4, kept = taken > sessions->config.slots ? taken : sessions->config.slots;
		if (sessions->controller.slots > kept) {
			begin_control(sessions, kept, now);
		}
	}
	uint64_t when = take_back(sessions, now), number;
	while (lease_next(sessions->table, now, &grant)) {
		struct session *session = lease_user(grant.client);
		send_frame(session, FRAME_GRANT, grant.id.number, grant.id.nonce, grant.width | (grant.lender ? LEASE_LENT : 0));
		if (sessions->granted) {
			sessions->granted(sessions->arg, &grant, session->label, session->pid);
		}
	}
	struct lease_client *holder;
	while ((holder = lease_ask_last(sessions->table, &number))) {
		send_frame(lease_user(holder), FRAME_LAST, number, 0, 0);
	}
	bool contended = sessions->others_wait || lease_is_contended(sessions->table);
	const struct lease_client *only = contended && !sessions->others_wait ? lease_only_waiter(sessions->table) : NULL;
	list_for_each_entry(&sessions->list, struct session, session, link) {
		if (session->client && !session->closed && session->out.len <= OUTPUT_QUIET) {
			const struct frame state = {
				.type = FRAME_STATE,
				.a = contended && session->client != only,
				.b = lease_spare_limit(session->client),
				.c = slots_and_reason(sessions),
			};
			if (memcmp(&state, &session->state, sizeof(state)) != 0) {
				session->state = state;
				frame_add(&session->out, state, NULL, 0);
			}
			unsigned waiting, rank = session->shows_rank || session->asks_rank ? lease_rank(session->client, &waiting) : 0;
			if (session->asks_rank || (rank > 0 && (rank != session->rank || waiting != session->waiting))) {
				FP_CLEANUP(buf_fini) struct buf holders = BUF_INIT;
				session->rank = rank;
				session->waiting = waiting;
				session->asks_rank = false;
				add_holders(session, now, &holders);
				send_text(session, FRAME_RANK, rank, waiting, 0, &holders);
			}
		}
	}
	if (!sessions->revoking) { // also looks at the leases that were granted just now, which may stay unused
		when = time_earlier(when, lease_unused(sessions->table, &holder, &number));
	}
	uint64_t sample_due = plan_observation(sessions, now);
	return sessions->recovering ? sessions->recovery_end : time_earlier(when, sample_due);
}
