// Unit tests of shell/reader*.c: where the items of a command stand, what they must be there, and what is refused.

#include "shell/quoting.h"
#include "shell/reader.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

// Each @ of the command stands for an item.
struct example {
	const char *command;
	unsigned places[3]; // of the items in their order
	unsigned needs[3];
	const char *refusal; // a part of it, or NULL
};

static void check_example(const struct example *example) {
	char *text = strdup(example->command);
	struct reading reading = {.text = text, .len = strlen(text)};
	reading.items = calloc(8, sizeof(*reading.items));
	reading.items_cap = 8;
	for (size_t i = 0; i < reading.len; ++i) {
		if (text[i] == '@') {
			text[i] = READ_ITEM;
			reading.items[reading.nitems++] = (struct read_item){.at = i};
		}
	}
	reader_read(&reading);
	bool is_refused = example->refusal != NULL;
	bool same = is_refused == (reading.refusal != NULL) && (!is_refused || strstr(reading.refusal, example->refusal));
	for (size_t i = 0; i < reading.nitems && i < 3 && !is_refused; ++i) {
		unsigned place = reading.items[i].place & (PLACE_KINDS | PLACE_ESCAPED | PLACE_DOLLAR | PLACE_BACKTICKS | PLACE_APART);
		same = same && place == example->places[i] && reading.items[i].needs == example->needs[i];
	}
	if (!same) {
		printf("# %s: place %#x, needs %#x, %s\n", example->command, reading.items[0].place, reading.items[0].needs,
		       reading.refusal ? reading.refusal : "not refused");
	}
	check(same);
	reading_fini(&reading);
	free(text);
}

#define CHECK_ALL(examples)                                                                                            \
	for (size_t i = 0; i < sizeof(examples) / sizeof((examples)[0]); ++i) {                                        \
		check_example(&(examples)[i]);                                                                         \
	}

static void test_places(void) {
	static const struct example examples[] = {
		{"echo @ '@' \"@\"", {PLACE_PLAIN, PLACE_SINGLE, PLACE_DOUBLE}, {0}, NULL},
		{"echo $'@' \\@ $@", {PLACE_ANSI, PLACE_PLAIN | PLACE_ESCAPED, PLACE_PLAIN | PLACE_DOLLAR}, {0}, NULL},
		{"echo $x@ `echo @` # @", {PLACE_PLAIN | PLACE_APART, PLACE_PLAIN | PLACE_BACKTICKS, PLACE_COMMENT}, {0}, NULL},
		{"cat <<E\n@\nE", {PLACE_DOCUMENT}, {0}, NULL},
		{"cat <<'E'\n@\nE", {PLACE_LITERAL_DOCUMENT}, {NEED_LINE | NEED_OTHER_LINE}, NULL},
		{"echo \"$(case x in (x) echo '@';; esac)\"", {PLACE_SINGLE}, {0}, NULL},
	};
	CHECK_ALL(examples);
}

static void test_needs(void) {
	static const struct example examples[] = {
		{"echo $((@ + 1)) ${x:@}", {PLACE_DOUBLE, PLACE_DOUBLE}, {NEED_INTEGER, NEED_INTEGER}, NULL},
		{"[ @ -eq 1 ]; printf '%s %d' @ @", {0}, {NEED_NUMBER, 0, NEED_NUMBER}, NULL},
		{"read @; unset 'a[@]'", {PLACE_PLAIN, PLACE_SINGLE}, {NEED_NAME, NEED_INTEGER}, NULL},
		{"x=@; echo $((x))", {0}, {NEED_INTEGER}, NULL},
		{"echo @ | { x=$(cat); echo $((x)); }", {0}, {NEED_DERIVED}, NULL},
		{"echo @; x=$(date); echo $((x))", {0}, {0}, NULL},
		{"echo @ | cat; x=$(date); echo $((x))", {0}, {0}, NULL},
		{"{ echo @; } | { read x; echo $((x)); }", {0}, {NEED_INTEGER}, NULL},
		{"seq 3 | while read i; do echo @ $((i)); done", {0}, {0}, NULL},
		{"f() { echo @; }; x=$(f); ((x))", {0}, {NEED_DERIVED}, NULL},
		{"true; @ @", {0}, {NEED_PROGRAM, 0}, NULL},
		{"$CC @; ${CC:-cc} @; ./$x @; e=cc; $e @; {c,cc} @", {0}, {0}, NULL},
		{"python3 -c print(@)", {0}, {0}, NULL},
	};
	CHECK_ALL(examples);
}

static void test_refusals(void) {
	static const struct example examples[] = {
		{.command = "eval @", .refusal = "eval reads"},
		{.command = "2>f eval @", .refusal = "eval reads"},
		{.command = "echo @ | { x=$(cat); eval \"$x\"; }", .refusal = "eval reads"},
		{.command = "trap @ EXIT", .refusal = "trap reads"},
		{.command = ". <(echo @)", .refusal = "reads what comes here as commands"},
		{.command = "echo @ | . /dev/stdin", .refusal = "reads what comes here as commands"},
		{.command = "make >&@", .refusal = "expands twice"},
		{.command = "[ a @ b ]", .refusal = "operator"},
		{.command = "PS4=@", .refusal = "evaluate the value"},
		{.command = "echo \"$(case x in x) echo @;; esac)\"", .refusal = "some shells end the $( )"},
	};
	CHECK_ALL(examples);
}

int main(int argc, char **argv) {
	static const struct test tests[] = {
		TEST("each item has the place that its quotes give it", test_places),
		TEST("an item must be what the shell takes where it, or what is made of it, stands", test_needs),
		TEST("a place that a shell evaluates or reads in two ways is refused", test_refusals),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
