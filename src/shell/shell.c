// The shell that runs commands with shell syntax: which one, what needs it, and how items are quoted for it.

#include "shell/shell.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

// ---- characters ----

enum char_class {
	PLAIN = 1 << 0,    // needs no quotes: -_.+/ letters and digits, as GNU parallel has it
	META = 1 << 1,     // means something to a shell wherever it stands
	LEADING = 1 << 2,  // … where a word begins: a comment or a home directory
	ASSIGNING = 1 << 3, // … in the first word
	BLANK = 1 << 4,
};

#define RANGE(from, to, class) [from ... to] = (class)
__extension__ static const unsigned char CLASS[256] = {
	RANGE('a', 'z', PLAIN), RANGE('A', 'Z', PLAIN), RANGE('0', '9', PLAIN), ['-'] = PLAIN, ['_'] = PLAIN, ['.'] = PLAIN,
	['+'] = PLAIN, ['/'] = PLAIN,
	['|'] = META, ['&'] = META, [';'] = META, ['<'] = META, ['>'] = META, ['('] = META, [')'] = META, ['$'] = META,
	['`'] = META, ['\\'] = META, ['"'] = META, ['\''] = META, ['*'] = META, ['?'] = META, ['['] = META, ['{'] = META,
	['}'] = META, ['!'] = META, ['^'] = META, ['\n'] = META,
	['#'] = LEADING, ['~'] = LEADING, ['='] = ASSIGNING, [' '] = BLANK, ['\t'] = BLANK,
};

static unsigned class_of(char c) {
	return CLASS[(unsigned char)c];
}

bool shell_is_plain(const char *word, size_t len) {
	size_t i = 0;
	while (i < len && class_of(word[i]) == PLAIN) {
		++i;
	}
	return len > 0 && i == len;
}

void shell_quote(struct buf *buf, const char *word, size_t len) {
	if (shell_is_plain(word, len)) {
		buf_add(buf, word, len);
		return;
	}
	// single quotes around all but single quotes, which go into double ones: 'it'"'"'s'
	char *out = buf_reserve(buf, 5 * len + 2);
	const char *const start = out;
	const char *end = word + len;
	bool open = len == 0 || *word != '\'';
	if (open) {
		*out++ = '\'';
	}
	while (word < end) {
		const char *stop = memchr(word, '\'', (size_t)(end - word));
		size_t run = (size_t)((stop ? stop : end) - word);
		memcpy(out, word, run);
		out += run;
		word += run;
		if (!stop) {
			break;
		}
		if (open) {
			*out++ = '\'';
		}
		memcpy(out, "\"'\"", 3);
		out += 3;
		open = ++word < end;
		if (open) {
			*out++ = '\'';
		}
	}
	if (open) {
		*out++ = '\'';
	}
	*out = '\0';
	buf->len += (size_t)(out - start);
}

// ---- words that the shell knows itself ----

// Keywords and builtins of POSIX, dash and bash, sorted. Not in it: echo, true and false, which are the same as the
// programs (bash's do not know --help, but see command.c).
static const char *const SHELL_WORDS[] = {
	".", ":", "[", "[[", "]]", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "chdir", "command",
	"compgen", "complete", "compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else",
	"enable", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help",
	"history", "if", "in", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "print", "printf", "pushd",
	"pwd", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt", "source", "suspend", "test",
	"then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait",
	"whence", "while",
};

struct command_word {
	const char *text;
	size_t len;
};

static int compare_word(const void *key, const void *entry) {
	const struct command_word *word = key;
	const char *text = *(const char *const *)entry;
	int order = strncmp(word->text, text, word->len);
	return order != 0 ? order : text[word->len] == '\0' ? 0 : -1;
}

static bool is_shell_word(const char *text, size_t len) {
	struct command_word word = {text, len};
	size_t n = sizeof(SHELL_WORDS) / sizeof(SHELL_WORDS[0]);
	return len < 12 && bsearch(&word, SHELL_WORDS, n, sizeof(SHELL_WORDS[0]), compare_word);
}

