// Writes a run as Chrome trace events (--trace): JSON that Perfetto and speedscope open.
//
// The format: "Trace Event Format", Google, 2016. The events may come in any order, but readers need less memory if they are sorted.

#include "draw/draw.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "log/event_table.h"

enum {
	FLUSH_BYTES = 64 * 1024,
	COMMAND_BYTES = 1000,
	PID = 1,                 // the trace shows one process, the run: a fairpar in a job has a log of its own
};

// The counters of each class.
enum counter { RUNNING, QUEUE, COUNTERS };

// A slice that an arrow can come from.
struct origin {
	uint64_t from, to;       // event time; to 0: the slice has not ended
	unsigned tid;
};

// The last attempt at an item, which may still run, and the attempt before that.
struct origins {
	uint64_t seq;            // of the item; 0: the entry is empty
	struct origin last, before;
};

struct chrome {
	const struct palette *palette;
	chrome_write_fn *write;
	void *arg;
	struct buf buf;
	uint64_t start;          // event time of the run
	uint64_t interval;       // nanoseconds between two samples of a counter
	struct attempts attempts; // attempts.rows: which tracks are slots of which machine; NULL: there is one machine, and each of its slots has a track
	unsigned nslots, ntracks; // tids are 1 to ntracks; the slots come first
	struct origins *origins; // CHROME_ORIGINS entries; the entry of an item is at the item's seq modulo CHROME_ORIGINS
	uint64_t ids;            // how many ids arrows and waits have got so far
	int32_t (*counters)[COUNTERS][CHROME_SAMPLES + 1]; // [class][counter][sample]: by how much the counter has changed
	bool first;              // no event was written yet, so no comma stands before the next event
};

static void flush(struct chrome *chrome) {
	chrome->write(chrome->arg, buf_str(&chrome->buf), chrome->buf.len);
	buf_reset(&chrome->buf);
}

// ---- pieces ----

// Begins an event: its kind, its track and its time; `tid` 0 is the process.
static struct buf *begin(struct chrome *chrome, const char *kind, unsigned tid, uint64_t at) {
	struct buf *buf = &chrome->buf;
	uint64_t ns = u64_minus(at, chrome->start);
	buf_printf(buf, "%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%llu.%03u", chrome->first ? "" : ",\n", kind, PID, tid,
	           ull(ns / 1000), (unsigned)(ns % 1000));
	chrome->first = false;
	return buf;
}

static void end(struct chrome *chrome) {
	buf_addc(&chrome->buf, '}');
	if (chrome->buf.len >= FLUSH_BYTES) {
		flush(chrome);
	}
}

// Returns the name of the class; NULL if no batch has the class.
static const char *class_name(const struct chrome *chrome, unsigned class) {
	const struct palette *palette = chrome->palette;
	return class < palette->nclasses ? palette->owners[class]->name : class == PALETTE_OTHERS && palette->nothers > 0 ? "other batches" : NULL;
}

// ---- the head ----

static void add_metadata(struct chrome *chrome, const char *what, unsigned tid, const char *name) {
	struct buf *buf = begin(chrome, "M", tid, chrome->start);
	buf_printf(buf, ",\"name\":\"%s\",\"args\":{", what);
	json_add_string(buf, "name", name);
	buf_addc(buf, '}');
	end(chrome);
}

static void add_track(struct chrome *chrome, unsigned tid) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	unsigned number = tid > chrome->nslots ? tid - chrome->nslots : tid;
	if (chrome->attempts.rows && tid <= chrome->nslots) {
		const struct machine_rows *machine = machines_at(chrome->attempts.rows, tid - 1);
		buf_printf(&name, "%s ", stats_machine_name(chrome->palette->stats, machine->name));
		number -= machine->first;
	}
	buf_printf(&name, "%s %u", tid <= chrome->nslots ? "slot" : "long-running", number);
	add_metadata(chrome, "thread_name", tid, buf_str(&name));
	buf_printf(begin(chrome, "M", tid, chrome->start), ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}", tid);
	end(chrome);
}

