// answering: a worker that runs nothing and answers at once, so that only the dispatcher is measured. It is a machine of --launch:
//
//	fairpar --launch 'answering [-s SLOTS] [-t MS] [-l] [-n JOBS] [-x HOW] {}' …
//
// It offers SLOTS slots (by default 1). Each job ends as soon as it has come; -t: MS milliseconds after that, or for -t -1 never; -l: it
// writes a line. -n: the machine is lost once it has had so many jobs. -x: the machine disturbs as soon as the counters (counters.h) say so:
//
//	lost     it closes the connection, and its launcher stays for three seconds
//	flood    its new jobs write without end
//	fill     its new jobs write 16 MiB each, and end
//	deaf     it reads nothing more
//
// It also speaks version 1 of the protocol, whose frames for jobs without files are the same: so that older dispatchers can be measured beside.

#include "counters.h"

#include "base/diag.h"
#include "base/io.h"
#include "base/sync.h"
#include "remote/worker_end.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

// READ_BYTES hold fewer than EVENTS frames.
enum { SLOTS = 4096, READ_BYTES = 16 * 1024, EVENTS = READ_BYTES / 4, LOOK_MS = 10, LINGER_S = 3, FILL_BYTES = 16 << 20 };

enum disturbance { NONE, LOST, FLOOD, FILL, DEAF };

enum event_kind { BEGINS, REFUSED, READS, MAY_WRITE, STOPS };

// What a frame has said, kept until channel_receive() has returned: its callbacks may not answer.
struct event {
	enum event_kind kind;
	uint64_t job, n;
};

// A job under way, and when it ends. `job` 0: it has ended before its turn.
struct held {
	uint64_t job, due;
	uint64_t left; // bytes that it still writes, as fast as they may come
};

static struct counters *counters;
static struct worker_end *end;
static enum group group;
static enum disturbance disturbance;
static uint64_t hold_ns, jobs_left = UINT64_MAX;
static bool writes_line;

static struct event events[EVENTS];
static size_t nevents;
static struct held held[SLOTS];  // a ring: each job is held for as long as the others, so the first one ends first
static size_t first_held, nheld;
static bool has_greeted;

static bool is_disturbed(void) {
	return disturbance != NONE && atomic_load_relaxed(&counters->is_disturbed);
}

// The connection has ended too early.
static void note_loss(void) {
	atomic_add_relaxed(&counters->groups[group].lost, 1);
}

// ---- what the dispatcher says ----

static void note(enum event_kind kind, uint64_t job, uint64_t n) {
	verify(nevents < EVENTS);
	events[nevents++] = (struct event){.kind = kind, .job = job, .n = n};
}

static void on_env(void *arg FP_UNUSED, bool adds FP_UNUSED, const char *bytes FP_UNUSED, size_t n FP_UNUSED) {
}

static void on_begin(void *arg FP_UNUSED, struct channel_job *job, const char *payload FP_UNUSED, size_t n FP_UNUSED) {
	note(job->has_files ? REFUSED : BEGINS, job->number, 0);
}

static const char *on_frame(void *arg FP_UNUSED, struct channel_job *job, const struct wire_frame *frame) {
	switch ((int)frame->type) {
	case FRAME_IN: note(READS, job->number, frame->size); return NULL;
	case FRAME_MORE: note(MAY_WRITE, job->number, 0); return NULL;
	case FRAME_STOP: note(STOPS, job->number, 0); return NULL;
	default: return NULL;
	}
}

static void on_suspend(void *arg FP_UNUSED, bool begins FP_UNUSED) {
}

// ---- jobs ----

static void end_job(uint64_t job, enum outcome outcome, uint64_t wall) {
	struct job_end how = {.result = {.outcome = outcome, .start = 1, .end = 1 + wall}};
	worker_end_done(end, job, &how);
	atomic_add_relaxed(&counters->groups[group].ended, 1);
}

