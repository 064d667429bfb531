// Routes each record: through the outlet of its batch, where the record may be packed, into a submission to the queue of the batch.
// --batch-by tells the batch of a record.
//
// A submission keeps the queue of its batch open. With --batch-by only few submissions and packs are open at a time, and each flush closes the
// submissions. If there are too many outlets, the outlet whose batch has got no record for the longest time is submitted and removed.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/text.h"
#include "state/publish.h"
#include "pipe/block.h"
#include "record/record.h"

void feeds_cut_short(struct run *run) {
	run->feeds->stopped = true;
	if (run->blocks) {
		blockfeed_stop(run->blocks);
	}
}

// ---- submissions ----

bool feed_submit(struct run *run, struct submission *submission) {
	for (; submission; submission = submission->next) {
		switch (submission_submit(submission, NULL, 0)) {
		case SUBMIT_FULL: run->feeds->full = true; return false;
		case SUBMIT_CLOSED: feeds_cut_short(run); break; // the pool was closed meanwhile
		case SUBMIT_OK: break;
		}
	}
	return true;
}

// Adds the record to the submission; with --onall, to the submissions of all machines.
static void add_record(struct submission *submission, const struct record *record, unsigned spec, const char *bad) {
	for (; submission; submission = submission->next) {
		(void)submission_add(submission, &(struct new_item){.record = record, .spec = spec, .bad = bad});
	}
}

struct submission *feed_submission_open(struct queue *queue) {
	struct submission *submission = NEW(struct submission);
	submission->queue = queue;
	submission->batch = batch_ref(queue_user(queue));
	return submission;
}

struct submission *feed_submission_open_batch(struct run *run, const char *name, size_t low_water) {
	struct queue_attrs attrs = {.weight = 1, .low_water = low_water};
	batch_override(run, name, &attrs);
	attrs.max_parallel = run->options->onall ? 1 : attrs.max_parallel;
	struct batch *fresh = batch_new(run, name, &attrs, /* jobs */ -1);
	struct queue *queue = pool_queue_open(run->pool, name, &attrs, fresh);
	if (!queue || queue_user(queue) != fresh) {
		batch_unref(fresh);
	}
	if (!queue) {
		feeds_cut_short(run);
		return NULL;
	}
	return feed_submission_open(queue);
}

void feed_submission_close(struct run *run, struct submission *submission) {
	if (submission->next) {
		feed_submission_close(run, submission->next);
		submission->next = NULL;
	}
	pool_queue_close(run->pool, submission->queue);
	batch_unref(submission->batch);
	submission_fini(submission);
	free(submission);
}

// ---- outlets of batches found in the input ----

static struct outlet **outlet_link(struct outlets *outlets, const char *name, uint64_t hash) {
	struct outlet **at = &outlets->buckets[hash % OUTLETS_MAX];
	while (*at && ((*at)->hash != hash || strcmp((*at)->name, name) != 0)) {
		at = &(*at)->next;
	}
	return at;
}

static struct outlet *longest_left(const struct outlets *outlets) {
	return list_entry(outlets->used.next, struct outlet, used);
}

// Returns the submission of the outlet, and opens it if it is closed. Returns NULL if the pool takes no more items.
static struct submission *outlet_open(struct run *run, struct outlet *outlet) {
	if (!outlet->submission) {
		size_t low_water = run->options->packing.by_time ? FEED_WHEN_EMPTY : 0;
		outlet->submission = feed_submission_open_batch(run, outlet->name, low_water);
	}
	return outlet->submission;
}

static void outlet_remove(struct outlets *outlets, struct outlet *outlet) {
	*outlet_link(outlets, outlet->name, outlet->hash) = outlet->next;
	list_remove(&outlet->used);
	--outlets->n;
	packs_fini(&outlet->pack);
	stock_fini(&outlet->stock);
	free(outlet->name);
	free(outlet);
}

// Submits the items in the outlet's submission, and closes the submission; then frees the outlet if its pack is empty. Does nothing if the stock
// has items. Returns false if the pool has no room.
static bool outlet_flush(struct run *run, struct outlet *outlet) {
	if (outlet->stock.nitems > 0) {
		return true;
	}
	if (!feed_submit(run, outlet->submission)) {
		return false;
	}
	if (outlet->submission) {
		feed_submission_close(run, outlet->submission);
		outlet->submission = NULL;
	}
	if (outlet->pack.nitems == 0) {
		outlet_remove(&run->feeds->outlets, outlet);
	}
	return true;
}

void feeds_flush_outlets(struct run *run) {
	bool room = true;
	list_for_each_entry(&run->feeds->outlets.used, struct outlet, outlet, used) {
		room = room && outlet_flush(run, outlet);
	}
}

