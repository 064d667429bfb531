// How busy the machine is, as the kernel reports it.
//
// Facts are from proc(5) and from the kernel's Documentation/accounting/psi.rst and admin-guide/cgroup-v2.rst.

#include "process/sysload.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "process/memory.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sysload_parse_load(const char *text, uint64_t *ret_load) {
	uint64_t running, blocked;
	if (!proc_find_number(text, "procs_running", &running) || !proc_find_number(text, "procs_blocked", &blocked)) {
		return false;
	}
	*ret_load = (running > 0 ? running - 1 : 0) + blocked; // without the calling thread, which runs
	return true;
}

bool sysload_parse_swapped(const char *text, struct swapped *ret_swapped) {
	return proc_find_number(text, "pswpin", &ret_swapped->in) && proc_find_number(text, "pswpout", &ret_swapped->out);
}

bool sysload_is_swapping(const struct swapped *before, const struct swapped *after) {
	return after->in > before->in && after->out > before->out;
}

unsigned sysload_may_run(uint64_t free_bytes, uint64_t limit, unsigned n) {
	double ratio = (double)free_bytes / (double)limit;
	if (ratio >= 2) {
		return n;
	}
	double most = 1 / (2 - ratio) + 1; // one more than $run in GNU parallel's source, which is the index of the last job
	return most < (double)n ? (unsigned)most : n;
}

// ---- the kernel ----

// Appends the content of the file. Returns false with errno, true with errno 0.
static bool read_file(const char *path, struct buf *text) {
	errno = proc_read_joined(proc_root(), path, text) == 0 ? 0 : errno;
	return errno == 0;
}

// As sysload_free(), for the figures of /proc/stat and /proc/vmstat.
static bool read_load(uint64_t *ret_load) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/stat", &text) && sysload_parse_load(buf_str(&text), ret_load);
}

static bool read_swapped(struct swapped *ret_swapped) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/vmstat", &text) && sysload_parse_swapped(buf_str(&text), ret_swapped);
}

bool sysload_free(uint64_t *ret_bytes) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	return read_file("/proc/meminfo", &text) && meminfo_find(buf_str(&text), "MemAvailable:", ret_bytes);
}

// ---- the gate ----

// Warns once that /proc has no figure for the option, with errno (0: the file lacks the figure).
static void report_missing(struct sysload_gate *gate, const char *option) {
	int error = errno;
	if (!gate->has_missed) {
		diag_warn("--%s: /proc has no number for this check%s%s; jobs start without this check", option, error ? ": " : "", error ? strerror(error) : "");
		gate->has_missed = true;
	}
}

// Appends a reason if the machine is swapping; to find that out takes two readings, at least a second apart.
static void check_swap(struct sysload_gate *gate, struct buf *why) {
	struct swapped swapped;
	uint64_t now = now_ns(), before = gate->swap_read_at;
	if (before == 0 || now - before >= NS_PER_S) {
		if (!read_swapped(&swapped)) {
			report_missing(gate, "noswap");
			return;
		}
		gate->is_swapping = before > 0 && sysload_is_swapping(&gate->swapped, &swapped);
		gate->swapped = swapped;
		gate->swap_read_at = now;
	}
	if (gate->is_swapping) {
		buf_adds(why, "the machine is swapping (--noswap)");
	}
}

enum event_why sysload_check(struct sysload_gate *gate, struct buf *why) {
	uint64_t load, bytes;
	if (gate->max_load > 0 && !read_load(&load)) {
		report_missing(gate, "load");
	} else if (gate->max_load > 0 && (double)load >= gate->max_load) {
		buf_printf(why, "the load is %" PRIu64 ", and --load lets jobs start below %g", load, gate->max_load);
		return WHY_LOAD;
	}
	if (gate->memfree > 0 && !sysload_free(&bytes)) {
		report_missing(gate, gate->asks);
	} else if (gate->memfree > 0 && bytes < gate->memfree) {
		buf_printf(why, "%s of memory are available, and --%s asks for %s", memory_show(bytes), gate->asks, memory_show(gate->memfree));
		return WHY_MEMORY;
	}
	if (gate->noswap) {
		check_swap(gate, why);
	}
	return WHY_LOAD;
}

