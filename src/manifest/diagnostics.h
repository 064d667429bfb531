// The errors and warnings of a manifest: collected, then shown in the order of the file, each with its line and a caret.

#pragma once

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A part of a line. Lines and columns are counted as libyaml counts: in characters; NEL, LS and PS also end a line (YAML 1.1 §5.4).
struct source_span {
	uint32_t line, column;  // from 1
	uint32_t width;         // characters, at least 1
};

struct diagnostic {
	struct source_span span;
	bool is_warning;
	size_t order;           // the number of this diagnostic, in the order in which diagnostics were added
	const char *format;     // the format of `text`: two diagnostics with the same format and the same span are the same error
	struct arena *texts;    // owns the texts below
	const char *text;       // "unknown key 'foo'"
	const char *note;       // shown behind the caret: "did you mean 'bar'?"; or NULL
	const char *hint;       // shown on a line of its own; or NULL
};

// A byte of the file, and the line and column that it is in.
struct source_position {
	size_t at;
	uint32_t line, column;
};

// The diagnostics of a file. The caller sets path, data and len, which are borrowed until diagnostics_fini(), and zeroes the
// other members.
struct diagnostics {
	const char *path;
	const char *data;
	size_t len;
	struct arena texts;
	struct diagnostic *at;
	size_t n, cap;
	size_t nerrors;         // all errors, also those that are not kept
	size_t nwarnings;
	size_t nrepeats;        // errors that were added again, at nodes that several aliases or merges lead to
	struct diagnostic unkept;   // what diagnostic_add() returns for a diagnostic that is not kept
	struct source_position last; // the position that was looked up last
};

// Frees what the diagnostics own.
void diagnostics_fini(struct diagnostics *diagnostics);

// Adds an error or a warning at that span. After MANIFEST_ERRORS errors (or warnings) a further error is only counted; the same error
// at the same span is only counted as a repeat. Returns the diagnostic, never NULL and valid until the next call. diagnostic_note()
// and diagnostic_hint() set or replace its note and its hint.
#define diagnostic_error(diagnostics, span, ...) diagnostic_add(diagnostics, span, /* is_warning */ false, __VA_ARGS__)
#define diagnostic_warning(diagnostics, span, ...) diagnostic_add(diagnostics, span, /* is_warning */ true, __VA_ARGS__)
struct diagnostic *diagnostic_add(struct diagnostics *diagnostics, struct source_span span, bool is_warning, const char *format, ...)
	FP_PRINTF(4, 5);
#define diagnostic_note(diagnostic, ...) diagnostic_set(diagnostic, /* is_hint */ false, __VA_ARGS__)
#define diagnostic_hint(diagnostic, ...) diagnostic_set(diagnostic, /* is_hint */ true, __VA_ARGS__)
void diagnostic_set(struct diagnostic *diagnostic, bool is_hint, const char *format, ...) FP_PRINTF(3, 4);

// True if there are more errors than are shown, or too many repeats: then the manifest is not read further.
bool diagnostics_are_full(const struct diagnostics *diagnostics);

// Appends all diagnostics that were kept, in the order of the file, and if there are errors a last line with their number.
void diagnostics_show(struct diagnostics *diagnostics, struct buf *buf);

// Returns the byte of the data at that line and column (both from 1); the end of the line if the line is shorter, the end of the
// data if the data has fewer lines.
const char *diagnostics_position(struct diagnostics *diagnostics, uint32_t line, uint32_t column);

// Returns the line and column of the byte at that offset in the data, with a width of 1.
struct source_span diagnostics_span_of_byte(struct diagnostics *diagnostics, size_t offset);
