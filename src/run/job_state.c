// A job that has begun, and what can be said of it.

#include "run/job_state.h"

#include "remote/sshlogin.h"

#include <string.h>

void job_label(const struct job *job, struct buf *buf) {
	const struct batch *batch = job->batch;
	bool is_default = !batch->node && strcmp(batch->name, "default") == 0;
	if (!is_default) {
		buf_add_escaped(buf, batch->name, strlen(batch->name), 80);
	}
	if (job->name) {
		buf_printf(buf, " %s", job->name);
	} else {
		buf_printf(buf, "#%llu", (unsigned long long)(is_default ? job->item.seq : job->item.number));
	}
}

struct expansion job_expansion(const struct job *job) {
	const struct run *run = job->batch->run;
	return (struct expansion){
		.record = &job->record,
		.seq = job->item.seq,
		.slot = job->slot,
		.slots = run->slots,
		.total = run->total,
		.host = job->login ? job->login->host : NULL,
		.sshlogin = job->login ? job->login->name : NULL,
	};
}

const char *job_host(const struct job *job) {
	return job->login ? job->login->name : NULL;
}

const char *job_remote_host(const struct job *job) {
	return job->login && job->login->kind != SSHLOGIN_LOCAL ? job->login->name : NULL;
}

uint64_t job_bytes(const struct job *job, int stream) {
	if (job->results && results_takes(job->results, stream)) {
		return results_bytes(job->results, stream);
	}
	return job->spool ? spool_bytes(job->spool, stream) : 0;
}

uint64_t job_sent(const struct job *job) {
	return job->block ? block_sent(job->block) : 0;
}
