// The log of events: its lines, byte by byte, and where they go when readers are slow, gone or stopped.

#include "log/event_log.h"

#include "base/sync.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

enum { BASE = 1000 };

static struct buf line = BUF_INIT;

static const char *encode(struct event event, uint64_t us) {
	buf_reset(&line);
	event.at = BASE + us * 1000 + 999; // cut off
	event_encode(&line, &event, BASE);
	return line.data;
}

static const struct event_job third = {.batch = "A", .number = 3, .seq = 17, .attempt = 1, .slot = 2};

// ---- lines ----

static void test_run(void) {
	check_string(encode((struct event){.kind = EVENT_RUN_START, .u.run_start = {
		.run = "ULID", .version = "1", .host = "h", .cwd = "/", .argv = "fairpar\0a b", .nargv = 2, .time_ns = UINT64_C(1763712000123456789), .pid = 9,
		.slots = 8,
	}}, 0), "{\"v\":1,\"ev\":\"run_start\",\"t\":0.000000,\"time\":\"2025-11-21T08:00:00.123Z\",\"run\":\"ULID\",\"version\":\"1\","
		"\"host\":\"h\",\"pid\":9,\"slots\":8,\"fair\":\"turns\",\"argv\":[\"fairpar\",\"a b\"],\"cwd\":\"/\",\"manifest\":null,"
		"\"name\":null,\"joblog\":null,\"parent\":null}\n");
	check_string(encode((struct event){.kind = EVENT_RUN_END, .u.run_end = {
		.counts = {1, 2, 3, 4}, .allowed = 1, .resumed = 6, .slot_time = 2500000999, .exit_status = 130,
		.signal = 2,
	}}, 1234567), "{\"v\":1,\"ev\":\"run_end\",\"t\":1.234567,\"ok\":1,\"failed\":2,\"cancelled\":3,\"skipped\":4,\"allowed\":1,"
		"\"current\":0,\"resumed\":6,\"wall\":1.234567,\"slot_time\":2.500000,\"exit\":130,\"signal\":2}\n");
	check_string(encode((struct event){.kind = EVENT_LENT, .u.lent = {
		.id = {.batch = "A", .number = 2, .seq = 3, .attempt = 1, .slot = 4}, .to = "a b", .pid = 5, .depth = 2, .own = true, .start = BASE + 1000, .end = BASE + 3000,
	}}, 9), "{\"v\":1,\"ev\":\"lent\",\"t\":0.000009,\"job\":\"A#2\",\"batch\":\"A\",\"seq\":3,\"attempt\":1,\"slot\":4,\"to\":\"a b\","
		"\"pid\":5,\"depth\":2,\"own\":true,\"start\":0.000001,\"wall\":0.000002}\n");
	check_string(encode((struct event){.kind = EVENT_SLOTS, .u.slots = {.slots = 3, .why = "-j"}}, 1),
		"{\"v\":1,\"ev\":\"slots\",\"t\":0.000001,\"slots\":3,\"why\":\"-j\"}\n");
}

