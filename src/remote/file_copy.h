// A file or a directory that is copied over a connection: the sender and the receiver. Each of the two may be at either end.
//
//   sender:   entry -data, hole, entries of a directory-> end -waits-> over           receiver:   entry … end -"over" is sent-> over
//             Both ends may see the same directory, where a copy would replace the file by itself. So before the end of a file, or the entries
//             of a directory, the sender waits until the receiver has made its temporary file and says "made". If the sender finds this temporary
//             file beside its own file, it says "same", and nothing is copied. A receiver that finds the sender's very file says "same" itself.
//
// No name leads the receiver out of the directory that it was given: it takes one name at a time, and opens it relative to a descriptor, following
// no link. A file has a temporary name in its directory until it is whole. A failure is noted in `why` at both ends, and the copy goes on.
//
// The receiver makes a symbolic link only if its text cannot lead out of the copied tree: a relative path, with ".." only at the beginning, and not
// more ".." than directories from the link up to the top of the tree. But the text may name another link, which the user has made and which leads
// out. So both ends follow paths by a rule: if a path goes through a link that a receiver may have made, the path must stay, through all further
// links, below the directory that the ".." of that link lead to. All other links are the user's, and are followed as usual.
//
// This code takes and makes frames, and reads and writes files; it has no threads and no connection. The code of the connection writes the job's
// number into the frames. At most FILE_WINDOW bytes of a copy are under way: each frame except `room` counts as FILE_FRAME_COST and its payload.

#pragma once

#include "base/beneath.h"
#include "remote/wire.h"

enum { FILE_WINDOW = 1024 * 1024, FILE_FRAME_COST = 64 };
enum { FILE_INBOX = 2 * FILE_WINDOW }; // bytes of frames that may wait to be taken; they stay below this if the other end keeps to FILE_WINDOW

enum file_kind { FILE_REGULAR, FILE_DIRECTORY, FILE_LINK, FILE_KINDS }; // in an `entry` frame
enum file_note { NOTE_MADE, NOTE_OVER, NOTE_SAME, FILE_NOTES };         // in a `note` frame

// Whether the directory of the file is the same at both ends.
enum file_look { LOOK_NOT_YET, LOOK_OTHER, LOOK_UNKNOWN, LOOK_SAME };

#define FILE_TEMP ".fairpar." // and 16 hex digits: a temporary name

struct file_location {
	const char *dir;           // the directory that `name` is in or below; "": the working directory
	const char *name;          // the path from `dir`, in the form of file_route.name: "./a/b"
	const char *temp;          // the name that the file has until it is whole
};

struct file_copy {
	bool is_sender;
	bool is_over;
	enum file_look look;       // the result, once is_over is set; LOOK_SAME: nothing was copied
	struct buf why;            // what could not be transferred, and why; or empty
	// private to the two ends
	char *dir, *name, *temp;   // copies of the location
	const char *base;          // the last part of the name
	int dir_fd;                // the directory that `base` is in, or -1
	struct levels levels;
	int fd;                    // of the regular file that is being copied, or -1
	bool in_file;              // a regular file has begun, and its `end` is still to come
	char *file_name;           // the name of that file in its directory
	uint64_t offset;           // how much of that file was sent or has come
	uint64_t entries;          // how many entries have begun
	uint64_t window, heard;    // how many bytes may be sent; how many have come and are not acknowledged yet
	struct buf out;            // frames to be sent
	unsigned nfailed;          // how many failures were noted in `why`
	bool was_made;             // of a sender: "made", or "same" in its place, has come
	// of a sender
	bool has_ended;
	bool is_refused;           // the receiver could not make the file or directory that is the whole copy
	bool is_cut;               // no more bytes of the present file are to be sent
	uint64_t data_end;         // no hole begins between `offset` and this offset; INT64_MAX: no hole follows
	char *bytes;               // buffer for one `data` frame
	// of a receiver
	bool has_temp;             // there is a temporary file: in the deepest directory that is open, or in dir_fd if none is open
	struct timespec mtime;     // time of the entry that has come last
	size_t skipped;            // number of directories that have begun, have not ended, and are not made here
};

// Makes one end. The location is copied. file_copy_free() removes the temporary file if there still is one, and frees `copy`; NULL-safe.
struct file_copy *file_copy_new(bool is_sender, const struct file_location *location);
void file_copy_free(struct file_copy *copy);

// Takes a frame of the other end: entry, data, hole, end, fail, note or room. Returns NULL, or why the frame is not allowed (static text).
const char *file_copy_take(struct file_copy *copy, const struct wire_frame *frame);

// Appends the frames to be sent next, about 256 KiB at most; none if this end has to wait for the other end.
void file_copy_give(struct file_copy *copy, struct buf *out);

// ---- for file_send.c and file_receive.c ----

// Queues a frame to be sent.
void file_copy_write(struct file_copy *copy, const struct wire_frame *frame);

// Notes why `name`, in the deepest directory, cannot be copied, and tells the other end. `entry`: at a receiver, the number of the entry; else 0.
void file_copy_fail(struct file_copy *copy, uint64_t entry, const char *name, const char *why);

// Opens the directory of the file as dir_fd; with `makes`, makes the missing directories of its path. Returns 0, or -1 with errno.
int file_copy_open_dir(struct file_copy *copy, bool makes) FP_NODISCARD;

#define ANYWHERE (SIZE_MAX / 2)

// How far a path was followed.
struct file_spot {
	int fd;                    // the directory, with O_PATH
	size_t room;               // how many levels up from that directory the path may still lead; ANYWHERE at first
	unsigned nlinks;           // how many links were followed
};

// Returns the target of the link, for the caller to free; or NULL with errno, for example if `name` is no link.
char *file_copy_read_link(int dir, const char *name) FP_NODISCARD;

// If *name in the directory of `spot` is a link, moves `spot` to the directory of the link's target, and sets *name to the target's name there; frees
// the old name, and the caller frees the new name. Returns 1; or 0 if *name is no link, or -1 with errno.
int file_copy_follow(struct file_spot *spot, char **name) FP_NODISCARD;

// Returns the message for the errno of file_copy_open_dir() or file_copy_follow().
const char *file_copy_error(void);

// Writes a text that identifies the file: the payload of the first entry, by which the receiver recognizes the sender's file.
enum { FILE_ID_SIZE = 64 };
void file_copy_id(const struct stat *stat, char ret_id[FILE_ID_SIZE]);

extern const char file_is_deep[]; // the reason why a directory that is too many levels deep is not copied

const char *file_send_take(struct file_copy *copy, const struct wire_frame *frame);
void file_send_give(struct file_copy *copy);
const char *file_receive_take(struct file_copy *copy, const struct wire_frame *frame);
void file_receive_fini(struct file_copy *copy);
