// Reads YAML into a tree by libyaml's events, within limits; carries out merges (<<); rewords libyaml's errors for people who write
// manifests.
//
// Aliases share their node, so a document is never expanded ("billion laughs"). A merge copies pairs, each of which counts against
// the limit of values. Nothing here recurses: a chain of aliases may be as long as the file.
//
// Properties of libyaml 0.2.5 that shape this file: its time grows with the square of the nesting, which open_collection() limits, and
// of the number of %TAG lines, which check_directives() refuses; libyaml accepts the same key twice in a mapping; its marks are positions in
// characters from 0, without a byte order mark.

#include "manifest/tree.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/text.h"
#include "manifest/manifest.h"

#include <yaml.h>

enum { MOST_KEY = 1000 }; // bytes of a key; libyaml has this limit only for keys that are no aliases and have no '?'

struct yaml_reader {
	yaml_parser_t parser;
	struct diagnostics *diagnostics;
	const char *data;     // the bytes of the file
	size_t len;
	struct arena *nodes, *texts;
	struct node *root;    // NULL for an empty document
	struct node **stack;  // nodes that are complete, but whose parent is still being read
	size_t nstack, stack_cap;
	struct yaml_frame {
		struct node *node;
		size_t from;         // the index of its first child on the stack
	} frames[MANIFEST_DEPTH]; // the lists and maps that are being read, the outermost first
	size_t nframes;
	struct map anchors;   // from the name of an anchor to its index in `anchored`
	struct node **anchored; // the nodes that anchors name
	size_t nanchored, anchored_cap;
	struct pair *pairs;   // the pairs of the map that is being closed
	size_t pairs_cap;
	size_t nvalues;       // how many values were read so far; at most MANIFEST_VALUES
};

static struct source_span span_of(const yaml_mark_t *start, const yaml_mark_t *end) {
	struct source_span span = {(uint32_t)start->line + 1, (uint32_t)start->column + 1, 1};
	if (end && end->line == start->line && end->column > start->column) {
		span.width = (uint32_t)(end->column - start->column);
	}
	return span;
}

static const char *find_mark(const struct yaml_reader *reader, const yaml_mark_t *mark) {
	return diagnostics_position(reader->diagnostics, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1);
}

// ---- before libyaml ----

static int refuse_span(struct yaml_reader *reader, struct source_span span, const char *text, const char *hint) {
	struct diagnostic *diagnostic = diagnostic_error(reader->diagnostics, span, "%s", text);
	if (hint) {
		diagnostic_hint(diagnostic, "%s", hint);
	}
	return -1;
}

static int refuse(struct yaml_reader *reader, size_t offset, const char *text, const char *hint) {
	return refuse_span(reader, diagnostics_span_of_byte(reader->diagnostics, offset), text, hint);
}

static int check_encoding(struct yaml_reader *reader) {
	const unsigned char *bytes = (const unsigned char *)reader->data;
	bool has_two = reader->len >= 2;
	if (has_two && ((bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF) ||
	                (bytes[0] != 0 && bytes[1] == 0) || (bytes[0] == 0 && bytes[1] != 0))) {
		return refuse(reader, 0, "the file is UTF-16", "save it as UTF-8");
	}
	const char *other = memmem(reader->data, reader->len, "\xEF\xBB\xBF", 3);
	return other ? refuse(reader, (size_t)(other - reader->data), "a byte order mark may stand only at the beginning of the file", NULL) : 0;
}

// Skips blank lines and comments from `at` on; with `below` (`at` is below the document) also lines "...", which end a document. Returns the
// offset of the first line that is not skipped, or the end of the data.
static size_t skip_blank_lines(const struct yaml_reader *reader, size_t at, bool below) {
	while (at < reader->len) {
		size_t start = at + strspn(reader->data + at, " \t\r");
		if (below && strncmp(reader->data + at, "...", 3) == 0) {
			start = at + 3 + strspn(reader->data + at + 3, " \t\r");
		}
		if (start < reader->len && reader->data[start] != '\n' && reader->data[start] != '#') {
			return at;
		}
		const char *end = memchr(reader->data + start, '\n', reader->len - start);
		at = end ? (size_t)(end - reader->data) + 1 : reader->len;
	}
	return at;
}

