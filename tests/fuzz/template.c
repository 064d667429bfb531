// Fuzz target: templates and quoting. The first line is the template, the others are the arguments of a record.
//
// A direct template expanded into words and the same one expanded into text and split as a shell would must agree. An
// item of letters is put in as it is. A template is refused with a message that shows the place in one safe line.
// What becomes of items in real shells is the property test's.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "input/input.h"
#include "shell/quoting.h"
#include "template/template.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Splits text of plain characters, blanks, '…' and "…" without escapes, which is all that shell_quote() writes, into
// words with a NUL behind each. Proved against real shells by tests/unit/shell.c.
static size_t split_as_shell(const char *text, size_t len, struct buf *words) {
	size_t n = 0;
	bool in_word = false;
	for (size_t i = 0; i < len;) {
		char c = text[i];
		if (c == ' ' || c == '\t') {
			if (in_word) {
				buf_add(words, "", 1);
				++n;
			}
			in_word = false;
			++i;
		} else if (c == '\'' || c == '"') {
			const char *end = memchr(text + i + 1, c, len - i - 1);
			verify(end);
			buf_add(words, text + i + 1, (size_t)(end - text) - i - 1);
			i = (size_t)(end - text) + 1;
			in_word = true;
		} else {
			buf_addc(words, c);
			in_word = true;
			++i;
		}
	}
	if (in_word) {
		buf_add(words, "", 1);
		++n;
	}
	return n;
}

static void check_same_words(const struct template *template, const struct expansion *x) {
	struct buf direct = BUF_INIT, text = BUF_INIT, split = BUF_INIT;
	size_t n = template_expand_words(template, x, &direct);
	template_expand(template, x, &text);
	verify(split_as_shell(buf_str(&text), text.len, &split) == n);
	verify(split.len == direct.len && (n == 0 || memcmp(split.data, direct.data, split.len) == 0));
	buf_fini(&direct);
	buf_fini(&text);
	buf_fini(&split);
}

// With no redirection, and no backslash, dollar, backtick or byte that is not ASCII before it, an item of letters needs no
// quotes and no variable; unless a letter or an item stands beside it, with which it could be a reserved word, or it is an
// operand of [[ ]].
static void check_harmless(const char *text) {
	struct template *template = NULL;
	char *error = NULL;
	if (strpbrk(text, "\\$<>`") || strstr(text, "[[")) {
		return;
	}
	struct buf expected = BUF_INIT, out = BUF_INIT;
	for (const char *at = text; *at; ++at) {
		bool is_item = at[0] == '{' && at[1] == '}';
		bool is_beside = is_item && ((at > text && at[-1] >= 'a' && at[-1] <= 'z') || (at[2] >= 'a' && at[2] <= 'z') || at[2] == '{');
		if ((*at & 0x80) || (*at == '{' && !is_item) || is_beside) {
			buf_fini(&expected);
			return;
		}
		buf_add(&expected, is_item ? "harmless" : at, is_item ? 8 : 1);
		at += is_item;
	}
	template = template_parse(&text, 1, 0, NULL, &error);
	if (template) {
		struct record record = {.args = "harmless", .size = 9, .nargs = 1};
		template_expand(template, &(struct expansion){.record = &record, .seq = 1, .slot = 1}, &out);
		verify(strcmp(buf_str(&out), buf_str(&expected)) == 0);
	}
	free(error);
	template_free(template);
	buf_fini(&expected);
	buf_fini(&out);
}

// Four lines: the reason, the place, carets, the advice; nothing in them drives a terminal.
static void check_message(const char *error) {
	verify(error && error[0]);
	for (const char *at = error; *at; ++at) {
		verify((unsigned char)*at >= ' ' || *at == '\n');
	}
	if (strncmp(error, "an item cannot stand here: ", 27) == 0) {
		const char *place = strchr(error, '\n'), *carets = place ? strchr(place + 1, '\n') : NULL;
		const char *advice = carets ? strchr(carets + 1, '\n') : NULL;
		verify(advice && !strchr(advice + 1, '\n') && advice[-1] == '^' && strspn(carets + 1, " ^") == (size_t)(advice - carets) - 1);
	}
}

static void check_item(const struct record *record) {
	struct buf quoted = BUF_INIT, words = BUF_INIT;
	shell_quote(&quoted, record->args, record->size - 1);
	verify(split_as_shell(quoted.data, quoted.len, &words) == 1);
	verify(words.len == record->size && memcmp(words.data, record->args, words.len) == 0);
	buf_fini(&quoted);
	buf_fini(&words);
}

// The lines of the data as NUL-terminated arguments.
static struct record arguments(const char *at, const char *end, struct buf *bytes) {
	struct record record = {.nargs = 0};
	do {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *next = stop ? stop : end;
		const char *nul = memchr(at, '\0', (size_t)(next - at));
		buf_add(bytes, at, (size_t)((nul ? nul : next) - at));
		for (size_t i = bytes->len; i-- > 0 && bytes->data[i] != '\0';) {
			bytes->data[i] = bytes->data[i] == '\1' ? '\n' : bytes->data[i]; // so that newlines are tried as well
		}
		buf_add(bytes, "", 1);
		++record.nargs;
		at = next + 1;
	} while (at <= end);
	record.args = bytes->data;
	record.size = bytes->len;
	return record;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < 2 || size > 4000) {
		return 0;
	}
	struct buf text = BUF_INIT, bytes = BUF_INIT;
	unsigned flags = data[0] & (TEMPLATE_APPEND | TEMPLATE_RAW | TEMPLATE_QUOTE);
	const char *start = (const char *)data + 1, *end = (const char *)data + size;
	const char *stop = memchr(start, '\n', (size_t)(end - start));
	stop = stop ? stop : end;
	for (const char *at = start; at < stop; ++at) {
		buf_addc(&text, *at == '\1' ? '\n' : *at == '\0' ? ' ' : *at);
	}
	struct record record = arguments(stop < end ? stop + 1 : end, end, &bytes);
	char *names[] = {(char[]){"a"}, (char[]){"b c"}, (char[]){""}};
	static const struct tokens plus = {{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"}, .plus = true};
	static const struct tokens renamed = {{"x", "xx", "{/}", "%", "{/.}", "{#", "{%}"}, .plus = true};
	bool has_names = data[0] & 128;
	struct names header = {.names = names, .n = data[0] & 16 ? 3 : 0, .tokens = has_names ? &renamed : data[0] & 64 ? &plus : NULL};
	const char *words[] = {buf_str(&text), "tail"};
	char *error = NULL;
	struct template *template = template_parse(words, data[0] & 32 ? 2 : 1, flags, &header, &error);
	check_harmless(buf_str(&text));
	if (!template) {
		check_message(error);
	} else {
		struct expansion x = {.record = &record, .seq = 12345, .slot = 2, .slots = 12, .total = 100000};
		template_skips(template, &record);
		if (template_has(template, TEMPLATE_IS_DIRECT) && !(flags & TEMPLATE_QUOTE)) {
			check_same_words(template, &x);
		}
		struct buf out = BUF_INIT;
		template_permits(template, &x, &out);
		template_expand(template, &x, &out);
		buf_fini(&out);
	}
	struct record first = {.args = record.args, .size = strlen(record.args) + 1, .nargs = 1};
	check_item(&first);
	free(error);
	template_free(template);
	buf_fini(&text);
	buf_fini(&bytes);
	return 0;
}
