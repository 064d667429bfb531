// Packs items by the time that they take (--pack=auto): items wait unpacked in a stock until a slot is free.
//
// So a batch that comes late gets its turn at once, and the size of a pack follows from the time that earlier items have taken. In the pool, each
// queue has at most one pack that waits, in addition to a pack for each free slot.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/units.h"

#include <string.h>

// A record of the stock, as it was read.
struct stock_part {
	uint64_t seq;        // {#} of its first item
	uint32_t bytes, nargs;
	uint32_t nitems;     // how many items the record holds; if it holds several, each item is one argument
	uint32_t measured;   // bytes that the record adds to a command, as packs_measure() has found
	uint32_t reason;     // length of the text behind the arguments, with its NUL, that says why the record cannot be an item; or 0
};

size_t record_bytes_of(const struct record *record, uint32_t n) {
	return n == record->nargs ? record->size : (size_t)(strings_skip(record->args, n) - record->args);
}

// Moves the items that are left to the front of the memory, if more than half of the memory belongs to items that were taken.
static void compact(struct stock *stock) {
	if (stock->taken > stock->args.len / 2) {
		buf_drop(&stock->args, stock->taken);
		stock->taken = 0;
	}
	if (stock->first > stock->n / 2) {
		stock->n -= stock->first;
		memmove(stock->parts, stock->parts + stock->first, stock->n * sizeof(stock->parts[0]));
		stock->first = 0;
	}
}

void stock_add(struct stock *stock, const struct record *record, uint32_t nitems, uint32_t measured, const char *bad, uint64_t seq) {
	compact(stock);
	*NEW_ELEMENT(stock->parts, stock->n, stock->cap) = (struct stock_part){
		.seq = seq,
		.bytes = (uint32_t)record->size,
		.nargs = record->nargs,
		.nitems = nitems,
		.measured = measured,
		.reason = bad ? (uint32_t)strlen(bad) + 1 : 0,
	};
	buf_add(&stock->args, record->args, record->size);
	if (bad) {
		buf_add(&stock->args, bad, strlen(bad) + 1);
	}
	stock->nitems += nitems;
}

size_t stock_bytes(const struct stock *stock) {
	return stock->args.len - stock->taken + (stock->n - stock->first) * sizeof(stock->parts[0]);
}

// Moves the first `n` items of the stock's first part, which may be all of them, into the pack.
static void take_items(struct stock *stock, uint32_t n, struct stock_pack *pack) {
	struct stock_part *part = &stock->parts[stock->first];
	uint32_t nargs = n < part->nitems ? n : part->nargs;
	const struct record rest = {.args = stock->args.data + stock->taken, .size = part->bytes, .nargs = part->nargs};
	uint32_t bytes = (uint32_t)record_bytes_of(&rest, nargs);
	pack->nitems += n;
	pack->record.nargs += nargs;
	pack->record.size += bytes;
	stock->nitems -= n;
	stock->taken += bytes + part->reason;
	if (n == part->nitems) {
		++stock->first;
		return;
	}
	part->seq += n;
	part->nitems -= n;
	part->nargs -= nargs;
	part->bytes -= bytes;
}

void stock_take(struct stock *stock, const struct pack_limits *limits, uint64_t most, struct stock_pack *ret_pack) {
	const struct stock_part *part = &stock->parts[stock->first];
	*ret_pack = (struct stock_pack){.record.args = stock->args.data + stock->taken, .seq = part->seq};
	if (part->reason > 0) { // the record becomes a job of its own, which fails
		ret_pack->bad = ret_pack->record.args + part->bytes;
		take_items(stock, 1, ret_pack);
		return;
	}
	size_t size = 0;
	while (stock->first < stock->n && ret_pack->nitems < most) {
		part = &stock->parts[stock->first];
		uint32_t n = most - ret_pack->nitems < part->nitems ? (uint32_t)(most - ret_pack->nitems) : part->nitems;
		uint32_t nargs = ret_pack->record.nargs + (n < part->nitems ? n : part->nargs);
		size += part->measured;
		if (part->reason > 0 || (ret_pack->nitems > 0 && !packs_fit(limits, nargs, size, /* is_alone */ false))) {
			break;
		}
		take_items(stock, n, ret_pack);
	}
}

void stock_fini(struct stock *stock) {
	buf_fini(&stock->args);
	free(stock->parts);
	*stock = (struct stock){.nitems = 0};
}

// ---- into the pool ----

// Returns how many items the next pack of the batch may have.
static uint64_t choose_most(const struct batch *batch, uint64_t waiting, unsigned slots, bool ended) {
	struct run *run = batch->run;
	uint64_t limit = run->feeds->limits.items;
	FP_HOLD(&run->lock);
	uint64_t most = packsize_share(batch->pack_size.want, batch->pack_size.least, waiting, slots, ended);
	return limit > 0 && most > limit ? limit : most;
}

bool stock_submit(struct run *run, struct outlet *outlet, bool ended, bool all) {
	struct submission *submission = outlet->submission;
	struct stock *stock = &outlet->stock;
	unsigned slots = 1, lacks = 0;
	if (!feed_submit(run, submission)) { // items that had no room before
		return false;
	}
	for (const struct submission *at = submission; at && lacks == 0; at = at->next) {
		slots = pool_queue_slots(run->pool, at->queue, &lacks);
	}
	for (; stock->nitems > 0 && (all || lacks > 0); lacks -= lacks > 0) {
		if (submission_is_full(submission) && !feed_submit(run, submission)) {
			return false;
		}
		struct stock_pack pack;
		stock_take(stock, &run->feeds->limits, choose_most(submission->batch, stock->nitems, slots, ended), &pack);
		for (struct submission *each = submission; each; each = each->next) { // with --onall for each machine
			(void)submission_add(each, &(struct new_item){
				.record = &pack.record, .items = pack.nitems, .seq = pack.seq, .bad = pack.bad,
			});
		}
	}
	if (!feed_submit(run, submission)) {
		return false;
	}
	for (const struct submission *at = stock->nitems > 0 ? submission : NULL; at; at = at->next) {
		pool_queue_want(run->pool, at->queue);
	}
	return true;
}
