// The memory that jobs declare: the rule, who waits for whom, and groups of their own.

#include "process/memory.h"
#include "process/proc.h"

#include "process/child.h"
#include "process/children.h"
#include "process/guardian.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/stat.h>

#define MB (UINT64_C(1) << 20)

static char place[] = "/tmp/fairpar-memory.XXXXXX"; // a directory for one test

static const char *in_place(const char *name) {
	static char path[2][128];
	static unsigned turn;
	snprintf(path[turn % 2], sizeof(path[0]), "%s/%s", place, name);
	return path[turn++ % 2];
}

static void put_file(const char *path, const char *text) {
	char temporary[160];
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0);
	check_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	check_equal(rename(temporary, path), 0); // nobody reads half of it
}

static const char *file_text(const char *path) {
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	check(fd >= 0);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	check(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static unsigned count(const char *text, const char *word) {
	unsigned n = 0;
	for (; (text = strstr(text, word)); text += strlen(word)) {
		++n;
	}
	return n;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_tree(const char *path) {
	check_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

// ---- a world for one test ----

static struct world {
	struct context *context;
	struct children *children;
	int stderr_fd; // as it was
} world;

static void set_available(uint64_t available) {
	char text[128];
	snprintf(text, sizeof(text), "MemTotal: %llu kB\nMemFree: 1 kB\nMemAvailable: %llu kB\n",
	         (unsigned long long)(1000 * MB / 1024), (unsigned long long)(available / 1024));
	put_file(in_place("proc/meminfo"), text);
}

static void world_open(const char *root) {
	check(mkdtemp(place) && mkdir(in_place("proc"), 0700) == 0);
	root ? setenv("FAIRPAR_CGROUP_ROOT", root, 1) : unsetenv("FAIRPAR_CGROUP_ROOT");
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGALRM); // the harness's
	world.context = context_capture();
	sigprocmask(SIG_BLOCK, &all, NULL);
	world.children = children_create(NULL, NULL, -1);
	set_available(100 * MB);
	world.children->memory.proc_root = place;
	world.stderr_fd = dup(2);
	int said = open(in_place("stderr"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	check(said >= 0 && dup2(said, 2) == 2);
	close(said);
}

// What fairpar has said; the tests' own words go to the old stderr again.
static const char *world_said(void) {
	check_equal(dup2(world.stderr_fd, 2), 2);
	return file_text(in_place("stderr"));
}

static void world_close(void) {
	children_destroy(world.children, /* kills_orphans */ false);
	context_unref(world.context);
	remove_tree(place);
}

// As if no cgroup could be had, wherever the test runs.
static void without_cgroups(void) {
	world.children->memory.mode = MEMORY_ADMISSION;
}

struct job {
	uint64_t memory;
	struct memory_learned *learned;
	bool cleanup;
	char *argv[4];
	int hold[2], said[2]; // ends when it is told to; has said that it runs
	thread thread;
	struct result result;
	struct spawn_error error;
};

static ssize_t pass_on(void *arg, enum child_stream stream, int fd) {
	struct job *job = arg;
	char text[256];
	ssize_t n = read(fd, text, sizeof(text));
	if (n > 0 && stream == STREAM_OUT) {
		check_equal(write(job->said[1], text, (size_t)n), n);
	}
	return n;
}

static void *job_thread(void *arg) {
	struct job *job = arg;
	struct output_reader output_reader = {.readable = pass_on, .arg = job};
	void *stack_top = spawn_stack_create();
	struct child_config config = {
		.path = job->argv[0], .argv = job->argv, .env = world.context->env, .context = world.context,
		.stdin_fd = job->hold[0], .output_reader = &output_reader, .memory = job->memory, .cleanup = job->cleanup, .label = "thejob",
		.own_group = true, .stack_top = stack_top,
	};
	struct memory_claim claim = {.learned = job->learned};
	config.claim = job->memory > 0 || job->learned ? &claim : NULL;
	child_run(world.children, &config, &job->result, &job->error);
	spawn_stack_destroy(stack_top);
	close(job->said[1]);
	return NULL;
}

static void job_start(struct job *job, uint64_t memory, const char *first, const char *second, const char *third) {
	job->memory = memory;
	job->argv[0] = (char *)(uintptr_t)first;
	job->argv[1] = (char *)(uintptr_t)second;
	job->argv[2] = (char *)(uintptr_t)third;
	check_equal(pipe2(job->hold, O_CLOEXEC), 0);
	check_equal(pipe2(job->said, O_CLOEXEC), 0);
	check_equal(thread_start(&job->thread, job_thread, job, 256 * 1024), 0);
}

static void job_start_held(struct job *job, uint64_t memory) {
	job_start(job, memory, "/bin/sh", "-c", "echo ready; read x; exit 3");
}

static void job_wait_ready(struct job *job) {
	char byte;
	check_equal(read(job->said[0], &byte, 1), 1);
}

static void job_wait_end(struct job *job) {
	thread_join(job->thread);
	close(job->hold[0]);
	close(job->hold[1]);
	close(job->said[0]);
}

static void job_end(struct job *job) {
	check_equal(write(job->hold[1], "\n", 1), 1);
	job_wait_end(job);
	check_equal(job->result.outcome, OUTCOME_FAILED);
	check_equal(job->result.exit_code, 3);
	check(job->result.start > 0);
}

static struct result job_run(uint64_t memory, const char *script) {
	struct job job = {.memory = 0};
	job_start(&job, memory, "/bin/sh", "-c", script);
	job_wait_end(&job);
	return job.result;
}

// Until `n` claims wait; they are looked at in the order in which they came.
static void wait_waiting(unsigned n) {
	struct memory *memory = &world.children->memory;
	for (unsigned waiting = 0; waiting != n;) {
		FP_HOLD(&memory->lock);
		waiting = (unsigned)list_length(&memory->waiting);
	}
}

// Until a job has said that it waits.
static void wait_said(void) {
	struct memory *memory = &world.children->memory;
	for (bool said = false; !said;) {
		mutex_lock(&memory->lock);
		said = memory->has_waited;
		mutex_unlock(&memory->lock);
	}
}

// ---- the rule ----

static void test_meminfo(void) {
	uint64_t bytes;
	const char *text = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\nBuffers: 7 kB\n";
	check(meminfo_find(text, "MemAvailable:", &bytes));
	check_equal(bytes, 2 * MB);
	check(meminfo_find(text, "MemTotal:", &bytes));
	check_equal(bytes, 16 * MB);
	check(!meminfo_find(text, "Mem", &bytes));
	check(!meminfo_find("XMemTotal: 1 kB\nMemTotal: x kB\n", "MemTotal:", &bytes));
	check(!meminfo_find("", "MemTotal:", &bytes));
	check(meminfo_find(file_text("/proc/meminfo"), "MemAvailable:", &bytes) && bytes > MB);
}

// With a /proc that says so, in the place of the root.
static void check_path(const char *cgroup, const char *mountinfo, const char *expected) {
	put_file(in_place("proc/self/cgroup"), cgroup);
	put_file(in_place("proc/self/mountinfo"), mountinfo);
	char *path = cgroup_find_dir(place, /* controller */ NULL);
	check_string(path ? path + strlen(place) : "none", expected);
	free(path);
}

static void test_own_path(void) {
	check(mkdtemp(place));
	check(mkdir(in_place("proc"), 0700) == 0 && mkdir(in_place("proc/self"), 0700) == 0);
	const char *v2 = "31 23 0:28 / /sys rw - sysfs sysfs rw\n"
		"41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
	check_path("0::/user.slice/a b\n", v2, "/sys/fs/cgroup/user.slice/a b");
	check_path("4:memory:/x\n0::/y\n", v2, "/sys/fs/cgroup/y");
	check_path("0::/\n", v2, "/sys/fs/cgroup/");
	check_path("4:memory:/x\n", v2, "none");
	check_path("", v2, "none");
	check_path("0::/../outside\n", v2, "none");
	check_path("0::/x\n", "41 31 0:38 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n", "none");
	check_path("0::/x\n", "", "none");
	check_path("0::/x\n", "garbage - cgroup2 x\n\n", "none");
	const char *below = "41 31 0:38 /lxc/one /mnt/c\\040g rw - cgroup2 cgroup2 rw\n";
	check_path("0::/lxc/one/job\n", below, "/mnt/c g/job");
	check_path("0::/lxc/one\n", below, "/mnt/c g");
	check_path("0::/lxc/other\n", below, "none");
	check_path("0::/lxc/one2\n", below, "none");
	remove_tree(place);
}

// Opens the own group of a made-up tree, of which these are the files, NULL: there is none. Returns the cause, "" if it is opened.
static const char *own_group_cause(const char *controllers, const char *procs) {
	struct cgroup_root root;
	unlink(in_place("group/cgroup.controllers"));
	unlink(in_place("group/cgroup.procs"));
	if (controllers) {
		put_file(in_place("group/cgroup.controllers"), controllers);
	}
	if (procs) {
		put_file(in_place("group/cgroup.procs"), procs);
	}
	const char *cause = cgroup_root_open(&root, NULL, place);
	check_equal(root.fd < 0, cause != NULL);
	cgroup_root_close(&root);
	return cause ? cause : "";
}

static void test_own_group(void) {
	check(mkdtemp(place));
	check(mkdir(in_place("proc"), 0700) == 0 && mkdir(in_place("proc/self"), 0700) == 0);
	put_file(in_place("proc/self/cgroup"), "0::/\n");
	put_file(in_place("proc/self/mountinfo"), "25 18 0:22 / /group rw - cgroup2 cgroup2 rw\n");
	check_equal(mkdir(in_place("group"), 0700), 0);
	check_string(own_group_cause(NULL, ""), "it has no memory controller");
	check_string(own_group_cause("cpu memoryless\n", ""), "it has no memory controller");
	char ours[64], others[64];
	snprintf(ours, sizeof(ours), "%ld\n", (long)getpid());
	snprintf(others, sizeof(others), "%ld\n%ld\n", (long)getpid(), (long)getppid());
	check_string(own_group_cause("cpu memory io\n", others), "there are processes in it");
	check_string(own_group_cause("cpu memory io\n", NULL), "there are processes in it");
	check(access(in_place("group/cgroup.subtree_control"), F_OK) != 0); // nothing was written
	check_string(own_group_cause("cpu memory io\n", ours), "");
	check_string(file_text(in_place("group/cgroup.subtree_control")), "+memory");
	check_equal(chmod(in_place("group"), 0500), 0);
	if (geteuid() != 0) {
		struct cgroup_root root;
		check_string(cgroup_root_open(&root, NULL, place), "Permission denied");
	}
	check_equal(chmod(in_place("group"), 0700), 0);
	remove_tree(place);
}

// ---- waiting ----

static void test_waits_for_memory(void) {
	world_open(NULL);
	without_cgroups();
	set_available(10 * MB);
	struct job job = {.memory = 0};
	job_start_held(&job, 20 * MB);
	wait_said();
	set_available(20 * MB); // by others: nobody tells us
	job_wait_ready(&job);
	job_end(&job);
	check_equal(count(world_said(), "fairpar: memory: 'thejob' waits for 20M; 10M is available\n"), 1);
	world_close();
}

static void test_declared_counts(void) {
	world_open(NULL);
	without_cgroups();
	struct job one = {.memory = 0}, two = {.memory = 0}, three = {.memory = 0}, free_one = {.memory = 0};
	job_start_held(&one, 50 * MB);
	job_wait_ready(&one);
	job_start_held(&two, 60 * MB);
	wait_waiting(1);
	job_start_held(&three, MB); // there is room, but another came first
	wait_waiting(2);
	job_start_held(&free_one, 0); // no declaration, no wait
	job_wait_ready(&free_one);
	job_end(&free_one);
	mutex_lock(&world.children->memory.lock);
	check_equal(world.children->memory.nadmitted, 1);
	mutex_unlock(&world.children->memory.lock);
	job_end(&one);
	job_wait_ready(&two);
	job_wait_ready(&three);
	job_end(&two);
	job_end(&three);
	check_string(world_said(), "");
	world_close();
}

enum { EATEN_MB = 60 };

// The program of a job that uses memory and ends when it is told to.
static int eat(void) {
	size_t size = (size_t)EATEN_MB * MB;
	static volatile char *mem;
	mem = malloc(size);
	for (size_t i = 0; mem && i < size; i += 1024) {
		mem[i] = 1;
	}
	char byte;
	return mem && write(1, "x", 1) == 1 && read(0, &byte, 1) == 1 ? 3 : 1;
}

static void test_used_counts_once(void) {
	skip_emulated(); // the kernel cannot execute /proc/self/exe
	world_open(NULL);
	without_cgroups();
	set_available(150 * MB);
	struct job one = {.memory = 0}, two = {.memory = 0};
	job_start(&one, 100 * MB, "/proc/self/exe", "--eat", NULL);
	job_wait_ready(&one);
	set_available(90 * MB);      // what it uses is no longer there
	job_start_held(&two, 45 * MB); // 100 - 60 + 45
	job_wait_ready(&two);
	job_end(&two);
	job_end(&one);
	check_string(world_said(), "");
	world_close();
}

static void test_more_than_there_is(void) {
	world_open(NULL);
	without_cgroups();
	struct job one = {.memory = 0}, two = {.memory = 0};
	job_start_held(&one, 2000 * MB);
	job_wait_ready(&one);
	job_start_held(&two, 2000 * MB);
	wait_waiting(1);
	job_end(&one);
	job_wait_ready(&two);
	job_end(&two);
	const char *said = world_said();
	check_equal(count(said, "\n"), 1);
	check_equal(count(said, "fairpar: warning: memory: 'thejob' needs 1.953G, but all jobs together can have only 1000M; "
	                        "such jobs run alone\n"), 1);
	world_close();
}

static void test_cancelled(void) {
	world_open(NULL);
	without_cgroups();
	struct job one = {.memory = 0}, two = {.memory = 0}, cleanup = {.cleanup = true};
	set_available(10 * MB);
	job_start_held(&one, 20 * MB);
	wait_waiting(1);
	job_start_held(&two, MB);
	wait_waiting(2);
	job_start_held(&cleanup, 30 * MB);
	wait_waiting(3);
	children_terminate(world.children);
	job_wait_end(&one);
	job_wait_end(&two);
	check_equal(one.result.outcome, OUTCOME_CANCELLED);
	check(one.result.start == 0 && one.result.end == 0);
	check_equal(two.result.outcome, OUTCOME_CANCELLED);
	wait_waiting(1); // a clean-up waits on
	set_available(40 * MB);
	job_wait_ready(&cleanup);
	struct job another = {.cleanup = true};
	job_start_held(&another, 30 * MB);
	wait_waiting(1);
	children_kill(world.children);
	job_wait_end(&another);
	check_equal(another.result.outcome, OUTCOME_CANCELLED);
	check_equal(another.result.start, 0);
	job_wait_end(&cleanup);
	check_equal(cleanup.result.term_signal, SIGKILL);
	world_close();
}

static void test_no_figures(void) {
	world_open(NULL);
	without_cgroups();
	check_equal(unlink(in_place("proc/meminfo")), 0);
	check_equal(job_run(20 * MB, "exit 3").exit_code, 3);
	check_equal(job_run(20 * MB, "exit 3").exit_code, 3);
	check_equal(count(world_said(), "meminfo' does not say how much is available"), 1);
	world_close();
}

static void test_failed_start_gives_back(void) {
	world_open(NULL);
	without_cgroups();
	struct job job = {.memory = 0};
	job_start(&job, 20 * MB, "/no/such", NULL, NULL);
	job_wait_end(&job);
	check_equal(job.result.exit_code, 127);
	check_equal(world.children->memory.nadmitted, 0);
	world_close();
}

enum { STORM_THREADS = 4, STORM_JOBS = 50 };

static atomic_uint storm_bytes;

static void *storm(void *arg) {
	for (unsigned i = 0; i < STORM_JOBS; ++i) {
		struct memory_claim claim = {.waits = NULL};
		unsigned mb = 10 + (i * 7 + *(unsigned *)arg * 13) % 50;
		check(memory_claim_open(&world.children->memory, &claim, mb * MB, "storm", &world.children->terminating));
		// its own pid uses less than it declares, if it uses anything
		check(atomic_fetch_add(&storm_bytes, mb) + mb <= 100);
		sched_yield();
		atomic_fetch_sub(&storm_bytes, mb);
		check(!memory_claim_close(&world.children->memory, &claim));
	}
	return NULL;
}

static void test_storm(void) {
	world_open(NULL);
	without_cgroups();
	thread threads[STORM_THREADS];
	unsigned numbers[STORM_THREADS];
	for (unsigned i = 0; i < STORM_THREADS; ++i) {
		numbers[i] = i;
		check_equal(thread_start(&threads[i], storm, &numbers[i], 256 * 1024), 0);
	}
	for (unsigned i = 0; i < STORM_THREADS; ++i) {
		thread_join(threads[i]);
	}
	check_equal(world.children->memory.nadmitted, 0);
	check_string(world_said(), "");
	world_close();
}

struct opened {
	struct memory_claim claim;
	int said[2]; // that it waits, and that it may start
	uint64_t told; // for how much it waits
	thread thread;
};

static void say_waits(void *arg, uint64_t bytes) {
	((struct opened *)arg)->told = bytes;
	check_equal(write(((struct opened *)arg)->said[1], "w", 1), 1);
}

static void *open_claim(void *arg) {
	struct opened *opened = arg;
	check(memory_claim_open(&world.children->memory, &opened->claim, 0, "later", &world.children->terminating));
	check_equal(write(opened->said[1], "s", 1), 1);
	return NULL;
}

// What the claim has said next.
static char next_said(struct opened *opened) {
	char said;
	check_equal(read(opened->said[0], &said, 1), 1);
	return said;
}

// As if three jobs of it had had so much.
static void make_known(struct memory_learned *batch, uint64_t bytes) {
	for (unsigned i = 0; i < 3; ++i) {
		memory_learned_end(batch, bytes);
	}
}

// A claim whose job waits for others, and one of its batch that does not fit beside it.
static void open_two(struct memory_learned *batch, struct memory_claim *first, struct opened *second, uint64_t alone_due) {
	struct memory *memory = &world.children->memory;
	*first = (struct memory_claim){.learned = batch, .origin = first};
	check(memory_claim_open(memory, first, 0, "first", &world.children->terminating));
	memory_set_waiting(memory, first, true);
	mutex_lock(&memory->lock);
	memory->alone_due = alone_due;
	mutex_unlock(&memory->lock);
	*second = (struct opened){.claim = {.learned = batch, .waits = say_waits, .waits_arg = second}};
	check_equal(pipe2(second->said, O_CLOEXEC), 0);
	check_equal(thread_start(&second->thread, open_claim, second, 256 * 1024), 0);
}

static void close_second(struct opened *second) {
	thread_join(second->thread);
	check(!memory_claim_close(&world.children->memory, &second->claim));
	close(second->said[0]);
	close(second->said[1]);
}

static void test_waiting_keeps(void) {
	world_open(NULL);
	struct memory *memory = &world.children->memory;
	struct memory_learned batch = {.ended = 0};
	struct memory_claim first, third;
	struct opened second;
	atomic_bool awaited = false;
	make_known(&batch, 40 * MB); // of 50M, without what is left to others
	open_two(&batch, &first, &second, UINT64_MAX);
	check_equal(next_said(&second), 'w');
	check_equal(second.told, 45 * MB);
	atomic_store(&awaited, true);
	memory_wake(children_memory(world.children));
	third = (struct memory_claim){.learned = &batch, .awaited = &awaited};
	check(memory_claim_open(memory, &third, 0, "third", &world.children->terminating)); // before the second
	memory_set_waiting(memory, &first, false); // before the third ends, or the second might soon start as the only one
	check(!memory_claim_close(memory, &third));
	mutex_lock(&memory->lock);
	check(!second.claim.is_admitted && memory->nadmitted == 1 && memory->nsuspended == 0);
	mutex_unlock(&memory->lock);
	check(!memory_claim_close(memory, &first));
	check_equal(next_said(&second), 's');
	close_second(&second);
	world_close();
}

// It might be what is in the way of what is waited for.
static void test_waiting_is_passed(void) {
	world_open(NULL);
	struct memory *memory = &world.children->memory;
	struct memory_learned batch = {.ended = 0};
	struct memory_claim first;
	struct opened second;
	make_known(&batch, 40 * MB);
	open_two(&batch, &first, &second, 0);
	check_equal(next_said(&second), 's');
	check(!memory_claim_close(memory, &first)); // while it waits
	close_second(&second);
	check(memory->nadmitted == 0 && memory->nsuspended == 0);
	world_close();
}

// Nothing is known of its batch: it was held back for that.
static void test_held_back_is_passed(void) {
	world_open(NULL);
	struct memory *memory = &world.children->memory;
	struct memory_learned batch = {.ended = 0};
	struct memory_claim first;
	struct opened second;
	open_two(&batch, &first, &second, now_ns() + 20 * (uint64_t)NS_PER_MS);
	while (next_said(&second) != 's') {
	}
	check(batch.running == 1 && batch.suspended == 1);
	check(!memory_claim_close(memory, &first));
	close_second(&second);
	check(batch.running == 0 && batch.suspended == 0);
	world_close();
}

// ---- groups ----

static char root[] = "/tmp/fairpar-memory-root.XXXXXX"; // a plain directory in the place of a cgroup2 file system

static const char *in_group(unsigned number, const char *file) {
	static char path[128];
	snprintf(path, sizeof(path), "%s/fairpar-%ld-%u/%s", root, (long)getpid(), number, file);
	return path;
}

// With the memory controller, which is enabled.
static void make_root(void) {
	check(mkdtemp(root));
	static const char *const files[] = {"cgroup.controllers", "cgroup.subtree_control"};
	for (size_t i = 0; i < 2; ++i) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", root, files[i]);
		put_file(path, "memory\n");
	}
}

static void root_world_open(void) {
	make_root();
	world_open(root);
}

static void root_world_close(void) {
	world_close();
	remove_tree(root);
}

// It looked well, but no group can be made in it.
static void lose_way_in(struct memory *memory) {
	check(!cgroup_root_open(&memory->root, root, ""));
	memory->mode = MEMORY_CGROUP;
	close(memory->root.fd);
	memory->root.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct memory_learned learned[2];

static void *learned_storm(void *arg) {
	unsigned which = *(unsigned *)arg % 2;
	for (unsigned i = 0; i < STORM_JOBS; ++i) {
		struct memory_claim claim = {.learned = &learned[which], .origin = arg};
		struct memory *memory = &world.children->memory;
		check(memory_claim_open(memory, &claim, 0, "storm", &world.children->terminating));
		check(atomic_fetch_add(&storm_bytes, 16) + 16 <= 32); // 50M but for what is left to others, and 19.1M for each
		if (i % 7 == 0) {
			atomic_fetch_sub(&storm_bytes, 16);
			memory_set_waiting(memory, arg, true);
			sched_yield();
			memory_set_waiting(memory, arg, false); // whatever there is: it runs already
		} else {
			sched_yield();
			atomic_fetch_sub(&storm_bytes, 16);
		}
		(void)memory_claim_learn(memory, &claim, 17 * MB, /* is_killed */ false);
		check(!memory_claim_close(memory, &claim));
	}
	return NULL;
}

static void test_learned_storm(void) {
	world_open(NULL);
	struct memory *memory = &world.children->memory;
	thread threads[STORM_THREADS];
	unsigned numbers[STORM_THREADS];
	atomic_store(&storm_bytes, 0);
	make_known(&learned[0], 17 * MB);
	make_known(&learned[1], 17 * MB);
	for (unsigned i = 0; i < STORM_THREADS; ++i) {
		numbers[i] = i;
		check_equal(thread_start(&threads[i], learned_storm, &numbers[i], 256 * 1024), 0);
	}
	for (unsigned i = 0; i < STORM_THREADS; ++i) {
		thread_join(threads[i]);
	}
	check_equal(memory->nadmitted, 0);
	check(learned[0].running == 0 && learned[1].running == 0);
	check_equal(memory_learned_need(&learned[1]), 17 * MB * 9 / 8);
	check_string(world_said(), "");
	world_close();
}

static void test_group(void) {
	root_world_open();
	check_equal(job_run(0, "exit 3").exit_code, 3);
	check(access(in_group(1, ""), F_OK) != 0); // without a declaration there is none
	check_equal(job_run(2048 * MB, "exit 3").exit_code, 3);
	check_string(file_text(in_group(1, "memory.max")), "2147483648");
	check_string(file_text(in_group(1, "cgroup.procs")), "0");
	set_available(0);
	check_equal(job_run(MB, "exit 4").exit_code, 4); // does not wait
	check_string(file_text(in_group(2, "memory.max")), "1048576");
	check_string(world_said(), "");
	root_world_close();
}

static void set_figures(unsigned number, const char *peak, const char *stat) {
	put_file(in_group(number, "memory.peak"), peak);
	put_file(in_group(number, "memory.stat"), stat);
}

// What a job had that has a group by what it says, for those of its batch that say nothing.
static void test_learned_group(void) {
	root_world_open();
	struct memory_learned batch = {.ended = 0};
	struct job job = {.learned = &batch};
	job_start_held(&job, 1000 * MB);
	job_wait_ready(&job);
	check_equal(memory_learned_need(&batch), 0);
	// of the files' 600 M, 100 are of a tmpfs, which are not given back
	set_figures(1, "943718400\n", "anon 5\nfile 629145600\nkernel 7\nshmem 104857600\n");
	job_end(&job);
	check_equal(atomic_load(&batch.most), 400 * MB);
	check_string(world_said(), "");
	root_world_close();
}

// The peak of the group, or the largest process.
static void test_learned_most(void) {
	root_world_open();
	struct memory *memory = &world.children->memory;
	struct memory_learned batch = {.ended = 0};
	struct memory_claim claim = {.learned = &batch};
	check(memory_claim_open(memory, &claim, MB, "most", &world.children->terminating));
	check_equal(memory_claim_prepare(memory, &claim), 0);
	set_figures(1, "1000\n", "anon 1\nfile 5000\nshmem 0\n"); // it read more than it had, and then that went
	check(!memory_claim_learn(memory, &claim, 64 * MB, /* is_killed */ false));
	check_equal(atomic_load(&batch.most), 64 * MB);
	set_figures(1, "83886080\n", "anon 1\nfile 0\nshmem 0\n");
	check(!memory_claim_learn(memory, &claim, 64 * MB, /* is_killed */ false));
	check_equal(atomic_load(&batch.most), 80 * MB);
	check(!memory_claim_close(memory, &claim));
	root_world_close();
}

// A made-up cgroup, of which the kernel has killed so many processes.
static void set_kills(unsigned n) {
	char text[64];
	snprintf(text, sizeof(text), "low 0\noom_kill %u\n", n);
	put_file(in_place("group/memory.events"), text);
}

// Opens a claim of the batch, ends its job, which had so much, and closes it.
static void end_one(struct memory_learned *batch, uint64_t bytes, bool is_killed, bool ran_out) {
	struct memory *memory = &world.children->memory;
	struct memory_claim claim = {.learned = batch};
	check(memory_claim_open(memory, &claim, 0, "one", &world.children->terminating));
	check_equal(memory_claim_learn(memory, &claim, bytes, is_killed), ran_out);
	check(!memory_claim_close(memory, &claim));
}

static void test_killed(void) {
	world_open(NULL);
	struct memory_learned batch = {.ended = 0};
	check(mkdir(in_place("proc/self"), 0700) == 0 && mkdir(in_place("group"), 0700) == 0);
	put_file(in_place("proc/self/cgroup"), "0::/\n");
	put_file(in_place("proc/self/mountinfo"), "25 18 0:22 / /group rw - cgroup2 cgroup2 rw\n");
	set_kills(3);
	end_one(&batch, 80 * MB, /* is_killed */ true, false); // not by the kernel
	check_equal(atomic_load(&batch.most), 80 * MB);
	set_kills(4);
	end_one(&batch, 60 * MB, /* is_killed */ true, true); // it was to need 80
	check_equal(atomic_load(&batch.most), 160 * MB);
	for (unsigned i = 0; i < 50; ++i) {
		check_equal(memory_learned_need(&batch), 180 * MB);
		end_one(&batch, 10 * MB, /* is_killed */ false, false);
	}
	check_equal(atomic_load(&batch.most), 10 * MB);
	set_kills(5);
	end_one(&batch, 700 * MB, /* is_killed */ true, true); // there is no more than 1000
	check_equal(atomic_load(&batch.most), 1000 * MB);
	check_string(world_said(), "");
	world_close();
}

// Makes a group in a real cgroup v2, where this process may; else returns false. Memory is not counted in it.
static bool real_root_open(struct cgroup_root *ret_root, char path[static 4096]) {
	char *own = cgroup_find_dir("", /* controller */ NULL);
	snprintf(path, 4096, "%s/fairpar-test-%ld", own ? own : "/nowhere", (long)getpid());
	free(own);
	if (mkdir(path, 0755) != 0) {
		printf("# no cgroup v2 in which groups can be made: nothing is tried\n");
		return false;
	}
	*ret_root = (struct cgroup_root){.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	check(ret_root->fd >= 0);
	return true;
}

static void test_real_group(void) {
	char path[4096], name[64];
	struct cgroup_root real;
	if (!real_root_open(&real, path)) {
		return;
	}
	snprintf(name, sizeof(name), "fairpar-%ld-1", (long)getpid());
	check_equal(mkdirat(real.fd, name, 0755), 0);
	snprintf(name, sizeof(name), "fairpar-%ld-1/cgroup.procs", (long)getpid());
	struct cgroup group = {.number = 1, .procs_fd = openat(real.fd, name, O_WRONLY | O_CLOEXEC)};
	check(group.procs_fd >= 0);
	pid_t left = fork();
	if (left == 0) {
		_exit(write(group.procs_fd, "0", 1) == 1 ? pause() : 1);
	}
	for (char byte = 0; byte == 0;) { // until it has entered
		int fd = openat(real.fd, name, O_RDONLY | O_CLOEXEC);
		check(fd >= 0 && read(fd, &byte, 1) >= 0);
		close(fd);
	}
	cgroup_kill(&real, &group);
	int status;
	check_equal(waitpid(left, &status, 0), left);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(real.fd);
	check_equal(rmdir(path), 0); // nothing is left in it
}

static void test_group_descriptors(void) {
	root_world_open();
	check_equal(job_run(MB, "test -z \"$(find /proc/$$/fd -lname \"$FAIRPAR_CGROUP_ROOT/*\")\"").outcome, OUTCOME_OK);
	struct job job = {.memory = 0};
	job_start_held(&job, MB);
	job_wait_ready(&job);
	char link[64], path[256];
	for (int fd = 3; fd < 256; ++fd) { // nor do we hold one for each that runs
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
		check(!strstr(path, "cgroup.procs"));
	}
	job_end(&job);
	root_world_close();
}

static void test_out_of_memory(void) {
	root_world_open();
	static const struct { unsigned kills; const char *end; enum outcome outcome; bool expected; } cases[] = {
		{1, "kill -9 $$", OUTCOME_SIGNAL, true},
		{0, "kill -9 $$", OUTCOME_SIGNAL, false},
		{2, "exit 137", OUTCOME_FAILED, true},
		{1, "exit 0", OUTCOME_OK, false},
	};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
		char script[256];
		snprintf(script, sizeof(script), "printf 'low 0\\noom 1\\noom_kill %u\\n' >%s; %s", cases[i].kills,
		         in_group(i + 1, "memory.events"), cases[i].end);
		struct result result = job_run(MB, script);
		check_equal(result.outcome, cases[i].outcome);
		check_equal(result.out_of_memory, cases[i].expected);
	}
	root_world_close();
}

static void test_leftovers(void) {
	make_root();
	pid_t gone = fork();
	if (gone == 0) {
		_exit(0);
	}
	check_equal(waitpid(gone, NULL, 0), gone);
	char name[5][128], below[160];
	snprintf(name[0], sizeof(name[0]), "%s/fairpar-%ld-7", root, (long)gone);
	snprintf(name[1], sizeof(name[1]), "%s/fairpar-%ld-7", root, (long)getpid());
	snprintf(name[2], sizeof(name[2]), "%s/fairpar-%ldx", root, (long)gone);
	snprintf(name[3], sizeof(name[3]), "%s/other-%ld-7", root, (long)gone);
	snprintf(name[4], sizeof(name[4]), "%s/fairpar-%ld-1", root, (long)getpid()); // of a namesake
	for (unsigned i = 0; i < 5; ++i) {
		check_equal(mkdir(name[i], 0700), 0);
	}
	snprintf(below, sizeof(below), "%s/fairpar-%ld-1", name[0], (long)gone); // of one that a job was
	check_equal(mkdir(below, 0700), 0);
	world_open(root);
	check_equal(job_run(MB, "exit 3").exit_code, 3);
	check(access(name[0], F_OK) != 0);
	for (unsigned i = 1; i < 5; ++i) {
		check_equal(access(name[i], F_OK), 0);
	}
	check_string(file_text(in_group(2, "memory.max")), "1048576");
	root_world_close();
}

static void test_unusable_root(void) {
	world_open("/no/such/root");
	check_equal(job_run(MB, "exit 3").exit_code, 3);
	check_equal(job_run(MB, "exit 3").exit_code, 3);
	check_string(world_said(), "fairpar: warning: memory: cannot use FAIRPAR_CGROUP_ROOT '/no/such/root': "
	             "No such file or directory; jobs wait until the memory that they declare is available, but may take more\n");
	world_close();
}

static void test_root_without_a_way_in(void) {
	root_world_open();
	struct memory *memory = &world.children->memory;
	struct job jobs[4] = {{.memory = 0}};
	lose_way_in(memory);
	for (unsigned i = 0; i < 4; ++i) {
		job_start_held(&jobs[i], MB);
	}
	for (unsigned i = 0; i < 4; ++i) {
		job_wait_ready(&jobs[i]);
	}
	mutex_lock(&memory->lock);
	check_equal(memory->mode, MEMORY_ADMISSION);
	check_equal(memory->nadmitted, 4);
	mutex_unlock(&memory->lock);
	for (unsigned i = 0; i < 4; ++i) {
		job_end(&jobs[i]);
	}
	const char *said = world_said();
	check_equal(count(said, "\n"), 1);
	check_equal(count(said, "Not a directory; jobs wait until"), 1);
	root_world_close();
}

// Once one was entered, what cannot be limited is not run without.
static void test_lost_root(void) {
	root_world_open();
	check_equal(job_run(MB, "exit 3").exit_code, 3);
	remove_tree(root);
	struct job job = {.memory = 0};
	job_start_held(&job, MB);
	job_wait_end(&job);
	check_equal(job.result.outcome, OUTCOME_SPAWN_ERROR);
	check_equal(job.error.step, SPAWN_CGROUP);
	check_equal(job.error.error, ENOENT);
	check_string(spawn_step_name(job.error.step), "memory limit");
	world_close();
}

int main(int argc, char *argv[]) {
	if (argc > 1 && strcmp(argv[1], GUARDIAN_ARG) == 0) {
		return guardian_main(argc, argv, /* tidy */ NULL);
	}
	if (argc > 1 && strcmp(argv[1], "--eat") == 0) {
		return eat();
	}
	static const struct test tests[] = {
		TEST("figures are found in /proc/meminfo", test_meminfo),
		TEST("the own cgroup is found", test_own_path),
		TEST("the own cgroup is taken if it is nobody else's and has the controller", test_own_group),
		TEST("a job waits until there is memory", test_waits_for_memory),
		TEST("what is declared counts, first come first served", test_declared_counts),
		TEST("what a job uses of its declaration does not count twice", test_used_counts_once),
		TEST("a job that needs more than there is runs alone", test_more_than_there_is),
		TEST("the end of the run ends the wait, but for clean-ups", test_cancelled),
		TEST("without figures nobody waits", test_no_figures),
		TEST("a job that does not start gives its memory back", test_failed_start_gives_back),
		TEST("many claims never take more than there is, and all end", test_storm),
		TEST("what is learned is reserved, and given back", test_learned_storm),
		TEST("what a waiting job is learned to need stays reserved, and what it waits for starts in any case", test_waiting_keeps),
		TEST("where all wait for others, and none of those comes, another starts in any case", test_waiting_is_passed),
		TEST("that other one may be of a batch of which nothing is known", test_held_back_is_passed),
		TEST("a job with a declaration gets a group with that limit", test_group),
		TEST("the peak of a job's group counts without the cache", test_learned_group),
		TEST("the group's peak counts or the largest process, whichever is more", test_learned_most),
		TEST("a kill for want of memory doubles what the next fifty are to need", test_killed),
		TEST("what a job leaves in a real group is killed, and the group removed", test_real_group),
		TEST("the way into a group is open to nobody else", test_group_descriptors),
		TEST("a failure after a kill by the kernel is out of memory", test_out_of_memory),
		TEST("what a killed fairpar left is removed", test_leftovers),
		TEST("a root that cannot be used is told of once", test_unusable_root),
		TEST("where no group can be entered jobs wait for memory instead", test_root_without_a_way_in),
		TEST("a limit that cannot be set any more is an error", test_lost_root),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
