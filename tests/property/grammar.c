// Random commands of a shell, each with what it prints: the tables below are the grammar.
//
// A rule has a text and what it prints (a command) or stands for (a word). In both, '@' and a letter stand for a part:
//
//	text      @s  {} or {1}, bare                 @q  the same within random quotes
//	          @w  a word                          @d  what may stand within double quotes
//	          @h  what may stand in an unquoted here-document
//	          @c  a command with its end (; or newline)      @C  the same, the end only if it needs one
//	          @b  a command in backticks          @p  the command that prints its one argument
//	          @U @D @S @B  what only seems to mean something: in a word, "…", '…', a here-document
//	          @E  a new delimiter                 @e @f  the last one, the one before
//	printed   @1 to @9  the value of the first to the ninth of @w @d @h @c @C @b @U @D @S @B
//	          @I  the item      @N  the item, a number, and 1      @( @)  a command substitution
//
// What a command reads as code (eval, sh -c, echo {} | sh), or a variable makes arithmetic, is in no rule: it runs what it is given.

#include "property.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT_TEXT(name, text) text,
const char *const context_names[NCONTEXTS] = {CONTEXTS(CONTEXT_TEXT)};

enum {
	ENDS = 1 << 0,    // contains no other rule
	FILES = 1 << 1,   // the item is part of a file's name
	NO_HERE = 1 << 2, // not in a here-document
};

struct rule {
	unsigned needs; // HAS_…
	enum context context;
	enum wanted wanted;
	unsigned flags;
	const char *text, *printed;
};

#define ANY WANTS_ANY
#define INT WANTS_INTEGER

