// Tests of the pool (engine/pool.h): items that are pending, which have a slot and no thread, and are resumed from anywhere.
//
// The test says what each run and each resume returns: an item asks the test through its part.

#include "engine/pool.h"

#include "pool_actors.h"

enum { PARTS = ACTORS };

// An item by its number. Each call of run and resume says that it is there (`entered`), waits until it is let go (`let`), and returns `status`.
static struct part {
	struct worker *worker;
	struct gate entered, let;
	_Atomic int status;      // of the next return
	_Atomic int runs, resumes;
	uint64_t *data;          // what run was called with
	_Atomic uint64_t took;   // for worker_set_took(), or 0
} parts[PARTS];

static struct gate parked; // raised when a thread that has called an item finds no work

static void on_flush(void *arg) {
	(void)arg;
	gate_raise(&parked);
}

static enum work_status part_call(struct worker *worker, struct part *part) {
	long n = atomic_load(&part->runs) + atomic_load(&part->resumes);
	worker_request_flush(worker);
	gate_raise(&part->entered);
	gate_wait(&part->let, n);
	if (atomic_load(&part->took) > 0) {
		worker_set_took(worker, atomic_load(&part->took));
	}
	enum work_status status = (enum work_status)atomic_load(&part->status);
	mutex_lock(&notes_lock);
	actors[part - parts].on_stage = status == WORK_PENDING;
	mutex_unlock(&notes_lock);
	return status;
}

static enum work_status part_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	uint64_t id;
	(void)queue;
	memcpy(&id, data, size);
	struct part *part = &parts[id];
	part->data = data;
	part->worker = worker;
	mutex_lock(&notes_lock);
	actors[id].worker = worker;
	actors[id].on_stage = true;
	mutex_unlock(&notes_lock);
	cond_broadcast(&notes_changed);
	*worker_scratch(worker, NULL) = part;
	atomic_add_relaxed(&part->runs, 1);
	return part_call(worker, part);
}

static enum work_status part_resume(struct worker *worker, struct queue *queue, void *data) {
	struct part *part = *worker_scratch(worker, NULL); // the scratch is the slot's
	check(part->worker == worker);
	check(worker_queue(worker) == queue);
	check(data == part->data && *part->data == (uint64_t)(part - parts)); // the data is still there
	atomic_add_relaxed(&part->resumes, 1);
	return part_call(worker, part);
}

static const struct work_type part_type = {.run = part_run, .resume = part_resume, .drop = act_drop};

static void open_parts(unsigned slots, unsigned threads) {
	config.hooks.flush = on_flush;
	mutex_init(&parked.lock, LOCK_OF_TEST);
	cond_init(&parked.changed);
	open_stage(slots);
	for (int i = 0; i < PARTS; ++i) {
		mutex_init(&parts[i].entered.lock, LOCK_OF_TEST);
		cond_init(&parts[i].entered.changed);
		mutex_init(&parts[i].let.lock, LOCK_OF_TEST);
		cond_init(&parts[i].let.changed);
	}
	if (threads > 0) {
		pool_bound_threads(pool, threads);
	}
}

// The next return of the part is that status: lets it go.
static void give(int id, enum work_status status) {
	atomic_store(&parts[id].status, status);
	gate_raise(&parts[id].let);
}

// Waits until the part was called `n` times in all.
static void await_call(int id, long n) {
	gate_wait(&parts[id].entered, n);
}

static void resume(int id) {
	pool_resume(parts[id].worker);
}

// Resumes the part, and waits until it was called `n` times in all.
static void resume_until(int id, long n) {
	resume(id);
	await_call(id, n);
}

// Ends a test: closes the queue, and the pool once all has ended.
static void close_all(struct queue *queue) {
	pool_queue_close(pool, queue);
	close_pool();
}

static void add(struct queue *queue, const char *ids, unsigned width) {
	queue_up_as(queue, &part_type, ids, width);
}

// ---- one item ----

