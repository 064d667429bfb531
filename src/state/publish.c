// Publishes the events of a run to its subscribers, and counts its jobs; acts on the end of a job: tells its batch, and may halt the
// run.

#include "state/publish.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "state/dag_node.h"
#include "hosts/hosts.h"
#include "process/memory.h"
#include "report/run_stats.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SUBSCRIBERS = 8,
	TAIL_LINES = 10,
	TAIL_BYTES = 4096,
	ULID_LEN = 26,
	HOST_LEN = 256,
};

struct publisher {
	mutex lock;
	struct tally tally;        // the counts that --halt and the exit status depend on; under the lock, as are failed_batches and halted_by
	uint64_t failed_batches;   // number of batches whose `has_failed` is set
	struct result halted_by;   // the result of the job that met --halt
	atomic_bool halted;        // --halt was met; written under the lock
	struct run_stats *stats;   // gets each event before the subscribers
	struct subscriber { event_fn *fn; void *arg; bool wants_output; } subscribers[SUBSCRIBERS];
	size_t n;
	bool wants_output;         // a subscriber wants EVENT_OUTPUT
	bool (*flush)(struct run *run, enum publish_flush how); // or NULL
	struct event_lost lost;        // the pending event of publish_lost(); under the lock
	const struct batch *lost_batch; // the batch of `lost`; NULL: no event is pending
	char *stop_reason;             // publish_set_stop_reason(), or NULL; set once, under the lock
	atomic_uint_least64_t resumed; // jobs that were done before this run
	char run[ULID_LEN + 1];        // publish_run_id()
};

// ---- subscribers ----

void publish_open(struct run *run) {
	run->publisher = NEW(struct publisher);
	mutex_init(&run->publisher->lock, LOCK_PUBLISHER);
	run->publisher->stats = NEW(struct run_stats);
}

void publish_subscribe(struct run *run, event_fn *fn, void *arg, bool wants_output) {
	struct publisher *publisher = run->publisher;
	verify(publisher->n < SUBSCRIBERS);
	publisher->subscribers[publisher->n++] = (struct subscriber){fn, arg, wants_output};
	publisher->wants_output |= wants_output;
}

void publish_set_flush(struct run *run, bool (*flush)(struct run *run, enum publish_flush how)) {
	run->publisher->flush = flush;
}

bool publish_wants_output(const struct run *run) {
	return run->publisher->wants_output;
}

const char *publish_run_id(const struct run *run) {
	return run->publisher->run;
}

struct run_stats *publish_stats(struct run *run) {
	return run->publisher->stats;
}

mutex *publish_mutex(struct run *run) {
	return &run->publisher->lock;
}

// Hands the event to all subscribers. With the lock.
static void deliver(struct publisher *publisher, const struct event *event) {
	stats_on_event(publisher->stats, event);
	for (size_t i = 0; i < publisher->n; ++i) {
		if (event->kind != EVENT_OUTPUT || publisher->subscribers[i].wants_output) {
			publisher->subscribers[i].fn(publisher->subscribers[i].arg, event);
		}
	}
}

// Publishes the pending event of publish_lost(). With the lock.
static void flush_lost(struct publisher *publisher) {
	if (publisher->lost_batch) {
		struct event event = {.kind = EVENT_LOST, .at = now_ns(), .u.lost = publisher->lost};
		publisher->lost_batch = NULL;
		deliver(publisher, &event);
	}
}

// Publishes the event, with the present time, so that subscribers get events in the order of their times. With the lock.
static void publish_locked(struct publisher *publisher, struct event *event) {
	flush_lost(publisher);
	event->at = now_ns();
	deliver(publisher, event);
}

// Has the buffered events written. Returns whether some stay buffered. Without the lock.
static bool flush(struct run *run, enum publish_flush how) {
	return run->publisher->flush && run->publisher->flush(run, how);
}

