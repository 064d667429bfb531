// Reads the data of --pipe and --pipe-part: cut into blocks, each the standard input of a job; or all of the data for each job (--tee).
//
// Bytes of a stream come into a buffer, where the ends of blocks are looked for; a block takes that buffer over as it is. (Measured with
// 1 MiB blocks from a pipe: no more CPU than splice(2) into a file in memory.) A large regular file as stdin is not copied, unless an option changes
// or counts records: its blocks are parts of the file, as with --pipe-part, but end where --pipe ends blocks. (0.6 of the CPU time was measured.)
//
// The number of blocks is limited (blocks.most): at the limit the reader waits, and so does the program that writes the data.

#include "pipe/block.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "base/units.h"
#include "input/records.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PASS_BYTES = 4 * 1024 * 1024, // bytes that are read between two looks at the signals
	LARGE_FILE = 256 * 1024,      // a regular file as stdin is not copied if it has this many bytes left
	WINDOW = 4096,                // with a file as stdin, bytes that are first searched for the end of a block
	PIECE = 128 * 1024,           // bytes that are read at a time to find where parts end, as in GNU parallel
	RECORDS_AT_ONCE = 64,         // records that are dealt out between two looks at other events
	PARTS_AHEAD = 64,             // blocks of --pipe-part that may wait for a slot: each is no more than a few numbers
	TEE_BYTES = 128 * 1024,       // bytes in a portion of --tee: each job has at most two portions, and all jobs share them
	FDS_PER_JOB = 10,             // for --round-robin: a job's pipes, pidfd, eventfd and blocks, with some to spare
};

struct blockfeed {
	struct pipe_config config;
	struct block_splitter *splitter;
	struct dealer *dealer;   // for --round-robin, and for --tee with a stream; or NULL
	struct portion *undealt; // the portion to be dealt out next, or NULL
	unsigned started, most_jobs; // for --round-robin: how many jobs have begun, and how many may begin
	struct consumer **consumers; // for --tee: consumers[N - 1] is the consumer of job N until the job has a block, which owns it from then on
	uint64_t nconsumers;
	bool flowing;            // for --tee: all jobs are queued (blockfeed_begin())
	struct header_rule *fronts[2]; // how the data, or each file, begins: [0] a line that is in no block, [1] the header; or NULL
	int nfronts;             // for a stream: how many of `fronts` were looked for
	struct buf header;
	struct blanks blanks;    // for --no-run-if-empty, which drops lines that are empty or all blanks: the state of blanks_drop()
	bool warned;
	struct blocks blocks;

	bool ended;              // the stream has ended
	bool done;
	bool left_is_lost;       // data that was not dealt out is dropped
	bool cutting;            // the bytes of this round (begin_round()) have been read: now blocks are cut off
	bool first, cut_any;     // in this round: no cut was tried yet; a block was cut off
	size_t left;             // bytes to read in this round
	struct buf data;         // bytes that were read from a stream, or bytes of a file in which the end of a block is searched for
	size_t at;               // the offset in `data` of the bytes that are in no block yet

	struct file_part source; // the file that is stdin, if blocks are parts of it; else its path is NULL
	struct file_part *parts;
	size_t nparts, part;     // how many files there are, and the index of the present one
	uint64_t part_block;     // how many bytes behind the start of a block the search for its end begins
};

// ---- blocks ----

static enum data_status fail(struct blockfeed *feed, const char *what) {
	diag_error("%s: %s", what, strerror(errno));
	feed->ended = feed->done = true;
	return DATA_ERROR;
}

static enum data_status block_ready(struct blockfeed *feed, struct block *block, struct block **ret_block) {
	if (feed->blocks.named) { // the command gets the name of the block's file
		block->fd = tmpfile_open_in_memory("fairpar-block", feed->config.temp_dir);
		if (block->fd < 0) {
			return fail(feed, BLOCK_NOT_KEPT);
		}
	}
	*ret_block = block;
	return DATA_READY;
}

// Makes a block of the file's next bytes, up to `end`.
static enum data_status part_ready(struct blockfeed *feed, struct file_part *part, uint64_t end, struct block **ret_block) {
	struct block *block = block_new(&feed->blocks);
	if (!block) {
		return DATA_FULL;
	}
	block->part = part;
	block->head = part->head;
	block->head_len = part->head_len;
	block->offset = part->from;
	block->size = end - part->from;
	part->from = end;
	return block_ready(feed, block, ret_block);
}

