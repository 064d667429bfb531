// The receiver of a file or a directory. The sender is not trusted.

#include "remote/file_copy.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { TRIES = 8, NAME_MOST = 255 };

// Returns the directory of the present file, and of its temporary file.
static int dir_of(const struct file_copy *copy) {
	const struct level *level = levels_deepest(&copy->levels);
	return level ? level->fd : copy->dir_fd;
}

static void remove_temp(struct file_copy *copy) {
	if (copy->has_temp) {
		(void)!unlinkat(dir_of(copy), copy->temp, 0);
	}
	copy->has_temp = false;
}

static void note(struct file_copy *copy, enum file_note note) {
	file_copy_write(copy, &(struct wire_frame){.type = FRAME_NOTE, .numbers = {0, note}});
}

// Notes why the entry that has just come cannot be made.
static void fail(struct file_copy *copy, const char *name, const char *why) {
	file_copy_fail(copy, copy->entries, name, why);
}

// Makes and opens the temporary file. Returns 0, or -1 with errno.
static int make_temp(struct file_copy *copy, mode_t mode) {
	copy->fd = openat(dir_of(copy), copy->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	copy->has_temp = copy->fd >= 0;
	return copy->has_temp ? 0 : -1;
}

// Opens the directory, which is made if it is missing. Returns 0, or -1 with errno.
static int enter(struct file_copy *copy, const char *name, mode_t mode) {
	int above = dir_of(copy);
	bool is_new = mkdirat(above, name, mode | 0700) == 0;
	struct level *level = is_new || errno == EEXIST ? levels_enter(&copy->levels, above, name) : NULL;
	if (!level) {
		return -1;
	}
	mode_t now = level->stat.st_mode & 07777;
	level->is_new = is_new;
	level->mtime = copy->mtime;
	level->mode = is_new ? now & (mode | 0077) : now;
	level->has_other_mode = level->mode != now;
	if ((now & 0700) != 0700) { // if fchmodat() fails, the files in the directory cannot be made, and a message says so
		level->has_other_mode = fchmodat(above, name, now | 0700, AT_SYMLINK_NOFOLLOW) == 0;
	}
	return 0;
}

// Makes the directory, or the temporary file, of the entry that has just come. For the first entry also makes the directories of its path, up to
// TRIES times, as another process may remove these while they are empty. Returns 0, or -1 with errno.
static int make(struct file_copy *copy, bool is_dir, const char *name, mode_t mode) {
	bool is_top = copy->levels.n == 0;
	int result = -1;
	errno = ENOENT;
	for (unsigned i = 0; i < TRIES && result != 0 && errno == ENOENT; ++i) {
		if (!is_top || file_copy_open_dir(copy, /* makes */ true) == 0) {
			result = is_dir ? enter(copy, name, mode) : make_temp(copy, mode);
		}
	}
	return result;
}

// ---- a regular file ----

static void begin_file(struct file_copy *copy, const char *name, mode_t mode) {
	bool is_top = copy->levels.n == 0;
	free(copy->file_name);
	copy->file_name = xstrdup(name);
	copy->in_file = true;
	copy->offset = 0;
	if (make(copy, /* is_dir */ false, name, mode) != 0) {
		fail(copy, name, file_copy_error());
	} else if (is_top) {
		note(copy, NOTE_MADE);
	}
}

static void drop_file(struct file_copy *copy, int error) {
	fail(copy, copy->file_name, strerror(error));
	fd_close(&copy->fd);
	remove_temp(copy);
}

static const char *on_bytes(struct file_copy *copy, const char *bytes, uint64_t n) {
	if (!copy->in_file || n > INT64_MAX - copy->offset) {
		return "the other side has sent bytes of a file that has not begun, or too many bytes";
	}
	size_t size = bytes ? (size_t)n : 0;
	if (copy->fd >= 0 && pwrite_all(copy->fd, bytes, size, copy->offset) < size) {
		drop_file(copy, errno);
	}
	copy->offset += n;
	return NULL;
}

// Ends the file: gives it its size (as its last bytes may be a hole), its time and its name.
static void end_file(struct file_copy *copy) {
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, copy->mtime};
	copy->in_file = false;
	if (copy->fd < 0) {
		return;
	}
	int error = ftruncate(copy->fd, (off_t)copy->offset) != 0 || futimens(copy->fd, times) != 0 ? errno : 0;
	error = fd_finish(copy->fd, error);
	copy->fd = -1;
	if (error == 0 && renameat(dir_of(copy), copy->temp, dir_of(copy), copy->file_name) == 0) {
		copy->has_temp = false;
	} else {
		drop_file(copy, error ? error : errno);
	}
}

// ---- directories and links ----

static void begin_dir(struct file_copy *copy, const char *name, mode_t mode) {
	bool is_top = copy->levels.n == 0, is_deep = copy->levels.n >= LEVELS_MOST;
	if (is_deep || make(copy, /* is_dir */ true, name, mode) != 0) {
		const char *why = errno != ENOTDIR ? file_copy_error() : "a directory does not replace a file or a link: remove the file or link, "
		                                                         "or name each file below the link";
		fail(copy, name, is_deep ? file_is_deep : why);
		copy->skipped = 1;
	} else if (is_top && make_temp(copy, 0600) == 0) { // the sender looks for this file
		fd_close(&copy->fd);
		note(copy, NOTE_MADE);
	} else if (is_top) {
		fail(copy, "", strerror(errno));
	}
}

