// The machines that jobs run on: -S, --sshloginfile, --launch, and the variables that go there (--env).

#include "cli/parser.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/io.h"
#include "base/text.h"
#include "base/units.h"
#include "remote/file_route.h"
#include "remote/sshlogin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 24 }; // of a file of machines

// ---- files ----

static void add_path(struct buf *path, const char *dir, const char *below, const char *name) {
	buf_reset(path);
	buf_printf(path, "%s%s/%s", dir, below, name);
}

// The file of that name among GNU parallel's own, where it looks for them; or false.
static bool find_own(struct buf *path, const char *name) {
	static const struct { const char *variable, *below; } places[] = {
		{"PARALLEL_HOME", ""}, {"HOME", "/.parallel"}, {"XDG_CONFIG_HOME", "/parallel"}, {"HOME", "/.config/parallel"},
	};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); ++i) {
		const char *dir = getenv(places[i].variable);
		if (dir && *dir) {
			add_path(path, dir, places[i].below, name);
			if (access(buf_str(path), R_OK) == 0) {
				return true;
			}
		}
	}
	return false;
}

static int read_all(int fd, struct buf *text) {
	ssize_t n;
	do {
		n = read(fd, buf_reserve(text, 1 << 16), 1 << 16);
		text->len += n > 0 ? (size_t)n : 0;
		errno = text->len > MOST_BYTES ? EFBIG : errno;
	} while ((n > 0 && text->len <= MOST_BYTES) || (n < 0 && errno == EINTR));
	return n == 0 ? 0 : -1;
}

// What sshlogins_add() reads: the parser is the argument.
static int read_list(void *arg, const char *name, struct buf *ret_text, char **ret_error) {
	struct parser *parser = arg;
	FP_CLEANUP(buf_fini) struct buf own = BUF_INIT;
	*ret_error = NULL;
	if (strcmp(name, "-") == 0) {
		if (claim_stdin(parser, "--sshloginfile -") != 0) {
			return -1;
		}
	} else if (strcmp(name, ".") == 0) {
		name = "/etc/parallel/sshloginfile";
	} else if (strcmp(name, "..") == 0 || (!strchr(name, '/') && access(name, R_OK) != 0)) {
		bool is_found = find_own(&own, *name == '.' ? "sshloginfile" : name);
		name = is_found ? buf_str(&own) : *name == '.' ? "~/.parallel/sshloginfile" : name;
	}
	int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || read_all(fd, ret_text) != 0 ? errno : 0;
	if (fd > STDIN_FILENO) {
		close(fd);
	}
	return error ? diag_error("--sshloginfile cannot read '%s': %s", text_shows(name), strerror(error)) : 0;
}

// ---- options ----

// Prints the message, unless read_list() has.
static int report(int result, char *error) {
	return result != 0 && error ? diag_error_free(error) : result;
}

int opt_sshlogin(struct parser *parser, const char *value) {
	char *error = NULL;
	int result = sshlogins_add(&parser->options->hosts, value, read_list, parser, &error);
	return report(result, error);
}

int opt_sshloginfile(struct parser *parser, const char *value) {
	char *error = NULL;
	int result = sshlogins_add_file(&parser->options->hosts, value, read_list, parser, &error);
	return report(result, error);
}

int opt_launch(struct parser *parser, const char *value) {
	char *error = NULL;
	int result = sshlogins_add_launch(&parser->options->hosts, value, &error);
	return report(result, error);
}

int opt_trc(struct parser *parser, const char *value) {
	struct options *o = parser->options;
	option_add_text(&o->returned, &o->nreturned, value);
	o->transfers_item = o->cleans_up = true;
	return 0;
}

// They are looked at before anything runs, and go to the same place on each machine.
static int check_basefiles(const struct options *o) {
	struct stat file;
	bool varies = o->workdir && (o->own_workdir || strcmp(o->workdir, "...") == 0 || strchr(o->workdir, '{'));
	for (size_t i = 0; i < o->nbasefiles; ++i) {
		const char *why, *path = o->basefiles[i];
		struct file_route route;
		int result = file_route(&route, path, FILE_GOES, &why);
		bool is_nowhere = varies && !route.is_absolute;
		file_route_fini(&route);
		if (result != 0 || lstat(path, &file) != 0) {
			return option_fail(OPT_BASEFILE, "'%s': %s", text_shows(path), result != 0 ? why : strerror(errno));
		}
		if (is_nowhere) {
			return option_fail(OPT_BASEFILE, "'%s' has no place where each job has a --workdir of its own: give an absolute path", text_shows(path));
		}
	}
	return 0;
}

// --onall: a number of jobs is one of machines. Returns 0, or -1 after a message.
static int settle_onall(struct options *o) {
	char *error = NULL;
	long machines = 0;
	if (o->jobs && parse_number(o->jobs, 0, INT_MAX, &machines) != 0) {
		return option_fail(OPT_JOBS, "is a number of machines with --%s, not '%s'", o->nonall ? "nonall" : "onall", text_shows(o->jobs));
	}
	o->onall = true;
	o->machines = (unsigned)machines;
	return o->hosts.n > 0 ? 0 : report(sshlogins_add(&o->hosts, ":", NULL, NULL, &error), error);
}

int settle_hosts(struct options *o) {
	char *error = NULL, text[SSHLOGIN_JOBS_TEXT];
	struct sshlogins *hosts = &o->hosts;
	if (sshlogins_settle(hosts, &error) != 0) {
		return report(-1, error);
	}
	if ((o->given[OPT_SSHLOGIN] || o->given[OPT_SSHLOGINFILE]) && hosts->n == 0) {
		return option_fail(o->given[OPT_SSHLOGIN] ? OPT_SSHLOGIN : OPT_SSHLOGINFILE, "names no machine");
	}
	if (o->onall || o->nonall) {
		o->tokens.elsewhere = sshlogins_has_remote(hosts);
		return check_basefiles(o) != 0 ? -1 : settle_onall(o);
	}
	if (hosts->n == 0) {
		return 0;
	}
	o->tokens.elsewhere = sshlogins_has_remote(hosts);
	if (!o->tokens.elsewhere) { // a list has ":" but once
		if (hosts->logins[0].cpus > 0 && sshlogin_jobs(&hosts->logins[0], o->jobs, o->own_jobs) == 0) {
			o->jobs = o->own_jobs;
		}
		return 0;
	}
	if (check_basefiles(o) != 0) {
		return -1;
	}
	if (o->load && o->load[strspn(o->load, "0123456789.+-%")]) {
		return option_fail(OPT_LOAD, "is a number with --sshlogin, not a file, which other machines cannot look at: '%s'", text_shows(o->load));
	}
	if (sshlogin_jobs(&hosts->logins[0], o->jobs, text) != 0) {
		return option_fail(OPT_JOBS, "is N, +N, -N or N%% with --sshlogin, not '%s'", text_shows(o->jobs));
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
		const char *rest = variable + prefix + len; // "%%" of upstream, "()" as some systems had it
		return strncmp(rest, "%%", 2) == 0 || strncmp(rest, "()", 2) == 0;
	}
	return strncmp(variable, name, len) == 0 && (variable[len] == '=' || variable[len] == '\0');
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
