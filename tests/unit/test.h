// A small TAP harness: each test runs in a child of its own, so that a crash or an endless loop fails one test.
// A test may use CPU_SECONDS of processor time, however busy the machine is; tests/run ends a test that hangs.
//
//	static void test_foo(void) { check(foo() == 1); }
//	int main(int argc, char *argv[]) {
//		static const struct test tests[] = { TEST("foo keeps its promise", test_foo), };
//		return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
//	}

#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU_SECONDS = 300, EXIT_SKIPPED = 77 };

struct test {
	const char *name;     // the promise that is tested
	void (*run)(void);
};

#define TEST(name, fn) {name, fn}

// Fails the test, naming the place, unless the condition holds.
#define check(condition) \
	((condition) ? (void)0 : (fprintf(stderr, "# %s:%d: failed: %s\n", __FILE__, __LINE__, #condition), exit(1)))

#define check_equal(a, b) do { \
		long long a_ = (long long)(a), b_ = (long long)(b); \
		if (a_ != b_) { \
			fprintf(stderr, "# %s:%d: %s is %lld, %s is %lld\n", __FILE__, __LINE__, #a, a_, #b, b_); \
			exit(1); \
		} \
	} while (0)

#define check_string(a, b) do { \
		const char *a_ = (a), *b_ = (b); \
		if (strcmp(a_, b_) != 0) { \
			fprintf(stderr, "# %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #a, a_, b_); \
			exit(1); \
		} \
	} while (0)

// True in make check-long.
static inline bool is_long(void) {
	return getenv("LONG_TESTS") != NULL;
}

// True if an emulator of user mode runs the test (packaging/cross).
static inline bool is_emulated(void) {
	const char *profile = getenv("FAIRPAR_PROFILE");
	return profile && strcmp(profile, "cross") == 0;
}

// Skips the rest of the test under an emulator.
static inline void skip_emulated(void) {
	if (is_emulated()) {
		exit(EXIT_SKIPPED);
	}
}

// Runs all tests, or those whose name contains argv[1]; prints TAP. Returns the exit status.
static inline int test_main(const struct test *tests, size_t n, int argc, char *argv[]) {
	int status = 0;
	printf("1..%zu\n", n);
	for (size_t i = 0; i < n; ++i) {
		if (argc > 1 && !strstr(tests[i].name, argv[1])) {
			printf("ok %zu - %s # SKIP not asked for\n", i + 1, tests[i].name);
			continue;
		}
		fflush(NULL);
		pid_t pid = fork();
		if (pid == 0) {
			setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = CPU_SECONDS, .rlim_max = CPU_SECONDS + 1});
			tests[i].run();
			exit(0);
		}
		int wstatus = -1;
		waitpid(pid, &wstatus, 0);
		bool skipped = WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == EXIT_SKIPPED, passed = skipped || wstatus == 0;
		if (!passed) {
			status = 1;
		}
		if (WIFSIGNALED(wstatus)) {
			printf("# killed by signal %d\n", WTERMSIG(wstatus));
		}
		printf("%s %zu - %s%s\n", passed ? "ok" : "not ok", i + 1, tests[i].name, skipped ? " # SKIP emulated" : "");
	}
	return status;
}
