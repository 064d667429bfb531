// Tests of base/pathname.h: names of files that are made of items.

#include "base/pathname.h"

#include "test.h"

// The examples of FIPS 180-2, appendix B, and lengths around what is padded.
static void test_sha256(void) {
	char hex[SHA256_HEX + 1], text[1000];
	memset(text, 'a', sizeof(text));
	sha256_hex("abc", 3, hex);
	check_string(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	check_string(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	sha256_hex("", 0, hex);
	check_string(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_hex(text, 55, hex);
	check_string(hex, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	sha256_hex(text, 64, hex);
	check_string(hex, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	sha256_hex(text, 1000, hex);
	check_string(hex, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static void check_name(const char *item, const char *expected) {
	struct buf buf = BUF_INIT;
	pathname_add(&buf, item, strlen(item));
	check_string(buf_str(&buf), expected);
	buf_fini(&buf);
}

static void test_names(void) {
	check_name("a b*", "a b*");
	check_name("../a\\b\tc", "..\\_a\\\\b\\tc");
	check_name(".", "\\.");
	check_name("..", "\\..");
	check_name("...", "...");
	check_name("", "\\0");
}

static void check_fit(const char *path, size_t tail, const char *expected) {
	struct buf buf = BUF_INIT;
	buf_adds(&buf, path);
	pathname_fit(&buf, 2, tail);
	check_string(buf_str(&buf), expected);
	buf_fini(&buf);
}

// With TAIL behind what differs, NAME.err of one is not the file of another.
static void test_beside(void) {
	check_fit("R/a.err", 0, "R/a\\.err");
	check_fit("R/.seq", 0, "R/\\.seq");
	check_fit("R/a.err/b", 0, "R/a.err/b");
	check_fit("R/a.err/", 0, "R/a.err/");
	check_fit("R/a.err.txt", 4, "R/a.err.txt");
	check_fit("R/a.err", 4, "R/a.err");
	check_fit("R/a.err.err", 4, "R/a.err\\.err");
	check_fit("R/a.errr.err", 2, "R/a.errr\\.err");
	check_fit("R/a.xyz.err", 2, "R/a.xyz.err");
	check_fit("R/aerr.err", 3, "R/aerr\\.err");
	check_fit("R/x/a.err", 6, "R/x/a.err");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("SHA-256 is that of FIPS 180-4", test_sha256),
		TEST("an item is one name", test_names),
		TEST("the files beside are no other item's", test_beside),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
