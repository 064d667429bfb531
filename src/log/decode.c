// Reads a log of events (--log) back, and passes each event to a function.

#include "log/decode.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/json_read.h"
#include "base/map.h"
#include "log/running.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

enum {
	BLOCK = 64 * 1024,
	MAX_SLOT = 1000000,
};
#define TIME_BASE UINT64_C(1000000000) // event time of the run's start

// The keys that are read.
#define KEYS(X) \
	X(v) X(ev) X(t) X(time) X(run) X(version) X(host) X(pid) X(slots) X(fair) X(argv) X(cwd) X(manifest) X(name) X(joblog) X(parent) \
	X(batch) X(weight) X(priority) X(max_parallel) X(long_running) X(jobs) X(job) X(seq) X(role) X(step) X(attempt) \
	X(slot) X(nslots) X(source) X(lag) X(longest_wait) X(queued) X(why) X(from) X(cmd) X(args) X(stream) X(data) X(status) X(exit) \
	X(signal) X(oom) X(start) X(wall) X(user) X(sys) X(maxrss) X(nvcsw) X(nivcsw) X(out_bytes) X(err_bytes) X(next) \
	X(items) X(current) X(allowed) X(tail) X(for) X(since) X(ok) X(failed) X(cancelled) X(skipped) X(resumed)

#define X(name) KEY_##name,
enum event_key { KEYS(X) NKEYS };
#undef X
#define X(name) #name,
static const char *const key_names[] = {KEYS(X)};
#undef X

struct log_reader {
	const char *name;
	int fd;
	event_fn *fn;
	void *arg;
	struct buf *messages;

	bool is_file;
	uint64_t offset;         // of the next byte to read, in a file
	char *block;             // what was read and not yet taken: from `at` to `end`
	size_t cap, at, end;
	bool at_end;
	uint64_t line;           // number of the line that is being read
	bool was_cut;            // it has no newline
	bool has_nuls;           // in front of it, taken away
	bool is_overlong;        // only its end is there

	struct map keys;
	struct json_reader json;
	struct json_value values[NKEYS], exact[NKEYS]; // exact: of KEY_b64
	char error[160];         // of the line
	struct buf text;         // lists of strings
	struct running_table running;
	bool has_start;
	bool is_fatal;           // what is wrong with the line: it is not damaged, but does not belong there
	uint64_t ndamaged;       // lines
	uint64_t first_damaged;  // the number of the first one, and
	char damage[160];        // what is wrong with it
};

// ---- messages ----

FP_PRINTF(3, 4) static void message(struct log_reader *reader, const char *kind, const char *format, ...) {
	va_list args;
	buf_add_escaped(reader->messages, reader->name, strlen(reader->name), 4096);
	if (reader->line > 0) {
		buf_printf(reader->messages, ":%llu", (unsigned long long)reader->line);
	}
	buf_printf(reader->messages, ": %s: ", kind);
	va_start(args, format);
	buf_vprintf(reader->messages, format, args);
	va_end(args);
	buf_addc(reader->messages, '\n');
}

// Notes what is wrong with the line, once.
FP_PRINTF(2, 3) static void spoil(struct log_reader *reader, const char *format, ...) {
	if (reader->error[0] == '\0') {
		va_list args;
		va_start(args, format);
		vsnprintf(reader->error, sizeof(reader->error), format, args);
		va_end(args);
	}
}

// ---- lines ----

// Reads more. Returns 1, 0 at the end, or -1 with errno.
static int fill(struct log_reader *reader) {
	if (reader->at > 0) {
		memmove(reader->block, reader->block + reader->at, reader->end - reader->at);
		reader->end -= reader->at;
		reader->at = 0;
	}
	grow_array(&reader->block, &reader->cap, reader->end + BLOCK + 1, 1);
	for (;;) {
		ssize_t n = reader->is_file ? pread(reader->fd, reader->block + reader->end, BLOCK, (off_t)reader->offset)
		                            : read(reader->fd, reader->block + reader->end, BLOCK);
		if (n >= 0) {
			reader->end += (size_t)n;
			reader->offset += (uint64_t)n;
			return n > 0;
		}
		if (errno == EAGAIN) {
			struct pollfd in = {.fd = reader->fd, .events = POLLIN};
			poll(&in, 1, -1);
		} else if (errno != EINTR) {
			return -1;
		}
	}
}

