// Files of jobs to another machine, back from it, and away there: the dispatcher's end of a conversation about files (file_talk.h).
//
// What lies in a directory that this machine and the other one share is not transferred, and never removed.

#ifndef FAIRPAR_REMOTE_TRANSFER_H
#define FAIRPAR_REMOTE_TRANSFER_H

#include "base/atomic.h"
#include "remote/file_route.h"
#include "remote/link.h"

// From where to where. All is borrowed during the calls.
struct transfer {
	struct host_link *link;
	const char *host;              // its name in messages
	const char *dir;               // the work dir there, or NULL: the directory of the worker
	const struct child_config *of; // the attempt whose files these are; its timeout limits each conversation, too
	atomic_bool *told_shared;      // of the run: a message has said that a directory is shared
};

enum transfer_end {
	TRANSFER_DONE,
	TRANSFER_FAILED,   // *ret_why names the files and the causes
	TRANSFER_STOPPED,  // cancelled, or timed out: *ret_result is the result of the attempt
	TRANSFER_LOST,     // with the connection
};

// What one conversation is to do. Paths have a NUL behind each, and are read by file_route().
struct transfer_work {
	const struct buf *goes;        // copied there, up to the first that fails
	const struct buf *comes;       // copied from there; one that fails does not hold up the others
	bool may_lack;                 // … and one that is not there is no failure: the job that was to make it has failed
	struct buf *went, *came;       // those of them that are whole there, and not shared: what may be removed; appended to
	// What is removed then: the files, and the directories above them that are empty, up to but not including the work dir. A path that is
	// a directory stays.
	bool removes_went, removes_came; // those of `went`; of `came`, if nothing has failed
	bool removes_dir;              // the work dir with its contents, if nothing has failed
};

// Does it and waits for the end on the calling thread, in which all signals are blocked. Appends to `ret_why`. What only removes works also
// while jobs are being ended.
enum transfer_end transfer_run(const struct transfer *transfer, const struct transfer_work *work, struct result *ret_result, struct buf *ret_why);

#endif
