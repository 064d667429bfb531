// Words of a template that are there once for each argument (-X).
//
// GNU parallel repeats what stands between blanks, whatever it means to a shell: from 'ls {}; echo' comes `ls a; b; echo`,
// and the second item is a command. So here an operator ends the word as a blank does; and where the word opens or closes
// quotes, as in "see {} here", the items are inserted as a list, as -m does: "see a b here".

#include "template/internal.h"

#include "base/alloc.h"
#include "shell/reader.h"

static void parts_group(struct parts *parts, size_t first) {
	size_t n = parts->n - first;
	parts_add(parts, (struct part){.kind = GROUP});
	memmove(&parts->at[first + 1], &parts->at[first], n * sizeof(parts->at[0]));
	parts->at[first] = (struct part){.kind = GROUP, .len = n};
}

// A word being read.
struct word_context {
	const struct template *template;
	struct parts *out;
	size_t at;               // in the text with one byte for each replacement string
	size_t first;            // its first part there
	bool has_item;
	unsigned region;         // that it begins in
};

static void context_begin(struct word_context *context) {
	context->first = context->out->n;
	context->has_item = false;
	context->region = context->template->regions[context->at];
}

static void context_end(struct word_context *context) {
	unsigned region = context->template->regions[context->at];
	bool is_closed = region == context->region && !(context->template->marks[context->at] & READ_ESCAPED);
	if (context->has_item && is_closed && region % 2 == 0) {
		parts_group(context->out, context->first);
	}
}

static void context_add_literal(struct word_context *context, const struct part *part) {
	const char *from = part->text;
	for (size_t i = 0; i < part->len; ++i, ++context->at) {
		const char *at = part->text + i;
		bool is_blank = template_is_blank(*at);
		if (!is_blank && !(context->template->marks[context->at] & READ_OPERATOR)) {
			continue;
		}
		parts_add_literal(context->out, from, (size_t)(at - from));
		context_end(context);
		parts_add_literal(context->out, at, 1);
		context->at += !is_blank;
		context_begin(context);
		context->at -= !is_blank;
		from = at + 1;
	}
	parts_add_literal(context->out, from, (size_t)(part->text + part->len - from));
}

static void group_text(struct template *template) {
	struct parts out = {NULL, 0, 0};
	struct word_context context = {.template = template, .out = &out};
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		if (part->kind == LITERAL) {
			context_add_literal(&context, part);
			continue;
		}
		parts_add(&out, *part);
		++context.at;
		context.has_item |= part->kind == ITEM;
	}
	context_end(&context);
	free(template->parts.at);
	template->parts = out;
}

// The same for words that no shell reads. With -q a word may have blanks in it.
static void group_words(struct template *template) {
	struct parts out = {NULL, 0, 0};
	size_t first = 0;
	bool has_item = false;
	for (size_t i = 0; i <= template->words.n; ++i) {
		const struct part *part = i < template->words.n ? &template->words.at[i] : NULL;
		const char *end = part && part->kind == LITERAL ? part->text + part->len : NULL;
		for (const char *at = end ? part->text : NULL; at < end;) {
			size_t len = template_is_blank(*at) ? 1 : 0;
			while (!template_is_blank(*at) && at + len < end && !template_is_blank(at[len])) {
				++len;
			}
			if (template_is_blank(*at) && has_item) {
				parts_group(&out, first);
			}
			parts_add_literal(&out, at, len);
			first = template_is_blank(*at) ? out.n : first;
			has_item = has_item && !template_is_blank(*at);
			at += len;
		}
		if (end && part->len > 0) {
			continue;
		}
		bool is_over = !part || part->kind == BREAK;
		if (is_over && has_item) {
			parts_group(&out, first);
		}
		if (part) {
			parts_add(&out, *part);
			has_item = !is_over && (has_item || part->kind == ITEM);
		}
		first = is_over ? out.n : first;
	}
	free(template->words.at);
	template->words = out;
}

void template_group(struct template *template) {
	if (template->flags & TEMPLATE_CONTEXT) {
		if (template->regions) {
			group_text(template);
		}
		group_words(template);
	}
}
