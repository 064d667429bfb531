// What a machine gets that has no fairpar (remote/sshlogin.h).

#include "remote/sshlogin.h"

#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

// Those of `printf … | cksum`.
static void test_cksum(void) {
	static const struct { const char *bytes; uint32_t sum; } cases[] = {
		{"", UINT32_C(4294967295)}, {"a", UINT32_C(1220704766)}, {"abc", UINT32_C(1219131554)}, {"123456789", UINT32_C(930766865)},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		check_equal(program_copy_cksum(cases[i].bytes, strlen(cases[i].bytes)), cases[i].sum);
	}
	char many[1000];
	memset(many, 'x', sizeof(many)); // more than a byte of length
	check_equal(program_copy_cksum(many, sizeof(many)), UINT32_C(3999126958));
}

static void write_file(const char *path, const char *text) {
	FILE *file = fopen(path, "w");
	check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void test_copy(void) {
	char dir[] = "/tmp/fairpar-unit.XXXXXX", self[64], beside[80], own[200], other[sizeof(own)];
	struct utsname here;
	struct program_copy copy;
	struct buf bytes = BUF_INIT, why = BUF_INIT;
	check(mkdtemp(dir) && uname(&here) == 0);
	snprintf(own, sizeof(own), "%s %s", here.sysname, here.machine);
	snprintf(other, sizeof(other), "%s pdp11", here.sysname);
	snprintf(self, sizeof(self), "%s/fairpar", dir);
	snprintf(beside, sizeof(beside), "%s-static", self);
	write_file(self, "abc");
	program_copy_find(self, &copy);
	check(copy.size == 3 && strspn(copy.name, "0123456789abcdef-") == strlen(copy.name));
	check(program_copy_read(&copy, own, &bytes, &why) == 0);
	check_string(buf_str(&bytes), "1219131554 3\nabc");
	check(program_copy_read(&copy, other, &bytes, &why) != 0 && strstr(buf_str(&why), own) && strstr(buf_str(&why), "pdp11"));
	check(unlink(self) == 0 && program_copy_read(&copy, own, &bytes, &why) != 0 && strstr(buf_str(&why), "No such file"));
	free(copy.path);
	write_file(beside, "a");
	program_copy_find(self, &copy);
	check_string(copy.path, beside);
	free(copy.path);
	check(unlink(beside) == 0 && rmdir(dir) == 0);
	program_copy_find(self, &copy);
	check(copy.size == 0 && program_copy_read(&copy, own, &bytes, &why) != 0);
	free(copy.path);
	buf_fini(&bytes);
	buf_fini(&why);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the sum is that of POSIX's cksum", test_cksum),
		TEST("a program is sent with its sum, to machines of its kind alone", test_copy),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