static void publish_event(struct run *run, struct event *event) {
	mutex_lock(&run->publisher->lock);
	publish_locked(run->publisher, event);
	mutex_unlock(&run->publisher->lock);
	flush(run, event->kind == EVENT_JOB_START || event->kind == EVENT_OUTPUT ? FLUSH_MAY_WAIT : FLUSH_AT_ONCE);
}

void publish_tick(struct run *run) {
	mutex_lock(&run->publisher->lock);
	flush_lost(run->publisher);
	mutex_unlock(&run->publisher->lock);
	flush(run, FLUSH_AT_ONCE);
}

// ---- the run ----

// Makes a ULID: 48 bits of milliseconds and 80 random bits, in Crockford's base 32 (github.com/ulid/spec).
static void make_ulid(char ret_text[ULID_LEN + 1], uint64_t time_ns) {
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	unsigned char bytes[16];
	uint64_t ms = time_ns / NS_PER_MS;
	for (int i = 0; i < 6; ++i) {
		bytes[i] = (unsigned char)(ms >> (40 - 8 * i));
	}
	random_bytes(bytes + 6, 10);
	for (int i = 0; i < ULID_LEN; ++i) {
		unsigned value = 0;
		for (int bit = 0; bit < 5; ++bit) {
			int at = i * 5 + bit - 2; // 130 bits for 128: the first two are 0
			unsigned byte = at < 0 ? 0 : bytes[at / 8];
			value = value << 1 | (byte >> (7 - (at & 7)) & 1U);
		}
		ret_text[i] = digits[value];
	}
	ret_text[ULID_LEN] = '\0';
}

void publish_begin(struct run *run) {
	struct publisher *publisher = run->publisher;
	const struct options *options = run->options;
	char host[HOST_LEN] = "";
	FP_CLEANUP(free_later) char *cwd = getcwd(NULL, 0);
	FP_CLEANUP(buf_fini) struct buf parent = BUF_INIT, argv = BUF_INIT;
	uint32_t nargv;
	buf_add_strings(&argv, options->argv, &nargv);
	const char *outer_run = getenv("FAIRPAR_RUN"), *outer_job = getenv("FAIRPAR_JOB"); // of the job in which this fairpar runs
	if (outer_run && outer_job) {
		buf_printf(&parent, "%s/%s", outer_run, outer_job);
	}
	// POSIX leaves open whether a name that was cut ends with a NUL
	if (gethostname(host, sizeof(host) - 1) != 0) {
		host[0] = '\0';
	}
	uint64_t time_ns = clock_now(CLOCK_REALTIME) - (now_ns() - run->start);
	make_ulid(publisher->run, time_ns);
	struct event event = {
		.kind = EVENT_RUN_START,
		.at = run->start,
		.u.run_start = {
			.run = publisher->run,
			.version = FAIRPAR_VERSION,
			.host = host,
			.cwd = cwd ? cwd : "",
			.manifest = run->manifest ? options->manifest : NULL,
			.name = run->manifest ? run->manifest->name : NULL,
			.joblog = options->joblog && strcmp(options->joblog, "-") != 0 && !options->packing.by_time ? options->joblog : NULL,
			.parent = parent.data,
			.argv = argv.data,
			.nargv = nargv,
			.time_ns = time_ns,
			.pid = run->pid,
			.slots = options->tty ? 1 : run->slots_bounds.least == 0 ? 0 : run->slots,
			.fair_time = run->fair_time,
		},
	};
	mutex_lock(&publisher->lock);
	deliver(publisher, &event);
	mutex_unlock(&publisher->lock);
	flush(run, FLUSH_AT_ONCE);
}

void publish_lent(void *run, const struct event_lent *lent) {
	publish_event(run, &(struct event){.kind = EVENT_LENT, .u.lent = *lent});
}

unsigned publish_slots_now(struct run *run) {
	unsigned slots = publish_stats(run)->slots_now;
	return slots > 0 ? slots : run->slots;
}

void publish_slots(struct run *run, unsigned slots, const char *why) {
	publish_event(run, &(struct event){.kind = EVENT_SLOTS, .u.slots = {.slots = slots, .why = why}});
}

