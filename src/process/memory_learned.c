// How much memory the jobs of a batch need, as far as it was seen.

#include "process/memory_learned.h"

#include "base/sync.h"

enum {
	SAMPLES = 3,      // make what the jobs need known
	STEPS_MOST = 20,
	COUNTED = 16,     // a peak counts for at least the sixteenth of the mean
	SETTLED = 8,      // peaks after which less is added to what is known
	OTHERS = 4,       // jobs that end after a huge one, and then tell whether it is an exception;
	RARE = 64,        // … there is no other among so many
	LITTLE = 1 << 20, // a job that has so much more than before, and a sixteenth, has grown; or
	LITTLE_PART = 1024, // … such a part of what is available, if that is more
	SOON_MS = 100,    // until the first sample of a job that runs, and between two of them, longer each time:
	LATE_MS = 2000,
};

// Whether that is much more than the peak so far, which makes it a beginning. A peak falls while smaller jobs end: the huge one
// that runs still is no smaller for that.
static bool is_beginning(const struct memory_learned *learned, uint64_t bytes) {
	uint64_t peak = atomic_load_relaxed(&learned->peak);
	uint64_t most = learned->huge_runs && learned->huge > peak ? learned->huge : peak;
	return bytes > most && bytes - most > most / 4;
}

static void count_peak(struct memory_peaks *peaks, uint64_t peak) {
	peaks->counted += peaks->counted < COUNTED;
	double part = 1.0 / peaks->counted, off = (double)peak - peaks->mean;
	peaks->mean += part * off;
	peaks->variance = (1 - part) * (peaks->variance + part * off * off);
}

// With the huge one, as long as it may be the first of many.
static struct memory_peaks all_peaks(const struct memory_learned *learned) {
	struct memory_peaks peaks = learned->usual;
	if (learned->in_doubt) {
		count_peak(&peaks, learned->huge);
	}
	return peaks;
}

// The huge job has so much, and whether it is the first of many is open, perhaps again.
static void doubt(struct memory_learned *learned, uint64_t bytes) {
	learned->wary = learned->is_exception ? 0 : learned->wary; // it is no second one
	learned->is_exception = false;
	learned->in_doubt = true;
	learned->huge = bytes;
	learned->others = 0;
}

// The mean begins anew.
static void begin_with(struct memory_learned *learned, uint64_t bytes, bool runs) {
	learned->is_exception = learned->is_exception && learned->huge_runs; // else that was another one
	doubt(learned, bytes);
	learned->huge_runs = runs;
	learned->second = 0;
	learned->usual = (struct memory_peaks){.counted = 0};
	atomic_store_relaxed(&learned->peak, bytes);
}

// A job that runs is the largest now, and may grow on.
static void follow(struct memory_learned *learned, uint64_t bytes) {
	if (learned->in_doubt && learned->usual.counted > 0) {
		count_peak(&learned->usual, learned->huge); // there is a second one
	}
	learned->second = learned->in_doubt ? learned->huge : 0;
	learned->is_exception = false;
	learned->huge_runs = true;
	learned->huge = bytes;
	learned->others = 0;
}

// An exception is far above all others that were seen since.
static bool is_far(const struct memory_learned *learned) {
	return learned->huge / 2 > learned->second;
}

// When enough others have ended: an exception does not count among them, but where another was one shortly before.
static void end_doubt(struct memory_learned *learned) {
	if (!learned->in_doubt || learned->others < OTHERS) {
		return;
	}
	learned->in_doubt = false;
	learned->is_exception = is_far(learned) && learned->wary == 0;
	learned->wary = is_far(learned) ? RARE : learned->wary;
	if (!learned->is_exception) {
		count_peak(&learned->usual, learned->huge);
	}
}

// Another job than the huge one has so much, or had.
static void see_other(struct memory_learned *learned, uint64_t bytes) {
	learned->second = bytes > learned->second ? bytes : learned->second;
	if (learned->huge_runs && learned->is_exception && !is_far(learned)) {
		doubt(learned, learned->huge);
	}
}

