// The pool: named queues take turns on slots. Threads run the items of the queues, with local lists and work stealing.
//
// The pool knows no processes. A work item is a type (the function to call) and some bytes (the function's data); whether an item runs a child
// process, calls a function, or lends a slot to another program until the slot is given back, makes no difference to the pool.
//
// A free worker takes an item in two steps: first it picks the queue whose turn it is (engine/fair.h), then an item of that queue: the newest of its
// own local list, else the oldest of another worker's local list, else the head of the queue. A local list holds items that running items submitted
// with WORK_LOCAL. Every 16th pick of a queue takes the head first. The choice is made when a slot is free, never when the item is submitted.
//
// A wide item takes several slots (work.width). If too few are free when its turn comes, it reserves the free slots and those that become free next.
// Meanwhile another item is dispatched only if it is expected, by the median length of its queue's items, to end before the last of the wide item's
// slots is free (backfill). So narrow items cannot starve a wide item.
//
// Life of a queue:  OPEN -close-> CLOSED -empty, nothing running, its last item done-> REMOVED (the hook `removed`,
//                   exactly once)
// Life of a pool:   OPEN -shutdown, or its last queue is removed-> SHUT, for good

#pragma once

#include "base/atomic.h"
#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct queue;  // the queue of a batch
struct worker; // has at most one running item. A thread works for one worker at a time; while that item is pending, it works for another worker

enum work_status {
	WORK_OK,
	WORK_NOT_RUN,  // the item did no work (a job may be cancelled, or its files may be there already): its queue gets back what the item's slots cost
	WORK_PENDING,  // the item has not ended; it has no thread until pool_resume(), but keeps all else that a running item has
};

struct work_type {
	// Does the work of the item on the worker's thread, with no lock held; may block. `data` (of `size` bytes, aligned for any
	// object) is the worker's copy: it stays valid until the item ends.
	enum work_status (*run)(struct worker *worker, struct queue *queue, void *data, size_t size);

	// Goes on with an item that has returned WORK_PENDING, after pool_resume(); such items go before items that have not started. Called as `run`, on
	// any thread of the pool, never on two at once. NULL for items that never return WORK_PENDING.
	enum work_status (*resume)(struct worker *worker, struct queue *queue, void *data);

	// Called once, instead of run, for an item that is cancelled before it started: frees what the item owns. May be NULL. Called with no lock held,
	// on the thread that cancels.
	void (*drop)(struct queue *queue, void *data, size_t size);
};

enum work_flags {
	WORK_LOCAL = 1 << 0,  // an item that a running item submits to its own queue goes to the worker's local list, not to the queue's tail
	WORK_LENT = 1 << 1,   // the item does nothing but lend its slot to another program; the trace shows SOURCE_LENT as its source
	WORK_NO_TOKEN = 1 << 8, // the start_interval of the queue does not hold the item back, and the item's start begins no new interval
};

struct work {
	const struct work_type *type;
	const void *data;      // copied by the pool
	size_t size;           // bytes of `data`
	unsigned flags;        // enum work_flags
	unsigned width;        // slots that the item takes while it runs; 0 and 1: one. Cut to the number of slots; a dedicated thread
	                       // takes none
	uint64_t id;           // the submitter's number for the item, for the trace and pool_bring_forward()
	uint32_t turns;        // turns that the queue is charged when the item starts, unless slot-time is charged; 0 and 1: one
};

enum work_source {
	SOURCE_OWN, SOURCE_STOLEN, SOURCE_QUEUE, SOURCE_LENT, SOURCE_LONG,
	SOURCE_BACKFILL, // from a local list or the queue, and started before a wide item that waits for its slots
};

// How the running item of a worker came to be dispatched.
struct facts {
	enum work_source source;
	double lag;                 // what the item's queue was owed before this dispatch, as service.lag
	uint64_t picked;            // when the item's turn came: just before its start, unless a wide item had to wait for its slots
	uint64_t start;             // when the item was started; all times in this struct are by the pool's clock
	uint64_t limit_left;        // when max_parallel, or an item's wait (worker_wait_end()), last ceased to hold the queue back; 0: never
	int limit_why;              // what held the queue back until limit_left: `why` of worker_wait_end(); 0: max_parallel, or nothing
	uint64_t rate_left;         // when the token came that the queue's rate needs for this start; 0: no token had come, or the queue has no rate
	uint64_t gated;             // nanoseconds for which hooks.gate let no item start before it let this one start; 0: none
};

