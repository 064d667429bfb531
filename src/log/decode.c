// Reads a log of events (--log) back, by the table log/events.def, and passes each event to a function.

#include "log/event_log.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/line_buffer.h"
#include "log/event_table.h"
#include "log/running.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIME_BASE UINT64_C(1000000000) // event time of the run's start

struct log_reader {
	const char *name;
	int fd;
	event_fn *fn;
	void *arg;
	struct buf *messages;

	bool is_file;            // a regular file
	struct line_buffer lines;
	uint64_t line;           // number of the line that is being read

	struct json_reader json; // the members of the line
	struct json_value none;  // the value of a key that is missing
	char error[160];         // what is wrong with the line, or ""
	struct buf text;         // the strings of the list that was read last
	struct running_table running;
	bool has_start;          // EVENT_RUN_START was passed on
	bool is_fatal;           // the line is intact, but its event may not come at this place: reading ends
	uint64_t ndamaged;       // number of damaged lines
	uint64_t first_damaged;  // number of the first damaged line
	char damage[160];        // what is wrong with the first damaged line
};

// ---- messages ----

FP_PRINTF(3, 4) static void message(struct log_reader *reader, const char *kind, const char *format, ...) {
	buf_add_escaped(reader->messages, reader->name, strlen(reader->name), 4096);
	if (reader->line > 0) {
		buf_printf(reader->messages, ":%llu", ull(reader->line));
	}
	buf_printf(reader->messages, ": %s: ", kind);
	BUF_ADD_ARGUMENTS(reader->messages, format);
	buf_addc(reader->messages, '\n');
}

// Notes what is wrong with the line, if nothing is noted yet.
FP_PRINTF(2, 3) static void set_error(struct log_reader *reader, const char *format, ...) {
	if (reader->error[0] == '\0') {
		va_list args;
		va_start(args, format);
		vsnprintf(reader->error, sizeof(reader->error), format, args);
		va_end(args);
	}
}

// ---- lines ----

// Takes the next line. Returns false at the end; or after a message, with *ret_failed true.
static bool next_line(struct log_reader *reader, struct line *ret_line, bool *ret_failed) {
	while (!line_buffer_next(&reader->lines, ret_line)) {
		if (reader->lines.ended) {
			return false;
		}
		ssize_t n = line_buffer_read(&reader->lines, reader->fd);
		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){.fd = reader->fd, .events = POLLIN}, 1, -1);
		} else if (n < 0) {
			reader->line = 0;
			message(reader, "error", "%s", strerror(errno));
			*ret_failed = true;
			return false;
		}
	}
	++reader->line;
	return true;
}

// True if the line begins with the event `run_start`, as fairpar writes it.
static bool is_run_start(const struct line *line) {
	static const char start[] = "{\"v\":1,\"ev\":\"run_start\"";
	return !line->bad && !line->is_cut && strncmp(line->text, start, sizeof(start) - 1) == 0;
}

// Finds the last run in a file to which several runs were appended, and goes on reading at its first line. Returns 0, or -1 after a message.
static int find_last_run(struct log_reader *reader) {
	uint64_t found_line = 0;
	off_t found = 0;
	bool failed = false;
	for (struct line line; next_line(reader, &line, &failed);) {
		if (is_run_start(&line)) {
			size_t behind = reader->lines.end - reader->lines.start; // bytes that were read behind the line
			found = lseek(reader->fd, 0, SEEK_CUR) - (off_t)(behind + line.len + 1);
			found_line = reader->line - 1;
		}
	}
	reader->line = found_line;
	reader->lines.ended = reader->lines.skipping = false;
	return failed || lseek(reader->fd, found, SEEK_SET) < 0 ? -1 : 0;
}

// ---- the values of a line ----

// Returns the value of the key whose name is `key` followed by `end`; a value of kind JSON_NONE if the line has no such key.
static struct json_value *find(struct log_reader *reader, const char *key, const char *end) {
	size_t len = strlen(key), end_len = strlen(end);
	for (size_t i = 0; i < reader->json.n; ++i) {
		const struct json_value *name = &reader->json.members[i].key;
		if (name->len == len + end_len && memcmp(name->text, key, len) == 0 && memcmp(name->text + len, end, end_len) == 0) {
			return &reader->json.members[i].value;
		}
	}
	return &reader->none;
}

static struct json_value *value_of(struct log_reader *reader, const char *key) {
	return find(reader, key, "");
}

static bool has(struct log_reader *reader, const char *key) {
	return value_of(reader, key)->kind > JSON_NULL;
}

