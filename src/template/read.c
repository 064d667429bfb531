// Where the items of a template stand in what a shell reads, and what they must be there.

#include "template/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shell/quoting.h"
#include "shell/reader.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

static const char ITEM_VARIABLE[] = "FAIRPAR_ITEM";

// ---- reading ----

// Do digits and items go on until a < or >? Then a number here would be a descriptor (POSIX XCU 2.10.1, IO_NUMBER).
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

// Does the text set a locale other than C and those of UTF-8?
static bool sets_locale(const char *text) {
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG="};
	bool found = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		for (const char *at = text; (at = strstr(at, names[i]));) {
			at += strlen(names[i]);
			at += *at == '=';
			size_t len = strcspn(at, " \t\n;&|)");
			bool is_c = (len == 1 && *at == 'C') || (len == 5 && memcmp(at, "POSIX", 5) == 0);
			found = found || !(is_c || memmem(at, len, "UTF-8", 5) || memmem(at, len, "utf8", 4));
		}
	}
	return found;
}

// Could a shell take a byte of ASCII for the second half of a character, or a backslash for another character? Not in UTF-8
// and in most others; and not known where the command sets a locale of its own.
static bool is_multibyte(const char *text, bool *ret_is_yen, bool *ret_is_gb18030) {
	static const char *const unsafe[] = {"GB", "BIG5", "SHIFT_JIS", "SJIS", "EUC-JISX0213", "UHC", "CP9", "IBM9", "JOHAB", "EUC-TW", "WINDOWS-31J"};
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	const char *codeset = locale ? nl_langinfo_l(CODESET, locale) : "";
	bool found = false;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); ++i) {
		found = found || strncasecmp(codeset, unsafe[i], strlen(unsafe[i])) == 0;
	}
	*ret_is_yen = strncasecmp(codeset, "SHIFT", 5) == 0 || strncasecmp(codeset, "SJIS", 4) == 0 || strcmp(codeset, "WINDOWS-31J") == 0;
	*ret_is_gb18030 = strcasecmp(codeset, "GB18030") == 0;
	if (locale) {
		freelocale(locale);
	}
	return found || sets_locale(text);
}

static void add_item(struct reading *reading, size_t at, bool is_number) {
	grow_array(&reading->items, &reading->items_cap, reading->nitems + 1, sizeof(reading->items[0]));
	reading->items[reading->nitems++] = (struct read_item){.at = at, .is_number = is_number};
}

// The text with a byte for each item; `items` gets one for each.
static void join_parts(const struct template *template, struct buf *text, struct reading *reading) {
	const struct parts *parts = &template->parts;
	for (size_t i = 0; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		if (part->kind == LITERAL) {
			buf_add(text, part->text, part->len);
			continue;
		}
		bool is_number = part->kind == SEQ || part->kind == SLOT || part->kind >= TOTAL || part->is_raw;
		add_item(reading, text->len, is_number);
		buf_addc(text, is_number ? READ_NUMBER : READ_ITEM);
	}
}

// The same for -q: each word in quotes. What is read there are only the words of builtins.
static void join_words(const struct template *template, struct buf *text, struct reading *reading) {
	const struct parts *words = &template->words;
	bool is_first = true, was_break = true;
	for (size_t i = 0; i < words->n; ++i) {
		const struct part *part = &words->at[i];
		if (part->kind == GROUP) {
			continue;
		}
		if (was_break || part->kind == BREAK) {
			buf_adds(text, part->kind == BREAK ? (is_first ? " " : "' ") : is_first ? "" : "'");
			is_first = is_first && part->kind != BREAK;
		}
		was_break = part->kind == BREAK;
		for (size_t k = 0; part->kind == LITERAL && k < part->len; ++k) {
			buf_addc(text, part->text[k] == '\'' ? '"' : part->text[k]);
		}
		if (part->kind == ITEM || part->kind == COLUMN) {
			add_item(reading, text->len, /* is_number */ false);
			buf_addc(text, READ_ITEM);
		}
	}
	buf_adds(text, is_first ? "" : "'");
}

