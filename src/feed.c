// From inputs to batches: reads records just ahead of need, gives them their numbers, and queues them.
//
// The feeding thread (the event loop's) is no slot and never blocks. A batch with an input of its own is read while it
// has less than HIGH_BYTES queued, and again when the pool says that it runs low, so memory is flat whatever the length
// of the input. Where the batches are found in the input itself (--batch-by) it is read as far ahead as the pool takes
// it (--queue-mem, then the spill file): only so does a batch that comes late in the input get its turn at once.

#include "run.h"

#include "base/alloc.h"
#include "base/diag.h"

#include <errno.h>
#include <fnmatch.h>

enum {
	RUN_ITEMS = 256,             // items submitted with one call
	RUN_BYTES = 64 * 1024,       // … and bytes
	HIGH_BYTES = 64 * 1024,      // queued bytes of a batch at which its input is left alone
	LOW_BYTES = 32 * 1024,       // … at which the pool asks for more
	PASS_ITEMS = 16 * 1024,      // items between two looks at the signals
	PARCELS = 256,               // batches between two flushes, with --batch-by
};

// Items on their way to one queue, submitted together.
struct parcel {
	struct queue *queue;
	struct batch *batch;
	uint64_t hash;                   // of the batch's name
	struct buf bytes;                // payloads, each at a multiple of 8
	struct { size_t at, size; uint64_t number; } items[RUN_ITEMS];
	size_t n;
	size_t counted;                  // of them, in the tally's total: an item is known before it can have ended
};

struct feed {
	struct input *input;
	struct parcel *parcel;           // of its batch; with --batch-by of "default", held open until the input has ended,
	                                 // for a pool without an open queue would be done
	bool by_key;                     // --batch-by names the batch of each record
	bool waiting;                    // for its descriptor
	bool ended;                      // everything was read
	bool pending;                    // `record` was read, but there was no room for it yet
	struct record record;
	const char *bad;                 // why the pending record cannot be an item, or NULL
};

struct feeds {
	struct feed *feeds;
	size_t n;
	uint64_t seq;                    // of the last record read
	bool full;                       // the pool had no room: its call is awaited
	bool stopped;                    // the pool takes nothing any more
	bool all_counted;                // all input was read, and the tally knows
	struct buf key;                  // scratch: an expanded --batch-by
	struct parcel *parcels[PARCELS]; // with --batch-by: of the batches met since the last flush, in that order
	size_t nparcels;
	struct parcel *free[PARCELS];
	size_t nfree;
};

// ---- batches ----

static struct batch *batch_new(struct run *run, const char *name) {
	struct batch *batch = NEW(struct batch);
	batch->run = run;
	batch->recipe = &run->recipe;
	batch->name = xstrdup(name);
	return batch;
}

void batch_free(struct run *run, struct batch *batch) {
	if (batch->lane) {
		emit_lane_close(run->emit, batch->lane);
	}
	free(batch->name);
	free(batch);
}

// The attributes that the options give to a batch of that name; later settings win.
static struct queue_attrs batch_attrs(const struct run *run, const char *name, size_t low_water) {
	struct queue_attrs attrs = {.weight = 1, .low_water = low_water};
	for (size_t i = 0; i < run->options->nsettings; ++i) {
		struct batch_setting *setting = &run->options->settings[i];
		if (fnmatch(setting->pattern, name, 0) != 0) {
			continue;
		}
		setting->used = true;
		switch (setting->what) {
		case SET_WEIGHT: attrs.weight = (uint32_t)setting->value; break;
		case SET_MAX_PARALLEL: attrs.max_parallel = (uint32_t)setting->value; break;
		case SET_PRIORITY: attrs.priority = (int32_t)setting->value; break;
		case SET_LONG_RUNNING: attrs.long_running = setting->value; break;
		case SET_PREFER_FAIRNESS: attrs.prefer_fairness = setting->value; break;
		}
	}
	return attrs;
}

