// Limits how many blocks there are at once, and makes a block the standard input of its job.

#include "pipe/block.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/temp_file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PIPE_LEAST = 64 * 1024 }; // bytes that every pipe can hold

// ---- making and freeing ----

struct block *block_new(struct blocks *blocks) {
	struct block *block = NULL;
	FP_HOLD(&blocks->lock);
	blocks->room_wanted = blocks->n >= blocks->most;
	if (!blocks->room_wanted) {
		block = NEW(struct block);
		block->blocks = blocks;
		block->fd = -1;
		list_push_back(&blocks->all, &block->link);
		++blocks->n;
	}
	return block;
}

void block_free(struct block *block) {
	struct blocks *blocks = block->blocks;
	consumer_free(block->consumer);
	mutex_lock(&blocks->lock);
	list_remove(&block->link);
	--blocks->n;
	bool wake = blocks->room_wanted;
	blocks->room_wanted = false;
	mutex_unlock(&blocks->lock);
	fd_close(&block->fd);
	buf_fini(&block->bytes);
	free(block);
	if (wake) {
		wakeup_post(blocks->config->wake_fd);
	}
}

// ---- the item and the size of a block ----

void block_record(struct block *block, struct buf *buf, struct record *ret_record) {
	buf_reset(buf);
	if (block->blocks->named && block->consumer) {
		buf_adds(buf, "/dev/stdin");
	} else if (block->blocks->named) {
		tmpfile_add_name(buf, block->fd);
	}
	buf_addc(buf, '\0');
	*ret_record = (struct record){.args = buf->data, .size = buf->len, .nargs = 1};
}

uint64_t block_sent(const struct block *block) {
	return block->consumer ? block->consumer->sent : block->part && !block->part->is_stdin ? 0 : block->head_len + block->size;
}

// ---- a block and its job ----

// Moves the next bytes of the block's part of a file to the descriptor `to`. Returns as splice_file(), after a message if reading fails.
static ssize_t move_part(const struct block *block, int to) {
	uint64_t left = block->size - block->at;
	ssize_t n = splice_file(block->part->fd, block->offset + block->at, to, left < PIPE_BYTES ? (size_t)left : PIPE_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EPIPE && errno != EINTR)) {
		diag_error("cannot read '%s': %s", text_shows(block->part->path), n == 0 ? "it has become shorter" : strerror(errno));
		atomic_store_relaxed(block->blocks->config->trouble, true);
	}
	return n;
}

// Writes the next bytes of the block into the pipe: first the header, then the data from memory or from the file.
static ssize_t write_block(void *arg, int fd) {
	struct block *block = arg;
	if (block->head_at == 0 && block->at == 0 && block->size > PIPE_LEAST) {
		(void)pipe_widen(fd, PIPE_BYTES); // so that reader and writer wait for each other less often; the call may fail if the user has many pipes
	}
	if (block->head_at < block->head_len) {
		ssize_t n = write(fd, block->head + block->head_at, block->head_len - block->head_at);
		block->head_at += n > 0 ? (size_t)n : 0;
		return n;
	}
	if (block->at == block->size) {
		return 0;
	}
	ssize_t n = block->part ? move_part(block, fd) : write(fd, block->bytes.data + block->at, (size_t)(block->size - block->at));
	block->at += n > 0 ? (uint64_t)n : 0;
	return n > 0 && block->at == block->size ? 0 : n;
}

// Writes the block into its file, for a job that gets the name of the file. Bytes in memory are written for the first attempt only:
// later attempts find the file as the first attempt has left it. Returns 0, or -1 after a message.
static int block_fill(struct block *block) {
	if (!block->part && !block->bytes.data) {
		return 0;
	}
	if (lseek(block->fd, 0, SEEK_SET) != 0 || write_all(block->fd, block->head, block->head_len) != 0
	    || write_all(block->fd, buf_str(&block->bytes), block->bytes.len) != 0) {
		return diag_error("%s: %s", BLOCK_NOT_KEPT, strerror(errno));
	}
	buf_fini(&block->bytes);
	while (block->part && block->at < block->size) {
		ssize_t n = move_part(block, block->fd);
		if (n == 0 || (n < 0 && errno != EINTR)) {
			return -1;
		}
		block->at += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

int block_connect(struct block *block, struct child_config *config) {
	block->head_at = 0;
	block->at = 0;
	if (block->consumer) {
		config->stdin_writer = &block->consumer->stdin_writer;
		return 0;
	}
	if (block->path) {
		config->stdin_fd = open(block->path, O_RDONLY | O_CLOEXEC);
		return config->stdin_fd >= 0 ? 0 : diag_error("cannot open '%s': %s", text_shows(block->path), strerror(errno));
	}
	if (block->blocks->named) {
		return block_fill(block); // the stdin of the job is empty, as in GNU parallel
	}
	block->stdin_writer = (struct stdin_writer){.writable = write_block, .arg = block};
	config->stdin_writer = &block->stdin_writer;
	return 0;
}

void block_disconnect(const struct block *block, struct child_config *config) {
	if (block->path) {
		close(config->stdin_fd);
		config->stdin_fd = -1;
	}
}
