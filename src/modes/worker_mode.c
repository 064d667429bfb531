// --worker: finds out how many slots a worker has, for how long, and on which machine, and serves the jobs that another fairpar sends.

#include "modes/modes.h"

#include "base/diag.h"
#include "process/context.h"
#include "slots/slots.h"

#include <stdlib.h>
#include <sys/utsname.h>

// Reads -j as the bounds of the number of slots, at most as many as descriptors allow: the dispatcher sends no more jobs than that, so none fails
// for want of descriptors. Returns 0, or -1 after a message.
static int read_slots(const char *jobs, unsigned long nofile, struct slots_bounds *ret_bounds) {
	char *error;
	unsigned limit = slots_limit(nofile);
	bool is_auto = slots_is_auto(jobs);
	if (is_auto ? slots_auto_parse("--jobs", jobs, limit, ret_bounds, &error) : slots_parse(jobs, nofile, &ret_bounds->most, &error)) {
		return diag_error_free(error);
	}
	ret_bounds->most = ret_bounds->most < limit ? ret_bounds->most : limit;
	ret_bounds->least = is_auto && ret_bounds->least < ret_bounds->most ? ret_bounds->least : ret_bounds->most;
	return 0;
}

int worker_run(const struct options *options, struct context *context) {
	char *error;
	struct utsname machine;
	const char *jobs = options->jobs ? options->jobs : "100%", *node = getenv("SLURMD_NODENAME"); // the name by which Slurm's commands know the machine
	struct remote_worker_config config = {
		.is_auto = options_jobs_auto(options),
		.learns_memory = options_learn_memory(options, options_jobs_auto(options)),
		.left = options->worker_seconds,
		.term_seq = options->term_seq,
		.gate = {.memfree = (uint64_t)options->memfree, .asks = "memfree"},
	};
	if (read_slots(jobs, (unsigned long)context_raise_nofile(context), &config.slots) != 0) {
		return EXIT_TROUBLE;
	}
	if (options->load && load_parse(options->load, &config.gate.max_load, &error) != 0) {
		diag_error_free(error);
		return EXIT_TROUBLE;
	}
	verify(uname(&machine) == 0);
	config.node = node ? node : machine.nodename;
	return worker_serve(&config, context);
}