// ---- reading a stream ----

// As read_some() from stdin, but fails with EAGAIN if it would wait.
static ssize_t read_now(char *to, size_t want) {
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int ready = poll(&in, 1, 0);
	errno = ready == 0 ? EAGAIN : errno;
	return ready <= 0 ? -1 : read_some(STDIN_FILENO, to, want);
}

// Reads up to `want` bytes of stdin, without blank lines if they are dropped. Returns how many it keeps, 0 at the end, or -1 with errno.
static ssize_t read_data(struct blockfeed *feed, size_t want) {
	char piece[16 * 1024];
	struct buf *data = &feed->data;
	bool drops = feed->config.options->input.skip_blank;
	size_t most = !drops || want < sizeof(piece) ? want : sizeof(piece);
	ssize_t n = read_now(drops ? piece : buf_reserve(data, most), most);
	if (n < 0 || !drops) {
		data->len += n > 0 ? (size_t)n : 0;
		return n;
	}
	size_t kept = blanks_drop(&feed->blanks, piece, (size_t)n, data);
	errno = EAGAIN; // only blank lines: many more may follow, so the event loop looks at signals first
	return kept == 0 && n > 0 ? -1 : (ssize_t)kept;
}

// Reads the bytes that the round still wants, but only about PASS_BYTES at a time. Returns DATA_READY if the round has all its bytes or the
// stream has ended. After DATA_ERROR the stream has ended, too.
static enum data_status fill(struct blockfeed *feed) {
	for (size_t pass = 0; feed->left > 0;) {
		if (pass >= PASS_BYTES) {
			return DATA_AGAIN;
		}
		ssize_t n = read_data(feed, feed->left < PASS_BYTES ? feed->left : PASS_BYTES);
		if (n < 0 && errno == EAGAIN) {
			return DATA_WAIT;
		}
		feed->ended = n <= 0;
		if (n < 0) {
			diag_error("cannot read the standard input: %s", strerror(errno));
		}
		if (feed->ended) {
			return n < 0 ? DATA_ERROR : DATA_READY;
		}
		pass += (size_t)n;
		feed->left -= (size_t)n;
	}
	return DATA_READY;
}

// Looks for the first line, if it is to be skipped, and then for the header, which each block begins with.
static enum data_status find_front(struct blockfeed *feed) {
	const struct header_rule *rule = feed->fronts[feed->nfronts];
	size_t len = feed->data.len - feed->at, found = rule ? header_find(rule, buf_str(&feed->data) + feed->at, len) : 0;
	if (found == SIZE_MAX && !feed->ended) {
		feed->left = block_splitter_want(feed->splitter, len);
		return DATA_AGAIN;
	}
	bool is_header = feed->nfronts++ > 0;
	found = found < SIZE_MAX ? found : is_header ? 0 : len;
	buf_add(&feed->header, buf_str(&feed->data) + feed->at, is_header ? found : 0);
	feed->at += found;
	feed->left = found == 0 || feed->ended ? 0 : block_splitter_want(feed->splitter, len - found);
	return DATA_AGAIN;
}

// Takes `len` bytes off the data, and returns them in a buffer: the memory of feed->data itself, if they are its first half or more; else a copy.
static struct buf take_data(struct blockfeed *feed, size_t len) {
	struct buf bytes = BUF_INIT, *data = &feed->data;
	size_t rest = data->len - feed->at - len;
	if (feed->at > 0 || rest > len) {
		buf_add(&bytes, data->data + feed->at, len);
		feed->at += len;
		return bytes;
	}
	buf_add(&bytes, data->data + len, rest);
	struct buf block = *data;
	*data = bytes;
	block.data[len] = '\0';
	block.len = len;
	return block;
}

// Makes a block of the first `len` bytes. If --remove-rec-sep leaves it empty, there is no block, as in GNU parallel.
static enum data_status cut_block(struct blockfeed *feed, size_t len, struct block **ret_block) {
	struct block *block = block_new(&feed->blocks);
	if (!block) {
		return DATA_FULL;
	}
	block->bytes = take_data(feed, len);
	if (feed->config.options->remove_rec_sep) {
		block_splitter_strip(feed->splitter, &block->bytes);
	}
	block->head = buf_str(&feed->header);
	block->head_len = feed->header.len;
	block->size = block->bytes.len;
	if (block->head_len + block->size == 0) {
		block_free(block);
		return DATA_AGAIN;
	}
	return block_ready(feed, block, ret_block);
}