// Puts the pack of the outlet into its submission, spread over `slots` slots (0: as one job), and empties the pack. Returns false if
// there is no room for the whole pack now, or the pool takes no more items.
static bool submit_pack(struct run *run, struct outlet *outlet, unsigned slots) {
	struct pack *pack = &outlet->pack;
	if (pack->nitems > 0 && !outlet_open(run, outlet)) {
		return false;
	}
	if (pack->each == 0) {
		pack->each = slots > 0 ? packs_spread(pack, slots) : pack->nitems;
	}
	while (pack->given < pack->nitems) {
		if (submission_is_full(outlet->submission) && !feed_submit(run, outlet->submission)) {
			return false;
		}
		uint32_t to = pack->nitems - pack->given > pack->each ? pack->given + pack->each : pack->nitems;
		struct record record = pack->each >= pack->nitems ? packs_record(pack) : packs_slice(pack, pack->given, to);
		add_record(outlet->submission, &record, 0, pack->bad);
		pack->given = to;
	}
	packs_reset(pack);
	return true;
}

// Returns the outlet of the batch that --batch-by gives to the record; or NULL if another outlet must be emptied first and there is no room.
static struct outlet *find_outlet(struct run *run, const struct record *record) {
	struct feeds *feeds = run->feeds;
	struct outlets *outlets = &feeds->outlets;
	struct expansion x = {
		.record = record,
		.seq = atomic_load_relaxed(&run->seq) + 1,
		.slots = run->slots,
		.total = run->total,
	};
	buf_reset(&feeds->key);
	template_expand(feeds->batch_by, &x, &feeds->key);
	const char *name = feeds->key.len > 0 ? feeds->key.data : "default";
	uint64_t hash = hash_bytes(name, strlen(name), 0);
	struct outlet *outlet = *outlet_link(outlets, name, hash);
	if (!outlet) {
		size_t most = run->options->packing.by_time ? SIZE_MAX : run->options->packing.on ? OUTLETS_MAX : OUTLETS_UNPACKED;
		while (outlets->n >= most) {
			if (!submit_pack(run, longest_left(outlets), 0) || !outlet_flush(run, longest_left(outlets))) {
				return NULL;
			}
		}
		outlet = NEW(struct outlet);
		outlet->hash = hash;
		outlet->name = xstrdup(name);
		list_init(&outlet->used);
		*outlet_link(outlets, name, hash) = outlet;
		++outlets->n;
	}
	list_remove(&outlet->used);
	list_push_back(&outlets->used, &outlet->used);
	return outlet;
}

void feeds_drop_outlets(struct run *run) {
	struct outlets *outlets = &run->feeds->outlets;
	while (outlets->n > 0) {
		struct outlet *outlet = longest_left(outlets);
		if (outlet->submission) {
			publish_lost(outlet->submission->batch, outlet->stock.nitems + outlet->submission->nitems);
			feed_submission_close(run, outlet->submission);
		}
		outlet_remove(outlets, outlet);
	}
}

// ---- packs ----

uint64_t feed_count_packs(const struct run *run, const struct feed *feed) {
	uint64_t n = feed->own.pack.nitems > 0;
	if (feed->by_key) {
		list_for_each_entry(&run->feeds->outlets.used, struct outlet, outlet, used) {
			n += outlet->pack.nitems > 0;
		}
	}
	return n;
}

bool feed_flush_packs(struct run *run, struct feed *feed) {
	struct feeds *feeds = run->feeds;
	uint64_t n = feed_count_packs(run, feed);
	if (feeds->sharers == 0) {
		feeds->sharers = feed->by_key && n > 0 ? n : feeds->n;
	}
	unsigned slots = feeds->slots > 0 ? (unsigned)((feeds->slots - 1) / feeds->sharers + 1) : 0;
	bool room = submit_pack(run, &feed->own, slots);
	if (feed->by_key) {
		list_for_each_entry(&feeds->outlets.used, struct outlet, outlet, used) {
			room = room && submit_pack(run, outlet, slots);
		}
	}
	return room;
}

bool feed_is_empty(const struct run *run, const struct feed *feed) {
	return feed->own.pack.nitems == 0 && feed->own.stock.nitems == 0 && (!feed->by_key || run->feeds->outlets.n == 0);
}

// Adds the pending record as a job of its own, which fails if the record is `bad`. But with --exit, a record that is too long is not added: a
// message says so, and all reading ends.
static bool feed_alone(struct run *run, struct feed *feed, struct outlet *outlet, const char *bad) {
	struct submission *submission = outlet_open(run, outlet);
	if (!submission || (submission_is_full(submission) && !feed_submit(run, submission))) {
		return false;
	}
	feed->pending = false;
	if (!run->options->packing.exits || feed->bad || !bad) {
		add_record(submission, &feed->record, feed->spec, bad);
		return true;
	}
	diag_error("%s: '%s'", bad, text_show(feed->record.args, feed->record.size - 1));
	atomic_store_relaxed(&run->trouble, true);
	list_for_each_entry(&run->feeds->active, struct feed, each, link) {
		each->ended = true;
	}
	return true;
}

