// Chooses the shell that runs commands, tells which commands need a shell, and finds programs in PATH.

#include "shell/shell.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

// ---- characters ----

enum char_class {
	META = 1 << 0,     // means something to a shell anywhere in a word
	LEADING = 1 << 1,  // means something to a shell where a word begins: a comment or a home directory
	ASSIGNING = 1 << 2, // means something to a shell in the first word
	BLANK = 1 << 3,
};

static const unsigned char CLASS[256] = {
	['|'] = META, ['&'] = META, [';'] = META, ['<'] = META, ['>'] = META, ['('] = META, [')'] = META, ['$'] = META,
	['`'] = META, ['\\'] = META, ['"'] = META, ['\''] = META, ['*'] = META, ['?'] = META, ['['] = META, ['{'] = META,
	['}'] = META, ['!'] = META, ['^'] = META, ['\n'] = META,
	['#'] = LEADING, ['~'] = LEADING, ['='] = ASSIGNING, [' '] = BLANK, ['\t'] = BLANK,
};

static unsigned class_of(char c) {
	return CLASS[(unsigned char)c];
}

// ---- words that the shell knows itself ----

// Keywords and builtins of POSIX, dash and bash, but not echo, true and false: the programs of these names do the same as the
// builtins (except for echo --help, see template/command.c).
static const char SHELL_WORDS[] =
	". : [ [[ ]] alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare dirs "
	"disown do done elif else enable esac eval exec exit export fc fg fi for function getopts hash help history if in jobs kill "
	"let local logout mapfile popd print printf pushd pwd read readarray readonly return select set shift shopt source suspend "
	"test then time times trap type typeset ulimit umask unalias unset until wait whence while";

struct command_word {
	const char *text;
	size_t len;
};

// bash exports functions as BASH_FUNC_name%%=… since its 4.3 patch 27, in some older versions as BASH_FUNC_name()=….
bool shell_function_exists(const char *name, size_t len) {
	static const char prefix[] = "BASH_FUNC_";
	for (char **entry = environ; entry && *entry; ++entry) {
		if ((*entry)[0] != 'B' || strncmp(*entry, prefix, sizeof(prefix) - 1) != 0) {
			continue;
		}
		const char *its_name = *entry + sizeof(prefix) - 1;
		size_t its_len = strcspn(its_name, "%(=");
		const char *rest = its_name + its_len;
		bool is_function = strncmp(rest, "%%=", 3) == 0 || strncmp(rest, "()=", 3) == 0;
		if (is_function && (!name || (its_len == len && memcmp(its_name, name, len) == 0))) {
			return true;
		}
	}
	return false;
}