// Replaces the string *value by its exact bytes, if the log also has them as base64, in *exact, because JSON cannot hold them.
// Returns false if *value is no string, or *exact is no base64.
static bool restore(struct log_reader *reader, struct json_value *value, struct json_value *exact, const char *key) {
	if (value->kind != JSON_STRING) {
		set_error(reader, "\"%s\" is no string", key);
		return false;
	}
	if (exact->kind == JSON_STRING) {
		char *to = (char *)exact->text; // the text is in the line, which may be changed
		size_t n = base64_decode(to, exact->text, exact->len);
		if (n == SIZE_MAX) {
			set_error(reader, "\"%s_b64\" is no base64", key);
			return false;
		}
		to[n] = '\0';
		*value = (struct json_value){.kind = JSON_STRING, .text = to, .len = n};
		exact->kind = JSON_NONE;
	}
	return true;
}

// Returns the bytes of the string, which may have NULs; or NULL if there is no such string.
static const char *get_bytes(struct log_reader *reader, const char *key, size_t *ret_len) {
	struct json_value *value = value_of(reader, key);
	*ret_len = 0;
	if (value->kind <= JSON_NULL || !restore(reader, value, find(reader, key, "_b64"), key)) {
		return NULL;
	}
	*ret_len = value->len;
	return value->text;
}

// As get_bytes(), but a string with a NUL in it is an error.
static const char *get_text(struct log_reader *reader, const char *key) {
	size_t len;
	const char *text = get_bytes(reader, key, &len);
	if (text && strlen(text) != len) {
		set_error(reader, "\"%s\" has a NUL in it", key);
	}
	return text;
}

static uint64_t get_u64(struct log_reader *reader, const char *key, uint64_t max, uint64_t otherwise) {
	const struct json_value *value = value_of(reader, key);
	uint64_t number = otherwise;
	if (value->kind > JSON_NULL && (!json_to_u64(value, &number) || number > max)) {
		set_error(reader, "\"%s\" is not a whole number from 0 to %llu", key, ull(max));
		return otherwise;
	}
	return number;
}

static double get_double(struct log_reader *reader, const char *key) {
	double number = 0;
	if (has(reader, key) && !json_to_double(value_of(reader, key), &number)) {
		set_error(reader, "\"%s\" is no number", key);
	}
	return number;
}

static uint64_t get_ns(struct log_reader *reader, const char *key) {
	const struct json_value *value = value_of(reader, key);
	uint64_t ns = 0;
	if (value->kind > JSON_NULL && !json_to_ns(value, &ns)) {
		set_error(reader, "\"%s\" is no number of seconds", key);
		return 0;
	}
	return ns;
}

// Returns the number of the name; field->otherwise if the name is not known or missing.
static uint64_t get_name(struct log_reader *reader, const char *key, const struct event_field *field) {
	const struct json_value *value = value_of(reader, key);
	for (unsigned i = 0; value->kind == JSON_STRING && i < field->most; ++i) {
		if (field->names[i] && strcmp(value->text, field->names[i]) == 0) {
			return i;
		}
	}
	if (field->written == FIELD_REQUIRED && value->kind == JSON_STRING) {
		set_error(reader, "\"%s\" has an unknown value", key);
	}
	return (uint64_t)field->otherwise;
}

// Puts the strings of a list one after the other, each with a NUL behind it, into reader->text. Returns their number.
static uint32_t get_list(struct log_reader *reader, const char *key) {
	struct json_value *list = value_of(reader, key), *exact = find(reader, key, "_b64");
	buf_reset(&reader->text);
	if (list->kind <= JSON_NULL) {
		return 0;
	}
	if (list->kind != JSON_LIST || list->len > UINT32_MAX) {
		set_error(reader, "\"%s\" is no list of strings", key);
		return 0;
	}
	for (size_t i = 0; i < list->len; ++i) {
		struct json_value none = {.kind = JSON_NONE}, *item = &reader->json.items[list->first + i];
		bool is_exact = exact->kind == JSON_LIST && i < exact->len;
		if (!restore(reader, item, is_exact ? &reader->json.items[exact->first + i] : &none, key)) {
			return 0;
		}
		if (strlen(item->text) != item->len) {
			set_error(reader, "\"%s\" has a NUL in it", key);
			return 0;
		}
		buf_add(&reader->text, item->text, item->len + 1);
	}
	return (uint32_t)list->len;
}

// Returns the number behind the batch's name: 3 for "BATCH#3"; 0 if there is no number.
static uint64_t get_job(struct log_reader *reader, const char *key) {
	const char *job = get_text(reader, key), *mark = job ? strrchr(job, '#') : NULL;
	uint64_t number = 0;
	struct json_value digits = {.kind = JSON_NUMBER, .text = mark ? mark + 1 : "", .len = mark ? strlen(mark + 1) : 0};
	return json_to_u64(&digits, &number) ? number : 0;
}