// Opens the queue of the name. Returns NULL when the pool takes nothing any more.
static struct queue *open_queue(struct run *run, const char *name, size_t low_water, struct batch **ret_batch) {
	struct queue_attrs attrs = batch_attrs(run, name, low_water);
	struct batch *fresh = batch_new(run, name);
	struct queue *queue = pool_queue_open(run->pool, name, &attrs, fresh);
	struct batch *batch = queue ? queue_user(queue) : NULL;
	if (batch != fresh) {
		batch_free(run, fresh);
	} else if (run->emit) {
		batch->lane = emit_lane_open(run->emit);
	}
	*ret_batch = batch;
	return queue;
}

// ---- parcels ----

static void count_total(struct run *run, uint64_t n) {
	mutex_lock(&run->lock);
	run->tally.total += n;
	mutex_unlock(&run->lock);
}

// All input was read: a --halt of N% may have been met by what has ended meanwhile.
static void count_all(struct run *run) {
	mutex_lock(&run->lock);
	struct tally *tally = &run->tally;
	tally->total_is_final = true;
	atomic_store_relaxed(&run->all_read, true);
	bool stop = !run->halted && tally->ok + tally->failed > 0 && halt_is_met(&run->options->halt, tally);
	if (stop) {
		run->halted = true;
		run->halted_by = tally->first;
	}
	mutex_unlock(&run->lock);
	if (stop) {
		work_stop_run(run);
	}
}

static void parcel_add(struct feeds *feeds, struct parcel *parcel, const struct record *record, const char *bad) {
	struct batch *batch = parcel->batch;
	uint64_t *number = queue_keep(parcel->queue);
	struct item item = {
		.seq = feeds->seq,
		.number = ++*number,
		.order = ++batch->order,
		.nargs = record->nargs,
		.bad = bad != NULL,
	};
	struct buf *bytes = &parcel->bytes;
	while (bytes->len % 8 != 0) {
		buf_addc(bytes, '\0');
	}
	size_t at = bytes->len;
	buf_add(bytes, &item, sizeof(item));
	buf_add(bytes, record->args, record->size);
	if (bad) {
		buf_add(bytes, bad, strlen(bad) + 1);
	}
	parcel->items[parcel->n].at = at;
	parcel->items[parcel->n].size = bytes->len - at;
	parcel->items[parcel->n].number = item.number;
	++parcel->n;
}

static bool parcel_is_full(const struct parcel *parcel) {
	return parcel->n == RUN_ITEMS || parcel->bytes.len >= RUN_BYTES;
}

// Submits what is in the parcel. Returns false if the pool has no room: then it is still in the parcel.
static bool parcel_submit(struct run *run, struct parcel *parcel) {
	struct work works[RUN_ITEMS];
	if (parcel->n == 0) {
		return true;
	}
	count_total(run, parcel->n - parcel->counted);
	parcel->counted = parcel->n;
	for (size_t i = 0; i < parcel->n; ++i) {
		works[i] = (struct work){
			.type = &work_item,
			.data = parcel->bytes.data + parcel->items[i].at,
			.size = parcel->items[i].size,
			.id = parcel->items[i].number,
		};
	}
	switch (pool_submit(run->pool, parcel->queue, NULL, works, parcel->n)) {
	case SUBMIT_OK:
		break;
	case SUBMIT_FULL:
		run->feeds->full = true;
		return false;
	case SUBMIT_CLOSED: // the run was cut short while these were on their way
		work_count_cancelled(run, parcel->n);
		run->feeds->stopped = true;
		break;
	}
	parcel->n = parcel->counted = 0;
	buf_reset(&parcel->bytes);
	return true;
}

static struct parcel *parcel_open(struct run *run, const char *name, uint64_t hash, size_t low_water) {
	struct feeds *feeds = run->feeds;
	struct batch *batch;
	struct queue *queue = open_queue(run, name, low_water, &batch);
	if (!queue) {
		feeds->stopped = true;
		return NULL;
	}
	struct parcel *parcel = feeds->nfree > 0 ? feeds->free[--feeds->nfree] : NEW(struct parcel);
	parcel->queue = queue;
	parcel->batch = batch;
	parcel->hash = hash;
	return parcel;
}

