// Tests of remote/file_talk.h: where a file lies here and on another machine, as GNU parallel 20221122 and rsync -R have it.

#include "remote/file_talk.h"

#include "test.h"

// The route as HERE|NAME, with = in front where the directory there is the same; or what is wrong.
static void check_route(enum file_item way, const char *path, const char *expected) {
	struct file_route route;
	struct buf out = BUF_INIT;
	const char *why;
	if (file_route(&route, path, way, &why) == 0) {
		buf_printf(&out, "%s%s|%s", route.is_absolute ? "=" : "", buf_str(&route.here), buf_str(&route.name));
	} else {
		buf_adds(&out, why);
	}
	check_string(buf_str(&out), expected);
	file_route_fini(&route);
	buf_fini(&out);
}

#define GOES(path, expected) check_route(ITEM_GOES, path, expected)
#define COMES(path, expected) check_route(ITEM_COMES, path, expected)
#define OUT "'..' in the name would lead out of the directory on the other machine"

static void test_both(void) {
	for (enum file_item way = ITEM_GOES; way <= ITEM_COMES; ++way) {
		check_route(way, "foo", ".|./foo");
		check_route(way, "tmp/foo/bar", ".|./tmp/foo/bar");
		check_route(way, "./foo", ".|./foo");
		check_route(way, "a//b/./", "a//b|.");
		check_route(way, "a//b/", ".|./a/b");
		check_route(way, "/tmp/foo/bar", "=/tmp/foo|./bar");
		check_route(way, "/foo", "=/|./foo");
		check_route(way, "/tmp/foo/", "=/tmp|./foo");
		check_route(way, "/tmp/../foo", "=/tmp/..|./foo");
		check_route(way, "/tmp/./foo/bar", "/tmp|./foo/bar");
		check_route(way, "tmp/./foo/bar", "tmp|./foo/bar");
		check_route(way, "/./foo", "/|./foo");
		check_route(way, ".", ".|.");
		check_route(way, "-x", ".|./-x");
		check_route(way, "../x/./foo", "../x|./foo");
	}
}

static void test_cut(void) {
	GOES("a/./b/./c", "a|./b/c");
	COMES("a/./b/./c", "a/./b|./c");
	GOES("a/././c", "a|./c");
	COMES("a/././c", "a/.|./c");
}

static void test_refused(void) {
	GOES("", "the name of the file is empty");
	GOES("..", OUT);
	GOES("../foo", OUT);
	COMES("foo/../../bar", OUT);
	GOES("/tmp/./../foo", OUT);
	GOES("/tmp/..", OUT);
	GOES("..foo/..bar", ".|./..foo/..bar");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a path has a directory here, a name below it, and the work dir or the same directory there", test_both),
		TEST("what goes is cut at its first /./, what comes at its last", test_cut),
		TEST("a path that leads out of the directory there is refused", test_refused),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