static void test_batches(void) {
	check_string(encode((struct event){.kind = EVENT_BATCH_START, .u.batch = {
		.batch = "A", .weight = 2, .priority = -3, .jobs = -1,
	}}, 5), "{\"v\":1,\"ev\":\"batch_start\",\"t\":0.000005,\"batch\":\"A\",\"weight\":2,\"priority\":-3,\"max_parallel\":null,"
		"\"jobs\":null}\n");
	check_string(encode((struct event){.kind = EVENT_BATCH_START, .u.batch = {
		.batch = "A", .weight = 1, .max_parallel = 4, .interval = 200000000, .long_running = true, .jobs = 0,
	}}, 5), "{\"v\":1,\"ev\":\"batch_start\",\"t\":0.000005,\"batch\":\"A\",\"weight\":1,\"priority\":0,\"max_parallel\":4,"
		"\"interval\":0.200000,\"long_running\":true,\"jobs\":0}\n");
	check_string(encode((struct event){.kind = EVENT_BATCH_END, .u.batch_end = {"A", {1, 2, 3, 4}, 5000000, 0}}, 5),
		"{\"v\":1,\"ev\":\"batch_end\",\"t\":0.000005,\"batch\":\"A\",\"ok\":1,\"failed\":2,\"cancelled\":3,\"skipped\":4,\"longest_wait\":0.005000}\n");
	check_string(encode((struct event){.kind = EVENT_LOST, .u.lost = {"A", OUTCOME_SKIPPED, 7, "it's so"}}, 5),
		"{\"v\":1,\"ev\":\"lost\",\"t\":0.000005,\"batch\":\"A\",\"status\":\"skipped\",\"jobs\":7,\"why\":\"it's so\"}\n");
	check_string(encode((struct event){.kind = EVENT_WAIT, .u.wait = {"A", 3, WHY_RETRY, "a while", 0}}, 5),
		"{\"v\":1,\"ev\":\"wait\",\"t\":0.000005,\"batch\":\"A\",\"job\":\"A#3\",\"why\":\"retry\",\"for\":\"a while\"}\n");
	check_string(encode((struct event){.kind = EVENT_WAIT_END, .u.wait = {NULL, 0, WHY_LOAD, NULL, BASE + 2000}}, 5),
		"{\"v\":1,\"ev\":\"wait_end\",\"t\":0.000005,\"batch\":null,\"job\":null,\"why\":\"load\",\"for\":null,\"since\":0.000002,"
		"\"wall\":0.000003}\n");
}

static void test_jobs(void) {
	check_string(encode((struct event){.kind = EVENT_JOB_START, .u.job_start = {
		.id = third, .nslots = 2, .pid = 99, .source = FROM_STOLEN, .lag = -0.25, .queued = 999999, .why = WHY_LOAD, .from = 5,
		.command = "echo x", .command_len = 6, .args = "x\0y", .nargs = 2,
	}}, 5), "{\"v\":1,\"ev\":\"job_start\",\"t\":0.000005,\"job\":\"A#3\",\"batch\":\"A\",\"seq\":17,\"attempt\":1,\"slot\":2,"
		"\"nslots\":2,\"pid\":99,\"source\":\"stolen\",\"lag\":-0.25,\"queued\":0.000999,\"from\":5,\"cmd\":\"echo x\","
		"\"args\":[\"x\",\"y\"]}\n");
	struct event_job step = third;
	step.role = ROLE_FINALLY;
	step.step = 2;
	check_string(encode((struct event){.kind = EVENT_JOB_START, .u.job_start = {
		.id = step, .nslots = 1, .source = FROM_LONG, .lag = 1e15, .queued = 1000000, .why = WHY_LIMIT, .command = "", .args = "",
	}}, 5), "{\"v\":1,\"ev\":\"job_start\",\"t\":0.000005,\"job\":\"A#3\",\"batch\":\"A\",\"seq\":17,\"role\":\"finally\",\"step\":2,"
		"\"attempt\":1,\"slot\":2,\"nslots\":1,\"pid\":null,\"source\":\"long\",\"lag\":1e+15,\"queued\":0.001000,\"why\":\"limit\","
		"\"cmd\":\"\",\"args\":[]}\n");
	check_string(encode((struct event){.kind = EVENT_OUTPUT, .u.output = {third, 2, "a\0\n", 3}}, 5),
		"{\"v\":1,\"ev\":\"output\",\"t\":0.000005,\"job\":\"A#3\",\"batch\":\"A\",\"seq\":17,\"attempt\":1,\"slot\":2,"
		"\"stream\":\"stderr\",\"data\":\"a\\u0000\\n\"}\n");
}

