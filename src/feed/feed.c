// Feeds batches from inputs: reads records just ahead of need, gives them their numbers, and queues them.
//
// The feeds run in the thread of the event loop, which takes no slot and never blocks. The input of a batch is read while the batch
// has less than feed_high_water() queued, and again when the pool says that the batch runs low: so memory does not grow with the length of the
// input. With --batch-by the input itself names the batches; such an input is read as far ahead as the pool has room (--queue-mem, then the
// spill file): otherwise a batch that comes late in the input would not get its turn at once.

#include "feed/feed_internal.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "state/dag_node.h"
#include "state/publish.h"
#include "pipe/block.h"

#include <unistd.h>

enum { PASS_ITEMS = 16 * 1024 }; // items between two looks at the signals

// ---- reading ----

// Reads the next record. Returns false if there is no record now.
static bool feed_read(struct run *run, struct feed *feed) {
	const char *error = NULL;
	if (!feed->input) {
		feed->pending = dag_node_next(feed->node, &feed->record, &feed->spec, &feed->bad);
		feed->ended = !feed->pending;
		return feed->pending;
	}
	switch (input_next(feed->input, &feed->record, &error)) {
	case INPUT_RECORD:
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
	case INPUT_HEADER: // the header was read when the feed was opened
	case INPUT_END:
		break;
	}
	feed->ended = true;
	return false;
}

// True if the feed's batch has enough to do for now; then the pool calls a hook when the batch runs low.
static bool feed_is_ahead(struct run *run, struct feed *feed) {
	if (run->options->packing.by_time) { // feed_submit_stocks() packs the items that were read, for free slots
		return !feed_submit_stocks(run, feed) || (!feed->by_key && stock_bytes(&feed->own.stock) >= feed_high_water(run));
	}
	bool wants = feed->by_key || run->halt.percent > 0; // --halt N% counts all jobs: all items must be read
	for (const struct submission *at = feed->own.submission; at && !wants; at = at->next) {
		wants = pool_queue_bytes(run->pool, at->queue) < feed_high_water(run);
	}
	if (wants) {
		return false;
	}
	for (const struct submission *at = feed->own.submission; at; at = at->next) {
		pool_queue_want(run->pool, at->queue);
	}
	return true;
}

// Reads more of the data of --pipe or --tee, and queues a block as soon as there is one. Returns true if there may be more now.
static bool feed_fill_data(struct run *run, struct feed *feed) {
	struct submission *submission = feed->own.submission;
	struct block *block;
	feed->waiting = false;
	if (publish_halted(run)) { // after a halt the pool refuses items, but could not refuse data for running jobs
		feeds_cut_short(run);
	}
	if (run->feeds->stopped || feed->ended || !feed_submit(run, submission)) {
		return false;
	}
	switch (blockfeed_step(run->blocks, &block)) {
	case DATA_READY:
		block_record(block, &run->feeds->key, &feed->record);
		if (!submission_add(submission, &(struct new_item){.record = &feed->record, .block = block})) { // --resume: the job was done before
			block_free(block);
		}
		return feed_submit(run, submission);
	case DATA_AGAIN:
		return true;
	case DATA_WAIT:
		feed->waiting = true;
		return false;
	case DATA_FULL:
		return false;
	case DATA_ERROR:
		atomic_store_relaxed(&run->trouble, true);
		return true;
	case DATA_LOST:
		if (!run->options->quiet) {
			diag_warn("no job reads any more: the rest of the data is not read");
		}
		publish_unread(run);
		return true;
	case DATA_END:
		break;
	}
	feed->ended = true;
	return false;
}

// Reads from one input until the input has nothing now, its batch has enough, or PASS_ITEMS items were read. Returns true if there may be more now.
static bool feed_fill(struct run *run, struct feed *feed) {
	struct feeds *feeds = run->feeds;
	if (feed->is_data) {
		return feed_fill_data(run, feed);
	}
	feed->waiting = false;
	uint32_t n = 0;
	for (uint32_t next_check = 0; !feed->ended && !feeds->full && !feeds->stopped; n += feed->joins ? feed->record.nargs : 1) {
		if (n >= PASS_ITEMS) {
			return true;
		}
		if (n >= next_check && feed_is_ahead(run, feed)) {
			break;
		}
		next_check = n >= next_check ? n + (feed->by_key ? PASS_ITEMS : SUBMISSION_ITEMS) : next_check;
		if ((feed->pending || feed_read(run, feed)) ? !feed_record(run, feed) : feed->waiting) {
			break;
		}
	}
	if (run->options->packing.by_time && !feeds->stopped) {
		(void)feed_submit_stocks(run, feed);
	} else if (feed->ended && !feed->pending && !feeds->stopped) {
		(void)feed_flush_packs(run, feed); // if there is no room, the next call tries again
	}
	return false;
}

