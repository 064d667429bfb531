// An event as a line of the log: JSON, in the form that fairpar-events(5) describes.
//
// It is made for each start and end of a job, so without printf(): room for all that has a bound is reserved at once, and
// bytes are put behind each other.

#include "log/encode.h"

#include "base/json.h"

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

static char *put_u64(char *at, uint64_t value) {
	if (value < 10) { // most are
		*at = (char)('0' + value);
		return at + 1;
	}
	if (value < 100) {
		return put_pair(at, value);
	}
	at = put_u64(at, value / 100);
	return put_pair(at, value % 100);
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

static char *put_timeval(char *at, struct timeval time) {
	at = put_u64(at, (uint64_t)time.tv_sec);
	*at++ = '.';
	return put_millionths(at, (uint32_t)time.tv_usec);
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

// ---- strings ----

// Puts the bytes between quotes. Returns whether they are UTF-8; what is not has become U+FFFD. Up to six bytes for one.
static bool put_string(char **at, const char *text, size_t len) {
	static const char hex[] = "0123456789abcdef";
	char *to = *at;
	bool exact = true;
	*to++ = '"';
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)text[i];
		if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\') {
			*to++ = (char)c;
			++i;
		} else if (c == '"' || c == '\\') {
			*to++ = '\\';
			*to++ = (char)c;
			++i;
		} else if (c == '\n' || c == '\t') {
			*to++ = '\\';
			*to++ = c == '\n' ? 'n' : 't';
			++i;
		} else if (c < 0x80) {
			to = PUT(to, "\\u00");
			*to++ = hex[c >> 4];
			*to++ = hex[c & 15];
			++i;
		} else {
			size_t n = utf8_length(text + i, len - i);
			memcpy(to, n > 0 ? text + i : "\xEF\xBF\xBD", n > 0 ? n : 3);
			to += n > 0 ? n : 3;
			exact = exact && n > 0;
			i += n > 0 ? n : 1;
		}
	}
	*to++ = '"';
	*at = to;
	return exact;
}

// The line as it is made: `at` is where the next byte goes, with at least FIXED_BYTES - `used` behind it.
struct pen {
	struct buf *buf;
	char *at;
};

static void pen_room(struct pen *pen, size_t more) {
	pen->buf->len = (size_t)(pen->at - pen->buf->data);
	pen->at = buf_reserve(pen->buf, more + FIXED_BYTES);
}

// `,"KEY":"TEXT"`, and `,"KEY_b64":"…"` if that is not all of it. `key` comes with its quotes, comma and colon.
static void pen_string(struct pen *pen, const char *key, const char *text, size_t len) {
	pen_room(pen, len * 6);
	pen->at = put_word(pen->at, key);
	if (!put_string(&pen->at, text, len)) {
		pen_room(pen, (len + 2) / 3 * 4);
		size_t name = strlen(key) - 2; // without the quote and the colon
		memcpy(pen->at, key, name);
		pen->at = PUT(pen->at + name, "_b64\":\"");
		pen->at = json_put_base64(pen->at, text, len);
		*pen->at++ = '"';
	}
}

static void pen_text(struct pen *pen, const char *key, const char *text) {
	pen_string(pen, key, text, strlen(text));
}

static void pen_text_or_null(struct pen *pen, const char *key, const char *text) {
	if (text) {
		pen_text(pen, key, text);
	} else {
		pen->at = put_word(pen->at, key);
		pen->at = PUT(pen->at, "null");
	}
}

// A list of `n` strings, one after the other, and if one of them is no UTF-8 a second list with the exact bytes of those.
static void pen_list(struct pen *pen, const char *key, const char *texts, size_t n) {
	const char *at = texts;
	bool exact = true;
	pen->at = put_word(pen->at, key);
	*pen->at++ = '[';
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(at);
		pen_room(pen, len * 6);
		if (i > 0) {
			*pen->at++ = ',';
		}
		exact &= put_string(&pen->at, at, len);
		at += len + 1;
	}
	*pen->at++ = ']';
	if (exact) {
		return;
	}
	size_t name = strlen(key) - 2;
	memcpy(pen->at, key, name);
	pen->at = PUT(pen->at + name, "_b64\":[");
	at = texts;
	for (size_t i = 0; i < n; ++i) {
		size_t len = strlen(at);
		pen_room(pen, len * 6);
		if (i > 0) {
			*pen->at++ = ',';
		}
		char *string = pen->at;
		if (put_string(&string, at, len)) {
			pen->at = PUT(pen->at, "null");
		} else {
			*pen->at++ = '"';
			pen->at = json_put_base64(pen->at, at, len);
			*pen->at++ = '"';
		}
		at += len + 1;
	}
	*pen->at++ = ']';
}

