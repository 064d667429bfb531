// What is wrong in a manifest: collected, then shown in the order of the file with the line and a caret.

#ifndef FAIRPAR_MANIFEST_DIAGNOSTICS_H
#define FAIRPAR_MANIFEST_DIAGNOSTICS_H

#include "base/attr.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A part of a line: libyaml counts characters and takes NEL, LS and PS for line ends too (YAML 1.1 §5.4).
struct source_span {
	uint32_t line, column;  // from 1
	uint32_t width;         // characters, at least 1
};

struct diagnostic {
	struct source_span place;
	bool is_warning;
	size_t order;           // of its discovery
	const char *format;     // of the text: twice at one place, it is the same error
	char *text;             // "unknown key 'foo'"
	char *note;             // behind the caret: "did you mean 'bar'?", or NULL
	char *hint;             // in a line of its own, or NULL
};

struct diagnostics {
	const char *path;       // all borrowed
	const char *data;
	size_t len;
	struct diagnostic *at;
	size_t n, cap;
	size_t nerrors;         // all of them, also those not kept
	size_t nwarnings;
	size_t nrepeats;        // the same again, by an alias or a merge
	struct diagnostic spare;   // stands in for those not kept
};

// Begins a list for the file `path`, whose bytes are `data`; both are borrowed until diagnostics_fini(), which frees the list.
void diagnostics_init(struct diagnostics *diagnostics, const char *path, const char *data, size_t len);
void diagnostics_fini(struct diagnostics *diagnostics);

// Adds an error or a warning at that place. Of more than MANIFEST_ERRORS, and of what is there already, only the number is kept.
// Returns it, never NULL, for a note and a hint, which replace earlier ones; it is valid until the next is added.
struct diagnostic *diagnostic_error(struct diagnostics *diagnostics, struct source_span place, const char *format, ...) FP_PRINTF(3, 4);
struct diagnostic *diagnostic_warning(struct diagnostics *diagnostics, struct source_span place, const char *format, ...) FP_PRINTF(3, 4);
void diagnostic_note(struct diagnostic *diagnostic, const char *format, ...) FP_PRINTF(2, 3);
void diagnostic_hint(struct diagnostic *diagnostic, const char *format, ...) FP_PRINTF(2, 3);

// True if no more errors would be shown, or only the same ones come again and again: the reader stops.
bool diagnostics_are_full(const struct diagnostics *diagnostics);

// Appends all in the order of the file, and the last line if there are errors.
void diagnostics_show(struct diagnostics *diagnostics, struct buf *buf);

// The start of the line of that number, from 1, where lines end with a newline; or the end of the data.
const char *find_line(const char *data, size_t len, size_t line);

// The place of the byte at `offset`.
struct source_span place_of_byte(const char *data, size_t len, size_t offset);

#endif
