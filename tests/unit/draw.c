// Pictures of a run: numbers and foreign text, lanes, bars and columns, the drawing, the page and the trace.

#include "base/text.h"
#include "draw/draw.h"

#include "base/alloc.h"
#include "base/sync.h"

#include "test.h"

// ---- a made-up run ----

enum { MS = 1000000 };
#define START (UINT64_C(1) << 40) // event time

struct sample {
	struct run_stats *stats;
	struct first_pass first_pass;
	struct palette palette;
	struct timeline timeline;
	struct rows rows;
	struct chrome *chrome;
	struct buf trace;
};

static void tell_first_pass(void *arg, const struct event *event) {
	struct sample *sample = arg;
	stats_on_event(sample->stats, event);
	first_pass_on_event(&sample->first_pass, event);
}

static void tell_second_pass(void *arg, const struct event *event) {
	struct sample *sample = arg;
	timeline_on_event(&sample->timeline, event);
	rows_on_event(&sample->rows, event);
	chrome_on_event(sample->chrome, event);
}

static void take_trace(void *arg, const char *text, size_t len) {
	buf_add(&((struct sample *)arg)->trace, text, len);
}

static void sample_make(struct sample *sample, void (*tell)(event_fn *fn, void *arg)) {
	*sample = (struct sample){.stats = NEW(struct run_stats), .trace = BUF_INIT};
	first_pass_init(&sample->first_pass);
	tell(tell_first_pass, sample);
	first_pass_finish(&sample->first_pass);
	stats_finish(sample->stats, sample->first_pass.attempts.last);
	palette_init(&sample->palette, sample->stats);
	timeline_init(&sample->timeline, &sample->palette, &sample->first_pass);
	rows_init(&sample->rows, &sample->palette, &sample->first_pass);
	sample->chrome = chrome_new(&sample->palette, &sample->first_pass, take_trace, sample);
	tell(tell_second_pass, sample);
	attempts_finish(&sample->timeline.attempts);
	chrome_finish(sample->chrome);
}

static void sample_free(struct sample *sample) {
	rows_fini(&sample->rows);
	timeline_fini(&sample->timeline);
	machines_fini(&sample->first_pass.machines);
	stats_free(sample->stats);
	buf_fini(&sample->trace);
}

struct teller {
	event_fn *fn;
	void *arg;
};

static void tell_run(struct teller teller, unsigned slots) {
	struct event event = {.kind = EVENT_RUN_START, .at = START, .u.run_start = {.run = "01JD5W", .version = "0.1.0",
		.host = "h", .cwd = "/", .argv = "fairpar\0</title><script>alert(1)</script>", .nargv = 2, .time_ns = UINT64_C(1700000000000000000), .slots = slots}};
	teller.fn(teller.arg, &event);
}

static void tell_start(struct teller teller, struct event_job id, uint64_t at_ms, enum event_source source, uint64_t from,
                       const char *command) {
	struct event event = {.kind = EVENT_JOB_START, .at = START + at_ms * MS, .u.job_start = {.id = id, .nslots = 1, .pid = 1,
		.source = source, .queued = 10 * MS, .why = WHY_TURN, .from = from, .command = command, .command_len = strlen(command)}};
	teller.fn(teller.arg, &event);
}

static void tell_end(struct teller teller, struct event_job id, uint64_t from_ms, uint64_t to_ms, enum event_source source,
                     enum outcome outcome, enum event_next next, const char *tail) {
	struct event event = {.kind = EVENT_JOB_END, .at = START + to_ms * MS, .u.job_end = {.id = id, .nslots = 1, .items = 1, .source = source,
		.result = {.outcome = outcome, .exit_code = outcome == OUTCOME_OK ? 0 : 1, .start = START + from_ms * MS,
		.end = START + to_ms * MS}, .queued = 10 * MS, .next = next, .tail = tail, .tail_len = tail ? strlen(tail) : 0}};
	teller.fn(teller.arg, &event);
}

static void tell_run_end(struct teller teller, uint64_t at_ms) {
	struct event event = {.kind = EVENT_RUN_END, .at = START + at_ms * MS};
	teller.fn(teller.arg, &event);
}

#define HOSTILE "\"><img src=x onerror=alert(1)></script>\x01\xFF'&"

