// Records that are read to the end of the input before the first is used: to be counted or shuffled.

#include "input/read_all.h"

#include "base/alloc.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

void gathered_add(struct gathered *gathered, const struct record *record, const char *bad) {
	grow_array(&gathered->records, &gathered->cap, gathered->n + 1, sizeof(gathered->records[0]));
	gathered->records[gathered->n++] = (struct gathered_record){gathered->bytes.len, record->size, record->nargs, bad};
	buf_add(&gathered->bytes, record->args, record->size);
}

// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)
static uint64_t next_random(uint64_t *state) {
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t seed(void) {
	uint64_t bytes;
	ssize_t n;
	do {
		n = getrandom(&bytes, sizeof(bytes), GRND_NONBLOCK);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(bytes)) { // right after boot, or under seccomp: this is no matter of security
		struct timespec now = {0};
		clock_gettime(CLOCK_MONOTONIC, &now);
		bytes = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
	}
	return bytes;
}

void gathered_shuffle(struct gathered *gathered) {
	uint64_t state = seed();
	struct gathered_record *records = gathered->records + gathered->at;
	for (size_t n = gathered->n - gathered->at; n > 1; --n) { // Fisher and Yates; the bias of % is below n / 2^64
		size_t other = (size_t)(next_random(&state) % n);
		struct gathered_record last = records[n - 1];
		records[n - 1] = records[other];
		records[other] = last;
	}
}

bool gathered_next(struct gathered *gathered, struct record *ret_record, const char **ret_bad) {
	if (gathered->at == gathered->n) {
		return false;
	}
	const struct gathered_record *record = &gathered->records[gathered->at++];
	*ret_record = (struct record){
		.args = buf_str(&gathered->bytes) + record->offset,
		.size = record->size,
		.nargs = record->nargs,
	};
	*ret_bad = record->bad;
	return true;
}

void gathered_fini(struct gathered *gathered) {
	buf_fini(&gathered->bytes);
	free(gathered->records);
	*gathered = (struct gathered){.n = 0};
}
