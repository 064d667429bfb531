// A command template, parsed once and expanded for each record.

#include "template/internal.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shell/quoting.h"
#include "shell/reader.h"
#include "shell/shell.h"

// ---- tokens ----

static void parts_add(struct parts *parts, struct part part) {
	*NEW_ELEMENT(parts->at, parts->n, parts->cap) = part;
}

enum token token_find(const struct tokens *tokens, const char *at, bool is_numbered, size_t *ret_len) {
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

// Parses {3}, {-1}, {2//} from behind the brace; returns as parse_token(). As in GNU parallel, blanks may stand behind the number, and {0} is {}.
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
	while (text_is_space(*at)) {
		++at;
	}
	size_t len;
	enum token token = token_find(tokens, at, true, &len);
	if (token != NTOKENS) {
		set_token(part, token);
		return at + len;
	}
	return tokens->plus ? plus_parse(template, tokens, at, part) : NULL;
}

// Parses the name of a column: as the header spells it or, if no such name is at `at`, without the blanks around it. Returns as parse_token().
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
			enum token token = token_find(&tokens_default, at + len, true, &suffix);
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

// Parses the replacement string at `at`. Returns the place behind the string, or NULL if `at` is no replacement string.
static const char *parse_token(struct template *template, const char *at, const struct names *names,
                               struct part *ret_part) {
	const struct tokens *tokens = names && names->tokens ? names->tokens : &tokens_default;
	*ret_part = (struct part){.kind = ITEM};
	const char *end = *at == '{' ? parse_name(at + 1, names, ret_part) : NULL;
	if (end) {
		return end;
	}
	size_t len;
	enum token token = token_find(tokens, at, false, &len);
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
	return plus_parse(template, tokens, at + 1, ret_part);
}

// Returns where the next replacement string may be, or NULL.
static const char *next_token(const struct names *names, const char *at) {
	for (unsigned i = 0; names && names->tokens && i < NTOKENS; ++i) {
		if (names->tokens->name[i][0] != '{') { // such a name may begin with any byte
			return *at != '\0' ? at : NULL;
		}
	}
	return strchr(at, '{');
}

static void parts_add_literal(struct parts *parts, const char *text, size_t len) {
	if (len > 0) {
		parts_add(parts, (struct part){.kind = LITERAL, .text = text, .len = len});
	}
}

// Parses text up to its NUL. Returns true if the text has a replacement string, or with TEMPLATE_LITERAL.
static bool parse_text(struct template *template, struct parts *parts, const char *text,
                       const struct names *names) {
	if (template->flags & TEMPLATE_LITERAL) {
		parts_add_literal(parts, text, strlen(text));
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
		parts_add_literal(parts, from, (size_t)(at - from));
		if (part.kind != LITERAL) { // {hgrp} is a LITERAL without text: nothing to add
			part.text = at; // for messages
			part.len = (size_t)(end - at);
			parts_add(parts, part);
		}
		found = true;
		from = at = end;
	}
	parts_add_literal(parts, from, strlen(from));
	return found;
}

// ---- direct templates ----

// Returns true if a shell would only split the text at its blanks, whatever the items are.
static bool has_plain_words(const struct parts *parts) {
	FP_CLEANUP(buf_fini) struct buf probe = BUF_INIT;
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
	size_t start = strspn(buf_str(&probe), " \t"), end = start + strcspn(buf_str(&probe) + start, " \t");
	bool is_plain = !shell_has_syntax(buf_str(&probe), probe.len);
	if (first_item < end) { // a first word with an item may be a keyword or a builtin, unless a slash stands in front of the item
		is_plain = is_plain && first_item > start && memchr(probe.data + start, '/', first_item - start);
	}
	return is_plain;
}

// ---- words that are repeated for each argument (-X) ----

// With -X, GNU parallel repeats the text between blanks without regard to shell syntax: 'ls {}; echo' becomes `ls a; b; echo`, which
// runs the second item as a command. In fairpar a shell operator ends a word, too. A word that opens quotes and does not close them, as
// in "see {} here", is not repeated: its items are inserted as a list, as with -m: "see a b here".

