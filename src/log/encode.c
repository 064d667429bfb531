// An event as a line of the log: JSON, in the form that fairpar-events(5) describes.
//
// Lines are made from the table log/events.def. One is made for each start and end of a job, so without printf(): room for
// all that has a bound is reserved at once, and bytes are put behind each other.

#include "log/event_log.h"

#include "base/json.h"
#include "log/event_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FIXED_BYTES = 1024 }; // more than all keys, numbers and words of an event

// ---- pieces ----

// A literal; within FIXED_BYTES.
#define PUT(at, literal) (memcpy((at), (literal), sizeof(literal) - 1), (at) + sizeof(literal) - 1)

static char *put_word(char *at, const char *word) {
	size_t len = strlen(word);
	memcpy(at, word, len);
	return at + len;
}

// Two digits, for `value` below 100.
static char *put_pair(char *at, uint64_t value) {
	static const char pairs[] =
		"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
		"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
	memcpy(at, pairs + 2 * value, 2);
	return at + 2;
}

static char *put_digits(char *at, uint64_t value) {
	if (value >= 10000) {
		at = put_pair(put_digits(at, value / 10000), value / 100 % 100);
	} else if (value >= 1000) {
		at = put_pair(at, value / 100);
	} else if (value >= 100) {
		*at++ = (char)('0' + value / 100);
	} else if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	return put_pair(at, value % 100);
}

static FP_INLINE char *put_u64(char *at, uint64_t value) {
	if (value < 10) { // most are: without a call
		*at = (char)('0' + value);
		return at + 1;
	}
	return put_digits(at, value);
}

