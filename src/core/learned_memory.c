// What the jobs of each batch needed in a former run, from the log that --eta names, or that --resume goes on with.
//
// A joblog has no column for it, and no room for one: GNU parallel reads it, too.

#include "core/run.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/io.h"
#include "base/map.h"
#include "log/event_log.h"
#include "slots/slots.h"

#include <fcntl.h>
#include <sys/stat.h>

struct learned_memory {
	struct arena texts;
	struct map batches;  // numbers of the next one
	uint64_t *peaks;     // bytes
	size_t n, cap;
};

bool learned_memory_is_on(const struct run *run) {
	enum memory_use use = run->options->memory_use;
	bool is_auto = run->auto_slots || (run->options->jobs && slots_is_auto(run->options->jobs)); // also in a pool of a fixed size
	return (use == MEMORY_AUTO || (use == MEMORY_UNSAID && is_auto)) && !run->options->sem.is_on;
}

static uint64_t *peak_of(struct learned_memory *learned, const char *batch) {
	size_t len = strlen(batch);
	uint32_t number = map_get(&learned->batches, batch, len);
	if (number == MAP_NONE) {
		number = (uint32_t)learned->n;
		grow_array(&learned->peaks, &learned->cap, learned->n + 1, sizeof(*learned->peaks));
		learned->peaks[learned->n++] = 0;
		map_add(&learned->batches, arena_text(&learned->texts, batch, len), len, number);
	}
	return &learned->peaks[number];
}

// The end of a batch has the peak that was learned; of a batch that was cut off only the peaks of its jobs are known.
static void on_event(void *arg, const struct event *event) {
	struct learned_memory *learned = arg;
	if (event->kind == EVENT_JOB_END && event->u.job_end.id.batch && event->u.job_end.result.usage.ru_maxrss > 0) {
		uint64_t bytes = (uint64_t)event->u.job_end.result.usage.ru_maxrss * 1024, *peak = peak_of(learned, event->u.job_end.id.batch);
		*peak = bytes > *peak ? bytes : *peak;
	} else if (event->kind == EVENT_BATCH_END && event->u.batch_end.memory > 0) {
		*peak_of(learned, event->u.batch_end.batch) = event->u.batch_end.memory;
	}
}

void learned_memory_open(struct run *run) {
	const struct options *options = run->options;
	const char *path = options->show.eta_log ? options->show.eta_log : options->resume != RESUME_NOT ? options->log : NULL;
	// without waiting: the log of this run may be a FIFO
	int fd = learned_memory_is_on(run) && path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	struct stat stat;
	if (fd < 0 || fstat(fd, &stat) != 0 || !(S_ISREG(stat.st_mode) || options->show.eta_log)) {
		fd_close(&fd);
		return;
	}
	struct learned_memory *learned = run->learned_memory = NEW(struct learned_memory);
	if (log_read(fd, path, on_event, learned, /* with_messages */ false) != 0) {
		learned_memory_close(run); // whatever it is, it is nothing to rely on
	}
	fd_close(&fd);
}

void learned_memory_close(struct run *run) {
	struct learned_memory *learned = run->learned_memory;
	if (learned) {
		map_fini(&learned->batches);
		arena_fini(&learned->texts);
		free(learned->peaks);
		free(learned);
		run->learned_memory = NULL;
	}
}

void learned_memory_restore(const struct run *run, const char *batch, struct memory_learned *learned) {
	uint32_t number = run->learned_memory ? map_get(&run->learned_memory->batches, batch, strlen(batch)) : MAP_NONE;
	if (number != MAP_NONE && run->learned_memory->peaks[number] > 0) {
		memory_learned_restore(learned, run->learned_memory->peaks[number]);
	}
}
