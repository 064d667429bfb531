// Fuzz target: --csv and --colsep. The first byte chooses what is tried, the rest is text.
//
// CSV is cut and split as a slow reference does it, and fields that were quoted come back. Columns are those that the
// separators, found one after the other by regexec() itself, leave over.

#include "../unit/csv_reference.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "input/columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The lines of the text as the fields of one record, in quotes.
static void check_quoted(const char *text, size_t len, char separator) {
	struct buf record = BUF_INIT, fields = BUF_INIT, out = BUF_INIT;
	buf_addc(&record, '"');
	for (size_t i = 0; i < len; ++i) {
		if (text[i] == '\2') {
			buf_printf(&record, "\"%c\"", separator);
		} else {
			buf_add(&record, "\"\"", text[i] == '"' ? 2 : 0);
			buf_add(&record, text + i, text[i] == '"' ? 0 : 1);
		}
		buf_addc(&fields, text[i] == '\2' ? '\0' : text[i]);
	}
	buf_addc(&record, '"');
	struct record got;
	verify(csv_split(record.data, record.len, separator, TRIM_NONE, &out, &got) == NULL);
	verify(got.size == fields.len + 1 && memcmp(got.args, buf_str(&fields), got.size) == 0);
	buf_fini(&record);
	buf_fini(&fields);
	buf_fini(&out);
}

// Perl's split(/…/, $text, -1), the slow way; see input/columns.c.
static void split_slowly(const regex_t *regex, const char *text, struct buf *out) {
	const char *column = text;
	for (const char *from = text; *column;) {
		regmatch_t match;
		if (regexec(regex, from, 1, &match, from > text ? REG_NOTBOL : 0) != 0) {
			break;
		}
		if (from + match.rm_eo == column) { // an empty match at the front of a column
			++from;
			continue;
		}
		buf_add(out, column, (size_t)(from + match.rm_so - column));
		buf_add(out, "", 1);
		column = from = from + match.rm_eo;
	}
	buf_add(out, column, strlen(column) + 1);
}

// The first line of the text is the expression.
static void check_columns(const char *expression, char *text) {
	char *error = NULL;
	char *colsep = colsep_translate(expression, &error);
	if (!colsep) {
		verify(error && strstr(error, "as a column separator: "));
		free(error);
		return;
	}
	struct splitter splitter;
	regex_t regex; // the splitter has one for what is more than a byte only
	struct buf why = BUF_INIT, scratch = BUF_INIT, expected = BUF_INIT;
	verify(splitter_init(&splitter, colsep, TRIM_NONE, &why) == 0);
	verify(regcomp(&regex, colsep, REG_EXTENDED) == 0);
	split_slowly(&regex, text, &expected);
	regfree(&regex);
	struct record record = splitter_split(&splitter, text, strlen(text), false, &scratch);
	verify(record.size == expected.len && memcmp(record.args, expected.data, expected.len) == 0);
	verify(record.nargs == count_nuls(&expected));
	splitter_fini(&splitter);
	buf_fini(&why);
	buf_fini(&scratch);
	buf_fini(&expected);
	free(colsep);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < 1 || size > 2000 || memchr(data, '\0', size)) {
		return 0;
	}
	char separator = ",;\t|"[data[0] & 3], *text = xmemdup((const char *)data + 1, size - 1);
	char *newline = strchr(text, '\n');
	if (!(data[0] & 4)) {
		check_text(text, size - 1, separator);
		check_quoted(text, size - 1, separator);
	} else if (newline && newline - text < 12 && strlen(newline) < 200) { // regexec() is slow at what is longer
		*newline = '\0';
		check_columns(text, newline + 1);
	}
	free(text);
	return 0;
}
