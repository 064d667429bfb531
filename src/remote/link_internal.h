// An attempt on a connection, which two threads share: the one in link_run() (link_run.c), and the link's (link.c).
//
//   WAITING -sent-> SENT -`started`-> STARTED -`done`, lost-> ENDED -all output is in the pipes-> LEFT
//   WAITING, SENT -> ENDED (refused, lost, cancelled before it was sent)
// Only the link's thread takes these steps. After LEFT it does not touch the attempt, which is in no list any more.

#ifndef FAIRPAR_REMOTE_LINK_INTERNAL_H
#define FAIRPAR_REMOTE_LINK_INTERNAL_H

#include "base/buf.h"
#include "base/io.h"
#include "base/list.h"
#include "base/sync.h"
#include "remote/file_talk.h"
#include "remote/link.h"

enum link_attempt_state { ATTEMPT_WAITING, ATTEMPT_SENT, ATTEMPT_STARTED, ATTEMPT_ENDED, ATTEMPT_LEFT };

// How an attempt is to be stopped, weakest first.
enum attempt_order { ORDER_NONE, ORDER_CANCEL, ORDER_EXPIRE, ORDER_KILL };

// Output of one stream that is not in its pipe yet: at most OUTPUT_WINDOW bytes.
struct stream_backlog {
	struct buf bytes;
	size_t at;                 // first of `bytes` that is not in the pipe
	uint64_t written;              // bytes that were written into the pipe, since the start
};

struct link_attempt {
	struct list link;          // of link.attempts
	const struct child_config *config;
	uint64_t number;           // on the connection; from 1, in the order of link_run()
	int write_fds[2];          // of the pipes for stdout and stderr; closed by the link's thread where nobody reads
	int wake_fd;               // posted when it has started, and when it has left
	enum link_attempt_state state;     // this and the next three under link.lock
	enum attempt_order order, order_sent;
	uint64_t start;            // since STARTED
	int pid;                   // there
	struct buf payload;
	// owned by the link's thread until LEFT, then by the other one
	struct stream_backlog out[2];
	int in_fd;                 // its standard input to be read, or -1
	enum link_end end;
	struct result result;
	struct spawn_error error;
	bool wrote;
	bool is_doubted;           // since LEFT: its end is not believed yet
	// of a conversation about files, which has no pipes; under link.lock
	bool has_files;
	struct host_link *owner;
	struct file_mail mail;
	struct buf outbox;         // frames that are to be sent
	const char *why;           // a frame was not allowed: the connection is to be broken
};

enum { LINE_BYTES = 400 };     // of a line of a launcher

struct host_link {
	struct link_config config;
	thread thread;
	int wake_fd;
	mutex lock;               // of the next ones, and of what struct link_attempt says
	struct list attempts;     // in the order of their numbers
	uint64_t last_number;
	bool terminating, killing, closing, suspending;
	bool is_suspended;        // the worker was told so, since `suspending`
	cond changed;             // is_suspended, or one of the next two, was set
	uint64_t lost_at, bye_at; // when a connection has ended, and when a worker has said goodbye, last (now_ns() time)
	unsigned ndoubted;        // attempts that have left whose end is not believed yet
	bool wanted;              // it is to be connected; set by link_connect(), cleared by link_release()
	bool called;              // link_connect() was called, and calls.closed not yet

	// of the thread
	struct launcher launcher;
	struct dispatcher_end *connection; // NULL: the connection is down
	bool up;                  // calls.up was called, and calls.down not yet
	bool suspend_sent;        // the worker was told to suspend its jobs
	bool write_failed;        // write(2) has failed: the connection is to be closed
	bool released;            // the worker was told to end
	bool ended_jobs;          // the worker has ended jobs that it was not told to
	unsigned stuck;           // jobs there that were told to end, and whose attempts have left
	uint64_t now, retry_at, pause, kill_at, next_deadline; // next_deadline: when the next attempt is beyond its time
	struct buf line;          // the line that the launcher is writing
	char last_lines[2][LINE_BYTES]; // the last two while there was no worker, the later one second
	unsigned nlines;
	struct polls polls;
	char *bytes;              // READ_BYTES
};

// Appends the attempt to the list and wakes the link's thread. Returns false if it is refused because of link_terminate() or link_kill().
bool link_submit(struct host_link *link, struct link_attempt *attempt);

#endif
