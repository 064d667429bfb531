// Fuzz target: the page and the drawing of a run whose names, commands and output are any bytes, in any order of events.
//
// Both must be well-formed: each tag is one that the page is made of, attributes are quoted, what is opened is closed in
// its order, text is UTF-8 without control characters, and nothing foreign became a tag, an attribute or a script.

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/text.h"
#include "draw/draw.h"
#include "log/event_table.h"

#include <ctype.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- events, made of the data ----

struct bytes {
	const uint8_t *at, *end;
};

static unsigned take(struct bytes *bytes) {
	return bytes->at < bytes->end ? *bytes->at++ : 0;
}

// A string of the data, up to a newline: foreign text.
static const char *take_text(struct bytes *bytes, char text[64]) {
	size_t n = 0;
	for (unsigned c; n < 63 && (c = take(bytes)) != '\n' && c != 0;) {
		text[n++] = (char)(c == 1 ? '\n' : c);
	}
	text[n] = '\0';
	return text;
}

static void tell_job(struct bytes *bytes, struct event *event) {
	static char batch[64], command[64], tail[64], host[64];
	unsigned how = take(bytes), number = take(bytes);
	struct event_job id = {
		.batch = how & 1 ? take_text(bytes, batch) : "b", .number = number / 4 + 1, .seq = number, .attempt = 1 + (how >> 1 & 1),
		.step = how >> 2 & 1, .slot = how >> 3 & 7, .role = how & 64 ? ROLE_FINALLY : ROLE_JOB,
	};
	id.host = how & 2 ? take_text(bytes, host) : NULL;
	take_text(bytes, command);
	if (how & 128) {
		event->kind = EVENT_JOB_START;
		event->u.job_start = (struct event_job_start){.id = id, .nslots = 1 + (take(bytes) & 1), .pid = 1, .source = (enum event_source)(take(bytes) % 5),
			.queued = take(bytes) * UINT64_C(1000000), .why = (enum event_why)(take(bytes) % NO_WHY), .command = command, .command_len = strlen(command)};
		return;
	}
	unsigned outcome = take(bytes) % 7, ran = take(bytes);
	uint64_t length = ran * UINT64_C(3000000);
	event->kind = EVENT_JOB_END;
	take_text(bytes, tail);
	event->u.job_end = (struct event_job_end){.id = id, .nslots = 1, .next = (enum event_next)(take(bytes) % 3),
		.result = {.outcome = (enum outcome)outcome, .exit_code = outcome == OUTCOME_FAILED ? 3 : 0, .term_signal = outcome == OUTCOME_SIGNAL ? 9 : 0,
			.start = event->at > length ? event->at - length : 1, .end = event->at},
		.command = ran & 1 ? command : NULL, .command_len = ran & 1 ? strlen(command) : 0,
		.tail = ran & 2 ? tail : NULL, .tail_len = ran & 2 ? strlen(tail) : 0, .out_bytes = ran};
}

static void tell_run(struct bytes *bytes, event_fn *fn, void *arg) {
	char title[64], host[64], name[64], argv[sizeof("fairpar") + sizeof(title)] = "fairpar";
	(void)stpcpy(argv + sizeof("fairpar"), take_text(bytes, title));
	struct event event = {.kind = EVENT_RUN_START, .at = UINT64_C(1) << 40, .u.run_start = {.run = "01JD5W", .version = "0.1.0",
		.host = take_text(bytes, host), .cwd = "/", .argv = argv, .nargv = 2, .time_ns = UINT64_C(1700000000000000000), .slots = 1 + take(bytes) % 9}};
	fn(arg, &event);
	while (bytes->at < bytes->end) {
		unsigned what = take(bytes);
		event = (struct event){.at = event.at + (take(bytes) << (what >> 5)) * UINT64_C(1000000)};
		switch (what & 7) {
		case 0:
			event.kind = EVENT_BATCH_START;
			event.u.batch = (struct event_batch){.batch = take_text(bytes, name), .weight = 1 + (what >> 6), .jobs = -1};
			break;
		case 1:
			event.kind = EVENT_LOST;
			event.u.lost = (struct event_lost){.batch = "b", .outcome = what & 8 ? OUTCOME_SKIPPED : OUTCOME_CANCELLED, .jobs = take(bytes),
				.why = take_text(bytes, name)};
			break;
		case 3:
			event.kind = EVENT_LENT;
			event.u.lent = (struct event_lent){
				.id = {.batch = take_text(bytes, name), .number = take(bytes), .attempt = 1, .slot = take(bytes)}, .to = "inner", .pid = 7,
				.depth = take(bytes), .own = take(bytes) & 1, .start = event.at, .end = event.at + take(bytes) * 1000000};
			break;
		case 2:
			event.kind = EVENT_SLOTS;
			event.u.slots = (struct event_slots){.slots = 1 + take(bytes) % 9, .why = "more"};
			break;
		default: tell_job(bytes, &event);
		}
		fn(arg, &event);
	}
	event = (struct event){.kind = EVENT_RUN_END, .at = event.at, .u.run_end = {.exit_status = 1}};
	fn(arg, &event);
}

// ---- the check ----

