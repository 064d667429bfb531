// How long an expanded template is, as GNU parallel counts it for --max-chars.

#include "template/internal.h"

#include "base/text.h"
#include "shell/quoting.h"

// ---- the template ----

// Counts the text as GNU parallel's replacement_counts_and_lengths() does, before groups are made.
static void measure_parts(const struct parts *parts, struct template_measure *measure) {
	size_t word = 0;
	bool has_insert = false;
	for (size_t i = 0; i <= parts->n; ++i) {
		const struct part *part = i < parts->n ? &parts->at[i] : NULL;
		if (part && part->kind != LITERAL && part->kind != BREAK) {
			++measure->inserts;
			measure->changes |= part->form != FORM_WHOLE;
			measure->has_others |= part->kind != ITEM;
			has_insert = true;
			continue;
		}
		size_t len = part && part->kind == LITERAL ? part->len : 1;
		for (size_t k = 0; k < len; ++k) {
			if (part && part->kind == LITERAL && !text_is_space(part->text[k])) {
				++word;
				continue;
			}
			*(has_insert ? &measure->context : &measure->plain) += word;
			measure->words += has_insert;
			measure->plain += part != NULL;
			word = 0;
			has_insert = false;
		}
	}
}

void template_measure_parts(struct template *template, const struct parts *parts) {
	struct template_measure *measure = &template->measure;
	measure_parts(parts, measure);
	for (size_t i = 0; i < template->parts.n; ++i) {
		const struct part *part = &template->parts.at[i];
		if (part->kind == LITERAL || part->is_raw || template->is_direct) {
			continue;
		}
		unsigned kind = part->place & PLACE_KINDS;
		measure->overhead += part->place & PLACE_VARIABLE ? 64 : part->place == PLACE_PLAIN ? 0 : 6;
		measure->doubles |= (part->place & PLACE_VARIABLE) || kind == PLACE_DOUBLE;
	}
}

void template_measure(const struct template *template, struct template_measure *ret_measure) {
	*ret_measure = template ? template->measure : (struct template_measure){.words = 1, .inserts = 1};
}

// ---- records ----

static size_t quoted_len(struct slice value, bool is_raw) {
	if (is_raw || shell_is_plain(value.text, value.len)) {
		return value.len;
	}
	FP_CLEANUP(buf_fini) struct buf quoted = BUF_INIT;
	shell_quote(&quoted, value.text, value.len);
	return quoted.len;
}

// What GNU parallel counts for a replacement string: {2} is the second argument of the record, wherever that comes to
// stand, and a number counts once for each record.
static size_t part_chars(const struct part *part, const struct expansion *x, bool is_raw) {
	char digits[20];
	if (part->kind == ITEM && part->form == FORM_WHOLE && x->record->nargs == 1) { // nearly always
		return quoted_len((struct slice){x->record->args, x->record->size - 1}, is_raw);
	}
	if (part->kind == SEQ || part->kind == SLOT || part->kind == TOTAL) {
		return part_number(part, x, digits).len;
	}
	if (part->kind == HOST || part->kind == LOGIN) {
		bool is_plain;
		return part_machine(part, x, &is_plain).len;
	}
	size_t chars = 0;
	FP_CLEANUP(buf_fini) struct buf scratch = BUF_INIT;
	struct part_values values = {.part = part, .record = x->record, .scratch = &scratch};
	for (struct slice value; part_next_value(&values, &value);) {
		chars += quoted_len(value, is_raw);
	}
	return chars;
}

// What a {2} that takes the second argument of the whole job adds truly.
static size_t column_chars(const struct part *part, const struct expansion *x, uint32_t before) {
	if (part->column < 0 || (uint32_t)part->column <= before) {
		return 0;
	}
	struct part own = *part;
	own.column = part->column - (int)before;
	return part_chars(&own, x, /* is_raw */ false);
}

void template_measure_record(const struct template *template, const struct expansion *x, uint32_t before,
                             size_t *ret_chars, size_t *ret_real) {
	static const struct part line = {.kind = ITEM};
	const struct parts *parts = !template ? NULL : template->parts.n > 0 ? &template->parts : &template->words;
	const struct part *at = parts ? parts->at : &line;
	size_t n = parts ? parts->n : 1;
	bool is_raw = !template || (template->flags & TEMPLATE_QUOTE) || at[at->kind == GROUP].is_raw;
	*ret_chars = *ret_real = 0;
	for (size_t i = 0; i < n; ++i) {
		if (at[i].kind <= GROUP) {
			continue; // text, which template_measure_parts() has counted
		}
		size_t chars = part_chars(&at[i], x, is_raw);
		*ret_chars += chars;
		*ret_real += at[i].kind == COLUMN ? column_chars(&at[i], x, before) : chars;
	}
}
