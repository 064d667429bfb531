// --slurm: the nodes of the allocation of Slurm that fairpar runs in, as machines of --launch; or pilots, which are asked for.

#include "cli/parser.h"

#include "base/buf.h"
#include "base/diag.h"
#include "base/random.h"
#include "base/units.h"
#include "process/proctree.h"
#include "remote/slurm.h"
#include "remote/sshlogin.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MOST_CPUS = 1 << 12 }; // of a pilot

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

int set_slurm(struct options *o, const char *value) {
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
	return set_slurm(parser->options, value);
}

// The name is unique to this run, on this machine and elsewhere, so that what it has left behind can be found.
static char *make_name(void) {
	struct utsname machine;
	struct slurm_run run = {.pid = (uint64_t)getpid(), .start = proctree_start_time(getpid())};
	struct buf name = BUF_INIT;
	random_bytes(&run.mark, sizeof(run.mark));
	slurm_run_set_host(&run, uname(&machine) == 0 ? machine.nodename : "");
	slurm_run_add_name(&name, &run);
	return buf_take(&name);
}

// One CPU for each job, unless the options say how many.
int add_pilots(struct options *o) {
	long jobs = 0;
	if (!o->slurm) {
		return 0;
	}
	bool is_number = o->jobs && parse_number(o->jobs, 1, MOST_CPUS, &jobs) == 0;
	unsigned cpus = slurm_cpus(o->slurm);
	cpus = cpus > 0 ? cpus : is_number ? (unsigned)jobs : 1;
	o->pilot_name = make_name();
	FP_CLEANUP(buf_fini) struct buf command = BUF_INIT;
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
