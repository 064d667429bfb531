// Reads GNU parallel's lists of machines, and makes the command line that starts a worker on a machine. See sshlogin.h.

#include "remote/sshlogin.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HEXADECIMAL DIGITS "abcdefABCDEF"

enum { MOST_CPUS = 100000, DEEPEST = 8 }; // the greatest N of N/HOST; how deep files may name files

// Characters that have no special meaning to any shell or to ssh. ('~' is not one: of a program "~/NAME", only NAME is tested.)
#define PLAIN LETTERS DIGITS "_./+,:@%-"

// ---- the list ----

static void login_fini(struct sshlogin *login) {
	free(login->name);
	free(login->host);
	free(login->user);
	free(login->port);
	free(login->command);
	buf_fini(&login->groups);
}

void sshlogins_fini(struct sshlogins *list) {
	for (size_t i = 0; i < list->n; i++) {
		login_fini(&list->logins[i]);
	}
	free(list->logins);
	buf_fini(&list->wanted);
	*list = (struct sshlogins)SSHLOGINS_INIT;
}

struct sshlogin *sshlogins_find(const struct sshlogins *list, const char *name) {
	for (size_t i = 0; i < list->n; i++) {
		if (list->logins[i].kind != SSHLOGIN_LAUNCH && strcmp(list->logins[i].name, name) == 0) {
			return &list->logins[i];
		}
	}
	return NULL;
}

bool sshlogins_has_remote(const struct sshlogins *list) {
	for (size_t i = 0; i < list->n; i++) {
		if (list->logins[i].kind != SSHLOGIN_LOCAL) {
			return true;
		}
	}
	return false;
}

// ---- groups ----

static void group_add(struct buf *groups, const char *name, size_t len) {
	buf_add(groups, name, len);
	buf_addc(groups, '\0');
}

static bool login_is_in(const struct sshlogin *login, const char *group) {
	for (size_t i = 0; i < login->groups.len; i += strlen(login->groups.data + i) + 1) {
		if (strcmp(login->groups.data + i, group) == 0) {
			return true;
		}
	}
	return false;
}

bool sshlogin_matches(const struct sshlogin *login, const char *name) {
	return name[0] == '@' ? login_is_in(login, name + 1) : strcmp(name, login->name) == 0 || strcmp(name, login->host) == 0;
}

static bool login_is_wanted(const struct sshlogin *login, const struct buf *wanted) {
	bool is_wanted = wanted->len == 0;
	for (size_t i = 0; i < wanted->len && !is_wanted; i += strlen(wanted->data + i) + 1) {
		is_wanted = login_is_in(login, wanted->data + i);
	}
	return is_wanted;
}

// Whether the machine has a slot: 0/HOST has none if --jobs counts by CPUs.
static bool login_has_slots(const struct sshlogin *login, const char *jobs) {
	double percent;
	bool is_of_cpus = !jobs || *jobs == '-' || parse_percent(jobs, &percent) == 0 || (*jobs == '+' && strspn(jobs + 1, "0") == strlen(jobs + 1)) ||
	                  strncmp(jobs, "auto", 4) == 0;
	return !login->has_no_cpus || !is_of_cpus;
}

int sshlogins_apply_groups(struct sshlogins *list, const char *jobs, char **ret_error) {
	size_t kept = 0, nwanted = 0;
	for (size_t i = 0; i < list->n; i++) {
		bool is_wanted = login_is_wanted(&list->logins[i], &list->wanted);
		nwanted += is_wanted;
		if (is_wanted && login_has_slots(&list->logins[i], jobs)) {
			list->logins[kept++] = list->logins[i];
		} else {
			login_fini(&list->logins[i]);
		}
	}
	list->n = kept;
	if (kept == 0 && nwanted > 0) {
		return error_text(ret_error, "no machine of --sshlogin has a slot: 0/HOST says that the machine has 0 CPUs");
	}
	return kept > 0 || list->wanted.len == 0 ? 0 : error_text(ret_error, "no machine is in the group '%s' of --sshlogin", text_shows(list->wanted.data));
}

// ---- one machine ----

// Takes `n` bytes off the text, as a string that the caller frees.
static char *take(const char **text, size_t n) {
	char *taken = xmemdup(*text, n);
	*text += n;
	return taken;
}

