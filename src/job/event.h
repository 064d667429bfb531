// The events of a run: one type for the log, the summary, the report, the trace and the status line, whether the events come
// live or from a log.
//
// Events only report: no subscriber steers the run. Strings in an event are borrowed for the call.
//
// The log has times and durations in whole microseconds, cut off, not rounded (event_us()); times count from the start of
// the run. Code that shows numbers cuts them off in the same way, so that a run and its log give the same numbers.

#pragma once

#include "job/job.h"

// Stands for a number or a time that is not known.
#define NOT_KNOWN UINT64_MAX

static inline uint64_t event_us(uint64_t ns) {
	return ns / 1000;
}

// The events of the log. A new event, or a new key of an event, goes into the table log/events.def, too.
enum event_kind {
	EVENT_RUN_START,
	EVENT_BATCH_START,  // the first item of the batch was queued, or the manifest names the batch
	EVENT_JOB_START,    // an attempt at a step of a job: its process was started, or could not be
	EVENT_OUTPUT,       // an attempt has written something; only with --log-output
	EVENT_JOB_END,      // an attempt has ended; event_job_end.next says whether the attempt's job has ended, too
	EVENT_LOST,         // jobs that never started: cancelled or skipped
	EVENT_WAIT,         // a batch or a job waits, and not just for its turn
	EVENT_WAIT_END,     // the wait of a batch or a job is over
	EVENT_LENT,         // a fairpar in a job has given back a slot that it had borrowed
	EVENT_SLOTS,        // the number of slots has changed
	EVENT_BATCH_END,
	EVENT_RUN_END,
	EVENT_DISPATCH,     // an item got its turn: the only kind of event that --trace-service has
};

// What a command is run for.
enum event_role {
	ROLE_JOB,           // an item's command, or a step of its `then`
	ROLE_ON_FAILURE,
	ROLE_FINALLY,
	ROLE_LISTING,       // to list the items of a batch (args_from of a manifest)
};

// Where the worker found the job's item: the same values as enum work_source of engine/pool.h.
enum event_source { FROM_OWN, FROM_STOLEN, FROM_QUEUE, FROM_LENT, FROM_LONG, FROM_BACKFILL };

// What follows the end of an attempt.
enum event_next { NEXT_NOTHING, NEXT_RETRY, NEXT_STEP };

// Why a job or a batch waits.
enum event_why {
	WHY_TURN,           // other batches have had less service and go first, or all slots are busy
	WHY_LIMIT,          // max_parallel of the job's batch
	WHY_RATE,           // rate of the job's batch
	WHY_LOAD,           // --load, --noswap
	WHY_MEMORY,         // --memfree, or `memory` of the job's batch
	WHY_DELAY,          // --delay
	WHY_NEEDS,          // a batch that the waiting batch needs has not ended
	WHY_RETRY,          // the pause before the next attempt at the job
	WHY_RESERVE,        // slots are kept free for a job that needs several at once
	WHY_SUSPEND,        // --memsuspend: a running job was stopped
	WHY_HOST,           // no machine that the job may run on has a slot free
	NO_WHY,             // how many there are; in an event that was read: a reason that this version does not know
};

enum { EVENT_WORTH_A_REASON = 1000000 }; // nanoseconds: if a job was queued for at least so long, event_job_start.why says why

struct event_run_start {
	const char *run;        // the ID of the run, a ULID: 26 characters
	const char *version;
	const char *host;
	const char *cwd;
	const char *manifest;   // path, or NULL
	const char *name;       // the name of the run, as the manifest gives it, or NULL
	const char *joblog;     // path of the run's joblog, if --resume-failed can read it; or NULL
	const char *parent;     // the job that started this fairpar, as "RUN/BATCH#n"; or NULL
	const char *argv;       // the command line: `nargv` strings one after the other
	uint32_t nargv;
	uint64_t time_ns;       // nanoseconds since 1970
	int pid;
	unsigned slots;         // 0: not known
	bool fair_time;
};

struct event_batch {
	const char *batch;
	uint32_t weight;
	int32_t priority;
	uint32_t max_parallel;  // 0: no limit
	uint64_t interval;      // the least nanoseconds between two starts (from the rate); 0: no rate
	bool long_running;
	int64_t jobs;           // how many jobs the batch has; -1: not known
};

// Says which attempt of which job an event, or a command, belongs to.
struct event_job {
	const char *batch;
	uint64_t number;        // number of the job within its batch, as in "BATCH#number"
	uint64_t seq;           // number of the item within the run; 0: the command belongs to no item
	enum event_role role;
	unsigned step;          // 0: the command; n: the nth of `then`
	unsigned attempt;       // number of the attempt at the step, from 1
	unsigned slot;          // from 1; a long-running job has a number above the run's slots; 0: no attempt began, for example as the job is up to date
	const char *host;       // the machine that the job runs on; NULL: this machine
};

