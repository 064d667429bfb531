// Messages to the user on stderr, and checks that stay in the program.
//
// A mistake of the user gets a message. verify() checks fairpar's own logic in every build, assert() in debug builds only. The lower rooms
// (directories of src/) return errors and do not print; files of the upper rooms word the messages and print them. A function that fails returns -1,
// NULL or false. If the system refused something, errno is the cause. If a text is wrong, *ret_error says why: a `const char **` gets static text,
// which the caller's message puts behind a quotation of the wrong text; a `char **` gets the whole message, which the caller frees (error_text()).
// Each message is one write(2), so that messages of several threads do not mix.

#pragma once

#include "base/attr.h"

#include <stddef.h>

// The exit status if fairpar itself fails: a usage error or an internal error.
enum { EXIT_TROUBLE = 255 };

// Print "fairpar: error: …", "fairpar: warning: …" or "fairpar: …" and a newline.
// `format` is lower case, without a full stop: subject, object, cause. diag_error() returns -1, for its caller to return.
int diag_error(const char *format, ...) FP_PRINTF(1, 2);
int diag_error_free(char *message); // prints the message as it is, not as a format, and frees it; returns -1
void diag_warn(const char *format, ...) FP_PRINTF(1, 2);
void diag_note(const char *format, ...) FP_PRINTF(1, 2);

// Prints text of several lines to stderr as it is, in one piece. Returns 0; or -1 with errno, and from then on diag_lost() is true.
int diag_text(const char *text, size_t len);

// Writes to stdout what the user has asked fairpar itself for (--help, a report). Returns 0; or -1 with errno after it has printed a message; for
// EPIPE, where the reader has gone, it prints none.
int diag_print(const char *text, size_t len) FP_NODISCARD;

// Sets the word that messages begin with instead of "fairpar": the name under which the program was called (xargs). The word
// is borrowed to the end of the process. To be called before the first thread is started.
void diag_set_name(const char *name);
const char *diag_name(void);

// Writes messages by `fn` instead of write(2) on stderr, so that the status line can make room for them. `fn` gets
// whole lines, from any thread, and returns 0, or -1 with errno. To be called before the first thread is started.
void diag_set_writer(int (*fn)(const void *mem, size_t len));

// Until `fn` is NULL, the calling thread's messages are passed to `fn`, each with its newline, and not printed: for a thread that must not wait for the
// reader of stderr. They are to be printed later by diag_text(). diag_die() prints its message at once all the same.
void diag_keep(void (*fn)(void *arg, const char *text, size_t len), void *arg);

// True once a message could not be written to stderr.
int diag_lost(void);

// Sets a function that ends the running jobs: diag_die() calls it once, on the thread that called diag_die(). The function must not allocate.
void diag_set_on_die(void (*fn)(void));

// Prints the error, calls the function of diag_set_on_die(), and ends the process with EXIT_TROUBLE. Any thread may call it.
void diag_die(const char *format, ...) FP_PRINTF(1, 2) FP_NORETURN;

// An always-on check of fairpar's own logic.
#define verify(condition) ((condition) ? (void)0 : diag_bug(__FILE__, __LINE__, #condition))

// Prints the false condition, and ends the process as diag_die() does; a build with -DFAIRPAR_FAULTS calls abort() instead.
void diag_bug(const char *file, int line, const char *condition) FP_NORETURN;