static void add_head(struct chrome *chrome) {
	const struct run_stats *stats = chrome->palette->stats;
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	struct buf *buf = &chrome->buf;
	buf_adds(buf, "{\"displayTimeUnit\":\"ms\",\"otherData\":{");
	json_add_string(buf, "version", stats->run.version ? stats->run.version : "");
	json_add_string(buf, "run", stats->run.run ? stats->run.run : "");
	buf_adds(buf, ",\"argv\":[");
	if (stats->run.name) {
		buf_printf(&name, "%s: ", stats->run.name);
	}
	const char *word = stats->run.argv;
	for (uint32_t i = 0; i < stats->run.nargv; ++i, word += strlen(word) + 1) {
		buf_adds(buf, i > 0 ? "," : "");
		json_add_text(buf, word, strlen(word));
		buf_adds(&name, i > 0 ? " " : "");
		buf_adds(&name, word);
	}
	buf_adds(buf, "]},\"traceEvents\":[\n");
	add_metadata(chrome, "process_name", 0, name.len > 0 ? buf_str(&name) : "fairpar");
	for (unsigned tid = 1; tid <= chrome->ntracks; ++tid) {
		add_track(chrome, tid);
	}
}

// ---- counters ----

static size_t sample_of(const struct chrome *chrome, uint64_t at) {
	uint64_t sample = u64_minus(at, chrome->start) / chrome->interval;
	return sample < CHROME_SAMPLES ? (size_t)sample : CHROME_SAMPLES;
}

static void add_counter(struct chrome *chrome, unsigned class, enum counter counter) {
	const int32_t *changes = chrome->counters[class][counter];
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	int64_t jobs = 0;
	buf_printf(&name, "%s %s", counter == RUNNING ? "running" : "queue", class_name(chrome, class));
	for (size_t i = 0; i <= CHROME_SAMPLES; ++i) {
		if (changes[i] != 0 || i == 0) {
			jobs += changes[i];
			struct buf *buf = begin(chrome, "C", 0, chrome->start + i * chrome->interval);
			json_add_string(buf, "name", buf_str(&name));
			buf_printf(buf, ",\"args\":{\"jobs\":%lld}", (long long)jobs);
			end(chrome);
		}
	}
}

// ---- arrows ----

// Returns the entry where the item's attempts are remembered; the entry may hold the attempts of another item.
static struct origins *origins_at(struct chrome *chrome, uint64_t seq) {
	return &chrome->origins[seq % CHROME_ORIGINS];
}

static void note_origin(struct chrome *chrome, const struct attempt_span *attempt, unsigned tid) {
	struct origins *origins = origins_at(chrome, attempt->id.seq);
	bool starts = attempt->phase == ATTEMPT_STARTED;
	if (origins->seq != attempt->id.seq) {
		*origins = (struct origins){.seq = attempt->id.seq};
	}
	origins->before = starts ? origins->last : origins->before;
	origins->last = (struct origin){.from = attempt->from, .to = starts ? 0 : attempt->to, .tid = tid};
}

// Returns the moment of the slice that is nearest to `at`. A slice does not contain its end.
static uint64_t within(uint64_t at, uint64_t from, uint64_t to) {
	uint64_t last = to >= from + 2000 ? to - 1000 : from;
	return at > last ? last : at < from ? from : at;
}

// Adds an arrow. It has two ends: where it comes from ("s"), and where it points to ("f").
static void add_arrow(struct chrome *chrome, const char *name, unsigned from_tid, uint64_t from, unsigned tid, uint64_t at) {
	++chrome->ids;
	for (int last = 0; last <= 1; ++last) {
		buf_printf(begin(chrome, last ? "f" : "s", last ? tid : from_tid, last ? at : from), "%s,\"id\":%llu,\"cat\":\"flow\",\"name\":\"%s\"",
		           last ? ",\"bp\":\"e\"" : "", ull(chrome->ids), name);
		end(chrome);
	}
}

// Adds the arrows that point to the attempt on track `tid`: from the attempt before it, and from the job (which may still run) that emitted its item.
static void add_arrows(struct chrome *chrome, const struct attempt_span *attempt, unsigned tid) {
	const struct event_job *id = &attempt->id;
	const struct origin *before = &origins_at(chrome, id->seq)->before;
	if (before->to > 0 && id->seq > 0 && (id->attempt > 1 || id->step > 0 || id->role == ROLE_ON_FAILURE)) {
		const char *name = id->role == ROLE_ON_FAILURE ? "on_failure" : id->attempt > 1 ? "retry" : "then";
		add_arrow(chrome, name, before->tid, within(before->to, before->from, before->to), tid, attempt->from);
	}
	uint64_t seq = attempt->start ? attempt->start->from : 0;
	const struct origins *emitter = origins_at(chrome, seq);
	if (seq > 0 && emitter->seq == seq && id->step == 0 && id->attempt <= 1 && id->role == ROLE_JOB) {
		uint64_t at = within(u64_minus(attempt->from, attempt->queued), emitter->last.from, emitter->last.to > 0 ? emitter->last.to : attempt->to);
		add_arrow(chrome, "emits", emitter->last.tid, at, tid, attempt->from);
	}
}

