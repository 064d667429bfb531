// How many slots there are: the usable processors, and -j in all its forms.

#include "slots/slots.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	// A running job holds two pipes, a pidfd and two spools that may have gone to disk; its start, as many again for a
	// moment, is paid from the reserve: seldom do many start in the same instant.
	FDS_PER_JOB = 6,
	FDS_RESERVED = 24,
	// Beyond this the threads and processes are the limit (32768 pids on small systems, two for each job with a shell).
	MOST_SLOTS = 16384,
	MOST_DIGITS = 9,
};

// ---- the usable processors ----

static unsigned affinity_cpus(void) {
	// The kernel refuses a set that is smaller than its own, which may be beyond the 1024 of cpu_set_t
	// (sched_setaffinity(2), "Handling systems with large CPU affinity masks").
	for (int n = 1024; n <= 1 << 20; n *= 2) {
		cpu_set_t *set = CPU_ALLOC((size_t)n);
		if (!set) {
			break;
		}
		size_t size = CPU_ALLOC_SIZE((size_t)n);
		int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
		int error = errno;
		CPU_FREE(set);
		if (count > 0) {
			return (unsigned)count;
		}
		if (error != EINVAL) {
			break;
		}
	}
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

// The two numbers of a quota, in microseconds. Returns false for none ("max", -1) and for files that are not there.
static bool read_numbers(const char *dir, const char *name, long long *ret_first, long long *ret_second) {
	struct buf path = BUF_INIT;
	buf_printf(&path, "%s/%s", dir, name);
	FILE *file = fopen(buf_str(&path), "re");
	buf_fini(&path);
	if (!file) {
		return false;
	}
	int wanted = ret_second ? 2 : 1;
	int got = ret_second ? fscanf(file, "%lld %lld", ret_first, ret_second) : fscanf(file, "%lld", ret_first);
	fclose(file);
	return got == wanted;
}

static unsigned quota_of_dir(const char *dir, bool v2) {
	long long quota, period;
	bool found = v2 ? read_numbers(dir, "cpu.max", &quota, &period)
	                : read_numbers(dir, "cpu.cfs_quota_us", &quota, NULL) &&
	                          read_numbers(dir, "cpu.cfs_period_us", &period, NULL);
	if (!found || quota <= 0 || period <= 0) {
		return UINT_MAX;
	}
	// rounded up: a quota of one and a half is wasted by one job, and two jobs share it
	long long cpus = quota / period + (quota % period != 0);
	return cpus < UINT_MAX ? (unsigned)cpus : UINT_MAX;
}

// The least quota from the cgroup's own directory up to that of the mount; every ancestor's holds, too.
static unsigned quota_of_path(const char *mount, const char *cgroup, bool v2) {
	struct buf dir = BUF_INIT;
	buf_adds(&dir, mount);
	buf_adds(&dir, cgroup);
	size_t least = strlen(mount);
	unsigned cpus = UINT_MAX;
	for (;;) {
		// Directories that are not there are passed by: without a cgroup namespace a container sees the path of the host
		// in /proc/self/cgroup, but mounts its own directory only.
		unsigned here = quota_of_dir(buf_str(&dir), v2);
		cpus = here < cpus ? here : cpus;
		if (dir.len <= least) {
			break;
		}
		const char *slash = memrchr(dir.data + least, '/', dir.len - least);
		dir.len = slash ? (size_t)(slash - dir.data) : least;
		dir.data[dir.len] = '\0';
	}
	buf_fini(&dir);
	return cpus;
}

// True if the comma-separated list has the word.
static bool list_has(const char *list, const char *word) {
	size_t len = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && strchr(",\n", at[len])) {
			return true;
		}
	}
	return false;
}

// The path in the line of /proc/self/cgroup ("0::/a/b", "4:cpu,cpuacct:/a/b") if it is the one for CPU; else NULL.
static char *cgroup_path(char *line, bool v2) {
	line[strcspn(line, "\n")] = '\0';
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path) {
		return NULL;
	}
	*path++ = '\0';
	bool is_it = v2 ? strcmp(line, "0:") == 0 : list_has(controllers + 1, "cpu");
	return is_it ? path : NULL;
}

