// From inputs to batches: reads records just ahead of need, gives them their numbers, and queues them.
//
// The feeding thread (the event loop's) is no slot and never blocks. A batch with an input of its own is read while it
// has less than HIGH_BYTES queued, and again when the pool says that it runs low, so memory is flat whatever the length
// of the input. Where the batches are found in the input itself (--batch-by) it is read as far ahead as the pool takes
// it (--queue-mem, then the spill file): only so does a batch that comes late in the input get its turn at once.

#include "run/feed.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "run/blockfeed.h"
#include "run/ledger.h"
#include "run/packing.h"
#include "run/parcel.h"
#include "run/shelf.h"
#include "run/stages.h"
#include "run/tee.h"
#include "run/telling.h"
#include "run/work.h"

enum {
	HIGH_BYTES = 64 * 1024,      // queued bytes of a batch at which its input is left alone
	PASS_ITEMS = 16 * 1024,      // items between two looks at the signals
	PARCELS = 256,               // batches between two flushes, with --batch-by
	PACKED = 8,                  // as many times the bytes when items are packed: a job has up to 64 KiB of them,
	AHEAD_BYTES = 8 * 1024 * 1024, // … and with --pack=auto for each slot, but no more than this: packs are made of
	                             // what is queued
};

struct feed {
	struct list link;                // in feeds->active until it is finished
	struct input *input;             // NULL: a list that its stage holds, or
	bool is_blocks;                  // run->blocks, or
	bool is_tee;                     // run->tee
	struct stage *stage;             // of a manifest, or NULL
	struct parcel *parcel;           // of its batch; with --batch-by of "default", held open until the input has ended,
	                                 // for a pool without an open queue would be done; of a stage: NULL before its turn
	bool by_key;                     // --batch-by names the batch of each record
	bool waiting;                    // for its descriptor
	bool ended;                      // everything was read
	bool pending;                    // `record` was read, but there was no room for it yet
	struct record record;
	struct pack pack;                // being filled, if records are packed; with --batch-by they are in feeds->packing
	unsigned recipe;                 // of the pending record
	const char *bad;                 // why the pending record cannot be an item, or NULL
};

struct feeds {
	struct list active;
	size_t n;                        // of the command line
	bool full;                       // the pool had no room: its call is awaited
	bool stopped;                    // the pool takes nothing any more
	bool all_counted;                // all input was read, and the tally knows
	struct buf key;                  // scratch: an expanded --batch-by
	struct packing_state packing;
	struct parcel *parcels[PARCELS]; // with --batch-by: of the batches met since the last flush, in that order
	size_t nparcels;
	struct parcel *free[PARCELS];
	size_t nfree;
};

// ---- parcels ----

// All input was read: a --halt of N% may have been met by what has ended meanwhile.
static void count_all(struct run *run) {
	mutex_lock(&run->lock);
	struct tally *tally = &run->tally;
	tally->total_is_final = true;
	atomic_store_relaxed(&run->all_read, true);
	bool stop = !run->halted && tally->ok + tally->failed > 0 && halt_is_met(&run->halt, tally);
	if (stop) {
		run->halted = true;
		run->halted_by = tally->first;
	}
	mutex_unlock(&run->lock);
	if (stop) {
		work_stop_run(run);
	}
}

// Jobs that run get no more data.
static void stop_data(struct run *run) {
	if (run->blocks) {
		blockfeed_stop(run->blocks);
	}
	if (run->tee) {
		tee_stop(run->tee);
	}
}

// The run takes nothing any more.
static void cut_short(struct run *run) {
	run->feeds->stopped = true;
	stop_data(run);
}

// Submits what is in the parcel. Returns false if the pool has no room: then it is still in the parcel.
static bool submit(struct run *run, struct parcel *parcel) {
	switch (parcel_submit(parcel, NULL, 0)) {
	case SUBMIT_FULL: run->feeds->full = true; return false;
	case SUBMIT_CLOSED: cut_short(run); break; // while these were on their way
	case SUBMIT_OK: break;
	}
	return true;
}

// A parcel for the queue, which it keeps open.
static struct parcel *parcel_open(struct feeds *feeds, struct queue *queue, uint64_t hash) {
	struct parcel *parcel = feeds->nfree > 0 ? feeds->free[--feeds->nfree] : NEW(struct parcel);
	parcel->queue = queue;
	parcel->batch = batch_ref(queue_user(queue));
	parcel->hash = hash;
	return parcel;
}