#define PEN(pen, literal) ((pen)->at = PUT((pen)->at, literal))

static void pen_u64(struct pen *pen, uint64_t value) {
	pen->at = put_u64(pen->at, value);
}

// ---- words ----

static const char *const role_keys[] = {
	[ROLE_JOB] = "", [ROLE_ON_FAILURE] = ",\"role\":\"on_failure\"", [ROLE_FINALLY] = ",\"role\":\"finally\"",
	[ROLE_LISTING] = ",\"role\":\"listing\"",
};
static const char *const source_names[] = {
	[FROM_OWN] = "own", [FROM_STOLEN] = "stolen", [FROM_QUEUE] = "queue", [FROM_LENT] = "lent", [FROM_LONG] = "long",
};
static const char *const why_names[] = {
	[WHY_TURN] = "turn", [WHY_LIMIT] = "limit", [WHY_LOAD] = "load", [WHY_MEMORY] = "memory", [WHY_DELAY] = "delay",
	[WHY_NEEDS] = "needs", [WHY_RETRY] = "retry", [WHY_RESERVE] = "reserve", [WHY_SUSPEND] = "suspend",
};
static const uint64_t WORTH_A_REASON = 1000000; // nanoseconds queued: as in publish.c

// ---- the run ----

static void add_argv(struct pen *pen, const char *const *argv) {
	struct buf texts = BUF_INIT;
	size_t n = 0;
	for (; argv && argv[n]; ++n) {
		buf_add(&texts, argv[n], strlen(argv[n]) + 1);
	}
	pen_list(pen, ",\"argv\":", buf_str(&texts), n);
	buf_fini(&texts);
}

static void add_run_start(struct pen *pen, const struct event_run_start *run) {
	time_t seconds = (time_t)(run->time_ns / 1000000000);
	struct tm tm = {.tm_year = 70};
	gmtime_r(&seconds, &tm); // fails only for years that no int holds
	size_t n = strftime(pen->at, 64, ",\"time\":\"%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(pen->at + n, 16, ".%03uZ\"", (unsigned)(run->time_ns / 1000000 % 1000));
	pen->at += n;
	pen_text(pen, ",\"run\":", run->run);
	pen_text(pen, ",\"version\":", run->version);
	pen_text(pen, ",\"host\":", run->host);
	PEN(pen, ",\"pid\":");
	pen_u64(pen, (uint64_t)run->pid);
	PEN(pen, ",\"slots\":");
	pen_u64(pen, run->slots);
	pen->at = put_word(pen->at, run->fair_time ? ",\"fair\":\"time\"" : ",\"fair\":\"turns\"");
	add_argv(pen, run->argv);
	pen_text(pen, ",\"cwd\":", run->cwd);
	pen_text_or_null(pen, ",\"manifest\":", run->manifest);
	pen_text_or_null(pen, ",\"name\":", run->name);
	pen_text_or_null(pen, ",\"joblog\":", run->joblog);
	pen_text_or_null(pen, ",\"parent\":", run->parent);
}

static void add_slots(struct pen *pen, const struct event_slots *slots) {
	PEN(pen, ",\"slots\":");
	pen_u64(pen, slots->slots);
	pen_text_or_null(pen, ",\"why\":", slots->why);
}

// Their counts in the order of struct event_batch_end.
static void add_counts(struct pen *pen, uint64_t ok, uint64_t failed, uint64_t cancelled, uint64_t skipped) {
	PEN(pen, ",\"ok\":");
	pen_u64(pen, ok);
	PEN(pen, ",\"failed\":");
	pen_u64(pen, failed);
	PEN(pen, ",\"cancelled\":");
	pen_u64(pen, cancelled);
	PEN(pen, ",\"skipped\":");
	pen_u64(pen, skipped);
}

