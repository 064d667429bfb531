// What is printed from the option table: the completions.
//
// The scripts in completions/ are this output, committed so that a package needs no run of the program; tests/docs.bats
// compares them.

#include "help.h"

#include "base/alloc.h"
#include "option_table.h"

// Appends s as a word in single quotes, for any of the shells (fish takes \' inside, the others '\'').
static void add_quoted(struct buf *text, const char *s, bool fish) {
	buf_addc(text, '\'');
	for (; *s; ++s) {
		if (*s == '\'') {
			buf_adds(text, fish ? "\\'" : "'\\''");
		} else if (fish && *s == '\\') {
			buf_adds(text, "\\\\");
		} else {
			buf_addc(text, *s);
		}
	}
	buf_addc(text, '\'');
}

// Appends all spellings of the option ("-j -P --jobs --max-procs"), each with the separator in front.
static void add_spellings(struct buf *text, const struct option_info *option, const char *separator) {
	for (const char *letter = option->shorts; *letter; ++letter) {
		buf_printf(text, "%s-%c", separator, *letter);
	}
	buf_printf(text, "%s--%s", separator, option->name);
	size_t len;
	const char *list = option->aliases;
	for (const char *name; (name = option_next_word(&list, &len));) {
		buf_printf(text, "%s--%.*s", separator, (int)len, name);
	}
}

static bool wants_separate_value(const struct option_info *option) {
	return option_takes_value(option) && !option_value_is_optional(option);
}

static void add_valued(struct buf *text, const char *separator) {
	for (int id = 0; id < NOPTIONS; ++id) {
		if (wants_separate_value(&option_table[id])) {
			add_spellings(text, &option_table[id], separator);
		}
	}
}

// ---- bash ----

// Bash splits words at = and : (COMP_WORDBREAKS), so "--jobs=4" comes as three words. The walk finds where the command
// begins, and whether the word under the cursor is an option's value.
static const char bash_walk[] =
	"	local cur=${COMP_WORDS[COMP_CWORD]} i=1 command=0 want='' word rest\n"
	"	while ((i < COMP_CWORD)); do\n"
	"		word=${COMP_WORDS[i]}\n"
	"		if [[ -n $want ]]; then\n"
	"			if [[ $word != = && ${COMP_WORDS[i + 1]} != = ]]; then\n"
	"				want=\n"
	"			fi\n"
	"		elif [[ $word == -- ]]; then\n"
	"			command=$((i + 1))\n"
	"			break\n"
	"		elif [[ $word == --* ]]; then\n"
	"			if [[ ${COMP_WORDS[i + 1]} == = || $valued == *\" $word \"* ]]; then\n"
	"				want=$word\n"
	"			fi\n"
	"		elif [[ $word == -?* ]]; then\n"
	"			for ((rest = 1; rest < ${#word}; rest++)); do\n"
	"				if [[ $valued == *\" -${word:rest:1} \"* ]]; then\n"
	"					if ((rest == ${#word} - 1)); then\n"
	"						want=-${word:rest:1}\n"
	"					fi\n"
	"					break\n"
	"				fi\n"
	"			done\n"
	"		else\n"
	"			command=$i\n"
	"			break\n"
	"		fi\n"
	"		((i++))\n"
	"	done\n"
	"	if [[ -n $want && $cur == = ]]; then\n"
	"		cur=\n"
	"	fi\n";

static const char bash_end[] =
	"	if ((command > 0 && command < COMP_CWORD)); then\n"
	"		if [[ \" ${COMP_WORDS[*]:command:COMP_CWORD-command} \" != *' :::'* ]] && declare -F _command_offset >/dev/null; then\n"
	"			_command_offset \"$command\"\n"
	"		else\n"
	"			_fairpar_files \"$cur\"\n"
	"		fi\n"
	"	elif ((command == 0)) && [[ $cur == -* ]]; then\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
	"	else\n"
	"		_fairpar_commands \"$cur\"\n"
	"	fi\n"
	"} && complete -F _fairpar fairpar\n";

static const char bash_functions[] =
	"_fairpar_files() {\n"
	"	compopt -o filenames 2>/dev/null # fails when called by hand\n"
	"	mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n"
	"}\n\n"
	"_fairpar_commands() {\n"
	"	if [[ $1 == */* ]]; then\n"
	"		_fairpar_files \"$1\"\n"
	"	else\n"
	"		mapfile -t COMPREPLY < <(compgen -c -- \"$1\" | sort -u)\n"
	"	fi\n"
	"}\n\n";