void publish_end(struct run *run, int exit_status, int signal) {
	struct publisher *publisher = run->publisher;
	if (publisher->run[0] == '\0') {
		return; // the run has not begun
	}
	publish_tick(run);
	stats_finish(publisher->stats, now_ns());
	const struct stats_batch *total = &publisher->stats->total;
	publish_event(run, &(struct event){
		.kind = EVENT_RUN_END,
		.u.run_end = {
			.counts = total->counts,
			.allowed = total->allowed,
			.up_to_date = total->up_to_date,
			.resumed = atomic_load_relaxed(&publisher->resumed),
			.unread = publisher->tally.unread,
			.slot_time = total->slot_time,
			.exit_status = exit_status,
			.signal = signal,
		},
	});
}

void publish_close(struct run *run) {
	mutex_fini(&run->publisher->lock);
	stats_free(run->publisher->stats);
	free(run->publisher->stop_reason);
	free(run->publisher);
}

// ---- the halt and the exit status ----

// Returns true if --halt is met, and was not before. `by` is then kept as the result of the job that met it. With the lock.
static bool check_halt(struct run *run, const struct result *by) {
	struct publisher *publisher = run->publisher;
	bool stop = !atomic_load_relaxed(&publisher->halted) && halt_is_met(&run->halt, &publisher->tally);
	if (stop) {
		atomic_store_relaxed(&publisher->halted, true);
		publisher->halted_by = *by;
	}
	return stop;
}

void run_start_no_more(struct run *run) {
	retry_queue_stop(run->retry_queue); // first: a `finally` command must know how the jobs in the retry queue have ended
	pool_shutdown(run->pool);
	run_wake(run);
}

// Starts nothing more, because --halt was met. Without the lock.
static void halt(struct run *run) {
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	buf_printf(&why, "%s%s", run->options->given[OPT_HALT] ? "--halt " : "", run->halt.text);
	publish_set_stop_reason(run, why.data);
	if (run->halt.when == HALT_NOW) {
		atomic_store_release(&run->halt_now, true); // pairs with the event loop's load after the wake
	}
	run_start_no_more(run);
}

void publish_all_read(struct run *run) {
	struct publisher *publisher = run->publisher;
	struct tally *tally = &publisher->tally;
	mutex_lock(&publisher->lock);
	tally->total_is_final = true;
	atomic_store_relaxed(&run->all_read, true);
	bool stop = tally->counts.ok + tally->counts.failed > 0 && check_halt(run, &tally->first);
	mutex_unlock(&publisher->lock);
	if (stop) {
		halt(run);
	}
}

void publish_unread(struct run *run) {
	FP_HOLD(&run->publisher->lock);
	run->publisher->tally.unread = true;
}

bool publish_halted(const struct run *run) {
	return atomic_load_relaxed(&run->publisher->halted);
}

int publish_exit_status(const struct run *run) {
	const struct publisher *publisher = run->publisher;
	struct tally tally = publisher->tally;
	tally.counts.failed = run->options->onall ? publisher->failed_batches : tally.counts.failed; // with --onall a batch is a machine
	return exit_status(run->options->exit_scheme, &tally, &run->halt, publish_halted(run), &publisher->halted_by);
}

// ---- batches ----

void publish_batch_start(struct batch *batch) {
	if (batch->started) {
		return;
	}
	batch->started = true;
	publish_event(batch->run, &(struct event){
		.kind = EVENT_BATCH_START,
		.u.batch = {
			.batch = batch->name,
			.weight = batch->attrs.weight,
			.priority = batch->attrs.priority,
			.max_parallel = batch->attrs.max_parallel,
			.interval = batch->attrs.start_interval,
			.long_running = batch->attrs.long_running,
			.jobs = batch->jobs,
		},
	});
}

void publish_queued(struct batch *batch, int64_t jobs) {
	struct publisher *publisher = batch->run->publisher;
	publish_batch_start(batch);
	FP_HOLD(&publisher->lock);
	publisher->tally.total += (uint64_t)jobs;
	stats_add_queued(publisher->stats, batch->name, jobs);
}

