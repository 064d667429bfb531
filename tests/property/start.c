// Starting fairpar, and shells to compare with, in a directory of their own.
//
// DIR/work is the directory of the jobs, which is empty before and after each run; DIR/bin is first in PATH and has the
// program `canary`, which makes PWN as well.

#include "start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const form_names[NFORMS] = {"-0 -a FILE", "::: ITEM", "-f MANIFEST"};

static char directory[128], program[PATH_MAX];
static int null_fd;
static char path_variable[1024], home_variable[256], locpath_variable[512];

static void must(bool good, const char *what) {
	if (!good) {
		fprintf(stderr, "property: error: %s: %s\n", what, strerror(errno));
		exit(255);
	}
}

static void write_file(const char *name, const char *bytes, size_t len, mode_t mode) {
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && close(fd) == 0, name);
}

void start_open(const char *fairpar) {
	must(realpath(fairpar, program) != NULL, fairpar);
	const char *tmp = getenv("TMPDIR"), *locpath = getenv("LOCPATH"), *path = getenv("PATH");
	snprintf(directory, sizeof(directory), "%s/fairpar-property.XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(directory) != NULL, directory);
	must(chdir(directory) == 0 && mkdir("bin", 0700) == 0 && mkdir("work", 0700) == 0 && mkdir("home", 0700) == 0, directory);
	static const char canary[] = "#!/bin/sh\n>PWN\n";
	write_file("bin/canary", canary, sizeof(canary) - 1, 0700);
	must(chdir("work") == 0, directory);
	snprintf(path_variable, sizeof(path_variable), "PATH=%s/bin:%s", directory, path ? path : "/usr/bin:/bin");
	snprintf(home_variable, sizeof(home_variable), "HOME=%s/home", directory);
	snprintf(locpath_variable, sizeof(locpath_variable), "%s%s", locpath ? "LOCPATH=" : "NOLOCPATH=", locpath ? locpath : "");
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	must(null_fd >= 0, "/dev/null");
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void start_close(void) {
	char command[256];
	must(chdir("/") == 0, "/");
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	must(system(command) == 0, directory);
}

bool start_find(struct shell *shell) {
	const char *path = getenv("PATH");
	for (const char *at = path ? path : "/usr/bin:/bin", *end; *at; at = end + (*end == ':')) {
		end = strchrnul(at, ':');
		char real[300];
		snprintf(real, sizeof(real), "%.*s/%s", (int)(end - at), at, shell->program);
		if (access(real, X_OK) != 0) {
			continue;
		}
		snprintf(shell->path, sizeof(shell->path), "%s", real);
		if (shell->link) {
			char dir[256];
			snprintf(dir, sizeof(dir), "%s/%s", directory, shell->name);
			snprintf(shell->path, sizeof(shell->path), "%s/%s", dir, shell->link);
			must((mkdir(dir, 0700) == 0 || errno == EEXIST) && (symlink(real, shell->path) == 0 || errno == EEXIST), shell->path);
		}
		return true;
	}
	return false;
}

static void read_all(int fd, struct text *text) {
	text_clear(text);
	char chunk[65536];
	ssize_t n;
	for (off_t at = 0; (n = pread(fd, chunk, sizeof(chunk), at)) > 0; at += n) {
		text_add(text, chunk, (size_t)n);
	}
}

// Ends a child that lasts too long; it must be something that waits for ever.
static int wait_for(pid_t pid) {
	static const struct timespec patience = {.tv_sec = 300};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	int status;
	for (pid_t ended; (ended = waitpid(pid, &status, WNOHANG)) == 0;) {
		if (sigtimedwait(&set, NULL, &patience) < 0 && errno == EAGAIN) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
	}
	return status;
}

// Looks what was left in the directory of the jobs, and removes it.
static void look_around(struct result *result) {
	result->canary = false;
	result->stray[0] = '\0';
	DIR *dir = opendir(".");
	must(dir != NULL, ".");
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (strcmp(entry->d_name, "PWN") == 0) {
			result->canary = true;
		} else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
			snprintf(result->stray, sizeof(result->stray), "%.60s", entry->d_name);
		} else {
			continue;
		}
		unlink(entry->d_name);
	}
	closedir(dir);
}

