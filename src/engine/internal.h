// The inside of the pool, shared by the files of this room. Everything here is under pool->lock unless it says otherwise.
//
// Each file calls only those above it:
//
//	fair.c      whose turn it is
//	backfill.c  which items may pass one that gathers its slots
//	front.c     who goes before the turn of any queue
//	group.c     which worker is woken or started
//	queue.c     the items that a queue holds, in memory and on disk
//	registry.c  queues by name: open, remove, remember
//	deferred.c  what is done once the lock was given back
//	worker.c    a worker's thread: find an item, park, run
//	cancel.c    cancel and shut down
//	lend.c      items that lend their slots, and those that are brought forward
//	pool.c      the other calls from outside, and the design

#pragma once

#include "base/attr.h"
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
	HEAD_EVERY = 16, // each 16th pick of a queue takes its head first
	LENGTHS = 15,    // of the last items whose median length is expected of the next
	ITEM_LAST = 1 << 4, // in the flags of a queue's last item, which nobody cancels; enum work_flags has the others
};

// A queued item. The thread that submits it makes it, and the worker that has run it frees it, both without the lock.
struct queued_item {
	struct list link;        // in one list of its queue
	const struct work_type *type;
	uint64_t id;
	uint32_t size;           // bytes of data
	uint32_t turns;          // that it is charged, at least 1
	uint32_t width;          // slots it takes, at least 1
	uint32_t flags;          // enum work_flags
	char data[];
};

_Static_assert(sizeof(struct queued_item) % _Alignof(max_align_t) == 0, "the data is aligned for any object");

// Bytes of it, in memory and in the spill file.
static inline size_t item_bytes(const struct queued_item *item) {
	return sizeof(*item) + item->size;
}

// Some items of a queue in the spill file, oldest first.
struct extent {
	struct list link;        // in queue->extents
	uint64_t offset;         // in the file
	size_t begin, end;       // bytes, behind the offset, of those that were not read back
};

// The items that one worker's items submitted to their own queue.
struct local {
	struct list items;       // the newest at the end
	struct list link;        // in queue->locals while it is not empty
};

// One of two groups of workers, with the queues they serve: those on slots, or dedicated threads.
struct group {
	struct fair fair;        // with the number of slots
	unsigned running;        // slots taken by running items
	unsigned lending;        // items that lend theirs, which are in no count [E12]: their threads take no others
	struct worker *reserver; // has taken a wide item and reserves the free slots for it [E9]; backfill may pass it [E15]
	struct list front;       // of struct front
	unsigned nthreads;
	unsigned thread_limit;   // no more can be started
	bool waking;             // a worker was woken or started and has not had the lock since
	struct worker *idle;     // stack of parked workers
	struct worker *timer;    // parked too, but not in it: it wakes at `timer_due`, for a queue with a rate [E14]
	uint64_t timer_due;
	uint64_t released;       // tokens of rates have been looked for up to this time
};

// Who goes before the turn of any queue [E13]: an item that was brought forward, or a worker whose item wants its slots back.
struct front {
	struct list link;        // in group->front
	struct queue *queue;     // pinned
	struct worker *worker;   // or NULL:
	struct queued_item *item;
};

enum lend_state { KEEPS, LENDS, RETURNS };

struct worker {
	struct pool *pool;
	struct group *group;
	struct worker *below;    // in the idle stack
	cond wake;
	bool woken;
	bool parked;
	bool started;            // `thread` is to be joined
	unsigned index;          // from 0
	thread thread;
	void *scratch;           // of the pool's owner; only the worker touches it
	void (*scratch_fini)(void *);
	// the running item; read by the worker without the lock
	struct queue *queue;     // NULL: none
	struct queued_item *item; // the running one, until it has run; or the one of reserved_queue
	unsigned slot;           // number in pool->numbers
	enum lend_state lending;    // RETURNS: `back` is in group->front
	struct front back;
	uint64_t start;
	uint64_t expected;       // the median length of its queue's items when it began; 0: not known
	uint64_t lent_at, away;  // when it began to lend its slots, and for how long it has had none
	uint32_t width;          // slots it takes; while it is held: would take
	uint32_t extra;          // slots beyond the first that it is charged for in the fair choice
	uint64_t token_due;      // of a queue with a rate: when the token comes that follows the item's
	struct queue *reserved_queue; // of an item that was taken and waits for its slots, so that `queue` is NULL; NULL: none
	unsigned flags;          // of the item, and its id
	uint64_t id;
	struct facts facts;
	bool wants_flush;        // worker_request_flush() was called; only the worker touches it
	struct fair_job job;     // under fair time: of the running item
};

