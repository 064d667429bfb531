// The description of a job that a worker runs, as bytes.

#include "remote/payload.h"

#include "base/alloc.h"
#include "base/units.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- writing ----

static void add_bytes(struct buf *buf, const char *name, const char *bytes, size_t n) {
	buf_adds(buf, name);
	buf_addc(buf, ' ');
	buf_add_number(buf, n);
	buf_addc(buf, '\n');
	buf_add(buf, bytes, n);
	buf_addc(buf, '\n');
}

static void add(struct buf *buf, const char *name, const char *bytes) {
	add_bytes(buf, name, bytes, strlen(bytes));
}

// Adds a field with the number; none if the number is 0, because the reader takes a missing field as 0.
static void add_number(struct buf *buf, const char *name, uint64_t number) {
	if (number > 0) {
		char text[24];
		snprintf(text, sizeof(text), "%llu", ull(number));
		add(buf, name, text);
	}
}

static void add_flag(struct buf *buf, const char *name, bool flag) {
	if (flag) {
		add(buf, name, "");
	}
}

// Adds variables to unset: those of the base, from `from` to before `to`, that `env` does not have.
static void add_unset(struct buf *buf, char *const *from, char *const *to, char *const *env) {
	for (; from < to; ++from) {
		size_t len = strcspn(*from, "=");
		if (!env_find(env, *from, len)) {
			add_bytes(buf, "unset", *from, len);
		}
	}
}

// Adds the variables to set and to unset. Strings of the base that are also in `env` have the same order there, so one pass finds them by their
// addresses. This must be fast, as it is done for each job.
static void add_env(struct buf *buf, char *const *env, const struct payload_context *context) {
	char *const *next = context->base, *const *end = next;
	while (*end) {
		++end;
	}
	for (char *const *at = env; *at; ++at) {
		char *const *same = next;
		while (same < end && *same != *at) {
			++same;
		}
		if (same < end) {
			add_unset(buf, next, context->copies_context ? same : next, env);
			next = same + 1;
		} else if (!env_find(context->withheld, *at, strcspn(*at, "="))) {
			add(buf, "set", *at);
		}
	}
	add_unset(buf, next, context->copies_context ? end : next, env);
}

// Appends the umask and the niceness, which the job has only if the options or the manifest set them; and, with `limits`, the limits.
static void add_limits(struct buf *buf, const struct context *job, bool limits) {
	char text[80];
	if (job->umask != (mode_t)-1) {
		snprintf(text, sizeof(text), "%u", (unsigned)job->umask);
		add(buf, "umask", text);
	}
	for (unsigned i = 0; limits && i < job->nlimits; ++i) {
		snprintf(text, sizeof(text), "%u %llu %llu", i, ull((uint64_t)job->limits[i].rlim_cur), ull((uint64_t)job->limits[i].rlim_max));
		add(buf, "limit", text);
	}
	if (job->nice != 0) {
		snprintf(text, sizeof(text), "%d", job->nice);
		add(buf, "nice", text);
	}
}

void payload_write(struct buf *buf, const struct child_config *config, const struct payload_context *context, bool has_input) {
	buf_reserve(buf, 2000); // most descriptions need no more
	add(buf, "path", config->path);
	for (char *const *arg = config->argv; *arg; ++arg) {
		add(buf, "arg", *arg);
	}
	add_env(buf, config->env, context);
	if (context->dir) {
		add(buf, "dir", context->dir);
		add_flag(buf, "makes-dir", context->makes_dir);
	}
	add_limits(buf, config->context, context->copies_context);
	add_number(buf, "timeout", config->timeout);
	add_number(buf, "memory", config->memory);
	add(buf, "label", config->label);
	add_flag(buf, "forks", config->forks);
	add_flag(buf, "cleanup", config->cleanup);
	add_flag(buf, "has-input", has_input);
	add_number(buf, "batch", context->batch);
	add_number(buf, "slots", context->width > 1 ? context->width : 0);
}

// ---- reading ----

enum field { PATH, ARG, SET, UNSET, WORKDIR, MAKES_DIR, UMASK, LIMIT, NICE, TIMEOUT, MEMORY, LABEL, FORKS, CLEANUP, HAS_INPUT, BATCH, SLOTS };
static const char names[] = "path arg set unset dir makes-dir umask limit nice timeout memory label forks cleanup has-input batch slots"; // in this order

static void strings_add(struct payload_strings *strings, char *string) {
	grow_array(&strings->at, &strings->cap, strings->n + 2, sizeof(*strings->at));
	strings->at[strings->n++] = string;
	strings->at[strings->n] = NULL;
}

