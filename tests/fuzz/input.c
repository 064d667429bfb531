// Fuzz target: the input, read from a file and in pieces from a pipe, must be the same records.
//
// The first bytes choose delimiter, columns, header, linking and the sizes of the pieces; the rest is the stream. With
// neither columns nor header the records must also be the stream, cut at the delimiters.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "input/input.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPTIONS = 4 };

struct pieces {
	int fd;
	const uint8_t *data;
	size_t left;
	uint32_t random;
};

static void write_piece(struct pieces *pieces) {
	pieces->random = pieces->random * 1664525 + 1013904223; // Numerical Recipes
	size_t n = 1 + (pieces->random >> 20) % (pieces->random & 1 << 19 ? 7 : 4000);
	n = n < pieces->left ? n : pieces->left;
	verify(write(pieces->fd, pieces->data, n) == (ssize_t)n);
	pieces->data += n;
	pieces->left -= n;
	if (pieces->left == 0) {
		close(pieces->fd);
		pieces->fd = -1;
	}
}

// Appends all that the input gives.
static void read_all(struct input *input, struct pieces *pieces, struct buf *out) {
	for (;;) {
		struct record record = {.args = "", .size = 1};
		const char *error = "";
		enum input_status status = input_next(input, &record, &error);
		if (status == INPUT_WAIT) {
			struct pollfd in = {.fd = input_fd(input), .events = POLLIN};
			verify(poll(&in, 1, 0) == 0);
			verify(pieces && pieces->fd >= 0);
			write_piece(pieces);
			continue;
		}
		if (status == INPUT_ERROR || status == INPUT_BAD) {
			buf_printf(out, "%d %s", (int)status, error);
		}
		if (status == INPUT_END) {
			return;
		}
		if (status != INPUT_ERROR) {
			size_t nuls = 0;
			for (size_t i = 0; i < record.size; ++i) {
				nuls += record.args[i] == '\0';
			}
			verify(nuls == record.nargs || status == INPUT_BAD);
			buf_printf(out, "%d %u:", (int)status, (unsigned)record.nargs);
			buf_add(out, record.args, record.size);
		}
		verify(out->len < (size_t)64 << 20);
	}
}

static void check_lines(const struct input_config *config, const uint8_t *data, size_t size) {
	char *error;
	struct input *input = input_open(config, &error);
	verify(input);
	struct record record;
	const char *why;
	size_t at = 0;
	enum input_status status;
	while ((status = input_next(input, &record, &why)) != INPUT_END) {
		const uint8_t *end = memchr(data + at, config->delimiter, size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;
		bool holds_nul = config->delimiter != '\0' && memchr(data + at, '\0', len);
		verify(at < size && status == (holds_nul ? INPUT_BAD : INPUT_RECORD));
		verify(record.nargs == 1 && (holds_nul || record.size == len + 1));
		verify(memcmp(record.args, data + at, record.size - 1) == 0);
		at += len + 1;
	}
	verify(at >= size);
	input_close(input);
}

static struct input_config choose(const uint8_t *options, struct source_config *sources, char **colsep) {
	static char one[] = "x", two[] = "y,z", empty[] = "";
	static char *const args[] = {one, two, empty};
	static const char *const separators[] = {NULL, ",", "\\t", "\\s+", "[ab]", "a*", "b|cc", ""};
	char *error = NULL;
	*colsep = separators[options[1] & 7] ? colsep_translate(separators[options[1] & 7], &error) : NULL;
	sources[1] = (struct source_config){.kind = FROM_ARGS, .args = args, .nargs = options[2] & 3, .linked = options[2] & 4};
	sources[2] = (struct source_config){.kind = FROM_ARGS, .args = args, .nargs = options[2] >> 3 & 3, .linked = options[2] & 32};
	if (options[2] & 64) { // the stream is the second one
		struct source_config other = sources[1];
		sources[1] = sources[0];
		sources[0] = other;
	}
	return (struct input_config){
		.sources = sources,
		.nsources = options[0] & 64 ? 1 : 1 + (options[2] >> 7) + 1,
		.delimiter = "\n\0,\n"[options[0] & 3],
		.colsep = *colsep,
		.header = options[0] & 4,
		.link = options[0] & 8,
		.trim = (enum input_trim)(options[0] >> 4 & 3),
	};
}

static void read_once(const uint8_t *options, struct source_config source, struct pieces *pieces, struct buf *out) {
	struct source_config sources[3] = {source};
	char *colsep, *error;
	struct input_config config = choose(options, sources, &colsep);
	if (config.nsources == 1) {
		sources[0] = source;
	}
	struct input *input = input_open(&config, &error);
	verify(input);
	read_all(input, pieces, out);
	input_close(input);
	free(colsep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < OPTIONS || size > 60000) {
		return 0;
	}
	const uint8_t *options = data;
	data += OPTIONS;
	size -= OPTIONS;
	static int file = -1;
	static char path[64];
	if (file < 0) {
		file = memfd_create("input", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	verify(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	struct buf whole = BUF_INIT, pieced = BUF_INIT;
	struct source_config source = {.kind = FROM_FILE, .path = path};
	read_once(options, source, NULL, &whole);

	int ends[2];
	verify(pipe(ends) == 0 && dup2(ends[0], 0) == 0 && close(ends[0]) == 0);
	struct pieces pieces = {.fd = ends[1], .data = data, .left = size, .random = options[3]};
	read_once(options, (struct source_config){.kind = FROM_STDIN}, &pieces, &pieced);
	if (pieces.fd >= 0) {
		close(pieces.fd);
	}
	const char *name = strstr(buf_str(&whole), "cannot"); // would name the source
	verify(name || (whole.len == pieced.len && (whole.len == 0 || memcmp(whole.data, pieced.data, whole.len) == 0)));
	buf_fini(&whole);
	buf_fini(&pieced);

	struct input_config plain = {.sources = &source, .nsources = 1, .delimiter = "\n\0,"[options[0] % 3]};
	check_lines(&plain, data, size);
	return 0;
}
