// A job that has begun, and what can be said of it.

#ifndef FAIRPAR_RUN_JOB_STATE_H
#define FAIRPAR_RUN_JOB_STATE_H

#include "hosts/hosts.h"
#include "job/event.h"
#include "output/results.h"
#include "run/added_jobs.h"
#include "run/block.h"
#include "run/item.h"

struct sshlogin;

// Between attempts it is moved to the heap (job_run.c); else it is a variable of the function that runs it.
struct job {
	struct batch *batch;          // the job's queue has a reference
	const struct job_spec *spec;  // of the batch
	struct item item;
	struct record record;         // its arguments; borrowed from the queued item, or from `owned`
	struct block *block;          // of --pipe and --pipe-part: its standard input, which job_run.c frees; or NULL
	struct added_job *added;      // of --add: owns `spec`, and is freed by job_run.c; or NULL
	const char *reason;           // with item.bad: why it cannot be run; borrowed as the record
	const char *name;             // what messages call a command that is no item, such as "finally"; or NULL
	enum event_role role;
	struct created_file *creating; // what it makes, which was not there when it began (created_files.h); or NULL
	unsigned step;                // 0: the command; n: the nth of spec->then
	unsigned attempt;             // of this step, from 1
	unsigned slot;                // where it runs, or ran last
	const struct sshlogin *login; // the machine of its attempt, or of its last one; NULL: there are no machines but this one
	struct hosts_tries tries;     // of this step's attempts before
	unsigned losses;              // attempts that were lost with their machine, and are made again
	uint64_t start;               // of its first step's last attempt, now_ns() time; 0 before
	uint64_t coalesced;           // items that its process has taken too (--pack=auto): their arguments are in `record`
	struct spool *spool;          // of all its output; NULL if it is ungrouped
	struct results *results;      // takes its output instead (--results), or NULL
	char *owned;                  // a copy of the record and the reason, once it has left the worker; else NULL

	// between two attempts
	enum event_next pending;      // what it was queued for: another attempt or the next step
	struct result result;         // of the attempt before

	// for subscribers
	uint64_t queued;              // when this attempt was queued, now_ns() time; 0: it was not, or there is no subscriber
	uint64_t pause;               // nanoseconds that it then had to wait before its next attempt
	uint64_t from;                // seq of the job that emitted the item, or 0
	bool pauses;                  // EVENT_WAIT of that pause was published, and its end was not
	enum event_next cancelled_next; // what was published to follow its last attempt, and does not, for the run was cut short
};

// Appends how messages call the job: "BATCH#7", "#7" in the default batch, or "BATCH finally".
void job_label(const struct job *job, struct buf *buf);

// What the job's templates are expanded with; borrows its record.
struct expansion job_expansion(const struct job *job);

// What its machine is called in logs; NULL where there are no machines but this one.
const char *job_host(const struct job *job);

// The same of a job on another machine; NULL on this one.
const char *job_remote_host(const struct job *job);

// Bytes that the job has written to the stream (0 stdout, 1 stderr) and that are its output, not items. Before its spool and its
// results are let go of.
uint64_t job_bytes(const struct job *job, int stream);

// Bytes of data that the job was given on its standard input (--pipe). By its worker, or once it has ended.
uint64_t job_sent(const struct job *job);

#endif