// Sends as much output of a job as may be under way, and ends the job behind its last byte.
static void flood(struct held *job) {
	static const char bytes[WIRE_CHUNK_MOST];
	for (size_t room; job->left > 0 && (room = channel_room(&end->channel, job->job)) > 0;) {
		uint64_t most = job->left < sizeof(bytes) ? job->left : sizeof(bytes);
		size_t n = room < most ? room : (size_t)most;
		channel_send_bytes(&end->channel, job->job, 1, bytes, n);
		job->left -= n;
	}
	if (job->left == 0) {
		end_job(job->job, OUTCOME_OK, 1);
		job->job = 0;
	}
}

static void lose(void) {
	note_loss();
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	sleep(LINGER_S);
	_exit(1);
}

// Returns how many bytes a new job writes as fast as they may come.
static uint64_t flood_size(void) {
	return !is_disturbed() ? 0 : disturbance == FLOOD ? UINT64_MAX : disturbance == FILL ? FILL_BYTES : 0;
}

// Closes the gaps that jobs have left which ended before their turn.
static void close_gaps(void) {
	size_t kept = 0;
	for (size_t i = 0; i < nheld; ++i) {
		struct held *from = &held[(first_held + i) % SLOTS];
		if (from->job != 0) {
			held[(first_held + kept++) % SLOTS] = *from;
		}
	}
	nheld = kept;
}

static void begin_job(uint64_t job) {
	uint64_t left = flood_size();
	if (jobs_left-- == 0) {
		lose();
	}
	worker_end_started(end, job, (uint64_t)getpid(), 0);
	atomic_add_relaxed(&counters->groups[group].started, 1);
	if (writes_line) {
		channel_send_bytes(&end->channel, job, 1, "one line\n", 9);
	}
	if (hold_ns == 0 && left == 0) {
		end_job(job, OUTCOME_OK, 0);
		return;
	}
	if (nheld == SLOTS) {
		close_gaps();
	}
	verify(nheld < SLOTS);
	struct held *at = &held[(first_held + nheld++) % SLOTS];
	*at = (struct held){.job = job, .due = left > 0 || hold_ns == TIME_NEVER ? TIME_NEVER : now_ns() + hold_ns, .left = left};
	if (left > 0) {
		flood(at);
	}
}

// Returns the place of the job in `held`, or SLOTS.
static size_t find_held(uint64_t job) {
	for (size_t i = 0; i < nheld; ++i) {
		size_t at = (first_held + i) % SLOTS;
		if (held[at].job == job) {
			return at;
		}
	}
	return SLOTS;
}

static void answer(const struct event *event) {
	size_t at;
	switch (event->kind) {
	case BEGINS: begin_job(event->job); return;
	case REFUSED: worker_end_refuse(end, event->job, "it has no files"); return;
	case READS: channel_acknowledge(&end->channel, event->job, event->n); return;
	case MAY_WRITE:
		at = find_held(event->job);
		if (at < SLOTS && held[at].left > 0) {
			flood(&held[at]);
		}
		return;
	case STOPS:
		at = find_held(event->job);
		if (at < SLOTS) {
			held[at].job = 0;
			end_job(event->job, OUTCOME_CANCELLED, 1);
		}
		return;
	}
}

// Ends the jobs that are due. Returns when the next one is.
static uint64_t end_due(uint64_t now) {
	for (; nheld > 0 && (held[first_held].job == 0 || held[first_held].due <= now); --nheld) {
		if (held[first_held].job != 0) {
			end_job(held[first_held].job, OUTCOME_OK, hold_ns);
		}
		first_held = (first_held + 1) % SLOTS;
	}
	return nheld > 0 ? held[first_held].due : TIME_NEVER;
}

// ---- the connection ----

// The channel speaks version 2: makes a dispatcher's greeting of version 1 one of version 2. Returns whether the greeting was of version 1.
static bool translate_greeting(char *bytes, size_t n) {
	static const char old[] = "fairpar-worker 1 ";
	if (n < sizeof(old) - 1 || memcmp(bytes, old, sizeof(old) - 1) != 0) {
		return false;
	}
	memcpy(bytes, GREETING, sizeof(old) - 1);
	return true;
}

