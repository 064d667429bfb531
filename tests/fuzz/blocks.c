// Fuzz target: data cut into blocks (--pipe). The first bytes choose sizes and records, the next line holds --recend and
// --recstart, the rest is data.
//
// Whatever the borders, the blocks joined are the data. Where borders are plain text, each cut is at one. Blank lines are
// dropped in the same way whether the data comes whole or in pieces, and a header is found at the front only.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "input/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPTIONS = 4 };

static bool is_border(const struct block_splitter_config *config, const char *data, size_t size, size_t at) {
	if (config->lines > 0) { // -L goes by lines alone
		return data[at - 1] == '\n';
	}
	size_t end = config->end ? strlen(config->end) : 0, start = config->start ? strlen(config->start) : 0;
	return at >= end && size - at >= start && memcmp(data + at - end, config->end ? config->end : "", end) == 0
	       && memcmp(data + at, config->start ? config->start : "", start) == 0;
}

static void check_block(struct block_splitter *splitter, const struct block_splitter_config *config, const char *data, size_t size, size_t at, size_t len) {
	bool plain = !config->regexp && !(config->start && strchr(config->start, '\\')) && !(config->end && strchr(config->end, '\\'));
	verify(!plain || at + len == size || is_border(config, data, size, at + len));
	struct buf block = BUF_INIT;
	buf_add(&block, data + at, len);
	block_splitter_strip(splitter, &block);
	verify(block.len <= len);
	buf_fini(&block);
}

// As src/pipe/block_feed.c does it: reads what is wanted, takes off blocks, keeps the rest.
static void check_cuts(const struct block_splitter_config *config, const char *data, size_t size) {
	char *error = NULL;
	struct block_splitter *splitter = block_splitter_create(config, &error);
	if (!splitter) {
		verify(config->regexp && error && error[0]);
		free(error);
		return;
	}
	size_t read = 0, cut = 0, block = config->block;
	for (bool ended = false; !ended;) {
		size_t want = block_splitter_want(splitter, read - cut), before = cut, len;
		verify(want > 0);
		ended = want > size - read;
		read += ended ? size - read : want;
		while ((len = block_splitter_cut(splitter, data + cut, read - cut, cut == before, ended)) > 0) {
			verify(len <= read - cut);
			check_block(splitter, config, data, size, cut, len);
			cut += len;
		}
		if (cut == before && !ended) {
			size_t grown = block_splitter_grow(splitter);
			verify(grown > block);
			block = grown;
		}
	}
	verify(read == size);
	size_t found = block_splitter_find(splitter, data, size);
	verify(found == SIZE_MAX || found <= size);
	block_splitter_destroy(splitter);
}

static void check_blanks(const char *data, size_t size, size_t piece) {
	struct blanks whole = {.in_line = false}, pieced = {.in_line = false};
	struct buf a = BUF_INIT, b = BUF_INIT;
	if (size > 0) {
		blanks_drop(&whole, data, size, &a);
	}
	blanks_drop(&whole, "", 0, &a);
	for (size_t at = 0; at < size; at += piece) {
		blanks_drop(&pieced, data + at, piece < size - at ? piece : size - at, &b);
	}
	blanks_drop(&pieced, "", 0, &b);
	verify(a.len == b.len && memcmp(buf_str(&a), buf_str(&b), a.len) == 0 && a.len <= size);
	buf_fini(&whole.begun);
	buf_fini(&pieced.begun);
	buf_fini(&a);
	buf_fini(&b);
}

static void check_header(const char *text, const char *data, size_t size) {
	char *error = NULL;
	struct header_rule *rule = header_create(text, &error);
	if (!rule) {
		verify(error && error[0]);
		free(error);
		return;
	}
	size_t found = header_find(rule, data, size);
	verify(found == SIZE_MAX || found <= size);
	header_destroy(rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	const char *bytes = (const char *)data + OPTIONS, *newline;
	if (size < OPTIONS || size > 2000 || !(newline = memchr(bytes, '\n', size - OPTIONS)) || newline - bytes > 16) {
		return 0;
	}
	char *borders = xmemdup(bytes, (size_t)(newline - bytes)), *comma = strchr(borders, ',');
	size = size - OPTIONS - (size_t)(newline + 1 - bytes);
	if (comma) {
		*comma = '\0';
	}
	struct block_splitter_config config = {
		.block = 1 + data[0],
		.end = borders[0] || (data[3] & 2) ? borders : "\n",
		.start = comma ? comma + 1 : NULL,
		.regexp = data[3] & 1,
		.records = data[1] % 8,
		.lines = data[1] % 8 ? 0 : data[2] % 8,
	};
	if (!config.regexp || size < 300) { // regexec() is slow at what is longer
		char *text = xmemdup(newline + 1, size);
		check_cuts(&config, text, size);
		check_header(borders, text, size);
		free(text);
	}
	check_blanks(newline + 1, size, 1 + data[0] % 16);
	free(borders);
	return 0;
}
