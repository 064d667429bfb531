// Encodes an item as a name in a directory, for --results: one path component, whatever the item holds, and for each item another.

#include "base/pathname.h"

#include "base/alloc.h"
#include "base/sha256.h"

#include <limits.h>
#include <stdbool.h>

enum { ENDING = 4 }; // bytes of .err and .seq

// ---- one name ----

void pathname_add(struct buf *buf, const char *text, size_t len) {
	if (len == 0) {
		buf_adds(buf, "\\0");
	} else if (text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.'))) {
		buf_addc(buf, '\\');
	}
	for (size_t i = 0; i < len; ++i) {
		switch (text[i]) {
		case '\\': buf_adds(buf, "\\\\"); break;
		case '\t': buf_adds(buf, "\\t"); break;
		case '/': buf_adds(buf, "\\_"); break;
		default: buf_addc(buf, text[i]); break;
		}
	}
}

// What is cut keeps whole characters, and no half of an escape.
static void add_fitting(struct buf *buf, const char *name, size_t len, size_t max) {
	char hex[SHA256_HEX + 1];
	size_t keep = max - 2 - SHA256_HEX, slashes = 0;
	if (len <= max) {
		buf_add(buf, name, len);
		return;
	}
	for (int i = 0; i < 3 && ((unsigned char)name[keep] & 0xC0) == 0x80; ++i) {
		--keep;
	}
	while (slashes < keep && name[keep - 1 - slashes] == '\\') {
		++slashes;
	}
	sha256_hex(name, len, hex);
	buf_add(buf, name, keep - slashes % 2);
	buf_adds(buf, "\\#");
	buf_adds(buf, hex);
}

// True if another item's name could be this one's without its last four bytes, which that would have beside it.
static bool may_collide(const char *name, size_t len, size_t tail) {
	return len >= tail + ENDING && (memcmp(name + len - ENDING, ".err", ENDING) == 0 ||
	       memcmp(name + len - ENDING, ".seq", ENDING) == 0) && memcmp(name + len - tail, name + len - tail - ENDING, tail) == 0;
}

void pathname_fit(struct buf *path, size_t below, size_t tail) {
	FP_CLEANUP(buf_fini) struct buf fit = BUF_INIT, name = BUF_INIT;
	const char *at = path->data + below, *end = path->data + path->len;
	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash ? slash : end) - at);
		bool marked = !slash && may_collide(at, len, tail);
		buf_reset(&name);
		buf_add(&name, at, marked ? len - ENDING : len);
		if (marked) {
			buf_addc(&name, '\\');
			buf_add(&name, at + len - ENDING, ENDING);
		}
		add_fitting(&fit, buf_str(&name), name.len, slash ? NAME_MAX : NAME_MAX - ENDING);
		buf_adds(&fit, slash ? "/" : "");
		at += len + (slash != NULL);
	}
	path->len = below;
	buf_add(path, buf_str(&fit), fit.len);
}

// ---- the names of items ----

// By number first, then by name, as GNU parallel sorts names of columns.
static int compare_columns(const char *a, const char *b) {
	double x = strtod(a, NULL), y = strtod(b, NULL);
	return x < y ? -1 : y < x ? 1 : strcmp(a, b);
}

static const char *nth(const char *args, uint32_t n) {
	while (n-- > 0) {
		args += strlen(args) + 1;
	}
	return args;
}

// Appends the path of one item.
static void add_item(struct buf *buf, const char *args, uint32_t nargs, char *const *names, size_t nnames) {
	FP_CLEANUP(free_later) uint32_t *order = xcalloc(nargs, sizeof(*order));
	for (uint32_t i = 0; i < nargs; ++i) { // few, and mostly in order
		uint32_t at = i;
		while (i < nnames && at > 0 && compare_columns(names[i], names[order[at - 1]]) < 0) {
			order[at] = order[at - 1];
			--at;
		}
		order[at] = i;
	}
	for (uint32_t i = 0; i < nargs; ++i) {
		if (order[i] < nnames) {
			pathname_add(buf, names[order[i]], strlen(names[order[i]]));
		} else {
			buf_printf(buf, "%u", order[i] + 1);
		}
		buf_addc(buf, '/');
		const char *arg = nth(args, order[i]);
		pathname_add(buf, arg, strlen(arg));
		buf_addc(buf, '/');
	}
}

void pathname_add_items(struct buf *buf, const char *args, uint32_t nargs, uint32_t columns, char *const *names,
                        size_t nnames) {
	while (columns > 0 && nargs > columns) {
		add_item(buf, args, columns, names, nnames);
		args = nth(args, columns);
		nargs -= columns;
	}
	add_item(buf, args, nargs, names, nnames);
}
