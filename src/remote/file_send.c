// The sender of a file or a directory.

#include "remote/file_copy.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/io.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { GIVE_MOST = 256 * 1024, FRAME_MOST = WIRE_CHUNK_MOST + FILE_FRAME_COST };
enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC };

static const char strange[] = "this is neither a regular file nor a directory";

static void send_entry(struct file_copy *copy, enum file_kind kind, const struct stat *stat, const char *name, size_t n) {
	char id[FILE_ID_SIZE];
	file_copy_id(stat, id);
	bool is_top = ++copy->entries == 1;
	file_copy_write(copy, &(struct wire_frame){
		.type = FRAME_ENTRY,
		.numbers = {0, kind, stat->st_mode & 0777, (uint64_t)stat->st_mtim.tv_sec, (uint64_t)stat->st_mtim.tv_nsec},
		.payload = is_top ? id : name,
		.size = is_top ? strlen(id) : n,
	});
}

// Ends the regular file, or the deepest directory. If no directory is open afterwards, ends the copy, too.
static void send_end(struct file_copy *copy) {
	bool was_file = copy->in_file;
	fd_close(&copy->fd);
	copy->in_file = copy->is_cut = false;
	if (!was_file && copy->levels.n > 0 && levels_leave(&copy->levels) != 0) {
		file_copy_fail(copy, 0, "", strerror(errno)); // no further file of the directory above can be opened
	}
	copy->has_ended = copy->levels.n == 0;
	file_copy_write(copy, &(struct wire_frame){.type = FRAME_END, .numbers = {0, copy->look == LOOK_OTHER}});
}

// ---- a regular file ----

// Begins to send the file.
static void send_file(struct file_copy *copy, int dir, const char *name) {
	struct stat stat;
	copy->fd = openat(dir, name, OPEN_FLAGS);
	bool is_open = copy->fd >= 0 && fstat(copy->fd, &stat) == 0;
	if (!is_open || !S_ISREG(stat.st_mode)) { // another file may have got the name since the name was looked up
		file_copy_fail(copy, 0, name, is_open ? strange : strerror(errno));
		fd_close(&copy->fd);
		return;
	}
	free(copy->file_name);
	copy->file_name = xstrdup(name);
	copy->in_file = true;
	copy->offset = 0;
	copy->data_end = (uint64_t)stat.st_blocks * 512 >= (uint64_t)stat.st_size ? INT64_MAX : 0; // fewer blocks than bytes: the file may have holes
	send_entry(copy, FILE_REGULAR, &stat, name, strlen(name));
}

// Passes over a hole at the present offset. Returns how many bytes there are at most from the new offset to the next hole.
static uint64_t find_data(struct file_copy *copy) {
	if (copy->offset < copy->data_end) {
		return copy->data_end - copy->offset;
	}
	off_t at = (off_t)copy->offset, data = lseek(copy->fd, at, SEEK_DATA), hole = data >= 0 ? lseek(copy->fd, data, SEEK_HOLE) : -1;
	if (data < 0 && errno == ENXIO) {
		data = lseek(copy->fd, 0, SEEK_END);
	}
	if (data > at) {
		file_copy_write(copy, &(struct wire_frame){.type = FRAME_HOLE, .numbers = {0, (uint64_t)(data - at)}});
		copy->offset = (uint64_t)data;
	}
	copy->data_end = hole > data ? (uint64_t)hole : INT64_MAX;
	return copy->data_end - copy->offset;
}

