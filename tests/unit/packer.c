// Tests of xargs/packer.h: command lines that are exactly full, items that are carried, replacement.

#include "xargs/packer.h"

#include "base/buf.h"
#include "test.h"

static const char *const echo[] = {"echo", "x"};
static const char *const places[] = {"{}", "a{}b{}", "-", "{}"};

static const char cannot_fit[] = "cannot fit single argument within argument list size limit";

// The arguments of a line, as <…>.
static const char *shown(const struct packed *line) {
	static struct buf out;
	buf_reset(&out);
	for (size_t i = 0; i < line->nargs; ++i) {
		buf_printf(&out, "<%s>", line->bytes.data + line->starts[i]);
	}
	return buf_str(&out);
}

static void write_item(struct packer *packer, const char *item) {
	size_t len = strlen(item);
	memcpy(packer_room(packer, len), item, len);
	packer->item += len;
}

// Writes the item, and adds it.
static enum packer_status add(struct packer *packer, const char *item, const char **ret_error) {
	write_item(packer, item);
	return packer_add(packer, ret_error);
}

static void begin(struct packer *packer, struct packer_limits limits) {
	limits.argc = limits.argc ? limits.argc : 1000;
	check(packer_init(packer, &limits, echo, 2, NULL) == NULL);
	check_equal(packer->initial_bytes, 7);
}

static void test_bytes_exactly_met(void) {
	struct packer packer;
	struct packed line = {.starts = NULL};
	const char *error = NULL;
	begin(&packer, (struct packer_limits){.bytes = 7 + 2 + 3});
	check_equal(packer_item_max(&packer), 4);
	check_equal(add(&packer, "a", &error), PACK_MORE);
	check_equal(add(&packer, "bc", &error), PACK_MORE); // the NUL is the last byte that there is room for
	check_equal(add(&packer, "", &error), PACK_CARRY);
	packer_take(&packer, &line);
	check_string(shown(&line), "<a><bc>");
	check_equal(packer_add(&packer, &error), PACK_MORE);
	check_equal(add(&packer, "xyz", &error), PACK_MORE);
	check_equal(add(&packer, "d", &error), PACK_CARRY);
	packer_take(&packer, &line);
	check_string(shown(&line), "<><xyz>");
	check_equal(packer.item, 1);
	check_equal(packer_add(&packer, &error), PACK_MORE);
	packer_take(&packer, &line);
	check_string(shown(&line), "<d>");
	check(error == NULL && packer.item == 0 && packer.line.nargs == 0);
	packed_fini(&packer.line);
	packed_fini(&line);
}

static void test_longest_item(void) {
	struct packer packer;
	const char *error = NULL;
	begin(&packer, (struct packer_limits){.bytes = 12});
	check_equal(add(&packer, "1234", &error), PACK_MORE);
	packed_fini(&packer.line);
	begin(&packer, (struct packer_limits){.bytes = 12});
	check_equal(add(&packer, "12345", &error), PACK_ERROR);
	check_string(error, cannot_fit);
	check_equal(packer.line.nargs, 0);
	packed_fini(&packer.line);
}

static void test_initial_arguments(void) {
	struct packer packer;
	struct packer_limits limits = {.bytes = 7, .argc = 10};
	check(packer_init(&packer, &limits, echo, 2, NULL) == NULL);
	check_equal(packer_item_max(&packer), 0);
	packed_fini(&packer.line);
	limits.bytes = 6;
	check_string(packer_init(&packer, &limits, echo, 2, NULL), cannot_fit);
	packed_fini(&packer.line);
	check(packer_init(&packer, &limits, echo, 2, "{}") == NULL); // they are made anew for each line
	packed_fini(&packer.line);
}