// What a crash of the machine, or a file that was emptied while it was written to, leaves in the place of lines.
static void skip_nuls(struct log_reader *reader) {
	for (; reader->at < reader->end && reader->block[reader->at] == '\0'; ++reader->at) {
		reader->has_nuls = true;
	}
}

// The next line without its newline, NUL behind it, good until the next call. Returns NULL at the end, or after a
// message with *ret_failed true.
static char *next_line(struct log_reader *reader, size_t *ret_len, bool *ret_failed) {
	size_t seen = 0;
	++reader->line;
	reader->has_nuls = reader->is_overlong = false;
	for (;;) {
		if (seen == 0) {
			skip_nuls(reader);
		}
		char *start = reader->block + reader->at;
		char *newline = reader->end > reader->at + seen ? memchr(start + seen, '\n', reader->end - reader->at - seen) : NULL;
		size_t len = newline ? (size_t)(newline - start) : reader->end - reader->at;
		if (newline || (reader->at_end && (len > 0 || reader->has_nuls || reader->is_overlong))) {
			reader->was_cut = !newline;
			start[len] = '\0'; // there is room for one byte behind the end
			reader->at += len + (newline != NULL);
			*ret_len = len;
			return start;
		}
		if (reader->at_end) {
			return NULL;
		}
		if (len > EVENTREAD_LINE_MAX) {
			reader->is_overlong = true;
			reader->at = reader->end;
			len = 0;
		}
		seen = len;
		int got = fill(reader);
		if (got < 0) {
			reader->line = 0;
			message(reader, "error", "%s", strerror(errno));
			*ret_failed = true;
			return NULL;
		}
		reader->at_end = got == 0;
	}
}

// The event at the front of a line that a fairpar wrote.
static bool is_run_start(const char *line, size_t len) {
	static const char start[] = "{\"v\":1,\"ev\":\"run_start\"";
	return len >= sizeof(start) - 1 && memcmp(line, start, sizeof(start) - 1) == 0;
}

// Finds the last run of a file that was appended to, and goes there. Returns 0, or -1 after a message.
static int find_last_run(struct log_reader *reader) {
	uint64_t found = 0, found_line = 0;
	bool failed = false;
	size_t len;
	for (const char *line; (line = next_line(reader, &len, &failed));) {
		if (is_run_start(line, len) && !reader->was_cut && !reader->is_overlong) {
			found = reader->offset - (reader->end - reader->at) - len - 1;
			found_line = reader->line - 1;
		}
	}
	reader->offset = found;
	reader->line = found_line;
	reader->at = reader->end = 0;
	reader->at_end = false;
	return failed ? -1 : 0;
}

// ---- the values of a line ----

// Takes the members apart.
static void take_members(struct log_reader *reader, char *line, size_t len) {
	struct json_value key, value;
	memset(reader->values, 0, sizeof(reader->values));
	memset(reader->exact, 0, sizeof(reader->exact));
	json_begin(&reader->json, line, len);
	while (json_next(&reader->json, &key, &value)) {
		bool is_exact = key.len > 4 && memcmp(key.text + key.len - 4, "_b64", 4) == 0;
		uint32_t number = map_get(&reader->keys, key.text, key.len - (is_exact ? 4 : 0));
		if (number == MAP_NONE) {
			continue;
		}
		struct json_value *place = is_exact ? &reader->exact[number] : &reader->values[number];
		if (place->kind != JSON_NONE) {
			spoil(reader, "the key \"%s\" is there twice", key_names[number]);
		}
		*place = value;
	}
	if (reader->json.error) {
		spoil(reader, "%s", reader->json.error);
	}
}

static bool has(const struct log_reader *reader, enum event_key key) {
	return reader->values[key].kind > JSON_NULL;
}

