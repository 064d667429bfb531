// How many slots there are: the usable processors, and -j in all its forms.

#include "slots/slots.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/sync.h"
#include "base/text.h"
#include "base/units.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum {
	// A running job holds two pipes, a pidfd and two spools that may have gone to disk; while a job starts, it needs as many
	// again, which come from the reserve, because many jobs seldom start in the same instant.
	FDS_PER_JOB = 6,
	FDS_RESERVED = 24,
	// Beyond this number the threads and processes are the limit (32768 pids on small systems, two for each job with a shell).
	MOST_SLOTS = 16384,
	MOST_NUMBER = 999999999,
};

// ---- the usable processors ----

static unsigned affinity_cpus(void) {
	// The kernel refuses a set that is smaller than its own set, which may have more than the 1024 CPUs of cpu_set_t
	// (sched_setaffinity(2), "Handling systems with large CPU affinity masks").
	cpu_set_t sets[64];
	int count = sched_getaffinity(0, sizeof(sets), sets) == 0 ? CPU_COUNT_S(sizeof(sets), sets) : 0;
	long online = count > 0 ? count : sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

// Reads one or two numbers from a file. Returns how many numbers were read: 0 if the file begins with "max" or is missing.
static int read_numbers(const char *dir, const char *path, long long *ret_first, long long *ret_second) {
	FP_CLEANUP(buf_fini) struct buf text;
	return sscanf(proc_read_below(dir, path, &text), "%lld %lld", ret_first, ret_second);
}

// Returns how many processors the quota in the file of cgroup v2, or in those of v1, allows; UINT_MAX if there is no limit ("max", -1).
static double quota_of_dir(const char *dir) {
	long long quota, period, unused;
	bool found = read_numbers(dir, "/cpu.max", &quota, &period) == 2
		|| (read_numbers(dir, "/cpu.cfs_quota_us", &quota, &unused) == 1 && quota > 0
		    && read_numbers(dir, "/cpu.cfs_period_us", &period, &unused) == 1);
	return found && quota > 0 && period > 0 ? (double)quota / (double)period : UINT_MAX;
}

// Notes the least quota. Missing directories are skipped: without a cgroup namespace a container sees the path of the host, but mounts
// only its own directory.
static void note_quota(void *arg, const char *dir, bool is_own FP_UNUSED) {
	double *least = arg, here = quota_of_dir(dir);
	*least = here < *least ? here : *least;
}

double slots_quota(const char *root) {
	double least = UINT_MAX;
	cgroup_each_dir(root, /* controller */ NULL, note_quota, &least);
	cgroup_each_dir(root, "cpu", note_quota, &least);
	return least;
}

double slots_cpus(const char *root) {
	double cpus = affinity_cpus(), quota = slots_quota(root);
	return quota < cpus ? quota : cpus;
}

unsigned slots_usable_cpus(void) {
	return whole_cpus(slots_cpus(""));
}

unsigned slots_limit(unsigned long nofile) {
	if (nofile < FDS_RESERVED + FDS_PER_JOB) {
		return 1;
	}
	unsigned long n = (nofile - FDS_RESERVED) / FDS_PER_JOB;
	return n < MOST_SLOTS ? (unsigned)n : MOST_SLOTS;
}

// ---- -j ----

enum slots_form { FORM_NONE, FORM_NUMBER, FORM_OF_CPUS };

// Parses N, +N, -N or N%; N may have decimals in all forms if `decimals`, else only in N%. *ret_value: N, or the number of
// processors that +N, -N or N% stands for. `ret_value` may be NULL: then the processors are not counted.
static enum slots_form parse_form(const char *text, bool decimals, double *ret_value) {
	bool is_signed = *text == '+' || *text == '-';
	struct decimal decimal;
	const char *end = read_decimal(text + is_signed, MANIFEST_UNITS, &decimal);
	bool is_percent = end && !is_signed && strcmp(end, "%") == 0;
	if (!end || (*end && !is_percent) || decimal.whole > MOST_NUMBER || (decimal.has_point && !decimals && !is_percent)) {
		return FORM_NONE;
	}
	double value = (double)decimal.whole + decimal.fraction;
	enum slots_form form = is_percent || is_signed ? FORM_OF_CPUS : FORM_NUMBER;
	if (ret_value && form == FORM_OF_CPUS) { // the processors are counted only here, as counting reads some files of the kernel
		unsigned cpus = slots_usable_cpus();
		value = is_percent ? cpus * value / 100 : cpus + (*text == '-' ? -value : value);
	}
	if (ret_value) {
		*ret_value = value;
	}
	return form;
}

// Reads a file into `text`, an array of `size` bytes. Returns the text without the blanks around it, "" if it does not fit, or NULL with errno.
static const char *read_value(const char *path, char *text, size_t size) {
	static const char blanks[] = " \t\r\n";
	FP_CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read_some(fd, text, size) : -1;
	size_t len = n > 0 && (size_t)n < size ? (size_t)n : 0;
	while (len > 0 && strchr(blanks, text[len - 1])) {
		--len;
	}
	text[len] = '\0';
	return n < 0 ? NULL : text + strspn(text, blanks);
}

// Parses the text, or what the file of that name holds: a value of --load if `is_load`, else of --jobs. *ret_value is as that of parse_form(). Returns
// FORM_NONE with *ret_error if there is no such value.
static enum slots_form read_form(bool is_load, const char *text, double *ret_value, char **ret_error) {
	const char *option = is_load ? "--load" : "--jobs";
	char read[256];
	enum slots_form form = parse_form(text, /* decimals */ is_load, ret_value);
	if (form != FORM_NONE) {
		return form;
	}
	struct stat st;
	if (stat(text, &st) != 0 || !S_ISREG(st.st_mode)) { // a fifo could make us wait for ever
		error_text(ret_error, "%s must be N, +N, -N, N%% or the name of a file that holds one of these%s, not '%s'", option,
		           is_load ? "" : ", or auto", text_shows(text));
		return FORM_NONE;
	}
	const char *word = read_value(text, read, sizeof(read));
	form = word ? parse_form(word, /* decimals */ is_load, ret_value) : FORM_NONE;
	if (!word) {
		error_text(ret_error, "cannot read '%s' for %s: %s", text_shows(text), option, strerror(errno));
	} else if (form == FORM_NONE) {
		error_text(ret_error, "'%s', named by %s, must hold N, +N, -N or N%%, and nothing else%s", text_shows(text), option,
		           !is_load && slots_is_auto(word) ? ": auto can only be given on the command line" : "");
	}
	return form;
}

int slots_parse(const char *text, unsigned long nofile, struct slots_bounds *ret_bounds, char **ret_error) {
	if (slots_is_auto(text)) {
		return slots_auto_parse("--jobs", text, slots_limit(nofile), ret_bounds, ret_error);
	}
	double value;
	enum slots_form form = read_form(/* is_load */ false, text, &value, ret_error);
	if (form == FORM_NONE) {
		return -1;
	}
	unsigned slots;
	if (form == FORM_NUMBER) {
		slots = value > 0 ? (unsigned)value : slots_limit(nofile);
	} else {
		// Rounded up, as GNU parallel does; its manual: "If the evaluated number is less than 1 then 1 will be used" (GNU
		// parallel itself gives up).
		slots = value > 1 ? whole_cpus(value < INT_MAX ? value : INT_MAX) : 1;
	}
	*ret_bounds = (struct slots_bounds){slots, slots};
	return 0;
}

int load_parse(const char *text, double *ret_load, char **ret_error) {
	double load;
	if (read_form(/* is_load */ true, text, &load, ret_error) == FORM_NONE) {
		return -1;
	}
	*ret_load = load < 0.01 ? 0.01 : load;
	return 0;
}

// ---- -j auto ----

bool slots_is_auto(const char *text) {
	return strncmp(text, "auto", 4) == 0 && (text[4] == '\0' || text[4] == ':');
}

// Parses a number of slots; UINT_MAX if it is above MOST_NUMBER. Returns the text behind the number, or NULL if there is no number.
static const char *parse_bound(const char *text, unsigned *ret_slots) {
	uint64_t n;
	const char *end = text;
	(void)read_digits(&end, NULL, &n);
	*ret_slots = n <= MOST_NUMBER ? (unsigned)n : UINT_MAX;
	return end > text ? end : NULL;
}

int slots_auto_parse(const char *option, const char *text, unsigned most, struct slots_bounds *ret_bounds, char **ret_error) {
	*ret_bounds = (struct slots_bounds){.least = 1, .most = most};
	if (text[4] == '\0') {
		return 0;
	}
	const char *dash = parse_bound(text + 5, &ret_bounds->least), *wrong;
	const char *end = dash && *dash == '-' ? parse_bound(dash + 1, &ret_bounds->most) : NULL;
	if (!end || *end) {
		wrong = !dash ? "the least is missing" : *dash == '\0' ? "the most is missing"
			: *dash != '-' ? "there must be a '-' after the least"
			: !end && dash[1] == '\0' ? "the most is missing" : "the most must be a number";
	} else {
		wrong = ret_bounds->least == 0 || ret_bounds->most == 0 ? "a bound must be at least 1"
			: ret_bounds->least == UINT_MAX || ret_bounds->most == UINT_MAX ? "the number is too large"
			: ret_bounds->least > ret_bounds->most ? "the least is greater than the most" : NULL;
	}
	return !wrong ? 0 : error_text(ret_error, "%s auto takes bounds as in auto:2-64, the least and the most number of slots, not '%s': %s", option,
	                         text_shows(text), wrong);
}

// ---- a file that changes ----

void slots_watch_open(struct slots_watch *watch, const char *text) {
	bool is_value = parse_form(text, /* decimals */ true, /* ret_value */ NULL) != FORM_NONE || slots_is_auto(text);
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
	// the kernel's clock for files is coarse: a second change within one tick shows only in the size or the inode
	bool changed = now.st_mtim.tv_sec != seen->st_mtim.tv_sec || now.st_mtim.tv_nsec != seen->st_mtim.tv_nsec
		|| now.st_size != seen->st_size || now.st_ino != seen->st_ino;
	watch->seen = now;
	return changed;
}

// ---- the machine, as -j auto sees it ----

#define QUOTA_RENEWAL NS_PER_S // how long a quota that was read is used

void machine_open(struct machine *machine, const char *root, uint64_t now) {
	*machine = (struct machine){.cpus = slots_cpus(root), .cpus_read = now};
	pressure_open(&machine->pressure, root, now);
}

void machine_close(struct machine *machine) {
	pressure_close(&machine->pressure);
}

void machine_observe(struct machine *machine, struct controller_observation *observation) {
	if (observation->now - machine->cpus_read >= QUOTA_RENEWAL) {
		machine->cpus = slots_cpus(machine->pressure.root);
		machine->cpus_read = observation->now;
	}
	observation->cpus = machine->cpus;
	pressure_observe(&machine->pressure, machine->cpus, observation->now, &observation->pressure);
}
