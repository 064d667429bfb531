// A conversation about files.

#include "remote/file_talk.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/units.h"

// ---- a thread that takes part, and the connection ----

void file_talk_init(struct file_talk *talk) {
	cond_init(&talk->heard);
}

void file_talk_fini(struct file_talk *talk) {
	cond_fini(&talk->heard);
	buf_fini(&talk->in);
}

const char *file_talk_post(struct file_talk *talk, const struct wire_frame *frame) {
	if (talk->in.len > FILE_INBOX) {
		return "it has sent more of a file than it may";
	}
	wire_write(&talk->in, frame);
	cond_signal(&talk->heard);
	return NULL;
}

void file_talk_end(struct file_talk *talk) {
	talk->ends = true;
	cond_signal(&talk->heard);
}

// Takes all frames of `in`. Returns NULL, or why one is not allowed.
static const char *take_all(const struct file_talk *talk, const struct buf *in) {
	const char *why = NULL;
	struct wire_frame frame;
	for (size_t at = 0; !why && wire_next(in, &at, &frame);) {
		why = talk->take(talk->arg, &frame);
	}
	return why;
}

bool file_talk_step(struct file_talk *talk, mutex *lock) {
	FP_CLEANUP(buf_fini) struct buf in = BUF_INIT;
	FP_CLEANUP(buf_fini) struct buf out = BUF_INIT;
	bool is_over = false, waits = false;
	while (!is_over && !waits) {
		buf_reset(&in);
		buf_reset(&out);
		mutex_lock(lock);
		buf_move(&in, &talk->in);
		is_over = talk->ends && (talk->is_broken || in.len == 0);
		mutex_unlock(lock);
		const char *why = talk->is_broken ? NULL : take_all(talk, &in);
		talk->is_broken = talk->is_broken || why;
		is_over = is_over || (!talk->is_broken && !talk->give(talk->arg, &out));
		mutex_lock(lock);
		if (out.len > 0 || why) {
			talk->send(talk->sender, &out, why);
		}
		waits = out.len == 0 && talk->in.len == 0 && !talk->ends;
		mutex_unlock(lock);
	}
	return is_over;
}

void file_talk_wait(struct file_talk *talk, mutex *lock) {
	FP_HOLD(lock);
	while (talk->in.len == 0 && !talk->ends) {
		cond_wait(&talk->heard, lock);
	}
}

// ---- items ----

void file_talk_add_item(struct buf *out, enum file_item item, const struct file_location *location) {
	FP_CLEANUP(buf_fini) struct buf paths = BUF_INIT;
	if (location) {
		buf_printf(&paths, "%s%c%s%c%s%c", location->dir, 0, location->name, 0, location->temp, 0);
	}
	wire_write(out, &(struct wire_frame){.type = FRAME_ITEM, .numbers = {0, item}, .payload = paths.data, .size = paths.len});
}

// ---- the worker's end ----

struct file_server {
	struct file_copy *copy; // the copy of the present item, or NULL
	bool is_over;           // the last item is done
};

static const char *on_item(struct file_server *server, const struct wire_frame *frame) {
	const char *at = frame->payload, *end = at + frame->size;
	const char *dir = strings_next(&at, end, 1), *name = strings_next(&at, end, 1), *temp = strings_next(&at, end, 1);
	const struct file_location location = {.dir = dir, .name = name, .temp = temp};
	if (frame->numbers[1] >= FILE_ITEMS || (server->copy && !server->copy->is_over) || (!temp && frame->numbers[1] != ITEM_LAST)) {
		return "it has named a file that cannot be, or before the last one is over";
	}
	file_copy_free(server->copy);
	server->copy = NULL;
	switch ((enum file_item)frame->numbers[1]) {
	case ITEM_GOES: server->copy = file_copy_new(/* is_sender */ false, &location); break;
	case ITEM_COMES: server->copy = file_copy_new(/* is_sender */ true, &location); break;
	case ITEM_REMOVED: remove_file(dir, name); break;
	case ITEM_TREE_REMOVED: remove_tree(dir); break;
	case ITEM_LAST:
	case FILE_ITEMS: server->is_over = true; break;
	}
	return NULL;
}

static const char *server_take(void *arg, const struct wire_frame *frame) {
	struct file_server *server = arg;
	if (frame->type == FRAME_ITEM) {
		return on_item(server, frame);
	}
	if (server->copy) {
		return file_copy_take(server->copy, frame);
	}
	return frame->type == FRAME_ROOM ? NULL : "it speaks of a file that it has not named";
}

static bool server_give(void *arg, struct buf *out) {
	struct file_server *server = arg;
	if (server->copy) {
		file_copy_give(server->copy, out);
	}
	return !server->is_over;
}

bool file_talk_serve(struct file_talk *talk, mutex *lock) {
	struct file_server server = {.copy = NULL};
	talk->take = server_take;
	talk->give = server_give;
	talk->arg = &server;
	while (!file_talk_step(talk, lock)) {
		file_talk_wait(talk, lock);
	}
	file_copy_free(server.copy);
	return server.is_over;
}