// Skips the line "%YAML 1.1" or "%YAML 1.2" at `at` (a manifest has the same meaning in both) and the blank lines behind it. Returns
// the offset behind these lines, or `at` if there is no such line.
static size_t skip_version(const struct yaml_reader *reader, size_t at) {
	static const char start[] = "%YAML 1.";
	const char *line = reader->data + at, *rest = line + sizeof(start);
	if (strncmp(line, start, sizeof(start) - 1) != 0 || (rest[-1] != '1' && rest[-1] != '2') || !strchr(" \t\r\n", *rest)) {
		return at;
	}
	size_t behind = at + sizeof(start), next = skip_blank_lines(reader, behind, false);
	return next > behind ? next : at;
}

// YAML 1.2.2 §6.8: directives stand in front of the document, which then begins with "---".
static int check_directives(struct yaml_reader *reader) {
	size_t first = skip_blank_lines(reader, 0, false), at = first < reader->len ? skip_version(reader, first) : first;
	if (at < reader->len && reader->data[at] == '%') {
		return refuse(reader, at, "a line that starts with '%' is a directive of YAML; the only one in a manifest may be '%YAML 1.2', once", NULL);
	}
	if (at > first && (at == reader->len || strncmp(reader->data + at, "---", 3) != 0)) {
		return refuse(reader, first, "after its line '%YAML 1.2' a manifest must have a line '---'", NULL);
	}
	return 0;
}

// ---- messages of libyaml, in words for users ----

// Returns the start of the line that the mark is in.
static const char *line_at(const struct yaml_reader *reader, const yaml_mark_t *mark) {
	return diagnostics_position(reader->diagnostics, (uint32_t)mark->line + 1, 1);
}

// Returns the start of the value in the line that the mark is in: behind "key: " and "- ".
static const char *value_in(const struct yaml_reader *reader, const yaml_mark_t *mark) {
	const char *line = line_at(reader, mark);
	line += strspn(line, " ");
	while (line[0] == '-' && line[1] == ' ') {
		line += 1 + strspn(line + 1, " ");
	}
	size_t key = strcspn(line, ":\n\"'{[#");
	if (line[key] == ':' && line[key + 1] == ' ') {
		line += key + 1 + strspn(line + key + 1, " ");
	}
	return line;
}

static char byte_at_problem(const struct yaml_reader *reader) {
	return *find_mark(reader, &reader->parser.problem_mark);
}

// True if the last line above the mark that is not blank opens a text by '|' or '>'.
static bool is_below_block(const struct yaml_reader *reader, const yaml_mark_t *mark) {
	const char *at = line_at(reader, mark);
	while (at > reader->data && strchr(" \t\r\n", at[-1])) {
		--at;
	}
	if (at > reader->data && (at[-1] == '-' || at[-1] == '+')) {
		--at;
	}
	return at - reader->data > 2 && (at[-1] == '|' || at[-1] == '>') && at[-2] == ' ' && (at[-3] == ':' || at[-3] == '-');
}

// A message of libyaml (its context and problem; NULL matches any), and the text and hint that fairpar shows instead.
struct wording {
	const char *context, *problem, *text, *hint;
	bool at_context; // the error is shown at the place where the context began
};

