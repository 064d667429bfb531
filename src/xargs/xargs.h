// The xargs personality: `fairpar --xargs …`, or called by the name xargs.

#pragma once

#include "process/context.h"

#include <stdbool.h>

// True if the program's own name is xargs, or its first argument --xargs.
bool xargs_is_meant(int argc, char *argv[]);

// Runs as xargs. Returns the exit status, or dies by the signal that ended the run.
int xargs_main(int argc, char *argv[], struct context *context);
