// Cuts a stream of bytes into blocks on the borders of records, exactly where GNU parallel --pipe cuts it.
//
// The cuts are those of GNU parallel 20221122 (its spreadstdin(), pass(), pass_n() and pass_n_line_records()), also in its special
// cases: with -N, a border at the very beginning of the bytes does not count; `block` grows by 30 % when no record ends in this many
// bytes; at the end of the stream the bytes that are left are one block, however many records they hold.

#include "input/records.h"

#include "base/alloc.h"
#include "base/text.h"
#include "input/columns.h"

#include <regex.h>

enum {
	WINDOW = 4096,             // bytes in which a regular expression is first searched for
	MOST_BLOCK = INT32_MAX,    // GNU parallel grows no block beyond 2 GiB - 1
};

enum { START, END, BORDER, KINDS }; // --recstart; --recend; where a record ends and the next one starts

struct block_splitter {
	size_t block;              // how many bytes a round searches for borders
	struct buf texts[KINDS];   // START, END, and BORDER (the end with the start behind it), as fixed texts
	bool regexp;
	regex_t regexes[KINDS];    // if `regexp`: used in place of `texts`
	size_t nregexes;           // how many of `regexes` are compiled
	uint64_t records, lines;   // as in struct block_splitter_config
	bool begun;                // -N with regexp: the first block was looked for; only that block may hold bytes in front of its first record
	struct buf scratch;        // the bytes that regexec() searches, as a string
};

// ---- fixed borders ----

// Appends the text and translates the escapes that GNU parallel knows: \0 \r \n \t \' \" \\. Other backslashes stay.
static void add_unescaped(struct buf *buf, const char *text) {
	static const char names[] = "0rnt'\"\\", bytes[] = "\0\r\n\t'\"\\";
	for (; text && *text; ++text) {
		const char *name = *text == '\\' && text[1] ? strchr(names, text[1]) : NULL;
		buf_addc(buf, name ? bytes[name - names] : *text);
		text += name != NULL;
	}
}

// Returns the last occurrence of the (not empty) text in the bytes, or NULL.
static const char *find_last(const char *bytes, size_t len, const struct buf *text) {
	if (len < text->len) {
		return NULL;
	}
	size_t left = len - text->len + 1;
	const char *at;
	while (left > 0 && (at = memrchr(bytes, text->data[0], left))) {
		if (memcmp(at, text->data, text->len) == 0) {
			return at;
		}
		left = (size_t)(at - bytes);
	}
	return NULL;
}

// Returns the offset of the first occurrence of the text from `from` on, or SIZE_MAX. An empty text is found at `from`.
static size_t find_next(const char *bytes, size_t len, size_t from, const struct buf *text) {
	const char *at = NULL;
	if (from < len && text->len == 1) { // the usual case; memmem() would take three times as long
		at = memchr(bytes + from, text->data[0], len - from);
	} else if (from < len) {
		at = memmem(bytes + from, len - from, buf_str(text), text->len);
	}
	return at ? (size_t)(at - bytes) : SIZE_MAX;
}

// Returns the end of the last whole record in the bytes, or 0.
static size_t cut_last(const struct block_splitter *splitter, const char *bytes, size_t len) {
	if (splitter->texts[BORDER].len == 0) {
		return len;
	}
	const char *at = find_last(bytes, len, &splitter->texts[BORDER]);
	return at ? (size_t)(at - bytes) + splitter->texts[END].len : 0;
}

// Returns the end of the first `records` records, or 0. Skips a border at the very beginning of the bytes: the first record
// begins there.
static size_t cut_records(const struct block_splitter *splitter, const char *bytes, size_t len) {
	if (splitter->texts[BORDER].len == 0) {
		return splitter->records < len ? (size_t)splitter->records : len;
	}
	size_t at = 0;
	for (uint64_t n = 0; n < splitter->records; ++n) {
		at = find_next(bytes, len, at + 1, &splitter->texts[BORDER]);
		if (at == SIZE_MAX) {
			return 0;
		}
	}
	return at + splitter->texts[END].len;
}