void publish_resumed(struct run *run) {
	atomic_add_relaxed(&run->publisher->resumed, 1);
}

void publish_batch_end(struct batch *batch) {
	if (batch->started) {
		struct event event = {.kind = EVENT_BATCH_END, .u.batch_end = batch->ended};
		event.u.batch_end.batch = batch->name;
		event.u.batch_end.memory = batch->memory ? atomic_load_relaxed(&batch->memory->most) : 0;
		publish_event(batch->run, &event);
	}
}

// Counts an end: as `jobs` jobs in the batch; as one in the run, unless the batch allows the failure. Returns true if --halt is met. With the lock.
static bool count_end(struct batch *batch, const struct result *result, uint64_t jobs) {
	struct run *run = batch->run;
	counts_add(&batch->ended.counts, result->outcome, jobs);
	if (batch->allow_failure && outcome_is_failure(result->outcome)) {
		return false;
	}
	tally_add(&run->publisher->tally, result);
	if (outcome_is_failure(result->outcome) && !batch->has_failed) {
		batch->has_failed = true;
		++run->publisher->failed_batches;
	}
	return result->outcome != OUTCOME_CANCELLED && check_halt(run, result);
}

// Posts to the event loop that a job of a manifest's batch failed or was cancelled, so that the batches that need it can be skipped.
static void node_fail(struct dag_node *node, const struct result *result) {
	if (atomic_load_relaxed(&node->failed)) {
		return; // without the lock, as there may be very many failures
	}
	FP_HOLD(&node->run->dag->lock);
	if (!atomic_exchange(&node->failed, true)) {
		node->first = *result;
		dag_node_post(node);
	}
}

void publish_lost(struct batch *batch, uint64_t jobs) {
	struct publisher *publisher = batch->run->publisher;
	bool is_skipped = batch->node && dag_node_state(batch->node) == NODE_SKIPPED;
	enum outcome outcome = is_skipped ? OUTCOME_SKIPPED : OUTCOME_CANCELLED;
	if (jobs == 0) {
		return;
	}
	publish_batch_start(batch);
	mutex_lock(&publisher->lock);
	counts_add(&publisher->tally.counts, outcome, jobs);
	counts_add(&batch->ended.counts, outcome, jobs);
	if (publisher->lost_batch != batch || publisher->lost.outcome != outcome) {
		flush_lost(publisher);
		publisher->lost_batch = batch;
		const char *why = !batch->why && !is_skipped ? publisher->stop_reason : batch->why;
		publisher->lost = (struct event_lost){.batch = batch->name, .outcome = outcome, .why = why};
	}
	publisher->lost.jobs += jobs;
	mutex_unlock(&publisher->lock);
	if (batch->node && !is_skipped) {
		node_fail(batch->node, &(struct result){.outcome = OUTCOME_CANCELLED});
	}
}

void publish_set_lost_reason(struct batch *batch, const char *why) {
	struct publisher *publisher = batch->run->publisher;
	FP_HOLD(&publisher->lock);
	flush_lost(publisher); // the pending event keeps the reason that it has
	free(batch->why);
	batch->why = xstrdup(why);
}

void publish_set_stop_reason(struct run *run, const char *why) {
	struct publisher *publisher = run->publisher;
	FP_HOLD(&publisher->lock);
	if (!publisher->stop_reason) {
		flush_lost(publisher);
		publisher->stop_reason = xstrdup(why);
	}
}

void publish_set_stop_signal(struct run *run, int signal) {
	char why[20];
	snprintf(why, sizeof(why), "SIG%s", signal_name(signal));
	publish_set_stop_reason(run, why);
}

void publish_wait(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, const char *what) {
	publish_event(run, &(struct event){
		.kind = EVENT_WAIT,
		.u.wait = {.batch = batch ? batch->name : NULL, .number = number, .why = why, .what = what},
	});
}

void publish_wait_end(struct run *run, const struct batch *batch, uint64_t number, enum event_why why, uint64_t since) {
	publish_event(run, &(struct event){
		.kind = EVENT_WAIT_END,
		.u.wait = {.batch = batch ? batch->name : NULL, .number = number, .why = why, .since = since},
	});
}

