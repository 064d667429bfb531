// Measures what --log costs for each event: to make its line, to write it by itself, and as a run has it.
//
//	eventlog DIRECTORY [JOBS]    prints nanoseconds of CPU and writes for each event
//
// A run tells of the start of each job and writes at once, and leaves the end of it to the next start (event_log_later()).
// "write(2)" is the same lines, each written by itself and without the log: what promptness costs without fairpar.

#include "base/alloc.h"
#include "base/diag.h"
#include "base/sync.h"
#include "log/event_log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7, WORKERS = 2 };

static int jobs = 100000;
static struct buf path = BUF_INIT;

// Of all threads: other work on the machine does not count.
static uint64_t cpu_ns(void) {
	struct timespec now;
	verify(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// Writes of this process so far (proc_pid_io(5)); 0 where the kernel does not count them.
static long writes(void) {
	FILE *io = fopen("/proc/self/io", "r");
	char text[80];
	long n = 0;
	while (io && fgets(text, sizeof(text), io)) {
		if (strncmp(text, "syscw: ", 7) == 0) {
			n = strtol(text + 7, NULL, 10);
		}
	}
	if (io) {
		fclose(io);
	}
	return n;
}

static struct event make_start(uint64_t seq) {
	return (struct event){.kind = EVENT_JOB_START, .at = now_ns(), .u.job_start = {
		.id = {.batch = "default", .number = seq, .seq = seq, .attempt = 1, .slot = 1}, .nslots = 1, .pid = 123456,
		.source = FROM_QUEUE, .queued = 123456, .command = "gzip -k photos/000001.jpg", .command_len = 25,
		.args = "photos/000001.jpg", .nargs = 1,
	}};
}

static struct event make_end(uint64_t seq) {
	struct event event = {.kind = EVENT_JOB_END, .at = now_ns(), .u.job_end = {
		.id = {.batch = "default", .number = seq, .seq = seq, .attempt = 1, .slot = 1}, .queued = 123456, .nslots = 1,
		.result = {.outcome = OUTCOME_OK, .start = 1, .end = 2345678},
	}};
	event.u.job_end.result.maxrss = 2048 * 1024;
	return event;
}

// ---- ways ----

static uint64_t encode(void) {
	struct buf line = BUF_INIT;
	uint64_t start = cpu_ns();
	for (int i = 0; i < jobs; ++i) {
		struct event first = make_start((uint64_t)i), last = make_end((uint64_t)i);
		buf_reset(&line);
		event_encode(&line, &first, 1);
		event_encode(&line, &last, 1);
	}
	uint64_t ns = cpu_ns() - start;
	buf_fini(&line);
	return ns;
}

static uint64_t write_bare(void) {
	struct buf lines[2] = {BUF_INIT, BUF_INIT};
	struct event first = make_start(12345), last = make_end(12345);
	event_encode(&lines[0], &first, 1);
	event_encode(&lines[1], &last, 1);
	int fd = log_create(path.data, /* keeps */ false);
	verify(fd >= 0);
	uint64_t start = cpu_ns();
	for (int i = 0; i < 2 * jobs; ++i) {
		verify(write(fd, lines[i & 1].data, lines[i & 1].len) == (ssize_t)lines[i & 1].len);
	}
	uint64_t ns = cpu_ns() - start;
	close(fd);
	buf_fini(&lines[0]);
	buf_fini(&lines[1]);
	return ns;
}

struct worker {
	thread thread;
	struct event_log *log;
	int jobs;
};

// Tells as state/publish.c does.
static void *worker_main(void *arg) {
	struct worker *worker = arg;
	for (int i = 0; i < worker->jobs; ++i) {
		struct event start = make_start((uint64_t)i);
		event_log_on_event(worker->log, &start);
		event_log_flush(worker->log, /* may_wait */ true);
		struct event end = make_end((uint64_t)i);
		event_log_on_event(worker->log, &end);
		bool left;
		event_log_later(worker->log, WORKERS, &left);
	}
	return NULL;
}

static uint64_t tell(int workers) {
	struct worker all[WORKERS];
	struct event_log *log = event_log_open(&(struct event_log_config){.fd = log_create(path.data, /* keeps */ false)});
	verify(log);
	uint64_t start = cpu_ns();
	for (int i = 0; i < workers; ++i) {
		all[i] = (struct worker){.log = log, .jobs = jobs / workers};
		verify(thread_start(&all[i].thread, worker_main, &all[i], 64 * 1024) == 0);
	}
	for (int i = 0; i < workers; ++i) {
		thread_join(all[i].thread);
	}
	uint64_t ns = cpu_ns() - start;
	verify(event_log_close(log, NULL) == 0);
	return ns;
}

static uint64_t tell_alone(void) {
	return tell(1);
}

static uint64_t tell_by_two(void) {
	return tell(WORKERS);
}

// ---- ----

static int compare(const void *a, const void *b) {
	const uint64_t *one = a, *other = b;
	return *one < *other ? -1 : *one > *other;
}

int main(int argc, char *argv[]) {
	static const struct { const char *name; uint64_t (*measure)(void); } ways[] = {
		{"line made", encode}, {"write(2)", write_bare}, {"1 worker", tell_alone}, {"2 workers", tell_by_two},
	};
	enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
	static uint64_t ns[WAYS][ROUNDS];
	long written[WAYS] = {0};
	if (argc < 2) {
		diag_die("usage: eventlog DIRECTORY [JOBS]");
	}
	jobs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : jobs;
	buf_printf(&path, "%s/events.jsonl", argv[1]);
	for (int round = 0; round < ROUNDS; ++round) { // interleaved, the median of each
		for (int i = 0; i < WAYS; ++i) {
			long before = writes();
			ns[i][round] = ways[i].measure();
			written[i] += writes() - before;
		}
	}
	for (int i = 0; i < WAYS; ++i) {
		qsort(ns[i], ROUNDS, sizeof(ns[i][0]), compare);
		printf("%s\t%.0f\t%.2f\n", ways[i].name, (double)ns[i][ROUNDS / 2] / (2.0 * jobs),
		       (double)written[i] / (2.0 * jobs * ROUNDS));
	}
	unlink(path.data);
	buf_fini(&path);
	return 0;
}
