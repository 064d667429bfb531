// Fuzz target: what the other end of a line says, any bytes, in any pieces: they are frames, a part of one, or the end of the line, and
// a job that is read has a program. The first byte tells who listens, and how large the pieces are.

#include "base/alloc.h"
#include "base/diag.h"
#include "remote/worker_end.h"
#include "remote/dispatcher_end.h"
#include "remote/payload.h"

#include <string.h>

#define MARK "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sees_bytes(const char *bytes, size_t n) {
	uint8_t sum = 0;
	for (size_t i = 0; i < n; ++i) { // each can be read
		sum = (uint8_t)(sum + (uint8_t)bytes[i]);
	}
	verify(n > 0 || sum == 0);
}

static void see_payload(const char *bytes, size_t n) {
	struct payload payload;
	const char *why = NULL;
	char *const base[] = {(char[]){"A=1"}, (char[]){"B=2"}, NULL};
	if (payload_read(&payload, bytes, n, &why) == 0) {
		verify(payload.child.path && payload.argv.at && payload.argv.at[0] && payload.umask <= 0777 && payload.nlimits <= RLIM_NLIMITS);
		free(env_merge(base, payload.set.at, payload.unset.at));
	} else {
		verify(why);
	}
	payload_fini(&payload);
}

static void h_hello(void *arg, const struct worker_hello *hello) { (void)arg; verify(hello->slots > 0); sees_bytes(hello->node, strlen(hello->node)); }
static void h_started(void *arg, struct channel_job *job, uint64_t pid, uint64_t ago) { (void)arg; (void)pid; (void)ago; verify(job->number == 1); }
static void h_output(void *arg, struct channel_job *job, unsigned stream, const char *bytes, size_t n) {
	(void)arg;
	verify(job->number == 1 && (stream == 1 || stream == 2) && n <= WIRE_CHUNK_MOST);
	sees_bytes(bytes, n);
}
static void h_done(void *arg, const struct channel_job *job, const struct job_end *end) { (void)arg; verify(job->number == 1 && end->result.exit_code < 256); }
static void h_bye(void *arg, const char *why) { (void)arg; sees_bytes(why, strlen(why)); }
static void h_braked(void *arg, uint64_t jobs, const char *why) { (void)arg; (void)jobs; sees_bytes(why ? why : "", why ? strlen(why) : 0); }
static void h_slots(void *arg, uint64_t slots, uint64_t reason) { (void)arg; (void)reason; verify(slots > 0); }
static void h_lost(void *arg, const struct channel_job *job) { (void)arg; verify(job->number == 1); }
static void h_overdue(void *arg, struct channel_job *job) { (void)arg; verify(job->number == 1); }

static const char *h_wanted(void *arg, struct channel_job *job, uint64_t slots) { (void)arg; (void)slots; verify(job->number == 1); return NULL; }
static void h_back(void *arg, struct channel_job *job) { (void)arg; verify(job->number == 1); }
static const char *h_files(void *arg, struct channel_job *job, const struct wire_frame *frame) { (void)arg; (void)job; sees_bytes(frame->payload, frame->size); return NULL; }
static void a_env(void *arg, bool adds, const char *bytes, size_t n) { (void)arg; (void)adds; sees_bytes(bytes, n); }
static void a_begin(void *arg, struct channel_job *job, const char *bytes, size_t n) { (void)arg; (void)job; see_payload(bytes, n); }
static const char *a_frame(void *arg, struct channel_job *job, const struct wire_frame *frame) {
	verify(frame->type != FRAME_STOP || frame->numbers[1] < STOP_HOWS);
	verify(frame->type != FRAME_SHUT || frame->numbers[1] == 1 || frame->numbers[1] == 2);
	return h_files(arg, job, frame);
}
static void a_rest(void *arg, bool begins) { (void)arg; (void)begins; }

// Gives the bytes to an end in pieces of that size, each of exactly its length.
static void in_pieces(int (*receive)(void *end, const char *bytes, size_t n), void *end, const uint8_t *data, size_t size, size_t piece) {
	for (size_t n; size > 0; data += n, size -= n) {
		n = size < piece ? size : piece;
		char *copy = xmemdup(data, n);
		int result = receive(end, xrealloc(copy, n), n);
		(void)result;
	}
}

static int channel_takes(void *channel, const char *bytes, size_t n) {
	int result = channel_receive(channel, bytes, n, 1);
	verify((result < 0) == (channel_why(channel) != NULL));
	free((char *)(uintptr_t)bytes);
	return result;
}

static void as_host(const uint8_t *data, size_t size, size_t piece) {
	static const struct dispatcher_calls calls = {h_hello, h_started, h_output, h_done, h_bye, h_braked, h_slots, h_lost, h_overdue, NULL, h_wanted, h_back, h_files};
	static const char hello[] = "\n" MARK "\nhello 2 2 0 0 1\nn\n";
	struct dispatcher_end *host = dispatcher_end_new(&calls, NULL, MARK, 0);
	verify(channel_receive(&host->channel, hello, sizeof(hello) - 1, 0) == 0);
	dispatcher_end_begin(host, 1, "x", 1);
	channel_send_bytes(&host->channel, 1, 0, "abc", 3);
	in_pieces(channel_takes, &host->channel, data, size, piece);
	channel_break(&host->channel, "end");
	dispatcher_end_lose_jobs(host);
	dispatcher_end_free(host);
}

static void as_agent(const uint8_t *data, size_t size, size_t piece) {
	static const struct worker_calls calls = {a_env, a_begin, a_frame, a_rest};
	static const char greeting[] = GREETING MARK "\n";
	struct worker_end *agent = worker_end_new(&calls, NULL, &(struct worker_hello){.slots = 1, .node = "n"}, 0);
	verify(channel_receive(&agent->channel, greeting, sizeof(greeting) - 1, 0) == 0);
	in_pieces(channel_takes, &agent->channel, data, size, piece);
	worker_end_free(agent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	if (size < 1) {
		return 0;
	}
	size_t piece = data[0] % 16 < 4 ? size : data[0] % 16;
	switch (data[0] / 16 % 4) {
	case 0: as_host(data + 1, size - 1, piece); break;
	case 1: as_agent(data + 1, size - 1, piece); break;
	case 2: see_payload((const char *)data + 1, size - 1); break;
	default: {
		struct dispatcher_end *host = dispatcher_end_new(&(struct dispatcher_calls){.hello = h_hello}, NULL, MARK, 0); // not greeted
		in_pieces(channel_takes, &host->channel, data + 1, size - 1, piece);
		sees_bytes(dispatcher_end_noise(host), strlen(dispatcher_end_noise(host)));
		dispatcher_end_free(host);
	}
	}
	return 0;
}
