// A conversation about files, on a connection that jobs use, too. The dispatcher names one item after the other (`item` frames), and at last says
// that no more items come. An item is a file that both ends copy (file_copy.h), or that the worker removes.
//
// Takes and makes frames, and reads and writes files; has no threads and no connection. channel_send_frames() writes the job's number into each.

#pragma once

#include "base/sync.h"
#include "remote/file_copy.h"

enum file_item { ITEM_GOES, ITEM_COMES, ITEM_REMOVED, ITEM_TREE_REMOVED, ITEM_LAST, FILE_ITEMS }; // in an `item` frame

// One end of a conversation. Two threads share it and a lock: the talker, which copies the files, and the thread of the connection. Different threads
// may be the talker one after the other.
struct file_talk {
	// Called by the talker at the dispatcher's end, without the lock: frees `copy` if it is over, and begins with the next item. NULL: the worker's end
	void (*next)(void *sender);
	// Called by the talker, with the lock: sends the frames (may empty `frames`); or, for a fault of the other end (`why`), breaks the connection.
	void (*send)(void *sender, struct buf *frames, const char *why);
	void *sender;
	// guarded by the lock
	cond heard;             // signalled when `in` gets frames, and when `ends` is set
	struct buf in;          // frames that have come
	bool ends;              // no more frames come
	// of the talker
	struct file_copy *copy; // of the present item, or NULL
	struct buf out;         // frames to be sent
	bool is_done;           // of a worker: the last item is done
	bool is_broken;         // a frame was not allowed, so the talker only waits until `ends` is set
};

// The owner zeroes the struct and sets the callbacks before this call.
void file_talk_init(struct file_talk *talk);
void file_talk_fini(struct file_talk *talk);

// Hands a frame to the talker. Returns NULL, or why the frame is not allowed: static text. file_talk_end() says that no frame follows. With the lock.
const char *file_talk_post(struct file_talk *talk, const struct wire_frame *frame);
void file_talk_end(struct file_talk *talk);

// The talker's work: takes the frames that have come, and sends the frames that can be sent now. Called without the lock.
// Returns true if the conversation is over; false: to be called again after frames have come or `ends` was set.
bool file_talk_step(struct file_talk *talk, mutex *lock) FP_NODISCARD;

// Waits until file_talk_step() is to be called again. For a talker that has a thread to itself; called without the lock.
void file_talk_wait(struct file_talk *talk, mutex *lock);

// For `next`: adds an `item` frame to `out`; `location` is NULL for ITEM_LAST.
void file_talk_add_item(struct file_talk *talk, enum file_item item, const struct file_location *location);

// Does the talker's work in a worker until the conversation is over, and then removes unfinished files. Returns whether the last item is done.
bool file_talk_serve(struct file_talk *talk, mutex *lock);

// ---- file_route.c: the directories here and on the other machine, by the rules of GNU parallel's --transferfile and --return, which are those
// of rsync -R. Pure. `way` is ITEM_GOES (--transferfile, --basefile) or ITEM_COMES (--return). ----

//                      goes: here      there       name      comes: here     there       name
//   tmp/foo            .               work dir    ./tmp/foo        .        work dir    ./tmp/foo
//   /tmp/foo           /tmp            /tmp        ./foo            /tmp     /tmp        ./foo
//   /tmp/./foo/bar     /tmp            work dir    ./foo/bar        /tmp     work dir    ./foo/bar
// The work dir is that of the job. With ITEM_GOES, a path is split at its first /./, as rsync does; with ITEM_COMES, at its last /./, as
// GNU parallel does.
struct file_route {
	struct buf here;     // the directory here
	struct buf name;     // name of the file in both directories: "./", then parts that are not empty, "." or ".."; or "." for the whole directory
	bool is_absolute;    // the directory there is `here`, too; else it is the job's work dir
};

// Splits the path. Returns 0; or -1 with *ret_why (static text): the path is empty, or has a ".." in its name, which would lead out of the
// directory there. file_route_fini() in both cases.
int file_route(struct file_route *ret_route, const char *path, enum file_item way, const char **ret_why) FP_NODISCARD;
void file_route_fini(struct file_route *route);
