// Fuzz target: the words of a command line, one a line. A first byte from 128 on stands for the name of an option.
//
// Whatever the words, there is a plan or a message, and never both an error and a plan; what is set lies in the ranges
// that the rest of the program relies on. Nothing is opened and nothing is run.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "cli/option_table.h"
#include "cli/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 40 };

static int out_fd, err_fd;

static size_t read_back(int fd, char *text, size_t size) {
	ssize_t n = pread(fd, text, size - 1, 0);
	verify(n >= 0);
	text[n] = '\0';
	return (size_t)n;
}

// Some spelling of an option: its name, another name, or its letter.
static void add_option(struct buf *word, unsigned which) {
	const struct option_info *option = &option_table[which % NOPTIONS];
	buf_printf(word, "--%s", option->name);
}

static size_t split(const char *data, size_t size, struct buf *bytes, char *argv[WORDS]) {
	size_t starts[WORDS], n = 0;
	const char *at = data, *end = data + size;
	for (; at <= end && n < WORDS - 2; ++n) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		starts[n] = bytes->len;
		if (at + 1 < stop && (unsigned char)at[0] >= 128) {
			add_option(bytes, ((unsigned char)at[0] - 128u) * 8 + ((unsigned char)at[1] & 7));
			at += 2;
		}
		buf_add(bytes, at, strnlen(at, (size_t)(stop - at)));
		buf_add(bytes, "", 1);
		at = stop + 1;
	}
	argv[0] = (char *)(uintptr_t)"fairpar";
	for (size_t i = 0; i < n; ++i) {
		argv[i + 1] = bytes->data + starts[i];
	}
	argv[n + 1] = NULL;
	return n + 1;
}

// What a plan promises to those who carry it out.
static void check_plan(const struct options *o) {
	verify(o->manifest || o->from_log || o->sem.is_on || o->nsources > 0 || o->nbatch_files > 0 || o->pipe != PIPE_NOT || o->resume == RESUME_RETRY);
	verify(o->attempts >= 1 && o->max_long >= 1 && o->max_long <= 10000);
	for (size_t i = 0; i < o->nsettings; ++i) {
		long value = o->settings[i].value;
		verify(o->settings[i].pattern && o->settings[i].pattern[0]);
		verify(o->settings[i].option != OPT_WEIGHT || (value >= 1 && value <= 1000));
	}
	for (size_t i = 0; i < o->nbatch_files; ++i) {
		verify(o->batch_files[i].name && o->batch_files[i].path);
	}
	for (size_t i = 0; i < o->ncommand; ++i) {
		verify(o->command[i]);
	}
}

static void check_end(enum mode mode, const struct options *o) {
	static char out[1 << 20], err[1 << 16];
	size_t nout = read_back(out_fd, out, sizeof(out)), nerr = read_back(err_fd, err, sizeof(err));
	verify(nerr == 0 || strncmp(err, "fairpar: ", 9) == 0);
	if (mode == MODE_ERROR) {
		verify(strstr(err, "fairpar: error: ") && nout == 0);
	} else {
		verify(!strstr(err, "fairpar: error: "));
	}
	if (mode == MODE_EXIT) {
		verify(o->status == 0);
	} else if (mode == MODE_RUN) {
		check_plan(o);
	}
	for (size_t i = 0; i < nerr; ++i) {
		verify((unsigned char)err[i] >= 0x20 || err[i] == '\n' || err[i] == '\t'); // what is told drives no terminal
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size > 1000) {
		return 0;
	}
	if (!out_fd) {
		out_fd = memfd_create("out", MFD_CLOEXEC);
		err_fd = memfd_create("err", MFD_CLOEXEC);
		verify(out_fd > 2 && err_fd > 2);
	}
	char *argv[WORDS];
	struct buf bytes = BUF_INIT;
	size_t argc = split((const char *)data, size, &bytes, argv);
	verify(ftruncate(out_fd, 0) == 0 && ftruncate(err_fd, 0) == 0);
	lseek(out_fd, 0, SEEK_SET);
	lseek(err_fd, 0, SEEK_SET);
	fflush(stdout);
	int saved_out = dup(1), saved_err = dup(2);
	verify(saved_out >= 0 && saved_err >= 0 && dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2);
	struct options options;
	enum mode mode = options_parse(&options, (int)argc, argv);
	fflush(stdout);
	verify(dup2(saved_out, 1) == 1 && dup2(saved_err, 2) == 2);
	close(saved_out);
	close(saved_err);
	check_end(mode, &options);
	options_fini(&options);
	buf_fini(&bytes);
	return 0;
}