// Returns the time of a date such as "2026-11-21T07:59:39.123Z" (RFC 3339), in nanoseconds since 1970; 0 if it is no such date.
static uint64_t parse_date(const char *text) {
	struct tm tm = {.tm_isdst = 0};
	unsigned ms = 0;
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest || tm.tm_year < 70 || tm.tm_year > 600) {
		return 0;
	}
	(void)sscanf(rest, ".%3u", &ms);
	return (uint64_t)timegm(&tm) * 1000000000 + (uint64_t)ms * 1000000;
}

// ---- values read by the table log/events.def ----

// Reads the value of the key into the member; `with` is the member that event_field.with names.
static void read_value(struct log_reader *reader, const struct event_field *field, void *member, void *with) {
	const char *key = field->key;
	uint64_t number;
	switch ((enum field_type)field->type) {
	case FIELD_NUMBER:
	case FIELD_EXIT: store_integer(member, field->size, (int64_t)get_u64(reader, key, field->most, (uint64_t)field->otherwise)); break;
	case FIELD_INTEGER: break; // never read
	case FIELD_FLAG: *(bool *)member = value_of(reader, key)->kind == JSON_TRUE; break;
	case FIELD_NAME: store_integer(member, field->size, (int64_t)get_name(reader, key, field)); break;
	case FIELD_SECONDS: *(uint64_t *)member = get_ns(reader, key); break;
	case FIELD_MOMENT:
		*(uint64_t *)member = has(reader, key) || field->written != FIELD_OR_NULL ? TIME_BASE + get_ns(reader, key) : 0;
		break;
	case FIELD_SPAN:
		number = *(const uint64_t *)with;
		*(uint64_t *)member = number > 0 ? number + get_ns(reader, key) : 0;
		break;
	case FIELD_DOUBLE: *(double *)member = get_double(reader, key); break;
	case FIELD_DATE: *(uint64_t *)member = parse_date(get_text(reader, key)); break;
	case FIELD_JOB: *(uint64_t *)member = get_job(reader, key); break;
	case FIELD_TEXT: *(const char **)member = get_text(reader, key); break;
	case FIELD_BYTES: *(const char **)member = get_bytes(reader, key, with); break;
	case FIELD_STRINGS:
		*(uint32_t *)with = get_list(reader, key);
		*(const char **)member = buf_str(&reader->text);
		break;
	}
}

static void read_fields(struct log_reader *reader, struct event *event) {
	const struct event_layout *layout = &event_layouts[event->kind];
	for (size_t i = 0; i < layout->n; ++i) {
		const struct event_field *field = &layout->fields[i];
		if (field->written != FIELD_UNREAD) {
			read_value(reader, field, (char *)event + field->at, (char *)event + field->with);
		}
		if (field->written == FIELD_REQUIRED && value_of(reader, field->key)->kind != JSON_STRING) {
			set_error(reader, "\"%s\" is missing", field->key);
		}
	}
}

// ---- events ----

// Completes the end of an attempt with the values of its start, and passes it on.
static void publish_job_end(struct log_reader *reader, struct event *event) {
	struct event_job_end *end = &event->u.job_end;
	FP_CLEANUP(free_later) struct running_attempt *running = running_take(&reader->running, &end->id);
	end->nslots = running ? running->start.nslots : 1;
	end->source = running ? running->start.source : FROM_QUEUE;
	if (running) {
		end->command = running->start.command;
		end->command_len = running->start.command_len;
	}
	reader->fn(reader->arg, event);
	if (running && end->next == NEXT_RETRY) { // the job may end without another start, and that end needs these values, too
		running_add(&reader->running, &running->start, event->at);
	}
}

// Passes an event on that was read without an error.
static void publish(struct log_reader *reader, struct event *event) {
	bool is_wait = event->kind == EVENT_WAIT || event->kind == EVENT_WAIT_END;
	if ((is_wait && (int)event->u.wait.why == NO_WHY) || (event->kind == EVENT_OUTPUT && !event->u.output.data)) {
		return; // only a newer fairpar knows the reason of the wait; or the event has no output
	}
	if (event->kind == EVENT_JOB_END) {
		publish_job_end(reader, event);
		return;
	}
	if (event->kind == EVENT_JOB_START) {
		event->u.job_start.command = event->u.job_start.command ? event->u.job_start.command : "";
		running_add(&reader->running, &event->u.job_start, event->at);
	}
	reader->has_start = reader->has_start || event->kind == EVENT_RUN_START;
	reader->fn(reader->arg, event);
}

