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
	bool is_text;            // for a shell: marks and regions count
	struct parts out;
	size_t at;               // in the text with one byte for each replacement string
	size_t first;            // its first part in `out`
	bool has_item;
	unsigned region;         // that it begins in
};

static unsigned region_of(const struct word_context *context) {
	return context->is_text ? context->template->regions[context->at] : 0;
}

static unsigned mark_of(const struct word_context *context) {
	return context->is_text ? context->template->marks[context->at] : 0;
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
		parts_group(&context->out, context->first);
	}
}

static void context_add_literal(struct word_context *context, const struct part *part) {
	const char *from = part->text;
	for (size_t i = 0; i < part->len; ++i, ++context->at) {
		const char *at = part->text + i;
		bool is_blank = template_is_blank(*at);
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

// Groups the parts of a text for a shell, or of words that no shell reads. With -q a word may have blanks in it.
static void group_parts(const struct template *template, struct parts *parts, bool is_text) {
	struct word_context context = {.template = template, .is_text = is_text};
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

void template_group(struct template *template) {
	if (template->flags & TEMPLATE_CONTEXT) {
		group_parts(template, &template->parts, /* is_text */ template->regions != NULL);
		group_parts(template, &template->words, /* is_text */ false);
	}
}