// ---- slices ----

static void add_args(struct buf *buf, const struct attempt_span *attempt) {
	const struct event_job_end *end_event = attempt->end;
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	attempt_add_command(&text, "", attempt, COMMAND_BYTES);
	buf_adds(buf, ",\"args\":{");
	json_add_bytes(buf, "cmd", buf_str(&text), text.len);
	buf_printf(buf, ",\"attempt\":%u,\"source\":\"%s\",\"queued_ms\":%.3f", attempt->id.attempt, event_sources[attempt->source],
	           (double)attempt->queued * 1e-6);
	if (attempt->nslots > 1) {
		buf_printf(buf, ",\"nslots\":%u", attempt->nslots);
	}
	if (attempt->start) {
		buf_printf(buf, ",\"lag\":%.6f", attempt->start->lag);
	}
	if (end_event) {
		const struct result *result = &end_event->result;
		buf_printf(buf, ",\"status\":\"%s\",\"exit\":%d,\"signal\":%d,\"user_ms\":%.3f,\"sys_ms\":%.3f,\"maxrss\":%llu",
		           outcome_names[result->outcome], result->exit_code, result->term_signal, (double)result->user * 1e-6,
		           (double)result->sys * 1e-6, ull(result->maxrss));
	}
	buf_addc(buf, '}');
}

static bool has_failed(const struct attempt_span *attempt) {
	return attempt->end && outcome_is_failure(attempt->end->result.outcome);
}

static void add_slice(struct chrome *chrome, const struct attempt_span *attempt, unsigned tid) {
	FP_CLEANUP(buf_fini) struct buf title = BUF_INIT, category = BUF_INIT;
	attempt_add_title(&title, &attempt->id, TEXT_BATCH_COLUMNS);
	buf_adds(&category, attempt->id.batch);
	bool cancelled = attempt->end && attempt->end->result.outcome == OUTCOME_CANCELLED;
	buf_adds(&category, has_failed(attempt) ? ",failed" : cancelled ? ",cancelled" : "");
	uint64_t ns = attempt->to - attempt->from;
	struct buf *buf = begin(chrome, "X", tid, attempt->from);
	buf_printf(buf, ",\"dur\":%llu.%03u", ull(ns / 1000), (unsigned)(ns % 1000));
	json_add_string(buf, "name", buf_str(&title));
	json_add_string(buf, "cat", buf_str(&category));
	add_args(buf, attempt);
	end(chrome);
	if (has_failed(attempt)) {
		char how[80];
		buf = begin(chrome, "i", tid, attempt->to);
		buf_adds(buf, ",\"s\":\"t\",\"cat\":\"failed\"");
		json_add_string(buf, "name", result_describe(&attempt->end->result, how, sizeof(how)));
		end(chrome);
	}
}

static void add_attempt(void *arg, const struct attempt_span *attempt) {
	struct chrome *chrome = arg;
	unsigned track = (attempt->slotless ? chrome->nslots : 0) + attempt->lane + 1;
	unsigned tid = track < chrome->ntracks ? track : chrome->ntracks, class = palette_class(chrome->palette, attempt->id.batch);
	note_origin(chrome, attempt, tid);
	if (attempt->phase == ATTEMPT_STARTED) {
		return;
	}
	int32_t *running = chrome->counters[class][RUNNING], *queue = chrome->counters[class][QUEUE];
	size_t from = sample_of(chrome, attempt->from);
	++running[from];
	--running[sample_of(chrome, attempt->to)];
	if (attempt->id.role == ROLE_JOB && attempt->id.step == 0 && attempt->id.attempt <= 1) {
		++queue[sample_of(chrome, u64_minus(attempt->from, attempt->queued))];
		--queue[from];
	}
	add_slice(chrome, attempt, tid);
	add_arrows(chrome, attempt, tid);
}

// ---- waits, nested runs, slots, and the calls from outside ----

static void add_wait(struct chrome *chrome, const struct event_wait *wait, uint64_t until) {
	FP_CLEANUP(buf_fini) struct buf name = BUF_INIT;
	buf_printf(&name, "%s waits: %s%s%s", wait->batch ? wait->batch : "all", event_whys[wait->why], wait->what ? ", " : "",
	           wait->what ? wait->what : "");
	unsigned long long id = (unsigned long long)++chrome->ids;
	for (int last = 0; last <= 1; ++last) {
		struct buf *buf = begin(chrome, last ? "e" : "b", 0, last ? until : wait->since);
		buf_printf(buf, ",\"id\":%llu,\"cat\":\"wait\"", id);
		json_add_string(buf, "name", buf_str(&name));
		end(chrome);
	}
}