// A parcel for the batch of the name, whose queue it opens. Returns NULL when the pool takes nothing any more.
static struct parcel *parcel_open_name(struct run *run, const char *name, uint64_t hash, size_t low_water) {
	struct queue_attrs attrs = {.weight = 1, .low_water = low_water};
	batch_override(run, name, &attrs);
	struct batch *fresh = batch_new(run, name);
	if (run->telling) {
		telling_meet(fresh, &attrs, /* jobs */ -1);
	}
	struct queue *queue = pool_queue_open(run->pool, name, &attrs, fresh);
	if (queue && queue_user(queue) == fresh) {
		batch_open_lane(fresh);
	} else {
		batch_unref(fresh);
	}
	if (!queue) {
		cut_short(run);
		return NULL;
	}
	return parcel_open(run->feeds, queue, hash);
}

static void parcel_close(struct run *run, struct parcel *parcel) {
	pool_queue_close(run->pool, parcel->queue);
	batch_unref(parcel->batch);
	buf_fini(&parcel->bytes);
	parcel->n = parcel->counted = 0;
	if (run->feeds->nfree < PARCELS) {
		run->feeds->free[run->feeds->nfree++] = parcel;
	} else {
		free(parcel);
	}
}

// ---- batches found in the input ----

// Submits and closes all parcels. Returns false if the pool has no room for one of them.
static bool flush_parcels(struct run *run) {
	struct feeds *feeds = run->feeds;
	size_t done = 0;
	while (done < feeds->nparcels && submit(run, feeds->parcels[done])) {
		parcel_close(run, feeds->parcels[done++]);
	}
	feeds->nparcels -= done;
	memmove(feeds->parcels, feeds->parcels + done, feeds->nparcels * sizeof(feeds->parcels[0]));
	return feeds->nparcels == 0;
}

// FNV-1a (Fowler, Noll, Vo), 64 bits
static uint64_t hash_name(const char *name) {
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *name; ++name) {
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	}
	return hash;
}

// The name of the batch that --batch-by gives to the record.
static const char *find_name(struct run *run, const struct record *record, uint64_t *ret_hash) {
	struct feeds *feeds = run->feeds;
	struct expansion x = {
		.record = record,
		.seq = atomic_load_relaxed(&run->seq) + 1,
		.slots = run->slots,
		.total = run->total,
	};
	buf_reset(&feeds->key);
	template_expand(run->batch_by, &x, &feeds->key);
	const char *name = feeds->key.len > 0 ? feeds->key.data : "default";
	*ret_hash = hash_name(name);
	return name;
}

// The parcel of that batch. Returns NULL if the pool takes nothing any more, or has no room for those that had to go
// before.
static struct parcel *find_parcel(struct run *run, const char *name, uint64_t hash) {
	struct feeds *feeds = run->feeds;
	for (size_t i = feeds->nparcels; i-- > 0;) { // input is often sorted: the last one first
		struct parcel *parcel = feeds->parcels[i];
		if (parcel->hash == hash && strcmp(parcel->batch->name, name) == 0) {
			return parcel;
		}
	}
	if (feeds->nparcels == PARCELS && !flush_parcels(run)) {
		return NULL;
	}
	struct parcel *parcel = parcel_open_name(run, name, hash, 0);
	if (parcel) {
		feeds->parcels[feeds->nparcels++] = parcel;
	}
	return parcel;
}

// ---- packing ----

// Lets the pack go, spread over so many slots (0: as it is). Returns false if there is no room for it now.
static bool give_keyed(struct run *run, struct keyed_pack *keyed, unsigned slots) {
	struct parcel *parcel = find_parcel(run, keyed->name, keyed->hash);
	return parcel && packing_give(&keyed->pack, slots, run, parcel, submit);
}

// Lets go of all keyed packs but the newest `n`. At the end of the input (`slots`) they are spread, where there are more
// slots than batches.
static bool shrink_packs(struct run *run, size_t n, unsigned slots) {
	struct packing_state *packing = &run->feeds->packing;
	while (packing->n > n) {
		struct keyed_pack *keyed = packing_oldest(packing);
		if (!give_keyed(run, keyed, slots)) {
			return false;
		}
		packing_remove(packing, keyed);
	}
	return true;
}

