// Tests of remote/slurm.h: the nodes of an allocation, times, and the command lines for srun.

#include "remote/slurm.h"

#include "test.h"

static struct slurm_nodes nodes;
static char *error;

static int read_nodes(const char *names, const char *cpus) {
	nodes = (struct slurm_nodes)SLURM_NODES_INIT;
	free(error);
	error = NULL;
	int result = slurm_nodes_read(&nodes, names, cpus, &error);
	check((result == 0) == !error);
	return result;
}

static void done(void) {
	slurm_nodes_fini(&nodes);
	free(error);
	error = NULL;
}

static void test_nodes(void) {
	check(read_nodes("n[1-3],big-7.site", "4(x3),2") == 0);
	check_equal(nodes.n, 4);
	check_string(nodes.nodes[0].name, "n1");
	check_equal(nodes.nodes[0].cpus, 4);
	check_equal(nodes.nodes[2].cpus, 4);
	check_string(nodes.nodes[3].name, "big-7.site");
	check_equal(nodes.nodes[3].cpus, 2);
	done();
	check(read_nodes("a,b,c", "16,4(x2)") == 0);
	check_equal(nodes.nodes[0].cpus, 16);
	check_equal(nodes.nodes[2].cpus, 4);
	done();
}

static void check_list(const char *list, const char *expected) {
	char cpus[32];
	struct buf names = BUF_INIT;
	size_t n = 1;
	for (const char *at = expected; *at; ++at) {
		n += *at == ' ';
	}
	snprintf(cpus, sizeof(cpus), "1(x%zu)", n);
	if (read_nodes(list, cpus) != 0) {
		check_string(error, "");
	}
	for (size_t i = 0; i < nodes.n; ++i) {
		buf_printf(&names, i > 0 ? " %s" : "%s", nodes.nodes[i].name);
	}
	check_string(buf_str(&names), expected);
	buf_fini(&names);
	done();
}

static void test_lists(void) {
	check_list("n1", "n1");
	check_list("n[1]", "n1");
	check_list("n[8-11,20]", "n8 n9 n10 n11 n20");
	check_list("n[08-11]", "n08 n09 n10 n11");
	check_list("n[001,3]-ib,login", "n001-ib n3-ib login");
	check_list("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02");
	check_list("a[1-2],b[3,5-6],c", "a1 a2 b3 b5 b6 c");
}

static void refuse_nodes(const char *names, const char *cpus, const char *part) {
	check(read_nodes(names, cpus) == -1);
	if (!strstr(error, part)) {
		check_string(error, part);
	}
	done();
}

static void test_nodes_refused(void) {
	refuse_nodes("n[1-2]", "4", "fewer nodes than the 2");
	refuse_nodes("n[1-2]", "4(x3)", "more nodes than the 2");
	refuse_nodes("n1", "4,4", "more nodes than the 1");
	refuse_nodes("n1", "", "fewer nodes than the 1");
	static const char *const bad_cpus[] = {"x", "0", "-4", "4(x0)", "4(x", "4(x2", "4(3)", "4,", ",4", "4 ", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(bad_cpus) / sizeof(*bad_cpus); ++i) {
		refuse_nodes("n1", bad_cpus[i], "SLURM_JOB_CPUS_PER_NODE is not a list of numbers of CPUs: '");
	}
	static const char *const bad_lists[] = {"", ",", "n1,", ",n1", "n[", "n]", "n[]", "n[1", "n[1-]", "n[-1]", "n[2-1]", "n[1,]", "n[,1]", "n[1-2-3]",
	                                        "n[a]", "n[1]]", "n[[1]]", "n[+1]", "n[1-9999999]", "n[1-70000]", "n[1-300]m[1-300]", "n[1234567890]",
	                                        "n1;rm", "-w", "n 1", "n1\nn2", "$(x)"};
	for (size_t i = 0; i < sizeof(bad_lists) / sizeof(*bad_lists); ++i) {
		refuse_nodes(bad_lists[i], "4", "SLURM_JOB_NODELIST cannot be read as a list of nodes: '");
	}
}

static void check_seconds(const char *text, long long expected) {
	int64_t seconds;
	check_equal(slurm_seconds(text, &seconds), 0);
	check_equal(seconds, expected);
}