// Returns the end of the last line whose number is a multiple of `lines`, or 0.
static size_t cut_lines(const struct block_splitter *splitter, const char *bytes, size_t len) {
	uint64_t n = 0;
	size_t cut = 0;
	const char *at = bytes;
	while ((at = memchr(at, '\n', len - (size_t)(at - bytes)))) {
		++at;
		if (++n % splitter->lines == 0) {
			cut = (size_t)(at - bytes);
		}
	}
	return cut;
}

// ---- regular expressions ----

// Appends the expression as a group, with [^\n] for each dot, as Perl's dot matches no newline. Sets *anchored if there is a ^ or $.
static void add_group(struct buf *out, const char *posix, bool *anchored) {
	bool in_brackets = false;
	buf_addc(out, '(');
	for (const char *at = posix; *at; ++at) {
		if (in_brackets) {
			in_brackets = *at != ']';
			buf_addc(out, *at);
		} else if (*at == '\\' && at[1]) {
			buf_add(out, at++, 2);
		} else if (*at == '.') {
			buf_adds(out, "[^\n]");
		} else {
			*anchored = *anchored || *at == '^' || *at == '$';
			in_brackets = *at == '[';
			buf_addc(out, *at);
			for (size_t n = 1; in_brackets && n <= 2; ++n) { // a ] that comes first in the set stands for itself
				if ((n == 1 && at[1] == '^') || at[1] == ']') {
					buf_addc(out, *++at);
				}
			}
		}
	}
	buf_addc(out, ')');
}

// Compiles PREFIX(first)(second) from Perl's expressions; NULL stands for an empty expression. Returns 0, or -1 with *ret_error (caller frees).
static int compile(regex_t *regex, const char *prefix, const char *first, const char *second, char **ret_error) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT, part = BUF_INIT, cause = BUF_INIT;
	const char *parts[] = {first, second};
	bool anchored = false;
	int result = 0;
	buf_adds(&text, prefix);
	for (size_t i = 0; result == 0 && i < 2; ++i) {
		buf_reset(&part);
		result = parts[i] && *parts[i] ? perl_translate(parts[i], &part, &cause) : 0;
		add_group(&text, buf_str(&part), &anchored);
	}
	// with REG_NEWLINE, ^ and $ match at each line, as with Perl's /m; but then [^x] does not match a newline
	if (result != 0 || regex_compile(regex, buf_str(&text), anchored ? REG_NEWLINE : 0, &cause) != 0) {
		*ret_error = buf_take(&cause);
		result = -1;
	}
	return result;
}

// Copies the bytes from `from` to `to` into `scratch`, where match() searches them.
static void load(struct block_splitter *splitter, const char *bytes, size_t from, size_t to) {
	buf_reset(&splitter->scratch);
	// match() sees by the byte in front of `from` whether a line begins at `from`
	buf_addc(&splitter->scratch, from > 0 ? bytes[from - 1] : '\n');
	buf_add(&splitter->scratch, bytes + from, to - from);
}

// The offsets of a match, and of the border in it (`cut`).
struct regex_match {
	size_t start, cut, end;
};

// Finds the first match in the bytes that load() has copied, from `at` on. A match holds no NUL.
static bool match(struct block_splitter *splitter, const regex_t *regex, size_t at, struct regex_match *ret_found) {
	const char *text = splitter->scratch.data + 1;
	size_t len = splitter->scratch.len - 1;
	while (at <= len) {
		regmatch_t groups[2];
		if (regexec(regex, text + at, 2, groups, text[(ptrdiff_t)at - 1] == '\n' ? 0 : REG_NOTBOL) == 0) {
			ret_found->start = at + (size_t)groups[0].rm_so;
			ret_found->cut = at + (size_t)groups[1].rm_eo;
			ret_found->end = at + (size_t)groups[0].rm_eo;
			return true;
		}
		at += strlen(text + at) + 1;
	}
	return false;
}