// Lets go of the feed's packs after its last record. Returns false if there is no room for them now.
static bool flush_packs(struct run *run, struct feed *feed) {
	struct packing_state *packing = &run->feeds->packing;
	if (packing->sharers == 0) {
		packing->sharers = feed->by_key && packing->n > 0 ? packing->n : run->feeds->n;
	}
	unsigned slots = packing->slots > 0 ? (unsigned)((packing->slots - 1) / packing->sharers + 1) : 0;
	if (feed->by_key) {
		return shrink_packs(run, 0, slots);
	}
	return feed->pack.nitems == 0 || packing_give(&feed->pack, slots, run, feed->parcel, submit);
}

static bool has_packs(const struct run *run, const struct feed *feed) {
	return feed->pack.nitems > 0 || (feed->by_key && run->feeds->packing.n > 0);
}

// A record that cannot be packed fails as a job; or, with --exit, nothing behind it is read.
static bool feed_alone(struct run *run, struct feed *feed, struct parcel *parcel, const char *bad) {
	if (!parcel || (parcel_is_full(parcel) && !submit(run, parcel))) {
		return false;
	}
	feed->pending = false;
	if (!run->options->packing.exits || feed->bad) {
		parcel_add(parcel, &feed->record, feed->recipe, bad);
		return true;
	}
	diag_error("%s: '%s'", bad, diag_show(feed->record.args, feed->record.size - 1));
	atomic_store_relaxed(&run->trouble, true);
	list_for_each(&run->feeds->active, at) {
		list_entry(at, struct feed, link)->ended = true;
	}
	return true;
}

// Puts the pending record into its pack. Returns false if there is no room now for what must go first.
static bool feed_packed(struct run *run, struct feed *feed) {
	struct packing_state *packing = &run->feeds->packing;
	struct keyed_pack *keyed = NULL;
	if (feed->by_key) {
		uint64_t hash;
		const char *name = find_name(run, &feed->record, &hash);
		keyed = packing_find(packing, name, hash);
		if (!shrink_packs(run, PACKING_OPEN, 0)) {
			return false;
		}
	}
	struct pack *pack = keyed ? &keyed->pack : &feed->pack;
	shelf_note_item(run, &feed->record);
	for (;;) {
		const char *bad;
		switch (packs_add(pack, &packing->limits, &feed->record, feed->bad, atomic_load_relaxed(&run->seq) + 1, &bad)) {
		case PACK_ALONE:
			return feed_alone(run, feed, keyed ? find_parcel(run, keyed->name, keyed->hash) : feed->parcel, bad);
		case PACK_TAKEN:
			feed->pending = false;
			if (!packs_is_complete(pack, &packing->limits)) {
				return true;
			}
			// without room it stays as it is, and goes before the next record
			return keyed ? give_keyed(run, keyed, 0) : packing_give(pack, 0, run, feed->parcel, submit);
		case PACK_FULL:
			if (!(keyed ? give_keyed(run, keyed, 0) : packing_give(pack, 0, run, feed->parcel, submit))) {
				return false;
			}
		}
	}
}

// ---- reading ----

// {choose_k} and {uniq} of the command line.
static bool is_left_out(const struct run *run, const struct feed *feed) {
	const struct template *command = feed->stage ? NULL : run->recipe.command;
	return command && template_skips(command, &feed->record);
}

// Puts the pending record on its way. Returns false if there is no room for it now.
static bool feed_record(struct run *run, struct feed *feed) {
	if (!feed->bad && is_left_out(run, feed)) {
		// its number is nobody's, as in GNU parallel
		atomic_add_relaxed(&run->seq, run->options->packing.on ? 0 : 1);
		feed->pending = false;
		return true;
	}
	if (run->options->packing.on) {
		return feed_packed(run, feed);
	}
	struct parcel *parcel = feed->parcel;
	if (feed->by_key) {
		uint64_t hash;
		const char *name = find_name(run, &feed->record, &hash);
		parcel = find_parcel(run, name, hash);
	}
	if (!parcel || (parcel_is_full(parcel) && !submit(run, parcel))) {
		return false;
	}
	const char *bad;
	uint64_t seq = atomic_load_relaxed(&run->seq) + 1;
	if (run->packs && !feed->bad && !packs_measure(run->packs, &feed->record, seq, &parcel->measured, &bad)) {
		return feed_alone(run, feed, parcel, bad);
	}
	parcel_add(parcel, &feed->record, feed->recipe, feed->bad);
	feed->pending = false;
	return true;
}