static void feed_free(struct feed *feed) {
	list_remove(&feed->link);
	packs_fini(&feed->own.pack);
	stock_fini(&feed->own.stock);
	if (feed->input) {
		input_close(feed->input);
	}
	free(feed);
}

// Closes the queue of an input that has ended, once all its items are in the pool.
static void feed_finish(struct run *run, struct feed *feed) {
	bool gone = feed_submit(run, feed->own.submission) && feed_is_empty(run, feed);
	if (!feed->ended || feed->pending || !gone) {
		return;
	}
	if (run->options->tee && !feed->is_data) {
		blockfeed_begin(run->blocks, atomic_load_relaxed(queue_user_count(feed->own.submission->queue)));
	}
	feed_submission_close(run, feed->own.submission);
	if (feed->node) {
		dag_node_fed(feed->node);
	}
	feed_free(feed);
}

// Returns true if no more items will come, except from jobs that run.
static bool all_is_read(const struct run *run) {
	bool ended = true;
	list_for_each_entry(&run->feeds->active, const struct feed, feed, link) {
		ended = ended && feed->ended && (run->options->packing.by_time || feed_is_empty(run, feed));
	}
	return ended && (!run->dag || run->dag->nwaiting == 0);
}

bool feeds_fill(struct run *run) {
	struct feeds *feeds = run->feeds;
	bool again = false;
	feeds->full = false;
	list_for_each_entry(&feeds->active, struct feed, feed, link) {
		if (!feeds->stopped) {
			again |= feed_fill(run, feed);
			if (feed->node) { // frees the feed at once, as there may be very many nodes
				feed_finish(run, feed);
			}
		}
	}
	if (!feeds->stopped) {
		feeds_flush_outlets(run);
	}
	if (!atomic_load_relaxed(&run->all_read) && all_is_read(run)) {
		publish_all_read(run);
	}
	list_for_each_entry(&feeds->active, struct feed, feed, link) {
		if (!feeds->stopped && !feed->node) {
			feed_finish(run, feed);
		}
	}
	return again && !feeds->full && !feeds->stopped;
}

void feeds_add_polls(struct run *run, struct polls *polls) {
	list_for_each_entry(&run->feeds->active, struct feed, feed, link) {
		if (feed->waiting && !feed->ended && !run->feeds->stopped) {
			polls_add(polls, feed->is_data ? STDIN_FILENO : input_fd(feed->input), POLLIN); // a feed of --pipe-part reads files, and never waits
		}
	}
}

void feeds_stop(struct run *run) {
	struct feeds *feeds = run->feeds;
	if (!feeds) {
		return; // feeds_open() was not called
	}
	feeds_cut_short(run);
	list_for_each_entry(&feeds->active, struct feed, feed, link) {
		if ((feed->input || feed->is_data) && !feed->ended) {
			publish_unread(run);
		}
		if (feed->node) {
			publish_lost(feed->node->batch, feed->pending + (feed->input ? 0 : dag_node_left(feed->node)));
		}
		if (feed->own.submission) {
			uint64_t left = feed_count_packs(run, feed) + feed->own.stock.nitems + (feed->pending && !feed->node);
			for (const struct submission *each = feed->own.submission; each; each = each->next) {
				publish_lost(each->batch, each->nitems + left);
			}
			feed_submission_close(run, feed->own.submission);
		}
		feed_free(feed);
	}
	feeds_drop_outlets(run);
}

void feeds_close(struct run *run) {
	struct feeds *feeds = run->feeds;
	if (!feeds) {
		return;
	}
	feeds_stop(run);
	template_free(feeds->batch_by);
	for (size_t i = 0; i < feeds->names.n; ++i) {
		free(feeds->names.names[i]);
	}
	free(feeds->names.names);
	free(feeds->file_sources);
	buf_fini(&feeds->key);
	free(feeds);
	run->feeds = NULL;
}
