// The statistics of a run, gathered from its events, live or read back from a log. The end summary, the report,
// the trace and the status line all take their numbers from here, so they agree.
//
// Moments and durations are cut to whole microseconds, as in the log.
//
// The memory is bounded, however many jobs there are: it holds totals and a histogram for each of the first STATS_BATCHES batches
// (all later batches share one entry), the slowest jobs, and the first failures.

#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "log/running.h"

enum {
	STATS_BATCHES = 1000,
	STATS_SLOWEST = 10,
	STATS_FAILURES = 20,
	STATS_LOSSES = 20,
	STATS_INNER = 100,
	STATS_CHANGES = 10000,
};

// How often attempts have waited for one reason before they started, and for how long: nanoseconds.
struct stats_wait {
	uint64_t times, time, longest;
};

struct stats_batch {
	char *name;             // "" for the entry that later batches share
	int64_t jobs;           // how many jobs its events have announced; -1: the events do not say it
	uint64_t queued;        // how many jobs were queued so far, by stats_add_queued()
	struct job_counts counts; // jobs that have ended
	uint64_t failed_processes; // as counts.failed, but each job counts once, however many items it has
	uint64_t up_to_date, allowed; // jobs in counts.ok that were up to date; jobs in counts.failed whose failure is allowed
	uint64_t retried;       // jobs with more than one attempt at a step
	uint64_t attempts;      // attempts that have ended
	uint64_t running;       // attempts that run now
	uint64_t first_start, last_end; // event time; 0: none
	uint64_t slot_time;     // nanoseconds times slots, summed over the attempts that have ended, except long-running ones, and
	                        // over the further slots that were lent to runs in these attempts
	uint64_t long_time;     // nanoseconds of long-running attempts
	uint64_t longest_wait;  // the longest time in nanoseconds for which the batch had a job to start and got no turn; known once the batch has ended
	uint64_t p50, max;      // the median (within 3 %) and the greatest of the nanoseconds that its attempts took, by stats_finish()
	double share;           // the batch's part of all slot-time, 0 to 1, by stats_finish()
	uint64_t last_start;    // event time of the last start of an attempt; 0: none
	unsigned width;         // slots of the attempt that started last
	struct stats_wait waits[NO_WHY]; // how long its attempts have waited, by enum event_why
	struct event_batch facts; // its last EVENT_BATCH_START, without the name
	struct histogram *durations; // durations of its jobs' attempts; used only by run_stats.c
};

// A nested run (in a job of this run), and the slots that were lent to it.
struct stats_inner {
	struct event_lent lent; // the loan of the first slot that the nested run gave back, but with the earliest `start` of all its loans
	uint64_t times, time;   // how often slots were lent to the nested run, and for how many nanoseconds in all
};

struct stats_slots {
	uint64_t at;            // event time
	unsigned slots;         // the number of slots from then on
	const char *why;        // the reason in words, or NULL
};

struct run_stats {
	struct event_run_start run; // what EVENT_RUN_START said, without `manifest`, `joblog` and `parent`
	uint64_t start, end;    // event time; end 0: the log is cut off, or the run goes on
	uint64_t last;          // event time of the last event: the end of a log that is cut off
	unsigned slots_now, least_slots, most_slots; // the number of slots now; the least and the most since the start
	struct stats_slots *changes; // changes of the number of slots, in order; of changes beyond STATS_CHANGES only the last is kept, without its reason
	size_t nchanges;
	bool counts_items;      // a job may have several items (--pack=auto): counts of jobs are then counts of items
	struct stats_batch *batches; // in the order of their first event
	size_t nbatches;
	uint64_t hidden_batches;     // how many batches share the last entry
	struct stats_batch total;    // sums of the batches, by stats_finish(); without a name, jobs, p50 and share
	struct event_job_end *slowest[STATS_SLOWEST]; // longest attempt first
	size_t nslowest;
	struct event_job_end *failures[STATS_FAILURES]; // in order of their end
	size_t nfailures;       // how many are listed; total.failed_processes is the number of all failed jobs
	struct event_lost losses[STATS_LOSSES]; // the first losses with a known reason; `batch` is NULL if the loss is of several batches
	size_t nlosses;
	struct stats_inner inner[STATS_INNER]; // nested runs; after stats_finish() those of a job stand together, in the order of their starts
	size_t ninner;
	uint64_t lent, lent_time; // how often slots were lent to runs in jobs, and for how many nanoseconds in all
	uint64_t stolen;        // attempts that a slot has taken from another slot's list
	struct event_run_end run_end;
	double busy;            // slot-time divided by `capacity`, 0 to 1, by stats_finish()

	// used only by run_stats.c
	size_t batches_cap, changes_cap;
	struct map names;       // the number of each batch
	struct running_table retried; // jobs counted in stats_batch.retried that have not ended
	struct arena texts;     // texts of the run's start, changes of slots, losses and runs in jobs; their number is bounded
	uint64_t slots_since;   // event time up to which `capacity` is counted
	double capacity;        // the nanoseconds that all slots had together, up to `slots_since`
};

// Frees the statistics, which the caller has made by NEW(); zeroed statistics are empty.
void stats_free(struct run_stats *stats);

// Appends how many slots there were: "1 slot", "8 slots", or "2 to 64 slots".
void stats_add_slots(struct buf *buf, const struct run_stats *stats);

// Appends at which step and after how many attempts the job has ended: " at step 2 after 3 attempts"; a first step or attempt is left out.
void stats_add_attempts(struct buf *buf, const struct event_job *job);

// Returns the name of the machine `host` of an event, for people: NULL is the machine of the run.
const char *stats_machine_name(const struct run_stats *stats, const char *host);

