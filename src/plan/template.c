// A command template, parsed once and expanded for each record.

#include "plan/template.h"

#include "base/alloc.h"
#include "plan/quoting.h"
#include "plan/shell.h"

#include <stdio.h>

struct part {
	enum { LITERAL, BREAK, ITEM, COLUMN, SEQ, SLOT, TOTAL } kind;
	enum form form;
	const struct replacement *replacement; // in place of `form`, or NULL
	unsigned place;    // enum place
	bool is_raw;       // not quoted
	bool is_padded;    // SEQ, SLOT: with zeros in front
	int column;        // COLUMN: from 1, or from the end: -1; 0 is never there
	const char *text;  // LITERAL: borrowed from template->text
	size_t len;
};

struct parts {
	struct part *at;
	size_t n, cap;
};

struct template {
	char *text;
	unsigned flags;
	bool is_direct;
	bool has_variables; // of an intricate template, see plan/quoting.h
	bool needs_total;
	bool chooses, is_unique; // leaves items out
	struct replacement **replacements; // of its parts
	size_t nreplacements, replacements_cap;
	struct buf error;
	struct parts parts; // of the text
	struct parts words; // of a direct template: with a BREAK between words
};

// ---- tokens ----

static struct part *parts_add(struct parts *parts, struct part part) {
	grow_array(&parts->at, &parts->cap, parts->n + 1, sizeof(parts->at[0]));
	parts->at[parts->n++] = part;
	return &parts->at[parts->n - 1];
}

static struct replacement *keep_replacement(struct template *template, const struct replacement *replacement) {
	grow_array(&template->replacements, &template->replacements_cap, template->nreplacements + 1,
	           sizeof(template->replacements[0]));
	struct replacement *kept = NEW(struct replacement);
	*kept = *replacement;
	template->replacements[template->nreplacements++] = kept;
	return kept;
}

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// The longest token at `at`; behind a number, the part of its name behind the brace. Returns NTOKENS if there is none.
static enum token find_token(const struct tokens *tokens, const char *at, bool is_numbered, size_t *ret_len) {
	enum token found = NTOKENS;
	*ret_len = 0;
	for (unsigned i = 0; i < (is_numbered ? TOKEN_SEQ : NTOKENS); ++i) {
		const char *name = tokens->name[i];
		if (is_numbered && *name++ != '{') {
			continue;
		}
		size_t len = strlen(name);
		if (len > *ret_len && strncmp(at, name, len) == 0) {
			found = (enum token)i;
			*ret_len = len;
		}
	}
	return found;
}

static void set_token(struct part *part, enum token token) {
	if (token == TOKEN_SEQ || token == TOKEN_SLOT) {
		part->kind = token == TOKEN_SEQ ? SEQ : SLOT;
	} else {
		part->form = (enum form)token;
	}
}

// A name of --plus at `at`, behind the brace or the number. Returns what is behind it, or NULL.
static const char *parse_plus(struct template *template, const char *at, struct part *part) {
	struct replacement replacement;
	const char *end = NULL;
	enum plus plus = plus_parse(at, &replacement, &end, &template->error);
	if (plus == PLUS_FORM) {
		part->replacement = keep_replacement(template, &replacement);
		return end;
	}
	replacement_fini(&replacement);
	switch (plus) {
	case PLUS_CHOOSE: template->chooses = true; return end;
	case PLUS_UNIQUE: template->is_unique = true; return end;
	case PLUS_NONE: return NULL;
	case PLUS_BAD: return end;
	default: break;
	}
	if (part->kind == COLUMN) {
		return NULL;
	}
	part->is_padded = plus == PLUS_PADDED_SEQ || plus == PLUS_PADDED_SLOT;
	part->kind = plus == PLUS_TOTAL ? TOTAL : plus == PLUS_PADDED_SEQ ? SEQ : SLOT;
	template->needs_total |= plus == PLUS_TOTAL || plus == PLUS_PADDED_SEQ;
	if (plus == PLUS_HERE || plus == PLUS_NOTHING) {
		*part = (struct part){.kind = LITERAL, .text = ":", .len = plus == PLUS_HERE};
	}
	return end;
}