// Cuts off a block, if the data has a whole block.
static enum data_status cut(struct blockfeed *feed, struct block **ret_block) {
	size_t all = feed->data.len - feed->at;
	size_t len = block_splitter_cut(feed->splitter, buf_str(&feed->data) + feed->at, all, feed->first, feed->ended);
	len = len == 0 && feed->ended ? all : len;
	enum data_status status = len > 0 ? cut_block(feed, len, ret_block) : DATA_AGAIN;
	if (status == DATA_FULL || status == DATA_ERROR) {
		return status;
	}
	feed->first = false;
	feed->cut_any |= len > 0;
	feed->done = feed->ended && len == all;
	feed->cutting = len > 0 || feed->ended;
	return status;
}

static enum data_status grow(struct blockfeed *feed) {
	if (!feed->cut_any && !feed->warned && !feed->config.options->quiet) {
		diag_warn("a record is longer than --block: its block grows until the record ends");
		feed->warned = true;
	}
	block_splitter_grow(feed->splitter);
	return DATA_AGAIN;
}

// Begins a round: the bytes that the splitter wants are read, then blocks are cut off until no whole block is left.
static void begin_round(struct blockfeed *feed) {
	buf_drop(&feed->data, feed->at);
	feed->at = 0;
	feed->left = block_splitter_want(feed->splitter, feed->data.len);
	feed->cutting = false;
	feed->first = true;
	feed->cut_any = false;
}

static enum data_status stream_step(struct blockfeed *feed, struct block **ret_block) {
	enum data_status status;
	if (!feed->cutting) {
		status = feed->ended ? DATA_READY : fill(feed);
		if (status != DATA_READY) {
			return status;
		}
		if (feed->nfronts < 2) {
			return find_front(feed);
		}
		feed->cutting = true;
	}
	status = cut(feed, ret_block);
	if (!feed->cutting && !feed->done) {
		if (!feed->cut_any) {
			grow(feed);
		}
		begin_round(feed);
	}
	return status;
}

// ---- a file as stdin ----

// Finds the end of the last whole record in the next `len` bytes, searching from behind: a record nearly always ends in the last few
// bytes. Sets *ret_cut to 0 if no record ends. Returns 0, or -1 with errno: EIO if the file has become shorter.
static int file_cut(struct blockfeed *feed, size_t len, size_t *ret_cut) {
	*ret_cut = block_splitter_is_free(feed->splitter) ? len : 0;
	for (size_t window = WINDOW, size = 0; *ret_cut == 0 && size < len; window *= 4) {
		size = window < len ? window : len;
		if (pread_all(feed->source.fd, buf_reserve(&feed->data, size), size, feed->source.from + len - size) < size) {
			return -1;
		}
		size_t cut = block_splitter_cut(feed->splitter, feed->data.data, size, /* first */ true, /* ended */ false);
		*ret_cut = cut > 0 ? len - size + cut : 0;
	}
	return 0;
}

static enum data_status file_step(struct blockfeed *feed, struct block **ret_block) {
	struct file_part *source = &feed->source;
	size_t want = block_splitter_want(feed->splitter, 0), cut;
	struct stat stat;
	// the file may still change: near the end its size is read again
	bool is_near = source->size < source->from + want;
	if (is_near && fstat(source->fd, &stat) != 0) {
		return fail(feed, "cannot read the standard input");
	}
	source->size = is_near ? (uint64_t)stat.st_size : source->size;
	uint64_t left = u64_minus(source->size, source->from);
	if (left == 0) {
		feed->done = true;
		return DATA_END;
	}
	if (left < want) {
		cut = (size_t)left;
	} else if (file_cut(feed, want, &cut) != 0) {
		return fail(feed, "cannot read the standard input");
	} else if (cut == 0) {
		return grow(feed);
	}
	enum data_status status = part_ready(feed, source, source->from + cut, ret_block);
	(void)lseek(source->fd, (off_t)source->from, SEEK_SET); // a program that reads stdin after fairpar begins there
	return status;
}

// ---- parts of files ----

