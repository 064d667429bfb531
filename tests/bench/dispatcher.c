// dispatcher: runs a fairpar whose machines are workers of answering.c, and measures this one process.
//
//	dispatcher [-m MACHINES] [-u JOBS] [-q] [-e JOBS | -t MS] [-d] [-l SECONDS] COMMAND ARGUMENT …
//
// A window begins as soon as MACHINES machines have greeted and JOBS jobs (-u) are under way; -q: and the dispatcher has become quiet.
// The window lasts until so many jobs (-e) have ended on the plain machines, or for MS milliseconds (-t). -d: after that, the machines that disturb
// begin to, and a second window of MS milliseconds is the one that is measured. Then the command is killed. -l: gives up when the window has not
// begun after so many seconds, by default 60, or has not ended after as many more than MS; and when the command ends.
//
// Prints tab-separated:
//
//	STATE     ok; or what was not reached: machines, jobs, window
//	machines  that have greeted
//	underway  jobs, when the window began or was given up
//	jobs      that have ended on plain machines in the window
//	calm      the same in the first window of -d
//	wall      microseconds of the window
//	cpu       microseconds that the dispatcher has computed in the window
//	switches  of its threads that slept, in the window (-q only; exact if no thread ends in it)
//	threads, descriptors, memory (KiB), when the window began
//	peak      the most memory until the window ended, in KiB
//	lost      connections of plain machines that were lost in the window, and in the first one of -d

#include "counters.h"

#include "base/diag.h"
#include "base/sync.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOK_MS = 2, QUIET_MS = 200, QUIET_MOST_MS = 5000, END_MOST_MS = 10000 };

static struct counters *counters;
static pid_t pid;

struct state {
	uint64_t at, cpu;                          // nanoseconds
	unsigned long machines, underway;
	unsigned long ended, lost;                 // of plain machines
	unsigned long switches, threads, descriptors, memory, peak;
};

static void rest_ms(unsigned ms) {
	struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * NS_PER_MS};
	nanosleep(&rest, NULL);
}

// ---- what the process has used ----

static uint64_t cpu_ns(void) {
	clockid_t clock;
	struct timespec time;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
		return 0;
	}
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

// Returns the number behind NAME in a file of /proc, or 0.
static unsigned long field(const char *path, const char *name) {
	FILE *file = fopen(path, "re");
	char line[200];
	unsigned long n = 0;
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, strlen(name)) == 0) {
			n = strtoul(line + strlen(name), NULL, 10);
		}
	}
	if (file) {
		fclose(file);
	}
	return n;
}

// Returns how many entries the directory of the process has; for "task", *ret_switches is how often these threads have slept.
static unsigned long entries(const char *name, unsigned long *ret_switches) {
	char path[400];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	DIR *dir = opendir(path);
	unsigned long n = 0;
	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.') {
			continue;
		}
		++n;
		if (ret_switches) {
			snprintf(path, sizeof(path), "/proc/%d/%s/%s/status", (int)pid, name, entry->d_name);
			*ret_switches += field(path, "voluntary_ctxt_switches:");
		}
	}
	if (dir) {
		closedir(dir);
	}
	return n;
}

static unsigned long underway(void) {
	unsigned long n = 0;
	for (unsigned i = 0; i < GROUPS; ++i) {
		n += atomic_load_relaxed(&counters->groups[i].started) - atomic_load_relaxed(&counters->groups[i].ended);
	}
	return n;
}

static unsigned long machines(void) {
	return atomic_load_relaxed(&counters->groups[PLAIN].greeted) + atomic_load_relaxed(&counters->groups[DISTURBING].greeted);
}

// `whole`: threads, descriptors and switches, too, which takes a while if there are many.
static struct state read_state(bool whole) {
	struct state state = {.machines = machines(), .underway = underway()};
	char path[60];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (whole) {
		state.threads = entries("task", &state.switches);
		state.descriptors = entries("fd", NULL);
		state.memory = field(path, "VmRSS:");
	}
	state.peak = field(path, "VmHWM:");
	state.lost = atomic_load_relaxed(&counters->groups[PLAIN].lost);
	state.ended = atomic_load_relaxed(&counters->groups[PLAIN].ended);
	state.cpu = cpu_ns();
	state.at = now_ns();
	return state;
}

// ---- waiting ----

// Returns false when it is `until`, or the process has ended.
static bool goes_on(uint64_t until) {
	siginfo_t info = {.si_pid = 0};
	rest_ms(LOOK_MS);
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0 && now_ns() < until;
}

