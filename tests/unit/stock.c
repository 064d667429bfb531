// Tests of the items that wait to be put together by the time that they take (stock_add(), stock_take() of feed/feed_internal.h).

#include "feed/feed_internal.h"

#include "test.h"

static struct pack_limits limits;
static struct stock stock;

static void set_up(size_t chars) {
	static const char *const command = "echo";
	char *error;
	limits = (struct pack_limits){.chars = chars};
	limits.template = template_parse(&command, 1, TEMPLATE_APPEND, NULL, &error);
	check(limits.template);
	packs_prepare(&limits);
}

static void tear_down(void) {
	template_free((struct template *)limits.template);
	stock_fini(&stock);
}

// Adds the `n` items, each of one argument, that were read together, or one item of `n` arguments. Returns the next number.
static uint64_t add(const char *args, size_t size, uint32_t nargs, uint32_t nitems, uint64_t seq) {
	const struct record record = {.args = args, .size = size, .nargs = nargs};
	const char *bad;
	uint32_t measured;
	check(packs_measure(&limits, &record, seq, &measured, &bad));
	stock_add(&stock, &record, nitems, measured, NULL, seq);
	return seq + nitems;
}

static uint64_t add_abc(uint64_t seq) {
	return add("a\0bb\0ccc", 9, 3, 3, seq);
}

// Takes a pack and checks what it is: the number of the first, its items, and its arguments, joined by commas.
static void check_take(uint64_t most, uint64_t seq, uint32_t nitems, const char *args) {
	struct stock_pack pack;
	char text[256];
	size_t n = 0, bytes = stock_bytes(&stock);
	stock_take(&stock, &limits, most, &pack);
	check(pack.record.size < sizeof(text));
	uint32_t nargs = 0;
	for (size_t i = 0; i < pack.record.size; ++i) {
		nargs += pack.record.args[i] == '\0';
		text[n++] = pack.record.args[i] ? pack.record.args[i] : ',';
	}
	text[n > 0 ? n - 1 : 0] = '\0';
	check_string(text, args);
	check_equal(pack.seq, seq);
	check_equal(pack.nitems, nitems);
	check_equal(pack.record.nargs, nargs);
	check(!pack.bad);
	check(stock_bytes(&stock) < bytes);
}

static void test_divided(void) {
	set_up(1000);
	uint64_t seq = add_abc(1);
	seq = add("dd", 3, 1, 1, seq);
	(void)add_abc(seq);
	check_equal(stock.nitems, 7);
	check_take(2, 1, 2, "a,bb");
	check_take(3, 3, 3, "ccc,dd,a");
	check_equal(stock.nitems, 2);
	check_take(100, 6, 2, "bb,ccc");
	check_equal(stock.nitems, 0);
	check_equal(stock_bytes(&stock), 0);
	tear_down();
}

static void test_arguments(void) {
	// several sources: an item has several arguments, and is never divided
	set_up(1000);
	(void)add("a\0x", 4, 2, 1, add("a\0y", 4, 2, 1, 1));
	check_take(1, 1, 1, "a,y");
	check_take(5, 2, 1, "a,x");
	tear_down();
}

static void test_length(void) {
	set_up(sizeof("echo a bb ccc") + 1);
	(void)add_abc(add_abc(add_abc(1)));
	check_take(100, 1, 3, "a,bb,ccc");
	check_take(100, 4, 3, "a,bb,ccc");
	check_take(100, 7, 3, "a,bb,ccc");
	tear_down();
}

static void test_bad(void) {
	set_up(1000);
	struct stock_pack pack;
	const struct record record = {.args = "bad", .size = 4, .nargs = 1};
	uint64_t seq = add_abc(1);
	stock_add(&stock, &record, 1, 0, "no item", seq);
	(void)add_abc(seq + 1);
	check_take(100, 1, 3, "a,bb,ccc"); // not with what stands before it
	stock_take(&stock, &limits, 100, &pack);
	check_string(pack.record.args, "bad");
	check_string(pack.bad, "no item");
	check_equal(pack.seq, 4);
	check_take(100, 5, 3, "a,bb,ccc");
	tear_down();
}

static void test_many(void) {
	// what was taken makes room for what comes
	set_up(1000);
	uint64_t seq = 1, taken = 1;
	for (int i = 0; i < 20; ++i) {
		seq = add_abc(seq);
	}
	for (int i = 0; i < 10000; ++i) {
		check_take(3, taken, 3, "a,bb,ccc");
		taken += 3;
		seq = add_abc(seq);
		check(stock.cap < 200 && stock.args.cap < 4096);
	}
	tear_down();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("items that were read together are divided, and keep their numbers", test_divided),
		TEST("an item of several arguments is not divided", test_arguments),
		TEST("a pack is no longer than a command may be", test_length),
		TEST("what cannot be an item goes by itself, in its place", test_bad),
		TEST("a stock does not grow with what goes through it", test_many),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
