// Tests of packs (template/packs.h): what fits into a command, what is full, what stands alone, and how the rest is spread.

#include "template/packs.h"

#include "test.h"

static struct pack_limits limits;
static struct pack pack;
static const char *bad;

// Limits for a command of these words; those that a test changes come later.
static void set_up(const char *command, unsigned flags) {
	char *error;
	limits = (struct pack_limits){.chars = PACK_CHARS_MAX};
	limits.template = template_parse(&command, 1, TEMPLATE_APPEND | flags, NULL, &error);
	check(limits.template);
	packs_prepare(&limits);
	pack = (struct pack){.nargs = 0};
}

static void tear_down(void) {
	template_free((struct template *)limits.template);
	packs_fini(&pack);
}

static struct record one(const char *arg) {
	return (struct record){.args = arg, .size = strlen(arg) + 1, .nargs = 1};
}

static enum pack_status add_bad(const char *arg, const char *why) {
	struct record record = one(arg);
	return packs_add(&pack, &limits, &record, why, /* seq */ 1, &bad);
}

static enum pack_status add(const char *arg) {
	return add_bad(arg, NULL);
}

// The arguments of the record, joined by commas.
static const char *shown(struct record record) {
	static char text[256];
	size_t n = 0;
	check(record.size < sizeof(text));
	for (size_t i = 0; i < record.size; ++i) {
		text[n++] = record.args[i] ? record.args[i] : ',';
	}
	text[n > 0 ? n - 1 : 0] = '\0';
	return text;
}

// The length of the command that the pack makes.
static size_t expanded_len(struct record record) {
	struct expansion x = {.record = &record, .seq = 1, .slot = 1};
	struct buf text = BUF_INIT;
	template_expand(limits.template, &x, &text);
	size_t len = text.len;
	buf_fini(&text);
	return len;
}

// ---- full ----

static void test_items(void) {
	set_up("echo {}", 0);
	limits.items = 3;
	check_equal(add("a"), PACK_TAKEN);
	check_equal(add("b"), PACK_TAKEN);
	check(!packs_is_complete(&pack, &limits));
	check_equal(add("c"), PACK_TAKEN);
	check(packs_is_complete(&pack, &limits)); // goes at once, before the next record is there
	check_equal(add("d"), PACK_FULL);
	check_string(shown(packs_record(&pack)), "a,b,c");
	check_equal(pack.nitems, 3);
	packs_reset(&pack);
	check_equal(add("d"), PACK_TAKEN);
	check_string(shown(packs_record(&pack)), "d");
	limits.waits = true; // the last one may be spread: whether this is the last one is not known yet
	check_equal(add("e"), PACK_TAKEN);
	check_equal(add("f"), PACK_TAKEN);
	check(!packs_is_complete(&pack, &limits));
	check_equal(add("g"), PACK_FULL);
	tear_down();
}

static void test_columns(void) {
	set_up("echo {}", 0);
	limits.items = 2;
	struct record record = {.args = "a\0b", .size = 4, .nargs = 2};
	check_equal(packs_add(&pack, &limits, &record, NULL, 1, &bad), PACK_TAKEN);
	check_equal(packs_add(&pack, &limits, &record, NULL, 2, &bad), PACK_TAKEN);
	check_string(shown(packs_record(&pack)), "a,b,a,b");
	check_equal(pack.nargs, 4);
	check_equal(pack.nitems, 2);
	tear_down();
}

static void test_chars(void) {
	set_up("echo {}", 0);
	limits.chars = 12; // the command is shorter than that: "echo aa bb c" is not
	check_equal(add("aa"), PACK_TAKEN);
	check_equal(add("bb"), PACK_TAKEN);
	check_equal(add("c"), PACK_FULL);
	check_equal(expanded_len(packs_record(&pack)), 10);
	packs_reset(&pack);
	check_equal(add("abcdef"), PACK_TAKEN);
	packs_reset(&pack);
	check_equal(add("abcdefg"), PACK_ALONE);
	check_string(bad, "command line too long (12 >= 12)");
	check_equal(pack.nitems, 0);
	tear_down();
}

static void test_quotes_count(void) {
	set_up("echo {}", 0);
	limits.chars = 12;
	check_equal(add("a b"), PACK_TAKEN);
	check(expanded_len(packs_record(&pack)) < 12);
	check_equal(add("c d"), PACK_FULL);
	tear_down();
}

static void test_longest(void) {
	// without -s an item may be as long as the system takes
	static char text[140000];
	set_up("echo {}", 0);
	memset(text, 'x', 100000);
	check_equal(add("a"), PACK_TAKEN);
	check_equal(add(text), PACK_TAKEN);
	check_equal(add(text), PACK_FULL);
	packs_reset(&pack);
	memset(text, 'x', sizeof(text) - 1);
	check_equal(add(text), PACK_ALONE);
	check_string(bad, "command line too long (140004 >= 131071)");
	tear_down();
}