// Returns the end of the last whole record, or 0. Searches for the last match in a window at the end of the bytes; the window grows to the front.
static size_t regex_cut_last(struct block_splitter *splitter, const char *bytes, size_t len) {
	for (size_t window = WINDOW;; window *= 2) {
		size_t from = window < len ? len - window : 0;
		size_t cut = SIZE_MAX;
		struct regex_match found;
		load(splitter, bytes, from, len);
		for (size_t at = 0; match(splitter, &splitter->regexes[BORDER], at, &found); at = found.start + 1) {
			cut = found.cut;
		}
		if (cut != SIZE_MAX) {
			return from + cut;
		}
		if (from == 0) {
			return 0;
		}
	}
}

// Finds the next match from `from` on, in a window that grows to the end.
static bool regex_find(struct block_splitter *splitter, const regex_t *regex, const char *bytes, size_t len, size_t from,
                       struct regex_match *ret_found) {
	for (size_t window = WINDOW; from <= len; window *= 2) {
		size_t to = window < len - from ? from + window : len;
		struct regex_match found;
		load(splitter, bytes, from, to);
		// a match that ends where the window ends might go on behind the window
		if (match(splitter, regex, 0, &found) && (from + found.end < to || to == len)) {
			*ret_found = (struct regex_match){from + found.start, from + found.cut, from + found.end};
			return true;
		}
		if (to == len) {
			break;
		}
	}
	return false;
}

// Returns the offset of the next border from `from` on, or SIZE_MAX.
static size_t regex_border(struct block_splitter *splitter, const char *bytes, size_t len, size_t from) {
	struct regex_match found;
	return regex_find(splitter, &splitter->regexes[BORDER], bytes, len, from, &found) ? found.cut : SIZE_MAX;
}

// Returns the length of the start of a record (--recstart) at `from`, or SIZE_MAX if no record starts there.
static size_t regex_start(struct block_splitter *splitter, const char *bytes, size_t len, size_t from) {
	struct regex_match found;
	load(splitter, bytes, from, WINDOW < len - from ? from + WINDOW : len);
	return match(splitter, &splitter->regexes[START], 0, &found) && found.start == 0 ? found.end : SIZE_MAX;
}

// Returns the end of the first `records` records, or 0. If the stream does not begin with a record, the bytes before the first record are a block.
static size_t regex_cut_records(struct block_splitter *splitter, const char *bytes, size_t len) {
	size_t at = 0, begins = regex_start(splitter, bytes, len, 0);
	bool is_first = !splitter->begun;
	splitter->begun = true;
	if (is_first && begins == SIZE_MAX) {
		at = regex_border(splitter, bytes, len, 0);
		return at == SIZE_MAX ? 0 : at;
	}
	for (uint64_t n = 0; n < splitter->records; ++n) {
		begins = n == 0 ? begins : regex_start(splitter, bytes, len, at);
		at = begins == SIZE_MAX ? SIZE_MAX : regex_border(splitter, bytes, len, at + begins);
		if (at == SIZE_MAX) {
			return 0;
		}
	}
	return at;
}

// ---- the splitter ----

