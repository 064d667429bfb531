// Finds the quotes around each item of a template, as a shell reads the text, and what an item must be at its place: an integer, for example.

#include "template/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shell/quoting.h"
#include "shell/reader.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

// ---- reading ----

// Returns true if only digits and items stand between part `i` and a < or >: a number there is a descriptor (POSIX XCU 2.10.1, IO_NUMBER).
static bool is_before_redirection(const struct parts *parts, size_t i) {
	for (++i; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		for (size_t k = 0; part->kind == LITERAL && k < part->len; ++k) {
			if (part->text[k] < '0' || part->text[k] > '9') {
				return part->text[k] == '<' || part->text[k] == '>';
			}
		}
	}
	return false;
}

// Returns true if a shell may take an ASCII byte for the second half of a character. That happens in the locales of `unsafe`. A locale
// that the command itself sets counts as unsafe, too, unless its name begins with C or has UTF-8 in it.
static bool is_multibyte(const char *text) {
	static const char *const unsafe[] = {"GB", "BIG5", "SHIFT_JIS", "SJIS", "EUC-JISX0213", "UHC", "CP9", "IBM9", "JOHAB", "EUC-TW", "WINDOWS-31J"};
	static const char *const names[] = {"LC_ALL=", "LC_CTYPE=", "LANG="};
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	const char *codeset = locale ? nl_langinfo_l(CODESET, locale) : "";
	bool found = false;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); ++i) {
		found = found || strncasecmp(codeset, unsafe[i], strlen(unsafe[i])) == 0;
	}
	if (locale) {
		freelocale(locale);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		for (const char *at = text; (at = strstr(at, names[i]));) {
			size_t len = strcspn(at += strlen(names[i]), " \t\n;&|)");
			found = found || !(*at == 'C' || memmem(at, len, "UTF-8", 5) || memmem(at, len, "utf8", 4));
		}
	}
	return found;
}

// Adds what `item` needs as a requirement of the part. If `item` is NULL, the part is in a word of `let` with -q and must be an integer.
static void add_requirement(struct template *template, const struct part *part, const struct read_item *item) {
	struct requirement *requirement = NEW_ELEMENT(template->requirements, template->nrequirements, template->requirements_cap);
	*requirement = (struct requirement){.needs = item ? item->needs : NEED_INTEGER, .part = *part};
	memcpy(requirement->delimiter, item ? item->delimiter : "", item ? sizeof(requirement->delimiter) : 1);
}

// ---- refusals ----

// Appends the line of the text that has the `len` bytes at `at`, cut where it is long, and a line with carets below them.
static void show_line(struct buf *buf, const char *text, size_t at, size_t len) {
	enum { COLUMNS_BEFORE = 60, COLUMNS = 100 };
	size_t start = at, end = at + strcspn(text + at, "\n");
	while (start > 0 && text[start - 1] != '\n') {
		--start;
	}
	bool is_cut = at - start > COLUMNS_BEFORE;
	for (start = is_cut ? at - COLUMNS_BEFORE : start; start < at && is_cut && (text[start] & 0xC0) == 0x80; ++start) {
	}
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	buf_adds(&shown, is_cut ? "..." : "");
	buf_add_escaped(&shown, text + start, at - start, SIZE_MAX);
	size_t before = shown.len, columns = text_columns(buf_str(&shown), before);
	text_add_cut(&shown, text + at, end - at, COLUMNS);
	buf_printf(buf, "\n    %s\n    ", buf_str(&shown));
	for (size_t i = 0; i < columns; ++i) {
		buf_addc(buf, ' ');
	}
	columns = text_columns(buf_str(&shown) + before, shown.len - before);
	buf_reset(&shown);
	buf_add_escaped(&shown, text + at, len, SIZE_MAX);
	size_t carets = text_columns(buf_str(&shown), shown.len);
	carets = carets < columns ? carets : columns;
	for (size_t i = 0; i == 0 || i < carets; ++i) {
		buf_addc(buf, '^');
	}
}

// Returns the offset in template->text, and in *ret_len the length, of the replacement string at byte `refused_at` of the text that
// has one byte for each replacement string. For an item that was appended to the text, returns the end of the text and length 0.
static size_t find_source(const struct template *template, size_t refused_at, size_t *ret_len) {
	size_t joined = 0;
	*ret_len = 0;
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		if (refused_at == joined && part->kind != LITERAL && part->text) {
			*ret_len = part->len;
			return (size_t)(part->text - template->text);
		}
		joined += part->kind == LITERAL ? part->len : 1;
	}
	return strlen(template->text);
}

// ---- a whole template ----

