// Fuzz target: any bytes as a log, from a file and through a pipe, told to a story: the same events, or an error.

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "report/eventread.h"
#include "report/story.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	struct story *story;
	uint64_t n;
	size_t bytes; // touched, so that what is told can be read
};

static void tell(void *arg, const struct event *event) {
	struct told *told = arg;
	++told->n;
	if (event->kind == EVENT_JOB_START) {
		const char *at = event->u.job_start.args;
		for (uint32_t i = 0; i < event->u.job_start.nargs; ++i) {
			at += strlen(at) + 1;
		}
		told->bytes += (size_t)(at - event->u.job_start.args) + strlen(event->u.job_start.command);
	} else if (event->kind == EVENT_OUTPUT) {
		verify(event->u.output.data[event->u.output.len] == '\0');
	}
	story_tell(told->story, event);
}

static int read_log(int fd, struct told *told, struct buf *messages) {
	told->story = story_new();
	int result = eventread(fd, "log", tell, told, messages);
	story_finish(told->story, told->story->last);
	verify(told->story->busy >= 0 && told->story->busy <= 1);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct told by_file = {0}, by_pipe = {0};
	struct buf messages = BUF_INIT;
	int fd = memfd_create("log", MFD_CLOEXEC), pipes[2];
	if (size > 60000 || fd < 0) { // the capacity of a pipe
		return 0;
	}
	verify(write_all(fd, data, size) == 0);
	int file = read_log(fd, &by_file, &messages);
	verify(file == 0 || messages.len > 0);
	close(fd);
	verify(pipe(pipes) == 0 && write_all(pipes[1], data, size) == 0);
	close(pipes[1]);
	int piped = read_log(pipes[0], &by_pipe, &messages);
	close(pipes[0]);
	if (piped == 0) { // there is one run
		verify(file == 0 && by_file.n == by_pipe.n && by_file.bytes == by_pipe.bytes);
		verify(by_file.story->total.ok == by_pipe.story->total.ok);
	}
	story_free(by_file.story);
	story_free(by_pipe.story);
	buf_fini(&messages);
	return 0;
}
