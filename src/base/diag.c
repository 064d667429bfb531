// Messages to the user on stderr, and checks that stay in the program.

#include "base/diag.h"

#include "base/atomic.h"
#include "base/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program = "fairpar";
static atomic_int lost;
static void (*on_die)(void);
static _Thread_local struct {
	void (*fn)(void *arg, const char *text, size_t len);
	void *arg;
} keeper; // of diag_keep()

static int write_stderr(const void *mem, size_t len) {
	return write_all(STDERR_FILENO, mem, len);
}

static int (*writer)(const void *mem, size_t len) = write_stderr;

// Writes the message in one piece. If no message is kept, allocates nothing, because the message may be that memory has run out.
FP_PRINTF(2, 0) static void print(const char *kind, const char *format, va_list args) {
	char text[4096];
	FP_KEEP_ERRNO;
	int head = snprintf(text, sizeof(text), "%.256s: %s", program, kind);
	int body = vsnprintf(text + head, sizeof(text) - (size_t)head - 1, format, args);
	size_t len = (size_t)head + (size_t)(body > 0 ? body : 0);
	if (len > sizeof(text) - 2) {
		len = sizeof(text) - 2; // cuts the message: it may hold a long path (items in messages are at most 80 bytes)
	}
	text[len++] = '\n';
	if (keeper.fn) {
		keeper.fn(keeper.arg, text, len);
	} else {
		(void)diag_text(text, len);
	}
}

#define PRINT(kind) do { va_list args; va_start(args, format); print(kind, format, args); va_end(args); } while (0)

int diag_error(const char *format, ...) {
	PRINT("error: ");
	return -1;
}

int diag_error_free(char *message) {
	diag_error("%s", message);
	free(message);
	return -1;
}

void diag_warn(const char *format, ...) {
	PRINT("warning: ");
}

void diag_note(const char *format, ...) {
	PRINT("");
}

int diag_print(const char *text, size_t len) {
	int result = write_all(STDOUT_FILENO, text, len);
	if (result != 0 && errno != EPIPE) {
		diag_error("cannot write to stdout: %s", strerror(errno));
	}
	return result;
}

int diag_text(const char *text, size_t len) {
	int result = len > 0 ? writer(text, len) : 0;
	if (result != 0) {
		atomic_store_relaxed(&lost, 1);
	}
	return result;
}

void diag_set_name(const char *name) {
	program = name;
}

void diag_set_writer(int (*fn)(const void *mem, size_t len)) {
	writer = fn;
}

const char *diag_name(void) {
	return program;
}

void diag_keep(void (*fn)(void *arg, const char *text, size_t len), void *arg) {
	keeper.fn = fn;
	keeper.arg = arg;
}

int diag_lost(void) {
	return atomic_load_relaxed(&lost);
}

void diag_set_on_die(void (*fn)(void)) {
	on_die = fn;
}

static FP_NORETURN void end(void) {
	static atomic_int dying;
	if (atomic_exchange(&dying, 1) == 0 && on_die) {
		on_die();
	}
	_exit(EXIT_TROUBLE);
}

void diag_die(const char *format, ...) {
	diag_keep(NULL, NULL);
	PRINT("error: ");
	end();
}

void diag_bug(const char *file, int line, const char *condition) {
	diag_keep(NULL, NULL);
	diag_note("bug: %s:%d: %s (errno: %s)", file, line, condition, strerror(errno));
#ifdef FAIRPAR_FAULTS
	abort(); // leaves a core file for the debugger
#endif
	end();
}
