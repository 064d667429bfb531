// A queued item as bytes: the head, the stamp, the arguments, then the reason or what was measured; each if there is one.

#include "core/item.h"

#include <string.h>

// Copies `size` bytes to `to`. Returns where the next go.
static char *put(char *to, const void *bytes, size_t size) {
	memcpy(to, bytes, size);
	return to + size;
}

size_t item_write(struct buf *bytes, const struct item_view *view) {
	size_t pad = -bytes->len % 8, reason = view->item.bad ? strlen(view->reason) + 1 : 0, args = view->record.size;
	size_t stamp = view->item.stamped ? sizeof(view->stamp) : 0, measured = view->item.measured ? sizeof(view->measured) : 0;
	char *to = buf_reserve(bytes, pad + sizeof(view->item) + stamp + args + reason + 2 * measured);
	memset(to, 0, pad);
	to = put(to + pad, &view->item, sizeof(view->item));
	to = put(to, &view->stamp, stamp);
	to = args > 0 ? put(to, view->record.args, args) : to;
	to = reason > 0 ? put(to, view->reason, reason) : to;
	to = put(to, &view->measured, measured);
	to = put(to, &view->items, measured);
	*to = '\0';
	size_t at = bytes->len + pad;
	bytes->len = (size_t)(to - bytes->data);
	return at;
}

size_t record_bytes_of(const struct record *record, uint32_t n) {
	if (n == record->nargs) {
		return record->size;
	}
	const char *at = record->args;
	for (uint32_t i = 0; i < n; ++i) {
		at += strlen(at) + 1;
	}
	return (size_t)(at - record->args);
}

void item_skip(struct item_view *view, uint32_t n) {
	size_t bytes = record_bytes_of(&view->record, n);
	view->record.args += bytes;
	view->record.size -= bytes;
	view->record.nargs -= n;
	view->item.nargs = view->record.nargs;
	view->item.seq += n;
	view->item.number += n;
	view->item.order += n;
}

void item_read(struct item_view *ret_view, const void *data, size_t size) {
	const char *args = data, *end = args + size;
	struct item_view view = {.reason = NULL};
	memcpy(&view.item, args, sizeof(view.item));
	args += sizeof(view.item);
	if (view.item.stamped) {
		memcpy(&view.stamp, args, sizeof(view.stamp));
		args += sizeof(view.stamp);
	}
	if (view.item.measured) {
		end -= sizeof(view.items);
		memcpy(&view.items, end, sizeof(view.items));
		end -= sizeof(view.measured);
		memcpy(&view.measured, end, sizeof(view.measured));
	}
	if (view.item.bad) {
		end = args;
		for (uint32_t i = 0; i < view.item.nargs; ++i) {
			end += strlen(end) + 1;
		}
		view.reason = end; // behind the arguments
	}
	uint32_t left = view.item.nargs;
	view.record = (struct record){.args = args, .size = (size_t)(end - args), .nargs = view.items > 1 ? view.items : left};
	if (left < view.record.nargs) {
		item_skip(&view, view.items - left);
	}
	*ret_view = view;
}
