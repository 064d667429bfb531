// The requests of a fairpar to a running fairpar, as bytes.

#include "slots/control.h"

#include "base/units.h"

#include <string.h>

enum { MOST_NICE = 40 };

// How many bytes the numbers at the beginning of a struct control_job take.
#define NUMBERS offsetof(struct control_job, batch)

void control_write_job(struct buf *out, const struct control_job *job) {
	buf_add(out, job, NUMBERS);
	buf_add(out, job->batch, strlen(job->batch) + 1);
	buf_add(out, job->cwd, strlen(job->cwd) + 1);
	buf_add(out, job->words, job->words_size);
	buf_add(out, job->env, job->env_size);
}

bool control_read_job(const char *text, size_t len, struct control_job *ret_job) {
	*ret_job = (struct control_job){0};
	if (len < NUMBERS) {
		return false;
	}
	memcpy(ret_job, text, NUMBERS); // not aligned
	ret_job->umask &= 0777;
	const char *at = text + NUMBERS, *end = text + len;
	ret_job->batch = strings_next(&at, end, 1);
	ret_job->cwd = strings_next(&at, end, 1);
	ret_job->words = strings_next(&at, end, ret_job->nwords);
	const char *words_end = at;
	ret_job->env = strings_next(&at, end, ret_job->nenv);
	if (!ret_job->batch || !ret_job->cwd || !ret_job->words || !ret_job->env || at != end) {
		return false;
	}
	ret_job->words_size = (size_t)(words_end - ret_job->words);
	ret_job->env_size = (size_t)(end - ret_job->env);
	bool sane = ret_job->nwords > 0 && ret_job->attempts > 0 && ret_job->width > 0 && ret_job->nice >= -MOST_NICE && ret_job->nice <= MOST_NICE;
	return sane && ret_job->cwd[0] == '/';
}
