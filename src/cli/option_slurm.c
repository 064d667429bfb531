// --slurm: the nodes of the allocation of Slurm that fairpar runs in, as machines of --launch.

#include "cli/parser.h"

#include "base/buf.h"
#include "base/diag.h"
#include "remote/slurm.h"
#include "remote/sshlogin.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// The seconds until the allocation ends, where Slurm tells its jobs (since 23.02); at least 1.
static int64_t seconds_left(void) {
	const char *end = getenv("SLURM_JOB_END_TIME");
	long long at = end ? atoll(end) : 0, now = (long long)time(NULL);
	return at <= 0 ? SLURM_UNLIMITED : at > now ? at - now : 1;
}

int opt_slurm(struct parser *parser, const char *value) {
	(void)value;
	const char *list = getenv("SLURM_JOB_NODELIST"), *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	if (!getenv("SLURM_JOB_ID") || !list || !cpus) {
		return diag_error("--slurm is for a run inside an allocation of Slurm, by salloc or sbatch: $SLURM_JOB_ID, $SLURM_JOB_NODELIST "
		                  "and $SLURM_JOB_CPUS_PER_NODE are not set");
	}
	struct slurm_nodes nodes = SLURM_NODES_INIT;
	FP_CLEANUP(buf_fini) struct buf command = BUF_INIT;
	char *error = NULL;
	int result = slurm_nodes_read(&nodes, list, cpus, &error);
	for (size_t i = 0; result == 0 && i < nodes.n; ++i) {
		buf_reset(&command);
		slurm_add_step(&command, &nodes.nodes[i], seconds_left());
		result = sshlogins_add_node(&parser->options->hosts, nodes.nodes[i].name, nodes.nodes[i].cpus, buf_str(&command), &error);
	}
	slurm_nodes_fini(&nodes);
	return result == 0 ? 0 : diag_error_free(error);
}