// Puts the exact bytes in the place of a string that could not hold them. Returns false if there is no string.
static bool restore(struct log_reader *reader, struct json_value *value, struct json_value *exact, enum event_key key) {
	if (value->kind != JSON_STRING) {
		spoil(reader, "\"%s\" is no string", key_names[key]);
		return false;
	}
	if (exact->kind == JSON_STRING) {
		char *to = (char *)exact->text; // of the line, which is ours
		size_t n = base64_decode(to, exact->text, exact->len);
		if (n == SIZE_MAX) {
			spoil(reader, "\"%s_b64\" is no base64", key_names[key]);
			return false;
		}
		to[n] = '\0';
		*value = (struct json_value){.kind = JSON_STRING, .text = to, .len = n};
		exact->kind = JSON_NONE;
	}
	return true;
}

// Any bytes; NULL if there are none.
static const char *get_bytes(struct log_reader *reader, enum event_key key, size_t *ret_len) {
	*ret_len = 0;
	if (!has(reader, key) || !restore(reader, &reader->values[key], &reader->exact[key], key)) {
		return NULL;
	}
	*ret_len = reader->values[key].len;
	return reader->values[key].text;
}

// Bytes without a NUL; NULL if there are none.
static const char *get_text(struct log_reader *reader, enum event_key key) {
	size_t len;
	const char *text = get_bytes(reader, key, &len);
	if (text && strlen(text) != len) {
		spoil(reader, "\"%s\" has a NUL in it", key_names[key]);
	}
	return text;
}

static uint64_t get_u64(struct log_reader *reader, enum event_key key, uint64_t max, uint64_t otherwise) {
	uint64_t number;
	if (!has(reader, key)) {
		return otherwise;
	}
	if (!json_to_u64(&reader->values[key], &number) || number > max) {
		spoil(reader, "\"%s\" is no such number as it should be", key_names[key]);
		return otherwise;
	}
	return number;
}

static unsigned get_unsigned(struct log_reader *reader, enum event_key key, unsigned max, unsigned otherwise) {
	return (unsigned)get_u64(reader, key, max, otherwise);
}

static uint64_t get_ns(struct log_reader *reader, enum event_key key) {
	uint64_t ns = 0;
	if (has(reader, key) && !json_to_ns(&reader->values[key], &ns)) {
		spoil(reader, "\"%s\" is no number of seconds", key_names[key]);
		return 0;
	}
	return ns;
}

static struct timeval get_timeval(struct log_reader *reader, enum event_key key) {
	uint64_t ns = get_ns(reader, key);
	return (struct timeval){.tv_sec = (time_t)(ns / 1000000000), .tv_usec = (suseconds_t)(ns / 1000 % 1000000)};
}

static bool get_flag(const struct log_reader *reader, enum event_key key) {
	return reader->values[key].kind == JSON_TRUE;
}

// The number of the word among `n` names, or `otherwise` for one that is not known, or is not there.
static unsigned get_word(const struct log_reader *reader, enum event_key key, const char *const *names, unsigned n, unsigned otherwise) {
	const struct json_value *value = &reader->values[key];
	for (unsigned i = 0; value->kind == JSON_STRING && i < n; ++i) {
		if (strcmp(value->text, names[i]) == 0) {
			return i;
		}
	}
	return otherwise;
}

// The strings of a list one after the other, each with a NUL behind it, in reader->text. Returns their number.
static uint32_t get_list(struct log_reader *reader, enum event_key key) {
	struct json_value *list = &reader->values[key], *exact = &reader->exact[key];
	buf_reset(&reader->text);
	if (!has(reader, key)) {
		return 0;
	}
	if (list->kind != JSON_LIST || list->len > UINT32_MAX) {
		spoil(reader, "\"%s\" is no list of strings", key_names[key]);
		return 0;
	}
	for (size_t i = 0; i < list->len; ++i) {
		struct json_value none = {.kind = JSON_NONE}, *item = &reader->json.items[list->first + i];
		bool is_exact = exact->kind == JSON_LIST && i < exact->len;
		if (!restore(reader, item, is_exact ? &reader->json.items[exact->first + i] : &none, key)) {
			return 0;
		}
		if (strlen(item->text) != item->len) {
			spoil(reader, "\"%s\" has a NUL in it", key_names[key]);
			return 0;
		}
		buf_add(&reader->text, item->text, item->len + 1);
	}
	return (uint32_t)list->len;
}