static const struct wording wordings[] = {
	{NULL, "found a tab character", "a tab cannot indent YAML; use spaces", NULL, false},
	{NULL, "mapping values are not allowed", "': ' inside an unquoted value",
	 "quote the value, or write it below 'run: |'; or the line above lacks its ':', or begins in another column", false},
	{NULL, "block sequence entries are not allowed", "a list item cannot begin here",
	 "begin the list in the next line, each item with '- '", false},
	{"while scanning an alias", NULL, "a value that starts with '*' must be quoted", NULL, true},
	{"while scanning an anchor", NULL, "a value that starts with '&' must be quoted", NULL, true},
	{"while scanning a tag", NULL, "a value that starts with '!' must be quoted", NULL, true},
	{NULL, "found undefined tag handle", "a value that starts with '!' must be quoted", NULL, true},
	{NULL, "found unknown escape character", "there is no such escape inside double quotes",
	 "in single quotes a backslash is itself", false},
	{NULL, "did not find expected hexdecimal number", "this escape wants hexadecimal digits",
	 "in single quotes a backslash is itself", false},
	{"while scanning a quoted scalar", NULL, "the quote that opens here is never closed", NULL, true},
	{"while scanning a block scalar", "did not find expected comment or line break",
	 "the text of '|' or '>' begins in the next line", "quote a value that starts with '|' or '>'", false},
	{"while scanning a simple key", NULL, "a line that is neither 'key: value' nor '- item'",
	 "perhaps ': ' is missing, or the line is indented in another way than the text it continues", true},
	{NULL, "did not find expected ',' or ']'", "the list that opens here wants ',' or ']' further on",
	 "inside [ ] a text with '{', '[' or ', ' must be quoted", true},
	{NULL, "did not find expected ',' or '}'", "the mapping that opens here wants ',' or '}' further on",
	 "inside { } a text with '{', '[' or ', ' must be quoted", true},
	{"while parsing a flow", NULL, "a value is missing here", NULL, false},
	{"while parsing a block collection", NULL, "this is no item of the list above: items begin with '- ', in one column",
	 NULL, false},
	{"while parsing a block mapping", NULL, "this is no key of the mapping above: keys of one mapping begin in one column",
	 NULL, false},
	{NULL, "did not find expected <document start>", "this belongs to nothing above: wrong indentation?", NULL, false},
	{NULL, "did not find expected node content", "a value is missing here", NULL, false},
};

static bool fits(const char *pattern, const char *text) {
	return !pattern || (text && strncmp(text, pattern, strlen(pattern)) == 0);
}

static int add_problem(struct yaml_reader *reader, bool at_context, const char *text, const char *hint) {
	const yaml_parser_t *parser = &reader->parser;
	bool has_context = parser->context && at_context;
	return refuse_span(reader, span_of(has_context ? &parser->context_mark : &parser->problem_mark, NULL), text, hint);
}

// Reports a bracket that ends a text inside { } or [ ] too early, as in {run: echo {}}, at the bracket's own span: the place
// where the mapping begins would not help the user.
static bool report_bracket(struct yaml_reader *reader) {
	const yaml_parser_t *parser = &reader->parser;
	char c = byte_at_problem(reader);
	if (!fits("did not find expected ',' or", parser->problem) || (c != '{' && c != '[')) {
		return false;
	}
	bool is_map = fits("while parsing a flow mapping", parser->context);
	char text[64], hint[128];
	snprintf(text, sizeof(text), "'%c' inside an unquoted value", c);
	snprintf(hint, sizeof(hint), "inside %s a text with '{', '[' or ', ' must be quoted%s", is_map ? "{ }" : "[ ]",
	         is_map ? ": {run: 'echo {}'}" : "");
	add_problem(reader, false, text, hint);
	return true;
}

