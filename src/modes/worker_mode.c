// --worker: finds out how many slots a worker has, for how long, and on which machine, and serves the jobs that another fairpar sends.

#include "modes/modes.h"

#include "base/diag.h"
#include "process/context.h"
#include "remote/worker_end.h"
#include "slots/slots.h"

#include <stdlib.h>
#include <sys/utsname.h>

int worker_run(const struct options *options, struct context *context) {
	char *error;
	unsigned slots;
	double max_load = 0;
	struct utsname machine;
	unsigned long nofile = (unsigned long)context_raise_nofile(context);
	if (slots_parse(options->jobs ? options->jobs : "100%", nofile, &slots, &error) != 0) {
		diag_error_free(error);
		return EXIT_TROUBLE;
	}
	unsigned limit = slots_limit(nofile);
	slots = slots < limit ? slots : limit; // the dispatcher sends no more jobs than that, so none fails for want of descriptors
	verify(uname(&machine) == 0);
	if (options->load && load_parse(options->load, &max_load, &error) != 0) {
		diag_error_free(error);
		return EXIT_TROUBLE;
	}
	const char *node = getenv("SLURMD_NODENAME"); // the name by which Slurm's commands know the machine
	return worker_serve(&(struct remote_worker_config){
		.slots = slots,
		.left = options->worker_seconds,
		.node = node ? node : machine.nodename,
		.term_seq = options->term_seq,
		.max_load = max_load,
		.memfree = (uint64_t)options->memfree,
	}, context);
}