// Waits until the process computes no more than a twentieth of the time, or QUIET_MOST_MS.
static void await_quiet(void) {
	uint64_t until = now_ns() + (uint64_t)QUIET_MOST_MS * NS_PER_MS, before, start;
	do {
		before = cpu_ns();
		start = now_ns();
		rest_ms(QUIET_MS);
	} while ((cpu_ns() - before) * 20 > now_ns() - start && now_ns() < until);
}

// Returns what was not reached, or NULL.
static const char *await_start(unsigned long nmachines, unsigned long njobs, bool quiet, uint64_t until) {
	while (machines() < nmachines) {
		if (!goes_on(until)) {
			return "machines";
		}
	}
	while (underway() < njobs) {
		if (!goes_on(until)) {
			return "jobs";
		}
	}
	if (quiet) {
		await_quiet();
	}
	return NULL;
}

// Waits until the window that has begun with `first` ends. Returns what was not reached, or NULL.
static const char *await_end(const struct state *first, unsigned long ends, unsigned long ms, unsigned long limit) {
	uint64_t over = first->at + ms * NS_PER_MS, until = over + limit * NS_PER_S;
	while (ends > 0 ? atomic_load_relaxed(&counters->groups[PLAIN].ended) < first->ended + ends : now_ns() < over) {
		if (!goes_on(until)) {
			return "window";
		}
	}
	return NULL;
}

// ---- putting it together ----

// Ends the process and all that it has left, which has become a child of this one.
static void end_all(void) {
	uint64_t until = now_ns() + (uint64_t)END_MOST_MS * NS_PER_MS;
	kill(pid, SIGKILL);
	for (pid_t ended; (ended = waitpid(-1, NULL, WNOHANG)) >= 0 && now_ns() < until;) {
		if (ended == 0) {
			rest_ms(LOOK_MS);
		}
	}
}

static void start(char *argv[]) {
	fflush(stdout);
	pid = fork();
	verify(pid >= 0);
	if (pid == 0) {
		verify(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		verify(null >= 0 && dup2(null, STDOUT_FILENO) == STDOUT_FILENO);
		execvp(argv[0], argv);
		fprintf(stderr, "dispatcher: cannot execute %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
}

int main(int argc, char *argv[]) {
	unsigned long nmachines = 0, njobs = 0, ends = 0, ms = 0, limit = 60;
	bool disturbs = false, quiet = false;
	for (int option; (option = getopt(argc, argv, "+m:u:qe:t:dl:")) != -1;) {
		switch (option) {
		case 'm': nmachines = strtoul(optarg, NULL, 10); break;
		case 'u': njobs = strtoul(optarg, NULL, 10); break;
		case 'q': quiet = true; break;
		case 'e': ends = strtoul(optarg, NULL, 10); break;
		case 't': ms = strtoul(optarg, NULL, 10); break;
		case 'd': disturbs = true; break;
		case 'l': limit = strtoul(optarg, NULL, 10); break;
		default: return EXIT_TROUBLE;
		}
	}
	const char *path = getenv("COUNTERS"), *why;
	if (!path || !argv[optind] || (unlink(path) != 0 && errno != ENOENT) || !(counters = counters_map(path))) {
		fprintf(stderr, "dispatcher: no COUNTERS or no command\n");
		return EXIT_TROUBLE;
	}
	verify(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	start(argv + optind);
	why = await_start(nmachines, njobs, quiet, now_ns() + limit * NS_PER_S);
	struct state first = read_state(/* whole */ true), last = first;
	unsigned long calm = 0;
	if (!why && disturbs) {
		why = await_end(&first, ends, ms, limit);
		struct state then = read_state(/* whole */ false);
		calm = then.ended - first.ended;
		atomic_store_relaxed(&counters->is_disturbed, true);
		first.at = then.at, first.cpu = then.cpu, first.ended = then.ended;
	}
	if (!why) {
		why = await_end(&first, ends, ms, limit);
		last = read_state(/* whole */ quiet);
	}
	printf("%s\t%lu\t%lu\t%lu\t%lu\t%" PRIu64 "\t%" PRIu64 "\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", why ? why : "ok", first.machines, first.underway,
	       last.ended - first.ended, calm, (last.at - first.at) / 1000, (last.cpu - first.cpu) / 1000,
	       last.switches > first.switches ? last.switches - first.switches : 0, first.threads, first.descriptors, first.memory, last.peak,
	       last.lost - first.lost);
	end_all();
	return why != NULL;
}