static const struct rule words[] = {
	{0, CONTEXT_PLAIN, ANY, ENDS, "@s", "@I"},
	{0, CONTEXT_SINGLE, ANY, ENDS, "'@s'", "@I"},
	{0, CONTEXT_DOUBLE, ANY, ENDS, "\"@s\"", "@I"},
	{0, CONTEXT_PLAIN, ANY, ENDS, "a@s", "a@I"},
	{0, CONTEXT_PLAIN, ANY, ENDS, "@sb", "@Ib"},
	{0, CONTEXT_SINGLE, ANY, ENDS, "'@S@s@S'", "@1@I@2"},
	{0, CONTEXT_SECOND, ANY, ENDS, "@s'@s'\"@s\"", "@I@I@I"},
	{0, CONTEXT_SECOND, ANY, ENDS, "@s@s", "@I@I"},
	{0, CONTEXT_ESCAPE, ANY, ENDS, "@U@s@U", "@1@I@2"},
	{0, CONTEXT_LINE, ANY, ENDS, "\\\n@s", "@I"},
	{0, CONTEXT_BACKSLASH, ANY, ENDS, "\\@s", "@I"},
	{0, CONTEXT_DOLLAR, ANY, ENDS, "$@s", "$@I"},
	{HAS_ANSI_QUOTES, CONTEXT_ANSI, ANY, ENDS, "$'@s'", "@I"},
	{HAS_ANSI_QUOTES, CONTEXT_ANSI, ANY, ENDS, "$'a\\'@s\\\\'", "a'@I\\"},
	{HAS_ANSI_QUOTES, CONTEXT_ANSI, ANY, ENDS, "$'\\\\@s'", "\\@I"},
	{HAS_LOCALE_QUOTES, CONTEXT_LOCALE, ANY, ENDS, "$\"@s\"", "@I"},
	{HAS_BRACES, CONTEXT_BRACES, ANY, ENDS, "\"\"{@s,}", "@I"},
	{HAS_BRACES, CONTEXT_BRACES, ANY, ENDS, "@s{,}", "@I@I"},
	{0, CONTEXT_ESCAPE, ANY, 0, "\"@D@d@D\"", "@1@2@3"},
	{0, CONTEXT_DOUBLE, ANY, 0, "\"@d\"@w", "@1@2"},
	{0, CONTEXT_SUBSTITUTION, ANY, 0, "\"$(@C)\"", "@(@1@)"},
	{0, CONTEXT_SUBSTITUTION, ANY, 0, "\"$( @C )\"", "@(@1@)"},
	{0, CONTEXT_BACKTICKS, ANY, 0, "\"@b\"", "@(@1@)"},
	{0, CONTEXT_PARAMETER, ANY, 0, "\"${u:-@d}\"", "@1"},
	{0, CONTEXT_PARAMETER, ANY, 0, "\"${u-a@d}\"", "a@1"},
	{0, CONTEXT_PARAMETER, ANY, 0, "\"${s+@d}\"", "@1"},
	{0, CONTEXT_PARAMETER, ANY, 0, "${u:-@w}", "@1"},
	{0, CONTEXT_TRIM, ANY, 0, "\"${s#@q}\"", "Ss"},
	{0, CONTEXT_TRIM, ANY, 0, "\"${s##@q}\"", "Ss"},
	{0, CONTEXT_TRIM, ANY, 0, "\"${s%%@q}\"", "Ss"},
	{HAS_REPLACEMENT, CONTEXT_REPLACE, ANY, 0, "\"${s/#@q/}\"", "Ss"},
	{HAS_REPLACEMENT, CONTEXT_REPLACE, ANY, 0, "\"${s/S/@q}\"", "@Is"},
	{HAS_REPLACEMENT, CONTEXT_REPLACE, ANY, 0, "\"${s//s/@d}\"", "S@1"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "\"$(( @s + 1 ))\"", "@N"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "$((1 + @s))", "@N"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "\"$(( (@s) + 1 ))\"", "@N"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "$((\"@s\" + 1))", "@N"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "\"$(( 2 > 1 ? @s + 1 : 0 ))\"", "@N"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "\"$((${u:-@s} + 1))\"", "@N"},
	{HAS_DOLLAR_SQUARE, CONTEXT_SQUARE, INT, 0, "\"$[@s+1]\"", "@N"},
	{HAS_DOLLAR_SQUARE, CONTEXT_SQUARE, INT, 0, "$[ 1 + @s ]", "@N"},
	{0, CONTEXT_GLOB, ANY, 0, "@s*.none", "@I*.none"},
	{0, CONTEXT_GLOB, ANY, 0, "\"@d\"[.]none", "@1[.]none"},
	{HAS_FUNSUB, CONTEXT_FUNSUB, ANY, 0, "\"${ @c}\"", "@(@1@)"},
	{0, CONTEXT_LINE, ANY, 0, "\"$\\\n(@C)\"", "@(@1@)"},
	{0, CONTEXT_AMBIGUOUS, ANY, 0, "\"$((@C);@C)\"", "@(@1@2@)"},
	{0, CONTEXT_COMMENT, ANY, 0, "\"$(# it's ) @s\n@C)\"", "@(@1@)"},
	{0, CONTEXT_BARE_CASE, ANY, 0, "\"$(case x in x) @C ;; esac)\"", "@(@1@)"},
	{0, CONTEXT_BARE_CASE, ANY, 0, "\"$(case @w in Q) ;; *) @C\nesac)\"", "@(@2@)"},
	{0, CONTEXT_BARE_CASE, ANY, 0, "\"$(case Qq in @q) @pno ;; Q*) @C ;; esac)\"", "@(@1@)"},
	{0, CONTEXT_NAME, ANY, 0, "\"${@s-@d}\"", "@1"},
	{0, CONTEXT_NAME, ANY, 0, "\"${#@s}\"", "0"},
};

