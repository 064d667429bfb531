// The machines that jobs run on: -S, --sshloginfile, --launch, the nodes of an allocation of Slurm, or pilots, which Slurm
// starts on request; and the variables that go to these machines (--env).

#include "cli/parser.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "process/proctree.h"
#include "remote/file_talk.h"
#include "remote/slurm.h"
#include "remote/sshlogin.h"
#include "slots/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 24 };        // the longest file of machines
enum { MOST_PILOT_CPUS = 1 << 12 }; // the most CPUs of a pilot of Slurm

// ---- files ----

// Sets `path` to the file of that name in one of GNU parallel's own directories. Returns false if no directory has the file.
static bool find_own(struct buf *path, const char *name) {
	static const struct { const char *variable, *below; } places[] = {
		{"PARALLEL_HOME", ""}, {"HOME", "/.parallel"}, {"XDG_CONFIG_HOME", "/parallel"}, {"HOME", "/.config/parallel"},
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); ++i) {
		const char *dir = getenv(places[i].variable);
		if (dir && *dir) {
			buf_reset(path);
			buf_printf(path, "%s%s/%s", dir, places[i].below, name);
			if (access(buf_str(path), R_OK) == 0) {
				return true;
			}
		}
	}
	return false;
}

// ---- the options and files that name machines, kept to be read again ----

struct host_file {
	char *name;                // as given
	char *path;
	struct slots_watch watch;  // watch.path is NULL: the file is not a regular one, and is read only once
	struct buf text;           // what was read from the file, if it is read only once
};

struct host_source {
	const char *text;          // borrowed
	bool is_file;
};

struct host_sources {
	struct parser *parser;     // while the command line is parsed; NULL: the machines are read again
	struct host_source *at;    // the arguments of the options, as given
	size_t n, cap;
	struct host_file *files;   // the files that were read
	size_t nfiles, files_cap;
};

void host_sources_free(struct host_sources *sources) {
	for (size_t i = 0; sources && i < sources->nfiles; ++i) {
		free(sources->files[i].name);
		free(sources->files[i].path);
		buf_fini(&sources->files[i].text);
	}
	if (sources) {
		free(sources->files);
		free(sources->at);
		free(sources);
	}
}

// Returns the path of the file that --sshloginfile calls `name`. The path is stored in `path` if find_own() finds the file.
static const char *find_path(const char *name, struct buf *path) {
	if (strcmp(name, ".") == 0) {
		return "/etc/parallel/sshloginfile";
	}
	if (strcmp(name, "..") == 0 || (!strchr(name, '/') && access(name, R_OK) != 0)) {
		bool is_found = find_own(path, *name == '.' ? "sshloginfile" : name);
		return is_found ? buf_str(path) : *name == '.' ? "~/.parallel/sshloginfile" : name;
	}
	return name;
}

// Reads a file of machines; sshlogins_add() calls this function. `arg` is the struct host_sources.
static int read_list(void *arg, const char *name, struct buf *ret_text, char **ret_error) {
	struct host_sources *sources = arg;
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	bool is_stdin = strcmp(name, "-") == 0, is_again = !sources->parser;
	struct stat seen = {.st_mode = 0}; // standard input is not read again, even if it is a regular file
	size_t start = ret_text->len, i = 0;
	*ret_error = NULL;
	while (i < sources->nfiles && strcmp(sources->files[i].name, name) != 0) {
		++i;
	}
	if (is_again && i < sources->nfiles && !sources->files[i].watch.path) {
		buf_add(ret_text, buf_str(&sources->files[i].text), sources->files[i].text.len);
		return 0;
	}
	if (is_stdin && is_again) {
		return error_text(ret_error, "--sshloginfile cannot read '-' now: standard input is read only when the run begins");
	}
	if (is_stdin && option_take_stdin(sources->parser, "--sshloginfile -") != 0) {
		return -1;
	}
	const char *path = is_stdin ? name : find_path(name, &own);
	// a FIFO may have taken the place of the file: without O_NONBLOCK, open() would wait for a writer
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | (is_again ? O_NONBLOCK : 0));
	int error = fd < 0 || (!is_stdin && fstat(fd, &seen) != 0) || read_to_end(fd, ret_text, MOST_BYTES) != 0 ? errno : 0;
	if (fd > STDIN_FILENO) {
		close(fd);
	}
	if (error) {
		return error_text(ret_error, "--sshloginfile cannot read '%s': %s", text_shows(path), strerror(error));
	}
	grow_array(&sources->files, &sources->files_cap, i + 1, sizeof(*sources->files));
	struct host_file *file = &sources->files[i];
	if (i == sources->nfiles) {
		*file = (struct host_file){.name = xstrdup(name)};
		++sources->nfiles;
	}
	free(file->path);
	file->path = xstrdup(path);
	file->watch = (struct slots_watch){.path = S_ISREG(seen.st_mode) ? file->path : NULL, .seen = seen};
	buf_reset(&file->text);
	buf_add(&file->text, ret_text->data + start, file->watch.path ? 0 : ret_text->len - start);
	return 0;
}