// proc(5): "36 35 98:0 /ROOT /MOUNT OPTIONS [TAGS] - TYPE SOURCE SUPER". Blanks in names are \040: such a mount of a
// cgroup is not found, and counts as none.
static unsigned quota_of_mount(const char *root, const char *line, const char *cgroup, bool v2) {
	char fs_root[PATH_MAX], mount[PATH_MAX], type[32], super[1024];
	const char *rest = strstr(line, " - ");
	static_assert(PATH_MAX == 4096, "the widths below");
	if (!rest || sscanf(line, "%*d %*d %*s %4095s %4095s", fs_root, mount) != 2 ||
	    sscanf(rest, " - %31s %*s %1023s", type, super) != 2) {
		return UINT_MAX;
	}
	if (strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 || (!v2 && !list_has(super, "cpu"))) {
		return UINT_MAX;
	}
	// what is mounted may be a part of the hierarchy
	size_t len = strcmp(fs_root, "/") == 0 ? 0 : strlen(fs_root);
	if (strncmp(cgroup, fs_root, len) == 0 && (cgroup[len] == '/' || cgroup[len] == '\0')) {
		cgroup += len;
	}
	if (strcmp(cgroup, "/") == 0 || strstr(cgroup, "/..")) {
		cgroup = ""; // the mount itself, or a place outside of this namespace (cgroup_namespaces(7))
	}
	struct buf dir = BUF_INIT;
	buf_printf(&dir, "%s%s", root, mount);
	unsigned cpus = quota_of_path(buf_str(&dir), cgroup, v2);
	buf_fini(&dir);
	return cpus;
}

static FILE *open_under(const char *root, const char *path) {
	struct buf full = BUF_INIT;
	buf_printf(&full, "%s%s", root, path);
	FILE *file = fopen(buf_str(&full), "re");
	buf_fini(&full);
	return file;
}

static unsigned quota_of_version(const char *root, bool v2) {
	FILE *file = open_under(root, "/proc/self/cgroup");
	if (!file) {
		return UINT_MAX;
	}
	char *line = NULL, *cgroup = NULL;
	size_t size = 0;
	while (!cgroup && getline(&line, &size, file) > 0) {
		const char *path = cgroup_path(line, v2);
		cgroup = path ? xstrdup(path) : NULL;
	}
	fclose(file);
	unsigned cpus = UINT_MAX;
	file = cgroup ? open_under(root, "/proc/self/mountinfo") : NULL;
	while (file && getline(&line, &size, file) > 0) {
		unsigned here = quota_of_mount(root, line, cgroup, v2);
		cpus = here < cpus ? here : cpus;
	}
	if (file) {
		fclose(file);
	}
	free(cgroup);
	free(line);
	return cpus;
}

unsigned slots_quota_cpus(const char *root) {
	// a machine in transition has both, and then both hold
	unsigned v2 = quota_of_version(root, true), v1 = quota_of_version(root, false);
	return v2 < v1 ? v2 : v1;
}

unsigned slots_usable_cpus(void) {
	unsigned cpus = affinity_cpus(), quota = slots_quota_cpus("");
	return quota < cpus ? quota : cpus;
}

unsigned slots_limit(unsigned long nofile) {
	if (nofile < FDS_RESERVED + FDS_PER_JOB) {
		return 1;
	}
	unsigned long n = (nofile - FDS_RESERVED) / FDS_PER_JOB;
	return n < MOST_SLOTS ? (unsigned)n : MOST_SLOTS;
}

// ---- -j ----

static bool is_number(const char *s, size_t len) {
	return len > 0 && len <= MOST_DIGITS && strspn(s, "0123456789") >= len;
}

// Digits with, at most, one part behind a point.
static bool is_decimal(const char *s, size_t len) {
	size_t whole = strspn(s, "0123456789");
	return is_number(s, whole < len ? whole : len) &&
	       (whole == len || (s[whole] == '.' && is_number(s + whole + 1, len - whole - 1)));
}

// Returns 0, or -1 if the text has none of the forms.
static int parse_form(const char *s, size_t len, unsigned long nofile, unsigned *ret_slots) {
	long n;
	if (is_number(s, len)) {
		n = strtol(s, NULL, 10);
		*ret_slots = n > 0 ? (unsigned)n : slots_limit(nofile);
		return 0;
	}
	if (len > 1 && (*s == '+' || *s == '-') && is_number(s + 1, len - 1)) {
		n = strtol(s, NULL, 10) + slots_usable_cpus();
	} else if (len > 1 && s[len - 1] == '%' && is_decimal(s, len - 1)) {
		// Rounded up, as GNU parallel does. The locale is "C": a point is a point.
		double cpus = strtod(s, NULL) * slots_usable_cpus() / 100;
		n = cpus < INT_MAX ? (long)cpus : INT_MAX;
		n += (double)n < cpus;
	} else {
		return -1;
	}
	// GNU parallel's manual: "If the evaluated number is less than 1 then 1 will be used" (the program gives up instead).
	*ret_slots = n > 0 ? (unsigned)n : 1;
	return 0;
}

