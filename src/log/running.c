// A table of the attempts that run, with the facts of their start, for subscribers that need them when the attempt ends.

#include "log/running.h"

#include "base/alloc.h"
#include "base/map.h"

// Names chosen to collide would need the seed.
static size_t hash_of(const struct running_table *table, const struct event_job *id) {
	uint64_t hash = hash_bytes(id->batch, strlen(id->batch), table->seed);
	hash = (hash ^ id->number) * UINT64_C(0x9E3779B97F4A7C15); // the golden ratio (Knuth, TAOCP vol. 3, 6.4)
	hash ^= (uint64_t)id->role << 1 ^ (uint64_t)id->step << 3;
	return (size_t)(hash ^ hash >> 32);
}

static bool is_same(const struct event_job *a, const struct event_job *b) {
	return a->number == b->number && a->role == b->role && a->step == b->step && strcmp(a->batch, b->batch) == 0;
}

void running_table_fini(struct running_table *table) {
	for (size_t i = 0; i < table->cap; ++i) {
		while (table->heads[i]) {
			struct running_attempt *next = table->heads[i]->next;
			free(table->heads[i]);
			table->heads[i] = next;
		}
	}
	free(table->heads);
	*table = (struct running_table){0};
}

static struct running_attempt **find(struct running_table *table, const struct event_job *id) {
	struct running_attempt **link = &table->heads[hash_of(table, id) & (table->cap - 1)];
	while (*link && !is_same(&(*link)->start.id, id)) {
		link = &(*link)->next;
	}
	return link;
}

static void grow(struct running_table *table) {
	struct running_table old = *table;
	table->cap = old.cap > 0 ? old.cap * 4 : 64;
	table->heads = xcalloc(table->cap, sizeof(*table->heads));
	table->seed = old.heads ? old.seed : (uint64_t)(uintptr_t)table->heads;
	for (size_t i = 0; i < old.cap; ++i) {
		for (struct running_attempt *at = old.heads[i], *next; at; at = next) {
			next = at->next;
			struct running_attempt **head = &table->heads[hash_of(table, &at->start.id) & (table->cap - 1)];
			at->next = *head;
			*head = at;
		}
	}
	free(old.heads);
}

struct running_attempt *running_add(struct running_table *table, const struct event_job_start *start, uint64_t at) {
	free(running_take(table, &start->id));
	size_t name = strlen(start->id.batch) + 1;
	if (table->n >= RUNNING_MAX || table->bytes + name + start->command_len > RUNNING_BYTES) {
		return NULL;
	}
	if (table->n >= table->cap) {
		grow(table);
	}
	struct running_attempt *running = xmalloc(sizeof(*running) + name + start->command_len + 1);
	char *text = (char *)(running + 1);
	*running = (struct running_attempt){.at = at, .start = *start};
	memcpy(text, start->id.batch, name);
	running->start.id.batch = text;
	text += name;
	if (start->command_len > 0) {
		memcpy(text, start->command, start->command_len);
	}
	text[start->command_len] = '\0';
	running->start.command = text;
	running->start.args = NULL;
	running->start.nargs = 0;
	struct running_attempt **head = &table->heads[hash_of(table, &start->id) & (table->cap - 1)];
	running->next = *head;
	*head = running;
	++table->n;
	table->bytes += name + start->command_len;
	return running;
}

struct running_attempt *running_take(struct running_table *table, const struct event_job *id) {
	if (table->n == 0) {
		return NULL;
	}
	struct running_attempt **link = find(table, id);
	struct running_attempt *running = *link;
	if (running) {
		*link = running->next;
		--table->n;
		table->bytes -= strlen(running->start.id.batch) + 1 + running->start.command_len;
	}
	return running;
}

const struct running_attempt *running_next(const struct running_table *table, const struct running_attempt *running) {
	if (running && running->next) {
		return running->next;
	}
	for (size_t i = running ? (hash_of(table, &running->start.id) & (table->cap - 1)) + 1 : 0; i < table->cap; ++i) {
		if (table->heads[i]) {
			return table->heads[i];
		}
	}
	return NULL;
}