// Reads into feed->data until the rule finds a header at part->from. Returns 0 with the header's length, or SIZE_MAX if there is
// none; -1 with errno.
static int part_find_front(struct blockfeed *feed, const struct file_part *part, const struct header_rule *rule, size_t *ret_len) {
	struct buf *data = &feed->data;
	ssize_t n = 1;
	*ret_len = SIZE_MAX;
	buf_reset(data);
	while (*ret_len == SIZE_MAX && n > 0) {
		n = pread(part->fd, buf_reserve(data, PIECE), PIECE, (off_t)(part->from + data->len));
		data->len += n > 0 ? (size_t)n : 0;
		*ret_len = n >= 0 ? header_find(rule, buf_str(data), data->len) : SIZE_MAX;
	}
	return n < 0 ? -1 : 0;
}

// Skips the first line, if it is to be skipped, and copies the header. Returns 0, or -1 with errno.
static int part_header(struct blockfeed *feed, struct file_part *part) {
	size_t len = 0;
	if (feed->fronts[0] && part_find_front(feed, part, feed->fronts[0], &len) != 0) {
		return -1;
	}
	part->from = len == SIZE_MAX ? part->size : len;
	if (feed->fronts[1]) {
		if (part_find_front(feed, part, feed->fronts[1], &len) != 0) {
			return -1;
		}
		part->head_len = len == SIZE_MAX ? 0 : len;
		part->head = xmemdup(buf_str(&feed->data), part->head_len);
		part->from += part->head_len;
	}
	buf_reset(&feed->data);
	return 0;
}

// Begins the next block of the file: the search for its end starts part_block bytes further on.
static void part_begin(struct blockfeed *feed, struct file_part *part) {
	part->scan = part->base = part->from + feed->part_block;
	part->end = 0;
	buf_reset(&feed->data);
}

// Looks for the end of the next block. Returns DATA_READY with part->end set, DATA_AGAIN or DATA_ERROR.
static enum data_status part_find(struct blockfeed *feed, struct file_part *part) {
	struct buf *data = &feed->data;
	for (size_t pass = 0; part->scan < part->size; pass += PIECE) {
		if (block_splitter_is_free(feed->splitter)) {
			part->end = part->scan;
			return DATA_READY;
		}
		if (pass >= PASS_BYTES) {
			return DATA_AGAIN;
		}
		ssize_t n = pread(part->fd, buf_reserve(data, PIECE), PIECE, (off_t)part->scan);
		if (n < 0) {
			diag_error("cannot read '%s': %s", text_shows(part->path), strerror(errno));
			return DATA_ERROR;
		}
		if (n == 0) {
			break; // the file has become shorter: the reader of the block will say so
		}
		data->len += (size_t)n;
		part->scan += (size_t)n;
		size_t found = block_splitter_find(feed->splitter, data->data, data->len);
		if (found != SIZE_MAX) {
			part->end = part->base + found;
			return DATA_READY;
		}
		size_t keep = block_splitter_overlap(feed->splitter);
		if (keep < data->len) {
			part->base += data->len - keep;
			memmove(data->data, data->data + data->len - keep, keep);
			data->len = keep;
		}
	}
	part->end = part->size;
	return DATA_READY;
}

static enum data_status parts_step(struct blockfeed *feed, struct block **ret_block) {
	struct file_part *part = &feed->parts[feed->part];
	if (part->from >= part->size) {
		feed->done = ++feed->part == feed->nparts;
		if (!feed->done) {
			part_begin(feed, &feed->parts[feed->part]);
		}
		return feed->done ? DATA_END : DATA_AGAIN;
	}
	// part->end is kept until there is room for the block: another search would begin behind it
	enum data_status status = part->end > 0 ? DATA_READY : part_find(feed, part);
	if (status != DATA_READY) {
		feed->done = status == DATA_ERROR;
		return status;
	}
	status = part_ready(feed, part, part->end, ret_block);
	if (status == DATA_READY) {
		part_begin(feed, part);
	}
	return status;
}

// ---- to jobs by turns (--round-robin) ----

// Ends the reading, as no job reads any more: so the program that writes the data ends, too.
static enum data_status stop_reading(struct blockfeed *feed) {
	feed->ended = feed->done = feed->left_is_lost = true;
	return feed->config.options->dry_run ? DATA_AGAIN : DATA_LOST;
}