// One line of the service trace, passed to hooks.trace in exact order of dispatch, under the pool's lock.
struct service {
	uint64_t n;                 // dispatches so far, from 1
	uint64_t now;               // when, by the pool's clock
	const char *batch;          // queue name
	uint64_t id;                // struct work.id
	enum work_source source;
	unsigned slot;              // number of the slot, from 1
	uint32_t turns;             // struct work.turns, at least 1
	double virt;                // virtual time of the queue after this dispatch, in turns or seconds per weight
	double lag;                 // the service that the queue was owed (negative: had got beyond its share) before this pick, in turns or seconds
};

// What the pool calls. Each may be NULL. Unless its comment says otherwise, no lock is held and the hook may call the pool.
struct pool_hooks {
	// Nothing is queued, running or open any more. Called exactly once, as the last call, after the last queue was removed. An owner that will open
	// more queues keeps one queue open, so that this call does not come yet. (A pool that never had a queue becomes idle by pool_shutdown().)
	void (*idle)(void *arg);
	// The queue has fewer than its low_water bytes queued: armed by a submission from outside or by pool_queue_want(), and called at most once for
	// each arming. Or (queue NULL) there is room again after SUBMIT_FULL. Must not block.
	void (*low)(void *arg, struct queue *queue);
	// The queue was closed, and all its items, `submitted` in all, are done. The queue is gone after the call. The hook must not close another queue,
	// because that queue might be removed while this call still runs.
	void (*removed)(void *arg, struct queue *queue, uint64_t submitted);
	// An item is dispatched: a line of the service trace. Under the pool's lock: must not call the pool, block, allocate or format.
	void (*trace)(void *arg, const struct service *service);
	// An item with that id was taken and waits for `width` slots, until it starts or is dropped.
	void (*reserving)(void *arg, struct queue *queue, uint64_t id, unsigned width);
	// An item that has lent its slots uses them again. Under the pool's lock, with the same restrictions as `trace`.
	void (*returned)(void *arg, struct worker *worker);
	// Asked on a worker's thread before an item is dispatched, never on two threads at a time: returns 0 if an item may start now, else when to ask
	// again (now_ns() time). Also asked again when an item ends. Not asked about a queue's last item.
	uint64_t (*gate)(void *arg);
	// Called on a thread of the pool before it sleeps for want of work, if an item that ran on this thread has called worker_request_flush().
	void (*flush)(void *arg);
	// The demand has risen: waiting items could use more slots than the least number that pool_demand() has returned since this hook was last called.
	// The receiver is to call pool_demand() again. Only results below its argument `most` count; before the first of them the hook is not called.
	void (*starving)(void *arg);
	// Slots are free, and there is no work for them. Called when a worker finds no work, but not again before an item takes slots or
	// pool_drop_surplus() is called; called also at each pool_lend() that leaves slots without work.
	void (*surplus)(void *arg);
	// A warning, once for each `what`: "spill" (the spill file cannot be written) and "threads" (a thread cannot be started). `error` is an errno.
	void (*trouble)(void *arg, const char *what, int error);
	void *arg;
};

struct pool_config {
	unsigned slots;            // at least 1; threads are started only as they are needed
	unsigned max_long;         // the most dedicated threads at once, for long-running queues
	bool fair_time;            // charge slot-time instead of turns
	bool one_by_one;           // nothing is dispatched before the item that was dispatched last has called worker_pass() or ended
	size_t queue_mem;          // the most bytes of queued items in memory, of all queues; further items go to the spill file
	const char *spill_dir;     // directory of the (unlinked) spill file; opened when first needed
	size_t stack_bytes;        // stack size of a worker's thread, in bytes
	uint64_t (*now)(void *arg); // the clock; NULL: CLOCK_MONOTONIC
	struct pool_hooks hooks;
};

// Attributes of a queue; may be changed while the queue works (queue_set()).
struct queue_attrs {
	uint32_t weight;           // turns that it gets while a queue of weight 1 gets one; cut to the range 1 to FAIR_MOST_WEIGHT (engine/fair.h)
	int32_t priority;          // the highest goes first; all lower priorities together still get a sixteenth of the service
	uint32_t max_parallel;     // the most items that run at once; 0 = no limit
	bool long_running;         // each item runs on a dedicated thread, and takes no slot; only the first open of the queue sets this
	bool prefer_fairness;      // items with WORK_LOCAL go to the tail of the queue like all others
	uint64_t start_interval;   // least nanoseconds between two dispatches from the queue (its rate); 0: no rate. Its last item does not wait
	bool paused;               // no item of the queue is dispatched, and the queue gains no share meanwhile
	size_t low_water;          // bytes; see hooks.low; 0 = the hook is never called for the queue
};

