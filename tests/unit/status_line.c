// The status line: text from numbers.

#include "report/status_line.h"

#include "base/sync.h"
#include "base/text.h"

#include "test.h"

static const struct status_form ascii = {.width = 0}, utf8 = {.utf8 = true};

static const struct status_batch batches[] = {
	{.name = "thumbs", .finished = 31, .running = 4, .jobs = 120},
	{.name = "waits", .jobs = 3},
	{.name = "done", .finished = 7, .jobs = 7},
	{.name = "tests", .finished = 20, .running = 2, .jobs = 60},
	{.name = "transcode", .finished = 6, .running = 2, .jobs = 14},
};

static struct status numbers(void) {
	return (struct status){
		.finished = 57, .running = 8, .failed = 1, .jobs = 204,
		.eta = 21 * NS_PER_S, .mean = 1500 * (uint64_t)NS_PER_MS, .batches = batches, .nbatches = 5,
		.item = "a.png",
	};
}

#define check_line(add, expected) do { struct buf buf_ = BUF_INIT; add; check_string(buf_str(&buf_), expected); buf_fini(&buf_); } while (0)

static void test_line(void) {
	struct status status = numbers();
	check_line(status_add_line(&buf_, &status, &utf8),
	           "[ 57/204 27%] 8 running · thumbs 31/120 · tests 20/60 · transcode 6/14 · 1 failed · ETA 21s");
	check_line(status_add_line(&buf_, &status, &ascii),
	           "[ 57/204 27%] 8 running, thumbs 31/120, tests 20/60, transcode 6/14, 1 failed, ETA 21s");
	status.open = true;
	status.eta = NOT_KNOWN;
	status.failed = 0;
	status.nbatches = 1; // the only one says nothing new
	check_line(status_add_line(&buf_, &status, &utf8), "[57/?] 8 running");
	struct status_form details = {.details = true};
	check_line(status_add_line(&buf_, &status, &details), "[57/?] 8 running, ETA ?, 1.50s each");
	status.open = false;
	check_line(status_add_line(&buf_, &status, &details), "[ 57/204 27%] 8 running, ETA ?, 147 left, 1.50s each");
	status.slots = 12;
	check_line(status_add_line(&buf_, &status, &utf8), "[ 57/204 27%] 8 of 12 running");
	status.slots_why = "jobs sleep";
	check_line(status_add_line(&buf_, &status, &utf8), "[ 57/204 27%] 8 of 12 running (jobs sleep)");
	check_line(status_add_line(&buf_, &status, &(struct status_form){.width = 41}), "[ 57/204 27%] 8 of 12 running");
	status.awaited = "ci";
	check_line(status_add_line(&buf_, &status, &utf8), "[ 57/204 27%] waits for pool ci");
	status.awaited = NULL;
}

static void test_narrow(void) {
	struct status status = numbers();
	static const struct { unsigned width; const char *text; } lines[] = {
		{91, "[ 57/204 27%] 8 running · thumbs 31/120 · tests 20/60 · transcode 6/14 · 1 failed · ETA 21s"},
		{90, "[ 57/204 27%] 8 running · thumbs 31/120 · tests 20/60 · +1 more · 1 failed · ETA 21s"},
		{70, "[ 57/204 27%] 8 running · thumbs 31/120 · +2 more · 1 failed · ETA 21s"},
		{62, "[ 57/204 27%] 8 running · +3 more · 1 failed · ETA 21s"},
		{54, "[ 57/204 27%] 8 running · +3 more · 1 failed · ETA 21s"},
		{53, "[ 57/204 27%] 8 running · 1 failed · ETA 21s"},
		{43, "[ 57/204 27%] 1 failed · ETA 21s"},
		{29, "[ 57/204 27%] 1 failed"},
		{19, "[ 57/204 27%]"},
		{12, "[ 57...27%]"},
		{2, ".."},
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
		struct status_form form = {.utf8 = true, .width = lines[i].width};
		check_line(status_add_line(&buf_, &status, &form), lines[i].text);
	}
}

