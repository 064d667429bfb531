// Expands a parsed template for a record: as text for a shell, or as words.

#include "template/internal.h"

#include "base/pathname.h"
#include "shell/quoting.h"

#include <string.h>

// Returns the argument of the record at `*at`, which moves to the next argument.
static struct slice next_arg(const struct record *record, const char **at) {
	struct slice arg = {*at, 0};
	// the NUL of a single argument is known to be the last byte
	arg.len = record->nargs == 1 ? record->size - 1 : strlen(*at);
	*at += arg.len + 1;
	return arg;
}

// Sets *ret_arg to the argument that a COLUMN names. Returns false if the record has no such argument.
static bool find_column(const struct part *part, const struct record *record, uint32_t before, struct slice *ret_arg) {
	int64_t n = part->column > 0 ? part->column - (int64_t)before : part->column < 0 ? (int64_t)record->nargs + part->column + 1 : 0;
	if (n < 1 || n > record->nargs) {
		return false;
	}
	const char *at = record->args;
	for (int64_t i = 0; i < n; ++i) {
		*ret_arg = next_arg(record, &at);
	}
	return true;
}

bool part_next_value(struct part_values *values, struct slice *ret_value) {
	const struct part *part = values->part;
	struct slice arg;
	if (part->kind == ITEM && values->n < values->record->nargs) {
		values->at = values->n == 0 ? values->record->args : values->at;
		arg = next_arg(values->record, &values->at);
	} else if (part->kind != COLUMN || values->n > 0 || !find_column(part, values->record, values->before, &arg)) {
		return false;
	}
	++values->n;
	*ret_value = part->form == FORM_WHOLE ? arg : form_apply(part->form, part->replacement, arg, values->scratch);
	return true;
}

// Returns the number of a SEQ, SLOT or TOTAL, written into `digits`, with leading zeros if the part is padded. If x->mark is set
// and the number may differ in another run, returns the byte x->mark in its place.
static struct slice part_number(const struct part *part, const struct expansion *x, char digits[20]) {
	uint64_t n = part->kind == SEQ ? x->seq : part->kind == SLOT ? x->slot : x->total;
	uint64_t most = !part->is_padded ? 0 : part->kind == SEQ ? x->total : x->slots;
	char *end = digits + 20, *at = end;
	if (x->mark && (part->kind != SEQ || part->is_padded)) {
		digits[0] = x->mark;
		return (struct slice){digits, 1};
	}
	do {
		*--at = (char)('0' + n % 10);
		n /= 10;
		most /= 10;
	} while (n > 0 || most > 0);
	return (struct slice){at, (size_t)(end - at)};
}

// What a template is being expanded into: text for a shell, or words for execve().
struct expand_writer {
	bool are_words;
	struct buf *buf;
	struct buf scratch;     // memory for the value of a part
	struct buf assignments; // assignments of the variables that hold items; they go in front of the text
	unsigned nvariables;    // how many items are in variables so far
	bool is_path;        // TEMPLATE_PATH
	bool is_raw;         // TEMPLATE_RAW
	size_t nwords;       // words that have ended so far
	bool is_word;        // a word has begun and not ended
	bool keeps_empty;    // -q: an empty word is a word, too
};

static void end_word(struct expand_writer *writer) {
	if (writer->is_word) {
		buf_add(writer->buf, "", 1);
		++writer->nwords;
	}
	writer->is_word = writer->keeps_empty;
}

static void add_text(struct expand_writer *writer, const char *text, size_t len) {
	buf_add(writer->buf, text, len);
	writer->is_word = true;
}

// Adds text of the template. If the writer makes words, splits the text at its blanks, except with -q.
static void add_literal(struct expand_writer *writer, const char *text, size_t len) {
	const char *end = text + len;
	while (writer->are_words && !writer->keeps_empty && text < end) {
		for (; text < end && (*text == ' ' || *text == '\t'); ++text) {
			end_word(writer);
		}
		const char *word = text;
		while (text < end && *text != ' ' && *text != '\t') {
			++text;
		}
		if (text > word) {
			add_text(writer, word, (size_t)(text - word));
		}
	}
	if (text < end || len == 0) {
		add_text(writer, text, (size_t)(end - text));
	}
}

