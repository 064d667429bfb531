// Records that are kept in memory: to be counted, shuffled, or combined with those of other sources.

#include "input/record_list.h"

#include "base/alloc.h"
#include "base/random.h"

void record_list_fini(struct record_list *list) {
	buf_fini(&list->bytes);
	free(list->records);
	*list = (struct record_list){.n = 0};
}

void record_list_add(struct record_list *list, const struct record *record, const char *bad) {
	grow_array(&list->records, &list->cap, list->n + 1, sizeof(list->records[0]));
	list->records[list->n++] = (struct listed_record){list->bytes.len, record->size, record->nargs, bad};
	buf_add(&list->bytes, record->args, record->size);
}

const char *record_list_get(const struct record_list *list, size_t i, struct record *ret_record) {
	const struct listed_record *record = &list->records[i];
	*ret_record = (struct record){buf_str(&list->bytes) + record->offset, record->size, record->nargs};
	return record->bad;
}

void record_list_shuffle(struct record_list *list) {
	uint64_t state;
	random_bytes(&state, sizeof(state));
	struct listed_record *records = list->records + list->at;
	for (size_t n = list->n - list->at; n > 1; --n) { // Fisher and Yates; the bias of % is below n / 2^64
		size_t other = (size_t)(random_next(&state) % n);
		struct listed_record last = records[n - 1];
		records[n - 1] = records[other];
		records[other] = last;
	}
}
