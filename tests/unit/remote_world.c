// Dispatcher and workers in worlds that follow from a seed, by a clock of their own: lines are slow, fall silent and break, workers
// refuse, say goodbye and die, jobs are stopped, and readers of output dawdle. However that goes, each job is done once.

#include "remote/worker_end.h"
#include "remote/dispatcher_end.h"

#include "base/alloc.h"
#include "base/random.h"
#include "test.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

enum { HOSTS = 5, SLOTS = 4, JOBS = 300, WORLDS = 150 };

static uint64_t seed;

static uint64_t below(uint64_t n) {
	return n > 0 ? random_next(&seed) % n : 0;
}

static bool once_in(uint64_t n) {
	return below(n) == 0;
}

// The byte at that place of a stream of a job; stream 0 is its input.
static char byte_at(size_t job, unsigned stream, size_t at) {
	return (char)(job * 31 + stream * 101 + at + at / 251 * 7);
}

static void make_bytes(char *bytes, size_t job, unsigned stream, size_t at, size_t n) {
	for (size_t i = 0; i < n; ++i) {
		bytes[i] = byte_at(job, stream, at + i);
	}
}

static bool are_bytes(const char *bytes, size_t job, unsigned stream, size_t at, size_t n) {
	size_t i = 0;
	while (i < n && bytes[i] == byte_at(job, stream, at + i)) {
		++i;
	}
	return i == n;
}

// ---- the world ----

struct job {
	enum { QUEUED, SENT, STARTED, DONE } state;
	uint64_t number;         // of its attempt, on its line
	size_t output[3], input; // bytes: of streams 1 and 2; of its input
	bool ignores_input;
	uint64_t takes;          // ns
	// This attempt, seen by the dispatcher.
	size_t seen[3], given, unread; // unread: output that was not passed on yet
	bool input_ended, stopped;
	unsigned lost;           // times in this attempt
};

// A job at a worker.
struct task {
	uint64_t number;
	size_t job;
	bool is_new, is_started, input_ended, stopped;
	enum stop_how how;
	size_t sent[3], got, untaken;
	uint64_t ends;
};

enum fate { LIVES, BREAKS, FALLS_SILENT };

struct place {
	struct dispatcher_end *host;       // NULL: down
	struct worker_end *agent;
	struct buf there, back;  // bytes under way
	size_t rate;             // bytes a millisecond
	enum fate fate;
	uint64_t fate_at, down_until;
	bool is_silent, is_up, is_leaving, agent_leaves;
	unsigned slots, used, peak;
	struct task tasks[SLOTS * 2];
	size_t ntasks;
	uint64_t runs;           // last number that the worker was given on this line
	bool is_mortal;
};

static struct job jobs[JOBS];
static struct place places[HOSTS];
static size_t njobs, nplaces, ndone;
static uint64_t now, numbers;
static bool moved;           // something was done in this step
static struct { unsigned lost, refused, stopped, silent, broken, byes, steps; } counts;

static size_t job_of(uint64_t number) {
	size_t i = 0;
	while (i < njobs && (jobs[i].number != number || jobs[i].state == QUEUED || jobs[i].state == DONE)) {
		++i;
	}
	check(i < njobs);
	return i;
}

static struct task *task_of(struct place *place, uint64_t number) {
	size_t i = 0;
	while (i < place->ntasks && place->tasks[i].number != number) {
		++i;
	}
	check(i < place->ntasks);
	return &place->tasks[i];
}

// ---- what the dispatcher is told ----

static void on_hello(void *arg, const struct worker_hello *hello) {
	struct place *place = arg;
	check(!place->is_up && hello->slots == place->slots && strcmp(hello->node, "node") == 0);
	place->is_up = true;
}

static void on_started(void *arg, struct channel_job *of, uint64_t pid, uint64_t ago FP_UNUSED) {
	(void)arg;
	struct job *job = &jobs[job_of(of->number)];
	check(job->state == SENT && pid == of->number + 1);
	job->state = STARTED;
}

static void on_output(void *arg, struct channel_job *of, unsigned stream, const char *bytes, size_t n) {
	struct place *place = arg;
	size_t i = job_of(of->number);
	struct job *job = &jobs[i];
	check(job->state == STARTED && n <= WIRE_CHUNK_MOST && (stream == 1 || stream == 2));
	check(are_bytes(bytes, i, stream, job->seen[stream], n));
	job->seen[stream] += n;
	job->unread += n;
	check(job->unread <= OUTPUT_WINDOW && job->seen[stream] <= job->output[stream]);
	if (once_in(2)) {
		channel_acknowledge(&place->host->channel, of->number, job->unread);
		job->unread = 0;
	}
}

