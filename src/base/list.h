// Intrusive doubly linked lists: a ring through a head; an entry that is in no list points to itself.

#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *list) {
	list->next = list->prev = list;
}

static inline bool list_is_empty(const struct list *list) {
	return list->next == list;
}

static inline void list_push_back(struct list *head, struct list *entry) {
	entry->prev = head->prev;
	entry->next = head;
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_push_front(struct list *head, struct list *entry) {
	list_push_back(head->next, entry);
}

static inline void list_remove(struct list *entry) {
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	list_init(entry);
}

// Moves all entries of `from` behind those of `to`.
static inline void list_move_all(struct list *to, struct list *from) {
	if (!list_is_empty(from)) {
		from->next->prev = to->prev;
		to->prev->next = from->next;
		from->prev->next = to;
		to->prev = from->prev;
		list_init(from);
	}
}

// The object of `type` whose `member` is the entry.
#define list_entry(entry, type, member) ((type *)(void *)((char *)(entry) - offsetof(type, member)))

// Returns how many entries the list has.
static inline size_t list_length(const struct list *list) {
	size_t n = 0;
	for (const struct list *at = list->next; at != list; at = at->next) {
		++n;
	}
	return n;
}

// A loop over the objects of `type` whose `member` is in the list. It may remove the current object, but not its neighbours.
#define list_for_each_entry(head, type, at, member) \
	for (type *at = list_entry((head)->next, type, member), *at##_next = list_entry(at->member.next, type, member); \
	     &at->member != (head); at = at##_next, at##_next = list_entry(at->member.next, type, member))
