// The inside of a template, for the files in this directory that parse, group, measure and expand it.

#pragma once

#include "template/template.h"

// A piece of a template: text, or a replacement string.
struct part {
	enum {
		LITERAL, // text
		BREAK,   // with TEMPLATE_QUOTE: a word ends here
		GROUP,   // -X: the next `len` parts are repeated for each argument
		ITEM,    // all arguments of the record
		COLUMN,  // one argument of the record
		SEQ,     // the number of the job
		SLOT,    // the number of the job's slot
		TOTAL,   // the number of all jobs
		HOST,    // the machine that the job runs on
		LOGIN,   // the machine that the job runs on, as the user gave it: user, port, command
	} kind;
	enum form form;    // ITEM, COLUMN: what is made of each argument
	const struct replacement *replacement; // the parameters of `form`, or NULL; owned by the template
	unsigned position;    // what surrounds the part, as enum position of shell/quoting.h
	bool is_raw;       // the value is put in without quotes
	bool is_padded;    // SEQ, SLOT: has zeros in front, so that it is as wide as the highest number
	int column;        // COLUMN: from 1; -1: the last argument; 0: an argument that no record has
	bool is_elsewhere; // HOST, LOGIN: the job may run on another machine
	const char *text;  // LITERAL: the text; else the replacement string, for messages. Borrowed from template->text, or static
	size_t len;        // bytes of `text`; GROUP: how many parts behind this part belong to the group
};

// A demand on the values of a part: if a value is not what `needs` says, the job cannot run.
struct requirement {
	struct part part;
	unsigned needs;      // enum need of shell/reader.h
	char delimiter[64];  // NEED_OTHER_LINE: the delimiter of a here-document, which the line must not be
};

struct parts {
	struct part *at;
	size_t n, cap;
};

struct template {
	char *text;         // the words, joined by blanks; with TEMPLATE_QUOTE, each with a NUL behind it
	unsigned flags;     // enum template_flags
	unsigned traits;    // the properties (enum template_trait) that the template has
	const char *bash_syntax; // what template_bash_syntax() returns
	bool chooses, is_unique; // the text has {choose_k}; the text has {uniq}: for template_skips()
	struct replacement *replacements; // the list of all replacements of the parts; owned
	struct buf error;   // why the text is no template; empty: no error
	struct parts parts; // the parts of the text for a shell; with TEMPLATE_QUOTE, the parts of the words, with a BREAK between two words
	struct requirement *requirements;
	size_t nrequirements, requirements_cap;
	// with TEMPLATE_CONTEXT: what the reader found (shell/reader.h) for each byte of the text, where a replacement string is one byte
	unsigned char *marks;
	unsigned *regions;
	// why an item cannot stand where it stands; `error` has the message
	struct template_refusal refusal;
};

static inline bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// ---- replacement.c ----

// Parses a replacement string of --plus; its name begins at `at`, behind the brace or the number. Changes `part`, an ITEM or a COLUMN, into what the
// string stands for. Returns the place behind the string; or NULL if --plus has no such name, or has it only for an ITEM. If the string holds an
// invalid expression, appends the reason to template->error and returns the place behind the string.
const char *plus_parse(struct template *template, const struct tokens *tokens, const char *at, struct part *part);

// Frees the list of replacements, which may be NULL.
void replacements_free(struct replacement *replacement);

// ---- read.c ----

// Parses the text as a shell would (shell/reader.h). Sets the positions of the parts, the requirements, the syntax of bash and, with
// TEMPLATE_CONTEXT, marks and regions. If an item cannot stand where it stands, sets template->refusal and appends a message to `error`.
void template_read(struct template *template);

// ---- expand.c ----

// A walk through the arguments of a record that an ITEM or a COLUMN stands for. The caller sets the members down to `scratch` and
// zeroes the members behind it.
struct part_values {
	const struct part *part;
	const struct record *record;
	uint32_t before;     // how many arguments the job has in front of those of the record
	struct buf *scratch; // memory for the present value; borrowed
	uint32_t n;          // values so far
	const char *at;      // ITEM: the next argument
};

// Sets *ret_value to the next argument in the form of the part, borrowed until the next call. Returns false after the last argument.
bool part_next_value(struct part_values *values, struct slice *ret_value);
