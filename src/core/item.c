// A queued item as bytes: the head, the arguments, then the reason if there is one.

#include "core/job_state.h"

#include "base/alloc.h"

#include <string.h>

size_t item_write(struct buf *bytes, const struct item_view *view) {
	size_t pad = -bytes->len % 8, reason = view->item.bad ? strlen(view->reason) + 1 : 0, args = view->record.size;
	char *to = buf_reserve(bytes, pad + sizeof(view->item) + args + reason);
	memset(to, 0, pad);
	to = put_bytes(to + pad, &view->item, sizeof(view->item));
	to = put_bytes(to, view->record.args, args);
	to = put_bytes(to, view->reason, reason);
	*to = '\0';
	size_t at = bytes->len + pad;
	bytes->len = (size_t)(to - bytes->data);
	return at;
}

void item_read(struct item_view *ret_view, const void *data, size_t size) {
	const char *args = data, *end = args + size;
	struct item_view view = {.reason = NULL};
	memcpy(&view.item, args, sizeof(view.item));
	args += sizeof(view.item);
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
