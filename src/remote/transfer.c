// Files to and from another machine: what the dispatcher says, item by item.

#include "remote/transfer.h"

#include "base/diag.h"
#include "base/random.h"
#include "base/text.h"
#include "remote/file_talk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

// The dispatcher's end of a conversation.
//
//   GOING -all of `goes`-> COMING -all of `comes`-> REMOVING -"last" is said-> ENDED        GOING -one fails-> ENDED
struct teller {
	const struct transfer *transfer;
	const struct transfer_work *work;
	enum { TELLER_GOING, TELLER_COMING, TELLER_REMOVING, TELLER_ENDED } state;
	size_t at;                 // where the present path begins
	struct file_copy *copy;    // of it, or NULL
	struct buf *why;
	struct buf out;
};

static void add_path(struct buf *paths, const char *path) {
	if (paths) {
		buf_add(paths, path, strlen(path) + 1);
	}
}

static void tell_shared(const struct transfer *transfer, const char *path) {
	if (!atomic_exchange(transfer->told_shared, true)) {
		diag_note("%s has the directory of '%s' in common with this machine: such files are not transferred, returned or removed",
		          transfer->host, text_shows(path));
	}
}

static void add_why(const struct teller *teller, const char *path, const char *why) {
	bool goes = teller->state == TELLER_GOING;
	buf_printf(teller->why, "%scannot %s '%s': %s", teller->why->len > 0 ? "; " : "", goes ? "transfer" : "return", text_shows(path), why);
}

// The present path is done, or cannot be begun because of `error`.
static void end_path(struct teller *teller, const char *path, const char *error) {
	const struct transfer_work *work = teller->work;
	const struct file_copy *copy = teller->copy;
	bool goes = teller->state == TELLER_GOING;
	if (error || copy->why.len > 0) {
		if (!work->may_lack || (copy && copy->entries > 0)) {
			add_why(teller, path, error ? error : buf_str(&copy->why));
		}
	} else if (copy->is_same) {
		tell_shared(teller->transfer, path);
	} else if (copy->look == LOOK_OTHER) {
		add_path(goes ? work->went : work->came, path);
	}
	if (copy) {
		file_copy_give(teller->copy, &teller->out); // that it is over
	}
	file_copy_free(teller->copy);
	teller->copy = NULL;
	teller->at += strlen(path) + 1;
}

// Begins to copy the file of that path.
static void begin_path(struct teller *teller, const char *path) {
	FP_CLEANUP(file_route_fini) struct file_route route = {.is_absolute = false};
	bool goes = teller->state == TELLER_GOING, is_long = strlen(path) >= PATH_MAX;
	const char *why = strerror(ENAMETOOLONG), *dir = teller->transfer->dir ? teller->transfer->dir : "";
	uint64_t random;
	char temp[40];
	random_bytes(&random, sizeof(random));
	snprintf(temp, sizeof(temp), FILE_TEMP "%016llx", ull(random));
	if (is_long || file_route(&route, path, goes ? FILE_GOES : FILE_COMES, &why) != 0) {
		end_path(teller, path, why);
		return;
	}
	const struct file_place here = {.dir = buf_str(&route.here), .name = buf_str(&route.name), .temp = temp};
	const struct file_place there = {.dir = route.is_absolute ? here.dir : dir, .name = here.name, .temp = temp};
	teller->copy = file_copy_new(goes, &here);
	file_talk_add_item(&teller->out, goes ? ITEM_GOES : ITEM_COMES, &there);
}

static void remove_paths(struct teller *teller, const struct buf *paths, enum file_way way) {
	for (const char *path = buf_str(paths); path < paths->data + paths->len; path += strlen(path) + 1) {
		const char *why, *dir = teller->transfer->dir;
		FP_CLEANUP(file_route_fini) struct file_route route;
		if (file_route(&route, path, way, &why) == 0) {
			FP_CLEANUP(buf_fini) struct buf below_root = BUF_INIT;
			buf_printf(&below_root, ".%s%s", strcmp(buf_str(&route.here), "/") == 0 ? "" : buf_str(&route.here), buf_str(&route.name) + 1);
			file_talk_add_item(&teller->out, ITEM_REMOVED, &(struct file_place){
				.dir = route.is_absolute ? "/" : dir ? dir : "",
				.name = route.is_absolute ? buf_str(&below_root) : buf_str(&route.name),
				.temp = "",
			});
		}
	}
}

