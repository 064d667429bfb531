// Keeps fairpar's own lines (the status line) at the bottom of the terminal. All other writes to the terminal stand between
// screen_enter(), which erases these lines, and screen_leave(), after which the lines are to be drawn again below the new text.
//
// A process has one screen. Without a terminal it has none, and each call only tests a flag. No lock is held while anything is written; a writer
// waits only while a drawing is under way. The cursor rests in the first column of the first own line. So the lines can be erased from there even if
// the terminal was resized and has wrapped them anew, and if SIGKILL ends fairpar, only the text of the lines is left. The cursor is never hidden.

#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes stderr the screen if it is a terminal; else does nothing. Before writes to stdout the own lines are erased, unless stdout is a regular file or
// a device that is no terminal; a pipe counts as the terminal, since its reader may write there. `changed` is called when the own
// lines were erased and have to be drawn again: from any thread, and it must not block. If it is NULL, own lines that were erased stay away, and
// writes to a pipe erase none. To be called before other threads write.
void screen_open(void (*changed)(void *arg), void *arg);

// Erases the own lines and gives the screen up. To be called when no other thread writes.
void screen_close(void);

// Draws the own lines: `rows` of them in `text`, "\n" between two, each shorter than the terminal is wide, without control
// characters except those of colours. `prefix` (or NULL) is written before them: a sequence that does not move the cursor.
// Returns false if they cannot be drawn now: another thread writes, the last line of the output has no newline yet, the
// terminal is stopped (Ctrl-S), or this process is not in the foreground of the terminal.
bool screen_draw(const char *prefix, const char *text, unsigned rows);

// Erases the own lines until the next screen_draw(), and writes `last` (or NULL) in their place.
void screen_clear(const char *last);

// Says that the size of the terminal has changed: it may have wrapped its lines anew.
void screen_resized(void);

// Returns the earliest time of the next drawing (now_ns() time): bytes that were written to a pipe may still be on their way to the terminal. Sets
// *ret_cleared to when a writer erased the own lines, if they are to be drawn again and can be drawn now; else to 0.
uint64_t screen_next_draw(uint64_t *ret_cleared);

// True if this process is not in the foreground of the terminal, so that screen_draw() fails.
bool screen_is_in_background(void);

// To be called before and after everything that is written to `fd` (1 or 2, if that may be the terminal; 2 also around what
// other processes write there). `last` is the last byte written, or -1 if nothing was written or that byte is not known. Calls may be
// nested, on any thread. screen_leave() leaves errno as it is.
void screen_enter(int fd);
void screen_leave(int fd, int last);

// write_all() between screen_enter() and screen_leave().
int screen_write(int fd, const void *mem, size_t len) FP_NODISCARD;

// As screen_write(), to stderr, for fairpar's own messages: if stderr is the screen, and the output there does not end in a
// newline, a newline is written first.
int screen_say(const void *mem, size_t len) FP_NODISCARD;

// Writes only the newline that screen_say() may begin with. To be called between screen_enter(STDERR_FILENO) and screen_leave().
void screen_begin_line(void);

// Says that a key was typed, such as Ctrl-C: the terminal has echoed it (^C), unless its echo is off.
void screen_echoed(void);

// Says that other processes have used the terminal meanwhile: the cursor is assumed to be at the start of a line.
void screen_assume_line_start(void);

// ---- colours ----

// True if what fairpar itself writes to that descriptor may have colours: not with NO_COLOR (no-color.org), always with
// FORCE_COLOR or CLICOLOR_FORCE, else on a terminal that is not dumb. An empty variable counts as unset; so does "0" in
// FORCE_COLOR and CLICOLOR_FORCE.
bool colour_wanted(int fd);
