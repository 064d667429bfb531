// Why jobs have not started, said while the run goes: --explain and SIGUSR1.

#ifndef FAIRPAR_RUN_EXPLAINING_H
#define FAIRPAR_RUN_EXPLAINING_H

#include "run/run.h"

// Listens for what lasts, as run->explaining. Before telling_begin().
void explaining_listen(struct run *run);
void explaining_close(struct run *run); // or does nothing

// Prints for each batch that has work why its next job has not started. From the event loop, with run->explaining.
void explaining_print(struct run *run);

#endif
