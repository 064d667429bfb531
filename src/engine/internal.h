// The inside of the pool, shared by the files of this room. pool->lock guards everything here unless a comment says otherwise.
//
// Each file calls only files above it in this list, except for pool_now() (in group.c) and queue_check_removal() (in registry.c):
//
//	fair.c      whose turn it is
//	backfill.c  which items may start before a wide item that waits for its slots
//	front.c     what goes before the turn of any queue
//	group.c     which worker is woken or started
//	queue.c     the items that a queue holds, in memory and on disk
//	registry.c  opens and removes queues, which it finds by name, and keeps what removed queues leave behind
//	deferred.c  what is done after the lock is given back
//	worker.c    what a thread does: finds an item or parks, runs the item, and takes another item while the first one is pending
//	lend.c      items that lend their slots, and items that are brought forward
//	cancel.c    cancels queued items, and shuts the pool down
//	pool.c      the other calls of pool.h; its first comment has the design and the invariants [E1] to [E18]

#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/median.h"
#include "base/scratch_file.h"
#include "base/sync.h"
#include "engine/fair.h"
#include "engine/pool.h"

#include <stddef.h>

enum {
	HEAD_EVERY = 16, // each 16th pick of a queue takes the item at its head, before any local item
	WAITING_MOST = 64, // once this many items of a group wait without slots, only entries of the front start [E17]
	LENGTHS = 15,    // how many of a queue's last items count for its median length
	ITEM_LAST = 1 << 4, // flag of a queue's last item, which nobody cancels; enum work_flags has the other flags
};

// A queued item. The thread that submits it makes it, and the worker that has run it frees it, both without the lock.
struct queued_item {
	struct list link;        // in one list of its queue
	const struct work_type *type;
	uint64_t id;
	uint32_t size;           // bytes of data
	uint32_t turns;          // turns that its queue is charged for it, at least 1
	uint32_t width;          // slots it takes, at least 1
	uint32_t flags;          // enum work_flags, and ITEM_LAST
	char data[];
};

_Static_assert(sizeof(struct queued_item) % _Alignof(max_align_t) == 0, "the data is aligned for any object");

// Bytes of the item, in memory and in the spill file.
static inline size_t item_bytes(const struct queued_item *item) {
	return sizeof(*item) + item->size;
}

// Some items of a queue in the spill file, oldest first.
struct extent {
	struct list link;        // in queue->extents
	uint64_t offset;         // where it begins in the file
	size_t begin, end;       // what was not read back yet: the bytes from offset + begin to offset + end
};

// The local list of a worker for a queue: the items that running items of the worker have submitted to this, their own queue.
struct local {
	struct list items;       // the newest at the end
	struct list link;        // in queue->locals while `items` is not empty
};

// One of the two groups of threads and workers, with the queues that they serve: one group runs items on slots, the other on dedicated threads.
struct group {
	struct fair fair;        // the fair choice among its queues; fair.slots is the number of slots
	unsigned running;        // slots taken by running items
	unsigned lending;        // items that lend their slots and are in no other count [E12]; their threads take no other items
	unsigned lending_pending; // how many items of `lending` are PENDING, and so need no threads
	unsigned waiting;        // how many items of `lending` are between worker_wait_begin() and worker_wait_end() [E17]
	struct worker *reserver; // worker that reserves the free slots for its wide item [E9], or NULL; some items may start before that item [E15]
	struct list front;       // entries of struct front, the first one first
	unsigned nthreads;
	unsigned thread_limit;   // how many threads there were when a further one could not be started; UINT32_MAX before that
	bool waking;             // a thread was woken or started and has not had the lock since
	struct runner *idle;     // stack of parked threads, linked by runner.below
	struct runner *timer;    // parked thread, not in `idle`, that wakes by itself at `timer_due` for a queue with a rate [E14]; or NULL
	struct list resumed;     // workers whose items are RESUMED, the first one first [E18]
	struct worker *spares;   // stack of workers without an item and without a thread
	uint64_t timer_due;
	uint64_t released;       // time of the last fair_release()
};

// What goes before the turn of any queue [E13]: an item that was brought forward, a queue's last item, or an item that wants its slots back.
struct front {
	struct list link;        // in group->front
	struct queue *queue;     // pinned
	struct worker *worker;   // the worker whose item wants its slots back; NULL: `item` is to start
	struct queued_item *item; // the item that is to start; NULL if `worker` is set
};

enum lend_state { KEEPS, LENDS, RETURNS }; // an item keeps its slots; lends them; still lends them and wants them back

