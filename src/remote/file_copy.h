// A file or a directory that is copied over a connection: the sender and the receiver. Each of the two may be at either end.
//
//   sender:   entry -data, hole, entries of a directory-> end -waits-> over           receiver:   entry … end -"over" is sent-> over
//             Both ends may see the same directory. So before its last step, or before the names of a directory, the sender waits for "made", and
//             looks for the receiver's temporary file beside its own file: if that is there, it says "same", and nothing is copied. If the receiver
//             finds that its place holds the sender's very file, it says "same" in place of "made", and makes no temporary file
//
// No name leads the receiver out of the directory that it was given: it takes one name at a time, and opens it relative to a descriptor, following
// no link. A file has a temporary name in its directory until it is whole. A failure is noted in `why` at both ends, and the rest is copied.
//
// A link is made only if its text cannot lead out of its tree: it is relative, with ".." only at the beginning, and not too often. But such a link
// may name another one, made by the user, that leads out. So in the path that the user has given, at both ends, a link that may have come in a tree
// is followed only below the directory that its own ".." lead to, also through other links: whoever made it could reach no more than that. All
// other links are the user's, and are followed as usual.
//
// Frames in, frames out, and files; no threads, no connection. The connection writes the number of the job into the frames. At most FILE_WINDOW
// bytes of a copy are under way: each frame but `room` counts as FILE_FRAME_COST and its payload.

#pragma once

#include "base/beneath.h"
#include "remote/wire.h"

enum { FILE_WINDOW = 1024 * 1024, FILE_FRAME_COST = 64 };
enum { FILE_INBOX = 2 * FILE_WINDOW }; // bytes of frames that may wait to be taken: more than an end that keeps to FILE_WINDOW lets wait

enum file_kind { FILE_REGULAR, FILE_DIRECTORY, FILE_LINK, FILE_KINDS }; // in an `entry` frame
enum file_note { NOTE_MADE, NOTE_OVER, NOTE_SAME, FILE_NOTES };         // in a `note` frame

// Whether the directory of the file is the same at both ends.
enum file_look { LOOK_NOT_YET, LOOK_OTHER, LOOK_UNKNOWN, LOOK_SAME };

#define FILE_TEMP ".fairpar." // and 16 hex digits: a temporary name

struct file_location {
	const char *dir;           // the directory that `name` is in or below; "": the working directory
	const char *name;          // "./a/b", as file_route.name has it
	const char *temp;          // the temporary name
};

struct file_copy {
	bool is_sender;
	bool is_over;
	enum file_look look;       // the result, once is_over is set; LOOK_SAME: nothing was copied
	struct buf why;            // what could not be transferred, and why; or empty
	// own
	char *dir, *name, *temp;
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
	bool was_made;             // "made" was sent, or has come
	// of a sender
	bool has_ended;
	bool is_refused;           // the receiver could not make the top
	bool is_cut;               // no more bytes of the present file are sent
	uint64_t data_end;         // where the next hole may begin
	char *bytes;               // buffer for one `data` frame
	// of a receiver
	bool has_temp;             // there is a temporary file: in the deepest directory, or if none is open, in dir_fd
	struct timespec mtime;     // time of the entry that has come last
	size_t skipped;            // how many directories deep the entries are in one that could not be made
};

// Makes one end. The location is copied. file_copy_free() removes the temporary file if it is left, and frees; NULL-safe.
struct file_copy *file_copy_new(bool is_sender, const struct file_location *location);
void file_copy_free(struct file_copy *copy);

// Takes a frame of the other end: entry, data, hole, end, fail, note or room. Returns NULL, or why the frame is not allowed (static text).
const char *file_copy_take(struct file_copy *copy, const struct wire_frame *frame);

// Appends the frames to be sent next, about 256 KiB at most; none if this end has to wait for the other end.
void file_copy_give(struct file_copy *copy, struct buf *out);

// ---- for file_send.c and file_receive.c ----

// Adds a frame to those to be sent.
void file_copy_write(struct file_copy *copy, const struct wire_frame *frame);

// Notes why `name`, in the deepest directory, cannot be copied, and tells the other end. `entry`: the number of its entry; 0: it has none.
void file_copy_fail(struct file_copy *copy, uint64_t entry, const char *name, const char *why);

// Opens the directory of the file as dir_fd; with `makes`, makes the missing directories of its path. Returns 0, or -1 with errno.
int file_copy_open_dir(struct file_copy *copy, bool makes) FP_NODISCARD;

#define ANYWHERE (SIZE_MAX / 2)

// How far a path was followed.
struct file_spot {
	int fd;                    // the directory, with O_PATH
	size_t room;               // how many levels up from there the path may still lead; ANYWHERE at first
	unsigned nlinks;           // how many links were followed
};

// Returns the target of the link, for the caller to free; or NULL with errno, as if `name` is no link.
char *file_copy_read_link(int dir, const char *name) FP_NODISCARD;

// If *name in that directory is a link, goes to the directory of its target, and sets *name to the target's name there; the old name is freed, and
// the caller frees the new one. Returns 1; or 0 if *name is no link, or -1 with errno.
int file_copy_follow(struct file_spot *spot, char **name) FP_NODISCARD;

// Returns the message for the errno of file_copy_open_dir() or file_copy_follow().
const char *file_copy_error(void);

// Writes a text that no other file has: the payload of the first entry, by which the receiver knows the sender's file.
enum { FILE_ID_SIZE = 64 };
void file_copy_id(const struct stat *stat, char ret_id[FILE_ID_SIZE]);

extern const char file_is_deep[]; // why a directory is not copied

const char *file_send_take(struct file_copy *copy, const struct wire_frame *frame);
void file_send_give(struct file_copy *copy);
const char *file_receive_take(struct file_copy *copy, const struct wire_frame *frame);
void file_receive_fini(struct file_copy *copy);
