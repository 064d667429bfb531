// Hostile items: what breaks out of quotes, ends here-documents, is evaluated, or is half a character.

#include "property.h"

#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state) {
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

unsigned random_below(uint64_t *state, unsigned n) {
	return (unsigned)(random_next(state) >> 33) % n;
}

bool item_is_integer(const char *item) {
	item += *item == '-' || *item == '+';
	const char *digits = item[0] == '0' && (item[1] == 'x' || item[1] == 'X') ? "0123456789abcdefABCDEF" : "0123456789";
	item += digits[10] ? 2 : 0;
	return *item && strspn(item, digits) == strlen(item);
}

bool item_is_decimal(const char *item) {
	const char *digits = item + (*item == '-');
	return item_is_integer(item) && *item != '+' && strlen(digits) < 10 && (*digits != '0' || strcmp(item, "0") == 0);
}

// Each of these makes the file PWN if it is run in some place where it is no data.
static const char *const hostile[] = {
	"$(>PWN)", "`>PWN`", "a[$(>PWN)]", "a[`>PWN`]", ";>PWN;", "\n>PWN\n", "'$(>PWN)'", "\"$(>PWN)\"", "';>PWN;'", "\";>PWN;\"",
	"A\x81$(>PWN)", "A\x81`>PWN`", "\x81\\$(>PWN)", "\x81';>PWN;'", "\x81\";>PWN;\"", "\x81\x5c';>PWN;'", "\x83\x5c$(>PWN)",
	"\xa4\x5c`>PWN`", "\\$(>PWN)", "\\`>PWN`", "\\\\$(>PWN)", "\\';>PWN;'", "\\\";>PWN;\"", ")>PWN", "))>PWN", ");>PWN;(",
	"));>PWN;((", "}>PWN", "};>PWN;{", "${x:=$(>PWN)}", "$((a[$(>PWN)]))", "x=$(>PWN)", "1+a[$(>PWN)]", "E1\n>PWN\n", "E2\n>PWN\n",
	"x\nE1\n>PWN\n", "\nE1\n>PWN\n", "E1\n)>PWN\n", "\tE1\n>PWN\n", "x;;esac;>PWN;", "x)>PWN;;", "*)>PWN;;x", "]];>PWN;[[", "#\n>PWN\n",
	" #\n>PWN #", "|>PWN", "&>PWN", "&&>PWN", "||>PWN", ">PWN", "<>PWN", "1>PWN", "&PWN", "-v a[$(>PWN)]", "-0", "-a[$(>PWN)]",
	"x[$(>PWN)]=1", "a[$(>PWN)]=1", "a[0$(>PWN)]", "PATH=x>PWN", "(e:'>PWN':)", "~(>PWN)", "<(>PWN)", ">(>PWN)", "=(>PWN)", "${(e):-$(>PWN)}",
	"${ >PWN;}", "${|>PWN;}", "$[a[$(>PWN)]]", "\\\n>PWN\n", "a\\", "'\\'';>PWN;'", "$'\\'>PWN'", "!>PWN", "E1", "\nE1\n",
	"a[$(>PWN)]++", "a=a[$(>PWN)]", "(a[$(>PWN)])", "/x/$(>PWN)", "}$(>PWN){", "]$(>PWN)[", "canary", "$(canary)", "`canary`",
	"'`canary`'", "\ncanary\n", ";canary;", "\x81\\\x81\\$(>PWN)", "x\x81", "\x81", "\x81\\", "\x81`", "\x81|>PWN", "\x81}>PWN", "\x81]>PWN",
	"\x95\x5c", "\x81\x30\x81$(>PWN)", "\x81\x30\x81\x30`>PWN`", "\x81\x30\\", "\x88\x5c$(>PWN)", "'\x81\\'$(>PWN)", "\x81\x5c\n>PWN\n",
};

