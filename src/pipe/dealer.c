// Gives data to running jobs as the data comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// Small portions (records, -N) are added to the portion that waits for a job, up to what a pipe would hold: so they are dealt out evenly,
// however late a job starts or its worker wakes. A worker is only woken when a page of data waits for it, or no more data is at hand:
// with -N1 the threads wake each other once for hundreds of records, not once for each record.

#include "pipe/block.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"

#include <errno.h>
#include <unistd.h>

enum {
	SMALL_PORTION = 32 * 1024, // the most bytes of a portion that is added to a portion that waits
	WAITING_BYTES = 64 * 1024, // the most bytes of small portions that wait for one job: what a pipe holds (pipe(7))
	WAKING_BYTES = 4096,       // when this many bytes of small portions wait, the job's worker is woken even while more data is at hand
};

struct portion {
	atomic_uint refs;
	struct buf bytes;
	bool is_for_all;
};

struct dealer {
	const struct pipe_config *config;
	mutex lock;           // guards the members below
	struct list consumers; // the consumers whose jobs still read; first the consumer that has waited longest for a portion
	bool room_wanted;     // the event loop has a portion that there was no room for
	bool due;             // a worker sleeps although a small portion waits for it
	bool ended;
	struct portion **left; // whole portions of jobs that stopped reading: they go to other jobs
	size_t nleft, left_cap;
};

struct dealer *dealer_create(const struct pipe_config *config) {
	struct dealer *dealer = NEW(struct dealer);
	dealer->config = config;
	mutex_init(&dealer->lock, LOCK_DEALER);
	list_init(&dealer->consumers);
	return dealer;
}

void dealer_destroy(struct dealer *dealer) {
	for (size_t i = 0; i < dealer->nleft; ++i) {
		portion_unref(dealer->left[i]);
	}
	free(dealer->left);
	mutex_fini(&dealer->lock);
	free(dealer);
}

// ---- portions ----

struct portion *portion_of_bytes(struct buf *bytes) {
	struct portion *portion = NEW(struct portion);
	atomic_init(&portion->refs, 1);
	buf_move(&portion->bytes, bytes);
	return portion;
}

void portion_unref(struct portion *portion) {
	// release and acquire: the portion is freed after all uses of it by other threads
	if (portion && atomic_fetch_sub_explicit(&portion->refs, 1, memory_order_acq_rel) == 1) {
		buf_fini(&portion->bytes);
		free(portion);
	}
}

// ---- dealing ----

static ssize_t write_portion(void *arg, int fd);

static void stdin_closed(void *arg) {
	consumer_leave(arg);
}

static void wake(const struct consumer *consumer) {
	wakeup_post(consumer->stdin_writer.more_fd);
}

struct consumer *dealer_add(struct dealer *dealer, struct portion *portion) {
	int fd = wakeup_open();
	if (fd < 0) {
		return NULL;
	}
	struct consumer *consumer = NEW(struct consumer);
	consumer->dealer = dealer;
	consumer->next = portion;
	consumer->stdin_writer = (struct stdin_writer){.writable = write_portion, .closed = stdin_closed, .arg = consumer, .more_fd = fd};
	FP_HOLD(&dealer->lock);
	list_push_back(&dealer->consumers, &consumer->link);
	return consumer;
}

bool dealer_has_readers(struct dealer *dealer) {
	FP_HOLD(&dealer->lock);
	return !list_is_empty(&dealer->consumers);
}

// Returns true if no portion waits for the job, or `portion` can be added to the portion that waits.
static bool has_room(const struct consumer *consumer, const struct portion *portion) {
	const struct portion *waits = consumer->next;
	size_t size = portion->bytes.len;
	return !waits || (size <= SMALL_PORTION && waits->bytes.len + size <= WAITING_BYTES && !waits->is_for_all);
}

// Returns the consumer that gets the portion, or NULL.
static struct consumer *find_consumer(struct dealer *dealer, const struct portion *portion, bool in_order) {
	list_for_each_entry(&dealer->consumers, struct consumer, consumer, link) {
		if (has_room(consumer, portion)) {
			return consumer;
		}
		if (in_order) {
			break;
		}
	}
	return NULL;
}

// Wakes the worker of the consumer if it waits.
static void wake_waiting(struct consumer *consumer) {
	if (consumer->waiting) {
		consumer->waiting = false;
		wake(consumer);
	}
}

// Gives the portion to the consumer, which goes to the end of dealer->consumers.
static void add_portion(struct dealer *dealer, struct consumer *consumer, struct portion *portion) {
	if (consumer->next) {
		buf_add(&consumer->next->bytes, portion->bytes.data, portion->bytes.len);
		portion_unref(portion);
	} else {
		consumer->next = portion;
	}
	list_remove(&consumer->link);
	list_push_back(&dealer->consumers, &consumer->link);
	bool too_little = consumer->next->bytes.len < WAKING_BYTES;
	dealer->due |= too_little && consumer->waiting;
	if (!too_little) {
		wake_waiting(consumer);
	}
}

// As dealer_deal(), but is called with the lock held.
static enum deal deal_locked(struct dealer *dealer, struct portion *portion, bool in_order) {
	bool nobody = list_is_empty(&dealer->consumers);
	struct consumer *consumer = find_consumer(dealer, portion, in_order);
	if (consumer) {
		add_portion(dealer, consumer, portion);
	}
	dealer->room_wanted = !consumer && !nobody;
	return nobody ? DEAL_NOBODY : consumer ? DEAL_OK : DEAL_FULL;
}

