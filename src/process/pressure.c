// What is left of the machine: how much of the processors is idle, and how long all tasks waited for memory or a disk.
//
// Facts are from proc(5) and from the kernel's Documentation/accounting/psi.rst and admin-guide/cgroup-v2.rst.

#include "process/pressure.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "process/proc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// ---- processors ----

// Whether a list as in Cpus_allowed_list, "0-3,6", has the number.
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

// Adds the lines "cpuN user nice system idle iowait irq softirq steal …" of the processors in the list.
static void add_processors(const char *stat, const char *allowed, struct pressure_totals *totals) {
	for (const char *line = stat; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		unsigned long number;
		double t[8];
		if (sscanf(line, "cpu%lu %lf %lf %lf %lf %lf %lf %lf %lf", &number, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) == 9
		    && line[3] != ' ' && list_has(allowed, number)) {
			totals->idle += t[3] + t[4];
			totals->all += t[0] + t[1] + t[2] + t[3] + t[4] + t[5] + t[6] + t[7];
		}
	}
}

static void count_processors(const char *root, struct pressure_totals *totals) {
	static const char name[] = "Cpus_allowed_list:\t";
	struct buf stat, status;
	const char *lines = proc_read_below(root, "/proc/stat", &stat);
	const char *allowed = strstr(proc_read_below(root, "/proc/self/status", &status), name);
	if (allowed) {
		add_processors(lines, allowed + sizeof(name) - 1, totals);
	}
	buf_fini(&stat);
	buf_fini(&status);
}

static double used_by_cgroup(const struct pressure *pressure) {
	struct buf text = BUF_INIT;
	uint64_t used = 0;
	if (pressure->group && !proc_find_number(proc_read_below(pressure->group, "/cpu.stat", &text), "usage_usec", &used)) {
		used = 0;
	}
	buf_fini(&text);
	if (used == 0 && pressure->accounts) {
		used = strtoull(proc_read_below(pressure->accounts, "/cpuacct.usage", &text), NULL, 10) / 1000;
		buf_fini(&text);
	}
	return (double)used;
}

// ---- waiting ----

// The microseconds in the line "full avg10=0.00 avg60=0.00 avg300=0.00 total=N"; 0 if there is none.
static double find_full(const char *text) {
	const char *line = strstr(text, "full "), *total = line ? strstr(line, "total=") : NULL;
	return total ? (double)strtoull(total + 6, NULL, 10) : 0;
}

static double full_of(const struct pressure *pressure, const char *own, const char *host) {
	struct buf text = BUF_INIT;
	if (!pressure->group || *proc_read_below(pressure->group, own, &text) == '\0') {
		buf_fini(&text);
		proc_read_below(pressure->root, host, &text);
	}
	double full = find_full(buf_str(&text));
	buf_fini(&text);
	return full;
}

// ---- a sample ----

static struct pressure_totals count(const struct pressure *pressure) {
	struct pressure_totals totals = {
		.used_us = used_by_cgroup(pressure),
		.memory_us = full_of(pressure, "/memory.pressure", "/proc/pressure/memory"),
		.disk_us = full_of(pressure, "/io.pressure", "/proc/pressure/io"),
	};
	count_processors(pressure->root, &totals);
	return totals;
}

void pressure_open(struct pressure *pressure, const char *root, uint64_t now) {
	*pressure = (struct pressure){
		.root = root,
		.group = cgroup_find_dir(root, /* v2 */ true, /* controller */ NULL),
		.accounts = cgroup_find_dir(root, /* v2 */ false, "cpuacct"),
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

void pressure_observe(struct pressure *pressure, double quota, uint64_t now, struct pressure_observation *ret_observation) {
	struct pressure_totals totals = count(pressure), *before = &pressure->before;
	double us = (double)(now - pressure->sampled) / 1000, used = totals.used_us - before->used_us;
	*ret_observation = (struct pressure_observation){
		.idle = share(totals.idle - before->idle, totals.all - before->all),
		.memory_full = share(totals.memory_us - before->memory_us, us),
		.disk_full = share(totals.disk_us - before->disk_us, us),
	};
	double left = 1 - share(used, quota * us);
	if (totals.used_us > 0 && left < ret_observation->idle) {
		ret_observation->idle = left;
	}
	*before = totals;
	pressure->sampled = now;
}