static void start(const char *path, char *const *argv, char *const *envp, struct result *result) {
	int out_fd = memfd_create("out", MFD_CLOEXEC), err_fd = memfd_create("err", MFD_CLOEXEC); // anew: of a run before, something may still write
	// threads that write at the same time must not write to the same place, as they do here without O_APPEND
	must(out_fd >= 0 && err_fd >= 0 && fcntl(out_fd, F_SETFL, O_APPEND) == 0 && fcntl(err_fd, F_SETFL, O_APPEND) == 0, "memfd_create");
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, null_fd, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
	posix_spawn_file_actions_adddup2(&actions, err_fd, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	pid_t pid;
	errno = posix_spawn(&pid, path, &actions, &attributes, argv, envp);
	must(errno == 0, path);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	result->status = wait_for(pid);
	read_all(out_fd, &result->out);
	read_all(err_fd, &result->err);
	close(out_fd);
	close(err_fd);
	look_around(result);
}

// The items in a file, each with a NUL behind it.
static void write_items(char *const *items, unsigned nitems) {
	struct text bytes = {0};
	for (unsigned i = 0; i < nitems; ++i) {
		text_add(&bytes, items[i], strlen(items[i]) + 1);
	}
	write_file("../items", bytes.data, bytes.len, 0600);
	text_free(&bytes);
}

static void write_manifest(const struct shell *shell, const char *template) {
	struct text text = {0};
	text_addf(&text, "version: 1\nbatches:\n  b:\n    args_from: {file0: ../items}\n    timeout: 5s\n    shell: %s\n    run: \"", shell->path);
	for (const char *at = template; *at; ++at) {
		static const char names[] = "n\nt\t\\\\\"\"";
		const char *escape = NULL;
		for (const char *name = names; *name; name += 2) {
			escape = name[1] == *at ? name : escape;
		}
		if (strncmp(at, "{1}", 3) == 0) { // a manifest has no columns
			text_adds(&text, "{}");
			at += 2;
		} else if (escape) {
			text_addf(&text, "\\%c", *escape);
		} else {
			text_add(&text, at, 1);
		}
	}
	text_adds(&text, "\"\n");
	write_file("../manifest.yaml", text.data, text.len, 0600);
	text_free(&text);
}

void start_fairpar(const struct shell *shell, const char *locale, enum form form, unsigned slots, const char *template, char *const *items,
                   unsigned nitems, struct result *result) {
	char lc_all[128], *envp[] = {path_variable, home_variable, lc_all, locpath_variable, NULL};
	snprintf(lc_all, sizeof(lc_all), "LC_ALL=%s", locale);
	const char *argv[64] = {"fairpar", slots == 1 ? "-j1" : "-j2", "-k", "--summary=never"};
	unsigned argc = 4; // a shell may wait for ever: busybox, after an error within a here-document
	if (form != FORM_WORDS) {
		write_items(items, nitems);
	}
	if (form == FORM_MANIFEST) {
		write_manifest(shell, template);
		argv[argc++] = "-f";
		argv[argc++] = "../manifest.yaml";
	} else {
		argv[argc++] = "--timeout";
		argv[argc++] = "5s";
		argv[argc++] = "--shell";
		argv[argc++] = shell->path;
		if (form == FORM_FILE) {
			argv[argc++] = "-0";
			argv[argc++] = "-a";
			argv[argc++] = "../items";
		}
		argv[argc++] = template;
		if (form == FORM_WORDS) {
			argv[argc++] = ":::";
			memcpy(argv + argc, items, nitems * sizeof(items[0]));
			argc += nitems;
		}
	}
	argv[argc] = NULL;
	start(program, (char *const *)argv, envp, result);
}

void start_shell(const struct shell *shell, const char *locale, const char *command, const char *item, struct result *result) {
	char lc_all[128];
	struct text variable = {0};
	text_adds(&variable, "FAIRPAR_ITEM=");
	text_adds(&variable, item ? item : "");
	snprintf(lc_all, sizeof(lc_all), "LC_ALL=%s", locale);
	char *envp[] = {path_variable, home_variable, lc_all, item ? variable.data : locpath_variable, item ? locpath_variable : NULL, NULL};
	const char *argv[] = {shell->link ? shell->link : shell->program, "-c", command, NULL};
	start(shell->path, (char *const *)argv, envp, result);
	text_free(&variable);
}

bool start_has_variable(const struct shell *shell) {
	char item[] = "a b", *items[] = {item, item};
	struct result result = {0};
	start_fairpar(shell, "C", FORM_WORDS, 1, "printf %s \"$FAIRPAR_ITEM\"; : {}", items, 1, &result);
	bool has = strcmp(result.out.data, "a b") == 0;
	text_free(&result.out);
	text_free(&result.err);
	return has;
}