// The word that group_parts() is reading.
struct word_context {
	const struct template *template;
	struct parts out;
	size_t at;               // the offset in the text that has one byte for each replacement string
	size_t first;            // the word's first part in `out`
	bool has_item;
	unsigned region;         // the region (shell/reader.h) that the word begins in
};

static unsigned region_of(const struct word_context *context) {
	return context->template->regions ? context->template->regions[context->at] : 0;
}

static unsigned mark_of(const struct word_context *context) {
	return context->template->marks ? context->template->marks[context->at] : 0;
}

static void context_begin(struct word_context *context) {
	context->first = context->out.n;
	context->has_item = false;
	context->region = region_of(context);
}

static void context_end(struct word_context *context) {
	unsigned region = region_of(context);
	bool is_closed = region == context->region && !(mark_of(context) & READ_ESCAPED);
	if (context->has_item && is_closed && region % 2 == 0) {
		struct parts *out = &context->out;
		size_t n = out->n - context->first;
		parts_add(out, (struct part){.kind = GROUP});
		memmove(&out->at[context->first + 1], &out->at[context->first], n * sizeof(out->at[0]));
		out->at[context->first] = (struct part){.kind = GROUP, .len = n};
	}
}

static void context_add_literal(struct word_context *context, const struct part *part) {
	const char *from = part->text;
	for (size_t i = 0; i < part->len; ++i, ++context->at) {
		const char *at = part->text + i;
		bool is_blank = *at == ' ' || *at == '\t';
		if (!is_blank && !(mark_of(context) & READ_OPERATOR)) {
			continue;
		}
		parts_add_literal(&context->out, from, (size_t)(at - from));
		context_end(context);
		parts_add_literal(&context->out, at, 1);
		context->at += !is_blank;
		context_begin(context);
		context->at -= !is_blank;
		from = at + 1;
	}
	parts_add_literal(&context->out, from, (size_t)(part->text + part->len - from));
}

// With TEMPLATE_CONTEXT: makes a GROUP of the parts of each word with an item. With -q, where no shell reads the words, blanks end a word, too.
static void group_parts(struct template *template) {
	struct parts *parts = &template->parts;
	struct word_context context = {.template = template};
	if (!(template->flags & TEMPLATE_CONTEXT)) {
		return;
	}
	for (size_t i = 0; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		if (part->kind == LITERAL && part->len > 0) {
			context_add_literal(&context, part);
			continue;
		}
		if (part->kind == BREAK) {
			context_end(&context);
		}
		parts_add(&context.out, *part);
		context.at += part->kind != LITERAL;
		context.has_item |= part->kind == ITEM;
		if (part->kind == BREAK) {
			context_begin(&context);
		}
	}
	context_end(&context);
	free(parts->at);
	*parts = context.out;
}

// ---- parsing ----

// Parses each word of -q on its own. The template is direct unless its first word is a command that only a shell can run, such as cd.
static void parse_quoted(struct template *template, const char *const *words, size_t nwords,
                         const struct names *names) {
	bool found = false;
	char *text = template->text;
	for (size_t i = 0; i < nwords; ++i) {
		size_t len = strlen(words[i]);
		memcpy(text, words[i], len + 1);
		if (i > 0) {
			parts_add(&template->parts, (struct part){.kind = BREAK});
		}
		size_t before = template->parts.n;
		found |= parse_text(template, &template->parts, text, names);
		if (template->parts.n == before) {
			parts_add(&template->parts, (struct part){.kind = LITERAL, .text = text});
		}
		text += len + 1;
	}
	if (!found && (template->flags & TEMPLATE_APPEND)) {
		parts_add(&template->parts, (struct part){.kind = BREAK});
		parts_add(&template->parts, (struct part){.kind = ITEM});
	}
	group_parts(template);
	const struct part *first = &template->parts.at[template->parts.n > 0 && template->parts.at[0].kind == GROUP];
	bool is_direct = nwords > 0 && !(first->kind == LITERAL && shell_is_plain(first->text, first->len) &&
	                                 shell_has_syntax(first->text, first->len));
	if (is_direct) {
		template->traits |= TEMPLATE_IS_DIRECT;
	} else {
		template_read(template);
	}
}

