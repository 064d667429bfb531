// Commands that no shell reads (`shell: none`): that they can be split into words, and hold nothing that only a shell
// understands.

#include "manifest/internal.h"

#include "base/alloc.h"
#include "shell/split.h"

static void warn(struct loader *loader, const struct node *node, const char *at, size_t len) {
	struct buf shown = BUF_INIT;
	buf_add_escaped(&shown, at, len, 40);
	struct diagnostic *diagnostic = diagnostic_warning(loader->diagnostics, text_place(loader, node, at, len),
	                                          "'%s' means nothing without a shell", buf_str(&shown));
	diagnostic_hint(diagnostic, "with 'shell: none' it is passed on as it stands; to say so, quote it in the command");
	buf_fini(&shown);
}

static void check_command(struct loader *loader, const struct node *node) {
	if (node->kind != NODE_TEXT || node->text[strspn(node->text, " \t\n")] == '\0' || !load_weigh(loader, node)) {
		return; // or it has its error already
	}
	struct buf words = BUF_INIT;
	const char *error, *at;
	size_t n;
	if (words_split(node->text, &words, &n, &error) != 0) {
		struct diagnostic *diagnostic = load_error(loader, node, "this command cannot be split into words: %s", error);
		diagnostic_hint(diagnostic, "also with 'shell: none' quotes and backslashes are those of a shell");
	} else if (loader->diagnostics->nwarnings < MANIFEST_ERRORS && words_find_syntax(node->text, &at, &n)) {
		warn(loader, node, at, n);
	}
	buf_fini(&words);
}

void load_check_words(struct loader *loader, const char *shell, const struct node *node) {
	if (!node || !shell || strcmp(shell, "none") != 0 || diagnostics_are_full(loader->diagnostics)) {
		return;
	}
	if (node->kind != NODE_LIST) {
		check_command(loader, node);
		return;
	}
	for (uint32_t i = 0; i < node->n; ++i) {
		check_command(loader, node->items[i]);
	}
}