// Deals out feed->undealt to a running job, or with --tee to all jobs.
static enum data_status deal(struct blockfeed *feed) {
	const struct options *options = feed->config.options;
	switch (options->tee ? dealer_deal_all(feed->dealer, feed->undealt)
	                     : dealer_deal(feed->dealer, feed->undealt, options->keep_order)) {
	case DEAL_FULL: return DATA_FULL;
	case DEAL_NOBODY: return options->tee ? DATA_AGAIN : stop_reading(feed);
	case DEAL_OK: break;
	}
	feed->undealt = NULL;
	return DATA_AGAIN;
}

// Gives the block to a further job as its first data, while further jobs may begin; else deals out the block's bytes, and frees the block.
static enum data_status robin_take(struct blockfeed *feed, struct block *block, struct block **ret_block) {
	bool is_first = feed->started < feed->most_jobs;
	struct buf bytes = BUF_INIT;
	if (is_first && block->head_len > 0) {
		buf_add(&bytes, block->head, block->head_len);
	}
	buf_move(&bytes, &block->bytes);
	struct portion *portion = portion_of_bytes(&bytes);
	if (!is_first) {
		feed->undealt = portion;
		block_free(block);
		return deal(feed);
	}
	block->consumer = dealer_add(feed->dealer, portion);
	if (!block->consumer) {
		enum data_status status = fail(feed, "cannot deal out a block"); // reports errno, so it comes before calls that may change errno
		portion_unref(portion);
		block_free(block);
		return status;
	}
	++feed->started;
	return block_ready(feed, block, ret_block);
}

static enum data_status robin_step(struct blockfeed *feed, struct block **ret_block) {
	enum deal left = feed->left_is_lost ? DEAL_OK : dealer_deal_left(feed->dealer);
	if (left == DEAL_FULL) {
		return DATA_FULL;
	}
	if (left == DEAL_NOBODY && feed->started == feed->most_jobs && !dealer_has_readers(feed->dealer)) {
		return stop_reading(feed); // no job reads any more, and no other job will be started
	}
	if (feed->done && (!feed->undealt || feed->left_is_lost)) {
		dealer_end(feed->dealer);
		return DATA_END;
	}
	if (feed->undealt) {
		return deal(feed);
	}
	enum data_status status = stream_step(feed, ret_block);
	return status == DATA_READY ? robin_take(feed, *ret_block, ret_block) : status;
}

void blockfeed_stop(struct blockfeed *feed) {
	if (feed->dealer) {
		dealer_end(feed->dealer);
	}
}

// ---- to all jobs (--tee) ----

int blockfeed_expect(struct blockfeed *feed, uint64_t jobs) {
	if (!feed->dealer) {
		return 0;
	}
	const struct pipe_config *config = &feed->config;
	if (jobs > config->slots) {
		if (config->slots_by_fds) {
			return diag_error("--tee runs all %llu jobs at once, but %lu descriptors are enough for %u: raise the limit, "
			                  "by ulimit -n, or take --pipe-part with a file", ull(jobs), config->nofile, config->slots);
		}
		if (config->slots_shared) {
			const char *pool = config->options->pool.name;
			return diag_error("--tee runs all %llu jobs at once, but %s%s gives slots for %u: take %s, or --pipe-part with a file",
			                  ull(jobs), pool ? "pool " : "the outer run", pool ? pool : "", config->slots,
			                  pool ? "a pool of more slots" : "--no-inherit");
		}
		return diag_error("--tee runs all %llu jobs at once, but --jobs %s allows %u: take --jobs 0, or --pipe-part with a file",
		                  ull(jobs), config->options->jobs ? config->options->jobs : "0", config->slots);
	}
	feed->consumers = xcalloc(jobs > 0 ? (size_t)jobs : 1, sizeof(*feed->consumers)); // there are no more jobs than slots here
	for (; feed->nconsumers < jobs; ++feed->nconsumers) {
		feed->consumers[feed->nconsumers] = dealer_add(feed->dealer, /* portion */ NULL);
		if (!feed->consumers[feed->nconsumers]) {
			return diag_error("--tee: cannot connect %llu jobs: %s", ull(jobs), strerror(errno));
		}
	}
	return 0;
}

void blockfeed_begin(struct blockfeed *feed, uint64_t jobs) {
	for (uint64_t i = jobs; i < feed->nconsumers; ++i) { // items that became no job, such as those that {uniq} leaves out
		consumer_leave(feed->consumers[i]);
	}
	feed->flowing = true;
	wakeup_post(feed->config.wake_fd);
}

