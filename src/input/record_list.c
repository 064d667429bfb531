// Records that are kept in memory: to be counted, shuffled, or combined with those of other sources.

#include "input/record_list.h"

#include "base/alloc.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

void record_list_fini(struct record_list *list) {
	buf_fini(&list->bytes);
	free(list->records);
	*list = (struct record_list){.n = 0};
}

void record_list_add(struct record_list *list, const struct record *record, const char *bad) {
	grow_array(&list->records, &list->cap, list->n + 1, sizeof(list->records[0]));
	list->records[list->n++] = (struct listed_record){list->bytes.len, record->size, record->nargs, bad};
	buf_add(&list->bytes, record->args, record->size);
}

const char *record_list_get(const struct record_list *list, size_t i, struct record *ret_record) {
	const struct listed_record *record = &list->records[i];
	*ret_record = (struct record){buf_str(&list->bytes) + record->offset, record->size, record->nargs};
	return record->bad;
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

void record_list_shuffle(struct record_list *list) {
	uint64_t state = seed();
	struct listed_record *records = list->records + list->at;
	for (size_t n = list->n - list->at; n > 1; --n) { // Fisher and Yates; the bias of % is below n / 2^64
		size_t other = (size_t)(next_random(&state) % n);
		struct listed_record last = records[n - 1];
		records[n - 1] = records[other];
		records[other] = last;
	}
}