// {3} {-1} {2//}: GNU parallel allows blanks behind the number, and takes {0} as {}.
static const char *parse_position(struct template *template, const struct tokens *tokens, const char *at,
                                  struct part *part) {
	bool from_end = *at == '-';
	const char *digits = at + from_end;
	int n = 0;
	for (at = digits; is_digit(*at); ++at) {
		n = n < 100000000 ? n * 10 + (*at - '0') : n;
	}
	if (at == digits) {
		return NULL;
	}
	part->kind = n == 0 && !from_end && at == digits + 1 ? ITEM : COLUMN;
	part->column = from_end ? -n : n;
	while (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
		++at;
	}
	size_t len;
	enum token token = find_token(tokens, at, true, &len);
	if (token != NTOKENS) {
		set_token(part, token);
		return at + len;
	}
	return tokens->plus ? parse_plus(template, at, part) : NULL;
}

// A name as it stands in the header, or without the blanks around it.
static const char *parse_name(const char *at, const struct names *names, struct part *part) {
	for (int trimmed = 0; trimmed < 2; ++trimmed) {
		for (size_t i = 0; names && i < names->n; ++i) {
			const char *name = names->names[i];
			size_t len = strlen(name);
			while (trimmed && *name == ' ') {
				++name;
				--len;
			}
			while (trimmed && len > 0 && name[len - 1] == ' ') {
				--len;
			}
			if (len == 0 || strncmp(at, name, len) != 0) {
				continue;
			}
			size_t suffix;
			enum token token = find_token(&tokens_default, at + len, true, &suffix);
			if (token != NTOKENS) {
				set_token(part, token);
				part->kind = COLUMN;
				part->column = (int)i + 1;
				return at + len + suffix;
			}
		}
	}
	return NULL;
}

// The replacement string at `at`. Returns what is behind it, or NULL if it is none.
static const char *parse_token(struct template *template, const char *at, const struct names *names,
                               struct part *ret_part) {
	const struct tokens *tokens = names && names->tokens ? names->tokens : &tokens_default;
	*ret_part = (struct part){.kind = ITEM};
	const char *end = *at == '{' ? parse_name(at + 1, names, ret_part) : NULL;
	if (end) {
		return end;
	}
	size_t len;
	enum token token = find_token(tokens, at, false, &len);
	if (token != NTOKENS) {
		set_token(ret_part, token);
		return at + len;
	}
	if (*at != '{') {
		return NULL;
	}
	end = parse_position(template, tokens, at + 1, ret_part);
	if (end || !tokens->plus) {
		return end;
	}
	*ret_part = (struct part){.kind = ITEM};
	return parse_plus(template, at + 1, ret_part);
}

// Where the next replacement string may be, or NULL.
static const char *next_token(const struct names *names, const char *at) {
	for (unsigned i = 0; names && names->tokens && i < NTOKENS; ++i) {
		if (names->tokens->name[i][0] != '{') { // may begin with anything
			return *at != '\0' ? at : NULL;
		}
	}
	return strchr(at, '{');
}

static void add_literal(struct parts *parts, const char *text, size_t len) {
	if (len > 0) {
		parts_add(parts, (struct part){.kind = LITERAL, .text = text, .len = len});
	}
}

// Parses text up to its NUL. Returns true if there was a replacement string, or there can be none.
static bool parse_text(struct template *template, struct parts *parts, const char *text,
                       const struct names *names) {
	if (template->flags & TEMPLATE_LITERAL) {
		add_literal(parts, text, strlen(text));
		return true;
	}
	bool found = false;
	const char *from = text;
	for (const char *at = text; (at = next_token(names, at));) {
		struct part part;
		const char *end = parse_token(template, at, names, &part);
		if (!end) {
			++at;
			continue;
		}
		add_literal(parts, from, (size_t)(at - from));
		parts_add(parts, part);
		found = true;
		from = at = end;
	}
	add_literal(parts, from, strlen(from));
	return found;
}