// Reads a portion for --tee into feed->undealt. Returns DATA_READY if there was data.
static enum data_status read_portion(struct blockfeed *feed) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	ssize_t n = read_now(buf_reserve(&bytes, TEE_BYTES), TEE_BYTES);
	if (n > 0) {
		bytes.len = (size_t)n;
		feed->undealt = portion_of_bytes(&bytes);
		return DATA_READY;
	}
	if (n < 0 && errno == EAGAIN) {
		return DATA_WAIT;
	}
	feed->done = true;
	return n < 0 ? fail(feed, "cannot read the standard input") : DATA_AGAIN;
}

static enum data_status tee_step(struct blockfeed *feed) {
	if (!feed->flowing) {
		return DATA_FULL;
	}
	if (feed->done || !feed->dealer || !dealer_has_readers(feed->dealer)) {
		blockfeed_stop(feed);
		return DATA_END;
	}
	enum data_status status = feed->undealt ? DATA_READY : read_portion(feed);
	return status == DATA_READY ? deal(feed) : status;
}

struct block *blockfeed_block(struct blockfeed *feed, uint64_t job) {
	struct block *block = block_new(&feed->blocks);
	if (feed->dealer) {
		block->consumer = feed->consumers[job - 1];
		feed->consumers[job - 1] = NULL;
	} else {
		block->path = feed->config.options->tee_file;
	}
	return block;
}

// ---- one step of reading, for all options ----

enum data_status blockfeed_step(struct blockfeed *feed, struct block **ret_block) {
	if (feed->config.options->tee) {
		return tee_step(feed);
	}
	if (feed->dealer) {
		enum data_status status = robin_step(feed, ret_block);
		for (int n = 1; status == DATA_AGAIN && feed->cutting && n < RECORDS_AT_ONCE; ++n) {
			status = robin_step(feed, ret_block);
		}
		if (status != DATA_AGAIN) {
			dealer_wake(feed->dealer);
		}
		return status;
	}
	if (feed->done) {
		return DATA_END;
	}
	return feed->parts ? parts_step(feed, ret_block) : feed->source.path ? file_step(feed, ret_block)
	                                                                      : stream_step(feed, ret_block);
}

// ---- opening and closing ----

// Opens the file. Returns 0, or -1 after a message.
static int part_open(struct blockfeed *feed, struct file_part *part) {
	struct stat stat;
	part->fd = open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (part->fd < 0 || fstat(part->fd, &stat) != 0) {
		return diag_error("cannot open '%s': %s", text_shows(part->path), strerror(errno));
	}
	off_t size = lseek(part->fd, 0, SEEK_END); // finds the size of a block device, too
	if ((!S_ISREG(stat.st_mode) && !S_ISBLK(stat.st_mode)) || size < 0) {
		return diag_error("--pipe-part: '%s' is not a regular file; read it by --pipe < FILE", text_shows(part->path));
	}
	part->size = (uint64_t)size;
	return part_header(feed, part) == 0 ? 0 : diag_error("cannot read '%s': %s", text_shows(part->path), strerror(errno));
}

// Opens the files of --pipe-part, and decides how large their blocks are. Returns 0, or -1 after a message.
static int parts_open(struct blockfeed *feed) {
	const struct options *options = feed->config.options;
	feed->parts = xcalloc(options->nsources, sizeof(*feed->parts));
	uint64_t total = 0;
	for (; feed->nparts < options->nsources; ++feed->nparts) {
		struct file_part *part = &feed->parts[feed->nparts];
		part->path = options->sources[feed->nparts].path;
		if (part_open(feed, part) != 0) {
			++feed->nparts;
			return -1;
		}
		total += part->size;
	}
	uint64_t each = total / feed->config.slots / (options->block_parts > 0 ? options->block_parts : 1) + 1;
	feed->part_block = options->block_parts > 0 ? each : options->block;
	part_begin(feed, &feed->parts[0]);
	return 0;
}

