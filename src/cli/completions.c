// What is printed from the option table: the completions.
//
// The scripts in completions/ are this output, committed so that a package needs no run of the program; tests/docs.bats
// compares them.

#include "cli/help.h"

#include "base/alloc.h"
#include "cli/option_table.h"

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
	return option_takes_value(option) && (!option_value_is_optional(option) || option_value_may_follow(option));
}

static void add_valued(struct buf *text, const char *separator) {
	for (int id = 0; id < NOPTIONS; ++id) {
		if (wants_separate_value(&option_table[id])) {
			add_spellings(text, &option_table[id], separator);
		}
	}
}

static bool names_manifest(const struct option_info *option) {
	return strcmp(option->complete, "manifest") == 0;
}

// All options that name the manifest.
static void add_manifest_options(struct buf *text, const char *separator) {
	for (int id = 0; id < NOPTIONS; ++id) {
		if (names_manifest(&option_table[id])) {
			add_spellings(text, &option_table[id], separator);
		}
	}
}

// ---- bash ----

// Bash splits words at = and : (COMP_WORDBREAKS), so "--jobs=4" comes as three words. The walk finds where the command
// begins, whether the word under the cursor is an option's value, and which manifest has been named.
static const char bash_walk[] =
	"	local cur=${COMP_WORDS[COMP_CWORD]} i=1 command=0 want='' manifest='' word rest\n"
	"	while ((i < COMP_CWORD)); do\n"
	"		word=${COMP_WORDS[i]}\n"
	"		if [[ -n $want ]]; then\n"
	"			if [[ $word != = && ${COMP_WORDS[i + 1]} != = ]]; then\n"
	"				[[ $manifests != *\" $want \"* ]] || manifest=$word\n"
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
	"					elif [[ $manifests == *\" -${word:rest:1} \"* ]]; then\n"
	"						manifest=${word:rest + 1}\n"
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
	"	if [[ -n $manifest && ($command != 0 || $cur != -*) ]]; then\n"
	"		_fairpar_batches \"$manifest\" \"$cur\"\n"
	"	elif ((command > 0 && command < COMP_CWORD)); then\n"
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
	"_fairpar_manifests() {\n"
	"	compopt -o filenames 2>/dev/null\n"
	"	mapfile -t COMPREPLY < <(compgen -f -X '!*.yaml' -- \"$1\"; compgen -f -X '!*.yml' -- \"$1\")\n"
	"	if [[ -n ${COMPREPLY[*]} ]]; then\n"
	"		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$1\")\n"
	"	else\n"
	"		_fairpar_files \"$1\"\n"
	"	fi\n"
	"}\n\n"
	"# The names of the batches in a manifest. A fifo or stdin is not read: it would be lost for fairpar.\n"
	"_fairpar_batches() {\n"
	"	local file=${1//[\\\\\\\"\\']/} program=${COMP_WORDS[0]} name\n"
	"	file=${file/#\\~\\//$HOME/}\n"
	"	COMPREPLY=()\n"
	"	[[ -f $file ]] || return\n"
	"	while IFS= read -r name; do\n"
	"		if [[ $name == \"$2\"* ]]; then\n"
	"			COMPREPLY+=(\"$(printf %q \"$name\")\")\n"
	"		fi\n"
	"	done < <(\"${program/#\\~\\//$HOME/}\" -f \"$file\" --list=names 2>/dev/null)\n"
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
	} else if (names_manifest(option)) {
		buf_adds(text, "		_fairpar_manifests \"$cur\"\n");
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
	buf_adds(text, " ' manifests='");
	add_manifest_options(text, " ");
	buf_printf(text, " '\n%s	case $want in\n	'') ;;\n", bash_walk);
	for (int id = 0; id < NOPTIONS; ++id) {
		if (option_table[id].complete[0]) {
			add_bash_value(text, &option_table[id]);
		}
	}
	buf_printf(text, "	*)\n		return\n		;;\n	esac\n%s", bash_end);
}

// ---- zsh ----

