// Tests of queued items as bytes (engine/record.h).

#include "engine/record.h"

#include "base/alloc.h"

#include "test.h"

static uint64_t roll(uint64_t *state) {
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	return z ^ (z >> 31);
}

// A record that follows from its number alone.
static struct item_record make(uint64_t n, char *data) {
	struct item_record record = {.data = data, .size = (uint32_t)(n * 31 % 200), .flags = n % 8, .id = n};
	record.type = (uint8_t)(n % 251);
	record.width = (uint16_t)(1 + n * 7 % UINT16_MAX);
	record.turns = n % 5 == 0 ? (uint32_t)(n + 2) : 1;
	memset(data, (int)(n % 256), record.size);
	return record;
}

static void check_same(const struct item_record *record, uint64_t n, char *data) {
	struct item_record want = make(n, data);
	check_equal(record->id, want.id);
	check_equal(record->size, want.size);
	check_equal(record->type, want.type);
	check_equal(record->width, want.width);
	check_equal(record->flags, want.flags);
	check_equal(record->turns, want.turns);
	check(memcmp(record->data, want.data, want.size) == 0);
}

static void test_codec(void) {
	char data[256], bytes[512];
	struct item_record got;
	for (uint64_t n = 0; n < 1000; ++n) {
		uint64_t prevs[] = {n - 1, 0, n, 77};
		for (size_t i = 0; i < 4; ++i) {
			struct item_record record = make(n, data);
			size_t len = record_encode(&record, prevs[i], bytes);
			check_equal(len, record_bytes(&record, prevs[i]));
			check_equal(record_decode(bytes, prevs[i], &got), len);
			check_same(&got, n, data);
			check_equal(record_peek(bytes, len), len);
			check_equal(record_peek(bytes, len - 1), 0);
		}
	}
	struct item_record record = {.data = data, .size = 10, .id = 5};
	check_equal(record_bytes(&record, 4), RECORD_HEAD + 10); // an id that follows costs nothing
}

static void test_local_list(void) {
	uint64_t dice = 1;
	char data[256];
	for (int round = 0; round < 200; ++round) {
		struct deque deque = {0};
		uint64_t held[4096], n = 0, next = 0, first = 0; // held[first .. n)
		size_t growth = 0;
		for (int step = 0; step < 3000; ++step) {
			struct item_record record;
			unsigned what = (unsigned)(roll(&dice) % (round % 2 ? 4 : 5));
			if (what < 2 && n < 4096) {
				record = make(next, data);
				growth += deque_growth(&deque, &record);
				deque_push(&deque, &record);
				check_equal(deque.cap, growth); // what was announced
				held[n++] = next++;
			} else if (n > first && what == 2) {
				deque_take_newest(&deque, &record);
				check_same(&record, held[--n], data);
			} else if (n > first) {
				deque_take_oldest(&deque, &record);
				check_same(&record, held[first++], data);
			}
			check_equal(deque.nitems, n - first);
			if (first == n) {
				first = n = 0;
			}
		}
		check(deque.cap < 4096 * 256);
		deque_fini(&deque);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a record comes back as it was", test_codec),
		TEST("a local list gives its newest to the owner and its oldest to thieves", test_local_list),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