enum deal dealer_deal(struct dealer *dealer, struct portion *portion, bool in_order) {
	if (portion->bytes.len == 0) {
		portion_unref(portion);
		return DEAL_OK;
	}
	FP_HOLD(&dealer->lock);
	return deal_locked(dealer, portion, in_order);
}

void dealer_wake(struct dealer *dealer) {
	FP_HOLD(&dealer->lock);
	list_for_each_entry(&dealer->consumers, struct consumer, consumer, link) {
		if (dealer->due && consumer->next) {
			wake_waiting(consumer);
		}
	}
	dealer->due = false;
}

enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion) {
	bool room = true;
	FP_HOLD(&dealer->lock);
	unsigned readers = (unsigned)list_length(&dealer->consumers);
	list_for_each_entry(&dealer->consumers, struct consumer, consumer, link) {
		room = room && !consumer->next;
	}
	dealer->room_wanted = !room;
	if (room && readers > 0) {
		atomic_store_relaxed(&portion->refs, readers); // no other thread has the portion yet
		portion->is_for_all = true;
		list_for_each_entry(&dealer->consumers, struct consumer, consumer, link) {
			consumer->next = portion;
			wake_waiting(consumer);
		}
	}
	return readers == 0 ? DEAL_NOBODY : room ? DEAL_OK : DEAL_FULL;
}

enum deal dealer_deal_left(struct dealer *dealer) {
	enum deal deal = DEAL_OK;
	FP_HOLD(&dealer->lock);
	while (deal == DEAL_OK && dealer->nleft > 0) {
		deal = deal_locked(dealer, dealer->left[dealer->nleft - 1], /* in_order */ false);
		dealer->nleft -= deal == DEAL_OK;
	}
	return deal;
}

void dealer_end(struct dealer *dealer) {
	FP_HOLD(&dealer->lock);
	dealer->ended = true;
	list_for_each_entry(&dealer->consumers, struct consumer, consumer, link) {
		wake(consumer); // does no harm to a worker that does not wait: it no longer looks at stdin_writer.more_fd
	}
}

// ---- writing ----

// Takes the portion that waits, to write it. Returns false if none waits, with errno 0 at the end of the data, ENODATA before the end.
static bool take_next(struct consumer *consumer) {
	struct dealer *dealer = consumer->dealer;
	mutex_lock(&dealer->lock);
	consumer->mine = consumer->next;
	consumer->at = 0;
	consumer->next = NULL;
	bool taken = consumer->mine;
	bool ended = dealer->ended;
	consumer->waiting = !taken && !ended;
	bool room_wanted = taken && dealer->room_wanted;
	dealer->room_wanted = dealer->room_wanted && !taken;
	mutex_unlock(&dealer->lock);
	if (room_wanted) {
		wakeup_post(dealer->config->wake_fd);
	}
	errno = ended ? 0 : ENODATA;
	return taken;
}

static ssize_t write_portion(void *arg, int fd) {
	struct consumer *consumer = arg;
	if (consumer->asked) {
		wakeup_clear(consumer->stdin_writer.more_fd);
	}
	consumer->asked = false;
	if (!consumer->mine && !take_next(consumer)) {
		consumer->asked = errno == ENODATA;
		return consumer->asked ? -1 : 0;
	}
	const struct buf *bytes = &consumer->mine->bytes;
	ssize_t n = write(fd, bytes->data + consumer->at, bytes->len - consumer->at);
	if (n < 0 && errno != EAGAIN && errno != EPIPE && errno != EINTR) {
		diag_error("cannot pass data on to a job: %s", strerror(errno));
		atomic_store_relaxed(consumer->dealer->config->trouble, true);
	}
	consumer->at += n > 0 ? (size_t)n : 0;
	consumer->sent += n > 0 ? (uint64_t)n : 0;
	if (consumer->at == bytes->len) {
		portion_unref(consumer->mine);
		consumer->mine = NULL;
	}
	return n;
}

// Leaves the portion to other jobs if none of its bytes was written (`at` is 0) and other jobs may need it; else drops it. Returns true
// if the portion was left. Called with the lock held.
static bool leave_to_others(struct dealer *dealer, struct portion **portion, size_t at) {
	struct portion *left = *portion;
	*portion = NULL;
	if (!left || at > 0 || dealer->ended || left->is_for_all) {
		portion_unref(left);
		return false;
	}
	*NEW_ELEMENT(dealer->left, dealer->nleft, dealer->left_cap) = left;
	return true;
}

void consumer_leave(struct consumer *consumer) {
	struct dealer *dealer = consumer->dealer;
	bool wakes = false;
	mutex_lock(&dealer->lock);
	if (!list_is_empty(&consumer->link)) { // else the job has left before
		list_remove(&consumer->link);
		wakes = dealer->room_wanted || list_is_empty(&dealer->consumers);
		dealer->room_wanted = false;
		wakes = leave_to_others(dealer, &consumer->mine, consumer->at) || wakes;
		wakes = leave_to_others(dealer, &consumer->next, 0) || wakes;
	}
	mutex_unlock(&dealer->lock);
	if (wakes) {
		wakeup_post(dealer->config->wake_fd);
	}
}

void consumer_free(struct consumer *consumer) {
	if (consumer) {
		consumer_leave(consumer);
		close(consumer->stdin_writer.more_fd);
		free(consumer);
	}
}
