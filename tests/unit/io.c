// Reading and writing: all bytes or an errno, whatever the descriptor does.

#include "base/io.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sync.h"
#include "base/temp_file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(void) {
	int fd = tmpfile_open("/tmp");
	check(fd >= 0);
	return fd;
}

static void test_at_offset(void) {
	int fd = open_file();
	char text[8];
	check_equal(pwrite_all(fd, "world", 5, 6), 5);
	check_equal(pwrite_all(fd, "hello ", 6, 0), 6);
	check_equal(pread_all(fd, text, 5, 4), 5);
	check(memcmp(text, "o wor", 5) == 0);
	check_equal(lseek(fd, 0, SEEK_CUR), 0);
	// beyond what 32 bits say
	check_equal(pwrite_all(fd, "far", 3, UINT64_C(5) << 32), 3);
	check_equal(pread_all(fd, text, 3, UINT64_C(5) << 32), 3);
	check(memcmp(text, "far", 3) == 0);
	check_equal(pwrite_all(fd, "", 0, 0), 0);
	check_equal(pread_all(fd, text, 0, 1000), 0);
	close(fd);
}

static void test_short_file(void) {
	int fd = open_file();
	char text[8] = "-------";
	check_equal(pwrite_all(fd, "abc", 3, 0), 3);
	errno = 0;
	check_equal(pread_all(fd, text, 5, 1), 2);
	check_equal(errno, EIO);
	check_string(text, "bc-----");
	check_equal(pread_all(fd, text, 5, 3), 0);
	check_equal(errno, EIO);
	close(fd);
}

static void test_to_end(void) {
	int fd = open_file();
	struct buf text = BUF_INIT;
	check_equal(pwrite_all(fd, "0123456789", 10, 0), 10);
	buf_adds(&text, "at ");
	check(read_to_end(fd, &text, 13) == 0);
	check_string(buf_str(&text), "at 0123456789");
	check(read_to_end(fd, &text, 13) == 0); // nothing is left
	check_equal(lseek(fd, 0, SEEK_SET), 0);
	buf_reset(&text);
	check_equal(read_to_end(fd, &text, 9), -1);
	check_equal(errno, EFBIG);
	check_equal(read_to_end(-1, &text, 100), -1);
	check_equal(errno, EBADF);
	buf_fini(&text);
	close(fd);
}

static void test_full_file(void) {
	signal(SIGXFSZ, SIG_IGN);
	check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, 10}) == 0);
	int fd = open_file();
	check_equal(pwrite_all(fd, "0123456789abc", 13, 4), 6);
	check_equal(errno, EFBIG);
	check_equal(pwrite_all(fd, "x", 1, 10), 0);
	char text[6];
	check_equal(pread_all(fd, text, 6, 4), 6); // what was written is there
	check(memcmp(text, "012345", 6) == 0);
	close(fd);
}

static void test_no_file(void) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	char c;
	check_equal(pwrite_all(ends[1], "x", 1, 0), 0);
	check_equal(errno, ESPIPE);
	check_equal(pread_all(ends[0], &c, 1, 0), 0);
	check_equal(errno, ESPIPE);
	check_equal(pread_all(-1, &c, 1, 0), 0);
	check_equal(errno, EBADF);
	close(ends[0]);
	close(ends[1]);
}

enum { MUCH = 1000000 };

static void *read_all(void *arg) {
	int fd = *(int *)arg;
	char *mem = xmalloc(MUCH);
	size_t len = 0;
	ssize_t n;
	while ((n = read(fd, mem + len, MUCH - len)) > 0) {
		len += (size_t)n;
	}
	check_equal(n, 0);
	check_equal(len, MUCH);
	for (size_t i = 0; i < MUCH; ++i) {
		check_equal(mem[i], (char)i);
	}
	free(mem);
	return NULL;
}

static void test_non_blocking(void) {
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	check(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	char *mem = xmalloc(MUCH);
	for (size_t i = 0; i < MUCH; ++i) {
		mem[i] = (char)i;
	}
	thread reader;
	check_equal(thread_start(&reader, read_all, &ends[0], 1 << 16), 0);
	check_equal(write_all(ends[1], mem, MUCH), 0);
	close(ends[1]);
	thread_join(reader);
	close(ends[0]);
	free(mem);
}

static void test_refused(void) {
	signal(SIGPIPE, SIG_IGN);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	check(full >= 0);
	check_equal(write_all(full, "x", 1), -1);
	check_equal(errno, ENOSPC);
	check_equal(write_all(full, "", 0), 0);
	close(full);
	int ends[2];
	check(pipe2(ends, O_CLOEXEC) == 0);
	close(ends[0]);
	check_equal(write_all(ends[1], "x", 1), -1);
	check_equal(errno, EPIPE);
	close(ends[1]);
}

static void test_tmpfile(void) {
	char dir[] = "/tmp/io-test.XXXXXX";
	check(mkdtemp(dir));
	int fd = tmpfile_open(dir);
	check(fd >= 0);
	struct stat st;
	check(fstat(fd, &st) == 0 && st.st_nlink == 0 && (st.st_mode & 07777) == 0600);
	check(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	check(rmdir(dir) == 0); // it has no name there
	check_equal(tmpfile_open(dir), -1);
	check_equal(errno, ENOENT);
	close(fd);
}

static void test_sanitize(void) {
	close(0);
	close(1);
	check_equal(fds_sanitize(), 1 << 0 | 1 << 1);
	char c;
	check_equal(read(0, &c, 1), -1);
	check_equal(errno, EBADF);
	check_equal(write(1, "x", 1), -1);
	check_equal(errno, EBADF);
	check_equal(fds_sanitize(), 0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("bytes are written and read where they belong", test_at_offset),
		TEST("a file that is too short says so", test_short_file),
		TEST("a file is read to its end, unless it is too long", test_to_end),
		TEST("a full file takes what it can", test_full_file),
		TEST("what is no file is refused", test_no_file),
		TEST("a non-blocking pipe gets all", test_non_blocking),
		TEST("a failing write is reported", test_refused),
		TEST("a temporary file is private and has no name", test_tmpfile),
		TEST("closed standard descriptors are opened and useless", test_sanitize),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
