// stress: hammers the pool from all sides for some seconds and checks what it promises (engine/pool.h).
//
//	tests/stress/pool [SECONDS [SEED]]
//
// Each round is a pool of its own, with random slots, queue memory and policy. Threads from outside open queues, submit
// runs of items, close, cancel, pause and change slots and attributes; items submit more items, fail, or give their turn
// back, or are pending until a thread resumes them, which also lends their slots; in every other round somebody shuts the pool down while all this goes on. Checked, always:
//
//	an item that was taken runs once or is dropped once; one that was refused, never
//	an item that ran was not dropped by a cancel that had returned before
//	no more items of a queue run at once than max_parallel; no slot has two items; items take no more slots than there are
//	the last item of a queue is not dropped once it was taken
//	a queue is removed once for each time it was opened anew, never with work of its own left, and counts its items
//	idle is reported once, after all else
//	the service trace numbers the dispatches without a gap, and never shows more running items than slots
//	the pool becomes idle: nothing hangs, no wake-up is lost
//
// In builds with faults the locks give the processor away at random (base/sync.h). The seed is printed first and
// gives the same operations again; the interleaving is the machine's.

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/sync.h"
#include "engine/pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum {
	NAMES = 6,          // queue names in use
	OUTSIDERS = 3,      // threads that submit from outside
	MAX_SLOTS = 6,
	SLOT_NUMBERS = 1024,
	MAX_LONG = 2,
	MAX_ITEMS = 20000,  // in a round
	MAX_RUN = 20,       // items submitted at once
	MAX_OPENS = 20000,  // in a round
	HANG_S = 1200,      // a round takes far less than a second; nothing else makes one so long
};

// An item's life, as seen from outside. Exactly one of `ran` and `dropped` becomes 1 if it was taken.
struct item {
	_Atomic unsigned char taken, ran, dropped;
	_Atomic unsigned char kept; // as a queue's last item
};

// What an item carries.
struct load {
	uint32_t number;  // in items[]
	uint32_t depth;   // it may submit children this deep
	uint64_t seed;    // of what it does
	bool last;        // given as a queue's last item
};

// One call of pool_queue_open(); it is a queue's `user` if that open made the queue.
struct opening {
	unsigned name;
	_Atomic unsigned char removed;
};

struct name {
	char text[8];
	struct queue_attrs attrs;
	_Atomic int running;           // items of the name
	_Atomic uint64_t submitted;    // items taken
	_Atomic uint64_t removed_sum;  // what hooks.removed counted
};

struct round {
	struct pool *pool;
	uint64_t seed;
	struct item items[MAX_ITEMS];
	_Atomic uint32_t nitems;
	struct opening openings[MAX_OPENS];
	_Atomic uint32_t nopenings;
	struct name names[NAMES];
	struct queue *keeper;              // open until all outsiders are done, so that idle comes once
	mutex lone_lock;
	cond lone_cond;
	uint32_t lone_ran;                 // lone items that have run
	_Atomic uint32_t returns;          // items that have their slots back
	unsigned max_slots;                // most that were ever allowed in this round
	_Atomic unsigned char slot_busy[SLOT_NUMBERS]; // by worker_slot()
	_Atomic unsigned slots_taken;
	_Atomic int idles;
	_Atomic bool shut;                 // pool_shutdown() was called
	uint64_t last_dispatch;            // under the pool's lock
	uint64_t nasked;                   // let_in(), one thread at a time
	mutex hold_lock;
	cond hold_cond;
	struct hold *holds;                // under hold_lock, as the next
	bool over;
	_Atomic uint64_t resumes;
	_Atomic uint64_t lows, armed, ran, not_run;
};

// A pending item.
struct hold {
	struct hold *next;        // in round->holds
	struct worker *worker;
	struct name *name;
	uint64_t dice;
	unsigned slot, width;
	bool listed;              // in round->holds: nobody has meant to resume it yet
	bool lent;                // somebody has lent its slots
	bool many;                // it is resumed by many calls at once
};