void memory_learned_restore(struct memory_learned *learned, uint64_t peak) {
	begin_with(learned, peak, /* runs */ false);
	learned->wary = RARE; // how rare that is was not learned
	learned->samples = SAMPLES;
}

bool memory_learned_holds_back(const struct memory_learned *learned) {
	return learned->samples < SAMPLES && learned->running >> learned->steps > 0;
}

bool memory_learned_has_grown(uint64_t before, uint64_t now, uint64_t available) {
	uint64_t part = available / LITTLE_PART;
	return now > before + before / 16 + (part > LITTLE ? part : LITTLE);
}

// The square root, by Newton.
static double root_of(double square) {
	double root = square > 1 ? square : 1;
	for (double next; (next = (root + square / root) / 2) < root;) {
		root = next;
	}
	return root;
}

uint64_t memory_learned_reserve(const struct memory_learned *learned, unsigned jobs) {
	double peak = (double)atomic_load_relaxed(&learned->peak), most = (double)MEMORY_NEED_MOST * jobs;
	peak = peak < (double)MEMORY_NEED_MOST ? peak : (double)MEMORY_NEED_MOST;
	struct memory_peaks all = all_peaks(learned);
	double mean = all.mean < peak ? all.mean : peak;
	double one = peak + (jobs - 1.0) * mean, many = jobs * mean + 2 * root_of(all.variance * jobs);
	double need = one > many ? one : many < jobs * peak ? many : jobs * peak;
	need += need / (all.counted < SETTLED ? 8 : 32);
	return (uint64_t)(need < most ? need : most); // nothing for no job
}

uint64_t memory_learned_need(const struct memory_learned *learned) {
	return memory_learned_reserve(learned, 1);
}

void memory_learned_begin(struct memory_learned *learned, uint64_t now) {
	learned->pause = SOON_MS * (uint64_t)NS_PER_MS;
	learned->due = now + learned->pause;
}

void memory_learned_note(struct memory_learned *learned, uint64_t before, uint64_t bytes) {
	if (is_beginning(learned, bytes)) {
		begin_with(learned, bytes, /* runs */ true);
		return;
	}
	if (!learned->huge_runs || before < learned->huge) {
		see_other(learned, bytes < learned->huge ? bytes : learned->huge); // if it has more now, it is the other that has less
	}
	if (bytes <= atomic_load_relaxed(&learned->peak)) {
		return;
	}
	atomic_store_relaxed(&learned->peak, bytes);
	if (!learned->huge_runs) {
		follow(learned, bytes);
	} else if (learned->usual.counted == 0 || bytes > learned->huge + learned->huge / 16) {
		doubt(learned, bytes);
	}
}

static void step(struct memory_learned *learned) {
	learned->steps += learned->steps < STEPS_MOST;
}

void memory_learned_sampled(struct memory_learned *learned, bool grown, uint64_t now) {
	uint64_t most = LATE_MS * (uint64_t)NS_PER_MS;
	if (!grown) {
		step(learned);
	}
	learned->pause = learned->pause < most / 2 ? 2 * learned->pause : most;
	learned->due = now + learned->pause;
}

static void count_end(struct memory_learned *learned, uint64_t peak) {
	uint64_t before = atomic_load_relaxed(&learned->peak);
	bool is_huge = learned->huge_runs && peak >= learned->huge;
	atomic_store_relaxed(&learned->peak, peak >= before ? peak : before - (before - peak) / 16);
	learned->wary -= learned->wary > 0;
	if (is_huge) {
		learned->huge_runs = false;
		learned->huge = peak;
	} else {
		see_other(learned, peak);
		learned->others += learned->others < OTHERS;
	}
	if (!is_huge || !(learned->in_doubt || learned->is_exception)) {
		count_peak(&learned->usual, peak);
	}
	end_doubt(learned);
}

void memory_learned_end(struct memory_learned *learned, uint64_t peak) {
	if (is_beginning(learned, peak)) {
		begin_with(learned, peak, /* runs */ false);
	} else {
		count_end(learned, peak);
	}
	if (learned->samples < SAMPLES) {
		++learned->samples;
		step(learned);
	}
}