// Reads the event of that name from the members of the line, and passes it on. Ignores an unknown name, which a newer fairpar may know.
static void read_event(struct log_reader *reader, const char *name, uint64_t at) {
	struct event event;
	unsigned kind = 0;
	while (kind < EVENT_KINDS && strcmp(event_layouts[kind].name, name) != 0) {
		++kind;
	}
	if (kind == EVENT_KINDS) {
		return;
	}
	if (!reader->has_start && kind != EVENT_RUN_START && reader->ndamaged > 0) {
		struct event start = {.kind = EVENT_RUN_START, .at = TIME_BASE, .u.run_start = {.run = ""}}; // the line of EVENT_RUN_START is damaged
		reader->has_start = true;
		reader->fn(reader->arg, &start);
	}
	reader->is_fatal = reader->has_start == (kind == EVENT_RUN_START);
	if (reader->is_fatal) {
		set_error(reader, reader->has_start ? "a second run begins here: if a log has several runs, it must be read from a file, not from a pipe"
		                                : "this is not the beginning of a log");
		return;
	}
	memset(&event, 0, sizeof(event));
	event.kind = (enum event_kind)kind;
	event.at = at;
	read_fields(reader, &event);
	if (reader->error[0] == '\0') {
		publish(reader, &event);
	}
}

// Reads a line and passes its event on; or sets reader->error to what is wrong with the line.
static void read_line(struct log_reader *reader, const struct line *line) {
	reader->error[0] = '\0';
	if (line->bad) { // after a crash of the machine a file may have NUL bytes in place of lines
		set_error(reader, "the line has NUL bytes, or more than %d MiB", EVENTREAD_LINE_MAX >> 20);
	} else if (json_read(&reader->json, line->text, line->len) != 0) {
		set_error(reader, "%s", reader->json.error);
	}
	if (reader->error[0] != '\0') {
		return;
	}
	if (get_u64(reader, "v", UINT64_MAX, 0) != 1) {
		set_error(reader, has(reader, "v") ? "the version is not 1: a newer fairpar may read the log" : "this is not an event of a fairpar log");
		return;
	}
	const char *name = get_text(reader, "ev");
	uint64_t at = TIME_BASE + get_ns(reader, "t");
	if (!name || !has(reader, "t")) {
		set_error(reader, "\"%s\" is missing", name ? "t" : "ev");
	}
	if (reader->error[0] == '\0') {
		read_event(reader, name, at);
	}
}

// Adds the messages about the whole log when all lines have been read. Returns 0, or -1 if there was no run.
static int conclude(struct log_reader *reader) {
	reader->line = reader->first_damaged; // 0 if no line is damaged: then messages name no line
	if (!reader->has_start) {
		message(reader, "error", "%s", reader->ndamaged > 0 ? reader->damage : "the log has no run");
		return -1;
	}
	if (reader->ndamaged > 0) {
		message(reader, "warning", "%llu line%s damaged, and what cannot be read is left out%s: %s",
		        ull(reader->ndamaged), reader->ndamaged == 1 ? " is" : "s are",
		        reader->ndamaged == 1 ? "" : "; here the first one", reader->damage);
	}
	return 0;
}

// Reads all lines. Returns 0, or -1 after a message.
static int read_lines(struct log_reader *reader) {
	bool failed = false;
	if (reader->is_file && find_last_run(reader) != 0) {
		return -1;
	}
	for (struct line line; next_line(reader, &line, &failed);) {
		bool is_second = reader->has_start && is_run_start(&line);
		read_line(reader, &line);
		if (reader->is_fatal || (is_second && reader->error[0] != '\0')) {
			message(reader, "error", "%s", reader->error);
			return -1;
		}
		if (line.is_cut && reader->has_start && reader->error[0] != '\0') {
			message(reader, "warning", "the log was cut off here");
		} else if (reader->error[0] != '\0' && reader->ndamaged++ == 0) {
			reader->first_damaged = reader->line;
			snprintf(reader->damage, sizeof(reader->damage), "%s", reader->error);
		}
	}
	return failed ? -1 : conclude(reader);
}

int eventread(int fd, const char *name, event_fn *fn, void *arg, struct buf *messages) {
	struct stat stat;
	struct log_reader reader = {.name = name, .fd = fd, .fn = fn, .arg = arg, .messages = messages, .lines = LINE_BUFFER_INIT('\n')};
	reader.lines.most = EVENTREAD_LINE_MAX;
	reader.is_file = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && lseek(fd, 0, SEEK_SET) == 0;
	int result = read_lines(&reader);
	json_reader_fini(&reader.json);
	running_table_fini(&reader.running);
	buf_fini(&reader.text);
	line_buffer_fini(&reader.lines);
	return result;
}

int log_read(int fd, const char *name, event_fn *on_event, void *arg, bool with_messages) {
	FP_CLEANUP(buf_fini) struct buf messages = BUF_INIT;
	int result = eventread(fd, name, on_event, arg, &messages);
	if (with_messages && diag_text(buf_str(&messages), messages.len) != 0) {
		result = -1;
	}
	return result;
}
