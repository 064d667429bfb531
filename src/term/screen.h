// The lines at the bottom of the terminal that are fairpar's own (the status line): who writes to the terminal takes them
// away before, and they come back behind what was written.
//
// One screen in a process, and none without a terminal: then each call is a look at one flag. No lock is held while anything
// is written: a writer waits only for a drawing that is under way. The cursor rests in the first column of the first own
// line: so a terminal that wraps its lines anew when it is resized can be cleared from there, and an end by SIGKILL leaves
// nothing but that text. The cursor is never hidden.

#ifndef FAIRPAR_TERM_SCREEN_H
#define FAIRPAR_TERM_SCREEN_H

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes `fd` (a terminal: stderr) the screen. What goes to stdout disturbs it unless that is a regular file or a device
// that is no terminal; through a pipe too, for its reader may write here. `changed` is called when own lines were taken
// away and nothing has brought them back: from any thread, must not block. Before the first thread, or where no other
// thread writes.
void screen_open(int fd, void (*changed)(void *arg), void *arg);

// Makes `fd` (stderr) the screen if it is a terminal, and draws nothing there: only so that screen_say() knows where the
// cursor is. When as screen_open().
void screen_open_quiet(int fd);

// Takes the own lines away; there is no screen any more. When no other thread writes.
void screen_close(void);

// Draws the own lines: `rows` of them in `text`, without control characters but for colours, "\n" between two, each
// shorter than the terminal is wide. `prefix` (or NULL) goes before them: a sequence that moves nothing. Returns false if
// they cannot be drawn now: somebody writes, the last line of the output has no end yet, the terminal takes nothing, or
// this process is not in its foreground.
bool screen_draw(const char *prefix, const char *text, unsigned rows);

// Takes the own lines away until the next screen_draw(), and writes `last` (or NULL) behind.
void screen_clear(const char *last);

// The terminal may have wrapped its lines anew.
void screen_resized(void);

// When to draw next at the earliest (now_ns() time): what went through a pipe may still be on its way to the terminal.
uint64_t screen_rest(void);

// When a writer took lines away that are to come back (now_ns() time). 0: they are there, nobody wants them, or they cannot
// be drawn yet.
uint64_t screen_cleared(void);

// True if screen_draw() failed only because this process is not in the foreground.
bool screen_is_foreign(void);

// Around everything that is written to `fd`: of 1 and 2 it may be the terminal; 2 also around what others write there.
// `last` is the last byte, or -1 if there was none or it is not known. May be nested, on any thread.
void screen_enter(int fd);
void screen_leave(int fd, int last);

// write_all() between the two.
int screen_write(int fd, const void *mem, size_t len) FP_NODISCARD;

// The same to stderr for text of fairpar's own: if that is the screen, and the output there has no end of line, it is given
// one first.
int screen_say(const void *mem, size_t len) FP_NODISCARD;

// Does that alone. Between screen_enter(STDERR_FILENO) and screen_leave().
void screen_begin_line(void);

// The terminal has shown a key that was typed, as ^C, unless it is set not to.
void screen_echoed(void);

// Others had the terminal meanwhile: where the cursor is they know.
void screen_forget(void);

#endif