// ---- processors ----

// Returns whether a list in the form of Cpus_allowed_list, "0-3,6", has the number.
static bool list_has(const char *list, unsigned long number) {
	for (char *end; *list >= '0' && *list <= '9'; list = end + (*end == ',')) {
		unsigned long first = strtoul(list, &end, 10), last = first;
		if (*end == '-') {
			last = strtoul(end + 1, &end, 10);
		}
		if (number >= first && number <= last) {
			return true;
		}
	}
	return false;
}

// ---- the time for which all tasks waited ----

static double full_of(const struct pressure *pressure, const char *own, const char *host) {
	FP_CLEANUP(buf_fini) struct buf of_group = BUF_INIT, of_host = BUF_INIT;
	const char *text = pressure->group ? proc_read_below(pressure->group, own, &of_group) : "";
	text = *text ? text : proc_read_below(pressure->root, host, &of_host);
	// the microseconds in the line "full avg10=0.00 avg60=0.00 avg300=0.00 total=N"; 0 if there is none
	const char *line = strstr(text, "full "), *total = line ? strstr(line, "total=") : NULL;
	return total ? (double)strtoull(total + 6, NULL, 10) : 0;
}

// ---- a sample ----

static struct pressure_totals count(const struct pressure *pressure) {
	struct pressure_totals totals = {
		.memory_us = full_of(pressure, "/memory.pressure", "/proc/pressure/memory"),
		.disk_us = full_of(pressure, "/io.pressure", "/proc/pressure/io"),
	};
	uint64_t used = pressure->group ? proc_number(pressure->group, "/cpu.stat", "usage_usec", 0) : 0;
	if (used == 0 && pressure->accounts) {
		used = proc_number(pressure->accounts, "/cpuacct.usage", NULL, 0) / 1000;
	}
	totals.used_us = (double)used;
	static const char name[] = "Cpus_allowed_list:\t";
	FP_CLEANUP(buf_fini) struct buf stat = BUF_INIT, status = BUF_INIT;
	const char *line = proc_read_below(pressure->root, "/proc/stat", &stat);
	const char *allowed = strstr(proc_read_below(pressure->root, "/proc/self/status", &status), name);
	for (; line && allowed; line = strchr(line, '\n')) { // "cpuN user nice system idle iowait irq softirq steal …"
		line += *line == '\n';
		unsigned long number;
		double t[8];
		if (sscanf(line, "cpu%lu %lf %lf %lf %lf %lf %lf %lf %lf", &number, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 9
		    && line[3] != ' ' && list_has(allowed + sizeof(name) - 1, number)) {
			totals.idle += t[3] + t[4];
			totals.all += t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7];
		}
	}
	return totals;
}

void pressure_open(struct pressure *pressure, const char *root, uint64_t now) {
	*pressure = (struct pressure){
		.root = root,
		.group = cgroup_find_dir(root, /* controller */ NULL),
		.accounts = cgroup_find_dir(root, "cpuacct"),
		.sampled = now,
	};
	pressure->before = count(pressure);
}

void pressure_close(struct pressure *pressure) {
	free(pressure->group);
	free(pressure->accounts);
	*pressure = (struct pressure){.root = NULL};
}

static double share(double part, double all) {
	return all <= 0 || part <= 0 ? 0 : part < all ? part / all : 1;
}

void pressure_observe(struct pressure *pressure, double cpus, uint64_t now, struct pressure_observation *ret_observation) {
	struct pressure_totals totals = count(pressure), *before = &pressure->before;
	double us = (double)(now - pressure->sampled) / 1000, used = totals.used_us - before->used_us;
	*ret_observation = (struct pressure_observation){
		.idle = share(totals.idle - before->idle, totals.all - before->all),
		.memory_full = share(totals.memory_us - before->memory_us, us),
		.disk_full = share(totals.disk_us - before->disk_us, us),
	};
	double left = 1 - share(used, cpus * us);
	if (totals.used_us > 0 && left < ret_observation->idle) {
		ret_observation->idle = left;
	}
	*before = totals;
	pressure->sampled = now;
}