// Reads [@GROUP+GROUP/], and moves *text behind it: to "" if only groups are given.
static void read_groups(const char **text, struct buf *groups) {
	while (**text == '@' || (groups->len > 0 && **text == '+')) {
		++*text;
		size_t n = strcspn(*text, "/+");
		if (n > 0) {
			group_add(groups, *text, n);
		}
		*text += n;
	}
	*text += groups->len > 0 && **text == '/';
}

// Reads [N/]. A number above MOST_CPUS counts as MOST_CPUS.
static void read_cpus(const char **text, struct sshlogin *login) {
	size_t n = strspn(*text, DIGITS);
	if (n > 0 && (*text)[n] == '/') {
		unsigned long cpus = strtoul(*text, NULL, 10);
		login->cpus = cpus < MOST_CPUS ? (unsigned)cpus : MOST_CPUS;
		login->has_no_cpus = cpus == 0;
		*text += n + 1;
	}
}

// Whether OpenSSH 9.6 accepts this user name of `n` bytes. OpenSSH refuses names that a shell of a ProxyCommand might misread. `user` has no blank.
static bool is_user(const char *user, size_t n) {
	bool is = n > 0 && *user != '-' && user[n - 1] != '\\';
	for (size_t i = 0; i < n; ++i) {
		is = is && (unsigned char)user[i] >= ' ' && user[i] != '\177' && !strchr("'`\";&<>|(){}", user[i]);
	}
	return is;
}

// Reads [USER@].
static const char *read_user(const char **text, struct sshlogin *login) {
	const char *at = strrchr(*text, '@');
	if (!at) {
		return NULL;
	}
	if (memchr(*text, ':', (size_t)(at - *text))) {
		return "a password cannot be given here: use ssh-agent or ssh-copy-id";
	}
	if (!is_user(*text, (size_t)(at - *text))) {
		return "the name of a user has none of '`\";&<>|(){}, does not begin with '-' and does not end with a backslash";
	}
	login->user = take(text, (size_t)(at - *text));
	++*text;
	return NULL;
}

// Returns the message for a character that no host name has.
static const char *bad_name(char c, const struct sshlogin *login) {
	return login->command ? "the host stands behind the last blank; its name has only letters, digits, '.', '_' and '-'"
	       : c == '/'     ? "'/' stands behind a number of CPUs, or behind @group, and in front of the host"
	                      : "the name of a host has only letters, digits, '.', '_' and '-'";
}

// Reads HOST. *ret_is_bare: HOST is an IPv6 address without brackets; a port behind it follows '.', 'p' or '#', as ':' is part of the address.
static const char *read_host(const char **text, struct sshlogin *login, bool *ret_is_bare) {
	if (**text == '-') {
		return "a host that begins with '-' would be an option of ssh";
	}
	if (**text == '[') {
		++*text;
		size_t n = strspn(*text, HEXADECIMAL ":.");
		if ((*text)[n] == '%') { // an address with its zone
			n += 1 + strspn(*text + n + 1, LETTERS DIGITS "_.-");
		}
		if (n == 0 || (*text)[n] != ']') {
			return "'[' is followed by an IPv6 address and ']'";
		}
		login->host = take(text, n);
		++*text;
		return NULL;
	}
	const char *colon = strchr(*text, ':');
	*ret_is_bare = colon && strchr(colon + 1, ':');
	size_t n = strspn(*text, *ret_is_bare ? HEXADECIMAL ":" : LETTERS DIGITS "._-");
	if (n == 0) {
		return **text ? bad_name(**text, login) : "the name of the host is missing";
	}
	login->host = take(text, n);
	return NULL;
}

// Reads [:PORT].
static const char *read_port(const char **text, struct sshlogin *login, bool is_bare) {
	if (!**text) {
		return NULL;
	}
	if (!strchr(is_bare ? ".p#" : ":#", **text)) {
		return bad_name(**text, login);
	}
	++*text;
	long port;
	login->port = take(text, strspn(*text, DIGITS));
	return **text || parse_number(login->port, 1, 65535, &port) != 0 ? "a port is a number from 1 to 65535" : NULL;
}

