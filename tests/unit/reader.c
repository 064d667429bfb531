// Unit tests of shell/reader.c: where the items of a command stand, what they must be there, and what is refused.

#include "shell/quoting.h"
#include "shell/reader.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

// Each @ of the command stands for an item.
struct example {
	const char *command;
	unsigned positions[3]; // of the items in their order
	unsigned needs[3];
	const char *refusal; // a part of it, or NULL
};

static void check_example(const struct example *example) {
	char *text = strdup(example->command);
	struct read_item items[8] = {{0}};
	struct reading reading = {.text = text, .len = strlen(text), .items = items};
	for (size_t i = 0; i < reading.len; ++i) {
		if (text[i] == '@') {
			text[i] = READ_ITEM;
			items[reading.nitems++].at = i;
		}
	}
	reader_read(&reading);
	bool is_refused = example->refusal != NULL;
	bool same = is_refused == (reading.refusal != NULL) && (!is_refused || strstr(reading.refusal, example->refusal));
	for (size_t i = 0; i < reading.nitems && i < 3 && !is_refused; ++i) {
		unsigned position = items[i].position & (POSITION_KINDS | POSITION_ESCAPED | POSITION_DOLLAR | POSITION_BACKTICKS | POSITION_APART);
		same = same && position == example->positions[i] && items[i].needs == example->needs[i];
	}
	if (!same) {
		printf("# %s: position %#x, needs %#x, %s\n", example->command, items[0].position, items[0].needs,
		       reading.refusal ? reading.refusal : "not refused");
	}
	check(same);
	free(text);
}

#define CHECK_ALL(examples)                                                                                            \
	for (size_t i = 0; i < sizeof(examples) / sizeof((examples)[0]); ++i) {                                        \
		check_example(&(examples)[i]);                                                                         \
	}

static void test_positions(void) {
	static const struct example examples[] = {
		{"echo @ '@' \"@\"", {POSITION_PLAIN, POSITION_SINGLE, POSITION_DOUBLE}, {0}, NULL},
		{"echo $'@' \\@ $@", {POSITION_ANSI, POSITION_PLAIN | POSITION_ESCAPED, POSITION_PLAIN | POSITION_DOLLAR}, {0}, NULL},
		{"echo $x@ `echo @` # @", {POSITION_PLAIN | POSITION_APART, POSITION_PLAIN | POSITION_BACKTICKS, POSITION_COMMENT}, {0}, NULL},
		{"cat <<E\n@\nE", {POSITION_DOCUMENT}, {0}, NULL},
		{"cat <<'E'\n@\nE", {POSITION_LITERAL_DOCUMENT}, {NEED_LINE | NEED_OTHER_LINE}, NULL},
		{"echo \"$(case x in (x) echo '@';; esac)\"", {POSITION_SINGLE}, {0}, NULL},
	};
	CHECK_ALL(examples);
}

static void test_needs(void) {
	static const struct example examples[] = {
		{"echo $((@ + 1)) ${x:@}", {POSITION_DOUBLE, POSITION_DOUBLE}, {NEED_INTEGER, NEED_INTEGER}, NULL},
		{"echo $[@] ${x[@]} $x[@]", {POSITION_DOUBLE, POSITION_DOUBLE, POSITION_PLAIN}, {NEED_INTEGER, NEED_INTEGER, NEED_INTEGER}, NULL},
		{"for ((i = @; i < @; i++)) do echo @; done", {POSITION_DOUBLE, POSITION_DOUBLE}, {NEED_INTEGER, NEED_INTEGER, 0}, NULL},
		{"(( @ )); x=([@]=@)", {POSITION_DOUBLE, POSITION_DOUBLE}, {NEED_INTEGER, NEED_INTEGER, 0}, NULL},
		{"x[@]=@; ls x[@]", {POSITION_DOUBLE}, {NEED_INTEGER, 0, 0}, NULL},
		{"[[ @ -eq @ ]] && echo @", {POSITION_PLAIN | POSITION_APART, POSITION_PLAIN | POSITION_APART}, {NEED_INTEGER, NEED_INTEGER, 0}, NULL},
		{"[[ ! ( \"@\" -lt 3 || @ = x* ) ]]; echo @", {POSITION_DOUBLE, POSITION_PLAIN | POSITION_APART}, {NEED_INTEGER, 0, 0}, NULL},
		{"2>f let @; command let x=@ $(echo @)", {0}, {NEED_INTEGER, NEED_INTEGER, 0}, NULL},
		{"f() { let @; }; function g { let @; }", {0}, {NEED_INTEGER, NEED_INTEGER}, NULL},
		{"case x in (x) let @;; y) let @; esac; let @", {0}, {NEED_INTEGER, NEED_INTEGER, NEED_INTEGER}, NULL},
		{"cat <<-'E E'\n@\nE@\n x@\nE E", {POSITION_LITERAL_DOCUMENT, POSITION_LITERAL_DOCUMENT, POSITION_LITERAL_DOCUMENT},
		 {NEED_LINE | NEED_OTHER_LINE | NEED_NO_TAB, NEED_LINE | NEED_OTHER_LINE | NEED_NO_TAB, NEED_LINE | NEED_NO_TAB}, NULL},
	};
	CHECK_ALL(examples);
}