// Reports a character that cannot start a value, or that cannot follow a closing quote.
static bool report_start(struct yaml_reader *reader) {
	const yaml_parser_t *parser = &reader->parser;
	char text[96];
	if (fits("found character that cannot start any token", parser->problem)) {
		char c = byte_at_problem(reader);
		snprintf(text, sizeof(text), "a value that starts with '%c' must be quoted", c);
		add_problem(reader, false, c == '\t' ? "a tab cannot indent YAML; use spaces" : text, NULL);
		return true;
	}
	bool ends_early = fits("while parsing a block", parser->context) || fits("did not find expected <doc", parser->problem) ||
	                  fits("while scanning a block scalar", parser->context);
	const char *value = ends_early ? value_in(reader, &parser->problem_mark) : "";
	if (*value == '{' || *value == '[') {
		snprintf(text, sizeof(text), "a value that starts with '%c' must be quoted", *value);
		refuse(reader, (size_t)(value - reader->data), text, *value == '{' ? "as in run: '{} ...'" : NULL);
		return true;
	}
	if (*value == '"' || *value == '\'') {
		add_problem(reader, false, "nothing can follow the closing quote", "put quotes around the whole value");
		return true;
	}
	return false;
}

// Reports a byte that is no UTF-8, or a character that no document may hold (YAML 1.1 §5.1).
static int report_character(struct yaml_reader *reader) {
	size_t at = reader->parser.problem_offset;
	int value = reader->parser.problem_value;
	char text[64];
	if (at < reader->len && utf8_length(reader->data + at, reader->len - at) == 0) {
		snprintf(text, sizeof(text), "the byte 0x%02X is not UTF-8", (unsigned char)reader->data[at]);
		return refuse(reader, at, text, "save the file as UTF-8");
	}
	return refuse(reader, at, value == 0 ? "the manifest has a NUL byte here" : "the manifest has a control character here",
	              value == 0 ? "a manifest is a text file" : "inside double quotes it can be written as \\e or \\x1b");
}

static int report_problem(struct yaml_reader *reader) {
	const yaml_parser_t *parser = &reader->parser;
	if (parser->error == YAML_MEMORY_ERROR) {
		diag_die("out of memory while reading the manifest");
	}
	if (parser->error == YAML_READER_ERROR) {
		return report_character(reader);
	}
	if (fits("while scanning a simple key", parser->context) && is_below_block(reader, &parser->context_mark)) {
		return add_problem(reader, true, "the text of '|' or '>' must be indented", "indent the text below 'run: |' deeper than 'run'");
	}
	if (report_start(reader) || report_bracket(reader)) {
		return -1;
	}
	for (size_t i = 0; i < sizeof(wordings) / sizeof(wordings[0]); ++i) {
		const struct wording *wording = &wordings[i];
		if (fits(wording->context, parser->context) && fits(wording->problem, parser->problem)) {
			return add_problem(reader, wording->at_context, wording->text, wording->hint);
		}
	}
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	buf_printf(&text, "this is not YAML: %s", parser->problem ? parser->problem : "unknown error");
	return add_problem(reader, false, buf_str(&text), NULL);
}

// ---- nodes ----

static int count(struct yaml_reader *reader, struct source_span span, size_t n) {
	reader->nvalues += n;
	if (reader->nvalues <= MANIFEST_VALUES) {
		return 0;
	}
	diagnostic_error(reader->diagnostics, span, "more than %d values in one manifest", MANIFEST_VALUES);
	return -1;
}

static void push(struct yaml_reader *reader, struct node *node) {
	if (reader->nframes == 0) {
		reader->root = node;
	} else {
		*NEW_ELEMENT(reader->stack, reader->nstack, reader->stack_cap) = node;
	}
}

static struct node *add_node(struct yaml_reader *reader, struct source_span span, enum node_kind kind, const yaml_char_t *anchor) {
	if (count(reader, span, 1) != 0) {
		return NULL;
	}
	struct node *node = arena_alloc(reader->nodes, sizeof(*node));
	node->line = span.line;
	node->column = span.column;
	node->width = span.width < UINT16_MAX ? (uint16_t)span.width : UINT16_MAX;
	node->kind = (uint8_t)kind;
	if (anchor) {
		size_t len = strlen((const char *)anchor);
		const char *name = arena_text(reader->nodes, (const char *)anchor, len);
		uint32_t number = map_add(&reader->anchors, name, len, (uint32_t)reader->nanchored);
		number = number != MAP_NONE ? number : (uint32_t)reader->nanchored++; // not MAP_NONE: the anchor is defined again, and replaced
		grow_array(&reader->anchored, &reader->anchored_cap, reader->nanchored, sizeof(struct node *));
		reader->anchored[number] = node;
	}
	return node;
}