// Reads [SSH COMMAND ][USER@]HOST[:PORT], or ":".
static const char *read_address(const char **text, struct sshlogin *login) {
	bool is_bare = false;
	const char *blank = strrchr(*text, ' ');
	if (blank) { // the command is all that stands before the last blank
		login->command = take(text, (size_t)(blank - *text));
		++*text;
	}
	if (strcmp(*text, ":") == 0) {
		login->kind = SSHLOGIN_LOCAL;
		login->host = take(text, 1);
		return login->command ? "this machine needs no ssh" : NULL;
	}
	login->kind = SSHLOGIN_SSH;
	const char *error = read_user(text, login);
	error = error ? error : read_host(text, login, &is_bare);
	error = error ? error : read_port(text, login, is_bare);
	if (!error && login->command && (!*login->command || *login->command == '-')) {
		error = "a command is missing in front of the blank";
	}
	return error;
}

// Returns GNU parallel's name of the machine.
static char *login_name(const struct sshlogin *login) {
	struct buf name = BUF_INIT;
	bool in_brackets = login->port && strchr(login->host, ':');
	buf_printf(&name, "%s%s%s%s%s%s%s%s%s", login->command ? login->command : "", login->command ? " " : "",
	           login->user ? login->user : "", login->user ? "@" : "", in_brackets ? "[" : "", login->host, in_brackets ? "]" : "",
	           login->port ? ":" : "", login->port ? login->port : "");
	return buf_take(&name);
}

// Adds a machine that was read; or, if the list has a machine of this name, sets only its N. Takes ownership of what `login` holds.
static void list_add(struct sshlogins *list, struct sshlogin *login) {
	login->name = login_name(login);
	struct sshlogin *known = sshlogins_find(list, login->name);
	if (known) {
		known->cpus = login->cpus > 0 ? login->cpus : known->cpus; // 0 changes nothing, as in GNU parallel
		known->has_no_cpus = known->has_no_cpus && login->cpus == 0;
		login_fini(login);
		return;
	}
	group_add(&login->groups, login->name, strlen(login->name)); // each machine is a group of its own
	*NEW_ELEMENT(list->logins, list->n, list->cap) = *login;
}

// Adds the machine of the text, which has no blanks around it. Returns 0, or -1 with *ret_why (static).
static int add_one(struct sshlogins *list, const char *text, const char **ret_why) {
	struct sshlogin login = {0};
	bool begins_with_group = *text == '@';
	read_groups(&text, &login.groups);
	if (login.groups.len > 0 && !*text) { // "@GROUP" alone: only machines of these groups are used
		buf_move(&list->wanted, &login.groups);
		login_fini(&login);
		return 0;
	}
	if (begins_with_group && login.groups.len == 0) {
		*ret_why = "behind '@' the name of the group is missing";
		return -1;
	}
	group_add(&login.groups, text, strlen(text)); // "4/host" is a group, too, as in GNU parallel
	read_cpus(&text, &login);
	*ret_why = read_address(&text, &login);
	if (*ret_why) {
		login_fini(&login);
		return -1;
	}
	list_add(list, &login);
	return 0;
}

// ---- lists and files ----

struct list_input {
	struct sshlogins *list;
	sshlogin_reader *read;
	void *arg;
	char **ret_error;
	unsigned depth;
	const char *file;          // the file that is being read, or NULL
	unsigned line;             // the number of the line in the file
};

static int add_file(struct list_input *reading, const char *name);

static int add_word(struct list_input *reading, struct buf *word) {
	while (word->len > 0 && text_is_space(word->data[word->len - 1])) {
		word->data[--word->len] = '\0';
	}
	const char *text = buf_str(word), *end = text + word->len;
	while (text_is_space(*text)) {
		++text;
	}
	size_t len = (size_t)(end - text);
	if (len == strlen(text) && (strcmp(text, "-") == 0 || strcmp(text, "..") == 0)) {
		return add_file(reading, *text == '-' ? "-" : "..");
	}
	const char *why = "it is not text";
	bool is_text = !memchr(text, '\0', len) && !memchr(text, '\t', len);
	if (len == 0 || (is_text && add_one(reading->list, text, &why) == 0)) {
		return 0;
	}
	return !reading->file ? error_text(reading->ret_error, "--sshlogin '%s': %s", text_show(text, len), why)
	                      : error_text(reading->ret_error, "--sshloginfile %s:%u: '%s': %s", text_shows(reading->file), reading->line, text_show(text, len), why);
}