// ---- what surrounds the items ----

// Do digits and items go on until a < or >? Then a number here would be a descriptor (POSIX XCU 2.10.1, IO_NUMBER).
static bool is_before_redirection(const struct parts *parts, size_t i) {
	for (++i; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		for (size_t k = 0; part->kind == LITERAL && k < part->len; ++k) {
			if (!is_digit(part->text[k])) {
				return part->text[k] == '<' || part->text[k] == '>';
			}
		}
	}
	return false;
}

static void find_places(struct template *template) {
	struct quoting quoting = {.depth = 0};
	struct parts *parts = &template->parts;
	for (size_t i = 0; i < parts->n; ++i) {
		struct part *part = &parts->at[i];
		if (part->kind == LITERAL) {
			quoting_follow(&quoting, part->text, part->len);
			continue;
		}
		part->place = quoting_place(&quoting);
		if ((part->place & PLACE_KINDS) == PLACE_PLAIN && is_before_redirection(parts, i)) {
			part->place |= PLACE_NUMBER;
		}
		// the command itself: to be read by the shell
		part->is_raw = (template->flags & TEMPLATE_RAW) || i == 0;
	}
	template->has_variables = quoting.is_intricate && !template->is_direct // plain words, whatever they look like
		&& !(template->flags & (TEMPLATE_RAW | TEMPLATE_GNU_QUOTES));
	for (size_t i = 0; i < parts->n; ++i) {
		struct part *part = &parts->at[i];
		if (template->flags & TEMPLATE_GNU_QUOTES) {
			part->place = PLACE_PLAIN;
		} else if (template->has_variables && !part->is_raw) {
			part->place |= PLACE_VARIABLE;
		}
	}
}

// ---- direct templates ----

static bool is_space(char c) {
	return c == ' ' || c == '\t';
}

// Could the text with its items be split at its blanks, as a shell would, and nothing else?
static bool has_plain_words(const struct parts *parts) {
	struct buf probe = BUF_INIT;
	size_t first_item = SIZE_MAX;
	for (size_t i = 0; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		if (part->kind == LITERAL) {
			buf_add(&probe, part->text, part->len);
			continue;
		}
		first_item = first_item < probe.len ? first_item : probe.len;
		buf_addc(&probe, 'x');
	}
	size_t start = 0;
	while (start < probe.len && is_space(probe.data[start])) {
		++start;
	}
	size_t end = start;
	while (end < probe.len && !is_space(probe.data[end])) {
		++end;
	}
	bool is_plain = !shell_has_syntax(buf_str(&probe), probe.len);
	if (first_item < end) { // with a slash before the item it names a file, whatever the item is
		is_plain = is_plain && first_item > start && memchr(probe.data + start, '/', first_item - start);
	}
	buf_fini(&probe);
	return is_plain;
}

static void split_words(struct template *template) {
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		if (part->kind != LITERAL) {
			parts_add(&template->words, *part);
			continue;
		}
		const char *end = part->text + part->len;
		for (const char *at = part->text; at < end;) {
			const char *from = at;
			bool space = is_space(*at);
			while (at < end && is_space(*at) == space) {
				++at;
			}
			struct part literal = {.kind = LITERAL, .text = from, .len = (size_t)(at - from)};
			parts_add(&template->words, space ? (struct part){.kind = BREAK} : literal);
		}
	}
}

// ---- parsing ----

static bool has_perl(const char *text) {
	const char *open = strstr(text, "{=");
	return open && strstr(open + 2, "=}");
}

