// Tests of input/columns.h: every short text over the bytes that matter is cut and split as a slow reference does it.

#include "csv_reference.h"

static void test_every_text(void) {
	static const char bytes[] = "a,\"\n\r";
	enum { KINDS = sizeof(bytes) - 1, LONGEST = 8 };
	size_t total = 1;
	for (size_t len = 0; len <= LONGEST; ++len, total *= KINDS) {
		for (size_t n = 0; n < total; ++n) {
			char text[LONGEST + 1] = "";
			size_t rest = n;
			for (size_t i = 0; i < len; ++i, rest /= KINDS) {
				text[i] = bytes[rest % KINDS];
			}
			check_text(text, len, ',');
		}
	}
}

// Long fields, other separators, all bytes.
static void test_random_texts(void) {
	uint64_t random = 1;
	for (int round = 0; round < 20000; ++round) {
		char text[400], separator = "\t;,|\x01"[round % 5];
		size_t len = (size_t)round % sizeof(text);
		for (size_t i = 0; i < len; ++i) {
			random = random * 6364136223846793005u + 1442695040888963407u; // Knuth, MMIX
			unsigned pick = (unsigned)(random >> 33) % 40;
			char other = (char)(random >> 56);
			text[i] = pick < 5 ? '"' : pick < 8 ? separator : pick < 9 ? '\n' : other != '\0' ? other : 'x';
		}
		check_text(text, len, separator);
	}
}

static const char *split(const char *text, enum input_trim trim) {
	static struct buf out, shown;
	struct record record;
	buf_reset(&shown);
	const char *bad = csv_split(text, strlen(text), ',', trim, &out, &record);
	for (size_t at = 0; !bad && at < record.size; at += strlen(record.args + at) + 1) {
		buf_printf(&shown, "<%s>", record.args + at);
	}
	return bad ? bad : buf_str(&shown);
}

static void test_split(void) {
	check_string(split("a,b c,\"d,\"\"e\"\"\nf\",", TRIM_NONE), "<a><b c><d,\"e\"\nf><>");
	check_string(split("", TRIM_NONE), "<>");
	check_string(split("\"\"", TRIM_NONE), "<>");
	check_string(split("a,b\r", TRIM_NONE), "<a><b>");
	check_string(split("\"a\",\"b\"\r", TRIM_NONE), "<a><b>");
	check_string(split("a\r,b", TRIM_NONE), "<a\r><b>");
	check_string(split(" a ,\" b \"", TRIM_NONE), "< a >< b >");
	check_string(split(" a ,\" b \"", TRIM_BOTH), "<a><b>");
	check_string(split(" a ,\" b \"", TRIM_LEFT), "<a ><b >");
	check_string(split(" a ,\" b \"", TRIM_RIGHT), "< a>< b>");
	check_string(split("\"a", TRIM_NONE), not_closed);
	check_string(split("\"a\"b", TRIM_NONE), behind_quote);
	check_string(split("a\"b\"", TRIM_NONE), inside_plain);
	check_string(split(" \"a\"", TRIM_BOTH), inside_plain);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a record is split at its separators, quotes protect them", test_split),
		TEST("every short text is cut and split as RFC 4180 has it", test_every_text),
		TEST("long texts of any bytes are, too", test_random_texts),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
