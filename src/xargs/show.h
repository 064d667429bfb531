// Words as `xargs -t` shows them: quoted so that a shell can read them, and nothing unprintable reaches a terminal.

#ifndef FAIRPAR_XARGS_SHOW_H
#define FAIRPAR_XARGS_SHOW_H

#include "base/buf.h"

#include <stddef.h>

// Appends the word as coreutils' and findutils' "shell-escape" style has it: plain where that is enough, else in '…',
// "…" around a lone apostrophe, and $'\n' for what cannot be printed. What can be printed is the locale's to say
// (setlocale() is the caller's).
void xargs_show(struct buf *buf, const char *word, size_t len);

#endif