// Two slots: a job that fails and is tried again and emits; what it emitted, stolen; one that is long-running, and one that
// never ends.
static void tell_small(event_fn *fn, void *arg) {
	struct teller teller = {fn, arg};
	struct event_job a1 = {.batch = "a", .number = 1, .seq = 1, .attempt = 1, .slot = 1};
	struct event_job a1_again = {.batch = "a", .number = 1, .seq = 1, .attempt = 2, .slot = 2};
	struct event_job b1 = {.batch = "b<", .number = 1, .seq = 2, .attempt = 1, .slot = 1};
	struct event_job c1 = {.batch = "long", .number = 1, .seq = 3, .attempt = 1, .slot = 3};
	struct event_job a2 = {.batch = "a", .number = 2, .seq = 4, .attempt = 1, .slot = 2};
	tell_run(teller, 2);
	tell_start(teller, c1, 0, FROM_LONG, 0, "watch");
	tell_start(teller, a1, 0, FROM_OWN, 0, HOSTILE);
	tell_end(teller, a1, 0, 100, FROM_OWN, OUTCOME_FAILED, NEXT_RETRY, NULL);
	tell_start(teller, a1_again, 200, FROM_OWN, 0, HOSTILE);
	tell_start(teller, b1, 250, FROM_STOLEN, 1, "true");
	tell_end(teller, a1_again, 200, 300, FROM_OWN, OUTCOME_FAILED, NEXT_NOTHING, "\033[31mred\033[0m </pre><script>\n");
	tell_end(teller, b1, 250, 350, FROM_STOLEN, OUTCOME_OK, NEXT_NOTHING, NULL);
	tell_start(teller, a2, 400, FROM_OWN, 0, "sleep inf");
	tell_end(teller, c1, 0, 1000, FROM_LONG, OUTCOME_OK, NEXT_NOTHING, NULL);
}

// 20,000 short jobs, of 20 batches, on four slots, each hundredth longer.
static void tell_many(event_fn *fn, void *arg) {
	struct teller teller = {fn, arg};
	uint64_t at[4] = {0};
	tell_run(teller, 4);
	for (unsigned n = 0; n < 20000; ++n) {
		unsigned slot = n % 4;
		char batch[16];
		snprintf(batch, sizeof(batch), "b%u", n % 20);
		struct event_job id = {.batch = batch, .number = n / 20 + 1, .seq = n + 1, .attempt = 1, .slot = slot + 1};
		uint64_t to = at[slot] + (n % 100 == 7 ? 200 : 2);
		tell_start(teller, id, at[slot], FROM_QUEUE, 0, "true");
		tell_end(teller, id, at[slot], to, FROM_QUEUE, n % 1000 == 1 ? OUTCOME_FAILED : OUTCOME_OK, NEXT_NOTHING, NULL);
		at[slot] = to;
	}
	tell_run_end(teller, at[3]);
}

// ---- figures ----

static void test_numbers(void) {
	struct buf buf = BUF_INIT;
	markup_add_count(&buf, 0);
	markup_add_count(&buf, 999);
	buf_addc(&buf, ' ');
	markup_add_count(&buf, 1000);
	buf_addc(&buf, ' ');
	markup_add_count(&buf, 1234005);
	buf_addc(&buf, ' ');
	markup_add_count(&buf, UINT64_MAX);
	check_string(buf_str(&buf), "0999 1,000 1,234,005 18,446,744,073,709,551,615");
	buf_fini(&buf);
}

static void test_escaping(void) {
	static const struct { const char *text, *escaped; } cases[] = {
		{"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
		{"\x1B[31m\t\x7F\n", "\xE2\x90\x9B[31m\xE2\x90\x89\xE2\x90\xA1\n"},
		{"\xFFx\xC3", "\xEF\xBF\xBDx\xEF\xBF\xBD"},
		{"\xC2\x85 \xEF\xBF\xBF \xE2\x80\xAE \xE2\x81\xA6", "\xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBD"},
		{"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80", "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"},
	};
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		buf_reset(&buf);
		markup_add_escaped(&buf, cases[i].text, strlen(cases[i].text));
		check_string(buf_str(&buf), cases[i].escaped);
	}
	buf_reset(&buf);
	static const char output[] = "\x1B[1;31mred\x1B[0m\tx\x1B[\x1B]0;title";
	markup_add_output(&buf, output, sizeof(output) - 1);
	check_string(buf_str(&buf), "red\tx\xE2\x90\x9B[\xE2\x90\x9B]0;title");
	buf_reset(&buf);
	markup_add_cut(&buf, "gr\xC3\xBC\xC3\x9F", 6, 3);
	check_string(buf_str(&buf), "gr…");
	buf_fini(&buf);
}

