// tbb: the same no-op items as engine.c through oneTBB's task_group with 2 workers: no names, no turns, no order.
//
// The thread that submits from outside is no worker here either: it spawns into the group from outside the arena's two
// worker slots for `single` (and then waits, lending a hand, as task_group::wait() does), and enqueues for `isolated`.

#include "meter.h"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

enum { WORKERS = 2, TREES = 4 };

static void tree_run(oneapi::tbb::task_group &group, unsigned depth) {
	if (depth > 0) {
		group.run([&group, depth] { tree_run(group, depth - 1); });
		group.run([&group, depth] { tree_run(group, depth - 1); });
	}
}

static void isolated_run(oneapi::tbb::task_arena &arena, long items) {
	std::mutex lock;
	std::condition_variable ran;
	long count = 0;
	for (long i = 1; i <= items; ++i) {
		arena.enqueue([&] {
			std::lock_guard<std::mutex> guard(lock);
			++count;
			ran.notify_one();
		});
		std::unique_lock<std::mutex> guard(lock);
		ran.wait(guard, [&] { return count >= i; });
	}
}

int main(int argc, char *argv[]) {
	long items = argc == 3 ? strtol(argv[2], nullptr, 10) : 0;
	const char *mode = items > 0 ? argv[1] : "";
	oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism, WORKERS);
	oneapi::tbb::task_arena arena(WORKERS);
	oneapi::tbb::task_group group;
	struct meter start = meter_read();
	if (strcmp(mode, "single") == 0) {
		arena.execute([&] {
			for (long i = 0; i < items; ++i) {
				group.run([] {});
			}
			group.wait();
		});
	} else if (strcmp(mode, "nested") == 0) {
		unsigned depth = 0;
		while (((2L << depth) - 1) * TREES < items) {
			++depth;
		}
		items = ((2L << depth) - 1) * TREES;
		arena.execute([&] {
			for (int i = 0; i < TREES; ++i) {
				group.run([&group, depth] { tree_run(group, depth); });
			}
			group.wait();
		});
	} else if (strcmp(mode, "isolated") == 0) {
		isolated_run(arena, items);
	} else {
		fprintf(stderr, "usage: tbb single|nested|isolated ITEMS\n");
		return 255;
	}
	meter_print(mode, start, static_cast<double>(items), -1);
	return 0;
}
