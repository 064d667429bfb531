// A queued item as bytes: the head, the stamp, the arguments, then the reason or what was measured; each if there is one.

#include "run/item.h"

#include <string.h>

size_t item_write(struct buf *bytes, const struct item_view *view) {
	while (bytes->len % 8 != 0) {
		buf_addc(bytes, '\0');
	}
	size_t at = bytes->len;
	buf_add(bytes, &view->item, sizeof(view->item));
	if (view->item.stamped) {
		buf_add(bytes, &view->stamp, sizeof(view->stamp));
	}
	buf_add(bytes, view->record.args, view->record.size);
	if (view->item.bad) {
		buf_add(bytes, view->reason, strlen(view->reason) + 1);
	}
	if (view->item.measured) {
		buf_add(bytes, &view->measured, sizeof(view->measured));
	}
	return at;
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
	view.record = (struct record){.args = args, .size = (size_t)(end - args), .nargs = view.item.nargs};
	*ret_view = view;
}