static const char *const awkward[] = {
	"", " ", "\n", "\n\n", "a b", "a  b", "\t", "-n", "-e", "--", "-", "-v", "*", "?", "[a]", "~", "~root", "~+", "=ls", "!x", "#", "%s", "%d", "\\", "\\\\",
	"\\n", "\\c", "$", "$x", "${x}", "$$", "$1", "$IFS", "'", "''", "\"", "\"\"", "`", "&", "|", ";", "(", ")", "{", "}", "{a,b}", "{1..3}", "<", ">",
	"x\n", "\nx", "x\n\n", "a'b", "a\"b", "it's", "a\\'b", "a=b", "a:b", "a,b", "^a^b", "@(a)", "+(a)", "!(a)", "?(a)", "\xc3\xa9", "\xe4\xb8\xad", "\xff",
	"\x80", "\x01", "\x02", "\x7f", "\x81\x40", "\xa1\xa1", "\xff\xfe", "\r", "\r\n", "\x1b[31m", "//", ".", "..", "[", "]", "[[", "]]", "((", "))", "do",
	"done", "esac", "fi", "in", "then", "a;b c", "a]b", "a}b", "a)b", "a/b", "x", "E2", "\tE1", "a\tb", "FAIRPAR", "\x88", "\x84", "\x98", "\x9b", "\xcb\\",
	"a\\", "a\\\n", "\\\nb", "a\x81\nb", "{}", "{1}", "{.}", "{#}", "&&", "a&b", "\x83\x83", "\xa2\x84",
};

static const char *const integers[] = {"7", "0", "1", "-3", "+5", "42", "0x1f", "010", "123456", "-1", "09", "-0", "99999999"};
static const char *const almost[] = {
	"1 1", "1+1", "x", "0x", "--1", "1a", "1;", "1\n", " 1", "1 ", "1.5", "a[1]", "-", "+", "1$(>PWN)", "1,a[$(>PWN)]", "name[$(>PWN)]", "name=1", "16#f",
	"name ", "name\n", "na-me", "1name", "na.me", "x[0]", "name[0]", "-n", "\xc3\xa9", "1\x81", "n\x81", "a b", "name;>PWN", "BASH_ENV", "0x1g", "1e3",
};

#define PICK(list) list[random_below(random, sizeof(list) / sizeof(list[0]))]

// Some bytes, any or special.
static void add_bytes(struct text *item, uint64_t *random) {
	static const char special[] = "'\"\\$`!#~*?[]{}()<>|&;=^% \t\n\nE1${}abc019-_.+/\r\1\177\200\201\210\203\225\300\377";
	unsigned kind = random_below(random, 3);
	for (unsigned n = random_below(random, random_below(random, 4) ? 7 : 28); n > 0; --n) {
		bool any = kind == 0 || (kind == 1 && random_below(random, 2));
		char c = any ? (char)(1 + random_below(random, 255)) : special[random_below(random, sizeof(special) - 1)];
		text_add(item, strchr("QSs", c) ? "x" : &c, 1); // what patterns in the grammar fit
	}
}

static void add_wanted(struct text *item, uint64_t *random, enum wanted wanted) {
	unsigned kind = random_below(random, 4);
	if (kind == 0 || wanted == WANTS_ANY) {
		text_adds(item, PICK(almost));
	} else {
		text_adds(item, PICK(integers));
	}
}

void item_random(struct text *item, uint64_t *random, const struct command *command) {
	if (command->wanted != WANTS_ANY && random_below(random, 2)) {
		add_wanted(item, random, command->wanted);
		return;
	}
	switch (random_below(random, 16)) {
	case 0: case 1: case 2: case 3: case 4: case 5: case 6:
		text_adds(item, PICK(hostile));
		break;
	case 7: case 8: case 9:
		text_adds(item, PICK(awkward));
		break;
	case 10: case 11:
		add_bytes(item, random);
		text_adds(item, PICK(hostile));
		add_bytes(item, random);
		break;
	case 12:
		text_adds(item, PICK(awkward));
		text_adds(item, PICK(hostile));
		break;
	case 13:
		add_wanted(item, random, WANTS_ANY);
		break;
	case 14:
		for (unsigned n = random_below(random, 40) ? 0 : 200 + random_below(random, 5000); n > 0; --n) {
			text_adds(item, "long ");
		}
		text_adds(item, PICK(hostile));
		break;
	default:
		add_bytes(item, random);
	}
}