// The name of the function that an environment entry exports to bash (BASH_FUNC_name%%=… since its 4.3 patch 27,
// BASH_FUNC_name()=… in some older ones), with its length; or NULL.
static const char *exported_function(const char *entry, size_t *ret_len) {
	static const char prefix[] = "BASH_FUNC_";
	if (strncmp(entry, prefix, sizeof(prefix) - 1) != 0) {
		return NULL;
	}
	const char *name = entry + sizeof(prefix) - 1;
	*ret_len = strcspn(name, "%(=");
	const char *rest = name + *ret_len;
	return strncmp(rest, "%%=", 3) == 0 || strncmp(rest, "()=", 3) == 0 ? name : NULL;
}

bool shell_function_exists(const char *name, size_t len) {
	for (char **entry = environ; entry && *entry; ++entry) {
		size_t its_len;
		const char *its_name = (*entry)[0] == 'B' ? exported_function(*entry, &its_len) : NULL;
		if (its_name && its_len == len && memcmp(its_name, name, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool any_function_exists(void) {
	for (char **entry = environ; entry && *entry; ++entry) {
		size_t len;
		if ((*entry)[0] == 'B' && exported_function(*entry, &len)) {
			return true;
		}
	}
	return false;
}

bool shell_uses_function(const char *command, size_t len) {
	if (!any_function_exists()) {
		return false;
	}
	for (size_t i = 0; i < len;) {
		size_t start = i;
		while (i < len && (class_of(command[i]) & (META | BLANK)) == 0) {
			++i;
		}
		if (i > start && shell_function_exists(command + start, i - start)) {
			return true;
		}
		i += i == start;
	}
	return false;
}

// ---- programs ----

// Found programs, by name. One that is not found is searched again each time: a job may install it.
struct program {
	struct program *next;
	uint64_t hash;
	const char *path;
	bool is_direct; // execve() takes it
	char name[];
};

enum {
	BUCKETS = 256,
	NAMED_FILES = 1024, // names with a slash that are remembered: they may come from items, without end
};

static struct {
	mutex lock;
	char *path; // PATH as it was searched
	struct program *buckets[BUCKETS];
	unsigned nfiles; // names with a slash among them
	struct program *forgotten; // of another PATH; their paths may still be in use
} programs = {.lock = MUTEX_INIT(LOCK_SHELL_PROGRAMS)};

// execve() runs ELF files and those that begin with #!; for other kinds (a script without it, what binfmt_misc knows)
// a shell tries and then reads the file itself.
static bool is_direct_program(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return true; // perhaps executable, but not readable; else execve() has the error
	}
	char magic[4] = {0};
	ssize_t n = pread(fd, magic, sizeof(magic), 0);
	close(fd);
	return n < 0 || memcmp(magic, "#!", 2) == 0 || memcmp(magic, "\177ELF", 4) == 0;
}

static bool is_program(const char *path, int *error) {
	struct stat stat_;
	if (stat(path, &stat_) != 0) {
		if (errno == EACCES) {
			*error = EACCES;
		}
		return false;
	}
	if (!S_ISREG(stat_.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) {
		*error = EACCES;
		return false;
	}
	return true;
}

// The file of that name in the element of a PATH, which ends with a colon or the NUL. Returns what is behind the element.
static const char *name_file(const char *dir, const char *name, size_t len, struct buf *ret_file) {
	size_t n = strcspn(dir, ":");
	buf_reset(ret_file);
	buf_add(ret_file, dir, n);
	buf_adds(ret_file, n > 0 ? "/" : "./"); // an empty element is the current directory (POSIX XBD 8.3)
	buf_add(ret_file, name, len);
	return dir + n;
}

// The first program of that name in `path`, to be freed; or NULL with errno.
static char *search(const char *path, const char *name, size_t len) {
	struct buf file = BUF_INIT;
	int error = ENOENT;
	for (const char *dir = path;; ++dir) {
		dir = name_file(dir, name, len, &file);
		if (is_program(file.data, &error)) {
			return buf_take(&file);
		}
		if (*dir == '\0') {
			break;
		}
	}
	buf_fini(&file);
	errno = error;
	return NULL;
}

int program_search(const char *path, const char *name, struct buf *ret_file) {
	const char *relative = NULL;
	size_t len = strlen(name);
	int error = ENOENT;
	for (const char *dir = path; len > 0; ++dir) {
		const char *end = dir + strcspn(dir, ":");
		if (*dir == '/') {
			name_file(dir, name, len, ret_file);
			if (is_program(ret_file->data, &error)) {
				return 0;
			}
		} else if (!relative) {
			relative = dir;
		}
		dir = end;
		if (*dir == '\0') {
			break;
		}
	}
	if (relative) {
		name_file(relative, name, len, ret_file);
		return 0;
	}
	errno = error;
	return -1;
}

static const char *search_path(void) {
	const char *path = getenv("PATH");
	return path ? path : "/bin:/usr/bin"; // as execvp() of glibc 2.24 and later
}

// Drops what was found in another PATH. The lock is held.
static void check_path(void) {
	const char *path = search_path();
	if (programs.path && strcmp(programs.path, path) == 0) {
		return;
	}
	for (size_t i = 0; i < BUCKETS; ++i) {
		while (programs.buckets[i]) {
			struct program *program = programs.buckets[i];
			programs.buckets[i] = program->next;
			program->next = programs.forgotten;
			programs.forgotten = program;
		}
	}
	programs.nfiles = 0;
	free(programs.path);
	programs.path = xstrdup(path);
}

// The lock is held.
static const struct program *lookup(const char *name, size_t len, uint64_t hash) {
	for (const struct program *program = programs.buckets[hash % BUCKETS]; program; program = program->next) {
		if (program->hash == hash && strncmp(program->name, name, len) == 0 && program->name[len] == '\0') {
			return program;
		}
	}
	return NULL;
}

static const struct program *recall(const char *name, size_t len, uint64_t hash) {
	mutex_lock(&programs.lock);
	check_path();
	const struct program *program = lookup(name, len, hash);
	mutex_unlock(&programs.lock);
	return program;
}

// Takes `file` over. Another thread may have found the program meanwhile: then returns that.
static const struct program *remember(const char *name, size_t len, uint64_t hash, char *file) {
	struct program *program = xcalloc(1, sizeof(*program) + len + 1);
	*program = (struct program){.hash = hash, .path = file, .is_direct = is_direct_program(file)};
	memcpy(program->name, name, len);
	mutex_lock(&programs.lock);
	const struct program *known = lookup(name, len, hash);
	if (!known) {
		program->next = programs.buckets[hash % BUCKETS];
		programs.buckets[hash % BUCKETS] = program;
		programs.nfiles += memchr(name, '/', len) != NULL;
	}
	mutex_unlock(&programs.lock);
	if (known) {
		free(file);
		free(program);
	}
	return known ? known : program;
}

// The program of that name in PATH, or NULL with errno.
static const struct program *find(const char *name, size_t len) {
	if (len == 0) {
		errno = ENOENT;
		return NULL;
	}
	uint64_t hash = hash_bytes(name, len, 0);
	const struct program *program = recall(name, len, hash);
	if (program) {
		return program;
	}
	char *file = search(search_path(), name, len);
	return file ? remember(name, len, hash, file) : NULL;
}

// True unless the file, a name with a slash, is there and no program that execve() takes.
static bool is_direct_file(const char *name, size_t len) {
	uint64_t hash = hash_bytes(name, len, 0);
	if (recall(name, len, hash)) { // only direct ones are remembered: another may be written yet
		return true;
	}
	char *file = xmemdup(name, len);
	struct stat stat_;
	bool is_direct = is_direct_program(file);
	mutex_lock(&programs.lock);
	bool has_room = programs.nfiles < NAMED_FILES;
	mutex_unlock(&programs.lock);
	if (is_direct && has_room && stat(file, &stat_) == 0) {
		remember(name, len, hash, file);
	} else {
		free(file);
	}
	return is_direct;
}

const char *program_find(const char *name) {
	if (strchr(name, '/')) {
		int error = ENOENT;
		bool there = is_program(name, &error);
		errno = error;
		return there ? name : NULL;
	}
	const struct program *program = find(name, strlen(name));
	return program ? program->path : NULL;
}

const char *program_find_direct(const char *name) {
	if (strchr(name, '/')) {
		bool is_direct = is_direct_file(name, strlen(name));
		errno = ENOEXEC;
		return is_direct ? name : NULL;
	}
	const struct program *program = find(name, strlen(name));
	if (program && !program->is_direct) {
		errno = ENOEXEC;
		return NULL;
	}
	return program ? program->path : NULL;
}

// ---- which commands need a shell ----

// The first word, and whether the text is free of syntax but for what that word may be.
static bool scan(const char *command, size_t len, struct command_word *ret_first) {
	size_t i = 0;
	while (i < len && class_of(command[i]) == BLANK) {
		++i;
	}
	size_t first = i;
	while (i < len && (class_of(command[i]) & (META | ASSIGNING | BLANK)) == 0) {
		++i;
	}
	*ret_first = (struct command_word){command + first, i - first};
	if (i == first || class_of(command[first]) == LEADING || (i < len && class_of(command[i]) != BLANK)) {
		return false;
	}
	for (; i < len; ++i) {
		unsigned class = class_of(command[i]);
		if (class & META) {
			return false;
		}
		// bash expands a ~ also in NAME=~ and behind a colon there, of any word
		if (class == LEADING && (class_of(command[i - 1]) == BLANK || command[i - 1] == '=' || command[i - 1] == ':')) {
			return false;
		}
	}
	return true;
}

static bool is_own_word(const struct command_word *word) {
	return is_shell_word(word->text, word->len) || shell_function_exists(word->text, word->len);
}

bool shell_has_syntax(const char *command, size_t len) {
	struct command_word first;
	return !scan(command, len, &first) || is_own_word(&first);
}

bool shell_is_needed(const char *command, size_t len) {
	struct command_word first;
	if (!scan(command, len, &first) || is_own_word(&first)) {
		return true;
	}
	if (memchr(first.text, '/', first.len)) {
		return !is_direct_file(first.text, first.len);
	}
	const struct program *program = find(first.text, first.len);
	return !program || !program->is_direct;
}

// ---- which shell ----

static bool is_called(const char *path, const char *const *names, size_t n) {
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < n; ++i) {
		if (strcmp(slash ? slash + 1 : path, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_bourne(const char *path) {
	static const char *const names[] = {"sh", "dash", "bash", "ksh", "ash"};
	return is_called(path, names, sizeof(names) / sizeof(names[0]));
}

bool shell_is_foreign(const char *path) {
	static const char *const names[] = {
		"fish", "csh", "tcsh", "rc", "es", "elvish", "nu", "pwsh", "xonsh", "perl", "python", "python3", "ruby", "node",
	};
	return is_called(path, names, sizeof(names) / sizeof(names[0]));
}

// An empty variable is as good as none.
static const char *variable(const char *name) {
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

// $SHELL is for people to type in, so what is no shell for jobs there is no mistake.
static const char *login_shell(void) {
	const char *name = variable("SHELL");
	const char *path = name ? program_find(name) : NULL;
	return path && is_bourne(path) ? path : NULL;
}

const char *shell_named(const char *option, const char **ret_by) {
	const char *name = option;
	*ret_by = "--shell";
	for (size_t i = 0; !name && i < 2; ++i) {
		*ret_by = i == 0 ? "FAIRPAR_SHELL" : "PARALLEL_SHELL";
		name = variable(*ret_by);
	}
	return name;
}

static bool is_multi_call(const char *path) {
	static const char *const names[] = {"busybox", "toybox"};
	return is_called(path, names, sizeof(names) / sizeof(names[0]));
}

char *shell_choose(const char *option) {
	const char *by;
	const char *name = shell_named(option, &by);
	const char *path;
	if (name && shell_is_foreign(name)) {
		errno = ENOTSUP;
		return NULL;
	}
	if (name && is_multi_call(name)) {
		errno = EMULTIHOP;
		return NULL;
	}
	if (name) {
		path = program_find(name);
		return path ? xstrdup(path) : NULL;
	}
	path = login_shell();
	return xstrdup(path ? path : "/bin/sh");
}

const char *shell_passed_over(const char *option, bool *ret_can_serve) {
	const char *by, *name = variable("SHELL");
	if (shell_named(option, &by) || !name || is_bourne(name) || !program_find(name)) {
		return NULL;
	}
	*ret_can_serve = !shell_is_foreign(name);
	return name;
}