void template_read(struct template *template) {
	struct parts *parts = &template->parts;
	if (template->flags & TEMPLATE_QUOTE) { // no shell reads the words as syntax, but the builtin let evaluates them as arithmetic
		const struct part *first = &template->parts.at[0];
		bool is_let = first->kind == LITERAL && first->len == 3 && memcmp(first->text, "let", 3) == 0;
		for (size_t i = 0; i < template->parts.n && is_let; ++i) {
			if (template->parts.at[i].kind == ITEM || template->parts.at[i].kind == COLUMN) {
				add_requirement(template, &template->parts.at[i], NULL);
			}
		}
		return;
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	FP_CLEANUP(free_later) struct read_item *items = xcalloc(parts->n, sizeof(*items));
	struct reading reading = {.items = items};
	for (size_t i = 0; i < parts->n; ++i) { // makes the text, with one byte for each item
		const struct part *part = &parts->at[i];
		if (part->kind == LITERAL) {
			buf_add(&text, part->text, part->len);
			continue;
		}
		bool is_number = part->kind == SEQ || part->kind == SLOT || part->kind >= TOTAL || part->is_raw;
		items[reading.nitems++] = (struct read_item){.at = text.len, .is_number = is_number};
		buf_addc(&text, is_number ? READ_NUMBER : READ_ITEM);
	}
	if (template->flags & TEMPLATE_CONTEXT) {
		reading.marks = template->marks = xcalloc(text.len + 1, sizeof(*template->marks));
		reading.regions = template->regions = xcalloc(text.len + 1, sizeof(*template->regions));
	}
	reading.text = buf_str(&text);
	reading.len = text.len;
	reader_read(&reading);
	template->bash_syntax = reading.bash_syntax;
	bool is_safe = (template->traits & TEMPLATE_IS_DIRECT) || // no shell reads the words
	               !(reading.is_intricate || (template->flags & TEMPLATE_OWN_LOCALE) || is_multibyte(template->text));
	for (size_t i = 0, k = 0; i < parts->n; ++i) {
		struct part *part = &parts->at[i];
		if (part->kind == LITERAL) {
			continue;
		}
		const struct read_item *item = &items[k++];
		part->position = item->position;
		if (item->needs && !item->is_number) {
			add_requirement(template, part, item);
		}
		if ((part->position & POSITION_KINDS) == POSITION_PLAIN && is_before_redirection(parts, i)) {
			part->position |= POSITION_APART;
		}
		part->position |= is_safe || part->is_raw ? 0 : POSITION_VARIABLE;
	}
	if (reading.refusal && !(template->traits & TEMPLATE_IS_DIRECT)) {
		FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
		size_t len, at = find_source(template, reading.refused_at, &len);
		bool is_appended = len == 0;
		template->refusal = (struct template_refusal){reading.refusal, reading.advice, at, len};
		buf_printf(&shown, "%s%s", template->text, is_appended ? " {}" : "");
		buf_printf(&template->error, "an item cannot stand here: %s", reading.refusal);
		show_line(&template->error, buf_str(&shown), at + is_appended, is_appended ? 2 : len);
		buf_printf(&template->error, "\n  %s; or write \"$FAIRPAR_ITEM\", which holds the item", reading.advice);
	}
}

// ---- whether an item is what it must be ----

// Returns true if the item is a decimal, octal or hexadecimal number, with or without a sign.
static bool is_integer(struct slice item) {
	size_t sign = item.len > 0 && (item.text[0] == '-' || item.text[0] == '+'), left = item.len - sign;
	const char *at = item.text + sign;
	bool is_hexadecimal = left > 2 && at[0] == '0' && (at[1] | 0x20) == 'x', is_octal = left > 1 && at[0] == '0' && !is_hexadecimal;
	size_t prefix = is_hexadecimal ? 2 : 0;
	const char *digits = is_hexadecimal ? "0123456789abcdefABCDEF" : is_octal ? "01234567" : "0123456789";
	return left > 0 && strspn(at + prefix, digits) >= left - prefix; // other text may follow the item in memory
}

// Returns true if a line that holds the item could be the delimiter of a here-document.
static bool may_delimit(struct slice item, const char *delimiter) {
	while (item.len > 0 && *item.text == '\t') {
		++item.text;
		--item.len;
	}
	size_t same = 0;
	while (same < item.len && delimiter[same] == item.text[same] && delimiter[same] != '\0') {
		++same;
	}
	// if a byte that is not ASCII follows the beginning of a delimiter, dash loses that byte
	return item.len > 0 && (memmem(delimiter, strlen(delimiter), item.text, item.len) || (same > 0 && same < item.len && (item.text[same] & 0x80)));
}

static bool is_satisfied(const struct requirement *requirement, struct slice item, struct buf *why) {
	unsigned needs = requirement->needs;
	const char *problem =
		(needs & NEED_INTEGER) && !is_integer(item)   ? "is not an integer, but stands where a shell evaluates arithmetic (for the key of an array take {#})"
		: (needs & NEED_LINE) && memchr(item.text, '\n', item.len)
			? "has more than one line, but stands in a here-document whose delimiter is quoted"
		: (needs & NEED_NO_TAB) && item.len > 0 && *item.text == '\t' ? "would lose a tab in the here-document that it stands in"
		: (needs & NEED_NO_BACKSLASH) && item.len > 0 && item.text[item.len - 1] == '\\'
			? "ends with a backslash, but stands in a here-document inside of $( ) whose delimiter is quoted"
		: (needs & NEED_OTHER_LINE) && may_delimit(item, requirement->delimiter)
			? "would end the here-document that it stands in, or begins as its delimiter does"
			: NULL;
	if (problem) {
		buf_printf(why, "the item '%s' %s", text_show(item.text, item.len), problem);
	}
	return !problem;
}

bool template_permits(const struct template *template, const struct expansion *x, struct buf *ret_why) {
	bool is_right = true;
	for (size_t i = 0; i < template->nrequirements && is_right; ++i) {
		const struct requirement *requirement = &template->requirements[i];
		FP_CLEANUP(buf_fini) struct buf scratch = BUF_INIT;
		struct part_values values = {.part = &requirement->part, .record = x->record, .scratch = &scratch};
		for (struct slice value; is_right && part_next_value(&values, &value);) {
			is_right = is_satisfied(requirement, value, ret_why);
		}
	}
	return is_right;
}

const char *template_bash_syntax(const struct template *template) {
	return template->bash_syntax;
}