// Reads the next record. Returns false if there is none now.
static bool feed_read(struct run *run, struct feed *feed) {
	const char *error = NULL;
	if (!feed->input) {
		feed->pending = stage_next(feed->stage, &feed->record, &feed->recipe, &feed->bad);
		feed->ended = !feed->pending;
		return feed->pending;
	}
	switch (input_next(feed->input, &feed->record, &error)) {
	case INPUT_RECORD:
		feed->bad = NULL;
		feed->pending = true;
		return true;
	case INPUT_BAD:
		feed->bad = error;
		feed->pending = true;
		return true;
	case INPUT_WAIT:
		feed->waiting = true;
		return false;
	case INPUT_ERROR:
		diag_error("%s", error);
		atomic_store_relaxed(&run->trouble, true);
		return feed_read(run, feed);
	case INPUT_HEADER: // taken by read_names()
	case INPUT_END:
		break;
	}
	feed->ended = true;
	return false;
}

// Queued bytes of a batch at which its input is left alone.
static size_t high_water(const struct run *run) {
	const struct packing *packing = &run->options->packing;
	size_t packed = (size_t)HIGH_BYTES * PACKED;
	if (!packing->by_time) {
		return packing->on ? packed : HIGH_BYTES;
	}
	size_t most = run->options->queue_mem / 4 < AHEAD_BYTES ? run->options->queue_mem / 4 : AHEAD_BYTES;
	return run->slots < most / packed ? packed * run->slots : most > HIGH_BYTES ? most : HIGH_BYTES;
}

// True if the feed's batch has enough to do for now; the pool then calls when it has not.
static bool feed_is_ahead(struct run *run, struct feed *feed) {
	bool to_the_end = feed->by_key || run->halt.percent > 0; // N% is of all jobs: they must be known
	if (to_the_end || pool_queue_bytes(run->pool, feed->parcel->queue) < high_water(run)) {
		return false;
	}
	pool_queue_want(run->pool, feed->parcel->queue);
	return true;
}

// Data that nobody gets is as an item that was not run.
static void count_rest(struct run *run, struct feed *feed) {
	if (!run->options->quiet) {
		diag_warn("no job reads any more: the rest of the data is not read");
	}
	mutex_lock(&run->lock);
	++run->tally.total;
	mutex_unlock(&run->lock);
	parcel_count_lost(feed->parcel->batch, 1);
}

// The halt was met: nothing is started any more.
static bool is_halted(struct run *run) {
	mutex_lock(&run->lock);
	bool halted = run->halted;
	mutex_unlock(&run->lock);
	return halted;
}

// Queues the next block at once. Returns true if there may be more.
static bool feed_fill_blocks(struct run *run, struct feed *feed) {
	feed->waiting = false;
	if (is_halted(run)) { // blocks go to jobs that run, too, without a word of the pool
		cut_short(run);
	}
	if (run->feeds->stopped || feed->ended || !submit(run, feed->parcel)) {
		return false;
	}
	switch (blockfeed_step(run->blocks, &feed->record)) {
	case BLOCK_READY:
		parcel_add(feed->parcel, &feed->record, /* recipe */ 0, /* bad */ NULL);
		if (feed->parcel->n == 0) { // --resume: it is done
			block_free(block_of(&feed->record));
		}
		return submit(run, feed->parcel);
	case BLOCK_AGAIN:
		return true;
	case BLOCK_WAIT:
		feed->waiting = true;
		return false;
	case BLOCK_ENOUGH:
		return false;
	case BLOCK_ERROR:
		atomic_store_relaxed(&run->trouble, true);
		return true;
	case BLOCK_LOST:
		count_rest(run, feed);
		return true;
	case BLOCK_END:
		break;
	}
	feed->ended = true;
	return false;
}

// Passes on some of the data. Returns true if there may be more.
static bool feed_fill_tee(struct run *run, struct feed *feed) {
	feed->waiting = false;
	if (is_halted(run)) {
		cut_short(run);
	}
	if (run->feeds->stopped || feed->ended) {
		return false;
	}
	switch (tee_step(run->tee)) {
	case TEE_AGAIN:
		return true;
	case TEE_WAIT:
		feed->waiting = true;
		return false;
	case TEE_FULL:
		return false;
	case TEE_ERROR:
		atomic_store_relaxed(&run->trouble, true);
		return true;
	case TEE_END:
		break;
	}
	feed->ended = true;
	return false;
}