static struct round *the_round; // the one that runs, for the watchdog
static uint64_t total_items, total_dropped, total_rounds, total_refused, total_passed, total_resumes;

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): any seed is a good one
static uint64_t roll(uint64_t *state) {
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static unsigned pick(uint64_t *state, unsigned n) {
	return (unsigned)(roll(state) % n);
}

// Ends the program when a promise is broken; the message names it.
#define promise(condition, ...) \
	((condition) ? (void)0 : (diag_error(__VA_ARGS__), diag_bug(__FILE__, __LINE__, #condition)))

// ---- items ----

static enum work_status item_run(struct worker *worker, struct queue *queue, void *data, size_t size);
static void item_drop(struct queue *queue, void *data, size_t size);

static enum work_status item_resume(struct worker *worker, struct queue *queue, void *data);

static const struct work_type item_type = {.run = item_run, .resume = item_resume, .drop = item_drop};

// Submits up to MAX_RUN new items, from outside (worker NULL) or from a running item.
static void items_submit(struct round *round, struct queue *queue, struct worker *worker, uint64_t *dice, uint32_t depth) {
	struct load loads[MAX_RUN];
	struct work works[MAX_RUN];
	uint32_t n = 1 + pick(dice, worker ? 3 : MAX_RUN);
	uint32_t first = atomic_add_relaxed(&round->nitems, n);
	if (first + n > MAX_ITEMS) {
		return; // the round has had enough; the numbers are left unused
	}
	struct name *name = &round->names[((struct opening *)queue_user(queue))->name];
	bool narrow = (name - round->names) % 2; // these may pass those that gather their slots
	for (uint32_t i = 0; i < n; ++i) {
		loads[i] = (struct load){.number = first + i, .depth = depth, .seed = roll(dice)};
		works[i] = (struct work){.type = &item_type, .data = &loads[i], .size = sizeof(loads[i]), .id = first + i};
		works[i].flags = worker && pick(dice, 4) ? WORK_LOCAL : 0;
		works[i].flags |= pick(dice, 8) ? 0 : WORK_NO_TOKEN;
		works[i].width = pick(dice, 8) || narrow ? 1 : pick(dice, MAX_SLOTS + 2);
		// before the submission: it may have run before the call returns
		atomic_store_relaxed(&round->items[first + i].taken, 1);
	}
	atomic_add_relaxed(&name->submitted, n);
	enum submit_status status = pool_submit(round->pool, queue, worker, works, n);
	promise(status == SUBMIT_OK || atomic_load_acquire(&round->shut) || (status == SUBMIT_FULL && !worker),
	        "an open queue refused work: status %d", (int)status);
	if (status != SUBMIT_OK) {
		for (uint32_t i = 0; i < n; ++i) {
			atomic_store_relaxed(&round->items[first + i].taken, 0);
		}
		atomic_fetch_sub(&name->submitted, n);
	}
}

// Gives the queue a last item, unless it has one already: then it is dropped at once.
static void last_submit(struct round *round, struct queue *queue, uint64_t *dice) {
	uint32_t number = atomic_add_relaxed(&round->nitems, 1);
	if (number >= MAX_ITEMS) {
		return;
	}
	struct item *item = &round->items[number];
	struct load load = {.number = number, .depth = pick(dice, 2), .seed = roll(dice), .last = true};
	struct work work = {.type = &item_type, .data = &load, .size = sizeof(load), .id = number, .width = pick(dice, 3)};
	atomic_store_relaxed(&item->taken, 1);
	pool_queue_set_last_item(round->pool, queue, &work);
	atomic_store_relaxed(&item->kept, !atomic_load_relaxed(&item->dropped));
}

static enum work_status lone_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	struct round *round = the_round;
	(void)worker, (void)queue, (void)data, (void)size;
	mutex_lock(&round->lone_lock);
	++round->lone_ran;
	cond_signal(&round->lone_cond);
	mutex_unlock(&round->lone_lock);
	atomic_add_relaxed(&round->ran, 1);
	return WORK_OK;
}

static const struct work_type lone_type = {.run = lone_run};

// Submits one item at a time and waits until it ran: nothing but its own wake-up gets it going.
static void lone_items(struct round *round, uint32_t n) {
	struct work work = {.type = &lone_type};
	struct name *name = &round->names[((struct opening *)queue_user(round->keeper))->name];
	for (uint32_t i = 1; n > 0; --n) {
		enum submit_status status = pool_submit(round->pool, round->keeper, NULL, &work, 1);
		promise(status != SUBMIT_CLOSED, "an open queue refused an item");
		if (status == SUBMIT_FULL) {
			continue; // what the outsiders have left behind is still queued
		}
		atomic_add_relaxed(&name->submitted, 1);
		uint64_t deadline = now_ns() + HANG_S * NS_PER_S;
		bool in_time = true;
		mutex_lock(&round->lone_lock);
		while (round->lone_ran < i && in_time) {
			in_time = cond_wait_until(&round->lone_cond, &round->lone_lock, deadline);
		}
		mutex_unlock(&round->lone_lock);
		promise(in_time, "item %u of its kind waits for a wake-up that does not come", i);
		++i;
	}
}

static struct queue *name_open(struct round *round, unsigned n) {
	uint32_t i = atomic_add_relaxed(&round->nopenings, 1);
	if (i >= MAX_OPENS) {
		return NULL;
	}
	round->openings[i].name = n;
	struct queue *queue = pool_queue_open(round->pool, round->names[n].text, &round->names[n].attrs, &round->openings[i]);
	promise(queue || (errno == ESHUTDOWN && atomic_load_acquire(&round->shut)), "an open pool refused a queue");
	return queue;
}

static void load_work(struct round *round, struct worker *worker, struct queue *queue, const struct load *load,
                      uint64_t *dice) {
	if (load->depth > 0 && pick(dice, 2) == 0) {
		items_submit(round, queue, worker, dice, load->depth - 1);
	}
	if (load->depth > 0 && pick(dice, 16) == 0) {
		// work for another batch: its queue is opened, fed and closed from inside an item
		struct queue *other = name_open(round, pick(dice, NAMES));
		if (other) {
			items_submit(round, other, worker, dice, load->depth - 1);
			pool_queue_close(round->pool, other);
		}
	}
	if (pick(dice, 32) == 0) {
		struct timespec ts = {.tv_nsec = pick(dice, 100000)};
		nanosleep(&ts, NULL); // the item is slow, not waiting for anything
	}
}

// Counts what the item takes, or, if it lends that, does not any more.
static void count_slots(struct round *round, struct name *name, struct worker *worker, bool takes) {
	unsigned width = worker_width(worker);
	int running = atomic_fetch_add(&name->running, takes ? 1 : -1) + 1;
	promise(!takes || name->attrs.max_parallel == 0 || running <= (int)name->attrs.max_parallel, "%d items of %s run, %u may", running,
	        name->text, name->attrs.max_parallel);
	if (!worker_is_long(worker)) {
		unsigned all = atomic_fetch_add(&round->slots_taken, takes ? width : 0 - width) + width;
		promise(!takes || all <= round->max_slots, "items take %u slots of %u", all, round->max_slots);
	}
}

// The item wants its slots back, and waits until it has them.
static void await_slots(struct round *round, struct name *name, struct worker *worker) {
	pool_reclaim(round->pool, worker, /* waits */ true);
	for (bool keeps = false; !keeps;) {
		uint32_t seen = atomic_load(&round->returns);
		keeps = worker_keeps_slots(worker);
		mutex_lock(&round->lone_lock);
		while (!keeps && atomic_load(&round->returns) == seen) {
			cond_wait(&round->lone_cond, &round->lone_lock);
		}
		mutex_unlock(&round->lone_lock);
	}
	count_slots(round, name, worker, true);
}

static void lend_a_while(struct round *round, struct name *name, struct worker *worker, uint64_t *dice) {
	count_slots(round, name, worker, false);
	pool_lend(round->pool, worker);
	for (unsigned i = pick(dice, 64); i > 0; --i) {
		sched_yield();
	}
	await_slots(round, name, worker);
}

static void wait_a_while(struct round *round, struct name *name, struct worker *worker, uint64_t *dice) {
	static const atomic_bool never;
	count_slots(round, name, worker, false);
	worker_wait_begin(worker);
	for (unsigned i = pick(dice, 64); i > 0; --i) {
		sched_yield();
	}
	worker_wait_end(worker, 1, &never);
	count_slots(round, name, worker, true);
}

// Adds the pending item to those that are to be resumed, maybe before it has returned.
static enum work_status hold_add(struct round *round, struct hold *hold) {
	mutex_lock(&round->hold_lock);
	hold->listed = true;
	hold->next = round->holds;
	round->holds = hold;
	mutex_unlock(&round->hold_lock);
	cond_signal(&round->hold_cond);
	return WORK_PENDING;
}

// Lends the slots of some pending item, or has it resumed: by one call without hold_lock, after which it may be gone, or by many with it: its resume
// takes that lock first. With hold_lock, which is given back.
static void hold_step(struct round *round, uint64_t *dice) {
	struct hold **at = &round->holds;
	for (unsigned i = pick(dice, 4); i > 0 && (*at)->next; --i) {
		at = &(*at)->next;
	}
	struct hold *hold = *at;
	struct worker *worker = hold->worker;
	bool many = hold->many;
	if (!hold->lent && pick(dice, 4) == 0) {
		count_slots(round, hold->name, worker, false);
		hold->lent = true;
		pool_lend(round->pool, worker);
		mutex_unlock(&round->hold_lock);
		return;
	}
	if (hold->lent && pick(dice, 2)) {
		pool_reclaim(round->pool, worker, /* waits */ true);
	}
	for (unsigned i = many ? pick(dice, 3) : 0; i > 0; --i) {
		pool_resume(worker); // too early
	}
	*at = hold->next;
	hold->listed = false;
	for (unsigned i = many ? 1 + pick(dice, 2) : 0; i > 0; --i) {
		pool_resume(worker);
	}
	mutex_unlock(&round->hold_lock);
	if (!many) {
		pool_resume(worker);
	}
}

static void *resumer_run(void *arg) {
	struct round *round = arg;
	uint64_t dice = round->seed + 1;
	for (;;) {
		mutex_lock(&round->hold_lock);
		while (!round->holds && !round->over) {
			cond_wait(&round->hold_cond, &round->hold_lock);
		}
		if (!round->holds) {
			mutex_unlock(&round->hold_lock);
			return NULL;
		}
		hold_step(round, &dice);
		for (unsigned i = pick(&dice, 16); i > 8; --i) {
			sched_yield();
		}
	}
}

// The item ends.
static enum work_status item_end(struct round *round, struct name *name, struct worker *worker, unsigned slot, unsigned width, uint64_t dice) {
	promise(worker_slot(worker) == slot && worker_width(worker) == width, "an item changed its slots");

	if (!worker_is_long(worker)) {
		atomic_fetch_sub(&round->slots_taken, width);
		atomic_store_relaxed(&round->slot_busy[slot], 0);
	}
	atomic_fetch_sub(&name->running, 1);
	atomic_add_relaxed(&round->ran, 1);
	switch (pick(&dice, 16)) {
	case 0:
		atomic_add_relaxed(&round->not_run, 1);
		return WORK_NOT_RUN;
	default:
		return WORK_OK;
	}
}

static enum work_status item_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	struct round *round = the_round;
	struct load load;
	promise(size == sizeof(load), "an item changed its size: %zu", size);
	memcpy(&load, data, sizeof(load));
	struct item *item = &round->items[load.number];
	struct opening *opening = queue_user(queue);
	struct name *name = &round->names[opening->name];
	promise(!atomic_load_relaxed(&opening->removed), "item %u ran after its queue was removed", load.number);
	promise(atomic_load_relaxed(&item->taken), "item %u ran and was refused", load.number);
	promise(atomic_add_relaxed(&item->ran, 1) == 0, "item %u ran twice", load.number);
	promise(!atomic_load_relaxed(&item->dropped), "item %u ran and was dropped", load.number);
	promise(atomic_load_relaxed(&round->idles) == 0, "item %u ran after idle", load.number);
	promise(strcmp(queue_name(queue), name->text) == 0, "item %u runs in queue %s", load.number, queue_name(queue));

	if (load.last) {
		atomic_add_relaxed(&name->submitted, 1); // only now it is known that it was taken
	}
	int running = atomic_add_relaxed(&name->running, 1) + 1;
	promise(name->attrs.max_parallel == 0 || running <= (int)name->attrs.max_parallel,
	        "%d items of %s run, %u may", running, name->text, name->attrs.max_parallel);
	unsigned slot = worker_slot(worker), width = worker_width(worker);
	promise(worker_is_long(worker) == name->attrs.long_running, "a slot and a dedicated thread were mixed up");
	if (!worker_is_long(worker)) { // the lanes of the others move when the slots do
		promise(slot >= 1 && slot < SLOT_NUMBERS, "slot %u of %u", slot, round->max_slots); // above them where items lend theirs
		promise(atomic_exchange(&round->slot_busy[slot], 1) == 0, "slot %u has two items", slot);
		unsigned all = atomic_add_relaxed(&round->slots_taken, width) + width;
		promise(all <= round->max_slots, "items take %u slots of %u", all, round->max_slots);
	}

	uint64_t dice = load.seed;
	load_work(round, worker, queue, &load, &dice);
	if (pick(&dice, 16) == 0) {
		lend_a_while(round, name, worker, &dice);
	}
	if (pick(&dice, 16) == 0) {
		wait_a_while(round, name, worker, &dice);
	}
	if (pick(&dice, 4) == 0) {
		struct hold *hold = NEW(struct hold);
		*hold = (struct hold){.worker = worker, .name = name, .dice = dice, .slot = slot, .width = width, .many = pick(&dice, 2)};
		*worker_scratch(worker, NULL) = hold;
		return hold_add(round, hold);
	}
	return item_end(round, name, worker, slot, width, dice);
}

static enum work_status item_resume(struct worker *worker, struct queue *queue, void *data FP_UNUSED) {
	struct round *round = the_round;
	struct hold *hold = *worker_scratch(worker, NULL);
	promise(hold->worker == worker, "an item was resumed as another");
	mutex_lock(&round->hold_lock);
	bool too_early = hold->listed; // a call was left over from the time before
	mutex_unlock(&round->hold_lock);
	if (too_early) {
		return WORK_PENDING;
	}
	atomic_add_relaxed(&round->resumes, 1);
	if (hold->lent) {
		hold->lent = false;
		await_slots(round, hold->name, worker);
	}
	if (pick(&hold->dice, 4) == 0) {
		struct load load = {.depth = 1};
		load_work(round, worker, queue, &load, &hold->dice);
	}
	if (pick(&hold->dice, 8) == 0) {
		worker_set_took(worker, pick(&hold->dice, 1000000));
	}
	if (pick(&hold->dice, 4) == 0) {
		return hold_add(round, hold);
	}
	struct hold copy = *hold;
	free(hold);
	return item_end(round, copy.name, worker, copy.slot, copy.width, copy.dice);
}

static void item_drop(struct queue *queue, void *data, size_t size) {
	struct load load;
	promise(size == sizeof(load), "a dropped item changed its size: %zu", size);
	memcpy(&load, data, sizeof(load));
	struct item *item = &the_round->items[load.number];
	struct opening *opening = queue_user(queue);
	promise(load.last || !atomic_load_relaxed(&opening->removed), // a last item that comes too late is dropped at once
	        "item %u was dropped after its queue was removed", load.number);
	promise(atomic_load_relaxed(&item->taken), "item %u was dropped and was refused", load.number);
	promise(atomic_add_relaxed(&item->dropped, 1) == 0, "item %u was dropped twice", load.number);
	promise(!atomic_load_relaxed(&item->ran), "item %u was dropped and ran", load.number);
	promise(!atomic_load_relaxed(&item->kept), "item %u was the last of its queue and was dropped", load.number);
}

// ---- hooks ----

// Under the pool's lock, as trace.
static void on_returned(void *arg, struct worker *worker) {
	struct round *round = arg;
	(void)worker;
	mutex_lock(&round->lone_lock);
	atomic_add_relaxed(&round->returns, 1);
	mutex_unlock(&round->lone_lock);
	cond_broadcast(&round->lone_cond);
}

static void on_idle(void *arg) {
	struct round *round = arg;
	promise(atomic_add_relaxed(&round->idles, 1) == 0, "idle was reported twice");
}

static void on_low(void *arg, struct queue *queue) {
	struct round *round = arg;
	(void)queue;
	atomic_add_relaxed(&round->lows, 1);
}

static void on_removed(void *arg, struct queue *queue, uint64_t submitted) {
	struct round *round = arg;
	struct opening *opening = queue_user(queue);
	struct name *name = &round->names[opening->name];
	promise(atomic_load_relaxed(&round->idles) == 0, "a queue was removed after idle");
	promise(atomic_add_relaxed(&opening->removed, 1) == 0, "queue %s was removed twice", queue_name(queue));
	atomic_add_relaxed(&name->removed_sum, submitted);
}

static void on_trace(void *arg, const struct service *service) {
	struct round *round = arg;
	promise(service->n == round->last_dispatch + 1, "dispatch %llu follows %llu", (unsigned long long)service->n,
	        (unsigned long long)round->last_dispatch);
	round->last_dispatch = service->n;
	total_passed += service->source == SOURCE_BACKFILL;
	promise(service->id < MAX_ITEMS, "dispatch of item %llu", (unsigned long long)service->id);
}

// ---- from outside ----

struct outsider {
	struct round *round;
	thread thread;
	uint64_t dice;
	bool shuts;   // this one shuts the pool down
	struct queue *keeper; // its own opening of the keeper, or NULL: closed last
};

static void attrs_roll(struct queue_attrs *attrs, uint64_t *dice) {
	attrs->weight = 1 + pick(dice, 4);
	attrs->priority = pick(dice, 4) == 0 ? (int32_t)pick(dice, 3) - 1 : 0;
	attrs->prefer_fairness = pick(dice, 4) == 0;
	attrs->start_interval = pick(dice, 4) == 0 ? pick(dice, 20) * 1000 : 0;
}

static void outsider_cancel(struct outsider *self, struct queue *queue) {
	if (pick(&self->dice, 30) == 0) {
		pool_cancel(self->round->pool, queue);
	}
}

static void outsider_disturb(struct outsider *self, struct queue *queue, unsigned name) {
	struct round *round = self->round;
	struct pool_stat stat;
	struct queue_attrs attrs = round->names[name].attrs;
	switch (pick(&self->dice, 13)) {
	case 0:
		pool_set_slots(round->pool, 1 + pick(&self->dice, round->max_slots));
		break;
	case 1:
		pool_pause(round->pool, true);
		pool_pause(round->pool, false);
		break;
	case 2:
		attrs_roll(&attrs, &self->dice);
		attrs.paused = pick(&self->dice, 2);
		queue_set(round->pool, queue, &attrs);
		if (attrs.paused) {
			items_submit(round, queue, NULL, &self->dice, 1);
			attrs.paused = false;
			queue_set(round->pool, queue, &attrs);
		}
		break;
	case 3:
		pool_stat(round->pool, &stat);
		// a pause or fewer slots never stop what runs, so the bound is the most that ever were allowed
		promise(stat.slots_taken <= round->max_slots, "%llu slots are taken", (unsigned long long)stat.slots_taken);
		promise(stat.running <= stat.slots_taken, "%llu items run", (unsigned long long)stat.running);
		promise(stat.running_long <= MAX_LONG, "%llu long items run", (unsigned long long)stat.running_long);
		break;
	case 4:
		atomic_add_relaxed(&round->armed, 1);
		pool_queue_want(round->pool, queue);
		break;
	case 5:
		promise(pool_queue_bytes(round->pool, queue) <= (size_t)MAX_ITEMS * 4096, "a queue's bytes are negative");
		break;
	case 7:
		pool_add_threads(round->pool, 1);
		sched_yield();
		pool_add_threads(round->pool, -1);
		break;
	case 6:
		// nobody may be idle while the keeper is open
		promise(!pool_wait_idle(round->pool, now_ns() + pick(&self->dice, 50) * 1000) ||
		        atomic_load_acquire(&round->shut), "the pool is idle with an open queue");
		break;
	default:
		sched_yield();
		break;
	}
}

static void *outsider_run(void *arg) {
	struct outsider *self = arg;
	struct round *round = self->round;
	unsigned turns = 10 + pick(&self->dice, 40);
	unsigned last = self->shuts ? pick(&self->dice, turns) : turns;
	for (unsigned turn = 0; turn < turns; ++turn) {
		if (turn == last) {
			atomic_store_release(&round->shut, true); // before the call: others meet its effect at once
			pool_shutdown(round->pool);
		}
		unsigned name = pick(&self->dice, NAMES);
		struct queue *queue = name_open(round, name);
		if (!queue) {
			continue;
		}
		if (pick(&self->dice, 3) == 0) {
			last_submit(round, queue, &self->dice);
		}
		for (unsigned i = pick(&self->dice, 6); i > 0; --i) {
			items_submit(round, queue, NULL, &self->dice, pick(&self->dice, 3));
			outsider_disturb(self, queue, name);
			outsider_cancel(self, queue);
		}
		pool_queue_close(round->pool, queue);
	}
	if (self->keeper) {
		pool_queue_close(round->pool, self->keeper); // and the pool may be gone
	}
	return NULL;
}

// ---- rounds ----

// Lets an item start, or has itself asked again soon.
static uint64_t let_in(void *arg) {
	struct round *round = arg;
	uint64_t dice = round->seed ^ ++round->nasked;
	return pick(&dice, 4) == 0 ? now_ns() + pick(&dice, 50) * 1000 + 1 : 0;
}

static void round_open(struct round *round, uint64_t *dice) {
	round->seed = roll(dice);
	round->max_slots = 1 + pick(dice, MAX_SLOTS);
	struct pool_config config = {
		.slots = 1 + pick(dice, round->max_slots),
		.max_long = 1 + pick(dice, MAX_LONG),
		.fair_time = pick(dice, 2),
		.queue_mem = pick(dice, 2) ? 1 << 20 : 16 << 10, // small enough to spill
		.spill_dir = "/tmp",
		.stack_bytes = 256 * 1024,
		.hooks = {
			.gate = pick(dice, 3) == 0 ? let_in : NULL,
			.idle = on_idle,
			.low = on_low,
			.removed = on_removed,
			.returned = on_returned,
			.trace = on_trace,
			.arg = round,
		},
	};
	for (unsigned i = 0; i < NAMES; ++i) {
		struct name *name = &round->names[i];
		snprintf(name->text, sizeof(name->text), "%c", (char)('a' + i));
		attrs_roll(&name->attrs, dice);
		name->attrs.max_parallel = pick(dice, 2) ? 1 + pick(dice, 3) : 0;
		name->attrs.long_running = i == 0;
		name->attrs.low_water = pick(dice, 2) ? 256 : 0;
	}
	round->pool = pool_create(&config);
	if (pick(dice, 2)) {
		pool_bound_threads(round->pool, 1 + pick(dice, 3));
	}
	round->keeper = name_open(round, 1);
	if (pick(dice, 2)) {
		pool_start(round->pool); // else after the outsiders have begun
	}
}

static void round_check(struct round *round) {
	uint32_t items = atomic_load_relaxed(&round->nitems);
	for (uint32_t i = 0; i < items && i < MAX_ITEMS; ++i) {
		struct item *item = &round->items[i];
		int ends = atomic_load_relaxed(&item->ran) + atomic_load_relaxed(&item->dropped);
		promise(ends == atomic_load_relaxed(&item->taken), "item %u was taken %d times and ended %d times", i,
		        atomic_load_relaxed(&item->taken), ends);
		total_items += atomic_load_relaxed(&item->taken);
		total_dropped += atomic_load_relaxed(&item->dropped);
		total_refused += !atomic_load_relaxed(&item->taken);
	}
	for (unsigned i = 0; i < NAMES; ++i) {
		struct name *name = &round->names[i];
		promise(atomic_load_relaxed(&name->removed_sum) == atomic_load_relaxed(&name->submitted),
		        "queue %s took %llu items and counted %llu", name->text,
		        (unsigned long long)atomic_load_relaxed(&name->submitted),
		        (unsigned long long)atomic_load_relaxed(&name->removed_sum));
	}
	promise(atomic_load_relaxed(&round->idles) == 1, "idle was reported %d times", atomic_load_relaxed(&round->idles));
	promise(round->last_dispatch == atomic_load_relaxed(&round->ran), "%llu dispatches, %llu items ran",
	        (unsigned long long)round->last_dispatch, (unsigned long long)atomic_load_relaxed(&round->ran));
}

// All outsiders are gone; some lone items; the end.
static void round_end_quietly(struct round *round, struct outsider *outsiders) {
	for (unsigned i = 0; i < OUTSIDERS; ++i) {
		thread_join(outsiders[i].thread);
	}
	if (!atomic_load_relaxed(&round->shut)) {
		lone_items(round, 50);
	}
	pool_queue_close(round->pool, round->keeper);
	promise(pool_wait_idle(round->pool, now_ns() + HANG_S * NS_PER_S), "the pool hangs");
	pool_destroy(round->pool);
}

// The last outsider closes the last queue, and the pool is destroyed while he may not have returned.
static void round_end_suddenly(struct round *round, struct outsider *outsiders) {
	pool_queue_close(round->pool, round->keeper);
	promise(pool_wait_idle(round->pool, now_ns() + HANG_S * NS_PER_S), "the pool hangs");
	pool_destroy(round->pool);
	for (unsigned i = 0; i < OUTSIDERS; ++i) {
		thread_join(outsiders[i].thread);
	}
}

static void round_run(uint64_t *dice) {
	struct round *round = NEW(struct round);
	the_round = round;
	mutex_init(&round->lone_lock, LOCK_OF_TEST);
	cond_init(&round->lone_cond);
	mutex_init(&round->hold_lock, LOCK_OF_TEST);
	cond_init(&round->hold_cond);
	round_open(round, dice);
	struct outsider outsiders[OUTSIDERS];
	unsigned shuts = pick(dice, 2 * OUTSIDERS); // in half of the rounds nobody
	bool suddenly = shuts >= OUTSIDERS && pick(dice, 2);
	for (unsigned i = 0; i < OUTSIDERS; ++i) {
		outsiders[i] = (struct outsider){.round = round, .dice = roll(dice), .shuts = i == shuts};
		outsiders[i].keeper = suddenly ? name_open(round, 1) : NULL;
	}
	for (unsigned i = 0; i < OUTSIDERS; ++i) {
		verify(thread_start(&outsiders[i].thread, outsider_run, &outsiders[i], 256 * 1024) == 0);
	}
	thread resumer;
	verify(thread_start(&resumer, resumer_run, round, 256 * 1024) == 0);
	pool_start(round->pool);
	if (suddenly) {
		round_end_suddenly(round, outsiders);
	} else {
		round_end_quietly(round, outsiders);
	}
	mutex_lock(&round->hold_lock);
	round->over = true;
	mutex_unlock(&round->hold_lock);
	cond_signal(&round->hold_cond);
	thread_join(resumer);
	round_check(round);
	++total_rounds;
	the_round = NULL;
	total_resumes += atomic_load_relaxed(&round->resumes);
	cond_fini(&round->hold_cond);
	mutex_fini(&round->hold_lock);
	cond_fini(&round->lone_cond);
	mutex_fini(&round->lone_lock);
	free(round);
}

// A hang outside of pool_wait_idle(), in a lock or a join.
static void on_alarm(int signal) {
	static const char message[] = "fairpar: error: the stress run hangs\n";
	(void)signal;
	ssize_t n = write(STDERR_FILENO, message, sizeof(message) - 1);
	(void)n;
	abort();
}

static uint64_t yield_seed;
static _Atomic uint64_t yield_threads;

// One time in 16: nothing else runs meanwhile, or (a sleep) much does. Seldom enough that a run still gets on. That opens the windows in
// which wake-ups get lost wide enough to be hit.
void sync_yield(void) {
	static _Thread_local uint64_t state;
	if (state == 0) {
		state = yield_seed ^ ((atomic_add_relaxed(&yield_threads, 1) + 1) * UINT64_C(0x9E3779B97F4A7C15));
	}
	uint64_t dice = random_next(&state) >> 32;
	if (dice % 16 == 0) {
		sched_yield();
	} else if (dice % 64 == 1) {
		struct timespec ts = {.tv_nsec = (long)(dice >> 8) % 200000};
		nanosleep(&ts, NULL);
	}
}

int main(int argc, char *argv[]) {
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : now_ns();
	printf("1..1\n# seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	signal(SIGALRM, on_alarm);
	yield_seed = seed | 1;
	uint64_t dice = seed, start = now_ns();
	do {
		alarm(2 * HANG_S);
		round_run(&dice);
	} while ((double)(now_ns() - start) < seconds * 1e9);
	printf("# %llu rounds, %llu items, %llu of them dropped, %llu refused or not submitted, %llu passed others, %llu resumed\n",
	       (unsigned long long)total_rounds, (unsigned long long)total_items, (unsigned long long)total_dropped,
	       (unsigned long long)total_refused, (unsigned long long)total_passed, (unsigned long long)total_resumes);
	printf("ok 1 - the pool keeps its promises while all is done to it at once\n");
	return 0;
}