// ---- words ----

static const char *const role_names[] = {
	[ROLE_JOB] = "job", [ROLE_ON_FAILURE] = "on_failure", [ROLE_FINALLY] = "finally", [ROLE_LISTING] = "listing",
};
static const char *const source_names[] = {
	[FROM_OWN] = "own", [FROM_STOLEN] = "stolen", [FROM_QUEUE] = "queue", [FROM_LENT] = "lent", [FROM_LONG] = "long",
};
static const char *const next_names[] = {[NEXT_NOTHING] = "", [NEXT_RETRY] = "retry", [NEXT_STEP] = "then"};
static const char *const why_names[] = {
	[WHY_TURN] = "turn", [WHY_LIMIT] = "limit", [WHY_LOAD] = "load", [WHY_MEMORY] = "memory", [WHY_DELAY] = "delay",
	[WHY_NEEDS] = "needs", [WHY_RETRY] = "retry", [WHY_RESERVE] = "reserve", [WHY_SUSPEND] = "suspend",
};
enum { NWHYS = sizeof(why_names) / sizeof(why_names[0]) };

// ---- events ----

// The batch, which has to be there.
static const char *get_batch(struct log_reader *reader) {
	const char *batch = get_text(reader, KEY_batch);
	if (!batch) {
		spoil(reader, "\"batch\" is missing");
	}
	return batch ? batch : "";
}

// The number behind the batch's name: 3 of "BATCH#3"; 0 of what is no item. Before the batch's exact bytes are restored.
static uint64_t get_number(const struct log_reader *reader) {
	const struct json_value *job = &reader->values[KEY_job], *batch = &reader->values[KEY_batch];
	uint64_t number = 0;
	if (job->kind != JSON_STRING || batch->kind != JSON_STRING || job->len < batch->len + 2 ||
	    memcmp(job->text, batch->text, batch->len) != 0 || job->text[batch->len] != '#') {
		return 0;
	}
	struct json_value digits = {.kind = JSON_NUMBER, .text = job->text + batch->len + 1, .len = job->len - batch->len - 1};
	return json_to_u64(&digits, &number) ? number : 0;
}

static void read_job(struct log_reader *reader, struct event_job *ret_id) {
	uint64_t number = get_number(reader);
	*ret_id = (struct event_job){
		.number = number,
		.batch = get_batch(reader),
		.seq = get_u64(reader, KEY_seq, UINT64_MAX, 0),
		.role = (enum event_role)get_word(reader, KEY_role, role_names, 4, ROLE_JOB),
		.step = get_unsigned(reader, KEY_step, UINT_MAX, 0),
		.attempt = get_unsigned(reader, KEY_attempt, UINT_MAX, 1),
		.slot = get_unsigned(reader, KEY_slot, MAX_SLOT, 0),
	};
	if (reader->values[KEY_job].kind != JSON_STRING) {
		spoil(reader, "\"job\" is missing");
	}
}

// Days since 1970 of a date in the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day) {
	year -= month <= 2;
	int64_t era = year / 400, of_era = year - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// "2026-11-21T07:59:39.123Z" (RFC 3339) in nanoseconds since 1970; 0 if it is no such time.
static uint64_t read_time(const char *text) {
	int year, month, day, hour, minute, second, ms = 0, n = 0;
	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &n) != 6 ||
	    year < 1970 || year > 2500 || month < 1 || month > 12 || hour < 0 || minute < 0 || second < 0 || day < 1) {
		return 0;
	}
	if (text[n] == '.' && (sscanf(text + n + 1, "%3d", &ms) != 1 || ms < 0)) {
		ms = 0;
	}
	int64_t seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	return (uint64_t)seconds * 1000000000 + (uint64_t)ms * 1000000;
}