// What a command does with its words is its own, and so is what becomes of a value.
static void test_not_followed(void) {
	static const struct example examples[] = {
		{"eval @; trap @ EXIT; read -p @ x", {0}, {0}, NULL},
		{"s=$(stat -c %s @); if [ \"$s\" -gt 3 ]; then echo @; fi", {0}, {0}, NULL},
		{"[ @ -eq 1 ]; printf %d @; exit @", {0}, {0}, NULL},
		{"[[ $(wc -l <@) -gt 3 ]]; echo $(( $(wc -l <@) ))", {0}, {0}, NULL},
		{"x=@; echo $((x)); let x; (( x > 3 ))", {0}, {0}, NULL},
		{"k=@; ${m[$k]}; [[ $k -eq 1 ]]; read @", {0}, {0}, NULL},
		{"PS4=@; PATH=@; IFS=@", {0}, {0}, NULL},
		{"echo let @; echo [[ @ -eq 1; true; @ @", {0}, {0}, NULL},
		{"n=$(grep -c case @); echo case in @; for x do echo @; done", {0}, {0}, NULL},
		{"$FAIRPAR_ITEM $((FAIRPAR_ITEM)) @", {0}, {0}, NULL},
		{"alias x=@; . <(echo @); echo @ | . /dev/stdin", {0}, {0}, NULL},
	};
	CHECK_ALL(examples);
}

static void test_refusals(void) {
	static const struct example examples[] = {
		{.command = "make >&@", .refusal = "expands twice"},
		{.command = "echo \"$(case x in x) echo @;; esac)\"", .refusal = "some shells end the $( )"},
		{.command = "echo \"$(coproc C case x in x) echo '@';; esac)\"", .refusal = "case must be the first word here"},
		{.command = "echo \"$(time -p case x in x) echo '@';; esac)\"", .refusal = "some shells end the $( )"},
		{.command = "echo \"$(for x (a) case x in x) echo '@';; esac)\"", .refusal = "some shells end the $( )"},
		{.command = "echo ${x#@}", .refusal = "quotes in this kind of ${…}"},
		{.command = "echo ${@}", .refusal = "quotes in this kind of ${…}"},
		{.command = "echo $((echo a) | cat) @", .refusal = "begins arithmetic in one shell"},
		{.command = "echo `echo \"a` @", .refusal = "is not closed"},
		{.command = "cat <<\"a\\b\"\n@", .refusal = "this delimiter"},
		{.command = "cat <<A <<B\n$(cat <<C <<D\n@\nC\nD\n)\nA\nB", .refusal = "two here-documents within another"},
		{.command = "echo $\\\n(echo @)", .refusal = "an operator or a name is split over two lines"},
		{.command = "echo '$\\\n(' @; cat <\\\n<E\n@\nE", .refusal = "an operator or a name is split over two lines"},
	};
	CHECK_ALL(examples);
}

int main(int argc, char **argv) {
	static const struct test tests[] = {
		TEST("each item has the position that its quotes give it", test_positions),
		TEST("in arithmetic of the text an item is an integer, in a quoted here-document a line", test_needs),
		TEST("what commands do with an item or a value made of it is not followed", test_not_followed),
		TEST("a position whose quotes cannot be told is refused", test_refusals),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
