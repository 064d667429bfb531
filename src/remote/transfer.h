// Files to and from another machine, over the line that its jobs come by: each is an attempt there that packs or unpacks an archive
// of tar(1), whose other end is a tar here.
//
// What is unpacked lies in a directory of its own first and is then moved to its place: whoever looks there sees the file as it was
// or whole. An archive that breaks off leaves nothing.

#ifndef FAIRPAR_REMOTE_TRANSFER_H
#define FAIRPAR_REMOTE_TRANSFER_H

#include "remote/file_route.h"
#include "remote/link.h"

// Between which ends. All is borrowed during the calls.
struct transfer {
	struct host_link *link;
	const struct context *context; // of what runs here, with `env`
	char *const *env;              // as of link_config: what the worker has of itself
	const char *dir;               // the work dir there, or NULL: where the worker is
	const struct child_config *of; // the attempt whose files these are; its timeout is of each of them, too
};

enum transfer_end {
	TRANSFER_DONE,
	TRANSFER_FAILED,   // *ret_why says what of which file
	TRANSFER_STOPPED,  // cancelled, or out of time: *ret_result is that of the attempt
	TRANSFER_LOST,     // with the line
};

// Move each of the paths (a NUL behind each), which file_route() reads, until one cannot be: that one way, and the other. They wait
// for the end, on the calling thread, in which all signals are blocked. `ret_why` is appended to.
enum transfer_end transfer_send(const struct transfer *transfer, const struct buf *paths, struct result *ret_result, struct buf *ret_why);
enum transfer_end transfer_fetch(const struct transfer *transfer, const struct buf *paths, struct result *ret_result, struct buf *ret_why);

// Removes the files there, and the directories above them (not the work dir, or what is above that) that are empty then. What is a
// directory itself stays. Also while what runs is being ended; what cannot be removed stays. The next one removes the work dir with all
// that is in it.
void transfer_remove(const struct transfer *transfer, const struct buf *paths, enum file_way way);
void transfer_remove_dir(const struct transfer *transfer);

#endif