// A thread of the pool.
struct runner {
	struct pool *pool;
	struct group *group;
	struct worker *worker;   // the worker for which the thread runs an item, or looks for one; only the thread changes this pointer
	struct runner *below;    // the next thread in the stack group->idle
	cond wake;
	bool woken;              // another thread has woken this one, which has not had the lock since
	bool parked;             // it waits in runner_park()
	bool may_start;          // hooks.gate, if any, has let the thread start its next item. Only the thread uses this and the next three members
	bool has_resumed;        // its last item was a resumed one: an item is to begin next, as the worker's memory is in the cache
	bool wants_flush;        // worker_request_flush() was called
	uint64_t gated;          // for facts.gated: nanoseconds for which hooks.gate let no item start
	thread handle;
};

// Where a worker's item is, from its start to its end [E18]. Enforced by worker_begin(), runner_let_go(), pool_resume(), runner_take():
//
//	worker_begin  -> RUNNING         run or resume returns WORK_PENDING: -> PENDING; another status: the end
//	RUNNING       -> RESUMED_EARLY   pool_resume()
//	RESUMED_EARLY -> RESUMED         run or resume returns WORK_PENDING; another status: the end
//	PENDING       -> RESUMED         pool_resume()
//	RESUMED       -> RUNNING         a thread takes it, and calls resume
enum work_state {
	RUNNING,                 // on worker->runner
	RESUMED_EARLY,           // on worker->runner, and pool_resume() was called meanwhile
	PENDING,                 // without a thread
	RESUMED,                 // without a thread, in group->resumed
};

struct worker {
	struct pool *pool;
	struct group *group;
	struct runner *runner;   // the thread that works for it; NULL: none
	struct worker *below;    // the next worker in the stack group->spares
	struct list resumed;     // in group->resumed
	unsigned index;          // its index in pool->workers
	void *scratch;           // for the pool's owner (worker_scratch()); only the worker's thread uses it
	void (*scratch_fini)(void *);
	// the members below are those of the running item; the worker's thread reads them without the lock
	struct queue *queue;     // the item's queue; NULL: no item runs
	enum work_state state;
	bool has_run;            // work_type.run was called; the next call is work_type.resume
	uint64_t took;           // `ns` of worker_set_took(); TIME_NEVER: it was not called
	struct queued_item *item; // the running item, or the item of reserved_queue, which waits for its slots
	unsigned slot;           // the item's slot number, which is marked in pool->numbers
	enum lend_state lending;    // RETURNS: `back` is in group->front
	struct front back;       // the entry of the front by which the item wants its slots back
	uint64_t expected;       // the median length of its queue's items when the item began; 0: not known
	uint64_t lent_at, away;  // when the item began to lend its slots; for how many nanoseconds it had no slots before that
	uint32_t width;          // slots that the item takes, or wants while it waits for them
	uint32_t extra;          // how many of the item's slots, beyond the first, are charged to its queue in the fair choice
	uint64_t token_due;      // when the token comes that follows the one that the item took of its queue's rate; 0: the item took no token
	struct queue *reserved_queue; // queue of the item that was taken and waits for its slots (`queue` is NULL then); NULL: none
	unsigned flags;          // flags of the item
	struct facts facts;
	struct fair_job job;     // the running item, for the fair choice with fair.time
};

struct queue {
	struct fair_queue fair;
	struct pool *pool;
	struct group *group;
	struct queue_attrs attrs;
	void *user;              // see queue_user()
	atomic_uint_least64_t user_count; // see queue_user_count()
	const char *name;
	uint32_t number;         // index of its name in pool->names
	struct list link;        // in pool->queues, or pool->zombies
	struct queue *next_removed; // the next queue in the list deferred.removed; this queue itself: hooks.removed has returned for it
	uint32_t opens;          // how many calls of pool_queue_open() were not matched by pool_queue_close() yet
	uint32_t pins;           // how many threads, entries of the front and items without slots keep the queue from being removed
	bool closed;             // the queue takes no more work from outside
	bool removed;
	bool low_armed;          // hooks.low is to be called when few bytes are queued
	bool had_last;           // pool_queue_set_last_item() was called
	uint8_t picks;           // counts picks, for HEAD_EVERY; wraps
	uint32_t widest;         // the greatest width of its items so far; 0: it has had none
	uint64_t submitted;      // how many items were submitted so far
	uint64_t limit_left;     // limit_left and limit_why are copied to the members of these names in struct facts
	int limit_why;
	unsigned holds;          // how many of its items are between worker_wait_begin() and worker_wait_end(): it is paused meanwhile [E17]
	size_t bytes;            // bytes of the queued items, without those in the front and in `exempt`
	struct list items;       // the oldest items, in memory
	struct list extents;     // the items behind those of `items`, on disk
	struct list tail;        // the newest items, in memory
	size_t tail_bytes;       // bytes of the items in `tail`
	uint64_t touched;        // counts the changes of the tail, except additions at its end
	struct list spillable;   // in pool->spillable while the tail is worth writing and no thread writes it
	uint64_t nfront;         // how many of its items are in group->front; these are not in fair.backlog
	struct list exempt;      // items that are exempt from the rate: fair.exempt of them
	uint64_t nlocal;         // items in local lists
	struct list locals;      // local lists that are not empty; thieves begin with the first and move it to the end
	struct local **local_of; // the workers' local lists for this queue, by worker->index; `nlocal_of` entries, NULL: no list yet
	unsigned nlocal_of;
	struct median *lengths;  // lengths of its last items; NULL until one has ended
	struct front *last;      // its last item, until the item is due and goes to the front [E10]; or NULL
};

