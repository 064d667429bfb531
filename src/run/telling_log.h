// The logs among those who listen: --log, and one for what is made from a log at the end of the run.

#ifndef FAIRPAR_RUN_TELLING_LOG_H
#define FAIRPAR_RUN_TELLING_LOG_H

#include "run/run.h"

struct telling_log;

// Opens what the options name, while signals are not blocked: the reader of a FIFO may let us wait. Returns 0, or -1 after
// a message.
int telling_log_open(struct run *run);

// Makes it listen. With telling_log_keep() before, if there is no --log that can be read back, there is a log in an unlinked
// file of the temporary directory. Returns 0, or -1 after a message.
void telling_log_keep(struct run *run);
int telling_log_listen(struct run *run);

// With run->log: writes what was told. Workers wait for a slow reader, the event loop does not.
void telling_log_flush(struct run *run, bool may_wait);

// At the end of a job: where one starts at once whose line can take this one with it, it is left to that one, and true is
// returned: then the worker is to flush before it sleeps.
bool telling_log_later(struct run *run);

// The log that was kept, to be read from its start: after telling_end(), until telling_log_close(). -1 if there is none, or
// it could not be written.
int telling_log_fd(const struct run *run);

// True if lines go where the output of jobs goes, so that each of these has to end with a newline.
bool telling_log_is_on_stdout(const struct run *run);

// After telling_end(): ends --log if it is not the one that was kept, so that its reader does not wait for what is drawn from
// that. What could not be written is reported, as by telling_log_close().
void telling_log_let_go(struct run *run);

// Ends the logs. What could not be written is reported, and is trouble of the run. NULL-safe.
void telling_log_close(struct run *run);

#endif