static void test_batch_times(void) {
	struct status status = numbers();
	struct status_batch timed[5];
	memcpy(timed, batches, sizeof(timed));
	timed[0].eta = 12 * NS_PER_S;
	timed[3].eta = 25 * 60 * NS_PER_S;
	timed[4].eta = NOT_KNOWN;
	timed[4].running = 2;
	status.batches = timed;
	struct status_form form = {.utf8 = true};
	const char *all = "[ 57/204 27%] 8 running · thumbs 31/120 12s · tests 20/60 ~25m · transcode 6/14 · 1 failed · ETA 21s";
	check_line(status_add_line(&buf_, &status, &form), all);
	form.width = (unsigned)text_columns(all, strlen(all));
	check_line(status_add_line(&buf_, &status, &form), all);
	timed[4].eta = NS_PER_S / 3; // no "0s"
	check_line(status_add_line(&buf_, &status, &form), all);
	--form.width; // all or none
	check_line(status_add_line(&buf_, &status, &form),
	           "[ 57/204 27%] 8 running · thumbs 31/120 · tests 20/60 · transcode 6/14 · 1 failed · ETA 21s");
}

static void test_narrow_details(void) {
	struct status status = numbers();
	static const struct { unsigned width; const char *text; } lines[] = {
		{70, "[ 57/204 27%] 8 running, +3 more, 1 failed, ETA 21s, 147 left"},
		{60, "[ 57/204 27%] 8 running, +3 more, 1 failed, ETA 21s"},
		{29, "[ 57/204 27%] 1 failed"},
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
		struct status_form form = {.details = true, .width = lines[i].width};
		check_line(status_add_line(&buf_, &status, &form), lines[i].text);
	}
	status.open = true;
	status.eta = NOT_KNOWN;
	status.failed = 0;
	struct status_form form = {.width = 19};
	check_line(status_add_line(&buf_, &status, &form), "[57/?] 8 running");
	form.width = 9;
	check_line(status_add_line(&buf_, &status, &form), "[57/?]");
	form.width = 5;
	check_line(status_add_line(&buf_, &status, &form), "[...]");
	form.width = 1;
	check_line(status_add_line(&buf_, &status, &form), ".");
}

static void test_wide_names(void) {
	struct status_batch wide[] = {{.name = "日本語", .finished = 1, .running = 1, .jobs = 9}, {.name = "é", .finished = 1, .running = 1, .jobs = 9}};
	struct status status = {.running = 2, .finished = 2, .jobs = 18, .batches = wide, .nbatches = 2, .eta = NOT_KNOWN, .mean = NOT_KNOWN};
	struct status_form form = {.utf8 = true, .width = 42};
	check_line(status_add_line(&buf_, &status, &form), "[ 2/18 11%] 2 running · 日本語 1/9 · é 1/9");
	form.width = 41;
	check_line(status_add_line(&buf_, &status, &form), "[ 2/18 11%] 2 running · +2 more");
	form.width = 43;
	wide[0].name = "日本語\xEF\xB8\x8F"; // drawn wide by some terminals: a column too many does no harm
	check_line(status_add_line(&buf_, &status, &form), "[ 2/18 11%] 2 running · 日本語\xEF\xB8\x8F 1/9 · é 1/9");
}

static void test_colour(void) {
	struct status status = numbers();
	struct status_form form = {.colour = true, .width = 62};
	check_line(status_add_line(&buf_, &status, &form), "[ 57/204 27%] 8 running, +3 more, \033[31m1 failed\033[m, ETA 21s");
	form.width = 25;
	check_line(status_add_line(&buf_, &status, &form), "[ 57/204 27%] \033[31m1 failed\033[m");
	form.width = 9;
	check_line(status_add_line(&buf_, &status, &form), "[ 5...7%]");
	struct status_batch misleading[] = {{.name = "1 failed", .running = 1, .jobs = 2}, {.name = "b", .running = 1, .jobs = 2}};
	status.batches = misleading;
	status.nbatches = 2;
	form.width = 0;
	check_line(status_add_line(&buf_, &status, &form), "[ 57/204 27%] 8 running, 1 failed 0/2, b 0/2, \033[31m1 failed\033[m, ETA 21s");
}

static size_t columns(const char *text) {
	return text_columns(text, strlen(text));
}