struct block_splitter *block_splitter_create(const struct block_splitter_config *config, char **ret_error) {
	struct block_splitter *splitter = NEW(struct block_splitter);
	splitter->block = config->block < MOST_BLOCK ? config->block : MOST_BLOCK;
	splitter->records = config->records;
	splitter->lines = config->lines;
	bool is_empty = !(config->start && *config->start) && !(config->end && *config->end);
	splitter->regexp = config->regexp && !is_empty;
	const char *parts[KINDS][2] = {[START] = {config->start, NULL}, [END] = {config->end, NULL}, [BORDER] = {config->end, config->start}};
	for (size_t i = 0; i < KINDS; ++i) {
		if (!splitter->regexp) {
			add_unescaped(&splitter->texts[i], parts[i][0]);
			add_unescaped(&splitter->texts[i], parts[i][1]);
		} else if (compile(&splitter->regexes[i], "", parts[i][0], parts[i][1], ret_error) == 0) {
			++splitter->nregexes;
		} else {
			block_splitter_destroy(splitter);
			return NULL;
		}
	}
	return splitter;
}

void block_splitter_destroy(struct block_splitter *splitter) {
	if (!splitter) {
		return;
	}
	for (size_t i = 0; i < splitter->nregexes; ++i) {
		regfree(&splitter->regexes[i]);
	}
	for (size_t i = 0; i < KINDS; ++i) {
		buf_fini(&splitter->texts[i]);
	}
	buf_fini(&splitter->scratch);
	free(splitter);
}

size_t block_splitter_want(const struct block_splitter *splitter, size_t len) {
	return splitter->block - len % splitter->block;
}

size_t block_splitter_cut(struct block_splitter *splitter, const char *bytes, size_t len, bool first, bool ended) {
	if (len == 0) {
		return 0;
	}
	if (splitter->records > 0) {
		return splitter->regexp ? regex_cut_records(splitter, bytes, len) : cut_records(splitter, bytes, len);
	}
	if (!first) {
		return 0;
	}
	if (splitter->lines > 0) {
		return cut_lines(splitter, bytes, len);
	}
	if (ended) {
		return 0;
	}
	return splitter->regexp ? regex_cut_last(splitter, bytes, len) : cut_last(splitter, bytes, len);
}

size_t block_splitter_grow(struct block_splitter *splitter) {
	size_t more = splitter->block + splitter->block * 3 / 10 + 1 + (splitter->block * 3 % 10 > 0); // ceil(1.3 block + 1)
	splitter->block = more < MOST_BLOCK ? more : MOST_BLOCK;
	return splitter->block;
}

size_t block_splitter_find(struct block_splitter *splitter, const char *bytes, size_t len) {
	if (splitter->regexp) {
		size_t cut = regex_cut_last(splitter, bytes, len);
		return cut > 0 ? cut : SIZE_MAX;
	}
	size_t at = find_next(bytes, len, 0, &splitter->texts[BORDER]);
	return at == SIZE_MAX ? at : at + splitter->texts[END].len;
}

bool block_splitter_is_free(const struct block_splitter *splitter) {
	return !splitter->regexp && splitter->texts[BORDER].len == 0;
}

size_t block_splitter_overlap(const struct block_splitter *splitter) {
	return splitter->regexp ? SIZE_MAX : splitter->texts[BORDER].len > 0 ? splitter->texts[BORDER].len - 1 : 0;
}

// ---- --remove-rec-sep ----

static void remove_range(struct buf *block, size_t from, size_t to) {
	memmove(block->data + from, block->data + to, block->len - to + 1);
	block->len -= to - from;
}

// Finds the next BORDER, START or END (`which`) from `from` on.
static bool find_separator(struct block_splitter *splitter, unsigned which, const struct buf *block, size_t from,
                           struct regex_match *ret_found) {
	const struct buf *text = &splitter->texts[which];
	if (splitter->regexp) {
		return regex_find(splitter, &splitter->regexes[which], block->data, block->len, from, ret_found);
	}
	size_t at = text->len > 0 ? find_next(block->data, block->len, from, text) : SIZE_MAX;
	*ret_found = (struct regex_match){.start = at, .end = at + text->len};
	return at != SIZE_MAX;
}

