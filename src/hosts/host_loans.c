// Slots that are lent to the fairpars in jobs, on the machines of these jobs. The worker there requests slots, passes them on, and gives them back.

#include "hosts/hosts_internal.h"

#include "base/units.h"

unsigned hosts_take_wanted(struct host_attempt *attempt) {
	unsigned requests = attempt->requests;
	attempt->requests = 0;
	return requests;
}

// ---- a loan ----

bool hosts_loan_open(struct hosts *hosts, struct hosts_loan *loan, struct host_attempt *attempt) {
	FP_HOLD(&hosts->lock);
	const struct host *host = attempt ? attempt->host : hosts_find_here(hosts);
	*loan = (struct hosts_loan){.request = {.width = 1, .only = host, .answer = HOSTS_REFUSED}, .attempt = attempt};
	list_init(&loan->request.link);
	list_init(&loan->link);
	if (!host || host->slots == 0 || (attempt && attempt->state >= ATTEMPT_DOUBTED)) { // a doubted attempt has ended its loans
		return false;
	}
	if (attempt) {
		list_push_back(&attempt->loans, &loan->link);
	}
	return true;
}

bool hosts_loan_begin(struct hosts *hosts, struct hosts_loan *loan, struct worker *worker) {
	mutex_lock(&hosts->lock);
	loan->request.worker = worker;
	mutex_unlock(&hosts->lock);
	return atomic_load(&loan->is_over) || hosts_request_place(hosts, &loan->request);
}

void hosts_lend(struct hosts *hosts, struct hosts_loan *loan) {
	FP_HOLD(&hosts->lock);
	if (!atomic_load(&loan->is_over)) {
		loan->is_lent = true;
		wire_write(&loan->attempt->outbox, &(struct wire_frame){.type = FRAME_LEND});
		host_post(loan->attempt->host);
	}
}

void hosts_loan_close(struct hosts *hosts, struct hosts_loan *loan) {
	mutex_lock(&hosts->lock);
	list_remove(&loan->link);
	hosts_withdraw_request(hosts, &loan->request);
	mutex_unlock(&hosts->lock);
	if (loan->request.place.host) {
		hosts_release_place(hosts, &loan->request.place);
	}
}

// ---- what the worker says ----

const char *host_loans_wanted(void *arg FP_UNUSED, struct channel_job *job, uint64_t slots) {
	struct host_attempt *attempt = job->owner;
	if (!attempt) {
		return NULL;
	}
	if (slots > u64_minus((uint64_t)HOST_SLOTS_MOST - attempt->wanted, list_length(&attempt->loans))) {
		return "the worker has asked for more slots than a machine can have";
	}
	attempt->wanted += (unsigned)slots;
	host_attempt_on_wake(attempt);
	return NULL;
}

static void end_loan(struct hosts_loan *loan) {
	list_remove(&loan->link);
	atomic_store(&loan->is_over, true);
	if (loan->request.worker) { // NULL while the loan's item is still queued
		pool_resume(loan->request.worker);
	}
}

void host_loans_back(void *arg FP_UNUSED, struct channel_job *job) {
	const struct host_attempt *attempt = job->owner;
	if (!attempt) {
		return;
	}
	list_for_each_entry(&attempt->loans, struct hosts_loan, loan, link) {
		if (loan->is_lent) {
			end_loan(loan);
			return;
		}
	}
}

void host_loans_end(struct host_attempt *attempt) {
	attempt->wanted = 0;
	list_for_each_entry(&attempt->loans, struct hosts_loan, loan, link) {
		end_loan(loan);
	}
}