static int add_alias(struct yaml_reader *reader, struct source_span span, const char *name) {
	uint32_t number = map_get(&reader->anchors, name, strlen(name));
	struct node *node = number != MAP_NONE ? reader->anchored[number] : NULL;
	if (!node || node->is_open) {
		struct diagnostic *diagnostic = diagnostic_error(reader->diagnostics, span, node ? "the alias '*%s' stands inside the value that it names"
		                                                                    : "nothing above is named '&%s'", name);
		if (!node) {
			diagnostic_hint(diagnostic, "a value that starts with '*' must be quoted: '*%s'", name);
		}
		return -1;
	}
	push(reader, node);
	return count(reader, span, 1);
}

// ---- maps ----

// The pairs of one map, while they are being collected in reader->pairs.
struct collection {
	size_t n;
	struct map numbers; // from a key to the index of its pair
};

// Adds the pair and returns NULL; or, if an equal key is there already, returns that key.
static struct node *collect(struct yaml_reader *reader, struct collection *pairs, struct pair pair) {
	struct node *key = pair.key;
	uint32_t had = map_add(&pairs->numbers, key->text, key->n, (uint32_t)pairs->n);
	if (had != MAP_NONE) {
		return reader->pairs[had].key;
	}
	*NEW_ELEMENT(reader->pairs, pairs->n, reader->pairs_cap) = pair;
	return NULL;
}

static void add_pair(struct yaml_reader *reader, struct collection *pairs, struct node *key, struct node *value) {
	if (key->kind != NODE_TEXT) {
		struct diagnostic *diagnostic = diagnostic_error(reader->diagnostics, node_span(key), "a key must be text, not a %s",
		                                        key->kind == NODE_LIST ? "list" : "mapping");
		if (key->is_flow) {
			diagnostic_hint(diagnostic, "quote a value that starts with '%c'", key->kind == NODE_LIST ? '[' : '{');
		}
		return;
	}
	if (key->n > MOST_KEY) {
		diagnostic_error(reader->diagnostics, node_span(key), "a key has at most %d bytes", MOST_KEY);
		return;
	}
	struct node *had = collect(reader, pairs, (struct pair){key, value});
	if (had) {
		const char *shown = text_show(key->text, key->n);
		diagnostic_hint(diagnostic_error(reader->diagnostics, node_span(key), "the key '%s' stands twice in one mapping", shown),
		             "the first one is in line %u, column %u", had->line, had->column);
	}
}

// Adds the pairs of a mapping that << names, except pairs whose keys the map has already: the map's own pairs win.
static int merge_map(struct yaml_reader *reader, struct collection *pairs, const struct node *key, const struct node *map) {
	if (map->kind != NODE_MAP) {
		diagnostic_error(reader->diagnostics, node_span(map->kind == NODE_TEXT ? key : map),
		              "'<<' merges a mapping or a list of mappings, as in '<<: *name'");
		return 0;
	}
	for (uint32_t i = 0; i < map->n; ++i) {
		collect(reader, pairs, map->pairs[i]);
	}
	return count(reader, node_span(key), map->n);
}

static int merge(struct yaml_reader *reader, struct collection *pairs, const struct pair *from) {
	const struct node *value = from->value;
	if (value->kind != NODE_LIST) {
		return merge_map(reader, pairs, from->key, value);
	}
	for (uint32_t i = 0; i < value->n; ++i) {
		if (merge_map(reader, pairs, from->key, value->items[i]) != 0) {
			return -1;
		}
	}
	return 0;
}

static bool is_merge(const struct node *key) {
	return key->kind == NODE_TEXT && key->is_plain && strcmp(key->text, "<<") == 0;
}