static void add_signal(struct pen *pen, int signal) {
	PEN(pen, ",\"signal\":");
	if (signal) {
		pen_u64(pen, (uint64_t)signal);
	} else {
		PEN(pen, "null");
	}
}

static void add_run_end(struct pen *pen, const struct event *event, uint64_t base) {
	const struct event_run_end *end = &event->u.run_end;
	add_counts(pen, end->ok, end->failed, end->cancelled, end->skipped);
	PEN(pen, ",\"allowed\":");
	pen_u64(pen, end->allowed);
	PEN(pen, ",\"current\":");
	pen_u64(pen, end->current);
	PEN(pen, ",\"resumed\":");
	pen_u64(pen, end->resumed);
	PEN(pen, ",\"wall\":");
	pen->at = put_moment(pen->at, event->at, base);
	PEN(pen, ",\"slot_time\":");
	pen->at = put_seconds(pen->at, end->slot_time);
	PEN(pen, ",\"exit\":");
	pen_u64(pen, (uint64_t)end->exit_status);
	add_signal(pen, end->signal);
}

// ---- batches ----

static void add_batch_start(struct pen *pen, const struct event_batch *batch) {
	pen_text(pen, ",\"batch\":", batch->batch);
	PEN(pen, ",\"weight\":");
	pen_u64(pen, batch->weight);
	PEN(pen, ",\"priority\":");
	pen->at = put_i64(pen->at, batch->priority);
	PEN(pen, ",\"max_parallel\":");
	if (batch->max_parallel > 0) {
		pen_u64(pen, batch->max_parallel);
	} else {
		PEN(pen, "null");
	}
	if (batch->long_running) {
		PEN(pen, ",\"long_running\":true");
	}
	PEN(pen, ",\"jobs\":");
	if (batch->jobs >= 0) {
		pen_u64(pen, (uint64_t)batch->jobs);
	} else {
		PEN(pen, "null");
	}
}

static void add_batch_end(struct pen *pen, const struct event_batch_end *end) {
	pen_text(pen, ",\"batch\":", end->batch);
	add_counts(pen, end->ok, end->failed, end->cancelled, end->skipped);
	PEN(pen, ",\"longest_wait\":");
	pen->at = put_seconds(pen->at, end->longest_wait);
}

static void add_lost(struct pen *pen, const struct event_lost *lost) {
	pen_text(pen, ",\"batch\":", lost->batch);
	PEN(pen, ",\"status\":\"");
	pen->at = put_word(pen->at, outcome_name(lost->outcome));
	PEN(pen, "\",\"jobs\":");
	pen_u64(pen, lost->jobs);
	pen_text_or_null(pen, ",\"why\":", lost->why);
}

// "BATCH#7"
static void add_name(struct pen *pen, const char *batch, uint64_t number) {
	struct buf name = BUF_INIT;
	char digits[24];
	char *end = put_u64(digits, number);
	buf_adds(&name, batch);
	buf_addc(&name, '#');
	buf_add(&name, digits, (size_t)(end - digits));
	pen_string(pen, ",\"job\":", name.data, name.len);
	buf_fini(&name);
}

static void add_wait(struct pen *pen, const struct event *event, uint64_t base) {
	const struct event_wait *wait = &event->u.wait;
	pen_text_or_null(pen, ",\"batch\":", wait->batch);
	if (wait->number > 0 && wait->batch) {
		add_name(pen, wait->batch, wait->number);
	} else {
		PEN(pen, ",\"job\":null");
	}
	PEN(pen, ",\"why\":\"");
	pen->at = put_word(pen->at, why_names[wait->why]);
	*pen->at++ = '"';
	pen_text_or_null(pen, ",\"for\":", wait->what);
	if (event->kind == EVENT_WAIT_END) {
		PEN(pen, ",\"since\":");
		pen->at = put_moment(pen->at, wait->since, base);
		PEN(pen, ",\"wall\":");
		pen->at = put_moment(pen->at, event->at, wait->since);
	}
}

// ---- attempts ----

