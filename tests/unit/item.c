// Tests of a queued item as bytes: what was written is read, whatever parts it has.

#include "exec/submission.h"

#include "test.h"

#include <string.h>

static const struct record two = {.args = "one\0two", .size = 8, .nargs = 2};

static struct item_view written(struct buf *bytes, const struct item_view *view) {
	struct item_view got;
	size_t at = item_write(bytes, view);
	check_equal(at % 8, 0);
	item_read(&got, bytes->data + at, bytes->len - at);
	check_equal(got.item.seq, view->item.seq);
	check_equal(got.item.spec, view->item.spec);
	check_equal(got.record.nargs, view->record.nargs);
	check_equal(got.record.size, view->record.size);
	check(memcmp(got.record.args, view->record.args, view->record.size) == 0);
	return got;
}

static void test_bare(void) {
	struct buf bytes = BUF_INIT;
	struct item_view view = {.item = {.seq = 7, .number = 3, .nargs = 2, .spec = (1 << 26) - 1, .items = 12345, .queued = 5, .from = 6, .own = &bytes}, .record = two};
	for (int i = 0; i < 3; ++i) { // one behind another, at odd ends
		struct item_view got = written(&bytes, &view);
		check(!got.reason);
		check_equal(got.item.queued, 5);
		check_equal(got.item.from, 6);
		check(got.item.own == &bytes);
		check_equal(got.item.items, 12345);
	}
	buf_fini(&bytes);
}

static void test_bad(void) {
	struct buf bytes = BUF_INIT;
	struct item_view view = {.item = {.nargs = 2, .bad = 1}, .record = two, .reason = "too long"};
	check_string(written(&bytes, &view).reason, "too long");
	buf_fini(&bytes);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("an item is its head and its arguments", test_bare),
		TEST("an item that cannot be run has its reason", test_bad),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
