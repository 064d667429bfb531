// The lists of keys in fairpar-manifest(5): made from the table, and its examples are good manifests.
//
// With FAIRPAR_UPDATE=1 in the environment the lists are written anew, to be looked at before they are committed.

#include "manifest/keys.h"
#include "manifest/manifest.h"
#include "files.h"
#include "test.h"

#define PAGE "man/fairpar-manifest.5"
#define PAGE_BEGIN ".\\\" begin: made by tests/unit/manifest_page.c\n"
#define PAGE_END ".\\\" end\n"

// ---- mdoc ----

// What the page calls the values of each type.
static const char *const type_names[] = {
	[TYPE_VERSION] = "1",
	[TYPE_TEXT] = "text",
	[TYPE_COMMAND] = "command",
	[TYPE_SHELL] = "program",
	[TYPE_SLOTS] = "slots",
	[TYPE_NAME] = "batch",
	[TYPE_BOOL] = "true | false",
	[TYPE_TRUE] = "true",
	[TYPE_INT] = "number",
	[TYPE_FACTOR] = "number",
	[TYPE_DURATION] = "duration",
	[TYPE_RATE] = "rate",
	[TYPE_SIZE] = "size",
	[TYPE_UMASK] = "octal number",
	[TYPE_CHOICE] = "word",
	[TYPE_TEXTS] = "list of texts",
	[TYPE_NAMES] = "list of batches",
	[TYPE_STEPS] = "command | list of commands",
	[TYPE_MACHINES] = "machine | list of machines",
	[TYPE_ENV] = "mapping of texts",
	[TYPE_RETRY_DELAY] = "duration | mapping",
	[TYPE_COMMANDS] = "list of commands",
	[TYPE_ARGS_FROM] = "mapping",
	[TYPE_MATRIX] = "mapping of lists",
	[TYPE_DEFAULTS] = "mapping",
	[TYPE_BATCHES] = "mapping of batches",
};

// Text for a line of mdoc: a backslash is an escape, and a line may not begin as a request.
static void add_words(struct buf *buf, const char *text, size_t len) {
	for (size_t i = 0; i < len; ++i) {
		if (text[i] == '\\') {
			buf_adds(buf, "\\e");
		} else if (text[i] == '-') {
			buf_adds(buf, "\\-");
		} else {
			buf_addc(buf, text[i]);
		}
	}
}

// A line for each sentence, as mdoc(7) wants.
static void add_sentences(struct buf *buf, const char *text) {
	while (*text) {
		const char *end = strstr(text, ". ");
		size_t len = end ? (size_t)(end - text) + 1 : strlen(text);
		if (*text == '.' || *text == '\'') {
			buf_adds(buf, "\\&");
		}
		add_words(buf, text, len);
		buf_addc(buf, '\n');
		text += len;
		text += strspn(text, " ");
	}
}

// An argument of a macro, in quotes.
static void add_argument(struct buf *buf, const char *text) {
	buf_addc(buf, '"');
	for (; *text; ++text) {
		if (*text == '"') {
			buf_adds(buf, "\\(dq");
		} else {
			add_words(buf, text, 1);
		}
	}
	buf_addc(buf, '"');
}

static void add_item(struct buf *buf, const struct key *key) {
	buf_printf(buf, ".It Ic %s : Ar ", key->name);
	if (key->type == TYPE_CHOICE) {
		buf_addc(buf, '"');
		for (const char *at = key->choices; *at; ++at) {
			buf_adds(buf, *at == ' ' ? " | " : (char[]){*at, '\0'});
		}
		buf_addc(buf, '"');
	} else {
		add_argument(buf, type_names[key->type]);
	}
	buf_addc(buf, '\n');
	add_sentences(buf, key->text);
	if (key->value[0]) {
		buf_printf(buf, "Default: %s.\n", key->value);
	}
	buf_adds(buf, ".br\nExample:\n.Li ");
	struct buf example = BUF_INIT;
	buf_printf(&example, "%s: %s", key->name, key->example);
	add_argument(buf, buf_str(&example));
	buf_fini(&example);
	buf_addc(buf, '\n');
}

static void add_list(struct buf *buf, enum key_scope scope) {
	buf_adds(buf, ".Bl -tag -width 4n\n");
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].scopes & scope) {
			add_item(buf, &key_table[id]);
		}
	}
	buf_adds(buf, ".El\n");
}

// The names of the keys of that scope, in one sentence.
static void add_names(struct buf *buf, enum key_scope scope) {
	const char *separator = "";
	for (int id = 0; id < NKEYS; ++id) {
		if (key_table[id].scopes & scope) {
			buf_printf(buf, "%s.Ic %s", separator, key_table[id].name);
			separator = " ,\n";
		}
	}
	buf_adds(buf, " .\n");
}

static void add_page(struct buf *buf) {
	buf_adds(buf, ".Ss Keys at the top\n");
	add_list(buf, IN_TOP);
	buf_adds(buf, ".Ss Keys of a batch\n");
	add_list(buf, IN_BATCH);
	buf_adds(buf, ".Ss Keys of args_from\n");
	add_list(buf, IN_ARGS_FROM);
	buf_adds(buf, ".Ss Keys of retry_delay\n");
	add_list(buf, IN_RETRY_DELAY);
	buf_adds(buf, ".Ss Keys of defaults\nThe keys of a batch that can apply to every batch:\n");
	add_names(buf, IN_DEFAULTS);
	buf_adds(buf, ".Ss Keys of an entry of commands\n");
	add_names(buf, IN_COMMAND);
}

// ---- tests ----

static void test_page(void) {
	char *page = read_file(PAGE);
	check(page);
	char *begin = strstr(page, PAGE_BEGIN), *end = strstr(page, PAGE_END);
	check(begin && end && begin < end);
	struct buf buf = BUF_INIT;
	buf_add(&buf, page, (size_t)(begin - page) + strlen(PAGE_BEGIN));
	add_page(&buf);
	buf_adds(&buf, end);
	check_file(PAGE, buf_str(&buf));
	buf_fini(&buf);
	free(page);
}

// Every literal block of the page that begins with "version: 1" is a whole manifest.
static void test_page_examples(void) {
	char *page = read_file(PAGE);
	int n = 0;
	check(page);
	for (char *at = page; (at = strstr(at, "\n.Bd -literal -offset indent\nversion: 1\n"));) {
		char *text = strstr(at, "version: 1");
		char *end = strstr(text, "\n.Ed\n");
		check(end);
		*end = '\0';
		at = end + 1;
		struct buf messages = BUF_INIT;
		struct manifest *manifest = manifest_parse(PAGE, text, strlen(text), &messages);
		check_string(buf_str(&messages), "");
		check(manifest);
		manifest_free(manifest);
		buf_fini(&messages);
		++n;
	}
	check(n >= 4);
	free(page);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the manual page has the keys of the table", test_page),
		TEST("the manifests in the manual page are good", test_page_examples),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
