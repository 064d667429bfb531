// Logs of events, read back: whole, from a newer fairpar, cut off, damaged and hostile.

#include "base/json.h"
#include "base/temp_file.h"
#include "log/event_log.h"

#include "base/buf.h"
#include "base/io.h"

#include "test.h"

#include <errno.h>
#include <stdbool.h>

#define HEAD "{\"v\":1,\"ev\":\"run_start\",\"t\":0.000000,\"time\":\"2026-11-21T08:00:00.250Z\",\"run\":\"01RUN\",\"slots\":4}\n"

static struct buf told, messages;

static void tell_job(const struct event_job *id) {
	buf_printf(&told, " %s#%llu", id->batch, (unsigned long long)id->number);
	if (id->role != ROLE_JOB || id->step > 0 || id->attempt != 1) {
		buf_printf(&told, " %d/%u/%u", (int)id->role, id->step, id->attempt);
	}
}

static void tell_strings(const char *at, uint32_t n) {
	for (; n > 0; --n, at += strlen(at) + 1) {
		buf_printf(&told, " <%s>", at);
	}
}

static void tell(void *arg, const struct event *event) {
	(void)arg;
	buf_printf(&told, "%d@%llu", (int)event->kind, (unsigned long long)(event->at - 1000000000) / 1000);
	switch (event->kind) {
	case EVENT_RUN_START:
		buf_printf(&told, " %s %u", event->u.run_start.run, event->u.run_start.slots);
		tell_strings(event->u.run_start.argv, event->u.run_start.nargv);
		break;
	case EVENT_JOB_START: {
		const struct event_job_start *start = &event->u.job_start;
		tell_job(&start->id);
		buf_printf(&told, " %s", start->command);
		tell_strings(start->args, start->nargs);
		break;
	}
	case EVENT_JOB_END: {
		const struct event_job_end *end = &event->u.job_end;
		tell_job(&end->id);
		buf_printf(&told, " %s %d %u %s", outcome_names[end->result.outcome], end->result.exit_code, end->nslots,
		           end->command ? end->command : "-");
		break;
	}
	case EVENT_BATCH_START:
		buf_printf(&told, " %s %lld", event->u.batch.batch, (long long)event->u.batch.jobs);
		break;
	default:
		break;
	}
	buf_addc(&told, '\n');
}

static int read_bytes(const char *log, size_t len) {
	int fd = tmpfile_open("/tmp");
	check(fd >= 0);
	check(write_all(fd, log, len) == 0);
	buf_reset(&told);
	buf_reset(&messages);
	int result = eventread(fd, "x.jsonl", tell, NULL, &messages);
	struct buf first = told;
	told = (struct buf)BUF_INIT;
	struct buf again = BUF_INIT; // a file may be read again
	check(eventread(fd, "x.jsonl", tell, NULL, &again) == result);
	check_string(buf_str(&told), buf_str(&first));
	buf_fini(&again);
	buf_fini(&first);
	close(fd);
	return result;
}

static int read_log(const char *log) {
	return read_bytes(log, strlen(log));
}

static void test_all(void) {
	check_equal(read_log(
		"{\"v\":1,\"ev\":\"run_start\",\"t\":0,\"run\":\"01RUN\",\"slots\":2,\"argv\":[\"fairpar\",\"a\\\"b\"]}\n"
		"{\"v\":1,\"ev\":\"batch_start\",\"t\":0.000001,\"batch\":\"a\",\"weight\":2,\"priority\":-3,\"max_parallel\":null,\"jobs\":null}\n"
		"{\"v\":1,\"ev\":\"job_start\",\"t\":0.5,\"job\":\"a#1\",\"batch\":\"a\",\"seq\":1,\"attempt\":1,\"slot\":1,\"nslots\":3,"
		"\"pid\":77,\"source\":\"queue\",\"lag\":-0.25,\"queued\":0.25,\"cmd\":\"echo \\u00e4 \\ud83d\\ude00\",\"args\":[\"x\",\"\"]}\n"
		"{\"v\":1,\"ev\":\"job_end\",\"t\":1.25,\"job\":\"a#1\",\"batch\":\"a\",\"seq\":1,\"attempt\":1,\"slot\":1,\"status\":\"failed\","
		"\"exit\":3,\"signal\":null,\"queued\":0.25,\"start\":0.5,\"wall\":0.75,\"maxrss\":1048576}\n"
		"{\"v\":1,\"ev\":\"run_end\",\"t\":2,\"exit\":1}\n"), 0);
	check_string(buf_str(&messages), "");
	check_string(buf_str(&told), "0@0 01RUN 2 <fairpar> <a\"b>\n1@1 a -1\n2@500000 a#1 echo \303\244 \360\237\230\200 <x> <>\n"
	             "4@1250000 a#1 failed 3 3 echo \303\244 \360\237\230\200\n11@2000000\n");
}