static void test_ends(void) {
	struct event_job_end end = {
		.items = 1,
		.id = third,
		.result = {.outcome = OUTCOME_SIGNAL, .term_signal = 9, .out_of_memory = true, .start = BASE + 1000, .end = BASE + 4999},
		.queued = 2000,
		.nslots = 1,
		.allowed = true,
		.out_bytes = 7,
		.err_bytes = 8,
		.tail = "x\n",
		.tail_len = 2,
	};
	end.result.user = 1000005000;
	end.result.maxrss = 3 * 1024;
	check_string(encode((struct event){.kind = EVENT_JOB_END, .u.job_end = end}, 5),
		"{\"v\":1,\"ev\":\"job_end\",\"t\":0.000005,\"job\":\"A#3\",\"batch\":\"A\",\"seq\":17,\"attempt\":1,\"slot\":2,"
		"\"status\":\"signal\",\"exit\":null,\"signal\":9,\"oom\":true,\"queued\":0.000002,\"start\":0.000001,\"wall\":0.000003,"
		"\"user\":1.000005,\"sys\":0.000000,\"maxrss\":3072,\"nvcsw\":0,\"nivcsw\":0,\"out_bytes\":7,\"err_bytes\":8,"
		"\"allowed\":true,\"tail\":\"x\\n\"}\n");
	end = (struct event_job_end){.id = third, .result = {.outcome = OUTCOME_CANCELLED}, .next = NEXT_STEP, .items = 1, .up_to_date = true};
	check_string(encode((struct event){.kind = EVENT_JOB_END, .u.job_end = end}, 5),
		"{\"v\":1,\"ev\":\"job_end\",\"t\":0.000005,\"job\":\"A#3\",\"batch\":\"A\",\"seq\":17,\"attempt\":1,\"slot\":2,"
		"\"status\":\"cancelled\",\"exit\":null,\"signal\":null,\"queued\":0.000000,\"start\":null,\"wall\":0.000000,"
		"\"user\":0.000000,\"sys\":0.000000,\"maxrss\":0,\"nvcsw\":0,\"nivcsw\":0,\"out_bytes\":0,\"err_bytes\":0,"
		"\"next\":\"then\",\"current\":true}\n");
}

static void test_bytes(void) {
	struct event_job job = {.batch = "\xff\"", .number = 1, .seq = 1, .attempt = 1, .slot = 1};
	check_string(encode((struct event){.kind = EVENT_JOB_START, .u.job_start = {
		.id = job, .nslots = 1, .pid = 1, .source = FROM_QUEUE, .command = "\\\xc3\xbc\x7f\x1b\t", .command_len = 6,
		.args = "ok\0\xed\xa0\x80", .nargs = 2,
	}}, 5), "{\"v\":1,\"ev\":\"job_start\",\"t\":0.000005,\"job\":\"\xEF\xBF\xBD\\\"#1\",\"job_b64\":\"/yIjMQ==\","
		"\"batch\":\"\xEF\xBF\xBD\\\"\",\"batch_b64\":\"/yI=\",\"seq\":1,\"attempt\":1,\"slot\":1,\"nslots\":1,\"pid\":1,"
		"\"source\":\"queue\",\"lag\":0,\"queued\":0.000000,\"cmd\":\"\\\\\xc3\xbc\\u007f\\u001b\\t\",\"args\":[\"ok\","
		"\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"],\"args_b64\":[null,\"7aCA\"]}\n");
}

// ---- back ----

static struct event_job_start seen;
static char seen_command[400], seen_args[400], seen_batch[400];

static void note(void *arg, const struct event *event) {
	(void)arg;
	if (event->kind == EVENT_JOB_START) {
		seen = event->u.job_start;
		memcpy(seen_command, seen.command, seen.command_len);
		snprintf(seen_batch, sizeof(seen_batch), "%s", seen.id.batch);
		const char *at = seen.args;
		for (uint32_t i = 0; i < seen.nargs; ++i) {
			at += strlen(at) + 1;
		}
		memcpy(seen_args, seen.args, (size_t)(at - seen.args));
	}
}

