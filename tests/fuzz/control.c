// Fuzz target: what somebody says to a run, any bytes: a job that is read has as many words and
// variables as it says, all of them within what came, and says the same when it is written again.

#include "base/alloc.h"
#include "base/diag.h"
#include "slots/control.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Are these so many strings, and no byte more?
static bool is_strings(const char *at, size_t size, uint32_t n) {
	const char *end = at + size;
	for (; n > 0 && at < end; --n) {
		at += strlen(at) + 1;
	}
	return n == 0 && at == end;
}

static void check_job(const char *text, size_t len) {
	struct control_job job, again;
	if (!control_read_job(text, len, &job)) {
		return;
	}
	verify(job.nwords > 0 && job.cwd[0] == '/' && job.attempts > 0 && job.width > 0 && job.umask <= 0777);
	verify(is_strings(job.words, job.words_size, job.nwords) && is_strings(job.env, job.env_size, job.nenv));
	verify(job.env + job.env_size == text + len);
	struct buf written = BUF_INIT;
	control_write_job(&written, &job);
	verify(written.len == len && control_read_job(written.data, written.len, &again));
	verify(again.nwords == job.nwords && again.timeout == job.timeout && again.nice == job.nice && again.umask == job.umask);
	verify(again.words_size == job.words_size && memcmp(again.words, job.words, job.words_size) == 0);
	verify(memcmp(again.limits, job.limits, sizeof(job.limits)) == 0 && strcmp(again.batch, job.batch) == 0);
	buf_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	char *copy = xmalloc(size + 1); // exactly as long, so that the sanitizer sees the first byte too many
	memcpy(copy, data, size);
	copy = xrealloc(copy, size > 0 ? size : 1);
	check_job(copy, size);
	free(copy);
	return 0;
}
