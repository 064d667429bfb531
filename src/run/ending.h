// What is said at the end of a run: the summary, and the one last line.

#ifndef FAIRPAR_RUN_ENDING_H
#define FAIRPAR_RUN_ENDING_H

#include "report/story.h"
#include "run/attempt.h"

struct ending;

// Listens for what a summary would say, if there may be one. With run->manifest and run->slots; before telling_begin().
void ending_listen(struct run *run);

// A job has ended like this: looks whether a hint would have helped. Behind telling_look(). From any thread.
void ending_look(struct desk *desk, const struct result *result);

// Prints the summary, a hint and the last line, as they are due. After telling_end().
void ending_print(struct run *run);

// Frees run->ending, or does nothing.
void ending_close(struct run *run);

// Appends the whole summary of a finished story, for that descriptor: as wide as its terminal, and with colours if it
// takes them.
void ending_add_story(struct buf *buf, const struct story *story, int fd);

#endif