static int read_source(struct host_sources *sources, size_t i, struct sshlogins *list, char **ret_error) {
	*ret_error = NULL;
	return sshlogins_add(list, sources->at[i].text, sources->at[i].is_file, read_list, sources, ret_error);
}

bool options_hosts_have_file(const struct options *o) {
	bool has = false;
	for (size_t i = 0; o->host_sources && i < o->host_sources->nfiles; ++i) {
		has = has || o->host_sources->files[i].watch.path;
	}
	return has;
}

bool options_hosts_changed(const struct options *o) {
	bool changed = false;
	for (size_t i = 0; i < o->host_sources->nfiles; ++i) {
		changed = slots_watch_changed(&o->host_sources->files[i].watch) || changed;
	}
	return changed;
}

int options_hosts_read(const struct options *o, struct sshlogins *ret_list, char **ret_error) {
	struct host_sources *sources = o->host_sources;
	*ret_list = (struct sshlogins)SSHLOGINS_INIT;
	sources->parser = NULL;
	int result = 0;
	for (size_t i = 0; i < sources->n && result == 0; ++i) {
		result = read_source(sources, i, ret_list, ret_error);
	}
	result = result != 0 ? result : sshlogins_apply_groups(ret_list, o->jobs, ret_error);
	return result != 0 || ret_list->n > 0 ? result : error_text(ret_error, "--sshloginfile names no machine any more");
}

// ---- Slurm ----

static int add_nodes(struct sshlogins *hosts, const char *list, const char *cpus) {
	struct slurm_nodes nodes = SLURM_NODES_INIT;
	FP_CLEANUP(buf_fini) struct buf command = BUF_INIT;
	char *error = NULL;
	int result = slurm_nodes_read(&nodes, list, cpus, &error);
	for (size_t i = 0; result == 0 && i < nodes.n; ++i) {
		buf_reset(&command);
		slurm_add_step(&command, &nodes.nodes[i]);
		size_t before = hosts->n;
		result = sshlogins_add_launch(hosts, nodes.nodes[i].name, nodes.nodes[i].cpus, buf_str(&command), &error);
		if (hosts->n > before) {
			hosts->logins[before].is_slurm = true;
		}
	}
	slurm_nodes_fini(&nodes);
	return result == 0 ? 0 : diag_error_free(error);
}

int options_set_slurm(struct options *o, const char *value) {
	const char *list = getenv("SLURM_JOB_NODELIST"), *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	if (getenv("SLURM_JOB_ID") && list && cpus) {
		return add_nodes(&o->hosts, list, cpus);
	}
	if (value && strstr(value, "{}")) {
		return diag_error("--slurm takes options of srun, where {} has no meaning");
	}
	o->slurm = value ? value : "";
	return 0;
}

int opt_slurm(struct parser *parser, const char *value) {
	return options_set_slurm(parser->options, value);
}

