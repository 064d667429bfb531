// A run without a process: what it makes of attempts that a fake executes.

#include "process/executor.h"

#include "base/buf.h"
#include "base/sync.h"
#include "cli/options.h"
#include "run/run.h"
#include "process/context.h"
#include "process/signals.h"
#include "test.h"

#include <fcntl.h>
#include <semaphore.h>

// ---- the fake ----

static struct {
	mutex lock;
	struct buf commands;    // of all attempts, in their order, a line each
	unsigned fails;         // attempts that fail before one succeeds
	const char *output;     // what each attempt writes
	bool endless;           // an attempt with the item "b" runs until it is terminated; all others wait until it has begun
	sem_t begun, ended;
	unsigned terminated, killed;
} fake;

static void write_output(const struct output_reader *reader) {
	int fds[2];
	check(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	check_equal(write(fds[1], fake.output, strlen(fake.output)), (long long)strlen(fake.output));
	close(fds[1]);
	while (reader->readable(reader->arg, STREAM_OUT, fds[0]) > 0) {
	}
	close(fds[0]);
}

static void fake_run(void *arg, const struct child_config *config, struct result *ret_result, struct spawn_error *ret_error) {
	(void)arg, (void)ret_error;
	mutex_lock(&fake.lock);
	for (char *const *word = config->argv; *word; ++word) {
		buf_printf(&fake.commands, "%s%s", word == config->argv ? "" : " ", *word);
	}
	buf_addc(&fake.commands, '\n');
	bool is_endless = fake.endless && strcmp(config->argv[1], "b") == 0, fails = !is_endless && fake.fails > 0;
	fake.fails -= fails;
	mutex_unlock(&fake.lock);
	uint64_t start = now_ns();
	if (config->started) {
		config->started(config->started_arg, 1, start);
	}
	if (fake.output && config->output_reader) {
		write_output(config->output_reader);
	}
	if (is_endless) {
		check(sem_post(&fake.begun) == 0 && sem_wait(&fake.ended) == 0);
	} else if (fake.endless) {
		check(sem_wait(&fake.begun) == 0);
	}
	*ret_result = (struct result){
		.outcome = is_endless ? OUTCOME_CANCELLED : fails ? OUTCOME_FAILED : OUTCOME_OK, .exit_code = fails, .start = start, .end = now_ns(),
	};
}

static void fake_terminate(void *arg) {
	(void)arg;
	++fake.terminated;
	check(sem_post(&fake.ended) == 0);
}

static void fake_kill(void *arg) {
	(void)arg;
	++fake.killed;
}

static const struct executor executor = {.run = fake_run, .terminate = fake_terminate, .kill = fake_kill};

// ---- a run ----

static int out_fd;

// Runs fairpar with these arguments and nothing on its standard input; its output goes to out_fd. Returns the exit status.
static int run_with(int argc, char *argv[]) {
	sigset_t mask;
	struct options options;
	char name[] = "/tmp/fairpar-unit.XXXXXX";
	signals_defer(&mask);
	mutex_init(&fake.lock, LOCK_OF_TEST);
	check(sem_init(&fake.begun, 0, 0) == 0 && sem_init(&fake.ended, 0, 0) == 0);
	out_fd = mkstemp(name);
	check(out_fd >= 0 && unlink(name) == 0);
	check(dup2(out_fd, 1) == 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	check(dup2(null, 0) == 0 && dup2(null, 2) == 2);
	struct context *context = context_capture();
	context->mask = mask;
	check_equal(options_parse(&options, argc, argv), MODE_RUN);
	int status = run_all(&options, context, &executor);
	options_fini(&options);
	context_unref(context);
	return status;
}

#define RUN(...) run_with((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__, NULL})

// ---- tests ----

static void test_commands(void) {
	check_equal(RUN("fairpar", "-j1", "false", ":::", "a", "b"), 0); // false(1) would have failed
	check_string(buf_str(&fake.commands), "false a\nfalse b\n");
	check_equal(fake.terminated, 0);
	check_equal(fake.killed, 0);
}

static void test_retries(void) {
	fake.fails = 2;
	check_equal(RUN("fairpar", "-j1", "--retries", "3", "true", ":::", "a"), 0);
	check_string(buf_str(&fake.commands), "true a\ntrue a\ntrue a\n");
}

static void test_failures(void) {
	fake.fails = 2;
	check_equal(RUN("fairpar", "-j1", "true", ":::", "a", "b", "c"), 2);
}

static void test_halt(void) {
	fake.fails = 1;
	fake.endless = true;
	check_equal(RUN("fairpar", "-j2", "--halt", "now,fail=1", "true", ":::", "a", "b", "c"), 1);
	check(!strstr(buf_str(&fake.commands), "true c"));
	check_equal(fake.terminated, 1);
}

static void test_output(void) {
	fake.output = "one\ntwo\n";
	check_equal(RUN("fairpar", "-j1", "--tag", "true", ":::", "a"), 0);
	char text[64] = "";
	check(pread(out_fd, text, sizeof(text) - 1, 0) >= 0);
	check_string(text, "a\tone\na\ttwo\n");
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("each job is one attempt of the executor, and no process", test_commands),
		TEST("an attempt that fails is executed again, as often as --retries says", test_retries),
		TEST("the exit status counts the jobs that the executor says have failed", test_failures),
		TEST("--halt now terminates what the executor runs, and executes nothing more", test_halt),
		TEST("what an attempt writes is the output of its job", test_output),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