static bool read_run_start(struct log_reader *reader, struct event *event) {
	if (reader->has_start) {
		reader->is_fatal = true;
		spoil(reader, "a second run begins here, and only of a file the last one can be found");
	}
	uint32_t nargs = get_list(reader, KEY_argv);
	const char **argv = xcalloc((size_t)nargs + 1, sizeof(*argv));
	const char *at = buf_str(&reader->text);
	for (uint32_t i = 0; i < nargs; ++i) {
		argv[i] = at;
		at += strlen(at) + 1;
	}
	const char *fair = get_text(reader, KEY_fair);
	event->u.run_start = (struct event_run_start){
		.run = get_text(reader, KEY_run),
		.version = get_text(reader, KEY_version),
		.host = get_text(reader, KEY_host),
		.cwd = get_text(reader, KEY_cwd),
		.manifest = get_text(reader, KEY_manifest),
		.name = get_text(reader, KEY_name),
		.joblog = get_text(reader, KEY_joblog),
		.parent = get_text(reader, KEY_parent),
		.argv = argv,
		.time_ns = read_time(get_text(reader, KEY_time)),
		.pid = (int)get_u64(reader, KEY_pid, INT_MAX, 0),
		.slots = get_unsigned(reader, KEY_slots, MAX_SLOT, 1),
		.fair_time = fair && strcmp(fair, "time") == 0,
	};
	if (!event->u.run_start.run) {
		spoil(reader, "\"run\" is missing");
	}
	if (reader->error[0] == '\0') {
		reader->has_start = true;
		reader->fn(reader->arg, event);
	}
	free(argv);
	return false;
}

static bool read_batch_start(struct log_reader *reader, struct event *event) {
	int64_t priority = 0;
	if (has(reader, KEY_priority) && (!json_to_i64(&reader->values[KEY_priority], &priority) ||
	                                  priority > INT32_MAX || priority < INT32_MIN)) {
		spoil(reader, "\"priority\" is no such number as it should be");
		priority = 0;
	}
	event->u.batch = (struct event_batch){
		.batch = get_batch(reader),
		.weight = get_unsigned(reader, KEY_weight, UINT32_MAX, 1),
		.priority = (int32_t)priority,
		.max_parallel = get_unsigned(reader, KEY_max_parallel, UINT32_MAX, 0),
		.long_running = get_flag(reader, KEY_long_running),
		.jobs = has(reader, KEY_jobs) ? (int64_t)get_u64(reader, KEY_jobs, INT64_MAX, 0) : -1,
	};
	return true;
}

static bool read_job_start(struct log_reader *reader, struct event *event) {
	struct event_job_start *start = &event->u.job_start;
	read_job(reader, &start->id);
	start->nslots = get_unsigned(reader, KEY_nslots, MAX_SLOT, 1);
	start->pid = (int)get_u64(reader, KEY_pid, INT_MAX, 0);
	start->source = (enum event_source)get_word(reader, KEY_source, source_names, 5, FROM_QUEUE);
	if (has(reader, KEY_lag) && !json_to_double(&reader->values[KEY_lag], &start->lag)) {
		spoil(reader, "\"lag\" is no number");
	}
	start->queued = get_ns(reader, KEY_queued);
	start->why = (enum event_why)get_word(reader, KEY_why, why_names, NWHYS, WHY_TURN);
	start->from = get_u64(reader, KEY_from, UINT64_MAX, 0);
	start->command = get_bytes(reader, KEY_cmd, &start->command_len);
	start->nargs = get_list(reader, KEY_args);
	start->args = buf_str(&reader->text);
	if (!start->command) {
		start->command = "";
	}
	if (reader->error[0] == '\0') {
		running_add(&reader->running, start, event->at);
	}
	return true;
}

