// Whether text may have colours.

#ifndef FAIRPAR_TERM_COLOUR_H
#define FAIRPAR_TERM_COLOUR_H

#include <stdbool.h>

// True if what fairpar itself writes to that descriptor may have colours: not with NO_COLOR (no-color.org), always with
// FORCE_COLOR or CLICOLOR_FORCE, else on a terminal that is not dumb. A variable that is empty, or of the last two "0",
// is none.
bool colour_wanted(int fd);

#endif
