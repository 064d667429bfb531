// The words of a command line, read as options.
//
// By hand, not by getopt_long(): that takes any unique prefix of a name, and glibc and musl say different things about a
// wrong one. The rules are getopt's: short options bundle, a value may be in the same word or the next one, "--" ends the
// options, and so does the first word that is not an option.

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"

#include <string.h>

static void refuse_name(enum option_match match, const char *shown, char *names, const char *suggestion) {
	switch (match) {
	case MATCH_FOREIGN: diag_error("%s is not in fairpar; %s", shown, suggestion); break;
	case MATCH_AMBIGUOUS: diag_error("%s may be %s: write the name in full", shown, names); break;
	case MATCH_SIMILAR: diag_error("unknown option %s; did you mean --%s?", shown, suggestion); break;
	default: diag_error("unknown option %s; 'fairpar --help' lists them all", shown); break;
	}
}

// Takes the next word for the value.
static enum option_reading read_value(struct option_reader *reader, struct option_word *option) {
	if (!*reader->at) {
		diag_error("--%s needs a value: %s", option_table[option->id].name, option_table[option->id].arg);
		return READ_ERROR;
	}
	option->value = *reader->at++;
	return READ_OPTION;
}

// Is an optional value in the next word? As of GNU parallel's (Getopt::Long, of type ":s").
static bool value_follows(const struct option_reader *reader, const struct option_info *info) {
	return option_value_may_follow(info) && *reader->at && (*reader->at)[0] != '-';
}

static bool is_number(const char *text) {
	size_t digits = strspn(text, "0123456789");
	return digits > 0 && text[digits] == '\0';
}

// The number behind a letter that may have one, in the same word or, as GNU parallel takes it, in the next: -l5, -l 5.
static void read_number(struct option_reader *reader, struct option_word *option, const char *rest) {
	if (*rest && is_number(rest)) {
		option->value = rest;
	} else if (!*rest && *reader->at && is_number(*reader->at)) {
		(void)read_value(reader, option);
	}
}

// --name, --name=value or --name value
static enum option_reading read_name(struct option_reader *reader, struct option_word *option) {
	const char *name = option->word + 2, *value = strchr(name, '='), *suggestion = NULL;
	size_t len = value ? (size_t)(value++ - name) : strlen(name);
	char *names = NULL;
	enum option_match match = option_find_long(name, len, &option->id, &names, &suggestion);
	const struct option_info *info = &option_table[option->id];
	if (match == MATCH_OPTION && value && !option_takes_value(info)) {
		diag_error("--%s takes no value ('%s')", info->name, text_shows(option->word));
		return READ_ERROR;
	}
	if (match != MATCH_OPTION) {
		refuse_name(match, text_show(option->word, len > 0 ? len + 2 : strlen(option->word)), names, suggestion);
		free(names);
		return READ_ERROR;
	}
	option->value = value;
	bool must_follow = option_takes_value(info) && !option_value_is_optional(info);
	if (!value && (must_follow || value_follows(reader, info))) {
		return read_value(reader, option);
	}
	if (!value && option->id == OPT_MAX_LINES) { // as -l does; what else may lack a value is fairpar's own
		read_number(reader, option, "");
	}
	return READ_OPTION;
}

static enum option_reading refuse_letter(const struct option_reader *reader, enum option_match match, const char *instead) {
	FP_CLEANUP(buf_fini) struct buf shown = BUF_INIT;
	if ((unsigned char)*reader->letters >= 0x80) { // a part of one
		buf_adds(&shown, text_shows(reader->bundle));
	} else {
		buf_printf(&shown, "-%s", text_show(reader->letters, 1));
		if (reader->letters > reader->bundle + 1) {
			buf_printf(&shown, " in '%s'", text_shows(reader->bundle));
		}
	}
	refuse_name(match, buf_str(&shown), NULL, instead);
	return READ_ERROR;
}

// One of -abc, -n5 or -n 5
static enum option_reading read_letter(struct option_reader *reader, struct option_word *option) {
	const char *instead;
	option->word = reader->bundle;
	option->letter = *reader->letters;
	enum option_match match = option_find_short(option->letter, &option->id, &instead);
	if (match != MATCH_OPTION) {
		return refuse_letter(reader, match, instead);
	}
	const char *rest = reader->letters + 1;
	const struct option_info *info = &option_table[option->id];
	bool may_lack = option_value_may_follow(info) && option->letter >= 'a'; // -i, but not -I
	enum option_reading reading = READ_OPTION;
	if (option_value_is_optional(info) && !option_value_may_follow(info)) {
		read_number(reader, option, rest);
	} else if (option_takes_value(info) && *rest) {
		option->value = rest;
	} else if (option_takes_value(info) && (!may_lack || value_follows(reader, info))) {
		reading = read_value(reader, option);
	}
	bool is_last = *rest == '\0' || option->value || (option_takes_value(info) && !option_value_is_optional(info));
	reader->letters = is_last ? NULL : rest;
	return reading;
}

// -dry-run would be -d ry-run.
static bool is_name_with_one_dash(const char *word) {
	enum option_id id;
	size_t len = strcspn(word + 1, "=");
	if (!option_is_long_name(word + 1, len, &id)) {
		return false;
	}
	diag_error("%s is read as single letters; did you mean --%.*s?", text_shows(word), (int)len, word + 1);
	return true;
}

enum option_reading option_read(struct option_reader *reader, struct option_word *ret_option) {
	const char *word = *reader->at;
	*ret_option = (struct option_word){.word = word};
	if (!reader->letters) {
		if (!word || word[0] != '-' || word[1] == '\0') {
			return READ_END;
		}
		++reader->at;
		if (strcmp(word, "--") == 0) {
			return READ_DASHES;
		}
		if (word[1] == '-') {
			return read_name(reader, ret_option);
		}
		if (is_name_with_one_dash(word)) {
			return READ_ERROR;
		}
		reader->bundle = word;
		reader->letters = word + 1;
	}
	return read_letter(reader, ret_option);
}
