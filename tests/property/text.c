// Bytes that grow, for the property test.

#include "property.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *text, const char *bytes, size_t len) {
	if (text->size < text->len + len + 1) {
		text->size = 2 * (text->len + len + 32);
		text->data = realloc(text->data, text->size);
		if (!text->data) {
			abort();
		}
	}
	if (len > 0) {
		memcpy(text->data + text->len, bytes, len);
	}
	text->len += len;
	text->data[text->len] = '\0';
}

void text_adds(struct text *text, const char *string) {
	text_add(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...) {
	char line[1024];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(line)) {
		abort();
	}
	text_add(text, line, (size_t)len);
}

void text_clear(struct text *text) {
	text->len = 0;
	text_add(text, "", 0);
}

void text_free(struct text *text) {
	free(text->data);
	*text = (struct text){0};
}