// A name that the pool knows: of a queue that exists, or was removed.
struct name {
	const char *text;
	struct queue *queue;     // NULL: the queue was removed
	struct fair_tag tag;     // its place in virtual time, for the next queue of this name
	uint64_t user_count;
};

struct pool {
	mutex lock;
	struct pool_config config; // constant; how many slots there are now is in groups[0].fair.slots
	struct group groups[2];  // [0]: on slots, [1]: dedicated threads
	bool shut;
	void *(*runner_main)(void *); // the function runner_main(): a pointer, because group.c starts the threads, but does not call worker.c
	bool started, paused, quit;
	const struct worker *passing; // with one_by_one: the worker whose item must call worker_pass() or end before the next item is dispatched; or NULL
	bool idle_claimed;       // a thread calls hooks.idle, or has called it
	bool idle;               // hooks.idle has returned
	cond idle_cond;          // signalled when `idle` or `callers` changes
	unsigned callers;        // threads from outside that run deferred actions
	struct group *thread_retry; // group with work for which no thread could be started; or NULL
	struct runner *asker;    // the one thread that asks hooks.gate, or waits to ask again; or NULL
	bool asks_again;         // the asker is to ask again now
	uint64_t queued;         // items that have not started
	uint64_t dispatched, wakes;
	unsigned most_slots;     // the greatest number of slots so far: dedicated threads get numbers above it
	uint64_t *numbers;       // bitmap of the slot numbers in use; the first bit is number 1
	size_t nwords, nwords_cap;
	struct worker **workers; // by index
	size_t workers_cap;
	unsigned nworkers;
	struct runner **runners; // all threads
	size_t runners_cap;
	unsigned nrunners;
	unsigned bound;          // the most threads on slots (pool_bound_threads()), besides those of threads_away(); 0: as many as slots

	struct list queues, zombies; // zombies: removed, but not freed yet
	uint64_t nqueues;        // queues whose hooks.removed has not returned
	struct map name_numbers; // from the name of a queue to its index in `names`
	struct arena name_texts; // the texts of the names
	struct name *names;
	size_t names_cap, nnames;
	bool has_rates;          // a queue has or had a rate

	struct scratch_file *spill;
	bool spill_fails;        // the spill file could not be written, and no part of it was freed since
	struct list spillable;   // queues whose tails may be written to the spill file
	size_t item_mem;         // bytes of memory for queued items
	size_t struct_mem;       // bytes of memory for the queues themselves
	uint64_t spilled;        // bytes of items on disk
	size_t full_need;        // bytes of a refused submission: once they fit, hooks.low(NULL) is called; 0: none was refused
	bool warned_spill, warned_threads; // hooks.trouble was called because of the spill file, and because of a thread
	uint64_t demand_known;   // hooks.starving is called once the demand is greater than this [E16]
	bool surplus_reported;       // hooks.surplus was called; reset when an item uses slots (again), or by pool_drop_surplus()
};

// Deferred actions: what is left to do once the lock is given back.
struct deferred {
	struct pool *pool;
	bool any;                // one of the other fields is set
	struct runner *wake[2];  // for each group, the thread to wake; or NULL
	struct queue *removed;   // queues for hooks.removed, linked by next_removed
	struct queue *low;       // pinned; the queue for hooks.low, or NULL
	bool low_all;            // hooks.low(NULL) is to be called
	bool flush, starving, surplus; // the hooks of these names are to be called
	struct queue *reserving; // pinned; this and the next two members are for hooks.reserving
	uint64_t reserving_id;
	unsigned reserving_width;
	int close_fd;            // a descriptor to close; -1: none
	int spill_error, thread_error; // for hooks.trouble
};