// An event_fn: adds the event, and copies what it keeps; `arg` is the struct run_stats.
void stats_on_event(void *arg, const struct event *event);

// Adds `jobs` to the number of jobs queued in the batch; a negative number takes jobs back. A log does not have these numbers.
void stats_add_queued(struct run_stats *stats, const char *batch, int64_t jobs);

// Returns the index of the batch of that name in stats->batches; or MAP_NONE if there is no such batch, or if it shares an entry.
uint32_t stats_find(const struct run_stats *stats, const char *name);

// Returns the number of jobs of the batch that have ended, in whatever way.
uint64_t stats_ended(const struct stats_batch *batch);

// Returns the number of jobs of the batch that have ended or run: the sum of ok, failed, cancelled, skipped and running.
// stats_batch.jobs may be more: jobs that were done before the run (--resume), or were queued when the log was cut off.
uint64_t stats_jobs(const struct stats_batch *batch);

// Adds the numbers of the batch to the sum, whose `name`, `jobs` and `p50` stay: there is no median of medians.
void stats_add(struct stats_batch *sum, const struct stats_batch *batch);

// Chooses up to `most` of the batches that share no entry: those with the most slot-time (`with_long`: plus the time of long-running
// attempts); of batches with equal times, the first. Returns for each of stats->batches whether it is chosen; the caller frees the list with free().
bool *stats_largest(const struct run_stats *stats, size_t most, bool with_long);

// Returns the nanoseconds from the start of the run to its end, or to its last event if the log has no end of the run.
uint64_t stats_wall(const struct run_stats *stats);

// Returns the event time at which a picture of the run ends, after stats_finish(): the end of the run, or of an attempt that in
// a damaged log ends later; always after stats->start.
uint64_t stats_end(const struct run_stats *stats);

// Computes the members that follow from other members (p50, max, share, busy, total), as of the event time `now`. May be called
// again after more events.
void stats_finish(struct run_stats *stats, uint64_t now);

// ---- the table of batches, for the summary and the page ----

// The columns of the table, in their order behind the name of the batch.
enum batch_column {
	COLUMN_JOBS, COLUMN_OK, COLUMN_FAILED, COLUMN_CANCELLED, COLUMN_SKIPPED, COLUMN_RUNNING, COLUMN_RETRIED,
	COLUMN_WALL, COLUMN_SLOT_TIME, COLUMN_BESIDE, COLUMN_SHARE, COLUMN_P50, COLUMN_MAX, COLUMN_WAITED,
	BATCH_COLUMNS,
};

enum batch_unit { UNIT_COUNT, UNIT_TIME, UNIT_PERCENT };

// By enum batch_column: the heading, the unit of the numbers (nanoseconds for a time), and whether the column is left out if no batch
// has anything in it.
extern const struct batch_heading { const char *name; enum batch_unit unit; bool is_optional; } batch_headings[BATCH_COLUMNS];

// True if the table has the column; the statistics must be finished (stats_finish()).
bool batch_column_is_shown(enum batch_column column, const struct run_stats *stats);

// Returns the number in the column's unit; or NOT_KNOWN, for example for the median if no job of the batch ran.
uint64_t batch_column_value(enum batch_column column, const struct stats_batch *batch);

// ---- buckets ----

// Logarithmic buckets for a histogram of uint64_t: 2^bits buckets for each power of two, so that the middle of a bucket is off by
// at most 1/2^(bits+1) of any number in it. Below 2^(bits+1) each number has a bucket of its own.

// The number of buckets.
#define BUCKETS(bits) ((65 - (bits)) << (bits))

static inline unsigned bucket_of(uint64_t number, unsigned bits) {
	unsigned octave = number >> bits > 1 ? (unsigned)(63 - __builtin_clzll(number)) - bits : 0;
	return (octave << bits) + (unsigned)(number >> octave);
}

// Returns the smallest number of the bucket.
static inline uint64_t bucket_start(unsigned bucket, unsigned bits) {
	unsigned octave = bucket >> bits > 1 ? (bucket >> bits) - 1 : 0;
	return (uint64_t)(bucket - (octave << bits)) << octave;
}

// ---- summary.c: the summary at the end of a run ----

enum {
	SUMMARY_BRIEF = 10,      // failed jobs that are named if there is no table
	SUMMARY_BATCHES = 20,    // rows of the table; further batches, which took less slot-time, share one more row
};

struct summary_form {
	unsigned width;          // columns; 0: no limit
	bool colour;
	bool table;              // with totals, table of batches, slowest jobs and hint; else only up to SUMMARY_BRIEF failed jobs
	bool out_seen, err_seen; // the user has just seen what jobs wrote on stdout, on stderr: the summary does not repeat this output
};

// Appends the totals of finished statistics: "204 jobs in 29.5s: 202 ok, 2 failed; 8 slots, 97% busy".
void summary_add_totals(struct buf *buf, const struct run_stats *stats, const struct summary_form *form);

// Appends the last line of a run without its newline: how many jobs failed, and which, unless they are `listed` above it; how
// many were cancelled, skipped or done before. Appends nothing if all jobs ran and succeeded.
void summary_add_last(struct buf *buf, const struct run_stats *stats, bool listed);

// Appends what --explain says of a run, from finished statistics: when and why the number of slots has changed; what the jobs of each batch
// have waited for before they started, and for how long; and why jobs never started.
void summary_add_reasons(struct buf *buf, const struct run_stats *stats, const struct summary_form *form);

// Appends the summary of finished statistics (stats_finish()), line by line, each with its newline.
void summary_add(struct buf *buf, const struct run_stats *stats, const struct summary_form *form);