static void test_counts_exactly_met(void) {
	struct packer packer;
	struct packed line = {.starts = NULL};
	const char *error = NULL;
	begin(&packer, (struct packer_limits){.bytes = 100, .args = 2});
	for (int i = 0; i < 2; ++i) {
		check_equal(add(&packer, "a", &error), PACK_MORE);
		check_equal(add(&packer, "b", &error), PACK_FULL);
		packer_take(&packer, &line);
		check_string(shown(&line), "<a><b>");
	}
	packed_fini(&packer.line);
	begin(&packer, (struct packer_limits){.bytes = 100, .argc = 3});
	check_equal(add(&packer, "a", &error), PACK_FULL);
	packed_fini(&packer.line);
	packed_fini(&line);
}

static void test_exact(void) {
	struct packer packer;
	const char *error = NULL;
	begin(&packer, (struct packer_limits){.bytes = 12, .args = 3, .exact = true});
	check_equal(add(&packer, "abc", &error), PACK_MORE);
	check_equal(add(&packer, "d", &error), PACK_ERROR);
	check_string(error, "argument list too long");
	check_string(shown(&packer.line), "<abc>");
	packed_fini(&packer.line);
	begin(&packer, (struct packer_limits){.bytes = 12, .exact = true}); // says nothing without -n or -L
	check_equal(add(&packer, "abc", &error), PACK_MORE);
	check_equal(add(&packer, "d", &error), PACK_CARRY);
	packed_fini(&packer.line);
}

static void test_item_in_parts(void) {
	struct packer packer;
	struct packed line = {.starts = NULL};
	const char *error = NULL;
	begin(&packer, (struct packer_limits){.bytes = 100000});
	for (int i = 0; i < 3000; ++i) { // the memory moves meanwhile
		write_item(&packer, "ab");
	}
	check_equal(packer_add(&packer, &error), PACK_MORE);
	write_item(&packer, "c");
	check_equal(add(&packer, "d", &error), PACK_MORE);
	packer_take(&packer, &line);
	check_equal(line.nargs, 2);
	check_equal(strspn(line.bytes.data, "ab"), 6000);
	check_string(line.bytes.data + line.starts[1], "cd");
	packed_fini(&packer.line);
	packed_fini(&line);
}

static void test_replacement(void) {
	struct packer packer;
	struct packed line = {.starts = NULL};
	const char *error = NULL;
	struct packer_limits limits = {.bytes = 100, .argc = 10};
	check(packer_init(&packer, &limits, places, 4, "{}") == NULL);
	check_equal(add(&packer, "x y", &error), PACK_FULL);
	packer_take(&packer, &line);
	check_string(shown(&line), "<{}><ax ybx y><-><x y>");
	check_equal(add(&packer, "", &error), PACK_FULL);
	packer_take(&packer, &line);
	check_string(shown(&line), "<{}><ab><-><>");
	packed_fini(&packer.line);
	packed_fini(&line);
}

static void test_replacement_limit(void) {
	for (size_t bytes = 1; bytes <= 16; ++bytes) { // "{}", "aibi", "-", "i" and their NULs: 12 bytes
		struct packer packer;
		const char *error = NULL;
		struct packer_limits limits = {.bytes = bytes, .argc = 10};
		check(packer_init(&packer, &limits, places, 4, "{}") == NULL);
		enum packer_status status = add(&packer, "i", &error);
		check_equal(status, bytes < 12 ? PACK_ERROR : PACK_FULL);
		check((error != NULL) == (status == PACK_ERROR) && packer.item == 0);
		packed_fini(&packer.line);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a line may have exactly the bytes of the limit, an item beyond them is carried over", test_bytes_exactly_met),
		TEST("an item that no line can hold is an error, one byte less is none", test_longest_item),
		TEST("initial arguments that no line can hold are an error", test_initial_arguments),
		TEST("a line is full at its last argument, not behind it", test_counts_exactly_met),
		TEST("with exact limits an item beyond the bytes is an error", test_exact),
		TEST("an item may be written in parts", test_item_in_parts),
		TEST("an item takes all its places but the command's name", test_replacement),
		TEST("a replaced line may have exactly the bytes of the limit", test_replacement_limit),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