// Leaves the deepest directory, and gives it its mode and time.
static void end_dir(struct file_copy *copy) {
	const struct level *level = levels_deepest(&copy->levels);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, level->mtime};
	FP_CLEANUP(free_later) char *name = xstrdup(level->name);
	mode_t mode = level->mode;
	bool is_new = level->is_new, is_open = level->fd >= 0, changes = level->has_other_mode;
	if (levels_leave(&copy->levels) != 0) {
		fail(copy, "", strerror(errno));
	} else if (is_open && ((is_new && utimensat(dir_of(copy), name, times, AT_SYMLINK_NOFOLLOW) != 0) ||
	                       (changes && fchmodat(dir_of(copy), name, mode, AT_SYMLINK_NOFOLLOW) != 0))) {
		fail(copy, name, strerror(errno));
	}
}

static void make_link(struct file_copy *copy, const char *name, const char *target) {
	int dir = dir_of(copy);
	if (!link_stays_beneath(target, copy->levels.n - 1)) {
		fail(copy, name, "a link that leads out of the directory is not copied");
	} else if (symlinkat(target, dir, copy->temp) != 0) {
		fail(copy, name, strerror(errno));
	} else if (renameat(dir, copy->temp, dir, name) != 0) {
		fail(copy, name, strerror(errno));
		(void)!unlinkat(dir, copy->temp, 0);
	}
}

// ---- frames ----

// Whether the payload is one name, with a target behind its NUL if `has_target`.
static bool is_name(const char *bytes, size_t n, bool has_target) {
	size_t len = strnlen(bytes, n), rest = n - len;
	bool is_part = len > 0 && len <= NAME_MOST && !memchr(bytes, '/', len) && !(bytes[0] == '.' && (len == 1 || (len == 2 && bytes[1] == '.')));
	return is_part && (has_target ? rest > 1 && !memchr(bytes + len + 1, '\0', rest - 1) : rest == 0);
}

// Whether the path of the copy already leads to the sender's very file, because both ends see the same directory.
static bool has_file(struct file_copy *copy, const char *id) {
	struct stat stat;
	char own[FILE_ID_SIZE] = "";
	if (file_copy_open_dir(copy, /* makes */ false) == 0 && fstatat(copy->dir_fd, copy->base, &stat, 0) == 0) {
		file_copy_id(&stat, own);
	}
	return own[0] && strcmp(own, id) == 0;
}

static const char *on_entry(struct file_copy *copy, const struct wire_frame *frame) {
	enum file_kind kind = (enum file_kind)frame->numbers[1];
	bool is_top = copy->entries == 0;
	if (copy->in_file || frame->numbers[1] >= FILE_KINDS || frame->numbers[4] >= 1000000000) {
		return "the other side has sent an invalid entry frame";
	}
	if (is_top ? kind == FILE_LINK : !is_name(frame->payload, frame->size, kind == FILE_LINK)) {
		return "the other side has sent an invalid name of a file";
	}
	FP_CLEANUP(free_later) char *text = xmemdup(frame->payload, frame->size);
	const char *name = is_top ? copy->base : text;
	mode_t mode = (mode_t)frame->numbers[2] & 0777;
	copy->mtime = (struct timespec){.tv_sec = (time_t)frame->numbers[3], .tv_nsec = (long)frame->numbers[4]};
	++copy->entries;
	bool is_here = is_top && has_file(copy, text);
	if (is_here) {
		note(copy, NOTE_SAME);
	}
	if (is_here || copy->skipped > 0 || (!is_top && dir_of(copy) < 0)) {
		copy->in_file = kind == FILE_REGULAR;
		copy->skipped += kind == FILE_DIRECTORY;
	} else if (kind == FILE_REGULAR) {
		begin_file(copy, name, mode);
	} else if (kind == FILE_DIRECTORY) {
		begin_dir(copy, name, mode);
	} else {
		make_link(copy, name, name + strlen(name) + 1);
	}
	return NULL;
}

static void end_copy(struct file_copy *copy) {
	copy->is_over = true;
	note(copy, NOTE_OVER);
}

static void on_end(struct file_copy *copy, uint64_t other) {
	if (copy->in_file) {
		end_file(copy);
	} else if (copy->skipped > 0) {
		--copy->skipped;
	} else if (copy->levels.n > 0) {
		end_dir(copy);
	}
	if (copy->levels.n == 0 && copy->skipped == 0) {
		copy->look = other == 1 ? LOOK_OTHER : LOOK_UNKNOWN;
		end_copy(copy);
	}
}

const char *file_receive_take(struct file_copy *copy, const struct wire_frame *frame) {
	if (copy->levels.n > 0 && !copy->in_file) {
		remove_temp(copy); // the sender has looked for the temporary file by now
	}
	switch ((int)frame->type) {
	case FRAME_ENTRY: return on_entry(copy, frame);
	case FRAME_DATA: return on_bytes(copy, frame->payload, frame->size);
	case FRAME_HOLE: return on_bytes(copy, NULL, frame->numbers[1]);
	case FRAME_END: on_end(copy, frame->numbers[1]); return NULL;
	default: break;
	}
	if (frame->type != FRAME_NOTE || frame->numbers[1] != NOTE_SAME || copy->entries != 1) {
		return "the other side has sent a frame that is not allowed for the sender of a file";
	}
	file_receive_fini(copy);
	copy->look = LOOK_SAME;
	end_copy(copy);
	return NULL;
}

void file_receive_fini(struct file_copy *copy) {
	fd_close(&copy->fd);
	remove_temp(copy);
	while (copy->levels.n > 0) {
		end_dir(copy);
	}
}