// The name of the job and of its batch: the same bytes but for the number.
static void add_names(struct pen *pen, const struct event_job *id) {
	size_t len = strlen(id->batch);
	pen_room(pen, len * 12);
	PEN(pen, ",\"job\":");
	char *name = pen->at;
	bool exact = put_string(&pen->at, id->batch, len);
	size_t quoted = (size_t)(pen->at - name) - 1; // without the quote behind it
	--pen->at;
	*pen->at++ = '#';
	pen->at = put_u64(pen->at, id->number);
	*pen->at++ = '"';
	if (!exact) { // rare: the long way
		pen->at = name - sizeof(",\"job\":") + 1;
		add_name(pen, id->batch, id->number);
		pen_text(pen, ",\"batch\":", id->batch);
		return;
	}
	PEN(pen, ",\"batch\":");
	memcpy(pen->at, name, quoted);
	pen->at += quoted;
	*pen->at++ = '"';
}

static void add_id(struct pen *pen, const struct event_job *id) {
	add_names(pen, id);
	PEN(pen, ",\"seq\":");
	pen_u64(pen, id->seq);
	pen->at = put_word(pen->at, role_keys[id->role]);
	if (id->step > 0) {
		PEN(pen, ",\"step\":");
		pen_u64(pen, id->step);
	}
	PEN(pen, ",\"attempt\":");
	pen_u64(pen, id->attempt);
	PEN(pen, ",\"slot\":");
	pen_u64(pen, id->slot);
}

static void add_job_start(struct pen *pen, const struct event_job_start *start) {
	add_id(pen, &start->id);
	PEN(pen, ",\"nslots\":");
	pen_u64(pen, start->nslots);
	PEN(pen, ",\"pid\":");
	if (start->pid > 0) {
		pen_u64(pen, (uint64_t)start->pid);
	} else {
		PEN(pen, "null");
	}
	PEN(pen, ",\"source\":\"");
	pen->at = put_word(pen->at, source_names[start->source]);
	PEN(pen, "\",\"lag\":");
	pen->at = put_double(pen->at, start->lag);
	PEN(pen, ",\"queued\":");
	pen->at = put_seconds(pen->at, start->queued);
	if (start->queued >= WORTH_A_REASON) {
		PEN(pen, ",\"why\":\"");
		pen->at = put_word(pen->at, why_names[start->why]);
		*pen->at++ = '"';
	}
	if (start->from > 0) {
		PEN(pen, ",\"from\":");
		pen_u64(pen, start->from);
	}
	pen_string(pen, ",\"cmd\":", start->command, start->command_len);
	pen_list(pen, ",\"args\":", start->args, start->nargs);
}

// What the kernel counted.
static void add_usage(struct pen *pen, const struct rusage *usage) {
	PEN(pen, ",\"user\":");
	pen->at = put_timeval(pen->at, usage->ru_utime);
	PEN(pen, ",\"sys\":");
	pen->at = put_timeval(pen->at, usage->ru_stime);
	PEN(pen, ",\"maxrss\":");
	pen_u64(pen, (uint64_t)usage->ru_maxrss * 1024); // getrusage(2): kilobytes
	PEN(pen, ",\"nvcsw\":");
	pen_u64(pen, (uint64_t)usage->ru_nvcsw);
	PEN(pen, ",\"nivcsw\":");
	pen_u64(pen, (uint64_t)usage->ru_nivcsw);
}

// Its exit status: none if a signal ended it, or if it never ran because the run was cut short.
static void add_exit(struct pen *pen, const struct result *result) {
	bool never = result->start == 0 && (result->outcome == OUTCOME_CANCELLED || result->outcome == OUTCOME_SKIPPED);
	PEN(pen, ",\"exit\":");
	if (result->term_signal || never) {
		PEN(pen, "null");
	} else {
		pen_u64(pen, (uint64_t)result->exit_code);
	}
	add_signal(pen, result->term_signal);
	if (result->out_of_memory) {
		PEN(pen, ",\"oom\":true");
	}
}