struct event_job_start {
	struct event_job id;
	unsigned nslots;        // slots that the attempt takes
	int pid;                // 0: not started
	enum event_source source;
	double lag;             // how far the job's batch was behind its share at this start, in turns or seconds; see --trace-service
	uint64_t queued;        // nanoseconds that the attempt was queued before its start
	enum event_why why;     // what the job has waited for longest, if it was queued for EVENT_WORTH_A_REASON or longer
	uint64_t from;          // event_job.seq of the job whose output held this job's item; 0: the item was no output of a job
	const char *warm;       // with --warm: "yes" if the shell is a clone, or "no, " and why the shell was executed; or NULL
	const char *command;    // the command as people read it
	size_t command_len;
	const char *args;       // `nargs` strings one after the other
	uint32_t nargs;
};

struct event_job_end {
	struct event_job id;
	struct result result;   // result.start is the start of the attempt; 0: the attempt never ran
	uint64_t queued;        // nanoseconds that the attempt was queued before its start
	unsigned nslots;        // slots that the attempt took; from a log: as in the attempt's job_start, or 1 if the log has no job_start
	enum event_source source; // where the item was found; from a log: as in the attempt's job_start, or FROM_QUEUE if the log has none
	enum event_next next;
	uint64_t items;         // items of the attempt: 1, or more with --pack=auto; each item counts as a job
	bool up_to_date;        // the file that the job creates was there already: nothing was run
	bool allowed;           // the failure of the job is allowed (allow_failure)
	uint64_t out_bytes, err_bytes; // bytes of the job's output so far
	const char *why;        // why the attempt could not be started, in words; or NULL
	const char *tail;       // last lines of the output of a job that has failed for good, or NULL
	size_t tail_len;
	size_t tail_out;        // how many of the first bytes of `tail` are known to come from stdout
	const char *command;    // the command of the attempt; from a log: as in its job_start, or NULL
	size_t command_len;
};

struct event_output {
	struct event_job id;
	int stream;             // 1 stdout, 2 stderr
	const char *data;
	size_t len;
};

struct event_lost {
	const char *batch;
	enum outcome outcome;   // OUTCOME_CANCELLED or OUTCOME_SKIPPED
	uint64_t jobs;          // how many jobs; 1 for a batch whose items are not known
	const char *why;        // "it needs 'build', which failed", "SIGINT"; or NULL
};

struct event_wait {
	const char *batch;      // NULL: all batches wait
	uint64_t number;        // number of the waiting job in the batch; 0: no single job waits
	enum event_why why;
	const char *what;       // what the batch or the job waits for, in words ("build", "load 9.1 of 8"), or NULL
	uint64_t since;         // EVENT_WAIT_END: when the wait began, now_ns() time
};

struct event_lent {
	struct event_job id;    // the attempt whose process has started a fairpar, the nested run; id.slot is the slot that was lent
	const char *to;         // the command line of the nested run
	int pid;                // the process ID of the nested run
	unsigned depth;         // 1: the nested run is in the job; 2: it is in a job of a run in the job; and so on
	bool own;               // the lent slot was that of the attempt, or of the nested run in whose job this nested run is: no further slot was taken
	uint64_t start, end;    // now_ns() time
};

struct event_slots {
	unsigned slots;
	const char *why;
};

struct event_batch_end {
	const char *batch;
	struct job_counts counts; // ok includes jobs that are up to date, failed includes jobs whose failure is allowed
	uint64_t longest_wait;  // nanoseconds: the longest time that the batch had a job to start and got no turn; from an old log: 0
	uint64_t memory;        // bytes of memory that the largest of the batch's last jobs used; 0: not known
};

struct event_dispatch {
	uint64_t n;             // number of this dispatch in the run, from 1
	const char *batch;
	uint64_t job;           // number of the job within the batch
	enum event_source source;
	unsigned slot;
	uint32_t turns;         // turns that the batch is charged for the dispatch
	double virt, lag;       // virtual time and lag of the batch (see --trace-service): turns, or seconds of slot-time, per weight
};

struct event_run_end {
	struct job_counts counts; // includes jobs that are up to date (in ok), and jobs whose failure is allowed (in failed)
	uint64_t allowed, up_to_date, resumed; // `allowed` is a part of counts.failed, `up_to_date` of counts.ok; `resumed` jobs are not in `counts`
	bool unread;            // the input was not read to its end; the jobs of the unread part are not in counts.cancelled
	uint64_t slot_time;     // the sum of stats_batch.slot_time over all batches; from a log: 0
	int exit_status;
	int signal;             // the signal that ended the run, or 0
};

struct event {
	enum event_kind kind;
	uint64_t at;            // now_ns() time; from a log: nanoseconds since the start of its run, plus 1 s
	union {
		struct event_run_start run_start;
		struct event_batch batch;
		struct event_job_start job_start;
		struct event_output output;
		struct event_job_end job_end;
		struct event_lost lost;
		struct event_wait wait;
		struct event_lent lent;
		struct event_slots slots;
		struct event_batch_end batch_end;
		struct event_dispatch dispatch;
		struct event_run_end run_end;
	} u;
};

// A subscriber: a function that is called for each event, in the same order for all subscribers, from any thread but one
// call at a time. It must not block for long.
typedef void event_fn(void *arg, const struct event *event);
