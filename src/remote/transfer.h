// Files to and from another machine, over the connection that its jobs use: each file is an attempt there that packs or unpacks an archive
// of tar(1), whose other end is a tar here.
//
// A file is unpacked in a temporary directory and then moved to its place: its readers see the old file or the whole new one. An archive
// that breaks off leaves nothing.

#ifndef FAIRPAR_REMOTE_TRANSFER_H
#define FAIRPAR_REMOTE_TRANSFER_H

#include "remote/file_route.h"
#include "remote/link.h"

// From where to where. All is borrowed during the calls.
struct transfer {
	struct host_link *link;
	const struct context *context; // of the local tar, as `env`
	char *const *env;              // of payload_context.base: what the worker has of itself
	const char *dir;               // the work dir there, or NULL: the directory of the worker
	const struct child_config *of; // the attempt whose files these are; its timeout limits each of them, too
};

enum transfer_end {
	TRANSFER_DONE,
	TRANSFER_FAILED,   // *ret_why names the file and the cause
	TRANSFER_STOPPED,  // cancelled, or timed out: *ret_result is the result of the attempt
	TRANSFER_LOST,     // with the connection
};

// Copies each of the paths (a NUL behind each, read by file_route()) to the other machine or from it, up to the first that fails. Waits for the
// end on the calling thread, in which all signals are blocked. Appends to `ret_why`.
enum transfer_end transfer_files(const struct transfer *transfer, const struct buf *paths, enum file_way way, struct result *ret_result,
                                 struct buf *ret_why);

// transfer_remove() removes the files there, and then the directories above them that are empty, up to but not including the work dir. A path
// that is a directory stays. transfer_remove_dir() removes the work dir with its contents. Both work also while jobs are being ended, and
// ignore failures.
void transfer_remove(const struct transfer *transfer, const struct buf *paths, enum file_way way);
void transfer_remove_dir(const struct transfer *transfer);

#endif