// Puts the pending record into its pack. Returns false if a full pack must be submitted first, and there is no room for it now.
static bool feed_packed(struct run *run, struct feed *feed, struct outlet *outlet) {
	const struct pack_limits *limits = &run->feeds->limits;
	result_files_note_item(run, &feed->record);
	for (;;) {
		const char *bad;
		switch (packs_add(&outlet->pack, limits, &feed->record, feed->bad, atomic_load_relaxed(&run->seq) + 1, &bad)) {
		case PACK_ALONE:
			return feed_alone(run, feed, outlet, bad);
		case PACK_TAKEN:
			feed->pending = false;
			// if there is no room, the complete pack is submitted before the next record is added
			return !packs_is_complete(&outlet->pack, limits) || submit_pack(run, outlet, 0);
		case PACK_FULL:
			if (!submit_pack(run, outlet, 0)) {
				return false;
			}
		}
	}
}

// Puts as many items of the pending record into the pack as fit: their number is halved until all fit, or one item is left, which is packed by
// itself. The other items stay pending. Returns false if a full pack must be submitted first, and there is no room for it now.
static bool feed_packed_items(struct run *run, struct feed *feed) {
	struct record part = feed->record, rest = feed->record;
	while (part.nargs > 1 && !packs_add_all(&feed->own.pack, &run->feeds->limits, &part, atomic_load_relaxed(&run->seq) + 1)) {
		part.nargs /= 2;
		part.size = record_bytes_of(&rest, part.nargs);
	}
	if (part.nargs == 1) {
		feed->record = part;
		if (!feed_packed(run, feed, &feed->own)) {
			feed->record = rest;
			return false;
		}
	}
	feed->pending = part.nargs < rest.nargs;
	if (feed->pending) {
		feed->record = (struct record){.args = rest.args + part.size, .size = rest.size - part.size, .nargs = rest.nargs - part.nargs};
	}
	return true;
}

// ---- packs by time ----

// Adds the pending record to the stock of its batch. Returns false if the pool takes no more items.
static bool feed_stocked(struct run *run, struct feed *feed, struct outlet *outlet) {
	const struct pack_limits *limits = &run->feeds->limits;
	uint32_t nitems = feed->joins && !feed->bad ? feed->record.nargs : 1, measured = 0;
	const char *bad = feed->bad;
	if (!bad && !packs_measure(limits, &feed->record, atomic_load_relaxed(&run->seq) + 1, &measured, &bad) && run->options->packing.exits) {
		return feed_alone(run, feed, outlet, bad);
	}
	struct submission *submission = outlet_open(run, outlet);
	if (!submission) {
		return false;
	}
	if (outlet->stock.nitems == 0) {
		atomic_store_relaxed(&submission->batch->is_low, true);
	}
	stock_add(&outlet->stock, &feed->record, nitems, measured, bad, atomic_add_relaxed(&run->seq, nitems) + 1);
	for (; submission; submission = submission->next) {
		publish_queued(submission->batch, nitems); // items in the stock count as queued
	}
	feed->pending = false;
	return true;
}

// Calls stock_submit() for a batch found in the input, and returns the result; flushes the outlet if its stock is then empty.
static bool submit_keyed(struct run *run, struct outlet *outlet, bool ended, bool all) {
	bool done = stock_submit(run, outlet, ended, all);
	if (!done) {
		atomic_store_relaxed(&outlet->submission->batch->is_low, true);
	} else if (outlet->stock.nitems == 0) {
		(void)outlet_flush(run, outlet);
	}
	return done;
}

bool feed_submit_stocks(struct run *run, struct feed *feed) {
	struct outlets *outlets = &run->feeds->outlets;
	if (!feed->by_key) {
		return stock_submit(run, &feed->own, feed->ended, /* all */ false);
	}
	bool room = true;
	size_t bytes = 0;
	list_for_each_entry(&outlets->used, struct outlet, outlet, used) {
		bytes += stock_bytes(&outlet->stock) + OUTLET_BYTES;
		if (room && outlet->submission && atomic_exchange(&outlet->submission->batch->is_low, false)) {
			room = submit_keyed(run, outlet, feed->ended, /* all */ false);
		}
	}
	while (room && bytes > run->options->queue_mem / 2 && outlets->n > 0) {
		bytes -= stock_bytes(&longest_left(outlets)->stock) + OUTLET_BYTES;
		room = submit_keyed(run, longest_left(outlets), feed->ended, /* all */ true);
	}
	return room;
}

// ---- records ----

bool feed_record(struct run *run, struct feed *feed) {
	const struct template *command = feed->node || feed->bad || feed->joins ? NULL : run->spec.command; // joined items have one argument each
	const struct packing *packing = &run->options->packing;
	if (command && template_skips(command, &feed->record)) { // {choose_k} and {uniq}
		// the number of this record stays unused, as in GNU parallel
		atomic_add_relaxed(&run->seq, packing->on ? 0 : 1);
		feed->pending = false;
		return true;
	}
	struct outlet *outlet = feed->by_key ? find_outlet(run, &feed->record) : &feed->own;
	if (!outlet) {
		return false;
	}
	if (packing->on) {
		return feed->joins && !feed->bad ? feed_packed_items(run, feed) : feed_packed(run, feed, outlet);
	}
	return packing->by_time ? feed_stocked(run, feed, outlet) : feed_alone(run, feed, outlet, feed->bad);
}
