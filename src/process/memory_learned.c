// How much memory the jobs of a batch need, as far as it was seen.

#include "process/memory_learned.h"

#include "base/sync.h"

enum {
	SAMPLES = 3,      // make what the jobs need known
	STEPS_MOST = 20,
	SOON_MS = 100,    // until the first look at a job that runs, and between two of them, longer each time:
	LATE_MS = 2000,
};

void memory_learned_know(struct memory_learned *learned, uint64_t peak) {
	atomic_store_relaxed(&learned->peak, peak);
	learned->samples = SAMPLES;
}

bool memory_learned_holds_back(const struct memory_learned *learned) {
	return learned->samples < SAMPLES && learned->running >> learned->steps > 0;
}

uint64_t memory_learned_need(const struct memory_learned *learned) {
	uint64_t peak = atomic_load_relaxed(&learned->peak), need = peak + peak / 8;
	return need < MEMORY_NEED_MOST ? need : MEMORY_NEED_MOST;
}

void memory_learned_begin(struct memory_learned *learned, uint64_t now) {
	learned->pause = SOON_MS * (uint64_t)NS_PER_MS;
	learned->due = now + learned->pause;
}

void memory_learned_note(struct memory_learned *learned, uint64_t bytes) {
	if (bytes > atomic_load_relaxed(&learned->peak)) {
		atomic_store_relaxed(&learned->peak, bytes);
	}
}

static void step(struct memory_learned *learned) {
	learned->steps += learned->steps < STEPS_MOST;
}

void memory_learned_looked(struct memory_learned *learned, bool grown, uint64_t now) {
	uint64_t most = LATE_MS * (uint64_t)NS_PER_MS;
	if (!grown) {
		step(learned);
	}
	learned->pause = learned->pause < most / 2 ? 2 * learned->pause : most;
	learned->due = now + learned->pause;
}

void memory_learned_end(struct memory_learned *learned, uint64_t peak) {
	uint64_t before = atomic_load_relaxed(&learned->peak);
	atomic_store_relaxed(&learned->peak, peak >= before ? peak : before - (before - peak) / 16);
	if (learned->samples < SAMPLES) {
		++learned->samples;
		step(learned);
	}
}
