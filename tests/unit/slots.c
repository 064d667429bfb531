// The usable processors, and -j in all its forms.

#include "slots/slots.h"

#include "slots/controller.h"

#include "test.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>

static unsigned parsed(const char *text, unsigned long nofile) {
	struct slots_bounds bounds = {0, 0};
	char *error = NULL;
	int result = slots_parse(text, nofile, &bounds, &error);
	if (result != 0) {
		fprintf(stderr, "# %s\n", error);
		free(error);
	}
	check(result == 0 && bounds.least == bounds.most);
	return bounds.most;
}

static void check_refused(const char *text, const char *says) {
	struct slots_bounds bounds;
	char *error = NULL;
	check_equal(slots_parse(text, 1024, &bounds, &error), -1);
	if (!strstr(error, says)) {
		fprintf(stderr, "# '%s' does not say '%s'\n", error, says);
		exit(1);
	}
	free(error);
}

// ---- a tree of files for each test ----

static char root[] = "/tmp/fairpar-slots-XXXXXX";

static void remove_root(void) {
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-rf", root, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static void make_root(void) {
	check(mkdtemp(root) != NULL);
	atexit(remove_root);
}

static void put(const char *path, const char *text) {
	char full[PATH_MAX];
	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		check(mkdir(full, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	FILE *file = fopen(full, "w");
	check(file != NULL);
	check(fputs(text, file) >= 0);
	check(fclose(file) == 0);
}

#define V2_MOUNT "25 18 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"

static void put_v2(const char *path) {
	char line[PATH_MAX];
	snprintf(line, sizeof(line), "0::%s\n", path);
	put("/proc/self/cgroup", line);
	put("/proc/self/mountinfo", "18 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT);
}

// ---- quotas ----

static void test_no_quota(void) {
	make_root();
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
	put_v2("/");
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
}

static void test_v2_quota(void) {
	make_root();
	put_v2("/");
	put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 4);
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 2);
	put("/sys/fs/cgroup/cpu.max", "1000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 1);
}

static void test_nested(void) {
	make_root();
	put_v2("/a/b/c");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "500000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 3);
	put("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 2);
	put("/sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 1);
}

static void test_foreign_path(void) {
	make_root();
	put_v2("/docker/0123/x");
	put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 3);
	put_v2("/../../elsewhere");
	check_equal(whole_cpus(slots_quota(root)), 3);
}

static void test_part_of_hierarchy(void) {
	make_root();
	put_v2("/docker/0123/x");
	put("/proc/self/mountinfo", "25 18 0:22 /docker/0123 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/x/cpu.max", "200000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 2);
}

static void test_v1(void) {
	make_root();
	put("/proc/self/cgroup", "5:name=systemd:/\n4:cpu,cpuacct:/user/me\n3:cpuset:/other\n0::/\n");
	put("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	                            "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	                            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/cpu,cpuacct/user/me/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/user/me/cpu.cfs_period_us", "100000\n");
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
	put("/sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_quota_us", "250000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_period_us", "50000\n");
	check_equal(whole_cpus(slots_quota(root)), 5);
	put("/sys/fs/cgroup/unified/cpu.max", "300000 100000\n");
	check_equal(whole_cpus(slots_quota(root)), 3);
}

static void test_garbage(void) {
	make_root();
	put("/proc/self/cgroup", "\n:\n::\nx\n0::\n");
	put("/proc/self/mountinfo", "\n - \nx y z\n1 2 3:4 / /m - \n" V2_MOUNT);
	put("/sys/fs/cgroup/cpu.max", "nonsense\n");
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
	put("/sys/fs/cgroup/cpu.max", "100000 0\n");
	check_equal(whole_cpus(slots_quota(root)), UINT_MAX);
}

static void test_affinity(void) {
	unsigned before = slots_usable_cpus();
	check(before >= 1);
	cpu_set_t set, one;
	CPU_ZERO(&one);
	check(sched_getaffinity(0, sizeof(set), &set) == 0);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
		if (CPU_ISSET(cpu, &set)) {
			CPU_SET(cpu, &one);
			break;
		}
	}
	check(sched_setaffinity(0, sizeof(one), &one) == 0);
	check_equal(slots_usable_cpus(), 1);
	check_equal(parsed("100%", 1024), 1);
}

// ---- -j ----

static void test_forms(void) {
	unsigned cpus = slots_usable_cpus();
	check_equal(parsed("7", 1024), 7);
	check_equal(parsed("007", 1024), 7);
	check_equal(parsed("+3", 1024), cpus + 3);
	check_equal(parsed("+0", 1024), cpus);
	check_equal(parsed("-0", 1024), cpus);
	check_equal(parsed("-1000", 1024), 1);
	check_equal(parsed("100%", 1024), cpus);
	check_equal(parsed("300%", 1024), 3 * cpus);
	check_equal(parsed("0%", 1024), 1);
	check_equal(parsed("0.1%", 1024), 1);
	check_equal(parsed("100.1%", 1024), cpus + 1); // rounded up
}

static void test_zero(void) {
	check_equal(parsed("0", 1024), slots_limit(1024));
	check(slots_limit(0) == 1);
	check(slots_limit(24) == 1);
	check(slots_limit(64) >= 4);
	check(slots_limit(1024) >= 100 && slots_limit(1024) <= 250);
	check(slots_limit(1 << 20) <= 32768);
	check(slots_limit(ULONG_MAX) >= 1000);
}

static void test_file(void) {
	make_root();
	check(chdir(root) == 0);
	put("/jobs", " 5 \n");
	check_equal(parsed("jobs", 1024), 5);
	put("/jobs", "+2\n");
	check_equal(parsed("jobs", 1024), slots_usable_cpus() + 2);
	put("/jobs", "0");
	check_equal(parsed("./jobs", 1024), slots_limit(1024));
	put("/bad", "5\n6\n");
	check_refused("bad", "'bad'");
	put("/bad", "");
	check_refused("bad", "'bad'");
	put("/bad", "jobs\n"); // not a file again
	check_refused("bad", "'bad'");
	char longer[600];
	memset(longer, ' ', sizeof(longer));
	longer[0] = '1';
	longer[sizeof(longer) - 1] = '\0';
	longer[sizeof(longer) - 2] = '2';
	put("/bad", longer);
	check_refused("bad", "'bad'");
}

static void test_refused(void) {
	make_root();
	check(chdir(root) == 0);
	check(mkdir("dir", 0700) == 0);
	check(mkfifo("fifo", 0600) == 0);
	static const char *const texts[] = {
		"", "x", "0.5", "1.5", "+", "-", "%", "+%", "+1%", "-1%", "1%%", "1.%", ".5%", "--2", "1 2", " 1", "1e3", "0x10",
		"9999999999", "99999999999%", "nowhere", "dir", "fifo", "\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
		check_refused(texts[i], "--jobs must be");
	}
}

// ---- -j auto ----

static void test_auto(void) {
	struct slots_bounds bounds;
	char *error;
	check(slots_is_auto("auto") && slots_is_auto("auto:x") && !slots_is_auto("automatic") && !slots_is_auto("./auto"));
	check(slots_parse("auto", 1024, &bounds, &error) == 0 && bounds.least == 1 && bounds.most == slots_limit(1024));
	check(slots_parse("auto:2-9999", 1024, &bounds, &error) == 0 && bounds.least == 2 && bounds.most == 9999);
	check_refused("auto:0-3", "a bound must be at least 1");
	check(slots_auto_parse("--jobs", "auto", 164, &bounds, &error) == 0 && bounds.least == 1 && bounds.most == 164);
	check(slots_auto_parse("--jobs", "auto:2-64", 164, &bounds, &error) == 0 && bounds.least == 2 && bounds.most == 64);
	check(slots_auto_parse("--jobs", "auto:7-7", 164, &bounds, &error) == 0 && bounds.least == 7 && bounds.most == 7);
	static const struct { const char *text, *why; } reasons[] = {
		{"auto:5-2", "not 'auto:5-2': the least is greater than the most"}, {"auto:0-3", "a bound must be at least 1"},
		{"auto:2-0", "a bound must be at least 1"}, {"auto:-3", "the least is missing"}, {"auto:3", "the most is missing"},
		{"auto:3-", "the most is missing"}, {"auto:3-x", "the most must be a number"}, {"auto:3x", "there must be a '-'"},
		{"auto:1-99999999999999999999", "the number is too large"}, {"auto:9999999999-1", "the number is too large"},
	};
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); ++i) {
		check(slots_auto_parse("--jobs", reasons[i].text, 164, &bounds, &error) == -1 && strstr(error, reasons[i].why));
		free(error);
	}
	static const char *const wrong[] = {
		"auto:", "auto:8", "auto:-8", "auto:2-", "auto:0-4", "auto:4-2", "auto:2-64x", "auto: 2-4", "auto:2--4", "auto:2-9999999999",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		check(slots_auto_parse("--jobs", wrong[i], 164, &bounds, &error) == -1 && strstr(error, wrong[i]));
		free(error);
	}
}

static void test_fraction(void) {
	make_root();
	put_v2("/");
	put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	check(slots_cpus(root) == 0.5);
	put("/sys/fs/cgroup/cpu.max", "max 100000\n");
	check(slots_cpus(root) == slots_usable_cpus() || slots_usable_cpus() < slots_cpus(root)); // of a quota outside of this root
}

// ---- --load ----

static double load_of(const char *text) {
	double load = -1;
	char *error = NULL;
	check(load_parse(text, &load, &error) == 0);
	return load;
}

static void test_load(void) {
	make_root();
	check(chdir(root) == 0);
	double cpus = slots_usable_cpus();
	check(load_of("4") == 4 && load_of("2.5") == 2.5 && load_of("0") == 0.01);
	check(load_of("+1") == cpus + 1 && load_of("100%") == cpus && load_of("50%") == cpus / 2);
	check(load_of("-100000") == 0.01);
	FILE *file = fopen("max", "w");
	check(file && fputs(" 3.5\n", file) >= 0 && fclose(file) == 0);
	check(load_of("max") == 3.5);
	double load;
	char *error;
	static const char *const wrong[] = {"", "x", "1.", "%", "+", "1e3", "inf", "nowhere"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
		check(load_parse(wrong[i], &load, &error) == -1 && strstr(error, "--load must be"));
		free(error);
	}
}

static void test_watch(void) {
	make_root();
	check(chdir(root) == 0);
	struct slots_watch status_display;
	slots_watch_open(&status_display, "4");
	check(!status_display.path && !slots_watch_changed(&status_display));
	slots_watch_open(&status_display, "2.5");
	check(!status_display.path);
	FILE *file = fopen("jobs", "w");
	check(file && fputs("1\n", file) >= 0 && fclose(file) == 0);
	slots_watch_open(&status_display, "jobs");
	check(status_display.path && !slots_watch_changed(&status_display));
	file = fopen("jobs", "w");
	check(file && fputs("10\n", file) >= 0 && fclose(file) == 0);
	check(slots_watch_changed(&status_display));
	check(!slots_watch_changed(&status_display));
	check(unlink("jobs") == 0 && !slots_watch_changed(&status_display)); // it is being replaced
	file = fopen("jobs", "w");
	check(file && fputs("2\n", file) >= 0 && fclose(file) == 0);
	check(slots_watch_changed(&status_display));
}

static void test_looks(void) {
	check(controller_sampled_slots(2, 2, 2, 2) == 2);
	check(controller_sampled_slots(2, 2, 2, 1) == 1); // the other one has no process yet, or none any more
	check(controller_sampled_slots(2, 1, 1, 1) == 1); // the other slot is between two jobs
	check(controller_sampled_slots(4, 4, 1, 1) == 4); // one wide job
	check(controller_sampled_slots(2, 3, 3, 3) == 2); // one lends its slot
	check(controller_sampled_slots(2, 0, 0, 0) == 0);
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("no cgroup and no quota cut nothing", test_no_quota),
		TEST("a cgroup v2 quota is rounded up to processors", test_v2_quota),
		TEST("the least quota of a nested cgroup and its ancestors holds", test_nested),
		TEST("the path of another namespace leads to the mount", test_foreign_path),
		TEST("a mount of a part of the hierarchy is found in its part", test_part_of_hierarchy),
		TEST("cgroup v1 quotas hold, beside v2 too", test_v1),
		TEST("a quota may be a part of a processor", test_fraction),
		TEST("-j auto takes the least and the most", test_auto),
		TEST("nonsense in the files cuts nothing", test_garbage),
		TEST("affinity is honoured", test_affinity),
		TEST("-j N, +N, -N and N%", test_forms),
		TEST("-j 0 is what the descriptors allow", test_zero),
		TEST("-j FILE holds one of the other forms", test_file),
		TEST("-j refuses everything else", test_refused),
		TEST("--load takes the forms of -j, and decimals", test_load),
		TEST("a file that has changed is noticed once", test_watch),
		TEST("a slot between two jobs has no job that sleeps", test_looks),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