// Adds a slice for a slot lent to a nested run, on the slot's track. If the job or an outer run had the slot, its slice contains this slice.
static void add_inner(struct chrome *chrome, const struct event_lent *lent) {
	FP_CLEANUP(buf_fini) struct buf job = BUF_INIT;
	unsigned tid = lent->id.slot < chrome->ntracks ? lent->id.slot : chrome->ntracks;
	uint64_t ns = u64_minus(lent->end, lent->start);
	struct buf *buf = begin(chrome, "X", tid, lent->start);
	buf_printf(buf, ",\"dur\":%llu.%03u,\"cat\":\"lent\"", ull(ns / 1000), (unsigned)(ns % 1000));
	json_add_string(buf, "name", lent->to);
	attempt_add_title(&job, &lent->id, TEXT_BATCH_COLUMNS);
	buf_adds(buf, ",\"args\":{");
	json_add_string(buf, "job", buf_str(&job));
	buf_printf(buf, ",\"pid\":%d,\"depth\":%u,\"own\":%s}", lent->pid, lent->depth, lent->own ? "true" : "false");
	end(chrome);
}

static void add_slots(struct chrome *chrome, unsigned slots, uint64_t at) {
	buf_printf(begin(chrome, "C", 0, at), ",\"name\":\"slots\",\"args\":{\"slots\":%u}", slots);
	end(chrome);
}

static void add_run_end(struct chrome *chrome, const struct event_run_end *run_end) {
	if (run_end->signal != 0) {
		char name[60];
		const char *signal = signal_name(run_end->signal);
		snprintf(name, sizeof(name), "fairpar was ended by signal %d%s%s", run_end->signal, signal ? " " : "", signal ? signal : "");
		buf_adds(begin(chrome, "i", 0, chrome->attempts.last), ",\"s\":\"g\",\"cat\":\"signal\"");
		json_add_string(&chrome->buf, "name", name);
		end(chrome);
	}
}

struct chrome *chrome_new(const struct palette *palette, const struct first_pass *first_pass, chrome_write_fn *write, void *arg) {
	const struct run_stats *stats = palette->stats;
	const struct attempts *all = &first_pass->attempts;
	struct chrome *chrome = NEW(struct chrome);
	chrome->palette = palette;
	chrome->write = write;
	chrome->arg = arg;
	chrome->first = true;
	chrome->start = stats->start;
	chrome->interval = (stats_end(stats) - stats->start) / CHROME_SAMPLES + 1;
	chrome->attempts = (struct attempts){.fn = add_attempt, .arg = chrome, .rows = all->rows};
	chrome->nslots = all->rows ? all->rows->rows : all->slots.n > stats->run.slots ? all->slots.n : stats->run.slots;
	chrome->ntracks = chrome->nslots + all->slotless.n;
	chrome->ntracks = chrome->ntracks ? chrome->ntracks : 1;
	chrome->origins = xcalloc(CHROME_ORIGINS, sizeof(*chrome->origins));
	chrome->counters = xcalloc(PALETTE_CLASSES, sizeof(*chrome->counters));
	add_head(chrome);
	if (stats->run.slots > 0) {
		add_slots(chrome, stats->run.slots, chrome->start);
	}
	return chrome;
}

void chrome_on_event(struct chrome *chrome, const struct event *event) {
	attempts_on_event(&chrome->attempts, event);
	switch (event->kind) {
	case EVENT_WAIT_END: add_wait(chrome, &event->u.wait, event->at); break;
	case EVENT_LENT: add_inner(chrome, &event->u.lent); break;
	case EVENT_SLOTS: add_slots(chrome, event->u.slots.slots, event->at); break;
	case EVENT_RUN_END: add_run_end(chrome, &event->u.run_end); break;
	default: break;
	}
}

void chrome_finish(struct chrome *chrome) {
	attempts_finish(&chrome->attempts);
	for (unsigned i = 0; i < PALETTE_CLASSES * COUNTERS; ++i) {
		if (class_name(chrome, i / COUNTERS)) {
			add_counter(chrome, i / COUNTERS, (enum counter)(i % COUNTERS));
		}
	}
	buf_adds(&chrome->buf, "\n]}\n");
	flush(chrome);
	buf_fini(&chrome->buf);
	free(chrome->origins);
	free(chrome->counters);
	free(chrome);
}
