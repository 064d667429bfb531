// Encodes an item as the name of a file or directory, for --results: an item becomes one path component, and no two items become the same component.

#include "base/pathname.h"

#include "base/alloc.h"
#include "base/units.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ENDING = 4 }; // the number of bytes in ".err", and in ".seq"

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

// Appends the name. A name that is longer than `max` is cut, but never within a character or an escape, and the hash of the whole name is added.
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

void pathname_fit(struct buf *path, size_t below, size_t tail) {
	FP_CLEANUP(buf_fini) struct buf fit = BUF_INIT, name = BUF_INIT;
	const char *at = path->data + below, *end = path->data + path->len;
	while (at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash ? slash : end) - at);
		const char *last = at + len - (len < ENDING ? len : ENDING);
		// this name without its last four bytes may be the name of another item, whose .err or .seq file would then have this very name
		bool marked = !slash && len >= tail + ENDING && (memcmp(last, ".err", ENDING) == 0 || memcmp(last, ".seq", ENDING) == 0)
		              && memcmp(at + len - tail, last - tail, tail) == 0;
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

// Compares two names of columns: by number first, then by name, as GNU parallel sorts them.
static int compare_columns(const char *a, const char *b) {
	double x = strtod(a, NULL), y = strtod(b, NULL);
	return x < y ? -1 : y < x ? 1 : strcmp(a, b);
}

void pathname_add_items(struct buf *buf, const char *args, uint32_t nargs, uint32_t columns, char *const *names,
                        size_t nnames) {
	columns = columns > 0 && columns < nargs ? columns : nargs;
	FP_CLEANUP(free_later) uint32_t *order = xcalloc(columns, sizeof(*order));
	do {
		uint32_t n = columns < nargs ? columns : nargs;
		for (uint32_t i = 0; i < n; ++i) { // insertion sort: the columns are few, and mostly in order
			uint32_t at = i;
			while (i < nnames && at > 0 && compare_columns(names[i], names[order[at - 1]]) < 0) {
				order[at] = order[at - 1];
				--at;
			}
			order[at] = i;
		}
		for (uint32_t i = 0; i < n; ++i) {
			if (order[i] < nnames) {
				pathname_add(buf, names[order[i]], strlen(names[order[i]]));
			} else {
				buf_printf(buf, "%u", order[i] + 1);
			}
			buf_addc(buf, '/');
			const char *arg = strings_skip(args, order[i]);
			pathname_add(buf, arg, strlen(arg));
			buf_addc(buf, '/');
		}
		args = strings_skip(args, n);
		nargs -= n;
	} while (nargs > 0);
}

// ---- SHA-256 (FIPS 180-4) ----

enum { BLOCK = 64 };

// FIPS 180-4, 4.2.2: the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by) {
	return x >> by | x << (32 - by);
}

// FIPS 180-4, 6.2.2: the message schedule, then 64 rounds over a to h, which are v[0] to v[7].
static void add_block(uint32_t state[8], const unsigned char *block) {
	uint32_t w[64], v[8];
	for (int i = 0; i < 64; ++i) {
		if (i < 16) {
			const unsigned char *at = block + 4 * i;
			w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
			continue;
		}
		uint32_t near = w[i - 15], far = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] + (rotate(near, 7) ^ rotate(near, 18) ^ near >> 3) +
		       (rotate(far, 17) ^ rotate(far, 19) ^ far >> 10);
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; ++i) {
		uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
		                 ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
		uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
		                  ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += first;
		v[0] = first + second;
	}
	for (int i = 0; i < 8; ++i) {
		state[i] += v[i];
	}
}

void sha256_hex(const void *mem, size_t len, char hex[SHA256_HEX + 1]) {
	uint32_t state[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};
	const unsigned char *at = mem;
	unsigned char last[2 * BLOCK] = {0};
	size_t rest = len % BLOCK, padded = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (size_t i = 0; i < len / BLOCK; ++i, at += BLOCK) {
		add_block(state, at);
	}
	if (rest > 0) {
		memcpy(last, at, rest);
	}
	last[rest] = 0x80; // FIPS 180-4, 5.1.1, padding: a one bit, zeros, and the length in bits
	for (unsigned i = 0; i < 8; ++i) {
		last[padded - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
	}
	for (size_t i = 0; i < padded; i += BLOCK) {
		add_block(state, last + i);
	}
	for (int i = 0; i < 8; ++i) {
		snprintf(hex + 8 * i, 9, "%08x", state[i]);
	}
}