// ---- lanes and bars ----

static void test_small(void) {
	struct sample sample;
	sample_make(&sample, tell_small);
	const struct timeline *timeline = &sample.timeline;
	check_equal(timeline->slots, 2);
	check_equal(timeline->nslotless, 1);
	check_equal(timeline->nlanes, 3);
	check_equal(timeline->nbars, 5);
	check_equal(timeline->merged, 0);
	const struct bar *bars = timeline->bars; // in the order of their ends
	check_equal(bars[0].flags, BAR_FAILED);
	check_equal(bars[0].lane, 1);
	check_equal(bars[1].flags, BAR_FAILED | BAR_RETRIED);
	check_equal(bars[1].lane, 2);
	check_equal(bars[1].lead, START + 190 * MS); // it was queued for 10 ms
	check_equal(bars[2].flags, BAR_STOLEN);
	check_equal(bars[2].lead, START + 240 * MS);
	check_equal(bars[3].lane, 0); // long-running
	check_equal(bars[4].flags, BAR_OPEN);
	check_equal(bars[4].to, START + 1000 * MS); // as far as the log goes
	check(strstr(bars[0].text, "a#1 · exit 1 · 0.10s\nwaited 10.0ms for its turn\n\">"));
	check(strstr(bars[1].text, "attempt 2"));
	// shares: half of the slots for the first tenth
	unsigned a = palette_class(&sample.palette, "a");
	check(timeline->shares[10].part[a] > 0.499f && timeline->shares[10].part[a] < 0.501f);
	check(timeline->shares[TIMELINE_SHARES / 2].part[palette_class(&sample.palette, "long")] == 0);
	check_equal(sample.rows.n, 3); // what has ended
	// two attempts are one job: its attempts, its last slot; how long it waited, its start, its time
	check(strstr(sample.rows.text.data, ">a#1</th><td class=\"end bad\">exit 1</td><td class=\"n\">2</td><td class=\"n\">2</td>"
	             "<td class=\"n\">0.020</td><td class=\"n\">0.000</td><td class=\"n\">0.300</td>"));
	sample_free(&sample);
}

static void test_many(void) {
	struct sample sample;
	sample_make(&sample, tell_many);
	const struct timeline *timeline = &sample.timeline;
	check_equal(timeline->merged + timeline->nbars, 20000);
	check(timeline->nbars <= TIMELINE_BARS);
	check_equal(timeline->nbars, 200); // the longer ones
	check_equal(sample.palette.nclasses, PALETTE_OTHERS);
	check_equal(sample.palette.nothers, 6);
	double merged = 0, shares = 0;
	for (size_t i = 0; i < timeline->columns * timeline->nlanes; ++i) {
		for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
			merged += (double)timeline->cells[i].part[class];
		}
	}
	for (size_t i = 0; i < TIMELINE_SHARES; ++i) {
		double sum = 0;
		for (unsigned class = 0; class < PALETTE_CLASSES; ++class) {
			sum += (double)timeline->shares[i].part[class];
		}
		check(sum < 1.001);
		shares += sum;
	}
	double wall = (double)(timeline->end - timeline->start) / 1e6; // milliseconds
	double column = wall / (double)timeline->columns;
	check(merged * column > 0.999 * 19800 * 2 && merged * column < 1.001 * 19800 * 2);
	double busy = (19800 * 2 + 200 * 200) / (4 * wall);
	check(shares / TIMELINE_SHARES > busy - 0.001 && shares / TIMELINE_SHARES < busy + 0.001);
	check(sample.rows.n < ROWS_MARKED + ROWS_SLOWEST + ROWS_SAMPLE + 200);
	check(sample.rows.n > 2000);
	sample_free(&sample);
}

// One slot is used by two at once: a log that lies must not make them overlap.
static void tell_overlap(event_fn *fn, void *arg) {
	struct teller teller = {fn, arg};
	tell_run(teller, 1);
	for (unsigned n = 1; n <= 3; ++n) {
		struct event_job id = {.batch = "a", .number = n, .seq = n, .attempt = 1, .slot = n < 3 ? 1 : 0xFFFFFFFF};
		tell_start(teller, id, 10 * n, FROM_OWN, 0, "x");
		tell_end(teller, id, 0, 100 + n, FROM_OWN, OUTCOME_OK, NEXT_NOTHING, NULL);
	}
}