// Within double quotes, and in here-documents whose delimiter is not quoted.
static const struct rule contents[] = {
	{0, CONTEXT_DOUBLE, ANY, ENDS, "@s", "@I"},
	{0, CONTEXT_DOUBLE, ANY, ENDS, "a @s b", "a @I b"},
	{0, CONTEXT_ESCAPE, ANY, ENDS, "\\\\@s", "\\@I"},
	{0, CONTEXT_ESCAPE, ANY, ENDS, "\\$@s", "$@I"},
	{0, CONTEXT_ESCAPE, ANY, ENDS | NO_HERE, "\\\"@s\\\"", "\"@I\""},
	{0, CONTEXT_ESCAPE, ANY, ENDS, "\\`@s\\`", "`@I`"},
	{0, CONTEXT_ESCAPE, ANY, ENDS, "'@s'", "'@I'"},
	{0, CONTEXT_SECOND, ANY, ENDS, "@s@s", "@I@I"},
	{0, CONTEXT_DOLLAR, ANY, ENDS, "$@s", "$@I"},
	{0, CONTEXT_BACKSLASH, ANY, ENDS, "\\@s", "\\@I"},
	{0, CONTEXT_LINE, ANY, ENDS, "a\\\n@s", "a@I"},
	{0, CONTEXT_NESTED, ANY, ENDS, "${u:-'@s'}", "'@I'"},
	{0, CONTEXT_NESTED, ANY, ENDS | NO_HERE, "${u:-\"@s\"}", "@I"},
	{0, CONTEXT_NESTED, ANY, ENDS | NO_HERE, "${u-\"@D\"@s}", "@1@I"},
	{0, CONTEXT_SUBSTITUTION, ANY, 0, "$(@C)", "@(@1@)"},
	{0, CONTEXT_ESCAPE, ANY, 0, "@d$(@C)@D", "@1@(@2@)@3"},
	{0, CONTEXT_BACKTICKS, ANY, 0, "@b", "@(@1@)"},
	{0, CONTEXT_PARAMETER, ANY, 0, "${u:-@d}", "@1"},
	{0, CONTEXT_PARAMETER, ANY, 0, "${s+@d}", "@1"},
	{0, CONTEXT_TRIM, ANY, NO_HERE, "${s#@q}", "Ss"},
	{0, CONTEXT_ARITHMETIC, INT, 0, "$((@s + 1))", "@N"},
	{HAS_DOLLAR_SQUARE, CONTEXT_SQUARE, INT, 0, "$[1 + @s]", "@N"},
	{HAS_FUNSUB, CONTEXT_FUNSUB, ANY, 0, "${ @c}", "@(@1@)"},
};