static void test_states(void) {
	open_parts(1, 0);
	struct queue *a = open_queue("a", NULL);
	add(a, "12", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	struct pool_stat stat = stat_now();
	check_equal(stat.running, 1); // it has its slot: the second does not start
	check_equal(stat.slots_taken, 1);
	check_equal(stat.queued, 1);
	resume_until(1, 2);
	check_equal(worker_slot(parts[1].worker), 1);
	give(1, WORK_PENDING);
	resume_until(1, 3);
	give(1, WORK_OK);
	await_call(2, 1);
	check_equal(atomic_load(&parts[1].runs), 1);
	check_equal(atomic_load(&parts[1].resumes), 2);
	check_equal(stat_now().threads, 1);
	give(2, WORK_NOT_RUN);
	close_all(a);
	expect("a1 a2 ");
}

// Calls that come while the item runs are one, and are not lost; when the item ends they are forgotten.
static void test_resumed_early(void) {
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "1", 1);
	pool_start(pool);
	await_call(1, 1);
	resume(1);
	resume(1);
	resume(1);
	give(1, WORK_PENDING);
	await_call(1, 2);
	give(1, WORK_PENDING);
	add(a, "2", 1); // runs on the only thread: the first one is pending, and not called a third time
	await_call(2, 1);
	check_equal(atomic_load(&parts[1].resumes), 1);
	resume(1);
	resume(1); // it is in the list already
	give(2, WORK_OK);
	await_call(1, 3);
	resume(1);
	give(1, WORK_OK);
	close_all(a);
	check_equal(atomic_load(&parts[1].resumes), 2);
	check_equal(atomic_load(&parts[2].resumes), 0);
}

// With a lock held that ranks above the pool's. (Builds with faults check the order.)
static void test_outer_lock(void) {
	open_parts(1, 0);
	mutex outer;
	mutex_init(&outer, LOCK_HOSTS);
	struct queue *a = open_queue("a", NULL);
	add(a, "1", 1);
	pool_start(pool);
	for (long n = 1; n <= 100; ++n) {
		await_call(1, n);
		mutex_lock(&outer);
		resume(1);
		mutex_unlock(&outer);
		give(1, n < 100 ? WORK_PENDING : WORK_OK);
	}
	close_all(a);
	mutex_fini(&outer);
}