static void end_talk(struct teller *teller, bool failed) {
	const struct transfer_work *work = teller->work;
	if (work->removes_went) {
		remove_paths(teller, work->went, FILE_GOES);
	}
	if (work->removes_came && !failed) {
		remove_paths(teller, work->came, FILE_COMES);
	}
	if (work->removes_dir && !failed) {
		file_talk_add_item(&teller->out, ITEM_TREE_REMOVED, &(struct file_place){.dir = teller->transfer->dir, .name = "", .temp = ""});
	}
	file_talk_add_item(&teller->out, ITEM_LAST, NULL);
	teller->state = TELLER_ENDED;
}

// Goes on with the next path, if the one before is done.
static void step(struct teller *teller) {
	static const struct buf none = BUF_INIT;
	while (teller->state != TELLER_ENDED && (!teller->copy || teller->copy->is_over)) {
		const struct transfer_work *work = teller->work;
		const struct buf *paths = teller->state == TELLER_GOING ? work->goes : teller->state == TELLER_COMING ? work->comes : NULL;
		paths = paths ? paths : &none;
		const char *path = buf_str(paths) + teller->at;
		if (teller->copy) {
			end_path(teller, path, NULL);
		} else if (teller->why->len > 0 && teller->state == TELLER_GOING) {
			end_talk(teller, true);
		} else if (teller->at < paths->len) {
			begin_path(teller, path);
		} else if (teller->state == TELLER_REMOVING) {
			end_talk(teller, teller->why->len > 0);
		} else {
			++teller->state;
			teller->at = 0;
		}
	}
}

static const char *take(void *arg, const struct wire_frame *frame) {
	struct teller *teller = arg;
	const char *why = NULL;
	if (teller->copy) {
		why = file_copy_take(teller->copy, frame);
		step(teller);
	} else if (frame->type != FRAME_ROOM) {
		why = "it speaks of a file that was not named";
	}
	return why;
}

static bool give(void *arg, struct buf *out) {
	struct teller *teller = arg;
	step(teller);
	if (teller->copy) {
		file_copy_give(teller->copy, &teller->out);
	}
	buf_move(out, &teller->out);
	return true; // the worker says when it is over
}

enum transfer_end transfer_run(const struct transfer *transfer, const struct transfer_work *work, struct result *ret_result, struct buf *ret_why) {
	bool only_removes = (!work->goes || work->goes->len == 0) && (!work->comes || work->comes->len == 0);
	bool removes = (work->removes_went && work->went->len > 0) || (work->removes_came && work->came->len > 0) || work->removes_dir;
	if (only_removes && !removes) {
		return TRANSFER_DONE;
	}
	struct teller teller = {.transfer = transfer, .work = work, .why = ret_why};
	const struct file_talk talk = {.take = take, .give = give, .arg = &teller};
	const struct child_config config = {
		.timeout = transfer->of->timeout, .label = transfer->of->label, .origin = transfer->of->origin, .cleanup = only_removes,
	};
	struct result result;
	enum link_end end = link_talk(transfer->link, &config, &talk, &result);
	bool is_stopped = end == LINK_DONE && result.outcome != OUTCOME_OK;
	if (end == LINK_DONE && !is_stopped && teller.state != TELLER_ENDED) {
		buf_adds(ret_why, "the worker has ended the transfer");
	}
	file_copy_free(teller.copy);
	buf_fini(&teller.out);
	if (is_stopped) {
		*ret_result = result;
	}
	return end != LINK_DONE ? TRANSFER_LOST : is_stopped ? TRANSFER_STOPPED : ret_why->len > 0 ? TRANSFER_FAILED : TRANSFER_DONE;
}