static void test_room(void) {
	// with a large environment execve() takes less
	set_up("/bin/echo {}", 0);
	limits.room = 100;
	int n = 0;
	while (add("abcd") == PACK_TAKEN) {
		++n;
	}
	// each is a blank or NUL, and a pointer
	check(n * (int)(5 + sizeof(char *)) <= 100 && n >= 3);
	tear_down();
}

// ---- what is no item ----

static void test_bad_alone(void) {
	set_up("echo {}", 0);
	check_equal(add("a"), PACK_TAKEN);
	check_equal(add_bad("x", "why"), PACK_ALONE);
	check_string(bad, "why");
	check_equal(add("b"), PACK_TAKEN);
	check_string(shown(packs_record(&pack)), "a,b");
	tear_down();
}

static void test_bad_counts(void) {
	// with a number of items those behind a bad one must not move up into its place
	set_up("echo {}", 0);
	limits.items = 3;
	check_equal(add("a"), PACK_TAKEN);
	check_equal(add_bad("x", "why"), PACK_TAKEN);
	check_equal(add("b"), PACK_TAKEN);
	check_equal(add("c"), PACK_FULL);
	check_string(pack.bad, "why");
	check_string(shown(packs_record(&pack)), "x");
	packs_reset(&pack);
	check(!pack.bad);
	check_equal(add("c"), PACK_TAKEN);
	tear_down();
}

static void test_none_inserted(void) {
	set_up("echo {}", 0);
	limits.inserts_none = true;
	limits.items = 1;
	check_equal(add("a"), PACK_TAKEN);
	check(packs_is_complete(&pack, &limits));
	check_equal(packs_record(&pack).nargs, 0);
	check_equal(packs_record(&pack).size, 0);
	tear_down();
}

// ---- lengths ----

static void test_list_and_context(void) {
	// what is counted is what comes out
	static const struct { const char *command; unsigned flags; } cases[] = {
		{"echo {}", 0}, {"echo a{}b", 0}, {"echo a{}b", TEMPLATE_CONTEXT}, {"echo {} {}", 0}, {"{}{}", 0}, {"echo {1} {} {2}", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		set_up(cases[i].command, cases[i].flags);
		for (int n = 1; n <= 5; ++n) {
			check_equal(add("it's"), PACK_TAKEN);
			size_t len = expanded_len(packs_record(&pack));
			check_equal(limits.fixed + (ptrdiff_t)pack.size, (ptrdiff_t)len);
		}
		tear_down();
	}
}

static void test_measured(void) {
	// records that are measured first and put together later: as many as packs_add() takes
	static const char *const args[] = {"a", "bb cc", "it's", "", "*", "a/long/name.txt", "\n"};
	static const char *const commands[] = {"echo {}", "echo 'x{}'; true \"{}\"", "/bin/echo {.} {/}"};
	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); ++c) {
		set_up(commands[c], 0);
		limits.chars = 300;
			size_t sum = 0;
		uint32_t n = 0, size = 0;
		for (;; ++n) {
			struct record record = one(args[n % 7]);
			check(packs_measure(&limits, &record, n + 1, &size, &bad));
			bool fits = packs_fit(&limits, n + 1, sum + size, /* is_alone */ false);
			check_equal(fits, packs_add(&pack, &limits, &record, NULL, n + 1, &bad) == PACK_TAKEN);
			if (!fits) {
				break;
			}
			sum += size;
			check(expanded_len(packs_record(&pack)) < 300);
		}
		check(n > 5);
		tear_down();
	}
}

static void test_measured_too_long(void) {
	static char text[140000];
	uint32_t size;
	set_up("echo {}", 0);
	memset(text, 'x', 100000);
	struct record record = one(text);
	check(packs_measure(&limits, &record, 1, &size, &bad)); // alone it is taken, but not with another one
	check_equal(size, 100001);
	check(!packs_fit(&limits, 2, 200001, /* is_alone */ false));
	memset(text, 'x', sizeof(text) - 1);
	record = one(text);
	check(!packs_measure(&limits, &record, 1, &size, &bad));
	check_string(bad, "command line too long (140004 >= 131071)");
	tear_down();
}

static void test_joined(void) {
	set_up("echo {}", 0);
	uint32_t size;
	size_t most = packs_join_size(&limits);
	check(most >= 64 && most <= 4096);
	static char worst[4096];
	memset(worst, '\'', sizeof(worst));
	for (size_t i = 1; i < most; i += 2) {
		worst[i] = '\0';
	}
	struct record record = {.args = worst, .size = most - most % 2, .nargs = (uint32_t)(most / 2)};
	check(packs_measure(&limits, &record, 1, &size, &bad)); // whatever is in it
	check(packs_fit(&limits, record.nargs, size, /* is_alone */ false));
	limits.chars = 300;
	check_equal(packs_join_size(&limits), 0);
	tear_down();
	set_up("echo {.}", 0);
	check_equal(packs_join_size(&limits), 0);
	tear_down();
}