bool shell_uses_function(const char *command, size_t len) {
	if (!shell_function_exists(NULL, 0)) {
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

// A program that was found in PATH. It is never freed, since callers keep its path. A program that was not found is searched for
// again each time, since a job may install it.
struct program {
	const char *path;
	bool is_direct; // execve() runs the file
	char name[];
};

enum { NAMED_FILES = 1024 }; // the most names with a slash that are remembered: items may name any number of files

static struct {
	mutex lock;
	struct map numbers;  // the index in `all` by name; fairpar never changes its own PATH
	struct program **all;
	size_t n, cap;
	unsigned nfiles;     // how many names in `numbers` have a slash
} programs = {.lock = MUTEX_INIT(LOCK_SHELL_PROGRAMS)};

// True if execve() runs the file: it is an ELF file, or begins with #!. A file of another kind (a script without #!, or a format
// of binfmt_misc) is left to a shell, which tries execve() and then reads the file itself.
static bool is_direct_program(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return true; // the file may be executable though it is not readable; if it is not executable, execve() fails
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

// Sets `ret_file` to the path of `name` in the element of a PATH at `dir`, which ends with a colon or a NUL. Returns the end of the element.
static const char *name_file(const char *dir, const char *name, size_t len, struct buf *ret_file) {
	size_t n = strcspn(dir, ":");
	buf_reset(ret_file);
	buf_add(ret_file, dir, n);
	buf_adds(ret_file, n > 0 ? "/" : "./"); // an empty element is the current directory (POSIX XBD 8.3)
	buf_add(ret_file, name, len);
	return dir + n;
}

// Puts the path of the first program of that name in the PATH `path` into `ret_file`. With `is_absolute`, treats relative elements as
// program_search() does. Returns 0, or -1 with errno.
static int search(const char *path, const char *name, size_t len, bool is_absolute, struct buf *ret_file) {
	const char *relative = NULL;
	int error = ENOENT;
	for (const char *dir = path, *end;; dir = end + 1) {
		end = name_file(dir, name, len, ret_file);
		if (is_absolute && *dir != '/') {
			relative = relative ? relative : dir;
		} else if (is_program(ret_file->data, &error)) {
			return 0;
		}
		if (*end == '\0') {
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

int program_search(const char *path, const char *name, struct buf *ret_file) {
	errno = ENOENT;
	return *name ? search(path, name, strlen(name), /* is_absolute */ true, ret_file) : -1;
}

static const struct program *recall(const char *name, size_t len) {
	FP_HOLD(&programs.lock);
	uint32_t number = map_get(&programs.numbers, name, len);
	return number != MAP_NONE ? programs.all[number] : NULL;
}

// Remembers the program at the path `file`, which is taken over, and returns it; or returns the program that another thread has remembered meanwhile.
static const struct program *remember(const char *name, size_t len, char *file) {
	struct program *program = xcalloc(1, sizeof(*program) + len + 1);
	*program = (struct program){.path = file, .is_direct = is_direct_program(file)};
	memcpy(program->name, name, len);
	FP_HOLD(&programs.lock);
	uint32_t number = map_add(&programs.numbers, program->name, len, (uint32_t)programs.n);
	if (number != MAP_NONE) {
		free(file);
		free(program);
		return programs.all[number];
	}
	*NEW_ELEMENT(programs.all, programs.n, programs.cap) = program;
	programs.nfiles += memchr(name, '/', len) != NULL;
	return program;
}

// Finds the program of that name in PATH. Returns NULL with errno if there is none.
static const struct program *find(const char *name, size_t len) {
	if (len == 0) {
		errno = ENOENT;
		return NULL;
	}
	const struct program *program = recall(name, len);
	if (program) {
		return program;
	}
	FP_CLEANUP(buf_fini) struct buf file = BUF_INIT;
	const char *path = getenv("PATH");
	path = path ? path : "/bin:/usr/bin"; // as execvp() of glibc 2.24 and later
	bool is_found = search(path, name, len, /* is_absolute */ false, &file) == 0;
	return is_found ? remember(name, len, buf_take(&file)) : NULL;
}

// Returns false if the file (a name with a slash) exists but execve() does not run it, such as a script without #!.
static bool is_direct_file(const char *name, size_t len) {
	if (recall(name, len)) { // remembered files are all files that execve() runs; a file of another kind may be replaced, so it is checked each time
		return true;
	}
	char *file = xmemdup(name, len);
	struct stat stat_;
	bool is_direct = is_direct_program(file);
	mutex_lock(&programs.lock);
	bool has_room = programs.nfiles < NAMED_FILES;
	mutex_unlock(&programs.lock);
	if (is_direct && has_room && stat(file, &stat_) == 0) {
		remember(name, len, file);
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

const char *program_find_direct(const char *name, size_t len) {
	if (memchr(name, '/', len)) {
		bool is_direct = is_direct_file(name, len);
		errno = ENOEXEC;
		return is_direct ? name : NULL;
	}
	const struct program *program = find(name, len);
	if (program && !program->is_direct) {
		errno = ENOEXEC;
		return NULL;
	}
	return program ? program->path : NULL;
}

// ---- which commands need a shell ----

// Finds the first word. Returns true if the text has no shell syntax; does not check whether the first word is a keyword or a builtin.
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
		// bash also expands the ~ in NAME=~ and in NAME=X:~, in any word
		bool is_leading = class == LEADING && (class_of(command[i - 1]) == BLANK || command[i - 1] == '=' || command[i - 1] == ':');
		if ((class & META) || is_leading) {
			return false;
		}
	}
	return true;
}

static bool is_own_word(const struct command_word *word) {
	return word_is_in(SHELL_WORDS, word->text, word->len) || shell_function_exists(word->text, word->len);
}

bool shell_has_syntax(const char *command, size_t len) {
	struct command_word first;
	return !scan(command, len, &first) || is_own_word(&first);
}

bool shell_is_needed(const char *command, size_t len) {
	struct command_word first;
	return !scan(command, len, &first) || is_own_word(&first) || !program_find_direct(first.text, first.len);
}

// ---- which shell ----

static bool is_called(const char *path, const char *names) {
	const char *name = path_base(path);
	return word_is_in(names, name, strlen(name));
}

static bool is_bourne(const char *path) {
	return is_called(path, "sh dash bash ksh ash");
}

bool shell_is_plain_sh(const char *path) {
	return is_called(path, "sh dash ash");
}

bool shell_is_foreign(const char *path) {
	return is_called(path, "fish csh tcsh rc es elvish nu pwsh xonsh perl python python3 ruby node");
}

// Returns the value of the variable, or NULL if it is unset or empty.
static const char *variable(const char *name) {
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

const char *shell_named(const char *option, const char **ret_by) {
	*ret_by = option ? "--shell" : variable("FAIRPAR_SHELL") ? "FAIRPAR_SHELL" : "PARALLEL_SHELL";
	return option ? option : variable(*ret_by);
}

char *shell_choose(const char *option) {
	const char *by;
	const char *name = shell_named(option, &by), *path;
	if (name && (shell_is_foreign(name) || is_called(name, "busybox toybox"))) {
		errno = shell_is_foreign(name) ? ENOTSUP : EMULTIHOP;
		return NULL;
	}
	if (name) {
		path = program_find(name);
		return path ? xstrdup(path) : NULL;
	}
	// $SHELL is the shell that a person types in, so it is no mistake if that shell cannot serve jobs
	name = variable("SHELL");
	path = name ? program_find(name) : NULL;
	return xstrdup(path && is_bourne(path) ? path : "/bin/sh");
}

const char *shell_passed_over(const char *option, bool *ret_can_serve) {
	const char *by, *name = variable("SHELL");
	if (shell_named(option, &by) || !name || is_bourne(name) || !program_find(name)) {
		return NULL;
	}
	*ret_can_serve = !shell_is_foreign(name);
	return name;
}
