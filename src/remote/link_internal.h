// An attempt on the line, as the two threads see it that share it: the one in link_run() (link_run.c), and the link's (link.c).
//
//   WAITING -sent-> SENT -`started`-> STARTED -`done`, lost-> ENDED -all is in the pipes-> LEFT
//   WAITING, SENT -> ENDED (refused, lost, cancelled before it was sent)
// The link's thread alone takes these steps, and touches nothing of an attempt that has LEFT, which is in no list any more.

#ifndef FAIRPAR_REMOTE_LINK_INTERNAL_H
#define FAIRPAR_REMOTE_LINK_INTERNAL_H

#include "base/buf.h"
#include "base/list.h"
#include "base/sync.h"
#include "remote/link.h"

enum link_state { ATTEMPT_WAITING, ATTEMPT_SENT, ATTEMPT_STARTED, ATTEMPT_ENDED, ATTEMPT_LEFT };

// What is asked of a running attempt, the stronger behind the weaker.
enum attempt_order { ORDER_NONE, ORDER_CANCEL, ORDER_EXPIRE, ORDER_KILL };

// What came of one stream and is not in its pipe yet: at most the window of the attempt.
struct stream_pipe {
	int fd;                    // write end, or -1
	struct buf rest;
	size_t at;                 // of `rest`: what is below is in the pipe
};

struct link_attempt {
	struct list link;          // of link.attempts
	const struct child_config *config;
	uint64_t number;           // on the line; from 1, in the order of link_run()
	int wake_fd;               // posted at each step
	enum link_state state;  // this and the next three under link.lock
	enum attempt_order asked, told;
	uint64_t start;            // since STARTED
	int pid;                   // there
	struct buf payload;
	// of the link's thread up to LEFT, then of the other one
	struct stream_pipe out[2];
	int in_fd;                 // its standard input to be read, or -1
	enum link_end end;
	struct result result;
	struct spawn_error error;
	bool wrote;
};

// Puts the attempt into the list and wakes the thread. Returns false if it is refused because of link_terminate().
bool link_submit(struct host_link *link, struct link_attempt *attempt);

// The state, and with STARTED the time.
enum link_state link_state_of(struct host_link *link, const struct link_attempt *attempt, uint64_t *ret_start, int *ret_pid);

#endif
