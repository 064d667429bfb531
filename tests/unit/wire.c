// The frames of a line between dispatcher and worker (remote/wire.h): what was written is read, whole or not at all.

#include "remote/wire.h"

#include "base/alloc.h"
#include "base/random.h"
#include "test.h"

static const uint64_t values[] = {0, 1, 9, 10, 4711, UINT64_MAX - 1, UINT64_MAX};

enum { VALUES = sizeof(values) / sizeof(values[0]) };

static enum wire_sender other_than(enum wire_sender sender) {
	return sender == WIRE_DISPATCHER ? WIRE_WORKER : WIRE_DISPATCHER;
}

// Reads from a copy that is as long as the bytes, so that a sanitizer sees the first one too many.
static enum wire_status read_copy(const char *bytes, size_t n, enum wire_sender sender, struct wire_frame *ret_frame, size_t *ret_used,
                                  char **ret_copy) {
	const char *why;
	*ret_copy = xmalloc(n > 0 ? n : 1);
	memcpy(*ret_copy, bytes, n);
	return wire_read(*ret_copy, n, sender, ret_frame, ret_used, &why);
}

static enum wire_status status_of(const char *bytes, size_t n, enum wire_sender sender) {
	struct wire_frame frame;
	size_t used = 0;
	char *copy;
	enum wire_status status = read_copy(bytes, n, sender, &frame, &used, &copy);
	check(status != WIRE_FRAME || (used > 0 && used <= n));
	free(copy);
	return status;
}

static struct wire_frame make_frame(enum wire_type type, unsigned value, const char *payload, size_t size) {
	struct wire_frame frame = {.type = type};
	for (unsigned i = 0; i < wire_numbers(type); ++i) {
		frame.numbers[i] = values[(value + i) % VALUES];
	}
	if (wire_kind(type)->has_payload) {
		frame.payload = payload;
		frame.size = size;
	}
	return frame;
}

// Writes the frame with something behind it, and reads it back.
static void check_round_trip(const struct wire_frame *frame, size_t behind) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	wire_write(&bytes, frame);
	size_t len = bytes.len, used = 0;
	check(bytes.data[len - 1] == '\n');
	for (size_t i = 0; i < behind; ++i) {
		buf_addc(&bytes, "\n0 x"[i % 4]);
	}
	const struct frame_kind *kind = wire_kind(frame->type);
	enum wire_sender sender = kind->sender == WIRE_EITHER ? WIRE_WORKER : kind->sender;
	struct wire_frame back;
	char *copy;
	check(read_copy(bytes.data, bytes.len, sender, &back, &used, &copy) == WIRE_FRAME);
	check_equal(used, len);
	check(back.type == frame->type && back.size == frame->size);
	check(memcmp(back.numbers, frame->numbers, sizeof(back.numbers)) == 0);
	check(kind->has_payload ? back.size == 0 || memcmp(back.payload, frame->payload, back.size) == 0 : !back.payload);
	free(copy);
	check_equal(status_of(bytes.data, bytes.len, other_than(sender)), kind->sender == WIRE_EITHER ? WIRE_FRAME : WIRE_BAD);
	for (size_t n = 0; n < len && len < 2000; ++n) {
		check_equal(status_of(bytes.data, n, sender), WIRE_PART);
	}
}

static void test_round_trip(void) {
	size_t most = WIRE_RUN_MOST;
	char *payload = xmalloc(most);
	for (size_t i = 0; i < most; ++i) {
		payload[i] = (char)(i * 7 + i / 256);
	}
	for (int type = 0; type < FRAME_TYPES; ++type) {
		for (unsigned value = 0; value < VALUES; ++value) {
			struct wire_frame frame = make_frame((enum wire_type)type, value, payload, value * 41);
			check_round_trip(&frame, value * 3);
		}
		struct wire_frame largest = make_frame((enum wire_type)type, 5, payload, wire_kind((enum wire_type)type)->most);
		check_round_trip(&largest, 1);
	}
	free(payload);
}

static void test_table(void) {
	for (int type = 0; type < FRAME_TYPES; ++type) {
		const struct frame_kind *kind = wire_kind((enum wire_type)type);
		unsigned numbers = wire_numbers((enum wire_type)type);
		check(kind->name && kind->name[0] != '\0' && strspn(kind->name, "abcdefghijklmnopqrstuvwxyz") == strlen(kind->name));
		check(numbers <= WIRE_NUMBERS && kind->sender >= WIRE_DISPATCHER && kind->sender <= WIRE_EITHER);
		check(strlen(kind->name) + (numbers + 1) * strlen(" 18446744073709551615") + 1 <= WIRE_HEADER_MOST);
		check(!kind->has_payload || kind->is_urgent || kind->most <= WIRE_CHUNK_MOST);
		for (int i = 0; i < type; ++i) {
			check(strcmp(kind->name, wire_kind((enum wire_type)i)->name) != 0);
		}
	}
}

static void test_bad(void) {
	static const char *const lines[] = {
		"\n", " \n", "ping\n", "ping \n", "ping 1 \n", "ping  1\n", "ping 01\n", "ping +1\n", "ping -1\n", "ping 1 2\n", "ping 0x1\n",
		"ping 18446744073709551616\n", "ping 99999999999999999999999\n", "PING 1\n", "pin 1\n", "pings 1\n", " ping 1\n", "ping\t1\n",
		"ping 1\r\n", "out 1 1\n", "out 1 1 32769\n", "out 1 1 2\nabc", "out 1 1 0\nx", "bye 4097\n", "started 1 2 3 4\n", "run 1 0\n\n",
		"Last login: Mon Nov 23 on pts/0\n", "\x7f" "ELF\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
		if (status_of(lines[i], strlen(lines[i]), WIRE_WORKER) != WIRE_BAD) {
			fprintf(stderr, "# it takes: %s", lines[i]);
			check(false);
		}
	}
	check_equal(status_of("ping 1\0\n", 8, WIRE_WORKER), WIRE_BAD);
	check_equal(status_of("ping\0 1\n", 8, WIRE_WORKER), WIRE_BAD);
	char line[WIRE_HEADER_MOST + 1];
	memset(line, 'x', sizeof(line));
	check_equal(status_of(line, WIRE_HEADER_MOST - 1, WIRE_WORKER), WIRE_PART);
	check_equal(status_of(line, WIRE_HEADER_MOST, WIRE_WORKER), WIRE_BAD);
}

// Valid frames with some bytes changed: whatever is taken for a frame is written as the very same bytes.
static void test_changed(void) {
	uint64_t random = 1;
	for (unsigned round = 0; round < 200000; ++round) {
		FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT, again = BUF_INIT;
		struct wire_frame frame = make_frame((enum wire_type)(round % FRAME_TYPES), round, "1 2\n3 4\n5", round % 9);
		wire_write(&bytes, &frame);
		for (uint64_t changes = random_next(&random) % 3; changes > 0; --changes) {
			bytes.data[random_next(&random) % bytes.len] = "0129 \n\0xpio"[random_next(&random) % 11];
		}
		struct wire_frame back;
		size_t used = 0;
		char *copy;
		if (read_copy(bytes.data, bytes.len, WIRE_EITHER, &back, &used, &copy) == WIRE_FRAME) {
			wire_write(&again, &back);
			check(again.len == used && memcmp(again.data, copy, used) == 0);
		}
		free(copy);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each frame of the table comes back as it was written, and no part of it is taken for one", test_round_trip),
		TEST("each row of the table is possible: its name is its own, and its longest line fits", test_table),
		TEST("what is no frame is refused", test_bad),
		TEST("there is one way to write a frame", test_changed),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
