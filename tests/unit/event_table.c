// The table of the log's events: what is written by it is read by it, and fairpar-events(5) names what is in it.

#include "log/event_log.h"
#include "log/event_table.h"

#include "test.h"

#include <sys/mman.h>

enum { BASE = 1000 };

// ---- values ----

static void set_number(void *member, size_t size, uint64_t number) {
	switch (size) {
	case sizeof(uint64_t): *(uint64_t *)member = number; break;
	case sizeof(uint32_t): *(uint32_t *)member = (uint32_t)number; break;
	default: *(bool *)member = number;
	}
}

// Gives the field a value that is not the one of a line without its key.
static void set_field(struct event *event, const struct event_field *field) {
	void *member = (char *)event + field->at, *with = (char *)event + field->with;
	switch ((enum field_type)field->type) {
	case FIELD_NUMBER:
	case FIELD_INTEGER:
	case FIELD_EXIT: set_number(member, field->size, 7); break;
	case FIELD_FLAG: set_number(member, field->size, true); break;
	case FIELD_NAME: set_number(member, field->size, field->most - 1 - (field->most - 1 == (uint64_t)field->otherwise)); break;
	case FIELD_SECONDS: *(uint64_t *)member = 5000000; break;
	case FIELD_MOMENT: *(uint64_t *)member = BASE + 3000000; break;
	case FIELD_SPAN: *(uint64_t *)with = BASE + 3000000; *(uint64_t *)member = BASE + 4000000; break;
	case FIELD_DOUBLE: *(double *)member = -0.25; break;
	case FIELD_DATE: *(uint64_t *)member = UINT64_C(1763712000123000000); break;
	case FIELD_JOB: *(const char **)with = "a \"batch\""; *(uint64_t *)member = 7; break;
	case FIELD_TEXT: *(const char **)member = "a\xfftext"; break;
	case FIELD_BYTES: *(const char **)member = "b\0\xff"; *(size_t *)with = 3; break;
	case FIELD_STRINGS: *(const char **)member = "a\0\xff"; *(uint32_t *)with = 2; break;
	}
}

// Whether an event without a value for the field could not be written.
static bool has_to_be_set(const struct event_field *field) {
	return field->written <= FIELD_REQUIRED && (field->type == FIELD_TEXT || field->type == FIELD_BYTES ||
	                                            field->type == FIELD_NAME || field->type == FIELD_MOMENT);
}

// An event with what each of its kind has, and a value for that field.
static struct event make_event(enum event_kind kind, const struct event_field *field) {
	const struct event_layout *layout = &event_layouts[kind];
	struct event event;
	memset(&event, 0, sizeof(event));
	event.kind = kind;
	for (size_t i = 0; i < layout->n; ++i) {
		if (has_to_be_set(&layout->fields[i])) {
			set_field(&event, &layout->fields[i]);
		}
	}
	if (kind == EVENT_JOB_START) {
		event.u.job_start.queued = EVENT_WORTH_A_REASON;
	}
	set_field(&event, field);
	event.at = BASE + 5000000;
	return event;
}

// ---- there and back ----

struct reading {
	enum event_kind kind;
	struct buf line;
};

static void encode_again(void *arg, const struct event *event) {
	struct reading *reading = arg;
	if (event->kind == reading->kind) {
		event_encode(&reading->line, event, 1000000000); // where decode.c puts the start of the run
	}
}

static void check_field(enum event_kind kind, const struct event_field *field) {
	static const char start[] = "{\"v\":1,\"ev\":\"run_start\",\"t\":0,\"run\":\"R\"}\n";
	struct event event = make_event(kind, field);
	struct reading reading = {.kind = kind, .line = BUF_INIT};
	struct buf line = BUF_INIT, messages = BUF_INIT;
	event_encode(&line, &event, BASE);
	check(strstr(line.data, field->text));
	int fd = memfd_create("log", MFD_CLOEXEC);
	check(fd >= 0 && (kind == EVENT_RUN_START || write(fd, start, sizeof(start) - 1) > 0));
	check(write(fd, line.data, line.len) == (ssize_t)line.len);
	check_equal(eventread(fd, "log", encode_again, &reading, &messages), 0);
	check_string(buf_str(&messages), "");
	if (field->written != FIELD_UNREAD) {
		check_string(buf_str(&reading.line), line.data);
	}
	close(fd);
	buf_fini(&line);
	buf_fini(&reading.line);
}

static void test_back(void) {
	for (int kind = 0; kind < EVENT_KINDS; ++kind) {
		check(event_layouts[kind].n > 0);
		for (size_t i = 0; i < event_layouts[kind].n; ++i) {
			check_field((enum event_kind)kind, &event_layouts[kind].fields[i]);
		}
	}
}

// ---- the manual ----

// What fairpar-events(5) has: " EVENT.KEY" for each.
static struct buf in_manual = BUF_INIT;

// Takes the words of a line of keys, ".Li a , b": keys of the events of the section.
static void add_keys(const char *events, const char *words) {
	char *of_events = strdup(events), *save_event, *save_key;
	for (char *event = strtok_r(of_events, " ,\n", &save_event); event; event = strtok_r(NULL, " ,\n", &save_event)) {
		char *keys = strdup(words);
		for (char *key = strtok_r(keys, " ,\n", &save_key); key; key = strtok_r(NULL, " ,\n", &save_key)) {
			buf_printf(&in_manual, " %s.%s", event, key);
		}
		free(keys);
	}
	free(of_events);
}

// Keys stand in lists, and where an event has those of another as ".Li a , b , c", ".and", ".Li d".
static void read_manual(void) {
	FILE *file = fopen("man/fairpar-events.5", "r");
	char text[400], events[400] = "";
	bool in_list = false;
	check(file);
	while (fgets(text, sizeof(text), file) && strcmp(text, ".Sh EXAMPLES\n") != 0) {
		bool is_item = strncmp(text, ".It Li ", 7) == 0;
		bool is_list = strncmp(text, ".Li ", 4) == 0 && (in_list || strstr(text, " , "));
		if (strncmp(text, ".Ss ", 4) == 0 || strcmp(text, ".Sh EVENTS\n") == 0) {
			snprintf(events, sizeof(events), "%s", text[2] == 's' ? text + 4 : "");
		} else if (is_item || is_list) {
			add_keys(events, text + (is_item ? 7 : 4));
		}
		in_list = is_list || (in_list && strcmp(text, "and\n") == 0);
	}
	fclose(file);
	buf_addc(&in_manual, ' ');
}

// Takes " EVENT.KEY" out of what the manual has. Returns whether it was there.
static bool take_key(const char *event, const char *key) {
	char name[100];
	int n = snprintf(name, sizeof(name), " %s.%s ", event, key);
	char *at = strstr(in_manual.data, name);
	if (at) {
		memmove(at, at + n - 1, strlen(at + n - 1) + 1);
	}
	return at;
}

static void test_manual(void) {
	read_manual();
	for (int kind = 0; kind < EVENT_KINDS; ++kind) {
		const struct event_layout *layout = &event_layouts[kind];
		for (size_t i = 0; i < layout->n; ++i) {
			if (!take_key(layout->name, layout->fields[i].key)) {
				fprintf(stderr, "# fairpar-events(5) has no %s of %s\n", layout->fields[i].key, layout->name);
				exit(1);
			}
		}
	}
	check(take_key("wait", "since") && take_key("wait", "wall")); // it has one list for wait and wait_end
	check_string(in_manual.data, " ");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each value of each event is read as it was written", test_back),
		TEST("the manual has the keys of each event, and no others", test_manual),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