static const struct rule commands[] = {
	{0, CONTEXT_PLAIN, ANY, 0, "@p@w", "@1"},
	{0, CONTEXT_GROUP, ANY, 0, "{ @c}", "@1"},
	{0, CONTEXT_SUBSHELL, ANY, 0, "(@C)", "@1"},
	{0, CONTEXT_SUBSHELL, ANY, 0, "( @C )", "@1"},
	{0, CONTEXT_PLAIN, ANY, 0, "@c@C", "@1@2"},
	{0, CONTEXT_PIPE, ANY, 0, "{ @c} | cat", "@1"},
	{0, CONTEXT_PIPE, ANY, 0, "@pk|cat; @C", "k@1"},
	{0, CONTEXT_AND_OR, ANY, 0, "{ @c} && { @c}", "@1@2"},
	{0, CONTEXT_AND_OR, ANY, 0, "true || @p@w; @C", "@2"},
	{0, CONTEXT_NEGATED, ANY, 0, "! { @c} || { @c}", "@1@2"},
	{0, CONTEXT_ASSIGNMENT, ANY, 0, "v=@w@l@p\"$v\"", "@1"},
	{0, CONTEXT_ASSIGNMENT, ANY, 0, "v=$(@C) w=@w; @p\"$v$w\"", "@(@1@)@2"},
	{0, CONTEXT_ASSIGNMENT, ANY, 0, "v=@s:@s; @p\"$v\"", "@I:@I"},
	{0, CONTEXT_PREFIX, ANY, 0, "f() { @p\"$v\"; }; v=@w f", "@1"},
	{0, CONTEXT_IF, ANY, 0, "if true; then @c fi", "@1"},
	{0, CONTEXT_IF, ANY, 0, "if false; then @c elif { @c}; then @c else :; fi", "@2@3"},
	{0, CONTEXT_LOOP, ANY, 0, "for v in @w @w; do @p\"<$v>\"; done", "<@1><@2>"},
	{0, CONTEXT_LOOP, ANY, 0, "while true; do @c break; done", "@1"},
	{0, CONTEXT_FUNCTION, ANY, 0, "f() { @p\"$1\"; }; f @w", "@1"},
	{0, CONTEXT_FUNCTION, ANY, 0, "f() { @c}; f", "@1"},
	{0, CONTEXT_FUNCTION, ANY, 0, "f() ( @C ); f", "@1"},
	{0, CONTEXT_SET, ANY, 0, "set -- @w @w; @p\"$2\"", "@2"},
	{0, CONTEXT_SET, ANY, 0, "set -- case @w in esac if; @p\"$2\"", "@1"},
	{0, CONTEXT_CASE, ANY, 0, "case @w in (Q*) @pno;; (*) @C ;; esac", "@2"},
	{0, CONTEXT_BARE_CASE, ANY, 0, "case x in x) @C ;; esac", "@1"},
	{0, CONTEXT_CASE, ANY, 0, "case x in (x) @C ;; esac", "@1"},
	{0, CONTEXT_BARE_CASE, ANY, 0, "case \"@d\" in Q*) @pno;; *) @C\nesac", "@2"},
	{0, CONTEXT_PATTERN, ANY, 0, "case Qq in @q) @pno;; (@q|Q) @pno;; *) @C ;; esac", "@1"},
	{0, CONTEXT_PATTERN, ANY, 0, "case a@s in a@q) @C ;; *) @pno;; esac", "@1"},
	{0, CONTEXT_HERE, ANY, 0, "cat <<@E\n@h\n@e\n", "@1\n"},
	{0, CONTEXT_HERE, ANY, 0, "cat <<@E\n@B\n@s\n@B@h\n@e\n", "@1\n@I\n@2@3\n"},
	{0, CONTEXT_HERE, ANY, 0, "cat <<@E; cat <<@E\n@h\n@f\n@h\n@e\n", "@1\n@2\n"},
	{0, CONTEXT_HERE, ANY, 0, "cat <<@E | cat\n@h\n@e\n", "@1\n"},
	{0, CONTEXT_HERE, ANY, 0, "cat <<@E && @p@s\n@h\n@e\n", "@1\n@I"},
	{0, CONTEXT_COMMENT, ANY, 0, "cat <<@E # it's @s\n@h\n@e\n", "@1\n"},
	{0, CONTEXT_LINE, ANY, 0, "cat <\\\n<@E\n@h\n@e\n", "@1\n"},
	{0, CONTEXT_HERE_QUOTED, ANY, 0, "cat <<'@E'\na @s\n@e\n", "a @I\n"},
	{0, CONTEXT_HERE_QUOTED, ANY, 0, "cat <<\\@E\n@s\n@e\n", "@I\n"},
	{0, CONTEXT_HERE_QUOTED, ANY, 0, "cat <<\"@E\"\n$( ' @s `\n@s\n@e\n", "$( ' @I `\n@I\n"},
	{0, CONTEXT_HERE_TABS, ANY, 0, "cat <<-@E\n\t\ta @h\n\t@e\n", "a @1\n"},
	{0, CONTEXT_HERE_TABS, ANY, 0, "cat <<-@E\n\t@s\n@e\n", "@I\n"},
	{0, CONTEXT_HERE_TABS, ANY, 0, "cat <<-'@E'\n\t@s\n\t@e\n", "@I\n"},
	{0, CONTEXT_HERE_END, ANY, 0, "cat <<@s\nbody\n@s\n", "body\n"},
	{HAS_HERE_STRINGS, CONTEXT_HERE_STRING, ANY, 0, "cat <<<@w", "@1\n"},
	{HAS_HERE_STRINGS, CONTEXT_HERE_STRING, ANY, 0, "cat <<< \"@d\"", "@1\n"},
	{0, CONTEXT_REDIRECTION, ANY, FILES, "@pk >o@s; cat <o@s; rm -f ./o@s", "k"},
	{0, CONTEXT_REDIRECTION, ANY, FILES, "{ @c} >>\"o@s\"; cat <'o@s'; rm -f ./o@s", "@1"},
	{0, CONTEXT_REDIRECTION, ANY, FILES, "@p@w >|o@q; cat <o@q; rm -f -- o@s", "@1"},
	{0, CONTEXT_REDIRECTION, ANY, FILES, "@pk 2>o@s; rm -f o@q", "k"},
	{0, CONTEXT_REDIRECTION, ANY, FILES, "@pk 1<>o@s; cat <o@q; rm -f o@q", "k"},
	{HAS_BOTH, CONTEXT_REDIRECTION, ANY, FILES, "@pk &>o@s; cat <o@s; rm -f o@s", "k"},
	{HAS_BOTH, CONTEXT_BOTH, ANY, FILES, "@pk >&o@q; cat <o@s; rm -f o@s", "k"},
	{HAS_BOTH, CONTEXT_BOTH, ANY, FILES, "@pk 1>& \"o@s\"; cat <o@s; rm -f o@s", "k"},
	{HAS_BOTH, CONTEXT_BOTH, ANY, FILES, "@pk >&./@q.o; cat ./@s.o; rm -f ./@s.o", "k"},
	{0, CONTEXT_BOTH, ANY, FILES, "(@pk 2>&@q); @C", "k@1"},
	{0, CONTEXT_BOTH, ANY, FILES, "(: <&@q); @C", "@1"},
	{HAS_PROCESSES, CONTEXT_PROCESS, ANY, 0, "cat <(@C)", "@1"},
	{HAS_PROCESSES, CONTEXT_PROCESS, ANY, 0, "cat <(@C) <(@p@w)", "@1@2"},
	{0, CONTEXT_COMMENT, ANY, 0, "@pk # @s\n", "k"},
	{0, CONTEXT_COMMENT, ANY, 0, "@C # it's \"@s $( ` (\n@C", "@1@2"},
	{0, CONTEXT_COMMENT, ANY, 0, "# case @s in <<E9\n@C", "@1"},
	{0, CONTEXT_TEST, ANY, 0, "[ a@q = a@q ] && { @c}", "@1"},
	{0, CONTEXT_TEST, ANY, 0, "test -n a@s && { @c}", "@1"},
	{HAS_BRACKETS | HAS_ARRAYS, CONTEXT_BRACKETS, ANY, 0, "[[ @q == @q ]] && { @c}", "@1"}, // busybox sees patterns in spite of quotes
	{HAS_BRACKETS | HAS_ARRAYS, CONTEXT_BRACKETS, ANY, 0, "[[ -n a@s && Qq != @q ]] && { @c}", "@1"},
	{HAS_BRACKETS, CONTEXT_BRACKETS, ANY, 0, "[[ ( @q = Q* ) ]] || { @c}", "@1"},
	{HAS_BRACKETS, CONTEXT_BRACKETS, ANY, 0, "[[ -e @q/none || 1 < a@q ]] && { @c}", "@1"},
	{HAS_BRACKETS, CONTEXT_REGEX, ANY, 0, "[[ Qq =~ @q ]]; @C", "@1"},
	{HAS_BRACKETS, CONTEXT_BRACKETS_NUMBER, INT, 0, "([[ @q -eq 1 ]]); @C", "@1"},
	{HAS_BRACKETS, CONTEXT_BRACKETS_NUMBER, INT, 0, "([[ 1 -lt @q || 3 -ge @q ]]); @C", "@1"},
	{HAS_ARITHMETIC, CONTEXT_COMMAND_ARITHMETIC, INT, 0, "((@s + 1)); @C", "@1"},
	{HAS_ARITHMETIC, CONTEXT_COMMAND_ARITHMETIC, INT, 0, "(( x = (@q) )); @C", "@1"},
	{HAS_ARITHMETIC, CONTEXT_LET, INT, 0, "(let x=@s); @C", "@1"},
	{HAS_ARITHMETIC, CONTEXT_LET, INT, 0, "(let 'x = @s + 1'); @C", "@1"},
	{HAS_FOR, CONTEXT_FOR, INT, 0, "for ((i=@s; i<0; i=0)); do :; done; @C", "@1"},
	{HAS_FOR, CONTEXT_FOR, INT, 0, "for ((;@s+1>1 && 1<0;)) do :; done; @C", "@1"},
	{HAS_ARRAYS, CONTEXT_SUBSCRIPT, INT, 0, "(: \"${a[@s]}\") 2>/dev/null; @C", "@1"},
	{HAS_ARRAYS, CONTEXT_SUBSCRIPT, INT, 0, "(a[@q]=k) 2>/dev/null; @C", "@1"},
	{HAS_ARRAYS, CONTEXT_SUBSCRIPT, INT, 0, "(x=([@s]=1)) 2>/dev/null; @C", "@1"},
	{HAS_REPLACEMENT, CONTEXT_SLICE, INT, 0, "(: \"${s:@s:1}\") 2>/dev/null; @C", "@1"},
	{HAS_REPLACEMENT, CONTEXT_SLICE, INT, 0, "(: ${s:0:@s}) 2>/dev/null; @C", "@1"},
	{0, CONTEXT_ASSIGNMENT, ANY, 0, "export v=\"@d\"; @p\"$v\"", "@1"},
	{0, CONTEXT_AMBIGUOUS, ANY, 0, "((@C); @C)", "@1@2"},
	{0, CONTEXT_NAME, ANY, 0, "(: \"${@s:=x}\"); @C", "@1"},
};