// Adds what stands between two arguments: the end of a word, or a blank.
static void add_separator(struct expand_writer *writer) {
	if (writer->are_words) {
		end_word(writer);
	} else {
		add_text(writer, " ", 1);
	}
}

static void add_value(struct expand_writer *writer, const struct part *part, unsigned position, struct slice value) {
	if (writer->are_words) {
		add_text(writer, value.text, value.len);
	} else if (!part->is_raw && quoting_needs_variable(position, value.text, value.len)) {
		++writer->nvariables;
		quoting_add_assignment(&writer->assignments, writer->nvariables, value.text, value.len);
		quoting_add_variable(writer->buf, position, writer->nvariables);
	} else if (writer->is_path) {
		pathname_add(writer->buf, value.text, value.len);
	} else if (part->is_raw) {
		buf_add(writer->buf, value.text, value.len);
	} else {
		quoting_add(writer->buf, position, value.text, value.len);
	}
}

// Adds all arguments of an ITEM in one go, which is fast for thousands of them. Returns false, and adds nothing, if the arguments
// must be added one by one: fewer than two, in another form than FORM_WHOLE, in quotes, raw or part of a path.
static bool expand_list(struct expand_writer *writer, const struct part *part, const struct record *record) {
	if (part->kind != ITEM || part->form != FORM_WHOLE || record->nargs < 2) {
		return false;
	}
	if (writer->are_words) {
		add_text(writer, record->args, record->size - 1);
		writer->nwords += record->nargs - 1;
		return true;
	}
	if (part->position == POSITION_PLAIN && !part->is_raw && !writer->is_path) {
		shell_quote_words(writer->buf, record->args, record->size);
		return true;
	}
	return false;
}

// Adds the values of an ITEM or a COLUMN.
static void expand_values(struct expand_writer *writer, const struct part *part, const struct record *record, uint32_t before) {
	if (expand_list(writer, part, record)) {
		return;
	}
	struct part_values values = {.part = part, .record = record, .before = before, .scratch = &writer->scratch};
	unsigned position = part->position, apart = POSITION_ESCAPED | POSITION_DOLLAR;
	for (struct slice value; part_next_value(&values, &value);) {
		if (values.n > 1) {
			add_separator(writer);
		}
		add_value(writer, part, values.n > 1 ? position & ~apart : position, value); // only the first value has no blank before it
	}
	if (values.n == 0 && ((position & apart) || (writer->is_path && part->kind == COLUMN))) {
		add_value(writer, part, position, (struct slice){"", 0});
	}
}

// Adds the value of a HOST or a LOGIN if it is known; else GNU parallel's variable, or ":" if all jobs run on this machine. In text
// for a shell the variable also replaces a value that a shell might read as syntax, such as a LOGIN that is a whole ssh command.
static void expand_machine(struct expand_writer *writer, const struct part *part, const struct expansion *x) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@%";
	const char *variable = !part->is_elsewhere ? ":" : part->kind == HOST ? "${PARALLEL_SSHHOST}" : "${PARALLEL_SSHLOGIN}";
	const char *text = part->kind == HOST ? x->host : x->sshlogin;
	text = text ? text : variable;
	if (writer->is_path) {
		pathname_add(writer->buf, text, strlen(text));
	} else {
		bool is_safe = writer->are_words || writer->is_raw || text[strspn(text, plain)] == '\0';
		add_text(writer, is_safe ? text : variable, strlen(is_safe ? text : variable));
	}
}

static void expand_part(struct expand_writer *writer, const struct part *part, const struct expansion *x) {
	char digits[20];
	switch (part->kind) {
	case LITERAL:
		add_literal(writer, part->text, part->len);
		return;
	case BREAK:
		end_word(writer);
		return;
	case GROUP:
		return;
	case ITEM:
	case COLUMN:
		expand_values(writer, part, x->record, x->before);
		return;
	case SEQ:
	case SLOT:
	case TOTAL:
		add_value(writer, part, part->position, part_number(part, x, digits));
		return;
	case HOST:
	case LOGIN:
		expand_machine(writer, part, x);
		return;
	}
}