// The signal as a number, or by its name.
static int get_signal(struct log_reader *reader) {
	const struct json_value *value = &reader->values[KEY_signal];
	return value->kind == JSON_STRING ? signal_number(value->text, value->len) : (int)get_u64(reader, KEY_signal, 127, 0);
}

static void read_result(struct log_reader *reader, struct result *ret_result) {
	enum { NOUTCOMES = OUTCOME_SKIPPED + 1 };
	const char *names[NOUTCOMES];
	for (unsigned i = 0; i < NOUTCOMES; ++i) {
		names[i] = outcome_name((enum outcome)i);
	}
	unsigned status = get_word(reader, KEY_status, names, NOUTCOMES, NOUTCOMES);
	if (status == NOUTCOMES) {
		spoil(reader, "\"status\" is none that a job can have");
		status = OUTCOME_OK;
	}
	*ret_result = (struct result){
		.outcome = (enum outcome)status,
		.exit_code = (int)get_u64(reader, KEY_exit, 255, 0),
		.term_signal = get_signal(reader),
		.out_of_memory = get_flag(reader, KEY_oom),
		.start = has(reader, KEY_start) ? TIME_BASE + get_ns(reader, KEY_start) : 0,
		.usage = {
			.ru_utime = get_timeval(reader, KEY_user),
			.ru_stime = get_timeval(reader, KEY_sys),
			.ru_maxrss = (long)(get_u64(reader, KEY_maxrss, INT64_MAX, 0) / 1024),
			.ru_nvcsw = (long)get_u64(reader, KEY_nvcsw, LONG_MAX, 0),
			.ru_nivcsw = (long)get_u64(reader, KEY_nivcsw, LONG_MAX, 0),
		},
	};
	ret_result->end = ret_result->start > 0 ? ret_result->start + get_ns(reader, KEY_wall) : 0;
}

static bool read_job_end(struct log_reader *reader, struct event *event) {
	struct event_job_end *end = &event->u.job_end;
	read_job(reader, &end->id);
	read_result(reader, &end->result);
	end->queued = get_ns(reader, KEY_queued);
	end->next = (enum event_next)get_word(reader, KEY_next, next_names, 3, NEXT_NOTHING);
	uint64_t items = get_u64(reader, KEY_items, UINT64_MAX, 1);
	end->along = items > 0 ? items - 1 : 0;
	end->current = get_flag(reader, KEY_current);
	end->allowed = get_flag(reader, KEY_allowed);
	end->out_bytes = get_u64(reader, KEY_out_bytes, UINT64_MAX, 0);
	end->err_bytes = get_u64(reader, KEY_err_bytes, UINT64_MAX, 0);
	end->why = get_text(reader, KEY_why);
	end->tail = get_bytes(reader, KEY_tail, &end->tail_len);
	end->nslots = 1;
	end->source = FROM_QUEUE;
	if (reader->error[0] != '\0') {
		return false;
	}
	struct running_attempt *running = running_take(&reader->running, &end->id);
	if (running) {
		end->command = running->start.command;
		end->command_len = running->start.command_len;
		end->nslots = running->start.nslots;
		end->source = running->start.source;
	}
	reader->fn(reader->arg, event);
	if (running && end->next == NEXT_RETRY) { // its job may yet end without that
		running_add(&reader->running, &running->start, event->at);
	}
	free(running);
	return false;
}

static bool read_output(struct log_reader *reader, struct event *event) {
	struct event_output *output = &event->u.output;
	read_job(reader, &output->id);
	const char *stream = get_text(reader, KEY_stream);
	output->stream = stream && strcmp(stream, "stderr") == 0 ? 2 : 1;
	output->data = get_bytes(reader, KEY_data, &output->len);
	return output->data;
}

static bool read_lost(struct log_reader *reader, struct event *event) {
	const char *status = get_text(reader, KEY_status);
	event->u.lost = (struct event_lost){
		.batch = get_batch(reader),
		.outcome = status && strcmp(status, "skipped") == 0 ? OUTCOME_SKIPPED : OUTCOME_CANCELLED,
		.jobs = get_u64(reader, KEY_jobs, UINT64_MAX, 0),
		.why = get_text(reader, KEY_why),
	};
	return true;
}

