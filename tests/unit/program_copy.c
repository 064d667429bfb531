// What a machine gets that has no fairpar (remote/sshlogin.h).

#include "remote/sshlogin.h"

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static char dir[] = "/tmp/fairpar-unit.XXXXXX", self[64], own[200];

static void write_file(const char *path, const void *bytes, size_t n) {
	FILE *file = fopen(path, "w");
	check(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

// Makes the copy of the file `self`, of these bytes, and opens it.
static void begin(struct program_copy *copy, const void *bytes, size_t n) {
	struct buf why = BUF_INIT;
	write_file(self, bytes, n);
	program_copy_find(self, copy);
	check(program_copy_open(copy, own, &why) == 0);
}

// Sends the copy through a pipe, and appends what has come. Returns the result of the last call.
static int send_copy(struct program_copy *copy, struct buf *came, struct buf *why) {
	int ends[2], result;
	uint64_t at = 0;
	check(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	do {
		ssize_t n;
		result = program_copy_send(copy, &at, ends[1], why);
		while (came->len % 3 != 1 && (n = read(ends[0], buf_reserve(came, 70000), 70000)) > 0) {
			came->len += (size_t)n;
		}
		n = read(ends[0], buf_reserve(came, 1000), 1000); // now and then little is read, and the pipe is full
		came->len += n > 0 ? (size_t)n : 0;
	} while (result > 0);
	while (result == 0 && read(ends[0], buf_reserve(came, 1), 1) == 1) {
		++came->len;
	}
	close(ends[0]);
	close(ends[1]);
	return result;
}

// The sums are those of `printf … | cksum`.
static void test_sum(void) {
	static char many[1000];
	static const struct { const char *bytes; size_t n; const char *line; } cases[] = {
		{"a", 1, "1220704766 1\n"}, {"abc", 3, "1219131554 3\n"}, {"123456789", 9, "930766865 9\n"},
		{many, sizeof(many), "3999126958 1000\n"}, // more than a byte of length
	};
	memset(many, 'x', sizeof(many));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		struct program_copy copy;
		struct buf came = BUF_INIT, why = BUF_INIT;
		begin(&copy, cases[i].bytes, cases[i].n);
		for (int k = 0; k < 2; ++k) { // the second time the sum is known
			size_t len = strlen(cases[i].line);
			check_equal(send_copy(&copy, &came, &why), 0);
			check(came.len == len + cases[i].n && memcmp(came.data, cases[i].line, len) == 0 && memcmp(came.data + len, cases[i].bytes, cases[i].n) == 0);
			buf_reset(&came);
		}
		program_copy_fini(&copy);
		buf_fini(&came);
	}
}

static void test_pieces(void) {
	enum { SIZE = 1000 * 1000 + 7 };
	char *bytes = malloc(SIZE);
	struct program_copy copy;
	struct buf came = BUF_INIT, why = BUF_INIT;
	for (size_t i = 0; i < SIZE; ++i) {
		bytes[i] = (char)(i * 31 + i / 251);
	}
	begin(&copy, bytes, SIZE);
	check_equal(send_copy(&copy, &came, &why), 0);
	check(came.len > SIZE && memcmp(came.data + came.len - SIZE, bytes, SIZE) == 0);
	check(came.len - SIZE == strcspn(came.data, "\n") + 1);
	// nobody reads any more: no text, for the launcher says why
	int ends[2];
	uint64_t at = 0;
	check(pipe(ends) == 0 && close(ends[0]) == 0 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	check(program_copy_send(&copy, &at, ends[1], &why) < 0 && why.len == 0);
	// the file becomes shorter
	buf_reset(&came);
	check(truncate(self, SIZE / 2) == 0);
	check(send_copy(&copy, &came, &why) < 0 && strstr(buf_str(&why), "cannot be read"));
	close(ends[1]);
	program_copy_fini(&copy);
	buf_fini(&came);
	buf_fini(&why);
	free(bytes);
}

static void test_copy(void) {
	char beside[80], other[sizeof(own)];
	struct utsname here;
	struct program_copy copy;
	struct buf why = BUF_INIT;
	check(uname(&here) == 0);
	snprintf(other, sizeof(other), "%s pdp11", here.sysname);
	snprintf(beside, sizeof(beside), "%s-static", self);
	begin(&copy, "abc", 3);
	check(copy.size == 3 && strspn(copy.name, "0123456789abcdef-") == strlen(copy.name));
	check(program_copy_open(&copy, other, &why) != 0 && strstr(buf_str(&why), own) && strstr(buf_str(&why), "pdp11"));
	program_copy_fini(&copy);
	program_copy_find(self, &copy);
	check(unlink(self) == 0 && program_copy_open(&copy, own, &why) != 0 && strstr(buf_str(&why), "No such file"));
	program_copy_fini(&copy);
	write_file(beside, "a", 1);
	program_copy_find(self, &copy);
	check_string(copy.path, beside);
	program_copy_fini(&copy);
	check(unlink(beside) == 0);
	program_copy_find(self, &copy);
	check(copy.size == 0 && program_copy_open(&copy, own, &why) != 0);
	program_copy_fini(&copy);
	buf_fini(&why);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the sum is that of POSIX's cksum, computed once", test_sum),
		TEST("a program is sent in pieces, as the pipe takes them", test_pieces),
		TEST("a program is sent to machines of its kind alone", test_copy),
	};
	struct utsname here;
	check(mkdtemp(dir) && uname(&here) == 0);
	snprintf(own, sizeof(own), "%s %s", here.sysname, here.machine);
	snprintf(self, sizeof(self), "%s/fairpar", dir);
	int status = test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	(void)unlink(self);
	(void)rmdir(dir);
	return status;
}