// Returns the length of the start of a record (--recstart) at the front of the block, or 0.
static size_t start_length(struct block_splitter *splitter, const struct buf *block) {
	if (splitter->regexp) {
		size_t len = regex_start(splitter, block->data, block->len, 0);
		return len != SIZE_MAX ? len : 0;
	}
	const struct buf *start = &splitter->texts[START];
	return start->len <= block->len && memcmp(block->data, buf_str(start), start->len) == 0 ? start->len : 0;
}

void block_splitter_strip(struct block_splitter *splitter, struct buf *block) {
	if (block->len == 0 || block_splitter_is_free(splitter)) {
		return;
	}
	struct regex_match found;
	size_t from = 0, to = 0;
	for (size_t at = 0; find_separator(splitter, BORDER, block, at, &found); at = found.end > found.start ? found.end : found.end + 1) {
		memmove(block->data + to, block->data + from, found.start - from);
		to += found.start - from;
		from = found.end;
	}
	remove_range(block, to, from);
	remove_range(block, 0, start_length(splitter, block));
	for (size_t at = 0; find_separator(splitter, END, block, at, &found); at = found.start + 1) {
		// Perl's $ also matches before a newline at the very end
		if (found.end == block->len || (found.end + 1 == block->len && block->data[found.end] == '\n')) {
			remove_range(block, found.start, found.end);
			break;
		}
	}
}

// ---- blank lines ----

size_t blanks_drop(struct blanks *blanks, const char *bytes, size_t len, struct buf *to) {
	struct buf *begun = &blanks->begun;
	size_t before = to->len;
	const char *at = bytes, *end = bytes + len, *from;
	while (at < end) {
		from = at;
		if (blanks->in_line) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));
			blanks->in_line = !newline;
			at = newline ? newline + 1 : end;
			buf_add(to, from, (size_t)(at - from));
			continue;
		}
		while (at < end && text_is_space(*at) && *at != '\n') {
			++at;
		}
		buf_add(begun, from, (size_t)(at - from));
		if (at < end) {
			blanks->in_line = *at != '\n';
			buf_add(to, buf_str(begun), blanks->in_line ? begun->len : 0);
			buf_reset(begun);
			at += !blanks->in_line;
		}
	}
	if (len == 0) { // blanks at the end without a newline are no line, and are kept
		buf_add(to, buf_str(begun), begun->len);
		buf_reset(begun);
	}
	return to->len - before;
}

// ---- the header ----

struct header_rule {
	uint64_t lines;       // how many lines the header has, if there is no regex
	bool has_regex;       // `regex` says what the header is
	regex_t regex;
};

struct header_rule *header_create(const char *text, char **ret_error) {
	struct header_rule *rule = NEW(struct header_rule);
	if (strcmp(text, ":") == 0 || strcmp(text, ".*\\n") == 0 || strcmp(text, ".*\n") == 0) {
		rule->lines = 1;
	} else if (*text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 10) {
		rule->lines = strtoull(text, NULL, 10);
	} else if (compile(&rule->regex, "^", text, NULL, ret_error) != 0) {
		free(rule);
		return NULL;
	} else {
		rule->has_regex = true;
	}
	return rule;
}

void header_destroy(struct header_rule *rule) {
	if (rule && rule->has_regex) {
		regfree(&rule->regex);
	}
	free(rule);
}

size_t header_find(const struct header_rule *rule, const char *bytes, size_t len) {
	size_t at = 0;
	for (uint64_t n = 0; n < rule->lines; ++n) {
		const char *newline = at < len ? memchr(bytes + at, '\n', len - at) : NULL;
		if (!newline) {
			return SIZE_MAX;
		}
		at = (size_t)(newline - bytes) + 1;
	}
	if (!rule->has_regex) {
		return at;
	}
	regmatch_t whole;
	FP_CLEANUP(free_later) char *text = xmemdup(bytes, len);
	bool found = regexec(&rule->regex, text, 1, &whole, 0) == 0 && whole.rm_so == 0;
	return found ? (size_t)whole.rm_eo : SIZE_MAX;
}