static void test_columns(void) {
	check_equal(columns("abc"), 3);
	check_equal(columns("\033[31mabc\033[m"), 3);
	check_equal(columns("é日本"), 5);
	check_equal(columns("e\xCC\x81"), 1); // with a combining accent
	check_equal(columns("\xF0\x9F\x98\x80"), 2); // a smiling face
	struct buf buf = BUF_INIT;
	buf_adds(&buf, "日本日本日本");
	status_cut(&buf, 8);
	check_string(buf.data, "日...本"); // two and a half do not fit
	buf_reset(&buf);
	buf_adds(&buf, "abcdefe\xCC\x81zz");
	status_cut(&buf, 7);
	check_string(buf.data, "ab...zz");
	buf_reset(&buf);
	buf_adds(&buf, "abcdef");
	status_cut(&buf, 6);
	check_string(buf.data, "abcdef");
	status_cut(&buf, 0);
	check_string(buf.data, "");
	buf_fini(&buf);
}

static void test_foreign_text(void) {
	struct status_batch hostile[] = {{.name = "a\033[2Jb\n", .finished = 1, .running = 1, .jobs = 2}, {.name = "é", .finished = 1, .jobs = 3}};
	struct status status = {.finished = 2, .jobs = 5, .batches = hostile, .nbatches = 2, .eta = NOT_KNOWN, .mean = NOT_KNOWN};
	check_line(status_add_line(&buf_, &status, &ascii), "[2/5 40%] 0 running, a\\x1B[2Jb\\n 1/2, ?? 1/3");
}

static void test_times(void) {
	static const struct { uint64_t s; const char *text; } times[] = {
		{0, "0s"}, {59, "59s"}, {60, "1m00s"}, {264, "4m20s"}, {594, "9m50s"}, {595, "~10m"}, {1500, "~25m"},
		{10800, "~3h"}, {48 * 3600, "~2d"}, {NOT_KNOWN / NS_PER_S, NULL},
	};
	for (size_t i = 0; times[i].text; ++i) {
		check_line(status_add_time(&buf_, times[i].s * NS_PER_S), times[i].text);
	}
	check_line(status_add_time(&buf_, NOT_KNOWN), "?");
}

static void test_bar(void) {
	struct status status = numbers();
	struct status_form form = {.width = 30, .colour = true, .utf8 = true};
	check_line(status_add_bar(&buf_, &status, &form), "\033[7m27% 57:1\033[m47=21s a.png          \033[m");
	form.colour = false;
	check_line(status_add_bar(&buf_, &status, &form), "[##        ] 27% 57:147=21s");
	form.width = 29;
	check_line(status_add_bar(&buf_, &status, &form), "27% 57:147=21s a.png");
	form.width = 19; // less of the item than would tell anything
	check_line(status_add_bar(&buf_, &status, &form), "27% 57:147=21s");
	form.width = 13;
	check_line(status_add_bar(&buf_, &status, &form), "27% 57:147");
	form.width = 9;
	check_line(status_add_bar(&buf_, &status, &form), "27%");
	form.width = 25;
	status.item = "a-long-name.png";
	check_line(status_add_bar(&buf_, &status, &form), "27% 57:147=21s a-l...png");
	status.item = "a.png";
	form.width = 40;
	check_line(status_add_bar(&buf_, &status, &form), "[###          ] 27% 57:147=21s a.png");
	status.open = true;
	status.eta = NOT_KNOWN;
	check_line(status_add_bar(&buf_, &status, &form), "[             ] ?% 57:?=? a.png");
	status.open = false;
	status.finished = 204;
	check_equal(status_percent(&status), 100);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the line names what is at work, what failed and the ETA", test_line),
		TEST("a narrow line leaves out whole parts, the least important first", test_narrow),
		TEST("a wide line has the time that is left of each batch", test_batch_times),
		TEST("a narrow line leaves out details before anything else", test_narrow_details),
		TEST("names of wide characters take the columns that they are drawn in", test_wide_names),
		TEST("failures are red unless there is no room for them, and nothing else is", test_colour),
		TEST("columns are those of wide, combining and coloured characters", test_columns),
		TEST("text of others cannot drive the terminal", test_foreign_text),
		TEST("times are said as people say them", test_times),
		TEST("the bar is as wide as the terminal, and its length the percentage", test_bar),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