// ---- attempts ----

void publish_attempt_begin(struct worker_state *state) {
	state->stats = (struct attempt_stats){.why = state->stats.why, .tail = state->stats.tail};
	buf_reset(&state->stats.why);
	buf_reset(&state->stats.tail);
}

void publish_note_wait(struct worker_state *state, enum event_why why, uint64_t ns) {
	if (ns > state->stats.held) {
		state->stats.held = ns;
		state->stats.held_why = why;
	}
}

// Returns what the job has waited for longest from `since`, when it was queued, to `now`.
static enum event_why wait_reason(const struct worker_state *state, const struct job *job, uint64_t since, uint64_t now) {
	const struct facts *facts = worker_facts(state->worker);
	uint64_t start = facts->start;
	uint64_t ready_at = job->batch->ready_at;
	uint64_t parts[NO_WHY] = {
		[WHY_NEEDS] = u64_minus(ready_at, since),
		[WHY_RETRY] = job->pause,
		[WHY_RESERVE] = worker_width(state->worker) > 1 ? u64_minus(start, facts->picked) : 0,
	};
	parts[state->stats.held_why] += state->stats.held;
	uint64_t free_since = since + parts[WHY_RETRY] > ready_at ? since + parts[WHY_RETRY] : ready_at;
	uint64_t limited = u64_minus(facts->limit_left, free_since), down = job->login ? hosts_downtime(state->run->hosts, free_since, start) : 0;
	if (job->batch->binding && job->batch->attrs.max_parallel == 0) { // only its machines limit the batch
		parts[WHY_HOST] += limited > down ? limited : down;
	} else {
		parts[WHY_HOST] += down;
		parts[facts->limit_why ? (enum event_why)facts->limit_why : WHY_LIMIT] += limited;
	}
	parts[WHY_RATE] = u64_minus(facts->rate_left, facts->limit_left > free_since ? facts->limit_left : free_since);
	uint64_t known = 0;
	for (size_t i = 0; i < NO_WHY; ++i) {
		known += parts[i];
	}
	parts[state->stats.held_why == WHY_DELAY ? WHY_DELAY : WHY_TURN] += u64_minus(now - since, known);
	enum event_why most = WHY_TURN;
	for (size_t i = 0; i < NO_WHY; ++i) {
		most = parts[i] > parts[most] ? (enum event_why)i : most;
	}
	return most;
}

struct event_job publish_identify(const struct worker_state *state, const struct job *job) {
	return (struct event_job){
		.batch = job->batch->name,
		.number = job->item.number,
		.seq = job->item.seq,
		.role = job->role,
		.step = job->role == ROLE_JOB ? job->step : 0,
		.attempt = job->role == ROLE_JOB ? job->attempt : 1,
		.slot = state->worker ? worker_slot(state->worker) : 0,
		.host = job_is_here(job) ? NULL : job->login->name,
	};
}

// Returns where the pool found the item of this worker.
static enum event_source source_of(const struct worker_state *state) {
	return state->worker ? (enum event_source)worker_facts(state->worker)->source : FROM_QUEUE;
}

void publish_attempt_wait(struct worker_state *state, const struct job *job, enum event_why why, const char *what) {
	if (state->stats.wait_since == 0) {
		state->stats.wait_since = now_ns();
		state->stats.wait_why = why;
		publish_wait(state->run, job->batch, job->item.number, why, what);
	}
}

void publish_attempt_wait_end(struct worker_state *state, const struct job *job) {
	struct attempt_stats *stats = &state->stats;
	if (stats->wait_since > 0) {
		publish_note_wait(state, stats->wait_why, now_ns() - stats->wait_since);
		publish_wait_end(state->run, job->batch, job->item.number, stats->wait_why, stats->wait_since);
		stats->wait_since = 0;
	}
}