static int add_list(struct list_input *reading, const char *text, size_t len) {
	FP_CLEANUP(buf_fini) struct buf word = BUF_INIT;
	for (size_t i = 0; i < len; i++) {
		bool is_comma = i + 1 < len && (text[i] == '\\' || text[i] == ',') && text[i + 1] == ',';
		if (is_comma) {
			buf_addc(&word, ',');
			i++;
		} else if (text[i] != ',' && text[i] != '\n') {
			buf_addc(&word, text[i]);
		} else if (add_word(reading, &word) != 0) {
			return -1;
		} else {
			buf_reset(&word);
		}
	}
	return add_word(reading, &word);
}

// Returns how many bytes of the line stand before a comment: a # at the beginning, or with a blank in front.
static size_t without_comment(const char *line, size_t n) {
	size_t i = 0;
	while (i < n && !(line[i] == '#' && (i == 0 || text_is_space(line[i - 1])))) {
		++i;
	}
	return i;
}

static int add_file(struct list_input *reading, const char *name) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (reading->depth >= DEEPEST) {
		return error_text(reading->ret_error, "--sshloginfile '%s' names itself", text_shows(name));
	}
	if (reading->read(reading->arg, name, &text, reading->ret_error) != 0) {
		return -1;
	}
	int result = 0;
	struct list_input below = *reading;
	below.depth++;
	below.file = name;
	below.line = 0;
	for (const char *line = buf_str(&text), *end = line + text.len; line < end && result == 0;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
		below.line++;
		result = add_list(&below, line, without_comment(line, (size_t)(stop - line)));
		line = stop + 1;
	}
	return result;
}

int sshlogins_add(struct sshlogins *list, const char *text, bool is_file, sshlogin_reader *read, void *arg, char **ret_error) {
	struct list_input reading = {.list = list, .read = read, .arg = arg, .ret_error = ret_error};
	return is_file ? add_file(&reading, text) : add_list(&reading, text, strlen(text));
}

int sshlogins_add_launch(struct sshlogins *list, const char *name, unsigned cpus, const char *text, char **ret_error) {
	const char *braces = strstr(text, "{}");
	if (!braces || strstr(braces + 2, "{}")) {
		return error_text(ret_error, "--launch '%s' must hold {} once: {} stands for the worker's command line", text_shows(text));
	}
	FP_CLEANUP(buf_fini) struct buf rest = BUF_INIT;
	buf_add_until(&rest, text, "{}");
	buf_adds(&rest, braces + 2);
	while (rest.len > 0 && text_is_space(rest.data[rest.len - 1])) {
		rest.data[--rest.len] = '\0';
	}
	if (rest.len == 0 || strpbrk(text, "\t\n")) {
		return error_text(ret_error, "--launch '%s' must be one line, and have a command in front of {}", text_shows(text));
	}
	const char *host = name ? name : rest.data;
	unsigned same = 0;
	for (const struct sshlogin *other = list->logins; other < list->logins + list->n; ++other) {
		same += strcmp(other->kind == SSHLOGIN_LAUNCH ? other->host : other->name, host) == 0;
	}
	if (name && same > 0) {
		return 0;
	}
	struct sshlogin login = {.kind = SSHLOGIN_LAUNCH, .cpus = cpus, .host = xstrdup(host), .command = xstrdup(text)};
	group_add(&login.groups, host, strlen(host));
	if (same > 0) {
		buf_printf(&rest, " (%u)", same + 1);
	}
	login.name = name ? xstrdup(name) : buf_take(&rest);
	*NEW_ELEMENT(list->logins, list->n, list->cap) = login;
	return 0;
}

// ---- the worker's command line ----