static void test_overlap(void) {
	struct sample sample;
	sample_make(&sample, tell_overlap);
	check_equal(sample.timeline.bars ? sample.timeline.nbars : 0, 0); // so many slots share lanes
	check_equal(sample.timeline.slots, LANES_SLOTS);
	check_equal(sample.timeline.merged, 3);
	check(strstr(buf_str(&sample.trace), "\"ts\":101000.000,\"dur\":1000.000,\"name\":\"a#2\""));
	sample_free(&sample);
}

// Three slots: a job that takes two of them, while another runs on the second.
static void tell_wide(event_fn *fn, void *arg) {
	struct teller teller = {fn, arg};
	struct event_job one = {.batch = "a", .number = 1, .seq = 1, .attempt = 1, .slot = 2};
	struct event_job wide = {.batch = "b", .number = 1, .seq = 2, .attempt = 1, .slot = 1};
	tell_run(teller, 3);
	tell_start(teller, one, 50, FROM_OWN, 0, "x");
	struct event start = {.kind = EVENT_JOB_START, .at = START, .u.job_start = {.id = wide, .nslots = 2, .command = ""}};
	fn(arg, &start);
	tell_end(teller, wide, 0, 100, FROM_OWN, OUTCOME_FAILED, NEXT_NOTHING, NULL);
	tell_end(teller, one, 50, 120, FROM_OWN, OUTCOME_OK, NEXT_NOTHING, NULL);
}

static void test_wide(void) {
	struct sample sample;
	sample_make(&sample, tell_wide);
	const struct bar *bars = sample.timeline.bars;
	check_equal(sample.timeline.nbars, 3);
	check_equal(bars[0].lane, 0);
	check_equal(bars[0].flags, BAR_FAILED);
	check_equal(bars[1].lane, 2);
	check_equal(bars[1].flags, BAR_FAILED | BAR_MORE);
	check_equal(bars[2].lane, 1);
	check(sample.timeline.shares[10].part[palette_class(&sample.palette, "b")] > 0.66f);
	sample_free(&sample);
}

static void tell_nothing(event_fn *fn, void *arg) {
	struct teller teller = {fn, arg};
	tell_run(teller, 3);
}

static void test_empty(void) {
	struct sample sample;
	sample_make(&sample, tell_nothing);
	struct buf buf = BUF_INIT;
	html_draw(&buf, &sample.timeline, &sample.rows);
	check(strstr(buf_str(&buf), "<svg ") && !strstr(buf_str(&buf), "id=\"jobs\""));
	check(!strstr(buf_str(&buf), "nan"));
	buf_fini(&buf);
	sample_free(&sample);
}

static void test_longest(void) {
	static struct first_pass first_pass;
	first_pass_init(&first_pass);
	for (uint64_t ns = 1; ns <= 1000; ++ns) {
		struct event event = {.kind = EVENT_JOB_END, .u.job_end = {
			.id = {.batch = "a", .number = ns, .slot = (unsigned)ns}, .result = {.start = 5, .end = 5 + ns * ns},
		}};
		first_pass_on_event(&first_pass, &event);
	}
	first_pass_finish(&first_pass);
	check_equal(first_pass_longest(&first_pass, 1000), 0);
	uint64_t ns = first_pass_longest(&first_pass, 100);
	check(ns > 810000 && ns < 900000); // by an eighth too much
	check(first_pass_longest(&first_pass, 0) > 1000000);
	machines_fini(&first_pass.machines);
}

