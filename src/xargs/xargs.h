// The xargs personality: `fairpar --xargs …`, or a fairpar that is called xargs.

#pragma once

#include "process/context.h"

#include <stdbool.h>

// True if the program's own name is xargs, or its first argument --xargs.
bool xargs_is_meant(int argc, char *argv[]);

// Runs as xargs. Returns the exit status; or, if a signal has ended the run, dies by the same signal.
int xargs_main(int argc, char *argv[], struct context *context);
