// Connects a fairpar to a pool, as its options and environment say.

#include "sharing/pool_client.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/text.h"
#include "cli/options.h"
#include "process/memory.h"
#include "slots/pool_dir.h"
#include "slots/slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pool_client_add_rank(struct buf *buf, const char *what, const char *pool, const struct client_event *event) {
	static const char *const endings[] = {"th", "st", "nd", "rd"};
	unsigned last = event->rank % 10, teens = event->rank / 10 % 10;
	buf_printf(buf, "%s%u%s of %u waiting for %s%s", what, event->rank, endings[last < 4 && teens != 1 ? last : 0], event->waiting,
	           pool ? "pool " : "a slot of the run in whose job this run was started", pool ? pool : "");
	if (event->text[0]) {
		buf_printf(buf, ", held by %s", event->text);
	}
}

void pool_client_say_rank(const char *pool, const struct client_event *event) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	pool_client_add_rank(&line, "", pool, event);
	if (pool) {
		buf_printf(&line, "; see fairpar --pool=%s --status", pool);
	}
	diag_note("%s", buf_str(&line));
}

char *pool_client_label(char *const *words) {
	struct buf line = BUF_INIT;
	for (; *words; ++words) {
		buf_printf(&line, "%s%s", line.len > 0 ? " " : "", *words);
	}
	return buf_take(&line);
}

// Returns the bounds of --pool-slots; or, if that is not given and -j is auto, the bounds of --pool-slots auto.
static struct slots_bounds bounds_wanted(const struct options *options) {
	bool any = options->pool.bounds.most == 0 && options_jobs_auto(options);
	return any ? (struct slots_bounds){.least = 1, .most = MOST_POOL_SLOTS} : options->pool.bounds;
}

// Warns if the pool has another number of slots than the options say.
static void warn_of_slots(const struct client *client, const struct pool_options *pool) {
	const struct slots_bounds found = client_state(client)->bounds, said = pool->bounds;
	char wanted[40], has[40];
	if (said.most == 0 || (said.least == found.least && said.most == found.most)) {
		return;
	}
	snprintf(wanted, sizeof(wanted), said.least < said.most ? "auto:%u-%u" : "%u", said.least, said.most);
	snprintf(has, sizeof(has), found.least < found.most ? "auto:%u-%u" : "%u", found.least, found.most);
	diag_warn("pool %s runs already, with %s slot%s, not with %s", pool->name, has, found.most == 1 ? "" : "s", wanted);
}

void pool_client_share_memory(const struct client *client, const char *pool, struct memory *memory) {
	FP_CLEANUP(free_later) char *path = client_memory_path(client);
	memory->ledger = memory_ledger_open(path);
	if (!memory->ledger) {
		diag_warn("pool %s: '%s': %s; the memory that jobs of other runs need is not counted", pool, text_shows(path), strerror(errno));
	}
}

struct client *pool_client_open(const struct options *options, int *ret_status) {
	const struct pool_options *pool = &options->pool;
	const bool starts = pool->status == POOL_SILENT;
	FP_CLEANUP(buf_fini) struct buf error = BUF_INIT;
	FP_CLEANUP(free_later) char *label = pool_client_label(pool->single ? options->command : options->argv + 1);
	int reason;
	struct client_config config = {
		.pool = pool->name,
		.bounds = bounds_wanted(options),
		.batch = pool->single ? options->batch : NULL,
		.label = label,
		.weight = (uint32_t)pool->weight,
		.priority = (int32_t)pool->priority,
		.below = lease_id_named(getenv("FAIRPAR_LEASE"), pool->name),
		.shows_rank = pool->single && isatty(STDERR_FILENO) && !options->quiet,
		.reuses = !pool->single,
		.deadline = !starts ? 0 : pool->wait == TIME_NEVER ? TIME_NEVER : now_ns() + pool->wait,
		.says = !options->quiet,
		.starts = starts,
	};
	if (pool->single) {
		FP_CLEANUP(free_later) char *dir = getcwd(NULL, 0);
		struct queue_attrs attrs = {.weight = config.weight, .priority = config.priority};
		option_settings_apply(options, options->batch ? options->batch : dir ? dir : "", &attrs);
		config.weight = attrs.weight;
		config.priority = attrs.priority;
	}
	struct client *client = client_open(&config, &error, &reason);
	bool is_late = reason == ETIMEDOUT && starts && pool->wait != TIME_NEVER;
	bool refused = !client && (reason == EPERM || is_late || (!starts && !pool_dir_is_deserted(reason)));
	*ret_status = !refused ? 0 : is_late ? EXIT_NO_SLOT : EXIT_TROUBLE;
	if (refused) {
		diag_error("%s", buf_str(&error));
	} else if (!client && starts) {
		diag_warn("%s: %s", buf_str(&error), pool->single ? "the command runs without a slot" : "one job runs at a time");
	} else if (client && starts && !options->quiet) {
		warn_of_slots(client, pool);
	}
	return client;
}
