// Tests of glob_expand() of input/input.h: patterns as bash's globstar has them, errors instead of gaps, the process's directory untouched.

#include "base/alloc.h"
#include "input/input.h"
#include "shells.h"

#include <errno.h>
#include <sys/stat.h>

// ---- help ----

static char root[] = "/tmp/fairpar-globs.XXXXXX";

static const char *in_root(const char *name) {
	static char path[400];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void make_dir(const char *name) {
	check(mkdir(in_root(name), 0755) == 0);
}

static void make_file(const char *name) {
	int fd = open(in_root(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	check(fd >= 0 && close(fd) == 0);
}

static void make_link(const char *name, const char *to) {
	check(symlink(to, in_root(name)) == 0);
}

static void make_tree(void) {
	static const char *const dirs[] = {"a", "a/b", "a/b/c", "a/.h", "a/.h/d", "b", "e", ".git", ".git/x", "z*"};
	static const char *const files[] = {
		"f.c", "g.c", "h", ".hid.c", "a/f.c", "a/b/f.c", "a/b/c/f.c", "a/b/c/g.h", "a/.h/f.c", "a/.h/d/f.c", "b/a", "b/a.c",
		".git/f.c", "x y.c", "[q].c", "z*/f.c", "\303\244.c", "B.c", "_.c", "{a,b}", "a/b/-n",
	};
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); ++i) {
		make_dir(dirs[i]);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
		make_file(files[i]);
	}
	make_link("la", "a");
	make_link("a/up", "..");
	make_link("loop", "loop");
	make_link("gone.c", "nowhere");
	make_link("lf", "f.c");
}

static void remove_tree(void) {
	struct buf script = BUF_INIT, out = BUF_INIT;
	buf_printf(&script, "chmod -R u+rwx %s; rm -rf %s\n", root, root);
	check(seteuid(getuid()) == 0);
	shell_run("sh", &script, &out);
	buf_fini(&script);
	buf_fini(&out);
}

static void with_tree(void (*test)(void)) {
	check(mkdtemp(root));
	atexit(remove_tree); // also when a check fails
	make_tree();
	test();
}

static void add_path(void *arg, const char *path) {
	buf_printf(arg, "%s\n", path);
}

// The paths, a newline behind each; the caller frees them.
static char *expand(const char *dir, const char *pattern) {
	struct buf paths = BUF_INIT;
	char *error;
	int result = glob_expand(dir, pattern, add_path, &paths, &error);
	if (result != 0) {
		fprintf(stderr, "# %s\n", error);
	}
	check(result == 0 && !error);
	buf_adds(&paths, "");
	return buf_take(&paths);
}

static void check_paths(const char *pattern, const char *expected) {
	char *paths = expand(root, pattern);
	for (char *at = paths; (at = strchr(at, '\n')); ++at) {
		*at = at[1] ? ' ' : '\0';
	}
	check_string(paths, expected);
	free(paths);
}

// ---- tests ----

static void run_patterns(void) {
	check_paths("*.c", "B.c [q].c _.c f.c g.c gone.c x y.c \303\244.c");
	check_paths("?.c", "B.c _.c f.c g.c");
	check_paths("[fg].c", "f.c g.c");
	check_paths("[!f].c", "B.c _.c g.c");
	check_paths("\\[q].c", "[q].c");
	check_paths(".*", ".git .hid.c");
	check_paths("a/*", "a/b a/f.c a/up");
	check_paths("./a//*.c", "./a/f.c");
	check_paths("a/../h", "a/../h");
	check_paths("z\\*/*", "z*/f.c");
	check_paths("{a,b}", "{a,b}");
	check_paths("{a,b}*", "{a,b}");
	check_paths("h", "h");
	check_paths("gone.c", "gone.c"); // a link that leads nowhere is there
	check_paths("nowhere", "");
	check_paths("nowhere*/*", "");
	check_paths("h/*", "");
	check_paths("*/nowhere", "");
	check_paths("loop/*", "");
	check_paths("", "");
}

static void run_directories(void) {
	check_paths("**/*.c", "B.c [q].c _.c a/b/c/f.c a/b/f.c a/f.c b/a.c f.c g.c gone.c x y.c z*/f.c \303\244.c");
	check_paths("**/f.c", "a/b/c/f.c a/b/f.c a/f.c f.c z*/f.c");
	check_paths("a/**", "a/b a/b/-n a/b/c a/b/c/f.c a/b/c/g.h a/b/f.c a/f.c a/up");
	check_paths("a/**/**/c", "a/b/c");
	check_paths("a/**/", "a/b/ a/b/c/ a/up/");
	check_paths("**/b/**/f.c", "a/b/c/f.c a/b/f.c");
	check_paths("**/.h/*", "a/.h/d a/.h/f.c");
	check_paths("**/.h/**/f.c", "a/.h/d/f.c a/.h/f.c");
	check_paths(".git/**", ".git/f.c .git/x");
	check_paths("la/**/f.c", "la/b/c/f.c la/b/f.c la/f.c"); // the link that the pattern names is followed
	check_paths("a**/f.c", "a/f.c");
	check_paths("*/", "a/ b/ e/ la/ z*/");
	check_paths("*.c/", "");
	check_paths("h/", "");
	check_paths("a/", "a/");
}

// `**` makes duplicates by going two ways to one file.
static void run_once(void) {
	check_paths("**/a/**/*.c", "a/b/c/f.c a/b/f.c a/f.c");
	make_dir("a/b/a");
	make_file("a/b/a/x.c");
	check_paths("**/a/**/*.c", "a/b/a/x.c a/b/c/f.c a/b/f.c a/f.c");
}

static void run_absolute(void) {
	struct buf pattern = BUF_INIT;
	char expected[400];
	buf_printf(&pattern, "%s/a/*.c", root);
	snprintf(expected, sizeof(expected), "%s/a/f.c\n", root);
	static const char *const dirs[] = {NULL, "/", "/nowhere"};
	for (size_t i = 0; i < 3; ++i) {
		char *paths = expand(dirs[i], pattern.data);
		check_string(paths, expected);
		free(paths);
	}
	char *paths = expand(NULL, "/");
	check_string(paths, "/\n");
	free(paths);
	buf_fini(&pattern);
}

static void run_here(void) {
	char before[400], after[400];
	check(chdir(root) == 0 && getcwd(before, sizeof(before)));
	char *paths = expand(NULL, "a/*.c");
	check_string(paths, "a/f.c\n");
	free(paths);
	paths = expand("a", "b/*.c");
	check_string(paths, "b/f.c\n");
	free(paths);
	check(getcwd(after, sizeof(after)));
	check_string(after, before);
	check(chdir("/") == 0);
}

static void check_error(const char *dir, const char *pattern, const char *expected) {
	struct buf paths = BUF_INIT;
	char *error = NULL;
	check_equal(glob_expand(dir, pattern, add_path, &paths, &error), -1);
	check_string(error, expected);
	check(paths.len == 0);
	free(error);
}

static void run_errors(void) {
	char expected[500], name[300];
	check_error("/nowhere", "*", "cannot open '/nowhere': No such file or directory");
	memset(name, 'x', 299);
	name[299] = '\0';
	memcpy(name, "*/", 2);
	struct buf paths = BUF_INIT;
	char *error = NULL;
	check(glob_expand(root, name, add_path, &paths, &error) == -1 && strstr(error, strerror(ENAMETOOLONG)));
	free(error);
	// root reads everything
	bool is_root = geteuid() == 0;
	check(chmod(root, 0755) == 0 && chmod(in_root("a/b"), 0) == 0);
	check(!is_root || seteuid(65534) == 0);
	snprintf(expected, sizeof(expected), "cannot read '%s/a/b': Permission denied", root);
	check_error(root, "**/*.c", expected);
	check_error(root, "a/b/*", expected);
	check_error(root, "[a]/b*/*", expected);
	snprintf(expected, sizeof(expected), "cannot look at '%s/a/b/f.c': Permission denied", root);
	check_error(root, "a/*/f.c", expected);
	check((!is_root || seteuid(0) == 0) && chmod(in_root("a/b"), 0111) == 0);
	check(!is_root || seteuid(65534) == 0);
	check_paths("a/b/f.c", "a/b/f.c"); // nothing had to be read
	check_paths("a/b/c/*.c", "a/b/c/f.c");
	check(!is_root || seteuid(0) == 0);
}

// The lines of bash, without those that we leave out on purpose.
static char *lines_of_bash(const char *pattern) {
	struct buf script = BUF_INIT, out = BUF_INIT, lines = BUF_INIT;
	buf_printf(&script, "LC_ALL=C; shopt -s globstar nullglob; cd %s; printf '%%s\\n' %s | sort -u\n", root, pattern);
	if (!shell_run("bash", &script, &out)) {
		return NULL;
	}
	buf_add(&out, "", 0);
	for (char *at = out.data, *end; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		// with a ** at its end bash has the directory itself too; before 5.2 it has . and ..
		size_t len = strlen(at);
		bool is_dot = strcmp(at, ".") == 0 || strcmp(at, "..") == 0 || strstr(at, "/../") || strstr(at, "/./") ||
		              (len > 2 && strcmp(at + len - 2, "/.") == 0) || (len > 3 && strcmp(at + len - 3, "/..") == 0);
		if (len > 0 && !is_dot) {
			buf_printf(&lines, "%s\n", at);
		}
	}
	buf_fini(&script);
	buf_fini(&out);
	buf_adds(&lines, "");
	return buf_take(&lines);
}

static void run_as_bash(void) {
	static const char *const components[] = {
		"*", "**", "a", "b", "*.c", "?", ".*", "[a-c]", "[!a]*", "f.c", "*b*", ".h", "\\a", "la", "c", "[.]*", "?.?",
	};
	check(unlink(in_root("a/up")) == 0); // of bash, ** may end in a link
	for (int i = 0; i < 300; ++i) {
		struct buf pattern = BUF_INIT;
		for (unsigned n = 1 + random_below(4), k = 0; k < n; ++k) {
			bool is_last = k + 1 == n;
			const char *component = components[random_below(sizeof(components) / sizeof(components[0]))];
			buf_printf(&pattern, "%s%s", k > 0 ? "/" : "", is_last && strcmp(component, "**") == 0 ? "*" : component);
		}
		char *expected = lines_of_bash(pattern.data);
		if (!expected) {
			return;
		}
		// without anything to expand bash has the text itself
		if (strpbrk(pattern.data, "*?[")) {
			char *paths = expand(root, pattern.data);
			if (strcmp(paths, expected) != 0) {
				fprintf(stderr, "# %s\n", pattern.data);
			}
			check_string(paths, expected);
			free(paths);
		}
		free(expected);
		buf_fini(&pattern);
	}
}

#define WITH_TREE(name) static void test_##name(void) { with_tree(run_##name); }
WITH_TREE(patterns)
WITH_TREE(directories)
WITH_TREE(once)
WITH_TREE(absolute)
WITH_TREE(here)
WITH_TREE(errors)
WITH_TREE(as_bash)

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("patterns match as in a shell, sorted by bytes", test_patterns),
		TEST("** goes through directories, not through links and what is hidden", test_directories),
		TEST("each path comes once", test_once),
		TEST("an absolute pattern gives absolute paths", test_absolute),
		TEST("the process's directory is used and kept", test_here),
		TEST("a directory that cannot be read is an error", test_errors),
		TEST("random patterns match what bash's globstar does", test_as_bash),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