static const struct rule items[] = { // $FAIRPAR_ITEM in place of {}: words, then what is wanted
	{0, CONTEXT_ITEM, ANY, ENDS, "\"$FAIRPAR_ITEM\"", "@I"},
	{0, CONTEXT_ITEM, ANY, ENDS, "\"a${FAIRPAR_ITEM}b\"", "a@Ib"},
};

// What seems to mean something, and what it stands for.
static const char *const decoys_word[][2] = {
	{"", ""}, {"\\'", "'"}, {"\\\"", "\""}, {"\\`", "`"}, {"\\$", "$"}, {"a#b", "a#b"}, {"\\#", "#"}, {"\\\\", "\\"}, {"\\(", "("},
	{"'\"'", "\""}, {"\"'\"", "'"}, {"%", "%"}, {"a=", "a="}, {"\\<\\<E9", "<<E9"}, {"''", ""}, {"\\{", "{"},
};
static const char *const decoys_double[][2] = {
	{"", ""}, {"it's ", "it's "}, {"# ", "# "}, {"a) ", "a) "}, {"\\\\", "\\"}, {"\\$(", "$("}, {"\\`", "`"}, {"(( ", "(( "}, {"<<E9 ", "<<E9 "},
	{"case x in x) ", "case x in x) "}, {"\\\"", "\""}, {"} ", "} "}, {"''", "''"}, {"$ ", "$ "}, {"\\a", "\\a"},
};
static const char *const decoys_single[][2] = {
	{"", ""}, {"\"", "\""}, {"$(", "$("}, {"`", "`"}, {"\\", "\\"}, {"# ", "# "}, {"<<E9 ", "<<E9 "}, {"((", "(("}, {")", ")"}, {"${", "${"}, {"$((", "$(("},
};
static const char *const decoys_here[][2] = {
	{"", ""}, {"it's ", "it's "}, {"\" ", "\" "}, {"a) ", "a) "}, {"# ", "# "}, {"\\$(", "$("}, {"\\\\", "\\"}, {"(( ", "(( "}, {"case x in ", "case x in "},
	{"<<E9 ", "<<E9 "}, {"\\`", "`"}, {"} ", "} "}, {"\\\"", "\\\""}, {"esac ", "esac "},
};