// Makes the hello, which is the first frame to be sent, one of version 1.
static void translate_hello(void) {
	static const char hello[] = "\nhello 2 ";
	struct buf *current = &end->channel.current;
	char *at = memmem(current->data, current->len, hello, sizeof(hello) - 1);
	verify(at);
	at[sizeof(hello) - 3] = '1';
}

static void receive(void) {
	static char bytes[READ_BYTES];
	ssize_t n = read_some(STDIN_FILENO, bytes, sizeof(bytes));
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		note_loss();
		_exit(0);
	}
	bool is_old = n > 0 && !has_greeted && translate_greeting(bytes, (size_t)n);
	if (n > 0 && channel_receive(&end->channel, bytes, (size_t)n, now_ns()) != 0) {
		diag_error("answering: the dispatcher cannot be understood: %s", channel_why(&end->channel));
		_exit(1);
	}
	if (end->channel.is_greeted && !has_greeted) {
		has_greeted = true;
		if (is_old) {
			translate_hello();
		}
		atomic_add_relaxed(&counters->groups[group].greeted, 1);
	}
	for (size_t i = 0; i < nevents; ++i) {
		answer(&events[i]);
	}
	nevents = 0;
}

// Serves the connection until the dispatcher releases this worker, or has gone.
static void loop(void) {
	for (;;) {
		uint64_t now = now_ns(), due = time_earlier(end_due(now), channel_tick(&end->channel, now));
		ssize_t left = channel_write(&end->channel, STDOUT_FILENO);
		bool is_broken = left < 0 || channel_why(&end->channel);
		if (is_broken) {
			note_loss();
		}
		if (is_broken || (end->is_released && end->channel.njobs == 0 && left == 0)) {
			_exit(0);
		}
		if (disturbance == LOST && is_disturbed()) {
			lose();
		}
		bool reads = disturbance != DEAF || !is_disturbed();
		struct pollfd fds[] = {
			{.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
			{.fd = left > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
		};
		if (disturbance != NONE) {
			due = time_earlier(due, now + (uint64_t)LOOK_MS * NS_PER_MS);
		}
		if (poll(fds, 2, poll_ms(due)) > 0 && fds[0].revents) {
			receive();
		}
	}
}

static enum disturbance find_disturbance(const char *name) {
	static const char *const names[] = {[LOST] = "lost", [FLOOD] = "flood", [FILL] = "fill", [DEAF] = "deaf"};
	for (unsigned i = LOST; i < sizeof(names) / sizeof(names[0]); ++i) {
		if (strcmp(names[i], name) == 0) {
			return (enum disturbance)i;
		}
	}
	return NONE;
}

int main(int argc, char *argv[]) {
	struct worker_hello hello = {.slots = 1, .node = "bench"};
	for (int option; (option = getopt(argc, argv, "+s:t:ln:x:")) != -1;) {
		switch (option) {
		case 's': hello.slots = (unsigned)atoi(optarg); break;
		case 't': hold_ns = atoi(optarg) < 0 ? TIME_NEVER : (uint64_t)atoi(optarg) * NS_PER_MS; break;
		case 'l': writes_line = true; break;
		case 'n': jobs_left = (uint64_t)atoi(optarg); break;
		case 'x':
			group = DISTURBING;
			disturbance = find_disturbance(optarg);
			break;
		default: return EXIT_TROUBLE;
		}
	}
	const char *path = getenv("COUNTERS");
	counters = path ? counters_map(path) : NULL;
	if (!counters || hello.slots < 1 || hello.slots > SLOTS || (group == DISTURBING && disturbance == NONE)) {
		fprintf(stderr, "answering: no COUNTERS, or no such -s or -x\n");
		return EXIT_TROUBLE;
	}
	if (disturbance == LOST && is_disturbed()) {
		return 1; // it was lost, and does not come back
	}
	static const struct worker_calls calls = {.env = on_env, .begin = on_begin, .frame = on_frame, .suspend = on_suspend};
	verify(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) == 0 && fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) == 0);
	end = worker_end_new(&calls, NULL, &hello, now_ns());
	loop();
}