static char *put_i64(char *at, int64_t value) {
	if (value < 0) {
		*at++ = '-';
	}
	return put_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

// Six digits.
static char *put_millionths(char *at, uint32_t value) {
	at = put_pair(at, value / 10000);
	at = put_pair(at, value / 100 % 100);
	return put_pair(at, value % 100);
}

// Nanoseconds as seconds, cut off at microseconds.
static char *put_seconds(char *at, uint64_t ns) {
	uint64_t us = event_us(ns);
	at = put_u64(at, us / 1000000);
	*at++ = '.';
	return put_millionths(at, (uint32_t)(us % 1000000));
}

static char *put_moment(char *at, uint64_t time, uint64_t base) {
	return put_seconds(at, time > base ? time - base : 0);
}

// With at most six digits behind the point, and none that says nothing.
static char *put_double(char *at, double value) {
	if (!(value > -1e12 && value < 1e12)) {
		return at + snprintf(at, 32, "%.9g", value);
	}
	bool negative = value < 0;
	uint64_t millionths = (uint64_t)((negative ? -value : value) * 1e6 + 0.5);
	if (negative && millionths > 0) {
		*at++ = '-';
	}
	at = put_u64(at, millionths / 1000000);
	if (millionths % 1000000 > 0) {
		*at++ = '.';
		at = put_millionths(at, (uint32_t)(millionths % 1000000));
		while (at[-1] == '0') {
			--at;
		}
	}
	return at;
}

static char *put_date(char *at, uint64_t ns) {
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {.tm_year = 70};
	gmtime_r(&seconds, &tm); // fails only for years that no int holds
	at += strftime(at, 64, "\"%Y-%m-%dT%H:%M:%S", &tm);
	return at + snprintf(at, 16, ".%03uZ\"", (unsigned)(ns / 1000000 % 1000));
}

// ---- strings ----

// The line as it is made. Functions take where its next byte goes, and return where the next one after theirs goes; there
// is room for what has a bound behind it.
struct log_line {
	struct buf *buf;
	const char *end;         // of its memory
	const struct event *event;
	uint64_t base;
};

static char *line_grow(struct log_line *line, char *at, size_t more) {
	line->buf->len = (size_t)(at - line->buf->data);
	at = buf_reserve(line->buf, more + FIXED_BYTES);
	line->end = line->buf->data + line->buf->cap;
	return at;
}

// Makes room for `more` bytes, and for what has a bound behind them.
static char *line_reserve(struct log_line *line, char *at, size_t more) {
	return (size_t)(line->end - at) > more + FIXED_BYTES ? at : line_grow(line, at, more);
}

static char *put_key(char *at, const struct event_field *field) {
	memcpy(at, field->text, FIELD_TEXT_BYTES); // more than the key, but always as many: no call
	return at + field->text_len;
}

// `,"KEY_b64":`
static char *put_exact_key(char *at, const struct event_field *field) {
	at = put_key(at, field);
	return PUT(at - 2, "_b64\":"); // in the place of the quote and the colon
}

static char *put_base64(char *at, const char *text, size_t len) {
	*at++ = '"';
	at = json_put_base64(at, text, len);
	*at++ = '"';
	return at;
}

// The string, and if it is not UTF-8 its exact bytes behind that.
static char *put_string(struct log_line *line, char *at, const struct event_field *field, const char *text, size_t len) {
	struct json_end end = json_put_text(line_reserve(line, at, len * JSON_BYTE_MAX), text, len);
	if (end.exact) {
		return end.at;
	}
	at = put_exact_key(line_reserve(line, end.at, (len + 2) / 3 * 4), field);
	return put_base64(at, text, len);
}

// "BATCH#7"
static char *put_job(struct log_line *line, char *at, const struct event_field *field, const char *batch, uint64_t number) {
	size_t len = strlen(batch);
	char *start = line_reserve(line, at, len * JSON_BYTE_MAX);
	struct json_end end = json_put_text(start, batch, len);
	end.at[-1] = '#'; // in the place of the quote
	const char *digits = end.at;
	at = put_u64(end.at, number);
	if (end.exact) {
		*at++ = '"';
		return at;
	}
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT; // rare: the long way
	buf_adds(&name, batch);
	buf_addc(&name, '#');
	buf_add(&name, digits, (size_t)(at - digits));
	return put_string(line, start, field, name.data, name.len);
}

// Strings: `n` one behind the other in `texts`, or the first `n` of `argv`, if that is not NULL.
struct strings {
	const char *const *argv;
	const char *texts;
	size_t n;
};

// Puts the list; with `exact` those that are not UTF-8 as base64, and null for the others. Returns its end, and whether all
// are UTF-8.
static struct json_end put_elements(struct log_line *line, char *at, const struct strings *strings, bool exact) {
	const char *text = strings->texts;
	bool all = true;
	*at++ = '[';
	for (size_t i = 0; i < strings->n; ++i) {
		text = strings->argv ? strings->argv[i] : text;
		size_t len = strlen(text);
		at = line_reserve(line, at, len * JSON_BYTE_MAX);
		if (i > 0) {
			*at++ = ',';
		}
		struct json_end end = json_put_text(at, text, len);
		at = !exact ? end.at : end.exact ? PUT(at, "null") : put_base64(at, text, len);
		all = all && end.exact;
		text += len + 1;
	}
	*at++ = ']';
	return (struct json_end){at, all};
}

static char *put_strings(struct log_line *line, char *at, const struct event_field *field, const struct strings *strings) {
	struct json_end end = put_elements(line, at, strings, /* exact */ false);
	return end.exact ? end.at : put_elements(line, put_exact_key(end.at, field), strings, /* exact */ true).at;
}

static char *put_argv(struct log_line *line, char *at, const struct event_field *field, const char *const *argv) {
	struct strings strings = {.argv = argv};
	while (argv && argv[strings.n]) {
		++strings.n;
	}
	return put_strings(line, at, field, &strings);
}

// ---- the table ----

// The integer, enum, bool or pointer of that size. Of a pointer it matters only whether it is NULL.
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

// Null for what a signal ended, and for what never ran because the run was cut short.
static char *put_exit(char *at, const struct result *result) {
	bool never = result->start == 0 && (result->outcome == OUTCOME_CANCELLED || result->outcome == OUTCOME_SKIPPED);
	return result->term_signal || never ? PUT(at, "null") : put_u64(at, (uint64_t)result->exit_code);
}

static char *put_quoted(char *at, const char *word) {
	*at++ = '"';
	at = put_word(at, word);
	*at++ = '"';
	return at;
}

// Puts the value of the field at `member`, which is `number` if it is one.
static char *put_value(struct log_line *line, char *at, const struct event_field *field, const void *member,
                                        uint64_t number) {
	const void *with = (const char *)line->event + field->with;
	const char *const *text = member;
	switch ((enum field_type)field->type) {
	case FIELD_NUMBER:
	case FIELD_SIGNAL: return put_u64(at, number);
	case FIELD_INTEGER: return put_i64(at, *(const int32_t *)member);
	case FIELD_KILOBYTES: return put_u64(at, number * 1024);
	case FIELD_AND_ONE: return put_u64(at, number + 1);
	case FIELD_EXIT: return put_exit(at, &line->event->u.job_end.result);
	case FIELD_FLAG: return PUT(at, "true");
	case FIELD_WORD: return put_quoted(at, field->words[number]);
	case FIELD_OUTCOME: return put_quoted(at, outcome_name((enum outcome)number));
	case FIELD_SECONDS: return put_seconds(at, number);
	case FIELD_TIMEVAL: return put_seconds(at, timeval_ns(*(const struct timeval *)member));
	case FIELD_MOMENT: return put_moment(at, number, line->base);
	case FIELD_SPAN: return put_moment(at, number, *(const uint64_t *)with);
	case FIELD_DOUBLE: return put_double(at, *(const double *)member);
	case FIELD_DATE: return put_date(at, number);
	case FIELD_JOB: return put_job(line, at, field, *(const char *const *)with, number);
	case FIELD_TEXT: return put_string(line, at, field, *text, strlen(*text));
	case FIELD_BYTES: return put_string(line, at, field, *text, *(const size_t *)with);
	case FIELD_STRINGS: return put_strings(line, at, field, &(struct strings){.texts = *text, .n = *(const uint32_t *)with});
	case FIELD_ARGV: return put_argv(line, at, field, *(const char *const *const *)member);
	}
	return at;
}

static char *put_field(struct log_line *line, char *at, const struct event_field *field) {
	const char *member = (const char *)line->event + field->at;
	uint64_t number = load(member, field->size);
	if (field->written >= FIELD_OR_NULL) {
		bool is_otherwise = field->written == FIELD_IF_WAITED ? line->event->u.job_start.queued < EVENT_WORTH_A_REASON
		                                                      : number == (uint64_t)field->otherwise;
		if (is_otherwise && field->written == FIELD_OR_NULL) {
			at = put_key(at, field);
			return PUT(at, "null");
		}
		if (is_otherwise) {
			return at;
		}
	}
	return put_value(line, put_key(at, field), field, member, number);
}

void event_encode(struct buf *buf, const struct event *event, uint64_t base) {
	struct log_line line = {.buf = buf, .event = event, .base = base};
	const struct event_layout *layout = &event_layouts[event->kind];
	char *at = buf_reserve(buf, FIXED_BYTES);
	line.end = buf->data + buf->cap;
	at = PUT(at, "{\"v\":1,\"ev\":\"");
	at = put_word(at, layout->name);
	at = PUT(at, "\",\"t\":");
	at = put_moment(at, event->at, base);
	for (size_t i = 0; i < layout->n; ++i) {
		at = put_field(&line, at, &layout->fields[i]);
	}
	at = PUT(at, "}\n");
	*at = '\0';
	buf->len = (size_t)(at - buf->data);
}