// -q: the words as they are. A word that a shell has to run, such as cd, stays one for it.
static bool parse_quoted(struct template *template, const char *const *words, size_t nwords,
                         const struct names *names) {
	bool found = false;
	char *text = template->text;
	for (size_t i = 0; i < nwords; ++i) {
		size_t len = strlen(words[i]);
		memcpy(text, words[i], len + 1);
		if (i > 0) {
			parts_add(&template->words, (struct part){.kind = BREAK});
		}
		size_t before = template->words.n;
		found |= parse_text(template, &template->words, text, names);
		if (template->words.n == before) {
			parts_add(&template->words, (struct part){.kind = LITERAL, .text = text});
		}
		text += len + 1;
	}
	if (!found && (template->flags & TEMPLATE_APPEND)) {
		parts_add(&template->words, (struct part){.kind = BREAK});
		parts_add(&template->words, (struct part){.kind = ITEM});
	}
	const struct part *first = &template->words.at[0];
	return nwords > 0 && !(first->kind == LITERAL && shell_is_plain(first->text, first->len) &&
	                       shell_has_syntax(first->text, first->len));
}

static void parse_joined(struct template *template, const char *const *words, size_t nwords,
                         const struct names *names) {
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < nwords; ++i) {
		buf_adds(&text, i > 0 ? " " : "");
		buf_adds(&text, words[i]);
	}
	free(template->text);
	template->text = buf_take(&text);
	if (!parse_text(template, &template->parts, template->text, names) && (template->flags & TEMPLATE_APPEND)) {
		add_literal(&template->parts, " ", 1);
		parts_add(&template->parts, (struct part){.kind = ITEM});
	}
	template->is_direct = !(template->flags & TEMPLATE_RAW) && has_plain_words(&template->parts);
	find_places(template);
	if (template->is_direct) {
		split_words(template);
	}
}

struct template *template_parse(const char *const *words, size_t nwords, unsigned flags, const struct names *names,
                                char **ret_error) {
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < nwords; ++i) {
		buf_adds(&text, words[i]);
		buf_addc(&text, ' ');
	}
	if (!(flags & TEMPLATE_LITERAL) && has_perl(buf_str(&text))) {
		buf_reset(&text);
		buf_adds(&text, "Perl expressions {= =} are not in fairpar; use --plus ({/re/text}, {%re}, {:2:3} and more), or a "
		                "command that makes the change");
		*ret_error = buf_take(&text);
		return NULL;
	}
	struct template *template = NEW(struct template);
	template->flags = flags;
	template->text = buf_take(&text);
	if (flags & TEMPLATE_QUOTE) {
		template->is_direct = parse_quoted(template, words, nwords, names);
	} else {
		parse_joined(template, words, nwords, names);
	}
	if (template->error.len > 0) {
		*ret_error = buf_take(&template->error);
		template_free(template);
		return NULL;
	}
	return template;
}

void template_free(struct template *template) {
	if (template) {
		free(template->text);
		free(template->parts.at);
		free(template->words.at);
		for (size_t i = 0; i < template->nreplacements; ++i) {
			replacement_fini(template->replacements[i]);
			free(template->replacements[i]);
		}
		free(template->replacements);
		buf_fini(&template->error);
		free(template);
	}
}

// ---- expanding ----

// What becomes of an argument. `scratch` is used for each anew.
static struct slice apply_form(const struct part *part, struct slice item, struct buf *scratch) {
	return part->replacement ? replacement_apply(part->replacement, item, scratch) : form_apply(part->form, item);
}

static struct slice next_arg(const struct record *record, const char **at) {
	struct slice arg = {*at, 0};
	// the NUL of a single argument is known to be the last byte
	arg.len = record->nargs == 1 ? record->size - 1 : strlen(*at);
	*at += arg.len + 1;
	return arg;
}

