// An event as a line of the log: JSON, in the form that fairpar-events(5) describes.
//
// Lines are made from the table log/events.def. Each start or end of a job makes a line, so integers are written without printf(), which is slower.

#include "log/event_log.h"

#include "base/json.h"
#include "log/event_table.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

// ---- numbers and times ----

// Adds nanoseconds as seconds, cut off at microseconds.
static void add_seconds(struct buf *buf, uint64_t ns) {
	char digits[] = ".000000";
	uint64_t us = event_us(ns);
	buf_add_number(buf, us / 1000000);
	for (int i = 6; i > 0; --i, us /= 10) {
		digits[i] = (char)('0' + us % 10);
	}
	buf_adds(buf, digits);
}

static void add_moment(struct buf *buf, uint64_t time, uint64_t base) {
	add_seconds(buf, time > base ? time - base : 0);
}

// Adds the number with at most six digits behind the point.
static void add_double(struct buf *buf, double value) {
	bool is_small = value > -1e9 && value < 1e9;
	buf_printf(buf, "%.15g", is_small ? (double)(int64_t)(value * 1e6 + (value < 0 ? -0.5 : 0.5)) / 1e6 : value);
}

static void add_date(struct buf *buf, uint64_t ns) {
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {.tm_year = 70};
	char text[64];
	gmtime_r(&seconds, &tm); // fails only for years that no int holds
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	buf_printf(buf, "\"%s.%03uZ\"", text, (unsigned)(ns / 1000000 % 1000));
}

// ---- strings ----

// Adds a job as "BATCH#7".
static void add_job(struct buf *buf, const struct event_field *field, const char *batch, uint64_t number) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	buf_adds(&name, batch);
	buf_addc(&name, '#');
	buf_add_number(&name, number);
	json_add_value(buf, field->key, name.data, name.len);
}

// Adds a list of the `n` strings as text. With `exact` adds a list with base64 for each string that is not UTF-8, and null for each other
// string. Returns whether all strings are UTF-8.
static bool add_elements(struct buf *buf, const char *text, uint32_t n, bool exact) {
	bool all = true;
	buf_addc(buf, '[');
	for (uint32_t i = 0; i < n; ++i) {
		buf_adds(buf, i > 0 ? "," : "");
		size_t len = strlen(text), before = buf->len;
		bool is_exact = json_add_text(buf, text, len);
		all = all && is_exact;
		if (exact) {
			buf->len = before;
			is_exact ? buf_adds(buf, "null") : json_add_base64(buf, text, len);
		}
		text += len + 1;
	}
	buf_addc(buf, ']');
	return all;
}

static void add_strings(struct buf *buf, const struct event_field *field, const char *texts, uint32_t n) {
	if (!add_elements(buf, texts, n, /* exact */ false)) {
		buf_printf(buf, ",\"%s_b64\":", field->key);
		add_elements(buf, texts, n, /* exact */ true);
	}
}

// ---- values written by the table log/events.def ----

// Reads the integer, enum, bool or pointer of that size. Of a pointer it matters only whether it is NULL.
static uint64_t load(const void *member, size_t size) {
	uint64_t number = 0;
	uint32_t half;
	if (size == sizeof(number)) {
		memcpy(&number, member, sizeof(number));
	} else if (size == sizeof(half)) {
		memcpy(&half, member, sizeof(half));
		number = half;
	} else if (size == sizeof(bool)) {
		number = *(const bool *)member;
	}
	return number;
}

// Adds null if a signal ended the job, or if the job never ran because the run was cut short; else the job's exit status.
static void add_exit(struct buf *buf, const struct result *result) {
	bool never = result->start == 0 && (result->outcome == OUTCOME_CANCELLED || result->outcome == OUTCOME_SKIPPED);
	if (result->term_signal || never) {
		buf_adds(buf, "null");
	} else {
		buf_add_number(buf, (uint64_t)result->exit_code);
	}
}

static void add_name(struct buf *buf, const char *name) {
	buf_addc(buf, '"');
	buf_adds(buf, name);
	buf_addc(buf, '"');
}

// Adds the value that the field has in the event; `number` is this value if it is a number. Times count from `base`.
static void add_value(struct buf *buf, const struct event *event, const struct event_field *field, uint64_t number, uint64_t base) {
	const void *member = (const char *)event + field->at, *with = (const char *)event + field->with;
	const char *const *text = member;
	switch ((enum field_type)field->type) {
	case FIELD_NUMBER: buf_add_number(buf, number); break;
	case FIELD_INTEGER: buf_printf(buf, "%d", *(const int32_t *)member); break;
	case FIELD_EXIT: add_exit(buf, &event->u.job_end.result); break;
	case FIELD_FLAG: buf_adds(buf, "true"); break;
	case FIELD_NAME: add_name(buf, field->names[number]); break;
	case FIELD_SECONDS: add_seconds(buf, number); break;
	case FIELD_MOMENT: add_moment(buf, number, base); break;
	case FIELD_SPAN: add_moment(buf, number, *(const uint64_t *)with); break;
	case FIELD_DOUBLE: add_double(buf, *(const double *)member); break;
	case FIELD_DATE: add_date(buf, number); break;
	case FIELD_JOB: add_job(buf, field, *(const char *const *)with, number); break;
	case FIELD_TEXT: json_add_value(buf, field->key, *text, strlen(*text)); break;
	case FIELD_BYTES: json_add_value(buf, field->key, *text, *(const size_t *)with); break;
	case FIELD_STRINGS: add_strings(buf, field, *text, *(const uint32_t *)with); break;
	}
}

static void add_field(struct buf *buf, const struct event *event, const struct event_field *field, uint64_t base) {
	uint64_t number = load((const char *)event + field->at, field->size);
	bool is_otherwise = field->written == FIELD_IF_WAITED ? event->u.job_start.queued < EVENT_WORTH_A_REASON
		: field->written >= FIELD_OR_NULL && number == (uint64_t)field->otherwise;
	if (is_otherwise && field->written != FIELD_OR_NULL) {
		return;
	}
	buf_adds(buf, field->text);
	if (is_otherwise) {
		buf_adds(buf, "null");
	} else {
		add_value(buf, event, field, number, base);
	}
}

void event_encode(struct buf *buf, const struct event *event, uint64_t base) {
	const struct event_layout *layout = &event_layouts[event->kind];
	buf_adds(buf, "{\"v\":1,\"ev\":");
	add_name(buf, layout->name);
	buf_adds(buf, ",\"t\":");
	add_moment(buf, event->at, base);
	for (size_t i = 0; i < layout->n; ++i) {
		add_field(buf, event, &layout->fields[i], base);
	}
	buf_adds(buf, "}\n");
}