#define DEFERRED_INIT(of_pool) {.pool = (of_pool), .close_fd = -1}

#define DEMAND_ANY UINT64_MAX // no demand is above it: value of demand_known at first, and from hooks.starving to the next pool_demand()

// True if items may be dispatched.
static inline bool pool_dispatches(const struct pool *pool) {
	return pool->started && !pool->paused && !pool->passing;
}

// The time by the pool's clock, in nanoseconds.
uint64_t pool_now(const struct pool *pool);

// ---- backfill.c ----

// The median length of the queue's last items, or 0 if none has ended.
static inline uint64_t queue_length(const struct queue *queue) {
	return queue->lengths ? median_get(queue->lengths) : 0;
}

// Returns the first queue whose next item may start although the group's reserver waits for its slots [E15], or NULL. As time passes without any
// other event, the answer may change from a queue to NULL, but not back.
struct queue *backfill_find(struct pool *pool, struct group *group);

// ---- front.c ----

// Returns the width, cut to the number of slots: an item that takes more could never start.
static inline uint32_t group_clamp(const struct group *group, uint32_t width) {
	return width <= group->fair.slots ? width : group->fair.slots > 0 ? group->fair.slots : 1;
}

static inline bool group_has_room(const struct group *group, uint32_t width) {
	return group->running + group_clamp(group, width) <= group->fair.slots;
}

// Returns the first entry of the front that waits for nothing but slots, or NULL.
struct front *front_first(const struct group *group);

// Adds an entry to the end of the front; or to its head, if the entry is a queue's last item. The entry's queue is pinned until front_remove().
void front_add(struct front *front);
// As front_add(), with a new entry for the item, which is in no list.
void front_add_item(struct queue *queue, struct queued_item *item);
void front_remove(struct front *front);

// Returns how many slots the entries of the front wait for, except entries that a max_parallel, a rate or a pause keeps back.
uint64_t front_slots(const struct group *group);

// Returns when the first token comes that an item in the front waits for, or TIME_NEVER.
uint64_t front_next_due(const struct group *group);

// Makes the worker's item, which lends its slots, use them again.
void front_give_back(struct worker *worker);

// Gives slots back to the first items in the front, while there are enough slots [E13]. To be called after slots become free or the front changes.
void front_settle(struct group *group);

// True if there is an item that may start, and there are slots for it.
bool group_has_work(struct pool *pool, struct group *group);

// True if the reserver can start its item now, and nothing in the front goes before it.
bool group_is_for_reserver(const struct group *group);

// True if the next item of the group to start is a queue's last item, which hooks.gate does not hold back.
bool group_is_for_last(const struct group *group);

// ---- group.c ----

// True if an item waits for slots of the group, or a reserver keeps the free slots for its item.
static inline bool group_wants(const struct group *group) {
	return fair_is_eligible(&group->fair) || group->reserver || front_first(group);
}

// Returns how many more slots, at most `most`, could be used now by items that wait for nothing else.
uint64_t group_demand(const struct pool *pool, const struct group *group, uint64_t most);

// If a worker waits to ask hooks.gate again, makes it ask now: the answer may have changed.
void pool_ask_again(struct pool *pool);

// Wakes or starts a thread if one is needed [E3]. Defers no actions but the wake and hooks.trouble. Returns whether a thread was needed.
bool group_wake_thread(struct pool *pool, struct group *group, struct deferred *deferred);

// Calls front_settle() and group_wake_thread(). If no thread was needed, but the demand has risen, defers a call of hooks.starving [E16].
void group_wake(struct pool *pool, struct group *group, struct deferred *deferred);
void groups_wake(struct pool *pool, struct deferred *deferred);

// Returns how many threads take no other item: those whose item lends its slots, and the reserver's, which waits for slots. Also counts the resumed
// items that lend their slots: each needs a thread beyond those for the slots.
static inline unsigned threads_away(const struct group *group) {
	return group->lending - group->lending_pending + (group->reserver != NULL);
}

// Puts a parked thread on top of the stack of its group's idle threads.
void idle_push(struct runner *runner);

// spare_take() takes a spare worker of the group, or makes one; spare_give() gives the worker back when it has no item.
struct worker *spare_take(struct pool *pool, struct group *group);
void spare_give(struct worker *worker);