static int close_map(struct yaml_reader *reader, struct node *node, struct node *const *children, size_t n) {
	struct collection pairs = {0, MAP_INIT};
	size_t nmerges = 0;
	int status = 0;
	for (size_t i = 0; i + 1 < n; i += 2) {
		struct node *key = children[i];
		if (is_merge(key)) {
			if (nmerges++ > 0) {
				diagnostic_hint(diagnostic_error(reader->diagnostics, node_span(key), "'<<' stands twice in one mapping"),
				             "merge several mappings by a list: '<<: [*a, *b]'");
			}
		} else {
			add_pair(reader, &pairs, key, children[i + 1]);
		}
	}
	for (size_t i = 0; nmerges > 0 && status == 0 && i + 1 < n; i += 2) {
		if (is_merge(children[i])) {
			status = merge(reader, &pairs, &(struct pair){children[i], children[i + 1]});
		}
	}
	node->n = (uint32_t)pairs.n;
	if (pairs.n > 0) {
		node->pairs = arena_alloc(reader->nodes, pairs.n * sizeof(struct pair));
		memcpy(node->pairs, reader->pairs, pairs.n * sizeof(struct pair));
	}
	map_fini(&pairs.numbers);
	return status;
}

static int close_node(struct yaml_reader *reader) {
	struct yaml_frame frame = reader->frames[--reader->nframes];
	size_t n = reader->nstack - frame.from;
	struct node *const *children = n > 0 ? reader->stack + frame.from : NULL;
	int status = 0;
	frame.node->is_open = false;
	if (frame.node->kind == NODE_MAP) {
		status = close_map(reader, frame.node, children, n);
	} else if (n > 0) {
		frame.node->n = (uint32_t)n;
		frame.node->items = arena_alloc(reader->nodes, n * sizeof(struct node *));
		memcpy(frame.node->items, children, n * sizeof(struct node *));
	}
	uint64_t cost = 1;
	for (uint32_t i = 0; i < frame.node->n; ++i) {
		cost += frame.node->kind == NODE_MAP ? frame.node->pairs[i].value->cost : frame.node->items[i]->cost;
	}
	frame.node->cost = cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
	reader->nstack = frame.from;
	push(reader, frame.node);
	return status;
}

// ---- events ----

// Refuses all tags but !!str, which changes nothing: all values are read as texts. Returns false after an error.
static bool check_tag(struct yaml_reader *reader, const yaml_event_t *event, const yaml_char_t *tag, bool is_text) {
	bool is_known = !tag || (is_text && strcmp((const char *)tag, YAML_STR_TAG) == 0);
	if (!is_known) {
		const char *name = (const char *)tag;
		size_t prefix = strlen("tag:yaml.org,2002:");
		bool is_short = strncmp(name, "tag:yaml.org,2002:", prefix) == 0;
		diagnostic_hint(diagnostic_error(reader->diagnostics, span_of(&event->start_mark, NULL),
		                                 "tags (here '%s%s') are not used in a manifest", is_short ? "!!" : "",
		                                 text_shows(is_short ? name + prefix : name)), "a value that starts with '!' must be quoted");
	}
	return is_known;
}

// Finds the comment behind a plain text that ends at `end`, unless the comment has yamllint's usual form: two blanks, '#', a blank.
// Returns the offset of the comment in the file, or 0.
static uint32_t find_comment(const struct yaml_reader *reader, const yaml_mark_t *end) {
	const char *at = find_mark(reader, end);
	size_t blanks = strspn(at, " \t");
	if (blanks == 0 || at[blanks] != '#' || (blanks > 1 && strchr(" \t\r\n", at[blanks + 1]))) {
		return 0;
	}
	return (uint32_t)(at + blanks - reader->data);
}

