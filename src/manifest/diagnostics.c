// The errors and warnings of a manifest: collected, then shown in the order of the file, each with its line and a caret.

#include "manifest/diagnostics.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "manifest/manifest.h"

enum {
	EXCERPT = 100,  // how many columns of a line are shown
	BEFORE = 60,    // how many of these columns are before the caret, at most
	REPEATS = 100,
};

void diagnostics_fini(struct diagnostics *diagnostics) {
	arena_fini(&diagnostics->texts);
	free(diagnostics->at);
}

bool diagnostics_are_full(const struct diagnostics *diagnostics) {
	return diagnostics->nerrors > MANIFEST_ERRORS || diagnostics->nrepeats > REPEATS;
}

static bool is_known(const struct diagnostics *diagnostics, struct source_span span, const char *format) {
	for (size_t i = 0; i < diagnostics->n; ++i) {
		const struct diagnostic *diagnostic = &diagnostics->at[i];
		if (diagnostic->span.line == span.line && diagnostic->span.column == span.column &&
		    diagnostic->format == format) {
			return true;
		}
	}
	return false;
}

// An error at a node to which several aliases or merges lead is reported only once.
struct diagnostic *diagnostic_add(struct diagnostics *diagnostics, struct source_span span, bool is_warning, const char *format, ...) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	BUF_ADD_ARGUMENTS(&text, format);
	bool known = is_known(diagnostics, span, format);
	size_t *n = is_warning ? &diagnostics->nwarnings : &diagnostics->nerrors;
	bool kept = !known && *n < MANIFEST_ERRORS;
	*n += !known;
	diagnostics->nrepeats += known && !is_warning;
	struct diagnostic *diagnostic = &diagnostics->unkept;
	if (kept) {
		diagnostic = NEW_ELEMENT(diagnostics->at, diagnostics->n, diagnostics->cap);
		*diagnostic = (struct diagnostic){.order = diagnostics->n};
	}
	diagnostic->span = span;
	diagnostic->is_warning = is_warning;
	diagnostic->format = format;
	diagnostic->texts = &diagnostics->texts;
	diagnostic->text = arena_text(&diagnostics->texts, buf_str(&text), text.len);
	return diagnostic;
}

void diagnostic_set(struct diagnostic *diagnostic, bool is_hint, const char *format, ...) {
	FP_CLEANUP(buf_fini) struct buf buf = BUF_INIT;
	BUF_ADD_ARGUMENTS(&buf, format);
	*(is_hint ? &diagnostic->hint : &diagnostic->note) = arena_text(diagnostic->texts, buf_str(&buf), buf.len);
}

// ---- lines ----

// Returns the length of the line end at `s`, or 0 if no line ends there; `len` bytes may be read, at least 1.
static size_t break_length(const char *s, size_t len) {
	if ((unsigned char)*s >= ' ' && (unsigned char)*s < 0x80) { // true of most bytes
		return 0;
	}
	if (*s == '\r') {
		return len > 1 && s[1] == '\n' ? 2 : 1;
	}
	if (*s == '\n') {
		return 1;
	}
	if (len > 1 && memcmp(s, "\xC2\x85", 2) == 0) {
		return 2;
	}
	return len > 2 && (memcmp(s, "\xE2\x80\xA8", 3) == 0 || memcmp(s, "\xE2\x80\xA9", 3) == 0) ? 3 : 0;
}

// True at the end of a line or of the data.
static bool is_line_end(const struct diagnostics *diagnostics, size_t at) {
	return at >= diagnostics->len || break_length(diagnostics->data + at, diagnostics->len - at) > 0;
}

// Moves the position behind the character or the line end that is there. A byte that is no UTF-8 counts as a character.
static void move_on(const struct diagnostics *diagnostics, struct source_position *position) {
	const char *s = diagnostics->data + position->at;
	size_t left = diagnostics->len - position->at, n = break_length(s, left);
	if (n > 0) {
		++position->line;
		position->column = 1;
	} else {
		n = utf8_length(s, left);
		n += n == 0;
		++position->column;
	}
	position->at += n;
}

// Returns where to begin a search: at the last position; or, if the last position `is_behind` the wanted position, at the start of the data.
static struct source_position *start_at(struct diagnostics *diagnostics, bool is_behind) {
	if (diagnostics->last.line == 0 || is_behind) {
		diagnostics->last = (struct source_position){0, 1, 1};
	}
	return &diagnostics->last;
}

const char *diagnostics_position(struct diagnostics *diagnostics, uint32_t line, uint32_t column) {
	const struct source_position *last = &diagnostics->last;
	struct source_position *position = start_at(diagnostics, last->line > line || (last->line == line && last->column > column));
	while (position->line < line ? position->at < diagnostics->len
	                             : position->column < column && !is_line_end(diagnostics, position->at)) {
		move_on(diagnostics, position);
	}
	return diagnostics->data + position->at;
}

