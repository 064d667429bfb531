// Messages: whole, and all of them, whatever stderr is.

#include "base/diag.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sync.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { MESSAGES = 2000 };

static void *read_all(void *arg) {
	struct buf *got = arg;
	ssize_t n;
	while ((n = read(STDIN_FILENO, buf_reserve(got, 4096), 4096)) > 0) {
		got->len += (size_t)n;
	}
	check_equal(n, 0);
	return NULL;
}

// A pipe between stderr and stdin.
static void pipe_stderr(int flags) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	check(fcntl(ends[1], F_SETFL, flags) == 0);
	check(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	close(ends[0]);
	close(ends[1]);
}

static void test_non_blocking(void) {
	int saved = dup(STDERR_FILENO);
	pipe_stderr(O_NONBLOCK);
	struct buf got = BUF_INIT, expect = BUF_INIT;
	thread reader;
	check_equal(thread_start(&reader, read_all, &got, 1 << 16), 0);
	char text[1000];
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < MESSAGES; ++i) {
		diag_warn("%d %.*s", i, (int)sizeof(text), text);
		buf_printf(&expect, "fairpar: warning: %d %.*s\n", i, (int)sizeof(text), text);
	}
	check(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	thread_join(reader);
	check(!diag_lost());
	check_equal(got.len, expect.len);
	check(memcmp(got.data, expect.data, got.len) == 0);
	buf_fini(&got);
	buf_fini(&expect);
}

static void test_lost(void) {
	int saved = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	check(full >= 0 && dup2(full, STDERR_FILENO) == STDERR_FILENO);
	errno = EXDEV;
	diag_note("nobody sees this");
	bool kept = errno == EXDEV; // for a caller that goes on to use it
	check(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	check(kept);
	check(diag_lost());
}

static void test_long(void) {
	int saved = dup(STDERR_FILENO);
	pipe_stderr(0);
	char text[6000];
	memset(text, 'x', sizeof(text));
	diag_error("%.*s", (int)sizeof(text), text);
	check(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	char got[8192];
	ssize_t n = read(STDIN_FILENO, got, sizeof(got));
	check(n > 3000 && n <= 4096); // PIPE_BUF: one piece beside other writers
	check(memcmp(got, "fairpar: error: xxxx", 20) == 0 && got[n - 2] == 'x' && got[n - 1] == '\n');
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a non-blocking stderr with a slow reader gets every message", test_non_blocking),
		TEST("a message that cannot be written is known as lost", test_lost),
		TEST("a message that is too long is cut, and still a line", test_long),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
