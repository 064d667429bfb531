// What is idle, and how long all wait, from a file tree that stands for /proc and the cgroups; and what trees of processes do.

#include "base/attr.h"
#include "process/memory.h"
#include "process/proctree.h"
#include "process/sysload.h"

#include "test.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define SECOND UINT64_C(1000000000)

static char root[] = "/tmp/fairpar-pressure-XXXXXX";

static void remove_root(void) {
	char command[64];
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	check(system(command) == 0);
}

static void put(const char *path, const char *text) {
	char full[PATH_MAX];
	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); ++slash) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	FILE *file = fopen(full, "w");
	check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_root(const char *group) {
	char line[PATH_MAX];
	check(mkdtemp(root) != NULL);
	atexit(remove_root);
	snprintf(line, sizeof(line), "0::%s\n", group);
	put("/proc/self/cgroup", line);
	put("/proc/self/mountinfo", "25 18 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("/proc/self/status", "Name:\tfairpar\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2-3\nMems_allowed:\t1\n");
}

#define CHECK_NEAR(a, b) check((a) > (b) - 0.001 && (a) < (b) + 0.001)

static void test_idle(void) {
	struct pressure pressure;
	struct pressure_observation observation;
	make_root("/");
	put("/proc/stat", "cpu 9 9 9 9 9 9 9 9\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\ncpu3 0 0 0 0 0 0 0 0 0 0\n");
	pressure_open(&pressure, root, 0);
	// of three that are allowed one is idle, and one waits for a disk for half of the time
	put("/proc/stat", "cpu 9 9 9 9 9 9 9 9\ncpu0 40 10 20 0 0 10 10 10 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\ncpu2 0 0 0 100 0 0 0 0 0 0\ncpu3 50 0 0 0 50 0 0 0 0 0\n");
	pressure_observe(&pressure, 3, SECOND, &observation);
	CHECK_NEAR(observation.idle, 0.5);
	pressure_observe(&pressure, 3, SECOND, &observation);
	check(observation.idle == 0 && observation.memory_full == 0 && observation.disk_full == 0);
	pressure_close(&pressure);
}

static void test_quota(void) {
	struct pressure pressure;
	struct pressure_observation observation;
	make_root("/a");
	put("/proc/stat", "cpu0 0 0 0 0 0 0 0 0\n");
	put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 1000000\nuser_usec 5\n");
	pressure_open(&pressure, root, 0);
	put("/proc/stat", "cpu0 50 0 0 50 0 0 0 0\n");
	put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 1400000\nuser_usec 5\n");
	pressure_observe(&pressure, 0.5, SECOND, &observation);
	CHECK_NEAR(observation.idle, 0.2);
	put("/proc/stat", "cpu0 50 0 0 150 0 0 0 0\n");
	put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 1900000\nuser_usec 5\n");
	pressure_observe(&pressure, 0.5, 2 * SECOND, &observation);
	CHECK_NEAR(observation.idle, 0);
	pressure_close(&pressure);
}

static void test_full(void) {
	static const char before[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=999\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n";
	static const char after[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=9999999\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=251000\n";
	struct pressure pressure;
	struct pressure_observation observation;
	make_root("/a");
	put("/proc/pressure/memory", before);
	put("/proc/pressure/io", before);
	put("/sys/fs/cgroup/a/memory.pressure", before);
	pressure_open(&pressure, root, 0);
	put("/proc/pressure/memory", after); // others', which the own cgroup does not feel
	put("/proc/pressure/io", after);
	pressure_observe(&pressure, 1, SECOND, &observation);
	check(observation.memory_full == 0);
	CHECK_NEAR(observation.disk_full, 0.25);
	put("/sys/fs/cgroup/a/memory.pressure", after);
	pressure_observe(&pressure, 1, SECOND + SECOND / 2, &observation);
	CHECK_NEAR(observation.memory_full, 0.5);
	check(observation.disk_full == 0);
	pressure_close(&pressure);
}

static void test_nothing(void) {
	struct pressure pressure;
	struct pressure_observation observation;
	check(mkdtemp(root) != NULL);
	atexit(remove_root);
	pressure_open(&pressure, root, 0);
	pressure_observe(&pressure, 1, SECOND, &observation);
	check(observation.idle == 0 && observation.memory_full == 0 && observation.disk_full == 0);
	pressure_close(&pressure);
}

// ---- trees ----

// A child that does what `fn` does for ever, once that has begun.
static pid_t start(void (*fn)(int ready)) {
	int ends[2];
	char byte;
	check(pipe(ends) == 0);
	pid_t pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); // also if the test fails
		fn(ends[1]);
		_exit(1);
	}
	close(ends[1]);
	check(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	return pid;
}

static void sleeps(int ready) {
	check(write(ready, "", 1) == 1);
	for (;;) {
		pause();
	}
}

static void spins(int ready) {
	check(write(ready, "", 1) == 1);
	for (volatile unsigned n = 0;; ++n) {
	}
}

static void has_child_that_spins(int ready) {
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spins(ready);
	}
	for (;;) {
		pause();
	}
}

static void test_trees(void) {
	pid_t pids[4] = {start(sleeps), start(spins), start(has_child_that_spins), 0};
	struct activity activity = {.n = 0};
	unsigned alive;
	pids[3] = fork();
	check(pids[3] >= 0);
	if (pids[3] == 0) {
		_exit(0);
	}
	siginfo_t info;
	check(waitid(P_PID, (id_t)pids[3], &info, WEXITED | WNOWAIT) == 0);
	do { // what has told that it begins to sleep sleeps soon
		activity = (struct activity){.n = 0};
	} while (activity_sample(&activity, pids, 4, now_ns(), &alive) > 2 || activity.ticks[1] == 0 || activity.ticks[2] == 0);
	check_equal(alive, 3); // one is a zombie
	for (size_t i = 0; i < 3; ++i) {
		activity = (struct activity){.n = 0};
		check_equal((int)activity_sample(&activity, &pids[i], 1, now_ns(), &alive), i > 0);
		check_equal(alive, 1);
	}
	for (size_t i = 0; i < 3; ++i) {
		kill(-pids[i], SIGKILL);
	}
	while (wait(NULL) > 0) {
	}
}

static void test_memory_room(void) {
	make_root("/a/b");
	struct memory_room room = memory_room_observe(root);
	check(room.limit == UINT64_MAX && room.left == UINT64_MAX);
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.current", "60\n");
	put("/sys/fs/cgroup/a/memory.max", "100\n");
	put("/sys/fs/cgroup/a/memory.current", "70\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 50\nfile 20\ninactive_file 15\n");
	room = memory_room_observe(root);
	check(room.limit == 100 && room.left == 45);
	put("/sys/fs/cgroup/a/b/memory.max", "80\n"); // the lowest limit, and the least that is left, need not be the same group's
	put("/sys/fs/cgroup/a/memory.current", "200\n");
	room = memory_room_observe(root);
	check(room.limit == 80 && room.left == 0);
}

static void test_memory_room_v1(void) {
	make_root("/");
	put("/proc/self/cgroup", "4:memory:/x\n0::/\n");
	put("/proc/self/mountinfo", "25 18 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "100\n");
	put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "70\n");
	put("/sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 5\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	struct memory_room room = memory_room_observe(root);
	check(room.limit == 100 && room.left == 35);
}

static void test_kills(void) {
	make_root("/a");
	check_equal(memory_room_observe(root).kills, 0);
	put("/sys/fs/cgroup/a/memory.events", "low 0\noom 9\noom_kill 3\noom_group_kill 7\n");
	check_equal(memory_room_observe(root).kills, 3);
	// one group, shown by two mounts, and by one that shows only another group
	put("/proc/self/mountinfo", "25 18 0:22 /other /mnt/other rw - cgroup2 cgroup2 rw\n"
	    "26 18 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n27 18 0:22 / /mnt/groups rw - cgroup2 cgroup2 rw\n");
	put("/mnt/other/memory.events", "oom_kill 40\n");
	put("/mnt/groups/a/memory.events", "oom_kill 3\n");
	check_equal(memory_room_observe(root).kills, 3);
	put("/proc/self/cgroup", "4:memory:/x\n");
	put("/proc/self/mountinfo", "25 18 0:22 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	put("/sys/fs/cgroup/memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	check_equal(memory_room_observe(root).kills, 2);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("idle is what the allowed processors did not do", test_idle),
		TEST("a used up quota leaves nothing idle", test_quota),
		TEST("the pressure of the own cgroup counts, else that of the host", test_full),
		TEST("where the system tells nothing there is nothing", test_nothing),
		TEST("what trees of processes do is seen", test_trees),
		TEST("the limits of a cgroup and of those above it leave so much memory", test_memory_room),
		TEST("so do those of version 1", test_memory_room_v1),
		TEST("the kernel's kills for want of memory are counted", test_kills),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
