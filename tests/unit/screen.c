// The own lines on a terminal: messages erase them, with or without somebody who draws them again.

#include "term/screen.h"

#include "base/diag.h"
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

static unsigned ncalls;

static void note_change(void *arg) {
	check(arg == &ncalls);
	++ncalls;
}

// Draws a line on a terminal of its own, and says something. Checks what the terminal gets.
static void say_over_line(void (*changed)(void *arg)) {
	static const char expect[] = "\rown line\033[K\r\r\033[Ksaid\r\n";
	char text[sizeof(expect)];
	size_t len = 0;
	int saved = dup(STDERR_FILENO), terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0) {
		exit(EXIT_SKIPPED); // the system has no terminals to give
	}
	check(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	int other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	check(other >= 0 && dup2(other, STDERR_FILENO) == STDERR_FILENO);
	screen_open(changed, &ncalls);
	bool drawn = screen_draw(NULL, "own line", 1);
	int said = screen_say("said\n", 5);
	screen_close();
	check(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	check(drawn && said == 0);
	while (len < sizeof(expect) - 1) { // the bytes may come in several pieces
		ssize_t n = read(terminal, text + len, sizeof(expect) - 1 - len);
		check(n > 0);
		len += (size_t)n;
	}
	check(memcmp(text, expect, len) == 0);
	close(other);
	close(terminal);
}

static void test_erased(void) {
	say_over_line(note_change);
	check_equal(ncalls, 1);
	say_over_line(NULL);
	check_equal(ncalls, 1);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a message erases the own line, also if nobody draws the line again", test_erased),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
