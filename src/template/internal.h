// The inside of a template, shared by the files that parse, group, measure and expand it.

#ifndef FAIRPAR_TEMPLATE_INTERNAL_H
#define FAIRPAR_TEMPLATE_INTERNAL_H

#include "template/template.h"

struct part {
	enum { LITERAL, BREAK, GROUP, ITEM, COLUMN, SEQ, SLOT, TOTAL } kind;
	enum form form;
	const struct replacement *replacement; // what `form` was given, or NULL
	unsigned place;    // enum place
	bool is_raw;       // not quoted
	bool is_padded;    // SEQ, SLOT: with zeros in front
	int column;        // COLUMN: from 1, or from the end: -1; 0 is never there
	const char *text;  // borrowed from template->text
	size_t len;        // its bytes; GROUP: parts behind it that are there once for each argument
};

// What a part must be, each time.
struct requirement {
	struct part part;
	unsigned needs;      // enum need of shell/reader.h
	char delimiter[64];  // NEED_OTHER_LINE
};

struct parts {
	struct part *at;
	size_t n, cap;
};

struct template {
	char *text;
	unsigned flags;
	bool is_direct;
	bool is_gb18030;    // the charset of the locale
	bool names_item;    // $FAIRPAR_ITEM
	bool needs_total;
	bool chooses, is_unique; // leaves items out
	struct replacement *replacements; // of its parts; owned
	struct buf error;
	struct parts parts; // of the text
	struct parts words; // of a direct template: with a BREAK between words
	struct template_measure measure;
	struct requirement *requirements;
	size_t nrequirements, requirements_cap;
	// with TEMPLATE_CONTEXT, for each byte of the text with one byte for each replacement string (shell/reader.h)
	unsigned char *marks;
	unsigned *regions;
	// an item cannot stand where it does; also said in `error`
	struct template_refusal refusal;
};

static inline bool template_is_blank(char c) {
	return c == ' ' || c == '\t';
}

static inline bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// ---- template.c ----

void parts_add(struct parts *parts, struct part part);
void parts_add_literal(struct parts *parts, const char *text, size_t len);

// ---- replacement.c ----

// Looks for a name of --plus at `at`, behind the brace or the number, and makes of `part`, an ITEM or a COLUMN, what it stands
// for. Returns what is behind it; or NULL if there is none, or none for a COLUMN. An expression that cannot be used is
// skipped, with the reason appended to template->error.
const char *plus_parse(struct template *template, const char *at, struct part *part);

// Frees the replacement and those behind it; it may be NULL.
void replacements_free(struct replacement *replacement);

// ---- read.c ----

// Sets the places of the parts, what they must be, and the refusal. `names` may be NULL.
void template_read(struct template *template, const struct names *names);

// ---- repeat.c ----

// With TEMPLATE_CONTEXT: puts a GROUP in front of what is there once for each argument.
void template_group(struct template *template);

// ---- measure.c ----

// Counts the parts as they were written, before they are grouped.
void template_measure_parts(struct template *template, const struct parts *parts);

// ---- expand.c ----

// The next of the record's arguments, at `*at`.
struct slice record_next_arg(const struct record *record, const char **at);

// Goes through the arguments of the record that an ITEM or a COLUMN stands for. The first three are the caller's to fill in,
// the others begin zeroed.
struct part_values {
	const struct part *part;
	const struct record *record;
	struct buf *scratch; // used for each value anew; borrowed
	uint32_t n;          // values so far
	const char *at;      // of an ITEM: the next argument
};

// Sets *ret_value to what becomes of the next argument, borrowed until the next call. Returns false behind the last one.
bool part_next_value(struct part_values *values, struct slice *ret_value);

// The digits of a SEQ, SLOT or TOTAL.
struct slice part_number(const struct part *part, const struct expansion *x, char digits[20]);

#endif