struct builder {
	struct command *command;
	struct tape *tape;
	unsigned features;
	bool has_variable;
	unsigned depth, ndelimiters;
	bool in_here;
};

// The text of a part and what it stands for.
struct part {
	struct text text, printed;
};

static const unsigned depth_max = 5;
static const size_t text_max = 2000;

unsigned tape_pick(struct tape *tape, unsigned n) {
	return (tape->at < tape->len ? tape->bytes[tape->at++] : 0) % n;
}

static void part_free(struct part *part) {
	text_free(&part->text);
	text_free(&part->printed);
}

static bool may_use(const struct builder *builder, const struct rule *rule) {
	const struct command *command = builder->command;
	bool ends = rule->flags & ENDS || (rule->context == CONTEXT_PLAIN && rule->text[0] == '@' && rule->text[1] == 'p');
	if ((builder->depth >= depth_max || command->text.len > text_max) && !ends) {
		return false;
	}
	return (rule->needs & ~builder->features) == 0 && (rule->wanted == WANTS_ANY || command->wanted == WANTS_ANY || command->wanted == rule->wanted)
	       && !(builder->in_here && rule->flags & NO_HERE)
	       && !(rule->context == CONTEXT_GLOB && builder->features & LACKS_GLOB);
}

static const struct rule *pick_rule(struct builder *builder, const struct rule *rules, size_t n) {
	const struct rule *allowed[192];
	unsigned nallowed = 0;
	for (size_t i = 0; i < n; ++i) {
		if (may_use(builder, &rules[i])) {
			allowed[nallowed++] = &rules[i];
		}
	}
	return allowed[tape_pick(builder->tape, nallowed)];
}

static void use_rule(struct builder *builder, const struct rule *rule, struct part *part);

static void build_word(struct builder *builder, struct part *part) {
	const struct rule *rules = words;
	size_t n = sizeof(words) / sizeof(words[0]);
	if (builder->has_variable && tape_pick(builder->tape, 12) == 11) {
		rules = items;
		n = sizeof(items) / sizeof(items[0]);
	}
	bool outer = builder->in_here;
	builder->in_here = false;
	use_rule(builder, pick_rule(builder, rules, n), part);
	builder->in_here = outer;
}

