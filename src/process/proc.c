// Reads whole files of /proc and of cgroups, finds numbers in them, and finds the directories of this process's cgroups.

#include "process/proc.h"

#include "base/alloc.h"
#include "base/io.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

const char *proc_root(void) {
#ifdef FAIRPAR_FAULTS
	const char *root = getenv("FAIRPAR_ROOT");
	return root ? root : "";
#else
	return "";
#endif
}

int proc_read(int dir_fd, const char *path, struct buf *buf) {
	FP_CLEANUP(fd_close) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? read_to_end(fd, buf, SIZE_MAX) : -1;
}

bool proc_find_number(const char *text, const char *name, uint64_t *ret_value) {
	size_t len = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ' ') {
			return sscanf(line + len, " %" SCNu64, ret_value) == 1;
		}
	}
	return false;
}

// ---- the cgroups of this process ----

// True if the comma-separated list has the word.
static bool list_has(const char *list, const char *word) {
	size_t len = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0')) {
			return true;
		}
	}
	return false;
}

// Returns the path in a line of /proc/self/cgroup ("0::/a/b", "4:cpu,cpuacct:/a/b"; cgroups(7)) if the line is that of cgroup v2 or,
// unless `controller` is NULL, of the v1 controller of that name; else NULL. Changes the line.
static const char *group_in(char *line, const char *controller) {
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
	if (!path) {
		return NULL;
	}
	*path++ = '\0';
	return (controller ? list_has(list + 1, controller) : strcmp(line, "0:") == 0) ? path : NULL;
}

// Decodes the octal escapes of mountinfo in place, such as \040 for a blank.
static void unescape(char *s) {
	char *to = s;
	for (; *s; ++s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

// Puts the first `n` words of the text into `fields`, and ends each with a NUL. Returns false if there are fewer words.
static bool split(char *text, char *fields[], size_t n) {
	char *save = NULL, *word = strtok_r(text, " ", &save);
	size_t got = 0;
	for (; got < n && word; word = strtok_r(NULL, " ", &save)) {
		fields[got++] = word;
	}
	return got == n;
}

// Calls fn as cgroup_each_dir() does if the line of mountinfo, which is changed, is a mount of the hierarchy that the group is in (proc(5)):
// "36 35 98:0 /ROOT /POINT OPTIONS [TAGS] - TYPE SOURCE SUPER".
static void mount_visit(char *line, const char *root, const char *group, const char *controller, cgroup_dir_fn *fn, void *arg) {
	char *fields[5], *more[3], *rest = strstr(line, " - cgroup");
	if (!rest) {
		return;
	}
	*rest = '\0';
	bool is_whole = split(line, fields, 5) && split(rest + 3, more, 3);
	if (!is_whole || strcmp(more[0], controller ? "cgroup" : "cgroup2") != 0 || (controller && !list_has(more[2], controller))) {
		return;
	}
	char *mounted = fields[3], *point = fields[4];
	unescape(mounted);
	unescape(point);
	// the mount may show a part of the hierarchy only; a group outside of our cgroup namespace begins with /.. (cgroup_namespaces(7))
	size_t len = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
	const char *below = group + len;
	bool is_seen = strncmp(group, mounted, len) == 0 && (*below == '/' || *below == '\0') && strncmp(below, "/..", 3) != 0;
	FP_CLEANUP(buf_fini) struct buf dir = BUF_INIT;
	buf_printf(&dir, "%s%s%s", root, point, is_seen ? below : "");
	fn(arg, dir.data, is_seen);
	char *behind = dir.data + strlen(root) + strlen(point); // "" or a path
	while (*behind && strcmp(behind, "/") != 0) { // "/" is the root group, whose directory is the mount point
		*strrchr(behind, '/') = '\0';
		fn(arg, dir.data, false);
	}
}

int proc_read_joined(const char *dir, const char *path, struct buf *buf) {
	FP_CLEANUP(buf_fini) struct buf full = BUF_INIT;
	buf_printf(&full, "%s%s", dir, path);
	return proc_read(AT_FDCWD, buf_str(&full), buf);
}

char *proc_read_below(const char *dir, const char *path, struct buf *text) {
	*text = (struct buf)BUF_INIT;
	if (proc_read_joined(dir, path, text) != 0) {
		buf_reset(text);
	}
	buf_reserve(text, 0);
	return text->data;
}

uint64_t proc_number(const char *dir, const char *path, const char *name, uint64_t other) {
	FP_CLEANUP(buf_fini) struct buf text;
	const char *at = proc_read_below(dir, path, &text);
	uint64_t value;
	if (name) {
		return proc_find_number(at, name, &value) ? value : other;
	}
	return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : other;
}

void cgroup_each_dir(const char *root, const char *controller, cgroup_dir_fn *fn, void *arg) {
	FP_CLEANUP(buf_fini) struct buf lines = BUF_INIT, mounts = BUF_INIT;
	const char *group = NULL;
	char *save = NULL;
	char *line = strtok_r(proc_read_below(root, "/proc/self/cgroup", &lines), "\n", &save);
	for (; line && !group; line = strtok_r(NULL, "\n", &save)) {
		group = group_in(line, controller);
	}
	line = group ? strtok_r(proc_read_below(root, "/proc/self/mountinfo", &mounts), "\n", &save) : NULL;
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		mount_visit(line, root, group, controller, fn, arg);
	}
}

static void take_first(void *arg, const char *dir, bool is_own) {
	char **path = arg;
	if (is_own && !*path) {
		*path = xstrdup(dir);
	}
}

char *cgroup_find_dir(const char *root, const char *controller) {
	char *path = NULL;
	cgroup_each_dir(root, controller, take_first, &path);
	return path;
}