static void add_bash_value(struct buf *text, const struct option_info *option) {
	const char *kind = option->complete;
	struct buf spellings = BUF_INIT;
	add_spellings(&spellings, option, " | ");
	buf_printf(text, "	%s)\n", buf_str(&spellings) + strlen(" | "));
	buf_fini(&spellings);
	if (strcmp(kind, "file") == 0 || strcmp(kind, "named") == 0) {
		buf_adds(text, "		_fairpar_files \"$cur\"\n");
	} else if (strcmp(kind, "command") == 0) {
		buf_adds(text, "		_fairpar_commands \"$cur\"\n");
	} else {
		buf_printf(text, "		mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n", kind);
	}
	buf_adds(text, "		return\n		;;\n");
}

static void print_bash(struct buf *text) {
	buf_printf(text, "# bash completion for fairpar, made by: fairpar --completions bash\n\n%s_fairpar() {\n	local options='\n",
	           bash_functions);
	for (int id = 0; id < NOPTIONS; ++id) {
		struct buf line = BUF_INIT;
		add_spellings(&line, &option_table[id], " ");
		buf_printf(text, "		%s\n", buf_str(&line) + 1);
		buf_fini(&line);
	}
	buf_adds(text, "	' valued='");
	add_valued(text, " ");
	buf_printf(text, " '\n%s	case $want in\n	'') ;;\n", bash_walk);
	for (int id = 0; id < NOPTIONS; ++id) {
		if (option_table[id].complete[0]) {
			add_bash_value(text, &option_table[id]);
		}
	}
	buf_printf(text, "	*)\n		return\n		;;\n	esac\n%s", bash_end);
}

// ---- zsh ----

// "[text]" of a specification: brackets, colons and backslashes are escaped.
static void add_zsh_text(struct buf *text, const char *s) {
	for (; *s; ++s) {
		if (strchr("[]:\\", *s)) {
			buf_addc(text, '\\');
		}
		buf_addc(text, *s);
	}
}

static void add_zsh_value(struct buf *spec, const struct option_info *option) {
	const char *kind = option->complete;
	buf_adds(spec, option_value_is_optional(option) ? "::" : ":");
	struct buf name = BUF_INIT;
	for (const char *c = option->arg; *c; ++c) {
		if (!strchr("[]=:", *c)) {
			buf_addc(&name, *c);
		}
	}
	buf_adds(spec, name.len > 0 ? buf_str(&name) : "value");
	buf_fini(&name);
	if (strcmp(kind, "file") == 0) {
		buf_adds(spec, ":_files");
	} else if (strcmp(kind, "named") == 0) {
		buf_adds(spec, ":_fairpar_named");
	} else if (strcmp(kind, "command") == 0) {
		buf_adds(spec, ":_command_names -e");
	} else if (kind[0]) {
		buf_adds(spec, ":(");
		add_zsh_text(spec, kind);
		buf_addc(spec, ')');
	} else {
		buf_adds(spec, ": ");
	}
}

// One specification for each spelling: "-j+[text]:N:_files", "--jobs=[text]:N:_files".
static void add_zsh_spec(struct buf *text, const struct option_info *option, const char *spelling, size_t len) {
	struct buf spec = BUF_INIT;
	buf_printf(&spec, "*%.*s", (int)len, spelling);
	if (option_value_is_optional(option)) {
		buf_adds(&spec, "=-");
	} else if (option_takes_value(option)) {
		buf_addc(&spec, spelling[1] == '-' ? '=' : '+');
	}
	buf_addc(&spec, '[');
	add_zsh_text(&spec, option->brief);
	buf_addc(&spec, ']');
	if (option_takes_value(option)) {
		add_zsh_value(&spec, option);
	}
	buf_adds(text, "		");
	add_quoted(text, buf_str(&spec), false);
	buf_adds(text, " \\\n");
	buf_fini(&spec);
}

