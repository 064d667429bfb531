// What the sender and the receiver of a file have in common.

#include "remote/file_copy.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>

enum { WHY_MOST = 400, FAILED_MOST = 20 }; // bytes of `why`; failures that are told

const char file_is_deep[] = "it is more than 512 directories deep";

struct file_copy *file_copy_new(bool is_sender, const struct file_place *place) {
	struct file_copy *copy = NEW(struct file_copy);
	*copy = (struct file_copy){.is_sender = is_sender, .dir_fd = -1, .fd = -1, .window = FILE_WINDOW};
	copy->dir = xstrdup(place->dir);
	copy->name = xstrdup(place->name);
	copy->temp = xstrdup(place->temp);
	copy->base = path_base(copy->name);
	return copy;
}

void file_copy_free(struct file_copy *copy) {
	if (!copy) {
		return;
	}
	if (!copy->is_sender) {
		file_receive_fini(copy);
	}
	while (copy->levels.n > 0) {
		(void)!levels_leave(&copy->levels);
	}
	fd_close(&copy->fd);
	fd_close(&copy->dir_fd);
	buf_fini(&copy->why);
	buf_fini(&copy->out);
	free(copy->dir);
	free(copy->name);
	free(copy->temp);
	free(copy->file_name);
	free(copy->bytes);
	free(copy);
}

static uint64_t cost_of(const struct wire_frame *frame) {
	return FILE_FRAME_COST + frame->size;
}

void file_copy_write(struct file_copy *copy, const struct wire_frame *frame) {
	copy->window -= cost_of(frame);
	wire_write(&copy->out, frame);
}

static void add_why(struct file_copy *copy, const char *text, size_t n) {
	if (copy->why.len < WHY_MOST) {
		buf_adds(&copy->why, copy->why.len > 0 ? "; " : "");
		text_add_one_line(&copy->why, text, n, WHY_MOST);
	}
}

void file_copy_fail(struct file_copy *copy, uint64_t entry, const char *name, const char *why) {
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (copy->levels.n > 0) {
		FP_CLEANUP(buf_fini) struct buf path = BUF_INIT;
		levels_add_path(&copy->levels, name, &path);
		buf_printf(&text, "'%s': ", text_shows(buf_str(&path)));
	}
	buf_adds(&text, why);
	add_why(copy, text.data, text.len);
	if (copy->nfailed++ < FAILED_MOST) {
		file_copy_write(copy, &(struct wire_frame){.type = FRAME_FAIL, .numbers = {0, entry}, .payload = text.data, .size = text.len});
	}
}

int file_copy_open_dir(struct file_copy *copy, bool makes) {
	int fd = open_base_dir(copy->dir, makes);
	const char *at = strchr(copy->name, '/');
	for (const char *slash; fd >= 0 && at && (slash = strchr(++at, '/')); at = slash) {
		FP_CLEANUP(free_later) char *part = xmemdup(at, (size_t)(slash - at));
		int above = fd;
		bool is_made = !makes || mkdirat(above, part, 0777) == 0 || errno == EEXIST;
		fd = is_made ? openat(above, part, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		fd_close(&above);
	}
	fd_close(&copy->dir_fd);
	copy->dir_fd = fd;
	return fd < 0 ? -1 : 0;
}

const char *file_copy_take(struct file_copy *copy, const struct wire_frame *frame) {
	if (frame->type == FRAME_ROOM) {
		if (frame->numbers[1] > FILE_WINDOW - copy->window) {
			return "it has acknowledged more bytes of a file than were sent";
		}
		copy->window += frame->numbers[1];
		return NULL;
	}
	copy->heard += cost_of(frame);
	if (copy->is_over) {
		return "it has sent more of a file that was over";
	}
	if (frame->type == FRAME_FAIL) {
		add_why(copy, frame->payload, frame->size);
		if (!copy->is_sender) {
			return NULL;
		}
	}
	return copy->is_sender ? file_send_take(copy, frame) : file_receive_take(copy, frame);
}

void file_copy_give(struct file_copy *copy, struct buf *out) {
	if (copy->is_sender && !copy->is_over) {
		file_send_give(copy);
	}
	if (copy->heard >= FILE_WINDOW / 4) {
		wire_write(&copy->out, &(struct wire_frame){.type = FRAME_ROOM, .numbers = {0, copy->heard}});
		copy->heard = 0;
	}
	buf_move(out, &copy->out);
}