struct queue {
	struct fair_queue fair;
	struct pool *pool;
	struct group *group;
	struct queue_attrs attrs;
	void *user;
	atomic_uint_least64_t user_count; // the owner's
	const char *name;
	uint32_t number;         // in pool->names
	struct list link;        // in pool->queues, or pool->zombies
	struct queue *next_removed; // in deferred.removed
	uint32_t opens;          // pool_queue_open() without pool_queue_close()
	uint32_t pins;           // threads that use it without the lock
	bool closed;             // no more work from outside
	bool removed;
	bool low_armed;
	bool had_last;           // pool_queue_set_last_item() was called
	uint8_t picks;
	uint32_t widest;         // most slots that any of its items so far takes; 0: it has had none
	uint64_t submitted;
	uint64_t limit_left;     // see struct facts
	size_t bytes;            // of items queued, but for those in front and exempt
	struct list items;       // the oldest
	struct list extents;     // those behind, on disk
	struct list tail;        // the newest
	size_t tail_bytes;       // of these
	uint64_t touched;        // how often anything but an item at the end was added to the tail or taken from it
	struct list spillable;   // in pool->spillable while it is worth writing the tail, and nobody does
	uint64_t nfront;         // items in group->front: not in the backlog
	struct list exempt;      // the fair.exempt items
	uint64_t nlocal;         // items in local lists
	struct list locals;      // local lists that are not empty; thieves begin with the first and move it to the end
	struct local **local_of; // by worker->index, as far as it goes
	unsigned nlocal_of;
	struct median *lengths;  // of its last items; NULL until one has ended
	struct front *last;      // its last item, until that is due and goes to the front [E10]; or NULL
};

// A name that the pool knows: that of a queue that is there, or was removed.
struct name {
	const char *text;
	struct queue *queue;     // or NULL:
	struct fair_tag tag;     // what it has left behind
	uint64_t user_count;
};

struct pool {
	mutex lock;
	struct pool_config config; // constant but for slots, which is in groups[0].fair.slots
	struct group groups[2];  // slots, dedicated threads
	bool shut;
	void *(*worker_main)(void *); // what a worker's thread does: worker.c's, which stands above who starts it
	bool started, paused, quit;
	const struct worker *passing; // with one_by_one: whose item has to pass before the next is dispatched, or NULL
	bool dispatches;         // started, not paused, and nobody is passing
	bool idle_claimed;       // somebody calls hooks.idle
	bool idle;               // hooks.idle has returned
	cond idle_cond;          // `idle` and `callers`
	unsigned callers;        // threads from outside that run deferred actions
	struct group *thread_retry; // has work, and no thread could be started for it
	struct worker *asker;    // asks hooks.gate, for all, or waits to ask again
	bool asks_again;         // it is to ask again now
	uint64_t queued;         // items that have not started
	uint64_t dispatched, wakes;
	unsigned most_slots;     // greatest capacity of the slots so far: dedicated threads are numbered above it
	uint64_t *numbers;       // bit set: those of items, from 1
	size_t nwords, nwords_cap;
	struct worker **workers; // by index
	size_t workers_cap;
	unsigned nworkers;

	struct list queues, zombies; // zombies: removed, but somebody has them open still
	uint64_t nqueues;        // queues whose hooks.removed has not returned
	struct map name_numbers; // of the texts in name_texts: in `names`
	struct arena name_texts;
	struct name *names;
	size_t names_cap, nnames;
	bool has_rates;          // a queue has had one