static void test_machines(void) {
	struct machines machines = {0};
	check(!machines_set_rows(&machines) && !machines_find(&machines, "n1"));
	machines_enter(&machines, "n10", 1);
	machines_enter(&machines, "n9", 2);
	machines_enter(&machines, "n9", 1);
	machines_leave(&machines, "n9", 2);
	machines_enter(&machines, "n9", 1);
	machines_enter(&machines, NULL, 1);
	machines_leave(&machines, NULL, 9);
	check(machines_set_rows(&machines));
	check_equal(machines.rows, 5);
	check_equal(machines_find(&machines, NULL)->first, 0);
	check_equal(machines_find(&machines, "n9")->first, 1);
	check_equal(machines_find(&machines, "n9")->rows, 3);
	check_equal(machines_find(&machines, "n10")->first, 4);
	check(strcmp(machines_at(&machines, 3)->name, "n9") == 0);
	machines_fini(&machines);
	for (int i = 0; i < 2 * MACHINES_MAX; ++i) { // a damaged log
		char name[20];
		snprintf(name, sizeof(name), "m%d", i);
		machines_enter(&machines, name, MACHINES_ROWS);
	}
	check(machines_set_rows(&machines));
	check_equal(machines.n, MACHINES_MAX);
	check_equal(machines.rows, MACHINES_ROWS);
	check(machines_find(&machines, "m7")->first < MACHINES_ROWS);
	machines_fini(&machines);
}

static void test_ticks(void) {
	struct timeline timeline = {.start = 0};
	static const struct { uint64_t span, tick; } cases[] = {
		{1, 1000}, {5000000, 500000}, {5600000000, 500000000}, {29500000000, 5000000000}, {UINT64_C(711000000000), 60 * NS_PER_S},
		{90 * 3600 * NS_PER_S, 12 * 3600 * NS_PER_S}, {30 * 86400 * NS_PER_S, 4 * 86400 * NS_PER_S},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		timeline.end = cases[i].span;
		check_equal(timeline_tick(&timeline, 12), cases[i].tick);
	}
}

// ---- what is written ----

static size_t count(const char *text, const char *part) {
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
		++n;
	}
	return n;
}

static void test_page(void) {
	struct sample sample;
	sample_make(&sample, tell_small);
	struct buf buf = BUF_INIT;
	html_draw(&buf, &sample.timeline, &sample.rows);
	const char *text = buf_str(&buf);
	check_equal(strlen(text), buf.len); // no NUL
	check_equal(count(text, "<script"), 1);
	check_equal(count(text, "</script>"), 1);
	check_equal(count(text, "<img"), 0);
	check_equal(count(text, "<html"), 1);
	check_equal(count(text, "http:"), 1); // the name space of SVG
	check_equal(count(text, "https:"), 0);
	check_equal(count(text, "://"), 1);
	check(strstr(text, html_script_hash));
	check(strstr(text, "default-src 'none'"));
	check(strstr(text, "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&lt;/script&gt;\xE2\x90\x81\xEF\xBF\xBD&#39;&amp;"));
	check(strstr(text, "red &lt;/pre&gt;&lt;script&gt;\n"));
	check(strstr(text, "The log ends before the run did"));
	buf_fini(&buf);
	sample_free(&sample);
}

static void test_trace(void) {
	struct sample sample;
	sample_make(&sample, tell_small);
	const char *text = buf_str(&sample.trace);
	check_equal(count(text, "\"ph\":\"X\""), 5);
	check_equal(count(text, "\"ph\":\"i\""), 2);
	check_equal(count(text, "\"ph\":\"s\""), 2); // the retry, and what was emitted
	check_equal(count(text, "\"ph\":\"f\""), 2);
	check(strstr(text, "{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":99999.000,\"id\":1,\"cat\":\"flow\",\"name\":\"retry\""));
	check(strstr(text, "{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":200000.000,\"bp\":\"e\",\"id\":1,"));
	check(strstr(text, "{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":240000.000,\"id\":2,\"cat\":\"flow\",\"name\":\"emits\""));
	check(strstr(text, "\"name\":\"queue b<\""));
	check(strstr(text, "\"args\":{\"name\":\"long-running 1\"}"));
	sample_free(&sample);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("numbers have their thousands apart", test_numbers),
		TEST("foreign text cannot leave its place", test_escaping),
		TEST("each attempt has its bar, in its lane, with its signs", test_small),
		TEST("many short ones become columns, and no time is lost", test_many),
		TEST("a log that lies does not make slices overlap", test_overlap),
		TEST("a job of several slots has as many bars", test_wide),
		TEST("a run without jobs can be drawn", test_empty),
		TEST("the longest of many are found", test_longest),
		TEST("machines have rows as many as they ran jobs at once", test_machines),
		TEST("the marks of the axis are round", test_ticks),
		TEST("the page shows hostile text and runs nothing of it", test_page),
		TEST("the trace has slices, instants, arrows with both ends, and counters", test_trace),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
