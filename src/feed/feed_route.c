// Where a record goes: into the submission of its batch, or into a pack on its way there; --batch-by says which batch.
//
// A submission keeps the queue of its batch open. Those of batches that --batch-by names are few, and closed with each flush;
// their packs are few, too, and the one longest left alone goes first.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/text.h"
#include "core/publish.h"
#include "pipe/block_feed.h"
#include "record/result_files.h"

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
		case SUBMIT_CLOSED: feeds_cut_short(run); break; // while these were on their way
		case SUBMIT_OK: break;
		}
	}
	return true;
}

// Adds the record to the submission, and with --onall to those of all machines.
static void add_record(struct submission *submission, const struct record *record, unsigned spec, const char *bad) {
	for (; submission; submission = submission->next) {
		submission_add(submission, record, spec, bad);
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
	if (queue && queue_user(queue) == fresh) {
		batch_open_output_queue(fresh);
	} else {
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

// ---- batches found in the input ----

bool feeds_flush_submissions(struct run *run) {
	struct feeds *feeds = run->feeds;
	size_t done = 0;
	while (done < feeds->nsubmissions && feed_submit(run, feeds->submissions[done])) {
		feed_submission_close(run, feeds->submissions[done++]);
	}
	feeds->nsubmissions -= done;
	memmove(feeds->submissions, feeds->submissions + done, feeds->nsubmissions * sizeof(feeds->submissions[0]));
	return feeds->nsubmissions == 0;
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
	template_expand(feeds->batch_by, &x, &feeds->key);
	const char *name = feeds->key.len > 0 ? feeds->key.data : "default";
	*ret_hash = hash_bytes(name, strlen(name), 0);
	return name;
}

// The submission of that batch. Returns NULL if the pool takes nothing any more, or has no room for those that had to go
// before.
static struct submission *find_submission(struct run *run, const char *name, uint64_t hash) {
	struct feeds *feeds = run->feeds;
	for (size_t i = feeds->nsubmissions; i-- > 0;) { // input is often sorted: the last one first
		struct submission *submission = feeds->submissions[i];
		if (submission->hash == hash && strcmp(submission->batch->name, name) == 0) {
			return submission;
		}
	}
	if (feeds->nsubmissions == SUBMISSIONS && !feeds_flush_submissions(run)) {
		return NULL;
	}
	struct submission *submission = feed_submission_open_batch(run, name, /* low_water */ 0);
	if (submission) {
		submission->hash = hash;
		feeds->submissions[feeds->nsubmissions++] = submission;
	}
	return submission;
}

// ---- packs ----

// Where the pack of that batch is, or would be.
static struct keyed_pack **packing_place(struct packing_state *packing, const char *name, uint64_t hash) {
	struct keyed_pack **at = &packing->buckets[hash % PACKING_OPEN];
	while (*at && ((*at)->hash != hash || strcmp((*at)->name, name) != 0)) {
		at = &(*at)->next;
	}
	return at;
}

// The pack of that batch, made if there is none; then there is one more, and the caller sees that there are not too many.
static struct keyed_pack *packing_find(struct packing_state *packing, const char *name, uint64_t hash) {
	struct keyed_pack **at = packing_place(packing, name, hash), *keyed = *at;
	if (keyed) {
		list_remove(&keyed->used);
	} else {
		keyed = NEW(struct keyed_pack);
		keyed->hash = hash;
		keyed->name = xstrdup(name);
		*at = keyed;
		++packing->n;
	}
	list_push_back(&packing->used, &keyed->used);
	return keyed;
}

static void packing_remove(struct packing_state *packing, struct keyed_pack *keyed) {
	*packing_place(packing, keyed->name, keyed->hash) = keyed->next;
	list_remove(&keyed->used);
	--packing->n;
	packs_fini(&keyed->pack);
	stock_fini(&keyed->stock);
	free(keyed->name);
	free(keyed);
}

// The submission for the pack of that batch, or else the one of the feed. NULL as find_submission().
static struct submission *submission_for(struct run *run, const struct feed *feed, const struct keyed_pack *keyed) {
	return keyed ? find_submission(run, keyed->name, keyed->hash) : feed->submission;
}

// Puts the pack of that batch, or else of the feed, spread over so many slots (0: as it is), into its submission, and empties it.
// Returns false if there is no room for all of it now: then it is to be called again.
static bool submit_pack(struct run *run, struct feed *feed, struct keyed_pack *keyed, unsigned slots) {
	struct submission *submission = submission_for(run, feed, keyed);
	struct pack *pack = keyed ? &keyed->pack : &feed->pack;
	if (!submission) {
		return false;
	}
	if (pack->each == 0) {
		pack->each = slots > 0 ? packs_spread(pack, slots) : pack->nitems;
	}
	while (pack->given < pack->nitems) {
		if (submission_is_full(submission) && !feed_submit(run, submission)) {
			return false;
		}
		uint32_t to = pack->nitems - pack->given > pack->each ? pack->given + pack->each : pack->nitems;
		struct record record = pack->each >= pack->nitems ? packs_record(pack) : packs_slice(pack, pack->given, to);
		add_record(submission, &record, 0, pack->bad);
		pack->given = to;
	}
	packs_reset(pack);
	return true;
}

// Submits all keyed packs but the newest `n`. At the end of the input (`slots`) they are spread, where there are more
// slots than batches.
static bool shrink_packs(struct run *run, size_t n, unsigned slots) {
	struct packing_state *packing = &run->feeds->packing;
	while (packing->n > n) {
		struct keyed_pack *keyed = list_entry(packing->used.next, struct keyed_pack, used);
		if (!submit_pack(run, NULL, keyed, slots)) {
			return false;
		}
		packing_remove(packing, keyed);
	}
	return true;
}

void feeds_drop_packs(struct run *run) {
	struct packing_state *packing = &run->feeds->packing;
	while (packing->n > 0) {
		struct keyed_pack *keyed = list_entry(packing->used.next, struct keyed_pack, used);
		if (keyed->submission) {
			counts_lost(keyed->submission->batch, keyed->stock.nitems + keyed->submission->nitems);
			feed_submission_close(run, keyed->submission);
		}
		packing_remove(packing, keyed);
	}
}

bool feed_flush_packs(struct run *run, struct feed *feed) {
	struct packing_state *packing = &run->feeds->packing;
	if (packing->sharers == 0) {
		packing->sharers = feed->by_key && packing->n > 0 ? packing->n : run->feeds->n;
	}
	unsigned slots = packing->slots > 0 ? (unsigned)((packing->slots - 1) / packing->sharers + 1) : 0;
	if (feed->by_key) {
		return shrink_packs(run, 0, slots);
	}
	return feed->pack.nitems == 0 || submit_pack(run, feed, NULL, slots);
}

bool feed_has_packs(const struct run *run, const struct feed *feed) {
	return feed->pack.nitems > 0 || feed->stock.nitems > 0 || (feed->by_key && run->feeds->packing.n > 0);
}

// A record that cannot be packed fails as a job; or, with --exit, nothing behind it is read.
static bool feed_alone(struct run *run, struct feed *feed, struct submission *submission, const char *bad) {
	if (!submission || (submission_is_full(submission) && !feed_submit(run, submission))) {
		return false;
	}
	feed->pending = false;
	if (!run->options->packing.exits || feed->bad) {
		add_record(submission, &feed->record, feed->spec, bad);
		return true;
	}
	diag_error("%s: '%s'", bad, text_show(feed->record.args, feed->record.size - 1));
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
	result_files_note_item(run, &feed->record);
	for (;;) {
		const char *bad;
		switch (packs_add(pack, &packing->limits, &feed->record, feed->bad, atomic_load_relaxed(&run->seq) + 1, &bad)) {
		case PACK_ALONE:
			return feed_alone(run, feed, submission_for(run, feed, keyed), bad);
		case PACK_TAKEN:
			feed->pending = false;
			if (!packs_is_complete(pack, &packing->limits)) {
				return true;
			}
			// without room it stays as it is, and goes before the next record
			return submit_pack(run, feed, keyed, 0);
		case PACK_FULL:
			if (!submit_pack(run, feed, keyed, 0)) {
				return false;
			}
		}
	}
}

// Puts as many of the items in the pending record as fit into the pack: they are halved until all do, or one is left, which is
// packed by itself. What did not fit is pending. Returns false if there is no room now for what must go first.
static bool feed_packed_items(struct run *run, struct feed *feed) {
	struct record part = feed->record, rest = feed->record;
	while (part.nargs > 1 && !packs_add_all(&feed->pack, &run->feeds->packing.limits, &part, atomic_load_relaxed(&run->seq) + 1)) {
		part.nargs /= 2;
		part.size = record_bytes_of(&rest, part.nargs);
	}
	if (part.nargs == 1) {
		feed->record = part;
		if (!feed_packed(run, feed)) {
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

// Keeps the pending record in the stock of its batch. Returns false if the pool takes nothing any more.
static bool feed_stocked(struct run *run, struct feed *feed) {
	struct pack_limits *limits = &run->feeds->packing.limits;
	struct submission *submission = feed->submission;
	struct stock *stock = &feed->stock;
	uint32_t nitems = feed->joins && !feed->bad ? feed->record.nargs : 1, measured = 0;
	const char *bad = feed->bad;
	if (!bad && !packs_measure(limits, &feed->record, atomic_load_relaxed(&run->seq) + 1, &measured, &bad) && run->options->packing.exits) {
		return feed_alone(run, feed, submission, bad);
	}
	if (feed->by_key) {
		uint64_t hash;
		const char *name = find_name(run, &feed->record, &hash);
		struct keyed_pack *keyed = packing_find(&run->feeds->packing, name, hash);
		if (!keyed->submission) {
			keyed->submission = feed_submission_open_batch(run, name, FEED_WHEN_EMPTY);
		}
		submission = keyed->submission;
		stock = &keyed->stock;
		if (!submission) {
			return false;
		}
		if (stock->nitems == 0) {
			batch_note_low(submission->batch);
		}
		run->feeds->packing.bytes -= stock_bytes(stock);
	}
	stock_add(stock, &feed->record, nitems, measured, bad, atomic_add_relaxed(&run->seq, nitems) + 1);
	run->feeds->packing.bytes += feed->by_key ? stock_bytes(stock) : 0;
	for (; submission; submission = submission->next) {
		publish_queued(submission->batch, nitems); // it is known, as what is queued
	}
	feed->pending = false;
	return true;
}

// Submits packs of that batch, and lets go of it if these were all. As stock_submit().
static bool submit_keyed(struct run *run, struct keyed_pack *keyed, bool ended, bool all) {
	struct packing_state *packing = &run->feeds->packing;
	size_t before = stock_bytes(&keyed->stock);
	bool done = stock_submit(run, &keyed->stock, keyed->submission, ended, all);
	packing->bytes -= before - stock_bytes(&keyed->stock);
	if (!done) {
		batch_note_low(keyed->submission->batch);
	} else if (keyed->stock.nitems == 0) {
		feed_submission_close(run, keyed->submission);
		packing_remove(packing, keyed);
	}
	return done;
}

bool feed_submit_stocks(struct run *run, struct feed *feed) {
	struct packing_state *packing = &run->feeds->packing;
	if (!feed->by_key) {
		return stock_submit(run, &feed->stock, feed->submission, feed->ended, /* all */ false);
	}
	bool room = true;
	for (struct batch *batch; room && (batch = batch_take_low(run)); batch_unref(batch)) {
		struct keyed_pack *keyed = *packing_place(packing, batch->name, hash_bytes(batch->name, strlen(batch->name), 0));
		room = !keyed || submit_keyed(run, keyed, feed->ended, /* all */ false);
	}
	while (room && packing->bytes + packing->n * KEYED_BYTES > run->options->queue_mem / 2 && packing->n > 0) {
		room = submit_keyed(run, list_entry(packing->used.next, struct keyed_pack, used), feed->ended, /* all */ true);
	}
	return room;
}

// ---- records ----

bool feed_record(struct run *run, struct feed *feed) {
	const struct template *command = feed->node || feed->bad || feed->joins ? NULL : run->spec.command; // one argument is no choice
	if (command && template_skips(command, &feed->record)) { // {choose_k} and {uniq}
		// its number is nobody's, as in GNU parallel
		atomic_add_relaxed(&run->seq, run->options->packing.on ? 0 : 1);
		feed->pending = false;
		return true;
	}
	if (run->options->packing.on) {
		return feed->joins && !feed->bad ? feed_packed_items(run, feed) : feed_packed(run, feed);
	}
	if (run->options->packing.by_time) {
		return feed_stocked(run, feed);
	}
	struct submission *submission = feed->submission;
	if (feed->by_key) {
		uint64_t hash;
		const char *name = find_name(run, &feed->record, &hash);
		submission = find_submission(run, name, hash);
	}
	if (!submission || (submission_is_full(submission) && !feed_submit(run, submission))) {
		return false;
	}
	add_record(submission, &feed->record, feed->spec, feed->bad);
	feed->pending = false;
	return true;
}