// Charges the queue, or gives it back a part of its charge, so that it is charged for `extra` slots of the worker's item beyond the first.
void worker_charge(struct worker *worker, struct queue *queue, uint32_t extra, uint64_t now);

// Gives the token of the worker's item back to the queue, as the item is not going to run; but not if another item has taken the next token.
void worker_return_token(const struct worker *worker, struct queue *queue, uint64_t now);

// Takes the item that waits for its slots away from the reserver, which then looks for other work. The queue gets back what the item was charged.
// Returns the item, which the caller owns.
struct queued_item *reservation_cancel(struct worker *reserver, struct deferred *deferred);

// If the group needs a timer and has none, makes this thread, which is about to park, the timer. Returns whether it did.
bool timer_claim(struct runner *runner);

// Frees the worker and its scratch.
void worker_free(struct worker *worker);

// ---- lend.c ----

// Makes the threads that block in worker_wait_end() check whether they must still wait.
void waiting_wake(struct pool *pool);

// ---- queue.c ----

// Makes an item; needs no lock.
struct queued_item *item_new(const struct work *work);

// Calls work_type.drop for the item, and frees the item; without the lock.
void item_drop(struct queue *queue, struct queued_item *item);

// Adds an item to the local list of the worker `from`; if `from` is NULL, to the end of the queue.
void queue_append(struct queue *queue, struct queued_item *item, const struct worker *from);

// Takes an item of the queue, whose turn it is, for the worker.
struct queued_item *queue_take(struct queue *queue, const struct worker *worker, enum work_source *ret_source, struct deferred *deferred);

// Takes the item with that id out of the queue, wherever it stands, unless it was spilled. Returns NULL if no item in memory has the id.
struct queued_item *queue_take_id(struct queue *queue, uint64_t id);

// Moves all items but those in the front to the ends of the lists: the oldest to `items`, those on disk to `extents`, the newest to `tail`.
void queue_take_all(struct queue *queue, struct list *items, struct list *extents, struct list *tail);

// Reads as many whole items as fit in `most` bytes, at least one, and adds them to the end of the list. Returns the number of bytes read. Needs
// no lock if no other thread can reach the extent.
size_t extent_read(struct pool *pool, struct extent *extent, size_t most, struct list *items);

// Frees the extent and its room in the spill file.
void extent_free(struct pool *pool, struct extent *extent, struct deferred *deferred);

// Makes room for `need` bytes by spilling; gives the lock back meanwhile. Returns false if there is not enough room.
bool storage_make_room(struct pool *pool, size_t need, struct deferred *deferred);

// True if `need` more bytes may be queued now, or could be after spilling.
bool storage_has_room(const struct pool *pool, size_t need);

// Frees a queue that has no items any more.
void queue_free(struct queue *queue);

// ---- registry.c ----

// Pauses the queue in the fair choice if its attributes say so, or one of its items waits [E17]; otherwise ends its pause.
void queue_set_pause(struct queue *queue);

// Gives the queue in the fair choice what its attributes say.
void queue_set_fair(struct queue *queue);

// Removes the queue if it is closed, empty and unused [E5]. If it has a last item [E10], that item is run first.
void queue_check_removal(struct queue *queue, struct deferred *deferred);

// Closes the queue, even if somebody still has it open.
void queue_shut(struct queue *queue, struct deferred *deferred);

// Frees a removed queue that nobody has open any more.
void queue_retire(struct queue *queue);

// Frees the table of names, and the removed queues that somebody still has open.
void names_fini(struct pool *pool);

// ---- deferred.c ----

// Defers a call of hooks.low if the hook is armed and the queue has fewer than its low_water bytes.
void queue_note_low(struct queue *queue, struct deferred *deferred);

// Runs the deferred actions; without the lock. They may cause further deferred actions, which are run too.
void deferred_run(struct deferred *deferred);

// pool_enter() takes the lock, and returns a struct without deferred actions; pool_leave() gives the lock back, and runs the deferred actions that
// were noted meanwhile. With FP_CLEANUP(pool_leave) a block ends by this call.
struct deferred pool_enter(struct pool *pool);
void pool_leave(struct deferred *deferred);

// Defers a call of hooks.low(NULL) if there is room again for a submission that was refused.
void pool_notice(struct pool *pool, struct deferred *deferred);

// Calls hooks.idle; without the lock. Only for the thread that has set idle_claimed.
void pool_become_idle(struct pool *pool);

// ---- worker.c ----

// A thread's main function.
void *runner_main(void *arg);
