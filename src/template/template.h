// A command template, parsed once and expanded for each record.

#pragma once

#include "base/buf.h"
#include "input/input.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct template;

// The names that a template may use. All are borrowed while the template is parsed.
struct names {
	char **names;                // names of the columns (--header, a matrix): {name}
	size_t n;
	const struct tokens *tokens; // the replacement strings, or NULL: GNU parallel's
};

enum template_flags {
	TEMPLATE_APPEND = 1 << 0,  // append " {}" if there is no replacement string (of any kind, as in GNU parallel)
	TEMPLATE_RAW = 1 << 1,     // expands without quoting (--batch-by, --tagstring)
	TEMPLATE_QUOTE = 1 << 2,   // -q: the words have no meaning to a shell; each is one word of the command
	TEMPLATE_LITERAL = 1 << 3, // no replacement strings: braces are text, nothing is refused, nothing is appended
	TEMPLATE_CONTEXT = 1 << 4, // -X: a word with a {} is repeated for each argument
	TEMPLATE_PATH = 1 << 5,    // with TEMPLATE_RAW: each value is put in as a part of a single file name (base/pathname.h)
	TEMPLATE_OWN_LOCALE = 1 << 6, // the job gets another locale, in which an ASCII byte may be the second half of a character
};

// Parses the words, joined by blanks as GNU parallel does; unknown braces are text. `names` may be NULL. Returns the template,
// which template_free() frees; or NULL with a message in *ret_error, which the caller frees: the text has a Perl expression
// {= … =} or a bad expression of --plus, or an item stands where no item can stand (struct template_refusal).
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
	char mark;         // put in place of {%}, {0%}, {##} and {0#}, whose values may differ in another run; NUL: the values are put in
	const char *host, *sshlogin; // {host}, {sshlogin}; NULL if the machine is not known, or is this machine
	uint32_t before;   // how many arguments the job has in front of those of the record: {2} counts them, too. 0 except for template_length()
};

// Appends the text with its replacement strings expanded. Each item is quoted to fit the quotes of the template around it, so that the shell reads
// exactly the bytes of the item. With TEMPLATE_RAW no item is quoted, and an item at the very beginning of the command is never quoted. Returns how
// many items are passed in variables.
unsigned template_expand(const struct template *template, const struct expansion *x, struct buf *buf);

// Sets *ret_head and *ret_tail to the bytes of text in front of the first and behind the last replacement string; without such strings all is head.
void template_ends(const struct template *template, size_t *ret_head, size_t *ret_tail);

// Returns true if each item may stand where the template puts it: in arithmetic an item must be an integer, and so on (fairpar(1),
// ITEMS AND SHELLS). Else returns false and appends the reason, which names the item.
bool template_permits(const struct template *template, const struct expansion *x, struct buf *ret_why);

// Properties of a template, for template_has().
enum template_trait {
	TEMPLATE_HAS_STRINGS = 1 << 0,      // replacement strings of any kind
	TEMPLATE_HAS_COLUMNS = 1 << 1,      // replacement strings that name single columns: {2}, {name}
	TEMPLATE_HAS_ONLY_LISTS = 1 << 2,   // each replacement string, if there are any, stands for all arguments as they are
	TEMPLATE_BEGINS_WITH_ITEM = 1 << 3, // the command begins with an item, which a shell therefore reads as commands
	TEMPLATE_NAMES_ITEM = 1 << 4,       // the text names FAIRPAR_ITEM, FAIRPAR_ITEM_1 or the like: the job gets these variables
	TEMPLATE_NEEDS_TOTAL = 1 << 5,      // {##} or {0#} needs the number of all jobs: all input must be read before the template is expanded
	TEMPLATE_IS_DIRECT = 1 << 6,        // the text has no shell syntax: it can be expanded into words for execve()
};

// True if the template, which may be NULL, has one of these traits.
bool template_has(const struct template *template, unsigned traits);

// Returns the first syntax of bash in the text that dash and other plain shells do not know, or read in another way; or NULL. The
// result is static text, for example "&>".
const char *template_bash_syntax(const struct template *template);

// True if {choose_k} or {uniq} of the template leaves out this record.
bool template_skips(const struct template *template, const struct record *record);

// Appends the words of the template, each with a NUL. Returns their number. The template is direct or has TEMPLATE_QUOTE.
size_t template_expand_words(const struct template *template, const struct expansion *x, struct buf *buf);

// Returns how many bytes template_expand() would append, or a little more if variables hold items. With x->before set, the lengths
// for the single records of a job add up to the length for the job, if the text around the arguments is counted once.
size_t template_length(const struct template *template, const struct expansion *x);

// ---- replacement strings: what they are called, and what each makes of an argument ----

// The seven replacement strings that GNU parallel always has.
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

// The names of the replacement strings, which -I, --er, --bnr and the like change. With a number behind its brace, a name
// stands for a single argument: {2/} is {/} of the second argument.
struct tokens {
	const char *name[NTOKENS];    // borrowed; not empty
	bool plus;                    // --plus: there are many more replacement strings
	bool elsewhere;               // jobs run on other machines, too: {host} is known only when the job runs
};

extern const struct tokens tokens_default;

// Returns the token with the longest name that stands at `at`, and in *ret_len the length of the name; NTOKENS if no name stands
// there. With `is_numbered`, `at` is behind the number or the name of an argument ({2/.}): names are compared without their brace,
// and TOKEN_SEQ and TOKEN_SLOT are not looked for.
enum token token_find(const struct tokens *tokens, const char *at, bool is_numbered, size_t *ret_len);

// What is made of an argument.
enum form {
	FORM_WHOLE,                   // the first five are in the order of enum token
	FORM_NO_EXTENSION,
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
	FORM_REPLACE,                 // {/re/text}, {//re/text}; for {/#re/text} and {/%re/text} the expression is anchored
	FORM_UPPER,                   // {^re}, {^^re}
	FORM_LOWER,                   // {,re}, {,,re}
};

// A form with its parameters. Never changed after parsing, so several threads may use it.
struct replacement {
	struct replacement *next;     // the next replacement of the template; or NULL
	enum form form;
	size_t from, n;               // `n`: a number of extensions, or of bytes
	bool all;                     // changes each match, not only the first
	char *text;                   // the text that the form needs, or NULL; owned
	bool has_regex;
	regex_t regex;
};

struct slice {
	const char *text;
	size_t len;
};

// Returns what the form makes of an argument, which must end with a NUL. The result points into the argument, the replacement,
// `scratch` (which is overwritten) or static text. `given` is the replacement with that form, and may be NULL for the forms up to
// FORM_BASENAME_NO_EXTENSION.
struct slice form_apply(enum form form, const struct replacement *given, struct slice argument, struct buf *scratch);
