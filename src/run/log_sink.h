// The logs among the subscribers: --log, and one for what is made from a log at the end of the run.

#ifndef FAIRPAR_RUN_LOG_SINK_H
#define FAIRPAR_RUN_LOG_SINK_H

#include "run/run.h"

struct log_sink;

// Opens what the options name, while signals are not blocked: the reader of a FIFO may let us wait. Returns 0, or -1 after
// a message.
int log_sink_open(struct run *run);

// Subscribes it. With log_sink_keep() before, if there is no --log that can be read back, there is a log in an unlinked
// file of the temporary directory. Returns 0, or -1 after a message.
void log_sink_keep(struct run *run);
int log_sink_subscribe(struct run *run);

// With run->log: writes the events so far. Workers wait for a slow reader, the event loop does not.
void log_sink_flush(struct run *run, bool may_wait);

// The log that was kept, to be read from its start: after publish_end(), until log_sink_close(). -1 if there is none, or
// it could not be written.
int log_sink_fd(const struct run *run);

// True if lines go where the output of jobs goes, so that each of these has to end with a newline.
bool log_sink_is_on_stdout(const struct run *run);

// After publish_end(): ends --log if it is not the one that was kept, so that its reader does not wait for what is drawn from
// that. What could not be written is reported, as by log_sink_close().
void log_sink_let_go(struct run *run);

// Ends the logs, and frees run->log if there is one. What could not be written is reported, and sets run->trouble.
void log_sink_close(struct run *run);

#endif