static const char *const void_tags[] = {"!doctype", "meta", NULL};
static const char *const other_tags[] = {
	"a", "article", "b", "body", "caption", "code", "dd", "div", "dl", "dt", "figcaption", "figure", "footer", "h1", "h2", "head", "header", "html", "i", "p", "pre",
	"script", "span", "strong", "style", "table", "tbody", "td", "tfoot", "th", "thead", "time", "title", "tr", "defs", "g", "path", "rect", "circle", "pattern", "svg", "text", NULL,
};

static bool is_in(const char *const *list, const char *name) {
	while (*list && strcmp(*list, name) != 0) {
		++list;
	}
	return *list != NULL;
}

static const char *skip_attributes(const char *at) {
	while (*at != '>' && strncmp(at, "/>", 2) != 0) {
		verify(*at == ' ' || *at == '\n');
		++at;
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-:0123456789");
		verify(len > 0 && !(at[0] == 'o' && at[1] == 'n')); // no handlers of events
		at += len;
		if (*at == '=') {
			verify(at[1] == '"' || isalnum((unsigned char)at[1]));
			if (at[1] == '"') {
				at += 2;
				len = strcspn(at, "\"<");
				verify(at[len] == '"');
				at += len + 1;
			} else {
				at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789._#%/");
			}
		}
	}
	return at;
}

static void check_reference(const char *at) {
	static const char *const names[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&nbsp;", "&middot;", "&ndash;", "&times;"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		if (strncmp(at, names[i], strlen(names[i])) == 0) {
			return;
		}
	}
	verify(false); // an & that is not escaped
}

static void check_well_formed(const char *text) {
	char open[64][16], name[16];
	size_t depth = 0;
	for (const char *at = text; *at; ++at) {
		verify((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
		if (*at == '&') {
			check_reference(at);
		}
		if (*at != '<') {
			continue;
		}
		bool closes = at[1] == '/';
		size_t len = 0;
		for (at += 1 + closes; isalnum((unsigned char)*at) || *at == '!'; ++at) {
			verify(len < sizeof(name) - 1);
			name[len++] = (char)tolower((unsigned char)*at);
		}
		name[len] = '\0';
		verify(is_in(void_tags, name) || is_in(other_tags, name));
		at = skip_attributes(at);
		if (closes) {
			verify(depth > 0 && strcmp(open[--depth], name) == 0 && *at == '>');
		} else if (*at == '>' && !is_in(void_tags, name)) {
			verify(depth < 64);
			memcpy(open[depth++], name, sizeof(name));
		}
		at += *at == '/';
		if (!closes && (strcmp(name, "script") == 0 || strcmp(name, "style") == 0)) { // their text is the program's own
			at = strstr(at, closes ? "" : strcmp(name, "script") == 0 ? "</script>" : "</style>") - 1;
		}
	}
	verify(depth == 0);
}

// Escaping what is UTF-8 already, and has nothing to escape but entities, shows whether it is.
static void check_utf8(const struct buf *text) {
	struct buf again = BUF_INIT, plain = BUF_INIT;
	for (size_t i = 0; i < text->len; ++i) {
		buf_addc(&plain, strchr("<>&\"'", text->data[i]) ? '.' : text->data[i]);
	}
	markup_add_output(&again, plain.data, plain.len);
	verify(again.len == plain.len && memcmp(again.data, plain.data, plain.len) == 0);
	buf_fini(&again);
	buf_fini(&plain);
}

// ---- the drawing, as record/pictures.c does it ----

struct drawing {
	struct run_stats *stats;
	struct first_pass first_pass;
	struct timeline timeline;
	struct rows rows;
};

static void tell_first_pass(void *arg, const struct event *event) {
	struct drawing *drawing = arg;
	stats_on_event(drawing->stats, event);
	first_pass_on_event(&drawing->first_pass, event);
}

static void tell_pictures(void *arg, const struct event *event) {
	struct drawing *drawing = arg;
	timeline_on_event(&drawing->timeline, event);
	rows_on_event(&drawing->rows, event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size > 3000) {
		return 0;
	}
	struct palette palette;
	struct drawing drawing = {.stats = NEW(struct run_stats)};
	first_pass_init(&drawing.first_pass);
	tell_run(&(struct bytes){data, data + size}, tell_first_pass, &drawing);
	first_pass_finish(&drawing.first_pass);
	stats_finish(drawing.stats, drawing.first_pass.attempts.last);
	palette_init(&palette, drawing.stats);
	timeline_init(&drawing.timeline, &palette, &drawing.first_pass);
	rows_init(&drawing.rows, &palette, &drawing.first_pass);
	tell_run(&(struct bytes){data, data + size}, tell_pictures, &drawing);
	attempts_finish(&drawing.timeline.attempts);
	struct buf page = BUF_INIT, svg = BUF_INIT;
	html_draw(&page, &drawing.timeline, &drawing.rows);
	svg_draw(&svg, &drawing.timeline, SVG_FILE);
	verify(strlen(buf_str(&page)) == page.len && strlen(buf_str(&svg)) == svg.len);
	check_well_formed(page.data);
	check_well_formed(svg.data);
	check_utf8(&page);
	check_utf8(&svg);
	buf_fini(&page);
	buf_fini(&svg);
	rows_fini(&drawing.rows);
	timeline_fini(&drawing.timeline);
	machines_fini(&drawing.first_pass.machines);
	stats_free(drawing.stats);
	return 0;
}
