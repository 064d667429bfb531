// What fairpar needs of Slurm, as pure functions over its texts.

#include "remote/slurm.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CPUS = 1 << 16, MOST_NODES = 1 << 16 };

// ---- nodes ----

void slurm_nodes_fini(struct slurm_nodes *nodes) {
	for (size_t i = 0; i < nodes->n; ++i) {
		free(nodes->nodes[i].name);
	}
	free(nodes->nodes);
	*nodes = (struct slurm_nodes)SLURM_NODES_INIT;
}

bool slurm_is_node(const char *name) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	return *name && *name != '-' && !name[strspn(name, plain)];
}

// Reads a number below 10^9, and moves *text behind the number. Returns false if the text begins with no such number.
static bool read_number(const char **text, unsigned *ret_value) {
	uint64_t number;
	bool is_good = read_digits(text, NULL, &number) && number < 1000000000;
	*ret_value = is_good ? (unsigned)number : 0;
	return is_good;
}

// Reads a number from 1 to `most`. Returns 0 if there is none.
static unsigned read_count(const char **text, unsigned most) {
	unsigned value;
	return read_number(text, &value) && value <= most ? value : 0;
}

// Reads "N" or "N(xTIMES)" and the comma behind it.
static bool read_cpus(const char **text, unsigned *ret_cpus, unsigned *ret_times) {
	*ret_times = 1;
	if (!(*ret_cpus = read_count(text, MOST_CPUS))) {
		return false;
	}
	if (strncmp(*text, "(x", 2) == 0) {
		*text += 2;
		if (!(*ret_times = read_count(text, MOST_NODES)) || *(*text)++ != ')') {
			return false;
		}
	}
	if (**text == ',') {
		++*text;
		return **text != '\0';
	}
	return **text == '\0';
}

// A list of nodes that is being read.
struct slurm_reader {
	struct slurm_nodes *nodes;
	size_t cap;
	struct buf name;           // name of the present node, as far as it was read
};

static bool add_name(struct slurm_reader *reader) {
	struct slurm_nodes *nodes = reader->nodes;
	const char *name = buf_str(&reader->name);
	if (nodes->n == MOST_NODES || !slurm_is_node(name)) {
		return false;
	}
	*NEW_ELEMENT(nodes->nodes, nodes->n, reader->cap) = (struct slurm_node){.name = xstrdup(name)};
	return true;
}

// Reads a name, or its end, from `rest` up to a comma or the end of the list, and adds each node of that name; reader->name is the name's beginning.
// Calls itself for each number in brackets. Returns where the name ends, or NULL if it is not valid.
static const char *expand(struct slurm_reader *reader, const char *rest) {
	size_t len = reader->name.len, plain = strcspn(rest, "[,");
	buf_add(&reader->name, rest, plain);
	rest += plain;
	const char *end = *rest == '[' || add_name(reader) ? rest : NULL, *close = *rest == '[' ? strchr(rest, ']') : rest;
	bool is_good = end && close;
	while (is_good && rest < close) {
		const char *stop = ++rest;
		unsigned first, last;
		is_good = read_number(&stop, &first);
		int width = (int)(stop - rest);
		last = first;
		if (is_good && *stop == '-') {
			++stop;
			is_good = read_number(&stop, &last);
		}
		is_good = is_good && (*stop == ',' || stop == close) && first <= last && last - first < MOST_NODES;
		size_t before = reader->name.len;
		for (unsigned n = first; is_good && n <= last; ++n) {
			buf_printf(&reader->name, "%0*u", width, n);
			end = expand(reader, close + 1);
			is_good = end;
			reader->name.len = before;
		}
		rest = stop;
	}
	reader->name.len = len;
	return is_good ? end : NULL;
}

static bool read_list(struct slurm_nodes *nodes, const char *list) {
	struct slurm_reader reader = {.nodes = nodes, .name = BUF_INIT};
	const char *end = expand(&reader, list);
	while (end && *end) {
		end = expand(&reader, end + 1);
	}
	buf_fini(&reader.name);
	return end;
}

int slurm_nodes_read(struct slurm_nodes *nodes, const char *list, const char *cpus, char **ret_error) {
	const char *rest = cpus;
	unsigned each = 0, times = 0;
	bool is_short = false;
	if (!read_list(nodes, list)) {
		return error_text(ret_error, "$SLURM_JOB_NODELIST cannot be read as a list of nodes: '%s'", text_shows(list));
	}
	for (size_t i = 0; i < nodes->n; ++i) {
		if (times == 0 && *rest && !read_cpus(&rest, &each, &times)) {
			return error_text(ret_error, "$SLURM_JOB_CPUS_PER_NODE is not a list of numbers of CPUs: '%s'", text_shows(cpus));
		}
		is_short = is_short || times == 0;
		times -= times > 0;
		nodes->nodes[i].cpus = each;
	}
	if (is_short || times > 0 || *rest) {
		return error_text(ret_error, "$SLURM_JOB_CPUS_PER_NODE, '%s', is for %s nodes than the %zu of $SLURM_JOB_NODELIST", text_shows(cpus),
		                  is_short ? "fewer" : "more", nodes->n);
	}
	return 0;
}

// ---- time ----