// Sends the next bytes of the file. Returns false at its end.
static bool send_data(struct file_copy *copy) {
	if (copy->is_cut) {
		return false;
	}
	copy->bytes = copy->bytes ? copy->bytes : xmalloc(WIRE_CHUNK_MOST);
	uint64_t most = find_data(copy);
	ssize_t n = pread(copy->fd, copy->bytes, most < WIRE_CHUNK_MOST ? (size_t)most : WIRE_CHUNK_MOST, (off_t)copy->offset);
	if (n < 0 && errno != EINTR) {
		file_copy_fail(copy, 0, copy->file_name, strerror(errno));
	} else if (n > 0) {
		file_copy_write(copy, &(struct wire_frame){.type = FRAME_DATA, .payload = copy->bytes, .size = (size_t)n});
		copy->offset += (uint64_t)n;
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

// ---- directories ----

// Whether the name is that of another transfer's temporary file, which is not copied: it will soon be gone.
static bool is_temp(const char *name) {
	size_t len = strlen(FILE_TEMP);
	return strncmp(name, FILE_TEMP, len) == 0 && strlen(name) == len + 16 && strspn(name + len, "0123456789abcdef") == 16;
}

// Reads the names in the directory. Returns 0, or -1 with errno.
static int read_names(struct level *level) {
	int fd = openat(level->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		fd_close(&fd);
		return -1;
	}
	errno = 0;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (!path_is_dots(entry->d_name) && !is_temp(entry->d_name)) {
			buf_add(&level->names, entry->d_name, strlen(entry->d_name) + 1);
		}
	}
	int error = errno;
	closedir(dir);
	return result_of(error);
}

static void send_dir(struct file_copy *copy, int above, const char *name) {
	bool is_deep = copy->levels.n >= LEVELS_MOST;
	struct level *level = is_deep ? NULL : levels_enter(&copy->levels, above, name);
	if (!level) {
		file_copy_fail(copy, 0, name, is_deep ? file_is_deep : strerror(errno));
		return;
	}
	send_entry(copy, FILE_DIRECTORY, &level->stat, name, strlen(name));
	if (read_names(level) != 0) {
		file_copy_fail(copy, 0, "", strerror(errno));
	}
}

static void send_link(struct file_copy *copy, int dir, const char *name, const struct stat *stat) {
	FP_CLEANUP(free_later) char *target = file_copy_read_link(dir, name);
	FP_CLEANUP(buf_fini) struct buf text = BUF_INIT;
	if (!target) {
		file_copy_fail(copy, 0, name, strerror(errno));
	} else if (!link_stays_beneath(target, copy->levels.n - 1)) {
		file_copy_fail(copy, 0, name, "a link that leads out of the directory is not copied");
	} else {
		buf_printf(&text, "%s%c%s", name, 0, target);
		send_entry(copy, FILE_LINK, stat, text.data, text.len);
	}
}

// Begins to send the file, link or directory `name`, which is in the deepest open directory, or is the top of the copy.
static void send_next(struct file_copy *copy, int dir, const char *name) {
	struct stat stat;
	if (fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
		file_copy_fail(copy, 0, name, strerror(errno));
	} else if (S_ISLNK(stat.st_mode) && copy->levels.n > 0) {
		send_link(copy, dir, name, &stat);
	} else if (S_ISDIR(stat.st_mode)) {
		send_dir(copy, dir, name);
	} else if (S_ISREG(stat.st_mode)) {
		send_file(copy, dir, name);
	} else {
		file_copy_fail(copy, 0, name, strange);
	}
}

// ---- the top ----

// Sets *ret_spot to the directory dir_fd, from which links are followed. Returns 0, or -1 with errno.
static int begin_way(const struct file_copy *copy, struct file_spot *ret_spot) {
	*ret_spot = (struct file_spot){.fd = openat(copy->dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), .room = ANYWHERE};
	return ret_spot->fd < 0 ? -1 : 0;
}

// Begins the copy. If its name is a link, what the link points to is copied.
static void begin(struct file_copy *copy) {
	struct file_spot spot = {.fd = -1};
	FP_CLEANUP(free_later) char *name = xstrdup(copy->base);
	int followed = file_copy_open_dir(copy, /* makes */ false) == 0 && begin_way(copy, &spot) == 0 ? 1 : -1;
	while (followed > 0) {
		followed = file_copy_follow(&spot, &name);
	}
	if (followed == 0) {
		send_next(copy, spot.fd, name);
	} else {
		file_copy_fail(copy, 0, name, file_copy_error());
	}
	fd_close(&spot.fd);
	if (!copy->in_file && copy->levels.n == 0) {
		send_end(copy);
	}
}

static enum file_look look_in(const struct file_copy *copy, int dir) {
	struct stat stat;
	bool is_there = fstatat(dir, copy->temp, &stat, AT_SYMLINK_NOFOLLOW) == 0;
	return is_there ? LOOK_SAME : errno == ENOENT ? LOOK_OTHER : LOOK_UNKNOWN;
}

// If the name is a link, looks for the receiver's temporary file in the directory of the link's target, and so on from link to link.
static enum file_look look_behind_links(const struct file_copy *copy) {
	struct file_spot spot;
	FP_CLEANUP(free_later) char *name = xstrdup(copy->base);
	int followed = begin_way(copy, &spot) == 0 ? 1 : -1;
	enum file_look found = LOOK_OTHER;
	while (followed > 0 && found == LOOK_OTHER && (followed = file_copy_follow(&spot, &name)) > 0) {
		found = look_in(copy, spot.fd);
	}
	fd_close(&spot.fd);
	return followed < 0 ? LOOK_UNKNOWN : found;
}

// Ends the copy, because both ends see the same directory: tells the receiver so, and copies nothing.
static void end_same(struct file_copy *copy) {
	copy->look = LOOK_SAME;
	copy->has_ended = true;
	file_copy_write(copy, &(struct wire_frame){.type = FRAME_NOTE, .numbers = {0, NOTE_SAME}});
}

// Called when the receiver has made its temporary file: looks whether that file is in a directory here.
static void look(struct file_copy *copy) {
	copy->look = look_in(copy, copy->levels.n > 0 ? copy->levels.at[0].fd : copy->dir_fd);
	if (copy->look == LOOK_OTHER && copy->levels.n == 0) {
		copy->look = look_behind_links(copy);
	}
	if (copy->look == LOOK_SAME) {
		end_same(copy);
	}
}

const char *file_send_take(struct file_copy *copy, const struct wire_frame *frame) {
	if (frame->type == FRAME_FAIL) {
		copy->is_refused = copy->is_refused || (frame->numbers[1] == 1 && copy->entries > 0);
		copy->is_cut = copy->is_cut || (copy->in_file && frame->numbers[1] == copy->entries);
		return NULL;
	}
	bool is_same = frame->numbers[1] == NOTE_SAME;
	if (frame->type == FRAME_NOTE && (is_same || frame->numbers[1] == NOTE_MADE) && copy->entries > 0 && !copy->was_made) {
		copy->was_made = true;
		if (is_same) { // the receiver has this very file
			end_same(copy);
		}
		return NULL;
	}
	if (frame->type == FRAME_NOTE && frame->numbers[1] == NOTE_OVER && copy->has_ended) {
		copy->is_over = true;
		return NULL;
	}
	return "the other side has sent a frame that is not allowed for the receiver of a file";
}

// Makes the next step of the copy. Returns false if this step has to wait for the receiver.
static bool step(struct file_copy *copy) {
	struct level *level = levels_deepest(&copy->levels);
	bool is_clear = copy->look != LOOK_NOT_YET;
	if (copy->entries == 0) {
		begin(copy);
	} else if (copy->is_refused) {
		send_end(copy); // each step ends one of the directories that are open, none of which the receiver has made
	} else if (copy->was_made && !is_clear) {
		look(copy);
	} else if (level && !is_clear) {
		return false;
	} else if (copy->in_file) {
		if (!send_data(copy)) {
			copy->is_cut = true; // all bytes of the file were sent
			if (!level && !is_clear) {
				return false;
			}
			send_end(copy);
		}
	} else if (level->fd >= 0 && level->at < level->names.len) {
		const char *name = level->names.data + level->at;
		level->at += strlen(name) + 1;
		send_next(copy, level->fd, name);
	} else {
		send_end(copy);
	}
	return true;
}

void file_send_give(struct file_copy *copy) {
	while (!copy->has_ended && copy->window >= 2 * FRAME_MOST && copy->out.len < GIVE_MOST && step(copy)) {
	}
}