// Reads a number from 0 to `most`. Returns false for any other text.
static bool read_number(const char *text, uint64_t most, uint64_t *ret_number) {
	return read_digits(&text, NULL, ret_number) && *text == '\0' && *ret_number <= most;
}

static bool read_limit(struct payload *payload, const char *text) {
	unsigned resource;
	unsigned long long soft, hard;
	int end = 0, n = sscanf(text, "%2u %20llu %20llu%n", &resource, &soft, &hard, &end);
	if (n != 3 || text[end] || strspn(text, "0123456789 ") != (size_t)end || resource != payload->nlimits || resource >= RLIM_NLIMITS) {
		return false;
	}
	payload->limits = xrealloc(payload->limits, (size_t)(resource + 1) * sizeof(*payload->limits));
	payload->limits[payload->nlimits++] = (struct rlimit){.rlim_cur = (rlim_t)soft, .rlim_max = (rlim_t)hard};
	return true;
}

// Sets what the field describes. Returns false for a name that is not known, or a value that is not valid.
static bool set_field(struct payload *payload, const char *name, char *value) {
	uint64_t number = 0;
	long nice = 0;
	bool is_right = true;
	switch (word_index(names, name, strlen(name))) {
	case PATH: payload->child.path = value; break;
	case ARG: strings_add(&payload->argv, value); break;
	case SET: strings_add(&payload->set, value); is_right = value[0] != '=' && strchr(value, '='); break;
	case UNSET: strings_add(&payload->unset, value); break;
	case WORKDIR: payload->dir = value; is_right = value[0] != '\0'; break;
	case MAKES_DIR: payload->makes_dir = true; break;
	case UMASK: is_right = read_number(value, 0777, &number); payload->umask = (int)number; break;
	case LIMIT: is_right = read_limit(payload, value); break;
	case NICE: is_right = parse_number(value, -40, 40, &nice) == 0; payload->nice = (int)nice; break;
	case TIMEOUT: is_right = read_number(value, INT64_MAX, &payload->child.timeout); break;
	case MEMORY: is_right = read_number(value, INT64_MAX, &payload->child.memory); break;
	case LABEL: payload->child.label = value; break;
	case FORKS: payload->child.forks = true; break;
	case CLEANUP: payload->child.cleanup = true; break;
	case HAS_INPUT: payload->has_input = true; break;
	case BATCH: is_right = read_number(value, INT64_MAX, &payload->batch); break;
	case SLOTS: is_right = read_number(value, INT_MAX, &payload->width); break;
	default: is_right = false; break;
	}
	return is_right;
}

// Cuts the next field off *at: its name and its value become strings. Returns NULL, or what is wrong.
static const char *cut(char **at, char *end, char **ret_name, char **ret_value) {
	char *line_end = memchr(*at, '\n', (size_t)(end - *at));
	char *blank = line_end ? memchr(*at, ' ', (size_t)(line_end - *at)) : NULL;
	uint64_t size;
	if (!blank) {
		return "a field of the job has no size";
	}
	*line_end = *blank = '\0';
	if (!read_number(blank + 1, (uint64_t)(end - line_end - 1), &size) || line_end + 1 + size >= end || line_end[1 + size] != '\n') {
		return "a field of the job does not have the size that is given for it";
	}
	*ret_name = *at;
	*ret_value = line_end + 1;
	(*ret_value)[size] = '\0';
	*at = *ret_value + size + 1;
	return strlen(*ret_value) == size ? NULL : "a field of the job has a NUL byte";
}

int payload_read(struct payload *ret_payload, const char *bytes, size_t n, const char **ret_why) {
	*ret_payload = (struct payload){.umask = -1, .child.label = "job", .width = 1};
	buf_add(&ret_payload->bytes, bytes, n);
	char *at = ret_payload->bytes.data, *end = at + n;
	*ret_why = NULL;
	while (at < end && !*ret_why) {
		char *name, *value;
		*ret_why = cut(&at, end, &name, &value);
		if (!*ret_why && !set_field(ret_payload, name, value)) {
			*ret_why = "a field of the job is unknown, or has an invalid value";
		}
	}
	if (!*ret_why && (!ret_payload->child.path || !ret_payload->argv.at)) {
		*ret_why = "the job has no program";
	}
	return *ret_why ? -1 : 0;
}

void payload_fini(struct payload *payload) {
	free(payload->argv.at);
	free(payload->set.at);
	free(payload->unset.at);
	free(payload->limits);
	buf_fini(&payload->bytes);
}

char **payload_list(const struct buf *strings) {
	struct payload_strings list = {.at = xcalloc(1, sizeof(*list.at)), .cap = 1};
	for (size_t at = 0; at < strings->len; at += strlen(strings->data + at) + 1) {
		strings_add(&list, strings->data + at);
	}
	return list.at;
}