static void keep(void *arg, const struct event *event) {
	struct event *kept = arg;
	if (event->kind == EVENT_JOB_END || event->kind == EVENT_RUN_START) {
		kept[event->kind == EVENT_JOB_END] = *event;
	}
}

static void test_numbers(void) {
	static const char log[] = HEAD
		"{\"v\":1,\"ev\":\"job_end\",\"t\":1.250001,\"job\":\"a#18446744073709551615\",\"batch\":\"a\",\"seq\":9,\"attempt\":2,"
		"\"slot\":1,\"status\":\"signal\",\"exit\":0,\"signal\":9,\"oom\":true,\"queued\":0.000001,\"start\":0.5,\"wall\":0.750001,"
		"\"user\":0.25,\"sys\":1.5,\"maxrss\":1048576,\"nvcsw\":3,\"nivcsw\":4,\"out_bytes\":5,\"err_bytes\":6,\"next\":\"retry\",\"items\":7}\n";
	struct event kept[2];
	int fd = tmpfile_open("/tmp");
	check(write_all(fd, log, sizeof(log) - 1) == 0);
	check_equal(eventread(fd, "x", keep, kept, &messages), 0);
	check(kept[0].u.run_start.time_ns == UINT64_C(1795248000250000000)); // date -d 2026-11-21T08:00Z +%s
	const struct event_job_end *end = &kept[1].u.job_end;
	check_equal(end->items, 7);
	check(end->id.number == UINT64_MAX && end->id.seq == 9 && end->id.attempt == 2);
	check_equal(end->result.start, 1500000000);
	check_equal(end->result.end - end->result.start, 750001000);
	check_equal(end->result.term_signal, 9);
	check(end->result.out_of_memory && end->next == NEXT_RETRY && !end->allowed);
	check_equal(end->queued, 1000);
	check_equal(end->result.user, 250000000);
	check_equal(end->result.sys, 1500000000);
	check_equal(end->result.maxrss, 1024 * 1024);
	check_equal(end->result.nivcsw, 4);
	check_equal(end->err_bytes, 6);
	check_equal(end->nslots, 1);
}

static void test_exact_bytes(void) {
	check_equal(read_log(HEAD
		"{\"v\":1,\"ev\":\"job_start\",\"t\":1,\"job\":\"\\ufffd#2\",\"job_b64\":\"/yMy\",\"batch\":\"\\ufffd\",\"batch_b64\":\"/w==\","
		"\"cmd\":\"echo \\ufffd\",\"cmd_b64\":\"ZWNobyD+\",\"args\":[\"a\",\"\\ufffd\"],\"args_b64\":[null,\"/g==\"]}\n"), 0);
	check_string(strchr(buf_str(&told), '\n') + 1, "2@1000000 \xFF#2 echo \xFE <a> <\xFE>\n");
}

static void test_what_is_not_known(void) {
	check_equal(read_log(HEAD
		"{\"v\":1,\"ev\":\"moon\",\"t\":1,\"phase\":{\"a\":[1,2,{\"b\":[]}]}}\n"
		"{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"new\":[[\"x\"]],\"batch\":\"a\",\"more\":-1.5e+9}\n"
		"{\"v\":1,\"ev\":\"wait\",\"t\":1,\"batch\":\"a\",\"why\":\"moonlight\"}\n"), 0);
	check_string(buf_str(&messages), "");
	check_string(strchr(buf_str(&told), '\n') + 1, "1@1000000 a -1\n");
}

