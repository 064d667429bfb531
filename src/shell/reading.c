// Reads the whole text of a command: twice, for what is set behind its use. And what in it counts wherever it stands.

#include "shell/reader_internal.h"

#include "base/alloc.h"

#include <string.h>

// Text in which items had better be variables.
static bool is_intricate(const struct reading *reading) {
	bool is_escaped = false;
	char before = '\0';
	for (size_t i = 0; i < reading->len; ++i) {
		char c = reading->text[i];
		if (c == '`' || (before == '$' && (c == '{' || c == '\'')) || (before == '<' && c == '<')) {
			return true;
		}
		is_escaped = c == '\\' && !is_escaped;
		before = is_escaped ? '\0' : c;
	}
	return memmem(reading->text, reading->len, "esac", 4) != NULL;
}

// The first byte that may be half a character.
static size_t find_multibyte(const struct reading *reading) {
	for (size_t i = 1; reading->is_multibyte && i < reading->len; ++i) {
		if ((reading->text[i - 1] & 0x80) && reading->text[i] != '\0' && strchr("\\`[]{}|~^", reading->text[i])) {
			return i;
		}
	}
	return SIZE_MAX;
}

// The first line that goes on in the next (POSIX XCU 2.2.1) where an operator or the name of a variable may go on, too.
static size_t find_continuation(const struct reading *reading) {
	const char *text = reading->text;
	for (size_t i = 1; i + 2 < reading->len; ++i) {
		if (text[i] != '\\' || text[i + 1] != '\n' || (text[i + 2] != '\0' && strchr(" \t\n", text[i + 2]))) {
			continue;
		}
		size_t start = i;
		while (start > 0 && reader_is_name(text[start - 1])) {
			--start;
		}
		if (start > 0 && text[start - 1] != '\0' && strchr(start == i ? "$<>&|;({[#!?*@-" : "$", text[start - 1])) {
			return i;
		}
	}
	return SIZE_MAX;
}

void reader_read(struct reading *reading) {
	struct reader r = {.reading = reading};
	reading->is_intricate = is_intricate(reading);
	for (size_t i = 0; i < reading->nvariables; ++i) {
		reader_variable(&r, reading->variables[i], i >= reading->nwhole);
	}
	for (int pass = 0; pass < 2 && !reading->refusal; ++pass) { // what is set behind its use is known to the second
		r = (struct reader){
			.reading = reading, .text = reading->text, .len = reading->len, .multibyte_at = find_multibyte(reading),
			.continued_at = find_continuation(reading),
			.flows = r.flows, .nflows = r.nflows, .flows_cap = r.flows_cap,
			.known = r.known, .nknown = r.nknown, .known_cap = r.known_cap, .apart_at = SIZE_MAX, .statement = 1,
		};
		reader_list(&r, '\0');
		reader_set_region(&r, 0);
		for (size_t i = 0; i < reading->nitems; ++i) {
			const struct read_item *item = &reading->items[i];
			if (!item->is_read) { // behind what the reader could not end
				reader_refuse(&r, i, "the text before it cannot be followed to this place", "write a script");
			}
		}
	}
	bool is_derived = false;
	for (size_t i = 0; i < reading->nitems; ++i) {
		is_derived = is_derived || (reading->items[i].needs & NEED_DERIVED);
	}
	for (size_t i = 0; is_derived && i < r.nflows; ++i) { // a value that is derived may name any variable
		reading->items[r.flows[i].item].needs |= reader_is_name(r.flows[i].name[0]) ? NEED_DERIVED : 0u;
	}
	for (size_t i = 0; is_derived && i < reading->nitems; ++i) {
		reading->items[i].needs |= reading->items[i].is_reference ? NEED_DERIVED : 0u;
	}
	free(r.flows);
	free(r.known);
}

void reading_fini(struct reading *reading) {
	free(reading->items);
	reading->items = NULL;
	reading->nitems = reading->items_cap = 0;
}