static void add_requirement(struct template *template, const struct part *part, const struct read_item *item) {
	grow_array(&template->requirements, &template->requirements_cap, template->nrequirements + 1,
	           sizeof(template->requirements[0]));
	struct requirement *requirement = &template->requirements[template->nrequirements++];
	*requirement = (struct requirement){.needs = item->needs, .part = {.kind = item->column > 0 ? COLUMN : ITEM, .column = item->column}};
	if (part) {
		requirement->part = *part;
	}
	memcpy(requirement->delimiter, item->delimiter, sizeof(requirement->delimiter));
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

// What of the text a byte of the joined text comes from: the replacement string, or the name FAIRPAR_ITEM. *ret_len is 0,
// at the end of the text, for the item that was appended.
static size_t find_source(const struct template *template, size_t refused_at, size_t *ret_len) {
	size_t joined = 0;
	*ret_len = 0;
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		size_t len = part->kind == LITERAL ? part->len : 1;
		if (refused_at < joined + len && part->kind != LITERAL && part->text) {
			*ret_len = part->len;
			return (size_t)(part->text - template->text);
		}
		if (refused_at < joined + len && part->kind == LITERAL) {
			const char *name = part->text + (refused_at - joined);
			*ret_len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
			return (size_t)(name - template->text);
		}
		joined += len;
	}
	return strlen(template->text);
}

static void refuse(struct template *template, const struct reading *reading) {
	bool is_quoted = template->flags & TEMPLATE_QUOTE, is_appended = false;
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	size_t at = 0, len = 2;
	if (is_quoted) { // the words as they were read
		for (size_t i = 0; i < reading->len; ++i) {
			at = i == reading->refused_at ? shown.len : at;
			buf_add(&shown, reading->text[i] == READ_ITEM ? "{}" : &reading->text[i], reading->text[i] == READ_ITEM ? 2 : 1);
		}
	} else {
		at = find_source(template, reading->refused_at, &len);
		template->refusal = (struct template_refusal){reading->refusal, reading->advice, at, len};
		is_appended = len == 0;
		buf_printf(&shown, "%s%s", template->text, is_appended ? " {}" : "");
	}
	buf_printf(&template->error, "an item cannot stand here: %s", reading->refusal);
	show_line(&template->error, buf_str(&shown), at + is_appended, is_appended ? 2 : len);
	buf_printf(&template->error, "\n  %s%s", reading->advice,
	           is_quoted || strstr(reading->advice, ITEM_VARIABLE) ? "" : "; or write \"$FAIRPAR_ITEM\", which holds the item");
}

// ---- the whole ----

// Does the text name the variable? Sets up which ones the job gets.
static void find_references(struct template *template) {
	const char *at = template->text;
	size_t len = sizeof(ITEM_VARIABLE) - 1;
	if (template->flags & (TEMPLATE_LITERAL | TEMPLATE_RAW)) {
		return;
	}
	for (size_t i = 0; i < template->words.n && (template->flags & TEMPLATE_QUOTE); ++i) {
		const struct part *part = &template->words.at[i];
		template->names_item |= part->kind == LITERAL && part->len >= len && memmem(part->text, part->len, ITEM_VARIABLE, len);
	}
	template->names_item |= !(template->flags & TEMPLATE_QUOTE) && strstr(at, ITEM_VARIABLE) != NULL;
}