static int add_scalar(struct yaml_reader *reader, const yaml_event_t *event) {
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	bool is_tagged = !check_tag(reader, event, event->data.scalar.tag, true);
	struct source_span span = span_of(&event->start_mark, &event->end_mark);
	struct node *node = add_node(reader, span, NODE_TEXT, event->data.scalar.anchor);
	if (!node) {
		return -1;
	}
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	if (memchr(text, '\0', len)) {
		diagnostic_error(reader->diagnostics, span, "a NUL byte cannot be part of a text");
		len = strlen(text);
	}
	node->text = arena_text(reader->texts, text, len);
	node->n = (uint32_t)len;
	node->cost = node->n / 256 + 1;
	node->is_plain = is_plain && (event->data.scalar.plain_implicit || is_tagged); // a refused tag was reported: ignore it here
	node->comment = is_plain ? find_comment(reader, &event->end_mark) : 0;
	push(reader, node);
	return 0;
}

static int open_collection(struct yaml_reader *reader, const yaml_event_t *event) {
	bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *tag = is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
	const yaml_char_t *anchor = is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
	struct source_span span = span_of(&event->start_mark, NULL);
	(void)check_tag(reader, event, tag, false);
	if (reader->nframes >= MANIFEST_DEPTH) {
		diagnostic_error(reader->diagnostics, span, "the manifest is nested deeper than %d levels", MANIFEST_DEPTH);
		return -1;
	}
	struct node *node = add_node(reader, span, is_list ? NODE_LIST : NODE_MAP, anchor);
	if (!node) {
		return -1;
	}
	node->is_open = true;
	node->is_flow = is_list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
	                        : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
	reader->frames[reader->nframes++] = (struct yaml_frame){node, reader->nstack};
	return 0;
}

// Refuses a second document. Does not let libyaml look for that document, because libyaml would read its directives.
static int check_rest(struct yaml_reader *reader, const yaml_event_t *end) {
	size_t at = (size_t)(find_mark(reader, &end->start_mark) - reader->data);
	if (end->start_mark.column > 0) { // the document ends with the file, inside a line
		at += strcspn(reader->data + at, "\n");
	}
	at = skip_blank_lines(reader, at, true);
	return at < reader->len ? refuse(reader, at, "a second document begins here, but a manifest is a single document", NULL) : 0;
}

// Returns 1 at the end of the document, 0 to go on, or -1.
static int add_event(struct yaml_reader *reader, const yaml_event_t *event) {
	switch (event->type) {
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_START_EVENT:
		return 0;
	case YAML_STREAM_END_EVENT:
		return 1;
	case YAML_DOCUMENT_END_EVENT:
		return check_rest(reader, event) == 0 ? 1 : -1;
	case YAML_ALIAS_EVENT:
		return add_alias(reader, span_of(&event->start_mark, &event->end_mark),
		                      (const char *)event->data.alias.anchor);
	case YAML_SCALAR_EVENT:
		return add_scalar(reader, event);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return open_collection(reader, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return close_node(reader);
	}
	return 0;
}

static int read_events(struct yaml_reader *reader) {
	for (;;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&reader->parser, &event)) {
			return report_problem(reader);
		}
		int status = add_event(reader, &event);
		yaml_event_delete(&event);
		if (status != 0 || diagnostics_are_full(reader->diagnostics)) {
			return status > 0 ? 0 : -1;
		}
	}
}

int tree_read(struct diagnostics *diagnostics, struct arena *nodes, struct arena *texts, struct node **ret_root) {
	struct yaml_reader reader = {
		.diagnostics = diagnostics, .data = diagnostics->data, .len = diagnostics->len, .nodes = nodes, .texts = texts};
	if (check_encoding(&reader) != 0 || check_directives(&reader) != 0) {
		return -1;
	}
	if (!yaml_parser_initialize(&reader.parser)) {
		diag_die("out of memory while reading the manifest");
	}
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)reader.data, reader.len);
	int status = read_events(&reader);
	*ret_root = reader.root;
	yaml_parser_delete(&reader.parser);
	free(reader.stack);
	free(reader.anchored);
	free(reader.pairs);
	map_fini(&reader.anchors);
	return status;
}