// Each pilot has as many CPUs as the options of --slurm ask for; by default, one CPU for each job of -j.
int options_add_pilots(struct options *o) {
	long jobs = 0;
	if (!o->slurm) {
		return 0;
	}
	bool is_number = o->jobs && parse_number(o->jobs, 1, MOST_PILOT_CPUS, &jobs) == 0;
	unsigned cpus = slurm_cpus(o->slurm);
	cpus = cpus > 0 ? cpus : is_number ? (unsigned)jobs : 1;
	// the pilots' name is unique to this run, on all machines, so that pilots which the run has left behind can be found
	struct utsname machine;
	struct slurm_run run = {.pid = (uint64_t)getpid(), .start = proctree_start_time(getpid())};
	FP_CLEANUP(buf_fini) struct buf pilot = BUF_INIT, command = BUF_INIT;
	random_bytes(&run.mark, sizeof(run.mark));
	slurm_run_set_host(&run, uname(&machine) == 0 ? machine.nodename : "");
	slurm_run_add_name(&pilot, &run);
	o->pilot_name = arena_text(&o->texts, buf_str(&pilot), pilot.len);
	slurm_add_pilot(&command, o->pilot_name, cpus, o->slurm);
	for (long i = 1; i <= o->pilots; ++i) {
		char name[32], *error = NULL;
		snprintf(name, sizeof(name), "slurm-%ld", i);
		if (sshlogins_add_launch(&o->hosts, name, cpus, buf_str(&command), &error) != 0) {
			return diag_error_free(error);
		}
		o->hosts.logins[o->hosts.n - 1].is_pilot = o->hosts.logins[o->hosts.n - 1].is_slurm = true;
	}
	return 0;
}

// ---- options ----

// Prints `error` and frees it, unless it is NULL: then read_list() has printed a message. Returns `result`, or -1.
static int report(int result, char *error) {
	return result != 0 && error ? diag_error_free(error) : result;
}

// --sshlogin and --sshloginfile.
int opt_sshlogin(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	if (!o->host_sources) {
		o->host_sources = NEW(struct host_sources);
	}
	struct host_sources *sources = o->host_sources;
	char *error;
	sources->parser = parser;
	*NEW_ELEMENT(sources->at, sources->n, sources->cap) = (struct host_source){.text = value, .is_file = parser->id == OPT_SSHLOGINFILE};
	int result = read_source(sources, sources->n - 1, &o->hosts, &error);
	return report(result, error);
}

int opt_launch(struct parser *parser, const char *value) {
	char *error = NULL;
	int result = sshlogins_add_launch(&parser->options->hosts, /* name */ NULL, /* cpus */ 0, value, &error);
	return report(result, error);
}

int opt_trc(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	option_add_text(&o->returned, &o->nreturned, value);
	o->transfers_item = o->cleans_up = true;
	return 0;
}

// Checks that each file of --basefile exists, and that its place on a machine does not depend on the job.
static int check_basefiles(const struct options *o) {
	struct stat file;
	bool varies = o->workdir && (o->own_workdir || strcmp(o->workdir, "...") == 0 || strchr(o->workdir, '{'));
	for (size_t i = 0; i < o->nbasefiles; ++i) {
		const char *why, *path = o->basefiles[i];
		struct file_route route;
		int result = file_route(&route, path, ITEM_GOES, &why);
		bool is_nowhere = varies && !route.is_absolute;
		file_route_fini(&route);
		if (result != 0 || lstat(path, &file) != 0) {
			return option_fail(OPT_BASEFILE, "'%s': %s", text_shows(path), result != 0 ? why : strerror(errno));
		}
		if (is_nowhere) {
			return option_fail(OPT_BASEFILE, "'%s' has no place if each job has a --workdir of its own: give an absolute path", text_shows(path));
		}
	}
	return 0;
}

