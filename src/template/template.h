// A command template, parsed once and expanded for each record.

#pragma once

#include "base/buf.h"
#include "input/input.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct template;

// The names that a template may use. All are borrowed while it is parsed.
struct names {
	char **names;                // names of the columns (--header, a matrix): {name}
	size_t n;
	const struct tokens *tokens; // the replacement strings, or NULL: GNU parallel's
};

enum template_flags {
	TEMPLATE_APPEND = 1 << 0,  // append " {}" if there is no replacement string (of any kind, as in GNU parallel)
	TEMPLATE_RAW = 1 << 1,     // expands without quoting (--batch-by, --tagstring)
	TEMPLATE_QUOTE = 1 << 2,   // -q: no word means anything to a shell; each is one word of the command
	TEMPLATE_LITERAL = 1 << 3, // no replacement strings: braces are text, nothing is refused, nothing is appended
	TEMPLATE_CONTEXT = 1 << 4, // -X: a word with a {} is repeated for each argument
	TEMPLATE_PATH = 1 << 5,    // with TEMPLATE_RAW: what is put in is part of one name of a file (base/pathname.h)
	TEMPLATE_OWN_LOCALE = 1 << 6, // the job gets another locale, in which two bytes, one of them ASCII, may be a character
};

// Parses the words, joined by blanks as GNU parallel does; unknown braces are text. `names` may be NULL. Returns the template,
// which template_free() frees; or NULL with a message in *ret_error, which the caller frees, for a Perl expression {= … =}, a
// bad expression of --plus, and an item in a place whose quotes cannot be told.
struct template *template_parse(const char *const *words, size_t nwords, unsigned flags, const struct names *names,
                                char **ret_error);

// Frees the template, which may be NULL.
void template_free(struct template *template);

// Why an item cannot stand where the text of a command has it.
struct template_refusal {
	const char *reason, *advice; // static
	size_t at, len;              // the part of the text that is refused
};

// Returns true, and the refusal, if template_parse() would refuse the text because of where an item stands.
bool template_is_refused(const char *text, const struct names *names, struct template_refusal *ret_refusal);

// What a template is expanded with.
struct expansion {
	const struct record *record;
	uint64_t seq;      // {#}
	unsigned slot;     // {%}
	unsigned slots;    // the number of slots, by which {0%} is padded
	uint64_t total;    // jobs of the run, {##}: only with TEMPLATE_NEEDS_TOTAL
	char mark;         // a byte in place of the values of {%}, {0%}, {##} and {0#}, which may differ in another run; NUL: the values
	const char *host, *sshlogin; // {host}, {sshlogin}; NULL where it is not known, or is this machine
	uint32_t before;   // arguments that the job has in front of the record's: {2} counts them too. 0 but for template_length()
};

// Appends the text with its replacement strings expanded. Items are quoted for the shell, according to the quotes of the
// template around them, so that the shell reads exactly their bytes; but not with TEMPLATE_RAW, and not an item that the
// command begins with.
void template_expand(const struct template *template, const struct expansion *x, struct buf *buf);

// Sets the number of bytes of text before the first replacement string and behind the last one; with none, the head is all.
void template_ends(const struct template *template, size_t *ret_head, size_t *ret_tail);

// True if each item is what it must be where it stands: in arithmetic an integer, and so on (fairpar(1), ITEMS AND SHELLS).
// Else appends the reason, which names the item.
bool template_permits(const struct template *template, const struct expansion *x, struct buf *ret_why);

// What a template is, as template_has() tells.
enum template_trait {
	TEMPLATE_HAS_STRINGS = 1 << 0,      // replacement strings of any kind
	TEMPLATE_HAS_COLUMNS = 1 << 1,      // replacement strings that name single columns: {2}, {name}
	TEMPLATE_HAS_ONLY_LISTS = 1 << 2,   // each replacement string, if there are any, stands for all arguments as they are
	TEMPLATE_BEGINS_WITH_ITEM = 1 << 3, // the command begins with an item, so that a shell reads the item as commands
	TEMPLATE_NAMES_ITEM = 1 << 4,       // it names FAIRPAR_ITEM, FAIRPAR_ITEM_1 or the like, which the job then has in its environment
	TEMPLATE_NEEDS_TOTAL = 1 << 5,      // it has the number of all jobs ({##}, {0#}), so that all input must be read before it is expanded
	TEMPLATE_IS_DIRECT = 1 << 6,        // it has no shell syntax, so that it can be expanded into words for execve()
};

