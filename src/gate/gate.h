// The gate: whether the next job may start, by --delay, the load and the memory of the machine. The pool asks the gate (hooks.gate) before a job
// has a slot, so a job that waits for the gate holds no slot. With -S each machine has a gate of its own (hosts/).
//
// The gate also suspends or ends jobs when memory is short, ends jobs that run too long for --timeout N%, and rereads the file of -j FILE.

#pragma once

#include "state/run.h"
#include "job/event.h"

// Makes run->gate, if an option needs it; `jobs` is the value of -j (borrowed). Returns 0, or -1 after a message.
int gate_open(struct run *run, const char *jobs);

// Frees run->gate, which may be NULL, after the pool was destroyed.
void gate_close(struct run *run);

// Returns true if gate_ask() may ever hold a job back. `gate` may be NULL.
bool gate_can_hold(const struct gate *gate);

// Returns 0 if the next job of the run (`arg`) may start, else when to ask again (now_ns() time). Called by one thread at a time.
uint64_t gate_ask(void *arg);

// Returns the kind of the reason for which gate_ask() last refused a start. From any thread.
enum event_why gate_reason(struct gate *gate);

// Appends why the next job may not start now, or nothing. `gate` may be NULL. From any thread.
void gate_add_reason(struct gate *gate, struct buf *words);

// To be called when a child was started.
void gate_note_start(struct gate *gate);

// To be called when a child has ended with `result`, or could not be started after gate_note_start() was called.
void gate_note_end(struct gate *gate, const struct result *result);

// For the event loop: suspends or ends jobs if memory is short or they run too long. Returns when to call again (now_ns() time), or TIME_NEVER.
uint64_t gate_tick(struct gate *gate, uint64_t now);
