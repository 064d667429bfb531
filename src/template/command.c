// Builds the arguments of execve() from a template, or from a line that is a whole command.

#include "template/command.h"

#include "base/alloc.h"
#include "base/text.h"
#include "shell/quoting.h"
#include "shell/reader.h"
#include "shell/shell.h"

#include <errno.h>

void command_fini(struct command *command) {
	free(command->argv);
	buf_fini(&command->words);
	buf_fini(&command->text);
	*command = (struct command)COMMAND_INIT;
}

// Lets argv point to the `n` strings in command->words. Returns 0, or -1 with errno E2BIG.
static int set_argv(struct command *command, size_t n) {
	grow_array(&command->argv, &command->argv_cap, n + 1, sizeof(command->argv[0]));
	char *word = command->words.data;
	for (size_t i = 0; i < n; ++i) {
		size_t size = strlen(word) + 1;
		command->argv[i] = word; // set even if the string is too long: a message may show argv[0]
		if (size > COMMAND_STRING_MAX) {
			errno = E2BIG;
			return -1;
		}
		word += size;
	}
	command->argv[n] = NULL;
	return 0;
}

// Builds `shell -c TEXT`. `is_line`: the text is, or begins with, an item, whose syntax was not checked when the template was parsed.
static int build_shell(struct command *command, const struct buf *text, const struct interpreter *by, bool is_line) {
	const char *shell = by->shell, *syntax = NULL;
	size_t at;
	if (is_line && by->is_unnamed && (syntax = shell_bash_syntax(buf_str(text), text->len, &at))) {
		shell = program_find("bash");
	}
	if (!shell) {
		buf_printf(&command->text, "%s does not know '%s', and there is no bash: name a shell that knows it by --shell", by->shell, syntax);
		errno = EINVAL;
		return -1;
	}
	if (shell_uses_function(buf_str(text), text->len)) {
		const char *bash = strcmp(path_base(shell), "bash") == 0 ? NULL : program_find("bash");
		shell = bash ? bash : shell;
	}
	struct buf *words = &command->words;
	buf_reset(words);
	buf_add(words, shell, strlen(shell) + 1);
	buf_add(words, "-c", sizeof("-c"));
	if (text->len > 0 && (text->data[0] == '-' || text->data[0] == '+')) {
		buf_addc(words, ' '); // so that the shell does not take the text for an option
	}
	buf_add(words, buf_str(text), text->len + 1);
	command->path = shell;
	command->by_shell = true;
	return set_argv(command, 3);
}

// Builds the command from the words, without a shell. Returns 0, or -1 with errno. (process/spawn.h runs a script without #! by /bin/sh.)
static int build_bare(struct command *command, size_t nwords, const struct interpreter *by) {
	if (set_argv(command, nwords) != 0) {
		return -1;
	}
	if (nwords == 0) {
		errno = ENOENT;
		return -1;
	}
	const char *name = command->argv[0];
	if (strchr(name, '/')) {
		command->path = name;
	} else if (by->path) {
		command->path = program_search(by->path, name, &command->text) == 0 ? command->text.data : NULL;
	} else {
		command->path = program_find(name);
	}
	return command->path ? 0 : -1;
}

int command_build(struct command *command, const struct template *template, const struct expansion *x,
                  const struct interpreter *by, const struct buf *text) {
	struct buf *words = &command->words;
	buf_reset(words);
	buf_reset(&command->text);
	command->by_shell = false;
	size_t nwords = 0;
	if (!by->shell && !template) {
		buf_add(words, x->record->args, x->record->nargs > 0 ? x->record->size : 0);
		return build_bare(command, x->record->nargs, by);
	}
	if (!by->shell) {
		return build_bare(command, template_expand_words(template, x, words), by);
	}
	if (template_has(template, TEMPLATE_IS_DIRECT)) {
		nwords = template_expand_words(template, x, words);
	} else if (!template && !shell_is_needed(text->data, text->len)) { // a line without shell syntax is split at its blanks
		const char *line = buf_str(text);
		for (size_t len; len = strcspn(line += strspn(line, " \t"), " \t"), len > 0; line += len) {
			buf_add(words, line, len);
			buf_addc(words, '\0');
			++nwords;
		}
	}
	if (nwords > 0 && set_argv(command, nwords) != 0) {
		return -1;
	}
	// a shell runs `echo --help` and `echo --version`: the shell's builtin prints the word, but GNU's program obeys it
	const char *name = nwords > 0 ? command->argv[0] : "", *option = strcmp(name, "echo") == 0 && nwords == 2 ? command->argv[1] : "";
	bool is_for_shell = nwords == 0 || strcmp(option, "--help") == 0 || strcmp(option, "--version") == 0 || (by->path && !strchr(name, '/'));
	command->path = is_for_shell ? NULL : program_find_direct(name, strlen(name));
	if (command->path) {
		return 0; // if the program is not found, a shell runs the command: then the shell prints the message, and exits with 127
	}
	return build_shell(command, text, by, !template || template_has(template, TEMPLATE_BEGINS_WITH_ITEM));
}

void command_text(const struct template *template, const struct expansion *x, const struct interpreter *by,
                  struct buf *buf) {
	if (template) {
		template_expand(template, x, buf);
	} else {
		const char *at = x->record->args;
		for (uint32_t i = 0; i < x->record->nargs && by->shell; ++i, at += strlen(at) + 1) {
			buf_adds(buf, i > 0 ? " " : "");
			buf_adds(buf, at);
		}
		buf_reserve(buf, 0);
		if (!by->shell) {
			shell_quote_words(buf, x->record->args, x->record->nargs > 0 ? x->record->size : 0);
		}
	}
}
