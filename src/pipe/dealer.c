// Data that goes to running jobs as it comes, through the pipes that are their standard inputs: --round-robin, --tee.
//
// Small portions (records, -N) are added to the one that waits, as far as a pipe would hold them: so they are dealt
// evenly, however late a job starts or its worker wakes. And a worker is only woken when a page of them is there, or no
// more are at hand: with -N1 that is one turn of all involved for hundreds of records, not for each.

#include "pipe/dealer.h"

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "base/transfer.h"
#include "pipe/block.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

enum {
	WAITING_BYTES = 64 * 1024, // of small portions for one job: what a pipe holds (pipe(7))
	WAKING_BYTES = 4096,       // … that are worth waking its worker while there are more
};

struct portion {
	atomic_uint refs;
	int fd;               // of a file that holds the bytes, or -1
	struct buf bytes;     // else they are here
	uint64_t size;
	bool is_for_all;
};

// What of a portion is a job's.
struct share {
	struct portion *portion; // or NULL
	uint64_t start, at;
};

struct consumer {
	struct list link;     // of dealer->turns until it has left; guarded by the dealer's lock
	struct consumer *older;   // the event loop's list of all
	struct dealer *dealer;
	struct stdin_writer stdin_writer;
	bool asked;           // the next three are its worker's own: it was told to wait for stdin_writer.more_fd
	uint64_t sent;
	struct share mine;    // is being written
	struct share next;    // this and what follows is guarded by the lock
	bool waiting;         // is to be woken by stdin_writer.more_fd
	bool gone;
};

struct dealer {
	const struct pipe_config *config;
	struct consumer *newest;  // the event loop's own
	mutex lock;           // guards what follows
	struct list turns;    // who has waited longest is first
	unsigned readers;
	bool room_wanted;          // the event loop has a portion that there was no room for
	bool due;             // somebody waits for the little that is there
	bool ended;
	struct share *left;   // by jobs that read no more
	size_t nleft, left_cap;
};

struct dealer *dealer_create(const struct pipe_config *config) {
	struct dealer *dealer = NEW(struct dealer);
	dealer->config = config;
	mutex_init(&dealer->lock, LOCK_DEALER);
	list_init(&dealer->turns);
	return dealer;
}

void dealer_destroy(struct dealer *dealer) {
	for (struct consumer *consumer = dealer->newest, *older; consumer; consumer = older) {
		older = consumer->older;
		consumer_leave(consumer);
		close(consumer->stdin_writer.more_fd);
		free(consumer);
	}
	for (size_t i = 0; i < dealer->nleft; ++i) {
		portion_unref(dealer->left[i].portion);
	}
	free(dealer->left);
	mutex_fini(&dealer->lock);
	free(dealer);
}

// ---- portions ----

struct portion *portion_of_fd(int fd, uint64_t size) {
	struct portion *portion = NEW(struct portion);
	atomic_init(&portion->refs, 1);
	portion->fd = fd;
	portion->size = size;
	return portion;
}

struct portion *portion_of_bytes(struct buf *bytes) {
	struct portion *portion = portion_of_fd(-1, bytes->len);
	portion->bytes = *bytes;
	*bytes = (struct buf)BUF_INIT;
	return portion;
}

void portion_unref(struct portion *portion) {
	// release and acquire: who frees it comes behind all that others did with it
	if (atomic_fetch_sub_explicit(&portion->refs, 1, memory_order_acq_rel) > 1) {
		return;
	}
	fd_close(&portion->fd);
	buf_fini(&portion->bytes);
	free(portion);
}

static void share_drop(struct share *share) {
	if (share->portion) {
		portion_unref(share->portion);
		share->portion = NULL;
	}
}

// ---- dealing ----

static ssize_t write_share(void *arg, int fd);

static void share_closed(void *arg) {
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
	consumer->next.portion = portion;
	consumer->stdin_writer = (struct stdin_writer){.writable = write_share, .closed = share_closed, .arg = consumer, .more_fd = fd};
	consumer->older = dealer->newest;
	dealer->newest = consumer;
	mutex_lock(&dealer->lock);
	list_push_back(&dealer->turns, &consumer->link);
	++dealer->readers;
	mutex_unlock(&dealer->lock);
	return consumer;
}