static void add_times(struct pen *pen, const struct event_job_end *end, uint64_t base) {
	const struct result *result = &end->result;
	PEN(pen, ",\"queued\":");
	pen->at = put_seconds(pen->at, end->queued);
	PEN(pen, ",\"start\":");
	if (result->start > 0) {
		pen->at = put_moment(pen->at, result->start, base);
	} else {
		PEN(pen, "null");
	}
	PEN(pen, ",\"wall\":");
	pen->at = put_moment(pen->at, result->end, result->start);
}

static void add_job_end(struct pen *pen, const struct event_job_end *end, uint64_t base) {
	add_id(pen, &end->id);
	PEN(pen, ",\"status\":\"");
	pen->at = put_word(pen->at, outcome_name(end->result.outcome));
	*pen->at++ = '"';
	add_exit(pen, &end->result);
	add_times(pen, end, base);
	add_usage(pen, &end->result.usage);
	PEN(pen, ",\"out_bytes\":");
	pen_u64(pen, end->out_bytes);
	PEN(pen, ",\"err_bytes\":");
	pen_u64(pen, end->err_bytes);
	if (end->next != NEXT_NOTHING) {
		pen->at = put_word(pen->at, end->next == NEXT_RETRY ? ",\"next\":\"retry\"" : ",\"next\":\"then\"");
	}
	if (end->along > 0) {
		PEN(pen, ",\"items\":");
		pen_u64(pen, end->along + 1);
	}
	if (end->current) {
		PEN(pen, ",\"current\":true");
	}
	if (end->allowed) {
		PEN(pen, ",\"allowed\":true");
	}
	if (end->why) {
		pen_text(pen, ",\"why\":", end->why);
	}
	if (end->tail) {
		pen_string(pen, ",\"tail\":", end->tail, end->tail_len);
	}
}

static void add_output(struct pen *pen, const struct event_output *output) {
	add_id(pen, &output->id);
	pen->at = put_word(pen->at, output->stream == 2 ? ",\"stream\":\"stderr\"" : ",\"stream\":\"stdout\"");
	pen_string(pen, ",\"data\":", output->data, output->len);
}

// ---- the line ----

static void add_event(struct pen *pen, const struct event *event, uint64_t base) {
	switch (event->kind) {
	case EVENT_RUN_START: add_run_start(pen, &event->u.run_start); break;
	case EVENT_BATCH_START: add_batch_start(pen, &event->u.batch); break;
	case EVENT_JOB_START: add_job_start(pen, &event->u.job_start); break;
	case EVENT_OUTPUT: add_output(pen, &event->u.output); break;
	case EVENT_JOB_END: add_job_end(pen, &event->u.job_end, base); break;
	case EVENT_LOST: add_lost(pen, &event->u.lost); break;
	case EVENT_WAIT:
	case EVENT_WAIT_END: add_wait(pen, event, base); break;
	case EVENT_SLOTS: add_slots(pen, &event->u.slots); break;
	case EVENT_BATCH_END: add_batch_end(pen, &event->u.batch_end); break;
	case EVENT_RUN_END: add_run_end(pen, event, base); break;
	}
}

void event_encode(struct buf *buf, const struct event *event, uint64_t base) {
	static const char *const names[] = {
		[EVENT_RUN_START] = "run_start\",\"t\":", [EVENT_BATCH_START] = "batch_start\",\"t\":",
		[EVENT_JOB_START] = "job_start\",\"t\":", [EVENT_OUTPUT] = "output\",\"t\":", [EVENT_JOB_END] = "job_end\",\"t\":",
		[EVENT_LOST] = "lost\",\"t\":", [EVENT_WAIT] = "wait\",\"t\":", [EVENT_WAIT_END] = "wait_end\",\"t\":",
		[EVENT_SLOTS] = "slots\",\"t\":", [EVENT_BATCH_END] = "batch_end\",\"t\":", [EVENT_RUN_END] = "run_end\",\"t\":",
	};
	struct pen pen = {.buf = buf, .at = buf_reserve(buf, FIXED_BYTES)};
	PEN(&pen, "{\"v\":1,\"ev\":\"");
	pen.at = put_word(pen.at, names[event->kind]);
	pen.at = put_moment(pen.at, event->at, base);
	add_event(&pen, event, base);
	PEN(&pen, "}\n");
	*pen.at = '\0';
	buf->len = (size_t)(pen.at - buf->data);
}
