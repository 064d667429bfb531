// cpu: measures commands against each other: CPU of the whole process tree, wall time and peak memory, interleaved.
//
//	cpu [-c] [-r ROUNDS] [-l LOOPS] [-o FILE] { : NAME [-n UNITS] [-i FILE] COMMAND [ARGUMENT...] }...
//
// Runs the commands in turn, A B C A B C, for ROUNDS rounds after one that warms up and is not counted (-c: none, for
// commands so long that it makes no difference), so that a slow minute of the machine hits all alike. One measurement is LOOPS runs of a command one after the other, for commands too
// short to be timed alone. stdin is FILE (-i) or /dev/null; stdout goes to -o FILE (/dev/null), opened anew for each run.
//
// Prints one line for each command, tab-separated:
//
//	NAME  cpu  cpu_low  cpu_high  wall  ratio_cpu  ratio_wall  maxrss_kib  switches
//
// cpu (user + system) and wall are microseconds for each of its UNITS, medians of the rounds; low and high are the
// quartiles. The ratios are those of the first command to this one: the median of the ratios within each round.
// switches is context switches for each unit. maxrss is the largest of any process of the tree. CPU is wait4()'s: that of all descendants that were waited for.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 32, MAX_ROUNDS = 1000 };

struct command {
	const char *name;
	double units;
	const char *input;
	char **argv;
	double cpu[MAX_ROUNDS], wall[MAX_ROUNDS]; // microseconds for each unit
	long maxrss;                              // KiB
	long switches;                            // context switches, voluntary or not, in the last round
};

static struct command commands[MAX_COMMANDS];

static void die(const char *what) {
	fprintf(stderr, "cpu: %s: %s\n", what, strerror(errno));
	exit(255);
}

static double micros(struct timeval t) {
	return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static double now(void) {
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void child_exec(const struct command *command, const char *output) {
	int in = open(command->input ? command->input : "/dev/null", O_RDONLY);
	int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0) {
		_exit(126);
	}
	close(in);
	close(out);
	execvp(command->argv[0], command->argv);
	_exit(127);
}

static void command_run(struct command *command, const char *output, double *cpu) {
	// vfork: the cost of starting the command must not depend on this program's size
	pid_t pid = vfork();
	if (pid == 0) {
		child_exec(command, output);
	}
	if (pid < 0) {
		die("vfork");
	}
	int status;
	struct rusage usage;
	if (wait4(pid, &status, 0, &usage) != pid) {
		die("wait4");
	}
	if (status) {
		fprintf(stderr, "cpu: %s (%s): wait status %d\n", command->name, command->argv[0], status);
		exit(1);
	}
	*cpu += micros(usage.ru_utime) + micros(usage.ru_stime);
	command->switches += usage.ru_nvcsw + usage.ru_nivcsw;
	if (command->maxrss < usage.ru_maxrss) {
		command->maxrss = usage.ru_maxrss;
	}
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// The value below which the part `q` of the values lies.
static double quantile(const double *values, int n, double q) {
	double sorted[MAX_ROUNDS];
	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), compare);
	double at = q * (n - 1);
	int i = (int)at;
	return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

static double ratio(const double *a, const double *b, int n) {
	double ratios[MAX_ROUNDS];
	for (int i = 0; i < n; ++i) {
		ratios[i] = a[i] / b[i];
	}
	return quantile(ratios, n, 0.5);
}

// Splits the words at the colons into commands[]. Returns how many there are, 0 if they make no sense.
static int commands_parse(char *argv[]) {
	int n = 0;
	while (*argv) {
		if (strcmp(*argv, ":") != 0 || !argv[1] || n == MAX_COMMANDS) {
			return 0;
		}
		*argv = NULL; // ends the command before it
		struct command *command = &commands[n++];
		command->name = argv[1];
		command->units = 1;
		for (argv += 2; *argv && (*argv)[0] == '-' && argv[1]; argv += 2) {
			if (strcmp(*argv, "-n") == 0) {
				command->units = strtod(argv[1], NULL);
			} else if (strcmp(*argv, "-i") == 0) {
				command->input = argv[1];
			} else {
				return 0;
			}
		}
		command->argv = argv;
		while (*argv && strcmp(*argv, ":") != 0) {
			++argv;
		}
		if (command->argv == argv) {
			return 0;
		}
	}
	return n;
}

static void round_run(int n, long round, long loops, const char *output) {
	for (int i = 0; i < n; ++i) {
		struct command *command = &commands[i];
		command->switches = 0;
		double cpu = 0, start = now();
		for (long loop = 0; loop < loops; ++loop) {
			command_run(command, output, &cpu);
		}
		if (round >= 0) {
			command->wall[round] = (now() - start) / (command->units * (double)loops);
			command->cpu[round] = cpu / (command->units * (double)loops);
		}
	}
}

int main(int argc, char *argv[]) {
	long first_round = -1, rounds = 5, loops = 1;
	const char *output = "/dev/null";
	int opt;
	while ((opt = getopt(argc, argv, "+cr:l:o:")) != -1) {
		if (opt == 'c') {
			first_round = 0;
		} else if (opt == 'r') {
			rounds = strtol(optarg, NULL, 10);
		} else if (opt == 'l') {
			loops = strtol(optarg, NULL, 10);
		} else if (opt == 'o') {
			output = optarg;
		} else {
			return 255;
		}
	}
	int n = commands_parse(argv + optind);
	if (n == 0 || rounds < 1 || rounds > MAX_ROUNDS || loops < 1) {
		fprintf(stderr, "usage: cpu [-c] [-r ROUNDS] [-l LOOPS] [-o FILE] { : NAME [-n UNITS] [-i FILE] COMMAND... }...\n");
		return 255;
	}
	for (long round = first_round; round < rounds; ++round) {
		round_run(n, round, loops, output);
	}
	for (int i = 0; i < n; ++i) {
		const struct command *command = &commands[i], *first = &commands[0];
		int r = (int)rounds;
		printf("%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%ld\t%.3f\n", command->name, quantile(command->cpu, r, 0.5),
		       quantile(command->cpu, r, 0.25), quantile(command->cpu, r, 0.75), quantile(command->wall, r, 0.5),
		       ratio(first->cpu, command->cpu, r), ratio(first->wall, command->wall, r), command->maxrss,
		       (double)command->switches / (command->units * (double)loops));
	}
	return 0;
}
