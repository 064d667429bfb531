// The data of --tee: all of it to every job. With --pipe, stdin as it comes; with --pipe-part, a file.

#include "pipe/block_feed.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "pipe/dealer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { TEE_BYTES = 128 * 1024 }; // of a portion: two for each job are kept at most, and all have the same

struct tee {
	struct pipe_config config;
	struct blocks blocks;    // one for each job that has begun
	const char *path;        // of --pipe-part, or NULL
	struct dealer *dealer;   // of --pipe
	struct consumer **consumers;     // by number of the job, less 1
	uint64_t nconsumers;
	bool flowing;
	bool ended;              // the data has
	struct portion *undealt; // what was read and is to be dealt out next, or NULL
};

struct tee *tee_open(const struct pipe_config *config) {
	const struct options *options = config->options;
	struct tee *tee = NEW(struct tee);
	tee->config = *config;
	blocks_init(&tee->blocks, &tee->config, /* named */ false, /* most */ SIZE_MAX);
	if (options->pipe == PIPE_STREAM) {
		tee->dealer = dealer_create(&tee->config);
		return tee;
	}
	tee->path = options->tee_file;
	int fd = open(tee->path, O_RDONLY | O_CLOEXEC); // fails before the first job, not with each
	if (fd < 0) {
		diag_error("cannot open '%s': %s", text_shows(tee->path), strerror(errno));
		tee_close(tee);
		return NULL;
	}
	close(fd);
	return tee;
}

void tee_close(struct tee *tee) {
	blocks_fini(&tee->blocks);
	if (tee->undealt) {
		portion_unref(tee->undealt);
	}
	if (tee->dealer) {
		dealer_destroy(tee->dealer);
	}
	free(tee->consumers);
	free(tee);
}

int tee_expect(struct tee *tee, uint64_t jobs) {
	if (!tee->dealer) {
		return 0;
	}
	const struct pipe_config *config = &tee->config;
	if (jobs > config->slots) {
		if (config->slots_by_fds) {
			return diag_error("--tee runs all %llu jobs at once, but %lu descriptors are enough for %u: raise the limit, "
			                  "by ulimit -n, or take --pipe-part with a file", (unsigned long long)jobs, config->nofile, config->slots);
		}
		if (config->slots_shared) {
			const char *pool = config->options->pool.name;
			return diag_error("--tee runs all %llu jobs at once, but %s%s gives slots for %u: take %s, or --pipe-part with a file",
			                  (unsigned long long)jobs, pool ? "pool " : "what it runs in", pool ? pool : "", config->slots,
			                  pool ? "a pool of more slots" : "--no-inherit");
		}
		return diag_error("--tee runs all %llu jobs at once, but --jobs %s allows %u: take --jobs 0, or --pipe-part with a file",
		                  (unsigned long long)jobs, config->options->jobs ? config->options->jobs : "0", config->slots);
	}
	tee->consumers = xcalloc(jobs > 0 ? (size_t)jobs : 1, sizeof(*tee->consumers)); // jobs: at most the slots
	for (; tee->nconsumers < jobs; ++tee->nconsumers) {
		tee->consumers[tee->nconsumers] = dealer_add(tee->dealer, /* portion */ NULL);
		if (!tee->consumers[tee->nconsumers]) {
			return diag_error("--tee: cannot connect %llu jobs: %s", (unsigned long long)jobs, strerror(errno));
		}
	}
	return 0;
}

void tee_begin(struct tee *tee, uint64_t jobs) {
	for (uint64_t i = jobs; i < tee->nconsumers; ++i) { // items that are none, such as {uniq} leaves out
		consumer_leave(tee->consumers[i]);
	}
	tee->flowing = true;
	wakeup_post(tee->config.wake_fd);
}

// Reads a portion; DATA_READY if there is one.
static enum data_status read_portion(struct tee *tee) {
	struct buf bytes = BUF_INIT;
	ssize_t n = read_now(buf_reserve(&bytes, TEE_BYTES), TEE_BYTES);
	if (n > 0) {
		bytes.len = (size_t)n;
		tee->undealt = portion_of_bytes(&bytes);
		return DATA_READY;
	}
	int error = n < 0 ? errno : 0;
	buf_fini(&bytes);
	if (error == EINTR || error == EAGAIN) {
		return error == EINTR ? DATA_AGAIN : DATA_WAIT;
	}
	tee->ended = true;
	if (error) {
		diag_error("cannot read the standard input: %s", strerror(error));
	}
	return error ? DATA_ERROR : DATA_AGAIN;
}

enum data_status tee_step(struct tee *tee) {
	if (!tee->flowing) {
		return DATA_FULL;
	}
	if (tee->ended || !tee->dealer || dealer_readers(tee->dealer) == 0) {
		tee->ended = true;
		tee_stop(tee);
		return DATA_END;
	}
	enum data_status status = tee->undealt ? DATA_READY : read_portion(tee);
	if (status != DATA_READY) {
		return status;
	}
	switch (dealer_deal_all(tee->dealer, tee->undealt)) {
	case DEAL_FULL: return DATA_FULL;
	case DEAL_NOBODY: return DATA_AGAIN;
	case DEAL_OK: break;
	}
	tee->undealt = NULL;
	return DATA_AGAIN;
}

void tee_stop(struct tee *tee) {
	if (tee->dealer) {
		dealer_end(tee->dealer);
	}
}

struct block *tee_block(struct tee *tee, uint64_t job) {
	struct block *block = block_new(&tee->blocks);
	block->consumer = tee->dealer ? tee->consumers[job - 1] : NULL;
	block->path = tee->path;
	return block;
}