static void on_done(void *arg, const struct channel_job *of, const struct job_end *end) {
	struct place *place = arg;
	struct job *job = &jobs[job_of(of->number)];
	if (end->result.outcome == OUTCOME_SPAWN_ERROR) {
		check(job->state == SENT && end->error.step == SPAWN_EXEC && end->error.error == 2);
	} else {
		check(job->state == STARTED && result_wall(&end->result) == 5 * MS);
		check(job->stopped || end->result.outcome == OUTCOME_OK);
	}
	if (end->result.outcome == OUTCOME_OK) {
		check(job->seen[1] == job->output[1] && job->seen[2] == job->output[2]);
		check(job->ignores_input || job->given == job->input);
	}
	job->state = DONE;
	++ndone;
	--place->used;
}

static void on_bye(void *arg, const char *why) {
	struct place *place = arg;
	check(!place->is_leaving && (strcmp(why, "late") == 0 || strcmp(why, "no") == 0));
	place->is_leaving = true;
	++counts.byes;
}

static void on_braked(void *arg, uint64_t running, const char *why) {
	(void)arg;
	(void)running;
	(void)why;
	check(false);
}

static void on_lost(void *arg, const struct channel_job *of) {
	struct place *place = arg;
	struct job *job = &jobs[job_of(of->number)];
	bool is_refused = !channel_why(&place->host->channel);
	check(is_refused ? of->is_unsent && job->state == SENT : job->lost++ == 0 && (!of->is_unsent || (job->state == SENT && of->number > place->runs)));
	job->state = QUEUED;
	counts.refused += is_refused;
	counts.lost += !is_refused;
	--place->used;
}

static const char *on_files(void *arg, struct channel_job *of FP_UNUSED, const struct wire_frame *frame FP_UNUSED) {
	(void)arg;
	check(false);
	return NULL;
}

static const struct dispatcher_calls dispatcher_calls = {on_hello, on_started, on_output, on_done, on_bye, on_braked, NULL, on_lost, NULL, NULL, NULL, NULL, on_files};

// ---- what the worker is told ----

static void on_env(void *arg, bool adds, const char *bytes, size_t n) {
	(void)arg;
	check(adds && n == 4 && memcmp(bytes, "A=1", 4) == 0);
}

static void on_begin(void *arg, struct channel_job *of, const char *payload, size_t n) {
	struct place *place = arg;
	check(!of->has_files && of->number > place->runs && place->ntasks < SLOTS * 2 && n >= sizeof(size_t));
	place->runs = of->number;
	struct task *task = &place->tasks[place->ntasks++];
	*task = (struct task){.number = of->number, .is_new = true};
	memcpy(&task->job, payload, sizeof(task->job));
	check(task->job < njobs);
}

static const char *on_frame(void *arg, struct channel_job *of, const struct wire_frame *frame) {
	struct place *place = arg;
	struct task *task = task_of(place, of->number);
	switch ((int)frame->type) {
	case FRAME_IN:
		check(!task->input_ended && are_bytes(frame->payload, task->job, 0, task->got, frame->size));
		task->got += frame->size;
		task->untaken += frame->size;
		check(task->untaken <= INPUT_WINDOW && task->got <= jobs[task->job].input);
		break;
	case FRAME_EOF:
		check(task->got == jobs[task->job].input);
		task->input_ended = true;
		break;
	case FRAME_MORE: check(channel_room(&place->agent->channel, of->number) > 0); break;
	case FRAME_STOP:
		task->stopped = true;
		task->how = (enum stop_how)frame->numbers[1];
		break;
	default: check(frame->type == FRAME_SHUT && frame->numbers[1] == 2); break;
	}
	return NULL;
}

static void on_rest(void *arg, bool begins) {
	(void)arg;
	(void)begins;
	check(false);
}

static const struct worker_calls worker_calls = {on_env, on_begin, on_frame, on_rest};

// ---- the worker ----

