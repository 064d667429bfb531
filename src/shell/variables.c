// The variables that shells and the loader obey: whose values are code or arithmetic to them, or by which programs are found.
// From the manuals of bash, zsh, ksh93, mksh, yash and dash, and ld.so(8); the integers as bash 5.2, zsh 5.9 and mksh R59 have
// them.

#include "base/units.h"
#include "shell/reader.h"

#include <string.h>

enum variable_kind shell_variable_kind(const char *name, bool is_array) {
	static const char code[] =
		"PS0 PS1 PS2 PS3 PS4 PROMPT PROMPT2 PROMPT3 PROMPT4 RPROMPT RPROMPT2 RPS1 RPS2 SPROMPT PROMPT_COMMAND POST_PROMPT_COMMAND "
		"COMMAND_NOT_FOUND_HANDLER YASH_AFTER_CD MAILPATH ENV BASH_ENV ZDOTDIR FCEDIT NULLCMD READNULLCMD STTY SHELLOPTS BASHOPTS "
		"BASH_ALIASES dis_aliases dis_functions galiases dis_galiases saliases dis_saliases IFS";
	static const char integers[] =
		"RANDOM SRANDOM SECONDS LINENO OPTIND HISTCMD TMOUT MAILCHECK HISTSIZE SAVEHIST COLUMNS LINES UID GID EUID EGID ERRNO "
		"KEYTIMEOUT LISTMAX DIRSTACKSIZE FUNCNEST SHLVL TTYIDLE TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT BASHPID KSHUID KSHGID KSHEGID "
		"PGRP PPID PIPESTATUS USER_ID";
	size_t len = strcspn(name, "[");
	if (len == 0) {
		return VARIABLE_PLAIN;
	}
	if (word_is_in(code, name, len) || strncmp(name, "BASH_FUNC_", 10) == 0 || (is_array && word_is_in("functions aliases", name, len))) {
		return VARIABLE_CODE;
	}
	if (word_is_in("PATH LD_LIBRARY_PATH FPATH BASH_LOADABLES_PATH MODULE_PATH YASH_LOADPATH", name, len)) {
		return VARIABLE_DIRECTORIES;
	}
	bool is_table = is_array && word_is_in("commands path fpath module_path", name, len);
	if (strncmp(name, "LD_", 3) == 0 || word_is_in("BASH_CMDS dis_commands GCONV_PATH", name, len) || is_table) {
		return VARIABLE_PROGRAMS;
	}
	return word_is_in(integers, name, len) ? VARIABLE_INTEGER : VARIABLE_PLAIN;
}
