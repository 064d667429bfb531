// Tests of slots/semaphore.h: who gets it and in which order, what the dead leave, and what its directory may hold.

#include "slots/semaphore.h"

#include "base/sync.h"
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>

// ---- the stage

static char home[] = "/tmp/fairpar-semaphore-XXXXXX";

// A home of its own, removed at the end of the test's process.
static int remove_one(const char *path, const struct stat *st FP_UNUSED, int kind FP_UNUSED, struct FTW *at FP_UNUSED) {
	return remove(path);
}

static void remove_home(void) {
	nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin(void) {
	check(mkdtemp(home) != NULL);
	check(setenv("HOME", home, 1) == 0);
	check(atexit(remove_home) == 0);
}

// Returns the name of the directory of this host.
static const char *host_dir(void) {
	static struct buf dir;
	char host[HOST_NAME_MAX + 1] = "";
	check(gethostname(host, HOST_NAME_MAX) == 0);
	buf_reset(&dir);
	buf_adds(&dir, "on-");
	for (const char *c = host; *c; ++c) {
		buf_adds(&dir, *c == '.' ? "%2E" : (char[]){*c, '\0'});
	}
	return buf_str(&dir);
}

static const char *in_home(const char *name) {
	static struct buf path;
	buf_reset(&path);
	buf_printf(&path, "%s/.cache/fairpar/sem/%s/%s", home, host_dir(), name);
	return buf_str(&path);
}

static bool is_there(const char *name) {
	return access(in_home(name), F_OK) == 0;
}

static struct semaphore *open_one(const char *name) {
	struct buf error = BUF_INIT;
	struct semaphore *semaphore = semaphore_open(name, &error);
	check_string(buf_str(&error), "");
	check(semaphore != NULL);
	buf_fini(&error);
	return semaphore;
}

static enum semaphore_result take(struct semaphore *semaphore, unsigned limit, uint64_t deadline) {
	struct buf error = BUF_INIT;
	enum semaphore_result result = semaphore_take(semaphore, limit, deadline, &error);
	check_string(buf_str(&error), "");
	buf_fini(&error);
	return result;
}

static const char *why_not(const char *name) {
	static struct buf error;
	buf_reset(&error);
	check(semaphore_open(name, &error) == NULL);
	return buf_str(&error);
}

enum { AT_ONCE = 0 }; // a deadline that is over

// ---- names

static void test_names(void) {
	begin();
	static const char *const names[][2] = {
		{"default", "id-default"}, {"", "id-"}, {"a b", "id-a%20b"}, {"../x", "id-%2E%2E%2Fx"}, {"\xc3\xa9%", "id-%C3%A9%25"},
		{"a/b", "id-a%2Fb"}, {"-_Z9", "id--_Z9"}, {"lock", "id-lock"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		struct semaphore *semaphore = open_one(names[i][0]);
		check_equal(take(semaphore, 1, AT_ONCE), SEMAPHORE_DONE);
		check(is_there(names[i][1]));
		semaphore_close(semaphore);
		check(!is_there(names[i][1])); // nobody uses it
	}
	char longest[254];
	memset(longest, 'x', sizeof(longest));
	longest[253] = '\0';
	check(strstr(why_not(longest), "is too long"));
	longest[252] = '\0';
	semaphore_close(open_one(longest));
}

static void test_places(void) {
	begin();
	char path[sizeof(home) + HOST_NAME_MAX * 3 + 32];
	static const char *const not_homes[] = {NULL, "", "relative", "/nonexistent/home", "/dev/null"};
	snprintf(path, sizeof(path), "%s/pools", home);
	check(setenv("FAIRPAR_POOL_DIR", path, 1) == 0);
	snprintf(path, sizeof(path), "%s/pools/sem/%s/id-x", home, host_dir());
	for (size_t i = 0; i < sizeof(not_homes) / sizeof(not_homes[0]); ++i) {
		check((not_homes[i] ? setenv("HOME", not_homes[i], 1) : unsetenv("HOME")) == 0);
		struct semaphore *semaphore = open_one("x");
		check_equal(take(semaphore, 1, AT_ONCE), SEMAPHORE_DONE);
		check(access(path, F_OK) == 0);
		semaphore_close(semaphore);
	}
	check(setenv("FAIRPAR_POOL_DIR", "relative", 1) == 0);
	check(strstr(why_not("x"), "has to be an absolute path"));
	check(setenv("HOME", home, 1) == 0);
	semaphore_close(open_one("x"));
	check(chmod(in_home(""), 0750) == 0);
	check(strstr(why_not("x"), "is open to other users"));
	check(rmdir(in_home("")) == 0);
	check(symlink("/tmp", (snprintf(path, sizeof(path), "%s/.cache/fairpar/sem/%s", home, host_dir()), path)) == 0);
	check(strstr(why_not("x"), "cannot open"));
}

// ---- holding

static void test_limit(void) {
	begin();
	struct semaphore *held[4];
	for (unsigned i = 0; i < 4; ++i) {
		held[i] = open_one("x");
		check_equal(take(held[i], 3, AT_ONCE), i < 3 ? SEMAPHORE_DONE : SEMAPHORE_TIMED_OUT);
	}
	check_equal(fcntl(semaphore_fd(held[0]), F_GETFD), FD_CLOEXEC);
	semaphore_close(held[1]);
	struct semaphore *late = open_one("x");
	check_equal(take(late, 3, AT_ONCE), SEMAPHORE_TIMED_OUT); // held[3] has been waiting for longer
	struct buf error = BUF_INIT;
	check_equal(semaphore_seize(held[3], &error), SEMAPHORE_DONE);
	check_equal(semaphore_seize(late, &error), SEMAPHORE_DONE); // the fourth
	semaphore_close(held[0]);
	semaphore_close(held[2]);
	semaphore_close(held[3]);
	struct semaphore *other = open_one("x");
	check_equal(take(other, 1, AT_ONCE), SEMAPHORE_TIMED_OUT);
	semaphore_close(late);
	semaphore_close(other);
	check(!is_there("id-x"));
	semaphore_close(NULL);
	buf_fini(&error);
}

// Names that mean nothing, and what somebody left who was killed: nobody waits for either.
static void test_leftovers(void) {
	begin();
	struct semaphore *semaphore = open_one("x");
	check_equal(take(semaphore, 1, AT_ONCE), SEMAPHORE_DONE);
	static const char *const strange[] = {"h", "h1x", "h-1", "h+1", "h 1", "h01", "q7", "H1", "h99999999999", "1", "hh1"};
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); ++i) {
		char path[64];
		snprintf(path, sizeof(path), "id-x/%s", strange[i]);
		int fd = open(in_home(path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		check(fd >= 0 && flock(fd, LOCK_EX) == 0); // not closed: it looks alive
	}
	check(mkfifo(in_home("id-x/h7"), 0600) == 0 && mkfifo(in_home("id-x/w8"), 0600) == 0);
	check(mkfifo(in_home("id-x/x9"), 0600) == 0);
	struct semaphore *second = open_one("x");
	check_equal(take(second, 2, AT_ONCE), SEMAPHORE_DONE);
	check(!is_there("id-x/h7") && !is_there("id-x/w8") && !is_there("id-x/x9"));
	check(is_there("id-x/h10")); // behind all numbers that there were
	semaphore_close(semaphore);
	semaphore_close(second);
	check(is_there("id-x/h01")); // and so the directory
}

static void test_numbers_end(void) {
	begin();
	struct semaphore *first = open_one("x"), *second = open_one("x"), *third = open_one("x");
	check_equal(take(first, 9, AT_ONCE), SEMAPHORE_DONE);
	struct buf from = BUF_INIT, error = BUF_INIT;
	buf_adds(&from, in_home("id-x/h1"));
	check(rename(from.data, in_home("id-x/h999999999")) == 0);
	check_equal(take(second, 9, AT_ONCE), SEMAPHORE_DONE);
	check(is_there("id-x/h1000000000"));
	check_equal(take(third, 2, AT_ONCE), SEMAPHORE_TIMED_OUT); // sees both
	semaphore_close(third);
	buf_reset(&from);
	buf_adds(&from, in_home("id-x/h1000000000"));
	check(rename(from.data, in_home("id-x/h4294967295")) == 0);
	third = open_one("x");
	check_equal(semaphore_take(third, 9, AT_ONCE, &error), SEMAPHORE_ERROR);
	check(strstr(buf_str(&error), "has no more numbers"));
	semaphore_close(third);
	buf_fini(&from);
	buf_fini(&error);
	semaphore_forget(first);
	semaphore_forget(second);
}

// ---- waiting

// A child that takes the semaphore and says so by a byte; it gives it back, or dies with it, when it is told to.
struct taker {
	pid_t pid;
	int said, told;
};

static struct taker start_taker(bool dies) {
	int said[2], told[2];
	check(pipe2(said, O_CLOEXEC) == 0 && pipe2(told, O_CLOEXEC) == 0);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		char c = 'x';
		close(told[1]); // the others' ends are open too, but nobody tells by closing
		struct semaphore *semaphore = open_one("x");
		if (take(semaphore, 1, TIME_NEVER) != SEMAPHORE_DONE || write(said[1], &c, 1) != 1 || read(told[0], &c, 1) != 1) {
			_exit(1);
		}
		if (!dies) {
			semaphore_close(semaphore);
		}
		_exit(0);
	}
	close(said[1]);
	close(told[0]);
	return (struct taker){pid, said[0], told[1]};
}

// How many files of that kind there are.
static unsigned count_files(char kind) {
	unsigned n = 0;
	DIR *dir = opendir(in_home("id-x"));
	check(dir != NULL);
	for (struct dirent *entry; (entry = readdir(dir));) {
		n += entry->d_name[0] == kind;
	}
	closedir(dir);
	return n;
}

// Waits until so many are there: as many children are in line then. Somebody holds the semaphore.
static void await_files(char kind, unsigned n) {
	int fd = inotify_init1(IN_CLOEXEC);
	check(fd >= 0 && inotify_add_watch(fd, in_home("id-x"), IN_CREATE) >= 0);
	while (count_files(kind) < n) {
		char events[4096];
		check(read(fd, events, sizeof(events)) > 0);
	}
	close(fd);
}

static void await_taken(const struct taker *taker) {
	char c;
	check(read(taker->said, &c, 1) == 1);
}

static void end_taker(const struct taker *taker) {
	int status;
	check(write(taker->told, "x", 1) == 1);
	check(waitpid(taker->pid, &status, 0) == taker->pid && status == 0);
}

static void test_order(void) {
	begin();
	enum { N = 6 };
	struct taker takers[N];
	for (unsigned i = 0; i < N; ++i) {
		takers[i] = start_taker(/* dies */ i % 2 == 1);
		if (i == 0) {
			await_taken(&takers[i]);
		} else {
			await_files('w', i);
		}
	}
	for (unsigned i = 0; i < N; ++i) {
		if (i > 0) {
			await_taken(&takers[i]);
		}
		int flags = i + 1 < N ? fcntl(takers[i + 1].said, F_SETFL, O_NONBLOCK) : 0;
		char c;
		check(i + 1 == N || (flags == 0 && read(takers[i + 1].said, &c, 1) < 0)); // the next one has it not yet
		check(i + 1 == N || fcntl(takers[i + 1].said, F_SETFL, 0) == 0);
		end_taker(&takers[i]);
	}
}

static void test_killed_in_line(void) {
	begin();
	struct taker first = start_taker(false), second, third;
	await_taken(&first);
	second = start_taker(false);
	await_files('w', 1);
	third = start_taker(false);
	await_files('w', 2);
	check(kill(second.pid, SIGKILL) == 0 && waitpid(second.pid, NULL, 0) == second.pid);
	end_taker(&first);
	await_taken(&third);
	end_taker(&third);
	check(!is_there("id-x"));
}

static void test_wait(void) {
	begin();
	struct buf error = BUF_INIT;
	struct semaphore *waiter = open_one("x");
	check_equal(semaphore_wait(waiter, AT_ONCE, &error), SEMAPHORE_DONE); // for nobody
	semaphore_close(waiter);
	struct taker first = start_taker(true), second;
	await_taken(&first);
	waiter = open_one("x");
	check_equal(semaphore_wait(waiter, AT_ONCE, &error), SEMAPHORE_TIMED_OUT);
	semaphore_close(waiter);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		waiter = open_one("x");
		_exit(semaphore_wait(waiter, TIME_NEVER, &error) == SEMAPHORE_DONE ? 0 : 1);
	}
	await_files('x', 1);
	second = start_taker(true); // came later: it is not waited for
	await_files('w', 1);
	end_taker(&first);
	int status;
	check(waitpid(pid, &status, 0) == pid && status == 0);
	await_taken(&second);
	end_taker(&second);
	buf_fini(&error);
}