// Creates a pool that takes submissions but dispatches nothing before pool_start(). The caller destroys it.
struct pool *pool_create(const struct pool_config *config);
// Limits the number of threads on slots to `threads`, at least 1, for a pool whose items are pending most of their time; without this call there may
// be a thread for each slot. Threads whose items lend their slots, or wait for slots, are not counted. To be called before pool_start().
void pool_bound_threads(struct pool *pool, unsigned threads);
// Adds `more` to the limit of pool_bound_threads(), for an item that blocks its thread for long; afterwards the caller lowers the limit again by a
// negative number. Threads that were started meanwhile stay. Does nothing if there is no limit. From any thread.
void pool_add_threads(struct pool *pool, int more);
// Lets the pool dispatch, from now on.
void pool_start(struct pool *pool);

// Joins all threads and frees everything. Only when idle or after pool_shutdown(), not from a worker.
void pool_destroy(struct pool *pool);

// Opens the queue of that name, or finds it if it is open. Each open is matched by one pool_queue_close(); the last close closes the queue. A closed
// queue that still has work becomes open again. A name that was removed and is opened again keeps its place in virtual time, the time of its rate's
// next token, and its queue_user_count(). The pointer is good until the opener's pool_queue_close(), also when pool_shutdown() has closed the queue
// before (submissions are then refused). `user` is returned by queue_user(); only the first open of a name sets it and `attrs`.
// Returns NULL with errno ESHUTDOWN when the pool no longer takes submissions from outside.
struct queue *pool_queue_open(struct pool *pool, const char *name, const struct queue_attrs *attrs, void *user);
void pool_queue_close(struct pool *pool, struct queue *queue);

// Opens the queue of that name once more, if it is there and the pool takes submissions; else NULL.
struct queue *pool_queue_find(struct pool *pool, const char *name);

// Opens an open or running queue once more, for another owner, who closes it with pool_queue_close(). The caller has the
// queue open, or runs an item of it. Returns false, having done nothing, when the pool no longer takes submissions from
// outside.
bool queue_ref(struct pool *pool, struct queue *queue) FP_NODISCARD;

// Changes the attributes, except long_running. A wide item that was taken before the queue was paused, and waits for its slots, still starts. A
// paused queue may be cancelled and closed like any other, but is not removed while it has items.
void queue_set(struct pool *pool, struct queue *queue, const struct queue_attrs *attrs);
const char *queue_name(const struct queue *queue); // borrowed, valid while the queue is
// Returns the longest time, in nanoseconds, that the queue had an item it could have started and got no turn. Time in which it was paused, or held
// back by its max_parallel or its rate, does not count. Takes no lock: only from hooks.removed, or while nothing uses the queue.
uint64_t queue_longest_wait(const struct queue *queue);
void *queue_user(const struct queue *queue);

// Returns a pointer to a number that belongs to the queue's name, for the owner's use: 0 at first, and kept when the queue is removed and opened
// again. The pointer is good while the queue is open or one of its items runs.
atomic_uint_least64_t *queue_user_count(struct queue *queue);

// Asks for one call of hooks.low when less than low_water bytes are queued; the call comes at once if less are queued now.
void pool_queue_want(struct pool *pool, struct queue *queue);

// Returns how many bytes of items are queued in the queue.
size_t pool_queue_bytes(struct pool *pool, struct queue *queue);

// Returns the most slots on which the queue's items can run: all slots, or max_parallel if that is less. *ret_lacks: how many items to submit, for a
// caller that makes items as needed: 0 if the queue has an item queued; else one for the next turn, and one for each slot that would stay free.
unsigned pool_queue_slots(struct pool *pool, struct queue *queue, unsigned *ret_lacks);

// Keeps a copy of `work` as the last item of the queue. It runs when the queue is closed and all its other items are done or dropped: before the turn
// of any queue, even if its queue is paused or the pool is shut down; only then is the queue removed. The last item is never cancelled, and counts as
// submitted once it is queued. Items that it submits to its own queue also run before the removal. A queue has one last item, even if it is opened
// again after this item was queued: a second last item is dropped at once, as is a last item for a queue that pool_shutdown() has removed already.
// Only for a pool that is started or will be: pool_destroy() waits for the last item.
void pool_queue_set_last_item(struct pool *pool, struct queue *queue, const struct work *work);

