// What a client and the slot server of a pool say to each other: frames on a socket that keeps them apart.

#include "slots/protocol.h"

#include "base/io.h"
#include "base/temp_file.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { TEXT_INLINE = 64 * 1024 }; // the most bytes of text in the frame itself: the kernel has room for this many (net.core.wmem_default)

// Room for one descriptor that comes with a frame. The kernel closes further ones.
union fd_room {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

void frame_add(struct buf *queue, struct frame frame, const void *text, size_t len) {
	frame.len = (uint32_t)len;
	buf_add(queue, &frame, sizeof(frame));
	buf_add(queue, text, len);
}

bool frame_next(const struct buf *queue, size_t *at, struct frame *ret_frame, const char **ret_text) {
	if (*at >= queue->len) {
		return false;
	}
	memcpy(ret_frame, queue->data + *at, sizeof(*ret_frame)); // not aligned
	*ret_text = queue->data + *at + sizeof(*ret_frame);
	*at += sizeof(*ret_frame) + ret_frame->len;
	return true;
}

// Sends a frame, and behind it in the same packet `len` bytes of text; and the descriptor `fd`, or -1.
static int put(int socket, const struct frame *frame, const void *text, size_t len, int fd) {
	union fd_room control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec parts[] = {{(void *)(uintptr_t)frame, sizeof(*frame)}, {(void *)(uintptr_t)text, len}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	ssize_t n;
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

int frame_send(int socket, struct frame frame, const void *text, size_t len, int fd) {
	frame.len = (uint32_t)len;
	if (len <= TEXT_INLINE) {
		return put(socket, &frame, text, len, fd);
	}
	FP_CLEANUP(fd_close) int file = shared_memory_create("fairpar-text", len);
	return file >= 0 && pwrite_all(file, text, len, 0) == len ? put(socket, &frame, NULL, 0, file) : -1;
}

bool frames_flush(int socket, struct buf *queue) {
	struct frame frame;
	const char *text;
	size_t at = 0, sent = 0;
	while (frame_next(queue, &at, &frame, &text) && frame_send(socket, frame, text, frame.len, -1) == 0) {
		sent = at;
	}
	buf_drop(queue, sent);
	return queue->len == 0 || errno == EAGAIN;
}

// Appends a text of `len` bytes, which has come in the file `fd`. Returns false if it cannot be read.
static bool take_text(struct buf *queue, int fd, size_t len) {
	bool is_read = fd >= 0 && len <= PROTOCOL_TEXT_MAX && pread_all(fd, buf_reserve(queue, len), len, 0) == len;
	queue->len += is_read ? len : 0;
	return is_read;
}

enum frame_result frame_receive(int socket, struct buf *queue, int *ret_fd) {
	union fd_room control;
	struct frame frame = {.len = 0};
	char *at = buf_reserve(queue, sizeof(frame) + TEXT_INLINE);
	struct iovec part = {.iov_base = at, .iov_len = sizeof(frame) + TEXT_INLINE};
	// CMSG_SPACE() would leave room for two descriptors
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n;
	do { // Linux says once (ECONNRESET) that the other end closed with frames unread, before it gives what that end had sent
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	*ret_fd = -1;
	if (n < 0) {
		return errno == EAGAIN ? FRAME_NONE : FRAME_END;
	}
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	}
	size_t len = (size_t)n, before = queue->len;
	bool is_frame = len >= sizeof(frame) && !(message.msg_flags & MSG_TRUNC);
	memcpy(&frame, at, is_frame ? sizeof(frame) : 0);
	queue->len += len;
	bool has_file = is_frame && len == sizeof(frame) && frame.len > 0;
	is_frame = has_file ? take_text(queue, *ret_fd, frame.len) : is_frame && len == sizeof(frame) + frame.len;
	if (has_file || !is_frame) {
		fd_close(ret_fd);
	}
	queue->len = is_frame ? queue->len : before;
	return is_frame ? FRAME_READY : FRAME_END;
}