void template_read(struct template *template, const struct names *names) {
	bool is_quoted = template->flags & TEMPLATE_QUOTE;
	struct parts *parts = &template->parts;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	struct reading reading = {.nitems = 0};
	find_references(template);
	if (is_quoted) {
		join_words(template, &text, &reading);
	} else {
		join_parts(template, &text, &reading);
	}
	if (!is_quoted && (template->flags & TEMPLATE_CONTEXT)) {
		reading.marks = template->marks = xcalloc(text.len + 1, sizeof(*template->marks));
		reading.regions = template->regions = xcalloc(text.len + 1, sizeof(*template->regions));
	}
	reading.variables = names ? names->variables : NULL;
	reading.nvariables = names ? names->nvariables : 0;
	reading.nwhole = names ? names->nwhole : 0;
	reading.text = buf_str(&text);
	reading.len = text.len;
	reading.is_multibyte = !is_quoted && (is_multibyte(template->text, &reading.is_yen, &template->is_gb18030) ||
	                                      (template->flags & TEMPLATE_OWN_LOCALE));
	reader_read(&reading);
	template->bash_syntax = is_quoted ? NULL : reading.bash_syntax;
	bool is_intricate = reading.is_intricate && !is_quoted && !template->is_direct; // plain words, whatever they look like
	size_t k = 0;
	struct parts *of = is_quoted ? &template->words : parts;
	for (size_t i = 0; i < of->n; ++i) {
		struct part *part = &of->at[i];
		bool has_item = is_quoted ? part->kind == ITEM || part->kind == COLUMN : part->kind != LITERAL;
		if (!has_item) {
			continue;
		}
		const struct read_item *item = &reading.items[k++];
		part->place = is_quoted ? 0 : item->place;
		if (item->needs && !item->is_number) {
			add_requirement(template, part, item);
		}
		if (!is_quoted && (part->place & PLACE_KINDS) == PLACE_PLAIN && is_before_redirection(parts, i)) {
			part->place |= PLACE_APART;
		}
		part->place |= is_intricate && !part->is_raw ? PLACE_VARIABLE : 0;
	}
	for (; k < reading.nitems; ++k) {
		if (reading.items[k].needs) {
			add_requirement(template, NULL, &reading.items[k]);
		}
	}
	if (reading.refusal && !template->is_direct) {
		refuse(template, &reading);
	}
	reading_fini(&reading);
}

// ---- what items are ----

// Decimal, octal, hexadecimal, with a sign.
static bool is_integer(struct slice item) {
	size_t i = item.len > 0 && (item.text[0] == '-' || item.text[0] == '+');
	bool is_hexadecimal = item.len > i + 2 && item.text[i] == '0' && (item.text[i + 1] | 0x20) == 'x';
	i += is_hexadecimal ? 2 : 0;
	bool is_right = i < item.len;
	char most = i + 1 < item.len && item.text[i] == '0' && !is_hexadecimal ? '7' : '9';
	for (; i < item.len; ++i) {
		char lower = (char)(item.text[i] | 0x20);
		is_right = is_right && (item.text[i] <= most || is_hexadecimal);
		is_right = is_right && (is_digit(item.text[i]) || (is_hexadecimal && lower >= 'a' && lower <= 'f'));
	}
	return is_right;
}

// Also with a fraction and an exponent.
static bool is_number(struct slice item) {
	size_t i = item.len > 0 && (item.text[0] == '-' || item.text[0] == '+');
	bool has_digit = false, has_point = false;
	for (; i < item.len && (is_digit(item.text[i]) || (item.text[i] == '.' && !has_point)); ++i) {
		has_point = has_point || item.text[i] == '.';
		has_digit = has_digit || is_digit(item.text[i]);
	}
	bool has_exponent = has_digit && i + 1 < item.len && (item.text[i] | 0x20) == 'e';
	return (has_digit && i == item.len) || is_integer(item) ||
	       (has_exponent && is_integer((struct slice){item.text + i + 1, item.len - i - 1}));
}

// A name, but none of the variables that hold items.
static bool is_name(struct slice item) {
	bool is_right = item.len > 0 && !is_digit(item.text[0]);
	for (size_t i = 0; i < item.len; ++i) {
		char c = item.text[i];
		is_right = is_right && (is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c > '@'));
	}
	bool is_own = (item.len >= 5 && memcmp(item.text, "_item", 5) == 0) ||
	              (item.len >= 12 && memcmp(item.text, ITEM_VARIABLE, 12) == 0);
	return is_right && !is_own;
}