// Reads from one input until it has nothing, its batch has enough, or the pass is over. Returns true in that last case.
static bool feed_fill(struct run *run, struct feed *feed) {
	struct feeds *feeds = run->feeds;
	if (feed->is_blocks || feed->is_tee) {
		return (feed->is_blocks ? feed_fill_blocks : feed_fill_tee)(run, feed);
	}
	feed->waiting = false;
	for (unsigned left = PASS_ITEMS; !feed->ended && !feeds->full && !feeds->stopped; --left) {
		if (left == 0) {
			return true;
		}
		if (left % PARCEL_ITEMS == 0 && feed_is_ahead(run, feed)) {
			break;
		}
		if ((feed->pending || feed_read(run, feed)) ? !feed_record(run, feed) : feed->waiting) {
			break;
		}
	}
	if (feed->ended && !feed->pending && has_packs(run, feed) && !feeds->stopped) {
		(void)flush_packs(run, feed); // else with the next pass
	}
	return false;
}

static void feed_free(struct feed *feed) {
	list_remove(&feed->link);
	packs_fini(&feed->pack);
	if (feed->input) {
		input_close(feed->input);
	}
	free(feed);
}

// Closes the queue of an input that has ended, once all its items are in the pool.
static void feed_finish(struct run *run, struct feed *feed) {
	bool gone = feed->by_key ? run->feeds->nparcels == 0 : submit(run, feed->parcel);
	gone = gone && !has_packs(run, feed);
	if (!feed->ended || feed->pending || !gone) {
		return;
	}
	if (run->tee && !feed->is_tee) {
		tee_begin(run->tee, atomic_load_relaxed(queue_keep(feed->parcel->queue)));
	}
	parcel_close(run, feed->parcel);
	if (feed->stage) {
		stage_fed(feed->stage);
	}
	feed_free(feed);
}

// Makes the parcel of a stage. Returns false if the run was cut short.
static bool feed_begin(struct run *run, struct feed *feed) {
	if (!feed->parcel) {
		const struct queue_attrs nothing_new = {.weight = 1};
		struct queue *queue = pool_queue_open(run->pool, queue_name(stage_queue(feed->stage)), &nothing_new, NULL);
		run->feeds->stopped |= !queue;
		feed->parcel = queue ? parcel_open(run->feeds, queue, 0) : NULL;
	}
	return feed->parcel;
}

// Nothing will be added any more, but by what runs.
static bool all_is_read(const struct run *run) {
	bool ended = true;
	list_for_each(&run->feeds->active, at) {
		const struct feed *feed = list_entry(at, struct feed, link);
		ended = ended && feed->ended && !has_packs(run, feed);
	}
	return ended && stages_are_fed(run);
}

bool feeds_fill(struct run *run) {
	struct feeds *feeds = run->feeds;
	bool again = false;
	feeds->full = false;
	list_for_each(&feeds->active, at) {
		struct feed *feed = list_entry(at, struct feed, link);
		if (!feeds->stopped && feed_begin(run, feed)) {
			again |= feed_fill(run, feed);
			if (feed->stage) { // at once: there may be very many
				feed_finish(run, feed);
			}
		}
	}
	if (!feeds->stopped) {
		flush_parcels(run);
	}
	if (!feeds->all_counted && all_is_read(run)) {
		feeds->all_counted = true;
		count_all(run);
	}
	list_for_each(&feeds->active, at) {
		struct feed *feed = list_entry(at, struct feed, link);
		if (!feeds->stopped && !feed->stage) {
			feed_finish(run, feed);
		}
	}
	return again && !feeds->full && !feeds->stopped;
}

int feeds_poll_fd(struct run *run, const struct list **at) {
	const struct list *head = &run->feeds->active;
	for (*at = *at ? (*at)->next : head->next; *at != head && !run->feeds->stopped; *at = (*at)->next) {
		const struct feed *feed = list_entry(*at, struct feed, link);
		if (feed->waiting && !feed->ended) {
			return feed->is_tee ? STDIN_FILENO : feed->is_blocks ? blockfeed_fd(run->blocks) : input_fd(feed->input);
		}
	}
	return -1;
}

