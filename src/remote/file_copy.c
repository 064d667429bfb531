// What the sender and the receiver of a file have in common.

#include "remote/file_copy.h"

#include "base/alloc.h"
#include "base/io.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { WHY_MOST = 400, FAILED_MOST = 20 }; // bytes of `why`; failures that the other end is told of
enum { LINKS_MOST = 40 };                  // how many links a path may lead through
enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

const char file_is_deep[] = "the directory is nested more than 512 levels deep";

struct file_copy *file_copy_new(bool is_sender, const struct file_location *location) {
	struct file_copy *copy = NEW(struct file_copy);
	*copy = (struct file_copy){.is_sender = is_sender, .dir_fd = -1, .fd = -1, .window = FILE_WINDOW};
	copy->dir = xstrdup(location->dir);
	copy->name = xstrdup(location->name);
	copy->temp = xstrdup(location->temp);
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

// ---- the path of a name ----

// Makes `fd` the directory of the spot, and closes the previous directory. Returns 0; or -1 with errno if `fd` is -1.
static int move_to(struct file_spot *spot, int fd) {
	if (fd < 0) {
		return -1;
	}
	fd_close(&spot->fd);
	spot->fd = fd;
	return 0;
}

char *file_copy_read_link(int dir, const char *name) {
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	return n < 0 ? NULL : xmemdup(target, (size_t)n);
}

// Prepares to follow a link. If file_receive.c may have made the link, the way through it must not lead above the directory that the ".." in its
// target lead to. Returns 0, or -1 with errno.
static int enter_link(struct file_spot *spot, const char *target) {
	size_t up = link_climbs(target);
	bool is_fenced = spot->room < ANYWHERE / 2, may_be_copied = up <= LEVELS_MOST;
	bool leads_out = target[0] == '/' || (may_be_copied && up > spot->room);
	errno = ++spot->nlinks > LINKS_MOST ? ELOOP : is_fenced && leads_out ? EXDEV : 0;
	if (errno) {
		return -1;
	}
	spot->room = may_be_copied ? up : spot->room;
	return target[0] == '/' ? move_to(spot, open("/", DIR_FLAGS)) : 0;
}

static int walk(struct file_spot *spot, const char *path, bool makes);

static int step(struct file_spot *spot, const char *name, bool makes) {
	bool is_up = strcmp(name, "..") == 0;
	if (is_up && spot->room == 0) {
		errno = EXDEV;
		return -1;
	}
	int fd = openat(spot->fd, name, DIR_FLAGS);
	if (fd < 0 && errno == ENOENT && makes && (mkdirat(spot->fd, name, 0777) == 0 || errno == EEXIST)) {
		fd = openat(spot->fd, name, DIR_FLAGS);
	}
	if (fd < 0 && errno == ENOTDIR) {
		FP_CLEANUP(free_later) char *target = file_copy_read_link(spot->fd, name);
		size_t room = spot->room;
		errno = ENOTDIR;
		if (!target || enter_link(spot, target) != 0) {
			return -1;
		}
		room -= spot->room;
		int result = walk(spot, target, /* makes */ false);
		spot->room += room;
		return result;
	}
	spot->room = is_up ? spot->room - 1 : spot->room + 1;
	return move_to(spot, fd);
}

static int walk(struct file_spot *spot, const char *path, bool makes) {
	int result = 0;
	while (*path && result == 0) {
		size_t len = strcspn(path, "/");
		FP_CLEANUP(free_later) char *name = xmemdup(path, len);
		bool is_here = len == 0 || strcmp(name, ".") == 0;
		result = is_here ? 0 : step(spot, name, makes);
		path += len + (path[len] == '/');
	}
	return result;
}

int file_copy_follow(struct file_spot *spot, char **name) {
	char *target = file_copy_read_link(spot->fd, *name), *slash;
	if (!target) {
		return 0;
	}
	free(*name);
	*name = target;
	if (enter_link(spot, target) != 0) {
		return -1;
	}
	while ((slash = strrchr(target, '/')) && !slash[1]) {
		*slash = '\0';
	}
	const char *base = slash ? slash + 1 : target;
	bool is_place = !*base || path_is_dots(base); // the target names only a directory
	FP_CLEANUP(free_later) char *way = xmemdup(target, is_place ? strlen(target) : (size_t)(base - target));
	*name = xstrdup(is_place ? "." : base);
	free(target);
	return walk(spot, way, /* makes */ false) == 0 ? 1 : -1;
}

int file_copy_open_dir(struct file_copy *copy, bool makes) {
	FP_CLEANUP(free_later) char *way = xmemdup(copy->name, (size_t)(copy->base - copy->name));
	struct file_spot spot = {.fd = open(copy->dir[0] == '/' ? "/" : ".", DIR_FLAGS), .room = ANYWHERE};
	fd_close(&copy->dir_fd);
	if (spot.fd < 0 || walk(&spot, copy->dir, makes) != 0 || walk(&spot, way, makes) != 0) {
		fd_close(&spot.fd);
		return -1;
	}
	copy->dir_fd = spot.fd;
	return 0;
}

const char *file_copy_error(void) {
	return errno == EXDEV ? "a link in the path leads through another link to a place outside: write that place's path instead" : strerror(errno);
}

void file_copy_id(const struct stat *stat, char ret_id[FILE_ID_SIZE]) {
	snprintf(ret_id, FILE_ID_SIZE, "%llu %lld %ld", ull(stat->st_ino), (long long)stat->st_ctim.tv_sec, stat->st_ctim.tv_nsec);
}

const char *file_copy_take(struct file_copy *copy, const struct wire_frame *frame) {
	if (frame->type == FRAME_ROOM) {
		if (frame->numbers[1] > FILE_WINDOW - copy->window) {
			return "the other side has acknowledged more bytes of a file than were sent";
		}
		copy->window += frame->numbers[1];
		return NULL;
	}
	copy->heard += cost_of(frame);
	if (copy->is_over) {
		return "the other side has sent a further frame of a file after its end";
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