static void test_seconds(void) {
	check_seconds("0:00", 0);
	check_seconds("5:07", 307);
	check_seconds("59:59", 3599);
	check_seconds("1:00:00", 3600);
	check_seconds("1-02:03:04", 93784);
	check_seconds("365-00:00:00", 365LL * 86400);
	check_seconds("UNLIMITED", SLURM_UNLIMITED);
	check_seconds("NOT_SET", SLURM_UNLIMITED);
	check_seconds("INVALID", SLURM_UNLIMITED);
	static const char *const bad[] = {"", "5", "x", "1:2:3:4", "1-2", "1-2:3", "1-2-3:4", "1:2-3:4", ":5", "5:", "-1:00", "1:00 ",
	                                  "99999999999:00", "1-1:1:1:1"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); ++i) {
		int64_t seconds;
		if (slurm_seconds(bad[i], &seconds) != -1) {
			check_string(bad[i], "refused");
		}
	}
}

static void test_commands(void) {
	struct buf text = BUF_INIT;
	char name[] = "n2";
	struct slurm_node node = {name, 4};
	slurm_add_step(&text, &node);
	check(strstr(buf_str(&text), "srun -Q -N1 -n1 --ntasks-per-node=1 -c4 --export=ALL -w n2 --overlap --mem=0 --kill-on-bad-exit=0 sh -c '"));
	check(strstr(buf_str(&text), "exec \"$@\"") && strstr(buf_str(&text), "--worker=\"${left:-UNLIMITED}\"' sh {}"));
	buf_reset(&text);
	slurm_add_pilot(&text, "fairpar-17", 2, "-p short -t 30");
	check(strstr(buf_str(&text), "srun -Q -N1 -n1 --ntasks-per-node=1 -c2 --export=ALL --job-name=fairpar-17 -p short -t 30 sh -c '"));
	check(strstr(buf_str(&text), "--worker=\"${left:-UNLIMITED}\"' sh {}"));
	buf_fini(&text);
}

static void test_over(void) {
	check(slurm_is_over("exit 1: srun: error: Slurm job 2 has expired"));
	check(slurm_is_over("srun: error: Unable to confirm allocation for job 2: Invalid job id specified"));
	check(slurm_is_over("srun: error: Unable to create step for job 2: Job/step already completing or completed"));
	check(slurm_is_over("srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 2"));
	check(!slurm_is_over("srun: error: Unable to contact slurm controller (connect failure)"));
}

static void test_cpus(void) {
	check_equal(slurm_cpus(""), 0);
	check_equal(slurm_cpus("-p short -t 30"), 0);
	check_equal(slurm_cpus("-c4 -p x"), 4);
	check_equal(slurm_cpus("-p x -c 8"), 8);
	check_equal(slurm_cpus("--cpus-per-task=2"), 2);
	check_equal(slurm_cpus("--cpus-per-task 3 -c 5"), 5);
	check_equal(slurm_cpus("-c x --comment=-c4"), 0);
}

static void test_names(void) {
	struct slurm_run run = {.pid = 17, .start = 123456, .mark = 0xab}, read;
	struct buf name = BUF_INIT;
	slurm_run_set_host(&run, "login-1.site");
	slurm_run_add_name(&name, &run);
	check_string(buf_str(&name), "fairpar-login_1.site-17-123456-000000ab");
	check(slurm_run_read(&read, buf_str(&name)) == 0);
	check_string(read.host, "login_1.site");
	check_equal(read.pid, 17);
	check_equal(read.start, 123456);
	check_equal(read.mark, 0xab);
	static const char *const others[] = {"", "fairpar-", "fairpar-x", "fairpar-x-1-2", "fairpar-x-1-2-", "fairpar-x-1-2-zz", "fairpar-x-1-2-3-4", "other-x-1-2-3"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); ++i) {
		check(slurm_run_read(&read, others[i]) == -1);
	}
	buf_fini(&name);
}

static void test_answers(void) {
	check(slurm_is_impossible("PartitionTimeLimit"));
	check(!slurm_is_impossible("Resources") && !slurm_is_impossible("Priority") && !slurm_is_impossible("ReqNodeNotAvail, UnavailableNodes:n1"));
	check(slurm_is_transient("srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)"));
	check(!slurm_is_transient("srun: error: Unable to allocate resources: Invalid partition name specified"));
}

int main(int argc, char *argv[]) {
	static const struct test tests[] = {
		TEST("an allocation that has ended is told from a controller that does not answer", test_over),
		TEST("the nodes of an allocation have their CPUs", test_nodes),
		TEST("the CPUs of a pilot are read from the options for it", test_cpus),
		TEST("a run is known by the name of its pilots", test_names),
		TEST("an answer of Slurm tells what can never be from what may be later", test_answers),
		TEST("a list of nodes is expanded as Slurm does it", test_lists),
		TEST("what is not a list of nodes and CPUs is refused with its name", test_nodes_refused),
		TEST("the time that is left is read in every form that squeue has", test_seconds),
		TEST("a step shares its node with the jobs' own steps, and a pilot has the user's options", test_commands),
	};
	return test_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
