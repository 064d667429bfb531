// A job that has begun, and what can be said of it.

#ifndef FAIRPAR_RUN_JOB_STATE_H
#define FAIRPAR_RUN_JOB_STATE_H

#include "job/event.h"
#include "output/results.h"
#include "run/block.h"
#include "run/item.h"

// A job that has begun.
struct job {
	struct batch *batch;
	const struct job_spec *spec;
	struct item item;
	struct record record;
	struct block *block; // of --pipe and --pipe-part: its standard input; or NULL
	const char *reason;  // item.bad: why
	const char *name;    // of what is no item ("finally"), or NULL
	enum event_role role;
	struct created_file *creating; // what it makes, which was not there when it began (created_files.h); or NULL
	unsigned step;           // 0: the command; n: the nth of spec->then
	unsigned attempt;        // of this step, from 1
	uint64_t start;          // of its first step's last attempt, now_ns() time; 0 before
	uint64_t coalesced;      // items that its process has taken too (--pack=auto): their arguments are in `record`
	enum event_next pending; // what it was queued again for; and of the attempt before:
	struct result result;
	unsigned slot;           // where it runs, or ran last
	struct spool *spool;     // of all its output; NULL if it is ungrouped
	struct results *results; // takes its output instead (--results), or NULL
	char *owned;             // its own copy of the record, once it has left the worker; else NULL
	// for subscribers
	uint64_t queued;        // when this attempt was queued, now_ns() time; 0: it was not, or there is no subscriber
	uint64_t pause;         // of the time since, nanoseconds that it had to wait before its next attempt
	uint64_t from;          // seq of the job that emitted the item, or 0
	bool pauses;            // that it waits was published, and not yet that it does no longer
	enum event_next cancelled_next; // what was published to follow its last attempt, and does not, for the run was cut short
};

// Appends how messages call the job: "BATCH#7", "#7" in the default batch, or "BATCH finally".
void job_label(const struct job *job, struct buf *buf);
// What the job's templates are expanded with.
struct expansion job_expansion(const struct job *job);

// Bytes of data that the job was given on its standard input (--pipe).
uint64_t job_sent(const struct job *job);

#endif