// Could a line with the item in it be the delimiter?
static bool may_delimit(struct slice item, const char *delimiter) {
	while (item.len > 0 && *item.text == '\t') {
		++item.text;
		--item.len;
	}
	size_t same = 0;
	while (same < item.len && delimiter[same] == item.text[same] && delimiter[same] != '\0') {
		++same;
	}
	// dash loses a byte that is not ASCII behind what the delimiter begins with, too
	return item.len > 0 && (memmem(delimiter, strlen(delimiter), item.text, item.len) || (same > 0 && same < item.len && (item.text[same] & 0x80)));
}

static bool has_pattern(struct slice item) {
	return memchr(item.text, '\\', item.len) || memchr(item.text, '[', item.len) || memchr(item.text, '*', item.len) ||
	       memchr(item.text, '?', item.len);
}

static bool is_high_or_letter(char c) {
	return (c & 0x80) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c > '@');
}

// Is nothing in it by which arithmetic runs commands or sets variables, and does it name none that holds an item?
static bool is_harmless(struct slice item) {
	bool is_right = !memmem(item.text, item.len, "_item", 5) && !memmem(item.text, item.len, ITEM_VARIABLE, sizeof(ITEM_VARIABLE) - 1);
	for (size_t i = 0; i < item.len && is_right; ++i) {
		char c = item.text[i];
		is_right = is_high_or_letter(c) || is_digit(c) || (c != '\0' && strchr("./,:@%+-~# \t", c));
		if ((c == '+' || c == '-') && i + 1 < item.len && item.text[i + 1] == c) { // ++ and -- at a name
			size_t before = i, after = i + 2;
			while (before > 0 && template_is_blank(item.text[before - 1])) {
				--before;
			}
			while (after < item.len && template_is_blank(item.text[after])) {
				++after;
			}
			while (before > 0 && is_digit(item.text[before - 1])) {
				--before;
			}
			is_right = is_right && !(before > 0 && is_high_or_letter(item.text[before - 1])) &&
			           !(after < item.len && is_high_or_letter(item.text[after]));
		}
	}
	return is_right;
}

static bool is_satisfied(const struct requirement *requirement, struct slice item, struct buf *why) {
	unsigned needs = requirement->needs;
	const char *problem =
		(needs & NEED_INTEGER) && !is_integer(item)   ? "is no integer, but stands where a shell takes a number and evaluates it as arithmetic (for the key of an array take {#})"
		: (needs & NEED_NUMBER) && !is_number(item)   ? "is no number, but stands where a command takes one, which some shells evaluate as arithmetic"
		: (needs & NEED_NAME) && !is_name(item)       ? "is no plain name, but stands where a shell takes the name of a variable"
		: (needs & NEED_PROGRAM) && shell_evaluates_words(item.text, item.len)
			? "is the name of a command by which the shell evaluates the words that follow"
		: (needs & NEED_DERIVED) && !is_harmless(item)
			? "has a byte that arithmetic could take for code, and a value made of it stands where a shell evaluates it: have a program reckon, expr or awk, or give the command that sets the value </dev/null"
		: (needs & NEED_LINE) && memchr(item.text, '\n', item.len)
			? "has more than one line, but stands in a here-document whose delimiter is quoted"
		: (needs & NEED_NO_TAB) && item.len > 0 && *item.text == '\t' ? "would lose a tab in the here-document that it stands in"
		: (needs & NEED_NO_PATTERN) && has_pattern(item) ? "is a pattern, but stands where some shells read one; write [ a = b ]"
		: (needs & NEED_OTHER_LINE) && may_delimit(item, requirement->delimiter)
			? "would end the here-document that it stands in, or begins as its delimiter does"
			: NULL;
	if (problem) {
		buf_adds(why, "the item '");
		buf_add_escaped(why, item.text, item.len, 80);
		buf_printf(why, "' %s", problem);
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

bool template_is_gb18030(const struct template *template) {
	return template->is_gb18030;
}

bool template_begins_with_item(const struct template *template) {
	return template->parts.n > 0 && template->parts.at[0].is_raw;
}

const char *template_bash_syntax(const struct template *template) {
	return template->bash_syntax;
}

bool template_names_item(const struct template *template) {
	return template->names_item;
}