static void stream_open(struct blockfeed *feed) {
	struct stat stat;
	const struct options *options = feed->config.options;
	off_t from = fstat(STDIN_FILENO, &stat) == 0 && S_ISREG(stat.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
	bool is_simple = !options->cat && !feed->dealer && !feed->fronts[0] && !feed->fronts[1] && !options->input.skip_blank
		&& !options->remove_rec_sep && !options->regexp && options->lines == 0 && options->records == 0;
	// files of /sys claim to be larger than they are, but never as large as LARGE_FILE
	if (is_simple && from >= 0 && (uint64_t)stat.st_size >= (uint64_t)from + LARGE_FILE) {
		feed->source = (struct file_part){.path = "the standard input", .is_stdin = true, .fd = STDIN_FILENO, .from = (uint64_t)from,
		                             .size = (uint64_t)stat.st_size};
	}
	(void)pipe_widen(STDIN_FILENO, PIPE_BYTES); // as in write_block(); does nothing unless stdin is a pipe
	begin_round(feed);
}

// Makes the splitter, and the rules for the beginning of the data. Returns 0, or -1 after a message.
static int rules_open(struct blockfeed *feed) {
	const struct options *options = feed->config.options;
	struct block_splitter_config config = {
		.block = options->block > 0 && options->block < SIZE_MAX ? (size_t)options->block : 1,
		.start = options->recstart,
		.end = options->recend ? options->recend : options->recstart ? NULL : "\n",
		.regexp = options->regexp,
		.records = options->records,
		.lines = options->lines,
	};
	FP_CLEANUP(free_later) char *error = NULL;
	feed->splitter = block_splitter_create(&config, &error);
	if (!feed->splitter) {
		diag_error("--recstart or --recend: %s", error);
	} else if (options->header_text && !(feed->fronts[1] = header_create(options->header_text, &error))) {
		diag_error("--header: %s", error);
	}
	feed->fronts[0] = options->input.skip_first ? header_create(":", &error) : NULL;
	return error ? -1 : 0;
}

// Checks once, before the first job, that the file of --tee can be opened, as each job opens the file. Returns 0, or -1 after a message.
static int tee_file_check(const char *path) {
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? 0 : diag_error("cannot open '%s': %s", text_shows(path), strerror(errno));
}

struct blockfeed *blockfeed_open(const struct pipe_config *config) {
	const struct options *options = config->options;
	struct blockfeed *feed = NEW(struct blockfeed);
	feed->config = *config;
	bool of_parts = options->pipe == PIPE_PART;
	// with --round-robin there is room for the first block of each job, a block that is filled, and a block that is dealt out
	size_t ahead = options->round_robin ? 2 : of_parts && !options->cat ? PARTS_AHEAD : 1;
	feed->blocks = (struct blocks){.config = &feed->config, .named = options->cat, .most = options->tee ? SIZE_MAX : config->slots + ahead};
	mutex_init(&feed->blocks.lock, LOCK_BLOCKS);
	list_init(&feed->blocks.all);
	if (options->round_robin || (options->tee && !of_parts)) {
		feed->dealer = dealer_create(&feed->config);
	}
	if (options->round_robin) {
		unsigned long most = config->nofile / FDS_PER_JOB;
		feed->most_jobs = most == 0 ? 1 : most < config->slots ? (unsigned)most : config->slots;
	}
	if (options->tee ? of_parts && tee_file_check(options->tee_file) != 0 : rules_open(feed) != 0 || (of_parts && parts_open(feed) != 0)) {
		blockfeed_close(feed);
		return NULL;
	}
	if (!of_parts && !options->tee) {
		stream_open(feed);
	}
	return feed;
}

void blockfeed_close(struct blockfeed *feed) {
	list_for_each_entry(&feed->blocks.all, struct block, block, link) {
		block_free(block);
	}
	mutex_fini(&feed->blocks.lock);
	portion_unref(feed->undealt);
	for (uint64_t i = 0; i < feed->nconsumers; ++i) {
		consumer_free(feed->consumers[i]);
	}
	if (feed->dealer) {
		dealer_destroy(feed->dealer);
	}
	for (size_t i = 0; i < feed->nparts; ++i) {
		fd_close(&feed->parts[i].fd);
		free(feed->parts[i].head);
	}
	free(feed->parts);
	free(feed->consumers);
	block_splitter_destroy(feed->splitter);
	header_destroy(feed->fronts[0]);
	header_destroy(feed->fronts[1]);
	buf_fini(&feed->header);
	buf_fini(&feed->blanks.begun);
	buf_fini(&feed->data);
	free(feed);
}