static bool read_wait(struct log_reader *reader, struct event *event) {
	unsigned why = get_word(reader, KEY_why, why_names, NWHYS, NWHYS);
	uint64_t number = get_number(reader);
	event->u.wait = (struct event_wait){
		.batch = get_text(reader, KEY_batch),
		.number = number,
		.why = why < NWHYS ? (enum event_why)why : WHY_TURN,
		.what = get_text(reader, KEY_for),
		.since = event->kind == EVENT_WAIT_END ? TIME_BASE + get_ns(reader, KEY_since) : 0,
	};
	return why < NWHYS; // a reason that is not known is for a newer fairpar
}

static bool read_slots(struct log_reader *reader, struct event *event) {
	event->u.slots = (struct event_slots){
		.slots = get_unsigned(reader, KEY_slots, MAX_SLOT, 1),
		.why = get_text(reader, KEY_why),
	};
	return true;
}

static bool read_batch_end(struct log_reader *reader, struct event *event) {
	event->u.batch_end = (struct event_batch_end){
		.batch = get_batch(reader),
		.ok = get_u64(reader, KEY_ok, UINT64_MAX, 0),
		.failed = get_u64(reader, KEY_failed, UINT64_MAX, 0),
		.cancelled = get_u64(reader, KEY_cancelled, UINT64_MAX, 0),
		.skipped = get_u64(reader, KEY_skipped, UINT64_MAX, 0),
		.longest_wait = get_ns(reader, KEY_longest_wait),
	};
	return true;
}

static bool read_run_end(struct log_reader *reader, struct event *event) {
	event->u.run_end = (struct event_run_end){
		.ok = get_u64(reader, KEY_ok, UINT64_MAX, 0),
		.failed = get_u64(reader, KEY_failed, UINT64_MAX, 0),
		.cancelled = get_u64(reader, KEY_cancelled, UINT64_MAX, 0),
		.skipped = get_u64(reader, KEY_skipped, UINT64_MAX, 0),
		.allowed = get_u64(reader, KEY_allowed, UINT64_MAX, 0),
		.current = get_u64(reader, KEY_current, UINT64_MAX, 0),
		.resumed = get_u64(reader, KEY_resumed, UINT64_MAX, 0),
		.exit_status = (int)get_u64(reader, KEY_exit, 255, 0),
		.signal = get_signal(reader),
	};
	return true;
}

static const struct {
	const char *name;
	bool (*read)(struct log_reader *reader, struct event *event); // returns true if it is to be told
} kinds[] = {
	[EVENT_RUN_START] = {"run_start", read_run_start},
	[EVENT_BATCH_START] = {"batch_start", read_batch_start},
	[EVENT_JOB_START] = {"job_start", read_job_start},
	[EVENT_OUTPUT] = {"output", read_output},
	[EVENT_JOB_END] = {"job_end", read_job_end},
	[EVENT_LOST] = {"lost", read_lost},
	[EVENT_WAIT] = {"wait", read_wait},
	[EVENT_WAIT_END] = {"wait_end", read_wait},
	[EVENT_SLOTS] = {"slots", read_slots},
	[EVENT_BATCH_END] = {"batch_end", read_batch_end},
	[EVENT_RUN_END] = {"run_end", read_run_end},
};

// An event comes, and its run has begun in a line that is damaged: then what that line said is not known.
static void begin_without(struct log_reader *reader) {
	static const char *const no_words[] = {NULL};
	struct event event = {.kind = EVENT_RUN_START, .at = TIME_BASE, .u.run_start = {.run = "", .argv = no_words}};
	reader->has_start = true;
	reader->fn(reader->arg, &event);
}