unsigned dealer_readers(struct dealer *dealer) {
	mutex_lock(&dealer->lock);
	unsigned readers = dealer->readers;
	mutex_unlock(&dealer->lock);
	return readers;
}

// True if nothing waits for the job, or the bytes can be added to what does.
static bool has_room(const struct consumer *consumer, const struct portion *portion, uint64_t size) {
	const struct portion *waits = consumer->next.portion;
	return !waits || (waits->fd < 0 && portion->fd < 0 && size <= SMALL_PORTION && waits->bytes.len + size <= WAITING_BYTES
	                  && !waits->is_for_all);
}

// The one that gets the portion, or NULL.
static struct consumer *find_consumer(struct dealer *dealer, const struct portion *portion, uint64_t size, bool in_order) {
	list_for_each(&dealer->turns, at) {
		struct consumer *consumer = list_entry(at, struct consumer, link);
		if (has_room(consumer, portion, size)) {
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

// The consumer gets it, and is last from now on.
static void add_share(struct dealer *dealer, struct consumer *consumer, const struct share *share) {
	struct portion *portion = share->portion;
	if (consumer->next.portion) {
		struct portion *waits = consumer->next.portion;
		buf_add(&waits->bytes, portion->bytes.data + share->at, portion->bytes.len - (size_t)share->at);
		waits->size = waits->bytes.len;
		portion_unref(portion);
	} else {
		consumer->next = *share;
	}
	list_remove(&consumer->link);
	list_push_back(&dealer->turns, &consumer->link);
	bool too_little = consumer->next.portion->fd < 0 && consumer->next.portion->bytes.len < WAKING_BYTES;
	dealer->due |= too_little && consumer->waiting;
	if (!too_little) {
		wake_waiting(consumer);
	}
}

// With the lock, as what follows.
static enum deal deal_share(struct dealer *dealer, const struct share *share, bool in_order) {
	bool nobody = dealer->readers == 0;
	struct consumer *consumer = find_consumer(dealer, share->portion, share->portion->size - share->at, in_order);
	if (consumer) {
		add_share(dealer, consumer, share);
	}
	dealer->room_wanted = !consumer && !nobody;
	return nobody ? DEAL_NOBODY : consumer ? DEAL_OK : DEAL_FULL;
}

enum deal dealer_deal(struct dealer *dealer, struct portion *portion, uint64_t skip, bool in_order) {
	if (portion->size == skip) {
		portion_unref(portion);
		return DEAL_OK;
	}
	mutex_lock(&dealer->lock);
	enum deal deal = deal_share(dealer, &(struct share){.portion = portion, .start = skip, .at = skip}, in_order);
	mutex_unlock(&dealer->lock);
	return deal;
}

void dealer_wake(struct dealer *dealer) {
	mutex_lock(&dealer->lock);
	list_for_each(&dealer->turns, at) {
		struct consumer *consumer = list_entry(at, struct consumer, link);
		if (dealer->due && consumer->next.portion) {
			wake_waiting(consumer);
		}
	}
	dealer->due = false;
	mutex_unlock(&dealer->lock);
}

enum deal dealer_deal_all(struct dealer *dealer, struct portion *portion) {
	bool room = true;
	mutex_lock(&dealer->lock);
	unsigned readers = dealer->readers;
	list_for_each(&dealer->turns, at) {
		room = room && !list_entry(at, struct consumer, link)->next.portion;
	}
	dealer->room_wanted = !room;
	if (room && readers > 0) {
		atomic_store_relaxed(&portion->refs, readers); // nobody else has it yet
		portion->is_for_all = true;
		list_for_each(&dealer->turns, at) {
			struct consumer *consumer = list_entry(at, struct consumer, link);
			consumer->next = (struct share){.portion = portion};
			wake_waiting(consumer);
		}
	}
	mutex_unlock(&dealer->lock);
	return readers == 0 ? DEAL_NOBODY : room ? DEAL_OK : DEAL_FULL;
}

enum deal dealer_deal_left(struct dealer *dealer) {
	enum deal deal = DEAL_OK;
	mutex_lock(&dealer->lock);
	while (deal == DEAL_OK && dealer->nleft > 0) {
		deal = deal_share(dealer, &dealer->left[dealer->nleft - 1], /* in_order */ false);
		dealer->nleft -= deal == DEAL_OK;
	}
	mutex_unlock(&dealer->lock);
	return deal;
}

void dealer_end(struct dealer *dealer) {
	mutex_lock(&dealer->lock);
	bool ended = dealer->ended;
	dealer->ended = true;
	mutex_unlock(&dealer->lock);
	// who does not wait no longer looks at stdin_writer.more_fd
	for (struct consumer *consumer = ended ? NULL : dealer->newest; consumer; consumer = consumer->older) {
		wake(consumer);
	}
}

// ---- writing ----

// Takes what waits. Returns false with errno: 0 at the end, ENODATA if there will be more.
static bool take_next(struct consumer *consumer) {
	struct dealer *dealer = consumer->dealer;
	mutex_lock(&dealer->lock);
	consumer->mine = consumer->next;
	consumer->next.portion = NULL;
	bool taken = consumer->mine.portion;
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

static ssize_t write_share(void *arg, int fd) {
	struct consumer *consumer = arg;
	struct share *share = &consumer->mine;
	if (consumer->asked) {
		wakeup_clear(consumer->stdin_writer.more_fd);
	}
	consumer->asked = false;
	if (!share->portion && !take_next(consumer)) {
		consumer->asked = errno == ENODATA;
		return consumer->asked ? -1 : 0;
	}
	const struct portion *portion = share->portion;
	uint64_t left = portion->size - share->at;
	size_t want = left < SSIZE_MAX ? (size_t)left : SSIZE_MAX;
	ssize_t n = portion->fd < 0 ? write(fd, portion->bytes.data + share->at, want)
	                            : splice_file(portion->fd, share->at, fd, want);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EPIPE && errno != EINTR)) {
		diag_error("cannot pass data on to a job: %s", n == 0 ? "it has become less" : strerror(errno));
		atomic_store_relaxed(consumer->dealer->config->trouble, true);
	}
	share->at += n > 0 ? (uint64_t)n : 0;
	consumer->sent += n > 0 ? (uint64_t)n : 0;
	if (share->at == portion->size) {
		share_drop(share);
	}
	return n;
}

const struct stdin_writer *consumer_stdin_writer(struct consumer *consumer) {
	return &consumer->stdin_writer;
}

uint64_t consumer_sent(const struct consumer *consumer) {
	return consumer->sent;
}

// Puts down what nobody has seen any of, for others. The lock is held. Returns true if there was such.
static bool leave_to_others(struct dealer *dealer, struct share *share) {
	if (!share->portion || share->at > share->start || dealer->ended || share->portion->is_for_all) {
		return false;
	}
	grow_array(&dealer->left, &dealer->left_cap, dealer->nleft + 1, sizeof(*dealer->left));
	dealer->left[dealer->nleft++] = *share;
	share->portion = NULL;
	return true;
}

void consumer_leave(struct consumer *consumer) {
	struct dealer *dealer = consumer->dealer;
	bool wakes = false;
	mutex_lock(&dealer->lock);
	if (!consumer->gone) {
		consumer->gone = true;
		list_remove(&consumer->link);
		--dealer->readers;
		wakes = dealer->room_wanted || dealer->readers == 0;
		dealer->room_wanted = false;
		wakes = leave_to_others(dealer, &consumer->mine) || wakes;
		wakes = leave_to_others(dealer, &consumer->next) || wakes;
	}
	mutex_unlock(&dealer->lock);
	share_drop(&consumer->mine);
	share_drop(&consumer->next);
	if (wakes) {
		wakeup_post(dealer->config->wake_fd);
	}
}
