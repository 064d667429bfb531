// For tests of quoting: runs a script in each installed shell and returns its output; makes random items.

#pragma once

#include "base/buf.h"
#include "shell/shell.h"
#include "test.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static inline unsigned random_below(unsigned n) {
	static uint64_t state = 88172645463325252; // xorshift64 (Marsaglia 2003)
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % n;
}

// Makes an item of any bytes except NUL, or mostly of bytes that have a meaning to shells.
static inline size_t random_item(char item[32]) {
	static const char special[] = "'\"\\$`!#~*?[]{}()<>|&;=^% \t\n\nE${}abc019-_.+/\r\1\177\200\210\300\377";
	size_t len = random_below(random_below(4) ? 8 : 31);
	unsigned kind = random_below(3);
	for (size_t i = 0; i < len; ++i) {
		bool any = kind == 0 || (kind == 1 && random_below(2));
		item[i] = any ? (char)(1 + random_below(255)) : special[random_below(sizeof(special) - 1)];
	}
	item[len] = '\0';
	return len;
}

// Runs `shell FILE` with the script in FILE and appends its stdout. Returns false if there is no such shell.
static inline bool shell_run(const char *shell, const struct buf *script, struct buf *out) {
	const char *path = program_find(shell);
	if (!path) {
		return false;
	}
	char file[] = "/tmp/fairpar-test.XXXXXX";
	int fd = mkstemp(file);
	check(fd >= 0);
	for (size_t done = 0; done < script->len;) {
		ssize_t n = write(fd, script->data + done, script->len - done);
		check(n > 0);
		done += (size_t)n;
	}
	close(fd);
	int ends[2];
	check(pipe(ends) == 0);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(open("/dev/null", O_WRONLY), 2);
		close(ends[0]);
		execl(path, shell, file, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	ssize_t n;
	while ((n = read(ends[0], buf_reserve(out, 65536), 65536)) > 0) {
		out->len += (size_t)n;
	}
	out->data[out->len] = '\0';
	close(ends[0]);
	int status;
	check(waitpid(pid, &status, 0) == pid);
	unlink(file);
	return true;
}