static void test_not_run(void) {
	open_parts(1, 0);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	add(a, "1", 1);
	add(b, "2", 1);
	add(a, "3", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	resume_until(1, 2);
	give(1, WORK_NOT_RUN); // a has had no turn, but b was served longer ago
	await_call(2, 1);
	give(2, WORK_OK);
	await_call(3, 1);
	give(3, WORK_OK);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
	expect("a1 b2 a3 ");
}

// ---- threads ----

enum { MANY = 1000 };

static struct worker *many[MANY];
static _Atomic int nmany, nresumed;
static _Atomic bool many_end;

static enum work_status many_run(struct worker *worker, struct queue *queue, void *data, size_t size) {
	(void)queue, (void)data, (void)size;
	many[worker_slot(worker) - 1] = worker;
	if (atomic_fetch_add(&nmany, 1) == MANY - 1) {
		gate_raise(&gates[0]);
	}
	return WORK_PENDING;
}

static enum work_status many_resume(struct worker *worker, struct queue *queue, void *data FP_UNUSED) {
	(void)queue;
	check(many[worker_slot(worker) - 1] == worker);
	bool ends = atomic_load(&many_end); // before the test goes on
	if (atomic_fetch_add(&nresumed, 1) % MANY == MANY - 1) {
		gate_raise(&gates[1]);
	}
	return ends ? WORK_OK : WORK_PENDING;
}

static const struct work_type many_type = {.run = many_run, .resume = many_resume};

static void resume_many(int n, long round) {
	for (int i = 0; i < n; ++i) {
		pool_resume(many[i]);
	}
	gate_wait(&gates[1], round);
}

static void test_bound(void) {
	open_parts(MANY, 2);
	struct queue *a = open_queue("a", NULL);
	for (int i = 0; i < MANY; i += 250) {
		submit(a, &many_type, 250);
	}
	pool_start(pool);
	gate_wait(&gates[0], 1);
	check_equal(stat_now().slots_taken, MANY);
	resume_many(MANY, 1);
	resume_many(MANY, 2);
	check(stat_now().threads <= 2);
	atomic_store(&many_end, true);
	resume_many(MANY, 3);
	check(stat_now().threads <= 2);
	close_all(a);
}

// An item that blocks its thread for long raises the bound; there is no other thread without that.
static void test_add_threads(void) {
	open_parts(4, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "12", 1);
	pool_start(pool);
	await_call(1, 1);
	check_equal(stat_now().threads, 1);
	check_equal(stat_now().queued, 1);
	pool_add_threads(pool, 1);
	await_call(2, 1);
	check_equal(stat_now().threads, 2);
	give(1, WORK_PENDING);
	give(2, WORK_PENDING);
	pool_add_threads(pool, -1);
	resume_until(1, 2);
	give(1, WORK_OK);
	resume_until(2, 2);
	give(2, WORK_OK);
	close_all(a);
}

// A resumed item has a thread even if those that the slots have brought are busy: the slots are fewer now.
static void test_fewer_slots(void) {
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "12", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	await_call(2, 1);
	pool_add_threads(pool, 5);
	check_equal(stat_now().threads, 1);
	pool_set_slots(pool, 0);
	resume_until(1, 2); // beside the second, which runs
	give(1, WORK_OK);
	give(2, WORK_OK);
	close_all(a);
}

// One wakes the next: each of the resumed items has a thread, though none of them ends.
static void test_chain(void) {
	open_parts(3, 0);
	struct queue *a = open_queue("a", NULL);
	add(a, "123", 1);
	pool_start(pool);
	for (int i = 1; i <= 3; ++i) {
		await_call(i, 1);
	}
	for (long n = 2; n < 20; ++n) {
		for (int i = 1; i <= 3; ++i) {
			give(i, WORK_PENDING);
			resume(i);
		}
		for (int i = 1; i <= 3; ++i) {
			await_call(i, n);
		}
	}
	check_equal(stat_now().threads, 3);
	for (int i = 1; i <= 3; ++i) {
		give(i, WORK_OK);
	}
	close_all(a);
}

// ---- order ----

// The first resumed is the first called. After each of them one item begins, if a slot is free; all others come before what has not started.
static void test_order(void) {
	open_parts(3, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "123", 1);
	pool_start(pool);
	for (int i = 1; i <= 2; ++i) {
		await_call(i, 1);
		give(i, WORK_PENDING);
	}
	await_call(3, 1); // it has the only thread
	resume(2);
	resume(1);
	add(a, "45", 1);
	resume(3); // at the end: others have waited longer
	give(3, WORK_PENDING);
	await_call(2, 2);
	check_equal(atomic_load(&parts[1].resumes), 0);
	give(2, WORK_OK);
	await_call(4, 1);
	check_equal(atomic_load(&parts[1].resumes), 0);
	give(4, WORK_OK);
	await_call(1, 2);
	check_equal(atomic_load(&parts[3].resumes), 0);
	check_equal(atomic_load(&parts[5].runs), 0); // though a slot was free
	give(1, WORK_OK);
	await_call(5, 1);
	give(5, WORK_OK);
	await_call(3, 2);
	give(3, WORK_OK);
	close_all(a);
}

static enum work_status then_resume(struct worker *worker, struct queue *queue, void *data FP_UNUSED) {
	struct part *part = *worker_scratch(worker, NULL);
	uint64_t next = (uint64_t)(part - parts) + 4;
	struct work work = {.type = &part_type, .data = &next, .size = sizeof(next), .id = next, .flags = WORK_LOCAL};
	check_equal(pool_submit(pool, queue, worker, &work, 1), SUBMIT_OK);
	return WORK_OK;
}

static const struct work_type then_type = {.run = part_run, .resume = then_resume};

// What the resumed item submits for its own worker is what the thread takes next, on the same slot.
static void test_then(void) {
	open_parts(3, 1);
	struct queue *a = open_queue("a", NULL);
	queue_up_as(a, &then_type, "123", 1);
	pool_start(pool);
	for (int i = 1; i <= 3; ++i) {
		await_call(i, 1);
		give(i, WORK_PENDING);
	}
	add(a, "9", 1);
	resume(2);
	await_call(6, 1);
	check(parts[6].worker == parts[2].worker);
	check_equal(worker_slot(parts[6].worker), 2);
	check_equal(worker_facts(parts[6].worker)->source, SOURCE_OWN);
	give(6, WORK_OK);
	await_call(9, 1); // on slot 2
	check_equal(worker_slot(parts[9].worker), 2);
	give(9, WORK_OK);
	resume(3);
	await_call(7, 1);
	check(parts[7].worker == parts[3].worker);
	give(7, WORK_OK);
	resume(1);
	await_call(5, 1);
	give(5, WORK_OK);
	close_all(a);
}

// ---- what holds items that have not started does not hold these ----

static void test_pause(void) {
	open_parts(2, 0);
	struct queue *a = open_queue("a", NULL);
	add(a, "1", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	pool_pause(pool, true);
	resume_until(1, 2);
	give(1, WORK_OK);
	pool_pause(pool, false);
	close_all(a);
}

// With one_by_one the pending item is the one that must pass.
static void test_one_by_one(void) {
	config.one_by_one = true;
	open_parts(2, 0);
	struct queue *a = open_queue("a", NULL);
	add(a, "12", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	resume_until(1, 2);
	check_equal(atomic_load(&parts[2].runs), 0);
	worker_pass(parts[1].worker);
	await_call(2, 1);
	give(1, WORK_PENDING);
	give(2, WORK_OK);
	resume_until(1, 3);
	give(1, WORK_OK);
	close_all(a);
}

static _Atomic bool gate_opens;
static struct gate asked;

static uint64_t gate_asked(void *arg) {
	(void)arg;
	gate_raise(&asked);
	return atomic_load(&gate_opens) ? 0 : TIME_NEVER - 1;
}

// The only thread sleeps until hooks.gate is to be asked again.
static void test_asker(void) {
	config.hooks.gate = gate_asked;
	mutex_init(&asked.lock, LOCK_OF_TEST);
	cond_init(&asked.changed);
	atomic_store(&gate_opens, true);
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "1", 1);
	pool_start(pool);
	await_call(1, 1);
	atomic_store(&gate_opens, false);
	add(a, "2", 1);
	give(1, WORK_PENDING);
	gate_wait(&asked, 2);
	resume_until(1, 2);
	check_equal(stat_now().threads, 1);
	atomic_store(&gate_opens, true);
	give(1, WORK_OK);
	await_call(2, 1);
	give(2, WORK_OK);
	close_all(a);
}

static uint64_t gate_resumes(void *arg) {
	(void)arg;
	gate_raise(&asked);
	gate_wait(&gates[2], asked.value - 1);
	return 0;
}

// A permission of hooks.gate is kept while its thread goes on with a resumed item.
static void test_permission(void) {
	config.hooks.gate = gate_resumes;
	mutex_init(&asked.lock, LOCK_OF_TEST);
	cond_init(&asked.changed);
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "1", 1);
	pool_start(pool);
	await_call(1, 1);
	add(a, "2", 1);
	give(1, WORK_PENDING);
	gate_wait(&asked, 2); // the thread is in the hook
	resume(1);
	gate_raise(&gates[2]);
	await_call(1, 2); // before the item that was let in
	give(1, WORK_OK);
	await_call(2, 1);
	check_equal(asked.value, 2);
	give(2, WORK_OK);
	close_all(a);
}

static void on_reserving(void *arg, struct queue *queue, uint64_t id, unsigned width) {
	(void)arg, (void)queue, (void)id, (void)width;
	gate_raise(&gates[3]);
}

// The reserver waits for the slots of a pending item, which another thread resumes.
static void test_reserver(void) {
	config.hooks.reserving = on_reserving;
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	add(a, "1", 1);
	add(b, "2", 2);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	gate_wait(&gates[3], 1);
	resume_until(1, 2);
	check_equal(atomic_load(&parts[2].runs), 0);
	give(1, WORK_OK);
	await_call(2, 1);
	check_equal(worker_width(parts[2].worker), 2);
	give(2, WORK_PENDING);
	resume_until(2, 2);
	check_equal(stat_now().slots_taken, 2);
	give(2, WORK_OK);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
}

#ifdef FAIRPAR_FAULTS
// No other thread can be had than the reserver's: its item waits in the front, and the thread takes the resumed item.
static void test_reserver_alone(void) {
	setenv("FAIRPAR_FAULT", "thread:2+:EAGAIN", 1);
	config.hooks.reserving = on_reserving;
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL), *b = open_queue("b", NULL);
	add(a, "1", 1);
	add(b, "2", 2);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	gate_wait(&gates[3], 1);
	for (long n = 2; n <= 20; ++n) {
		resume(1);
		await_call(1, n);
		check_equal(atomic_load(&parts[2].runs), 0);
		give(1, n < 20 ? WORK_PENDING : WORK_OK);
	}
	await_call(2, 1);
	check_equal(stat_now().threads, 1);
	give(2, WORK_OK);
	pool_queue_close(pool, a);
	pool_queue_close(pool, b);
	close_pool();
}
#endif