void publish_job_start(struct worker_state *state, const struct job *job, int pid, uint64_t start) {
	struct attempt_stats *stats = &state->stats;
	stats->started = true;
	stats->queued = job->item.queued ? u64_minus(start, job->item.queued) : 0;
	uint64_t picked = worker_facts(state->worker)->picked;
	if (worker_width(state->worker) > 1 && worker_facts(state->worker)->start > picked && job->role == ROLE_JOB) {
		publish_wait_end(state->run, job->batch, job->item.number, WHY_RESERVE, picked); // the job has waited for slots since its turn
	}
	publish_event(state->run, &(struct event){
		.kind = EVENT_JOB_START,
		.u.job_start = {
			.id = publish_identify(state, job),
			.nslots = worker_width(state->worker),
			.pid = pid,
			.source = source_of(state),
			.lag = worker_facts(state->worker)->lag,
			.queued = stats->queued,
			.why = stats->queued >= EVENT_WORTH_A_REASON ? wait_reason(state, job, job->item.queued, start) : WHY_TURN,
			.from = job->item.from,
			.warm = pid > 0 && state->command.by_shell ? warm_report(state->warm) : NULL,
			.command = buf_str(&state->text),
			.command_len = state->text.len,
			.args = job->record.args,
			.nargs = job->record.nargs,
		},
	});
}

void publish_output(struct worker_state *state, const struct job *job, int stream, const char *data, size_t len) {
	publish_event(state->run, &(struct event){
		.kind = EVENT_OUTPUT,
		.u.output = {.id = publish_identify(state, job), .stream = stream + 1, .data = data, .len = len},
	});
}

// Shortens `tail` to its last lines. Returns how many bytes were removed from its front.
static size_t cut_tail(struct buf *tail) {
	size_t end = tail->len, at = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
	size_t from = end;
	unsigned lines = 0;
	while (from > at && (from == end || tail->data[from - 1] != '\n' || ++lines < TAIL_LINES)) {
		--from;
	}
	while (from == at && from > 0 && from < end && ((unsigned char)tail->data[from] & 0xC0) == 0x80) {
		++from; // do not begin within a character
	}
	memmove(tail->data, tail->data + from, end - from);
	tail->len = end - from;
	tail->data[tail->len] = '\0';
	return from;
}

// Copies the last lines of the job's stdout, and behind them those of its stderr, to state->stats.tail.
static void keep_tail(struct worker_state *state, const struct job *job) {
	struct buf *tail = &state->stats.tail;
	for (int stream = 0; stream < 2; ++stream) {
		size_t before = tail->len;
		if (job->results && job->results->stream[stream].takes) {
			results_tail(job->results, stream, TAIL_BYTES, tail);
		} else if (job->spool) {
			spool_tail(job->spool, stream, TAIL_BYTES, tail);
		}
		if (tail->len > before && tail->data[tail->len - 1] != '\n') {
			buf_addc(tail, '\n');
		}
		state->stats.tail_out = stream == 0 ? tail->len : state->stats.tail_out;
	}
	size_t cut = tail->len > 0 ? cut_tail(tail) : 0;
	state->stats.tail_out = state->stats.tail_out > cut ? state->stats.tail_out - cut : 0;
}

void publish_note_output(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next) {
	state->stats.out_bytes = job_bytes(job, 0) + state->stats.item_bytes;
	state->stats.err_bytes = job_bytes(job, 1);
	if (next == NEXT_NOTHING && outcome_is_failure(result->outcome)) {
		keep_tail(state, job);
	}
}

// ---- ends ----

// True if not only an attempt has ended, but the job, which is then counted. A listing is counted only if it fails, since its batch then lacks items.
static bool is_counted(const struct job *job, const struct result *result, enum event_next next) {
	bool fails = job->role == ROLE_LISTING && outcome_is_failure(result->outcome);
	return next == NEXT_NOTHING && (job->role == ROLE_JOB || fails);
}