int sshlogin_jobs(const struct sshlogin *login, const char *jobs, char ret_text[SSHLOGIN_JOBS_TEXT]) {
	ret_text[0] = '\0';
	double percent = 100;
	long number = 0;
	bool is_more = jobs && *jobs == '+', is_less = jobs && *jobs == '-';
	bool is_percent = jobs && parse_percent(jobs, &percent) == 0;
	bool is_auto = jobs && strncmp(jobs, "auto", 4) == 0;
	if (jobs && !is_percent && !is_auto && (parse_number(jobs + (is_more || is_less), 0, INT_MAX, &number) != 0)) {
		return -1;
	}
	if (jobs && !is_percent && !is_auto && !is_more && !is_less) {
		snprintf(ret_text, SSHLOGIN_JOBS_TEXT, "%ld", number);
	} else if (login->cpus > 0 || login->has_no_cpus) {
		double slots = (double)login->cpus * percent / 100;
		slots += is_more ? (double)number : is_less ? -(double)number : 0;
		snprintf(ret_text, SSHLOGIN_JOBS_TEXT, "%ld", slots < 1 ? 1 : slots > MOST_CPUS ? MOST_CPUS : (long)slots);
	} else if (jobs) {
		return snprintf(ret_text, SSHLOGIN_JOBS_TEXT, "%s", jobs) < SSHLOGIN_JOBS_TEXT ? 0 : -1;
	}
	return 0;
}

static bool is_plain(const char *text) {
	return *text != '\0' && *text != '-' && strspn(text, PLAIN) == strlen(text);
}

static void add_worker(struct buf *text, const struct sshlogin_worker *worker, const char *jobs) {
	buf_printf(text, " --worker%s%s", *jobs ? " -j " : "", jobs);
	if (worker->term_seq) {
		buf_printf(text, " --term-seq %s", worker->term_seq);
	}
	if (worker->load) {
		buf_printf(text, " --load=%s", worker->load);
	}
	if (worker->memfree > 0) {
		buf_printf(text, " --memfree %" PRIu64, worker->memfree);
	}
	if (worker->memory) {
		buf_printf(text, " --memory %s", worker->memory);
	}
}

// Finds the program's copy; or requests one, and puts it where only this user can write: for good if the home directory has room and allows programs
// to run, else for as long as the worker runs. A copy is executed only if it is this user's own and others cannot write it.
static const char get_copy[] =
	"c=\"${XDG_CACHE_HOME:-$HOME/.cache}/fairpar\"; t=; "
	"s() { PATH=\"$PATH:${1%/*}\"; export PATH; go \"$1\"; }; "
	"o() { case $(ls -ldn \"$2\") in \"$1\"rwx------*) [ -O \"$2\" ];; *) false;; esac; } 2>/dev/null; "
	// the cksum stands at the end of the directory's name
	"for p in \"$c/$n\"-*; do o d \"$c/.\" && o d \"$p\" && o - \"$p/fairpar\" && "
	"[ \"$(cksum <\"$p/fairpar\")\" = \"${p##*-} $z\" ] && s \"$p/fairpar\"; done; "
	"f() { echo \"fairpar: $1\" >&2; exit 127; }; k() { rm -rf \"$t\"; }; trap \"exit 1\" 1 2 13 15; trap k 0; read -r a b m; "
	"i() { t=$(mktemp -d \"$1/fairpar.XXXXXX\") && : >\"$t/fairpar\" && chmod 700 \"$t/fairpar\" && \"$t/fairpar\" && "
	"head -c $z /dev/zero >\"$t/fairpar\" || { k; false; }; } 2>/dev/null; "
	"(umask 77; mkdir -p \"$c\" && [ -O \"$c/.\" ] && chmod 700 \"$c/.\") 2>/dev/null && i \"$c\" || "
	"{ [ -O \"$XDG_RUNTIME_DIR\" ] && i \"$XDG_RUNTIME_DIR\"; } || i /tmp || i /var/tmp || i /dev/shm || "
	"f \"there is no fairpar on this machine, and no copy can be put into $c, ${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR, }/tmp, /var/tmp or /dev/shm: "
	"these are full, or a copy cannot be written or executed there\"; "
	"echo; echo \"want $m $(uname -sm)\"; read -r b; p=\"$c/$n-${b% *}\"; "
	"head -c \"${b#* }\" >\"$t/fairpar\" || f \"the copy that was sent cannot be written into ${t%/*}\"; "
	"[ \"$(cksum <\"$t/fairpar\")\" = \"$b\" ] || f \"the copy that was sent has not come whole\"; "
	"\"$t/fairpar\" --version >/dev/null || f \"the copy that was sent does not run there$w\"; "
	"q() { case $t in \"$c\"/*) rm -f \"$c\"/[0-9]*; mkdir -m 700 \"$p\"; [ -h \"$p\" ] || chmod 700 \"$p\"; "
	"o d \"$p\" && mv -f \"$t/fairpar\" \"$p/fairpar\";; *) false;; esac; } 2>/dev/null; "
	"q && k && t=\"$p\"; echo; echo \"have $m\"; [ \"$t\" = \"$p\" ] && s \"$p/fairpar\"; (s \"$t/fairpar\"); exit";