void feeds_stop(struct run *run) {
	struct feeds *feeds = run->feeds;
	feeds->stopped = true;
	stop_data(run);
	for (size_t i = 0; i < feeds->nparcels; ++i) {
		parcel_count_lost(feeds->parcels[i]->batch, feeds->parcels[i]->n);
		parcel_close(run, feeds->parcels[i]);
	}
	feeds->nparcels = 0;
	list_for_each(&feeds->active, at) {
		struct feed *feed = list_entry(at, struct feed, link);
		if (feed->stage) {
			stage_count_lost(feed->stage, feed->pending + (feed->input ? 0 : stage_left(feed->stage)));
		}
		if (feed->parcel) {
			uint64_t packs = (feed->pack.nitems > 0) + (feed->by_key ? feeds->packing.n : 0);
			parcel_count_lost(feed->parcel->batch, feed->parcel->n + (feed->pending && !feed->stage) + packs);
			parcel_close(run, feed->parcel);
		}
		feed_free(feed);
	}
	while (feeds->packing.n > 0) {
		packing_remove(&feeds->packing, packing_oldest(&feeds->packing));
	}
}

// ---- opening and closing ----

// A feed for the queue of that parcel, which it takes over; both are its stage's business if the parcel is NULL.
static struct feed *feed_add(struct feeds *feeds, struct input *input, struct parcel *parcel) {
	struct feed *feed = NEW(struct feed);
	feed->input = input;
	feed->parcel = parcel;
	list_push_back(&feeds->active, &feed->link);
	return feed;
}

static struct input *open_input(const struct input_config *config) {
	char *error;
	struct input *input = input_open(config, &error);
	if (!input) {
		diag_error("%s", error);
		free(error);
	}
	return input;
}

// Opens sources of the command line. Returns NULL after a message.
static struct feed *open_sources(struct run *run, const struct source_config *sources, size_t nsources,
                                 const char *name) {
	const struct options *options = run->options;
	struct input_config config = {
		.sources = sources,
		.nsources = nsources,
		.delimiter = options->delimiter,
		.delimiter_text = options->delimiter_text,
		.colsep = options->colsep,
		.header = options->header,
		.trim = options->trim,
		.csv = options->csv,
		.link = options->link,
		.end = options->end,
		.skip_blank = options->skip_blank,
		.skip_first = options->skip_first,
		.joins = options->packing.joins,
	};
	struct input *input = open_input(&config);
	if (!input) {
		return NULL;
	}
	++run->feeds->n;
	return feed_add(run->feeds, input, parcel_open_name(run, name, 0, high_water(run) / 2));
}

int feeds_add_stage(struct run *run, struct stage *stage, const struct source_config *source, char delimiter) {
	struct input *input = NULL;
	if (source) {
		struct input_config config = {.sources = source, .nsources = 1, .delimiter = delimiter};
		input = open_input(&config);
		if (!input) {
			return -1;
		}
	}
	feed_add(run->feeds, input, NULL)->stage = stage;
	return 0;
}

static void names_free(struct names *names) {
	for (size_t i = 0; i < names->n; ++i) {
		free(names->names[i]);
	}
	free(names->names);
}

// Waits for the header of the input. Returns 0, or -1 after a message or when a signal ends the run.
static int read_names(struct run *run, struct feed *feed, struct names *ret_names) {
	const char *error = NULL;
	struct record record;
	enum input_status status;
	while ((status = input_next(feed->input, &record, &error)) == INPUT_WAIT) {
		if (!run_wait_input(run, input_fd(feed->input))) {
			return -1;
		}
	}
	if (status != INPUT_HEADER) {
		feed->ended = status == INPUT_END;
		if (!feed->ended) {
			diag_error("cannot read the header: %s", error ? error : "unexpected input");
		}
		return feed->ended ? 0 : -1;
	}
	const char *at = record.args;
	ret_names->names = xcalloc(record.nargs, sizeof(*ret_names->names));
	for (; ret_names->n < record.nargs; at += strlen(at) + 1) {
		ret_names->names[ret_names->n++] = xstrdup(at);
	}
	return 0;
}

static bool names_are_equal(const struct names *a, const struct names *b) {
	bool equal = a->n == b->n;
	for (size_t i = 0; equal && i < a->n; ++i) {
		equal = strcmp(a->names[i], b->names[i]) == 0;
	}
	return equal;
}

// The names of all inputs must be the same, for one template serves them all.
static int read_headers(struct run *run, struct names *names) {
	bool first = true;
	list_for_each(&run->feeds->active, at) {
		struct feed *feed = list_entry(at, struct feed, link);
		struct names more = {NULL, 0, NULL};
		if (read_names(run, feed, first ? names : &more) != 0) {
			return -1;
		}
		bool same = first || feed->ended || names_are_equal(names, &more);
		first = false;
		names_free(&more);
		if (!same) {
			diag_error("--header: the inputs do not have the same names in their headers");
			return -1;
		}
	}
	return 0;
}

