// Tests of warm/warm.h where no process is needed: what a build without the object says, and the environment of a job.

#include "test.h"
#include "warm/warm.h"

#include <link.h>

static void test_object(void) {
	if (server_so_size > 0) {
		check(server_so_size > sizeof(ElfW(Ehdr)));
	} else { // with another C library, or static
		check_string(fitness_refusal("/bin/sh"), "this fairpar was built without warm shells");
	}
}

static void test_env(void) {
	static const char *const fine[] = {"LD=x", "LDFLAGS=-s", "GLIBC_TUNABLESX=1", "MALLOC=1", "A=LD_PRELOAD=x"};
	static const char *const refused[] = {"LD_PRELOAD=", "LD_LIBRARY_PATH=/x", "GLIBC_TUNABLES=x=1", "MALLOC_ARENA_MAX=1", "MALLOC_CHECK_="};
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); ++i) {
		check(!fitness_refusal_env((char *[]){(char *)(uintptr_t)fine[i], NULL}));
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
		check(fitness_refusal_env((char *[]){(char *)(uintptr_t)"A=b", (char *)(uintptr_t)refused[i], NULL}));
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a build without the object refuses each program", test_object),
		TEST("variables that the linker or the allocator read are known by their names", test_env),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
