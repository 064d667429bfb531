// Files that tests compare with what the program makes; with FAIRPAR_UPDATE=1 in the environment they are written anew.

#pragma once

#include "base/buf.h"
#include "test.h"

#include <stdbool.h>

// Returns what the file holds, as a string that the caller frees; NULL if it cannot be read.
static inline char *read_file(const char *path) {
	struct buf buf = BUF_INIT;
	FILE *file = fopen(path, "r");
	if (!file) {
		return NULL;
	}
	for (size_t n = 1; n > 0; buf.len += n) {
		n = fread(buf_reserve(&buf, 1 << 16), 1, 1 << 16, file);
	}
	fclose(file);
	buf_add(&buf, "", 0);
	return buf_take(&buf);
}

static inline void write_file(const char *path, const char *text) {
	FILE *file = fopen(path, "w");
	check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

// True if FAIRPAR_UPDATE is set: then the tests write the files that they check.
static inline bool is_updating(void) {
	const char *update = getenv("FAIRPAR_UPDATE");
	return update && *update;
}

// Fails unless the file holds the text.
static inline void check_file(const char *path, const char *text) {
	char *expected = read_file(path);
	if (is_updating() && (!expected || strcmp(expected, text) != 0)) {
		write_file(path, text);
	} else if (!expected || strcmp(expected, text) != 0) {
		fprintf(stderr, "# %s is not:\n%s", path, text);
		exit(1);
	}
	free(expected);
}
