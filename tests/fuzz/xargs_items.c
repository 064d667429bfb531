// Fuzz target: xargs' items must be the same whatever the pieces they are read in, and keep to every limit.
//
// The first bytes choose the options and the sizes of the pieces; the rest is the input.

#include "base/buf.h"
#include "base/diag.h"
#include "xargs/items.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPTIONS = 4, ENOUGH = 100000 };

static const char *const command[] = {"c", "x%y%", "%"};

static struct xargs_options choose(const uint8_t *options) {
	static const char delimiters[] = "\0\n,a";
	static const char *const eofs[] = {NULL, "X", "a", "_"};
	static const char *const replaces[] = {NULL, NULL, "%", "x"};
	struct xargs_options chosen = {
		.command = command,
		.items = {
			.literal = options[0] & 1,
			.delimiter = delimiters[options[0] >> 1 & 3],
			.eof = eofs[options[0] >> 3 & 3],
			.run_empty = options[0] & 32,
		},
		.replace = replaces[options[0] >> 6],
	};
	chosen.ncommand = chosen.replace ? 3 : 1;
	chosen.limits.bytes = options[1] & 1 ? 2u + (options[1] >> 1) : options[1] & 2 ? 5000 : ENOUGH;
	chosen.limits.args = chosen.replace ? 0 : options[2] & 3;
	chosen.limits.lines = chosen.replace ? 0 : options[2] >> 2 & 3;
	chosen.limits.argc = options[2] & 16 ? chosen.ncommand + 2 : ENOUGH;
	chosen.limits.exact = options[2] & 32;
	return chosen;
}

static void check_line(const struct xargs_options *chosen, const struct pack *pack) {
	size_t initial = chosen->replace ? 0 : 2; // "c" and its NUL
	verify(pack->args.len + initial <= chosen->limits.bytes);
	verify(chosen->limits.args == 0 || pack->nargs <= chosen->limits.args);
	verify(chosen->replace ? pack->nargs == chosen->ncommand : pack->nargs + chosen->ncommand <= chosen->limits.argc);
	size_t n = 0;
	for (size_t i = 0; i < pack->args.len; ++i) {
		n += pack->args.data[i] == '\0';
	}
	verify(n == pack->nargs && (n == 0 || pack->args.data[pack->args.len - 1] == '\0'));
}

static void add_line(struct buf *out, const struct pack *pack) {
	buf_printf(out, "%u:", pack->nargs);
	if (pack->args.len > 0) {
		buf_add(out, pack->args.data, pack->args.len);
	}
}

// Appends all that comes of the data to `out`, read whole or in pieces. Returns how many bytes were looked at.
static size_t read_all(const struct xargs_options *chosen, const char *data, size_t size, uint32_t random, struct buf *out) {
	struct xargs_items items;
	verify(!xargs_items_init(&items, chosen));
	size_t at = 0, piece = size, nuls = 0;
	for (enum items_status status = ITEMS_MORE; status != ITEMS_END && status != ITEMS_ERROR;) {
		if (random > 0) {
			random = random * 1664525 + 1013904223; // Numerical Recipes
			piece = 1 + (random >> 20) % (random & 1 << 19 ? 3 : 300);
		}
		size_t used, n = size - at < piece ? size - at : piece;
		status = xargs_items_next(&items, data + at, n, &used);
		verify(used <= n && (status != ITEMS_MORE || (used == n && n > 0)));
		at += used;
		if (status == ITEMS_LINE) {
			check_line(chosen, &items.pack);
			add_line(out, &items.pack);
			packs_reset(&items.pack);
		} else if (status == ITEMS_ERROR) {
			verify(items.error);
			buf_adds(out, items.error);
		} else if (status == ITEMS_NUL) {
			verify(nuls++ == 0 && memchr(data, '\0', size));
		}
	}
	xargs_items_fini(&items);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < OPTIONS || size > 20000) {
		return 0;
	}
	struct xargs_options chosen = choose(data);
	const char *input = (const char *)data + OPTIONS;
	struct buf whole = BUF_INIT, pieced = BUF_INIT;
	size_t seen = read_all(&chosen, input, size - OPTIONS, 0, &whole);
	size_t seen_pieced = read_all(&chosen, input, size - OPTIONS, data[3] + 1u, &pieced);
	verify(seen == seen_pieced);
	verify(whole.len == pieced.len && (whole.len == 0 || memcmp(whole.data, pieced.data, whole.len) == 0));
	buf_fini(&whole);
	buf_fini(&pieced);
	return 0;
}