static void build_contents(struct builder *builder, struct part *part, bool in_here) {
	bool outer = builder->in_here;
	builder->in_here = in_here || outer;
	use_rule(builder, pick_rule(builder, contents, sizeof(contents) / sizeof(contents[0])), part);
	builder->in_here = outer;
}

// ended: with what separates it from the next command.
static void build_command(struct builder *builder, struct part *part, bool ended) {
	bool outer = builder->in_here;
	builder->in_here = false;
	use_rule(builder, pick_rule(builder, commands, sizeof(commands) / sizeof(commands[0])), part);
	builder->in_here = outer;
	if (ended && part->text.data[part->text.len - 1] != '\n') {
		text_adds(&part->text, tape_pick(builder->tape, 3) == 2 ? "\n" : "; ");
	}
}

// A command in backticks: within them a backslash stands in front of \, $ and `.
static void build_backticks(struct builder *builder, struct part *part) {
	struct part inner = {0};
	build_command(builder, &inner, false);
	text_adds(&part->text, "`");
	for (size_t i = 0; i < inner.text.len; ++i) {
		if (strchr("\\$`", inner.text.data[i])) {
			text_adds(&part->text, "\\");
		}
		text_add(&part->text, inner.text.data + i, 1);
	}
	text_adds(&part->text, "`");
	text_add(&part->printed, inner.printed.data, inner.printed.len);
	part_free(&inner);
}

#define PICK_DECOY(list) list[tape_pick(builder->tape, sizeof(list) / sizeof(list[0]))]

// Builds the part that a letter stands for. Returns false if the letter stands for none with a value.
static bool build_valued(struct builder *builder, char letter, struct part *part) {
	const char *const *decoy = NULL;
	switch (letter) {
	case 'w': build_word(builder, part); return true;
	case 'd': build_contents(builder, part, false); return true;
	case 'h': build_contents(builder, part, true); return true;
	case 'c': build_command(builder, part, true); return true;
	case 'C': build_command(builder, part, false); return true;
	case 'b': build_backticks(builder, part); return true;
	case 'U': decoy = PICK_DECOY(decoys_word); break;
	case 'D': decoy = builder->in_here ? PICK_DECOY(decoys_here) : PICK_DECOY(decoys_double); break;
	case 'S': decoy = PICK_DECOY(decoys_single); break;
	case 'B': decoy = PICK_DECOY(decoys_here); break;
	default: return false;
	}
	text_adds(&part->text, decoy[0]);
	text_adds(&part->printed, decoy[1]);
	return true;
}

static void build_plain(struct builder *builder, char letter, struct text *text) {
	static const char *const quoted[] = {"@", "\"@\"", "'@'", "\"\"@", "@''"};
	const char *slot = tape_pick(builder->tape, 8) == 7 ? "{1}" : "{}", *form = "@";
	switch (letter) {
	case 'q': form = quoted[tape_pick(builder->tape, 5)]; // fall through
	case 's':
		for (; *form; ++form) {
			*form == '@' ? text_adds(text, slot) : text_add(text, form, 1);
		}
		break;
	case 'p': text_adds(text, builder->features & HAS_PRINT ? "print -rn -- " : "printf %s "); break;
	case 'l': text_adds(text, tape_pick(builder->tape, 2) ? "\n" : "; "); break;
	default: abort();
	}
}

// The text of a rule. Delimiters are numbered; those of one rule are told apart by where they are in it.
static unsigned add_text(struct builder *builder, const struct rule *rule, struct text *text, struct part *parts) {
	unsigned nparts = 0, delimiters[3] = {0}, ndelimiters = 0;
	for (const char *at = rule->text; *at; ++at) {
		if (*at != '@') {
			text_add(text, at, 1);
			continue;
		}
		char letter = *++at;
		if (build_valued(builder, letter, &parts[nparts])) {
			text_add(text, parts[nparts].text.data, parts[nparts].text.len);
			++nparts;
		} else if (letter == 'E') {
			delimiters[ndelimiters++] = ++builder->ndelimiters;
			text_addf(text, "E%u", builder->ndelimiters);
		} else if (letter == 'e' || letter == 'f') {
			text_addf(text, "E%u", delimiters[ndelimiters - (letter == 'e' ? 1 : 2)]);
		} else {
			build_plain(builder, letter, text);
		}
	}
	return nparts;
}