static void test_added_together(void) {
	// several records at once fit where each of them would one after the other
	static const char args[] = "a\0bb cc\0it's\0\0*\0a/long/name.txt";
	static const char *const commands[] = {"echo {}", "echo 'x{}'; true \"{}\"", "echo a{}b {}"};
	for (size_t c = 0; c < 2 * sizeof(commands) / sizeof(commands[0]); ++c) {
		set_up(commands[c / 2], c % 2 ? TEMPLATE_CONTEXT : 0);
		struct record all = {.args = args, .size = sizeof(args), .nargs = 6};
		struct pack singly = {.nargs = 0};
		bool taken = true;
		limits.waits = true;
		for (limits.chars = 20; limits.chars < 300; ++limits.chars) {
			const char *at = args;
			taken = true;
			for (int i = 0; i < 6; ++i, at += strlen(at) + 1) {
				struct record record = one(at);
				taken = taken && packs_add(&singly, &limits, &record, NULL, 1, &bad) == PACK_TAKEN && singly.nitems > (uint32_t)i;
			}
			bool fits = taken && packs_fit(&limits, 6, singly.size, /* is_alone */ false);
			check_equal(packs_add_all(&pack, &limits, &all, 1), fits);
			if (fits) {
				check_equal(pack.nitems, 6);
				check_equal(pack.size, singly.size);
				check_equal(packs_slice(&pack, 4, 6).size, packs_slice(&singly, 4, 6).size);
				check_equal(packs_record(&pack).size, sizeof(args));
			}
			packs_reset(&pack);
			packs_reset(&singly);
		}
		check(taken);
		packs_fini(&singly);
		tear_down();
	}
}

static void test_fills(void) {
	// a program that no shell runs is given all that execve() takes: each argument with its NUL and its pointer
	set_up("true {}", 0);
	limits.fills = true;
	limits.room = 1000000;
	uint32_t size;
	struct record record = one("1234567");
	check(packs_measure(&limits, &record, 1, &size, &bad));
	check_equal(size, 8);
	check(packs_fit(&limits, 62000, 62000 * 8, /* is_alone */ false));
	check(!packs_fit(&limits, 63000, 63000 * 8, /* is_alone */ false));
	check(packs_join_size(&limits) > 0);
	static char text[140000];
	memset(text, 'x', sizeof(text) - 1);
	record = one(text);
	check(!packs_measure(&limits, &record, 1, &size, &bad)); // but a single one is a string
	tear_down();
}

// ---- the last ones ----

static void test_spread(void) {
	set_up("echo {}", 0);
	limits.waits = true;
	for (int i = 0; i < 7; ++i) {
		char arg[] = {(char)('a' + i), '\0'};
		check_equal(add(arg), PACK_TAKEN);
	}
	check_equal(packs_spread(&pack, 3), 3);
	check_equal(packs_spread(&pack, 7), 1);
	check_equal(packs_spread(&pack, 100), 1);
	check_equal(packs_spread(&pack, 1), 7);
	check_equal(packs_spread(&pack, 0), 7);
	check_string(shown(packs_slice(&pack, 0, 3)), "a,b,c");
	check_string(shown(packs_slice(&pack, 3, 6)), "d,e,f");
	check_string(shown(packs_slice(&pack, 6, 7)), "g");
	check_equal(packs_slice(&pack, 3, 6).nargs, 3);
	tear_down();
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a pack is full at its number of items", test_items),
		TEST("records bring all their arguments", test_columns),
		TEST("a command is shorter than the limit, and one item that is not is alone", test_chars),
		TEST("quotes count", test_quotes_count),
		TEST("without a limit of the user's an item may be as long as the system takes", test_longest),
		TEST("no more than execve() takes", test_room),
		TEST("what is no item stands alone", test_bad_alone),
		TEST("with a number of items it takes its place, and spoils the pack", test_bad_counts),
		TEST("-N0 counts items and inserts none", test_none_inserted),
		TEST("lists and repeated words have the length that comes out", test_list_and_context),
		TEST("records measured one by one fit as those that are added", test_measured),
		TEST("a record measured as too long says so", test_measured_too_long),
		TEST("records that are measured as one fit, whatever is in them", test_joined),
		TEST("records that are added at once fit as those that are added one by one", test_added_together),
		TEST("a program may be given all that execve() takes", test_fills),
		TEST("the last items are spread over the slots", test_spread),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
