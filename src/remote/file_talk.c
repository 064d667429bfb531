// A conversation about files.

#include "remote/file_talk.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/units.h"

// ---- the talker and the thread of the connection ----

void file_talk_init(struct file_talk *talk) {
	cond_init(&talk->heard);
}

void file_talk_fini(struct file_talk *talk) {
	cond_fini(&talk->heard);
	buf_fini(&talk->in);
	buf_fini(&talk->out);
	file_copy_free(talk->copy);
}

const char *file_talk_post(struct file_talk *talk, const struct wire_frame *frame) {
	if (talk->in.len > FILE_INBOX) {
		return "the other side has sent more of a file than it may";
	}
	wire_write(&talk->in, frame);
	cond_signal(&talk->heard);
	return NULL;
}

void file_talk_end(struct file_talk *talk) {
	talk->ends = true;
	cond_signal(&talk->heard);
}

// ---- the talker ----

void file_talk_add_item(struct file_talk *talk, enum file_item item, const struct file_location *location) {
	FP_CLEANUP(buf_fini) struct buf paths = BUF_INIT;
	if (location) {
		buf_printf(&paths, "%s%c%s%c%s%c", location->dir, 0, location->name, 0, location->temp, 0);
	}
	wire_write(&talk->out, &(struct wire_frame){.type = FRAME_ITEM, .numbers = {0, item}, .payload = paths.data, .size = paths.len});
}

// Begins with the item that the dispatcher has named.
static const char *on_item(struct file_talk *talk, const struct wire_frame *frame) {
	const char *at = frame->payload, *end = at + frame->size;
	const char *dir = strings_next(&at, end, 1), *name = strings_next(&at, end, 1), *temp = strings_next(&at, end, 1);
	const struct file_location location = {.dir = dir, .name = name, .temp = temp};
	if (frame->numbers[1] >= FILE_ITEMS || (talk->copy && !talk->copy->is_over) || (!temp && frame->numbers[1] != ITEM_LAST)) {
		return "the dispatcher has sent an invalid item frame, or an item frame before the previous file was complete";
	}
	file_copy_free(talk->copy);
	talk->copy = NULL;
	switch ((enum file_item)frame->numbers[1]) {
	case ITEM_GOES: talk->copy = file_copy_new(/* is_sender */ false, &location); break;
	case ITEM_COMES: talk->copy = file_copy_new(/* is_sender */ true, &location); break;
	case ITEM_REMOVED: remove_file(dir, name); break;
	case ITEM_TREE_REMOVED: remove_tree(dir); break;
	case ITEM_LAST:
	case FILE_ITEMS: talk->is_done = true; break;
	}
	return NULL;
}

// Takes a frame. Returns NULL, or why it is not allowed.
static const char *take(struct file_talk *talk, const struct wire_frame *frame) {
	if (frame->type == FRAME_ITEM && !talk->next) {
		return on_item(talk, frame);
	}
	if (talk->copy) {
		return file_copy_take(talk->copy, frame);
	}
	return frame->type == FRAME_ROOM ? NULL : "the other side has sent a frame for a file, but no file is being copied";
}

// Takes all frames of `in`, and makes the frames that can be sent now. Returns NULL, or why a frame of `in` is not allowed.
static const char *talk_on(struct file_talk *talk, const struct buf *in) {
	const char *why = NULL;
	struct wire_frame frame;
	for (size_t at = 0; !why && wire_next(in, &at, &frame);) {
		why = take(talk, &frame);
	}
	if (!why && talk->next) {
		talk->next(talk->sender);
	}
	if (!why && talk->copy) {
		file_copy_give(talk->copy, &talk->out);
	}
	return why;
}

bool file_talk_step(struct file_talk *talk, mutex *lock) {
	FP_CLEANUP(buf_fini) struct buf in = BUF_INIT;
	bool is_over = false, waits = false;
	while (!is_over && !waits) {
		buf_reset(&in);
		buf_reset(&talk->out);
		mutex_lock(lock);
		buf_move(&in, &talk->in);
		is_over = talk->ends && (talk->is_broken || in.len == 0);
		mutex_unlock(lock);
		const char *why = is_over || talk->is_broken ? NULL : talk_on(talk, &in);
		talk->is_broken = talk->is_broken || why;
		is_over = is_over || (talk->is_done && !talk->is_broken);
		mutex_lock(lock);
		if (talk->out.len > 0 || why) {
			talk->send(talk->sender, &talk->out, why);
		}
		waits = talk->out.len == 0 && talk->in.len == 0 && !talk->ends;
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

bool file_talk_serve(struct file_talk *talk, mutex *lock) {
	while (!file_talk_step(talk, lock)) {
		file_talk_wait(talk, lock);
	}
	file_copy_free(talk->copy); // removes a file that is not whole
	talk->copy = NULL;
	return talk->is_done;
}