static void use_rule(struct builder *builder, const struct rule *rule, struct part *part) {
	struct command *command = builder->command;
	command->contexts[rule->context] = true;
	command->wanted = rule->wanted == WANTS_ANY ? command->wanted : rule->wanted;
	command->strict |= rule->wanted == WANTS_INTEGER;
	command->names_files |= (rule->flags & FILES) != 0;
	++builder->depth;
	struct part parts[9] = {0};
	unsigned nparts = add_text(builder, rule, &part->text, parts);
	for (const char *at = rule->printed; *at; ++at) {
		if (*at != '@') {
			text_add(&part->printed, at, 1);
		} else if (*++at >= '1' && *at <= '9') {
			const struct text *value = &parts[*at - '1'].printed;
			text_add(&part->printed, value->data, value->len);
		} else {
			text_addf(&part->printed, "\1%c", *at);
		}
	}
	for (unsigned i = 0; i < nparts; ++i) {
		part_free(&parts[i]);
	}
	if (part->text.data && strstr(part->text.data, "((") && rule->wanted != WANTS_INTEGER) {
		command->contexts[CONTEXT_AMBIGUOUS] = true; // also ( and $( with a command behind it that begins with (
	}
	--builder->depth;
}

void command_build(struct command *command, struct tape *tape, unsigned features, bool has_variable) {
	struct builder builder = {.command = command, .tape = tape, .features = features, .has_variable = has_variable};
	struct part part = {0};
	tape->at = 0;
	unsigned how = tape_pick(tape, 4);
	text_adds(&command->text, features & HAS_PRINT ? "s=Ss; print -r -- 'H{#}:'" : "s=Ss; printf '%s\n' 'H{#}:'");
	text_adds(&command->text, how == 3 ? " && {\n" : how == 2 ? "; " : "\n");
	build_command(&builder, &part, true);
	text_add(&command->text, part.text.data, part.text.len);
	text_adds(&command->text, how == 3 ? "} && " : "");
	text_adds(&command->text, features & HAS_PRINT ? "print -r :T" : "printf '%s\n' :T");
	text_add(&command->expected, part.printed.data, part.printed.len);
	part_free(&part);
}

void command_free(struct command *command) {
	text_free(&command->text);
	text_free(&command->expected);
}

bool command_expected(const struct command *command, const char *item, struct text *out) {
	size_t starts[64], nstarts = 0;
	for (const char *at = command->expected.data, *end = at + command->expected.len; at < end; ++at) {
		if (*at != '\1') {
			text_add(out, at, 1);
			continue;
		}
		switch (*++at) {
		case MARK_ITEM: text_adds(out, item); break;
		case MARK_OPEN: starts[nstarts++] = out->len; break;
		case MARK_CLOSE:
			for (--nstarts; out->len > starts[nstarts] && out->data[out->len - 1] == '\n';) {
				out->data[--out->len] = '\0';
			}
			break;
		default:
			if (!item_is_decimal(item)) {
				return false;
			}
			text_addf(out, "%ld", strtol(item, NULL, 10) + 1);
		}
	}
	return true;
}

bool command_is_harmless(const struct command *command) {
	static const enum context harmless[] = {
		CONTEXT_PLAIN, CONTEXT_SINGLE, CONTEXT_DOUBLE, CONTEXT_SUBSTITUTION, CONTEXT_ASSIGNMENT, CONTEXT_GROUP, CONTEXT_SUBSHELL, CONTEXT_PIPE,
		CONTEXT_IF, CONTEXT_LOOP, CONTEXT_FUNCTION, CONTEXT_SET, CONTEXT_AND_OR, CONTEXT_REDIRECTION, CONTEXT_PREFIX, CONTEXT_TEST, CONTEXT_SECOND,
		CONTEXT_CASE, CONTEXT_PARAMETER, CONTEXT_HERE,
	};
	bool rest[NCONTEXTS];
	memcpy(rest, command->contexts, sizeof(rest));
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); ++i) {
		rest[harmless[i]] = false;
	}
	static const bool none[NCONTEXTS];
	return memcmp(rest, none, sizeof(none)) == 0;
}