static void print_zsh(struct buf *text) {
	buf_adds(text, "#compdef fairpar\n# zsh completion for fairpar, made by: fairpar --completions zsh\n\n"
	               "# the value of --batch: NAME or NAME=FILE\n"
	               "_fairpar_named() {\n	if compset -P '*='; then\n		_files\n	else\n		_message NAME=FILE\n	fi\n}\n\n"
	               "# what follows the command: after ::: and its kin items, before that what the command takes\n"
	               "_fairpar_rest() {\n	if ((${words[(I):::*]})); then\n		_files\n	else\n		_normal\n	fi\n}\n\n"
	               "_fairpar() {\n	_arguments -s -S -A '-*' : \\\n");
	for (int id = 0; id < NOPTIONS; ++id) {
		struct buf spellings = BUF_INIT;
		add_spellings(&spellings, &option_table[id], " ");
		const char *list = buf_str(&spellings);
		size_t len;
		for (const char *spelling; (spelling = option_next_word(&list, &len));) {
			add_zsh_spec(text, &option_table[id], spelling, len);
		}
		buf_fini(&spellings);
	}
	buf_adds(text, "		'(-):command:_command_names -e' \\\n		'*::argument:_fairpar_rest'\n}\n\n_fairpar \"$@\"\n");
}

// ---- fish ----

static const char fish_functions[] =
	"# The words after fairpar and its options: its command, up to the cursor.\n"
	"function __fairpar_command\n"
	"	set -l tokens (commandline -opc)\n"
	"	set -e tokens[1]\n"
	"	while set -q tokens[1]\n"
	"		switch $tokens[1]\n"
	"			case --\n"
	"				set -e tokens[1]\n"
	"				break\n"
	"			case '-?*'\n"
	"				if contains -- $tokens[1] $__fairpar_valued\n"
	"					set -e tokens[1]\n"
	"				end\n"
	"				set -e tokens[1]\n"
	"			case '*'\n"
	"				break\n"
	"		end\n"
	"	end\n"
	"	test (count $tokens) -gt 0; and string escape -- $tokens\n"
	"end\n\n"
	"# Completes the command itself, then what it takes, after ::: and its kin files.\n"
	"function __fairpar_complete\n"
	"	set -l command (__fairpar_command)\n"
	"	if string match -q -- ':::*' $command\n"
	"		__fish_complete_path (commandline -ct)\n"
	"	else\n"
	"		complete -C (string join ' ' -- $command (commandline -ct))\n"
	"	end\n"
	"end\n\n"
	"function __fairpar_in_options\n"
	"	test (count (__fairpar_command)) -eq 0\n"
	"end\n\n"
	"complete -c fairpar -f\n"
	"complete -c fairpar -a '(__fairpar_complete)'\n";

static void add_fish_option(struct buf *text, const struct option_info *option) {
	const char *kind = option->complete;
	buf_adds(text, "complete -c fairpar -n __fairpar_in_options");
	for (const char *letter = option->shorts; *letter; ++letter) {
		buf_printf(text, " -s %c", *letter);
	}
	buf_printf(text, " -l %s", option->name);
	size_t len;
	const char *list = option->aliases;
	for (const char *name; (name = option_next_word(&list, &len));) {
		buf_printf(text, " -l %.*s", (int)len, name);
	}
	if (strcmp(kind, "file") == 0 || strcmp(kind, "named") == 0) {
		buf_adds(text, " -r -F");
	} else if (strcmp(kind, "command") == 0) {
		buf_adds(text, " -x -a '(__fish_complete_command)'");
	} else if (kind[0]) {
		buf_adds(text, " -x -a ");
		add_quoted(text, kind, true);
	} else if (wants_separate_value(option)) {
		buf_adds(text, " -x");
	}
	buf_adds(text, " -d ");
	add_quoted(text, option->brief, true);
	buf_addc(text, '\n');
}

static void print_fish(struct buf *text) {
	buf_adds(text, "# fish completion for fairpar, made by: fairpar --completions fish\n\nset -g __fairpar_valued");
	add_valued(text, " ");
	buf_printf(text, "\n\n%s", fish_functions);
	for (int id = 0; id < NOPTIONS; ++id) {
		add_fish_option(text, &option_table[id]);
	}
}

int completions_print(struct buf *text, const char *shell) {
	static const struct { const char *shell; void (*print)(struct buf *text); } printers[] = {
		{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish},
	};
	for (size_t i = 0; i < sizeof(printers) / sizeof(printers[0]); ++i) {
		if (strcmp(shell, printers[i].shell) == 0) {
			printers[i].print(text);
			return 0;
		}
	}
	return -1;
}
