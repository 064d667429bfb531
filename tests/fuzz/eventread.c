// Fuzz target: any bytes as a log, from a file and through a pipe: the same events, or an error; what is said of them,
// the summary and the reasons of the run, drives no terminal.

#include "base/alloc.h"
#include "base/diag.h"
#include "base/io.h"
#include "log/event_log.h"
#include "report/run_stats.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	struct run_stats *stats;
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
	stats_on_event(told->stats, event);
}

static void check_text(const struct buf *text) {
	for (size_t i = 0; i < text->len; ++i) {
		verify((unsigned char)text->data[i] >= 0x20 || text->data[i] == '\n');
	}
}

static int read_log(int fd, struct told *told, struct buf *messages) {
	told->stats = NEW(struct run_stats);
	int result = eventread(fd, "log", tell, told, messages);
	stats_finish(told->stats, told->stats->last);
	verify(told->stats->busy >= 0 && told->stats->busy <= 1);
	struct buf text = BUF_INIT;
	summary_add(&text, told->stats, &(struct summary_form){.width = 40, .table = true});
	summary_add_reasons(&text, told->stats, &(struct summary_form){.colour = false});
	check_text(&text);
	buf_fini(&text);
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
		verify(by_file.stats->total.counts.ok == by_pipe.stats->total.counts.ok);
	}
	stats_free(by_file.stats);
	stats_free(by_pipe.stats);
	buf_fini(&messages);
	return 0;
}
