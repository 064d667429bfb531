// The requests of a fairpar to a running fairpar, as bytes.

#include "slots/control.h"

#include <string.h>

enum { MOST_NICE = 40 };

// The text of ADD begins with it; batch, directory, words and environment follow, each string with its NUL.
struct add_head {
	uint32_t nwords, nenv;
	uint64_t timeout;
	uint32_t attempts, width;
	int32_t nice;
	uint32_t umask;
	uint64_t limits[CONTROL_LIMITS][2];
};

void control_write_job(struct buf *out, const struct control_job *job) {
	struct add_head head = {
		.nwords = job->nwords,
		.nenv = job->nenv,
		.timeout = job->timeout,
		.attempts = job->attempts,
		.width = job->width,
		.nice = job->nice,
		.umask = job->umask,
	};
	for (unsigned i = 0; i < CONTROL_LIMITS; ++i) {
		head.limits[i][0] = job->limits[i].rlim_cur;
		head.limits[i][1] = job->limits[i].rlim_max;
	}
	buf_add(out, &head, sizeof(head));
	buf_add(out, job->batch, strlen(job->batch) + 1);
	buf_add(out, job->cwd, strlen(job->cwd) + 1);
	buf_add(out, job->words, job->words_size);
	buf_add(out, job->env, job->env_size);
}

bool control_read_job(const char *text, size_t len, struct control_job *ret_job) {
	struct add_head head;
	if (len < sizeof(head)) {
		return false;
	}
	memcpy(&head, text, sizeof(head)); // not aligned
	const char *at = text + sizeof(head), *end = text + len;
	*ret_job = (struct control_job){
		.nwords = head.nwords,
		.nenv = head.nenv,
		.timeout = head.timeout,
		.attempts = head.attempts,
		.width = head.width,
		.nice = head.nice,
		.umask = head.umask & 0777,
	};
	for (unsigned i = 0; i < CONTROL_LIMITS; ++i) {
		ret_job->limits[i] = (struct rlimit){.rlim_cur = (rlim_t)head.limits[i][0], .rlim_max = (rlim_t)head.limits[i][1]};
	}
	ret_job->batch = frame_strings(&at, end, 1);
	ret_job->cwd = frame_strings(&at, end, 1);
	ret_job->words = frame_strings(&at, end, head.nwords);
	const char *words_end = at;
	ret_job->env = frame_strings(&at, end, head.nenv);
	if (!ret_job->batch || !ret_job->cwd || !ret_job->words || !ret_job->env || at != end) {
		return false;
	}
	ret_job->words_size = (size_t)(words_end - ret_job->words);
	ret_job->env_size = (size_t)(end - ret_job->env);
	bool sane = head.nwords > 0 && head.attempts > 0 && head.width > 0 && head.nice >= -MOST_NICE && head.nice <= MOST_NICE;
	return sane && ret_job->cwd[0] == '/';
}
