// What a worker needs to know of a job, as bytes (remote/payload.h).

#include "remote/payload.h"

#include "base/alloc.h"
#include "base/random.h"
#include "test.h"

static char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){""}, (char[]){"a\nb 1\n\xff"}, NULL};
static char a[] = "A=1", z[] = "Z=1"; // which the job has from the base
static char *env[] = {a, z, (char[]){"B=new"}, (char[]){"SOCK=1"}, (char[]){"C=x\ny=z"}, NULL};
static char *job_env[] = {a, z, (char[]){"B=new"}, (char[]){"C=x\ny=z"}, NULL}; // as the job gets it
static char *base[] = {a, (char[]){"B=old"}, (char[]){"GONE=1"}, z, (char[]){"LAST=1"}, NULL};
static char *withheld[] = {(char[]){"SOCK"}, NULL};

static void write_job(struct buf *buf, bool copies_context) {
	static struct rlimit limits[] = {{1, 2}, {RLIM_INFINITY, RLIM_INFINITY}, {0, 3}};
	struct context context = {.umask = 027, .limits = limits, .nlimits = 3, .nice = -5};
	struct child_config config = {
		.path = "/bin/sh", .argv = words, .env = env, .context = &context, .timeout = 123456789012345, .memory = 1 << 30,
		.label = "b#1", .forks = true, .cleanup = true,
	};
	payload_write(buf, &config, &(struct payload_context){
		.base = base, .withheld = withheld, .copies_context = copies_context, .dir = "work", .makes_dir = true, .batch = 9, .width = 3}, true);
}

static void check_list(char *const *list, char *const *expected) {
	size_t i = 0;
	for (; list[i] && expected[i]; ++i) {
		check_string(list[i], expected[i]);
	}
	check(!list[i] && !expected[i]);
}

static void check_common(const struct payload *job) {
	check_string(job->child.path, "/bin/sh");
	check_list(job->argv.at, words);
	check_string(job->child.label, "b#1");
	check(job->child.timeout == 123456789012345 && job->child.memory == 1 << 30);
	check(job->child.forks && job->child.cleanup && job->has_input && job->batch == 9 && job->width == 3);
}

static void test_here(void) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	struct payload job;
	const char *why;
	write_job(&bytes, /* copies_context */ true);
	check(payload_read(&job, bytes.data, bytes.len, &why) == 0);
	check_common(&job);
	check_string(job.dir, "work");
	check(job.makes_dir && job.umask == 027 && job.nice == -5 && job.nlimits == 3);
	check(job.limits[0].rlim_cur == 1 && job.limits[0].rlim_max == 2 && job.limits[1].rlim_cur == RLIM_INFINITY && job.limits[2].rlim_max == 3);
	char **result = env_merge(base, job.set.at, job.unset.at);
	check_list(result, job_env);
	free(result);
	payload_fini(&job);
}

static void test_elsewhere(void) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	struct payload job;
	const char *why;
	write_job(&bytes, /* copies_context */ false);
	check(payload_read(&job, bytes.data, bytes.len, &why) == 0);
	check_common(&job);
	check_string(job.dir, "work");
	check(job.makes_dir && job.umask == 027 && job.nlimits == 0 && job.nice == -5);
	check(!job.unset.at);
	check_string(job.set.at[0], "B=new");
	check_string(job.set.at[1], "C=x\ny=z");
	check(!job.set.at[2]);
	payload_fini(&job);
}

static void check_read(const char *bytes, size_t n, bool is_right) {
	struct payload job;
	const char *why = NULL;
	char *copy = xmalloc(n > 0 ? n : 1);
	memcpy(copy, bytes, n);
	if ((payload_read(&job, copy, n, &why) == 0) != is_right) {
		fprintf(stderr, "# %s: %.*s\n", is_right ? "it refuses" : "it takes", (int)n, bytes);
		check(false);
	}
	check(is_right || why);
	payload_fini(&job);
	free(copy);
}

#define JOB "path 1\nx\narg 1\nx\n"

static void test_bad(void) {
	static const char *const jobs[] = {
		"", "\n", "path 1\nx\n", "arg 1\nx\n", JOB "x", JOB "new 1\nx\n", JOB "arg\n", JOB "arg 2\nx\n", JOB "arg 0\nx\n", JOB "arg 1\nx",
		JOB "arg -1\nx\n", JOB "arg 99999999999999999999\nx\n", JOB "umask 4\n0x12\n", JOB "umask 4\n1000\n", JOB "set 1\nA\n", JOB "set 2\n=A\n",
		JOB "limit 5\n1 2 3\n", JOB "limit 3\n0 1\n", JOB "limit 7\n0 1 2 3\n", JOB "nice 3\n100\n", JOB "nice 1\nx\n", JOB "timeout 2\n-1\n",
		JOB "timeout 0\n\n", JOB "memory 20\n99999999999999999999\n", JOB "dir 0\n\n", JOB " 1\nx\n",
	};
	check_read(JOB, strlen(JOB), true);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); ++i) {
		check_read(jobs[i], strlen(jobs[i]), false);
	}
	check_read(JOB "arg 1\n\0\n", strlen(JOB) + 8, false);
	check_read("path 1\n\0\narg 1\nx\n", 17, false);
}

// No part of a job is another, but where it ends between two fields; and no changed byte does harm.
static void test_parts(void) {
	FP_CLEANUP(buf_fini) struct buf bytes = BUF_INIT;
	uint64_t random = 1;
	write_job(&bytes, true);
	for (unsigned round = 0; round < 100000; ++round) {
		struct payload job;
		const char *why;
		size_t n = round < bytes.len ? round : 1 + random_next(&random) % bytes.len;
		char *copy = xmemdup(bytes.data, n);
		copy = xrealloc(copy, n > 0 ? n : 1);
		if (round >= bytes.len) {
			copy[random_next(&random) % n] = (char)random_next(&random);
		}
		if (payload_read(&job, copy, n, &why) == 0) {
			check(job.child.path && job.argv.at && job.argv.at[0] && copy[n - 1] == '\n');
			free(env_merge(base, job.set.at, job.unset.at));
		}
		payload_fini(&job);
		free(copy);
	}
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("a job for a worker that stands for this machine arrives as it was sent", test_here),
		TEST("a job for another machine has what differs there", test_elsewhere),
		TEST("what is no job is refused", test_bad),
		TEST("parts of a job, and changed ones, do no harm", test_parts),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
