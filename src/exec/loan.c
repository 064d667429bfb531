// Slots that the run lends to the fairpars in its jobs, beyond the slots of these jobs. A lent slot is an item in the batch of the job (WORK_LENT).
// When its turn comes, the item takes a slot on the machine where the job runs, and is pending until this slot is given back.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "hosts/hosts.h"
#include "sharing/nested.h"
#include "state/publish.h"

struct run_loan {
	struct run *run;
	struct hosts_loan machine;  // the slot on the machine of the job; in a run on one machine only `is_over` and `request.worker` are used
	bool has_lent;              // the slot has come, and was lent
	struct lending lending;     // the slot, for nested.c, if the job is on this machine (machine.attempt is NULL)
	uint64_t attempt;           // live_attempt.number of the attempt whose job gets the slot
};

static void forget(struct run_loan *loan) {
	if (loan->run->hosts) {
		hosts_loan_close(loan->run->hosts, &loan->machine);
	}
	free(loan);
}

// Ends a loan whose slot is back, or does not come.
static enum work_status end(struct run_loan *loan) {
	if (!loan->machine.attempt && !loan->has_lent) {
		(void)nested_lend(loan->run->nested, loan->attempt, NULL);
	}
	forget(loan);
	return WORK_OK;
}

static enum work_status lend(struct run_loan *loan, struct worker *worker) {
	if (loan->run->hosts && loan->machine.request.answer != HOSTS_PLACE) {
		return end(loan);
	}
	loan->has_lent = true;
	loan->lending.slot = worker_slot(worker);
	if (loan->machine.attempt) {
		hosts_lend(loan->run->hosts, &loan->machine);
	} else if (!nested_lend(loan->run->nested, loan->attempt, &loan->lending)) {
		return end(loan);
	}
	return WORK_PENDING;
}

static enum work_status resume(struct worker *worker, struct queue *queue FP_UNUSED, void *data) {
	struct run_loan *loan = *(struct run_loan **)data;
	if (atomic_load(&loan->machine.is_over)) {
		return end(loan);
	}
	bool goes_on = !loan->has_lent && hosts_have_answered(loan->run->hosts, &loan->machine.request);
	if (goes_on) {
		pool_reclaim(loan->run->pool, worker, /* waits */ false);
	}
	return goes_on ? lend(loan, worker) : WORK_PENDING;
}

static enum work_status run(struct worker *worker, struct queue *queue FP_UNUSED, void *data, size_t size FP_UNUSED) {
	struct run_loan *loan = *(struct run_loan **)data;
	if (!loan->run->hosts) {
		loan->machine.request.worker = worker;
	} else if (!hosts_loan_begin(loan->run->hosts, &loan->machine, worker)) {
		pool_lend(loan->run->pool, worker); // meanwhile the item does not count for max_parallel
		return WORK_PENDING;
	}
	return lend(loan, worker);
}

static void drop(struct queue *queue FP_UNUSED, void *data, size_t size FP_UNUSED) {
	(void)end(*(struct run_loan **)data);
}

static const struct work_type work_loan = {.run = run, .resume = resume, .drop = drop};

// Queues an item that will lend a slot to the fairpars in the attempt, which runs on another machine as `elsewhere`, or here if `elsewhere` is NULL.
// Returns false if there can be no such slot, or the run takes no more items.
static bool request_slot(struct run *run, const struct live_attempt *attempt, struct host_attempt *elsewhere) {
	struct run_loan *loan = NEW(struct run_loan);
	*loan = (struct run_loan){.run = run, .attempt = attempt->number};
	const struct work work = {
		.type = &work_loan,
		.data = &loan,
		.size = sizeof(loan),
		.flags = WORK_LOCAL | WORK_LENT | WORK_NO_TOKEN, // WORK_NO_TOKEN: this is no start of a job, so --rate does not count it
		.id = attempt->number,
	};
	bool can_come = !run->hosts || hosts_loan_open(run->hosts, &loan->machine, elsewhere);
	if (can_come && pool_submit(run->pool, worker_queue(attempt->worker), attempt->worker, &work, 1) == SUBMIT_OK) {
		return true;
	}
	forget(loan);
	return false;
}

void loans_request_elsewhere(struct worker_state *state) {
	for (unsigned n = hosts_take_wanted(state->elsewhere); n > 0 && request_slot(state->run, &state->live, state->elsewhere); --n) {
	}
}

// ---- for fairpars in jobs on this machine ----

static bool request_here(void *arg, const struct live_attempt *attempt) {
	return request_slot(arg, attempt, NULL);
}

static bool others_wait(void *arg) {
	const struct run *run = arg;
	return run->hosts || pool_demand(run->pool, 1) > 0; // pool_demand() does not count jobs that wait for a machine
}

static void take_back(void *arg FP_UNUSED, struct lending *lending) {
	struct run_loan *loan = list_entry(lending, struct run_loan, lending);
	atomic_store(&loan->machine.is_over, true);
	pool_resume(loan->machine.request.worker);
}

void loans_attach(struct run *run) {
	nested_attach(run->nested, &(struct nested_source){
		.request = request_here,
		.others_wait = others_wait,
		.returned = take_back,
		.publish = publish_lent,
		.arg = run,
	}, run->wake_fd);
}