struct source_span diagnostics_span_of_byte(struct diagnostics *diagnostics, size_t offset) {
	struct source_position *position = start_at(diagnostics, diagnostics->last.at > offset);
	while (position->at < offset) {
		move_on(diagnostics, position);
	}
	return (struct source_span){position->line, position->column, 1};
}

// ---- the excerpt ----

// Appends one character to `line`, escaped if it could control a terminal, and to `under` a `mark` for each column. Returns its length in bytes.
static size_t add_character(const char *s, size_t len, char mark, struct buf *line, struct buf *under) {
	size_t n = utf8_length(s, len);
	if (*s == '\t') {
		buf_addc(line, '\t');
		buf_addc(under, mark == ' ' ? '\t' : mark);
		return 1;
	}
	size_t before = line->len;
	bool is_shown = n > 1 ? n != 2 || memcmp(s, "\xC2\xA0", 2) >= 0 : n == 1 && *s >= ' ' && *s != 0x7F;
	if (is_shown) {
		buf_add(line, s, n);
	} else {
		buf_add_escaped(line, s, n > 0 ? n : 1, 16);
	}
	size_t width = is_shown ? text_columns(s, n) : line->len - before;
	for (size_t i = 0; i < width; ++i) {
		buf_addc(under, mark);
	}
	return n > 0 ? n : 1;
}

// Appends the part of the line that the diagnostic is about, a caret below it, and the note and the hint.
static void add_excerpt(struct diagnostics *diagnostics, const struct diagnostic *diagnostic, struct buf *buf) {
	const struct source_span *span = &diagnostic->span;
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT, under = BUF_INIT;
	uint32_t from = span->column > BEFORE ? span->column - BEFORE : 1;
	size_t at = (size_t)(diagnostics_position(diagnostics, span->line, from) - diagnostics->data);
	if (from > 1) {
		buf_adds(&line, "...");
		buf_adds(&under, "   ");
	}
	for (uint32_t column = from; column < from + EXCERPT && !is_line_end(diagnostics, at); ++column) {
		bool is_marked = column >= span->column && column - span->column < span->width;
		at += add_character(diagnostics->data + at, diagnostics->len - at, is_marked ? '^' : ' ', &line, &under);
	}
	buf_adds(&line, is_line_end(diagnostics, at) ? "" : "...");
	if (!under.data || !strchr(under.data, '^')) { // the span is at the end of the line, where no character stands
		buf_addc(&under, '^');
	}
	while (under.data[under.len - 1] == ' ' || under.data[under.len - 1] == '\t') {
		under.data[--under.len] = '\0';
	}
	char number[16];
	int gutter = snprintf(number, sizeof(number), "%u", span->line);
	if (line.len > 0) {
		buf_printf(buf, "%*s |\n%s | %s\n%*s | %s", gutter, "", number, buf_str(&line), gutter, "", buf_str(&under));
		buf_printf(buf, "%s%s\n", diagnostic->note ? " " : "", diagnostic->note ? diagnostic->note : "");
	}
	if (diagnostic->hint) {
		buf_printf(buf, "%*s = hint: %s\n", gutter, "", diagnostic->hint);
	}
}

static int compare(const void *a, const void *b) {
	const struct diagnostic *x = a, *y = b;
	int by_line = compare_numbers(x->span.line, y->span.line), by_column = compare_numbers(x->span.column, y->span.column);
	return by_line ? by_line : by_column ? by_column : compare_numbers(x->order, y->order);
}

void diagnostics_show(struct diagnostics *diagnostics, struct buf *buf) {
	if (diagnostics->n > 1) {
		qsort(diagnostics->at, diagnostics->n, sizeof(diagnostics->at[0]), compare);
	}
	for (size_t i = 0; i < diagnostics->n; ++i) {
		const struct diagnostic *diagnostic = &diagnostics->at[i];
		const struct source_span *span = &diagnostic->span;
		buf_add_escaped(buf, diagnostics->path, strlen(diagnostics->path), SIZE_MAX);
		buf_printf(buf, ":%u:%u: %s: %s\n", span->line, span->column,
		           diagnostic->is_warning ? "warning" : "error", diagnostic->text);
		add_excerpt(diagnostics, diagnostic, buf);
	}
	if (diagnostics->nerrors == 0) {
		return;
	}
	bool more = diagnostics->nerrors > MANIFEST_ERRORS;
	size_t n = more ? MANIFEST_ERRORS : diagnostics->nerrors;
	buf_printf(buf, "fairpar: %s%zu error%s in ", more ? "more than " : "", n, n > 1 ? "s" : "");
	buf_add_escaped(buf, diagnostics->path, strlen(diagnostics->path), SIZE_MAX);
	buf_adds(buf, ", nothing was run\n");
}