static void end_task(struct place *place, struct task *task, enum outcome outcome) {
	struct job_end end = {.result = {.outcome = outcome, .exit_code = outcome == OUTCOME_SPAWN_ERROR ? 127 : 0}};
	if (outcome == OUTCOME_SPAWN_ERROR) {
		end.error = (struct spawn_error){SPAWN_EXEC, 2};
	} else {
		end.result.start = 7;
		end.result.end = 7 + 5 * MS;
	}
	worker_end_done(place->agent, task->number, &end);
	*task = place->tasks[--place->ntasks];
	moved = true;
}

// Sends some output of the task. Returns true if that was the last.
static bool send_output(struct place *place, struct task *task) {
	static char bytes[OUTPUT_WINDOW];
	const struct job *job = &jobs[task->job];
	for (unsigned stream = 1; stream <= 2; ++stream) {
		size_t rest = job->output[stream] - task->sent[stream], room = channel_room(&place->agent->channel, task->number);
		check(room <= OUTPUT_WINDOW);
		size_t n = rest < room ? rest : room;
		if (n > 0) {
			n = 1 + below(n);
			make_bytes(bytes, task->job, stream, task->sent[stream], n);
			channel_send_bytes(&place->agent->channel, task->number, stream, bytes, n);
			task->sent[stream] += n;
			moved = true;
		}
	}
	return task->sent[1] == job->output[1] && task->sent[2] == job->output[2];
}

static void begin_task(struct place *place, struct task *task) {
	task->is_new = false;
	moved = true;
	if (place->agent_leaves || once_in(50)) {
		worker_end_refuse(place->agent, task->number, "no");
		*task = place->tasks[--place->ntasks];
	} else if (once_in(40)) {
		end_task(place, task, OUTCOME_SPAWN_ERROR);
	} else {
		worker_end_started(place->agent, task->number, task->number + 1, 0);
		task->is_started = true;
		task->ends = now + jobs[task->job].takes;
	}
}

// One step of a task, which may be gone behind it.
static void work(struct place *place, struct task *task) {
	const struct job *job = &jobs[task->job];
	if (task->is_new) {
		begin_task(place, task);
		return;
	}
	if (task->stopped && once_in(3)) {
		end_task(place, task, task->how == STOP_EXPIRE ? OUTCOME_TIMEOUT : OUTCOME_CANCELLED);
		return;
	}
	if (task->untaken > 0 && !job->ignores_input && once_in(2)) {
		size_t n = 1 + below(task->untaken);
		channel_acknowledge(&place->agent->channel, task->number, n);
		task->untaken -= n;
		moved = true;
	}
	bool all_out = send_output(place, task);
	if (all_out && (task->input_ended || job->ignores_input) && now >= task->ends) {
		end_task(place, task, OUTCOME_OK);
	}
}

static void step_worker(struct place *place) {
	for (size_t i = place->ntasks; i > 0; --i) {
		work(place, &place->tasks[i - 1]);
	}
	unsigned running = 0;
	for (size_t i = 0; i < place->ntasks; ++i) {
		running += place->tasks[i].is_started;
	}
	check(running <= place->slots && place->agent->channel.njobs == place->ntasks);
	if (place->is_mortal && place->is_up && !place->agent_leaves && once_in(3000)) {
		channel_say(&place->agent->channel, FRAME_BYE, 0, 0, "late");
		place->agent_leaves = true;
	}
}

// ---- the dispatcher ----

static void give_input(struct place *place, size_t i) {
	static char bytes[INPUT_WINDOW];
	struct job *job = &jobs[i];
	size_t room = channel_room(&place->host->channel, job->number), rest = job->input - job->given, n = rest < room ? rest : room;
	check(room <= INPUT_WINDOW);
	if (n > 0) {
		n = 1 + below(n);
		make_bytes(bytes, i, 0, job->given, n);
		channel_send_bytes(&place->host->channel, job->number, 0, bytes, n);
		job->given += n;
		moved = true;
	} else if (rest == 0 && !job->input_ended) {
		channel_say(&place->host->channel, FRAME_EOF, job->number, 0, "");
		job->input_ended = moved = true;
	}
}

static void tend(struct place *place, size_t i) {
	struct job *job = &jobs[i];
	give_input(place, i);
	if (job->unread > 0 && once_in(4)) {
		size_t n = 1 + below(job->unread);
		channel_acknowledge(&place->host->channel, job->number, n);
		job->unread -= n;
		moved = true;
	}
	if (!job->stopped && once_in(4000)) {
		dispatcher_end_stop(place->host, job->number, (enum stop_how)below(STOP_HOWS), 0, now);
		job->stopped = true;
		++counts.stopped;
	}
	if (once_in(500)) {
		channel_say(&place->host->channel, FRAME_SHUT, job->number, 2, "");
	}
}

