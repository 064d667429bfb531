// Words as `xargs -t` shows them: quoted so that a shell can read them, and nothing unprintable reaches a terminal.
//
// Seen from GNU xargs 4.9:  a_b  a_b     a b  'a b'     it's  "it's"     it's $1  'it'\''s $1'     a\nb  'a'$'\n''b'

#include "xargs/job.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

// One character, which may be several bytes.
struct character {
	size_t len;
	bool prints;
};

static struct character character_at(const char *s, size_t len) {
	unsigned char c = (unsigned char)*s;
	if (c < 0x80 || MB_CUR_MAX == 1) {
		return (struct character){.len = 1, .prints = isprint(c)};
	}
	mbstate_t state = {0};
	wchar_t wide;
	size_t n = mbrtowc(&wide, s, len, &state);
	if (n == 0 || n > len) { // no character, or the beginning of one
		return (struct character){.len = 1, .prints = false};
	}
	return (struct character){.len = n, .prints = iswprint((wint_t)wide)};
}

struct quoting {
	bool plain, plain_in_double, apostrophe;
};

// Whether all of the word may stand without quotes, and whether in "…", where a blank and an apostrophe may. What means
// something in some places only may stand without quotes in the others, and in "…" in those.
static struct quoting find_quoting(const char *word, size_t len) {
	struct quoting quoting = {.plain = len > 0, .plain_in_double = true, .apostrophe = false};
	for (size_t i = 0; i < len;) {
		struct character character = character_at(word + i, len - i);
		char c = word[i];
		bool is_brace = c == '{' || c == '}', by_place = is_brace || c == '#' || c == '~';
		bool is_special = by_place ? (is_brace ? len == 1 : i == 0) : strchr(" !\"$&'()*;<=>?[\\^`|", c) != NULL;
		bool is_fine_in_double = by_place == is_special || c == ' ' || c == '\'';
		quoting.plain = quoting.plain && character.prints && !is_special;
		quoting.plain_in_double = quoting.plain_in_double && character.prints && is_fine_in_double;
		quoting.apostrophe = quoting.apostrophe || c == '\'';
		i += character.len;
	}
	return quoting;
}

static void add_escape(struct buf *buf, unsigned char c) {
	static const char controls[] = "abtnvfr"; // \a is 7
	if (c >= 7 && c <= 13) {
		buf_printf(buf, "\\%c", controls[c - 7]);
	} else {
		buf_printf(buf, "\\%03o", c);
	}
}

static void add_single(struct buf *buf, const char *word, size_t len) {
	bool escaping = false;
	buf_addc(buf, '\'');
	for (size_t i = 0; i < len;) {
		struct character character = character_at(word + i, len - i);
		if (!character.prints && !escaping) {
			buf_adds(buf, "'$'");
			escaping = true;
		} else if (character.prints && word[i] == '\'') {
			buf_adds(buf, "'\\'");
			escaping = false;
		} else if (character.prints && escaping) {
			buf_adds(buf, "''");
			escaping = false;
		}
		for (size_t end = i + character.len; i < end; ++i) {
			if (character.prints) {
				buf_addc(buf, word[i]);
			} else {
				add_escape(buf, (unsigned char)word[i]);
			}
		}
	}
	buf_addc(buf, '\'');
}

void xargs_show(struct buf *buf, const char *word, size_t len) {
	struct quoting quoting = find_quoting(word, len);
	if (quoting.plain) {
		buf_add(buf, word, len);
	} else if (quoting.apostrophe && quoting.plain_in_double) {
		buf_addc(buf, '"');
		buf_add(buf, word, len);
		buf_addc(buf, '"');
	} else {
		add_single(buf, word, len);
	}
}
