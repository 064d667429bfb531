// Tests of mutexes (base/sync.h), and of their order (base/locks.def), which only builds with FAIRPAR_FAULTS check.

#include "base/sync.h"

#include "test.h"

#ifdef FAIRPAR_FAULTS
static mutex pool, screen, other_pool, of_test;
static cond condition;

// Runs it in a child. Returns what that wrote to stderr, if it was aborted; else "".
static const char *abort_message(void (*run)(void)) {
	static char message[300];
	int fds[2], wstatus;
	check(pipe(fds) == 0);
	fflush(NULL);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		dup2(fds[1], STDERR_FILENO);
		close(fds[1]);
		run();
		_exit(0);
	}
	close(fds[1]);
	size_t len = 0;
	for (ssize_t n; (n = read(fds[0], message + len, sizeof(message) - 1 - len)) > 0;) {
		len += (size_t)n;
	}
	message[len] = '\0';
	close(fds[0]);
	check(waitpid(pid, &wstatus, 0) == pid);
	bool aborted = WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGABRT;
	return aborted ? message : "";
}

static void init(void) {
	mutex_init(&pool, LOCK_POOL);
	mutex_init(&other_pool, LOCK_POOL);
	mutex_init(&screen, LOCK_SCREEN);
	mutex_init(&of_test, LOCK_OF_TEST);
	cond_init(&condition);
}

static void take_in_order(void) {
	mutex_lock(&pool);
	mutex_lock(&screen);
	mutex_unlock(&pool); // also given back in another order
	mutex_unlock(&screen);
	mutex_lock(&pool);
	mutex_unlock(&pool);
	abort(); // without a message
}

static void take_against_order(void) {
	mutex_lock(&screen);
	mutex_lock(&pool);
}

static void take_two_of_a_row(void) {
	mutex_lock(&pool);
	mutex_lock(&other_pool);
}

static void wait_with_another(void) {
	mutex_lock(&pool);
	mutex_lock(&screen);
	cond_wait_until(&condition, &screen, 1);
}

static void take_of_test(void) {
	mutex_lock(&screen);
	mutex_lock(&of_test);
	mutex_unlock(&screen);
	mutex_lock(&pool);
	abort();
}

static void test_order(void) {
	init();
	check_string(abort_message(take_in_order), "");
	check_string(abort_message(take_of_test), "");
	check_string(abort_message(take_against_order), "locks POOL while SCREEN is held: see src/base/locks.def\n");
}

static void test_row(void) {
	init();
	check_string(abort_message(take_two_of_a_row), "locks POOL while POOL is held: see src/base/locks.def\n");
}

static void test_wait(void) {
	init();
	check_string(abort_message(wait_with_another),
	             "waits for a condition of SCREEN while POOL is held: see src/base/locks.def\n");
}
#endif

static void test_deadline(void) {
	mutex m = MUTEX_INIT(LOCK_OF_TEST);
	cond c;
	cond_init(&c);
	mutex_lock(&m);
	check(!cond_wait_until(&c, &m, now_ns()));
	mutex_unlock(&m);
	cond_fini(&c);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
#ifdef FAIRPAR_FAULTS
		TEST("a mutex of an earlier row is not taken while one of a later row is held", test_order),
		TEST("nor are two of one row", test_row),
		TEST("who waits for a condition holds no other mutex", test_wait),
#endif
		TEST("a wait ends at its deadline", test_deadline),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