enum submit_status {
	SUBMIT_OK,
	SUBMIT_FULL,    // queue_mem is used up, and the spill file cannot take the items: nothing was taken; hooks.low(NULL) will be called.
	                // Not returned while nothing is queued at all: there is nothing to wait for
	SUBMIT_CLOSED,  // the queue was closed, or the pool was shut down: nothing was taken
};

// Submits `n` items in this order, all or none, and wakes one worker if that is needed. `from` is the worker whose
// running item submits them (nested work, which is never refused for room), or NULL for work from outside.
enum submit_status pool_submit(struct pool *pool, struct queue *queue, struct worker *from, const struct work *works,
                               size_t n) FP_NODISCARD;

// Drops all queued items of the queue before it returns, but not its last item or items that run. An item that waits for its slots counts as queued.
// Returns the number of dropped items. From any thread, also from a running item (of this or another queue). The caller has the queue open, or knows
// in another way that the queue is not removed meanwhile.
uint64_t pool_cancel(struct pool *pool, struct queue *queue);

// Cancels all queued items and closes all queues. From then on the pool takes no items, not even from running items, which end by themselves. A
// second call changes nothing. From any thread; does not wait. Returns the number of dropped items.
uint64_t pool_shutdown(struct pool *pool);

// Waits until the pool is idle and hooks.idle has returned. Not from inside an item. Returns false when `deadline` (now_ns()
// time) has passed.
bool pool_wait_idle(struct pool *pool, uint64_t deadline);

// Resumes the worker's item, whose run or resume has returned WORK_PENDING or is about to: a thread of the pool will call its `resume`. Several
// pool_resume() before that call count as one; if the item ends instead of returning WORK_PENDING, they have no effect. From any thread; the caller
// may hold locks that rank above the pool's (base/locks.def), as no hook but `trouble` is called. The caller knows that the item has not ended.
// pool_resume_all() does the same for `n` workers, and takes the pool's lock once.
void pool_resume(struct worker *worker);
void pool_resume_all(struct pool *pool, struct worker *const *workers, size_t n);

// Lends the slots of the worker's running item, which waits for other items: from now on the item takes no slots, and does not count for
// max_parallel; its queue is not removed meanwhile. From any thread; the caller knows that the item runs or is pending.
void pool_lend(struct pool *pool, struct worker *worker);

// Ends pool_lend(): the item wants its slots back. With `waits` it goes before the turn of any queue but behind items that earlier wanted their slots
// back or were brought forward; it uses the slots once hooks.returned was called, maybe before this call returns. Other items pass it only while its
// queue's max_parallel holds it back. Without `waits` it uses its slots at once, even beyond the number of slots; nothing starts until enough items
// have ended. Does nothing if the item does not lend its slots. From any thread; the caller knows that the item runs or is pending.
void pool_reclaim(struct pool *pool, struct worker *worker, bool waits);

// True if the running item of the worker does not lend its slots. From any thread; the caller knows that the item runs.
bool worker_keeps_slots(struct worker *worker);

// worker_wait_begin(): the running item, which has done nothing yet, begins to wait for something outside the pool, such as memory. It lends its
// slots as by pool_lend(). The next items of its queue would wait for the same thing: none of them starts meanwhile, except items that were brought
// forward. worker_wait_end(): the wait is over. Blocks until the item has its slots back. But the item takes its slots at once if `refusal` is NULL,
// if *refusal becomes true (its setter then calls pool_pause(), which wakes the thread), or if the pool is shut and has no slots. `why`: the caller's
// number (not 0) for what the item has waited for (facts.limit_why). Both are called on the worker's thread.
void worker_wait_begin(struct worker *worker);
void worker_wait_end(struct worker *worker, int why, const atomic_bool *refusal);

// Brings the queued item with that id (work.id) forward: it goes before the turn of any queue, behind items brought forward before. It is charged to
// its queue as any other. Other items pass it while its queue keeps it back by max_parallel, a rate or attrs.paused. If it needs more slots than are
// free, the free slots are kept for it. Returns true if it was brought forward, now or before; false if no such item waits in memory (it may be in
// the spill file). O(items of the queue). The caller has the queue open, as for pool_cancel().
bool pool_bring_forward(struct pool *pool, struct queue *queue, uint64_t id);

// Stops and starts dispatching, without touching what runs. (An item that waits for the slots it needs does not run yet.)
void pool_pause(struct pool *pool, bool paused);