static const char zsh_functions[] =
	"#compdef fairpar\n# zsh completion for fairpar, made by: fairpar --completions zsh\n\n"
	"# the value of --batch: NAME or NAME=FILE\n"
	"_fairpar_named() {\n	if compset -P '*='; then\n		_files\n	else\n		_message NAME=FILE\n	fi\n}\n\n"
	"# the names of the batches in the manifest, if there is one; a fifo or stdin is not read: it would be lost for fairpar\n"
	"_fairpar_batches() {\n"
	"	local manifest=${opt_args[-f]:-${opt_args[--manifest]}} expl\n"
	"	local -a names\n"
	"	[[ -n $manifest ]] || return\n"
	"	manifest=${(Q)${(Q)manifest}}\n"
	"	manifest=${manifest/#\\~\\//$HOME/}\n"
	"	if [[ -f $manifest ]]; then\n"
	"		names=(${(f)\"$(_call_program batches fairpar -f ${(q)manifest} --list=names 2>/dev/null)\"})\n"
	"	fi\n"
	"	_wanted batches expl batch compadd -a names\n"
	"	return 0\n"
	"}\n\n"
	"_fairpar_first() {\n	_fairpar_batches || _command_names -e\n}\n\n"
	"# what follows the command: after ::: and its kin items, before that what the command takes\n"
	"_fairpar_rest() {\n	if _fairpar_batches; then\n		return\n	elif ((${words[(I):::*]})); then\n		_files\n"
	"	else\n		_normal\n	fi\n}\n\n"
	"_fairpar() {\n	_arguments -s -S -A '-*' : \\\n";

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
	} else if (names_manifest(option)) {
		buf_adds(spec, ":_files -g \"*.(yaml|yml)(-.)\"");
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
	buf_adds(text, zsh_functions);
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
	buf_adds(text, "		'(-):command:_fairpar_first' \\\n		'*::argument:_fairpar_rest'\n}\n\n_fairpar \"$@\"\n");
}

// ---- fish ----

static const char fish_functions[] =
	"# Walks over fairpar and its options, up to the cursor. Then the words behind them, its command, are printed; or\n"
	"# with the argument \"manifest\" the file that -f names.\n"
	"function __fairpar_walk\n"
	"	set -l tokens (commandline -opc)\n"
	"	set -l manifest\n"
	"	set -e tokens[1]\n"
	"	while set -q tokens[1]\n"
	"		set -l option $tokens[1]\n"
	"		set -l value\n"
	"		switch $option\n"
	"			case --\n"
	"				set -e tokens[1]\n"
	"				break\n"
	"			case '--*=*'\n"
	"				set value (string replace -r '^[^=]*=' '' -- $option)\n"
	"				set option (string replace -r '=.*' '' -- $option)\n"
	"			case '--*'\n"
	"			case '-?*'\n"
	"				# of bundled letters the first that takes a value has what follows it\n"
	"				for i in (seq 2 (string length -- $option))\n"
	"					set -l letter -(string sub -s $i -l 1 -- $option)\n"
	"					if contains -- $letter $__fairpar_valued\n"
	"						set value (string sub -s (math $i + 1) -- $option)\n"
	"						set option $letter\n"
	"						break\n"
	"					end\n"
	"				end\n"
	"			case '*'\n"
	"				break\n"
	"		end\n"
	"		set -e tokens[1]\n"
	"		if test -z \"$value\"; and contains -- $option $__fairpar_valued\n"
	"			set value $tokens[1]\n"
	"			set -e tokens[1]\n"
	"		end\n"
	"		if contains -- $option $__fairpar_manifests\n"
	"			set manifest $value\n"
	"		end\n"
	"	end\n"
	"	if test \"$argv[1]\" = manifest\n"
	"		string replace -r '^~/' \"$HOME/\" -- $manifest\n"
	"	else if test (count $tokens) -gt 0\n"
	"		string escape -- $tokens\n"
	"	end\n"
	"end\n\n"
	"# Completes the command itself, then what it takes, after ::: and its kin files; with a manifest names of its batches.\n"
	"# A fifo or stdin is not read for them: it would be lost for fairpar.\n"
	"function __fairpar_complete\n"
	"	set -l command (__fairpar_walk)\n"
	"	set -l manifest (__fairpar_walk manifest)\n"
	"	if test -n \"$manifest\"\n"
	"		test -f $manifest; and fairpar -f $manifest --list=names 2>/dev/null\n"
	"	else if string match -q -- ':::*' $command\n"
	"		__fish_complete_path (commandline -ct)\n"
	"	else if set -q command[1]; or not string match -q -- '-*' (commandline -ct)\n"
	"		complete -C (string join ' ' -- $command (commandline -ct))\n"
	"	end\n"
	"end\n\n"
	"function __fairpar_in_options\n"
	"	test (count (__fairpar_walk)) -eq 0\n"
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
	} else if (names_manifest(option)) {
		buf_adds(text, " -r -k -a '(__fish_complete_suffix .yml; __fish_complete_suffix .yaml)'");
	} else if (strcmp(kind, "command") == 0) {
		buf_adds(text, " -x -a '(__fish_complete_command)'");
	} else if (kind[0]) {
		buf_adds(text, option_value_is_optional(option) ? " -a " : " -x -a ");
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
	buf_adds(text, "\nset -g __fairpar_manifests");
	add_manifest_options(text, " ");
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