// --header 0: each source has the name of its file.
static void name_files(const struct options *options, struct names *names) {
	if (!options->header_files) {
		return;
	}
	names->names = xcalloc(options->nsources, sizeof(*names->names));
	for (; names->n < options->nsources; ++names->n) {
		const struct source_config *source = &options->sources[names->n];
		names->names[names->n] = xstrdup(source->kind == FROM_FILE ? source->path : ""); // nothing is called that
	}
}

// Reads all input before the first job, where the command line says something of all items. Returns 0, or -1 after a
// message or when a signal ends the run.
static int gather_all(struct run *run) {
	const struct options *options = run->options;
	if (!options->shuffle && !options->tee && !run_needs_total(run)) {
		return 0;
	}
	run->total = 0;
	list_for_each(&run->feeds->active, at) {
		struct feed *feed = list_entry(at, struct feed, link);
		while (input_gather(feed->input, options->shuffle) == INPUT_WAIT) {
			if (!run_wait_input(run, input_fd(feed->input))) {
				return -1;
			}
		}
		run->total += input_gathered(feed->input);
	}
	return 0;
}

// Opens the data of --pipe and --pipe-part. Returns 0, or -1 after a message.
static int open_blocks(struct run *run) {
	const struct options *options = run->options;
	const struct names none = {NULL, 0, &options->tokens};
	run->blocks = blockfeed_open(run);
	if (!run->blocks || run_parse_templates(run, &none) != 0) {
		return -1;
	}
	const char *name = options->batch ? options->batch : "default";
	++run->feeds->n;
	feed_add(run->feeds, NULL, parcel_open_name(run, name, 0, /* low_water */ 0))->is_blocks = true;
	return 0;
}

// Makes the ends of the jobs that all get the same data, and begins to read it. Returns 0, or -1 after a message.
static int open_tee(struct run *run) {
	const char *name = run->options->batch ? run->options->batch : "default";
	run->tee = tee_open(run);
	if (!run->tee || tee_expect(run->tee, run->total) != 0) {
		return -1;
	}
	feed_add(run->feeds, NULL, parcel_open_name(run, name, 0, /* low_water */ 0))->is_tee = true;
	return 0;
}

int feeds_open(struct run *run) {
	const struct options *options = run->options;
	struct feeds *feeds = run->feeds = NEW(struct feeds);
	list_init(&feeds->active);
	list_init(&feeds->packing.used);
	if (run->manifest) {
		return stages_open(run);
	}
	if (ledger_source(run) && !open_sources(run, ledger_source(run), 1, "default")) {
		return -1;
	}
	if (options->pipe && !options->tee) {
		return open_blocks(run);
	}
	if (options->nsources > 0) {
		const char *name = options->batch ? options->batch : "default";
		struct feed *feed = open_sources(run, options->sources, options->nsources, name);
		if (!feed) {
			return -1;
		}
		feed->by_key = options->batch_by != NULL;
	}
	for (size_t i = 0; i < options->nbatch_files; ++i) {
		const struct batch_file *file = &options->batch_files[i];
		bool is_stdin = strcmp(file->path, "-") == 0;
		struct source_config source = {.kind = is_stdin ? FROM_STDIN : FROM_FILE, .path = file->path};
		run->file_sources[i] = source;
		if (!open_sources(run, &run->file_sources[i], 1, file->name)) {
			return -1;
		}
	}
	struct names names = {NULL, 0, &options->tokens};
	int result = options->header ? read_headers(run, &names) : 0;
	name_files(options, &names);
	if (result == 0) {
		result = run_parse_templates(run, &names);
	}
	if (result == 0) {
		result = gather_all(run);
	}
	if (result == 0 && options->tee) {
		result = open_tee(run);
	}
	if (result == 0) {
		result = packing_init(&feeds->packing, run);
	}
	names_free(&names);
	return result;
}

void feeds_close(struct run *run) {
	struct feeds *feeds = run->feeds;
	feeds_stop(run);
	for (size_t i = 0; i < feeds->nfree; ++i) {
		free(feeds->free[i]);
	}
	buf_fini(&feeds->key);
	free(feeds);
	run->feeds = NULL;
}