// All bytes there are, in every place that may have them.
static void test_back(void) {
	static char bytes[256];
	for (int i = 0; i < 255; ++i) {
		bytes[i] = (char)(i + 1);
	}
	char path[] = "/tmp/fairpar-eventlog-XXXXXX";
	int fd = mkstemp(path);
	check(fd >= 0);
	struct event_log *log = event_log_open(&(struct event_log_config){.fd = dup(fd)});
	event_log_on_event(log, &(struct event){.kind = EVENT_RUN_START, .at = BASE, .u.run_start = {
		.run = "R", .version = "", .host = bytes, .cwd = bytes, .slots = 1,
	}});
	event_log_on_event(log, &(struct event){.kind = EVENT_JOB_START, .at = BASE + 1000, .u.job_start = {
		.id = {.batch = bytes, .number = UINT64_MAX, .seq = 1, .attempt = 1, .slot = 1}, .nslots = 1, .source = FROM_OWN,
		.lag = -12.5, .command = bytes, .command_len = 256, .args = bytes, .nargs = 1,
	}});
	check_equal(event_log_close(log, NULL), 0);
	struct buf messages = BUF_INIT;
	check_equal(eventread(fd, "log", note, NULL, &messages), 0);
	check_string(seen_batch, bytes);
	check(seen.id.number == UINT64_MAX && seen.command_len == 256 && memcmp(seen_command, bytes, 256) == 0);
	check_equal(seen.nargs, 1);
	check_string(seen_args, bytes);
	check(seen.lag == -12.5 && seen.source == FROM_OWN);
	unlink(path);
}

// ---- where to ----

static struct event_log *open_pipe(int *ret_reader, size_t pending_max, uint64_t patience) {
	int ends[2];
	check_equal(pipe(ends), 0);
	signal(SIGPIPE, SIG_IGN);
	*ret_reader = ends[0];
	struct event_log *log = event_log_open(&(struct event_log_config){
		.fd = ends[1], .pending_max = pending_max, .timeout = patience,
	});
	check(log);
	return log;
}

static void tell_output(struct event_log *log, size_t len) {
	char *data = malloc(len);
	memset(data, 'x', len);
	event_log_on_event(log, &(struct event){.kind = EVENT_OUTPUT, .at = BASE, .u.output = {third, 1, data, len}});
	free(data);
}

static void test_idle(void) {
	int reader;
	struct event_log *log = open_pipe(&reader, 0, 0);
	char got[1000];
	for (int i = 0; i < 100; ++i) { // nothing is held back until there is more
		tell_output(log, 10);
		event_log_flush(log, true);
		ssize_t n = read(reader, got, sizeof(got));
		check(n > 100 && got[n - 1] == '\n');
	}
	check_equal(event_log_close(log, NULL), 0);
}

static void *read_all(void *arg) {
	int fd = *(int *)arg;
	static char block[5000];
	static size_t lines;
	for (ssize_t n; (n = read(fd, block, sizeof(block))) > 0;) {
		for (ssize_t i = 0; i < n; ++i) {
			lines += block[i] == '\n';
		}
	}
	return &lines;
}

// Lines longer than a pipe holds, and more than may gather: who tells waits, and all arrives.
static void test_slow(void) {
	int reader;
	struct event_log *log = open_pipe(&reader, 100 * 1000, 0);
	pthread_t other;
	check_equal(pthread_create(&other, NULL, read_all, &reader), 0);
	for (int i = 0; i < 50; ++i) {
		tell_output(log, 200 * 1000);
		event_log_flush(log, true);
	}
	check_equal(event_log_flush(log, false), 0);
	check_equal(event_log_close(log, NULL), 0);
	void *lines;
	pthread_join(other, &lines);
	check_equal(*(size_t *)lines, 50);
}

static void test_gone(void) {
	int reader;
	struct event_log *log = open_pipe(&reader, 0, 0);
	close(reader);
	tell_output(log, 10);
	event_log_flush(log, true);
	errno = 0;
	check_equal(event_log_close(log, NULL), -1);
	check_equal(errno, EPIPE);
}

static void test_stopped(void) {
	int reader;
	struct event_log *log = open_pipe(&reader, 1000, UINT64_C(50) * NS_PER_MS);
	for (int i = 0; i < 10; ++i) {
		tell_output(log, 100 * 1000);
		event_log_flush(log, true); // waits once
	}
	check_equal(event_log_flush(log, false), ETIMEDOUT);
	check_equal(event_log_close(log, NULL), -1);
	check_equal(errno, ETIMEDOUT);
}