// After fork() the child holds it, until its last descriptor is closed.
static void test_handed_over(void) {
	begin();
	struct semaphore *semaphore = open_one("x"), *other = open_one("x");
	check_equal(take(semaphore, 1, AT_ONCE), SEMAPHORE_DONE);
	int ends[2];
	char c;
	check(pipe2(ends, O_CLOEXEC) == 0);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &c, 1) != 0);
	}
	semaphore_forget(semaphore);
	check_equal(take(other, 1, AT_ONCE), SEMAPHORE_TIMED_OUT);
	semaphore_close(other);
	close(ends[1]);
	check(waitpid(pid, NULL, 0) == pid);
	other = open_one("x");
	check_equal(take(other, 1, AT_ONCE), SEMAPHORE_DONE);
	semaphore_close(other);
	check(!is_there("id-x"));
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("any name is that of a directory of its own, which is removed when nobody uses it", test_names),
		TEST("it lies in the home, or in the runtime directory, and is private", test_places),
		TEST("as many as the limit says hold it, and more by force", test_limit),
		TEST("what the dead have left, and strange names, hold up nobody", test_leftovers),
		TEST("numbers are told apart up to the last one, which is an error", test_numbers_end),
		TEST("who came first gets it first, also from one that died", test_order),
		TEST("one that is killed in line holds up nobody", test_killed_in_line),
		TEST("waiting is for those who were there before, and for no others", test_wait),
		TEST("a child holds what its parent has forgotten", test_handed_over),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