// The argument that a COLUMN names. Returns false if there is none.
static bool find_column(const struct part *part, const struct record *record, struct slice *ret_arg) {
	int64_t n = part->column > 0 ? part->column : part->column < 0 ? (int64_t)record->nargs + part->column + 1 : 0;
	if (n < 1 || n > record->nargs) {
		return false;
	}
	const char *at = record->args;
	for (int64_t i = 0; i < n; ++i) {
		*ret_arg = next_arg(record, &at);
	}
	return true;
}

static size_t print_number(char *end, uint64_t n) {
	size_t len = 0;
	do {
		*--end = (char)('0' + n % 10);
		++len;
	} while (n /= 10);
	return len;
}

static struct slice number(const struct part *part, const struct expansion *x, char digits[20]) {
	uint64_t n = part->kind == SEQ ? x->seq : part->kind == SLOT ? x->slot : x->total;
	size_t len = print_number(digits + 20, n);
	for (uint64_t most = part->kind == SEQ ? x->total : x->slots; part->is_padded && most >= 10; most /= 10) {
		n /= 10;
		if (n == 0) {
			digits[20 - ++len] = '0';
		}
	}
	return (struct slice){digits + 20 - len, len};
}

// What is being written.
struct writer {
	struct buf *buf;
	struct buf scratch;
	unsigned nvariables;
	bool assigns; // the assignments in front; then the text
};

static void add_value(struct writer *writer, const struct part *part, unsigned place, struct slice value) {
	if (quoting_needs_variable(place, value.text, value.len)) {
		++writer->nvariables;
		if (writer->assigns) {
			quoting_add_assignment(writer->buf, writer->nvariables, value.text, value.len);
		} else {
			quoting_add_variable(writer->buf, place, writer->nvariables);
		}
	} else if (writer->assigns) {
		return;
	} else if (part->is_raw) {
		buf_add(writer->buf, value.text, value.len);
	} else {
		quoting_add(writer->buf, place, value.text, value.len);
	}
}

static void expand_item(struct writer *writer, const struct part *part, const struct record *record) {
	const char *at = record->args;
	unsigned place = part->place;
	for (uint32_t i = 0; i < record->nargs; ++i) {
		if (i > 0 && !writer->assigns) {
			buf_addc(writer->buf, ' ');
		}
		add_value(writer, part, place, apply_form(part, next_arg(record, &at), &writer->scratch));
		place &= ~(unsigned)(PLACE_ESCAPED | PLACE_DOLLAR); // now a blank stands before
	}
}

static void expand_part(struct writer *writer, const struct part *part, const struct expansion *x) {
	struct slice arg;
	char digits[20];
	switch (part->kind) {
	case LITERAL:
		if (!writer->assigns) {
			buf_add(writer->buf, part->text, part->len);
		}
		return;
	case BREAK:
		return;
	case ITEM:
		expand_item(writer, part, x->record);
		return;
	case COLUMN:
		if (find_column(part, x->record, &arg)) {
			add_value(writer, part, part->place, apply_form(part, arg, &writer->scratch));
		} else if (part->place & (PLACE_ESCAPED | PLACE_DOLLAR)) {
			add_value(writer, part, part->place, (struct slice){"", 0});
		}
		return;
	case SEQ:
	case SLOT:
	case TOTAL:
		add_value(writer, part, part->place, number(part, x, digits));
		return;
	}
}

// -q: each word quoted as a whole, so that a shell reads the words again.
static void expand_quoted(const struct template *template, const struct expansion *x, struct buf *buf) {
	struct buf words = BUF_INIT;
	size_t n = template_expand_words(template, x, &words);
	const char *word = words.data;
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(word);
		buf_adds(buf, i > 0 ? " " : "");
		shell_quote(buf, word, len);
		word += len + 1;
	}
	buf_fini(&words);
}