// The reader of the end may have stopped, too.
static void test_stopped_late(void) {
	int reader;
	struct event_log *log = open_pipe(&reader, 0, UINT64_C(50) * NS_PER_MS);
	tell_output(log, 1000 * 1000);
	event_log_flush(log, true);
	check_equal(event_log_close(log, NULL), -1);
	check_equal(errno, ETIMEDOUT);
}

static void test_full(void) {
	int fd = open("/dev/full", O_WRONLY);
	check(fd >= 0);
	struct event_log *log = event_log_open(&(struct event_log_config){.fd = fd});
	tell_output(log, 10);
	check_equal(event_log_flush(log, true), ENOSPC);
	check_equal(event_log_close(log, NULL), -1);
	check_equal(errno, ENOSPC);
}

// ---- many at once ----

enum { TELLERS = 8, EACH = 2000 };

static mutex publisher = MUTEX_INIT(LOCK_OF_TEST);

static void *tell_many(void *arg) {
	for (int i = 0; i < EACH; ++i) {
		mutex_lock(&publisher);
		tell_output(arg, 20);
		mutex_unlock(&publisher);
		event_log_flush(arg, true);
	}
	return NULL;
}

static void test_many(void) {
	char path[] = "/tmp/fairpar-eventlog-XXXXXX";
	int fd = mkstemp(path);
	close(fd);
	fd = log_create(path, /* keeps */ false);
	struct event_log *log = event_log_open(&(struct event_log_config){.fd = fd});
	pthread_t threads[TELLERS];
	for (int i = 0; i < TELLERS; ++i) {
		check_equal(pthread_create(&threads[i], NULL, tell_many, log), 0);
	}
	for (int i = 0; i < TELLERS; ++i) {
		pthread_join(threads[i], NULL);
	}
	buf_reset(&line);
	tell_output(log, 20); // its length
	check_equal(event_log_close(log, NULL), 0);
	off_t end = 0;
	fd = open(path, O_RDONLY);
	end = lseek(fd, 0, SEEK_END);
	check_equal(end % (TELLERS * EACH + 1), 0);
	unlink(path);
}

// What may be left is left, and not one line more; who flushes takes it along.
static void test_later(void) {
	char path[] = "/tmp/fairpar-eventlog-XXXXXX";
	close(mkstemp(path));
	int fd = log_create(path, /* keeps */ false);
	int reader = open(path, O_RDONLY);
	struct event_log *log = event_log_open(&(struct event_log_config){.fd = fd});
	bool left;
	for (int i = 0; i < 2; ++i) {
		tell_output(log, 10);
		check_equal(event_log_later(log, 2, &left), 0);
		check(left);
		check_equal(lseek(reader, 0, SEEK_END), 0);
	}
	tell_output(log, 10);
	check_equal(event_log_later(log, 2, &left), 0);
	check(!left);
	off_t three = lseek(reader, 0, SEEK_END);
	check(three > 0 && three % 3 == 0);
	tell_output(log, 10);
	check_equal(event_log_later(log, 2, &left), 0);
	check(left);
	check_equal(event_log_flush(log, true), 0);
	check_equal(lseek(reader, 0, SEEK_END), three / 3 * 4);
	check_equal(event_log_close(log, NULL), 0);
	close(reader);
	unlink(path);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("the run and its slots", test_run),
		TEST("batches, what is lost, and waits", test_batches),
		TEST("starts of jobs and their output", test_jobs),
		TEST("ends of jobs", test_ends),
		TEST("bytes that are no UTF-8, or mean something", test_bytes),
		TEST("every byte comes back", test_back),
		TEST("each line comes at once", test_idle),
		TEST("as many lines as may be left wait for the next", test_later),
		TEST("a slow reader gets all, in whole lines", test_slow),
		TEST("a reader that has gone is an error", test_gone),
		TEST("a reader that has stopped is given up", test_stopped),
		TEST("also one that stops at the end", test_stopped_late),
		TEST("a full disk is an error", test_full),
		TEST("many tell at once, and no line is lost", test_many),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
