// --jobserver: creates the pipe or FIFO of a jobserver for the jobs of this run, and names it in their environment.

#include "sharing/jobserver_slots.h"

#include "base/diag.h"
#include "cli/options.h"
#include "process/context.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// True if make is older than 4.4: such a make fails if $MAKEFLAGS names a FIFO. If there is no make, other programs that read
// $MAKEFLAGS probably know both forms.
static bool make_is_old(void) {
	FILE *says = popen("make --version 2>/dev/null </dev/null", "r");
	int major, minor;
	bool old = says && fscanf(says, "GNU Make %d.%d", &major, &minor) == 2 && (major < 4 || (major == 4 && minor < 4));
	if (says) {
		(void)pclose(says);
	}
	return old;
}

static void set_makeflags(struct context *context, const char *auth) {
	char *flags = jobserver_set_flags(getenv("MAKEFLAGS"), auth);
	context_set_env(context, "MAKEFLAGS", flags);
	if (getenv("CARGO_MAKEFLAGS")) { // cargo looks for a jobserver in this variable first
		context_set_env(context, "CARGO_MAKEFLAGS", flags);
	}
	free(flags);
}

int jobserver_server_open(const struct options *options, struct context *context, const char *dir, struct jobserver *ret_jobserver) {
	bool is_pipe = options->pool.jobserver == SERVE_PIPE || (options->pool.jobserver == SERVE_AUTO && make_is_old());
	if (jobserver_create(is_pipe ? JOBSERVER_PIPE : JOBSERVER_FIFO, dir, ret_jobserver) != 0) {
		return diag_error("--jobserver: cannot make a %s%s%s: %s", is_pipe ? "pipe" : "FIFO in '",
		                  is_pipe ? "" : dir, is_pipe ? "" : "'", strerror(errno));
	}
	set_makeflags(context, ret_jobserver->auth);
	return 0;
}