// Tells the event of the line. What is wrong with it is then in reader->error.
static void read_line(struct log_reader *reader, char *line, size_t len) {
	reader->error[0] = '\0';
	if (reader->is_overlong) {
		spoil(reader, "the line is longer than %d MiB", EVENTREAD_LINE_MAX >> 20);
	} else if (reader->has_nuls && len == 0) {
		spoil(reader, "NUL bytes");
	} else {
		take_members(reader, line, len);
	}
	if (reader->error[0] != '\0') {
		return;
	}
	if (get_u64(reader, KEY_v, UINT64_MAX, 0) != 1) {
		spoil(reader, has(reader, KEY_v) ? "its version is not 1: a newer fairpar may read it" : "this is no event of fairpar");
		return;
	}
	const char *name = get_text(reader, KEY_ev);
	struct event event = {.at = TIME_BASE + get_ns(reader, KEY_t)};
	if (!name || !has(reader, KEY_t)) {
		spoil(reader, "\"%s\" is missing", name ? "t" : "ev");
	}
	for (size_t i = 0; reader->error[0] == '\0' && i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
		if (strcmp(kinds[i].name, name) != 0) {
			continue;
		}
		event.kind = (enum event_kind)i;
		if (!reader->has_start && event.kind != EVENT_RUN_START && reader->ndamaged > 0) {
			begin_without(reader);
		}
		if (!reader->has_start && event.kind != EVENT_RUN_START) {
			reader->is_fatal = true;
			spoil(reader, "this is not the beginning of a log");
		} else if (kinds[i].read(reader, &event) && reader->error[0] == '\0') {
			reader->fn(reader->arg, &event);
		}
	}
}

static void note_damage(struct log_reader *reader, const char *what) {
	if (reader->ndamaged++ == 0) {
		reader->first_damaged = reader->line;
		snprintf(reader->damage, sizeof(reader->damage), "%s", what);
	}
}

// What is to be said when all lines have been read. Returns 0, or -1 if there was no run.
static int conclude(struct log_reader *reader) {
	reader->line = reader->first_damaged; // 0: none
	if (!reader->has_start) {
		message(reader, "error", "%s", reader->ndamaged > 0 ? reader->damage : "there is no run in it");
		return -1;
	}
	if (reader->ndamaged > 0) {
		message(reader, "warning", "%llu line%s damaged, and what cannot be read is left out%s: %s",
		        (unsigned long long)reader->ndamaged, reader->ndamaged == 1 ? " is" : "s are",
		        reader->ndamaged == 1 ? "" : "; here the first one", reader->damage);
	}
	return 0;
}

// Reads all lines. Returns 0, or -1 after a message.
static int read_lines(struct log_reader *reader) {
	bool failed = false;
	size_t len;
	if (reader->is_file && find_last_run(reader) != 0) {
		return -1;
	}
	for (char *line; (line = next_line(reader, &len, &failed));) {
		bool is_second = reader->has_start && is_run_start(line, len) && !reader->was_cut && !reader->is_overlong;
		read_line(reader, line, len);
		if (reader->is_fatal || (is_second && reader->error[0] != '\0')) {
			message(reader, "error", "%s", reader->error);
			return -1;
		}
		if (reader->was_cut && reader->has_start && reader->error[0] != '\0') {
			message(reader, "warning", "the log was cut off here");
		} else if (reader->has_nuls || reader->error[0] != '\0') {
			note_damage(reader, reader->has_nuls ? "NUL bytes" : reader->error);
		}
	}
	return failed ? -1 : conclude(reader);
}

int eventread(int fd, const char *name, event_fn *fn, void *arg, struct buf *messages) {
	struct stat stat;
	struct log_reader reader = {.name = name, .fd = fd, .fn = fn, .arg = arg, .messages = messages, .keys = MAP_INIT};
	reader.is_file = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
	map_reserve(&reader.keys, NKEYS);
	for (uint32_t i = 0; i < NKEYS; ++i) {
		map_add(&reader.keys, key_names[i], strlen(key_names[i]), i);
	}
	grow_array(&reader.block, &reader.cap, BLOCK, 1);
	int result = read_lines(&reader);
	map_fini(&reader.keys);
	json_reader_fini(&reader.json);
	running_table_fini(&reader.running);
	buf_fini(&reader.text);
	free(reader.block);
	return result;
}