static void parse_joined(struct template *template, const struct names *names) {
	if (!parse_text(template, &template->parts, template->text, names) && (template->flags & TEMPLATE_APPEND) &&
	    !(template->traits & TEMPLATE_NAMES_ITEM)) {
		parts_add_literal(&template->parts, " ", 1);
		parts_add(&template->parts, (struct part){.kind = ITEM});
	}
	template->traits |= !(template->flags & TEMPLATE_RAW) && has_plain_words(&template->parts) ? TEMPLATE_IS_DIRECT : 0;
	for (size_t i = 0; i < template->parts.n; ++i) {
		// an item in front is the command itself: the shell reads it without quotes
		template->parts.at[i].is_raw = template->parts.at[i].kind != LITERAL && ((template->flags & TEMPLATE_RAW) || i == 0);
	}
	if (!(template->flags & TEMPLATE_RAW)) {
		template_read(template);
	}
	group_parts(template);
}

// Parses the words. `text` is the words joined by blanks; the template takes it over.
static struct template *parse(const char *const *words, size_t nwords, unsigned flags, const struct names *names,
                              char *text) {
	struct template *template = NEW(struct template);
	template->flags = flags;
	template->text = text;
	bool names_item = !(flags & (TEMPLATE_LITERAL | TEMPLATE_RAW)) && strstr(template->text, "FAIRPAR_ITEM");
	template->traits = names_item ? TEMPLATE_NAMES_ITEM : 0;
	if (flags & TEMPLATE_QUOTE) {
		parse_quoted(template, words, nwords, names);
	} else {
		parse_joined(template, names);
	}
	bool has_only_lists = true;
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		template->traits |= part->kind >= ITEM ? TEMPLATE_HAS_STRINGS : 0;
		template->traits |= part->kind == COLUMN ? TEMPLATE_HAS_COLUMNS : 0;
		template->traits |= i == 0 && part->is_raw ? TEMPLATE_BEGINS_WITH_ITEM : 0;
		has_only_lists = has_only_lists && (part->kind <= GROUP || (part->kind == ITEM && part->form == FORM_WHOLE));
	}
	template->traits |= has_only_lists ? TEMPLATE_HAS_ONLY_LISTS : 0;
	return template;
}

bool template_has(const struct template *template, unsigned traits) {
	return template && (template->traits & traits);
}

struct template *template_parse(const char *const *words, size_t nwords, unsigned flags, const struct names *names,
                                char **ret_error) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	for (size_t i = 0; i < nwords; ++i) {
		buf_adds(&text, i > 0 ? " " : "");
		buf_adds(&text, words[i]);
	}
	const char *perl = flags & TEMPLATE_LITERAL ? NULL : strstr(buf_str(&text), "{=");
	if (perl && strstr(perl + 2, "=}")) {
		error_text(ret_error, "Perl expressions {= =} are not in fairpar; use --plus ({/re/text}, {%%re}, {:2:3} and more), or a "
		           "command that makes the change");
		return NULL;
	}
	struct template *template = parse(words, nwords, flags, names, buf_take(&text));
	if (template->error.len > 0) {
		*ret_error = buf_take(&template->error);
		template_free(template);
		return NULL;
	}
	return template;
}

bool template_is_refused(const char *text, const struct names *names, struct template_refusal *ret_refusal) {
	struct template *template = parse(&text, 1, 0, names, xstrdup(text));
	bool is_refused = template->refusal.reason != NULL;
	*ret_refusal = template->refusal;
	template_free(template);
	return is_refused;
}

void template_free(struct template *template) {
	if (template) {
		free(template->text);
		free(template->parts.at);
		replacements_free(template->replacements);
		free(template->requirements);
		free(template->marks);
		free(template->regions);
		buf_fini(&template->error);
		free(template);
	}
}