// Appends the command for the login shell of the other machine. Within the quotes there may be no single quote, backslash, '!' or newline: sh, csh
// and fish treat these differently.
static void add_remote(struct buf *text, const struct sshlogin_worker *worker, const char *jobs) {
	buf_adds(text, "exec sh -c 'go() { exec \"$1\"");
	add_worker(text, worker, jobs);
	buf_adds(text, "; }; p=");
	const char *program = worker->program ? worker->program : "fairpar";
	bool is_home = strncmp(program, "~/", 2) == 0;
	buf_printf(text, "\"%s%s\"", is_home ? "$HOME/" : "", is_home ? program + 2 : program);
	buf_adds(text, "; command -v \"$p\" >/dev/null 2>&1 && go \"$p\"; ");
	if (worker->program || !worker->copy) {
		buf_printf(text, "echo \"fairpar: no %s on this machine\" >&2; exit 127'", program);
		return;
	}
	buf_printf(text, "n=%s; z=%" PRIu64 "; w=\"%s\"; ", worker->copy->name, worker->copy->size,
	           worker->copy->is_static ? "" : "; a fairpar-static (make static) beside the fairpar here would be sent instead, and needs no libraries there");
	buf_adds(text, get_copy);
	buf_addc(text, '\'');
}

// Appends the words of the ssh command. As in GNU parallel, sh runs a command with other characters than PLAIN, '=' and blanks: `ssh -i ~/.ssh/key`.
static void add_ssh(struct buf *words, const char *command) {
	size_t len = strlen(command);
	if (strspn(command, PLAIN "= ") != len) {
		buf_printf(words, "sh%c-c%cexec %s \"$@\"%cssh%c", 0, 0, command, 0, 0);
		return;
	}
	for (const char *word; (word = word_next(&command, &len));) {
		buf_add(words, word, len);
		buf_addc(words, '\0');
	}
}

int sshlogin_argv(const struct sshlogin *login, const struct sshlogin_worker *worker, struct buf *words, char **ret_error) {
	char jobs[SSHLOGIN_JOBS_TEXT];
	const char *program = worker->program, *ssh = login->command ? login->command : worker->ssh;
	if (sshlogin_jobs(login, worker->jobs, jobs) != 0) {
		return error_text(ret_error, "--jobs '%s' is no number of jobs for %s", text_shows(worker->jobs), text_shows(login->name));
	}
	bool is_launch = login->kind == SSHLOGIN_LAUNCH;
	if (program && !is_plain(strncmp(program, "~/", 2) == 0 && !is_launch ? program + 2 : program)) {
		return error_text(ret_error, "$FAIRPAR_REMOTE may have letters, digits and '_./+,:@%%-', not '%s'", text_shows(program));
	}
	if (is_launch && !program && !is_plain(worker->self)) {
		return error_text(ret_error, "--launch cannot name this fairpar's path, '%s': set $FAIRPAR_REMOTE", text_shows(worker->self));
	}
	if (is_launch) {
		buf_printf(words, "sh%c-c%cexec ", 0, 0);
		const char *rest = buf_add_until(words, login->command, "{}");
		buf_adds(words, program ? program : worker->self);
		add_worker(words, worker, jobs);
		buf_printf(words, "%s%c", rest, 0);
		return 0;
	}
	ssh = ssh ? ssh : getenv("PARALLEL_SSH");
	add_ssh(words, ssh && *ssh ? ssh : "ssh");
	if (login->port) {
		buf_printf(words, "-p%c%s%c", 0, login->port, 0);
	}
	if (login->user) {
		buf_printf(words, "-l%c%s%c", 0, login->user, 0);
	}
	buf_printf(words, "%s%c--%c", login->host, 0, 0);
	add_remote(words, worker, jobs);
	buf_addc(words, '\0');
	return 0;
}