static void parcel_close(struct run *run, struct parcel *parcel) {
	pool_queue_close(run->pool, parcel->queue);
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
	while (done < feeds->nparcels && parcel_submit(run, feeds->parcels[done])) {
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

// The parcel of the batch that --batch-by names for the record. Returns NULL if the pool takes nothing any more, or has
// no room for those that had to go before.
static struct parcel *find_parcel(struct run *run, const struct record *record) {
	struct feeds *feeds = run->feeds;
	struct expansion x = {.record = record, .seq = feeds->seq + 1, .slot = 0};
	buf_reset(&feeds->key);
	template_expand(run->batch_by, &x, &feeds->key);
	const char *name = feeds->key.len > 0 ? feeds->key.data : "default";
	uint64_t hash = hash_name(name);
	for (size_t i = feeds->nparcels; i-- > 0;) { // input is often sorted: the last one first
		struct parcel *parcel = feeds->parcels[i];
		if (parcel->hash == hash && strcmp(parcel->batch->name, name) == 0) {
			return parcel;
		}
	}
	if (feeds->nparcels == PARCELS && !flush_parcels(run)) {
		return NULL;
	}
	struct parcel *parcel = parcel_open(run, name, hash, 0);
	if (parcel) {
		feeds->parcels[feeds->nparcels++] = parcel;
	}
	return parcel;
}

// ---- reading ----

// Puts the pending record on its way. Returns false if there is no room for it now.
static bool feed_record(struct run *run, struct feed *feed) {
	struct feeds *feeds = run->feeds;
	struct parcel *parcel = feed->by_key ? find_parcel(run, &feed->record) : feed->parcel;
	if (!parcel || (parcel_is_full(parcel) && !parcel_submit(run, parcel))) {
		return false;
	}
	++feeds->seq;
	parcel_add(feeds, parcel, &feed->record, feed->bad);
	feed->pending = false;
	return true;
}

// Reads the next record. Returns false if there is none now.
static bool feed_read(struct run *run, struct feed *feed) {
	const char *error = NULL;
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

// True if the feed's batch has enough to do for now; the pool then calls when it has not.
static bool feed_is_ahead(struct run *run, struct feed *feed) {
	bool to_the_end = feed->by_key || run->options->halt.percent > 0; // N% is of all jobs: they must be known
	if (to_the_end || pool_queue_bytes(run->pool, feed->parcel->queue) < HIGH_BYTES) {
		return false;
	}
	pool_queue_want(run->pool, feed->parcel->queue);
	return true;
}

// Reads from one input until it has nothing, its batch has enough, or the pass is over. Returns true in that last case.
static bool feed_fill(struct run *run, struct feed *feed) {
	struct feeds *feeds = run->feeds;
	feed->waiting = false;
	for (unsigned left = PASS_ITEMS; !feed->ended && !feeds->full && !feeds->stopped; --left) {
		if (left == 0) {
			return true;
		}
		if (left % RUN_ITEMS == 0 && feed_is_ahead(run, feed)) {
			break;
		}
		if ((feed->pending || feed_read(run, feed)) ? !feed_record(run, feed) : feed->waiting) {
			break;
		}
	}
	return false;
}

// Closes the queue of an input that has ended, once all its items are in the pool.
static void feed_finish(struct run *run, struct feed *feed) {
	bool gone = feed->by_key ? run->feeds->nparcels == 0 : parcel_submit(run, feed->parcel);
	if (feed->ended && !feed->pending && gone) {
		parcel_close(run, feed->parcel);
		feed->parcel = NULL;
	}
}

bool feeds_fill(struct run *run) {
	struct feeds *feeds = run->feeds;
	bool again = false;
	bool all_read = true;
	feeds->full = false;
	for (size_t i = 0; i < feeds->n && !feeds->stopped; ++i) {
		struct feed *feed = &feeds->feeds[i];
		again |= feed_fill(run, feed);
		all_read = all_read && feed->ended;
	}
	if (!feeds->stopped) {
		flush_parcels(run);
	}
	for (size_t i = 0; i < feeds->n && !feeds->stopped; ++i) {
		if (feeds->feeds[i].parcel) {
			feed_finish(run, &feeds->feeds[i]);
		}
	}
	if (all_read && !feeds->all_counted) {
		feeds->all_counted = true;
		count_all(run);
	}
	return again && !feeds->full && !feeds->stopped;
}

int feeds_poll_fd(struct run *run, size_t *at) {
	struct feeds *feeds = run->feeds;
	for (; *at < feeds->n; ++*at) {
		struct feed *feed = &feeds->feeds[*at];
		if (feed->waiting && !feed->ended && !feeds->stopped) {
			return input_fd(feeds->feeds[(*at)++].input);
		}
	}
	return -1;
}

void feeds_stop(struct run *run) {
	struct feeds *feeds = run->feeds;
	feeds->stopped = true;
	for (size_t i = 0; i < feeds->nparcels; ++i) {
		work_count_cancelled(run, feeds->parcels[i]->n);
		parcel_close(run, feeds->parcels[i]);
	}
	feeds->nparcels = 0;
	for (size_t i = 0; i < feeds->n; ++i) {
		struct feed *feed = &feeds->feeds[i];
		if (feed->parcel) {
			work_count_cancelled(run, feed->parcel->n + feed->pending);
			parcel_close(run, feed->parcel);
			feed->parcel = NULL;
		}
	}
}

// ---- opening and closing ----

static struct feed *feed_add(struct run *run, const struct source_config *sources, size_t nsources, const char *name) {
	struct feeds *feeds = run->feeds;
	const struct options *options = run->options;
	struct input_config config = {
		.sources = sources,
		.nsources = nsources,
		.delimiter = options->delimiter,
		.colsep = options->colsep,
		.header = options->header,
		.trim = options->trim,
	};
	char *error;
	struct feed *feed = &feeds->feeds[feeds->n];
	*feed = (struct feed){.input = input_open(&config, &error)};
	if (!feed->input) {
		diag_error("%s", error);
		free(error);
		return NULL;
	}
	++feeds->n;
	feed->parcel = parcel_open(run, name, 0, LOW_BYTES);
	return feed;
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
	struct feeds *feeds = run->feeds;
	for (size_t i = 0; i < feeds->n; ++i) {
		struct names more = {NULL, 0};
		if (read_names(run, &feeds->feeds[i], i == 0 ? names : &more) != 0) {
			return -1;
		}
		bool same = i == 0 || feeds->feeds[i].ended || names_are_equal(names, &more);
		names_free(&more);
		if (!same) {
			diag_error("--header: the inputs do not have the same names in their headers");
			return -1;
		}
	}
	return 0;
}

int feeds_open(struct run *run) {
	const struct options *options = run->options;
	struct feeds *feeds = run->feeds = NEW(struct feeds);
	feeds->feeds = xcalloc(options->nbatch_files + 1, sizeof(*feeds->feeds));
	if (options->nsources > 0) {
		const char *name = options->batch ? options->batch : "default";
		struct feed *feed = feed_add(run, options->sources, options->nsources, name);
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
		if (!feed_add(run, &run->file_sources[i], 1, file->name)) {
			return -1;
		}
	}
	struct names names = {NULL, 0};
	int result = options->header ? read_headers(run, &names) : 0;
	if (result == 0) {
		result = run_parse_templates(run, &names);
	}
	names_free(&names);
	return result;
}

void feeds_close(struct run *run) {
	struct feeds *feeds = run->feeds;
	feeds_stop(run);
	for (size_t i = 0; i < feeds->n; ++i) {
		input_close(feeds->feeds[i].input);
	}
	for (size_t i = 0; i < feeds->nfree; ++i) {
		free(feeds->free[i]);
	}
	buf_fini(&feeds->key);
	free(feeds->feeds);
	free(feeds);
	run->feeds = NULL;
}
