// A table of the attempts that run, with the facts of their start, for subscribers that need them when the attempt ends.

#include "log/running.h"

#include "base/alloc.h"
#include "base/diag.h"
#include "base/units.h"

#include <search.h>

static int compare(const void *a, const void *b) {
	const struct event_job *x = &((const struct running_attempt *)a)->start.id, *y = &((const struct running_attempt *)b)->start.id;
	int by_number = compare_numbers(x->number, y->number), by_role = compare_numbers(x->role, y->role);
	int by_step = compare_numbers(x->step, y->step);
	return by_number ? by_number : by_role ? by_role : by_step ? by_step : strcmp(x->batch, y->batch);
}

struct running_attempt *running_find(const struct running_table *table, const struct event_job *id) {
	struct running_attempt key = {.start.id = *id};
	struct running_attempt **found = tfind(&key, &table->tree, compare);
	return found ? *found : NULL;
}

struct running_attempt *running_take(struct running_table *table, const struct event_job *id) {
	struct running_attempt *running = running_find(table, id);
	if (running) {
		tdelete(running, &table->tree, compare);
	}
	return running;
}

struct running_attempt *running_take_any(struct running_table *table) {
	const struct running_attempt *any = table->tree ? *(struct running_attempt **)table->tree : NULL; // POSIX tsearch(): a node points to its element first
	return any ? running_take(table, &any->start.id) : NULL;
}

void running_table_fini(struct running_table *table) {
	for (struct running_attempt *running; (running = running_take_any(table));) {
		free(running);
	}
}

struct running_attempt *running_add(struct running_table *table, const struct event_job_start *start, uint64_t at) {
	free(running_take(table, &start->id));
	struct running_attempt kept = {.at = at, .start = *start};
	kept.start.args = NULL;
	kept.start.nargs = 0;
	struct event_job *id = &kept.start.id;
	const struct text_member texts[] = {
		{&id->batch, strlen(id->batch)}, {&id->host, text_len(id->host)}, {&kept.start.command, start->command_len},
	};
	struct running_attempt *running = copy_with_texts(&kept, sizeof(kept), texts, sizeof(texts) / sizeof(texts[0]));
	verify(tsearch(running, &table->tree, compare)); // tsearch() fails only if there is no memory
	return running;
}
