// A file or a directory on its way over a connection: its sender and its receiver, which are the same at both ends.
//
//   sender:   entry -data, hole, entries of a directory-> end -waits-> over           receiver:   entry … end -"over" is sent-> over
//             before its last step it waits for "made", and looks for the receiver's temporary file beside its own: one directory may be
//             seen from both ends, and then nothing is done ("same"); and where the receiver has that very file in its place it says so
//             instead, and makes none
//
// No name leads the receiver out of the place it was given: it takes one name at a time, and opens that below a descriptor, through no link.
// Each file has a temporary name beside its place until it is whole. What fails is named in `why`, there and here, and the rest goes on.
//
// Only links that cannot, by what they say, leave their tree are made: relative ones, with ".." at the beginning alone, and not too often. But what
// they name may be a link of the user's that does, now or later. So of the links in the path that the user has given, at both ends, one that
// might have come in a tree is followed only through such links as stay below the directory that its own ".." lead to: whoever made
// it could have had no more than that. All others are the user's, and followed as everywhere.
//
// Frames in, frames out, and files; no threads, no connection. The numbers of jobs are left to the connection. At most FILE_WINDOW bytes of a
// copy are under way: each frame but `room` counts FILE_FRAME_COST and its payload.

#pragma once

#include "base/beneath.h"
#include "remote/wire.h"

enum { FILE_WINDOW = 1024 * 1024, FILE_FRAME_COST = 64 };
enum { FILE_INBOX = 2 * FILE_WINDOW }; // bytes of frames that may wait for who copies: more than honest ends let wait

enum file_kind { FILE_REGULAR, FILE_DIRECTORY, FILE_LINK, FILE_KINDS }; // in an `entry` frame
enum file_note { NOTE_MADE, NOTE_OVER, NOTE_SAME, FILE_NOTES };         // in a `note` frame

// Whether the directory of the file is the same at both ends.
enum file_look { LOOK_NOT_YET, LOOK_OTHER, LOOK_UNKNOWN, LOOK_SAME };

#define FILE_TEMP ".fairpar." // and 16 hex digits: a temporary name

struct file_location {
	const char *dir;           // the name is below it; "": the present directory
	const char *name;          // "./a/b", as file_route.name has it
	const char *temp;          // the temporary name
};

struct file_copy {
	bool is_sender;
	bool is_over;
	enum file_look look;       // of both ends when it is over; LOOK_SAME: nothing was done
	struct buf why;            // what could not be transferred, and why; or empty
	// own
	char *dir, *name, *temp;
	const char *base;          // the last part of the name
	int dir_fd;                // the directory that has it, or -1
	struct levels levels;
	int fd;                    // of the regular file that is being copied, or -1
	bool in_file;              // … such a file has begun
	char *file_name;           // … in its directory
	uint64_t offset;           // … how far it is
	uint64_t entries;          // how many have begun
	uint64_t window, heard;    // what may be sent; what has come and was not acknowledged
	struct buf out;            // frames to be sent
	unsigned nfailed;          // what was named in `why`
	bool was_made;             // "made" was sent, or has come
	// of a sender
	bool has_ended;
	bool is_refused;           // the receiver has failed at the top
	bool is_cut;               // … at this file
	uint64_t data_end;         // where the next hole may begin
	char *bytes;               // for a chunk
	// of a receiver
	bool has_temp;             // it stands in the deepest directory, or else in dir_fd
	struct timespec mtime;     // of the regular file
	size_t skipped;            // depth below a directory that could not be made
};

// Makes one end. The location is copied. file_copy_free() takes back what is not whole, and frees; NULL-safe.
struct file_copy *file_copy_new(bool is_sender, const struct file_location *location);
void file_copy_free(struct file_copy *copy);

// Takes a frame of the other end: entry, data, hole, end, fail, note or room. Returns NULL, or why it cannot be (static text).
const char *file_copy_take(struct file_copy *copy, const struct wire_frame *frame);

// Appends frames, some 256 KiB at most; nothing if it has to wait for the other end.
void file_copy_give(struct file_copy *copy, struct buf *out);

// ---- for file_send.c and file_receive.c ----

// Adds a frame to those to be sent.
void file_copy_write(struct file_copy *copy, const struct wire_frame *frame);

// Notes why what is named so, in the deepest directory, cannot be copied, and tells the other end. `entry`: its number, 0: it has none.
void file_copy_fail(struct file_copy *copy, uint64_t entry, const char *name, const char *why);

// Opens dir_fd, and makes the directories that lead there if `makes`. Returns 0, or -1 with errno.
int file_copy_open_dir(struct file_copy *copy, bool makes) FP_NODISCARD;

#define ANYWHERE (SIZE_MAX / 2)

// Where a path has led to.
struct file_spot {
	int fd;                    // the directory, with O_PATH
	size_t room;               // so many levels up the path may lead from there; ANYWHERE at first
	unsigned nlinks;           // it has led through so many links
};

// If `name` there is a link, goes to the directory of what it points to, and sets *name to the name of that; the caller frees both. Returns 1; or 0
// if it is no link, or -1 with errno.
int file_copy_follow(struct file_spot *spot, char **name) FP_NODISCARD;

// The text of errno behind these two.
const char *file_copy_error(void);

// Writes what a file has in common with no other one: the first entry's payload.
enum { FILE_ID_SIZE = 64 };
void file_copy_id(const struct stat *stat, char ret_id[FILE_ID_SIZE]);

extern const char file_is_deep[]; // why a directory is not copied

const char *file_send_take(struct file_copy *copy, const struct wire_frame *frame);
void file_send_give(struct file_copy *copy);
const char *file_receive_take(struct file_copy *copy, const struct wire_frame *frame);
void file_receive_fini(struct file_copy *copy);