// Makes the EVENT_JOB_END in *ret_event. First publishes a missing EVENT_JOB_START, if the attempt could not be started or was lost with its machine.
static void make_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next,
                     struct event *ret_event) {
	const struct attempt_stats *stats = &state->stats;
	// an attempt that was lost with its machine before its start was reported has no EVENT_JOB_START yet
	bool never_began = result->outcome == OUTCOME_SPAWN_ERROR || (result->lost && result->start > 0);
	if (never_began && !stats->started && job->cancelled_next == NEXT_NOTHING) {
		publish_job_start(state, job, 0, result->lost ? result->start : now_ns());
	}
	*ret_event = (struct event){
		.kind = EVENT_JOB_END,
		.u.job_end = {
			.id = publish_identify(state, job),
			.result = *result,
			.queued = stats->queued,
			.nslots = state->worker ? worker_width(state->worker) : job->spec->width,
			.source = source_of(state),
			.next = next,
			.items = job->item.items,
			.allowed = is_counted(job, result, next) && outcome_is_failure(result->outcome) && job->batch->allow_failure,
			.out_bytes = stats->out_bytes,
			.err_bytes = stats->err_bytes,
			.why = result->outcome == OUTCOME_SPAWN_ERROR && stats->why.len > 0 ? stats->why.data : NULL,
			.tail = stats->tail.len > 0 ? stats->tail.data : NULL,
			.tail_len = stats->tail.len,
			.tail_out = stats->tail_out,
			.command = buf_str(&state->text),
			.command_len = state->text.len,
		},
	};
	if (job->cancelled_next != NEXT_NOTHING) { // the next attempt or step was announced, but never began, as the run took no more work
		struct event_job_end *end = &ret_event->u.job_end;
		end->id.slot = 0;
		end->queued = 0;
		end->result.start = end->result.end = end->result.user = end->result.sys = end->result.maxrss = 0;
		end->result.nvcsw = end->result.nivcsw = 0;
	}
}

// Publishes the end of an attempt; with `jobs` > 0 also counts it, as count_end() does. `worker`: the worker of the attempt, or NULL.
static void end_jobs(struct batch *batch, struct event *event, uint64_t jobs, struct worker *worker) {
	struct publisher *publisher = batch->run->publisher;
	const struct result *result = &event->u.job_end.result;
	mutex_lock(&publisher->lock);
	publish_locked(publisher, event);
	bool stop = jobs > 0 && count_end(batch, result, jobs);
	mutex_unlock(&publisher->lock);
	if (flush(batch->run, worker ? FLUSH_OR_LEAVE : FLUSH_AT_ONCE)) {
		worker_request_flush(worker);
	}
	if (jobs > 0 && batch->node && result->outcome != OUTCOME_OK) {
		node_fail(batch->node, result);
	}
	if (stop) {
		halt(batch->run);
	}
}

void publish_job_end(struct worker_state *state, const struct job *job, const struct result *result, enum event_next next) {
	struct event event;
	make_end(state, job, result, next, &event);
	end_jobs(job->batch, &event, is_counted(job, result, next) ? job->item.items : 0, state->worker);
}

static void publish_end_without_attempt(struct batch *batch, struct event_job_end end) {
	struct event event = {.kind = EVENT_JOB_END, .u.job_end = end};
	event.u.job_end.id.batch = batch->name;
	event.u.job_end.id.attempt = 1;
	event.u.job_end.items = event.u.job_end.nslots = 1;
	event.u.job_end.source = FROM_QUEUE;
	end_jobs(batch, &event, 1, /* worker */ NULL);
}

void publish_up_to_date(const struct job *job) {
	publish_end_without_attempt(job->batch, (struct event_job_end){
		.id = {.number = job->item.number, .seq = job->item.seq},
		.result = {.outcome = OUTCOME_OK},
		.up_to_date = true,
	});
}

void publish_batch_failure(struct batch *batch, const char *what) {
	struct result result;
	result_cannot_start(&result, 126);
	publish_end_without_attempt(batch, (struct event_job_end){
		.id = {.role = ROLE_LISTING},
		.result = result,
		.allowed = batch->allow_failure,
		.why = batch->why,
		.tail = what,
		.tail_len = strlen(what),
	});
}