static void send_job(struct place *place, size_t i) {
	struct job *job = &jobs[i];
	size_t large = once_in(40) ? 100000 : sizeof(i);
	char *payload = xcalloc(1, large);
	memcpy(payload, &i, sizeof(i));
	job->number = numbers += 1 + below(3);
	job->state = SENT;
	job->seen[1] = job->seen[2] = job->given = job->unread = 0;
	job->input_ended = job->stopped = false;
	job->lost = 0;
	dispatcher_end_begin(place->host, job->number, payload, large);
	free(payload);
	++place->used;
	moved = true;
}

static struct place *place_of_job[JOBS];

static void step_dispatcher(struct place *place) {
	for (size_t i = 0; i < njobs; ++i) {
		if (jobs[i].state == QUEUED && place->is_up && !place->is_leaving && place->used < place->slots) {
			place_of_job[i] = place;
			send_job(place, i);
		} else if ((jobs[i].state == SENT || jobs[i].state == STARTED) && place_of_job[i] == place) {
			tend(place, i);
		}
	}
}

// ---- the line ----

static void connect(struct place *place) {
	char mark[MARK_SIZE + 1];
	for (size_t i = 0; i < MARK_SIZE; ++i) {
		mark[i] = "0123456789abcdef"[below(16)];
	}
	mark[MARK_SIZE] = '\0';
	place->slots = 1 + (unsigned)below(SLOTS);
	place->host = dispatcher_end_new(&dispatcher_calls, place, mark, now);
	place->agent = worker_end_new(&worker_calls, place, &(struct worker_hello){.slots = place->slots, .node = "node"}, now);
	place->rate = once_in(3) ? 1 + below(2000) : 1 + below(200000);
	place->is_silent = place->is_up = place->is_leaving = place->agent_leaves = false;
	place->ntasks = 0;
	place->used = 0;
	place->runs = 0;
	place->fate = place->is_mortal && !once_in(3) ? (once_in(3) ? FALLS_SILENT : BREAKS) : LIVES;
	place->fate_at = now + below(20 * S);
	buf_reset(&place->there);
	buf_reset(&place->back);
	if (once_in(2)) {
		buf_adds(&place->back, "Welcome to node!\nfairpar-worker 2 ");
		buf_adds(&place->back, mark);
	}
	channel_send(&place->host->channel, &(struct wire_frame){.type = FRAME_ENV, .numbers = {true}, .payload = "A=1", .size = 4});
	moved = true;
}

// The dispatcher gives the line up; what was under way is lost. The worker notices, now or later.
static void disconnect(struct place *place) {
	check(channel_why(&place->host->channel));
	dispatcher_end_lose_jobs(place->host);
	check_equal(place->used, 0);
	dispatcher_end_lose_jobs(place->host);
	check(channel_receive(&place->host->channel, "ping 1\n", 7, now) < 0);
	dispatcher_end_free(place->host);
	if (place->is_silent) {
		for (uint64_t at = now, end = now + CHANNEL_DEAD_NS; !channel_why(&place->agent->channel); at = channel_tick(&place->agent->channel, at)) {
			check(at <= end);
		}
	} else {
		channel_break(&place->agent->channel, "closed");
	}
	worker_end_free(place->agent);
	place->host = NULL;
	place->agent = NULL;
	place->down_until = now + below(30 * S);
	moved = true;
}

// Moves some bytes of an output into the pipe, and some of the pipe to the other end.
static size_t part_of(size_t n, size_t rate) {
	n = n < rate ? n : rate;
	return once_in(3) && n > 0 ? 1 + below(n) : n;
}

static void take_first(struct buf *buf, size_t n) {
	memmove(buf->data, buf->data + n, buf->len - n);
	buf->len -= n;
}