// Changes the number of slots; more slots take effect at once, fewer slots as running items end.
void pool_set_slots(struct pool *pool, unsigned slots);

// Adds `more` slots, or takes some away if `more` is negative; this takes effect as with pool_set_slots().
void pool_add_slots(struct pool *pool, int more);

// Returns how many more slots, at most `most`, items that wait only for slots could use now. If the result is below `most`, hooks.starving is called
// once such items could use more slots than the result. If the result is `most`, the caller asks again when it has got or lost slots.
unsigned pool_demand(struct pool *pool, unsigned most);

// Takes away the slots on which nothing runs, unless there is work for them. Returns how many slots it took away.
unsigned pool_drop_surplus(struct pool *pool);

// Why the next item of a queue has not started.
enum queue_wait {
	QUEUE_NEXT,      // it is about to start, or waits for hooks.gate
	QUEUE_PAUSED,    // the queue or the whole pool is paused
	QUEUE_HELD,      // an item of the queue waits for something that its next items need, too (worker_wait_begin())
	QUEUE_LIMIT,     // max_parallel
	QUEUE_RATE,      // start_interval of the queue has not passed
	QUEUE_SLOTS,     // all slots are taken
	QUEUE_GATHERS,   // its turn has come, and it waits for all the slots that it needs
	QUEUE_BEHIND,    // an item of another queue gathers its slots: only items that are expected to end before that item starts may start
};

struct queue_view {
	const char *name;    // borrowed from the pool
	uint64_t queued, running; // items
	enum queue_wait wait;
	bool is_long;        // served by dedicated threads
	uint32_t limit;      // max_parallel, 0: none
	uint64_t interval;   // start_interval, 0: none
	uint64_t wait_ns;    // QUEUE_RATE: nanoseconds until start_interval has passed
	unsigned slots;      // slots of the pool; for a long-running queue, its most dedicated threads
	unsigned width;      // QUEUE_GATHERS, QUEUE_BEHIND: the slots that the gathering item needs (with QUEUE_BEHIND an item of another queue)
};

typedef void queue_view_fn(void *arg, const struct queue_view *view);

// Calls `fn`, without a lock, for each queue with an item that has not started; all the views are of one moment.
void pool_each_queue(struct pool *pool, queue_view_fn *fn, void *arg);

struct pool_stat {
	uint64_t queued;     // items not yet started
	uint64_t running;    // items on slots, pending items included
	uint64_t lending;    // items that lend their slots; they are in no other count
	uint64_t running_long;
	uint64_t slots_taken; // slots that the items on slots take
	uint64_t dispatched; // items dispatched so far
	uint64_t wakes;      // how often parked workers were woken, so far
	unsigned threads;
	size_t mem_bytes;    // bytes of queued items in memory
	uint64_t spilled_bytes;
};
// Fills in the figures as they are at one moment.
void pool_stat(struct pool *pool, struct pool_stat *ret_stat);

// ---- a worker, asked from its running item ----

struct queue *worker_queue(const struct worker *worker); // the queue of its running item
// Returns the number of the worker's slot, which is constant while its item runs; no two running items have the same number. It is the lowest free
// number, from 1: at most the number of slots, unless items that lend their slots keep numbers. A dedicated thread has a number above the greatest
// number of slots so far.
unsigned worker_slot(const struct worker *worker);
// Whether the worker is a dedicated thread.
bool worker_is_long(const struct worker *worker);
// Slots that the running item takes: its width, cut to the slots there were when it started.
unsigned worker_width(const struct worker *worker);
// Called by the worker's running item, with pool_config.one_by_one: lets the next item be dispatched. Else, or at a second call, does nothing.
void worker_pass(struct worker *worker);
// Called by the worker's running item: has the hook `flush` called once before the worker's thread sleeps.
void worker_request_flush(struct worker *worker);
// How the running item came to be dispatched.
const struct facts *worker_facts(const struct worker *worker);
// Called by the worker's running item: says that the item has used its slots for `ns` nanoseconds, cut to the time since its start. This time counts
// as the item's length and, under fair_time, is charged, in place of the time that the pool has measured. Ignored if the item returns WORK_NOT_RUN.
void worker_set_took(struct worker *worker, uint64_t ns);
// Scratch that the owner of the pool keeps for each worker: a pointer, NULL at first, freed by `fini` at pool_destroy(). A pending item keeps it.
void **worker_scratch(struct worker *worker, void (*fini)(void *));