	struct scratch_file *spill;
	bool spill_fails;        // it could not be written, and nothing of it has been freed since
	struct list spillable;   // queues
	size_t item_mem;         // bytes of memory for queued items
	size_t struct_mem;       // bytes of memory for the queues themselves
	uint64_t spilled;        // bytes of items on disk
	size_t full_need;        // bytes that were refused; hooks.low(NULL) is due when they fit; 0: not armed
	bool warned_spill, warned_threads; // hooks.trouble was called
	uint64_t demand_known;   // hooks.starving is due when the demand is greater [E16]
	bool surplus_reported;       // hooks.surplus was called, and nothing has begun since, nor was pool_drop_surplus() called
};

// Deferred actions: what is left to do once the lock is given back.
struct deferred {
	bool any;                // one of the others is set
	struct worker *wake[2], *start[2]; // by group
	struct queue *removed;
	struct queue *low;
	bool low_all;
	bool flush, starving, surplus; // for the hooks of these names
	struct queue *reserving; // pinned; for the hook of that name:
	uint64_t reserving_id;
	unsigned reserving_width;
	int close_fd;            // -1: none
	int spill_error;         // for hooks.trouble
};

#define DEFERRED_INIT {.close_fd = -1}

#define DEMAND_ANY UINT64_MAX // pool.demand_known: hooks.starving is not due, as nobody has asked yet, or its receiver is about to ask again

// The time.
uint64_t pool_now(const struct pool *pool);

// ---- backfill.c ----

// The median length of the queue's last items, or 0 if none has ended.
static inline uint64_t queue_length(const struct queue *queue) {
	return queue->lengths ? median_get(queue->lengths) : 0;
}

// Returns the first queue whose next item may start although the group's reserver waits for its slots [E15], or NULL. As time
// passes without any other event, a queue may become NULL, but not the reverse.
struct queue *backfill_find(struct pool *pool, struct group *group);

// ---- front.c ----

// An item takes no more slots than there are, so that it can start some time.
static inline uint32_t group_clamp(const struct group *group, uint32_t width) {
	return width <= group->fair.slots ? width : group->fair.slots > 0 ? group->fair.slots : 1;
}

static inline bool group_has_room(const struct group *group, uint32_t width) {
	return group->running + group_clamp(group, width) <= group->fair.slots;
}

// The first in the front that only its slots may keep from going on, or NULL.
struct front *front_first(const struct group *group);

// Puts an entry at the end of the front, or a last item before all others. Its queue is pinned until front_remove().
void front_add(struct front *front);
void front_remove(struct front *front);

// The slots that those in the front wait for, but for whom max_parallel or a rate keeps back.
uint64_t front_slots(const struct group *group);

// When the first token comes that an item in the front waits for, or TIME_NEVER.
uint64_t front_next_due(const struct group *group);

// The item of the worker uses its slots again. It must lend them.
void front_give_back(struct worker *worker);

// Gives slots back to those who are first, as far as there are any [E13]. After all that frees slots, or changes who is first.
void front_settle(struct group *group);

// True if there is an item that may start, and slots for it.
bool group_has_work(struct pool *pool, struct group *group);

// True if the reserver can start its item now, and nobody goes before it.
bool group_is_for_reserver(const struct group *group);

// True if the group is to start a queue's last item next, which no gate holds.
bool group_is_for_last(const struct group *group);

// ---- group.c ----

// True if an item waits for slots of the group, or a reserver keeps the free ones.
static inline bool group_wants(const struct group *group) {
	return fair_is_eligible(&group->fair) || group->reserver || front_first(group);
}

// Returns how many more slots, at most `most`, could be used now by items that wait for nothing else.
uint64_t group_demand(const struct pool *pool, const struct group *group, uint64_t most);

// Has hooks.gate asked again, if it has let nothing start: the answer may be another one.
void pool_ask_again(struct pool *pool);

// Chooses a worker to wake or to start if one is needed [E3]; or has hooks.starving called if the demand has risen [E16].
void group_wake(struct pool *pool, struct group *group, struct deferred *deferred);
void groups_wake(struct pool *pool, struct deferred *deferred);