static int fail(char **ret_error, const char *format, ...) FP_PRINTF(2, 3);
static int fail(char **ret_error, const char *format, ...) {
	struct buf text = BUF_INIT;
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	*ret_error = buf_take(&text);
	return -1;
}

// What a file holds: one word of these forms. `option` is named in messages.
static int read_word(const char *path, const char *option, char *word, size_t size, char **ret_error) {
	FILE *file = fopen(path, "re");
	char text[256];
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (!file || ferror(file)) {
		int error = errno;
		if (file) {
			fclose(file);
		}
		return fail(ret_error, "cannot read '%s' for %s: %s", text_shows(path), option, strerror(error));
	}
	fclose(file);
	text[len] = '\0';
	char *start = text + strspn(text, " \t\r\n");
	size_t n = strcspn(start, " \t\r\n");
	bool alone = start[n + strspn(start + n, " \t\r\n")] == '\0' && len < sizeof(text) - 1;
	start[n] = '\0';
	snprintf(word, size, "%s", alone && n < size ? start : "");
	return 0;
}

static bool is_file(const char *path) {
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode); // a fifo could make us wait for ever
}

static int parse_load_form(const char *text, size_t len, double *ret_load) {
	double load;
	if (len > 1 && (*text == '+' || *text == '-') && is_decimal(text + 1, len - 1)) {
		load = slots_usable_cpus() + strtod(text, NULL);
	} else if (len > 1 && text[len - 1] == '%' && is_decimal(text, len - 1)) {
		load = slots_usable_cpus() * strtod(text, NULL) / 100;
	} else if (is_decimal(text, len)) {
		load = strtod(text, NULL);
	} else {
		return -1;
	}
	*ret_load = load < 0.01 ? 0.01 : load;
	return 0;
}

// What an option takes: a value of its own, or the name of a file that holds one.
struct limit_value {
	const char *option;      // as messages name it
	unsigned long nofile;    // 0: it is a load, not a number of slots
	unsigned slots;          // what was parsed
	double load;
};

static int limit_value_parse(struct limit_value *value, const char *text) {
	size_t len = strlen(text);
	return value->nofile ? parse_form(text, len, value->nofile, &value->slots) : parse_load_form(text, len, &value->load);
}

// Parses the text, or what the file of that name holds. Returns 0, or -1 with *ret_error.
static int limit_value_read(struct limit_value *value, const char *text, char **ret_error) {
	char word[64];
	if (limit_value_parse(value, text) == 0) {
		return 0;
	}
	if (!is_file(text)) {
		return fail(ret_error, "%s must be N, +N, -N, N%% or the name of a file that holds one of these, not '%s'",
		            value->option, text_shows(text));
	}
	if (read_word(text, value->option, word, sizeof(word), ret_error) != 0) {
		return -1;
	}
	if (limit_value_parse(value, word) != 0) {
		return fail(ret_error, "'%s', named by %s, must hold N, +N, -N or N%%, and nothing else", text_shows(text), value->option);
	}
	return 0;
}

int slots_parse(const char *text, unsigned long nofile, unsigned *ret_slots, char **ret_error) {
	struct limit_value value = {.option = "--jobs", .nofile = nofile};
	int result = limit_value_read(&value, text, ret_error);
	*ret_slots = result == 0 ? value.slots : *ret_slots;
	return result;
}

int load_parse(const char *text, double *ret_load, char **ret_error) {
	struct limit_value value = {.option = "--load"};
	int result = limit_value_read(&value, text, ret_error);
	*ret_load = result == 0 ? value.load : *ret_load;
	return result;
}

// ---- a file that changes ----

void slots_watch_open(struct slots_watch *watch, const char *text) {
	double ignored;
	unsigned slots;
	bool is_value = parse_form(text, strlen(text), /* nofile */ 1024, &slots) == 0 || parse_load_form(text, strlen(text), &ignored) == 0;
	*watch = (struct slots_watch){.path = NULL};
	if (!is_value && stat(text, &watch->seen) == 0) {
		watch->path = text;
	}
}

bool slots_watch_changed(struct slots_watch *watch) {
	struct stat now;
	if (!watch->path || stat(watch->path, &now) != 0) {
		return false;
	}
	const struct stat *seen = &watch->seen;
	// the kernel's clock for files is coarse: two changes in one tick differ at least in what they have written
	bool changed = now.st_mtim.tv_sec != seen->st_mtim.tv_sec || now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec
		|| now.st_size != seen->st_size || now.st_ino != seen->st_ino;
	watch->seen = now;
	return changed;
}
