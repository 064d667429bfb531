// --onall: a batch for each machine, which runs one job at a time there. See feed_onall.h.

#include "run/feed_onall.h"

#include "base/alloc.h"
#include "hosts/hosts.h"
#include "remote/sshlogin.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b) {
	const struct sshlogin *const *left = a, *const *right = b;
	return strcmp((*left)->name, (*right)->name);
}

struct submission *feed_onall_open(struct run *run, size_t low_water) {
	const struct sshlogins *list = &run->options->hosts;
	const struct sshlogin **logins = xcalloc(list->n, sizeof(*logins));
	struct submission *first = NULL, **end = &first;
	for (size_t i = 0; i < list->n; ++i) {
		logins[i] = &list->logins[i];
	}
	qsort(logins, list->n, sizeof(*logins), compare_names);
	struct output_queue *before = NULL;
	for (size_t i = 0; i < list->n; ++i) {
		*end = feed_submission_open_batch(run, logins[i]->name, 0, low_water);
		if (!*end) {
			break;
		}
		if (run->hosts && !(*end)->batch->binding) {
			(*end)->batch->binding = hosts_bind_login(run->hosts, logins[i]);
		}
		struct output_queue *order = (*end)->batch->output_queue;
		if (before && order) {
			output_queue_follow(run->writer, order, before);
		}
		before = order;
		end = &(*end)->next;
	}
	free(logins);
	return first;
}

bool feed_onall_is_ahead(struct run *run, const struct submission *first) {
	for (const struct submission *at = first; at; at = at->next) {
		if (pool_queue_bytes(run->pool, at->queue) < feed_high_water(run)) {
			return false;
		}
	}
	for (const struct submission *at = first; at; at = at->next) {
		pool_queue_want(run->pool, at->queue);
	}
	return true;
}