static void carry(struct place *place) {
	size_t n;
	const char *bytes = channel_output(&place->host->channel, &n);
	n = place->there.len < 65536 ? part_of(n, place->rate) : 0;
	buf_add(&place->there, bytes, n);
	channel_sent(&place->host->channel, n);
	moved |= n > 0;
	bytes = channel_output(&place->agent->channel, &n);
	n = place->back.len < 65536 ? part_of(n, place->rate) : 0;
	buf_add(&place->back, bytes, n);
	channel_sent(&place->agent->channel, n);
	moved |= n > 0;
	if (place->is_silent) {
		return;
	}
	n = part_of(place->there.len, place->rate);
	if (n > 0) {
		check(channel_receive(&place->agent->channel, place->there.data, n, now) == 0);
		take_first(&place->there, n);
		moved = true;
	}
	n = part_of(place->back.len, place->rate);
	if (n > 0) {
		if (channel_receive(&place->host->channel, place->back.data, n, now) < 0) {
			fprintf(stderr, "# %s\n", channel_why(&place->host->channel));
			check(false);
		}
		take_first(&place->back, n);
		moved = true;
	}
}

static void meet_fate(struct place *place) {
	if (place->fate == LIVES || now < place->fate_at) {
		return;
	}
	if (place->fate == FALLS_SILENT) {
		counts.silent += !place->is_silent;
		place->is_silent = true;
	} else {
		++counts.broken;
		channel_break(&place->host->channel, "gone");
	}
}

// One step of a place. Returns when there is something to do if nothing else happens.
static uint64_t step_place(struct place *place) {
	if (!place->host) {
		if (now < place->down_until) {
			return place->down_until;
		}
		connect(place);
	}
	step_dispatcher(place);
	step_worker(place);
	carry(place);
	meet_fate(place);
	if (place->is_leaving && place->used == 0) {
		dispatcher_end_bye(place->host, "end");
		channel_break(&place->host->channel, "it has said goodbye");
	}
	uint64_t due = channel_tick(&place->host->channel, now), agent_due = channel_tick(&place->agent->channel, now);
	check(!channel_why(&place->agent->channel) || place->is_silent);
	if (channel_why(&place->host->channel)) {
		check(place->is_silent || strcmp(channel_why(&place->host->channel), "the other side has been silent for a minute") != 0);
		disconnect(place);
		return now;
	}
	due = agent_due < due ? agent_due : due;
	if (place->fate != LIVES && !place->is_silent && place->fate_at < due) {
		due = place->fate_at;
	}
	for (size_t i = 0; i < place->ntasks; ++i) {
		due = place->tasks[i].ends > now && place->tasks[i].ends < due ? place->tasks[i].ends : due;
	}
	return due;
}

static void make_world(void) {
	memset(jobs, 0, sizeof(jobs));
	memset(places, 0, sizeof(places));
	njobs = 1 + below(JOBS);
	nplaces = 1 + below(HOSTS);
	ndone = 0;
	now = S;
	numbers = 0;
	for (size_t i = 0; i < njobs; ++i) {
		struct job *job = &jobs[i];
		job->output[1] = once_in(20) ? below(600000) : below(500);
		job->output[2] = once_in(30) ? below(300000) : below(50);
		job->input = once_in(20) ? below(200000) : below(100);
		job->ignores_input = once_in(5);
		job->takes = once_in(50) ? below(100 * S) : below(50 * MS);
	}
	for (size_t i = 0; i < nplaces; ++i) {
		places[i].is_mortal = i > 0;
	}
}

static void run_world(uint64_t world) {
	seed = world;
	make_world();
	uint64_t steps = 0;
	while (ndone < njobs) {
		uint64_t next = UINT64_MAX;
		moved = false;
		for (size_t i = 0; i < nplaces; ++i) {
			uint64_t due = step_place(&places[i]);
			next = due < next ? due : next;
		}
		now = moved || next <= now ? now + MS : next;
		check(++steps < 3000000);
	}
	for (size_t i = 0; i < njobs; ++i) {
		check(jobs[i].state == DONE);
	}
	for (size_t i = 0; i < nplaces; ++i) {
		dispatcher_end_free(places[i].host);
		worker_end_free(places[i].agent);
		buf_fini(&places[i].there);
		buf_fini(&places[i].back);
	}
}

static void test_worlds(void) {
	const char *only = getenv("WORLD");
	uint64_t first = only ? strtoull(only, NULL, 10) : 1;
	for (uint64_t world = first; world < first + (only ? 1 : WORLDS); ++world) {
		if (only || getenv("WORLDS_SHOWN")) {
			fprintf(stderr, "# world %llu\n", (unsigned long long)world);
		}
		run_world(world);
	}
	check(counts.lost > 0 && counts.refused > 0 && counts.stopped > 0 && counts.silent > 0 && counts.broken > 0 && counts.byes > 0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("in random worlds of lines that are slow, fall silent and break, each job is done once, with all of its output", test_worlds),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