void template_expand(const struct template *template, const struct expansion *x, struct buf *buf) {
	if (template->flags & TEMPLATE_QUOTE) {
		expand_quoted(template, x, buf);
		return;
	}
	buf_reserve(buf, 0);
	struct writer assigner = {.buf = buf, .assigns = true}, writer = {.buf = buf};
	for (size_t i = 0; template->has_variables && i < template->parts.n; ++i) {
		expand_part(&assigner, &template->parts.at[i], x);
	}
	for (size_t i = 0; i < template->parts.n; ++i) {
		expand_part(&writer, &template->parts.at[i], x);
	}
	buf_fini(&assigner.scratch);
	buf_fini(&writer.scratch);
}

bool template_is_direct(const struct template *template) {
	return template->is_direct;
}

bool template_needs_total(const struct template *template) {
	return template->needs_total;
}

// Would GNU parallel put it into quotes? (shell_quote_scalar_default() of its source)
static bool is_quoted_there(struct slice value) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+/";
	for (size_t i = 0; i < value.len; ++i) {
		if (!memchr(plain, value.text[i], sizeof(plain) - 1)) {
			return true;
		}
	}
	return value.len == 0;
}

bool template_spells_otherwise(const struct template *template, const struct expansion *x) {
	struct buf scratch = BUF_INIT;
	bool differs = false;
	for (size_t i = 0; i < template->parts.n && !(template->flags & TEMPLATE_QUOTE); ++i) {
		const struct part *part = &template->parts.at[i];
		unsigned place = part->place & PLACE_KINDS;
		if ((part->kind != ITEM && part->kind != COLUMN) || part->is_raw || (place != PLACE_SINGLE && place != PLACE_DOUBLE)) {
			continue;
		}
		struct slice arg;
		const char *at = x->record->args;
		for (uint32_t k = 0; part->kind == ITEM && k < x->record->nargs; ++k) {
			differs = differs || is_quoted_there(apply_form(part, next_arg(x->record, &at), &scratch));
		}
		if (part->kind == COLUMN && find_column(part, x->record, &arg)) {
			differs = differs || is_quoted_there(apply_form(part, arg, &scratch));
		}
	}
	buf_fini(&scratch);
	return differs;
}

bool template_skips(const struct template *template, const struct record *record) {
	return (template->chooses && !arguments_rise(record->args, record->nargs)) ||
	       (template->is_unique && !arguments_are_unique(record->args, record->nargs));
}

// Appends the values of an item, each but the last ended as a word. Returns the number of words ended.
static size_t expand_item_words(const struct part *part, const struct record *record, struct buf *scratch,
                                struct buf *buf) {
	const char *at = record->args;
	for (uint32_t i = 0; i < record->nargs; ++i) {
		if (i > 0) {
			buf_add(buf, "", 1);
		}
		struct slice value = apply_form(part, next_arg(record, &at), scratch);
		buf_add(buf, value.text, value.len);
	}
	return record->nargs - 1;
}

size_t template_expand_words(const struct template *template, const struct expansion *x, struct buf *buf) {
	size_t n = 0;
	struct buf scratch = BUF_INIT;
	bool is_word = template->flags & TEMPLATE_QUOTE; // an empty one too
	for (size_t i = 0; i < template->words.n; ++i) {
		const struct part *part = &template->words.at[i];
		struct slice value = {part->text, part->len};
		char digits[20];
		switch (part->kind) {
		case BREAK:
			if (is_word) {
				buf_add(buf, "", 1);
				++n;
			}
			is_word = template->flags & TEMPLATE_QUOTE;
			continue;
		case ITEM:
			n += expand_item_words(part, x->record, &scratch, buf);
			is_word = true;
			continue;
		case COLUMN:
			if (!find_column(part, x->record, &value)) {
				continue; // nothing, not an empty word
			}
			value = apply_form(part, value, &scratch);
			break;
		case SEQ:
		case SLOT:
		case TOTAL:
			value = number(part, x, digits);
			break;
		case LITERAL:
			break;
		}
		buf_add(buf, value.text, value.len);
		is_word = true;
	}
	if (is_word && template->words.n > 0) {
		buf_add(buf, "", 1);
		++n;
	}
	buf_fini(&scratch);
	return n;
}