int slurm_seconds(const char *text, int64_t *ret_seconds) {
	*ret_seconds = SLURM_UNLIMITED;
	if (word_is_in("UNLIMITED NOT_SET INVALID Partition_Limit", text, strlen(text))) {
		return 0;
	}
	size_t n = 0;
	int64_t seconds = 0;
	bool has_days = false, goes_on = true;
	while (goes_on) {
		unsigned part;
		if (n == 4 || !read_number(&text, &part)) {
			return -1;
		}
		seconds = seconds * (has_days && n == 1 ? 24 : 60) + part;
		++n;
		has_days = has_days || *text == '-';
		goes_on = *text == ':' || (*text == '-' && n == 1);
		text += goes_on;
	}
	if (*text || n < 2 || (has_days ? n != 4 : n == 4)) {
		return -1;
	}
	*ret_seconds = seconds;
	return 0;
}

// ---- command lines ----

// -Q: srun prints only errors. --export=ALL: the worker gets all variables, even if $SLURM_EXPORT_ENV or $SBATCH_EXPORT name only some.
static void add_srun(struct buf *text, unsigned cpus) {
	buf_printf(text, "srun -Q -N1 -n1 --ntasks-per-node=1 -c%u --export=ALL", cpus);
}

// The worker gets as --worker=SECONDS how long the job of Slurm may still run. Slurm 23.02 and later say when it ends in $SLURM_JOB_END_TIME;
// if that is missing or 0, squeue is asked once. A job past its end gets one second, as 0 is no valid time.
static void add_timed_worker(struct buf *text) {
	buf_adds(text, " sh -c 'if [ \"${SLURM_JOB_END_TIME:-0}\" -gt 0 ]; then "
	               "left=$((SLURM_JOB_END_TIME - $(date +%s))); [ $left -gt 0 ] || left=1; "
	               "else left=$(squeue -h -j \"$SLURM_JOB_ID\" -o %L 2>/dev/null); fi; "
	               "exec \"$@\" --worker=\"${left:-UNLIMITED}\"' sh {}");
}

// Without --overlap, a job that calls srun itself, and every other step, would wait until the worker has ended. With --mem=0 the worker's step
// leaves all memory of the allocation to these other steps.
void slurm_add_step(struct buf *text, const struct slurm_node *node) {
	add_srun(text, node->cpus);
	buf_printf(text, " -w %s --overlap --mem=0 --kill-on-bad-exit=0", node->name);
	add_timed_worker(text);
}

void slurm_add_pilot(struct buf *text, const char *name, unsigned cpus, const char *options) {
	add_srun(text, cpus);
	buf_printf(text, " --job-name=%s%s%s", name, *options ? " " : "", options);
	add_timed_worker(text);
}

// ---- options of pilots ----

unsigned slurm_cpus(const char *options) {
	static const char *const names[] = {"--cpus-per-task", "-c"};
	unsigned cpus = 0;
	for (const char *at = options; *at;) {
		at += strspn(at, " \t\n");
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i) {
			size_t len = strlen(names[i]);
			if (strncmp(at, names[i], len) == 0) {
				const char *value = at + len + strspn(at + len, " \t=");
				unsigned number = read_count(&value, MOST_CPUS);
				cpus = number > 0 ? number : cpus; // the last one counts
				break;
			}
		}
		at += strcspn(at, " \t\n");
	}
	return cpus;
}

// ---- the name of a run's pilots ----

static const char prefix[] = "fairpar-";

void slurm_run_set_host(struct slurm_run *run, const char *host) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";
	size_t n = 0;
	for (; host[n] && n + 1 < sizeof(run->host); ++n) {
		run->host[n] = strchr(plain, host[n]) ? host[n] : '_';
	}
	run->host[n] = '\0';
}

void slurm_run_add_name(struct buf *text, const struct slurm_run *run) {
	buf_printf(text, "%s%s-%" PRIu64 "-%" PRIu64 "-%08" PRIx32, prefix, run->host, run->pid, run->start, run->mark);
}

int slurm_run_read(struct slurm_run *run, const char *name) {
	int end = 0;
	*run = (struct slurm_run){.mark = 0};
	if (strncmp(name, prefix, strlen(prefix)) != 0) {
		return -1;
	}
	name += strlen(prefix);
	bool is_name = sscanf(name, "%63[^-]-%19" SCNu64 "-%19" SCNu64 "-%8" SCNx32 "%n", run->host, &run->pid, &run->start, &run->mark, &end) == 4;
	return is_name && end > 0 && !name[end] ? 0 : -1;
}

// ---- what Slurm says ----

bool slurm_is_impossible(const char *reason) {
	static const char reasons[] =
		"PartitionTimeLimit PartitionNodeLimit PartitionConfig BadConstraints InvalidAccount InvalidQOS AccountNotAllowed "
		"QOSNotAllowed QOSMaxWallDurationPerJobLimit AssocMaxWallDurationPerJobLimit QOSMaxCpuPerJobLimit AssocMaxCpuPerJobLimit "
		"QOSMaxMemoryPerJob AssocMaxMemPerJob DependencyNeverSatisfied";
	return word_is_in(reasons, reason, strlen(reason));
}

bool slurm_is_over(const char *said) {
	return strstr(said, "has expired") || strstr(said, "nvalid job id") || strstr(said, "xpired or invalid job") ||
		strstr(said, "already completing or completed");
}

bool slurm_is_transient(const char *said) {
	static const char *const parts[] = {
		"Unable to contact slurm controller", "Socket timed out", "temporarily unable", "Zero Bytes were transmitted", "Connection refused",
		"not responding", "temporarily unavailable", "Communication connection failure", "Node failure", "backup mode", "Too many",
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); ++i) {
		if (strstr(said, parts[i])) {
			return true;
		}
	}
	return false;
}
