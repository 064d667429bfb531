// A command template, parsed once and expanded for each record.

#ifndef FAIRPAR_TEMPLATE_TEMPLATE_H
#define FAIRPAR_TEMPLATE_TEMPLATE_H

#include "base/buf.h"
#include "input/input.h"
#include "template/replacement.h"

struct template;

// What the replacement strings are called: the names of the columns (--header), if there are any, and the tokens, or NULL
// for GNU parallel's.
struct names {
	char **names;
	size_t n;
	const struct tokens *tokens; // borrowed for the parsing
	char **variables;            // of the job's environment, whose values hold items; borrowed, too
	size_t nvariables, nwhole;   // the first of them hold nothing but the item
};

enum template_flags {
	TEMPLATE_APPEND = 1 << 0,  // append " {}" if there is no replacement string (of any kind, as in GNU parallel)
	TEMPLATE_RAW = 1 << 1,     // expands without quoting (--batch-by, --tagstring)
	TEMPLATE_QUOTE = 1 << 2,   // -q: no word means anything to a shell; each is one word of the command
	TEMPLATE_GNU_QUOTES = 1 << 3, // quotes as GNU parallel also inside quotes, where an item can then break out
	TEMPLATE_LITERAL = 1 << 4, // no replacement strings: braces are text, nothing is refused, nothing is appended
	TEMPLATE_OWN_LOCALE = 1 << 7, // the job gets another locale, in which two bytes, one of them ASCII, may be a character
	TEMPLATE_CONTEXT = 1 << 5, // -X: a word with a {} is there once for each argument; see the source
	TEMPLATE_PATH = 1 << 6,    // with TEMPLATE_RAW: what is put in is part of one name of a file (base/pathname.h)
};

// Parses the words, joined by blanks as GNU parallel does. `names` may be NULL. Returns NULL with *ret_error (caller
// frees) for what is refused: Perl expressions {= … =}, and bad expressions of --plus. Unknown braces stay literal.
struct template *template_parse(const char *const *words, size_t nwords, unsigned flags, const struct names *names,
                                char **ret_error);
void template_free(struct template *template);

// Why an item cannot stand where the text of a command has it: a place that shells evaluate, or read in different ways.
struct template_refusal {
	const char *reason, *advice; // static
	size_t at, len;              // what of the text
};

// Returns true, and the refusal, if template_parse() would refuse the text for that.
bool template_is_refused(const char *text, const struct names *names, struct template_refusal *ret_refusal);

// What a template is expanded with.
struct expansion {
	const struct record *record;
	uint64_t seq;      // {#}
	unsigned slot;     // {%}
	unsigned slots;    // how many there are: {0%}
	uint64_t total;    // items of the run, {##}: only where template_needs_total()
};

// Appends the expanded text. Items are quoted for the shell, by the quotes of the template that they stand in, so that
// the shell reads exactly their bytes; but not with TEMPLATE_RAW, and not the one that the command begins with.
void template_expand(const struct template *template, const struct expansion *x, struct buf *buf);

// How many bytes of text stand before the first replacement string and behind the last one; all of it if there is none.
void template_ends(const struct template *template, size_t *ret_head, size_t *ret_tail);

// True if the items may stand where they do: in arithmetic they must be integers, and so on (fairpar(1), ITEMS AND SHELLS).
// Else appends the reason, which names the item.
bool template_permits(const struct template *template, const struct expansion *x, struct buf *ret_why);

// True if there is a replacement string in it, of any kind.
bool template_has_strings(const struct template *template);

// True if the text names the variable FAIRPAR_ITEM, or FAIRPAR_ITEM_1 and so on: the job has them in its environment.
bool template_names_item(const struct template *template);

// True if the template says how many items there are, so that all have to be read before it is expanded.
bool template_needs_total(const struct template *template);

// True if the template takes single arguments: {2}, {name}.
bool template_has_columns(const struct template *template);

// True if an item stands inside quotes of the template and GNU parallel would put quotes of its own there.
bool template_spells_otherwise(const struct template *template, const struct expansion *x);

// True if the item is to be left out: {choose_k}, {uniq}.
bool template_skips(const struct template *template, const struct record *record);

// True if the template has no shell syntax of its own, so that it can be expanded into words and executed directly.
bool template_is_direct(const struct template *template);

// For a direct template: appends each word and a NUL. Returns the number of words.
size_t template_expand_words(const struct template *template, const struct expansion *x, struct buf *buf);

// What the length of an expanded template is made of, as GNU parallel counts it for --max-chars, in bytes.
struct template_measure {
	size_t plain;      // outside of the words that have replacement strings; the blanks too
	size_t context;    // these words without the replacement strings
	uint32_t words;    // how many of them
	uint32_t inserts;  // replacement strings
	uint32_t overhead; // what safer quotes than GNU parallel's add for each argument, at most
	bool doubles;      // … and a second time the arguments
	bool repeats;      // TEMPLATE_CONTEXT
	bool is_direct;
	bool is_quoted;    // -q
};

// Measures the template; with NULL a line that is the command itself.
void template_measure(const struct template *template, struct template_measure *ret_measure);

// The bytes that one more record of a job adds, the blanks and words around its arguments not counted: as GNU parallel
// counts them in *ret_chars, which takes {2} for the second argument of each record; and truly in *ret_real, with `before`
// arguments in front of it.
void template_measure_record(const struct template *template, const struct expansion *x, uint32_t before,
                             size_t *ret_chars, size_t *ret_real);

#endif
