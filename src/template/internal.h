// The inside of a template, shared by the files that parse, group, measure and expand it.

#pragma once

#include "template/template.h"

// A piece of a template: text, or what stands for a value.
struct part {
	enum {
		LITERAL, // text
		BREAK,   // with TEMPLATE_QUOTE: a word ends here
		GROUP,   // -X: the next `len` parts are repeated for each argument
		ITEM,    // all arguments of the record
		COLUMN,  // one argument of the record
		SEQ,     // the number of the job
		SLOT,    // the number of the job's slot
		TOTAL,   // how many items there are
		HOST,    // the machine that the job runs on
		LOGIN,   // the machine that the job runs on, as the user gave it: user, port, command
	} kind;
	enum form form;    // ITEM, COLUMN: what is made of each argument
	const struct replacement *replacement; // the parameters of `form`, or NULL; borrowed from the template
	unsigned position;    // enum position of shell/quoting.h: what surrounds it
	bool is_raw;       // the value is put in without quotes
	bool is_padded;    // SEQ, SLOT: with zeros in front, as wide as the highest number
	int column;        // COLUMN: from 1; -1: the last argument; 0: an argument that no record has
	bool is_elsewhere; // HOST, LOGIN: the machine may be another than this one
	const char *text;  // LITERAL: the text; else the replacement string, for messages. Borrowed from template->text, or static
	size_t len;        // bytes of `text`; GROUP: parts
};

// The values of `part` must be what `needs` says: else the job cannot run.
struct requirement {
	struct part part;
	unsigned needs;      // enum need of shell/reader.h
	char delimiter[64];  // NEED_OTHER_LINE: what the line must not be
};

struct parts {
	struct part *at;
	size_t n, cap;
};

struct template {
	char *text;
	unsigned flags;
	unsigned traits;    // the enum template_trait that template_has() tests
	const char *bash_syntax; // what template_bash_syntax() returns
	bool chooses, is_unique; // {choose_k}, {uniq}: template_skips() asks for them
	struct replacement *replacements; // those of its parts; the template owns them
	struct buf error;
	struct parts parts; // the parts of the text that a shell reads; with TEMPLATE_QUOTE those of the words, with a BREAK between each two
	struct requirement *requirements;
	size_t nrequirements, requirements_cap;
	// with TEMPLATE_CONTEXT: of each byte of the text in which one byte stands for each replacement string (shell/reader.h)
	unsigned char *marks;
	unsigned *regions;
	// why an item cannot stand where it does; also in `error`
	struct template_refusal refusal;
};

static inline bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// ---- replacement.c ----

// Looks for a name of --plus at `at`, behind the brace or the number, and turns `part`, an ITEM or a COLUMN, into what the name
// stands for. Returns what is behind the name; or NULL if no name is there, or one that a COLUMN cannot have. Skips an expression
// that cannot be used, and appends the reason to template->error.
const char *plus_parse(struct template *template, const struct tokens *tokens, const char *at, struct part *part);

// Frees the replacement and those behind it; it may be NULL.
void replacements_free(struct replacement *replacement);

// ---- read.c ----

// Lets the reader parse the text. Sets the positions of the parts, the requirements, whether the text names FAIRPAR_ITEM and, with
// TEMPLATE_CONTEXT, marks and regions; or a refusal, in template->error too.
void template_read(struct template *template);

// ---- expand.c ----

// Goes through the arguments of the record that an ITEM or a COLUMN stands for. The caller sets the members down to `scratch`;
// the others begin zeroed.
struct part_values {
	const struct part *part;
	const struct record *record;
	uint32_t before;     // arguments of the job in front of the record's
	struct buf *scratch; // used for each value anew; borrowed
	uint32_t n;          // values so far
	const char *at;      // ITEM: the next argument
};

// Sets *ret_value to what becomes of the next argument, borrowed until the next call. Returns false behind the last one.
bool part_next_value(struct part_values *values, struct slice *ret_value);