// Resolves --onall and --nonall: the number of -j is the number of machines that work at once. Returns 0, or -1 after a message.
static int resolve_onall(struct options *o) {
	char *error = NULL;
	long machines = 0;
	if (o->jobs && parse_number(o->jobs, 0, INT_MAX, &machines) != 0) {
		return option_fail(OPT_JOBS, "is a number of machines with --%s, not '%s'", o->nonall ? "nonall" : "onall", text_shows(o->jobs));
	}
	if (o->slurm) {
		return option_fail(o->nonall ? OPT_NONALL : OPT_ONALL, "needs machines with names, not pilots: run fairpar in an allocation, as in salloc -N2 fairpar --slurm");
	}
	o->onall = true;
	o->machines = (unsigned)machines;
	return o->hosts.n > 0 ? 0 : report(sshlogins_add(&o->hosts, ":", /* is_file */ false, NULL, NULL, &error), error);
}

int options_resolve_hosts(struct options *o) {
	char *error = NULL, text[SSHLOGIN_JOBS_TEXT];
	struct sshlogins *hosts = &o->hosts;
	bool runs_each = o->onall || o->nonall; // each machine runs one job at a time
	if (sshlogins_apply_groups(hosts, runs_each ? "1" : o->jobs, &error) != 0) {
		return report(-1, error);
	}
	if ((o->given[OPT_SSHLOGIN] || o->given[OPT_SSHLOGINFILE]) && hosts->n == 0) {
		return option_fail(o->given[OPT_SSHLOGIN] ? OPT_SSHLOGIN : OPT_SSHLOGINFILE, "names no machine");
	}
	o->tokens.elsewhere = sshlogins_has_remote(hosts);
	if (runs_each) {
		return check_basefiles(o) != 0 ? -1 : resolve_onall(o);
	}
	if (hosts->n == 0) {
		return 0;
	}
	if (!o->tokens.elsewhere) { // this machine is the only one, and the list has it once
		if ((hosts->logins[0].cpus > 0 || hosts->logins[0].has_no_cpus) && sshlogin_jobs(&hosts->logins[0], o->jobs, o->own_jobs) == 0) {
			o->jobs = o->own_jobs;
		}
		return 0;
	}
	if (check_basefiles(o) != 0) {
		return -1;
	}
	if (o->load && o->load[strspn(o->load, "0123456789.+-%")]) {
		return option_fail(OPT_LOAD, "must be a number with --sshlogin, not a file, which other machines cannot read: '%s'", text_shows(o->load));
	}
	if (sshlogin_jobs(&hosts->logins[0], o->jobs, text) != 0) {
		return option_fail(OPT_JOBS, "is N, +N, -N, N%% or auto with --sshlogin, not '%s'", text_shows(o->jobs));
	}
	return 0;
}

// ---- --env ----

static bool is_variable(const char *name, size_t len, const char *variable) {
	static const char function[] = "BASH_FUNC_";
	size_t prefix = strlen(function);
	if (len == 1 && *name == '_') {
		return true;
	}
	if (strncmp(variable, function, prefix) == 0 && strncmp(variable + prefix, name, len) == 0) {
		const char *rest = variable + prefix + len; // bash puts "%%" behind the name, some older versions "()"
		return strncmp(rest, "%%", 2) == 0 || strncmp(rest, "()", 2) == 0;
	}
	return strncmp(variable, name, len) == 0 && (variable[len] == '=' || variable[len] == '\0');
}

// Accepts nearly any name, because a function of bash may have nearly any name.
int opt_env(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	if (value[strcspn(value, " \t\n=$")]) {
		return option_fail(OPT_ENV, "takes names of variables, separated by commas, not '%s'", text_shows(value));
	}
	option_add_text(&o->env, &o->nenv, value);
	return 0;
}

bool option_env_has(const struct options *options, const char *variable) {
	for (size_t i = 0; i < options->nenv; ++i) {
		for (const char *name = options->env[i]; *name;) {
			size_t len = strcspn(name, ",");
			if (len > 0 && is_variable(name, len, variable)) {
				return true;
			}
			name += len + (name[len] == ',');
		}
	}
	return false;
}