// ---- lending ----

static void test_lends(void) {
	open_parts(1, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "123", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	gate_wait(&parked, 1);
	pool_lend(pool, parts[1].worker);
	await_call(2, 1); // on the slot that it has lent
	struct pool_stat stat = stat_now();
	check_equal(stat.lending, 1);
	check_equal(stat.running, 1);
	check_equal(stat.threads, 1); // no thread is away
	resume_until(1, 2); // without its slot, and beside the second
	check_equal(stat_now().threads, 2);
	pool_reclaim(pool, parts[1].worker, /* waits */ true);
	give(1, WORK_PENDING);
	check(!worker_keeps_slots(parts[1].worker));
	give(2, WORK_OK);
	expect("a1 a2 +1 "); // before a3, without a thread
	check(worker_keeps_slots(parts[1].worker));
	check_equal(stat_now().slots_taken, 1);
	pool_lend(pool, parts[1].worker);
	await_call(3, 1);
	pool_reclaim(pool, parts[1].worker, /* waits */ false);
	check_equal(stat_now().slots_taken, 2);
	give(3, WORK_OK);
	pool_lend(pool, parts[1].worker);
	pool_queue_close(pool, a);
	check_seen(removed, 0);
	resume_until(1, 3);
	give(1, WORK_OK); // it ends as it lends
	close_pool();
	check_seen(removed, 1);
}

// ---- cancel, shut down ----

static void test_shutdown(void) {
	open_parts(2, 1);
	struct queue *a = open_queue("a", NULL);
	add(a, "1234", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	await_call(2, 1);
	give(2, WORK_PENDING);
	check_equal(pool_cancel(pool, a), 2); // not what is pending
	check_equal(pool_shutdown(pool), 0);
	check(!pool_wait_idle(pool, 0));
	struct pool_stat stat = stat_now();
	check_equal(stat.running, 2);
	check_equal(stat.queued, 0);
	resume_until(1, 2);
	give(1, WORK_OK);
	resume_until(2, 2);
	give(2, WORK_OK);
	close_all(a);
	check_seen(removed, 1);
	check_seen(dropped, 2);
}

// A queue is not removed while its last item is pending.
static void test_last(void) {
	open_parts(1, 1);
	struct queue *a = open_queue("a", NULL);
	uint64_t id = 1;
	struct work last = {.type = &part_type, .data = &id, .size = sizeof(id), .id = id};
	pool_queue_set_last_item(pool, a, &last);
	pool_start(pool);
	pool_queue_close(pool, a);
	await_call(1, 1);
	give(1, WORK_PENDING);
	gate_wait(&parked, 1);
	check_seen(removed, 0);
	resume_until(1, 2);
	check_seen(removed, 0);
	give(1, WORK_OK);
	close_pool();
	check_seen(removed, 1);
}

static void wait_shown(void *arg, const struct queue_view *view) {
	*(struct queue_view *)arg = *view;
}

static void test_long(void) {
	config.max_long = 1;
	open_parts(1, 1);
	struct queue_attrs attrs = {.weight = 1, .long_running = true};
	struct queue *a = open_queue("a", &attrs);
	add(a, "12", 1);
	pool_start(pool);
	await_call(1, 1);
	give(1, WORK_PENDING);
	struct queue_view view = {0};
	pool_each_queue(pool, wait_shown, &view);
	check_equal(view.running, 1);
	check_equal(view.queued, 1);
	check_equal(view.wait, QUEUE_SLOTS);
	check_equal(stat_now().running_long, 1);
	resume_until(1, 2);
	check(worker_is_long(parts[1].worker));
	give(1, WORK_OK);
	await_call(2, 1);
	give(2, WORK_OK);
	close_all(a);
}

// ---- time ----

static _Atomic uint64_t clock_ns;
static double virt_of[PARTS]; // of its queue, when the part started

static uint64_t clock_read(void *arg) {
	(void)arg;
	return atomic_load(&clock_ns);
}

static void note_virt(void *arg, const struct service *service) {
	virt_of[service->id] = service->virt;
	note_start(arg, service);
}

static void pass_time(unsigned seconds) {
	atomic_fetch_add(&clock_ns, seconds * NS_PER_S);
}

// The queue is charged what the machine says, not what was seen here.
static void test_took(void) {
	config.fair_time = true;
	config.now = clock_read;
	config.hooks.trace = note_virt;
	atomic_store(&clock_ns, NS_PER_S);
	open_parts(1, 0);
	struct queue *a = open_queue("a", NULL);
	add(a, "12345", 1);
	pool_start(pool);
	await_call(1, 1);
	check(virt_of[1] == 0);
	give(1, WORK_PENDING);
	pass_time(10);
	atomic_store(&parts[1].took, 2 * NS_PER_S);
	resume_until(1, 2);
	give(1, WORK_OK);
	await_call(2, 1);
	check(virt_of[2] == 2);
	give(2, WORK_PENDING);
	pass_time(3);
	pool_pause(pool, true); // nothing starts on what it lends
	pool_lend(pool, parts[2].worker);
	pass_time(6);
	pool_reclaim(pool, parts[2].worker, /* waits */ false);
	pass_time(1);
	pool_pause(pool, false);
	atomic_store(&parts[2].took, 9 * NS_PER_S); // it was told late that its slots were lent
	resume_until(2, 2);
	give(2, WORK_OK);
	await_call(3, 1);
	check(virt_of[3] == 2 + 9);
	pass_time(5);
	atomic_store(&parts[3].took, 1000 * NS_PER_S); // longer than since its start
	give(3, WORK_OK);
	await_call(4, 1);
	check(virt_of[4] == 2 + 9 + 5);
	pass_time(7);
	give(4, WORK_OK); // does not say
	await_call(5, 1);
	check(virt_of[5] == 2 + 9 + 5 + 7);
	give(5, WORK_OK);
	close_all(a);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a pending item keeps its slot without a thread, and is resumed until it ends", test_states),
		TEST("calls that come while it runs count as one, and are forgotten when it ends", test_resumed_early),
		TEST("it is resumed under a lock that ranks above the pool's", test_outer_lock),
		TEST("resume may find that no slot was needed", test_not_run),
		TEST("a thousand items on slots need two threads", test_bound),
		TEST("the bound of the threads is raised for an item that blocks its thread", test_add_threads),
		TEST("a resumed item finds a thread when there are fewer slots than before", test_fewer_slots),
		TEST("each of several resumed items finds a thread", test_chain),
		TEST("the first resumed goes first; after each one item begins, and all others wait", test_order),
		TEST("what a resumed item submits stays on its slot", test_then),
		TEST("a paused pool resumes", test_pause),
		TEST("a pending item holds the others until it has passed", test_one_by_one),
		TEST("a resumed item wakes the only thread, which waits to ask whether an item may start", test_asker),
		TEST("the permission to start is kept while a resumed item goes first", test_permission),
		TEST("an item that waits for the slots of a pending one gets them", test_reserver),
#ifdef FAIRPAR_FAULTS
		TEST("its thread resumes the other one if no more threads are to be had", test_reserver_alone),
#endif
		TEST("a pending item lends its slots and wants them back", test_lends),
		TEST("what is pending is neither cancelled nor forgotten by a shutdown", test_shutdown),
		TEST("a queue stays until its last item has ended, which was pending", test_last),
		TEST("a long-running item is pending as any other", test_long),
		TEST("a queue is charged what the machine says that its item took", test_took),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