// Puts a parked worker on top of the stack.
void idle_push(struct worker *worker);

// Makes the worker, which is about to park, the group's timer if it needs one and has none. Returns whether it did.
bool timer_claim(struct worker *worker);

// Starts the thread of a worker that group_wake() chose; without the lock.
void worker_start(struct worker *worker, struct deferred *deferred);

// Frees the worker and its scratch, when its thread was joined or never started.
void worker_free(struct worker *worker);

// ---- queue.c ----

// Makes an item; needs no lock.
struct queued_item *item_new(const struct work *work);

// Calls drop for the item and frees it; without the lock.
void item_drop(struct queue *queue, struct queued_item *item);

// Adds an item. `from`: to that worker's local list; NULL: to the end.
void queue_append(struct queue *queue, struct queued_item *item, const struct worker *from);

// Takes an item for the worker, whose turn fair_pick() has given to the queue.
struct queued_item *queue_take(struct queue *queue, const struct worker *worker, enum work_source *ret_source, struct deferred *deferred);

// Takes the item with that id out of the queue, wherever it stands, unless it was spilled. Returns NULL if no item in memory has the id.
struct queued_item *queue_take_id(struct queue *queue, uint64_t id);

// Takes all items that queue_append() has added, and those that are exempt from the rate: to the end of the lists, which are in
// this order.
void queue_take_all(struct queue *queue, struct list *items, struct list *extents, struct list *tail);

// Reads as many whole items as fit in `most` bytes, at least one, to the end of the list. Returns their bytes. Needs no lock if
// the extent is the caller's.
size_t extent_read(struct pool *pool, struct extent *extent, size_t most, struct list *items);

// Frees the extent and what it has of the spill file.
void extent_free(struct pool *pool, struct extent *extent, struct deferred *deferred);

// Makes room for `need` bytes by spilling; gives the lock back meanwhile. Returns false if there is none.
bool storage_make_room(struct pool *pool, size_t need, struct deferred *deferred);

// True if `need` more bytes may be queued now, or could be after spilling.
bool storage_has_room(const struct pool *pool, size_t need);

// Frees a queue that has no items any more.
void queue_free(struct queue *queue);

// ---- registry.c ----

// Gives the queue the rate of these attributes.
void queue_set_rate(struct queue *queue, const struct queue_attrs *attrs);

// Removes the queue if it is closed, empty and unused [E5]; but first has its last item run if it has one [E10].
void queue_check_removal(struct queue *queue, struct deferred *deferred);

// Closes the queue, whoever has it open.
void queue_shut(struct queue *queue, struct deferred *deferred);

// Frees a removed queue that nobody has open any more.
void queue_retire(struct queue *queue);

// Frees the table of names, and the removed queues that somebody still has open.
void names_fini(struct pool *pool);

// ---- deferred.c ----

// Has hooks.low called if that was asked for and fewer bytes are queued than the queue wants.
void queue_note_low(struct queue *queue, struct deferred *deferred);

// Runs the deferred actions; without the lock. They may lead to others, which are run too.
void deferred_run(struct pool *pool, struct deferred *deferred);

// Gives the lock back and runs the deferred actions; for threads from outside.
void pool_leave(struct pool *pool, struct deferred *deferred);

// Notices that there is room again for what was refused.
void pool_notice(struct pool *pool, struct deferred *deferred);

// Calls hooks.idle; without the lock. Only for who has set idle_claimed.
void pool_become_idle(struct pool *pool);

// ---- worker.c ----

// The thread of a worker.
void *worker_main(void *arg);

// The item that the worker has taken is not going to run: gives its token back, unless another has had the next one.
void worker_return_token(const struct worker *worker, struct queue *queue, uint64_t now);

// ---- cancel.c ----

// Takes the item that a worker holds, while it waits for its slots, away from that worker, who need not know: it looks for
// other work. Its turns are given back. Returns the item, which is the caller's.
struct queued_item *reservation_cancel(struct worker *reserver, struct deferred *deferred);