// Adds the `n` parts once for each argument, and once if the record has no arguments.
static void expand_group(struct expand_writer *writer, const struct part *parts, size_t n, const struct expansion *x) {
	if (n == 1 && expand_list(writer, parts, x->record)) {
		return;
	}
	const char *at = x->record->args;
	struct expansion each = *x;
	each.before = 0; // {2} in a word that -X repeats counts the arguments of this record only
	for (uint32_t k = 0; k == 0 || k < x->record->nargs; ++k) {
		struct record one = {.args = at, .nargs = x->record->nargs > 0};
		one.size = one.nargs > 0 ? next_arg(x->record, &at).len + 1 : 0;
		if (k > 0) {
			add_separator(writer);
		}
		for (size_t i = 0; i < n; ++i) {
			if (parts[i].kind == ITEM) {
				expand_values(writer, &parts[i], &one, 0);
			} else {
				expand_part(writer, &parts[i], &each);
			}
		}
	}
}

static void expand_parts(struct expand_writer *writer, const struct parts *parts, const struct expansion *x) {
	for (size_t i = 0; i < parts->n; ++i) {
		const struct part *part = &parts->at[i];
		if (part->kind == GROUP) {
			expand_group(writer, part + 1, part->len, x);
			i += part->len;
		} else {
			expand_part(writer, part, x);
		}
	}
	buf_fini(&writer->scratch);
}

unsigned template_expand(const struct template *template, const struct expansion *x, struct buf *buf) {
	if (template->flags & TEMPLATE_QUOTE) {
		FP_CLEANUP(buf_fini) struct buf words = BUF_INIT; // each word is quoted as a whole, so that a shell reads the same words
		template_expand_words(template, x, &words);
		shell_quote_words(buf, words.data, words.len);
		return 0;
	}
	buf_reserve(buf, 0);
	size_t start = buf->len;
	struct expand_writer writer = {.buf = buf, .is_path = template->flags & TEMPLATE_PATH,
	                               .is_raw = template->flags & TEMPLATE_RAW};
	expand_parts(&writer, &template->parts, x);
	if (writer.nvariables > 0) {
		buf_add(&writer.assignments, buf->data + start, buf->len - start);
		buf->len = start;
		buf_add(buf, writer.assignments.data, writer.assignments.len);
		buf_fini(&writer.assignments);
	}
	return writer.nvariables;
}

size_t template_length(const struct template *template, const struct expansion *x) {
	enum { DIGITS = 2 * 6 }; // bytes by which the number in a variable's name may get longer, in the assignment and in the use together
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	unsigned nvariables = template_expand(template, x, &text);
	return text.len + nvariables * DIGITS;
}

void template_ends(const struct template *template, size_t *ret_head, size_t *ret_tail) {
	const struct parts *parts = &template->parts;
	size_t first = 0;
	*ret_head = *ret_tail = 0;
	for (; first < parts->n && parts->at[first].kind == LITERAL; ++first) {
		*ret_head += parts->at[first].len;
	}
	for (size_t i = parts->n; i > first && parts->at[i - 1].kind == LITERAL; --i) {
		*ret_tail += parts->at[i - 1].len;
	}
}

bool template_skips(const struct template *template, const struct record *record) {
	bool rises = true, is_unique = true;
	const char *a = record->args;
	for (uint32_t i = 1; i < record->nargs && (template->chooses || template->is_unique); ++i, a += strlen(a) + 1) {
		const char *b = a + strlen(a) + 1;
		rises = rises && strcmp(a, b) < 0;
		for (uint32_t k = i; k < record->nargs && is_unique; ++k, b += strlen(b) + 1) {
			is_unique = strcmp(a, b) != 0;
		}
	}
	return (template->chooses && !rises) || (template->is_unique && !is_unique);
}

size_t template_expand_words(const struct template *template, const struct expansion *x, struct buf *buf) {
	bool is_quoted = template->flags & TEMPLATE_QUOTE;
	struct expand_writer writer = {.are_words = true, .buf = buf, .is_word = is_quoted, .keeps_empty = is_quoted};
	expand_parts(&writer, &template->parts, x);
	if (template->parts.n > 0) {
		end_word(&writer);
	}
	return writer.nwords;
}