// True if the template, which may be NULL, has one of these traits.
bool template_has(const struct template *template, unsigned traits);

// Returns the first syntax of bash in the text that dash and other plain shells do not know or read in another way (static text, as
// "&>"); or NULL.
const char *template_bash_syntax(const struct template *template);

// True if {choose_k} or {uniq} of the template leaves out this record.
bool template_skips(const struct template *template, const struct record *record);

// Appends the words of a direct template, or of one with TEMPLATE_QUOTE, each with a NUL. Returns their number.
size_t template_expand_words(const struct template *template, const struct expansion *x, struct buf *buf);

// Returns the length of what template_expand() would append, or a little more if items travel in variables. If x->before is
// set, the lengths for the records of a job add up to the length for the job, apart from the text that stands for no argument.
size_t template_length(const struct template *template, const struct expansion *x);

// ---- replacement strings: what they are called, and what each makes of an argument ----

// The seven that GNU parallel always has.
enum token {
	TOKEN_ITEM,                   // {}
	TOKEN_NO_EXTENSION,           // {.}
	TOKEN_BASENAME,               // {/}
	TOKEN_DIRNAME,                // {//}
	TOKEN_BASENAME_NO_EXTENSION,  // {/.}
	TOKEN_SEQ,                    // {#}
	TOKEN_SLOT,                   // {%}
	NTOKENS
};

// The names of the tokens, which -I, --er, --bnr and the like change. A token that begins with a brace also names a
// single argument, by the number of that argument behind the brace.
struct tokens {
	const char *name[NTOKENS];    // borrowed; not empty
	bool plus;                    // --plus: many more
	bool elsewhere;               // jobs run on other machines, too: {host} is known only when the job runs
};

extern const struct tokens tokens_default;

// Returns the token whose name stands at `at`, the longest if several do, and the length of that; NTOKENS if there is none. With
// `is_numbered`, `at` is behind the number or the name of an argument ({2/.}): names are compared without their brace, and
// TOKEN_SEQ and TOKEN_SLOT are not looked for.
enum token token_find(const struct tokens *tokens, const char *at, bool is_numbered, size_t *ret_len);

// What is made of an argument.
enum form {
	FORM_WHOLE,
	FORM_NO_EXTENSION,            // in the order of enum token up to here
	FORM_BASENAME,
	FORM_DIRNAME,
	FORM_BASENAME_NO_EXTENSION,
	FORM_DIRECTORY,               // {+/}: what is before the last slash, or nothing
	FORM_EXTENSIONS,              // {+.} {+..} {+...}: the last `n` extensions, or nothing
	FORM_DEFAULT,                 // {:-text}: the text, if the argument is empty or 0
	FORM_PART,                    // {:from}, {:from:n}
	FORM_NO_SHORT_PREFIX,         // {#re}
	FORM_NO_PREFIX,               // {##re}
	FORM_NO_SHORT_SUFFIX,         // {%re}
	FORM_NO_SUFFIX,               // {%%re}
	FORM_REPLACE,                 // {/re/text}, {//re/text}; {/#re/text} and {/%re/text} have the # and the % in the expression
	FORM_UPPER,                   // {^re}, {^^re}
	FORM_LOWER,                   // {,re}, {,,re}
};

// A form with its parameters. Read only once parsed, so several threads may use it.
struct replacement {
	struct replacement *next;     // the next one of the template; or NULL
	enum form form;
	size_t from, n;               // `n`: a number of extensions, or of bytes
	bool all;                     // each match, not only the first
	char *text;                   // the text that the form needs, or NULL; owned
	bool has_regex;
	regex_t regex;
};

struct slice {
	const char *text;
	size_t len;
};

// Returns what the form makes of an argument, which must end with a NUL: a part of the argument, or of the replacement, or of
// `scratch`, which is used anew, or static text. `given` is the replacement with that form; it may be NULL for the forms up to
// FORM_BASENAME_NO_EXTENSION.
struct slice form_apply(enum form form, const struct replacement *given, struct slice argument, struct buf *scratch);