static void test_cut_off(void) {
	check_equal(read_log(HEAD "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"bat"), 0);
	check_string(buf_str(&messages), "x.jsonl:2: warning: the log was cut off here\n");
	check_equal(read_log(HEAD "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"a\"}"), 0); // only its newline is missing
	check_string(buf_str(&messages), "");
	check_equal(read_bytes(HEAD "\0\0\0\0\0", sizeof(HEAD "\0\0\0\0\0") - 1), 0);
	check_string(buf_str(&messages), "x.jsonl:2: warning: the log was cut off here\n");
}

static void test_mistakes(void) {
	static const struct { const char *log, *message; } cases[] = {
		{"", "x.jsonl: error: the log has no run\n"},
		{"hello\n", "x.jsonl:1: error: this is no JSON object\n"},
		{"hello", "x.jsonl:1: error: this is no JSON object\n"},
		{"{}\n", "x.jsonl:1: error: this is not an event of a fairpar log\n"},
		{"{\"v\":2,\"ev\":\"run_start\",\"t\":0}\n", "x.jsonl:1: error: the version is not 1: a newer fairpar may read the log\n"},
		{"{\"v\":1,\"ev\":\"run_end\",\"t\":0}\n", "x.jsonl:1: error: this is not the beginning of a log\n"},
		{HEAD "{\"v\":1,\"ev\":\n" HEAD, NULL}, // the last run counts
		{"garbage\n{\"a\":1}\n", "x.jsonl:1: error: this is no JSON object\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		check_equal(read_log(cases[i].log), cases[i].message ? -1 : 0);
		check_string(buf_str(&messages), cases[i].message ? cases[i].message : "");
	}
}

// What cannot be read is left out, and the rest is told.
static void test_damage(void) {
	static const char after[] = "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"z\"}\n";
	static const struct { const char *line, *damage; } cases[] = {
		{"garbage\n", "this is no JSON object"},
		{"{\"v\":1,\"ev\":\"wait\"}\n", "\"t\" is missing"},
		{"{\"v\":1,\"t\":1}\n", "\"ev\" is missing"},
		{"{\"v\":1,\"ev\":\"batch_start\",\"t\":1}\n", "\"batch\" is missing"},
		{"{\"v\":[\"a\",\"b\"]}\n", "\"v\" is not a whole number from 0 to 18446744073709551615"},
		{"{\"v\":1,\"ev\":\"batch_start\",\"t\":-1,\"batch\":\"a\"}\n", "\"t\" is no number of seconds"},
		{"{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"a\\u0000b\"}\n",
		 "\"batch\" has a NUL in it"},
		{"{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"a\",\"batch_b64\":\"====\"}\n",
		 "\"batch_b64\" is no base64"},
		{"{\"v\":1,\"ev\":\"job_end\",\"t\":1,\"job\":\"a#1\",\"batch\":\"a\",\"status\":\"fine\"}\n",
		 "\"status\" has an unknown value"},
		{"{\"v\":1,\"ev\":\"job_start\",\"t\":1,\"job\":\"a#1\",\"batch\":\"a\",\"slot\":4000000000}\n",
		 "\"slot\" is not a whole number from 0 to 1000000"},
		{"{\"v\":1,\"ev\":\"job_start\",\"t\":1,\"job\":\"a#1\",\"batch\":\"a\",\"args\":[\"a\\u0000b\"]}\n",
		 "\"args\" has a NUL in it"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		struct buf log = BUF_INIT, message = BUF_INIT;
		buf_printf(&log, HEAD "%s%s%s", cases[i].line, after, cases[i].line);
		buf_printf(&message, "x.jsonl:2: warning: 2 lines are damaged, and what cannot be read is left out; here the first one: %s\n",
		           cases[i].damage);
		check_equal(read_log(buf_str(&log)), 0);
		check_string(buf_str(&messages), buf_str(&message));
		check_string(buf_str(&told), "0@0 01RUN 4\n1@1000000 z -1\n");
		buf_fini(&log);
		buf_fini(&message);
	}
}

// A crash of the machine leaves a block of NULs.
static void test_nuls(void) {
	static const char after[] = "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"z\"}\n";
	struct buf log = BUF_INIT;
	for (int place = 0; place < 2; ++place) { // within a line, longer than a line may be
		buf_reset(&log);
		buf_adds(&log, HEAD);
		buf_adds(&log, place == 0 ? "{\"v\":1,\"e" : "");
		size_t n = place == 1 ? EVENTREAD_LINE_MAX + 200000 : 5000;
		memset(buf_reserve(&log, n), 0, n);
		log.len += n;
		buf_adds(&log, place == 0 ? "t\":1}\n" : "\n");
		buf_adds(&log, after);
		check_equal(read_bytes(log.data, log.len), 0);
		check_string(buf_str(&told), "0@0 01RUN 4\n1@1000000 z -1\n");
		check_string(buf_str(&messages), "x.jsonl:2: warning: 1 line is damaged, and what cannot be read is left out: "
		             "the line has NUL bytes, or more than 64 MiB\n");
	}
	buf_fini(&log);
}

// Without its first line a log has no facts of its run, but its jobs.
static void test_damaged_start(void) {
	check_equal(read_log("{\"v\":1,\"ev\":\"run_start\",\"t\":0.000000,\"ti\n"
	                     "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"z\"}\n"), 0);
	check_string(buf_str(&told), "0@0  0\n1@1000000 z -1\n");
	check_string(strstr(buf_str(&messages), "warning: 1 line is damaged") ? "" : buf_str(&messages), "");
}

static void test_last_run(void) {
	check_equal(read_log(HEAD "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"old\"}\n" HEAD
	                     "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"new\"}\n"), 0);
	check_string(buf_str(&told), "0@0 01RUN 4\n1@1000000 new -1\n");
	check_equal(read_log(HEAD HEAD "x\n"), 0);
	check_string(strstr(buf_str(&messages), "x.jsonl:3: warning: 1 line is damaged") ? "" : buf_str(&messages), "");
}

static int read_pipe(const char *log) {
	int fds[2];
	check(pipe(fds) == 0);
	check(write_all(fds[1], log, strlen(log)) == 0);
	close(fds[1]);
	buf_reset(&told);
	buf_reset(&messages);
	int result = eventread(fds[0], "-", tell, NULL, &messages);
	close(fds[0]);
	return result;
}

static void test_pipe(void) {
	check_equal(read_pipe(HEAD "{\"v\":1,\"ev\":\"batch_start\",\"t\":1,\"batch\":\"a\"}\n"), 0);
	check_string(buf_str(&told), "0@0 01RUN 4\n1@1000000 a -1\n");
	check_equal(read_pipe(HEAD HEAD), -1);
	check_string(buf_str(&messages),
	             "-:2: error: a second run begins here: if a log has several runs, it must be read from a file, not from a pipe\n");
}

// Each text with whether it is JSON, by RFC 8259.
static void test_json(void) {
	static const struct { const char *text; bool ok; } cases[] = {
		{"{}", true}, {" { } ", true}, {"{\"a\":1}", true}, {"{\"a\" : [ ] , \"b\" : { } }", true}, {"{\"a\":-0.5E-7}", true},
		{"{\"a\":\"\\b\\f\\n\\r\\t\\/\\\\\\\"\"}", true}, {"{\"\":null}", true}, {"{\"a\":[1,[2]]}", true},
		{"", false}, {"{", false}, {"[]", false}, {"{\"a\"}", false}, {"{\"a\":}", false}, {"{\"a\":1,}", false},
		{"{,\"a\":1}", false}, {"{\"a\":01}", false}, {"{\"a\":1.}", false}, {"{\"a\":.5}", false}, {"{\"a\":+1}", false},
		{"{\"a\":1e}", false}, {"{\"a\":nul}", false}, {"{\"a\":\"\t\"}", false}, {"{\"a\":\"\\x\"}", false},
		{"{\"a\":\"\\ud800\"}", false}, {"{\"a\":\"\\udc00\"}", false}, {"{\"a\":\"\\ud800\\u0041\"}", false},
		{"{\"a\":\"\\u12g4\"}", false}, {"{\"a\":\"\xff\"}", false}, {"{\"a\":\"\xed\xa0\x80\"}", false}, {"{} x", false},
		{"{\"a\":1 \"b\":2}", false}, {"{\"a\":[1 2]}", false}, {"{\"a\":[1,]}", false}, {"{'a':1}", false}, {"{\"a\":NaN}", false},
	};
	struct json_reader reader = {0};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		char text[64];
		snprintf(text, sizeof(text), "%s", cases[i].text);
		bool ok = json_read(&reader, text, strlen(text)) == 0;
		if (ok != cases[i].ok) {
			fprintf(stderr, "# %s\n", cases[i].text);
		}
		check(ok == cases[i].ok);
	}
	json_reader_fini(&reader);
}

static void test_depth(void) {
	struct buf log = BUF_INIT;
	buf_adds(&log, HEAD "{\"a\":");
	for (int i = 0; i < 1000000; ++i) {
		buf_addc(&log, '[');
	}
	buf_addc(&log, '\n');
	check_equal(read_bytes(log.data, log.len), 0);
	check_string(buf_str(&messages), "x.jsonl:2: warning: 1 line is damaged, and what cannot be read is left out: lists or objects are nested too deep\n");
	buf_fini(&log);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each event of a log is told", test_all),
		TEST("numbers keep their units", test_numbers),
		TEST("bytes that are not UTF-8 come back", test_exact_bytes),
		TEST("keys, events and reasons that are not known are passed over", test_what_is_not_known),
		TEST("a last line that was cut off is a warning", test_cut_off),
		TEST("lines that are damaged are left out, with one warning", test_damage),
		TEST("a block of NULs is left out", test_nuls),
		TEST("a log whose first line is damaged is read", test_damaged_start),
		TEST("what is wrong is named with its line", test_mistakes),
		TEST("of several runs in a file the last one is read", test_last_run),
		TEST("a log comes through a pipe", test_pipe),
		TEST("JSON is what RFC 8259 says", test_json),
		TEST("deep nesting costs nothing", test_depth),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
